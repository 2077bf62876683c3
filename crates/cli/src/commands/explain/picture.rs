//! Grids of labelled cells, as text and as SVG.

use std::fmt::Write;

/// What is shown of one matrix or access: grids, and what is said of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Picture {
    pub(super) title: String,
    pub(super) notes: Vec<String>,
    pub(super) grids: Vec<Grid>,
}

/// Cells in rows.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    pub(super) title: String,
    pub(super) rows: u32,
    pub(super) cols: u32,
    /// Row by row.
    pub(super) cells: Vec<Cell>,
    /// Whether it is a part of the text, too.
    pub(super) is_text: bool,
}

/// A cell.
#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    pub(super) label: String,
    pub(super) paint: Paint,
}

/// How a cell is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Paint {
    /// Nothing is there.
    #[default]
    Blank,
    /// One of many that belong together.
    Group(u32),
    /// Moved by the clamp mode.
    Clamped,
    /// Outside of the tensor.
    Outside,
    /// Left out by the clip.
    Clipped,
}

/// The most of a grid that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) rows: u32,
    pub(super) cols: u32,
}

impl Limit {
    /// What a person reads on a terminal.
    pub(super) const TEXT: Self = Self { rows: 32, cols: 16 };
    /// Where many matrices are listed.
    pub(super) const BRIEF: Self = Self { rows: 8, cols: 8 };
    const SVG: Self = Self { rows: 64, cols: 64 };
}

impl Grid {
    /// How much of it is shown within a limit.
    fn shown(&self, limit: Limit) -> (u32, u32) {
        (self.rows.min(limit.rows), self.cols.min(limit.cols))
    }

    fn cell(&self, row: u32, col: u32) -> Option<&Cell> {
        self.cells.get(row as usize * self.cols as usize + col as usize)
    }

    /// The longest label that is shown.
    fn width(&self, (rows, cols): (u32, u32)) -> usize {
        let labels = (0..rows).flat_map(|r| (0..cols).filter_map(move |c| self.cell(r, c)));
        labels.map(|cell| cell.label.chars().count()).max().unwrap_or(0).max(2)
    }

    fn cut(&self, limit: Limit) -> Option<String> {
        let (rows, cols) = self.shown(limit);
        ((rows, cols) != (self.rows, self.cols))
            .then(|| format!("{rows} of {} rows and {cols} of {} columns are shown", self.rows, self.cols))
    }

    fn text(&self, limit: Limit, out: &mut String) {
        let (rows, cols) = self.shown(limit);
        let (width, head) = (self.width((rows, cols)), rows.max(1).to_string().len());
        // Writing to a string does not fail.
        let _ = writeln!(out, "\n  {}", self.title);
        let _ = write!(out, "  {:head$} ", "");
        for col in 0..cols {
            let _ = write!(out, " {col:>width$}");
        }
        for row in 0..rows {
            let _ = write!(out, "\n  {row:head$}:");
            for col in 0..cols {
                let _ = write!(out, " {:>width$}", self.cell(row, col).map_or("", |cell| &cell.label));
            }
        }
        if let Some(cut) = self.cut(limit) {
            let _ = write!(out, "\n  ({cut})");
        }
        out.push('\n');
    }
}

impl Picture {
    /// As text.
    pub(super) fn text(&self, limit: Limit) -> String {
        let mut out = format!("{}\n", self.title);
        for note in &self.notes {
            let _ = writeln!(out, "  {note}");
        }
        self.grids.iter().filter(|grid| grid.is_text).for_each(|grid| grid.text(limit, &mut out));
        out
    }
}

// ── SVG ──

/// Height of a line of text, and of a cell.
const LINE: u32 = 18;
const MARGIN: u32 = 20;
/// Width of a character, on average.
const CHAR: u32 = 7;

/// All pictures, one below the other.
pub(super) fn svg(pictures: &[Picture]) -> String {
    let mut body = String::new();
    let (mut y, mut width) = (MARGIN, 0);
    for picture in pictures {
        let size = draw(picture, y, &mut body);
        width = width.max(size.0);
        y += size.1 + 2 * LINE;
    }
    let (width, height) = (width + 2 * MARGIN, y);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n"
    )
}

/// Draws a picture from `top` on; gives its size.
fn draw(picture: &Picture, top: u32, body: &mut String) -> (u32, u32) {
    let mut y = top + LINE;
    let mut right = MARGIN + CHAR * picture.title.chars().count() as u32;
    line(body, y, 14, &picture.title);
    for note in &picture.notes {
        y += LINE;
        right = right.max(MARGIN + CHAR * note.chars().count() as u32);
        line(body, y, 11, note);
    }
    for grid in &picture.grids {
        y += 2 * LINE;
        right = right.max(MARGIN + CHAR * grid.title.chars().count() as u32);
        line(body, y, 12, &grid.title);
        let size = draw_grid(grid, y + LINE / 2, body);
        right = right.max(size.0);
        y += size.1 + LINE / 2;
    }
    (right, y - top)
}

fn line(body: &mut String, y: u32, size: u32, text: &str) {
    let _ = writeln!(
        body,
        "<text x=\"{MARGIN}\" y=\"{y}\" font-size=\"{size}\" fill=\"#2d3748\">{}</text>",
        escape(text)
    );
}

fn draw_grid(grid: &Grid, top: u32, body: &mut String) -> (u32, u32) {
    let (rows, cols) = grid.shown(Limit::SVG);
    let cell = CHAR * grid.width((rows, cols)) as u32 + 6;
    let left = MARGIN + 30;
    let centred = |body: &mut String, x: u32, y: u32, colour: &str, text: &str| {
        let y = y + LINE - 5;
        let _ = writeln!(
            body,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" fill=\"{colour}\">{}</text>",
            escape(text)
        );
    };
    for col in 0..cols {
        centred(body, left + col * cell + cell / 2, top, "#718096", &col.to_string());
    }
    for row in 0..rows {
        let y = top + (row + 1) * LINE;
        centred(body, left - 15, y, "#718096", &row.to_string());
        for col in 0..cols {
            let Some(found) = grid.cell(row, col) else { continue };
            let x = left + col * cell;
            let _ = writeln!(
                body,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{cell}\" height=\"{LINE}\" fill=\"{}\" stroke=\"#a0aec0\"/>",
                found.paint.colour()
            );
            if !found.label.is_empty() {
                centred(body, x + cell / 2, y, "#1a202c", &found.label);
            }
        }
    }
    let mut height = (rows + 1) * LINE;
    if let Some(cut) = grid.cut(Limit::SVG) {
        height += LINE;
        line(body, top + height, 11, &cut);
    }
    (left + cols * cell, height)
}

impl Paint {
    fn colour(self) -> String {
        match self {
            Self::Blank => "white".to_owned(),
            // Neighbours differ clearly: the golden angle.
            Self::Group(group) => format!("hsl({},65%,86%)", u64::from(group) * 137 % 360),
            Self::Clamped => "#f6ad55".to_owned(),
            Self::Outside => "#cbd5e0".to_owned(),
            Self::Clipped => "#a0aec0".to_owned(),
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(rows: u32, cols: u32) -> Grid {
        let cell = |i| Cell { label: format!("<{i}>"), paint: Paint::Group(i) };
        Grid {
            title: "a & b".to_owned(),
            rows,
            cols,
            cells: (0..rows * cols).map(cell).collect(),
            is_text: true,
        }
    }

    #[test]
    fn a_large_grid_is_cut_and_says_so() {
        let picture = Picture { grids: vec![grid(40, 20)], ..Picture::default() };
        let text = picture.text(Limit::TEXT);
        assert!(text.contains("(32 of 40 rows and 16 of 20 columns are shown)"), "{text}");
        assert!(text.contains("<15>") && !text.contains("<16>") && text.contains("<20>"), "{text}");
    }

    #[test]
    fn a_drawing_has_every_cell_and_no_bare_brackets() {
        let svg = svg(&[Picture { title: "<t>".to_owned(), notes: vec![], grids: vec![grid(3, 5)] }]);
        assert_eq!(svg.matches("<rect x=").count(), 15);
        assert!(
            svg.contains("&lt;14&gt;") && svg.contains("a &amp; b") && svg.contains("&lt;t&gt;"),
            "{svg}"
        );
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }
}

//! Profiles as flame graphs.
//!
//! A box is as wide as its share of the time, and stands on the box of what it is a part of: a pipeline on all of them, a
//! function on its pipeline, a line on its function, an operation on its line. Pointing at one shows its figures, by the
//! `title` that SVG has for that; there is no script, and nothing is loaded.

use std::fmt::Write as _;

use super::{Family, PipelineProfile, Profile, Row};

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 10.0;
const ROW: f64 = 20.0;
/// Of a character, about.
const LETTER: f64 = 7.0;
/// Narrower boxes are left out.
const NARROWEST: f64 = 0.3;

/// A part of the time, with its own parts.
struct Part {
    name: String,
    /// The kind of work, where it has one.
    family: Option<Family>,
    share: f64,
    parts: Vec<Part>,
}

impl Part {
    fn new(name: String) -> Self {
        Self { name, family: None, share: 0.0, parts: Vec::new() }
    }

    /// Adds time to a part of a part of it, and so on, by their names.
    fn add(&mut self, path: &[String], family: Family, share: f64) {
        self.share += share;
        let Some((first, rest)) = path.split_first() else {
            self.family = Some(family);
            return;
        };
        let index = self.parts.iter().position(|part| part.name == *first).unwrap_or_else(|| {
            self.parts.push(Self::new(first.clone()));
            self.parts.len() - 1
        });
        self.parts[index].add(rest, family, share);
    }

    fn depth(&self) -> usize {
        1 + self.parts.iter().map(Self::depth).max().unwrap_or(0)
    }

    fn sort(&mut self) {
        self.parts.sort_by(|a, b| b.share.total_cmp(&a.share));
        self.parts.iter_mut().for_each(Self::sort);
    }
}

impl Profile {
    /// A picture in SVG. Shares are of the time of all threads in all dispatches.
    pub fn to_svg(&self) -> String {
        let total = self.pipelines.iter().map(thread_seconds).sum::<f64>();
        let mut all = Part::new("all".to_owned());
        for pipeline in &self.pipelines {
            let weight = thread_seconds(pipeline) / total;
            for row in &pipeline.rows {
                all.add(&path(pipeline, row), row.family, weight * row.share);
            }
        }
        all.sort();
        let height = 2.0 * MARGIN + ROW * (all.depth() as f64 + 2.0);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        );
        let bottom = height - MARGIN - 2.0 * ROW;
        draw(&all, MARGIN, bottom, WIDTH - 2.0 * MARGIN, &mut svg);
        legend(self, height - MARGIN - 6.0, &mut svg);
        svg.push_str("</svg>\n");
        svg
    }
}

fn thread_seconds(pipeline: &PipelineProfile) -> f64 {
    pipeline.elapsed.as_secs_f64() * pipeline.threads as f64
}

/// The boxes that the box of a row stands on, from the bottom, and itself.
fn path(pipeline: &PipelineProfile, row: &Row) -> Vec<String> {
    let mut path = vec![pipeline.title()];
    // In a narrow box, the number is what counts.
    let is_near = row.line != 0 && row.file == pipeline.file();
    let place = if is_near { format!("line {}", row.line) } else { row.place() };
    let names = [row.function.clone(), place, row.what()];
    path.extend(names.into_iter().filter(|name| !name.is_empty()));
    path
}

/// Draws a part with its lower left corner at a place, and its parts above it.
fn draw(part: &Part, x: f64, y: f64, width: f64, svg: &mut String) {
    if width < NARROWEST || part.share <= 0.0 {
        return;
    }
    let colour = part.family.map_or("#e2e8f0", colour);
    let name = escaped(&part.name);
    let percent = 100.0 * part.share;
    let _ = write!(
        svg,
        "<g><title>{name}, {percent:.2}%</title><rect x=\"{x:.2}\" y=\"{:.2}\" width=\"{width:.2}\" \
         height=\"{:.2}\" rx=\"1.5\" fill=\"{colour}\" stroke=\"#ffffff\" stroke-width=\"0.5\"/>",
        y - ROW,
        ROW
    );
    let letters = ((width - 6.0) / LETTER).max(0.0) as usize;
    if letters >= 3 {
        let shown: String = if part.name.chars().count() <= letters {
            part.name.clone()
        } else {
            part.name.chars().take(letters - 1).chain(['…']).collect()
        };
        let _ = write!(svg, "<text x=\"{:.2}\" y=\"{:.2}\">{}</text>", x + 3.0, y - 6.0, escaped(&shown));
    }
    svg.push_str("</g>\n");
    let mut left = x;
    for inner in &part.parts {
        let inner_width = width * inner.share / part.share;
        draw(inner, left, y - ROW, inner_width, svg);
        left += inner_width;
    }
}

/// The colours of the families that there are.
fn legend(profile: &Profile, y: f64, svg: &mut String) {
    let is_there = |family: &Family| {
        profile.pipelines.iter().any(|pipeline| pipeline.rows.iter().any(|row| row.family == *family))
    };
    let mut x = MARGIN;
    for family in Family::ALL.into_iter().filter(is_there) {
        let name = family.name();
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.2}\" y=\"{:.2}\" width=\"10\" height=\"10\" fill=\"{}\"/>\
             <text x=\"{:.2}\" y=\"{y:.2}\">{name}</text>",
            y - 9.0,
            colour(family),
            x + 14.0
        );
        x += 30.0 + LETTER * name.len() as f64;
    }
}

fn colour(family: Family) -> &'static str {
    match family {
        Family::MultiplyAdd => "#63b3ed",
        Family::MatrixMemory => "#f6ad55",
        Family::MatrixElements => "#faf089",
        Family::Lanes => "#68d391",
        Family::Memory => "#fc8181",
        Family::Services => "#b794f4",
        Family::Barrier => "#f687b3",
        Family::Scheduling => "#4fd1c5",
        Family::Idle => "#cbd5e0",
    }
}

/// A text as XML has it (XML 1.0, sections 2.2 and 2.4).
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn boxes_are_as_wide_as_their_shares() {
        let svg = sample().to_svg();
        let width = |title: &str| {
            let at = svg.find(&format!("<title>{title}")).unwrap_or_else(|| panic!("{title} in {svg}"));
            let rest = &svg[at..];
            let from = rest.find(" width=\"").unwrap() + 8;
            rest[from..].split('"').next().unwrap().parse::<f64>().unwrap()
        };
        let all = width("all, 100.00%");
        for (title, share) in [
            ("main [00000000], a&lt;b&gt;.comp, 100.00%", 1.0),
            ("line 3, 70.00%", 0.7),
            ("multiply-add: mat_mul_add, 60.00%", 0.6),
            ("memory: load, 20.00%", 0.2),
            ("idle, 10.00%", 0.1),
        ] {
            assert!((width(title) / all - share).abs() < 1e-4, "{title}: {svg}");
        }
    }

    #[test]
    fn tags_are_closed() {
        for profile in [sample(), Profile::default()] {
            let svg = profile.to_svg();
            for tag in ["svg", "g", "title", "text"] {
                let opened =
                    svg.matches(&format!("<{tag}>")).count() + svg.matches(&format!("<{tag} ")).count();
                assert_eq!(opened, svg.matches(&format!("</{tag}>")).count(), "{tag}");
            }
            assert_eq!(svg.matches("<rect").count(), svg.matches("/>").count());
        }
    }
}

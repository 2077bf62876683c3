//! Which element of a tensor each element of a matrix is loaded from or stored to.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde::Serialize;

use super::args::{ClampName, Slice, TensorArgs};
use super::picture::{Cell, Grid, Paint, Picture};
use crate::runtime::explain::{
    Clamp, Coord, MAX_DIMS, TensorAccess, TensorPlace, TensorState, TensorView, packed_strides,
};

/// An access whose numbers are known, or some of them.
#[derive(Debug, Clone)]
pub(super) struct Access {
    pub(super) title: String,
    pub(super) rows: u32,
    pub(super) cols: u32,
    pub(super) is_store: bool,
    /// What the types say.
    pub(super) access: TensorAccess,
    /// The numbers of the layout and of the view.
    pub(super) words: Vec<Option<u32>>,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    access: String,
    rows: u32,
    columns: u32,
    is_store: bool,
    clamp: &'static str,
    /// Bytes that an index counts.
    unit_bytes: u32,
    /// Whether there is a view, and what comes at each of its places.
    permutation: Option<Vec<u8>>,
    /// By name; nothing where the shader computes it.
    numbers: BTreeMap<String, Option<u32>>,
    /// Nothing if a number is unknown.
    elements: Option<Vec<Element>>,
}

/// An element of the matrix.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Element {
    row: u32,
    column: u32,
    /// `element`, `clamped`, `outside` or `clipped`.
    is: &'static str,
    /// In the tensor, in blocks if it has some.
    index: Option<u64>,
    /// From the pointer.
    byte: Option<u64>,
    coordinates: Option<Vec<u32>>,
    block: Option<Vec<u32>>,
    in_block: Option<Vec<u32>>,
}

/// The coordinates of a list, without the zeros behind the last dimension.
fn cut(coord: Coord, dims: usize) -> Vec<u32> {
    coord.into_iter().take(dims).collect()
}

impl Access {
    fn dims(&self) -> usize {
        self.access.dims.into()
    }

    /// The names of the numbers, in their order.
    pub(super) fn names(&self) -> Vec<String> {
        let each = |name: &str, count: usize| (0..count).map(|d| format!("{name}{d}")).collect::<Vec<_>>();
        let mut names: Vec<String> = ["dim", "stride", "offset", "span", "block"]
            .iter()
            .flat_map(|name| each(name, self.dims()))
            .collect();
        names.push("clamp_value".to_owned());
        if let Some(view) = self.access.view {
            if view.has_dimensions {
                names.extend(each("view_dim", view.dims.into()));
                names.extend(each("view_stride", view.dims.into()));
            }
            if view.clips {
                names.extend(["clip_row", "clip_rows", "clip_col", "clip_cols"].map(str::to_owned));
            }
        }
        names
    }

    /// The names of the numbers that nobody knows.
    pub(super) fn unknown(&self) -> Vec<String> {
        let names = self.names().into_iter().zip(&self.words);
        names.filter(|(_, word)| word.is_none()).map(|(name, _)| name).collect()
    }

    /// The numbers of one kind, `?` where they are unknown.
    fn list(&self, first: usize, count: usize, is_signed: bool) -> String {
        let words = self.words.iter().skip(first).take(count);
        let words = words.map(|word| match word {
            None => "?".to_owned(),
            Some(word) if is_signed => word.cast_signed().to_string(),
            Some(u32::MAX) => "all".to_owned(),
            Some(word) => word.to_string(),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    fn state(&self) -> Option<TensorState> {
        let words: Option<Vec<u32>> = self.words.iter().copied().collect();
        Some(TensorState::new(self.access, words?))
    }

    /// The elements row by row, if all numbers are known.
    fn elements(&self) -> Option<Vec<Element>> {
        let state = self.state()?;
        let place = |row, column| {
            let none = Element {
                row,
                column,
                is: "clipped",
                index: None,
                byte: None,
                coordinates: None,
                block: None,
                in_block: None,
            };
            match state.place(row, column, self.cols, self.is_store) {
                TensorPlace::Clipped => none,
                TensorPlace::Outside => Element { is: "outside", ..none },
                TensorPlace::Inside { block, in_block, coord, is_clamped } => {
                    let index = state.index(block);
                    Element {
                        is: if is_clamped { "clamped" } else { "element" },
                        index: Some(index),
                        byte: Some(index.wrapping_mul(self.access.unit.into())),
                        coordinates: Some(cut(coord, self.dims())),
                        block: Some(cut(block, self.dims())),
                        in_block: Some(cut(in_block, self.dims())),
                        ..none
                    }
                }
            }
        };
        Some((0..self.rows).flat_map(|r| (0..self.cols).map(move |c| place(r, c))).collect())
    }

    pub(super) fn report(&self) -> Report {
        let places = |view: TensorView| view.permutation.into_iter().take(view.dims.into()).collect();
        Report {
            access: self.title.clone(),
            rows: self.rows,
            columns: self.cols,
            is_store: self.is_store,
            clamp: clamp_name(self.access.clamp),
            unit_bytes: self.access.unit,
            permutation: self.access.view.map(places),
            numbers: self.names().into_iter().zip(self.words.iter().copied()).collect(),
            elements: self.elements(),
        }
    }

    pub(super) fn picture(&self) -> Picture {
        let mut notes = self.notes();
        let unknown = self.unknown();
        let mut grids = Vec::new();
        if let Some(elements) = self.elements() {
            notes.push(summary(&elements, self));
            grids.push(self.matrix_grid(&elements));
            grids.extend(self.tensor_grids(&elements));
        } else {
            notes.push(format!(
                "the shader computes {}; give them as in --let {}=0",
                unknown.join(", "),
                unknown.first().map_or("", String::as_str)
            ));
        }
        Picture { title: self.title.clone(), notes, grids }
    }

    /// What the layout and the view are.
    fn notes(&self) -> Vec<String> {
        let dims = self.dims();
        let mut notes = vec![
            format!("tensor: {}, strides {}", self.list(0, dims, false), self.list(dims, dims, false)),
            format!(
                "slice: offsets {}, spans {}",
                self.list(2 * dims, dims, true),
                self.list(3 * dims, dims, false)
            ),
        ];
        let blocks = self.list(4 * dims, dims, false);
        if blocks.split(' ').any(|block| block != "1") {
            notes.push(format!("blocks: {blocks}; strides and indices count blocks"));
        }
        let value = match self.access.clamp {
            Clamp::Constant => format!(" {}", self.list(5 * dims, 1, false)),
            _ => String::new(),
        };
        notes.push(format!("clamp mode: {}{value}", clamp_name(self.access.clamp)));
        if let Some(view) = self.access.view {
            let count = usize::from(view.dims);
            let places: Vec<String> =
                view.permutation.iter().take(count).map(|place| place.to_string()).collect();
            let mut first = 5 * dims + 1;
            let mut own = format!("dimensions of the span, permutation {}", places.join(" "));
            if view.has_dimensions {
                own = format!(
                    "{}, strides {}, permutation {}",
                    self.list(first, count, false),
                    self.list(first + count, count, false),
                    places.join(" ")
                );
                first += 2 * count;
            }
            notes.push(format!("view: {own}"));
            if view.clips {
                notes.push(format!(
                    "clip: {} rows from {}, {} columns from {}",
                    self.list(first + 1, 1, false),
                    self.list(first, 1, false),
                    self.list(first + 3, 1, false),
                    self.list(first + 2, 1, false)
                ));
            }
        }
        notes
    }

    /// The matrix with indices of the tensor.
    fn matrix_grid(&self, elements: &[Element]) -> Grid {
        let cell = |element: &Element| {
            let mark = if element.is == "clamped" { "*" } else { "" };
            let label = match (element.is, element.index) {
                ("clipped", _) => "-".to_owned(),
                (_, Some(index)) => format!("{index}{mark}"),
                _ if self.access.clamp == Clamp::Undefined => "?".to_owned(),
                _ => "=".to_owned(),
            };
            Cell { label, paint: paint(element) }
        };
        Grid {
            title: format!("index in the tensor of each element of the matrix{}", legend(elements, self)),
            rows: self.rows,
            cols: self.cols,
            cells: elements.iter().map(cell).collect(),
            is_text: true,
        }
    }

    /// The tensor: the two innermost dimensions, for each of the outer coordinates that occurs.
    fn tensor_grids(&self, elements: &[Element]) -> Vec<Grid> {
        /// More layers only tire the reader.
        const LAYERS: usize = 6;
        /// Larger tensors are not drawn.
        const SIDE: u32 = 256;
        let dims = self.dims();
        let size = |d: usize| self.words.get(d).copied().flatten().unwrap_or(0);
        let (rows, cols) = (if dims > 1 { size(dims - 2) } else { 1 }, size(dims - 1));
        if rows > SIDE || cols > SIDE {
            return Vec::new();
        }
        let mut layers: BTreeMap<Vec<u32>, Vec<Cell>> = BTreeMap::new();
        for element in elements {
            let Some((&col, outer)) = element.coordinates.as_deref().and_then(<[u32]>::split_last) else {
                continue;
            };
            let (&row, outer) = outer.split_last().unwrap_or((&0, &[]));
            if layers.len() >= LAYERS && !layers.contains_key(outer) {
                continue;
            }
            let layer =
                layers.entry(outer.to_vec()).or_insert_with(|| vec![Cell::default(); (rows * cols) as usize]);
            let Some(cell) = layer.get_mut((row * cols + col) as usize) else { continue };
            // Those that are there of right come first, then the first of those that were moved.
            if cell.paint == Paint::Blank || (cell.paint == Paint::Clamped && element.is == "element") {
                *cell = Cell { label: format!("{},{}", element.row, element.column), paint: paint(element) };
            }
        }
        let title = |outer: &[u32]| {
            let outer: Vec<String> = outer.iter().map(u32::to_string).collect();
            let at = if outer.is_empty() { String::new() } else { format!(" at {}", outer.join(",")) };
            format!("the tensor{at}, with row,column of the matrix")
        };
        let grid = |(outer, cells): (Vec<u32>, Vec<Cell>)| Grid {
            title: title(&outer),
            rows,
            cols,
            cells,
            is_text: false,
        };
        layers.into_iter().map(grid).collect()
    }
}

/// By rows of the tensor, so that the eye follows them in both grids.
fn paint(element: &Element) -> Paint {
    match element.is {
        "clipped" => Paint::Clipped,
        "outside" => Paint::Outside,
        "clamped" => Paint::Clamped,
        _ => Paint::Group(element.coordinates.iter().flatten().rev().nth(1).copied().unwrap_or(0)),
    }
}

/// What the marks in the matrix mean, of those that occur.
fn legend(elements: &[Element], access: &Access) -> String {
    let outside = match (access.access.clamp, access.is_store) {
        (Clamp::Undefined, _) => "?: undefined",
        (_, true) => "=: discarded",
        (_, false) => "=: the clamp value",
    };
    let marks = [("clamped", "*: moved by the clamp mode"), ("outside", outside), ("clipped", "-: clipped")];
    let occurs = |is: &str| elements.iter().any(|element| element.is == is);
    let marks: Vec<&str> = marks.into_iter().filter(|(is, _)| occurs(is)).map(|(_, mark)| mark).collect();
    if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) }
}

/// How many elements are of which kind.
fn summary(elements: &[Element], access: &Access) -> String {
    let count = |is: &str| elements.iter().filter(|element| element.is == is).count();
    let (verb, outside) = match (access.is_store, access.access.clamp) {
        (_, Clamp::Undefined) => (if access.is_store { "stored" } else { "loaded" }, "undefined"),
        (true, _) => ("stored", "discarded"),
        (false, _) => ("loaded", "the clamp value"),
    };
    let mut text = format!("{} elements are {verb}", count("element"));
    for (is, what) in [("clamped", "moved by the clamp mode"), ("outside", outside), ("clipped", "clipped")] {
        if count(is) > 0 {
            text += &format!(", {} {what}", count(is));
        }
    }
    text
}

fn clamp_name(clamp: Clamp) -> &'static str {
    match clamp {
        Clamp::Undefined => "undefined",
        Clamp::Constant => "constant",
        Clamp::ClampToEdge => "edge",
        Clamp::Repeat => "repeat",
        Clamp::RepeatMirrored => "mirror",
    }
}

// ── from the command line ──

/// The access that the command line describes.
pub(super) fn from_args(args: &TensorArgs) -> Result<Access> {
    let dims = args.dims.len();
    ensure!(dims <= MAX_DIMS, "a tensor has 1 to {MAX_DIMS} dimensions, not {dims}");
    ensure!(args.rows > 0 && args.cols > 0, "a matrix has at least one row and one column");
    let count = |what: &str, found: usize, expected: usize| {
        ensure!(found == 0 || found == expected, "{found} {what} for {expected} dimensions");
        Ok(())
    };
    count("strides", args.strides.len(), dims)?;
    count("block sizes", args.blocks.len(), dims)?;
    count("slices", args.slice.len(), dims)?;
    let blocks = or(&args.blocks, || vec![1; dims]);
    ensure!(!args.store || blocks.iter().all(|block| *block == 1), "a store has no blocks larger than 1");
    let strides = or(&args.strides, || packed_strides(&args.dims, &blocks));
    let slice = or(&args.slice, || args.dims.iter().map(|&span| Slice { offset: 0, span }).collect());
    let spans: Vec<u32> = slice.iter().map(|slice| slice.span).collect();
    for (what, sizes) in [
        ("dimension", &args.dims),
        ("span", &spans),
        ("block size", &blocks),
        ("dimension of the view", &args.view_dims),
    ] {
        if let Some(d) = sizes.iter().position(|size| *size == 0) {
            anyhow::bail!("{what} {d} is 0, by which coordinates are divided");
        }
    }
    let mut words = [args.dims.clone(), strides].concat();
    words.extend(slice.iter().map(|slice| slice.offset.cast_unsigned()));
    words.extend(spans.into_iter().chain(blocks));
    // The value itself is in no picture.
    words.push(0);
    let view = view(args, &mut words)?;
    let clamp = match args.clamp {
        ClampName::Undefined => Clamp::Undefined,
        ClampName::Constant => Clamp::Constant,
        ClampName::Edge => Clamp::ClampToEdge,
        ClampName::Repeat => Clamp::Repeat,
        ClampName::Mirror => Clamp::RepeatMirrored,
    };
    let unit = args.dtype.size_bytes() as u32;
    let what = if args.store { "store" } else { "load" };
    Ok(Access {
        title: format!("{what} of a matrix of {} x {}, {}", args.rows, args.cols, args.dtype),
        rows: args.rows,
        cols: args.cols,
        is_store: args.store,
        access: TensorAccess { dims: dims as u8, clamp, unit, view, flags: Default::default() },
        words: words.into_iter().map(Some).collect(),
    })
}

/// A list, or what it is unless it was given.
fn or<T: Clone>(list: &[T], default: impl FnOnce() -> Vec<T>) -> Vec<T> {
    if list.is_empty() { default() } else { list.to_vec() }
}

/// The view, if there is one; appends its numbers.
fn view(args: &TensorArgs, words: &mut Vec<u32>) -> Result<Option<TensorView>> {
    if args.view_dims.is_empty() && args.permutation.is_empty() && args.clip.is_empty() {
        return Ok(None);
    }
    let has_dimensions = !args.view_dims.is_empty();
    let dims = match (has_dimensions, args.permutation.len()) {
        (true, _) => args.view_dims.len(),
        (false, 0) => args.dims.len(),
        (false, places) => places,
    };
    ensure!(dims <= MAX_DIMS, "a view has 1 to {MAX_DIMS} dimensions, not {dims}");
    ensure!(
        has_dimensions || dims <= args.dims.len(),
        "the view takes its {dims} dimensions from a span of {}",
        args.dims.len()
    );
    let places = or(&args.permutation, || (0..dims as u8).collect());
    let mut sorted = places.clone();
    sorted.sort_unstable();
    ensure!(
        sorted.iter().copied().eq(0..dims as u8),
        "the permutation must have each of 0 to {} once",
        dims.saturating_sub(1)
    );
    if has_dimensions {
        ensure!(
            args.view_strides.is_empty() || args.view_strides.len() == dims,
            "{} strides for a view of {dims} dimensions",
            args.view_strides.len()
        );
        words.extend_from_slice(&args.view_dims);
        words.extend(or(&args.view_strides, || packed_strides(&args.view_dims, &vec![1; dims])));
    }
    let all = Slice { offset: 0, span: u32::MAX };
    let clip = or(&args.clip, || vec![all, all]);
    ensure!(clip.len() == 2, "a clip has rows and columns: ROW:ROWS,COL:COLS");
    for ((slice, what), side) in clip.iter().zip(["row", "column"]).zip([args.rows, args.cols]) {
        ensure!(
            u32::try_from(slice.offset).is_ok_and(|offset| offset < side),
            "the clip begins at {what} {} of {side}: outside of the matrix",
            slice.offset
        );
        words.extend([slice.offset.cast_unsigned(), slice.span]);
    }
    let mut permutation = [0; MAX_DIMS];
    permutation.iter_mut().zip(places).for_each(|(place, p)| *place = p);
    Ok(Some(TensorView { dims: dims as u8, has_dimensions, clips: true, permutation }))
}

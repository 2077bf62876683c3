//! Where elements of a matrix lie, and how far they lie evenly.
//!
//! A step along a row or a column of the matrix adds a constant to the index that the view takes apart, so it adds
//! constant digits to the view's coordinates as long as none of them overflows; the same holds for the span's.
//! Everything behind that is linear: a [`Step`] is what one step adds on every level, a [`Place`] is where an
//! element is on every level.
//!
//! Arithmetic is in 32 bits without signs, as the specification has it, but for the index in memory, which has 64;
//! a run ends where an index would wrap.

use super::{Clamp, MAX_DIMS, TensorAccess, TensorWords};

type Coord = [u32; MAX_DIMS];

/// Bytes beyond which elements are looked at one by one. What is not so far apart does not come back to an object by
/// way of a wrap, as none is so large.
pub(super) const FAR: u64 = 1 << 61;

/// An access as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk<'a> {
    pub(super) access: &'a TensorAccess,
    pub(super) words: &'a TensorWords,
    pub(super) is_store: bool,
    /// Rows and columns that are not clipped: first and end of each.
    pub(super) rows: (u32, u32),
    pub(super) cols: (u32, u32),
    /// What a row adds to the index.
    width: u32,
    view_strides: Coord,
}

/// What a step adds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    view: Coord,
    index: u32,
    span: Coord,
    /// To the address, modulo 2^64.
    pub(super) bytes: i64,
    /// Whether steps are even: no blocks.
    is_even: bool,
}

/// Where an element is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    view: Coord,
    index: u32,
    span: Coord,
    /// In the tensor, signed, not clamped.
    coord: [i32; MAX_DIMS],
    /// Byte of the tensor, if the element is inside; modulo 2^64.
    byte: u64,
}

/// What a run of elements or lines has in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// In the tensor, from this byte of it on, as far apart as the step says.
    Inside(u64),
    /// Out of the tensor, and so the clamp value; stores leave it out.
    Outside,
    /// Neither: a line has to be taken apart, an element is moved by the clamp mode.
    Mixed,
}

/// Quotient and remainder, both 0 without a divisor. Most indices are below their size, or equal to it where a step
/// goes on to the next row; a division takes longer than all else that is done with them.
#[inline(always)]
fn divide(x: u32, y: u32) -> (u32, u32) {
    match y {
        0 => (0, 0),
        _ if x < y => (0, x),
        _ if x == y => (1, 0),
        _ => (x / y, x % y),
    }
}

/// The remainder with the sign of the divisor.
fn smod(x: i32, y: i32) -> i32 {
    let remainder = x.checked_rem(y).unwrap_or(0);
    if remainder != 0 && (remainder < 0) != (y < 0) { remainder.wrapping_add(y) } else { remainder }
}

impl<'a> Walk<'a> {
    pub(super) fn new(access: &'a TensorAccess, words: &'a TensorWords, is_store: bool) -> Self {
        let (rows, cols) = (access.layout.rows, access.layout.cols);
        let (mut row_range, mut col_range, mut width) = ((0, rows), (0, cols), cols);
        if access.view_dims > 0 {
            let [row, row_span, col, col_span] = words.clip;
            row_range = (row.min(rows), row.wrapping_add(row_span).min(rows));
            col_range = (col.min(cols), col.wrapping_add(col_span).min(cols));
            width = cols.min(col_span);
        }
        let dims = usize::from(access.view_dims);
        let mut view_strides = Coord::default();
        if access.has_dimensions {
            // Words that were written one by one a moment ago: a copy of all at once would have to wait for everything
            // that was stored before them.
            view_strides = words.view_stride;
        } else {
            let mut stride = 1_u32;
            for d in (0..dims).rev() {
                view_strides[d] = stride;
                stride = stride.wrapping_mul(words.span[d]);
            }
        }
        Self { access, words, is_store, rows: row_range, cols: col_range, width, view_strides }
    }

    /// Whether no element is clipped.
    pub(super) fn is_whole(&self) -> bool {
        self.rows == (0, self.access.layout.rows) && self.cols == (0, self.access.layout.cols)
    }

    fn dims(&self) -> usize {
        usize::from(self.access.dims)
    }

    /// Takes an index apart by the sizes of the view.
    fn take_apart(&self, mut index: u32) -> Coord {
        let sizes = if self.access.has_dimensions { &self.words.view_dimension } else { &self.words.span };
        let mut coord = Coord::default();
        for &d in self.access.permutation[..usize::from(self.access.view_dims)].iter().rev() {
            let d = usize::from(d);
            (index, coord[d]) = divide(index, sizes[d]);
        }
        coord
    }

    /// The view's coordinates, the index of the span and its coordinates.
    fn levels(&self, index: u32) -> (Coord, u32, Coord) {
        let (mut view, mut index) = (Coord::default(), index);
        if self.access.view_dims > 0 {
            view = self.take_apart(index);
            let products = view.iter().zip(&self.view_strides).map(|(&c, &s)| c.wrapping_mul(s));
            index = products.take(usize::from(self.access.view_dims)).fold(0, u32::wrapping_add);
        }
        let (mut span, mut rest) = (Coord::default(), index);
        for d in (0..self.dims()).rev() {
            (rest, span[d]) = divide(rest, self.words.span[d]);
        }
        (view, index, span)
    }

    /// What a step to the next element of a row adds.
    pub(super) fn along_row(&self) -> Step {
        self.step(1)
    }

    /// What a step to the next element of a column adds.
    pub(super) fn along_column(&self) -> Step {
        self.step(self.width)
    }

    fn step(&self, by: u32) -> Step {
        let (view, index, span) = self.levels(by);
        let mut units = 0_u64;
        let mut is_even = true;
        for (d, &by) in span.iter().enumerate().take(self.dims()) {
            units = units.wrapping_add(u64::from(by) * u64::from(self.words.stride[d]));
            is_even &= by == 0 || self.words.block[d] == 1;
        }
        Step { view, index, span, bytes: self.bytes(units).cast_signed(), is_even }
    }

    /// Where an element is that is not clipped.
    pub(super) fn place(&self, row: u32, col: u32) -> Place {
        let (row, col) = (row - self.clip_start(0), col - self.clip_start(2));
        let (view, index, span) = self.levels(row.wrapping_mul(self.width).wrapping_add(col));
        let mut place = Place { view, index, span, coord: [0; MAX_DIMS], byte: 0 };
        let mut units = 0_u64;
        for (d, &c) in span.iter().enumerate().take(self.dims()) {
            let c = c.wrapping_add(self.words.offset[d]).cast_signed();
            place.coord[d] = c;
            units = units.wrapping_add(self.units(d, c));
        }
        place.byte = self.bytes(units);
        place
    }

    fn clip_start(&self, i: usize) -> u32 {
        if self.access.view_dims > 0 { self.words.clip[i] } else { 0 }
    }

    /// The part of the index in memory that a coordinate makes. It rises evenly through coordinates below 0, too,
    /// which the clamp mode may leave alone.
    fn units(&self, d: usize, c: i32) -> u64 {
        let (block, stride) = (self.words.block[d], u64::from(self.words.stride[d]));
        let c = if block == 1 { i64::from(c) } else { divide(c.cast_unsigned(), block).0.into() };
        c.cast_unsigned().wrapping_mul(stride)
    }

    /// The byte that an index in memory names.
    fn bytes(&self, units: u64) -> u64 {
        units.wrapping_mul(self.access.unit.into())
    }

    /// How many lines from a place on, at most `count`, are of a kind; a line has `len` elements, `step`
    /// apart, and the next begins a step of `next` later. At least 1.
    pub(super) fn run(
        &self,
        from: &Place,
        next: &Step,
        count: usize,
        step: &Step,
        len: usize,
    ) -> (usize, Kind) {
        let Some(count) = self.even(from, next, count, step, len) else { return (1, Kind::Mixed) };
        let (count, kind) = self.inside(from, next, count, step, len);
        if kind != Kind::Inside(0) {
            return (count, kind);
        }
        // The address must not wrap, at any corner.
        let at = |line: usize, elem: usize| {
            let byte = i128::from(from.byte)
                + i128::from(next.bytes) * line as i128
                + i128::from(step.bytes) * elem as i128;
            (0..i128::from(FAR)).contains(&byte)
        };
        let first = Kind::Inside(from.byte);
        if !at(0, len - 1) {
            (1, Kind::Mixed)
        } else if at(count - 1, 0) && at(count - 1, len - 1) {
            (count, first)
        } else {
            (1, first)
        }
    }

    /// For how many of the lines no digit overflows; none if one does in the first.
    fn even(&self, from: &Place, next: &Step, count: usize, step: &Step, len: usize) -> Option<usize> {
        if !(step.is_even || len == 1) || !(next.is_even || count == 1) {
            return None;
        }
        let (mut count, len) = (count as u64, len as u64 - 1);
        let mut limit = |at: u32, end: u64, along: u32, down: u32| {
            if along > 0 || down > 0 {
                let last = u64::from(at) + u64::from(along) * len;
                if last >= end {
                    count = 0;
                } else if last + u64::from(down) * count.saturating_sub(1) >= end {
                    count = (end - 1 - last) / u64::from(down) + 1;
                }
            }
        };
        let sizes = if self.access.has_dimensions { &self.words.view_dimension } else { &self.words.span };
        for (d, &size) in sizes.iter().enumerate().take(self.access.view_dims.into()) {
            limit(from.view[d], size.into(), step.view[d], next.view[d]);
        }
        limit(from.index, 1 << 32, step.index, next.index);
        for d in 0..self.dims() {
            limit(from.span[d], self.words.span[d].into(), step.span[d], next.span[d]);
        }
        (count > 0).then_some(count as usize)
    }

    /// How many of the lines are inside or outside as a whole.
    fn inside(&self, from: &Place, next: &Step, count: usize, step: &Step, len: usize) -> (usize, Kind) {
        let clamp = self.access.clamp;
        if clamp == Clamp::Undefined {
            return (count, Kind::Inside(0));
        }
        let len = len as i64 - 1;
        let (mut all_inside, mut outside) = (count as i64, 0);
        for d in 0..self.dims() {
            let size = i64::from(self.words.dimension[d]).min(1 << 31);
            let (first, along, down) =
                (i64::from(from.coord[d]), i64::from(step.span[d]), i64::from(next.span[d]));
            let last = first + along * len;
            if last + down * (count as i64 - 1) >= 1 << 31 {
                return (1, Kind::Mixed);
            }
            if first < 0 || last >= size {
                all_inside = 0;
            } else if last + down * (all_inside - 1) >= size {
                all_inside = (size - 1 - last) / down + 1;
            }
            if first >= size {
                outside = count as i64;
            } else if last < 0 {
                outside = outside.max(if down > 0 { (-last - 1) / down + 1 } else { count as i64 });
            }
        }
        let leaves_out = self.is_store || clamp == Clamp::Constant;
        if all_inside > 0 {
            (all_inside as usize, Kind::Inside(0))
        } else if outside > 0 && leaves_out {
            (outside.min(count as i64) as usize, Kind::Outside)
        } else {
            (1, Kind::Mixed)
        }
    }

    /// The byte of the tensor where a single element is; none outside of the tensor.
    pub(super) fn element(&self, place: &Place) -> Option<u64> {
        let mut units = 0_u64;
        for d in 0..self.dims() {
            let (mut c, size) = (place.coord[d], self.words.dimension[d]);
            let is_inside = c >= 0 && c.cast_unsigned() < size;
            if !is_inside && self.access.clamp != Clamp::Undefined {
                c = self.clamped(c, size.cast_signed())?;
            }
            units = units.wrapping_add(self.units(d, c));
        }
        Some(self.bytes(units))
    }

    /// The coordinate that stands for one outside.
    fn clamped(&self, c: i32, size: i32) -> Option<i32> {
        if self.is_store {
            return None;
        }
        match self.access.clamp {
            Clamp::Undefined | Clamp::Constant => None,
            Clamp::ClampToEdge => Some(c.max(0).min(size.wrapping_sub(1))),
            Clamp::Repeat => Some(smod(c, size)),
            Clamp::RepeatMirrored => {
                let period = size.wrapping_mul(2).wrapping_sub(2);
                let c = smod(c, period);
                Some(if c >= size { period.wrapping_sub(c) } else { c })
            }
        }
    }
}

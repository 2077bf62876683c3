//! The lines of an access: blocks of those that lie evenly in memory, and the others, which scratch memory holds one
//! after the other.

use super::walk::{Kind, Step, Walk};
use super::{ALIGN, Memory};
use crate::element::native_row;
use crate::element::run::{At, CHUNK, copy_run};
use crate::layout::TileLayout;
use crate::transfer::Access;
use crate::transfer::bounds::Range;

/// How an access goes along lines: rows of the matrix, or columns if they are what is contiguous.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines<'a> {
    walk: Walk<'a>,
    memory: Memory,
    column_major: bool,
    count: usize,
    len: usize,
    /// From a line to the next, and from an element to the next.
    next: Step,
    step: Step,
    is_contiguous: bool,
    /// Bytes of an element.
    size: usize,
}

/// Lines that are moved by one plain access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// First line, and how many.
    pub(super) first: usize,
    pub(super) count: usize,
    /// Where they lie in memory, from one to the next; otherwise they lie in scratch memory.
    pub(super) place: Option<(u64, i64)>,
}

/// A run of elements of a line.
struct Run {
    /// First element, and how many.
    first: usize,
    count: usize,
    /// Byte of the tensor where the first is; none outside of it.
    at: Option<u64>,
    /// Bytes from an element to the next.
    step: i64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(walk: Walk<'a>, memory: Memory) -> Self {
        let layout = &walk.access.layout;
        let size = layout.elem.bytes();
        let (along_row, along_column) = (walk.along_row(), walk.along_column());
        let (rows, cols) = (layout.rows as usize, layout.cols as usize);
        let is_contiguous = |step: &Step| step.bytes == size as i64;
        let column_major = is_contiguous(&along_column) && (!is_contiguous(&along_row) || cols == 1);
        let (next, step) = if column_major { (along_row, along_column) } else { (along_column, along_row) };
        let (count, len) = if column_major { (cols, rows) } else { (rows, cols) };
        Self {
            walk,
            memory,
            column_major,
            count,
            len,
            is_contiguous: is_contiguous(&step) || len == 1,
            next,
            step,
            size,
        }
    }

    /// The blocks of all lines, in order.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Block> {
        let mut first = 0;
        std::iter::from_fn(move || {
            let block = (first < self.count).then(|| self.block(first))?;
            first += block.count;
            Some(block)
        })
    }

    /// Row and column of an element of a line.
    fn element(&self, line: usize, i: usize) -> (u32, u32) {
        if self.column_major { (i as u32, line as u32) } else { (line as u32, i as u32) }
    }

    /// Lines and elements of a line that are not clipped.
    fn unclipped(&self) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
        let range = |(first, end): (u32, u32)| first as usize..end as usize;
        let (rows, cols) = (range(self.walk.rows), range(self.walk.cols));
        if self.column_major { (cols, rows) } else { (rows, cols) }
    }

    /// Lines that may share a word of the tile, so that a block begins and ends with all of them.
    fn align(&self) -> usize {
        let layout = &self.walk.access.layout;
        if self.column_major { layout.pack().max(1) } else { layout.interleave.into() }
    }

    /// The block that begins with a line.
    fn block(&self, first: usize) -> Block {
        let (count, place) = self.even(first);
        let (align, rest) = (self.align(), self.count - first);
        let whole = if count < rest { count / align * align } else { count };
        if place.is_some() && whole > 0 {
            return Block { first, count: whole, place };
        }
        Block { first, count: count.next_multiple_of(align).min(ALIGN).min(rest), place: None }
    }

    /// How many lines from one on lie evenly in memory, and where; or how many do not. Bounds are not looked at.
    fn even(&self, first: usize) -> (usize, Option<(u64, i64)>) {
        let (lines, elements) = self.unclipped();
        if !self.is_contiguous || !lines.contains(&first) || elements != (0..self.len) {
            return (ALIGN, None);
        }
        let (row, col) = self.element(first, 0);
        let place = self.walk.place(row, col);
        match self.walk.run(&place, &self.next, lines.end - first, &self.step, self.len) {
            (count, Kind::Inside(at)) => {
                (count, Some((self.memory.offset.wrapping_add(at), self.next.bytes)))
            }
            (count, Kind::Outside) => (count, None),
            // To look at each of them would take longer than to move it.
            (_, Kind::Mixed) => (ALIGN, None),
        }
    }

    /// The plain access of a block, and where it begins in the tile. Padding is not its business.
    pub(super) fn access(&self, block: &Block) -> (Access, usize) {
        let layout = &self.walk.access.layout;
        let (row, col) = self.element(block.first, 0);
        let (rows, cols) = match self.column_major {
            true => (layout.rows, block.count as u32),
            false => (block.count as u32, layout.cols),
        };
        let part = TileLayout { rows, cols, use_: crate::elem::Use::Any, ..*layout };
        (Access::new(part, self.column_major), layout.offset(row as usize, col as usize))
    }

    /// Bytes of a line.
    pub(super) fn bytes(&self) -> usize {
        self.len * self.size
    }

    /// The runs of those elements of a line that are not clipped.
    fn runs(&self, line: usize, mut run: impl FnMut(Run)) {
        let (lines, elements) = self.unclipped();
        if !lines.contains(&line) {
            return;
        }
        let mut first = elements.start;
        while first < elements.end {
            let (row, col) = self.element(line, first);
            let place = self.walk.place(row, col);
            let (count, kind) = self.walk.run(&place, &self.step, elements.end - first, &self.step, 1);
            let at = match kind {
                Kind::Inside(at) => Some(at),
                Kind::Outside => None,
                Kind::Mixed => self.walk.element(&place),
            };
            run(Run { first, count, at, step: self.step.bytes });
            first += count;
        }
    }

    /// Puts the lines of a block together, one after the other. Elements that are clipped come from the tile
    /// `object`.
    ///
    /// # Safety
    /// The lines have room; the memory is readable; `object` is a tile, if anything is clipped.
    pub(super) unsafe fn collect(&self, block: &Block, room: *mut u8, object: *const u8) {
        let is_whole = self.walk.is_whole();
        for i in 0..block.count {
            let line = block.first + i;
            // SAFETY: each line has its room.
            unsafe {
                let room = room.add(i * self.bytes());
                if !is_whole {
                    self.take_from(object, line, room);
                }
                self.runs(line, |run| match run.at {
                    Some(at) => self.read(&run, at, room),
                    None => self.fill(room, run.first, run.count),
                });
            }
        }
    }

    /// Elements are the clamp value.
    ///
    /// # Safety
    /// They are in the line.
    unsafe fn fill(&self, line: *mut u8, first: usize, count: usize) {
        let bits = u64::from(self.walk.words.clamp_value).to_le_bytes();
        for i in first..first + count {
            // SAFETY: elements have at most 8 bytes, and are in the line.
            unsafe { line.add(i * self.size).copy_from_nonoverlapping(bits.as_ptr(), self.size) };
        }
    }

    /// A line of the matrix that was there.
    ///
    /// # Safety
    /// `object` is a tile, `line` has room.
    unsafe fn take_from(&self, object: *const u8, line: usize, room: *mut u8) {
        let layout = &self.walk.access.layout;
        let native = native_row(layout.elem, self.len as u32);
        let step = if self.column_major { 1 } else { CHUNK };
        for i in (0..self.len).step_by(step) {
            let (row, col) = self.element(line, i);
            let from = At { layout, tile: object, row: row as usize, col: col as usize };
            let to = At { layout: &native, tile: room, row: 0, col: i };
            // SAFETY: the elements are in the tile and in the line.
            unsafe { copy_run(to, from, (self.len - i).min(step)) };
        }
    }

    /// Reads a run; elements out of bounds are zero.
    ///
    /// # Safety
    /// The run is in the line; memory is readable.
    unsafe fn read(&self, run: &Run, at: u64, line: *mut u8) {
        // SAFETY: the elements are in the line, and those read in bounds.
        unsafe {
            let to = line.add(run.first * self.size);
            to.write_bytes(0, run.count * self.size);
            self.pieces(run, at, |i, from, count| {
                to.add(i * self.size).copy_from_nonoverlapping(from, count * self.size);
            });
        }
    }

    /// The pieces of a run that are in bounds: first element, address, number of elements.
    fn pieces(&self, run: &Run, at: u64, mut piece: impl FnMut(usize, *mut u8, usize)) {
        let start = self.memory.offset.wrapping_add(at);
        if run.step == self.size as i64 {
            let range = Range::new(start, 0, self.memory.size, self.size);
            let (first, end, at) = range.line(0, run.count);
            if first < end {
                piece(first, self.memory.base.wrapping_add(at), end - first);
            }
            return;
        }
        for i in 0..run.count {
            let at = start.wrapping_add_signed(run.step.wrapping_mul(i as i64));
            let is_inside = at.checked_add(self.size as u64).is_some_and(|end| end <= self.memory.size);
            if is_inside {
                piece(i, self.memory.base.wrapping_add(at as usize), 1);
            }
        }
    }

    /// Writes the lines of a block, which lie one after the other, to where they belong.
    ///
    /// # Safety
    /// The lines are readable; the memory is writable.
    pub(super) unsafe fn distribute(&self, block: &Block, room: *const u8) {
        for i in 0..block.count {
            self.runs(block.first + i, |run| {
                let Some(at) = run.at else { return };
                // SAFETY: the run is in its line, and what is written is in bounds.
                unsafe {
                    let from = room.add(i * self.bytes() + run.first * self.size);
                    self.pieces(&run, at, |i, to, count| {
                        to.copy_from_nonoverlapping(from.add(i * self.size), count * self.size);
                    });
                }
            });
        }
    }
}

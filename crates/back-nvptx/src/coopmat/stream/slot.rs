//! How a factor lies in its part of a slot.
//!
//! A factor is lines of 32, 64 or 128 bytes, [`Part::span`], one behind the other; longer lines are cut, and the pieces of
//! all lines lie behind each other, piece by piece. Within eight lines the 16-byte words of a line change places, so that
//! words one below the other are in different banks: PTX ISA, *Asynchronous Warpgroup Level Matrix Shared Memory Layout*,
//! 32-, 64- and 128-byte swizzling modes. Lines run along K, or across it where the program has the factor so in memory.

use inkwell::values::InstructionOpcode as I;
use phalanx_emit_llvm::{Emit, Result, V};
use phalanx_ir::{MatType, Use};

/// Rows that a group of four warps multiplies at once; a warp has a quarter of them.
pub(super) const ROWS: u32 = 64;

/// What slots begin at multiples of.
pub(super) const ALIGN: u32 = 1024;

/// A factor in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) m: MatType,
    /// Whether lines run along K.
    pub(crate) along_k: bool,
    /// Bytes of a line before it is cut.
    pub(crate) span: u32,
    /// Blocks of 16 rows of a left factor that a warp has.
    pub(crate) blocks: u32,
}

impl Part {
    /// The part for a matrix; nothing if none of the layouts fits.
    pub(crate) fn of(m: MatType, along_k: bool, warps: u32) -> Option<Self> {
        let part =
            Self { m, along_k, span: 0, blocks: if m.use_ == Use::A { m.rows / 16 / warps } else { 1 } };
        let bytes = part.line_bytes();
        let span = [128, 64, 32].into_iter().find(|span| bytes.is_multiple_of(*span))?;
        let is_whole = part.lines().is_multiple_of(8);
        // Only elements of 16 bits are multiplied from lines across K.
        (is_whole && (along_k || m.elem.bits() == 16)).then_some(Self { span, ..part })
    }

    /// Whether lines are columns.
    pub(super) fn by_cols(&self) -> bool {
        (self.m.use_ == Use::A) != self.along_k
    }

    pub(crate) fn lines(&self) -> u32 {
        if self.by_cols() { self.m.cols } else { self.m.rows }
    }

    pub(crate) fn line_bytes(&self) -> u32 {
        let len = if self.by_cols() { self.m.rows } else { self.m.cols };
        len * self.m.elem.bytes()
    }

    pub(crate) fn bytes(&self) -> u32 {
        self.lines() * self.line_bytes()
    }

    /// Bytes from a piece of a line to the next.
    pub(super) fn piece_bytes(&self) -> u32 {
        self.lines() * self.span
    }

    /// How many lines further each thread's next word is where lines have so many words: if it lies as far behind the one before
    /// as the lines do, in the same place of eight lines.
    pub(super) fn even_step(&self, words: u32) -> Option<u32> {
        let step = super::PRODUCERS.checked_div(words)?;
        let is_even = super::PRODUCERS.is_multiple_of(words) && step.is_multiple_of(8);
        (is_even && self.blocks == 1 && self.lines().is_multiple_of(step)).then_some(step)
    }

    /// Where the places of all lines repeat, if so many are looked at together: a line lies as far behind the one that is
    /// a multiple of this before it as that many lines lie behind the first.
    pub(super) fn period(&self, lines: u32) -> Option<u32> {
        match self.blocks > 1 && self.along_k {
            // Rows stay together by 16.
            true => (lines <= 16).then_some(16),
            false => Some(8),
        }
    }

    /// Where a byte of a line is. A left factor's rows are in the order in which warps take them: 16 of each in turn.
    pub(crate) fn place<'c>(&self, e: &mut Emit<'c>, line: V<'c>, byte: V<'c>) -> Result<V<'c>> {
        let elem = self.m.elem.bytes();
        let (line, byte) = match (self.blocks, self.along_k) {
            (1, _) => (line, byte),
            (_, true) => (self.slot_row(e, line)?, byte),
            (_, false) => {
                // Pieces are of 16 rows or less, which stay together.
                let row = e.bin(I::UDiv, byte, e.i32(elem))?;
                let within = e.bin(I::URem, byte, e.i32(elem))?;
                let row = self.slot_row(e, row)?;
                let at = e.mul(row, e.i32(elem))?;
                (line, e.add(at, within)?)
            }
        };
        let piece = e.bin(I::UDiv, byte, e.i32(self.span))?;
        let within = e.bin(I::URem, byte, e.i32(self.span))?;
        // Of a line's number the bits that a line's address has at 7 and above.
        let turn = e.mul(line, e.i32(self.span))?;
        let turn = e.lshr(turn, e.i32(3))?;
        let turn = e.and(turn, e.i32(self.span - 16))?;
        let within = e.xor(within, turn)?;
        let start = e.mul(piece, e.i32(self.piece_bytes()))?;
        let of_line = e.mul(line, e.i32(self.span))?;
        let at = e.add(start, of_line)?;
        e.add(at, within)
    }

    /// [`place`](Self::place), of what is known.
    pub(crate) fn place_of(&self, line: u32, byte: u32) -> u32 {
        let elem = self.m.elem.bytes();
        let slot_row = |row: u32| {
            let (warp, block) = (row / (16 * self.blocks), row / 16 % self.blocks);
            warp / 4 * self.blocks * ROWS + block * ROWS + (warp % 4) * 16 + row % 16
        };
        let (line, byte) = match (self.blocks, self.along_k) {
            (1, _) => (line, byte),
            (_, true) => (slot_row(line), byte),
            (_, false) => (line, slot_row(byte / elem) * elem + byte % elem),
        };
        let turn = (line * self.span / 8) & (self.span - 16);
        byte / self.span * self.piece_bytes() + line * self.span + ((byte % self.span) ^ turn)
    }

    /// The row of the slot for a row of a left factor.
    fn slot_row<'c>(&self, e: &mut Emit<'c>, row: V<'c>) -> Result<V<'c>> {
        let warp = e.bin(I::UDiv, row, e.i32(16 * self.blocks))?;
        let block = e.bin(I::UDiv, row, e.i32(16))?;
        let block = e.bin(I::URem, block, e.i32(self.blocks))?;
        let group = e.bin(I::UDiv, warp, e.i32(4))?;
        let in_group = e.and(warp, e.i32(3))?;
        let group = e.mul(group, e.i32(self.blocks * ROWS))?;
        let block = e.mul(block, e.i32(ROWS))?;
        let in_group = e.mul(in_group, e.i32(16))?;
        let rest = e.and(row, e.i32(15))?;
        let at = e.add(group, block)?;
        let at = e.add(at, in_group)?;
        e.add(at, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::Arch;
    use inkwell::context::Context;
    use phalanx_emit_llvm::const_int;
    use phalanx_ir::{Scalar, Scope};

    fn part(rows: u32, cols: u32, elem: Scalar, use_: Use, along_k: bool, warps: u32) -> Option<Part> {
        Part::of(MatType { elem, scope: Scope::Workgroup, rows, cols, use_ }, along_k, warps)
    }

    /// Where the words of a part are, by line and word.
    fn words(part: &Part) -> Vec<Vec<u64>> {
        let cx = Context::create();
        let mut e = Emit::new(&cx, "places", Arch::Sm90a.caps());
        let function = e.module.add_function("places", cx.void_type().fn_type(&[], false), None);
        let start = e.new_block(function, "start");
        e.b.position_at_end(start);
        let mut word = |line, byte| {
            let (line, byte) = (e.i32(line), e.i32(byte));
            part.place(&mut e, line, byte).ok().and_then(const_int)
        };
        let bytes = (0..part.line_bytes()).step_by(16);
        (0..part.lines()).map(|line| bytes.clone().filter_map(|byte| word(line, byte)).collect()).collect()
    }

    #[test]
    fn each_word_has_one_place() {
        for part in [
            part(64, 16, Scalar::F16, Use::A, true, 4),
            part(256, 64, Scalar::F16, Use::A, true, 4),
            part(64, 256, Scalar::F16, Use::B, false, 8),
            part(256, 32, Scalar::F16, Use::A, false, 8),
            part(96, 80, Scalar::I8, Use::B, true, 4),
        ] {
            let part = part.unwrap();
            let mut found = words(&part).concat();
            let bytes = (0..part.line_bytes()).step_by(16);
            let known = (0..part.lines()).flat_map(|line| bytes.clone().map(move |byte| (line, byte)));
            let known: Vec<u64> = known.map(|(line, byte)| part.place_of(line, byte).into()).collect();
            assert_eq!(found, known, "{part:?}");
            found.sort_unstable();
            let all: Vec<u64> = (0..u64::from(part.bytes() / 16)).map(|i| 16 * i).collect();
            assert_eq!(found, all, "{part:?}");
        }
    }

    /// PTX ISA, *128-Byte swizzling mode*: of eight lines each has its words in the order of an exclusive or with its number.
    #[test]
    fn words_change_places_within_eight_lines() {
        let part = part(64, 64, Scalar::F16, Use::A, true, 4).unwrap();
        let words = words(&part);
        assert_eq!(words[0], [0, 16, 32, 48, 64, 80, 96, 112]);
        assert_eq!(words[1], [144, 128, 176, 160, 208, 192, 240, 224]);
        assert_eq!(words[8][0], 1024);
    }

    #[test]
    fn rows_are_in_the_order_of_warps() {
        // Two blocks of 16 rows for each of four warps: the first of all warps, then the second.
        let part = part(128, 64, Scalar::F16, Use::A, true, 4).unwrap();
        let starts: Vec<u64> = (0..8).map(|block| words(&part)[16 * block][0] / 128).collect();
        assert_eq!(starts, [0, 64, 16, 80, 32, 96, 48, 112]);
    }

    #[test]
    fn lines_a_period_apart_are_as_far_apart_as_the_first_ones() {
        for part in [
            part(128, 64, Scalar::F16, Use::A, true, 8),
            part(256, 64, Scalar::F16, Use::A, true, 8),
            part(256, 32, Scalar::F16, Use::A, false, 8),
            part(64, 256, Scalar::F16, Use::B, false, 8),
            part(128, 32, Scalar::I8, Use::B, true, 4),
        ] {
            let part = part.unwrap();
            let (words, period) = (words(&part), part.period(16).unwrap() as usize);
            for (line, further) in (0..16).flat_map(|line| (0..8).map(move |i| (line, i * period))) {
                let (Some(near), Some(far)) = (words.get(line % period), words.get(line % period + further))
                else {
                    continue;
                };
                let apart = near.iter().zip(far).map(|(near, far)| far - near);
                assert!(apart.clone().all(|apart| apart == words[further][0]), "{part:?} {line} {further}");
            }
        }
    }

    #[test]
    fn what_has_no_layout_is_none() {
        assert_eq!(part(64, 24, Scalar::F16, Use::A, true, 4), None);
        assert_eq!(part(32, 64, Scalar::I8, Use::B, false, 4), None);
    }
}

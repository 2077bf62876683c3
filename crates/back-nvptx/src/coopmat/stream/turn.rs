//! Producers turn a factor of bytes that lies across K.
//!
//! `wgmma` takes bytes from lines along K alone. A thread loads four bytes of each of 16 lines of memory, which are 16 along
//! K, exchanges rows and columns of 4×4 bytes (`prmt`), and stores a word of 16 bytes to each of four lines of the slot.
//! Eight neighbours store to words of the slot that are in different banks: two of them are neighbours across K, four
//! along it.

use super::PRODUCERS;
use super::fill::{Source, WORD};
use super::slot::Part;
use crate::coopmat::fragment::Memory;
use crate::lower::Lower;
use inkwell::values::InstructionOpcode as I;
use phalanx_emit_llvm::{Result, V};

/// Bytes that are loaded at once, and lines that they go to.
const SIDE: u32 = 4;

/// Blocks of 16 bytes along K and four across it.
#[derive(Clone, Copy)]
struct Blocks {
    /// How many a thread has.
    of_thread: u32,
    /// Pairs of them across K.
    pairs: u32,
    /// How many neighbours there are along K.
    along: u32,
}

impl Blocks {
    /// Those of a part, if they can be dealt out evenly.
    fn of(part: &Part) -> Option<Self> {
        let (words, across) = (part.line_bytes() / WORD, part.lines() / SIDE);
        let blocks = words * across;
        let along = [4, 2, 1].into_iter().find(|along| words.is_multiple_of(*along))?;
        let is_even = part.m.elem.bits() == 8
            && part.line_bytes().is_multiple_of(WORD)
            && part.lines().is_multiple_of(2 * SIDE)
            && blocks.is_multiple_of(PRODUCERS);
        is_even.then_some(Self { of_thread: blocks / PRODUCERS, pairs: across / 2, along })
    }
}

impl<'c> Lower<'_, 'c> {
    /// Whether a part can be filled by [`Self::fill_turned`].
    pub(super) fn turns(part: &Part) -> bool {
        Blocks::of(part).is_some()
    }

    /// Fills a part of bytes, along K, from lines across K that are inside of their object and in whole words.
    pub(super) fn fill_turned(&mut self, source: &Source<'c>, part: &Part, slot: V<'c>) -> Result<()> {
        let Some(blocks) = Blocks::of(part) else { return Ok(()) };
        let start = self.address(&source.p)?;
        let producer = self.producer()?;
        let mut loaded = Vec::new();
        for block in 0..blocks.of_thread {
            let number = self.e.add(producer, self.e.i32(block * PRODUCERS))?;
            let (line, word) = self.block_at(blocks, number)?;
            let along = self.e.mul(word, self.e.i32(WORD))?;
            let further = self.e.zext_trunc(along, 64)?;
            let further = self.e.mul(further, source.stride)?;
            let mut from = self.e.add(start, further)?;
            let line_bytes = self.e.zext_trunc(line, 64)?;
            from = self.e.add(from, line_bytes)?;
            let mut rows = Vec::new();
            for row in 0..WORD {
                if row > 0 {
                    from = self.e.add(from, source.stride)?;
                }
                let int = self.e.cx.i32_type().into();
                let load = "ld.global.L1::no_allocate.L2::128B.b32 $0, [$1];";
                rows.push(self.assembly(load, &[int], &[from], Memory::Read)?[0]);
            }
            loaded.push((line, along, rows));
        }
        for (line, along, rows) in loaded {
            let mut words = vec![Vec::new(); SIDE as usize];
            for rows in rows.chunks_exact(SIDE as usize) {
                for (word, turned) in words.iter_mut().zip(self.turn([rows[0], rows[1], rows[2], rows[3]])?) {
                    word.push(turned);
                }
            }
            for (word, i) in words.into_iter().zip(0..) {
                let line = self.e.add(line, self.e.i32(i))?;
                let at = part.place(&mut self.e, line, along)?;
                let at = self.e.add(slot, at)?;
                self.action("st.shared.v4.b32 [$0], {$1,$2,$3,$4};", &[&[at], &word[..]].concat())?;
            }
        }
        Ok(())
    }

    /// The first line and the word along it of a block.
    fn block_at(&mut self, blocks: Blocks, number: V<'c>) -> Result<(V<'c>, V<'c>)> {
        let (two, along, pairs) = (self.e.i32(2), self.e.i32(blocks.along), self.e.i32(blocks.pairs));
        let half = self.e.bin(I::URem, number, two)?;
        let rest = self.e.bin(I::UDiv, number, two)?;
        let word = self.e.bin(I::URem, rest, along)?;
        let rest = self.e.bin(I::UDiv, rest, along)?;
        let pair = self.e.bin(I::URem, rest, pairs)?;
        let rest = self.e.bin(I::UDiv, rest, pairs)?;
        let further = self.e.mul(rest, along)?;
        let word = self.e.add(word, further)?;
        let pair = self.e.mul(pair, self.e.i32(2 * SIDE))?;
        let half = self.e.mul(half, self.e.i32(SIDE))?;
        Ok((self.e.add(pair, half)?, word))
    }

    /// The columns of four rows of four bytes.
    fn turn(&mut self, [a, b, c, d]: [V<'c>; 4]) -> Result<[V<'c>; 4]> {
        let mut pick = |x, y, bytes| {
            let bytes = self.e.i32(bytes);
            self.e.intrinsic("llvm.nvvm.prmt", &[], &[x, y, bytes])
        };
        let (first, last) =
            ([pick(a, b, 0x5140)?, pick(c, d, 0x5140)?], [pick(a, b, 0x7362)?, pick(c, d, 0x7362)?]);
        Ok([
            pick(first[0], first[1], 0x5410)?,
            pick(first[0], first[1], 0x7632)?,
            pick(last[0], last[1], 0x5410)?,
            pick(last[0], last[1], 0x7632)?,
        ])
    }
}

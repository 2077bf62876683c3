//! Producers copy a factor to its part of a slot.
//!
//! Words of 16 bytes go by `cp.async` where lines are in memory as they are in the slot, inside of their object and aligned,
//! or in boxes where the host has told the hardware of the lines ([`boxes`](super::boxes)).
//! All else is moved element by element, and so is what a program computes for each element; where it computes without
//! branches, a thread computes words of neighbours, so that what they have in common is computed once.

use super::PRODUCERS;
use super::runs::{Runs, is_straight};
use super::slot::Part;
use crate::lower::{Lower, Ptr};
use inkwell::IntPredicate;
use inkwell::values::InstructionOpcode as I;
use phalanx_emit_llvm::{Error, Result, V, const_int};
use phalanx_ir::{Inst, MemFlags, Op, Scalar, Space, Use, Value};

/// Bytes of a word.
pub(super) const WORD: u32 = 16;

/// A factor in memory.
#[derive(Clone, Copy)]
pub(super) struct Source<'c> {
    pub(super) p: Ptr<'c>,
    pub(super) stride: V<'c>,
    /// A power of two that divides address and stride, as far as it is known.
    align: u64,
    column_major: bool,
    flags: MemFlags,
}

impl<'c> Lower<'_, 'c> {
    /// Copies what an instruction gives to the slot.
    pub(super) fn fill(&mut self, inst: Inst, stream: usize, use_: Use) -> Result<()> {
        let (part, offset) = self.part(stream, use_)?;
        let staying = if use_ == Use::A { self.staying(stream)? } else { None };
        let slot = match staying {
            Some(at) => at,
            None => {
                let slot = self.slot_address()?;
                self.e.add(slot, self.e.i32(offset))?
            }
        };
        let info = self.f.inst(inst);
        match info.op {
            Op::MatLoad { column_major, flags } => {
                let source = self.source(info.args[0], info.args[1], column_major, flags)?;
                let is_turned = column_major != part.by_cols();
                let each = |l: &mut Self| {
                    let element = |l: &mut Self, row, col| l.factor_element(&source, part.m.elem, row, col);
                    l.fill_each(&part, slot, element).map(|()| Vec::new())
                };
                if is_turned && !Self::turns(&part) {
                    return each(self).map(|_nothing| ());
                }
                let easy = self.is_easy_source(&source, &part, is_turned)?;
                let words = |l: &mut Self| match is_turned {
                    true => l.fill_turned(&source, &part, slot).map(|()| Vec::new()),
                    false => l.fill_lines(inst, &source, &part, slot).map(|()| Vec::new()),
                };
                self.either(easy, words, each).map(|_nothing| ())
            }
            Op::MatMap { body } => {
                let mut scalars = Vec::new();
                for &arg in &info.args {
                    scalars.push(self.scalar(self.f.def(arg).args[0])?);
                }
                if let Some(runs) = Runs::of(&part).filter(|_| is_straight(self.f, body)) {
                    return self.fill_runs(&part, &runs, slot, (body, &scalars));
                }
                let element = |l: &mut Self, row: V<'c>, col: V<'c>| {
                    let params = [&[row, col], &scalars[..]].concat();
                    l.region(body, &params)
                };
                self.fill_each(&part, slot, element)
            }
            _ => Err(Error::bug("nothing that gives a factor")),
        }
    }

    fn source(
        &mut self,
        pointer: Value,
        stride: Value,
        column_major: bool,
        flags: MemFlags,
    ) -> Result<Source<'c>> {
        let of_stride = 1_u64 << self.uniformity.low_zeros(stride).min(4);
        let align = self.align_of(pointer).min(of_stride);
        Ok(Source { p: self.ptr(pointer)?, stride: self.scalar(stride)?, align, column_major, flags })
    }

    /// Whether all of a factor is inside of its object and in whole words.
    fn is_easy_source(&mut self, source: &Source<'c>, part: &Part, is_turned: bool) -> Result<V<'c>> {
        let elem = part.m.elem.bytes();
        let (lines, line_bytes) = match is_turned {
            true => (part.line_bytes() / elem, part.lines() * elem),
            false => (part.lines(), part.line_bytes()),
        };
        // Within a factor places are numbers of 32 bits.
        let longest = i64::from((u32::MAX - line_bytes) / lines);
        let mut easy = self.e.icmp(IntPredicate::ULE, source.stride, self.e.i64(longest))?;
        if source.p.space != Space::Global {
            let p = &source.p;
            let before_last = self.e.mul(source.stride, self.e.i64(i64::from(lines) - 1))?;
            let extent = self.e.add(before_last, self.e.i64(line_bytes.into()))?;
            let begins = self.e.icmp(IntPredicate::ULE, p.offset, p.size)?;
            let left = self.e.sub(p.size, p.offset)?;
            let ends = self.e.icmp(IntPredicate::ULE, extent, left)?;
            let inside = self.e.and(begins, ends)?;
            easy = self.e.and(easy, inside)?;
        }
        if source.align >= WORD.into() {
            return Ok(easy);
        }
        let address = self.address(&source.p)?;
        let all = self.e.or(address, source.stride)?;
        let low = self.e.and(all, self.e.i64(i64::from(WORD) - 1))?;
        let is_aligned = self.e.icmp(IntPredicate::EQ, low, self.e.i64(0))?;
        self.e.and(easy, is_aligned)
    }

    /// This thread's number among the producers.
    pub(super) fn producer(&mut self) -> Result<V<'c>> {
        let thread = self.thread()?;
        self.e.sub(thread, self.e.i32(self.ir.workgroup_invocations()))
    }

    /// Copies lines as they are, in boxes if they have a tensor map.
    fn fill_lines(&mut self, inst: Inst, source: &Source<'c>, part: &Part, slot: V<'c>) -> Result<()> {
        let Some(number) = self.ring()?.plan.boxes.number(inst) else {
            return self.fill_words(source, part, slot);
        };
        let has_map = self.has_map(number)?;
        let boxes = |l: &mut Self| l.fill_boxes((inst, number), source, part, slot).map(|()| Vec::new());
        let words = |l: &mut Self| l.fill_words(source, part, slot).map(|()| Vec::new());
        self.either(has_map, boxes, words).map(|_nothing| ())
    }

    /// Copies in words; neighbours copy neighbours.
    fn fill_words(&mut self, source: &Source<'c>, part: &Part, slot: V<'c>) -> Result<()> {
        let of_line = part.line_bytes() / WORD;
        let count = part.lines() * of_line;
        let start = self.address(&source.p)?;
        let producer = self.producer()?;
        // An offset of an instruction has 24 bits.
        let stride = const_int(source.stride).filter(|bytes| bytes * u64::from(part.lines()) < 1 << 23);
        if let Some((step, stride)) = part.even_step(of_line).zip(stride) {
            return self.fill_evenly(source, part, (start, slot), (step, stride));
        }
        let is_even = PRODUCERS.is_multiple_of(of_line);
        let period = part.period(PRODUCERS / of_line).filter(|_| is_even);
        let stride = self.e.zext_trunc(source.stride, 32)?;
        // Places of words whose lines are a period apart differ by what is known.
        let mut known: Vec<(u32, V<'c>)> = Vec::new();
        for first in (0..count).step_by(PRODUCERS as usize) {
            let lines = first / of_line;
            let (line, word) = match is_even {
                true => {
                    let line = self.e.bin(I::UDiv, producer, self.e.i32(of_line))?;
                    let word = self.e.bin(I::URem, producer, self.e.i32(of_line))?;
                    (self.e.add(line, self.e.i32(lines))?, word)
                }
                false => {
                    let number = self.e.add(producer, self.e.i32(first))?;
                    let line = self.e.bin(I::UDiv, number, self.e.i32(of_line))?;
                    (line, self.e.bin(I::URem, number, self.e.i32(of_line))?)
                }
            };
            let byte = self.e.mul(word, self.e.i32(WORD))?;
            let is_near =
                |&&(of, _): &&(u32, V<'c>)| period.is_some_and(|period| (lines - of).is_multiple_of(period));
            let at = match known.iter().find(is_near).copied() {
                Some((of, near)) => {
                    let (further, start) = (self.e.i32(lines - of), self.e.i32(0));
                    let further = part.place(&mut self.e, further, start)?;
                    self.e.add(near, further)?
                }
                None => {
                    let at = part.place(&mut self.e, line, byte)?;
                    let at = self.e.add(slot, at)?;
                    known.push((lines, at));
                    at
                }
            };
            let further = self.e.mul(line, stride)?;
            let further = self.e.add(further, byte)?;
            let further = self.e.zext_trunc(further, 64)?;
            let from = self.e.add(start, further)?;
            let copy = "cp.async.cg.shared.global.L2::128B [$0], [$1], 16;";
            if first + PRODUCERS <= count {
                self.action(copy, &[at, from])?;
                continue;
            }
            let rest = self.e.icmp(IntPredicate::ULT, producer, self.e.i32(count - first))?;
            let rest = self.e.zext_trunc(rest, 32)?;
            let copy = format!("{{ .reg .pred p; setp.ne.b32 p, $2, 0; @p {copy} }}");
            self.action(&copy, &[at, from, rest])?;
        }
        Ok(())
    }

    /// Copies in words where those that a thread copies lie equally far apart, here and there, and it is known how far: it
    /// computes two addresses.
    fn fill_evenly(
        &mut self,
        source: &Source<'c>,
        part: &Part,
        (start, slot): (V<'c>, V<'c>),
        (step, stride): (u32, u64),
    ) -> Result<()> {
        let of_line = PRODUCERS / step;
        let producer = self.producer()?;
        let line = self.e.bin(I::UDiv, producer, self.e.i32(of_line))?;
        let word = self.e.bin(I::URem, producer, self.e.i32(of_line))?;
        let byte = self.e.mul(word, self.e.i32(WORD))?;
        let at = part.place(&mut self.e, line, byte)?;
        let at = self.e.add(slot, at)?;
        let line = self.e.zext_trunc(line, 64)?;
        let further = self.e.mul(line, source.stride)?;
        let byte = self.e.zext_trunc(byte, 64)?;
        let further = self.e.add(further, byte)?;
        let from = self.e.add(start, further)?;
        for lines in (0..part.lines()).step_by(step as usize) {
            let (to, further) = (lines * part.span, u64::from(lines) * stride);
            let copy = format!("cp.async.cg.shared.global.L2::128B [$0+{to}], [$1+{further}], 16;");
            self.action(&copy, &[at, from])?;
        }
        Ok(())
    }

    /// An element in memory; zero outside of its object.
    fn factor_element(&mut self, source: &Source<'c>, elem: Scalar, row: V<'c>, col: V<'c>) -> Result<V<'c>> {
        let (line, along) = if source.column_major { (col, row) } else { (row, col) };
        let (line, along) = (self.e.zext_trunc(line, 64)?, self.e.zext_trunc(along, 64)?);
        let line = self.e.mul(line, source.stride)?;
        let along = self.e.mul(along, self.e.i64(elem.bytes().into()))?;
        let further = self.e.add(line, along)?;
        let offset = self.e.add(source.p.offset, further)?;
        let p = Ptr { offset, ..source.p };
        let align = source.align.min(elem.bytes().into());
        Ok(self.read_each(&p, elem, 1, align, source.flags)?[0])
    }

    /// Fills the part element by element; neighbours fill neighbours of a line.
    fn fill_each(
        &mut self,
        part: &Part,
        slot: V<'c>,
        element: impl FnOnce(&mut Self, V<'c>, V<'c>) -> Result<V<'c>>,
    ) -> Result<()> {
        let elem = part.m.elem;
        let len = part.line_bytes() / elem.bytes();
        let count = part.lines() * len;
        let producer = self.producer()?;
        let one = |l: &mut Self, round: V<'c>, _: &[V<'c>]| {
            let round = l.e.zext_trunc(round, 32)?;
            let first = l.e.mul(round, l.e.i32(PRODUCERS))?;
            let number = l.e.add(first, producer)?;
            let fill = |l: &mut Self| {
                let line = l.e.bin(I::UDiv, number, l.e.i32(len))?;
                let along = l.e.bin(I::URem, number, l.e.i32(len))?;
                let (row, col) = if part.by_cols() { (along, line) } else { (line, along) };
                let x = element(l, row, col)?;
                let byte = l.e.mul(along, l.e.i32(elem.bytes()))?;
                let at = part.place(&mut l.e, line, byte)?;
                let at = l.e.add(slot, at)?;
                let at = l.e.cast(I::IntToPtr, at, l.space_ty(Space::Shared))?.into_pointer_value();
                let bits = l.as_bits(elem, x)?;
                l.e.store(bits, at, elem.bytes())?;
                Ok(Vec::new())
            };
            match count.is_multiple_of(PRODUCERS) {
                true => fill(l)?,
                false => {
                    let exists = l.e.icmp(IntPredicate::ULT, number, l.e.i32(count))?;
                    l.either(exists, fill, |_| Ok(Vec::new()))?
                }
            };
            Ok(Vec::new())
        };
        self.repeat(count.div_ceil(PRODUCERS), &[], one).map(|_nothing| ())
    }
}

//! Words of which a producer computes all elements, so that what they have in common is computed once, and bytes become
//! halves two by two ([`pairs`](super::pairs)).

use super::PRODUCERS;
use super::fields::{self, Axis};
use super::fill::WORD;
use super::pairs::Pairs;
use super::slot::Part;
use crate::lower::Lower;
use inkwell::values::InstructionOpcode as I;
use phalanx_emit_llvm::{Result, V};
use phalanx_ir::{Block, Function, Space};

/// Words that each producer computes.
pub(super) struct Runs {
    /// Words of a line, and elements of a word.
    of_line: u32,
    elements: u32,
    /// Words between the two that one thread computes, a power of two. Blocks of 32 weights of 4 bits have those of their second
    /// half in the same bytes as those of the first, which are then read once.
    apart: u32,
    /// How often a thread computes two words.
    rounds: u32,
}

/// Most elements that one thread computes for a slot, as each is code of its own.
const MAX_COMPUTED: u32 = 128;

impl Runs {
    /// Runs for a part, if its words can be dealt out evenly.
    pub(super) fn of(part: &Part) -> Option<Self> {
        let elem = part.m.elem.bytes();
        let (of_line, elements, apart) = (part.line_bytes() / WORD, WORD / elem, elem);
        let pairs = part.lines() * of_line / 2;
        let is_even = of_line.is_multiple_of(2 * apart)
            && PRODUCERS.is_multiple_of(of_line / 2)
            && pairs.is_multiple_of(PRODUCERS);
        let rounds = pairs / PRODUCERS;
        (is_even && 2 * rounds * elements <= MAX_COMPUTED).then_some(Self {
            of_line,
            elements,
            apart,
            rounds,
        })
    }
}

/// Whether a region is without branches, so that a thread computes words of neighbours.
pub(super) fn is_straight(f: &Function, body: Block) -> bool {
    f.block(body).iter().all(|&inst| f.inst(inst).op.bodies().next().is_none())
}

impl<'c> Lower<'_, 'c> {
    /// Fills the part by words of which a thread computes all elements. They are stored behind all that is read, which
    /// can be under way together.
    pub(super) fn fill_runs(
        &mut self,
        part: &Part,
        runs: &Runs,
        slot: V<'c>,
        (body, scalars): (Block, &[V<'c>]),
    ) -> Result<()> {
        let elem = part.m.elem;
        // The first of its words has a number without the bit of weight `apart`.
        let bits = (0..runs.elements.ilog2()).map(|bit| 1 << bit).chain([runs.apart * runs.elements]);
        let length = part.line_bytes() / elem.bytes();
        let axis = Axis { param: usize::from(!part.by_cols()), bits: &bits.collect::<Vec<_>>(), length };
        let fields = fields::find(self.f, self.uniformity, body, &axis, |v| self.align_of(v));
        self.pairs = Some(Pairs::of(fields));
        let producer = self.producer()?;
        let pairs = runs.of_line / 2;
        let first_line = self.e.bin(I::UDiv, producer, self.e.i32(pairs))?;
        let first_line = match PRODUCERS / pairs >= 2 * runs.apart {
            true => self.swap_bits(first_line, runs.apart)?,
            false => first_line,
        };
        let pair = self.e.bin(I::URem, producer, self.e.i32(pairs))?;
        let further = self.e.bin(I::UDiv, pair, self.e.i32(runs.apart))?;
        let first = self.e.bin(I::URem, pair, self.e.i32(runs.apart))?;
        let further = self.e.mul(further, self.e.i32(2 * runs.apart))?;
        let first = self.e.add(first, further)?;
        let mut stores = Vec::new();
        for round in 0..runs.rounds {
            let line = self.e.add(first_line, self.e.i32(round * (PRODUCERS / pairs)))?;
            self.pairs.iter_mut().for_each(Pairs::begin);
            for word in [0, runs.apart] {
                let word = self.e.add(first, self.e.i32(word))?;
                let start = self.e.mul(word, self.e.i32(runs.elements))?;
                let int = if elem.bytes() == 1 { self.e.cx.i8_type() } else { self.e.cx.i16_type() };
                let mut all = int.vec_type(runs.elements).const_zero();
                for i in 0..runs.elements {
                    let along = self.e.add(start, self.e.i32(i))?;
                    let (row, col) = if part.by_cols() { (along, line) } else { (line, along) };
                    let x = self.region(body, &[&[row, col], scalars].concat())?;
                    self.pairs.iter_mut().for_each(|all| all.element += 1);
                    let x = self.as_bits(elem, x)?;
                    let i = self.e.i32(i).into_int_value();
                    all = self.e.b.build_insert_element(all, x.into_int_value(), i, "")?;
                }
                let byte = self.e.mul(word, self.e.i32(WORD))?;
                stores.push((part.place(&mut self.e, line, byte)?, all));
            }
        }
        self.pairs = None;
        for (at, all) in stores {
            let at = self.e.add(slot, at)?;
            let at = self.e.cast(I::IntToPtr, at, self.space_ty(Space::Shared))?.into_pointer_value();
            self.e.store(all.into(), at, WORD)?;
        }
        Ok(())
    }

    /// Exchanges the lowest bit of a number with that of weight `bit`. A slot has the words of a line in an order that is
    /// turned by the line's number, so the threads of two lines that differ in this bit store to all banks, where those of
    /// neighbouring lines store to half of them twice.
    fn swap_bits(&mut self, number: V<'c>, bit: u32) -> Result<V<'c>> {
        if bit == 1 {
            return Ok(number);
        }
        let above = self.e.bin(I::LShr, number, self.e.i32(bit.ilog2()))?;
        let differ = self.e.bin(I::Xor, number, above)?;
        let differ = self.e.and(differ, self.e.i32(1))?;
        let both = self.e.mul(differ, self.e.i32(bit + 1))?;
        self.e.bin(I::Xor, number, both)
    }
}

//! Moving a matrix from one layout to another by shuffles.
//!
//! A lane that wants an element computes which lane holds it and in which word. A shuffle takes one word from a lane
//! that each may choose, so for each of the words in which any lane's element can be there is one shuffle, and each lane
//! selects; which these are is found by going through all lanes here.

use super::Mat;
use super::layout::{Calc, LANES, Layout};
use crate::lower::Lower;
use inkwell::IntPredicate;
use inkwell::values::InstructionOpcode as I;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::Scalar;

/// Arithmetic of the code that is made.
pub(super) struct Later<'l, 'a, 'c>(pub(super) &'l mut Lower<'a, 'c>);

impl<'c> Calc for Later<'_, '_, 'c> {
    type N = V<'c>;
    type Error = Error;

    fn sum(&mut self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.0.e.add(x, y)
    }

    fn times(&mut self, x: V<'c>, y: u32) -> Result<V<'c>> {
        self.0.e.mul(x, self.0.e.i32(y))
    }

    fn quotient(&mut self, x: V<'c>, y: u32) -> Result<V<'c>> {
        self.0.e.bin(I::UDiv, x, self.0.e.i32(y))
    }

    fn remainder(&mut self, x: V<'c>, y: u32) -> Result<V<'c>> {
        self.0.e.bin(I::URem, x, self.0.e.i32(y))
    }
}

/// From where to where.
#[derive(Clone, Copy)]
struct Way {
    from: Layout,
    to: Layout,
    /// The result is the transpose.
    turn: bool,
}

impl Way {
    /// The lane and the register from which a register of a lane comes; none of padding.
    fn source(&self, lane: u32, register: u32) -> Option<(u32, u32)> {
        let (row, col) = self.to.element(lane, register)?;
        Some(if self.turn { self.from.at(col, row) } else { self.from.at(row, col) })
    }

    /// As [`Self::source`], in code.
    fn source_later<'c>(&self, l: &mut Lower<'_, 'c>, register: u32) -> Result<(V<'c>, V<'c>)> {
        let (lane, register) = (l.lane()?, l.e.i32(register));
        let (row, col) = self.to.place(&mut Later(l), lane, register)?;
        let (row, col) = if self.turn { (col, row) } else { (row, col) };
        self.from.holder(&mut Later(l), row, col)
    }

    /// Whether words move as a whole to the one that begins with a register: in all lanes each of its elements comes from
    /// the same place in one word.
    fn is_whole(&self, first: u32, pack: u32) -> bool {
        (0..LANES).all(|lane| {
            let Some((from, start)) = self.source(lane, first) else { return true };
            let follows = |j| self.source(lane, first + j).is_none_or(|found| found == (from, start + j));
            start.is_multiple_of(pack) && (1..pack).all(follows)
        })
    }
}

impl<'c> Lower<'_, 'c> {
    /// The matrix, or its transpose, in another layout.
    pub(super) fn regroup(&mut self, m: &Mat<'c>, to: Layout, turn: bool) -> Result<Mat<'c>> {
        let way = Way { from: m.layout, to, turn };
        if m.layout == to && !turn {
            return Ok(m.clone());
        }
        let (pack, width) = (m.layout.pack(m.elem), to.pack(m.elem));
        let mut words = Vec::new();
        for first in (0..to.registers()).step_by(width as usize) {
            if pack == width && way.is_whole(first, pack) {
                let (word, _) = self.fetch(m, way, first)?;
                words.push(word);
                continue;
            }
            let elements = (first..first + width).map(|register| {
                let (word, at) = self.fetch(m, way, register)?;
                self.element_at(m, word, at, way, register)
            });
            let elements = elements.collect::<Result<Vec<_>>>()?;
            words.push(self.word(m.elem, &elements)?);
        }
        Ok(Mat { layout: to, elem: m.elem, words: words.into() })
    }

    /// The word that holds what becomes a register, and which register it is there.
    fn fetch(&mut self, m: &Mat<'c>, way: Way, register: u32) -> Result<(V<'c>, V<'c>)> {
        let pack = m.layout.pack(m.elem);
        let sources = (0..LANES).filter_map(|lane| Some((lane, way.source(lane, register)?)));
        let sources: Vec<_> = sources.collect();
        let mut words: Vec<u32> = sources.iter().map(|(_, (_, from))| from / pack).collect();
        words.sort_unstable();
        words.dedup();
        let zero = self.e.i32(0);
        let Some(&first) = words.first() else {
            let ty = m.words[0].get_type();
            return Ok((self.e.zero(ty), zero));
        };
        let stays = sources.iter().all(|(lane, (from, _))| lane == from);
        let (lane, from) = way.source_later(self, register)?;
        let word = Later(self).quotient(from, pack)?;
        let mut found = None;
        for candidate in words {
            let mut x = m.words[candidate as usize];
            if !stays {
                x = self.word_of_lane(m, x, lane)?;
            }
            found = Some(match found {
                None => x,
                Some(other) => {
                    let is_it = self.e.icmp(IntPredicate::EQ, word, self.e.i32(candidate))?;
                    self.e.select(is_it, x, other)?
                }
            });
        }
        Ok((found.unwrap_or(m.words[first as usize]), from))
    }

    /// A word of a lane.
    pub(super) fn word_of_lane(&mut self, m: &Mat<'c>, word: V<'c>, lane: V<'c>) -> Result<V<'c>> {
        let all = self.e.i32(u32::MAX);
        self.value_of_lane(all, Self::word_scalar(m.elem), word, lane)
    }

    /// The element of a word that came for a register.
    fn element_at(&mut self, m: &Mat<'c>, word: V<'c>, at: V<'c>, way: Way, register: u32) -> Result<V<'c>> {
        let pack = m.layout.pack(m.elem);
        let mut places = (0..LANES).filter_map(|lane| Some(way.source(lane, register)?.1 % pack));
        let first = places.next().unwrap_or(0);
        if pack == 1 || places.all(|place| place == first) {
            return self.element_of_word(m.elem, word, first);
        }
        self.numbered_element(m.layout, m.elem, word, at)
    }

    /// An element of the word that holds it, whose number is only known when the code runs.
    pub(super) fn numbered_element(
        &mut self,
        layout: Layout,
        elem: Scalar,
        word: V<'c>,
        number: V<'c>,
    ) -> Result<V<'c>> {
        let count = self.shift_to(layout, elem, number)?;
        let word = match count {
            Some(count) => self.e.lshr(word, count)?,
            None => word,
        };
        self.element_of_word(elem, word, 0)
    }

    /// How many bits of a word are below an element; nothing where words are single elements.
    pub(super) fn shift_to(&mut self, layout: Layout, elem: Scalar, number: V<'c>) -> Result<Option<V<'c>>> {
        let pack = layout.pack(elem);
        if pack == 1 {
            return Ok(None);
        }
        let place = Later(self).remainder(number, pack)?;
        Later(self).times(place, elem.bits()).map(Some)
    }
}

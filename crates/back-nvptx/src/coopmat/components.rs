//! Components of values.

use super::Mat;
use super::layout::Kind;
use crate::lower::Lower;
use inkwell::IntPredicate;
use phalanx_emit_llvm::{Error, Result, const_int};
use phalanx_ir::Inst;

impl<'c> Lower<'_, 'c> {
    pub(super) fn mat_extract(&mut self, inst: Inst) -> Result<()> {
        let info = self.f.inst(inst);
        let component = self.scalar(info.args[1])?;
        let m = self.matrices.components[info.args[0].index()].clone();
        let m = m.ok_or_else(|| Error::bug("a matrix without components"))?;
        let exists = self.is_component(m.layout, component)?;
        let known = const_int(component).and_then(|i| m.words.get(i as usize).copied());
        let word = match known {
            Some(word) => word,
            None => self.one_of(&m, component)?,
        };
        let x = self.element_of_word(m.elem, word, 0)?;
        let x = self.e.select(exists, x, self.e.zero(x.get_type()))?;
        self.set(inst, x);
        Ok(())
    }

    /// A word whose number is only known when the code runs; any, if there is none.
    fn one_of(&mut self, m: &Mat<'c>, number: phalanx_emit_llvm::V<'c>) -> Result<phalanx_emit_llvm::V<'c>> {
        let mut word = m.words[0];
        for (&other, i) in m.words.iter().zip(0..).skip(1) {
            let is_it = self.e.icmp(IntPredicate::EQ, number, self.e.i32(i))?;
            word = self.e.select(is_it, other, word)?;
        }
        Ok(word)
    }

    pub(super) fn mat_insert(&mut self, inst: Inst) -> Result<()> {
        let info = self.f.inst(inst);
        let m = self.mat(info.args[0])?;
        let (component, x) = (self.scalar(info.args[1])?, self.scalar(info.args[2])?);
        let parts = self.regroup(&m, m.layout.with(Kind::Components), false)?;
        let word = self.word(m.elem, &[x])?;
        let mut words = Vec::new();
        for (&old, i) in parts.words.iter().zip(0..) {
            let is_it = self.e.icmp(IntPredicate::EQ, component, self.e.i32(i))?;
            words.push(self.e.select(is_it, word, old)?);
        }
        let parts = Mat { words: words.into(), ..parts };
        let result = self.regroup(&parts, m.layout, false)?;
        self.set_mat(inst, result)
    }
}

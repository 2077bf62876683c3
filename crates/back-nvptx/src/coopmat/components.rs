//! Components of values.

use super::Mat;
use super::layout::{Calc, Kind, LANES, Layout};
use super::regroup::Later;
use crate::lower::Lower;
use inkwell::IntPredicate;
use phalanx_emit_llvm::{Error, Result, V, const_int};
use phalanx_ir::{Inst, MatType, Scope};

impl<'c> Lower<'_, 'c> {
    /// How components lie of a matrix that one warp holds, or of a warp's share: a pass has left no matrix of several warps
    /// whose components are told apart.
    pub(super) fn components_of(&self, m: MatType) -> Layout {
        match m.scope {
            Scope::Workgroup if self.ir.workgroup_invocations() != LANES => {
                Layout { kind: Kind::Rows { holders: LANES }, ..self.share_of(m).layout }
            }
            _ => self.ir.layout(m),
        }
    }

    /// Whether a pass has left no other components of such a matrix than those that are all the same.
    pub(super) fn has_even_components(&self, m: MatType) -> bool {
        m.scope == Scope::Workgroup && self.ir.workgroup_invocations() != LANES
    }

    pub(super) fn mat_extract(&mut self, inst: Inst) -> Result<()> {
        let info = self.f.inst(inst);
        let component = self.scalar(info.args[1])?;
        let m = self.matrices.components[info.args[0].index()].clone();
        let m = m.ok_or_else(|| Error::bug("a matrix without components"))?;
        let exists = self.is_component(m.layout, component)?;
        let number = Later(self).quotient(component, m.layout.pack(m.elem))?;
        let known = const_int(number).and_then(|i| m.words.get(i as usize).copied());
        let word = match known {
            Some(word) => word,
            None => self.one_of(&m, number)?,
        };
        let x = self.numbered_element(m.layout, m.elem, word, component)?;
        let x = self.e.select(exists, x, self.e.zero(x.get_type()))?;
        self.set(inst, x);
        Ok(())
    }

    /// A word whose number is only known when the code runs; any, if there is none.
    fn one_of(&mut self, m: &Mat<'c>, number: V<'c>) -> Result<V<'c>> {
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
        let parts = self.regroup(&m, self.components_of(self.mat_ty(info.args[0])?), false)?;
        let (pack, known) = (parts.layout.pack(m.elem), const_int(component));
        let mut words = Vec::new();
        for (&old, first) in parts.words.iter().zip((0..).step_by(pack as usize)) {
            if known.is_some_and(|i| !(first..first + u64::from(pack)).contains(&i)) {
                words.push(old);
                continue;
            }
            let mut elements = Vec::new();
            for (i, number) in (0..pack).zip(first..) {
                let old = self.element_of_word(m.elem, old, i)?;
                let is_it = self.e.icmp(IntPredicate::EQ, component, self.e.i32(number as u32))?;
                elements.push(self.e.select(is_it, x, old)?);
            }
            words.push(self.word(m.elem, &elements)?);
        }
        let parts = Mat { words: words.into(), ..parts };
        let result = self.regroup(&parts, m.layout, false)?;
        self.set_mat(inst, result)
    }
}

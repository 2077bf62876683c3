//! Variables of matrices, and components of what they hold.
//!
//! A variable is memory of each lane, of which LLVM makes registers where indices are known. One whose components are
//! accessed holds components: an invocation accesses its own alone, whatever the others do. Where they do not lie as in
//! the matrix unit, all of them move the matrix to its layout and back when they load and store the whole.

use super::layout::{Calc, LANES, Layout};
use super::regroup::Later;
use super::{Mat, has_components};
use crate::lower::Lower;
use inkwell::IntPredicate;
use inkwell::types::{BasicType, BasicTypeEnum};
use inkwell::values::PointerValue;
use phalanx_emit_llvm::{Error, Result, V, const_int};
use phalanx_ir::{BinaryOp, Inst, MatType, Scalar, Var};

/// Where a variable lives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot<'c> {
    at: PointerValue<'c>,
    layout: Layout,
    elem: Scalar,
    count: u32,
    /// The type of a word, and how many a matrix has.
    word: BasicTypeEnum<'c>,
    words: u32,
}

impl<'c> Lower<'_, 'c> {
    /// Reserves memory for a variable.
    pub(crate) fn declare_matrix(&mut self, var: Var, m: MatType, count: u32) -> Result<()> {
        if super::check(self.ir, self.matrices.grid, m).is_err() {
            // What uses it is refused.
            return Ok(());
        }
        let of_type = self.share_of(m).layout;
        let has_own = has_components(self.f, var) && !self.has_even_components(m);
        let layout = if has_own { self.components_of(m) } else { of_type };
        let word = self.e.scalar_ty(Self::word_scalar(m.elem));
        let words = layout.registers() / layout.pack(m.elem);
        let at = self.reserve(word.array_type(words * count))?;
        self.clear(var, at, word, words * count)?;
        self.matrices.vars[var.index()] = Some(Slot { at, layout, elem: m.elem, count, word, words });
        Ok(())
    }

    fn mat_slot(&self, var: Var) -> Result<Slot<'c>> {
        if let Some(m) = self.f.var(var).ty.mat() {
            super::check(self.ir, self.matrices.grid, m)?;
        }
        self.matrices.vars[var.index()].ok_or_else(|| Error::bug(format!("{var} has no place")))
    }

    /// How a variable holds its matrices.
    pub(super) fn held_by(&self, var: Var) -> Result<(Layout, Scalar)> {
        self.mat_slot(var).map(|slot| (slot.layout, slot.elem))
    }

    /// Whether there is an element with an index, if that is not known to be so, and the number of its first word.
    fn mat_element(&mut self, slot: Slot<'c>, index: Option<V<'c>>) -> Result<(Option<V<'c>>, V<'c>)> {
        let index = index.unwrap_or_else(|| self.e.i32(0));
        let exists = match const_int(index) {
            Some(i) if i < slot.count.into() => None,
            _ => Some(self.e.icmp(IntPredicate::ULT, index, self.e.i32(slot.count))?),
        };
        let index = match exists {
            // The first element stands in for one that does not exist.
            Some(exists) => self.e.select(exists, index, self.e.i32(0))?,
            None => index,
        };
        let index = self.e.zext_trunc(index, 64)?;
        Ok((exists, self.e.mul(index, self.e.i64(slot.words.into()))?))
    }

    fn word_at(&mut self, slot: Slot<'c>, number: V<'c>) -> Result<PointerValue<'c>> {
        Ok(self.e.element_ptr(slot.word, slot.at.into(), number)?.into_pointer_value())
    }

    /// Changes all words of a variable of one matrix.
    pub(super) fn change_words(
        &mut self,
        var: Var,
        change: impl FnOnce(&mut Self, &[V<'c>]) -> Result<Vec<V<'c>>>,
    ) -> Result<()> {
        let slot = self.mat_slot(var)?;
        let mut words = Vec::new();
        for i in 0..slot.words {
            let at = self.word_at(slot, self.e.i64(i.into()))?;
            words.push(self.e.b.build_load(slot.word, at, "")?);
        }
        for (word, i) in change(self, &words)?.into_iter().zip(0..) {
            let at = self.word_at(slot, self.e.i64(i))?;
            self.e.b.build_store(at, word)?;
        }
        Ok(())
    }

    /// Makes the words of a variable of one matrix undefined.
    pub(super) fn forget_words(&mut self, var: Var) -> Result<()> {
        let undefined = |x: &V<'c>| match x.get_type() {
            BasicTypeEnum::FloatType(ty) => ty.get_undef().into(),
            ty => ty.into_int_type().get_undef().into(),
        };
        self.change_words(var, |_, words| Ok(words.iter().map(undefined).collect()))
    }

    /// Changes the words of matrices of 16×16 sums that lie side by side in a variable, in the order in which `wgmma` has
    /// them: of eight columns the upper eight rows and the lower.
    pub(crate) fn change_cells(
        &mut self,
        var: Var,
        elements: &[u32],
        change: impl FnOnce(&mut Self, Vec<V<'c>>) -> Result<Vec<V<'c>>>,
    ) -> Result<()> {
        let slot = self.mat_slot(var)?;
        let (steps, in_step) = (slot.layout.steps(), slot.layout.width() / slot.layout.pack(slot.elem));
        let mut places = Vec::new();
        for element in elements {
            for step in 0..steps {
                for row in [0, 1] {
                    for word in 0..in_step {
                        let number = element * slot.words + (row * steps + step) * in_step + word;
                        places.push(self.word_at(slot, self.e.i64(number.into()))?);
                    }
                }
            }
        }
        let mut words = Vec::new();
        for &at in &places {
            words.push(self.e.b.build_load(slot.word, at, "")?);
        }
        for (at, word) in places.into_iter().zip(change(self, words)?) {
            self.e.b.build_store(at, word)?;
        }
        Ok(())
    }

    /// Adds to words of a variable of one matrix, from one on. Its elements have 32 bits.
    pub(super) fn add_words(&mut self, var: Var, first: u32, words: &[V<'c>]) -> Result<()> {
        let slot = self.mat_slot(var)?;
        let op = if slot.elem.is_float() { BinaryOp::Fadd } else { BinaryOp::Iadd };
        for (&word, i) in words.iter().zip(first..) {
            let at = self.word_at(slot, self.e.i64(i.into()))?;
            let old = self.e.b.build_load(slot.word, at, "")?;
            let sum = self.e.binary(op, slot.elem, old, word, true)?;
            self.e.b.build_store(at, sum)?;
        }
        Ok(())
    }

    pub(super) fn mat_var_load(&mut self, inst: Inst, var: Var) -> Result<()> {
        let (f, slot) = (self.f, self.mat_slot(var)?);
        let index = f.inst(inst).args.first().map(|&i| self.scalar(i)).transpose()?;
        let (exists, first) = self.mat_element(slot, index)?;
        let mut words = Vec::new();
        for i in 0..slot.words {
            let number = self.e.add(first, self.e.i64(i.into()))?;
            let at = self.word_at(slot, number)?;
            let word = self.e.b.build_load(slot.word, at, "")?;
            words.push(match exists {
                Some(exists) => self.e.select(exists, word, self.e.zero(slot.word))?,
                None => word,
            });
        }
        let mut m = Mat { layout: slot.layout, elem: slot.elem, words: words.into() };
        if self.matrices.partials.iter().any(|partial| partial.var == var && partial.load != inst) {
            m = self.add_parts(&m)?;
        }
        let to = self.share_of(self.mat_ty(f.inst(inst).results[0])?).layout;
        let m = self.regroup(&m, to, false)?;
        self.set_mat(inst, m)
    }

    pub(super) fn mat_var_store(&mut self, inst: Inst, var: Var) -> Result<()> {
        let (f, slot) = (self.f, self.mat_slot(var)?);
        let (index, value) = match f.inst(inst).args[..] {
            [value] => (None, value),
            [index, value] => (Some(self.scalar(index)?), value),
            _ => return Err(Error::bug("a store to a variable has a value")),
        };
        let m = self.mat_in(value, slot.layout.kind)?;
        let (exists, first) = self.mat_element(slot, index)?;
        let write = |l: &mut Self| {
            for (&word, i) in m.words.iter().zip(0..) {
                let number = l.e.add(first, l.e.i64(i))?;
                let at = l.word_at(slot, number)?;
                l.e.b.build_store(at, word)?;
            }
            Ok(Vec::new())
        };
        match exists {
            Some(exists) => self.either(exists, write, |_| Ok(Vec::new())).map(|_nothing| ()),
            None => write(self).map(|_nothing| ()),
        }
    }

    /// Whether there is a component of an element, its number or 0, and the word that holds it.
    fn component(
        &mut self,
        slot: Slot<'c>,
        index: V<'c>,
        component: V<'c>,
    ) -> Result<(V<'c>, V<'c>, PointerValue<'c>)> {
        let (exists, first) = self.mat_element(slot, Some(index))?;
        let held = self.is_component(slot.layout, component)?;
        let exists = match exists {
            Some(exists) => self.e.and(exists, held)?,
            None => held,
        };
        let component = self.e.select(held, component, self.e.i32(0))?;
        let number = Later(self).quotient(component, slot.layout.pack(slot.elem))?;
        let number = self.e.add(first, self.e.zext_trunc(number, 64)?)?;
        Ok((exists, component, self.word_at(slot, number)?))
    }

    /// Whether this lane has a component of a matrix.
    pub(super) fn is_component(&mut self, layout: Layout, component: V<'c>) -> Result<V<'c>> {
        let count = self.e.i32(layout.registers());
        let is_register = self.e.icmp(IntPredicate::ULT, component, count)?;
        if !layout.is_padded() {
            return Ok(is_register);
        }
        let elements = layout.rows * layout.cols;
        let lane = self.lane()?;
        let first = self.e.mul(component, self.e.i32(LANES))?;
        let element = self.e.add(first, lane)?;
        let is_element = self.e.icmp(IntPredicate::ULT, element, self.e.i32(elements))?;
        self.e.and(is_register, is_element)
    }

    pub(super) fn component_load(&mut self, inst: Inst, var: Var) -> Result<()> {
        let (f, slot) = (self.f, self.mat_slot(var)?);
        let [index, component] = f.inst(inst).args[..] else {
            return Err(Error::bug("a component has two indices"));
        };
        let (index, component) = (self.scalar(index)?, self.scalar(component)?);
        if let Some(m) = f.var(var).ty.mat().filter(|&m| self.has_even_components(m)) {
            return self.load_any_component(inst, slot, m, (index, component));
        }
        let (exists, component, at) = self.component(slot, index, component)?;
        let word = self.e.b.build_load(slot.word, at, "")?;
        let x = self.numbered_element(slot.layout, slot.elem, word, component)?;
        let x = self.e.select(exists, x, self.e.zero(x.get_type()))?;
        self.set(inst, x);
        Ok(())
    }

    /// A component of a matrix whose elements are all the same.
    fn load_any_component(
        &mut self,
        inst: Inst,
        slot: Slot<'c>,
        m: MatType,
        (index, component): (V<'c>, V<'c>),
    ) -> Result<()> {
        let (exists, first) = self.mat_element(slot, Some(index))?;
        let (invocations, elements) = (self.ir.workgroup_invocations(), self.e.i32(m.len() as u32));
        let count = self.e.i32(m.components(invocations));
        let is_number = self.e.icmp(IntPredicate::ULT, component, count)?;
        let element = self.e.mul(component, self.e.i32(invocations))?;
        let thread = self.thread()?;
        let element = self.e.add(element, thread)?;
        let is_element = self.e.icmp(IntPredicate::ULT, element, elements)?;
        let held = self.e.and(is_number, is_element)?;
        let exists = exists.map_or(Ok(held), |exists| self.e.and(exists, held))?;
        let at = self.word_at(slot, first)?;
        let word = self.e.b.build_load(slot.word, at, "")?;
        let x = self.element_of_word(slot.elem, word, 0)?;
        let x = self.e.select(exists, x, self.e.zero(x.get_type()))?;
        self.set(inst, x);
        Ok(())
    }

    pub(super) fn component_store(&mut self, inst: Inst, var: Var) -> Result<()> {
        let (f, slot) = (self.f, self.mat_slot(var)?);
        let [index, component, value] = f.inst(inst).args[..] else {
            return Err(Error::bug("a component has two indices"));
        };
        let (index, component) = (self.scalar(index)?, self.scalar(component)?);
        let value = self.scalar(value)?;
        let word = self.word(slot.elem, &[value])?;
        let (exists, component, at) = self.component(slot, index, component)?;
        let write = |l: &mut Self| {
            let word = match l.shift_to(slot.layout, slot.elem, component)? {
                None => word,
                // The others of the word stay.
                Some(count) => {
                    let mask = l.e.i32((1 << slot.elem.bits()) - 1);
                    let (mask, bits) = (l.e.shl(mask, count)?, l.e.shl(word, count)?);
                    let old = l.e.b.build_load(slot.word, at, "")?;
                    let others = l.e.and(old, l.e.not(mask)?)?;
                    l.e.or(others, bits)?
                }
            };
            l.e.b.build_store(at, word)?;
            Ok(Vec::new())
        };
        self.either(exists, write, |_| Ok(Vec::new())).map(|_nothing| ())
    }
}

//! Variables: memory of the invocation, which LLVM turns into registers where it can.
//!
//! What was not written is zero: to LLVM it would be a value that may be another one each time it is looked at, and a branch
//! on it no program at all.

use crate::lower::{Lower, Ptr};
use inkwell::IntPredicate;
use inkwell::types::BasicTypeEnum;
use inkwell::values::PointerValue;
use phalanx_emit_llvm::{Error, Result, V, const_int};
use phalanx_ir::{Inst, InstInfo, Op, Scalar, Space, Type, Var};

/// Where a variable lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<'c> {
    at: PointerValue<'c>,
    /// The type of an element.
    elem: BasicTypeEnum<'c>,
    count: u32,
}

/// Most elements that are cleared one by one.
const MAX_STORES: u32 = 64;

/// Where to find an element: whether there is one, and its address.
type Element<'c> = (Option<V<'c>>, PointerValue<'c>);

impl<'c> Lower<'_, 'c> {
    /// Reserves memory for all variables.
    pub(crate) fn declare_vars(&mut self) -> Result<()> {
        for (info, var) in self.f.vars.iter().zip((0..).map(Var::new)) {
            let elem = match info.ty {
                Type::Scalar(s) => self.kept_ty(s),
                Type::Ptr(space) => self.pointer_ty(space),
                Type::Mat(m) => {
                    self.declare_matrix(var, m, info.count)?;
                    self.vars.push(None);
                    continue;
                }
            };
            let at = match (&info.table, info.ty.scalar()) {
                (Some(bits), Some(s)) => {
                    let elems: Vec<V<'c>> = bits.iter().map(|&bits| self.kept(s, bits)).collect();
                    self.table(elem, &elems, s.bytes())
                }
                _ => {
                    let at = self.reserve(self.array_ty(elem, info.count))?;
                    self.clear(var, at, elem, info.count)?;
                    at
                }
            };
            self.vars.push(Some(Slot { at, elem, count: info.count }));
        }
        Ok(())
    }

    /// A constant in a variable.
    fn kept(&self, s: Scalar, bits: u64) -> V<'c> {
        match s {
            Scalar::Bool => self.e.int(8, bits & 1),
            s => self.e.scalar_const(s, bits),
        }
    }

    /// The type of a scalar in a variable. A truth value is a byte: LLVM 19 stores a constant `true` as 255 and reads it as a
    /// number of eight bits.
    fn kept_ty(&self, s: Scalar) -> BasicTypeEnum<'c> {
        match s {
            Scalar::Bool => self.e.cx.i8_type().into(),
            s => self.e.scalar_ty(s),
        }
    }

    /// Fills a variable of so many elements with zeros.
    pub(crate) fn clear(
        &mut self,
        var: Var,
        at: PointerValue<'c>,
        elem: BasicTypeEnum<'c>,
        count: u32,
    ) -> Result<()> {
        let zero = self.e.zero(elem);
        if count <= MAX_STORES {
            for i in 0..count {
                let at = self.e.element_ptr(elem, at.into(), self.e.i64(i.into()))?;
                self.e.b.build_store(at.into_pointer_value(), zero)?;
            }
            return Ok(());
        }
        let f = self.f;
        // Whether an instruction has the variable's elements by numbers that only the run knows.
        let is_indexed = |info: &InstInfo| match &info.op {
            Op::VecMatMul(op) => op.result == var || op.input == var,
            Op::VecOuterAdd(op) => op.a == var || op.b == var,
            Op::VecReduceAdd(of) => *of == var,
            Op::VarLoad(of) => {
                *of == var && info.args.first().is_some_and(|&index| f.const_bits(index).is_none())
            }
            Op::VarStore(of) => *of == var && info.args.len() > 1 && f.const_bits(info.args[0]).is_none(),
            op => op.var() == Some(var),
        };
        if !f.insts.iter().any(is_indexed) {
            // It becomes registers, which a loop would prevent.
            self.e.b.build_store(at, self.e.zero(self.array_ty(elem, count).into()))?;
            return Ok(());
        }
        self.repeat(count, &[], |l, i, _| {
            let at = l.e.element_ptr(elem, at.into(), i)?;
            l.e.b.build_store(at.into_pointer_value(), zero)?;
            Ok(Vec::new())
        })?;
        Ok(())
    }

    /// A pointer in a variable: base, size and offset.
    fn pointer_ty(&self, space: Space) -> BasicTypeEnum<'c> {
        let word = self.e.cx.i64_type().into();
        self.e.cx.struct_type(&[self.space_ty(space).into(), word, word], false).into()
    }

    pub(crate) fn lower_var_load(&mut self, inst: Inst, var: Var) -> Result<()> {
        let (f, slot) = (self.f, self.slot(var)?);
        let index = f.inst(inst).args.first().map(|&i| self.scalar(i)).transpose()?;
        let (exists, at) = self.element(slot, index)?;
        let zero = self.e.zero(slot.elem);
        let v = match exists {
            Some(exists) => {
                // The first element stands in for one that does not exist.
                let at = self.e.select(exists, at.into(), slot.at.into())?.into_pointer_value();
                let v = self.e.b.build_load(slot.elem, at, "")?;
                self.e.select(exists, v, zero)?
            }
            None if const_int(self.index_or_0(index)).is_some_and(|i| i >= slot.count.into()) => zero,
            None => self.e.b.build_load(slot.elem, at, "")?,
        };
        match f.var(var).ty {
            Type::Ptr(space) => {
                let part = |i| self.e.b.build_extract_value(v.into_struct_value(), i, "");
                let p = Ptr { space, base: part(0)?, size: part(1)?, offset: part(2)? };
                self.set_ptr(inst, p);
            }
            Type::Scalar(Scalar::Bool) => {
                let is_set = self.e.icmp(IntPredicate::NE, v, zero)?;
                self.set(inst, is_set);
            }
            Type::Scalar(_) | Type::Mat(_) => self.set(inst, v),
        }
        Ok(())
    }

    pub(crate) fn lower_var_store(&mut self, inst: Inst, var: Var) -> Result<()> {
        let (f, slot) = (self.f, self.slot(var)?);
        let (index, value) = match f.inst(inst).args[..] {
            [value] => (None, value),
            [index, value] => (Some(self.scalar(index)?), value),
            _ => return Err(Error::bug("a store to a variable has a value")),
        };
        let v = match f.var(var).ty {
            Type::Ptr(_) => {
                let p = self.ptr(value)?;
                let mut all = slot.elem.into_struct_type().get_poison();
                for (part, i) in [p.base, p.size, p.offset].into_iter().zip(0..) {
                    all = self.e.b.build_insert_value(all, part, i, "")?.into_struct_value();
                }
                all.into()
            }
            Type::Scalar(Scalar::Bool) => {
                let bit = self.scalar(value)?;
                self.e.zext_trunc(bit, 8)?
            }
            Type::Scalar(_) | Type::Mat(_) => self.scalar(value)?,
        };
        let (exists, at) = self.element(slot, index)?;
        match exists {
            Some(exists) => {
                let [store, done] = ["store", "stored"].map(|name| self.new_block(name));
                self.e.cond_br(exists, store, done)?;
                self.e.b.position_at_end(store);
                self.e.b.build_store(at, v)?;
                self.e.br(done)?;
                self.e.b.position_at_end(done);
            }
            None if const_int(self.index_or_0(index)).is_some_and(|i| i >= slot.count.into()) => {}
            None => {
                self.e.b.build_store(at, v)?;
            }
        }
        Ok(())
    }

    /// What a variable of one scalar holds.
    pub(crate) fn whole(&mut self, var: Var) -> Result<V<'c>> {
        let slot = self.slot(var)?;
        let v = self.e.b.build_load(slot.elem, slot.at, "")?;
        match self.f.var(var).ty {
            Type::Scalar(Scalar::Bool) => self.e.icmp(IntPredicate::NE, v, self.e.zero(slot.elem)),
            _ => Ok(v),
        }
    }

    /// Stores to a variable of one scalar.
    pub(crate) fn set_whole(&mut self, var: Var, x: V<'c>) -> Result<()> {
        let slot = self.slot(var)?;
        let x = match self.f.var(var).ty {
            Type::Scalar(Scalar::Bool) => self.e.zext_trunc(x, 8)?,
            _ => x,
        };
        self.e.b.build_store(slot.at, x)?;
        Ok(())
    }

    /// Where the elements of a variable of scalars are, and their type.
    pub(crate) fn vector(&self, var: Var) -> Result<(PointerValue<'c>, Scalar)> {
        let s = self.f.var(var).ty.scalar();
        Ok((self.slot(var)?.at, s.ok_or_else(|| Error::bug(format!("{var} holds no scalars")))?))
    }

    /// Lets memory of its own stand in for a variable of scalars, until the variable gets its place back.
    pub(crate) fn stand_in(&mut self, var: Var) -> Result<Slot<'c>> {
        let slot = self.slot(var)?;
        let at = self.reserve(self.array_ty(slot.elem, slot.count))?;
        self.set_slot(var, Slot { at, ..slot });
        Ok(slot)
    }

    pub(crate) fn set_slot(&mut self, var: Var, slot: Slot<'c>) {
        self.vars[var.index()] = Some(slot);
    }

    fn slot(&self, var: Var) -> Result<Slot<'c>> {
        self.vars[var.index()].ok_or_else(|| Error::bug(format!("{var} has no place")))
    }

    fn index_or_0(&self, index: Option<V<'c>>) -> V<'c> {
        index.unwrap_or_else(|| self.e.i32(0))
    }

    /// The element with an index; whether it exists is known without asking where the index is a constant.
    fn element(&self, slot: Slot<'c>, index: Option<V<'c>>) -> Result<Element<'c>> {
        let index = self.index_or_0(index);
        let wide = self.e.zext_trunc(index, 64)?;
        let at = self.e.element_ptr(slot.elem, slot.at.into(), wide)?.into_pointer_value();
        let exists = match const_int(index) {
            Some(_) => None,
            None => Some(self.e.icmp(IntPredicate::ULT, index, self.e.i32(slot.count))?),
        };
        Ok((exists, at))
    }
}

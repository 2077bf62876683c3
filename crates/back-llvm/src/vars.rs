//! Variables.
//!
//! A variable is a stack slot: an element is a scalar if the variable is uniform, otherwise a
//! vector with an element per lane. LLVM turns slots into registers where no index is dynamic.
//! A store by some lanes only keeps what the others have.
//!
//! With an index that differs between lanes, a short variable is walked element by element with
//! selects, so that it can still live in registers; a long one is gathered from and scattered to.

use crate::coopmat;
use crate::emit::{V, const_int};
use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::value::{Lowered, Ptr, Val};
use inkwell::IntPredicate;
use inkwell::types::{BasicType, BasicTypeEnum};
use inkwell::values::{ArrayValue, PointerValue};
use phalanx_ir::{Inst, Scalar, Space, Type, Value, Var};

/// Elements up to which a varying index is resolved by selects.
const MAX_WALK: u32 = 8;

/// Bytes up to which a variable lies on the stack, which a coroutine has little of.
const MAX_SLOT_BYTES: u64 = 16 << 10;

/// Where a variable lives.
#[derive(Clone, Copy, Debug)]
pub(crate) enum VarSlot<'c> {
    /// Scalars.
    Scalar(Slot<'c>),
    /// Pointers: base, size and offset.
    Ptr(Space, [Slot<'c>; 3]),
}

/// An array of scalars, or of vectors with an element per lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<'c> {
    at: PointerValue<'c>,
    /// In memory; a `bool` takes a byte in an array, so that it can be gathered.
    elem: BasicTypeEnum<'c>,
    count: u32,
    uniform: bool,
    /// Bits of an element in memory are a `bool`.
    is_bool_byte: bool,
    /// Never written.
    is_table: bool,
}

/// An index into a variable.
#[derive(Clone, Copy, Debug)]
enum Index<'c> {
    /// Known, and below the number of elements.
    At(u32),
    /// Known, and out of range.
    Outside,
    /// The same in all lanes.
    Uniform(V<'c>),
    /// A vector.
    Varying(V<'c>),
}

impl<'c> Lower<'_, 'c> {
    /// Makes room for all variables.
    pub(crate) fn declare_vars(&mut self) -> Result<()> {
        let f = self.f;
        for (i, info) in f.vars.iter().enumerate() {
            let var = Var::new(i);
            let uniform = self.uniformity.is_var_uniform(var);
            let slot = match info.ty {
                Type::Mat(_) => {
                    coopmat::declare_var(self, var)?;
                    None
                }
                Type::Scalar(s) => Some(VarSlot::Scalar(match &info.table {
                    Some(table) => self.table_slot(s, table)?,
                    None if s == Scalar::Bool && info.count > 1 => Slot {
                        is_bool_byte: true,
                        ..self.new_slot(self.e.cx.i8_type().into(), info.count, uniform)?
                    },
                    None => self.new_slot(self.e.scalar_ty(s), info.count, uniform)?,
                })),
                Type::Ptr(space) => {
                    let (ptr, int) = (self.e.ptr_ty().into(), self.e.cx.i64_type().into());
                    let slots = [
                        self.new_slot(ptr, info.count, uniform)?,
                        self.new_slot(int, info.count, uniform)?,
                        self.new_slot(int, info.count, uniform)?,
                    ];
                    Some(VarSlot::Ptr(space, slots))
                }
            };
            self.vars.push(slot);
        }
        Ok(())
    }

    fn new_slot(&mut self, elem: BasicTypeEnum<'c>, count: u32, uniform: bool) -> Result<Slot<'c>> {
        let (scalar_bytes, wide) = (type_bytes(elem), self.element_ty(elem, uniform));
        let bytes = scalar_bytes * u64::from(count) * if uniform { 1 } else { u64::from(self.w) };
        let at = if count > 1 && bytes > MAX_SLOT_BYTES {
            let at = self.alloc_scratch(bytes, crate::abi::MEMORY_ALIGN as u64);
            self.scratch_ptr(at)?
        } else if count > 1 {
            self.alloca(wide.array_type(count), "var")?
        } else {
            self.alloca(wide, "var")?
        };
        Ok(Slot { at, elem, count, uniform, is_bool_byte: false, is_table: false })
    }

    /// A read-only table in the object.
    fn table_slot(&mut self, s: Scalar, table: &[u64]) -> Result<Slot<'c>> {
        let elem: BasicTypeEnum<'c> = match s {
            Scalar::Bool => self.e.cx.i8_type().into(),
            _ => self.e.scalar_ty(s),
        };
        let stored = if s == Scalar::Bool { Scalar::I8 } else { s };
        let consts: Vec<V<'c>> = table.iter().map(|&x| self.e.scalar_const(stored, x)).collect();
        // SAFETY: every element is a constant of type `elem`.
        let array = unsafe { ArrayValue::new_const_array(&elem, &consts) };
        let at = self.e.constant_data(array.into(), 64);
        let count = table.len() as u32;
        Ok(Slot { at, elem, count, uniform: true, is_bool_byte: s == Scalar::Bool, is_table: true })
    }

    /// Type of an element, all lanes together.
    fn element_ty(&self, elem: BasicTypeEnum<'c>, uniform: bool) -> BasicTypeEnum<'c> {
        if uniform { elem } else { self.e.vec_of(elem, self.w).into() }
    }

    pub(crate) fn lower_var_load(&mut self, inst: Inst, var: Var) -> Result<()> {
        let args = self.args(inst);
        let index = self.var_index(args.first().copied(), var)?;
        match self.slot(var)? {
            VarSlot::Scalar(slot) => {
                let v = self.load_slot(&slot, index)?;
                self.set(inst, v);
            }
            VarSlot::Ptr(space, [base, size, offset]) => {
                let p = Ptr {
                    space,
                    base: self.load_slot(&base, index)?,
                    size: self.load_slot(&size, index)?,
                    offset: self.load_slot(&offset, index)?,
                };
                self.set_ptr(inst, p);
            }
        }
        Ok(())
    }

    pub(crate) fn lower_var_store(&mut self, inst: Inst, var: Var) -> Result<()> {
        let args = self.args(inst);
        let (index, value) = match args[..] {
            [value] => (None, value),
            [index, value] => (Some(index), value),
            _ => return Err(Error::bug("a store to a variable has an index at most, and a value")),
        };
        let index = self.var_index(index, var)?;
        match (self.slot(var)?, self.value(value)?.clone()) {
            (VarSlot::Scalar(slot), Lowered::Scalar(x)) => self.store_slot(&slot, index, x),
            (VarSlot::Ptr(_, [base, size, offset]), Lowered::Ptr(p)) => {
                self.store_slot(&base, index, p.base)?;
                self.store_slot(&size, index, p.size)?;
                self.store_slot(&offset, index, p.offset)
            }
            _ => Err(Error::bug(format!("{value} does not fit into {var}"))),
        }
    }

    fn slot(&self, var: Var) -> Result<VarSlot<'c>> {
        self.vars[var.index()].ok_or_else(|| Error::bug(format!("{var} holds matrices")))
    }

    fn var_index(&mut self, index: Option<Value>, var: Var) -> Result<Index<'c>> {
        let count = self.f.var(var).count;
        let Some(index) = index else { return Ok(Index::At(0)) };
        let i = self.scalar(index)?;
        Ok(match const_int(i.v).filter(|_| i.is_uniform()) {
            Some(i) if i < u64::from(count) => Index::At(i as u32),
            Some(_) => Index::Outside,
            None if i.is_uniform() => Index::Uniform(i.v),
            None => Index::Varying(self.vector(i)?),
        })
    }
}

/// Elements of slots.
impl<'c> Lower<'_, 'c> {
    fn load_slot(&mut self, slot: &Slot<'c>, index: Index<'c>) -> Result<Val<'c>> {
        let v = match index {
            Index::At(i) => {
                let at = self.element(slot, self.e.i32(i))?;
                self.val(slot, self.e.b.build_load(self.element_ty(slot.elem, slot.uniform), at, "")?)
            }
            Index::Outside => Val::uniform(self.e.zero(slot.elem)),
            Index::Uniform(i) => {
                let (in_range, i) = self.clamp(slot, i)?;
                let at = self.element(slot, i)?;
                let v = self.e.b.build_load(self.element_ty(slot.elem, slot.uniform), at, "")?;
                self.val(slot, self.e.select(in_range, v, self.e.zero(v.get_type()))?)
            }
            Index::Varying(i) if slot.count <= MAX_WALK && !slot.is_table => self.walk_load(slot, i)?,
            Index::Varying(i) => {
                let (in_range, i) = self.clamp(slot, i)?;
                let mask = self.e.and(in_range, self.exec_mask())?;
                let at = self.lane_elements(slot, i)?;
                Val::varying(self.gather(slot.elem, at, mask)?)
            }
        };
        if slot.is_bool_byte {
            let truth = self.e.icmp(IntPredicate::NE, v.v, self.e.int_like(v.v, 0))?;
            return Ok(Val { v: truth, ..v });
        }
        Ok(v)
    }

    fn store_slot(&mut self, slot: &Slot<'c>, index: Index<'c>, mut x: Val<'c>) -> Result<()> {
        if slot.is_bool_byte {
            x.v = self.e.zext_trunc(x.v, 8)?;
        }
        let x = if slot.uniform { self.first(x)? } else { self.vector(x)? };
        match index {
            Index::At(i) => {
                let at = self.element(slot, self.e.i32(i))?;
                self.masked_var_store(slot, at, x, None)
            }
            Index::Outside => Ok(()),
            Index::Uniform(i) => {
                let (in_range, i) = self.clamp(slot, i)?;
                let at = self.element(slot, i)?;
                self.masked_var_store(slot, at, x, Some(in_range))
            }
            Index::Varying(_) if slot.uniform => {
                Err(Error::bug("a uniform variable is written at varying places"))
            }
            Index::Varying(i) if slot.count <= MAX_WALK => {
                for k in 0..slot.count {
                    let here = self.e.icmp(IntPredicate::EQ, i, self.e.int_like(i, k.into()))?;
                    let at = self.element(slot, self.e.i32(k))?;
                    self.masked_var_store(slot, at, x, Some(here))?;
                }
                Ok(())
            }
            Index::Varying(i) => {
                let (in_range, i) = self.clamp(slot, i)?;
                let mask = self.e.and(in_range, self.exec_mask())?;
                let at = self.lane_elements(slot, i)?;
                self.scatter(x, at, mask)
            }
        }
    }

    /// Replaces an element where a condition holds, in the active lanes.
    fn masked_var_store(
        &mut self,
        slot: &Slot<'c>,
        at: PointerValue<'c>,
        x: V<'c>,
        mut cond: Option<V<'c>>,
    ) -> Result<()> {
        // Lanes that do not exist may hold anything.
        if !slot.uniform && self.exec != self.root {
            let exec = self.exec_mask();
            cond = Some(match cond {
                Some(c @ V::VectorValue(_)) => self.e.and(c, exec)?,
                Some(c) => self.e.and(self.e.splat(c, self.w)?, exec)?,
                None => exec,
            });
        }
        let x = match cond {
            Some(c) => self.e.select(c, x, self.e.b.build_load(x.get_type(), at, "")?)?,
            None => x,
        };
        self.e.b.build_store(at, x)?;
        Ok(())
    }

    /// Reads with an index per lane by trying every element.
    fn walk_load(&mut self, slot: &Slot<'c>, index: V<'c>) -> Result<Val<'c>> {
        let mut result = self.e.zero(self.e.vec_of(slot.elem, self.w).into());
        for k in 0..slot.count {
            let x = self.load_plain(slot, k)?;
            let x = self.vector(x)?;
            let here = self.e.icmp(IntPredicate::EQ, index, self.e.int_like(index, k.into()))?;
            result = self.e.select(here, x, result)?;
        }
        Ok(Val::varying(result))
    }

    fn load_plain(&mut self, slot: &Slot<'c>, k: u32) -> Result<Val<'c>> {
        let at = self.element(slot, self.e.i32(k))?;
        Ok(self.val(slot, self.e.b.build_load(self.element_ty(slot.elem, slot.uniform), at, "")?))
    }

    fn val(&self, slot: &Slot<'c>, v: V<'c>) -> Val<'c> {
        if slot.uniform { Val::uniform(v) } else { Val::varying(v) }
    }

    /// Whether an index is in range, and the index or 0.
    fn clamp(&mut self, slot: &Slot<'c>, index: V<'c>) -> Result<(V<'c>, V<'c>)> {
        let in_range = self.e.icmp(IntPredicate::ULT, index, self.e.int_like(index, slot.count.into()))?;
        let index = self.e.select(in_range, index, self.e.int_like(index, 0))?;
        Ok((in_range, index))
    }

    /// The address of an element, all lanes together.
    fn element(&self, slot: &Slot<'c>, index: V<'c>) -> Result<PointerValue<'c>> {
        if const_int(index) == Some(0) {
            return Ok(slot.at);
        }
        let ty = self.element_ty(slot.elem, slot.uniform);
        Ok(self.e.element_ptr(ty, slot.at.into(), index)?.into_pointer_value())
    }

    /// The address of each lane's element of a vector of indices.
    fn lane_elements(&mut self, slot: &Slot<'c>, index: V<'c>) -> Result<V<'c>> {
        let index = if slot.uniform {
            index
        } else {
            let first = self.e.mul(index, self.e.int_like(index, self.w.into()))?;
            self.e.add(first, self.e.const_ints(32, 0..u64::from(self.w)))?
        };
        self.e.element_ptr(slot.elem, slot.at.into(), index)
    }
}

fn type_bytes(elem: BasicTypeEnum<'_>) -> u64 {
    match elem {
        BasicTypeEnum::IntType(t) => u64::from(t.get_bit_width().div_ceil(8)),
        BasicTypeEnum::FloatType(t) => u64::from(t.get_bit_width() / 8),
        _ => 8,
    }
}

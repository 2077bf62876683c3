//! Variables.
//!
//! A variable is a stack slot: an element is a scalar if the variable is uniform or rises evenly,
//! otherwise a vector with an element per lane. LLVM turns slots into registers where no index is
//! dynamic. A store by some lanes only keeps what the others have.
//!
//! What was not written is zero: to LLVM it would be a value that may be another one each time it
//! is looked at, and no bounds check holds against that.
//!
//! With an index that differs between lanes, a short variable is walked element by element with
//! selects, so that it can still live in registers; a long one is gathered from and scattered to.

use crate::coopmat;
use crate::emit::{V, const_int, int_bits};
use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::value::{Lowered, Ptr, Shape, Val};
use inkwell::IntPredicate;
use inkwell::types::{BasicType, BasicTypeEnum};
use inkwell::values::{ArrayValue, PointerValue};
use phalanx_ir::Shape as Known;
use phalanx_ir::{Inst, Scalar, Space, Type, Value, Var};

/// Elements up to which a varying index is resolved by selects.
const MAX_WALK: u32 = 8;

/// Bytes of arrays that lie on the stack, of which a kernel has little; others lie in scratch
/// memory.
const MAX_STACK_BYTES: u64 = 32 << 10;

/// Elements up to which an array is cleared without a loop.
const MAX_PLAIN_STORES: u32 = 16;

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
    /// How the lanes' elements are kept.
    shape: Shape,
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
        let filled = crate::filled::filled(f);
        for (i, info) in f.vars.iter().enumerate() {
            let var = Var::new(i);
            let shape = match self.uniformity.var_shape(var) {
                // Elements of an array at different places are numbers for each lane, or rise evenly.
                Known::Bits { .. } if info.count > 1 => Shape::Varying,
                known => self.known_shape(known),
            };
            if self.declare_bundle(var, filled[i])? {
                self.vars.push(None);
                continue;
            }
            let slot = match info.ty {
                Type::Mat(_) => {
                    coopmat::declare_var(self, var)?;
                    None
                }
                Type::Scalar(s) => Some(VarSlot::Scalar(match &info.table {
                    Some(table) => self.table_slot(s, table)?,
                    None => {
                        let is_bool_byte = s == Scalar::Bool && info.count > 1;
                        let elem =
                            if is_bool_byte { self.e.cx.i8_type().into() } else { self.e.scalar_ty(s) };
                        let slot = self.new_slot(elem, info.count, shape)?;
                        if !filled[i] {
                            self.clear(&slot)?;
                        }
                        Slot { is_bool_byte, ..slot }
                    }
                })),
                Type::Ptr(space) => {
                    let (ptr, int) = (self.e.ptr_ty().into(), self.e.cx.i64_type().into());
                    let whole = if shape == Shape::Varying { shape } else { Shape::Uniform };
                    let slots = [
                        self.new_slot(ptr, info.count, whole)?,
                        self.new_slot(int, info.count, whole)?,
                        self.new_slot(int, info.count, shape)?,
                    ];
                    for slot in &slots {
                        self.clear(slot)?;
                    }
                    Some(VarSlot::Ptr(space, slots))
                }
            };
            self.vars.push(slot);
        }
        Ok(())
    }

    /// Room for an array.
    fn new_slot(&mut self, elem: BasicTypeEnum<'c>, count: u32, shape: Shape) -> Result<Slot<'c>> {
        let wide = self.element_ty(elem, shape);
        let lanes = if shape == Shape::Varying { u64::from(self.w) } else { 1 };
        let bytes = type_bytes(elem) * u64::from(count) * lanes;
        let at = if count == 1 {
            self.alloca(wide, "var")?
        } else if self.stack_bytes + bytes <= MAX_STACK_BYTES {
            self.stack_bytes += bytes;
            self.alloca(wide.array_type(count), "var")?
        } else {
            let at = self.alloc_scratch(bytes, crate::abi::MEMORY_ALIGN as u64);
            self.scratch_ptr(at)?
        };
        Ok(Slot { at, elem, count, shape, is_bool_byte: false, is_table: false })
    }

    fn clear(&mut self, slot: &Slot<'c>) -> Result<()> {
        let zero = self.e.zero(self.element_ty(slot.elem, slot.shape));
        if slot.count <= MAX_PLAIN_STORES {
            for k in 0..slot.count {
                let at = self.element(slot, self.e.i32(k))?;
                self.e.b.build_store(at, zero)?;
            }
            return Ok(());
        }
        let [head, done] = ["clear", "cleared"].map(|n| self.new_block(n));
        let before = self.e.here()?;
        self.e.br(head)?;
        self.e.b.position_at_end(head);
        let phi = self.e.b.build_phi(self.e.cx.i32_type(), "")?;
        let k = phi.as_basic_value();
        let at = self.element(slot, k)?;
        self.e.b.build_store(at, zero)?;
        let next = self.e.add(k, self.e.i32(1))?;
        phi.add_incoming(&[(&self.e.i32(0), before), (&next, head)]);
        let more = self.e.icmp(IntPredicate::ULT, next, self.e.i32(slot.count))?;
        self.e.cond_br(more, head, done)?;
        self.e.b.position_at_end(done);
        Ok(())
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
        let is_bool_byte = s == Scalar::Bool;
        Ok(Slot { at, elem, count, shape: Shape::Uniform, is_bool_byte, is_table: true })
    }

    /// Type of an element, all lanes together.
    fn element_ty(&self, elem: BasicTypeEnum<'c>, shape: Shape) -> BasicTypeEnum<'c> {
        if shape == Shape::Varying { self.e.vec_of(elem, self.w).into() } else { elem }
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
        let slot = self.slot(var)?;
        if let VarSlot::Scalar(slot) = &slot {
            let x = self.scalar(value)?;
            return self.store_slot(slot, index, x);
        }
        match (slot, self.value(value)?.clone()) {
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

    /// Where a variable that has an element for each lane lies: all lanes' first elements, then all second ones.
    pub(crate) fn vector_slot(&self, var: Var) -> Result<PointerValue<'c>> {
        match self.slot(var)? {
            VarSlot::Scalar(slot) if slot.shape == Shape::Varying && !slot.is_table => Ok(slot.at),
            _ => Err(Error::bug(format!("{var} is no vector of each lane"))),
        }
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
            Index::At(i) => self.load_plain(slot, self.e.i32(i))?,
            Index::Outside => Val::uniform(self.e.zero(slot.elem)),
            Index::Uniform(i) => {
                let (in_range, i) = self.clamp(slot, i)?;
                let v = self.load_plain(slot, i)?;
                self.choose(Val::uniform(in_range), v, Val::uniform(self.e.zero(slot.elem)))?
            }
            Index::Varying(i) if slot.count <= MAX_WALK && !slot.is_table => self.walk_load(slot, i)?,
            Index::Varying(i) => {
                let (in_range, i) = self.clamp(slot, i)?;
                let mask = self.e.and(in_range, self.exec_mask())?;
                let at = self.lane_elements(slot, i)?;
                let v = self.gather(slot.elem, at, mask)?;
                self.add_steps(slot, v, in_range)?
            }
        };
        if slot.is_bool_byte {
            let truth = self.e.icmp(IntPredicate::NE, v.v, self.e.int_like(v.v, 0))?;
            return Ok(Val { v: truth, ..v });
        }
        Ok(v)
    }

    /// Makes the lanes' values of what was gathered from elements that are kept for lane 0.
    fn add_steps(&mut self, slot: &Slot<'c>, v: V<'c>, in_range: V<'c>) -> Result<Val<'c>> {
        let Shape::Affine(stride) = slot.shape else { return Ok(Val::varying(v)) };
        let bits = int_bits(v);
        let steps = (0..i64::from(self.w)).map(|l| l.wrapping_mul(stride) as u64);
        let sum = self.e.add(v, self.e.const_ints(bits, steps))?;
        Ok(Val::varying(self.e.select(in_range, sum, self.e.zero(v.get_type()))?))
    }

    fn store_slot(&mut self, slot: &Slot<'c>, index: Index<'c>, mut x: Val<'c>) -> Result<()> {
        if slot.is_bool_byte {
            x.v = self.e.zext_trunc(x.v, 8)?;
        }
        let x = self.as_kept(slot, x)?;
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
            Index::Varying(_) if slot.shape != Shape::Varying => {
                Err(Error::bug("a variable with one value for all lanes is written at different places"))
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

    /// A value in the form that a slot keeps: for one to which lanes add what is known, what lane 0 has or would
    /// have.
    fn as_kept(&mut self, slot: &Slot<'c>, x: Val<'c>) -> Result<V<'c>> {
        match slot.shape {
            Shape::Varying => self.vector(x),
            Shape::Uniform => self.first(x),
            kept if x.shape == kept => Ok(x.v),
            Shape::Pattern(number) => {
                let lane = self.first_lane()?;
                let v = self.at_lane(x, lane)?;
                let steps: Vec<_> = self.patterns.steps(number).iter().map(|s| s.cast_unsigned()).collect();
                let step = self.e.extract(self.e.const_ints(int_bits(v), steps), lane)?;
                self.e.sub(v, step)
            }
            Shape::Affine(stride) => {
                let lane = self.first_lane()?;
                let v = self.at_lane(x, lane)?;
                let bits = int_bits(v);
                let lane = self.e.zext_trunc(lane, bits)?;
                let step = self.e.mul(lane, self.e.int(bits, stride as u64))?;
                self.e.sub(v, step)
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
        // Lanes that do not exist, or have returned, may hold anything.
        if slot.shape == Shape::Varying && self.exec != self.alive {
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
            let x = self.load_plain(slot, self.e.i32(k))?;
            let x = self.vector(x)?;
            let here = self.e.icmp(IntPredicate::EQ, index, self.e.int_like(index, k.into()))?;
            result = self.e.select(here, x, result)?;
        }
        Ok(Val::varying(result))
    }

    /// Reads an element that exists.
    fn load_plain(&mut self, slot: &Slot<'c>, index: V<'c>) -> Result<Val<'c>> {
        let at = self.element(slot, index)?;
        let v = self.e.b.build_load(self.element_ty(slot.elem, slot.shape), at, "")?;
        Ok(Val { shape: slot.shape, v })
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
        let ty = self.element_ty(slot.elem, slot.shape);
        Ok(self.e.element_ptr(ty, slot.at.into(), index)?.into_pointer_value())
    }

    /// The address of each lane's element of a vector of indices.
    fn lane_elements(&mut self, slot: &Slot<'c>, index: V<'c>) -> Result<V<'c>> {
        let index = if slot.shape != Shape::Varying {
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

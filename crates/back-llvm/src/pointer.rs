//! Pointers: where they come from and how they move.
//!
//! A pointer is kept in pieces (base, size, offset), because each piece has its own shape: most
//! often base and size are uniform and the offset rises evenly, which is what makes an access a
//! vector access. The bounds of the object travel along, as every access is checked.

use crate::abi::offset;
use crate::emit::{V, const_elems, const_int};
use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::prologue::Field;
use crate::value::{Ptr, Shape, Val};
use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode, PointerValue};
use phalanx_ir::{Binding, Inst, Op, Space, Value};

impl<'c> Lower<'_, 'c> {
    pub(crate) fn lower_pointer(&mut self, inst: Inst) -> Result<()> {
        let args = self.args(inst);
        let f = self.f;
        match f.inst(inst).op {
            Op::BufferPtr(binding) => {
                let index = self.scalar(args[0])?;
                let (base, size) = self.buffer(binding, index)?;
                let offset = Val::uniform(self.e.i64(0));
                self.set_ptr(inst, Ptr { space: Space::Buffer, base, size, offset });
            }
            Op::PushPtr => {
                let base = Val::uniform(self.field(Field::Push)?);
                let size = Val::uniform(self.e.i64(self.ir.push_bytes.into()));
                let offset = Val::uniform(self.e.i64(0));
                self.set_ptr(inst, Ptr { space: Space::Push, base, size, offset });
            }
            Op::SharedPtr { offset, bytes } => {
                let shared = self.field_ptr(Field::Shared)?;
                let base = self.at_entry(|l| l.e.field(shared, offset.into()))?;
                let base = match args.first() {
                    Some(&part) => self.shared_part(base, part, offset, bytes)?,
                    None => Val::uniform(base.into()),
                };
                let (size, offset) = (Val::uniform(self.e.i64(bytes.into())), Val::uniform(self.e.i64(0)));
                self.set_ptr(inst, Ptr { space: Space::Shared, base, size, offset });
            }
            Op::PtrAdd { scale, disp } => {
                let p = self.ptr(args[0])?;
                let index = args.get(1).map(|&i| self.scalar(i)).transpose()?;
                let offset = self.add_offset(p.offset, index, scale, disp)?;
                self.set_ptr(inst, Ptr { offset, ..p });
            }
            Op::PtrBytesLeft => {
                let p = self.ptr(args[0])?;
                let (shape, both) = self.together(&[p.size, p.offset])?;
                let (size, at) = (both[0], both[1]);
                let inside = self.e.icmp(IntPredicate::ULT, at, size)?;
                let left = self.e.sub(size, at)?;
                let v = self.e.select(inside, left, self.e.int_like(left, 0))?;
                self.set(inst, Val { shape, v });
            }
            Op::PtrDiff => {
                let (p, q) = (self.ptr(args[0])?, self.ptr(args[1])?);
                let v = self.difference(p.offset, q.offset)?;
                self.set(inst, v);
            }
            Op::PtrToInt => {
                let p = self.ptr(args[0])?;
                let v = self.address(&p)?;
                self.set(inst, v);
            }
            Op::IntToPtr => {
                let offset = self.scalar(args[0])?;
                let base = Val::uniform(self.e.ptr_ty().const_null().into());
                let size = Val::uniform(self.e.i64(-1));
                self.set_ptr(inst, Ptr { space: Space::Global, base, size, offset });
            }
            _ => return Err(Error::bug("no pointer operation")),
        }
        Ok(())
    }

    /// Where one of several objects of shared memory starts; the first is at `base`.
    fn shared_part(
        &mut self,
        base: PointerValue<'c>,
        part: Value,
        offset: u32,
        bytes: u32,
    ) -> Result<Val<'c>> {
        let room = self.ir.shared_bytes - offset;
        let last = room.checked_div(bytes).map_or(0, |parts| parts.saturating_sub(1));
        let part = self.scalar(part)?;
        let shape = if part.is_uniform() { Shape::Uniform } else { Shape::Varying };
        let part = if part.is_uniform() { part.v } else { self.vector(part)? };
        let part = self.e.map2("llvm.umin", part, self.e.int_like(part, last.into()))?;
        let wide = self.e.zext_trunc(part, 64)?;
        let start = self.e.mul(wide, self.e.int_like(wide, bytes.into()))?;
        Ok(Val { shape, v: self.e.offset(base.into(), start)? })
    }

    /// `offset + index * scale + disp`.
    ///
    /// A 32-bit index that rises evenly in small steps is taken to do so after its extension too. It
    /// does not if it wraps at 2^31 between two lanes; then both the lanes behind the wrap and what
    /// they are taken for lie about 2^31 elements away from the object, on either side of it. In an object of more
    /// elements than that, they are those that an index without a sign names.
    fn add_offset(
        &mut self,
        offset: Val<'c>,
        index: Option<Val<'c>>,
        scale: i64,
        disp: i64,
    ) -> Result<Val<'c>> {
        let offset = if disp == 0 {
            offset
        } else {
            Val { v: self.e.add(offset.v, self.e.int_like(offset.v, disp as u64))?, ..offset }
        };
        let Some(index) = index else { return Ok(offset) };
        let index = if self.may_wrap_into(index) { Val::varying(self.vector(index)?) } else { index };
        let wide = self.e.sext_trunc(index.v, 64)?;
        let step = self.e.mul(wide, self.e.int_like(wide, scale as u64))?;
        if let (Some(a), Some(b)) = (offset.stride(), index.stride()) {
            let stride = a.wrapping_add(b.wrapping_mul(scale));
            return Ok(Val::affine(self.e.add(offset.v, step)?, stride));
        }
        if let Some(steps) = self.known_steps(offset, index, scale) {
            return Ok(Val { shape: self.patterns.shape(steps), v: self.e.add(offset.v, step)? });
        }
        // A constant for each lane is one that is added to nothing.
        if let (Some(steps), Some(constants)) =
            (self.patterns.of(offset, self.w), const_elems(step).filter(|_| !index.is_based()))
        {
            let sum = steps.iter().zip(constants).map(|(a, b)| a.wrapping_add(b.cast_signed())).collect();
            return Ok(Val { shape: self.patterns.shape(sum), v: offset.v });
        }
        // One of them is a vector.
        let sum = match index.shape {
            Shape::Varying => self.e.add(self.vector(offset)?, step)?,
            _ => {
                let index = Val::varying(self.vector(Val { v: wide, ..index })?);
                let step = self.e.mul(index.v, self.e.int_like(index.v, scale as u64))?;
                self.e.add(self.vector(offset)?, step)?
            }
        };
        Ok(Val::varying(sum))
    }

    /// What each lane adds to the sum of a scalar offset and a multiple of a scalar index.
    fn known_steps(&self, offset: Val<'c>, index: Val<'c>, scale: i64) -> Option<Vec<i64>> {
        let (offsets, steps) = (self.patterns.of(offset, self.w)?, self.patterns.of(index, self.w)?);
        Some(offsets.iter().zip(steps).map(|(a, b)| a.wrapping_add(b.wrapping_mul(scale))).collect())
    }

    /// Whether the lanes behind a wrap of an index may come back to the object.
    pub(crate) fn may_wrap_into(&self, index: Val<'c>) -> bool {
        const FAR: u64 = 1 << 24;
        let spread = match index.shape {
            Shape::Uniform | Shape::Varying => return false,
            Shape::Affine(stride) => stride.unsigned_abs().saturating_mul(self.w.into()),
            Shape::Pattern(number) => {
                self.patterns.steps(number).iter().map(|s| s.unsigned_abs()).max().unwrap_or(0)
            }
        };
        match index.v.get_type().into_int_type().get_bit_width() {
            64 => false,
            32 => spread >= FAR,
            _ => true,
        }
    }

    fn difference(&mut self, x: Val<'c>, y: Val<'c>) -> Result<Val<'c>> {
        if let (Some(a), Some(b)) = (x.stride(), y.stride()) {
            return Ok(Val::affine(self.e.sub(x.v, y.v)?, a.wrapping_sub(b)));
        }
        let (shape, both) = self.together(&[x, y])?;
        Ok(Val { shape, v: self.e.sub(both[0], both[1])? })
    }

    /// Base and size of a buffer.
    fn buffer(&mut self, binding: Binding, index: Val<'c>) -> Result<(Val<'c>, Val<'c>)> {
        let known = const_int(index.v).filter(|_| index.is_uniform());
        let in_range = |i: u64| self.ir.binding(binding).count.is_some_and(|n| i < n.into());
        if let Some(i) = known.filter(|&i| in_range(i)) {
            let key = (binding.index(), i);
            if let Some(&(base, size)) = self.prologue.buffers.get(&key) {
                return Ok((Val::uniform(base), Val::uniform(size)));
            }
            let descs = self.descriptors(binding)?;
            let (base, size) = self.at_entry(|l| {
                let at = l.e.field(descs.into_pointer_value(), i * offset::BUFFER_STRIDE as u64)?;
                l.load_descriptor(at)
            })?;
            self.prologue.buffers.insert(key, (base, size));
            return Ok((Val::uniform(base), Val::uniform(size)));
        }
        let (descs, count) = (self.descriptors(binding)?, self.descriptor_count(binding)?);
        let none = self.null_descriptor();
        if index.is_uniform() {
            let wide = self.e.zext_trunc(index.v, 64)?;
            let valid = self.e.icmp(IntPredicate::ULT, wide, count)?;
            let at = self.e.mul(wide, self.e.i64(offset::BUFFER_STRIDE as i64))?;
            let at = self.e.offset(descs, at)?;
            let at = self.e.select(valid, at, none)?;
            let (base, size) = self.load_descriptor(at.into_pointer_value())?;
            return Ok((Val::uniform(base), Val::uniform(size)));
        }
        let index = self.vector(index)?;
        let wide = self.e.zext_trunc(index, 64)?;
        let valid = self.e.icmp(IntPredicate::ULT, wide, self.e.splat(count, self.w)?)?;
        let valid = self.e.and(valid, self.exec_mask())?;
        let at = self.e.mul(wide, self.e.int_like(wide, offset::BUFFER_STRIDE as u64))?;
        let at = self.e.select(valid, at, self.e.int_like(at, 0))?;
        let i64_ty = self.e.cx.i64_type().into();
        let field = |l: &mut Self, bytes: usize| {
            let start = l.e.offset(descs, l.e.i64(bytes as i64))?;
            let at = l.e.offset(start, at)?;
            l.gather(i64_ty, at, valid)
        };
        let base = field(self, offset::BUFFER_BASE)?;
        let size = field(self, offset::BUFFER_SIZE)?;
        let base = self.e.cast(InstructionOpcode::IntToPtr, base, self.e.ptr_ty())?;
        Ok((Val::varying(base), Val::varying(size)))
    }

    /// The descriptors of a binding.
    fn descriptors(&mut self, binding: Binding) -> Result<V<'c>> {
        let table = self.field_ptr(Field::Bindings)?;
        let at = binding.index() * offset::BINDING_STRIDE + offset::BINDING_DESCS;
        self.at_entry(|l| {
            let at = l.e.field(table, at as u64)?;
            l.e.load_invariant(l.e.ptr_ty(), at, 8)
        })
    }

    fn descriptor_count(&mut self, binding: Binding) -> Result<V<'c>> {
        let table = self.field_ptr(Field::Bindings)?;
        let at = binding.index() * offset::BINDING_STRIDE + offset::BINDING_COUNT;
        self.at_entry(|l| {
            let at = l.e.field(table, at as u64)?;
            l.e.load_invariant(l.e.cx.i64_type(), at, 8)
        })
    }

    fn load_descriptor(&mut self, at: PointerValue<'c>) -> Result<(V<'c>, V<'c>)> {
        let base = self.e.field(at, offset::BUFFER_BASE as u64)?;
        let base = self.e.load_invariant(self.e.ptr_ty(), base, 8)?;
        let size = self.e.field(at, offset::BUFFER_SIZE as u64)?;
        let size = self.e.load_invariant(self.e.cx.i64_type(), size, 8)?;
        Ok((base, size))
    }

    /// The descriptor of an empty buffer.
    fn null_descriptor(&mut self) -> V<'c> {
        self.zeros().into()
    }
}

//! Pointers: where they come from and how they move.
//!
//! A pointer is kept in pieces, because the bounds of the object travel along: every access is checked.

use crate::abi::{BUFFER_ALIGN, DESCRIPTOR_BYTES, SPILLED};
use crate::lower::{ADDRESS_SPACE_GLOBAL, ADDRESS_SPACE_SHARED, Lower, Ptr};
use crate::spill::Home;
use inkwell::AddressSpace;
use inkwell::IntPredicate;
use inkwell::module::Linkage;
use inkwell::types::{ArrayType, BasicType, BasicTypeEnum, PointerType};
use inkwell::values::{InstructionOpcode as I, PointerValue};
use phalanx_emit_llvm::{Error, Result, V, const_int};
use phalanx_ir::{Binding, Inst, Op, Space, Value};

impl<'c> Lower<'_, 'c> {
    pub(crate) fn lower_pointer(&mut self, inst: Inst) -> Result<()> {
        let f = self.f;
        let info = f.inst(inst);
        let zero = self.e.i64(0);
        match info.op {
            Op::BufferPtr(binding) => {
                let index = self.scalar(info.args[0])?;
                let (base, size) = self.buffer(binding, index)?;
                self.set_ptr(inst, Ptr { space: Space::Buffer, base, size, offset: zero });
            }
            Op::PushPtr => {
                let base = self.e.field(self.arguments, self.layout.push)?.into();
                let size = self.e.i64(self.layout.push_bytes.into());
                self.set_ptr(inst, Ptr { space: Space::Push, base, size, offset: zero });
            }
            Op::SharedPtr { offset, bytes } => {
                let home = self.homes.moved(inst);
                let (space, base) = match home {
                    None => (Space::Shared, self.e.field(self.shared, offset.into())?.into()),
                    Some(Home::Shared(offset)) => {
                        (Space::Shared, self.e.field(self.shared, offset.into())?.into())
                    }
                    Some(Home::Global(offset)) => (Space::Buffer, self.spilled(offset)?),
                };
                let base = match info.args.first() {
                    // One that has moved takes nothing but its parts along.
                    Some(&part) if home.is_some() => {
                        self.shared_part(base, part, self.ir.num_subgroups(), bytes)?
                    }
                    Some(&part) => {
                        let room = self.ir.shared_bytes - offset;
                        self.shared_part(base, part, room.checked_div(bytes).unwrap_or(1), bytes)?
                    }
                    None => base,
                };
                let size = self.e.i64(bytes.into());
                self.set_ptr(inst, Ptr { space, base, size, offset: zero });
            }
            Op::PtrAdd { scale, disp } => {
                let p = self.ptr(info.args[0])?;
                let mut offset = self.e.add(p.offset, self.e.i64(disp))?;
                if let Some(&index) = info.args.get(1) {
                    let index = self.e.sext_trunc(self.scalar(index)?, 64)?;
                    offset = self.e.add(offset, self.e.mul(index, self.e.i64(scale))?)?;
                }
                self.set_ptr(inst, Ptr { offset, ..p });
            }
            Op::PtrBytesLeft => {
                let p = self.ptr(info.args[0])?;
                let inside = self.e.icmp(IntPredicate::ULT, p.offset, p.size)?;
                let left = self.e.sub(p.size, p.offset)?;
                let v = self.e.select(inside, left, zero)?;
                self.set(inst, v);
            }
            Op::PtrDiff => {
                let (p, q) = (self.ptr(info.args[0])?, self.ptr(info.args[1])?);
                let v = match p.space {
                    Space::Global => {
                        let (p, q) = (self.address(&p)?, self.address(&q)?);
                        self.e.sub(p, q)?
                    }
                    _ => self.e.sub(p.offset, q.offset)?,
                };
                self.set(inst, v);
            }
            Op::PtrToInt => {
                let p = self.ptr(info.args[0])?;
                let v = self.address(&p)?;
                self.set(inst, v);
            }
            Op::IntToPtr => {
                // What is added stays apart, so that LLVM sees which accesses are side by side.
                let address = self.scalar(info.args[0])?;
                let base = self.e.cast(I::IntToPtr, address, self.space_ty(Space::Global))?;
                let p = Ptr { space: Space::Global, base, size: self.e.i64(-1), offset: zero };
                self.set_ptr(inst, p);
            }
            _ => return Err(Error::bug("no pointer operation")),
        }
        Ok(())
    }

    /// The type of pointers into a space.
    pub(crate) fn space_ty(&self, space: Space) -> PointerType<'c> {
        let number = match space {
            Space::Buffer | Space::Global => ADDRESS_SPACE_GLOBAL,
            Space::Shared => ADDRESS_SPACE_SHARED,
            // The block of arguments, which LLVM finds to be one.
            Space::Push => 0,
        };
        self.e.cx.ptr_type(AddressSpace::from(number))
    }

    /// The address of a pointer (`i64`).
    pub(crate) fn address(&mut self, p: &Ptr<'c>) -> Result<V<'c>> {
        let base = self.e.cast(I::PtrToInt, p.base, self.e.cx.i64_type())?;
        self.e.add(base, p.offset)
    }

    /// A power of two that divides what a pointer points to, as far as that is seen here.
    pub(crate) fn align_of(&self, pointer: Value) -> u64 {
        let f = self.f;
        let info = f.def(pointer);
        let of = |x: i64| 1_u64 << x.trailing_zeros().min(4);
        match info.op {
            Op::BufferPtr(_) | Op::PushPtr => BUFFER_ALIGN,
            Op::SharedPtr { offset, bytes } => {
                let parts = if info.args.is_empty() { 0 } else { bytes };
                of(offset.into()).min(of(parts.into()))
            }
            Op::PtrAdd { scale, disp } => {
                let index = info.args.get(1).map(|&index| match f.const_bits(index) {
                    Some(bits) => of(scale.wrapping_mul(bits.cast_signed())),
                    None => (of(scale) << self.uniformity.low_zeros(index).min(4)).min(BUFFER_ALIGN),
                });
                self.align_of(info.args[0]).min(of(disp)).min(index.unwrap_or(BUFFER_ALIGN))
            }
            Op::Select => self.align_of(info.args[1]).min(self.align_of(info.args[2])),
            Op::IntToPtr => match f.def(info.args[0]) {
                address if address.op == Op::PtrToInt => self.align_of(address.args[0]),
                _ => of(1 << self.uniformity.low_zeros(info.args[0]).min(4)),
            },
            _ => 1,
        }
    }

    /// Whether so many bytes from a pointer on are known to be in its object, by the bounds of indices.
    pub(crate) fn is_range_inside(&self, pointer: Value, bytes: i128) -> bool {
        let known = self.range_of(pointer);
        known.is_some_and(|(least, most, size)| least >= 0 && bytes >= 0 && most + bytes <= size)
    }

    /// The least and the greatest distance of a pointer from where its object of shared memory begins, and its size.
    fn range_of(&self, pointer: Value) -> Option<(i128, i128, i128)> {
        let info = self.f.def(pointer);
        match info.op {
            Op::SharedPtr { bytes, .. } => Some((0, 0, bytes.into())),
            Op::PtrAdd { scale, disp } => {
                let (least, most, size) = self.range_of(info.args[0])?;
                let (low, high) = match info.args.get(1) {
                    Some(&index) => self.uniformity.range(index),
                    None => (0, 0),
                };
                let ends = [low, high].map(|end| i128::from(end) * i128::from(scale) + i128::from(disp));
                let range = (least + ends[0].min(ends[1]), most + ends[0].max(ends[1]), size);
                // Beyond 64 bits addresses wrap.
                (range.0.abs() < 1 << 62 && range.1.abs() < 1 << 62).then_some(range)
            }
            _ => None,
        }
    }

    /// A place in the memory that this work-group has for what shared memory has no room for.
    fn spilled(&mut self, offset: u64) -> Result<V<'c>> {
        let at = self.e.field(self.arguments, SPILLED)?;
        let start = self.e.load_invariant(self.space_ty(Space::Global), at, 8)?;
        let number = self.number_in_launch()?;
        let further = self.e.mul(number, self.e.i64(self.layout.spilled_bytes as i64))?;
        self.e.offset(start, self.e.add(further, self.e.i64(offset as i64))?)
    }

    /// Where one of several objects of shared memory starts; the first is at `base`.
    fn shared_part(&mut self, base: V<'c>, part: Value, parts: u32, bytes: u32) -> Result<V<'c>> {
        let last = parts.saturating_sub(1);
        let part = self.scalar(part)?;
        let part = self.e.map2("llvm.umin", part, self.e.int_like(part, last.into()))?;
        let start = self.e.mul(self.e.zext_trunc(part, 64)?, self.e.i64(bytes.into()))?;
        self.e.offset(base, start)
    }

    /// Base and size of a buffer; of an empty one for an index out of range.
    pub(crate) fn buffer(&mut self, binding: Binding, index: V<'c>) -> Result<(V<'c>, V<'c>)> {
        let place = self.layout.binding(binding);
        let at = self.e.field(self.arguments, place.offset)?;
        let index = self.e.zext_trunc(index, 64)?;
        let step = self.e.mul(index, self.e.i64(DESCRIPTOR_BYTES as i64))?;
        let (table, count) = match place.inline {
            Some(count) => (at.into(), self.e.i64(count.into())),
            None => self.descriptor(at)?,
        };
        if let (Some(index), Some(count)) = (const_int(index), const_int(count))
            && index < count
        {
            let at = self.e.field(at, index * DESCRIPTOR_BYTES)?;
            return self.of_buffer(at);
        }
        let exists = self.e.icmp(IntPredicate::ULT, index, count)?;
        let nothing = [self.space_ty(Space::Buffer).const_null().into(), self.e.i64(0)];
        let (base, size) = self.guarded(exists, nothing, |l| {
            let at = l.e.offset(table, step)?.into_pointer_value();
            let (base, size) = l.of_buffer(at)?;
            Ok([base, size])
        })?;
        Ok((base, size))
    }

    /// What is done where a condition holds, or else what stands for it.
    fn guarded(
        &mut self,
        cond: V<'c>,
        otherwise: [V<'c>; 2],
        f: impl FnOnce(&mut Self) -> Result<[V<'c>; 2]>,
    ) -> Result<(V<'c>, V<'c>)> {
        let [then, done] = ["exists", "found"].map(|name| self.new_block(name));
        let before = self.e.here()?;
        self.e.cond_br(cond, then, done)?;
        self.e.b.position_at_end(then);
        let [x, y] = f(self)?;
        let after = self.e.here()?;
        self.e.br(done)?;
        self.e.b.position_at_end(done);
        let [a, b] = otherwise;
        Ok((self.e.merge(&[(x, after), (a, before)])?, self.e.merge(&[(y, after), (b, before)])?))
    }

    /// What the descriptor of a buffer says.
    fn of_buffer(&mut self, at: PointerValue<'c>) -> Result<(V<'c>, V<'c>)> {
        let (base, size) = self.descriptor(at)?;
        self.e.points_to_multiples(base, BUFFER_ALIGN)?;
        Ok((base, size))
    }

    fn descriptor(&mut self, at: PointerValue<'c>) -> Result<(V<'c>, V<'c>)> {
        let base = self.e.load_invariant(self.space_ty(Space::Buffer), at, 8)?;
        let size = self.e.field(at, 8)?;
        let size = self.e.load_invariant(self.e.cx.i64_type(), size, 8)?;
        Ok((base, size))
    }

    /// A read-only table.
    pub(crate) fn table(&self, elem: BasicTypeEnum<'c>, elems: &[V<'c>], align: u32) -> PointerValue<'c> {
        let values = match elem {
            BasicTypeEnum::FloatType(t) => {
                t.const_array(&elems.iter().map(|v| v.into_float_value()).collect::<Vec<_>>())
            }
            _ => elem
                .into_int_type()
                .const_array(&elems.iter().map(|v| v.into_int_value()).collect::<Vec<_>>()),
        };
        let space = Some(AddressSpace::from(ADDRESS_SPACE_GLOBAL));
        let global = self.e.module.add_global(values.get_type(), space, "table");
        global.set_initializer(&values);
        global.set_constant(true);
        global.set_linkage(Linkage::Private);
        global.set_alignment(align);
        global.as_pointer_value().const_cast(self.e.ptr_ty())
    }

    /// An array.
    pub(crate) fn array_ty(&self, elem: BasicTypeEnum<'c>, count: u32) -> ArrayType<'c> {
        elem.array_type(count)
    }
}

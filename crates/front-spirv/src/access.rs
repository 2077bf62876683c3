//! Access chains: from a pointer to a part of what it points to.

use crate::cx::Cx;
use crate::diag::{Fault, Res, operand};
use crate::layout::{Layout, scalar_bytes};
use crate::reader::{Id, Inst};
use crate::types::{Kind, Ty};
use crate::value::{DescriptorPtr, Index, InputPtr, LocalPtr, MemPtr, Pointer, Spread, Val};
use phalanx_ir::{self as ir, BinaryOp, ConvertKind, Op as IrOp, Scalar, Space, Value};
use spirv::{Decoration, Op};

impl<'m> Cx<'m> {
    /// Computes layouts.
    pub(crate) fn layout(&self) -> Layout<'m> {
        Layout { spv: self.spv, types: self.types() }
    }

    /// All access chain instructions. Typed ones have the operands base, indices; untyped ones have
    /// the type that the base is read as in front. The *Ptr* forms have an element index in between.
    pub(crate) fn access_chain(&mut self, inst: &Inst<'_>) -> Res<()> {
        let untyped = matches!(
            inst.op,
            Op::UntypedAccessChainKHR
                | Op::UntypedInBoundsAccessChainKHR
                | Op::UntypedPtrAccessChainKHR
                | Op::UntypedInBoundsPtrAccessChainKHR
        );
        let has_element = matches!(
            inst.op,
            Op::PtrAccessChain
                | Op::InBoundsPtrAccessChain
                | Op::UntypedPtrAccessChainKHR
                | Op::UntypedInBoundsPtrAccessChainKHR
        );
        let base = inst.arg(usize::from(untyped))?;
        let mut p = (*self.pointer(base)?).clone();
        if untyped {
            p = self.read_as(p, self.types().lookup(inst.arg(0)?)?)?;
        }
        let mut indices = inst.rest(1 + usize::from(untyped));
        if has_element {
            let (&element, rest) = indices.split_first().ok_or_else(|| operand("lacks its element"))?;
            p = self.element(p, self.ty_of(base)?, element, untyped)?;
            indices = rest;
        }
        for &index in indices {
            p = self.step(p, index)?;
        }
        let result = self.result_ty(inst)?;
        let (_, wanted) = self.types().pointer(result)?;
        match (wanted, &mut p) {
            (None, Pointer::Memory(m)) => m.ty = None,
            (Some(wanted), p) => {
                let found = self.pointee(p);
                if found.is_some_and(|found| !self.types().same(found, wanted)) {
                    let found = found.map(|f| self.types().describe(f)).unwrap_or_default();
                    let wanted = self.types().describe(wanted);
                    return Err(operand(format!("leads to {found}, but the result points to {wanted}")));
                }
            }
            (None, _) => return Err(operand("an untyped pointer into a variable of the invocation")),
        }
        self.define(inst, Val::ptr(p))
    }

    /// What a pointer points to.
    pub(crate) fn pointee(&self, p: &Pointer) -> Option<Ty> {
        match p {
            Pointer::Local(p) if p.component.is_some() => None,
            Pointer::Local(p) => Some(p.ty),
            Pointer::Memory(p) => p.ty,
            Pointer::Descriptors(p) => Some(p.ty),
            Pointer::Texel(p) => Some(p.ty),
            Pointer::Input(p) if p.component.is_some() => self.types().constituent(p.ty, 0),
            Pointer::Input(p) => Some(p.ty),
        }
    }

    fn read_as(&self, p: Pointer, ty: Ty) -> Res<Pointer> {
        match p {
            Pointer::Memory(p) => Ok(Pointer::Memory(MemPtr { ty: Some(ty), ..p })),
            Pointer::Descriptors(p) => Ok(Pointer::Descriptors(p)),
            _ => Err(operand("an untyped pointer into a variable of the invocation")),
        }
    }

    /// The element index of the *Ptr* forms: the base is an element of an array.
    fn element(&mut self, p: Pointer, pointer_ty: Ty, index: Id, untyped: bool) -> Res<Pointer> {
        match p {
            Pointer::Memory(p) => {
                let ty = p.ty.ok_or_else(|| operand("the base is untyped"))?;
                // The stride belongs to the array: the pointer's ArrayStride, or for an untyped
                // pointer the size of the type that the base is read as.
                let stride = match (untyped, self.types().kind(ty)) {
                    (true, Kind::Array { .. } | Kind::RuntimeArray { .. }) => {
                        self.layout().array_stride(ty, p.spread)?
                    }
                    _ => self.layout().pointer_stride(pointer_ty, ty)?,
                };
                let i = self.index(index)?;
                let p = self.advance(p, i, stride)?;
                Ok(Pointer::Memory(p))
            }
            other if self.const_bits(index) == Some(0) => Ok(other),
            _ => Err(operand("the element of a pointer that is no variable pointer must be 0")),
        }
    }

    /// One step of an access chain.
    fn step(&mut self, p: Pointer, index: Id) -> Res<Pointer> {
        match p {
            Pointer::Memory(p) => self.step_memory(p, index).map(Pointer::Memory),
            Pointer::Local(p) => self.step_local(p, index).map(Pointer::Local),
            Pointer::Descriptors(p) => self.step_descriptors(&p, index),
            Pointer::Texel(p) => Err(self.no_parts(p.ty)),
            Pointer::Input(p) => self.step_input(p, index).map(Pointer::Input),
        }
    }

    fn step_memory(&mut self, p: MemPtr, index: Id) -> Res<MemPtr> {
        let ty = p.ty.ok_or_else(|| operand("the base is untyped"))?;
        match *self.types().kind(ty) {
            Kind::Struct(_) => {
                let member = self.member(ty, index)?;
                self.memory_member(p, ty, member)
            }
            Kind::Array { .. } | Kind::RuntimeArray { .. } | Kind::Vector { .. } | Kind::Matrix { .. } => {
                let i = self.index(index)?;
                self.memory_element(p, ty, i)
            }
            _ => Err(self.no_parts(ty)),
        }
    }

    fn no_parts(&self, ty: Ty) -> Fault {
        operand(format!("{} has no parts to point to", self.types().describe(ty)))
    }

    /// The member index of a structure, which must be a constant.
    fn member(&self, ty: Ty, index: Id) -> Res<u32> {
        let n = self.types().count(ty).unwrap_or(0);
        let member = self.const_u32(index)?;
        if member >= n {
            let m = format!("member {member} of a {}", self.types().describe(ty));
            return Err(operand(m));
        }
        Ok(member)
    }

    /// A pointer to a structure member.
    pub(crate) fn memory_member(&self, mut p: MemPtr, ty: Ty, member: u32) -> Res<MemPtr> {
        let decor = &self.spv.decor;
        let has = |d| decor.member_has(ty.id(), member, d);
        p.volatile |= has(Decoration::Volatile) || has(Decoration::Coherent);
        p.disp = add(p.disp, self.layout().offset(ty, member)?)?;
        p.spread = self.layout().spread(ty, member);
        p.ty = self.types().constituent(ty, member);
        Ok(p)
    }

    /// A pointer to an element of an array, a column of a matrix, a component of a vector.
    pub(crate) fn memory_element(&mut self, mut p: MemPtr, ty: Ty, i: Index) -> Res<MemPtr> {
        let component = |ty| self.types().scalar(ty).map_or(4, scalar_bytes);
        let (stride, spread) = match *self.types().kind(ty) {
            Kind::Vector { elem, .. } => (p.spread.vector.unwrap_or(component(elem)), Spread::default()),
            Kind::Matrix { column, .. } => match p.spread.matrix {
                Some((stride, true)) => (component(column), Spread { matrix: None, vector: Some(stride) }),
                Some((stride, false)) => (stride, Spread::default()),
                None => (self.layout().size(column, Spread::default())?, Spread::default()),
            },
            Kind::Array { .. } | Kind::RuntimeArray { .. } => {
                (self.layout().array_stride(ty, p.spread)?, p.spread)
            }
            _ => return Err(self.no_parts(ty)),
        };
        p.spread = spread;
        p.ty = self.types().constituent(ty, 0);
        self.advance(p, i, stride)
    }

    /// Moves a pointer by `i * stride` bytes.
    fn advance(&mut self, mut p: MemPtr, i: Index, stride: i64) -> Res<MemPtr> {
        let moved = i.offset.checked_mul(stride).ok_or_else(far)?;
        p.disp = add(p.disp, moved)?;
        if let Some(index) = i.base {
            p.base = self.b().ptr_add(p.base, Some(index), stride, p.disp);
            p.disp = 0;
        }
        Ok(p)
    }

    fn step_local(&mut self, p: LocalPtr, index: Id) -> Res<LocalPtr> {
        if p.component.is_some() {
            return Err(operand("a component of a cooperative matrix has no parts to point to"));
        }
        match *self.types().kind(p.ty) {
            Kind::Struct(_) => {
                let member = self.member(p.ty, index)?;
                self.local_member(p, member)
            }
            Kind::CoopMat { .. } => {
                let i = self.index(index)?;
                let i = self.narrow(i);
                Ok(LocalPtr { component: Some(i), ..p })
            }
            Kind::Array { .. } | Kind::Vector { .. } | Kind::Matrix { .. } => {
                let i = self.index(index)?;
                self.local_element(p, i)
            }
            _ => Err(self.no_parts(p.ty)),
        }
    }

    /// A pointer to a structure member.
    pub(crate) fn local_member(&self, mut p: LocalPtr, member: u32) -> Res<LocalPtr> {
        let Kind::Struct(members) = self.types().kind(p.ty) else { return Err(self.no_parts(p.ty)) };
        p.piece += members.iter().take(member as usize).map(|&m| self.types().pieces(m)).sum::<u32>();
        p.ty = members.get(member as usize).copied().ok_or_else(|| self.no_parts(p.ty))?;
        Ok(p)
    }

    /// A pointer to an element of an array, a column of a matrix, a component of a vector.
    pub(crate) fn local_element(&mut self, p: LocalPtr, i: Index) -> Res<LocalPtr> {
        let n = self.types().count(p.ty).ok_or_else(|| self.no_parts(p.ty))?;
        let ty = self.types().constituent(p.ty, 0).ok_or_else(|| self.no_parts(p.ty))?;
        let i = self.narrow(i);
        let outer = p.index.base.map(|base| {
            let n = self.i32(n as i32);
            self.b().binary(BinaryOp::Imul, base, n)
        });
        let base = match (outer, i.base) {
            (Some(a), Some(b)) => Some(self.b().binary(BinaryOp::Iadd, a, b)),
            (a, b) => a.or(b),
        };
        // Wrapping: an index that is out of range names no element, whatever it is.
        let offset = p.index.offset.wrapping_mul(i64::from(n)).wrapping_add(i.offset);
        Ok(LocalPtr { ty, index: Index { base, offset: i64::from(offset as i32) }, ..p })
    }

    fn step_descriptors(&mut self, p: &DescriptorPtr, index: Id) -> Res<Pointer> {
        let i = self.index(index)?;
        let i = self.narrow(i);
        let n = self.types().count(p.ty).unwrap_or(1);
        let outer = p.index.base.map(|base| {
            let n = self.i32(n as i32);
            self.b().binary(BinaryOp::Imul, base, n)
        });
        let base = match (outer, i.base) {
            (Some(a), Some(b)) => Some(self.b().binary(BinaryOp::Iadd, a, b)),
            (a, b) => a.or(b),
        };
        let offset = p.index.offset.wrapping_mul(i64::from(n)).wrapping_add(i.offset);
        let ty = self.types().constituent(p.ty, 0).ok_or_else(|| self.no_parts(p.ty))?;
        let p = DescriptorPtr { index: Index { base, offset }, ty, ..p.clone() };
        Ok(self.descriptor(p))
    }

    /// The pointer to a descriptor's buffer, once all arrays are indexed; images and samplers keep their descriptor.
    pub(crate) fn descriptor(&mut self, p: DescriptorPtr) -> Pointer {
        let kind = self.types().kind(p.ty);
        if matches!(kind, Kind::Array { .. } | Kind::RuntimeArray { .. } | Kind::Image { .. } | Kind::Sampler)
        {
            return Pointer::Descriptors(p);
        }
        let index = self.index_value(p.index);
        let (op, ty) = (IrOp::BufferPtr(p.binding), ir::Type::Ptr(Space::Buffer));
        let base = match self.is_invariant(index) {
            true => self.invariant(op, &[index], ty),
            false => self.b().value(op, &[index], ty),
        };
        let (ty, volatile) = (Some(p.ty), p.volatile);
        Pointer::Memory(MemPtr {
            base,
            disp: 0,
            space: Space::Buffer,
            ty,
            volatile,
            spread: Spread::default(),
        })
    }

    fn step_input(&mut self, p: InputPtr, index: Id) -> Res<InputPtr> {
        if p.component.is_some() || !matches!(self.types().kind(p.ty), Kind::Vector { .. }) {
            return Err(self.no_parts(p.ty));
        }
        let i = self.index(index)?;
        Ok(InputPtr { component: Some(self.narrow(i)), ..p })
    }

    // ── indices ──

    /// An index operand. Indices are signed, whatever their type says (*OpAccessChain*).
    pub(crate) fn index(&mut self, id: Id) -> Res<Index> {
        let ty = self.ty_of(id)?;
        let Some(scalar) = self.types().leaf(ty).and_then(ir::Type::scalar).filter(|s| s.is_int()) else {
            let m = format!("the index %{id} is {}, expected an integer", self.types().describe(ty));
            return Err(operand(m));
        };
        if let Some(bits) = self.const_bits(id) {
            return Ok(Index::constant(ir::eval::sign_extend(scalar, bits)));
        }
        let v = self.value(id)?;
        let v = if scalar.bits() < 32 { self.b().convert(ConvertKind::SToS, v, Scalar::I32) } else { v };
        Ok(Index { base: Some(v), offset: 0 })
    }

    /// An index as `i32`.
    fn narrow(&mut self, i: Index) -> Index {
        let base = i.base.map(|v| match self.func.ty(v) {
            ir::Type::I64 => self.b().convert(ConvertKind::SToS, v, Scalar::I32),
            _ => v,
        });
        Index { base, ..i }
    }

    /// The `i32` that an index is.
    pub(crate) fn index_value(&mut self, i: Index) -> Value {
        let offset = i.offset as i32;
        match i.base {
            None => self.i32(offset),
            Some(base) if offset == 0 => base,
            Some(base) => {
                let offset = self.i32(offset);
                self.b().binary(BinaryOp::Iadd, base, offset)
            }
        }
    }
}

fn add(a: i64, b: i64) -> Res<i64> {
    a.checked_add(b).ok_or_else(far)
}

fn far() -> Fault {
    operand("a constant index is too large")
}

//! Where things lie in memory.
//!
//! Offsets and strides come from decorations (SPIR-V 3.20, *Offset*, *ArrayStride*,
//! *MatrixStride*). What has none gets the natural layout: members in order, each aligned to its
//! largest scalar. That is the rule for *Workgroup* variables, whose layout is ours to choose.

use crate::diag::{Res, code, invalid};
use crate::module::Spv;
use crate::types::{Kind, Ty, Types};
use crate::value::Spread;
use phalanx_ir::Scalar;
use spirv::{Decoration, Op, StorageClass};

/// Computes layouts.
#[derive(Clone, Copy)]
pub(crate) struct Layout<'a> {
    pub(crate) spv: &'a Spv<'a>,
    pub(crate) types: &'a Types,
}

/// Bytes of a scalar in memory. A `bool`, which only *Workgroup* memory holds, is an `i32` there.
pub(crate) fn scalar_bytes(s: Scalar) -> i64 {
    match s {
        Scalar::Bool => 4,
        _ => i64::from(s.bytes()),
    }
}

/// Larger objects are refused before their sizes can overflow.
const MAX_BYTES: i64 = 1 << 40;

impl Layout<'_> {
    /// Bytes that an object of this type takes, without a run-time array at its end.
    pub(crate) fn size(&self, ty: Ty, spread: Spread) -> Res<i64> {
        let bytes = match self.types.kind(ty) {
            Kind::Bool | Kind::Int { .. } | Kind::Float(_) => self.align(ty),
            Kind::Pointer { .. } => 8,
            Kind::Vector { elem, n } => {
                i64::from(*n - 1) * spread.vector.unwrap_or(self.align(*elem)) + self.align(*elem)
            }
            Kind::Matrix { column, n } => match spread.matrix {
                Some((stride, true)) => i64::from(self.types.count(*column).unwrap_or(1)) * stride,
                Some((stride, false)) => i64::from(*n) * stride,
                None => i64::from(*n) * self.size(*column, Spread::default())?,
            },
            Kind::Array { elem: _, n } => {
                self.array_stride(ty, spread)?.checked_mul(i64::from(*n)).ok_or_else(|| self.too_large(ty))?
            }
            Kind::RuntimeArray { .. } => 0,
            Kind::Struct(_) => return self.struct_size(ty),
            Kind::Void
            | Kind::Function
            | Kind::Opaque(_)
            | Kind::Image { .. }
            | Kind::Sampler
            | Kind::CoopMat { .. }
            | Kind::Tensor { .. } => {
                let m = format!("{} has no representation in memory", self.types.describe(ty));
                return Err(invalid(code::TYPE, m));
            }
        };
        if bytes > MAX_BYTES { Err(self.too_large(ty)) } else { Ok(bytes) }
    }

    fn struct_size(&self, ty: Ty) -> Res<i64> {
        let Kind::Struct(members) = self.types.kind(ty) else { return Ok(0) };
        let (mut end, mut natural) = (0, false);
        for (i, &member) in members.iter().enumerate() {
            let (offset, spread) = match self.decorated(ty, i as u32)? {
                Some(offset) => (offset, self.spread(ty, i as u32)),
                None => (up(end, self.align(member)), self.spread(ty, i as u32)),
            };
            natural |= self.spv.decor.of_member(ty.id(), i as u32, Decoration::Offset).is_none();
            end = end.max(offset + self.size(member, spread)?);
            if end > MAX_BYTES {
                return Err(self.too_large(ty));
            }
        }
        Ok(if natural { up(end, self.align(ty)) } else { end })
    }

    fn too_large(&self, ty: Ty) -> crate::diag::Fault {
        invalid(code::LIMIT, format!("an object of type {} is too large", self.types.describe(ty)))
    }

    /// Bytes of the largest scalar in a type.
    fn align(&self, ty: Ty) -> i64 {
        match self.types.kind(ty) {
            Kind::Bool => 4,
            Kind::Int { scalar, .. } | Kind::Float(scalar) => scalar_bytes(*scalar),
            Kind::Pointer { .. } => 8,
            Kind::Vector { elem, .. } | Kind::Array { elem, .. } | Kind::RuntimeArray { elem } => {
                self.align(*elem)
            }
            Kind::Matrix { column, .. } => self.align(*column),
            Kind::Struct(members) => members.iter().map(|&m| self.align(m)).max().unwrap_or(1),
            Kind::Void
            | Kind::Function
            | Kind::Opaque(_)
            | Kind::Image { .. }
            | Kind::Sampler
            | Kind::CoopMat { .. }
            | Kind::Tensor { .. } => 1,
        }
    }

    /// Bytes from an element of an array to the next.
    pub(crate) fn array_stride(&self, array: Ty, spread: Spread) -> Res<i64> {
        if let Some(stride) = self.spv.decor.literal(array.id(), Decoration::ArrayStride) {
            return Ok(i64::from(stride));
        }
        let elem = self.types.constituent(array, 0).ok_or_else(|| {
            invalid(code::TYPE, format!("expected an array, found {}", self.types.describe(array)))
        })?;
        Ok(up(self.size(elem, spread)?, self.align(elem)))
    }

    /// Bytes from what a pointer of this type points to, to the next (*OpPtrAccessChain*). An *ArrayStride*
    /// means nothing where the layout is not explicit.
    pub(crate) fn pointer_stride(&self, pointer: Ty, pointee: Ty) -> Res<i64> {
        match self.spv.decor.literal(pointer.id(), Decoration::ArrayStride) {
            Some(stride) if self.is_explicit(pointer)? => Ok(i64::from(stride)),
            _ => Ok(up(self.size(pointee, Spread::default())?, self.align(pointee))),
        }
    }

    /// Whether what a pointer points to has the layout that decorations give. In *Workgroup* memory that is
    /// so of blocks; either all variables there are blocks or none
    /// (SPV_KHR_workgroup_memory_explicit_layout).
    fn is_explicit(&self, pointer: Ty) -> Res<bool> {
        if self.types.pointer(pointer)?.0 != StorageClass::Workgroup {
            return Ok(true);
        }
        let is_block = |&i: &usize| {
            let inst = &self.spv.insts[i];
            matches!(inst.op, Op::Variable | Op::UntypedVariableKHR)
                && self.variable(inst).is_ok_and(|(class, ty)| {
                    class == StorageClass::Workgroup && self.spv.decor.has(ty.id(), Decoration::Block)
                })
        };
        Ok(self.spv.globals.iter().any(is_block))
    }

    /// Bytes from an object of this type to the next where nothing else is said.
    pub(crate) fn padded_size(&self, ty: Ty) -> Res<i64> {
        Ok(up(self.size(ty, Spread::default())?, self.align(ty)))
    }

    /// The same of what a pointer leads to: of nothing but a run-time array, an element of it.
    pub(crate) fn pointee_size(&self, ty: Ty) -> Res<i64> {
        let bytes = self.padded_size(ty)?;
        if bytes > 0 {
            return Ok(bytes);
        }
        match self.types.kind(ty) {
            Kind::RuntimeArray { .. } => self.array_stride(ty, Spread::default()),
            Kind::Struct(members) => members.last().map_or(Ok(0), |&last| self.pointee_size(last)),
            _ => Ok(0),
        }
    }

    fn decorated(&self, ty: Ty, member: u32) -> Res<Option<i64>> {
        Ok(self.spv.decor.member_literal(ty.id(), member, Decoration::Offset).map(i64::from))
    }

    /// Offset of a structure member in bytes.
    pub(crate) fn offset(&self, ty: Ty, member: u32) -> Res<i64> {
        if let Some(offset) = self.decorated(ty, member)? {
            return Ok(offset);
        }
        let Kind::Struct(members) = self.types.kind(ty) else { return Ok(0) };
        let mut end = 0;
        for (i, &m) in members.iter().enumerate().take(member as usize) {
            let start = self.decorated(ty, i as u32)?.unwrap_or(up(end, self.align(m)));
            end = start + self.size(m, self.spread(ty, i as u32))?;
        }
        Ok(members.get(member as usize).map_or(0, |&m| up(end, self.align(m))))
    }

    /// How the matrices in a structure member are spread.
    pub(crate) fn spread(&self, ty: Ty, member: u32) -> Spread {
        let decor = &self.spv.decor;
        let stride = decor.member_literal(ty.id(), member, Decoration::MatrixStride);
        let row_major = decor.member_has(ty.id(), member, Decoration::RowMajor);
        Spread { matrix: stride.map(|s| (i64::from(s), row_major)), vector: None }
    }
}

fn up(x: i64, align: i64) -> i64 {
    (x + align - 1) / align * align
}

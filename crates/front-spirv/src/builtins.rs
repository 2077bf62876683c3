//! Built-in inputs.

use crate::cx::{Cx, Values};
use crate::diag::{Fault, Res, code, invalid, unsupported};
use crate::types::Ty;
use crate::value::{Input, LaneMask};
use phalanx_ir::{self as ir, BinaryOp, Builtin, CompareOp, Op as IrOp, Scalar, Value};
use spirv::BuiltIn;

/// The input that a *BuiltIn* decoration names.
pub(crate) fn input(cx: &Cx<'_>, number: u32) -> Res<Input> {
    let Some(builtin) = BuiltIn::from_u32(number) else {
        return Err(invalid(code::DECORATION, format!("unknown built-in {number}")));
    };
    Ok(match builtin {
        BuiltIn::NumWorkgroups => Input::Vector(Builtin::NumWorkgroups),
        BuiltIn::WorkgroupId => Input::Vector(Builtin::WorkgroupId),
        BuiltIn::LocalInvocationId => Input::Vector(Builtin::LocalInvocationId),
        BuiltIn::GlobalInvocationId => Input::Vector(Builtin::GlobalInvocationId),
        BuiltIn::LocalInvocationIndex => Input::Scalar(Builtin::LocalInvocationIndex),
        BuiltIn::SubgroupId => Input::Scalar(Builtin::SubgroupId),
        BuiltIn::SubgroupLocalInvocationId => Input::Scalar(Builtin::SubgroupLane),
        BuiltIn::NumSubgroups => Input::Constant(cx.module.num_subgroups()),
        BuiltIn::SubgroupSize => Input::Constant(cx.module.subgroup_size),
        BuiltIn::DeviceIndex => Input::Constant(0),
        BuiltIn::SMIDNV => Input::Scalar(Builtin::Multiprocessor),
        BuiltIn::WarpIDNV => Input::Scalar(Builtin::ResidentSubgroup),
        BuiltIn::SMCountNV => Input::Constant(cx.options.limits.multiprocessors),
        BuiltIn::WarpsPerSMNV => Input::Constant(cx.options.limits.resident_subgroups),
        BuiltIn::WorkgroupSize => Input::Size,
        BuiltIn::SubgroupEqMask => Input::LaneMask(LaneMask::Eq),
        BuiltIn::SubgroupGeMask => Input::LaneMask(LaneMask::Ge),
        BuiltIn::SubgroupGtMask => Input::LaneMask(LaneMask::Gt),
        BuiltIn::SubgroupLeMask => Input::LaneMask(LaneMask::Le),
        BuiltIn::SubgroupLtMask => Input::LaneMask(LaneMask::Lt),
        other => return Err(not_built(other)),
    })
}

fn not_built(builtin: BuiltIn) -> Fault {
    unsupported(code::DECORATION, format!("the built-in {builtin:?}"))
}

impl Cx<'_> {
    /// The components of a built-in input of type `ty`.
    pub(crate) fn input(&mut self, input: Input, ty: Ty) -> Res<Values> {
        let i32s = matches!(self.types().scalar(ty), Some(Scalar::I32));
        let lanes = self.types().lanes(ty).filter(|_| i32s);
        let Some(lanes) = lanes else {
            let m = format!("a built-in of type {}", self.types().describe(ty));
            return Err(invalid(code::DECORATION, m));
        };
        let values: Values = match input {
            Input::Vector(of) => (0..3).map(|axis| self.builtin(of(axis))).collect(),
            Input::Scalar(builtin) => [self.builtin(builtin)].into_iter().collect(),
            Input::Constant(n) => [self.i32(n as i32)].into_iter().collect(),
            Input::Size => self.module.workgroup_size.map(|n| self.i32(n as i32)).into_iter().collect(),
            Input::LaneMask(mask) => (0..4).map(|word| self.mask_word(mask, word)).collect(),
        };
        // SubgroupEqMask and its like are 64-bit or shorter vectors in ancient modules; the size
        // must be that of the specification.
        if values.len() != lanes as usize {
            let m = format!("the built-in has {} components, its variable {lanes}", values.len());
            return Err(invalid(code::DECORATION, m));
        }
        Ok(values)
    }

    /// A built-in input of the IR.
    pub(crate) fn builtin(&mut self, builtin: Builtin) -> Value {
        self.invariant(IrOp::Builtin(builtin), &[], ir::Type::I32)
    }

    /// Bits `32 * word` to `32 * word + 31` of a lane mask.
    fn mask_word(&mut self, mask: LaneMask, word: u32) -> Value {
        let lane = self.builtin(Builtin::SubgroupLane);
        let size = self.module.subgroup_size;
        let first = self.i32(32 * word as i32);
        let (one, ones) = (self.i32(1), self.i32(-1));
        // Masks have no bits beyond the subgroup size.
        let width = size.saturating_sub(32 * word).min(32);
        let all = self.i32(if width == 32 { -1 } else { (1_i32 << width) - 1 });
        let shift = self.b().binary(BinaryOp::Isub, lane, first);
        let in_range = {
            let n = self.i32(32);
            self.b().compare(CompareOp::Ult, shift, n)
        };
        let zero = self.i32(0);
        let bit = self.b().binary(BinaryOp::Shl, one, shift);
        let eq = self.b().select(in_range, bit, zero);
        if mask == LaneMask::Eq {
            return eq;
        }
        // Lanes below: all ones in words below that of the lane, none above.
        let below_bit = self.b().binary(BinaryOp::Isub, bit, one);
        let is_above = self.b().compare(CompareOp::Slt, lane, first);
        let outside = self.b().select(is_above, zero, ones);
        let lt = self.b().select(in_range, below_bit, outside);
        let le = self.b().binary(BinaryOp::Or, lt, eq);
        let unmasked = match mask {
            LaneMask::Eq | LaneMask::Lt => lt,
            LaneMask::Le => le,
            LaneMask::Ge => self.b().unary(ir::UnaryOp::Not, lt),
            LaneMask::Gt => self.b().unary(ir::UnaryOp::Not, le),
        };
        self.b().binary(BinaryOp::And, unmasked, all)
    }
}

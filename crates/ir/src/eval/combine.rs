//! Reductions and atomic operations: binary operations under other names.

use super::binary;
use super::float::{from_f64, sign_bit};
use crate::op::{AtomicOp, BinaryOp, ReduceOp};
use crate::types::Scalar;

/// The value that leaves others unchanged in a reduction. For `Fadd` it is positive zero, as
/// SPIR-V has it.
pub fn reduce_identity(op: ReduceOp, ty: Scalar) -> u64 {
    match op {
        ReduceOp::Iadd | ReduceOp::Fadd | ReduceOp::Umax | ReduceOp::Or | ReduceOp::Xor => 0,
        ReduceOp::Imul => 1,
        ReduceOp::Fmul => from_f64(ty, 1.0),
        ReduceOp::Smin => ty.mask() >> 1,
        ReduceOp::Smax => sign_bit(ty),
        ReduceOp::Umin | ReduceOp::And => ty.mask(),
        ReduceOp::Fmin => from_f64(ty, f64::INFINITY),
        ReduceOp::Fmax => from_f64(ty, f64::NEG_INFINITY),
    }
}

/// One step of a reduction.
pub fn reduce(op: ReduceOp, ty: Scalar, x: u64, y: u64) -> u64 {
    binary(op.step(), ty, x, y)
}

/// The content of a location after an atomic operation that found `old` there. The comparator is
/// read by `CompareExchange` only, the operand by all but `Load`.
pub fn atomic(op: AtomicOp, ty: Scalar, old: u64, operand: u64, comparator: u64) -> u64 {
    let apply = |op| binary(op, ty, old, operand);
    match op {
        AtomicOp::Load => old & ty.mask(),
        AtomicOp::Store | AtomicOp::Exchange => operand & ty.mask(),
        AtomicOp::CompareExchange => {
            (if (old ^ comparator) & ty.mask() == 0 { operand } else { old }) & ty.mask()
        }
        AtomicOp::Iadd => apply(BinaryOp::Iadd),
        AtomicOp::Isub => apply(BinaryOp::Isub),
        AtomicOp::Smin => apply(BinaryOp::Smin),
        AtomicOp::Smax => apply(BinaryOp::Smax),
        AtomicOp::Umin => apply(BinaryOp::Umin),
        AtomicOp::Umax => apply(BinaryOp::Umax),
        AtomicOp::And => apply(BinaryOp::And),
        AtomicOp::Or => apply(BinaryOp::Or),
        AtomicOp::Xor => apply(BinaryOp::Xor),
        AtomicOp::Fadd => apply(BinaryOp::Fadd),
        AtomicOp::Fmin => apply(BinaryOp::Fmin),
        AtomicOp::Fmax => apply(BinaryOp::Fmax),
    }
}

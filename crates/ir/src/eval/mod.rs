//! The meaning of every scalar operation, as functions on raw bits.
//!
//! A scalar is the low bits of a `u64`; the upper bits of results are zero and those of operands
//! are ignored. Constant folding, the interpreter and the oracles of back-end tests all call these
//! functions, so an operation means the same thing everywhere.
//!
//! Floating point follows IEEE 754 with rounding to nearest even, with denormals kept. Operations
//! are computed in `f64` and rounded once to the type: for addition, subtraction, multiplication,
//! division and square root of the narrower types that is the correctly rounded result, because
//! `f64` has more than twice their precision. Transcendental functions are those of `std` in `f64`.
//! A NaN that an operation produces is the type's positive quiet one; conversions keep a NaN's sign.
//!
//! A combination of operation and type that the verifier rejects gives an unspecified value, never
//! a panic.

#![warn(clippy::wildcard_enum_match_arm)]

mod combine;
mod convert;
mod float;
mod int;
mod matmul;
mod regroup;
mod tensor;
#[cfg(test)]
mod tests;
pub mod vector;

pub use combine::{atomic, reduce, reduce_identity};
pub use convert::{bitcast, convert};
pub use float::{from_f64, round_f64, to_f64};
pub use int::{sign_extend, zero_extend};
pub use matmul::{Factors, MulAddTypes, mul_add};
pub use regroup::regroup;
pub use tensor::{Coord, TensorPlace, TensorState, packed_strides};

use crate::op::{BinaryOp, CompareOp, UnaryOp};
use crate::types::Scalar;
use std::cmp::Ordering;

/// The result of an operation with one operand of type `ty`.
///
/// `Fsign` of a zero or a NaN is positive zero.
pub fn unary(op: UnaryOp, ty: Scalar, x: u64) -> u64 {
    let x = x & ty.mask();
    let math = |f: fn(f64) -> f64| from_f64(ty, f(to_f64(ty, x)));
    let result = match op {
        UnaryOp::Ineg => x.wrapping_neg(),
        UnaryOp::Not => !x,
        UnaryOp::BitReverse => x.reverse_bits() >> (64 - ty.bits()),
        UnaryOp::BitCount => u64::from(x.count_ones()),
        UnaryOp::FindLsb => int::find_lsb(x),
        UnaryOp::FindSMsb => int::find_signed_msb(sign_extend(ty, x)),
        UnaryOp::FindUMsb => int::find_msb(x),
        UnaryOp::Sabs => sign_extend(ty, x).unsigned_abs(),
        UnaryOp::Ssign => sign_extend(ty, x).signum() as u64,
        UnaryOp::Fneg => x ^ float::sign_bit(ty),
        UnaryOp::Fabs => x & !float::sign_bit(ty),
        UnaryOp::Fsign => math(float::sign),
        UnaryOp::Floor => math(f64::floor),
        UnaryOp::Ceil => math(f64::ceil),
        UnaryOp::Trunc => math(f64::trunc),
        UnaryOp::RoundEven => math(f64::round_ties_even),
        UnaryOp::Fract => math(|x| x - x.floor()),
        UnaryOp::Sqrt => math(f64::sqrt),
        UnaryOp::InverseSqrt => math(|x| 1.0 / x.sqrt()),
        UnaryOp::Sin => math(f64::sin),
        UnaryOp::Cos => math(f64::cos),
        UnaryOp::Tan => math(f64::tan),
        UnaryOp::Asin => math(f64::asin),
        UnaryOp::Acos => math(f64::acos),
        UnaryOp::Atan => math(f64::atan),
        UnaryOp::Sinh => math(f64::sinh),
        UnaryOp::Cosh => math(f64::cosh),
        UnaryOp::Tanh => math(f64::tanh),
        UnaryOp::Asinh => math(f64::asinh),
        UnaryOp::Acosh => math(f64::acosh),
        UnaryOp::Atanh => math(f64::atanh),
        UnaryOp::Exp => math(f64::exp),
        UnaryOp::Exp2 => math(f64::exp2),
        UnaryOp::Log => math(f64::ln),
        UnaryOp::Log2 => math(f64::log2),
        UnaryOp::IsNan => u64::from(to_f64(ty, x).is_nan()),
        UnaryOp::IsInf => u64::from(to_f64(ty, x).is_infinite()),
    };
    result & ty.mask()
}

/// The result of an operation with two operands of type `ty`. The second operand of a shift may
/// have another width, and that of `Ldexp` is an `i32`.
///
/// `Fmin` and `Fmax` of zeros of both signs give the first operand.
pub fn binary(op: BinaryOp, ty: Scalar, x: u64, y: u64) -> u64 {
    let math = |f: fn(f64, f64) -> f64| from_f64(ty, f(to_f64(ty, x), to_f64(ty, y)));
    let signed = |f: fn(i64, i64) -> i64| f(sign_extend(ty, x), sign_extend(ty, y)) as u64;
    let unsigned = |f: fn(u64, u64) -> u64| f(x & ty.mask(), y & ty.mask());
    let count = (y as u32) & (ty.bits() - 1);
    let result = match op {
        BinaryOp::Iadd => x.wrapping_add(y),
        BinaryOp::Isub => x.wrapping_sub(y),
        BinaryOp::Imul => x.wrapping_mul(y),
        BinaryOp::Sdiv => signed(|x, y| if y == 0 { 0 } else { x.wrapping_div(y) }),
        BinaryOp::Udiv => unsigned(|x, y| x.checked_div(y).unwrap_or(0)),
        BinaryOp::Srem => signed(|x, y| if y == 0 { 0 } else { x.wrapping_rem(y) }),
        BinaryOp::Smod => signed(int::floor_mod),
        BinaryOp::Umod => unsigned(|x, y| x.checked_rem(y).unwrap_or(0)),
        BinaryOp::SmulHi => int::signed_mul_hi(ty, x, y),
        BinaryOp::UmulHi => int::unsigned_mul_hi(ty, x, y),
        BinaryOp::Sdot4 => int::dot_bytes(x, y, sign_extend, sign_extend),
        BinaryOp::Udot4 => int::dot_bytes(x, y, int::unsigned, int::unsigned),
        BinaryOp::Sudot4 => int::dot_bytes(x, y, sign_extend, int::unsigned),
        BinaryOp::Smin => signed(i64::min),
        BinaryOp::Smax => signed(i64::max),
        BinaryOp::Umin => unsigned(u64::min),
        BinaryOp::Umax => unsigned(u64::max),
        BinaryOp::And => x & y,
        BinaryOp::Or => x | y,
        BinaryOp::Xor => x ^ y,
        BinaryOp::Shl => x << count,
        BinaryOp::Lshr => (x & ty.mask()) >> count,
        BinaryOp::Ashr => (sign_extend(ty, x) >> count) as u64,
        BinaryOp::Fadd => math(|x, y| x + y),
        BinaryOp::Fsub => math(|x, y| x - y),
        BinaryOp::Fmul => math(|x, y| x * y),
        BinaryOp::Fdiv => math(|x, y| x / y),
        BinaryOp::Frem => math(|x, y| x % y),
        BinaryOp::Fmod => float_mod(ty, x, y),
        BinaryOp::Fmin => float::pick(ty, x, y, Ordering::Less),
        BinaryOp::Fmax => float::pick(ty, x, y, Ordering::Greater),
        BinaryOp::Pow => math(f64::powf),
        BinaryOp::Atan2 => math(f64::atan2),
        BinaryOp::Ldexp => float::ldexp(ty, x, y as u32 as i32),
    };
    result & ty.mask()
}

/// `x - y * floor(x / y)`, each step rounded to the type: the error bound that Vulkan gives
/// *OpFMod* is that of this formula.
fn float_mod(ty: Scalar, x: u64, y: u64) -> u64 {
    let quotient = binary(BinaryOp::Fdiv, ty, x, y);
    let whole = unary(UnaryOp::Floor, ty, quotient);
    binary(BinaryOp::Fsub, ty, x, binary(BinaryOp::Fmul, ty, y, whole))
}

/// Whether a relation holds between two scalars of type `ty`.
pub fn compare(op: CompareOp, ty: Scalar, x: u64, y: u64) -> bool {
    let (ux, uy) = (x & ty.mask(), y & ty.mask());
    let (sx, sy) = (sign_extend(ty, x), sign_extend(ty, y));
    let order = to_f64(ty, x).partial_cmp(&to_f64(ty, y));
    match op {
        CompareOp::Ieq => ux == uy,
        CompareOp::Ine => ux != uy,
        CompareOp::Slt => sx < sy,
        CompareOp::Sle => sx <= sy,
        CompareOp::Ult => ux < uy,
        CompareOp::Ule => ux <= uy,
        CompareOp::FordEq => order.is_some_and(Ordering::is_eq),
        CompareOp::FordNe => order.is_some_and(Ordering::is_ne),
        CompareOp::FordLt => order.is_some_and(Ordering::is_lt),
        CompareOp::FordLe => order.is_some_and(Ordering::is_le),
        CompareOp::FunordEq => order.is_none_or(Ordering::is_eq),
        CompareOp::FunordNe => order.is_none_or(Ordering::is_ne),
        CompareOp::FunordLt => order.is_none_or(Ordering::is_lt),
        CompareOp::FunordLe => order.is_none_or(Ordering::is_le),
    }
}

/// `x * y + z` with one rounding.
pub fn fma(ty: Scalar, x: u64, y: u64, z: u64) -> u64 {
    let (x, y, z) = (to_f64(ty, x), to_f64(ty, y), to_f64(ty, z));
    if ty == Scalar::F64 {
        return from_f64(ty, x.mul_add(y, z));
    }
    // The product of two numbers of at most 24 bits is exact in f64.
    from_f64(ty, float::add_to_odd(x * y, z))
}

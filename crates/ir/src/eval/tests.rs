//! Exhaustive tests of the small formats against the `half` crate and arithmetic by hand, and edge
//! values of the rest.

use super::*;
use crate::op::{AtomicOp, BinaryOp as B, CompareOp as C, ConvertKind as K, ConvertOp, MulAddFlags};
use crate::op::{ReduceOp, Rounding, UnaryOp as U};
use half::{bf16, f16};

const FLOATS: [Scalar; 6] = [Scalar::F16, Scalar::F32, Scalar::F64, Scalar::BF16, Scalar::E4M3, Scalar::E5M2];

fn f32b(x: f32) -> u64 {
    u64::from(x.to_bits())
}

fn f16b(x: f64) -> u64 {
    from_f64(Scalar::F16, x)
}

fn conv(kind: K, from: Scalar, to: Scalar, bits: u64) -> u64 {
    convert(ConvertOp::new(kind), from, to, bits)
}

/// A small generator (splitmix64), so that failures repeat.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}

fn edges(ty: Scalar) -> Vec<u64> {
    let sign = 1 << (ty.bits() - 1);
    let magnitudes = [0, 1, 2, 3, ty.mask() >> 2, (ty.mask() >> 1) - 1, ty.mask() >> 1, 0x3c00, 0x3f80_0000];
    magnitudes.iter().flat_map(|m| [m & (sign - 1), m & (sign - 1) | sign]).collect()
}

#[test]
fn small_floats_decode_as_half_does() {
    for bits in 0..=u16::MAX {
        let (h, b) = (f16::from_bits(bits).to_f64(), bf16::from_bits(bits).to_f64());
        for (ty, want) in [(Scalar::F16, h), (Scalar::BF16, b)] {
            let got = to_f64(ty, u64::from(bits));
            assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{ty} {bits:#x}");
        }
    }
    for bits in 0..=u8::MAX {
        let want = f16::from_bits(u16::from(bits) << 8).to_f64();
        let got = to_f64(Scalar::E5M2, u64::from(bits));
        assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "e5m2 {bits:#x}");
    }
    let e4m3 = |bits| to_f64(Scalar::E4M3, bits);
    assert_eq!(e4m3(0x7e), 448.0);
    assert_eq!(e4m3(0x01), 2f64.powi(-9));
    assert_eq!(e4m3(0x08), 2f64.powi(-6));
    assert_eq!(e4m3(0xb8), -1.0);
    assert!(e4m3(0x7f).is_nan() && e4m3(0xff).is_nan());
}

#[test]
fn floats_survive_a_round_trip() {
    for ty in [Scalar::F16, Scalar::BF16, Scalar::E4M3, Scalar::E5M2] {
        for bits in 0..=ty.mask() {
            let value = to_f64(ty, bits);
            let again = round_f64(ty, value, Rounding::NearestEven, false);
            let canonical = if value.is_nan() { to_f64(ty, again).is_nan() } else { again == bits };
            assert!(canonical, "{ty} {bits:#x} became {again:#x}");
        }
    }
}

/// Between two neighbours: the midpoint goes to the even one, others to the nearer one.
#[test]
fn rounding_is_to_nearest_even_between_all_neighbours() {
    for ty in [Scalar::F16, Scalar::BF16, Scalar::E4M3, Scalar::E5M2] {
        let max = round_f64(ty, f64::MAX, Rounding::TowardZero, false);
        for low in 0..max {
            let (x, y) = (to_f64(ty, low), to_f64(ty, low + 1));
            let middle = x.midpoint(y);
            let even = low + (low & 1);
            assert_eq!(from_f64(ty, middle), even, "{ty} {low:#x}");
            assert_eq!(from_f64(ty, middle.next_down()), low);
            assert_eq!(from_f64(ty, middle.next_up()), low + 1);
            assert_eq!(from_f64(ty, -middle), even | 1 << (ty.bits() - 1));
            assert_eq!(round_f64(ty, y.next_down(), Rounding::TowardZero, false), low);
        }
    }
}

#[test]
fn f32_rounds_as_the_hardware_does() {
    let mut random = Random(1);
    for _ in 0..100_000 {
        let x = f64::from_bits(random.next());
        let near = f64::from(f32::from_bits(random.next() as u32)) * (1.0 + 2f64.powi(-24));
        for x in [x, near] {
            let want = x as f32;
            assert!(want.is_nan() || from_f64(Scalar::F32, x) == f32b(want), "{x:e}");
            assert!(x.is_nan() || from_f64(Scalar::F64, x) == x.to_bits());
        }
    }
}

#[test]
fn eight_bit_floats_overflow_as_their_formats_say() {
    let round = |ty, x, saturate| round_f64(ty, x, Rounding::NearestEven, saturate);
    for (ty, max, tie, over) in [(Scalar::E4M3, 0x7e, 464.0, 0x7f), (Scalar::E5M2, 0x7b, 61440.0f64, 0x7c)] {
        let below = tie.next_down();
        assert_eq!(round(ty, below, false), max, "{ty}");
        assert_eq!(round(ty, tie.next_up(), false), over);
        assert_eq!(round(ty, -tie.next_up(), false), over | 0x80);
        assert_eq!(round(ty, f64::INFINITY, false), over);
        assert_eq!(round(ty, f64::NEG_INFINITY, false), over | 0x80);
        for huge in [tie, 1e30, f64::INFINITY] {
            assert_eq!(round(ty, huge, true), max);
            assert_eq!(round(ty, -huge, true), max | 0x80);
        }
        assert!(to_f64(ty, round(ty, f64::NAN, true)).is_nan());
        assert_eq!(round_f64(ty, 1e9, Rounding::TowardZero, false), max);
    }
    // The tie itself goes to the even neighbour, which is 448 in one format and overflow in the other.
    assert_eq!(round(Scalar::E4M3, 464.0, false), 0x7e);
    assert_eq!(round(Scalar::E5M2, 61440.0, false), 0x7c);
    assert_eq!(round(Scalar::E4M3, -f64::NAN.copysign(1.0), false), 0xff);
}

#[test]
fn integers_become_floats_with_one_rounding() {
    // Through f64 this would be a tie, and go down to even.
    let x = (1u64 << 63) + (1 << 39) + 1;
    assert_eq!(conv(K::UToF, Scalar::I64, Scalar::F32, x), f32b(x as f32));
    // Through f32 this would be a tie, and go down to even.
    let x = (1u64 << 60) + (1 << 52) + 1;
    assert_eq!(conv(K::UToF, Scalar::I64, Scalar::BF16, x), 0x5d81);
    assert_eq!(conv(K::SToF, Scalar::I8, Scalar::E4M3, 0x80), 0xf0);
    assert_eq!(conv(K::UToF, Scalar::I8, Scalar::E4M3, 0x80), 0x70);
    assert_eq!(conv(K::UToF, Scalar::I32, Scalar::F16, 65519), 0x7bff);
    assert_eq!(conv(K::UToF, Scalar::I32, Scalar::F16, 65520), 0x7c00);
    assert_eq!(conv(K::SToF, Scalar::I64, Scalar::F64, i64::MIN as u64), (-(2f64.powi(63))).to_bits());
    let mut random = Random(2);
    for _ in 0..20_000 {
        let x = random.next() >> (random.next() & 63);
        assert_eq!(conv(K::SToF, Scalar::I64, Scalar::F32, x), f32b(x as i64 as f32));
        assert_eq!(conv(K::UToF, Scalar::I64, Scalar::F32, x), f32b(x as f32));
        assert_eq!(conv(K::UToF, Scalar::I64, Scalar::F64, x), (x as f64).to_bits());
    }
}

#[test]
fn floats_become_integers_by_truncation_and_saturation() {
    let s = |x, to| conv(K::FToS, Scalar::F32, to, f32b(x));
    let u = |x, to| conv(K::FToU, Scalar::F32, to, f32b(x));
    assert_eq!(s(-1.9, Scalar::I32), 0xffff_ffff);
    assert_eq!(s(2.9, Scalar::I8), 2);
    assert_eq!(s(128.0, Scalar::I8), 0x7f);
    assert_eq!(s(-1e30, Scalar::I16), 0x8000);
    assert_eq!(s(f32::INFINITY, Scalar::I64), i64::MAX as u64);
    assert_eq!(s(f32::NAN, Scalar::I32), 0);
    assert_eq!(u(-1.0, Scalar::I32), 0);
    assert_eq!(u(300.0, Scalar::I8), 255);
    assert_eq!(u(1e30, Scalar::I64), u64::MAX);
    assert_eq!(u(f32::NAN, Scalar::I8), 0);
}

#[test]
fn integers_extend_and_truncate() {
    assert_eq!(conv(K::SToS, Scalar::I8, Scalar::I32, 0x80), 0xffff_ff80);
    assert_eq!(conv(K::UToU, Scalar::I8, Scalar::I32, 0x80), 0x80);
    assert_eq!(conv(K::SToS, Scalar::I64, Scalar::I16, 0x1234_5678), 0x5678);
    assert_eq!(bitcast(Scalar::I32, f32b(1.0)), 0x3f80_0000);
}

#[test]
fn conversions_between_floats_round_once() {
    // Just above a tie of bf16 in f64; through f32 it would be the tie.
    let x = 1.0 + 2f64.powi(-8) + 2f64.powi(-40);
    assert_eq!(conv(K::FToF, Scalar::F64, Scalar::BF16, x.to_bits()), 0x3f81);
    // Just above a tie of e4m3; through f16 it would be the tie.
    let x = 1.0f32 + 2f32.powi(-4) + 2f32.powi(-15);
    assert_eq!(conv(K::FToF, Scalar::F32, Scalar::E4M3, f32b(x)), 0x39);
    let toward_zero = ConvertOp { rounding: Rounding::TowardZero, ..ConvertOp::new(K::FToF) };
    assert_eq!(convert(toward_zero, Scalar::F32, Scalar::E4M3, f32b(x)), 0x38);
    assert_eq!(conv(K::FToF, Scalar::F32, Scalar::F16, f32b(f32::NEG_INFINITY)), 0xfc00);
    assert_eq!(conv(K::FToF, Scalar::F32, Scalar::F16, f32b(-f32::NAN.copysign(1.0))), 0xfe00);
}

#[test]
fn f16_arithmetic_is_correctly_rounded() {
    let mut random = Random(3);
    for _ in 0..100_000 {
        let (x, y) = (random.next() & 0xffff, random.next() & 0xffff);
        let (fx, fy) = (f16::from_bits(x as u16).to_f32(), f16::from_bits(y as u16).to_f32());
        // f32 has more than twice the precision of f16 as well.
        for (op, want) in [(B::Fadd, fx + fy), (B::Fsub, fx - fy), (B::Fmul, fx * fy), (B::Fdiv, fx / fy)] {
            let (got, want) = (binary(op, Scalar::F16, x, y), f16::from_f32(want));
            assert!(
                want.is_nan() && got == 0x7e00 || got == u64::from(want.to_bits()),
                "{op:?} {x:#x} {y:#x}"
            );
        }
    }
}

#[test]
fn f32_arithmetic_is_that_of_the_hardware() {
    let mut random = Random(4);
    for round in 0..100_000 {
        // Exponents close together in every second round, so that sums are not trivial.
        let keep = if round & 1 == 0 { u32::MAX } else { 0x80ff_ffff };
        let [x, y, z] = [0; 3].map(|_: u32| f32::from_bits(random.next() as u32 & keep));
        let check = |name: &str, got: u64, want: f32| {
            assert!(want.is_nan() || got == f32b(want), "{name} {x:e} {y:e} {z:e}");
        };
        check("add", binary(B::Fadd, Scalar::F32, f32b(x), f32b(y)), x + y);
        check("mul", binary(B::Fmul, Scalar::F32, f32b(x), f32b(y)), x * y);
        check("div", binary(B::Fdiv, Scalar::F32, f32b(x), f32b(y)), x / y);
        check("rem", binary(B::Frem, Scalar::F32, f32b(x), f32b(y)), x % y);
        check("sqrt", unary(U::Sqrt, Scalar::F32, f32b(x)), x.sqrt());
        check("fma", fma(Scalar::F32, f32b(x), f32b(y), f32b(z)), x.mul_add(y, z));
    }
}

#[test]
fn fma_rounds_once() {
    // 1 + 2^-11 is a tie of f16; the product's far lower bits break it.
    let x = 1.0 + 2f64.powi(-10);
    let tiny = 2f64.powi(-24);
    assert_eq!(fma(Scalar::F16, f16b(2f64.powi(-11)), f16b(x), f16b(1.0)), 0x3c01);
    assert_eq!(fma(Scalar::F16, f16b(65504.0), f16b(65504.0), f16b(-tiny)), 0x7c00);
    assert_eq!(fma(Scalar::F16, f16b(tiny), f16b(-0.25), f16b(1024.5)), f16b(1024.5) & !1);
    assert_eq!(fma(Scalar::F16, 0x8000, f16b(1.0), 0x8000), 0x8000);
    assert_eq!(fma(Scalar::F16, f16b(1.0), f16b(1.0), f16b(-1.0)), 0);
    assert_eq!(fma(Scalar::F32, f32b(f32::INFINITY), 0, 0), 0x7fc0_0000);
}

#[test]
fn minimum_and_maximum_prefer_numbers() {
    let nan = f32b(f32::NAN);
    for op in [B::Fmin, B::Fmax] {
        assert_eq!(binary(op, Scalar::F32, nan, f32b(1.0)), f32b(1.0));
        assert_eq!(binary(op, Scalar::F32, f32b(1.0), nan), f32b(1.0));
        assert_eq!(binary(op, Scalar::F32, nan, nan), nan);
    }
    assert_eq!(binary(B::Fmin, Scalar::F32, f32b(-1.0), f32b(2.0)), f32b(-1.0));
    assert_eq!(binary(B::Fmax, Scalar::F16, f16b(-1.0), f16b(2.0)), f16b(2.0));
}

#[test]
fn float_functions_at_edges() {
    let f = |op, x: f32| f32::from_bits(unary(op, Scalar::F32, f32b(x)) as u32);
    assert_eq!(f(U::RoundEven, 2.5), 2.0);
    assert_eq!(f(U::RoundEven, 3.5), 4.0);
    assert_eq!(f(U::RoundEven, -0.5).to_bits(), (-0f32).to_bits());
    assert_eq!(f(U::Fract, -0.25), 0.75);
    assert_eq!(f(U::Fsign, -3.0), -1.0);
    assert_eq!(f(U::Fsign, -0.0).to_bits(), 0);
    assert_eq!(f(U::Fsign, f32::NAN).to_bits(), 0);
    assert_eq!(f(U::InverseSqrt, 4.0), 0.5);
    assert_eq!(f(U::Exp2, 10.0), 1024.0);
    assert_eq!(f(U::Log2, 8.0), 3.0);
    assert_eq!(f(U::Sqrt, -1.0).to_bits(), 0x7fc0_0000);
    assert_eq!(f(U::Fneg, 0.0).to_bits(), 0x8000_0000);
    assert_eq!(unary(U::IsNan, Scalar::F16, 0x7e00), 1);
    assert_eq!(unary(U::IsInf, Scalar::F16, 0xfc00), 1);
    let b = |op, x: f32, y: f32| f32::from_bits(binary(op, Scalar::F32, f32b(x), f32b(y)) as u32);
    assert_eq!(b(B::Frem, -5.0, 3.0), -2.0);
    assert_eq!(b(B::Fmod, -5.0, 3.0), 1.0);
    assert_eq!(b(B::Pow, 2.0, -2.0), 0.25);
    assert_eq!(b(B::Atan2, 1.0, 0.0), std::f32::consts::FRAC_PI_2);
}

#[test]
fn ldexp_rounds_once() {
    let f = |ty, x, n: i32| to_f64(ty, binary(B::Ldexp, ty, from_f64(ty, x), n as u32 as u64));
    assert_eq!(f(Scalar::F32, 1.5, 4), 24.0);
    assert_eq!(f(Scalar::F32, 1.0, i32::MAX), f64::INFINITY);
    assert_eq!(f(Scalar::F32, -1.0, i32::MIN).to_bits(), (-0f64).to_bits());
    assert_eq!(f(Scalar::F64, 5e-324, 2097), 2f64.powi(1023));
    assert_eq!(f(Scalar::F64, 3.0, -1075), 1e-323);
    assert_eq!(f(Scalar::F16, 3.0, -25), 2f64.powi(-23));
    assert!(f(Scalar::F64, f64::NAN, 1).is_nan());
}

#[test]
fn integer_division_is_total() {
    for ty in [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64] {
        let min = 1 << (ty.bits() - 1);
        for op in [B::Sdiv, B::Udiv, B::Srem, B::Smod, B::Umod] {
            assert_eq!(binary(op, ty, 7, 0), 0);
        }
        assert_eq!(binary(B::Sdiv, ty, min, ty.mask()), min);
        assert_eq!(binary(B::Srem, ty, min, ty.mask()), 0);
        assert_eq!(binary(B::Smod, ty, (-7i64) as u64 & ty.mask(), 3), 2);
        assert_eq!(binary(B::Smod, ty, 7, (-3i64) as u64), (-2i64) as u64 & ty.mask());
        assert_eq!(binary(B::Srem, ty, (-7i64) as u64, 3), (-1i64) as u64 & ty.mask());
    }
}

/// All pairs of bytes against `i8` and `u8`.
#[test]
fn byte_arithmetic_is_exhaustive() {
    for (x, y) in (0..=255u8).flat_map(|x| (0..=255u8).map(move |y| (x, y))) {
        let (sx, sy) = (x as i8, y as i8);
        let wide = i16::from(sx) * i16::from(sy);
        let cases = [
            (B::Iadd, x.wrapping_add(y)),
            (B::Isub, x.wrapping_sub(y)),
            (B::Imul, x.wrapping_mul(y)),
            (B::Sdiv, if y == 0 { 0 } else { sx.wrapping_div(sy) as u8 }),
            (B::Udiv, x.checked_div(y).unwrap_or(0)),
            (B::SmulHi, (wide >> 8) as u8),
            (B::UmulHi, ((u16::from(x) * u16::from(y)) >> 8) as u8),
            (B::Smin, sx.min(sy) as u8),
            (B::Umax, x.max(y)),
            (B::Shl, x.wrapping_shl(y.into())),
            (B::Lshr, x.wrapping_shr(y.into())),
            (B::Ashr, sx.wrapping_shr(y.into()) as u8),
        ];
        for (op, want) in cases {
            // Garbage above the width must not matter.
            let got = binary(op, Scalar::I8, u64::from(x) | 0xabc00, u64::from(y) | 0xf00);
            assert_eq!(got, u64::from(want), "{op:?} {x} {y}");
        }
    }
}

#[test]
fn bit_functions() {
    assert_eq!(unary(U::BitReverse, Scalar::I16, 1), 0x8000);
    assert_eq!(unary(U::BitCount, Scalar::I8, 0xff), 8);
    assert_eq!(unary(U::FindLsb, Scalar::I32, 0), 0xffff_ffff);
    assert_eq!(unary(U::FindLsb, Scalar::I16, 0x50), 4);
    assert_eq!(unary(U::FindUMsb, Scalar::I32, 0), 0xffff_ffff);
    assert_eq!(unary(U::FindUMsb, Scalar::I32, 0x8000_0000), 31);
    assert_eq!(unary(U::FindSMsb, Scalar::I32, 0xffff_ffff), 0xffff_ffff);
    assert_eq!(unary(U::FindSMsb, Scalar::I32, 0xffff_fffe), 0);
    assert_eq!(unary(U::Not, Scalar::Bool, 0), 1);
    assert_eq!(unary(U::Sabs, Scalar::I8, 0x80), 0x80);
    assert_eq!(unary(U::Ssign, Scalar::I8, 0x80), 0xff);
    assert_eq!(unary(U::Ineg, Scalar::I8, 1), 0xff);
}

#[test]
fn comparisons_order_and_do_not() {
    let nan = f32b(f32::NAN);
    let f = |op, x: f32, y: f32| compare(op, Scalar::F32, f32b(x), f32b(y));
    assert!(f(C::FordEq, 0.0, -0.0) && f(C::FordLt, -1.0, 2.0) && f(C::FordLe, 2.0, 2.0));
    assert!(f(C::FordNe, 1.0, 2.0) && !f(C::FordNe, 2.0, 2.0));
    for op in [C::FordEq, C::FordNe, C::FordLt, C::FordLe] {
        assert!(!compare(op, Scalar::F32, nan, 0));
    }
    for op in [C::FunordEq, C::FunordNe, C::FunordLt, C::FunordLe] {
        assert!(compare(op, Scalar::F32, nan, 0));
    }
    assert!(compare(C::Slt, Scalar::I8, 0x80, 0) && !compare(C::Ult, Scalar::I8, 0x80, 0));
    assert!(compare(C::Ieq, Scalar::Bool, 1, 1) && compare(C::Ine, Scalar::I64, 1, 2));
}

#[test]
fn reductions_start_from_their_identity() {
    let ints = [ReduceOp::Iadd, ReduceOp::Imul, ReduceOp::Smin, ReduceOp::Umin, ReduceOp::Smax];
    let bits = [ReduceOp::Umax, ReduceOp::And, ReduceOp::Or, ReduceOp::Xor];
    for op in ints.into_iter().chain(bits) {
        for ty in [Scalar::I8, Scalar::I32, Scalar::I64] {
            let identity = reduce_identity(op, ty);
            for x in edges(ty) {
                assert_eq!(reduce(op, ty, identity, x), x, "{op:?} {ty}");
            }
        }
    }
    for op in [ReduceOp::And, ReduceOp::Or, ReduceOp::Xor] {
        let identity = reduce_identity(op, Scalar::Bool);
        assert_eq!([0, 1].map(|x| reduce(op, Scalar::Bool, identity, x)), [0, 1]);
    }
    for op in [ReduceOp::Fadd, ReduceOp::Fmul, ReduceOp::Fmin, ReduceOp::Fmax] {
        let identity = reduce_identity(op, Scalar::F16);
        assert_eq!(reduce(op, Scalar::F16, identity, f16b(-3.5)), f16b(-3.5));
    }
}

#[test]
fn atomics_replace_content() {
    let run = |op, old, x, y| atomic(op, Scalar::I32, old, x, y);
    assert_eq!(run(AtomicOp::Load, 5, 9, 9), 5);
    assert_eq!(run(AtomicOp::Exchange, 5, 9, 0), 9);
    assert_eq!(run(AtomicOp::CompareExchange, 5, 9, 5), 9);
    assert_eq!(run(AtomicOp::CompareExchange, 5, 9, 6), 5);
    assert_eq!(run(AtomicOp::Isub, 5, 9, 0), 0xffff_fffc);
    assert_eq!(run(AtomicOp::Smin, 5, 0xffff_ffff, 0), 0xffff_ffff);
    assert_eq!(run(AtomicOp::Umin, 5, 0xffff_ffff, 0), 5);
}

fn types(a: Scalar, b: Scalar, c: Scalar, result: Scalar) -> MulAddTypes {
    MulAddTypes { a, b, c, result }
}

#[test]
fn integer_multiply_add_widens_by_flags() {
    let bytes = types(Scalar::I8, Scalar::I8, Scalar::I32, Scalar::I32);
    let run = |a_signed, b_signed| {
        let flags = MulAddFlags { a_signed, b_signed, ..MulAddFlags::default() };
        mul_add(flags, bytes, [(0xff, 0xfe); 3], 10) as u32 as i32
    };
    assert_eq!(run(false, false), 255 * 254 * 3 + 10);
    assert_eq!(run(true, false), -254 * 3 + 10);
    assert_eq!(run(false, true), 255 * -2 * 3 + 10);
    assert_eq!(run(true, true), 16);
    let narrow = types(Scalar::I8, Scalar::I8, Scalar::I8, Scalar::I16);
    let flags = MulAddFlags { c_signed: true, ..MulAddFlags::default() };
    assert_eq!(mul_add(flags, narrow, [], 0xff), 0xffff);
}

#[test]
fn integer_multiply_add_saturates_the_accumulation() {
    let ty = types(Scalar::I8, Scalar::I8, Scalar::I32, Scalar::I32);
    let signed = SATURATING;
    let max = i32::MAX as u64;
    assert_eq!(mul_add(signed, ty, [(1, 1)], max), max);
    assert_eq!(mul_add(signed, ty, [(1, 0xff)], 0x8000_0000), 0x8000_0000);
    assert_eq!(mul_add(signed, ty, [(1, 0xff)], max), max - 1);
    let unsigned = MulAddFlags { saturate: true, ..MulAddFlags::default() };
    assert_eq!(mul_add(unsigned, ty, [(1, 1)], u64::from(u32::MAX)), u64::from(u32::MAX));
    let wrapping = MulAddFlags { saturate: false, ..signed };
    assert_eq!(mul_add(wrapping, ty, [(1, 1)], max), 0x8000_0000);
}

const SATURATING: MulAddFlags = MulAddFlags {
    a_signed: true,
    b_signed: true,
    c_signed: true,
    result_signed: true,
    saturate: true,
    relaxed: false,
    step: 0,
};

#[test]
fn saturating_multiply_add_of_wide_integers_is_exact() {
    let all = |ty| types(ty, ty, ty, ty);
    let unsigned = MulAddFlags { saturate: true, ..MulAddFlags::default() };
    let (u32_max, s32_max, s64_max) = (u64::from(u32::MAX), i32::MAX as u64, i64::MAX as u64);
    assert_eq!(mul_add(unsigned, all(Scalar::I32), [(u32_max, u32_max)], 0), u32_max);
    assert_eq!(mul_add(SATURATING, all(Scalar::I32), [(s32_max, s32_max); 16], 0), s32_max);
    let (min, max) = (1 << 63, u64::MAX);
    for count in [1, 16, 16384] {
        let times = |x, y| std::iter::repeat_n((x, y), count);
        assert_eq!(mul_add(unsigned, all(Scalar::I64), times(max, max), max), max);
        assert_eq!(mul_add(SATURATING, all(Scalar::I64), times(s64_max, s64_max), 0), s64_max);
        assert_eq!(mul_add(SATURATING, all(Scalar::I64), times(min, s64_max), 0), min);
        // The largest sums, and what is left when they are taken away again.
        let mixed = MulAddFlags { b_signed: true, c_signed: true, result_signed: true, ..unsigned };
        let there_and_back = times(max, s64_max).chain(times(max, s64_max.wrapping_neg()));
        assert_eq!(mul_add(mixed, all(Scalar::I64), there_and_back, 7), 7);
    }
    // Of factors of different widths, and without saturation.
    let types = types(Scalar::I64, Scalar::I32, Scalar::I16, Scalar::I8);
    assert_eq!(mul_add(SATURATING, types, [(min, u32_max)], 3), 0x7f);
    assert_eq!(mul_add(MulAddFlags::default(), types, [(max, u32_max)], 3), 4);
}

#[test]
fn denormals_of_bf16_products_are_zeros() {
    let run = |ty: MulAddTypes, x, y, c| mul_add(MulAddFlags::default(), ty, [(x, y)], c);
    let single = types(Scalar::BF16, Scalar::BF16, Scalar::F32, Scalar::F32);
    assert_eq!(run(single, 0x40, 0x7f00, 0), 0);
    assert_eq!(run(single, 0x40, 0xff00, 0x3f80_0000), 0x3f80_0000);
    assert_eq!(run(single, 0x2000, 0x1f80, 0), 0);
    assert_eq!(run(single, 0xa000, 0x1f80, 0x8000_0000), 0x8000_0000);
    assert_eq!(run(single, 0x2000, 0x2000, 0), 0x0080_0000);
    assert_eq!(run(single, 0, 0, 0x0040_0000), 0);
    let narrow = types(Scalar::BF16, Scalar::BF16, Scalar::BF16, Scalar::BF16);
    assert_eq!(run(narrow, 0x3f80, 0x8080, 0x0081), 0);
    // Others are kept.
    let mixed = types(Scalar::BF16, Scalar::F32, Scalar::F32, Scalar::F32);
    assert_eq!(run(mixed, 0x40, f32b(1.0), 0), 0x0040_0000);
    let double = types(Scalar::BF16, Scalar::BF16, Scalar::F64, Scalar::F64);
    assert_eq!(run(double, 0x40, 0x3f80, 0), 2f64.powi(-127).to_bits());
}

#[test]
fn float_multiply_add_rounds_once() {
    let half = types(Scalar::F16, Scalar::F16, Scalar::F16, Scalar::F16);
    // Each step alone would be lost in f16.
    let step = f16b(2f64.powi(-6));
    let pairs = [(step, step); 8];
    assert_eq!(mul_add(MulAddFlags::default(), half, pairs, f16b(4.0)), f16b(4.0 + 2f64.powi(-9)));
    // Each two are.
    let by_step = |step| mul_add(MulAddFlags { step, ..MulAddFlags::default() }, half, pairs, f16b(4.0));
    assert_eq!([by_step(4), by_step(8)], [f16b(4.0), f16b(4.0 + 2f64.powi(-9))]);
    let mixed = types(Scalar::E4M3, Scalar::E5M2, Scalar::F32, Scalar::BF16);
    assert_eq!(mul_add(MulAddFlags::default(), mixed, [(0x38, 0x3c)], f32b(2.0)), 0x4040);
}

#[test]
fn every_combination_is_total() {
    for ty in FLOATS {
        for x in edges(ty) {
            for y in edges(ty) {
                for op in [B::Fadd, B::Fmul, B::Fdiv, B::Frem, B::Fmod, B::Pow, B::Atan2, B::Ldexp] {
                    assert_eq!(binary(op, ty, x, y) & !ty.mask(), 0);
                }
            }
        }
    }
    for from in Scalar::ALL {
        for to in Scalar::ALL {
            for kind in [K::SToS, K::UToU, K::FToS, K::FToU, K::SToF, K::UToF, K::FToF] {
                assert_eq!(conv(kind, from, to, u64::MAX) & !to.mask(), 0);
            }
        }
    }
}

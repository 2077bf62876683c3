//! Products of matrices and the vectors of invocations (SPV_NV_cooperative_vector).

use super::float::{from_f64, round_f64, to_f64};
use super::int::{sign_extend, zero_extend};
use crate::op::Rounding;
use crate::types::Scalar;
use crate::vector::{Component, VecMatMul};

/// What an element of the input becomes before it is multiplied: a number of the interpretation, as its bits.
///
/// Floats become integers to nearest even and saturating, and 8-bit floats saturating; integers become integers
/// saturating, and floats to nearest even.
pub fn interpret(from: Scalar, signed: bool, to: Component, bits: u64) -> u64 {
    if from.is_float() && to.is_float() {
        return round_f64(to.scalar(), to_f64(from, bits), Rounding::NearestEven, true);
    }
    if to.is_float() {
        // The extension allows inputs of at most 32 bits, which are exact in f64.
        let value = if signed { sign_extend(from, bits) as f64 } else { zero_extend(from, bits) as f64 };
        return from_f64(to.scalar(), value);
    }
    let (least, most) = range(to);
    let value = if from.is_float() {
        // Saturates, and makes a NaN 0.
        to_f64(from, bits).round_ties_even() as i64
    } else if signed {
        sign_extend(from, bits)
    } else {
        i64::try_from(zero_extend(from, bits)).unwrap_or(i64::MAX)
    };
    value.clamp(least, most) as u64 & to.scalar().mask()
}

/// Number `i` of a packed vector, whose word `i / 4` this is.
pub fn unpack(word: u64, i: u32) -> u64 {
    word >> (8 * (i % 4)) & 0xff
}

/// `bias + Σ a * x` over the elements of a row of the matrix as it is kept in its layout, and those of the vector, after
/// [`interpret`]. Floats are summed in `f64` in this order and rounded once to the result; integers modulo its width.
pub fn dot(
    op: &VecMatMul,
    result: Scalar,
    pairs: impl IntoIterator<Item = (u64, u64)>,
    bias: Option<u64>,
) -> u64 {
    let kept = op.layout.kept(op.matrix);
    if op.matrix.is_float() {
        let start = op.bias.zip(bias).map_or(-0.0, |(c, x)| to_f64(c.scalar(), x));
        let x = |bits| to_f64(op.interpretation.scalar(), bits);
        let sum = pairs.into_iter().fold(start, |sum, (a, b)| sum + to_f64(kept, a) * x(b));
        // No product and no bias make a zero without a sign.
        return from_f64(result, sum + 0.0);
    }
    let start = op.bias.zip(bias).map_or(0, |(c, x)| widen(c, x));
    let term = |(a, x)| widen(op.matrix, a).wrapping_mul(widen(op.interpretation, x));
    let sum = pairs.into_iter().map(term).fold(start, i64::wrapping_add);
    sum as u64 & result.mask()
}

fn widen(component: Component, bits: u64) -> i64 {
    let scalar = component.scalar();
    if component.is_signed() { sign_extend(scalar, bits) } else { zero_extend(scalar, bits) as i64 }
}

/// The least and the greatest number of an integer type.
fn range(component: Component) -> (i64, i64) {
    let max = component.scalar().mask() as i64;
    if component.is_signed() { (-(max >> 1) - 1, max >> 1) } else { (0, max) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::MatrixLayout;

    fn f16(x: f64) -> u64 {
        from_f64(Scalar::F16, x)
    }

    #[test]
    fn floats_become_integers_to_nearest_even_and_saturate() {
        let s8 =
            |x: f64| interpret(Scalar::F32, true, Component::S8, u64::from((x as f32).to_bits())) as u8 as i8;
        assert_eq!([0.5, 1.5, 2.5, -0.5, -1.5].map(s8), [0, 2, 2, 0, -2]);
        assert_eq!([127.5, 1e30, -128.5, f64::NEG_INFINITY, f64::NAN].map(s8), [127, 127, -128, -128, 0]);
        let u8 = |x: f64| interpret(Scalar::F16, true, Component::U8, f16(x));
        assert_eq!([-1.0, 254.5, 255.5, 60000.0].map(u8), [0, 254, 255, 255]);
    }

    #[test]
    fn integers_saturate_by_their_own_sign() {
        let all_ones = u64::from(u32::MAX);
        assert_eq!(interpret(Scalar::I32, true, Component::S8, all_ones), 0xff);
        assert_eq!(interpret(Scalar::I32, false, Component::S8, all_ones), 127);
        assert_eq!(interpret(Scalar::I32, true, Component::U8, all_ones), 0);
        assert_eq!(interpret(Scalar::I32, false, Component::U8, all_ones), 255);
        assert_eq!(interpret(Scalar::I8, true, Component::U8, 0x80), 0);
        assert_eq!(interpret(Scalar::I64, false, Component::U8, u64::MAX), 255);
    }

    #[test]
    fn small_floats_saturate_and_keep_what_is_not_a_number() {
        let e4m3 = |x: f64| interpret(Scalar::F16, false, Component::E4m3, f16(x));
        assert_eq!([448.0, 464.0, 1000.0, f64::INFINITY].map(e4m3), [0x7e; 4]);
        assert_eq!(e4m3(f64::NAN), 0x7f);
        assert_eq!(interpret(Scalar::F16, false, Component::E5m2, f16(-65504.0)), 0xfb);
        assert_eq!(interpret(Scalar::I32, true, Component::F16, 2049), f16(2048.0));
    }

    #[test]
    fn sums_wrap_or_are_rounded_once() {
        let var = crate::entities::Var::new(0);
        let op = VecMatMul {
            result: var,
            input: var,
            m: 1,
            k: 2,
            interpretation: Component::U8,
            packed: true,
            input_signed: false,
            matrix: Component::S8,
            layout: MatrixLayout::RowMajor,
            transposed: false,
            bias: Some(Component::U32),
        };
        let word = 0x0403_02ff;
        let pairs = [(0x80, unpack(word, 0)), (3, unpack(word, 1))];
        assert_eq!(dot(&op, Scalar::I32, pairs, Some(7)) as u32 as i32, -128 * 255 + 3 * 2 + 7);
        assert_eq!(dot(&op, Scalar::I32, [(1, 1)], Some(u64::from(u32::MAX))), 0);
        let op = VecMatMul { interpretation: Component::F16, matrix: Component::F16, bias: None, ..op };
        let pairs = [(f16(2048.0), f16(1.0)), (f16(0.75), f16(1.0)), (f16(0.75), f16(1.0))];
        assert_eq!(dot(&op, Scalar::F16, pairs, None), f16(2050.0), "1.5 is half of a step");
        assert_eq!(dot(&op, Scalar::F32, pairs, None), u64::from(2049.5_f32.to_bits()));
    }
}

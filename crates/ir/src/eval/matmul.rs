//! Elements of a matrix multiply-add (*OpCooperativeMatrixMulAddKHR*).

use super::float::{from_f64, to_f64};
use super::int::{sign_extend, zero_extend};
use crate::op::MulAddFlags;
use crate::types::Scalar;

/// Element types of a multiply-add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MulAddTypes {
    /// Of the left factor.
    pub a: Scalar,
    /// Of the right factor.
    pub b: Scalar,
    /// Of the addend.
    pub c: Scalar,
    /// Of the result.
    pub result: Scalar,
}

/// `c + Σ a * b` over pairs of elements, as [`Factors::sum`] has it.
pub fn mul_add(
    flags: MulAddFlags,
    types: MulAddTypes,
    pairs: impl IntoIterator<Item = (u64, u64)>,
    c: u64,
) -> u64 {
    let (a, b): (Vec<u64>, Vec<u64>) = pairs.into_iter().unzip();
    Factors::new(flags, types, [&a, &b]).sum((0..a.len()).map(|i| (i, i)), c)
}

/// The factors of a multiply-add as numbers, of which each is in many sums.
#[derive(Clone, Debug)]
pub struct Factors {
    flags: MulAddFlags,
    types: MulAddTypes,
    numbers: Numbers,
}

/// The numbers of A and B.
#[derive(Clone, Debug)]
enum Numbers {
    Reals([Vec<f64>; 2]),
    Integers([Vec<i128>; 2]),
}

impl Factors {
    /// Reads the elements of A and B. Integers are widened by the flags.
    pub fn new(flags: MulAddFlags, types: MulAddTypes, [a, b]: [&[u64]; 2]) -> Self {
        let of = [(a, types.a, flags.a_signed), (b, types.b, flags.b_signed)];
        let numbers = if types.result.is_float() {
            let real = |ty, signed, x| types.flushed(to_real(ty, signed, x));
            Numbers::Reals(of.map(|(all, ty, signed)| all.iter().map(|&x| real(ty, signed, x)).collect()))
        } else {
            Numbers::Integers(of.map(|(all, ty, signed)| all.iter().map(|&x| widen(ty, signed, x)).collect()))
        };
        Self { flags, types, numbers }
    }

    /// `c + Σ a * b` over pairs of places in A and in B: a row of A and a column of B.
    ///
    /// The sum of integers is exact, then taken modulo the result's width or, with [`MulAddFlags::saturate`], clamped to its
    /// range. Floats are summed in `f64`, from `c` and in the order of the pairs, and rounded to the result once, or each
    /// [`MulAddFlags::step`] pairs; of products of `bf16`, denormals are zeros (see [`MulAddTypes::flushes`]).
    /// [`MulAddFlags::relaxed`] changes nothing here.
    pub fn sum(&self, pairs: impl IntoIterator<Item = (usize, usize)>, c: u64) -> u64 {
        let Self { flags, types, numbers } = self;
        match numbers {
            Numbers::Reals([a, b]) => {
                let round = |sum| from_f64(types.result, types.flushed(sum));
                let start = types.flushed(to_real(types.c, flags.c_signed, c));
                let sum = (1..).zip(pairs).fold(start, |sum, (count, (x, y)): (u32, _)| {
                    let sum = sum + a[x] * b[y];
                    let is_step = flags.step > 0 && count.is_multiple_of(flags.step);
                    if is_step { to_f64(types.result, round(sum)) } else { sum }
                });
                round(sum)
            }
            Numbers::Integers([a, b]) => {
                let mut sum = Sum { high: 0, low: widen(types.c, flags.c_signed, c) };
                for (x, y) in pairs {
                    sum.add_product(a[x], b[y]);
                }
                if flags.saturate {
                    return sum.clamp(range(types.result, flags.result_signed)) as u64 & types.result.mask();
                }
                sum.low_bits() & types.result.mask()
            }
        }
    }
}

impl MulAddTypes {
    /// Whether numbers that are denormal in binary32 count as zeros of their sign: where both factors
    /// are `bf16`, and the sum is not in `f64`. Dot products of `bf16` in hardware do that.
    pub fn flushes(self) -> bool {
        (self.a, self.b) == (Scalar::BF16, Scalar::BF16)
            && self.c != Scalar::F64
            && self.result != Scalar::F64
    }

    /// A factor, an addend or a sum as it counts.
    fn flushed(self, x: f64) -> f64 {
        if self.flushes() { flush(x) } else { x }
    }
}

/// Zero for what is denormal when rounded to binary32.
fn flush(x: f64) -> f64 {
    if (x as f32).abs() < f32::MIN_POSITIVE { 0_f64.copysign(x) } else { x }
}

/// The exact sum `high * 2^32 + low` of integers: products of two of 64 bits need up to 129 bits, and
/// products of one with the upper or the lower half of the other fit 128 bits, any number of them.
#[derive(Clone, Copy, Debug)]
struct Sum {
    high: i128,
    low: i128,
}

impl Sum {
    fn add_product(&mut self, x: i128, y: i128) {
        self.high += x * (y >> 32);
        self.low += x * (y & 0xffff_ffff);
    }

    /// The sum modulo 2^64.
    fn low_bits(self) -> u64 {
        ((self.high as u64) << 32).wrapping_add(self.low as u64)
    }

    /// The sum, or the end of the range that it is beyond.
    fn clamp(self, (min, max): (i128, i128)) -> i128 {
        // Far outside of 64 bits, and far inside of 128 when it is shifted.
        let high = (self.high + (self.low >> 32)).clamp(-1 << 80, 1 << 80);
        ((high << 32) + (self.low & 0xffff_ffff)).clamp(min, max)
    }
}

fn widen(ty: Scalar, signed: bool, x: u64) -> i128 {
    if signed { i128::from(sign_extend(ty, x)) } else { i128::from(zero_extend(ty, x)) }
}

fn to_real(ty: Scalar, signed: bool, x: u64) -> f64 {
    if ty.is_float() { to_f64(ty, x) } else { widen(ty, signed, x) as f64 }
}

/// The least and the greatest number of a type.
fn range(ty: Scalar, signed: bool) -> (i128, i128) {
    let max = i128::from(ty.mask());
    if signed { (-(max >> 1) - 1, max >> 1) } else { (0, max) }
}

//! Values to which each bit of a lane's number adds a constant ([`Shape::Bits`]), and what a comparison makes of
//! values whose bits the lanes do not carry into each other.
//!
//! Sums add the constants up, products with a number multiply them. Masks and shifts apply to each constant by itself
//! where nothing carries: where the constants have no bit in common and the base has zeros there.
//!
//! ```text
//! x = 64 * i + 8 * lane              base 64 * i        bits add 8, 16, 32, 64, 128
//! x & 31                             0                           8, 16,  0,  0,   0
//! x >> 5                             2 * i                       0,  0,  1,  2,   4
//! ```

use super::fact::{Fact, Lanes, bits, sum_zeros};
use super::{LANE_BITS, Shape};
use crate::op::{BinaryOp, CompareOp};
use crate::types::{Scalar, Type};

type Steps = [i64; LANE_BITS];

impl Lanes {
    /// What the bits of a lane's number add to a value.
    fn steps(&self, x: &Fact) -> Option<Steps> {
        let lane_bits = self.lane_bits()?;
        if !x.guards.is_empty() {
            return None;
        }
        match x.shape {
            Shape::Uniform => Some([0; LANE_BITS]),
            Shape::Affine { stride } => {
                Some(std::array::from_fn(|k| if k < lane_bits { stride.wrapping_shl(k as u32) } else { 0 }))
            }
            Shape::Bits { steps } => Some(steps),
            Shape::Varying => None,
        }
    }

    /// The bits that tell lanes apart, if they are so few.
    fn lane_bits(&self) -> Option<usize> {
        let n = self.count.trailing_zeros() as usize;
        (self.count.count_ones() == 1 && n <= LANE_BITS).then_some(n)
    }

    /// A value of these steps, in the simplest shape.
    fn stepped(&self, ty: Type, steps: Steps) -> Option<Fact> {
        let lane_bits = self.lane_bits()?;
        let shift = 64 - bits(ty);
        let reduce = |x: i64| x << shift >> shift;
        let steps: Steps = std::array::from_fn(|k| if k < lane_bits { reduce(steps[k]) } else { 0 });
        let is_even = (0..lane_bits).all(|k| steps[k] == reduce(steps[0].wrapping_shl(k as u32)));
        Some(if is_even { Fact::affine(ty, steps[0]) } else { Fact::new(ty, Shape::Bits { steps }) })
    }

    /// The steps, and all their bits, of a value that adds them to zeros of its base without a carry.
    fn carry_free(&self, ty: Type, x: &Fact) -> Option<(Steps, i64)> {
        let steps = self.steps(x)?;
        let mut all = 0;
        for step in steps {
            if step < 0 || step & all != 0 {
                return None;
            }
            all |= step;
        }
        let low = 64 - all.leading_zeros();
        (all.cast_unsigned() & !x.zeros == 0 && low < bits(ty)).then_some((steps, all))
    }

    /// The steps of a value that a shift by `n` bits divides without a remainder: base and steps are multiples of
    /// that power of two, and the sum, of which all values are known to be small, does not wrap.
    fn multiples(&self, ty: Type, x: &Fact, n: u32) -> Option<(Steps, i64)> {
        let steps = self.steps(x)?;
        let is_multiple = |s: &i64| s.trailing_zeros() >= n;
        let spread: u64 = steps.iter().fold(0, |sum, s| sum.saturating_add(s.unsigned_abs()));
        let is_small = x.range.0 >= 0 && spread <= i64::MAX.cast_unsigned() >> (64 - bits(ty));
        (is_small && x.align() >= n && steps.iter().all(is_multiple)).then_some((steps, 0))
    }

    /// The low bits that the lanes' part of a value takes, where it can be added without a carry.
    pub(super) fn low_bits_of(&self, ty: Type, x: &Fact) -> Option<u32> {
        self.carry_free(ty, x).map(|(_, all)| 64 - all.leading_zeros())
    }

    /// Shape and alignment of an integer operation by the bits of the lanes' numbers.
    pub(super) fn by_bits(&self, op: BinaryOp, ty: Type, x: &Fact, y: &Fact) -> Option<Fact> {
        use BinaryOp as B;
        let both = |f: fn(i64, i64) -> i64| {
            let (a, b) = (self.steps(x)?, self.steps(y)?);
            self.stepped(ty, std::array::from_fn(|k| f(a[k], b[k])))
        };
        let is_unsigned = x.range.0 >= 0;
        let power_of_two = y.known().filter(|c| *c > 0 && c & (c - 1) == 0);
        match op {
            B::Iadd => both(i64::wrapping_add).map(|f| f.with_zeros(sum_zeros(x, y))),
            B::Isub => both(i64::wrapping_sub).map(|f| f.with_align(x.align().min(y.align()))),
            B::Imul => match (x.known(), y.known()) {
                (_, Some(c)) => self.scale(ty, x, c),
                (Some(c), None) => self.scale(ty, y, c),
                (None, None) => None,
            },
            B::Shl => self.scale(ty, x, 1 << (y.known()? as u32 % bits(ty))),
            B::And => match (x.known(), y.known()) {
                (_, Some(mask)) => self.mask_bits(ty, x, mask),
                (Some(mask), None) => self.mask_bits(ty, y, mask),
                (None, None) => None,
            },
            B::Or | B::Xor => match (x.known(), y.known()) {
                (_, Some(c)) => self.join_bits(op, ty, x, c),
                (Some(c), None) => self.join_bits(op, ty, y, c),
                (None, None) => None,
            },
            B::Lshr | B::Ashr => self.shift_bits(ty, x, y.known()? as u32 % bits(ty)),
            B::Udiv | B::Sdiv if is_unsigned || op == B::Udiv => match power_of_two {
                Some(c) => self.shift_bits(ty, x, c.trailing_zeros()),
                None => self.are_in_one_row(op, ty, x, y).then(|| Fact::uniform(ty)),
            },
            B::Umod => self.mask_bits(ty, x, power_of_two? - 1),
            B::Srem | B::Smod if is_unsigned => self.mask_bits(ty, x, power_of_two? - 1),
            _ => None,
        }
    }

    /// Whether all lanes have the quotient of their base: what they add to a multiple of a power of two is less than that,
    /// and the divisor is one as well. A divisor of 0 gives 0.
    fn are_in_one_row(&self, op: BinaryOp, ty: Type, x: &Fact, y: &Fact) -> bool {
        let is_positive = op == BinaryOp::Udiv || y.range.0 >= 0;
        let zeros = x.align().min(y.align());
        let is_known = y.shape == Shape::Uniform && self.low_bits_of(ty, x).is_some_and(|low| low <= zeros);
        is_known && is_positive
    }

    fn scale(&self, ty: Type, x: &Fact, factor: i64) -> Option<Fact> {
        let steps = self.steps(x)?.map(|s| s.wrapping_mul(factor));
        Some(self.stepped(ty, steps)?.with_align(x.align() + factor.trailing_zeros()))
    }

    fn mask_bits(&self, ty: Type, x: &Fact, mask: i64) -> Option<Fact> {
        let (steps, _) = self.carry_free(ty, x)?;
        Some(self.stepped(ty, steps.map(|s| s & mask))?.with_zeros(x.zeros | !mask.cast_unsigned()))
    }

    fn shift_bits(&self, ty: Type, x: &Fact, n: u32) -> Option<Fact> {
        let (steps, _) = self.carry_free(ty, x).or_else(|| self.multiples(ty, x, n))?;
        // What a shift to the right brings in at the top is not looked at.
        let zeros = if x.align() == 64 { u64::MAX } else { (x.zeros & (u64::MAX >> (64 - bits(ty)))) >> n };
        Some(self.stepped(ty, steps.map(|s| s >> n))?.with_zeros(zeros))
    }

    /// `or` and `xor` with a number. A bit that `xor` turns over is taken away where it was added.
    fn join_bits(&self, op: BinaryOp, ty: Type, x: &Fact, number: i64) -> Option<Fact> {
        let (steps, all) = self.carry_free(ty, x)?;
        if op == BinaryOp::Or && all & number != 0 {
            return None;
        }
        let steps = steps.map(|s| (s & !number) - (s & number));
        Some(self.stepped(ty, steps)?.with_zeros(x.zeros & !number.cast_unsigned()))
    }

    /// Whether a comparison of a value whose lanes differ in low bits only with a uniform one that has zeros there
    /// gives the same for all lanes: what the bases give.
    pub(super) fn separates(&self, op: CompareOp, ty: Type, x: &Fact, y: &Fact) -> bool {
        use CompareOp as C;
        let is_below = |x: &Fact, y: &Fact| {
            let zeros = x.align().min(y.align());
            let low = if y.shape == Shape::Uniform { self.low_bits_of(ty, x) } else { None };
            low.is_some_and(|low| low <= zeros)
        };
        ty.scalar().is_some_and(Scalar::is_int)
            && match op {
                // `base + part < y` if and only if `base < y`, and `y <= base + part` if and only if `y <= base`.
                C::Slt | C::Ult => is_below(x, y),
                C::Sle | C::Ule => is_below(y, x),
                _ => false,
            }
    }
}

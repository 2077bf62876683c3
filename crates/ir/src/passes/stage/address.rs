//! Addresses in shared memory as sums of multiples of values.

use crate::entities::Value;
use crate::module::Function;
use crate::op::{BinaryOp, Op};
use crate::types::{Scalar, Type};
use crate::uniformity::Uniformity;

/// Operations that an index is followed through.
const FAR: u32 = 16;

/// How far an address is from the beginning of its object: bytes for each value, and a number of bytes.
///
/// An index is a word, so that may be another distance where a sum carries out of it; but then the address is outside of
/// its object, as no object has 2³¹ elements.
#[derive(Debug, Default)]
pub(super) struct Address {
    pub(super) terms: Vec<(Value, i64)>,
    pub(super) constant: i64,
}

impl Address {
    pub(super) fn of(func: &Function, mut ptr: Value) -> Self {
        let mut this = Self::default();
        while let Op::PtrAdd { scale, disp } = func.def(ptr).op {
            let args = &func.def(ptr).args;
            this.constant = this.constant.wrapping_add(disp);
            if let Some(&index) = args.get(1) {
                this.add(func, index, scale, FAR);
            }
            ptr = args[0];
        }
        this
    }

    /// Adds a multiple of a value.
    fn add(&mut self, func: &Function, v: Value, by: i64, far: u32) {
        let number = |v: Value| match (func.const_bits(v), func.ty(v)) {
            (Some(bits), Type::Scalar(Scalar::I32)) => Some(i64::from(bits as i32)),
            (bits, _) => bits.map(|bits| bits as i64),
        };
        if let Some(number) = number(v) {
            self.constant = self.constant.wrapping_add(number.wrapping_mul(by));
            return;
        }
        let info = func.def(v);
        if let (Op::Binary(op), Some(far)) = (&info.op, far.checked_sub(1)) {
            let [x, y] = [info.args[0], info.args[1]];
            match (op, number(x), number(y)) {
                (BinaryOp::Iadd, ..) => {
                    self.add(func, x, by, far);
                    return self.add(func, y, by, far);
                }
                (BinaryOp::Isub, ..) => {
                    self.add(func, x, by, far);
                    return self.add(func, y, by.wrapping_neg(), far);
                }
                (BinaryOp::Imul, Some(times), _) => return self.add(func, y, by.wrapping_mul(times), far),
                (BinaryOp::Imul, _, Some(times)) => return self.add(func, x, by.wrapping_mul(times), far),
                (BinaryOp::Shl, _, Some(bits @ 0..16)) => {
                    return self.add(func, x, by.wrapping_mul(1 << bits), far);
                }
                _ => (),
            }
        }
        match self.terms.iter_mut().find(|(other, _)| *other == v) {
            Some((_, bytes)) => *bytes = bytes.wrapping_add(by),
            None => self.terms.push((v, by)),
        }
    }

    /// Where in a line of so many bytes the address is at least and at most, whatever line that is.
    pub(super) fn in_line(&self, line: i64, ranges: &Uniformity) -> Option<(i64, i64)> {
        let start = self.constant.rem_euclid(line);
        let terms = self.terms.iter().filter(|(_, bytes)| bytes % line != 0);
        let (least, most) = terms.into_iter().try_fold((start, start), |(least, most), &(v, bytes)| {
            let (x, y) = ranges.range(v);
            let [x, y] = [x.checked_mul(bytes)?, y.checked_mul(bytes)?];
            Some((least.checked_add(x.min(y))?, most.checked_add(x.max(y))?))
        })?;
        (least >= 0 && most < line).then_some((least, most))
    }

    /// Whether it may be in another line than the first.
    pub(super) fn leaves_line(&self, line: i64) -> bool {
        self.constant.div_euclid(line) != 0 || self.terms.iter().any(|(_, bytes)| bytes % line == 0)
    }
}

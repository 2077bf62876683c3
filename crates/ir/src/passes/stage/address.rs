//! Addresses in shared memory as sums of multiples of values.

use super::super::affine::sum;
use crate::entities::Value;
use crate::module::Function;
use crate::op::Op;
use crate::uniformity::Uniformity;
use std::collections::BTreeMap;

/// How far an address is from the beginning of its object: bytes for each value, and a number of bytes.
#[derive(Debug, Default)]
pub(super) struct Address {
    pub(super) terms: BTreeMap<Value, i64>,
    pub(super) constant: i64,
}

impl Address {
    pub(super) fn of(func: &Function, mut ptr: Value) -> Self {
        let mut this = Self::default();
        while let Op::PtrAdd { scale, disp } = func.def(ptr).op {
            let args = &func.def(ptr).args;
            this.constant = this.constant.wrapping_add(disp);
            if let Some(&index) = args.get(1) {
                let sum = sum(func, index, true, &mut |v| v);
                this.constant = this.constant.wrapping_add(scale.wrapping_mul(sum.constant));
                for (v, factor) in sum.terms {
                    let bytes = this.terms.entry(v).or_default();
                    *bytes = bytes.wrapping_add(scale.wrapping_mul(factor));
                }
            }
            ptr = args[0];
        }
        this
    }

    /// Where in a line of so many bytes the address is at least and at most, whatever line that is.
    pub(super) fn in_line(&self, line: i64, ranges: &Uniformity) -> Option<(i64, i64)> {
        let start = self.constant.rem_euclid(line);
        let terms = self.terms.iter().filter(|&(_, bytes)| bytes % line != 0);
        let (least, most) = terms.into_iter().try_fold((start, start), |(least, most), (&v, &bytes)| {
            let (x, y) = ranges.range(v);
            let [x, y] = [x.checked_mul(bytes)?, y.checked_mul(bytes)?];
            Some((least.checked_add(x.min(y))?, most.checked_add(x.max(y))?))
        })?;
        (least >= 0 && most < line).then_some((least, most))
    }

    /// Whether it may be in another line than the first.
    pub(super) fn leaves_line(&self, line: i64) -> bool {
        self.constant.div_euclid(line) != 0 || self.terms.values().any(|bytes| bytes % line == 0)
    }
}

//! Addresses as a place and a distance from it in bytes.
//!
//! Code that was unrolled computes each address anew, `base + (row + 8) * 40 + column`: sums and multiples are multiplied
//! out, so that two addresses have one place if they differ by a known number of bytes.
//!
//! An index is a word, so that may be another distance where a sum carries out of it; but then one of the two addresses is
//! outside of its object, as no object has 2³¹ elements, and so it is by the other distance.

use super::classes::Classes;
use crate::entities::Value;
use crate::module::Function;
use crate::op::{BinaryOp, Op};
use crate::types::{Scalar, Space, Type};
use std::collections::{BTreeMap, HashMap};

/// Operations that an index is followed through.
const FAR: u32 = 16;

/// A sum of multiples of values, by what they are known as, and a constant. Wraps as the type of the index does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sum<K> {
    pub(super) terms: BTreeMap<K, i64>,
    pub(super) constant: i64,
}

/// Where an address is, but for a number of bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    root: u32,
    /// Scale and terms of each index.
    indices: Vec<(i64, Vec<(u32, i64)>)>,
}

/// The places that were met.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) classes: Classes,
    numbers: HashMap<Place, u32>,
}

impl Places {
    /// The number of an address's place, and the distance from it.
    pub(super) fn of(&mut self, func: &Function, ptr: Value) -> (u32, i64) {
        let (mut at, mut distance) = (ptr, 0_i64);
        let mut indices = Vec::new();
        let is_small = func.ty(ptr) == Type::Ptr(Space::Shared);
        while let Op::PtrAdd { scale, disp } = func.def(at).op {
            let args = &func.def(at).args;
            distance = distance.wrapping_add(disp);
            if let Some(&index) = args.get(1) {
                let sum = sum(func, index, is_small, &mut |v| self.classes.of(func, v));
                distance = distance.wrapping_add(scale.wrapping_mul(sum.constant));
                indices.push((scale, sum.terms.into_iter().collect()));
            }
            at = args[0];
        }
        indices.sort_unstable();
        let place = Place { root: self.classes.of(func, at), indices };
        let count = self.numbers.len() as u32;
        (*self.numbers.entry(place).or_insert(count), distance)
    }
}

/// An index as a sum. One into shared memory is small (`is_small`), so that quotients without a remainder are followed.
pub(super) fn sum<K: Ord + Copy>(
    func: &Function,
    v: Value,
    is_small: bool,
    key: &mut dyn FnMut(Value) -> K,
) -> Sum<K> {
    Walk { func, is_small, key }.sum(v, FAR)
}

struct Walk<'a, K> {
    func: &'a Function,
    is_small: bool,
    key: &'a mut dyn FnMut(Value) -> K,
}

impl<K: Ord + Copy> Walk<'_, K> {
    fn sum(&mut self, v: Value, far: u32) -> Sum<K> {
        let info = self.func.def(v);
        let Type::Scalar(scalar @ (Scalar::I32 | Scalar::I64)) = self.func.ty(v) else {
            return self.alone(v);
        };
        let wrap = |x: i64| if scalar == Scalar::I32 { i64::from(x as i32) } else { x };
        if let Some(bits) = self.func.const_bits(v) {
            return Sum { terms: BTreeMap::new(), constant: wrap(bits as i64) };
        }
        let (Op::Binary(op), Some(far)) = (&info.op, far.checked_sub(1)) else { return self.alone(v) };
        let [x, y] = [info.args[0], info.args[1]];
        let number = |v: Value| self.func.const_bits(v).map(|bits| wrap(bits as i64));
        match (op, number(x), number(y)) {
            (BinaryOp::Iadd | BinaryOp::Isub, ..) => {
                let mut sum = self.sum(x, far);
                let by = if *op == BinaryOp::Iadd { 1 } else { -1 };
                sum.add(&self.sum(y, far), by, wrap);
                sum
            }
            (BinaryOp::Imul, Some(by), _) => self.sum(y, far).times(by, wrap),
            (BinaryOp::Imul, _, Some(by)) => self.sum(x, far).times(by, wrap),
            (BinaryOp::Shl, _, Some(by @ 0..32)) => self.sum(x, far).times(1 << by, wrap),
            (BinaryOp::Udiv | BinaryOp::Sdiv, _, Some(by @ 1..)) if self.is_small => {
                self.sum(x, far).divided(by).unwrap_or_else(|| self.alone(v))
            }
            (BinaryOp::Lshr, _, Some(by @ 0..31)) if self.is_small => {
                self.sum(x, far).divided(1 << by).unwrap_or_else(|| self.alone(v))
            }
            _ => self.alone(v),
        }
    }

    fn alone(&mut self, v: Value) -> Sum<K> {
        Sum { terms: BTreeMap::from([((self.key)(v), 1)]), constant: 0 }
    }
}

impl<K: Ord + Copy> Sum<K> {
    fn add(&mut self, other: &Self, by: i64, wrap: impl Fn(i64) -> i64) {
        for (&key, &factor) in &other.terms {
            let sum = self.terms.entry(key).or_default();
            *sum = wrap(sum.wrapping_add(factor.wrapping_mul(by)));
        }
        self.terms.retain(|_, factor| *factor != 0);
        self.constant = wrap(self.constant.wrapping_add(other.constant.wrapping_mul(by)));
    }

    fn times(&self, by: i64, wrap: impl Fn(i64) -> i64) -> Self {
        let mut product = Self { terms: BTreeMap::new(), constant: 0 };
        product.add(self, by, wrap);
        product
    }

    /// A quotient without a remainder.
    fn divided(&self, by: i64) -> Option<Self> {
        let is_whole = |x: &i64| x % by == 0;
        (self.terms.values().all(is_whole) && is_whole(&self.constant)).then(|| Self {
            terms: self.terms.iter().map(|(&key, factor)| (key, factor / by)).collect(),
            constant: self.constant / by,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{text, verify};

    /// The distance between the addresses that two stores go to, if it is known.
    fn distance(code: &str) -> Option<i64> {
        let code = format!(
            "workgroup_size 4 1 1 subgroup_size 4 shared 4096 push 8 {{
                %push: ptr<push> = push_ptr
                %s: ptr<shared> = shared_ptr<offset=0, bytes=4096>
                %id: i32 = subgroup_id
                %one: i32 = const 1
            %three: i32 = const 3
            %eight: i32 = const 8
            %forty: i32 = const 40
                {code}
                store %p, %one
                store %q, %one
            }}"
        );
        let module = verify(text::parse(&code).unwrap_or_else(|e| panic!("{e}\n{code}"))).unwrap();
        let func = &module.body;
        let mut places = Places::default();
        let stores = func.insts.iter().filter(|info| matches!(info.op, Op::Store(_)));
        let [p, q] = stores.map(|info| places.of(func, info.args[0])).collect::<Vec<_>>()[..] else {
            panic!()
        };
        (p.0 == q.0).then(|| q.1 - p.1)
    }

    #[test]
    fn sums_of_multiples_are_multiplied_out() {
        let next = "%i: i32 = imul %id, %forty
            %p: ptr<shared> = ptr_add<scale=2, disp=4> %s, %i
            %row: i32 = iadd %id, %eight
            %at: i32 = imul %forty, %row
            %j: i32 = isub %at, %one
            %q: ptr<shared> = ptr_add<scale=2> %s, %j";
        assert_eq!(distance(next), Some(2 * (8 * 40 - 1) - 4));
        assert_eq!(distance(&next.replace("imul %forty, %row", "shl %row, %three")), None);
        let shifted = next.replace("imul %id, %forty", "shl %id, %three");
        assert_eq!(distance(&shifted.replace("imul %forty, %row", "shl %row, %three")), Some(2 * 63 - 4));
    }

    #[test]
    fn quotients_without_a_remainder_are_followed() {
        let halves = "%x: i32 = imul %id, %forty
            %i: i32 = udiv %x, %eight
            %p: ptr<shared> = ptr_add<scale=16> %s, %i
            %y: i32 = iadd %x, %forty
            %j: i32 = lshr %y, %three
            %q: ptr<shared> = ptr_add<scale=16> %s, %j";
        assert_eq!(distance(halves), Some(80));
        assert_eq!(distance(&halves.replace("iadd %x, %forty", "iadd %x, %three")), None);
    }

    #[test]
    fn what_is_read_twice_of_push_constants_is_one_value() {
        let twice = "%a: i32 = load %push
            %p: ptr<shared> = ptr_add<scale=4> %s, %a
            %b: i32 = load %push
            %c: i32 = iadd %b, %eight
            %q: ptr<shared> = ptr_add<scale=4> %s, %c";
        assert_eq!(distance(twice), Some(32));
        assert_eq!(distance(&twice.replace("%b: i32 = load %push", "%b: i32 = load %s")), None);
    }
}

//! Forwarding: a load from a variable is the value that was stored.
//!
//! ```text
//! var_store<$x> %zero, %1               var_store<$x> %zero, %1
//! %2: f32 = var_load<$x> %zero    →     %3: f32 = fadd %1, %1
//! %3: f32 = fadd %2, %2
//! ```
//!
//! [`Env`] says for each element of each variable which value it holds at the point that
//! [`walk`](super::walk) has come to. Where paths meet, an element keeps its value only if all paths
//! agree on it and the value is visible there. A loop forgets at its head what its body writes.

use crate::entities::{Value, Var};
use crate::module::Function;
use std::rc::Rc;

/// Variables with more elements are not followed.
const MAX_ELEMS: u32 = 256;

/// Numbers the elements of variables.
#[derive(Debug)]
pub(super) struct Slots {
    first: Vec<Option<usize>>,
    count: usize,
}

impl Slots {
    /// The elements of the variables that are followed.
    pub(super) fn new(func: &Function) -> Self {
        let mut slots = Self { first: Vec::with_capacity(func.vars.len()), count: 0 };
        for var in &func.vars {
            let is_followed = var.count <= MAX_ELEMS && var.table.is_none();
            slots.first.push(is_followed.then_some(slots.count));
            slots.count += if is_followed { var.count as usize } else { 0 };
        }
        slots
    }

    /// Number of elements.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The element of a variable at an index that is inside.
    pub(super) fn slot(&self, var: Var, index: u64) -> Option<usize> {
        Some(self.first[var.index()]? + index as usize)
    }

    /// All elements of a variable.
    pub(super) fn all(&self, func: &Function, var: Var) -> std::ops::Range<usize> {
        self.first[var.index()].map_or(0..0, |s| s..s + func.var(var).count as usize)
    }
}

/// Slots that environments share until one of them changes there.
const CHUNK: usize = 64;

type Chunk = [Option<Value>; CHUNK];

/// The value that each element of each variable holds, where that is known. A copy shares what it can, and what two
/// share is not looked at when they meet, so that a construct costs little more than what changes in it.
#[derive(Clone, Debug)]
pub(super) struct Env(Vec<Rc<Chunk>>);

impl Env {
    /// Nothing is known.
    pub(super) fn new(slots: &Slots) -> Self {
        let nothing = Rc::new([None; CHUNK]);
        Self(vec![nothing; slots.len().div_ceil(CHUNK)])
    }

    pub(super) fn value(&self, slot: usize) -> Option<Value> {
        self.0[slot / CHUNK][slot % CHUNK]
    }

    pub(super) fn set(&mut self, slot: usize, value: Option<Value>) {
        if self.value(slot) != value {
            Rc::make_mut(&mut self.0[slot / CHUNK])[slot % CHUNK] = value;
        }
    }

    pub(super) fn forget(&mut self, slots: impl IntoIterator<Item = usize>) {
        for slot in slots {
            self.set(slot, None);
        }
    }

    /// Keeps what `other` agrees with.
    pub(super) fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0).filter(|(x, y)| !Rc::ptr_eq(x, y)) {
            for (mine, theirs) in Rc::make_mut(mine).iter_mut().zip(&**theirs) {
                if mine != theirs {
                    *mine = None;
                }
            }
        }
    }

    /// Keeps the values that are visible; all of `before` are.
    pub(super) fn retain(&mut self, before: &Self, is_visible: impl Fn(Value) -> bool) {
        for (now, _) in self.0.iter_mut().zip(&before.0).filter(|(x, y)| !Rc::ptr_eq(x, y)) {
            for value in Rc::make_mut(now) {
                value.take_if(|v| !is_visible(*v));
            }
        }
    }

    /// The elements that hold different known values before and now.
    pub(super) fn changed<'e>(&'e self, before: &'e Self) -> impl Iterator<Item = Value> + 'e {
        let chunks = self.0.iter().zip(&before.0).filter(|(x, y)| !Rc::ptr_eq(x, y));
        let slots = chunks.flat_map(|(now, before)| now.iter().zip(before.iter()));
        slots.filter(|(now, before)| now != before).filter_map(|(now, _)| *now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Type;

    #[test]
    fn environments_share_only_what_is_alike() {
        let mut func = Function::default();
        (0..100).for_each(|_| {
            func.new_var(Type::I32, 2, "");
        });
        let mut one = Env::new(&Slots::new(&func));
        let v = Value::new;
        for slot in 0..200 {
            one.set(slot, Some(v(slot)));
        }
        let before = one.clone();
        let mut other = one.clone();
        one.set(70, Some(v(500)));
        other.forget([71, 199]);
        assert_eq!((before.value(70), before.value(71)), (Some(v(70)), Some(v(71))));
        assert_eq!(one.changed(&before).collect::<Vec<_>>(), [v(500)]);
        assert_eq!(other.changed(&before).count(), 0, "what is forgotten is not known");
        one.join(&other);
        let known: Vec<_> = (0..200).filter(|&slot| one.value(slot).is_none()).collect();
        assert_eq!(known, [70, 71, 199]);
        one.set(0, Some(v(600)));
        one.set(1, Some(v(601)));
        one.retain(&before, |value| value != v(600));
        assert_eq!((one.value(0), one.value(1), one.value(2)), (None, Some(v(601)), Some(v(2))));
    }
}

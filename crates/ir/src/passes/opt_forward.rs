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

/// The value that each element of each variable holds, where that is known.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Env(Vec<Option<Value>>);

impl Env {
    /// Nothing is known.
    pub(super) fn new(slots: &Slots) -> Self {
        Self(vec![None; slots.len()])
    }

    pub(super) fn value(&self, slot: usize) -> Option<Value> {
        self.0[slot]
    }

    pub(super) fn set(&mut self, slot: usize, value: Option<Value>) {
        self.0[slot] = value;
    }

    pub(super) fn forget(&mut self, slots: impl IntoIterator<Item = usize>) {
        for slot in slots {
            self.0[slot] = None;
        }
    }

    /// Keeps what `other` agrees with.
    pub(super) fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            if mine != theirs {
                *mine = None;
            }
        }
    }

    /// Keeps the values that are visible.
    pub(super) fn retain(&mut self, is_visible: impl Fn(Value) -> bool) {
        for value in &mut self.0 {
            value.take_if(|v| !is_visible(*v));
        }
    }

    /// The elements that hold different known values before and now.
    pub(super) fn changed<'e>(&'e self, before: &'e Self) -> impl Iterator<Item = Value> + 'e {
        self.0.iter().zip(&before.0).filter(|(now, before)| now != before).filter_map(|(now, _)| *now)
    }
}

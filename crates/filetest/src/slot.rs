//! Where a buffer is bound.

use crate::error::Wrong;
use std::fmt;
use std::str::FromStr;

/// Descriptor set, binding, and index in the descriptor array: `0.1` or `0.1[3]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// Descriptor set.
    pub set: u32,
    /// Binding in the set.
    pub binding: u32,
    /// Index in the array of descriptors.
    pub index: u32,
}

impl FromStr for Slot {
    type Err = Wrong;

    fn from_str(text: &str) -> Result<Self, Wrong> {
        let wrong = || Wrong::new("SET.BINDING", text);
        let (set, rest) = text.split_once('.').ok_or_else(wrong)?;
        let (binding, index) = match rest.split_once('[') {
            Some((binding, index)) => (binding, index.strip_suffix(']').ok_or_else(wrong)?),
            None => (rest, "0"),
        };
        let number = |text: &str| text.parse().map_err(|_| wrong());
        Ok(Self { set: number(set)?, binding: number(binding)?, index: number(index)? })
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.set, self.binding)?;
        if self.index > 0 {
            write!(f, "[{}]", self.index)?;
        }
        Ok(())
    }
}

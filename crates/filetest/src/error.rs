//! What is wrong with a directive.

use std::fmt;

/// A directive that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found}")]
pub struct Wrong {
    expected: String,
    found: String,
}

impl Wrong {
    /// Expected one thing, found another.
    pub(crate) fn new(expected: impl Into<String>, found: impl fmt::Display) -> Self {
        let found = found.to_string();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("`{found}`") };
        Self { expected: expected.into(), found }
    }
}

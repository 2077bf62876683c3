//! What is wrong with a directive.

use std::fmt;

/// A directive that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Wrong(Box<str>);

impl Wrong {
    /// Expected one thing, found another.
    pub(crate) fn new(expected: impl fmt::Display, found: impl fmt::Display) -> Self {
        let found = found.to_string();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("`{found}`") };
        Self(format!("expected {expected}, found {found}").into())
    }
}

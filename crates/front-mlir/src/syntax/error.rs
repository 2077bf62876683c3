//! What is wrong with a text, shown with the line that it stands in.

use std::fmt;

use crate::ast::Pos;

/// So much of a line is shown before and behind the place of an error, in bytes.
const SHOWN: usize = 60;

/// Why a text is no module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The text breaks a rule of the language.
    Unexpected {
        /// What could have stood there.
        expected: Box<str>,
        /// What stands there.
        found: Box<str>,
    },
    /// The text may be right, but this is not built.
    Unsupported {
        /// Its name.
        what: Box<str>,
    },
}

/// The first thing in a text that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SyntaxError {
    /// Where.
    pub pos: Pos,
    /// Why.
    pub problem: Problem,
    /// The part of the line around it.
    excerpt: Box<str>,
    /// Columns of the excerpt before the place.
    indent: usize,
}

/// The result of every parser; boxed, since it is passed through many of them.
pub(crate) type Parsed<T> = Result<T, Box<SyntaxError>>;

impl SyntaxError {
    pub(crate) fn unexpected(
        pos: Pos,
        expected: impl Into<Box<str>>,
        found: impl Into<Box<str>>,
    ) -> Box<Self> {
        Self::new(pos, Problem::Unexpected { expected: expected.into(), found: found.into() })
    }

    pub(crate) fn unsupported(pos: Pos, what: impl Into<Box<str>>) -> Box<Self> {
        Self::new(pos, Problem::Unsupported { what: what.into() })
    }

    fn new(pos: Pos, problem: Problem) -> Box<Self> {
        Box::new(Self { pos, problem, excerpt: Box::default(), indent: 0 })
    }

    /// Adds the line, which parsers do not look for.
    pub(crate) fn in_text(mut self, text: &str) -> Self {
        let line = text.split('\n').nth(self.pos.line.saturating_sub(1) as usize).unwrap_or_default();
        let line = line.strip_suffix('\r').unwrap_or(line);
        let at = (self.pos.column.saturating_sub(1) as usize).min(line.len());
        let start = line.floor_char_boundary(at.saturating_sub(SHOWN));
        let end = line.ceil_char_boundary((at + SHOWN).min(line.len()));
        let at = line.floor_char_boundary(at);
        // A tab would move the caret.
        self.excerpt = line[start..end].replace(char::is_control, " ").into();
        self.indent = line[start..at].chars().count();
        self
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.pos.line, self.pos.column)?;
        match &self.problem {
            Problem::Unexpected { expected, found } => write!(f, "expected {expected}, found {found}")?,
            Problem::Unsupported { what } => write!(f, "unsupported: {what}")?,
        }
        write!(f, "\n  {}\n  {:indent$}^", self.excerpt, "", indent = self.indent)
    }
}

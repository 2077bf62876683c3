//! What is wrong with a text, and where.
//!
//! Code that finds a fault rarely knows where it is; it makes one without a place, and whoever handles the operation
//! adds it. The line itself is added where the text is known.

use std::fmt;

use crate::ast::Pos;
use crate::syntax::{Problem, SyntaxError};

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The text is no MLIR, or breaks a rule of a dialect.
    Invalid,
    /// The text may be valid, but uses something that is not built.
    Unsupported,
    /// A fault of the translator.
    Bug,
}

impl Class {
    /// The word that a message opens with.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Unsupported => "unsupported",
            Self::Bug => "internal error",
        }
    }
}

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Whose fault it is.
    pub class: Class,
    /// What was expected and what was found.
    pub message: String,
    /// Where; line 0 where there is no place.
    pub pos: Pos,
    /// The operation concerned, or empty.
    pub operation: String,
    /// The line of the text, or empty.
    pub line: String,
}

/// Most characters of a line that a message shows, and how many of them before the place.
const SHOWN: (usize, usize) = (120, 60);

impl Error {
    /// Adds the line of the text that the place is on.
    #[must_use]
    pub fn quote(mut self, text: &str) -> Self {
        let index = (self.pos.line as usize).checked_sub(1);
        self.line = index.and_then(|index| text.lines().nth(index)).unwrap_or_default().to_owned();
        self
    }

    /// The part of the line around the place, and how many characters of it are before the place.
    fn excerpt(&self) -> (String, usize) {
        let before = (self.pos.column as usize).saturating_sub(1);
        let place = self.line.char_indices().take_while(|(at, _)| *at < before).count();
        let from = if place > SHOWN.0 { place - SHOWN.1 } else { 0 };
        let shown = self.line.chars().skip(from).take(SHOWN.0);
        (shown.map(|c| if c.is_control() { ' ' } else { c }).collect(), place - from)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.class.name())?;
        if self.pos.line != 0 {
            write!(f, "{}:{}: ", self.pos.line, self.pos.column)?;
        }
        if !self.operation.is_empty() {
            write!(f, "{}: ", self.operation)?;
        }
        f.write_str(&self.message)?;
        if !self.line.is_empty() {
            let (line, before) = self.excerpt();
            write!(f, "\n  {line}\n  {:before$}^", "")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl From<SyntaxError> for Error {
    fn from(error: SyntaxError) -> Self {
        let (class, message) = match error.problem {
            Problem::Unexpected { expected, found } => {
                (Class::Invalid, format!("expected {expected}, found {found}"))
            }
            Problem::Unsupported { what } => (Class::Unsupported, what.into_string()),
        };
        Self { class, message, pos: error.pos, operation: String::new(), line: String::new() }
    }
}

/// A fault on its way to the place that knows where it is.
pub(crate) type Fault = Box<Error>;

/// The result of everything that may find a fault.
pub(crate) type Res<T> = Result<T, Fault>;

fn fault(class: Class, message: String) -> Fault {
    let (pos, operation, line) = (Pos::default(), String::new(), String::new());
    Box::new(Error { class, message, pos, operation, line })
}

/// The text breaks a rule.
pub(crate) fn invalid(message: impl Into<String>) -> Fault {
    fault(Class::Invalid, message.into())
}

/// The text uses something that is not built.
pub(crate) fn unsupported(message: impl Into<String>) -> Fault {
    fault(Class::Unsupported, message.into())
}

/// The operation at hand, which the message names, is not built.
pub(crate) fn not_built() -> Fault {
    unsupported("the operation is not built")
}

/// The translator contradicts itself.
#[track_caller]
pub(crate) fn bug(message: impl Into<String>) -> Fault {
    let at = std::panic::Location::caller();
    fault(Class::Bug, format!("{} ({}:{})", message.into(), at.file(), at.line()))
}

/// A fault at a place, unless it knows a better one.
pub(crate) fn at(mut fault: Fault, pos: Pos, operation: &str) -> Fault {
    if fault.pos.line == 0 {
        fault.pos = pos;
        fault.operation = operation.to_owned();
    }
    fault
}

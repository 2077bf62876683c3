//! Diagnostics: what is wrong, where, what was expected and what was found.
//!
//! Code that finds a fault rarely knows where it is; it makes a diagnostic without a location, and
//! whoever handles the instruction adds it.

use std::fmt;

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The module breaks the specification.
    Invalid,
    /// The module may be valid, but uses something that is not built.
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

/// Families of diagnostics; stable, for tests and tools.
pub mod code {
    /// The words do not form a sequence of instructions.
    pub const READER: &str = "reader";
    /// An id is out of range, undefined or defined twice.
    pub const ID: &str = "id";
    /// An instruction stands where it may not, or lacks what must be near it.
    pub const LAYOUT: &str = "layout";
    /// A type is malformed or too large.
    pub const TYPE: &str = "type";
    /// A constant is malformed.
    pub const CONSTANT: &str = "constant";
    /// A decoration is malformed or missing.
    pub const DECORATION: &str = "decoration";
    /// The entry point, its execution modes or its interface.
    pub const ENTRY_POINT: &str = "entry-point";
    /// A capability is not supported.
    pub const CAPABILITY: &str = "capability";
    /// An extended instruction set or memory model is not supported.
    pub const EXTENSION: &str = "extension";
    /// An instruction is not supported.
    pub const OPCODE: &str = "opcode";
    /// An operand is not what the instruction needs.
    pub const OPERAND: &str = "operand";
    /// The control flow is malformed.
    pub const CONTROL_FLOW: &str = "control-flow";
    /// A limit is exceeded.
    pub const LIMIT: &str = "limit";
    /// The translator contradicts itself.
    pub const BUG: &str = "bug";
}

/// A place in a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// Offset of the instruction in words; 0 (the magic number) stands for the whole module.
    pub word: u32,
    /// Name of the instruction, or empty.
    pub opcode: String,
    /// The id concerned, or 0.
    pub id: u32,
    /// Its *OpName*, or empty.
    pub name: String,
    /// Source file as *OpLine* says, or empty.
    pub file: String,
    /// Source line from 1, or 0.
    pub line: u32,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whose fault it is.
    pub class: Class,
    /// Family of the finding: one of [`code`].
    pub code: &'static str,
    /// What was expected and what was found.
    pub message: String,
    /// Where.
    pub location: Location,
    /// Further remarks.
    pub notes: Vec<String>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sep = "";
        if !self.opcode.is_empty() {
            f.write_str(&self.opcode)?;
            sep = " ";
        }
        if self.id != 0 {
            write!(f, "{sep}%{}", self.id)?;
            sep = " ";
        }
        if !self.name.is_empty() {
            write!(f, "{sep}\"{}\"", self.name.escape_debug())?;
            sep = " ";
        }
        if self.word != 0 {
            write!(f, "{sep}(word {}", self.word)?;
            if self.line != 0 {
                write!(f, ", {}:{}", self.file, self.line)?;
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.class.name())?;
        if self.location != Location::default() {
            write!(f, "{}: ", self.location)?;
        }
        f.write_str(&self.message)?;
        self.notes.iter().try_for_each(|note| write!(f, "\n  note: {note}"))
    }
}

impl std::error::Error for Diagnostic {}

/// All findings of a translation that failed; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sep = "";
        for d in &self.0 {
            write!(f, "{sep}{d}")?;
            sep = "\n";
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

impl From<Fault> for Diagnostics {
    fn from(fault: Fault) -> Self {
        Self(vec![*fault])
    }
}

/// A diagnostic on its way to the place that knows its location.
pub(crate) type Fault = Box<Diagnostic>;

/// The result of everything that may find a fault.
pub(crate) type Res<T> = Result<T, Fault>;

fn fault(class: Class, code: &'static str, message: String) -> Fault {
    Box::new(Diagnostic { class, code, message, location: Location::default(), notes: Vec::new() })
}

/// The module breaks the specification.
pub(crate) fn invalid(code: &'static str, message: impl Into<String>) -> Fault {
    fault(Class::Invalid, code, message.into())
}

/// The module uses something that is not built.
pub(crate) fn unsupported(code: &'static str, message: impl Into<String>) -> Fault {
    fault(Class::Unsupported, code, message.into())
}

/// The translator contradicts itself.
#[track_caller]
pub(crate) fn bug(message: impl Into<String>) -> Fault {
    let at = std::panic::Location::caller();
    fault(Class::Bug, code::BUG, format!("{} ({}:{})", message.into(), at.file(), at.line()))
}

/// An operand is not what the instruction needs.
pub(crate) fn operand(message: impl Into<String>) -> Fault {
    invalid(code::OPERAND, message)
}

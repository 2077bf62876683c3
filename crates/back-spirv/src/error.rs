//! Why a module is not lowered.

use phalanx_ir::SourceLoc;
use std::fmt;

/// Why a module is not lowered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The module is valid, and what it does has no counterpart in what is made here, or none is built.
    #[error("{}{what} is not lowered to SPIR-V", Place(.at))]
    Unsupported {
        /// What is not supported.
        what: String,
        /// Where it stands in the source.
        at: Option<SourceLoc>,
    },
    /// The `spirv` dialect has no operation or type for something.
    #[error("the spirv dialect of LLVM {version} has no {what}")]
    NotInDialect {
        /// What it lacks.
        what: String,
        /// The version of LLVM.
        version: u32,
    },
    /// A fault of ours.
    #[error("internal error: {0}")]
    Bug(String),
}

/// The result of lowering a part.
pub(crate) type Res<T> = Result<T, Error>;

impl Error {
    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into(), at: None }
    }

    pub(crate) fn bug(what: impl Into<String>) -> Self {
        Self::Bug(what.into())
    }

    /// The same, at a place, unless it has one.
    pub(crate) fn at(self, place: Option<&SourceLoc>) -> Self {
        match self {
            Self::Unsupported { what, at: None } => Self::Unsupported { what, at: place.cloned() },
            other => other,
        }
    }
}

/// A place before a message.
struct Place<'a>(&'a Option<SourceLoc>);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(at) if !at.file.is_empty() => write!(f, "{}:{}: ", at.file, at.line),
            Some(at) if at.line > 0 => write!(f, "line {}: ", at.line),
            _ => Ok(()),
        }
    }
}

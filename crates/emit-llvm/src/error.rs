//! What can go wrong when compiling.

/// A failure to compile.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The module is valid, but this target does not do it.
    #[error("not supported by the target: {what}")]
    Unsupported {
        /// What is missing.
        what: String,
    },
    /// A fault of the compiler, or a module that no verifier would have let pass.
    #[error("bug in the compiler: {message} (raised at {location})")]
    Bug {
        /// What does not hold.
        message: String,
        /// Where it was noticed.
        location: &'static std::panic::Location<'static>,
    },
}

impl Error {
    /// A fault of the compiler.
    #[track_caller]
    pub fn bug(message: impl Into<String>) -> Self {
        Self::Bug { message: message.into(), location: std::panic::Location::caller() }
    }

    /// Something this target does not do.
    pub fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into() }
    }
}

impl From<inkwell::builder::BuilderError> for Error {
    #[track_caller]
    fn from(e: inkwell::builder::BuilderError) -> Self {
        Self::bug(e.to_string())
    }
}

/// A result of lowering.
pub type Result<T, E = Error> = std::result::Result<T, E>;

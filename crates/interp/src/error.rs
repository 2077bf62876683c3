//! Why a dispatch ends early.

use phalanx_ir::{Inst, MAX_DISPATCH_INVOCATIONS, Module, SourceLoc};
use std::fmt;

/// Why a dispatch ended early. Memory keeps what was written until then.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program ran for longer than allowed; it may be an endless loop.
    #[error("the program did not end within {limit} steps")]
    StepLimit {
        /// Steps allowed, see [`Limits::max_steps`](crate::Limits::max_steps).
        limit: u64,
    },
    /// The caller wanted the dispatch to end.
    #[error("the dispatch was interrupted")]
    Interrupted,
    /// There are more invocations than ids have room for.
    #[error(
        "a dispatch of {invocations} invocations along the axis {}, its base included; at most {MAX_DISPATCH_INVOCATIONS}",
        ["x", "y", "z"][*axis]
    )]
    TooManyInvocations {
        /// The axis, 0 to 2.
        axis: usize,
        /// Invocations along it, those before the base included.
        invocations: u64,
    },
    /// A work-group needs more memory than allowed.
    #[error("a work-group needs {needed} bytes of private memory, more than {limit}")]
    MemoryLimit {
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// A raw address is in no buffer.
    #[error("access of {bytes} bytes at address {address:#x}, which is in no buffer{place}")]
    BadAddress {
        /// The first byte accessed.
        address: u64,
        /// Bytes accessed.
        bytes: u32,
        /// The instruction.
        place: Place,
    },
}

/// An instruction, for messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The instruction.
    pub inst: Inst,
    /// Where it comes from, if that is known.
    pub loc: Option<SourceLoc>,
}

impl Place {
    pub(crate) fn new(module: &Module, inst: Inst) -> Self {
        let loc = (module.body.inst(inst).loc as usize).checked_sub(1);
        Self { inst, loc: loc.and_then(|loc| module.locs.get(loc).cloned()) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ", by {}", self.inst)?;
        match &self.loc {
            Some(loc) if loc.line > 0 => write!(f, " at {}:{}", loc.file, loc.line),
            Some(loc) => write!(f, " at word {}", loc.word),
            None => Ok(()),
        }
    }
}

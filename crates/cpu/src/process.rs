//! Which process something belongs to.
//!
//! A `fork` copies the memory of a process and one of its threads. The others are gone in the copy, with the locks that
//! they held, so a device of the parent cannot do anything there but say so.

/// The process that something was made in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process(u32);

impl Process {
    /// This process.
    pub(crate) fn current() -> Self {
        Self(std::process::id())
    }

    /// Whether this is not that process any more, but a copy.
    pub(crate) fn is_copy(self) -> bool {
        std::process::id() != self.0
    }
}

//! Loads relocatable object code into executable memory.
//!
//! Objects are small and of one compiler, so the loader is, too: [`object`] reads what there is to load,
//! [`relocate`] tells it the addresses of its parts, [`arena`] has the memory. Objects reach kernels and
//! services through tables that are passed at dispatch; from the process they may only take what
//! [`symbols`] lists. Anything else unresolved is an error, never a call into the unknown.

mod arena;
mod object;
mod relocate;
mod symbols;

use std::ptr::NonNull;
use std::sync::Arc;

use arena::Slot;
pub(crate) use arena::{Arena, see_code};
use relocate::Machine;

/// Why code could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JitError {
    /// The object's numbers contradict each other.
    #[error("the object code is malformed: {0}")]
    Malformed(String),
    /// The object has what the loader does not know.
    #[error("the loader does not support {0}")]
    Unsupported(String),
    /// A symbol that neither the object nor the loader has.
    #[error("no symbol `{0}`")]
    Unresolved(String),
    /// The system gives no more executable memory.
    #[error("no executable memory of {bytes} bytes")]
    OutOfMemory {
        /// How much was asked for.
        bytes: usize,
    },
}

/// Object code, loaded and executable until dropped.
#[derive(Debug)]
pub(crate) struct Code {
    slot: Slot,
    entry: usize,
}

impl Code {
    /// Loads an object file of this machine, for the sake of a function that it defines.
    ///
    /// # Errors
    ///
    /// When the object is malformed or needs what the loader does not have, or there is no memory.
    pub(crate) fn load(arena: &Arc<Arena>, object: &[u8], entry: &str) -> Result<Self, JitError> {
        let mut image = object::read(object, entry)?;
        if image.machine != Machine::HOST {
            return Err(JitError::Unsupported("code of another machine".into()));
        }
        let links = relocate::Links::add_to(&mut image);
        let mut slot = arena.slot(image.bytes.len())?;
        relocate::relocate(&mut image, &links, slot.start().addr().get() as u64)?;
        slot.fill(&image.bytes)?;
        Ok(Self { slot, entry: image.entry })
    }

    /// The address of the function.
    pub(crate) fn entry(&self) -> NonNull<u8> {
        // SAFETY: the entry is in the image, or at its end, and the slot holds the image.
        unsafe { self.slot.start().add(self.entry) }
    }
}

#[cfg(test)]
mod tests;

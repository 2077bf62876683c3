//! Stacks that kernels run on.
//!
//! A kernel does not run on the stack of the thread that calls it: that one may be short. How much
//! compiled code needs is known when it is compiled. Memory of a stack is taken from the system page
//! by page as it is touched, so a large one costs address space only. A page that cannot be accessed
//! lies below each.

use std::fmt;

use corosensei::stack::DefaultStack;
use phalanx_back_llvm::abi::CALLEE_STACK_BYTES;

use phalanx_host::MemoryError;

/// Smallest stack.
const MIN_BYTES: usize = 256 << 10;

/// Memory that may stay in use by stacks between dispatches.
const KEPT_BYTES: usize = 8 << 20;

/// Most stacks that are kept for later, which is as many as a work-group has subgroups.
const KEPT: usize = 256;

/// What kernels and services usually touch of a stack.
const TYPICAL_CALLEE_BYTES: usize = 8 << 10;

/// What the host's own code needs of a stack, beside compiled code and what that calls.
const HOST_BYTES: usize = 64 << 10;

/// The stacks of a worker, all of one size.
#[derive(Default)]
pub(crate) struct Stacks {
    stacks: Vec<DefaultStack>,
    bytes: usize,
    /// What code has touched of each at most.
    touched_bytes: usize,
}

impl fmt::Debug for Stacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stacks").field("count", &self.stacks.len()).field("bytes", &self.bytes).finish()
    }
}

impl Stacks {
    /// Makes the stacks large enough for code with frames of `frame_bytes`.
    pub(crate) fn reserve(&mut self, frame_bytes: u64) -> Result<(), MemoryError> {
        let too_much = || MemoryError::OutOfMemory { bytes: frame_bytes };
        let bytes = usize::try_from(frame_bytes)
            .ok()
            .and_then(|bytes| bytes.checked_add(CALLEE_STACK_BYTES + HOST_BYTES))
            .and_then(usize::checked_next_power_of_two)
            .ok_or_else(too_much)?
            .max(MIN_BYTES);
        if bytes > self.bytes {
            self.stacks.clear();
            self.bytes = bytes;
            self.touched_bytes = 0;
        }
        // The frame fits into a stack, so the sum does not overflow.
        self.touched_bytes = self.touched_bytes.max(frame_bytes as usize + TYPICAL_CALLEE_BYTES);
        Ok(())
    }

    /// A stack for a coroutine.
    pub(crate) fn take(&mut self) -> Result<DefaultStack, MemoryError> {
        self.stacks.pop().map_or_else(|| new_stack(self.bytes.max(MIN_BYTES)), Ok)
    }

    /// Takes a stack back.
    pub(crate) fn give_back(&mut self, stack: DefaultStack) {
        self.stacks.push(stack);
    }

    /// Frees what is more than may stay in use.
    pub(crate) fn trim(&mut self) {
        self.stacks.truncate(KEPT.min(KEPT_BYTES / self.touched_bytes.max(1)));
        if self.stacks.is_empty() {
            *self = Self::default();
        }
    }
}

fn new_stack(bytes: usize) -> Result<DefaultStack, MemoryError> {
    DefaultStack::new(bytes).map_err(|_io| MemoryError::OutOfMemory { bytes: bytes as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_large_and_many_small_stacks_are_kept() {
        let mut stacks = Stacks::default();
        for (frame_bytes, kept) in [(1000, 256), (1 << 20, 7), (1 << 30, 0)] {
            stacks.reserve(frame_bytes).unwrap();
            let taken: Vec<_> = (0..300).map(|_| stacks.take()).collect();
            taken.into_iter().flatten().for_each(|stack| stacks.give_back(stack));
            stacks.trim();
            assert_eq!(stacks.stacks.len(), kept, "{frame_bytes}");
        }
    }
}

//! The stack that kernels run on.
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

/// Memory that may stay in use by a stack between dispatches.
const KEPT_BYTES: usize = 8 << 20;

/// What the host's own code needs of a stack, beside compiled code and what that calls.
const HOST_BYTES: usize = 64 << 10;

/// The stack of a worker.
#[derive(Default)]
pub(crate) struct KernelStack {
    stack: Option<DefaultStack>,
    bytes: usize,
}

impl fmt::Debug for KernelStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelStack").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl KernelStack {
    /// The stack, made large enough for code with frames of `frame_bytes`.
    pub(crate) fn take(&mut self, frame_bytes: u64) -> Result<DefaultStack, MemoryError> {
        let too_much = || MemoryError::OutOfMemory { bytes: frame_bytes };
        let bytes = usize::try_from(frame_bytes)
            .ok()
            .and_then(|bytes| bytes.checked_add(CALLEE_STACK_BYTES + HOST_BYTES))
            .and_then(usize::checked_next_power_of_two)
            .ok_or_else(too_much)?
            .max(MIN_BYTES);
        if let Some(stack) = self.stack.take_if(|_| self.bytes >= bytes) {
            return Ok(stack);
        }
        // Free first: two need more memory than one.
        *self = Self { stack: None, bytes };
        DefaultStack::new(bytes).map_err(|_io| MemoryError::OutOfMemory { bytes: bytes as u64 })
    }

    /// Takes the stack back.
    pub(crate) fn give_back(&mut self, stack: DefaultStack) {
        self.stack = Some(stack);
    }

    /// Frees it if it may have taken more memory than may stay in use.
    pub(crate) fn trim(&mut self) {
        if self.bytes > KEPT_BYTES {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_used_again_unless_it_is_large() {
        let mut stack = KernelStack::default();
        for (frame_bytes, is_kept) in [(1000, true), (1 << 20, true), (100, true), (1 << 30, false)] {
            let taken = stack.take(frame_bytes).unwrap();
            stack.give_back(taken);
            stack.trim();
            assert_eq!(stack.stack.is_some(), is_kept, "{frame_bytes}");
        }
        assert!(stack.take(u64::MAX).is_err());
    }
}

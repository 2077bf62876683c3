//! Stacks that kernels run on.
//!
//! A kernel does not run on the stack of the thread that calls it: that one may be short, and the host
//! does not know how much a kernel needs. Memory of a stack is taken from the system page by page as
//! it is touched, so a large one costs address space only. A page that cannot be accessed lies below.

use std::fmt;

use corosensei::stack::{DefaultStack, Stack, StackPointer};

use crate::memory::MemoryError;

/// Bytes of the stack on which subgroups run one after the other.
const MAIN_BYTES: usize = 8 << 20;

/// Bytes of the stack of a subgroup that runs as a coroutine.
const COROUTINE_BYTES: usize = 1 << 20;

/// Coroutine stacks that are kept for later.
const KEPT: usize = 256;

/// The stacks of a worker.
#[derive(Default)]
pub(crate) struct Stacks {
    main: Option<DefaultStack>,
    coroutines: Vec<DefaultStack>,
}

impl fmt::Debug for Stacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stacks").field("coroutines", &self.coroutines.len()).finish_non_exhaustive()
    }
}

impl Stacks {
    /// Runs `f` on the main stack.
    pub(crate) fn on_main<R>(&mut self, f: impl FnOnce() -> R) -> Result<R, MemoryError> {
        if self.main.is_none() {
            self.main = Some(new_stack(MAIN_BYTES)?);
        }
        let stack = self.main.as_ref().expect("it was just made");
        Ok(corosensei::on_stack(Borrowed(stack), f))
    }

    /// A stack for a coroutine.
    pub(crate) fn take(&mut self) -> Result<DefaultStack, MemoryError> {
        self.coroutines.pop().map_or_else(|| new_stack(COROUTINE_BYTES), Ok)
    }

    /// Takes a stack back.
    pub(crate) fn give_back(&mut self, stack: DefaultStack) {
        if self.coroutines.len() < KEPT {
            self.coroutines.push(stack);
        }
    }
}

fn new_stack(bytes: usize) -> Result<DefaultStack, MemoryError> {
    DefaultStack::new(bytes).map_err(|_io| MemoryError::OutOfMemory { bytes: bytes as u64 })
}

/// A stack that is lent out.
struct Borrowed<'a>(&'a DefaultStack);

// SAFETY: it has the bounds and the guard page of the stack that it borrows; `on_main` borrows that
// exclusively, so nobody else runs on it.
unsafe impl Stack for Borrowed<'_> {
    fn base(&self) -> StackPointer {
        self.0.base()
    }

    fn limit(&self) -> StackPointer {
        self.0.limit()
    }
}

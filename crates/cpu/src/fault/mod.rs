//! Survives a kernel that accesses memory that is not there.
//!
//! Bounds are checked where a kernel goes through a binding. A device address may lead anywhere, and memory that an
//! application lent may be a file that somebody truncated; such an access ends in a signal. [`resume`] runs a kernel so
//! that the handler of [`signal`] knows of it: the handler notes what happened and lets the coroutine of the kernel
//! return at once. Its stack is abandoned, not unwound, and may be used again.
//!
//! Invariant: whatever lies on an abandoned stack has no destructor that anybody waits for. On it are compiled code, the
//! functions of the crate `kernels`, which own nothing (its invariant), the loop of `run` that calls compiled code, which
//! borrows all that it uses, and of the services those that keep to the same rule: `barrier` and `image`. Others run
//! [`outside`]: a fault in there is one of ours, and goes to the handler before us.
//!
//! The handler of a signal belongs to the whole process. So it is installed when the first dispatch comes that can
//! fault, and hands on every fault that is not a kernel's. It is there on Linux for x86-64 and AArch64; elsewhere such
//! a fault ends the process.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod registers;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod signal;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[path = "unguarded.rs"]
mod signal;

use std::cell::Cell;

use corosensei::stack::DefaultStack;
use corosensei::trap::CoroutineTrapHandler;
use corosensei::{Coroutine, CoroutineResult};

pub(crate) use signal::{SignalStack, install};

/// How a coroutine of a kernel ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself.
    Returned,
    /// The handler ended it.
    Faulted,
}

/// A kernel that runs as a coroutine, on a stack of its own.
pub(crate) type KernelCoroutine = Coroutine<(), (), End, DefaultStack>;

/// What the handler notes of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawFault {
    /// Where the access went; unknown if it was to an address that no memory can have.
    pub(crate) address: Option<u64>,
    /// Whether it wrote, where the processor tells.
    pub(crate) wrote: Option<bool>,
    /// Whether the kernel's stack was at its end.
    pub(crate) is_overflow: bool,
}

/// What the handler has to know of the kernel that runs on its thread.
struct Kernel {
    trap: CoroutineTrapHandler<End>,
    /// The lowest address of its stack, where the page begins that cannot be accessed.
    stack_limit: usize,
    fault: Cell<Option<RawFault>>,
}

/// Runs a kernel to its end, and tells of a fault that ended it.
pub(crate) fn resume(coroutine: &mut KernelCoroutine, stack_limit: usize) -> Option<RawFault> {
    let kernel = Kernel { trap: coroutine.trap_handler(), stack_limit, fault: Cell::new(None) };
    let result = {
        let _mark = Mark::new(&raw const kernel);
        coroutine.resume(())
    };
    match result {
        CoroutineResult::Return(End::Faulted) => kernel.fault.take(),
        CoroutineResult::Return(End::Returned) | CoroutineResult::Yield(()) => None,
    }
}

/// Runs what must not be abandoned half-way. A fault in there is not the kernel's.
pub(crate) fn outside<R>(f: impl FnOnce() -> R) -> R {
    let _mark = Mark::new(std::ptr::null());
    f()
}

/// Makes a kernel, or none, the one that runs on this thread, for as long as it lives.
struct Mark(*const Kernel);

impl Mark {
    fn new(kernel: *const Kernel) -> Self {
        let previous = signal::current();
        signal::set_current(kernel);
        Self(previous)
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        signal::set_current(self.0);
    }
}

#[cfg(test)]
mod tests;

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
use std::fmt;

use corosensei::stack::DefaultStack;
use corosensei::trap::CoroutineTrapHandler;
use corosensei::{Coroutine, CoroutineResult};

use crate::allocations::NearestBuffer;

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

/// What became of a coroutine that was resumed.
#[derive(Debug)]
pub(crate) enum Step {
    /// It waits at a barrier.
    Waits,
    /// It is over.
    Ended,
    /// It faulted, and is over.
    Faulted(RawFault),
}

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

/// Runs a kernel until it waits or ends.
pub(crate) fn resume(coroutine: &mut KernelCoroutine, stack_limit: usize) -> Step {
    let kernel = Kernel { trap: coroutine.trap_handler(), stack_limit, fault: Cell::new(None) };
    let result = {
        let _mark = Mark::new(&raw const kernel);
        coroutine.resume(())
    };
    match (result, kernel.fault.take()) {
        (CoroutineResult::Yield(()), _) => Step::Waits,
        (CoroutineResult::Return(End::Faulted), Some(fault)) => Step::Faulted(fault),
        (CoroutineResult::Return(_), _) => Step::Ended,
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

/// An access of a kernel to memory that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The entry point.
    pub kernel: String,
    /// Where the access stands in the source, as `file:line`, where that is known.
    pub place: Option<String>,
    /// The address; unknown if it is one that no memory can have.
    pub address: Option<u64>,
    /// Whether it wrote, where that is known.
    pub wrote: Option<bool>,
    /// The buffer that is nearest to the address.
    pub nearest: Option<NearestBuffer>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the kernel `{}` ", self.kernel.escape_debug())?;
        f.write_str(match self.wrote {
            Some(true) => "wrote to ",
            Some(false) => "read from ",
            None => "accessed ",
        })?;
        match self.address {
            Some(address) => write!(f, "address {address:#x}")?,
            None => f.write_str("an address that no memory can have")?,
        }
        if let Some(place) = &self.place {
            write!(f, " at {place}")?;
        }
        match (&self.nearest, self.address) {
            (Some(nearest), _) if nearest.is_inside() => write!(f, ", {nearest}, which is gone"),
            (Some(nearest), _) => write!(f, ", which is in no buffer: {nearest}"),
            (None, Some(_)) => f.write_str(", which is in no buffer; there are none"),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;

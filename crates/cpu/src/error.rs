//! What can go wrong on the CPU device.

use std::time::Duration;

use phalanx_host::{Fault, MemoryError};

use crate::attempt::Abandoned;
use crate::jit::JitError;

/// A failure of the CPU device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The compiler refused the module.
    #[error(transparent)]
    Compile(#[from] phalanx_back_llvm::Error),
    /// Compiling was given up.
    #[error(transparent)]
    Abandoned(#[from] Abandoned),
    /// The code could not be loaded.
    #[error(transparent)]
    Load(#[from] JitError),
    /// Memory could not be had.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The processor that was asked for is not to be had.
    #[error(transparent)]
    Processor(#[from] phalanx_kernels::ProcessorError),
    /// A worker thread could not be started.
    #[error("a worker thread could not be started: {0}")]
    Threads(std::io::Error),
    /// A dispatch took too long and was stopped. Its buffers hold what it had written by then.
    #[error("the dispatch did not end within {limit:?} and was stopped")]
    Timeout {
        /// The limit.
        limit: Duration,
    },
    /// A dispatch was cancelled. Its buffers hold what it had written by then.
    #[error("the dispatch was cancelled")]
    Cancelled,
    /// A kernel accessed memory that is not there. Its buffers hold what it had written by then.
    #[error("{0}")]
    Fault(Box<Fault>),
    /// A kernel needed more stack than the compiler had found.
    #[error("the kernel `{kernel}` needs more stack than it was given")]
    StackOverflow {
        /// The entry point.
        kernel: String,
    },
    /// What runs kernels has panicked.
    #[error("a thread that ran the dispatch panicked: {message}")]
    Panic {
        /// What it said.
        message: String,
    },
    /// The process is a copy of the one that made the device, and has none of the device's threads.
    #[error("the device belongs to the process that this one was forked from")]
    Forked,
    /// A dispatch has more invocations along an axis than a kernel can count.
    #[error("{found} invocations along {axis}, the base of the dispatch included: expected at most {limit}")]
    TooManyInvocations {
        /// The axis: `x`, `y` or `z`.
        axis: char,
        /// As many as there would be.
        found: u64,
        /// The most that there may be.
        limit: u32,
    },
    /// A grid has more work-groups than can be counted.
    #[error("{groups:?} work-groups from {base:?} are too many")]
    TooManyGroups {
        /// Work-groups along each axis.
        groups: [u32; 3],
        /// The first one.
        base: [u32; 3],
    },
    /// A dispatch gives descriptors for another number of bindings than the pipeline has.
    #[error("expected descriptors for {expected} bindings, found {found}")]
    Bindings {
        /// Bindings of the pipeline.
        expected: usize,
        /// Bindings of the dispatch.
        found: usize,
    },
    /// A dispatch gives fewer push constants than the pipeline reads.
    #[error("expected {expected} bytes of push constants, found {found}")]
    PushConstants {
        /// Bytes that the pipeline reads.
        expected: u32,
        /// Bytes that the dispatch gives.
        found: usize,
    },
}

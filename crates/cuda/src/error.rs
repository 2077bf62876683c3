//! What can go wrong on a GPU.

use std::time::Duration;

use phalanx_host::MemoryError;

/// A failure of a GPU.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no driver.
    #[error("there is no driver for GPUs of NVIDIA: no libcuda.so.1 is found")]
    NoDriver,
    /// The driver is too old.
    #[error("the driver is for CUDA {}.{}, expected {}.{} or later", found.0, found.1, expected.0, expected.1)]
    OldDriver {
        /// Version of CUDA that is needed.
        expected: (i32, i32),
        /// Version of CUDA that the driver is for.
        found: (i32, i32),
    },
    /// There is no such GPU.
    #[error("there is no GPU {ordinal}: found {count}")]
    NoGpu {
        /// The number that was asked for.
        ordinal: u32,
        /// How many there are.
        count: u32,
    },
    /// Code is not made for GPUs of its kind, or it lacks what all need.
    #[error("{name} is not supported: {what}")]
    UnsupportedGpu {
        /// Its name.
        name: String,
        /// What is missing.
        what: String,
    },
    /// The driver does not take the code that was made.
    #[error("the driver refuses the code of `{kernel}`: {log}")]
    Assemble {
        /// The entry point.
        kernel: String,
        /// What the driver says.
        log: String,
    },
    /// Memory could not be had.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A dispatch took too long and was stopped. Its buffers hold what it had written by then.
    #[error("the dispatch did not end within {limit:?} and was stopped")]
    Timeout {
        /// The limit.
        limit: Duration,
    },
    /// A dispatch was cancelled. Its buffers hold what it had written by then.
    #[error("the dispatch was cancelled")]
    Cancelled,
    /// The GPU can run nothing any more: a kernel accessed memory that is not there, or could not be stopped.
    #[error("the GPU was lost: {why}")]
    Lost {
        /// What happened.
        why: String,
    },
    /// The driver failed.
    #[error("{call}: {why}")]
    Driver {
        /// What it was to do.
        call: &'static str,
        /// What it says.
        why: String,
    },
    /// A pipeline that another GPU made, or the same one opened another time.
    #[error("the pipeline belongs to another GPU")]
    OtherGpu,
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

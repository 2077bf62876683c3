//! What can go wrong.

use std::path::PathBuf;
use std::time::Duration;

use phalanx_cpu::{Abandoned, JitError};
use phalanx_front_spirv::{Class, Diagnostics};
use phalanx_host::MemoryError;
use phalanx_spirv_asm::AsmError;

use crate::bindings::BindingError;
use crate::glsl::GlslError;

/// A failure of this library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// GLSL that does not compile.
    #[error(transparent)]
    Glsl(#[from] GlslError),
    /// SPIR-V that is invalid or not supported.
    #[error("{0}")]
    Spirv(#[from] Diagnostics),
    /// MLIR that is invalid or not supported.
    #[error("{0}")]
    Mlir(Box<phalanx_front_mlir::Error>),
    /// Text that cannot be assembled.
    #[error("{}:{error}", path.display())]
    Assembly {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        error: AsmError,
    },
    /// A file that cannot be read.
    #[error("{} cannot be read: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A file whose name does not tell what it is.
    #[error("{} is no shader: expected .comp, .glsl, .spv or .spvasm", path.display())]
    FileType {
        /// The file.
        path: PathBuf,
    },
    /// An environment variable or an option with a value that is none.
    #[error("{name}: expected {expected}, found `{found}`")]
    Setting {
        /// Name of the variable or option.
        name: &'static str,
        /// What it can be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// A subgroup size that the device does not have.
    #[error("a subgroup size of {found}: expected one of {expected:?}")]
    SubgroupSize {
        /// The device's sizes.
        expected: Vec<u32>,
        /// The size asked for.
        found: u32,
    },
    /// A work-group size for SPIR-V, which states its own.
    #[error("work-groups of {found:?} invocations: only MLIR leaves their size open")]
    WorkgroupSize {
        /// The size asked for.
        found: [u32; 3],
    },
    /// Buffers that do not fit the shader.
    #[error(transparent)]
    Bindings(#[from] BindingError),
    /// Fewer push constants than the shader reads.
    #[error("the shader reads {expected} bytes of push constants, found {found}")]
    PushConstants {
        /// Bytes that it reads.
        expected: u32,
        /// Bytes given.
        found: usize,
    },
    /// More work-groups than can be counted.
    #[error("{groups:?} work-groups from {base:?} are too many")]
    TooManyGroups {
        /// Work-groups along each axis.
        groups: [u32; 3],
        /// The first one.
        base: [u32; 3],
    },
    /// More invocations along an axis than a kernel can count.
    #[error("{found} invocations along {axis}, the base of the dispatch included: expected at most {limit}")]
    TooManyInvocations {
        /// The axis: `x`, `y` or `z`.
        axis: char,
        /// As many as there would be.
        found: u64,
        /// The most that there may be.
        limit: u32,
    },
    /// A kernel accessed memory that is not there. Its buffers hold what it had written by then; the device works on.
    #[error("{0}")]
    Fault(Box<phalanx_host::Fault>),
    /// The process is a copy of the one that made the device, by `fork`: make a new device.
    #[error("the device belongs to the process that this one was forked from")]
    Forked,
    /// An object of another device.
    #[error("the {what} belongs to another device")]
    OtherDevice {
        /// Which object.
        what: &'static str,
    },
    /// Memory that cannot be had, or a range outside of a buffer.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The shader is valid, and this device does not run it.
    #[error("not supported: {what}")]
    Unsupported {
        /// What is missing.
        what: String,
    },
    /// Compiling was given up: it took too long, was cancelled, needed more memory than there is, or the process ends.
    #[error(transparent)]
    Compilation(Abandoned),
    /// A dispatch took too long and was stopped. Its buffers hold what it had written by then.
    #[error("the dispatch did not end within {limit:?} and was stopped")]
    Timeout {
        /// The limit.
        limit: Duration,
    },
    /// A dispatch was cancelled. Its buffers hold what it had written by then.
    #[error("the dispatch was cancelled")]
    Cancelled,
    /// The interpreter stopped a dispatch that does what it must not.
    #[error("the dispatch was stopped: {0}")]
    Interpreter(phalanx_interp::Error),
    /// The device could not be started.
    #[error("the device could not be started: {0}")]
    Device(Box<dyn std::error::Error + Send + Sync>),
    /// The device runs nothing any more.
    #[error("the device was lost: {why}")]
    Lost {
        /// What happened.
        why: String,
    },
    /// The driver of the device failed.
    #[error("the driver failed: {message}")]
    Driver {
        /// What it was to do, and what it says.
        message: String,
    },
    /// Our own fault.
    #[error("this is a bug in Phalanx, please report it: {message}")]
    Bug {
        /// What does not hold.
        message: String,
    },
}

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The input breaks its specification, or does not fit together.
    Invalid,
    /// The input is valid and needs something that is not built.
    Unsupported,
    /// The input may be fine; the machine could not do it: no memory, no time, no such file.
    Runtime,
    /// Ours.
    Bug,
}

impl Error {
    /// Whose fault it is.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Spirv(diagnostics) => class_of(diagnostics),
            Self::Mlir(error) => match error.class {
                phalanx_front_mlir::Class::Invalid => ErrorClass::Invalid,
                phalanx_front_mlir::Class::Unsupported => ErrorClass::Unsupported,
                phalanx_front_mlir::Class::Bug => ErrorClass::Bug,
            },
            Self::Unsupported { .. } => ErrorClass::Unsupported,
            Self::Bug { .. } => ErrorClass::Bug,
            Self::Memory(MemoryError::OutOfRange { .. }) => ErrorClass::Invalid,
            Self::Compilation(Abandoned::Fatal(_)) => ErrorClass::Bug,
            Self::Memory(_)
            | Self::Compilation(_)
            | Self::File { .. }
            | Self::Timeout { .. }
            | Self::Cancelled
            | Self::Device(_)
            | Self::Lost { .. }
            | Self::Driver { .. } => ErrorClass::Runtime,
            Self::Glsl(_)
            | Self::Assembly { .. }
            | Self::FileType { .. }
            | Self::Setting { .. }
            | Self::SubgroupSize { .. }
            | Self::WorkgroupSize { .. }
            | Self::Bindings(_)
            | Self::PushConstants { .. }
            | Self::TooManyGroups { .. }
            | Self::TooManyInvocations { .. }
            | Self::Fault(_)
            | Self::Forked
            | Self::OtherDevice { .. }
            | Self::Interpreter(_) => ErrorClass::Invalid,
        }
    }

    /// A fault of ours.
    pub(crate) fn bug(message: impl Into<String>) -> Self {
        Self::Bug { message: message.into() }
    }
}

/// A bug weighs more than an invalid input, and that more than one that is not supported.
fn class_of(diagnostics: &Diagnostics) -> ErrorClass {
    let has = |class| diagnostics.0.iter().any(|diagnostic| diagnostic.class == class);
    if has(Class::Bug) {
        ErrorClass::Bug
    } else if has(Class::Invalid) {
        ErrorClass::Invalid
    } else {
        ErrorClass::Unsupported
    }
}

impl From<phalanx_cpu::Error> for Error {
    fn from(error: phalanx_cpu::Error) -> Self {
        use phalanx_cpu::{CompileError, Error as Cpu};
        match error {
            Cpu::Compile(CompileError::Unsupported { what }) => Self::Unsupported { what },
            Cpu::Memory(error) => Self::Memory(error),
            Cpu::Abandoned(why) => why.into(),
            Cpu::Load(JitError::OutOfMemory { bytes }) => {
                Self::Memory(MemoryError::OutOfMemory { bytes: bytes as u64 })
            }
            Cpu::Timeout { limit } => Self::Timeout { limit },
            Cpu::Cancelled => Self::Cancelled,
            Cpu::TooManyGroups { groups, base } => Self::TooManyGroups { groups, base },
            Cpu::TooManyInvocations { axis, found, limit } => Self::TooManyInvocations { axis, found, limit },
            Cpu::Fault(fault) => Self::Fault(fault),
            Cpu::Forked => Self::Forked,
            Cpu::PushConstants { expected, found } => Self::PushConstants { expected, found },
            error @ (Cpu::Processor(_) | Cpu::Threads(_)) => Self::Device(error.into()),
            other => Self::bug(other.to_string()),
        }
    }
}

impl From<phalanx_cuda::Error> for Error {
    fn from(error: phalanx_cuda::Error) -> Self {
        use phalanx_cuda::Error as Cuda;
        match error {
            Cuda::Memory(error) => Self::Memory(error),
            Cuda::Timeout { limit } => Self::Timeout { limit },
            Cuda::Cancelled => Self::Cancelled,
            Cuda::TooManyInvocations { axis, found, limit } => {
                Self::TooManyInvocations { axis, found, limit }
            }
            Cuda::PushConstants { expected, found } => Self::PushConstants { expected, found },
            Cuda::Lost { why } => Self::Lost { why },
            Cuda::OtherGpu => Self::OtherDevice { what: "pipeline" },
            error @ Cuda::Driver { .. } => Self::Driver { message: error.to_string() },
            error @ (Cuda::NoDriver
            | Cuda::OldDriver { .. }
            | Cuda::NoGpu { .. }
            | Cuda::UnsupportedGpu { .. }) => Self::Device(error.into()),
            other => Self::bug(other.to_string()),
        }
    }
}

impl From<phalanx_back_nvptx::Error> for Error {
    fn from(error: phalanx_back_nvptx::Error) -> Self {
        match error {
            phalanx_back_nvptx::Error::Unsupported { what } => Self::Unsupported { what },
            other => Self::bug(other.to_string()),
        }
    }
}

impl From<phalanx_front_mlir::Error> for Error {
    fn from(error: phalanx_front_mlir::Error) -> Self {
        Self::Mlir(Box::new(error))
    }
}

impl From<Abandoned> for Error {
    fn from(why: Abandoned) -> Self {
        Self::Compilation(why)
    }
}

impl From<phalanx_interp::Error> for Error {
    fn from(error: phalanx_interp::Error) -> Self {
        match error {
            phalanx_interp::Error::MemoryLimit { needed, .. } => {
                Self::Memory(MemoryError::OutOfMemory { bytes: needed })
            }
            other => Self::Interpreter(other),
        }
    }
}

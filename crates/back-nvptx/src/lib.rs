//! IR to PTX, the assembly of NVIDIA's GPUs, through LLVM's NVPTX back end.
//!
//! An invocation is a thread, a subgroup of 32 a warp, a work-group a block of threads along one axis. A value is a
//! scalar of LLVM; constructs are branches. Only where threads of a subgroup do something together is it known which
//! of them came there ([`control`]).
//!
//! What this target does not do is [`Error::Unsupported`], by name.

pub mod abi;
mod ahead;
mod arch;
mod atomic;
mod builtin;
mod control;
mod coopmat;
mod goals;
pub mod image;
mod lower;
mod memory;
mod pointer;
mod ptx;
mod repeat;
pub mod report;
mod signs;
mod small;
mod spill;
mod staged;
mod subgroup;
mod vars;
mod vector;
mod within;

pub use arch::{Arch, UnknownArch};
pub use phalanx_emit_llvm::Error;

use abi::Layout;
use phalanx_ir::Verified;

/// Most components that an invocation has of a cooperative matrix whose shape is any. Larger ones are taken where the
/// registers that their shape is rounded up to are not more than twice as many.
pub const MAX_MATRIX_COMPONENTS: u32 = coopmat::MAX_REGISTERS / 2;

/// Most bits of the integers whose products are summed with saturation.
pub const MAX_SATURATING_BITS: u32 = 32;

/// A kernel as text.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// PTX with the entry [`abi::ENTRY`].
    pub ptx: String,
    /// What the entry takes.
    pub layout: Layout,
    /// LLVM IR as it was made, and after LLVM's passes, of [`compile_with_llvm`].
    pub llvm: Option<[String; 2]>,
}

/// Compiles a verified module, whose subgroups have 32 invocations.
///
/// # Errors
///
/// [`Error::Unsupported`] names what this target does not do. [`Error::Bug`] is our own fault.
pub fn compile(module: &Verified, arch: Arch) -> Result<Compiled, Error> {
    ptx::compile(module, arch, false)
}

/// [`compile`], which keeps the LLVM IR on the way. Writing it down costs about half as long as making it.
///
/// # Errors
///
/// As [`compile`].
pub fn compile_with_llvm(module: &Verified, arch: Arch) -> Result<Compiled, Error> {
    ptx::compile(module, arch, true)
}

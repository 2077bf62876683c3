//! IR to SPIR-V: the reverse of `front-spirv`, for other devices and other compilers.
//!
//! [`lower()`] makes of a verified module a [`Lowered`] one: a SPIR-V 1.5 compute shader for Vulkan with the Vulkan memory
//! model, [as a binary](Lowered::words) or [as text](Lowered::disassemble), and [as text](Lowered::to_mlir) of MLIR's
//! `spirv` dialect, both from the same instructions.
//!
//! What IR defines and SPIR-V does not is made defined: shift counts are masked, divisors replaced where they are zero,
//! floats brought into the range of an integer, indices of variables and of shared memory held within them. Left to the
//! device are
//!
//! - accesses outside of buffers, which give zeros on a device with *robustBufferAccess2*, and everywhere if no access is
//!   outside; and those of matrices outside of shared memory;
//! - offsets that are no multiple of the element's size, which are rounded down to one;
//! - offsets in buffers beyond 2³¹ elements, where the program's own indices have 32 bits;
//! - shuffles from lanes that do not exist or are not active, which give zero here and anything elsewhere.
//!
//! Two things a module relies on where it names components of matrices, as `gpu.subgroup_mma_rotate` is lowered to: the
//! subgroup has the size that the module was made for, and component `i` of lane `l` is the row-major element `i * n + l`.
//! SPIR-V leaves the latter to the implementation; the RFC assumes it, and here it is so.

#![forbid(unsafe_code)]

mod arith;
mod control;
mod convert;
mod dialect;
mod emit;
mod error;
mod group;
mod lower;
mod matrix;
mod memory;
mod push;
mod rotate;
mod vars;

pub use dialect::Llvm;
pub use error::Error;

use phalanx_ir::Verified;
use rspirv::binary::{Assemble, Disassemble};
use rspirv::dr;

/// What the lowering may choose.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Rotate with *OpGroupNonUniformShuffle* and a computed lane instead of *OpGroupNonUniformRotateKHR*.
    pub rotates_by_shuffle: bool,
}

/// A module of SPIR-V.
#[derive(Clone, Debug)]
pub struct Lowered {
    module: dr::Module,
}

/// Lowers a module.
///
/// # Errors
///
/// [`Error::Unsupported`] names the operation or type that is not built.
pub fn lower(module: &Verified, options: Options) -> Result<Lowered, Error> {
    let prepared = lower::prepare(module)?;
    lower::Lower::new(&prepared, options).run().map(|module| Lowered { module })
}

impl Lowered {
    /// The module as words.
    pub fn words(&self) -> Vec<u32> {
        self.module.assemble()
    }

    /// The module as text for people, one instruction on a line.
    pub fn disassemble(&self) -> String {
        self.module.disassemble() + "\n"
    }

    /// The module as text of the `spirv` dialect, as a version of LLVM has it.
    ///
    /// # Errors
    ///
    /// [`Error::NotInDialect`] names what the dialect of that version has no operation for.
    pub fn to_mlir(&self, version: Llvm) -> Result<String, Error> {
        dialect::print(&self.module, version)
    }
}

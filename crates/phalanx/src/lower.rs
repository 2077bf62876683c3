//! Modules for other devices and other compilers.
//!
//! ```
//! use phalanx::{Module, PipelineDescriptor, lower};
//! let module = Module::from_mlir(
//!     "gpu.module @kernels {
//!        gpu.func @double(%x: memref<8xf32>) kernel {
//!          %i = gpu.thread_id x
//!          %a = memref.load %x[%i] : memref<8xf32>
//!          %b = arith.addf %a, %a : f32
//!          memref.store %b, %x[%i] : memref<8xf32>
//!          gpu.return
//!        }
//!      }",
//!     "double.mlir",
//! )?;
//! let lowered = lower::lower(&PipelineDescriptor::new(&module), lower::Options::default())?;
//! assert_eq!(lowered.words()[0], 0x0723_0203);
//! assert!(lowered.disassemble().contains("OpFAdd"));
//! let text = lowered.to_mlir(lower::Llvm::V22).map_err(phalanx::Error::from)?;
//! assert!(text.contains("spirv.FAdd"));
//! let ptx = lower::to_ptx(&PipelineDescriptor::new(&module), lower::Arch::Sm80)?;
//! assert!(ptx.contains(".target sm_80"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use phalanx_back_spirv::Error as LowerError;
use phalanx_cpu::Attempt;
use phalanx_ir::passes;

use crate::debug::Debug;
use crate::error::Error;
use crate::explain::translated;
use crate::pipeline::PipelineDescriptor;

pub use phalanx_back_nvptx::{Arch, UnknownArch};
pub use phalanx_back_spirv::{Llvm, Lowered, Options};

/// Lowers an entry point to SPIR-V; without a number in subgroups of 32.
///
/// # Errors
///
/// What is wrong with the module, as for [`Device::create_pipeline`](crate::Device::create_pipeline), and
/// [`Error::Unsupported`] for what is not lowered.
pub fn lower(descriptor: &PipelineDescriptor<'_>, options: Options) -> Result<Lowered, Error> {
    Ok(phalanx_back_spirv::lower(&translated(descriptor)?, options)?)
}

/// Lowers an entry point to PTX for GPUs of NVIDIA, in subgroups of 32. What its entry takes is stated in
/// `phalanx_back_nvptx::abi`.
///
/// # Errors
///
/// As [`lower`].
pub fn to_ptx(descriptor: &PipelineDescriptor<'_>, arch: Arch) -> Result<String, Error> {
    let module = translated(descriptor)?;
    let options = Debug::from_env()?.passes();
    // Where LLVM gives up, it ends a thread of its own.
    Attempt::default().run(move || {
        let module =
            passes::optimize_by(&passes::THREADS, module, &options).map_err(|e| Error::bug(e.to_string()))?;
        Ok(phalanx_back_nvptx::compile(&module, arch)?.ptx)
    })?
}

impl From<LowerError> for Error {
    fn from(error: LowerError) -> Self {
        match error {
            LowerError::Bug(message) => Self::bug(message),
            other => Self::Unsupported { what: other.to_string() },
        }
    }
}

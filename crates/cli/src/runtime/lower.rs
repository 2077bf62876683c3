//! Kernels for other devices and compilers.

use anyhow::Result;
use phalanx::PipelineDescriptor;
use phalanx::lower::{Llvm, Options};

use super::{Shader, Sizes, spec_values};
use crate::data::spec::SpecConstant;

/// A version of MLIR's `spirv` dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Llvm19,
    Llvm22,
}

/// A kernel of SPIR-V.
#[derive(Debug, Clone)]
pub(crate) struct Lowered {
    pub(crate) words: Vec<u32>,
    /// In the dialect that was asked for, else as SPIR-V is written for people.
    pub(crate) text: String,
}

impl Shader {
    /// Lowers an entry point.
    pub(crate) fn lower(
        &self,
        entry: &str,
        constants: &[SpecConstant],
        sizes: Sizes,
        dialect: Option<Dialect>,
    ) -> Result<Lowered> {
        let descriptor = PipelineDescriptor {
            module: &self.0,
            entry: Some(entry),
            specialization: &spec_values(self.0.info(), constants)?,
            subgroup_size: sizes.subgroup,
            workgroup_size: sizes.workgroup,
        };
        let options = Options { rotates_by_shuffle: dialect == Some(Dialect::Llvm19) };
        let lowered = phalanx::lower::lower(&descriptor, options)?;
        let text = match dialect {
            None => lowered.disassemble(),
            Some(Dialect::Llvm19) => lowered.to_mlir(Llvm::V19).map_err(phalanx::Error::from)?,
            Some(Dialect::Llvm22) => lowered.to_mlir(Llvm::V22).map_err(phalanx::Error::from)?,
        };
        Ok(Lowered { words: lowered.words(), text })
    }
}

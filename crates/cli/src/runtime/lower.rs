//! Kernels for other devices and compilers.

use anyhow::Result;
use phalanx::lower::{Llvm, Options};
use phalanx::{PipelineDescriptor, SpecValue};

pub(crate) use phalanx::lower::Arch;

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
        let constants = spec_values(self.0.info(), constants)?;
        let descriptor = self.descriptor(entry, &constants, sizes);
        let options = Options { rotates_by_shuffle: dialect == Some(Dialect::Llvm19) };
        let lowered = phalanx::lower::lower(&descriptor, options)?;
        let text = match dialect {
            None => lowered.disassemble(),
            Some(Dialect::Llvm19) => lowered.to_mlir(Llvm::V19).map_err(phalanx::Error::from)?,
            Some(Dialect::Llvm22) => lowered.to_mlir(Llvm::V22).map_err(phalanx::Error::from)?,
        };
        Ok(Lowered { words: lowered.words(), text })
    }

    /// Lowers an entry point to PTX.
    pub(crate) fn to_ptx(
        &self,
        entry: &str,
        constants: &[SpecConstant],
        sizes: Sizes,
        arch: Arch,
    ) -> Result<String> {
        let constants = spec_values(self.0.info(), constants)?;
        Ok(phalanx::lower::to_ptx(&self.descriptor(entry, &constants, sizes), arch)?)
    }

    fn descriptor<'a>(
        &'a self,
        entry: &'a str,
        specialization: &'a [(u32, SpecValue)],
        sizes: Sizes,
    ) -> PipelineDescriptor<'a> {
        PipelineDescriptor {
            module: &self.0,
            entry: Some(entry),
            specialization,
            subgroup_size: sizes.subgroup,
            workgroup_size: sizes.workgroup,
        }
    }
}

//! From a module to IR, for one pipeline.

use std::time::{Duration, Instant};

use phalanx_front_spirv as front;
use phalanx_ir::{Verified, passes, verify};

use crate::error::Error;
use crate::mlir;
use crate::module::{Module, Source};
use crate::pipeline::CompileTimes;

/// What to make of a module. It owns all that it needs, as it may be left behind.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) module: Module,
    pub(crate) entry: Option<String>,
    pub(crate) specialization: Vec<(u32, u64)>,
    pub(crate) subgroup_size: u32,
    pub(crate) workgroup_size: Option<[u32; 3]>,
    pub(crate) limits: front::Limits,
    pub(crate) relaxed_accumulation: bool,
    /// Whether code says where it is, which then has to be named.
    pub(crate) profile: bool,
    pub(crate) passes: passes::Options,
}

impl Task {
    /// SPIR-V or MLIR to optimised IR.
    pub(crate) fn optimize(&self, pipeline: &passes::Pipeline) -> Result<(Verified, CompileTimes), Error> {
        let (module, translate) = self.translate()?;
        let start = Instant::now();
        let module = passes::optimize_by(pipeline, module, &self.passes)
            .map_err(|error| Error::bug(error.to_string()))?;
        let optimize = start.elapsed();
        Ok((module, CompileTimes { translate, optimize, ..CompileTimes::default() }))
    }

    /// The functions of a module that is to be profiled, by the word that each begins with, in order.
    pub(crate) fn functions(&self) -> Result<Option<Vec<(u32, String)>>, Error> {
        match (self.profile, self.module.source()) {
            (true, Source::Spirv(words)) => Ok(Some(front::functions(words)?)),
            _ => Ok(None),
        }
    }

    /// SPIR-V or MLIR to verified IR.
    pub(crate) fn translate(&self) -> Result<(Verified, Duration), Error> {
        let start = Instant::now();
        let mut module = match self.module.source() {
            Source::Spirv(words) => {
                let options = front::Options {
                    entry: self.entry.as_deref(),
                    specialization: &self.specialization,
                    subgroup_size: self.subgroup_size,
                    limits: self.limits,
                };
                front::translate(words, &options)?
            }
            Source::Mlir(source) => {
                let entry = self.entry.as_deref();
                mlir::translate(source, entry, self.workgroup_size, self.subgroup_size, self.limits)?
            }
        };
        if self.relaxed_accumulation {
            passes::relax_accumulation(&mut module);
        }
        let module = verify(module).map_err(|errors| Error::bug(errors.to_string()))?;
        Ok((module, start.elapsed()))
    }
}

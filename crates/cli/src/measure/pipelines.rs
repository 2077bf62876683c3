//! From the GLSL of kernels to pipelines. Kernels that differ in nothing but what a dispatch is told share one, and with it
//! the time that compiling really took.

use anyhow::{Context, Result};

use super::{Constant, Kernel, Watch, Workload};
use crate::data::spec::{SpecConstant, SpecNumber};
use crate::progress::Interrupt;
use crate::runtime::{self, Device, Glsl, Pipeline, PipelineOptions};

/// A pipeline for each kernel, in their order; nothing if it was interrupted.
pub(super) fn compile(
    device: &Device,
    kernels: &[(&dyn Workload, &Kernel)],
    watch: &Watch<'_>,
) -> Result<Option<Vec<Pipeline>>> {
    let Watch { bar, interrupt } = watch;
    bar.set_message("compiling GLSL");
    let mut sources: Vec<(&Kernel, Vec<u32>)> = Vec::new();
    for (workload, kernel) in kernels {
        if sources.iter().all(|(known, _)| !has_same_source(known, kernel)) {
            sources.push((kernel, to_spirv(kernel).with_context(|| called(*workload, kernel))?));
        }
    }
    runtime::release_compiler_memory();

    let mut known: Vec<(&Kernel, Pipeline)> = Vec::new();
    let mut pipelines = Vec::with_capacity(kernels.len());
    for (workload, kernel) in kernels {
        if interrupt.is_set() {
            return Ok(None);
        }
        let is_same = |(other, _): &&(&Kernel, Pipeline)| {
            has_same_source(other, kernel)
                && (other.subgroup_size, &other.constants) == (kernel.subgroup_size, &kernel.constants)
        };
        let pipeline = match known.iter().find(is_same) {
            Some((_, pipeline)) => pipeline.clone(),
            None => {
                bar.set_message(format!("compiling {}", called(*workload, kernel)));
                let source = sources.iter().find(|(other, _)| has_same_source(other, kernel));
                let (_, words) = source.context("each kernel has its source")?;
                let pipeline = to_pipeline(device, kernel, words, interrupt);
                let pipeline = pipeline.with_context(|| called(*workload, kernel))?;
                known.push((kernel, pipeline.clone()));
                pipeline
            }
        };
        pipelines.push(pipeline);
    }
    runtime::release_compiler_memory();
    Ok(Some(pipelines))
}

fn called(workload: &dyn Workload, kernel: &Kernel) -> String {
    let subject = workload.subject();
    format!("{} {} for {}->{}", subject.workload, kernel.name, subject.a, subject.c)
}

fn has_same_source(a: &Kernel, b: &Kernel) -> bool {
    (&a.definitions, &a.source) == (&b.definitions, &b.source)
}

fn to_spirv(kernel: &Kernel) -> Result<Vec<u32>> {
    let definitions: Vec<(&str, &str)> =
        kernel.definitions.iter().map(|(name, text)| (*name, text.as_str())).collect();
    runtime::compile_glsl(Glsl {
        name: &kernel.name,
        source: &kernel.source,
        definitions: &definitions,
        include_directories: &[],
    })
}

fn to_pipeline(device: &Device, kernel: &Kernel, words: &[u32], interrupt: &Interrupt) -> Result<Pipeline> {
    let constants: Vec<SpecConstant> = kernel
        .constants
        .iter()
        .map(|&(id, constant)| SpecConstant {
            id,
            value: match constant {
                Constant::U32(value) => SpecNumber::Untyped(value.to_string()),
                Constant::Bool(value) => SpecNumber::Bool(value),
            },
        })
        .collect();
    let options = PipelineOptions {
        entry: "main",
        constants: &constants,
        subgroup_size: Some(kernel.subgroup_size),
        cancel: Some(interrupt.token()),
    };
    device.create_pipeline(words, options)
}

//! From the sources of kernels to pipelines. Kernels that differ in nothing but what a dispatch is told share one, and with it
//! the time that compiling really took.

use anyhow::{Context, Result, ensure};

use super::{Constant, Kernel, Problem, Source, Watch, Workload};
use crate::data::spec::{SpecConstant, SpecNumber};
use crate::progress::Interrupt;
use crate::runtime::{self, Device, Glsl, Pipeline, PipelineOptions, Shader, Sizes};
use crate::versus::{Library, Pass, Rival};

/// The pipelines of each kernel, whose workload has a name, in their order; nothing if it was interrupted.
pub(crate) fn compile(
    device: &Device,
    kernels: &[(&str, &Kernel)],
    watch: &Watch<'_>,
) -> Result<Option<Vec<Vec<Pipeline>>>> {
    let Watch { bar, interrupt } = watch;
    bar.set_message("reading sources");
    let mut sources: Vec<(&Kernel, Shader)> = Vec::new();
    for (workload, kernel) in kernels {
        for pass in kernel.passes() {
            if sources.iter().all(|(known, _)| !has_same_source(known, pass)) {
                sources.push((pass, to_shader(pass).with_context(|| called(workload, pass))?));
            }
        }
    }
    runtime::release_compiler_memory();

    let mut known: Vec<(&Kernel, Pipeline)> = Vec::new();
    let mut pipelines = Vec::with_capacity(kernels.len());
    for (workload, kernel) in kernels {
        let mut of_passes = Vec::new();
        for pass in kernel.passes() {
            if interrupt.is_set() {
                return Ok(None);
            }
            let is_same = |(other, _): &&(&Kernel, Pipeline)| {
                has_same_source(other, pass)
                    && (other.subgroup_size, &other.constants) == (pass.subgroup_size, &pass.constants)
            };
            let pipeline = match known.iter().find(is_same) {
                Some((_, pipeline)) => pipeline.clone(),
                None => {
                    bar.set_message(format!("compiling {}", called(workload, pass)));
                    let source = sources.iter().find(|(other, _)| has_same_source(other, pass));
                    let (_, shader) = source.context("each kernel has its source")?;
                    let pipeline = to_pipeline(device, pass, shader, interrupt);
                    let pipeline = pipeline.with_context(|| called(workload, pass))?;
                    known.push((pass, pipeline.clone()));
                    pipeline
                }
            };
            of_passes.push(pipeline);
        }
        pipelines.push(of_passes);
    }
    runtime::release_compiler_memory();
    Ok(Some(pipelines))
}

fn called(workload: &str, kernel: &Kernel) -> String {
    format!("{workload} {}", kernel.name)
}

fn has_same_source(a: &Kernel, b: &Kernel) -> bool {
    (&a.definitions, &a.source) == (&b.definitions, &b.source)
}

fn to_shader(kernel: &Kernel) -> Result<Shader> {
    match &kernel.source {
        Source::Glsl(source) => Shader::from_words(&to_words(kernel, source)?),
        Source::Mlir { text, .. } => Shader::from_mlir(text, &kernel.name),
    }
}

fn to_words(kernel: &Kernel, source: &str) -> Result<Vec<u32>> {
    let definitions: Vec<(&str, &str)> =
        kernel.definitions.iter().map(|(name, text)| (*name, text.as_str())).collect();
    runtime::compile_glsl(Glsl {
        name: &kernel.name,
        source,
        definitions: &definitions,
        include_directories: &[],
    })
}

/// The same kernel on another driver, which starts with what is in the buffers and is compared with the expected result; nothing
/// if what is compared with runs no programs, or the kernel is not written in GLSL.
pub(super) fn elsewhere<'a>(
    library: &'a Library,
    device: &Device,
    problem: &Problem,
    workload: &dyn Workload,
    kernel: &Kernel,
) -> Result<Option<Rival<'a>>> {
    if !matches!(library, Library::Driver(_)) {
        return Ok(None);
    }
    let mut words = Vec::new();
    for pass in kernel.passes() {
        let Source::Glsl(source) = &pass.source else { return Ok(None) };
        words.push(to_words(pass, source)?);
    }
    let constants: Vec<Vec<(u32, u32)>> = kernel
        .passes()
        .map(|pass| pass.constants.iter().map(|&(id, constant)| (id, constant.bits())).collect())
        .collect();
    let passes: Vec<Pass<'_>> = kernel
        .passes()
        .zip(words.iter().zip(&constants))
        .map(|(pass, (spirv, constants))| Pass {
            spirv,
            constants,
            groups: pass.groups,
            push_constants: &pass.push_constants,
        })
        .collect();
    let mut contents: Vec<Vec<u8>> =
        problem.buffers.iter().map(|buffer| buffer.read(0..buffer.size())).collect::<Result<_>>()?;
    for matrix in workload.optimal(kernel)? {
        library.optimize(&matrix, device.inferencing(), &mut contents[matrix.buffer])?;
    }
    let contents: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
    let Some(mut rival) = library.program(&passes, &contents)? else { return Ok(None) };
    problem.result()?.write(0, &rival.result()?)?;
    let verdict = (problem.check)(&problem.buffers)?;
    ensure!(
        verdict.ok,
        "{} does not compute the same: the largest error is {:.1e}",
        rival.name(),
        verdict.max_rel_error
    );
    Ok(Some(rival))
}

fn to_pipeline(device: &Device, kernel: &Kernel, shader: &Shader, interrupt: &Interrupt) -> Result<Pipeline> {
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
    let wanted = match kernel.source {
        Source::Glsl(_) => None,
        Source::Mlir { entry, .. } => Some(entry),
    };
    let largest = device.info().subgroup_sizes.iter().max();
    let subgroup_size = largest.map_or(kernel.subgroup_size, |&largest| kernel.subgroup_size.min(largest));
    let options = PipelineOptions {
        entry: &shader.entry(wanted)?,
        constants: &constants,
        sizes: Sizes { subgroup: Some(subgroup_size), workgroup: None },
        cancel: Some(interrupt.token()),
    };
    device.create_pipeline_of(shader, options)
}

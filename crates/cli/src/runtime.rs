//! The only place that knows the library `phalanx`.
//!
//! The commands speak to these few types; connecting another version of the library, or another device, is a change
//! to this file alone.

mod diagnostics;
pub(crate) mod explain;
mod lower;
mod reflection;
mod requirements;
pub(crate) mod vector;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use phalanx::peak::{Probe, Unit};
pub(crate) use phalanx::{Allocator, CancelToken, Processor};
use phalanx::{DeviceOptions, ErrorClass, ModuleInfo, PipelineDescriptor, SpecValue, glsl};
use serde::Serialize;

pub(crate) use self::diagnostics::brief;
pub(crate) use self::lower::{Arch, Dialect};
pub(crate) use self::reflection::{BindingInfo, Constant, EntryPoint, Member, Reflection, reflect};
use crate::args::{LayoutName, Relax};
use crate::data::DType;
use crate::data::spec::{SpecConstant, SpecNumber};
use crate::measure::Peak;
pub(crate) use phalanx::DeviceKind;

/// Refuses a subgroup size that devices do not have.
pub(crate) fn check_subgroup_size(subgroup_size: Option<u32>) -> Result<()> {
    phalanx::Device::describe(&DeviceOptions { subgroup_size, ..DeviceOptions::default() })?;
    Ok(())
}

/// What is up to the user of a device.
#[derive(Debug, Clone, Default)]
pub(crate) struct Choices {
    /// All cores without it.
    pub(crate) threads: Option<usize>,
    pub(crate) relax: Option<Relax>,
    /// What code is made for, if not for what [`choose`] was given.
    pub(crate) processor: Option<Processor>,
    /// Whether device addresses are checked in any case.
    pub(crate) checks_addresses: bool,
    /// Whether to see where time goes.
    pub(crate) profile: bool,
    /// Where code is kept, if anywhere.
    pub(crate) cache_dir: Option<PathBuf>,
}

/// A machine that runs kernels.
#[derive(Debug)]
pub(crate) struct Device {
    device: phalanx::Device,
    info: DeviceInfo,
    /// Whose instructions its code uses.
    processor: Processor,
}

/// What a device offers.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DeviceInfo {
    /// What `--device` calls it.
    pub(crate) device: String,
    pub(crate) name: String,
    pub(crate) cores: usize,
    /// How many threads its work-groups run on.
    pub(crate) threads: usize,
    /// The name of the processor that code is made for.
    pub(crate) processor: String,
    /// All names, and which of them this machine can stand in for.
    pub(crate) processors: Vec<ProcessorRow>,
    pub(crate) instruction_sets: Vec<String>,
    pub(crate) subgroup_sizes: Vec<u32>,
    pub(crate) default_subgroup_size: u32,
    pub(crate) max_workgroup_invocations: u32,
    /// Most components of one matrix.
    pub(crate) max_matrix_elements: u64,
    /// Who may hold a matrix of any of these rows.
    pub(crate) matrix_scopes: Vec<&'static str>,
    pub(crate) matrices: Vec<MatrixRow>,
    /// The types that matrices and cooperative vectors are multiplied with.
    pub(crate) vectors: Vec<vector::VectorRow>,
}

/// A processor that code can be made for.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ProcessorRow {
    pub(crate) name: &'static str,
    pub(crate) architecture: &'static str,
    pub(crate) is_available: bool,
}

/// One combination of types and shapes that a matrix multiplication may have.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct MatrixRow {
    /// M, N and K; a range such as `1-512` where the device takes any.
    pub(crate) m: String,
    pub(crate) n: String,
    pub(crate) k: String,
    pub(crate) a: String,
    pub(crate) b: String,
    pub(crate) c: String,
    pub(crate) result: String,
    pub(crate) is_saturating: bool,
}

/// GLSL and what its preprocessor needs to know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Glsl<'a> {
    /// How diagnostics call the source.
    pub(crate) name: &'a str,
    pub(crate) source: &'a str,
    pub(crate) definitions: &'a [(&'a str, &'a str)],
    pub(crate) include_directories: &'a [PathBuf],
}

/// A shader that was read and understood.
#[derive(Debug, Clone)]
pub(crate) struct Shader(phalanx::Module);

impl Shader {
    /// Of SPIR-V.
    pub(crate) fn from_words(words: &[u32]) -> Result<Self> {
        Ok(Self(phalanx::Module::new(words)?))
    }

    /// Of MLIR, which source positions call `name`.
    pub(crate) fn from_mlir(text: &str, name: &str) -> Result<Self> {
        Ok(Self(phalanx::Module::from_mlir(text, name)?))
    }

    /// The whole name of an entry point: `main` where none is asked for, but the only kernel of MLIR.
    pub(crate) fn entry(&self, wanted: Option<&str>) -> Result<String> {
        let info = self.0.info();
        let is_mlir = info.version == (0, 0);
        let wanted = if is_mlir { wanted } else { wanted.or(Some("main")) };
        if let Some(name) = self.0.entry_name(wanted) {
            return Ok(name.to_owned());
        }
        let known: Vec<String> = info.entry_points.iter().map(|found| found.name.clone()).collect();
        let known = list_or_none(&known);
        match wanted {
            Some(wanted) => bail!("the shader has no entry point `{wanted}`; it has {known}"),
            None => bail!("--entry is missing: the shader has several entry points, or none: {known}"),
        }
    }

    /// How many work-groups there are, if the shader says so.
    pub(crate) fn groups(&self, entry: &str) -> Option<[u32; 3]> {
        self.0.groups(entry)
    }
}

/// Memory that kernels read and write.
#[derive(Debug)]
pub(crate) struct Buffer(phalanx::Buffer);

/// A compiled kernel.
#[derive(Debug, Clone)]
pub(crate) struct Pipeline(phalanx::Pipeline);

/// A buffer at its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Binding<'a> {
    pub(crate) set: u32,
    pub(crate) binding: u32,
    pub(crate) index: u32,
    pub(crate) buffer: &'a Buffer,
}

/// How many invocations there are together, where the user says it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) subgroup: Option<u32>,
    /// Along each axis, of MLIR that does not say it.
    pub(crate) workgroup: Option<[u32; 3]>,
}

/// What distinguishes one pipeline of a module from another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PipelineOptions<'a> {
    pub(crate) entry: &'a str,
    pub(crate) constants: &'a [SpecConstant],
    pub(crate) sizes: Sizes,
    /// Stops compiling when it is cancelled.
    pub(crate) cancel: Option<&'a CancelToken>,
}

/// One run of a kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dispatch<'a> {
    pub(crate) pipeline: &'a Pipeline,
    pub(crate) groups: [u32; 3],
    pub(crate) bindings: &'a [Binding<'a>],
    pub(crate) push_constants: &'a [u8],
    /// Forever without it.
    pub(crate) timeout: Option<Duration>,
    /// Stops it when it is cancelled.
    pub(crate) cancel: Option<&'a CancelToken>,
}

/// What a dispatch did.
#[derive(Debug, Clone)]
pub(crate) struct Report {
    pub(crate) elapsed: Duration,
    /// The lines that the kernel printed.
    pub(crate) printed: Vec<String>,
    /// The mistakes that it told of.
    pub(crate) warnings: Vec<String>,
    /// How many elements it read of the buffer of each binding, in their order; the interpreter alone counts.
    pub(crate) elements_read: Option<Vec<u64>>,
}

/// Whether an error is our own fault, and not the user's.
pub(crate) fn is_bug(error: &anyhow::Error) -> bool {
    has_class(error, ErrorClass::Bug)
}

/// Whether an error only says that something is not built.
pub(crate) fn is_unsupported(error: &anyhow::Error) -> bool {
    has_class(error, ErrorClass::Unsupported)
}

/// Whether an error only says that the user wanted no more.
pub(crate) fn is_cancelled(error: &anyhow::Error) -> bool {
    use phalanx::{Abandoned, Error};
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<Error>());
    causes.any(|cause| matches!(cause, Error::Cancelled | Error::Compilation(Abandoned::Cancelled)))
}

fn has_class(error: &anyhow::Error, class: ErrorClass) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<phalanx::Error>());
    causes.any(|cause| cause.class() == class)
}

/// Why this machine's CPU does not run a valid module, if it does not.
///
/// # Errors
/// If something else is wrong with it.
pub(crate) fn obstacle(
    shader: &Shader,
    constants: &[SpecConstant],
    sizes: Sizes,
    entries: &[&str],
    cancel: &CancelToken,
) -> Result<Option<String>> {
    let device = Device::new(Some(1))?;
    for entry in entries {
        let options = PipelineOptions { entry, constants, sizes, cancel: Some(cancel) };
        let Err(error) = device.create_pipeline_of(shader, options) else { continue };
        return if is_unsupported(&error) { Ok(Some(error.to_string())) } else { Err(error) };
    }
    Ok(None)
}

/// Gives back the memory that compiling took.
pub(crate) fn release_compiler_memory() {
    glsl::release_memory();
}

/// Compiles GLSL to SPIR-V.
pub(crate) fn compile_glsl(glsl: Glsl<'_>) -> Result<Vec<u32>> {
    let options = glsl::GlslOptions {
        name: glsl.name,
        defines: glsl.definitions,
        include_dirs: glsl.include_directories,
        ..glsl::GlslOptions::default()
    };
    Ok(glsl::compile(glsl.source, &options)?)
}

/// Assembles SPIR-V from its text form, which diagnostics call `name`.
pub(crate) fn assemble(name: &Path, text: &str) -> Result<Vec<u32>> {
    Ok(phalanx::assemble(text, name)?)
}

/// The bits of specialisation constants. One that the module does not have means nothing to it, and is left out.
fn spec_values(info: &ModuleInfo, constants: &[SpecConstant]) -> Result<Vec<(u32, SpecValue)>> {
    let mut values = Vec::with_capacity(constants.len());
    for constant in constants {
        let Some(declared) = info.spec_constants.iter().find(|known| known.id == constant.id) else {
            continue;
        };
        let name = declared.ty.name();
        let context = || format!("specialisation constant {} is {name}", called(declared));
        let bits = match (&constant.value, name.parse::<DType>()) {
            (SpecNumber::Bool(value), Err(_)) => u64::from(*value),
            (SpecNumber::Untyped(text), Ok(dtype)) => dtype.parse_value(text).with_context(context)?,
            (SpecNumber::Typed { dtype, bits }, Ok(declared)) if *dtype == declared => *bits,
            (SpecNumber::Bool(value), Ok(_)) => bail!("{}, not {value}", context()),
            (SpecNumber::Untyped(text), Err(_)) => bail!("{}, not {text}", context()),
            (SpecNumber::Typed { dtype, .. }, _) => bail!("{}, not {dtype}", context()),
        };
        values.push((constant.id, SpecValue::from_bits(bits)));
    }
    Ok(values)
}

/// A specialisation constant by its number, and its name if it has one.
fn called(constant: &phalanx::SpecConstant) -> String {
    if constant.name.is_empty() {
        return constant.id.to_string();
    }
    format!("{} `{}`", constant.id, constant.name)
}

/// Names for a message.
pub(crate) fn list_or_none(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The processor that the command line names.
static CHOSEN: OnceLock<Processor> = OnceLock::new();

/// Lets all devices of this run make code for a processor.
pub(crate) fn choose(processor: Option<Processor>) {
    if let Some(processor) = processor {
        CHOSEN.get_or_init(|| processor);
    }
}

/// What [`choose`] was given.
pub(crate) fn chosen() -> Option<Processor> {
    CHOSEN.get().copied()
}

fn processors() -> Vec<ProcessorRow> {
    let row = |processor: &Processor| ProcessorRow {
        name: processor.name(),
        architecture: processor.arch().name(),
        is_available: processor.is_available(),
    };
    Processor::all().iter().map(row).collect()
}

/// Measures how fast memory of so many bytes is read. It is kept for the next time, so that it is as warm as the buffers of
/// a kernel that runs in turn. Without that much memory nothing is read.
fn bandwidth(bytes: usize, threads: usize, duration: Duration) -> f64 {
    static MEMORY: Mutex<Option<Probe>> = Mutex::new(None);
    let mut memory = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    if memory.as_ref().is_none_or(|probe| probe.size() != bytes) {
        *memory = None;
        *memory = Probe::new(bytes).ok();
    }
    memory.as_ref().map_or(0.0, |probe| probe.read(threads, duration))
}

/// What a GPU does at most of what bounds a kernel, a second.
fn rate_of(rates: &phalanx::Rates, peak: Peak) -> f64 {
    match peak {
        Peak::F32Fma => rates.f32_fma,
        Peak::F16Fma | Peak::Bf16Dot => rates.f16_matrix,
        Peak::I8Dot => rates.i8_matrix,
        // Nothing of a GPU's is compared with it yet.
        Peak::Read(_) => f64::INFINITY,
    }
}

impl Device {
    /// This machine's CPU, with all of its cores or with so many threads.
    pub(crate) fn new(threads: Option<usize>) -> Result<Self> {
        Self::of_kind(DeviceKind::Cpu, Choices { threads, ..Choices::default() })
    }

    /// Either of the devices that there are.
    pub(crate) fn of_kind(kind: DeviceKind, choices: Choices) -> Result<Self> {
        let options = DeviceOptions {
            kind,
            threads: choices.threads,
            processor: choices.processor.or_else(chosen),
            relaxed_accumulation: choices.relax == Some(Relax::Accumulate),
            addresses: choices.checks_addresses.then_some(phalanx::Addresses::Check),
            profile: choices.profile,
            cache_dir: choices.cache_dir,
            ..DeviceOptions::default()
        };
        let device = phalanx::Device::new(&options)?;
        let info = device.info();
        let processor = info.processor.unwrap_or_else(Processor::native);
        let range = format!("1-{}", info.max_matrix_dimension);
        let matrices = info.matrix_types.iter().map(|types| MatrixRow {
            m: range.clone(),
            n: range.clone(),
            k: range.clone(),
            a: types.a.to_string(),
            b: types.b.to_string(),
            c: types.c.to_string(),
            result: types.result.to_string(),
            is_saturating: types.saturating,
        });
        let info = DeviceInfo {
            device: kind.to_string(),
            name: info.name.clone(),
            cores: info.cores,
            threads: info.threads,
            processor: info.processor.map_or_else(String::new, |processor| processor.to_string()),
            processors: processors(),
            instruction_sets: info.instruction_sets.clone(),
            subgroup_sizes: info.subgroup_sizes.clone(),
            default_subgroup_size: info.default_subgroup_size,
            max_workgroup_invocations: info.max_workgroup_invocations,
            max_matrix_elements: info.max_matrix_elements,
            matrix_scopes: info.matrix_scopes.iter().map(|scope| scope.name()).collect(),
            matrices: matrices.collect(),
            vectors: info.vector_types.iter().map(vector::VectorRow::new).collect(),
        };
        Ok(Self { device, info, processor })
    }

    pub(crate) fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// The layout of matrices that its kernels multiply vectors by the fastest.
    pub(crate) fn inferencing(&self) -> LayoutName {
        match self.device.info().inferencing {
            phalanx::vector::MatrixLayout::Paired => LayoutName::Paired,
            _ => LayoutName::Inferencing,
        }
    }

    /// Where the components of a matrix are that so many invocations hold.
    pub(crate) fn layout_of(&self, matrix: phalanx::MatType, holders: u32) -> phalanx::explain::Layout {
        self.device.info().distribution.layout(matrix, holders)
    }

    /// Measures a peak of its processor and threads for so long, in 10⁹ operations a second. That of a GPU is stated.
    pub(crate) fn peak(&self, peak: Peak, duration: Duration) -> f64 {
        let (processor, threads) = (self.processor, self.info.threads);
        let rate = match (&self.device.info().gpu, peak) {
            (Some(gpu), _) => return rate_of(&gpu.rates, peak) / 1e9,
            (None, peak) => peak,
        };
        let rate = match rate {
            Peak::F32Fma => phalanx::peak::f32_fma(processor, threads, duration),
            Peak::F16Fma => phalanx::peak::f16_fma(processor, threads, duration),
            Peak::Bf16Dot => phalanx::peak::bf16_dot(processor, threads, duration),
            Peak::I8Dot => phalanx::peak::i8_dot(processor, threads, duration),
            Peak::Read(bytes) => bandwidth(bytes, threads, duration),
        };
        rate / 1e9
    }

    /// Whether it is a GPU.
    pub(crate) fn is_gpu(&self) -> bool {
        self.device.info().gpu.is_some()
    }

    /// What does the work of a peak.
    pub(crate) fn peak_unit(&self, peak: Peak) -> String {
        if self.device.info().gpu.is_some() {
            let unit = if peak == Peak::F32Fma { "FMA" } else { "tensor cores" };
            return unit.to_owned();
        }
        let unit = match peak {
            Peak::F32Fma => Unit::Fma,
            Peak::F16Fma => phalanx::peak::f16_unit(self.processor),
            Peak::Bf16Dot => phalanx::peak::bf16_unit(self.processor),
            Peak::I8Dot => phalanx::peak::i8_unit(self.processor),
            Peak::Read(_) => return "GB/s read".to_owned(),
        };
        unit.to_string()
    }

    /// Where the time of its dispatches went, if it was to see that.
    pub(crate) fn profile(&self) -> phalanx::profile::Profile {
        self.device.profile()
    }

    pub(crate) fn create_buffer(&self, size: usize) -> Result<Buffer> {
        Ok(Buffer(self.device.create_buffer(size as u64)?))
    }

    /// From a shader to machine code.
    pub(crate) fn create_pipeline_of(
        &self,
        shader: &Shader,
        options: PipelineOptions<'_>,
    ) -> Result<Pipeline> {
        let module = &shader.0;
        let descriptor = PipelineDescriptor {
            module,
            entry: Some(options.entry),
            specialization: &spec_values(module.info(), options.constants)?,
            subgroup_size: options.sizes.subgroup,
            workgroup_size: options.sizes.workgroup,
        };
        Ok(Pipeline(self.device.create_pipeline_or_cancel(&descriptor, options.cancel)?))
    }

    /// Runs a kernel to its end and says how long it took, and what it printed.
    pub(crate) fn dispatch(&self, dispatch: Dispatch<'_>) -> Result<Report> {
        let report = {
            let bindings = dispatch.bindings();
            self.device.dispatch(&dispatch.lower(&bindings))?
        };
        let read = |traffic: phalanx::Traffic| traffic.bindings.iter().map(|of| of.read.elements).collect();
        Ok(Report {
            elapsed: report.elapsed,
            printed: report.printed,
            warnings: report.warnings,
            elements_read: report.traffic.map(read),
        })
    }

    /// Runs kernels that do not depend on each other, side by side, and waits for the end of all.
    pub(crate) fn dispatch_all(&self, dispatches: &[Dispatch<'_>]) -> Result<()> {
        let bindings: Vec<_> = dispatches.iter().map(Dispatch::bindings).collect();
        let lowered: Vec<_> =
            dispatches.iter().zip(&bindings).map(|(dispatch, bindings)| dispatch.lower(bindings)).collect();
        self.device.dispatch_all(&lowered).into_iter().try_for_each(|result| Ok(result.map(drop)?))
    }
}

impl<'a> Dispatch<'a> {
    fn bindings(&self) -> Vec<phalanx::Binding<'a>> {
        let lower = |bound: &Binding<'a>| {
            phalanx::Binding::new(bound.set, bound.binding, &bound.buffer.0).at_index(bound.index)
        };
        self.bindings.iter().map(lower).collect()
    }

    fn lower(&self, bindings: &'a [phalanx::Binding<'a>]) -> phalanx::Dispatch<'a> {
        phalanx::Dispatch {
            bindings,
            push_constants: self.push_constants,
            timeout: Some(self.timeout.unwrap_or(Duration::MAX)),
            cancel: self.cancel,
            ..phalanx::Dispatch::new(&self.pipeline.0, self.groups)
        }
    }
}

impl Buffer {
    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        Ok(self.0.write(offset as u64, bytes)?)
    }

    /// Some of its bytes.
    pub(crate) fn read(&self, range: Range<usize>) -> Result<Vec<u8>> {
        Ok(self.0.read(range.start as u64, range.len() as u64)?)
    }

    pub(crate) fn size(&self) -> usize {
        self.0.size() as usize
    }

    pub(crate) fn address(&self) -> u64 {
        self.0.device_address()
    }
}

impl Pipeline {
    pub(crate) fn compile_time(&self) -> Duration {
        self.0.compile_time()
    }

    /// Whether it has a buffer at this place.
    pub(crate) fn binds(&self, set: u32, binding: u32) -> bool {
        self.0.bindings().iter().any(|info| (info.set, info.binding) == (set, binding))
    }
}

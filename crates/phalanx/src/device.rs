//! Devices.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytemuck::NoUninit;
use phalanx_cpu::{
    Addresses, Allocation, Attempt, CacheKey, CancelToken, Compiled, Compiler, Config, Created, Descriptor,
    SealedCode,
};
use phalanx_front_spirv as front;
use phalanx_ir::{MAX_DISPATCH_INVOCATIONS, Scope, Verified, excess, passes, verify};
use phalanx_kernels::Processor;

use crate::bindings;
use crate::buffer::Buffer;
use crate::debug::Debug;
use crate::dispatch::{Dispatch, DispatchReport, RawDispatch};
use crate::error::Error;
use crate::info::{self, DeviceInfo};
use crate::interpreter::Interpreter;
use crate::mlir;
use crate::module::{Module, Source};
use crate::pipeline::{Code, CompileTimes, Insides, Pipeline, PipelineDescriptor, Shape};
use crate::profile::Profile;

/// Time after which a dispatch is stopped or compiling is given up, unless options, environment or dispatch say
/// otherwise.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Environment variable with that time in seconds; 0 for no limit.
pub const TIMEOUT_VARIABLE: &str = "PHALANX_TIMEOUT";

/// Environment variable with what is done about addresses that lead nowhere.
const ADDRESSES_VARIABLE: &str = "PHALANX_ADDRESSES";

/// The same for compiling.
pub(crate) const COMPILE_TIMEOUT_VARIABLE: &str = "PHALANX_COMPILE_TIMEOUT";

/// Invocations of a subgroup, unless options, environment or pipeline say otherwise.
const DEFAULT_SUBGROUP_SIZE: u32 = 32;

/// Environment variable with that number.
const SUBGROUP_SIZE_VARIABLE: &str = "PHALANX_SUBGROUP_SIZE";

/// Subgroup sizes that pipelines may ask for.
const SUBGROUP_SIZES: [u32; 6] = [4, 8, 16, 32, 64, 128];

/// Kinds of devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// The processor, at its speed.
    #[default]
    Cpu,
    /// The reference: executes the IR literally. Thousands of times slower; for comparing results.
    Interpreter,
}

/// How to make a device.
#[derive(Clone, Debug, Default)]
pub struct DeviceOptions {
    /// What runs the kernels.
    pub kind: DeviceKind,
    /// Threads that run kernels, the calling one included; one per core without it.
    pub threads: Option<usize>,
    /// The processor that code is made for and whose kernels it calls. Without it, the environment variable
    /// `PHALANX_CPU` names one, else it is this machine's with all it has.
    pub processor: Option<Processor>,
    /// Directory in which compiled code is kept from one run of a program to the next. Only code that this user's
    /// programs put there is executed; a directory that is another user's, or that others can write to, is not used.
    pub cache_dir: Option<PathBuf>,
    /// Time after which a dispatch is stopped. Without it, the environment variable `PHALANX_TIMEOUT`
    /// says so in seconds (0 for no limit), else it is a minute.
    pub timeout: Option<Duration>,
    /// Time after which creating a pipeline is given up. Without it, the environment variable
    /// `PHALANX_COMPILE_TIMEOUT` says so in seconds (0 for no limit), else it is a minute. LLVM cannot be stopped:
    /// its thread is left behind, at the lowest priority, with what it uses.
    pub compile_timeout: Option<Duration>,
    /// Invocations of a subgroup in pipelines that ask for no number. Without it, the environment variable
    /// `PHALANX_SUBGROUP_SIZE` says so, else it is 32. SPIR-V that was compiled for one GPU may rely on its subgroup
    /// size without saying so anywhere; this is how its user says it.
    pub subgroup_size: Option<u32>,
    /// Leave to round sums of matrix multiply-adds less often than they say: of a chain of them, each of
    /// which adds to the result of the one before, only the last need be rounded to `f16`, `bf16` or an
    /// 8-bit float. That is faster, and hides overflow and lost digits that a GPU would show, so it is
    /// never a default. The interpreter rounds each.
    pub relaxed_accumulation: bool,
    /// What is done about device addresses that lead nowhere. Without it, the environment variable
    /// `PHALANX_ADDRESSES` says so, else their faults are caught. The interpreter always checks them.
    pub addresses: Option<Addresses>,
    /// Whether to see where the time of dispatches goes, for [`Device::profile`]. Code of such a device is a few per cent
    /// slower, where it is dense up to a fifth. The interpreter does not tell.
    pub profile: bool,
}

/// Something that runs kernels. Clones refer to the same device; it may be used from several
/// threads at once.
///
/// ```
/// use phalanx::{Device, DeviceOptions};
/// let device = Device::new(&DeviceOptions { threads: Some(2), ..DeviceOptions::default() })?;
/// assert_eq!(device.info().threads, 2);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Device {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Tells devices apart.
    id: u64,
    backend: Backend,
    info: DeviceInfo,
    limits: front::Limits,
    timeout: Option<Duration>,
    compile_timeout: Option<Duration>,
    relaxed_accumulation: bool,
    profile: bool,
    debug: Debug,
}

#[derive(Debug)]
enum Backend {
    Cpu(Box<phalanx_cpu::Device>),
    Interpreter(Interpreter),
}

impl Device {
    /// Makes a device.
    ///
    /// # Errors
    ///
    /// When threads cannot be started, or the environment asks for what does not exist.
    pub fn new(options: &DeviceOptions) -> Result<Self, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let debug = Debug::from_env()?;
        let timeout = limit(options.timeout, TIMEOUT_VARIABLE)?;
        let compile_timeout = limit(options.compile_timeout, COMPILE_TIMEOUT_VARIABLE)?;
        let subgroup_size = default_subgroup_size(options)?;
        let (backend, threads, processor) = match options.kind {
            DeviceKind::Cpu => {
                let config = Config {
                    threads: options.threads,
                    cache_dir: options.cache_dir.clone(),
                    timeout,
                    compile_timeout,
                    dumps: debug.dumps(),
                    processor: options.processor,
                    addresses: addresses(options)?,
                    profile: options.profile,
                };
                let device = phalanx_cpu::Device::new(&config)?;
                let (threads, processor) = (device.threads(), device.processor());
                (Backend::Cpu(Box::new(device)), threads, Some(processor))
            }
            DeviceKind::Interpreter => (Backend::Interpreter(Interpreter::default()), 1, None),
        };
        let limits = front::Limits::default();
        let info = describe(options.kind, threads, processor, subgroup_size, &limits);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let relaxed_accumulation = options.relaxed_accumulation;
        let profile = options.profile;
        let inner = Inner {
            id,
            backend,
            info,
            limits,
            timeout,
            compile_timeout,
            relaxed_accumulation,
            profile,
            debug,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// What a device with these options is and offers, without starting it.
    ///
    /// # Errors
    ///
    /// When a processor is asked for that this machine cannot stand in for.
    pub fn describe(options: &DeviceOptions) -> Result<DeviceInfo, Error> {
        let (threads, processor) = match options.kind {
            DeviceKind::Cpu => {
                let processor = options.processor.map_or_else(Processor::detect, Ok);
                let processor =
                    processor.and_then(|p| p.isa().map(|_proof| p)).map_err(phalanx_cpu::Error::from)?;
                let threads = options.threads.unwrap_or_else(phalanx_cpu::usable_cores).max(1);
                (threads, Some(processor))
            }
            DeviceKind::Interpreter => (1, None),
        };
        let subgroup_size = default_subgroup_size(options)?;
        Ok(describe(options.kind, threads, processor, subgroup_size, &front::Limits::default()))
    }

    /// Whether this process is a copy, by `fork`, of the one that made the device. The device runs nothing here.
    pub fn is_forked(&self) -> bool {
        match &self.inner.backend {
            Backend::Cpu(cpu) => cpu.is_forked(),
            Backend::Interpreter(_) => false,
        }
    }

    /// What it is and offers.
    pub fn info(&self) -> &DeviceInfo {
        &self.inner.info
    }

    /// Where the time of its dispatches went so far; nothing without [`DeviceOptions::profile`], and of the interpreter.
    pub fn profile(&self) -> Profile {
        match &self.inner.backend {
            Backend::Cpu(cpu) => Profile::new(cpu.profile()),
            Backend::Interpreter(_) => Profile::default(),
        }
    }

    /// A buffer of `size` bytes, all zero.
    ///
    /// # Errors
    ///
    /// When there is no memory.
    pub fn create_buffer(&self, size: u64) -> Result<Buffer, Error> {
        match &self.inner.backend {
            Backend::Cpu(cpu) => Ok(Buffer::new(cpu.create_buffer(size)?)),
            Backend::Interpreter(interpreter) => {
                let buffer = Buffer::with_size(size)?;
                interpreter.add(buffer.memory());
                Ok(buffer)
            }
        }
    }

    /// Tells the device of memory that it did not allocate and that kernels may go to, by address or through
    /// [`Descriptor::from_raw`], until the result is dropped. The interpreter knows no such memory.
    pub fn lend(&self, address: u64, size: u64) -> Option<Allocation> {
        match &self.inner.backend {
            Backend::Cpu(cpu) => Some(cpu.lend(address, size)),
            Backend::Interpreter(_) => None,
        }
    }

    /// A buffer that holds these numbers.
    ///
    /// # Errors
    ///
    /// As [`Device::create_buffer`].
    pub fn create_buffer_from<T: NoUninit>(&self, data: &[T]) -> Result<Buffer, Error> {
        let buffer = self.create_buffer(size_of_val(data) as u64)?;
        buffer.write_slice(0, data)?;
        Ok(buffer)
    }

    /// Reads a SPIR-V module.
    ///
    /// # Errors
    ///
    /// [`Error::Spirv`] says what is wrong and where.
    pub fn create_module(&self, words: &[u32]) -> Result<Module, Error> {
        Module::new(words)
    }

    /// Reads MLIR, which source positions call `name`; see [`Module::from_mlir`].
    ///
    /// # Errors
    ///
    /// [`Error::Mlir`] says what is wrong and where.
    pub fn create_module_from_mlir(&self, text: &str, name: &str) -> Result<Module, Error> {
        Module::from_mlir(text, name)
    }

    /// Compiles an entry point of a module, or finds it in a cache.
    ///
    /// # Errors
    ///
    /// When the module is invalid as specialised, needs what is not supported, or compiling is given up.
    pub fn create_pipeline(&self, descriptor: &PipelineDescriptor<'_>) -> Result<Pipeline, Error> {
        self.create_pipeline_or_cancel(descriptor, None)
    }

    /// The same, unless another thread cancels the token before.
    ///
    /// # Errors
    ///
    /// As [`Device::create_pipeline`].
    pub fn create_pipeline_or_cancel(
        &self,
        descriptor: &PipelineDescriptor<'_>,
        cancel: Option<&CancelToken>,
    ) -> Result<Pipeline, Error> {
        let task = self.task(descriptor)?;
        match &self.inner.backend {
            Backend::Cpu(cpu) => self.create_cpu_pipeline(cpu, descriptor, task, cancel),
            Backend::Interpreter(_) => {
                let attempt = Attempt { limit: self.inner.compile_timeout, cancel, ..Attempt::default() };
                let (module, translate) = attempt.run(move || task.translate())??;
                let times = CompileTimes { translate, ..CompileTimes::default() };
                let shape = Shape {
                    device: self.inner.id,
                    name: module.name.clone(),
                    bindings: module.bindings.clone(),
                    declared: descriptor.module.declared().to_vec(),
                    push_bytes: module.push_bytes,
                    workgroup_size: module.workgroup_size,
                    subgroup_size: module.subgroup_size,
                    shared_bytes: module.shared_bytes,
                    times,
                };
                Ok(Pipeline { code: Code::Interpreter(Arc::new(module)), shape: Arc::new(shape) })
            }
        }
    }

    /// Identifies what [`Device::create_pipeline`] would compile; the interpreter compiles nothing.
    pub fn pipeline_key(&self, descriptor: &PipelineDescriptor<'_>) -> Option<CacheKey> {
        let Backend::Cpu(cpu) = &self.inner.backend else { return None };
        let subgroup_size = self.subgroup_size(descriptor);
        Some(self.cache_key(cpu, descriptor, subgroup_size))
    }

    /// A pipeline that need not be compiled: one that the device remembers, else one of `code`, which
    /// [`Pipeline::code`] gave. Code of something else, or of another machine or version, is ignored.
    pub fn cached_pipeline(
        &self,
        descriptor: &PipelineDescriptor<'_>,
        code: Option<&SealedCode>,
    ) -> Option<Pipeline> {
        let Backend::Cpu(cpu) = &self.inner.backend else { return None };
        if self.inner.debug.looks_inside() {
            return None;
        }
        let key = self.pipeline_key(descriptor)?;
        let code = code.filter(|code| *code.key() == key);
        let created = cpu.cached(&key).or_else(|| cpu.load(code?))?;
        let times = CompileTimes { cached: true, ..CompileTimes::default() };
        Some(self.finish(descriptor, created, times))
    }

    /// Compiles an entry point of a module, whether it is cached or not, and tells what it became on the way.
    ///
    /// # Errors
    ///
    /// As [`Device::create_pipeline`]; the interpreter does not support it.
    pub fn create_pipeline_with_insides(
        &self,
        descriptor: &PipelineDescriptor<'_>,
    ) -> Result<(Pipeline, Insides), Error> {
        let Backend::Cpu(cpu) = &self.inner.backend else {
            return Err(Error::Unsupported { what: "machine code on the interpreter".to_owned() });
        };
        let task = self.task(descriptor)?;
        let key = self.cache_key(cpu, descriptor, task.subgroup_size);
        let wanted = phalanx_cpu::Options { dump_llvm: true, dump_asm: true, ..Default::default() };
        let compiler = cpu.compiler().with_dumps(wanted);
        let (compiled, times, ir) = cpu.attempt(None).run(move || {
            let (module, times) = task.optimize()?;
            Ok::<_, Error>((task.compile(&compiler, &module)?, times, module.to_string()))
        })??;
        let mut created = cpu.finish(compiled, Some(&key))?;
        let dumps = std::mem::take(&mut created.dumps);
        let insides = Insides {
            ir,
            llvm_lowered: dumps.llvm_lowered.unwrap_or_default(),
            llvm_optimized: dumps.llvm_optimized.unwrap_or_default(),
            asm: dumps.asm.unwrap_or_default(),
        };
        Ok((self.finish(descriptor, created, times), insides))
    }

    /// Runs a dispatch and waits for its end.
    ///
    /// A kernel with buffer references can access any memory of the process; this function trusts
    /// it. All other accesses are kept within the buffers that are bound.
    ///
    /// # Errors
    ///
    /// When buffers or push constants do not fit the pipeline, or the dispatch is stopped.
    pub fn dispatch(&self, dispatch: &Dispatch<'_>) -> Result<DispatchReport, Error> {
        let shape = &dispatch.pipeline.shape;
        if shape.device != self.inner.id {
            return Err(Error::OtherDevice { what: "pipeline" });
        }
        if let (Backend::Interpreter(interpreter), Code::Interpreter(module)) =
            (&self.inner.backend, &dispatch.pipeline.code)
        {
            if let Some((axis, found)) = excess(shape.workgroup_size, dispatch.groups, dispatch.base)
                && !dispatch.groups.contains(&0)
            {
                return Err(Error::TooManyInvocations { axis, found, limit: MAX_DISPATCH_INVOCATIONS });
            }
            let limit = dispatch.timeout.or(self.inner.timeout);
            return interpreter.dispatch(module, &shape.declared, dispatch, limit);
        }
        let views = bindings::views(dispatch.bindings);
        let tables = bindings::resolve(&shape.bindings, &shape.declared, dispatch.bindings, &views)?;
        let descriptors: Vec<&[Descriptor<'_>]> = tables.iter().map(Vec::as_slice).collect();
        self.dispatch_raw(&RawDispatch {
            pipeline: dispatch.pipeline,
            groups: dispatch.groups,
            base: dispatch.base,
            descriptors: &descriptors,
            push_constants: dispatch.push_constants,
            timeout: dispatch.timeout,
            cancel: dispatch.cancel,
        })
    }

    /// Runs a dispatch whose descriptors are in the pipeline's order, and waits for its end.
    ///
    /// # Errors
    ///
    /// As [`Device::dispatch`]; the interpreter does not support it.
    pub fn dispatch_raw(&self, dispatch: &RawDispatch<'_>) -> Result<DispatchReport, Error> {
        if dispatch.pipeline.shape.device != self.inner.id {
            return Err(Error::OtherDevice { what: "pipeline" });
        }
        let (Backend::Cpu(cpu), Code::Cpu(pipeline)) = (&self.inner.backend, &dispatch.pipeline.code) else {
            return Err(Error::Unsupported { what: "descriptors on the interpreter".to_owned() });
        };
        let report = cpu.dispatch(&phalanx_cpu::Dispatch {
            pipeline,
            groups: dispatch.groups,
            base: dispatch.base,
            descriptors: dispatch.descriptors,
            push: dispatch.push_constants,
            timeout: dispatch.timeout,
            cancel: dispatch.cancel,
        })?;
        let phalanx_cpu::Report { elapsed, printed, warnings } = report;
        Ok(DispatchReport { elapsed, printed, warnings, traffic: None })
    }

    fn create_cpu_pipeline(
        &self,
        cpu: &phalanx_cpu::Device,
        descriptor: &PipelineDescriptor<'_>,
        task: Task,
        cancel: Option<&CancelToken>,
    ) -> Result<Pipeline, Error> {
        let key = self.cache_key(cpu, descriptor, task.subgroup_size);
        let cached = if self.inner.debug.looks_inside() { None } else { cpu.cached(&key) };
        let (created, times) = match cached {
            Some(created) => (created, CompileTimes { cached: true, ..CompileTimes::default() }),
            None => {
                let compiler = cpu.compiler();
                let (compiled, times) = cpu.attempt(cancel).run(move || {
                    let (module, times) = task.optimize()?;
                    Ok::<_, Error>((task.compile(&compiler, &module)?, times))
                })??;
                (cpu.finish(compiled, Some(&key))?, times)
            }
        };
        Ok(self.finish(descriptor, created, times))
    }

    /// What there is to do for a pipeline.
    fn task(&self, descriptor: &PipelineDescriptor<'_>) -> Result<Task, Error> {
        Ok(Task {
            module: descriptor.module.clone(),
            entry: descriptor.entry.map(str::to_owned),
            specialization: specialization(descriptor),
            subgroup_size: self.checked_subgroup_size(descriptor)?,
            workgroup_size: workgroup_size(descriptor)?,
            limits: self.inner.limits,
            relaxed_accumulation: self.inner.relaxed_accumulation,
            profile: self.inner.profile,
            passes: self.inner.debug.passes(),
        })
    }

    /// Prints what is asked for about a pipeline, and gives it its shape.
    fn finish(
        &self,
        descriptor: &PipelineDescriptor<'_>,
        created: Created,
        mut times: CompileTimes,
    ) -> Pipeline {
        times.compile = created.compile;
        times.load = created.load;
        self.inner.debug.print_dumps(&created.dumps);
        let pipeline = created.pipeline;
        self.inner.debug.print_time(&format!(
            "{}: translate {:?}, optimize {:?}, compile {:?}, load {:?}{}",
            pipeline.name(),
            times.translate,
            times.optimize,
            times.compile,
            times.load,
            if times.cached { ", from a cache" } else { "" }
        ));
        let shape = Shape {
            device: self.inner.id,
            name: pipeline.name().to_owned(),
            bindings: pipeline.bindings().to_vec(),
            declared: descriptor.module.declared().to_vec(),
            push_bytes: pipeline.push_bytes(),
            workgroup_size: pipeline.workgroup_size(),
            subgroup_size: pipeline.subgroup_size(),
            shared_bytes: pipeline.shared_bytes(),
            times,
        };
        Pipeline { code: Code::Cpu(pipeline), shape: Arc::new(shape) }
    }

    /// The subgroup size that is asked for, or the device's own.
    fn subgroup_size(&self, descriptor: &PipelineDescriptor<'_>) -> u32 {
        descriptor.subgroup_size.unwrap_or(self.inner.info.default_subgroup_size)
    }

    /// The same, if the device has it.
    fn checked_subgroup_size(&self, descriptor: &PipelineDescriptor<'_>) -> Result<u32, Error> {
        let found = self.subgroup_size(descriptor);
        if SUBGROUP_SIZES.contains(&found) {
            Ok(found)
        } else {
            Err(Error::SubgroupSize { expected: SUBGROUP_SIZES.to_vec(), found })
        }
    }

    /// Hashes all that decides about a pipeline's code.
    fn cache_key(
        &self,
        cpu: &phalanx_cpu::Device,
        descriptor: &PipelineDescriptor<'_>,
        subgroup_size: u32,
    ) -> CacheKey {
        let entry = descriptor.entry.map_or(String::new(), |name| format!("entry {name}"));
        let numbers = format!(
            "{subgroup_size} {:?} {:?} {:?} relaxed accumulation {}",
            descriptor.workgroup_size,
            specialization(descriptor),
            self.inner.limits,
            self.inner.relaxed_accumulation,
        );
        let source = match descriptor.module.source() {
            Source::Spirv(words) => bytemuck::cast_slice(words),
            // Code holds source positions, and with them the name.
            Source::Mlir(mlir) => {
                let parts = [b"mlir", mlir.text.as_bytes(), mlir.name.as_bytes()];
                return cpu.cache_key(&[parts[0], parts[1], parts[2], entry.as_bytes(), numbers.as_bytes()]);
            }
        };
        cpu.cache_key(&[source, entry.as_bytes(), numbers.as_bytes()])
    }
}

/// What the compiler has to do before code is made. It owns all that it needs, as it may be left behind.
#[derive(Debug)]
struct Task {
    module: Module,
    entry: Option<String>,
    specialization: Vec<(u32, u64)>,
    subgroup_size: u32,
    workgroup_size: Option<[u32; 3]>,
    limits: front::Limits,
    relaxed_accumulation: bool,
    /// Whether code says where it is, which then has to be named.
    profile: bool,
    passes: passes::Options,
}

impl Task {
    /// SPIR-V or MLIR to optimised IR.
    fn optimize(&self) -> Result<(Verified, CompileTimes), Error> {
        let (module, translate) = self.translate()?;
        let start = Instant::now();
        let module = passes::optimize(module, &self.passes).map_err(|error| Error::bug(error.to_string()))?;
        let optimize = start.elapsed();
        Ok((module, CompileTimes { translate, optimize, ..CompileTimes::default() }))
    }

    /// IR to code.
    fn compile(&self, compiler: &Compiler, module: &Verified) -> Result<Compiled, Error> {
        let mut compiled = compiler.compile(module)?;
        if let (true, Source::Spirv(words)) = (self.profile, self.module.source()) {
            let functions = front::functions(words)?;
            compiled.name_functions(|word| {
                let index = functions.partition_point(|(start, _)| *start <= word).checked_sub(1)?;
                Some(functions[index].1.as_str())
            });
        }
        Ok(compiled)
    }

    /// SPIR-V or MLIR to verified IR.
    fn translate(&self) -> Result<(Verified, Duration), Error> {
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

/// The work-group size that is asked for, if it can be.
pub(crate) fn workgroup_size(descriptor: &PipelineDescriptor<'_>) -> Result<Option<[u32; 3]>, Error> {
    match (descriptor.workgroup_size, descriptor.module.source()) {
        (Some(found), Source::Spirv(_)) => Err(Error::WorkgroupSize { found }),
        (wanted, _) => Ok(wanted),
    }
}

/// The specialisation constants, each once and in order.
fn specialization(descriptor: &PipelineDescriptor<'_>) -> Vec<(u32, u64)> {
    let values = descriptor.specialization.iter().map(|&(id, value)| (id, value.bits()));
    values.collect::<std::collections::BTreeMap<_, _>>().into_iter().collect()
}

/// A time limit: the option, else what an environment variable says in seconds, else the default.
pub(crate) fn limit(option: Option<Duration>, variable: &'static str) -> Result<Option<Duration>, Error> {
    if option.is_some() {
        return Ok(option);
    }
    let Ok(text) = std::env::var(variable) else { return Ok(Some(DEFAULT_TIMEOUT)) };
    let seconds = text.trim().parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    match seconds {
        Some(Duration::ZERO) => Ok(None),
        Some(limit) => Ok(Some(limit)),
        None => {
            let expected = "a number of seconds".to_owned();
            Err(Error::Setting { name: variable, expected, found: text })
        }
    }
}

/// The subgroup size of pipelines that ask for none.
fn default_subgroup_size(options: &DeviceOptions) -> Result<u32, Error> {
    let text = match options.subgroup_size {
        Some(size) => size.to_string(),
        None => std::env::var(SUBGROUP_SIZE_VARIABLE).unwrap_or_default(),
    };
    match text.trim() {
        "" => Ok(DEFAULT_SUBGROUP_SIZE),
        text => text.parse().ok().filter(|size| SUBGROUP_SIZES.contains(size)).ok_or_else(|| {
            let expected = format!("one of {SUBGROUP_SIZES:?}");
            Error::Setting { name: SUBGROUP_SIZE_VARIABLE, expected, found: text.to_owned() }
        }),
    }
}

/// What is done about addresses that lead nowhere.
fn addresses(options: &DeviceOptions) -> Result<Addresses, Error> {
    let text = std::env::var(ADDRESSES_VARIABLE).unwrap_or_default();
    match (options.addresses, text.trim()) {
        (Some(addresses), _) => Ok(addresses),
        (None, "trust") => Ok(Addresses::Trust),
        (None, "" | "catch") => Ok(Addresses::Catch),
        (None, "check") => Ok(Addresses::Check),
        (None, found) => Err(Error::Setting {
            name: ADDRESSES_VARIABLE,
            expected: "one of trust, catch, check".to_owned(),
            found: found.to_owned(),
        }),
    }
}

fn describe(
    kind: DeviceKind,
    threads: usize,
    processor: Option<Processor>,
    default_subgroup_size: u32,
    limits: &front::Limits,
) -> DeviceInfo {
    let name = match kind {
        DeviceKind::Cpu => info::processor_name(),
        DeviceKind::Interpreter => "interpreter".to_owned(),
    };
    DeviceInfo {
        name,
        cores: phalanx_cpu::usable_cores(),
        threads,
        processor,
        instruction_sets: instruction_sets(processor),
        subgroup_sizes: SUBGROUP_SIZES.to_vec(),
        default_subgroup_size,
        max_workgroup_invocations: limits.workgroup_invocations,
        max_shared_bytes: limits.shared_bytes,
        max_push_bytes: limits.push_bytes,
        max_matrix_dimension: front::MAX_MATRIX_DIMENSION,
        max_matrix_elements: front::MAX_MATRIX_ELEMENTS,
        matrix_scopes: vec![Scope::Subgroup, Scope::Workgroup],
        matrix_types: info::matrix_types(),
        preferred_shapes: info::preferred_shapes(),
        vector_types: crate::vector::vector_types(),
    }
}

/// What code uses beyond the architecture's base; that vectors may have 512 bits is no set of instructions.
fn instruction_sets(processor: Option<Processor>) -> Vec<String> {
    let features = processor.into_iter().flat_map(Processor::features);
    features.filter(|feature| *feature != "evex512").map(str::to_owned).collect()
}

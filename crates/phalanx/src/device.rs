//! Devices.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytemuck::NoUninit;
use phalanx_front_spirv as front;
use phalanx_host::{Addresses, Allocation, CacheKey, CancelToken, SealedCode};
use phalanx_kernels::Processor;

use crate::buffer::Buffer;
use crate::debug::Debug;
use crate::dispatch::{Dispatch, DispatchReport, RawDispatch, Step};
use crate::error::Error;
use crate::info::{self, DeviceInfo};
use crate::module::{Module, Source};
use crate::pipeline::{Insides, Pipeline, PipelineDescriptor, Shape};
use crate::profile::Profile;
use crate::targets::{self, Built, Machine, Start, Target};
use crate::translate::Task;

/// Time after which a dispatch is stopped or compiling is given up, unless options, environment or dispatch say
/// otherwise.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Environment variable with that time in seconds; 0 for no limit.
pub const TIMEOUT_VARIABLE: &str = "PHALANX_TIMEOUT";

/// The same for compiling.
pub(crate) const COMPILE_TIMEOUT_VARIABLE: &str = "PHALANX_COMPILE_TIMEOUT";

/// Invocations of a subgroup, unless options, environment or pipeline say otherwise.
const DEFAULT_SUBGROUP_SIZE: u32 = 32;

/// Environment variable with that number.
const SUBGROUP_SIZE_VARIABLE: &str = "PHALANX_SUBGROUP_SIZE";

/// Kinds of devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// The processor, at its speed.
    #[default]
    Cpu,
    /// The reference: executes the IR literally. Thousands of times slower; for comparing results.
    Interpreter,
    /// A GPU of NVIDIA, by its number.
    Cuda {
        /// Its number, as the driver counts them.
        ordinal: u32,
    },
}

impl DeviceKind {
    /// The kinds that this machine has for programs: the processor, and GPUs that code is made for.
    pub fn available() -> Vec<Self> {
        let gpus = phalanx_cuda::Properties::all().into_iter().map(|(ordinal, _)| Self::Cuda { ordinal });
        std::iter::once(Self::Cpu).chain(gpus).collect()
    }

    /// What names there are.
    pub const EXPECTED: &'static str = "cpu, interpreter, cuda:0 or another number";
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Interpreter => f.write_str("interpreter"),
            Self::Cuda { ordinal } => write!(f, "cuda:{ordinal}"),
        }
    }
}

/// A name that no kind of device has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no device is called `{found}`: expected {}", DeviceKind::EXPECTED)]
pub struct UnknownDevice {
    found: String,
}

impl FromStr for DeviceKind {
    type Err = UnknownDevice;

    /// Reads `cpu`, `interpreter`, `cuda` or `cuda:1`.
    fn from_str(name: &str) -> Result<Self, UnknownDevice> {
        let unknown = || UnknownDevice { found: name.to_owned() };
        match name {
            "cpu" => Ok(Self::Cpu),
            "interpreter" => Ok(Self::Interpreter),
            "cuda" => Ok(Self::Cuda { ordinal: 0 }),
            _ => {
                let number = name.strip_prefix("cuda:").ok_or_else(unknown)?;
                number.parse().map(|ordinal| Self::Cuda { ordinal }).map_err(|_error| unknown())
            }
        }
    }
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
    target: Box<dyn Target>,
    info: DeviceInfo,
    limits: front::Limits,
    relaxed_accumulation: bool,
    profile: bool,
    debug: Debug,
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
        let target = targets::start(&Start { options, timeout, compile_timeout, debug })?;
        let machine = target.machine();
        let subgroup_size = default_subgroup_size(options, &machine)?;
        let limits = machine.limits;
        let inner = Inner {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            target,
            info: describe(machine, subgroup_size),
            limits,
            relaxed_accumulation: options.relaxed_accumulation,
            profile: options.profile,
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
        let machine = targets::machine(options)?;
        let subgroup_size = default_subgroup_size(options, &machine)?;
        Ok(describe(machine, subgroup_size))
    }

    /// Whether this process is a copy, by `fork`, of the one that made the device. The device runs nothing here.
    pub fn is_forked(&self) -> bool {
        self.inner.target.is_forked()
    }

    /// What it is and offers.
    pub fn info(&self) -> &DeviceInfo {
        &self.inner.info
    }

    /// Where the time of its dispatches went so far; nothing without [`DeviceOptions::profile`], and of the interpreter.
    pub fn profile(&self) -> Profile {
        self.inner.target.profile()
    }

    /// A buffer of `size` bytes, all zero.
    ///
    /// # Errors
    ///
    /// When there is no memory.
    pub fn create_buffer(&self, size: u64) -> Result<Buffer, Error> {
        self.inner.target.create_buffer(size)
    }

    /// Tells the device of memory that it did not allocate and that kernels may go to, by address or through
    /// [`Descriptor::from_raw`](crate::Descriptor::from_raw), until the result is dropped. The interpreter knows no such memory.
    ///
    /// # Errors
    ///
    /// When a GPU cannot reach it: one that does not read the host's pages by itself wants memory that its driver can lock.
    pub fn lend(&self, address: u64, size: u64) -> Result<Option<Allocation>, Error> {
        self.inner.target.lend(address, size)
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
        let target = &self.inner.target;
        let key = self.cache_key(descriptor, task.subgroup_size);
        // What is to be looked at is compiled.
        let known = key.filter(|_| !self.inner.debug.looks_inside());
        let built = match known.and_then(|key| target.cached(&key)) {
            Some(built) => built,
            None => target.build(task, key.as_ref(), cancel)?,
        };
        Ok(self.finish(descriptor, built))
    }

    /// Identifies what [`Device::create_pipeline`] would compile; the interpreter compiles nothing.
    pub fn pipeline_key(&self, descriptor: &PipelineDescriptor<'_>) -> Option<CacheKey> {
        self.cache_key(descriptor, self.subgroup_size(descriptor))
    }

    /// A pipeline that need not be compiled: one that the device remembers, else one of `code`, which
    /// [`Pipeline::code`] gave. Code of something else, or of another machine or version, is ignored.
    pub fn cached_pipeline(
        &self,
        descriptor: &PipelineDescriptor<'_>,
        code: Option<&SealedCode>,
    ) -> Option<Pipeline> {
        if self.inner.debug.looks_inside() {
            return None;
        }
        let (target, key) = (&self.inner.target, self.pipeline_key(descriptor)?);
        let code = code.filter(|code| *code.key() == key);
        let built = target.cached(&key).or_else(|| target.load(code?))?;
        Some(self.finish(descriptor, built))
    }

    /// Compiles an entry point of a module, whether it is cached or not, and tells what it became on the way.
    ///
    /// # Errors
    ///
    /// As [`Device::create_pipeline`].
    pub fn create_pipeline_with_insides(
        &self,
        descriptor: &PipelineDescriptor<'_>,
    ) -> Result<(Pipeline, Insides), Error> {
        let task = self.task(descriptor)?;
        let key = self.cache_key(descriptor, task.subgroup_size);
        let (built, insides) = self.inner.target.build_with_insides(task, key.as_ref())?;
        Ok((self.finish(descriptor, built), insides))
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
        self.check_owner(dispatch.pipeline)?;
        self.inner.target.dispatch(&*dispatch.pipeline.code, dispatch)
    }

    /// Runs a dispatch whose descriptors are in the pipeline's order, and waits for its end.
    ///
    /// # Errors
    ///
    /// As [`Device::dispatch`]; the interpreter does not support it.
    pub fn dispatch_raw(&self, dispatch: &RawDispatch<'_>) -> Result<DispatchReport, Error> {
        self.check_owner(dispatch.pipeline)?;
        self.inner.target.dispatch_raw(&*dispatch.pipeline.code, dispatch)
    }

    /// Runs dispatches that do not depend on each other, side by side, and waits for the end of all. There is a result for
    /// each, in their order; where one fails, others may be [`Error::Cancelled`]. What each report says elapsed is the time
    /// of all. On the interpreter, and where a profiler looks, they run one after the other.
    ///
    /// ```
    /// # use phalanx::{Binding, Device, DeviceOptions, Dispatch, PipelineDescriptor, glsl};
    /// let words = glsl::compile(
    ///     "#version 450
    ///     layout(local_size_x = 32) in;
    ///     layout(set = 0, binding = 0) buffer Data { uint x[]; };
    ///     void main() { x[gl_GlobalInvocationID.x] += 1; }",
    ///     &glsl::GlslOptions::default(),
    /// )?;
    /// let device = Device::new(&DeviceOptions::default())?;
    /// let pipeline = device.create_pipeline(&PipelineDescriptor::new(&device.create_module(&words)?))?;
    /// let [a, b] = [device.create_buffer(128)?, device.create_buffer(128)?];
    /// let bindings = [&a, &b].map(|buffer| [Binding::new(0, 0, buffer)]);
    /// let dispatches = bindings.each_ref().map(|bindings| Dispatch { bindings, ..Dispatch::new(&pipeline, [1; 3]) });
    /// device.dispatch_all(&dispatches).into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(b.read_slice::<u32>(0, 32)?, [1; 32]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dispatch_all(&self, dispatches: &[Dispatch<'_>]) -> Vec<Result<DispatchReport, Error>> {
        if dispatches.iter().any(|dispatch| self.check_owner(dispatch.pipeline).is_err()) {
            return others(dispatches.len());
        }
        self.inner.target.dispatch_all(dispatches)
    }

    /// The same of dispatches whose descriptors are in the pipeline's order.
    pub fn dispatch_all_raw(&self, dispatches: &[RawDispatch<'_>]) -> Vec<Result<DispatchReport, Error>> {
        if dispatches.iter().any(|dispatch| self.check_owner(dispatch.pipeline).is_err()) {
            return others(dispatches.len());
        }
        self.inner.target.dispatch_all_raw(dispatches)
    }

    /// Whether dispatches, copies and fills are handed to a machine of its own that does them in order, so that
    /// [`Device::run_in_order`] is quicker than waiting between them: a GPU.
    pub fn has_order(&self) -> bool {
        self.inner.target.has_order()
    }

    /// Does steps, each when all before it have ended, and waits for the end of all. There is a result for each, in their
    /// order, of which copies and fills tell nothing. A dispatch that does not fit its pipeline is left out; where another
    /// step fails, those behind it are [`Error::Cancelled`]. What each report says elapsed is the time of all.
    pub fn run_in_order(&self, steps: &[Step<'_>]) -> Vec<Result<DispatchReport, Error>> {
        let is_other = |step: &Step<'_>| match step {
            Step::Dispatch(dispatch) => self.check_owner(dispatch.pipeline).is_err(),
            Step::Copy { .. } | Step::Fill { .. } => false,
        };
        if steps.iter().any(is_other) {
            return others(steps.len());
        }
        self.inner.target.run_in_order(steps)
    }

    /// Does `piece` for each number below `count` on the device's threads, each number once and in no order, and waits for
    /// the end of all: for copies of memory and the like, which one thread does not do at the speed of the machine.
    ///
    /// # Errors
    ///
    /// When a piece panics.
    pub fn run_pieces(&self, count: u64, piece: impl Fn(u64) + Send + Sync + 'static) -> Result<(), Error> {
        self.inner.target.run_pieces(count, Box::new(piece))
    }

    fn check_owner(&self, pipeline: &Pipeline) -> Result<(), Error> {
        if pipeline.shape.device == self.inner.id {
            Ok(())
        } else {
            Err(Error::OtherDevice { what: "pipeline" })
        }
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

    /// Prints how long making a pipeline took, if asked for, and gives it its shape.
    fn finish(&self, descriptor: &PipelineDescriptor<'_>, built: Built) -> Pipeline {
        let Built { code, times } = built;
        let interface = code.interface();
        self.inner.debug.print_time(&format!(
            "{}: translate {:?}, optimize {:?}, compile {:?}, load {:?}{}",
            interface.name,
            times.translate,
            times.optimize,
            times.compile,
            times.load,
            if times.cached { ", from a cache" } else { "" }
        ));
        let declared = descriptor.module.declared().to_vec();
        Pipeline { code, shape: Arc::new(Shape { device: self.inner.id, interface, declared, times }) }
    }

    /// The subgroup size that is asked for, or the device's own.
    fn subgroup_size(&self, descriptor: &PipelineDescriptor<'_>) -> u32 {
        descriptor.subgroup_size.unwrap_or(self.inner.info.default_subgroup_size)
    }

    /// The same, if the device has it.
    fn checked_subgroup_size(&self, descriptor: &PipelineDescriptor<'_>) -> Result<u32, Error> {
        let found = self.subgroup_size(descriptor);
        let expected = &self.inner.info.subgroup_sizes;
        if expected.contains(&found) {
            Ok(found)
        } else {
            Err(Error::SubgroupSize { expected: expected.clone(), found })
        }
    }

    /// Hashes all that decides about a pipeline's code.
    fn cache_key(&self, descriptor: &PipelineDescriptor<'_>, subgroup_size: u32) -> Option<CacheKey> {
        let target = &self.inner.target;
        let entry = descriptor.entry.map_or(String::new(), |name| format!("entry {name}"));
        let numbers = format!(
            "{subgroup_size} {:?} {:?} {:?} relaxed accumulation {}",
            descriptor.workgroup_size,
            specialization(descriptor),
            self.inner.limits,
            self.inner.relaxed_accumulation,
        );
        let mut parts = match descriptor.module.source() {
            Source::Spirv(words) => vec![bytemuck::cast_slice(words)],
            // Code holds source positions, and with them the name.
            Source::Mlir(mlir) => vec![b"mlir".as_slice(), mlir.text.as_bytes(), mlir.name.as_bytes()],
        };
        parts.extend([entry.as_bytes(), numbers.as_bytes()]);
        target.cache_key(&parts)
    }
}

/// The work-group size that is asked for, if it can be.
pub(crate) fn workgroup_size(descriptor: &PipelineDescriptor<'_>) -> Result<Option<[u32; 3]>, Error> {
    match (descriptor.workgroup_size, descriptor.module.source()) {
        (Some(found), Source::Spirv(_)) => Err(Error::WorkgroupSize { found }),
        (wanted, _) => Ok(wanted),
    }
}

/// Of dispatches one of which has another device's pipeline: none runs.
fn others(count: usize) -> Vec<Result<DispatchReport, Error>> {
    (0..count).map(|_| Err(Error::OtherDevice { what: "pipeline" })).collect()
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
fn default_subgroup_size(options: &DeviceOptions, machine: &Machine) -> Result<u32, Error> {
    let text = match options.subgroup_size {
        Some(size) => size.to_string(),
        None => std::env::var(SUBGROUP_SIZE_VARIABLE).unwrap_or_default(),
    };
    match text.trim() {
        "" => Ok(DEFAULT_SUBGROUP_SIZE),
        text => text.parse().ok().filter(|size| machine.subgroup_sizes.contains(size)).ok_or_else(|| {
            let expected = format!("one of {:?}", machine.subgroup_sizes);
            Error::Setting { name: SUBGROUP_SIZE_VARIABLE, expected, found: text.to_owned() }
        }),
    }
}

fn describe(machine: Machine, default_subgroup_size: u32) -> DeviceInfo {
    let Machine {
        name,
        threads,
        processor,
        limits,
        subgroup_sizes,
        matrix_scopes,
        distribution,
        max_matrix_elements,
        matrix_types,
        has_samplers,
        has_vectors,
        inferencing,
        gpu,
    } = machine;
    let has_matrices = !matrix_scopes.is_empty();
    DeviceInfo {
        name,
        cores: phalanx_cpu::usable_cores(),
        threads,
        processor,
        instruction_sets: instruction_sets(processor),
        subgroup_sizes: subgroup_sizes.to_vec(),
        default_subgroup_size,
        max_workgroup_invocations: limits.workgroup_invocations,
        max_shared_bytes: limits.shared_bytes,
        max_push_bytes: limits.push_bytes,
        max_matrix_dimension: front::MAX_MATRIX_DIMENSION,
        max_matrix_elements,
        matrix_scopes: matrix_scopes.to_vec(),
        distribution,
        matrix_types: if has_matrices { matrix_types } else { Vec::new() },
        preferred_shapes: if has_matrices { info::preferred_shapes() } else { Vec::new() },
        gpu,
        has_samplers,
        vector_types: if has_vectors { crate::vector::vector_types() } else { Vec::new() },
        inferencing,
    }
}

/// What code uses beyond the architecture's base; that vectors may have 512 bits is no set of instructions.
fn instruction_sets(processor: Option<Processor>) -> Vec<String> {
    let features = processor.into_iter().flat_map(Processor::features);
    features.filter(|feature| *feature != "evex512").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_devices_have_names() {
        for kind in [DeviceKind::Cpu, DeviceKind::Interpreter, DeviceKind::Cuda { ordinal: 3 }] {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert_eq!("cuda".parse(), Ok(DeviceKind::Cuda { ordinal: 0 }));
        for wrong in ["", "gpu", "cuda:", "cuda:-1", "cuda:x", "CPU"] {
            let error = wrong.parse::<DeviceKind>().unwrap_err();
            assert!(error.to_string().contains("cuda:0"), "{error}");
        }
    }
}

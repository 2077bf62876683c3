//! A GPU.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use phalanx_back_nvptx::{Arch, Compiled, abi};
use phalanx_host::{Allocation, Allocations, Buffer, CacheKey, SealedCode, build_id};
use phalanx_ir::Verified;

use crate::binary::Binary;
use crate::code::{self, Pipeline};
use crate::context::{self, Context};
use crate::driver;
use crate::error::Error;
use crate::launch::{self, Dispatch, Queue, Report, Step};
use crate::memory;
use crate::profile::{Profiler, Seen};

/// What a GPU is and has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Its name.
    pub name: String,
    /// What code is made for it.
    pub arch: Arch,
    /// What it can do: major and minor number.
    pub capability: (u32, u32),
    /// The driver, whose assembler makes its code.
    pub driver: String,
    /// The number that its vendor gave its kind, among devices of PCI; 0 where the system does not tell.
    pub device_id: u32,
    /// Its number of multiprocessors.
    pub multiprocessors: u32,
    /// Most subgroups that one of them holds at a time.
    pub resident_subgroups: u32,
    /// Bytes of its memory.
    pub memory_bytes: u64,
    /// Most bytes that a work-group shares.
    pub shared_bytes: u32,
    /// Most invocations of a work-group.
    pub workgroup_invocations: u32,
    /// Whether it reads and writes all memory of the host by itself.
    pub reaches_host: bool,
    /// Cycles a second, at most.
    pub clock_hz: u64,
}

/// What a GPU does at most, in operations a second; a multiplication and an addition are two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Multiply-adds of f32.
    pub f32_fma: f64,
    /// Products of matrices of f16 or bf16.
    pub f16_matrix: f64,
    /// Products of matrices of bytes or 8-bit floats.
    pub i8_matrix: f64,
}

impl Properties {
    /// Those of all GPUs that code is made for, by their numbers; none where there is no driver.
    pub fn all() -> Vec<(u32, Self)> {
        let count = context::count().unwrap_or(0);
        (0..count).filter_map(|ordinal| Some((ordinal, Self::of(ordinal).ok()?))).collect()
    }

    /// Those of the GPU with this number, which is not opened.
    ///
    /// # Errors
    ///
    /// When there is no driver or no such GPU, or code is not made for GPUs of its kind.
    pub fn of(ordinal: u32) -> Result<Self, Error> {
        let device = context::device(ordinal)?;
        let name = context::name(device)?;
        let get = |attribute| context::attribute(device, attribute);
        let unsupported = |what: String| Error::UnsupportedGpu { name: name.clone(), what };
        let major = get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let arch = Arch::of_capability(major, minor).ok_or_else(|| {
            unsupported(format!("its compute capability is {major}.{minor}, expected 8.0 or later"))
        })?;
        // Without it the host cannot look at memory while a kernel runs.
        if get(Attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)? == 0 {
            return Err(unsupported("host and GPU cannot use memory at the same time".to_owned()));
        }
        Ok(Self {
            arch,
            capability: (major, minor),
            driver: driver::version()?,
            device_id: context::device_id(device).unwrap_or(0),
            multiprocessors: get(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            resident_subgroups: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?
                / abi::SUBGROUP_SIZE,
            memory_bytes: context::memory(device)?,
            shared_bytes: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            workgroup_invocations: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            reaches_host: get(Attribute::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)? != 0,
            clock_hz: 1000 * u64::from(get(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?),
            name,
        })
    }
}

impl Properties {
    /// Names the kind of GPU and the driver that its code is for: code of another name is of no use.
    pub fn code_target(&self) -> String {
        let Self { arch, capability: (major, minor), driver, .. } = self;
        format!("{arch} {major}.{minor} {driver}")
    }

    /// What it does at most: what a multiprocessor does in a cycle, times their number and the highest clock. Under load the
    /// clock is lower, so nothing reaches it.
    pub fn rates(&self) -> Rates {
        // Operations of a multiprocessor in a cycle, as the architectures' white papers have them.
        let [f32_fma, f16_matrix, i8_matrix] = match self.arch {
            Arch::Sm80 => [128.0, 2048.0, 4096.0],
            Arch::Sm89 => [256.0, 1024.0, 2048.0],
            Arch::Sm90a => [256.0, 4096.0, 8192.0],
        };
        let cycles = f64::from(self.multiprocessors) * self.clock_hz as f64;
        Rates { f32_fma: f32_fma * cycles, f16_matrix: f16_matrix * cycles, i8_matrix: i8_matrix * cycles }
    }
}

/// A GPU that is open. It may be used from several threads at once; dispatches run one after the other.
#[derive(Debug)]
pub struct Gpu {
    context: Arc<Context>,
    properties: Properties,
    timeout: Option<Duration>,
    queue: Mutex<Queue>,
    lent: Allocations,
    profiler: Option<Mutex<Profiler>>,
}

impl Gpu {
    /// Opens the GPU with this number. A dispatch that states no limit ends after `timeout`. One that is profiled does one
    /// dispatch at a time, and tells what it saw of them ([`Gpu::seen`]).
    ///
    /// # Errors
    ///
    /// Those of [`Properties::of`], or what the driver says.
    pub fn open(ordinal: u32, timeout: Option<Duration>, profile: bool) -> Result<Self, Error> {
        let properties = Properties::of(ordinal)?;
        let context = Arc::new(Context::open(ordinal)?);
        let queue = Mutex::new(Queue::new(&context)?);
        let profiler = profile.then(|| Mutex::new(Profiler::new(&context, ordinal)));
        Ok(Self { context, properties, timeout, queue, lent: Allocations::default(), profiler })
    }

    /// What it is and has.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    /// Whether it can run nothing any more.
    pub fn is_lost(&self) -> bool {
        self.context.is_lost()
    }

    /// A buffer of zeros, which the host can read and write.
    ///
    /// # Errors
    ///
    /// When there is no memory.
    pub fn create_buffer(&self, size: u64) -> Result<Buffer, Error> {
        memory::managed(&self.context, size)
    }

    /// Lets kernels go to memory of the host that the driver did not allocate, until the result is dropped.
    ///
    /// # Errors
    ///
    /// When the GPU cannot reach it: unless it reads the host's pages by itself, the driver has to lock them.
    pub fn lend(&self, address: u64, size: u64) -> Result<Allocation, Error> {
        let registered = match self.properties.reaches_host {
            true => None,
            false => Some(memory::register(&self.context, address, size)?),
        };
        let lent = self.lent.lend(address, size);
        Ok(match registered {
            None => lent,
            Some(registered) => lent.with_owner(Box::new(registered)),
        })
    }

    /// A key for what the parts say, on this kind of GPU, with this driver and this compiler.
    pub fn cache_key(&self, parts: &[&[u8]]) -> CacheKey {
        let target = self.properties.code_target();
        CacheKey::new(&[&[build_id(), target.as_bytes()], parts].concat())
    }

    /// Makes code of PTX. With a key it can be kept.
    ///
    /// # Errors
    ///
    /// When the driver refuses it.
    pub fn create_pipeline(
        &self,
        module: &Verified,
        compiled: &Compiled,
        key: Option<&CacheKey>,
    ) -> Result<Pipeline, Error> {
        let binary = Binary {
            name: module.name.clone(),
            bindings: module.bindings.clone(),
            formats: module.formats.clone(),
            workgroup_size: module.workgroup_size,
            layout: compiled.layout.clone(),
            image: code::assemble(&self.context, &module.name, &compiled.ptx)?,
        };
        let sealed = key.map(|key| SealedCode::new(key, &binary.to_bytes()));
        Pipeline::load(&self.context, binary, sealed)
    }

    /// A pipeline of code that [`Pipeline::code`] gave. Code that cannot be loaded any more is nothing: it has to be compiled
    /// again.
    pub fn load(&self, code: &SealedCode) -> Option<Pipeline> {
        Pipeline::load(&self.context, Binary::from_bytes(code.payload())?, Some(code.clone())).ok()
    }

    /// Runs a dispatch and waits for its end.
    ///
    /// # Errors
    ///
    /// When it does not fit the pipeline, is stopped, or the GPU is lost.
    pub fn dispatch(&self, dispatch: &Dispatch<'_>) -> Result<Report, Error> {
        self.run(&[Step::Dispatch(*dispatch)]).pop().unwrap_or(Err(Error::Cancelled))
    }

    /// Does steps in order and waits for their end; there is a result for each. One that does not fit its pipeline is left
    /// out; behind one that is stopped or fails the others are [`Error::Cancelled`]. What reports say elapsed is the time of
    /// all that were handed over together.
    pub fn run(&self, steps: &[Step<'_>]) -> Vec<Result<Report, Error>> {
        // A queue is whole between steps, whatever became of the last ones.
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.profiler {
            None => queue.run(steps, self.timeout),
            Some(profiler) => {
                let mut profiler = profiler.lock().unwrap_or_else(PoisonError::into_inner);
                self.run_seen(&mut queue, &mut profiler, steps)
            }
        }
    }

    /// Does steps one by one.
    fn run_seen(
        &self,
        queue: &mut Queue,
        profiler: &mut Profiler,
        steps: &[Step<'_>],
    ) -> Vec<Result<Report, Error>> {
        let mut results = Vec::with_capacity(steps.len());
        for step in steps {
            if let Step::Dispatch(_) = step {
                profiler.begin();
            }
            let result = queue.run(std::slice::from_ref(step), self.timeout).pop();
            let result = result.unwrap_or(Err(Error::Cancelled));
            if let Step::Dispatch(dispatch) = step {
                profiler.end(dispatch.pipeline, result.as_ref().ok());
            }
            let is_end = result.as_ref().is_err_and(launch::is_end);
            results.push(result);
            if is_end {
                results.resize(steps.len(), Err(Error::Cancelled));
                break;
            }
        }
        results
    }

    /// What was seen of dispatches so far; nothing, unless it is profiled.
    pub fn seen(&self) -> Vec<Seen> {
        let profiler = self.profiler.as_ref().map(|it| it.lock().unwrap_or_else(PoisonError::into_inner));
        profiler.map_or_else(Vec::new, |profiler| profiler.seen())
    }
}

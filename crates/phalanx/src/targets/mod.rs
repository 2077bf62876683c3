//! What a kind of device is made of.
//!
//! A [`Target`] holds what a device has of a machine: memory, what makes code for it, and what runs that. A device knows its
//! target by this interface alone; which kinds there are is written in [`start`] and [`machine`], and nowhere else.

mod cpu;
mod cuda;
mod interpreter;

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use phalanx_cpu::Piece;
use phalanx_front_spirv::{Limits, MAX_MATRIX_ELEMENTS};
use phalanx_host::{Allocation, CacheKey, CancelToken, SealedCode};
use phalanx_ir::{Distribution, MatrixLayout, Scope, passes};
use phalanx_kernels::Processor;

use crate::buffer::Buffer;
use crate::debug::Debug;
use crate::device::{DeviceKind, DeviceOptions};
use crate::dispatch::{Dispatch, DispatchReport, RawDispatch, Step};
use crate::error::Error;
use crate::info::{self, GpuInfo, MatrixTypes};
use crate::pipeline::{CodeStatistics, CompileTimes, Insides, Interface};
use crate::profile::Profile;
use crate::translate::Task;

/// What runs kernels: it owns the memory, the compiler and the threads of a device.
pub(crate) trait Target: fmt::Debug + Send + Sync {
    /// What it runs on.
    fn machine(&self) -> Machine;

    /// A buffer of zeros.
    fn create_buffer(&self, size: u64) -> Result<Buffer, Error>;

    /// Learns of memory that it did not allocate, if its kernels can go there.
    fn lend(&self, _address: u64, _size: u64) -> Result<Option<Allocation>, Error> {
        Ok(None)
    }

    /// A key for what the parts say, on this target and with its compiler; nothing where code is not kept.
    fn cache_key(&self, _parts: &[&[u8]]) -> Option<CacheKey> {
        None
    }

    /// Code that was made with this key before.
    fn cached(&self, _key: &CacheKey) -> Option<Built> {
        None
    }

    /// Code that [`Code::sealed`] gave, if it can still be loaded.
    fn load(&self, _code: &SealedCode) -> Option<Built> {
        None
    }

    /// Makes code, and keeps it under its key.
    fn build(&self, task: Task, key: Option<&CacheKey>, cancel: Option<&CancelToken>)
    -> Result<Built, Error>;

    /// The same, telling what the module became on the way.
    fn build_with_insides(&self, task: Task, key: Option<&CacheKey>) -> Result<(Built, Insides), Error>;

    /// Runs a dispatch of code that this target made.
    fn dispatch(&self, code: &dyn Code, dispatch: &Dispatch<'_>) -> Result<DispatchReport, Error>;

    /// The same, with descriptors in the order of the code's bindings.
    fn dispatch_raw(&self, code: &dyn Code, dispatch: &RawDispatch<'_>) -> Result<DispatchReport, Error>;

    /// Runs dispatches that do not depend on each other.
    fn dispatch_all(&self, dispatches: &[Dispatch<'_>]) -> Vec<Result<DispatchReport, Error>> {
        dispatches.iter().map(|dispatch| self.dispatch(&*dispatch.pipeline.code, dispatch)).collect()
    }

    /// The same, with descriptors in the order of the code's bindings.
    fn dispatch_all_raw(&self, dispatches: &[RawDispatch<'_>]) -> Vec<Result<DispatchReport, Error>> {
        dispatches.iter().map(|dispatch| self.dispatch_raw(&*dispatch.pipeline.code, dispatch)).collect()
    }

    /// Whether it has a machine of its own that does steps in order.
    fn has_order(&self) -> bool {
        false
    }

    /// Does steps, each when all before it have ended.
    fn run_in_order(&self, steps: &[Step<'_>]) -> Vec<Result<DispatchReport, Error>> {
        let without_order = |step: &Step<'_>| match step {
            Step::Dispatch(dispatch) => self.dispatch_raw(&*dispatch.pipeline.code, dispatch),
            Step::Copy { .. } | Step::Fill { .. } => {
                Err(Error::Unsupported { what: "copies and fills by the device".to_owned() })
            }
        };
        steps.iter().map(without_order).collect()
    }

    /// Does pieces of something else, each once and in no order.
    fn run_pieces(&self, count: u64, piece: Piece) -> Result<(), Error> {
        (0..count).for_each(piece);
        Ok(())
    }

    /// Where the time of its dispatches went, if it was to look.
    fn profile(&self) -> Profile {
        Profile::default()
    }

    /// Whether this process is a copy of the one that started it.
    fn is_forked(&self) -> bool {
        false
    }
}

/// What a target made of a module. Only the target that made it knows more.
pub(crate) trait Code: Any + fmt::Debug + Send + Sync {
    /// What it takes, and in what groups its invocations are.
    fn interface(&self) -> Interface;

    /// What can be kept of it.
    fn sealed(&self) -> Option<&SealedCode> {
        None
    }

    /// What it needs.
    fn statistics(&self) -> CodeStatistics {
        CodeStatistics::default()
    }
}

/// Code as the target has it that made it.
fn own<T: Code>(code: &dyn Code) -> Result<&T, Error> {
    let code: &dyn Any = code;
    code.downcast_ref().ok_or(Error::OtherDevice { what: "pipeline" })
}

/// Code, and what making it took.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) code: Arc<dyn Code>,
    pub(crate) times: CompileTimes,
}

/// What a target runs on.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) name: String,
    /// Threads that a dispatch runs on.
    pub(crate) threads: usize,
    /// The processor that code is made for.
    pub(crate) processor: Option<Processor>,
    /// What modules may ask for.
    pub(crate) limits: Limits,
    /// Subgroup sizes that pipelines may ask for.
    pub(crate) subgroup_sizes: &'static [u32],
    /// Who may hold a matrix together; nobody where matrices are not multiplied.
    pub(crate) matrix_scopes: &'static [Scope],
    /// Which of its components belong to whom.
    pub(crate) distribution: Distribution,
    /// Most components of a matrix of a subgroup.
    pub(crate) max_matrix_elements: u64,
    /// The types that are multiplied, where matrices are.
    pub(crate) matrix_types: Vec<MatrixTypes>,
    /// Whether images are sampled.
    pub(crate) has_samplers: bool,
    /// Whether cooperative vectors are multiplied.
    pub(crate) has_vectors: bool,
    /// The layout of matrices that is best for that.
    pub(crate) inferencing: MatrixLayout,
    /// What a GPU is besides.
    pub(crate) gpu: Option<GpuInfo>,
}

impl Machine {
    /// One thread that does everything.
    fn whole(name: String, limits: Limits) -> Self {
        Self {
            name,
            threads: 1,
            processor: None,
            limits,
            subgroup_sizes: &[4, 8, 16, 32, 64, 128],
            matrix_scopes: &[Scope::Subgroup, Scope::Workgroup],
            distribution: passes::LANES.distribution,
            max_matrix_elements: MAX_MATRIX_ELEMENTS,
            matrix_types: info::matrix_types(),
            has_samplers: true,
            has_vectors: true,
            inferencing: passes::LANES.inferencing,
            gpu: None,
        }
    }
}

/// How to start a target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start<'a> {
    pub(crate) options: &'a DeviceOptions,
    /// Time after which a dispatch that states no other is stopped.
    pub(crate) timeout: Option<Duration>,
    /// Time after which making code is given up.
    pub(crate) compile_timeout: Option<Duration>,
    pub(crate) debug: Debug,
}

/// The target of a kind of device.
pub(crate) fn start(start: &Start<'_>) -> Result<Box<dyn Target>, Error> {
    Ok(match start.options.kind {
        DeviceKind::Cpu => Box::new(cpu::Cpu::new(start)?),
        DeviceKind::Cuda { ordinal } => Box::new(cuda::Cuda::new(ordinal, start)?),
        DeviceKind::Interpreter => Box::new(interpreter::Interpreter::new(start)),
    })
}

/// What the target of a kind of device would run on.
pub(crate) fn machine(options: &DeviceOptions) -> Result<Machine, Error> {
    match options.kind {
        DeviceKind::Cpu => cpu::machine(options),
        DeviceKind::Cuda { ordinal } => cuda::machine(ordinal),
        DeviceKind::Interpreter => Ok(interpreter::machine()),
    }
}

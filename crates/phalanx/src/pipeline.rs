//! Pipelines.

use std::sync::Arc;
use std::time::Duration;

use phalanx_host::SealedCode;
use phalanx_ir::BindingInfo;

use crate::module::{Module, SpecValue};
use crate::targets::Code;

/// What to make a pipeline of.
#[derive(Clone, Copy, Debug)]
pub struct PipelineDescriptor<'a> {
    /// The module.
    pub module: &'a Module,
    /// Name of the entry point; the only compute entry point without it.
    pub entry: Option<&'a str>,
    /// Values of specialisation constants, by their ids. The last of several counts.
    pub specialization: &'a [(u32, SpecValue)],
    /// Invocations of a subgroup; the device's default without it.
    pub subgroup_size: Option<u32>,
    /// Invocations of a work-group along each axis, of an entry point in MLIR that does not state others. Without it they
    /// are those of its launch in the text, and without that one subgroup. SPIR-V states its own.
    pub workgroup_size: Option<[u32; 3]>,
}

impl<'a> PipelineDescriptor<'a> {
    /// The module's only entry point, with all at its defaults.
    pub fn new(module: &'a Module) -> Self {
        Self { module, entry: None, specialization: &[], subgroup_size: None, workgroup_size: None }
    }
}

/// A compiled entry point. Clones refer to the same pipeline.
#[derive(Clone, Debug)]
pub struct Pipeline {
    pub(crate) code: Arc<dyn Code>,
    pub(crate) shape: Arc<Shape>,
}

/// What is known about a pipeline, whatever runs it.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) device: u64,
    pub(crate) interface: Interface,
    /// Set and binding of all buffers of the module.
    pub(crate) declared: Vec<(u32, u32)>,
    pub(crate) times: CompileTimes,
}

/// What code takes, and in what groups its invocations are.
#[derive(Debug)]
pub(crate) struct Interface {
    pub(crate) name: String,
    pub(crate) bindings: Vec<BindingInfo>,
    pub(crate) push_bytes: u32,
    pub(crate) workgroup_size: [u32; 3],
    pub(crate) subgroup_size: u32,
    pub(crate) shared_bytes: u32,
}

/// How long creating a pipeline took, by stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompileTimes {
    /// SPIR-V to IR, verified.
    pub translate: Duration,
    /// Passes over the IR.
    pub optimize: Duration,
    /// IR to machine code.
    pub compile: Duration,
    /// Loading the code.
    pub load: Duration,
    /// Whether the code came from a cache.
    pub cached: bool,
}

impl CompileTimes {
    /// All stages together.
    pub fn total(&self) -> Duration {
        self.translate + self.optimize + self.compile + self.load
    }
}

/// What the code of a pipeline needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeStatistics {
    /// Size of the object file.
    pub object_bytes: u64,
    /// Private memory of a subgroup, besides registers and stack.
    pub scratch_bytes: u64,
    /// Stack of a subgroup.
    pub stack_bytes: u64,
}

/// What a pipeline became on its way to what is executed, for people to read: its forms, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Insides(pub Vec<Representation>);

/// A form of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Representation {
    /// What it is, in a word or two.
    pub name: &'static str,
    /// What it is, in a few words more.
    pub description: &'static str,
    /// The text.
    pub text: String,
}

impl Pipeline {
    /// Name of the entry point.
    pub fn name(&self) -> &str {
        &self.shape.interface.name
    }

    /// The buffers that it uses.
    pub fn bindings(&self) -> &[BindingInfo] {
        &self.shape.interface.bindings
    }

    /// Bytes of push constants that it reads.
    pub fn push_bytes(&self) -> u32 {
        self.shape.interface.push_bytes
    }

    /// Invocations of a work-group along x, y and z.
    pub fn workgroup_size(&self) -> [u32; 3] {
        self.shape.interface.workgroup_size
    }

    /// Invocations of a subgroup.
    pub fn subgroup_size(&self) -> u32 {
        self.shape.interface.subgroup_size
    }

    /// Bytes that a work-group shares.
    pub fn shared_bytes(&self) -> u32 {
        self.shape.interface.shared_bytes
    }

    /// How long creating it took.
    pub fn compile_time(&self) -> Duration {
        self.shape.times.total()
    }

    /// How long the stages of creating it took.
    pub fn compile_times(&self) -> CompileTimes {
        self.shape.times
    }

    /// Its compiled code, to be kept for [`Device::cached_pipeline`](crate::Device::cached_pipeline).
    pub fn code(&self) -> Option<&SealedCode> {
        self.code.sealed()
    }

    /// What its code needs; all zero where there is none.
    pub fn statistics(&self) -> CodeStatistics {
        self.code.statistics()
    }
}

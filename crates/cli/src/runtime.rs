//! The only place that knows the library `phalanx`.
//!
//! The commands speak to these few types; connecting another version of the library, or another device, is a change
//! to this file alone.

#![expect(dead_code, reason = "the types are made by the library, which is not connected yet")]

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use serde::Serialize;

use crate::data::DType;
use crate::data::spec::SpecConstant;
use crate::ladder::Peak;

/// A machine that runs kernels.
#[derive(Debug)]
pub(crate) struct Device {
    info: DeviceInfo,
}

/// What a device offers.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DeviceInfo {
    pub(crate) name: String,
    pub(crate) cores: usize,
    /// How many threads its work-groups run on.
    pub(crate) threads: usize,
    pub(crate) instruction_sets: Vec<String>,
    pub(crate) subgroup_sizes: Vec<u32>,
    pub(crate) default_subgroup_size: u32,
    pub(crate) matrices: Vec<MatrixRow>,
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
    pub(crate) scope: String,
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

/// What a shader is and needs, for `check`, and for comparing it with a bind list.
#[derive(Debug, Clone)]
pub(crate) struct Reflection {
    pub(crate) version: String,
    pub(crate) entry_points: Vec<String>,
    pub(crate) local_size: Option<[u32; 3]>,
    pub(crate) capabilities: Vec<String>,
    pub(crate) extensions: Vec<String>,
    /// Matrix types with their shapes, as the shader writes them.
    pub(crate) matrices: Vec<String>,
    /// What a device must offer.
    pub(crate) requirements: Vec<String>,
    pub(crate) bindings: Vec<BindingInfo>,
    pub(crate) push_constant_bytes: usize,
    /// Identifier, name and default of each specialisation constant.
    pub(crate) constants: Vec<(u32, String, String)>,
}

/// A buffer that a shader declares.
#[derive(Debug, Clone)]
pub(crate) struct BindingInfo {
    pub(crate) set: u32,
    pub(crate) binding: u32,
    pub(crate) name: String,
    /// The number of descriptors, or nothing where the array is as long as the bind list makes it.
    pub(crate) count: Option<u32>,
    /// The element type, where the buffer is an array of numbers or vectors.
    pub(crate) element: Option<DType>,
    /// The smallest buffer that holds all fixed members.
    pub(crate) min_bytes: usize,
}

/// Memory that kernels read and write.
#[derive(Debug)]
pub(crate) struct Buffer {
    size: usize,
}

/// A compiled kernel.
#[derive(Debug)]
pub(crate) struct Pipeline {
    compile_time: Duration,
}

/// A buffer at its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Binding<'a> {
    pub(crate) set: u32,
    pub(crate) binding: u32,
    pub(crate) index: u32,
    pub(crate) buffer: &'a Buffer,
}

/// What distinguishes one pipeline of a module from another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PipelineOptions<'a> {
    pub(crate) entry: &'a str,
    pub(crate) constants: &'a [SpecConstant],
    pub(crate) subgroup_size: Option<u32>,
}

/// One run of a kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dispatch<'a> {
    pub(crate) pipeline: &'a Pipeline,
    pub(crate) groups: [u32; 3],
    pub(crate) bindings: &'a [Binding<'a>],
    pub(crate) push_constants: &'a [u8],
    pub(crate) timeout: Option<Duration>,
}

fn not_connected<T>() -> Result<T> {
    bail!("this build has no device")
}

/// Compiles GLSL to SPIR-V.
pub(crate) fn compile_glsl(_glsl: Glsl<'_>) -> Result<Vec<u32>> {
    not_connected()
}

/// Assembles SPIR-V from its text form.
pub(crate) fn assemble(_text: &str) -> Result<Vec<u32>> {
    not_connected()
}

/// Checks a module and describes it.
pub(crate) fn reflect(_words: &[u32], _constants: &[SpecConstant]) -> Result<Reflection> {
    not_connected()
}

/// Measures a peak, in 10⁹ operations a second.
pub(crate) fn peak(_peak: Peak, _threads: usize) -> Result<f64> {
    not_connected()
}

impl Device {
    /// This machine's CPU, with all of its cores or with so many threads.
    pub(crate) fn new(_threads: Option<usize>) -> Result<Self> {
        not_connected()
    }

    pub(crate) fn info(&self) -> &DeviceInfo {
        &self.info
    }

    pub(crate) fn create_buffer(&self, _size: usize) -> Result<Buffer> {
        not_connected()
    }

    /// From SPIR-V to machine code.
    pub(crate) fn create_pipeline(&self, _words: &[u32], _options: PipelineOptions<'_>) -> Result<Pipeline> {
        not_connected()
    }

    /// Runs a kernel to its end and says how long it took.
    pub(crate) fn dispatch(&self, _dispatch: Dispatch<'_>) -> Result<Duration> {
        not_connected()
    }
}

impl Buffer {
    pub(crate) fn write(&self, _bytes: &[u8]) -> Result<()> {
        not_connected()
    }

    /// The whole contents.
    pub(crate) fn read(&self) -> Result<Vec<u8>> {
        not_connected()
    }

    pub(crate) fn address(&self) -> u64 {
        0
    }
}

impl Pipeline {
    pub(crate) fn compile_time(&self) -> Duration {
        self.compile_time
    }
}

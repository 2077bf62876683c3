//! The only place that knows the library `phalanx`.
//!
//! The commands speak to these few types; connecting another version of the library, or another device, is a change
//! to this file alone.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
pub(crate) use phalanx::CancelToken;
use phalanx::{
    DeviceOptions, ErrorClass, MatrixInfo, ModuleInfo, MulAddInfo, PipelineDescriptor, SpecValue, TypeLayout,
    glsl,
};
use serde::Serialize;

use crate::data::DType;
use crate::data::spec::{SpecConstant, SpecNumber};
use crate::ladder::Peak;

/// A machine that runs kernels.
#[derive(Debug)]
pub(crate) struct Device {
    device: phalanx::Device,
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
#[derive(Debug, Clone, PartialEq)]
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
}

/// Whether an error is our own fault, and not the user's.
pub(crate) fn is_bug(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<phalanx::Error>())
        .any(|cause| cause.class() == ErrorClass::Bug)
}

/// Gives back the memory that compiling GLSL took.
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

/// Checks a module and describes it: the buffers and push constants of one entry point, or of all.
///
/// Every constant must be one that the module has.
pub(crate) fn reflect(words: &[u32], constants: &[SpecConstant], entry: Option<&str>) -> Result<Reflection> {
    let module = phalanx::Module::new(words)?;
    for constant in constants {
        let declared = &module.info().spec_constants;
        if !declared.iter().any(|known| known.id == constant.id) {
            let known: Vec<String> =
                declared.iter().map(|known| format!("{} {}", known.id, known.name)).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            bail!("the shader has no specialisation constant {}; it has {known}", constant.id);
        }
    }
    let values = spec_values(module.info(), constants)?;
    let info = module.info_with(&values)?;
    // The interpreter takes what the device takes, and does not compile it.
    let options = DeviceOptions { kind: phalanx::DeviceKind::Interpreter, ..DeviceOptions::default() };
    let checker = phalanx::Device::new(&options)?;
    for name in info.entry_points.iter().filter(|entry| entry.model == "GLCompute").map(|entry| &entry.name) {
        if entry.is_none_or(|entry| entry == name) {
            let descriptor = PipelineDescriptor {
                entry: Some(name),
                specialization: &values,
                ..PipelineDescriptor::new(&module)
            };
            checker.create_pipeline(&descriptor)?;
        }
    }
    if !info.unsupported.is_empty() {
        bail!("unsupported: the capability {} is not supported", info.unsupported.join(", "));
    }
    describe(&info, entry)
}

fn describe(info: &ModuleInfo, entry: Option<&str>) -> Result<Reflection> {
    let entries: Vec<_> =
        info.entry_points.iter().filter(|found| entry.is_none_or(|entry| entry == found.name)).collect();
    let Some(first) = entries.first() else {
        let known: Vec<&str> = info.entry_points.iter().map(|found| found.name.as_str()).collect();
        let wanted = entry.map_or_else(String::new, |entry| format!(" `{entry}`"));
        bail!("the shader has no entry point{wanted}; it has {}", known.join(", "));
    };
    let mut bindings: Vec<BindingInfo> = Vec::new();
    for layout in entries.iter().flat_map(|entry| &entry.bindings) {
        let view = BindingInfo {
            set: layout.info.set,
            binding: layout.info.binding,
            name: layout.info.name.clone(),
            count: layout.info.count,
            element: element(&layout.layout),
            min_bytes: end(&layout.layout) as usize,
        };
        if !bindings.contains(&view) {
            bindings.push(view);
        }
    }
    // A constant that is declared twice, as the width of a work-group is by glslang, is one for the user.
    let mut declared = info.spec_constants.clone();
    declared.dedup_by_key(|constant| constant.id);
    let constants = declared.iter().map(|constant| {
        let value = match constant.ty.name().parse::<DType>() {
            Ok(dtype) => dtype.value(constant.bits).to_string(),
            Err(_) => (constant.bits != 0).to_string(),
        };
        (constant.id, constant.name.clone(), value)
    });
    let (major, minor) = info.version;
    Ok(Reflection {
        version: format!("{major}.{minor}"),
        entry_points: info.entry_points.iter().map(|entry| entry.name.clone()).collect(),
        local_size: first.local_size,
        capabilities: info.capabilities.clone(),
        extensions: info.extensions.clone(),
        matrices: info.matrices.iter().copied().map(matrix).collect(),
        requirements: requirements(info),
        bindings,
        push_constant_bytes: entries.iter().map(|entry| entry.push_bytes as usize).max().unwrap_or(0),
        constants: constants.collect(),
    })
}

/// The type of the numbers that a buffer is an array of.
fn element(layout: &TypeLayout) -> Option<DType> {
    match layout {
        TypeLayout::Struct { members, .. } => match members.as_slice() {
            [member] if matches!(member.ty, TypeLayout::Array { .. }) => element(&member.ty),
            _ => None,
        },
        TypeLayout::Array { elem, .. } => match elem.as_ref() {
            TypeLayout::Struct { .. } => None,
            elem => element(elem),
        },
        TypeLayout::Scalar(scalar)
        | TypeLayout::Vector { scalar, .. }
        | TypeLayout::Matrix { scalar, .. } => scalar.name().parse().ok(),
        TypeLayout::Address => Some(DType::U64),
    }
}

/// Where the last byte of the fixed part of a type ends.
fn end(layout: &TypeLayout) -> u64 {
    let run = |count: u32, stride: u32, last: u64| match count {
        0 => 0,
        count => u64::from(count - 1) * u64::from(stride) + last,
    };
    let bytes = |scalar: &phalanx::ScalarType| u64::from(scalar.scalar.bits().div_ceil(8));
    match layout {
        TypeLayout::Scalar(scalar) => bytes(scalar),
        TypeLayout::Vector { scalar, n, stride } => run(*n, *stride, bytes(scalar)),
        TypeLayout::Matrix { scalar, columns, rows, stride, row_major } => {
            let (lines, length) = if *row_major { (rows, columns) } else { (columns, rows) };
            run(*lines, *stride, u64::from(*length) * bytes(scalar))
        }
        TypeLayout::Array { elem, len, stride } => run(len.unwrap_or(0), *stride, end(elem)),
        TypeLayout::Struct { members, .. } => {
            members.iter().map(|member| u64::from(member.offset) + end(&member.ty)).max().unwrap_or(0)
        }
        TypeLayout::Address => 8,
    }
}

/// A matrix type as `check` shows it.
fn matrix(info: MatrixInfo) -> String {
    let role = match info.ty.use_ {
        phalanx::Use::A => "A",
        phalanx::Use::B => "B",
        phalanx::Use::Accumulator => "accumulator",
        phalanx::Use::Any => "any use",
    };
    let (rows, columns, scope) = (info.ty.rows, info.ty.cols, info.ty.scope.name());
    format!("{} {rows}x{columns} {role}, one for each {scope}", info.elem().name())
}

/// What a device must offer, in Vulkan's words.
fn requirements(info: &ModuleInfo) -> Vec<String> {
    let vulkan = match info.version {
        (1, 0) => "Vulkan 1.0",
        (1, 1..=3) => "Vulkan 1.1",
        (1, 4 | 5) => "Vulkan 1.2",
        _ => "Vulkan 1.3",
    };
    let mut needs = vec![vulkan.to_owned()];
    let features = info
        .capabilities
        .iter()
        .filter_map(|name| FEATURES.iter().find(|(capability, _)| capability == name));
    for (_, feature) in features {
        if !needs.iter().any(|need| need == feature) {
            needs.push((*feature).to_owned());
        }
    }
    needs.extend(info.mul_adds.iter().map(mul_add));
    needs
}

/// A row of the cooperative-matrix properties.
fn mul_add(info: &MulAddInfo) -> String {
    let name = |matrix: MatrixInfo, signed| phalanx::ScalarType { signed, scalar: matrix.ty.elem }.name();
    let (a, b) = (name(info.a, info.flags.a_signed), name(info.b, info.flags.b_signed));
    let (c, result) = (name(info.c, info.flags.c_signed), name(info.result, info.flags.result_signed));
    let (m, n, k) = (info.result.ty.rows, info.result.ty.cols, info.a.ty.cols);
    let (saturating, scope) = (if info.flags.saturate { ", saturating" } else { "" }, info.a.ty.scope.name());
    format!("matrices of {m}x{n}x{k}: {a} * {b} + {c} -> {result}{saturating}, scope {scope}")
}

/// Which feature allows a capability, for those that a kernel may need.
const FEATURES: &[(&str, &str)] = &[
    ("Float16", "shaderFloat16"),
    ("Float64", "shaderFloat64"),
    ("Int8", "shaderInt8"),
    ("Int16", "shaderInt16"),
    ("Int64", "shaderInt64"),
    ("StorageBuffer8BitAccess", "storageBuffer8BitAccess"),
    ("UniformAndStorageBuffer8BitAccess", "uniformAndStorageBuffer8BitAccess"),
    ("StoragePushConstant8", "storagePushConstant8"),
    ("StorageBuffer16BitAccess", "storageBuffer16BitAccess"),
    ("UniformAndStorageBuffer16BitAccess", "uniformAndStorageBuffer16BitAccess"),
    ("StoragePushConstant16", "storagePushConstant16"),
    ("VulkanMemoryModel", "vulkanMemoryModel"),
    ("VulkanMemoryModelDeviceScope", "vulkanMemoryModelDeviceScope"),
    ("CooperativeMatrixKHR", "cooperativeMatrix"),
    ("CooperativeMatrixNV", "cooperativeMatrix (NV)"),
    ("CooperativeVectorNV", "cooperativeVector (NV)"),
    ("BFloat16TypeKHR", "shaderBFloat16Type"),
    ("BFloat16DotProductKHR", "shaderBFloat16DotProduct"),
    ("BFloat16CooperativeMatrixKHR", "shaderBFloat16CooperativeMatrix"),
    ("Float8EXT", "shaderFloat8"),
    ("Float8CooperativeMatrixEXT", "shaderFloat8CooperativeMatrix"),
    ("PhysicalStorageBufferAddresses", "bufferDeviceAddress"),
    ("VariablePointers", "variablePointers"),
    ("VariablePointersStorageBuffer", "variablePointersStorageBuffer"),
    ("RuntimeDescriptorArray", "runtimeDescriptorArray"),
    ("StorageBufferArrayNonUniformIndexing", "shaderStorageBufferArrayNonUniformIndexing"),
    ("UniformBufferArrayNonUniformIndexing", "shaderUniformBufferArrayNonUniformIndexing"),
    ("Int64Atomics", "shaderBufferInt64Atomics"),
    ("AtomicFloat32AddEXT", "shaderBufferFloat32AtomicAdd"),
    ("AtomicFloat64AddEXT", "shaderBufferFloat64AtomicAdd"),
    ("AtomicFloat16AddEXT", "shaderBufferFloat16AtomicAdd"),
    ("AtomicFloat32MinMaxEXT", "shaderBufferFloat32AtomicMinMax"),
    ("AtomicFloat64MinMaxEXT", "shaderBufferFloat64AtomicMinMax"),
    ("AtomicFloat16MinMaxEXT", "shaderBufferFloat16AtomicMinMax"),
    ("GroupNonUniform", "subgroup operations: basic"),
    ("GroupNonUniformVote", "subgroup operations: vote"),
    ("GroupNonUniformArithmetic", "subgroup operations: arithmetic"),
    ("GroupNonUniformBallot", "subgroup operations: ballot"),
    ("GroupNonUniformShuffle", "subgroup operations: shuffle"),
    ("GroupNonUniformShuffleRelative", "subgroup operations: relative shuffle"),
    ("GroupNonUniformClustered", "subgroup operations: clustered"),
    ("GroupNonUniformQuad", "subgroup operations: quad"),
    ("GroupNonUniformRotateKHR", "shaderSubgroupRotate"),
    ("GroupNonUniformPartitionedEXT", "subgroup operations: partitioned"),
    ("GroupNonUniformPartitionedNV", "subgroup operations: partitioned"),
    ("DotProduct", "shaderIntegerDotProduct"),
    ("WorkgroupMemoryExplicitLayoutKHR", "workgroupMemoryExplicitLayout"),
    ("WorkgroupMemoryExplicitLayout8BitAccessKHR", "workgroupMemoryExplicitLayout8BitAccess"),
    ("WorkgroupMemoryExplicitLayout16BitAccessKHR", "workgroupMemoryExplicitLayout16BitAccess"),
    ("ReplicatedCompositesEXT", "shaderReplicatedComposites"),
    ("UntypedPointersKHR", "shaderUntypedPointers"),
];

/// The bits of specialisation constants. One that the module does not have means nothing to it, and is left out.
fn spec_values(info: &ModuleInfo, constants: &[SpecConstant]) -> Result<Vec<(u32, SpecValue)>> {
    let mut values = Vec::with_capacity(constants.len());
    for constant in constants {
        let Some(declared) = info.spec_constants.iter().find(|known| known.id == constant.id) else {
            continue;
        };
        let name = declared.ty.name();
        let context = || format!("specialisation constant {} `{}` is {name}", declared.id, declared.name);
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

/// Measures a peak, in 10⁹ operations a second.
pub(crate) fn peak(peak: Peak, threads: usize) -> f64 {
    let rate = match peak {
        Peak::F32Fma => phalanx::peak::f32_fma(threads),
        Peak::Bf16Dot => phalanx::peak::bf16_dot(threads),
        Peak::I8Dot => phalanx::peak::i8_dot(threads),
    };
    rate / 1e9
}

impl Device {
    /// This machine's CPU, with all of its cores or with so many threads.
    pub(crate) fn new(threads: Option<usize>) -> Result<Self> {
        let device = phalanx::Device::new(&DeviceOptions { threads, ..DeviceOptions::default() })?;
        let info = device.info();
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
            scope: "subgroup".to_owned(),
        });
        let info = DeviceInfo {
            name: info.name.clone(),
            cores: info.cores,
            threads: info.threads,
            instruction_sets: info.instruction_sets.clone(),
            subgroup_sizes: info.subgroup_sizes.clone(),
            default_subgroup_size: info.default_subgroup_size,
            matrices: matrices.collect(),
        };
        Ok(Self { device, info })
    }

    pub(crate) fn info(&self) -> &DeviceInfo {
        &self.info
    }

    pub(crate) fn create_buffer(&self, size: usize) -> Result<Buffer> {
        Ok(Buffer(self.device.create_buffer(size as u64)?))
    }

    /// From SPIR-V to machine code.
    pub(crate) fn create_pipeline(&self, words: &[u32], options: PipelineOptions<'_>) -> Result<Pipeline> {
        let module = self.device.create_module(words)?;
        let descriptor = PipelineDescriptor {
            module: &module,
            entry: Some(options.entry),
            specialization: &spec_values(module.info(), options.constants)?,
            subgroup_size: options.subgroup_size,
        };
        Ok(Pipeline(self.device.create_pipeline(&descriptor)?))
    }

    /// Runs a kernel to its end and says how long it took, and what it printed.
    pub(crate) fn dispatch(&self, dispatch: Dispatch<'_>) -> Result<Report> {
        let bindings: Vec<phalanx::Binding<'_>> = dispatch
            .bindings
            .iter()
            .map(|bound| {
                phalanx::Binding::new(bound.set, bound.binding, &bound.buffer.0).at_index(bound.index)
            })
            .collect();
        let report = self.device.dispatch(&phalanx::Dispatch {
            bindings: &bindings,
            push_constants: dispatch.push_constants,
            timeout: Some(dispatch.timeout.unwrap_or(Duration::MAX)),
            cancel: dispatch.cancel,
            ..phalanx::Dispatch::new(&dispatch.pipeline.0, dispatch.groups)
        })?;
        Ok(Report { elapsed: report.elapsed, printed: report.printed })
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

    /// The whole contents.
    pub(crate) fn read_all(&self) -> Result<Vec<u8>> {
        Ok(self.0.read(0, self.0.size())?)
    }

    pub(crate) fn address(&self) -> u64 {
        self.0.device_address()
    }
}

impl Pipeline {
    pub(crate) fn compile_time(&self) -> Duration {
        self.0.compile_time()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reflected(declarations: &str, constants: &[&str]) -> Result<Reflection> {
        let source = format!(
            "#version 460\n#extension GL_EXT_shader_explicit_arithmetic_types : require\n{declarations}"
        );
        let glsl = Glsl { name: "a.comp", source: &source, definitions: &[], include_directories: &[] };
        let constants: Vec<SpecConstant> =
            constants.iter().map(|text| text.parse().expect("well formed")).collect();
        reflect(&compile_glsl(glsl)?, &constants, Some("main"))
    }

    #[test]
    fn buffers_are_described_as_the_shader_declares_them() {
        let shader = reflected(
            "layout(binding = 0) buffer Plain { u16vec2 x[]; } plain;
             layout(binding = 1) buffer Mixed { uint n; vec3 y[2]; float z[]; } mixed[3];
             layout(binding = 2) uniform Small { mat3x2 m; float s; } small;
             void main() { mixed[1].z[0] = plain.x[0].x + small.s; }",
            &[],
        )
        .expect("valid");
        let found: Vec<_> = shader
            .bindings
            .iter()
            .map(|binding| (binding.binding, binding.count, binding.element, binding.min_bytes))
            .collect();
        // Each vec3 takes 16 bytes but the last, and z begins where the array y ends with its stride; in a uniform
        // buffer each column takes 16 bytes.
        let expected = [(0, Some(1), Some(DType::U16), 0), (1, Some(3), None, 48), (2, Some(1), None, 52)];
        assert_eq!(found, expected);
    }

    #[test]
    fn constants_take_the_type_that_the_shader_gives_them() {
        let declarations = "layout(constant_id = 0) const int a = 1;
             layout(constant_id = 1) const bool b = false;
             layout(constant_id = 2) const double c = 1;
             layout(binding = 0) buffer B { double x[]; };
             void main() { x[0] = b ? a : c; }";
        let values = |constants: &[&str]| {
            reflected(declarations, constants)
                .map(|shader| shader.constants.into_iter().map(|(_, _, value)| value))
        };
        let all: Vec<String> = values(&["0=-3", "1=true", "2=0.5"]).expect("valid").collect();
        assert_eq!(all, ["-3", "true", "0.5"]);
        for (constant, expected) in [
            ("0=1.5", "constant 0 `a` is s32"),
            ("1=1", "constant 1 `b` is bool, not 1"),
            ("2=f32:1", "constant 2 `c` is f64, not f32"),
            ("9=1", "no specialisation constant 9; it has 0 a, 1 b, 2 c"),
        ] {
            let error = values(&[constant]).map(|_| ()).expect_err(constant).to_string();
            assert!(error.contains(expected), "{constant}: {error}");
        }
    }
}

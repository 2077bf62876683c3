//! What a device must offer to run a shader, in Vulkan's words.
//!
//! Most of it follows from the capabilities that a module declares. Two things do not: whether an atomic operation works
//! on buffers or on shared memory, and whether a layout keeps to the rules of std430 ([`Rules`]).

use phalanx::{AtomicInfo, AtomicKind, BindingKind, MatrixInfo, ModuleInfo, MulAddInfo, TypeLayout};

/// A matrix type as `check` shows it.
pub(super) fn matrix(info: MatrixInfo) -> String {
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
pub(super) fn requirements(info: &ModuleInfo) -> Vec<String> {
    let vulkan = match info.version {
        (1, 0) => "Vulkan 1.0",
        (1, 1..=3) => "Vulkan 1.1",
        (1, 4 | 5) => "Vulkan 1.2",
        _ => "Vulkan 1.3",
    };
    // MLIR is no module of Vulkan; only what its matrices need is said.
    let mut needs = if info.version == (0, 0) { Vec::new() } else { vec![vulkan.to_owned()] };
    let mut need = |feature: String| {
        if !needs.contains(&feature) {
            needs.push(feature);
        }
    };
    for capability in &info.capabilities {
        let known = FEATURES.iter().find(|(name, _)| name == capability);
        known.into_iter().for_each(|(_, feature)| need((*feature).to_owned()));
    }
    info.atomics.iter().filter_map(atomic).for_each(&mut need);
    layouts(info).into_iter().for_each(|feature| need(feature.to_owned()));
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

/// The feature that allows an atomic operation, beyond those that every device has.
fn atomic(info: &AtomicInfo) -> Option<String> {
    let place = if info.shared { "Shared" } else { "Buffer" };
    let (scalar, bits) = (info.ty.scalar, info.ty.scalar.bits());
    if scalar.is_int() {
        return (bits == 64).then(|| format!("shader{place}Int64Atomics"));
    }
    let what = match info.kind {
        AtomicKind::Access | AtomicKind::Other => "Atomics",
        AtomicKind::Add => "AtomicAdd",
        AtomicKind::MinMax => "AtomicMinMax",
    };
    Some(format!("shader{place}Float{bits}{what}"))
}

/// The features that allow how buffers and shared memory are laid out.
fn layouts(info: &ModuleInfo) -> Vec<&'static str> {
    let mut features = Vec::new();
    let entries = || info.entry_points.iter();
    for binding in entries().flat_map(|entry| &entry.bindings) {
        let feature = match (binding.info.kind, Rules::of(&binding.layout)) {
            (_, Rules::Scalar) => "scalarBlockLayout",
            (BindingKind::Uniform, Rules::Std430) => "uniformBufferStandardLayout",
            (BindingKind::Storage | BindingKind::Image(_) | BindingKind::Sampler, Rules::Std430)
            | (_, Rules::Std140) => continue,
        };
        features.push(feature);
    }
    let plain = entries().filter_map(|entry| entry.push.as_ref()).chain(&info.addressed);
    if plain.map(Rules::of).any(|rules| rules == Rules::Scalar) {
        features.push("scalarBlockLayout");
    }
    if info.shared_blocks.iter().map(Rules::of).any(|rules| rules == Rules::Scalar) {
        features.push("workgroupMemoryExplicitLayoutScalarBlockLayout");
    }
    features
}

/// Which feature allows a capability, for those that a kernel may need.
const FEATURES: &[(&str, &str)] = &[
    ("Float16", "shaderFloat16"),
    ("Float64", "shaderFloat64"),
    ("Int8", "shaderInt8"),
    ("Int16", "shaderInt16"),
    ("Int64", "shaderInt64"),
    ("Shader64BitIndexingEXT", "shader64BitIndexing"),
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
    ("CooperativeVectorTrainingNV", "cooperativeVectorTraining (NV)"),
    ("LongVectorEXT", "longVector"),
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
    ("StorageBufferArrayDynamicIndexing", "shaderStorageBufferArrayDynamicIndexing"),
    ("UniformBufferArrayDynamicIndexing", "shaderUniformBufferArrayDynamicIndexing"),
    ("UniformBufferArrayNonUniformIndexing", "shaderUniformBufferArrayNonUniformIndexing"),
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
    ("DotProductInputAll", "shaderIntegerDotProduct"),
    ("DotProductInput4x8Bit", "shaderIntegerDotProduct"),
    ("DotProductInput4x8BitPacked", "shaderIntegerDotProduct"),
    ("DeviceGroup", "device groups"),
    ("ShaderClockKHR", "shaderDeviceClock or shaderSubgroupClock"),
    ("QuadControlKHR", "shaderQuadControl"),
    ("ExpectAssumeKHR", "shaderExpectAssume"),
    ("FloatControls2", "shaderFloatControls2"),
    ("FMAKHR", "shaderFma"),
    ("DenormPreserve", "float controls: shaderDenormPreserve"),
    ("DenormFlushToZero", "float controls: shaderDenormFlushToZero"),
    ("SignedZeroInfNanPreserve", "float controls: shaderSignedZeroInfNanPreserve"),
    ("RoundingModeRTE", "float controls: shaderRoundingModeRTE"),
    ("RoundingModeRTZ", "float controls: shaderRoundingModeRTZ"),
    ("WorkgroupMemoryExplicitLayoutKHR", "workgroupMemoryExplicitLayout"),
    ("WorkgroupMemoryExplicitLayout8BitAccessKHR", "workgroupMemoryExplicitLayout8BitAccess"),
    ("WorkgroupMemoryExplicitLayout16BitAccessKHR", "workgroupMemoryExplicitLayout16BitAccess"),
    ("ReplicatedCompositesEXT", "shaderReplicatedComposites"),
    ("UntypedPointersKHR", "shaderUntypedPointers"),
];

/// The strictest rules for offsets and strides that a layout keeps to: Vulkan's *Offset and Stride Assignment*,
/// with relaxed blocks, which are part of Vulkan 1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rules {
    Std140,
    Std430,
    Scalar,
}

impl Rules {
    fn of(layout: &TypeLayout) -> Self {
        let kept = [Self::Std140, Self::Std430].into_iter().find(|rules| rules.allow(layout));
        kept.unwrap_or(Self::Scalar)
    }

    fn allow(self, layout: &TypeLayout) -> bool {
        match layout {
            TypeLayout::Scalar(_) | TypeLayout::Vector { .. } | TypeLayout::Address => true,
            TypeLayout::Matrix { stride, .. } => u64::from(*stride).is_multiple_of(self.alignment(layout)),
            TypeLayout::Array { elem, stride, .. } => {
                u64::from(*stride).is_multiple_of(self.alignment(layout)) && self.allow(elem)
            }
            TypeLayout::Struct { members, .. } => {
                // Behind a composite the next member starts no earlier than a second one of it would.
                let mut free = 0_u64;
                members.iter().all(|member| {
                    let (offset, alignment) = (u64::from(member.offset), self.alignment(&member.ty));
                    let is_placed = offset >= free
                        && match &member.ty {
                            TypeLayout::Vector { scalar, n, .. } => {
                                let component = u64::from(scalar.scalar.bytes());
                                offset.is_multiple_of(component)
                                    && !straddles(offset, u64::from(*n) * component)
                            }
                            _ => offset.is_multiple_of(alignment),
                        };
                    let is_simple = matches!(
                        member.ty,
                        TypeLayout::Scalar(_) | TypeLayout::Vector { .. } | TypeLayout::Address
                    );
                    let end = offset + super::reflection::end(&member.ty);
                    free = if is_simple { end } else { end.next_multiple_of(alignment) };
                    is_placed && self.allow(&member.ty)
                })
            }
        }
    }

    /// What offsets and strides of a type must be multiples of.
    fn alignment(self, layout: &TypeLayout) -> u64 {
        let vector = |scalar: &phalanx::ScalarType, n: u32| {
            u64::from(scalar.scalar.bytes()) * u64::from(n).next_power_of_two().min(4)
        };
        let composite = |alignment: u64| match self {
            Self::Std140 => alignment.next_multiple_of(16),
            Self::Std430 | Self::Scalar => alignment,
        };
        match layout {
            TypeLayout::Scalar(scalar) => u64::from(scalar.scalar.bytes()),
            TypeLayout::Vector { scalar, n, .. } => vector(scalar, *n),
            TypeLayout::Matrix { scalar, columns, rows, row_major, .. } => {
                composite(vector(scalar, if *row_major { *columns } else { *rows }))
            }
            TypeLayout::Array { elem, .. } => composite(self.alignment(elem)),
            TypeLayout::Struct { members, .. } => {
                composite(members.iter().map(|member| self.alignment(&member.ty)).max().unwrap_or(1))
            }
            TypeLayout::Address => 8,
        }
    }
}

/// Whether a vector lies across a border of 16 bytes that it could keep from.
fn straddles(offset: u64, size: u64) -> bool {
    if size > 16 { !offset.is_multiple_of(16) } else { size > 0 && offset / 16 != (offset + size - 1) / 16 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{Glsl, compile_glsl};

    /// What a shader with these declarations and this body needs, Vulkan's version aside.
    fn needs(declarations: &str, body: &str) -> Vec<String> {
        let source = format!(
            "#version 460
             #extension GL_EXT_scalar_block_layout : require
             #extension GL_EXT_shader_explicit_arithmetic_types : require
             #extension GL_EXT_shader_atomic_int64 : require
             #extension GL_EXT_shader_atomic_float : require
             #extension GL_EXT_shader_atomic_float2 : require
             #extension GL_EXT_buffer_reference : require
             {declarations}
             void main() {{ {body} }}"
        );
        let glsl = Glsl { name: "a.comp", source: &source, definitions: &[], include_directories: &[] };
        let module = phalanx::Module::new(&compile_glsl(glsl).expect(body)).expect(body);
        requirements(module.info()).split_off(1)
    }

    #[test]
    fn atomics_are_told_apart_by_their_memory() {
        let float = "layout(binding = 0) buffer B { float x[]; }; shared float s;";
        assert_eq!(needs(float, "atomicAdd(s, 1.0);"), ["shaderSharedFloat32AtomicAdd"]);
        assert_eq!(needs(float, "atomicAdd(x[0], 1.0);"), ["shaderBufferFloat32AtomicAdd"]);
        assert_eq!(needs(float, "atomicMax(s, 1.0);"), ["shaderSharedFloat32AtomicMinMax"]);
        assert_eq!(needs(float, "x[0] = atomicExchange(s, 1.0);"), ["shaderSharedFloat32Atomics"]);
        let long = "layout(binding = 0) buffer B { uint64_t x[]; }; shared uint64_t s;";
        assert_eq!(needs(long, "atomicAdd(s, 1ul);"), ["shaderInt64", "shaderSharedInt64Atomics"]);
        assert_eq!(needs(long, "atomicMin(x[0], 1ul);"), ["shaderInt64", "shaderBufferInt64Atomics"]);
        let short = "layout(binding = 0) buffer B { uint x[]; }; shared uint s;";
        assert!(needs(short, "atomicAdd(s, x[0]);").is_empty());
    }

    #[test]
    fn layouts_are_told_apart_by_their_rules() {
        let storage = |layout: &str, members: &str| {
            needs(&format!("layout(binding = 0, {layout}) buffer B {{ {members} }} b;"), "b.n = 1;")
        };
        assert_eq!(storage("scalar", "float n; vec3 v[];"), ["scalarBlockLayout"]);
        assert_eq!(storage("scalar", "vec2 a; vec3 v; float n;"), ["scalarBlockLayout"]);
        assert!(storage("std430", "float n; vec3 v[];").is_empty());
        // Offsets that std430 has as well.
        assert!(storage("scalar", "vec3 v; float n;").is_empty());
        // Relaxed blocks are enough: the vector lies within 16 bytes.
        assert!(storage("scalar", "float n; vec3 v;").is_empty());
        let struct_ = "struct S { vec3 v; }; layout(binding = 0, scalar) buffer B { S s; float n; } b;";
        assert_eq!(needs(struct_, "b.n = b.s.v.x;"), ["scalarBlockLayout"]);
        let uniform = |layout: &str| {
            let block = format!("layout(binding = 1, {layout}) uniform U {{ float u[4]; }} u;");
            needs(&format!("layout(binding = 0) buffer B {{ float n; }} b; {block}"), "b.n = u.u[1];")
        };
        assert!(uniform("std140").is_empty());
        assert_eq!(uniform("scalar"), ["uniformBufferStandardLayout"]);
    }

    #[test]
    fn what_an_address_leads_to_counts_as_well() {
        let declarations = "layout(buffer_reference, scalar) buffer R { float n; vec3 v[]; };
                            layout(push_constant) uniform P { R r; };";
        assert_eq!(needs(declarations, "r.n = 1;"), ["bufferDeviceAddress", "scalarBlockLayout"]);
    }
}

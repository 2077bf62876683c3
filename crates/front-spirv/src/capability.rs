//! The capabilities that are built. A module that declares another one is refused by its name: what
//! it may contain, we would not understand.

use crate::diag::{Res, code, unsupported};
use crate::module::Spv;
use crate::reader::Inst;
use spirv::{Capability as C, Op};

/// Every capability that is built.
pub(crate) const SUPPORTED: &[C] = &[
    C::Matrix,
    C::Shader,
    C::Vector16,
    C::Float16Buffer,
    C::Float16,
    C::Float64,
    C::Int64,
    C::Int64Atomics,
    C::Shader64BitIndexingEXT,
    C::Int16,
    C::Int8,
    C::UniformBufferArrayDynamicIndexing,
    C::StorageBufferArrayDynamicIndexing,
    C::GroupNonUniform,
    C::GroupNonUniformVote,
    C::GroupNonUniformArithmetic,
    C::GroupNonUniformBallot,
    C::GroupNonUniformShuffle,
    C::GroupNonUniformShuffleRelative,
    C::GroupNonUniformClustered,
    C::GroupNonUniformQuad,
    C::GroupNonUniformPartitionedEXT,
    C::UniformDecoration,
    C::GroupNonUniformRotateKHR,
    C::QuadControlKHR,
    C::SubgroupBallotKHR,
    C::SubgroupVoteKHR,
    C::Float8EXT,
    C::Float8CooperativeMatrixEXT,
    C::BFloat16TypeKHR,
    C::BFloat16DotProductKHR,
    C::BFloat16CooperativeMatrixKHR,
    C::WorkgroupMemoryExplicitLayoutKHR,
    C::WorkgroupMemoryExplicitLayout8BitAccessKHR,
    C::WorkgroupMemoryExplicitLayout16BitAccessKHR,
    C::StorageBuffer16BitAccess,
    C::UniformAndStorageBuffer16BitAccess,
    C::StoragePushConstant16,
    C::StorageBuffer8BitAccess,
    C::UniformAndStorageBuffer8BitAccess,
    C::StoragePushConstant8,
    C::DeviceGroup,
    C::VariablePointersStorageBuffer,
    C::VariablePointers,
    C::UntypedPointersKHR,
    C::DenormPreserve,
    C::DenormFlushToZero,
    C::SignedZeroInfNanPreserve,
    C::RoundingModeRTE,
    C::RoundingModeRTZ,
    C::FloatControls2,
    C::FMAKHR,
    C::ShaderClockKHR,
    C::ShaderNonUniform,
    C::RuntimeDescriptorArray,
    C::UniformBufferArrayNonUniformIndexing,
    C::StorageBufferArrayNonUniformIndexing,
    C::VulkanMemoryModel,
    C::VulkanMemoryModelDeviceScope,
    C::PhysicalStorageBufferAddresses,
    C::CooperativeMatrixKHR,
    C::CooperativeMatrixNV,
    C::CooperativeMatrixReductionsNV,
    C::CooperativeMatrixConversionsNV,
    C::CooperativeMatrixPerElementOperationsNV,
    C::CooperativeMatrixTensorAddressingNV,
    C::CooperativeMatrixBlockLoadsNV,
    C::TensorAddressingNV,
    C::CooperativeMatrixConversionQCOM,
    C::CooperativeMatrixLayoutsARM,
    C::ReplicatedCompositesEXT,
    C::LongVectorEXT,
    C::ShaderSMBuiltinsNV,
    C::CooperativeVectorNV,
    C::CooperativeVectorTrainingNV,
    C::DotProduct,
    C::DotProductInputAll,
    C::DotProductInput4x8Bit,
    C::DotProductInput4x8BitPacked,
    C::ExpectAssumeKHR,
    C::AtomicFloat16AddEXT,
    C::AtomicFloat32AddEXT,
    C::AtomicFloat64AddEXT,
    C::AtomicFloat16MinMaxEXT,
    C::AtomicFloat32MinMaxEXT,
    C::AtomicFloat64MinMaxEXT,
    C::BitInstructions,
    C::Sampled1D,
    C::Image1D,
    C::SampledCubeArray,
    C::ImageCubeArray,
    C::SampledBuffer,
    C::ImageBuffer,
    C::ImageQuery,
    C::ImageGatherExtended,
    C::MinLod,
    C::StorageImageExtendedFormats,
    C::StorageImageReadWithoutFormat,
    C::StorageImageWriteWithoutFormat,
    C::Int64ImageEXT,
    C::SampledImageArrayDynamicIndexing,
    C::StorageImageArrayDynamicIndexing,
    C::UniformTexelBufferArrayDynamicIndexing,
    C::StorageTexelBufferArrayDynamicIndexing,
    C::SampledImageArrayNonUniformIndexing,
    C::StorageImageArrayNonUniformIndexing,
    C::UniformTexelBufferArrayNonUniformIndexing,
    C::StorageTexelBufferArrayNonUniformIndexing,
];

/// Those that the crate `spirv` does not know: *CooperativeMatrixConversionsEXT* and
/// *CooperativeMatrixGetCoordinateEXT* (SPV_EXT_cooperative_matrix_maintenance1), and
/// *CooperativeMatrixDecodeVectorNV* (SPV_NV_cooperative_matrix_decode_vector).
const UNKNOWN: [u32; 3] = [5429, 5438, 5447];

/// The name of a capability.
pub(crate) fn name(number: u32) -> String {
    C::from_u32(number).map_or_else(|| number.to_string(), |c| format!("{c:?}"))
}

fn is_missing(number: u32) -> bool {
    !UNKNOWN.contains(&number) && C::from_u32(number).is_none_or(|c| !SUPPORTED.contains(&c))
}

/// The names of the declared capabilities that are not built.
pub(crate) fn missing(spv: &Spv<'_>) -> Vec<String> {
    spv.capabilities.iter().filter(|&&n| is_missing(n)).map(|&n| name(n)).collect()
}

/// Checks that all declared capabilities are built.
pub(crate) fn check(spv: &Spv<'_>) -> Res<()> {
    let is_first = |inst: &Inst<'_>| inst.op == Op::Capability && inst.arg(0).is_ok_and(is_missing);
    let first = spv.insts.iter().position(is_first).unwrap_or(0);
    let text = match &missing(spv)[..] {
        [] => return Ok(()),
        [one] => format!("the capability {one} is not supported"),
        all => format!("the capabilities {} are not supported", all.join(", ")),
    };
    Err(spv.locate(unsupported(code::CAPABILITY, text), first))
}

//! The properties of the physical device.
//!
//! A table says which function makes which structure. What Vulkan took over from extensions stands in several
//! structures, so the larger ones are put together from the smaller.

use std::ffi::c_void;

use vulkanalia_sys as vk;

use super::limits::{self, DESCRIPTORS};
use super::{chain, matrix};
use crate::core::instance::PhysicalDevice;
use crate::core::machine;

/// The version of Vulkan that is implemented. The last part is that of the registry it was written after.
pub(super) const API_VERSION: u32 = vk::make_version(1, 3, 341);

/// The driver's own version.
pub(super) const DRIVER_NAME: &str = "Phalanx";
pub(super) const DRIVER_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Most descriptors that `vkCmdPushDescriptorSet` takes.
const PUSH_DESCRIPTORS: u32 = 32;

/// Largest inline uniform block in bytes, and how many a set may have.
const INLINE_BYTES: u32 = crate::core::descriptor::MAX_INLINE_BYTES;
const INLINE_BLOCKS: u32 = 64;

/// What fills one structure.
struct Entry {
    ty: fn() -> vk::StructureType,
    fill: unsafe fn(*mut c_void, &PhysicalDevice),
}

macro_rules! table {
    ($($name:ident: $make:expr,)*) => {
        const TABLE: &[Entry] = &[$(Entry {
            ty: || vk::$name::default().s_type,
            fill: |at, physical| {
                let make: fn(&PhysicalDevice) -> vk::$name = $make;
                // SAFETY: the structure has the type that belongs to this function.
                unsafe { chain::put(at, make(physical)) }
            },
        }),*];
    };
}

table! {
    PhysicalDeviceVulkan11Properties: vulkan11,
    PhysicalDeviceVulkan12Properties: vulkan12,
    PhysicalDeviceVulkan13Properties: vulkan13,
    PhysicalDeviceCooperativeMatrix2PropertiesNV: |physical| vk::PhysicalDeviceCooperativeMatrix2PropertiesNV {
        cooperative_matrix_workgroup_scope_max_workgroup_size: matrix::MAX_WORKGROUP,
        cooperative_matrix_flexible_dimensions_max_dimension: matrix::max_flexible_dimension(&physical.info),
        // Matrices have memory of their own.
        cooperative_matrix_workgroup_scope_reserved_shared_memory: 0,
        ..Default::default()
    },
    PhysicalDeviceCooperativeMatrixPropertiesKHR: |_| vk::PhysicalDeviceCooperativeMatrixPropertiesKHR {
        cooperative_matrix_supported_stages: vk::ShaderStageFlags::COMPUTE,
        ..Default::default()
    },
    PhysicalDeviceCooperativeMatrixPropertiesNV: |_| vk::PhysicalDeviceCooperativeMatrixPropertiesNV {
        cooperative_matrix_supported_stages: vk::ShaderStageFlags::COMPUTE,
        ..Default::default()
    },
    PhysicalDeviceCooperativeVectorPropertiesNV: |_| vk::PhysicalDeviceCooperativeVectorPropertiesNV {
        cooperative_vector_supported_stages: vk::ShaderStageFlags::COMPUTE,
        cooperative_vector_training_float16_accumulation: vk::TRUE,
        cooperative_vector_training_float32_accumulation: vk::TRUE,
        max_cooperative_vector_components: phalanx::MAX_VECTOR_COMPONENTS,
        ..Default::default()
    },
    PhysicalDeviceDepthStencilResolveProperties: |_| depth_stencil_resolve(),
    PhysicalDeviceDescriptorIndexingProperties: |_| descriptor_indexing(),
    PhysicalDeviceDriverProperties: driver,
    PhysicalDeviceExternalMemoryHostPropertiesEXT: |_| vk::PhysicalDeviceExternalMemoryHostPropertiesEXT {
        min_imported_host_pointer_alignment: super::memory::HOST_POINTER_ALIGNMENT,
        ..Default::default()
    },
    PhysicalDeviceFloatControlsProperties: |_| float_controls(),
    PhysicalDeviceIDProperties: ids,
    PhysicalDeviceInlineUniformBlockProperties: |_| inline_uniform_blocks(),
    PhysicalDeviceMaintenance3Properties: |physical| vk::PhysicalDeviceMaintenance3Properties {
        max_per_set_descriptors: DESCRIPTORS,
        max_memory_allocation_size: largest_allocation(physical),
        ..Default::default()
    },
    PhysicalDeviceMaintenance4Properties: |physical| vk::PhysicalDeviceMaintenance4Properties {
        max_buffer_size: largest_allocation(physical),
        ..Default::default()
    },
    PhysicalDeviceMaintenance5Properties: |_| vk::PhysicalDeviceMaintenance5Properties::default(),
    PhysicalDeviceMaintenance6Properties: |_| vk::PhysicalDeviceMaintenance6Properties {
        max_combined_image_sampler_descriptor_count: 1,
        ..Default::default()
    },
    PhysicalDeviceMultiviewProperties: |_| multiview(),
    PhysicalDevicePipelineRobustnessProperties: |_| robustness(),
    PhysicalDevicePointClippingProperties: |_| vk::PhysicalDevicePointClippingProperties::default(),
    PhysicalDeviceProtectedMemoryProperties: |_| vk::PhysicalDeviceProtectedMemoryProperties::default(),
    PhysicalDevicePushDescriptorProperties: |_| vk::PhysicalDevicePushDescriptorProperties {
        max_push_descriptors: PUSH_DESCRIPTORS,
        ..Default::default()
    },
    // Every access is checked by itself, so buffers end where their ranges end.
    PhysicalDeviceRobustness2PropertiesKHR: |_| vk::PhysicalDeviceRobustness2PropertiesKHR {
        robust_storage_buffer_access_size_alignment: 1,
        robust_uniform_buffer_access_size_alignment: 1,
        ..Default::default()
    },
    PhysicalDeviceSamplerFilterMinmaxProperties: |_| sampler_filter_minmax(),
    PhysicalDeviceShaderIntegerDotProductProperties: |_| integer_dot_products(),
    PhysicalDeviceShaderLongVectorPropertiesEXT: |_| vk::PhysicalDeviceShaderLongVectorPropertiesEXT {
        max_vector_components: phalanx::MAX_VECTOR_COMPONENTS,
        ..Default::default()
    },
    PhysicalDeviceSubgroupProperties: subgroups,
    PhysicalDeviceSubgroupSizeControlProperties: subgroup_sizes,
    PhysicalDeviceShaderSMBuiltinsPropertiesNV: multiprocessors,
    PhysicalDeviceTexelBufferAlignmentProperties: |_| texel_buffers(),
    PhysicalDeviceTimelineSemaphoreProperties: |_| vk::PhysicalDeviceTimelineSemaphoreProperties {
        max_timeline_semaphore_value_difference: u64::MAX,
        ..Default::default()
    },
}

/// Fills all structures of properties in a chain.
///
/// # Safety
///
/// `next` is a valid chain that is ours to write.
pub(super) unsafe fn fill(next: *mut c_void, physical: &PhysicalDevice) {
    // SAFETY: as this function's.
    for (ty, at) in unsafe { chain::links(next) } {
        if let Some(entry) = TABLE.iter().find(|entry| (entry.ty)() == ty) {
            // SAFETY: a structure of that type, by its `sType`.
            unsafe { (entry.fill)(at.cast_mut(), physical) };
        }
    }
}

/// The properties of Vulkan 1.0.
pub(super) fn core(physical: &PhysicalDevice) -> vk::PhysicalDeviceProperties {
    // A GPU is its vendor's, whoever drives it. We ourselves are neither a vendor of PCI devices nor one that is registered
    // with Khronos.
    let gpu = physical.info.gpu.as_ref();
    vk::PhysicalDeviceProperties {
        api_version: API_VERSION,
        driver_version: driver_version(),
        vendor_id: gpu.map_or(0, |gpu| gpu.vendor_id),
        device_id: gpu.map_or(0, |gpu| gpu.device_id),
        device_type: physical.presented.ty,
        device_name: chain::characters(&format!("Phalanx ({})", physical.info.name)),
        pipeline_cache_uuid: pipeline_cache_uuid(physical),
        limits: limits::limits(physical),
        sparse_properties: vk::PhysicalDeviceSparseProperties::default(),
    }
}

fn multiprocessors(physical: &PhysicalDevice) -> vk::PhysicalDeviceShaderSMBuiltinsPropertiesNV {
    let gpu = physical.info.gpu.as_ref();
    vk::PhysicalDeviceShaderSMBuiltinsPropertiesNV {
        shader_sm_count: gpu.map_or(0, |_| physical.info.threads as u32),
        shader_warps_per_sm: gpu.map_or(0, |gpu| gpu.resident_subgroups),
        ..Default::default()
    }
}

/// The crate's version as Vulkan writes versions.
pub(super) fn driver_version() -> u32 {
    let mut parts = DRIVER_VERSION.split('.').map(|part| part.parse().unwrap_or_default());
    let mut part = || parts.next().unwrap_or_default();
    vk::make_version(part(), part(), part())
}

/// Says which caches of pipelines this driver can read on this machine.
pub(super) fn pipeline_cache_uuid(physical: &PhysicalDevice) -> vk::ByteArray<{ vk::UUID_SIZE }> {
    physical.info.cache_uuid().into()
}

/// Sixteen bytes that depend on the parts alone (FNV-1a, from two starting points).
fn uuid(parts: &[&str]) -> vk::ByteArray<{ vk::UUID_SIZE }> {
    let hash = |start: u64| {
        let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
        bytes.fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
    };
    let [low, high] = [hash(0xCBF2_9CE4_8422_2325), hash(0x9E37_79B9_7F4A_7C15)];
    (u128::from(high) << 64 | u128::from(low)).to_le_bytes().into()
}

fn ids(physical: &PhysicalDevice) -> vk::PhysicalDeviceIDProperties {
    vk::PhysicalDeviceIDProperties {
        device_uuid: match physical.info.gpu {
            // There may be several of a name.
            Some(_) => uuid(&["device", &physical.info.name, &physical.name()]),
            None => uuid(&["device", &physical.info.name]),
        },
        driver_uuid: uuid(&["driver", DRIVER_NAME, DRIVER_VERSION]),
        ..Default::default()
    }
}

/// The registry has no number for this driver, and it has not passed the conformance test.
fn driver(physical: &PhysicalDevice) -> vk::PhysicalDeviceDriverProperties {
    // The driver was never submitted. Some applications hide devices of such drivers.
    let claimed = vk::ConformanceVersion { major: 1, minor: 3, subminor: 0, patch: 0 };
    vk::PhysicalDeviceDriverProperties {
        conformance_version: if physical.presented.is_conformant { claimed } else { Default::default() },
        driver_name: chain::characters(DRIVER_NAME),
        driver_info: chain::characters(DRIVER_VERSION),
        ..Default::default()
    }
}

fn subgroups(physical: &PhysicalDevice) -> vk::PhysicalDeviceSubgroupProperties {
    use vk::SubgroupFeatureFlags as F;
    vk::PhysicalDeviceSubgroupProperties {
        subgroup_size: physical.info.default_subgroup_size,
        supported_stages: vk::ShaderStageFlags::COMPUTE,
        supported_operations: F::BASIC
            | F::VOTE
            | F::ARITHMETIC
            | F::BALLOT
            | F::SHUFFLE
            | F::SHUFFLE_RELATIVE
            | F::CLUSTERED
            | F::QUAD
            | F::PARTITIONED_EXT
            | F::ROTATE
            | F::ROTATE_CLUSTERED,
        quad_operations_in_all_stages: vk::FALSE,
        ..Default::default()
    }
}

fn subgroup_sizes(physical: &PhysicalDevice) -> vk::PhysicalDeviceSubgroupSizeControlProperties {
    let sizes = &physical.info.subgroup_sizes;
    let default = physical.info.default_subgroup_size;
    let least = sizes.iter().copied().min().unwrap_or(default);
    vk::PhysicalDeviceSubgroupSizeControlProperties {
        min_subgroup_size: least,
        max_subgroup_size: sizes.iter().copied().max().unwrap_or(default),
        max_compute_workgroup_subgroups: physical.info.max_workgroup_invocations / least.max(1),
        required_subgroup_size_stages: vk::ShaderStageFlags::COMPUTE,
        ..Default::default()
    }
}

/// What the compiler does: denormals are kept or flushed as each type asks, rounding is to nearest even, and
/// signed zeros, infinities and NaNs are what IEEE 754 says.
fn float_controls() -> vk::PhysicalDeviceFloatControlsProperties {
    vk::PhysicalDeviceFloatControlsProperties {
        denorm_behavior_independence: vk::ShaderFloatControlsIndependence::ALL,
        rounding_mode_independence: vk::ShaderFloatControlsIndependence::ALL,
        shader_signed_zero_inf_nan_preserve_float16: vk::TRUE,
        shader_signed_zero_inf_nan_preserve_float32: vk::TRUE,
        shader_signed_zero_inf_nan_preserve_float64: vk::TRUE,
        shader_denorm_preserve_float16: vk::TRUE,
        shader_denorm_preserve_float32: vk::TRUE,
        shader_denorm_preserve_float64: vk::TRUE,
        shader_denorm_flush_to_zero_float16: vk::TRUE,
        shader_denorm_flush_to_zero_float32: vk::TRUE,
        shader_denorm_flush_to_zero_float64: vk::TRUE,
        shader_rounding_mode_rte_float16: vk::TRUE,
        shader_rounding_mode_rte_float32: vk::TRUE,
        shader_rounding_mode_rte_float64: vk::TRUE,
        ..Default::default()
    }
}

/// Descriptors may be updated after they are bound without any limit of their own.
fn descriptor_indexing() -> vk::PhysicalDeviceDescriptorIndexingProperties {
    vk::PhysicalDeviceDescriptorIndexingProperties {
        max_update_after_bind_descriptors_in_all_pools: DESCRIPTORS,
        shader_uniform_buffer_array_non_uniform_indexing_native: vk::TRUE,
        shader_sampled_image_array_non_uniform_indexing_native: vk::TRUE,
        shader_storage_buffer_array_non_uniform_indexing_native: vk::TRUE,
        shader_storage_image_array_non_uniform_indexing_native: vk::TRUE,
        robust_buffer_access_update_after_bind: vk::TRUE,
        max_per_stage_descriptor_update_after_bind_samplers: DESCRIPTORS,
        max_per_stage_descriptor_update_after_bind_uniform_buffers: DESCRIPTORS,
        max_per_stage_descriptor_update_after_bind_storage_buffers: DESCRIPTORS,
        max_per_stage_descriptor_update_after_bind_sampled_images: DESCRIPTORS,
        max_per_stage_descriptor_update_after_bind_storage_images: DESCRIPTORS,
        max_per_stage_descriptor_update_after_bind_input_attachments: DESCRIPTORS,
        max_per_stage_update_after_bind_resources: 4 * DESCRIPTORS,
        max_descriptor_set_update_after_bind_samplers: DESCRIPTORS,
        max_descriptor_set_update_after_bind_uniform_buffers: DESCRIPTORS,
        max_descriptor_set_update_after_bind_uniform_buffers_dynamic: 64,
        max_descriptor_set_update_after_bind_storage_buffers: DESCRIPTORS,
        max_descriptor_set_update_after_bind_storage_buffers_dynamic: 64,
        max_descriptor_set_update_after_bind_sampled_images: DESCRIPTORS,
        max_descriptor_set_update_after_bind_storage_images: DESCRIPTORS,
        max_descriptor_set_update_after_bind_input_attachments: DESCRIPTORS,
        ..Default::default()
    }
}

/// All components of all formats are compared, each by itself.
fn sampler_filter_minmax() -> vk::PhysicalDeviceSamplerFilterMinmaxProperties {
    vk::PhysicalDeviceSamplerFilterMinmaxProperties {
        filter_minmax_single_component_formats: vk::TRUE,
        filter_minmax_image_component_mapping: vk::TRUE,
        ..Default::default()
    }
}

fn inline_uniform_blocks() -> vk::PhysicalDeviceInlineUniformBlockProperties {
    vk::PhysicalDeviceInlineUniformBlockProperties {
        max_inline_uniform_block_size: INLINE_BYTES,
        max_per_stage_descriptor_inline_uniform_blocks: INLINE_BLOCKS,
        max_per_stage_descriptor_update_after_bind_inline_uniform_blocks: INLINE_BLOCKS,
        max_descriptor_set_inline_uniform_blocks: INLINE_BLOCKS,
        max_descriptor_set_update_after_bind_inline_uniform_blocks: INLINE_BLOCKS,
        ..Default::default()
    }
}

/// Products of four bytes are one instruction of the compiler's; others are as fast as written out.
fn integer_dot_products() -> vk::PhysicalDeviceShaderIntegerDotProductProperties {
    vk::PhysicalDeviceShaderIntegerDotProductProperties {
        integer_dot_product4x_8bit_packed_unsigned_accelerated: vk::TRUE,
        integer_dot_product4x_8bit_packed_signed_accelerated: vk::TRUE,
        integer_dot_product4x_8bit_packed_mixed_signedness_accelerated: vk::TRUE,
        ..Default::default()
    }
}

/// All pipelines behave in the strictest way that exists.
fn robustness() -> vk::PhysicalDevicePipelineRobustnessProperties {
    vk::PhysicalDevicePipelineRobustnessProperties {
        default_robustness_storage_buffers: vk::PipelineRobustnessBufferBehavior::ROBUST_BUFFER_ACCESS_2,
        default_robustness_uniform_buffers: vk::PipelineRobustnessBufferBehavior::ROBUST_BUFFER_ACCESS_2,
        default_robustness_vertex_inputs: vk::PipelineRobustnessBufferBehavior::DISABLED,
        default_robustness_images: vk::PipelineRobustnessImageBehavior::ROBUST_IMAGE_ACCESS_2,
        ..Default::default()
    }
}

/// The least values, as there is no graphics.
fn multiview() -> vk::PhysicalDeviceMultiviewProperties {
    vk::PhysicalDeviceMultiviewProperties {
        max_multiview_view_count: 6,
        max_multiview_instance_index: (1 << 27) - 1,
        ..Default::default()
    }
}

/// The least values, as there is no graphics.
fn depth_stencil_resolve() -> vk::PhysicalDeviceDepthStencilResolveProperties {
    vk::PhysicalDeviceDepthStencilResolveProperties {
        supported_depth_resolve_modes: vk::ResolveModeFlags::SAMPLE_ZERO,
        supported_stencil_resolve_modes: vk::ResolveModeFlags::SAMPLE_ZERO,
        ..Default::default()
    }
}

fn texel_buffers() -> vk::PhysicalDeviceTexelBufferAlignmentProperties {
    vk::PhysicalDeviceTexelBufferAlignmentProperties {
        storage_texel_buffer_offset_alignment_bytes: phalanx::OFFSET_ALIGNMENT,
        uniform_texel_buffer_offset_alignment_bytes: phalanx::OFFSET_ALIGNMENT,
        ..Default::default()
    }
}

/// Vulkan wants a gigabyte at least; whether there is one shows when it is asked for.
pub(super) fn largest_allocation(physical: &PhysicalDevice) -> u64 {
    physical.memory_bytes.max(1 << 30)
}

fn vulkan11(physical: &PhysicalDevice) -> vk::PhysicalDeviceVulkan11Properties {
    let ids = ids(physical);
    let subgroups = subgroups(physical);
    let multiview = multiview();
    vk::PhysicalDeviceVulkan11Properties {
        device_uuid: ids.device_uuid,
        driver_uuid: ids.driver_uuid,
        subgroup_size: subgroups.subgroup_size,
        subgroup_supported_stages: subgroups.supported_stages,
        subgroup_supported_operations: subgroups.supported_operations,
        subgroup_quad_operations_in_all_stages: subgroups.quad_operations_in_all_stages,
        max_multiview_view_count: multiview.max_multiview_view_count,
        max_multiview_instance_index: multiview.max_multiview_instance_index,
        max_per_set_descriptors: DESCRIPTORS,
        max_memory_allocation_size: largest_allocation(physical),
        ..Default::default()
    }
}

/// Copies fields of equal names from smaller structures.
macro_rules! gather {
    ($to:ident { $($from:expr => { $($field:ident),* $(,)? })* $(; $own:ident: $value:expr)* }) => {{
        let mut to = vk::$to::default();
        $({
            let from = $from;
            $(to.$field = from.$field;)*
        })*
        $(to.$own = $value;)*
        to
    }};
}

fn vulkan12(physical: &PhysicalDevice) -> vk::PhysicalDeviceVulkan12Properties {
    gather!(PhysicalDeviceVulkan12Properties {
        driver(physical) => { driver_id, driver_name, driver_info, conformance_version }
        float_controls() => {
            denorm_behavior_independence,
            rounding_mode_independence,
            shader_signed_zero_inf_nan_preserve_float16,
            shader_signed_zero_inf_nan_preserve_float32,
            shader_signed_zero_inf_nan_preserve_float64,
            shader_denorm_preserve_float16,
            shader_denorm_preserve_float32,
            shader_denorm_preserve_float64,
            shader_denorm_flush_to_zero_float16,
            shader_denorm_flush_to_zero_float32,
            shader_denorm_flush_to_zero_float64,
            shader_rounding_mode_rte_float16,
            shader_rounding_mode_rte_float32,
            shader_rounding_mode_rte_float64,
            shader_rounding_mode_rtz_float16,
            shader_rounding_mode_rtz_float32,
            shader_rounding_mode_rtz_float64,
        }
        descriptor_indexing() => {
            max_update_after_bind_descriptors_in_all_pools,
            shader_uniform_buffer_array_non_uniform_indexing_native,
            shader_sampled_image_array_non_uniform_indexing_native,
            shader_storage_buffer_array_non_uniform_indexing_native,
            shader_storage_image_array_non_uniform_indexing_native,
            shader_input_attachment_array_non_uniform_indexing_native,
            robust_buffer_access_update_after_bind,
            quad_divergent_implicit_lod,
            max_per_stage_descriptor_update_after_bind_samplers,
            max_per_stage_descriptor_update_after_bind_uniform_buffers,
            max_per_stage_descriptor_update_after_bind_storage_buffers,
            max_per_stage_descriptor_update_after_bind_sampled_images,
            max_per_stage_descriptor_update_after_bind_storage_images,
            max_per_stage_descriptor_update_after_bind_input_attachments,
            max_per_stage_update_after_bind_resources,
            max_descriptor_set_update_after_bind_samplers,
            max_descriptor_set_update_after_bind_uniform_buffers,
            max_descriptor_set_update_after_bind_uniform_buffers_dynamic,
            max_descriptor_set_update_after_bind_storage_buffers,
            max_descriptor_set_update_after_bind_storage_buffers_dynamic,
            max_descriptor_set_update_after_bind_sampled_images,
            max_descriptor_set_update_after_bind_storage_images,
            max_descriptor_set_update_after_bind_input_attachments,
        }
        sampler_filter_minmax() => {
            filter_minmax_single_component_formats,
            filter_minmax_image_component_mapping,
        }
        depth_stencil_resolve() => { supported_depth_resolve_modes, supported_stencil_resolve_modes }
        ; max_timeline_semaphore_value_difference: u64::MAX
        ; framebuffer_integer_color_sample_counts: vk::SampleCountFlags::_1
    })
}

fn vulkan13(physical: &PhysicalDevice) -> vk::PhysicalDeviceVulkan13Properties {
    gather!(PhysicalDeviceVulkan13Properties {
        subgroup_sizes(physical) => {
            min_subgroup_size,
            max_subgroup_size,
            max_compute_workgroup_subgroups,
            required_subgroup_size_stages,
        }
        inline_uniform_blocks() => {
            max_inline_uniform_block_size,
            max_per_stage_descriptor_inline_uniform_blocks,
            max_per_stage_descriptor_update_after_bind_inline_uniform_blocks,
            max_descriptor_set_inline_uniform_blocks,
            max_descriptor_set_update_after_bind_inline_uniform_blocks,
        }
        integer_dot_products() => {
            integer_dot_product4x_8bit_packed_unsigned_accelerated,
            integer_dot_product4x_8bit_packed_signed_accelerated,
            integer_dot_product4x_8bit_packed_mixed_signedness_accelerated,
        }
        texel_buffers() => {
            storage_texel_buffer_offset_alignment_bytes,
            storage_texel_buffer_offset_single_texel_alignment,
            uniform_texel_buffer_offset_alignment_bytes,
            uniform_texel_buffer_offset_single_texel_alignment,
        }
        ; max_inline_uniform_total_size: INLINE_BYTES * INLINE_BLOCKS
        ; max_buffer_size: largest_allocation(physical)
    })
}

/// The only heap and the only type of memory: device and host share it. That of a GPU is its own, and its pages move to where
/// they are used.
pub(super) fn memory(physical: &PhysicalDevice) -> vk::PhysicalDeviceMemoryProperties {
    use vk::MemoryPropertyFlags as P;
    let mut properties = vk::PhysicalDeviceMemoryProperties {
        memory_type_count: 1,
        memory_heap_count: 1,
        ..Default::default()
    };
    properties.memory_types[0].property_flags =
        P::DEVICE_LOCAL | P::HOST_VISIBLE | P::HOST_COHERENT | P::HOST_CACHED;
    properties.memory_heaps[0] =
        vk::MemoryHeap { size: physical.memory_bytes, flags: vk::MemoryHeapFlags::DEVICE_LOCAL };
    properties
}

/// What is left of the heap (`VK_EXT_memory_budget`).
pub(super) fn budget(physical: &PhysicalDevice) -> vk::PhysicalDeviceMemoryBudgetPropertiesEXT {
    let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
    budget.heap_budget[0] = match physical.info.gpu {
        // What others hold of it is not known.
        Some(_) => physical.memory_bytes,
        None => machine::budget_bytes(),
    };
    budget.heap_usage[0] = machine::held_bytes();
    budget
}

/// The queue families: one for compute and transfer.
pub(super) fn queue_families(physical: &PhysicalDevice) -> [vk::QueueFamilyProperties; 1] {
    let claimed = match physical.presented.has_graphics {
        true => vk::QueueFlags::GRAPHICS,
        false => vk::QueueFlags::empty(),
    };
    [vk::QueueFamilyProperties {
        queue_flags: vk::QueueFlags::COMPUTE | vk::QueueFlags::TRANSFER | claimed,
        queue_count: QUEUES,
        timestamp_valid_bits: 64,
        min_image_transfer_granularity: vk::Extent3D { width: 1, height: 1, depth: 1 },
    }]
}

/// Queues of the family.
pub(super) const QUEUES: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::instance::Instance;

    #[test]
    fn types_are_distinct() {
        let types: std::collections::BTreeSet<_> = TABLE.iter().map(|entry| (entry.ty)().as_raw()).collect();
        assert_eq!(types.len(), TABLE.len());
    }

    #[test]
    fn a_chain_is_filled() {
        let instance = Instance::new().expect("a machine");
        let mut subgroups = vk::PhysicalDeviceSubgroupProperties::default();
        let mut vulkan13 =
            vk::PhysicalDeviceVulkan13Properties { next: (&raw mut subgroups).cast(), ..Default::default() };
        // SAFETY: a chain of two structures.
        unsafe { fill((&raw mut vulkan13).cast(), &instance.physical) };
        assert_eq!((vulkan13.min_subgroup_size, vulkan13.max_subgroup_size), (4, 128));
        assert_eq!(subgroups.subgroup_size, 32);
        assert!(vulkan13.max_buffer_size >= 1 << 30);
    }

    #[test]
    fn the_device_has_a_name_and_stable_ids() {
        let instance = Instance::new().expect("a machine");
        let properties = core(&instance.physical);
        assert!(properties.device_name.to_string().starts_with("Phalanx ("));
        assert_eq!(uuid(&["a", "b"]), uuid(&["a", "b"]));
        assert_ne!(uuid(&["a", "b"]), uuid(&["ab"]));
        assert_ne!(driver_version(), 0);
    }
}

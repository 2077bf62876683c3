//! The limits (`VkPhysicalDeviceLimits`).
//!
//! What the device runs has limits of its own. For graphics, which it does not run, stand the least
//! values that Vulkan allows (*Required Limits*).

use vulkanalia_sys as vk;

use crate::core::image::{MAX_EXTENT, MAX_LAYERS, MAX_TEXELS, MAX_VOLUME_EXTENT};
use crate::core::instance::PhysicalDevice;

/// Descriptors of one kind, in a set and altogether.
pub(super) const DESCRIPTORS: u32 = crate::core::descriptor::MAX_PER_SET;

/// Bits of the weights between texels and between levels that are exact: they are floats, and a place among the most
/// texels takes the others.
const PRECISION_BITS: u32 = 8;

/// How far from a place texels may be sampled. Sums of coordinates and offsets do not wrap, so it could be any number.
const MIN_TEXEL_OFFSET: i32 = -32;
const MAX_TEXEL_OFFSET: u32 = 31;

/// The samples that texels may have. *Required Limits* asks for four as well, but of graphics implementations only: what
/// would have them is drawn into, and here no image has more than one. A device that is made to claim graphics claims
/// what comes with it.
fn samples(physical: &PhysicalDevice) -> vk::SampleCountFlags {
    match physical.presented.has_graphics {
        true => vk::SampleCountFlags::_1 | vk::SampleCountFlags::_4,
        false => vk::SampleCountFlags::_1,
    }
}

/// Most work-groups along an axis: with work-groups of any size, their invocations can be counted, the base of the
/// dispatch included (VUID-vkCmdDispatchBase-groupCountX-00427 and -baseGroupX-00421 keep the sum below this, too).
fn work_group_count(invocations: u32) -> [u32; 3] {
    let most = phalanx::MAX_DISPATCH_INVOCATIONS / invocations.max(1);
    [most, most.min(65_535), most.min(65_535)]
}

/// The limits of the device.
pub(super) fn limits(physical: &PhysicalDevice) -> vk::PhysicalDeviceLimits {
    let info = &physical.info;
    let invocations = info.max_workgroup_invocations;
    vk::PhysicalDeviceLimits {
        max_image_dimension_1d: MAX_EXTENT,
        max_image_dimension_2d: MAX_EXTENT,
        max_image_dimension_3d: MAX_VOLUME_EXTENT,
        max_image_dimension_cube: MAX_EXTENT,
        max_image_array_layers: MAX_LAYERS,
        max_texel_buffer_elements: MAX_TEXELS,
        max_uniform_buffer_range: 1 << 16,
        max_storage_buffer_range: u32::MAX,
        max_push_constants_size: info.max_push_bytes,
        max_memory_allocation_count: 1 << 20,
        max_sampler_allocation_count: 1 << 20,
        buffer_image_granularity: 1,
        sparse_address_space_size: 0,
        max_bound_descriptor_sets: 32,
        max_per_stage_descriptor_samplers: DESCRIPTORS,
        max_per_stage_descriptor_uniform_buffers: DESCRIPTORS,
        max_per_stage_descriptor_storage_buffers: DESCRIPTORS,
        max_per_stage_descriptor_sampled_images: DESCRIPTORS,
        max_per_stage_descriptor_storage_images: DESCRIPTORS,
        max_per_stage_resources: 4 * DESCRIPTORS,
        max_descriptor_set_samplers: DESCRIPTORS,
        max_descriptor_set_uniform_buffers: DESCRIPTORS,
        max_descriptor_set_uniform_buffers_dynamic: 64,
        max_descriptor_set_storage_buffers: DESCRIPTORS,
        max_descriptor_set_storage_buffers_dynamic: 64,
        max_descriptor_set_sampled_images: DESCRIPTORS,
        max_descriptor_set_storage_images: DESCRIPTORS,
        max_compute_shared_memory_size: info.max_shared_bytes,
        max_compute_work_group_count: work_group_count(invocations),
        max_compute_work_group_invocations: invocations,
        max_compute_work_group_size: [invocations; 3],
        sub_texel_precision_bits: PRECISION_BITS,
        mipmap_precision_bits: PRECISION_BITS,
        max_sampler_lod_bias: 16.0,
        max_sampler_anisotropy: 1.0,
        min_memory_map_alignment: 64,
        min_texel_buffer_offset_alignment: phalanx::OFFSET_ALIGNMENT,
        min_uniform_buffer_offset_alignment: phalanx::OFFSET_ALIGNMENT,
        min_storage_buffer_offset_alignment: phalanx::OFFSET_ALIGNMENT,
        min_texel_offset: MIN_TEXEL_OFFSET,
        max_texel_offset: MAX_TEXEL_OFFSET,
        min_texel_gather_offset: MIN_TEXEL_OFFSET,
        max_texel_gather_offset: MAX_TEXEL_OFFSET,
        timestamp_compute_and_graphics: vk::TRUE,
        timestamp_period: 1.0,
        discrete_queue_priorities: 2,
        optimal_buffer_copy_offset_alignment: 1,
        optimal_buffer_copy_row_pitch_alignment: 1,
        non_coherent_atom_size: 1,
        ..least(samples(physical))
    }
}

/// The limits of what is not supported: the least values, unless applications take them for limits of kernels, as wgpu
/// takes the resources that fragments share with their outputs, and the extents of what is drawn into.
fn least(samples: vk::SampleCountFlags) -> vk::PhysicalDeviceLimits {
    vk::PhysicalDeviceLimits {
        max_per_stage_descriptor_input_attachments: 4,
        max_descriptor_set_input_attachments: 4,
        max_vertex_input_attributes: 16,
        max_vertex_input_bindings: 16,
        max_vertex_input_attribute_offset: 2047,
        max_vertex_input_binding_stride: 2048,
        max_vertex_output_components: 64,
        max_fragment_input_components: 64,
        max_fragment_output_attachments: 8,
        max_fragment_combined_output_resources: 4 * DESCRIPTORS,
        sub_pixel_precision_bits: 4,
        max_draw_indexed_index_value: (1 << 24) - 1,
        max_draw_indirect_count: 1,
        max_viewports: 1,
        max_viewport_dimensions: [MAX_EXTENT; 2],
        // Of twice the extents.
        viewport_bounds_range: [-2.0 * MAX_EXTENT as f32, 2.0 * MAX_EXTENT as f32 - 1.0],
        max_framebuffer_width: MAX_EXTENT,
        max_framebuffer_height: MAX_EXTENT,
        max_framebuffer_layers: 256,
        framebuffer_color_sample_counts: samples,
        framebuffer_depth_sample_counts: samples,
        framebuffer_stencil_sample_counts: samples,
        framebuffer_no_attachments_sample_counts: samples,
        max_color_attachments: 8,
        sampled_image_color_sample_counts: samples,
        sampled_image_integer_sample_counts: vk::SampleCountFlags::_1,
        sampled_image_depth_sample_counts: samples,
        sampled_image_stencil_sample_counts: samples,
        storage_image_sample_counts: vk::SampleCountFlags::_1,
        max_sample_mask_words: 1,
        point_size_range: [1.0, 1.0],
        line_width_range: [1.0, 1.0],
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_dispatch_within_the_limits_has_too_many_invocations() {
        let instance = crate::core::instance::Instance::new().expect("a machine");
        let limits = limits(&instance.physical);
        for (groups, size) in
            limits.max_compute_work_group_count.into_iter().zip(limits.max_compute_work_group_size)
        {
            assert!(u64::from(groups) * u64::from(size) <= phalanx::MAX_DISPATCH_INVOCATIONS.into());
            // The least that the specification allows.
            assert!(groups >= 65_535);
        }
    }

    #[test]
    fn samples_are_claimed_with_graphics_alone() {
        let instance = crate::core::instance::Instance::new().expect("a machine");
        let has_graphics = instance.physical.presented.has_graphics;
        let four =
            limits(&instance.physical).framebuffer_color_sample_counts.contains(vk::SampleCountFlags::_4);
        assert_eq!(four, has_graphics);
    }
}

//! The extensions that are advertised: those that work, and the names of those that Vulkan has taken over.

use vulkanalia_sys as vk;

use super::chain;

/// The name of an extension, and the version of its specification in the registry.
pub(super) type Extension = (&'static str, u32);

/// Extensions of instances.
pub(super) const INSTANCE: &[Extension] = &[
    ("VK_EXT_debug_utils", 2),
    ("VK_KHR_device_group_creation", 1),
    ("VK_KHR_external_fence_capabilities", 1),
    ("VK_KHR_external_memory_capabilities", 1),
    ("VK_KHR_external_semaphore_capabilities", 1),
    ("VK_KHR_get_physical_device_properties2", 2),
];

/// Extensions of devices. Applications ask for names that are core long since, so those are here too.
const DEVICE: &[Extension] = &[
    ("VK_EXT_calibrated_timestamps", 2),
    ("VK_EXT_cooperative_matrix_maintenance1", 1),
    ("VK_EXT_descriptor_indexing", 2),
    ("VK_EXT_external_memory_host", 1),
    ("VK_EXT_host_query_reset", 1),
    ("VK_EXT_image_robustness", 1),
    ("VK_EXT_inline_uniform_block", 1),
    ("VK_EXT_memory_budget", 1),
    ("VK_EXT_pipeline_creation_cache_control", 3),
    ("VK_EXT_pipeline_creation_feedback", 1),
    ("VK_EXT_pipeline_robustness", 1),
    ("VK_EXT_private_data", 1),
    ("VK_EXT_robustness2", 1),
    ("VK_EXT_sampler_filter_minmax", 2),
    ("VK_EXT_scalar_block_layout", 1),
    ("VK_EXT_shader_64bit_indexing", 1),
    ("VK_EXT_shader_atomic_float", 1),
    ("VK_EXT_shader_atomic_float2", 1),
    ("VK_EXT_shader_float8", 1),
    ("VK_EXT_shader_image_atomic_int64", 1),
    ("VK_EXT_shader_long_vector", 1),
    ("VK_EXT_shader_replicated_composites", 1),
    ("VK_EXT_shader_subgroup_ballot", 1),
    ("VK_EXT_shader_subgroup_partitioned", 1),
    ("VK_EXT_shader_subgroup_vote", 1),
    ("VK_EXT_subgroup_size_control", 2),
    ("VK_EXT_texel_buffer_alignment", 1),
    ("VK_EXT_tooling_info", 1),
    ("VK_GOOGLE_decorate_string", 1),
    ("VK_GOOGLE_hlsl_functionality1", 1),
    ("VK_GOOGLE_user_type", 1),
    ("VK_KHR_16bit_storage", 1),
    ("VK_KHR_8bit_storage", 1),
    ("VK_KHR_bind_memory2", 1),
    ("VK_KHR_buffer_device_address", 1),
    ("VK_KHR_calibrated_timestamps", 1),
    ("VK_KHR_cooperative_matrix", 2),
    ("VK_KHR_copy_commands2", 1),
    ("VK_KHR_dedicated_allocation", 3),
    ("VK_KHR_descriptor_update_template", 1),
    ("VK_KHR_device_group", 4),
    ("VK_KHR_driver_properties", 1),
    ("VK_KHR_external_fence", 1),
    ("VK_KHR_external_memory", 1),
    ("VK_KHR_external_semaphore", 1),
    ("VK_KHR_format_feature_flags2", 2),
    ("VK_KHR_get_memory_requirements2", 1),
    ("VK_KHR_image_format_list", 1),
    ("VK_KHR_maintenance1", 2),
    ("VK_KHR_maintenance2", 1),
    ("VK_KHR_maintenance3", 1),
    ("VK_KHR_maintenance4", 2),
    ("VK_KHR_maintenance5", 1),
    ("VK_KHR_maintenance6", 1),
    ("VK_KHR_map_memory2", 1),
    ("VK_KHR_pipeline_executable_properties", 1),
    ("VK_KHR_push_descriptor", 2),
    ("VK_KHR_relaxed_block_layout", 1),
    ("VK_KHR_robustness2", 1),
    ("VK_KHR_sampler_mirror_clamp_to_edge", 3),
    ("VK_KHR_separate_depth_stencil_layouts", 1),
    ("VK_KHR_shader_atomic_int64", 1),
    ("VK_KHR_shader_bfloat16", 1),
    ("VK_KHR_shader_clock", 1),
    ("VK_KHR_shader_expect_assume", 1),
    ("VK_KHR_shader_float16_int8", 1),
    ("VK_KHR_shader_float_controls", 4),
    ("VK_KHR_shader_float_controls2", 1),
    ("VK_KHR_shader_fma", 1),
    ("VK_KHR_shader_integer_dot_product", 1),
    ("VK_KHR_shader_maximal_reconvergence", 1),
    ("VK_KHR_shader_non_semantic_info", 1),
    ("VK_KHR_shader_quad_control", 1),
    ("VK_KHR_shader_relaxed_extended_instruction", 1),
    ("VK_KHR_shader_subgroup_extended_types", 1),
    ("VK_KHR_shader_subgroup_rotate", 2),
    ("VK_KHR_shader_subgroup_uniform_control_flow", 1),
    ("VK_KHR_shader_untyped_pointers", 1),
    ("VK_KHR_spirv_1_4", 1),
    ("VK_KHR_storage_buffer_storage_class", 1),
    ("VK_KHR_synchronization2", 1),
    ("VK_KHR_timeline_semaphore", 2),
    ("VK_KHR_uniform_buffer_standard_layout", 1),
    ("VK_KHR_variable_pointers", 1),
    // CTS wants exactly this version.
    ("VK_KHR_vulkan_memory_model", 3),
    ("VK_KHR_workgroup_memory_explicit_layout", 1),
    ("VK_KHR_zero_initialize_workgroup_memory", 1),
    ("VK_NV_cooperative_matrix", 1),
    ("VK_NV_cooperative_matrix2", 1),
    ("VK_NV_cooperative_matrix_decode_vector", 1),
    ("VK_NV_cooperative_vector", 4),
    ("VK_NV_shader_subgroup_partitioned", 1),
    ("VK_QCOM_cooperative_matrix_conversion", 1),
];

/// Those of GPUs besides.
const GPU: &[Extension] = &[("VK_NV_shader_sm_builtins", 1)];

/// Those of a device.
pub(super) fn of_device(is_gpu: bool) -> Vec<Extension> {
    let of_gpu = if is_gpu { GPU } else { &[] };
    DEVICE.iter().chain(of_gpu).copied().collect()
}

/// As `vkEnumerate…ExtensionProperties` give them.
pub(super) fn properties(extensions: &[Extension]) -> Vec<vk::ExtensionProperties> {
    let properties = |&(name, spec_version): &Extension| vk::ExtensionProperties {
        extension_name: chain::characters(name),
        spec_version,
    };
    extensions.iter().map(properties).collect()
}

/// The names that are asked for, as the list has them.
///
/// # Errors
///
/// `VK_ERROR_EXTENSION_NOT_PRESENT` if one is not in the list.
///
/// # Safety
///
/// `names` is null or points to `count` strings.
pub(super) unsafe fn enabled(
    extensions: &[Extension],
    names: *const *const std::ffi::c_char,
    count: u32,
) -> Result<Vec<&'static str>, vk::Result> {
    // SAFETY: as this function's.
    let names = unsafe { chain::slice(names, count) };
    let find = |&name: &*const std::ffi::c_char| {
        // SAFETY: a string, as this function's safety says.
        let name = unsafe { chain::text(name) };
        extensions.iter().find(|extension| extension.0 == name).map(|extension| extension.0)
    };
    names.iter().map(find).collect::<Option<_>>().ok_or(vk::Result::ERROR_EXTENSION_NOT_PRESENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_distinct() {
        for list in [INSTANCE, DEVICE, GPU] {
            assert!(list.is_sorted_by(|a, b| a.0 < b.0));
        }
    }

    #[test]
    fn unknown_names_are_found_out() {
        let known = [c"VK_KHR_cooperative_matrix".as_ptr(), c"VK_KHR_16bit_storage".as_ptr()];
        let unknown = [c"VK_KHR_16bit_storage".as_ptr(), c"VK_KHR_swapchain".as_ptr()];
        // SAFETY: arrays of two strings.
        let enabled_known = unsafe { enabled(DEVICE, known.as_ptr(), 2) };
        assert_eq!(enabled_known, Ok(vec!["VK_KHR_cooperative_matrix", "VK_KHR_16bit_storage"]));
        // SAFETY: as above.
        let enabled_unknown = unsafe { enabled(DEVICE, unknown.as_ptr(), 2) };
        assert_eq!(enabled_unknown, Err(vk::Result::ERROR_EXTENSION_NOT_PRESENT));
        // SAFETY: nothing is read.
        assert_eq!(unsafe { enabled(DEVICE, std::ptr::null(), 0) }, Ok(Vec::new()));
    }
}

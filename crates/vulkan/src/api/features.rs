//! The features, of which those are true that work.
//!
//! A table says of each structure which of its fields are supported; from it come what
//! `vkGetPhysicalDeviceFeatures2` fills and what `vkCreateDevice` accepts. Features of graphics are false, those that
//! Vulkan demands of graphics implementations among them.

use std::ffi::c_void;

use super::chain;
use super::newer as vk;

chain::structures! {
    PhysicalDeviceFeatures2 = PHYSICAL_DEVICE_FEATURES_2,
}

/// A structure of features.
///
/// # Safety
///
/// Its default value has its `sType`, no structure of another type has that, and it begins with `sType`
/// and `pNext`.
unsafe trait Features: Copy + Default + PartialEq {
    /// Its `sType`.
    fn ty() -> vk::StructureType;

    /// Gives all supported features a value.
    fn set(&mut self, value: vk::Bool32);

    /// Without the pointer to the next structure.
    fn alone(self) -> Self;
}

/// What is done with a structure of features.
struct Entry {
    ty: fn() -> vk::StructureType,
    /// Fills the structure behind the pointer, for a device that has these features or lacks them.
    fill: unsafe fn(*mut c_void, bool),
    /// Whether all features that the structure behind the pointer asks for are supported by such a device.
    accepts: unsafe fn(*const c_void, bool) -> bool,
}

macro_rules! implement {
    ($($name:ident { $($field:ident),* $(,)? })*) => {
        $(
            // SAFETY: the type of its default value is what the registry gives it.
            unsafe impl Features for vk::$name {
                fn ty() -> vk::StructureType {
                    Self::default().s_type
                }

                fn set(&mut self, value: vk::Bool32) {
                    let _ = value;
                    $(self.$field = value;)*
                }

                fn alone(self) -> Self {
                    Self { next: std::ptr::null_mut(), ..self }
                }
            }
        )*

        const TABLE: &[Entry] = &[$(
            Entry { ty: vk::$name::ty, fill: fill_one::<vk::$name>, accepts: accepts_one::<vk::$name> }
        ),*];
    };
}

macro_rules! table {
    (
        versions {
            $($version:ident { $($own:ident),* } and {
                $($part:ident { $($feature:ident),* $(,)? })*
            })*
        }
        extensions { $($name:ident { $($field:ident),* $(,)? })* }
    ) => {
        implement! {
            $($version { $($own,)* $($($feature,)*)* } $($part { $($feature),* })*)*
            $($name { $($field),* })*
        }
    };
}

table! {
    // The structure of a version has the features of the extensions that it took over, and some of its own.
    versions {
        PhysicalDeviceVulkan11Features {} and {
            PhysicalDevice16BitStorageFeatures {
                storage_buffer_16bit_access,
                uniform_and_storage_buffer_16bit_access,
                storage_push_constant16,
            }
            PhysicalDeviceMultiviewFeatures {}
            PhysicalDeviceProtectedMemoryFeatures {}
            PhysicalDeviceSamplerYcbcrConversionFeatures {}
            PhysicalDeviceShaderDrawParametersFeatures {}
            PhysicalDeviceVariablePointersFeatures { variable_pointers_storage_buffer, variable_pointers }
        }
        PhysicalDeviceVulkan12Features {
            sampler_mirror_clamp_to_edge,
            descriptor_indexing,
            sampler_filter_minmax,
            subgroup_broadcast_dynamic_id
        } and {
            PhysicalDevice8BitStorageFeatures {
                storage_buffer_8bit_access,
                uniform_and_storage_buffer_8bit_access,
                storage_push_constant8,
            }
            PhysicalDeviceBufferDeviceAddressFeatures { buffer_device_address }
            PhysicalDeviceDescriptorIndexingFeatures {
                shader_uniform_texel_buffer_array_dynamic_indexing,
                shader_storage_texel_buffer_array_dynamic_indexing,
                shader_uniform_buffer_array_non_uniform_indexing,
                shader_sampled_image_array_non_uniform_indexing,
                shader_storage_buffer_array_non_uniform_indexing,
                shader_storage_image_array_non_uniform_indexing,
                shader_uniform_texel_buffer_array_non_uniform_indexing,
                shader_storage_texel_buffer_array_non_uniform_indexing,
                descriptor_binding_uniform_buffer_update_after_bind,
                descriptor_binding_sampled_image_update_after_bind,
                descriptor_binding_storage_image_update_after_bind,
                descriptor_binding_storage_buffer_update_after_bind,
                descriptor_binding_uniform_texel_buffer_update_after_bind,
                descriptor_binding_storage_texel_buffer_update_after_bind,
                descriptor_binding_update_unused_while_pending,
                descriptor_binding_partially_bound,
                descriptor_binding_variable_descriptor_count,
                runtime_descriptor_array,
            }
            PhysicalDeviceHostQueryResetFeatures { host_query_reset }
            PhysicalDeviceImagelessFramebufferFeatures {}
            PhysicalDeviceScalarBlockLayoutFeatures { scalar_block_layout }
            PhysicalDeviceSeparateDepthStencilLayoutsFeatures { separate_depth_stencil_layouts }
            PhysicalDeviceShaderAtomicInt64Features { shader_buffer_int64_atomics, shader_shared_int64_atomics }
            PhysicalDeviceShaderFloat16Int8Features { shader_float16, shader_int8 }
            PhysicalDeviceShaderSubgroupExtendedTypesFeatures { shader_subgroup_extended_types }
            PhysicalDeviceTimelineSemaphoreFeatures { timeline_semaphore }
            PhysicalDeviceUniformBufferStandardLayoutFeatures { uniform_buffer_standard_layout }
            PhysicalDeviceVulkanMemoryModelFeatures {
                vulkan_memory_model,
                vulkan_memory_model_device_scope,
                vulkan_memory_model_availability_visibility_chains,
            }
        }
        PhysicalDeviceVulkan13Features {} and {
            PhysicalDeviceDynamicRenderingFeatures {}
            PhysicalDeviceImageRobustnessFeatures { robust_image_access }
            PhysicalDeviceInlineUniformBlockFeatures {
                inline_uniform_block,
                descriptor_binding_inline_uniform_block_update_after_bind,
            }
            PhysicalDeviceMaintenance4Features { maintenance4 }
            PhysicalDevicePipelineCreationCacheControlFeatures { pipeline_creation_cache_control }
            PhysicalDevicePrivateDataFeatures { private_data }
            PhysicalDeviceShaderDemoteToHelperInvocationFeatures {}
            PhysicalDeviceShaderIntegerDotProductFeatures { shader_integer_dot_product }
            PhysicalDeviceShaderTerminateInvocationFeatures {}
            PhysicalDeviceSubgroupSizeControlFeatures { subgroup_size_control, compute_full_subgroups }
            PhysicalDeviceSynchronization2Features { synchronization2 }
            PhysicalDeviceTextureCompressionASTCHDRFeatures {}
            PhysicalDeviceZeroInitializeWorkgroupMemoryFeatures { shader_zero_initialize_workgroup_memory }
        }
    }
    extensions {
        // Those that Vulkan 1.4 took over.
        PhysicalDeviceMaintenance5Features { maintenance5 }
        PhysicalDeviceMaintenance6Features { maintenance6 }
        PhysicalDevicePipelineRobustnessFeatures { pipeline_robustness }
        PhysicalDeviceShaderExpectAssumeFeatures { shader_expect_assume }
        PhysicalDeviceShaderFloatControls2Features { shader_float_controls2 }
        PhysicalDeviceShaderSubgroupRotateFeatures { shader_subgroup_rotate, shader_subgroup_rotate_clustered }
        // The others.
        PhysicalDeviceCooperativeMatrix2FeaturesNV {
            cooperative_matrix_workgroup_scope,
            cooperative_matrix_flexible_dimensions,
            cooperative_matrix_reductions,
            cooperative_matrix_conversions,
            cooperative_matrix_per_element_operations,
            cooperative_matrix_tensor_addressing,
            cooperative_matrix_block_loads,
        }
        PhysicalDeviceCooperativeMatrixConversionFeaturesQCOM { cooperative_matrix_conversion }
        PhysicalDeviceCooperativeMatrixMaintenance1FeaturesEXT {
            cooperative_matrix_properties2,
            cooperative_matrix_reductions,
            cooperative_matrix_conversions,
            cooperative_matrix_per_element_operations,
            cooperative_matrix_get_coordinate,
        }
        PhysicalDeviceCooperativeMatrixDecodeVectorFeaturesNV { cooperative_matrix_decode_vector }
        PhysicalDeviceCooperativeMatrixFeaturesKHR {
            cooperative_matrix,
            cooperative_matrix_robust_buffer_access,
        }
        PhysicalDeviceCooperativeMatrixFeaturesNV {
            cooperative_matrix,
            cooperative_matrix_robust_buffer_access,
        }
        PhysicalDeviceCooperativeVectorFeaturesNV { cooperative_vector, cooperative_vector_training }
        PhysicalDevicePipelineExecutablePropertiesFeaturesKHR { pipeline_executable_info }
        PhysicalDeviceRobustness2FeaturesKHR {
            robust_buffer_access2,
            robust_image_access2,
            null_descriptor,
        }
        // Addresses have 64 bits always, so the flag and the execution mode change nothing.
        PhysicalDeviceShader64BitIndexingFeaturesEXT { shader_64bit_indexing }
        PhysicalDeviceShaderAtomicFloat2FeaturesEXT {
            shader_buffer_float16_atomics,
            shader_buffer_float16_atomic_add,
            shader_buffer_float16_atomic_min_max,
            shader_buffer_float32_atomic_min_max,
            shader_buffer_float64_atomic_min_max,
            shader_shared_float16_atomics,
            shader_shared_float16_atomic_add,
            shader_shared_float16_atomic_min_max,
            shader_shared_float32_atomic_min_max,
            shader_shared_float64_atomic_min_max,
            shader_image_float32_atomic_min_max,
        }
        PhysicalDeviceShaderAtomicFloatFeaturesEXT {
            shader_buffer_float32_atomics,
            shader_buffer_float32_atomic_add,
            shader_buffer_float64_atomics,
            shader_buffer_float64_atomic_add,
            shader_shared_float32_atomics,
            shader_shared_float32_atomic_add,
            shader_shared_float64_atomics,
            shader_shared_float64_atomic_add,
            shader_image_float32_atomics,
            shader_image_float32_atomic_add,
        }
        PhysicalDeviceShaderBfloat16FeaturesKHR {
            shader_b_float16_type,
            shader_b_float_16dot_product,
            shader_b_float16_cooperative_matrix,
        }
        PhysicalDeviceShaderClockFeaturesKHR { shader_subgroup_clock, shader_device_clock }
        PhysicalDeviceShaderFloat8FeaturesEXT { shader_float8, shader_float8_cooperative_matrix }
        PhysicalDeviceShaderFmaFeaturesKHR { shader_fma_float16, shader_fma_float32, shader_fma_float64 }
        PhysicalDeviceShaderImageAtomicInt64FeaturesEXT { shader_image_int64_atomics }
        PhysicalDeviceShaderLongVectorFeaturesEXT { long_vector }
        PhysicalDeviceShaderMaximalReconvergenceFeaturesKHR { shader_maximal_reconvergence }
        PhysicalDeviceShaderQuadControlFeaturesKHR { shader_quad_control }
        PhysicalDeviceShaderRelaxedExtendedInstructionFeaturesKHR { shader_relaxed_extended_instruction }
        PhysicalDeviceShaderReplicatedCompositesFeaturesEXT { shader_replicated_composites }
        PhysicalDeviceShaderSMBuiltinsFeaturesNV { shader_sm_builtins }
        PhysicalDeviceShaderSubgroupPartitionedFeaturesEXT { shader_subgroup_partitioned }
        PhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR { shader_subgroup_uniform_control_flow }
        PhysicalDeviceShaderUntypedPointersFeaturesKHR { shader_untyped_pointers }
        PhysicalDeviceTexelBufferAlignmentFeaturesEXT { texel_buffer_alignment }
        PhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR {
            workgroup_memory_explicit_layout,
            workgroup_memory_explicit_layout_scalar_block_layout,
            workgroup_memory_explicit_layout_8bit_access,
            workgroup_memory_explicit_layout_16bit_access,
        }
    }
}

/// Fills a structure.
///
/// # Safety
///
/// `at` points to a `T` that is valid for reads and writes.
unsafe fn fill_one<T: Features>(at: *mut c_void, has: bool) {
    let mut features = T::default();
    features.set(has.into());
    // SAFETY: as this function's.
    unsafe { chain::put(at, features) };
}

/// Whether a structure asks for supported features only.
///
/// # Safety
///
/// `at` points to a valid `T`.
unsafe fn accepts_one<T: Features>(at: *const c_void, has: bool) -> bool {
    // SAFETY: as this function's.
    let mut features = unsafe { at.cast::<T>().read() }.alone();
    if has {
        features.set(vk::FALSE);
    }
    features == T::default()
}

/// Whether a device has the features of a structure: some are those of GPUs alone.
fn has(is_gpu: bool, ty: vk::StructureType) -> bool {
    is_gpu || ty != vk::StructureType::PHYSICAL_DEVICE_SHADER_SM_BUILTINS_FEATURES_NV
}

/// The features of Vulkan 1.0.
pub(super) fn core() -> vk::PhysicalDeviceFeatures {
    let mut features = vk::PhysicalDeviceFeatures::default();
    set_core(&mut features, vk::TRUE);
    features
}

fn set_core(features: &mut vk::PhysicalDeviceFeatures, value: vk::Bool32) {
    features.robust_buffer_access = value;
    features.image_cube_array = value;
    features.shader_image_gather_extended = value;
    features.shader_uniform_buffer_array_dynamic_indexing = value;
    features.shader_sampled_image_array_dynamic_indexing = value;
    features.shader_storage_buffer_array_dynamic_indexing = value;
    features.shader_storage_image_array_dynamic_indexing = value;
    features.shader_storage_image_extended_formats = value;
    features.shader_storage_image_read_without_format = value;
    features.shader_storage_image_write_without_format = value;
    features.shader_resource_min_lod = value;
    features.shader_float64 = value;
    features.shader_int64 = value;
    features.shader_int16 = value;
}

/// Whether the features of Vulkan 1.0 that are asked for are supported.
pub(super) fn accepts_core(features: &vk::PhysicalDeviceFeatures) -> bool {
    let mut features = *features;
    set_core(&mut features, vk::FALSE);
    features == vk::PhysicalDeviceFeatures::default()
}

/// Fills all structures of features in a chain.
///
/// # Safety
///
/// `next` is a valid chain that is ours to write.
pub(super) unsafe fn fill(next: *mut c_void, is_gpu: bool) {
    // SAFETY: as this function's.
    for (ty, at) in unsafe { chain::links(next) } {
        if let Some(entry) = TABLE.iter().find(|entry| (entry.ty)() == ty) {
            // SAFETY: a structure of that type, by its `sType`.
            unsafe { (entry.fill)(at.cast_mut(), has(is_gpu, ty)) };
        }
    }
}

/// Whether all features that a chain asks for are supported. Structures of other kinds ask for none.
///
/// # Safety
///
/// `next` is a valid chain.
pub(super) unsafe fn accepts(next: *const c_void, is_gpu: bool) -> bool {
    // SAFETY: as this function's.
    unsafe { chain::links(next) }.all(|(ty, at)| {
        if ty == vk::StructureType::PHYSICAL_DEVICE_FEATURES_2 {
            // SAFETY: a structure of that type, by its `sType`.
            return accepts_core(unsafe { &(*at.cast::<vk::PhysicalDeviceFeatures2>()).features });
        }
        let entry = TABLE.iter().find(|entry| (entry.ty)() == ty);
        // SAFETY: as above.
        entry.is_none_or(|entry| unsafe { (entry.accepts)(at, has(is_gpu, ty)) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_distinct() {
        let types: std::collections::BTreeSet<_> = TABLE.iter().map(|entry| (entry.ty)().as_raw()).collect();
        assert_eq!(types.len(), TABLE.len());
    }

    #[test]
    fn a_gpu_alone_has_its_built_ins() {
        let mut asked = vk::PhysicalDeviceShaderSMBuiltinsFeaturesNV::default();
        let next: *mut c_void = (&raw mut asked).cast();
        for is_gpu in [true, false] {
            // SAFETY: a chain of one structure.
            unsafe { fill(next, is_gpu) };
            assert_eq!(asked.shader_sm_builtins, vk::Bool32::from(is_gpu));
        }
        asked.shader_sm_builtins = vk::TRUE;
        let next: *const c_void = (&raw const asked).cast();
        // SAFETY: as above.
        assert_eq!([true, false].map(|is_gpu| unsafe { accepts(next, is_gpu) }), [true, false]);
    }

    #[test]
    fn a_chain_is_filled_and_what_was_filled_is_accepted() {
        let mut matrices = vk::PhysicalDeviceCooperativeMatrixFeaturesKHR::default();
        let mut vulkan12 = vk::PhysicalDeviceVulkan12Features {
            shader_output_layer: vk::TRUE,
            next: (&raw mut matrices).cast(),
            ..Default::default()
        };
        let next: *mut c_void = (&raw mut vulkan12).cast();
        // SAFETY: a chain of two structures.
        unsafe { fill(next, false) };
        assert_eq!(vulkan12.next, (&raw mut matrices).cast::<c_void>(), "the chain is kept");
        assert_eq!((vulkan12.shader_float16, vulkan12.shader_output_layer), (vk::TRUE, vk::FALSE));
        assert_eq!(matrices.cooperative_matrix, vk::TRUE);
        let next: *mut c_void = (&raw mut vulkan12).cast();
        // SAFETY: as above.
        assert!(unsafe { accepts(next, false) });
        vulkan12.shader_output_layer = vk::TRUE;
        let next: *mut c_void = (&raw mut vulkan12).cast();
        // SAFETY: as above.
        assert!(!unsafe { accepts(next, false) });
    }

    #[test]
    fn core_features_are_checked() {
        assert!(accepts_core(&core()));
        assert!(!accepts_core(&vk::PhysicalDeviceFeatures { geometry_shader: vk::TRUE, ..core() }));
        let features = vk::PhysicalDeviceFeatures { sparse_binding: vk::TRUE, ..Default::default() };
        let all = vk::PhysicalDeviceFeatures2 { features, ..Default::default() };
        // SAFETY: a chain of one structure.
        assert!(!unsafe { accepts((&raw const all).cast(), false) });
    }
}

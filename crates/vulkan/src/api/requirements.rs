//! What a device's commands need, by the registry: an extension, or a later version of Vulkan.
//!
//! `vkGetDeviceProcAddr` must give null for commands of extensions that are not enabled.

use vulkanalia_sys as vk;

use super::properties::API_VERSION;
use crate::core::device::Device;

/// Commands that belong to extensions. One of several extensions is enough.
const EXTENSIONS: &[(&str, &[&str])] = &[
    ("VK_EXT_buffer_device_address", &["vkGetBufferDeviceAddressEXT"]),
    ("VK_EXT_calibrated_timestamps", &["vkGetCalibratedTimestampsEXT"]),
    (
        "VK_EXT_debug_utils",
        &[
            "vkCmdBeginDebugUtilsLabelEXT",
            "vkCmdEndDebugUtilsLabelEXT",
            "vkCmdInsertDebugUtilsLabelEXT",
            "vkQueueBeginDebugUtilsLabelEXT",
            "vkQueueEndDebugUtilsLabelEXT",
            "vkQueueInsertDebugUtilsLabelEXT",
            "vkSetDebugUtilsObjectNameEXT",
            "vkSetDebugUtilsObjectTagEXT",
        ],
    ),
    ("VK_EXT_external_memory_host", &["vkGetMemoryHostPointerPropertiesEXT"]),
    ("VK_EXT_host_image_copy", &["vkGetImageSubresourceLayout2EXT"]),
    ("VK_EXT_host_query_reset", &["vkResetQueryPoolEXT"]),
    ("VK_EXT_image_compression_control", &["vkGetImageSubresourceLayout2EXT"]),
    (
        "VK_EXT_private_data",
        &[
            "vkCreatePrivateDataSlotEXT",
            "vkDestroyPrivateDataSlotEXT",
            "vkGetPrivateDataEXT",
            "vkSetPrivateDataEXT",
        ],
    ),
    ("VK_KHR_bind_memory2", &["vkBindBufferMemory2KHR", "vkBindImageMemory2KHR"]),
    (
        "VK_KHR_buffer_device_address",
        &[
            "vkGetBufferDeviceAddressKHR",
            "vkGetBufferOpaqueCaptureAddressKHR",
            "vkGetDeviceMemoryOpaqueCaptureAddressKHR",
        ],
    ),
    ("VK_KHR_calibrated_timestamps", &["vkGetCalibratedTimestampsKHR"]),
    (
        "VK_KHR_copy_commands2",
        &[
            "vkCmdBlitImage2KHR",
            "vkCmdCopyBuffer2KHR",
            "vkCmdCopyBufferToImage2KHR",
            "vkCmdCopyImage2KHR",
            "vkCmdCopyImageToBuffer2KHR",
            "vkCmdResolveImage2KHR",
        ],
    ),
    ("VK_KHR_create_renderpass2", &["vkCreateRenderPass2KHR"]),
    (
        "VK_KHR_descriptor_update_template",
        &[
            "vkCmdPushDescriptorSetWithTemplateKHR",
            "vkCreateDescriptorUpdateTemplateKHR",
            "vkDestroyDescriptorUpdateTemplateKHR",
            "vkUpdateDescriptorSetWithTemplateKHR",
        ],
    ),
    (
        "VK_KHR_device_group",
        &["vkCmdDispatchBaseKHR", "vkCmdSetDeviceMaskKHR", "vkGetDeviceGroupPeerMemoryFeaturesKHR"],
    ),
    (
        "VK_KHR_get_memory_requirements2",
        &[
            "vkGetBufferMemoryRequirements2KHR",
            "vkGetImageMemoryRequirements2KHR",
            "vkGetImageSparseMemoryRequirements2KHR",
        ],
    ),
    ("VK_KHR_maintenance1", &["vkTrimCommandPoolKHR"]),
    ("VK_KHR_maintenance3", &["vkGetDescriptorSetLayoutSupportKHR"]),
    (
        "VK_KHR_maintenance4",
        &[
            "vkGetDeviceBufferMemoryRequirementsKHR",
            "vkGetDeviceImageMemoryRequirementsKHR",
            "vkGetDeviceImageSparseMemoryRequirementsKHR",
        ],
    ),
    (
        "VK_KHR_maintenance5",
        &[
            "vkCmdBindIndexBuffer2KHR",
            "vkGetDeviceImageSubresourceLayoutKHR",
            "vkGetImageSubresourceLayout2KHR",
            "vkGetRenderingAreaGranularityKHR",
        ],
    ),
    (
        "VK_KHR_maintenance6",
        &[
            "vkCmdBindDescriptorSets2KHR",
            "vkCmdPushConstants2KHR",
            "vkCmdPushDescriptorSet2KHR",
            "vkCmdPushDescriptorSetWithTemplate2KHR",
        ],
    ),
    ("VK_KHR_map_memory2", &["vkMapMemory2KHR", "vkUnmapMemory2KHR"]),
    (
        "VK_KHR_pipeline_executable_properties",
        &[
            "vkGetPipelineExecutableInternalRepresentationsKHR",
            "vkGetPipelineExecutablePropertiesKHR",
            "vkGetPipelineExecutableStatisticsKHR",
        ],
    ),
    ("VK_KHR_push_descriptor", &["vkCmdPushDescriptorSetKHR", "vkCmdPushDescriptorSetWithTemplateKHR"]),
    (
        "VK_KHR_sampler_ycbcr_conversion",
        &["vkCreateSamplerYcbcrConversionKHR", "vkDestroySamplerYcbcrConversionKHR"],
    ),
    (
        "VK_KHR_synchronization2",
        &[
            "vkCmdPipelineBarrier2KHR",
            "vkCmdResetEvent2KHR",
            "vkCmdSetEvent2KHR",
            "vkCmdWaitEvents2KHR",
            "vkCmdWriteTimestamp2KHR",
            "vkQueueSubmit2KHR",
        ],
    ),
    (
        "VK_KHR_timeline_semaphore",
        &["vkGetSemaphoreCounterValueKHR", "vkSignalSemaphoreKHR", "vkWaitSemaphoresKHR"],
    ),
    (
        "VK_NV_cooperative_vector",
        &["vkCmdConvertCooperativeVectorMatrixNV", "vkConvertCooperativeVectorMatrixNV"],
    ),
];

/// Commands by the version of Vulkan that has them, but for 1.0. Those of 1.4 are none of this driver's.
const VERSIONS: &[(u32, &[&str])] = &[
    (
        vk::make_version(1, 1, 0),
        &[
            "vkBindBufferMemory2",
            "vkBindImageMemory2",
            "vkCmdDispatchBase",
            "vkCmdSetDeviceMask",
            "vkCreateDescriptorUpdateTemplate",
            "vkCreateSamplerYcbcrConversion",
            "vkDestroyDescriptorUpdateTemplate",
            "vkDestroySamplerYcbcrConversion",
            "vkGetBufferMemoryRequirements2",
            "vkGetDescriptorSetLayoutSupport",
            "vkGetDeviceGroupPeerMemoryFeatures",
            "vkGetDeviceQueue2",
            "vkGetImageMemoryRequirements2",
            "vkGetImageSparseMemoryRequirements2",
            "vkTrimCommandPool",
            "vkUpdateDescriptorSetWithTemplate",
        ],
    ),
    (
        vk::make_version(1, 2, 0),
        &[
            "vkCmdBeginRenderPass2",
            "vkCmdDrawIndexedIndirectCount",
            "vkCmdDrawIndirectCount",
            "vkCmdEndRenderPass2",
            "vkCmdNextSubpass2",
            "vkCreateRenderPass2",
            "vkGetBufferDeviceAddress",
            "vkGetBufferOpaqueCaptureAddress",
            "vkGetDeviceMemoryOpaqueCaptureAddress",
            "vkGetSemaphoreCounterValue",
            "vkResetQueryPool",
            "vkSignalSemaphore",
            "vkWaitSemaphores",
        ],
    ),
    (
        vk::make_version(1, 3, 0),
        &[
            "vkCmdBeginRendering",
            "vkCmdBindVertexBuffers2",
            "vkCmdBlitImage2",
            "vkCmdCopyBuffer2",
            "vkCmdCopyBufferToImage2",
            "vkCmdCopyImage2",
            "vkCmdCopyImageToBuffer2",
            "vkCmdEndRendering",
            "vkCmdPipelineBarrier2",
            "vkCmdResetEvent2",
            "vkCmdResolveImage2",
            "vkCmdSetCullMode",
            "vkCmdSetDepthBiasEnable",
            "vkCmdSetDepthBoundsTestEnable",
            "vkCmdSetDepthCompareOp",
            "vkCmdSetDepthTestEnable",
            "vkCmdSetDepthWriteEnable",
            "vkCmdSetEvent2",
            "vkCmdSetFrontFace",
            "vkCmdSetPrimitiveRestartEnable",
            "vkCmdSetPrimitiveTopology",
            "vkCmdSetRasterizerDiscardEnable",
            "vkCmdSetScissorWithCount",
            "vkCmdSetStencilOp",
            "vkCmdSetStencilTestEnable",
            "vkCmdSetViewportWithCount",
            "vkCmdWaitEvents2",
            "vkCmdWriteTimestamp2",
            "vkCreatePrivateDataSlot",
            "vkDestroyPrivateDataSlot",
            "vkGetDeviceBufferMemoryRequirements",
            "vkGetDeviceImageMemoryRequirements",
            "vkGetDeviceImageSparseMemoryRequirements",
            "vkGetPrivateData",
            "vkQueueSubmit2",
            "vkSetPrivateData",
        ],
    ),
    (
        vk::make_version(1, 4, 0),
        &[
            "vkCmdBindDescriptorSets2",
            "vkCmdBindIndexBuffer2",
            "vkCmdPushConstants2",
            "vkCmdPushDescriptorSet",
            "vkCmdPushDescriptorSet2",
            "vkCmdPushDescriptorSetWithTemplate",
            "vkCmdPushDescriptorSetWithTemplate2",
            "vkCmdSetLineStipple",
            "vkCmdSetRenderingAttachmentLocations",
            "vkCmdSetRenderingInputAttachmentIndices",
            "vkGetDeviceImageSubresourceLayout",
            "vkGetImageSubresourceLayout2",
            "vkGetRenderingAreaGranularity",
            "vkMapMemory2",
            "vkUnmapMemory2",
        ],
    ),
];

/// Whether a command may be used on a device.
pub(super) fn are_met(device: &Device, command: &str) -> bool {
    let mut extensions = EXTENSIONS.iter().filter(|(_, commands)| commands.contains(&command)).peekable();
    let is_of_extension = extensions.peek().is_some();
    if is_of_extension {
        return extensions.any(|(extension, _)| device.has_extension(extension));
    }
    // *vkGetDeviceProcAddr behavior*: with the feature `maintenance5`, commands beyond the version that the
    // instance is for are null. Without it, applications may forget to say which version they are for.
    let version = match device.has_extension("VK_KHR_maintenance5") {
        true => device.physical.api_version.min(API_VERSION),
        false => API_VERSION,
    };
    let found = VERSIONS.iter().find(|(_, commands)| commands.contains(&command));
    found.is_none_or(|&(first, _)| first <= version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::api::COMMANDS;
    use crate::core::instance::Instance;

    fn device(extensions: Vec<&'static str>) -> Device {
        device_for(API_VERSION, extensions)
    }

    fn device_for(version: u32, extensions: Vec<&'static str>) -> Device {
        let instance = Instance::with_extensions(version, vec!["VK_EXT_debug_utils"]).expect("a machine");
        let device =
            Device::new(Arc::clone(&instance.physical), instance.physical.start().expect("a device"));
        device.with_extensions(extensions)
    }

    #[test]
    fn commands_come_with_their_extensions() {
        let plain = device(Vec::new());
        assert!(are_met(&plain, "vkCreateBuffer"));
        assert!(are_met(&plain, "vkSetDebugUtilsObjectNameEXT"), "an extension of the instance");
        assert!(!are_met(&plain, "vkCmdPushDescriptorSetKHR"));
        assert!(!are_met(&plain, "vkMapMemory2"));
        assert!(are_met(&device(vec!["VK_KHR_push_descriptor"]), "vkCmdPushDescriptorSetKHR"));
    }

    #[test]
    fn commands_come_with_their_versions() {
        let maintenance = || vec!["VK_KHR_maintenance5"];
        let names =
            ["vkCreateBuffer", "vkCmdDispatchBase", "vkWaitSemaphores", "vkQueueSubmit2", "vkMapMemory2"];
        for (minor, expected) in [
            [true, false, false, false, false],
            [true, true, false, false, false],
            [true, true, true, false, false],
        ]
        .into_iter()
        .chain([[true, true, true, true, false]; 2])
        .enumerate()
        {
            let version = vk::make_version(1, minor as u32, 7);
            let device = device_for(version, maintenance());
            assert_eq!(names.map(|name| are_met(&device, name)), expected, "Vulkan 1.{minor}");
            let plain = device_for(version, Vec::new());
            assert_eq!(names.map(|name| are_met(&plain, name)), [true, true, true, true, false]);
        }
    }

    #[test]
    fn every_command_that_is_listed_exists() {
        let listed = VERSIONS.iter().flat_map(|(_, commands)| commands.iter());
        for name in listed {
            let mut commands = COMMANDS.iter().flat_map(|commands| commands.iter());
            assert!(commands.any(|command| command.type_name.strip_prefix("PFN_") == Some(name)), "{name}");
        }
    }

    #[test]
    fn every_command_with_a_suffix_belongs_to_an_extension() {
        let commands = COMMANDS.iter().flat_map(|commands| commands.iter());
        let device = commands.filter(|command| command.level == crate::api::entry::Level::Device);
        for command in device {
            let name = command.type_name.strip_prefix("PFN_").expect("a name");
            let has_suffix = name.ends_with(|letter: char| letter.is_ascii_uppercase());
            let is_listed = EXTENSIONS.iter().any(|(_, commands)| commands.contains(&name));
            assert_eq!(has_suffix, is_listed, "{name}");
        }
    }
}

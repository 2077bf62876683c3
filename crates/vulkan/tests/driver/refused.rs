//! What the driver does not have it refuses by the rules of Vulkan.

use std::ffi::CStr;

use vulkanalia::prelude::v1_3::*;

use crate::fixture;
use crate::kernel::Options;

cases! {
    fn unknown_extensions_are_not_present(gpu) {
        let unknown = c"VK_PHALANX_no_such_extension";
        for extension in [unknown, c"VK_KHR_swapchain", c"VK_KHR_ray_query"] {
            // The layer says that the extension, or what it needs, is missing.
            gpu.allow("VUID-vkCreateDevice-ppEnabledExtensionNames-01387");
            gpu.allow("VUID-VkDeviceCreateInfo-");
            let created = fixture::create_device(&gpu.instance, gpu.physical, &[extension]);
            assert_eq!(created.err(), Some(vk::ErrorCode::EXTENSION_NOT_PRESENT), "{extension:?}");
        }
        let extensions = [unknown.as_ptr()];
        let info = vk::InstanceCreateInfo::builder().enabled_extension_names(&extensions);
        let created = gpu.entry.create_instance(&info, None);
        assert_eq!(created.err(), Some(vk::ErrorCode::EXTENSION_NOT_PRESENT));
    }

    /// Also features that graphics implementations must have.
    fn features_of_graphics_are_not_present(gpu) {
        let supported = gpu.instance.get_physical_device_features(gpu.physical);
        assert_eq!((supported.geometry_shader, supported.sparse_binding), (vk::FALSE, vk::FALSE));
        let queues = [vk::DeviceQueueCreateInfo::builder().queue_family_index(0).queue_priorities(&[1.0])];
        let features = vk::PhysicalDeviceFeatures { geometry_shader: vk::TRUE, ..Default::default() };
        let info = vk::DeviceCreateInfo::builder().queue_create_infos(&queues).enabled_features(&features);
        let created = gpu.instance.create_device(gpu.physical, &info, None);
        assert_eq!(created.err(), Some(vk::ErrorCode::FEATURE_NOT_PRESENT));

        let mut dynamic =
            vk::PhysicalDeviceDynamicRenderingFeatures { dynamic_rendering: vk::TRUE, ..Default::default() };
        let info = vk::DeviceCreateInfo::builder().queue_create_infos(&queues).push_next(&mut dynamic);
        let created = gpu.instance.create_device(gpu.physical, &info, None);
        assert_eq!(created.err(), Some(vk::ErrorCode::FEATURE_NOT_PRESENT));
    }

    /// What the compiler does not take is an error with an explanation, and not a crash.
    fn broken_shaders_are_refused(gpu) {
        let layout = gpu.storage_layout(1);
        // The capability of storage images with several samples is not among the features.
        gpu.allow("VUID-");
        gpu.allow("UNASSIGNED-CoreValidation-Shader");
        let image = crate::kernel::compile(
            "layout(local_size_x = 1) in;
             layout(set = 0, binding = 0) writeonly uniform image2DMS image;
             void main() { imageStore(image, ivec2(0), 1, vec4(1)); }",
        );
        let created = gpu.try_kernel(&image, &[layout], Options::default());
        assert_eq!(created.err(), Some(vk::ErrorCode::UNKNOWN));
        assert!(gpu.said().contains("vkCreateComputePipelines"), "{}", gpu.said());

        // The layer of Debian 12 reads beyond the end of such modules.
        if !gpu.is_validated {
            let words = crate::kernel::compile("void main() {}");
            for len in [5, words.len() / 2, words.len() - 1] {
                let created = gpu.try_kernel(&words[..len], &[layout], Options::default());
                assert_eq!(created.err(), Some(vk::ErrorCode::UNKNOWN), "{len} words");
            }
        }
    }

    /// Commands of extensions that are not enabled are not found.
    fn commands_of_absent_extensions_are_null(gpu) {
        let find = |name: &CStr| (gpu.instance.commands().get_device_proc_addr)(gpu.device.handle(), name.as_ptr());
        assert!(find(c"vkCmdDispatch").is_some());
        assert!(find(c"vkCmdPushDescriptorSetKHR").is_some());
        assert!(find(c"vkQueuePresentKHR").is_none());
        assert!(find(c"vkNoSuchCommand").is_none());
    }
}

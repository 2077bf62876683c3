//! Images, their views, and what draws into them: refused.
//!
//! No format has a feature and no queue family supports graphics, so an application that asks first does
//! not come here. One that does gets an error; destroying nothing is allowed. Samplers can be created: a set
//! layout may name them for bindings that no shader uses.

use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use super::dispatchable;
use super::entry::{Command, commands, entries};
use crate::core::device::Device;
use crate::core::sampler::Sampler;

/// Defines how objects are created, namely not at all, and how null is destroyed.
macro_rules! refused {
    ($($create:ident, $destroy:ident: $object:ident by $info:ident, $error:ident;)*) => {
        entries! {$(
            /// Creates nothing.
            fn $create(
                _device: vk::Device,
                _info: *const vk::$info,
                _allocator: *const vk::AllocationCallbacks,
                object: *mut vk::$object,
            ) -> vk::Result {
                // SAFETY: see `entries`.
                if let Some(object) = unsafe { object.as_mut() } {
                    *object = vk::$object::null();
                }
                Err(vk::Result::$error)
            }

            /// Destroys nothing.
            fn $destroy(
                _device: vk::Device,
                _object: vk::$object,
                _allocator: *const vk::AllocationCallbacks,
            ) {}
        )*}
    };
}

refused! {
    create_image, destroy_image: Image by ImageCreateInfo, ERROR_FORMAT_NOT_SUPPORTED;
    create_image_view, destroy_image_view: ImageView by ImageViewCreateInfo, ERROR_FORMAT_NOT_SUPPORTED;
    create_sampler_ycbcr_conversion, destroy_sampler_ycbcr_conversion:
        SamplerYcbcrConversion by SamplerYcbcrConversionCreateInfo, ERROR_FEATURE_NOT_PRESENT;
    create_framebuffer, destroy_framebuffer: Framebuffer by FramebufferCreateInfo, ERROR_FEATURE_NOT_PRESENT;
    create_render_pass, destroy_render_pass: RenderPass by RenderPassCreateInfo, ERROR_FEATURE_NOT_PRESENT;
}

entries! {
    /// `vkCreateRenderPass2`.
    fn create_render_pass2(
        _device: vk::Device,
        _info: *const vk::RenderPassCreateInfo2,
        _allocator: *const vk::AllocationCallbacks,
        pass: *mut vk::RenderPass,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        if let Some(pass) = unsafe { pass.as_mut() } {
            *pass = vk::RenderPass::null();
        }
        Err(vk::Result::ERROR_FEATURE_NOT_PRESENT)
    }

    /// `vkCreateSampler`.
    fn create_sampler(
        device: vk::Device,
        _info: *const vk::SamplerCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        sampler: *mut vk::Sampler,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (device, sampler) = unsafe { (dispatchable::object::<Device>(device)?, sampler.as_mut()) };
        let sampler = sampler.ok_or(vk::Result::ERROR_UNKNOWN)?;
        *sampler = vk::Sampler::from_raw(device.samplers.insert(Arc::new(Sampler {})));
        Ok(())
    }

    /// `vkDestroySampler`.
    fn destroy_sampler(device: vk::Device, sampler: vk::Sampler, _allocator: *const vk::AllocationCallbacks) {
        // SAFETY: see `entries`.
        if let Ok(device) = unsafe { dispatchable::object::<Device>(device) } {
            device.samplers.remove(sampler.as_raw());
        }
    }

    /// `vkGetImageMemoryRequirements`. There are no images; no memory type is right for one.
    fn get_image_memory_requirements(
        _device: vk::Device,
        _image: vk::Image,
        out: *mut vk::MemoryRequirements,
    ) {
        // SAFETY: see `entries`.
        if let Some(out) = unsafe { out.as_mut() } {
            *out = vk::MemoryRequirements::default();
        }
    }

    /// `vkGetImageMemoryRequirements2`.
    fn get_image_memory_requirements2(
        _device: vk::Device,
        _info: *const vk::ImageMemoryRequirementsInfo2,
        out: *mut vk::MemoryRequirements2,
    ) {
        // SAFETY: see `entries`.
        if let Some(out) = unsafe { out.as_mut() } {
            out.memory_requirements = vk::MemoryRequirements::default();
        }
    }

    /// `vkGetDeviceImageMemoryRequirements`.
    fn get_device_image_memory_requirements(
        _device: vk::Device,
        _info: *const vk::DeviceImageMemoryRequirements,
        out: *mut vk::MemoryRequirements2,
    ) {
        // SAFETY: see `entries`.
        if let Some(out) = unsafe { out.as_mut() } {
            out.memory_requirements = vk::MemoryRequirements::default();
        }
    }

    /// `vkGetImageSparseMemoryRequirements`.
    fn get_image_sparse_memory_requirements(
        _device: vk::Device,
        _image: vk::Image,
        count: *mut u32,
        _out: *mut vk::SparseImageMemoryRequirements,
    ) {
        // SAFETY: see `entries`.
        unsafe { none(count) };
    }

    /// `vkGetImageSparseMemoryRequirements2`.
    fn get_image_sparse_memory_requirements2(
        _device: vk::Device,
        _info: *const vk::ImageSparseMemoryRequirementsInfo2,
        count: *mut u32,
        _out: *mut vk::SparseImageMemoryRequirements2,
    ) {
        // SAFETY: see `entries`.
        unsafe { none(count) };
    }

    /// `vkGetDeviceImageSparseMemoryRequirements`.
    fn get_device_image_sparse_memory_requirements(
        _device: vk::Device,
        _info: *const vk::DeviceImageMemoryRequirements,
        count: *mut u32,
        _out: *mut vk::SparseImageMemoryRequirements2,
    ) {
        // SAFETY: see `entries`.
        unsafe { none(count) };
    }

    /// `vkBindImageMemory`. There are no images.
    fn bind_image_memory(
        _device: vk::Device,
        _image: vk::Image,
        _memory: vk::DeviceMemory,
        _offset: vk::DeviceSize,
    ) -> vk::Result {
        Err(vk::Result::ERROR_UNKNOWN)
    }

    /// `vkBindImageMemory2`.
    fn bind_image_memory2(
        _device: vk::Device,
        count: u32,
        _infos: *const vk::BindImageMemoryInfo,
    ) -> vk::Result {
        if count == 0 { Ok(()) } else { Err(vk::Result::ERROR_UNKNOWN) }
    }

    /// `vkGetImageSubresourceLayout`.
    fn get_image_subresource_layout(
        _device: vk::Device,
        _image: vk::Image,
        _subresource: *const vk::ImageSubresource,
        out: *mut vk::SubresourceLayout,
    ) {
        // SAFETY: see `entries`.
        if let Some(out) = unsafe { out.as_mut() } {
            *out = vk::SubresourceLayout::default();
        }
    }

    /// `vkGetImageSubresourceLayout2`.
    fn get_image_subresource_layout2(
        _device: vk::Device,
        _image: vk::Image,
        _subresource: *const vk::ImageSubresource2,
        out: *mut vk::SubresourceLayout2,
    ) {
        // SAFETY: see `entries`.
        if let Some(out) = unsafe { out.as_mut() } {
            out.subresource_layout = vk::SubresourceLayout::default();
        }
    }

    /// `vkGetDeviceImageSubresourceLayout`.
    fn get_device_image_subresource_layout(
        _device: vk::Device,
        _info: *const vk::DeviceImageSubresourceInfo,
        out: *mut vk::SubresourceLayout2,
    ) {
        // SAFETY: see `entries`.
        if let Some(out) = unsafe { out.as_mut() } {
            out.subresource_layout = vk::SubresourceLayout::default();
        }
    }

    /// `vkGetRenderAreaGranularity`.
    fn get_render_area_granularity(_device: vk::Device, _pass: vk::RenderPass, out: *mut vk::Extent2D) {
        // SAFETY: see `entries`.
        if let Some(out) = unsafe { out.as_mut() } {
            *out = vk::Extent2D { width: 1, height: 1 };
        }
    }

    /// `vkGetRenderingAreaGranularity`.
    fn get_rendering_area_granularity(
        _device: vk::Device,
        _info: *const vk::RenderingAreaInfo,
        out: *mut vk::Extent2D,
    ) {
        // SAFETY: see `entries`.
        if let Some(out) = unsafe { out.as_mut() } {
            *out = vk::Extent2D { width: 1, height: 1 };
        }
    }
}

/// Says that a list is empty.
///
/// # Safety
///
/// `count` is null or valid.
unsafe fn none(count: *mut u32) {
    // SAFETY: as this function's.
    if let Some(count) = unsafe { count.as_mut() } {
        *count = 0;
    }
}

pub(super) const COMMANDS: &[Command] = commands![Device;
    PFN_vkCreateImage: create_image,
    PFN_vkDestroyImage: destroy_image,
    PFN_vkCreateImageView: create_image_view,
    PFN_vkDestroyImageView: destroy_image_view,
    PFN_vkCreateSampler: create_sampler,
    PFN_vkDestroySampler: destroy_sampler,
    PFN_vkCreateSamplerYcbcrConversion: create_sampler_ycbcr_conversion,
    PFN_vkCreateSamplerYcbcrConversionKHR: create_sampler_ycbcr_conversion,
    PFN_vkDestroySamplerYcbcrConversion: destroy_sampler_ycbcr_conversion,
    PFN_vkDestroySamplerYcbcrConversionKHR: destroy_sampler_ycbcr_conversion,
    PFN_vkCreateFramebuffer: create_framebuffer,
    PFN_vkDestroyFramebuffer: destroy_framebuffer,
    PFN_vkCreateRenderPass: create_render_pass,
    PFN_vkCreateRenderPass2: create_render_pass2,
    PFN_vkCreateRenderPass2KHR: create_render_pass2,
    PFN_vkDestroyRenderPass: destroy_render_pass,
    PFN_vkGetImageMemoryRequirements: get_image_memory_requirements,
    PFN_vkGetImageMemoryRequirements2: get_image_memory_requirements2,
    PFN_vkGetImageMemoryRequirements2KHR: get_image_memory_requirements2,
    PFN_vkGetDeviceImageMemoryRequirements: get_device_image_memory_requirements,
    PFN_vkGetDeviceImageMemoryRequirementsKHR: get_device_image_memory_requirements,
    PFN_vkGetImageSparseMemoryRequirements: get_image_sparse_memory_requirements,
    PFN_vkGetImageSparseMemoryRequirements2: get_image_sparse_memory_requirements2,
    PFN_vkGetImageSparseMemoryRequirements2KHR: get_image_sparse_memory_requirements2,
    PFN_vkGetDeviceImageSparseMemoryRequirements: get_device_image_sparse_memory_requirements,
    PFN_vkGetDeviceImageSparseMemoryRequirementsKHR: get_device_image_sparse_memory_requirements,
    PFN_vkBindImageMemory: bind_image_memory,
    PFN_vkBindImageMemory2: bind_image_memory2,
    PFN_vkBindImageMemory2KHR: bind_image_memory2,
    PFN_vkGetImageSubresourceLayout: get_image_subresource_layout,
    PFN_vkGetImageSubresourceLayout2: get_image_subresource_layout2,
    PFN_vkGetImageSubresourceLayout2KHR: get_image_subresource_layout2,
    PFN_vkGetImageSubresourceLayout2EXT: get_image_subresource_layout2,
    PFN_vkGetDeviceImageSubresourceLayout: get_device_image_subresource_layout,
    PFN_vkGetDeviceImageSubresourceLayoutKHR: get_device_image_subresource_layout,
    PFN_vkGetRenderAreaGranularity: get_render_area_granularity,
    PFN_vkGetRenderingAreaGranularity: get_rendering_area_granularity,
    PFN_vkGetRenderingAreaGranularityKHR: get_rendering_area_granularity,
];

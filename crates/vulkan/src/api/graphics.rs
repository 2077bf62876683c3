//! What draws: refused. No queue family supports graphics.
//!
//! An application that asks first does not come here. One that does gets an error; destroying nothing is allowed.

use vulkanalia_sys::{self as vk, Handle};

use super::entry::{Command, commands, entries};

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
    create_framebuffer, destroy_framebuffer: Framebuffer by FramebufferCreateInfo, ERROR_FEATURE_NOT_PRESENT;
    create_render_pass, destroy_render_pass: RenderPass by RenderPassCreateInfo, ERROR_FEATURE_NOT_PRESENT;
    create_sampler_ycbcr_conversion, destroy_sampler_ycbcr_conversion:
        SamplerYcbcrConversion by SamplerYcbcrConversionCreateInfo, ERROR_FEATURE_NOT_PRESENT;
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

pub(super) const COMMANDS: &[Command] = commands![Device;
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
    PFN_vkGetRenderAreaGranularity: get_render_area_granularity,
    PFN_vkGetRenderingAreaGranularity: get_rendering_area_granularity,
    PFN_vkGetRenderingAreaGranularityKHR: get_rendering_area_granularity,
];

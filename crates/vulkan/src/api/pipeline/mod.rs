//! Shader modules, pipeline layouts, pipelines and caches.

mod cache;
mod compute;
mod executables;

use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use super::chain;
use super::dispatchable;
use super::entry::{Command, commands, entries};
use crate::core::descriptor::PipelineLayout;
use crate::core::device::Device;
use crate::core::pipeline::ShaderModule;

entries! {
    /// `vkCreateShaderModule`.
    fn create_shader_module(
        device: vk::Device,
        info: *const vk::ShaderModuleCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        module: *mut vk::ShaderModule,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (device, info, out) =
            unsafe { (dispatchable::object::<Device>(device)?, info.as_ref(), module.as_mut()) };
        let (Some(info), Some(out)) = (info, out) else { return Err(vk::Result::ERROR_UNKNOWN) };
        *out = vk::ShaderModule::null();
        // SAFETY: see `entries`.
        let module = unsafe { shader_module(info) }?;
        *out = vk::ShaderModule::from_raw(device.modules.insert(Arc::new(module)));
        Ok(())
    }

    /// `vkDestroyShaderModule`.
    fn destroy_shader_module(
        device: vk::Device,
        module: vk::ShaderModule,
        _allocator: *const vk::AllocationCallbacks,
    ) {
        // SAFETY: see `entries`.
        if let Ok(device) = unsafe { dispatchable::object::<Device>(device) } {
            device.modules.remove(module.as_raw());
        }
    }

    /// `vkCreatePipelineLayout`.
    fn create_pipeline_layout(
        device: vk::Device,
        info: *const vk::PipelineLayoutCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        layout: *mut vk::PipelineLayout,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (device, info, out) =
            unsafe { (dispatchable::object::<Device>(device)?, info.as_ref(), layout.as_mut()) };
        let (Some(info), Some(out)) = (info, out) else { return Err(vk::Result::ERROR_UNKNOWN) };
        // SAFETY: see `entries`.
        let sets = unsafe { chain::slice(info.set_layouts, info.set_layout_count) };
        let layout = PipelineLayout {
            // A null handle leaves a set out (VUID-VkPipelineLayoutCreateInfo-graphicsPipelineLibrary-06753).
            sets: sets.iter().map(|set| device.set_layouts.get(set.as_raw())).collect(),
        };
        *out = vk::PipelineLayout::from_raw(device.pipeline_layouts.insert(Arc::new(layout)));
        Ok(())
    }

    /// `vkDestroyPipelineLayout`.
    fn destroy_pipeline_layout(
        device: vk::Device,
        layout: vk::PipelineLayout,
        _allocator: *const vk::AllocationCallbacks,
    ) {
        // SAFETY: see `entries`.
        if let Ok(device) = unsafe { dispatchable::object::<Device>(device) } {
            device.pipeline_layouts.remove(layout.as_raw());
        }
    }

    /// `vkDestroyPipeline`.
    fn destroy_pipeline(
        device: vk::Device,
        pipeline: vk::Pipeline,
        _allocator: *const vk::AllocationCallbacks,
    ) {
        // SAFETY: see `entries`.
        if let Ok(device) = unsafe { dispatchable::object::<Device>(device) } {
            device.pipelines.remove(pipeline.as_raw());
        }
    }

    /// `vkCreateGraphicsPipelines`. No queue family supports graphics.
    fn create_graphics_pipelines(
        _device: vk::Device,
        _cache: vk::PipelineCache,
        count: u32,
        _infos: *const vk::GraphicsPipelineCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        pipelines: *mut vk::Pipeline,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        unsafe { clear(pipelines, count) };
        Err(vk::Result::ERROR_FEATURE_NOT_PRESENT)
    }
}

/// The module that is described.
///
/// # Safety
///
/// As for `vkCreateShaderModule`.
unsafe fn shader_module(info: &vk::ShaderModuleCreateInfo) -> Result<ShaderModule, vk::Result> {
    // VUID-VkShaderModuleCreateInfo-codeSize-08735 and -08736
    if info.code.is_null() || info.code_size == 0 || !info.code_size.is_multiple_of(4) {
        return Err(vk::Result::ERROR_UNKNOWN);
    }
    let count = u32::try_from(info.code_size / 4).map_err(|_wide| vk::Result::ERROR_OUT_OF_HOST_MEMORY)?;
    // SAFETY: as this function's.
    Ok(ShaderModule::new(unsafe { chain::slice(info.code, count) }.to_vec()))
}

/// Makes all handles of an array null; gives the array.
///
/// # Safety
///
/// `pipelines` is null or has room for `count` handles, which nothing else refers to.
unsafe fn clear<'a>(pipelines: *mut vk::Pipeline, count: u32) -> &'a mut [vk::Pipeline] {
    if !pipelines.is_null() {
        for i in 0..count as usize {
            // SAFETY: as this function's.
            unsafe { pipelines.add(i).write(vk::Pipeline::null()) };
        }
    }
    // SAFETY: as this function's; the handles were just written.
    unsafe { chain::slice_mut(pipelines, count) }
}

pub(super) const COMMANDS: &[Command] = commands![Device;
    PFN_vkCreateShaderModule: create_shader_module,
    PFN_vkDestroyShaderModule: destroy_shader_module,
    PFN_vkCreatePipelineLayout: create_pipeline_layout,
    PFN_vkDestroyPipelineLayout: destroy_pipeline_layout,
    PFN_vkCreateComputePipelines: compute::create_compute_pipelines,
    PFN_vkCreateGraphicsPipelines: create_graphics_pipelines,
    PFN_vkDestroyPipeline: destroy_pipeline,
    PFN_vkCreatePipelineCache: cache::create_pipeline_cache,
    PFN_vkDestroyPipelineCache: cache::destroy_pipeline_cache,
    PFN_vkGetPipelineCacheData: cache::get_pipeline_cache_data,
    PFN_vkMergePipelineCaches: cache::merge_pipeline_caches,
    PFN_vkGetPipelineExecutablePropertiesKHR: executables::get_pipeline_executable_properties,
    PFN_vkGetPipelineExecutableStatisticsKHR: executables::get_pipeline_executable_statistics,
    PFN_vkGetPipelineExecutableInternalRepresentationsKHR:
        executables::get_pipeline_executable_internal_representations,
];

#[cfg(test)]
mod tests;

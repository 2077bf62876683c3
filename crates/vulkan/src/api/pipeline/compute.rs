//! Creating compute pipelines.

use std::sync::Arc;
use std::time::Instant;

use phalanx::PipelineDescriptor;
use vulkanalia_sys::{self as vk, Handle};

use super::super::chain::{self, structures};
use super::super::dispatchable;
use super::super::entry::{Outcome, entries};
use crate::core::debug;
use crate::core::device::Device;
use crate::core::pipeline::{Pipeline, PipelineCache, ShaderModule, specialization};

structures! {
    PipelineCreateFlags2CreateInfo = PIPELINE_CREATE_FLAGS_2_CREATE_INFO,
    PipelineCreationFeedbackCreateInfo = PIPELINE_CREATION_FEEDBACK_CREATE_INFO,
    PipelineShaderStageRequiredSubgroupSizeCreateInfo =
        PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
    ShaderModuleCreateInfo = SHADER_MODULE_CREATE_INFO,
}

entries! {
    /// `vkCreateComputePipelines`.
    fn create_compute_pipelines(
        device: vk::Device,
        cache: vk::PipelineCache,
        count: u32,
        infos: *const vk::ComputePipelineCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        pipelines: *mut vk::Pipeline,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (infos, out) = unsafe { (chain::slice(infos, count), super::clear(pipelines, count)) };
        // SAFETY: see `entries`.
        let device = unsafe { dispatchable::object::<Device>(device) }?;
        let cache = device.caches.get(cache.as_raw());
        let mut outcome = Ok(());
        for (info, out) in infos.iter().zip(out) {
            // SAFETY: see `entries`.
            let (created, flags) = unsafe { (create(device, cache.as_deref(), info), flags(info)) };
            match created {
                Ok(pipeline) => *out = vk::Pipeline::from_raw(device.pipelines.insert(Arc::new(pipeline))),
                Err(error) => {
                    outcome = worse(outcome, error);
                    if flags.contains(vk::PipelineCreateFlags2::EARLY_RETURN_ON_FAILURE) {
                        break;
                    }
                }
            }
        }
        outcome
    }
}

/// Which of two codes to return: any may be, but an error says more than that something has to be compiled.
fn worse(outcome: Outcome, error: vk::Result) -> Outcome {
    match outcome {
        Err(first) if first != vk::Result::PIPELINE_COMPILE_REQUIRED => Err(first),
        _ => Err(error),
    }
}

/// The flags of a pipeline: the newer ones replace the older (*VK_KHR_maintenance5*).
///
/// # Safety
///
/// As for `vkCreateComputePipelines`.
unsafe fn flags(info: &vk::ComputePipelineCreateInfo) -> vk::PipelineCreateFlags2 {
    // SAFETY: as this function's.
    let newer = unsafe { chain::find::<vk::PipelineCreateFlags2CreateInfo>(info.next) };
    newer.map_or(vk::PipelineCreateFlags2::from_bits_truncate(info.flags.bits().into()), |newer| newer.flags)
}

/// Creates a pipeline, and says how that went.
///
/// # Safety
///
/// As for `vkCreateComputePipelines`.
unsafe fn create(
    device: &Device,
    cache: Option<&PipelineCache>,
    info: &vk::ComputePipelineCreateInfo,
) -> Result<Pipeline, vk::Result> {
    let start = Instant::now();
    // SAFETY: as this function's.
    let created = unsafe { find_or_compile(device, cache, info) };
    // SAFETY: as this function's.
    let Some(feedback) = (unsafe { chain::find::<vk::PipelineCreationFeedbackCreateInfo>(info.next) }) else {
        return created.map(|(pipeline, _)| pipeline);
    };
    let mut flags = vk::PipelineCreationFeedbackFlags::VALID;
    if matches!(created, Ok((_, true))) {
        flags |= vk::PipelineCreationFeedbackFlags::APPLICATION_PIPELINE_CACHE_HIT;
    }
    let duration = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let said = vk::PipelineCreationFeedback { flags, duration };
    // SAFETY: as this function's.
    if let Some(whole) = unsafe { feedback.pipeline_creation_feedback.as_mut() } {
        *whole = said;
    }
    // There is one stage, and all the time is its.
    // SAFETY: as this function's.
    let stages = unsafe {
        chain::slice_mut(
            feedback.pipeline_stage_creation_feedbacks,
            feedback.pipeline_stage_creation_feedback_count,
        )
    };
    stages.fill(said);
    created.map(|(pipeline, _)| pipeline)
}

/// A pipeline, and whether it was in the application's cache.
///
/// # Safety
///
/// As for `vkCreateComputePipelines`.
unsafe fn find_or_compile(
    device: &Device,
    cache: Option<&PipelineCache>,
    info: &vk::ComputePipelineCreateInfo,
) -> Result<(Pipeline, bool), vk::Result> {
    // VUID-VkComputePipelineCreateInfo-layout-parameter. Sets say themselves what is in them.
    device.pipeline_layouts.get(info.layout.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
    // SAFETY: as this function's.
    let (flags, module) = unsafe { (flags(info), stage_module(device, &info.stage)?) };
    let module = module.module().map_err(|error| failed(device, &error))?;
    // SAFETY: as this function's.
    let (entry, constants) = unsafe { (chain::text(info.stage.name), constants(&info.stage)) };
    // SAFETY: as this function's.
    let subgroup_size =
        unsafe { chain::find::<vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo>(info.stage.next) };
    let descriptor = PipelineDescriptor {
        module,
        entry: Some(entry),
        specialization: &constants,
        subgroup_size: subgroup_size.map(|size| size.required_subgroup_size),
        workgroup_size: None,
    };

    let key = device.phalanx.pipeline_key(&descriptor);
    let code = cache.zip(key).and_then(|(cache, key)| cache.get(&key));
    let is_hit = code.is_some();
    let captures = flags.contains(vk::PipelineCreateFlags2::CAPTURE_INTERNAL_REPRESENTATIONS_KHR);
    let found = if captures { None } else { device.phalanx.cached_pipeline(&descriptor, code.as_ref()) };
    let (pipeline, insides, is_hit) = match found {
        Some(pipeline) => (pipeline, None, is_hit),
        None if flags.contains(vk::PipelineCreateFlags2::FAIL_ON_PIPELINE_COMPILE_REQUIRED) => {
            return Err(vk::Result::PIPELINE_COMPILE_REQUIRED);
        }
        None => {
            let compiled = compile(device, &descriptor, captures);
            let (pipeline, insides) = compiled.map_err(|error| failed(device, &error))?;
            (pipeline, insides, false)
        }
    };
    if let Some((cache, code)) = cache.zip(pipeline.code()) {
        cache.insert(code);
    }
    Ok((Pipeline { pipeline, insides }, is_hit))
}

fn compile(
    device: &Device,
    descriptor: &PipelineDescriptor<'_>,
    captures: bool,
) -> Result<(phalanx::Pipeline, Option<phalanx::Insides>), phalanx::Error> {
    if captures {
        let (pipeline, insides) = device.phalanx.create_pipeline_with_insides(descriptor)?;
        Ok((pipeline, Some(insides)))
    } else {
        Ok((device.phalanx.create_pipeline(descriptor)?, None))
    }
}

/// The module of a stage: an object, or what the chain describes (*VK_KHR_maintenance5*).
///
/// # Safety
///
/// As for `vkCreateComputePipelines`.
unsafe fn stage_module(
    device: &Device,
    stage: &vk::PipelineShaderStageCreateInfo,
) -> Result<Arc<ShaderModule>, vk::Result> {
    if let Some(module) = device.modules.get(stage.module.as_raw()) {
        return Ok(module);
    }
    // SAFETY: as this function's.
    let info = unsafe { chain::find::<vk::ShaderModuleCreateInfo>(stage.next) };
    // SAFETY: as this function's.
    let module = unsafe { super::shader_module(info.ok_or(vk::Result::ERROR_UNKNOWN)?) }?;
    Ok(Arc::new(module))
}

/// The specialisation constants of a stage.
///
/// # Safety
///
/// As for `vkCreateComputePipelines`.
unsafe fn constants(stage: &vk::PipelineShaderStageCreateInfo) -> Vec<(u32, phalanx::SpecValue)> {
    // SAFETY: as this function's.
    let Some(info) = (unsafe { stage.specialization_info.as_ref() }) else { return Vec::new() };
    if info.data.is_null() || info.data_size == 0 {
        return Vec::new();
    }
    // SAFETY: as this function's.
    let entries = unsafe { chain::slice(info.map_entries, info.map_entry_count) };
    // SAFETY: as this function's.
    let data = unsafe { std::slice::from_raw_parts(info.data.cast::<u8>(), info.data_size) };
    specialization(entries, data)
}

/// Tells the application why a pipeline was not created; gives the code for it.
fn failed(device: &Device, error: &phalanx::Error) -> vk::Result {
    let text = format!("vkCreateComputePipelines: {error}");
    device.message(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR, &text);
    debug::print(&text);
    match error {
        phalanx::Error::Memory(_) | phalanx::Error::Compilation(phalanx::Abandoned::OutOfMemory) => {
            vk::Result::ERROR_OUT_OF_HOST_MEMORY
        }
        // `VK_ERROR_INVALID_SHADER_NV` belongs to an extension that is not supported.
        _ => vk::Result::ERROR_UNKNOWN,
    }
}

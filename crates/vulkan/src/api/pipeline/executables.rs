//! What became of a pipeline (VK_KHR_pipeline_executable_properties). It has one executable.

use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use super::super::entry::entries;
use super::super::{chain, dispatchable};
use crate::core::device::Device;
use crate::core::pipeline::{Pipeline, Statistic, Value};

entries! {
    /// `vkGetPipelineExecutablePropertiesKHR`.
    fn get_pipeline_executable_properties(
        device: vk::Device,
        info: *const vk::PipelineInfoKHR,
        count: *mut u32,
        properties: *mut vk::PipelineExecutablePropertiesKHR,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let info = unsafe { info.as_ref() }.ok_or(vk::Result::ERROR_UNKNOWN)?;
        // SAFETY: see `entries`.
        let pipeline = unsafe { pipeline(device, info.pipeline) }?;
        let fill = |to: &mut vk::PipelineExecutablePropertiesKHR, pipeline: &Arc<Pipeline>| {
            to.stages = vk::ShaderStageFlags::COMPUTE;
            to.name = chain::characters(pipeline.pipeline.name());
            to.description = chain::characters("Compute shader");
            to.subgroup_size = pipeline.pipeline.subgroup_size();
        };
        // SAFETY: see `entries`.
        unsafe { chain::list_with(count, properties, &[pipeline], fill) }
    }

    /// `vkGetPipelineExecutableStatisticsKHR`.
    fn get_pipeline_executable_statistics(
        device: vk::Device,
        info: *const vk::PipelineExecutableInfoKHR,
        count: *mut u32,
        statistics: *mut vk::PipelineExecutableStatisticKHR,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let found = unsafe { executable(device, info) }?.statistics();
        let fill = |to: &mut vk::PipelineExecutableStatisticKHR, from: &Statistic| {
            to.name = chain::characters(from.name);
            to.description = chain::characters(from.description);
            (to.format, to.value) = statistic(from.value);
        };
        // SAFETY: see `entries`.
        unsafe { chain::list_with(count, statistics, &found, fill) }
    }

    /// `vkGetPipelineExecutableInternalRepresentationsKHR`.
    fn get_pipeline_executable_internal_representations(
        device: vk::Device,
        info: *const vk::PipelineExecutableInfoKHR,
        count: *mut u32,
        representations: *mut vk::PipelineExecutableInternalRepresentationKHR,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let pipeline = unsafe { executable(device, info) }?;
        let mut is_all = true;
        let fill = |to: &mut vk::PipelineExecutableInternalRepresentationKHR, from: &(&str, &str, &str)| {
            to.name = chain::characters(from.0);
            to.description = chain::characters(from.1);
            to.is_text = vk::TRUE;
            // SAFETY: see `entries`.
            is_all &= unsafe { text(to, from.2) };
        };
        // SAFETY: see `entries`.
        unsafe { chain::list_with(count, representations, &pipeline.representations(), fill) }?;
        if is_all { Ok(()) } else { Err(vk::Result::INCOMPLETE) }
    }
}

/// The pipeline of a handle.
///
/// # Safety
///
/// The device's handle is valid.
unsafe fn pipeline(device: vk::Device, pipeline: vk::Pipeline) -> Result<Arc<Pipeline>, vk::Result> {
    // SAFETY: as this function's.
    let device = unsafe { dispatchable::object::<Device>(device) }?;
    device.pipelines.get(pipeline.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)
}

/// The pipeline of an executable.
///
/// # Safety
///
/// The device's handle and `info` are valid.
unsafe fn executable(
    device: vk::Device,
    info: *const vk::PipelineExecutableInfoKHR,
) -> Result<Arc<Pipeline>, vk::Result> {
    // SAFETY: as this function's.
    let info = unsafe { info.as_ref() }.ok_or(vk::Result::ERROR_UNKNOWN)?;
    // VUID-VkPipelineExecutableInfoKHR-executableIndex-03275
    if info.executable_index != 0 {
        return Err(vk::Result::ERROR_UNKNOWN);
    }
    // SAFETY: as this function's.
    unsafe { pipeline(device, info.pipeline) }
}

/// A number with its format.
fn statistic(
    value: Value,
) -> (vk::PipelineExecutableStatisticFormatKHR, vk::PipelineExecutableStatisticValueKHR) {
    use vk::{PipelineExecutableStatisticFormatKHR as Format, PipelineExecutableStatisticValueKHR as Union};
    match value {
        Value::Count(u64) => (Format::UINT64, Union { u64 }),
        Value::Seconds(f64) => (Format::FLOAT64, Union { f64 }),
        Value::Truth(truth) => (Format::BOOL32, Union { b32: truth.into() }),
    }
}

/// Writes a text with its terminating zero, as much as there is room for, or tells its size. Whether that is
/// all.
///
/// # Safety
///
/// `to.data` is null or has room for `to.data_size` bytes.
unsafe fn text(to: &mut vk::PipelineExecutableInternalRepresentationKHR, text: &str) -> bool {
    let size = text.len() + 1;
    if to.data.is_null() {
        to.data_size = size;
        return true;
    }
    let room = to.data_size.min(size);
    let is_all = room == size;
    to.data_size = room;
    let Some(characters) = room.checked_sub(1) else { return is_all };
    // SAFETY: there is room for them, and one more.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), to.data.cast::<u8>(), characters) };
    // SAFETY: as above.
    unsafe { to.data.cast::<u8>().add(characters).write(0) };
    is_all
}

//! Binding pipelines and what they read.

use std::ffi::c_void;

use vulkanalia_sys::{self as vk, Handle};

use super::super::entry::{Outcome, entries};
use super::super::{chain, descriptor};
use super::record;
use crate::core::command::Recording;
use crate::core::descriptor::{DescriptorSet, Write};
use crate::core::device::Device;

/// Binds the sets behind handles; null binds nothing.
fn bind_sets(
    device: &Device,
    recording: &mut Recording,
    first: u32,
    sets: &[vk::DescriptorSet],
    dynamic_offsets: &[u32],
) -> Outcome {
    recording.bind_sets(first, sets.iter().map(|set| device.sets.get(set.as_raw())), dynamic_offsets)
}

/// Pushes descriptors for a set of a pipeline layout.
///
/// *Push Descriptor Updates*: what is not written stays as it was pushed before, if it was for a compatible layout.
fn push_set(
    device: &Device,
    recording: &mut Recording,
    layout: vk::PipelineLayout,
    number: u32,
    writes: &[Write],
) -> Outcome {
    let pipeline_layout = device.pipeline_layouts.get(layout.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
    // VUID-vkCmdPushDescriptorSet-set-00364
    let layout = pipeline_layout.sets.get(number as usize).and_then(Option::as_ref);
    let layout = layout.ok_or(vk::Result::ERROR_UNKNOWN)?;
    recording.push_set(number, |previous| {
        let set = match previous.filter(|previous| previous.layout.is_compatible(layout)) {
            Some(previous) => previous.duplicate(),
            None => DescriptorSet::new(layout, None, &device.phalanx)?,
        };
        writes.iter().for_each(|write| set.apply(write));
        Ok(set)
    })
}

entries! {
    /// Binds a compute pipeline.
    fn cmd_bind_pipeline(buffer: vk::CommandBuffer, point: vk::PipelineBindPoint, pipeline: vk::Pipeline) {
        if point != vk::PipelineBindPoint::COMPUTE {
            return;
        }
        // SAFETY: a valid command buffer.
        unsafe {
            record(buffer, |device, recording| {
                let pipeline = device.pipelines.get(pipeline.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
                recording.bind_pipeline(pipeline);
                Ok(())
            });
        }
    }

    /// Binds sets.
    fn cmd_bind_descriptor_sets(
        buffer: vk::CommandBuffer,
        point: vk::PipelineBindPoint,
        _layout: vk::PipelineLayout,
        first: u32,
        count: u32,
        sets: *const vk::DescriptorSet,
        dynamic_offset_count: u32,
        dynamic_offsets: *const u32,
    ) {
        if point != vk::PipelineBindPoint::COMPUTE {
            return;
        }
        // SAFETY: valid arrays.
        let (sets, offsets) =
            unsafe { (chain::slice(sets, count), chain::slice(dynamic_offsets, dynamic_offset_count)) };
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |device, recording| bind_sets(device, recording, first, sets, offsets)) };
    }

    /// Binds sets.
    fn cmd_bind_descriptor_sets_2(buffer: vk::CommandBuffer, info: *const vk::BindDescriptorSetsInfo) {
        // SAFETY: a valid structure.
        let Some(info) = (unsafe { info.as_ref() }) else { return };
        if !info.stage_flags.contains(vk::ShaderStageFlags::COMPUTE) {
            return;
        }
        // SAFETY: valid arrays.
        let (sets, offsets) = unsafe {
            let sets = chain::slice(info.descriptor_sets, info.descriptor_set_count);
            (sets, chain::slice(info.dynamic_offsets, info.dynamic_offset_count))
        };
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |device, recording| bind_sets(device, recording, info.first_set, sets, offsets)) };
    }

    /// Sets push constants. All stages share them.
    fn cmd_push_constants(
        buffer: vk::CommandBuffer,
        _layout: vk::PipelineLayout,
        _stages: vk::ShaderStageFlags,
        offset: u32,
        size: u32,
        values: *const c_void,
    ) {
        // SAFETY: as many bytes as the application says.
        let values = unsafe { chain::slice::<u8>(values.cast(), size) };
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |_device, recording| recording.push_constants(offset, values)) };
    }

    /// Sets push constants.
    fn cmd_push_constants_2(buffer: vk::CommandBuffer, info: *const vk::PushConstantsInfo) {
        // SAFETY: a valid structure.
        let Some(info) = (unsafe { info.as_ref() }) else { return };
        // SAFETY: as many bytes as the application says.
        let values = unsafe { chain::slice::<u8>(info.values.cast(), info.size) };
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |_device, recording| recording.push_constants(info.offset, values)) };
    }

    /// Pushes descriptors.
    fn cmd_push_descriptor_set(
        buffer: vk::CommandBuffer,
        point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        set: u32,
        count: u32,
        writes: *const vk::WriteDescriptorSet,
    ) {
        if point != vk::PipelineBindPoint::COMPUTE {
            return;
        }
        // SAFETY: a valid command buffer, and a valid array of valid structures.
        unsafe {
            record(buffer, |device, recording| {
                let writes = descriptor::writes(device, chain::slice(writes, count));
                push_set(device, recording, layout, set, &writes)
            });
        }
    }

    /// Pushes descriptors.
    fn cmd_push_descriptor_set_2(buffer: vk::CommandBuffer, info: *const vk::PushDescriptorSetInfo) {
        // SAFETY: a valid structure.
        let Some(info) = (unsafe { info.as_ref() }) else { return };
        if !info.stage_flags.contains(vk::ShaderStageFlags::COMPUTE) {
            return;
        }
        // SAFETY: a valid command buffer, and a valid array of valid structures.
        unsafe {
            record(buffer, |device, recording| {
                let writes = chain::slice(info.descriptor_writes, info.descriptor_write_count);
                push_set(device, recording, info.layout, info.set, &descriptor::writes(device, writes))
            });
        }
    }

    /// Pushes descriptors that lie where a template says.
    fn cmd_push_descriptor_set_with_template(
        buffer: vk::CommandBuffer,
        template: vk::DescriptorUpdateTemplate,
        layout: vk::PipelineLayout,
        set: u32,
        data: *const c_void,
    ) {
        // SAFETY: a valid command buffer, and data as the template describes.
        unsafe {
            record(buffer, |device, recording| {
                let template = device.templates.get(template.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
                let writes = descriptor::template_writes(device, &template, data);
                push_set(device, recording, layout, set, &writes)
            });
        }
    }

    /// Pushes descriptors that lie where a template says.
    fn cmd_push_descriptor_set_with_template_2(
        buffer: vk::CommandBuffer,
        info: *const vk::PushDescriptorSetWithTemplateInfo,
    ) {
        // SAFETY: a valid structure.
        let Some(info) = (unsafe { info.as_ref() }) else { return };
        // SAFETY: as for the command that this one stands for.
        unsafe {
            cmd_push_descriptor_set_with_template(
                buffer,
                info.descriptor_update_template,
                info.layout,
                info.set,
                info.data,
            );
        }
    }
}

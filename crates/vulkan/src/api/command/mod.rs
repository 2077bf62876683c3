//! Command pools, command buffers and recording.

use vulkanalia_sys::{self as vk, Handle};

use super::entry::{self, Outcome, entries};
use super::{chain, dispatchable};
use crate::core::command::{CommandBuffer, CommandPool, Recording};
use crate::core::device::Device;
use crate::core::memory::Range;
use std::sync::Arc;

mod action;
mod bind;
mod image;
mod query;
pub(super) mod refused;
mod sync;

pub(super) const COMMANDS: &[entry::Command] = entry::commands![Device;
    PFN_vkCreateCommandPool: create_command_pool,
    PFN_vkDestroyCommandPool: destroy_command_pool,
    PFN_vkResetCommandPool: reset_command_pool,
    PFN_vkTrimCommandPool: trim_command_pool,
    PFN_vkTrimCommandPoolKHR: trim_command_pool,
    PFN_vkAllocateCommandBuffers: allocate_command_buffers,
    PFN_vkFreeCommandBuffers: free_command_buffers,
    PFN_vkBeginCommandBuffer: begin_command_buffer,
    PFN_vkEndCommandBuffer: end_command_buffer,
    PFN_vkResetCommandBuffer: reset_command_buffer,
    PFN_vkCmdBindPipeline: bind::cmd_bind_pipeline,
    PFN_vkCmdBindDescriptorSets: bind::cmd_bind_descriptor_sets,
    PFN_vkCmdBindDescriptorSets2: bind::cmd_bind_descriptor_sets_2,
    PFN_vkCmdBindDescriptorSets2KHR: bind::cmd_bind_descriptor_sets_2,
    PFN_vkCmdPushConstants: bind::cmd_push_constants,
    PFN_vkCmdPushConstants2: bind::cmd_push_constants_2,
    PFN_vkCmdPushConstants2KHR: bind::cmd_push_constants_2,
    PFN_vkCmdPushDescriptorSet: bind::cmd_push_descriptor_set,
    PFN_vkCmdPushDescriptorSetKHR: bind::cmd_push_descriptor_set,
    PFN_vkCmdPushDescriptorSet2: bind::cmd_push_descriptor_set_2,
    PFN_vkCmdPushDescriptorSet2KHR: bind::cmd_push_descriptor_set_2,
    PFN_vkCmdPushDescriptorSetWithTemplate: bind::cmd_push_descriptor_set_with_template,
    PFN_vkCmdPushDescriptorSetWithTemplateKHR: bind::cmd_push_descriptor_set_with_template,
    PFN_vkCmdPushDescriptorSetWithTemplate2: bind::cmd_push_descriptor_set_with_template_2,
    PFN_vkCmdPushDescriptorSetWithTemplate2KHR: bind::cmd_push_descriptor_set_with_template_2,
    PFN_vkCmdDispatch: action::cmd_dispatch,
    PFN_vkCmdDispatchBase: action::cmd_dispatch_base,
    PFN_vkCmdDispatchBaseKHR: action::cmd_dispatch_base,
    PFN_vkCmdDispatchIndirect: action::cmd_dispatch_indirect,
    PFN_vkCmdCopyBuffer: action::cmd_copy_buffer,
    PFN_vkCmdCopyBuffer2: action::cmd_copy_buffer_2,
    PFN_vkCmdCopyBuffer2KHR: action::cmd_copy_buffer_2,
    PFN_vkCmdCopyBufferToImage: image::cmd_copy_buffer_to_image,
    PFN_vkCmdCopyBufferToImage2: image::cmd_copy_buffer_to_image_2,
    PFN_vkCmdCopyBufferToImage2KHR: image::cmd_copy_buffer_to_image_2,
    PFN_vkCmdCopyImageToBuffer: image::cmd_copy_image_to_buffer,
    PFN_vkCmdCopyImageToBuffer2: image::cmd_copy_image_to_buffer_2,
    PFN_vkCmdCopyImageToBuffer2KHR: image::cmd_copy_image_to_buffer_2,
    PFN_vkCmdCopyImage: image::cmd_copy_image,
    PFN_vkCmdCopyImage2: image::cmd_copy_image_2,
    PFN_vkCmdCopyImage2KHR: image::cmd_copy_image_2,
    PFN_vkCmdClearColorImage: image::cmd_clear_color_image,
    PFN_vkCmdClearDepthStencilImage: image::cmd_clear_depth_stencil_image,
    PFN_vkCmdFillBuffer: action::cmd_fill_buffer,
    PFN_vkCmdUpdateBuffer: action::cmd_update_buffer,
    PFN_vkCmdExecuteCommands: action::cmd_execute_commands,
    PFN_vkCmdSetDeviceMask: action::cmd_set_device_mask,
    PFN_vkCmdSetDeviceMaskKHR: action::cmd_set_device_mask,
    PFN_vkCmdPipelineBarrier: sync::cmd_pipeline_barrier,
    PFN_vkCmdPipelineBarrier2: sync::cmd_pipeline_barrier_2,
    PFN_vkCmdPipelineBarrier2KHR: sync::cmd_pipeline_barrier_2,
    PFN_vkCmdSetEvent: sync::cmd_set_event,
    PFN_vkCmdSetEvent2: sync::cmd_set_event_2,
    PFN_vkCmdSetEvent2KHR: sync::cmd_set_event_2,
    PFN_vkCmdResetEvent: sync::cmd_reset_event,
    PFN_vkCmdResetEvent2: sync::cmd_reset_event_2,
    PFN_vkCmdResetEvent2KHR: sync::cmd_reset_event_2,
    PFN_vkCmdWaitEvents: sync::cmd_wait_events,
    PFN_vkCmdWaitEvents2: sync::cmd_wait_events_2,
    PFN_vkCmdWaitEvents2KHR: sync::cmd_wait_events_2,
    PFN_vkCmdResetQueryPool: query::cmd_reset_query_pool,
    PFN_vkCmdBeginQuery: query::cmd_begin_query,
    PFN_vkCmdEndQuery: query::cmd_end_query,
    PFN_vkCmdWriteTimestamp: query::cmd_write_timestamp,
    PFN_vkCmdWriteTimestamp2: query::cmd_write_timestamp_2,
    PFN_vkCmdWriteTimestamp2KHR: query::cmd_write_timestamp_2,
    PFN_vkCmdCopyQueryPoolResults: query::cmd_copy_query_pool_results,
];

/// Records into a command buffer. What fails, `vkEndCommandBuffer` returns.
///
/// # Safety
///
/// The handle is null or that of a command buffer.
pub(super) unsafe fn record(
    handle: vk::CommandBuffer,
    body: impl FnOnce(&Device, &mut Recording) -> Outcome,
) {
    // SAFETY: as this function's.
    if let Ok(buffer) = unsafe { dispatchable::object::<CommandBuffer>(handle) } {
        buffer.record(|recording| body(&buffer.device, recording));
    }
}

/// A part of a buffer, by the rules of [`Range::part`].
fn range(device: &Device, buffer: vk::Buffer, offset: u64, size: u64) -> Result<Range, vk::Result> {
    let buffer = device.buffers.get(buffer.as_raw());
    buffer.and_then(|buffer| buffer.range(offset, size)).ok_or(vk::Result::ERROR_UNKNOWN)
}

/// The pool of a handle.
fn pool(device: &Device, pool: vk::CommandPool) -> Result<Arc<CommandPool>, vk::Result> {
    device.command_pools.get(pool.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)
}

entries! {
    /// Creates a command pool. There is one queue family, and all pools do what any flag asks for.
    fn create_command_pool(
        device: vk::Device,
        _info: *const vk::CommandPoolCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        pool: *mut vk::CommandPool,
    ) -> vk::Result {
        // SAFETY: a valid device, and a place for the handle.
        let (device, out) = unsafe { (dispatchable::object::<Device>(device)?, pool.as_mut()) };
        let out = out.ok_or(vk::Result::ERROR_UNKNOWN)?;
        *out = vk::CommandPool::from_raw(device.command_pools.insert(Arc::default()));
        Ok(())
    }

    /// Destroys a command pool with its command buffers.
    fn destroy_command_pool(
        device: vk::Device,
        pool: vk::CommandPool,
        _allocator: *const vk::AllocationCallbacks,
    ) {
        // SAFETY: a valid device.
        let Ok(device) = (unsafe { dispatchable::object::<Device>(device) }) else { return };
        let Some(pool) = device.command_pools.remove(pool.as_raw()) else { return };
        for buffer in pool.remove_all() {
            // SAFETY: a command buffer of the pool, which nobody uses any more.
            let _buffer = unsafe { dispatchable::destroy::<CommandBuffer>(vk::CommandBuffer::from_raw(buffer)) };
        }
    }

    /// Resets all command buffers of a pool.
    fn reset_command_pool(
        device: vk::Device,
        pool: vk::CommandPool,
        flags: vk::CommandPoolResetFlags,
    ) -> vk::Result {
        // SAFETY: a valid device.
        let device = unsafe { dispatchable::object::<Device>(device) }?;
        self::pool(device, pool)?.reset(flags.contains(vk::CommandPoolResetFlags::RELEASE_RESOURCES));
        Ok(())
    }

    /// Gives back memory that a pool does not use: there is none, since the memory belongs to command buffers.
    fn trim_command_pool(
        _device: vk::Device,
        _pool: vk::CommandPool,
        _flags: vk::CommandPoolTrimFlags,
    ) {}

    /// Allocates command buffers.
    fn allocate_command_buffers(
        device: vk::Device,
        info: *const vk::CommandBufferAllocateInfo,
        buffers: *mut vk::CommandBuffer,
    ) -> vk::Result {
        // SAFETY: a valid device, and a valid structure.
        let (device, info) = unsafe { (dispatchable::object::<Device>(device)?, info.as_ref()) };
        let info = info.ok_or(vk::Result::ERROR_UNKNOWN)?;
        let pool = pool(device, info.command_pool)?;
        for index in 0..info.command_buffer_count as usize {
            let buffer = Arc::new(CommandBuffer::new(device));
            let handle = dispatchable::create(Arc::clone(&buffer));
            pool.insert(handle.as_raw(), buffer);
            // SAFETY: the array has room for as many handles as are asked for.
            unsafe { buffers.add(index).write(handle) };
        }
        Ok(())
    }

    /// Frees command buffers; null handles are passed over.
    fn free_command_buffers(
        device: vk::Device,
        pool: vk::CommandPool,
        count: u32,
        buffers: *const vk::CommandBuffer,
    ) {
        // SAFETY: a valid device, and an array of handles.
        let (device, buffers) = unsafe { (dispatchable::object::<Device>(device), chain::slice(buffers, count)) };
        let Some(pool) = device.ok().and_then(|device| self::pool(device, pool).ok()) else { return };
        for &buffer in buffers {
            // VUID-vkFreeCommandBuffers-pCommandBuffers-parent
            if pool.remove(buffer.as_raw()) {
                // SAFETY: a command buffer of the pool, which nobody uses any more.
                let _buffer = unsafe { dispatchable::destroy::<CommandBuffer>(buffer) };
            }
        }
    }

    /// Begins to record. What the flags promise is not needed.
    fn begin_command_buffer(
        buffer: vk::CommandBuffer,
        _info: *const vk::CommandBufferBeginInfo,
    ) -> vk::Result {
        // SAFETY: a valid command buffer.
        unsafe { dispatchable::object::<CommandBuffer>(buffer) }?.begin();
        Ok(())
    }

    /// Ends recording.
    fn end_command_buffer(buffer: vk::CommandBuffer) -> vk::Result {
        // SAFETY: a valid command buffer.
        unsafe { dispatchable::object::<CommandBuffer>(buffer) }?.end()
    }

    /// Resets a command buffer.
    fn reset_command_buffer(buffer: vk::CommandBuffer, flags: vk::CommandBufferResetFlags) -> vk::Result {
        // SAFETY: a valid command buffer.
        let buffer = unsafe { dispatchable::object::<CommandBuffer>(buffer) }?;
        buffer.reset(flags.contains(vk::CommandBufferResetFlags::RELEASE_RESOURCES));
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! Dispatches, transfers, and execution of secondary command buffers.

use std::ffi::c_void;

use vulkanalia_sys as vk;

use super::super::entry::{Outcome, entries};
use super::super::{chain, dispatchable};
use super::{range, record};
use crate::core::command::{Command, CommandBuffer, Recording};
use crate::core::device::Device;

/// Bytes of `VkDispatchIndirectCommand`.
const INDIRECT_BYTES: u64 = 12;

/// Records copies, each given by its offsets in source and destination and its size.
fn copy(
    device: &Device,
    recording: &mut Recording,
    [from, to]: [vk::Buffer; 2],
    regions: impl Iterator<Item = (u64, u64, u64)>,
) -> Outcome {
    for (from_offset, to_offset, size) in regions {
        let from = range(device, from, from_offset, size)?;
        let to = range(device, to, to_offset, size)?;
        recording.push(Command::Copy { from, to })?;
    }
    Ok(())
}

entries! {
    /// Dispatches work-groups.
    fn cmd_dispatch(buffer: vk::CommandBuffer, x: u32, y: u32, z: u32) {
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |_device, recording| recording.dispatch([0; 3], [x, y, z])) };
    }

    /// Dispatches work-groups whose numbers begin at a base.
    fn cmd_dispatch_base(
        buffer: vk::CommandBuffer,
        base_x: u32,
        base_y: u32,
        base_z: u32,
        x: u32,
        y: u32,
        z: u32,
    ) {
        let base = [base_x, base_y, base_z];
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |_device, recording| recording.dispatch(base, [x, y, z])) };
    }

    /// Dispatches as many work-groups as stand in a buffer.
    fn cmd_dispatch_indirect(buffer: vk::CommandBuffer, groups: vk::Buffer, offset: vk::DeviceSize) {
        // SAFETY: a valid command buffer.
        unsafe {
            record(buffer, |device, recording| {
                // VUID-vkCmdDispatchIndirect-offset-00407
                recording.dispatch_indirect(range(device, groups, offset, INDIRECT_BYTES)?)
            });
        }
    }

    /// Copies between buffers.
    fn cmd_copy_buffer(
        buffer: vk::CommandBuffer,
        from: vk::Buffer,
        to: vk::Buffer,
        count: u32,
        regions: *const vk::BufferCopy,
    ) {
        // SAFETY: a valid array.
        let regions = unsafe { chain::slice(regions, count) };
        let regions = regions.iter().map(|region| (region.src_offset, region.dst_offset, region.size));
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |device, recording| copy(device, recording, [from, to], regions)) };
    }

    /// Copies between buffers.
    fn cmd_copy_buffer_2(buffer: vk::CommandBuffer, info: *const vk::CopyBufferInfo2) {
        // SAFETY: a valid structure.
        let Some(info) = (unsafe { info.as_ref() }) else { return };
        // SAFETY: a valid array.
        let regions = unsafe { chain::slice(info.regions, info.region_count) };
        let regions = regions.iter().map(|region| (region.src_offset, region.dst_offset, region.size));
        let buffers = [info.src_buffer, info.dst_buffer];
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |device, recording| copy(device, recording, buffers, regions)) };
    }

    /// Fills a part of a buffer with a word.
    fn cmd_fill_buffer(
        buffer: vk::CommandBuffer,
        to: vk::Buffer,
        offset: vk::DeviceSize,
        size: vk::DeviceSize,
        word: u32,
    ) {
        // SAFETY: a valid command buffer.
        unsafe {
            record(buffer, |device, recording| {
                let to = range(device, to, offset, size)?;
                recording.push(Command::Fill { to, word })
            });
        }
    }

    /// Writes bytes to a buffer; they are kept until the command is executed.
    fn cmd_update_buffer(
        buffer: vk::CommandBuffer,
        to: vk::Buffer,
        offset: vk::DeviceSize,
        size: vk::DeviceSize,
        data: *const c_void,
    ) {
        // VUID-vkCmdUpdateBuffer-dataSize-00037: at most 65536 bytes.
        let size = u32::try_from(size).unwrap_or_default();
        // SAFETY: as many bytes as the application says.
        let bytes = unsafe { chain::slice::<u8>(data.cast(), size) };
        // SAFETY: a valid command buffer.
        unsafe {
            record(buffer, |device, recording| {
                let to = range(device, to, offset, size.into())?;
                recording.push(Command::Update { to, bytes: bytes.into() })
            });
        }
    }

    /// Executes secondary command buffers.
    fn cmd_execute_commands(buffer: vk::CommandBuffer, count: u32, buffers: *const vk::CommandBuffer) {
        // SAFETY: a valid array.
        let buffers = unsafe { chain::slice(buffers, count) };
        // SAFETY: valid command buffers.
        unsafe {
            record(buffer, |_device, recording| {
                for &secondary in buffers.iter().filter(|&&secondary| secondary != buffer) {
                    // VUID-vkCmdExecuteCommands-pCommandBuffers-00089: it can be executed already.
                    let secondary = dispatchable::object::<CommandBuffer>(secondary)?.recorded();
                    let secondary = secondary.ok_or(vk::Result::ERROR_UNKNOWN)?;
                    recording.push(Command::Execute { secondary })?;
                }
                Ok(())
            });
        }
    }

    /// Chooses devices of a group, of which there is one.
    fn cmd_set_device_mask(_buffer: vk::CommandBuffer, _mask: u32) {}
}

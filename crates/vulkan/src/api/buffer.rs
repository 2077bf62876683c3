//! Buffers.

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

use vulkanalia_sys::{self as vk, Handle};

use super::chain::{self, structures};
use super::entry::{Command, commands, entries};
use super::{dispatchable, properties};
use crate::core::buffer::{Buffer, requirements};
use crate::core::device::Device;
use crate::core::memory::Range;

structures! {
    BindMemoryStatus = BIND_MEMORY_STATUS,
    BufferDeviceAddressCreateInfoEXT = BUFFER_DEVICE_ADDRESS_CREATE_INFO_EXT,
    BufferOpaqueCaptureAddressCreateInfo = BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO,
    ExternalMemoryBufferCreateInfo = EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
    MemoryDedicatedRequirements = MEMORY_DEDICATED_REQUIREMENTS,
}

entries! {
    /// `vkCreateBuffer`.
    fn create_buffer(
        device: vk::Device,
        info: *const vk::BufferCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        buffer: *mut vk::Buffer,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (device, info, out) =
            unsafe { (dispatchable::object::<Device>(device)?, info.as_ref(), buffer.as_mut()) };
        let (Some(info), Some(out)) = (info, out) else { return Err(vk::Result::ERROR_UNKNOWN) };
        *out = vk::Buffer::null();
        // SAFETY: see `entries`.
        unsafe { check(device, info) }?;
        let buffer = Buffer { size: info.size, bound: OnceLock::new() };
        *out = vk::Buffer::from_raw(device.buffers.insert(Arc::new(buffer)));
        Ok(())
    }

    /// `vkDestroyBuffer`.
    fn destroy_buffer(device: vk::Device, buffer: vk::Buffer, _allocator: *const vk::AllocationCallbacks) {
        // SAFETY: see `entries`.
        if let Ok(device) = unsafe { dispatchable::object::<Device>(device) } {
            device.buffers.remove(buffer.as_raw());
        }
    }

    /// `vkGetBufferMemoryRequirements`.
    fn get_buffer_memory_requirements(
        device: vk::Device,
        buffer: vk::Buffer,
        out: *mut vk::MemoryRequirements,
    ) {
        // SAFETY: see `entries`.
        let (device, out) = unsafe { (dispatchable::object::<Device>(device), out.as_mut()) };
        let (Ok(device), Some(out)) = (device, out) else { return };
        let buffer = device.buffers.get(buffer.as_raw());
        *out = buffer.map(|buffer| requirements(buffer.size)).unwrap_or_default();
    }

    /// `vkGetBufferMemoryRequirements2`.
    fn get_buffer_memory_requirements2(
        device: vk::Device,
        info: *const vk::BufferMemoryRequirementsInfo2,
        out: *mut vk::MemoryRequirements2,
    ) {
        // SAFETY: see `entries`.
        let (device, info, out) =
            unsafe { (dispatchable::object::<Device>(device), info.as_ref(), out.as_mut()) };
        let (Ok(device), Some(info), Some(out)) = (device, info, out) else { return };
        if let Some(buffer) = device.buffers.get(info.buffer.as_raw()) {
            // SAFETY: see `entries`.
            unsafe { answer(out, requirements(buffer.size)) };
        }
    }

    /// `vkGetDeviceBufferMemoryRequirements`.
    fn get_device_buffer_memory_requirements(
        _device: vk::Device,
        info: *const vk::DeviceBufferMemoryRequirements,
        out: *mut vk::MemoryRequirements2,
    ) {
        // SAFETY: see `entries`.
        let (info, out) = unsafe { (info.as_ref(), out.as_mut()) };
        // SAFETY: see `entries`.
        let info = info.and_then(|info| unsafe { info.create_info.as_ref() });
        if let (Some(info), Some(out)) = (info, out) {
            // SAFETY: see `entries`.
            unsafe { answer(out, requirements(info.size)) };
        }
    }

    /// `vkBindBufferMemory`.
    fn bind_buffer_memory(
        device: vk::Device,
        buffer: vk::Buffer,
        memory: vk::DeviceMemory,
        offset: vk::DeviceSize,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let device = unsafe { dispatchable::object::<Device>(device) }?;
        bind(device, buffer, memory, offset)
    }

    /// `vkBindBufferMemory2`. On failure the other buffers are bound nevertheless; which ones, the status
    /// structures of *VK_KHR_maintenance6* say.
    fn bind_buffer_memory2(
        device: vk::Device,
        count: u32,
        infos: *const vk::BindBufferMemoryInfo,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (device, infos) =
            unsafe { (dispatchable::object::<Device>(device)?, chain::slice(infos, count)) };
        let mut outcome = Ok(());
        for info in infos {
            let bound = bind(device, info.buffer, info.memory, info.memory_offset);
            // SAFETY: see `entries`.
            unsafe { tell(info.next, bound) };
            outcome = outcome.and(bound);
        }
        outcome
    }

    /// `vkGetBufferDeviceAddress`.
    fn get_buffer_device_address(
        device: vk::Device,
        info: *const vk::BufferDeviceAddressInfo,
    ) -> vk::DeviceAddress {
        // SAFETY: see `entries`.
        let (device, info) = unsafe { (dispatchable::object::<Device>(device), info.as_ref()) };
        let (Ok(device), Some(info)) = (device, info) else { return 0 };
        device.buffers.get(info.buffer.as_raw()).map_or(0, |buffer| buffer.address())
    }

    /// `vkGetBufferOpaqueCaptureAddress`. No address can be captured (`bufferDeviceAddressCaptureReplay`).
    fn get_buffer_opaque_capture_address(
        _device: vk::Device,
        _info: *const vk::BufferDeviceAddressInfo,
    ) -> u64 {
        0
    }
}

/// Refuses what buffers cannot be.
///
/// # Safety
///
/// As for `vkCreateBuffer`.
unsafe fn check(device: &Device, info: &vk::BufferCreateInfo) -> Result<(), vk::Result> {
    // VUID-VkBufferCreateInfo-flags-00915, -00916, -00917, -01887 and -03338: sparse and protected memory
    // and the replay of captured addresses are features that the device does not have.
    if !info.flags.is_empty() {
        return Err(vk::Result::ERROR_FEATURE_NOT_PRESENT);
    }
    // VUID-VkBufferCreateInfo-size-00912
    if info.size == 0 {
        return Err(vk::Result::ERROR_UNKNOWN);
    }
    // VUID-VkBufferCreateInfo-size-06409: at most `maxBufferSize`. The only errors of this call are those of memory.
    if info.size > properties::largest_allocation(&device.physical) {
        return Err(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY);
    }
    // SAFETY: the chain of valid usage.
    let external = unsafe { chain::find::<vk::ExternalMemoryBufferCreateInfo>(info.next) };
    let host = vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;
    // VUID-VkBufferCreateInfo-pNext-00920
    if external.is_some_and(|external| !host.contains(external.handle_types)) {
        return Err(vk::Result::ERROR_FEATURE_NOT_PRESENT);
    }
    // SAFETY: the chain of valid usage.
    let opaque = unsafe { chain::find::<vk::BufferOpaqueCaptureAddressCreateInfo>(info.next) };
    // SAFETY: the chain of valid usage.
    let device = unsafe { chain::find::<vk::BufferDeviceAddressCreateInfoEXT>(info.next) };
    let wishes = opaque.is_some_and(|opaque| opaque.opaque_capture_address != 0)
        || device.is_some_and(|device| device.device_address != 0);
    // VUID-VkBufferCreateInfo-opaqueCaptureAddress-03337 and -deviceAddress-02604
    if wishes { Err(vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS) } else { Ok(()) }
}

/// Says what memory a buffer or an image needs.
///
/// # Safety
///
/// The chain of `out` is valid.
pub(super) unsafe fn answer(out: &mut vk::MemoryRequirements2, requirements: vk::MemoryRequirements) {
    out.memory_requirements = requirements;
    // SAFETY: as this function's.
    if let Some(dedicated) = unsafe { chain::find_mut::<vk::MemoryDedicatedRequirements>(out.next) } {
        dedicated.prefers_dedicated_allocation = vk::FALSE;
        dedicated.requires_dedicated_allocation = vk::FALSE;
    }
}

/// Says in the chain of one binding of memory whether it was bound (*VK_KHR_maintenance6*).
///
/// # Safety
///
/// The chain is valid.
pub(super) unsafe fn tell(next: *const c_void, bound: Result<(), vk::Result>) {
    // SAFETY: as this function's.
    let status = unsafe { chain::find::<vk::BindMemoryStatus>(next) };
    // SAFETY: as this function's.
    if let Some(result) = status.and_then(|status| unsafe { status.result.as_mut() }) {
        *result = bound.err().unwrap_or(vk::Result::SUCCESS);
    }
}

/// Binds memory to a buffer.
fn bind(
    device: &Device,
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    offset: u64,
) -> Result<(), vk::Result> {
    let buffer = device.buffers.get(buffer.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
    let memory = device.memories.get(memory.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
    // VUID-vkBindBufferMemory-memoryOffset-01031 and -size-01037
    let range = Range::new(&memory, offset, buffer.size).ok_or(vk::Result::ERROR_UNKNOWN)?;
    // VUID-vkBindBufferMemory-buffer-07459: not bound before.
    buffer.bound.set(range).map_err(|_bound| vk::Result::ERROR_UNKNOWN)
}

pub(super) const COMMANDS: &[Command] = commands![Device;
    PFN_vkCreateBuffer: create_buffer,
    PFN_vkDestroyBuffer: destroy_buffer,
    PFN_vkGetBufferMemoryRequirements: get_buffer_memory_requirements,
    PFN_vkGetBufferMemoryRequirements2: get_buffer_memory_requirements2,
    PFN_vkGetBufferMemoryRequirements2KHR: get_buffer_memory_requirements2,
    PFN_vkGetDeviceBufferMemoryRequirements: get_device_buffer_memory_requirements,
    PFN_vkGetDeviceBufferMemoryRequirementsKHR: get_device_buffer_memory_requirements,
    PFN_vkBindBufferMemory: bind_buffer_memory,
    PFN_vkBindBufferMemory2: bind_buffer_memory2,
    PFN_vkBindBufferMemory2KHR: bind_buffer_memory2,
    PFN_vkGetBufferDeviceAddress: get_buffer_device_address,
    PFN_vkGetBufferDeviceAddressKHR: get_buffer_device_address,
    PFN_vkGetBufferDeviceAddressEXT: get_buffer_device_address,
    PFN_vkGetBufferOpaqueCaptureAddress: get_buffer_opaque_capture_address,
    PFN_vkGetBufferOpaqueCaptureAddressKHR: get_buffer_opaque_capture_address,
];

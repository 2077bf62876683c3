//! Device memory: allocation, import, mapping.

use std::ffi::c_void;
use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use super::chain::{self, structures};
use super::dispatchable;
use super::entry::{Command, commands, entries};
use crate::core::device::Device;
use crate::core::machine::{self, Held};
use crate::core::memory::{Memory, Range};

structures! {
    ExportMemoryAllocateInfo = EXPORT_MEMORY_ALLOCATE_INFO,
    ImportMemoryHostPointerInfoEXT = IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
    MemoryOpaqueCaptureAddressAllocateInfo = MEMORY_OPAQUE_CAPTURE_ADDRESS_ALLOCATE_INFO,
}

/// Pointers and sizes of imported host memory are multiples of this (`minImportedHostPointerAlignment`).
pub(super) const HOST_POINTER_ALIGNMENT: u64 = 4096;

/// Bytes from which on an allocation is held against what the machine has free, which takes a while to find out.
const LARGE_ALLOCATION: u64 = 1 << 28;

/// The kind of memory that can be imported.
const HOST_ALLOCATION: vk::ExternalMemoryHandleTypeFlags =
    vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;

entries! {
    /// `vkAllocateMemory`.
    fn allocate_memory(
        device: vk::Device,
        info: *const vk::MemoryAllocateInfo,
        _allocator: *const vk::AllocationCallbacks,
        memory: *mut vk::DeviceMemory,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (device, info, memory) =
            unsafe { (dispatchable::object::<Device>(device)?, info.as_ref(), memory.as_mut()) };
        let (Some(info), Some(memory)) = (info, memory) else { return Err(vk::Result::ERROR_UNKNOWN) };
        *memory = vk::DeviceMemory::null();
        // SAFETY: see `entries`.
        let block = unsafe { allocate(device, info) }?;
        *memory = vk::DeviceMemory::from_raw(device.memories.insert(Arc::new(block)));
        Ok(())
    }

    /// `vkFreeMemory`.
    fn free_memory(
        device: vk::Device,
        memory: vk::DeviceMemory,
        _allocator: *const vk::AllocationCallbacks,
    ) {
        // SAFETY: see `entries`.
        let Ok(device) = (unsafe { dispatchable::object::<Device>(device) }) else { return };
        if let Some(memory) = device.memories.remove(memory.as_raw()) {
            // VUID-vkFreeMemory-memory-00677: no work uses it any more. Buffers and descriptors may still
            // refer to it, if nobody uses them.
            memory.release();
        }
    }

    /// `vkMapMemory`.
    fn map_memory(
        device: vk::Device,
        memory: vk::DeviceMemory,
        offset: vk::DeviceSize,
        size: vk::DeviceSize,
        _flags: vk::MemoryMapFlags,
        data: *mut *mut c_void,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        unsafe { map(device, memory, offset, size, data) }
    }

    /// `vkMapMemory2`.
    fn map_memory2(device: vk::Device, info: *const vk::MemoryMapInfo, data: *mut *mut c_void) -> vk::Result {
        // SAFETY: see `entries`.
        let info = unsafe { info.as_ref() }.ok_or(vk::Result::ERROR_UNKNOWN)?;
        // SAFETY: see `entries`.
        unsafe { map(device, info.memory, info.offset, info.size, data) }
    }

    /// `vkUnmapMemory`. Memory stays mapped as long as it lives.
    fn unmap_memory(_device: vk::Device, _memory: vk::DeviceMemory) {}

    /// `vkUnmapMemory2`.
    fn unmap_memory2(_device: vk::Device, _info: *const vk::MemoryUnmapInfo) -> vk::Result {
        Ok(())
    }

    /// `vkFlushMappedMemoryRanges`. All memory is coherent.
    fn flush_mapped_memory_ranges(
        _device: vk::Device,
        _count: u32,
        _ranges: *const vk::MappedMemoryRange,
    ) -> vk::Result {
        Ok(())
    }

    /// `vkInvalidateMappedMemoryRanges`. All memory is coherent.
    fn invalidate_mapped_memory_ranges(
        _device: vk::Device,
        _count: u32,
        _ranges: *const vk::MappedMemoryRange,
    ) -> vk::Result {
        Ok(())
    }

    /// `vkGetDeviceMemoryCommitment`. No memory type is lazily allocated, so all of it is committed.
    fn get_device_memory_commitment(
        device: vk::Device,
        memory: vk::DeviceMemory,
        committed: *mut vk::DeviceSize,
    ) {
        // SAFETY: see `entries`.
        let (device, committed) = unsafe { (dispatchable::object::<Device>(device), committed.as_mut()) };
        if let (Ok(device), Some(committed)) = (device, committed) {
            *committed = device.memories.get(memory.as_raw()).map_or(0, |memory| memory.size());
        }
    }

    /// `vkGetDeviceMemoryOpaqueCaptureAddress`.
    fn get_device_memory_opaque_capture_address(
        device: vk::Device,
        info: *const vk::DeviceMemoryOpaqueCaptureAddressInfo,
    ) -> u64 {
        // SAFETY: see `entries`.
        let (device, info) = unsafe { (dispatchable::object::<Device>(device), info.as_ref()) };
        let (Ok(device), Some(info)) = (device, info) else { return 0 };
        device.memories.get(info.memory.as_raw()).map_or(0, |memory| memory.address())
    }

    /// `vkGetMemoryHostPointerPropertiesEXT`.
    fn get_memory_host_pointer_properties(
        _device: vk::Device,
        handle_type: vk::ExternalMemoryHandleTypeFlags,
        pointer: *const c_void,
        properties: *mut vk::MemoryHostPointerPropertiesEXT,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let properties = unsafe { properties.as_mut() }.ok_or(vk::Result::ERROR_UNKNOWN)?;
        // VUID-vkGetMemoryHostPointerPropertiesEXT-pHostPointer-01753
        let is_aligned = (pointer.addr() as u64).is_multiple_of(HOST_POINTER_ALIGNMENT);
        let can_import = handle_type == HOST_ALLOCATION && is_aligned;
        properties.memory_type_bits = can_import.into();
        if can_import { Ok(()) } else { Err(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE) }
    }
}

/// Allocates or imports memory.
///
/// # Safety
///
/// As for `vkAllocateMemory`.
unsafe fn allocate(device: &Device, info: &vk::MemoryAllocateInfo) -> Result<Memory, vk::Result> {
    // VUID-vkAllocateMemory-pAllocateInfo-01714
    if info.memory_type_index != 0 {
        return Err(vk::Result::ERROR_UNKNOWN);
    }
    // SAFETY: the chain of valid usage.
    let capture = unsafe { chain::find::<vk::MemoryOpaqueCaptureAddressAllocateInfo>(info.next) };
    // `bufferDeviceAddressCaptureReplay` is not supported: no address can be promised.
    if capture.is_some_and(|capture| capture.opaque_capture_address != 0) {
        return Err(vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS);
    }
    // SAFETY: the chain of valid usage.
    let export = unsafe { chain::find::<vk::ExportMemoryAllocateInfo>(info.next) };
    // VUID-VkExportMemoryAllocateInfo-handleTypes-00656: nothing can be exported.
    if export.is_some_and(|export| !export.handle_types.is_empty()) {
        return Err(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE);
    }
    // SAFETY: the chain of valid usage.
    let import = unsafe { chain::find::<vk::ImportMemoryHostPointerInfoEXT>(info.next) };
    // A `handleType` of 0 makes it an ordinary allocation.
    if let Some(import) = import.filter(|import| !import.handle_type.is_empty()) {
        // SAFETY: the chain of valid usage.
        return unsafe { import_host_memory(device, import, info.allocation_size) };
    }
    // The system gives pages when they are touched, so it would promise more than there is, and end the process then.
    let left = device.physical.memory_bytes.saturating_sub(machine::held_bytes());
    // A GPU says itself what it has not.
    let is_large = device.physical.info.gpu.is_none() && info.allocation_size >= LARGE_ALLOCATION;
    if info.allocation_size > left || is_large && info.allocation_size > machine::free_bytes() {
        return Err(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY);
    }
    Ok(Memory::allocate(&device.phalanx, info.allocation_size)?.counted(Held::new(info.allocation_size)))
}

/// Memory of the application.
///
/// # Safety
///
/// As for `vkAllocateMemory`.
unsafe fn import_host_memory(
    device: &Device,
    import: &vk::ImportMemoryHostPointerInfoEXT,
    size: u64,
) -> Result<Memory, vk::Result> {
    let address = import.host_pointer.expose_provenance() as u64;
    // VUID-VkImportMemoryHostPointerInfoEXT-handleType-01748, -pHostPointer-01749 and
    // VUID-VkMemoryAllocateInfo-allocationSize-01745
    let is_aligned = (address | size).is_multiple_of(HOST_POINTER_ALIGNMENT);
    if import.handle_type != HOST_ALLOCATION || address == 0 || !is_aligned {
        return Err(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE);
    }
    // SAFETY: VUID-VkImportMemoryHostPointerInfoEXT-handleType-01750: it is memory of at least this size,
    // and *External memory* leaves it valid until it is freed here.
    let imported = unsafe { Memory::import(&device.phalanx, address, size) };
    imported.map_err(|error| {
        let text = format!("memory of the host cannot be imported: {error}");
        device.message(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR, &text);
        vk::Result::ERROR_INVALID_EXTERNAL_HANDLE
    })
}

/// Maps memory: gives its address.
///
/// # Safety
///
/// As for `vkMapMemory`.
unsafe fn map(
    device: vk::Device,
    memory: vk::DeviceMemory,
    offset: u64,
    size: u64,
    data: *mut *mut c_void,
) -> Result<(), vk::Result> {
    // SAFETY: as this function's.
    let (device, data) = unsafe { (dispatchable::object::<Device>(device)?, data.as_mut()) };
    let data = data.ok_or(vk::Result::ERROR_UNKNOWN)?;
    let memory = device.memories.get(memory.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
    // VUID-vkMapMemory-offset-00679 and -size-00681
    let range = Range::new(&memory, offset, size);
    let range = range.ok_or(vk::Result::ERROR_MEMORY_MAP_FAILED)?;
    *data = std::ptr::with_exposed_provenance_mut(range.address() as usize);
    Ok(())
}

pub(super) const COMMANDS: &[Command] = commands![Device;
    PFN_vkAllocateMemory: allocate_memory,
    PFN_vkFreeMemory: free_memory,
    PFN_vkMapMemory: map_memory,
    PFN_vkMapMemory2: map_memory2,
    PFN_vkMapMemory2KHR: map_memory2,
    PFN_vkUnmapMemory: unmap_memory,
    PFN_vkUnmapMemory2: unmap_memory2,
    PFN_vkUnmapMemory2KHR: unmap_memory2,
    PFN_vkFlushMappedMemoryRanges: flush_mapped_memory_ranges,
    PFN_vkInvalidateMappedMemoryRanges: invalidate_mapped_memory_ranges,
    PFN_vkGetDeviceMemoryCommitment: get_device_memory_commitment,
    PFN_vkGetDeviceMemoryOpaqueCaptureAddress: get_device_memory_opaque_capture_address,
    PFN_vkGetDeviceMemoryOpaqueCaptureAddressKHR: get_device_memory_opaque_capture_address,
    PFN_vkGetMemoryHostPointerPropertiesEXT: get_memory_host_pointer_properties,
];

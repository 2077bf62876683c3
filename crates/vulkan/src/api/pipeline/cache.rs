//! Pipeline caches.

use std::ffi::c_void;
use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use super::super::entry::entries;
use super::super::{chain, dispatchable, properties};
use crate::core::device::Device;
use crate::core::pipeline::{Identity, PipelineCache};

entries! {
    /// `vkCreatePipelineCache`.
    fn create_pipeline_cache(
        device: vk::Device,
        info: *const vk::PipelineCacheCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        cache: *mut vk::PipelineCache,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (device, info, out) =
            unsafe { (dispatchable::object::<Device>(device)?, info.as_ref(), cache.as_mut()) };
        let (Some(info), Some(out)) = (info, out) else { return Err(vk::Result::ERROR_UNKNOWN) };
        let data: &[u8] = if info.initial_data.is_null() || info.initial_data_size == 0 {
            &[]
        } else {
            // SAFETY: see `entries`.
            unsafe { std::slice::from_raw_parts(info.initial_data.cast(), info.initial_data_size) }
        };
        let cache = PipelineCache::from_data(&identity(device), data);
        *out = vk::PipelineCache::from_raw(device.caches.insert(Arc::new(cache)));
        Ok(())
    }

    /// `vkDestroyPipelineCache`.
    fn destroy_pipeline_cache(
        device: vk::Device,
        cache: vk::PipelineCache,
        _allocator: *const vk::AllocationCallbacks,
    ) {
        // SAFETY: see `entries`.
        if let Ok(device) = unsafe { dispatchable::object::<Device>(device) } {
            device.caches.remove(cache.as_raw());
        }
    }

    /// `vkGetPipelineCacheData`.
    fn get_pipeline_cache_data(
        device: vk::Device,
        cache: vk::PipelineCache,
        size: *mut usize,
        data: *mut c_void,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (device, size) = unsafe { (dispatchable::object::<Device>(device)?, size.as_mut()) };
        let size = size.ok_or(vk::Result::ERROR_UNKNOWN)?;
        let cache = device.caches.get(cache.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
        if data.is_null() {
            *size = cache.data_size();
            return Ok(());
        }
        let (bytes, is_all) = cache.data(&identity(device), *size);
        // SAFETY: see `entries`: there is room for `*size` bytes, and there are no more than these.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast(), bytes.len()) };
        *size = bytes.len();
        if is_all { Ok(()) } else { Err(vk::Result::INCOMPLETE) }
    }

    /// `vkMergePipelineCaches`.
    fn merge_pipeline_caches(
        device: vk::Device,
        to: vk::PipelineCache,
        count: u32,
        from: *const vk::PipelineCache,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (device, from) = unsafe { (dispatchable::object::<Device>(device)?, chain::slice(from, count)) };
        let to = device.caches.get(to.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
        for from in from {
            let from = device.caches.get(from.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
            to.merge(&from);
        }
        Ok(())
    }
}

/// What the header of a cache's data says.
fn identity(device: &Device) -> Identity {
    let properties = properties::core(&device.physical);
    Identity {
        vendor_id: properties.vendor_id,
        device_id: properties.device_id,
        uuid: properties.pipeline_cache_uuid.into(),
    }
}

//! Query pools.

use std::ffi::c_void;
use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use super::dispatchable;
use super::entry::{self, entries};
use crate::core::device::Device;
use crate::core::query::{Layout, QueryPool};
use crate::core::sync;

pub(super) const COMMANDS: &[entry::Command] = entry::commands![Device;
    PFN_vkCreateQueryPool: create_query_pool,
    PFN_vkDestroyQueryPool: destroy_query_pool,
    PFN_vkGetQueryPoolResults: get_query_pool_results,
    PFN_vkResetQueryPool: reset_query_pool,
    PFN_vkResetQueryPoolEXT: reset_query_pool,
];

entries! {
    /// Creates a query pool.
    ///
    /// Occlusion queries need no feature, so such a pool can be created; no queue has commands for it, and its
    /// queries never become available. All other types but timestamps need features that are not there.
    fn create_query_pool(
        device: vk::Device,
        info: *const vk::QueryPoolCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        pool: *mut vk::QueryPool,
    ) -> vk::Result {
        // SAFETY: a valid device, a valid structure, and a place for the handle.
        let (device, info, out) = unsafe { (dispatchable::object::<Device>(device)?, info.as_ref(), pool.as_mut()) };
        let (info, out) = info.zip(out).ok_or(vk::Result::ERROR_UNKNOWN)?;
        *out = vk::QueryPool::null();
        if ![vk::QueryType::TIMESTAMP, vk::QueryType::OCCLUSION].contains(&info.query_type) {
            return Err(vk::Result::ERROR_FEATURE_NOT_PRESENT);
        }
        *out = vk::QueryPool::from_raw(device.query_pools.insert(Arc::new(QueryPool::new(info.query_count)?)));
        Ok(())
    }

    /// Destroys a query pool.
    fn destroy_query_pool(
        device: vk::Device,
        pool: vk::QueryPool,
        _allocator: *const vk::AllocationCallbacks,
    ) {
        // SAFETY: a valid device.
        if let Ok(device) = unsafe { dispatchable::object::<Device>(device) } {
            device.query_pools.remove(pool.as_raw());
        }
    }

    /// Gives results of queries.
    fn get_query_pool_results(
        device: vk::Device,
        pool: vk::QueryPool,
        first: u32,
        count: u32,
        size: usize,
        data: *mut c_void,
        stride: vk::DeviceSize,
        flags: vk::QueryResultFlags,
    ) -> vk::Result {
        // SAFETY: a valid device.
        let device = unsafe { dispatchable::object::<Device>(device) }?;
        let pool = device.query_pools.get(pool.as_raw()).filter(|pool| pool.has(first, count));
        let pool = pool.ok_or(vk::Result::ERROR_UNKNOWN)?;
        if flags.contains(vk::QueryResultFlags::WAIT) {
            pool.when_available(|| sync::wait(device, u64::MAX, || pool.is_available(first, count)))?;
        }
        let all = pool.results(first, count, Layout { stride, flags }, |at, bytes| {
            // VUID-vkGetQueryPoolResults-dataSize-00817
            let at = usize::try_from(at).unwrap_or(usize::MAX);
            if at.saturating_add(bytes.len()) <= size && !data.is_null() {
                // SAFETY: inside of what the application gives.
                let to = unsafe { data.cast::<u8>().add(at) };
                // SAFETY: as above.
                unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            }
        });
        // *Copying Query Results*: partial results are results.
        if all || flags.contains(vk::QueryResultFlags::PARTIAL) {
            return Ok(());
        }
        // Applications ask so again and again: make room for the threads that do the work.
        std::thread::yield_now();
        Err(if device.is_lost() { vk::Result::ERROR_DEVICE_LOST } else { vk::Result::NOT_READY })
    }

    /// Makes queries unavailable.
    fn reset_query_pool(device: vk::Device, pool: vk::QueryPool, first: u32, count: u32) {
        // SAFETY: a valid device.
        let Ok(device) = (unsafe { dispatchable::object::<Device>(device) }) else { return };
        if let Some(pool) = device.query_pools.get(pool.as_raw()) {
            pool.reset(first, count);
        }
    }
}

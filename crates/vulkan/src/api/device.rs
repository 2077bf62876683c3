//! Logical devices and their queues.

use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use super::entry::{self, Command, entries};
use super::{chain, dispatchable, extensions, features, properties};
use crate::core::clock;
use crate::core::device::{Device, QueueEntry};
use crate::core::instance::PhysicalDevice;
use crate::core::profile;
use crate::core::queue::Queue;

/// Makes a device as it is described.
///
/// # Safety
///
/// `info` is valid.
unsafe fn create(
    physical: &Arc<PhysicalDevice>,
    info: &vk::DeviceCreateInfo,
) -> Result<Arc<Device>, vk::Result> {
    // VUID-vkCreateDevice-ppEnabledExtensionNames-01387. Layers of devices are "deprecated and ignored".
    let known = extensions::of_device(physical.is_gpu());
    // SAFETY: as this function's.
    let extensions =
        unsafe { extensions::enabled(&known, info.enabled_extension_names, info.enabled_extension_count) }?;
    // SAFETY: as this function's.
    let core = unsafe { info.enabled_features.as_ref() };
    // "If a feature is requested that is not supported, VK_ERROR_FEATURE_NOT_PRESENT."
    // SAFETY: as this function's.
    let are_known = unsafe { features::accepts(info.next, physical.is_gpu()) };
    if !core.is_none_or(features::accepts_core) || !are_known {
        return Err(vk::Result::ERROR_FEATURE_NOT_PRESENT);
    }
    // SAFETY: as this function's.
    let families = unsafe { chain::slice(info.queue_create_infos, info.queue_create_info_count) };
    for family in families {
        // VUID-VkDeviceQueueCreateInfo-queueFamilyIndex-00381, VUID-VkDeviceQueueCreateInfo-queueCount-00382.
        if family.queue_family_index != 0 || family.queue_count > properties::QUEUES {
            return Err(vk::Result::ERROR_INITIALIZATION_FAILED);
        }
    }
    let phalanx = physical.start().map_err(|error| {
        let text = format!("the device cannot start: {error}");
        physical.messengers.message(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR, &text);
        match error {
            // Threads that cannot be started.
            phalanx::Error::Device(_) | phalanx::Error::Memory(_) => vk::Result::ERROR_OUT_OF_HOST_MEMORY,
            _ => vk::Result::ERROR_INITIALIZATION_FAILED,
        }
    })?;
    let device = Arc::new(Device::new(Arc::clone(physical), phalanx).with_extensions(extensions));
    let entries = families.iter().flat_map(|family| {
        let flags = family.flags;
        let device = &device;
        (0..family.queue_count).map(move |index| {
            let queue = Queue::new(device, 0, index);
            let handle = dispatchable::create(Arc::clone(&queue)).as_raw();
            QueueEntry { family: 0, index, flags, queue, handle }
        })
    });
    let _first = device.queues.set(entries.collect());
    Ok(device)
}

/// The handle of a queue; null if the device was not created with it.
fn queue_handle(device: &Device, family: u32, index: u32, flags: vk::DeviceQueueCreateFlags) -> vk::Queue {
    let mut queues = device.queues().iter();
    let found = queues.find(|queue| (queue.family, queue.index, queue.flags) == (family, index, flags));
    found.map_or_else(vk::Queue::null, |queue| vk::Queue::from_raw(queue.handle))
}

/// The clock of a time domain.
fn clock_of(domain: vk::TimeDomainKHR) -> Result<libc::clockid_t, vk::Result> {
    match domain {
        // Timestamps of the device are those of the host.
        vk::TimeDomainKHR::DEVICE | vk::TimeDomainKHR::CLOCK_MONOTONIC => Ok(libc::CLOCK_MONOTONIC),
        vk::TimeDomainKHR::CLOCK_MONOTONIC_RAW => Ok(libc::CLOCK_MONOTONIC_RAW),
        // VUID-VkCalibratedTimestampInfoKHR-timeDomain-02354.
        _ => Err(vk::Result::ERROR_UNKNOWN),
    }
}

entries! {
    fn create_device(
        physical: vk::PhysicalDevice,
        info: *const vk::DeviceCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        device: *mut vk::Device,
    ) -> vk::Result {
        // SAFETY: the caller passes a place for the handle.
        unsafe { device.write(vk::Device::null()) };
        // SAFETY: a handle of a physical device.
        let physical = unsafe { dispatchable::object::<PhysicalDevice>(physical) }?;
        // SAFETY: the caller passes a description.
        let info = unsafe { info.as_ref() }.ok_or(vk::Result::ERROR_INITIALIZATION_FAILED)?;
        // SAFETY: as above.
        let created = unsafe { create(physical, info) }?;
        // SAFETY: as above.
        unsafe { device.write(dispatchable::create(created)) };
        Ok(())
    }

    fn destroy_device(device: vk::Device, _allocator: *const vk::AllocationCallbacks) {
        // SAFETY: the handle is not used any more.
        let Some(device) = (unsafe { dispatchable::destroy::<Device>(device) }) else { return };
        for entry in device.queues() {
            entry.queue.shut_down();
            // SAFETY: queues end with their device.
            let _ = unsafe { dispatchable::destroy::<Queue>(vk::Queue::from_raw(entry.handle)) };
        }
        profile::device_ends();
    }

    fn get_device_queue(device: vk::Device, family: u32, index: u32, queue: *mut vk::Queue) {
        // SAFETY: the caller passes a place for the handle.
        unsafe { queue.write(vk::Queue::null()) };
        // SAFETY: a handle of a device.
        let Ok(device) = (unsafe { dispatchable::object::<Device>(device) }) else { return };
        // VUID-vkGetDeviceQueue-flags-01841: this function is for queues without flags.
        let found = queue_handle(device, family, index, vk::DeviceQueueCreateFlags::empty());
        // SAFETY: as above.
        unsafe { queue.write(found) };
    }

    fn get_device_queue2(device: vk::Device, info: *const vk::DeviceQueueInfo2, queue: *mut vk::Queue) {
        // SAFETY: the caller passes a place for the handle.
        unsafe { queue.write(vk::Queue::null()) };
        // SAFETY: a handle of a device.
        let Ok(device) = (unsafe { dispatchable::object::<Device>(device) }) else { return };
        // SAFETY: the caller passes a description.
        let Some(info) = (unsafe { info.as_ref() }) else { return };
        let found = queue_handle(device, info.queue_family_index, info.queue_index, info.flags);
        // SAFETY: as above.
        unsafe { queue.write(found) };
    }

    fn device_wait_idle(device: vk::Device) -> vk::Result {
        // SAFETY: a handle of a device.
        let device = unsafe { dispatchable::object::<Device>(device) }?;
        device.queues().iter().try_for_each(|entry| entry.queue.wait_idle())
    }

    fn get_peer_memory_features(
        _device: vk::Device,
        _heap: u32,
        _local: u32,
        _remote: u32,
        to: *mut vk::PeerMemoryFeatureFlags,
    ) {
        use vk::PeerMemoryFeatureFlags as P;
        // There is one device, which reaches its memory in every way.
        // SAFETY: the caller passes a place for them.
        unsafe { to.write(P::COPY_SRC | P::COPY_DST | P::GENERIC_SRC | P::GENERIC_DST) };
    }

    fn get_calibrated_timestamps(
        _device: vk::Device,
        count: u32,
        infos: *const vk::CalibratedTimestampInfoKHR,
        timestamps: *mut u64,
        max_deviation: *mut u64,
    ) -> vk::Result {
        // SAFETY: the caller passes as many as it says.
        let infos = unsafe { chain::slice(infos, count) };
        // SAFETY: the caller passes room for as many.
        let timestamps = unsafe { chain::slice_mut(timestamps, count) };
        let start = clock::monotonic();
        for (info, timestamp) in infos.iter().zip(timestamps) {
            *timestamp = clock::nanoseconds(clock_of(info.time_domain)?);
        }
        // All were read between two readings of one clock; another nanosecond is what a reading may be off.
        let deviation = clock::monotonic().saturating_sub(start) + 1;
        // SAFETY: the caller passes a place for it.
        unsafe { max_deviation.write(deviation) };
        Ok(())
    }
}

pub(super) const PHYSICAL_COMMANDS: &[Command] = entry::commands![Physical;
    PFN_vkCreateDevice: create_device,
];

pub(super) const COMMANDS: &[Command] = entry::commands![Device;
    PFN_vkDestroyDevice: destroy_device,
    PFN_vkGetDeviceQueue: get_device_queue,
    PFN_vkGetDeviceQueue2: get_device_queue2,
    PFN_vkDeviceWaitIdle: device_wait_idle,
    PFN_vkGetDeviceGroupPeerMemoryFeatures: get_peer_memory_features,
    PFN_vkGetDeviceGroupPeerMemoryFeaturesKHR: get_peer_memory_features,
    PFN_vkGetCalibratedTimestampsEXT: get_calibrated_timestamps,
    PFN_vkGetCalibratedTimestampsKHR: get_calibrated_timestamps,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::instance::Instance;

    fn physical() -> Arc<PhysicalDevice> {
        Arc::clone(&Instance::new().expect("a machine").physical)
    }

    fn queues(count: u32, family: u32) -> vk::DeviceQueueCreateInfo {
        vk::DeviceQueueCreateInfo { queue_count: count, queue_family_index: family, ..Default::default() }
    }

    fn device_of(queues: &[vk::DeviceQueueCreateInfo]) -> Result<Arc<Device>, vk::Result> {
        let info = vk::DeviceCreateInfo {
            queue_create_info_count: queues.len() as u32,
            queue_create_infos: queues.as_ptr(),
            ..Default::default()
        };
        // SAFETY: a valid description.
        unsafe { create(&physical(), &info) }
    }

    #[test]
    fn a_device_has_the_queues_that_it_was_created_with() {
        let device = device_of(&[queues(2, 0)]).expect("a device");
        let none = vk::DeviceQueueCreateFlags::empty();
        let handles: Vec<_> = (0..3).map(|index| queue_handle(&device, 0, index, none)).collect();
        assert!(!handles[0].is_null() && !handles[1].is_null() && handles[0] != handles[1]);
        assert!(handles[2].is_null());
        assert!(queue_handle(&device, 1, 0, none).is_null());
    }

    #[test]
    fn what_is_not_there_is_refused() {
        assert!(device_of(&[queues(1, 1)]).is_err() && device_of(&[queues(5, 0)]).is_err());
        let unknown = [c"VK_KHR_ray_query".as_ptr()];
        let info = vk::DeviceCreateInfo {
            enabled_extension_count: 1,
            enabled_extension_names: unknown.as_ptr(),
            ..Default::default()
        };
        // SAFETY: a valid description.
        let result = unsafe { create(&physical(), &info) };
        assert_eq!(result.err(), Some(vk::Result::ERROR_EXTENSION_NOT_PRESENT));
        let features = vk::PhysicalDeviceFeatures { wide_lines: vk::TRUE, ..Default::default() };
        let info = vk::DeviceCreateInfo { enabled_features: &raw const features, ..Default::default() };
        // SAFETY: a valid description.
        let result = unsafe { create(&physical(), &info) };
        assert_eq!(result.err(), Some(vk::Result::ERROR_FEATURE_NOT_PRESENT));
    }
}

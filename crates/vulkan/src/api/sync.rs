//! Fences, semaphores and events.

use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use super::entry::{self, entries};
use super::{chain, dispatchable};
use crate::core::device::Device;
use crate::core::sync::{self, Event, Fence, Semaphore};

chain::structures! {
    ExportFenceCreateInfo = EXPORT_FENCE_CREATE_INFO,
    ExportSemaphoreCreateInfo = EXPORT_SEMAPHORE_CREATE_INFO,
    SemaphoreTypeCreateInfo = SEMAPHORE_TYPE_CREATE_INFO,
}

pub(super) const COMMANDS: &[entry::Command] = entry::commands![Device;
    PFN_vkCreateFence: create_fence,
    PFN_vkDestroyFence: destroy_fence,
    PFN_vkResetFences: reset_fences,
    PFN_vkGetFenceStatus: get_fence_status,
    PFN_vkWaitForFences: wait_for_fences,
    PFN_vkCreateSemaphore: create_semaphore,
    PFN_vkDestroySemaphore: destroy_semaphore,
    PFN_vkGetSemaphoreCounterValue: get_semaphore_counter_value,
    PFN_vkGetSemaphoreCounterValueKHR: get_semaphore_counter_value,
    PFN_vkWaitSemaphores: wait_semaphores,
    PFN_vkWaitSemaphoresKHR: wait_semaphores,
    PFN_vkSignalSemaphore: signal_semaphore,
    PFN_vkSignalSemaphoreKHR: signal_semaphore,
    PFN_vkCreateEvent: create_event,
    PFN_vkDestroyEvent: destroy_event,
    PFN_vkGetEventStatus: get_event_status,
    PFN_vkSetEvent: set_event,
    PFN_vkResetEvent: reset_event,
];

fn fence(device: &Device, fence: vk::Fence) -> Result<Arc<Fence>, vk::Result> {
    device.fences.get(fence.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)
}

fn semaphore(device: &Device, semaphore: vk::Semaphore) -> Result<Arc<Semaphore>, vk::Result> {
    device.semaphores.get(semaphore.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)
}

fn event(device: &Device, event: vk::Event) -> Result<Arc<Event>, vk::Result> {
    device.events.get(event.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)
}

entries! {
    /// Creates a fence.
    fn create_fence(
        device: vk::Device,
        info: *const vk::FenceCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        fence: *mut vk::Fence,
    ) -> vk::Result {
        // SAFETY: a valid device, a valid structure, and a place for the handle.
        let (device, info, out) = unsafe { (dispatchable::object::<Device>(device)?, info.as_ref(), fence.as_mut()) };
        let (info, out) = info.zip(out).ok_or(vk::Result::ERROR_UNKNOWN)?;
        // SAFETY: a valid chain.
        let export = unsafe { chain::find::<vk::ExportFenceCreateInfo>(info.next) };
        // VUID-VkExportFenceCreateInfo-handleTypes-01446: no fence can be exported.
        if export.is_some_and(|export| !export.handle_types.is_empty()) {
            return Err(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE);
        }
        let fence = Fence::new(info.flags.contains(vk::FenceCreateFlags::SIGNALED));
        *out = vk::Fence::from_raw(device.fences.insert(Arc::new(fence)));
        Ok(())
    }

    /// Destroys a fence.
    fn destroy_fence(device: vk::Device, fence: vk::Fence, _allocator: *const vk::AllocationCallbacks) {
        // SAFETY: a valid device.
        if let Ok(device) = unsafe { dispatchable::object::<Device>(device) } {
            device.fences.remove(fence.as_raw());
        }
    }

    /// Makes fences not signalled.
    fn reset_fences(device: vk::Device, count: u32, fences: *const vk::Fence) -> vk::Result {
        // SAFETY: a valid device, and a valid array.
        let (device, fences) = unsafe { (dispatchable::object::<Device>(device)?, chain::slice(fences, count)) };
        fences.iter().try_for_each(|&handle| {
            fence(device, handle)?.reset();
            Ok(())
        })
    }

    /// Whether a fence is signalled.
    fn get_fence_status(device: vk::Device, fence: vk::Fence) -> vk::Result {
        // SAFETY: a valid device.
        let device = unsafe { dispatchable::object::<Device>(device) }?;
        if self::fence(device, fence)?.poll(&device.notifier) {
            return Ok(());
        }
        // *Lost Device*: a fence that is not signalled would never be.
        Err(if device.is_lost() { vk::Result::ERROR_DEVICE_LOST } else { vk::Result::NOT_READY })
    }

    /// Waits for all or any of some fences.
    fn wait_for_fences(
        device: vk::Device,
        count: u32,
        fences: *const vk::Fence,
        wait_all: vk::Bool32,
        timeout: u64,
    ) -> vk::Result {
        // SAFETY: a valid device, and a valid array.
        let (device, fences) = unsafe { (dispatchable::object::<Device>(device)?, chain::slice(fences, count)) };
        let fences: Result<Vec<_>, _> = fences.iter().map(|&handle| fence(device, handle)).collect();
        let fences = fences?;
        let is_ready = || match wait_all {
            vk::FALSE => fences.iter().any(|fence| fence.is_signaled()),
            _ => fences.iter().all(|fence| fence.is_signaled()),
        };
        if timeout == 0
            && !is_ready()
            && let Some(fence) = fences.iter().find(|fence| !fence.is_signaled())
        {
            fence.poll(&device.notifier);
        }
        sync::wait(device, timeout, is_ready)
    }

    /// Creates a semaphore.
    fn create_semaphore(
        device: vk::Device,
        info: *const vk::SemaphoreCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        semaphore: *mut vk::Semaphore,
    ) -> vk::Result {
        // SAFETY: a valid device, a valid structure, and a place for the handle.
        let (device, info, out) =
            unsafe { (dispatchable::object::<Device>(device)?, info.as_ref(), semaphore.as_mut()) };
        let (info, out) = info.zip(out).ok_or(vk::Result::ERROR_UNKNOWN)?;
        // SAFETY: a valid chain.
        let export = unsafe { chain::find::<vk::ExportSemaphoreCreateInfo>(info.next) };
        // VUID-VkExportSemaphoreCreateInfo-handleTypes-01124: no semaphore can be exported.
        if export.is_some_and(|export| !export.handle_types.is_empty()) {
            return Err(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE);
        }
        // SAFETY: a valid chain.
        let semaphore = match unsafe { chain::find::<vk::SemaphoreTypeCreateInfo>(info.next) } {
            Some(info) if info.semaphore_type == vk::SemaphoreType::TIMELINE => {
                Semaphore::timeline(info.initial_value)
            }
            _ => Semaphore::binary(),
        };
        *out = vk::Semaphore::from_raw(device.semaphores.insert(Arc::new(semaphore)));
        Ok(())
    }

    /// Destroys a semaphore.
    fn destroy_semaphore(
        device: vk::Device,
        semaphore: vk::Semaphore,
        _allocator: *const vk::AllocationCallbacks,
    ) {
        // SAFETY: a valid device.
        if let Ok(device) = unsafe { dispatchable::object::<Device>(device) } {
            device.semaphores.remove(semaphore.as_raw());
        }
    }

    /// The value of a timeline.
    fn get_semaphore_counter_value(device: vk::Device, semaphore: vk::Semaphore, value: *mut u64) -> vk::Result {
        // SAFETY: a valid device, and a place for the value.
        let (device, out) = unsafe { (dispatchable::object::<Device>(device)?, value.as_mut()) };
        // Applications ask so again and again: make room for the threads that do the work.
        std::thread::yield_now();
        *out.ok_or(vk::Result::ERROR_UNKNOWN)? = self::semaphore(device, semaphore)?.value();
        // *Lost Device*: the value may never be what somebody looks for.
        if device.is_lost() { Err(vk::Result::ERROR_DEVICE_LOST) } else { Ok(()) }
    }

    /// Waits for all or any of some timelines.
    fn wait_semaphores(device: vk::Device, info: *const vk::SemaphoreWaitInfo, timeout: u64) -> vk::Result {
        // SAFETY: a valid device, and a valid structure.
        let (device, info) = unsafe { (dispatchable::object::<Device>(device)?, info.as_ref()) };
        let info = info.ok_or(vk::Result::ERROR_UNKNOWN)?;
        // SAFETY: valid arrays.
        let (semaphores, values) = unsafe {
            let values = chain::slice(info.values, info.semaphore_count);
            (chain::slice(info.semaphores, info.semaphore_count), values)
        };
        let find = |(&handle, &value): (&vk::Semaphore, &u64)| Ok((semaphore(device, handle)?, value));
        let waits: Result<Vec<_>, vk::Result> = semaphores.iter().zip(values).map(find).collect();
        let waits = waits?;
        let has_come = |(semaphore, value): &(Arc<Semaphore>, u64)| semaphore.value() >= *value;
        sync::wait(device, timeout, || match info.flags.contains(vk::SemaphoreWaitFlags::ANY) {
            true => waits.iter().any(has_come),
            false => waits.iter().all(has_come),
        })
    }

    /// Raises the value of a timeline.
    fn signal_semaphore(device: vk::Device, info: *const vk::SemaphoreSignalInfo) -> vk::Result {
        // SAFETY: a valid device, and a valid structure.
        let (device, info) = unsafe { (dispatchable::object::<Device>(device)?, info.as_ref()) };
        let info = info.ok_or(vk::Result::ERROR_UNKNOWN)?;
        // VUID-VkSemaphoreSignalInfo-semaphore-03257
        let semaphore = semaphore(device, info.semaphore)?;
        if !semaphore.is_timeline() {
            return Err(vk::Result::ERROR_UNKNOWN);
        }
        semaphore.signal(info.value);
        device.notifier.notify();
        Ok(())
    }

    /// Creates an event.
    fn create_event(
        device: vk::Device,
        _info: *const vk::EventCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        event: *mut vk::Event,
    ) -> vk::Result {
        // SAFETY: a valid device, and a place for the handle.
        let (device, out) = unsafe { (dispatchable::object::<Device>(device)?, event.as_mut()) };
        let out = out.ok_or(vk::Result::ERROR_UNKNOWN)?;
        *out = vk::Event::from_raw(device.events.insert(Arc::default()));
        Ok(())
    }

    /// Destroys an event.
    fn destroy_event(device: vk::Device, event: vk::Event, _allocator: *const vk::AllocationCallbacks) {
        // SAFETY: a valid device.
        if let Ok(device) = unsafe { dispatchable::object::<Device>(device) } {
            device.events.remove(event.as_raw());
        }
    }

    /// Whether an event is set.
    fn get_event_status(device: vk::Device, event: vk::Event) -> vk::Result {
        // SAFETY: a valid device.
        let device = unsafe { dispatchable::object::<Device>(device) }?;
        let is_set = self::event(device, event)?.is_set();
        Err(match (is_set, device.is_lost()) {
            (_, true) => vk::Result::ERROR_DEVICE_LOST,
            (true, false) => vk::Result::EVENT_SET,
            (false, false) => {
                // Applications ask so again and again: make room for the threads that do the work.
                std::thread::yield_now();
                vk::Result::EVENT_RESET
            }
        })
    }

    /// Sets an event.
    fn set_event(device: vk::Device, event: vk::Event) -> vk::Result {
        // SAFETY: a valid device.
        let device = unsafe { dispatchable::object::<Device>(device) }?;
        self::event(device, event)?.set(true);
        device.notifier.notify();
        Ok(())
    }

    /// Resets an event.
    fn reset_event(device: vk::Device, event: vk::Event) -> vk::Result {
        // SAFETY: a valid device.
        let device = unsafe { dispatchable::object::<Device>(device) }?;
        self::event(device, event)?.set(false);
        Ok(())
    }
}

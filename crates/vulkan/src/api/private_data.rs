//! Numbers of the application for objects (*private data*).

use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use super::dispatchable;
use super::entry::{self, Command, entries};
use crate::core::device::{Device, PrivateData};

entries! {
    fn create_slot(
        device: vk::Device,
        _info: *const vk::PrivateDataSlotCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        slot: *mut vk::PrivateDataSlot,
    ) -> vk::Result {
        // SAFETY: the caller passes a place for the handle.
        unsafe { slot.write(vk::PrivateDataSlot::null()) };
        // SAFETY: a handle of a device.
        let device = unsafe { dispatchable::object::<Device>(device) }?;
        let handle = device.private_data.insert(Arc::new(PrivateData::default()));
        // SAFETY: as above.
        unsafe { slot.write(vk::PrivateDataSlot::from_raw(handle)) };
        Ok(())
    }

    fn destroy_slot(
        device: vk::Device,
        slot: vk::PrivateDataSlot,
        _allocator: *const vk::AllocationCallbacks,
    ) {
        // SAFETY: a handle of a device.
        let Ok(device) = (unsafe { dispatchable::object::<Device>(device) }) else { return };
        let _gone = device.private_data.remove(slot.as_raw());
    }

    fn set(
        device: vk::Device,
        ty: vk::ObjectType,
        object: u64,
        slot: vk::PrivateDataSlot,
        value: u64,
    ) -> vk::Result {
        // SAFETY: a handle of a device.
        let device = unsafe { dispatchable::object::<Device>(device) }?;
        let slot = device.private_data.get(slot.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
        slot.set(ty, object, value);
        Ok(())
    }

    fn get(
        device: vk::Device,
        ty: vk::ObjectType,
        object: u64,
        slot: vk::PrivateDataSlot,
        to: *mut u64,
    ) {
        // SAFETY: a handle of a device.
        let Ok(device) = (unsafe { dispatchable::object::<Device>(device) }) else { return };
        let value = device.private_data.get(slot.as_raw()).map_or(0, |slot| slot.get(ty, object));
        // SAFETY: the caller passes a place for it.
        unsafe { to.write(value) };
    }
}

pub(super) const COMMANDS: &[Command] = entry::commands![Device;
    PFN_vkCreatePrivateDataSlot: create_slot,
    PFN_vkCreatePrivateDataSlotEXT: create_slot,
    PFN_vkDestroyPrivateDataSlot: destroy_slot,
    PFN_vkDestroyPrivateDataSlotEXT: destroy_slot,
    PFN_vkSetPrivateData: set,
    PFN_vkSetPrivateDataEXT: set,
    PFN_vkGetPrivateData: get,
    PFN_vkGetPrivateDataEXT: get,
];

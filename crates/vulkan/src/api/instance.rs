//! Instances.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use super::entry::{self, Command, entries};
use super::{chain, debug_utils, dispatchable, extensions, properties};
use crate::core::debug;
use crate::core::instance::{Instance, Messengers, PhysicalDevice};

chain::structures! {
    PhysicalDeviceGroupProperties = PHYSICAL_DEVICE_GROUP_PROPERTIES,
}

/// Makes an instance as it is described.
///
/// # Safety
///
/// `info` is valid.
unsafe fn create(info: &vk::InstanceCreateInfo) -> Result<Instance, vk::Result> {
    // VUID-VkInstanceCreateInfo-ppEnabledLayerNames: layers are the loader's; the driver has none.
    if info.enabled_layer_count > 0 {
        return Err(vk::Result::ERROR_LAYER_NOT_PRESENT);
    }
    // VUID-vkCreateInstance-ppEnabledExtensionNames-01388.
    // SAFETY: as this function's.
    let extensions = unsafe {
        extensions::enabled(extensions::INSTANCE, info.enabled_extension_names, info.enabled_extension_count)
    }?;
    // SAFETY: as this function's.
    let version = unsafe { info.application_info.as_ref() }.map_or(0, |application| application.api_version);
    // "Providing a NULL VkInstanceCreateInfo::pApplicationInfo or providing an apiVersion of 0 is equivalent to
    // providing an apiVersion of VK_MAKE_API_VERSION(0,1,0,0)."
    let version = if version == 0 { vk::make_version(1, 0, 0) } else { version };
    Instance::with_extensions(version, extensions).map_err(|error| {
        let text = format!("the driver cannot start: {error}");
        debug::report(&text);
        let messengers = Messengers::default();
        // SAFETY: as this function's.
        unsafe { debug_utils::add_of_chain(&messengers, info.next) };
        messengers.message(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR, &text);
        vk::Result::ERROR_INITIALIZATION_FAILED
    })
}

/// The handles of the physical devices.
fn physical_handles(instance: &Instance) -> Vec<vk::PhysicalDevice> {
    let create = |physical: &Arc<PhysicalDevice>| dispatchable::create(Arc::clone(physical)).as_raw();
    let handles = instance.physical_handles.get_or_init(|| instance.physical_devices().map(create).collect());
    handles.iter().copied().map(vk::PhysicalDevice::from_raw).collect()
}

entries! {
    fn create_instance(
        info: *const vk::InstanceCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        instance: *mut vk::Instance,
    ) -> vk::Result {
        // SAFETY: the caller passes a place for the handle.
        unsafe { instance.write(vk::Instance::null()) };
        // SAFETY: the caller passes a description.
        let info = unsafe { info.as_ref() }.ok_or(vk::Result::ERROR_INITIALIZATION_FAILED)?;
        // SAFETY: as above.
        let created = unsafe { create(info) }?;
        // SAFETY: as above.
        unsafe { instance.write(dispatchable::create(Arc::new(created))) };
        Ok(())
    }

    fn destroy_instance(instance: vk::Instance, _allocator: *const vk::AllocationCallbacks) {
        // SAFETY: the handle is not used any more.
        let Some(instance) = (unsafe { dispatchable::destroy::<Instance>(instance) }) else { return };
        for &handle in instance.physical_handles.get().into_iter().flatten() {
            let handle = vk::PhysicalDevice::from_raw(handle);
            // SAFETY: physical devices end with their instance.
            let _ = unsafe { dispatchable::destroy::<PhysicalDevice>(handle) };
        }
    }

    fn enumerate_instance_version(version: *mut u32) -> vk::Result {
        // SAFETY: the caller passes a place for it.
        unsafe { version.write(properties::API_VERSION) };
        Ok(())
    }

    fn enumerate_instance_extensions(
        layer: *const c_char,
        count: *mut u32,
        list: *mut vk::ExtensionProperties,
    ) -> vk::Result {
        if !layer.is_null() {
            return Err(vk::Result::ERROR_LAYER_NOT_PRESENT);
        }
        // SAFETY: the caller passes a count and room for as many.
        unsafe { chain::list(count, list, &extensions::properties(extensions::INSTANCE)) }
    }

    fn enumerate_instance_layers(count: *mut u32, list: *mut vk::LayerProperties) -> vk::Result {
        // SAFETY: the caller passes a count and room for as many.
        unsafe { chain::list(count, list, &[]) }
    }

    fn enumerate_physical_devices(
        instance: vk::Instance,
        count: *mut u32,
        list: *mut vk::PhysicalDevice,
    ) -> vk::Result {
        // SAFETY: a handle of an instance.
        let instance = unsafe { dispatchable::object::<Instance>(instance) }?;
        // SAFETY: the caller passes a count and room for as many.
        unsafe { chain::list(count, list, &physical_handles(instance)) }
    }

    fn enumerate_physical_device_groups(
        instance: vk::Instance,
        count: *mut u32,
        list: *mut vk::PhysicalDeviceGroupProperties,
    ) -> vk::Result {
        // SAFETY: a handle of an instance.
        let instance = unsafe { dispatchable::object::<Instance>(instance) }?;
        let fill = |group: &mut vk::PhysicalDeviceGroupProperties, &physical: &vk::PhysicalDevice| {
            let next: *mut c_void = group.next;
            *group = vk::PhysicalDeviceGroupProperties { next, physical_device_count: 1, ..Default::default() };
            group.physical_devices[0] = physical;
        };
        // SAFETY: the caller passes a count and room for as many.
        unsafe { chain::list_with(count, list, &physical_handles(instance), fill) }
    }
}

pub(super) const GLOBAL_COMMANDS: &[Command] = entry::commands![Global;
    PFN_vkCreateInstance: create_instance,
    PFN_vkEnumerateInstanceVersion: enumerate_instance_version,
    PFN_vkEnumerateInstanceExtensionProperties: enumerate_instance_extensions,
    PFN_vkEnumerateInstanceLayerProperties: enumerate_instance_layers,
];

pub(super) const COMMANDS: &[Command] = entry::commands![Instance;
    PFN_vkDestroyInstance: destroy_instance,
    PFN_vkEnumeratePhysicalDevices: enumerate_physical_devices,
    PFN_vkEnumeratePhysicalDeviceGroups: enumerate_physical_device_groups,
    PFN_vkEnumeratePhysicalDeviceGroupsKHR: enumerate_physical_device_groups,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn instance_of(info: &vk::InstanceCreateInfo) -> (vk::Result, vk::Instance) {
        let mut instance = vk::Instance::null();
        // SAFETY: a valid description, and a place for the handle.
        let result = unsafe { create_instance(info, std::ptr::null(), &raw mut instance) };
        (result, instance)
    }

    #[test]
    fn an_instance_has_the_physical_devices_of_the_machine() {
        let found = phalanx::DeviceKind::available().len();
        let (result, instance) = instance_of(&vk::InstanceCreateInfo::default());
        assert_eq!(result, vk::Result::SUCCESS);
        let (mut count, mut devices) = (0, vec![vk::PhysicalDevice::null(); found + 1]);
        // SAFETY: a live instance, and valid places.
        let result = unsafe { enumerate_physical_devices(instance, &raw mut count, std::ptr::null_mut()) };
        assert_eq!((result, count as usize), (vk::Result::SUCCESS, found));
        count += 1;
        // SAFETY: as above.
        let result = unsafe { enumerate_physical_devices(instance, &raw mut count, devices.as_mut_ptr()) };
        assert_eq!((result, count as usize), (vk::Result::SUCCESS, found));
        assert!(devices.iter().position(|device| device.is_null()) == Some(found));
        // SAFETY: nothing uses the instance any more.
        unsafe { destroy_instance(instance, std::ptr::null()) };
    }

    #[test]
    fn unknown_layers_and_extensions_are_refused() {
        let names = [c"VK_EXT_no_such_thing".as_ptr()];
        let names = names.as_ptr();
        let layers = vk::InstanceCreateInfo {
            enabled_layer_count: 1,
            enabled_layer_names: names,
            ..Default::default()
        };
        assert_eq!(instance_of(&layers), (vk::Result::ERROR_LAYER_NOT_PRESENT, vk::Instance::null()));
        let extensions = vk::InstanceCreateInfo {
            enabled_extension_count: 1,
            enabled_extension_names: names,
            ..Default::default()
        };
        assert_eq!(instance_of(&extensions).0, vk::Result::ERROR_EXTENSION_NOT_PRESENT);
    }

    #[test]
    fn any_version_may_be_asked_for() {
        // "Vulkan 1.1 or later must not return VK_ERROR_INCOMPATIBLE_DRIVER for any value of apiVersion."
        let application = vk::ApplicationInfo { api_version: u32::MAX, ..Default::default() };
        let info = vk::InstanceCreateInfo { application_info: &raw const application, ..Default::default() };
        let (result, instance) = instance_of(&info);
        assert_eq!(result, vk::Result::SUCCESS);
        // SAFETY: nothing uses the instance any more.
        unsafe { destroy_instance(instance, std::ptr::null()) };
    }
}

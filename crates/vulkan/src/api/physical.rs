//! What the physical device is asked.

use std::ffi::c_char;

use vulkanalia_sys as vk;

use super::entry::{self, Command, entries};
use super::{chain, dispatchable, extensions, features, matrix, newer, properties};
use crate::core::instance::PhysicalDevice;

chain::structures! {
    PhysicalDeviceMemoryBudgetPropertiesEXT = PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT,
}

/// Clocks that timestamps of the device can be compared with; its own are those of the first.
const TIME_DOMAINS: [vk::TimeDomainKHR; 3] =
    [vk::TimeDomainKHR::DEVICE, vk::TimeDomainKHR::CLOCK_MONOTONIC, vk::TimeDomainKHR::CLOCK_MONOTONIC_RAW];

/// What can be done with a kind of external memory.
pub(super) fn external_memory(ty: vk::ExternalMemoryHandleTypeFlags) -> vk::ExternalMemoryProperties {
    let features = if ty == vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT {
        vk::ExternalMemoryFeatureFlags::IMPORTABLE
    } else {
        vk::ExternalMemoryFeatureFlags::empty()
    };
    vk::ExternalMemoryProperties {
        external_memory_features: features,
        export_from_imported_handle_types: vk::ExternalMemoryHandleTypeFlags::empty(),
        // "compatibleHandleTypes … must include at least handleType", whatever else is supported.
        compatible_handle_types: ty,
    }
}

entries! {
    fn get_properties(physical: vk::PhysicalDevice, to: *mut vk::PhysicalDeviceProperties) {
        // SAFETY: a handle of a physical device.
        let Ok(physical) = (unsafe { dispatchable::object::<PhysicalDevice>(physical) }) else { return };
        // SAFETY: the caller passes a place for them.
        unsafe { to.write(properties::core(physical)) };
    }

    fn get_properties2(physical: vk::PhysicalDevice, to: *mut vk::PhysicalDeviceProperties2) {
        // SAFETY: a handle of a physical device.
        let Ok(physical) = (unsafe { dispatchable::object::<PhysicalDevice>(physical) }) else { return };
        // SAFETY: the caller passes a place for them.
        let Some(to) = (unsafe { to.as_mut() }) else { return };
        to.properties = properties::core(physical);
        // SAFETY: a valid chain.
        unsafe { properties::fill(to.next, physical) };
    }

    fn get_features(_physical: vk::PhysicalDevice, to: *mut vk::PhysicalDeviceFeatures) {
        // SAFETY: the caller passes a place for them.
        unsafe { to.write(features::core()) };
    }

    fn get_features2(physical: vk::PhysicalDevice, to: *mut vk::PhysicalDeviceFeatures2) {
        // SAFETY: a handle of a physical device.
        let Ok(physical) = (unsafe { dispatchable::object::<PhysicalDevice>(physical) }) else { return };
        // SAFETY: the caller passes a place for them.
        let Some(to) = (unsafe { to.as_mut() }) else { return };
        to.features = features::core();
        // SAFETY: a valid chain.
        unsafe { features::fill(to.next, physical.is_gpu()) };
    }

    fn get_memory_properties(physical: vk::PhysicalDevice, to: *mut vk::PhysicalDeviceMemoryProperties) {
        // SAFETY: a handle of a physical device.
        let Ok(physical) = (unsafe { dispatchable::object::<PhysicalDevice>(physical) }) else { return };
        // SAFETY: the caller passes a place for them.
        unsafe { to.write(properties::memory(physical)) };
    }

    fn get_memory_properties2(physical: vk::PhysicalDevice, to: *mut vk::PhysicalDeviceMemoryProperties2) {
        // SAFETY: a handle of a physical device.
        let Ok(physical) = (unsafe { dispatchable::object::<PhysicalDevice>(physical) }) else { return };
        // SAFETY: the caller passes a place for them.
        let Some(to) = (unsafe { to.as_mut() }) else { return };
        to.memory_properties = properties::memory(physical);
        // SAFETY: a valid chain.
        let budget = unsafe { chain::find_mut::<vk::PhysicalDeviceMemoryBudgetPropertiesEXT>(to.next) };
        if let Some(budget) = budget {
            *budget =
                vk::PhysicalDeviceMemoryBudgetPropertiesEXT { next: budget.next, ..properties::budget(physical) };
        }
    }

    fn get_queue_families(
        physical: vk::PhysicalDevice,
        count: *mut u32,
        list: *mut vk::QueueFamilyProperties,
    ) {
        // SAFETY: a handle of a physical device.
        let Ok(physical) = (unsafe { dispatchable::object::<PhysicalDevice>(physical) }) else { return };
        // SAFETY: the caller passes a count and room for as many. Nothing says that some are left.
        let _ = unsafe { chain::list(count, list, &properties::queue_families(physical)) };
    }

    fn get_queue_families2(
        physical: vk::PhysicalDevice,
        count: *mut u32,
        list: *mut vk::QueueFamilyProperties2,
    ) {
        let fill = |to: &mut vk::QueueFamilyProperties2, family: &vk::QueueFamilyProperties| {
            to.queue_family_properties = *family;
        };
        // SAFETY: a handle of a physical device.
        let Ok(physical) = (unsafe { dispatchable::object::<PhysicalDevice>(physical) }) else { return };
        // SAFETY: as above.
        let _ = unsafe { chain::list_with(count, list, &properties::queue_families(physical), fill) };
    }

    fn get_external_buffer_properties(
        _physical: vk::PhysicalDevice,
        info: *const vk::PhysicalDeviceExternalBufferInfo,
        to: *mut vk::ExternalBufferProperties,
    ) {
        // SAFETY: the caller passes a description.
        let Some(info) = (unsafe { info.as_ref() }) else { return };
        // SAFETY: the caller passes a place for them.
        let Some(to) = (unsafe { to.as_mut() }) else { return };
        to.external_memory_properties = external_memory(info.handle_type);
    }

    fn get_external_fence_properties(
        _physical: vk::PhysicalDevice,
        _info: *const vk::PhysicalDeviceExternalFenceInfo,
        to: *mut vk::ExternalFenceProperties,
    ) {
        // SAFETY: the caller passes a place for them. No fence can be exported.
        let Some(to) = (unsafe { to.as_mut() }) else { return };
        *to = vk::ExternalFenceProperties { next: to.next, ..Default::default() };
    }

    fn get_external_semaphore_properties(
        _physical: vk::PhysicalDevice,
        _info: *const vk::PhysicalDeviceExternalSemaphoreInfo,
        to: *mut vk::ExternalSemaphoreProperties,
    ) {
        // SAFETY: the caller passes a place for them. No semaphore can be exported.
        let Some(to) = (unsafe { to.as_mut() }) else { return };
        *to = vk::ExternalSemaphoreProperties { next: to.next, ..Default::default() };
    }

    fn get_tools(
        _physical: vk::PhysicalDevice,
        count: *mut u32,
        list: *mut vk::PhysicalDeviceToolProperties,
    ) -> vk::Result {
        // SAFETY: the caller passes a count and room for as many. Layers add themselves.
        unsafe { chain::list(count, list, &[]) }
    }

    fn get_time_domains(
        _physical: vk::PhysicalDevice,
        count: *mut u32,
        list: *mut vk::TimeDomainKHR,
    ) -> vk::Result {
        // SAFETY: the caller passes a count and room for as many.
        unsafe { chain::list(count, list, &TIME_DOMAINS) }
    }

    fn get_matrices(
        physical: vk::PhysicalDevice,
        count: *mut u32,
        list: *mut vk::CooperativeMatrixPropertiesKHR,
    ) -> vk::Result {
        // SAFETY: a handle of a physical device.
        let physical = unsafe { dispatchable::object::<PhysicalDevice>(physical) }?;
        let fill = |to: &mut vk::CooperativeMatrixPropertiesKHR, row: &vk::CooperativeMatrixPropertiesKHR| {
            *to = vk::CooperativeMatrixPropertiesKHR { next: to.next, ..*row };
        };
        // SAFETY: the caller passes a count and room for as many.
        unsafe { chain::list_with(count, list, &matrix::rows(&physical.info), fill) }
    }

    fn get_matrices_nv(
        physical: vk::PhysicalDevice,
        count: *mut u32,
        list: *mut vk::CooperativeMatrixPropertiesNV,
    ) -> vk::Result {
        // SAFETY: a handle of a physical device.
        let physical = unsafe { dispatchable::object::<PhysicalDevice>(physical) }?;
        let fill = |to: &mut vk::CooperativeMatrixPropertiesNV, row: &vk::CooperativeMatrixPropertiesNV| {
            *to = vk::CooperativeMatrixPropertiesNV { next: to.next, ..*row };
        };
        // SAFETY: the caller passes a count and room for as many.
        unsafe { chain::list_with(count, list, &matrix::rows_nv(&physical.info), fill) }
    }

    fn get_flexible_matrices(
        physical: vk::PhysicalDevice,
        count: *mut u32,
        list: *mut vk::CooperativeMatrixFlexibleDimensionsPropertiesNV,
    ) -> vk::Result {
        type Row = vk::CooperativeMatrixFlexibleDimensionsPropertiesNV;
        // SAFETY: a handle of a physical device.
        let physical = unsafe { dispatchable::object::<PhysicalDevice>(physical) }?;
        let fill = |to: &mut Row, row: &Row| *to = Row { next: to.next, ..*row };
        // SAFETY: the caller passes a count and room for as many.
        unsafe { chain::list_with(count, list, &matrix::rows_flexible(&physical.info), fill) }
    }

    fn get_matrices_2(
        physical: vk::PhysicalDevice,
        info: *const newer::PhysicalDeviceCooperativeMatrixInfo2EXT,
        count: *mut u32,
        list: *mut newer::CooperativeMatrixProperties2EXT,
    ) -> vk::Result {
        type Row = newer::CooperativeMatrixProperties2EXT;
        // SAFETY: a handle of a physical device.
        let physical = unsafe { dispatchable::object::<PhysicalDevice>(physical) }?;
        // SAFETY: "pCooperativeMatrixInfo must be a valid pointer".
        let info = unsafe { info.as_ref() }.ok_or(vk::Result::ERROR_UNKNOWN)?;
        let fill = |to: &mut Row, row: &Row| *to = Row { next: to.next, ..*row };
        // SAFETY: the caller passes a count and room for as many.
        unsafe { chain::list_with(count, list, &matrix::rows_of(&physical.info, info), fill) }
    }

    fn enumerate_device_extensions(
        physical: vk::PhysicalDevice,
        layer: *const c_char,
        count: *mut u32,
        list: *mut vk::ExtensionProperties,
    ) -> vk::Result {
        if !layer.is_null() {
            return Err(vk::Result::ERROR_LAYER_NOT_PRESENT);
        }
        // SAFETY: a handle of a physical device.
        let physical = unsafe { dispatchable::object::<PhysicalDevice>(physical) }?;
        let extensions = extensions::of_device(physical.is_gpu());
        // SAFETY: the caller passes a count and room for as many.
        unsafe { chain::list(count, list, &extensions::properties(&extensions)) }
    }

    fn enumerate_device_layers(
        _physical: vk::PhysicalDevice,
        count: *mut u32,
        list: *mut vk::LayerProperties,
    ) -> vk::Result {
        // SAFETY: the caller passes a count and room for as many.
        unsafe { chain::list(count, list, &[]) }
    }
}

pub(super) const COMMANDS: &[Command] = entry::commands![Physical;
    PFN_vkGetPhysicalDeviceProperties: get_properties,
    PFN_vkGetPhysicalDeviceProperties2: get_properties2,
    PFN_vkGetPhysicalDeviceProperties2KHR: get_properties2,
    PFN_vkGetPhysicalDeviceFeatures: get_features,
    PFN_vkGetPhysicalDeviceFeatures2: get_features2,
    PFN_vkGetPhysicalDeviceFeatures2KHR: get_features2,
    PFN_vkGetPhysicalDeviceMemoryProperties: get_memory_properties,
    PFN_vkGetPhysicalDeviceMemoryProperties2: get_memory_properties2,
    PFN_vkGetPhysicalDeviceMemoryProperties2KHR: get_memory_properties2,
    PFN_vkGetPhysicalDeviceQueueFamilyProperties: get_queue_families,
    PFN_vkGetPhysicalDeviceQueueFamilyProperties2: get_queue_families2,
    PFN_vkGetPhysicalDeviceQueueFamilyProperties2KHR: get_queue_families2,
    PFN_vkGetPhysicalDeviceExternalBufferProperties: get_external_buffer_properties,
    PFN_vkGetPhysicalDeviceExternalBufferPropertiesKHR: get_external_buffer_properties,
    PFN_vkGetPhysicalDeviceExternalFenceProperties: get_external_fence_properties,
    PFN_vkGetPhysicalDeviceExternalFencePropertiesKHR: get_external_fence_properties,
    PFN_vkGetPhysicalDeviceExternalSemaphoreProperties: get_external_semaphore_properties,
    PFN_vkGetPhysicalDeviceExternalSemaphorePropertiesKHR: get_external_semaphore_properties,
    PFN_vkGetPhysicalDeviceToolProperties: get_tools,
    PFN_vkGetPhysicalDeviceToolPropertiesEXT: get_tools,
    PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT: get_time_domains,
    PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsKHR: get_time_domains,
    PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR: get_matrices,
    PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesNV: get_matrices_nv,
    PFN_vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV: get_flexible_matrices,
    PFN_vkGetPhysicalDeviceCooperativeMatrixProperties2EXT: get_matrices_2,
    PFN_vkEnumerateDeviceExtensionProperties: enumerate_device_extensions,
    PFN_vkEnumerateDeviceLayerProperties: enumerate_device_layers,
];

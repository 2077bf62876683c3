//! Formats, none of which has features: there are no images and no texel buffers.

use vulkanalia_sys as vk;

use super::chain;
use super::entry::{self, Command, entries};

chain::structures! {
    FormatProperties3 = FORMAT_PROPERTIES_3,
}

entries! {
    fn get_format_properties(
        _physical: vk::PhysicalDevice,
        _format: vk::Format,
        properties: *mut vk::FormatProperties,
    ) {
        // SAFETY: the caller passes a place for it.
        unsafe { properties.write(vk::FormatProperties::default()) };
    }

    fn get_format_properties2(
        _physical: vk::PhysicalDevice,
        _format: vk::Format,
        properties: *mut vk::FormatProperties2,
    ) {
        // SAFETY: the caller passes a place for it.
        let Some(properties) = (unsafe { properties.as_mut() }) else { return };
        properties.format_properties = vk::FormatProperties::default();
        // SAFETY: a valid chain.
        if let Some(more) = unsafe { chain::find_mut::<vk::FormatProperties3>(properties.next) } {
            *more = vk::FormatProperties3 { next: more.next, ..Default::default() };
        }
    }

    fn get_image_format_properties(
        _physical: vk::PhysicalDevice,
        _format: vk::Format,
        _ty: vk::ImageType,
        _tiling: vk::ImageTiling,
        _usage: vk::ImageUsageFlags,
        _flags: vk::ImageCreateFlags,
        properties: *mut vk::ImageFormatProperties,
    ) -> vk::Result {
        // SAFETY: the caller passes a place for it.
        unsafe { properties.write(vk::ImageFormatProperties::default()) };
        Err(vk::Result::ERROR_FORMAT_NOT_SUPPORTED)
    }

    fn get_image_format_properties2(
        _physical: vk::PhysicalDevice,
        _format: *const vk::PhysicalDeviceImageFormatInfo2,
        properties: *mut vk::ImageFormatProperties2,
    ) -> vk::Result {
        // SAFETY: the caller passes a place for it. If the format is not supported, all members are zero but
        // those of the chain.
        if let Some(properties) = unsafe { properties.as_mut() } {
            properties.image_format_properties = vk::ImageFormatProperties::default();
        }
        Err(vk::Result::ERROR_FORMAT_NOT_SUPPORTED)
    }

    fn get_sparse_image_format_properties(
        _physical: vk::PhysicalDevice,
        _format: vk::Format,
        _ty: vk::ImageType,
        _samples: vk::SampleCountFlags,
        _usage: vk::ImageUsageFlags,
        _tiling: vk::ImageTiling,
        count: *mut u32,
        _properties: *mut vk::SparseImageFormatProperties,
    ) {
        // SAFETY: the caller passes a place for it.
        unsafe { count.write(0) };
    }

    fn get_sparse_image_format_properties2(
        _physical: vk::PhysicalDevice,
        _format: *const vk::PhysicalDeviceSparseImageFormatInfo2,
        count: *mut u32,
        _properties: *mut vk::SparseImageFormatProperties2,
    ) {
        // SAFETY: the caller passes a place for it.
        unsafe { count.write(0) };
    }
}

pub(super) const COMMANDS: &[Command] = entry::commands![Physical;
    PFN_vkGetPhysicalDeviceFormatProperties: get_format_properties,
    PFN_vkGetPhysicalDeviceFormatProperties2: get_format_properties2,
    PFN_vkGetPhysicalDeviceFormatProperties2KHR: get_format_properties2,
    PFN_vkGetPhysicalDeviceImageFormatProperties: get_image_format_properties,
    PFN_vkGetPhysicalDeviceImageFormatProperties2: get_image_format_properties2,
    PFN_vkGetPhysicalDeviceImageFormatProperties2KHR: get_image_format_properties2,
    PFN_vkGetPhysicalDeviceSparseImageFormatProperties: get_sparse_image_format_properties,
    PFN_vkGetPhysicalDeviceSparseImageFormatProperties2: get_sparse_image_format_properties2,
    PFN_vkGetPhysicalDeviceSparseImageFormatProperties2KHR: get_sparse_image_format_properties2,
];

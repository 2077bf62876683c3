//! What can be done with formats. All tilings are linear, so what works with one works with the other.
//!
//! Kernels read, write and sample texels; nothing draws into images, and blits are commands of queues for graphics.

use vulkanalia_sys as vk;

use super::chain;
use super::entry::{self, Command, entries};
use super::{dispatchable, physical, properties};
use crate::core::format::texel;
use crate::core::image::{MAX_EXTENT, MAX_LAYERS, MAX_VOLUME_EXTENT};
use crate::core::instance::PhysicalDevice;

chain::structures! {
    ExternalImageFormatProperties = EXTERNAL_IMAGE_FORMAT_PROPERTIES,
    FormatProperties3 = FORMAT_PROPERTIES_3,
    PhysicalDeviceExternalImageFormatInfo = PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO,
    SamplerYcbcrConversionImageFormatProperties = SAMPLER_YCBCR_CONVERSION_IMAGE_FORMAT_PROPERTIES,
}

/// What can be done with images of a format.
fn image_features(physical: &PhysicalDevice, format: vk::Format) -> vk::FormatFeatureFlags2 {
    use vk::FormatFeatureFlags2 as F;
    let Some(texel) = texel(format) else { return F::empty() };
    let transfer = F::TRANSFER_SRC | F::TRANSFER_DST;
    let storage = match is_storage(texel) {
        true => F::STORAGE_IMAGE | F::STORAGE_READ_WITHOUT_FORMAT | F::STORAGE_WRITE_WITHOUT_FORMAT,
        false => F::empty(),
    };
    let atomic = if is_atomic(texel) { F::STORAGE_IMAGE_ATOMIC } else { F::empty() };
    if !physical.info.has_samplers {
        return transfer | storage | atomic;
    }
    let compared = if is_depth(texel) { F::SAMPLED_IMAGE_DEPTH_COMPARISON } else { F::empty() };
    // Samples have 32 bits.
    let sampled = match texel {
        phalanx::Format::R64Uint | phalanx::Format::R64Sint => F::empty(),
        _ if texel.is_integer() => F::SAMPLED_IMAGE,
        _ => F::SAMPLED_IMAGE | F::SAMPLED_IMAGE_FILTER_LINEAR | F::SAMPLED_IMAGE_FILTER_MINMAX,
    };
    transfer | storage | atomic | compared | sampled
}

/// Whether kernels store texels. They are stored as they are computed, without the transfer function of a format;
/// and Vulkan has no storage images of depths.
fn is_storage(texel: phalanx::Format) -> bool {
    texel.numeric() != phalanx::Numeric::Srgb && !is_depth(texel)
}

/// Whether texels are depths.
fn is_depth(texel: phalanx::Format) -> bool {
    matches!(texel, phalanx::Format::D16Unorm | phalanx::Format::D32Sfloat)
}

/// What can be done with texel buffers of a format.
fn buffer_features(format: vk::Format) -> vk::FormatFeatureFlags2 {
    use vk::FormatFeatureFlags2 as F;
    // There are no buffers of depths.
    let Some(texel) = texel(format).filter(|texel| !is_depth(*texel)) else { return F::empty() };
    let storage = match is_storage(texel) {
        true => F::STORAGE_TEXEL_BUFFER | F::STORAGE_READ_WITHOUT_FORMAT | F::STORAGE_WRITE_WITHOUT_FORMAT,
        false => F::empty(),
    };
    let atomic = if is_atomic(texel) { F::STORAGE_TEXEL_BUFFER_ATOMIC } else { F::empty() };
    F::UNIFORM_TEXEL_BUFFER | storage | atomic
}

/// Whether kernels have atomic operations on a texel.
fn is_atomic(texel: phalanx::Format) -> bool {
    use phalanx::Format as F;
    matches!(texel, F::R32Uint | F::R32Sint | F::R32Sfloat | F::R64Uint | F::R64Sint)
}

/// The same features, as Vulkan 1.0 has them.
fn old(features: vk::FormatFeatureFlags2) -> vk::FormatFeatureFlags {
    // The first 31 bits are the same. Those of reading and writing without a format are newer.
    let known = vk::FormatFeatureFlags::all().bits();
    vk::FormatFeatureFlags::from_bits_truncate(features.bits() as u32 & known)
}

fn format_properties(physical: &PhysicalDevice, format: vk::Format) -> vk::FormatProperties {
    let image = old(image_features(physical, format));
    vk::FormatProperties {
        linear_tiling_features: image,
        optimal_tiling_features: image,
        buffer_features: old(buffer_features(format)),
    }
}

/// What an image is asked to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub(super) format: vk::Format,
    pub(super) ty: vk::ImageType,
    pub(super) tiling: vk::ImageTiling,
    pub(super) usage: vk::ImageUsageFlags,
    pub(super) flags: vk::ImageCreateFlags,
}

/// The limits of such images.
///
/// # Errors
///
/// `VK_ERROR_FORMAT_NOT_SUPPORTED` if there are none.
pub(super) fn image_properties(
    physical: &PhysicalDevice,
    wish: &Wish,
) -> Result<vk::ImageFormatProperties, vk::Result> {
    use vk::ImageCreateFlags as C;
    let features = image_features(physical, wish.format);
    let is_tiled = matches!(wish.tiling, vk::ImageTiling::LINEAR | vk::ImageTiling::OPTIMAL);
    // Of a view with another format may be asked what the image's own does not have
    // (`VK_IMAGE_CREATE_EXTENDED_USAGE_BIT`). Such a view is asked itself.
    let extended = C::MUTABLE_FORMAT | C::EXTENDED_USAGE;
    use vk::FormatFeatureFlags2 as F;
    use vk::ImageUsageFlags as U;
    let is_extended = wish.flags.contains(extended);
    let allowed = |feature, usage| match is_extended || features.contains(feature) {
        true => usage,
        false => U::empty(),
    };
    let usages = U::TRANSFER_SRC
        | U::TRANSFER_DST
        | allowed(F::STORAGE_IMAGE, U::STORAGE)
        | allowed(F::SAMPLED_IMAGE, U::SAMPLED);
    let plain = extended | C::ALIAS | C::SPLIT_INSTANCE_BIND_REGIONS;
    let flags = match wish.ty {
        vk::ImageType::_2D => plain | C::CUBE_COMPATIBLE,
        vk::ImageType::_3D => plain | C::_2D_ARRAY_COMPATIBLE,
        _ => plain,
    };
    let (max_extent, max_array_layers) = match wish.ty {
        vk::ImageType::_1D => ([MAX_EXTENT, 1, 1], MAX_LAYERS),
        vk::ImageType::_2D => ([MAX_EXTENT, MAX_EXTENT, 1], MAX_LAYERS),
        vk::ImageType::_3D => ([MAX_VOLUME_EXTENT; 3], 1),
        _ => return Err(vk::Result::ERROR_FORMAT_NOT_SUPPORTED),
    };
    let is_possible =
        !features.is_empty() && is_tiled && usages.contains(wish.usage) && flags.contains(wish.flags);
    if !is_possible {
        return Err(vk::Result::ERROR_FORMAT_NOT_SUPPORTED);
    }
    let [width, height, depth] = max_extent;
    Ok(vk::ImageFormatProperties {
        max_extent: vk::Extent3D { width, height, depth },
        max_mip_levels: 1 + width.max(height).max(depth).ilog2(),
        max_array_layers,
        sample_counts: vk::SampleCountFlags::_1,
        // Vulkan wants two gigabytes at least; whether there is memory shows when it is asked for.
        max_resource_size: properties::largest_allocation(physical).max(1 << 31),
    })
}

/// Fills what a query for the limits of images is answered with, but for the limits themselves.
///
/// # Safety
///
/// The chains are valid.
unsafe fn fill_image_properties(
    info: &vk::PhysicalDeviceImageFormatInfo2,
    properties: &vk::ImageFormatProperties2,
) -> Result<(), vk::Result> {
    // SAFETY: as this function's.
    let external = unsafe { chain::find::<vk::PhysicalDeviceExternalImageFormatInfo>(info.next) };
    let handle_type = external.map(|external| external.handle_type).filter(|ty| !ty.is_empty());
    if let Some(ty) = handle_type {
        let found = physical::external_memory(ty);
        if found.external_memory_features.is_empty() {
            return Err(vk::Result::ERROR_FORMAT_NOT_SUPPORTED);
        }
        // SAFETY: as this function's.
        let out = unsafe { chain::find_mut::<vk::ExternalImageFormatProperties>(properties.next) };
        if let Some(out) = out {
            out.external_memory_properties = found;
        }
    }
    // SAFETY: as this function's.
    let out = unsafe { chain::find_mut::<vk::SamplerYcbcrConversionImageFormatProperties>(properties.next) };
    if let Some(out) = out {
        out.combined_image_sampler_descriptor_count = 1;
    }
    Ok(())
}

entries! {
    fn get_format_properties(
        physical: vk::PhysicalDevice,
        format: vk::Format,
        properties: *mut vk::FormatProperties,
    ) {
        // SAFETY: a handle of a physical device.
        let Ok(physical) = (unsafe { dispatchable::object::<PhysicalDevice>(physical) }) else { return };
        // SAFETY: the caller passes a place for it.
        unsafe { properties.write(format_properties(physical, format)) };
    }

    fn get_format_properties2(
        physical: vk::PhysicalDevice,
        format: vk::Format,
        properties: *mut vk::FormatProperties2,
    ) {
        // SAFETY: a handle of a physical device.
        let Ok(physical) = (unsafe { dispatchable::object::<PhysicalDevice>(physical) }) else { return };
        // SAFETY: the caller passes a place for it.
        let Some(properties) = (unsafe { properties.as_mut() }) else { return };
        properties.format_properties = format_properties(physical, format);
        // SAFETY: a valid chain.
        if let Some(more) = unsafe { chain::find_mut::<vk::FormatProperties3>(properties.next) } {
            more.linear_tiling_features = image_features(physical, format);
            more.optimal_tiling_features = image_features(physical, format);
            more.buffer_features = buffer_features(format);
        }
    }

    fn get_image_format_properties(
        physical: vk::PhysicalDevice,
        format: vk::Format,
        ty: vk::ImageType,
        tiling: vk::ImageTiling,
        usage: vk::ImageUsageFlags,
        flags: vk::ImageCreateFlags,
        properties: *mut vk::ImageFormatProperties,
    ) -> vk::Result {
        // SAFETY: a handle of a physical device.
        let physical = unsafe { dispatchable::object::<PhysicalDevice>(physical) }?;
        let found = image_properties(physical, &Wish { format, ty, tiling, usage, flags });
        // SAFETY: the caller passes a place for it. If such images are not supported, all members are zero.
        unsafe { properties.write(found.unwrap_or_default()) };
        found.map(|_| ())
    }

    fn get_image_format_properties2(
        physical: vk::PhysicalDevice,
        info: *const vk::PhysicalDeviceImageFormatInfo2,
        properties: *mut vk::ImageFormatProperties2,
    ) -> vk::Result {
        // SAFETY: a handle of a physical device, a description, and a place for the answer.
        let (physical, info, properties) = unsafe {
            (dispatchable::object::<PhysicalDevice>(physical)?, info.as_ref(), properties.as_mut())
        };
        let (Some(info), Some(properties)) = (info, properties) else { return Err(vk::Result::ERROR_UNKNOWN) };
        let &vk::PhysicalDeviceImageFormatInfo2 { format, type_: ty, tiling, usage, flags, .. } = info;
        let found = image_properties(physical, &Wish { format, ty, tiling, usage, flags });
        // SAFETY: valid chains.
        let found = found.and_then(|found| unsafe { fill_image_properties(info, properties) }.map(|()| found));
        // If such images are not supported, all members are zero but those of the chain.
        properties.image_format_properties = found.unwrap_or_default();
        found.map(|_| ())
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

/// Whether there are texel buffers of a format, for uniform or for storage texel buffers.
pub(super) fn has_texel_buffers(format: vk::Format) -> bool {
    !buffer_features(format).is_empty()
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

//! Images and their views.

use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use super::chain::{self, structures};
use super::entry::{Command, commands, entries};
use super::formats::{self, Wish};
use super::{buffer, dispatchable};
use crate::core::device::Device;
use crate::core::format::texel;
use crate::core::image::{Image, ImageView, Shape, ViewShape};
use crate::core::memory::Range;

structures! {
    ExternalMemoryImageCreateInfo = EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
}

entries! {
    /// `vkCreateImage`.
    fn create_image(
        device: vk::Device,
        info: *const vk::ImageCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        image: *mut vk::Image,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (device, info, out) =
            unsafe { (dispatchable::object::<Device>(device)?, info.as_ref(), image.as_mut()) };
        let (Some(info), Some(out)) = (info, out) else { return Err(vk::Result::ERROR_UNKNOWN) };
        *out = vk::Image::null();
        // SAFETY: see `entries`.
        let image = unsafe { described(device, info) }?;
        *out = vk::Image::from_raw(device.images.insert(Arc::new(image)));
        Ok(())
    }

    /// `vkDestroyImage`.
    fn destroy_image(device: vk::Device, image: vk::Image, _allocator: *const vk::AllocationCallbacks) {
        // SAFETY: see `entries`.
        if let Ok(device) = unsafe { dispatchable::object::<Device>(device) } {
            device.images.remove(image.as_raw());
        }
    }

    /// `vkCreateImageView`.
    fn create_image_view(
        device: vk::Device,
        info: *const vk::ImageViewCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        view: *mut vk::ImageView,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (device, info, out) =
            unsafe { (dispatchable::object::<Device>(device)?, info.as_ref(), view.as_mut()) };
        let (Some(info), Some(out)) = (info, out) else { return Err(vk::Result::ERROR_UNKNOWN) };
        *out = vk::ImageView::null();
        let view = described_view(device, info)?;
        *out = vk::ImageView::from_raw(device.image_views.insert(Arc::new(view)));
        Ok(())
    }

    /// `vkDestroyImageView`.
    fn destroy_image_view(
        device: vk::Device,
        view: vk::ImageView,
        _allocator: *const vk::AllocationCallbacks,
    ) {
        // SAFETY: see `entries`.
        if let Ok(device) = unsafe { dispatchable::object::<Device>(device) } {
            device.image_views.remove(view.as_raw());
        }
    }

    /// `vkGetImageMemoryRequirements`.
    fn get_image_memory_requirements(
        device: vk::Device,
        image: vk::Image,
        out: *mut vk::MemoryRequirements,
    ) {
        // SAFETY: see `entries`.
        let (device, out) = unsafe { (dispatchable::object::<Device>(device), out.as_mut()) };
        let (Ok(device), Some(out)) = (device, out) else { return };
        *out = device.images.get(image.as_raw()).map(|image| image.requirements()).unwrap_or_default();
    }

    /// `vkGetImageMemoryRequirements2`.
    fn get_image_memory_requirements2(
        device: vk::Device,
        info: *const vk::ImageMemoryRequirementsInfo2,
        out: *mut vk::MemoryRequirements2,
    ) {
        // SAFETY: see `entries`.
        let (device, info, out) =
            unsafe { (dispatchable::object::<Device>(device), info.as_ref(), out.as_mut()) };
        let (Ok(device), Some(info), Some(out)) = (device, info, out) else { return };
        if let Some(image) = device.images.get(info.image.as_raw()) {
            // SAFETY: see `entries`.
            unsafe { buffer::answer(out, image.requirements()) };
        }
    }

    /// `vkGetDeviceImageMemoryRequirements`.
    fn get_device_image_memory_requirements(
        device: vk::Device,
        info: *const vk::DeviceImageMemoryRequirements,
        out: *mut vk::MemoryRequirements2,
    ) {
        // SAFETY: see `entries`.
        let (device, info, out) =
            unsafe { (dispatchable::object::<Device>(device), info.as_ref(), out.as_mut()) };
        let (Ok(device), Some(info), Some(out)) = (device, info, out) else { return };
        // SAFETY: see `entries`.
        let image = unsafe { info.create_info.as_ref().map(|info| described(device, info)) };
        if let Some(Ok(image)) = image {
            // SAFETY: see `entries`.
            unsafe { buffer::answer(out, image.requirements()) };
        }
    }

    /// `vkGetImageSparseMemoryRequirements`.
    fn get_image_sparse_memory_requirements(
        _device: vk::Device,
        _image: vk::Image,
        count: *mut u32,
        _out: *mut vk::SparseImageMemoryRequirements,
    ) {
        // SAFETY: see `entries`.
        unsafe { none(count) };
    }

    /// `vkGetImageSparseMemoryRequirements2`.
    fn get_image_sparse_memory_requirements2(
        _device: vk::Device,
        _info: *const vk::ImageSparseMemoryRequirementsInfo2,
        count: *mut u32,
        _out: *mut vk::SparseImageMemoryRequirements2,
    ) {
        // SAFETY: see `entries`.
        unsafe { none(count) };
    }

    /// `vkGetDeviceImageSparseMemoryRequirements`.
    fn get_device_image_sparse_memory_requirements(
        _device: vk::Device,
        _info: *const vk::DeviceImageMemoryRequirements,
        count: *mut u32,
        _out: *mut vk::SparseImageMemoryRequirements2,
    ) {
        // SAFETY: see `entries`.
        unsafe { none(count) };
    }

    /// `vkBindImageMemory`.
    fn bind_image_memory(
        device: vk::Device,
        image: vk::Image,
        memory: vk::DeviceMemory,
        offset: vk::DeviceSize,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        bind(unsafe { dispatchable::object::<Device>(device) }?, image, memory, offset)
    }

    /// `vkBindImageMemory2`. On failure the other images are bound nevertheless; which ones, the status
    /// structures of *VK_KHR_maintenance6* say.
    fn bind_image_memory2(
        device: vk::Device,
        count: u32,
        infos: *const vk::BindImageMemoryInfo,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (device, infos) =
            unsafe { (dispatchable::object::<Device>(device)?, chain::slice(infos, count)) };
        let mut outcome = Ok(());
        for info in infos {
            let bound = bind(device, info.image, info.memory, info.memory_offset);
            // SAFETY: see `entries`.
            unsafe { buffer::tell(info.next, bound) };
            outcome = outcome.and(bound);
        }
        outcome
    }

    /// `vkGetImageSubresourceLayout`.
    fn get_image_subresource_layout(
        device: vk::Device,
        image: vk::Image,
        subresource: *const vk::ImageSubresource,
        out: *mut vk::SubresourceLayout,
    ) {
        // SAFETY: see `entries`.
        let (device, subresource, out) =
            unsafe { (dispatchable::object::<Device>(device), subresource.as_ref(), out.as_mut()) };
        let (Ok(device), Some(subresource), Some(out)) = (device, subresource, out) else { return };
        if let Some(image) = device.images.get(image.as_raw()) {
            *out = layout(&image, subresource);
        }
    }

    /// `vkGetImageSubresourceLayout2`.
    fn get_image_subresource_layout2(
        device: vk::Device,
        image: vk::Image,
        subresource: *const vk::ImageSubresource2,
        out: *mut vk::SubresourceLayout2,
    ) {
        // SAFETY: see `entries`.
        let (device, subresource, out) =
            unsafe { (dispatchable::object::<Device>(device), subresource.as_ref(), out.as_mut()) };
        let (Ok(device), Some(subresource), Some(out)) = (device, subresource, out) else { return };
        if let Some(image) = device.images.get(image.as_raw()) {
            out.subresource_layout = layout(&image, &subresource.image_subresource);
        }
    }

    /// `vkGetDeviceImageSubresourceLayout`.
    fn get_device_image_subresource_layout(
        device: vk::Device,
        info: *const vk::DeviceImageSubresourceInfo,
        out: *mut vk::SubresourceLayout2,
    ) {
        // SAFETY: see `entries`.
        let (device, info, out) =
            unsafe { (dispatchable::object::<Device>(device), info.as_ref(), out.as_mut()) };
        let (Ok(device), Some(info), Some(out)) = (device, info, out) else { return };
        // SAFETY: see `entries`.
        let (info, subresource) = unsafe { (info.create_info.as_ref(), info.subresource.as_ref()) };
        // SAFETY: see `entries`.
        let image = info.map(|info| unsafe { described(device, info) });
        if let (Some(Ok(image)), Some(subresource)) = (image, subresource) {
            out.subresource_layout = layout(&image, &subresource.image_subresource);
        }
    }
}

/// The image that is described, if the device has such images.
///
/// # Safety
///
/// As for `vkCreateImage`.
unsafe fn described(device: &Device, info: &vk::ImageCreateInfo) -> Result<Image, vk::Result> {
    let &vk::ImageCreateInfo { format, image_type: ty, tiling, usage, flags, extent, .. } = info;
    let wish = Wish { format, ty, tiling, usage, flags };
    // VUID-VkImageCreateInfo-imageCreateMaxMipLevels-02251
    let most = formats::image_properties(&device.physical, &wish)?;
    let host = vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;
    // SAFETY: the chain of valid usage.
    let external = unsafe { chain::find::<vk::ExternalMemoryImageCreateInfo>(info.next) };
    // VUID-VkImageCreateInfo-pNext-00990
    if external.is_some_and(|external| !host.contains(external.handle_types)) {
        return Err(vk::Result::ERROR_FORMAT_NOT_SUPPORTED);
    }
    let extents = [
        (extent.width, most.max_extent.width),
        (extent.height, most.max_extent.height),
        (extent.depth, most.max_extent.depth),
        (info.array_layers, most.max_array_layers),
    ];
    // VUID-VkImageCreateInfo-extent-02252, -02253 and -02254, -arrayLayers-02256
    let fits = extents.iter().all(|&(count, most)| (1..=most).contains(&count));
    // VUID-VkImageCreateInfo-mipLevels-00958
    let longest = extent.width.max(extent.height).max(extent.depth).max(1);
    let has_levels = (1..=1 + longest.ilog2()).contains(&info.mip_levels);
    // VUID-VkImageCreateInfo-samples-02258
    if !fits || !has_levels || info.samples != vk::SampleCountFlags::_1 {
        return Err(vk::Result::ERROR_FORMAT_NOT_SUPPORTED);
    }
    let shape = Shape {
        ty,
        format: texel(format).ok_or(vk::Result::ERROR_FORMAT_NOT_SUPPORTED)?,
        extent: [extent.width, extent.height, extent.depth],
        levels: info.mip_levels,
        layers: info.array_layers,
    };
    // `maxResourceSize`: such an image may be refused as one that no memory is large enough for.
    let image = Image::new(shape).filter(|image| image.requirements().size <= most.max_resource_size);
    image.ok_or(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)
}

/// The view that is described, of an image that has memory (VUID-VkImageViewCreateInfo-image-01020).
fn described_view(device: &Device, info: &vk::ImageViewCreateInfo) -> Result<ImageView, vk::Result> {
    let image = device.images.get(info.image.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
    let format = texel(info.format).ok_or(vk::Result::ERROR_FORMAT_NOT_SUPPORTED)?;
    let part = info.subresource_range;
    let [_, _, slices] = image.level_extent(part.base_mip_level).ok_or(vk::Result::ERROR_UNKNOWN)?;
    let shows_volume = info.view_type == vk::ImageViewType::_3D;
    let layers = match part.layer_count {
        vk::REMAINING_ARRAY_LAYERS if shows_volume => 1,
        vk::REMAINING_ARRAY_LAYERS => slices.saturating_sub(part.base_array_layer),
        count => count,
    };
    let levels = match part.level_count {
        vk::REMAINING_MIP_LEVELS => image.shape.levels.saturating_sub(part.base_mip_level),
        count => count,
    };
    use phalanx::Swizzle as S;
    let map = info.components;
    let components = [(map.r, S::Red), (map.g, S::Green), (map.b, S::Blue), (map.a, S::Alpha)];
    let view = ViewShape {
        ty: info.view_type,
        format,
        components: components.map(|(swizzle, own)| component(swizzle, own)),
        first_level: part.base_mip_level,
        levels,
        first_layer: part.base_array_layer,
        layers,
    };
    // VUID-VkImageViewCreateInfo-subresourceRange-01478 and its like
    ImageView::new(&image, &view).ok_or(vk::Result::ERROR_UNKNOWN)
}

/// What a component of a view shows.
fn component(swizzle: vk::ComponentSwizzle, own: phalanx::Swizzle) -> phalanx::Swizzle {
    match swizzle {
        vk::ComponentSwizzle::ZERO => phalanx::Swizzle::Zero,
        vk::ComponentSwizzle::ONE => phalanx::Swizzle::One,
        vk::ComponentSwizzle::R => phalanx::Swizzle::Red,
        vk::ComponentSwizzle::G => phalanx::Swizzle::Green,
        vk::ComponentSwizzle::B => phalanx::Swizzle::Blue,
        vk::ComponentSwizzle::A => phalanx::Swizzle::Alpha,
        _ => own,
    }
}

/// Binds memory to an image.
fn bind(device: &Device, image: vk::Image, memory: vk::DeviceMemory, offset: u64) -> Result<(), vk::Result> {
    let image = device.images.get(image.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
    let memory = device.memories.get(memory.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
    // VUID-vkBindImageMemory-memoryOffset-01046 and -size-01049
    let range = Range::new(&memory, offset, image.requirements().size).ok_or(vk::Result::ERROR_UNKNOWN)?;
    // VUID-vkBindImageMemory-image-07460: not bound before.
    image.bound.set(range).map_err(|_bound| vk::Result::ERROR_UNKNOWN)
}

/// Where a subresource lies; nowhere, if the image has none such.
fn layout(image: &Image, subresource: &vk::ImageSubresource) -> vk::SubresourceLayout {
    image.subresource_layout(subresource.mip_level, subresource.array_layer).unwrap_or_default()
}

/// Says that a list is empty.
///
/// # Safety
///
/// `count` is null or valid.
unsafe fn none(count: *mut u32) {
    // SAFETY: as this function's.
    if let Some(count) = unsafe { count.as_mut() } {
        *count = 0;
    }
}

pub(super) const COMMANDS: &[Command] = commands![Device;
    PFN_vkCreateImage: create_image,
    PFN_vkDestroyImage: destroy_image,
    PFN_vkCreateImageView: create_image_view,
    PFN_vkDestroyImageView: destroy_image_view,
    PFN_vkGetImageMemoryRequirements: get_image_memory_requirements,
    PFN_vkGetImageMemoryRequirements2: get_image_memory_requirements2,
    PFN_vkGetImageMemoryRequirements2KHR: get_image_memory_requirements2,
    PFN_vkGetDeviceImageMemoryRequirements: get_device_image_memory_requirements,
    PFN_vkGetDeviceImageMemoryRequirementsKHR: get_device_image_memory_requirements,
    PFN_vkGetImageSparseMemoryRequirements: get_image_sparse_memory_requirements,
    PFN_vkGetImageSparseMemoryRequirements2: get_image_sparse_memory_requirements2,
    PFN_vkGetImageSparseMemoryRequirements2KHR: get_image_sparse_memory_requirements2,
    PFN_vkGetDeviceImageSparseMemoryRequirements: get_device_image_sparse_memory_requirements,
    PFN_vkGetDeviceImageSparseMemoryRequirementsKHR: get_device_image_sparse_memory_requirements,
    PFN_vkBindImageMemory: bind_image_memory,
    PFN_vkBindImageMemory2: bind_image_memory2,
    PFN_vkBindImageMemory2KHR: bind_image_memory2,
    PFN_vkGetImageSubresourceLayout: get_image_subresource_layout,
    PFN_vkGetImageSubresourceLayout2: get_image_subresource_layout2,
    PFN_vkGetImageSubresourceLayout2KHR: get_image_subresource_layout2,
    PFN_vkGetImageSubresourceLayout2EXT: get_image_subresource_layout2,
    PFN_vkGetDeviceImageSubresourceLayout: get_device_image_subresource_layout,
    PFN_vkGetDeviceImageSubresourceLayoutKHR: get_device_image_subresource_layout,
];

//! Copies and clears of images. Their layouts are all the same here and are not looked at.

use vulkanalia_sys::{self as vk, Handle};

use super::super::chain;
use super::super::entry::{Outcome, entries};
use super::record;
use crate::core::command::{Command, Recording};
use crate::core::device::Device;
use crate::core::format;
use crate::core::image::{Image, Texels};
use std::sync::Arc;

/// The image of a handle.
fn image(device: &Device, image: vk::Image) -> Result<Arc<Image>, vk::Result> {
    device.images.get(image.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)
}

/// A box of an image, in as many layers or slices as a command names.
fn region(
    image: &Image,
    layers: &vk::ImageSubresourceLayers,
    offset: vk::Offset3D,
    extent: vk::Extent3D,
) -> Result<Texels, vk::Result> {
    let find = || {
        let from = |at: i32| u32::try_from(at).ok();
        let z = from(offset.z)?.checked_add(layers.base_array_layer)?;
        let [_, _, all] = image.level_extent(layers.mip_level)?;
        let slices = match layers.layer_count {
            _ if image.shape.ty == vk::ImageType::_3D => extent.depth,
            vk::REMAINING_ARRAY_LAYERS => all.saturating_sub(layers.base_array_layer),
            count => count,
        };
        image.texels(
            layers.mip_level,
            [from(offset.x)?, from(offset.y)?, z],
            [extent.width, extent.height, slices],
        )
    };
    // VUID-vkCmdCopyImage-srcOffset-01783 and its like: inside of the image.
    find().ok_or(vk::Result::ERROR_UNKNOWN)
}

/// Records copies between a buffer and an image.
fn copy_buffer(
    device: &Device,
    recording: &mut Recording,
    (buffer, image): (vk::Buffer, vk::Image),
    to_image: bool,
    regions: impl Iterator<Item = vk::BufferImageCopy>,
) -> Outcome {
    let image = self::image(device, image)?;
    let buffer = device.buffers.get(buffer.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
    for part in regions {
        let texels = region(&image, &part.image_subresource, part.image_offset, part.image_extent)?;
        let range = buffer.range(part.buffer_offset, vk::WHOLE_SIZE).ok_or(vk::Result::ERROR_UNKNOWN)?;
        let lengths = [part.buffer_row_length, part.buffer_image_height];
        let bytes = Texels::of_buffer(range, texels.format, texels.extent, lengths);
        let [from, to] = if to_image { [bytes, texels] } else { [texels, bytes] };
        recording.push(Command::CopyTexels { texels: Box::new([from, to]) })?;
    }
    Ok(())
}

/// Records copies between images.
fn copy_image(
    device: &Device,
    recording: &mut Recording,
    [from, to]: [vk::Image; 2],
    regions: impl Iterator<Item = vk::ImageCopy>,
) -> Outcome {
    let (from, to) = (image(device, from)?, image(device, to)?);
    for part in regions {
        let from = region(&from, &part.src_subresource, part.src_offset, part.extent)?;
        let to = region(&to, &part.dst_subresource, part.dst_offset, part.extent)?;
        // VUID-vkCmdCopyImage-srcImage-01548: texels of one size; -srcImage-09460: as many slices as layers.
        if from.format.bytes() != to.format.bytes() || from.extent != to.extent {
            return Err(vk::Result::ERROR_UNKNOWN);
        }
        recording.push(Command::CopyTexels { texels: Box::new([from, to]) })?;
    }
    Ok(())
}

/// Records that levels and layers of an image are given a colour.
fn clear(
    device: &Device,
    recording: &mut Recording,
    image: vk::Image,
    color: [u32; 4],
    ranges: &[vk::ImageSubresourceRange],
) -> Outcome {
    let image = self::image(device, image)?;
    let texel = format::encode(image.shape.format, color);
    for range in ranges {
        let levels = match range.level_count {
            vk::REMAINING_MIP_LEVELS => image.shape.levels.saturating_sub(range.base_mip_level),
            count => count,
        };
        for level in range.base_mip_level..range.base_mip_level.saturating_add(levels) {
            let [width, height, slices] = image.level_extent(level).ok_or(vk::Result::ERROR_UNKNOWN)?;
            let (first, count) = match range.layer_count {
                _ if image.shape.ty == vk::ImageType::_3D => (0, slices),
                vk::REMAINING_ARRAY_LAYERS => {
                    (range.base_array_layer, slices.saturating_sub(range.base_array_layer))
                }
                count => (range.base_array_layer, count),
            };
            // VUID-vkCmdClearColorImage-baseMipLevel-01692 and its like: inside of the image.
            let texels = image.texels(level, [0, 0, first], [width, height, count]);
            let to = Box::new(texels.ok_or(vk::Result::ERROR_UNKNOWN)?);
            recording.push(Command::Clear { to, texel: texel.clone() })?;
        }
    }
    Ok(())
}

/// A region as Vulkan 1.0 has it.
fn old_buffer_region(region: &vk::BufferImageCopy2) -> vk::BufferImageCopy {
    vk::BufferImageCopy {
        buffer_offset: region.buffer_offset,
        buffer_row_length: region.buffer_row_length,
        buffer_image_height: region.buffer_image_height,
        image_subresource: region.image_subresource,
        image_offset: region.image_offset,
        image_extent: region.image_extent,
    }
}

/// A region as Vulkan 1.0 has it.
fn old_region(region: &vk::ImageCopy2) -> vk::ImageCopy {
    vk::ImageCopy {
        src_subresource: region.src_subresource,
        src_offset: region.src_offset,
        dst_subresource: region.dst_subresource,
        dst_offset: region.dst_offset,
        extent: region.extent,
    }
}

entries! {
    /// Copies from a buffer to an image.
    fn cmd_copy_buffer_to_image(
        buffer: vk::CommandBuffer,
        from: vk::Buffer,
        to: vk::Image,
        _layout: vk::ImageLayout,
        count: u32,
        regions: *const vk::BufferImageCopy,
    ) {
        // SAFETY: a valid array.
        let regions = unsafe { chain::slice(regions, count) }.iter().copied();
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |device, recording| copy_buffer(device, recording, (from, to), true, regions)) };
    }

    /// Copies from a buffer to an image.
    fn cmd_copy_buffer_to_image_2(buffer: vk::CommandBuffer, info: *const vk::CopyBufferToImageInfo2) {
        // SAFETY: a valid structure.
        let Some(info) = (unsafe { info.as_ref() }) else { return };
        // SAFETY: a valid array.
        let regions = unsafe { chain::slice(info.regions, info.region_count) }.iter().map(old_buffer_region);
        let pair = (info.src_buffer, info.dst_image);
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |device, recording| copy_buffer(device, recording, pair, true, regions)) };
    }

    /// Copies from an image to a buffer.
    fn cmd_copy_image_to_buffer(
        buffer: vk::CommandBuffer,
        from: vk::Image,
        _layout: vk::ImageLayout,
        to: vk::Buffer,
        count: u32,
        regions: *const vk::BufferImageCopy,
    ) {
        // SAFETY: a valid array.
        let regions = unsafe { chain::slice(regions, count) }.iter().copied();
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |device, recording| copy_buffer(device, recording, (to, from), false, regions)) };
    }

    /// Copies from an image to a buffer.
    fn cmd_copy_image_to_buffer_2(buffer: vk::CommandBuffer, info: *const vk::CopyImageToBufferInfo2) {
        // SAFETY: a valid structure.
        let Some(info) = (unsafe { info.as_ref() }) else { return };
        // SAFETY: a valid array.
        let regions = unsafe { chain::slice(info.regions, info.region_count) }.iter().map(old_buffer_region);
        let pair = (info.dst_buffer, info.src_image);
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |device, recording| copy_buffer(device, recording, pair, false, regions)) };
    }

    /// Copies between images.
    fn cmd_copy_image(
        buffer: vk::CommandBuffer,
        from: vk::Image,
        _from_layout: vk::ImageLayout,
        to: vk::Image,
        _to_layout: vk::ImageLayout,
        count: u32,
        regions: *const vk::ImageCopy,
    ) {
        // SAFETY: a valid array.
        let regions = unsafe { chain::slice(regions, count) }.iter().copied();
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |device, recording| copy_image(device, recording, [from, to], regions)) };
    }

    /// Copies between images.
    fn cmd_copy_image_2(buffer: vk::CommandBuffer, info: *const vk::CopyImageInfo2) {
        // SAFETY: a valid structure.
        let Some(info) = (unsafe { info.as_ref() }) else { return };
        // SAFETY: a valid array.
        let regions = unsafe { chain::slice(info.regions, info.region_count) }.iter().map(old_region);
        let images = [info.src_image, info.dst_image];
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |device, recording| copy_image(device, recording, images, regions)) };
    }

    /// Gives texels of an image a colour.
    fn cmd_clear_color_image(
        buffer: vk::CommandBuffer,
        image: vk::Image,
        _layout: vk::ImageLayout,
        color: *const vk::ClearColorValue,
        count: u32,
        ranges: *const vk::ImageSubresourceRange,
    ) {
        // SAFETY: a valid union, of which all members have these bits, or null.
        let Some(color) = (unsafe { color.cast::<[u32; 4]>().as_ref() }) else { return };
        // SAFETY: a valid array.
        let ranges = unsafe { chain::slice(ranges, count) };
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |device, recording| clear(device, recording, image, *color, ranges)) };
    }

    /// Gives texels of an image a depth. Vulkan has this for queues of graphics, but asks nothing of them for it.
    fn cmd_clear_depth_stencil_image(
        buffer: vk::CommandBuffer,
        image: vk::Image,
        _layout: vk::ImageLayout,
        value: *const vk::ClearDepthStencilValue,
        count: u32,
        ranges: *const vk::ImageSubresourceRange,
    ) {
        // SAFETY: a valid structure, or null.
        let Some(value) = (unsafe { value.as_ref() }) else { return };
        // SAFETY: a valid array.
        let ranges = unsafe { chain::slice(ranges, count) };
        let color = [value.depth.to_bits(), 0, 0, 0];
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |device, recording| clear(device, recording, image, color, ranges)) };
    }
}

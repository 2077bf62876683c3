//! Images and views for cases.

use std::ffi::c_void;

use vulkanalia::prelude::v1_3::*;

use crate::fixture::Gpu;
use crate::kernel::{Buffer, none};

pub(crate) const IMAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_IMAGE;

/// A description of an image of two dimensions.
pub(crate) fn flat(format: vk::Format, width: u32, height: u32) -> vk::ImageCreateInfo {
    vk::ImageCreateInfo {
        image_type: vk::ImageType::_2D,
        format,
        extent: vk::Extent3D { width, height, depth: 1 },
        mip_levels: 1,
        array_layers: 1,
        samples: vk::SampleCountFlags::_1,
        usage: vk::ImageUsageFlags::STORAGE
            | vk::ImageUsageFlags::TRANSFER_SRC
            | vk::ImageUsageFlags::TRANSFER_DST,
        ..Default::default()
    }
}

pub(crate) fn subresource(
    mip_level: u32,
    base_array_layer: u32,
    layer_count: u32,
) -> vk::ImageSubresourceLayers {
    let aspect_mask = vk::ImageAspectFlags::COLOR;
    vk::ImageSubresourceLayers { aspect_mask, mip_level, base_array_layer, layer_count }
}

pub(crate) fn extent([width, height, depth]: [u32; 3]) -> vk::Extent3D {
    vk::Extent3D { width, height, depth }
}

pub(crate) fn offset([x, y, z]: [i32; 3]) -> vk::Offset3D {
    vk::Offset3D { x, y, z }
}

/// A region of a buffer without gaps, and all of an image's first level.
pub(crate) fn whole(info: &vk::ImageCreateInfo) -> vk::BufferImageCopy {
    vk::BufferImageCopy {
        image_subresource: subresource(0, 0, info.array_layers),
        image_extent: info.extent,
        ..Default::default()
    }
}

pub(crate) const GENERAL: vk::ImageLayout = vk::ImageLayout::GENERAL;

/// An image with memory of its own that is mapped.
#[derive(Clone, Copy)]
pub(crate) struct Picture {
    pub(crate) image: vk::Image,
    pub(crate) format: vk::Format,
    pub(crate) at: *mut c_void,
}

/// All levels and layers.
const ALL: vk::ImageSubresourceRange = vk::ImageSubresourceRange {
    aspect_mask: vk::ImageAspectFlags::COLOR,
    base_mip_level: 0,
    level_count: vk::REMAINING_MIP_LEVELS,
    base_array_layer: 0,
    layer_count: vk::REMAINING_ARRAY_LAYERS,
};

impl Gpu {
    /// What images of a format can be used for.
    pub(crate) unsafe fn format_features(&self, format: vk::Format) -> vk::FormatFeatureFlags {
        let found = self.instance.get_physical_device_format_properties(self.physical, format);
        assert_eq!(found.linear_tiling_features, found.optimal_tiling_features, "all tilings are linear");
        found.optimal_tiling_features
    }

    pub(crate) unsafe fn image(&self, info: &vk::ImageCreateInfo) -> Picture {
        let image = self.device.create_image(info, None).expect("an image");
        let needs = self.device.get_image_memory_requirements(image);
        let allocation = vk::MemoryAllocateInfo { allocation_size: needs.size, ..Default::default() };
        let memory = self.device.allocate_memory(&allocation, None).expect("memory");
        self.later(move |device| device.free_memory(memory, None));
        self.later(move |device| device.destroy_image(image, None));
        self.device.bind_image_memory(image, memory, 0).expect("memory that fits");
        let flags = vk::MemoryMapFlags::empty();
        let at = self.device.map_memory(memory, 0, vk::WHOLE_SIZE, flags).expect("mapped memory");
        Picture { image, format: info.format, at }
    }

    /// A view of a whole image.
    pub(crate) unsafe fn view(&self, image: Picture, ty: vk::ImageViewType) -> vk::ImageView {
        self.view_of(image, ty, image.format, ALL)
    }

    /// A view of a part of an image, with a format of its own.
    pub(crate) unsafe fn view_of(
        &self,
        image: Picture,
        view_type: vk::ImageViewType,
        format: vk::Format,
        subresource_range: vk::ImageSubresourceRange,
    ) -> vk::ImageView {
        let image = image.image;
        let info =
            vk::ImageViewCreateInfo { image, view_type, format, subresource_range, ..Default::default() };
        let view = self.device.create_image_view(&info, None).expect("a view");
        self.later(move |device| device.destroy_image_view(view, None));
        view
    }

    /// A view of a part of a buffer.
    pub(crate) unsafe fn texels(
        &self,
        buffer: &Buffer,
        format: vk::Format,
        offset: u64,
        range: u64,
    ) -> vk::BufferView {
        let info =
            vk::BufferViewCreateInfo { buffer: buffer.buffer, format, offset, range, ..Default::default() };
        let view = self.device.create_buffer_view(&info, None).expect("a view");
        self.later(move |device| device.destroy_buffer_view(view, None));
        view
    }

    /// Writes descriptors of images from a binding on.
    pub(crate) unsafe fn write_image(
        &self,
        set: vk::DescriptorSet,
        binding: u32,
        ty: vk::DescriptorType,
        views: &[vk::ImageView],
    ) {
        let info = |&image_view: &vk::ImageView| vk::DescriptorImageInfo {
            image_view,
            image_layout: GENERAL,
            ..Default::default()
        };
        let infos: Vec<_> = views.iter().map(info).collect();
        let write = vk::WriteDescriptorSet::builder()
            .dst_set(set)
            .dst_binding(binding)
            .descriptor_type(ty)
            .image_info(&infos);
        self.device.update_descriptor_sets(&[write], none::<vk::CopyDescriptorSet>());
    }

    /// Writes descriptors of texel buffers from a binding on.
    pub(crate) unsafe fn write_texels(
        &self,
        set: vk::DescriptorSet,
        binding: u32,
        ty: vk::DescriptorType,
        views: &[vk::BufferView],
    ) {
        let mut write = vk::WriteDescriptorSet::builder()
            .dst_set(set)
            .dst_binding(binding)
            .descriptor_type(ty)
            .texel_buffer_view(views)
            .build();
        write.descriptor_count = views.len() as u32;
        self.device.update_descriptor_sets(&[write], none::<vk::CopyDescriptorSet>());
    }

    /// Gives an image, whose contents are undefined yet, a layout in which everything can be done.
    pub(crate) unsafe fn to_general(&self, commands: vk::CommandBuffer, image: Picture) {
        self.aspect_to_general(commands, image, vk::ImageAspectFlags::COLOR);
    }

    /// The same for an image of another aspect.
    pub(crate) unsafe fn aspect_to_general(
        &self,
        commands: vk::CommandBuffer,
        image: Picture,
        aspect_mask: vk::ImageAspectFlags,
    ) {
        let barrier = vk::ImageMemoryBarrier2 {
            src_stage_mask: vk::PipelineStageFlags2::ALL_COMMANDS,
            dst_stage_mask: vk::PipelineStageFlags2::ALL_COMMANDS,
            dst_access_mask: vk::AccessFlags2::MEMORY_READ | vk::AccessFlags2::MEMORY_WRITE,
            new_layout: GENERAL,
            image: image.image,
            subresource_range: vk::ImageSubresourceRange { aspect_mask, ..ALL },
            ..Default::default()
        };
        let barriers = [barrier];
        let info = vk::DependencyInfo::builder().image_memory_barriers(&barriers);
        self.device.cmd_pipeline_barrier2(commands, &info);
    }

    /// Gives all texels of an image a colour, by the bits of its components.
    pub(crate) unsafe fn clear(&self, commands: vk::CommandBuffer, image: Picture, color: [u32; 4]) {
        let color = vk::ClearColorValue { uint32: color };
        self.device.cmd_clear_color_image(commands, image.image, GENERAL, &color, &[ALL]);
    }
}

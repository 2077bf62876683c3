//! Images: memory, transfers, and what they cannot be.

use vulkanalia::prelude::v1_3::*;

use crate::texels::{GENERAL, extent, flat, offset, subresource, whole};

cases! {
    /// Rows and slices of the buffer lie further apart than they are long; of the image two of three layers are
    /// written, in its second level, and not at the edge.
    fn copies_have_pitches_of_their_own(gpu) {
        let mut info = flat(vk::Format::R16_UINT, 10, 8);
        (info.mip_levels, info.array_layers) = (2, 3);
        let image = gpu.image(&info);
        let from = gpu.buffer_of(&(0..200).collect::<Vec<u16>>());
        let to = gpu.buffer_of(&[7_u16; 60]);
        gpu.execute(|commands| {
            gpu.to_general(commands, image);
            gpu.clear(commands, image, [9, 0, 0, 0]);
            gpu.barrier(commands);
            let region = vk::BufferImageCopy {
                buffer_offset: 4,
                buffer_row_length: 7,
                buffer_image_height: 5,
                image_subresource: subresource(1, 1, 2),
                image_offset: offset([1, 2, 0]),
                image_extent: extent([3, 2, 1]),
            };
            gpu.device.cmd_copy_buffer_to_image(commands, from.buffer, image.image, GENERAL, &[region]);
            gpu.barrier(commands);
            let region = vk::BufferImageCopy {
                image_subresource: subresource(1, 0, 3),
                image_extent: extent([5, 4, 1]),
                ..Default::default()
            };
            gpu.device.cmd_copy_image_to_buffer(commands, image.image, GENERAL, to.buffer, &[region]);
        });
        let mut expected = [9_u16; 60];
        for (layer, row, x) in (0..2).flat_map(|z| (0..2).flat_map(move |y| (0..3).map(move |x| (z, y, x)))) {
            expected[20 * (layer + 1) + 5 * (row + 2) + x + 1] = (2 + 35 * layer + 7 * row + x) as u16;
        }
        assert_eq!(to.read::<u16>(60), expected);
    }

    /// Layers of an array become slices of a volume, and the other way round; the texels are of formats of one size.
    fn slices_are_copied_to_layers(gpu) {
        let mut layers = flat(vk::Format::R32_UINT, 4, 4);
        layers.array_layers = 4;
        let mut volume = flat(vk::Format::R8G8B8A8_UNORM, 4, 4);
        (volume.image_type, volume.extent.depth) = (vk::ImageType::_3D, 3);
        let (array, cube) = (gpu.image(&layers), gpu.image(&volume));
        let from = gpu.buffer_of(&(0..64).collect::<Vec<u32>>());
        let to = gpu.buffer(4 * 48);
        gpu.execute(|commands| {
            gpu.to_general(commands, array);
            gpu.to_general(commands, cube);
            gpu.device.cmd_copy_buffer_to_image(commands, from.buffer, array.image, GENERAL, &[whole(&layers)]);
            gpu.clear(commands, cube, [0; 4]);
            gpu.barrier(commands);
            let region = vk::ImageCopy {
                src_subresource: subresource(0, 2, 2),
                src_offset: offset([1, 0, 0]),
                dst_subresource: subresource(0, 0, 1),
                dst_offset: offset([0, 1, 1]),
                extent: extent([2, 3, 2]),
            };
            gpu.device.cmd_copy_image(commands, array.image, GENERAL, cube.image, GENERAL, &[region]);
            gpu.barrier(commands);
            gpu.device.cmd_copy_image_to_buffer(commands, cube.image, GENERAL, to.buffer, &[whole(&volume)]);
        });
        let mut expected = [0_u32; 48];
        for (slice, row, x) in (0..2).flat_map(|z| (0..3).flat_map(move |y| (0..2).map(move |x| (z, y, x)))) {
            expected[16 * (slice + 1) + 4 * (row + 1) + x] = (16 * (slice + 2) + 4 * row + x + 1) as u32;
        }
        assert_eq!(to.read::<u32>(48), expected);
    }

    /// The forms of the commands that take structures do the same.
    fn newer_forms_of_copies(gpu) {
        let info = flat(vk::Format::R32_UINT, 3, 3);
        let images = [gpu.image(&info), gpu.image(&info)];
        let numbers: Vec<u32> = (0..9).collect();
        let (from, to) = (gpu.buffer_of(&numbers), gpu.buffer(36));
        gpu.execute(|commands| {
            images.iter().for_each(|&image| gpu.to_general(commands, image));
            let all = vk::BufferImageCopy2 {
                image_subresource: subresource(0, 0, 1),
                image_extent: info.extent,
                ..Default::default()
            };
            let write = vk::CopyBufferToImageInfo2 {
                src_buffer: from.buffer,
                dst_image: images[0].image,
                dst_image_layout: GENERAL,
                region_count: 1,
                regions: &raw const all,
                ..Default::default()
            };
            gpu.device.cmd_copy_buffer_to_image2(commands, &write);
            gpu.barrier(commands);
            let region = vk::ImageCopy2 {
                src_subresource: subresource(0, 0, 1),
                dst_subresource: subresource(0, 0, 1),
                extent: info.extent,
                ..Default::default()
            };
            let copy = vk::CopyImageInfo2 {
                src_image: images[0].image,
                src_image_layout: GENERAL,
                dst_image: images[1].image,
                dst_image_layout: GENERAL,
                region_count: 1,
                regions: &raw const region,
                ..Default::default()
            };
            gpu.device.cmd_copy_image2(commands, &copy);
            gpu.barrier(commands);
            let read = vk::CopyImageToBufferInfo2 {
                src_image: images[1].image,
                src_image_layout: GENERAL,
                dst_buffer: to.buffer,
                region_count: 1,
                regions: &raw const all,
                ..Default::default()
            };
            gpu.device.cmd_copy_image_to_buffer2(commands, &read);
        });
        assert_eq!(to.read::<u32>(9), numbers);
    }

    /// Colours become texels of the format: in its order, rounded and clamped.
    fn colours_become_texels(gpu) {
        let cases: [(vk::Format, [f32; 4], u32); 10] = [
            (vk::Format::R8G8B8A8_UNORM, [0.0, 0.2, 0.6, 1.5], 0xFF99_3300),
            (vk::Format::B8G8R8A8_UNORM, [0.0, 0.2, 0.6, 1.0], 0xFF00_3399),
            (vk::Format::A8B8G8R8_SNORM_PACK32, [1.0, -1.0, 0.0, -2.0], 0x8100_817F),
            (vk::Format::R8G8B8A8_SRGB, [1.0, 0.0, 0.5, 0.2], 0x33BC_00FF),
            (vk::Format::A2B10G10R10_UNORM_PACK32, [1.0, 0.0, 1.0, 0.0], 0x3FF0_03FF),
            (vk::Format::R16G16_SFLOAT, [1.0, -2.0, 9.0, 9.0], 0xC000_3C00),
            (vk::Format::R32_SFLOAT, [0.75, 9.0, 9.0, 9.0], 0x3F40_0000),
            (vk::Format::B10G11R11_UFLOAT_PACK32, [1.0, 0.5, 2.0, 9.0], 0x801C_03C0),
            (vk::Format::E5B9G9R9_UFLOAT_PACK32, [1.0, 0.5, 0.0, 9.0], 0x8001_0100),
            (vk::Format::R5G6B5_UNORM_PACK16, [1.0, 0.0, 1.0, 9.0], 0xF81F_F81F),
        ];
        for (format, colour, expected) in cases {
            let info = flat(format, 2, 1);
            let features = gpu.format_features(format);
            let usage = match features.contains(vk::FormatFeatureFlags::STORAGE_IMAGE) {
                true => info.usage,
                false => vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST,
            };
            let info = vk::ImageCreateInfo { usage, ..info };
            let (image, to) = (gpu.image(&info), gpu.buffer(16));
            gpu.execute(|commands| {
                gpu.to_general(commands, image);
                gpu.clear(commands, image, colour.map(f32::to_bits));
                gpu.barrier(commands);
                gpu.device.cmd_copy_image_to_buffer(commands, image.image, GENERAL, to.buffer, &[whole(&info)]);
            });
            let [found] = to.read::<u32>(1)[..] else { panic!("a word") };
            assert_eq!(found, expected, "{format:?}: {found:08x} instead of {expected:08x}");
        }
    }

    /// A depth is clamped where the format has no others.
    fn depths_are_cleared(gpu) {
        gpu.allow("VUID-vkCmdClearDepthStencilImage-commandBuffer-cmdpool");
        for (format, depth, expected) in [
            (vk::Format::D32_SFLOAT, 0.25, 0.25_f32.to_bits()),
            (vk::Format::D16_UNORM, 1.0, 0xFFFF_FFFF),
            (vk::Format::D16_UNORM, 0.5, 0x8000_8000),
        ] {
            let usage = vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
            let info = vk::ImageCreateInfo { usage, ..flat(format, 2, 1) };
            let (image, to) = (gpu.image(&info), gpu.buffer(16));
            let depths = vk::ImageAspectFlags::DEPTH;
            gpu.execute(|commands| {
                gpu.aspect_to_general(commands, image, depths);
                let range = vk::ImageSubresourceRange { aspect_mask: depths, level_count: 1, layer_count: 1, ..Default::default() };
                let value = vk::ClearDepthStencilValue { depth, stencil: 0 };
                gpu.device.cmd_clear_depth_stencil_image(commands, image.image, GENERAL, &value, &[range]);
                gpu.barrier(commands);
                let mut region = whole(&info);
                region.image_subresource.aspect_mask = depths;
                gpu.device.cmd_copy_image_to_buffer(commands, image.image, GENERAL, to.buffer, &[region]);
            });
            assert_eq!(to.read::<u32>(1), [expected], "{format:?}");
        }
    }

    /// The host finds texels where the layout of a subresource says.
    fn layouts_of_subresources(gpu) {
        let mut info = flat(vk::Format::R8_UINT, 5, 3);
        (info.mip_levels, info.array_layers, info.tiling) = (2, 3, vk::ImageTiling::LINEAR);
        let image = gpu.image(&info);
        let from = gpu.buffer_of(&(0..6).collect::<Vec<u8>>());
        gpu.execute(|commands| {
            gpu.to_general(commands, image);
            let region = vk::BufferImageCopy {
                image_subresource: subresource(1, 1, 2),
                image_offset: offset([1, 0, 0]),
                image_extent: extent([1, 1, 1]),
                ..Default::default()
            };
            gpu.device.cmd_copy_buffer_to_image(commands, from.buffer, image.image, GENERAL, &[region]);
        });
        for (array_layer, expected) in [(1, 0), (2, 1)] {
            let aspect_mask = vk::ImageAspectFlags::COLOR;
            let place = vk::ImageSubresource { aspect_mask, mip_level: 1, array_layer };
            let layout = gpu.device.get_image_subresource_layout(image.image, &place);
            assert!(layout.row_pitch >= 2 && layout.size >= 2);
            assert_eq!(image.at.cast::<u8>().add(layout.offset as usize + 1).read(), expected);
        }
        let needs = vk::DeviceImageMemoryRequirements { create_info: &raw const info, ..Default::default() };
        let mut found = vk::MemoryRequirements2::default();
        gpu.device.get_device_image_memory_requirements(&needs, &mut found);
        let own = gpu.device.get_image_memory_requirements(image.image);
        assert_eq!(found.memory_requirements, own);
    }

    /// What formats do not have is refused by the query and by the creation.
    fn what_images_cannot_be(gpu) {
        let ask = |format, ty, tiling, usage, flags| {
            gpu.instance.get_physical_device_image_format_properties(gpu.physical, format, ty, tiling, usage, flags)
        };
        let (unorm, storage) = (vk::Format::R8G8B8A8_UNORM, vk::ImageUsageFlags::STORAGE);
        let (flat, optimal) = (vk::ImageType::_2D, vk::ImageTiling::OPTIMAL);
        let no_flags = vk::ImageCreateFlags::empty();
        let limits = ask(unorm, flat, optimal, storage, no_flags).expect("the format has storage images");
        assert_eq!(limits.sample_counts, vk::SampleCountFlags::_1);
        assert_eq!(limits.max_mip_levels, limits.max_extent.width.ilog2() + 1);
        let refused = [
            ask(unorm, flat, optimal, vk::ImageUsageFlags::COLOR_ATTACHMENT, no_flags),
            ask(vk::Format::R8G8B8A8_SRGB, flat, optimal, storage, no_flags),
            ask(vk::Format::D32_SFLOAT, flat, optimal, storage, no_flags),
            ask(vk::Format::D24_UNORM_S8_UINT, flat, optimal, vk::ImageUsageFlags::TRANSFER_SRC, no_flags),
            ask(vk::Format::BC1_RGB_UNORM_BLOCK, flat, optimal, vk::ImageUsageFlags::TRANSFER_SRC, no_flags),
            ask(unorm, flat, optimal, storage, vk::ImageCreateFlags::SPARSE_BINDING),
            ask(unorm, vk::ImageType::_1D, optimal, storage, vk::ImageCreateFlags::CUBE_COMPATIBLE),
        ];
        for limits in refused {
            assert_eq!(limits.err(), Some(vk::ErrorCode::FORMAT_NOT_SUPPORTED));
        }
        // The layer has asked for the limits, too.
        gpu.allow("VUID-VkImageCreateInfo-");
        for (usage, samples, width) in [
            (vk::ImageUsageFlags::COLOR_ATTACHMENT, vk::SampleCountFlags::_1, 4),
            (storage, vk::SampleCountFlags::_4, 4),
            (storage, vk::SampleCountFlags::_1, limits.max_extent.width + 1),
        ] {
            let extent = extent([width, 4, 1]);
            let info = vk::ImageCreateInfo { usage, samples, extent, ..self::flat(unorm, 4, 4) };
            assert!(gpu.device.create_image(&info, None).is_err(), "{usage:?} {samples:?} {width}");
        }
    }
}

//! Images that kernels load from and store to.

use vulkanalia::prelude::v1_3::*;

use crate::kernel::{Buffer, STORAGE, none};
use crate::texels::{GENERAL, IMAGE, Picture, extent, flat, subresource, whole};

cases! {
    /// A kernel reads what a clear wrote, in every format that has storage images.
    fn every_format_is_loaded(gpu) {
        let layout = gpu.set_layout(&[(IMAGE, 1), (STORAGE, 1)], Default::default());
        let kernel = |prefix: &str| {
            let source = format!(
                "#extension GL_EXT_shader_image_load_formatted : require
                 layout(local_size_x = 1) in;
                 layout(set = 0, binding = 0) uniform {prefix}image2D image;
                 layout(set = 0, binding = 1) buffer Out {{ {prefix}vec4 colour; }};
                 void main() {{ colour = imageLoad(image, ivec2(1, 0)); imageStore(image, ivec2(0, 0), colour); }}"
            );
            gpu.kernel(&source, &[layout])
        };
        let kernels = [("UINT", kernel("u")), ("SINT", kernel("i")), ("", kernel(""))];
        let mut count = 0;
        for format in (1..130).chain([1_000_340_000, 1_000_340_001]).map(vk::Format::from_raw) {
            let features = gpu.format_features(format);
            let name = format!("{format:?}");
            // Its components are of 64 bits, which are a feature of their own.
            if !features.contains(vk::FormatFeatureFlags::STORAGE_IMAGE) || name.starts_with("R64") {
                continue;
            }
            count += 1;
            let info = flat(format, 2, 1);
            let (image, to, texels) = (gpu.image(&info), gpu.buffer(16), gpu.buffer(32));
            let set = gpu.set(layout);
            gpu.write_image(set, 0, IMAGE, &[gpu.view(image, vk::ImageViewType::_2D)]);
            gpu.write(set, 1, STORAGE, &[to.all()]);
            let (kind, kernel) =
                kernels.iter().find(|(kind, _)| name.contains(kind)).copied().expect("the last is for all");
            let one = if kind.is_empty() { 1.0_f32.to_bits() } else { 1 };
            gpu.execute(|commands| {
                gpu.to_general(commands, image);
                gpu.clear(commands, image, [one, 0, one, one]);
                gpu.barrier(commands);
                gpu.bind(commands, &kernel, &[set]);
                gpu.device.cmd_dispatch(commands, 1, 1, 1);
                gpu.barrier(commands);
                gpu.device.cmd_copy_image_to_buffer(commands, image.image, GENERAL, texels.buffer, &[whole(&info)]);
            });
            let has_blue = name.contains('B');
            let expected = [one, 0, if has_blue { one } else { 0 }, one];
            assert_eq!(to.read::<u32>(4), expected, "{name}");
            // What was loaded is stored as it was.
            let digits = name.split('_').next().unwrap_or_default().split(|letter: char| !letter.is_ascii_digit());
            let bytes = digits.filter_map(|digits| digits.parse::<usize>().ok()).sum::<usize>() / 8;
            let stored = texels.read::<u8>(2 * bytes);
            assert_eq!(stored[..bytes], stored[bytes..], "{name}");
            assert!(stored.iter().any(|&byte| byte != 0), "{name}");
        }
        assert!(count >= 50, "{count} formats");
    }

    /// A kernel sees a level and a layer of an image through a view, and nothing else of it.
    fn views_show_parts(gpu) {
        let source = "
            layout(local_size_x = 8, local_size_y = 8) in;
            layout(set = 0, binding = 0, r32ui) uniform uimage2D image;
            layout(set = 0, binding = 1) buffer Out { ivec2 size; uint outside; };
            void main() {
                ivec2 at = ivec2(gl_LocalInvocationID.xy) - 1;
                imageStore(image, at, uvec4(100 + 10 * at.y + at.x));
                size = imageSize(image);
                if (at == ivec2(-1)) outside = imageLoad(image, at).x + imageLoad(image, ivec2(0, 6)).x;
            }";
        let layout = gpu.set_layout(&[(IMAGE, 1), (STORAGE, 1)], Default::default());
        let kernel = gpu.kernel(source, &[layout]);
        let mut info = flat(vk::Format::R32_UINT, 8, 6);
        (info.mip_levels, info.array_layers) = (3, 3);
        let (image, size, to) = (gpu.image(&info), gpu.buffer(12), gpu.buffer(4 * 3 * 12));
        let view = gpu.view_of(image, vk::ImageViewType::_2D, info.format, vk::ImageSubresourceRange {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            base_mip_level: 1,
            level_count: 1,
            base_array_layer: 1,
            layer_count: 1,
        });
        let set = gpu.set(layout);
        gpu.write_image(set, 0, IMAGE, &[view]);
        gpu.write(set, 1, STORAGE, &[size.all()]);
        let all = gpu.buffer_of(&[1_u32; 3 * (48 + 2)]);
        gpu.execute(|commands| {
            gpu.to_general(commands, image);
            gpu.clear(commands, image, [5, 0, 0, 0]);
            gpu.barrier(commands);
            gpu.bind(commands, &kernel, &[set]);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
            gpu.barrier(commands);
            let level = |mip_level, size: [u32; 2], buffer_offset| vk::BufferImageCopy {
                buffer_offset,
                image_subresource: subresource(mip_level, 0, 3),
                image_extent: extent([size[0], size[1], 1]),
                ..Default::default()
            };
            gpu.device.cmd_copy_image_to_buffer(commands, image.image, GENERAL, to.buffer, &[level(1, [4, 3], 0)]);
            let others = [level(0, [8, 6], 0), level(2, [2, 1], 4 * 3 * 48)];
            gpu.device.cmd_copy_image_to_buffer(commands, image.image, GENERAL, all.buffer, &others);
        });
        assert_eq!(size.read::<u32>(3), [4, 3, 0]);
        let mut expected = [5; 36];
        for (y, x) in (0..3).flat_map(|y| (0..4).map(move |x| (y, x))) {
            expected[12 + 4 * y + x] = (100 + 10 * y + x) as u32;
        }
        assert_eq!(to.read::<u32>(36), expected);
        assert_eq!(all.read::<u32>(150), [5; 150], "other levels keep what they had");
    }

    /// A volume, arrays, a row and a cube.
    fn images_of_every_dimension(gpu) {
        let layout = gpu.set_layout(&[(IMAGE, 1)], Default::default());
        let kernel = |image: &str, at: &str| {
            let source = format!(
                "layout(local_size_x = 4, local_size_y = 3, local_size_z = 6) in;
                 layout(set = 0, binding = 0, r32ui) uniform uimage{image} image;
                 void main() {{
                     ivec3 i = ivec3(gl_LocalInvocationID);
                     imageAtomicAdd(image, {at}, 1 + i.x + 4 * i.y + 12 * i.z);
                 }}"
            );
            gpu.kernel(&source, &[layout])
        };
        let flat = |ty, size: [u32; 3], array_layers| vk::ImageCreateInfo {
            image_type: ty,
            extent: extent(size),
            array_layers,
            ..flat(vk::Format::R32_UINT, 1, 1)
        };
        let volume = flat(vk::ImageType::_3D, [4, 3, 6], 1);
        let cube = flat(vk::ImageType::_2D, [4, 4, 1], 6);
        let cube = vk::ImageCreateInfo { flags: vk::ImageCreateFlags::CUBE_COMPATIBLE, ..cube };
        // All that an invocation adds: once for each of the others with which it shares its texel.
        let alone = |i: usize| 1 + i as u32;
        let all = |count: usize, texel: &dyn Fn(usize) -> u32| (0..count).map(texel).collect::<Vec<u32>>();
        let summed = |texels: usize| (0..72).filter(move |i| i % 12 % 4 == texels).map(alone).sum::<u32>();
        let cases = [
            (volume, vk::ImageViewType::_3D, "3D", "i", all(72, &alone)),
            (
                flat(vk::ImageType::_2D, [4, 3, 1], 6),
                vk::ImageViewType::_2D_ARRAY,
                "2DArray",
                "i",
                all(72, &alone),
            ),
            (
                flat(vk::ImageType::_1D, [4, 1, 1], 1),
                vk::ImageViewType::_1D,
                "1D",
                "i.x",
                all(4, &|x| summed(x)),
            ),
            (
                flat(vk::ImageType::_1D, [4, 1, 1], 6),
                vk::ImageViewType::_1D_ARRAY,
                "1DArray",
                "i.xz",
                all(24, &|i| (0..3).map(|y| alone(i % 4 + 4 * y + 12 * (i / 4))).sum()),
            ),
            (
                cube,
                vk::ImageViewType::CUBE,
                "Cube",
                "i",
                all(96, &|i| if i % 16 < 12 { alone(i % 16 + 12 * (i / 16)) } else { 0 }),
            ),
        ];
        for (info, ty, name, at, expected) in cases {
            let (image, to) = (gpu.image(&info), gpu.buffer(4 * expected.len() as u64));
            let (set, kernel) = (gpu.set(layout), kernel(name, at));
            gpu.write_image(set, 0, IMAGE, &[gpu.view(image, ty)]);
            gpu.execute(|commands| {
                gpu.to_general(commands, image);
                gpu.clear(commands, image, [0; 4]);
                gpu.barrier(commands);
                gpu.bind(commands, &kernel, &[set]);
                gpu.device.cmd_dispatch(commands, 1, 1, 1);
                gpu.barrier(commands);
                gpu.device.cmd_copy_image_to_buffer(commands, image.image, GENERAL, to.buffer, &[whole(&info)]);
            });
            assert_eq!(to.read::<u32>(expected.len()), expected, "{name}");
        }
    }

    /// Null descriptors, arrays with an index that differs between invocations, and a view with another format.
    fn arrays_of_images(gpu) {
        let source = "
            #extension GL_EXT_nonuniform_qualifier : require
            layout(local_size_x = 4) in;
            layout(set = 0, binding = 0, rgba8ui) uniform uimage2D images[4];
            layout(set = 0, binding = 1) buffer Out { uvec4 found[4]; };
            void main() {
                uint i = gl_LocalInvocationIndex;
                imageStore(images[nonuniformEXT(3 - i)], ivec2(1, 0), uvec4(i + 1));
                found[i] = imageLoad(images[nonuniformEXT(3 - i)], ivec2(1, 0))
                    + uvec4(0, 0, uvec2(imageSize(images[nonuniformEXT(3 - i)])));
            }";
        let layout = gpu.set_layout(&[(IMAGE, 4), (STORAGE, 1)], Default::default());
        let kernel = gpu.kernel(source, &[layout]);
        let mut info = flat(vk::Format::R32_UINT, 2, 1);
        info.flags = vk::ImageCreateFlags::MUTABLE_FORMAT;
        let images: [Picture; 3] = std::array::from_fn(|_| gpu.image(&info));
        let range = vk::ImageSubresourceRange {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            base_mip_level: 0,
            level_count: vk::REMAINING_MIP_LEVELS,
            base_array_layer: 0,
            layer_count: vk::REMAINING_ARRAY_LAYERS,
        };
        let view = |image| gpu.view_of(image, vk::ImageViewType::_2D, vk::Format::R8G8B8A8_UINT, range);
        let [a, b, c] = images.map(view);
        let (set, copy) = (gpu.set(layout), gpu.set(layout));
        let found = gpu.buffer(64);
        gpu.write_image(copy, 0, IMAGE, &[a, b, vk::ImageView::null(), c]);
        gpu.write(copy, 1, STORAGE, &[found.all()]);
        let copies = [(0, 4), (1, 1)].map(|(binding, descriptor_count)| vk::CopyDescriptorSet {
            src_set: copy,
            src_binding: binding,
            dst_set: set,
            dst_binding: binding,
            descriptor_count,
            ..Default::default()
        });
        gpu.device.update_descriptor_sets(none::<vk::WriteDescriptorSet>(), &copies);
        let out: [Buffer; 3] = std::array::from_fn(|_| gpu.buffer(8));
        gpu.execute(|commands| {
            for image in images {
                gpu.to_general(commands, image);
                gpu.clear(commands, image, [0; 4]);
            }
            gpu.barrier(commands);
            gpu.bind(commands, &kernel, &[set]);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
            gpu.barrier(commands);
            for (image, out) in images.iter().zip(&out) {
                gpu.device.cmd_copy_image_to_buffer(commands, image.image, GENERAL, out.buffer, &[whole(&info)]);
            }
        });
        assert_eq!(
            out.map(|out| out.read::<u32>(2)),
            [[0, 0x0404_0404], [0, 0x0303_0303], [0, 0x0101_0101]].map(Vec::from)
        );
        let found = found.read::<u32>(16);
        assert_eq!(found[..4], [1, 1, 3, 2]);
        assert_eq!(found[4..7], [0, 0, 0], "a null descriptor has no texels and no size");
        assert_eq!(found[8..], [3, 3, 5, 4, 4, 4, 6, 5]);
    }

    /// Atomic operations on floats and on integers of 64 bits, in images and in texel buffers.
    fn atomics_of_texels(gpu) {
        let source = "
            #extension GL_EXT_shader_atomic_float : require
            #extension GL_EXT_shader_atomic_float2 : require
            #extension GL_EXT_shader_image_int64 : require
            #extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
            layout(local_size_x = 64) in;
            layout(set = 0, binding = 0, r32f) uniform image2D floats;
            layout(set = 0, binding = 1, r64ui) uniform u64image2D words;
            layout(set = 0, binding = 2, r32i) uniform iimageBuffer numbers;
            void main() {
                int i = int(gl_LocalInvocationIndex);
                imageAtomicAdd(floats, ivec2(0), 0.5);
                imageAtomicMin(floats, ivec2(1, 0), 9.5 - float(i));
                imageAtomicAdd(words, ivec2(0), 0x100000001ul * uint64_t(i));
                imageAtomicMax(words, ivec2(1, 0), uint64_t(i) << 33);
                imageAtomicMin(numbers, 0, -i);
                imageAtomicXor(numbers, 1, i);
                imageAtomicCompSwap(numbers, 2, 0, 7);
                imageAtomicExchange(numbers, 99, 1);
            }";
        let texels = vk::DescriptorType::STORAGE_TEXEL_BUFFER;
        let layout = gpu.set_layout(&[(IMAGE, 1), (IMAGE, 1), (texels, 1)], Default::default());
        let kernel = gpu.kernel(source, &[layout]);
        let infos = [flat(vk::Format::R32_SFLOAT, 2, 1), flat(vk::Format::R64_UINT, 2, 1)];
        let [floats, words] = infos.map(|info| gpu.image(&info));
        let (numbers, out) = (gpu.buffer_of(&[0_u32; 4]), gpu.buffer(24));
        let set = gpu.set(layout);
        let flat = vk::ImageViewType::_2D;
        gpu.write_image(set, 0, IMAGE, &[gpu.view(floats, flat), gpu.view(words, flat)]);
        gpu.write_texels(set, 2, texels, &[gpu.texels(&numbers, vk::Format::R32_SINT, 0, 16)]);
        gpu.execute(|commands| {
            for image in [floats, words] {
                gpu.to_general(commands, image);
                gpu.clear(commands, image, [0; 4]);
            }
            gpu.barrier(commands);
            gpu.bind(commands, &kernel, &[set]);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
            gpu.barrier(commands);
            let [a, b] = infos.map(|info| whole(&info));
            let b = vk::BufferImageCopy { buffer_offset: 8, ..b };
            gpu.device.cmd_copy_image_to_buffer(commands, floats.image, GENERAL, out.buffer, &[a]);
            gpu.device.cmd_copy_image_to_buffer(commands, words.image, GENERAL, out.buffer, &[b]);
        });
        assert_eq!(out.read::<f32>(2), [32.0, -53.5]);
        assert_eq!(out.read::<u64>(3)[1..], [2016 * 0x1_0000_0001, 63 << 33]);
        assert_eq!(numbers.read::<u32>(4), [-63_i32 as u32, 0, 7, 0]);
    }
}

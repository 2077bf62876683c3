//! Texel buffers.

use vulkanalia::prelude::v1_3::*;
use vulkanalia::vk::KhrPushDescriptorExtensionDeviceCommands;

use crate::kernel::{STORAGE, none};
use crate::texels::IMAGE;

const UNIFORM_TEXELS: vk::DescriptorType = vk::DescriptorType::UNIFORM_TEXEL_BUFFER;
const STORAGE_TEXELS: vk::DescriptorType = vk::DescriptorType::STORAGE_TEXEL_BUFFER;

/// Loads texels, stores them and adds to a count.
const MOVE: &str = "
    #extension GL_EXT_samplerless_texture_functions : require
    layout(local_size_x = 8) in;
    layout(set = 0, binding = 0) uniform textureBuffer from;
    layout(set = 0, binding = 1, rgba8) uniform imageBuffer to;
    layout(set = 0, binding = 2, r32ui) uniform uimageBuffer count;
    layout(set = 0, binding = 3) buffer Out { ivec2 sizes; };
    void main() {
        int i = int(gl_LocalInvocationIndex) - 1;
        imageStore(to, i, texelFetch(from, i).zyxw + imageLoad(to, i));
        imageAtomicAdd(count, 1, uint(i + 1));
        imageAtomicAdd(count, 2, 1u);
        sizes = ivec2(textureSize(from), imageSize(to));
    }";

cases! {
    /// What lies outside of a texel buffer is zero, and is not written. The view of a count ends before its third word.
    fn texels_are_fetched_stored_and_counted(gpu) {
        let bindings = [(UNIFORM_TEXELS, 1), (STORAGE_TEXELS, 1), (STORAGE_TEXELS, 1), (STORAGE, 1)];
        let layout = gpu.set_layout(&bindings, Default::default());
        let kernel = gpu.kernel(MOVE, &[layout]);
        let from = gpu.buffer_of(&[0xF000_0000_u32; 12]);
        let texels: Vec<u32> = [0; 4].into_iter().chain([0xF801_F801, 0x001F_07E0]).collect();
        from.write(&texels);
        let to = gpu.buffer_of(&[0x0100_0000_u32; 8]);
        let (count, sizes) = (gpu.buffer_of(&[5_u32; 4]), gpu.buffer(8));
        let set = gpu.set(layout);
        gpu.write_texels(set, 0, UNIFORM_TEXELS, &[gpu.texels(&from, vk::Format::R5G6B5_UNORM_PACK16, 16, 8)]);
        gpu.write_texels(set, 1, STORAGE_TEXELS, &[gpu.texels(&to, vk::Format::R8G8B8A8_UNORM, 16, 12)]);
        gpu.write_texels(set, 2, STORAGE_TEXELS, &[gpu.texels(&count, vk::Format::R32_UINT, 0, 8)]);
        gpu.write(set, 3, STORAGE, &[sizes.all()]);
        gpu.execute(|commands| {
            gpu.bind(commands, &kernel, &[set]);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
        });
        // Red 31, green 0, blue 1; once more; green 63; blue 31 would be the fourth.
        let expected = [0xFFFF_0008_u32, 0xFFFF_0008, 0xFF00_FF00];
        assert_eq!(to.read::<u32>(8), [&[0x0100_0000; 4][..], &expected, &[0x0100_0000]].concat());
        assert_eq!(count.read::<u32>(4), [5, 33, 5, 5]);
        assert_eq!(sizes.read::<u32>(2), [4, 3]);
    }

    /// A storage buffer's texels are the same bytes, whatever the format of the view.
    fn formats_share_bytes(gpu) {
        let source = "
            layout(local_size_x = 4) in;
            layout(set = 0, binding = 0) uniform utextureBuffer from;
            layout(set = 0, binding = 1) uniform textureBuffer floats;
            layout(set = 0, binding = 2) buffer Out { uint a[4]; float b[4]; };
            void main() {
                int i = int(gl_LocalInvocationIndex);
                a[i] = texelFetch(from, i).r;
                b[i] = texelFetch(floats, i % 2)[i / 2];
            }";
        let layout = gpu.set_layout(&[(UNIFORM_TEXELS, 1), (UNIFORM_TEXELS, 1), (STORAGE, 1)], Default::default());
        let kernel = gpu.kernel(source, &[layout]);
        let (from, out) = (gpu.buffer_of(&[0x3C00_C000_u32, 0x0001_7BFF]), gpu.buffer(32));
        let set = gpu.set(layout);
        let views = [
            gpu.texels(&from, vk::Format::R16_UINT, 0, vk::WHOLE_SIZE),
            gpu.texels(&from, vk::Format::R16G16_SFLOAT, 0, vk::WHOLE_SIZE),
        ];
        // One write for both bindings.
        gpu.write_texels(set, 0, UNIFORM_TEXELS, &views);
        gpu.write(set, 2, STORAGE, &[out.all()]);
        gpu.execute(|commands| {
            gpu.bind(commands, &kernel, &[set]);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
        });
        assert_eq!(out.read::<u32>(4), [0xC000, 0x3C00, 0x7BFF, 1]);
        let floats: Vec<f32> = out.read::<f32>(8)[4..].to_vec();
        assert_eq!(floats, [-2.0, 65504.0, 1.0, 2.0_f32.powi(-24)]);
    }

    /// By template and by push, with a null descriptor in place of one of them.
    fn texel_buffers_by_template_and_push(gpu) {
        let source = "
            #extension GL_EXT_samplerless_texture_functions : require
            layout(local_size_x = 1) in;
            layout(set = 0, binding = 0) uniform utextureBuffer from[2];
            layout(set = 0, binding = 1) buffer Out { uvec4 a; int size; };
            layout(set = 0, binding = 2, r32ui) uniform uimage2D image;
            void main() {
                a = uvec4(texelFetch(from[0], 0).r, texelFetch(from[1], 0).rg, imageLoad(image, ivec2(0)).r);
                size = textureSize(from[1]);
            }";
        let flags = vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR;
        let bindings = [(UNIFORM_TEXELS, 2), (STORAGE, 1), (IMAGE, 1)];
        let pushed = gpu.set_layout(&bindings, flags);
        let layout = gpu.set_layout(&bindings, Default::default());
        let (by_push, by_template) = (gpu.kernel(source, &[pushed]), gpu.kernel(source, &[layout]));
        let info = vk::ImageCreateInfo {
            image_type: vk::ImageType::_2D,
            format: vk::Format::R32_UINT,
            extent: vk::Extent3D { width: 1, height: 1, depth: 1 },
            mip_levels: 1,
            array_layers: 1,
            samples: vk::SampleCountFlags::_1,
            usage: vk::ImageUsageFlags::STORAGE | vk::ImageUsageFlags::TRANSFER_DST,
            ..Default::default()
        };
        let image = gpu.image(&info);
        let image_view = gpu.view(image, vk::ImageViewType::_2D);
        let from = gpu.buffer_of(&[11_u32, 12, 13, 14]);
        let view = gpu.texels(&from, vk::Format::R32_UINT, 0, 16);
        let out = gpu.buffer(2 * 32);
        let image_info =
            [vk::DescriptorImageInfo { image_view, image_layout: vk::ImageLayout::GENERAL, ..Default::default() }];

        #[repr(C)]
        struct Data {
            image: vk::DescriptorImageInfo,
            buffer: vk::DescriptorBufferInfo,
            texels: [vk::BufferView; 2],
        }
        let data = Data {
            image: image_info[0],
            buffer: out.part(32, 32),
            texels: [view, vk::BufferView::null()],
        };
        let entry = |dst_binding, descriptor_count, descriptor_type, offset| vk::DescriptorUpdateTemplateEntry {
            dst_binding,
            descriptor_count,
            descriptor_type,
            offset,
            stride: size_of::<vk::BufferView>(),
            ..Default::default()
        };
        let entries = [
            entry(0, 2, UNIFORM_TEXELS, std::mem::offset_of!(Data, texels)),
            entry(1, 1, STORAGE, std::mem::offset_of!(Data, buffer)),
            entry(2, 1, IMAGE, std::mem::offset_of!(Data, image)),
        ];
        let info = vk::DescriptorUpdateTemplateCreateInfo::builder()
            .descriptor_update_entries(&entries)
            .template_type(vk::DescriptorUpdateTemplateType::DESCRIPTOR_SET)
            .descriptor_set_layout(layout);
        let template = gpu.device.create_descriptor_update_template(&info, None).expect("a template");
        gpu.later(move |device| device.destroy_descriptor_update_template(template, None));
        let set = gpu.set(layout);
        gpu.device.update_descriptor_set_with_template(set, template, (&raw const data).cast());

        gpu.execute(|commands| {
            gpu.to_general(commands, image);
            gpu.clear(commands, image, [77, 0, 0, 0]);
            gpu.barrier(commands);
            gpu.bind(commands, &by_template, &[set]);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
            gpu.bind(commands, &by_push, &[]);
            let (views, buffers) = ([vk::BufferView::null(), view], [out.part(0, 32)]);
            let mut texels = vk::WriteDescriptorSet::builder()
                .dst_binding(0)
                .descriptor_type(UNIFORM_TEXELS)
                .texel_buffer_view(&views)
                .build();
            texels.descriptor_count = 2;
            let buffer = vk::WriteDescriptorSet::builder()
                .dst_binding(1)
                .descriptor_type(STORAGE)
                .buffer_info(&buffers)
                .build();
            let image =
                vk::WriteDescriptorSet::builder().dst_binding(2).descriptor_type(IMAGE).image_info(&image_info).build();
            let point = vk::PipelineBindPoint::COMPUTE;
            let writes = [texels, buffer, image];
            gpu.device.cmd_push_descriptor_set_khr(commands, point, by_push.layout, 0, &writes);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
        });
        let found = out.read::<u32>(13);
        assert_eq!((&found[..2], found[3], found[4]), (&[0, 11][..], 77, 4));
        assert_eq!((&found[8..10], found[11], found[12]), (&[11, 0][..], 77, 0));
    }

    /// A texel buffer of a set that was bound may be replaced until the commands are submitted.
    fn texel_buffers_are_updated_after_they_are_bound(gpu) {
        let source = "
            layout(local_size_x = 1) in;
            layout(set = 0, binding = 0) uniform utextureBuffer from;
            layout(set = 1, binding = 0) buffer Out { uint x; };
            void main() { x = texelFetch(from, 1).r; }";
        let flags = vk::DescriptorSetLayoutCreateFlags::UPDATE_AFTER_BIND_POOL;
        let binding_flags = [vk::DescriptorBindingFlags::UPDATE_AFTER_BIND];
        let mut more = vk::DescriptorSetLayoutBindingFlagsCreateInfo::builder().binding_flags(&binding_flags);
        let bindings = [vk::DescriptorSetLayoutBinding {
            descriptor_type: UNIFORM_TEXELS,
            descriptor_count: 1,
            stage_flags: vk::ShaderStageFlags::COMPUTE,
            ..Default::default()
        }];
        let info =
            vk::DescriptorSetLayoutCreateInfo::builder().flags(flags).bindings(&bindings).push_next(&mut more);
        let first = gpu.device.create_descriptor_set_layout(&info, None).expect("a set layout");
        gpu.later(move |device| device.destroy_descriptor_set_layout(first, None));
        let sizes = [vk::DescriptorPoolSize { type_: UNIFORM_TEXELS, descriptor_count: 1 }];
        let info = vk::DescriptorPoolCreateInfo::builder()
            .flags(vk::DescriptorPoolCreateFlags::UPDATE_AFTER_BIND)
            .max_sets(1)
            .pool_sizes(&sizes);
        let pool = gpu.device.create_descriptor_pool(&info, None).expect("a descriptor pool");
        gpu.later(move |device| device.destroy_descriptor_pool(pool, None));
        let layouts = [first];
        let info = vk::DescriptorSetAllocateInfo::builder().descriptor_pool(pool).set_layouts(&layouts);
        let set = gpu.device.allocate_descriptor_sets(&info).expect("a descriptor set")[0];

        let second = gpu.storage_layout(1);
        let kernel = gpu.kernel(source, &[first, second]);
        let (old, new, out) = (gpu.buffer_of(&[1_u32, 2]), gpu.buffer_of(&[3_u32, 4]), gpu.buffer(4));
        let views = [&old, &new].map(|buffer| gpu.texels(buffer, vk::Format::R32_UINT, 0, 8));
        gpu.write_texels(set, 0, UNIFORM_TEXELS, &views[..1]);
        let sets = [set, gpu.set_of(second, &[&out])];
        let commands = gpu.primary(|commands| {
            gpu.bind(commands, &kernel, &sets);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
        });
        gpu.write_texels(set, 0, UNIFORM_TEXELS, &views[1..]);
        gpu.submit(commands, vk::Fence::null());
        gpu.device.queue_wait_idle(gpu.queues[0]).expect("all is done");
        assert_eq!(out.read::<u32>(1), [4]);
        gpu.device.update_descriptor_sets(none::<vk::WriteDescriptorSet>(), none::<vk::CopyDescriptorSet>());
    }

    /// Without a format there are no texels.
    fn formats_without_texel_buffers(gpu) {
        let buffer = gpu.buffer(16);
        let format = vk::Format::BC1_RGB_UNORM_BLOCK;
        let features = gpu.instance.get_physical_device_format_properties(gpu.physical, format);
        assert_eq!(features.buffer_features, vk::FormatFeatureFlags::empty());
        gpu.allow("VUID-VkBufferViewCreateInfo-");
        let info =
            vk::BufferViewCreateInfo { buffer: buffer.buffer, format, range: vk::WHOLE_SIZE, ..Default::default() };
        let created = gpu.device.create_buffer_view(&info, None);
        assert_eq!(created.err(), Some(vk::ErrorCode::FORMAT_NOT_SUPPORTED));
    }
}

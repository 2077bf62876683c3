//! Images that kernels sample.

use vulkanalia::prelude::v1_3::*;
use vulkanalia::vk::KhrPushDescriptorExtensionDeviceCommands;

use crate::fixture::Gpu;
use crate::kernel::{Plain, STORAGE, none};
use crate::texels::{GENERAL, Picture, extent, flat, subresource};

const COMBINED: vk::DescriptorType = vk::DescriptorType::COMBINED_IMAGE_SAMPLER;
const SAMPLED: vk::DescriptorType = vk::DescriptorType::SAMPLED_IMAGE;
const SAMPLER: vk::DescriptorType = vk::DescriptorType::SAMPLER;

/// A picture that is sampled.
fn sampled(format: vk::Format, width: u32, height: u32) -> vk::ImageCreateInfo {
    let usage =
        vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
    vk::ImageCreateInfo { usage, ..flat(format, width, height) }
}

/// A sampler that clamps to the edge.
fn clamping(filter: vk::Filter) -> vk::SamplerCreateInfo {
    vk::SamplerCreateInfo {
        mag_filter: filter,
        min_filter: filter,
        address_mode_u: vk::SamplerAddressMode::CLAMP_TO_EDGE,
        address_mode_v: vk::SamplerAddressMode::CLAMP_TO_EDGE,
        address_mode_w: vk::SamplerAddressMode::CLAMP_TO_EDGE,
        max_lod: vk::LOD_CLAMP_NONE,
        ..Default::default()
    }
}

fn descriptor(view: vk::ImageView, sampler: vk::Sampler) -> vk::DescriptorImageInfo {
    vk::DescriptorImageInfo { sampler, image_view: view, image_layout: GENERAL }
}

fn binding(
    binding: u32,
    ty: vk::DescriptorType,
    count: u32,
    samplers: &[vk::Sampler],
) -> vk::DescriptorSetLayoutBinding {
    vk::DescriptorSetLayoutBinding {
        binding,
        descriptor_type: ty,
        descriptor_count: count,
        stage_flags: vk::ShaderStageFlags::COMPUTE,
        immutable_samplers: if samplers.is_empty() { std::ptr::null() } else { samplers.as_ptr() },
    }
}

fn write(
    set: vk::DescriptorSet,
    binding: u32,
    ty: vk::DescriptorType,
    infos: &[vk::DescriptorImageInfo],
) -> vk::WriteDescriptorSetBuilder<'_> {
    vk::WriteDescriptorSet::builder().dst_set(set).dst_binding(binding).descriptor_type(ty).image_info(infos)
}

impl Gpu {
    unsafe fn sampler(&self, info: &vk::SamplerCreateInfo) -> vk::Sampler {
        let sampler = self.device.create_sampler(info, None).expect("a sampler");
        self.later(move |device| device.destroy_sampler(sampler, None));
        sampler
    }

    /// An image whose levels hold these numbers, one after the other.
    unsafe fn painted<T: Plain>(&self, info: &vk::ImageCreateInfo, levels: &[&[T]]) -> Picture {
        let image = self.image(info);
        self.execute(|commands| {
            self.to_general(commands, image);
            for (level, texels) in (0..).zip(levels) {
                let size = |texels: u32| (texels >> level).max(1);
                let vk::Extent3D { width, height, depth } = info.extent;
                let region = vk::BufferImageCopy {
                    image_subresource: subresource(level, 0, info.array_layers),
                    image_extent: extent([size(width), size(height), size(depth)]),
                    ..Default::default()
                };
                let from = self.buffer_of(texels).buffer;
                self.device.cmd_copy_buffer_to_image(commands, from, image.image, GENERAL, &[region]);
            }
        });
        image
    }

    unsafe fn layout_of(
        &self,
        bindings: &[vk::DescriptorSetLayoutBinding],
        flags: vk::DescriptorSetLayoutCreateFlags,
    ) -> vk::DescriptorSetLayout {
        let info = vk::DescriptorSetLayoutCreateInfo {
            flags,
            binding_count: bindings.len() as u32,
            bindings: bindings.as_ptr(),
            ..Default::default()
        };
        let layout = self.device.create_descriptor_set_layout(&info, None).expect("a set layout");
        self.later(move |device| device.destroy_descriptor_set_layout(layout, None));
        layout
    }

    unsafe fn write_sampled(
        &self,
        set: vk::DescriptorSet,
        binding: u32,
        ty: vk::DescriptorType,
        infos: &[vk::DescriptorImageInfo],
    ) {
        self.device
            .update_descriptor_sets(&[write(set, binding, ty, infos)], none::<vk::CopyDescriptorSet>());
    }

    /// What a kernel writes that samples one image: `count` floats.
    unsafe fn samples(
        &self,
        image: &str,
        body: &str,
        info: vk::DescriptorImageInfo,
        count: usize,
    ) -> Vec<f32> {
        let source = format!(
            "#extension GL_ARB_sparse_texture_clamp : require
             layout(local_size_x = 1) in;
             layout(set = 0, binding = 0) uniform {image} image;
             layout(set = 0, binding = 1) buffer Out {{ float found[]; }};
             void main() {{ {body} }}"
        );
        let layout = self.set_layout(&[(COMBINED, 1), (STORAGE, 1)], Default::default());
        let (kernel, set, out) =
            (self.kernel(&source, &[layout]), self.set(layout), self.buffer(4 * count as u64));
        self.write_sampled(set, 0, COMBINED, &[info]);
        self.write(set, 1, STORAGE, &[out.all()]);
        self.execute(|commands| {
            self.bind(commands, &kernel, &[set]);
            self.device.cmd_dispatch(commands, 1, 1, 1);
        });
        out.read(count)
    }
}

cases! {
    /// A sampler that comes with the image, and one that does not, with images of an array.
    fn samplers_filter(gpu) {
        let source = "
            #extension GL_EXT_nonuniform_qualifier : require
            layout(local_size_x = 5) in;
            layout(set = 0, binding = 0) uniform sampler2D combined;
            layout(set = 0, binding = 1) uniform texture2D images[2];
            layout(set = 0, binding = 2) uniform sampler own[2];
            layout(set = 0, binding = 3) buffer Out { vec4 found[10]; };
            void main() {
                uint i = gl_LocalInvocationIndex;
                vec2 at = vec2(float(i) / 4, 0.5);
                found[i] = textureLod(combined, at, 0);
                uint n = nonuniformEXT(i & 1);
                found[5 + i] = textureLod(sampler2D(images[n], own[1]), at, 0);
            }";
        let layout = gpu.set_layout(&[(COMBINED, 1), (SAMPLED, 2), (SAMPLER, 2), (STORAGE, 1)], Default::default());
        let (kernel, set, out) = (gpu.kernel(source, &[layout]), gpu.set(layout), gpu.buffer(160));
        let info = sampled(vk::Format::R8G8B8A8_UNORM, 2, 1);
        let picture = |red, green| gpu.painted(&info, &[&[0, 0, 0, 255, red, green, 0, 255_u8]]);
        let views = [picture(255, 0), picture(0, 255)].map(|image| gpu.view(image, vk::ImageViewType::_2D));
        let linear = gpu.sampler(&clamping(vk::Filter::LINEAR));
        let nearest = gpu.sampler(&vk::SamplerCreateInfo {
            address_mode_u: vk::SamplerAddressMode::REPEAT,
            ..clamping(vk::Filter::NEAREST)
        });
        gpu.write_sampled(set, 0, COMBINED, &[descriptor(views[0], linear)]);
        gpu.write_sampled(set, 1, SAMPLED, &views.map(|view| descriptor(view, vk::Sampler::null())));
        let null = vk::ImageView::null();
        gpu.write_sampled(set, 2, SAMPLER, &[linear, nearest].map(|sampler| descriptor(null, sampler)));
        gpu.write(set, 3, STORAGE, &[out.all()]);
        gpu.execute(|commands| {
            gpu.bind(commands, &kernel, &[set]);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
        });
        let found = out.read::<f32>(40);
        let colours: Vec<[f32; 2]> = found.chunks(4).map(|colour| [colour[0], colour[1]]).collect();
        let red = [0.0, 0.0, 0.5, 1.0, 1.0].map(|red| [red, 0.0]);
        assert_eq!(colours[..5], red);
        assert_eq!(colours[5..], [[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]);
    }

    /// Immutable samplers are there without being written, and stay, in sets that are written, copied and pushed.
    fn immutable_samplers_stay(gpu) {
        let source = "
            layout(local_size_x = 1) in;
            layout(set = 0, binding = 0) uniform sampler2D combined[2];
            layout(set = 0, binding = 1) uniform sampler own;
            layout(set = 0, binding = 2) uniform texture2D image;
            layout(set = 0, binding = 3) buffer Out { float found[3]; };
            void main() {
                vec2 at = vec2(0.375, 0.5);
                found[0] = textureLod(combined[0], at, 0).x;
                found[1] = textureLod(combined[1], at, 0).x;
                found[2] = textureLod(sampler2D(image, own), at, 0).x;
            }";
        let [nearest, linear] = [vk::Filter::NEAREST, vk::Filter::LINEAR].map(|filter| gpu.sampler(&clamping(filter)));
        let all = [nearest, linear];
        let bindings = [
            binding(0, COMBINED, 2, &all),
            binding(1, SAMPLER, 1, &all[1..]),
            binding(2, SAMPLED, 1, &[]),
            binding(3, STORAGE, 1, &[]),
        ];
        let image = gpu.painted(&sampled(vk::Format::R32_SFLOAT, 2, 1), &[&[0.0_f32, 8.0]]);
        let view = gpu.view(image, vk::ImageViewType::_2D);
        let plain = gpu.layout_of(&bindings, Default::default());
        let pushed = gpu.layout_of(&bindings, vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR);
        let without = gpu.set_layout(&[(COMBINED, 2)], Default::default());
        let kernels = [plain, pushed].map(|layout| gpu.kernel(source, &[layout]));
        let outs = [gpu.buffer(12), gpu.buffer(12)];
        let (set, other) = (gpu.set(plain), gpu.set(without));
        // The sampler of a descriptor that is copied does not come with it.
        gpu.write_sampled(other, 0, COMBINED, &[descriptor(view, linear); 2]);
        let copy = vk::CopyDescriptorSet { src_set: other, dst_set: set, descriptor_count: 1, ..Default::default() };
        gpu.device.update_descriptor_sets(none::<vk::WriteDescriptorSet>(), &[copy]);
        let images = [descriptor(view, vk::Sampler::null()); 2];
        let second = write(set, 0, COMBINED, &images[1..]).dst_array_element(1);
        gpu.device.update_descriptor_sets(&[second], none::<vk::CopyDescriptorSet>());
        gpu.write_sampled(set, 2, SAMPLED, &images[1..]);
        gpu.write(set, 3, STORAGE, &[outs[0].all()]);
        gpu.execute(|commands| {
            gpu.bind(commands, &kernels[0], &[set]);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
            gpu.bind(commands, &kernels[1], &[]);
            let to = [outs[1].all()];
            let null = vk::DescriptorSet::null();
            let out = vk::WriteDescriptorSet::builder().dst_binding(3).descriptor_type(STORAGE).buffer_info(&to);
            let writes = [write(null, 0, COMBINED, &images), write(null, 2, SAMPLED, &images[1..]), out];
            let point = vk::PipelineBindPoint::COMPUTE;
            gpu.device.cmd_push_descriptor_set_khr(commands, point, kernels[1].layout, 0, &writes);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
        });
        assert_eq!(outs.map(|out| out.read::<f32>(3)), [[0.0, 2.0, 2.0]; 2].map(Vec::from));
    }

    /// Depths are compared before they are filtered.
    fn depths_are_compared(gpu) {
        let aspect = vk::ImageAspectFlags::DEPTH;
        let all = vk::ImageSubresourceRange { aspect_mask: aspect, level_count: 1, layer_count: 1, ..Default::default() };
        let info = vk::ImageCreateInfo {
            tiling: vk::ImageTiling::LINEAR,
            initial_layout: vk::ImageLayout::PREINITIALIZED,
            ..sampled(vk::Format::D32_SFLOAT, 2, 1)
        };
        let image = gpu.image(&info);
        let subresource = vk::ImageSubresource { aspect_mask: aspect, ..Default::default() };
        let at = gpu.device.get_image_subresource_layout(image.image, &subresource).offset;
        image.at.byte_add(at as usize).cast::<[f32; 2]>().write([0.25, 0.75]);
        gpu.execute(|commands| {
            let barrier = vk::ImageMemoryBarrier2 {
                src_stage_mask: vk::PipelineStageFlags2::HOST,
                src_access_mask: vk::AccessFlags2::HOST_WRITE,
                dst_stage_mask: vk::PipelineStageFlags2::COMPUTE_SHADER,
                dst_access_mask: vk::AccessFlags2::SHADER_READ,
                old_layout: vk::ImageLayout::PREINITIALIZED,
                new_layout: GENERAL,
                image: image.image,
                subresource_range: all,
                ..Default::default()
            };
            let barriers = [barrier];
            let info = vk::DependencyInfo::builder().image_memory_barriers(&barriers);
            gpu.device.cmd_pipeline_barrier2(commands, &info);
        });
        let view = gpu.view_of(image, vk::ImageViewType::_2D, info.format, all);
        let sampler = gpu.sampler(&vk::SamplerCreateInfo {
            compare_enable: vk::TRUE,
            compare_op: vk::CompareOp::LESS,
            ..clamping(vk::Filter::LINEAR)
        });
        let body = "
            found[0] = textureLod(image, vec3(0.25, 0.5, 0.2), 0);
            found[1] = textureLod(image, vec3(0.25, 0.5, 0.5), 0);
            found[2] = textureLod(image, vec3(0.5, 0.5, 0.5), 0);
            found[3] = textureLod(image, vec3(0.75, 0.5, 0.75), 0);
            vec4 four = textureGather(image, vec2(0.5), 0.5);
            for (int i = 0; i < 4; i++) found[4 + i] = four[i];";
        let found = gpu.samples("sampler2DShadow", body, descriptor(view, sampler), 8);
        assert_eq!(found, [1.0, 0.0, 0.5, 0.0, 0.0, 1.0, 1.0, 0.0]);
    }

    /// Levels, those of a view, gradients, and what is asked of an image.
    fn levels_are_chosen(gpu) {
        let mut info = sampled(vk::Format::R32_SFLOAT, 4, 4);
        info.mip_levels = 3;
        let image = gpu.painted(&info, &[&[0.0_f32; 16][..], &[10.0; 4], &[20.0]]);
        let sampler = gpu.sampler(&vk::SamplerCreateInfo {
            mipmap_mode: vk::SamplerMipmapMode::LINEAR,
            mip_lod_bias: 0.5,
            min_lod: 0.75,
            ..clamping(vk::Filter::NEAREST)
        });
        let body = "
            vec2 at = vec2(0.5);
            found[0] = textureLod(image, at, 0).x;
            found[1] = textureLod(image, at, 0.75).x;
            found[2] = textureLod(image, at, 9).x;
            found[3] = textureGrad(image, at, vec2(0.5, 0), vec2(0, 0.25)).x;
            found[4] = texelFetch(image, ivec2(0), 1).x;
            found[5] = textureQueryLevels(image);
            found[6] = textureSize(image, 0).x;
            found[7] = textureGradClampARB(image, at, vec2(0), vec2(0), 1.25).x;";
        let all = vk::ImageSubresourceRange {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            level_count: 3,
            layer_count: 1,
            ..Default::default()
        };
        let some = vk::ImageSubresourceRange { base_mip_level: 1, level_count: 2, ..all };
        for (range, expected) in [
            (all, [7.5, 12.5, 20.0, 15.0, 10.0, 3.0, 4.0, 12.5]),
            (some, [17.5, 20.0, 20.0, 17.5, 20.0, 2.0, 2.0, 20.0]),
        ] {
            let view = gpu.view_of(image, vk::ImageViewType::_2D, info.format, range);
            let found = gpu.samples("sampler2D", body, descriptor(view, sampler), 8);
            assert_eq!(found, expected);
        }
    }

    /// Cubes, arrays of them, rows, volumes, and views of other components.
    fn images_of_every_dimension(gpu) {
        let sampler = gpu.sampler(&clamping(vk::Filter::NEAREST));
        let numbers: Vec<f32> = (0..12).map(|i| i as f32).collect();
        let plain = sampled(vk::Format::R32_SFLOAT, 1, 1);
        let layers = |array_layers| vk::ImageCreateInfo { array_layers, ..plain };
        let cube = |count| vk::ImageCreateInfo { flags: vk::ImageCreateFlags::CUBE_COMPATIBLE, ..layers(count) };
        let row = vk::ImageCreateInfo { image_type: vk::ImageType::_1D, ..layers(3) };
        let volume = vk::ImageCreateInfo { image_type: vk::ImageType::_3D, extent: extent([1, 1, 4]), ..plain };
        let axes = "vec3 axes[6] = { vec3(1, 0, 0), vec3(-1, 0, 0), vec3(0, 1, 0), vec3(0, -1, 0), vec3(0, 0, 1),
            vec3(0, 0, -1) }; for (int i = 0; i < 6; i++) found[i] = ";
        use vk::ImageViewType as T;
        for (info, ty, name, body, expected) in [
            (cube(6), T::CUBE, "Cube", &format!("{axes} textureLod(image, axes[i], 0).x;"), &[0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0][..]),
            (
                cube(12),
                T::CUBE_ARRAY,
                "CubeArray",
                &format!("{axes} textureLod(image, vec4(axes[i], 0.6), 0).x;"),
                &[6.0, 7.0, 8.0, 9.0, 10.0, 11.0],
            ),
            (row, T::_1D_ARRAY, "1DArray", &"found[0] = textureLod(image, vec2(0.5, 7), 0).x;".to_owned(), &[2.0]),
            (layers(3), T::_2D_ARRAY, "2DArray", &"found[0] = textureLod(image, vec3(0.5, 0.5, 1.4), 0).x;".to_owned(), &[1.0]),
            (volume, T::_3D, "3D", &"found[0] = textureLod(image, vec3(0.5, 0.5, 0.6), 0).x;".to_owned(), &[2.0]),
        ] {
            let texels = info.array_layers * info.extent.depth;
            let view = gpu.view(gpu.painted(&info, &[&numbers[..texels as usize]]), ty);
            let found = gpu.samples(&format!("sampler{name}"), body, descriptor(view, sampler), expected.len());
            assert_eq!(found, expected, "{name}");
        }
    }

    /// What a clear wrote is sampled, through a view that moves components, in every format that is sampled.
    fn every_format_is_sampled(gpu) {
        let layout = gpu.set_layout(&[(COMBINED, 1), (STORAGE, 1)], Default::default());
        let kernels = [("UINT", "u"), ("SINT", "i"), ("", "")].map(|(kind, prefix)| {
            let source = format!(
                "layout(local_size_x = 1) in;
                 layout(set = 0, binding = 0) uniform {prefix}sampler2D image;
                 layout(set = 0, binding = 1) buffer Out {{ {prefix}vec4 colour; }};
                 void main() {{ colour = textureLod(image, vec2(0.6, 0.4), 0); }}"
            );
            (kind, gpu.kernel(&source, &[layout]))
        });
        let mut count = 0;
        for format in (1..130).chain([1_000_340_000, 1_000_340_001]).map(vk::Format::from_raw) {
            let features = gpu.format_features(format);
            let name = format!("{format:?}");
            let is_integer = name.contains("INT");
            let is_linear = features.contains(vk::FormatFeatureFlags::SAMPLED_IMAGE_FILTER_LINEAR);
            if !features.contains(vk::FormatFeatureFlags::SAMPLED_IMAGE) || name.starts_with('D') {
                continue;
            }
            assert_eq!(is_linear, !is_integer, "{name}");
            count += 1;
            let info = sampled(format, 3, 2);
            let (image, to, set) = (gpu.image(&info), gpu.buffer(16), gpu.set(layout));
            let view = vk::ImageViewCreateInfo {
                image: image.image,
                view_type: vk::ImageViewType::_2D,
                format,
                components: vk::ComponentMapping {
                    r: vk::ComponentSwizzle::G,
                    g: vk::ComponentSwizzle::ONE,
                    b: vk::ComponentSwizzle::R,
                    a: vk::ComponentSwizzle::IDENTITY,
                },
                subresource_range: vk::ImageSubresourceRange {
                    aspect_mask: vk::ImageAspectFlags::COLOR,
                    level_count: 1,
                    layer_count: 1,
                    ..Default::default()
                },
                ..Default::default()
            };
            let view = gpu.device.create_image_view(&view, None).expect("a view");
            gpu.later(move |device| device.destroy_image_view(view, None));
            let sampler = clamping(if is_linear { vk::Filter::LINEAR } else { vk::Filter::NEAREST });
            gpu.write_sampled(set, 0, COMBINED, &[descriptor(view, gpu.sampler(&sampler))]);
            gpu.write(set, 1, STORAGE, &[to.all()]);
            let (_, kernel) = kernels.iter().find(|(kind, _)| name.contains(kind)).expect("the last is for all");
            let one = if is_integer { 1 } else { 1.0_f32.to_bits() };
            gpu.execute(|commands| {
                gpu.to_general(commands, image);
                gpu.clear(commands, image, [one, 0, one, one]);
                gpu.barrier(commands);
                gpu.bind(commands, kernel, &[set]);
                gpu.device.cmd_dispatch(commands, 1, 1, 1);
            });
            assert_eq!(to.read::<u32>(4), [0, one, one, one], "{name}");
        }
        assert!(count >= 60, "{count} formats");
    }

    /// A null descriptor has no texels.
    fn null_descriptors_are_black(gpu) {
        let sampler = gpu.sampler(&clamping(vk::Filter::LINEAR));
        let body = "found[0] = textureLod(image, vec2(0.5), 0).x; found[1] = textureSize(image, 0).x;";
        let found = gpu.samples("sampler2D", body, descriptor(vk::ImageView::null(), sampler), 2);
        assert_eq!(found, [0.0, 0.0]);
    }

    /// The least and the greatest of the texels around.
    fn extremes_are_found(gpu) {
        let image = gpu.painted(&sampled(vk::Format::R32_SFLOAT, 2, 2), &[&[3.0_f32, 1.0, 4.0, 1.5]]);
        let view = gpu.view(image, vk::ImageViewType::_2D);
        for (mode, expected) in [(vk::SamplerReductionMode::MIN, 1.0), (vk::SamplerReductionMode::MAX, 4.0)] {
            let mode = vk::SamplerReductionModeCreateInfo { reduction_mode: mode, ..Default::default() };
            let info = vk::SamplerCreateInfo { next: (&raw const mode).cast(), ..clamping(vk::Filter::LINEAR) };
            let descriptor = descriptor(view, gpu.sampler(&info));
            let body = "found[0] = textureLod(image, vec2(0.5), 0).x;";
            assert_eq!(gpu.samples("sampler2D", body, descriptor, 1), [expected]);
        }
    }
}

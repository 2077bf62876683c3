//! Descriptors of every kind that buffers have.

use vulkanalia::prelude::v1_3::*;
use vulkanalia::vk::KhrPushDescriptorExtensionDeviceCommands;

use crate::kernel::{STORAGE, none};

/// Adds a constant to what is bound.
const ADD: &str = "
    layout(local_size_x = 4) in;
    layout(set = 0, binding = 0) buffer In { uint a[]; };
    layout(set = 0, binding = 1) buffer Out { uint b[]; };
    void main() { b[gl_LocalInvocationIndex] = a[gl_LocalInvocationIndex] + 1000; }";

cases! {
    fn dynamic_offsets_are_added(gpu) {
        let dynamic = vk::DescriptorType::STORAGE_BUFFER_DYNAMIC;
        let layout = gpu.set_layout(&[(dynamic, 1), (dynamic, 1)], Default::default());
        let kernel = gpu.kernel(ADD, &[layout]);
        let buffer = gpu.buffer_of(&(0..64).collect::<Vec<u32>>());
        let set = gpu.set(layout);
        gpu.write(set, 0, dynamic, &[buffer.part(16, 16)]);
        gpu.write(set, 1, dynamic, &[buffer.part(0, 16)]);
        gpu.execute(|commands| {
            gpu.bind_with(commands, &kernel, &[set], &[32, 64]);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
        });
        // From 16 + 32 bytes to 64 bytes.
        assert_eq!(buffer.read::<u32>(21)[15..], [15, 1012, 1013, 1014, 1015, 20]);
    }

    /// Arrays of descriptors, written by one write that rolls over to the next binding, with an index that differs
    /// between invocations.
    fn arrays_can_be_indexed(gpu) {
        let source = "
            #extension GL_EXT_nonuniform_qualifier : require
            layout(local_size_x = 5) in;
            layout(set = 0, binding = 0) buffer In { uint a[]; } inputs[4];
            layout(set = 0, binding = 1) buffer Last { uint last[]; };
            layout(set = 0, binding = 2) buffer Out { uint b[]; };
            void main() {
                uint i = gl_LocalInvocationIndex;
                b[i] = i < 4 ? inputs[nonuniformEXT(3 - i)].a[i] : last[0];
            }";
        let layout = gpu.set_layout(&[(STORAGE, 4), (STORAGE, 1), (STORAGE, 1)], Default::default());
        let kernel = gpu.kernel(source, &[layout]);
        let input = gpu.buffer_of(&(0..80).collect::<Vec<u32>>());
        let output = gpu.buffer(20);
        let set = gpu.set(layout);
        let parts: Vec<_> = (0..5).map(|i| input.part(64 * i, 64)).collect();
        gpu.write(set, 0, STORAGE, &parts);
        gpu.write(set, 2, STORAGE, &[output.all()]);
        gpu.execute(|commands| {
            gpu.bind(commands, &kernel, &[set]);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
        });
        assert_eq!(output.read::<u32>(5), [48, 33, 18, 3, 64]);
    }

    /// Two sets; the second has a uniform buffer and a copied descriptor.
    fn sets_and_copies_of_descriptors(gpu) {
        let source = "
            layout(local_size_x = 1) in;
            layout(set = 0, binding = 0) buffer Out { uint x[]; };
            layout(set = 1, binding = 0) uniform In { uvec4 a; };
            layout(set = 1, binding = 1) buffer More { uint b[]; };
            void main() { x[0] = a.z; x[1] = b[1]; }";
        let first = gpu.storage_layout(1);
        let second = gpu.set_layout(
            &[(vk::DescriptorType::UNIFORM_BUFFER, 1), (STORAGE, 1)],
            Default::default(),
        );
        let kernel = gpu.kernel(source, &[first, second]);
        let (output, input) = (gpu.buffer(8), gpu.buffer_of(&[1_u32, 2, 3, 4]));
        let sets = [gpu.set_of(first, &[&output]), gpu.set(second)];
        let spare = gpu.set_of(first, &[&input]);
        gpu.write(sets[1], 0, vk::DescriptorType::UNIFORM_BUFFER, &[input.all()]);
        let copy = vk::CopyDescriptorSet {
            src_set: spare,
            dst_set: sets[1],
            dst_binding: 1,
            descriptor_count: 1,
            ..Default::default()
        };
        gpu.device.update_descriptor_sets(none::<vk::WriteDescriptorSet>(), &[copy]);
        gpu.execute(|commands| {
            gpu.bind(commands, &kernel, &sets);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
        });
        assert_eq!(output.read::<u32>(2), [3, 2]);
    }

    fn templates_write_sets(gpu) {
        let layout = gpu.storage_layout(2);
        let kernel = gpu.kernel(ADD, &[layout]);
        let (input, output) = (gpu.buffer_of(&[1_u32, 2, 3, 4]), gpu.buffer(16));
        let size = size_of::<vk::DescriptorBufferInfo>();
        let entries = [0_u32, 1].map(|binding| vk::DescriptorUpdateTemplateEntry {
            dst_binding: binding,
            descriptor_count: 1,
            descriptor_type: STORAGE,
            // The data begin with something else.
            offset: 8 + size * binding as usize,
            stride: size,
            ..Default::default()
        });
        let info = vk::DescriptorUpdateTemplateCreateInfo::builder()
            .descriptor_update_entries(&entries)
            .template_type(vk::DescriptorUpdateTemplateType::DESCRIPTOR_SET)
            .descriptor_set_layout(layout);
        let template = gpu.device.create_descriptor_update_template(&info, None).expect("a template");
        gpu.later(move |device| device.destroy_descriptor_update_template(template, None));
        let data = (0_u64, [input.all(), output.all()]);
        assert_eq!(std::mem::offset_of!((u64, [vk::DescriptorBufferInfo; 2]), 1), 8);
        let set = gpu.set(layout);
        gpu.device.update_descriptor_set_with_template(set, template, (&raw const data).cast());
        gpu.execute(|commands| {
            gpu.bind(commands, &kernel, &[set]);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
        });
        assert_eq!(output.read::<u32>(4), [1001, 1002, 1003, 1004]);
    }

    /// Pushed descriptors stay for later dispatches until others are pushed.
    fn descriptors_can_be_pushed(gpu) {
        let flags = vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR;
        let layout = gpu.set_layout(&[(STORAGE, 1), (STORAGE, 1)], flags);
        let kernel = gpu.kernel(ADD, &[layout]);
        let (input, middle, output) = (gpu.buffer_of(&[1_u32, 2, 3, 4]), gpu.buffer(16), gpu.buffer(16));
        gpu.execute(|commands| {
            gpu.bind(commands, &kernel, &[]);
            let push = |binding, info: vk::DescriptorBufferInfo| {
                let infos = [info];
                let write = vk::WriteDescriptorSet::builder()
                    .dst_binding(binding)
                    .descriptor_type(STORAGE)
                    .buffer_info(&infos);
                let point = vk::PipelineBindPoint::COMPUTE;
                gpu.device.cmd_push_descriptor_set_khr(commands, point, kernel.layout, 0, &[write]);
            };
            push(0, input.all());
            push(1, middle.all());
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
            gpu.barrier(commands);
            push(0, middle.all());
            push(1, output.all());
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
        });
        assert_eq!(middle.read::<u32>(4), [1001, 1002, 1003, 1004]);
        assert_eq!(output.read::<u32>(4), [2001, 2002, 2003, 2004]);
    }
}

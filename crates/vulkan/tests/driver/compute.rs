//! Dispatches.

use vulkanalia::prelude::v1_3::*;

use crate::kernel::Options;

/// Writes the number of the work-group that an invocation belongs to.
const GROUPS: &str = "
    layout(local_size_x = 1) in;
    layout(set = 0, binding = 0) buffer Out { uint x[]; };
    void main() { x[gl_WorkGroupID.x + 8 * gl_WorkGroupID.y] = 1 + gl_WorkGroupID.x + 100 * gl_WorkGroupID.y; }";

cases! {
    fn push_and_specialisation_constants_are_seen(gpu) {
        let source = "
            layout(local_size_x_id = 0) in;
            layout(constant_id = 1) const uint STEP = 1;
            layout(set = 0, binding = 0) buffer In { uint a[]; };
            layout(set = 0, binding = 1) buffer Out { uint b[]; };
            layout(push_constant) uniform Push { uint factor; uint count; };
            void main() {
                uint i = gl_GlobalInvocationID.x;
                if (i < count) b[i] = factor * a[i] + STEP * gl_WorkGroupSize.x;
            }";
        let layout = gpu.storage_layout(2);
        let kernel = gpu.kernel_with(source, &[layout], Options { constants: &[8, 1000], ..Default::default() });
        let (input, output) = (gpu.buffer_of(&(0..100).collect::<Vec<u32>>()), gpu.buffer_of(&[7_u32; 104]));
        let set = gpu.set_of(layout, &[&input, &output]);
        gpu.execute(|commands| {
            gpu.bind(commands, &kernel, &[set]);
            gpu.push(commands, &kernel, &[3_u32, 100]);
            gpu.device.cmd_dispatch(commands, 13, 1, 1);
        });
        let expected: Vec<u32> = (0..100).map(|i| 3 * i + 8000).chain([7; 4]).collect();
        assert_eq!(output.read::<u32>(104), expected);
    }

    /// Two dispatches of one command buffer see the push constants that were set before each.
    fn state_is_that_of_each_dispatch(gpu) {
        let source = "
            layout(local_size_x = 1) in;
            layout(set = 0, binding = 0) buffer Out { uint x[]; };
            layout(push_constant) uniform Push { uint at; uint value; };
            void main() { x[at] = value; }";
        let layout = gpu.storage_layout(1);
        let kernel = gpu.kernel(source, &[layout]);
        let (first, second) = (gpu.buffer(16), gpu.buffer(16));
        let sets = [gpu.set_of(layout, &[&first]), gpu.set_of(layout, &[&second])];
        gpu.execute(|commands| {
            for (set, value) in [(0, 5_u32), (1, 6), (0, 7)] {
                gpu.bind(commands, &kernel, &[sets[set]]);
                gpu.push(commands, &kernel, &[value - 5, value]);
                gpu.device.cmd_dispatch(commands, 1, 1, 1);
            }
        });
        assert_eq!(first.read::<u32>(4), [5, 0, 7, 0]);
        assert_eq!(second.read::<u32>(4), [0, 6, 0, 0]);
    }

    fn indirect_dispatches_read_their_groups(gpu) {
        let layout = gpu.storage_layout(1);
        let kernel = gpu.kernel(GROUPS, &[layout]);
        let output = gpu.buffer_of(&[0_u32; 16]);
        // The numbers of the second are written by the command buffer itself.
        let groups = gpu.buffer_of(&[99_u32, 2, 1, 1, 0, 0, 0]);
        let set = gpu.set_of(layout, &[&output]);
        gpu.execute(|commands| {
            gpu.bind(commands, &kernel, &[set]);
            gpu.device.cmd_dispatch_indirect(commands, groups.buffer, 4);
            gpu.device.cmd_dispatch_indirect(commands, groups.buffer, 16);
            let numbers: Vec<u8> = [1_u32, 2, 1].iter().flat_map(|number| number.to_le_bytes()).collect();
            gpu.barrier(commands);
            gpu.device.cmd_update_buffer(commands, groups.buffer, 16, &numbers);
            gpu.barrier(commands);
            gpu.device.cmd_dispatch_indirect(commands, groups.buffer, 16);
        });
        let mut expected = [0; 16];
        (expected[0], expected[1], expected[8]) = (1, 2, 101);
        assert_eq!(output.read::<u32>(16), expected);
    }

    fn dispatches_start_at_a_base(gpu) {
        let layout = gpu.storage_layout(1);
        let options = Options { flags: vk::PipelineCreateFlags::DISPATCH_BASE, ..Default::default() };
        let kernel = gpu.kernel_with(GROUPS, &[layout], options);
        let output = gpu.buffer_of(&[0_u32; 16]);
        let set = gpu.set_of(layout, &[&output]);
        gpu.execute(|commands| {
            gpu.bind(commands, &kernel, &[set]);
            gpu.device.cmd_dispatch_base(commands, 2, 1, 0, 3, 1, 1);
            gpu.device.cmd_dispatch(commands, 0, 1, 1);
        });
        let mut expected = [0; 16];
        expected[10..13].copy_from_slice(&[103, 104, 105]);
        assert_eq!(output.read::<u32>(16), expected);
    }

    fn addresses_of_buffers_can_be_followed(gpu) {
        let source = "
            #extension GL_EXT_buffer_reference : require
            #extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
            layout(local_size_x = 4) in;
            layout(buffer_reference, std430) buffer Node { uint value; uint unused; uint64_t next; };
            layout(push_constant) uniform Push { uint64_t first; };
            void main() {
                uint64_t at = first;
                while (at != 0) {
                    Node node = Node(at);
                    atomicAdd(node.value, gl_LocalInvocationIndex);
                    at = node.next;
                }
            }";
        let kernel = gpu.kernel(source, &[]);
        let last = gpu.buffer_of(&[100_u64, 0]);
        let first = gpu.buffer_of(&[200_u64, gpu.address(&last)]);
        gpu.execute(|commands| {
            gpu.bind(commands, &kernel, &[]);
            gpu.push(commands, &kernel, &[gpu.address(&first)]);
            gpu.device.cmd_dispatch(commands, 2, 1, 1);
        });
        assert_eq!((first.read::<u32>(1), last.read::<u32>(1)), (vec![212], vec![112]));
    }

    fn subgroups_have_the_size_that_is_asked_for(gpu) {
        let source = "
            #extension GL_KHR_shader_subgroup_arithmetic : require
            layout(local_size_x = 64) in;
            layout(set = 0, binding = 0) buffer Out { uint x[]; };
            void main() {
                uint sum = subgroupAdd(1);
                if (gl_LocalInvocationIndex == 0) { x[0] = gl_SubgroupSize; x[1] = sum; x[2] = gl_NumSubgroups; }
            }";
        let mut sizes = vk::PhysicalDeviceSubgroupSizeControlProperties::default();
        let mut all = vk::PhysicalDeviceProperties2::builder().push_next(&mut sizes).build();
        gpu.instance.get_physical_device_properties2(gpu.physical, &mut all);
        let (layout, output) = (gpu.storage_layout(1), gpu.buffer(12));
        let set = gpu.set_of(layout, &[&output]);
        let mut size = sizes.min_subgroup_size;
        assert!(size.is_power_of_two());
        while size <= sizes.max_subgroup_size {
            let options = Options { subgroup_size: Some(size), ..Default::default() };
            let kernel = gpu.kernel_with(source, &[layout], options);
            gpu.execute(|commands| {
                gpu.bind(commands, &kernel, &[set]);
                gpu.device.cmd_dispatch(commands, 1, 1, 1);
            });
            assert_eq!(output.read::<u32>(3), [size, size.min(64), 64_u32.div_ceil(size)]);
            size *= 2;
        }
    }

    /// Reads outside of a descriptor's range give zero, writes do nothing, and a null descriptor has no bytes.
    fn accesses_stay_in_their_buffers(gpu) {
        let source = "
            layout(local_size_x = 1) in;
            layout(set = 0, binding = 0) buffer In { uint a[]; };
            layout(set = 0, binding = 1) buffer Out { uint b[]; };
            layout(set = 0, binding = 2) buffer None { uint c[]; };
            layout(push_constant) uniform Push { uint far; };
            void main() {
                b[0] = a[3] + 1; b[1] = a[4] + 1; b[2] = a[far] + 1; b[3] = a.length();
                b[4] = c.length() + c[0];
                a[4] = 9; a[far] = 9; c[0] = 9;
            }";
        let layout = gpu.storage_layout(3);
        let kernel = gpu.kernel(source, &[layout]);
        let (input, output) = (gpu.buffer_of(&[50_u32; 8]), gpu.buffer_of(&[77_u32; 5]));
        let set = gpu.set_of(layout, &[&input, &output]);
        gpu.write(set, 0, crate::kernel::STORAGE, &[input.part(0, 16)]);
        let none = vk::DescriptorBufferInfo { range: vk::WHOLE_SIZE, ..Default::default() };
        gpu.write(set, 2, crate::kernel::STORAGE, &[none]);
        gpu.execute(|commands| {
            gpu.bind(commands, &kernel, &[set]);
            gpu.push(commands, &kernel, &[0x3FFF_FFFF_u32]);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
        });
        assert_eq!(output.read::<u32>(5), [51, 1, 1, 4, 0]);
        assert_eq!(input.read::<u32>(8), [50; 8]);
    }

    /// Shared memory, barriers and atomics of a work-group with several subgroups.
    fn work_groups_work_together(gpu) {
        let source = "
            layout(local_size_x = 256) in;
            layout(set = 0, binding = 0) buffer Out { uint x[]; };
            shared uint sums[256];
            void main() {
                uint i = gl_LocalInvocationIndex;
                sums[i] = i + gl_WorkGroupID.x;
                for (uint half_ = 128; half_ > 0; half_ /= 2) {
                    barrier();
                    if (i < half_) sums[i] += sums[i + half_];
                }
                if (i == 0) { x[gl_WorkGroupID.x] = sums[0]; }
                if (i % 2 == 0) { atomicAdd(x[4], 1); }
            }";
        let layout = gpu.storage_layout(1);
        let (kernel, output) = (gpu.kernel(source, &[layout]), gpu.buffer_of(&[0_u32; 5]));
        let set = gpu.set_of(layout, &[&output]);
        gpu.execute(|commands| {
            gpu.bind(commands, &kernel, &[set]);
            gpu.device.cmd_dispatch(commands, 4, 1, 1);
        });
        assert_eq!(output.read::<u32>(5), [32640, 32896, 33152, 33408, 512]);
    }
}

//! Copies, fills and updates, and command buffers in command buffers.

use vulkanalia::prelude::v1_3::*;

/// Doubles four numbers.
const DOUBLE: &str = "
    layout(local_size_x = 4) in;
    layout(set = 0, binding = 0) buffer Data { uint x[]; };
    void main() { x[gl_LocalInvocationIndex] *= 2; }";

cases! {
    fn transfers_and_kernels_take_turns(gpu) {
        let layout = gpu.storage_layout(1);
        let kernel = gpu.kernel(DOUBLE, &[layout]);
        let (from, work, to) = (gpu.buffer_of(&[0_u32; 8]), gpu.buffer(16), gpu.buffer_of(&[0_u32; 8]));
        let set = gpu.set_of(layout, &[&work]);
        gpu.execute(|commands| {
            gpu.device.cmd_fill_buffer(commands, from.buffer, 0, 16, 0x0101_0101);
            let numbers: Vec<u8> = [5_u32, 6].iter().flat_map(|number| number.to_le_bytes()).collect();
            gpu.barrier(commands);
            gpu.device.cmd_update_buffer(commands, from.buffer, 4, &numbers);
            gpu.barrier(commands);
            let region = vk::BufferCopy { src_offset: 4, dst_offset: 0, size: 16 };
            gpu.device.cmd_copy_buffer(commands, from.buffer, work.buffer, &[region]);
            gpu.barrier(commands);
            gpu.bind(commands, &kernel, &[set]);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
            gpu.barrier(commands);
            let regions = [
                vk::BufferCopy { src_offset: 0, dst_offset: 24, size: 8 },
                vk::BufferCopy { src_offset: 8, dst_offset: 1, size: 3 },
            ];
            gpu.device.cmd_copy_buffer(commands, work.buffer, to.buffer, &regions);
            gpu.device.cmd_fill_buffer(commands, to.buffer, 8, vk::WHOLE_SIZE, 9);
        });
        assert_eq!(from.read::<u32>(5), [0x0101_0101, 5, 6, 0x0101_0101, 0]);
        assert_eq!(work.read::<u32>(4), [10, 12, 0x0202_0202, 0]);
        assert_eq!(to.read::<u32>(3), [0x0202_0200, 0, 9]);
    }

    /// A secondary command buffer is executed where it stands, and as often as it stands there.
    fn secondary_command_buffers_are_executed(gpu) {
        let layout = gpu.storage_layout(1);
        let kernel = gpu.kernel(DOUBLE, &[layout]);
        let data = gpu.buffer_of(&[1_u32, 2, 3, 4]);
        let set = gpu.set_of(layout, &[&data]);
        let twice = gpu.record(vk::CommandBufferLevel::SECONDARY, |commands| {
            gpu.bind(commands, &kernel, &[set]);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
            gpu.barrier(commands);
        });
        gpu.execute(|commands| {
            gpu.device.cmd_execute_commands(commands, &[twice]);
            gpu.device.cmd_fill_buffer(commands, data.buffer, 0, 4, 50);
            gpu.barrier(commands);
            gpu.device.cmd_execute_commands(commands, &[twice, twice]);
        });
        assert_eq!(data.read::<u32>(4), [200, 16, 24, 32]);
    }

    /// A command buffer can be submitted again while it is pending, and recorded again afterwards.
    fn command_buffers_are_used_again(gpu) {
        let layout = gpu.storage_layout(1);
        let kernel = gpu.kernel(DOUBLE, &[layout]);
        let data = gpu.buffer_of(&[1_u32, 2, 3, 4]);
        let set = gpu.set_of(layout, &[&data]);
        let commands = gpu.primary(|commands| {
            gpu.bind(commands, &kernel, &[set]);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
            gpu.barrier(commands);
        });
        for _ in 0..5 {
            gpu.submit(commands, vk::Fence::null());
        }
        gpu.device.queue_wait_idle(gpu.queues[0]).expect("all is done");
        assert_eq!(data.read::<u32>(4), [32, 64, 96, 128]);
        let info = vk::CommandBufferBeginInfo::default();
        gpu.device.begin_command_buffer(commands, &info).expect("recording");
        gpu.device.cmd_fill_buffer(commands, data.buffer, 0, vk::WHOLE_SIZE, 3);
        gpu.device.end_command_buffer(commands).expect("recorded");
        gpu.submit(commands, vk::Fence::null());
        gpu.device.device_wait_idle().expect("all is done");
        assert_eq!(data.read::<u32>(4), [3; 4]);
    }

    /// Memory of the application itself, and parts of memory that are bound apart.
    fn memory_is_shared_between_buffers(gpu) {
        let info = vk::BufferCreateInfo {
            size: 4096,
            usage: vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST,
            ..Default::default()
        };
        let buffers = [0; 2].map(|_| gpu.device.create_buffer(&info, None).expect("a buffer"));
        let needs = gpu.device.get_buffer_memory_requirements(buffers[0]);
        assert!(needs.size >= 4096 && needs.memory_type_bits == 1);
        let info = vk::MemoryAllocateInfo { allocation_size: 2 * needs.size, ..Default::default() };
        let memory = gpu.device.allocate_memory(&info, None).expect("memory");
        for (offset, buffer) in [(0, buffers[0]), (needs.size, buffers[1])] {
            gpu.device.bind_buffer_memory(buffer, memory, offset).expect("memory that fits");
        }
        gpu.later(move |device| device.free_memory(memory, None));
        gpu.later(move |device| buffers.iter().for_each(|&buffer| device.destroy_buffer(buffer, None)));
        gpu.execute(|commands| {
            gpu.device.cmd_fill_buffer(commands, buffers[0], 0, vk::WHOLE_SIZE, 7);
            gpu.device.cmd_fill_buffer(commands, buffers[1], 0, vk::WHOLE_SIZE, 8);
        });
        let map = gpu.device.map_memory(memory, needs.size - 4, 8, vk::MemoryMapFlags::empty());
        let at = map.expect("mapped memory").cast::<u32>();
        assert_eq!((at.read(), at.add(1).read()), (7, 8));
        gpu.device.unmap_memory(memory);
    }
}

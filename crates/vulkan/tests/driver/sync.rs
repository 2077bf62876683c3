//! Fences, semaphores, events and queries.

use std::time::{Duration, Instant};

use vulkanalia::prelude::v1_3::*;

use crate::fixture::Gpu;
use crate::kernel::{Buffer, none};

/// Longer than anything here takes.
const LONG: u64 = 60_000_000_000;

unsafe fn timeline(gpu: &Gpu, initial_value: u64) -> vk::Semaphore {
    let mut ty = vk::SemaphoreTypeCreateInfo {
        semaphore_type: vk::SemaphoreType::TIMELINE,
        initial_value,
        ..Default::default()
    };
    let info = vk::SemaphoreCreateInfo::builder().push_next(&mut ty);
    let semaphore = gpu.device.create_semaphore(&info, None).expect("a semaphore");
    gpu.later(move |device| device.destroy_semaphore(semaphore, None));
    semaphore
}

/// Submits a command buffer to a queue, between a wait and a signal.
unsafe fn submit(
    gpu: &Gpu,
    queue: usize,
    commands: vk::CommandBuffer,
    wait: Option<(vk::Semaphore, u64)>,
    signal: Option<(vk::Semaphore, u64)>,
) {
    let info = |&(semaphore, value): &(vk::Semaphore, u64)| vk::SemaphoreSubmitInfo {
        semaphore,
        value,
        stage_mask: vk::PipelineStageFlags2::ALL_COMMANDS,
        ..Default::default()
    };
    let (waits, signals): (Vec<_>, Vec<_>) =
        (wait.iter().map(info).collect(), signal.iter().map(info).collect());
    let buffers = [vk::CommandBufferSubmitInfo { command_buffer: commands, ..Default::default() }];
    let submit = vk::SubmitInfo2::builder()
        .wait_semaphore_infos(&waits)
        .command_buffer_infos(&buffers)
        .signal_semaphore_infos(&signals);
    gpu.device.queue_submit2(gpu.queues[queue], &[submit], vk::Fence::null()).expect("submitted");
}

unsafe fn wait_for(gpu: &Gpu, semaphore: vk::Semaphore, value: u64, nanoseconds: u64) -> vk::SuccessCode {
    let (semaphores, values) = ([semaphore], [value]);
    let info = vk::SemaphoreWaitInfo::builder().semaphores(&semaphores).values(&values);
    gpu.device.wait_semaphores(&info, nanoseconds).expect("a device")
}

/// A command buffer that copies a number.
unsafe fn copy(gpu: &Gpu, buffer: &Buffer, from: u64, to: u64) -> vk::CommandBuffer {
    let region = vk::BufferCopy { src_offset: from, dst_offset: to, size: 4 };
    gpu.primary(|commands| {
        gpu.device.cmd_copy_buffer(commands, buffer.buffer, buffer.buffer, &[region]);
        gpu.barrier(commands);
    })
}

cases! {
    /// A number goes from one queue to the other and back, in the order of a timeline and not of submission.
    fn timelines_order_queues(gpu) {
        let buffer = gpu.buffer_of(&[1_u32, 2, 3, 4]);
        let semaphore = timeline(gpu, 10);
        let steps = [copy(gpu, &buffer, 0, 4), copy(gpu, &buffer, 4, 8), copy(gpu, &buffer, 8, 12)];
        submit(gpu, 1, steps[1], Some((semaphore, 12)), Some((semaphore, 13)));
        submit(gpu, 0, steps[0], Some((semaphore, 11)), Some((semaphore, 12)));
        submit(gpu, 0, steps[2], Some((semaphore, 13)), Some((semaphore, 20)));
        assert_eq!(wait_for(gpu, semaphore, 12, 1_000_000), vk::SuccessCode::TIMEOUT);
        assert_eq!(gpu.device.get_semaphore_counter_value(semaphore), Ok(10));
        let go = vk::SemaphoreSignalInfo { semaphore, value: 11, ..Default::default() };
        gpu.device.signal_semaphore(&go).expect("signalled");
        assert_eq!(wait_for(gpu, semaphore, 20, LONG), vk::SuccessCode::SUCCESS);
        assert_eq!(buffer.read::<u32>(4), [1; 4]);
        assert_eq!(gpu.device.get_semaphore_counter_value(semaphore), Ok(20));
    }

    fn binary_semaphores_order_queues(gpu) {
        let buffer = gpu.buffer_of(&[1_u32, 2, 3, 4]);
        let info = vk::SemaphoreCreateInfo::default();
        let semaphore = gpu.device.create_semaphore(&info, None).expect("a semaphore");
        gpu.later(move |device| device.destroy_semaphore(semaphore, None));
        let steps = [copy(gpu, &buffer, 0, 4), copy(gpu, &buffer, 4, 8)];
        for _ in 0..20 {
            buffer.write(&[1_u32, 2, 3, 4]);
            submit(gpu, 0, steps[0], None, Some((semaphore, 0)));
            submit(gpu, 1, steps[1], Some((semaphore, 0)), None);
            gpu.device.device_wait_idle().expect("all is done");
            assert_eq!(buffer.read::<u32>(4), [1, 1, 1, 4]);
        }
    }

    /// The device waits for the host, and the host for the device.
    fn events_order_host_and_device(gpu) {
        let info = vk::EventCreateInfo::default();
        let [from_host, to_host] = [0; 2].map(|_| gpu.device.create_event(&info, None).expect("an event"));
        gpu.later(move |device| device.destroy_event(from_host, None));
        gpu.later(move |device| device.destroy_event(to_host, None));
        let buffer = gpu.buffer_of(&[0_u32; 2]);
        let commands = gpu.primary(|commands| {
            gpu.device.cmd_wait_events(
                commands,
                &[from_host],
                vk::PipelineStageFlags::HOST,
                vk::PipelineStageFlags::TRANSFER,
                none::<vk::MemoryBarrier>(),
                none::<vk::BufferMemoryBarrier>(),
                none::<vk::ImageMemoryBarrier>(),
            );
            gpu.device.cmd_fill_buffer(commands, buffer.buffer, 0, 4, 1);
            gpu.device.cmd_set_event(commands, to_host, vk::PipelineStageFlags::TRANSFER);
        });
        gpu.submit(commands, vk::Fence::null());
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(gpu.device.get_event_status(to_host), Ok(vk::SuccessCode::EVENT_RESET));
        assert_eq!(buffer.read::<u32>(1), [0]);
        gpu.device.set_event(from_host).expect("set");
        let start = Instant::now();
        while gpu.device.get_event_status(to_host) == Ok(vk::SuccessCode::EVENT_RESET) {
            assert!(start.elapsed() < Duration::from_nanos(LONG));
        }
        assert_eq!(buffer.read::<u32>(1), [1]);
    }

    fn fences_are_waited_for(gpu) {
        let [first, second] = [0; 2].map(|_| gpu.fence());
        let done = Ok(vk::SuccessCode::SUCCESS);
        let not_yet = Ok(vk::SuccessCode::TIMEOUT);
        let wait = |all, nanoseconds| gpu.device.wait_for_fences(&[first, second], all, nanoseconds);
        assert_eq!(gpu.device.get_fence_status(first), Ok(vk::SuccessCode::NOT_READY));
        assert_eq!(wait(false, 0), not_yet);
        let start = Instant::now();
        assert_eq!(wait(false, 5_000_000), not_yet);
        assert!(start.elapsed() >= Duration::from_millis(5));

        let commands = gpu.primary(|_nothing| ());
        gpu.submit(commands, second);
        assert_eq!(wait(false, LONG), done);
        assert_eq!(wait(true, 1_000_000), not_yet);
        assert_eq!(gpu.device.get_fence_status(second), done);
        gpu.submit(commands, first);
        assert_eq!(wait(true, LONG), done);
        gpu.device.reset_fences(&[first]).expect("reset");
        assert_eq!(wait(true, 0), not_yet);
        assert_eq!(wait(false, 0), done);
        // A submission of nothing signals, too.
        gpu.device.queue_submit(gpu.queues[0], none::<vk::SubmitInfo>(), first).expect("submitted");
        assert_eq!(wait(true, u64::MAX), done);
    }

    /// An application that asks again and again gets its answer.
    fn fences_can_be_polled(gpu) {
        let source = "
            layout(local_size_x = 64) in;
            layout(set = 0, binding = 0) buffer Data { uint x[]; };
            void main() { for (uint i = 0; i < 20000; ++i) atomicAdd(x[gl_WorkGroupID.x % 8], 1); }";
        let layout = gpu.storage_layout(1);
        let (kernel, data) = (gpu.kernel(source, &[layout]), gpu.buffer_of(&[0_u32; 8]));
        let set = gpu.set_of(layout, &[&data]);
        let commands = gpu.primary(|commands| {
            gpu.bind(commands, &kernel, &[set]);
            gpu.device.cmd_dispatch(commands, 8, 1, 1);
        });
        let fence = gpu.fence();
        gpu.submit(commands, fence);
        let start = Instant::now();
        while gpu.device.get_fence_status(fence) == Ok(vk::SuccessCode::NOT_READY) {
            assert!(start.elapsed() < Duration::from_nanos(LONG));
        }
        assert_eq!(data.read::<u32>(8), [64 * 20000; 8]);
    }

    fn timestamps_rise(gpu) {
        let info = vk::QueryPoolCreateInfo {
            query_type: vk::QueryType::TIMESTAMP,
            query_count: 3,
            ..Default::default()
        };
        let pool = gpu.device.create_query_pool(&info, None).expect("a query pool");
        gpu.later(move |device| device.destroy_query_pool(pool, None));
        gpu.device.reset_query_pool(pool, 0, 3);
        let buffer = gpu.buffer_of(&[0_u64; 2]);
        let stage = vk::PipelineStageFlags2::ALL_COMMANDS;
        gpu.execute(|commands| {
            gpu.device.cmd_write_timestamp2(commands, stage, pool, 0);
            gpu.device.cmd_fill_buffer(commands, buffer.buffer, 0, 16, 5);
            gpu.device.cmd_write_timestamp2(commands, stage, pool, 1);
            gpu.barrier(commands);
            let flags = vk::QueryResultFlags::_64 | vk::QueryResultFlags::WAIT;
            gpu.device.cmd_copy_query_pool_results(commands, pool, 0, 2, buffer.buffer, 0, 8, flags);
        });
        let mut bytes = [0; 48];
        let flags = vk::QueryResultFlags::_64 | vk::QueryResultFlags::WITH_AVAILABILITY;
        let code = gpu.device.get_query_pool_results(pool, 0, 3, &mut bytes, 16, flags);
        // The third is not available, and there was no flag to wait.
        assert_eq!(code, Ok(vk::SuccessCode::NOT_READY));
        let word = |at: usize| u64::from_le_bytes(bytes[8 * at..][..8].try_into().expect("eight bytes"));
        assert!(0 < word(0) && word(0) <= word(2));
        assert_eq!([word(1) != 0, word(3) != 0, word(5) != 0], [true, true, false]);
        assert_eq!(buffer.read::<u64>(2), [word(0), word(2)]);
    }
}

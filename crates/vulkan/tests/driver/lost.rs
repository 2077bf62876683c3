//! A shader that does not end.

use std::time::{Duration, Instant};

use vulkanalia::prelude::v1_3::*;

use crate::fixture::{self, TIMEOUT_SECONDS};
use crate::kernel::none;

cases! {
    /// The device is lost within the time that the user allows; the process goes on with another.
    fn an_endless_shader_loses_the_device(gpu) {
        let source = "
            layout(local_size_x = 1) in;
            layout(set = 0, binding = 0) buffer Data { uint x[]; };
            void main() { while (x[0] == 0) { atomicAdd(x[1], 1); } }";
        let layout = gpu.storage_layout(1);
        let (kernel, data) = (gpu.kernel(source, &[layout]), gpu.buffer_of(&[0_u32; 2]));
        let set = gpu.set_of(layout, &[&data]);
        // The layer takes what was submitted for pending until somebody waits for it with success.
        gpu.allow(" in use");
        let commands = gpu.primary(|commands| {
            gpu.bind(commands, &kernel, &[set]);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
        });
        let fence = gpu.fence();
        let start = Instant::now();
        gpu.submit(commands, fence);
        let lost = Err(vk::ErrorCode::DEVICE_LOST);
        assert_eq!(gpu.device.wait_for_fences(&[fence], true, u64::MAX), lost);
        let elapsed = start.elapsed();
        assert!(elapsed >= Duration::from_secs(TIMEOUT_SECONDS), "{elapsed:?}");
        assert!(elapsed < Duration::from_secs(TIMEOUT_SECONDS + 2), "{elapsed:?}");
        assert!(gpu.said().contains("the device is lost"), "{}", gpu.said());
        assert_eq!(gpu.device.queue_wait_idle(gpu.queues[0]), Err(vk::ErrorCode::DEVICE_LOST));
        let submitted = gpu.device.queue_submit(gpu.queues[0], none::<vk::SubmitInfo>(), vk::Fence::null());
        assert_eq!(submitted, Err(vk::ErrorCode::DEVICE_LOST));

        let next = fixture::create_device(&gpu.instance, gpu.physical, &[]).expect("another device");
        let queue = next.get_device_queue(0, 0);
        next.queue_submit(queue, none::<vk::SubmitInfo>(), vk::Fence::null()).expect("it works");
        next.queue_wait_idle(queue).expect("it works");
        next.destroy_device(None);
    }
}

//! Recording, submitting and waiting as an application does it.

use std::sync::OnceLock;

use super::super::{query as pools, queue as queues, sync as primitives};
use super::*;
use crate::core::buffer::Buffer;
use crate::core::instance::Instance;
use crate::core::memory::Memory;
use crate::core::queue::Queue;

/// A device with a queue, a command pool and a buffer of 256 bytes.
struct Fixture {
    core: Arc<Device>,
    device: vk::Device,
    queue: vk::Queue,
    pool: vk::CommandPool,
    buffer: vk::Buffer,
    range: Range,
}

/// Calls an entry point.
macro_rules! call {
    ($function:path, $($arg:expr),* $(,)?) => {
        // SAFETY: the arguments are valid, or what the entry point has to refuse.
        unsafe { $function($($arg),*) }
    };
}

impl Fixture {
    fn new() -> Self {
        let options = phalanx::DeviceOptions { threads: Some(2), ..Default::default() };
        let phalanx = Arc::new(phalanx::Device::new(&options).unwrap());
        let core = Arc::new(Device::new(Instance::new().unwrap().physical, phalanx));
        let memory = Arc::new(Memory::allocate(&core.phalanx, 256).unwrap());
        let range = Range::new(&memory, 0, 256).unwrap();
        let buffer = Buffer { size: 256, bound: OnceLock::from(range.clone()) };
        let buffer = vk::Buffer::from_raw(core.buffers.insert(Arc::new(buffer)));
        let queue = dispatchable::create(Queue::new(&core, 0, 0));
        let device = dispatchable::create(Arc::clone(&core));
        let mut pool = vk::CommandPool::null();
        let info = vk::CommandPoolCreateInfo::default();
        assert_eq!(
            call!(create_command_pool, device, &info, std::ptr::null(), &mut pool),
            vk::Result::SUCCESS
        );
        Self { core, device, queue, pool, buffer, range }
    }

    fn allocate<const N: usize>(&self) -> [vk::CommandBuffer; N] {
        let info = vk::CommandBufferAllocateInfo {
            command_pool: self.pool,
            command_buffer_count: N as u32,
            ..Default::default()
        };
        let mut buffers = [vk::CommandBuffer::null(); N];
        let result = call!(allocate_command_buffers, self.device, &info, buffers.as_mut_ptr());
        assert_eq!(result, vk::Result::SUCCESS);
        buffers
    }

    fn submit(&self, infos: &[vk::SubmitInfo], fence: vk::Fence) -> vk::Result {
        call!(queues::queue_submit, self.queue, infos.len() as u32, infos.as_ptr(), fence)
    }

    fn words(&self) -> [u32; 4] {
        let mut bytes = [0; 16];
        self.range.read(&mut bytes);
        std::array::from_fn(|i| u32::from_le_bytes(std::array::from_fn(|j| bytes[4 * i + j])))
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        call!(destroy_command_pool, self.device, self.pool, std::ptr::null());
        // SAFETY: nobody uses the handles any more.
        let _ended = unsafe {
            (dispatchable::destroy::<Queue>(self.queue), dispatchable::destroy::<Device>(self.device))
        };
    }
}

/// Records by `body`; gives what `vkEndCommandBuffer` returns.
fn record(buffer: vk::CommandBuffer, body: impl FnOnce()) -> vk::Result {
    let info = vk::CommandBufferBeginInfo::default();
    assert_eq!(call!(begin_command_buffer, buffer, &info), vk::Result::SUCCESS);
    body();
    call!(end_command_buffer, buffer)
}

#[test]
fn what_is_recorded_is_executed() {
    let fixture = Fixture::new();
    let [primary, secondary] = fixture.allocate();
    let to = fixture.buffer;
    let filled = record(secondary, || call!(action::cmd_fill_buffer, secondary, to, 0, 8, 3));
    assert_eq!(filled, vk::Result::SUCCESS);
    let recorded = record(primary, || {
        call!(action::cmd_update_buffer, primary, to, 8, 4, [9_u8, 0, 0, 0].as_ptr().cast());
        call!(action::cmd_execute_commands, primary, 1, &secondary);
        let region = vk::BufferCopy { src_offset: 8, dst_offset: 4, size: 4 };
        call!(action::cmd_copy_buffer, primary, to, to, 1, &region);
        let region = vk::BufferCopy2 { src_offset: 0, dst_offset: 12, size: 4, ..Default::default() };
        let info = vk::CopyBufferInfo2 {
            src_buffer: to,
            dst_buffer: to,
            region_count: 1,
            regions: &raw const region,
            ..Default::default()
        };
        call!(action::cmd_copy_buffer_2, primary, &info);
    });
    assert_eq!(recorded, vk::Result::SUCCESS);
    let mut fence = vk::Fence::null();
    let info = vk::FenceCreateInfo::default();
    call!(primitives::create_fence, fixture.device, &info, std::ptr::null(), &mut fence);
    let info =
        vk::SubmitInfo { command_buffer_count: 1, command_buffers: &raw const primary, ..Default::default() };
    for _ in 0..2 {
        assert_eq!(fixture.submit(&[info, info], fence), vk::Result::SUCCESS);
        let waited = call!(primitives::wait_for_fences, fixture.device, 1, &fence, vk::TRUE, u64::MAX);
        assert_eq!(waited, vk::Result::SUCCESS);
        assert_eq!(call!(primitives::get_fence_status, fixture.device, fence), vk::Result::SUCCESS);
        assert_eq!(fixture.words(), [3, 9, 9, 3]);
        assert_eq!(call!(primitives::reset_fences, fixture.device, 1, &fence), vk::Result::SUCCESS);
        assert_eq!(call!(primitives::get_fence_status, fixture.device, fence), vk::Result::NOT_READY);
    }
    call!(free_command_buffers, fixture.device, fixture.pool, 1, &secondary);
    call!(reset_command_pool, fixture.device, fixture.pool, vk::CommandPoolResetFlags::empty());
    let info =
        vk::SubmitInfo { command_buffer_count: 1, command_buffers: &raw const primary, ..Default::default() };
    assert_eq!(fixture.submit(&[info], fence), vk::Result::ERROR_UNKNOWN, "nothing is recorded any more");
    call!(primitives::destroy_fence, fixture.device, fence, std::ptr::null());
    assert_eq!(call!(primitives::get_fence_status, fixture.device, fence), vk::Result::ERROR_UNKNOWN);
}

#[test]
fn timelines_are_raised_by_host_and_queue() {
    let fixture = Fixture::new();
    let mut timeline = vk::Semaphore::null();
    let ty = vk::SemaphoreTypeCreateInfo {
        semaphore_type: vk::SemaphoreType::TIMELINE,
        initial_value: 5,
        ..Default::default()
    };
    let info = vk::SemaphoreCreateInfo { next: (&raw const ty).cast(), ..Default::default() };
    call!(primitives::create_semaphore, fixture.device, &info, std::ptr::null(), &mut timeline);
    let values = vk::TimelineSemaphoreSubmitInfo {
        wait_semaphore_value_count: 1,
        wait_semaphore_values: &6,
        signal_semaphore_value_count: 1,
        signal_semaphore_values: &7,
        ..Default::default()
    };
    let info = vk::SubmitInfo {
        next: (&raw const values).cast(),
        wait_semaphore_count: 1,
        wait_semaphores: &raw const timeline,
        signal_semaphore_count: 1,
        signal_semaphores: &raw const timeline,
        ..Default::default()
    };
    assert_eq!(fixture.submit(&[info], vk::Fence::null()), vk::Result::SUCCESS);
    let [wait, signal] =
        [7, 8].map(|value| vk::SemaphoreSubmitInfo { semaphore: timeline, value, ..Default::default() });
    let info = vk::SubmitInfo2 {
        wait_semaphore_info_count: 1,
        wait_semaphore_infos: &raw const wait,
        signal_semaphore_info_count: 1,
        signal_semaphore_infos: &raw const signal,
        ..Default::default()
    };
    let submitted = call!(queues::queue_submit_2, fixture.queue, 1, &info, vk::Fence::null());
    assert_eq!(submitted, vk::Result::SUCCESS);
    let wait = |value: u64, timeout| {
        let (semaphores, values) = (&raw const timeline, &raw const value);
        let info = vk::SemaphoreWaitInfo { semaphore_count: 1, semaphores, values, ..Default::default() };
        call!(primitives::wait_semaphores, fixture.device, &info, timeout)
    };
    assert_eq!((wait(5, 0), wait(6, 1_000_000)), (vk::Result::SUCCESS, vk::Result::TIMEOUT));
    let info = vk::SemaphoreSignalInfo { semaphore: timeline, value: 6, ..Default::default() };
    assert_eq!(call!(primitives::signal_semaphore, fixture.device, &info), vk::Result::SUCCESS);
    assert_eq!(wait(8, u64::MAX), vk::Result::SUCCESS);
    let mut value = 0;
    call!(primitives::get_semaphore_counter_value, fixture.device, timeline, &mut value);
    assert_eq!(value, 8);
    assert_eq!(call!(queues::queue_wait_idle, fixture.queue), vk::Result::SUCCESS);
}

#[test]
fn timestamps_are_read_by_the_host() {
    let fixture = Fixture::new();
    let [buffer] = fixture.allocate();
    let mut pool = vk::QueryPool::null();
    let mut info = vk::QueryPoolCreateInfo {
        query_type: vk::QueryType::PIPELINE_STATISTICS,
        query_count: 2,
        ..Default::default()
    };
    let refused = call!(pools::create_query_pool, fixture.device, &info, std::ptr::null(), &mut pool);
    assert_eq!(refused, vk::Result::ERROR_FEATURE_NOT_PRESENT);
    info.query_type = vk::QueryType::TIMESTAMP;
    call!(pools::create_query_pool, fixture.device, &info, std::ptr::null(), &mut pool);
    let recorded = record(buffer, || {
        call!(query::cmd_reset_query_pool, buffer, pool, 0, 2);
        call!(query::cmd_write_timestamp_2, buffer, vk::PipelineStageFlags2::COMPUTE_SHADER, pool, 1);
    });
    assert_eq!(recorded, vk::Result::SUCCESS);
    let info =
        vk::SubmitInfo { command_buffer_count: 1, command_buffers: &raw const buffer, ..Default::default() };
    fixture.submit(&[info], vk::Fence::null());
    let mut results = [0_u64; 4];
    let flags = vk::QueryResultFlags::_64 | vk::QueryResultFlags::WITH_AVAILABILITY;
    let wait = flags | vk::QueryResultFlags::WAIT;
    let mut read = |first, count, flags| {
        let size = size_of_val(&results);
        let data = results.as_mut_ptr().cast();
        let result =
            call!(pools::get_query_pool_results, fixture.device, pool, first, count, size, data, 16, flags);
        (result, results)
    };
    let (result, [time, available, ..]) = read(1, 1, wait);
    assert!(result == vk::Result::SUCCESS && time > 0 && available == 1);
    let (result, [_, available, again, also]) = read(0, 2, flags);
    assert_eq!((result, available, again, also), (vk::Result::NOT_READY, 0, time, 1));
    assert_eq!(read(1, 2, flags).0, vk::Result::ERROR_UNKNOWN, "the pool has no third query");
    call!(queues::queue_wait_idle, fixture.queue);
}

#[test]
fn invalid_commands_are_told_at_the_end() {
    let fixture = Fixture::new();
    let [buffer] = fixture.allocate();
    assert_eq!(call!(end_command_buffer, buffer), vk::Result::ERROR_UNKNOWN);
    let invalid: [&dyn Fn(); 6] = [
        &|| call!(action::cmd_dispatch, buffer, 1, 1, 1),
        &|| call!(action::cmd_fill_buffer, buffer, vk::Buffer::null(), 0, 4, 0),
        &|| call!(action::cmd_fill_buffer, buffer, fixture.buffer, 252, 8, 0),
        &|| call!(sync::cmd_set_event, buffer, vk::Event::from_raw(77), vk::PipelineStageFlags::empty()),
        &|| call!(query::cmd_reset_query_pool, buffer, vk::QueryPool::null(), 0, 1),
        &|| call!(bind::cmd_bind_pipeline, buffer, vk::PipelineBindPoint::COMPUTE, vk::Pipeline::null()),
    ];
    for command in invalid {
        assert_eq!(record(buffer, command), vk::Result::ERROR_UNKNOWN);
    }
    assert_eq!(record(buffer, || ()), vk::Result::SUCCESS);
    assert!(!fixture.core.is_lost());
}

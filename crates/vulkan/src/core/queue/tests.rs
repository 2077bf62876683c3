use super::*;

use crate::core::clock;
use crate::core::command::{Command, CommandBuffer, Recording};
use crate::core::descriptor::{Content, DescriptorSet, LayoutBinding, SetLayout, Slot, Write};
use crate::core::instance::Instance;
use crate::core::memory::{Memory, Range};
use crate::core::pipeline::Pipeline;
use crate::core::query::{Layout, QueryPool};
use crate::core::sync::Event;

/// Adds a push constant to the work-groups' elements.
const ADD: &str = "#version 450
    layout(local_size_x = 1) in;
    layout(set = 0, binding = 0) buffer Data { uint x[]; };
    layout(push_constant) uniform Push { uint term; };
    void main() { x[gl_WorkGroupID.x] += term; }";

/// Does not end.
const SPIN: &str = "#version 450
    layout(local_size_x = 1) in;
    layout(set = 0, binding = 0) buffer Data { volatile uint x[]; };
    void main() { while (x[0] == 0) {} }";

fn device_with(options: phalanx::DeviceOptions) -> Arc<Device> {
    let physical = Instance::new().unwrap().physical;
    Arc::new(Device::new(physical, Arc::new(phalanx::Device::new(&options).unwrap())))
}

fn device() -> Arc<Device> {
    device_with(phalanx::DeviceOptions { threads: Some(2), ..Default::default() })
}

fn memory(device: &Device, size: u64) -> Range {
    let memory = Arc::new(Memory::allocate(&device.phalanx, size).unwrap());
    Range::new(&memory, 0, size).unwrap()
}

fn words(range: &Range) -> Vec<u32> {
    let mut bytes = vec![0; range.size() as usize];
    range.read(&mut bytes);
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

fn pipeline(device: &Device, source: &str) -> Arc<Pipeline> {
    let spirv = phalanx::glsl::compile(source, &phalanx::glsl::GlslOptions::default()).unwrap();
    let module = device.phalanx.create_module(&spirv).unwrap();
    let pipeline = device.phalanx.create_pipeline(&phalanx::PipelineDescriptor::new(&module)).unwrap();
    Arc::new(Pipeline { pipeline, insides: None })
}

/// A set with a storage buffer.
fn set(device: &Device, buffer: &Range) -> Arc<DescriptorSet> {
    let binding = LayoutBinding {
        binding: 0,
        ty: vk::DescriptorType::STORAGE_BUFFER,
        count: 1,
        flags: vk::DescriptorBindingFlags::empty(),
        immutable: Vec::new(),
        first: 0,
        first_dynamic: None,
    };
    let layout = SetLayout::new(vk::DescriptorSetLayoutCreateFlags::empty(), vec![binding]);
    let set = DescriptorSet::new(&Arc::new(layout), None, &device.phalanx).unwrap();
    let slot = Slot::new(buffer.clone(), vk::WHOLE_SIZE);
    set.apply(&Write { binding: 0, element: 0, content: Content::Slots([Some(slot)].into_iter().collect()) });
    Arc::new(set)
}

fn record(
    device: &Arc<Device>,
    body: impl FnOnce(&mut Recording) -> Result<(), vk::Result>,
) -> Arc<Recorded> {
    let buffer = CommandBuffer::new(device);
    buffer.begin();
    buffer.record(body);
    buffer.end().unwrap();
    buffer.recorded().unwrap()
}

fn submission(recorded: &Arc<Recorded>) -> Submission {
    Submission { buffers: [Arc::clone(recorded)].into_iter().collect(), ..Submission::default() }
}

/// Submits and waits.
fn execute(device: &Arc<Device>, recorded: &Arc<Recorded>) {
    let queue = Queue::new(device, 0, 0);
    queue.submit([submission(recorded)]).unwrap();
    queue.wait_idle().unwrap();
}

#[test]
fn the_interpreter_runs_kernels_on_parts_of_memory() {
    let kind = phalanx::DeviceKind::Interpreter;
    let device = device_with(phalanx::DeviceOptions { kind, ..Default::default() });
    let whole = memory(&device, 1024);
    let part = whole.part(256, 16).unwrap();
    let (pipeline, set) = (pipeline(&device, ADD), set(&device, &part));
    let add = record(&device, |r| {
        r.bind_pipeline(pipeline);
        r.bind_sets(0, [Some(set)].into_iter(), &[])?;
        r.push_constants(0, &7_u32.to_le_bytes())?;
        r.dispatch([1, 0, 0], [8, 1, 1])
    });
    execute(&device, &add);
    execute(&device, &add);
    assert_eq!(words(&part), [0, 14, 14, 14]);
    assert_eq!(words(&whole).iter().sum::<u32>(), 42);
}

#[test]
fn a_timeline_orders_two_queues() {
    let device = device();
    let (a, b) = (memory(&device, 64), memory(&device, 64));
    let (first, second) = (Queue::new(&device, 0, 0), Queue::new(&device, 0, 1));
    let timeline = Arc::new(Semaphore::timeline(0));
    for round in 0..200_u32 {
        let value = 2 * u64::from(round);
        let copy = record(&device, |r| r.push(Command::Copy { from: a.clone(), to: b.clone() }));
        let fill = record(&device, |r| r.push(Command::Fill { to: a.clone(), word: round }));
        let mut late = submission(&copy);
        late.waits.push((Arc::clone(&timeline), value + 1));
        late.signals.push((Arc::clone(&timeline), value + 2));
        let mut early = submission(&fill);
        early.signals.push((Arc::clone(&timeline), value + 1));
        second.submit([late]).unwrap();
        first.submit([early]).unwrap();
        sync::wait(&device, u64::MAX, || timeline.value() == value + 2).unwrap();
        assert_eq!(words(&b), [round; 16]);
    }
}

#[test]
fn binary_semaphores_can_be_used_again() {
    let device = device();
    let (first, second) = (Queue::new(&device, 0, 0), Queue::new(&device, 0, 1));
    let buffer = memory(&device, 4);
    let pipeline = pipeline(&device, ADD);
    let set = set(&device, &buffer);
    let add = record(&device, |r| {
        r.bind_pipeline(pipeline);
        r.bind_sets(0, [Some(set)].into_iter(), &[])?;
        r.push_constants(0, &1_u32.to_le_bytes())?;
        r.dispatch([0; 3], [1; 3])
    });
    let [there, back] = [Arc::new(Semaphore::binary()), Arc::new(Semaphore::binary())];
    for round in 0..100 {
        let mut ping = submission(&add);
        if round > 0 {
            ping.waits.push((Arc::clone(&back), back.value_to_wait(0)));
        }
        ping.signals.push((Arc::clone(&there), there.value_to_signal(0)));
        first.submit([ping]).unwrap();
        let mut pong = submission(&add);
        pong.waits.push((Arc::clone(&there), there.value_to_wait(0)));
        pong.signals.push((Arc::clone(&back), back.value_to_signal(0)));
        second.submit([pong]).unwrap();
    }
    second.wait_idle().unwrap();
    assert_eq!(words(&buffer), [200]);
}

#[test]
fn waits_end_with_the_first_the_last_or_the_time() {
    let device = device();
    let queue = Queue::new(&device, 0, 0);
    let fences = [Arc::new(Fence::new(false)), Arc::new(Fence::new(false))];
    let any = |timeout| sync::wait(&device, timeout, || fences.iter().any(|fence| fence.is_signaled()));
    let all = |timeout| sync::wait(&device, timeout, || fences.iter().all(|fence| fence.is_signaled()));
    assert_eq!(any(0), Err(vk::Result::TIMEOUT));
    let start = Instant::now();
    assert_eq!(any(5_000_000), Err(vk::Result::TIMEOUT));
    assert!(start.elapsed() >= Duration::from_millis(5));
    queue.submit([Submission { fence: Some(Arc::clone(&fences[1])), ..Submission::default() }]).unwrap();
    assert_eq!(any(u64::MAX), Ok(()));
    assert_eq!(all(1_000), Err(vk::Result::TIMEOUT));
    assert!(fences[1].poll(&device.notifier) && !fences[0].poll(&device.notifier));
    queue.submit([Submission { fence: Some(Arc::clone(&fences[0])), ..Submission::default() }]).unwrap();
    assert_eq!(all(u64::MAX - 1), Ok(()));
    fences[0].reset();
    assert_eq!(all(0), Err(vk::Result::TIMEOUT));
}

#[test]
fn polling_a_fence_sees_its_signal() {
    let device = device();
    let queue = Queue::new(&device, 0, 0);
    let gate = Arc::new(Semaphore::timeline(0));
    let fence = Arc::new(Fence::new(false));
    let waits = [(Arc::clone(&gate), 1)].into_iter().collect();
    queue.submit([Submission { waits, fence: Some(Arc::clone(&fence)), ..Submission::default() }]).unwrap();
    let time = || clock::nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID);
    let (start, used) = (Instant::now(), time());
    while start.elapsed() < Duration::from_millis(50) {
        assert!(!fence.poll(&device.notifier));
    }
    assert!(time() - used < 25_000_000, "most of the time is left to others");
    gate.signal(1);
    device.notifier.notify();
    while !fence.poll(&device.notifier) {}
}

#[test]
fn the_host_sets_an_event_for_a_queue() {
    let device = device();
    let queue = Queue::new(&device, 0, 0);
    let (event, done) = (Arc::new(Event::default()), Arc::new(Event::default()));
    let buffer = memory(&device, 4);
    let recorded = record(&device, |r| {
        r.push(Command::WaitEvents { events: [Arc::clone(&event)].into() })?;
        r.push(Command::Fill { to: buffer.clone(), word: 7 })?;
        r.push(Command::SetEvent { event: Arc::clone(&event), set: false })?;
        r.push(Command::SetEvent { event: Arc::clone(&done), set: true })
    });
    queue.submit([submission(&recorded)]).unwrap();
    assert_eq!(sync::wait(&device, 2_000_000, || done.is_set()), Err(vk::Result::TIMEOUT));
    assert_eq!(words(&buffer), [0]);
    event.set(true);
    device.notifier.notify();
    sync::wait(&device, u64::MAX, || done.is_set()).unwrap();
    assert_eq!(words(&buffer), [7]);
    assert!(!event.is_set());
}

#[test]
fn a_command_buffer_is_recorded_again_while_it_is_executed() {
    let device = device();
    let queue = Queue::new(&device, 0, 0);
    let target = memory(&device, 4);
    let fill = |word| Command::Fill { to: target.clone(), word };
    let buffer = CommandBuffer::new(&device);
    assert!(buffer.recorded().is_none() && buffer.end().is_err());
    buffer.begin();
    buffer.record(|r| r.push(fill(1)));
    buffer.end().unwrap();
    let gate = Arc::new(Semaphore::timeline(0));
    let mut first = submission(&buffer.recorded().unwrap());
    first.waits.push((Arc::clone(&gate), 1));
    queue.submit([first]).unwrap();
    buffer.begin();
    assert!(buffer.recorded().is_none());
    buffer.record(|r| r.push(fill(2)));
    buffer.end().unwrap();
    gate.signal(1);
    device.notifier.notify();
    queue.wait_idle().unwrap();
    assert_eq!(words(&target), [1], "what was submitted stays as it was");
    execute(&device, &buffer.recorded().unwrap());
    assert_eq!(words(&target), [2]);
}

#[test]
fn failures_in_recording_come_at_its_end() {
    let device = device();
    let buffer = CommandBuffer::new(&device);
    buffer.begin();
    buffer.record(|r| r.dispatch([0; 3], [1; 3]));
    buffer.record(|r| r.push_constants(250, &[0; 8]));
    assert_eq!(buffer.end(), Err(vk::Result::ERROR_UNKNOWN), "there is no pipeline");
    assert!(buffer.recorded().is_none());
    buffer.begin();
    assert_eq!(buffer.end(), Ok(()));
}

#[test]
fn dispatches_see_what_was_bound_before_them() {
    let device = device();
    let [a, b] = [memory(&device, 32), memory(&device, 32)];
    let [set_a, set_b] = [set(&device, &a), set(&device, &b)];
    let pipeline = pipeline(&device, ADD);
    let term = |term: u32| term.to_le_bytes();
    let groups = memory(&device, 16);
    groups.write(&[[2_u8, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]].concat());
    let recorded = record(&device, |r| {
        r.bind_pipeline(pipeline);
        r.bind_sets(0, [Some(set_a)].into_iter(), &[])?;
        r.push_constants(0, &term(1))?;
        r.dispatch([0; 3], [8, 1, 1])?;
        r.push_constants(0, &term(1))?;
        r.barrier()?;
        r.dispatch([4, 0, 0], [2, 1, 1])?;
        r.dispatch([0; 3], [1, 0, 1])?;
        r.push_constants(0, &term(10))?;
        r.barrier()?;
        r.dispatch_indirect(groups.clone())?;
        r.bind_sets(0, [Some(set_b)].into_iter(), &[])?;
        r.dispatch([7, 0, 0], [1, 1, 1])?;
        r.bind_sets(0, [None].into_iter(), &[])?;
        r.dispatch([0; 3], [8, 1, 1])
    });
    let states: Vec<_> = recorded
        .commands
        .iter()
        .filter_map(|command| match command {
            Command::Dispatch { state, .. } | Command::DispatchIndirect { state, .. } => {
                Some(Arc::as_ptr(state))
            }
            _ => None,
        })
        .collect();
    assert!(states[0] == states[1] && states[1] == states[2], "nothing changed between them");
    assert!(states[2] != states[3] && states[3] != states[4]);
    execute(&device, &recorded);
    assert_eq!(words(&a), [11, 11, 1, 1, 2, 2, 1, 1]);
    assert_eq!(words(&b), [0, 0, 0, 0, 0, 0, 0, 10]);
    // Secondary command buffers are executed in place.
    let primary = record(&device, |r| {
        r.push(Command::Fill { to: groups.clone(), word: 1 })?;
        r.push(Command::Execute { secondary: recorded })
    });
    execute(&device, &primary);
    assert_eq!(words(&a), [22, 12, 2, 2, 4, 4, 2, 2]);
}

/// Each work-group takes the number of its right neighbour, of eight, and adds 1.
const PASS_ON: &str = "#version 450
    layout(local_size_x = 1) in;
    layout(set = 0, binding = 0) buffer Data { uint x[]; };
    layout(push_constant) uniform Push { uint from; uint to; };
    void main() { x[to + gl_WorkGroupID.x] = x[from + (gl_WorkGroupID.x + 1) % 8] + 1; }";

#[test]
fn what_stands_before_a_barrier_is_seen_behind_it() {
    const ROUNDS: u32 = 500;
    let options = phalanx::DeviceOptions { threads: Some(4), ..Default::default() };
    let device = device_with(options);
    let buffer = memory(&device, 64);
    buffer.write(&(0..8_u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
    let (pipeline, set) = (pipeline(&device, PASS_ON), set(&device, &buffer));
    let recorded = record(&device, |r| {
        r.bind_pipeline(pipeline);
        r.bind_sets(0, [Some(set)].into_iter(), &[])?;
        for round in 0..ROUNDS {
            let [from, to] = [8 * (round % 2), 8 * ((round + 1) % 2)];
            r.push_constants(0, &[from, to].map(u32::to_le_bytes).concat())?;
            // Seven dispatches, the last with two work-groups.
            (0..6).try_for_each(|x| r.dispatch([x, 0, 0], [1; 3]))?;
            r.dispatch([6, 0, 0], [2, 1, 1])?;
            r.barrier()?;
        }
        Ok(())
    });
    // Twice, so that the pipeline is known to be brief.
    for times in 1..3 {
        execute(&device, &recorded);
        let total = times * ROUNDS;
        let expected: Vec<u32> = (0..8).map(|x| (x + total) % 8 + total).collect();
        assert_eq!(words(&buffer)[..8], expected);
    }
}

#[test]
fn more_dispatches_than_fit_a_batch_run_without_barriers() {
    let device = device();
    let buffer = memory(&device, 4 * 300);
    let (pipeline, set) = (pipeline(&device, ADD), set(&device, &buffer));
    let part = |first: u32, last: u32| {
        record(&device, |r| {
            r.bind_pipeline(Arc::clone(&pipeline));
            r.bind_sets(0, [Some(Arc::clone(&set))].into_iter(), &[])?;
            for x in first..last {
                r.push_constants(0, &(x + 1).to_le_bytes())?;
                r.dispatch([x, 0, 0], [1; 3])?;
            }
            Ok(())
        })
    };
    // Those of a secondary command buffer and of two primary ones are in one row.
    let secondary = part(0, 100);
    let first = record(&device, |r| r.push(Command::Execute { secondary }));
    let second = part(100, 300);
    let queue = Queue::new(&device, 0, 0);
    let buffers = [first, second].into_iter().collect();
    queue.submit([Submission { buffers, ..Submission::default() }]).unwrap();
    queue.wait_idle().unwrap();
    assert_eq!(words(&buffer), (1..=300).collect::<Vec<_>>());
}

#[test]
fn commands_that_are_no_dispatches_come_after_those_before() {
    let device = device();
    let buffer = memory(&device, 16);
    let (pipeline, set) = (pipeline(&device, ADD), set(&device, &buffer));
    let event = Arc::new(Event::default());
    let pool = Arc::new(QueryPool::new(2).unwrap());
    let recorded = record(&device, |r| {
        r.bind_pipeline(pipeline);
        r.bind_sets(0, [Some(set)].into_iter(), &[])?;
        r.push_constants(0, &3_u32.to_le_bytes())?;
        r.push(Command::WriteTimestamp { pool: Arc::clone(&pool), query: 0 })?;
        r.dispatch([0; 3], [1; 3])?;
        r.dispatch([1, 0, 0], [1; 3])?;
        r.push(Command::WriteTimestamp { pool: Arc::clone(&pool), query: 1 })?;
        r.push(Command::Copy { from: buffer.part(0, 8).unwrap(), to: buffer.part(8, 8).unwrap() })?;
        r.dispatch([0; 3], [1; 3])?;
        r.push(Command::SetEvent { event: Arc::clone(&event), set: true })?;
        r.push(Command::WaitEvents { events: [Arc::clone(&event)].into() })?;
        r.dispatch([0; 3], [4, 1, 1])
    });
    for times in 1..50_u32 {
        buffer.fill(0);
        execute(&device, &recorded);
        assert_eq!(words(&buffer), [9, 6, 6, 6], "{times}");
        let mut stamps = Vec::new();
        let layout = Layout { stride: 8, flags: vk::QueryResultFlags::_64 };
        assert!(pool.results(0, 2, layout, |_, bytes| {
            stamps.push(u64::from_le_bytes(bytes.try_into().unwrap()));
        }));
        assert!(stamps[0] < stamps[1], "{stamps:?}");
    }
}

#[test]
fn a_failure_among_others_loses_the_device() {
    let timeout = Some(Duration::from_millis(50));
    let device = device_with(phalanx::DeviceOptions { threads: Some(2), timeout, ..Default::default() });
    let [data, zero] = [memory(&device, 16), memory(&device, 16)];
    let [add, spin] = [ADD, SPIN].map(|source| pipeline(&device, source));
    let [set_data, set_zero] = [set(&device, &data), set(&device, &zero)];
    let recorded = record(&device, |r| {
        r.bind_pipeline(add);
        r.bind_sets(0, [Some(set_data)].into_iter(), &[])?;
        r.push_constants(0, &1_u32.to_le_bytes())?;
        r.dispatch([0; 3], [1; 3])?;
        r.bind_pipeline(spin);
        r.bind_sets(0, [Some(set_zero)].into_iter(), &[])?;
        // As many that one after the other would take minutes.
        (0..5000).try_for_each(|_| r.dispatch([0; 3], [1; 3]))?;
        r.barrier()?;
        r.push(Command::Fill { to: data.part(4, 4).unwrap(), word: 1 })
    });
    let queue = Queue::new(&device, 0, 0);
    let fence = Arc::new(Fence::new(false));
    let start = Instant::now();
    queue.submit([Submission { fence: Some(Arc::clone(&fence)), ..submission(&recorded) }]).unwrap();
    let lost = Err(vk::Result::ERROR_DEVICE_LOST);
    assert_eq!(sync::wait(&device, u64::MAX, || fence.is_signaled()), lost);
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(words(&data), [1, 0, 0, 0]);
    queue.shut_down();
}

#[test]
fn transfers_move_bytes() {
    let device = device();
    let buffer = memory(&device, 32);
    let recorded = record(&device, |r| {
        r.push(Command::Update { to: buffer.clone(), bytes: (0..32).collect() })?;
        // Source and destination overlap.
        r.push(Command::Copy { from: buffer.part(0, 16).unwrap(), to: buffer.part(8, 16).unwrap() })?;
        r.push(Command::Fill { to: buffer.part(24, 7).unwrap(), word: u32::MAX })
    });
    execute(&device, &recorded);
    let mut bytes = [0; 32];
    buffer.read(&mut bytes);
    assert_eq!(bytes[..24], [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    assert_eq!(bytes[24..], [255, 255, 255, 255, 28, 29, 30, 31]);
}

#[test]
fn timestamps_rise_and_are_copied() {
    let device = device();
    let pool = Arc::new(QueryPool::new(2).unwrap());
    let results = memory(&device, 32);
    let layout = Layout { stride: 8, flags: vk::QueryResultFlags::_64 | vk::QueryResultFlags::WAIT };
    let to = results.clone();
    let recorded = record(&device, |r| {
        r.push(Command::ResetQueries { pool: Arc::clone(&pool), first: 0, count: 2 })?;
        r.push(Command::WriteTimestamp { pool: Arc::clone(&pool), query: 0 })?;
        r.push(Command::WriteTimestamp { pool: Arc::clone(&pool), query: 1 })?;
        r.push(Command::CopyQueries { pool: Arc::clone(&pool), first: 0, count: 2, to, layout })
    });
    execute(&device, &recorded);
    let mut bytes = [0; 32];
    results.read(&mut bytes);
    let times: Vec<_> =
        bytes.chunks_exact(8).map(|time| u64::from_le_bytes(time.try_into().unwrap())).collect();
    assert!(times[0] > 0 && times[0] <= times[1], "{times:?}");
    assert_eq!(times[2..], [0, 0]);
}

#[test]
fn a_kernel_that_does_not_end_loses_the_device() {
    let timeout = Some(Duration::from_millis(50));
    let device = device_with(phalanx::DeviceOptions { threads: Some(2), timeout, ..Default::default() });
    let buffer = memory(&device, 16);
    let (pipeline, set) = (pipeline(&device, SPIN), set(&device, &buffer));
    let recorded = record(&device, |r| {
        r.bind_pipeline(pipeline);
        r.bind_sets(0, [Some(set)].into_iter(), &[])?;
        r.dispatch([0; 3], [1; 3])
    });
    let (first, second) = (Queue::new(&device, 0, 0), Queue::new(&device, 0, 1));
    let [fence, other] = [Arc::new(Fence::new(false)), Arc::new(Fence::new(false))];
    let timeline = Arc::new(Semaphore::timeline(0));
    let mut stuck = submission(&recorded);
    stuck.fence = Some(Arc::clone(&fence));
    stuck.signals.push((Arc::clone(&timeline), 1));
    let mut waiting = Submission { fence: Some(Arc::clone(&other)), ..Submission::default() };
    waiting.waits.push((timeline, 1));
    second.submit([waiting]).unwrap();
    first.submit([stuck]).unwrap();
    let lost = Err(vk::Result::ERROR_DEVICE_LOST);
    assert_eq!(sync::wait(&device, u64::MAX, || fence.is_signaled()), lost);
    assert_eq!(sync::wait(&device, u64::MAX, || other.is_signaled()), lost);
    assert_eq!(second.wait_idle().and(first.submit([Submission::default()])), lost);
    first.shut_down();
    second.shut_down();
}

#[test]
fn a_queue_ends_although_it_waits_in_vain() {
    let device = device();
    let queue = Queue::new(&device, 0, 0);
    let fence = Arc::new(Fence::new(false));
    let waits = [(Arc::new(Semaphore::timeline(0)), 1)].into_iter().collect();
    queue.submit([Submission { waits, fence: Some(Arc::clone(&fence)), ..Submission::default() }]).unwrap();
    queue.shut_down();
    assert!(!fence.is_signaled() && !device.is_lost());
}

#[test]
fn a_queue_finishes_before_it_ends() {
    let device = device();
    let queue = Queue::new(&device, 0, 0);
    let fence = Arc::new(Fence::new(false));
    queue.submit((0..100).map(|_| Submission::default())).unwrap();
    queue.submit([Submission { fence: Some(Arc::clone(&fence)), ..Submission::default() }]).unwrap();
    queue.shut_down();
    assert!(fence.is_signaled());
}

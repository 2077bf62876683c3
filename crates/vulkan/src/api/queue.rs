//! Submitting to queues.

use std::ffi::c_void;
use std::sync::Arc;

use smallvec::SmallVec;
use vulkanalia_sys::{self as vk, Handle};

use super::entry::{self, Outcome, entries};
use super::{chain, dispatchable};
use crate::core::command::{CommandBuffer, Recorded};
use crate::core::device::Device;
use crate::core::queue::{Queue, SemaphoreValue, Submission};
use crate::core::sync::Semaphore;

chain::structures!(TimelineSemaphoreSubmitInfo = TIMELINE_SEMAPHORE_SUBMIT_INFO);

pub(super) const COMMANDS: &[entry::Command] = entry::commands![Device;
    PFN_vkQueueSubmit: queue_submit,
    PFN_vkQueueSubmit2: queue_submit_2,
    PFN_vkQueueSubmit2KHR: queue_submit_2,
    PFN_vkQueueWaitIdle: queue_wait_idle,
    PFN_vkQueueBindSparse: queue_bind_sparse,
];

/// Most calls submit one batch.
type Submissions = SmallVec<[Submission; 1]>;

fn semaphore(device: &Device, semaphore: vk::Semaphore) -> Result<Arc<Semaphore>, vk::Result> {
    device.semaphores.get(semaphore.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)
}

/// A semaphore with the value to wait for.
fn wait(device: &Device, handle: vk::Semaphore, value: u64) -> Result<SemaphoreValue, vk::Result> {
    let semaphore = semaphore(device, handle)?;
    let value = semaphore.value_to_wait(value);
    Ok((semaphore, value))
}

/// A semaphore with the value that it gets.
fn signal(device: &Device, handle: vk::Semaphore, value: u64) -> Result<SemaphoreValue, vk::Result> {
    let semaphore = semaphore(device, handle)?;
    let value = semaphore.value_to_signal(value);
    Ok((semaphore, value))
}

/// What was recorded in a command buffer.
///
/// # Safety
///
/// The handle is null or that of a command buffer.
unsafe fn recorded(handle: vk::CommandBuffer) -> Result<Arc<Recorded>, vk::Result> {
    // SAFETY: as this function's.
    let buffer = unsafe { dispatchable::object::<CommandBuffer>(handle) }?;
    // VUID-vkQueueSubmit-pCommandBuffers-00072
    buffer.recorded().ok_or(vk::Result::ERROR_UNKNOWN)
}

/// The waits and signals of a structure whose semaphores are arrays, with the values in its chain.
///
/// # Safety
///
/// A valid chain.
unsafe fn semaphores(
    device: &Device,
    next: *const c_void,
    waits: &[vk::Semaphore],
    signals: &[vk::Semaphore],
) -> Result<Submission, vk::Result> {
    // SAFETY: a valid chain.
    let values = unsafe { chain::find::<vk::TimelineSemaphoreSubmitInfo>(next) }.copied().unwrap_or_default();
    // SAFETY: valid arrays.
    let (wait_values, signal_values) = unsafe {
        let waits = chain::slice(values.wait_semaphore_values, values.wait_semaphore_value_count);
        (waits, chain::slice(values.signal_semaphore_values, values.signal_semaphore_value_count))
    };
    // The values of binary semaphores do not matter, and the arrays may be missing if there are no others.
    let with = |values: &[u64], index: usize| values.get(index).copied().unwrap_or_default();
    let waits = waits.iter().enumerate().map(|(i, &handle)| wait(device, handle, with(wait_values, i)));
    let waits = waits.collect::<Result<_, _>>()?;
    let signals =
        signals.iter().enumerate().map(|(i, &handle)| signal(device, handle, with(signal_values, i)));
    let signals = signals.collect::<Result<_, _>>()?;
    Ok(Submission { waits, signals, ..Submission::default() })
}

/// Puts submissions in line, with a fence for the end of them all.
fn submit(queue: &Queue, device: &Device, mut submissions: Submissions, fence: vk::Fence) -> Outcome {
    if !fence.is_null() {
        let fence = device.fences.get(fence.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
        match submissions.last_mut() {
            Some(last) => last.fence = Some(fence),
            None => submissions.push(Submission { fence: Some(fence), ..Submission::default() }),
        }
    }
    queue.submit(submissions)
}

/// A batch of `vkQueueSubmit`.
///
/// # Safety
///
/// A valid structure.
unsafe fn batch(device: &Device, info: &vk::SubmitInfo) -> Result<Submission, vk::Result> {
    // SAFETY: valid arrays.
    let (waits, buffers, signals) = unsafe {
        (
            chain::slice(info.wait_semaphores, info.wait_semaphore_count),
            chain::slice(info.command_buffers, info.command_buffer_count),
            chain::slice(info.signal_semaphores, info.signal_semaphore_count),
        )
    };
    // SAFETY: valid command buffers.
    let buffers = buffers.iter().map(|&buffer| unsafe { recorded(buffer) }).collect::<Result<_, _>>()?;
    // SAFETY: a valid chain.
    Ok(Submission { buffers, ..unsafe { semaphores(device, info.next, waits, signals) }? })
}

/// A batch of `vkQueueSubmit2`.
///
/// # Safety
///
/// A valid structure.
unsafe fn batch_2(device: &Device, info: &vk::SubmitInfo2) -> Result<Submission, vk::Result> {
    // SAFETY: valid arrays.
    let (waits, buffers, signals) = unsafe {
        (
            chain::slice(info.wait_semaphore_infos, info.wait_semaphore_info_count),
            chain::slice(info.command_buffer_infos, info.command_buffer_info_count),
            chain::slice(info.signal_semaphore_infos, info.signal_semaphore_info_count),
        )
    };
    // SAFETY: valid command buffers.
    let buffers =
        buffers.iter().map(|info| unsafe { recorded(info.command_buffer) }).collect::<Result<_, _>>()?;
    let waits =
        waits.iter().map(|info| wait(device, info.semaphore, info.value)).collect::<Result<_, _>>()?;
    let signals =
        signals.iter().map(|info| signal(device, info.semaphore, info.value)).collect::<Result<_, _>>()?;
    Ok(Submission { waits, buffers, signals, fence: None })
}

entries! {
    /// Submits batches of command buffers.
    fn queue_submit(
        queue: vk::Queue,
        count: u32,
        submits: *const vk::SubmitInfo,
        fence: vk::Fence,
    ) -> vk::Result {
        // SAFETY: a valid queue, and a valid array.
        let (queue, infos) = unsafe { (dispatchable::object::<Queue>(queue)?, chain::slice(submits, count)) };
        let device = queue.device()?;
        // SAFETY: valid structures.
        let batches = infos.iter().map(|info| unsafe { batch(&device, info) });
        submit(queue, &device, batches.collect::<Result<_, _>>()?, fence)
    }

    /// Submits batches of command buffers.
    fn queue_submit_2(
        queue: vk::Queue,
        count: u32,
        submits: *const vk::SubmitInfo2,
        fence: vk::Fence,
    ) -> vk::Result {
        // SAFETY: a valid queue, and a valid array.
        let (queue, infos) = unsafe { (dispatchable::object::<Queue>(queue)?, chain::slice(submits, count)) };
        let device = queue.device()?;
        // SAFETY: valid structures.
        let batches = infos.iter().map(|info| unsafe { batch_2(&device, info) });
        submit(queue, &device, batches.collect::<Result<_, _>>()?, fence)
    }

    /// Waits until a queue has nothing to do.
    fn queue_wait_idle(queue: vk::Queue) -> vk::Result {
        // SAFETY: a valid queue.
        unsafe { dispatchable::object::<Queue>(queue) }?.wait_idle()
    }

    /// Waits and signals, and binds nothing: there are no sparse resources (VUID-vkQueueBindSparse-queuetype).
    fn queue_bind_sparse(
        queue: vk::Queue,
        count: u32,
        infos: *const vk::BindSparseInfo,
        fence: vk::Fence,
    ) -> vk::Result {
        // SAFETY: a valid queue, and a valid array.
        let (queue, infos) = unsafe { (dispatchable::object::<Queue>(queue)?, chain::slice(infos, count)) };
        let device = queue.device()?;
        if infos.iter().any(|info| [info.buffer_bind_count, info.image_opaque_bind_count, info.image_bind_count] != [0; 3]) {
            return Err(vk::Result::ERROR_FEATURE_NOT_PRESENT);
        }
        let batches = infos.iter().map(|info| {
            // SAFETY: valid arrays, and a valid chain.
            unsafe {
                let waits = chain::slice(info.wait_semaphores, info.wait_semaphore_count);
                let signals = chain::slice(info.signal_semaphores, info.signal_semaphore_count);
                semaphores(&device, info.next, waits, signals)
            }
        });
        submit(queue, &device, batches.collect::<Result<_, _>>()?, fence)
    }
}

//! Barriers and events.

use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use super::super::chain;
use super::super::entry::{Outcome, entries};
use super::record;
use crate::core::command::{Command, Recording};
use crate::core::device::Device;
use crate::core::sync::Event;

fn event(device: &Device, event: vk::Event) -> Result<Arc<Event>, vk::Result> {
    device.events.get(event.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)
}

/// Records that an event is set or reset. All commands before are done then, whatever their stages.
fn set_event(device: &Device, recording: &mut Recording, handle: vk::Event, set: bool) -> Outcome {
    recording.push(Command::SetEvent { event: event(device, handle)?, set })
}

fn wait_events(device: &Device, recording: &mut Recording, events: &[vk::Event]) -> Outcome {
    let events: Result<_, _> = events.iter().map(|&handle| event(device, handle)).collect();
    recording.push(Command::WaitEvents { events: events? })
}

entries! {
    /// Orders all commands before it before those after it.
    fn cmd_pipeline_barrier(
        buffer: vk::CommandBuffer,
        _from: vk::PipelineStageFlags,
        _to: vk::PipelineStageFlags,
        _flags: vk::DependencyFlags,
        _memory_count: u32,
        _memory: *const vk::MemoryBarrier,
        _buffer_count: u32,
        _buffers: *const vk::BufferMemoryBarrier,
        _image_count: u32,
        _images: *const vk::ImageMemoryBarrier,
    ) {
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |_device, recording| recording.barrier()) };
    }

    /// Orders all commands before it before those after it.
    fn cmd_pipeline_barrier_2(buffer: vk::CommandBuffer, _info: *const vk::DependencyInfo) {
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |_device, recording| recording.barrier()) };
    }

    /// Sets an event.
    fn cmd_set_event(buffer: vk::CommandBuffer, event: vk::Event, _stages: vk::PipelineStageFlags) {
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |device, recording| set_event(device, recording, event, true)) };
    }

    /// Sets an event.
    fn cmd_set_event_2(buffer: vk::CommandBuffer, event: vk::Event, _info: *const vk::DependencyInfo) {
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |device, recording| set_event(device, recording, event, true)) };
    }

    /// Resets an event.
    fn cmd_reset_event(buffer: vk::CommandBuffer, event: vk::Event, _stages: vk::PipelineStageFlags) {
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |device, recording| set_event(device, recording, event, false)) };
    }

    /// Resets an event.
    fn cmd_reset_event_2(buffer: vk::CommandBuffer, event: vk::Event, _stages: vk::PipelineStageFlags2) {
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |device, recording| set_event(device, recording, event, false)) };
    }

    /// Waits for events.
    fn cmd_wait_events(
        buffer: vk::CommandBuffer,
        count: u32,
        events: *const vk::Event,
        _from: vk::PipelineStageFlags,
        _to: vk::PipelineStageFlags,
        _memory_count: u32,
        _memory: *const vk::MemoryBarrier,
        _buffer_count: u32,
        _buffers: *const vk::BufferMemoryBarrier,
        _image_count: u32,
        _images: *const vk::ImageMemoryBarrier,
    ) {
        // SAFETY: a valid array.
        let events = unsafe { chain::slice(events, count) };
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |device, recording| wait_events(device, recording, events)) };
    }

    /// Waits for events.
    fn cmd_wait_events_2(
        buffer: vk::CommandBuffer,
        count: u32,
        events: *const vk::Event,
        _infos: *const vk::DependencyInfo,
    ) {
        // SAFETY: a valid array.
        let events = unsafe { chain::slice(events, count) };
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |device, recording| wait_events(device, recording, events)) };
    }
}

//! Queries in command buffers.

use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use super::super::entry::{Outcome, entries};
use super::{range, record};
use crate::core::command::{Command, Recording};
use crate::core::device::Device;
use crate::core::query::{Layout, QueryPool};

/// The pool of a handle, if these queries are in it.
fn pool(device: &Device, pool: vk::QueryPool, first: u32, count: u32) -> Result<Arc<QueryPool>, vk::Result> {
    let pool = device.query_pools.get(pool.as_raw());
    pool.filter(|pool| pool.has(first, count)).ok_or(vk::Result::ERROR_UNKNOWN)
}

/// Records a timestamp. All commands before are done then, whatever the stage.
fn write_timestamp(device: &Device, recording: &mut Recording, handle: vk::QueryPool, query: u32) -> Outcome {
    let pool = pool(device, handle, query, 1)?;
    recording.push(Command::WriteTimestamp { pool, query })
}

entries! {
    /// Makes queries unavailable.
    fn cmd_reset_query_pool(buffer: vk::CommandBuffer, pool: vk::QueryPool, first: u32, count: u32) {
        // SAFETY: a valid command buffer.
        unsafe {
            record(buffer, |device, recording| {
                let pool = self::pool(device, pool, first, count)?;
                recording.push(Command::ResetQueries { pool, first, count })
            });
        }
    }

    /// Begins a query: of a type that the queues do not have (VUID-vkCmdBeginQuery-queryType-02804,
    /// VUID-vkCmdBeginQuery-queryType-00803).
    fn cmd_begin_query(
        buffer: vk::CommandBuffer,
        _pool: vk::QueryPool,
        _query: u32,
        _flags: vk::QueryControlFlags,
    ) {
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |_device, _recording| Err(vk::Result::ERROR_UNKNOWN)) };
    }

    /// Ends a query, which cannot have begun.
    fn cmd_end_query(buffer: vk::CommandBuffer, _pool: vk::QueryPool, _query: u32) {
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |_device, _recording| Err(vk::Result::ERROR_UNKNOWN)) };
    }

    /// Writes a timestamp.
    fn cmd_write_timestamp(
        buffer: vk::CommandBuffer,
        _stage: vk::PipelineStageFlags,
        pool: vk::QueryPool,
        query: u32,
    ) {
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |device, recording| write_timestamp(device, recording, pool, query)) };
    }

    /// Writes a timestamp.
    fn cmd_write_timestamp_2(
        buffer: vk::CommandBuffer,
        _stage: vk::PipelineStageFlags2,
        pool: vk::QueryPool,
        query: u32,
    ) {
        // SAFETY: a valid command buffer.
        unsafe { record(buffer, |device, recording| write_timestamp(device, recording, pool, query)) };
    }

    /// Copies results to a buffer.
    fn cmd_copy_query_pool_results(
        buffer: vk::CommandBuffer,
        pool: vk::QueryPool,
        first: u32,
        count: u32,
        to: vk::Buffer,
        offset: vk::DeviceSize,
        stride: vk::DeviceSize,
        flags: vk::QueryResultFlags,
    ) {
        // SAFETY: a valid command buffer.
        unsafe {
            record(buffer, |device, recording| {
                let pool = self::pool(device, pool, first, count)?;
                let to = range(device, to, offset, vk::WHOLE_SIZE)?;
                let layout = Layout { stride, flags };
                recording.push(Command::CopyQueries { pool, first, count, to, layout })
            });
        }
    }
}

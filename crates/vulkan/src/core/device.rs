//! Logical devices.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use vulkanalia_sys as vk;

use crate::core::buffer::Buffer;
use crate::core::command::CommandPool;
use crate::core::descriptor::{DescriptorPool, DescriptorSet, PipelineLayout, SetLayout, UpdateTemplate};
use crate::core::image::{BufferView, Image, ImageView};
use crate::core::instance::PhysicalDevice;
use crate::core::memory::{Memory, Range};
use crate::core::pipeline::{Pipeline, PipelineCache, ShaderModule};
use crate::core::query::QueryPool;
use crate::core::queue::Queue;
use crate::core::sampler::Sampler;
use crate::core::sync::{Event, Fence, Notifier, Semaphore};
use crate::core::table::Table;

/// A logical device and all that was created from it.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) physical: Arc<PhysicalDevice>,
    /// What compiles and runs kernels.
    pub(crate) phalanx: Arc<phalanx::Device>,
    /// Wakes those who wait for fences, semaphores and events.
    pub(crate) notifier: Notifier,
    lost: AtomicBool,
    /// The extensions that are enabled, those of the instance not among them.
    extensions: Vec<&'static str>,
    /// The queues that it was created with.
    pub(crate) queues: OnceLock<Vec<QueueEntry>>,

    pub(crate) memories: Table<Memory>,
    pub(crate) buffers: Table<Buffer>,
    pub(crate) buffer_views: Table<BufferView>,
    pub(crate) images: Table<Image>,
    pub(crate) image_views: Table<ImageView>,
    pub(crate) samplers: Table<Sampler>,
    pub(crate) set_layouts: Table<SetLayout>,
    pub(crate) pipeline_layouts: Table<PipelineLayout>,
    pub(crate) templates: Table<UpdateTemplate>,
    pub(crate) descriptor_pools: Table<DescriptorPool>,
    pub(crate) sets: Table<DescriptorSet>,
    pub(crate) modules: Table<ShaderModule>,
    pub(crate) caches: Table<PipelineCache>,
    pub(crate) pipelines: Table<Pipeline>,
    pub(crate) command_pools: Table<CommandPool>,
    pub(crate) fences: Table<Fence>,
    pub(crate) semaphores: Table<Semaphore>,
    pub(crate) events: Table<Event>,
    pub(crate) query_pools: Table<QueryPool>,
    pub(crate) private_data: Table<PrivateData>,
}

/// A queue of a device.
#[derive(Debug)]
pub(crate) struct QueueEntry {
    pub(crate) family: u32,
    pub(crate) index: u32,
    pub(crate) flags: vk::DeviceQueueCreateFlags,
    pub(crate) queue: Arc<Queue>,
    /// Its dispatchable handle.
    pub(crate) handle: usize,
}

/// A number of the application for each object that it gave one (a *private data slot*).
#[derive(Debug, Default)]
pub(crate) struct PrivateData {
    values: Mutex<BTreeMap<(i32, u64), u64>>,
}

impl PrivateData {
    /// The number of an object; 0 if it was given none.
    pub(crate) fn get(&self, ty: vk::ObjectType, object: u64) -> u64 {
        self.lock().get(&(ty.as_raw(), object)).copied().unwrap_or_default()
    }

    /// Gives an object a number.
    pub(crate) fn set(&self, ty: vk::ObjectType, object: u64, value: u64) {
        self.lock().insert((ty.as_raw(), object), value);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(i32, u64), u64>> {
        // Nothing under this lock panics half-way through a change.
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Device {
    /// A device without objects.
    pub(crate) fn new(physical: Arc<PhysicalDevice>, phalanx: Arc<phalanx::Device>) -> Self {
        Self {
            physical,
            phalanx,
            notifier: Notifier::default(),
            lost: AtomicBool::new(false),
            extensions: Vec::new(),
            queues: OnceLock::new(),
            memories: Table::default(),
            buffers: Table::default(),
            buffer_views: Table::default(),
            images: Table::default(),
            image_views: Table::default(),
            samplers: Table::default(),
            set_layouts: Table::default(),
            pipeline_layouts: Table::default(),
            templates: Table::default(),
            descriptor_pools: Table::default(),
            sets: Table::default(),
            modules: Table::default(),
            caches: Table::default(),
            pipelines: Table::default(),
            command_pools: Table::default(),
            fences: Table::default(),
            semaphores: Table::default(),
            events: Table::default(),
            query_pools: Table::default(),
            private_data: Table::default(),
        }
    }

    /// The same device, with these extensions enabled.
    pub(crate) fn with_extensions(self, extensions: Vec<&'static str>) -> Self {
        Self { extensions, ..self }
    }

    /// Whether the device is lost: a dispatch did not end, and what depends on it never
    /// happens. So is the device of a process for the copies that `fork` makes of the process: they have none of its threads.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire) || self.phalanx.is_forked()
    }

    /// Loses the device; whoever waits for something of it is woken.
    pub(crate) fn lose(&self) {
        self.lost.store(true, Ordering::Release);
        self.notifier.notify();
    }

    /// Whether an extension is enabled, for the device or its instance.
    pub(crate) fn has_extension(&self, name: &str) -> bool {
        self.extensions.contains(&name) || self.physical.extensions.contains(&name)
    }

    /// The queues that it was created with.
    pub(crate) fn queues(&self) -> &[QueueEntry] {
        self.queues.get().map_or(&[], Vec::as_slice)
    }

    /// So many bytes of device memory at an address, if all of them are in one allocation.
    pub(crate) fn memory_at(&self, address: u64, bytes: u64) -> Option<Range> {
        let offset = |memory: &Memory| {
            let offset = address.checked_sub(memory.address())?;
            (bytes <= memory.size().checked_sub(offset)?).then_some(offset)
        };
        let memory = self.memories.find(|memory| offset(memory).is_some())?;
        Range::new(&memory, offset(&memory)?, bytes)
    }

    /// Tells the application's messengers something.
    pub(crate) fn message(&self, severity: vk::DebugUtilsMessageSeverityFlagsEXT, text: &str) {
        self.physical.messengers.message(severity, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_data_are_zero_until_set() {
        let data = PrivateData::default();
        assert_eq!(data.get(vk::ObjectType::BUFFER, 1), 0);
        data.set(vk::ObjectType::BUFFER, 1, 7);
        assert_eq!(data.get(vk::ObjectType::BUFFER, 1), 7);
        assert_eq!(data.get(vk::ObjectType::IMAGE, 1), 0, "handles of different types may be equal");
    }
}

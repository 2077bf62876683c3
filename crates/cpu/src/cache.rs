//! Pipelines cached by content, in memory, the least recently used ones leaving first; on request compiled code is also
//! kept on disk.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use phalanx_host::{CacheKey, CodeDirectory, SealedCode};
use rustc_hash::FxHashMap;

use crate::pipeline::Pipeline;

/// Most pipelines kept in memory.
const MAX_PIPELINES: usize = 512;

/// Most bytes of object files whose pipelines are kept in memory.
const MAX_OBJECT_BYTES: usize = 16 << 20;

/// The caches of a device.
#[derive(Debug)]
pub(crate) struct Cache {
    memory: Mutex<Memory>,
    disk: Option<CodeDirectory>,
}

#[derive(Debug, Default)]
struct Memory {
    pipelines: FxHashMap<CacheKey, Entry>,
    object_bytes: usize,
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    pipeline: Arc<Pipeline>,
    last_use: u64,
}

impl Cache {
    /// An empty cache, with a directory if one is given.
    pub(crate) fn new(directory: Option<PathBuf>) -> Self {
        Self { memory: Mutex::default(), disk: directory.map(CodeDirectory::new) }
    }

    /// A pipeline from memory.
    pub(crate) fn get(&self, key: &CacheKey) -> Option<Arc<Pipeline>> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.clock += 1;
        let now = memory.clock;
        let entry = memory.pipelines.get_mut(key)?;
        entry.last_use = now;
        Some(Arc::clone(&entry.pipeline))
    }

    /// Keeps a pipeline in memory. If another thread was quicker, gives that thread's.
    pub(crate) fn insert(&self, key: CacheKey, pipeline: Arc<Pipeline>) -> Arc<Pipeline> {
        if let Some(other) = self.get(&key) {
            return other;
        }
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.insert(key, &pipeline);
        pipeline
    }

    /// Compiled code from disk.
    pub(crate) fn read(&self, key: &CacheKey) -> Option<SealedCode> {
        self.disk.as_ref()?.read(key)
    }

    /// Keeps compiled code on disk. A directory that cannot be written costs only the benefit.
    pub(crate) fn write(&self, code: &SealedCode) {
        if let Some(disk) = &self.disk {
            disk.write(code);
        }
    }
}

impl Memory {
    fn insert(&mut self, key: CacheKey, pipeline: &Arc<Pipeline>) {
        let bytes = pipeline.object_bytes();
        while !self.pipelines.is_empty()
            && (self.pipelines.len() >= MAX_PIPELINES || self.object_bytes + bytes > MAX_OBJECT_BYTES)
        {
            self.evict();
        }
        self.object_bytes += bytes;
        let entry = Entry { pipeline: Arc::clone(pipeline), last_use: self.clock };
        if let Some(old) = self.pipelines.insert(key, entry) {
            self.object_bytes -= old.pipeline.object_bytes();
        }
    }

    /// Forgets the pipeline that was not used for longest. Who still holds it keeps it alive.
    fn evict(&mut self) {
        let oldest = self.pipelines.iter().min_by_key(|(_, entry)| entry.last_use).map(|(key, _)| *key);
        if let Some(entry) = oldest.and_then(|key| self.pipelines.remove(&key)) {
            self.object_bytes -= entry.pipeline.object_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn the_least_recently_used_leaves_first() {
        let cache = Cache::new(None);
        let pipeline = testing::pipeline(testing::EMPTY);
        let key = |index: usize| CacheKey::new(&[&index.to_le_bytes()]);
        for index in 0..=MAX_PIPELINES {
            cache.insert(key(index), Arc::clone(&pipeline));
            assert!(cache.get(&key(0)).is_some(), "{index}");
        }
        assert!(cache.get(&key(1)).is_none());
        assert!(cache.get(&key(2)).is_some());
    }

    #[test]
    fn the_first_of_two_pipelines_stays() {
        let cache = Cache::new(None);
        let [first, second] = [(); 2].map(|()| testing::pipeline(testing::EMPTY));
        let key = CacheKey::new(&[]);
        assert!(Arc::ptr_eq(&cache.insert(key, Arc::clone(&first)), &first));
        assert!(Arc::ptr_eq(&cache.insert(key, second), &first));
    }
}

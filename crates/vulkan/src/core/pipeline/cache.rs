//! Pipeline caches: compiled code by its key.
//!
//! As data a cache is the header that Vulkan prescribes, then for each piece of code its length and its bytes
//! with key and seal. Data of another device are ignored, and damaged data from there on; code of another
//! build is never asked for. Data may have come to the application from anywhere: code that no process of this
//! user sealed is taken for damaged, whatever its key (see `SealedCode`).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use phalanx::{CacheKey, SealedCode};
use vulkanalia_sys as vk;

/// Bytes of the header (`VkPipelineCacheHeaderVersionOne`).
const HEADER_BYTES: usize = 32;

/// Bytes of a length.
const LENGTH_BYTES: usize = 8;

/// The device, as the header of data names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) vendor_id: u32,
    pub(crate) device_id: u32,
    pub(crate) uuid: [u8; vk::UUID_SIZE],
}

impl Identity {
    fn header(&self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        let version = vk::PipelineCacheHeaderVersion::ONE.as_raw().cast_unsigned();
        let words = [HEADER_BYTES as u32, version, self.vendor_id, self.device_id];
        let bytes = words.map(u32::to_le_bytes);
        let bytes = bytes.as_flattened().iter().chain(&self.uuid);
        header.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
        header
    }
}

/// A cache of pipelines.
#[derive(Debug, Default)]
pub(crate) struct PipelineCache {
    codes: Mutex<BTreeMap<CacheKey, SealedCode>>,
}

impl PipelineCache {
    /// A cache with what the data hold.
    pub(crate) fn from_data(identity: &Identity, data: &[u8]) -> Self {
        let cache = Self::default();
        let Some(mut rest) = data.strip_prefix(&identity.header()) else { return cache };
        while let Some((length, bytes)) = rest.split_first_chunk::<LENGTH_BYTES>() {
            let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
            let Some((code, others)) = bytes.split_at_checked(length) else { break };
            let Some(code) = SealedCode::from_bytes(code) else { break };
            cache.insert(&code);
            rest = others;
        }
        cache
    }

    /// The code of a key.
    pub(crate) fn get(&self, key: &CacheKey) -> Option<SealedCode> {
        self.lock().get(key).cloned()
    }

    /// Keeps code.
    pub(crate) fn insert(&self, code: &SealedCode) {
        self.lock().entry(*code.key()).or_insert_with(|| code.clone());
    }

    /// Adds what another cache holds.
    pub(crate) fn merge(&self, other: &Self) {
        // Not both locks at once: another thread may merge the other way round.
        let codes: Vec<_> = other.lock().values().cloned().collect();
        codes.iter().for_each(|code| self.insert(code));
    }

    /// Bytes of all its data.
    pub(crate) fn data_size(&self) -> usize {
        HEADER_BYTES + self.lock().values().map(|code| LENGTH_BYTES + code.as_bytes().len()).sum::<usize>()
    }

    /// Its data, as much as fits: the header and whole codes, or nothing. And whether that is all.
    pub(crate) fn data(&self, identity: &Identity, room: usize) -> (Vec<u8>, bool) {
        if room < HEADER_BYTES {
            return (Vec::new(), false);
        }
        let mut data = identity.header().to_vec();
        for code in self.lock().values() {
            let code = code.as_bytes();
            if data.len() + LENGTH_BYTES + code.len() > room {
                return (data, false);
            }
            data.extend((code.len() as u64).to_le_bytes());
            data.extend(code);
        }
        (data, true)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<CacheKey, SealedCode>> {
        // Nothing under this lock panics half-way through a change.
        self.codes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDENTITY: Identity = Identity { vendor_id: 1, device_id: 2, uuid: [3; vk::UUID_SIZE] };

    fn codes(cache: &PipelineCache) -> Vec<SealedCode> {
        cache.lock().values().cloned().collect()
    }

    /// A cache with the code of two kernels.
    fn sample() -> PipelineCache {
        let options = phalanx::DeviceOptions { threads: Some(1), ..phalanx::DeviceOptions::default() };
        let device = phalanx::Device::new(&options).unwrap();
        let cache = PipelineCache::default();
        for size in [16, 32] {
            let text = format!("#version 450\nlayout(local_size_x = {size}) in; void main() {{}}");
            let words = phalanx::glsl::compile(&text, &phalanx::glsl::GlslOptions::default()).unwrap();
            let module = device.create_module(&words).unwrap();
            let descriptor = phalanx::PipelineDescriptor::new(&module);
            let pipeline = device.create_pipeline(&descriptor).unwrap();
            let code = pipeline.code().unwrap();
            assert_eq!(Some(code.key()), device.pipeline_key(&descriptor).as_ref());
            cache.insert(code);
            // Another device, which remembers nothing, runs the code.
            let other = phalanx::Device::new(&options).unwrap();
            assert!(other.cached_pipeline(&descriptor, None).is_none());
            let loaded = other.cached_pipeline(&descriptor, Some(code)).unwrap();
            assert!(loaded.compile_times().cached);
            assert_eq!(loaded.workgroup_size(), [size, 1, 1]);
            other.dispatch(&phalanx::Dispatch::new(&loaded, [2, 1, 1])).unwrap();
        }
        cache
    }

    #[test]
    fn the_header_is_vulkans() {
        let (data, is_all) = PipelineCache::default().data(&IDENTITY, HEADER_BYTES);
        assert!(is_all);
        assert_eq!(data[..16], [32, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(data[16..], [3; 16]);
    }

    #[test]
    fn data_lead_back_and_damage_costs_only_what_follows() {
        let cache = sample();
        let all = codes(&cache);
        let (data, is_all) = cache.data(&IDENTITY, cache.data_size());
        assert!(is_all && data.len() == cache.data_size());
        assert_eq!(codes(&PipelineCache::from_data(&IDENTITY, &data)), all);
        let other = Identity { device_id: 9, ..IDENTITY };
        assert!(codes(&PipelineCache::from_data(&other, &data)).is_empty());
        let first_end = HEADER_BYTES + LENGTH_BYTES + all[0].as_bytes().len();
        for index in (0..data.len()).step_by(97) {
            let mut damaged = data.clone();
            damaged[index] ^= 0x40;
            let found = codes(&PipelineCache::from_data(&IDENTITY, &damaged));
            assert!(found.iter().filter(|code| all.contains(code)).count() < 2, "byte {index}");
            assert!(index < first_end || found.contains(&all[0]), "byte {index}");
            let cut = codes(&PipelineCache::from_data(&IDENTITY, &data[..index]));
            assert_eq!(cut.len(), usize::from(index >= first_end), "length {index}");
        }
    }

    #[test]
    fn data_that_do_not_fit_are_cut_between_codes() {
        let cache = sample();
        let (header, is_all) = cache.data(&IDENTITY, HEADER_BYTES + 10);
        assert!(!is_all && header.len() == HEADER_BYTES);
        assert_eq!(cache.data(&IDENTITY, HEADER_BYTES - 1), (Vec::new(), false));
        let (most, is_all) = cache.data(&IDENTITY, cache.data_size() - 1);
        assert!(!is_all);
        assert_eq!(codes(&PipelineCache::from_data(&IDENTITY, &most)).len(), 1);
    }

    #[test]
    fn merging_adds() {
        let (cache, empty) = (sample(), PipelineCache::default());
        empty.merge(&cache);
        empty.merge(&cache);
        assert_eq!(codes(&empty), codes(&cache));
        let key = *codes(&cache)[0].key();
        assert!(empty.get(&key).is_some());
    }
}

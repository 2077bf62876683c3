//! Samplers. Nothing samples with them, as no format can be sampled, but layouts may name them for bindings that no
//! shader uses.

use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use super::dispatchable;
use super::entry::{Command, commands, entries};
use crate::core::device::Device;
use crate::core::sampler::Sampler;

entries! {
    /// `vkCreateSampler`.
    fn create_sampler(
        device: vk::Device,
        _info: *const vk::SamplerCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        sampler: *mut vk::Sampler,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (device, sampler) = unsafe { (dispatchable::object::<Device>(device)?, sampler.as_mut()) };
        let sampler = sampler.ok_or(vk::Result::ERROR_UNKNOWN)?;
        *sampler = vk::Sampler::from_raw(device.samplers.insert(Arc::new(Sampler {})));
        Ok(())
    }

    /// `vkDestroySampler`.
    fn destroy_sampler(device: vk::Device, sampler: vk::Sampler, _allocator: *const vk::AllocationCallbacks) {
        // SAFETY: see `entries`.
        if let Ok(device) = unsafe { dispatchable::object::<Device>(device) } {
            device.samplers.remove(sampler.as_raw());
        }
    }
}

pub(super) const COMMANDS: &[Command] = commands![Device;
    PFN_vkCreateSampler: create_sampler,
    PFN_vkDestroySampler: destroy_sampler,
];

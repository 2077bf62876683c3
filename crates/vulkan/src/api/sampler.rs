//! Samplers.

use std::sync::Arc;

use phalanx::{AddressMode, CompareFunction, Filter, Reduction};
use vulkanalia_sys::{self as vk, Handle};

use super::chain::{self, structures};
use super::dispatchable;
use super::entry::{Command, commands, entries};
use crate::core::device::Device;
use crate::core::sampler::Sampler;

structures! {
    SamplerReductionModeCreateInfo = SAMPLER_REDUCTION_MODE_CREATE_INFO,
}

entries! {
    /// `vkCreateSampler`.
    fn create_sampler(
        device: vk::Device,
        info: *const vk::SamplerCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        sampler: *mut vk::Sampler,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (device, info, out) =
            unsafe { (dispatchable::object::<Device>(device)?, info.as_ref(), sampler.as_mut()) };
        let (Some(info), Some(out)) = (info, out) else { return Err(vk::Result::ERROR_UNKNOWN) };
        *out = vk::Sampler::null();
        // SAFETY: see `entries`.
        let reduction = unsafe { chain::find::<vk::SamplerReductionModeCreateInfo>(info.next) };
        let reduction = reduction.map(|reduction| reduction.reduction_mode).unwrap_or_default();
        let state = described(info, reduction).ok_or(vk::Result::ERROR_UNKNOWN)?;
        *out = vk::Sampler::from_raw(device.samplers.insert(Arc::new(Sampler { state })));
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

/// The sampler that is described; nothing if it says what only features that are not supported allow.
fn described(info: &vk::SamplerCreateInfo, reduction: vk::SamplerReductionMode) -> Option<phalanx::Sampler> {
    // VUID-VkSamplerCreateInfo-anisotropyEnable-01070
    if info.anisotropy_enable != vk::FALSE {
        return None;
    }
    let [u, v, w] = [info.address_mode_u, info.address_mode_v, info.address_mode_w].map(address_mode);
    let compare = if info.compare_enable == vk::FALSE { None } else { Some(compare(info.compare_op)?) };
    Some(phalanx::Sampler {
        min: filter(info.min_filter)?,
        mag: filter(info.mag_filter)?,
        mip: match info.mipmap_mode {
            vk::SamplerMipmapMode::NEAREST => Filter::Nearest,
            vk::SamplerMipmapMode::LINEAR => Filter::Linear,
            _ => return None,
        },
        address: [u?, v?, w?],
        lod_bias: info.mip_lod_bias,
        min_lod: info.min_lod,
        max_lod: info.max_lod,
        compare,
        border: border(info.border_color)?,
        reduction: match reduction {
            vk::SamplerReductionMode::WEIGHTED_AVERAGE => Reduction::WeightedAverage,
            vk::SamplerReductionMode::MIN => Reduction::Min,
            vk::SamplerReductionMode::MAX => Reduction::Max,
            _ => return None,
        },
        unnormalized: info.unnormalized_coordinates != vk::FALSE,
    })
}

fn filter(filter: vk::Filter) -> Option<Filter> {
    match filter {
        vk::Filter::NEAREST => Some(Filter::Nearest),
        vk::Filter::LINEAR => Some(Filter::Linear),
        _ => None,
    }
}

fn address_mode(mode: vk::SamplerAddressMode) -> Option<AddressMode> {
    Some(match mode {
        vk::SamplerAddressMode::REPEAT => AddressMode::Repeat,
        vk::SamplerAddressMode::MIRRORED_REPEAT => AddressMode::MirroredRepeat,
        vk::SamplerAddressMode::CLAMP_TO_EDGE => AddressMode::ClampToEdge,
        vk::SamplerAddressMode::CLAMP_TO_BORDER => AddressMode::ClampToBorder,
        vk::SamplerAddressMode::MIRROR_CLAMP_TO_EDGE => AddressMode::MirrorClampToEdge,
        _ => return None,
    })
}

fn compare(op: vk::CompareOp) -> Option<CompareFunction> {
    Some(match op {
        vk::CompareOp::NEVER => CompareFunction::Never,
        vk::CompareOp::LESS => CompareFunction::Less,
        vk::CompareOp::EQUAL => CompareFunction::Equal,
        vk::CompareOp::LESS_OR_EQUAL => CompareFunction::LessOrEqual,
        vk::CompareOp::GREATER => CompareFunction::Greater,
        vk::CompareOp::NOT_EQUAL => CompareFunction::NotEqual,
        vk::CompareOp::GREATER_OR_EQUAL => CompareFunction::GreaterOrEqual,
        vk::CompareOp::ALWAYS => CompareFunction::Always,
        _ => return None,
    })
}

/// The components of a border's colour.
fn border(color: vk::BorderColor) -> Option<[u64; 4]> {
    use vk::BorderColor as B;
    let one = match color {
        B::FLOAT_TRANSPARENT_BLACK | B::FLOAT_OPAQUE_BLACK | B::FLOAT_OPAQUE_WHITE => {
            u64::from(1.0_f32.to_bits())
        }
        B::INT_TRANSPARENT_BLACK | B::INT_OPAQUE_BLACK | B::INT_OPAQUE_WHITE => 1,
        _ => return None,
    };
    Some(match color {
        B::FLOAT_TRANSPARENT_BLACK | B::INT_TRANSPARENT_BLACK => [0; 4],
        B::FLOAT_OPAQUE_BLACK | B::INT_OPAQUE_BLACK => [0, 0, 0, one],
        _ => [one; 4],
    })
}

pub(super) const COMMANDS: &[Command] = commands![Device;
    PFN_vkCreateSampler: create_sampler,
    PFN_vkDestroySampler: destroy_sampler,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_supported_is_refused() {
        let average = vk::SamplerReductionMode::WEIGHTED_AVERAGE;
        let plain = vk::SamplerCreateInfo::default();
        assert!(described(&plain, average).is_some());
        for info in [
            vk::SamplerCreateInfo { anisotropy_enable: vk::TRUE, max_anisotropy: 2.0, ..plain },
            vk::SamplerCreateInfo { mag_filter: vk::Filter::CUBIC_EXT, ..plain },
            vk::SamplerCreateInfo { border_color: vk::BorderColor::INT_CUSTOM_EXT, ..plain },
            vk::SamplerCreateInfo { address_mode_w: vk::SamplerAddressMode::from_raw(9), ..plain },
        ] {
            assert!(described(&info, average).is_none(), "{info:?}");
        }
        assert!(described(&plain, vk::SamplerReductionMode::from_raw(9)).is_none());
    }

    #[test]
    fn a_comparison_counts_where_it_is_enabled() {
        let average = vk::SamplerReductionMode::WEIGHTED_AVERAGE;
        let compare_op = vk::CompareOp::GREATER;
        let compare = |compare_enable| {
            let info = vk::SamplerCreateInfo { compare_enable, compare_op, ..Default::default() };
            described(&info, average).and_then(|sampler| sampler.compare)
        };
        assert_eq!((compare(vk::FALSE), compare(vk::TRUE)), (None, Some(CompareFunction::Greater)));
    }

    #[test]
    fn borders_are_floats_or_integers() {
        let one = u64::from(1.0_f32.to_bits());
        assert_eq!(border(vk::BorderColor::INT_OPAQUE_BLACK), Some([0, 0, 0, 1]));
        assert_eq!(border(vk::BorderColor::FLOAT_OPAQUE_WHITE), Some([one; 4]));
        assert_eq!(border(vk::BorderColor::FLOAT_TRANSPARENT_BLACK), Some([0; 4]));
    }
}

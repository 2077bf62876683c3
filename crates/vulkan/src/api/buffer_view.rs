//! Views of buffers as texels.

use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use super::entry::{Command, commands, entries};
use super::{dispatchable, formats};
use crate::core::device::Device;
use crate::core::format::texel;
use crate::core::image::BufferView;

entries! {
    /// `vkCreateBufferView`.
    fn create_buffer_view(
        device: vk::Device,
        info: *const vk::BufferViewCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        view: *mut vk::BufferView,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (device, info, out) =
            unsafe { (dispatchable::object::<Device>(device)?, info.as_ref(), view.as_mut()) };
        let (Some(info), Some(out)) = (info, out) else { return Err(vk::Result::ERROR_UNKNOWN) };
        *out = vk::BufferView::null();
        // VUID-VkBufferViewCreateInfo-format-08778 and -08779
        let format = texel(info.format).filter(|_| formats::has_texel_buffers(info.format));
        let format = format.ok_or(vk::Result::ERROR_FORMAT_NOT_SUPPORTED)?;
        let buffer = device.buffers.get(info.buffer.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
        // VUID-VkBufferViewCreateInfo-buffer-00935: it has memory; -offset-00925 and -00931: the range lies in it.
        let part = buffer.range(info.offset, info.range).ok_or(vk::Result::ERROR_UNKNOWN)?;
        let view = BufferView::new(part, format);
        *out = vk::BufferView::from_raw(device.buffer_views.insert(Arc::new(view)));
        Ok(())
    }

    /// `vkDestroyBufferView`.
    fn destroy_buffer_view(
        device: vk::Device,
        view: vk::BufferView,
        _allocator: *const vk::AllocationCallbacks,
    ) {
        // SAFETY: see `entries`.
        if let Ok(device) = unsafe { dispatchable::object::<Device>(device) } {
            device.buffer_views.remove(view.as_raw());
        }
    }
}

pub(super) const COMMANDS: &[Command] = commands![Device;
    PFN_vkCreateBufferView: create_buffer_view,
    PFN_vkDestroyBufferView: destroy_buffer_view,
];

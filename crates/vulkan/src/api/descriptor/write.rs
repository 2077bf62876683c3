//! What an application says of updates.

use std::ffi::c_void;
use std::sync::Arc;

use smallvec::SmallVec;
use vulkanalia_sys::{self as vk, Handle};

use super::super::chain::{self, structures};
use crate::core::descriptor::{Content, Kind, Slot, TemplateEntry, UpdateTemplate, Write};
use crate::core::device::Device;

structures! {
    WriteDescriptorSetInlineUniformBlock = WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK,
}

/// The updates that an application describes, with the objects that it names.
///
/// # Safety
///
/// As for `vkUpdateDescriptorSets`; `dstSet` is not looked at.
pub(in crate::api) unsafe fn writes(device: &Device, writes: &[vk::WriteDescriptorSet]) -> Vec<Write> {
    // SAFETY: as this function's.
    writes.iter().map(|update| unsafe { write(device, update) }).collect()
}

/// One such update.
///
/// # Safety
///
/// As for [`writes`].
pub(super) unsafe fn write(device: &Device, write: &vk::WriteDescriptorSet) -> Write {
    let content = match Kind::of(write.descriptor_type) {
        Kind::Buffer | Kind::Dynamic => {
            // SAFETY: valid usage.
            let infos = unsafe { chain::slice(write.buffer_info, write.descriptor_count) };
            Content::Slots(infos.iter().map(|info| slot(device, info)).collect())
        }
        Kind::Texels => {
            // SAFETY: valid usage.
            let views = unsafe { chain::slice(write.texel_buffer_view, write.descriptor_count) };
            Content::Slots(views.iter().map(|view| texels(device, *view)).collect())
        }
        kind @ (Kind::Image | Kind::Sampler | Kind::Combined) => {
            // SAFETY: valid usage.
            let infos = unsafe { chain::slice(write.image_info, write.descriptor_count) };
            Content::Slots(infos.iter().map(|info| image(device, kind, info)).collect())
        }
        Kind::Inline => {
            // SAFETY: valid usage.
            let block = unsafe { chain::find::<vk::WriteDescriptorSetInlineUniformBlock>(write.next) };
            // SAFETY: valid usage.
            let bytes = block.map(|block| unsafe { chain::slice(block.data.cast::<u8>(), block.data_size) });
            Content::Inline(bytes.unwrap_or_default().to_vec())
        }
        Kind::Inert => Content::Inert,
    };
    Write { binding: write.dst_binding, element: write.dst_array_element, content }
}

/// The updates that a template finds in the application's memory.
///
/// # Safety
///
/// As for `vkUpdateDescriptorSetWithTemplate`.
pub(in crate::api) unsafe fn template_writes(
    device: &Device,
    template: &UpdateTemplate,
    data: *const c_void,
) -> Vec<Write> {
    let data = data.cast::<u8>();
    let write = |entry: &TemplateEntry| {
        let content = match entry.kind {
            Kind::Buffer | Kind::Dynamic => {
                let places =
                    entry.places().map(|at| data.wrapping_add(at).cast::<vk::DescriptorBufferInfo>());
                // SAFETY: valid usage: a structure of this type lies there, aligned to anything.
                let slots = places.map(|at| slot(device, &unsafe { at.read_unaligned() }));
                Content::Slots(slots.collect::<SmallVec<_>>())
            }
            Kind::Texels => {
                let places = entry.places().map(|at| data.wrapping_add(at).cast::<vk::BufferView>());
                // SAFETY: as above.
                let slots = places.map(|at| texels(device, unsafe { at.read_unaligned() }));
                Content::Slots(slots.collect::<SmallVec<_>>())
            }
            kind @ (Kind::Image | Kind::Sampler | Kind::Combined) => {
                let places = entry.places().map(|at| data.wrapping_add(at).cast::<vk::DescriptorImageInfo>());
                // SAFETY: as above.
                let slots = places.map(|at| image(device, kind, &unsafe { at.read_unaligned() }));
                Content::Slots(slots.collect::<SmallVec<_>>())
            }
            Kind::Inline => {
                let at = data.wrapping_add(entry.offset);
                // SAFETY: valid usage: so many bytes lie there.
                Content::Inline(unsafe { chain::slice(at, entry.count) }.to_vec())
            }
            Kind::Inert => Content::Inert,
        };
        Write { binding: entry.binding, element: entry.element, content }
    };
    template.entries.iter().map(write).collect()
}

/// What a descriptor of a buffer refers to; nothing for a null descriptor, and for a buffer without memory.
fn slot(device: &Device, info: &vk::DescriptorBufferInfo) -> Option<Slot> {
    let buffer = device.buffers.get(info.buffer.as_raw())?;
    Some(Slot::new(buffer.range(info.offset, vk::WHOLE_SIZE)?, info.range))
}

/// What a descriptor of a texel buffer refers to; nothing for a null descriptor.
fn texels(device: &Device, view: vk::BufferView) -> Option<Slot> {
    let view = device.buffer_views.get(view.as_raw())?;
    Some(Slot::Texels(Arc::clone(&view.surface)))
}

/// What a descriptor of an image or a sampler refers to; nothing for a null descriptor.
fn image(device: &Device, kind: Kind, info: &vk::DescriptorImageInfo) -> Option<Slot> {
    if kind == Kind::Sampler {
        return device.samplers.get(info.sampler.as_raw()).map(Slot::Sampler);
    }
    let view = device.image_views.get(info.image_view.as_raw())?;
    // Where the layout has immutable samplers, no sampler comes.
    let sampler = device.samplers.get(info.sampler.as_raw()).filter(|_| kind == Kind::Combined);
    Some(Slot::Texels(match sampler {
        Some(sampler) => Arc::new(view.surface.with_sampler(&sampler)),
        None => Arc::clone(&view.surface),
    }))
}

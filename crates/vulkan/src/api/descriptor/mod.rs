//! Set layouts, pools, sets and their updates.

use std::ffi::c_void;
use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use super::chain::{self, structures};
use super::dispatchable;
use super::entry::{Command, Outcome, commands, entries};
use crate::core::descriptor::{
    DescriptorPool, DescriptorSet, Kind, LayoutBinding, MAX_INLINE_BYTES, MAX_PER_SET, SetLayout,
    TemplateEntry, UpdateTemplate, Usage, Write,
};
use crate::core::device::Device;
use crate::core::sampler::Sampler;

mod write;

use write::write;
pub(super) use write::{template_writes, writes};

structures! {
    DescriptorPoolInlineUniformBlockCreateInfo = DESCRIPTOR_POOL_INLINE_UNIFORM_BLOCK_CREATE_INFO,
    DescriptorSetLayoutBindingFlagsCreateInfo = DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
    DescriptorSetVariableDescriptorCountAllocateInfo = DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO,
    DescriptorSetVariableDescriptorCountLayoutSupport =
        DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_LAYOUT_SUPPORT,
}

entries! {
    /// `vkCreateDescriptorSetLayout`.
    fn create_descriptor_set_layout(
        device: vk::Device,
        info: *const vk::DescriptorSetLayoutCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        layout: *mut vk::DescriptorSetLayout,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (device, info, out) =
            unsafe { (dispatchable::object::<Device>(device)?, info.as_ref(), layout.as_mut()) };
        let (Some(info), Some(out)) = (info, out) else { return Err(vk::Result::ERROR_UNKNOWN) };
        // SAFETY: see `entries`.
        let layout = unsafe { set_layout(device, info) };
        *out = vk::DescriptorSetLayout::from_raw(device.set_layouts.insert(Arc::new(layout)));
        Ok(())
    }

    /// `vkDestroyDescriptorSetLayout`.
    fn destroy_descriptor_set_layout(
        device: vk::Device,
        layout: vk::DescriptorSetLayout,
        _allocator: *const vk::AllocationCallbacks,
    ) {
        // SAFETY: see `entries`.
        if let Ok(device) = unsafe { dispatchable::object::<Device>(device) } {
            device.set_layouts.remove(layout.as_raw());
        }
    }

    /// `vkGetDescriptorSetLayoutSupport`.
    fn get_descriptor_set_layout_support(
        device: vk::Device,
        info: *const vk::DescriptorSetLayoutCreateInfo,
        support: *mut vk::DescriptorSetLayoutSupport,
    ) {
        // SAFETY: see `entries`.
        let (device, info, support) =
            unsafe { (dispatchable::object::<Device>(device), info.as_ref(), support.as_mut()) };
        let (Ok(device), Some(info), Some(support)) = (device, info, support) else { return };
        // SAFETY: see `entries`.
        let layout = unsafe { set_layout(device, info) };
        support.supported = layout.is_supported().into();
        // SAFETY: see `entries`.
        let variable = unsafe {
            chain::find_mut::<vk::DescriptorSetVariableDescriptorCountLayoutSupport>(support.next)
        };
        if let Some(variable) = variable {
            variable.max_variable_descriptor_count = max_variable_count(&layout);
        }
    }

    /// `vkCreateDescriptorPool`.
    fn create_descriptor_pool(
        device: vk::Device,
        info: *const vk::DescriptorPoolCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        pool: *mut vk::DescriptorPool,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (device, info, out) =
            unsafe { (dispatchable::object::<Device>(device)?, info.as_ref(), pool.as_mut()) };
        let (Some(info), Some(out)) = (info, out) else { return Err(vk::Result::ERROR_UNKNOWN) };
        // SAFETY: see `entries`.
        let sizes = unsafe { chain::slice(info.pool_sizes, info.pool_size_count) };
        // SAFETY: see `entries`.
        let inline = unsafe { chain::find::<vk::DescriptorPoolInlineUniformBlockCreateInfo>(info.next) };
        let inline_bindings = inline.map_or(0, |inline| inline.max_inline_uniform_block_bindings);
        let sizes = sizes.iter().map(|size| (size.type_, size.descriptor_count));
        let pool = DescriptorPool::new(Usage::of_pool(info.max_sets, inline_bindings, sizes));
        *out = vk::DescriptorPool::from_raw(device.descriptor_pools.insert(Arc::new(pool)));
        Ok(())
    }

    /// `vkDestroyDescriptorPool`.
    fn destroy_descriptor_pool(
        device: vk::Device,
        pool: vk::DescriptorPool,
        _allocator: *const vk::AllocationCallbacks,
    ) {
        // SAFETY: see `entries`.
        let Ok(device) = (unsafe { dispatchable::object::<Device>(device) }) else { return };
        if let Some(pool) = device.descriptor_pools.remove(pool.as_raw()) {
            for set in pool.reset() {
                device.sets.remove(set);
            }
        }
    }

    /// `vkResetDescriptorPool`.
    fn reset_descriptor_pool(
        device: vk::Device,
        pool: vk::DescriptorPool,
        _flags: vk::DescriptorPoolResetFlags,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let device = unsafe { dispatchable::object::<Device>(device) }?;
        let pool = device.descriptor_pools.get(pool.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
        for set in pool.reset() {
            device.sets.remove(set);
        }
        Ok(())
    }

    /// `vkAllocateDescriptorSets`.
    fn allocate_descriptor_sets(
        device: vk::Device,
        info: *const vk::DescriptorSetAllocateInfo,
        sets: *mut vk::DescriptorSet,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (device, info) = unsafe { (dispatchable::object::<Device>(device)?, info.as_ref()) };
        let info = info.ok_or(vk::Result::ERROR_UNKNOWN)?;
        // SAFETY: see `entries`.
        let (out, layouts) = unsafe { room(sets, info) };
        // SAFETY: see `entries`.
        let counts =
            unsafe { chain::find::<vk::DescriptorSetVariableDescriptorCountAllocateInfo>(info.next) };
        // SAFETY: see `entries`.
        let counts = counts.map_or(&[][..], |counts| unsafe {
            chain::slice(counts.descriptor_counts, counts.descriptor_set_count)
        });
        allocate(device, info.descriptor_pool, layouts, counts, out)
    }

    /// `vkFreeDescriptorSets`.
    fn free_descriptor_sets(
        device: vk::Device,
        pool: vk::DescriptorPool,
        count: u32,
        sets: *const vk::DescriptorSet,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (device, sets) = unsafe { (dispatchable::object::<Device>(device)?, chain::slice(sets, count)) };
        let pool = device.descriptor_pools.get(pool.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
        for set in sets {
            free(device, &pool, *set);
        }
        Ok(())
    }

    /// `vkUpdateDescriptorSets`.
    fn update_descriptor_sets(
        device: vk::Device,
        write_count: u32,
        writes: *const vk::WriteDescriptorSet,
        copy_count: u32,
        copies: *const vk::CopyDescriptorSet,
    ) {
        // SAFETY: see `entries`.
        let Ok(device) = (unsafe { dispatchable::object::<Device>(device) }) else { return };
        // SAFETY: see `entries`.
        let (writes, copies) =
            unsafe { (chain::slice(writes, write_count), chain::slice(copies, copy_count)) };
        // Writes are executed before copies, each in order.
        for update in writes {
            if let Some(set) = device.sets.get(update.dst_set.as_raw()) {
                // SAFETY: see `entries`.
                set.apply(&unsafe { write(device, update) });
            }
        }
        for copy in copies {
            let from = device.sets.get(copy.src_set.as_raw());
            let Some((from, to)) = from.zip(device.sets.get(copy.dst_set.as_raw())) else { continue };
            let content = from.read((copy.src_binding, copy.src_array_element), copy.descriptor_count);
            to.apply(&Write { binding: copy.dst_binding, element: copy.dst_array_element, content });
        }
    }

    /// `vkCreateDescriptorUpdateTemplate`.
    fn create_descriptor_update_template(
        device: vk::Device,
        info: *const vk::DescriptorUpdateTemplateCreateInfo,
        _allocator: *const vk::AllocationCallbacks,
        template: *mut vk::DescriptorUpdateTemplate,
    ) -> vk::Result {
        // SAFETY: see `entries`.
        let (device, info, out) =
            unsafe { (dispatchable::object::<Device>(device)?, info.as_ref(), template.as_mut()) };
        let (Some(info), Some(out)) = (info, out) else { return Err(vk::Result::ERROR_UNKNOWN) };
        // SAFETY: see `entries`.
        let entries =
            unsafe { chain::slice(info.descriptor_update_entries, info.descriptor_update_entry_count) };
        let template = UpdateTemplate { entries: entries.iter().map(TemplateEntry::new).collect() };
        *out = vk::DescriptorUpdateTemplate::from_raw(device.templates.insert(Arc::new(template)));
        Ok(())
    }

    /// `vkDestroyDescriptorUpdateTemplate`.
    fn destroy_descriptor_update_template(
        device: vk::Device,
        template: vk::DescriptorUpdateTemplate,
        _allocator: *const vk::AllocationCallbacks,
    ) {
        // SAFETY: see `entries`.
        if let Ok(device) = unsafe { dispatchable::object::<Device>(device) } {
            device.templates.remove(template.as_raw());
        }
    }

    /// `vkUpdateDescriptorSetWithTemplate`.
    fn update_descriptor_set_with_template(
        device: vk::Device,
        set: vk::DescriptorSet,
        template: vk::DescriptorUpdateTemplate,
        data: *const c_void,
    ) {
        // SAFETY: see `entries`.
        let Ok(device) = (unsafe { dispatchable::object::<Device>(device) }) else { return };
        let set = device.sets.get(set.as_raw());
        if let Some((set, template)) = set.zip(device.templates.get(template.as_raw())) {
            // SAFETY: see `entries`.
            let writes = unsafe { template_writes(device, &template, data) };
            writes.iter().for_each(|write| set.apply(write));
        }
    }
}

/// The layout that is described.
///
/// # Safety
///
/// As for `vkCreateDescriptorSetLayout`.
unsafe fn set_layout(device: &Device, info: &vk::DescriptorSetLayoutCreateInfo) -> SetLayout {
    // SAFETY: valid usage.
    let bindings = unsafe { chain::slice(info.bindings, info.binding_count) };
    // SAFETY: valid usage.
    let flags = unsafe { chain::find::<vk::DescriptorSetLayoutBindingFlagsCreateInfo>(info.next) };
    // SAFETY: valid usage.
    let flags =
        flags.map_or(&[][..], |flags| unsafe { chain::slice(flags.binding_flags, flags.binding_count) });
    let binding = |(index, binding): (usize, &vk::DescriptorSetLayoutBinding)| LayoutBinding {
        binding: binding.binding,
        ty: binding.descriptor_type,
        count: binding.descriptor_count,
        flags: flags.get(index).copied().unwrap_or_default(),
        // SAFETY: as this function's.
        immutable: unsafe { immutable_samplers(device, binding) },
        first: 0,
        first_dynamic: None,
    };
    SetLayout::new(info.flags, bindings.iter().enumerate().map(binding).collect())
}

/// The immutable samplers of a binding; none if it has none, or one of them does not exist.
///
/// # Safety
///
/// As for `vkCreateDescriptorSetLayout`.
unsafe fn immutable_samplers(device: &Device, binding: &vk::DescriptorSetLayoutBinding) -> Vec<Arc<Sampler>> {
    // Other descriptors have no samplers, and what is there in their place means nothing.
    if !matches!(Kind::of(binding.descriptor_type), Kind::Sampler | Kind::Combined) {
        return Vec::new();
    }
    // SAFETY: valid usage.
    let samplers = unsafe { chain::slice(binding.immutable_samplers, binding.descriptor_count) };
    let samplers: Option<_> = samplers.iter().map(|sampler| device.samplers.get(sampler.as_raw())).collect();
    samplers.unwrap_or_default()
}

/// Most descriptors that the last binding of a layout can have, if their number is variable.
fn max_variable_count(layout: &SetLayout) -> u32 {
    let Some((last, others)) = layout.bindings.split_last() else { return 0 };
    if layout.variable_limit().is_none() || !layout.is_supported() {
        return 0;
    }
    if last.kind() == Kind::Inline {
        return MAX_INLINE_BYTES;
    }
    let count = |binding: &LayoutBinding| if binding.kind() == Kind::Inline { 1 } else { binding.count };
    let used = others.iter().fold(0_u32, |sum, binding| sum.saturating_add(count(binding)));
    MAX_PER_SET.saturating_sub(used)
}

/// The places for the handles of sets, and their layouts.
///
/// # Safety
///
/// As for `vkAllocateDescriptorSets`.
unsafe fn room<'a>(
    sets: *mut vk::DescriptorSet,
    info: &vk::DescriptorSetAllocateInfo,
) -> (&'a mut [vk::DescriptorSet], &'a [vk::DescriptorSetLayout]) {
    let count = info.descriptor_set_count;
    if !sets.is_null() {
        for i in 0..count as usize {
            // SAFETY: valid usage: there is room for this many handles.
            unsafe { sets.add(i).write(vk::DescriptorSet::null()) };
        }
    }
    // SAFETY: valid usage; the handles were just written.
    unsafe { (chain::slice_mut(sets, count), chain::slice(info.set_layouts, count)) }
}

/// Allocates a set for each layout, or none.
fn allocate(
    device: &Device,
    pool: vk::DescriptorPool,
    layouts: &[vk::DescriptorSetLayout],
    counts: &[u32],
    out: &mut [vk::DescriptorSet],
) -> Outcome {
    let pool = device.descriptor_pools.get(pool.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
    for (index, layout) in layouts.iter().enumerate() {
        let count = counts.get(index).copied().unwrap_or(0);
        match allocate_one(device, &pool, *layout, count) {
            Ok(handle) => {
                if let Some(out) = out.get_mut(index) {
                    *out = handle;
                }
            }
            Err(error) => {
                for set in out {
                    free(device, &pool, std::mem::take(set));
                }
                return Err(error);
            }
        }
    }
    Ok(())
}

fn allocate_one(
    device: &Device,
    pool: &DescriptorPool,
    layout: vk::DescriptorSetLayout,
    count: u32,
) -> Result<vk::DescriptorSet, vk::Result> {
    let layout = device.set_layouts.get(layout.as_raw()).ok_or(vk::Result::ERROR_UNKNOWN)?;
    // VUID-VkDescriptorSetVariableDescriptorCountAllocateInfo-pSetLayouts-03046
    let count = layout.variable_limit().map(|limit| count.min(limit));
    let usage = Usage::of_set(&layout, count);
    pool.take(&usage)?;
    match DescriptorSet::new(&layout, count, &device.phalanx) {
        Ok(set) => {
            let handle = device.sets.insert(Arc::new(set));
            pool.add(handle);
            Ok(vk::DescriptorSet::from_raw(handle))
        }
        Err(error) => {
            pool.give_back(&usage);
            Err(error)
        }
    }
}

/// Frees a set, if it is one of the pool's.
fn free(device: &Device, pool: &DescriptorPool, set: vk::DescriptorSet) {
    if pool.remove(set.as_raw())
        && let Some(set) = device.sets.remove(set.as_raw())
    {
        pool.give_back(&Usage::of_set(&set.layout, set.variable_count));
    }
}

pub(super) const COMMANDS: &[Command] = commands![Device;
    PFN_vkCreateDescriptorSetLayout: create_descriptor_set_layout,
    PFN_vkDestroyDescriptorSetLayout: destroy_descriptor_set_layout,
    PFN_vkGetDescriptorSetLayoutSupport: get_descriptor_set_layout_support,
    PFN_vkGetDescriptorSetLayoutSupportKHR: get_descriptor_set_layout_support,
    PFN_vkCreateDescriptorPool: create_descriptor_pool,
    PFN_vkDestroyDescriptorPool: destroy_descriptor_pool,
    PFN_vkResetDescriptorPool: reset_descriptor_pool,
    PFN_vkAllocateDescriptorSets: allocate_descriptor_sets,
    PFN_vkFreeDescriptorSets: free_descriptor_sets,
    PFN_vkUpdateDescriptorSets: update_descriptor_sets,
    PFN_vkCreateDescriptorUpdateTemplate: create_descriptor_update_template,
    PFN_vkCreateDescriptorUpdateTemplateKHR: create_descriptor_update_template,
    PFN_vkDestroyDescriptorUpdateTemplate: destroy_descriptor_update_template,
    PFN_vkDestroyDescriptorUpdateTemplateKHR: destroy_descriptor_update_template,
    PFN_vkUpdateDescriptorSetWithTemplate: update_descriptor_set_with_template,
    PFN_vkUpdateDescriptorSetWithTemplateKHR: update_descriptor_set_with_template,
];

#[cfg(test)]
mod tests;

//! Descriptors and memory as an application makes them.

use std::ptr;

use super::super::{buffer, memory};
use super::*;
use crate::core::descriptor::{Content, Target};
use crate::core::instance::Instance;

/// Calls an entry point.
macro_rules! call {
    ($function:path, $($arg:expr),* $(,)?) => {
        // SAFETY: the arguments are valid, or what the entry point has to refuse.
        unsafe { $function($($arg),*) }
    };
}

const UNIFORM: vk::DescriptorType = vk::DescriptorType::UNIFORM_BUFFER;
const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
const INLINE: vk::DescriptorType = vk::DescriptorType::INLINE_UNIFORM_BLOCK;

struct Fixture {
    core: Arc<Device>,
    device: vk::Device,
}

impl Fixture {
    fn new() -> Self {
        let options = phalanx::DeviceOptions { threads: Some(1), ..Default::default() };
        let phalanx = Arc::new(phalanx::Device::new(&options).unwrap());
        let core = Arc::new(Device::new(Instance::new().unwrap().physical, phalanx));
        Self { device: dispatchable::create(Arc::clone(&core)), core }
    }

    /// A layout with these bindings.
    fn layout(&self, bindings: &[(u32, vk::DescriptorType, u32)]) -> vk::DescriptorSetLayout {
        let binding = |&(binding, descriptor_type, descriptor_count): &_| vk::DescriptorSetLayoutBinding {
            binding,
            descriptor_type,
            descriptor_count,
            ..Default::default()
        };
        let bindings: Vec<_> = bindings.iter().map(binding).collect();
        let info = vk::DescriptorSetLayoutCreateInfo {
            binding_count: bindings.len() as u32,
            bindings: bindings.as_ptr(),
            ..Default::default()
        };
        let mut layout = vk::DescriptorSetLayout::null();
        let result = call!(create_descriptor_set_layout, self.device, &info, ptr::null(), &mut layout);
        assert_eq!(result, vk::Result::SUCCESS);
        layout
    }

    fn pool(&self, max_sets: u32, sizes: &[(vk::DescriptorType, u32)]) -> vk::DescriptorPool {
        let size = |&(type_, descriptor_count): &_| vk::DescriptorPoolSize { type_, descriptor_count };
        let sizes: Vec<_> = sizes.iter().map(size).collect();
        let inline = vk::DescriptorPoolInlineUniformBlockCreateInfo {
            max_inline_uniform_block_bindings: 1,
            ..Default::default()
        };
        let info = vk::DescriptorPoolCreateInfo {
            next: (&raw const inline).cast(),
            max_sets,
            pool_size_count: sizes.len() as u32,
            pool_sizes: sizes.as_ptr(),
            ..Default::default()
        };
        let mut pool = vk::DescriptorPool::null();
        let result = call!(create_descriptor_pool, self.device, &info, ptr::null(), &mut pool);
        assert_eq!(result, vk::Result::SUCCESS);
        pool
    }

    fn allocate<const N: usize>(
        &self,
        pool: vk::DescriptorPool,
        layout: vk::DescriptorSetLayout,
    ) -> (vk::Result, [vk::DescriptorSet; N]) {
        let layouts = [layout; N];
        let info = vk::DescriptorSetAllocateInfo {
            descriptor_pool: pool,
            descriptor_set_count: N as u32,
            set_layouts: layouts.as_ptr(),
            ..Default::default()
        };
        let mut sets = [vk::DescriptorSet::from_raw(77); N];
        (call!(allocate_descriptor_sets, self.device, &info, sets.as_mut_ptr()), sets)
    }

    /// A buffer that is bound to memory of its own.
    fn buffer(&self, size: u64) -> vk::Buffer {
        let info = vk::BufferCreateInfo { size, ..Default::default() };
        let mut handle = vk::Buffer::null();
        let result = call!(buffer::create_buffer, self.device, &info, ptr::null(), &mut handle);
        assert_eq!(result, vk::Result::SUCCESS);
        let mut needs = vk::MemoryRequirements::default();
        call!(buffer::get_buffer_memory_requirements, self.device, handle, &mut needs);
        let info = vk::MemoryAllocateInfo { allocation_size: needs.size, ..Default::default() };
        let mut block = vk::DeviceMemory::null();
        let result = call!(memory::allocate_memory, self.device, &info, ptr::null(), &mut block);
        assert_eq!(result, vk::Result::SUCCESS);
        assert_eq!(call!(buffer::bind_buffer_memory, self.device, handle, block, 0), vk::Result::SUCCESS);
        handle
    }

    fn found(&self, set: vk::DescriptorSet, binding: u32) -> Vec<Option<(u64, u64)>> {
        let info = phalanx::BindingInfo {
            set: 0,
            binding,
            count: None,
            kind: phalanx::BindingKind::Storage,
            writable: true,
            name: String::new(),
        };
        let mut targets: Vec<Option<Target>> = Vec::new();
        self.core.sets.get(set.as_raw()).unwrap().collect(&info, &[], &mut targets);
        let place = |target: &Option<Target>| match target.as_ref()? {
            Target::Bytes(range) => Some((range.address(), range.size())),
            Target::Texels(_) | Target::Sampler(_) => None,
        };
        targets.iter().map(place).collect()
    }
}

#[test]
fn a_failed_allocation_leaves_no_sets_behind() {
    let fixture = Fixture::new();
    let layout = fixture.layout(&[(0, STORAGE, 2)]);
    let pool = fixture.pool(3, &[(STORAGE, 4)]);
    let (result, sets) = fixture.allocate::<3>(pool, layout);
    assert_eq!(result, vk::Result::ERROR_OUT_OF_POOL_MEMORY);
    assert!(sets.iter().all(|set| set.is_null()));
    let (result, sets) = fixture.allocate::<2>(pool, layout);
    assert_eq!(result, vk::Result::SUCCESS);
    let freed = [sets[0], vk::DescriptorSet::null()];
    assert_eq!(call!(free_descriptor_sets, fixture.device, pool, 2, freed.as_ptr()), vk::Result::SUCCESS);
    assert_eq!(fixture.allocate::<1>(pool, layout).0, vk::Result::SUCCESS);
    let flags = vk::DescriptorPoolResetFlags::empty();
    assert_eq!(call!(reset_descriptor_pool, fixture.device, pool, flags), vk::Result::SUCCESS);
    assert!(fixture.core.sets.get(sets[1].as_raw()).is_none());
    assert_eq!(fixture.allocate::<2>(pool, layout).0, vk::Result::SUCCESS);
    call!(destroy_descriptor_pool, fixture.device, pool, ptr::null());
    call!(destroy_descriptor_pool, fixture.device, pool, ptr::null());
}

#[test]
fn writes_and_templates_describe_the_same() {
    let fixture = Fixture::new();
    let layout = fixture.layout(&[(0, UNIFORM, 1), (1, UNIFORM, 2), (2, INLINE, 16)]);
    let pool = fixture.pool(2, &[(UNIFORM, 6), (INLINE, 32)]);
    // The pool has room for one inline uniform block only.
    assert_eq!(fixture.allocate::<2>(pool, layout).0, vk::Result::ERROR_OUT_OF_POOL_MEMORY);
    let (_, [set]) = fixture.allocate::<1>(pool, layout);
    let buffer = fixture.buffer(100);
    let info = |offset, range| vk::DescriptorBufferInfo { buffer, offset, range };
    let null = vk::DescriptorBufferInfo { range: vk::WHOLE_SIZE, ..Default::default() };
    let infos = [info(16, vk::WHOLE_SIZE), null, info(32, 8)];
    let write = vk::WriteDescriptorSet {
        dst_set: set,
        descriptor_count: 3,
        descriptor_type: UNIFORM,
        buffer_info: infos.as_ptr(),
        ..Default::default()
    };
    call!(update_descriptor_sets, fixture.device, 1, &write, 0, ptr::null());
    let start = fixture.core.buffers.get(buffer.as_raw()).unwrap().address();
    assert_eq!(fixture.found(set, 0), [Some((start + 16, 84))]);
    assert_eq!(fixture.found(set, 1), [None, Some((start + 32, 8))]);

    let entry = |dst_binding, descriptor_type, descriptor_count, offset| vk::DescriptorUpdateTemplateEntry {
        dst_binding,
        dst_array_element: 0,
        descriptor_type,
        descriptor_count,
        offset,
        stride: 24,
    };
    let entries = [entry(0, UNIFORM, 3, 0), entry(2, INLINE, 16, 8)];
    let info = vk::DescriptorUpdateTemplateCreateInfo {
        descriptor_update_entry_count: 2,
        descriptor_update_entries: entries.as_ptr(),
        ..Default::default()
    };
    let mut template = vk::DescriptorUpdateTemplate::null();
    let result = call!(create_descriptor_update_template, fixture.device, &info, ptr::null(), &mut template);
    assert_eq!(result, vk::Result::SUCCESS);
    let other = [infos[2], infos[0], infos[1]];
    call!(update_descriptor_set_with_template, fixture.device, set, template, other.as_ptr().cast());
    assert_eq!(fixture.found(set, 0), [Some((start + 32, 8))]);
    assert_eq!(fixture.found(set, 1), [Some((start + 16, 84)), None]);
    let Content::Inline(bytes) = fixture.core.sets.get(set.as_raw()).unwrap().read((2, 0), 16) else {
        panic!("an inline uniform block has bytes");
    };
    assert_eq!(bytes, [32_u64, 8].map(u64::to_ne_bytes).concat());
    call!(destroy_descriptor_update_template, fixture.device, template, ptr::null());
}

#[test]
fn memory_that_is_not_there_is_refused() {
    let fixture = Fixture::new();
    let allocate = |info: &vk::MemoryAllocateInfo| {
        let mut block = vk::DeviceMemory::from_raw(5);
        let result = call!(memory::allocate_memory, fixture.device, info, ptr::null(), &mut block);
        assert_eq!(block.is_null(), result != vk::Result::SUCCESS);
        (result, block)
    };
    // Neither more than there ever is, nor more than nobody uses at the moment.
    let free = crate::core::machine::free_bytes() + (2 << 30);
    for allocation_size in [u64::MAX, fixture.core.physical.memory_bytes + 1, free] {
        let info = vk::MemoryAllocateInfo { allocation_size, ..Default::default() };
        assert_eq!(allocate(&info).0, vk::Result::ERROR_OUT_OF_DEVICE_MEMORY);
    }

    let mut page = vec![0_u8; 3 * 4096];
    let aligned = page.as_mut_ptr().wrapping_add(page.as_ptr().align_offset(4096));
    for (shift, expected) in [(0, vk::Result::SUCCESS), (64, vk::Result::ERROR_INVALID_EXTERNAL_HANDLE)] {
        let import = vk::ImportMemoryHostPointerInfoEXT {
            handle_type: vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT,
            host_pointer: aligned.wrapping_add(shift).cast(),
            ..Default::default()
        };
        let next = (&raw const import).cast();
        let info = vk::MemoryAllocateInfo { next, allocation_size: 4096, ..Default::default() };
        let (result, block) = allocate(&info);
        assert_eq!(result, expected);
        let mut mapped = ptr::null_mut();
        let flags = vk::MemoryMapFlags::empty();
        let result = call!(memory::map_memory, fixture.device, block, 16, vk::WHOLE_SIZE, flags, &mut mapped);
        assert_eq!(result == vk::Result::SUCCESS, expected == vk::Result::SUCCESS);
        assert!(mapped.is_null() || mapped.cast() == aligned.wrapping_add(16));
        call!(memory::free_memory, fixture.device, block, ptr::null());
    }
}

#[test]
fn layouts_say_what_they_support() {
    let fixture = Fixture::new();
    let supported = |count, flags: vk::DescriptorBindingFlags| {
        let binding = vk::DescriptorSetLayoutBinding {
            descriptor_type: STORAGE,
            descriptor_count: count,
            ..Default::default()
        };
        let flags = vk::DescriptorSetLayoutBindingFlagsCreateInfo {
            binding_count: 1,
            binding_flags: &raw const flags,
            ..Default::default()
        };
        let info = vk::DescriptorSetLayoutCreateInfo {
            next: (&raw const flags).cast(),
            binding_count: 1,
            bindings: &raw const binding,
            ..Default::default()
        };
        let mut variable = vk::DescriptorSetVariableDescriptorCountLayoutSupport::default();
        let mut support =
            vk::DescriptorSetLayoutSupport { next: (&raw mut variable).cast(), ..Default::default() };
        call!(get_descriptor_set_layout_support, fixture.device, &info, &mut support);
        (support.supported, variable.max_variable_descriptor_count)
    };
    let variable = vk::DescriptorBindingFlags::VARIABLE_DESCRIPTOR_COUNT;
    assert_eq!(supported(8, vk::DescriptorBindingFlags::empty()), (vk::TRUE, 0));
    assert_eq!(supported(8, variable), (vk::TRUE, MAX_PER_SET));
    assert_eq!(supported(u32::MAX, variable), (vk::FALSE, 0));
}

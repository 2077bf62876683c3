use super::*;

const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
const DYNAMIC: vk::DescriptorType = vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC;
const INLINE: vk::DescriptorType = vk::DescriptorType::INLINE_UNIFORM_BLOCK;
const SAMPLER: vk::DescriptorType = vk::DescriptorType::SAMPLER;
const ATTACHMENT: vk::DescriptorType = vk::DescriptorType::INPUT_ATTACHMENT;

pub(super) fn binding(binding: u32, ty: vk::DescriptorType, count: u32) -> LayoutBinding {
    let flags = vk::DescriptorBindingFlags::empty();
    LayoutBinding { binding, ty, count, flags, immutable: Vec::new(), first: 0, first_dynamic: None }
}

pub(super) fn layout(bindings: Vec<LayoutBinding>) -> Arc<SetLayout> {
    Arc::new(SetLayout::new(vk::DescriptorSetLayoutCreateFlags::empty(), bindings))
}

fn device() -> phalanx::Device {
    let options = phalanx::DeviceOptions { threads: Some(1), ..phalanx::DeviceOptions::default() };
    phalanx::Device::new(&options).unwrap()
}

fn set(bindings: Vec<LayoutBinding>) -> DescriptorSet {
    DescriptorSet::new(&layout(bindings), None, &device()).unwrap()
}

fn buffer(size: u64) -> Range {
    let memory = Arc::new(Memory::allocate(&device(), size).unwrap());
    Range::new(&memory, 0, size).unwrap()
}

fn buffers(binding: u32, element: u32, slots: &[(&Range, u64, u64)]) -> Write {
    let slot = |&(buffer, offset, size): &(&Range, u64, u64)| {
        Some(Slot::new(buffer.part(offset, vk::WHOLE_SIZE)?, size))
    };
    Write { binding, element, content: Content::Slots(slots.iter().map(slot).collect()) }
}

fn collect(
    set: &DescriptorSet,
    binding: u32,
    count: Option<u32>,
    offsets: &[u32],
) -> Vec<Option<(u64, u64)>> {
    let info = phalanx::BindingInfo {
        set: 0,
        binding,
        count,
        kind: phalanx::BindingKind::Storage,
        writable: true,
        name: String::new(),
    };
    let mut out = Vec::new();
    set.collect(&info, offsets, &mut out);
    let place = |target: &Option<Target>| match target.as_ref()? {
        Target::Bytes(range) => Some((range.address(), range.size())),
        Target::Texels(_) | Target::Sampler(_) => None,
    };
    out.iter().map(place).collect()
}

#[test]
fn slots_follow_the_numbers_of_bindings() {
    let layout = layout(vec![
        binding(9, DYNAMIC, 2),
        binding(1, INLINE, 100),
        binding(0, STORAGE, 3),
        binding(4, ATTACHMENT, 5),
        binding(7, DYNAMIC, 4),
    ]);
    let firsts: Vec<_> = layout.bindings.iter().map(|b| (b.binding, b.first, b.first_dynamic)).collect();
    assert_eq!(firsts, [(0, 0, None), (1, 3, None), (4, 4, None), (7, 4, Some(0)), (9, 8, Some(4))]);
    assert_eq!(layout.dynamic_count(), 6);
}

#[test]
fn updates_roll_over_to_following_bindings() {
    let set = set(vec![
        binding(0, STORAGE, 2),
        binding(1, STORAGE, 0),
        binding(3, STORAGE, 1),
        binding(4, STORAGE, 2),
        binding(5, DYNAMIC, 1),
    ]);
    let buffer = buffer(256);
    let slots: Vec<_> = (0..6).map(|i| (&buffer, 16 * i, 16)).collect();
    set.apply(&buffers(0, 1, &slots));
    let at = |i: u64| Some((buffer.address() + 16 * i, 16));
    assert_eq!(collect(&set, 0, Some(2), &[]), [None, at(0)]);
    assert_eq!(collect(&set, 3, Some(1), &[]), [at(1)]);
    assert_eq!(collect(&set, 4, None, &[]), [at(2), at(3)]);
    assert_eq!(collect(&set, 5, Some(1), &[0]), [None], "of another type");
    assert_eq!(collect(&set, 2, Some(1), &[]), [], "no such binding");
}

#[test]
fn arrays_that_do_not_fit_the_shader_are_cut() {
    let set = set(vec![binding(0, STORAGE, 3)]);
    assert_eq!(collect(&set, 0, Some(2), &[]).len(), 2);
    assert_eq!(collect(&set, 0, Some(9), &[]).len(), 3);
    assert_eq!(collect(&set, 0, None, &[]).len(), 3);
}

#[test]
fn dynamic_offsets_move_ranges_inside_of_their_buffer() {
    let set = set(vec![binding(0, DYNAMIC, 1), binding(1, DYNAMIC, 2)]);
    let buffer = buffer(100);
    set.apply(&buffers(1, 0, &[(&buffer, 16, 32), (&buffer, 32, vk::WHOLE_SIZE)]));
    let address = buffer.address();
    assert_eq!(collect(&set, 1, None, &[7, 16, 0]), [Some((address + 32, 32)), Some((address + 32, 68))]);
    assert_eq!(collect(&set, 1, None, &[7, 64, 16]), [Some((address + 80, 20)), Some((address + 48, 52))]);
    assert_eq!(collect(&set, 1, None, &[0, 96, 0])[0], None, "beyond the end");
    assert_eq!(collect(&set, 0, None, &[0, 0, 0]), [None]);
}

#[test]
fn ranges_beyond_the_buffer_are_clamped() {
    let set = set(vec![binding(0, STORAGE, 1)]);
    let buffer = buffer(100);
    set.apply(&buffers(0, 0, &[(&buffer, 80, 1000)]));
    assert_eq!(collect(&set, 0, Some(1), &[]), [Some((buffer.address() + 80, 20))]);
}

#[test]
fn inline_blocks_hold_bytes_across_bindings() {
    let set = set(vec![binding(0, INLINE, 8), binding(1, INLINE, 16), binding(2, STORAGE, 1)]);
    let write =
        |element, bytes: &[u8]| Write { binding: 0, element, content: Content::Inline(bytes.to_vec()) };
    set.apply(&write(4, &[1, 2, 3, 4, 5, 6, 7, 8]));
    let Content::Inline(bytes) = set.read((0, 0), 24) else { panic!("bytes are read as bytes") };
    assert_eq!(bytes[..12], [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    let found = [collect(&set, 0, Some(1), &[]), collect(&set, 1, Some(1), &[])].concat();
    let sizes: Vec<_> = found.iter().map(|range| range.map(|(address, size)| (address % 16, size))).collect();
    assert_eq!(sizes, [Some((0, 8)), Some((0, 16))]);
}

#[test]
fn copies_carry_descriptors_to_another_set() {
    let bindings = || vec![binding(0, STORAGE, 2), binding(1, STORAGE, 2)];
    let (from, to) = (set(bindings()), set(bindings()));
    let buffer = buffer(64);
    from.apply(&buffers(0, 1, &[(&buffer, 0, 16), (&buffer, 16, 16)]));
    to.apply(&Write { binding: 1, element: 0, content: from.read((0, 1), 2) });
    let at = |i: u64| Some((buffer.address() + 16 * i, 16));
    assert_eq!(collect(&to, 1, None, &[]), [at(0), at(1)]);
    assert_eq!(collect(&to.duplicate(), 1, None, &[]), [at(0), at(1)]);
}

#[test]
fn immutable_samplers_stay() {
    let sampler = |lod_bias| Arc::new(Sampler { state: phalanx::Sampler { lod_bias, ..Default::default() } });
    let immutable =
        |lod_bias| vec![LayoutBinding { immutable: vec![sampler(lod_bias)], ..binding(0, SAMPLER, 1) }];
    let other = Write {
        binding: 0,
        element: 0,
        content: Content::Slots([Some(Slot::Sampler(sampler(7.0)))].into_iter().collect()),
    };
    let bias = |set: &DescriptorSet| match set.read((0, 0), 1) {
        Content::Slots(slots) => match slots.first() {
            Some(Some(Slot::Sampler(sampler))) => Some(sampler.state.lod_bias),
            _ => None,
        },
        _ => None,
    };
    let kept = set(immutable(1.0));
    assert_eq!(bias(&kept), Some(1.0));
    kept.apply(&other);
    assert_eq!(bias(&kept), Some(1.0));
    let written = set(vec![binding(0, SAMPLER, 1)]);
    assert_eq!(bias(&written), None);
    written.apply(&other);
    assert_eq!(bias(&written), Some(7.0));
    let layouts = [immutable(1.0), immutable(1.0), immutable(2.0), vec![binding(0, SAMPLER, 1)]].map(layout);
    let [first, ..] = &layouts;
    let compatible = layouts.each_ref().map(|other| first.is_compatible(other));
    assert_eq!(compatible, [true, true, false, false], "samplers are part of a layout");
}

#[test]
fn a_variable_count_shortens_the_last_binding() {
    let mut last = binding(3, STORAGE, 1 << 20);
    last.flags = vk::DescriptorBindingFlags::VARIABLE_DESCRIPTOR_COUNT;
    let layout = layout(vec![binding(0, STORAGE, 1), last]);
    assert_eq!(layout.variable_limit(), Some(1 << 20));
    assert!(!layout.is_supported());
    let set = DescriptorSet::new(&layout, Some(2), &device()).unwrap();
    assert_eq!(collect(&set, 3, None, &[]).len(), 2);
    let buffer = buffer(64);
    set.apply(&buffers(3, 0, &[(&buffer, 0, 16); 5]));
    assert_eq!(collect(&set, 3, None, &[]).iter().flatten().count(), 2);
}

#[test]
fn places_of_templates() {
    let entry = |ty, count| {
        TemplateEntry::new(&vk::DescriptorUpdateTemplateEntry {
            dst_binding: 1,
            dst_array_element: 2,
            descriptor_count: count,
            descriptor_type: ty,
            offset: 8,
            stride: 24,
        })
    };
    assert_eq!(entry(STORAGE, 3).places().collect::<Vec<_>>(), [8, 32, 56]);
    assert_eq!(entry(INLINE, 64).places().collect::<Vec<_>>(), [8]);
    assert_eq!(entry(SAMPLER, 3).places().count(), 3);
    assert_eq!(entry(ATTACHMENT, 3).places().count(), 0);
}

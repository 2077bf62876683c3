//! Descriptor sets, their layouts and pools.
//!
//! A set holds a [`Slot`] for each descriptor of a buffer, an image or a sampler, and one for each inline uniform
//! block, whose bytes lie in memory of the set. Descriptors of input attachments are inert: they may appear in layouts,
//! pools and updates, where they count, and hold nothing, as no shader that runs here can use them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;
use vulkanalia_sys as vk;

use crate::core::memory::{Memory, Range, Surface};
use crate::core::sampler::Sampler;

mod pool;
mod write;

pub(crate) use pool::{DescriptorPool, Usage};
pub(crate) use write::{Content, TemplateEntry, UpdateTemplate, Write};

/// Alignment of inline uniform blocks in the memory of their set.
const INLINE_ALIGNMENT: u64 = 64;

/// Most descriptors of a set (`maxPerSetDescriptors`); an inline uniform block counts as one.
pub(crate) const MAX_PER_SET: u32 = 1 << 20;

/// Most bytes of an inline uniform block (`maxInlineUniformBlockSize`).
pub(crate) const MAX_INLINE_BYTES: u32 = 4096;

/// What is behind a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A buffer.
    Buffer,
    /// A buffer whose offset is given when the set is bound.
    Dynamic,
    /// A view of a buffer as texels.
    Texels,
    /// A view of an image.
    Image,
    /// A sampler.
    Sampler,
    /// A view of an image with a sampler.
    Combined,
    /// Bytes in the set.
    Inline,
    /// Something that is not supported, or that needs nothing.
    Inert,
}

impl Kind {
    /// That of a type.
    pub(crate) fn of(ty: vk::DescriptorType) -> Self {
        match ty {
            vk::DescriptorType::UNIFORM_BUFFER | vk::DescriptorType::STORAGE_BUFFER => Self::Buffer,
            vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC | vk::DescriptorType::STORAGE_BUFFER_DYNAMIC => {
                Self::Dynamic
            }
            vk::DescriptorType::UNIFORM_TEXEL_BUFFER | vk::DescriptorType::STORAGE_TEXEL_BUFFER => {
                Self::Texels
            }
            vk::DescriptorType::STORAGE_IMAGE | vk::DescriptorType::SAMPLED_IMAGE => Self::Image,
            vk::DescriptorType::SAMPLER => Self::Sampler,
            vk::DescriptorType::COMBINED_IMAGE_SAMPLER => Self::Combined,
            vk::DescriptorType::INLINE_UNIFORM_BLOCK => Self::Inline,
            _ => Self::Inert,
        }
    }

    /// Whether each descriptor has a slot.
    pub(crate) fn is_slots(self) -> bool {
        !matches!(self, Self::Inline | Self::Inert)
    }
}

/// One binding of a set layout.
#[derive(Clone, Debug)]
pub(crate) struct LayoutBinding {
    pub(crate) binding: u32,
    pub(crate) ty: vk::DescriptorType,
    /// Descriptors of the array; bytes of an inline uniform block.
    pub(crate) count: u32,
    pub(crate) flags: vk::DescriptorBindingFlags,
    /// The sampler of each descriptor, if they are immutable.
    pub(crate) immutable: Vec<Arc<Sampler>>,
    /// Where its slots begin among those of the set.
    pub(crate) first: usize,
    /// Where its dynamic offsets begin among those of the set, if it has any.
    pub(crate) first_dynamic: Option<usize>,
}

impl LayoutBinding {
    pub(crate) fn kind(&self) -> Kind {
        Kind::of(self.ty)
    }

    /// The count in a set whose last binding has a count of its own.
    fn count_in(&self, variable_count: Option<u32>) -> u32 {
        match variable_count {
            Some(count) if self.is_variable() => count.min(self.count),
            _ => self.count,
        }
    }

    /// Whether a set says how many descriptors it has.
    fn is_variable(&self) -> bool {
        self.flags.contains(vk::DescriptorBindingFlags::VARIABLE_DESCRIPTOR_COUNT)
    }

    /// Slots for so many descriptors.
    fn slots(&self, count: u32) -> usize {
        match self.kind() {
            Kind::Inline => 1,
            Kind::Inert => 0,
            _ => count as usize,
        }
    }

    /// What an update puts into the slot of a descriptor. An immutable sampler stays, whatever sampler comes
    /// (`VkWriteDescriptorSet`, `VkCopyDescriptorSet`).
    fn slot(&self, element: usize, new: Option<&Slot>) -> Option<Slot> {
        match (self.immutable.get(element), new) {
            (Some(sampler), _) if self.kind() == Kind::Sampler => Some(Slot::Sampler(Arc::clone(sampler))),
            (Some(sampler), Some(Slot::Texels(surface))) => {
                Some(Slot::Texels(Arc::new(surface.with_sampler(sampler))))
            }
            (_, new) => new.cloned(),
        }
    }

    /// Whether descriptors of one are those of the other (*Pipeline Layout Compatibility*).
    fn is_compatible(&self, other: &Self) -> bool {
        let shape = |b: &Self| (b.binding, b.ty, b.count, b.flags);
        let samplers = self.immutable.iter().zip(&other.immutable);
        shape(self) == shape(other)
            && self.immutable.len() == other.immutable.len()
            && samplers.into_iter().all(|(own, other)| Arc::ptr_eq(own, other) || own.state == other.state)
    }
}

/// The layout of a set.
#[derive(Debug, Default)]
pub(crate) struct SetLayout {
    pub(crate) flags: vk::DescriptorSetLayoutCreateFlags,
    /// In the order of their numbers.
    pub(crate) bindings: Vec<LayoutBinding>,
    num_dynamic: usize,
}

impl SetLayout {
    /// A layout of bindings; where their slots lie is found here.
    pub(crate) fn new(flags: vk::DescriptorSetLayoutCreateFlags, mut bindings: Vec<LayoutBinding>) -> Self {
        bindings.sort_by_key(|binding| binding.binding);
        let (mut first, mut num_dynamic) = (0, 0);
        for binding in &mut bindings {
            binding.first = first;
            first += binding.slots(binding.count);
            binding.first_dynamic = (binding.kind() == Kind::Dynamic).then_some(num_dynamic);
            num_dynamic += binding.first_dynamic.map_or(0, |_| binding.count as usize);
        }
        Self { flags, bindings, num_dynamic }
    }

    /// Whether sets of one can stand where sets of the other are expected (*Pipeline Layout Compatibility*).
    pub(crate) fn is_compatible(&self, other: &Self) -> bool {
        let mut bindings = self.bindings.iter().zip(&other.bindings);
        self.flags == other.flags
            && self.bindings.len() == other.bindings.len()
            && bindings.all(|(own, other)| own.is_compatible(other))
    }

    /// Dynamic offsets that a set takes when it is bound.
    pub(crate) fn dynamic_count(&self) -> usize {
        self.num_dynamic
    }

    /// Where a binding is in the list.
    pub(crate) fn position(&self, binding: u32) -> Option<usize> {
        self.bindings.binary_search_by_key(&binding, |found| found.binding).ok()
    }

    /// Descriptors of the last binding, if each set says how many it has.
    pub(crate) fn variable_limit(&self) -> Option<u32> {
        self.bindings.last().filter(|last| last.is_variable()).map(|last| last.count)
    }

    /// Whether there can be such sets.
    pub(crate) fn is_supported(&self) -> bool {
        let descriptors = |binding: &LayoutBinding| match binding.kind() {
            Kind::Inline => 1,
            _ => u64::from(binding.count),
        };
        let total: u64 = self.bindings.iter().map(descriptors).sum();
        let inline_fits =
            |binding: &LayoutBinding| binding.kind() != Kind::Inline || binding.count <= MAX_INLINE_BYTES;
        total <= MAX_PER_SET.into() && self.bindings.iter().all(inline_fits)
    }

    /// The arrays that an update of `count` descriptors covers, from an element of a binding on: where each
    /// binding is in the list, its first element and how many (*Consecutive Binding Updates*).
    fn run(
        &self,
        variable_count: Option<u32>,
        (binding, element): (u32, u32),
        count: u32,
    ) -> impl Iterator<Item = (&LayoutBinding, u32, u32)> {
        let start = self.position(binding).unwrap_or(self.bindings.len());
        let ty = self.bindings.get(start).map(|binding| binding.ty);
        let (mut element, mut left) = (element, count);
        let bindings = self.bindings[start..].iter().take_while(move |binding| Some(binding.ty) == ty);
        bindings.map_while(move |binding| {
            if left == 0 {
                return None;
            }
            let here = binding.count_in(variable_count);
            let covered = left.min(here.saturating_sub(element));
            let found = (binding, element, covered);
            // An array that begins later than the binding ends covers nothing of it.
            element = element.saturating_sub(here);
            left -= covered;
            Some(found)
        })
    }
}

/// The layout of a pipeline.
#[derive(Debug, Default)]
pub(crate) struct PipelineLayout {
    pub(crate) sets: Vec<Option<Arc<SetLayout>>>,
}

/// What a descriptor names.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    /// A part of a buffer.
    Buffer {
        /// From the descriptor's offset up to the end of the buffer: a dynamic offset moves inside of it.
        rest: Range,
        /// Bytes that the descriptor covers.
        size: u64,
    },
    /// Texels of an image or a buffer; those of an image may have a sampler.
    Texels(Arc<Surface>),
    Sampler(Arc<Sampler>),
}

impl Slot {
    /// `size` bytes at the start of what is there, or as many of them as there are: an access beyond is out
    /// of bounds (`robustBufferAccess`). All of it for `VK_WHOLE_SIZE`.
    pub(crate) fn new(rest: Range, size: u64) -> Self {
        let size = size.min(rest.size());
        Self::Buffer { rest, size }
    }

    /// What a shader sees.
    fn target(&self, offset: u64) -> Option<Target> {
        match self {
            Self::Buffer { rest, size } => {
                let left = rest.size().checked_sub(offset)?;
                rest.part(offset, left.min(*size)).map(Target::Bytes)
            }
            Self::Texels(surface) => Some(Target::Texels(Arc::clone(surface))),
            Self::Sampler(sampler) => Some(Target::Sampler(Arc::clone(sampler))),
        }
    }

    /// A part of its bytes.
    fn part(&self, offset: u32, size: u32) -> Option<Range> {
        match self {
            Self::Buffer { rest, .. } => rest.part(offset.into(), size.into()),
            Self::Texels(_) | Self::Sampler(_) => None,
        }
    }
}

/// What a shader sees through a descriptor.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Bytes(Range),
    Texels(Arc<Surface>),
    Sampler(Arc<Sampler>),
}

impl Target {
    /// A descriptor of it, which must live as long as the descriptor is used.
    pub(crate) fn descriptor(&self) -> phalanx::Descriptor<'_> {
        match self {
            Self::Bytes(range) => range.descriptor(),
            Self::Texels(surface) => surface.descriptor(),
            Self::Sampler(sampler) => sampler.descriptor(),
        }
    }
}

/// A set: for every descriptor the memory it refers to, if any.
#[derive(Debug)]
pub(crate) struct DescriptorSet {
    pub(crate) layout: Arc<SetLayout>,
    /// The count of the last binding, if it is of variable length.
    pub(crate) variable_count: Option<u32>,
    slots: Mutex<Vec<Option<Slot>>>,
}

impl DescriptorSet {
    /// A set without descriptors but immutable samplers, whose inline uniform blocks are zero.
    pub(crate) fn new(
        layout: &Arc<SetLayout>,
        variable_count: Option<u32>,
        device: &phalanx::Device,
    ) -> Result<Self, vk::Result> {
        let variable_count = variable_count.filter(|_| layout.variable_limit().is_some());
        let last = layout.bindings.last();
        let num_slots = last.map_or(0, |last| last.first + last.slots(last.count_in(variable_count)));
        let mut slots = Vec::new();
        slots.try_reserve_exact(num_slots).map_err(|_full| vk::Result::ERROR_OUT_OF_HOST_MEMORY)?;
        slots.resize(num_slots, None);
        let inline = layout.bindings.iter().filter(|binding| binding.kind() == Kind::Inline);
        let sizes = inline.map(|binding| (binding.first, u64::from(binding.count_in(variable_count))));
        fill_inline(&mut slots, sizes, device)?;
        for binding in &layout.bindings {
            for (element, slot) in
                slots.iter_mut().skip(binding.first).take(binding.immutable.len()).enumerate()
            {
                *slot = binding.slot(element, None);
            }
        }
        let layout = Arc::clone(layout);
        Ok(Self { layout, variable_count, slots: Mutex::new(slots) })
    }

    /// Another set with the same descriptors.
    pub(crate) fn duplicate(&self) -> Self {
        Self {
            layout: Arc::clone(&self.layout),
            variable_count: self.variable_count,
            slots: Mutex::new(self.lock().clone()),
        }
    }

    /// Executes an update.
    pub(crate) fn apply(&self, write: &Write) {
        let mut slots = self.lock();
        let mut done = 0;
        for (binding, element, count) in self.layout.run(self.variable_count, write.start(), write.count()) {
            let source = done..done + count as usize;
            done = source.end;
            match &write.content {
                Content::Slots(new) if binding.kind().is_slots() => {
                    let element = element as usize;
                    let first = binding.first + element;
                    let to = slots.get_mut(first..first + count as usize);
                    let (to, from) = (to.unwrap_or_default(), new.get(source).unwrap_or_default());
                    for (index, (to, from)) in to.iter_mut().zip(from).enumerate() {
                        *to = binding.slot(element + index, from.as_ref());
                    }
                }
                Content::Inline(bytes) if binding.kind() == Kind::Inline => {
                    let slot = slots.get(binding.first).and_then(Option::as_ref);
                    let part = slot.and_then(|slot| slot.part(element, count));
                    if let (Some(part), Some(bytes)) = (part, bytes.get(source)) {
                        part.write(bytes);
                    }
                }
                Content::Slots(_) | Content::Inline(_) | Content::Inert => {}
            }
        }
    }

    /// What an update of another set with `count` descriptors from here would hold.
    pub(crate) fn read(&self, from: (u32, u32), count: u32) -> Content {
        let slots = self.lock();
        let mut content = Content::Inert;
        for (binding, element, count) in self.layout.run(self.variable_count, from, count) {
            match binding.kind() {
                kind if kind.is_slots() => {
                    let first = binding.first + element as usize;
                    content.push_slots(slots.get(first..first + count as usize).unwrap_or_default());
                }
                Kind::Inline => {
                    let mut bytes = vec![0; count as usize];
                    let slot = slots.get(binding.first).and_then(Option::as_ref);
                    if let Some(part) = slot.and_then(|slot| slot.part(element, count)) {
                        part.read(&mut bytes);
                    }
                    content.push_bytes(&bytes);
                }
                _ => {}
            }
        }
        content
    }

    /// Appends what a shader sees at one of its bindings: as many targets as its array has elements, or fewer
    /// if the set has fewer. `None` stands for a descriptor that is missing.
    pub(crate) fn collect(
        &self,
        info: &phalanx::BindingInfo,
        dynamic_offsets: &[u32],
        out: &mut impl Extend<Option<Target>>,
    ) {
        let Some(binding) = self.layout.position(info.binding).and_then(|at| self.layout.bindings.get(at))
        else {
            return;
        };
        let count = binding.slots(binding.count_in(self.variable_count));
        let count = info.count.map_or(count, |wanted| count.min(wanted as usize));
        let slots = self.lock();
        let found = slots.get(binding.first..binding.first + count).unwrap_or_default();
        match binding.first_dynamic {
            None => out.extend(found.iter().map(|slot| slot.as_ref()?.target(0))),
            Some(first) => {
                let offset = |index: usize| dynamic_offsets.get(first + index).copied().unwrap_or(0);
                let slots = found.iter().enumerate();
                out.extend(slots.map(|(index, slot)| slot.as_ref()?.target(offset(index).into())));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<Slot>>> {
        // Nothing under this lock panics half-way through a change.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts memory behind inline uniform blocks, which have these slots and sizes.
fn fill_inline(
    slots: &mut [Option<Slot>],
    sizes: impl Iterator<Item = (usize, u64)>,
    device: &phalanx::Device,
) -> Result<(), vk::Result> {
    let mut total = 0;
    let mut places = SmallVec::<[_; 4]>::new();
    for (slot, size) in sizes {
        places.push((slot, total, size));
        total = (total + size).next_multiple_of(INLINE_ALIGNMENT);
    }
    if places.is_empty() {
        return Ok(());
    }
    let memory = Arc::new(Memory::allocate(device, total)?);
    for (slot, offset, size) in places {
        if let (Some(slot), Some(range)) = (slots.get_mut(slot), Range::new(&memory, offset, size)) {
            *slot = Some(Slot::new(range, vk::WHOLE_SIZE));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

//! Updates of sets.

use smallvec::SmallVec;
use vulkanalia_sys as vk;

use super::{Kind, Slot};

/// Descriptors for a set, from an element of a binding on.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) binding: u32,
    /// The element of the array, or the byte of the inline uniform block.
    pub(crate) element: u32,
    pub(crate) content: Content,
}

/// What is written.
#[derive(Clone, Debug, Default)]
pub(crate) enum Content {
    /// What each descriptor names.
    Slots(SmallVec<[Option<Slot>; 1]>),
    /// Bytes of inline uniform blocks.
    Inline(Vec<u8>),
    /// Nothing that matters.
    #[default]
    Inert,
}

impl Content {
    /// Appends slots.
    pub(super) fn push_slots(&mut self, slots: &[Option<Slot>]) {
        match self {
            Self::Slots(all) => all.extend(slots.iter().cloned()),
            Self::Inline(_) | Self::Inert => *self = Self::Slots(slots.into()),
        }
    }

    /// Appends bytes of inline uniform blocks.
    pub(super) fn push_bytes(&mut self, bytes: &[u8]) {
        match self {
            Self::Inline(all) => all.extend_from_slice(bytes),
            Self::Slots(_) | Self::Inert => *self = Self::Inline(bytes.to_vec()),
        }
    }
}

impl Write {
    pub(super) fn start(&self) -> (u32, u32) {
        (self.binding, self.element)
    }

    /// Descriptors that it has, or bytes.
    pub(super) fn count(&self) -> u32 {
        let count = match &self.content {
            Content::Slots(slots) => slots.len(),
            Content::Inline(bytes) => bytes.len(),
            Content::Inert => 0,
        };
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

/// How a piece of the application's memory describes updates of a set.
#[derive(Debug)]
pub(crate) struct UpdateTemplate {
    pub(crate) entries: Vec<TemplateEntry>,
}

/// Where the descriptors of one update lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TemplateEntry {
    pub(crate) binding: u32,
    pub(crate) element: u32,
    pub(crate) count: u32,
    pub(crate) kind: Kind,
    /// Of the first descriptor, in bytes.
    pub(crate) offset: usize,
    /// From one descriptor to the next, in bytes.
    pub(crate) stride: usize,
}

impl TemplateEntry {
    pub(crate) fn new(entry: &vk::DescriptorUpdateTemplateEntry) -> Self {
        Self {
            binding: entry.dst_binding,
            element: entry.dst_array_element,
            count: entry.descriptor_count,
            kind: Kind::of(entry.descriptor_type),
            offset: entry.offset,
            stride: entry.stride,
        }
    }

    /// Where its descriptors begin: one place for each, or one for all bytes of an inline uniform block.
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> {
        let (offset, stride) = (self.offset, self.stride);
        let count = match self.kind {
            Kind::Inline => 1,
            Kind::Inert => 0,
            _ => self.count as usize,
        };
        (0..count).map(move |index| offset.wrapping_add(index.wrapping_mul(stride)))
    }
}

//! What the host hands to the entry: one block of bytes, by value.
//!
//! ```text
//! 0    u32 base[3]                     the first work-group
//! 16   u32 groups[3]                   how many there are; a launch may have only some of them
//! 32   u64 watch                       the address of a word; not 0 once the dispatch shall end
//! 40   u64 report                      the address of a [`crate::report::Report`]
//! 48   u64 spilled                  the address of memory for the work-groups of a launch
//! 56   u32 mapped                   bit by bit, which of the tensor maps there are
//! 64   for each binding, for each of its descriptors: u64 address, u64 bytes
//!      of a binding with more than [`MAX_INLINE`] of them: u64 address of an array of such, u64 length
//! ...  push constants, at a multiple of 16
//! ...  tensor maps, of 128 bytes each, at a multiple of 128
//! ```
//!
//! Shared memory is given when the kernel is launched ([`Layout::shared_bytes`]); the grid is the work-groups; a block
//! has [`Layout::threads`] along x. Of the memory at `spilled`, which is a multiple of [`BUFFER_ALIGN`], each work-group of a
//! launch has [`Layout::spilled_bytes`], in the order of their numbers along x, then y, then z.
//!
//! A tensor map tells the unit that copies boxes where the lines of a factor are ([`Map`]). Work-groups that may share what
//! they copy are launched in clusters of two along an axis ([`Layout::pairs`]); they find out themselves whether they are.

use crate::report::Report;
use phalanx_ir::{Binding, Module};

/// Where the first work-group stands.
pub const BASE: u64 = 0;

/// Where the number of work-groups stands.
pub const GROUPS: u64 = 16;

/// Where the address of the word stands that ends a dispatch.
pub const WATCH: u64 = 32;

/// Where the address of the report stands.
pub const REPORT: u64 = 40;

/// Where the address of the memory stands that shared memory has no room for.
pub const SPILLED: u64 = 48;

/// Where the bits of the tensor maps stand.
pub const MAPPED: u64 = 56;

/// Most tensor maps: as many as there are bits.
const MAX_MAPS: usize = 32;

/// Bytes of a tensor map.
pub const MAP_BYTES: u64 = 128;

/// What a tensor map's address is a multiple of.
const MAP_ALIGN: u64 = 128;

/// Where the bindings begin.
const BINDINGS: u64 = 64;

/// The name of the entry.
pub const ENTRY: &str = "phalanx_main";

/// Invocations of a subgroup.
pub const SUBGROUP_SIZE: u32 = 32;

/// Descriptors of a binding that lie in the block themselves.
pub const MAX_INLINE: u32 = 16;

/// Bytes of a descriptor: address and size.
pub const DESCRIPTOR_BYTES: u64 = 16;

/// What addresses of buffers are multiples of.
pub const BUFFER_ALIGN: u64 = 16;

/// Most bytes that a kernel takes by value.
pub const MAX_BYTES: u64 = 4096;

/// Where things lie in the block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// By binding: where its descriptors are, or where it is said where they are.
    pub bindings: Vec<Place>,
    /// Where the push constants begin.
    pub push: u64,
    /// Bytes of push constants that are read.
    pub push_bytes: u32,
    /// Bytes of the block.
    pub bytes: u64,
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of shared memory.
    pub shared_bytes: u32,
    /// Bytes of global memory for what shared memory has no room for, of each work-group of a launch.
    pub spilled_bytes: u64,
    /// What is at the address of the report.
    pub report: Report,
    /// Whether the entry itself waits for the kernels before it, so that it may be launched before they have ended.
    pub waits: bool,
    /// Tensor maps.
    pub maps: Vec<Map>,
    /// Where they begin.
    pub maps_at: u64,
    /// The axis along which two neighbours are to be a cluster, where there is an even number of them.
    pub pairs: Option<u32>,
}

/// A tensor map: lines of a buffer, of which boxes are copied to shared memory.
///
/// Places count from the start of the buffer along its first line; line `i` begins `i` strides behind that place, whichever it
/// is. So a map has as many elements along a line as the buffer has at all, and as many lines as are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Map {
    /// The buffer, by the number of its binding, which has one descriptor.
    pub binding: u32,
    /// Bytes of an element, 1 or 2.
    pub element: u32,
    /// Bytes from a line to the next.
    pub stride: Stride,
    /// Lines.
    pub lines: u32,
    /// Bytes of a line of a box, 32, 64 or 128, within which words change places.
    pub span: u32,
    /// Lines of a box.
    pub box_lines: u32,
}

/// A number of bytes that the host knows: `scale`, or that many times a word of the push constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stride {
    /// The factor.
    pub scale: u64,
    /// Where the word is, without its sign.
    pub push: Option<u32>,
}

/// The descriptors of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where they begin in the block.
    pub offset: u64,
    /// How many there are; none if only the place and length of an array is there.
    pub inline: Option<u32>,
}

impl Layout {
    /// The layout for a module.
    pub fn of(module: &Module) -> Self {
        let mut at = BINDINGS;
        let mut bindings = Vec::new();
        for binding in &module.bindings {
            let inline = binding.count.filter(|&n| n <= MAX_INLINE);
            bindings.push(Place { offset: at, inline });
            at += DESCRIPTOR_BYTES * u64::from(inline.unwrap_or(1));
        }
        Self {
            bindings,
            push: at,
            push_bytes: module.push_bytes,
            bytes: at + u64::from(module.push_bytes).next_multiple_of(16),
            threads: module.workgroup_invocations(),
            shared_bytes: module.shared_bytes,
            spilled_bytes: 0,
            report: Report::of(module),
            ..Self::default()
        }
    }

    /// How many tensor maps there is room for.
    pub(crate) fn room_for_maps(&self) -> usize {
        let room = MAX_BYTES.saturating_sub(self.bytes.next_multiple_of(MAP_ALIGN));
        MAX_MAPS.min((room / MAP_BYTES) as usize)
    }

    /// Adds tensor maps at the end.
    pub(crate) fn add_maps(&mut self, maps: Vec<Map>) {
        self.maps_at = self.bytes.next_multiple_of(MAP_ALIGN);
        self.bytes = self.maps_at + MAP_BYTES * maps.len() as u64;
        self.maps = maps;
    }

    /// What the address of the block is a multiple of.
    pub(crate) fn align(&self) -> u64 {
        if self.maps.is_empty() { 16 } else { MAP_ALIGN }
    }

    /// The place of a binding.
    pub(crate) fn binding(&self, binding: Binding) -> Place {
        self.bindings[binding.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensor_maps_are_aligned_and_as_many_as_there_is_room_for() {
        let mut layout = Layout { bytes: 200, ..Layout::default() };
        assert_eq!((layout.room_for_maps(), layout.align()), (30, 16));
        let stride = Stride { scale: 64, push: None };
        let map = Map { binding: 0, element: 2, stride, lines: 8, span: 128, box_lines: 8 };
        layout.add_maps(vec![map; 30]);
        assert_eq!((layout.maps_at, layout.bytes, layout.align()), (256, MAX_BYTES, 128));
        assert_eq!(layout.room_for_maps(), 0);
        assert_eq!(Layout { bytes: MAX_BYTES + 1, ..Layout::default() }.room_for_maps(), 0);
        assert_eq!(Layout::default().room_for_maps(), 32);
    }
}

//! What a kernel takes: one block of bytes ([`phalanx_back_nvptx::abi`]), and what that refers to.
//!
//! Outside of the block lie long arrays of descriptors and what is known of images. They are put together here for the
//! address at which the GPU will find them.

use phalanx_back_nvptx::abi::{self, Layout};
use phalanx_back_nvptx::image;
use phalanx_host::Descriptor;
use phalanx_ir::{BindingInfo, BindingKind};

use crate::maps;

/// What the address of something outside of the block is a multiple of.
pub(crate) const ALIGN: usize = 16;

/// What a dispatch gives its kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) bindings: &'a [BindingInfo],
    /// For each binding its descriptors.
    pub(crate) descriptors: &'a [&'a [Descriptor<'a>]],
    pub(crate) groups: [u32; 3],
    pub(crate) push: &'a [u8],
}

/// Where the GPU finds what is not in the block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Places {
    pub(crate) watch: u64,
    pub(crate) report: u64,
    pub(crate) spilled: u64,
    /// Where what [`Arguments::write`] puts outside of the block is.
    pub(crate) outside: u64,
}

impl Arguments<'_> {
    /// Bytes that lie outside of the block.
    pub(crate) fn outside_bytes(&self) -> usize {
        let records = self.images().count() * image::RECORD_BYTES;
        let tables = self.layout.bindings.iter().zip(self.descriptors);
        let long = tables.filter(|(place, _)| place.inline.is_none());
        records.next_multiple_of(ALIGN)
            + long.map(|(_, table)| table.len() * abi::DESCRIPTOR_BYTES as usize).sum::<usize>()
    }

    fn images(&self) -> impl Iterator<Item = Vec<u8>> {
        let all = self.descriptors.iter().flat_map(|table| table.iter());
        all.filter_map(Descriptor::as_image).map(|view| {
            let memory = view.memory();
            image::record(view.layout(), memory.address(), memory.size())
        })
    }

    /// Writes the block, but for the first work-group, and what lies outside of it.
    pub(crate) fn write(&self, places: &Places, block: &mut Vec<u8>, outside: &mut Vec<u8>) {
        let layout = self.layout;
        block.clear();
        block.resize(layout.bytes as usize, 0);
        outside.clear();
        for (axis, groups) in self.groups.iter().enumerate() {
            put(block, abi::GROUPS as usize + 4 * axis, &groups.to_le_bytes());
        }
        put(block, abi::WATCH as usize, &places.watch.to_le_bytes());
        put(block, abi::REPORT as usize, &places.report.to_le_bytes());
        put(block, abi::SPILLED as usize, &places.spilled.to_le_bytes());
        self.images().for_each(|record| outside.extend(record));
        outside.resize(outside.len().next_multiple_of(ALIGN), 0);
        let mut next_record = places.outside;
        for ((place, table), binding) in layout.bindings.iter().zip(self.descriptors).zip(self.bindings) {
            let mut at = place.offset as usize;
            if place.inline.is_none() {
                put(block, at, &(places.outside + outside.len() as u64).to_le_bytes());
                put(block, at + 8, &(table.len() as u64).to_le_bytes());
            }
            let is_image = matches!(binding.kind, BindingKind::Image(_));
            for (i, descriptor) in (0..).zip(*table) {
                let bytes = described(descriptor, is_image, &mut next_record);
                match place.inline {
                    Some(count) if i < count => {
                        put(block, at, &bytes);
                        at += bytes.len();
                    }
                    Some(_) => {}
                    None => outside.extend(bytes),
                }
            }
        }
        put(block, layout.push as usize, &self.push[..layout.push_bytes as usize]);
        self.write_maps(block);
    }

    /// Writes the tensor maps of buffers that can have one, and says which.
    fn write_maps(&self, block: &mut [u8]) {
        let layout = self.layout;
        let push = &self.push[..layout.push_bytes as usize];
        let mut there = 0_u32;
        for (i, map) in layout.maps.iter().enumerate() {
            let descriptor = self.descriptors.get(map.binding as usize).and_then(|table| table.first());
            let Some(descriptor) = descriptor.filter(|it| it.as_image().is_none()) else { continue };
            let buffer = descriptor.buffer();
            if let Some(bytes) = maps::encode(map, buffer.address(), buffer.size(), push) {
                put(block, layout.maps_at as usize + i * maps::BYTES, &bytes);
                there |= 1 << i;
            }
        }
        put(block, abi::MAPPED as usize, &there.to_le_bytes());
    }
}

/// A descriptor as kernels read it: address and size, of an image those of its record. A kernel finds nothing where it expects
/// something else.
fn described(
    descriptor: &Descriptor<'_>,
    is_image: bool,
    next_record: &mut u64,
) -> [u8; abi::DESCRIPTOR_BYTES as usize] {
    let record_bytes = image::RECORD_BYTES as u64;
    let [address, size] = match descriptor.as_image() {
        Some(_) => {
            let record = [*next_record, record_bytes];
            *next_record += record_bytes;
            if is_image { record } else { [0; 2] }
        }
        None if is_image => [0; 2],
        None => [descriptor.buffer().address(), descriptor.buffer().size()],
    };
    let mut bytes = [0; abi::DESCRIPTOR_BYTES as usize];
    put(&mut bytes, 0, &address.to_le_bytes());
    put(&mut bytes, 8, &size.to_le_bytes());
    bytes
}

/// Writes bytes into others.
pub(crate) fn put(block: &mut [u8], at: usize, bytes: &[u8]) {
    block[at..at + bytes.len()].copy_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_ir::text;

    #[test]
    fn long_arrays_lie_outside_of_the_block() {
        let source = "kernel \"main\"\nworkgroup_size 32 1 1\nsubgroup_size 32\npush 8\n\
            binding buf0 = 0.0 storage\nbinding buf1 = 0.1 storage count=20\n{\n}\n";
        let module = text::parse(source).expect("the text is IR");
        let layout = Layout::of(&module);
        let memory: Vec<_> =
            (0..21).map(|i| phalanx_host::Buffer::new(16 * (i + 1)).expect("there is memory")).collect();
        let all: Vec<_> =
            memory.iter().map(|buffer| buffer.descriptor(0, None).expect("it is inside")).collect();
        let (one, many) = all.split_at(1);
        let push = [7; 12];
        let arguments = Arguments {
            layout: &layout,
            bindings: &module.bindings,
            descriptors: &[one, many],
            groups: [3, 2, 1],
            push: &push,
        };
        assert_eq!(arguments.outside_bytes(), 20 * 16);
        let places = Places { watch: 1, report: 2, spilled: 3, outside: 4096 };
        let (mut block, mut outside) = (vec![1], vec![1]);
        arguments.write(&places, &mut block, &mut outside);
        let word = |bytes: &[u8], at: u64| {
            u64::from_le_bytes(*bytes[at as usize..].first_chunk().expect("it is inside"))
        };
        assert_eq!(block.len() as u64, layout.bytes);
        assert_eq!(word(&block, abi::GROUPS), 3 | 2 << 32);
        assert_eq!([abi::WATCH, abi::REPORT, abi::SPILLED].map(|at| word(&block, at)), [1, 2, 3]);
        let [first, second] = [0, 1].map(|i: usize| layout.bindings[i].offset);
        let address = |i: usize| memory[i].device_address();
        assert_eq!([word(&block, first), word(&block, first + 8)], [address(0), 16]);
        assert_eq!([word(&block, second), word(&block, second + 8)], [4096, 20]);
        assert_eq!(outside.len(), arguments.outside_bytes());
        assert_eq!([word(&outside, 0), word(&outside, 8)], [address(1), 32]);
        assert_eq!([word(&outside, 304), word(&outside, 312)], [address(20), 16 * 21]);
        assert_eq!(word(&block, layout.push), 0x0707_0707_0707_0707);
    }
}

//! Device memory: the one module of the core that touches it.
//!
//! Host, kernels and commands access memory at once and through raw pointers only. Vulkan leaves what a
//! race reads unspecified; no Rust reference to the bytes ever exists.

use std::sync::{Arc, Mutex, PoisonError};

use phalanx::vector::Conversion;
use vulkanalia_sys as vk;

use crate::core::machine::Held;
use crate::core::sampler::Sampler;

/// Words that a fill copies at once.
const FILL_WORDS: usize = 1024;

/// A block of device memory.
#[derive(Debug)]
pub(crate) struct Memory {
    block: Block,
    size: u64,
    /// Counts it until it is released.
    held: Mutex<Option<Held>>,
}

/// Where memory comes from.
#[derive(Debug)]
enum Block {
    /// Allocated, and zero at first.
    Owned(phalanx::Buffer),
    /// Of the application (`VK_EXT_external_memory_host`).
    Imported { address: u64, lent: Option<phalanx::Allocation> },
}

impl Memory {
    /// Allocates memory.
    pub(crate) fn allocate(device: &phalanx::Device, size: u64) -> Result<Self, vk::Result> {
        let buffer =
            device.create_buffer(size).map_err(|_no_memory| vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)?;
        Ok(Self { block: Block::Owned(buffer), size, held: Mutex::new(None) })
    }

    /// Counts it among the memory that the process holds.
    pub(crate) fn counted(self, held: Held) -> Self {
        Self { held: Mutex::new(Some(held)), ..self }
    }

    /// Memory of the application.
    ///
    /// # Safety
    ///
    /// `size` bytes from `address` can be read and written for as long as this value lives. Where that ends before its
    /// time, as of a file that is truncated, kernels that notice lose their device.
    pub(crate) unsafe fn import(
        device: &phalanx::Device,
        address: u64,
        size: u64,
    ) -> Result<Self, phalanx::Error> {
        let lent = device.lend(address, size)?;
        Ok(Self { block: Block::Imported { address, lent }, size, held: Mutex::new(None) })
    }

    /// Gives the memory back to the system, as freeing it does. What still refers to it, such as a
    /// descriptor that nobody will use again, keeps its addresses alone: it reads zero there.
    pub(crate) fn release(&self) {
        match &self.block {
            Block::Owned(buffer) => {
                buffer.retire();
                discard(self.address(), self.size);
            }
            Block::Imported { lent, .. } => lent.iter().for_each(phalanx::Allocation::withdraw),
        }
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Address of the first byte, for host and device alike.
    pub(crate) fn address(&self) -> u64 {
        match &self.block {
            Block::Owned(buffer) => buffer.device_address(),
            Block::Imported { address, .. } => *address,
        }
    }

    /// Size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }
}

/// Takes the pages away that lie wholly in a range; they are zero when they are touched again.
#[cfg(target_os = "linux")]
fn discard(address: u64, bytes: u64) {
    // SAFETY: asks a question.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096).max(1);
    let start = address.next_multiple_of(page);
    let end = (address + bytes) / page * page;
    if start < end {
        let start_pointer = std::ptr::with_exposed_provenance_mut(start as usize);
        // SAFETY: the pages are part of a block that its owner keeps, and no Rust reference to them exists.
        // A system that does not take them back keeps them until the block goes.
        let _advice = unsafe { libc::madvise(start_pointer, (end - start) as usize, libc::MADV_DONTNEED) };
    }
}

#[cfg(not(target_os = "linux"))]
fn discard(_address: u64, _bytes: u64) {}

/// What a thread copies or fills at a time, if there are several pieces: a huge page, so that hardly any new one is first
/// touched by two threads.
const PIECE_BYTES: u64 = 2 << 20;

/// How rows of bytes lie in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    /// Bytes from a row to the next.
    pub(crate) row_pitch: u64,
    /// Bytes from a slice to the next.
    pub(crate) slice_pitch: u64,
}

impl Rows {
    /// Where a row of a slice begins; far outside, if that is more than can be counted.
    pub(crate) fn at(&self, row: u32, slice: u32) -> u64 {
        let slice = self.slice_pitch.saturating_mul(slice.into());
        slice.saturating_add(self.row_pitch.saturating_mul(row.into()))
    }
}

/// A part of memory; always inside of it.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    memory: Arc<Memory>,
    offset: u64,
    size: u64,
}

impl Range {
    /// `size` bytes from `offset`, or all up to the end for `VK_WHOLE_SIZE`; nothing if they are not inside.
    pub(crate) fn new(memory: &Arc<Memory>, offset: u64, size: u64) -> Option<Self> {
        let left = memory.size().checked_sub(offset)?;
        let size = if size == vk::WHOLE_SIZE { left } else { size };
        (size <= left).then(|| Self { memory: Arc::clone(memory), offset, size })
    }

    /// A part of it, by the same rules.
    pub(crate) fn part(&self, offset: u64, size: u64) -> Option<Self> {
        let left = self.size.checked_sub(offset)?;
        let size = if size == vk::WHOLE_SIZE { left } else { size };
        (size <= left).then(|| Self { memory: Arc::clone(&self.memory), offset: self.offset + offset, size })
    }

    /// Size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Address of the first byte.
    pub(crate) fn address(&self) -> u64 {
        self.memory.address() + self.offset
    }

    fn pointer(&self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.address() as usize)
    }

    /// Does something with each piece of so many bytes from the start, by all threads of a device; nothing if they are too
    /// few to be worth it.
    fn in_pieces(
        &self,
        device: &phalanx::Device,
        bytes: u64,
        each: impl Fn(&Self, u64) + Send + Sync + 'static,
    ) -> bool {
        if bytes < 2 * PIECE_BYTES {
            return false;
        }
        let all = self.clone();
        let piece = move |number: u64| {
            let start = number * PIECE_BYTES;
            if let Some(piece) = all.part(start, PIECE_BYTES.min(bytes - start)) {
                each(&piece, start);
            }
        };
        device.run_pieces(bytes.div_ceil(PIECE_BYTES), piece).is_ok()
    }

    /// Copies the bytes to another range, as many as fit in both, by all threads of a device if they are many; they may
    /// overlap.
    pub(crate) fn copy_by(&self, to: &Self, device: &phalanx::Device) {
        let bytes = self.size.min(to.size);
        let are_apart = self.address().abs_diff(to.address()) >= bytes;
        let other = to.clone();
        let copy = move |piece: &Self, start: u64| {
            if let Some(to) = other.part(start, piece.size) {
                piece.copy_to(&to);
            }
        };
        if !(are_apart && self.in_pieces(device, bytes, copy)) {
            self.copy_to(to);
        }
    }

    /// Repeats a word over all whole words of the range, by all threads of a device if they are many.
    pub(crate) fn fill_by(&self, word: u32, device: &phalanx::Device) {
        if !self.in_pieces(device, self.size, move |piece, _start| piece.fill(word)) {
            self.fill(word);
        }
    }

    /// Copies the bytes to another range, as many as fit in both; they may overlap.
    pub(crate) fn copy_to(&self, to: &Self) {
        let bytes = self.size.min(to.size) as usize;
        // SAFETY: both ranges lie in memory that their `Arc`s keep; overlap is allowed.
        unsafe { std::ptr::copy(self.pointer(), to.pointer(), bytes) };
    }

    /// Writes bytes from the start, as many as fit.
    pub(crate) fn write(&self, bytes: &[u8]) {
        let count = bytes.len().min(self.size as usize);
        // SAFETY: the range lies in memory that its `Arc` keeps, and no Rust slice is a part of that.
        unsafe { std::ptr::copy(bytes.as_ptr(), self.pointer(), count) };
    }

    /// Reads bytes from the start into `bytes`, as many as there are.
    pub(crate) fn read(&self, bytes: &mut [u8]) {
        let count = bytes.len().min(self.size as usize);
        // SAFETY: as in `write`.
        unsafe { std::ptr::copy(self.pointer(), bytes.as_mut_ptr(), count) };
    }

    /// The address of so many bytes, if they are inside.
    fn pointer_at(&self, offset: u64, bytes: u64) -> Option<*mut u8> {
        let left = self.size.checked_sub(offset)?;
        (bytes <= left).then(|| self.pointer().wrapping_add(offset as usize))
    }

    /// Writes bytes, if they are inside.
    pub(crate) fn write_at(&self, offset: u64, bytes: &[u8]) {
        if let Some(to) = self.pointer_at(offset, bytes.len() as u64) {
            // SAFETY: the bytes lie in memory that its `Arc` keeps, and no Rust slice is a part of that.
            unsafe { std::ptr::copy(bytes.as_ptr(), to, bytes.len()) };
        }
    }

    /// Copies rows of so many bytes, of which each slice has the first count and there are as many slices as
    /// the second. A row that is not inside of both ranges is left out.
    pub(crate) fn copy_rows(&self, own: &Rows, to: &Self, other: &Rows, bytes: u64, counts: [u32; 2]) {
        let [mut rows, slices] = counts;
        let mut bytes = bytes;
        // Rows without gaps are one.
        if own.row_pitch == bytes && other.row_pitch == bytes {
            bytes = bytes.saturating_mul(rows.into());
            rows = rows.min(1);
        }
        for slice in 0..slices {
            for row in 0..rows {
                let from = self.pointer_at(own.at(row, slice), bytes);
                if let Some((from, to)) = from.zip(to.pointer_at(other.at(row, slice), bytes)) {
                    // SAFETY: both rows lie in memory that their `Arc`s keep; overlap is allowed.
                    unsafe { std::ptr::copy(from, to, bytes as usize) };
                }
            }
        }
    }

    /// Converts a matrix in the range to one in another, if both are as large as the matrices; by so many threads.
    pub(crate) fn convert_to(&self, to: &Self, conversion: &Conversion, threads: usize) {
        let has = |range: &Self, bytes: Result<usize, _>| bytes.is_ok_and(|bytes| bytes as u64 <= range.size);
        if has(self, conversion.source_bytes()) && has(to, conversion.destination_bytes()) {
            // SAFETY: both ranges are as large, and lie in memory that their `Arc`s keep.
            let converted = unsafe { conversion.run_raw(self.pointer(), to.pointer(), threads) };
            debug_assert!(converted.is_ok(), "it was checked when it was recorded");
        }
    }

    /// Repeats a word over all whole words of the range.
    pub(crate) fn fill(&self, word: u32) {
        let bytes = (self.size / 4 * 4) as usize;
        let to = self.pointer();
        let [byte, rest @ ..] = word.to_ne_bytes();
        if rest == [byte; 3] {
            // SAFETY: inside the range, which lies in memory that its `Arc` keeps.
            unsafe { std::ptr::write_bytes(to, byte, bytes) };
            return;
        }
        let pattern = [word; FILL_WORDS];
        for start in (0..bytes).step_by(size_of_val(&pattern)) {
            let count = (bytes - start).min(size_of_val(&pattern));
            // SAFETY: as above, as `start` is less than `bytes`.
            let at = unsafe { to.add(start) };
            // SAFETY: `count` bytes from there are inside, and in the pattern, which is no part of the range.
            unsafe { std::ptr::copy_nonoverlapping(pattern.as_ptr().cast(), at, count) };
        }
    }

    /// A descriptor of the range, which must live as long as the descriptor is used.
    pub(crate) fn descriptor(&self) -> phalanx::Descriptor<'_> {
        // SAFETY: the range lies in memory that its `Arc` keeps while it is borrowed, and no Rust reference
        // to the bytes exists.
        unsafe { phalanx::Descriptor::from_raw(self.address(), self.size) }
    }
}

/// Texels in a range, as kernels see them.
#[derive(Debug)]
pub(crate) struct Surface {
    /// What `view` points to, and keeps.
    _range: Range,
    view: phalanx::ImageView<'static>,
}

impl Surface {
    /// Texels that lie so in a range.
    pub(crate) fn new(range: Range, layout: phalanx::ImageLayout) -> Self {
        // SAFETY: the range lies in memory that its `Arc` keeps. The view stays in this value, beside the range,
        // and is lent for no longer than this value is; no Rust reference to the bytes exists.
        let view = unsafe { phalanx::ImageView::from_raw(range.address(), range.size(), layout) };
        Self { _range: range, view }
    }

    /// The same texels with a sampler.
    pub(crate) fn with_sampler(&self, sampler: &Sampler) -> Self {
        Self { _range: self._range.clone(), view: self.view.clone().with_sampler(sampler.state) }
    }

    /// A descriptor of the texels, which must live as long as the descriptor is used.
    pub(crate) fn descriptor(&self) -> phalanx::Descriptor<'_> {
        phalanx::Descriptor::image(&self.view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(size: u64) -> Arc<Memory> {
        let options = phalanx::DeviceOptions { threads: Some(1), ..phalanx::DeviceOptions::default() };
        Arc::new(Memory::allocate(&phalanx::Device::new(&options).unwrap(), size).unwrap())
    }

    fn bytes(range: &Range) -> Vec<u8> {
        let mut bytes = vec![0; range.size() as usize];
        range.read(&mut bytes);
        bytes
    }

    #[test]
    fn ranges_stay_inside() {
        let memory = memory(100);
        assert_eq!(Range::new(&memory, 40, vk::WHOLE_SIZE).unwrap().size(), 60);
        assert_eq!(Range::new(&memory, 100, vk::WHOLE_SIZE).unwrap().size(), 0);
        assert!(Range::new(&memory, 101, 0).is_none() && Range::new(&memory, 1, 100).is_none());
        let range = Range::new(&memory, 40, 50).unwrap();
        assert_eq!(range.part(10, vk::WHOLE_SIZE).unwrap().size(), 40);
        assert_eq!(range.part(10, 40).unwrap().address(), memory.address() + 50);
        assert!(range.part(10, 41).is_none() && range.part(u64::MAX, 1).is_none());
    }

    #[test]
    fn a_fill_covers_whole_words_and_nothing_else() {
        let memory = memory(20_000);
        for (word, size) in [(0x0102_0304_u32, 3), (0x0102_0304, 7), (7, 4096), (7, 10_001), (0x0505_0505, 9)]
        {
            let all = Range::new(&memory, 0, vk::WHOLE_SIZE).unwrap();
            all.fill(0xffff_ffff);
            Range::new(&memory, 8, size).unwrap().fill(word);
            let bytes = bytes(&all);
            let words = size as usize / 4;
            let (filled, rest) = bytes[8..].split_at(4 * words);
            assert_eq!(filled, [word; 3000].map(u32::to_ne_bytes).as_flattened()[..4 * words].to_vec());
            assert!(bytes[..8].iter().chain(rest).all(|&byte| byte == 0xff), "{size}");
        }
    }

    #[test]
    fn many_bytes_are_moved_by_all_threads() {
        let options = phalanx::DeviceOptions { threads: Some(3), ..phalanx::DeviceOptions::default() };
        let device = phalanx::Device::new(&options).unwrap();
        let memory = Arc::new(Memory::allocate(&device, 12 * PIECE_BYTES).unwrap());
        let part = |offset, size| Range::new(&memory, offset, size).unwrap();
        // Whole words of a range that is no multiple of anything, and nothing beyond.
        let size = 4 * PIECE_BYTES + 7;
        part(8, size).fill_by(0x0102_0304, &device);
        let found = bytes(&part(0, size + 16));
        let (filled, rest) = found[8..].split_at(size as usize / 4 * 4);
        assert!(filled.chunks_exact(4).all(|word| word == 0x0102_0304_u32.to_ne_bytes()));
        assert!(found[..8].iter().chain(rest).all(|&byte| byte == 0));
        // Numbers that differ in all pieces, to a place apart and to one that overlaps.
        let size = 5 * PIECE_BYTES + 3;
        let numbers: Vec<u8> = (0..size).map(|i| (i ^ i >> 8 ^ i >> 16) as u8).collect();
        part(0, size).write(&numbers);
        part(0, size).copy_by(&part(6 * PIECE_BYTES, size), &device);
        assert!(bytes(&part(6 * PIECE_BYTES, size)) == numbers);
        part(0, size).copy_by(&part(5, size), &device);
        assert!(bytes(&part(5, size)) == numbers);
    }

    #[test]
    fn copies_may_overlap() {
        let memory = memory(16);
        let part = |offset, size| Range::new(&memory, offset, size).unwrap();
        part(0, 8).write(&[1, 2, 3, 4, 5, 6, 7, 8]);
        part(0, 8).copy_to(&part(2, 8));
        assert_eq!(bytes(&part(0, 11)), [1, 2, 1, 2, 3, 4, 5, 6, 7, 8, 0]);
    }

    #[test]
    fn memory_that_was_released_is_zero_and_can_be_touched() {
        let memory = memory(1 << 20);
        let all = Range::new(&memory, 0, vk::WHOLE_SIZE).unwrap();
        all.fill(0x0101_0101);
        memory.release();
        assert_eq!(bytes(&all.part(1 << 19, 4).unwrap()), [0; 4]);
    }

    /// Runs a kernel that reads `x[0..64]` through an address, for elements at the very end of the memory.
    fn read_at_the_end(page: *mut libc::c_void, bytes: u64, element: &str, value: &str, stride: u64) {
        let text = format!(
            "#version 460
             #extension GL_EXT_buffer_reference : require
             #extension GL_EXT_scalar_block_layout : require
             #extension GL_EXT_shader_explicit_arithmetic_types : require
             struct Element {{ {element} }};
             layout(buffer_reference, scalar) readonly buffer Input {{ Element x[]; }};
             layout(local_size_x = 64) in;
             layout(set = 0, binding = 0) buffer Output {{ float y[]; }};
             layout(push_constant) uniform Push {{ Input data; }};
             void main() {{
                 uint i = gl_LocalInvocationIndex;
                 y[i] = float(data.x[i].{value});
             }}"
        );
        let words = phalanx::glsl::compile(&text, &phalanx::glsl::GlslOptions::default()).unwrap();
        let options = phalanx::DeviceOptions { threads: Some(1), ..phalanx::DeviceOptions::default() };
        let device = phalanx::Device::new(&options).unwrap();
        let module = device.create_module(&words).unwrap();
        let pipeline = device.create_pipeline(&phalanx::PipelineDescriptor::new(&module)).unwrap();
        // SAFETY: the page is mapped until the end of the test.
        let memory = unsafe { Memory::import(&device, page.expose_provenance() as u64, bytes) }.unwrap();
        let all = Range::new(&Arc::new(memory), 0, vk::WHOLE_SIZE).unwrap();
        let start = bytes - 64 * stride;
        let output = device.create_buffer(256).unwrap();
        let dispatch = phalanx::Dispatch {
            bindings: &[phalanx::Binding::new(0, 0, &output)],
            push_constants: &(all.address() + start).to_le_bytes(),
            ..phalanx::Dispatch::new(&pipeline, [1, 1, 1])
        };
        device.dispatch(&dispatch).unwrap();
        assert_eq!(output.read_slice::<f32>(0, 64).unwrap(), [0.0; 64]);
    }

    #[test]
    fn kernels_read_nothing_behind_imported_memory() {
        let bytes = 4096;
        // SAFETY: a fresh mapping touches nothing else.
        let page = unsafe {
            let (read, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            libc::mmap(std::ptr::null_mut(), 2 * bytes, read, kind, -1, 0)
        };
        assert_ne!(page, libc::MAP_FAILED);
        // SAFETY: the second page of a mapping of our own.
        assert_eq!(unsafe { libc::mprotect(page.wrapping_byte_add(bytes), bytes, libc::PROT_NONE) }, 0);
        for (element, value, stride) in [
            ("float a, b;", "b", 8),
            ("float a, b, c;", "c", 12),
            ("float a; double b;", "b", 16),
            ("float a; vec3 b;", "b.z", 16),
            ("uint16_t a, b, c;", "c", 6),
            ("uint8_t a, b, c;", "c", 3),
            ("float a;", "a", 4),
        ] {
            read_at_the_end(page, bytes as u64, element, value, stride);
        }
        // SAFETY: a mapping of our own, used no more.
        unsafe { libc::munmap(page, 2 * bytes) };
    }
}

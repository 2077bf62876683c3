//! Memory that kernels and the host share.
//!
//! A [`Buffer`] is raw memory with a fixed address, which is its device address. Kernels may write it
//! while the host reads, as on any device; so it is accessed through raw pointers only, and what a
//! read sees during a dispatch is unspecified. New memory is zero. Large buffers are mapped from the
//! system, page by page when they are first touched, with huge pages where the system offers them.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fmt;
use std::ptr::{self, NonNull};

use crate::allocations::{Allocation, Allocations};
use crate::descriptor::Descriptor;
use crate::part::Part;

/// Alignment of every buffer, in bytes.
pub const MEMORY_ALIGN: usize = 64;

/// Buffers of at least this many bytes are mapped, smaller ones come from the heap.
const MAP_FROM: usize = 256 << 10;

/// Bytes after the end of a buffer that belong to nobody, so that a vector read may run over it.
const TAIL: usize = 64;

/// Size of a huge page; mappings of this size and more start at a multiple of it.
pub const HUGE_PAGE: usize = 2 << 20;

/// Why a buffer could not be created or accessed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The system gave no memory.
    #[error("out of memory: {bytes} bytes are not to be had")]
    OutOfMemory {
        /// Size that was asked for.
        bytes: u64,
    },
    /// An access reaches past the end.
    #[error("range {offset}..{offset}+{bytes} lies outside of a buffer of {size} bytes")]
    OutOfRange {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        bytes: u64,
        /// Size of the buffer.
        size: u64,
    },
}

/// Who gave the memory and takes it back.
#[derive(Debug)]
enum Owner {
    Heap(Layout),
    Map {
        base: NonNull<u8>,
        bytes: usize,
    },
    /// Something that takes it back when it is dropped.
    Other(#[expect(dead_code, reason = "its end is what it is for")] Box<dyn fmt::Debug + Send + Sync>),
}

/// A block of zeroed memory, aligned to [`MEMORY_ALIGN`] at least.
#[derive(Debug)]
struct Block {
    start: NonNull<u8>,
    owner: Owner,
}

impl Block {
    /// `bytes` usable bytes and a tail.
    fn new(bytes: usize) -> Option<Self> {
        let padded = bytes.checked_add(TAIL)?;
        if bytes < MAP_FROM { Self::from_heap(padded) } else { Self::from_system(padded) }
    }

    fn from_heap(bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes, MEMORY_ALIGN).ok()?;
        // SAFETY: the layout is not empty, `TAIL` is part of it.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self { start, owner: Owner::Heap(layout) })
    }

    fn from_system(bytes: usize) -> Option<Self> {
        let align = if bytes >= HUGE_PAGE { HUGE_PAGE } else { 1 };
        let mapped = bytes.checked_add(align - 1)?;
        // SAFETY: a fresh private mapping at an address of the system's choice touches nothing else.
        let base = unsafe {
            libc::mmap(
                ptr::null_mut(),
                mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return None;
        }
        let base = NonNull::new(base.cast::<u8>())?;
        let skip = base.addr().get().next_multiple_of(align) - base.addr().get();
        // SAFETY: `skip` is less than `align`, so `skip + bytes` is at most `mapped`.
        let start = unsafe { base.add(skip) };
        if align == HUGE_PAGE {
            prefer_huge_pages(start, bytes);
        }
        Some(Self { start, owner: Owner::Map { base, bytes: mapped } })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        match self.owner {
            // SAFETY: `start` came from `alloc_zeroed` with this layout.
            Owner::Heap(layout) => unsafe { dealloc(self.start.as_ptr(), layout) },
            Owner::Map { base, bytes } => {
                // SAFETY: `base` and `bytes` are those of a mapping of our own, used no more.
                let result = unsafe { libc::munmap(base.as_ptr().cast(), bytes) };
                debug_assert_eq!(result, 0, "munmap of a mapping of our own");
            }
            Owner::Other(_) => {}
        }
    }
}

/// Asks for huge pages. A system without them loses some speed and nothing else.
#[cfg(target_os = "linux")]
fn prefer_huge_pages(start: NonNull<u8>, bytes: usize) {
    // SAFETY: the range lies in a mapping of our own, and the advice does not change its contents.
    let _advice = unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn prefer_huge_pages(_start: NonNull<u8>, _bytes: usize) {}

/// Memory of the device that the host can read and write.
///
/// ```
/// let buffer = phalanx_host::Buffer::new(16)?;
/// buffer.write(4, &[1, 2, 3])?;
/// assert_eq!(buffer.read(3, 5)?, [0, 1, 2, 3, 0]);
/// assert!(buffer.read(3, 14).is_err());
/// # Ok::<(), phalanx_host::MemoryError>(())
/// ```
#[derive(Debug)]
pub struct Buffer {
    /// Its place in the list of a device; taken out of it before the memory is gone.
    listed: Option<Allocation>,
    block: Block,
    bytes: usize,
}

// SAFETY: the memory is owned, and accessed through raw pointers for the duration of a copy only.
unsafe impl Send for Buffer {}
// SAFETY: concurrent accesses race as on any device: they see some mix of bytes, never a Rust
// reference, and no invariant of ours depends on what they see.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// A buffer of `size` zero bytes, aligned to 64 bytes at least.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfMemory`].
    pub fn new(size: u64) -> Result<Self, MemoryError> {
        let out_of_memory = || MemoryError::OutOfMemory { bytes: size };
        let bytes = usize::try_from(size).map_err(|_wide| out_of_memory())?;
        Ok(Self { listed: None, block: Block::new(bytes).ok_or_else(out_of_memory)?, bytes })
    }

    /// A buffer of someone else's memory, such as that of a device's driver.
    ///
    /// # Safety
    ///
    /// `bytes` bytes from `start` can be read and written until `owner` is dropped, and no Rust reference to them is used.
    pub unsafe fn from_owner(
        start: NonNull<u8>,
        bytes: usize,
        owner: Box<dyn fmt::Debug + Send + Sync>,
    ) -> Self {
        Self { listed: None, block: Block { start, owner: Owner::Other(owner) }, bytes }
    }

    /// The same buffer as one of a list.
    pub fn listed(self, list: &Allocations) -> Self {
        Self { listed: Some(list.add(self.device_address(), self.size())), ..self }
    }

    /// Says that nobody should know its address any more, before it is dropped.
    pub fn retire(&self) {
        if let Some(listed) = &self.listed {
            listed.withdraw();
        }
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.bytes as u64
    }

    /// Address by which kernels and the host know the first byte.
    pub fn device_address(&self) -> u64 {
        self.block.start.as_ptr().expose_provenance() as u64
    }

    /// The first byte, for access without copies. The memory lives as long as the buffer, and kernels may change
    /// it at any time during a dispatch.
    pub fn as_ptr(&self) -> *mut u8 {
        self.block.start.as_ptr()
    }

    /// Copies bytes into the buffer.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`], and nothing is written.
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<(), MemoryError> {
        let to = self.range(offset, data.len() as u64)?;
        // SAFETY: `range` checked that all of it lies in the buffer; `data` is a Rust slice and thus
        // no part of it.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), to.as_ptr(), data.len()) };
        Ok(())
    }

    /// Copies bytes out of the buffer.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`].
    pub fn read_into(&self, offset: u64, data: &mut [u8]) -> Result<(), MemoryError> {
        let from = self.range(offset, data.len() as u64)?;
        // SAFETY: as in `write`.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), data.as_mut_ptr(), data.len()) };
        Ok(())
    }

    /// The bytes from `offset`, `len` of them.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`].
    pub fn read(&self, offset: u64, len: u64) -> Result<Vec<u8>, MemoryError> {
        let from = self.range(offset, len)?;
        let bytes = usize::try_from(len).map_err(|_wide| MemoryError::OutOfMemory { bytes: len })?;
        let mut data = Vec::<u8>::new();
        data.try_reserve_exact(bytes).map_err(|_refused| MemoryError::OutOfMemory { bytes: len })?;
        // SAFETY: `range` checked that all of it lies in the buffer, and `data` has room for it.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), data.as_mut_ptr(), bytes) };
        // SAFETY: these bytes have just been written.
        unsafe { data.set_len(bytes) };
        Ok(data)
    }

    /// A descriptor of `bytes` bytes from `offset`; all up to the end without `bytes`.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`].
    pub fn descriptor(&self, offset: u64, bytes: Option<u64>) -> Result<Descriptor<'_>, MemoryError> {
        Ok(Descriptor::part(self.part(offset, bytes)?))
    }

    /// `bytes` bytes from `offset`; all up to the end without `bytes`.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`].
    pub fn part(&self, offset: u64, bytes: Option<u64>) -> Result<Part<'_>, MemoryError> {
        let bytes = bytes.unwrap_or(self.size().saturating_sub(offset));
        let start = self.range(offset, bytes)?;
        Ok(Part::new(start.as_ptr().expose_provenance() as u64, bytes))
    }

    /// The address of `offset`, if `bytes` bytes from there lie in the buffer.
    fn range(&self, offset: u64, bytes: u64) -> Result<NonNull<u8>, MemoryError> {
        match offset.checked_add(bytes) {
            // SAFETY: `offset` is at most the size of the block.
            Some(end) if end <= self.size() => Ok(unsafe { self.block.start.add(offset as usize) }),
            _ => Err(MemoryError::OutOfRange { offset, bytes, size: self.size() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_zeroed_aligned_and_writable_to_its_end() {
        for size in [0, 1, 63, 64, 4096, MAP_FROM - 1, MAP_FROM, HUGE_PAGE - 1, HUGE_PAGE, 3 * HUGE_PAGE + 5]
        {
            let buffer = Buffer::new(size as u64).unwrap();
            assert_eq!(buffer.device_address() % MEMORY_ALIGN as u64, 0);
            assert_eq!(buffer.size(), size as u64);
            assert!(buffer.read(0, size as u64).unwrap().iter().all(|&byte| byte == 0));
            if size > 0 {
                buffer.write(size as u64 - 1, &[9]).unwrap();
                assert_eq!(buffer.read(size as u64 - 1, 1).unwrap(), [9]);
            }
        }
    }

    #[test]
    fn ranges_are_checked_without_overflow() {
        let buffer = Buffer::new(8).unwrap();
        assert_eq!(buffer.read(8, 0).unwrap(), []);
        for (offset, bytes) in [(0, 9), (8, 1), (9, 0), (u64::MAX, 1), (1, u64::MAX)] {
            assert!(buffer.read(offset, bytes).is_err(), "{offset} {bytes}");
            assert!(buffer.descriptor(offset, Some(bytes)).is_err(), "{offset} {bytes}");
        }
        assert_eq!(buffer.descriptor(2, None).unwrap().buffer().size(), 6);
    }

    #[test]
    fn absurd_sizes_are_refused() {
        for size in [u64::MAX, u64::MAX - 63, 1 << 62] {
            assert_eq!(Buffer::new(size).unwrap_err(), MemoryError::OutOfMemory { bytes: size });
        }
    }
}

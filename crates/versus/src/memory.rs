//! Memory for matrices: whole pages of 2 MiB where it is large, as that of devices is, or a library would be measured at a
//! disadvantage.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use crate::Error;

/// A huge page of x86-64 and AArch64.
const HUGE_PAGE: usize = 2 << 20;

/// What the widest vectors want.
const LINE: usize = 64;

/// Bytes at an address of their own.
#[derive(Debug)]
pub(crate) struct Memory {
    start: NonNull<u8>,
    layout: Layout,
    bytes: usize,
}

impl Memory {
    /// So many zeros.
    pub(crate) fn zeroed(bytes: usize) -> Result<Self, Error> {
        let alignment = if bytes >= HUGE_PAGE { HUGE_PAGE } else { LINE };
        let layout = Layout::from_size_align(bytes.max(1), alignment);
        let layout = layout.map_err(|_too_large| Error::Memory { bytes })?;
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).ok_or(Error::Memory { bytes })?;
        #[cfg(target_os = "linux")]
        if bytes >= HUGE_PAGE {
            // What it returns does not matter: without huge pages it works, too.
            // SAFETY: the range is our own; the advice changes nothing that it holds.
            unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
        }
        Ok(Self { start, layout, bytes })
    }

    /// A copy.
    pub(crate) fn of(bytes: &[u8]) -> Result<Self, Error> {
        let mut memory = Self::zeroed(bytes.len())?;
        memory.bytes_mut().copy_from_slice(bytes);
        Ok(memory)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: they are allocated, initialised, and nobody has them to write to while `self` is shared.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: they are allocated, initialised, and nobody else has them while `self` is borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// Where they are, for a library.
    pub(crate) fn address(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

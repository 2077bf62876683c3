//! Parts of memory.

use std::marker::PhantomData;
use std::ptr;

use crate::memory::{Buffer, MemoryError};

/// A part of memory that can be read and written for `'a`, by kernels and by the host. The default is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part<'a> {
    address: u64,
    size: u64,
    memory: PhantomData<&'a Buffer>,
}

impl Part<'_> {
    /// Who calls it answers for the memory.
    pub(crate) fn new(address: u64, size: u64) -> Self {
        Self { address, size, memory: PhantomData }
    }

    /// Address of the first byte.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Copies the bytes from `offset` on out of it, as many as `data` has.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`], and nothing is copied.
    pub fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), MemoryError> {
        let from = self.range(offset, data.len() as u64)?;
        // SAFETY: `range` checked that all of it lies in the part, which can be read as long as the part is there; `data`
        // is a Rust slice and thus no part of memory that kernels write.
        unsafe { ptr::copy_nonoverlapping(from, data.as_mut_ptr(), data.len()) };
        Ok(())
    }

    /// Copies bytes into it, from `offset` on.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`], and nothing is written.
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<(), MemoryError> {
        let to = self.range(offset, data.len() as u64)?;
        // SAFETY: as in `read`, and the part can be written.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), to, data.len()) };
        Ok(())
    }

    /// The address of `offset`, if `bytes` bytes from there lie in it.
    fn range(&self, offset: u64, bytes: u64) -> Result<*mut u8, MemoryError> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.size => {
                Ok(ptr::with_exposed_provenance_mut((self.address + offset) as usize))
            }
            _ => Err(MemoryError::OutOfRange { offset, bytes, size: self.size }),
        }
    }
}

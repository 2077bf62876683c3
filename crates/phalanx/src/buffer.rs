//! Buffers.

use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit};
use phalanx_host::MemoryError;

/// Memory that kernels and the host share. Clones refer to the same memory.
///
/// A kernel that runs may write it at any time; what the host reads meanwhile is unspecified.
#[derive(Clone, Debug)]
pub struct Buffer {
    memory: Arc<phalanx_host::Buffer>,
}

impl Buffer {
    pub(crate) fn with_size(size: u64) -> Result<Self, MemoryError> {
        Ok(Self::new(phalanx_host::Buffer::new(size)?))
    }

    pub(crate) fn new(memory: phalanx_host::Buffer) -> Self {
        Self { memory: Arc::new(memory) }
    }

    /// Says that nobody should know its address any more, before the last clone is dropped: an access by address that
    /// goes there is a mistake from now on.
    pub fn retire(&self) {
        self.memory.retire();
    }

    pub(crate) fn memory(&self) -> &Arc<phalanx_host::Buffer> {
        &self.memory
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.memory.size()
    }

    /// The address of the first byte, as kernels with buffer references know it.
    pub fn device_address(&self) -> u64 {
        self.memory.device_address()
    }

    /// The first byte, for access without copies. It stays where it is as long as the buffer lives.
    pub fn as_ptr(&self) -> *mut u8 {
        self.memory.as_ptr()
    }

    /// Copies bytes into the buffer, from `offset`.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`], and nothing is written.
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<(), MemoryError> {
        self.memory.write(offset, data)
    }

    /// Copies `len` bytes out of the buffer, from `offset`.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`].
    pub fn read(&self, offset: u64, len: u64) -> Result<Vec<u8>, MemoryError> {
        self.memory.read(offset, len)
    }

    /// Copies numbers into the buffer, from byte `offset`.
    ///
    /// # Errors
    ///
    /// As [`Buffer::write`].
    pub fn write_slice<T: NoUninit>(&self, offset: u64, data: &[T]) -> Result<(), MemoryError> {
        self.memory.write(offset, bytemuck::cast_slice(data))
    }

    /// Copies `count` numbers out of the buffer, from byte `offset`.
    ///
    /// # Errors
    ///
    /// As [`Buffer::read`].
    pub fn read_slice<T: AnyBitPattern + NoUninit>(
        &self,
        offset: u64,
        count: usize,
    ) -> Result<Vec<T>, MemoryError> {
        let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
        // Checks the range before memory is taken for it.
        self.memory.descriptor(offset, Some(bytes))?;
        let mut data = Vec::new();
        data.try_reserve_exact(count).map_err(|_refused| MemoryError::OutOfMemory { bytes })?;
        data.resize(count, T::zeroed());
        self.memory.read_into(offset, bytemuck::cast_slice_mut(&mut data))?;
        Ok(data)
    }
}

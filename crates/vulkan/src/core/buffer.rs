//! Buffers.

use std::sync::OnceLock;

use vulkanalia_sys as vk;

use crate::core::memory::Range;

/// Alignment of a buffer in memory.
pub(crate) const ALIGNMENT: u64 = 64;

/// A buffer.
#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) size: u64,
    /// Its memory, once it is bound; as long as the buffer.
    pub(crate) bound: OnceLock<Range>,
}

impl Buffer {
    /// `size` bytes from `offset`, or all up to the end for `VK_WHOLE_SIZE`; nothing if the buffer is not bound
    /// or they are not inside.
    pub(crate) fn range(&self, offset: u64, size: u64) -> Option<Range> {
        self.bound.get()?.part(offset, size)
    }

    /// The address of its first byte; 0 without memory.
    pub(crate) fn address(&self) -> u64 {
        self.bound.get().map_or(0, Range::address)
    }
}

/// What memory a buffer of this size needs.
pub(crate) fn requirements(size: u64) -> vk::MemoryRequirements {
    // A size that cannot be rounded up is beyond all memory anyway.
    let size = size.checked_next_multiple_of(ALIGNMENT).unwrap_or(size);
    vk::MemoryRequirements { size, alignment: ALIGNMENT, memory_type_bits: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_multiples_of_the_alignment() {
        assert_eq!([1, 64, 65].map(|size| requirements(size).size), [64, 64, 128]);
        assert_eq!(requirements(u64::MAX).size, u64::MAX);
    }
}

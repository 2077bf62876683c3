//! Memory private to workers.

use phalanx_host::{Buffer, HUGE_PAGE, MEMORY_ALIGN, MemoryError};

// Compiled code counts on the alignment of its memory.
const _: () = assert!(MEMORY_ALIGN >= phalanx_back_llvm::abi::MEMORY_ALIGN);

/// From so many bytes on, scratch memory is of whole huge pages.
const WHOLE_PAGE: u64 = 128 << 10;

/// Memory of a worker: grows on demand, contents unspecified.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    buffer: Option<Buffer>,
}

impl Scratch {
    /// A pointer to at least `bytes` bytes, aligned to [`MEMORY_ALIGN`].
    pub(crate) fn reserve(&mut self, bytes: u64) -> Result<*mut u8, MemoryError> {
        if let Some(buffer) = &self.buffer
            && buffer.size() >= bytes
        {
            return Ok(buffer.as_ptr());
        }
        // Free first: the old contents are not wanted, and two blocks need more memory than one.
        self.buffer = None;
        // Matrices that fill a good part of the second cache would need more pages than a processor keeps in mind.
        let bytes = if bytes < WHOLE_PAGE { bytes } else { bytes.next_multiple_of(HUGE_PAGE as u64) };
        Ok(self.buffer.insert(Buffer::new(bytes)?).as_ptr())
    }

    /// Frees the memory if it is larger than `bytes`.
    pub(crate) fn trim(&mut self, bytes: u64) {
        self.buffer.take_if(|buffer| buffer.size() > bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_keeps_its_memory_until_trimmed() {
        let mut scratch = Scratch::default();
        let first = scratch.reserve(100).unwrap();
        assert_eq!(scratch.reserve(50).unwrap(), first);
        scratch.trim(100);
        assert_eq!(scratch.reserve(100).unwrap(), first);
        scratch.trim(10);
        assert!(scratch.buffer.is_none());
    }
}

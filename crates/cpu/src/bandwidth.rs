//! How fast memory is read that is as buffers are.

use phalanx_host::{Buffer, MemoryError};
use phalanx_kernels::peak;
use std::time::Duration;

/// Memory that is read for nothing but to see how fast that is.
#[derive(Debug)]
pub struct Probe {
    /// Nobody else has it, and nothing is written after it was made.
    buffer: Buffer,
}

impl Probe {
    /// Memory of so many bytes, each of them written once.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfMemory`].
    pub fn new(bytes: usize) -> Result<Self, MemoryError> {
        const PIECE: usize = 1 << 20;
        let buffer = Buffer::new(bytes as u64)?;
        for start in (0..bytes).step_by(PIECE) {
            buffer.write(start as u64, &vec![1; PIECE.min(bytes - start)])?;
        }
        Ok(Self { buffer })
    }

    /// Its size in bytes.
    pub fn size(&self) -> usize {
        self.buffer.size() as usize
    }

    /// Bytes that so many threads read in a second, each its part again and again for about `duration`. What fits into
    /// caches comes from there.
    pub fn read(&self, threads: usize, duration: Duration) -> f64 {
        let words = self.buffer.as_ptr().cast::<u64>().cast_const();
        // SAFETY: the buffer is aligned to 64 bytes, has that many, lives as long as `self`, and nothing writes to it.
        let memory = unsafe { std::slice::from_raw_parts(words, self.size() / size_of::<u64>()) };
        peak::read(memory, threads, duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_takes_some_time() {
        let probe = Probe::new(100_003).unwrap();
        assert_eq!(probe.size(), 100_003);
        let rate = probe.read(2, Duration::from_micros(100));
        assert!(rate > 0.0 && rate.is_finite());
    }
}

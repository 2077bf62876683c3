//! Images: memory, and how texels lie in it.

use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use phalanx_ir::image::ImageLayout;
use phalanx_ir::texel::MAX_TEXEL_BYTES;
use phalanx_ir::{AtomicOp, Sampler, Scalar, eval};

use crate::memory::{Buffer, MemoryError};
use crate::part::Part;

/// A part of memory that is an image, or a texel buffer.
///
/// Nothing outside of the part is accessed, whatever the layout says. Atomic operations on a texel that does not lie
/// at a multiple of its size do nothing.
#[derive(Clone, Debug)]
pub struct ImageView<'a> {
    memory: Part<'a>,
    layout: ImageLayout,
    sampler: Option<Sampler>,
}

impl<'a> ImageView<'a> {
    /// `bytes` bytes of a buffer from `offset`, or all up to its end.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`].
    pub fn new(
        buffer: &'a Buffer,
        offset: u64,
        bytes: Option<u64>,
        layout: ImageLayout,
    ) -> Result<Self, MemoryError> {
        Ok(Self { memory: buffer.part(offset, bytes)?, layout, sampler: None })
    }

    /// Memory that is no [`Buffer`].
    ///
    /// # Safety
    ///
    /// `bytes` bytes from `address` can be read and written for the lifetime of the view, and no Rust reference to
    /// them is used during a dispatch.
    pub unsafe fn from_raw(address: u64, bytes: u64, layout: ImageLayout) -> Self {
        Self { memory: Part::new(address, bytes), layout, sampler: None }
    }

    /// The same with a sampler, for shaders that have both in one.
    pub fn with_sampler(self, sampler: Sampler) -> Self {
        Self { sampler: Some(sampler), ..self }
    }

    /// Its sampler.
    pub fn sampler(&self) -> Option<&Sampler> {
        self.sampler.as_ref()
    }

    /// Its memory.
    pub fn memory(&self) -> Part<'a> {
        self.memory
    }

    /// How texels lie in it.
    pub fn layout(&self) -> &ImageLayout {
        &self.layout
    }

    /// The address of the texel at an offset, if it lies in the memory.
    fn texel(&self, at: u64) -> Option<*mut u8> {
        let end = at.checked_add(self.layout.format.bytes() as u64)?;
        (end <= self.memory.size())
            .then(|| ptr::with_exposed_provenance_mut((self.memory.address() + at) as usize))
    }

    /// The bytes of the texel at an offset, if it lies in the memory.
    pub fn read(&self, at: u64) -> Option<[u8; MAX_TEXEL_BYTES]> {
        let texel = self.texel(at)?;
        let mut bytes = [0; MAX_TEXEL_BYTES];
        // SAFETY: `texel` checked that so many bytes lie in the view's memory, which whoever made the view answers
        // for; no texel has more than there are.
        unsafe { copy(texel, bytes.as_mut_ptr(), self.layout.format.bytes()) };
        Some(bytes)
    }

    /// Sets the components of the texel at an offset, if it lies in the memory.
    pub fn write(&self, at: u64, components: [u64; 4]) {
        let Some(texel) = self.texel(at) else { return };
        let bytes = self.layout.format.encode(components);
        // SAFETY: as in `read`.
        unsafe { copy(bytes.as_ptr(), texel, self.layout.format.bytes()) };
    }

    /// Replaces a texel of as many bytes as the scalar has, and gives the old one.
    pub fn update(&self, at: u64, scalar: Scalar, op: AtomicOp, value: u64, comparator: u64) -> Option<u64> {
        let bytes = self.layout.format.bytes();
        let texel = self.texel(at).filter(|texel| texel.addr().is_multiple_of(bytes))?;
        let new = |old| eval::atomic(op, scalar, old, value, comparator);
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        match (bytes, scalar.bytes()) {
            (4, 4) => {
                // SAFETY: `texel` checked that 4 bytes lie in the view's memory, and they are aligned.
                let word = unsafe { AtomicU32::from_ptr(texel.cast()) };
                let old = match op {
                    AtomicOp::Load => Ok(word.load(fetch)),
                    _ => word.fetch_update(set, fetch, |old| Some(new(old.into()) as u32)),
                };
                old.ok().map(u64::from)
            }
            (8, 8) => {
                // SAFETY: as above, with 8 bytes.
                let word = unsafe { AtomicU64::from_ptr(texel.cast()) };
                match op {
                    AtomicOp::Load => Some(word.load(fetch)),
                    _ => word.fetch_update(set, fetch, |old| Some(new(old))).ok(),
                }
            }
            _ => None,
        }
    }
}

/// Copies a texel: in one piece if it has a scalar's size, since other threads may read it meanwhile.
///
/// # Safety
///
/// `bytes` bytes can be read from one and written to the other, and they do not overlap.
unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    match bytes {
        // SAFETY: by the contract, here and below.
        2 => unsafe { to.cast::<u16>().write_unaligned(from.cast::<u16>().read_unaligned()) },
        // SAFETY: as above.
        4 => unsafe { to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()) },
        // SAFETY: as above.
        8 => unsafe { to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()) },
        // SAFETY: as above.
        _ => unsafe { ptr::copy_nonoverlapping(from, to, bytes) },
    }
}

//! Images: memory and how texels lie in it, and what compiled code asks of them.

use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use phalanx_back_llvm::abi::ImageCode;
use phalanx_ir::image::{ImageKind, ImageLayout};
use phalanx_ir::texel::MAX_TEXEL_BYTES;
use phalanx_ir::{AtomicOp, Binding, ImageOp, SampleOp, Sampler, eval, sample};

use crate::memory::{Buffer, Descriptor, MemoryError};

/// A part of memory that is an image, or a texel buffer.
///
/// Nothing outside of the part is accessed, whatever the layout says. Atomic operations on a texel that does not lie
/// at a multiple of its size do nothing.
#[derive(Clone, Debug)]
pub struct ImageView<'a> {
    address: u64,
    bytes: u64,
    layout: ImageLayout,
    sampler: Option<Sampler>,
    memory: PhantomData<&'a Buffer>,
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
        let (address, bytes) = buffer.part(offset, bytes)?;
        Ok(Self { address, bytes, layout, sampler: None, memory: PhantomData })
    }

    /// Memory that is no [`Buffer`].
    ///
    /// # Safety
    ///
    /// `bytes` bytes from `address` can be read and written for the lifetime of the view, and no Rust reference to
    /// them is used during a dispatch.
    pub unsafe fn from_raw(address: u64, bytes: u64, layout: ImageLayout) -> Self {
        Self { address, bytes, layout, sampler: None, memory: PhantomData }
    }

    /// The same with a sampler, for shaders that have both in one.
    pub fn with_sampler(self, sampler: Sampler) -> Self {
        Self { sampler: Some(sampler), ..self }
    }

    /// Its sampler.
    pub fn sampler(&self) -> Option<&Sampler> {
        self.sampler.as_ref()
    }

    /// How texels lie in it.
    pub fn layout(&self) -> &ImageLayout {
        &self.layout
    }

    /// The address of the texel at an offset, if it lies in the memory.
    fn texel(&self, at: u64) -> Option<*mut u8> {
        let end = at.checked_add(self.layout.format.bytes() as u64)?;
        (end <= self.bytes).then(|| ptr::with_exposed_provenance_mut((self.address + at) as usize))
    }

    fn read(&self, at: u64) -> Option<[u8; MAX_TEXEL_BYTES]> {
        let texel = self.texel(at)?;
        let mut bytes = [0; MAX_TEXEL_BYTES];
        // SAFETY: `texel` checked that so many bytes lie in the view's memory, which whoever made the view answers
        // for; no texel has more than there are.
        unsafe { copy(texel, bytes.as_mut_ptr(), self.layout.format.bytes()) };
        Some(bytes)
    }

    fn write(&self, at: u64, components: [u64; 4]) {
        let Some(texel) = self.texel(at) else { return };
        let bytes = self.layout.format.encode(components);
        // SAFETY: as in `read`.
        unsafe { copy(bytes.as_ptr(), texel, self.layout.format.bytes()) };
    }

    /// Replaces a texel of as many bytes as the scalar has, and gives the old one.
    fn update(&self, at: u64, call: &Call, op: AtomicOp, value: u64, comparator: u64) -> Option<u64> {
        let (scalar, bytes) = (call.code.scalar, self.layout.format.bytes());
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

/// The images and samplers of a dispatch, of each binding.
pub(crate) struct Bound {
    views: Vec<Box<[Option<NonNull<ImageView<'static>>>]>>,
    samplers: Vec<Box<[Option<Sampler>]>>,
}

impl Bound {
    /// Those among the descriptors.
    ///
    /// # Safety
    ///
    /// The views must be there as long as this is used.
    pub(crate) unsafe fn new(bindings: &[&[Descriptor<'_>]]) -> Self {
        // The lifetime ends with the dispatch, which the caller answers for.
        let view = |descriptor: &Descriptor<'_>| Some(NonNull::from(descriptor.as_image()?).cast());
        let sampler = |descriptor: &Descriptor<'_>| descriptor.as_sampler().copied();
        Self {
            views: bindings.iter().map(|list| found(list, view)).collect(),
            samplers: bindings.iter().map(|list| found(list, sampler)).collect(),
        }
    }

    fn view(&self, binding: u32, index: u32) -> Option<&ImageView<'_>> {
        let view = (*self.views.get(binding as usize)?.get(index as usize)?)?;
        // SAFETY: by the contract of `new` the view is there.
        Some(unsafe { view.as_ref() })
    }

    fn sampler(&self, binding: Binding, index: u32) -> Option<&Sampler> {
        self.samplers.get(binding.index())?.get(index as usize)?.as_ref()
    }
}

/// What each descriptor gives; an empty list if none gives anything.
fn found<T>(list: &[Descriptor<'_>], get: impl Fn(&Descriptor<'_>) -> Option<T>) -> Box<[Option<T>]> {
    if list.iter().all(|descriptor| get(descriptor).is_none()) {
        return Box::default();
    }
    list.iter().map(get).collect()
}

/// An operation on images that compiled code asks for.
pub(crate) struct Call {
    code: ImageCode,
    kind: ImageKind,
    active: u128,
    places: *const i32,
    values: *mut u8,
}

impl Call {
    /// Reads what compiled code wrote.
    ///
    /// # Safety
    ///
    /// The arguments must be as [`Services::image`](phalanx_back_llvm::abi::Services::image) says, and outlive this.
    pub(crate) unsafe fn new(
        code: u64,
        kind: ImageKind,
        mask: *const u64,
        places: *const i32,
        values: *mut u8,
    ) -> Option<Self> {
        // SAFETY: by the contract there are two words.
        let [low, high] = unsafe { mask.cast::<[u64; 2]>().read() };
        let active = u128::from(low) | u128::from(high) << 64;
        Some(Self { code: ImageCode::from_bits(code)?, kind, active, places, values })
    }

    /// Does the operation for each active lane on images of a binding.
    pub(crate) fn execute(&self, bound: &Bound, binding: u32) {
        let mut rest = self.active;
        while rest != 0 {
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            if lane < self.code.lanes {
                self.lane(lane, bound, bound.view(binding, self.place(0, lane) as u32));
            }
        }
    }

    fn lane(&self, lane: u32, bound: &Bound, image: Option<&ImageView<'_>>) {
        let layout = image.map(ImageView::layout);
        match self.code.op {
            ImageOp::Load => {
                let texel = image.map_or([0; 4], |image| {
                    let bytes = self.texel_of(image, lane).and_then(|at| image.read(at));
                    bytes.map_or_else(|| image.layout.read_outside(), |bytes| image.layout.read(&bytes))
                });
                self.give(lane, texel);
            }
            ImageOp::Store => {
                let Some(image) = image else { return };
                if let Some(at) = self.texel_of(image, lane) {
                    image.write(at, [0, 1, 2, 3].map(|number| self.value(number, lane)));
                }
            }
            ImageOp::Atomic(op) => {
                let value = if op == AtomicOp::Load { 0 } else { self.value(0, lane) };
                let comparator = if op == AtomicOp::CompareExchange { self.value(1, lane) } else { 0 };
                let old = image.and_then(|image| {
                    let at = self.texel_of(image, lane)?;
                    image.update(at, self, op, value, comparator)
                });
                self.give(lane, [old.unwrap_or(0)]);
            }
            ImageOp::Size => {
                let level = if self.code.has_level { self.place(1, lane) } else { 0 };
                let size = layout.map_or([0; 3], |layout| layout.size(self.kind, level));
                for (number, texels) in size.into_iter().enumerate().take(self.kind.sizes()) {
                    self.set(number, lane, texels.into());
                }
            }
            ImageOp::Levels => self.give(lane, [layout.map_or(0, |layout| layout.levels.into())]),
            ImageOp::Sample(op) => {
                let results = image.map_or([0; 4], |image| self.sample(lane, op, bound, image));
                for (number, bits) in results.into_iter().enumerate().take(op.kind.results()) {
                    self.set(number, lane, bits);
                }
            }
        }
    }

    fn sample(&self, lane: u32, op: SampleOp, bound: &Bound, image: &ImageView<'_>) -> [u64; 4] {
        let sampler = match op.sampler {
            Some(binding) => bound.sampler(binding, self.place(1, lane) as u32),
            None => image.sampler.as_ref(),
        };
        let sampler = sampler.copied().unwrap_or_default();
        let operands = sample::Operands::read(op, self.kind, |number| self.place(number, lane) as u32);
        let mut texel = |at| Some(image.layout.format.decode(&image.read(at)?));
        sample::sample(&image.layout, &sampler, self.kind, op, &operands, &mut texel)
    }

    /// The offset of the texel that a lane's coordinates name.
    fn texel_of(&self, image: &ImageView<'_>, lane: u32) -> Option<u64> {
        let n = self.kind.coordinates();
        let mut coordinates = [0; 4];
        for (number, coordinate) in coordinates.iter_mut().enumerate().take(n) {
            *coordinate = self.place(1 + number, lane);
        }
        let level = if self.code.has_level { self.place(1 + n, lane) } else { 0 };
        image.layout.find(self.kind, &coordinates[..n.min(4)], level)
    }

    fn index(&self, number: usize, lane: u32) -> usize {
        number * self.code.lanes as usize + lane as usize
    }

    /// An operand of a lane that says where. The numbers are those that the operation has.
    fn place(&self, number: usize, lane: u32) -> i32 {
        // SAFETY: compiled code wrote that many operands for each lane.
        unsafe { self.places.add(self.index(number, lane)).read() }
    }

    /// An operand of a lane that says what.
    fn value(&self, number: usize, lane: u32) -> u64 {
        let index = self.index(number, lane);
        match self.code.scalar.bytes() {
            // SAFETY: as for places; the values have the scalar's size.
            8 => unsafe { self.values.cast::<u64>().add(index).read() },
            // SAFETY: as above.
            _ => unsafe { self.values.cast::<u32>().add(index).read() }.into(),
        }
    }

    /// Gives a lane its results.
    fn give<const N: usize>(&self, lane: u32, results: [u64; N]) {
        for (number, bits) in results.into_iter().enumerate() {
            self.set(number, lane, bits);
        }
    }

    fn set(&self, number: usize, lane: u32, bits: u64) {
        let index = self.index(number, lane);
        match self.code.scalar.bytes() {
            // SAFETY: compiled code has room for that many results of each lane, of the scalar's size.
            8 => unsafe { self.values.cast::<u64>().add(index).write(bits) },
            // SAFETY: as above.
            _ => unsafe { self.values.cast::<u32>().add(index).write(bits as u32) },
        }
    }
}

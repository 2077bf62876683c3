//! What compiled code asks of images.

use std::ptr::NonNull;

use phalanx_back_llvm::abi::ImageCode;
use phalanx_host::{Descriptor, ImageView};
use phalanx_ir::image::ImageKind;
use phalanx_ir::{AtomicOp, Binding, ImageOp, SampleOp, Sampler, sample};

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
                    bytes.map_or_else(|| image.layout().read_outside(), |bytes| image.layout().read(&bytes))
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
                    image.update(at, self.code.scalar, op, value, comparator)
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
            None => image.sampler(),
        };
        let sampler = sampler.copied().unwrap_or_default();
        let operands = sample::Operands::read(op, self.kind, |number| self.place(number, lane) as u32);
        let mut texel = |at| Some(image.layout().format.decode(&image.read(at)?));
        sample::sample(image.layout(), &sampler, self.kind, op, &operands, &mut texel)
    }

    /// The offset of the texel that a lane's coordinates name.
    fn texel_of(&self, image: &ImageView<'_>, lane: u32) -> Option<u64> {
        let n = self.kind.coordinates();
        let mut coordinates = [0; 4];
        for (number, coordinate) in coordinates.iter_mut().enumerate().take(n) {
            *coordinate = self.place(1 + number, lane);
        }
        let level = if self.code.has_level { self.place(1 + n, lane) } else { 0 };
        image.layout().find(self.kind, &coordinates[..n.min(4)], level)
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

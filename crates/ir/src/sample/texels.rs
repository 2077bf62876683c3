//! Texels by their coordinates, also outside of the image.

use super::{cube, float};
use crate::image::{ImageDim, ImageKind, ImageLayout};
use crate::sampler::{CompareFunction, Sampler};
use crate::texel::Numeric;

/// The texels of a layer, or of a cube as they are seen from a face.
pub(super) struct Texels<'a> {
    pub(super) layout: &'a ImageLayout,
    pub(super) sampler: &'a Sampler,
    pub(super) kind: ImageKind,
    /// The layer; the first of a cube.
    pub(super) layer: i64,
    /// The face of a cube.
    pub(super) face: usize,
    /// What takes the place of texels is how they compare with this.
    pub(super) compare: Option<f32>,
    pub(super) read: &'a mut dyn FnMut(u64) -> Option<[u64; 4]>,
}

impl Texels<'_> {
    /// The components of a texel of a level, before the view's swizzle.
    pub(super) fn at(&mut self, at: [i64; 3], level: u32) -> [u64; 4] {
        let extent = self.layout.level_extent(level).map(i64::from);
        if self.kind.dim == ImageDim::Cube {
            return self.of_cube(at, extent, level);
        }
        let mut wrapped = [0; 3];
        for axis in 0..self.kind.axes() {
            let mode = self.sampler.address[axis];
            let Some(i) = super::place::wrap(mode, at[axis], extent[axis]) else {
                return self.compared(self.border());
            };
            wrapped[axis] = i;
        }
        self.inside(wrapped, self.layer, level)
    }

    /// Beyond an edge of a face comes the next face, and beyond a corner the average of the three texels around it
    /// (*Cube Map Edge Handling*).
    fn of_cube(&mut self, [i, j, _]: [i64; 3], [size, ..]: [i64; 3], level: u32) -> [u64; 4] {
        // A filter reaches one texel beyond, and so it does where coordinates are no numbers.
        let [i, j] = [i, j].map(|x| x.clamp(-1, size));
        let mut texel = |at| {
            let (face, [i, j]) = cube::neighbour(self.face, at, size)?;
            Some(self.inside([i, j, 0], self.layer + face as i64, level))
        };
        if let Some(texel) = texel([i, j]) {
            return texel;
        }
        let [x, y] = [i, j].map(|x| x.clamp(0, size - 1));
        let around = [[x, y], [x, j], [i, y]].map(|at| texel(at).unwrap_or([0; 4]));
        // A gather may ask this of integers, which have no average.
        if self.layout.format.is_integer() && self.compare.is_none() {
            return around[0];
        }
        std::array::from_fn(|number| {
            let sum: f64 = around.iter().map(|texel| float(texel[number])).sum();
            ((sum / 3.0) as f32).to_bits().into()
        })
    }

    /// A texel of the image; zeros outside of its memory.
    fn inside(&mut self, at: [i64; 3], layer: i64, level: u32) -> [u64; 4] {
        let texel = self.layout.offset(at, layer, level.into()).and_then(|at| (self.read)(at));
        self.compared(texel.unwrap_or([0; 4]))
    }

    /// The border's colour, in the components that the format has (*Border Replacement*).
    fn border(&self) -> [u64; 4] {
        let format = self.layout.format;
        let one = if format.is_integer() { 1 } else { 1.0_f32.to_bits().into() };
        let mut texel = [0, 0, 0, one];
        for (component, border) in texel.iter_mut().zip(self.sampler.border).take(format.components()) {
            *component = border;
        }
        texel
    }

    /// A texel, or how it compares (*Depth Compare Operation*).
    fn compared(&self, texel: [u64; 4]) -> [u64; 4] {
        let Some(reference) = self.compare else { return texel };
        let is_fraction = self.layout.format.numeric() == Numeric::Unorm;
        let reference = if is_fraction { reference.clamp(0.0, 1.0) } else { reference };
        let function = self.sampler.compare.unwrap_or(CompareFunction::Never);
        let holds = function.holds(reference, f32::from_bits(texel[0] as u32));
        let [zero, one] = [0.0_f32, 1.0].map(|x| x.to_bits().into());
        [if holds { one } else { zero }, zero, zero, one]
    }
}

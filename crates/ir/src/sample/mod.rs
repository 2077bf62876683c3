//! Sampling: what an image is at a place between its texels.
//!
//! This is the chapter *Image Operations* of the Vulkan specification, in its order: a direction becomes a face of a
//! cube (`cube`), differences become a level of detail and that one or two levels (`lod`), coordinates become
//! texels and weights (`place`), and what is outside of the image is found elsewhere (`texels`). Where the
//! specification prefers a rule, it is that one. Fractions are not rounded to fewer bits.

mod cube;
mod lod;
mod op;
mod operands;
mod place;
#[cfg(test)]
mod tests;
mod texels;

pub use op::{LodKind, SampleKind, SampleOp};
pub use operands::Operands;

use crate::image::{ImageKind, ImageLayout};
use crate::sampler::{Filter, Reduction, Sampler};
use lod::Levels;
use place::{Footprint, Spot};
use texels::Texels;

/// The results of sampling an image; an operation that gives one has it first. `read` gives the components of the
/// texel at an offset, as [`Format::decode`](crate::texel::Format::decode) does, if it lies in memory.
///
/// Images of integers are sampled at the nearest texel of the nearest level, whatever the sampler says. Of an image
/// without texels the result is zeros.
pub fn sample(
    layout: &ImageLayout,
    sampler: &Sampler,
    kind: ImageKind,
    op: SampleOp,
    operands: &Operands,
    read: &mut dyn FnMut(u64) -> Option<[u64; 4]>,
) -> [u64; 4] {
    if layout.levels == 0 || layout.layers == 0 || layout.extent.contains(&0) {
        return [0; 4];
    }
    let spot = Spot::new(layout, kind, operands);
    let compare = op.kind.is_compare().then_some(operands.reference);
    let mut texels = Texels { layout, sampler, kind, layer: spot.layer, face: spot.face, compare, read };
    let footprint = |level, filter| {
        let extent = layout.level_extent(level);
        Footprint::new(kind, sampler, &spot, extent, operands.offset, filter)
    };
    if op.kind.is_gather() {
        let SampleKind::Gather(component) = op.kind else {
            return gather(&mut texels, &footprint(0, Filter::Linear), 0);
        };
        return gather(&mut texels, &footprint(0, Filter::Linear), component);
    }
    let lod = lod::level_of_detail(layout, sampler, op, operands, &spot);
    // A format of integers has no values between two.
    let is_integer = layout.format.is_integer();
    let within = if lod <= 0.0 { sampler.mag } else { sampler.min };
    let (within, between) =
        if is_integer { (Filter::Nearest, Filter::Nearest) } else { (within, sampler.mip) };
    let levels = Levels::new(lod, layout.levels, between);
    if within == Filter::Nearest && levels.part == 0.0 {
        let texel = texels.at(footprint(levels.first, within).texel([0; 3]).0, levels.first);
        return layout.swizzled(texel);
    }
    let mut sum = Sum::new(sampler.reduction);
    for (level, weight) in [(levels.first, 1.0 - levels.part), (levels.second, levels.part)] {
        if weight > 0.0 {
            sum.add(weight, filter(&mut texels, &footprint(level, within), level));
        }
    }
    layout.swizzled(sum.value.map(|x| (x as f32).to_bits().into()))
}

/// A component of the four texels that a linear filter reads.
fn gather(texels: &mut Texels<'_>, footprint: &Footprint, component: u8) -> [u64; 4] {
    [[0, 1], [1, 1], [1, 0], [0, 0]].map(|[i, j]| {
        let texel = texels.layout.swizzled(texels.at(footprint.texel([i, j, 0]).0, 0));
        texel.get(usize::from(component)).copied().unwrap_or(0)
    })
}

/// The texels of a level that have a weight, as one.
fn filter(texels: &mut Texels<'_>, footprint: &Footprint, level: u32) -> [f64; 4] {
    let mut sum = Sum::new(texels.sampler.reduction);
    for number in 0..1 << footprint.dims {
        let (at, weight) = footprint.texel([number & 1, number >> 1 & 1, number >> 2]);
        if weight > 0.0 {
            sum.add(weight, texels.at(at, level).map(float));
        }
    }
    sum.value
}

/// The value of a component that is no integer.
fn float(bits: u64) -> f64 {
    f32::from_bits(bits as u32).into()
}

/// Values with weights that are becoming one.
struct Sum {
    reduction: Reduction,
    value: [f64; 4],
}

impl Sum {
    fn new(reduction: Reduction) -> Self {
        let start = match reduction {
            Reduction::WeightedAverage => 0.0,
            Reduction::Min => f64::INFINITY,
            Reduction::Max => f64::NEG_INFINITY,
        };
        Self { reduction, value: [start; 4] }
    }

    fn add(&mut self, weight: f64, value: [f64; 4]) {
        for (sum, x) in self.value.iter_mut().zip(value) {
            *sum = match self.reduction {
                Reduction::WeightedAverage => *sum + weight * x,
                Reduction::Min => sum.min(x),
                Reduction::Max => sum.max(x),
            };
        }
    }
}

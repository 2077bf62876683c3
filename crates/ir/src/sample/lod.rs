//! The level of detail, and the mip levels that it selects.

use super::place::Spot;
use super::{LodKind, Operands, SampleOp};
use crate::image::{ImageLayout, MAX_LEVELS};
use crate::sampler::{Filter, Sampler};

/// The level of detail, λ (*LOD Operation*). Where the least one is greater than the greatest, it is the greatest.
pub(super) fn level_of_detail(
    layout: &ImageLayout,
    sampler: &Sampler,
    op: SampleOp,
    operands: &Operands,
    spot: &Spot,
) -> f64 {
    let base = match op.lod {
        LodKind::Level => operands.level.into(),
        LodKind::Gradients => scale_factor(layout.extent, &spot.gradients).log2(),
        LodKind::Base => 0.0,
    };
    let mut least = sampler.min_lod;
    if op.has_min_lod {
        least = least.max(operands.min_lod);
    }
    (base + f64::from(sampler.lod_bias)).max(least.into()).min(sampler.max_lod.into())
}

/// How many texels of the base level lie from an invocation to its neighbour, at most (*Scale Factor Operation*).
fn scale_factor(extent: [u32; 3], gradients: &[[f64; 3]; 2]) -> f64 {
    let length = |gradient: &[f64; 3]| {
        let squares =
            gradient.iter().zip(extent).map(|(change, texels)| (change * f64::from(texels)).powi(2));
        squares.sum::<f64>().sqrt()
    };
    length(&gradients[0]).max(length(&gradients[1]))
}

/// The levels that are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Levels {
    pub(super) first: u32,
    pub(super) second: u32,
    /// The weight of the second one.
    pub(super) part: f64,
}

impl Levels {
    /// Those for a level of detail, of a view of so many levels (*Image Level(s) Selection*).
    pub(super) fn new(lod: f64, count: u32, filter: Filter) -> Self {
        let last = count.clamp(1, MAX_LEVELS as u32) - 1;
        let lod = lod.max(0.0).min(last.into());
        match filter {
            Filter::Nearest => {
                let nearest = ((lod + 0.5).ceil() - 1.0) as u32;
                Self { first: nearest, second: nearest, part: 0.0 }
            }
            Filter::Linear => {
                let first = lod.floor();
                Self { first: first as u32, second: last.min(first as u32 + 1), part: lod - first }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_level_is_the_lower_of_two() {
        let first = |lod, count| Levels::new(lod, count, Filter::Nearest).first;
        for (lod, level) in [(-3.0, 0), (0.0, 0), (0.5, 0), (0.51, 1), (1.5, 1), (2.6, 3), (9.0, 3)] {
            assert_eq!(first(lod, 4), level, "{lod}");
        }
        assert_eq!(first(f64::NAN, 4), 0);
        assert_eq!(first(f64::INFINITY, 4), 3);
        assert_eq!(first(f64::INFINITY, u32::MAX), MAX_LEVELS as u32 - 1);
    }

    #[test]
    fn two_levels_share_by_the_fraction() {
        let levels = |lod| Levels::new(lod, 3, Filter::Linear);
        assert_eq!(levels(0.25), Levels { first: 0, second: 1, part: 0.25 });
        assert_eq!(levels(1.75), Levels { first: 1, second: 2, part: 0.75 });
        assert_eq!(levels(2.5), Levels { first: 2, second: 2, part: 0.0 });
        assert_eq!(levels(-1.0), Levels { first: 0, second: 1, part: 0.0 });
        assert_eq!(levels(f64::NAN), Levels { first: 0, second: 1, part: 0.0 });
    }

    #[test]
    fn the_longer_gradient_counts() {
        assert_eq!(scale_factor([8, 4, 1], &[[0.5, 0.0, 0.0], [0.0, 0.25, 0.0]]), 4.0);
        assert_eq!(scale_factor([8, 4, 1], &[[0.0; 3], [-0.375, 1.0, 0.0]]), 5.0);
        assert_eq!(scale_factor([8, 4, 1], &[[0.0; 3]; 2]).log2(), f64::NEG_INFINITY);
    }
}

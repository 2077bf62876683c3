//! From coordinates to texels, and their weights.

use super::{Operands, cube};
use crate::image::{ImageDim, ImageKind, ImageLayout};
use crate::sampler::{AddressMode, Filter, Sampler};

/// Texels beyond which no coordinate leads: more than any image has, and few enough to add to.
const FAR: f64 = (1_u64 << 40) as f64;

/// A place in an image of any size.
pub(super) struct Spot {
    /// Along each axis; on the face of a cube.
    pub(super) place: [f64; 3],
    /// How it changes along x and y.
    pub(super) gradients: [[f64; 3]; 2],
    /// The array layer; the first of a cube.
    pub(super) layer: i64,
    /// The face of a cube.
    pub(super) face: usize,
}

impl Spot {
    pub(super) fn new(layout: &ImageLayout, kind: ImageKind, operands: &Operands) -> Self {
        let place = operands.place.map(f64::from);
        let gradients = operands.gradients.map(|gradient| gradient.map(f64::from));
        let nearest = if kind.arrayed { operands.layer.round_ties_even() as i64 } else { 0 };
        let layer = |count: u32| nearest.clamp(0, i64::from(count.max(1)) - 1);
        if kind.dim != ImageDim::Cube {
            return Self { place, gradients, layer: layer(layout.layers), face: 0 };
        }
        let face = cube::face(place);
        let direction = cube::on_face(face, place);
        let change = |gradient| cube::place_change(direction, cube::on_face(face, gradient));
        Self {
            place: cube::place(direction),
            gradients: gradients.map(change),
            layer: 6 * layer(layout.layers / 6),
            face,
        }
    }
}

/// The texels of a level that a filter reads: along each axis the first and the one behind it.
pub(super) struct Footprint {
    /// The axes.
    pub(super) dims: usize,
    first: [i64; 3],
    /// The weights of the second ones.
    parts: [f64; 3],
}

impl Footprint {
    pub(super) fn new(
        kind: ImageKind,
        sampler: &Sampler,
        spot: &Spot,
        extent: [u32; 3],
        offset: [i32; 3],
        filter: Filter,
    ) -> Self {
        let dims = if kind.dim == ImageDim::Cube { 2 } else { kind.axes() };
        let mut footprint = Self { dims, first: [0; 3], parts: [0.0; 3] };
        for axis in 0..dims {
            let scale = if sampler.unnormalized { 1.0 } else { f64::from(extent[axis]) };
            let shift = if filter == Filter::Linear { 0.5 } else { 0.0 };
            let x = within_reach(spot.place[axis] * scale) - shift;
            footprint.first[axis] = x.floor() as i64 + i64::from(offset[axis]);
            match filter {
                Filter::Linear => footprint.parts[axis] = x - x.floor(),
                // The last place on a face is on its edge, and a nearest filter stays on the face.
                Filter::Nearest if kind.dim == ImageDim::Cube => {
                    footprint.first[axis] =
                        footprint.first[axis].clamp(0, i64::from(extent[axis].max(1)) - 1);
                }
                Filter::Nearest => {}
            }
        }
        footprint
    }

    /// The texel that is the second one along some axes, and its weight.
    pub(super) fn texel(&self, second: [u8; 3]) -> ([i64; 3], f64) {
        let (mut at, mut weight) = (self.first, 1.0);
        for axis in 0..self.dims {
            let part = self.parts[axis];
            at[axis] += i64::from(second[axis]);
            weight *= if second[axis] == 0 { 1.0 - part } else { part };
        }
        (at, weight)
    }
}

/// A number that an integer holds; 0 for a NaN.
fn within_reach(x: f64) -> f64 {
    if x.is_nan() { 0.0 } else { x.clamp(-FAR, FAR) }
}

/// Which of `size` texels stands at `i`, if not the border does (*Wrapping Operation*).
pub(super) fn wrap(mode: AddressMode, i: i64, size: i64) -> Option<i64> {
    let mirror = |n: i64| if n >= 0 { n } else { -(1 + n) };
    match mode {
        AddressMode::Repeat => Some(i.rem_euclid(size)),
        AddressMode::MirroredRepeat => Some((size - 1) - mirror(i.rem_euclid(2 * size) - size)),
        AddressMode::ClampToEdge => Some(i.clamp(0, size - 1)),
        AddressMode::ClampToBorder => (0..size).contains(&i).then_some(i),
        AddressMode::MirrorClampToEdge => Some(mirror(i).clamp(0, size - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outside_is_found_by_the_mode() {
        let list = |mode| (-7..7).map(|i| wrap(mode, i, 3).unwrap_or(-1)).collect::<Vec<_>>();
        assert_eq!(list(AddressMode::Repeat), [2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(list(AddressMode::MirroredRepeat), [0, 0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0]);
        assert_eq!(list(AddressMode::ClampToEdge), [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2]);
        assert_eq!(list(AddressMode::MirrorClampToEdge), [2, 2, 2, 2, 2, 1, 0, 0, 1, 2, 2, 2, 2, 2]);
        assert_eq!(list(AddressMode::ClampToBorder), [-1, -1, -1, -1, -1, -1, -1, 0, 1, 2, -1, -1, -1, -1]);
    }

    #[test]
    fn far_places_are_within_reach() {
        for x in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300] {
            assert!(within_reach(x).abs() <= FAR);
        }
    }
}

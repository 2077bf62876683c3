//! What a neural texture is: two grids of features and a network of two layers, and how a texel follows from them.

use crate::data::DType;

/// The width of the network: its features, its hidden units, and its outputs, of which the first are the channels.
pub(super) const WIDTH: usize = 16;

/// What an element of the finer and of the coarser grid holds. The two features that are left are the texel's place in a
/// cell of the finer one.
pub(super) const FINE: usize = 8;
pub(super) const COARSE: usize = 6;

/// How many texels an element of a grid stands for, along an edge.
pub(super) const FINE_STEP: usize = 4;
pub(super) const COARSE_STEP: usize = 8;

/// The numbers of a layer: a matrix, row by row, and a row of biases.
pub(super) const LAYER: usize = WIDTH * WIDTH + WIDTH;

/// How many bytes a texture of this edge is compressed to, in f16.
pub(super) fn compressed_bytes(size: usize) -> usize {
    let grids = (size / FINE_STEP).pow(2) * FINE + (size / COARSE_STEP).pow(2) * COARSE;
    DType::F16.size_bytes() * (grids + 2 * LAYER)
}

/// A compressed texture.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Model {
    /// The edge of the texture in texels.
    pub(super) size: usize,
    pub(super) fine: Vec<f32>,
    pub(super) coarse: Vec<f32>,
    /// Both layers, one after the other.
    pub(super) network: Vec<f32>,
}

/// The elements of a grid around a texel with their weights, and how far it is from the first to the last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Corners {
    pub(super) elements: [(usize, f64); 4],
    pub(super) fraction: [f64; 2],
}

/// Where a texel lies in a grid with an element for each `step` texels. Grids wrap around.
pub(super) fn corners(texel: [usize; 2], size: usize, step: usize) -> Corners {
    let grid = size / step;
    // The centres of texels and of elements are half a step from their edges.
    let at = texel.map(|texel| (texel as f64 + 0.5) / step as f64 - 0.5);
    let fraction = at.map(|at| at - at.floor());
    let first = at.map(|at| (at.floor() as i64).rem_euclid(grid as i64) as usize);
    let elements = [[0, 0], [1, 0], [0, 1], [1, 1]].map(|[dx, dy]: [usize; 2]| {
        let [x, y] = [(first[0] + dx) % grid, (first[1] + dy) % grid];
        let part = |fraction: f64, side: usize| if side == 0 { 1.0 - fraction } else { fraction };
        (y * grid + x, part(fraction[0], dx) * part(fraction[1], dy))
    });
    Corners { elements, fraction }
}

/// A texel, and how large the numbers were that it was computed from: what rounding errors are relative to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Evaluated {
    pub(super) values: [f64; WIDTH],
    pub(super) scales: [f64; WIDTH],
}

impl Model {
    /// The same with every number rounded to f16, as kernels read it.
    pub(super) fn rounded(&self) -> Self {
        let round = |values: &[f32]| -> Vec<f32> {
            let rounded = values.iter().map(|&value| DType::F16.value(DType::F16.bits(value.into())) as f32);
            rounded.collect()
        };
        Self {
            size: self.size,
            fine: round(&self.fine),
            coarse: round(&self.coarse),
            network: round(&self.network),
        }
    }

    /// The features of a texel, before they are rounded.
    pub(super) fn features(&self, texel: [usize; 2]) -> [f64; WIDTH] {
        let mut features = [0.0; WIDTH];
        let (fine, rest) = features.split_at_mut(FINE);
        let (coarse, place) = rest.split_at_mut(COARSE);
        let in_fine = corners(texel, self.size, FINE_STEP);
        interpolate(fine, &self.fine, &in_fine);
        interpolate(coarse, &self.coarse, &corners(texel, self.size, COARSE_STEP));
        place.copy_from_slice(&in_fine.fraction);
        features
    }

    /// A texel in f64.
    pub(super) fn evaluate(&self, texel: [usize; 2]) -> Evaluated {
        let (first, second) = self.network.split_at(LAYER);
        let features = self.features(texel);
        let (sums, hidden_scales) = layer(first, &features);
        let hidden = sums.map(|sum| sum.max(0.0));
        let (values, own_scales) = layer(second, &hidden);
        let scales = std::array::from_fn(|output| {
            // Errors of the hidden units are independent of each other.
            let inherited: f64 = (0..WIDTH)
                .map(|unit| (f64::from(second[unit * WIDTH + output]) * hidden_scales[unit]).powi(2))
                .sum();
            inherited.sqrt() + own_scales[output]
        });
        Evaluated { values, scales }
    }
}

fn interpolate(sums: &mut [f64], grid: &[f32], corners: &Corners) {
    let features = sums.len();
    for &(element, weight) in &corners.elements {
        for (sum, value) in sums.iter_mut().zip(grid.chunks_exact(features).nth(element).unwrap_or(&[])) {
            *sum += weight * f64::from(*value);
        }
    }
}

/// The sums of a layer, and for each the length of the inputs times the length of its weights, plus its bias.
fn layer(numbers: &[f32], inputs: &[f64; WIDTH]) -> ([f64; WIDTH], [f64; WIDTH]) {
    let (weights, biases) = numbers.split_at(WIDTH * WIDTH);
    let column = |output: usize| weights.iter().skip(output).step_by(WIDTH).map(|&weight| f64::from(weight));
    let length =
        |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    let inputs_length = length(&mut inputs.iter().copied());
    let bias = |output: usize| f64::from(biases[output]);
    let sum =
        |output| bias(output) + column(output).zip(inputs).map(|(weight, input)| weight * input).sum::<f64>();
    let scale = |output| inputs_length * length(&mut column(output)) + bias(output).abs();
    (std::array::from_fn(sum), std::array::from_fn(scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_texel_lies_between_its_corners() {
        // Texel 0 is before the centre of element 0, whose neighbour is the last one.
        let Corners { elements, fraction } = corners([0, 2], 16, 4);
        assert_eq!(fraction, [0.625, 0.125]);
        assert_eq!(elements.map(|(element, _)| element), [3, 0, 7, 4]);
        assert_eq!(elements[0].1, 0.375 * 0.875);
        let total: f64 = elements.iter().map(|(_, weight)| weight).sum();
        assert_eq!(total, 1.0);
    }

    #[test]
    fn a_network_is_two_layers() {
        let mut network = vec![0.0; 2 * LAYER];
        // Hidden unit 0 is twice the place in the cell minus 1, unit 1 is its opposite; their sum is its size.
        network[14 * WIDTH] = 2.0;
        network[14 * WIDTH + 1] = -2.0;
        network[WIDTH * WIDTH] = -1.0;
        network[WIDTH * WIDTH + 1] = 1.0;
        network[LAYER] = 1.0;
        network[LAYER + WIDTH] = 1.0;
        let model = Model { size: 16, fine: vec![0.0; 16 * FINE], coarse: vec![0.0; 4 * COARSE], network };
        for x in 0..16 {
            let place = model.features([x, 3])[14];
            assert!((model.evaluate([x, 3]).values[0] - (2.0 * place - 1.0).abs()).abs() < 1e-12);
        }
    }
}

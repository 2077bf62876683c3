//! What a neural texture is: two grids of features and a network of two layers, and how a texel follows from them.

use crate::data::DType;
use crate::workload::gradient::round;
use crate::workload::layers::Layer;

/// The width of the network: its features, its hidden units, and its outputs, of which the first are the channels.
pub(super) const WIDTH: usize = 16;

/// What an element of the finer and of the coarser grid holds. The two features that are left are the texel's place in a
/// cell of the finer one.
pub(super) const FINE: usize = 8;
pub(super) const COARSE: usize = 6;

/// How many texels an element of a grid stands for, along an edge.
pub(super) const FINE_STEP: usize = 4;
pub(super) const COARSE_STEP: usize = 8;

/// The elements of a grid with one for each `step` texels along an edge.
pub(super) fn grid(size: [usize; 2], step: usize) -> [usize; 2] {
    size.map(|edge| edge.div_ceil(step))
}

/// A compressed texture.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Model {
    /// Width and height of the texture in texels.
    pub(super) size: [usize; 2],
    pub(super) fine: Vec<f64>,
    pub(super) coarse: Vec<f64>,
    pub(super) network: [Layer; 2],
}

/// The elements of a grid around a texel with their weights, and how far it is from the first to the last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Corners {
    pub(super) elements: [(usize, f64); 4],
    pub(super) fraction: [f64; 2],
}

/// Where a texel lies in a grid with an element for each `step` texels. Beyond its edges the last elements go on.
pub(super) fn corners(texel: [usize; 2], size: [usize; 2], step: usize) -> Corners {
    let grid = grid(size, step);
    // The centres of texels and of elements are half a step from their edges.
    let at = texel.map(|texel| (texel as f64 + 0.5) / step as f64 - 0.5);
    let fraction = at.map(|at| at - at.floor());
    let elements = [[0, 0], [1, 0], [0, 1], [1, 1]].map(|next: [i64; 2]| {
        let [x, y] = std::array::from_fn(|axis| {
            (at[axis].floor() as i64 + next[axis]).clamp(0, grid[axis] as i64 - 1) as usize
        });
        let part = |axis: usize| if next[axis] == 0 { 1.0 - fraction[axis] } else { fraction[axis] };
        (y * grid[0] + x, part(0) * part(1))
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
        let round = |values: &[f64]| values.iter().map(|&value| round(value)).collect();
        let layer = |layer: &Layer| Layer {
            inputs: layer.inputs,
            weights: round(&layer.weights),
            biases: round(&layer.biases),
        };
        let network = [layer(&self.network[0]), layer(&self.network[1])];
        Self { size: self.size, fine: round(&self.fine), coarse: round(&self.coarse), network }
    }

    /// How many bytes it takes in f16.
    pub(super) fn bytes(&self) -> usize {
        let layers = self.network.iter().map(|layer| layer.weights.len() + layer.biases.len());
        DType::F16.size_bytes() * (self.fine.len() + self.coarse.len() + layers.sum::<usize>())
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
        let [first, second] = &self.network;
        let features = self.features(texel);
        let (sums, hidden_scales) = layer(first, &features);
        let hidden = sums.map(|sum| sum.max(0.0));
        let (values, own_scales) = layer(second, &hidden);
        let scales = std::array::from_fn(|output| {
            // Errors of the hidden units are independent of each other.
            let weights = &second.weights[output * WIDTH..][..WIDTH];
            let inherited: f64 =
                weights.iter().zip(&hidden_scales).map(|(weight, scale)| (weight * scale).powi(2)).sum();
            inherited.sqrt() + own_scales[output]
        });
        Evaluated { values, scales }
    }
}

fn interpolate(sums: &mut [f64], grid: &[f64], corners: &Corners) {
    let features = sums.len();
    for &(element, weight) in &corners.elements {
        for (sum, value) in sums.iter_mut().zip(&grid[element * features..]) {
            *sum += weight * value;
        }
    }
}

/// The sums of a layer, and for each the length of the inputs times the length of its weights, plus its bias.
fn layer(layer: &Layer, inputs: &[f64; WIDTH]) -> ([f64; WIDTH], [f64; WIDTH]) {
    let length = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>().sqrt();
    let row = |output: usize| &layer.weights[output * WIDTH..][..WIDTH];
    let sum = |output: usize| {
        let products = row(output).iter().zip(inputs).map(|(weight, input)| weight * input);
        layer.biases[output] + products.sum::<f64>()
    };
    let scale = |output: usize| length(inputs) * length(row(output)) + layer.biases[output].abs();
    (std::array::from_fn(sum), std::array::from_fn(scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_texel_lies_between_its_corners() {
        // Texel 0 is before the centre of element 0, which goes on there.
        let Corners { elements, fraction } = corners([0, 2], [15, 9], 4);
        assert_eq!(fraction, [0.625, 0.125]);
        assert_eq!(elements.map(|(element, _)| element), [0, 0, 4, 4]);
        assert_eq!(elements[0].1, 0.375 * 0.875);
        let total: f64 = elements.iter().map(|(_, weight)| weight).sum();
        assert_eq!(total, 1.0);
        assert_eq!(corners([14, 8], [15, 9], 4).elements.map(|(element, _)| element), [7, 7, 11, 11]);
    }

    #[test]
    fn a_network_is_two_layers() {
        let layer = || Layer { inputs: WIDTH, weights: vec![0.0; WIDTH * WIDTH], biases: vec![0.0; WIDTH] };
        let mut network = [layer(), layer()];
        // Hidden unit 0 is twice the place in the cell minus 1, unit 1 is its opposite; their sum is its size.
        network[0].weights[14] = 2.0;
        network[0].weights[WIDTH + 14] = -2.0;
        network[0].biases[0] = -1.0;
        network[0].biases[1] = 1.0;
        network[1].weights[0] = 1.0;
        network[1].weights[1] = 1.0;
        let model =
            Model { size: [16; 2], fine: vec![0.0; 16 * FINE], coarse: vec![0.0; 4 * COARSE], network };
        for x in 0..16 {
            let place = model.features([x, 3])[14];
            assert!((model.evaluate([x, 3]).values[0] - (2.0 * place - 1.0).abs()).abs() < 1e-12);
        }
        assert_eq!(model.bytes(), 2 * (16 * FINE + 4 * COARSE + 2 * 17 * 16));
    }
}

//! Training: grids and network together, by gradient descent on the squared error of texels (Adam).
//!
//! All in f32 and in one order, so that the same texture becomes the same numbers everywhere where sums of f32 are the same.

use super::model::{COARSE, COARSE_STEP, Corners, FINE, FINE_STEP, LAYER, Model, WIDTH, corners};
use super::original::CHANNELS;
use crate::data::{Array, DType};

/// Texels whose errors make one step together.
const BATCH: usize = 512;

/// How far a step goes at first; in the end it is almost nothing.
const GRID_RATE: f32 = 0.03;
const NETWORK_RATE: f32 = 0.01;

/// A texture on its way to being compressed.
#[derive(Debug)]
pub(super) struct Training<'a> {
    texels: &'a [[f64; CHANNELS]],
    model: Model,
    fine: Moments,
    coarse: Moments,
    network: Moments,
    passes: u32,
    /// Which is next.
    pass: u32,
    steps: i32,
    order: Vec<usize>,
}

/// What Adam remembers of the gradients: their mean and their mean square.
#[derive(Debug)]
struct Moments {
    gradient: Vec<f32>,
    mean: Vec<f32>,
    square: Vec<f32>,
}

impl<'a> Training<'a> {
    /// `texels` are those of a texture of this edge.
    pub(super) fn new(size: usize, texels: &'a [[f64; CHANNELS]], passes: u32) -> Self {
        let grid = |step: usize, features: usize, seed| random((size / step).pow(2) * features, 0.1, seed);
        let (fine, coarse) = (grid(FINE_STEP, FINE, 1), grid(COARSE_STEP, COARSE, 2));
        let mut network = random(2 * LAYER, 0.4, 3);
        for layer in network.chunks_exact_mut(LAYER) {
            layer[WIDTH * WIDTH..].fill(0.0);
        }
        // Outputs that are no channel are nothing.
        for row in network[LAYER..].chunks_exact_mut(WIDTH) {
            row[CHANNELS..].fill(0.0);
        }
        Self {
            texels,
            fine: Moments::new(fine.len()),
            coarse: Moments::new(coarse.len()),
            network: Moments::new(network.len()),
            model: Model { size, fine, coarse, network },
            passes,
            pass: 0,
            steps: 0,
            order: (0..texels.len()).collect(),
        }
    }

    /// What it has learnt.
    pub(super) fn into_model(self) -> Model {
        self.model
    }

    /// Goes through all texels once, in another order each time. False if it was done before.
    pub(super) fn pass(&mut self) -> bool {
        if self.pass == self.passes {
            return false;
        }
        shuffle(&mut self.order, u64::from(self.pass) + 4);
        let order = std::mem::take(&mut self.order);
        for (index, batch) in order.chunks(BATCH).enumerate() {
            for &texel in batch {
                self.learn(texel, 1.0 / (batch.len() * CHANNELS) as f32);
            }
            let done = (self.pass as f32 + (index * BATCH) as f32 / order.len() as f32) / self.passes as f32;
            let slowness = 0.5 + 0.5 * (std::f32::consts::PI * done).cos();
            self.steps += 1;
            self.fine.step(&mut self.model.fine, GRID_RATE * slowness, self.steps);
            self.coarse.step(&mut self.model.coarse, GRID_RATE * slowness, self.steps);
            self.network.step(&mut self.model.network, NETWORK_RATE * slowness, self.steps);
        }
        self.order = order;
        self.pass += 1;
        true
    }

    /// Adds the gradient of one texel's error.
    fn learn(&mut self, texel: usize, weight: f32) {
        let size = self.model.size;
        let place = [texel % size, texel / size];
        let (in_fine, in_coarse) = (corners(place, size, FINE_STEP), corners(place, size, COARSE_STEP));
        let features = self.model.features(place).map(|feature| feature as f32);
        let (first, second) = self.model.network.split_at(LAYER);
        let sums = forward(first, &features);
        let hidden = sums.map(|sum| sum.max(0.0));
        let found = forward(second, &hidden);

        let mut slopes = [0.0; WIDTH];
        for ((slope, found), wanted) in slopes.iter_mut().zip(found).zip(&self.texels[texel]) {
            *slope = 2.0 * weight * (found - *wanted as f32);
        }
        let (first_gradient, second_gradient) = self.network.gradient.split_at_mut(LAYER);
        let mut hidden_slopes = backward(second, second_gradient, &hidden, &slopes);
        for (slope, sum) in hidden_slopes.iter_mut().zip(sums) {
            *slope = if sum > 0.0 { *slope } else { 0.0 };
        }
        let feature_slopes = backward(first, first_gradient, &features, &hidden_slopes);
        scatter(&mut self.fine.gradient, &in_fine, &feature_slopes[..FINE]);
        scatter(&mut self.coarse.gradient, &in_coarse, &feature_slopes[FINE..FINE + COARSE]);
    }
}

/// The sums of a layer.
fn forward(layer: &[f32], inputs: &[f32; WIDTH]) -> [f32; WIDTH] {
    let (weights, biases) = layer.split_at(WIDTH * WIDTH);
    let mut sums = [0.0; WIDTH];
    sums.copy_from_slice(biases);
    for (row, input) in weights.chunks_exact(WIDTH).zip(inputs) {
        for (sum, weight) in sums.iter_mut().zip(row) {
            *sum += input * weight;
        }
    }
    sums
}

/// From the slopes of a layer's sums to those of its inputs; those of its numbers are added to the gradient.
fn backward(
    layer: &[f32],
    gradient: &mut [f32],
    inputs: &[f32; WIDTH],
    slopes: &[f32; WIDTH],
) -> [f32; WIDTH] {
    let mut input_slopes = [0.0; WIDTH];
    let rows = layer.chunks_exact(WIDTH).zip(gradient.chunks_exact_mut(WIDTH));
    for (((row, gradient), input), input_slope) in rows.zip(inputs).zip(&mut input_slopes) {
        for ((weight, gradient), slope) in row.iter().zip(gradient).zip(slopes) {
            *gradient += input * slope;
            *input_slope += weight * slope;
        }
    }
    for (gradient, slope) in gradient[WIDTH * WIDTH..].iter_mut().zip(slopes) {
        *gradient += slope;
    }
    input_slopes
}

/// Gives the slopes of interpolated features to the elements that they came from.
fn scatter(gradient: &mut [f32], corners: &Corners, slopes: &[f32]) {
    for &(element, weight) in &corners.elements {
        let gradient = gradient.chunks_exact_mut(slopes.len()).nth(element);
        for (gradient, slope) in gradient.into_iter().flatten().zip(slopes) {
            *gradient += weight as f32 * slope;
        }
    }
}

impl Moments {
    fn new(count: usize) -> Self {
        Self { gradient: vec![0.0; count], mean: vec![0.0; count], square: vec![0.0; count] }
    }

    /// Moves numbers against their gradient, which is forgotten then.
    fn step(&mut self, numbers: &mut [f32], rate: f32, steps: i32) {
        const MEAN: f32 = 0.9;
        const SQUARE: f32 = 0.99;
        // At first the means are too small: they started at zero.
        let (mean_part, square_part) = (1.0 - MEAN.powi(steps), 1.0 - SQUARE.powi(steps));
        let moments = self.gradient.iter_mut().zip(&mut self.mean).zip(&mut self.square);
        for (number, ((gradient, mean), square)) in numbers.iter_mut().zip(moments) {
            *mean = MEAN * *mean + (1.0 - MEAN) * *gradient;
            *square = SQUARE * *square + (1.0 - SQUARE) * *gradient * *gradient;
            *number -= rate * (*mean / mean_part) / ((*square / square_part).sqrt() + 1e-8);
            *gradient = 0.0;
        }
    }
}

/// Numbers from -`largest` to `largest`.
fn random(count: usize, largest: f32, seed: u64) -> Vec<f32> {
    let numbers = Array::random(DType::F32, vec![count], seed).map(|array| array.values().collect());
    let numbers: Vec<f64> = numbers.unwrap_or_default();
    numbers.iter().map(|&number| largest * number as f32).collect()
}

/// Another order, each equally likely.
fn shuffle(order: &mut [usize], seed: u64) {
    let numbers = Array::random(DType::U32, vec![order.len()], seed).map(|array| array.values().collect());
    let numbers: Vec<f64> = numbers.unwrap_or_default();
    for (index, number) in numbers.iter().enumerate() {
        order.swap(index, number.to_bits() as usize % (index + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(model: &Model, texels: &[[f64; CHANNELS]]) -> f64 {
        let errors = texels.iter().enumerate().flat_map(|(index, texel)| {
            let found = model.evaluate([index % model.size, index / model.size]).values;
            texel.iter().zip(found).map(|(wanted, found)| (wanted - found).powi(2)).collect::<Vec<_>>()
        });
        errors.sum::<f64>() / (texels.len() * CHANNELS) as f64
    }

    #[test]
    fn the_gradient_is_that_of_the_error() {
        let texels = super::super::original::texels(8);
        let mut training = Training::new(8, &texels, 1);
        for texel in 0..texels.len() {
            training.learn(texel, 1.0 / (texels.len() * CHANNELS) as f32);
        }
        let slope = |change: &dyn Fn(&mut Model, f32)| {
            let changed = |by: f32| {
                let mut model = training.model.clone();
                change(&mut model, by);
                error(&model, &texels)
            };
            (changed(1e-3) - changed(-1e-3)) / 2e-3
        };
        let assert_close = |found: f32, wanted: f64| {
            assert!((f64::from(found) - wanted).abs() < 1e-5 + 0.02 * wanted.abs(), "{found} {wanted}");
        };
        for index in [0, 3, 9, 31] {
            assert_close(training.fine.gradient[index], slope(&|model, by| model.fine[index] += by));
        }
        assert_close(training.coarse.gradient[4], slope(&|model, by| model.coarse[4] += by));
        for index in [0, 20, WIDTH * WIDTH + 2, LAYER + 3, LAYER + WIDTH * WIDTH + 1] {
            assert_close(training.network.gradient[index], slope(&|model, by| model.network[index] += by));
        }
    }

    #[test]
    fn training_makes_the_error_small() {
        let texels = super::super::original::texels(16);
        let mut training = Training::new(16, &texels, 60);
        let before = error(&training.model, &texels);
        while training.pass() {}
        let after = error(&training.into_model(), &texels);
        assert!(after < 0.05 * before, "{before} {after}");
    }

    #[test]
    fn an_order_has_everything_once() {
        let mut order: Vec<usize> = (0..100).collect();
        shuffle(&mut order, 1);
        assert!(order.iter().enumerate().any(|(index, &value)| index != value));
        order.sort_unstable();
        assert!(order.iter().enumerate().all(|(index, &value)| index == value));
    }
}

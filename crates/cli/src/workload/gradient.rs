//! Gradients in plain loops: what training steps are compared with.
//!
//! Vectors, forward and back, are rounded to f16, as those of kernels are; sums are f64.

use super::layers::Layer;
use crate::data::DType;

/// The nearest number of f16.
pub(crate) fn round(value: f64) -> f64 {
    DType::F16.value(DType::F16.bits(value))
}

/// A slope, and how large the numbers were that it was added up from: what rounding errors are relative to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Slope {
    pub(crate) value: f64,
    pub(crate) magnitude: f64,
}

/// Sums of slopes, and their magnitudes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gradient {
    pub(crate) sums: Vec<f64>,
    pub(crate) magnitudes: Vec<f64>,
}

/// The slopes of a layer's numbers.
#[derive(Debug)]
pub(crate) struct LayerGradient {
    weights: Gradient,
    biases: Gradient,
}

impl Slope {
    /// That of a difference.
    pub(crate) fn of_difference(found: f64, wanted: f64, factor: f64) -> Self {
        let magnitude = factor * (found.abs() + wanted.abs());
        Self { value: round(factor * (found - wanted)), magnitude }
    }
}

impl Gradient {
    pub(crate) fn new(numbers: usize) -> Self {
        Self { sums: vec![0.0; numbers], magnitudes: vec![0.0; numbers] }
    }

    /// Adds the product of a factor and a slope.
    pub(crate) fn add(&mut self, number: usize, factor: f64, slope: Slope) {
        self.sums[number] += factor * slope.value;
        self.magnitudes[number] += factor.abs() * slope.magnitude;
    }
}

impl Layer {
    /// The sums of its results.
    pub(crate) fn sums(&self, inputs: &[f64]) -> Vec<f64> {
        let row = |(row, bias): (&[f64], &f64)| {
            round(row.iter().zip(inputs).fold(*bias, |sum, (weight, input)| sum + weight * input))
        };
        self.weights.chunks_exact(self.inputs).zip(&self.biases).map(row).collect()
    }
}

impl LayerGradient {
    pub(crate) fn new(layer: &Layer) -> Self {
        Self { weights: Gradient::new(layer.weights.len()), biases: Gradient::new(layer.biases.len()) }
    }

    /// Adds the slopes for so many like inputs, and goes back from the slopes of the sums to those of the inputs.
    pub(crate) fn back(&mut self, layer: &Layer, inputs: &[f64], slopes: &[Slope], count: f64) -> Vec<Slope> {
        let mut back = vec![Slope::default(); layer.inputs];
        for (row, &slope) in slopes.iter().enumerate() {
            self.biases.add(row, count, slope);
            for (column, input) in inputs.iter().enumerate() {
                let at = row * layer.inputs + column;
                self.weights.add(at, count * input, slope);
                back[column].value += layer.weights[at] * slope.value;
                back[column].magnitude += layer.weights[at].abs() * slope.magnitude;
            }
        }
        back.iter().map(|slope| Slope { value: round(slope.value), ..*slope }).collect()
    }

    /// The sums and the magnitudes, each in the form of the layer.
    pub(crate) fn split(self, inputs: usize) -> (Layer, Layer) {
        let layer = |weights, biases| Layer { inputs, weights, biases };
        (layer(self.weights.sums, self.biases.sums), layer(self.weights.magnitudes, self.biases.magnitudes))
    }
}

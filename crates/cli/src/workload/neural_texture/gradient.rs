//! The gradient of a training step in plain loops, and the step as a workload that is compared with it.

use anyhow::{Result, bail};

use super::image::Image;
use super::model::{COARSE, COARSE_STEP, Corners, FINE, FINE_STEP, Model, WIDTH, corners};
use super::train::{self, Plan};
use crate::data::DType;
use crate::measure::{Kernel, Peak, Problem, Subject, Watch, Workload};
use crate::runtime::{Buffer, Device};
use crate::workload::gradient::{Gradient, LayerGradient, Slope, round};
use crate::workload::layers::{Layer, Layers};
use crate::workload::values_of;

/// The first step of training.
#[derive(Debug)]
pub(super) struct Step {
    image: Image,
    plan: Plan,
    layers: Layers,
    kernels: [Kernel; 1],
}

impl Step {
    /// A step of so many texels.
    pub(super) fn new(image: Image, batch: u32) -> Result<Self> {
        let (plan, layers) = (Plan { steps: 1, batch }, train::layers()?);
        Ok(Self { kernels: [train::kernel(&image, plan, &layers)], image, plan, layers })
    }
}

/// A random number, as the kernel has it.
fn hash(x: u32) -> u32 {
    let x = (x ^ x >> 16).wrapping_mul(0x85eb_ca6b);
    let x = (x ^ x >> 13).wrapping_mul(0xc2b2_ae35);
    x ^ x >> 16
}

/// The sums of the slopes of a batch, in the order of training.
fn gradient(image: &Image, model: &Model, plan: Plan, layers: &Layers) -> Result<Gradient> {
    let [first, second] = &model.rounded().network;
    let [mut first_slopes, mut second_slopes] = [LayerGradient::new(first), LayerGradient::new(second)];
    let (mut fine, mut coarse) = (Gradient::new(model.fine.len()), Gradient::new(model.coarse.len()));
    for invocation in 0..plan.batch {
        let index = hash(invocation) as usize % image.texels();
        let texel = [index % image.size[0], index / image.size[0]];
        let features = model.features(texel).map(round);
        let sums = first.sums(&features);
        let hidden: Vec<f64> = sums.iter().map(|sum| sum.max(0.0)).collect();
        let mut slopes = vec![Slope::default(); WIDTH];
        for ((slope, found), wanted) in slopes.iter_mut().zip(second.sums(&hidden)).zip(image.texel(index)) {
            *slope = Slope::of_difference(found, f64::from(*wanted), 2.0);
        }
        let mut hidden_slopes = second_slopes.back(second, &hidden, &slopes, 1.0);
        for (slope, sum) in hidden_slopes.iter_mut().zip(sums) {
            *slope = if sum >= 0.0 { *slope } else { Slope::default() };
        }
        let feature_slopes = first_slopes.back(first, &features, &hidden_slopes, 1.0);
        scatter(&mut fine, &corners(texel, image.size, FINE_STEP), &feature_slopes[..FINE]);
        scatter(&mut coarse, &corners(texel, image.size, COARSE_STEP), &feature_slopes[FINE..FINE + COARSE]);
    }
    let (first, first_size) = first_slopes.split(WIDTH);
    let (second, second_size) = second_slopes.split(WIDTH);
    let ordered = |network: [Layer; 2], fine: Vec<f64>, coarse: Vec<f64>| -> Result<Vec<f64>> {
        let numbers = train::numbers(&Model { size: model.size, fine, coarse, network }, layers)?;
        Ok(values_of(DType::F32, &numbers))
    };
    Ok(Gradient {
        sums: ordered([first, second], fine.sums, coarse.sums)?,
        magnitudes: ordered([first_size, second_size], fine.magnitudes, coarse.magnitudes)?,
    })
}

/// Gives the slopes of interpolated features to the elements that they came from.
fn scatter(gradient: &mut Gradient, corners: &Corners, slopes: &[Slope]) {
    for &(element, weight) in &corners.elements {
        for (feature, slope) in slopes.iter().enumerate() {
            gradient.add(element * slopes.len() + feature, weight, *slope);
        }
    }
}

impl Workload for Step {
    fn subject(&self) -> Subject {
        let [width, height] = self.image.size;
        Subject {
            workload: "neural-texture",
            problem: format!("a step of {} texels of {width}x{height}", self.plan.batch),
            a: DType::F16,
            c: DType::F32,
            size: [self.plan.batch, WIDTH as u32, WIDTH as u32],
            // Forward, back, and the gradient of both layers' matrices; the grids and the optimiser are not counted.
            operations: 3.0 * 2.0 * 2.0 * f64::from(self.plan.batch) * (WIDTH * WIDTH) as f64,
            peak: Peak::F32Fma,
        }
    }

    fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    fn buffer_bytes(&self) -> u64 {
        train::buffer_bytes(&self.image, self.plan, &self.layers)
    }

    fn unit(&self) -> Option<&'static str> {
        Some("training step")
    }

    fn prepare(&self, device: &Device, _watch: &Watch<'_>) -> Result<Option<Problem>> {
        let model = train::start(&self.image);
        let gradient = gradient(&self.image, &model, self.plan, &self.layers)?;
        let numbers = train::numbers(&model, &self.layers)?;
        let buffers = train::buffers(device, &self.image, self.plan, &self.layers, &numbers)?;
        let before = values_of(DType::F32, &numbers);
        let adam = train::adam(&self.image, self.plan, &self.layers);
        let check = move |buffers: &[Buffer]| match buffers {
            [.., after] => adam.compare(&before, &gradient, &after.read(0..after.size())?),
            [] => bail!("a step has a buffer for its state"),
        };
        Ok(Some(Problem::new(buffers, check)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::{assert_right, assert_right_everywhere};

    #[test]
    fn a_step_is_right_whatever_the_image() {
        assert_right_everywhere(&Step::new(Image::bricks(8), 50).expect("possible"));
        let image = Image { size: [13, 5], channels: 3, values: Image::bricks(6).values[..195].to_vec() };
        assert_right(&Step::new(image, 200).expect("possible"));
    }

    #[test]
    fn the_gradient_is_that_of_the_error() {
        let (image, layers) = (Image::bricks(8), train::layers().expect("possible"));
        let (plan, model) = (Plan { steps: 1, batch: 100 }, train::start(&image));
        let found = gradient(&image, &model, plan, &layers).expect("possible").sums;
        let error = |model: &Model| -> f64 {
            let texels = (0..plan.batch).map(|invocation| hash(invocation) as usize % image.texels());
            let errors = texels.flat_map(|index| {
                let found = model.evaluate([index % 8, index / 8]).values;
                let wanted = image.texel(index).iter();
                wanted
                    .zip(found)
                    .map(|(&wanted, found)| (found - f64::from(wanted)).powi(2))
                    .collect::<Vec<_>>()
            });
            errors.sum()
        };
        let assert_close = |at: usize, change: &dyn Fn(&mut Model, f64)| {
            let changed = |by: f64| {
                let mut model = model.clone();
                change(&mut model, by);
                error(&model)
            };
            let wanted = (changed(1e-4) - changed(-1e-4)) / 2e-4;
            assert!((found[at] - wanted).abs() < 0.02 + 0.02 * wanted.abs(), "{at}: {} {wanted}", found[at]);
        };
        let [matrix, biases] = layers.trained.layers[0].map(|bytes| bytes / 4);
        assert_close(matrix, &|model, by| model.network[0].weights[0] += by);
        assert_close(biases + 3, &|model, by| model.network[0].biases[3] += by);
        let [_, biases] = layers.trained.layers[1].map(|bytes| bytes / 4);
        assert_close(biases + 5, &|model, by| model.network[1].biases[5] += by);
        let fine = layers.numbers();
        assert_close(fine + 9, &|model, by| model.fine[9] += by);
        assert_close(fine + model.fine.len() + 4, &|model, by| model.coarse[4] += by);
    }
}

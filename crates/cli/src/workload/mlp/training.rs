//! A training step of a network over an image, and its gradient in plain loops.
//!
//! Inputs are the same 64 pixels further on, so the
//! reference evaluates as many pixels as differ and counts how often each is there.

use anyhow::{Result, bail};

use super::{COMPARED, Mlp, compare};
use crate::args::workload::Activation;
use crate::data::DType;
use crate::measure::{Kernel, Peak, Problem, Subject, Watch, Workload, upload};
use crate::reference::{Comparison, tolerance};
use crate::runtime::{Buffer, Device};
use crate::workload::adam::Adam;
use crate::workload::gradient::{Gradient, LayerGradient, Slope, round};
use crate::workload::layers::{Layer, Layers};
use crate::workload::{complete, values_of, words};

/// Invocations of a work-group and of a subgroup: the most that there are, as each subgroup adds to every element of the
/// gradient once.
const INVOCATIONS: u32 = 128;

/// After so many pixels inputs are the same again.
const PERIOD: u32 = 64;

/// How far a number moves.
const RATE: f64 = 1e-3;

/// The binding of the state that a step makes.
const AFTER: u32 = 4;

/// A network of one set, and the kernels of its training step.
#[derive(Debug)]
pub(super) struct MlpTraining {
    mlp: Mlp,
    layers: Layers,
    kernels: [Kernel; 1],
}

/// What a pass through the network gives for one pixel: the sum of the slopes of its inputs.
type Seen = (f64, f64);

impl Activation {
    /// From the slope of a result to that of the sum that it came from.
    fn back(self, slope: Slope, sum: f64, result: f64) -> Slope {
        let factor = match self {
            Self::None => return slope,
            Self::Relu => f64::from(sum >= 0.0),
            Self::Tanh => round(1.0 - round(result * result)),
        };
        Slope { value: round(slope.value * factor), magnitude: slope.magnitude * factor.abs() }
    }
}

impl MlpTraining {
    /// The training of a network of f16 without kernels of its own.
    pub(super) fn new(mlp: Mlp) -> Result<Self> {
        let layers = Layers::new(mlp.shapes().map(|(inputs, results)| [results, inputs]).collect())?;
        let mut training = Self { kernels: [kernel(&mlp, &layers)], layers, mlp };
        training.kernels[0].then = Some(Box::new(training.adam().kernel(AFTER)));
        Ok(training)
    }

    fn adam(&self) -> Adam {
        let numbers = self.layers.numbers() as u32;
        let scale = 1.0 / f64::from(self.mlp.pixels());
        Adam { numbers, network: numbers, network_rate: RATE, other_rate: RATE, scale }
    }

    /// The gradient, and what each of the pixels that differ has; nothing if it was interrupted.
    fn gradient(&self, network: &[Layer], watch: &Watch<'_>) -> Result<Option<(Gradient, Vec<Seen>)>> {
        let [columns, rows] = self.mlp.image.map(|edge| edge.min(PERIOD));
        let times = |at: u32, edge: u32| (edge - at).div_ceil(PERIOD);
        let mut gradients: Vec<LayerGradient> = network.iter().map(LayerGradient::new).collect();
        let mut seen = Vec::new();
        for y in 0..rows {
            if watch.interrupt.is_set() {
                return Ok(None);
            }
            for x in 0..columns {
                let count = times(x, self.mlp.image[0]) * times(y, self.mlp.image[1]);
                seen.push(self.pixel(network, [x, y], f64::from(count), &mut gradients));
            }
        }
        let split = |(gradient, layer): (LayerGradient, &Layer)| {
            let (mut sums, mut magnitudes) = gradient.split(layer.inputs);
            if !self.mlp.has_biases {
                sums.biases.fill(0.0);
                magnitudes.biases.fill(0.0);
            }
            (sums, magnitudes)
        };
        let (sums, magnitudes): (Vec<Layer>, Vec<Layer>) =
            gradients.into_iter().zip(network).map(split).unzip();
        let ordered = |layers: &[Layer]| -> Result<Vec<f64>> {
            Ok(values_of(DType::F32, &self.layers.to_trained(layers)?))
        };
        Ok(Some((Gradient { sums: ordered(&sums)?, magnitudes: ordered(&magnitudes)? }, seen)))
    }

    /// Takes a pixel that is there so many times through the network and back.
    fn pixel(
        &self,
        network: &[Layer],
        [x, y]: [u32; 2],
        count: f64,
        gradients: &mut [LayerGradient],
    ) -> Seen {
        let mlp = &self.mlp;
        let mut vectors: Vec<Vec<f64>> = vec![(0..mlp.lengths[0]).map(|i| mlp.input(x, y, i)).collect()];
        let mut sums: Vec<Vec<f64>> = Vec::new();
        for (layer, activation) in network.iter().zip(&mlp.activations) {
            let sum = layer.sums(vectors.last().map_or(&[][..], Vec::as_slice));
            vectors.push(sum.iter().map(|&sum| round(activation.apply(sum))).collect());
            sums.push(sum);
        }
        let wanted = (0..).map(|i| mlp.input(y, x, i));
        let results = vectors.last().map_or(&[][..], Vec::as_slice).iter();
        let mut back: Vec<Slope> =
            results.zip(wanted).map(|(&result, wanted)| Slope::of_difference(result, wanted, 1.0)).collect();
        for (index, layer) in network.iter().enumerate().rev() {
            let (inputs, results, gradient) = (&vectors[index], &vectors[index + 1], &mut gradients[index]);
            let slopes: Vec<Slope> = (back.iter().zip(&sums[index]).zip(results))
                .map(|((&slope, &sum), &result)| mlp.activations[index].back(slope, sum, result))
                .collect();
            back = gradient.back(layer, inputs, &slopes, count);
        }
        back.iter().fold((0.0, 0.0), |(sum, size), slope| (sum + slope.value, size + slope.magnitude))
    }
}

fn kernel(mlp: &Mlp, layers: &Layers) -> Kernel {
    let last = mlp.activations.len();
    let (mut forward, mut back) = (Vec::new(), Vec::new());
    for (index, (k, m)) in mlp.shapes().enumerate() {
        let [matrix, biases] = layers.multiplied.layers[index];
        let [trained, trained_biases] = layers.trained.layers[index];
        let head = format!("L({}, {index}, {m}, {k}, {matrix}", index + 1);
        let activation = mlp.activations[index].name().to_uppercase();
        forward.push(format!("{head}, {biases}, {activation})"));
        back.push(format!("{head}, {trained}, {trained_biases}, {activation})"));
    }
    back.reverse();
    let lengths: Vec<String> = mlp.lengths.iter().map(u32::to_string).collect();
    Kernel {
        name: "train".to_owned(),
        tile: lengths.join("-"),
        source: complete(
            include_str!("../../../shaders/mlp/train.comp"),
            include_str!("../../../shaders/mlp/common.glsl"),
        ),
        definitions: vec![
            ("INVOCATIONS", INVOCATIONS.to_string()),
            ("LAYERS(L)", forward.join(" ")),
            ("BACK(L)", back.join(" ")),
            ("INPUTS", mlp.lengths[0].to_string()),
            ("RESULTS", mlp.lengths[last].to_string()),
            ("LAST", format!("v{last}")),
            ("BACK_LAST", format!("back{last}")),
            ("HAS_BIASES", u8::from(mlp.has_biases).to_string()),
        ],
        constants: Vec::new(),
        subgroup_size: INVOCATIONS,
        groups: [mlp.pixels().div_ceil(INVOCATIONS), 1, 1],
        push_constants: words(&[mlp.image[0], mlp.pixels()]),
        then: None,
    }
}

impl Workload for MlpTraining {
    fn subject(&self) -> Subject {
        Subject {
            problem: format!("training step, {}", self.mlp.problem()),
            c: DType::F32,
            // Each layer forward, back to its inputs, and its gradient.
            operations: 3.0 * self.mlp.operations(),
            peak: Peak::F32Fma,
            ..self.mlp.subject()
        }
    }

    fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    fn unit(&self) -> Option<&'static str> {
        Some("training step")
    }

    fn buffer_bytes(&self) -> u64 {
        let numbers = 7 * self.layers.numbers() + self.mlp.pixels() as usize;
        (numbers * DType::F32.size_bytes()) as u64
    }

    fn prepare(&self, device: &Device, watch: &Watch<'_>) -> Result<Option<Problem>> {
        let mut network = self.mlp.networks()?.concat();
        if !self.mlp.has_biases {
            network.iter_mut().for_each(|layer| layer.biases.fill(0.0));
        }
        let Some((gradient, seen)) = self.gradient(&network, watch)? else { return Ok(None) };
        let numbers = self.layers.to_trained(&network)?;
        let before = device.create_buffer(3 * numbers.len())?;
        before.write(0, &numbers)?;
        let buffers = vec![
            upload(device, self.layers.multiplied(&numbers, device.inferencing())?)?,
            device.create_buffer(numbers.len())?,
            before,
            device.create_buffer(self.mlp.pixels() as usize * DType::F32.size_bytes())?,
            device.create_buffer(3 * numbers.len())?,
        ];
        let [width, columns] = [self.mlp.image[0], self.mlp.image[0].min(PERIOD)];
        let step = (self.mlp.pixels() as usize).div_ceil(COMPARED) | 1;
        let expected: Vec<(u32, Seen)> = (0..self.mlp.pixels())
            .step_by(step)
            .map(|pixel| {
                let (x, y) = (pixel % width % PERIOD, pixel / width % PERIOD);
                (pixel, seen[(y * columns + x) as usize])
            })
            .collect();
        let (adam, numbers) = (self.adam(), values_of(DType::F32, &numbers));
        let check = move |buffers: &[Buffer]| match buffers {
            [.., sums, after] => {
                let state = adam.compare(&numbers, &gradient, &after.read(0..after.size())?)?;
                let sums = compare(&expected, tolerance(DType::F16), sums)?;
                let max_rel_error = state.max_rel_error.max(sums.max_rel_error);
                Ok(Comparison { max_rel_error, ok: state.ok && sums.ok, ..state })
            }
            _ => bail!("a step has buffers for its sums and its state"),
        };
        Ok(Some(Problem::new(buffers, check)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::workload::MlpType;
    use crate::measure::tests::{assert_right, assert_right_everywhere};

    fn training(lengths: &[u32], activation: Activation, has_biases: bool, image: [u32; 2]) -> MlpTraining {
        let activations = vec![activation; lengths.len() - 1];
        let mlp = Mlp::new(MlpType::F16, lengths, &activations, has_biases, 1, image, &[]);
        MlpTraining::new(mlp.expect("possible")).expect("possible")
    }

    #[test]
    fn steps_are_right_whatever_the_network() {
        assert_right_everywhere(&training(&[5, 9, 3], Activation::Tanh, true, [9, 5]));
        assert_right(&training(&[64, 64, 64, 64], Activation::Relu, true, [70, 3]));
        assert_right(&training(&[3, 37, 1], Activation::None, false, [5, 67]));
    }
}

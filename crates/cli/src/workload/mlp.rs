//! Small networks of fully connected layers that each invocation evaluates for itself, by cooperative vectors and by the
//! plain loops that compilers emit without them.
//!
//! The inputs are waves over an image, and the result of a pixel is the sum of the last layer, so that what is measured is
//! the network. The reference evaluates pixels in f64, with the roundings between layers that the types have.

mod training;

use anyhow::{Result, bail, ensure};

use self::training::MlpTraining;
use super::layers::{Layer, Places};
use super::{Purpose, bytes_of, complete, values_of, words};
use crate::args::LayoutName;
use crate::args::workload::{Activation, MlpArgs, MlpForm, MlpType};
use crate::data::{Array, DType};
use crate::measure::{Kernel, Peak, Problem, Subject, Watch, Workload, upload};
use crate::reference::{Comparison, tolerance};
use crate::runtime::vector;
use crate::runtime::{Buffer, Device};
use crate::versus::OptimalMatrix;

/// The kernel that reads matrices in the optimal layout.
const VECTOR: &str = "vector";

/// Invocations of a work-group and of a subgroup.
const INVOCATIONS: u32 = 32;

/// The most pixels that are compared with the reference.
const COMPARED: usize = 4096;

impl MlpType {
    fn weights(self) -> DType {
        match self {
            Self::F16 => DType::F16,
            Self::S8 => DType::S8,
        }
    }

    fn biases(self) -> DType {
        match self {
            Self::F16 => DType::F16,
            Self::S8 => DType::S32,
        }
    }
}

impl Activation {
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Relu => "relu",
            Self::Tanh => "tanh",
        }
    }

    fn apply(self, x: f64) -> f64 {
        match self {
            Self::None => x,
            Self::Relu => x.max(0.0),
            Self::Tanh => x.tanh(),
        }
    }
}

/// How the matrices lie that a kernel multiplies by.
fn layout(form: MlpForm) -> LayoutName {
    match form {
        MlpForm::Vector | MlpForm::Train => LayoutName::Inferencing,
        MlpForm::Loops => LayoutName::RowMajor,
    }
}

/// A network, and the kernels that evaluate it.
#[derive(Debug)]
pub(crate) struct Mlp {
    kind: MlpType,
    /// The lengths of all vectors, the input's first.
    lengths: Vec<u32>,
    activations: Vec<Activation>,
    has_biases: bool,
    /// How many networks pixels take in turn.
    sets: usize,
    image: [u32; 2],
    kernels: Vec<Kernel>,
}

/// What the user asked for.
pub(crate) fn all(args: &MlpArgs, purpose: Purpose) -> Result<Vec<Box<dyn Workload>>> {
    // The network of the extension's own document, and the one that records are compared at.
    let (lengths, activations) = purpose.choose(
        (vec![6, 32, 32, 8], vec![Activation::Relu, Activation::Tanh, Activation::None]),
        (vec![64; 4], vec![Activation::Relu; 3]),
    );
    let lengths = if args.lengths.is_empty() { lengths } else { args.lengths.clone() };
    let activations = match args.activations[..] {
        [] if args.lengths.is_empty() => activations,
        [] => vec![Activation::Relu; lengths.len().saturating_sub(1)],
        [one] => vec![one; lengths.len().saturating_sub(1)],
        _ => args.activations.clone(),
    };
    let image = args.image.unwrap_or(purpose.choose([320, 180], [1920, 1080]));
    let types: &[MlpType] = match args.types[..] {
        // Integers have no tanh.
        [] if activations.contains(&Activation::Tanh) => &[MlpType::F16],
        [] => &[MlpType::F16, MlpType::S8],
        _ => &args.types,
    };
    let mut workloads: Vec<Box<dyn Workload>> = Vec::new();
    for &kind in types {
        for &sets in &args.sets {
            let network = |forms: &[MlpForm]| {
                Mlp::new(kind, &lengths, &activations, !args.no_biases, sets, image, forms)
            };
            let forms: Vec<MlpForm> =
                args.kernels.iter().copied().filter(|form| *form != MlpForm::Train).collect();
            if !forms.is_empty() {
                workloads.push(Box::new(network(&forms)?));
            }
            if args.kernels.contains(&MlpForm::Train) && kind == MlpType::F16 && sets == 1 {
                workloads.push(Box::new(MlpTraining::new(network(&[])?)?));
            }
        }
    }
    ensure!(
        !workloads.is_empty(),
        "only one network of f16 is trained; others are evaluated by vector and loops"
    );
    Ok(workloads)
}

impl Mlp {
    fn new(
        kind: MlpType,
        lengths: &[u32],
        activations: &[Activation],
        has_biases: bool,
        sets: usize,
        image: [u32; 2],
        forms: &[MlpForm],
    ) -> Result<Self> {
        ensure!(lengths.len() >= 2, "a network has the lengths of an input and of a layer at least");
        ensure!(lengths.iter().all(|n| (1..=1024).contains(n)), "layers have 1 to 1024 components");
        ensure!(
            activations.len() == lengths.len() - 1,
            "{} layers, {} activations",
            lengths.len() - 1,
            activations.len()
        );
        ensure!(kind != MlpType::S8 || !activations.contains(&Activation::Tanh), "tanh is not for integers");
        ensure!((1..=1024).contains(&sets), "1 to 1024 networks, not {sets}");
        ensure!(image.iter().all(|edge| (1..=8192).contains(edge)), "an image has edges of 1 to 8192 pixels");
        let mut mlp = Self {
            kind,
            lengths: lengths.to_vec(),
            activations: activations.to_vec(),
            has_biases,
            sets,
            image,
            kernels: Vec::new(),
        };
        mlp.kernels = forms.iter().map(|&form| mlp.kernel(form)).collect::<Result<_>>()?;
        Ok(mlp)
    }

    fn pixels(&self) -> u32 {
        self.image[0] * self.image[1]
    }

    /// Inputs and results of each layer.
    fn shapes(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.lengths.windows(2).map(|pair| (pair[0] as usize, pair[1] as usize))
    }

    /// Where each layer's matrix and biases lie in a network.
    fn places(&self, form: MlpForm) -> Result<Places> {
        let shapes: Vec<[usize; 2]> = self.shapes().map(|(inputs, results)| [results, inputs]).collect();
        let matrix =
            |results: usize, inputs: usize| vector::room(self.kind.weights(), layout(form), results, inputs);
        Places::new(&shapes, matrix, self.kind.biases())
    }

    fn kernel(&self, form: MlpForm) -> Result<Kernel> {
        let Places { layers: places, bytes } = self.places(form)?;
        // The networks of the one form, and behind them those of the other.
        let first = match form {
            MlpForm::Vector | MlpForm::Train => 0,
            MlpForm::Loops => self.places(MlpForm::Vector)?.bytes * self.sets,
        };
        let layers = (1..).zip(self.lengths.windows(2)).zip(places).zip(&self.activations);
        let layers = layers.map(|(((i, pair), [matrix, biases]), activation)| {
            let (m, k, activation) = (pair[1], pair[0], activation.name().to_uppercase());
            format!("L({i}, {}, {m}, {k}, {matrix}, {biases}, {activation})", i - 1)
        });
        let last = self.lengths.len() - 1;
        let mut definitions = vec![
            ("LAYERS(L)", layers.collect::<Vec<_>>().join(" ")),
            ("INPUTS", self.lengths[0].to_string()),
            ("RESULTS", self.lengths[last].to_string()),
            ("LAST", format!("v{last}")),
            ("SETS", self.sets.to_string()),
            ("SET_BYTES", bytes.to_string()),
            ("FIRST_BYTE", first.to_string()),
            ("HAS_BIASES", u8::from(self.has_biases).to_string()),
        ];
        if self.kind == MlpType::S8 {
            definitions.push(("BYTES", String::new()));
        }
        let (name, source) = match form {
            MlpForm::Vector => (VECTOR, include_str!("../../shaders/mlp/vector.comp")),
            MlpForm::Loops => ("loops", include_str!("../../shaders/mlp/loops.comp")),
            MlpForm::Train => bail!("a training step is a workload of its own"),
        };
        let lengths: Vec<String> = self.lengths.iter().map(u32::to_string).collect();
        Ok(Kernel {
            name: name.to_owned(),
            tile: lengths.join("-"),
            source: complete(source, include_str!("../../shaders/mlp/common.glsl")),
            definitions,
            constants: Vec::new(),
            subgroup_size: INVOCATIONS,
            groups: [self.pixels().div_ceil(INVOCATIONS), 1, 1],
            push_constants: words(&[self.image[0], self.pixels()]),
            then: None,
        })
    }

    /// The networks, in the numbers that their types have.
    fn networks(&self) -> Result<Vec<Vec<Layer>>> {
        let mut seed = 0;
        let mut numbers = |dtype: DType, count: usize, size: f64| -> Result<Vec<f64>> {
            seed += 1;
            let random = Array::random(DType::F32, vec![count], seed)?;
            let round = |x: f64| {
                if dtype.is_float() { dtype.value(dtype.bits(x * size)) } else { (x * size).round() }
            };
            Ok(values_of(DType::F32, &random.bytes).into_iter().map(round).collect())
        };
        let mut networks = Vec::new();
        for _ in 0..self.sets {
            let mut layers = Vec::new();
            for (inputs, results) in self.shapes() {
                // What comes out of a layer is about as large as what goes in.
                let (weight, bias) = match self.kind {
                    MlpType::F16 => ((6.0 / inputs as f64).sqrt(), 0.25),
                    MlpType::S8 => ((6.0 / inputs as f64).sqrt().min(0.99) * 128.0, 1024.0),
                };
                layers.push(Layer {
                    inputs,
                    weights: numbers(self.kind.weights(), results * inputs, weight)?,
                    biases: numbers(self.kind.biases(), results, bias)?,
                });
            }
            networks.push(layers);
        }
        Ok(networks)
    }

    /// The bytes of all networks, as a kernel reads them on a device with this layout for multiplying.
    fn bytes(&self, networks: &[Vec<Layer>], form: MlpForm, inferencing: LayoutName) -> Result<Vec<u8>> {
        let layout = if layout(form) == LayoutName::Inferencing { inferencing } else { layout(form) };
        let Places { layers: places, bytes: set_bytes } = self.places(form)?;
        let mut all = vec![0; set_bytes * networks.len()];
        for (network, set) in networks.iter().zip(all.chunks_exact_mut(set_bytes)) {
            for (layer, [matrix, biases]) in network.iter().zip(&places) {
                let (kind, shape) = (self.kind.weights(), [layer.biases.len(), layer.inputs]);
                let rows = bytes_of(kind, layer.weights.iter().copied());
                let rows = vector::converted(shape, (kind, LayoutName::RowMajor), (kind, layout), &rows)?;
                set[*matrix..][..rows.len()].copy_from_slice(&rows);
                let bytes = bytes_of(self.kind.biases(), layer.biases.iter().copied());
                set[*biases..][..bytes.len()].copy_from_slice(&bytes);
            }
        }
        Ok(all)
    }

    /// The problem in words.
    fn problem(&self) -> String {
        let names: Vec<&str> = self.activations.iter().map(|activation| activation.name()).collect();
        let activations =
            if names.iter().all(|name| *name == names[0]) { names[0].to_owned() } else { names.join("-") };
        let biases = if self.has_biases { "" } else { ", no biases" };
        let sets = if self.sets == 1 { String::new() } else { format!(", {} networks", self.sets) };
        format!("{}x{}, {activations}{biases}{sets}", self.image[0], self.image[1])
    }

    /// Additions and multiplications of the products of all pixels.
    fn operations(&self) -> f64 {
        let products: usize = self.shapes().map(|(inputs, results)| inputs * results).sum();
        2.0 * f64::from(self.pixels()) * products as f64
    }

    /// A component of the input of a pixel. All of them are the same 64 pixels further on.
    fn input(&self, x: u32, y: u32, i: u32) -> f64 {
        let wave = x.wrapping_mul(i + 1).wrapping_add(y.wrapping_mul(3 * i + 2));
        let step = f64::from(wave >> 2 & 15) - 8.0;
        if self.kind == MlpType::S8 { step * 8.0 } else { step / 8.0 }
    }

    /// The sum of the last layer for a pixel, and that of its magnitudes.
    fn evaluate(&self, network: &[Layer], pixel: u32) -> (f64, f64) {
        let (x, y) = (pixel % self.image[0], pixel / self.image[0]);
        let mut vector: Vec<f64> = (0..self.lengths[0]).map(|i| self.input(x, y, i)).collect();
        for (layer, activation) in network.iter().zip(&self.activations) {
            let rows = layer.weights.chunks_exact(layer.inputs).zip(&layer.biases);
            let row = |(row, bias): (&[f64], &f64)| {
                let start = if self.has_biases { *bias } else { 0.0 };
                let sum = row.iter().zip(&vector).fold(start, |sum, (w, x)| sum + w * x);
                match self.kind {
                    MlpType::S8 => (activation.apply(sum) / 128.0).floor().clamp(-128.0, 127.0),
                    MlpType::F16 => {
                        let round = |x| DType::F16.value(DType::F16.bits(x));
                        round(activation.apply(round(sum)))
                    }
                }
            };
            vector = rows.map(row).collect();
        }
        (vector.iter().sum(), vector.iter().map(|x| x.abs()).sum())
    }
}

impl Workload for Mlp {
    fn optimal(&self, kernel: &Kernel) -> Result<Vec<OptimalMatrix>> {
        if kernel.name != VECTOR {
            return Ok(Vec::new());
        }
        let Places { layers, bytes } = self.places(MlpForm::Vector)?;
        let matrix = |set: usize, (inputs, results): (usize, usize), place: usize| OptimalMatrix {
            buffer: 0,
            byte: set * bytes + place,
            shape: [results, inputs],
            dtype: self.kind.weights(),
        };
        let of_set =
            |set| self.shapes().zip(&layers).map(move |(shape, [place, _])| matrix(set, shape, *place));
        Ok((0..self.sets).flat_map(of_set).collect())
    }

    fn subject(&self) -> Subject {
        let (_, widest) = self.shapes().max_by_key(|(inputs, results)| inputs * results).unwrap_or((1, 1));
        Subject {
            workload: "mlp",
            problem: self.problem(),
            a: self.kind.weights(),
            c: if self.kind == MlpType::S8 { DType::S32 } else { DType::F16 },
            size: [self.pixels(), widest as u32, self.lengths[0]],
            operations: self.operations(),
            peak: if self.kind == MlpType::S8 { Peak::I8Dot } else { Peak::F32Fma },
        }
    }

    fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    fn buffer_bytes(&self) -> u64 {
        u64::from(self.pixels()) * DType::F32.size_bytes() as u64
    }

    fn prepare(&self, device: &Device, watch: &Watch<'_>) -> Result<Option<Problem>> {
        let networks = self.networks()?;
        let [bytes, rows] =
            [MlpForm::Vector, MlpForm::Loops].map(|form| self.bytes(&networks, form, device.inferencing()));
        let [mut bytes, rows] = [bytes?, rows?];
        bytes.extend(rows);
        let sums = device.create_buffer(self.pixels() as usize * DType::F32.size_bytes())?;
        let buffers = vec![upload(device, bytes)?, sums];
        let step = (self.pixels() as usize).div_ceil(COMPARED) | 1;
        let mut expected = Vec::new();
        for pixel in (0..self.pixels()).step_by(step) {
            if watch.interrupt.is_set() {
                return Ok(None);
            }
            expected.push((pixel, self.evaluate(&networks[pixel as usize % self.sets], pixel)));
        }
        let tolerance = tolerance(if self.kind == MlpType::S8 { DType::S32 } else { DType::F16 });
        let check = move |buffers: &[Buffer]| match buffers {
            [.., sums] => compare(&expected, tolerance, sums),
            [] => bail!("a network has a buffer for its results"),
        };
        Ok(Some(Problem::new(buffers, check)))
    }
}

/// Compares pixels with what was expected; errors are relative to the magnitudes that were added up.
fn compare(expected: &[(u32, (f64, f64))], tolerance: f64, sums: &Buffer) -> Result<Comparison> {
    let mut max_rel_error = 0.0_f64;
    for &(pixel, (value, scale)) in expected {
        let at = pixel as usize * DType::F32.size_bytes();
        let found = values_of(DType::F32, &sums.read(at..at + DType::F32.size_bytes())?);
        let error = found.first().map_or(f64::NAN, |found| (found - value).abs());
        let relative = if error == 0.0 { 0.0 } else { error / scale };
        // NaN, where a number was expected, is the largest error of all.
        max_rel_error = max_rel_error.max(if relative.is_nan() { f64::INFINITY } else { relative });
    }
    Ok(Comparison { max_rel_error, tolerance, ok: max_rel_error <= tolerance, psnr_db: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::{assert_right, assert_right_everywhere};

    const FORMS: [MlpForm; 2] = [MlpForm::Vector, MlpForm::Loops];

    fn mlp(kind: MlpType, lengths: &[u32], activation: Activation, has_biases: bool, sets: usize) -> Mlp {
        let activations = vec![activation; lengths.len() - 1];
        Mlp::new(kind, lengths, &activations, has_biases, sets, [20, 10], &FORMS).expect("possible")
    }

    #[test]
    fn networks_are_right_whatever_their_shape() {
        assert_right_everywhere(&mlp(MlpType::F16, &[6, 32, 8], Activation::Tanh, true, 1));
        assert_right(&mlp(MlpType::F16, &[64, 64, 64], Activation::Relu, true, 4));
        assert_right(&mlp(MlpType::F16, &[3, 1, 37, 5], Activation::None, false, 3));
        assert_right_everywhere(&mlp(MlpType::S8, &[5, 33, 7], Activation::Relu, true, 2));
        assert_right(&mlp(MlpType::S8, &[64, 64, 64, 64], Activation::None, false, 1));
    }

    #[test]
    fn networks_that_are_none_are_refused() {
        let refused = |kind, lengths: &[u32], activations: &[Activation], sets| {
            assert!(Mlp::new(kind, lengths, activations, true, sets, [8, 8], &FORMS).is_err());
        };
        refused(MlpType::F16, &[4], &[], 1);
        refused(MlpType::F16, &[4, 0], &[Activation::None], 1);
        refused(MlpType::F16, &[4, 4], &[], 1);
        refused(MlpType::F16, &[4, 4], &[Activation::None], 0);
        refused(MlpType::S8, &[4, 4], &[Activation::Tanh], 1);
    }
}

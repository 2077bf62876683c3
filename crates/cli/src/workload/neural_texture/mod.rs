//! A texture that is kept as features and a small network: its training and its decompression.
//!
//! [`image`] is what is compressed, [`model`] says what its compressed form is and evaluates it in f64, which is the reference
//! of decompression, [`train`] compresses it by shaders, and [`gradient`] is the reference of a step of that.

mod bricks;
mod gradient;
mod image;
mod model;
mod show;
mod train;

use std::cell::OnceCell;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use self::gradient::Step;
use self::image::Image;
use self::model::{Evaluated, WIDTH};
use self::train::{Plan, Trained};
use super::layers::Layer;
use super::{CONVERSION_ROWS, Purpose, bytes_of, values_of, words};
use crate::args::LayoutName;
use crate::args::workload::NeuralTextureArgs;
use crate::data::DType;
use crate::measure::{
    Constant, Kernel, Peak, Problem, Source, Subject, Watch, Workload, upload, with_includes,
};
use crate::reference::{Comparison, tolerance};
use crate::runtime::vector::converted;
use crate::runtime::{Buffer, Device};

/// What the demo's own image reaches at least after the training that it gets unasked, in dB.
const BAR: f64 = 28.0;

/// One texture and the kernels that decompress it.
#[derive(Debug)]
pub(crate) struct NeuralTexture {
    image: Image,
    /// How often the result repeats it along each edge.
    repeat: usize,
    plan: Plan,
    /// The PSNR that makes it right.
    bar: Option<f64>,
    shows_loss: bool,
    kernels: [Kernel; 2],
    trained: OnceCell<Trained>,
}

/// What the user asked for.
pub(crate) fn all(args: &NeuralTextureArgs, purpose: Purpose) -> Result<Vec<Box<dyn Workload>>> {
    let image = match &args.image {
        Some(path) => Image::read(path)?,
        None => {
            let size = args.size.unwrap_or(DEFAULT_SIZE);
            ensure!((8..=2048).contains(&size), "a texture has an edge of 8 to 2048 texels, not {size}");
            Image::bricks(size as usize)
        }
    };
    let plan =
        Plan { steps: args.steps.unwrap_or(DEFAULT_STEPS), batch: args.batch.unwrap_or(batch(&image)) };
    let is_default =
        args.image.is_none() && args.steps.is_none() && args.batch.is_none() && args.size.is_none();
    let repeat = args.repeat.unwrap_or(if args.image.is_some() { 1 } else { purpose.choose(1, 8) });
    let mut texture = NeuralTexture::new(image.clone(), repeat, plan)?;
    texture.bar = args.psnr.or(is_default.then_some(BAR));
    texture.shows_loss = args.train;
    let mut workloads: Vec<Box<dyn Workload>> = Vec::new();
    if args.train {
        workloads.push(Box::new(Step::new(image, plan.batch)?));
    }
    workloads.push(Box::new(texture));
    Ok(workloads)
}

/// What is compressed and how long, where the user does not say.
const DEFAULT_SIZE: u32 = 128;
const DEFAULT_STEPS: u32 = 1500;

/// Each step sees a part of the texels, of small textures more.
fn batch(image: &Image) -> u32 {
    (image.texels() as u32 / 16).next_power_of_two().clamp(512, 16_384)
}

/// A shader with what textures have in common.
fn texture_source(source: &str) -> Source {
    let files = [
        ("common.glsl", include_str!("../../../shaders/neural-texture/common.glsl")),
        ("network.glsl", include_str!("../../../shaders/neural-texture/network.glsl")),
        ("../conversion.glsl", include_str!("../../../shaders/conversion.glsl")),
    ];
    Source::Glsl(with_includes(source, &files))
}

impl NeuralTexture {
    fn new(image: Image, repeat: u32, plan: Plan) -> Result<Self> {
        let [width, height] = image.size.map(|edge| edge as u32);
        let longest = width.max(height);
        ensure!(
            (1..=8192 / longest).contains(&repeat),
            "{repeat} textures of {longest} texels: the edge ends at 8192"
        );
        ensure!((1..=1_000_000).contains(&plan.steps), "1 to 1000000 steps, not {}", plan.steps);
        ensure!((1..=1 << 24).contains(&plan.batch), "1 to 16777216 texels in a step, not {}", plan.batch);
        let layers = train::layers()?;
        let kernel = |name: &str, source: &str| Kernel {
            name: name.to_owned(),
            tile: format!("{CONVERSION_ROWS}x{WIDTH}x{WIDTH}"),
            source: texture_source(source),
            definitions: train::definitions(&image, &layers),
            constants: vec![(0, Constant::U32(CONVERSION_ROWS))],
            subgroup_size: CONVERSION_ROWS,
            groups: [(width * height * repeat * repeat).div_ceil(CONVERSION_ROWS), 1, 1],
            push_constants: words(&[width * repeat, height * repeat, width, height]),
            then: None,
        };
        let kernels = [
            kernel("vector", include_str!("../../../shaders/neural-texture/vector.comp")),
            kernel("qcom", include_str!("../../../shaders/neural-texture/qcom.comp")),
        ];
        let repeat = repeat as usize;
        Ok(Self { image, repeat, plan, bar: None, shows_loss: false, kernels, trained: OnceCell::new() })
    }

    /// Width and height of the result in texels.
    fn whole(&self) -> [usize; 2] {
        self.image.size.map(|edge| edge * self.repeat)
    }

    fn trained(&self) -> Result<&Trained> {
        self.trained.get().context("a texture is trained before it is looked at")
    }
}

/// A layer for the conversions: a matrix with a row for each input, and a row of biases.
fn rows(layer: &Layer) -> Result<Vec<u8>> {
    let [rows, columns] = [LayoutName::RowMajor, LayoutName::ColumnMajor].map(|layout| (DType::F16, layout));
    let weights = bytes_of(DType::F16, layer.weights.iter().copied());
    let mut bytes = converted([layer.biases.len(), layer.inputs], rows, columns, &weights)?;
    bytes.extend(bytes_of(DType::F16, layer.biases.iter().copied()));
    Ok(bytes)
}

/// What texels are compared with.
#[derive(Debug)]
struct Expected {
    image: Image,
    texels: Vec<Evaluated>,
    whole: [usize; 2],
    /// The PSNR that makes them right.
    bar: Option<f64>,
}

impl Expected {
    /// Compares texels in f16 with what the network gives in f64, and with the image.
    ///
    /// Each layer's sums are of f16, with eight roundings' error relative to its lengths: [`tolerance`]. The second layer
    /// inherits the errors of the first, times its weights; [`Model::evaluate`](model::Model::evaluate) adds both up.
    fn compare(&self, texels: &Buffer) -> Result<Comparison> {
        let tolerance = tolerance(DType::F16);
        let ([width, height], channels) = (self.image.size, self.image.channels);
        let (mut max_rel_error, mut squares) = (0.0_f64, 0.0);
        let row_bytes = self.whole[0] * channels * DType::F16.size_bytes();
        for y in 0..self.whole[1] {
            let row = values_of(DType::F16, &texels.read(y * row_bytes..(y + 1) * row_bytes)?);
            for (x, found) in row.chunks_exact(channels).enumerate() {
                let texel = y % height * width + x % width;
                let Evaluated { values, scales } = &self.texels[texel];
                for ((found, value), scale) in found.iter().zip(values).zip(scales) {
                    let error = (found - value).abs();
                    // A scale of zero means that nothing was added up: then any error is too large.
                    let relative = if error == 0.0 { 0.0 } else { error / scale };
                    // NaN, where a number was expected, is the largest error of all.
                    max_rel_error =
                        max_rel_error.max(if relative.is_nan() { f64::INFINITY } else { relative });
                }
                squares += distance(found, self.image.texel(texel));
            }
        }
        let psnr = psnr(squares, self.whole[0] * self.whole[1] * channels);
        let is_near = self.bar.is_none_or(|bar| psnr >= bar);
        let ok = max_rel_error <= tolerance && is_near;
        Ok(Comparison { max_rel_error, tolerance, ok, psnr_db: Some(psnr) })
    }
}

/// The sum of the squared differences between a texel and its original.
fn distance(found: &[f64], original: &[f32]) -> f64 {
    found.iter().zip(original).map(|(found, &wanted)| (found - f64::from(wanted)).powi(2)).sum()
}

/// The peak signal-to-noise ratio in dB, from the sum of the squared errors of so many numbers from 0 to 1.
fn psnr(squares: f64, count: usize) -> f64 {
    -10.0 * (squares / count as f64).log10()
}

impl Workload for NeuralTexture {
    fn subject(&self) -> Subject {
        let ([width, height], channels) = (self.whole(), self.image.channels);
        let texels = (width * height) as u32;
        Subject {
            workload: "neural-texture",
            problem: format!("{width}x{height} texels of {channels} channels"),
            a: DType::F16,
            c: DType::F16,
            size: [texels, WIDTH as u32, WIDTH as u32],
            // Two layers; what interpolates the features is not counted.
            operations: 2.0 * 2.0 * f64::from(texels) * (WIDTH * WIDTH) as f64,
            peak: Peak::F32Fma,
        }
    }

    fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    fn unit(&self) -> Option<&'static str> {
        Some("frame")
    }

    fn buffer_bytes(&self) -> u64 {
        let [width, height] = self.whole();
        let model = train::start(&self.image);
        (model.bytes() + width * height * self.image.channels * DType::F16.size_bytes()) as u64
    }

    fn prepare(&self, device: &Device, watch: &Watch<'_>) -> Result<Option<Problem>> {
        let Some(trained) = train::train(device, &self.image, self.plan, watch)? else { return Ok(None) };
        let (model, layers) = (trained.model.rounded(), train::layers()?);
        let _same_problem_again = self.trained.set(trained);
        let [width, height] = self.image.size;
        let texels =
            (0..width * height).map(|texel| model.evaluate([texel % width, texel / width])).collect();
        let expected = Expected { image: self.image.clone(), texels, whole: self.whole(), bar: self.bar };
        let network: Vec<u8> = model.network.iter().map(rows).collect::<Result<Vec<_>>>()?.concat();
        let texel_bytes = self.image.channels * DType::F16.size_bytes();
        let buffers = vec![
            upload(device, bytes_of(DType::F16, model.fine.iter().copied()))?,
            upload(device, bytes_of(DType::F16, model.coarse.iter().copied()))?,
            upload(device, network)?,
            upload(device, layers.multiplied(&layers.to_trained(&model.network)?, device.inferencing())?)?,
            device.create_buffer(width * height * self.repeat * self.repeat * texel_bytes)?,
        ];
        let check = move |buffers: &[Buffer]| match buffers {
            [.., texels] => expected.compare(texels),
            [] => bail!("a texture has a buffer for its texels"),
        };
        Ok(Some(Problem::new(buffers, check)))
    }

    fn draw(&self, problem: &Problem, directory: &Path) -> Result<Option<String>> {
        let row_bytes = self.whole()[0] * self.image.channels * DType::F16.size_bytes();
        let mut found = Vec::with_capacity(self.image.values.len());
        for y in 0..self.image.size[1] {
            let row = values_of(DType::F16, &problem.result()?.read(y * row_bytes..(y + 1) * row_bytes)?);
            found.extend(row.iter().take(self.image.size[0] * self.image.channels));
        }
        show::write(&self.image, &found, self.trained()?, self.shows_loss, directory).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::{assert_right, assert_right_everywhere, prepare};

    fn texture(size: usize, repeat: u32, steps: u32) -> NeuralTexture {
        NeuralTexture::new(Image::bricks(size), repeat, Plan { steps, batch: 64 }).expect("possible")
    }

    #[test]
    fn the_kernels_are_right_whatever_the_size() {
        assert_right(&texture(20, 1, 2));
        assert_right(&texture(9, 3, 2));
        let image = Image { size: [13, 5], channels: 3, values: Image::bricks(6).values[..195].to_vec() };
        assert_right(&NeuralTexture::new(image, 2, Plan { steps: 3, batch: 7 }).expect("possible"));
        assert_right_everywhere(&texture(8, 1, 1));
    }

    #[test]
    fn a_wrong_texel_is_found() {
        let mut texture = texture(16, 1, 2);
        let device = Device::new(Some(1)).expect("there is a CPU");
        let problem = prepare(&texture, &device);
        let model = texture.trained().expect("trained").model.rounded();
        let texels = (0..256).map(|texel| model.evaluate([texel % 16, texel / 16]).values);
        let mut values: Vec<f64> = texels.flat_map(|values| values[..bricks::CHANNELS].to_vec()).collect();
        let verdict = |problem: &Problem, values: &[f64]| {
            let texels = problem.result().expect("there is one");
            texels.write(0, &bytes_of(DType::F16, values.iter().copied())).expect("writable");
            (problem.check)(&problem.buffers).expect("readable")
        };
        assert!(verdict(&problem, &values).ok, "{:?}", verdict(&problem, &values));
        let right = values[700];
        values[700] += 0.1;
        assert!(!verdict(&problem, &values).ok, "{:?}", verdict(&problem, &values));
        values[700] = f64::NAN;
        assert!(!verdict(&problem, &values).ok);
        values[700] = right;
        texture.bar = Some(40.0);
        assert!(!verdict(&prepare(&texture, &device), &values).ok, "not after two steps");
    }

    #[test]
    fn the_compressed_texture_is_smaller_and_looks_alike() {
        let mut texture = texture(32, 1, 200);
        texture.bar = Some(20.0);
        assert_right(&texture);
        let trained = texture.trained().expect("trained");
        assert!(trained.model.bytes() < 32 * 32 * bricks::CHANNELS);
        let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
        let (first, last) = (mean(&trained.losses[..10]), mean(&trained.losses[190..]));
        assert!(last < 0.1 * first, "{first} {last}");
    }

    #[test]
    fn sizes_that_are_none_are_refused() {
        let refused = |repeat, steps, batch| {
            assert!(NeuralTexture::new(Image::bricks(8), repeat, Plan { steps, batch }).is_err());
        };
        refused(0, 1, 1);
        refused(1025, 1, 1);
        refused(1, 0, 1);
        refused(1, 1, 0);
    }
}

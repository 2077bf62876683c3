//! Decompression of a texture that is kept as features and a small network, on numbers that were trained here.
//!
//! [`original`] computes the texture, [`model`] says what its compressed form is and evaluates it in f64, which is the
//! reference, and [`train`] compresses it.

mod model;
mod original;
mod train;

use std::path::Path;

use anyhow::{Result, bail, ensure};

use self::model::{COARSE_STEP, Evaluated, FINE_STEP, Model, WIDTH, compressed_bytes};
use self::original::CHANNELS;
use self::train::Training;
use super::{CONVERSION_ROWS, Purpose, bytes_of, complete, values_of, words};
use crate::args::workload::NeuralTextureArgs;
use crate::data::DType;
use crate::measure::{Constant, Kernel, Peak, Problem, Subject, Watch, Workload, upload};
use crate::picture::{Picture, grey};
use crate::reference::{Comparison, tolerance};
use crate::runtime::{Buffer, Device};

/// One texture and the kernel that decompresses it.
#[derive(Debug)]
pub(crate) struct NeuralTexture {
    /// The edge of the texture in texels.
    size: usize,
    /// How often the result repeats it along each edge.
    repeat: usize,
    passes: u32,
    kernels: [Kernel; 1],
}

/// What the user asked for.
pub(crate) fn all(args: &NeuralTextureArgs, purpose: Purpose) -> Result<Vec<Box<dyn Workload>>> {
    let repeat = args.repeat.unwrap_or(purpose.choose(1, 8));
    Ok(vec![Box::new(NeuralTexture::new(args.size, repeat, args.passes)?)])
}

impl NeuralTexture {
    fn new(size: u32, repeat: u32, passes: u32) -> Result<Self> {
        let is_size = size.is_multiple_of(COARSE_STEP as u32) && (8..=2048).contains(&size);
        ensure!(is_size, "a texture has an edge of 8, 16, 24, … or 2048 texels, not {size}");
        ensure!(
            (1..=8192 / size).contains(&repeat),
            "{repeat} textures of {size} texels: the edge ends at 8192"
        );
        ensure!(passes <= 100_000, "{passes} passes take for ever");
        let edge = size * repeat;
        let grid = |step: usize| size / step as u32;
        let kernel = Kernel {
            name: "qcom".to_owned(),
            tile: format!("{CONVERSION_ROWS}x{WIDTH}x{WIDTH}"),
            source: complete(include_str!("../../../shaders/neural-texture/qcom.comp"), ""),
            definitions: Vec::new(),
            constants: vec![(0, Constant::U32(CONVERSION_ROWS)), (1, Constant::U32(CHANNELS as u32))],
            subgroup_size: CONVERSION_ROWS,
            groups: [(edge * edge).div_ceil(CONVERSION_ROWS), 1, 1],
            push_constants: words(&[edge, edge, size, grid(FINE_STEP), grid(COARSE_STEP)]),
        };
        Ok(Self { size: size as usize, repeat: repeat as usize, passes, kernels: [kernel] })
    }

    /// The edge of the result in texels.
    fn edge(&self) -> usize {
        self.size * self.repeat
    }

    /// Compresses the texture; nothing if that was interrupted.
    fn train(&self, watch: &Watch<'_>) -> Option<Model> {
        let texels = original::texels(self.size);
        let mut training = Training::new(self.size, &texels, self.passes);
        let mut pass = 0;
        while training.pass() {
            if watch.interrupt.is_set() {
                return None;
            }
            pass += 1;
            watch.bar.set_message(format!("neural-texture: training, pass {pass} of {}", self.passes));
        }
        Some(training.into_model().rounded())
    }
}

/// Compares texels in f16 with what the network gives in f64.
///
/// Each layer's sums are of f16, with eight roundings' error relative to its lengths: [`tolerance`]. The second layer
/// inherits the errors of the first, times its weights; [`Model::evaluate`] adds both up.
fn compare(expected: &[Evaluated], size: usize, edge: usize, texels: &Buffer) -> Result<Comparison> {
    let tolerance = tolerance(DType::F16);
    let mut max_rel_error = 0.0_f64;
    let row_bytes = edge * CHANNELS * DType::F16.size_bytes();
    for y in 0..edge {
        let row = values_of(DType::F16, &texels.read(y * row_bytes..(y + 1) * row_bytes)?);
        let wanted = expected.chunks_exact(size).nth(y % size).unwrap_or(&[]);
        ensure!(row.len() == edge * CHANNELS && wanted.len() == size, "the result is too short");
        for (found, wanted) in row.chunks_exact(CHANNELS).zip(wanted.iter().cycle()) {
            for ((found, value), scale) in found.iter().zip(&wanted.values).zip(&wanted.scales) {
                let error = (found - value).abs();
                // A scale of zero means that nothing was added up: then any error is too large.
                let relative = if error == 0.0 { 0.0 } else { error / scale };
                // NaN, where a number was expected, is the largest error of all.
                max_rel_error = max_rel_error.max(if relative.is_nan() { f64::INFINITY } else { relative });
            }
        }
    }
    Ok(Comparison { max_rel_error, tolerance, ok: max_rel_error <= tolerance })
}

impl Workload for NeuralTexture {
    fn subject(&self) -> Subject {
        let texels = (self.edge() * self.edge()) as u32;
        Subject {
            workload: "neural-texture",
            problem: format!("{0}x{0} texels of {CHANNELS} channels", self.edge()),
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

    fn buffer_bytes(&self) -> u64 {
        // The grids and the network are small.
        (self.edge() * self.edge() * CHANNELS * DType::F16.size_bytes()) as u64
    }

    fn prepare(&self, device: &Device, watch: &Watch<'_>) -> Result<Option<Problem>> {
        let Some(model) = self.train(watch) else { return Ok(None) };
        let (size, edge) = (self.size, self.edge());
        let expected: Vec<Evaluated> =
            (0..size * size).map(|texel| model.evaluate([texel % size, texel / size])).collect();
        let bytes = |numbers: &[f32]| bytes_of(DType::F16, numbers.iter().copied().map(f64::from));
        let mut buffers = Vec::with_capacity(4);
        for numbers in [&model.fine, &model.coarse, &model.network] {
            buffers.push(upload(device, bytes(numbers))?);
        }
        buffers.push(device.create_buffer(edge * edge * CHANNELS * DType::F16.size_bytes())?);
        let check = move |buffers: &[Buffer]| match buffers {
            [.., texels] => compare(&expected, size, edge, texels),
            [] => bail!("a texture has a buffer for its texels"),
        };
        Ok(Some(Problem { buffers, check: Box::new(check) }))
    }

    /// The original above, what came back below: colour, normal and roughness.
    fn draw(&self, problem: &Problem, directory: &Path) -> Result<Option<String>> {
        const GAP: usize = 8;
        let (size, edge) = (self.size, self.edge());
        // Small textures are shown larger.
        let zoom = (256 / size).max(1);
        let step = size * zoom + GAP;
        let mut picture = Picture::new(3 * step - GAP, 2 * step - GAP);
        let mut show = |part: usize, texel: usize, values: &[f64]| {
            let &[red, green, blue, x, y, roughness] = values else { return };
            let colour = |values: [f64; 3]| values.map(|value| grey(value)[0]);
            let (nx, ny) = (2.0 * x - 1.0, 2.0 * y - 1.0);
            let z = (1.0 - nx * nx - ny * ny).max(0.0).sqrt();
            let views = [colour([red, green, blue]), colour([x, y, 0.5 + 0.5 * z]), grey(roughness)];
            for (view, pixel) in views.into_iter().enumerate() {
                picture.set_square([view * step, part * step], [texel % size, texel / size], zoom, pixel);
            }
        };
        let original = original::texels(size);
        original.iter().enumerate().for_each(|(texel, values)| show(0, texel, values));
        let texel_bytes = CHANNELS * DType::F16.size_bytes();
        let mut squares = 0.0;
        for y in 0..size {
            let start = y * edge * texel_bytes;
            let row = values_of(DType::F16, &problem.result()?.read(start..start + size * texel_bytes)?);
            row.chunks_exact(CHANNELS).enumerate().for_each(|(x, values)| show(1, y * size + x, values));
            let wanted = original.iter().skip(y * size).flatten();
            squares += row.iter().zip(wanted).map(|(found, wanted)| (found - wanted).powi(2)).sum::<f64>();
        }
        let path = directory.join("neural-texture.png");
        picture.write(&path)?;
        let count = size * size * CHANNELS;
        Ok(Some(format!(
            "The original and, below it, the result are in {}: {:.1} dB at {:.1} bits for each texel of {CHANNELS} bytes.",
            path.display(),
            -10.0 * (squares / count as f64).log10(),
            (8 * compressed_bytes(size)) as f64 / (size * size) as f64,
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::{assert_right, assert_right_everywhere, prepare};

    #[test]
    fn the_kernel_is_right_whatever_the_size() {
        for (size, repeat) in [(24, 1), (8, 3)] {
            assert_right(&NeuralTexture::new(size, repeat, 2).expect("possible"));
        }
        assert_right_everywhere(&NeuralTexture::new(8, 1, 2).expect("possible"));
    }

    #[test]
    fn a_wrong_texel_is_found() {
        let texture = NeuralTexture::new(16, 1, 2).expect("possible");
        let device = Device::new(Some(1)).expect("there is a CPU");
        let problem = prepare(&texture, &device);
        let model = texture.train(&Watch {
            bar: &indicatif::ProgressBar::hidden(),
            interrupt: &crate::progress::Interrupt::never(),
        });
        let model = model.expect("not interrupted");
        let mut values: Vec<f64> = (0..256)
            .flat_map(|texel| model.evaluate([texel % 16, texel / 16]).values[..CHANNELS].to_vec())
            .collect();
        let verdict = |values: &[f64]| {
            let texels = problem.result().expect("there is one");
            texels.write(0, &bytes_of(DType::F16, values.iter().copied())).expect("writable");
            (problem.check)(&problem.buffers).expect("readable")
        };
        assert!(verdict(&values).ok, "{:?}", verdict(&values));
        values[700] += 0.1;
        assert!(!verdict(&values).ok, "{:?}", verdict(&values));
        values[700] = f64::NAN;
        assert!(!verdict(&values).ok);
    }

    #[test]
    fn the_compressed_texture_is_smaller_and_looks_alike() {
        let texture = NeuralTexture::new(32, 1, 40).expect("possible");
        let watch =
            Watch { bar: &indicatif::ProgressBar::hidden(), interrupt: &crate::progress::Interrupt::never() };
        let model = texture.train(&watch).expect("not interrupted");
        assert!(compressed_bytes(32) < 32 * 32 * CHANNELS);
        let originals = original::texels(32);
        let squares = originals.iter().enumerate().flat_map(|(texel, wanted)| {
            let found = model.evaluate([texel % 32, texel / 32]).values;
            wanted.iter().zip(found).map(|(wanted, found)| (wanted - found).powi(2)).collect::<Vec<_>>()
        });
        let mean = squares.sum::<f64>() / (originals.len() * CHANNELS) as f64;
        assert!(-10.0 * mean.log10() > 20.0, "{} dB", -10.0 * mean.log10());
    }

    #[test]
    fn sizes_without_grids_are_refused() {
        for (size, repeat) in [(12, 1), (0, 1), (4096, 1), (8, 0), (1024, 9)] {
            assert!(NeuralTexture::new(size, repeat, 1).is_err(), "{size} {repeat}");
        }
    }
}

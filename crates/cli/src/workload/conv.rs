//! Convolution of images: NHWC, with padding, stride and dilation.
//!
//! The first channel of an image is a pattern of rings and stripes, the others are that pattern shifted and stretched, with
//! noise. The first channels of the result are blurs and edges of the first channel, which a picture shows; the weights of
//! all others are random.
//!
//! The reference gathers the matrix that the kernels never make (im2col), a row for each pixel of the result, and multiplies
//! it with the weights in f64.

pub(crate) mod rotate;
mod shape;

use std::path::Path;

use anyhow::{Result, bail};

use self::shape::{Shape, sizes};
use super::{CONVERSION_ROWS, Purpose, SUBGROUP_SIZE, bytes_of, complete, kernels_of, values_of, words};
use crate::args::workload::{ConvArgs, Form, Scope};
use crate::data::{Array, DType};
use crate::measure::{Constant, Kernel, Peak, Problem, Subject, Watch, Workload, upload};
use crate::picture::{Picture, grey};
use crate::progress::Interrupt;
use crate::reference::{Operands, Reference};
use crate::runtime::{Buffer, Device};

/// How many channels a work-group may compute in the form `matrix2`, and the step along the channels of the input.
const TILES: [[u32; 2]; 3] = [[128, 64], [256, 64], [256, 128]];

/// About how many pixels it computes.
const TILE_PIXELS: u32 = 256;

/// How many channels a subgroup computes by conversions.
const CONVERSION_TILE_N: u32 = 128;

/// The matrices of the conversions are so wide; behind the last weight one is read so far.
const DEPTH: usize = 16;

/// Channels of the result with a meaning: a blur, horizontal and vertical edges, and all edges.
const PICTURED: usize = 4;

/// One convolution and its kernels.
#[derive(Debug)]
pub(crate) struct Conv {
    shape: Shape,
    kernels: Vec<Kernel>,
}

/// What the user asked for.
pub(crate) fn all(args: &ConvArgs, purpose: Purpose) -> Result<Vec<Box<dyn Workload>>> {
    let default_image = purpose.choose("60x60x64", "56x56x256");
    let [height, width, channels] = sizes(args.image.as_deref().unwrap_or(default_image), "HxWxC")?;
    let shape = Shape {
        images: args.images,
        height,
        width,
        channels,
        out_channels: args.out_channels.unwrap_or(purpose.choose(64, 256)),
        filter: sizes(&args.filter, "HxW")?,
        stride: args.stride,
        dilation: args.dilation,
        pad: args.pad,
    };
    Ok(vec![Box::new(Conv::new(shape, &args.kernels, args.scope, purpose.on(args.output.device))?)])
}

impl Conv {
    fn new(shape: Shape, forms: &[Form], scope: Scope, purpose: Purpose) -> Result<Self> {
        shape.check()?;
        let kernels =
            kernels_of(forms, purpose.tiles(&TILES), |form, tile| kernel(&shape, form, scope, tile));
        Ok(Self { shape, kernels })
    }

    /// The images' elements, with the gaps between them.
    fn images(&self) -> Result<Vec<f64>> {
        let Shape { images, height, width, channels, .. } = self.shape;
        let mut values = vec![0.0; images as usize * self.shape.image_elements()];
        let noise = Array::random(DType::F32, vec![values.len()], 1)?;
        let mut noise = noise.values();
        for (image, values) in values.chunks_exact_mut(self.shape.image_elements()).enumerate() {
            let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (y, x)));
            for ((y, x), pixel) in pixels.zip(values.chunks_exact_mut(channels as usize)) {
                for (channel, value) in pixel.iter_mut().enumerate() {
                    let at = [y, x].map(|at| f64::from(at) / f64::from(height.max(width)));
                    let noise = if channel == 0 { 0.0 } else { 0.3 * noise.next().unwrap_or(0.0) };
                    *value = pattern(at, image + channel) + noise;
                }
            }
        }
        Ok(values)
    }

    /// The weights: a row for each channel of the result.
    fn weights(&self) -> Result<Vec<f64>> {
        let (rows, depth) = (self.shape.out_channels as usize, self.shape.depth() as usize);
        let mut values: Vec<f64> = Array::random(DType::F32, vec![rows, depth], 2)?.values().collect();
        let [taps_y, taps_x] = self.shape.filter.map(f64::from);
        let channels = self.shape.channels as usize;
        for (row, weights) in values.chunks_exact_mut(depth).enumerate().take(PICTURED) {
            for (tap, weights) in weights.chunks_exact_mut(channels).enumerate() {
                let (y, x) = (tap / self.shape.filter[1] as usize, tap % self.shape.filter[1] as usize);
                let (y, x) = (y as f64 - (taps_y - 1.0) / 2.0, x as f64 - (taps_x - 1.0) / 2.0);
                weights.fill(0.0);
                if let Some(first) = weights.first_mut() {
                    *first = match row {
                        0 => 1.0 / (taps_y * taps_x),
                        1 => y,
                        2 => x,
                        _ if y == 0.0 && x == 0.0 => taps_y * taps_x - 1.0,
                        _ => -1.0,
                    };
                }
            }
        }
        Ok(values)
    }

    /// The elements of the weights in memory: conversions take whole tiles, and read one step beyond the last.
    fn padded_weights(&self) -> usize {
        let rows = self.shape.out_channels.next_multiple_of(CONVERSION_TILE_N) as usize;
        rows * self.shape.depth() as usize + DEPTH
    }

    /// The matrix of all pixels that the result's pixels depend on, and its product with the weights.
    fn reference(&self, images: &[u8], weights: &[u8], interrupt: &Interrupt) -> Option<Reference> {
        let (m, n, k) = (
            self.shape.images as usize * self.shape.pixels() as usize,
            self.shape.out_channels as usize,
            self.shape.depth() as usize,
        );
        let array = |shape, bytes| Array { dtype: DType::F16, shape, bytes };
        let a = array(vec![m, k], self.gather(images));
        let b = array(vec![n, k], weights.to_vec());
        let c = Array { dtype: DType::F32, shape: vec![m, n], bytes: vec![0; 4 * m * n] };
        Reference::new(&Operands { m, n, k, a: &a, b: &b, c: &c, is_b_column_major: true }, interrupt)
    }

    /// im2col: for each pixel of the result, tap by tap, the bytes of the pixel of the image, or zeros.
    fn gather(&self, images: &[u8]) -> Vec<u8> {
        let Shape { height, width, channels, filter, stride, dilation, pad, .. } = self.shape;
        let (pixel_bytes, image_bytes) = (2 * channels as usize, 2 * self.shape.image_elements());
        let [out_height, out_width] = self.shape.out();
        let mut rows = Vec::new();
        let inside = |out: u32, tap: u32, size: u32| {
            (stride * out + dilation * tap).checked_sub(pad).filter(|&at| at < size).map(|at| at as usize)
        };
        for image in images.chunks_exact(image_bytes) {
            for (out_y, out_x) in (0..out_height).flat_map(|y| (0..out_width).map(move |x| (y, x))) {
                for (tap_y, tap_x) in (0..filter[0]).flat_map(|y| (0..filter[1]).map(move |x| (y, x))) {
                    let (y, x) = (inside(out_y, tap_y, height), inside(out_x, tap_x, width));
                    match y.zip(x) {
                        Some((y, x)) => rows.extend_from_slice(
                            &image[(y * width as usize + x) * pixel_bytes..][..pixel_bytes],
                        ),
                        None => rows.resize(rows.len() + pixel_bytes, 0),
                    }
                }
            }
        }
        rows
    }
}

/// Rings around a point and stripes, each channel's its own, from -1 to 1.
fn pattern([y, x]: [f64; 2], channel: usize) -> f64 {
    let turn = channel as f64 * 0.7;
    let (dy, dx) = (y - 0.35 - 0.2 * turn.sin(), x - 0.4 - 0.2 * turn.cos());
    let rings = (40.0 * (dy * dy + dx * dx) * (1.0 + 0.1 * turn)).sin();
    let stripes = (12.0 * (x * turn.cos() + y * (turn.sin() + 0.5))).sin();
    if dy * dy + dx * dx < 0.08 { rings } else { 0.5 * stripes.signum() }
}

fn kernel(shape: &Shape, form: Form, scope: Scope, [tile_n, tile_k]: [u32; 2]) -> Kernel {
    let common = include_str!("../../shaders/conv/common.glsl");
    let [out_height, out_width] = shape.out();
    let n = shape.out_channels;
    let [filter_height, filter_width] = shape.filter;
    let mut constants = vec![0, filter_height, filter_width, shape.stride, shape.dilation, shape.pad];
    let (name, source, tile, groups, subgroup_size, definitions) = match form {
        Form::Matrix2 => {
            let [tile_height, tile_width] = pixel_tile(out_height, out_width);
            let tile_n = tile_n.min(n.next_multiple_of(16));
            let tile_k = tile_k.min(shape.channels.next_multiple_of(16));
            constants[0] = scope.invocations();
            constants.extend([tile_height, tile_width, tile_n, tile_k]);
            let tiles = out_height.div_ceil(tile_height) * out_width.div_ceil(tile_width);
            (
                "matrix2",
                include_str!("../../shaders/conv/matrix2.comp"),
                format!("{}x{tile_n}x{tile_k}", tile_height * tile_width),
                [n.div_ceil(tile_n), tiles, shape.images],
                SUBGROUP_SIZE,
                scope.definitions(),
            )
        }
        Form::Qcom => {
            constants[0] = CONVERSION_ROWS;
            constants.push(CONVERSION_TILE_N);
            (
                "qcom",
                include_str!("../../shaders/conv/qcom.comp"),
                format!("{CONVERSION_ROWS}x{CONVERSION_TILE_N}x{DEPTH}"),
                [n.div_ceil(CONVERSION_TILE_N), shape.pixels().div_ceil(CONVERSION_ROWS), shape.images],
                CONVERSION_ROWS,
                Vec::new(),
            )
        }
    };
    Kernel {
        name: name.to_owned(),
        tile,
        source: complete(source, common),
        definitions,
        constants: (0..).zip(constants.into_iter().map(Constant::U32)).collect(),
        subgroup_size,
        groups,
        push_constants: words(&[
            shape.height,
            shape.width,
            shape.channels,
            out_height,
            out_width,
            n,
            shape.image_elements() as u32,
        ]),
        then: None,
    }
}

/// Whole rows where they are not too long, so that little of a tile lies outside of the image. The number of pixels
/// is a multiple of 16, which matrices of a GPU want.
fn pixel_tile(height: u32, width: u32) -> [u32; 2] {
    let tile_width = if width.is_multiple_of(4) && width <= 64 { width } else { 16 };
    let rows = TILE_PIXELS / tile_width / 4 * 4;
    [rows.max(4).min(height.next_multiple_of(4)), tile_width]
}

impl Workload for Conv {
    fn subject(&self) -> Subject {
        let Shape { images, height, width, channels, out_channels, filter, stride, dilation, pad } =
            self.shape;
        let [m, k] = [images * self.shape.pixels(), self.shape.depth()];
        let several = if images == 1 { String::new() } else { format!("{images} x ") };
        let mut problem = format!(
            "{several}{height}x{width}x{channels}, {out_channels} filters {}x{}",
            filter[0], filter[1]
        );
        for (name, value, usual) in
            [("stride", stride, 1), ("dilation", dilation, 1), ("pad", pad, filter[0] / 2)]
        {
            if value != usual {
                problem += &format!(", {name} {value}");
            }
        }
        Subject {
            workload: "conv",
            problem,
            a: DType::F16,
            c: DType::F32,
            size: [m, out_channels, k],
            // Those with the zeros around the image, too.
            operations: 2.0 * f64::from(m) * f64::from(out_channels) * f64::from(k),
            peak: Peak::F32Fma,
        }
    }

    fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    fn buffer_bytes(&self) -> u64 {
        let images = self.shape.images as usize * self.shape.image_elements();
        (2 * (images + self.padded_weights()) + 4 * self.shape.result_elements()) as u64
    }

    fn prepare(&self, device: &Device, watch: &Watch<'_>) -> Result<Option<Problem>> {
        let images = bytes_of(DType::F16, self.images()?);
        let mut weights = bytes_of(DType::F16, self.weights()?);
        let Some(reference) = self.reference(&images, &weights, watch.interrupt) else { return Ok(None) };
        weights.resize(2 * self.padded_weights(), 0);
        let result = device.create_buffer(4 * self.shape.result_elements())?;
        let buffers = vec![upload(device, images)?, upload(device, weights)?, result];
        let check = move |buffers: &[Buffer]| match buffers {
            [_, _, y] => reference.compare(|range| Ok(vec![0; range.len()]), |range| y.read(range)),
            _ => bail!("a convolution has three buffers"),
        };
        Ok(Some(Problem::new(buffers, check)))
    }

    /// The first channel of the first image, and beside it what the first filters made of it.
    fn draw(&self, problem: &Problem, directory: &Path) -> Result<Option<String>> {
        const GAP: usize = 8;
        let [out_height, out_width] = self.shape.out().map(|size| size as usize);
        let [height, width] = [self.shape.height as usize, self.shape.width as usize];
        let out_channels = self.shape.out_channels as usize;
        let shown = PICTURED.min(out_channels);
        // Small images are shown larger.
        let zoom = (256 / height.max(width)).max(1);
        let step = zoom * width.max(out_width) + GAP;
        let mut picture = Picture::new((shown + 1) * step - GAP, zoom * height.max(out_height));
        let images = self.images()?;
        let first = images.iter().step_by(self.shape.channels as usize).take(height * width);
        for (pixel, value) in first.enumerate() {
            picture.set_square([0, 0], [pixel % width, pixel / width], zoom, grey(0.5 + 0.5 * value));
        }
        let bytes = problem.result()?.read(0..4 * out_height * out_width * out_channels)?;
        let values = values_of(DType::F32, &bytes);
        for channel in 0..shown {
            let values: Vec<f64> = values.iter().skip(channel).step_by(out_channels).copied().collect();
            let largest = values.iter().fold(1e-9_f64, |largest, value| largest.max(value.abs()));
            for (pixel, value) in values.iter().enumerate() {
                let at = [pixel % out_width, pixel / out_width];
                picture.set_square([(channel + 1) * step, 0], at, zoom, grey(0.5 + 0.5 * value / largest));
            }
        }
        let path = directory.join("conv.png");
        picture.write(&path)?;
        Ok(Some(format!("The image and what the filters made of it are in {}.", path.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::{assert_right, assert_right_everywhere};

    const SMALL: Shape = Shape {
        images: 1,
        height: 10,
        width: 12,
        channels: 16,
        out_channels: 20,
        filter: [3, 3],
        stride: 1,
        dilation: 1,
        pad: 1,
    };

    const TINY: Shape = Shape { height: 4, width: 4, channels: 3, out_channels: 2, stride: 2, ..SMALL };

    /// Shapes that no tile divides, each with something odd.
    fn odd_shapes() -> [Shape; 6] {
        [
            SMALL,
            Shape { images: 2, height: 9, width: 7, channels: 5, out_channels: 3, ..SMALL },
            Shape { stride: 2, pad: 2, height: 11, ..SMALL },
            Shape { stride: 3, dilation: 2, pad: 4, filter: [3, 2], width: 13, ..SMALL },
            Shape { filter: [1, 1], pad: 0, channels: 70, out_channels: 130, ..SMALL },
            Shape { filter: [5, 4], pad: 0, images: 3, ..SMALL },
        ]
    }

    #[test]
    fn matrix2_is_right_whatever_the_shape() {
        for shape in odd_shapes() {
            assert_right(
                &Conv::new(shape, &[Form::Matrix2], Scope::Subgroup, Purpose::Demo).expect("possible"),
            );
        }
        assert_right(
            &Conv::new(odd_shapes()[3], &[Form::Matrix2], Scope::Workgroup, Purpose::Demo).expect("possible"),
        );
        assert_right_everywhere(
            &Conv::new(TINY, &[Form::Matrix2], Scope::Workgroup, Purpose::Demo).expect("possible"),
        );
    }

    #[test]
    fn conversions_are_right_whatever_the_shape() {
        // What is left out differs in nothing that a vector of one pixel notices.
        for shape in odd_shapes().into_iter().skip(1).take(3) {
            assert_right(&Conv::new(shape, &[Form::Qcom], Scope::Subgroup, Purpose::Demo).expect("possible"));
        }
        assert_right_everywhere(
            &Conv::new(TINY, &[Form::Qcom], Scope::Subgroup, Purpose::Demo).expect("possible"),
        );
    }

    /// The definition, element by element.
    fn naive(conv: &Conv, images: &[f64], weights: &[f64]) -> Vec<f64> {
        let Shape { images: count, height, width, channels, out_channels, filter, stride, dilation, pad } =
            conv.shape;
        let [out_height, out_width] = conv.shape.out();
        let mut result = Vec::new();
        for image in 0..count as usize {
            for (oy, ox) in (0..out_height).flat_map(|y| (0..out_width).map(move |x| (y, x))) {
                for out_channel in 0..out_channels as usize {
                    let mut sum = 0.0;
                    for (fy, fx) in (0..filter[0]).flat_map(|y| (0..filter[1]).map(move |x| (y, x))) {
                        let y = i64::from(stride * oy + dilation * fy) - i64::from(pad);
                        let x = i64::from(stride * ox + dilation * fx) - i64::from(pad);
                        if !(0..i64::from(height)).contains(&y) || !(0..i64::from(width)).contains(&x) {
                            continue;
                        }
                        for channel in 0..channels as usize {
                            let pixel =
                                (y as usize * width as usize + x as usize) * channels as usize + channel;
                            let tap = (fy * filter[1] + fx) as usize * channels as usize + channel;
                            sum += images[image * conv.shape.image_elements() + pixel]
                                * weights[out_channel * conv.shape.depth() as usize + tap];
                        }
                    }
                    result.push(sum);
                }
            }
        }
        result
    }

    #[test]
    fn gathering_and_multiplying_is_convolution() {
        for shape in odd_shapes() {
            let conv = Conv::new(shape, &[], Scope::Subgroup, Purpose::Demo).expect("possible");
            let images = bytes_of(DType::F16, conv.images().expect("small"));
            let weights = bytes_of(DType::F16, conv.weights().expect("small"));
            let expected = naive(&conv, &values_of(DType::F16, &images), &values_of(DType::F16, &weights));
            let reference =
                conv.reference(&images, &weights, &Interrupt::never()).expect("nobody interrupts");
            let verdict = |values: &[f64]| {
                let bytes = bytes_of(DType::F32, values.iter().copied());
                let zeros = |range: std::ops::Range<usize>| Ok::<_, ()>(vec![0; range.len()]);
                reference.compare(zeros, |range| Ok(bytes[range].to_vec())).expect("long enough")
            };
            assert!(verdict(&expected).ok, "{shape:?}");
            // A result that is shifted by a pixel is another one.
            let mut shifted = expected.clone();
            shifted.rotate_left(shape.out_channels as usize);
            assert!(!verdict(&shifted).ok, "{shape:?}");
        }
    }

    #[test]
    fn impossible_shapes_are_refused() {
        let refuse = |shape: Shape, expected: &str| {
            let error =
                Conv::new(shape, &[], Scope::Subgroup, Purpose::Demo).expect_err("impossible").to_string();
            assert!(error.contains(expected), "{error}");
        };
        refuse(Shape { filter: [11, 3], pad: 0, ..SMALL }, "11 pixels high, and the image");
        refuse(Shape { stride: 0, ..SMALL }, "from 1 to 4096");
        assert!(sizes::<2>("3x3x3", "HxW").is_err() && sizes::<2>("3xa", "HxW").is_err());
    }
}

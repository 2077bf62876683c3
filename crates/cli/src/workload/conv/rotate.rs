//! The convolution of the RFC that proposed `gpu.subgroup_mma_rotate`: kernels in MLIR whose tiles of the image overlap.
//! One loads them all, the other loads those that do not overlap and rotates the others out of them.
//!
//! The image has a border of zeros in memory, and the result its columns: the kernels take all pixels for one list. What
//! they compute for the border means nothing and is not compared.

use anyhow::{Result, bail, ensure};

use super::shape::{Shape, sizes};
use super::{Conv, Purpose, SUBGROUP_SIZE, bytes_of};
use crate::args::workload::{ConvRotateArgs, RotateForm, Scope};
use crate::data::DType;
use crate::measure::{Kernel, Peak, Problem, Source, Subject, Watch, Workload, upload, with_aliases};
use crate::runtime::{Buffer, Device};

/// The pixels and the channels of the result that a work-group computes, and the step along the channels of the image.
const TILE_PIXELS: u32 = 64;
const TILE_N: u32 = 64;
const TILE_K: u32 = 32;

/// One convolution with taps of 3x3, and its kernels.
#[derive(Debug)]
pub(crate) struct ConvRotate {
    conv: Conv,
    kernels: Vec<Kernel>,
}

/// What the user asked for.
pub(crate) fn all(args: &ConvRotateArgs, purpose: Purpose) -> Result<Vec<Box<dyn Workload>>> {
    let image = args.image.as_deref().unwrap_or(purpose.choose("28x28x64", "56x56x64"));
    let workload = ConvRotate::new(sizes(image, "HxWxC")?, args.out_channels, &args.kernels)?;
    Ok(vec![Box::new(workload)])
}

impl ConvRotate {
    fn new([height, width, channels]: [u32; 3], out_channels: u32, forms: &[RotateForm]) -> Result<Self> {
        for (what, count, step) in
            [("channels", channels, TILE_K), ("channels of the result", out_channels, TILE_N)]
        {
            ensure!(count.is_multiple_of(step), "{count} {what} are no multiple of {step}");
        }
        let shape = Shape {
            images: 1,
            height,
            width,
            channels,
            out_channels,
            filter: [3, 3],
            stride: 1,
            dilation: 1,
            pad: 1,
        };
        let conv = Conv::new(shape, &[], Scope::Subgroup, Purpose::Demo)?;
        let kernels = forms.iter().map(|&form| kernel(&shape, form)).collect();
        Ok(Self { conv, kernels })
    }

    /// The bytes of the image with its border, and of the weights with a row for each channel of each tap.
    fn operands(&self, image: &[u8], weights: &[u8]) -> [Vec<u8>; 2] {
        let Shape { height, width, channels, out_channels, .. } = self.conv.shape;
        let row_bytes = 2 * (width * channels) as usize;
        let padded_bytes = 2 * (padded_width(&self.conv.shape) * channels) as usize;
        let mut padded = vec![0; (height as usize + 2) * padded_bytes];
        let rows = padded.chunks_exact_mut(padded_bytes).skip(1).zip(image.chunks_exact(row_bytes));
        for (padded, row) in rows {
            padded[2 * channels as usize..][..row_bytes].copy_from_slice(row);
        }
        let (rows, depth) = (out_channels as usize, self.conv.shape.depth() as usize);
        let element = |row: usize, at: usize| &weights[2 * (row * depth + at)..][..2];
        let turned = (0..depth).flat_map(|at| (0..rows).map(move |row| (row, at)));
        [padded, turned.flat_map(|(row, at)| element(row, at)).copied().collect()]
    }

    /// Bytes of the result with the columns of the border, and with what the last work-group computes beyond.
    fn result_bytes(&self) -> usize {
        4 * (groups(&self.conv.shape) * TILE_PIXELS * self.conv.shape.out_channels) as usize
    }
}

/// The width with the border.
fn padded_width(shape: &Shape) -> u32 {
    shape.width + 2
}

/// Work-groups along the pixels.
fn groups(shape: &Shape) -> u32 {
    (shape.height * padded_width(shape)).div_ceil(TILE_PIXELS)
}

fn kernel(shape: &Shape, form: RotateForm) -> Kernel {
    let (name, entry) = match form {
        RotateForm::Loads => ("loads", "conv::loads"),
        RotateForm::Rotations => ("rotations", "conv::rotations"),
    };
    Kernel {
        name: name.to_owned(),
        tile: format!("{TILE_PIXELS}x{TILE_N}x{TILE_K}"),
        source: Source::Mlir { text: with_aliases(SOURCE, &aliases(shape)), entry },
        definitions: Vec::new(),
        constants: Vec::new(),
        subgroup_size: SUBGROUP_SIZE,
        groups: [groups(shape), shape.out_channels / TILE_N, 1],
        push_constants: Vec::new(),
        then: None,
    }
}

const SOURCE: &str = include_str!("../../../shaders/conv/rotate.mlir");

/// The aliases of the module that are the sizes.
fn aliases(shape: &Shape) -> [(&'static str, String); 6] {
    let Shape { height, channels, out_channels, .. } = *shape;
    let (width, depth) = (padded_width(shape), shape.depth());
    let (pixels, results) = ((height + 2) * width, groups(shape) * TILE_PIXELS);
    [
        ("#channels", format!("{channels} : index")),
        ("#filters", format!("{out_channels} : index")),
        ("#width", format!("{width} : index")),
        ("!image", format!("memref<{pixels}x{channels}xf16>")),
        ("!weights", format!("memref<{depth}x{out_channels}xf16>")),
        ("!result", format!("memref<{results}x{out_channels}xf32>")),
    ]
}

impl Workload for ConvRotate {
    fn subject(&self) -> Subject {
        Subject { workload: "conv-rotate", peak: Peak::F32Fma, ..self.conv.subject() }
    }

    fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    fn counted(&self) -> &[&'static str] {
        &["image", "weights"]
    }

    fn buffer_bytes(&self) -> u64 {
        let Shape { height, channels, out_channels, .. } = self.conv.shape;
        let image = (height + 2) as usize * (padded_width(&self.conv.shape) * channels) as usize;
        let weights = (self.conv.shape.depth() * out_channels) as usize;
        (2 * (image + weights) + self.result_bytes()) as u64
    }

    fn prepare(&self, device: &Device, watch: &Watch<'_>) -> Result<Option<Problem>> {
        let image = bytes_of(DType::F16, self.conv.images()?);
        let weights = bytes_of(DType::F16, self.conv.weights()?);
        let Some(reference) = self.conv.reference(&image, &weights, watch.interrupt) else {
            return Ok(None);
        };
        let [image, weights] = self.operands(&image, &weights);
        let result = device.create_buffer(self.result_bytes())?;
        let buffers = vec![upload(device, image)?, upload(device, weights)?, result];
        let shape = self.conv.shape;
        let check = move |buffers: &[Buffer]| match buffers {
            [_, _, y] => {
                let pixel_bytes = 4 * shape.out_channels as usize;
                reference.compare(
                    |range| Ok(vec![0; range.len()]),
                    |range| {
                        // A row is a pixel; behind each line of them are those of the border.
                        let border = 2 * (range.start / pixel_bytes / shape.width as usize) * pixel_bytes;
                        y.read(range.start + border..range.end + border)
                    },
                )
            }
            _ => bail!("a convolution has three buffers"),
        };
        Ok(Some(Problem::new(buffers, check)))
    }
}

#[cfg(test)]
mod tests {
    use indicatif::ProgressBar;

    use super::*;
    use crate::measure::count;
    use crate::measure::tests::assert_right;
    use crate::progress::Interrupt;

    const BOTH: [RotateForm; 2] = [RotateForm::Loads, RotateForm::Rotations];

    #[test]
    fn both_kernels_are_right_whatever_the_shape() {
        for (image, out_channels) in [([7, 9, 32], 64), ([3, 40, 96], 128), ([1, 1, 32], 64)] {
            assert_right(&ConvRotate::new(image, out_channels, &BOTH).expect("possible"));
        }
    }

    #[test]
    fn the_file_is_the_kernel_of_the_documented_shape() {
        let aliases = |image| aliases(&ConvRotate::new(image, 64, &[]).expect("possible").conv.shape);
        assert_eq!(with_aliases(SOURCE, &aliases([56, 56, 64])), SOURCE);
        let other = aliases([20, 30, 32]);
        let text = with_aliases(SOURCE, &other);
        assert!(other.iter().all(|(name, size)| text.contains(&format!("\n{name} = {size}\n"))), "{text}");
    }

    /// Twelve tiles of a work-group and three taps become five, but for the pixels behind the last one.
    #[test]
    fn the_interpreter_counts_every_element_that_is_read() {
        let (height, width, channels) = (4_u64, 30, 32);
        let workload = ConvRotate::new([4, 30, 32], 64, &BOTH).expect("possible");
        let (bar, interrupt) = (ProgressBar::hidden(), Interrupt::never());
        let watch = Watch { bar: &bar, interrupt: &interrupt };
        let counts = count(&workload, &watch).expect("possible").expect("nobody interrupts");
        let pixels = (height + 2) * (width + 2);
        let rows = |starts: &[u64]| -> u64 {
            let tile = |at: u64| pixels.saturating_sub(at).min(16);
            let firsts = (0..2).flat_map(|group| (0..3).map(move |tap| group * 64 + tap * (width + 2)));
            firsts.map(|first| starts.iter().map(|start| tile(first + start)).sum::<u64>()).sum()
        };
        let every: Vec<u64> = (0..3).flat_map(|tap| (0..4).map(move |tile| 16 * tile + tap)).collect();
        let disjoint = [0, 16, 32, 48, 64];
        let weights = 2 * 9 * channels * 64;
        for (count, image) in counts.iter().zip([channels * rows(&every), channels * rows(&disjoint)]) {
            assert!(count.ok);
            assert_eq!((count.read["image"], count.read["weights"]), (image, weights));
        }
        assert!(counts[1].read["image"] * 12 < counts[0].read["image"] * 6);
    }

    #[test]
    fn shapes_that_no_tile_divides_are_refused() {
        let refuse = |image, out_channels, expected: &str| {
            let error = ConvRotate::new(image, out_channels, &BOTH).expect_err("impossible").to_string();
            assert!(error.contains(expected), "{error}");
        };
        refuse([8, 8, 48], 64, "48 channels are no multiple of 32");
        refuse([8, 8, 32], 32, "32 channels of the result are no multiple of 64");
        refuse([0, 8, 32], 64, "from 1 to 4096");
    }
}

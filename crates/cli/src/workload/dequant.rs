//! The product of quantised weights, D = W·X, as inference engines compute it.
//!
//! Random weights are quantised in blocks of 32 along K: in `q4_0` the element of the largest magnitude becomes -8
//! of 16 steps, in `q8_0` ±127. What the blocks hold, each weight times its scale rounded to f16, is what the kernels
//! multiply; the reference reads it from the blocks on its own and multiplies in f64. How far quantising moved the weights
//! themselves is not the kernels' doing.

use anyhow::{Result, bail, ensure};

use super::{CONVERSION_ROWS, Purpose, SUBGROUP_SIZE, complete, kernels_of, values_of, words};
use crate::args::workload::{DequantArgs, DequantForm, Quantisation, Scope};
use crate::data::{Array, DType};
use crate::ladder::plan::Mnk;
use crate::measure::{Constant, Kernel, Peak, Problem, Subject, Watch, Workload, upload};
use crate::reference::{Operands, Reference};
use crate::runtime::{Buffer, Device};

/// Weights of a block.
pub(super) const BLOCK: usize = 32;

/// What a work-group may compute with a decode function, and its step along K.
const DECODE_TILES: [Mnk; 3] =
    [Mnk { m: 128, n: 256, k: 64 }, Mnk { m: 256, n: 256, k: 64 }, Mnk { m: 256, n: 256, k: 128 }];

/// How many columns a subgroup computes by conversions.
const CONVERSION_TILE_N: u32 = 128;

impl Quantisation {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Q4 => "q4_0",
            Self::Q8 => "q8_0",
        }
    }

    pub(super) fn block_bytes(self) -> usize {
        match self {
            Self::Q4 => 2 + BLOCK / 2,
            Self::Q8 => 2 + BLOCK,
        }
    }

    /// The bytes of a block that comes near these weights.
    pub(super) fn encode(self, weights: &[f64]) -> Vec<u8> {
        let largest = weights.iter().copied().fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
        let scale = match self {
            Self::Q4 => largest / -8.0,
            Self::Q8 => largest.abs() / 127.0,
        };
        let scale_bits = DType::F16.bits(scale);
        let steps = |weight: f64, low: f64, high: f64| match scale {
            0.0 => 0,
            scale => (weight / scale).round().clamp(low, high) as i32,
        };
        let mut bytes = Vec::with_capacity(self.block_bytes());
        DType::F16.push(scale_bits, &mut bytes);
        match self {
            Self::Q4 => {
                bytes.extend(weights.iter().zip(weights.iter().skip(BLOCK / 2)).map(|(&low, &high)| {
                    (steps(low, -8.0, 7.0) + 8) as u8 | ((steps(high, -8.0, 7.0) + 8) as u8) << 4
                }))
            }
            Self::Q8 => {
                bytes.extend(weights.iter().map(|&weight| steps(weight, -127.0, 127.0) as i8 as u8));
            }
        }
        bytes
    }

    /// What a block holds: the scale times each number, before it is rounded to f16.
    pub(super) fn decode(self, block: &[u8]) -> Vec<f64> {
        let (scale, numbers) = block.split_at(2.min(block.len()));
        let scale = values_of(DType::F16, scale).first().copied().unwrap_or(f64::NAN);
        let numbers: Vec<f64> = match self {
            Self::Q4 => {
                let low = numbers.iter().map(|byte| f64::from(byte % 16) - 8.0);
                low.chain(numbers.iter().map(|byte| f64::from(byte / 16) - 8.0)).collect()
            }
            Self::Q8 => values_of(DType::S8, numbers),
        };
        numbers.iter().map(|number| scale * number).collect()
    }
}

/// One product and its kernels.
#[derive(Debug)]
pub(crate) struct Dequant {
    size: Mnk,
    quantisation: Quantisation,
    kernels: Vec<Kernel>,
}

/// What the user asked for.
pub(crate) fn all(args: &DequantArgs, purpose: Purpose) -> Result<Vec<Box<dyn Workload>>> {
    let default_sizes = [purpose.choose(Mnk { m: 300, n: 200, k: 512 }, Mnk::cube(2048))];
    let sizes = if args.sizes.is_empty() { &default_sizes[..] } else { &args.sizes };
    let mut workloads: Vec<Box<dyn Workload>> = Vec::new();
    for &size in sizes {
        for &quantisation in &args.blocks {
            workloads.push(Box::new(Dequant::new(
                size,
                quantisation,
                &args.kernels,
                args.scope,
                purpose.on(args.output.device),
            )?));
        }
    }
    Ok(workloads)
}

impl Dequant {
    fn new(
        size: Mnk,
        quantisation: Quantisation,
        forms: &[DequantForm],
        scope: Scope,
        purpose: Purpose,
    ) -> Result<Self> {
        let k = size.k;
        ensure!(k.is_multiple_of(BLOCK as u32), "{size}: K must be a multiple of {BLOCK}");
        let kernels = kernels_of(forms, purpose.tiles(&DECODE_TILES), |form, tile| {
            kernel(size, quantisation, form, scope, tile)
        });
        Ok(Self { size, quantisation, kernels })
    }

    /// Rows of W and columns of X in memory: conversions take whole tiles.
    fn padded(&self) -> [usize; 2] {
        [self.size.m.next_multiple_of(CONVERSION_ROWS), self.size.n.next_multiple_of(CONVERSION_TILE_N)]
            .map(|size| size as usize)
    }

    /// The blocks of W, and what they hold, rounded to f16.
    fn weights(&self) -> Result<(Vec<u8>, Array)> {
        let [m, k] = [self.size.m as usize, self.size.k as usize];
        let wanted = Array::random(DType::F32, vec![m, k], 1)?;
        let blocks: Vec<u8> = wanted
            .bytes
            .chunks_exact(BLOCK * DType::F32.size_bytes())
            .flat_map(|weights| self.quantisation.encode(&values_of(DType::F32, weights)))
            .collect();
        drop(wanted);
        let decoded = blocks
            .chunks_exact(self.quantisation.block_bytes())
            .flat_map(|block| self.quantisation.decode(block));
        let bytes = super::bytes_of(DType::F16, decoded);
        Ok((blocks, Array { dtype: DType::F16, shape: vec![m, k], bytes }))
    }
}

fn kernel(
    size: Mnk,
    quantisation: Quantisation,
    form: DequantForm,
    scope: Scope,
    decode_tile: Mnk,
) -> Kernel {
    let common = include_str!("../../shaders/dequant/common.glsl");
    let Mnk { m, n, k } = size;
    let mut definitions = match quantisation {
        Quantisation::Q4 => Vec::new(),
        Quantisation::Q8 => vec![("BLOCK_Q8_0", String::new())],
    };
    let (name, source, tile, constants, subgroup_size) = match form {
        DequantForm::Decode | DequantForm::DecodeVector => {
            definitions.extend(scope.definitions());
            let name = if form == DequantForm::Decode { "decode" } else { "decode-vector" };
            if form == DequantForm::DecodeVector {
                definitions.push(("DECODE_VECTOR", String::new()));
            }
            let source = include_str!("../../shaders/dequant/decode.comp");
            let tile = decode_tile;
            let constants = vec![scope.invocations(), tile.m, tile.n, tile.k];
            (name, source, tile, constants, SUBGROUP_SIZE)
        }
        DequantForm::Qcom => {
            let source = include_str!("../../shaders/dequant/qcom.comp");
            let tile = Mnk { m: CONVERSION_ROWS, n: CONVERSION_TILE_N, k: BLOCK as u32 };
            ("qcom", source, tile, vec![CONVERSION_ROWS, tile.n], CONVERSION_ROWS)
        }
    };
    Kernel {
        name: name.to_owned(),
        tile: tile.to_string(),
        source: complete(source, common),
        definitions,
        constants: (0..).zip(constants.into_iter().map(Constant::U32)).collect(),
        subgroup_size,
        groups: [n.div_ceil(tile.n), m.div_ceil(tile.m), 1],
        push_constants: words(&[m, n, k]),
        then: None,
    }
}

impl Workload for Dequant {
    fn subject(&self) -> Subject {
        let Mnk { m, n, k } = self.size;
        Subject {
            workload: "dequant",
            problem: format!("{} {}", self.quantisation.name(), self.size.brief()),
            a: DType::F16,
            c: DType::F32,
            size: [m, n, k],
            operations: 2.0 * f64::from(m) * f64::from(n) * f64::from(k),
            peak: Peak::F32Fma,
        }
    }

    fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    fn buffer_bytes(&self) -> u64 {
        let ([rows, columns], k) = (self.padded(), self.size.k as usize);
        let blocks = rows * (k / BLOCK) * self.quantisation.block_bytes();
        let result = self.size.m as usize * self.size.n as usize * DType::F32.size_bytes();
        (blocks + columns * k * DType::F16.size_bytes() + result) as u64
    }

    fn prepare(&self, device: &Device, watch: &Watch<'_>) -> Result<Option<Problem>> {
        let [m, n, k] = [self.size.m, self.size.n, self.size.k].map(|size| size as usize);
        let [rows, columns] = self.padded();
        let (mut blocks, weights) = self.weights()?;
        let mut x = Array::random(DType::F16, vec![n, k], 2)?;
        let c = Array { dtype: DType::F32, shape: vec![m, n], bytes: vec![0; 4 * m * n] };
        let operands = Operands { m, n, k, a: &weights, b: &x, c: &c, is_b_column_major: true };
        let Some(reference) = Reference::new(&operands, watch.interrupt) else { return Ok(None) };
        let reference = reference.truncated(device.is_gpu());
        let result = device.create_buffer(c.bytes.len())?;
        drop((weights, c));
        let row_bytes = k / BLOCK * self.quantisation.block_bytes();
        blocks.resize(rows * row_bytes, 0);
        x.bytes.resize(columns * k * DType::F16.size_bytes(), 0);
        let buffers = vec![upload(device, blocks)?, upload(device, x.bytes)?, result];
        let check = move |buffers: &[Buffer]| match buffers {
            [_, _, d] => reference.compare(|range| Ok(vec![0; range.len()]), |range| d.read(range)),
            _ => bail!("a product of quantised weights has three buffers"),
        };
        Ok(Some(Problem::new(buffers, check)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::{assert_right, assert_right_everywhere};
    use crate::runtime::DeviceKind;

    fn dequant(size: [u32; 3], quantisation: Quantisation, forms: &[DequantForm]) -> Dequant {
        let [m, n, k] = size;
        Dequant::new(Mnk { m, n, k }, quantisation, forms, Scope::Subgroup, Purpose::Demo)
            .expect("a good size")
    }

    #[test]
    fn decode_functions_are_right_whatever_the_size() {
        let forms = [DequantForm::Decode, DequantForm::DecodeVector];
        for quantisation in [Quantisation::Q4, Quantisation::Q8] {
            for size in [[130, 33, 96], [16, 300, 64]] {
                assert_right(&dequant(size, quantisation, &forms));
            }
            assert_right_everywhere(&dequant([1, 1, 32], quantisation, &forms));
        }
        let size = Mnk { m: 130, n: 33, k: 96 };
        let held_together = Dequant::new(size, Quantisation::Q4, &forms, Scope::Workgroup, Purpose::Demo);
        assert_right(&held_together.expect("a good size"));
    }

    #[test]
    fn conversions_are_right_whatever_the_size() {
        for quantisation in [Quantisation::Q4, Quantisation::Q8] {
            assert_right(&dequant([70, 150, 96], quantisation, &[DequantForm::Qcom]));
        }
        assert_right_everywhere(&dequant([1, 1, 32], Quantisation::Q4, &[DequantForm::Qcom]));
    }

    #[test]
    fn blocks_hold_what_they_were_made_of() {
        let weights: Vec<f64> = (0..32).map(|index| f64::from(index) / 16.0 - 1.0).collect();
        for (quantisation, bytes, step) in
            [(Quantisation::Q4, 18, 1.0 / 8.0), (Quantisation::Q8, 34, 1.0 / 127.0)]
        {
            let block = quantisation.encode(&weights);
            assert_eq!((block.len(), quantisation.block_bytes()), (bytes, bytes));
            for (found, wanted) in quantisation.decode(&block).iter().zip(&weights) {
                // Half a step, or a whole one where the largest positive weight has no number of its own.
                assert!((found - wanted).abs() <= step, "{quantisation:?} {found} {wanted}");
            }
            assert!(
                quantisation.decode(&quantisation.encode(&[0.0; 32])).iter().all(|&weight| weight == 0.0)
            );
        }
    }

    #[test]
    fn blocks_lie_as_their_formats_say() {
        // The scale is 1; the first byte holds weights 0 and 16.
        let mut block = vec![0x00, 0x3c, 0xe3];
        block.resize(18, 0x88);
        let weights = Quantisation::Q4.decode(&block);
        assert_eq!((weights[0], weights[16], weights[1], weights.len()), (-5.0, 6.0, 0.0, 32));
        let mut block = vec![0x00, 0x3c, 0xff];
        block.resize(34, 2);
        assert_eq!(Quantisation::Q8.decode(&block)[..2], [-1.0, 2.0]);
    }

    #[test]
    fn a_processor_is_measured_with_several_tiles_and_a_gpu_with_one() {
        let forms = [DequantForm::Decode, DequantForm::Qcom];
        for (purpose, count) in [(Purpose::Bench, 3), (Purpose::BenchOfGpu, 1), (Purpose::Demo, 1)] {
            let size = Mnk::cube(64);
            let dequant = Dequant::new(size, Quantisation::Q4, &forms, Scope::Workgroup, purpose);
            let kernels = dequant.expect("a good size").kernels;
            assert_eq!(kernels.iter().filter(|kernel| kernel.name == "decode").count(), count, "{purpose:?}");
            assert_eq!(kernels.len(), count + 1, "conversions have a tile of their own");
        }
        assert_eq!(Purpose::Bench.on(DeviceKind::Cuda { ordinal: 0 }), Purpose::BenchOfGpu);
    }

    #[test]
    fn a_k_that_blocks_do_not_divide_is_refused() {
        assert!(Dequant::new(Mnk::cube(48), Quantisation::Q4, &[], Scope::Subgroup, Purpose::Demo).is_err());
    }
}

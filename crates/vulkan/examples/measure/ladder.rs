//! The ladder's matrix multiplications through Vulkan and through the crate, in turns.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use half::f16;
use phalanx::glsl::{self, GlslOptions};
use phalanx::{Binding, Dispatch, PipelineDescriptor, SpecValue};
use vulkanalia::prelude::v1_3::*;

use crate::vulkan::Vulkan;

/// M, N and K.
const SIZE: u32 = 1024;

/// A rung with the constants that `phalanx bench` gives it for this size.
pub(crate) struct Rung {
    pub(crate) name: &'static str,
    source: &'static str,
    /// M, N and K of one matrix, and of what a work-group computes.
    shape: [u32; 3],
    tile: [u32; 3],
    subgroups: [u32; 2],
}

/// The rungs that are measured, for a machine with so many threads.
pub(crate) fn rungs(threads: usize) -> [Rung; 3] {
    // Large tiles load least, as long as there are some for everybody.
    let sizes = [[256, 256], [128, 256], [128, 128], [64, 128], [64, 64]];
    let has_enough = |[m, n]: &[u32; 2]| ((SIZE / m) * (SIZE / n)) as usize >= 4 * threads;
    let [m, n] = sizes.into_iter().find(has_enough).unwrap_or([64, 64]);
    let rung = |name, source, shape, tile, subgroups| Rung { name, source, shape, tile, subgroups };
    [
        rung("tiled", include_str!("../../../cli/shaders/ladder/tiled.comp"), [64; 3], [m, n, 64], [1, 1]),
        rung(
            "shared",
            include_str!("../../../cli/shaders/ladder/shared.comp"),
            // Four subgroups share a tile.
            [64.min(m / 2), 64.min(n / 2), 64],
            [m, n, 64],
            [2, 2],
        ),
        rung("simple", include_str!("../../../cli/shaders/ladder/simple.comp"), [32; 3], [32; 3], [1, 1]),
    ]
}

/// A multiplication as applications for GPUs write it: a tile of 128 by 128 in 8 subgroups of 16 by 16 matrices.
pub(crate) fn large_tile() -> Rung {
    Rung {
        name: "a tile of 128x128 in 8 subgroups",
        source: include_str!("../../../cli/shaders/ladder/shared.comp"),
        shape: [16; 3],
        tile: [128, 128, 32],
        subgroups: [4, 2],
    }
}

impl Rung {
    pub(crate) fn words(&self) -> Result<Vec<u32>> {
        let common = include_str!("../../../cli/shaders/ladder/common.glsl");
        let source = self.source.replace("#include \"common.glsl\"", common);
        let defines = [("PIECE", "uint"), ("PIECE_BYTES", "4")];
        Ok(glsl::compile(&source, &GlslOptions { defines: &defines, ..Default::default() })?)
    }

    pub(crate) fn constants(&self) -> Vec<(u32, u32)> {
        let ([l_m, l_n, l_k], [m, n, k], [rows, columns]) = (self.shape, self.tile, self.subgroups);
        let mut constants: Vec<(u32, u32)> =
            (0..).zip([l_m, l_n, l_k, m, n, k, 0, 32 * rows * columns, 1]).collect();
        if rows * columns > 1 {
            constants.extend([(9, rows), (10, columns), (11, 4)]);
        }
        constants
    }
}

/// Times of the same work, as often as the other's.
#[derive(Debug, Default)]
pub(crate) struct Pair {
    pub(crate) vulkan: Vec<Duration>,
    pub(crate) own: Vec<Duration>,
    /// Time in `vkCreateComputePipelines`.
    pub(crate) creation: Duration,
}

impl Pair {
    /// How many times as long Vulkan takes: the median over all turns, of which each has both ways close together.
    pub(crate) fn ratio(&self) -> f64 {
        let ratio = |(vulkan, own): (&Duration, &Duration)| vulkan.as_secs_f64() / own.as_secs_f64();
        let mut ratios: Vec<f64> = self.vulkan.iter().zip(&self.own).map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

/// The middle one, in seconds.
pub(crate) fn median(times: &[Duration]) -> f64 {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() / 2).map_or(f64::NAN, Duration::as_secs_f64)
}

/// Measures both ways by turns, for as long as `budget` lasts.
pub(crate) fn by_turns(
    budget: Duration,
    mut vulkan: impl FnMut() -> Result<()>,
    mut own: impl FnMut() -> Result<()>,
) -> Result<Pair> {
    let mut pair = Pair::default();
    let begin = Instant::now();
    let time = |work: &mut dyn FnMut() -> Result<()>, times: &mut Vec<Duration>| {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed());
        anyhow::Ok(())
    };
    for round in 0.. {
        // Who comes second finds the caches warm.
        if round % 2 == 0 {
            time(&mut vulkan, &mut pair.vulkan)?;
            time(&mut own, &mut pair.own)?;
        } else {
            time(&mut own, &mut pair.own)?;
            time(&mut vulkan, &mut pair.vulkan)?;
        }
        if begin.elapsed() > budget {
            break;
        }
    }
    Ok(pair)
}

/// Measures a rung in both ways, and compares what they compute.
pub(crate) unsafe fn measure(gpu: &Vulkan, device: &phalanx::Device, rung: &Rung) -> Result<Pair> {
    let elements = (SIZE * SIZE) as usize;
    let value = |i: usize, seed: usize| ((i * 31 + seed * 17) % 61) as f32 / 32.0 - 1.0;
    let halves = |seed| -> Vec<u8> {
        (0..elements).flat_map(|i| f16::from_f32(value(i, seed)).to_le_bytes()).collect()
    };
    let floats: Vec<u8> = (0..elements).flat_map(|i| value(i, 3).to_le_bytes()).collect();
    let data = [halves(1), halves(2), floats, vec![0; 4 * elements]];
    let (words, constants) = (rung.words()?, rung.constants());
    let groups = [SIZE / rung.tile[1], SIZE / rung.tile[0], 1];
    let push: Vec<u8> = [SIZE; 5].iter().flat_map(|number| number.to_le_bytes()).collect();

    let kernel = gpu.kernel(&words, &constants, 4, vk::PipelineCache::null())?;
    ensure!(!kernel.creation.is_hit, "there is no cache");
    let buffers = data.iter().map(|bytes| gpu.buffer(bytes)).collect::<Result<Vec<_>>>()?;
    let set = gpu.set(&kernel, &buffers)?;
    let commands = gpu.record(&kernel, &[set], &push, groups, 1)?;

    let module = device.create_module(&words)?;
    let constants: Vec<_> =
        constants.iter().map(|&(id, value)| (id, SpecValue::from_bits(value.into()))).collect();
    let pipeline = device.create_pipeline(&PipelineDescriptor {
        specialization: &constants,
        ..PipelineDescriptor::new(&module)
    })?;
    let own = data.iter().map(|bytes| device.create_buffer_from(bytes));
    let own = own.collect::<Result<Vec<_>, _>>()?;
    let bindings: Vec<_> = (0..).zip(&own).map(|(i, buffer)| Binding::new(0, i, buffer)).collect();
    let dispatch =
        Dispatch { bindings: &bindings, push_constants: &push, ..Dispatch::new(&pipeline, groups) };

    let mut pair = by_turns(
        Duration::from_secs(4),
        || gpu.execute(commands),
        || Ok(device.dispatch(&dispatch).map(|_report| ())?),
    )?;
    let (there, here) = (gpu.read(&buffers[3], 4 * elements), own[3].read(0, 4 * elements as u64)?);
    ensure!(there == here, "{}: the results differ", rung.name);
    ensure!(here.iter().any(|&byte| byte != 0), "{}: nothing was computed", rung.name);
    pair.creation = kernel.creation.elapsed;
    Ok(pair)
}

//! Training by shaders: grids and network together, by gradient descent on the squared error of random texels.
//!
//! A step is a kernel that goes through the network and back ([`kernel`]) and one that moves the numbers ([`Adam`]). Then the
//! host brings the network from the layout that it is trained in to the one for multiplying, which on a GPU is
//! `vkCmdConvertCooperativeVectorMatrixNV`.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::image::Image;
use super::model::{COARSE, COARSE_STEP, FINE, FINE_STEP, Model, WIDTH, grid};
use super::texture_source;
use crate::data::DType;
use crate::data::random::Random;
use crate::measure::{Kernel, Watch, compile, dispatch, upload};
use crate::memory;
use crate::runtime::{Buffer, Device};
use crate::workload::adam::Adam;
use crate::workload::layers::{Layer, Layers, Places};
use crate::workload::{bytes_of, values_of, words};

/// How far a step goes at first; in the end it is almost nothing.
const GRID_RATE: f64 = 0.03;
const NETWORK_RATE: f64 = 0.01;

/// Invocations of a work-group and of a subgroup: each has a texel.
const INVOCATIONS: u32 = 32;

/// Bindings of the kernels.
const NETWORK: usize = 0;
const BEFORE: usize = 2;
const LOSSES: usize = 4;
const AFTER: usize = 5;

/// How long training is, and in what pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) steps: u32,
    /// Texels of a step.
    pub(super) batch: u32,
}

/// What came of it.
#[derive(Debug, Clone)]
pub(super) struct Trained {
    pub(super) model: Model,
    /// The mean squared error of the texels of each step, before it.
    pub(super) losses: Vec<f64>,
    /// Of a step: what its kernels took, and all of it.
    pub(super) kernels_time: Duration,
    pub(super) time: Duration,
}

/// The layers of the network.
pub(super) fn layers() -> Result<Layers> {
    Layers::new(vec![[WIDTH, WIDTH]; 2])
}

/// The optimiser of a texture's numbers.
pub(super) fn adam(image: &Image, plan: Plan, layers: &Layers) -> Adam {
    Adam {
        numbers: (layers.numbers() + grids(image).iter().sum::<usize>()) as u32,
        network: layers.numbers() as u32,
        network_rate: NETWORK_RATE,
        other_rate: GRID_RATE,
        scale: 1.0 / (f64::from(plan.batch) * image.channels as f64),
    }
}

/// How many numbers the finer and the coarser grid have.
fn grids(image: &Image) -> [usize; 2] {
    [(FINE_STEP, FINE), (COARSE_STEP, COARSE)].map(|(step, features)| {
        let [width, height] = grid(image.size, step);
        width * height * features
    })
}

/// What the shaders are told of where layers lie.
pub(super) fn definitions(image: &Image, layers: &Layers) -> Vec<(&'static str, String)> {
    let mut definitions = vec![("CHANNELS", image.channels.to_string())];
    let mut place = |names: [&'static str; 4], places: &Places| {
        let bytes = places.layers.iter().flatten().map(usize::to_string);
        definitions.extend(names.into_iter().zip(bytes));
    };
    place(["MATRIX1", "BIAS1", "MATRIX2", "BIAS2"], &layers.multiplied);
    place(["TRAINED_MATRIX1", "TRAINED_BIAS1", "TRAINED_MATRIX2", "TRAINED_BIAS2"], &layers.trained);
    definitions
}

/// A step, as it is the first.
pub(super) fn kernel(image: &Image, plan: Plan, layers: &Layers) -> Kernel {
    Kernel {
        name: "train".to_owned(),
        tile: format!("{INVOCATIONS}x{WIDTH}x{WIDTH}"),
        source: texture_source(include_str!("../../../shaders/neural-texture/train.comp")),
        definitions: definitions(image, layers),
        constants: Vec::new(),
        subgroup_size: INVOCATIONS,
        groups: [plan.batch.div_ceil(INVOCATIONS), 1, 1],
        push_constants: push_constants(image, plan, layers, 0),
        then: Some(Box::new(adam(image, plan, layers).kernel(AFTER as u32))),
    }
}

fn push_constants(image: &Image, plan: Plan, layers: &Layers, step: u32) -> Vec<u8> {
    let [width, height] = image.size.map(|edge| edge as u32);
    let fine_at = layers.numbers() as u32;
    words(&[width, height, plan.batch, step, fine_at, fine_at + grids(image)[0] as u32])
}

/// The model before the first step.
pub(super) fn start(image: &Image) -> Model {
    let random = |count: usize, largest: f64, seed: u64| -> Vec<f64> {
        let numbers = Random::new(seed).values(DType::F32).take(count);
        numbers.map(|number| f64::from((largest * number) as f32)).collect()
    };
    let [fine, coarse] = grids(image);
    let layer = |seed: u64, results: usize| {
        let mut weights = random(WIDTH * WIDTH, 0.4, seed);
        // Outputs that are no channel are nothing.
        weights[results * WIDTH..].fill(0.0);
        Layer { inputs: WIDTH, weights, biases: vec![0.0; WIDTH] }
    };
    let network = [layer(3, WIDTH), layer(4, image.channels)];
    Model { size: image.size, fine: random(fine, 0.1, 1), coarse: random(coarse, 0.1, 2), network }
}

/// The numbers of a model in the order of training, as f32.
pub(super) fn numbers(model: &Model, layers: &Layers) -> Result<Vec<u8>> {
    let mut bytes = layers.to_trained(&model.network)?;
    bytes.extend(bytes_of(DType::F32, model.fine.iter().chain(&model.coarse).copied()));
    Ok(bytes)
}

/// Back from [`numbers`].
fn model(image: &Image, layers: &Layers, bytes: &[u8]) -> Result<Model> {
    let network = layers.of_trained(bytes)?;
    let [first, second] = <[Layer; 2]>::try_from(network).map_err(|_other| anyhow::anyhow!("two layers"))?;
    let grids_at = layers.trained.bytes;
    let mut fine = values_of(DType::F32, bytes.get(grids_at..).unwrap_or_default());
    fine.truncate(grids(image).iter().sum());
    let coarse = fine.split_off(grids(image)[0].min(fine.len()));
    Ok(Model { size: image.size, fine, coarse, network: [first, second] })
}

/// What the buffers take.
pub(super) fn buffer_bytes(image: &Image, plan: Plan, layers: &Layers) -> u64 {
    let numbers = u64::from(adam(image, plan, layers).numbers);
    // The gradient and two states, the texels, the losses.
    let words = 7 * numbers + image.values.len() as u64 + u64::from(plan.steps) * WIDTH as u64;
    words * DType::F32.size_bytes() as u64
}

/// The buffers before the first step.
pub(super) fn buffers(
    device: &Device,
    image: &Image,
    plan: Plan,
    layers: &Layers,
    numbers: &[u8],
) -> Result<Vec<Buffer>> {
    let texels = bytes_of(DType::F32, image.values.iter().map(|&value| value.into()));
    let losses = plan.steps as usize * WIDTH * DType::F32.size_bytes();
    let before = device.create_buffer(3 * numbers.len())?;
    before.write(0, numbers)?;
    Ok(vec![
        upload(device, layers.multiplied(numbers, device.inferencing())?)?,
        device.create_buffer(numbers.len())?,
        before,
        upload(device, texels)?,
        device.create_buffer(losses)?,
        device.create_buffer(3 * numbers.len())?,
    ])
}

/// Compresses an image; nothing if that was interrupted.
pub(super) fn train(
    device: &Device,
    image: &Image,
    plan: Plan,
    watch: &Watch<'_>,
) -> Result<Option<Trained>> {
    let layers = layers()?;
    let adam = adam(image, plan, &layers);
    let mut kernel = kernel(image, plan, &layers);
    let Some(pipelines) = compile(device, &[("neural-texture", &kernel)], watch)? else { return Ok(None) };
    memory::check(buffer_bytes(image, plan, &layers)).context("the training")?;
    let mut buffers = buffers(device, image, plan, &layers, &numbers(&start(image), &layers)?)?;
    let (began, mut kernels_time) = (Instant::now(), Duration::ZERO);
    for step in 0..plan.steps {
        let done = f64::from(step) / f64::from(plan.steps);
        kernel.push_constants = push_constants(image, plan, &layers, step);
        if let Some(then) = &mut kernel.then {
            then.push_constants = adam.push_constants(step, 0.5 + 0.5 * (std::f64::consts::PI * done).cos());
        }
        let elapsed = dispatch(device, &pipelines[0], &kernel, &buffers, Some(watch.interrupt))?;
        let Some(elapsed) = elapsed else { return Ok(None) };
        kernels_time += elapsed;
        let trained = buffers[AFTER].read(0..layers.trained.bytes)?;
        buffers[NETWORK].write(0, &layers.multiplied(&trained, device.inferencing())?)?;
        buffers.swap(BEFORE, AFTER);
        if watch.interrupt.is_set() {
            return Ok(None);
        }
        watch.bar.set_message(format!("neural-texture: training, step {} of {}", step + 1, plan.steps));
    }
    let time = began.elapsed();
    let bytes = buffers[BEFORE].read(0..adam.numbers as usize * DType::F32.size_bytes())?;
    let sums = values_of(DType::F32, &buffers[LOSSES].read(0..buffers[LOSSES].size())?);
    Ok(Some(Trained {
        model: model(image, &layers, &bytes)?,
        losses: sums.chunks_exact(WIDTH).map(|sums| adam.scale * sums.iter().sum::<f64>()).collect(),
        kernels_time: kernels_time / plan.steps.max(1),
        time: time / plan.steps.max(1),
    }))
}

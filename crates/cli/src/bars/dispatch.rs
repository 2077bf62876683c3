//! What a dispatch costs that has hardly anything to do, and what dispatches gain by running side by side.
//!
//! The driver executes a dispatch of a command buffer by the library's call for one, after the descriptors were looked up once for
//! all dispatches that share them. Here the library looks up the buffer each time besides, so what is measured is a little
//! more than that. A kernel of one work-group runs on the calling thread; one with several for each thread wakes the others.
//! The worse of the two counts.
//!
//! Beside it stand, and count for nothing, dispatches that do little or more, in calls of their own and handed over together, as
//! those between two barriers of a command buffer. A GPU is handed a command buffer as a whole, so there only what is handed
//! over together counts, as many dispatches as it takes at once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::figure::Figure;
use super::rows::Row;
use crate::measure::{Kernel, Source, Watch, compile};
use crate::runtime::{Binding, Buffer, Device, Dispatch, Pipeline};

/// Each of these invocations works for as long as it is told, and adds to its own number.
const SOURCE: &str = "#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Numbers { uint x[]; } numbers;
layout(push_constant) uniform Push { uint steps; };
void main() {
    uint y = 1;
    for (uint i = 0; i < steps; ++i) y = y * 1664525 + 1013904223;
    numbers.x[gl_GlobalInvocationID.x] += y;
}
";

/// No dispatch here takes longer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The middle one of these counts.
const ROUNDS: usize = 21;

/// So many times in each of them, which makes some 500 dispatches.
const BATCHES: usize = 8;

/// With so many steps a batch is long enough.
const LONG: u32 = 10_000;

/// Dispatches between two barriers, where they run side by side.
const SIDE_BY_SIDE: usize = 64;

/// What a GPU is handed over together.
const IN_A_ROW: usize = 1024;

/// Measures batches of dispatches; nothing if it was interrupted.
pub(crate) fn measure(
    row: &Row,
    device: &Device,
    is_quick: bool,
    watch: &Watch<'_>,
) -> Result<Option<Figure>> {
    let kernel = Kernel {
        name: "dispatch".to_owned(),
        tile: String::new(),
        source: Source::Glsl(SOURCE.to_owned()),
        definitions: Vec::new(),
        constants: Vec::new(),
        subgroup_size: 32,
        groups: [1; 3],
        push_constants: Vec::new(),
        then: None,
    };
    let Some(pipelines) = compile(device, &[("dispatch", &kernel)], watch)? else { return Ok(None) };
    let pipeline = pipelines.first().and_then(|passes| passes.first()).context("a kernel has a pipeline")?;
    let many = 4 * u32::try_from(device.info().threads)?;
    let buffers: Vec<Buffer> =
        (0..SIDE_BY_SIDE).map(|_| device.create_buffer(4 * 32 * many as usize)).collect::<Result<_>>()?;
    let time = |groups: u32, steps: u32, is_together: bool| {
        watch.bar.set_message(format!("dispatches of {groups} work-groups"));
        let rounds = if is_quick { 1 } else { ROUNDS };
        batches(device, pipeline, &buffers, [groups, steps], is_together, rounds, watch)
    };
    let mut members = BTreeMap::new();
    for groups in [1, many] {
        let Some(value) = time(groups, 0, device.is_gpu())? else { return Ok(None) };
        members.insert(format!("work-groups: {groups}"), value);
    }
    let worst = members.values().copied().fold(0.0, f64::max);
    let longer: &[(u32, u32)] =
        &[(1, 100), (1, 2_000), (1, 20_000), (1, 200_000), (4, 100), (4, 2_000), (4, 20_000)];
    // A GPU does them one behind the other in any case.
    let longer = if device.is_gpu() { &[] } else { longer };
    for &(groups, steps) in longer {
        for (way, is_together) in [("one by one", false), ("side by side", true)] {
            let Some(value) = time(groups, steps, is_together)? else { return Ok(None) };
            members.insert(format!("{way}, work-groups: {groups}, steps: {steps}"), value);
        }
    }
    Ok(Some(Figure::new(row, worst, members, None)))
}

/// Microseconds for a dispatch of so many work-groups and steps; nothing if it was interrupted.
fn batches(
    device: &Device,
    pipeline: &Pipeline,
    buffers: &[Buffer],
    [groups, steps]: [u32; 2],
    is_together: bool,
    rounds: usize,
    watch: &Watch<'_>,
) -> Result<Option<f64>> {
    let bindings: Vec<_> =
        buffers.iter().map(|buffer| [Binding { set: 0, binding: 0, index: 0, buffer }]).collect();
    let push_constants = &steps.to_le_bytes();
    let count = if device.is_gpu() { IN_A_ROW } else { SIDE_BY_SIDE };
    let dispatches: Vec<_> = bindings
        .iter()
        .cycle()
        .take(count)
        .map(|bindings| Dispatch {
            pipeline,
            groups: [groups, 1, 1],
            bindings,
            push_constants,
            timeout: Some(TIMEOUT),
            cancel: Some(watch.interrupt.token()),
        })
        .collect();
    let mut times = Vec::new();
    let batches = if steps < LONG { BATCHES } else { 1 };
    for _ in 0..rounds {
        let start = Instant::now();
        for _ in 0..batches {
            let done = match is_together {
                true => device.dispatch_all(&dispatches),
                false => dispatches.iter().try_for_each(|dispatch| device.dispatch(*dispatch).map(drop)),
            };
            match done {
                Err(_cancelled) if watch.interrupt.is_set() => return Ok(None),
                done => done?,
            }
        }
        times.push(1e6 * start.elapsed().as_secs_f64() / (batches * count) as f64);
    }
    times.sort_by(f64::total_cmp);
    Ok(times.get(times.len() / 2).copied())
}

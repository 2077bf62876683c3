//! What a dispatch costs that has hardly anything to do.
//!
//! The driver executes a dispatch of a command buffer by the library's call for one, after the descriptors were looked up once for
//! all dispatches that share them. Here the library looks up the buffer each time besides, so what is measured is a little
//! more than that. A kernel of one work-group runs on the calling thread; one with several for each thread wakes the others.
//! The worse of the two counts.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context, Result};

use super::figure::Figure;
use super::rows::Row;
use crate::measure::{Kernel, Source, Watch, compile, dispatch};
use crate::runtime::Device;

/// Each of these invocations adds to its own number.
const SOURCE: &str = "#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Numbers { uint x[]; } numbers;
void main() { numbers.x[gl_GlobalInvocationID.x] += 1; }
";

/// As many as a command buffer has.
const BATCH: u32 = 500;

/// The middle one of these counts.
const BATCHES: usize = 21;

/// Measures batches of dispatches; nothing if it was interrupted.
pub(crate) fn measure(
    row: &Row,
    device: &Device,
    is_quick: bool,
    watch: &Watch<'_>,
) -> Result<Option<Figure>> {
    let mut members = BTreeMap::new();
    for groups in [1, 4 * u32::try_from(device.info().threads)?] {
        let kernel = Kernel {
            name: "dispatch".to_owned(),
            tile: String::new(),
            source: Source::Glsl(SOURCE.to_owned()),
            definitions: Vec::new(),
            constants: Vec::new(),
            subgroup_size: 32,
            groups: [groups, 1, 1],
            push_constants: Vec::new(),
            then: None,
        };
        let Some(pipelines) = compile(device, &[("dispatch", &kernel)], watch)? else { return Ok(None) };
        let pipelines = pipelines.first().context("a kernel has a pipeline")?;
        let buffers = [device.create_buffer(4 * 32 * groups as usize)?];
        watch.bar.set_message(format!("dispatches of {groups} work-groups"));
        let mut times = Vec::new();
        for _ in 0..if is_quick { 1 } else { BATCHES } {
            let start = Instant::now();
            for _ in 0..BATCH {
                if dispatch(device, pipelines, &kernel, &buffers, Some(watch.interrupt))?.is_none() {
                    return Ok(None);
                }
            }
            times.push(1e6 * start.elapsed().as_secs_f64() / f64::from(BATCH));
        }
        times.sort_by(f64::total_cmp);
        members.insert(format!("work-groups: {groups}"), times[times.len() / 2]);
    }
    let worst = members.values().copied().fold(0.0, f64::max);
    Ok(Some(Figure::new(row, worst, members, None)))
}

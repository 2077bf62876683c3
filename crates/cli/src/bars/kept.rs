//! What a pipeline costs whose code is kept on disk: nothing is compiled, it is only loaded.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::figure::Figure;
use super::rows::Row;
use crate::measure::{Kernel, Watch, Workload, compile};
use crate::runtime::{Choices, Device, DeviceKind};

/// The middle one of these counts.
const ROUNDS: usize = 5;

/// Compiles the first kernel of a workload, and loads its code on devices that have not seen it; nothing if it was interrupted.
pub(crate) fn measure(
    row: &Row,
    kind: DeviceKind,
    workload: &dyn Workload,
    watch: &Watch<'_>,
) -> Result<Option<Figure>> {
    let directory = tempfile::tempdir().context("making a directory for code")?;
    let kernel = workload.kernels().first().context("a workload has a kernel")?;
    let kernels: [(&str, &Kernel); 1] = [(workload.subject().workload, kernel)];
    let mut times = Vec::with_capacity(ROUNDS + 1);
    for _ in 0..=ROUNDS {
        let choices = Choices { cache_dir: Some(directory.path().to_owned()), ..Choices::default() };
        let device = Device::of_kind(kind, choices)?;
        let Some(pipelines) = compile(&device, &kernels, watch)? else { return Ok(None) };
        let time = pipelines.iter().flatten().map(|pipeline| 1e3 * pipeline.compile_time().as_secs_f64());
        times.push(time.sum::<f64>());
    }
    let cold = times.remove(0);
    times.sort_by(f64::total_cmp);
    let value = times.get(times.len() / 2).copied().context("there are rounds")?;
    let members = BTreeMap::from([("kept".to_owned(), value), ("cold".to_owned(), cold)]);
    Ok(Some(Figure::new(row, value, members, None)))
}

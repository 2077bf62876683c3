//! How much faster many threads are than one.

use std::collections::BTreeMap;

use anyhow::Result;

use super::figure::Figure;
use super::rows::{Row, THREADS};
use crate::measure::{Bench, Effort, Watch, Workload, records_of};
use crate::record::Record;
use crate::runtime::Device;

/// Measures the kernels of a workload on one thread and on many, and compares the best; nothing if it was interrupted.
pub(crate) fn measure(
    row: &Row,
    workload: &dyn Workload,
    effort: Effort,
    watch: &Watch<'_>,
) -> Result<Option<Figure>> {
    let mut best = Vec::new();
    for threads in [1, THREADS] {
        let device = Device::new(Some(threads))?;
        let mut records = Vec::new();
        if !records_of(&Bench { device: &device, versus: None, effort }, workload, watch, &mut records)? {
            return Ok(None);
        }
        best.extend(records.into_iter().max_by(|x, y| x.gflops.total_cmp(&y.gflops)));
    }
    Ok(figure(row, &best))
}

/// Of the best record on one thread, and that on many.
fn figure(row: &Row, best: &[Record]) -> Option<Figure> {
    let [one, all] = best else { return None };
    let rate = |record: &Record| (format!("GFLOP/s, threads: {}", record.threads), record.gflops);
    let members: BTreeMap<String, f64> = [one, all].map(rate).into();
    Some(Figure::new(row, all.gflops / one.gflops, members, Some(all)))
}

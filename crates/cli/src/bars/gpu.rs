//! The rows of a GPU of NVIDIA: products of matrices beside cuBLAS, the same kernels on NVIDIA's Vulkan driver, other workloads
//! beside the peak of its matrix units.
//!
//! Tiles are those that its registers and its shared memory hold. Products of 8 bits have B by columns, which is the only order
//! that its matrix units, and cuBLAS, take.

use anyhow::Result;

use super::Missing;
use super::rows::{Against, Group, On, Pick, Row, Source, Value, Way, gemm, wanted};
use crate::args::workload::WorkloadLine;
use crate::ladder::gemm::Gemm;
use crate::ladder::plan::{Choices, DEFAULT_SHAPE, Mnk};
use crate::ladder::{Rung, Types};
use crate::measure::Workload;
use crate::record::Record;
use crate::workload::Purpose;

/// The wanted rows.
pub(super) fn all(missing: Missing<'_>, is_quick: bool, filter: &str) -> Result<Vec<Group>> {
    let sizes: &[u32] = if is_quick { &[256] } else { &[4096, 8192] };
    let mut groups = Vec::new();
    for &size in sizes {
        let size = Mnk::cube(size);
        for (text, bar) in [("f16", 0.90), ("f16:f16", 0.90), ("bf16", 0.90), ("s8", 0.80), ("e4m3", 0.75)] {
            let types: Types = text.parse()?;
            let row = |rung: &str, bar| Row {
                value: Value::Versus,
                ..Row::new(&format!("{rung} {types}, {}", size.brief()), "gemm", bar)
            };
            let mut rows = vec![(row("workgroup", bar), workgroup(types))];
            if text == "f16" {
                rows.push((row("shared 16x16x16", 0.60), shared(types)));
            }
            match missing.library {
                Some(reason) => {
                    let rows = rows.into_iter().map(|(row, _)| row).collect();
                    groups.push(Group { source: Source::Absent(reason.to_string()), rows });
                }
                None => groups.extend(gemm(filter, types, size, rows, On::default(), |gemm| gemm)?),
            }
        }
    }
    let lines = Lines { is_quick, filter };
    groups.extend(lines.attention()?);
    groups.extend(lines.dequant(Mnk::cube(sizes[0]))?);
    groups.extend(lines.vulkan(Mnk::cube(sizes[0]), missing)?);
    groups.extend(costs(Mnk::cube(sizes[0]))?);
    Ok(wanted(groups, filter))
}

/// Matrices of the work-group, by rows of 128 bytes and of twice as many.
fn workgroup(types: Types) -> Vec<Way> {
    let step = 128 / types.a.size_bytes() as u32;
    ways(Rung::Workgroup, types, &[(128, 256, step), (256, 128, step), (128, 128, step)])
}

/// Matrices of subgroups in shared memory.
fn shared(types: Types) -> Vec<Way> {
    ways(Rung::Shared, types, &[(128, 128, 64), (128, 128, 32), (128, 256, 32)])
}

fn ways(rung: Rung, types: Types, tiles: &[(u32, u32, u32)]) -> Vec<Way> {
    let way = |&(m, n, k): &(u32, u32, u32)| {
        let choices = Choices {
            tile: Some(Mnk { m, n, k }),
            shape: Some(DEFAULT_SHAPE),
            is_b_column_major: types.a.size_bytes() == 1,
            threads: 1,
            is_for_gpu: true,
        };
        (rung, choices)
    };
    tiles.iter().map(way).collect()
}

/// Rows of the other workloads, as command lines of theirs.
struct Lines<'a> {
    is_quick: bool,
    filter: &'a str,
}

impl Lines<'_> {
    fn read(&self, line: &str) -> Result<Vec<Box<dyn Workload>>> {
        let purpose = if self.is_quick { Purpose::Demo } else { Purpose::BenchOfGpu };
        Ok(WorkloadLine::read(line)?.problems(purpose)?.0)
    }

    fn attention(&self) -> Result<Vec<Group>> {
        let mut groups = Vec::new();
        for mask in ["full", "causal"] {
            let row = Row::new(&format!("attention, {mask}"), "attention", 0.55);
            if !row.is_wanted(self.filter) {
                continue;
            }
            let size = if self.is_quick { "" } else { "--tokens 4096 --heads 16 --head-sizes 128" };
            let workloads = self.read(&format!("attention {size} --masks {mask} --kernels matrix2"))?;
            groups.push(Group::of(Source::Kernels(workloads, On::default()), row));
        }
        Ok(groups)
    }

    /// The same SPIR-V on another Vulkan driver, which on a machine with such a GPU is NVIDIA's.
    fn vulkan(&self, size: Mnk, missing: Missing<'_>) -> Result<Vec<Group>> {
        let mut groups = Vec::new();
        let types: Types = "f16".parse()?;
        for (name, workload, bar) in [
            ("workgroup f16->f32", "gemm", 3.0),
            ("shared 16x16x16 f16->f32", "gemm", 1.5),
            ("cooperative-vector MLP", "mlp", 1.0),
        ] {
            let row = Row {
                value: Value::Versus,
                ..Row::new(&format!("versus another Vulkan driver: {name}"), workload, bar)
            };
            if !row.is_wanted(self.filter) {
                continue;
            }
            if let Some(reason) = missing.driver {
                groups.push(Group::of(Source::Absent(reason.to_string()), row));
                continue;
            }
            let workloads: Vec<Box<dyn Workload>> = match (workload, name.starts_with("workgroup")) {
                ("mlp", _) => self.read("mlp --kernels vector --types f16 --activations relu")?,
                (_, true) => vec![Box::new(Gemm::new(types, size, &workgroup(types))?)],
                (_, false) => vec![Box::new(Gemm::new(types, size, &shared(types))?)],
            };
            let on = On { against: Against::Vulkan, ..On::default() };
            groups.push(Group::of(Source::Kernels(workloads, on), row));
        }
        Ok(groups)
    }

    /// Beside the same product of weights that are not quantised.
    fn dequant(&self, size: Mnk) -> Result<Vec<Group>> {
        let mut groups = Vec::new();
        for blocks in ["q4_0", "q8_0"] {
            let row = Row {
                value: Value::Versus,
                pick: Pick::Worst,
                ..Row::new(&format!("dequant {blocks}, decode"), "dequant", 0.70)
            };
            if !row.is_wanted(self.filter) {
                continue;
            }
            let line = format!("dequant --sizes {size} --blocks {blocks} --kernels decode,decode-vector");
            let mut workloads = self.read(&line)?;
            let types: Types = "f16".parse()?;
            workloads.push(Box::new(Gemm::new(types, size, &workgroup(types))?));
            let on = On { against: Against::Workgroup, ..On::default() };
            groups.push(Group::of(Source::Kernels(workloads, on), row));
        }
        Ok(groups)
    }
}

/// Takes the best of what another driver does as what all kernels are compared with: it may like other tiles.
pub(super) fn compare_with_the_best(records: &mut [Record]) {
    let best = records.iter().filter_map(|record| record.versus_gflops).max_by(f64::total_cmp);
    for record in records.iter_mut().filter(|record| record.versus.is_some()) {
        record.versus_gflops = best;
        record.versus_ratio = best.map(|rate| record.gflops / rate);
    }
}

/// Takes the best of the ladder's matrices of the work-group as what the other kernels are compared with.
pub(super) fn compare_with_workgroup(records: &mut [Record]) {
    let is_base = |record: &Record| record.rung == Rung::Workgroup.name();
    let Some(base) =
        records.iter().filter(|record| is_base(record)).max_by(|x, y| x.gflops.total_cmp(&y.gflops))
    else {
        return;
    };
    let (rate, name) = (base.gflops, format!("{} {}->{}", base.rung, base.a, base.c));
    for record in records.iter_mut().filter(|record| !is_base(record)) {
        record.versus = Some(name.clone());
        record.versus_gflops = Some(rate);
        record.versus_ratio = Some(record.gflops / rate);
    }
}

/// What it costs to run anything.
fn costs(size: Mnk) -> Result<Vec<Group>> {
    let timed = |name: &str, workload, bar, value| Row { value, ..Row::new(name, workload, bar) };
    let types: Types = "f16".parse()?;
    let kept: Box<dyn Workload> = Box::new(Gemm::new(types, size, &workgroup(types)[..1])?);
    let compilation = |name: &str, pick| Row { pick, ..timed(name, "compile", 300.0, Value::CompileMs) };
    let rows = vec![
        compilation("compile time of the kernels above, median", Pick::Median),
        compilation("compile time of the kernels above, worst", Pick::Worst),
    ];
    Ok(vec![
        Group::of(Source::Dispatch, timed("a dispatch among others", "dispatch", 5.0, Value::DispatchUs)),
        Group::of(Source::Kept(kept), timed("a pipeline whose code is kept", "compile", 2.0, Value::KeptMs)),
        Group { source: Source::Compilation, rows },
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::sample;

    fn names(groups: &[Group]) -> Vec<&str> {
        groups.iter().flat_map(|group| group.rows.iter().map(|row| row.name.as_str())).collect()
    }

    #[test]
    fn rows_have_names_of_their_own_and_kernels_that_exist() {
        for is_quick in [true, false] {
            let groups = all(Missing::default(), is_quick, "").expect("possible");
            let mut found = names(&groups);
            let count = found.len();
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len(), count, "{found:?}");
            for group in &groups {
                if let Source::Kernels(workloads, _) = &group.source {
                    assert!(workloads.iter().all(|workload| !workload.kernels().is_empty()));
                }
            }
        }
    }

    #[test]
    fn a_filter_and_a_missing_library_leave_what_they_say() {
        let groups = all(Missing::default(), false, "attention").expect("possible");
        assert_eq!(names(&groups), ["attention, full", "attention, causal"]);
        let reason = anyhow::anyhow!("no cuBLAS");
        let missing = Missing { library: Some(&reason), driver: None };
        let groups = all(missing, false, "workgroup e4m3").expect("possible");
        assert_eq!(names(&groups), ["workgroup e4m3->f32, 4096³", "workgroup e4m3->f32, 8192³"]);
        assert!(
            groups.iter().all(|group| matches!(&group.source, Source::Absent(why) if why == "no cuBLAS"))
        );
    }

    #[test]
    fn decoding_is_compared_with_the_best_work_group() {
        let mut records = [sample("decode", 300.0), sample("workgroup", 400.0), sample("workgroup", 500.0)];
        compare_with_workgroup(&mut records);
        assert_eq!(records[0].versus_ratio, Some(0.6));
        assert_eq!(records[0].versus_gflops, Some(500.0));
        assert!(records[1..].iter().all(|record| record.versus_ratio.is_none()));
    }
}

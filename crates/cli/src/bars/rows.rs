//! The rows: which workloads, in which tile sizes, and what each is to reach.

use anyhow::Result;
use clap::ValueEnum;

use crate::args::workload::{MatvecForm, RowsForm, WorkloadLine};
use crate::ladder::gemm::Gemm;
use crate::ladder::plan::{Choices, DEFAULT_SHAPE, Mnk, Plan};
use crate::ladder::staged::Copies;
use crate::ladder::{Rung, Types};
use crate::measure::{Peak, Workload};
use crate::record::Record;
use crate::runtime::Device;
use crate::workload::Purpose;

/// One row.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// What a filter chooses by, beside the name.
    pub(crate) workload: &'static str,
    pub(crate) bar: f64,
    pub(crate) value: Value,
    pub(crate) pick: Pick,
    /// The kernels that it looks at, all unless given.
    pub(super) kernels: Option<Vec<Key>>,
}

/// What a row's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    /// A share of the peak beside each kernel.
    Peak,
    /// How many times as fast as the library.
    Versus,
    /// How many times as fast as one thread.
    Threads,
    /// Less is better.
    CompileMs,
    /// Of a pipeline whose code is kept; less is better.
    KeptMs,
    /// Less is better.
    DispatchUs,
}

/// Which of a row's kernels counts. Those that differ in nothing but their tiles, or in how they are written where that is
/// free, are the same kernel, and the best of them counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pick {
    Best,
    /// Of kernels that differ otherwise.
    Worst,
    /// Of kernels that differ otherwise.
    Median,
}

/// A kernel of the ladder: its rung, the size of its matrices, its tile.
pub(super) type Key = (String, String, String);

impl Row {
    pub(super) fn new(name: &str, workload: &'static str, bar: f64) -> Self {
        Self { name: name.to_owned(), workload, bar, value: Value::Peak, pick: Pick::Best, kernels: None }
    }

    pub(crate) fn selects(&self, record: &Record) -> bool {
        let is_it =
            |(rung, shape, tile): &Key| (rung, shape, tile) == (&record.rung, &record.shape, &record.tile);
        self.kernels.as_ref().is_none_or(|kernels| kernels.iter().any(is_it))
    }

    pub(super) fn is_wanted(&self, filter: &str) -> bool {
        self.name.contains(filter) || self.workload.contains(filter)
    }
}

/// How many threads are compared with one.
pub(crate) const THREADS: usize = 16;

/// Where the figures of rows come from.
pub(crate) enum Source {
    Kernels(Vec<Box<dyn Workload>>, On),
    /// Measured on one thread and on [`THREADS`].
    Scaling(Box<dyn Workload>),
    Dispatch,
    /// Loaded again from where its code is kept.
    Kept(Box<dyn Workload>),
    /// The kernels of the rows before.
    Compilation,
    /// The machine lacks something.
    Absent(String),
}

/// What kernels are measured on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct On {
    /// As many as the user wants, unless given.
    pub(crate) threads: Option<usize>,
    /// The name of the processor that code is made for, if not of this one.
    pub(crate) processor: Option<&'static str>,
    pub(crate) against: Against,
}

/// What kernels are compared with, besides a peak.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Against {
    #[default]
    Nothing,
    /// A library that is measured in turn with them.
    Library,
    /// The best of the ladder's matrices of the work-group among them.
    Workgroup,
    /// The best of them on another Vulkan driver.
    Vulkan,
}

/// Rows that are measured together.
pub(crate) struct Group {
    pub(crate) source: Source,
    pub(crate) rows: Vec<Row>,
}

impl Group {
    pub(super) fn of(source: Source, row: Row) -> Self {
        Self { source, rows: vec![row] }
    }

    /// How far progress goes with it.
    pub(crate) fn steps(&self) -> usize {
        match &self.source {
            Source::Kernels(workloads, _) => workloads.iter().map(|workload| workload.kernels().len()).sum(),
            Source::Scaling(workload) => 2 * workload.kernels().len(),
            Source::Dispatch | Source::Kept(_) | Source::Compilation | Source::Absent(_) => 1,
        }
    }
}

/// What decides which rows there are.
#[derive(Debug)]
pub(crate) struct Machine {
    threads: usize,
    has_amx: bool,
    has_fp16: bool,
    /// Why there is no library.
    no_library: Option<String>,
}

impl Machine {
    pub(crate) fn new(device: &Device, no_library: Option<&anyhow::Error>) -> Self {
        Self {
            threads: device.info().threads,
            has_amx: device.peak_unit(Peak::Bf16Dot) == "AMX",
            has_fp16: device.peak_unit(Peak::F16Fma) != device.peak_unit(Peak::F32Fma),
            no_library: no_library.map(ToString::to_string),
        }
    }

    /// Whose code has no AMX.
    fn without_amx(&self) -> Option<&'static str> {
        self.has_amx.then_some("icelake-server")
    }
}

/// The names that a filter may have.
pub(crate) fn names(groups: &[Group]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for group in groups {
        names.extend(group.rows.iter().map(|row| row.workload));
    }
    names.dedup();
    names.join(", ")
}

/// The wanted rows of groups that have any.
pub(crate) fn wanted(mut groups: Vec<Group>, filter: &str) -> Vec<Group> {
    for group in &mut groups {
        group.rows.retain(|row| row.is_wanted(filter));
    }
    groups.retain(|group| !group.rows.is_empty());
    groups
}

/// The wanted rows of a processor.
pub(crate) fn all(machine: &Machine, is_quick: bool, filter: &str) -> Result<Vec<Group>> {
    let plan = Planner { machine, is_quick, filter };
    let mut groups = plan.ladder()?;
    groups.extend(plan.amx()?);
    groups.extend(plan.half()?);
    groups.extend(plan.staged()?);
    groups.extend(plan.workloads()?);
    let scaling = plan.scaling()?;
    groups.push(scaling);
    groups.extend(plan.costs());
    Ok(wanted(groups, filter))
}

struct Planner<'a> {
    machine: &'a Machine,
    is_quick: bool,
    filter: &'a str,
}

/// A way to write the multiplication and all the tiles to try.
pub(super) type Way = (Rung, Choices);

/// A group of rows on one multiplication, with the kernels that wanted rows look at.
pub(super) fn gemm(
    filter: &str,
    types: Types,
    size: Mnk,
    rows: Vec<(Row, Vec<Way>)>,
    on: On,
    change: impl Fn(Gemm) -> Gemm,
) -> Result<Option<Group>> {
    let (mut all, mut wanted) = (Vec::<Way>::new(), Vec::new());
    for (mut row, ways) in rows.into_iter().filter(|(row, _)| row.is_wanted(filter)) {
        let mut keys = Vec::new();
        for (rung, choices) in ways {
            let plan = Plan::new(rung, types, size, choices)?;
            let shape = plan.shape.map_or_else(String::new, |shape| shape.to_string());
            keys.push((rung.name().to_owned(), shape, plan.tile.to_string()));
            if !all.contains(&(rung, choices)) {
                all.push((rung, choices));
            }
        }
        row.kernels = Some(keys);
        wanted.push(row);
    }
    if wanted.is_empty() {
        return Ok(None);
    }
    let is_compared = wanted.iter().any(|row| row.value == Value::Versus);
    let against = if is_compared { Against::Library } else { Against::Nothing };
    let gemm: Box<dyn Workload> = Box::new(change(Gemm::new(types, size, &all)?));
    Ok(Some(Group { source: Source::Kernels(vec![gemm], On { against, ..on }), rows: wanted }))
}

impl Planner<'_> {
    fn size(&self) -> Mnk {
        Mnk::cube(if self.is_quick { 256 } else { 2048 })
    }

    /// The tile sizes of a rung that its problem allows.
    fn ways(&self, rung: Rung, types: Types, size: Mnk, shapes: &[Mnk], is_b_column_major: bool) -> Vec<Way> {
        let bytes = types.a.size_bytes() as u32;
        // Rows of 64 to 256 bytes. Sums of f16 are rounded in each step, which pays for longer ones.
        let steps: &[u32] = match (rung, bytes) {
            (Rung::Staged(_), 1) => &[64],
            (Rung::Staged(_), _) => &[32],
            (_, 1) => &[64, 128, 256],
            (Rung::Workgroup, 2) if types.c == types.a => &[64, 128, 256],
            (_, 2) => &[32, 64, 128],
            _ => &[32, 64],
        };
        let areas: &[(u32, u32)] = match rung {
            // Fewer copies; all sums still stay in the second cache.
            Rung::Shared => &[(256, 256), (256, 128), (128, 128), (256, 512), (512, 256)],
            _ => &[(256, 256), (256, 128), (128, 128)],
        };
        let tiles = areas.iter().flat_map(|&(m, n)| steps.iter().map(move |&k| Some(Mnk { m, n, k })));
        let tiles: Vec<Option<Mnk>> = if rung == Rung::Simple { vec![None] } else { tiles.collect() };
        let mut ways = Vec::new();
        for &shape in shapes {
            let choices = tiles.iter().map(|&tile| Choices {
                tile,
                shape: Some(shape),
                is_b_column_major,
                threads: u32::try_from(self.machine.threads).unwrap_or(u32::MAX),
                is_for_gpu: false,
            });
            let possible = choices.filter(|&choices| Plan::new(rung, types, size, choices).is_ok());
            let most = if self.is_quick { 1 } else { usize::MAX };
            ways.extend(possible.take(most).map(|choices| (rung, choices)));
        }
        ways
    }

    /// The ladder without AMX.
    fn ladder(&self) -> Result<Vec<Group>> {
        let size = self.size();
        let mut groups = Vec::new();
        for (text, bar, is_compared) in [
            ("f16", 0.90, true),
            ("f32", 0.90, true),
            ("bf16", 0.85, false),
            ("s8", 0.80, false),
            ("u8", 0.80, false),
            ("e4m3", 0.80, false),
            ("e5m2", 0.80, false),
        ] {
            let types: Types = text.parse()?;
            let small = |rung: Rung| self.ways(rung, types, size, &[DEFAULT_SHAPE], false);
            // Words hold one f16, two bf16 or four bytes.
            let depth = if matches!(text, "f16" | "f32") { 64 } else { 128 };
            let large = [DEFAULT_SHAPE, Mnk { m: 64, n: 64, k: depth }];
            let workgroup = || self.ways(Rung::Workgroup, types, size, &[DEFAULT_SHAPE], false);
            let shared = || self.ways(Rung::Shared, types, size, &large, false);
            let row = |rung: &str, bar: f64| Row::new(&format!("{rung} {types}"), "gemm", bar);
            let mut rows = Vec::new();
            if text == "f16" {
                for (rung, bar) in [(Rung::Simple, 0.50), (Rung::Tiled, 0.75), (Rung::Shared, 0.75)] {
                    rows.push((row(&format!("{rung} 16x16x16"), bar), small(rung)));
                }
            }
            rows.push((row("workgroup", bar), workgroup()));
            rows.push((row("best shared", bar), shared()));
            if is_compared && self.machine.no_library.is_none() {
                for (rung, ways) in [("workgroup", workgroup()), ("best shared", shared())] {
                    let row = row(&format!("versus oneDNN f32: {rung}"), 0.95);
                    rows.push((Row { value: Value::Versus, ..row }, ways));
                }
            }
            // A share of the f32 peak is wanted of 8-bit floats.
            let change = |gemm: Gemm| match text {
                "f16" => gemm.versus_f32(),
                "e4m3" | "e5m2" => gemm.with_peak(Peak::F32Fma),
                _ => gemm,
            };
            let processor = match text {
                "bf16" | "s8" | "u8" => self.machine.without_amx(),
                _ => None,
            };
            let on = On { processor, ..On::default() };
            groups.extend(gemm(self.filter, types, size, rows, on, change)?);
            if is_compared && let Some(reason) = &self.machine.no_library {
                let absent = ["workgroup", "best shared"].map(|rung| Row {
                    value: Value::Versus,
                    ..row(&format!("versus oneDNN f32: {rung}"), 0.95)
                });
                groups.push(Group { source: Source::Absent(reason.clone()), rows: absent.to_vec() });
            }
        }
        Ok(groups)
    }

    /// The ladder with AMX, beside the library.
    fn amx(&self) -> Result<Vec<Group>> {
        let size = Mnk::cube(if self.is_quick { 256 } else { 4096 });
        let mut groups = Vec::new();
        for text in ["bf16", "s8"] {
            let types: Types = text.parse()?;
            let all = self.machine.threads;
            let threads: &[usize] = if all == 1 { &[1] } else { &[1, all] };
            for &threads in threads {
                let row = Row {
                    value: Value::Versus,
                    ..Row::new(&format!("AMX {types}, threads: {threads}"), "amx", 0.85)
                };
                if !self.machine.has_amx {
                    groups.push(Group::of(Source::Absent("there is no AMX".to_owned()), row));
                    continue;
                }
                if let Some(reason) = &self.machine.no_library {
                    groups.push(Group::of(Source::Absent(reason.clone()), row));
                    continue;
                }
                // Tiles of a work-group were the fastest on each machine; others would add two minutes.
                let ways = self.ways(Rung::Workgroup, types, size, &[DEFAULT_SHAPE], false);
                let on = On { threads: Some(threads), ..On::default() };
                groups.extend(gemm(self.filter, types, size, vec![(row, ways)], on, |gemm| gemm)?);
            }
        }
        Ok(groups)
    }

    /// f16 in sums of f16, where the processor multiplies them so.
    fn half(&self) -> Result<Vec<Group>> {
        let row = Row::new("f16->f16 by AVX512-FP16", "gemm", 0.75);
        if !self.machine.has_fp16 {
            return Ok(vec![Group::of(Source::Absent("there is no AVX512-FP16".to_owned()), row)]);
        }
        let types: Types = "f16:f16".parse()?;
        let rungs = [Rung::Tiled, Rung::Shared, Rung::Workgroup];
        let shapes = [DEFAULT_SHAPE, Mnk::cube(64)];
        let ways = rungs.into_iter().flat_map(|rung| {
            let shapes = if rung == Rung::Workgroup { &shapes[..1] } else { &shapes[..] };
            self.ways(rung, types, self.size(), shapes, false)
        });
        let group =
            gemm(self.filter, types, self.size(), vec![(row, ways.collect())], On::default(), |gemm| gemm)?;
        Ok(group.into_iter().collect())
    }

    /// Kernels as programs for GPUs have them.
    fn staged(&self) -> Result<Vec<Group>> {
        let shapes = [
            Mnk::cube(8),
            Mnk { m: 16, n: 8, k: 16 },
            DEFAULT_SHAPE,
            Mnk { m: 16, n: 16, k: 32 },
            Mnk { m: 32, n: 32, k: 16 },
        ];
        let shapes = if self.is_quick { &shapes[1..3] } else { &shapes[..] };
        let rows = vec![
            Row { pick: Pick::Median, ..Row::new("staged as others write it, median", "staged", 0.60) },
            Row { pick: Pick::Worst, ..Row::new("staged as others write it, worst", "staged", 0.45) },
        ];
        if !rows.iter().any(|row| row.is_wanted(self.filter)) {
            return Ok(Vec::new());
        }
        let mut workloads: Vec<Box<dyn Workload>> = Vec::new();
        for types in ["f16", "bf16", "s8"] {
            let types: Types = types.parse()?;
            for is_b_column_major in [false, true] {
                let rungs = [Copies::Wide, Copies::Vec4, Copies::Scalar].map(Rung::Staged);
                let rungs = rungs.into_iter().filter(|rung| rung.supports(types));
                let ways =
                    rungs.flat_map(|rung| self.ways(rung, types, self.size(), shapes, is_b_column_major));
                workloads.push(Box::new(Gemm::new(types, self.size(), &ways.collect::<Vec<_>>())?));
            }
        }
        Ok(vec![Group { source: Source::Kernels(workloads, On::default()), rows }])
    }

    /// What the other workloads are to reach, as command lines of theirs.
    fn workloads(&self) -> Result<Vec<Group>> {
        let columns = if self.is_quick { "1,2" } else { "1,2,3,4,5,6,7,8" };
        let mut lines = vec![
            ("dequant", "dequant, decode", 0.80, "dequant --kernels decode,decode-vector".to_owned()),
            ("attention", "attention", 0.70, "attention".to_owned()),
            ("conv", "conv", 0.80, "conv".to_owned()),
            (
                "mlp",
                "cooperative-vector MLP",
                0.65,
                "mlp --kernels vector --types f16 --activations relu".to_owned(),
            ),
        ];
        let forms = || MatvecForm::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<(String, String)> = ["q4_0", "q8_0"]
            .into_iter()
            .flat_map(|blocks| forms().map(move |form| (blocks, form.get_name().to_owned())))
            .map(|(blocks, form)| {
                let line = format!("matvec --blocks {blocks} --kernels {form} --columns {columns}");
                (format!("matvec {blocks}, {form}, n = 1 to 8"), line)
            })
            .collect();
        lines.extend(names.iter().map(|(name, line)| ("matvec", name.as_str(), 0.70, line.clone())));
        let forms: Vec<(String, String)> = RowsForm::value_variants()
            .iter()
            .filter_map(ValueEnum::to_possible_value)
            .map(|form| (format!("rows: {}", form.get_name()), format!("rows --kernels {}", form.get_name())))
            .collect();
        lines.extend(forms.iter().map(|(name, line)| ("rows", name.as_str(), 0.60, line.clone())));
        let purpose = if self.is_quick { Purpose::Demo } else { Purpose::Bench };
        let mut groups = Vec::new();
        for (workload, name, bar, line) in lines {
            let row = Row { pick: Pick::Worst, ..Row::new(name, workload, bar) };
            if row.is_wanted(self.filter) {
                let line = WorkloadLine::read(&line)?;
                let (workloads, _) = line.problems(purpose)?;
                groups.push(Group::of(Source::Kernels(workloads, On::default()), row));
            }
        }
        Ok(groups)
    }

    fn scaling(&self) -> Result<Group> {
        let row = Row {
            value: Value::Threads,
            ..Row::new(&format!("{THREADS} threads against 1"), "threads", 13.0)
        };
        if self.machine.threads < THREADS {
            let reason = format!("it takes {THREADS} threads, there are {}", self.machine.threads);
            return Ok(Group::of(Source::Absent(reason), row));
        }
        let types = Types::DEFAULT[0];
        let ways = self.ways(Rung::Workgroup, types, self.size(), &[DEFAULT_SHAPE], false);
        let gemm = Gemm::new(types, self.size(), &ways)?;
        Ok(Group::of(Source::Scaling(Box::new(gemm)), row))
    }

    fn costs(&self) -> Vec<Group> {
        let compilation = |name: &str, bar: f64, pick: Pick| Row {
            value: Value::CompileMs,
            pick,
            ..Row::new(name, "compile", bar)
        };
        let rows = vec![
            compilation("compile time of the kernels above, median", 40.0, Pick::Median),
            compilation("compile time of the kernels above, worst", 150.0, Pick::Worst),
        ];
        let dispatch =
            Row { value: Value::DispatchUs, ..Row::new("a dispatch among others", "dispatch", 5.0) };
        vec![Group::of(Source::Dispatch, dispatch), Group { source: Source::Compilation, rows }]
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A row of all kernels.
    pub(crate) fn row(value: Value, pick: Pick, bar: f64) -> Row {
        Row { value, pick, ..Row::new("a row", "gemm", bar) }
    }

    fn machine(threads: usize, has_amx: bool) -> Machine {
        Machine { threads, has_amx, has_fp16: has_amx, no_library: None }
    }

    fn named(groups: &[Group]) -> Vec<&str> {
        groups.iter().flat_map(|group| group.rows.iter().map(|row| row.name.as_str())).collect()
    }

    fn is_absent(group: &Group) -> bool {
        matches!(group.source, Source::Absent(_))
    }

    #[test]
    fn rows_have_names_of_their_own_and_kernels_that_exist() {
        for is_quick in [true, false] {
            let groups = all(&machine(16, true), is_quick, "").expect("possible");
            let mut names = named(&groups);
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count);
            for group in &groups {
                let Source::Kernels(workloads, _) = &group.source else { continue };
                for row in &group.rows {
                    assert_ne!(row.kernels.as_ref().map(Vec::len), Some(0), "{}", row.name);
                }
                assert!(workloads.iter().all(|workload| !workload.kernels().is_empty()));
            }
        }
    }

    #[test]
    fn what_a_machine_lacks_is_named_and_what_it_has_is_measured() {
        let small = all(&machine(2, false), true, "").expect("possible");
        let large = all(&machine(16, true), true, "").expect("possible");
        assert_eq!(named(&small).len(), named(&large).len());
        let absent = |groups: &[Group]| groups.iter().filter(|group| is_absent(group)).count();
        // Four with AMX, one with AVX512-FP16, and that of 16 threads.
        assert_eq!(absent(&small), absent(&large) + 6);
        let processor = |groups: &[Group], name: &str| {
            let group = groups.iter().find(|group| group.rows.iter().any(|row| row.name == name));
            match group.map(|group| &group.source) {
                Some(Source::Kernels(_, on)) => on.processor,
                _ => Some("not measured"),
            }
        };
        assert_eq!(processor(&small, "workgroup bf16->f32"), None);
        assert_eq!(processor(&large, "workgroup bf16->f32"), Some("icelake-server"));
        assert_eq!(processor(&large, "f16->f16 by AVX512-FP16"), None);
        assert_eq!(processor(&large, "AMX bf16->f32, threads: 16"), None);
    }

    #[test]
    fn without_a_library_its_rows_say_so() {
        let machine = Machine { no_library: Some("none".to_owned()), ..machine(2, false) };
        let groups = all(&machine, true, "versus").expect("possible");
        assert_eq!(named(&groups).len(), 4);
        assert!(groups.iter().all(is_absent));
    }

    #[test]
    fn a_filter_leaves_kernels_out_that_nobody_looks_at() {
        let all_kernels = all(&machine(2, false), false, "gemm").expect("possible")[0].steps();
        let groups = all(&machine(2, false), false, "simple").expect("possible");
        assert_eq!(named(&groups), ["simple 16x16x16 f16->f32"]);
        assert!(groups[0].steps() == 1 && all_kernels > 20, "{all_kernels}");
        assert!(all(&machine(2, false), false, "nothing").expect("possible").is_empty());
        assert!(names(&all(&machine(2, false), true, "").expect("possible")).contains("gemm, amx"));
        // Seventy kernels in three tiles.
        assert_eq!(all(&machine(2, false), false, "staged").expect("possible")[0].steps(), 210);
    }
}

//! Runs kernels, times them, checks them: what the ladder and every workload have in common.
//!
//! A [`Workload`] is one problem and the kernels that solve it. Its data is made once, the independent result
//! is computed once, and every kernel runs on the same buffers. The result is filled with a pattern before the first
//! dispatch, so that an element which a kernel does not write is an error. The first dispatch warms up; those
//! after it are timed, a few at a time.
//!
//! A machine's clock changes many times in a second. So what bounds a kernel is measured, on the same number of threads,
//! before and after each few of its dispatches: their peak is the mean of the two, and of all these spells the one with
//! the middle share counts. A kernel that did nothing but what the peak is measured with has 100 % of it by this
//! measure, and anything between 94 and 115 % by that of the shortest dispatch and a peak beside it.

mod count;
mod peaks;
mod pipelines;
mod timing;

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use indicatif::ProgressBar;

pub(crate) use self::count::{Count, count};
pub(crate) use self::peaks::{Peak, Peaks};
pub(crate) use self::pipelines::compile;
pub(crate) use self::timing::{Beside, Effort, Spell, dispatch, time};
use crate::args::Relax;
use crate::data::{DType, check_place};
use crate::progress::{self, Interrupt};
use crate::record::{Record, STANDARD_OUTPUT, write_json};
use crate::reference::Comparison;
use crate::runtime::{Buffer, Choices, Device, DeviceKind, Pipeline};
use crate::versus::{Library, OptimalMatrix, Rival};
use crate::{Status, chart, memory, table, tell, warn};

/// For so long the peak is measured.
pub(crate) const PEAK_TIME: Duration = Duration::from_millis(4);

/// A problem, and the kernels that solve it.
pub(crate) trait Workload {
    fn subject(&self) -> Subject;

    fn kernels(&self) -> &[Kernel];

    /// What a dispatch is called where its time is worth telling.
    fn unit(&self) -> Option<&'static str> {
        None
    }

    /// M, N and K of one matrix of a kernel, by the kernel's number, where it has a choice.
    fn shape(&self, _kernel: usize) -> String {
        String::new()
    }

    /// The names of its first buffers, if the elements that kernels read from them are worth telling. The interpreter
    /// counts them.
    fn counted(&self) -> &[&'static str] {
        &[]
    }

    /// What its buffers take.
    fn buffer_bytes(&self) -> u64;

    /// Makes the data and computes the expected result, which may take long; nothing if it was interrupted.
    fn prepare(&self, device: &Device, watch: &Watch<'_>) -> Result<Option<Problem>>;

    /// The same problem, as another library has it; nothing if it has not.
    fn rival<'a>(&self, _problem: &Problem, _at: &Bench<'a>) -> Result<Option<Rival<'a>>> {
        Ok(None)
    }

    /// Matrices that a kernel reads in the layout that is optimal for inferencing, which each implementation has of its own.
    fn optimal(&self, _kernel: &Kernel) -> Result<Vec<OptimalMatrix>> {
        Ok(Vec::new())
    }

    /// Draws the result that is in the buffers, and says what of it is where.
    fn draw(&self, _problem: &Problem, _directory: &Path) -> Result<Option<String>> {
        Ok(None)
    }
}

/// What a problem is, as the records tell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Subject {
    pub(crate) workload: &'static str,
    /// In words: `4096 tokens, 1 head of 128, causal`.
    pub(crate) problem: String,
    /// The type of the factors.
    pub(crate) a: DType,
    /// The type of the sums.
    pub(crate) c: DType,
    /// M, N and K of the product of matrices that it is, or that it is made of.
    pub(crate) size: [u32; 3],
    /// Additions and multiplications.
    pub(crate) operations: f64,
    /// What bounds the best implementation.
    pub(crate) peak: Peak,
}

/// A specialisation constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Constant {
    U32(u32),
    Bool(bool),
}

impl Constant {
    /// As Vulkan is told it.
    fn bits(self) -> u32 {
        match self {
            Self::U32(value) => value,
            Self::Bool(value) => value.into(),
        }
    }
}

/// What a kernel is written in, complete in itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Glsl(String),
    Mlir {
        text: String,
        /// The name of the function.
        entry: &'static str,
    },
}

/// One way to solve a problem: its source, and everything that a dispatch needs beside its buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    /// What a work-group computes and the step along K: `128x128x32`.
    pub(crate) tile: String,
    pub(crate) source: Source,
    pub(crate) definitions: Vec<(&'static str, String)>,
    pub(crate) constants: Vec<(u32, Constant)>,
    /// Or the device's largest, if that is smaller.
    pub(crate) subgroup_size: u32,
    pub(crate) groups: [u32; 3],
    pub(crate) push_constants: Vec<u8>,
    /// What is dispatched behind it on the same buffers, as a part of it.
    pub(crate) then: Option<Box<Kernel>>,
}

impl Kernel {
    /// All that is dispatched for it.
    pub(crate) fn passes(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |kernel| kernel.then.as_deref())
    }
}

/// The data of a workload on the device.
pub(crate) struct Problem {
    /// In set 0, from binding 0 on. The last one takes the result.
    pub(crate) buffers: Vec<Buffer>,
    /// What stands in for the first buffer in turn, a dispatch each, so that none finds it in a cache.
    copies: Vec<Buffer>,
    /// Dispatches so far.
    turn: Cell<usize>,
    /// Compares what is in the buffers with the expected result.
    pub(crate) check: Check,
}

/// Judges what a kernel left in the buffers.
pub(crate) type Check = Box<dyn Fn(&[Buffer]) -> Result<Comparison>>;

/// What kernels are measured on, and beside what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bench<'a> {
    pub(crate) device: &'a Device,
    pub(crate) versus: Option<&'a Library>,
    pub(crate) effort: Effort,
}

/// The user's side of long work: what is told, and whether it shall end.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    pub(crate) bar: &'a ProgressBar,
    pub(crate) interrupt: &'a Interrupt,
}

/// Where records, a chart and pictures go.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Outputs<'a> {
    pub(crate) json: Option<&'a Path>,
    pub(crate) svg: Option<&'a Path>,
    /// The directory of pictures.
    pub(crate) pictures: Option<&'a Path>,
}

/// Measures all workloads and reports what was done, even if it was cut short.
pub(crate) fn run(
    workloads: &[Box<dyn Workload>],
    kind: DeviceKind,
    threads: Option<usize>,
    relax: Option<Relax>,
    versus: Option<&Library>,
    outputs: Outputs<'_>,
) -> Result<Status> {
    outputs.check()?;
    for workload in workloads {
        memory::check(workload.buffer_bytes()).with_context(|| called(&workload.subject()))?;
    }
    let device = Device::of_kind(kind, Choices { threads, relax, ..Choices::default() })?;
    let bench = Bench { device: &device, versus, effort: Effort::FULL };
    let relaxed_accumulation = relax == Some(Relax::Accumulate);
    let threads = device.info().threads;
    let kernels: Vec<(&dyn Workload, &Kernel)> = workloads
        .iter()
        .flat_map(|workload| workload.kernels().iter().map(move |kernel| (&**workload, kernel)))
        .collect();
    let interrupt = Interrupt::listen()?;
    let bar = progress::bar(kernels.len());
    // All before there is data: compilers need more memory than small problems.
    let watch = Watch { bar: &bar, interrupt: &interrupt };
    let names: Vec<&str> = kernels.iter().map(|(workload, _)| workload.subject().workload).collect();
    let named: Vec<(&str, &Kernel)> =
        names.into_iter().zip(kernels.iter().map(|(_, kernel)| *kernel)).collect();
    let Some(pipelines) = compile(&device, &named, &watch)? else { return Ok(Status::Interrupted) };
    let mut done = Done::default();
    let outcome = measure(&bench, workloads, &pipelines, &watch, outputs.pictures, &mut done);
    let outcome = outcome.and_then(|()| count_all(workloads, &watch, &mut done));
    bar.finish_and_clear();
    let is_output_taken = outputs.json == Some(Path::new(STANDARD_OUTPUT));
    let mut records = done.records;
    for record in &mut records {
        record.relaxed_accumulation = relaxed_accumulation;
    }
    for (record, count) in records.iter_mut().zip(&done.counts) {
        if let Some(Count { read, ok }) = count {
            (record.elements_read, record.ok) = (read.clone(), record.ok && *ok);
        }
    }
    if !records.is_empty() {
        let noun = match (device.is_gpu(), threads) {
            (true, _) => "multiprocessors",
            (false, 1) => "thread",
            (false, _) => "threads",
        };
        let leave = if relaxed_accumulation { ", relaxed accumulation" } else { "" };
        tell(format!("{}, {threads} {noun}{leave}", device.info().name), is_output_taken)?;
        tell(table::ladder(&records), is_output_taken)?;
        if let Some(reads) = table::reads(&records) {
            tell(reads, is_output_taken)?;
        }
        for (record, (workload, _)) in records.iter().zip(&kernels) {
            if let Some(unit) = workload.unit() {
                let time = format!("{}: {:.3} ms for a {unit}", record.rung, 1e3 * record.seconds);
                tell(time, is_output_taken)?;
            }
        }
        if let Some(path) = outputs.json {
            write_json(path, &records)?;
        }
        if let Some(path) = outputs.svg {
            chart::write_svg(path, &records)?;
        }
    }
    for picture in &done.pictures {
        tell(picture, is_output_taken)?;
    }
    outcome?;
    if records.len() < kernels.len() {
        return Ok(Status::Interrupted);
    }
    Ok(if records.iter().all(|record| record.ok) { Status::Done } else { Status::Wrong })
}

impl Outputs<'_> {
    fn check(&self) -> Result<()> {
        let files = [self.json, self.svg].into_iter().flatten();
        files.filter(|path| *path != Path::new(STANDARD_OUTPUT)).try_for_each(check_place)?;
        if let Some(directory) = self.pictures {
            ensure!(directory.is_dir(), "there is no directory {}", directory.display());
        }
        Ok(())
    }
}

fn called(subject: &Subject) -> String {
    format!("{} {}->{} {}", subject.workload, subject.a, subject.c, subject.problem)
}

/// What was finished.
#[derive(Debug, Default)]
struct Done {
    records: Vec<Record>,
    /// What was counted, of each kernel or of none.
    counts: Vec<Option<Count>>,
    /// What was drawn.
    pictures: Vec<String>,
}

fn measure(
    bench: &Bench<'_>,
    workloads: &[Box<dyn Workload>],
    pipelines: &[Vec<Pipeline>],
    watch: &Watch<'_>,
    pictures: Option<&Path>,
    done: &mut Done,
) -> Result<()> {
    let mut pipelines = pipelines.iter();
    for workload in workloads {
        let own: Vec<&[Pipeline]> =
            pipelines.by_ref().take(workload.kernels().len()).map(Vec::as_slice).collect();
        let problem = measure_one(bench, &**workload, &own, watch, &mut done.records)?;
        let Some(problem) = problem else { return Ok(()) };
        if let Some(directory) = pictures {
            done.pictures.extend(workload.draw(&problem, directory)?);
        }
    }
    Ok(())
}

/// Measures the kernels of one workload, of which these are the pipelines, and adds the record of each; nothing if it was
/// interrupted.
fn measure_one(
    bench: &Bench<'_>,
    workload: &dyn Workload,
    pipelines: &[&[Pipeline]],
    watch: &Watch<'_>,
    records: &mut Vec<Record>,
) -> Result<Option<Problem>> {
    watch.bar.set_message(format!("{}: computing the expected result", called(&workload.subject())));
    let Some(problem) = workload.prepare(bench.device, watch)? else { return Ok(None) };
    let on = On { bench, workload, problem: &problem, watch };
    let mut glances = Vec::new();
    if bench.effort.is_for_the_best {
        for (index, pipelines) in pipelines.iter().enumerate() {
            let Some(record) = on.measure(index, pipelines, Effort::GLANCE, None)? else { return Ok(None) };
            glances.push(record);
        }
    }
    let mut rival = workload.rival(&problem, bench)?;
    for (index, pipelines) in pipelines.iter().enumerate() {
        let record = match glances.get(index) {
            Some(glance) if !may_be_best(glance, &glances) => Some(glance.clone()),
            _ => on.measure(index, pipelines, bench.effort, rival.as_mut())?,
        };
        let Some(record) = record else { return Ok(None) };
        records.push(record);
        watch.bar.inc(1);
    }
    Ok(Some(problem))
}

/// A kernel that has less than this share of another's speed in one spell is not the faster of the two.
const CLOSE: f64 = 0.9;

/// Whether a kernel may be the best of those that differ from it in nothing but their tile.
fn may_be_best(glance: &Record, glances: &[Record]) -> bool {
    let is_same = |other: &Record| (&other.rung, &other.shape) == (&glance.rung, &glance.shape);
    let is_close = |other: &Record| glance.share_of_peak >= CLOSE * other.share_of_peak;
    glances.iter().all(|other| !is_same(other) || is_close(other))
}

/// What the kernels of a workload are measured on.
struct On<'a, 'lib> {
    bench: &'a Bench<'lib>,
    workload: &'a dyn Workload,
    problem: &'a Problem,
    watch: &'a Watch<'a>,
}

impl<'lib> On<'_, 'lib> {
    /// The record of a kernel by its number; nothing if it was interrupted. What is more than glanced at is compared with a
    /// library's product, or with what another library makes of the kernel.
    fn measure(
        &self,
        index: usize,
        pipelines: &[Pipeline],
        effort: Effort,
        rival: Option<&mut Rival<'lib>>,
    ) -> Result<Option<Record>> {
        let Self { bench: &Bench { device, .. }, workload, problem, watch } = *self;
        let Watch { bar, interrupt } = watch;
        if interrupt.is_set() {
            return Ok(None);
        }
        let subject = workload.subject();
        let kernel = workload.kernels().get(index).context("each pipeline is a kernel's")?;
        let (called, shape) = (called(&subject), workload.shape(index));
        bar.set_message(format!("{called}: {} {shape} in {}", kernel.name, kernel.tile));
        let peak = || device.peak(subject.peak.on(device, subject.a), PEAK_TIME);
        let mut elsewhere = match self.bench.versus {
            Some(library) if effort != Effort::GLANCE => problem
                .blank()
                .and_then(|()| pipelines::elsewhere(library, device, problem, workload, kernel)),
            _ => Ok(None),
        }
        .unwrap_or_else(|error| {
            // What others make of it is no reason not to measure ours.
            bar.suspend(|| warn(format!("{called}: {} is not compared: {error:#}", kernel.name)));
            None
        });
        let rival = elsewhere.as_mut().or(rival);
        let versus = rival.as_ref().map(|rival| rival.name().to_owned());
        let mut beside = Beside { peak: &peak, rival, effort };
        let timing = problem.time(device, pipelines, kernel, interrupt, &mut beside);
        let timing = timing.with_context(|| format!("{} for {called}", kernel.name))?;
        Ok(timing.map(|timing| Record { shape, versus, ..timing.record(&subject, kernel, device) }))
    }
}

/// Compiles and measures the kernels of one workload, and adds the record of each; whether it came to its end.
pub(crate) fn records_of(
    bench: &Bench<'_>,
    workload: &dyn Workload,
    watch: &Watch<'_>,
    records: &mut Vec<Record>,
) -> Result<bool> {
    let name = workload.subject().workload;
    let kernels: Vec<(&str, &Kernel)> = workload.kernels().iter().map(|kernel| (name, kernel)).collect();
    memory::check(workload.buffer_bytes()).with_context(|| called(&workload.subject()))?;
    let Some(pipelines) = compile(bench.device, &kernels, watch)? else { return Ok(false) };
    let pipelines: Vec<&[Pipeline]> = pipelines.iter().map(Vec::as_slice).collect();
    Ok(measure_one(bench, workload, &pipelines, watch, records)?.is_some())
}

/// Counts what kernels read whose workloads want it told.
fn count_all(workloads: &[Box<dyn Workload>], watch: &Watch<'_>, done: &mut Done) -> Result<()> {
    if workloads.iter().all(|workload| workload.counted().is_empty()) || watch.interrupt.is_set() {
        return Ok(());
    }
    for workload in workloads {
        let kernels = workload.kernels().len();
        if workload.counted().is_empty() {
            done.counts.extend(std::iter::repeat_n(None, kernels));
            continue;
        }
        let Some(counts) = count(&**workload, watch)? else { return Ok(()) };
        done.counts.extend(counts.into_iter().map(Some));
    }
    Ok(())
}

impl Problem {
    pub(crate) fn new(
        buffers: Vec<Buffer>,
        check: impl Fn(&[Buffer]) -> Result<Comparison> + 'static,
    ) -> Self {
        Self { buffers, copies: Vec::new(), turn: Cell::new(0), check: Box::new(check) }
    }

    /// The same, with copies of the first buffer for the next dispatches.
    pub(crate) fn with_copies(self, copies: Vec<Buffer>) -> Self {
        Self { copies, ..self }
    }

    /// The buffers of the next dispatch.
    fn in_turn(&self) -> Vec<&Buffer> {
        let turn = self.turn.replace(self.turn.get() + 1) % (self.copies.len() + 1);
        let mut buffers: Vec<&Buffer> = self.buffers.iter().collect();
        if let (Some(first), Some(copy)) =
            (buffers.first_mut(), turn.checked_sub(1).map(|copy| &self.copies[copy]))
        {
            *first = copy;
        }
        buffers
    }

    /// The buffer that takes the result.
    pub(crate) fn result(&self) -> Result<&Buffer> {
        self.buffers.last().context("a problem has a buffer for its result")
    }
}

/// On how many threads a measurement will run.
pub(crate) fn threads(wanted: Option<usize>) -> Result<u32> {
    Ok(u32::try_from(Device::new(wanted)?.info().threads)?)
}

/// A buffer with these bytes, which the host then holds no longer.
pub(crate) fn upload(device: &Device, bytes: Vec<u8>) -> Result<Buffer> {
    let buffer = device.create_buffer(bytes.len())?;
    buffer.write(0, &bytes)?;
    Ok(buffer)
}

/// A source with the files that it includes put in: the program carries its shaders with it and has no directory to
/// include from.
pub(crate) fn with_includes(source: &str, files: &[(&str, &str)]) -> String {
    files
        .iter()
        .fold(source.to_owned(), |source, (name, text)| source.replace(&format!("#include \"{name}\""), text))
}

/// A module of MLIR with other sizes: lines such as `#width = 58 : index` or `!image = memref<3364x64xf16>` define them as
/// aliases, which `sizes` names with what is to stand behind the `=`.
pub(crate) fn with_aliases(source: &str, sizes: &[(&str, String)]) -> String {
    let line = |line: &str| {
        let size =
            line.split_once(" = ").and_then(|(name, _)| sizes.iter().find(|(known, _)| *known == name));
        size.map_or_else(|| format!("{line}\n"), |(name, size)| format!("{name} = {size}\n"))
    };
    source.lines().map(line).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use anyhow::bail;

    /// Runs every kernel of a workload once, on one thread, and says how right each was.
    fn run_once(workload: &dyn Workload, backend: DeviceKind) -> Vec<(String, Comparison)> {
        let device = Device::of_kind(backend, Choices { threads: Some(1), ..Choices::default() })
            .expect("there is one");
        let problem = prepare(workload, &device);
        let kernels: Vec<(&str, &Kernel)> =
            workload.kernels().iter().map(|kernel| (workload.subject().workload, kernel)).collect();
        let (bar, interrupt) = (ProgressBar::hidden(), Interrupt::never());
        let watch = Watch { bar: &bar, interrupt: &interrupt };
        let pipelines = compile(&device, &kernels, &watch).expect("they compile").expect("nobody interrupts");
        let run = |(kernel, pipelines): (&Kernel, &Vec<Pipeline>)| {
            problem.blank().expect("writable");
            problem.dispatch(&device, pipelines, kernel, None).expect("it runs");
            (kernel.name.clone(), (problem.check)(&problem.buffers).expect("readable"))
        };
        workload.kernels().iter().zip(&pipelines).map(run).collect()
    }

    #[test]
    fn tiles_that_were_slow_at_a_glance_are_out_and_other_kernels_are_not() {
        use crate::record::tests::sample;
        let glances =
            [("a", 100.0), ("a", 91.0), ("a", 89.0), ("b", 50.0)].map(|(rung, rate)| sample(rung, rate));
        let is_in = glances.each_ref().map(|glance| may_be_best(glance, &glances));
        assert_eq!(is_in, [true, true, false, true]);
    }

    /// Asserts that every kernel of a workload is right.
    pub(crate) fn assert_right(workload: &dyn Workload) {
        assert_right_on(DeviceKind::Cpu, workload);
    }

    /// The same, on the interpreter too, which is slow.
    pub(crate) fn assert_right_everywhere(workload: &dyn Workload) {
        assert_right_on(DeviceKind::Cpu, workload);
        assert_right_on(DeviceKind::Interpreter, workload);
    }

    fn assert_right_on(backend: DeviceKind, workload: &dyn Workload) {
        for (name, verdict) in run_once(workload, backend) {
            let problem = workload.subject().problem;
            assert!(verdict.ok, "{name} on {backend:?}, {problem}: {verdict:?}");
        }
    }

    #[test]
    fn copies_take_the_place_of_the_first_buffer_in_turn() {
        let device = Device::new(Some(1)).expect("there is one");
        let buffer = |size| device.create_buffer(size).expect("small");
        let check = |_: &[Buffer]| bail!("nobody asks");
        let problem =
            Problem::new(vec![buffer(64), buffer(128)], check).with_copies(vec![buffer(192), buffer(256)]);
        let sizes = |buffers: Vec<&Buffer>| buffers.into_iter().map(Buffer::size).collect::<Vec<_>>();
        for first in [64, 192, 256, 64] {
            assert_eq!(sizes(problem.in_turn()), [first, 128]);
        }
    }

    pub(crate) fn prepare(workload: &dyn Workload, device: &Device) -> Problem {
        let (bar, interrupt) = (ProgressBar::hidden(), Interrupt::never());
        let watch = Watch { bar: &bar, interrupt: &interrupt };
        let problem = workload.prepare(device, &watch).expect("possible").expect("not interrupted");
        let (bytes, told) = (
            problem.buffers.iter().chain(&problem.copies).map(|buffer| buffer.size() as u64).sum::<u64>(),
            workload.buffer_bytes(),
        );
        assert!(told <= bytes && bytes <= told + (1 << 20), "{told} bytes were told, {bytes} are taken");
        problem
    }
}

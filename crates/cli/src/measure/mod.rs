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

mod peaks;
mod pipelines;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use indicatif::ProgressBar;

pub(crate) use self::peaks::{Peak, Peaks};
use self::pipelines::compile;
use crate::data::{DType, check_place};
use crate::progress::{self, Interrupt};
use crate::record::{Record, STANDARD_OUTPUT, write_json};
use crate::reference::Comparison;
use crate::runtime::{self, Binding, Buffer, Device, Dispatch, Pipeline};
use crate::{Status, chart, memory, table, tell};

/// Timed dispatches go on until both are reached …
const MIN_DISPATCHES: usize = 5;
const MIN_TIME: Duration = Duration::from_millis(600);
/// … or one of these is.
const MAX_DISPATCHES: usize = 1000;
const MAX_TIME: Duration = Duration::from_secs(3);

/// After so much of it the peak is measured, for so long.
const SPELL: Duration = Duration::from_millis(40);
const PEAK_TIME: Duration = Duration::from_millis(4);

/// No kernel takes longer; one that does is stuck.
const TIMEOUT: Duration = Duration::from_secs(300);

/// What the result holds before a kernel writes it: NaN in every floating-point type.
const PATTERN: u8 = 0xff;

/// Bytes of it that are written at a time.
const PIECE: usize = 1 << 20;

/// A problem, and the kernels that solve it.
pub(crate) trait Workload {
    fn subject(&self) -> Subject;

    fn kernels(&self) -> &[Kernel];

    /// What its buffers take.
    fn buffer_bytes(&self) -> u64;

    /// Makes the data and computes the expected result, which may take long; nothing if it was interrupted.
    fn prepare(&self, device: &Device, watch: &Watch<'_>) -> Result<Option<Problem>>;

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

/// One way to solve a problem: GLSL, and everything that a dispatch needs beside its buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    /// What a work-group computes and the step along K: `128x128x32`.
    pub(crate) tile: String,
    /// The GLSL, complete in itself.
    pub(crate) source: String,
    pub(crate) definitions: Vec<(&'static str, String)>,
    pub(crate) constants: Vec<(u32, Constant)>,
    pub(crate) subgroup_size: u32,
    pub(crate) groups: [u32; 3],
    pub(crate) push_constants: Vec<u8>,
}

/// The data of a workload on the device.
pub(crate) struct Problem {
    /// In set 0, from binding 0 on. The last one takes the result.
    pub(crate) buffers: Vec<Buffer>,
    /// Compares what is in the buffers with the expected result.
    pub(crate) check: Check,
}

/// Judges what a kernel left in the buffers.
pub(crate) type Check = Box<dyn Fn(&[Buffer]) -> Result<Comparison>>;

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

/// What a kernel did on a problem.
#[derive(Debug)]
struct Timing {
    seconds: f64,
    /// What the machine could do then, in 10⁹ operations a second.
    peak_gflops: f64,
    max_rel_error: f64,
    is_ok: bool,
    compile_time: Duration,
}

/// Measures all workloads and reports what was done, even if it was cut short.
pub(crate) fn run(
    workloads: &[Box<dyn Workload>],
    threads: Option<usize>,
    outputs: Outputs<'_>,
) -> Result<Status> {
    outputs.check()?;
    for workload in workloads {
        memory::check(workload.buffer_bytes()).with_context(|| called(&workload.subject()))?;
    }
    let device = Device::new(threads)?;
    let threads = device.info().threads;
    let kernels: Vec<(&dyn Workload, &Kernel)> = workloads
        .iter()
        .flat_map(|workload| workload.kernels().iter().map(move |kernel| (&**workload, kernel)))
        .collect();
    let interrupt = Interrupt::listen()?;
    let bar = progress::bar(kernels.len());
    // All before there is data: compilers need more memory than small problems.
    let watch = Watch { bar: &bar, interrupt: &interrupt };
    let Some(pipelines) = compile(&device, &kernels, &watch)? else { return Ok(Status::Interrupted) };
    let mut done = Done::default();
    let outcome = measure(&device, workloads, &pipelines, &watch, outputs.pictures, &mut done);
    bar.finish_and_clear();
    let is_output_taken = outputs.json == Some(Path::new(STANDARD_OUTPUT));
    let records: Vec<Record> = done
        .timings
        .iter()
        .zip(&kernels)
        .map(|(timing, (workload, kernel))| timing.record(&workload.subject(), kernel, threads))
        .collect();
    if !records.is_empty() {
        let noun = if threads == 1 { "thread" } else { "threads" };
        tell(format!("{}, {threads} {noun}", device.info().name), is_output_taken)?;
        tell(table::ladder(&records), is_output_taken)?;
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
    timings: Vec<Timing>,
    /// What was drawn.
    pictures: Vec<String>,
}

fn measure(
    device: &Device,
    workloads: &[Box<dyn Workload>],
    pipelines: &[Pipeline],
    watch: &Watch<'_>,
    pictures: Option<&Path>,
    done: &mut Done,
) -> Result<()> {
    let Watch { bar, interrupt } = watch;
    let mut pipelines = pipelines.iter();
    for workload in workloads {
        let subject = workload.subject();
        let called = called(&subject);
        bar.set_message(format!("{called}: computing the expected result"));
        let Some(problem) = workload.prepare(device, watch)? else { return Ok(()) };
        for (kernel, pipeline) in workload.kernels().iter().zip(&mut pipelines) {
            if interrupt.is_set() {
                return Ok(());
            }
            bar.set_message(format!("{called}: {}", kernel.name));
            let peak = || runtime::peak(subject.peak, device.info().threads, PEAK_TIME);
            let timing = problem.time(device, pipeline, kernel, interrupt, &peak);
            let timing = timing.with_context(|| format!("{} for {called}", kernel.name))?;
            let Some(timing) = timing else { return Ok(()) };
            done.timings.push(timing);
            bar.inc(1);
        }
        if let Some(directory) = pictures {
            done.pictures.extend(workload.draw(&problem, directory)?);
        }
    }
    Ok(())
}

/// A few dispatches, one after the other.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spell {
    /// That one of them took.
    seconds: f64,
    /// What the machine could do then, in 10⁹ operations a second.
    peak_gflops: f64,
}

/// The one whose share of the peak is in the middle.
fn middle(mut spells: Vec<Spell>) -> Option<Spell> {
    // Time times peak: the inverse of the share.
    spells.sort_by(|x, y| (x.seconds * x.peak_gflops).total_cmp(&(y.seconds * y.peak_gflops)));
    spells.get(spells.len() / 2).copied()
}

impl Problem {
    /// The buffer that takes the result.
    pub(crate) fn result(&self) -> Result<&Buffer> {
        self.buffers.last().context("a problem has a buffer for its result")
    }

    /// Runs, checks and times a kernel; nothing if it was interrupted.
    fn time(
        &self,
        device: &Device,
        pipeline: &Pipeline,
        kernel: &Kernel,
        interrupt: &Interrupt,
        peak: &dyn Fn() -> f64,
    ) -> Result<Option<Timing>> {
        self.blank()?;
        let mut before = peak();
        let Some(warm_up) = self.dispatch(device, pipeline, kernel, Some(interrupt))? else {
            return Ok(None);
        };
        let first = (self.check)(&self.buffers)?;

        let mut spells = Vec::new();
        let (mut total, mut count) = (warm_up, 0);
        let is_enough = |total, count| {
            count >= MAX_DISPATCHES || total >= MAX_TIME || count >= MIN_DISPATCHES && total >= MIN_TIME
        };
        while !is_enough(total, count) {
            let (mut time, mut dispatches) = (Duration::ZERO, 0);
            while time < SPELL && !is_enough(total, count) {
                let elapsed = self.dispatch(device, pipeline, kernel, Some(interrupt))?;
                let Some(elapsed) = elapsed else { return Ok(None) };
                time += elapsed;
                dispatches += 1;
                total += elapsed;
                count += 1;
            }
            let after = peak();
            spells.push(Spell {
                seconds: time.as_secs_f64() / f64::from(dispatches),
                peak_gflops: (before + after) / 2.0,
            });
            before = after;
        }
        // A slow kernel is not run again only to be warm: its first dispatch is as good as any.
        let first_only = || Spell { seconds: warm_up.as_secs_f64(), peak_gflops: (before + peak()) / 2.0 };
        let Spell { seconds, peak_gflops } = middle(spells).unwrap_or_else(first_only);
        let last = (self.check)(&self.buffers)?;
        Ok(Some(Timing {
            seconds,
            peak_gflops,
            max_rel_error: first.max_rel_error.max(last.max_rel_error),
            is_ok: first.ok && last.ok,
            compile_time: pipeline.compile_time(),
        }))
    }

    /// Fills the result with a pattern that no right result has.
    fn blank(&self) -> Result<()> {
        let result = self.result()?;
        for start in (0..result.size()).step_by(PIECE) {
            result.write(start, &vec![PATTERN; PIECE.min(result.size() - start)])?;
        }
        Ok(())
    }

    /// The time of one dispatch; nothing if it was interrupted.
    fn dispatch(
        &self,
        device: &Device,
        pipeline: &Pipeline,
        kernel: &Kernel,
        interrupt: Option<&Interrupt>,
    ) -> Result<Option<Duration>> {
        let bindings: Vec<Binding<'_>> = (0..)
            .zip(&self.buffers)
            .map(|(binding, buffer)| Binding { set: 0, binding, index: 0, buffer })
            .collect();
        let report = device.dispatch(Dispatch {
            pipeline,
            groups: kernel.groups,
            bindings: &bindings,
            push_constants: &kernel.push_constants,
            timeout: Some(TIMEOUT),
            cancel: interrupt.map(Interrupt::token),
        });
        match report {
            Err(_cancelled) if interrupt.is_some_and(Interrupt::is_set) => Ok(None),
            report => Ok(Some(report?.elapsed)),
        }
    }
}

impl Timing {
    fn record(&self, subject: &Subject, kernel: &Kernel, threads: usize) -> Record {
        let [m, n, k] = subject.size;
        let gflops = subject.operations / self.seconds / 1e9;
        Record {
            workload: subject.workload.to_owned(),
            problem: subject.problem.clone(),
            rung: kernel.name.clone(),
            a: subject.a.to_string(),
            c: subject.c.to_string(),
            m,
            n,
            k,
            tile: kernel.tile.clone(),
            threads,
            seconds: self.seconds,
            operations: subject.operations,
            gflops,
            peak_gflops: self.peak_gflops,
            share_of_peak: gflops / self.peak_gflops,
            // JSON has no infinity.
            max_rel_error: self.max_rel_error.min(f64::MAX),
            ok: self.is_ok,
            compile_ms: 1e3 * self.compile_time.as_secs_f64(),
        }
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::args::Backend;

    /// Runs every kernel of a workload once, on one thread, and says how right each was.
    fn run_once(workload: &dyn Workload, backend: Backend) -> Vec<(String, Comparison)> {
        let device = Device::of_kind(backend, Some(1)).expect("there is one");
        let problem = prepare(workload, &device);
        let kernels: Vec<(&dyn Workload, &Kernel)> =
            workload.kernels().iter().map(|kernel| (workload, kernel)).collect();
        let (bar, interrupt) = (ProgressBar::hidden(), Interrupt::never());
        let watch = Watch { bar: &bar, interrupt: &interrupt };
        let pipelines = compile(&device, &kernels, &watch).expect("they compile").expect("nobody interrupts");
        let run = |(kernel, pipeline): (&Kernel, &Pipeline)| {
            problem.blank().expect("writable");
            problem.dispatch(&device, pipeline, kernel, None).expect("it runs");
            (kernel.name.clone(), (problem.check)(&problem.buffers).expect("readable"))
        };
        workload.kernels().iter().zip(&pipelines).map(run).collect()
    }

    /// Asserts that every kernel of a workload is right.
    pub(crate) fn assert_right(workload: &dyn Workload) {
        assert_right_on(Backend::Cpu, workload);
    }

    /// The same, on the interpreter too, which is slow.
    pub(crate) fn assert_right_everywhere(workload: &dyn Workload) {
        assert_right_on(Backend::Cpu, workload);
        assert_right_on(Backend::Interpreter, workload);
    }

    fn assert_right_on(backend: Backend, workload: &dyn Workload) {
        for (name, verdict) in run_once(workload, backend) {
            let problem = workload.subject().problem;
            assert!(verdict.ok, "{name} on {backend:?}, {problem}: {verdict:?}");
        }
    }

    pub(crate) fn prepare(workload: &dyn Workload, device: &Device) -> Problem {
        let (bar, interrupt) = (ProgressBar::hidden(), Interrupt::never());
        let watch = Watch { bar: &bar, interrupt: &interrupt };
        let problem = workload.prepare(device, &watch).expect("possible").expect("not interrupted");
        let (bytes, told) =
            (problem.buffers.iter().map(|buffer| buffer.size() as u64).sum::<u64>(), workload.buffer_bytes());
        assert!(told <= bytes && bytes <= told + (1 << 20), "{told} bytes were told, {bytes} are taken");
        problem
    }

    #[test]
    fn the_middle_share_counts() {
        let spell = |seconds, peak_gflops| Spell { seconds, peak_gflops };
        assert_eq!(middle(Vec::new()), None);
        assert_eq!(middle(vec![spell(2.0, 1.0)]), Some(spell(2.0, 1.0)));
        // Half as long when the machine is twice as fast is the same share.
        let spells =
            vec![spell(1.0, 9.0), spell(2.0, 2.0), spell(1.0, 1.0), spell(4.0, 2.0), spell(1.0, 5.0)];
        assert_eq!(middle(spells), Some(spell(1.0, 5.0)));
    }

    #[test]
    fn a_record_counts_the_operations() {
        let subject = Subject {
            workload: "gemm",
            problem: "512³".to_owned(),
            a: DType::F16,
            c: DType::F32,
            size: [512; 3],
            operations: 2.0 * 512.0_f64.powi(3),
            peak: Peak::F32Fma,
        };
        let kernel = Kernel {
            name: "tiled".to_owned(),
            tile: "256x256x64".to_owned(),
            source: String::new(),
            definitions: Vec::new(),
            constants: Vec::new(),
            subgroup_size: 32,
            groups: [1; 3],
            push_constants: Vec::new(),
        };
        let timing = Timing {
            seconds: 0.001,
            peak_gflops: 536.870_912,
            max_rel_error: f64::INFINITY,
            is_ok: false,
            compile_time: Duration::from_millis(7),
        };
        let record = timing.record(&subject, &kernel, 2);
        assert!((record.gflops - 268.435_456).abs() < 1e-9);
        assert!((record.share_of_peak - 0.5).abs() < 1e-9);
        assert_eq!((record.compile_ms, record.tile.as_str()), (7.0, "256x256x64"));
        assert_eq!((record.max_rel_error, record.ok), (f64::MAX, false));
    }
}

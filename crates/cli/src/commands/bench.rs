//! `phalanx bench` and `phalanx demo`: the ladder, measured and checked.
//!
//! For each size and pair of types, random matrices are made once, the independent result is computed once, and every
//! rung runs on the same buffers. D is filled with a pattern before the first dispatch, so that an element which a
//! kernel does not write is an error. The first dispatch warms up; the shortest of those after it counts. The peaks
//! are measured in the same run, on the same number of threads, before the ladder and after it; the larger of both
//! counts, so that a machine which was busy at the beginning makes no rung look better than it is.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use indicatif::ProgressBar;
use serde_json::json;

use crate::args::{DemoArgs, GemmArgs, PeakArgs};
use crate::data::Array;
use crate::data::spec::{SpecConstant, SpecNumber};
use crate::ladder::plan::{Choices, Constant, Mnk, Plan, SUBGROUP_SIZE};
use crate::ladder::{Peak, Rung, Types};
use crate::progress::{self, Interrupt};
use crate::record::{Record, write_json};
use crate::reference::{Comparison, Operands, Reference};
use crate::runtime::{self, Binding, Buffer, Device, Dispatch, Glsl, Pipeline, PipelineOptions};
use crate::{Status, chart, say, table};

/// Timed dispatches go on until both are reached …
const MIN_DISPATCHES: usize = 5;
const MIN_TIME: Duration = Duration::from_millis(400);
/// … or one of these is.
const MAX_DISPATCHES: usize = 1000;
const MAX_TIME: Duration = Duration::from_secs(3);

/// No rung takes longer; a kernel that does is stuck.
const TIMEOUT: Duration = Duration::from_secs(300);

/// What D holds before a kernel writes it: NaN in every floating-point type.
const PATTERN: u8 = 0xff;

/// Bytes of it that are written at a time.
const PIECE: usize = 1 << 20;

/// What is to be measured.
struct Request {
    types: Vec<Types>,
    sizes: Vec<Mnk>,
    rungs: Vec<Rung>,
    choices: Choices,
    threads: Option<usize>,
}

pub(crate) fn gemm(args: GemmArgs) -> Result<Status> {
    let choices =
        Choices { tile: args.tile, shape: args.shape, is_b_column_major: args.col_major_b, threads: 0 };
    let request =
        Request { types: args.types, sizes: args.sizes, rungs: args.rungs, choices, threads: args.threads };
    measure(&request, args.json.as_deref(), args.svg.as_deref())
}

pub(crate) fn demo(args: DemoArgs) -> Result<Status> {
    let request = Request {
        types: Types::DEFAULT.to_vec(),
        sizes: vec![args.size],
        rungs: Rung::ALL.to_vec(),
        choices: Choices::default(),
        threads: args.threads,
    };
    for file in [&args.svg, &args.json] {
        if let Some(directory) = file.parent() {
            std::fs::create_dir_all(directory)
                .with_context(|| format!("{} cannot be made", directory.display()))?;
        }
    }
    let status = measure(&request, Some(&args.json), Some(&args.svg))?;
    say(format!("The chart is in {}, the records are in {}.", args.svg.display(), args.json.display()))?;
    Ok(status)
}

pub(crate) fn peak(args: &PeakArgs) -> Result<Status> {
    let device = Device::new(args.threads)?;
    let threads = device.info().threads;
    let peaks = Peaks::measure(threads);
    if args.json {
        let value = json!({
            "threads": threads,
            "f32_fma_gflops": peaks.f32_fma,
            "bf16_dot_gflops": peaks.bf16_dot,
            "i8_dot_gflops": peaks.i8_dot,
        });
        say(format!("{value:#}"))?;
    } else {
        say(peaks.describe(threads))?;
    }
    Ok(Status::Done)
}

/// The rates of the machine, in 10⁹ operations a second.
struct Peaks {
    f32_fma: f64,
    bf16_dot: f64,
    i8_dot: f64,
}

impl Peaks {
    fn measure(threads: usize) -> Self {
        Self {
            f32_fma: runtime::peak(Peak::F32Fma, threads),
            bf16_dot: runtime::peak(Peak::Bf16Dot, threads),
            i8_dot: runtime::peak(Peak::I8Dot, threads),
        }
    }

    /// The larger one of each.
    fn max(&self, other: &Self) -> Self {
        Self {
            f32_fma: self.f32_fma.max(other.f32_fma),
            bf16_dot: self.bf16_dot.max(other.bf16_dot),
            i8_dot: self.i8_dot.max(other.i8_dot),
        }
    }

    fn of(&self, peak: Peak) -> f64 {
        match peak {
            Peak::F32Fma => self.f32_fma,
            Peak::Bf16Dot => self.bf16_dot,
            Peak::I8Dot => self.i8_dot,
        }
    }

    fn describe(&self, threads: usize) -> String {
        format!(
            "Peaks on {threads} threads, in 10⁹ operations a second: f32 FMA {:.0}, bf16 dot product {:.0}, \
             8-bit dot product {:.0}",
            self.f32_fma, self.bf16_dot, self.i8_dot
        )
    }
}

/// Runs the ladder and reports all that was done, even if it was cut short.
fn measure(request: &Request, json: Option<&Path>, svg: Option<&Path>) -> Result<Status> {
    let device = Device::new(request.threads)?;
    let threads = device.info().threads;
    let plans = plans(request, threads)?;
    let interrupt = Interrupt::listen()?;
    let bar = progress::bar(plans.len());
    // All before there are matrices: compilers need more memory than the matrices of small sizes.
    let mut compiled = Compiled::default();
    bar.set_message("compiling GLSL");
    for (rung, types, _) in &plans {
        compiled.add_source(*rung, *types)?;
    }
    runtime::release_compiler_memory();
    for (rung, types, plan) in &plans {
        bar.set_message(format!("compiling {rung} for {types}"));
        compiled.add_pipeline(&device, *rung, *types, plan)?;
    }
    runtime::release_compiler_memory();
    bar.set_message("measuring the peaks");
    let before = Peaks::measure(threads);

    let mut timings = Vec::new();
    let outcome = climb(&device, &plans, &compiled, &interrupt, &bar, &mut timings);
    bar.set_message("measuring the peaks again");
    let peaks = before.max(&Peaks::measure(threads));
    bar.finish_and_clear();
    let records: Vec<Record> = timings
        .iter()
        .zip(&plans)
        .map(|(timing, (rung, types, plan))| {
            timing.record(*rung, *types, plan, threads, peaks.of(types.peak()))
        })
        .collect();
    if !records.is_empty() {
        say(format!("{}\n{}", device.info().name, peaks.describe(threads)))?;
        say(table::ladder(&records))?;
        if let Some(path) = json {
            write_json(path, &records)?;
        }
        if let Some(path) = svg {
            chart::write_svg(path, &records)?;
        }
    }
    outcome?;
    if records.len() < plans.len() {
        return Ok(Status::Interrupted);
    }
    Ok(if records.iter().all(|record| record.ok) { Status::Done } else { Status::Wrong })
}

/// Every measurement of a request, in the order in which it is made. Impossible ones are told before the first starts.
fn plans(request: &Request, threads: usize) -> Result<Vec<(Rung, Types, Plan)>> {
    let choices = Choices { threads: u32::try_from(threads)?, ..request.choices };
    let mut plans = Vec::new();
    for &size in &request.sizes {
        for &types in &request.types {
            for &rung in request.rungs.iter().filter(|rung| rung.supports(types)) {
                plans.push((rung, types, Plan::new(rung, types, size, choices)?));
            }
        }
    }
    ensure!(!plans.is_empty(), "none of these rungs can be written for these types");
    Ok(plans)
}

fn climb(
    device: &Device,
    plans: &[(Rung, Types, Plan)],
    compiled: &Compiled,
    interrupt: &Interrupt,
    bar: &ProgressBar,
    timings: &mut Vec<Timing>,
) -> Result<()> {
    let is_same_problem =
        |a: &(Rung, Types, Plan), b: &(Rung, Types, Plan)| (a.1, a.2.size) == (b.1, b.2.size);
    for plans in plans.chunk_by(is_same_problem) {
        let [(_, types, plan), ..] = plans else { continue };
        bar.set_message(format!("{types} {}: computing the expected result", plan.size));
        let problem = Problem::new(device, *types, plan)?;
        for (rung, types, plan) in plans {
            if interrupt.is_set() {
                return Ok(());
            }
            bar.set_message(format!("{types} {}: {rung}", plan.size));
            let context = || format!("rung {rung} for {types} at {}", plan.size);
            let pipeline = compiled.pipeline(*rung, *types, plan).with_context(context)?;
            let Some(timing) = problem.time(device, pipeline, plan, interrupt).with_context(context)? else {
                return Ok(());
            };
            timings.push(timing);
            bar.inc(1);
        }
    }
    Ok(())
}

/// The SPIR-V of each rung and pair of types, and every pipeline that was made. Sizes of the same plan share one,
/// and with it the time that compiling really took.
#[derive(Default)]
struct Compiled {
    sources: Vec<((Rung, Types), Vec<u32>)>,
    pipelines: Vec<(Variant, Pipeline)>,
}

/// What distinguishes a pipeline from all others.
type Variant = (Rung, Types, Vec<(u32, Constant)>);

impl Compiled {
    fn add_source(&mut self, rung: Rung, types: Types) -> Result<()> {
        if self.sources.iter().any(|(known, _)| *known == (rung, types)) {
            return Ok(());
        }
        let definitions = types.definitions();
        let definitions: Vec<(&str, &str)> =
            definitions.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let words = runtime::compile_glsl(Glsl {
            name: rung.name(),
            source: &rung.source(),
            definitions: &definitions,
            include_directories: &[],
        });
        self.sources.push(((rung, types), words.with_context(|| format!("rung {rung} for {types}"))?));
        Ok(())
    }

    fn add_pipeline(&mut self, device: &Device, rung: Rung, types: Types, plan: &Plan) -> Result<()> {
        let variant = (rung, types, plan.constants.clone());
        if self.pipelines.iter().all(|(known, _)| *known != variant) {
            let pipeline = self.compile(device, rung, types, plan);
            let pipeline = pipeline.with_context(|| format!("rung {rung} for {types} at {}", plan.size))?;
            self.pipelines.push((variant, pipeline));
        }
        Ok(())
    }

    fn pipeline(&self, rung: Rung, types: Types, plan: &Plan) -> Result<&Pipeline> {
        let is_it = |(known, _): &&(Variant, Pipeline)| {
            (known.0, known.1) == (rung, types) && known.2 == plan.constants
        };
        let (_, pipeline) = self.pipelines.iter().find(is_it).context("each plan has its pipeline")?;
        Ok(pipeline)
    }

    fn compile(&self, device: &Device, rung: Rung, types: Types, plan: &Plan) -> Result<Pipeline> {
        let source = self.sources.iter().find(|(known, _)| *known == (rung, types));
        let (_, words) = source.context("each rung has its source")?;
        let constants: Vec<SpecConstant> = plan
            .constants
            .iter()
            .map(|&(id, constant)| SpecConstant {
                id,
                value: match constant {
                    Constant::U32(value) => SpecNumber::Untyped(value.to_string()),
                    Constant::Bool(value) => SpecNumber::Bool(value),
                },
            })
            .collect();
        let options =
            PipelineOptions { entry: "main", constants: &constants, subgroup_size: Some(SUBGROUP_SIZE) };
        device.create_pipeline(words, options)
    }
}

/// The matrices of one size and pair of types, on the device and as expected.
struct Problem {
    /// A, B, C and D.
    buffers: [Buffer; 4],
    result_bytes: usize,
    reference: Reference,
}

/// What one rung did on a problem.
struct Timing {
    seconds: f64,
    max_rel_error: f64,
    is_ok: bool,
    compile_time: Duration,
}

impl Problem {
    fn new(device: &Device, types: Types, plan: &Plan) -> Result<Self> {
        let [m, n, k] = [plan.size.m, plan.size.n, plan.size.k].map(|size| size as usize);
        let a = Array::random(types.a, vec![m, k], 1)?;
        let b = Array::random(types.a, vec![k, n], 2)?;
        let c = Array::random(types.c, vec![m, n], 3)?;
        let is_b_column_major = plan.is_b_column_major;
        let reference = Reference::new(&Operands { m, n, k, a: &a, b: &b, c: &c, is_b_column_major });
        // By value: what is on the device is not kept here.
        let upload = |array: Array| -> Result<Buffer> {
            let buffer = device.create_buffer(array.bytes.len())?;
            buffer.write(0, &array.bytes)?;
            Ok(buffer)
        };
        let result_bytes = c.bytes.len();
        let buffers = [upload(a)?, upload(b)?, upload(c)?, device.create_buffer(result_bytes)?];
        Ok(Self { buffers, result_bytes, reference })
    }

    /// Runs, checks and times a rung; nothing if it was interrupted.
    fn time(
        &self,
        device: &Device,
        pipeline: &Pipeline,
        plan: &Plan,
        interrupt: &Interrupt,
    ) -> Result<Option<Timing>> {
        for start in (0..self.result_bytes).step_by(PIECE) {
            let bytes = PIECE.min(self.result_bytes - start);
            self.buffers[3].write(start, &vec![PATTERN; bytes])?;
        }
        let Some(warm_up) = self.dispatch(device, pipeline, plan, interrupt)? else { return Ok(None) };
        let first = self.compare()?;

        let mut shortest: Option<Duration> = None;
        let (mut total, mut count) = (warm_up, 0);
        let is_enough = |total, count| {
            count >= MAX_DISPATCHES || total >= MAX_TIME || count >= MIN_DISPATCHES && total >= MIN_TIME
        };
        while !is_enough(total, count) {
            let Some(elapsed) = self.dispatch(device, pipeline, plan, interrupt)? else { return Ok(None) };
            shortest = Some(shortest.map_or(elapsed, |shortest| shortest.min(elapsed)));
            total += elapsed;
            count += 1;
        }
        // A slow rung is not run again only to be warm: its first dispatch is as good as any.
        let shortest = shortest.unwrap_or(warm_up);
        let last = self.compare()?;
        Ok(Some(Timing {
            seconds: shortest.as_secs_f64(),
            max_rel_error: first.max_rel_error.max(last.max_rel_error),
            is_ok: first.ok && last.ok,
            compile_time: pipeline.compile_time(),
        }))
    }

    fn compare(&self) -> Result<Comparison> {
        let [_, _, c, d] = &self.buffers;
        self.reference.compare(|range| c.read(range), |range| d.read(range))
    }

    /// The time of one dispatch; nothing if it was interrupted.
    fn dispatch(
        &self,
        device: &Device,
        pipeline: &Pipeline,
        plan: &Plan,
        interrupt: &Interrupt,
    ) -> Result<Option<Duration>> {
        let bindings: Vec<Binding<'_>> = (0..)
            .zip(&self.buffers)
            .map(|(binding, buffer)| Binding { set: 0, binding, index: 0, buffer })
            .collect();
        let report = device.dispatch(Dispatch {
            pipeline,
            groups: plan.groups,
            bindings: &bindings,
            push_constants: &plan.push_constants(),
            timeout: Some(TIMEOUT),
            cancel: Some(interrupt.token()),
        });
        match report {
            Err(_cancelled) if interrupt.is_set() => Ok(None),
            report => Ok(Some(report?.elapsed)),
        }
    }
}

impl Timing {
    fn record(&self, rung: Rung, types: Types, plan: &Plan, threads: usize, peak_gflops: f64) -> Record {
        let Mnk { m, n, k } = plan.size;
        let gflops = 2.0 * f64::from(m) * f64::from(n) * f64::from(k) / self.seconds / 1e9;
        Record {
            rung: rung.name().to_owned(),
            a: types.a.to_string(),
            c: types.c.to_string(),
            m,
            n,
            k,
            tile: plan.tile.to_string(),
            threads,
            seconds: self.seconds,
            gflops,
            peak_gflops,
            share_of_peak: gflops / peak_gflops,
            // JSON has no infinity.
            max_rel_error: self.max_rel_error.min(f64::MAX),
            ok: self.is_ok,
            compile_ms: 1e3 * self.compile_time.as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_dialect_is_left_out_where_it_has_no_type() {
        let request = Request {
            types: vec!["bf16".parse().expect("types"), "f16".parse().expect("types")],
            sizes: vec![Mnk::cube(64)],
            rungs: vec![Rung::Tiled, Rung::TiledNv],
            choices: Choices::default(),
            threads: None,
        };
        let names: Vec<String> = plans(&request, 1)
            .expect("possible")
            .iter()
            .map(|(rung, types, _)| format!("{rung} {types}"))
            .collect();
        assert_eq!(names, ["tiled bf16->f32", "tiled f16->f32", "tiled-nv f16->f32"]);
    }

    #[test]
    fn a_record_counts_two_operations_for_each_product() {
        let types = "f16".parse().expect("types");
        let plan = Plan::new(Rung::Tiled, types, Mnk::cube(512), Choices::default()).expect("it fits");
        let timing = Timing {
            seconds: 0.001,
            max_rel_error: 0.0,
            is_ok: true,
            compile_time: Duration::from_millis(7),
        };
        let record = timing.record(Rung::Tiled, types, &plan, 2, 536.870_912);
        assert!((record.gflops - 268.435_456).abs() < 1e-9);
        assert!((record.share_of_peak - 0.5).abs() < 1e-9);
        assert_eq!((record.compile_ms, record.tile.as_str()), (7.0, "256x256x64"));
    }
}

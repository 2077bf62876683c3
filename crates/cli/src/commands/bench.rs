//! `phalanx bench`: kernels measured and checked.

use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::json;

use super::run;
use crate::args::workload::WorkloadCommand;
use crate::args::{BenchCommand, GemmArgs, KernelArgs, PeakArgs};
use crate::ladder::gemm::Gemm;
use crate::ladder::plan::Choices;
use crate::measure::{self, Beside, Effort, Outputs, PEAK_TIME, Peak, Peaks, Spell, time};
use crate::progress::Interrupt;
use crate::record::{STANDARD_OUTPUT, write_text};
use crate::runtime::{Device, DeviceKind};
use crate::workload::Purpose;
use crate::{Status, bars, say, tell, versus};

pub(crate) fn bench(command: &BenchCommand) -> Result<Status> {
    match command {
        BenchCommand::Gemm(args) => gemm(args),
        BenchCommand::Kernel(args) => kernel(args),
        BenchCommand::Workload(command) => workload(command),
        BenchCommand::Peak(args) => peak(args),
        BenchCommand::All(args) => bars::run(args),
    }
}

fn workload(command: &WorkloadCommand) -> Result<Status> {
    let (workloads, output) = command.problems(Purpose::Bench)?;
    let outputs = Outputs {
        json: output.json.as_deref(),
        svg: output.svg.as_deref(),
        pictures: output.pictures.as_deref(),
    };
    let driver = versus::driver(output.versus)?;
    measure::run(&workloads, output.device, output.threads, None, driver.as_ref(), outputs)
}

fn gemm(args: &GemmArgs) -> Result<Status> {
    let versus = args.versus.map(versus::open).transpose()?;
    let choices = Choices {
        tile: args.tile,
        is_b_column_major: args.col_major_b,
        threads: measure::threads(args.threads)?,
        is_for_gpu: matches!(args.device, DeviceKind::Cuda { .. }),
        ..Choices::default()
    };
    let workloads = Gemm::all(&args.types, &args.sizes, &args.rungs, &args.shape, choices)?;
    let outputs = Outputs { json: args.json.as_deref(), svg: args.svg.as_deref(), pictures: None };
    measure::run(&workloads, args.device, args.threads, args.relax, versus.as_ref(), outputs)
}

/// A kernel of the user's: its result is the user's to judge.
fn kernel(args: &KernelArgs) -> Result<Status> {
    ensure!(args.run.device == DeviceKind::Cpu, "--device: only the CPU is measured");
    let interrupt = Interrupt::listen()?;
    let ready = run::prepare(&args.run, &interrupt)?;
    let threads = ready.device.info().threads;
    let peak = || ready.device.peak(Peak::F32Fma, PEAK_TIME);
    let mut beside = Beside { peak: &peak, rival: None, effort: Effort::FULL };
    let dispatch = || match ready.dispatch(&interrupt) {
        Err(_cancelled) if interrupt.is_set() => Ok(None),
        report => report.map(|report| Some(report.elapsed)),
    };
    let before = peak();
    let Some(warm_up) = dispatch()? else { return Ok(Status::Interrupted) };
    let Some((Spell { seconds, peak_gflops }, _)) = time(warm_up, before, dispatch, &mut beside)? else {
        return Ok(Status::Interrupted);
    };
    let rate = args.operations.map(|operations| operations / seconds / 1e9);
    let compile_ms = 1e3 * ready.pipeline.compile_time().as_secs_f64();
    let is_json_only = args.json.as_deref() == Some(Path::new(STANDARD_OUTPUT));
    let mut text = format!("{}: {:.3} ms, compiled in {compile_ms:.1} ms", ready.entry, 1e3 * seconds);
    if let Some(rate) = rate {
        let share = 100.0 * rate / peak_gflops;
        text += &format!("; {rate:.1} GFLOP/s, {share:.1}% of the f32 peak of {threads} threads");
    }
    tell(text, is_json_only)?;
    if let Some(path) = &args.json {
        let record = json!({
            "shader": args.run.shader.display().to_string(),
            "entry": ready.entry,
            "groups": ready.groups,
            "threads": threads,
            "seconds": seconds,
            "compile_ms": compile_ms,
            "peak_gflops": peak_gflops,
            "operations": args.operations,
            "gflops": rate,
            "share_of_peak": rate.map(|rate| rate / peak_gflops),
        });
        write_text(path, format!("{record:#}\n"))?;
    }
    Ok(Status::Done)
}

fn peak(args: &PeakArgs) -> Result<Status> {
    let device = Device::new(args.threads)?;
    let threads = device.info().threads;
    let peaks = Peaks::measure(&device);
    if args.json {
        let value = json!({
            "threads": threads,
            "f32_fma_gflops": peaks.f32_fma,
            "f16_fma_gflops": peaks.f16_fma,
            "f16_unit": device.peak_unit(Peak::F16Fma),
            "bf16_dot_gflops": peaks.bf16_dot,
            "bf16_unit": device.peak_unit(Peak::Bf16Dot),
            "i8_dot_gflops": peaks.i8_dot,
            "i8_unit": device.peak_unit(Peak::I8Dot),
        });
        say(format!("{value:#}"))?;
    } else {
        say(peaks.describe(&device))?;
    }
    Ok(Status::Done)
}

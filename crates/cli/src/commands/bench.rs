//! `phalanx bench`: kernels measured and checked.

use anyhow::Result;
use serde_json::json;

use crate::args::workload::WorkloadCommand;
use crate::args::{BenchCommand, GemmArgs, PeakArgs};
use crate::ladder::gemm::Gemm;
use crate::ladder::plan::Choices;
use crate::measure::{self, Outputs, Peak, Peaks};
use crate::runtime::{self, Device};
use crate::workload::Purpose;
use crate::{Status, say};

pub(crate) fn run(command: &BenchCommand) -> Result<Status> {
    match command {
        BenchCommand::Gemm(args) => gemm(args),
        BenchCommand::Workload(command) => workload(command),
        BenchCommand::Peak(args) => peak(args),
    }
}

fn workload(command: &WorkloadCommand) -> Result<Status> {
    let (workloads, output) = command.problems(Purpose::Bench)?;
    let outputs = Outputs {
        json: output.json.as_deref(),
        svg: output.svg.as_deref(),
        pictures: output.pictures.as_deref(),
    };
    measure::run(&workloads, output.threads, None, outputs)
}

fn gemm(args: &GemmArgs) -> Result<Status> {
    let choices = Choices {
        tile: args.tile,
        shape: args.shape,
        is_b_column_major: args.col_major_b,
        threads: measure::threads(args.threads)?,
    };
    let workloads = Gemm::all(&args.types, &args.sizes, &args.rungs, choices)?;
    let outputs = Outputs { json: args.json.as_deref(), svg: args.svg.as_deref(), pictures: None };
    measure::run(&workloads, args.threads, args.relax, outputs)
}

fn peak(args: &PeakArgs) -> Result<Status> {
    let device = Device::new(args.threads)?;
    let threads = device.info().threads;
    let peaks = Peaks::measure(threads);
    if args.json {
        let value = json!({
            "threads": threads,
            "f32_fma_gflops": peaks.f32_fma,
            "bf16_dot_gflops": peaks.bf16_dot,
            "bf16_unit": runtime::peak_unit(Peak::Bf16Dot).to_string(),
            "i8_dot_gflops": peaks.i8_dot,
            "i8_unit": runtime::peak_unit(Peak::I8Dot).to_string(),
        });
        say(format!("{value:#}"))?;
    } else {
        say(peaks.describe(threads))?;
    }
    Ok(Status::Done)
}

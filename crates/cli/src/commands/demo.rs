//! `phalanx demo`: kernels on small problems, with everything that there is to look at left in a directory.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::args::workload::WorkloadCommand;
use crate::args::{DemoArgs, DemoCommand, LadderArgs};
use crate::ladder::gemm::Gemm;
use crate::ladder::plan::{Choices, DEFAULT_SHAPE};
use crate::ladder::{Rung, Types};
use crate::measure::{self, Outputs, Workload};
use crate::record::STANDARD_OUTPUT;
use crate::runtime::DeviceKind;
use crate::versus::{self, Library};
use crate::workload::Purpose;
use crate::{Status, tell};

/// Where files go unless the user names others.
const DIRECTORY: &str = "out";

pub(crate) fn run(args: &DemoArgs) -> Result<Status> {
    match &args.which {
        None => ladder(&args.ladder),
        Some(DemoCommand::Gemm(args)) => ladder(args),
        Some(DemoCommand::Workload(command)) => workload(command),
    }
}

fn ladder(args: &LadderArgs) -> Result<Status> {
    let choices = Choices { threads: measure::threads(args.threads)?, ..Choices::default() };
    let workloads = Gemm::all(&Types::DEFAULT, &[args.size], &Rung::ALL, &[DEFAULT_SHAPE], choices)?;
    let on = (DeviceKind::Cpu, args.threads);
    show(&workloads, on, None, Files { json: &args.json, svg: &args.svg, pictures: None })
}

fn workload(command: &WorkloadCommand) -> Result<Status> {
    let (workloads, output) = command.problems(Purpose::Demo)?;
    let name = workloads.first().map_or("demo", |workload| workload.subject().workload);
    let named = |path: &Option<PathBuf>, suffix: &str| {
        path.clone().unwrap_or_else(|| Path::new(DIRECTORY).join(format!("{name}.{suffix}")))
    };
    let pictures = output.pictures.as_deref().unwrap_or(Path::new(DIRECTORY));
    let on = (output.device, output.threads);
    let driver = versus::driver(output.versus)?;
    let (json, svg) = (named(&output.json, "json"), named(&output.svg, "svg"));
    show(&workloads, on, driver.as_ref(), Files { json: &json, svg: &svg, pictures: Some(pictures) })
}

/// Where everything goes.
struct Files<'a> {
    json: &'a Path,
    svg: &'a Path,
    pictures: Option<&'a Path>,
}

fn show(
    workloads: &[Box<dyn Workload>],
    (device, threads): (DeviceKind, Option<usize>),
    driver: Option<&Library>,
    Files { json, svg, pictures }: Files<'_>,
) -> Result<Status> {
    let directories = [svg.parent(), json.parent(), pictures];
    for directory in directories.into_iter().flatten() {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("{} cannot be made", directory.display()))?;
    }
    let outputs = Outputs { json: Some(json), svg: Some(svg), pictures };
    let status = measure::run(workloads, device, threads, None, driver, outputs)?;
    // What was cut short may have left neither.
    if status != Status::Interrupted {
        let text = format!("The chart is in {}, the records are in {}.", svg.display(), json.display());
        tell(text, json == Path::new(STANDARD_OUTPUT))?;
    }
    Ok(status)
}

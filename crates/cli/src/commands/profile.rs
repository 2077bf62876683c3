//! `phalanx profile`: where the time of a shader goes.
//!
//! The shader is dispatched as `phalanx run` would, once for the buffers that are written and again and again after that, so
//! that even a short one is seen often enough.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Args;

use super::run;
use crate::args::{RunArgs, seconds};
use crate::progress::Interrupt;
use crate::record::{STANDARD_OUTPUT, write_text};
use crate::runtime::DeviceKind;
use crate::{Status, output, say};

pub(crate) const PROFILE_HELP: &str = "\
Buffers and everything else are given as to `phalanx run`. The shader is dispatched again and again on the same buffers; they
are written, with --out, after the first time. Shares are of the time of all threads; milliseconds are that share of a dispatch.

Families are: multiply-add (of matrices and vectors), matrix load/store, matrix elements (conversions and what else is done with
elements), lane code (what each invocation computes), memory (loads, stores and atomics of invocations), services (images,
printing), barrier, scheduling (taking work-groups, starting subgroups), and idle (threads for which there is no work).
Lines are those of GLSL and of MLIR, and of SPIR-V that has them; else places are word offsets in the module.
Of a GPU there is its occupancy and, where a libcupti.so of the CUDA toolkit is found, what its warps wait for.

Example:
  phalanx profile matmul.comp --groups 8,8 --bind 0:0=rand:f16[512,512] --bind 0:1=rand:f16[512,512] \\
      --bind 0:2=zeros:f32[512,512] --svg matmul.svg";

#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// How long to dispatch it
    #[arg(long = "for", value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    pub(crate) duration: f64,
    /// Write everything as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Draw a flame graph: functions on the entry point, lines on functions, operations on lines
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

pub(crate) fn run(args: &ProfileArgs) -> Result<Status> {
    ensure!(args.run.device != DeviceKind::Interpreter, "--device: the interpreter is not profiled");
    ensure!(
        args.svg.is_none() || args.run.device == DeviceKind::Cpu,
        "--svg: a flame graph is made of lines, which a GPU does not tell; leave it out, or take --device cpu"
    );
    let interrupt = Interrupt::listen()?;
    let ready = run::prepare_profiled(&args.run, &interrupt)?;
    let first = ready.dispatch(&interrupt)?;
    interrupt.aside(|| run::write_all(&args.run, &ready))?;
    let duration = Duration::from_secs_f64(args.duration).saturating_sub(first.elapsed);
    let mut is_interrupted = false;
    let again = Instant::now();
    while again.elapsed() < duration && !is_interrupted {
        match ready.dispatch(&interrupt) {
            Err(_cancelled) if interrupt.is_set() => is_interrupted = true,
            report => drop(report?),
        }
    }
    let profile = ready.device.profile();
    let is_json_only = args.json.as_deref() == Some(Path::new(STANDARD_OUTPUT));
    if !is_json_only {
        let lines = Lines::default();
        say(profile.to_text(&|file, line| lines.of(file, line)).trim_end())?;
    }
    if let Some(path) = &args.json {
        write_text(path, profile.to_json())?;
    }
    if let Some(path) = &args.svg {
        output::write(path, profile.to_svg())?;
    }
    Ok(if is_interrupted { Status::Interrupted } else { Status::Done })
}

/// The files of the source, read when they are asked for.
#[derive(Default)]
struct Lines(RefCell<BTreeMap<String, Vec<String>>>);

impl Lines {
    /// A line of a file, if it can be read.
    fn of(&self, file: &str, line: u32) -> Option<String> {
        let mut files = self.0.borrow_mut();
        let lines = files.entry(file.to_owned()).or_insert_with(|| {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        });
        lines.get((line as usize).checked_sub(1)?).cloned()
    }
}

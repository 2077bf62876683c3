//! `phalanx run`: a shader on buffers made from the command line.
//!
//! The bind list is compared with what the shader declares before anything is compiled, so that a mistake is told in
//! the user's terms. Buffers are filled piece by piece, because they may be as large as memory; structures with
//! addresses are filled last, when every buffer has its address.

mod fit;
mod push;

use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};

use super::load_shader;
use crate::args::RunArgs;
use crate::data::input::{Input, PIECE};
use crate::data::spec::{Address, BindSpec, Field, OutSpec, Place, Source, Target, TypedShape, lay_out};
use crate::data::{check_place, describe};
use crate::progress::Interrupt;
use crate::runtime::{
    self, Binding, Buffer, Choices, Device, DeviceKind, Dispatch, Pipeline, PipelineOptions, Report, Shader,
};
use crate::{Status, memory, tell, warn};

/// A buffer with what the user said about it.
struct Bound<'a> {
    spec: &'a BindSpec,
    typed: TypedShape,
    buffer: Buffer,
}

/// Everything that a dispatch needs, on the device.
pub(crate) struct Ready<'a> {
    pub(crate) device: Device,
    pub(crate) entry: String,
    pub(crate) groups: [u32; 3],
    pub(crate) pipeline: Pipeline,
    bound: Vec<Bound<'a>>,
    push_constants: Vec<u8>,
    timeout: Option<Duration>,
}

pub(crate) fn run(args: &RunArgs) -> Result<Status> {
    let interrupt = Interrupt::listen()?;
    let ready = prepare(args, &interrupt)?;
    let report = ready.dispatch(&interrupt)?;
    interrupt.aside(|| write_all(args, &ready))?;
    tell_report(args, &ready, &report)?;
    Ok(Status::Done)
}

/// Reads and compiles the shader, and fills its buffers.
pub(crate) fn prepare<'a>(args: &'a RunArgs, interrupt: &Interrupt) -> Result<Ready<'a>> {
    prepare_on(args, interrupt, false)
}

/// The same on a device that tells where time goes.
pub(crate) fn prepare_profiled<'a>(args: &'a RunArgs, interrupt: &Interrupt) -> Result<Ready<'a>> {
    prepare_on(args, interrupt, true)
}

fn prepare_on<'a>(args: &'a RunArgs, interrupt: &Interrupt, profile: bool) -> Result<Ready<'a>> {
    check_places(args)?;
    let shader = load_shader(&args.shader, &args.glsl)?;
    let entry = shader.entry(args.entry.as_deref())?;
    let groups = groups(args, &shader, &entry)?;
    let cancel = Some(interrupt.token());
    let sizes = args.sizes.sizes();
    let reflection = runtime::reflect(&shader, &args.spec, sizes, Some(&entry), cancel)
        .with_context(|| format!("{} is not accepted", args.shader.display()))?;
    let inputs = interrupt.aside(|| args.bind.iter().map(open).collect::<Result<Vec<Input>>>())?;
    fit::check(&reflection, &args.bind, &inputs)?.into_iter().for_each(warn);
    push::check(&args.push, &reflection)?;
    check_outputs(args, &inputs)?;
    check_memory(args.device, &inputs)?;

    let choices = Choices {
        threads: args.threads,
        relax: args.relax,
        checks_addresses: args.check_addresses,
        processor: None,
        profile,
        cache_dir: None,
    };
    let device = Device::of_kind(args.device, choices)?;
    let options = PipelineOptions { entry: &entry, constants: &args.spec, sizes, cancel };
    let pipeline = device.create_pipeline_of(&shader, options)?;
    runtime::release_compiler_memory();
    let bound = interrupt.aside(|| upload(&device, &args.bind, inputs))?;
    let push_constants = lay_out(args.push.iter().flat_map(|push| &push.0), |at| address(&bound, at))?;
    let timeout = (args.timeout > 0.0).then(|| Duration::from_secs_f64(args.timeout));
    Ok(Ready { device, entry, groups, pipeline, bound, push_constants, timeout })
}

impl Ready<'_> {
    /// Runs the kernel once.
    pub(crate) fn dispatch(&self, interrupt: &Interrupt) -> Result<Report> {
        let bindings: Vec<Binding<'_>> = self.bound.iter().filter_map(descriptor).collect();
        self.device.dispatch(Dispatch {
            pipeline: &self.pipeline,
            groups: self.groups,
            bindings: &bindings,
            push_constants: &self.push_constants,
            timeout: self.timeout,
            cancel: Some(interrupt.token()),
        })
    }
}

/// How many work-groups there are: as the user says, else as the shader does.
fn groups(args: &RunArgs, shader: &Shader, entry: &str) -> Result<[u32; 3]> {
    let stated = args.groups.map(|groups| groups.0).or_else(|| shader.groups(entry));
    stated.context("--groups is missing, the number of work-groups; the shader does not say it")
}

/// What can be wrong before any file is opened.
fn check_places(args: &RunArgs) -> Result<()> {
    for (index, spec) in args.bind.iter().enumerate() {
        let is_repeated = args.bind[..index].iter().any(|other| other.place == spec.place);
        ensure!(!is_repeated, "{} is bound twice", spec.place);
    }
    let is_bound = |place: &Place| args.bind.iter().any(|spec| spec.place == *place);
    let to_stdout = args.out.iter().filter(|out| out.target == Target::Stdout).count();
    ensure!(to_stdout <= 1, "--out: only one buffer can be written to standard output");
    for (index, out) in args.out.iter().enumerate() {
        ensure!(is_bound(&out.place), "--out {}: nothing is bound there", out.place);
        let before = &args.out[..index];
        ensure!(
            before.iter().all(|other| other.place != out.place),
            "--out {}: this buffer is written already; each can be written once",
            out.place
        );
        ensure!(
            out.target == Target::Stdout || before.iter().all(|other| other.target != out.target),
            "--out {}: another buffer is written to the same file",
            out.place
        );
    }
    ensure!(
        to_stdout == 0 || !stdout().is_terminal(),
        "--out: bare numbers are nothing to read; standard output must be a file or a pipe"
    );
    let structures = args.bind.iter().filter_map(|spec| match &spec.source {
        Source::Fields(fields) => Some(fields.as_slice()),
        _ => None,
    });
    for field in structures.chain(args.push.iter().map(|push| push.0.as_slice())).flatten() {
        if let Field::Address(Address { place, .. }) = field {
            ensure!(is_bound(place), "addr:{place}: nothing is bound there");
        }
    }
    Ok(())
}

/// What goes into a buffer, not yet read.
fn open(spec: &BindSpec) -> Result<Input> {
    spec.open().with_context(|| format!("--bind {}", spec.place))
}

/// Whether the buffers can be written as the user wants them, which is not to turn out after a long run.
fn check_outputs(args: &RunArgs, inputs: &[Input]) -> Result<()> {
    for out in &args.out {
        if let Target::File(path) = &out.target {
            check_place(path).with_context(|| format!("--out {}", out.place))?;
        }
        for (_, input) in args.bind.iter().zip(inputs).filter(|(spec, _)| spec.place == out.place) {
            out.typed(&input.typed(), input.size).with_context(|| format!("--out {}", out.place))?;
        }
    }
    Ok(())
}

fn check_memory(backend: DeviceKind, inputs: &[Input]) -> Result<()> {
    let copies = match backend {
        DeviceKind::Cpu | DeviceKind::Cuda { .. } => 1,
        // It works on copies.
        DeviceKind::Interpreter => 2,
    };
    let bytes = inputs.iter().fold(0_u64, |sum, input| sum.saturating_add(input.size as u64));
    memory::check(bytes.saturating_mul(copies))
}

fn upload<'a>(device: &Device, specs: &'a [BindSpec], inputs: Vec<Input>) -> Result<Vec<Bound<'a>>> {
    let mut bound = Vec::with_capacity(specs.len());
    for (spec, input) in specs.iter().zip(inputs) {
        let (typed, buffer) = (input.typed(), device.create_buffer(input.size)?);
        input
            .pour(&mut |offset, piece: &[u8]| buffer.write(offset, piece))
            .with_context(|| format!("--bind {}", spec.place))?;
        bound.push(Bound { spec, typed, buffer });
    }
    for structure in &bound {
        if let Source::Fields(fields) = &structure.spec.source {
            structure.buffer.write(0, &lay_out(fields, |wanted| address(&bound, wanted))?)?;
        }
    }
    Ok(bound)
}

fn address(bound: &[Bound<'_>], wanted: &Address) -> Result<u64> {
    let Address { place, offset } = wanted;
    let buffer = &find(bound, place)?.buffer;
    // The end is an address too, as of an array that is empty.
    let size = buffer.size();
    ensure!(*offset <= size as u64, "addr:{place}+{offset}: the buffer has {size} bytes");
    Ok(buffer.address() + offset)
}

fn find<'a, 'b>(bound: &'a [Bound<'b>], place: &Place) -> Result<&'a Bound<'b>> {
    bound
        .iter()
        .find(|bound| bound.spec.place == *place)
        .ok_or_else(|| anyhow!("{place}: nothing is bound there"))
}

fn descriptor<'a>(bound: &'a Bound<'_>) -> Option<Binding<'a>> {
    match bound.spec.place {
        Place::Descriptor { set, binding, index } => {
            Some(Binding { set, binding, index, buffer: &bound.buffer })
        }
        Place::Named(_) => None,
    }
}

/// Writes the buffers that the user wants.
pub(crate) fn write_all(args: &RunArgs, ready: &Ready<'_>) -> Result<()> {
    for out in &args.out {
        let Bound { typed, buffer, .. } = find(&ready.bound, &out.place)?;
        write(out, typed, buffer).with_context(|| format!("--out {}", out.place))?;
    }
    Ok(())
}

/// Writes a buffer piece by piece, as it was filled.
fn write(out: &OutSpec, bound: &TypedShape, buffer: &Buffer) -> Result<()> {
    let size = buffer.size();
    let mut file = out.begin(out.typed(bound, size)?)?;
    for start in (0..size).step_by(PIECE) {
        let piece = buffer.read(start..size.min(start + PIECE))?;
        file.write_all(&piece).map_err(|error| out.error(error))?;
    }
    file.finish().map_err(|error| out.error(error))?;
    Ok(())
}

/// What the kernel printed and how long it took. Standard output is for the numbers, if they go there.
fn tell_report(args: &RunArgs, ready: &Ready<'_>, report: &Report) -> Result<()> {
    let is_taken = args.out.iter().any(|out| out.target == Target::Stdout);
    report.printed.iter().try_for_each(|line| tell(line, is_taken))?;
    report.warnings.iter().for_each(warn);
    let milliseconds = |time: Duration| 1e3 * time.as_secs_f64();
    let (compiled, ran) = (milliseconds(ready.pipeline.compile_time()), milliseconds(report.elapsed));
    tell(format!("compiled in {compiled:.1} ms, ran in {ran:.3} ms"), is_taken)?;
    if let Some(read) = &report.elements_read {
        let described = ready.bound.iter().filter(|bound| descriptor(bound).is_some());
        let list: Vec<String> =
            described.zip(read).map(|(bound, read)| format!("{} {read}", bound.spec.place)).collect();
        tell(format!("elements read: {}", runtime::list_or_none(&list)), is_taken)?;
    }
    Ok(())
}

impl std::fmt::Display for TypedShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&describe(self.dtype, &self.shape))
    }
}

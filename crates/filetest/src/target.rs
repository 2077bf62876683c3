//! Runs a module on a target.

use crate::data::Data;
use crate::directive::{Output, TargetKind, TestFile};
use crate::laid::Moved;
use crate::slot::Slot;
use phalanx_cpu::{Config, Device, Dispatch};
use phalanx_cuda::Gpu;
use phalanx_host::{Buffer, Descriptor, ImageView};
use phalanx_interp::{Accesses, Limits, Memory, Region};
use phalanx_ir::passes;
use phalanx_ir::{Binding, BindingInfo, BindingKind, MatrixLayout, Sampler, Verified};
use phalanx_kernels::Processor;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Who runs a module, and as which processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The interpreter.
    Interp,
    /// The interpreter, after the passes.
    Passes,
    /// The CPU, with code made for this processor.
    Cpu(Processor),
    /// The interpreter, after lowering to SPIR-V and reading that again.
    Lowered,
    /// The GPU of NVIDIA with this number.
    Cuda(u32),
}

impl Target {
    /// The targets that a test runs on, the interpreter first, and the CPU as each of the processors.
    pub fn list(kinds: &[TargetKind], processors: &[Processor]) -> Vec<Self> {
        let mut kinds = kinds.to_vec();
        kinds.sort_unstable();
        kinds.dedup();
        let targets = |kind: &TargetKind| match kind {
            TargetKind::Interp => vec![Self::Interp],
            TargetKind::Passes => vec![Self::Passes],
            TargetKind::Lowered => vec![Self::Lowered],
            TargetKind::Cpu => processors.iter().copied().map(Self::Cpu).collect(),
        };
        kinds.iter().flat_map(targets).collect()
    }

    /// Runs a module as the test says.
    ///
    /// # Errors
    ///
    /// Why it could not be run to its end.
    pub fn run(self, module: &Verified, file: &TestFile) -> Result<Outcome, String> {
        match self {
            Self::Interp => {
                let (outcome, traffic) = interpret(module, file, MatrixLayout::Inferencing)?;
                Ok(Outcome { traffic: Some(traffic), ..outcome })
            }
            Self::Passes => {
                let options = passes::Options { verify: true, ..passes::Options::default() };
                let module = passes::optimize(module.clone(), &options).map_err(|bug| bug.to_string())?;
                let spread = passes::spread(&module, &options).map_err(|error| error.to_string())?;
                let module = spread.unwrap_or(module);
                let expand = |module: Verified, scratch| {
                    let expanded = passes::expand(&module, scratch, &options);
                    expanded.map(|new| new.unwrap_or(module)).map_err(|bug| bug.to_string())
                };
                let scratch = passes::Scratch::of(&module);
                let module = expand(module, scratch)?;
                // As maps, too.
                let scratch = passes::Scratch { in_maps: true, ..passes::Scratch::of_workgroup(&module) };
                // As GPUs have them, so that their layout is not seen on a GPU only.
                let layout = passes::THREADS.inferencing;
                let module = passes::lay(expand(module, scratch)?, layout).map_err(|bug| bug.to_string())?;
                interpret(&module, file, layout).map(|(outcome, _)| outcome)
            }
            Self::Cpu(processor) => cpu(processor, module, file),
            Self::Lowered => {
                let module = lowered_and_read(module)?;
                interpret(&module, file, MatrixLayout::Inferencing).map(|(outcome, _)| outcome)
            }
            Self::Cuda(ordinal) => cuda(ordinal, module, file),
        }
    }
}

/// What is read of the SPIR-V that a module is lowered to.
///
/// # Errors
///
/// Why it is not lowered, or what was made of it is refused.
pub fn lowered_and_read(module: &Verified) -> Result<Verified, String> {
    let lowered = phalanx_back_spirv::lower(module, phalanx_back_spirv::Options::default());
    let words = lowered.map_err(|error| error.to_string())?.words();
    let options = phalanx_front_spirv::Options {
        entry: Some(&module.name),
        subgroup_size: module.subgroup_size,
        ..phalanx_front_spirv::Options::default()
    };
    let read = phalanx_front_spirv::translate(&words, &options);
    let read = read.map_err(|error| format!("the lowered module is refused: {error}"))?;
    phalanx_ir::verify(read).map_err(|errors| format!("the lowered module is broken: {errors}"))
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interp => f.write_str("interpreter"),
            Self::Passes => f.write_str("interpreter after the passes"),
            Self::Cpu(processor) => write!(f, "cpu {processor}"),
            Self::Lowered => f.write_str("interpreter after lowering to SPIR-V"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
        }
    }
}

/// The processors that tests make code for: one of each that this machine can execute and that differ in code or
/// kernels, this machine's own among them and last. If the environment names one, that one alone.
pub fn processors() -> Vec<Processor> {
    let native = Processor::native();
    if std::env::var_os(Processor::ENV).is_some_and(|name| !name.is_empty()) {
        // Running will say what is wrong with the variable.
        return vec![Processor::detect().unwrap_or(native)];
    }
    let mut list = Processor::distinct();
    let is_own = |p: &Processor| p.features().eq(native.features()) && p.kernels() == native.kernels();
    list.sort_by_key(is_own);
    list
}

/// What else takes turns by the number of a test: sizes of subgroups in generated kernels, contents of random modules.
const KINDS: usize = 6;

/// One of [`processors`] in turn, by the number of a test, because most of the time of tests goes into compiling; all of them
/// where the environment has `PHALANX_ALL_CASES`. Each kind of test meets each processor, however many there are.
pub fn processor_in_turn(number: usize) -> Vec<Processor> {
    let all = processors();
    if all_cases() { all } else { vec![all[turn(number, all.len())]] }
}

/// Which of so many it is.
fn turn(number: usize, count: usize) -> usize {
    (number / KINDS + number % KINDS) % count
}

/// The machine's own, which is the last, and before it one of the others in turn; all of them where the environment has
/// `PHALANX_ALL_CASES`.
pub fn own_and_one_in_turn(number: usize) -> Vec<Processor> {
    let all = processors();
    match all.split_last() {
        Some((&own, others)) if !all_cases() && !others.is_empty() => {
            vec![others[number % others.len()], own]
        }
        _ => all,
    }
}

fn all_cases() -> bool {
    std::env::var_os("PHALANX_ALL_CASES").is_some_and(|value| value != "0")
}

/// What a run left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The contents of the buffers.
    pub buffers: BTreeMap<Slot, Vec<u8>>,
    /// The contents that were expected of them, by the index of the output.
    pub expected: Vec<Vec<u8>>,
    /// The lines printed, sorted.
    pub printed: Vec<String>,
    /// What the program as it is written accessed; only the interpreter knows.
    pub traffic: Option<Traffic>,
}

/// What a run accessed in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Of each buffer.
    pub buffers: BTreeMap<Slot, Accesses>,
    /// Of what work-groups share.
    pub shared: Accesses,
}

/// What fills a buffer whose contents are not given, so that what is not written shows.
const FILL: u8 = 0xa5;

/// The buffers of a test with their sizes.
fn sizes(file: &TestFile) -> BTreeMap<Slot, usize> {
    let inputs = file.inputs.iter().map(|(slot, data)| (*slot, data));
    let outputs = file.outputs.iter().map(|output| (output.slot, &output.data));
    let mut sizes = BTreeMap::new();
    for (slot, data) in inputs.chain(outputs) {
        let size: &mut usize = sizes.entry(slot).or_default();
        *size = data.bytes().max(*size);
    }
    for matrix in &file.matrices {
        let size = sizes.entry(matrix.slot).or_default();
        *size = matrix.end().max(*size);
    }
    sizes
}

/// The contents of the buffers before, and the push constants.
struct Setup {
    buffers: BTreeMap<Slot, Vec<u8>>,
    push: Vec<u8>,
    expected: Vec<Vec<u8>>,
    /// Matrices that are in another layout than the test gives them in.
    moved: Vec<Moved>,
}

fn setup(
    file: &TestFile,
    layout: MatrixLayout,
    address: &dyn Fn(Slot) -> Option<u64>,
) -> Result<Setup, String> {
    let encode = |data: &Data| data.encode(address).map_err(|wrong| wrong.to_string());
    let mut buffers = BTreeMap::new();
    for (slot, size) in sizes(file) {
        let mut bytes = vec![FILL; size];
        if let Some(data) = file.inputs.get(&slot) {
            let given = encode(data)?;
            bytes[..given.len()].copy_from_slice(&given);
        }
        buffers.insert(slot, bytes);
    }
    let mut moved = Vec::new();
    for matrix in &file.matrices {
        moved.extend(matrix.bring(layout, &mut buffers)?);
    }
    let expect = |output: &Output| {
        encode(&output.data).map_err(|wrong| format!("line {}: {wrong}", output.line.max(1)))
    };
    let expected = file.outputs.iter().map(expect).collect::<Result<_, _>>()?;
    Ok(Setup { buffers, push: encode(&file.push)?, expected, moved })
}

fn binding_of(bindings: &[BindingInfo], slot: Slot) -> Option<usize> {
    bindings.iter().position(|b| (b.set, b.binding) == (slot.set, slot.binding))
}

// ── interpreter ──

/// Instructions that a test may execute.
const MAX_STEPS: u64 = 50_000_000;

fn interpret(module: &Verified, file: &TestFile, layout: MatrixLayout) -> Result<(Outcome, Traffic), String> {
    let slots: Vec<_> = sizes(file).into_keys().collect();
    // Far apart, so that no small mistake leads from one to the next.
    let address = |slot| slots.iter().position(|s| *s == slot).map(|i| (i as u64 + 1) << 32);
    let mut setup = setup(file, layout, &address)?;
    let mut memory = Memory::new();
    for (slot, bytes) in &mut setup.buffers {
        let size = bytes.len() as u64;
        let buffer = memory.add_buffer(bytes, address(*slot).unwrap_or(0));
        if let Some(binding) = binding_of(&module.bindings, *slot) {
            let region = Region { buffer, offset: 0, bytes: size };
            let (binding, index) = (Binding::new(binding), slot.index as usize);
            match file.images.get(slot) {
                None => memory.bind(binding, index, region),
                Some(layout) => memory.bind_image(binding, index, region, layout.clone()),
            }
        }
    }
    for (slot, sampler) in &file.samplers {
        if let Some(binding) = binding_of(&module.bindings, *slot) {
            memory.bind_sampler(Binding::new(binding), slot.index as usize, *sampler);
        }
    }
    memory.set_push(&setup.push);
    let limits = Limits { max_steps: MAX_STEPS, ..Limits::default() };
    let report = phalanx_interp::run(module, &mut memory, file.groups, file.base, &limits);
    let report = report.map_err(|error| error.to_string())?;
    let mut printed = report.output;
    printed.extend(report.warnings.iter().map(|warning| warned(warning)));
    drop(memory);
    printed.sort();
    setup.moved.iter().for_each(|matrix| matrix.restore(&mut setup.buffers));
    let traffic = Traffic {
        buffers: slots.into_iter().zip(report.traffic.buffers).collect(),
        shared: report.traffic.shared,
    };
    Ok((Outcome { buffers: setup.buffers, expected: setup.expected, printed, traffic: None }, traffic))
}

// ── CPU ──

/// Threads of the devices: more than one, so that work-groups run at the same time.
const THREADS: usize = 2;

fn device(processor: Processor) -> Result<Arc<Device>, String> {
    static DEVICES: Mutex<Vec<(Processor, Arc<Device>)>> = Mutex::new(Vec::new());
    let mut devices = DEVICES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((_, device)) = devices.iter().find(|(of, _)| *of == processor) {
        return Ok(Arc::clone(device));
    }
    let config = Config { threads: Some(THREADS), processor: Some(processor), ..Config::default() };
    let device = Arc::new(Device::new(&config).map_err(|error| error.to_string())?);
    devices.push((processor, Arc::clone(&device)));
    Ok(device)
}

fn cpu(processor: Processor, module: &Verified, file: &TestFile) -> Result<Outcome, String> {
    let options = passes::Options { verify: true, ..passes::Options::default() };
    let module = passes::optimize(module.clone(), &options).map_err(|bug| bug.to_string())?;
    let allocate = |size| Buffer::new(size).map_err(|error| error.to_string());
    run_file(file, MatrixLayout::Inferencing, &allocate, &|bound, grid| {
        dispatch(processor, &module, bound, grid)
    })
}

/// Runs a module on what is bound; gives the lines that it printed.
type Run<'a> = dyn Fn(&Bound<'_>, &Grid) -> Result<Vec<String>, String> + 'a;

/// Fills buffers, runs a module, and reads them.
fn run_file(
    file: &TestFile,
    layout: MatrixLayout,
    allocate: &dyn Fn(u64) -> Result<Buffer, String>,
    run: &Run<'_>,
) -> Result<Outcome, String> {
    let mut buffers = BTreeMap::new();
    for (slot, size) in sizes(file) {
        buffers.insert(slot, allocate(size as u64)?);
    }
    let setup = setup(file, layout, &|slot| buffers.get(&slot).map(Buffer::device_address))?;
    for (slot, bytes) in &setup.buffers {
        buffers[slot].write(0, bytes).map_err(|error| error.to_string())?;
    }
    let grid = Grid { groups: file.groups, base: file.base, timeout: file.timeout };
    let views = views(&buffers, file)?;
    let bound = Bound { buffers: &buffers, images: &views, samplers: &file.samplers, push: &setup.push };
    let mut printed = run(&bound, &grid)?;
    printed.sort();
    let mut buffers = contents(&buffers)?;
    setup.moved.iter().for_each(|matrix| matrix.restore(&mut buffers));
    Ok(Outcome { buffers, expected: setup.expected, printed, traffic: None })
}

/// Runs a module that needs nothing but buffers, and gives their contents after it. Its push constants are
/// the addresses of the buffers, in the order of their slots. The CPU gets it with the passes done, as
/// applications do.
///
/// # Errors
///
/// Why it could not be run to its end.
pub fn run_plain(
    target: Target,
    module: &Verified,
    before: &BTreeMap<Slot, Vec<u8>>,
    groups: [u32; 3],
) -> Result<BTreeMap<Slot, Vec<u8>>, String> {
    let options = passes::Options { verify: true, ..passes::Options::default() };
    let optimized = || passes::optimize(module.clone(), &options).map_err(|bug| bug.to_string());
    match target {
        Target::Interp => interpret_plain(module, before, groups),
        Target::Lowered => interpret_plain(&lowered_and_read(module)?, before, groups),
        Target::Passes => interpret_plain(&optimized()?, before, groups),
        Target::Cpu(processor) => run_on(processor, &optimized()?, before, None, groups),
        Target::Cuda(ordinal) => cuda_plain(ordinal, module, before, None, groups),
    }
}

fn interpret_plain(
    module: &Verified,
    before: &BTreeMap<Slot, Vec<u8>>,
    groups: [u32; 3],
) -> Result<BTreeMap<Slot, Vec<u8>>, String> {
    let mut buffers = before.clone();
    let address = |i: usize| (i as u64 + 1) << 32;
    let push: Vec<u8> = (0..buffers.len()).flat_map(|i| address(i).to_le_bytes()).collect();
    let mut memory = Memory::new();
    memory.set_push(&push);
    for (i, (slot, bytes)) in buffers.iter_mut().enumerate() {
        let buffer = memory.add_buffer(bytes, address(i));
        if let Some(binding) = binding_of(&module.bindings, *slot) {
            memory.bind_buffer(Binding::new(binding), buffer);
        }
    }
    let limits = Limits { max_steps: MAX_STEPS, ..Limits::default() };
    phalanx_interp::run(module, &mut memory, groups, [0; 3], &limits).map_err(|error| error.to_string())?;
    drop(memory);
    Ok(buffers)
}

/// Runs a module as it is on the CPU, with code made for a processor, and gives the contents of the buffers after it.
///
/// # Errors
///
/// Why it could not be run to its end.
pub fn run_on_cpu(
    processor: Processor,
    module: &Verified,
    contents_before: &BTreeMap<Slot, Vec<u8>>,
    push: &[u8],
    groups: [u32; 3],
) -> Result<BTreeMap<Slot, Vec<u8>>, String> {
    run_on(processor, module, contents_before, Some(push), groups)
}

/// As [`run_plain`], with push constants of its own.
///
/// # Errors
///
/// Why it could not be run to its end.
pub fn run_with_push(
    target: Target,
    module: &Verified,
    before: &BTreeMap<Slot, Vec<u8>>,
    push: &[u8],
    groups: [u32; 3],
) -> Result<BTreeMap<Slot, Vec<u8>>, String> {
    match target {
        Target::Cuda(ordinal) => cuda_plain(ordinal, module, before, Some(push), groups),
        Target::Cpu(processor) => run_on(processor, module, before, Some(push), groups),
        _ => Err(format!("the {target} has no push constants here")),
    }
}

/// Without push constants they are the addresses of the buffers.
fn run_on(
    processor: Processor,
    module: &Verified,
    contents_before: &BTreeMap<Slot, Vec<u8>>,
    push: Option<&[u8]>,
    groups: [u32; 3],
) -> Result<BTreeMap<Slot, Vec<u8>>, String> {
    let mut buffers = BTreeMap::new();
    for (slot, bytes) in contents_before {
        let buffer = Buffer::new(bytes.len() as u64).map_err(|error| error.to_string())?;
        buffer.write(0, bytes).map_err(|error| error.to_string())?;
        buffers.insert(*slot, buffer);
    }
    let grid = Grid { groups, base: [0; 3], timeout: Duration::from_secs(20) };
    let addresses: Vec<u8> = buffers.values().flat_map(|b| b.device_address().to_le_bytes()).collect();
    let push = push.unwrap_or(&addresses);
    let bound = Bound { buffers: &buffers, images: &BTreeMap::new(), samplers: &BTreeMap::new(), push };
    dispatch(processor, module, &bound, &grid)?;
    contents(&buffers)
}

fn contents(buffers: &BTreeMap<Slot, Buffer>) -> Result<BTreeMap<Slot, Vec<u8>>, String> {
    let read = |(slot, buffer): (&Slot, &Buffer)| {
        let bytes = buffer.read(0, buffer.size()).map_err(|error| error.to_string())?;
        Ok((*slot, bytes))
    };
    buffers.iter().map(read).collect()
}

/// Which work-groups run, and for how long at most.
struct Grid {
    groups: [u32; 3],
    base: [u32; 3],
    timeout: Duration,
}

/// What a module works on.
struct Bound<'a> {
    buffers: &'a BTreeMap<Slot, Buffer>,
    images: &'a BTreeMap<Slot, ImageView<'a>>,
    samplers: &'a BTreeMap<Slot, Sampler>,
    push: &'a [u8],
}

/// The buffers that are images.
fn views<'a>(
    buffers: &'a BTreeMap<Slot, Buffer>,
    file: &TestFile,
) -> Result<BTreeMap<Slot, ImageView<'a>>, String> {
    let images = file.images.iter().filter_map(|(slot, layout)| Some((slot, buffers.get(slot)?, layout)));
    images
        .map(|(slot, buffer, layout)| {
            let view = ImageView::new(buffer, 0, None, layout.clone()).map_err(|error| error.to_string())?;
            Ok((*slot, file.samplers.get(slot).map_or(view.clone(), |sampler| view.with_sampler(*sampler))))
        })
        .collect()
}

/// A warning, among the lines that a kernel printed.
fn warned(warning: &str) -> String {
    format!("warning: {warning}")
}

/// Puts a descriptor at its index of an array.
fn set<'a>(array: &mut Vec<Descriptor<'a>>, slot: Slot, descriptor: Descriptor<'a>) {
    let index = slot.index as usize;
    array.resize(array.len().max(index + 1), Descriptor::default());
    array[index] = descriptor;
}

/// Compiles and runs a module; gives the lines it printed.
fn dispatch(
    processor: Processor,
    module: &Verified,
    bound: &Bound<'_>,
    grid: &Grid,
) -> Result<Vec<String>, String> {
    let device = device(processor)?;
    let created = device.create_pipeline(module, None).map_err(|error| error.to_string())?;
    let descriptors = descriptors(module, bound)?;
    let descriptors: Vec<_> = descriptors.iter().map(Vec::as_slice).collect();
    let report = device.dispatch(&Dispatch {
        pipeline: &created.pipeline,
        groups: grid.groups,
        base: grid.base,
        descriptors: &descriptors,
        push: bound.push,
        timeout: Some(grid.timeout),
        cancel: None,
    });
    let report = report.map_err(|error| error.to_string())?;
    Ok(lines(report.printed, &report.warnings))
}

/// What was printed, and the warnings behind it.
fn lines(printed: Vec<String>, warnings: &[String]) -> Vec<String> {
    printed.into_iter().chain(warnings.iter().map(|warning| warned(warning))).collect()
}

/// For each binding of a module its descriptors.
fn descriptors<'a>(module: &Verified, bound: &Bound<'a>) -> Result<Vec<Vec<Descriptor<'a>>>, String> {
    let mut descriptors = vec![Vec::new(); module.bindings.len()];
    for (slot, buffer) in bound.buffers {
        if let Some(binding) = binding_of(&module.bindings, *slot) {
            let descriptor = match bound.images.get(slot) {
                Some(view) => Descriptor::image(view),
                None => buffer.descriptor(0, None).map_err(|error| error.to_string())?,
            };
            set(&mut descriptors[binding], *slot, descriptor);
        }
    }
    for (slot, sampler) in bound.samplers {
        let Some(binding) = binding_of(&module.bindings, *slot) else { continue };
        // Those of images are in their views.
        if module.bindings[binding].kind == BindingKind::Sampler {
            set(&mut descriptors[binding], *slot, Descriptor::sampler(sampler));
        }
    }
    for (array, binding) in descriptors.iter_mut().zip(&module.bindings) {
        let count = binding.count.unwrap_or(1).max(1) as usize;
        array.resize(array.len().max(count), Descriptor::default());
    }
    Ok(descriptors)
}

// ── GPU ──

/// The GPU that tests run on as well, if the environment names one: `PHALANX_TEST_CUDA=0`.
pub fn gpu() -> Option<Target> {
    std::env::var("PHALANX_TEST_CUDA").ok()?.trim().parse().ok().map(Target::Cuda)
}

/// Whether an error says that a target does not do something.
pub fn is_unsupported(error: &str) -> bool {
    error.contains("not supported by the target")
}

/// The GPU with a number; another context of it once one was lost.
fn open(ordinal: u32) -> Result<Arc<Gpu>, String> {
    static OPEN: Mutex<Option<(u32, Arc<Gpu>)>> = Mutex::new(None);
    let mut open = OPEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((of, gpu)) = &*open
        && *of == ordinal
        && !gpu.is_lost()
    {
        return Ok(Arc::clone(gpu));
    }
    let gpu = Arc::new(Gpu::open(ordinal, None, false).map_err(|error| error.to_string())?);
    *open = Some((ordinal, Arc::clone(&gpu)));
    Ok(gpu)
}

fn cuda(ordinal: u32, module: &Verified, file: &TestFile) -> Result<Outcome, String> {
    let gpu = open(ordinal)?;
    let module = for_threads(module)?;
    let allocate = |size| gpu.create_buffer(size).map_err(|error| error.to_string());
    run_file(file, passes::THREADS.inferencing, &allocate, &|bound, grid| {
        dispatch_on_gpu(&gpu, &module, bound, grid)
    })
}

/// As [`run_plain`].
fn cuda_plain(
    ordinal: u32,
    module: &Verified,
    before: &BTreeMap<Slot, Vec<u8>>,
    push: Option<&[u8]>,
    groups: [u32; 3],
) -> Result<BTreeMap<Slot, Vec<u8>>, String> {
    let gpu = open(ordinal)?;
    let module = for_threads(module)?;
    let mut buffers = BTreeMap::new();
    for (slot, bytes) in before {
        let buffer = gpu.create_buffer(bytes.len() as u64).map_err(|error| error.to_string())?;
        buffer.write(0, bytes).map_err(|error| error.to_string())?;
        buffers.insert(*slot, buffer);
    }
    let addresses: Vec<u8> = buffers.values().flat_map(|b| b.device_address().to_le_bytes()).collect();
    let push = push.unwrap_or(&addresses);
    let grid = Grid { groups, base: [0; 3], timeout: Duration::from_secs(20) };
    let (images, samplers) = (BTreeMap::new(), BTreeMap::new());
    let bound = Bound { buffers: &buffers, images: &images, samplers: &samplers, push };
    dispatch_on_gpu(&gpu, &module, &bound, &grid)?;
    contents(&buffers)
}

/// A module with the passes done that GPUs want.
fn for_threads(module: &Verified) -> Result<Verified, String> {
    let options = passes::Options { verify: true, ..passes::Options::default() };
    passes::optimize_by(&passes::THREADS, module.clone(), &options).map_err(|bug| bug.to_string())
}

fn dispatch_on_gpu(
    gpu: &Gpu,
    module: &Verified,
    bound: &Bound<'_>,
    grid: &Grid,
) -> Result<Vec<String>, String> {
    let code =
        phalanx_back_nvptx::compile(module, gpu.properties().arch).map_err(|error| error.to_string())?;
    let pipeline = Arc::new(gpu.create_pipeline(module, &code, None).map_err(|error| error.to_string())?);
    let descriptors = descriptors(module, bound)?;
    let descriptors: Vec<_> = descriptors.iter().map(Vec::as_slice).collect();
    let report = gpu.dispatch(&phalanx_cuda::Dispatch {
        pipeline: &pipeline,
        groups: grid.groups,
        base: grid.base,
        descriptors: &descriptors,
        push: bound.push,
        timeout: Some(grid.timeout),
        cancel: None,
    });
    let report = report.map_err(|error| error.to_string())?;
    Ok(lines(report.printed, &report.warnings))
}

#[cfg(test)]
mod tests {
    use super::{KINDS, turn};
    use std::collections::BTreeSet;

    #[test]
    fn each_kind_meets_each_processor() {
        for count in 1..=13 {
            let met: BTreeSet<_> =
                (0..KINDS * count).map(|number| (number % KINDS, turn(number, count))).collect();
            assert_eq!(met.len(), KINDS * count, "{count} processors");
        }
    }
}

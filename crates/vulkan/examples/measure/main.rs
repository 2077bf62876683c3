//! Measures the driver as an application sees it, beside the crate that it stands on.
//!
//! `cargo build --release -p phalanx-vulkan --lib --examples`, then in `target/release/examples`
//! `measure [--json FILE] [start] [small] [ladder]`: all parts, or those that are named.

#![expect(clippy::print_stdout, reason = "what was measured goes to the standard output")]
#![expect(unsafe_op_in_unsafe_fn, reason = "most of it calls Vulkan")]

mod ladder;
mod vulkan;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use phalanx::glsl::{self, GlslOptions};
use phalanx::{Binding, Dispatch, PipelineDescriptor};
use vulkanalia::prelude::v1_3::*;

use crate::ladder::Pair;
use crate::vulkan::Vulkan;

/// Processes that are started to see how long a start takes.
const PROBES: usize = 9;

/// Dispatches of the command buffer that has many.
const MANY: usize = 10_000;

/// Does nothing, or works for as long as it is told.
const SMALL: &str = "#version 460
    layout(local_size_x = 32) in;
    layout(set = 0, binding = 0) buffer Data { uint x[]; };
    layout(push_constant) uniform Push { uint steps; };
    void main() {
        uint y = gl_LocalInvocationIndex;
        for (uint i = 0; i < steps; ++i) y = y * 1664525 + 1013904223;
        if (steps != 0) x[gl_GlobalInvocationID.x] = y;
    }";

/// Something that was measured.
struct Record {
    name: String,
    value: f64,
    unit: &'static str,
    /// What it may be at most.
    bar: Option<f64>,
}

fn main() -> Result<()> {
    let (mut json, mut parts) = (None, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => json = Some(arguments.next().context("--json needs a file")?),
            "start" | "small" | "ladder" => parts.push(argument),
            _ => bail!("usage: measure [--json FILE] [start] [small] [ladder]"),
        }
    }
    let is_wanted = |part: &str| parts.is_empty() || parts.iter().any(|name| name == part);
    // SAFETY: the calls keep to the rules of Vulkan.
    let (name, records) = unsafe { measure(is_wanted) }?;
    for Record { name, value, unit, bar } in &records {
        let verdict = match bar {
            Some(bar) if value <= bar => format!("at most {bar}"),
            Some(bar) => format!("at most {bar}: MISSED"),
            None => String::new(),
        };
        println!("{name:<58} {value:>9.3} {unit:<3} {verdict}");
    }
    if let Some(file) = json {
        let record = |Record { name, value, unit, bar }: &Record| serde_json::json!({ "name": name, "value": value, "unit": unit, "bar": bar });
        let records: Vec<_> = records.iter().map(record).collect();
        let text = serde_json::json!({ "device": name, "records": records });
        std::fs::write(&file, format!("{text:#}\n")).with_context(|| format!("{file} cannot be written"))?;
    }
    Ok(())
}

unsafe fn measure(is_wanted: impl Fn(&str) -> bool) -> Result<(String, Vec<Record>)> {
    let mut records = if is_wanted("start") { probes()? } else { Vec::new() };
    let entry = vulkan::load(&vulkan::library()?)?;
    let gpu = Vulkan::new(vulkan::instance(&entry)?)?;
    let device = phalanx::Device::new(&phalanx::DeviceOptions::default())?;
    if is_wanted("small") {
        small_dispatches(&gpu, &device, &mut records)?;
    }
    for rung in ladder::rungs(device.info().threads).iter().filter(|_rung| is_wanted("ladder")) {
        let pair = ladder::measure(&gpu, &device, rung)?;
        let name = rung.name;
        let mut put = |text: &str, value, unit, bar| {
            records.push(Record {
                name: format!("ladder {name}, 1024^3, f16->f32: {text}"),
                value,
                unit,
                bar,
            });
        };
        put("vkCreateComputePipelines", pair.creation.as_secs_f64() * 1e3, "ms", None);
        put("the crate", ladder::median(&pair.own) * 1e3, "ms", None);
        put("Vulkan", ladder::median(&pair.vulkan) * 1e3, "ms", None);
        put("Vulkan to the crate", pair.ratio(), "", Some(1.03));
    }
    gpu.end();
    Ok((device.info().name.clone(), records))
}

/// Starts processes that measure their own beginning.
fn probes() -> Result<Vec<Record>> {
    let rung = ladder::large_tile();
    let bytes: Vec<u8> = rung.words()?.iter().flat_map(|word| word.to_le_bytes()).collect();
    let file = std::env::temp_dir().join(format!("phalanx-measure-{}.spv", std::process::id()));
    std::fs::write(&file, bytes)?;
    let runs = (0..PROBES).map(|_| probe(&file, &rung.constants())).collect::<Result<Vec<_>>>();
    std::fs::remove_file(&file)?;
    let runs = runs?;
    let median = |column: usize| {
        let mut values: Vec<f64> = runs.iter().map(|run| run[column]).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let record = |name: &str, value, bar| Record { name: name.to_owned(), value, unit: "ms", bar: Some(bar) };
    Ok(vec![
        Record {
            name: "start: the library and what it links".to_owned(),
            value: median(0),
            unit: "ms",
            bar: None,
        },
        Record { name: "start: and an instance".to_owned(), value: median(1), unit: "ms", bar: None },
        record("start: and a device with a queue", median(2), 20.0),
        record(&format!("pipeline of {}: the first of a process", rung.name), median(3), 100.0),
        record(&format!("pipeline of {}: from a cache", rung.name), median(4), 2.0),
    ])
}

/// What one process measures.
fn probe(module: &Path, constants: &[(u32, u32)]) -> Result<[f64; 5]> {
    let program = std::env::current_exe()?.with_file_name("probe");
    let mut command = Command::new(&program);
    command.arg(module).args(constants.iter().map(|(id, value)| format!("{id}={value}")));
    let output = command.output().with_context(|| format!("{} cannot be started", program.display()))?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let numbers = text.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>()?;
    numbers.try_into().ok().context("five numbers")
}

/// Measures dispatches that do little, alone and in large numbers.
unsafe fn small_dispatches(gpu: &Vulkan, device: &phalanx::Device, records: &mut Vec<Record>) -> Result<()> {
    let words = glsl::compile(SMALL, &GlslOptions::default())?;
    let kernel = gpu.kernel(&words, &[], 1, vk::PipelineCache::null())?;
    let set = gpu.set(&kernel, &[gpu.buffer(&[0; 1 << 16])?])?;
    let module = device.create_module(&words)?;
    let pipeline = device.create_pipeline(&PipelineDescriptor::new(&module))?;
    let buffer = device.create_buffer(1 << 16)?;
    let bindings = [Binding::new(0, 0, &buffer)];
    let own = |steps: u32, groups| {
        let push_constants = &steps.to_le_bytes();
        let all = Dispatch { bindings: &bindings, push_constants, ..Dispatch::new(&pipeline, groups) };
        Ok(device.dispatch(&all).map(|_report| ())?)
    };
    let mut put = |name: String, value, unit, bar| records.push(Record { name, value, unit, bar });

    let start = Instant::now();
    let many = gpu.record(&kernel, &[set], &[0; 4], [1, 1, 1], MANY)?;
    put(format!("{MANY} empty dispatches: recording"), start.elapsed().as_secs_f64() * 1e3, "ms", None);
    let pair = ladder::by_turns(
        Duration::from_secs(1),
        || gpu.execute(many),
        || (0..MANY).try_for_each(|_| own(0, [1, 1, 1])),
    )?;
    put(format!("{MANY} empty dispatches: the crate"), ladder::median(&pair.own) * 1e3, "ms", None);
    put(format!("{MANY} empty dispatches: Vulkan"), ladder::median(&pair.vulkan) * 1e3, "ms", Some(20.0));

    // Steps that take some ten microseconds.
    let mut steps = 1000;
    for _ in 0..3 {
        let times = ladder::by_turns(Duration::from_millis(20), || Ok(()), || own(steps, [4, 1, 1]))?.own;
        steps = ((f64::from(steps) * 10e-6 / ladder::median(&times)) as u32).max(1);
    }
    for (name, steps, rest) in [
        ("an empty dispatch", 0, Duration::ZERO),
        ("a dispatch of 10 us", steps, Duration::ZERO),
        // Longer than anybody looks out for more work.
        ("a dispatch of 10 us after a rest of 1 ms", steps, Duration::from_millis(1)),
    ] {
        let commands = gpu.record(&kernel, &[set], &steps.to_le_bytes(), [4, 1, 1], 1)?;
        let pair = in_turns_with_rest(rest, || gpu.execute(commands), || own(steps, [4, 1, 1]))?;
        let (vulkan, own) = (ladder::median(&pair.vulkan) * 1e6, ladder::median(&pair.own) * 1e6);
        put(format!("{name}: the crate"), own, "us", None);
        put(format!("{name}: Vulkan"), vulkan, "us", None);
        put(format!("{name}: the queue adds"), vulkan - own, "us", Some(30.0));
    }
    Ok(())
}

/// Measures both ways by turns, each after a rest; a row of one way, then one of the other, where there is none.
fn in_turns_with_rest(
    rest: Duration,
    mut vulkan: impl FnMut() -> Result<()>,
    mut own: impl FnMut() -> Result<()>,
) -> Result<Pair> {
    const ROUNDS: usize = 40;
    const ROW: usize = 50;
    let mut pair = Pair::default();
    let row = |work: &mut dyn FnMut() -> Result<()>, times: &mut Vec<Duration>| {
        for _ in 0..if rest.is_zero() { ROW } else { ROW / 5 } {
            std::thread::sleep(rest);
            let start = Instant::now();
            work()?;
            times.push(start.elapsed());
        }
        anyhow::Ok(())
    };
    for _ in 0..ROUNDS {
        row(&mut vulkan, &mut pair.vulkan)?;
        row(&mut own, &mut pair.own)?;
    }
    Ok(pair)
}

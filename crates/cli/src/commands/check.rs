//! `phalanx check`: whether a shader is valid, what it uses and what a device must offer.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use super::load_shader;
use crate::args::CheckArgs;
use crate::progress::Interrupt;
use crate::runtime::vector::VectorUse;
use crate::runtime::{self, BindingInfo, Constant, EntryPoint, Reflection};
use crate::{Status, say};

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Report<'a> {
    shader: &'a Path,
    /// Nothing where that cannot be told, because the shader uses what is not known here.
    valid: Option<bool>,
    /// What is wrong, if something is.
    error: Option<String>,
    /// Whether this machine's CPU runs it.
    runs_here: bool,
    /// Why not.
    obstacle: Option<String>,
    #[serde(flatten)]
    reflection: Option<Reflection>,
}

pub(crate) fn run(args: &CheckArgs) -> Result<Status> {
    let found = examine(args);
    if args.json && !found.as_ref().is_err_and(runtime::is_cancelled) {
        let (reflection, obstacle, error) = match &found {
            Ok((reflection, obstacle)) => (Some(reflection.clone()), obstacle.clone(), None),
            Err(error) => (None, None, Some(crate::message(error, args.all))),
        };
        let report = Report {
            shader: &args.shader,
            valid: match &found {
                Ok(_) => Some(true),
                Err(error) => (!runtime::is_unsupported(error)).then_some(false),
            },
            error,
            runs_here: found.is_ok() && obstacle.is_none(),
            obstacle,
            reflection,
        };
        say(serde_json::to_string_pretty(&report).context("the report cannot be written as JSON")?)?;
    }
    let (reflection, obstacle) = found?;
    if !args.json {
        say(format!("{}: valid", args.shader.display()))?;
        say(describe(&reflection, obstacle.as_deref()))?;
    }
    Ok(Status::Done)
}

/// What the shader is, and what keeps this machine from running it.
fn examine(args: &CheckArgs) -> Result<(Reflection, Option<String>)> {
    let shader = load_shader(&args.shader, &args.glsl)?;
    let interrupt = Interrupt::listen()?;
    let cancel = interrupt.token();
    let context = || format!("{} is not accepted", args.shader.display());
    let reflection = runtime::reflect(&shader, &args.spec, args.sizes.sizes(), None, Some(cancel))
        .with_context(context)?;
    let kernels = reflection.entry_points.iter().filter(|entry| entry.model == "GLCompute");
    let names: Vec<&str> = kernels.map(|entry| entry.name.as_str()).collect();
    let obstacle = if names.is_empty() {
        Some("it has no entry point for compute".to_owned())
    } else {
        let reason = runtime::obstacle(&shader, &args.spec, args.sizes.sizes(), &names, cancel)
            .with_context(context)?;
        // The interpreter has accepted it already.
        reason.map(|reason| format!("{reason}; `run --device interpreter` does"))
    };
    Ok((reflection, obstacle))
}

fn describe(shader: &Reflection, obstacle: Option<&str>) -> String {
    let language = if shader.version.is_empty() { "MLIR" } else { "SPIR-V" };
    let mut text = format!("  {:<24}{language} {}", "language", shader.version);
    let mut list = |title: &str, items: &[String]| {
        for (index, item) in items.iter().enumerate() {
            let title = if index == 0 { title } else { "" };
            // Writing to a string does not fail.
            let _ = write!(text, "\n  {title:<24}{item}");
        }
    };
    let entries = &shader.entry_points;
    // One entry point goes without saying.
    let of = |entry: &EntryPoint| if entries.len() > 1 { format!("{}: ", entry.name) } else { String::new() };
    list("entry points", &entries.iter().map(|entry| entry.name.clone()).collect::<Vec<_>>());
    let sizes = entries.iter().filter_map(|entry| Some(format!("{}{}", of(entry), work_group(entry)?)));
    list("work-group", &sizes.collect::<Vec<_>>());
    let shared = entries.iter().filter_map(|entry| {
        let bytes = entry.shared_bytes.filter(|bytes| *bytes > 0)?;
        Some(format!("{}{bytes} bytes for each work-group", of(entry)))
    });
    list("shared memory", &shared.collect::<Vec<_>>());
    list("capabilities", &shader.capabilities);
    list("extensions", &shader.extensions);
    list("matrices", &shader.matrices);
    list("matrices * vectors", &shader.vectors.iter().map(VectorUse::describe).collect::<Vec<_>>());
    list("buffers", &shader.bindings.iter().map(buffer).collect::<Vec<_>>());
    if shader.push_constant_bytes > 0 {
        list("push constants", &[format!("{} bytes", shader.push_constant_bytes)]);
    }
    list("constants", &shader.constants.iter().map(constant).collect::<Vec<_>>());
    list("a device must offer", &shader.requirements);
    let here = match obstacle {
        None => "runs it".to_owned(),
        Some(reason) => format!("does not run it: {reason}"),
    };
    list("this machine", &[here]);
    text
}

/// The size of a work-group, and the specialisation constants that it depends on.
fn work_group(entry: &EntryPoint) -> Option<String> {
    let [x, y, z] = entry.local_size?;
    let axes = ["x", "y", "z"].into_iter().zip(entry.local_size_constants);
    let constants: Vec<String> =
        axes.filter_map(|(axis, id)| Some(format!("{axis} is constant {}", id?))).collect();
    let by = if constants.is_empty() { String::new() } else { format!(": {}", constants.join(", ")) };
    Some(format!("{x} x {y} x {z} invocations{by}"))
}

fn buffer(binding: &BindingInfo) -> String {
    let element = binding.element.map_or_else(String::new, |dtype| format!(", elements {dtype}"));
    let count = match binding.count {
        Some(1) => String::new(),
        Some(count) => format!(" x {count}"),
        None => " x any number".to_owned(),
    };
    let space = if binding.name.is_empty() { "" } else { " " };
    format!(
        "{}:{}{space}{}{count}, at least {} bytes{element}",
        binding.set, binding.binding, binding.name, binding.min_bytes
    )
}

fn constant(constant: &Constant) -> String {
    let space = if constant.name.is_empty() { "" } else { " " };
    format!("{}{space}{} = {}", constant.id, constant.name, constant.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DType;
    use crate::runtime::BindingInfo;

    fn entry(name: &str) -> EntryPoint {
        EntryPoint {
            name: name.to_owned(),
            model: "GLCompute".to_owned(),
            local_size: Some([32, 1, 1]),
            local_size_constants: [Some(3), None, None],
            shared_bytes: Some(4096),
        }
    }

    fn shader() -> Reflection {
        Reflection {
            version: "1.6".to_owned(),
            entry_points: vec![entry("main")],
            capabilities: vec!["Shader".to_owned(), "CooperativeMatrixKHR".to_owned()],
            extensions: vec!["SPV_KHR_cooperative_matrix".to_owned()],
            matrices: vec!["f16 16x16 use A".to_owned()],
            vectors: Vec::new(),
            requirements: vec!["cooperativeMatrix".to_owned()],
            bindings: vec![BindingInfo {
                set: 0,
                binding: 1,
                name: "inputB".to_owned(),
                count: Some(1),
                element: Some(DType::F16),
                min_bytes: 0,
            }],
            declared: vec![(0, 1)],
            push_constant_bytes: 20,
            push_constants: Vec::new(),
            constants: vec![
                Constant { id: 0, name: "lM".to_owned(), dtype: "u32".to_owned(), value: "16".to_owned() },
                Constant { id: 1, name: String::new(), dtype: "u32".to_owned(), value: "8".to_owned() },
            ],
        }
    }

    #[test]
    fn every_part_is_shown() {
        let text = describe(&shader(), None);
        for part in [
            "1.6",
            "32 x 1 x 1 invocations: x is constant 3\n",
            "4096 bytes for each work-group",
            "CooperativeMatrixKHR",
            "0:1 inputB",
            "elements f16",
            "20 bytes",
            "0 lM = 16",
            "1 = 8",
            "this machine            runs it",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }

    #[test]
    fn several_entry_points_are_kept_apart() {
        let mut shader = shader();
        shader.entry_points.push(entry("other"));
        let text = describe(&shader, Some("matrices of scope Workgroup"));
        for part in
            ["main: 32 x 1 x 1", "other: 32 x 1 x 1", "other: 4096 bytes", "does not run it: matrices of"]
        {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }
}

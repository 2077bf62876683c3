//! `phalanx explain`: where the elements of matrices and tensors are.
//!
//! What is shown comes from the library, which kernels use as well; here it is only drawn.

pub(crate) mod args;
mod layout;
mod matrix;
mod picture;
mod tensor;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

use self::args::{ExplainArgs, ExplainCommand, Given, MatrixArgs, Output, ScopeName, ShaderArgs, UseName};
use self::matrix::Matrix;
use self::picture::{Limit, Picture};
use self::tensor::Access;
use super::load_shader;
use crate::runtime::explain::{self as library, MatType, Scope, Use};
use crate::runtime::{self, Choices, Device, PipelineOptions, Sizes, list_or_none};
use crate::{Status, output, say};

pub(crate) fn run(args: &ExplainArgs) -> Result<Status> {
    match &args.what {
        Some(ExplainCommand::Matrix(args)) => {
            let matrix = device_matrix(args)?;
            answer(&args.output, &matrix.report(), &[matrix.picture()], Limit::TEXT)
        }
        Some(ExplainCommand::Tensor(args)) => {
            let access = tensor::from_args(args)?;
            answer(&args.output, &access.report(), &[access.picture()], Limit::TEXT)
        }
        Some(ExplainCommand::Layout(args)) => {
            let stored = layout::Stored::new(args)?;
            answer(&args.output, &stored.report(), &[stored.picture()], Limit::TEXT)
        }
        None => shader(&args.shader),
    }
}

/// Prints and draws.
fn answer(wanted: &Output, report: &impl Serialize, pictures: &[Picture], limit: Limit) -> Result<Status> {
    if let Some(path) = &wanted.svg {
        output::write(path, picture::svg(pictures))?;
    }
    if wanted.json {
        say(serde_json::to_string(report).context("the report cannot be written as JSON")?)?;
    } else {
        let text: Vec<String> = pictures.iter().map(|picture| picture.text(limit)).collect();
        say(text.join("\n").trim_end())?;
    }
    Ok(Status::Done)
}

/// A matrix that the device has.
fn device_matrix(args: &MatrixArgs) -> Result<Matrix> {
    let device = Device::of_kind(args.device, Choices { threads: Some(1), ..Choices::default() })?;
    let info = device.info();
    let subgroup_size = args.subgroup_size.unwrap_or(info.default_subgroup_size);
    ensure!(
        info.subgroup_sizes.contains(&subgroup_size),
        "subgroups of {subgroup_size} invocations; the device has {:?}",
        info.subgroup_sizes
    );
    let elements = u64::from(args.rows) * u64::from(args.cols);
    ensure!(
        elements > 0 && elements <= info.max_matrix_elements,
        "a matrix of {} x {}; the device has those of 1 to {} elements",
        args.rows,
        args.cols,
        info.max_matrix_elements
    );
    let name = args.dtype.name();
    let (use_, role, has_type): (_, _, fn(&runtime::MatrixRow, &str) -> bool) = match args.use_ {
        UseName::A => (Use::A, "A", |row, name| row.a == name),
        UseName::B => (Use::B, "B", |row, name| row.b == name),
        UseName::Accumulator => {
            (Use::Accumulator, "accumulator", |row, name| row.c == name || row.result == name)
        }
    };
    ensure!(
        info.matrices.iter().any(|row| has_type(row, name)),
        "the device has no matrices of {name} of use {role}; `phalanx devices` lists them"
    );
    let (scope, shared_by, invocations) = match args.scope {
        ScopeName::Subgroup => (Scope::Subgroup, "subgroup", subgroup_size),
        ScopeName::Workgroup => (Scope::Workgroup, "workgroup", args.workgroup_size.unwrap_or(subgroup_size)),
    };
    ensure!(
        invocations <= info.max_workgroup_invocations,
        "a work-group of {invocations} invocations; the device has at most {}",
        info.max_workgroup_invocations
    );
    let ty = MatType { elem: library::scalar(args.dtype), scope, rows: args.rows, cols: args.cols, use_ };
    let name = format!("{name} {}x{} {role}, one for each {shared_by}", args.rows, args.cols);
    Ok(Matrix { name, ty, layout: device.layout_of(ty, invocations) })
}

/// What `--json` prints of a shader.
#[derive(Debug, Serialize)]
struct ShaderReport {
    matrices: Vec<matrix::Report>,
    tensors: Vec<tensor::Report>,
}

fn shader(args: &ShaderArgs) -> Result<Status> {
    let Some(path) = &args.shader else {
        bail!("what is to be explained? `matrix`, `tensor`, or the file of a shader")
    };
    let loaded = load_shader(path, &args.glsl)?;
    let entry = loaded.entry(args.entry.as_deref())?;
    let device = Device::new(Some(1))?;
    let subgroup_size = args.subgroup_size.unwrap_or(device.info().default_subgroup_size);
    let options = PipelineOptions {
        entry: &entry,
        constants: &args.spec,
        sizes: Sizes { subgroup: Some(subgroup_size), workgroup: None },
        cancel: None,
    };
    let found =
        library::explain(&loaded, options).with_context(|| format!("{} is not accepted", path.display()))?;
    let matrix = |(name, ty): (String, MatType)| {
        let invocations = match ty.scope {
            Scope::Workgroup => found.workgroup_invocations,
            _ => subgroup_size,
        };
        Matrix { name, ty, layout: device.layout_of(ty, invocations) }
    };
    let matrices: Vec<Matrix> = found.matrices.into_iter().map(matrix).collect();
    let mut accesses: Vec<Access> =
        (found.tensors.iter().enumerate()).map(|(index, found)| shader_access(index + 1, found)).collect();
    give(&mut accesses, &args.given)?;
    let report = ShaderReport {
        matrices: matrices.iter().map(Matrix::report).collect(),
        tensors: accesses.iter().map(Access::report).collect(),
    };
    let pictures: Vec<Picture> =
        matrices.iter().map(Matrix::picture).chain(accesses.iter().map(Access::picture)).collect();
    if pictures.is_empty() && !args.output.json {
        say(format!("{}: no matrices", path.display()))?;
        return Ok(Status::Done);
    }
    answer(&args.output, &report, &pictures, Limit::BRIEF)
}

/// An access of a shader, the numbers as far as it says.
fn shader_access(number: usize, found: &library::ShaderTensor) -> Access {
    Access {
        title: title(number, found),
        rows: found.matrix.rows,
        cols: found.matrix.cols,
        is_store: found.is_store,
        access: found.access,
        words: found.words.clone(),
    }
}

/// What an access of a shader is called.
fn title(number: usize, found: &library::ShaderTensor) -> String {
    let what = match (found.is_store, found.is_decoded) {
        (true, _) => "store of",
        (false, true) => "decoding load of",
        (false, false) => "load of",
    };
    let place = match &found.place {
        Some(place) if place.line > 0 => format!(", {}:{}", place.file, place.line),
        _ => String::new(),
    };
    format!("tensor access {number}: {what} {}{place}", found.matrix)
}

/// Sets what the shader computes to what the user says.
fn give(accesses: &mut [Access], given: &[Given]) -> Result<()> {
    let count = accesses.len();
    for given in given {
        ensure!(
            given.access.is_none_or(|number| (1..=count).contains(&number)),
            "--let {}: the shader has {count} tensor accesses",
            given.name
        );
        let mut known = Vec::new();
        let mut is_found = false;
        for (index, access) in accesses.iter_mut().enumerate() {
            if given.access.is_some_and(|number| number != index + 1) {
                continue;
            }
            let names = access.names();
            if let Some(word) = names.iter().position(|name| *name == given.name)
                && let Some(word) = access.words.get_mut(word)
            {
                is_found = true;
                // What the shader says stays true.
                word.get_or_insert(given.value);
            }
            known.extend(names);
        }
        known.sort_unstable();
        known.dedup();
        ensure!(
            is_found,
            "--let {}: no tensor access has it; there are {}",
            given.name,
            list_or_none(&known)
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;

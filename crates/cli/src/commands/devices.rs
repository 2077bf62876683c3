//! `phalanx devices`: what this machine offers to a kernel.

use anyhow::{Context, Result};

use crate::args::DevicesArgs;
use crate::runtime::{Choices, Device, DeviceInfo, DeviceKind};
use crate::{Status, say, table};

pub(crate) fn run(args: &DevicesArgs) -> Result<Status> {
    let devices: Vec<Device> = DeviceKind::available()
        .into_iter()
        .map(|kind| Device::of_kind(kind, Choices::default()))
        .collect::<Result<_>>()?;
    let infos: Vec<&DeviceInfo> = devices.iter().map(Device::info).collect();
    if args.json {
        let text = serde_json::to_string_pretty(&infos).context("the devices cannot be written as JSON")?;
        return say(text).map(|()| Status::Done);
    }
    for (device, info) in devices.iter().zip(infos) {
        say(if device.is_gpu() { describe_gpu(info) } else { describe(info) })?;
    }
    Ok(Status::Done)
}

/// A GPU in a few lines: its types of matrices and vectors are those of the processor.
fn describe_gpu(info: &DeviceInfo) -> String {
    format!(
        "\n{name}\n  --device          {device}\n  multiprocessors   {threads}\n  subgroup size     {size}\n\
         \x20 work-groups       of up to {invocations} invocations\n  matrices          of scope {scopes}, of {rows} rows of types",
        name = info.name,
        device = info.device,
        threads = info.threads,
        size = info.default_subgroup_size,
        invocations = info.max_workgroup_invocations,
        scopes = info.matrix_scopes.join(" and "),
        rows = info.matrices.len(),
    )
}

fn describe(info: &DeviceInfo) -> String {
    let sizes: Vec<String> = info.subgroup_sizes.iter().map(u32::to_string).collect();
    let mut matrices = table::new(&["M", "N", "K", "A", "B", "C", "result", "saturating"], 8);
    for row in &info.matrices {
        let saturating = if row.is_saturating { "yes" } else { "" };
        matrices.add_row([&row.m, &row.n, &row.k, &row.a, &row.b, &row.c, &row.result, saturating]);
    }
    let mut vectors = table::new(&["input", "taken for", "matrix", "bias", "result", "transpose"], 6);
    for row in &info.vectors {
        let transpose = if row.transpose { "optimal layouts" } else { "" };
        vectors.add_row([&row.input, &row.interpretation, &row.matrix, &row.bias, &row.result, transpose]);
    }
    format!(
        "{name}\n  cores             {cores}\n  processor         {processor}\n\
         \x20                   others with --cpu: {available}\n\
         \x20                   not on this machine: {foreign}\n  instruction sets  {sets}\n  subgroup sizes    {sizes} (default {size})\n\
  work-groups       of up to {invocations} invocations\n\
         \nCooperative matrices of scope {scopes}, of up to {elements} components each; those of f64, s64 and u64 come as SPIR-V, GLSL has none\n\
         {matrices}\n\nMatrices times cooperative vectors\n{vectors}",
        name = info.name,
        cores = info.cores,
        processor = info.processor,
        available = names(info, true),
        foreign = names(info, false),
        sets = info.instruction_sets.join(" "),
        sizes = sizes.join(" "),
        size = info.default_subgroup_size,
        invocations = info.max_workgroup_invocations,
        scopes = info.matrix_scopes.join(" and "),
        elements = info.max_matrix_elements,
    )
}

/// The names of the processors that this machine can stand in for, or of the others.
fn names(info: &DeviceInfo, is_available: bool) -> String {
    let rows = info.processors.iter().filter(|row| row.is_available == is_available);
    rows.map(|row| row.name).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::vector::VectorRow;
    use crate::runtime::{MatrixRow, ProcessorRow};

    #[test]
    fn every_matrix_row_is_shown() {
        let row = |a: &str| MatrixRow {
            m: "1-16384".to_owned(),
            n: "1-16384".to_owned(),
            k: "1-16384".to_owned(),
            a: a.to_owned(),
            b: a.to_owned(),
            c: "f32".to_owned(),
            result: "f32".to_owned(),
            is_saturating: false,
        };
        let text = describe(&DeviceInfo {
            device: "cpu".to_owned(),
            name: "a machine".to_owned(),
            cores: 2,
            threads: 2,
            processor: "native (haswell)".to_owned(),
            processors: vec![
                ProcessorRow { name: "haswell", architecture: "x86_64", is_available: true },
                ProcessorRow { name: "apple-m1", architecture: "aarch64", is_available: false },
            ],
            instruction_sets: vec!["avx2".to_owned()],
            subgroup_sizes: vec![16, 32],
            default_subgroup_size: 32,
            max_workgroup_invocations: 512,
            max_matrix_elements: 1 << 24,
            matrix_scopes: vec!["subgroup", "workgroup"],
            matrices: vec![row("f16"), row("bf16")],
            vectors: vec![VectorRow {
                input: "u32".to_owned(),
                interpretation: "s8 packed".to_owned(),
                matrix: "u8".to_owned(),
                bias: "s32".to_owned(),
                result: "s32".to_owned(),
                transpose: true,
            }],
        });
        for part in [
            "a machine",
            "avx2",
            "native (haswell)",
            "others with --cpu: haswell",
            "not on this machine: apple-m1",
            "16 32 (default 32)",
            "up to 512",
            "subgroup and workgroup",
            "bf16",
            "1-16384",
            "s8 packed",
            "optimal layouts",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }
}

//! What one kernel did, as it is written to JSON.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::output;

/// One kernel on one problem. The fields are a format that others read: they only grow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// `gemm` for the ladder, or what else was computed.
    pub(crate) workload: String,
    /// What was computed, in words: `512³`, or `4096 tokens, 1 head of 128, causal`.
    pub(crate) problem: String,
    /// The name of the rung, or of another workload's kernel.
    pub(crate) rung: String,
    /// The element type of A and B.
    pub(crate) a: String,
    /// The element type of C, D and the sums.
    pub(crate) c: String,
    /// M, N and K of the product of matrices; of another workload, of the product that it is or is made of.
    pub(crate) m: u32,
    pub(crate) n: u32,
    pub(crate) k: u32,
    /// What a work-group computes and the step along K: `128x128x32`.
    pub(crate) tile: String,
    /// M, N and K of one matrix: `16x16x16`; empty where nobody chose it.
    #[serde(default)]
    pub(crate) shape: String,
    /// How many hardware threads ran it.
    pub(crate) threads: usize,
    /// Of one dispatch, in the spell of dispatches whose share of the peak is the middle one.
    pub(crate) seconds: f64,
    /// Additions and multiplications: 2·M·N·K for a product of matrices.
    pub(crate) operations: f64,
    /// The operations in that time, in 10⁹ a second; for integers too.
    pub(crate) gflops: f64,
    /// What these threads reach with nothing but the best instruction for these types.
    pub(crate) peak_gflops: f64,
    /// What that instruction is: `AMX`, `dot product`, `i16 pairs` or `f32 FMA`.
    #[serde(default)]
    pub(crate) peak_unit: String,
    /// `gflops` as a part of `peak_gflops`.
    pub(crate) share_of_peak: f64,
    /// The largest error, relative to the length of the row of A times the length of the column of B, or to
    /// what the workload's reference names.
    pub(crate) max_rel_error: f64,
    /// Whether the error is within the tolerance of the types.
    pub(crate) ok: bool,
    /// How near the result is to its original, where it has one: the peak signal-to-noise ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) psnr_db: Option<f64>,
    /// From SPIR-V to machine code, in milliseconds.
    pub(crate) compile_ms: f64,
    /// Whether sums narrower than f32 were rounded less often than the kernel says.
    #[serde(default)]
    pub(crate) relaxed_accumulation: bool,
    /// How many elements it read of each buffer, by name, where they are counted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) elements_read: BTreeMap<String, u64>,
    /// Which library did the same in turn with it, and with what types, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) versus: Option<String>,
    /// What it reached, in 10⁹ operations a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) versus_gflops: Option<f64>,
    /// How many times as fast the kernel was, in the middle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) versus_ratio: Option<f64>,
}

/// The path that stands for standard output.
pub(crate) const STANDARD_OUTPUT: &str = "-";

/// Writes all records as a JSON array.
///
/// The file is replaced as a whole, so that an interrupted run leaves a valid one.
pub(crate) fn write_json(path: &Path, records: &[Record]) -> Result<()> {
    let mut text = serde_json::to_string_pretty(records).context("the records cannot be written as JSON")?;
    text.push('\n');
    write_text(path, text)
}

/// Writes JSON to a file, or to standard output.
pub(crate) fn write_text(path: &Path, text: String) -> Result<()> {
    if path == Path::new(STANDARD_OUTPUT) {
        std::io::stdout().write_all(text.as_bytes()).context("standard output cannot be written")
    } else {
        output::write(path, text)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sample(rung: &str, gflops: f64) -> Record {
        Record {
            workload: "gemm".to_owned(),
            problem: "512³".to_owned(),
            rung: rung.to_owned(),
            a: "f16".to_owned(),
            c: "f32".to_owned(),
            m: 512,
            n: 512,
            k: 512,
            tile: "128x128x32".to_owned(),
            shape: "16x16x16".to_owned(),
            threads: 2,
            seconds: 2.0 * 512.0_f64.powi(3) / gflops / 1e9,
            operations: 2.0 * 512.0_f64.powi(3),
            gflops,
            peak_gflops: 500.0,
            peak_unit: "f32 FMA".to_owned(),
            share_of_peak: gflops / 500.0,
            max_rel_error: 1e-7,
            ok: true,
            psnr_db: None,
            compile_ms: 12.5,
            relaxed_accumulation: false,
            elements_read: BTreeMap::new(),
            versus: None,
            versus_gflops: None,
            versus_ratio: None,
        }
    }

    #[test]
    fn a_record_has_exactly_the_agreed_fields() {
        let value = serde_json::to_value(sample("tiled", 400.0)).expect("a record is JSON");
        let mut names: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
        names.sort_unstable();
        let mut expected = [
            "workload",
            "problem",
            "operations",
            "rung",
            "a",
            "c",
            "m",
            "n",
            "k",
            "tile",
            "shape",
            "threads",
            "seconds",
            "gflops",
            "peak_gflops",
            "peak_unit",
            "share_of_peak",
            "max_rel_error",
            "ok",
            "compile_ms",
            "relaxed_accumulation",
        ];
        expected.sort_unstable();
        assert_eq!(names, expected);
    }

    #[test]
    fn a_file_of_records_is_read_back() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("bench.json");
        let records = [sample("tiled", 400.0), sample("shared", 300.0)];
        write_json(&path, &records).expect("writable");
        let text = std::fs::read_to_string(&path).expect("readable");
        assert_eq!(serde_json::from_str::<Vec<Record>>(&text).expect("records"), records);
    }
}

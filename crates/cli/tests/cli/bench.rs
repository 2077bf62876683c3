//! `phalanx bench` where it does more than measure kernels: libraries beside them.

use super::*;

/// A library that is not installed is named with its package.
#[test]
fn a_library_is_measured_in_turn_or_missed_by_name() {
    let directory = empty_directory();
    for (library, name, package) in
        [("onednn", "oneDNN", "libdnnl-dev"), ("openblas", "OpenBLAS", "libopenblas-dev")]
    {
        let line = format!(
            "bench gemm --sizes 64 --types f32 --rungs tiled --threads 1 --versus {library} --json -"
        );
        let output = phalanx(&line.split_whitespace().collect::<Vec<_>>(), directory.path());
        let message = String::from_utf8(output.stderr).expect("text");
        if !output.status.success() {
            assert_eq!(output.status.code(), Some(2), "{message}");
            assert!(
                message.contains(&format!("{name} cannot be loaded")) && message.contains(package),
                "{message}"
            );
            continue;
        }
        assert!(message.contains("times as fast"), "{message}");
        let records: Vec<serde_json::Map<String, serde_json::Value>> =
            serde_json::from_slice(&output.stdout).expect("a list of records");
        let record = records.first().expect("one");
        assert!(record["versus"].as_str().is_some_and(|text| text.starts_with(name)), "{record:?}");
        for field in ["versus_gflops", "versus_ratio"] {
            assert!(record[field].as_f64().is_some_and(|number| number > 0.0), "{field}: {record:?}");
        }
    }
}

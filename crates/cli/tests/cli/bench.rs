//! `phalanx bench` where it does more than measure kernels: libraries beside them, and all that has a bar.

use super::*;

/// A library that is not installed is named with its package.
#[test]
fn a_library_is_measured_in_turn_or_missed_by_name() {
    let directory = empty_directory();
    for (library, name, package) in [
        ("onednn", "oneDNN", "libdnnl-dev"),
        ("onednn-packed", "oneDNN", "libdnnl-dev"),
        ("openblas", "OpenBLAS", "libopenblas-dev"),
    ] {
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
        let is_packed = record["versus"].as_str().is_some_and(|text| text.contains("packed"));
        assert_eq!(is_packed, library == "onednn-packed");
        for field in ["versus_gflops", "versus_ratio"] {
            assert!(record[field].as_f64().is_some_and(|number| number > 0.0), "{field}: {record:?}");
        }
    }
}

/// The figures that `bench all --quick` has for a filter.
fn figures(filter: &str) -> Vec<serde_json::Map<String, serde_json::Value>> {
    let directory = empty_directory();
    let arguments = ["bench", "all", "--quick", "--threads", "2", "--json", "all.json", "--filter", filter];
    let text = succeeds(&arguments, directory.path());
    assert!(text.contains("bars met") && text.contains("mean nothing"), "{text}");
    let json = std::fs::read(directory.path().join("all.json")).expect("written");
    let figures: Vec<serde_json::Map<String, serde_json::Value>> =
        serde_json::from_slice(&json).expect("a list of figures");
    for figure in &figures {
        for field in ["row", "workload", "shape", "unit", "bar", "value", "met"] {
            assert!(figure.contains_key(field), "{field}: {figure:?}");
        }
        assert_ne!(figure.get("ok"), Some(&false.into()), "{figure:?}");
        // Either it was measured, or it is said why not.
        assert_eq!(figure["value"].is_number(), figure["met"].is_boolean(), "{figure:?}");
        assert_ne!(figure["value"].is_number(), figure.contains_key("not_applicable"), "{figure:?}");
        assert!(text.contains(figure["row"].as_str().expect("a name")), "{text}");
    }
    figures
}

#[test]
fn every_row_of_a_workload_is_measured() {
    let rows = figures("rows");
    assert!(rows.len() >= 4, "{rows:?}");
    assert!(rows.iter().all(|row| row["peak_unit"] == "GB/s read"), "{rows:?}");
    let costs = figures("dispatch");
    assert_eq!((costs.len(), &costs[0]["unit"]), (1, &"µs".into()));
    let members = costs[0]["members"].as_object().expect("by work-groups");
    let count = |way: &str| members.keys().filter(|name| name.starts_with(way)).count();
    assert_eq!([count("work-groups"), count("one by one"), count("side by side")], [2, 7, 7], "{members:?}");
    assert!(figures("16 threads")[0].contains_key("not_applicable"));
}

#[test]
fn the_ladder_is_measured_at_the_size_of_gpus() {
    let rows = figures("16x16x16");
    assert_eq!(
        rows.iter().map(|row| row["rung"].as_str()).collect::<Vec<_>>(),
        [Some("simple"), Some("tiled"), Some("shared")]
    );
    assert!(rows.iter().all(|row| row["shape"] == "16x16x16"), "{rows:?}");
}

#[test]
fn a_filter_without_rows_names_those_that_there_are() {
    let directory = empty_directory();
    let expected = ["no row is called ladders", "gemm, amx"];
    refuses(&["bench", "all", "--quick", "--filter", "ladders"], directory.path(), &expected);
    // The reference has no speed to reach.
    refuses(&["bench", "all", "--device", "interpreter"], directory.path(), &["has no bars"]);
}

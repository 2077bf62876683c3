//! Profiles of an application, by `PHALANX_PROFILE`.

use std::process::Command;

use serde_json::Value;

/// Runs a case in a process of its own, for the driver reads the variable once.
fn run_case(target: &str) -> std::process::Output {
    let own = std::env::current_exe().expect("a program has a place");
    let output = Command::new(own)
        .args(["--exact", "compute::state_is_that_of_each_dispatch::direct"])
        .env("PHALANX_PROFILE", target)
        .output()
        .expect("the program starts");
    assert!(
        output.status.success() && String::from_utf8_lossy(&output.stdout).contains("1 passed"),
        "{output:?}"
    );
    output
}

#[test]
fn a_file_is_written_by_the_time_the_process_ends() {
    let path = std::env::temp_dir().join(format!("phalanx-profile-{}.json", std::process::id()));
    run_case(path.to_str().expect("a name"));
    let text = std::fs::read_to_string(&path).expect("a profile");
    std::fs::remove_file(&path).expect("it is there");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["pipelines"].as_array().map(Vec::len), Some(1), "{text}");
    let pipeline = &json["pipelines"][0];
    assert_eq!((&pipeline["name"], &pipeline["dispatches"]), (&"main".into(), &3.into()), "{text}");
    assert!(pipeline["elapsed"].as_f64().is_some_and(|seconds| seconds > 0.0), "{text}");
}

#[test]
fn tables_go_to_standard_error_once() {
    let output = run_case("-");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.matches(": 3 dispatches in ").count(), 1, "{text}");
}

//! Every file below `filetests/` is a test; so is each of the random ones.
//!
//! `FILTER=text` selects files by a part of their name, `BLESS=1` rewrites snapshots.

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use phalanx_filetest::directive::TestFile;
use phalanx_filetest::known::KnownFailures;
use phalanx_filetest::runner::{Settings, discover, read, run_test};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn main() -> std::process::ExitCode {
    let arguments = Arguments::from_args();
    libtest_mimic::run(&arguments, file_trials()).exit_code()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests")
}

fn file_trials() -> Vec<Trial> {
    let root = root();
    let filter = std::env::var("FILTER").unwrap_or_default();
    let settings = Settings { bless: std::env::var_os("BLESS").is_some_and(|value| value != "0") };
    let known = Arc::new(KnownFailures::read(&root.join("known-failures.txt")));
    let files = discover(&root).unwrap_or_default();
    let mut names = Vec::new();
    let mut trials = Vec::new();
    for path in files {
        let name = name(&root, &path);
        match read(&path) {
            Ok(tests) => {
                for test in tests {
                    let name =
                        if test.case.is_empty() { name.clone() } else { format!("{name} {}", test.case) };
                    names.push(name.clone());
                    let known = Arc::clone(&known);
                    let run = move || run_one(&test, &name, &known, &settings);
                    trials.push(Trial::ignorable_test(names[names.len() - 1].clone(), run));
                }
            }
            Err(failure) => trials.push(Trial::test(name, move || Err(failure.0.into()))),
        }
    }
    trials.retain(|trial| trial.name().contains(&filter));
    trials.push(Trial::test("known failures exist", move || {
        let gone: Vec<_> = known.names().filter(|name| !names.iter().any(|n| n == name)).collect();
        if gone.is_empty() { Ok(()) } else { Err(format!("known-failures.txt names {gone:?}").into()) }
    }));
    trials
}

fn name(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

fn run_one(
    test: &TestFile,
    name: &str,
    known: &KnownFailures,
    settings: &Settings,
) -> Result<Completion, Failed> {
    match (run_test(test, settings), known.reason(name)) {
        (Ok(()), None) => Ok(Completion::Completed),
        (Ok(()), Some(_)) => Err("passes: take it off known-failures.txt".into()),
        (Err(_), Some(reason)) => Ok(Completion::ignored_with(format!("known failure: {reason}"))),
        (Err(failure), None) => Err(failure.0.into()),
    }
}

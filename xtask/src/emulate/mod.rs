//! The stages `emulated …`: processors that this machine is not, by QEMU's user-mode emulation.
//!
//! An emulated processor has the instructions of its model and no others, so that detection of features answers as
//! it would there and an instruction too many ends the test. The binaries of the stage `tests` run again, on older
//! models of x86-64, and others made for [`aarch64`]: all tests of the kernels and of the vector mathematics, and those of the file tests that are on the
//! list `filetests/emulated.txt`, from the source to the result.
//!
//! QEMU is no silicon: it says nothing of speed, rounds as IEEE 754 wants where a processor may deviate (estimates of
//! reciprocals, say), and executes memory accesses in the order of the machine below it.

mod aarch64;
mod debian;
mod foreign;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::setup::is_runnable;
use crate::stages::{Outcome, Runner};

/// Seconds after which a test binary is ended, because an emulator may hang where a processor would not.
const LIMIT_SECONDS: &str = "1800";

/// The emulator, by the name of Debian and Ubuntu, and by that of others.
const EMULATORS: [&str; 2] = ["qemu-x86_64-static", "qemu-x86_64"];

/// A processor that QEMU can stand in for.
struct Model {
    stage: &'static str,
    /// QEMU's name for it, less what needs an operating system below.
    cpu: &'static str,
    /// What is set for its tests.
    environment: &'static [(&'static str, &'static str)],
}

const MODELS: [Model; 2] = [
    // SSE4.2, the x86-64-v2 of distributions: the portable kernels.
    Model { stage: "emulated x86-64-v2", cpu: "Nehalem", environment: &[] },
    // AVX2, FMA and F16C, without anything of AVX-512. The portable kernels ran on the other.
    Model {
        stage: "emulated haswell",
        cpu: "Haswell-noTSX,-invpcid,-pcid,-x2apic,-tsc-deadline",
        environment: &[("BEST", "1")],
    },
];

/// A test binary, as cargo names it.
struct Suite {
    /// What the stage's line calls it.
    what: &'static str,
    package: &'static str,
    /// The kind of target, and its name.
    kind: &'static str,
    name: &'static str,
    /// What is set for it. Each start of the file tests reads all of them and makes cases besides, unless it is for a
    /// sample: all that is emulated is therefore in one process.
    environment: &'static [(&'static str, &'static str)],
    /// Parts of the names of its tests; nothing for all of them.
    tests: &'static [&'static str],
}

const MATHEMATICS: Suite = Suite {
    what: "mathematics and layouts",
    package: "crates/kernels",
    kind: "lib",
    name: "phalanx_kernels",
    environment: &[],
    tests: &[],
};

const KERNELS: Suite = Suite {
    what: "kernels",
    package: "crates/kernels",
    kind: "test",
    name: "kernels",
    environment: &[],
    tests: &[],
};

const FILES: Suite = Suite {
    what: "file tests",
    package: "crates/filetest",
    kind: "test",
    name: "filetests",
    environment: &[("SAMPLE", "1")],
    tests: &[],
};

/// The test binaries that run on each model of this architecture.
const SUITES: [Suite; 3] = [MATHEMATICS, KERNELS, FILES];

/// Looks for what the tests of another architecture need, fetches it and builds them, beside the stages that need
/// nothing of it.
pub(crate) fn prepare_foreign(runner: &Runner) -> JoinHandle<Result<aarch64::Found>> {
    let beside = runner.beside("emulated-aarch64-prepared");
    std::thread::spawn(|| {
        let beside = beside?;
        let found = aarch64::Found::find(&beside);
        found.build(&beside);
        Ok(found)
    })
}

/// Runs a stage for each processor.
pub(crate) fn stages(runner: &mut Runner, foreign: JoinHandle<Result<aarch64::Found>>) {
    for model in &MODELS {
        runner.stage(model.stage, |run| stage(run, model));
    }
    let found = foreign.join().unwrap_or_else(|_| bail!("the search ended with a panic"));
    aarch64::stages(runner, &found.unwrap_or_else(aarch64::Found::nothing));
}

fn stage(run: &mut Runner, model: &Model) -> Result<Outcome> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Ok(Outcome::Skipped("the tests of this machine are not for x86-64 Linux".into()));
    }
    let Some(qemu) = EMULATORS.into_iter().find(|name| is_runnable(name)) else {
        return Ok(Outcome::Skipped(format!("{} is not installed", EMULATORS[0])));
    };
    let tests = binaries(run, own(run), &SUITES)?;
    let environment = model.environment.iter().map(|&(name, value)| (name, value.into())).collect();
    emulate(run, &Emulator { program: qemu, cpu: model.cpu, root: None, environment }, &tests)
}

/// Cargo for the tests of this machine. The arguments for packages and targets are those of the stage that built them, so
/// that nothing is built again.
fn own(run: &Runner) -> Command {
    let mut cargo = crate::cargo(run.root(), run.llvm());
    cargo.args(["test", "--workspace", "--lib", "--bins", "--tests"]);
    cargo
}

/// Who runs programs.
struct Emulator {
    program: &'static str,
    cpu: &'static str,
    /// The root of the file system in which programs find their libraries, if it is not this machine's.
    root: Option<PathBuf>,
    environment: Vec<(&'static str, OsString)>,
}

/// Runs the tests, all of them even if one fails.
fn emulate(run: &mut Runner, emulator: &Emulator, tests: &[Test]) -> Result<Outcome> {
    let mut notes = Vec::new();
    let mut outcome = Ok(());
    for test in tests {
        let mut command = Command::new("timeout");
        command.args([LIMIT_SECONDS, emulator.program, "-cpu", emulator.cpu]);
        command.arg(&test.binary).args(test.suite.tests).current_dir(&test.package);
        command.envs(test.suite.environment.iter().copied());
        command.envs(emulator.environment.iter().map(|(name, value)| (name, value)));
        command.envs(emulator.root.iter().map(|root| ("QEMU_LD_PREFIX", root)));
        let before = run.logged_counts();
        let result = run.logged(command).context(test.suite.what);
        notes.push(format!("{} {}", test.suite.what, run.logged_counts().passed - before.passed));
        outcome = outcome.and(result);
    }
    let counts = run.tally();
    outcome?;
    Ok(Outcome::Passed(format!("{} passed, {} skipped: {}", counts.passed, counts.skipped, notes.join(", "))))
}

/// A test binary that is run under emulation.
struct Test {
    suite: &'static Suite,
    binary: PathBuf,
    package: PathBuf,
}

/// Has cargo build tests, and finds the binaries among its messages.
fn binaries(run: &Runner, mut cargo: Command, suites: &'static [Suite]) -> Result<Vec<Test>> {
    cargo.args(["--no-run", "--message-format=json"]);
    let messages = run.logged_output(cargo)?;
    let artifacts = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut tests: Vec<Test> = artifacts.filter_map(|artifact| wanted(&artifact, suites)).collect();
    tests.sort_by_key(|test| suites.iter().position(|suite| suite.what == test.suite.what));
    if tests.len() != suites.len() {
        bail!("cargo names {} of the {} test binaries", tests.len(), suites.len());
    }
    Ok(tests)
}

/// The test that a message of cargo is about, if it is one of ours.
fn wanted(artifact: &Value, suites: &'static [Suite]) -> Option<Test> {
    let binary = PathBuf::from(artifact.get("executable")?.as_str()?);
    let package = Path::new(artifact.get("manifest_path")?.as_str()?).parent()?.to_path_buf();
    let target = artifact.get("target")?;
    let name = target.get("name")?.as_str()?;
    let kinds = target.get("kind")?.as_array()?;
    let is_named = |suite: &&Suite| suite.name == name && kinds.iter().any(|kind| kind == suite.kind);
    let suite = suites.iter().find(|suite| is_named(suite) && package.ends_with(suite.package))?;
    Some(Test { suite, binary, package })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_are_told_apart_by_their_package() {
        let artifact = |manifest: &str, kind: &str, name: &str| {
            serde_json::json!({
                "reason": "compiler-artifact",
                "manifest_path": manifest,
                "target": { "kind": [kind], "name": name },
                "executable": "target/debug/deps/x",
            })
        };
        let found = |manifest, kind, name| {
            wanted(&artifact(manifest, kind, name), &SUITES).map(|test| test.suite.what)
        };
        assert_eq!(found("/a/crates/kernels/Cargo.toml", "test", "kernels"), Some("kernels"));
        let library = "/a/crates/kernels/Cargo.toml";
        assert_eq!(found(library, "lib", "phalanx_kernels"), Some("mathematics and layouts"));
        assert_eq!(found("/a/crates/phalanx/Cargo.toml", "test", "kernels"), None);
        let mut library = artifact(library, "lib", "phalanx_kernels");
        library["executable"] = Value::Null;
        assert!(wanted(&library, &SUITES).is_none());
    }
}

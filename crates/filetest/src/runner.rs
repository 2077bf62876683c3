//! Does what a test file says.

use crate::compare;
use crate::compile::{Finding, Source, load};
use crate::directive::{Command, Language, TestFile};
use crate::snapshot;
use crate::tally;
use crate::target::{Outcome, Target, Traffic, own_and_one_in_turn, processors};
use phalanx_ir::{Verified, passes};
use phalanx_kernels::Processor;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A test that failed: what the reader needs to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(pub String);

impl Failure {
    fn at(file: &TestFile, line: usize, text: impl AsRef<str>) -> Self {
        Self(format!("{}:{line}: {}", file.path.display(), text.as_ref()))
    }
}

/// How to run files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Rewrite snapshots instead of comparing with them.
    pub bless: bool,
    /// Make code for this processor alone.
    pub processor: Option<Processor>,
    /// Compare this target with the interpreter, and run no other.
    pub only: Option<Target>,
}

/// The test files below a directory, sorted.
///
/// # Errors
///
/// When a directory cannot be read.
pub fn discover(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if Language::of(&path).is_some() {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The tests of a file, one for each case.
///
/// # Errors
///
/// When the file cannot be read, or a directive is wrong.
pub fn read(path: &Path) -> Result<Vec<TestFile>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| Failure(format!("{}: {e}", path.display())))?;
    TestFile::parse(path, &text).map_err(|e| Failure(e.to_string()))
}

/// Runs a test.
///
/// # Errors
///
/// What failed.
pub fn run_test(file: &TestFile, settings: &Settings) -> Result<(), Failure> {
    let source = load(file);
    for command in &file.commands {
        match command {
            Command::Verify | Command::Translate => check_findings(file, &source)?,
            Command::Print { optimized } => {
                let module = module(file, &source, first_subgroup(file))?;
                let module = if *optimized { optimize(file, module)? } else { module };
                snapshot::check(file, &module, settings.bless)?;
            }
            Command::Run => run(file, &source, settings)?,
        }
    }
    Ok(())
}

type Loaded = Result<Source, Vec<Finding>>;

/// The size that says so in the file, or none for IR, which has its own.
fn first_subgroup(file: &TestFile) -> Option<u32> {
    file.subgroups.first().copied()
}

fn module(file: &TestFile, source: &Loaded, subgroup: Option<u32>) -> Result<Verified, Failure> {
    let module = match source {
        Ok(source) => source.module(file, subgroup),
        Err(findings) => Err(findings.clone()),
    };
    module.map_err(|findings| {
        let mut text = String::from("does not compile");
        for finding in findings {
            let line = finding.line.map_or(String::new(), |line| format!("{line}: "));
            let _ = write!(text, "\n  {line}{}", finding.text);
        }
        Failure::at(file, 1, text)
    })
}

fn optimize(file: &TestFile, module: Verified) -> Result<Verified, Failure> {
    let options = passes::Options { verify: true, ..passes::Options::default() };
    passes::optimize(module, &options).map_err(|bug| Failure::at(file, 1, bug.to_string()))
}

// ── errors ──

/// Every finding is expected and every expectation found.
fn check_findings(file: &TestFile, source: &Loaded) -> Result<(), Failure> {
    let findings = match source {
        Ok(source) => source.module(file, first_subgroup(file)).err().unwrap_or_default(),
        Err(findings) => findings.clone(),
    };
    let mut problems = Vec::new();
    let matches = |finding: &Finding, expected: &crate::directive::ExpectedError| {
        finding.text.contains(&expected.text) && (expected.at.is_none() || expected.at == finding.line)
    };
    for finding in &findings {
        if !file.errors.iter().any(|expected| matches(finding, expected)) {
            let line = finding.line.map_or("unknown line".into(), |line| format!("line {line}"));
            problems.push(format!("unexpected, at {line}: {}", finding.text));
        }
    }
    for expected in &file.errors {
        if !findings.iter().any(|finding| matches(finding, expected)) {
            problems.push(format!("expected, at line {}: {}", expected.line, expected.text));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Failure::at(file, 1, problems.join("\n  "))) }
}

// ── running ──

fn run(file: &TestFile, source: &Loaded, settings: &Settings) -> Result<(), Failure> {
    let sizes: Vec<_> = match (file.subgroups.is_empty(), settings.only) {
        (true, _) => vec![None],
        (false, None) => file.subgroups.iter().copied().map(Some).collect(),
        // Subgroups of a GPU have one size.
        (false, Some(_)) => vec![Some(32)],
    };
    let mut used = Vec::new();
    for (index, subgroup) in sizes.into_iter().enumerate() {
        let module = module(file, source, subgroup)?;
        let mut first: Option<Outcome> = None;
        let mut processors = match index {
            _ if file.all_isas => processors(),
            0 if settings.processor.is_some() => processors(),
            0 => own_and_one_in_turn(turn(file)),
            // The one that a device has unless it is told otherwise.
            _ => processors().pop().into_iter().collect(),
        };
        processors.retain(|processor| settings.processor.is_none_or(|only| *processor == only));
        let mut targets = Target::list(&file.targets, &processors);
        if let Some(only) = settings.only {
            targets = vec![Target::Interp, only];
        }
        for target in targets {
            if let Target::Cpu(processor) = target
                && !used.contains(&processor)
            {
                used.push(processor);
            }
            let place = format!("on the {target}, subgroups of {}", module.subgroup_size);
            let file = &match target {
                Target::Cuda(_) => Cow::Owned(file.on_gpu()),
                _ => Cow::Borrowed(file),
            };
            let outcome = match (target.run(&module, file), &file.run_error) {
                (Ok(outcome), None) => outcome,
                (Err(error), Some(expected)) if error.contains(expected.as_str()) => continue,
                (Ok(_), Some(expected)) => {
                    return Err(Failure::at(file, 1, format!("{place}: ran, expected an error: {expected}")));
                }
                (Err(error), _) => return Err(Failure::at(file, 1, format!("{place}: {error}"))),
            };
            check_outcome(file, &outcome, first.as_ref(), &place)?;
            first.get_or_insert(outcome);
        }
    }
    used.into_iter().for_each(|processor| tally::add(processor, 1));
    Ok(())
}

/// A number of its own for each test, whatever others there are.
fn turn(file: &TestFile) -> usize {
    let name = file.path.file_name().unwrap_or_default().as_encoded_bytes();
    name.iter().chain(file.case.as_bytes()).map(|&byte| usize::from(byte)).sum()
}

fn check_outcome(
    file: &TestFile,
    outcome: &Outcome,
    first: Option<&Outcome>,
    place: &str,
) -> Result<(), Failure> {
    for (index, output) in file.outputs.iter().enumerate() {
        let found = &outcome.buffers[&output.slot];
        let first = first.map(|first| first.buffers[&output.slot].as_slice());
        let expected = &outcome.expected[index];
        let difference = compare::difference(&output.data, expected, first, found, &output.tolerance);
        if let Some(table) =
            difference.map_err(|wrong| Failure::at(file, output.line.max(1), wrong.to_string()))?
        {
            let what = if output.line == 0 { "was written" } else { "is wrong" };
            let text = format!("{} {what} {place}: {table}", output.slot);
            return Err(Failure::at(file, output.line.max(1), text));
        }
    }
    if file.printed != outcome.printed {
        let text =
            format!("printed {place}:\n  expected {:?}\n  found    {:?}", file.printed, outcome.printed);
        return Err(Failure::at(file, 1, text));
    }
    outcome.traffic.as_ref().map_or(Ok(()), |traffic| check_counts(file, traffic))
}

fn check_counts(file: &TestFile, traffic: &Traffic) -> Result<(), Failure> {
    for count in &file.counts {
        let accesses = match &count.slot {
            Some(slot) => traffic.buffers.get(slot).copied().unwrap_or_default(),
            None => traffic.shared,
        };
        let amount = if count.written { accesses.written } else { accesses.read };
        if amount.elements != count.elements {
            let what = if count.written { "written" } else { "read" };
            let text = format!("{} elements {what}, expected {}", amount.elements, count.elements);
            return Err(Failure::at(file, count.line, text));
        }
    }
    Ok(())
}

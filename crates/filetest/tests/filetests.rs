//! Every case of every file below `filetests/` is a test, and so is each hundred of random modules and
//! of damaged ones.
//!
//! `FILTER=text` selects tests by a part of their name, `BLESS=1` rewrites snapshots, and
//! `PHALANX_RANDOM_CASES=n` runs n times as many random ones. `SAMPLE=1` leaves only the file tests on the list
//! `filetests/emulated.txt`. `PHALANX_TEST_CUDA=0` runs them on that GPU, too. At the end there is a line for each processor that code was made for, with the tests that
//! passed.

#![expect(clippy::print_stdout, reason = "it says at the end for which processors tests ran")]

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use phalanx_filetest::compile::{Source, load};
use phalanx_filetest::directive::{Command, TargetKind, TestFile};
use phalanx_filetest::generate::{Kernel, Plan};
use phalanx_filetest::known::KnownFailures;
use phalanx_filetest::random::Random;
use phalanx_filetest::runner::{Failure, Settings, discover, read, run_test};
use phalanx_filetest::sample::Sample;
use phalanx_filetest::target::{Target, gpu, is_unsupported, processor_in_turn};
use phalanx_filetest::{coopvec, harness, judges, mutate, readers, tally};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn main() -> std::process::ExitCode {
    let arguments = Arguments::from_args();
    let wanted = Wanted::of(&arguments);
    let mut trials = if is_set("SAMPLE") { sample_trials() } else { all_trials(&wanted, arguments.list) };
    let filter = std::env::var("FILTER").unwrap_or_default();
    trials.retain(|trial| trial.name().contains(&filter));
    let conclusion = libtest_mimic::run(&arguments, trials);
    tally::lines().iter().for_each(|line| println!("{line}"));
    conclusion.exit_code()
}

/// Whether a variable asks for something.
fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value != "0")
}

/// The one test that is asked for by its whole name, as a runner does that gives each test a process of its own, two
/// thousand times: files and tables that do not hold it are not read then.
struct Wanted(Option<String>);

impl Wanted {
    fn of(arguments: &Arguments) -> Self {
        Self(arguments.filter.clone().filter(|_| arguments.exact))
    }

    /// Whether a test is wanted whose name begins so.
    fn begins(&self, start: &str) -> bool {
        self.0.as_ref().is_none_or(|name| name.starts_with(start))
    }
}

fn all_trials(wanted: &Wanted, lists: bool) -> Vec<Trial> {
    let mut trials = file_trials(wanted);
    trials.extend(gpu_trials(wanted));
    trials.extend(random_trials());
    trials.extend(damage_trials());
    if wanted.begins("generated/") {
        trials.extend(generated_trials(lists));
    }
    trials.extend(vector_trials());
    trials.push(judges_trial());
    trials
}

/// What others say of lowered modules. What was judged is said in a line of its own.
fn judges_trial() -> Trial {
    Trial::test("lowered/judged by others", || {
        let judged = judges::judge(&discover(&root()).unwrap_or_default()).map_err(|failure| failure.0)?;
        println!("{judged}");
        Ok(())
    })
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests")
}

/// The name of the test of the lists, for which all files are read.
const LISTS: &str = "lists name tests that exist";

fn file_trials(wanted: &Wanted) -> Vec<Trial> {
    let root = root();
    let known = Arc::new(KnownFailures::read(&root.join("known-failures.txt")));
    let mut files = discover(&root).unwrap_or_default();
    files.retain(|file| wanted.begins(&name(&root, file)) || wanted.begins(LISTS));
    let mut trials = trials_of(&files, &known);
    let names: BTreeSet<String> = trials.iter().map(|trial| trial.name().to_owned()).collect();
    let listed = Sample::read(&sample_list()).map(|sample| sample.names().map(str::to_owned).collect());
    let listed: Result<Vec<String>, _> = listed.map_err(|error| error.to_string());
    let exist = move |list: &str, listed: Vec<String>| {
        let gone: Vec<_> = listed.into_iter().filter(|name| !names.contains(name)).collect();
        if gone.is_empty() { Ok(()) } else { Err(format!("{list} names {gone:?}").into()) }
    };
    trials.push(Trial::test(LISTS, move || {
        exist("known-failures.txt", known.names().map(str::to_owned).collect())?;
        exist(SAMPLE, listed?)
    }));
    trials
}

/// The list of the sample, among the tests.
const SAMPLE: &str = "emulated.txt";

fn sample_list() -> PathBuf {
    root().join(SAMPLE)
}

/// The tests of the sample: other files are not even read, because emulated processors take their time for that.
fn sample_trials() -> Vec<Trial> {
    let root = root();
    let sample = match Sample::read(&sample_list()) {
        Ok(sample) => sample,
        Err(error) => return vec![Trial::test(SAMPLE, move || Err(error.to_string().into()))],
    };
    let known = Arc::new(KnownFailures::read(&root.join("known-failures.txt")));
    let files: Vec<PathBuf> = sample.files().into_iter().map(|file| root.join(file)).collect();
    let mut trials = trials_of(&files, &known);
    // A file that cannot be read is named without a case.
    trials.retain(|trial| sample.contains(trial.name()) || sample.files().contains(trial.name()));
    trials
}

/// The tests of some files.
fn trials_of(files: &[PathBuf], known: &Arc<KnownFailures>) -> Vec<Trial> {
    let root = root();
    let settings = Settings { bless: is_set("BLESS"), ..Settings::default() };
    let mut trials = Vec::new();
    for path in files {
        let name = name(&root, path);
        match read(path) {
            Ok(tests) => {
                for test in tests {
                    let name =
                        if test.case.is_empty() { name.clone() } else { format!("{name} {}", test.case) };
                    let (known, named) = (Arc::clone(known), name.clone());
                    let run = move || run_one(&test, &named, &known, &settings);
                    trials.push(Trial::ignorable_test(name, run));
                }
            }
            Err(failure) => trials.push(Trial::test(name, move || Err(failure.0.into()))),
        }
    }
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

/// Invocations of a subgroup on a GPU.
const GPU_SUBGROUP: u32 = 32;

/// Seeds of random modules on a GPU; some are of subgroups that it does not have.
const GPU_SEEDS: u64 = 1200;

/// The file tests, the generated kernels and random modules that the CPU runs, on the GPU that the environment names: what it does not do is said and passed over.
fn gpu_trials(wanted: &Wanted) -> Vec<Trial> {
    let Some(gpu) = gpu() else { return Vec::new() };
    let root = root();
    let mut trials = Vec::new();
    for path in discover(&root).unwrap_or_default() {
        if !wanted.begins(&format!("{gpu}/{}", name(&root, &path))) {
            continue;
        }
        for test in read(&path).unwrap_or_default() {
            let is_run = test.targets.contains(&TargetKind::Cpu) && test.commands.contains(&Command::Run);
            // Others want subgroups that a GPU does not have.
            if !is_run || !test.subgroups.is_empty() && !test.subgroups.contains(&GPU_SUBGROUP) {
                continue;
            }
            let name = format!("{gpu}/{} {}", name(&root, &path), test.case);
            trials.push(Trial::ignorable_test(name.trim_end().to_owned(), move || {
                match run_test(&test, &Settings { only: Some(gpu), ..Settings::default() }) {
                    Ok(()) => Ok(Completion::Completed),
                    Err(failure) if is_unsupported(&failure.0) => Ok(Completion::ignored_with(failure.0)),
                    Err(failure) => Err(failure.0.into()),
                }
            }));
        }
    }
    let generated = wanted.begins(&format!("{gpu}/generated/"));
    for kernel in generated.then(|| Plan::new(times()).kernels).into_iter().flatten() {
        if kernel.subgroup_size() != GPU_SUBGROUP {
            continue;
        }
        trials.push(Trial::ignorable_test(format!("{gpu}/{}", kernel.name()), move || {
            match kernel.run(&[gpu]) {
                Ok(()) => Ok(Completion::Completed),
                Err(failure) if is_unsupported(&failure) => Ok(Completion::ignored_with(failure)),
                Err(failure) => Err(failure.into()),
            }
        }));
    }
    for first in (0..GPU_SEEDS * times()).step_by(RANDOM_SEEDS as usize) {
        let seeds = first..first + RANDOM_SEEDS;
        trials.push(Trial::ignorable_test(format!("{gpu}/random/{first}"), move || {
            let mut ran = 0;
            for seed in seeds.clone() {
                ran += u32::from(harness::random_ir_on(gpu, seed)?);
            }
            // What did not run is not what passed.
            Ok(match ran {
                0 => Completion::ignored_with("nothing in them is supported"),
                _ => Completion::Completed,
            })
        }));
    }
    trials
}

// ── random and damaged modules ──

/// Seeds that a trial runs through.
const RANDOM_SEEDS: u64 = 25;
const RANDOM_TRIALS: u64 = 8;
const DAMAGES: u64 = 3;

fn times() -> u64 {
    std::env::var("PHALANX_RANDOM_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// Random modules: the interpreter before and after the passes, and the CPU, agree.
fn random_trials() -> Vec<Trial> {
    let trial = |first: u64| {
        let seeds = first * RANDOM_SEEDS..(first + 1) * RANDOM_SEEDS;
        Trial::test(format!("random/{}-{}", seeds.start, seeds.end - 1), move || {
            for seed in seeds {
                let processors = processor_in_turn(seed as usize);
                harness::random_ir(seed, &processors);
                processors.into_iter().for_each(|processor| tally::add(processor, 1));
            }
            Ok(())
        })
    };
    (0..RANDOM_TRIALS * times()).map(trial).collect()
}

/// Cases made from tables: the CPU agrees with the interpreter. What is run is said in a line of its own.
fn generated_trials(lists: bool) -> Vec<Trial> {
    let plan = Plan::new(times());
    if !lists {
        print!("{}", plan.summary(processor_in_turn(0).len()));
    }
    let trial = |(number, kernel): (usize, Kernel)| {
        let processors = processor_in_turn(number);
        Trial::test(kernel.name().to_owned(), move || {
            let targets: Vec<_> = processors.iter().copied().map(Target::Cpu).collect();
            kernel.run(&targets).map_err(Failed::from)?;
            processors.iter().for_each(|&processor| tally::add(processor, kernel.cases() as u64));
            Ok(())
        })
    };
    plan.kernels.into_iter().enumerate().map(trial).collect()
}

/// Problems of a trial.
const PROBLEMS: u64 = 8;

/// Random problems for cooperative vectors: all targets give what the specification says.
fn vector_trials() -> Vec<Trial> {
    let count = coopvec::problems() * times();
    let trial = |first: u64| {
        let problems = first..count.min(first + PROBLEMS);
        Trial::test(format!("coopvec/{}-{}", problems.start, problems.end - 1), move || {
            problems.clone().try_for_each(coopvec::run).map_err(Failed::from)
        })
    };
    (0..count).step_by(PROBLEMS as usize).map(trial).collect()
}

/// The modules of all files, damaged: whatever comes out is answered with diagnostics.
fn damage_trials() -> Vec<Trial> {
    let root = root();
    let files = discover(&root).unwrap_or_default();
    let trial = |chunk: &[PathBuf]| {
        let name = name(&root, &chunk[0]);
        let chunk = chunk.to_vec();
        Trial::test(format!("damaged/from {name}"), move || {
            for path in &chunk {
                damage_file(path).map_err(|failure| failure.0)?;
            }
            Ok(())
        })
    };
    files.chunks(16).map(trial).collect()
}

fn damage_file(path: &Path) -> Result<(), Failure> {
    for (index, test) in read(path)?.iter().enumerate().take(4) {
        let Ok(Source::Spirv { words, .. }) = load(test) else { continue };
        for seed in 0..DAMAGES * times() {
            // A seed of its own for each file, that does not depend on the other files.
            let seed = seed + 1000 * index as u64 + 1_000_000 * test.text.len() as u64;
            let damaged = mutate::damage(&words, &mut Random::new(seed));
            let result = std::panic::catch_unwind(|| readers::spirv_words(&damaged));
            if let Err(panic) = result {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
                return Err(Failure(format!("{}, seed {seed}: {text}", path.display())));
            }
        }
    }
    Ok(())
}

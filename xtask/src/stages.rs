//! `cargo xtask test`: every check of the repository, one line each.
//!
//! A stage writes its whole output to `<target>/xtask/<stage>.log`. What it printed is repeated only when it fails.
//! A stage that cannot run on this machine says why. The last line counts the tests, whatever ran them.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::llvm::Llvm;
use crate::{cargo, emulate, setup, tidy};

/// How many lines of a failed stage's output are repeated.
const TAIL_LINES: usize = 250;

/// Inputs in the repository that fuzz targets begin with.
const FUZZ_SEEDS: [(&str, &str); 1] = [("mlir_text", "crates/front-mlir/tests/syntax/corpus")];

/// How long each fuzz target runs, unless `PHALANX_FUZZ_SECONDS` says otherwise.
const FUZZ_SECONDS: u64 = 20;
const FUZZ_SECONDS_IN_CI: u64 = 30;

/// What came of a stage that did not fail.
pub(crate) enum Outcome {
    Passed(String),
    Skipped(String),
}

/// Counts of single tests, summed over all runners.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

/// Runs all checks; an error means that at least one stage failed.
pub(crate) fn test(root: &Path) -> Result<()> {
    let start = Instant::now();
    let llvm = setup::run(setup::Purpose::Test)?;
    println!("{:<24}ok      {}  LLVM {} at {}", "setup", elapsed(start), llvm.version, llvm.prefix.display());
    let mut runner = Runner::new(root, llvm)?;
    // Builds wait for their largest crates, one after the other, and leave half a core and more to these.
    let foreign = emulate::prepare_foreign(&runner);
    let fuzz = runner.prepare_fuzz();

    runner.stage("format", |run| run.cargo(&["fmt", "--all", "--check"]));
    runner.stage("build", |run| run.cargo(&["build", "--workspace", "--all-targets"]));
    // Behind the build, which makes glslang beside other things: it takes minutes, and these would wait for it.
    runner.stage("clippy", |run| {
        run.cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"])
    });
    runner.stage("tests", Runner::tests);
    runner.repeat("processor ");
    runner.repeat("generated cases");
    emulate::stages(&mut runner, foreign);
    runner.stage("doc tests", |run| run.counted(&["test", "--workspace", "--doc"]));
    runner.stage("docs", |run| {
        // The command by itself and first: the library's pages take the same places after it. It is named among all
        // packages, because it would need fewer features by itself, and most would be checked once more.
        run.cargo(&["doc", "--workspace", "--no-deps", "--bin", "phalanx"])?;
        run.cargo(&["doc", "--workspace", "--no-deps", "--document-private-items"])
    });
    runner.stage("tidy", |run| tidy::run(&run.root).map(Outcome::Passed));
    runner.stage("fuzz", |run| {
        // The stage builds what is missing, and says why it can't.
        let _ = fuzz.join();
        run.fuzz()
    });
    println!("{:<24}        {}", "all", elapsed(start));
    runner.finish()
}

/// The seconds since then, as a column.
fn elapsed(start: Instant) -> String {
    format!("{:>6.1} s", start.elapsed().as_secs_f64())
}

/// The stages on emulated processors alone.
pub(crate) fn emulated(root: &Path) -> Result<()> {
    let llvm = setup::run(setup::Purpose::Test)?;
    let mut runner = Runner::new(root, llvm)?;
    let foreign = emulate::prepare_foreign(&runner);
    emulate::stages(&mut runner, foreign);
    runner.finish()
}

/// The tests, and then the proof that neither they nor the build changed a committed file.
pub(crate) fn ci(root: &Path) -> Result<()> {
    test(root)?;
    let output = Command::new("git")
        .args(["status", "--porcelain", "--untracked-files=no"])
        .current_dir(root)
        .output()
        .context("git could not be started")?;
    let changed = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() || !changed.is_empty() {
        bail!("the checks changed committed files:\n{changed}");
    }
    Ok(())
}

pub(crate) struct Runner {
    root: PathBuf,
    llvm: Llvm,
    target: PathBuf,
    logs: PathBuf,
    log: PathBuf,
    counts: Counts,
    failures: Vec<&'static str>,
    skipped: Vec<&'static str>,
}

impl Runner {
    fn new(root: &Path, llvm: Llvm) -> Result<Self> {
        let target = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(dir) => root.join(dir),
            None => root.join("target"),
        };
        let logs = target.join("xtask");
        fs::create_dir_all(&logs).with_context(|| format!("{} cannot be made", logs.display()))?;
        Ok(Self {
            root: root.to_path_buf(),
            llvm,
            target,
            log: logs.join("log"),
            logs,
            counts: Counts::default(),
            failures: Vec::new(),
            skipped: Vec::new(),
        })
    }

    /// One with a log of its own, for what is done beside the stages.
    pub(crate) fn beside(&self, name: &str) -> Result<Self> {
        let mut beside = Self::new(&self.root, self.llvm.clone())?;
        beside.log = self.logs.join(format!("{name}.log"));
        // A log of an earlier run must not be mistaken for this one's.
        let _ = fs::remove_file(&beside.log);
        Ok(beside)
    }

    /// Runs one stage and prints its line. Later stages run even when this one fails.
    pub(crate) fn stage(&mut self, name: &'static str, body: impl FnOnce(&mut Self) -> Result<Outcome>) {
        print!("{name:<24}");
        let _ = std::io::stdout().flush();
        self.log = self.logs.join(format!("{}.log", name.replace(' ', "-")));
        // A log of an earlier run must not be mistaken for this one's.
        let _ = fs::remove_file(&self.log);
        let (start, taken) = (Instant::now(), processor_seconds());
        let outcome = body(self);
        let seconds = start.elapsed().as_secs_f64();
        let mut time = elapsed(start);
        if let (Some(before), Some(after)) = (taken, processor_seconds()) {
            // What they took less than the machine has is what a stage beside this one could have.
            time += &format!(" on {:.1} cores", (after - before) / seconds.max(0.1));
        }
        match outcome {
            Ok(Outcome::Passed(note)) => println!("ok      {time}  {note}"),
            Ok(Outcome::Skipped(why)) => {
                println!("skipped {time}  {why}");
                self.skipped.push(name);
            }
            Err(error) => {
                println!("FAILED  {time}  {error:#}");
                self.print_log_tail();
                self.failures.push(name);
            }
        }
    }

    fn print_log_tail(&self) {
        let Ok(text) = fs::read_to_string(&self.log) else { return };
        let lines: Vec<&str> = text.lines().collect();
        let start = lines.len().saturating_sub(TAIL_LINES);
        println!("---- last {} of {} lines of {}", lines.len() - start, lines.len(), self.log.display());
        for line in &lines[start..] {
            println!("{line}");
        }
        println!("----");
    }

    /// Repeats the lines of the last stage's log that begin so.
    fn repeat(&self, beginning: &str) {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().filter(|line| line.starts_with(beginning)).for_each(|line| println!("          {line}"));
    }

    fn finish(self) -> Result<()> {
        let Counts { passed, failed, skipped } = self.counts;
        if !self.skipped.is_empty() {
            println!("stages skipped: {}", self.skipped.join(", "));
        }
        println!("{passed} passed, {failed} failed, {skipped} skipped");
        if !self.failures.is_empty() {
            bail!("failed: {}", self.failures.join(", "));
        }
        Ok(())
    }

    /// Runs cargo with everything it prints going to the stage's log.
    fn cargo(&mut self, arguments: &[&str]) -> Result<Outcome> {
        let mut command = cargo(&self.root, &self.llvm);
        // Our documentation is for those who work on the code: it may point to what is private.
        let rustdoc = "--deny warnings --allow rustdoc::private_intra_doc_links";
        command.args(arguments).env("RUSTDOCFLAGS", rustdoc);
        self.logged(command)?;
        Ok(Outcome::Passed(String::new()))
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Cargo's folder for what is built.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    pub(crate) fn llvm(&self) -> &Llvm {
        &self.llvm
    }

    fn open_log(&self) -> Result<File> {
        let log = File::options().create(true).append(true).open(&self.log);
        log.with_context(|| format!("{} cannot be written", self.log.display()))
    }

    /// Runs a command with what it reports going to the stage's log, and gives what it writes.
    pub(crate) fn logged_output(&self, mut command: Command) -> Result<String> {
        command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_PROGRESS_WHEN", "never");
        command.stdin(Stdio::null()).stderr(self.open_log()?);
        let output = command.output().with_context(|| format!("{command:?} could not be started"))?;
        if !output.status.success() {
            bail!("{}", output.status);
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs a command with everything it prints going to the stage's log.
    pub(crate) fn logged(&self, mut command: Command) -> Result<()> {
        let log = self.open_log()?;
        let again = log.try_clone().context("the log cannot be shared")?;
        command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_PROGRESS_WHEN", "never");
        command.stdin(Stdio::null()).stdout(log).stderr(again);
        let status = command.status().with_context(|| format!("{command:?} could not be started"))?;
        if !status.success() {
            bail!("{status}");
        }
        Ok(())
    }

    fn tests(&mut self) -> Result<Outcome> {
        let has_nextest = cargo(&self.root, &self.llvm)
            .args(["nextest", "--version"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if has_nextest {
            // nextest starts a process for each test, and glslang takes a third of a second to get ready in each. In
            // one process the file tests take a twentieth of the time.
            // Their package by itself would need fewer features of what others need too, and be built again with it.
            let files = self.cargo(&["test", "--workspace", "--test", "filetests", "--no-fail-fast"]);
            let others = "not binary_id(phalanx-filetest::filetests)";
            let rest = self.counted(&["nextest", "run", "--workspace", "-E", others, "--no-fail-fast"]);
            files.and(rest)
        } else {
            self.counted(&["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"])
        }
    }

    /// Runs a test runner and adds what it counted.
    fn counted(&mut self, arguments: &[&str]) -> Result<Outcome> {
        let result = self.cargo(arguments);
        let counts = self.tally();
        result?;
        Ok(Outcome::Passed(format!("{} passed, {} skipped", counts.passed, counts.skipped)))
    }

    /// What the test runners of this stage have counted so far.
    pub(crate) fn logged_counts(&self) -> Counts {
        count(&fs::read_to_string(&self.log).unwrap_or_default())
    }

    /// Adds what the test runners of this stage have counted to the sums; once in a stage.
    pub(crate) fn tally(&mut self) -> Counts {
        let counts = self.logged_counts();
        self.counts.passed += counts.passed;
        self.counts.failed += counts.failed;
        self.counts.skipped += counts.skipped;
        counts
    }

    /// Builds the fuzz targets beside the other stages.
    fn prepare_fuzz(&self) -> JoinHandle<Result<()>> {
        let beside = self.beside("fuzz-prepared");
        std::thread::spawn(|| {
            let beside = beside?;
            beside.logged(in_background(beside.fuzz_command(&["build"])))
        })
    }

    /// A short run of every fuzz target, where the tools for it are installed.
    fn fuzz(&mut self) -> Result<Outcome> {
        let skipped = |why: &str| Ok(Outcome::Skipped(why.to_owned()));
        if !self.root.join("fuzz/Cargo.toml").is_file() {
            return skipped("there is no fuzz target yet");
        }
        let Some(listed) = self.fuzz_command(&["list"]).output().ok().filter(|out| out.status.success())
        else {
            return skipped("needs a nightly toolchain and cargo-fuzz (cargo install cargo-fuzz)");
        };
        // The inputs of the short run are the same each time, so that a failure belongs to the change
        // that is tested. Who states a time looks for new ones (seed 0: a random one).
        let (seconds, seed) = match std::env::var("PHALANX_FUZZ_SECONDS") {
            Ok(text) => (text.parse().context("PHALANX_FUZZ_SECONDS is not a number of seconds")?, 0),
            Err(_) if std::env::var_os("CI").is_some() => (FUZZ_SECONDS_IN_CI, 1),
            Err(_) => (FUZZ_SECONDS, 1),
        };
        let targets = String::from_utf8_lossy(&listed.stdout).into_owned();
        let options =
            [format!("-max_total_time={seconds}"), format!("-seed={seed}"), "-rss_limit_mb=4096".into()];
        let targets: Vec<&str> = targets.split_whitespace().collect();
        let mut commands = Vec::new();
        for target in &targets {
            let mut arguments = vec!["run".to_owned(), (*target).to_owned()];
            arguments.extend(self.seeds(target)?);
            arguments.push("--".to_owned());
            let arguments = arguments.iter().chain(&options).map(String::as_str);
            commands.push(self.fuzz_command(&arguments.collect::<Vec<_>>()));
        }
        self.logged(self.fuzz_command(&["build"]))?;
        // Each uses one core for its time, so they run side by side.
        let this = &*self;
        let results = std::thread::scope(|scope| {
            let start = |command| scope.spawn(move || this.logged(command));
            let running: Vec<_> = commands.into_iter().map(start).collect();
            let ended = running.into_iter().map(|run| run.join().unwrap_or_else(|_| bail!("a panic")));
            ended.collect::<Vec<_>>()
        });
        for (target, result) in targets.iter().zip(results) {
            result.with_context(|| format!("fuzz target `{target}`"))?;
        }
        Ok(Outcome::Passed(format!("{} targets, {seconds} s each", targets.len())))
    }

    /// The directories that a fuzz target begins with: its own, where it keeps what it finds, then those of the table.
    fn seeds(&self, target: &str) -> Result<Vec<String>> {
        let Some((_, seeds)) = FUZZ_SEEDS.iter().find(|(name, _)| *name == target) else {
            return Ok(Vec::new());
        };
        let own = self.root.join("fuzz/corpus").join(target);
        fs::create_dir_all(&own).with_context(|| format!("{} cannot be made", own.display()))?;
        let directories = [own, self.root.join(seeds)];
        Ok(directories.iter().map(|path| path.display().to_string()).collect())
    }

    fn fuzz_command(&self, arguments: &[&str]) -> Command {
        // `cargo +nightly` is understood by the toolchain switcher only, not by the cargo that started us.
        let mut command = Command::new("cargo");
        command.current_dir(&self.root).args(["+nightly", "fuzz"]).args(arguments);
        for inherited in ["CARGO", "RUSTUP_TOOLCHAIN", "RUSTC", "RUSTDOC"] {
            command.env_remove(inherited);
        }
        command
    }
}

/// The command with what its programs take only from processors that others leave idle.
pub(crate) fn in_background(command: Command) -> Command {
    let mut nice = Command::new("nice");
    nice.args(["-n", "19"]).arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        nice.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => nice.env(name, value),
            None => nice.env_remove(name),
        };
    }
    nice
}

/// Seconds of processors that the programs which were started and have ended took, where the system says so.
fn processor_seconds() -> Option<f64> {
    children_seconds_in(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// Reads the two fields of `/proc/<pid>/stat` that count hundredths of a second of children: of their own, and of the
/// system for them.
fn children_seconds_in(stat: &str) -> Option<f64> {
    // The name of the program, in parentheses, may have anything in it.
    let (_, behind_name) = stat.rsplit_once(')')?;
    let mut fields = behind_name.split_whitespace().skip(13);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Some((next()? + next()?) / 100.0)
}

/// Reads the closing lines of cargo test and nextest:
/// `test result: ok. 12 passed; 0 failed; 1 ignored; …` and `Summary [1.2s] 12 tests run: 12 passed, 1 skipped`.
fn count(log: &str) -> Counts {
    let mut counts = Counts::default();
    for line in log.lines() {
        let line = line.trim();
        let figures = if let Some(rest) = line.strip_prefix("test result: ") {
            rest
        } else if line.starts_with("Summary [") && line.contains(" run: ") {
            line.split_once(" run: ").map_or("", |(_, rest)| rest)
        } else {
            continue;
        };
        for part in figures.split([',', ';', '.']) {
            let mut words = part.split_whitespace();
            let (Some(number), Some(word)) = (words.next(), words.next()) else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match word {
                "passed" => counts.passed += number,
                "failed" | "timed" => counts.failed += number,
                "skipped" | "ignored" => counts.skipped += number,
                _ => {}
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_children_stands_behind_the_name() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 178 2654 0 1 11 12 250 150 20 0 1 0 86 11735040";
        assert_eq!(children_seconds_in(stat), Some(4.0));
        assert_eq!(children_seconds_in("7 (a) S 1"), None);
    }

    #[test]
    fn closing_lines_of_both_runners_are_counted() {
        let cargo =
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.1s";
        assert_eq!(count(cargo), Counts { passed: 12, failed: 0, skipped: 1 });
        let nextest = "     Summary [   1.203s] 7 tests run: 5 passed (1 slow), 2 failed, 3 skipped\n";
        assert_eq!(count(nextest), Counts { passed: 5, failed: 2, skipped: 3 });
        assert_eq!(count(&format!("{cargo}\n{cargo}\n{nextest}")).passed, 29);
        assert_eq!(count("error: could not compile"), Counts::default());
    }
}

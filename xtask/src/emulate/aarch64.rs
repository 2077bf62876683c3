//! The stages on an emulated AArch64: the kernels for NEON, and everything above them.
//!
//! The tests are built here for the other architecture. The kernels need a cross compiler's linker and Rust's
//! standard library; the device and the file tests LLVM 19 besides. They are two stages, so that the kernels run
//! wherever they can. glslang would take as long to build as all the rest, so the file tests that are emulated have
//! none: they take the modules that those of this machine compile.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Error, Result};

use super::foreign::{Foreign, ForeignLlvm, Standard, folder};
use super::{Emulator, Suite, binaries, emulate};
use crate::setup::is_runnable;
use crate::stages::{Outcome, Runner, in_background};

const FOREIGN: Foreign =
    Foreign { triple: "aarch64-unknown-linux-gnu", debian: "arm64", gnu: "aarch64-linux-gnu" };

/// The emulator, by the name of Debian and Ubuntu, and by that of others.
const EMULATORS: [&str; 2] = ["qemu-aarch64-static", "qemu-aarch64"];

/// Half-precision arithmetic and dot products of bytes, and nothing of SVE.
const CPU: &str = "neoverse-n1";

/// Products of squares of bytes and multiplications of bf16: no model of QEMU 7 has them but that of all it knows.
const YOUNGER_CPU: &str = "max";

const LINKER: &str = "aarch64-linux-gnu-gcc";

/// The C library that came with the linker, for programs that need no more.
const CROSS_ROOT: &str = "/usr/aarch64-linux-gnu";

/// Large parts of the build of which little or nothing is executed there.
const OPTIMISED_LESS: [&str; 3] = [
    "profile.dev.package.phalanx-back-nvptx.opt-level=0",
    "profile.dev.package.phalanx-back-spirv.opt-level=0",
    "profile.dev.package.phalanx-cuda.opt-level=0",
];

const KERNELS: [Suite; 2] = [super::MATHEMATICS, super::KERNELS];

const YOUNGER: [Suite; 1] = [Suite {
    what: "kernels of bytes and bf16",
    tests: &["mul_add::b", "mul_add::denormals_of_b", "mul_add::matrices_of", "mul_add::common"],
    ..super::KERNELS
}];

const DEVICE: [Suite; 2] = [
    // The loader's relocations, faults, coroutines, the float environment: what differs between architectures.
    Suite {
        what: "device",
        package: "crates/cpu",
        kind: "lib",
        name: "phalanx_cpu",
        environment: &[],
        tests: &[],
    },
    super::FILES,
];

/// What the stages need that is not in the repository, or why they are skipped.
pub(crate) struct Found {
    tools: Result<Tools, String>,
    llvm: Result<ForeignLlvm, String>,
}

impl Found {
    /// Looks for it all, and fetches what can be fetched.
    pub(super) fn find(run: &Runner) -> Self {
        let tools = Tools::find(run);
        let llvm = match &tools {
            Err(why) => Err(why.clone()),
            Ok(_) => ForeignLlvm::find(run, &FOREIGN, LINKER)
                .map_err(|why| format!("there is no LLVM 19 for AArch64: {why:#}")),
        };
        Self { tools, llvm }
    }

    /// Builds the test binaries, so that the stages find them made; they say what is wrong if that fails.
    pub(super) fn build(&self, run: &Runner) {
        if let Ok(tools) = &self.tools {
            let _ = binaries(run, in_background(tools.cargo(run, self.llvm.as_ref().ok())), &KERNELS);
        }
    }

    /// Where nothing could even be looked for.
    pub(super) fn nothing(error: Error) -> Self {
        let why = format!("{error:#}");
        Self { tools: Err(why.clone()), llvm: Err(why) }
    }
}

/// Runs the stages.
pub(super) fn stages(runner: &mut Runner, found: &Found) {
    runner.stage("emulated aarch64", |run| kernels(run, found, CPU, &KERNELS));
    runner.stage("emulated aarch64 i8mm", |run| kernels(run, found, YOUNGER_CPU, &YOUNGER));
    runner.stage("emulated aarch64 files", |run| files(run, found));
}

fn kernels(run: &mut Runner, found: &Found, cpu: &'static str, suites: &'static [Suite]) -> Result<Outcome> {
    let tools = match &found.tools {
        Ok(tools) => tools,
        Err(why) => return Ok(Outcome::Skipped(why.clone())),
    };
    let tests = binaries(run, tools.cargo(run, found.llvm.as_ref().ok()), suites)?;
    emulate(run, &tools.emulator(cpu, CROSS_ROOT.into()), &tests)
}

fn files(run: &mut Runner, found: &Found) -> Result<Outcome> {
    let (tools, llvm) = match (&found.tools, &found.llvm) {
        (Ok(tools), Ok(llvm)) => (tools, llvm),
        (Err(why), _) | (_, Err(why)) => return Ok(Outcome::Skipped(why.clone())),
    };
    let modules = keep_modules(run)?;
    let tests = binaries(run, tools.cargo(run, Some(llvm)), &DEVICE)?;
    let emulator = tools.emulator(CPU, llvm.root.clone());
    emulate(run, &Emulator { environment: vec![("MODULES", modules.into())], ..emulator }, &tests)
}

/// Has the sample of the file tests keep its modules of GLSL, and says where.
fn keep_modules(run: &Runner) -> Result<PathBuf> {
    let modules = folder(run).join("modules");
    if modules.exists() {
        std::fs::remove_dir_all(&modules)?;
    }
    std::fs::create_dir_all(&modules)?;
    for test in binaries(run, super::own(run), &[super::FILES])? {
        let mut command = Command::new(&test.binary);
        command.current_dir(&test.package).envs(test.suite.environment.iter().copied());
        command.env("MODULES", &modules);
        // The stage `tests` has counted these.
        run.logged_output(command).context("modules of the file tests")?;
    }
    Ok(modules)
}

/// What all stages need.
struct Tools {
    qemu: &'static str,
    standard: Standard,
}

impl Tools {
    /// The tools, or why the stages are skipped.
    fn find(run: &Runner) -> Result<Self, String> {
        if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
            return Err("the tests are built for AArch64 on x86-64 Linux only".into());
        }
        let Some(qemu) = EMULATORS.into_iter().find(|name| is_runnable(name)) else {
            return Err(format!("{} is not installed", EMULATORS[0]));
        };
        if !is_runnable(LINKER) {
            return Err(format!("{LINKER} is not installed"));
        }
        match Standard::find(run, &FOREIGN) {
            Ok(standard) => Ok(Self { qemu, standard }),
            Err(why) => Err(format!("there is no standard library for AArch64: {why:#}")),
        }
    }

    /// Builds test binaries for AArch64, in a folder of their own: in that of all other builds each would wait for the
    /// others to end. All stages ask for all binaries, of the kernels alone without an LLVM: another linker, or other
    /// packages, and cargo would build most of it once more.
    fn cargo(&self, run: &Runner, llvm: Option<&ForeignLlvm>) -> Command {
        let mut cargo = crate::cargo(run.root(), run.llvm());
        cargo.args(["test", "--lib", "--tests", "--target", FOREIGN.triple, "--package", "phalanx-kernels"]);
        cargo.arg("--no-default-features");
        cargo.arg("--target-dir").arg(folder(run).join("build"));
        if let Some(llvm) = llvm {
            cargo.args(["--package", "phalanx-cpu", "--package", "phalanx-filetest"]);
            cargo.env(crate::llvm::PREFIX_VARIABLE, &llvm.prefix);
        }
        cargo.args(OPTIMISED_LESS.iter().flat_map(|option| ["--config", option]));
        let linker = llvm.map_or_else(|| LINKER.into(), ForeignLlvm::linker);
        cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", linker);
        self.standard.tell(&mut cargo);
        cargo
    }

    fn emulator(&self, cpu: &'static str, root: PathBuf) -> Emulator {
        Emulator { program: self.qemu, cpu, root: Some(root), environment: Vec::new() }
    }
}

//! The repository's own commands: `cargo xtask setup|demo|install-icd|test|emulated|ci|tidy`.
//!
//! Everything a contributor or a bare machine needs runs through here, so that the README can name two commands
//! and CI can call one of them. The crate stays small on purpose: it is compiled before anything else.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool talks to its user")]

mod emulate;
mod icd;
mod llvm;
mod setup;
mod stages;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

const HELP: &str = "\
Usage: cargo xtask COMMAND

Commands:
  setup         find LLVM 19 and install what is missing (apt), or name the packages
  demo [ARGS]   setup, then run the demonstration in a release build
  install-icd [--user | --system] [--prefix DIR]
                setup, then build the Vulkan driver and install it for the Vulkan loader
  test          setup, then every check: format, lints, build, tests, documentation, tidy, fuzzing
  emulated      only the tests on emulated processors
  ci            test, then check that it left the tree as committed
  tidy          only the rules about crates and files
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<()> {
    let root = workspace_root()?;
    let (command, rest) = match args.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", args),
    };
    if !matches!(command, "demo" | "install-icd")
        && let Some(extra) = rest.first()
    {
        bail!("`cargo xtask {command}` takes no argument, found `{extra}`\n\n{HELP}");
    }
    match command {
        "setup" => {
            let llvm = setup::run(setup::Purpose::Build)?;
            println!("LLVM {} at {}", llvm.version, llvm.prefix.display());
            Ok(())
        }
        "demo" => demo(&root, rest),
        "install-icd" => icd::install(&root, rest),
        "test" => stages::test(&root),
        "emulated" => stages::emulated(&root),
        "ci" => stages::ci(&root),
        "tidy" => tidy::run(&root).map(|summary| println!("tidy: {summary}")),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        other => bail!("unknown command `{other}`\n\n{HELP}"),
    }
}

/// Builds the command in release mode and hands the terminal over to it.
fn demo(root: &Path, args: &[String]) -> Result<()> {
    let llvm = setup::run(setup::Purpose::Build)?;
    let mut command = cargo(root, &llvm);
    command
        .args(["run", "--release", "--package", "phalanx-cli", "--bin", "phalanx", "--", "demo"])
        .args(args);
    let status = command.status().context("cargo could not be started")?;
    if !status.success() {
        bail!("the demonstration failed ({status})");
    }
    Ok(())
}

/// A cargo command in the workspace, told where LLVM is when its own search would miss it.
fn cargo(root: &Path, llvm: &llvm::Llvm) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    if llvm.needs_prefix {
        command.env(llvm::PREFIX_VARIABLE, &llvm.prefix);
    }
    command
}

fn workspace_root() -> Result<PathBuf> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .context("CARGO_MANIFEST_DIR is not set: start this as `cargo xtask`")?;
    let root = Path::new(&manifest).parent().context("xtask lies at the top of the file system")?;
    Ok(root.to_path_buf())
}

//! The command `phalanx`: runs, checks and measures cooperative-matrix kernels.
//!
//! Each subcommand is a module of [`commands`]. The library is reached through [`runtime`] alone; what a user writes
//! about buffers is understood in [`data`]. Kernels are measured and checked in [`measure`]: the matrix multiplications of
//! [`ladder`], and what else is in [`workload`].
//!
//! Exit status: 0 if all went well, 1 if a result was wrong, 2 if the input was, 3 if Phalanx itself
//! is wrong, 130 after Ctrl-C. `phalanx exec` ends as the program does that it runs.

#![forbid(unsafe_code)]

mod args;
mod bars;
mod cache;
mod chart;
mod commands;
mod data;
mod ladder;
mod measure;
mod memory;
mod output;
mod picture;
mod progress;
mod record;
mod reference;
mod runtime;
mod table;
mod versus;
mod workload;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use args::{Cli, Command};

/// Where compiling has no memory, the command says so.
#[global_allocator]
static ALLOCATOR: runtime::Allocator = runtime::Allocator;

/// How a command ended that did not meet an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Done,
    /// A result was not within its tolerance.
    Wrong,
    Interrupted,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    runtime::choose(cli.cpu);
    let all = matches!(&cli.command, Command::Check(args) if args.all);
    match run(cli.command) {
        Ok(Status::Done) => ExitCode::SUCCESS,
        Ok(Status::Wrong) => ExitCode::from(1),
        Ok(Status::Interrupted) => ExitCode::from(130),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) if runtime::is_cancelled(&error) => ExitCode::from(130),
        Err(error) => {
            // If standard error is gone, the exit status still tells.
            let _ = writeln!(std::io::stderr(), "error: {}", message(&error, all));
            ExitCode::from(if runtime::is_bug(&error) { 3 } else { 2 })
        }
    }
}

fn run(command: Command) -> Result<Status> {
    match command {
        Command::Devices(args) => commands::devices::run(&args),
        Command::Run(args) => commands::run::run(&args),
        Command::Profile(args) => commands::profile::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Compile(args) => commands::compile::run(&args),
        Command::Lower(args) => commands::lower::run(&args),
        Command::Convert(args) => commands::convert::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Exec(args) => commands::exec::run(&args),
        Command::Bench(command) => commands::bench::bench(&command),
        Command::Demo(args) => commands::demo::run(&args),
    }
}

/// An error and its causes, without those that only repeat what the error before them says.
fn message(error: &anyhow::Error, all: bool) -> String {
    let mut parts: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = runtime::brief(cause, all).unwrap_or_else(|| cause.to_string());
        if !parts.last().is_some_and(|last| last.ends_with(&text)) {
            parts.push(text);
        }
    }
    parts.join(": ")
}

/// Tells of something odd that does not keep the command from its work.
fn warn(text: impl std::fmt::Display) {
    // If standard error is gone, nobody wants to know.
    let _ = writeln!(std::io::stderr(), "warning: {text}");
}

/// Prints a text and a line end. `println` would panic where the reader has gone away.
fn say(text: impl std::fmt::Display) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

/// The same, on standard error if data is written to standard output.
fn tell(text: impl std::fmt::Display, is_output_taken: bool) -> Result<()> {
    if is_output_taken { Ok(writeln!(std::io::stderr(), "{text}")?) } else { say(text) }
}

/// The reader of our output has seen enough, as in `phalanx devices | head`.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == ErrorKind::BrokenPipe)
}

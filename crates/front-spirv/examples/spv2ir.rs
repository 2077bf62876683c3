//! Prints the IR of a SPIR-V module: `spv2ir FILE [ENTRY] [ID=VALUE]…`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]

use phalanx_front_spirv::{Options, translate, words_from_bytes};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap_or_default();
    let (mut entry, mut spec) = (None, Vec::new());
    for arg in args {
        match arg.split_once('=').map(|(k, v)| (k.parse(), v.parse())) {
            Some((Ok(id), Ok(value))) => spec.push((id, value)),
            _ => entry = Some(arg),
        }
    }
    let options = Options { entry: entry.as_deref(), specialization: &spec, ..Options::default() };
    match run(&path, &options) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(text) => {
            eprintln!("{path}: {text}");
            ExitCode::from(2)
        }
    }
}

fn run(path: &str, options: &Options<'_>) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
    let words = words_from_bytes(&bytes).map_err(|e| e.to_string())?;
    let start = std::time::Instant::now();
    let module = translate(&words, options).map_err(|e| e.to_string())?;
    let (time, insts) = (start.elapsed(), module.body.insts.len());
    eprintln!("{path}: {insts} instructions in {time:?}");
    let text = phalanx_ir::text::print(&module);
    let errors = phalanx_ir::verify::check(&module);
    if errors.is_empty() {
        return Ok(text);
    }
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Err(format!("{text}\n{}", errors.join("\n")))
}

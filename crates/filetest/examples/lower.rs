//! Lowers what file tests run to SPIR-V and runs that: `lower DIRECTORY FILE…`. The modules are written to the directory,
//! as binaries and as text of the `spirv` dialect, for other judges.
#![expect(clippy::print_stdout, reason = "it tells what came of each test")]

use phalanx_back_spirv::{Llvm, Options, lower};
use phalanx_filetest::compile::load;
use phalanx_filetest::directive::{Command, TargetKind, TestFile};
use phalanx_filetest::runner::{Settings, read, run_test};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let out = args.next().ok_or("lower DIRECTORY FILE…")?;
    std::fs::create_dir_all(&out)?;
    for path in args {
        let Ok(tests) = read(Path::new(&path)) else { continue };
        for file in tests.iter().filter(|file| file.commands.contains(&Command::Run)) {
            if file.run_error.is_none() {
                one(&out, &path, file)?;
            }
        }
    }
    Ok(())
}

fn one(out: &str, path: &str, file: &TestFile) -> std::io::Result<()> {
    let Ok(source) = load(file) else { return Ok(()) };
    let sizes = if file.subgroups.is_empty() { vec![32] } else { file.subgroups.clone() };
    for size in sizes {
        let Ok(module) = source.module(file, Some(size)) else { continue };
        let label = format!("{path} {} {size}", file.case);
        let lowered = match lower(&module, Options::default()) {
            Ok(lowered) => lowered,
            Err(error) => {
                println!("unsupported {label}: {error}");
                continue;
            }
        };
        let name = format!("{out}/{}", label.replace("filetests/", "").replace(['/', ' '], "_"));
        let bytes: Vec<u8> = lowered.words().iter().flat_map(|word| word.to_le_bytes()).collect();
        std::fs::write(format!("{name}.spv"), bytes)?;
        let by_shuffle = lower(&module, Options { rotates_by_shuffle: true });
        for (version, number) in [(Llvm::V19, 19), (Llvm::V22, 22)] {
            let lowered = by_shuffle.as_ref().ok().filter(|_| version == Llvm::V19).unwrap_or(&lowered);
            match lowered.to_mlir(version) {
                Ok(text) => std::fs::write(format!("{name}.{number}.mlir"), text)?,
                Err(error) => println!("no-text-{number} {label}: {error}"),
            }
        }
        let mut again = file.clone();
        again.targets = vec![TargetKind::Interp, TargetKind::Lowered];
        again.subgroups = vec![size];
        again.commands = vec![Command::Run];
        match run_test(&again, &Settings::default()) {
            Ok(()) => println!("agrees {label}"),
            Err(failure) => println!("differs {label}: {}", failure.0),
        }
    }
    Ok(())
}

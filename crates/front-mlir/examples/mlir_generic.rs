//! Prints the generic form of a file of MLIR text, or what is wrong with it.
//!
//! `cargo run -p phalanx-front-mlir --example mlir_generic -- FILE`

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example's purpose")]

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("mlir_generic FILE");
        return ExitCode::from(2);
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::from(2);
        }
    };
    match phalanx_front_mlir::parse(&text) {
        Ok(ast) => {
            print!("{}", phalanx_front_mlir::syntax::print(&ast));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{path}:{error}");
            ExitCode::FAILURE
        }
    }
}

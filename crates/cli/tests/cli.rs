//! The command as a user meets it: exit status and messages of the built program.

use std::path::Path;
use std::process::{Command, Output};

fn phalanx(arguments: &[&str], directory: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_phalanx"))
        .args(arguments)
        .current_dir(directory)
        .output()
        .expect("the program starts")
}

/// Asserts that the program refuses the arguments with status 2 and one message that holds all of `expected`.
fn refuses(arguments: &[&str], directory: &Path, expected: &[&str]) {
    let output = phalanx(arguments, directory);
    let message = String::from_utf8(output.stderr).expect("messages are text");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert_eq!(message.matches("error:").count(), 1, "{arguments:?}: {message}");
    for part in expected {
        assert!(message.contains(part), "{arguments:?}: `{part}` is missing in: {message}");
    }
}

fn empty_directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

#[test]
fn help_has_an_example_for_each_command_that_needs_one() {
    let directory = empty_directory();
    for command in [&["run", "--help"][..], &["check", "--help"], &["bench", "gemm", "--help"]] {
        let output = phalanx(command, directory.path());
        let text = String::from_utf8(output.stdout).expect("help is text");
        assert!(output.status.success() && text.contains("Example:\n  phalanx "), "{text}");
    }
}

#[test]
fn wrong_arguments_are_refused() {
    let directory = empty_directory();
    let refuses = |line: &str, expected: &str| {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        refuses(&arguments, directory.path(), &[expected]);
    };
    refuses("frobnicate", "unrecognized subcommand 'frobnicate'");
    refuses("bench gemm --rungs ladder", "`ladder` is no rung; there are scalar");
    refuses("bench gemm --types f64", "the ladder is not written for f64->f32");
    refuses("bench gemm --sizes 100 --rungs simple --types f16", "M must be a multiple of the tile's");
    refuses(
        "bench gemm --sizes 128 --rungs tiled --types f16 --tile 100x64x32",
        "the tile's M must be a multiple of 16",
    );
    refuses("run a.comp --groups 1 --bind 0:0=zeros:f32[2] --bind 0:0=zeros:f32[2]", "0:0 is bound twice");
    refuses("run a.comp --groups 1 --out 0:0=x.npy", "nothing is bound there");
    refuses("run a.comp --groups 1 --push addr:table", "addr:table: nothing is bound there");
    refuses("run a.comp --groups 1 --bind 0:0=rand:f32[2]:x", "the seed `x` is no number");
}

#[test]
fn files_that_are_no_shader_are_refused() {
    let directory = empty_directory();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("odd.spv"), [1, 2, 3]).expect("writable");
    std::fs::write(path("binary.comp"), [0xff, 0xfe, 0]).expect("writable");
    std::fs::write(path("shader.txt"), "void main() {}").expect("writable");
    let refuses = |file: &str, expected: &str| refuses(&["check", file], directory.path(), &[file, expected]);
    refuses("missing.comp", "cannot be read");
    refuses("odd.spv", "no whole number of words");
    refuses("binary.comp", "is no text");
    refuses("shader.txt", "what is it? Known are .comp");
}

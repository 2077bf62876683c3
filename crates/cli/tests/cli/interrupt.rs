//! Ctrl-C while the program works.

use super::*;
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

/// Starts the program, lets it work for a while, and interrupts it. Nothing if it was not listening yet.
fn interrupted_after(wait: Duration, arguments: &str, directory: &Path) -> Option<(ExitStatus, String)> {
    let child: Child = Command::new(env!("CARGO_BIN_EXE_phalanx"))
        .args(arguments.split_whitespace())
        .current_dir(directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    std::thread::sleep(wait);
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("there is `kill`").success(), "{arguments}: it ended before");
    let output = child.wait_with_output().expect("it ends");
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    output.status.code().is_some().then_some((output.status, text))
}

fn is_interrupted(arguments: &str, directory: &Path) {
    let waits = (0..6).map(|doubled| Duration::from_millis(500 << doubled));
    let found = waits.into_iter().find_map(|wait| interrupted_after(wait, arguments, directory));
    let (status, text) = found.expect("it does not end by the signal once it listens");
    assert_eq!((status.code(), text.as_str()), (Some(130), ""), "{arguments}");
}

#[test]
fn a_shader_that_is_compiled_or_runs_can_be_interrupted() {
    let directory = empty_directory();
    let write = |name: &str, body: &str| {
        let head =
            "#version 450\nlayout(local_size_x = 32) in;\nlayout(binding = 0) buffer B { uint b[]; };\n";
        let text =
            format!("{head}void main() {{ uint i = gl_LocalInvocationIndex, x = 0; {body} b[i] = x; }}");
        std::fs::write(directory.path().join(name), text).expect("writable");
    };
    write("long.comp", &"x = x * 3 + b[x + i];\n".repeat(40_000));
    write("endless.comp", "while (b[0] == 0) x += b[i];");
    let bind = "--groups 1 --bind 0:0=zeros:u32[32]";
    is_interrupted("check long.comp", directory.path());
    is_interrupted("check long.comp --json", directory.path());
    is_interrupted(&format!("run long.comp {bind}"), directory.path());
    is_interrupted(&format!("run endless.comp --timeout 0 {bind}"), directory.path());
    is_interrupted(&format!("run endless.comp --timeout 0 --device interpreter {bind}"), directory.path());
}

//! Processes with too little memory.

use super::*;

/// Runs the program with so many KiB of address space, which is what limits of memory limit.
fn within(kib: u64, arguments: &str, directory: &Path) -> Output {
    Command::new("sh")
        .args(["-c", &format!("ulimit -v {kib} && exec \"$0\" {arguments}"), env!("CARGO_BIN_EXE_phalanx")])
        .current_dir(directory)
        .output()
        .expect("the shell starts")
}

/// Whatever the limit is, the program succeeds or says what it lacks; no signal ends it. Limits begin a little above
/// that which the system needs to load the program and its libraries, as that ends in their own ways.
#[test]
fn too_little_memory_is_an_error_and_no_crash() {
    let directory = empty_directory();
    std::fs::write(directory.path().join("scale.comp"), SCALE).expect("writable");
    let run = |mib: u64, arguments| within(mib << 10, arguments, directory.path());
    let loads = |mib: &u64| run(*mib, "--version").status.success();
    let least = 16 + (64..16 << 10).step_by(8).find(loads).expect("16 GiB are enough");
    let (mut succeeded, mut refused) = (0, 0);
    // Ever larger steps, as it is at the lower end that things go wrong.
    for mib in (0..24).map(|step: u64| least + step * step) {
        let output = run(mib, "check scale.comp");
        let message = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => succeeded += 1,
            Some(2) if message.contains("error:") => refused += 1,
            _ => panic!("{mib} MiB: {}: {message}", output.status),
        }
    }
    println!("from {least} MiB on, {succeeded} succeeded and {refused} were refused");
    assert!(succeeded > 0 && refused > 0, "{succeeded} succeeded, {refused} were refused");
}

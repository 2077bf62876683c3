//! What `mlir-opt` says. Without it these tests say so and pass.

#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::canonical::{assert_same, canonical, tree};
use crate::corpus::{Input, LADDER, UPSTREAM};
use phalanx_front_mlir::syntax::print;

const TOOL: &str = "mlir-opt-19";

fn is_here(test: &str) -> bool {
    let found = Command::new(TOOL).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        eprintln!("{test}: skipped, needs {TOOL} (Debian: mlir-19-tools)");
    }
    found
}

/// Runs the tool on a text.
fn mlir_opt(what: &str, text: &str, arguments: &[&str]) -> String {
    let mut child = Command::new(TOOL)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool was found before");
    let mut stdin = child.stdin.take().expect("it was asked for");
    let text_owned = text.to_owned();
    let writer = std::thread::spawn(move || {
        // A tool that stops early says why itself.
        let _ = stdin.write_all(text_owned.as_bytes());
    });
    let out = child.wait_with_output().expect("the tool ends");
    writer.join().expect("writing does not panic");
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{TOOL} refuses {what} with {arguments:?}\n{errors}");
    String::from_utf8(out.stdout).expect("it prints UTF-8")
}

const GENERIC: &str = "--mlir-print-op-generic";

#[test]
fn both_read_the_same_tree_from_the_same_text() {
    if !is_here("both_read_the_same_tree_from_the_same_text") {
        return;
    }
    for Input { name, text } in UPSTREAM.iter().chain(&[Input { name: "ladder", text: LADDER }]) {
        let theirs = mlir_opt(name, text, &[GENERIC]);
        assert_same(name, &canonical(name, text), &canonical("what mlir-opt prints", &theirs));
    }
}

#[test]
fn it_accepts_what_we_print() {
    if !is_here("it_accepts_what_we_print") {
        return;
    }
    for Input { name, text } in &UPSTREAM {
        let ours = print(&tree(name, text));
        let theirs = mlir_opt(name, &ours, &[GENERIC]);
        assert_same(name, &canonical(name, text), &canonical("what mlir-opt prints", &theirs));
    }
}

/// Options under which both forms of what it prints must be read as the same tree.
const ROUTES: [&[&str]; 4] =
    [&[], &["--mlir-print-debuginfo"], &["--canonicalize"], &["--cse", "--mlir-print-local-scope"]];

#[test]
fn whatever_it_prints_is_read() {
    if !is_here("whatever_it_prints_is_read") {
        return;
    }
    for Input { name, text } in &UPSTREAM {
        for route in ROUTES {
            let custom = mlir_opt(name, text, route);
            let generic = mlir_opt(name, text, &[route, &[GENERIC]].concat());
            let what = format!("{name} {route:?}");
            assert_same(&what, &canonical(&what, &custom), &canonical(&what, &generic));
        }
    }
}

/// Pipelines of compilers that end in `gpu`, with what they begin with. Every pass on the way is read too.
const PIPELINES: [(&str, &str, &[&str]); 5] = [
    ("contract", include_str!("pipelines/contract.mlir"), &["--convert-vector-to-gpu", "--canonicalize"]),
    (
        "matmul",
        include_str!("pipelines/matmul.mlir"),
        &[
            "--convert-linalg-to-parallel-loops",
            "--gpu-map-parallel-loops",
            "--convert-parallel-loops-to-gpu",
            "--gpu-kernel-outlining",
            "--canonicalize",
        ],
    ),
    (
        "matmul, tiled",
        include_str!("pipelines/matmul.mlir"),
        &[
            "--convert-linalg-to-affine-loops",
            "--affine-loop-tile",
            "--lower-affine",
            "--canonicalize",
            "--convert-scf-to-cf",
        ],
    ),
    (
        "elementwise",
        include_str!("pipelines/elementwise.mlir"),
        &[
            "--convert-linalg-to-parallel-loops",
            "--scf-parallel-loop-tiling=parallel-loop-tile-sizes=32,4",
            "--gpu-map-parallel-loops",
            "--convert-parallel-loops-to-gpu",
            "--lower-affine",
            "--gpu-kernel-outlining",
            "--canonicalize",
            "--cse",
        ],
    ),
    (
        "reduction",
        include_str!("pipelines/reduction.mlir"),
        &[
            "--convert-linalg-to-loops",
            "--affine-super-vectorize",
            "--canonicalize",
            "--convert-scf-to-cf",
            "--cse",
        ],
    ),
];

#[test]
fn what_pipelines_make_is_read() {
    if !is_here("what_pipelines_make_is_read") {
        return;
    }
    for (name, text, passes) in PIPELINES {
        // The text itself holds operations of linalg, so the first pass must have run.
        for count in 1..=passes.len() {
            let route = &passes[..count];
            let custom = mlir_opt(name, text, route);
            let generic = mlir_opt(name, text, &[route, &[GENERIC]].concat());
            let what = format!("{name} {route:?}");
            assert_same(&what, &canonical(&what, &custom), &canonical(&what, &generic));
            mlir_opt(&what, &print(&tree(&what, &custom)), &[]);
        }
    }
}

//! How long it takes to read a module of 10 000 lines, in custom and in generic form.
//!
//! `cargo run --release -p phalanx-front-mlir --example parse_time [-- LINES]`

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example's purpose")]

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use phalanx_front_mlir::parse;
use phalanx_front_mlir::syntax::print;

/// The best of so many runs counts.
const RUNS: u32 = 30;

/// Kernels that load tiles, multiply them in a loop and store the result: 24 lines each.
fn module(lines: usize) -> String {
    let mut text = "module attributes {gpu.container_module} {\n  gpu.module @kernels {\n".to_owned();
    for kernel in 0..lines / 24 {
        let _ = write!(
            text,
            r#"    gpu.func @multiply{kernel}(%a: memref<64x64xf16>, %b: memref<64x64xf16, strided<[128, 1], offset: ?>>, %c: memref<?x?xf32>, %n: index) workgroup(%tile: memref<16x16xf16, #gpu.address_space<workgroup>>) kernel attributes {{gpu.known_block_size = array<i32: 32, 1, 1>}} {{
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %x = gpu.block_id x
      %row = arith.muli %x, %c16 : index
      %start = gpu.subgroup_mma_load_matrix %c[%row, %c0] {{leadDimension = 64 : index}} : memref<?x?xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
      %sum = scf.for %k = %c0 to %n step %c16 iter_args(%acc = %start) -> (!gpu.mma_matrix<16x16xf32, "COp">) {{
        %t = gpu.thread_id x
        %v = memref.load %a[%k, %t] : memref<64x64xf16>
        %w = arith.addf %v, %v fastmath<contract> : f16
        memref.store %w, %tile[%c0, %t] : memref<16x16xf16, #gpu.address_space<workgroup>>
        gpu.barrier
        %l = gpu.subgroup_mma_load_matrix %tile[%c0, %c0] {{leadDimension = 16 : index}} : memref<16x16xf16, #gpu.address_space<workgroup>> -> !gpu.mma_matrix<16x16xf16, "AOp">
        %r = gpu.subgroup_mma_load_matrix %b[%k, %c0] {{leadDimension = 128 : index, transpose}} : memref<64x64xf16, strided<[128, 1], offset: ?>> -> !gpu.mma_matrix<16x16xf16, "BOp">
        %next = gpu.subgroup_mma_compute %l, %r, %acc : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
        scf.yield %next : !gpu.mma_matrix<16x16xf32, "COp">
      }}
      %zero = arith.constant 0.0 : f32
      %low = gpu.subgroup_mma_constant_matrix %zero : !gpu.mma_matrix<16x16xf32, "COp">
      %relu = gpu.subgroup_mma_elementwise maxf %sum, %low : (!gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
      gpu.subgroup_mma_store_matrix %relu, %c[%row, %c0] {{leadDimension = 64 : index}} : !gpu.mma_matrix<16x16xf32, "COp">, memref<?x?xf32>
      gpu.return
    }}
"#
        );
    }
    text + "  }\n}\n"
}

fn best(text: &str) -> Option<Duration> {
    let run = |_| {
        let start = Instant::now();
        let parsed = parse(text);
        let time = start.elapsed();
        parsed.is_ok().then_some(time)
    };
    (0..RUNS).map(run).collect::<Option<Vec<_>>>()?.into_iter().min()
}

fn main() -> ExitCode {
    let lines = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10_000);
    let custom = module(lines);
    let generic = match parse(&custom) {
        Ok(ast) => print(&ast),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    for (form, text) in [("custom", &custom), ("generic", &generic)] {
        if let Some(time) = best(text) {
            let rate = text.len() as f64 / time.as_secs_f64() / 1e6;
            println!(
                "{form:8} {:6} lines {:8} bytes {time:9.2?} {rate:6.0} MB/s",
                text.lines().count(),
                text.len()
            );
        }
    }
    ExitCode::SUCCESS
}

//! Bytes per second that moving matrices to other layouts and types reads and writes, beside those of copies that read
//! and write as many.
//!
//! `cargo run --release -p phalanx-kernels --example relayout_bench [-- SIZE]`: SIZE rows and columns, 4096 without it.
#![expect(clippy::print_stdout, reason = "the example's purpose is its table")]

use std::time::{Duration, Instant};

use phalanx_kernels::{Elem, Isa, Relayout, RelayoutParams};

/// Memory of so many bytes that has been touched.
fn touched(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i as u32).wrapping_mul(0x9e37_79b9).to_le_bytes()[3]).collect()
}

/// The shortest of many runs of each, in seconds. They take turns, for other programs to disturb both alike.
fn seconds(run: [&dyn Fn(); 2]) -> [f64; 2] {
    let (mut best, mut runs, begin) = ([f64::INFINITY; 2], 0, Instant::now());
    while runs < 20 || begin.elapsed() < Duration::from_millis(50) {
        for (run, best) in run.iter().zip(&mut best) {
            let start = Instant::now();
            run();
            *best = best.min(start.elapsed().as_secs_f64());
        }
        runs += 1;
    }
    best
}

/// Calls `run` with each of so many parts of `count`, on threads.
fn share(count: usize, threads: usize, run: impl Fn(std::ops::Range<usize>) + Sync) {
    let part = count.div_ceil(threads);
    let run = &run;
    std::thread::scope(|scope| {
        for start in (part..count).step_by(part) {
            scope.spawn(move || run(start..(start + part).min(count)));
        }
        run(0..part);
    });
}

fn main() {
    use Elem::{BF16, E4M3, E5M2, F16, F32, I8};
    let size: usize = std::env::args().nth(1).and_then(|size| size.parse().ok()).unwrap_or(4096);
    let isa = Isa::native();
    println!("{isa}, {size} x {size}");
    println!("{:32}{:>8}{:>10}{:>12}{:>8}", "elements", "threads", "GB/s", "copy GB/s", "share");
    for (name, from, to, round, across) in [
        ("f32 to f16 kept as f32", F32, F32, Some(F16), false),
        ("f32 to f16", F32, F16, None, false),
        ("f16 to f32", F16, F32, None, false),
        ("f32 to bf16", F32, BF16, None, false),
        ("f32 to e4m3 kept as f32", F32, F32, Some(E4M3), false),
        ("f32 to e5m2", F32, E5M2, None, false),
        ("e4m3 to f16", E4M3, F16, None, false),
        ("i8", I8, I8, None, false),
        ("f32 to f16 kept as f32, across", F32, F32, Some(F16), true),
        ("f16, across", F16, F16, None, true),
        ("i8, across", I8, I8, None, true),
    ] {
        let params = RelayoutParams {
            lines: size,
            length: size,
            from,
            to,
            round,
            across,
            src_stride: size * from.bytes(),
            dst_stride: size * to.bytes() + 64,
            padded: true,
        };
        let Some(relayout) = Relayout::new(params) else { continue };
        let bytes = relayout.source_bytes() + relayout.destination_bytes();
        let sizes = [relayout.source_bytes(), relayout.destination_bytes(), bytes / 2, bytes / 2];
        let mut memory = sizes.map(touched);
        let [src, dst, from, to] = memory.each_mut().map(|memory| memory.as_mut_ptr().expose_provenance());
        let read = |address: usize| std::ptr::with_exposed_provenance::<u8>(address);
        let write = |address: usize| std::ptr::with_exposed_provenance_mut::<u8>(address);
        for threads in [1, 2] {
            let own = || {
                share(size, threads, |lines| {
                    // SAFETY: the memory is as large as the matrices; threads write different lines.
                    unsafe { relayout.run_lines(isa, read(src), write(dst), lines) };
                });
            };
            let copy = || {
                share(bytes / 2, threads, |part| {
                    // SAFETY: parts of memory of this size.
                    unsafe {
                        read(from + part.start).copy_to_nonoverlapping(write(to + part.start), part.len());
                    }
                });
            };
            let [own, copied] = seconds([&own, &copy]);
            println!(
                "{name:32}{threads:>8}{:>10.1}{:>12.1}{:>7.0}%",
                bytes as f64 / own / 1e9,
                bytes as f64 / copied / 1e9,
                100.0 * copied / own
            );
        }
    }
}

//! Bytes per second that conversions of matrices read and write, beside those of a copy that reads and writes as many.
//!
//! `cargo run --release -p phalanx --example convert_bench [-- SIZE]`: square matrices of SIZE rows, 4096 without it.
#![expect(clippy::print_stdout, reason = "the example's purpose is its table")]

use std::time::Instant;

use phalanx::vector::{Component, Conversion, MatrixForm, MatrixLayout};

/// Memory of so many bytes that has been touched.
fn touched(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i as u32).wrapping_mul(0x9e37_79b9).to_le_bytes()[3]).collect()
}

/// The shortest of several runs, in seconds.
fn seconds(mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..15 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

/// Copies half of the bytes to the other half, by so many threads.
fn copy(bytes: usize, threads: usize) -> f64 {
    let (src, mut dst) = (touched(bytes / 2), touched(bytes / 2));
    let part = (bytes / 2).div_ceil(threads);
    seconds(|| {
        std::thread::scope(|scope| {
            let mut parts = dst.chunks_mut(part).zip(src.chunks(part));
            let own = parts.next();
            parts.for_each(|(to, from)| {
                scope.spawn(|| to.copy_from_slice(from));
            });
            own.into_iter().for_each(|(to, from)| to.copy_from_slice(from));
        });
    })
}

fn main() {
    use Component::{Bf16, E4m3, E5m2, F16, F32, S8};
    use MatrixLayout::{ColumnMajor, Inferencing, RowMajor, Training};
    let size = std::env::args().nth(1).and_then(|size| size.parse().ok()).unwrap_or(4096);
    println!("{:44}{:>8}{:>12}{:>12}{:>8}", "conversion", "threads", "GB/s", "copy GB/s", "share");
    for (from, to) in [
        ((F32, RowMajor), (F16, Inferencing)),
        ((F32, RowMajor), (F16, Training)),
        ((F32, RowMajor), (F32, Inferencing)),
        ((F16, RowMajor), (F16, Inferencing)),
        ((F16, RowMajor), (F16, Training)),
        ((F32, RowMajor), (E4m3, Inferencing)),
        ((F32, RowMajor), (E5m2, Training)),
        ((F32, RowMajor), (Bf16, Training)),
        ((E4m3, Training), (F16, RowMajor)),
        ((S8, RowMajor), (S8, Inferencing)),
        ((F32, ColumnMajor), (F16, Inferencing)),
        ((F16, ColumnMajor), (F16, Training)),
        ((S8, ColumnMajor), (S8, Inferencing)),
    ] {
        let form = |(component, layout)| MatrixForm::packed(component, layout, size, size);
        let conversion = Conversion { rows: size, columns: size, source: form(from), destination: form(to) };
        let (Ok(source), Ok(destination)) = (conversion.source_bytes(), conversion.destination_bytes())
        else {
            continue;
        };
        let (src, mut dst) = (touched(source), touched(destination));
        for threads in [1, 2] {
            let own = seconds(|| {
                // SAFETY: the slices are as long as the matrices.
                let converted = unsafe { conversion.run_raw(src.as_ptr(), dst.as_mut_ptr(), threads) };
                assert_eq!(converted, Ok(()));
            });
            let bytes = source + destination;
            let copied = copy(bytes, threads);
            let name = |(component, layout): (Component, MatrixLayout)| {
                format!("{} {}", component.name(), layout.name())
            };
            println!(
                "{:44}{threads:>8}{:>12.1}{:>12.1}{:>7.0}%",
                format!("{} -> {}", name(from), name(to)),
                bytes as f64 / own / 1e9,
                bytes as f64 / copied / 1e9,
                100.0 * copied / own
            );
        }
    }
}

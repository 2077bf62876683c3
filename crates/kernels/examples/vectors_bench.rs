//! Speed of the operations on vectors of lanes as a share of what the processor does at most, one core, operands in cache.
//!
//! `cargo run --release -p phalanx-kernels --example vectors_bench [filter]`; `PHALANX_CPU` selects the processor.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use phalanx_kernels::{
    Elem, Isa, Piece, Processor, VecMatMul, VecMatMulFn, VecOuterAdd, VecOuterAddFn, peak,
};
use std::time::{Duration, Instant};

const LANES: u32 = 128;

/// Seconds per call: the best of several batches of about two milliseconds.
fn seconds(mut call: impl FnMut()) -> f64 {
    let mut batch = 1;
    loop {
        let start = Instant::now();
        (0..batch).for_each(|_| call());
        if start.elapsed() > Duration::from_millis(2) {
            break;
        }
        batch *= 2;
    }
    (0..40)
        .map(|_| {
            let start = Instant::now();
            (0..batch).for_each(|_| call());
            start.elapsed().as_secs_f64() / f64::from(batch)
        })
        .fold(f64::INFINITY, f64::min)
}

/// The best of several: what other programs leave is not of interest here.
fn best(of: impl Fn() -> f64) -> f64 {
    (0..12).map(|_| of()).fold(0.0, f64::max)
}

/// The places of matrices of so many bytes, of which each `run` lanes have one.
fn places(memory: &[u8], bytes: usize, stride: u64, run: u32) -> Vec<u64> {
    let mut words = vec![0; Piece::words(LANES) as usize];
    let mask = u128::MAX >> (128 - LANES);
    (words[0], words[1]) = (mask as u64, (mask >> 64) as u64);
    let mut put = |piece: Piece, word: u64| words[piece.word(LANES) as usize] = word;
    let base = memory.as_ptr().expose_provenance() as u64;
    put(Piece::MatrixBase, base);
    put(Piece::MatrixSize, memory.len() as u64);
    put(Piece::Stride, stride);
    put(Piece::BiasBase, base);
    put(Piece::BiasSize, memory.len() as u64);
    for lane in 0..LANES {
        words[(Piece::MatrixOffset.word(LANES) + lane) as usize] = u64::from(lane / run) * bytes as u64;
    }
    words
}

/// Memory that begins at a multiple of 64.
fn aligned(memory: &mut [u8]) -> *mut u8 {
    memory.as_mut_ptr().wrapping_add(memory.as_ptr().align_offset(64))
}

struct Product {
    name: &'static str,
    input: Elem,
    matrix: Elem,
    interpretation: Elem,
    result: Elem,
    bias: Option<Elem>,
    columns: bool,
    /// Lanes that share a matrix.
    run: u32,
}

impl Product {
    fn measure(&self, isa: Isa, size: u32) {
        let integers = self.interpretation == Elem::I8;
        let line = size as usize * self.matrix.bytes();
        let stride = line + if line.is_multiple_of(512) { 64 } else { 0 };
        let bytes = stride * size as usize;
        let memory = vec![0; bytes * 32 + 4096];
        let words = places(&memory, bytes, stride as u64, self.run);
        let op = VecMatMul {
            lanes: LANES,
            m: size,
            k: size,
            input: self.input,
            input_signed: true,
            packed: false,
            interpretation: self.interpretation,
            interpretation_signed: integers,
            matrix: self.matrix,
            matrix_signed: integers,
            columns: self.columns,
            bias: self.bias,
            result: self.result,
            varying: if self.run == LANES { 0 } else { Piece::MatrixOffset.bit() },
        };
        let plan = isa.plan_vec_mat_mul(&op);
        let address = plan.kernel.address(isa).expect("the plan names a kernel");
        // SAFETY: the plan names such a kernel.
        let kernel = unsafe { std::mem::transmute::<*const (), VecMatMulFn>(address) };
        let mut scratch = vec![0; plan.scratch_bytes + 64];
        let mut input = vec![0; size as usize * 4 * LANES as usize + 64];
        let mut result = vec![0; size as usize * 4 * LANES as usize + 64];
        let (scratch, input, result) = (aligned(&mut scratch), aligned(&mut input), aligned(&mut result));
        let time = seconds(|| {
            // SAFETY: the operands are as planned.
            unsafe { kernel(&plan.params, result, input, words.as_ptr(), scratch) }
        });
        let peak = best(|| match integers {
            true => peak::i8_dot(isa, 1, Duration::from_millis(4)),
            false => peak::f32_fma(isa, 1, Duration::from_millis(4)),
        });
        let work = 2.0 * f64::from(size) * f64::from(size) * f64::from(LANES);
        println!(
            "{:32} {size:4}  {:7.1} Gop/s  {:5.1} %  {:8.2} us",
            self.name,
            work / time * 1e-9,
            work / time / peak * 100.0,
            time * 1e6
        );
    }
}

fn outer(isa: Isa, elem: Elem, a: Option<Elem>, size: u32) {
    let (m, bytes) = (if a.is_some() { size } else { 1 }, size as usize * elem.bytes());
    let mut memory = vec![0; bytes * m as usize + 64];
    let matrix = aligned(&mut memory);
    let mut words = places(&[], 0, bytes as u64, LANES);
    words[Piece::MatrixBase.word(LANES) as usize] = matrix.expose_provenance() as u64;
    words[Piece::MatrixSize.word(LANES) as usize] = (bytes * m as usize) as u64;
    let op = VecOuterAdd { lanes: LANES, a, m, b: Elem::F16, n: size, matrix: elem, varying: 0 };
    let plan = isa.plan_vec_outer_add(&op);
    let address = plan.kernel.address(isa).expect("the plan names a kernel");
    // SAFETY: the plan names such a kernel.
    let kernel = unsafe { std::mem::transmute::<*const (), VecOuterAddFn>(address) };
    let mut scratch = vec![0; plan.scratch_bytes + 64];
    let vector = vec![0_u8; size as usize * 4 * LANES as usize];
    let scratch = aligned(&mut scratch);
    let time = seconds(|| {
        // SAFETY: the operands are as planned.
        unsafe { kernel(&plan.params, vector.as_ptr(), vector.as_ptr(), words.as_ptr(), scratch) }
    });
    let name = if a.is_some() { "outer product" } else { "sum" };
    let each = time * 1e9 / f64::from(m * size);
    println!("{:32} {size:4}  {:8.2} us  {each:.2} ns an element", format!("{name} to {elem}"), time * 1e6);
}

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let isa = match Processor::detect().and_then(Processor::isa) {
        Ok(isa) => isa,
        Err(error) => {
            println!("{error}");
            return;
        }
    };
    println!("{isa}, {LANES} lanes");
    let half = Product {
        name: "f16 kept as f32",
        input: Elem::F16,
        matrix: Elem::F32,
        interpretation: Elem::F16,
        result: Elem::F16,
        bias: None,
        columns: false,
        run: LANES,
    };
    let (f16, e4m3, i8) = (Elem::F16, Elem::E4M3, Elem::I8);
    let bytes = Product { name: "s8", input: i8, matrix: i8, interpretation: i8, result: Elem::I32, ..half };
    let products = [
        Product { name: "f16 kept as f32, bias", bias: Some(f16), ..half },
        Product { name: "f16 kept as f32, columns", columns: true, ..half },
        Product { name: "f16", matrix: f16, ..half },
        Product { name: "f16, columns", matrix: f16, columns: true, ..half },
        Product { name: "e4m3", matrix: e4m3, interpretation: e4m3, ..half },
        Product { name: "f32", input: Elem::F32, interpretation: Elem::F32, result: Elem::F32, ..half },
        Product { name: "f16 kept as f32, 4 matrices", run: 8, ..half },
        Product { name: "f16 kept as f32, 8 matrices", run: 4, ..half },
        Product { name: "f16 kept as f32, 32 matrices", run: 1, ..half },
        half,
        Product { name: "s8, columns", columns: true, ..bytes },
        Product { name: "s8 of f32", input: Elem::F32, ..bytes },
        Product { name: "s8, 4 matrices", run: 8, ..bytes },
        bytes,
    ];
    for product in products.iter().filter(|p| p.name.contains(&filter)) {
        [16, 32, 64, 128].iter().for_each(|&size| product.measure(isa, size));
    }
    if "outer".contains(&filter) {
        for (elem, a) in
            [(Elem::F16, Some(f16)), (Elem::F32, Some(f16)), (Elem::F16, None), (Elem::F32, None)]
        {
            [32, 64].iter().for_each(|&size| outer(isa, elem, a, size));
        }
    }
}

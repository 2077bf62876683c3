//! Speed of the kernels as a share of what the processor does at most, one core, operands in cache.
//!
//! `cargo run --release -p phalanx-kernels --example kernels_bench [filter [product]]`, as in `mul "f16→f32 64x64x64"`;
//! `PHALANX_CPU` selects the processor.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use phalanx_kernels::{
    Access, ConvertParams, Elem, ElementParams, Grid, Isa, MulAdd, Processor, TileLayout, Use, peak,
};
use std::time::{Duration, Instant};

/// 64-byte aligned zeroed memory.
struct Memory {
    lines: Vec<[u64; 8]>,
    start: usize,
}

impl Memory {
    fn new(bytes: usize) -> Self {
        let lines = vec![[0; 8]; bytes.div_ceil(64) + 2];
        let start = lines.as_ptr().addr().next_multiple_of(64) - lines.as_ptr().addr();
        Self { lines, start }
    }

    fn ptr(&mut self) -> *mut u8 {
        self.lines.as_mut_ptr().cast::<u8>().wrapping_add(self.start)
    }
}

/// Tiles of one layout, one after the other.
struct Tiles {
    _memory: Memory,
    pointers: Vec<*mut u8>,
}

impl Tiles {
    fn new(layout: &TileLayout, count: usize) -> Self {
        let mut memory = Memory::new(layout.bytes() * count);
        let base = memory.ptr();
        let pointers = (0..count).map(|i| base.wrapping_add(i * layout.bytes())).collect();
        Self { _memory: memory, pointers }
    }

    fn reads(&self) -> *const *const u8 {
        self.pointers.as_ptr().cast()
    }
}

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
    (0..15)
        .map(|_| {
            let start = Instant::now();
            (0..batch).for_each(|_| call());
            start.elapsed().as_secs_f64() / f64::from(batch)
        })
        .fold(f64::INFINITY, f64::min)
}

/// What the processor reaches at most at this moment. Clock rates change with what else runs, so this is measured
/// around every kernel.
fn peak_now(isa: Isa, types: (Elem, Elem)) -> f64 {
    let duration = Duration::from_millis(8);
    match types {
        (Elem::I8, _) => peak::i8_dot(isa, 1, duration),
        (Elem::F16, Elem::F16) => peak::f16_fma(isa, 1, duration),
        (Elem::BF16, _) => peak::bf16_dot(isa, 1, duration),
        // Vectors have half as many of these.
        (Elem::F64, _) => peak::f32_fma(isa, 1, duration) / 2.0,
        _ => peak::f32_fma(isa, 1, duration),
    }
}

fn product_name(types: (Elem, Elem), shape: (u32, u32, u32), grid: Grid) -> String {
    let ((rows, cols, depth), Grid { m, n, k }) = (shape, grid);
    format!("{}→{} {rows}x{cols}x{depth} grid {m}x{n}x{k}", types.0, types.1)
}

fn mul_add(isa: Isa, types: (Elem, Elem), saturating: bool, shape: (u32, u32, u32), grid: Grid) {
    let ((element, accumulator), (rows, cols, depth)) = (types, shape);
    let isa = if types == (Elem::F16, Elem::F16) { isa.for_sums_of_f16() } else { isa };
    let a = isa.layout(element, Use::A, rows, depth);
    let b = isa.layout(element, Use::B, depth, cols);
    let c = isa.layout(accumulator, Use::Accumulator, rows, cols);
    let op = MulAdd {
        a,
        b,
        c,
        r: c,
        a_signed: true,
        b_signed: true,
        c_signed: true,
        r_signed: true,
        saturating,
        relaxed: false,
        sliced: false,
        a_parts: false,
        b_parts: false,
    };
    let plan = isa.plan_mul_add(&op, grid);
    let a_tiles = Tiles::new(&a, (grid.m * grid.k) as usize);
    let b_tiles = Tiles::new(&b, (grid.k * grid.n) as usize);
    let c_tiles = Tiles::new(&c, (grid.m * grid.n) as usize);
    let mut scratch = Memory::new(plan.scratch_bytes);
    let kernel = plan.kernel.address(isa).expect("the plan names a kernel");
    // SAFETY: the plan names a multiplication.
    let kernel = unsafe { std::mem::transmute::<*const (), phalanx_kernels::MulAddFn>(kernel) };
    let before = peak_now(isa, types);
    let time = seconds(|| {
        // SAFETY: the operands are as planned.
        unsafe {
            kernel(
                &plan.params,
                a_tiles.reads(),
                b_tiles.reads(),
                c_tiles.reads(),
                c_tiles.pointers.as_ptr(),
                scratch.ptr(),
                std::ptr::null_mut(),
            );
        }
    });
    let peak = (before + peak_now(isa, types)) / 2.0;
    let work = 2.0 * f64::from(rows * cols) * f64::from(depth) * f64::from(grid.m * grid.n * grid.k);
    println!(
        "{:<34}{:>11}  {:>8.1} ns {:>8.1} Gop/s {:>5.1}%  {}",
        product_name(types, shape, grid),
        if saturating { "saturating" } else { "" },
        time * 1e9,
        work / time * 1e-9,
        100.0 * work / time / peak,
        plan.kernel.name(),
    );
}

fn transfer(isa: Isa, element: Elem, use_: Use, (rows, cols): (u32, u32), column_major: bool) {
    let layout = isa.layout(element, use_, rows, cols);
    let access = Access::new(layout, column_major);
    let tiles = Tiles::new(&layout, 1);
    let line = if column_major { rows } else { cols } as usize * element.bytes();
    let stride = line.next_multiple_of(64) + 64;
    let mut memory = Memory::new(stride * rows.max(cols) as usize);
    let (base, size) = (memory.ptr(), (stride * rows.max(cols) as usize) as u64);
    let tile = tiles.pointers[0];
    // SAFETY: the memory covers all lines.
    let load = seconds(|| unsafe { (isa.table().load)(&access, tile, base, size, 0, stride as i64) });
    // SAFETY: the memory covers all lines.
    let store = seconds(|| unsafe { (isa.table().store)(&access, tile, base, size, 0, stride as i64) });
    let bytes = f64::from(rows * cols) * element.bytes() as f64;
    println!(
        "{:>5} {use_:?} {rows}x{cols} {}: load {:>6.1} ns {:>6.1} GB/s, store {:>6.1} ns {:>6.1} GB/s",
        element.to_string(),
        if column_major { "columns" } else { "rows" },
        load * 1e9,
        bytes / load * 1e-9,
        store * 1e9,
        bytes / store * 1e-9,
    );
}

fn elementwise(isa: Isa, element: Elem) {
    let layout = isa.layout(element, Use::Accumulator, 16, 16);
    let tiles = Tiles::new(&layout, 2);
    let p = ElementParams::new(layout);
    let (x, y) = (tiles.pointers[0], tiles.pointers[1]);
    // SAFETY: both tiles are of the layout.
    let add = seconds(|| unsafe { (isa.table().add)(&p, x, x, y) });
    // SAFETY: both tiles are of the layout.
    let scale = seconds(|| unsafe { (isa.table().scale)(&p, x, x, 0) });
    // SAFETY: the tile is of the layout.
    let fill = seconds(|| unsafe { (isa.table().fill)(&p, x, 0) });
    let other = Tiles::new(&layout, 1);
    // SAFETY: all tiles are of the layout.
    let rotate = |offset| seconds(|| unsafe { (isa.table().rotate)(&p, other.pointers[0], x, y, offset) });
    let rotations = [16, 24].map(rotate);
    let to = isa.layout(if element == Elem::F16 { Elem::F32 } else { Elem::F16 }, Use::A, 16, 16);
    let target = Tiles::new(&to, 1);
    let p = ConvertParams::new(layout, to, true, true, false);
    // SAFETY: both tiles are of their layouts.
    let convert = seconds(|| unsafe { (isa.table().convert)(&p, target.pointers[0], x) });
    println!(
        "{:>5} 16x16: add {:>6.1} ns, scale {:>6.1} ns, fill {:>6.1} ns, rotate by 16 {:>6.1} ns, by 24 {:>6.1} ns, convert to {} {:>6.1} ns",
        element.to_string(),
        add * 1e9,
        scale * 1e9,
        fill * 1e9,
        rotations[0] * 1e9,
        rotations[1] * 1e9,
        to.elem,
        convert * 1e9
    );
}

fn main() {
    let [filter, wanted] = [1, 2].map(|at| std::env::args().nth(at).unwrap_or_default());
    let isa = match Processor::detect().and_then(Processor::isa) {
        Ok(isa) => isa,
        Err(error) => {
            println!("{error}");
            return;
        }
    };
    let _ready = isa.ready();
    let duration = Duration::from_millis(200);
    println!(
        "{isa}: peak f32 {:.1}, f16 {:.1}, bf16 {:.1}, i8 {:.1} Gop/s",
        peak::f32_fma(isa, 1, duration) * 1e-9,
        peak::f16_fma(isa, 1, duration) * 1e-9,
        peak::bf16_dot(isa, 1, duration) * 1e-9,
        peak::i8_dot(isa, 1, duration) * 1e-9
    );
    let grid = |m, n, k| Grid { m, n, k };
    let small = [
        ((16, 16, 16), grid(1, 1, 1)),
        ((16, 16, 16), grid(2, 2, 1)),
        ((16, 16, 16), grid(4, 4, 1)),
        ((16, 16, 16), grid(4, 4, 2)),
        ((16, 16, 16), grid(4, 4, 4)),
        ((16, 8, 16), grid(4, 4, 2)),
        ((16, 8, 16), grid(4, 4, 8)),
        ((8, 8, 8), grid(4, 4, 2)),
        ((8, 8, 8), grid(8, 8, 8)),
        ((16, 16, 32), grid(1, 1, 1)),
        ((16, 16, 32), grid(4, 4, 2)),
        ((32, 32, 32), grid(2, 2, 1)),
        ((16, 16, 16), grid(8, 8, 8)),
        ((64, 64, 64), grid(1, 1, 1)),
        ((64, 64, 64), grid(2, 2, 2)),
        ((64, 64, 64), grid(4, 4, 4)),
        ((128, 128, 32), grid(1, 1, 1)),
        ((128, 128, 64), grid(1, 1, 1)),
        ((128, 128, 128), grid(1, 1, 1)),
        ((256, 256, 32), grid(1, 1, 1)),
        ((256, 256, 256), grid(1, 1, 1)),
    ];
    let types = [
        (Elem::F32, Elem::F32),
        (Elem::F16, Elem::F32),
        (Elem::F16, Elem::F16),
        (Elem::E4M3, Elem::F32),
        (Elem::BF16, Elem::F32),
        (Elem::I8, Elem::I32),
        (Elem::F64, Elem::F64),
        (Elem::I16, Elem::I32),
        (Elem::I64, Elem::I64),
    ];
    let clamped = [(Elem::I16, Elem::I32), (Elem::I32, Elem::I32), (Elem::I64, Elem::I64)];
    let multiply = |types: (Elem, Elem), saturating| {
        for (shape, grid) in small {
            let name = product_name(types, shape, grid);
            if name.contains(&wanted) {
                mul_add(isa, types, saturating, shape, grid);
            }
        }
    };
    if "mul".contains(&filter) {
        types.into_iter().for_each(|types| multiply(types, false));
        clamped.into_iter().for_each(|types| multiply(types, true));
    }
    if "transfer".contains(&filter) {
        for column_major in [false, true] {
            for (element, use_) in [
                (Elem::F16, Use::A),
                (Elem::F32, Use::B),
                (Elem::BF16, Use::A),
                (Elem::BF16, Use::B),
                (Elem::I8, Use::A),
                (Elem::I8, Use::B),
                (Elem::F32, Use::Accumulator),
                (Elem::I32, Use::Accumulator),
                (Elem::E4M3, Use::A),
            ] {
                transfer(isa, element, use_, (16, 16), column_major);
                transfer(isa, element, use_, (64, 64), column_major);
            }
        }
    }
    if "element".contains(&filter) {
        for element in [Elem::F32, Elem::F16, Elem::BF16, Elem::E4M3, Elem::I32, Elem::I8] {
            elementwise(isa, element);
        }
    }
}

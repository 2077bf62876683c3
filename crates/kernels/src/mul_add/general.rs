//! Multiplication for every combination of element types and layouts that has no kernel of its own.
//!
//! Elements are brought into one wide type, f64 when any operand is a float, i64 otherwise. A column of tiles of
//! B is widened once and used for all rows of the grid; the inner loop adds a multiple of a row of B to a row of
//! the result and compiles to vector code. Each step ends in the tile of the result, rounded, and the next one reads
//! what it adds to from there, so that a chain of steps is what it is one by one.

use super::MulAddParams;
use super::panel::Operands;
use crate::elem::Elem;
use crate::element::convert::{single_for, to_integer};
use crate::element::run::{
    At, CHUNK, Class, read_f32, read_f64, read_i64, round, write_f32, write_f64, write_i64,
};
use crate::layout::TileLayout;
use crate::portable::Portable;

/// A type to multiply in.
pub(super) trait Wide: Copy {
    const ZERO: Self;
    fn from_f32(x: f32) -> Self;
    fn from_f64(x: f64) -> Self;
    fn from_i64(x: i64, signed: bool) -> Self;
    /// `self + x * y`.
    fn mul_add(self, x: Self, y: Self) -> Self;
    fn add(self, x: Self) -> Self;
    /// Zero for what is denormal when rounded to binary32.
    fn flushed(self) -> Self;
    fn to_f64(self) -> f64;
    fn to_i64(self, elem: Elem, signed: bool) -> i64;
}

impl Wide for f64 {
    const ZERO: Self = 0.0;
    #[inline(always)]
    fn from_f32(x: f32) -> Self {
        x.into()
    }
    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x
    }
    #[inline(always)]
    fn from_i64(x: i64, signed: bool) -> Self {
        if signed { x as Self } else { x as u64 as Self }
    }
    #[inline(always)]
    fn mul_add(self, x: Self, y: Self) -> Self {
        self + x * y
    }
    #[inline(always)]
    fn add(self, x: Self) -> Self {
        self + x
    }
    #[inline(always)]
    fn flushed(self) -> Self {
        if (self as f32).abs() < f32::MIN_POSITIVE { 0.0_f64.copysign(self) } else { self }
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn to_i64(self, elem: Elem, signed: bool) -> i64 {
        to_integer(self, elem, signed)
    }
}

impl Wide for i64 {
    const ZERO: Self = 0;
    #[inline(always)]
    fn from_f32(_: f32) -> Self {
        0
    }
    #[inline(always)]
    fn from_f64(_: f64) -> Self {
        0
    }
    #[inline(always)]
    fn from_i64(x: i64, _: bool) -> Self {
        x
    }
    #[inline(always)]
    fn mul_add(self, x: Self, y: Self) -> Self {
        self.wrapping_add(x.wrapping_mul(y))
    }
    #[inline(always)]
    fn add(self, x: Self) -> Self {
        self.wrapping_add(x)
    }
    #[inline(always)]
    fn flushed(self) -> Self {
        self
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self as f64
    }
    #[inline(always)]
    fn to_i64(self, _: Elem, _: bool) -> i64 {
        self
    }
}

/// Room for a column of tiles of B, a row of the result and a row of A, in wide elements.
pub(crate) fn scratch_bytes(params: &MulAddParams) -> usize {
    let tile_b = params.b.elems() * params.k as usize;
    ((tile_b + params.r.cols as usize + params.a.cols as usize) * 8).next_multiple_of(64)
}

/// Multiplies the grid.
///
/// # Safety
/// The operands are as `params` describes; `scratch` has [`scratch_bytes`].
#[inline(always)]
pub(crate) unsafe fn multiply(params: &MulAddParams, operands: Operands, scratch: *mut u8) {
    let floats = [params.a, params.b, params.c, params.r].iter().any(|layout| layout.elem.is_float());
    // SAFETY: forwarded.
    unsafe {
        if floats {
            grid::<f64>(params, operands, scratch);
        } else {
            grid::<i64>(params, operands, scratch);
        }
    }
}

#[inline(always)]
unsafe fn grid<T: Wide>(params: &MulAddParams, operands: Operands, scratch: *mut u8) {
    let (m, n, k) = (params.m as usize, params.n as usize, params.k as usize);
    let (inner, cols) = (params.b.rows as usize, params.b.cols as usize);
    // SAFETY: the parts of the scratch memory follow each other; all are written before they are read.
    unsafe {
        let b = scratch.cast::<T>();
        let sum = b.add(inner * cols * k);
        let a = sum.add(cols);
        for j in 0..n {
            for kt in 0..k {
                for row in 0..inner {
                    let to = b.add((kt * inner + row) * cols);
                    widen(&params.b, params.b_signed, *operands.b.add(kt * n + j), row, to);
                }
            }
            if params.flushes {
                flush(b, inner * cols * k);
            }
            for i in 0..m {
                let r = *operands.r.add(i * n + j);
                let mut addend = Addend::of(params, *operands.c.add(i * n + j));
                for kt in 0..k {
                    for row in 0..params.rows as usize {
                        std::slice::from_raw_parts_mut(sum, cols).fill(T::ZERO);
                        widen(&params.a, params.a_signed, *operands.a.add(i * k + kt), row, a);
                        if params.flushes {
                            flush(a, inner);
                        }
                        for l in 0..inner {
                            axpy(sum, *a.add(l), b.add((kt * inner + l) * cols), cols);
                        }
                        finish::<T>(params, row, sum, addend, r);
                    }
                    addend = Addend::sum(params, r);
                }
            }
        }
    }
}

/// A tile that a step adds to.
#[derive(Clone, Copy)]
struct Addend<'a> {
    layout: &'a TileLayout,
    signed: bool,
    tile: *const u8,
}

impl<'a> Addend<'a> {
    /// A tile of C, for the first step.
    #[inline(always)]
    fn of(params: &'a MulAddParams, tile: *const u8) -> Self {
        Self { layout: &params.c, signed: params.c_signed, tile }
    }

    /// The result of a step, for the next one.
    #[inline(always)]
    fn sum(params: &'a MulAddParams, tile: *const u8) -> Self {
        Self { layout: &params.r, signed: params.r_signed, tile }
    }

    /// Widens a run of a row.
    ///
    /// # Safety
    /// The run lies in the tile and is no longer than a chunk.
    #[inline(always)]
    unsafe fn read<T: Wide>(&self, row: usize, col: usize, to: &mut [T]) {
        // SAFETY: forwarded.
        unsafe { widen_run(At { layout: self.layout, tile: self.tile, row, col }, self.signed, to) };
    }
}

/// Makes zeros of denormals.
#[inline(always)]
unsafe fn flush<T: Wide>(elements: *mut T, n: usize) {
    // SAFETY: the caller vouches for so many elements.
    unsafe { std::slice::from_raw_parts_mut(elements, n) }.iter_mut().for_each(|x| *x = x.flushed());
}

/// `sum += x * row`.
#[inline(always)]
unsafe fn axpy<T: Wide>(sum: *mut T, x: T, row: *const T, n: usize) {
    // SAFETY: both rows have `n` elements and do not overlap.
    unsafe {
        let (sum, row) = (std::slice::from_raw_parts_mut(sum, n), std::slice::from_raw_parts(row, n));
        for (sum, &y) in sum.iter_mut().zip(row) {
            *sum = sum.mul_add(x, y);
        }
    }
}

/// Widens a row of a tile. Compiled once, for the base instruction set: the inner loop is what counts.
#[inline(never)]
pub(super) unsafe fn widen<T: Wide>(
    layout: &TileLayout,
    signed: bool,
    tile: *const u8,
    row: usize,
    to: *mut T,
) {
    let cols = layout.cols as usize;
    let mut col = 0;
    while col < cols {
        let n = (cols - col).min(CHUNK);
        // SAFETY: the run lies in the tile, `to` has a row's elements.
        unsafe {
            let to = std::slice::from_raw_parts_mut(to.add(col), n);
            widen_run(At { layout, tile, row, col }, signed, to);
        }
        col += n;
    }
}

#[inline(never)]
unsafe fn widen_run<T: Wide>(at: At<'_, *const u8>, signed: bool, to: &mut [T]) {
    let n = to.len();
    // SAFETY: forwarded.
    unsafe {
        match at.class() {
            Class::Single => {
                let mut run = [0.0; CHUNK];
                read_f32(at, n, &mut run);
                to.iter_mut().zip(run).for_each(|(to, x)| *to = T::from_f32(x));
            }
            Class::Double => {
                let mut run = [0.0; CHUNK];
                read_f64(at, n, &mut run);
                to.iter_mut().zip(run).for_each(|(to, x)| *to = T::from_f64(x));
            }
            Class::Integer => {
                let mut run = [0; CHUNK];
                read_i64(at, signed, n, &mut run);
                to.iter_mut().zip(run).for_each(|(to, x)| *to = T::from_i64(x, signed));
            }
        }
    }
}

/// Adds the addend to a row of sums and writes the result.
#[inline(never)]
unsafe fn finish<T: Wide>(params: &MulAddParams, row: usize, sums: *const T, addend: Addend<'_>, r: *mut u8) {
    let cols = params.r.cols as usize;
    let mut col = 0;
    while col < cols {
        let n = (cols - col).min(CHUNK);
        let mut total = [T::ZERO; CHUNK];
        let total = &mut total[..n];
        // SAFETY: the run lies in both tiles and in the sums.
        unsafe {
            addend.read(row, col, total);
            for (i, total) in total.iter_mut().enumerate() {
                let sum = *sums.add(col + i);
                *total = if params.flushes { sum.add(total.flushed()).flushed() } else { sum.add(*total) };
            }
            narrow_run(At { layout: &params.r, tile: r, row, col }, params.r_signed, total);
        }
        col += n;
    }
}

#[inline(never)]
unsafe fn narrow_run<T: Wide>(at: At<'_, *mut u8>, signed: bool, from: &[T]) {
    let elem = at.layout.elem;
    let n = from.len();
    // SAFETY: forwarded.
    unsafe {
        match Class::of(elem) {
            Class::Single => {
                let mut run = [0.0; CHUNK];
                run.iter_mut().zip(from).for_each(|(run, x)| *run = single_for(x.to_f64(), elem));
                round::<Portable>(elem, false, &mut run);
                write_f32(at, n, &run);
            }
            Class::Double => {
                let mut run = [0.0; CHUNK];
                run.iter_mut().zip(from).for_each(|(run, x)| *run = x.to_f64());
                write_f64(at, n, &run);
            }
            Class::Integer => {
                let mut run = [0; CHUNK];
                run.iter_mut().zip(from).for_each(|(run, x)| *run = x.to_i64(elem, signed));
                write_i64(at, n, &run);
            }
        }
    }
}

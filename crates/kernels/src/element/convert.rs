//! Conversion of element types and uses.
//!
//! Floats round to nearest even, once. Floats become integers by truncation, out of
//! range values by saturation, NaN by zero. Integers wrap.

use super::run::{
    At, CHUNK, Class, copy_run, read_f32, read_f64, read_i32, read_i32_as_f32, read_i64, round, write_f32,
    write_f32_as_i32, write_f64, write_i32, write_i64,
};
use super::{ConvertParams, native_row, zero_padding};
use crate::elem::Elem;
use crate::float;
use crate::layout::TileLayout;
use crate::portable::Portable;
use crate::simd::{RoundWords, Simd, with_round};
use std::marker::PhantomData;

/// The runs `(row, col, n)` that cover a matrix. An iterator and not a function taking a closure: closures that are
/// not inlined are compiled without the caller's instruction set.
struct Runs {
    rows: usize,
    cols: usize,
    row: usize,
    col: usize,
}

impl Runs {
    #[inline(always)]
    fn new(layout: &TileLayout) -> Self {
        Self { rows: layout.rows as usize, cols: layout.cols as usize, row: 0, col: 0 }
    }
}

impl Iterator for Runs {
    type Item = (usize, usize, usize);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.col == self.cols {
            (self.row, self.col) = (self.row + 1, 0);
        }
        if self.row >= self.rows {
            return None;
        }
        let n = (self.cols - self.col).min(CHUNK);
        self.col += n;
        Some((self.row, self.col - n, n))
    }
}

/// Copies a matrix to another layout of the same element type. Compiled once, for the base instruction set.
///
/// # Safety
/// The tiles are of these layouts and do not overlap.
#[inline(never)]
pub(crate) unsafe fn relayout(from: &TileLayout, to: &TileLayout, dst: *mut u8, src: *const u8) {
    for (row, col, n) in Runs::new(from) {
        // SAFETY: the run lies in both tiles, which are of one size.
        unsafe {
            copy_run(At { layout: to, tile: dst, row, col }, At { layout: from, tile: src, row, col }, n);
        }
    }
    // SAFETY: forwarded.
    unsafe { zero_padding(to, dst) };
}

/// Converts a matrix.
///
/// # Safety
/// The tiles are of the layouts of the parameters and do not overlap; the processor has the instructions.
#[inline(always)]
pub(crate) unsafe fn convert<S: Simd>(p: &ConvertParams, dst: *mut u8, src: *const u8) {
    // SAFETY: forwarded.
    unsafe {
        if p.from.elem == p.to.elem {
            if same_place(&p.from, &p.to) {
                dst.copy_from_nonoverlapping(src, p.to.bytes());
                return zero_padding(&p.to, dst);
            }
            return relayout(&p.from, &p.to, dst, src);
        }
        if p.from.storage == Elem::F32 && p.to.storage == Elem::F32 && same_place(&p.from, &p.to) {
            // Only the rounding differs.
            let words = RoundWords::<S> { dst, src, bytes: p.to.bytes(), simd: PhantomData };
            return with_round(p.to.elem, p.saturate_fp8, words);
        }
        let wide = [p.from.elem, p.to.elem].iter().any(|elem| elem.bytes() == 8);
        let (from, to) = flattened(&p.from, &p.to);
        let (from, to) = (&from, &to);
        for (row, col, n) in Runs::new(from) {
            let (from, to) =
                (At { layout: from, tile: src, row, col }, At { layout: to, tile: dst, row, col });
            match (from.class(), Class::of(p.to.elem)) {
                _ if wide => convert_wide(p, to, from, n),
                (Class::Single, Class::Single) => {
                    let mut chunk = [0.0_f32; CHUNK];
                    read_f32(from, n, &mut chunk);
                    round::<S>(p.to.elem, p.saturate_fp8, &mut chunk);
                    write_f32(to, n, &chunk);
                }
                (Class::Single, _) => {
                    let mut chunk = [0.0_f32; CHUNK];
                    read_f32(from, n, &mut chunk);
                    write_f32_as_i32(to, p.to_signed, n, &chunk);
                }
                (_, Class::Single) => {
                    let mut chunk = [0.0_f32; CHUNK];
                    read_i32_as_f32(from, p.from_signed, p.to.elem, n, &mut chunk);
                    round::<S>(p.to.elem, p.saturate_fp8, &mut chunk);
                    write_f32(to, n, &chunk);
                }
                _ => {
                    let mut chunk = [0_i32; CHUNK];
                    read_i32(from, p.from_signed, n, &mut chunk);
                    write_i32(to, n, &chunk);
                }
            }
        }
        zero_padding(&p.to, dst);
    }
}

/// Whether elements have the same offsets in both layouts.
#[inline(always)]
fn same_place(x: &TileLayout, y: &TileLayout) -> bool {
    x.ld == y.ld && x.interleave == y.interleave && x.storage == y.storage
}

/// Matrices with elements at the same distances become single rows, padding included: runs get longer.
#[inline(always)]
fn flattened(from: &TileLayout, to: &TileLayout) -> (TileLayout, TileLayout) {
    if from.ld != to.ld || from.interleave != 1 || to.interleave != 1 {
        return (*from, *to);
    }
    let cols = from.rows * from.ld;
    let row = |layout: &TileLayout| TileLayout { rows: 1, cols, ld: cols, ..*layout };
    (row(from), row(to))
}

/// Converts a run from or to a 64-bit type. Compiled once, for the base instruction set.
#[inline(never)]
unsafe fn convert_wide(p: &ConvertParams, to: At<'_, *mut u8>, from: At<'_, *const u8>, n: usize) {
    let mut single = [0.0_f32; CHUNK];
    let mut double = [0.0_f64; CHUNK];
    let mut integer = [0_i64; CHUNK];
    // SAFETY: forwarded.
    unsafe {
        match (from.class(), Class::of(p.to.elem)) {
            (Class::Integer, to_class) => {
                read_i64(from, p.from_signed, n, &mut integer);
                let signed = p.from_signed;
                single = match (signed, p.to.elem) {
                    (true, Elem::F32) => integer.map(|x| x as f32),
                    (false, Elem::F32) => integer.map(|x| x as u64 as f32),
                    (true, _) => integer.map(float::i64_to_f32_odd),
                    (false, _) => integer.map(|x| float::u64_to_f32_odd(x as u64)),
                };
                if to_class == Class::Double {
                    double = integer.map(|x| if signed { x as f64 } else { x as u64 as f64 });
                }
            }
            (class, to_class) => {
                if class == Class::Single {
                    read_f32(from, n, &mut single);
                    double = single.map(f64::from);
                } else {
                    read_f64(from, n, &mut double);
                    single = double.map(|x| single_for(x, p.to.elem));
                }
                if to_class == Class::Integer {
                    integer = double.map(|x| to_integer(x, p.to.elem, p.to_signed));
                }
            }
        }
        match Class::of(p.to.elem) {
            Class::Single => {
                round::<Portable>(p.to.elem, p.saturate_fp8, &mut single);
                write_f32(to, n, &single);
            }
            Class::Double => write_f64(to, n, &double),
            Class::Integer => write_i64(to, n, &integer),
        }
    }
}

/// The f32 from which rounding to `elem` gives what rounding once gives.
#[inline(always)]
pub(crate) fn single_for(x: f64, elem: Elem) -> f32 {
    match elem {
        Elem::F16 | Elem::BF16 | Elem::E4M3 | Elem::E5M2 => float::f64_to_f32_odd(x),
        _ => x as f32,
    }
}

/// Truncates and saturates as `as` does, to the range of the type.
#[inline(always)]
pub(crate) fn to_integer(x: f64, elem: Elem, signed: bool) -> i64 {
    match (elem, signed) {
        (Elem::I8, true) => i64::from(x as i8),
        (Elem::I8, false) => i64::from(x as u8),
        (Elem::I16, true) => i64::from(x as i16),
        (Elem::I16, false) => i64::from(x as u16),
        (Elem::I32, true) => i64::from(x as i32),
        (Elem::I32, false) => i64::from(x as u32),
        (_, true) => x as i64,
        (_, false) => x as u64 as i64,
    }
}

/// Reinterprets the bits of every element as another type of the same width.
///
/// # Safety
/// As for [`convert`].
#[inline(always)]
pub(crate) unsafe fn bitcast(p: &ConvertParams, dst: *mut u8, src: *const u8) {
    let (from, to) = (native_row(p.from.elem, CHUNK as u32), native_row(p.to.elem, CHUNK as u32));
    for (row, col, n) in Runs::new(&p.from) {
        let mut bits = [0_u64; CHUNK];
        let bits = bits.as_mut_ptr().cast::<u8>();
        // SAFETY: the run lies in both tiles and, with up to 8 bytes an element, in the buffer.
        unsafe {
            copy_run(
                At { layout: &from, tile: bits, row: 0, col: 0 },
                At { layout: &p.from, tile: src, row, col },
                n,
            );
            copy_run(
                At { layout: &p.to, tile: dst, row, col },
                At { layout: &to, tile: bits.cast_const(), row: 0, col: 0 },
                n,
            );
        }
    }
    // SAFETY: forwarded.
    unsafe { zero_padding(&p.to, dst) };
}

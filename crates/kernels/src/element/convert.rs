//! Conversion of element types and uses.
//!
//! Floats round to nearest even, once; bf16 goes by way of f32. Floats become integers by truncation, out of
//! range values by saturation, NaN by zero. Integers wrap.

use super::run::{
    At, CHUNK, Class, copy_run, read_f32, read_f64, read_i64, read_i64_as_f32, round, write_f32,
    write_f32_as_i64, write_f64, write_i64,
};
use super::{ConvertParams, native_row, zero_padding};
use crate::elem::Elem;
use crate::float;
use crate::layout::TileLayout;
use crate::simd::Simd;

/// Calls `f(row, col, n)` for runs that cover a matrix.
#[inline(always)]
fn for_runs(layout: &TileLayout, mut f: impl FnMut(usize, usize, usize)) {
    let cols = layout.cols as usize;
    for row in 0..layout.rows as usize {
        let mut col = 0;
        while col < cols {
            let n = (cols - col).min(CHUNK);
            f(row, col, n);
            col += n;
        }
    }
}

/// Copies a matrix to another layout of the same element type.
///
/// # Safety
/// The tiles are of these layouts and do not overlap.
#[inline(always)]
pub(crate) unsafe fn relayout(from: &TileLayout, to: &TileLayout, dst: *mut u8, src: *const u8) {
    for_runs(from, |row, col, n| {
        // SAFETY: the run lies in both tiles, which are of one size.
        unsafe {
            copy_run(At { layout: to, tile: dst, row, col }, At { layout: from, tile: src, row, col }, n);
        }
    });
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
            return flat::<S>(p, dst, src);
        }
        let (from, to) = (&p.from, &p.to);
        for_runs(&p.from, |row, col, n| {
            let (from, to) =
                (At { layout: from, tile: src, row, col }, At { layout: to, tile: dst, row, col });
            match from.class() {
                Class::Single => from_f32::<S>(p, to, from, n),
                Class::Double => from_f64::<S>(p, to, from, n),
                Class::Integer => from_i64::<S>(p, to, from, n),
            }
        });
        zero_padding(to, dst);
    }
}

/// Whether elements have the same offsets in both layouts.
#[inline(always)]
fn same_place(x: &TileLayout, y: &TileLayout) -> bool {
    x.ld == y.ld && x.interleave == y.interleave && x.storage == y.storage
}

/// f32 words to f32 words in the same places: only the rounding differs.
#[inline(always)]
unsafe fn flat<S: Simd>(p: &ConvertParams, dst: *mut u8, src: *const u8) {
    // SAFETY: both tiles have this size, a multiple of 64.
    unsafe {
        for at in (0..p.to.bytes()).step_by(64) {
            let mut chunk = src.add(at).cast::<[f32; 16]>().read_unaligned();
            round::<S>(p.to.elem, p.saturate_fp8, &mut chunk);
            dst.add(at).cast::<[f32; 16]>().write_unaligned(chunk);
        }
    }
}

#[inline(always)]
unsafe fn from_f32<S: Simd>(p: &ConvertParams, to: At<'_, *mut u8>, from: At<'_, *const u8>, n: usize) {
    let mut chunk = [0.0_f32; CHUNK];
    let chunk = &mut chunk[..n];
    // SAFETY: forwarded.
    unsafe {
        read_f32(from, chunk);
        match Class::of(p.to.elem) {
            Class::Single => {
                round::<S>(p.to.elem, p.saturate_fp8, chunk);
                write_f32(to, chunk);
            }
            Class::Double => {
                let mut wide = [0.0; CHUNK];
                for (wide, &x) in wide.iter_mut().zip(&*chunk) {
                    *wide = f64::from(x);
                }
                write_f64(to, &wide[..n]);
            }
            Class::Integer => write_f32_as_i64(to, p.to_signed, chunk),
        }
    }
}

#[inline(always)]
unsafe fn from_f64<S: Simd>(p: &ConvertParams, to: At<'_, *mut u8>, from: At<'_, *const u8>, n: usize) {
    let mut wide = [0.0_f64; CHUNK];
    let mut single = [0.0_f32; CHUNK];
    let mut integer = [0_i64; CHUNK];
    // SAFETY: forwarded.
    unsafe {
        read_f64(from, &mut wide[..n]);
        match Class::of(p.to.elem) {
            Class::Single => {
                for (single, &x) in single.iter_mut().zip(&wide) {
                    *single = single_for(x, p.to.elem);
                }
                round::<S>(p.to.elem, p.saturate_fp8, &mut single[..n]);
                write_f32(to, &single[..n]);
            }
            Class::Double => write_f64(to, &wide[..n]),
            Class::Integer => {
                for (integer, &x) in integer.iter_mut().zip(&wide) {
                    *integer = to_integer(x, p.to.elem, p.to_signed);
                }
                write_i64(to, &integer[..n]);
            }
        }
    }
}

#[inline(always)]
unsafe fn from_i64<S: Simd>(p: &ConvertParams, to: At<'_, *mut u8>, from: At<'_, *const u8>, n: usize) {
    let mut wide = [0_i64; CHUNK];
    let mut double = [0.0_f64; CHUNK];
    // SAFETY: forwarded.
    unsafe {
        if Class::of(p.to.elem) == Class::Single {
            let mut single = [0.0_f32; CHUNK];
            read_i64_as_f32(from, p.from_signed, &mut single[..n]);
            round::<S>(p.to.elem, p.saturate_fp8, &mut single[..n]);
            return write_f32(to, &single[..n]);
        }
        read_i64(from, p.from_signed, &mut wide[..n]);
        if Class::of(p.to.elem) == Class::Integer {
            return write_i64(to, &wide[..n]);
        }
        for (double, &x) in double.iter_mut().zip(&wide) {
            *double = if p.from_signed { x as f64 } else { x as u64 as f64 };
        }
        write_f64(to, &double[..n]);
    }
}

/// The f32 from which rounding to `elem` gives the right result: f32 and bf16 are defined by way of the nearest
/// f32, the smaller types by rounding once.
#[inline(always)]
pub(crate) fn single_for(x: f64, elem: Elem) -> f32 {
    match elem {
        Elem::F16 | Elem::E4M3 | Elem::E5M2 => float::f64_to_f32_odd(x),
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
    for_runs(&p.from, |row, col, n| {
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
    });
    // SAFETY: forwarded.
    unsafe { zero_padding(&p.to, dst) };
}

//! Reading and writing runs of elements of one row, in any layout, by way of a wide type.
//!
//! Floats up to 32 bits travel as f32, f64 as f64, integers as i64. Runs are short ([`CHUNK`]) so that they stay
//! in registers. Full chunks of contiguous elements have loops of constant length, which become vector code.

use crate::elem::Elem;
use crate::float;
use crate::layout::TileLayout;
use crate::simd::{RoundWords, Simd, with_round};
use std::marker::PhantomData;

/// Longest run, in elements.
pub(crate) const CHUNK: usize = 16;

/// Where a run starts.
#[derive(Clone, Copy)]
pub(crate) struct At<'a, P> {
    /// Layout of the tile.
    pub(crate) layout: &'a TileLayout,
    /// The tile.
    pub(crate) tile: P,
    /// Row of the elements.
    pub(crate) row: usize,
    /// Column of the first element.
    pub(crate) col: usize,
}

impl At<'_, *const u8> {
    /// The class of the wide type that holds these elements.
    #[inline(always)]
    pub(crate) fn class(&self) -> Class {
        Class::of(self.layout.elem)
    }
}

/// The wide types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// f32.
    Single,
    /// f64.
    Double,
    /// i64.
    Integer,
}

impl Class {
    /// The wide type that holds every value of this element type.
    #[inline(always)]
    pub(crate) const fn of(elem: Elem) -> Self {
        match elem {
            Elem::F16 | Elem::F32 | Elem::BF16 | Elem::E4M3 | Elem::E5M2 => Self::Single,
            Elem::F64 => Self::Double,
            Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 => Self::Integer,
        }
    }
}

/// Reads `n` storage elements of type `S` and maps them; the rest of the chunk is anything. Contiguous elements
/// are mapped as a full chunk always, so that there is one loop and its length is constant.
#[inline(always)]
unsafe fn read<S: Copy + Default, T>(
    at: At<'_, *const u8>,
    n: usize,
    out: &mut [T; CHUNK],
    f: impl Fn(S) -> T,
) {
    let mut stage = [S::default(); CHUNK];
    // SAFETY: the run lies in the tile and is no longer than a chunk, by contract of the callers.
    unsafe {
        let src = at.tile.add(at.layout.offset(at.row, at.col)).cast::<S>();
        let step = usize::from(at.layout.interleave);
        if n == CHUNK && step == 1 {
            stage = src.cast::<[S; CHUNK]>().read_unaligned();
        } else {
            for (i, stage) in stage.iter_mut().enumerate().take(n) {
                *stage = src.add(i * step).read_unaligned();
            }
        }
    }
    for (out, x) in out.iter_mut().zip(stage) {
        *out = f(x);
    }
}

/// Maps values and writes `n` of them as storage elements of type `S`.
#[inline(always)]
unsafe fn write<T: Copy, S: Copy + Default>(
    at: At<'_, *mut u8>,
    n: usize,
    values: &[T; CHUNK],
    f: impl Fn(T) -> S,
) {
    let mut stage = [S::default(); CHUNK];
    for (stage, &x) in stage.iter_mut().zip(values) {
        *stage = f(x);
    }
    // SAFETY: the run lies in the tile and is no longer than a chunk, by contract of the callers.
    unsafe {
        let dst = at.tile.add(at.layout.offset(at.row, at.col)).cast::<S>();
        let step = usize::from(at.layout.interleave);
        if n == CHUNK && step == 1 {
            dst.cast::<[S; CHUNK]>().write_unaligned(stage);
        } else {
            for (i, &x) in stage.iter().enumerate().take(n) {
                dst.add(i * step).write_unaligned(x);
            }
        }
    }
}

/// Reads a run of elements of [`Class::Single`].
///
/// # Safety
/// The run lies in the tile.
#[inline(always)]
pub(crate) unsafe fn read_f32(at: At<'_, *const u8>, n: usize, out: &mut [f32; CHUNK]) {
    // SAFETY: forwarded.
    unsafe {
        match at.layout.storage {
            Elem::F32 => read::<f32, _>(at, n, out, |x| x),
            Elem::F16 => read::<u16, _>(at, n, out, float::f16_value),
            Elem::BF16 => read::<u16, _>(at, n, out, float::bf16_value),
            Elem::E4M3 => read::<u8, _>(at, n, out, float::e4m3_value),
            Elem::E5M2 => read::<u8, _>(at, n, out, float::e5m2_value),
            Elem::F64 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 => wrong_class(),
        }
    }
}

/// Writes a run of representable elements of [`Class::Single`].
///
/// # Safety
/// The run lies in the tile.
#[inline(always)]
pub(crate) unsafe fn write_f32(at: At<'_, *mut u8>, n: usize, values: &[f32; CHUNK]) {
    // SAFETY: forwarded.
    unsafe {
        match at.layout.storage {
            Elem::F32 => write(at, n, values, |x: f32| x),
            Elem::F16 => write(at, n, values, float::f16_bits),
            Elem::BF16 => write(at, n, values, float::bf16_bits),
            Elem::E4M3 => write(at, n, values, float::e4m3_bits),
            Elem::E5M2 => write(at, n, values, float::e5m2_bits),
            Elem::F64 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 => wrong_class(),
        }
    }
}

/// Reads a run of f64.
///
/// # Safety
/// The run lies in the tile.
#[inline(always)]
pub(crate) unsafe fn read_f64(at: At<'_, *const u8>, n: usize, out: &mut [f64; CHUNK]) {
    // SAFETY: forwarded.
    unsafe { read::<f64, _>(at, n, out, |x| x) }
}

/// Writes a run of f64.
///
/// # Safety
/// The run lies in the tile.
#[inline(always)]
pub(crate) unsafe fn write_f64(at: At<'_, *mut u8>, n: usize, values: &[f64; CHUNK]) {
    // SAFETY: forwarded.
    unsafe { write(at, n, values, |x: f64| x) }
}

/// Reads a run of integers, extended by their signedness.
///
/// # Safety
/// The run lies in the tile.
#[inline(always)]
pub(crate) unsafe fn read_i64(at: At<'_, *const u8>, signed: bool, n: usize, out: &mut [i64; CHUNK]) {
    // SAFETY: forwarded.
    unsafe {
        match (at.layout.storage, signed) {
            (Elem::I8, true) => read::<i8, _>(at, n, out, i64::from),
            (Elem::I8, false) => read::<u8, _>(at, n, out, i64::from),
            (Elem::I16, true) => read::<i16, _>(at, n, out, i64::from),
            (Elem::I16, false) => read::<u16, _>(at, n, out, i64::from),
            (Elem::I32, true) => read::<i32, _>(at, n, out, i64::from),
            (Elem::I32, false) => read::<u32, _>(at, n, out, i64::from),
            (Elem::I64, _) => read::<i64, _>(at, n, out, |x| x),
            _ => wrong_class(),
        }
    }
}

/// Writes a run of integers, keeping the low bits.
///
/// # Safety
/// The run lies in the tile.
#[inline(always)]
pub(crate) unsafe fn write_i64(at: At<'_, *mut u8>, n: usize, values: &[i64; CHUNK]) {
    // SAFETY: forwarded.
    unsafe {
        match at.layout.storage {
            Elem::I8 => write(at, n, values, |x: i64| x as i8),
            Elem::I16 => write(at, n, values, |x: i64| x as i16),
            Elem::I32 => write(at, n, values, |x: i64| x as i32),
            Elem::I64 => write(at, n, values, |x: i64| x),
            _ => wrong_class(),
        }
    }
}

/// Reads a run of integers up to 32 bits, extended by their signedness.
///
/// # Safety
/// The run lies in the tile.
#[inline(always)]
pub(crate) unsafe fn read_i32(at: At<'_, *const u8>, signed: bool, n: usize, out: &mut [i32; CHUNK]) {
    // SAFETY: forwarded.
    unsafe {
        match (at.layout.storage, signed) {
            (Elem::I8, true) => read::<i8, _>(at, n, out, i32::from),
            (Elem::I8, false) => read::<u8, _>(at, n, out, i32::from),
            (Elem::I16, true) => read::<i16, _>(at, n, out, i32::from),
            (Elem::I16, false) => read::<u16, _>(at, n, out, i32::from),
            (Elem::I32, _) => read::<i32, _>(at, n, out, |x| x),
            _ => wrong_class(),
        }
    }
}

/// Writes a run of integers up to 32 bits, keeping the low bits.
///
/// # Safety
/// The run lies in the tile.
#[inline(always)]
pub(crate) unsafe fn write_i32(at: At<'_, *mut u8>, n: usize, values: &[i32; CHUNK]) {
    // SAFETY: forwarded.
    unsafe {
        match at.layout.storage {
            Elem::I8 => write(at, n, values, |x: i32| x as i8),
            Elem::I16 => write(at, n, values, |x: i32| x as i16),
            Elem::I32 => write(at, n, values, |x: i32| x),
            _ => wrong_class(),
        }
    }
}

/// Reads a run of integers up to 32 bits as f32, from which rounding to `to` gives what rounding once gives.
///
/// # Safety
/// The run lies in the tile.
#[inline(always)]
pub(crate) unsafe fn read_i32_as_f32(
    at: At<'_, *const u8>,
    signed: bool,
    to: Elem,
    n: usize,
    out: &mut [f32; CHUNK],
) {
    let mut integers = [0; CHUNK];
    // SAFETY: forwarded.
    unsafe { read_i32(at, signed, n, &mut integers) };
    let is_exact = at.layout.storage != Elem::I32;
    match (signed, to) {
        _ if is_exact => *out = integers.map(|x| x as f32),
        (true, Elem::F32) => *out = integers.map(|x| x as f32),
        (false, Elem::F32) => *out = integers.map(|x| x as u32 as f32),
        (true, _) => *out = integers.map(float::i32_to_f32_odd),
        (false, _) => *out = integers.map(|x| float::u32_to_f32_odd(x as u32)),
    }
}

/// Writes a run of f32 as integers up to 32 bits, truncated and saturated as `as` does.
///
/// # Safety
/// The run lies in the tile.
#[inline(always)]
pub(crate) unsafe fn write_f32_as_i32(at: At<'_, *mut u8>, signed: bool, n: usize, values: &[f32; CHUNK]) {
    // SAFETY: forwarded.
    unsafe {
        match (at.layout.storage, signed) {
            (Elem::I8, true) => write(at, n, values, |x: f32| x as i8),
            (Elem::I8, false) => write(at, n, values, |x: f32| x as u8),
            (Elem::I16, true) => write(at, n, values, |x: f32| x as i16),
            (Elem::I16, false) => write(at, n, values, |x: f32| x as u16),
            (Elem::I32, true) => write(at, n, values, |x: f32| x as i32),
            (Elem::I32, false) => write(at, n, values, |x: f32| x as u32),
            _ => wrong_class(),
        }
    }
}

#[cold]
fn wrong_class() {
    debug_assert!(false, "a run was accessed by the wrong wide type");
}

/// Rounds f32 to an element type; `saturate_fp8` concerns the 8-bit floats only. The rest of the chunk is rounded
/// with it.
///
/// # Safety
/// The processor has the instructions of `S`.
#[inline(always)]
pub(crate) unsafe fn round<S: Simd>(elem: Elem, saturate_fp8: bool, values: &mut [f32; CHUNK]) {
    let dst = values.as_mut_ptr().cast::<u8>();
    let words = RoundWords::<S> { dst, src: dst, bytes: CHUNK * 4, simd: PhantomData };
    // SAFETY: a chunk is 64 bytes; the caller vouches for the instructions.
    unsafe { with_round(elem, saturate_fp8, words) };
}

/// Copies a run between tiles of the same element type.
///
/// # Safety
/// Both runs lie in their tiles; `n` is at most [`CHUNK`].
#[inline(always)]
pub(crate) unsafe fn copy_run(to: At<'_, *mut u8>, from: At<'_, *const u8>, n: usize) {
    // SAFETY: forwarded; storage elements of equal type have equal size.
    unsafe {
        match (from.layout.storage, to.layout.storage) {
            (Elem::F32, Elem::F16) => copy_map(to, from, n, float::f16_bits),
            (Elem::F32, Elem::BF16) => copy_map(to, from, n, float::bf16_bits),
            (Elem::F32, Elem::E4M3) => copy_map(to, from, n, float::e4m3_bits),
            (Elem::F32, Elem::E5M2) => copy_map(to, from, n, float::e5m2_bits),
            (Elem::F16, Elem::F32) => copy_map(to, from, n, float::f16_value),
            (Elem::BF16, Elem::F32) => copy_map(to, from, n, float::bf16_value),
            (Elem::E4M3, Elem::F32) => copy_map(to, from, n, float::e4m3_value),
            (Elem::E5M2, Elem::F32) => copy_map(to, from, n, float::e5m2_value),
            (storage, _) => match storage.bytes() {
                1 => copy_map(to, from, n, |x: u8| x),
                2 => copy_map(to, from, n, |x: u16| x),
                4 => copy_map(to, from, n, |x: u32| x),
                _ => copy_map(to, from, n, |x: u64| x),
            },
        }
    }
}

/// Maps a run of storage elements.
#[inline(always)]
unsafe fn copy_map<S: Copy + Default, D: Copy + Default>(
    to: At<'_, *mut u8>,
    from: At<'_, *const u8>,
    n: usize,
    f: impl Fn(S) -> D,
) {
    // SAFETY: forwarded.
    unsafe {
        if n == 1 {
            let src = from.tile.add(from.layout.offset(from.row, from.col)).cast::<S>();
            let dst = to.tile.add(to.layout.offset(to.row, to.col)).cast::<D>();
            return dst.write_unaligned(f(src.read_unaligned()));
        }
        let mut chunk = [D::default(); CHUNK];
        read::<S, D>(from, n, &mut chunk, f);
        write::<D, D>(to, n, &chunk, |x| x);
    }
}

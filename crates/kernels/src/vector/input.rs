//! The vectors of lanes, as words: a row for each word of a vector, a column for each lane.

use super::VecMatMulParams;
use super::matrix::joined;
use super::places::Columns;
use crate::elem::Elem;
use crate::float;
use crate::simd::{F16, RoundWords, Simd, Widen, Word, with_round};
use std::marker::PhantomData;

/// Calls a function for each vector of lanes of so many rows: `(row, lane, lanes in it)`.
#[inline(always)]
fn each<S: Simd>(rows: usize, lanes: usize, mut f: impl FnMut(usize, usize, usize)) {
    for row in 0..rows {
        if lanes < S::LANES {
            f(row, 0, lanes);
            continue;
        }
        for lane in (0..lanes).step_by(S::LANES) {
            f(row, lane, S::LANES);
        }
    }
}

/// Words in a row.
pub(super) fn pitch(lanes: usize, width: usize) -> usize {
    lanes.max(width)
}

/// Numbers as f32, without a change of their value: `rows` rows of f16 or f32, one for each lane.
///
/// # Safety
/// The numbers are at `from`, and at `to` there is room for rows of [`pitch`] words.
#[inline(always)]
pub(super) unsafe fn widen<S: Simd>(elem: Elem, rows: usize, lanes: usize, to: *mut u8, from: *const u8) {
    // SAFETY: forwarded.
    unsafe {
        match elem {
            Elem::F16 => widened::<S, F16>(rows, lanes, to, from),
            _ => widened::<S, Word>(rows, lanes, to, from),
        }
    }
}

#[inline(always)]
unsafe fn widened<S: Simd, W: Widen>(rows: usize, lanes: usize, to: *mut u8, from: *const u8) {
    let pitch = pitch(lanes, S::LANES);
    each::<S>(rows, lanes, |row, lane, n| {
        // SAFETY: the lanes are in the rows.
        unsafe {
            let words = W::load::<S>(from.add((row * lanes + lane) * W::BYTES), n);
            S::store(to.add((row * pitch + lane) * 4), S::LANES * 4, words);
        }
    });
}

/// The vectors as f32 words.
///
/// # Safety
/// `from` is the input, and at `to` there is room for `k` rows of [`pitch`] words.
#[inline(always)]
pub(super) unsafe fn floats<S: Simd>(p: &VecMatMulParams, to: *mut u8, from: *const u8) {
    let (rows, lanes) = (p.k as usize, p.lanes as usize);
    let pitch = pitch(lanes, S::LANES);
    // SAFETY: forwarded.
    unsafe {
        if p.input.is_float() {
            widen::<S>(p.input, rows, lanes, to, from);
            if p.interpretation != p.input && p.interpretation != Elem::F32 {
                let round = RoundWords::<S> { dst: to, src: to, bytes: rows * pitch * 4, simd: PhantomData };
                with_round(p.interpretation, true, round);
            }
            return;
        }
        // Rare: by way of f64, which holds all of 32 bits, and rounded once.
        for row in 0..rows {
            for lane in 0..lanes {
                let value = integer(p.input, p.input_signed, from, row * lanes + lane) as f64;
                let word = to.add((row * pitch + lane) * 4).cast::<f32>();
                word.write(match p.interpretation {
                    Elem::F16 => float::round_f16(float::f64_to_f32_odd(value)),
                    Elem::BF16 => float::round_bf16(float::f64_to_f32_odd(value)),
                    Elem::E4M3 => float::round_e4m3(float::f64_to_f32_odd(value)),
                    Elem::E5M2 => float::round_e5m2(float::f64_to_f32_odd(value)),
                    _ => value as f32,
                });
            }
        }
    }
}

/// Integer `index` of an array. Beyond the range of i64 it is as large as that allows.
unsafe fn integer(elem: Elem, signed: bool, from: *const u8, index: usize) -> i64 {
    // SAFETY: the caller vouches for the element.
    unsafe {
        match (elem, signed) {
            (Elem::I8, true) => from.cast::<i8>().add(index).read().into(),
            (Elem::I8, false) => from.add(index).read().into(),
            (Elem::I16, true) => from.cast::<i16>().add(index).read_unaligned().into(),
            (Elem::I16, false) => from.cast::<u16>().add(index).read_unaligned().into(),
            (Elem::I64, true) => from.cast::<i64>().add(index).read_unaligned(),
            (Elem::I64, false) => {
                i64::try_from(from.cast::<u64>().add(index).read_unaligned()).unwrap_or(i64::MAX)
            }
            (_, true) => from.cast::<i32>().add(index).read_unaligned().into(),
            (_, false) => from.cast::<u32>().add(index).read_unaligned().into(),
        }
    }
}

/// The vectors as words of bytes or i16. `stage` gets the bytes, a row for each number.
///
/// # Safety
/// `from` is the input; there is room for [`pitch`] words for each word of a vector at `to`, and for a byte for each
/// number and lane, the numbers filled up to a multiple of four, in `stage`.
#[inline(always)]
pub(super) unsafe fn integers<S: Simd, const PER_WORD: usize>(
    p: &VecMatMulParams,
    to: *mut u8,
    from: *const u8,
    stage: *mut u8,
) {
    let (depth, lanes, signed) = (p.k as usize, p.lanes as usize, p.interpretation_signed);
    let pitch = pitch(lanes, S::LANES);
    // SAFETY: forwarded; the numbers of a word are in the stage, which is filled up, or in a word of the input.
    unsafe {
        if p.packed {
            let last = depth + 4 - depth.next_multiple_of(4);
            let mask = |word: usize| {
                let used = if (word + 1) * 4 > depth { last } else { 4 };
                u32::MAX >> (8 * (4 - used))
            };
            each::<S>(depth.div_ceil(PER_WORD), lanes, |row, lane, n| {
                let word = row * PER_WORD / 4;
                let words = S::load(from.add((word * lanes + lane) * 4), n * 4);
                let words = S::map(words, |x| x & mask(word));
                let second = PER_WORD == 2 && row % 2 == 1;
                let words = if second { S::shr::<16>(words) } else { words };
                let byte = |i: usize| S::map(if i == 0 { words } else { S::shr::<8>(words) }, |x| x & 0xff);
                let words = if PER_WORD == 4 { words } else { joined::<S, PER_WORD>(signed, byte) };
                S::store(to.add((row * pitch + lane) * 4), S::LANES * 4, words);
            });
            return;
        }
        bytes::<S>(p, stage, from);
        stage.add(depth * lanes).write_bytes(0, (depth.next_multiple_of(4) - depth) * lanes);
        each::<S>(depth.div_ceil(PER_WORD), lanes, |row, lane, n| {
            let byte = |i: usize| S::load_u8(stage.add((row * PER_WORD + i) * lanes + lane), n);
            S::store(to.add((row * pitch + lane) * 4), S::LANES * 4, joined::<S, PER_WORD>(signed, byte));
        });
    }
}

/// The numbers of the vectors as bytes.
#[inline(always)]
unsafe fn bytes<S: Simd>(p: &VecMatMulParams, to: *mut u8, from: *const u8) {
    let (rows, lanes) = (p.k as usize, p.lanes as usize);
    let (least, most) = if p.interpretation_signed { (-128, 127) } else { (0, 255) };
    let near = |x: u32| nearest(f32::from_bits(x), least as f32, most as f32);
    // Whatever has no bits but these is in range.
    let sign = if p.input_signed { i32::MIN } else { 0 };
    let clamp = |x: u32| {
        let large = if sign == 0 && x > 255 { 255 } else { x.cast_signed() };
        large.clamp(least, most) as u32
    };
    let at = |row: usize, lane: usize| row * lanes + lane;
    // SAFETY: the lanes are in the rows.
    unsafe {
        match p.input {
            Elem::F16 => each::<S>(rows, lanes, |row, lane, n| {
                let words = S::map(S::load_f16(from.add(at(row, lane) * 2), n), near);
                S::store_u8(to.add(at(row, lane)), n, words);
            }),
            Elem::F32 => each::<S>(rows, lanes, |row, lane, n| {
                let words = S::map(S::load(from.add(at(row, lane) * 4), n * 4), near);
                S::store_u8(to.add(at(row, lane)), n, words);
            }),
            Elem::I32 => each::<S>(rows, lanes, |row, lane, n| {
                let words = S::map(S::load(from.add(at(row, lane) * 4), n * 4), clamp);
                S::store_u8(to.add(at(row, lane)), n, words);
            }),
            Elem::I8 if p.input_signed == p.interpretation_signed => {
                to.copy_from_nonoverlapping(from, rows * lanes);
            }
            elem => {
                for i in 0..rows * lanes {
                    let value = integer(elem, p.input_signed, from, i);
                    *to.add(i) = value.clamp(least.into(), most.into()) as u8;
                }
            }
        }
    }
}

/// The byte nearest to a float, of even ones; 0 of a NaN.
#[inline(always)]
fn nearest(x: f32, least: f32, most: f32) -> u32 {
    // In this sum the last place is 1, and the lowest bits are the integer.
    const MAGIC: f32 = 12_582_912.0;
    let x = if x.is_nan() { 0.0 } else { x };
    let x = if x < least { least } else { x };
    let x = if x > most { most } else { x };
    (x + MAGIC).to_bits()
}

/// Rows of words of some lanes only.
///
/// # Safety
/// There are so many rows of `pitch` words at `from`, and there is room for as many at `to`.
pub(super) unsafe fn gather(columns: &Columns, rows: usize, pitch: usize, to: *mut u8, from: *const u8) {
    let (to, from) = (to.cast::<u32>(), from.cast::<u32>());
    for row in 0..rows {
        for (column, &lane) in columns.lanes().iter().enumerate() {
            // SAFETY: the lanes are in the rows.
            unsafe { *to.add(row * pitch + column) = *from.add(row * pitch + usize::from(lane)) };
        }
    }
}

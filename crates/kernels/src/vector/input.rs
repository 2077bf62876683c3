//! The vectors of lanes, as words: a row for each word of a vector, a column for each lane.

use super::VecMatMulParams;
use super::matrix::joined;
use super::places::Columns;
use crate::elem::Elem;
use crate::float;
use crate::simd::{F16, MAX_LANES, Simd, Widen, Word};

/// The number of each word of a vector.
static LANE_NUMBERS: [u32; MAX_LANES] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

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
    let (pitch, n) = (pitch(lanes, S::LANES), lanes.min(S::LANES));
    for row in 0..rows {
        for lane in (0..lanes).step_by(n) {
            // SAFETY: the lanes are in the rows.
            unsafe {
                let words = W::load::<S>(from.add((row * lanes + lane) * W::BYTES), n);
                S::store(to.add((row * pitch + lane) * 4), S::LANES * 4, words);
            }
        }
    }
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
            if p.interpretation != p.input {
                round(p.interpretation, to.cast(), rows * pitch);
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

/// Rounds words to the values of a type, saturating those of 8 bits. Loops over all of it become vector code.
#[inline(always)]
unsafe fn round(elem: Elem, words: *mut f32, count: usize) {
    // SAFETY: the caller vouches for so many words.
    let words = unsafe { std::slice::from_raw_parts_mut(words, count) };
    match elem {
        Elem::F16 => words.iter_mut().for_each(|x| *x = float::round_f16(*x)),
        Elem::BF16 => words.iter_mut().for_each(|x| *x = float::round_bf16(*x)),
        Elem::E4M3 => words.iter_mut().for_each(|x| *x = float::round_e4m3_sat(*x)),
        Elem::E5M2 => words.iter_mut().for_each(|x| *x = float::round_e5m2_sat(*x)),
        _ => {}
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
    // SAFETY: forwarded; the numbers of a word are in the stage, which is filled up.
    unsafe {
        if p.packed {
            unpack(p, stage, from);
        } else {
            bytes::<S>(p, stage, from);
        }
        stage.add(depth * lanes).write_bytes(0, (depth.next_multiple_of(4) - depth) * lanes);
        let n = lanes.min(S::LANES);
        for row in 0..depth.div_ceil(PER_WORD) {
            for lane in (0..lanes).step_by(n) {
                let from = stage.cast_const().add(row * PER_WORD * lanes + lane);
                let words =
                    joined::<S, PER_WORD>(signed, n, std::array::from_fn(|i| from.wrapping_add(i * lanes)));
                S::store(to.add((row * pitch + lane) * 4), S::LANES * 4, words);
            }
        }
    }
}

/// The numbers of packed vectors as bytes.
#[inline(always)]
unsafe fn unpack(p: &VecMatMulParams, to: *mut u8, from: *const u8) {
    let lanes = p.lanes as usize;
    for row in 0..p.k as usize {
        // SAFETY: the lanes are in the rows.
        unsafe {
            let (words, to) = (from.cast::<u32>().add(row / 4 * lanes), to.add(row * lanes));
            for lane in 0..lanes {
                *to.add(lane) = (words.add(lane).read_unaligned() >> (row % 4 * 8)) as u8;
            }
        }
    }
}

/// The numbers of the vectors as bytes.
#[inline(always)]
unsafe fn bytes<S: Simd>(p: &VecMatMulParams, to: *mut u8, from: *const u8) {
    let (rows, lanes) = (p.k as usize, p.lanes as usize);
    let (least, most) = if p.interpretation_signed { (-128, 127) } else { (0, 255) };
    let (low, high) = (least as f32, most as f32);
    let count = rows * lanes;
    // Loops over all of it become vector code.
    // SAFETY: there are so many numbers.
    unsafe {
        match p.input {
            Elem::F16 => {
                for at in (0..count).step_by(S::LANES) {
                    let n = (count - at).min(S::LANES);
                    let mut wide = [0.0_f32; MAX_LANES];
                    S::store(wide.as_mut_ptr().cast(), S::LANES * 4, S::load_f16(from.add(at * 2), n));
                    for (i, x) in wide.into_iter().enumerate().take(n) {
                        *to.add(at + i) = nearest(x, low, high);
                    }
                }
            }
            Elem::F32 => {
                for i in 0..count {
                    *to.add(i) = nearest(from.cast::<f32>().add(i).read_unaligned(), low, high);
                }
            }
            Elem::I32 if p.input_signed => {
                for i in 0..count {
                    *to.add(i) = from.cast::<i32>().add(i).read_unaligned().clamp(least, most) as u8;
                }
            }
            Elem::I8 if p.input_signed == p.interpretation_signed => to.copy_from_nonoverlapping(from, count),
            elem => {
                for i in 0..count {
                    let value = integer(elem, p.input_signed, from, i);
                    *to.add(i) = value.clamp(least.into(), most.into()) as u8;
                }
            }
        }
    }
}

/// The byte nearest to a float, of even ones; 0 of a NaN.
#[inline(always)]
fn nearest(x: f32, least: f32, most: f32) -> u8 {
    // In this sum the last place is 1, and the lowest bits are the integer.
    const MAGIC: f32 = 12_582_912.0;
    let x = if x.is_nan() { 0.0 } else { x };
    let x = if x < least { least } else { x };
    let x = if x > most { most } else { x };
    (x + MAGIC).to_bits() as u8
}

/// Rows of words of some lanes only.
///
/// # Safety
/// There are so many rows of `pitch` words at `from`, and there is room for as many at `to`.
#[inline(always)]
pub(crate) unsafe fn gather<S: Simd>(
    columns: &Columns,
    rows: usize,
    pitch: usize,
    to: *mut u8,
    from: *const u8,
) {
    let lanes = columns.sources();
    let vectors = columns.lanes().len().div_ceil(S::LANES);
    // SAFETY: the lanes are in the rows, whose vectors are whole.
    unsafe {
        for vector in 0..vectors {
            let at = vector * S::LANES;
            let numbers = S::load(lanes.as_ptr().add(at).cast(), S::LANES * 4);
            for row in 0..rows {
                let from = from.add(row * pitch * 4);
                let words = pick_of::<S>(from, pitch.div_ceil(S::LANES), numbers);
                S::store(to.add((row * pitch + at) * 4), S::LANES * 4, words);
            }
        }
    }
}

/// Words of some vectors that follow each other, by their numbers.
///
/// # Safety
/// There are so many vectors at `from`; the processor has the instructions.
#[inline(always)]
pub(super) unsafe fn pick_of<S: Simd>(from: *const u8, vectors: usize, numbers: S::Words) -> S::Words {
    // SAFETY: forwarded.
    unsafe {
        let mut words = pick_pair::<S>(from, vectors, 0, numbers);
        for pair in 1..vectors.div_ceil(2) {
            let others = pick_pair::<S>(from, vectors, pair, numbers);
            let at = S::map(numbers, |n| n / (2 * S::LANES as u32));
            let lane = S::load(LANE_NUMBERS.as_ptr().cast(), S::LANES * 4);
            let chosen = S::map(at, |p| if p == pair as u32 { S::LANES as u32 } else { 0 });
            words = S::pick(words, others, S::or(lane, chosen));
        }
        words
    }
}

/// Words of the vectors of a pair.
///
/// # Safety
/// As for [`pick_of`].
#[inline(always)]
unsafe fn pick_pair<S: Simd>(from: *const u8, vectors: usize, pair: usize, numbers: S::Words) -> S::Words {
    let bytes = S::LANES * 4;
    // SAFETY: forwarded.
    unsafe {
        let low = S::load(from.add(2 * pair * bytes), bytes);
        let high = S::load(from.add((2 * pair + 1).min(vectors - 1) * bytes), bytes);
        S::pick(low, high, numbers)
    }
}

//! Results of some lanes.

use super::input::pick_of;
use super::places::Columns;
use super::{MAX_VECTOR_LANES, VecMatMulParams};
use crate::elem::Elem;
use crate::simd::{MAX_LANES, Simd};

/// Writes rows of the product to the result of the lanes that they are of.
///
/// # Safety
/// `words` are so many rows of `pitch` words, whole vectors; `to` is the first of these rows of the result.
#[inline(always)]
pub(crate) unsafe fn scatter<S: Simd>(
    p: &VecMatMulParams,
    columns: &Columns,
    rows: usize,
    pitch: usize,
    (to, words): (*mut u8, *const u8),
) {
    let lanes = p.lanes as usize;
    let vectors = columns.columns(lanes).div_ceil(S::LANES);
    if columns.in_place || vectors == 1 {
        // SAFETY: forwarded.
        return unsafe { merge_vectors::<S>(p, columns, rows, pitch, (to, words)) };
    }
    let targets = columns.targets();
    let words_of: [u32; MAX_VECTOR_LANES] = mask(columns, lanes, u32::MAX);
    let halves_of: [u16; MAX_VECTOR_LANES] = mask(columns, lanes, u16::MAX);
    let mut sums = [0_u32; MAX_VECTOR_LANES];
    for row in 0..rows {
        // SAFETY: the lanes are in the row of the result, the columns in that of the product, whose vectors are whole.
        unsafe {
            let from = words.add(row * pitch * 4);
            for at in (0..lanes).step_by(S::LANES) {
                let numbers = S::load(targets.as_ptr().add(at).cast(), S::LANES * 4);
                let words = pick_of::<S>(from, vectors, numbers);
                if p.result == Elem::F16 {
                    S::narrow_f16(sums.as_mut_ptr().cast::<u16>().add(at).cast(), words);
                } else {
                    S::store(sums.as_mut_ptr().add(at).cast(), S::LANES * 4, words);
                }
            }
            let to = to.add(row * lanes * p.result.bytes());
            if p.result == Elem::F16 {
                merge(to.cast::<u16>(), sums.as_ptr().cast(), &halves_of[..lanes]);
            } else {
                merge(to.cast::<u32>(), sums.as_ptr(), &words_of[..lanes]);
            }
        }
    }
}

/// The same where each vector of lanes has its columns in one vector of the product.
///
/// # Safety
/// As for [`scatter`].
#[inline(always)]
unsafe fn merge_vectors<S: Simd>(
    p: &VecMatMulParams,
    columns: &Columns,
    rows: usize,
    pitch: usize,
    (to, words): (*mut u8, *const u8),
) {
    let lanes = p.lanes as usize;
    let n = lanes.min(S::LANES);
    // What a lane gets: what it has, or what its column has, behind that.
    let mut numbers = columns.targets();
    for (lane, number) in numbers.iter_mut().enumerate().take(lanes) {
        let (kept, new) = (lane % S::LANES, S::LANES + *number as usize % S::LANES);
        *number = if columns.has(lane) { new } else { kept } as u32;
    }
    let mut halves = [0_u16; MAX_LANES];
    for at in (0..lanes).step_by(S::LANES) {
        // SAFETY: the lanes are in the rows of the result, the columns in those of the product, whose vectors are whole.
        unsafe {
            let numbers = S::load(numbers.as_ptr().add(at).cast(), S::LANES * 4);
            let from = words.add(if columns.in_place { at * 4 } else { 0 });
            for row in 0..rows {
                let from = from.add(row * pitch * 4);
                let to = to.add((row * lanes + at) * p.result.bytes());
                if p.result == Elem::F16 {
                    S::narrow_f16(halves.as_mut_ptr().cast(), S::load(from, S::LANES * 4));
                    let new = S::load_u16(halves.as_ptr().cast(), S::LANES);
                    S::store_u16(to, n, S::pick(S::load_u16(to, n), new, numbers));
                } else {
                    let new = S::load(from, S::LANES * 4);
                    S::store(to, n * 4, S::pick(S::load(to, n * 4), new, numbers));
                }
            }
        }
    }
}

/// All bits of the lanes that are of the group.
fn mask<T: Copy + Default>(columns: &Columns, lanes: usize, ones: T) -> [T; MAX_VECTOR_LANES] {
    let mut mask = [T::default(); MAX_VECTOR_LANES];
    for (lane, bits) in mask.iter_mut().enumerate().take(lanes) {
        *bits = if columns.has(lane) { ones } else { T::default() };
    }
    mask
}

/// Replaces the bits of a mask. The loop becomes vector code.
///
/// # Safety
/// There are as many numbers as in the mask at both places.
#[inline(always)]
unsafe fn merge<T>(to: *mut T, from: *const T, mask: &[T])
where
    T: Copy + std::ops::BitAnd<Output = T> + std::ops::BitOr<Output = T> + std::ops::Not<Output = T>,
{
    for (i, &mask) in mask.iter().enumerate() {
        // SAFETY: forwarded.
        unsafe {
            let (old, new) = (to.add(i).read_unaligned(), from.add(i).read());
            to.add(i).write_unaligned(old & !mask | new & mask);
        }
    }
}

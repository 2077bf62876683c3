//! Results of some lanes.

use super::places::Columns;
use super::{MAX_VECTOR_LANES, VecMatMulParams};
use crate::elem::Elem;
use crate::simd::Simd;

/// Writes rows of the product to the result of the lanes that they are of.
///
/// # Safety
/// `words` are so many rows of `pitch` words, whole vectors; `to` is the first of these rows of the result.
#[inline(always)]
pub(super) unsafe fn scatter<S: Simd>(
    p: &VecMatMulParams,
    columns: &Columns,
    rows: usize,
    pitch: usize,
    (to, words): (*mut u8, *const u8),
) {
    let lanes = p.lanes as usize;
    let width = columns.columns(lanes);
    let run = columns.run().filter(|_| width.is_multiple_of(S::LANES));
    let mut halves = [0_u16; MAX_VECTOR_LANES];
    let stage = halves.as_mut_ptr();
    for row in 0..rows {
        // SAFETY: the lanes are in the row of the result, the columns in that of the product.
        unsafe {
            let from = words.add(row * pitch * 4);
            if p.result == Elem::F16 {
                let to = to.cast::<u16>().add(row * lanes);
                let first = run.map_or(stage, |first| to.add(first));
                for at in (0..width).step_by(S::LANES) {
                    S::narrow_f16(first.add(at).cast(), S::load(from.add(at * 4), S::LANES * 4));
                }
                if run.is_none() {
                    for (column, lane) in columns.pairs() {
                        *to.add(lane) = *stage.add(column);
                    }
                }
            } else {
                let (from, to) = (from.cast::<u32>(), to.cast::<u32>().add(row * lanes));
                for (column, lane) in columns.pairs() {
                    *to.add(lane) = *from.add(column);
                }
            }
        }
    }
}

//! Outer products of the vectors of lanes, added to matrices in memory.
//!
//! The sum of the outer products of the lanes of a group is a product of matrices too, of which the inner dimension are
//! the lanes: `R = A * B`, where column `l` of A is one vector of lane `l`, and row `l` of B the other. Then each element
//! of R is added to its place once. A vector that is added to memory itself is such a sum with ones for A.

use super::atomic;
use super::places::{Columns, Group, Places};
use super::product::{MicroKernel, Product, multiply};
use super::{Cut, VecOuterAddParams, input};
use crate::simd::Simd;
use crate::transfer::bounds::Range;

/// Words of a block of the sums.
const BLOCK_WORDS: usize = 4096;

/// The parts of the scratch memory, as byte offsets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// Rows of a block.
    rows: usize,
    /// Words in a row of B and of the sums.
    pitch: usize,
    /// The vectors as words: a row for each element.
    a: usize,
    b: usize,
    /// Those of a group: A, and B with a row for each lane.
    left: usize,
    right: usize,
    sums: usize,
    /// Bytes in all.
    pub(crate) bytes: usize,
}

impl Parts {
    /// Lays out the scratch memory for vectors of `width` words.
    #[inline(always)]
    pub(crate) fn new(p: &VecOuterAddParams, width: usize) -> Self {
        let (m, n, lanes) = (p.m as usize, p.n as usize, p.lanes as usize);
        let pitch = n.next_multiple_of(width);
        let rows = (BLOCK_WORDS / pitch).max(8).min(m);
        let row_bytes = input::pitch(lanes, width) * 4;
        let mut cut = Cut::default();
        Self {
            rows,
            pitch,
            a: cut.take(if p.has_a { m * row_bytes } else { 0 }),
            b: cut.take(n * row_bytes),
            left: cut.take(m * row_bytes),
            right: cut.take(lanes * pitch * 4),
            sums: cut.take(rows * pitch * 4),
            bytes: cut.end,
        }
    }
}

/// Adds the outer products of all active lanes.
///
/// # Safety
/// The contract of [`VecOuterAddFn`](crate::VecOuterAddFn); the processor has the instructions.
#[inline(always)]
pub(crate) unsafe fn outer_add<S: Simd>(
    p: &VecOuterAddParams,
    (a, b): (*const u8, *const u8),
    places: *const u64,
    scratch: *mut u8,
    kernel: MicroKernel,
) {
    let parts = Parts::new(p, S::LANES);
    // SAFETY: the parts of the scratch memory are disjoint and sized for what is written there.
    unsafe {
        if p.has_a {
            input::widen::<S>(p.a, p.m as usize, p.lanes as usize, scratch.add(parts.a), a);
        }
        input::widen::<S>(p.b, p.n as usize, p.lanes as usize, scratch.add(parts.b), b);
        for group in Places::new(places, p.lanes, p.varying).groups() {
            add_group::<S>(p, &parts, &group, scratch, kernel);
        }
    }
}

/// Adds the products of the lanes of a group.
#[inline(always)]
unsafe fn add_group<S: Simd>(
    p: &VecOuterAddParams,
    parts: &Parts,
    group: &Group,
    scratch: *mut u8,
    kernel: MicroKernel,
) {
    let (m, n, pitch) = (p.m as usize, p.n as usize, input::pitch(p.lanes as usize, S::LANES));
    // Lanes that are not active hold anything, so they must not be part of the sums.
    let columns = Columns::new(group.mask, p.lanes as usize, 1);
    let lanes = columns.lanes();
    // SAFETY: as for `outer_add`.
    unsafe {
        let left = scratch.add(parts.left);
        if p.has_a {
            input::gather(&columns, m, pitch, left, scratch.add(parts.a));
        } else {
            (0..lanes.len()).for_each(|lane| left.cast::<f32>().add(lane).write(1.0));
        }
        let (right, from) = (scratch.add(parts.right).cast::<u32>(), scratch.add(parts.b).cast::<u32>());
        for (row, &lane) in lanes.iter().enumerate() {
            for column in 0..n {
                *right.add(row * parts.pitch + column) = *from.add(column * pitch + usize::from(lane));
            }
        }
        let sums = scratch.add(parts.sums);
        let mut product = Product {
            a: left,
            along_row: 4,
            along_column: pitch * 4,
            rows: 0,
            words: lanes.len(),
            x: right.cast_const().cast(),
            x_pitch: parts.pitch * 4,
            vectors: parts.pitch / S::LANES,
            start: std::ptr::null(),
            extra: std::ptr::null(),
            result: sums,
            result_pitch: parts.pitch * 4,
            halves: false,
        };
        let object = group.matrix();
        let range = Range::new(object.offset, group.stride(), object.size, p.matrix.bytes());
        let mut first = 0;
        while first < m {
            product.rows = (m - first).min(parts.rows);
            product.a = left.add(first * pitch * 4);
            multiply(&product, kernel);
            for row in 0..product.rows {
                let (at, end, to) = range.line(first + row, n);
                let values = sums.add(row * product.result_pitch).cast::<f32>().add(at);
                atomic::add(p.matrix, object.base.wrapping_add(to), values, end - at);
            }
            first += product.rows;
        }
    }
}

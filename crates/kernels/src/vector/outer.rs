//! Outer products of the vectors of lanes, added to matrices in memory.
//!
//! The sum of the outer products of the lanes of a group is a product of matrices too, of which the inner dimension are
//! the lanes: `R = A * B`, where column `l` of A is one vector of lane `l`, and row `l` of B the other. Then each element
//! of R is added to its place once. Where vectors themselves are added to memory, the sum is that of the lanes.

use super::atomic;
use super::places::{Columns, Group, Places};
use super::product::{MicroKernel, Product, multiply};
use super::{Cut, VecOuterAddParams, input};
use crate::simd::{MAX_LANES, Simd};
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
    /// Those of a group: A, and B with a row for each lane; for sums the vectors.
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
            left: cut.take(if p.has_a { m } else { n } * row_bytes),
            right: cut.take(if p.has_a { lanes * pitch * 4 } else { 0 }),
            // The last values may be read as a vector.
            sums: cut.take((rows * pitch + width) * 4),
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
    let object = group.matrix();
    let range = Range::new(object.offset, group.stride(), object.size, p.matrix.bytes());
    // Lanes that are not active hold anything, so they must not be part of the sums.
    let columns = Columns::new(group.mask, p.lanes as usize, 1);
    // SAFETY: as for `outer_add`.
    unsafe {
        let sums = scratch.add(parts.sums);
        let add = |row: usize, values: *const u8| {
            let (at, end, to) = range.line(row, p.n as usize);
            let values = values.cast::<f32>().add(at);
            atomic::add::<S>(p.matrix, object.base.wrapping_add(to), values, end - at);
        };
        if !p.has_a {
            sum_lanes::<S>(p, parts, &columns, scratch);
            return add(0, sums);
        }
        let mut product = factors::<S>(p, parts, &columns, scratch);
        let (first, m) = (product.a, p.m as usize);
        let mut row = 0;
        while row < m {
            product.rows = (m - row).min(parts.rows);
            product.a = first.add(row * product.along_column);
            multiply(&product, kernel);
            for i in 0..product.rows {
                add(row + i, sums.add(i * product.result_pitch));
            }
            row += product.rows;
        }
    }
}

/// The product of the vectors of some lanes.
#[inline(always)]
unsafe fn factors<S: Simd>(
    p: &VecOuterAddParams,
    parts: &Parts,
    columns: &Columns,
    scratch: *mut u8,
) -> Product {
    let (lanes, pitch) = (columns.lanes(), input::pitch(p.lanes as usize, S::LANES));
    // SAFETY: as for `outer_add`.
    unsafe {
        let mut left = scratch.add(parts.a);
        let (right, from) = (scratch.add(parts.right), scratch.add(parts.b));
        if lanes.len() == p.lanes as usize {
            turn::<S>(p, parts.pitch, right, from);
        } else {
            left = scratch.add(parts.left);
            input::gather::<S>(columns, p.m as usize, pitch, left, scratch.add(parts.a));
            let (right, from) = (right.cast::<u32>(), from.cast::<u32>());
            for (row, &lane) in lanes.iter().enumerate() {
                for column in 0..p.n as usize {
                    *right.add(row * parts.pitch + column) = *from.add(column * pitch + usize::from(lane));
                }
            }
        }
        Product {
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
            result: scratch.add(parts.sums),
            result_pitch: parts.pitch * 4,
            halves: false,
        }
    }
}

/// Rows of B, one for each lane, from those of elements: square by square.
///
/// # Safety
/// As for [`outer_add`]; all lanes are wanted.
#[inline(always)]
unsafe fn turn<S: Simd>(p: &VecOuterAddParams, to_pitch: usize, to: *mut u8, from: *const u8) {
    let (n, lanes) = (p.n as usize, p.lanes as usize);
    let pitch = input::pitch(lanes, S::LANES);
    for lane in (0..lanes).step_by(S::LANES) {
        for column in (0..n).step_by(S::LANES) {
            // SAFETY: rows of elements are of whole vectors, and so are those of lanes.
            unsafe {
                let mut block = [S::zero(); MAX_LANES];
                for (row, words) in (column..n).zip(block.iter_mut().take(S::LANES)) {
                    *words = S::load(from.add((row * pitch + lane) * 4), S::LANES * 4);
                }
                S::transpose(&mut block);
                for (lane, words) in (lane..lanes).zip(block.into_iter().take(S::LANES)) {
                    S::store(to.add((lane * to_pitch + column) * 4), S::LANES * 4, words);
                }
            }
        }
    }
}

/// The sum of the vectors of some lanes.
#[inline(always)]
unsafe fn sum_lanes<S: Simd>(p: &VecOuterAddParams, parts: &Parts, columns: &Columns, scratch: *mut u8) {
    let (n, lanes, count) = (p.n as usize, p.lanes as usize, columns.lanes().len());
    let (pitch, whole) = (input::pitch(lanes, S::LANES), count.next_multiple_of(S::LANES));
    // SAFETY: as for `outer_add`.
    unsafe {
        let mut from = scratch.add(parts.b);
        // Where all are added, what fills up a vector is zero.
        if count < lanes {
            let to = scratch.add(parts.left);
            input::gather::<S>(columns, n, pitch, to, from);
            for row in 0..n {
                to.cast::<f32>().add(row * pitch + count).write_bytes(0, whole - count);
            }
            from = to;
        }
        for first in (0..n).step_by(S::LANES) {
            let mut block = [S::zero(); MAX_LANES];
            for (row, sum) in (first..n).zip(block.iter_mut().take(S::LANES)) {
                for at in (0..whole).step_by(S::LANES) {
                    let words = S::load(from.add((row * pitch + at) * 4), S::LANES * 4);
                    *sum = S::add_f32(*sum, words);
                }
            }
            S::transpose(&mut block);
            let sum = block.into_iter().take(S::LANES).fold(S::zero(), |sum, words| S::add_f32(sum, words));
            S::store(scratch.add(parts.sums + first * 4), S::LANES * 4, sum);
        }
    }
}

//! Access to the components of lanes.
//!
//! Component `i` of lane `l` is element `i * W + l` in row-major order, so one component of all lanes is a run of
//! consecutive elements, cut at the ends of rows.

use super::run::{At, CHUNK, copy_run};
use super::{ComponentParams, native_row};

/// The runs `(lane, row, col, n)` of a component.
struct Runs {
    first: usize,
    cols: usize,
    lane: usize,
    /// Lanes whose component exists.
    count: usize,
}

impl Runs {
    #[inline(always)]
    fn new(p: &ComponentParams, component: u32) -> Self {
        let lanes = p.subgroup as usize;
        let first = component as usize * lanes;
        let count = p.layout.elems().saturating_sub(first).min(lanes);
        Self { first, cols: p.layout.cols as usize, lane: 0, count }
    }
}

impl Iterator for Runs {
    type Item = (usize, usize, usize, usize);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.lane >= self.count {
            return None;
        }
        let (lane, elem) = (self.lane, self.first + self.lane);
        let (row, col) = (elem / self.cols, elem % self.cols);
        let n = (self.cols - col).min(self.count - lane).min(CHUNK);
        self.lane += n;
        Some((lane, row, col, n))
    }
}

/// Row and column of a component of one lane.
#[inline(always)]
fn place(p: &ComponentParams, component: u32, lane: usize) -> Option<(usize, usize)> {
    let elem = component as usize * p.subgroup as usize + lane;
    let cols = p.layout.cols as usize;
    (elem < p.layout.elems()).then(|| (elem / cols, elem % cols))
}

/// Reads a component of every lane.
///
/// # Safety
/// The tile is of the layout; `out` has room for an element per lane.
#[inline(always)]
pub(crate) unsafe fn extract(p: &ComponentParams, tile: *const u8, component: u32, out: *mut u8) {
    let native = native_row(p.layout.elem, p.subgroup);
    let mut done = 0;
    for (lane, row, col, n) in Runs::new(p, component) {
        // SAFETY: the run lies in the tile and the lanes in `out`.
        unsafe {
            let to = At { layout: &native, tile: out, row: 0, col: lane };
            copy_run(to, At { layout: &p.layout, tile, row, col }, n);
        }
        done = lane + n;
    }
    let size = p.layout.elem.bytes();
    // SAFETY: the remaining lanes are in `out`.
    unsafe { out.add(done * size).write_bytes(0, (p.subgroup as usize - done) * size) };
}

/// Writes a component of the lanes of a mask.
///
/// # Safety
/// The tile is of the layout; `values` has an element and `mask` a byte per lane.
#[inline(always)]
pub(crate) unsafe fn insert(
    p: &ComponentParams,
    tile: *mut u8,
    component: u32,
    values: *const u8,
    mask: *const u8,
) {
    let native = native_row(p.layout.elem, p.subgroup);
    for (lane, row, col, n) in Runs::new(p, component) {
        // SAFETY: the run lies in the tile, its lanes in `values` and `mask`.
        unsafe {
            let all = (0..n).fold(1, |all, i| all & *mask.add(lane + i)) != 0;
            let step = if all { n } else { 1 };
            for i in (0..n).step_by(step) {
                if all || *mask.add(lane + i) != 0 {
                    let from = At { layout: &native, tile: values, row: 0, col: lane + i };
                    copy_run(At { layout: &p.layout, tile, row, col: col + i }, from, step);
                }
            }
        }
    }
}

/// Reads a component per lane.
///
/// # Safety
/// As for [`extract`]; `components` has an index per lane.
#[inline(always)]
pub(crate) unsafe fn extract_lanes(
    p: &ComponentParams,
    tile: *const u8,
    components: *const u32,
    out: *mut u8,
) {
    let native = native_row(p.layout.elem, p.subgroup);
    let size = p.layout.elem.bytes();
    for lane in 0..p.subgroup as usize {
        // SAFETY: the lane is in `components` and `out`, the element in the tile.
        unsafe {
            match place(p, *components.add(lane), lane) {
                Some((row, col)) => {
                    let to = At { layout: &native, tile: out, row: 0, col: lane };
                    copy_run(to, At { layout: &p.layout, tile, row, col }, 1);
                }
                None => out.add(lane * size).write_bytes(0, size),
            }
        }
    }
}

/// Writes a component per lane of a mask.
///
/// # Safety
/// As for [`insert`]; `components` has an index per lane.
#[inline(always)]
pub(crate) unsafe fn insert_lanes(
    p: &ComponentParams,
    tile: *mut u8,
    components: *const u32,
    values: *const u8,
    mask: *const u8,
) {
    let native = native_row(p.layout.elem, p.subgroup);
    for lane in 0..p.subgroup as usize {
        // SAFETY: the lane is in all three arrays, the element in the tile.
        unsafe {
            if *mask.add(lane) == 0 {
                continue;
            }
            if let Some((row, col)) = place(p, *components.add(lane), lane) {
                let from = At { layout: &native, tile: values, row: 0, col: lane };
                copy_run(At { layout: &p.layout, tile, row, col }, from, 1);
            }
        }
    }
}

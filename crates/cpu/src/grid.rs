//! The work-groups of a dispatch, and the order in which they run.
//!
//! Work-groups run in panels of [`PANEL`] columns, row by row within a panel. Kernels over
//! matrices read a strip of one operand per row of work-groups and a strip of the other per column;
//! in this order fewer strips are in use at a time. With 2 MiB of L2 and a large L3, multiplications up to
//! 4096³ are as fast in any order; the panels are for machines with less.

use std::ops::Range;

/// Work-groups along x that run before the next row.
const PANEL: u32 = 8;

/// The work-groups of a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    groups: [u32; 3],
    base: [u32; 3],
    total: u64,
}

impl Grid {
    /// A grid of `groups` work-groups along each axis, the first being `base`. `None` if there are more than
    /// a 64-bit number counts, or an id exceeds 32 bits.
    pub(crate) fn new(groups: [u32; 3], base: [u32; 3]) -> Option<Self> {
        for (count, first) in groups.into_iter().zip(base) {
            first.checked_add(count)?;
        }
        let [x, y, z] = groups.map(u64::from);
        // The product of two is below 2^64; a zero may hide the overflow of the others.
        let total = if groups.contains(&0) { 0 } else { (x * y).checked_mul(z)? };
        Some(Self { groups, base, total })
    }

    /// Number of work-groups.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The work-groups that are run as these numbers, all below `total`, in rows along x: the id of the first, and how many.
    pub(crate) fn rows(&self, numbers: Range<u64>) -> impl Iterator<Item = ([u32; 3], u32)> + use<> {
        let Self { groups: [width, height, _], base, .. } = *self;
        let Range { start, end } = numbers;
        let mut left = end.saturating_sub(start);
        let mut next = self.place(start);
        // Only the first is found by divisions.
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            // Each is below the number of work-groups along its axis, and with the base still an id.
            let [x, y, z] = next;
            let to_panel_end = if height == 1 { width - x } else { (width - x).min(PANEL - x % PANEL) };
            let count = u32::try_from(left).map_or(to_panel_end, |left| left.min(to_panel_end));
            left -= u64::from(count);
            let behind = x + count;
            next = if y + 1 < height {
                [x - x % PANEL, y + 1, z]
            } else if behind < width {
                [behind, 0, z]
            } else {
                [0, 0, z.saturating_add(1)]
            };
            Some(([x + base[0], y + base[1], z + base[2]], count))
        })
    }

    /// Where the work-group that is run as number `index` is in the grid.
    fn place(&self, index: u64) -> [u32; 3] {
        let [width, height, _] = self.groups.map(u64::from);
        let plane = (width * height).max(1);
        let panel_groups = u64::from(PANEL) * height.max(1);
        let (z, in_plane) = (index / plane, index % plane);
        let (panel, in_panel) = (in_plane / panel_groups, in_plane % panel_groups);
        let first = panel * u64::from(PANEL);
        let columns = u64::from(PANEL).min(width.saturating_sub(first)).max(1);
        [first + in_panel % columns, in_panel / columns, z].map(|place| place as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn ids(grid: &Grid, numbers: Range<u64>) -> Vec<[u32; 3]> {
        grid.rows(numbers).flat_map(|([x, y, z], count)| (x..x + count).map(move |x| [x, y, z])).collect()
    }

    #[test]
    fn every_group_runs_once() {
        for groups in [[1, 1, 1], [8, 3, 2], [7, 5, 1], [9, 4, 3], [17, 1, 2], [1, 20, 1], [100, 2, 1]] {
            let grid = Grid::new(groups, [10, 20, 30]).unwrap();
            let in_order = ids(&grid, 0..grid.total());
            let one_by_one: Vec<_> =
                (0..grid.total()).flat_map(|index| ids(&grid, index..index + 1)).collect();
            assert_eq!(in_order, one_by_one, "{groups:?}");
            let ids: BTreeSet<_> = in_order.into_iter().collect();
            assert_eq!(ids.len() as u64, grid.total(), "{groups:?}");
            for id in ids {
                for axis in 0..3 {
                    let first = [10, 20, 30][axis];
                    assert!((first..first + groups[axis]).contains(&id[axis]), "{groups:?} {id:?}");
                }
            }
        }
    }

    #[test]
    fn panels_come_before_rows() {
        let grid = Grid::new([10, 2, 1], [0; 3]).unwrap();
        let ids = ids(&grid, 0..20);
        assert_eq!([ids[7], ids[8], ids[16]], [[7, 0, 0], [0, 1, 0], [8, 0, 0]]);
    }

    #[test]
    fn work_groups_in_a_row_run_together() {
        let rows = |groups, numbers| Grid::new(groups, [5, 0, 0]).unwrap().rows(numbers).collect::<Vec<_>>();
        assert_eq!(rows([100, 1, 2], 90..110), [([95, 0, 0], 10), ([5, 0, 1], 10)]);
        assert_eq!(
            rows([10, 2, 1], 6..19),
            [([11, 0, 0], 2), ([5, 1, 0], 8), ([13, 0, 0], 2), ([13, 1, 0], 1)]
        );
    }

    #[test]
    fn absurd_sizes_are_refused() {
        assert!(Grid::new([u32::MAX; 3], [0; 3]).is_none());
        assert!(Grid::new([2, 1, 1], [u32::MAX, 0, 0]).is_none());
        assert_eq!(Grid::new([0, u32::MAX, u32::MAX], [0; 3]).unwrap().total(), 0);
        assert_eq!(Grid::new([u32::MAX, u32::MAX, 1], [0; 3]).unwrap().total(), u64::from(u32::MAX).pow(2));
    }
}

//! The work-groups of a dispatch, and the order in which they run.
//!
//! Where code does blocks of work-groups together, whole blocks come first, so that shares of the numbers can be made of
//! them, and what is left along the edges of the grid comes after them.
//!
//! Work-groups, or blocks, run in panels of [`PANEL`] columns, row by row within a panel. Kernels over
//! matrices read a strip of one operand per row of work-groups and a strip of the other per column;
//! in this order fewer strips are in use at a time. With 2 MiB of L2 and a large L3, multiplications up to
//! 4096³ are as fast in any order; the panels are for machines with less.

use std::ops::Range;

/// Work-groups along x that run before the next row.
const PANEL: u32 = 8;

/// How many times as fast work-groups are in blocks, about: so many threads for each block are as fast without blocks.
const GAIN: u64 = 3;

/// The work-groups of a dispatch: as many whole blocks of them as there are, and what is left along the edges.
///
/// ```text
/// blocks  | right
/// --------+
/// bottom  |
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// Work-groups of a block along x and y.
    block: [u32; 2],
    /// Blocks, whose numbers are counted in blocks.
    blocks: Area,
    right: Area,
    bottom: Area,
    total: u64,
}

/// Work-groups, or blocks, that fill a part of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Area {
    size: [u32; 3],
    base: [u32; 3],
}

/// Work-groups that one call is for, if it can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The id of the first.
    pub(crate) first: [u32; 3],
    /// How many there are.
    pub(crate) count: u32,
    /// Whether they are a block, rather than next to each other along x.
    pub(crate) is_block: bool,
}

impl Grid {
    /// A grid of `groups` work-groups along each axis, the first being `base`, which run in blocks of so many along x and y
    /// if there are any. `None` if there are more than a 64-bit number counts, or an id exceeds 32 bits.
    pub(crate) fn new(groups: [u32; 3], base: [u32; 3], block: Option<[u32; 2]>) -> Option<Self> {
        for (count, first) in groups.into_iter().zip(base) {
            first.checked_add(count)?;
        }
        let [x, y, z] = groups.map(u64::from);
        // The product of two is below 2^64; a zero may hide the overflow of the others.
        let total = if groups.contains(&0) { 0 } else { (x * y).checked_mul(z)? };
        let [width, height, depth] = groups;
        let block = block.map(|block| block.map(|along| along.max(1)));
        let [columns, rows] = block.map_or([0, 0], |block| [width / block[0], height / block[1]]);
        let block = block.unwrap_or([1, 1]);
        let [wide, high] = [columns * block[0], rows * block[1]];
        let (wide, high) = if columns == 0 || rows == 0 { (0, 0) } else { (wide, high) };
        let [x, y, z] = base;
        Some(Self {
            block,
            blocks: Area { size: [wide / block[0], high / block[1], depth], base },
            right: Area { size: [width - wide, height, depth], base: [x + wide, y, z] },
            bottom: Area { size: [wide, height - high, depth], base: [x, y + high, z] },
            total,
        })
    }

    /// The same, without blocks if they are too few for so many threads.
    pub(crate) fn for_threads(
        groups: [u32; 3],
        base: [u32; 3],
        block: Option<[u32; 2]>,
        threads: usize,
    ) -> Option<Self> {
        let grid = Self::new(groups, base, block)?;
        let is_enough = grid.blocks.count().saturating_mul(GAIN) >= grid.total.min(threads as u64);
        if is_enough { Some(grid) } else { Self::new(groups, base, None) }
    }

    /// Number of work-groups.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Number of blocks.
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks.count()
    }

    /// The ids of a block's work-groups, by that of the first.
    pub(crate) fn block_from(&self, [x, y, z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> + use<> {
        let [wide, high] = self.block;
        (y..y + high).flat_map(move |y| (x..x + wide).map(move |x| [x, y, z]))
    }

    /// Work-groups that are to be run together, by their numbers: so many from a multiple of that on.
    pub(crate) fn unit(&self) -> u64 {
        if self.blocks.count() == 0 { 1 } else { u64::from(self.block[0]) * u64::from(self.block[1]) }
    }

    /// The work-groups that are run as these numbers, all below `total`: blocks, of which the numbers have all or none, and
    /// rows along x.
    pub(crate) fn parts(&self, numbers: Range<u64>) -> impl Iterator<Item = Part> + use<> {
        let (unit, [wide, high]) = (self.unit(), self.block);
        let in_blocks = self.blocks.count() * unit;
        let in_right = in_blocks + self.right.count();
        let within = |from: u64, to: u64| {
            let clamp = |number: u64| number.clamp(from, to) - from;
            clamp(numbers.start)..clamp(numbers.end)
        };
        let blocks = within(0, in_blocks);
        let [x0, y0, _] = self.blocks.base;
        let blocks = self.blocks.rows(blocks.start / unit..blocks.end / unit);
        let blocks = blocks.flat_map(move |([x, y, z], count)| {
            let place = move |at: u32| [x0 + (at - x0) * wide, y0 + (y - y0) * high, z];
            (x..x + count).map(move |x| Part { first: place(x), count: wide * high, is_block: true })
        });
        let row = |(first, count)| Part { first, count, is_block: false };
        let right = self.right.rows(within(in_blocks, in_right)).map(row);
        let bottom = self.bottom.rows(within(in_right, self.total)).map(row);
        blocks.chain(right).chain(bottom)
    }
}

impl Area {
    /// Number of work-groups, or of blocks; the grid has counted them.
    fn count(&self) -> u64 {
        let [x, y, z] = self.size.map(u64::from);
        if self.size.contains(&0) { 0 } else { x * y * z }
    }

    /// Those that are run as these numbers, in rows along x: the id of the first, and how many.
    fn rows(&self, numbers: Range<u64>) -> impl Iterator<Item = ([u32; 3], u32)> + use<> {
        let Self { size: [width, height, _], base } = *self;
        let Range { start, end } = numbers;
        let mut left = end.saturating_sub(start);
        let mut next = self.place(start);
        // Only the first is found by divisions.
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            // Each is below the number along its axis, and with the base still an id.
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

    /// Where that which is run as number `index` is.
    fn place(&self, index: u64) -> [u32; 3] {
        let [width, height, _] = self.size.map(u64::from);
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
        let ids = grid.parts(numbers).flat_map(|Part { first: [x, y, z], count, is_block }| {
            let ids: Vec<_> = match is_block {
                true => grid.block_from([x, y, z]).collect(),
                false => (x..x + count).map(|x| [x, y, z]).collect(),
            };
            assert_eq!(ids.len(), count as usize);
            ids
        });
        ids.collect()
    }

    #[test]
    fn every_group_runs_once() {
        let grids =
            [[1, 1, 1], [8, 3, 2], [7, 5, 1], [9, 4, 3], [17, 1, 2], [1, 20, 1], [100, 2, 1], [37, 9, 2]];
        let blocks = [None, Some([1, 1]), Some([4, 2]), Some([1, 3]), Some([8, 1]), Some([9, 4])];
        for (groups, block) in grids.into_iter().flat_map(|groups| blocks.map(|block| (groups, block))) {
            let grid = Grid::new(groups, [10, 20, 30], block).unwrap();
            let in_order = ids(&grid, 0..grid.total());
            let unit = grid.unit() as usize;
            let one_by_one: Vec<_> = (0..grid.total())
                .step_by(unit)
                .flat_map(|index| ids(&grid, index..grid.total().min(index + unit as u64)))
                .collect();
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
        let grid = Grid::new([10, 2, 1], [0; 3], None).unwrap();
        let ids = ids(&grid, 0..20);
        assert_eq!([ids[7], ids[8], ids[16]], [[7, 0, 0], [0, 1, 0], [8, 0, 0]]);
    }

    #[test]
    fn work_groups_in_a_row_run_together() {
        let rows = |groups, numbers| {
            let grid = Grid::new(groups, [5, 0, 0], None).unwrap();
            grid.parts(numbers).map(|part| (part.first, part.count)).collect::<Vec<_>>()
        };
        assert_eq!(rows([100, 1, 2], 90..110), [([95, 0, 0], 10), ([5, 0, 1], 10)]);
        assert_eq!(
            rows([10, 2, 1], 6..19),
            [([11, 0, 0], 2), ([5, 1, 0], 8), ([13, 0, 0], 2), ([13, 1, 0], 1)]
        );
    }

    #[test]
    fn absurd_sizes_are_refused() {
        assert!(Grid::new([u32::MAX; 3], [0; 3], None).is_none());
        assert!(Grid::new([2, 1, 1], [u32::MAX, 0, 0], None).is_none());
        assert_eq!(Grid::new([0, u32::MAX, u32::MAX], [0; 3], None).unwrap().total(), 0);
        assert_eq!(
            Grid::new([u32::MAX, u32::MAX, 1], [0; 3], None).unwrap().total(),
            u64::from(u32::MAX).pow(2)
        );
    }

    #[test]
    fn whole_blocks_come_first_and_the_edges_by_themselves() {
        let grid = Grid::new([9, 5, 1], [0; 3], Some([4, 2])).unwrap();
        let parts: Vec<_> = grid.parts(0..45).collect();
        let blocks: Vec<_> = parts.iter().filter(|part| part.is_block).map(|part| part.first).collect();
        assert_eq!(blocks, [[0, 0, 0], [4, 0, 0], [0, 2, 0], [4, 2, 0]]);
        assert!(parts[..4].iter().all(|part| part.is_block && part.count == 8));
        let rest: u32 = parts[4..].iter().map(|part| part.count).sum();
        assert_eq!((grid.unit(), rest), (8, 13));
    }

    #[test]
    fn few_blocks_are_none_for_many_threads() {
        let unit = |threads| Grid::for_threads([8, 8, 1], [0; 3], Some([4, 4]), threads).unwrap().unit();
        assert_eq!([1, 4, 12, 13].map(unit), [16, 16, 16, 1]);
        // Without a whole block there are none either.
        assert_eq!(Grid::for_threads([100, 3, 1], [0; 3], Some([4, 4]), 1).unwrap().unit(), 1);
    }
}

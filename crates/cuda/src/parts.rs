//! A dispatch as launches, which have limits.

/// Most blocks of a launch along y and z.
const MAX_BLOCKS: u32 = 65535;

/// Work-groups of a dispatch that are launched together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The first, counted from that of the dispatch.
    pub(crate) start: [u32; 3],
    /// How many there are.
    pub(crate) size: [u32; 3],
}

/// The launches of a dispatch, of which none has more work-groups than `most`, which is not 0.
pub(crate) fn parts(groups: [u32; 3], most: u64) -> Parts {
    let mut left = most;
    let limits = [u32::MAX, MAX_BLOCKS, MAX_BLOCKS];
    let whole: [u32; 3] = std::array::from_fn(|axis| {
        let size = groups[axis].min(limits[axis]).min(u32::try_from(left).unwrap_or(u32::MAX)).max(1);
        left = (left / u64::from(size)).max(1);
        size
    });
    Parts { groups, whole, next: (!groups.contains(&0)).then_some([0; 3]) }
}

/// The launches of a dispatch, nearly always one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    groups: [u32; 3],
    /// Most work-groups of a launch along each axis.
    whole: [u32; 3],
    /// Where the next one starts.
    next: Option<[u32; 3]>,
}

impl Iterator for Parts {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        let start = self.next.take()?;
        let size = [0, 1, 2].map(|axis: usize| self.whole[axis].min(self.groups[axis] - start[axis]));
        let mut next = start;
        for axis in 0..3 {
            match start[axis].checked_add(size[axis]) {
                Some(end) if end < self.groups[axis] => {
                    next[axis] = end;
                    self.next = Some(next);
                    break;
                }
                _ => next[axis] = 0,
            }
        }
        Some(Part { start, size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dispatch_is_one_launch_where_it_may_be() {
        let groups = [u32::MAX, 65535, 65535];
        let whole = Part { start: [0; 3], size: groups };
        assert_eq!(parts(groups, u64::MAX).collect::<Vec<_>>(), [whole]);
        let of_y = |y, size| Part { start: [0, y, 0], size: [2, size, 1] };
        let found: Vec<_> = parts([2, 65536, 1], u64::MAX).collect();
        assert_eq!(found, [of_y(0, 65535), of_y(65535, 1)]);
    }

    #[test]
    fn parts_are_small_enough_and_have_each_work_group_once() {
        for groups in [[1, 1, 1], [7, 5, 3], [4, 4, 4], [1, 9, 2]] {
            for most in 1..70 {
                let mut seen = Vec::new();
                for Part { start, size } in parts(groups, most) {
                    assert!(size.iter().map(|&n| u64::from(n)).product::<u64>() <= most, "{size:?} {most}");
                    let within = |axis: usize| start[axis]..start[axis] + size[axis];
                    for z in within(2) {
                        seen.extend(within(1).flat_map(|y| within(0).map(move |x| [x, y, z])));
                    }
                }
                seen.sort_unstable();
                assert_eq!(seen.len(), groups.iter().product::<u32>() as usize, "{groups:?} {most}");
                seen.dedup();
                assert_eq!(seen.len(), groups.iter().product::<u32>() as usize, "{groups:?} {most}");
            }
        }
    }
}

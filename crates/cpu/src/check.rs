//! Answers compiled code that asks whether there is memory where it is about to go.
//!
//! The buffers that are there are listed once, when the dispatch begins: sorted by address, each with the furthest end of
//! all up to it. So one search tells whether a block holds all bytes of an access, even if blocks overlap.

use crate::fault::RawFault;
use phalanx_host::Allocations;

/// The memory that a dispatch may go to by address.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    starts: Vec<u64>,
    /// The furthest end of the blocks that begin at the start or before it.
    reaches: Vec<u64>,
}

impl Ranges {
    /// The blocks that are there now.
    pub(crate) fn new(allocations: &Allocations) -> Self {
        let mut ranges = Self::default();
        let mut reach = 0;
        for (start, size) in allocations.blocks() {
            reach = start.saturating_add(size).max(reach);
            ranges.starts.push(start);
            ranges.reaches.push(reach);
        }
        ranges
    }

    /// Whether one block holds all of so many bytes.
    fn hold(&self, address: u64, bytes: u64) -> bool {
        let before = self.starts.partition_point(|&start| start <= address);
        let reach = before.checked_sub(1).map_or(0, |last| self.reaches[last]);
        address.checked_add(bytes).is_some_and(|end| end <= reach)
    }
}

/// What an access does in each lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    /// Runs of bytes, each of which begins `stride` bytes after the one before.
    pub(crate) runs: u64,
    pub(crate) stride: u64,
    /// Bytes of a run.
    pub(crate) bytes: u64,
    pub(crate) writes: bool,
}

impl Access {
    /// The first fault of the access, of lanes with these addresses.
    pub(crate) fn fault(
        &self,
        ranges: &Ranges,
        addresses: impl IntoIterator<Item = u64>,
    ) -> Option<RawFault> {
        let of_lane =
            |start: u64| (0..self.runs).map(move |run| start.wrapping_add(run.wrapping_mul(self.stride)));
        let mut all = addresses.into_iter().flat_map(of_lane);
        let address = all.find(|&address| !ranges.hold(address, self.bytes))?;
        Some(RawFault { address: Some(address), wrote: Some(self.writes), is_overflow: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_lies_in_one_block() {
        let list = Allocations::default();
        let _blocks = [list.add(100, 10), list.add(110, 10), list.add(300, 100), list.add(310, 20)];
        let ranges = Ranges::new(&list);
        let fits = |address, bytes| ranges.hold(address, bytes);
        assert!(fits(100, 10) && fits(110, 10) && fits(300, 100) && fits(335, 4) && fits(399, 1));
        assert!(!fits(99, 1) && !fits(120, 1) && !fits(399, 2) && !fits(0, 4) && !fits(u64::MAX, 4));
        assert!(!Ranges::default().hold(0, 1));
    }

    #[test]
    fn runs_are_checked_one_by_one() {
        let list = Allocations::default();
        let _block = list.add(1000, 64);
        let ranges = Ranges::new(&list);
        let access = Access { runs: 4, stride: 16, bytes: 16, writes: true };
        assert_eq!(access.fault(&ranges, [1000]), None);
        let address =
            |access: Access, start| access.fault(&ranges, start).map(|fault| fault.address.unwrap());
        assert_eq!(address(access, vec![1000, 1001]), Some(1049));
        let backwards = Access { stride: 16_u64.wrapping_neg(), ..access };
        assert_eq!(address(backwards, vec![1048]), None);
        assert_eq!(address(backwards, vec![1032]), Some(984));
    }
}

//! Sets of invocations of a subgroup.

/// A set of lanes, at most 128.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lanes(pub(crate) u128);

impl Lanes {
    pub(crate) const NONE: Self = Self(0);

    /// The lanes below `count`.
    pub(crate) fn below(count: u32) -> Self {
        Self(u128::MAX.checked_shr(128 - count.min(128)).unwrap_or(0))
    }

    /// One lane.
    pub(crate) fn only(lane: usize) -> Self {
        Self(1_u128.checked_shl(lane as u32).unwrap_or(0))
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn contains(self, lane: usize) -> bool {
        lane < 128 && self.0 >> lane & 1 == 1
    }

    /// The lowest lane; 0 of no lanes.
    pub(crate) fn first(self) -> usize {
        if self.is_empty() { 0 } else { self.0.trailing_zeros() as usize }
    }

    /// The lanes for which `keep` holds.
    pub(crate) fn filter(self, keep: impl Fn(usize) -> bool) -> Self {
        Self(self.iter().filter(|&lane| keep(lane)).fold(0, |bits, lane| bits | 1 << lane))
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The lanes in ascending order.
    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let lane = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(lane)
        })
    }

    /// The ballot: four words, low lanes first.
    pub(crate) fn words(self) -> [u64; 4] {
        [0, 32, 64, 96].map(|shift| u64::from((self.0 >> shift) as u32))
    }

    /// The set that a ballot names.
    pub(crate) fn from_words(words: [u64; 4]) -> Self {
        Self(words.iter().rev().fold(0, |bits, word| bits << 32 | u128::from(word & 0xffff_ffff)))
    }
}

//! Memory that a program reads piece by piece, a copy to shared memory between multiplications, and will read on from.
//!
//! Such copies, and loads of small matrices, go along a row or down some columns, a few lines of the cache of each: nothing
//! that a processor foresees by itself, and no more than a few dozen lines are on their way at a time. Compiled code notes
//! where each of its reads began (the test's `Wishes::note` says what it does). The same read of the next round will begin
//! as much further on as this one did from the one before, and multiplications ask the second cache for that bit by bit:
//! asked for at once, most of it would be forgotten.
//!
//! All of this is hints: what was noted may be anything.

use crate::cache::want_later;
use std::ops::Range;

/// Most reads in a round; more of them count as the last.
const MOST: usize = 512;
/// Most lines of a read that are asked for.
const LINES: u64 = 64;

/// A read.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
struct Wish {
    /// Where it began in this round.
    last: u64,
    /// Where it will begin in the next.
    next: u64,
    /// Bytes from a line of the cache to the next.
    stride: u64,
    /// How many there are.
    lines: u64,
}

/// What a subgroup reads in a round.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Wishes {
    /// Reads since the last multiplication.
    noted: u32,
    /// Reads before it.
    ready: u32,
    /// How many of those have been asked for.
    asked: u32,
    zero: u32,
    list: [Wish; MOST],
}

impl Wishes {
    /// Bytes at the beginning that compiled code makes zero. What follows may be anything.
    pub const HEAD: usize = std::mem::offset_of!(Self, list);
    /// Bytes of an entry of the list, which begins behind the head: four words of 64 bits.
    pub const ENTRY: usize = size_of::<Wish>();
    /// The greatest index of an entry.
    pub const LAST: u32 = MOST as u32 - 1;

    /// What compiled code does at a read. The number of notes is the first word of the head, of 32 bits.
    ///
    /// ```text
    /// entry = list[min(noted, LAST)];  noted += 1
    /// entry = { last: address, next: 2 * address - entry.last, stride, lines }
    /// ```
    #[cfg(test)]
    fn note(&mut self, address: u64, stride: u64, lines: u64) {
        let entry = &mut self.list[self.noted.min(Self::LAST) as usize];
        let next = address.wrapping_mul(2).wrapping_sub(entry.last);
        *entry = Wish { last: address, next, stride, lines };
        self.noted += 1;
    }

    /// Begins to ask for what was noted since the last multiplication, if anything was.
    #[inline(always)]
    pub(super) fn begin(&mut self) {
        if self.noted > 0 {
            (self.ready, self.asked, self.noted) = (self.noted.min(MOST as u32), 0, 0);
        }
    }

    /// How many reads there are to ask for.
    #[inline(always)]
    pub(super) fn left(&self) -> usize {
        self.ready.saturating_sub(self.asked) as usize
    }

    /// Takes so many of them.
    #[inline(always)]
    fn take(&mut self, count: usize) -> Range<usize> {
        let first = self.asked as usize;
        let end = (first + count).min(self.ready as usize);
        self.asked = end as u32;
        first..end
    }

    /// Asks for so many of them.
    #[inline(always)]
    pub(super) fn ask(&mut self, count: usize) {
        for index in self.take(count) {
            let Wish { mut next, stride, lines, .. } = self.list[index & (MOST - 1)];
            for _ in 0..lines.min(LINES) {
                want_later(std::ptr::without_provenance(next as usize));
                next = next.wrapping_add(stride);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;

    #[test]
    fn a_read_goes_on_as_far_as_it_came() {
        let mut wishes = Wishes::zeroed();
        for round in 0..3 {
            wishes.note(0x1000 + round * 0x80, 64, 2);
            wishes.note(0x9000 + round * 0x4000, 0x400, 16);
            wishes.begin();
        }
        assert_eq!(wishes.left(), 2);
        assert_eq!(wishes.list[0].next, 0x1180);
        assert_eq!(wishes.list[1].next, 0x15000);
        assert_eq!((wishes.take(1), wishes.take(5), wishes.left()), (0..1, 1..2, 0));
        wishes.begin();
        assert_eq!(wishes.left(), 0, "nothing was read since");
    }

    #[test]
    fn more_reads_than_there_is_room_for_count_as_the_last() {
        let mut wishes = Wishes::zeroed();
        (0..2 * MOST as u64).for_each(|i| wishes.note(i * 64, 64, 1));
        wishes.begin();
        assert_eq!(wishes.left(), MOST);
        wishes.ask(2 * MOST);
        assert_eq!(wishes.left(), 0);
    }
}

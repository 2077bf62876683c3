//! Which thread runs which work-groups of a dispatch.
//!
//! Where code goes on from one work-group to the next, which mostly reads the memory behind, the numbers of the work-groups
//! are cut into as many stretches as there are threads. A thread takes shares from the front of its own: so it reads
//! memory in a row, which is what processors foresee, and what code asks for ahead it comes to itself. When its stretch is
//! empty, it takes from the end of the one that has most left, where nobody reads:
//!
//! ```text
//! thread 0:  [#######################]   empty: takes from the other's
//! thread 1:  [#########-->.......<--#]
//! ```
//!
//! Elsewhere there is one stretch, from which all threads take in turn: who works at the same time works on neighbours,
//! and shares what those read.
//!
//! Large shares come first, so that threads rarely meet, and single work-groups in the end, so that they finish together.
//!
//! The invariant: every work-group is in exactly one share. What is left of a stretch is one atomic word, its front and
//! its end, and a share is what one exchange of that word takes off. Stretches only shrink, so a word that is as it was read
//! has not changed in between. Its halves count units of work-groups: of one, unless
//! work-groups run in blocks or a stretch has 2³² or more.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use phalanx_host::StopFlag;

use crate::pool::Apart;

/// Most work-groups that a thread takes at a time.
const MAX_SHARE: u64 = 64;

/// Units in a row, from `first` on.
struct Stretch {
    first: u64,
    /// What is left, counted from `first`: the front in the lower half, and the end.
    left: AtomicU64,
}

impl Stretch {
    fn left(&self) -> Range<u32> {
        halves(self.left.load(Ordering::Relaxed))
    }
}

fn halves(word: u64) -> Range<u32> {
    word as u32..(word >> 32) as u32
}

fn word(Range { start, end }: Range<u32>) -> u64 {
    u64::from(start) | u64::from(end) << 32
}

/// Where a share is taken off a stretch.
#[derive(Clone, Copy)]
enum Side {
    Front,
    End,
}

/// The work-groups of a dispatch by their numbers, for threads to take.
pub(crate) struct Shares {
    stretches: Box<[Apart<Stretch>]>,
    total: u64,
    /// Work-groups of a unit, those that stay together in it; the last may have less.
    unit: u64,
    threads: u64,
    /// How many times a thread has come.
    came: Apart<AtomicUsize>,
    /// Whether nothing is left. Who empties a stretch looks whether it was the last, and who finds nothing looks again.
    is_over: AtomicBool,
}

impl Shares {
    /// The numbers below `total`, in stretches of their own for so many threads, or in one. So many numbers from a multiple of
    /// `together` on are in one share.
    pub(crate) fn new(total: u64, together: u64, threads: usize, has_stretches: bool) -> Self {
        let threads = (threads as u64).max(1);
        let blocks = total.div_ceil(together.max(1));
        let count = if has_stretches { threads.min(blocks).max(1) } else { 1 };
        let unit = together.max(1) * blocks.div_ceil(count).div_ceil(u64::from(u32::MAX)).max(1);
        let units = total.div_ceil(unit);
        let (each, longer) = (units / count, units % count);
        let stretch = |index: u64| {
            let length = each + u64::from(index < longer);
            let left = AtomicU64::new(word(0..length as u32));
            Apart::new(Stretch { first: index * each + index.min(longer), left })
        };
        Self {
            stretches: (0..count).map(stretch).collect(),
            total,
            unit,
            threads,
            came: Apart::default(),
            is_over: AtomicBool::new(total == 0),
        }
    }

    /// Whether something is left, as far as anybody has seen.
    pub(crate) fn has_groups(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }

    /// The stretch of a thread that comes now. Nobody else has it before there are more threads than stretches.
    pub(crate) fn come(&self) -> usize {
        self.came.value.fetch_add(1, Ordering::Relaxed) % self.stretches.len()
    }

    /// A share for the thread whose stretch is `own`: as many as are `wanted`, or as what is left is worth. `None` if
    /// nothing is left, or the dispatch stops.
    pub(crate) fn take(&self, own: usize, wanted: Option<u64>, stop: &StopFlag) -> Option<Range<u64>> {
        if stop.is_raised() || !self.has_groups() {
            return None;
        }
        let takers = self.threads.div_ceil(self.stretches.len() as u64);
        let share = self.take_from(own, Side::Front, |left| wanted.unwrap_or(left / (4 * takers)));
        if share.is_some() {
            return share;
        }
        while let Some((fullest, all)) = self.fullest() {
            let share = self.take_from(fullest, Side::End, |_| wanted.unwrap_or(all / (4 * self.threads)));
            if share.is_some() {
                return share;
            }
        }
        None
    }

    /// The stretch that has most left, and how much is left of all. `None` notes that it is over.
    fn fullest(&self) -> Option<(usize, u64)> {
        let left = self.stretches.iter().map(|stretch| stretch.value.left().len() as u64);
        let (all, most, index) = left.enumerate().fold((0, 0, 0), |(all, most, fullest), (index, left)| {
            let (most, fullest) = if left > most { (left, index) } else { (most, fullest) };
            (all + left, most, fullest)
        });
        if most == 0 {
            self.is_over.store(true, Ordering::Relaxed);
        }
        (most != 0).then_some((index, all))
    }

    /// Takes as many as are wanted of what is left of a stretch, at least a unit.
    fn take_from(&self, index: usize, side: Side, wanted: impl Fn(u64) -> u64) -> Option<Range<u64>> {
        let stretch = &self.stretches[index].value;
        let mut left = stretch.left();
        while !left.is_empty() {
            let length = left.len() as u64;
            let units = (wanted(length).min(MAX_SHARE) / self.unit).clamp(1, length) as u32;
            let (share, rest) = match side {
                Side::Front => (left.start..left.start + units, left.start + units..left.end),
                Side::End => (left.end - units..left.end, left.start..left.end - units),
            };
            let (now, then) = (word(left), word(rest.clone()));
            match stretch.left.compare_exchange_weak(now, then, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    // Who comes now need not look for shares.
                    if rest.is_empty() {
                        self.fullest();
                    }
                    let number = |place: u32| {
                        (stretch.first + u64::from(place)).saturating_mul(self.unit).min(self.total)
                    };
                    return Some(number(share.start)..number(share.end));
                }
                Err(changed) => left = halves(changed),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_host::StopReason;
    use std::sync::Mutex;

    /// What a thread takes until nothing is left.
    fn taken(shares: &Shares, thread: usize) -> Vec<Range<u64>> {
        let stop = StopFlag::default();
        std::iter::from_fn(|| shares.take(thread, None, &stop)).collect()
    }

    /// That the shares are the numbers below `total`, each once.
    fn assert_all_once(mut shares: Vec<Range<u64>>, total: u64) {
        shares.sort_by_key(|share| share.start);
        let mut next = 0;
        for share in shares {
            assert!(share.start == next && share.end > next, "{share:?} after {next}");
            next = share.end;
        }
        assert_eq!(next, total);
    }

    /// A row of numbers that look random.
    fn random(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        move |below| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        }
    }

    #[test]
    fn many_threads_take_every_number_once() {
        for seed in 0..60 {
            let mut next = random(seed);
            let (threads, total) = (1 + next(9) as usize, next(3000));
            let shares = Shares::new(total, 1, threads, seed % 4 != 0);
            let (all, stop) = (Mutex::new(Vec::new()), StopFlag::default());
            std::thread::scope(|scope| {
                for thread in 0..threads {
                    let (shares, all, stop) = (&shares, &all, &stop);
                    let mut next = random(seed << 8 | thread as u64);
                    scope.spawn(move || {
                        let (mut own, mut mine) = (shares.come(), Vec::new());
                        let wanted = |next: u64| (next != 0).then_some(next);
                        while let Some(share) = shares.take(own, wanted(next(5)), stop) {
                            mine.push(share);
                            if next(4) == 0 {
                                own = next(shares.stretches.len() as u64) as usize;
                            }
                            if next(8) == 0 {
                                std::thread::yield_now();
                            }
                        }
                        all.lock().unwrap().extend(mine);
                    });
                }
            });
            assert!(!shares.has_groups());
            assert_all_once(all.into_inner().unwrap(), total);
        }
    }

    #[test]
    fn threads_read_on_in_stretches_of_their_own() {
        let (shares, stop) = (Shares::new(1001, 1, 2, true), StopFlag::default());
        let threads = [shares.come(), shares.come()];
        let mut fronts = [0, 501];
        for _ in 0..4 {
            for (front, thread) in fronts.iter_mut().zip(threads) {
                let share = shares.take(thread, None, &stop).unwrap();
                assert_eq!((share.start, share.end - share.start), (*front, 64));
                *front = share.end;
            }
        }
    }

    #[test]
    fn without_stretches_threads_take_in_turn() {
        let (shares, stop) = (Shares::new(1000, 1, 2, false), StopFlag::default());
        let threads = [shares.come(), shares.come()];
        let mut front = 0;
        for thread in threads.into_iter().cycle() {
            let Some(share) = shares.take(thread, None, &stop) else { break };
            assert_eq!(share.start, front);
            front = share.end;
        }
        assert_eq!(front, 1000);
    }

    #[test]
    fn the_stretch_of_a_thread_that_never_comes_is_taken_from_its_end() {
        let shares = Shares::new(400, 1, 2, true);
        let all = taken(&shares, shares.come());
        let own = all.iter().position(|share| share.start >= 200).unwrap();
        assert!(all[..own].is_sorted_by_key(|share| share.start), "{all:?}");
        assert!(all[own..].is_sorted_by(|share, next| share.start == next.end), "{all:?}");
        assert_eq!(all[own].end, 400);
        assert_all_once(all, 400);
        assert!(!shares.has_groups());
        assert_eq!(shares.take(shares.come(), None, &StopFlag::default()), None);
    }

    #[test]
    fn who_has_nothing_left_takes_where_most_is_left() {
        let (shares, stop) = (Shares::new(300, 1, 3, true), StopFlag::default());
        assert_eq!(shares.take(1, Some(10), &stop), Some(100..110));
        assert_eq!(shares.take(0, Some(64), &stop), Some(0..64));
        assert_eq!(shares.take(0, Some(64), &stop), Some(64..100));
        assert_eq!(shares.take(0, Some(20), &stop), Some(280..300));
        assert_eq!(shares.take(0, Some(20), &stop), Some(180..200));
    }

    #[test]
    fn the_last_share_leaves_nothing_to_look_for() {
        let (shares, stop) = (Shares::new(20, 1, 2, true), StopFlag::default());
        assert_eq!(shares.take(0, Some(10), &stop), Some(0..10));
        assert!(shares.has_groups());
        assert_eq!(shares.take(0, Some(10), &stop), Some(10..20));
        assert!(!shares.has_groups());
    }

    #[test]
    fn fewer_groups_than_threads_are_a_share_each() {
        let shares = Shares::new(3, 1, 8, true);
        let own: Vec<_> = (0..4).map(|_| shares.come()).collect();
        assert_eq!(own, [0, 1, 2, 0]);
        assert_all_once(taken(&shares, 2), 3);
        for has_stretches in [false, true] {
            let none = Shares::new(0, 1, 8, has_stretches);
            assert!(!none.has_groups() && taken(&none, none.come()).is_empty());
        }
    }

    #[test]
    fn the_largest_numbers_are_no_exception() {
        for (total, threads) in [(u64::MAX, 1), (u64::MAX, 7), (u64::MAX - 5, 2), (1 << 32, 1)] {
            let (shares, stop) = (Shares::new(total, 1, threads, true), StopFlag::default());
            let last = shares.stretches.len() - 1;
            assert_eq!(shares.take(0, None, &stop).unwrap().start, 0);
            let mut end = total;
            for _ in 0..100 {
                let share = shares.take_from(last, Side::End, |_| 1).unwrap();
                assert!(share.end == end && share.start < end, "{share:?}");
                end = share.start;
            }
            // All in between at once.
            let mut rest: Vec<_> = shares.stretches.iter().map(|stretch| stretch.value.left()).collect();
            rest.iter_mut().for_each(|left| left.end -= 1);
            for (stretch, left) in shares.stretches.iter().zip(rest) {
                stretch.value.left.store(word(left.end..left.end + 1), Ordering::Relaxed);
            }
            let ends = taken(&shares, 0);
            assert_eq!(ends.iter().map(|share| share.end).max(), Some(end));
            assert!(ends.iter().all(|share| !share.is_empty()), "{ends:?}");
        }
    }

    #[test]
    fn nothing_is_taken_of_what_stops() {
        let (shares, stop) = (Shares::new(100, 1, 2, true), StopFlag::default());
        assert!(shares.take(0, None, &stop).is_some());
        stop.raise(StopReason::Cancelled);
        assert_eq!(shares.take(0, None, &stop), None);
        assert_eq!(shares.take(1, None, &stop), None);
        // It is not over either.
        assert!(shares.has_groups());
    }

    #[test]
    fn what_belongs_together_is_in_one_share() {
        for (total, threads, has_stretches) in
            [(1000, 3, true), (1000, 1, false), (15, 4, true), (64, 4, true)]
        {
            let shares = Shares::new(total, 16, threads, has_stretches);
            let all = taken(&shares, shares.come());
            assert!(all.iter().all(|share| share.start.is_multiple_of(16)), "{all:?}");
            assert!(all.iter().all(|share| share.end.is_multiple_of(16) || share.end == total), "{all:?}");
            assert_all_once(all, total);
        }
    }
}

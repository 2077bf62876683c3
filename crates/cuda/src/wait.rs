//! Waiting for the end of what a GPU does, or making it end.

use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::sys::{self, CUevent, CUresult};
use phalanx_host::CancelToken;

use crate::error::Error;
use crate::launch::Queue;

/// How long a kernel may take to end once it shall.
const GRACE: Duration = Duration::from_secs(2);

/// How long is waited without sleeping: as long as a short kernel takes.
const SPIN: Duration = Duration::from_micros(200);

/// Most dispatches that end with one mark: an event between launches costs as much as a part of a launch.
const MOST_OF_MARK: usize = 8;

/// The end of some dispatches.
#[derive(Clone, Debug)]
pub(crate) struct Mark<'a> {
    /// The number of the first of them.
    first: usize,
    count: usize,
    /// How long they may take together from the end of those before them.
    limit: Option<Duration>,
    cancels: Vec<&'a CancelToken>,
}

impl<'a> Mark<'a> {
    /// The end of nothing yet.
    pub(crate) fn new(first: usize) -> Self {
        Self { first, count: 0, limit: Some(Duration::ZERO), cancels: Vec::new() }
    }

    /// Whether it is the end of as many as it may.
    pub(crate) fn is_full(&self) -> bool {
        self.count >= MOST_OF_MARK
    }

    /// Makes it the end of one more.
    pub(crate) fn add(&mut self, limit: Option<Duration>, cancel: Option<&'a CancelToken>) {
        self.count += 1;
        self.limit = self.limit.zip(limit).map(|(all, one)| all.saturating_add(one));
        self.cancels.extend(cancel);
    }
}

impl Queue {
    /// Waits for the end of all that was handed over; events are behind all marks but the last. If dispatches were stopped: the
    /// first that may have been, and why.
    pub(crate) fn wait(&self, marks: &[Mark<'_>]) -> Result<Option<(usize, Error)>, Error> {
        let has_ended = |number: usize| match self.marks.get(number).filter(|_| number + 1 < marks.len()) {
            Some(&mark) => self.has_happened(mark),
            None => self.has_happened(self.span[1]),
        };
        let stop = || self.watch.write(0, &[1, 0, 0, 0]);
        wait(marks, GRACE, has_ended, stop).inspect_err(|error| {
            if let Error::Lost { why } = error {
                self.context.lose(why.clone());
            }
        })
    }

    fn has_happened(&self, event: CUevent) -> Result<bool, Error> {
        // SAFETY: the event is the queue's own and was recorded.
        match unsafe { sys::cuEventQuery(event) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            result => self.context.check("running a kernel", result).map(|()| true),
        }
    }
}

/// Waits until each of the marks has been come to, and what is behind the last of them, whose number is theirs. Once one takes
/// longer than it may, or a token is cancelled, all are to `stop`.
fn wait(
    marks: &[Mark<'_>],
    grace: Duration,
    has_ended: impl Fn(usize) -> Result<bool, Error>,
    stop: impl Fn(),
) -> Result<Option<(usize, Error)>, Error> {
    let is_cancelled = |mark: &Mark<'_>| mark.cancels.iter().any(|cancel| cancel.is_cancelled());
    let start = Instant::now();
    let mut stopped: Option<(usize, Error)> = None;
    // How many have ended, and since when nothing else has.
    let (mut ended, mut since) = (0, start);
    loop {
        while has_ended(ended)? {
            if ended == marks.len() {
                return Ok(stopped);
            }
            (ended, since) = (ended + 1, Instant::now());
        }
        let now = Instant::now();
        let why = match (&stopped, marks.get(ended).and_then(|mark| mark.limit)) {
            (Some(_), _) if now - since > grace => {
                let why = format!("a kernel did not end within {grace:?} after it was stopped");
                return Err(Error::Lost { why });
            }
            (Some(_), _) => None,
            (None, Some(limit)) if now - since > limit => Some(Error::Timeout { limit }),
            (None, _) => marks[ended..].iter().any(is_cancelled).then_some(Error::Cancelled),
        };
        if let Some(why) = why {
            stop();
            stopped = Some((marks.get(ended).map_or(0, |mark| mark.first), why));
            since = now;
        }
        match now - start < SPIN {
            true => std::hint::spin_loop(),
            false => thread::sleep(Duration::from_micros(20)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const LIMIT: Duration = Duration::from_millis(5);

    fn marks<'a>(limit: Option<Duration>, cancel: Option<&'a CancelToken>) -> [Mark<'a>; 3] {
        [0, 1, 2].map(|first| {
            let mut mark = Mark::new(first);
            mark.add(limit, cancel);
            mark
        })
    }

    /// Waits for three dispatches of which the second does not end before it is stopped, if then.
    fn second_hangs(
        marks: &[Mark<'_>],
        ends: bool,
        look: impl Fn(),
    ) -> Result<Option<(usize, Error)>, Error> {
        let is_stopped = Cell::new(false);
        let has_ended = |number: usize| {
            look();
            Ok(number == 0 || is_stopped.get() && ends)
        };
        wait(marks, LIMIT, has_ended, || is_stopped.set(true))
    }

    #[test]
    fn the_end_is_waited_for() {
        let asked = Cell::new(0);
        let has_ended = |number: usize| {
            asked.set(asked.get() + 1);
            Ok(asked.get() > 10 * number)
        };
        let marks = marks(None, None);
        assert_eq!(wait(&marks, LIMIT, has_ended, || panic!("nothing takes too long")), Ok(None));
        assert!(asked.get() > 30);
    }

    #[test]
    fn the_one_that_takes_too_long_is_told() {
        let marks = marks(Some(LIMIT), None);
        let stopped = Ok(Some((1, Error::Timeout { limit: LIMIT })));
        assert_eq!(second_hangs(&marks, true, || ()), stopped);
        assert!(matches!(second_hangs(&marks, false, || ()), Err(Error::Lost { .. })));
    }

    #[test]
    fn who_cancels_ends_it() {
        let token = CancelToken::default();
        let marks = marks(None, Some(&token));
        assert_eq!(second_hangs(&marks, true, || token.cancel()), Ok(Some((1, Error::Cancelled))));
    }

    #[test]
    fn dispatches_that_share_a_mark_share_their_time() {
        let mut mark = Mark::new(0);
        (0..MOST_OF_MARK).for_each(|_| mark.add(Some(LIMIT), None));
        assert_eq!((mark.is_full(), mark.limit), (true, Some(LIMIT * MOST_OF_MARK as u32)));
        // As long as it takes, if one of them has no limit.
        mark.add(None, None);
        mark.add(Some(LIMIT), None);
        assert_eq!(mark.limit, None);
    }
}

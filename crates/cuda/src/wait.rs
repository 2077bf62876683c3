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

/// The end of a dispatch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark<'a> {
    /// How long it may take from the end of the one before it.
    pub(crate) limit: Option<Duration>,
    pub(crate) cancel: Option<&'a CancelToken>,
}

impl Queue {
    /// Waits for the end of all that was handed over. If dispatches were stopped: the first of them, and why.
    pub(crate) fn wait(&self, marks: &[Mark<'_>]) -> Result<Option<(usize, Error)>, Error> {
        let has_ended = |number: usize| match self.marks.get(number).filter(|_| number < marks.len()) {
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
    let is_cancelled = |mark: &Mark<'_>| mark.cancel.is_some_and(CancelToken::is_cancelled);
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
            stopped = Some((ended, why));
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

    /// Waits for three dispatches of which the second does not end before it is stopped, if then.
    fn second_hangs(mark: Mark<'_>, ends: bool, look: impl Fn()) -> Result<Option<(usize, Error)>, Error> {
        let is_stopped = Cell::new(false);
        let has_ended = |number: usize| {
            look();
            Ok(number == 0 || is_stopped.get() && ends)
        };
        wait(&[mark; 3], LIMIT, has_ended, || is_stopped.set(true))
    }

    #[test]
    fn the_end_is_waited_for() {
        let asked = Cell::new(0);
        let has_ended = |number: usize| {
            asked.set(asked.get() + 1);
            Ok(asked.get() > 10 * number)
        };
        let mark = Mark { limit: None, cancel: None };
        assert_eq!(wait(&[mark; 3], LIMIT, has_ended, || panic!("nothing takes too long")), Ok(None));
        assert!(asked.get() > 30);
    }

    #[test]
    fn the_one_that_takes_too_long_is_told() {
        let mark = Mark { limit: Some(LIMIT), cancel: None };
        assert_eq!(second_hangs(mark, true, || ()), Ok(Some((1, Error::Timeout { limit: LIMIT }))));
        assert!(matches!(second_hangs(mark, false, || ()), Err(Error::Lost { .. })));
    }

    #[test]
    fn who_cancels_ends_it() {
        let token = CancelToken::default();
        let mark = Mark { limit: None, cancel: Some(&token) };
        assert_eq!(second_hangs(mark, true, || token.cancel()), Ok(Some((1, Error::Cancelled))));
    }
}

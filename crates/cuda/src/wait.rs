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
        let is_cancelled = |mark: &Mark<'_>| mark.cancel.is_some_and(CancelToken::is_cancelled);
        let start = Instant::now();
        let mut stopped: Option<(usize, Error)> = None;
        // How many have ended, and since when nothing else has.
        let (mut ended, mut since) = (0, start);
        loop {
            while ended < marks.len() && self.has_happened(self.marks[ended])? {
                (ended, since) = (ended + 1, Instant::now());
            }
            if ended == marks.len() && self.has_happened(self.span[1])? {
                return Ok(stopped);
            }
            let now = Instant::now();
            let why = match (&stopped, marks.get(ended).and_then(|mark| mark.limit)) {
                (Some(_), _) if now - since > GRACE => {
                    let why = format!("a kernel did not end within {GRACE:?} after it was stopped");
                    self.context.lose(why.clone());
                    return Err(Error::Lost { why });
                }
                (Some(_), _) => None,
                (None, Some(limit)) if now - since > limit => Some(Error::Timeout { limit }),
                (None, _) => marks[ended..].iter().any(is_cancelled).then_some(Error::Cancelled),
            };
            if let Some(why) = why {
                self.watch.write(0, &[1, 0, 0, 0]);
                stopped = Some((ended, why));
                since = now;
            }
            match now - start < SPIN {
                true => std::hint::spin_loop(),
                false => thread::sleep(Duration::from_micros(20)),
            }
        }
    }

    fn has_happened(&self, event: CUevent) -> Result<bool, Error> {
        // SAFETY: the event is the queue's own and was recorded.
        match unsafe { sys::cuEventQuery(event) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            result => self.context.check("running a kernel", result).map(|()| true),
        }
    }
}

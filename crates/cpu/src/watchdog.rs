//! Ends dispatches that take too long.
//!
//! One [`Watchdog`] thread per device raises the flags of dispatches that are out of time; it sleeps
//! until the earliest deadline that it knows, and is woken only for an earlier one, so that a
//! dispatch rarely pays for more than a lock. Time in which the process was stopped does not count: the clock goes on
//! while a process is stopped (by a debugger, or `SIGSTOP`), so the thread wakes at least every [`BEAT`] while it watches
//! something, and puts the deadlines off when it finds that it could not.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use phalanx_host::{StopFlag, StopReason};

use crate::process::Process;

/// How long the watchdog sleeps at most while there are dispatches.
const BEAT: Duration = Duration::from_millis(250);

/// A thread that wakes so much too late was not just waiting for a core: the process did not run at all.
const FORGIVEN: Duration = Duration::from_millis(500);

/// Raises the flags of dispatches that are out of time.
#[derive(Debug)]
pub(crate) struct Watchdog {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    process: Process,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    watched: Vec<(Instant, Weak<StopFlag>)>,
    /// When the thread looks next without being woken; never, if absent.
    next_look: Option<Instant>,
    closed: bool,
}

impl Watchdog {
    /// Starts the thread.
    pub(crate) fn new() -> std::io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("phalanx-watchdog".into())
            .stack_size(64 << 10)
            .spawn(move || watch(&for_thread))?;
        Ok(Self { shared, thread: Some(thread), process: Process::current() })
    }

    /// Raises `flag` after `limit`, unless it is dropped before.
    pub(crate) fn guard(&self, flag: &Arc<StopFlag>, limit: Duration) {
        let Some(deadline) = Instant::now().checked_add(limit) else {
            return; // Later than any clock can tell.
        };
        let mut state = lock(&self.shared.state);
        state.watched.retain(|(_, flag)| flag.strong_count() > 0);
        state.watched.push((deadline, Arc::downgrade(flag)));
        if state.next_look.is_none_or(|look| deadline < look) {
            state.next_look = Some(deadline);
            self.shared.changed.notify_one();
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if self.process.is_copy() {
            // The thread is not here, and the lock may be its.
            return self.thread.take().into_iter().for_each(std::mem::forget);
        }
        lock(&self.shared.state).closed = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // It can only have panicked, and then there is nothing left to end.
            let _panicked = thread.join();
        }
    }
}

/// The thread of the watchdog.
fn watch(shared: &Shared) {
    let mut state = lock(&shared.state);
    let mut expected = None;
    while !state.closed {
        let now = Instant::now();
        if let Some(expected) = expected {
            state.forgive(now.saturating_duration_since(expected));
        }
        state.look(now);
        let changed = &shared.changed;
        // With dispatches to watch, it wakes often enough to see that it could not.
        expected = state.next_look.map(|look| look.min(now + BEAT));
        state = match expected {
            Some(look) => {
                let wait = look.saturating_duration_since(now);
                changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0
            }
            None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
        };
    }
}

impl State {
    /// Raises the flags of dispatches whose time is over, and forgets those and the ones that have ended.
    fn look(&mut self, now: Instant) {
        self.watched.retain(|(deadline, flag)| match flag.upgrade() {
            Some(flag) if *deadline <= now => {
                flag.raise(StopReason::Timeout);
                false
            }
            Some(_) => true,
            None => false,
        });
        self.next_look = self.watched.iter().map(|(deadline, _)| *deadline).min();
    }

    /// Puts deadlines off by the time for which the process was stopped, where the thread woke so much too late.
    fn forgive(&mut self, late: Duration) {
        if late < FORGIVEN {
            return;
        }
        for (deadline, _) in &mut self.watched {
            // A deadline that no clock can tell any more is never reached.
            *deadline = deadline.checked_add(late).unwrap_or(*deadline);
        }
    }
}

/// Locks. What these locks guard stays consistent even when a holder panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_for(flag: &StopFlag) -> Option<StopReason> {
        let start = Instant::now();
        while !flag.is_raised() && start.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(1));
        }
        flag.reason()
    }

    #[test]
    fn deadlines_are_kept_in_any_order() {
        let watchdog = Watchdog::new().unwrap();
        let [late, soon, never] = [(); 3].map(|()| Arc::<StopFlag>::default());
        watchdog.guard(&late, Duration::from_millis(60));
        watchdog.guard(&soon, Duration::from_millis(5));
        watchdog.guard(&never, Duration::MAX);
        assert_eq!(wait_for(&soon), Some(StopReason::Timeout));
        assert_eq!(wait_for(&late), Some(StopReason::Timeout));
        assert_eq!(never.reason(), None);
    }

    #[test]
    fn time_in_which_the_process_did_not_run_does_not_count() {
        let flag = Arc::<StopFlag>::default();
        let start = Instant::now();
        let mut state = State { watched: vec![(start, Arc::downgrade(&flag))], ..State::default() };
        // Late by as much as a busy machine makes it, which is no excuse, and then by an hour.
        state.forgive(FORGIVEN / 2);
        assert_eq!(state.watched[0].0, start);
        let hour = Duration::from_secs(3600);
        state.forgive(hour);
        state.look(start + hour - Duration::from_nanos(1));
        assert_eq!(flag.reason(), None);
        assert_eq!(state.next_look, Some(start + hour));
        state.look(start + hour);
        assert_eq!(flag.reason(), Some(StopReason::Timeout));
    }

    #[test]
    fn finished_dispatches_are_forgotten() {
        let watchdog = Watchdog::new().unwrap();
        for _ in 0..1000 {
            watchdog.guard(&Arc::default(), Duration::from_secs(1000));
        }
        assert!(lock(&watchdog.shared.state).watched.len() <= 1);
    }
}

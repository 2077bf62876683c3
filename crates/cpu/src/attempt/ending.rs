//! How work ends, told from one thread to another.
//!
//! Telling must not need memory, as one of the ends is that there is none: everything is made before
//! the work begins.

use std::cell::Cell;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use phalanx_host::CancelToken;

use super::exit;

/// How often a cancellation is looked for.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// How work ended, or was given up.
#[expect(clippy::large_enum_variant, reason = "a box would need memory when there is none")]
#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    Done,
    OutOfMemory,
    Fatal(Text),
    Cancelled,
    Timeout,
}

/// The beginning of a text, without memory of its own.
#[derive(Clone, Copy)]
pub(super) struct Text {
    bytes: [u8; 240],
    length: usize,
}

impl Text {
    pub(super) fn new(text: &[u8]) -> Self {
        let mut bytes = [0; 240];
        let length = text.len().min(bytes.len());
        bytes[..length].copy_from_slice(&text[..length]);
        Self { bytes, length }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.bytes[..self.length]))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The end of work, which somebody waits for.
#[derive(Debug, Default)]
pub(super) struct Ending {
    how: Mutex<Option<How>>,
    changed: Condvar,
    /// The system's numbers of the thread and of that for a part of its work; 0 before they begin.
    threads: [AtomicI32; 2],
}

/// Whose thread it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// The work's.
    Whole,
    /// That for a part of it.
    Part,
}

impl Ending {
    /// Tells the end, the first time.
    pub(super) fn set(&self, how: How) {
        let mut place = self.how.lock().unwrap_or_else(PoisonError::into_inner);
        place.get_or_insert(how);
        self.changed.notify_one();
    }

    /// Whether there was an end, or the work was given up.
    pub(super) fn is_told(&self) -> bool {
        self.how.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Waits for the end, and gives the work up if it does not come.
    pub(super) fn wait(&self, limit: Option<Duration>, cancel: Option<&CancelToken>) -> How {
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut how = self.how.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(how) = *how {
                return how;
            }
            if cancel.is_some_and(CancelToken::is_cancelled) {
                self.leave_behind();
                return *how.insert(How::Cancelled);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                self.leave_behind();
                return *how.insert(How::Timeout);
            }
            let pause = left.into_iter().chain(cancel.map(|_| LOOK)).min();
            how = match pause {
                Some(pause) => {
                    self.changed.wait_timeout(how, pause).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(how).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Lets threads that nobody waits for run only when nothing else wants to.
    fn leave_behind(&self) {
        exit::wait_at_exit();
        #[cfg(target_os = "linux")]
        for thread in &self.threads {
            if let Ok(thread @ 1..) = libc::id_t::try_from(thread.load(Ordering::Relaxed)) {
                // SAFETY: it only changes a thread's priority; on Linux each thread has one of its own.
                let _best_effort = unsafe { libc::setpriority(libc::PRIO_PROCESS, thread, 19) };
            }
        }
    }
}

thread_local! {
    /// The end that somebody waits for, of the work that this thread does. It is borrowed from the
    /// caller of [`watched_by`], and null outside of it.
    static WATCHED: Cell<*const Ending> = const { Cell::new(ptr::null()) };
}

/// Whether this thread does work whose end is waited for.
pub(super) fn is_watched() -> bool {
    !WATCHED.get().is_null()
}

/// The end of the work that this thread does, if somebody waits for it.
pub(super) fn watched() -> Option<Arc<Ending>> {
    let watched = WATCHED.get();
    if watched.is_null() {
        return None;
    }
    // SAFETY: it is from an `Arc` that `watched_by` borrows until it is reset, on this thread.
    unsafe { Arc::increment_strong_count(watched) };
    // SAFETY: this is the count that was added.
    Some(unsafe { Arc::from_raw(watched) })
}

/// Does work, or a part of it, whose end [`tell`] can tell.
pub(super) fn watched_by(ending: &Arc<Ending>, piece: Piece, work: impl FnOnce()) {
    let thread = &ending.threads[piece as usize];
    #[cfg(target_os = "linux")]
    // SAFETY: it only asks the system for a number.
    thread.store(unsafe { libc::gettid() }, Ordering::Relaxed);
    WATCHED.set(Arc::as_ptr(ending));
    work();
    WATCHED.set(ptr::null());
    // Whoever has the thread next has its own work.
    thread.store(0, Ordering::Relaxed);
}

/// Tells those who wait for this thread's work that it came to this end, and never returns; returns if
/// nobody waits.
///
/// The thread sleeps for ever, with what it holds. It takes no memory to get there.
pub(super) fn tell(how: How) {
    let Ok(watched) = WATCHED.try_with(Cell::get) else { return };
    if watched.is_null() {
        return;
    }
    // SAFETY: it is set while `watched_by` borrows the ending, and this is the thread that it runs on.
    unsafe { &*watched }.set(how);
    exit::no_longer_works();
    loop {
        // SAFETY: it waits for a signal's handler to return.
        unsafe { libc::pause() };
    }
}

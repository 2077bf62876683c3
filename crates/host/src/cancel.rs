//! Ends dispatches before their time.
//!
//! Each dispatch has a [`StopFlag`], which its code polls at every loop. The first reason to stop stands.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Why a dispatch stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum StopReason {
    /// Someone cancelled it.
    Cancelled = 1,
    /// It ran out of time.
    Timeout = 2,
    /// The device could not run it.
    Failed = 3,
}

/// Nonzero when a dispatch has to stop.
#[derive(Debug, Default)]
pub struct StopFlag(AtomicU32);

impl StopFlag {
    /// Stops the dispatch, unless it stops already.
    pub fn raise(&self, reason: StopReason) {
        // The flag guards no other data, so no order is needed.
        let _first = self.0.compare_exchange(0, reason as u32, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Why it stops, if it does.
    pub fn reason(&self) -> Option<StopReason> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(StopReason::Cancelled),
            2 => Some(StopReason::Timeout),
            _ => Some(StopReason::Failed),
        }
    }

    /// Whether it stops.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// What compiled code polls.
    pub fn as_ptr(&self) -> *const AtomicU32 {
        &raw const self.0
    }
}

/// Cancels dispatches from another thread. Clones cancel the same dispatches.
///
/// A dispatch that gets a token stops when the token is cancelled, at once if it is already.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<CancelState>);

#[derive(Debug, Default)]
struct CancelState {
    cancelled: AtomicBool,
    flags: Mutex<Vec<Weak<StopFlag>>>,
}

impl CancelToken {
    /// Stops all dispatches that have this token, those to come included.
    pub fn cancel(&self) {
        let flags = lock(&self.0.flags);
        self.0.cancelled.store(true, Ordering::Relaxed);
        for flag in flags.iter().filter_map(Weak::upgrade) {
            flag.raise(StopReason::Cancelled);
        }
    }

    /// Whether `cancel` has been called.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }

    /// Makes `cancel` raise this flag too.
    pub fn watch(&self, flag: &Arc<StopFlag>) {
        let mut flags = lock(&self.0.flags);
        if self.is_cancelled() {
            flag.raise(StopReason::Cancelled);
        }
        flags.retain(|other| other.strong_count() > 0);
        flags.push(Arc::downgrade(flag));
    }
}

/// Locks. What this lock guards stays consistent even when a holder panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_cancel_before_and_after() {
        let token = CancelToken::default();
        let early = Arc::<StopFlag>::default();
        token.watch(&early);
        assert!(!early.is_raised());
        token.clone().cancel();
        let late = Arc::<StopFlag>::default();
        token.watch(&late);
        assert_eq!(early.reason(), Some(StopReason::Cancelled));
        assert_eq!(late.reason(), Some(StopReason::Cancelled));
    }

    #[test]
    fn the_first_reason_stands() {
        let flag = StopFlag::default();
        flag.raise(StopReason::Timeout);
        flag.raise(StopReason::Cancelled);
        assert_eq!(flag.reason(), Some(StopReason::Timeout));
    }
}

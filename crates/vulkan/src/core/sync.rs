//! Fences, semaphores and events.
//!
//! Each is a number that is read without a lock. Whoever changes one calls [`Notifier::notify`] afterwards;
//! whoever waits for one looks at it in [`Notifier::wait`].

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use vulkanalia_sys as vk;

use crate::core::device::Device;

/// How long one looks out for what is about to happen before sleeping: longer than it takes to wake a thread on another
/// core. Else two threads that wait for each other by turns would sleep each time, just before the other is awake.
pub(crate) const LINGER: Duration = Duration::from_micros(50);

/// Looks at a fence that is not signalled that only make room for other threads; later ones sleep.
const EAGER_POLLS: u32 = 100;

/// How long such a sleep lasts, unless the fence is signalled.
const POLL_SLEEP: Duration = Duration::from_micros(100);

/// Wakes those who wait for something of a device.
#[derive(Debug, Default)]
pub(crate) struct Notifier {
    /// Threads that sleep or are about to.
    sleepers: AtomicUsize,
    /// Held while a sleeper looks for the last time.
    gate: Mutex<()>,
    changed: Condvar,
}

impl Notifier {
    /// Wakes everybody to look again. What they look at is changed before.
    pub(crate) fn notify(&self) {
        // With the fence in `wait`: either the sleeper is counted here, or it sees the change.
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) == 0 {
            return;
        }
        // A sleeper that was counted has not looked yet, or is asleep.
        drop(self.gate.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Waits until `look` finds something or the deadline has passed; without a deadline for ever.
    pub(crate) fn wait<T>(
        &self,
        deadline: Option<Instant>,
        mut look: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        let first = Instant::now();
        let patience = deadline.map_or(first + LINGER, |deadline| deadline.min(first + LINGER));
        if let found @ Some(_) = linger(patience, &mut look) {
            return found;
        }
        let _sleeper = Sleeper::new(self);
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let found @ Some(_) = look() {
                return found;
            }
            gate = match deadline {
                None => self.changed.wait(gate).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left =
                        deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
                    self.changed.wait_timeout(gate, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

/// Counts a sleeper for as long as it lives.
struct Sleeper<'a>(&'a Notifier);

impl<'a> Sleeper<'a> {
    fn new(notifier: &'a Notifier) -> Self {
        notifier.sleepers.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        Self(notifier)
    }
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        self.0.sleepers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Looks until something is found or the time has come, at least once. Where another thread wants the core it
/// gets it: it may be the one that does what is looked for.
pub(crate) fn linger<T>(until: Instant, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    loop {
        for _ in 0..16 {
            if let found @ Some(_) = look() {
                return found;
            }
            std::hint::spin_loop();
        }
        if Instant::now() >= until {
            return None;
        }
        std::thread::yield_now();
    }
}

/// When a wait of so many nanoseconds ends; never, if that is later than a clock can tell.
fn deadline(nanoseconds: u64) -> Option<Instant> {
    if nanoseconds == u64::MAX {
        return None;
    }
    Instant::now().checked_add(Duration::from_nanos(nanoseconds))
}

/// A fence.
#[derive(Debug)]
pub(crate) struct Fence {
    signaled: AtomicBool,
    /// Looks at it while it was not signalled, in a row.
    polls: AtomicU32,
}

impl Fence {
    /// A fence.
    pub(crate) fn new(signaled: bool) -> Self {
        Self { signaled: AtomicBool::new(signaled), polls: AtomicU32::new(0) }
    }

    /// Whether it is signalled.
    pub(crate) fn is_signaled(&self) -> bool {
        self.signaled.load(Ordering::Acquire)
    }

    /// As [`Fence::is_signaled`], for applications that ask again and again: makes room for the threads that
    /// do the work, and after many questions takes a little time over the answer.
    pub(crate) fn poll(&self, notifier: &Notifier) -> bool {
        if self.is_signaled() {
            return true;
        }
        if self.polls.fetch_add(1, Ordering::Relaxed) < EAGER_POLLS {
            std::thread::yield_now();
            return self.is_signaled();
        }
        // Stays at the limit rather than beginning anew.
        self.polls.store(EAGER_POLLS, Ordering::Relaxed);
        notifier.wait(Some(Instant::now() + POLL_SLEEP), || self.is_signaled().then_some(())).is_some()
    }

    /// Signals it; the notifier is told by the caller.
    pub(crate) fn signal(&self) {
        self.polls.store(0, Ordering::Relaxed);
        self.signaled.store(true, Ordering::Release);
    }

    /// Makes it not signalled.
    pub(crate) fn reset(&self) {
        self.signaled.store(false, Ordering::Release);
    }
}

/// A semaphore, binary or timeline.
///
/// The signals of a binary semaphore are counted when they are submitted, and a wait waits for the last one
/// submitted before it (a wait must not be submitted before its signal, VUID-vkQueueSubmit-pWaitSemaphores-03238).
/// So a binary semaphore is a timeline whose values the queues choose.
#[derive(Debug)]
pub(crate) struct Semaphore {
    value: AtomicU64,
    /// Signals submitted; of a binary semaphore only.
    submitted: Option<AtomicU64>,
}

impl Semaphore {
    /// A binary semaphore.
    pub(crate) fn binary() -> Self {
        Self { value: AtomicU64::new(0), submitted: Some(AtomicU64::new(0)) }
    }

    /// A timeline semaphore.
    pub(crate) fn timeline(value: u64) -> Self {
        Self { value: AtomicU64::new(value), submitted: None }
    }

    /// Whether it is a timeline semaphore.
    pub(crate) fn is_timeline(&self) -> bool {
        self.submitted.is_none()
    }

    /// The value of its timeline.
    pub(crate) fn value(&self) -> u64 {
        self.value.load(Ordering::Acquire)
    }

    /// Raises the value; the notifier is told by the caller. A value that is not greater than the present one
    /// is invalid (VUID-VkSemaphoreSignalInfo-value-03258) and does nothing.
    pub(crate) fn signal(&self, value: u64) {
        self.value.fetch_max(value, Ordering::AcqRel);
    }

    /// The value that a wait submitted now waits for; `given` for a timeline.
    pub(crate) fn value_to_wait(&self, given: u64) -> u64 {
        self.submitted.as_ref().map_or(given, |count| count.load(Ordering::Acquire))
    }

    /// The value that a signal submitted now gives it; `given` for a timeline.
    pub(crate) fn value_to_signal(&self, given: u64) -> u64 {
        self.submitted.as_ref().map_or(given, |count| count.fetch_add(1, Ordering::AcqRel) + 1)
    }
}

/// An event.
#[derive(Debug, Default)]
pub(crate) struct Event {
    set: AtomicBool,
}

impl Event {
    /// Whether it is set.
    pub(crate) fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }

    /// Sets or resets it; the notifier is told by the caller.
    pub(crate) fn set(&self, set: bool) {
        self.set.store(set, Ordering::Release);
    }
}

/// Waits until something of the device is ready.
///
/// *Lost Device*: such a wait returns in finite time, successful or with `VK_ERROR_DEVICE_LOST`.
pub(crate) fn wait(device: &Device, nanoseconds: u64, is_ready: impl Fn() -> bool) -> Result<(), vk::Result> {
    let look = || {
        if is_ready() {
            return Some(Ok(()));
        }
        device.is_lost().then_some(Err(vk::Result::ERROR_DEVICE_LOST))
    };
    if nanoseconds == 0 {
        // Applications ask so again and again: make room for the threads that do the work.
        return look().unwrap_or_else(|| {
            std::thread::yield_now();
            look().unwrap_or(Err(vk::Result::TIMEOUT))
        });
    }
    device.notifier.wait(deadline(nanoseconds), look).unwrap_or(Err(vk::Result::TIMEOUT))
}

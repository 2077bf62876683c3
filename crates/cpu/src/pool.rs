//! Worker threads.
//!
//! [`Pool::run`] has a piece of [`Work`] done by the calling thread and as many workers as it
//! asks for; each of them takes shares of the work until none are left. Whoever panics tells the work, and that is all. Work belongs to nobody's
//! stack, so workers may come late or not at all, and several threads may run work at once.
//!
//! A worker without work looks out for more for [`LINGER`] and then sleeps. That makes a row of
//! small dispatches quick, and an idle process quiet. Who offers work wakes sleepers only for seats that nobody looks out
//! for, and no more than [`FAN`] of them, because each costs a call of the system; those wake the next.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

use crate::process::Process;

/// How long a worker looks out for work before it sleeps, and a caller for its last worker.
const LINGER: Duration = Duration::from_micros(50);

/// How many sleepers a thread wakes at most.
const FAN: usize = 3;

/// Stack of a worker thread; kernels run on stacks of their own.
const STACK_BYTES: usize = 256 << 10;

/// Something that several threads do together.
pub(crate) trait Work: Send + Sync {
    /// Takes shares of the work until none are left.
    fn work(&self);

    /// Somebody who did the work has panicked; the others should come to an end.
    fn panicked(&self, message: String);
}

/// Does the work. A panic is the work's failure, and no thread's end.
fn attempt(work: &dyn Work) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work.work())) {
        work.panicked(message_of(&*panic));
    }
}

/// What a panic says.
pub(crate) fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// Work with the workers that have joined.
struct Job {
    work: Arc<dyn Work>,
    /// Workers that have joined and not left.
    active: AtomicUsize,
    caller: Thread,
    /// Whether the caller sleeps until `active` is 0.
    is_awaited: AtomicBool,
}

/// Work that more workers may join.
struct Offer {
    job: Arc<Job>,
    seats: usize,
}

struct Queue {
    offers: VecDeque<Offer>,
    sleeping: usize,
    closed: bool,
}

impl Queue {
    fn seats(&self) -> usize {
        self.offers.iter().map(|offer| offer.seats).sum()
    }
}

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// A value that shares its line of the cache with no other, wherever it lies. It has no alignment of its own, because memory
/// that is aligned so takes the allocator several times as long.
#[repr(C)]
pub(crate) struct Apart<T> {
    _before: [u8; LINE],
    pub(crate) value: T,
    _after: [u8; LINE],
}

impl<T> Apart<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { _before: [0; LINE], value, _after: [0; LINE] }
    }
}

impl<T: Default> Default for Apart<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    /// Number of seats in the queue that nobody is on the way to, to look at without the lock. It may be wrong for
    /// a moment: who comes to the queue for nothing looks out again.
    seats: Apart<AtomicUsize>,
    /// Workers that look out for seats.
    looking: Apart<AtomicUsize>,
    /// As many as may: with more than there are cores, they would keep each other from them.
    may_look: usize,
}

/// A set of worker threads, which end with it.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    process: Process,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("workers", &self.threads.len()).finish_non_exhaustive()
    }
}

impl Pool {
    /// Starts `workers` threads.
    pub(crate) fn new(workers: usize) -> std::io::Result<Self> {
        let queue = Queue { offers: VecDeque::new(), sleeping: 0, closed: false };
        let shared = Arc::new(Shared {
            queue: Mutex::new(queue),
            wake: Condvar::new(),
            seats: Apart::default(),
            looking: Apart::default(),
            may_look: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
        });
        // On an error in the middle, dropping the pool ends the threads that did start.
        let mut pool = Self { shared, threads: Vec::new(), process: Process::current() };
        for index in 0..workers {
            let shared = Arc::clone(&pool.shared);
            let builder =
                std::thread::Builder::new().name(format!("phalanx-{index}")).stack_size(STACK_BYTES);
            pool.threads.push(builder.spawn(move || serve(&shared))?);
        }
        Ok(pool)
    }

    /// Threads that can work at once: the workers and a caller.
    pub(crate) fn parallelism(&self) -> usize {
        self.threads.len() + 1
    }

    /// Does the work on this thread and up to `helpers` workers; returns when nobody works on it.
    pub(crate) fn run<W: Work + 'static>(&self, work: &Arc<W>, helpers: usize) {
        let helpers = helpers.min(self.threads.len());
        if helpers == 0 {
            return attempt(&**work);
        }
        let shared: Arc<W> = Arc::clone(work);
        let job = Arc::new(Job {
            work: shared,
            active: AtomicUsize::new(0),
            caller: std::thread::current(),
            is_awaited: AtomicBool::new(false),
        });
        self.shared.offer(&job, helpers);
        attempt(&**work);
        self.shared.withdraw(&job);
        job.wait_until_left();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.process.is_copy() {
            // The threads are not here, and whatever they had locked stays so.
            return self.threads.drain(..).for_each(std::mem::forget);
        }
        self.shared.lock().closed = true;
        self.shared.wake.notify_all();
        for thread in self.threads.drain(..) {
            // It does not panic: panics of the work do not leave it.
            let _ended = thread.join();
        }
    }
}

impl Job {
    /// Counts the worker out, even when the work panicked.
    fn leave(&self) {
        // What the worker wrote is seen by the caller, who reads 0. Either the caller sees it, or it is seen here that the
        // caller sleeps: all four accesses are in one order (`SeqCst`).
        if self.active.fetch_sub(1, Ordering::SeqCst) == 1 && self.is_awaited.load(Ordering::SeqCst) {
            self.caller.unpark();
        }
    }

    fn wait_until_left(&self) {
        if linger(|| self.active.load(Ordering::Acquire) == 0) {
            return;
        }
        self.is_awaited.store(true, Ordering::SeqCst);
        while self.active.load(Ordering::SeqCst) != 0 {
            std::thread::park();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nothing under this lock panics half-way through a change.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets so many workers join.
    fn offer(&self, job: &Arc<Job>, seats: usize) {
        let mut queue = self.lock();
        queue.offers.push_back(Offer { job: Arc::clone(job), seats });
        self.publish_and_wake(queue);
    }

    /// Lets nobody else join.
    fn withdraw(&self, job: &Arc<Job>) {
        // Without seats the offer is gone, and that is all that it can become.
        let mut queue = self.lock();
        queue.offers.retain(|offer| !Arc::ptr_eq(&offer.job, job));
        self.seats.value.store(queue.seats(), Ordering::Relaxed);
    }

    /// Tells those who look out how many seats there are, and wakes some of those who sleep if these are too few.
    fn publish_and_wake(&self, queue: MutexGuard<'_, Queue>) {
        let seats = queue.seats();
        self.seats.value.store(seats, Ordering::Relaxed);
        let missing = seats.saturating_sub(self.looking.value.load(Ordering::Relaxed));
        let wake = missing.min(queue.sleeping).min(FAN);
        drop(queue);
        for _ in 0..wake {
            self.wake.notify_one();
        }
    }

    /// Looks out for a seat for a while.
    fn look_out(&self) {
        if self.looking.value.fetch_add(1, Ordering::Relaxed) < self.may_look {
            linger(|| {
                // Only as many as there are seats go on to the lock.
                let take = |seats: usize| seats.checked_sub(1);
                self.seats.value.load(Ordering::Relaxed) != 0
                    && self.seats.value.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
            });
        }
        self.looking.value.fetch_sub(1, Ordering::Relaxed);
    }

    /// Waits for a job and takes a seat; `None` when the pool closes.
    fn join_next(&self) -> Option<Arc<Job>> {
        self.look_out();
        let mut queue = self.lock();
        loop {
            if queue.closed {
                return None;
            }
            if let Some(offer) = queue.offers.front_mut() {
                let job = Arc::clone(&offer.job);
                job.active.fetch_add(1, Ordering::Relaxed);
                offer.seats -= 1;
                if offer.seats == 0 {
                    queue.offers.pop_front();
                }
                self.publish_and_wake(queue);
                return Some(job);
            }
            queue.sleeping += 1;
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.sleeping -= 1;
        }
    }
}

/// A worker thread.
fn serve(shared: &Shared) {
    /// Leaves the job at the end of a scope.
    struct Seat(Arc<Job>);
    impl Drop for Seat {
        fn drop(&mut self) {
            self.0.leave();
        }
    }
    while let Some(job) = shared.join_next() {
        let seat = Seat(job);
        attempt(&*seat.0.work);
    }
}

/// Looks for a while whether something holds. Where another thread wants the core it gets it: it may be the one
/// that makes it hold, or that brings the next work.
fn linger(holds: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    loop {
        for _ in 0..16 {
            if holds() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.elapsed() >= LINGER {
            return false;
        }
        std::thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    /// Adds up the numbers below `end`.
    struct Sum {
        next: AtomicU64,
        end: u64,
        sum: AtomicU64,
        workers: AtomicUsize,
        pause: Duration,
    }

    impl Sum {
        fn new(end: u64, pause: Duration) -> Arc<Self> {
            Arc::new(Self {
                next: AtomicU64::new(0),
                end,
                sum: AtomicU64::new(0),
                workers: AtomicUsize::new(0),
                pause,
            })
        }
    }

    impl Work for Sum {
        fn work(&self) {
            self.workers.fetch_add(1, Ordering::Relaxed);
            loop {
                let value = self.next.fetch_add(1, Ordering::Relaxed);
                if value >= self.end {
                    break;
                }
                std::thread::sleep(self.pause);
                self.sum.fetch_add(value, Ordering::Relaxed);
            }
        }

        fn panicked(&self, message: String) {
            unreachable!("{message}");
        }
    }

    /// Panics on every thread that comes to it, or on all but the caller's.
    struct Panics {
        caller: Option<std::thread::ThreadId>,
        entered: AtomicUsize,
        heard: Mutex<Vec<String>>,
    }

    impl Work for Panics {
        fn work(&self) {
            self.entered.fetch_add(1, Ordering::Relaxed);
            if self.caller == Some(std::thread::current().id()) {
                // Until a worker has come and told of its panic.
                while self.heard.lock().unwrap().is_empty() {
                    std::thread::yield_now();
                }
            } else {
                // Without the hook, which would print.
                std::panic::resume_unwind(Box::new("no more".to_owned()));
            }
        }

        fn panicked(&self, message: String) {
            self.heard.lock().unwrap().push(message);
        }
    }

    #[test]
    fn whoever_panics_tells_the_work_and_nobody_is_left_behind() {
        let pool = Pool::new(2).unwrap();
        for caller in [None, Some(std::thread::current().id())] {
            for _ in 0..50 {
                let work = Arc::new(Panics { caller, entered: AtomicUsize::new(0), heard: Mutex::default() });
                pool.run(&work, 2);
                let heard = work.heard.lock().unwrap().clone();
                let expected = work.entered.load(Ordering::Relaxed) - usize::from(caller.is_some());
                assert_eq!(heard, vec!["no more"; expected]);
                assert!(!heard.is_empty());
                drop(heard);
                // A worker forgets the work a little after it has left it.
                while Arc::strong_count(&work) > 1 {
                    std::thread::yield_now();
                }
            }
        }
        let sum = Sum::new(40, Duration::from_millis(1));
        pool.run(&sum, 2);
        assert_eq!(sum.sum.load(Ordering::Relaxed), (0..40).sum());
        assert_eq!(sum.workers.load(Ordering::Relaxed), 3, "the workers live on");
    }

    #[test]
    fn all_work_is_done_whatever_the_number_of_workers() {
        for workers in [0, 1, 7] {
            let pool = Pool::new(workers).unwrap();
            for end in [0, 1, 1000] {
                let sum = Sum::new(end, Duration::ZERO);
                pool.run(&sum, usize::MAX);
                assert_eq!(sum.sum.load(Ordering::Relaxed), (0..end).sum());
                assert!(sum.workers.load(Ordering::Relaxed) <= pool.parallelism());
            }
        }
    }

    #[test]
    fn workers_help() {
        let pool = Pool::new(3).unwrap();
        let sum = Sum::new(40, Duration::from_millis(5));
        pool.run(&sum, 2);
        assert_eq!(sum.workers.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn several_threads_may_run_work_at_once() {
        let pool = Pool::new(2).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let sum = Sum::new(20, Duration::ZERO);
                        pool.run(&sum, 2);
                        assert_eq!(sum.sum.load(Ordering::Relaxed), 190);
                    }
                });
            }
        });
        assert_eq!(pool.shared.seats.value.load(Ordering::Relaxed), 0);
    }
}

//! Dispatches that run side by side.
//!
//! Threads draw tickets. The first are for the first dispatch, as many as there are threads that it gains by; the next
//! are for the second, and so on. So large dispatches run one after the other, each on all threads, and the end of one
//! overlaps with the next; of small ones each thread has its own, and meets nobody. Who draws no ticket any more helps
//! where work-groups are left.
//!
//! A batch that will be over before another thread has come to it ([`BRIEF`]) is run by the calling thread alone, and
//! offered to others if it takes longer after all. Threads that meet in a dispatch keep each other waiting, so what its
//! work-groups seem to take then may be all waiting: one that cannot be long is begun alone now and then all the same.
//!
//! When a dispatch fails, those that have work-groups left are stopped, as they would not have begun had they come after it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use phalanx_kernels::Isa;

use crate::error::Error;
use crate::float_env;
use crate::jit::see_code;
use crate::pool::{Apart, Pool, Work, message_of};
use crate::run::{BRIEF, Run, Workplace, Workplaces};
use crate::watchdog::Watchdog;

/// Most dispatches of a batch. More are a row of batches.
pub(crate) const MAX_RUNS: usize = 64;

/// At least each so many-th dispatch that cannot be long begins on one thread though it took longer before.
const AGAIN: u32 = 64;

/// What a batch needs of its device.
#[derive(Debug)]
pub(crate) struct BatchParts<'a> {
    /// When the dispatches were asked for.
    pub(crate) start: Instant,
    pub(crate) isa: Isa,
    pub(crate) workplaces: &'a Arc<Workplaces>,
    pub(crate) watchdog: &'a Arc<Watchdog>,
    /// Whether faults of one of them are caught.
    pub(crate) is_guarded: bool,
}

/// Dispatches that run side by side.
pub(crate) struct Batch {
    runs: Vec<Run>,
    /// Tickets that were drawn.
    tickets: Apart<AtomicUsize>,
    /// Dispatches with work-groups that nobody has taken.
    open: Apart<AtomicUsize>,
    /// When it was ready; a lone dispatch, when it was asked for.
    start: Instant,
    isa: Isa,
    workplaces: Arc<Workplaces>,
    watchdog: Arc<Watchdog>,
    is_guarded: bool,
}

impl Batch {
    /// A batch for so many threads.
    pub(crate) fn new(mut runs: Vec<Run>, threads: usize, parts: BatchParts<'_>) -> Self {
        // To make many dispatches ready takes longer than to run those that are brief.
        let start = if runs.len() > 1 { Instant::now() } else { parts.start };
        let mut last = 0;
        for run in &mut runs {
            last += run.seats().min(threads);
            run.last_ticket = last;
            run.start = start;
        }
        Self {
            tickets: Apart::default(),
            open: Apart::new(AtomicUsize::new(runs.iter().filter(|run| run.has_groups()).count())),
            runs,
            start,
            isa: parts.isa,
            workplaces: Arc::clone(parts.workplaces),
            watchdog: Arc::clone(parts.watchdog),
            is_guarded: parts.is_guarded,
        }
    }

    /// Its dispatches.
    pub(crate) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Runs it on the pool, and waits for its end. Only if it `may_begin_alone`, it does so where it will be brief.
    pub(crate) fn run(self: &Arc<Self>, pool: &Pool, may_begin_alone: bool) {
        let is_brief = self.is_brief();
        let is_doubted = may_begin_alone && !is_brief && self.is_doubted(pool.parallelism());
        if may_begin_alone && is_brief || is_doubted {
            self.runs.iter().for_each(|run| run.set_alone(true));
            pool.run(self, 0);
            if !self.is_open() {
                if is_doubted {
                    self.runs[0].pipeline().doubts.store(0, Ordering::Relaxed);
                }
                return;
            }
            self.runs.iter().for_each(|run| run.set_alone(false));
        }
        let groups = |run: &Run| usize::try_from(run.total()).unwrap_or(usize::MAX);
        let most = self.runs.iter().map(groups).fold(0, usize::saturating_add);
        pool.run(self, most.saturating_sub(1));
    }

    /// Whether it will be over before another thread has come to it, by what the pipelines' work-groups took before.
    fn is_brief(&self) -> bool {
        let all = self.runs.iter().map(Run::expected_time).fold(Duration::ZERO, Duration::saturating_add);
        all < BRIEF
    }

    /// Whether it is to be found out if it is brief after all: a lone dispatch that all threads together seem to need so
    /// little time for that what this may take is little beside it. Twice as many are passed over after each that was not.
    fn is_doubted(&self, threads: usize) -> bool {
        let [run] = &*self.runs else { return false };
        let threads = u32::try_from(threads).unwrap_or(u32::MAX);
        if run.expected_time() / threads >= 4 * BRIEF {
            return false;
        }
        let doubts = run.pipeline().doubts.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        doubts.is_power_of_two() || doubts.is_multiple_of(AGAIN)
    }

    /// Whether the calling thread is alone, and has been for too long.
    fn is_late(&self) -> bool {
        self.runs.first().is_some_and(Run::is_alone) && self.start.elapsed() > BRIEF
    }

    fn is_open(&self) -> bool {
        self.open.value.load(Ordering::Relaxed) != 0
    }

    /// Draws tickets until there are none.
    fn work_at(&self, place: &mut Workplace) {
        let last = self.runs.last().map_or(0, |run| run.last_ticket);
        loop {
            let drawn = self.tickets.value.load(Ordering::Relaxed);
            if drawn >= last {
                break;
            }
            if drawn != 0 && self.is_late() {
                return;
            }
            let ticket = self.tickets.value.fetch_add(1, Ordering::Relaxed);
            let index = self.runs.partition_point(|run| run.last_ticket <= ticket);
            let Some(run) = self.runs.get(index) else { break };
            let is_first = index.checked_sub(1).map_or(0, |before| self.runs[before].last_ticket) == ticket;
            if is_first && run.has_groups() {
                run.begin(&self.watchdog);
            }
            self.work_on(run, place);
        }
        while self.is_open()
            && !self.is_late()
            && let Some(run) = self.runs.iter().find(|run| run.has_groups())
        {
            self.work_on(run, place);
        }
    }

    /// Works on a dispatch until it has no work-groups left, or has to stop.
    fn work_on(&self, run: &Run, place: &mut Workplace) {
        if run.has_groups() {
            match catch_unwind(AssertUnwindSafe(|| run.work_at(place))) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => run.fail(error),
                Err(panic) => {
                    run.fail(Error::Panic { message: message_of(&*panic) });
                    // Whatever the panic left there.
                    *place = Workplace::default();
                }
            }
        }
        if run.close() {
            self.open.value.fetch_sub(1, Ordering::Relaxed);
        }
        if run.has_failed() {
            self.runs.iter().filter(|other| other.has_groups()).for_each(Run::stop);
        }
    }
}

impl Work for Batch {
    fn work(&self) {
        if !self.is_open() {
            return;
        }
        see_code();
        let mut place = self.workplaces.take();
        let mut signal_stack = place.take_signal_stack();
        let mut work = || {
            let _ready = self.isa.ready();
            float_env::with_default(|| self.work_at(&mut place));
        };
        if self.is_guarded {
            signal_stack.with(work)
        } else {
            work()
        }
        self.workplaces.give_back(place, signal_stack);
    }

    fn panicked(&self, message: String) {
        self.runs.iter().for_each(|run| run.fail(Error::Panic { message: message.clone() }));
    }
}

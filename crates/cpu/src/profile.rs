//! Where the time of dispatches goes, by sampling.
//!
//! Each thread of a profiled dispatch has a [`Word`] that says where it is: compiled code writes the number of its site
//! there (see [`Site`]), the runtime the numbers that are its own. The thread of a [`Profiler`] reads the words of all
//! dispatches that run from time to time, and adds the time since it looked last to what it finds. The pauses are random,
//! so that no loop keeps step with it, and as short at the start of a dispatch as later: a row of dispatches that are
//! shorter than a pause gives right shares as well.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use phalanx_back_llvm::abi::{FIRST_SITE, Family, IDLE, SCHEDULING, Site};

use crate::pipeline::Pipeline;
use crate::process::Process;

/// The mean of the pauses of the sampling thread.
const PAUSE: Duration = Duration::from_micros(200);

/// With nothing to look at for so long, it sleeps.
const PATIENCE: Duration = Duration::from_millis(20);

/// Where a thread is. Each has lines of the cache to itself.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Word(AtomicU32);

impl Word {
    /// Notes a number of the runtime's own.
    pub(crate) fn set(&self, number: u32) {
        self.0.store(number, Ordering::Relaxed);
    }

    /// What compiled code writes to.
    pub(crate) fn as_ptr(&self) -> *const AtomicU32 {
        &raw const self.0
    }
}

/// What was seen of a pipeline.
pub(crate) struct Tally {
    name: String,
    code: u64,
    sites: Vec<Site>,
    threads: usize,
    /// Nanoseconds by the number of the site.
    seen: Box<[AtomicU64]>,
    samples: AtomicU64,
    dispatches: AtomicU64,
    /// Nanoseconds.
    elapsed: AtomicU64,
}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tally").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Tally {
    fn new(pipeline: &Pipeline, threads: usize) -> Self {
        let sites = pipeline.meta().sites.clone();
        let count = sites.len() + FIRST_SITE as usize;
        let code = pipeline.code().map_or([0; 8], |code| std::array::from_fn(|i| code.key().bytes()[i]));
        Self {
            name: pipeline.name().to_owned(),
            code: u64::from_be_bytes(code),
            sites,
            threads,
            seen: (0..count).map(|_| AtomicU64::new(0)).collect(),
            samples: AtomicU64::new(0),
            dispatches: AtomicU64::new(0),
            elapsed: AtomicU64::new(0),
        }
    }

    fn add(&self, number: u32, time: u64) {
        // A word that nobody of this pipeline wrote is none's site.
        let seen = self.seen.get(number as usize).unwrap_or(&self.seen[SCHEDULING as usize]);
        seen.fetch_add(time, Ordering::Relaxed);
        self.samples.fetch_add(1, Ordering::Relaxed);
    }

    fn profile(&self) -> PipelineProfile {
        let own = |family| Site { family, ..Site::default() };
        let site = |number: usize| match number as u32 {
            IDLE => own(Family::Idle),
            SCHEDULING => own(Family::Scheduling),
            _ => self.sites[number - FIRST_SITE as usize].clone(),
        };
        let seen = self.seen.iter().map(|time| Duration::from_nanos(time.load(Ordering::Relaxed)));
        PipelineProfile {
            name: self.name.clone(),
            code: self.code,
            threads: self.threads,
            dispatches: self.dispatches.load(Ordering::Relaxed),
            elapsed: Duration::from_nanos(self.elapsed.load(Ordering::Relaxed)),
            samples: self.samples.load(Ordering::Relaxed),
            sites: seen.enumerate().map(|(number, time)| (site(number), time)).collect(),
        }
    }
}

/// Where the time of a pipeline's dispatches went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PipelineProfile {
    /// Name of the entry point.
    pub name: String,
    /// The beginning of its key in the cache, which tells pipelines of the same name apart.
    pub code: u64,
    /// Threads that each dispatch could have had.
    pub threads: usize,
    /// How many have ended.
    pub dispatches: u64,
    /// How long these took, together.
    pub elapsed: Duration,
    /// How often a thread was looked at.
    pub samples: u64,
    /// The time that was seen at each site, of all threads together. The first two are the runtime's own.
    pub sites: Vec<(Site, Duration)>,
}

/// A dispatch that is looked at.
#[derive(Debug)]
pub(crate) struct Watch {
    tally: Arc<Tally>,
    words: Box<[Arc<Word>]>,
    taken: AtomicUsize,
}

impl Watch {
    /// The word of one more thread.
    pub(crate) fn word(&self) -> Arc<Word> {
        let index = self.taken.fetch_add(1, Ordering::Relaxed);
        Arc::clone(&self.words[index % self.words.len()])
    }
}

/// Looks at dispatches.
#[derive(Debug)]
pub(crate) struct Profiler {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    process: Process,
    threads: usize,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    watched: Vec<Arc<Watch>>,
    tallies: Vec<Arc<Tally>>,
    rests: bool,
    closed: bool,
}

impl Profiler {
    /// Starts its thread, for dispatches on so many threads.
    pub(crate) fn new(threads: usize) -> std::io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("phalanx-profiler".into())
            .stack_size(64 << 10)
            .spawn(move || look(&for_thread))?;
        Ok(Self { shared, thread: Some(thread), process: Process::current(), threads })
    }

    /// Words for a dispatch.
    pub(crate) fn watch(&self, pipeline: &Pipeline) -> Arc<Watch> {
        let tally = pipeline.tally.get_or_init(|| Arc::new(Tally::new(pipeline, self.threads)));
        let words = (0..self.threads).map(|_| Arc::new(Word(AtomicU32::new(IDLE)))).collect();
        Arc::new(Watch { tally: Arc::clone(tally), words, taken: AtomicUsize::new(0) })
    }

    /// The dispatch begins.
    pub(crate) fn begin(&self, watch: &Arc<Watch>) {
        let mut state = self.shared.lock();
        if watch.tally.dispatches.load(Ordering::Relaxed) == 0
            && !state.tallies.iter().any(|known| Arc::ptr_eq(known, &watch.tally))
        {
            state.tallies.push(Arc::clone(&watch.tally));
        }
        state.watched.push(Arc::clone(watch));
        if state.rests {
            self.shared.changed.notify_one();
        }
    }

    /// The dispatch is over.
    pub(crate) fn end(&self, watch: &Arc<Watch>, elapsed: Duration) {
        self.shared.lock().watched.retain(|other| !Arc::ptr_eq(other, watch));
        let tally = &watch.tally;
        tally.dispatches.fetch_add(1, Ordering::Relaxed);
        tally.elapsed.fetch_add(nanoseconds(elapsed), Ordering::Relaxed);
    }

    /// What was seen so far, of each pipeline that was dispatched, in the order of their first dispatches.
    pub(crate) fn profile(&self) -> Vec<PipelineProfile> {
        if self.process.is_copy() {
            return Vec::new();
        }
        self.shared.lock().tallies.iter().map(|tally| tally.profile()).collect()
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        if self.process.is_copy() {
            // The thread is not here, and the lock may be its.
            return self.thread.take().into_iter().for_each(std::mem::forget);
        }
        self.shared.lock().closed = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // It can only have panicked, and then there is nothing left to end.
            let _panicked = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under this lock panics half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Adds the time since the last look to where the threads are now.
    fn sample(&self, time: u64) {
        for watch in &self.watched {
            for word in &watch.words {
                watch.tally.add(word.0.load(Ordering::Relaxed), time);
            }
        }
    }
}

/// The sampling thread.
fn look(shared: &Shared) {
    let mut pauses = Pauses(0x9e37_79b9_7f4a_7c15);
    let mut state = shared.lock();
    let mut last = Instant::now();
    let mut busy = last;
    while !state.closed {
        let now = Instant::now();
        state.sample(nanoseconds(now - last));
        last = now;
        if !state.watched.is_empty() {
            busy = now;
        }
        if now - busy < PATIENCE {
            let pause = pauses.next();
            state = shared.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
            continue;
        }
        state.rests = true;
        state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.rests = false;
        // The first look at what began is a pause away, like any other.
        (last, busy) = (Instant::now(), Instant::now());
        state = shared.changed.wait_timeout(state, pauses.next()).unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Random pauses between nothing and twice the mean.
struct Pauses(u64);

impl Pauses {
    fn next(&mut self) -> Duration {
        // Xorshift (Marsaglia).
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Duration::from_nanos(self.0 % (2 * nanoseconds(PAUSE)))
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use phalanx_back_llvm::Meta;

    #[test]
    fn time_is_counted_where_threads_are() {
        let sites = ["a", "b"].map(|operation| Site { operation: operation.into(), ..Site::default() });
        let meta = Meta { sites: sites.to_vec(), ..testing::meta() };
        let pipeline = testing::pipeline_with(testing::EMPTY, meta);
        let profiler = Profiler::new(2).unwrap();
        let watch = profiler.watch(&pipeline);
        // Before the dispatch begins, or it is seen idle now and then.
        let first = watch.word();
        first.set(FIRST_SITE);
        let start = Instant::now();
        profiler.begin(&watch);
        std::thread::sleep(Duration::from_millis(30));
        first.set(FIRST_SITE + 1);
        std::thread::sleep(Duration::from_millis(90));
        let elapsed = start.elapsed();
        profiler.end(&watch, elapsed);

        let profile = profiler.profile();
        assert_eq!(profile.len(), 1);
        let profile = &profile[0];
        assert_eq!((profile.dispatches, profile.elapsed, profile.threads), (1, elapsed, 2));
        let seen: Vec<f64> = profile.sites.iter().map(|(_, time)| time.as_secs_f64()).collect();
        assert_eq!(seen.len(), 4);
        let families: Vec<_> = profile.sites.iter().map(|(site, _)| site.family).collect();
        assert_eq!(families[..2], [Family::Idle, Family::Scheduling]);
        assert_eq!(profile.sites[3].0.operation, "b");
        // The other thread never came, and the machine may be busy.
        assert!((seen[0] - (seen[2] + seen[3])).abs() < 1e-9, "{seen:?}");
        assert!(seen[1] == 0.0 && seen[2] > 0.0 && seen[3] > seen[2], "{seen:?}");
        let total: f64 = seen.iter().sum();
        assert!((total / (2.0 * elapsed.as_secs_f64()) - 1.0).abs() < 0.2, "{total} {elapsed:?}");
    }

    #[test]
    fn a_dispatch_that_is_over_is_not_looked_at() {
        let pipeline = testing::pipeline(testing::EMPTY);
        let profiler = Profiler::new(1).unwrap();
        let watch = profiler.watch(&pipeline);
        profiler.begin(&watch);
        profiler.end(&watch, Duration::ZERO);
        let before = profiler.profile();
        std::thread::sleep(3 * PATIENCE / 2);
        assert_eq!(profiler.profile(), before);
        // It sleeps by now, and wakes.
        profiler.begin(&watch);
        std::thread::sleep(PATIENCE);
        assert!(profiler.profile()[0].samples > before[0].samples);
        profiler.end(&watch, PATIENCE);
        assert_eq!(profiler.profile()[0].dispatches, 2);
    }
}

//! Work of the compiler that may have to be given up.
//!
//! LLVM has loops that do not end, recursions that are as deep as a module is long, and ends the process
//! when it has no memory. So the compiler works on threads of its own, with large stacks, and who asked
//! for the work waits: for its end, for a time limit, for a cancellation, or for the news that there is
//! no memory. Nothing can stop such a thread, so it is left behind: the work owns all that it refers to,
//! and its result, should there be one, is dropped. A thread that met the end of the memory sleeps for
//! ever (see [`exhaustion`]), one that loops goes on at the lowest priority. What that means for the end of
//! the process is told in [`exit`].
//!
//! Threads that have done their work wait for more for a while, since starting one costs more than
//! waking one. They are the process's, not a device's.

mod ending;
pub(crate) mod exhaustion;
mod exit;
mod room;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use ending::{Ending, How, LOOK, Piece};
use exit::Working;
use phalanx_back_llvm::Workers;
use phalanx_host::CancelToken;
use room::Room;

/// Stack for LLVM and for our own passes. Memory is only taken for what is used.
const STACK_BYTES: usize = 64 << 20;

/// How long a thread waits for more work.
const IDLE_TIME: Duration = Duration::from_secs(5);

/// Most threads that wait for work.
const MAX_IDLE: usize = 4;

/// Why work was given up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Abandoned {
    /// It took too long.
    #[error("compiling did not end within {limit:?} and was given up")]
    Timeout {
        /// The limit.
        limit: Duration,
    },
    /// It was cancelled.
    #[error("compiling was cancelled")]
    Cancelled,
    /// There was not enough memory for it.
    #[error("there is not enough memory for compiling")]
    OutOfMemory,
    /// LLVM met what it takes for its own fault.
    #[error("LLVM gave up: {0}")]
    Fatal(String),
    /// There was no thread for it.
    #[error("no thread for compiling: {0}")]
    NoThread(String),
    /// The process has begun to end.
    #[error("nothing is compiled while the process ends")]
    ProcessEnds,
}

/// The terms of an attempt.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// Time after which the work is given up.
    pub limit: Option<Duration>,
    /// Gives it up when it is cancelled.
    pub cancel: Option<&'a CancelToken>,
    /// Stack of the thread.
    pub stack_bytes: usize,
}

impl Default for Attempt<'_> {
    fn default() -> Self {
        Self { limit: None, cancel: None, stack_bytes: STACK_BYTES }
    }
}

impl Attempt<'_> {
    /// Does work, or gives it up. Work that is part of other work runs on its thread, on its terms.
    ///
    /// # Errors
    ///
    /// Why it was given up. A panic of the work goes on here.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Abandoned> {
        if ending::is_watched() {
            return Ok(work());
        }
        if self.cancel.is_some_and(CancelToken::is_cancelled) {
            return Err(Abandoned::Cancelled);
        }
        if exit::has_begun() {
            return Err(Abandoned::ProcessEnds);
        }
        exhaustion::prepare();
        // Held until there is an answer, so that there is memory to deal with a bad one.
        let room = Room::for_stack(self.stack_bytes).ok_or(Abandoned::OutOfMemory)?;
        let (ending, result) = (Arc::<Ending>::default(), Arc::new(Mutex::new(None)));
        let for_thread = Arc::clone(&result);
        let work = Box::new(move || {
            let outcome = catch_unwind(AssertUnwindSafe(work));
            *lock(&for_thread) = Some(outcome);
        });
        start(Job::new(work, &ending, Piece::Whole), room.stack_bytes())?;
        let how = ending.wait(self.limit, self.cancel);
        drop(room);
        match how {
            How::Done => match lock(&result).take().expect("the result is there before the end") {
                Ok(value) => Ok(value),
                Err(panic) => resume_unwind(panic),
            },
            How::OutOfMemory => Err(Abandoned::OutOfMemory),
            How::Fatal(text) => Err(Abandoned::Fatal(text.to_string())),
            How::Cancelled => Err(Abandoned::Cancelled),
            How::Timeout => Err(Abandoned::Timeout { limit: self.limit.unwrap_or_default() }),
        }
    }
}

/// Has a part of an attempt's work done beside the rest, on the same terms: both are given up together. Where there is no
/// attempt, a limit on the process's addresses, or no thread, one is done after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside;

/// What unwinds the rest of work whose part met the end of the memory, or that was given up: nobody waits for it any more.
struct GivenUp;

impl Workers for Beside {
    fn both<A, B: Send + 'static>(
        &self,
        first: impl FnOnce() -> A,
        second: impl FnOnce() -> B + Send + 'static,
    ) -> (A, B) {
        let Some(ending) = ending::watched().filter(|_| !Room::is_limited()) else {
            return (first(), second());
        };
        let (sender, results) = sync_channel(1);
        let second = Arc::new(Mutex::new(Some(second)));
        let for_thread = Arc::clone(&second);
        let work = Box::new(move || {
            let second = lock(&for_thread).take();
            let outcome = second.map(|second| catch_unwind(AssertUnwindSafe(second)));
            // Where nobody waits any more the result is dropped.
            let _unheard = outcome.map(|outcome| sender.send(outcome));
        });
        let started = start(Job::new(work, &ending, Piece::Part), STACK_BYTES);
        let first = first();
        // It is there still if no thread has taken it.
        let left = if started.is_err() { lock(&second).take() } else { None };
        if let Some(second) = left {
            return (first, second());
        }
        loop {
            match results.recv_timeout(LOOK) {
                Ok(Ok(second)) => return (first, second),
                Ok(Err(panic)) => resume_unwind(panic),
                Err(RecvTimeoutError::Timeout) if !ending.is_told() => {}
                Err(_) => resume_unwind(Box::new(GivenUp)),
            }
        }
    }
}

/// Work for a thread.
struct Job {
    work: Box<dyn FnOnce() + Send>,
    ending: Arc<Ending>,
    piece: Piece,
    /// From before the thread begins: `exit` may come first.
    working: Working,
}

impl Job {
    fn new(work: Box<dyn FnOnce() + Send>, ending: &Arc<Ending>, piece: Piece) -> Self {
        Self { work, ending: Arc::clone(ending), piece, working: Working::new() }
    }
}

/// Threads that wait for work.
#[derive(Default)]
struct Idle {
    threads: Vec<IdleThread>,
    /// The process that they are of: a child (`fork`) has none of its parent's threads.
    process: u32,
    next: u64,
}

struct IdleThread {
    number: u64,
    stack_bytes: usize,
    jobs: SyncSender<Job>,
}

static IDLE: Mutex<Option<Idle>> = Mutex::new(None);

impl Idle {
    /// What is waiting in this process.
    fn of_this_process(idle: &mut Option<Self>) -> &mut Self {
        let process = std::process::id();
        let idle = idle.get_or_insert_default();
        if idle.process != process {
            *idle = Self { process, ..Self::default() };
        }
        idle
    }
}

/// Gives a job to a thread that waits, or to a new one.
fn start(job: Job, stack_bytes: usize) -> Result<(), Abandoned> {
    let (found, number) = {
        let mut idle = lock(&IDLE);
        let idle = Idle::of_this_process(&mut idle);
        let fits = idle.threads.iter().rposition(|thread| thread.stack_bytes >= stack_bytes);
        idle.next += 1;
        (fits.map(|index| idle.threads.swap_remove(index)), idle.next)
    };
    let job = match found {
        Some(thread) => match thread.jobs.send(job) {
            Ok(()) => return Ok(()),
            Err(unsent) => unsent.0,
        },
        None => job,
    };
    let (jobs, receiver) = sync_channel(1);
    let thread = IdleThread { number, stack_bytes, jobs };
    let serve = move || serve(job, &thread, &receiver);
    let builder = thread::Builder::new().name("phalanx-compiler".into()).stack_size(stack_bytes);
    match builder.spawn(serve) {
        Ok(_detached) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::OutOfMemory => Err(Abandoned::OutOfMemory),
        Err(error) => Err(Abandoned::NoThread(error.to_string())),
    }
}

/// A thread: does a job, and those that come while it waits.
fn serve(first: Job, this: &IdleThread, jobs: &Receiver<Job>) {
    let mut next = Some(first);
    while let Some(Job { work, ending, piece, working }) = next {
        ending::watched_by(&ending, piece, work);
        drop(working);
        // One that was left behind has lost its priority.
        let stays = !ending.is_told() && wait_in_line(this);
        if piece == Piece::Whole {
            ending.set(How::Done);
        }
        drop(ending);
        next = stays.then(|| receive(this, jobs)).flatten();
    }
}

/// Joins those that wait, unless they are enough.
fn wait_in_line(this: &IdleThread) -> bool {
    let mut idle = lock(&IDLE);
    let idle = Idle::of_this_process(&mut idle);
    let stays = idle.threads.len() < MAX_IDLE;
    if stays {
        let &IdleThread { number, stack_bytes, ref jobs } = this;
        idle.threads.push(IdleThread { number, stack_bytes, jobs: jobs.clone() });
    }
    stays
}

/// The next job; none if none comes for long.
fn receive(this: &IdleThread, jobs: &Receiver<Job>) -> Option<Job> {
    match jobs.recv_timeout(IDLE_TIME) {
        Ok(job) => return Some(job),
        Err(RecvTimeoutError::Disconnected) => return None,
        Err(RecvTimeoutError::Timeout) => {}
    }
    let mut idle = lock(&IDLE);
    let threads = &mut Idle::of_this_process(&mut idle).threads;
    if let Some(index) = threads.iter().position(|thread| thread.number == this.number) {
        threads.swap_remove(index);
        return None;
    }
    drop(idle);
    // Somebody has just chosen this thread.
    jobs.recv().ok()
}

/// Locks. What these locks guard stays consistent even when a holder panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

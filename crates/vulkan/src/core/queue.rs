//! Queues: each executes what is submitted to it, in order, on a thread of its own.
//!
//! The thread starts with the first submission. It looks out for the next one for a while before it
//! sleeps, which makes a row of small submissions quick and an idle process quiet. A submission that waits
//! for a semaphore holds up its queue and no other.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use smallvec::SmallVec;
use vulkanalia_sys as vk;

use crate::core::command::Recorded;
use crate::core::debug;
use crate::core::device::Device;
use crate::core::execute::{Executor, Stopped};
use crate::core::sync::{self, Fence, Semaphore};

/// Stack of a queue's thread; kernels run on stacks of their own.
const STACK_BYTES: usize = 512 << 10;

/// How long a queue that is shut down waits for what other queues may still signal.
const GRACE: Duration = Duration::from_secs(1);

/// A semaphore with a value of its timeline.
pub(crate) type SemaphoreValue = (Arc<Semaphore>, u64);

/// Command buffers that are executed between waits and signals.
#[derive(Debug, Default)]
pub(crate) struct Submission {
    pub(crate) waits: SmallVec<[SemaphoreValue; 2]>,
    pub(crate) buffers: SmallVec<[Arc<Recorded>; 2]>,
    pub(crate) signals: SmallVec<[SemaphoreValue; 2]>,
    pub(crate) fence: Option<Arc<Fence>>,
}

/// A queue.
#[derive(Debug)]
pub(crate) struct Queue {
    /// Of its thread.
    name: String,
    /// The device owns its queues.
    device: Weak<Device>,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// The process that has its thread.
    process: u32,
}

/// What a queue shares with its thread.
#[derive(Debug, Default)]
struct Shared {
    line: Mutex<Line>,
    wake: Condvar,
    /// Submissions so far; changed under the lock of the line.
    submitted: AtomicU64,
    /// Submissions that are done with.
    finished: AtomicU64,
    closing: AtomicBool,
}

/// Submissions that the thread has not taken.
#[derive(Debug, Default)]
struct Line {
    submissions: VecDeque<Submission>,
    /// Whether the thread sleeps.
    is_asleep: bool,
}

impl Queue {
    /// A queue of a device.
    pub(crate) fn new(device: &Arc<Device>, family: u32, index: u32) -> Arc<Self> {
        Arc::new(Self {
            name: format!("phalanx-q{family}.{index}"),
            device: Arc::downgrade(device),
            shared: Arc::default(),
            thread: Mutex::default(),
            process: std::process::id(),
        })
    }

    /// Its device.
    pub(crate) fn device(&self) -> Result<Arc<Device>, vk::Result> {
        self.device.upgrade().ok_or(vk::Result::ERROR_DEVICE_LOST)
    }

    /// Puts submissions in line.
    pub(crate) fn submit(&self, submissions: impl IntoIterator<Item = Submission>) -> Result<(), vk::Result> {
        if self.device()?.is_lost() {
            return Err(vk::Result::ERROR_DEVICE_LOST);
        }
        self.start()?;
        let mut line = self.shared.lock();
        let before = line.submissions.len();
        line.submissions.extend(submissions);
        let count = line.submissions.len() - before;
        self.shared.submitted.fetch_add(count as u64, Ordering::Release);
        let is_asleep = line.is_asleep;
        drop(line);
        if is_asleep {
            self.shared.wake.notify_one();
        }
        Ok(())
    }

    /// Waits until all that was submitted is done.
    pub(crate) fn wait_idle(&self) -> Result<(), vk::Result> {
        let last = self.shared.submitted.load(Ordering::Acquire);
        let device = self.device()?;
        sync::wait(&device, u64::MAX, || self.shared.finished.load(Ordering::Acquire) >= last)?;
        // *Lost Device* allows success as well, but nobody who waits in this way would learn of the loss otherwise.
        if device.is_lost() { Err(vk::Result::ERROR_DEVICE_LOST) } else { Ok(()) }
    }

    /// Ends the thread when it has finished what is in line.
    pub(crate) fn shut_down(&self) {
        if self.process != std::process::id() {
            // A copy of the process has no such thread, and the locks may be held for ever.
            if let Ok(mut thread) = self.thread.try_lock() {
                thread.take().into_iter().for_each(std::mem::forget);
            }
            return;
        }
        self.shared.closing.store(true, Ordering::Release);
        drop(self.shared.lock());
        self.shared.wake.notify_one();
        if let Some(device) = self.device.upgrade() {
            device.notifier.notify();
        }
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            // A thread that panicked has ended too.
            let _panicked = thread.join();
        }
    }

    /// Starts the thread, if it does not run.
    fn start(&self) -> Result<(), vk::Result> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() && !self.shared.closing.load(Ordering::Acquire) {
            let (device, shared) = (self.device.clone(), Arc::clone(&self.shared));
            let builder = std::thread::Builder::new().name(self.name.clone()).stack_size(STACK_BYTES);
            let started = builder.spawn(move || serve(&device, &shared));
            *thread = Some(started.map_err(|_no_thread| vk::Result::ERROR_OUT_OF_HOST_MEMORY)?);
        }
        Ok(())
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.shut_down();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Line> {
        // Nothing under this lock panics half-way through a change.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next submission, of which `taken` were taken; nothing when the queue is shut down.
    fn next(&self, taken: u64) -> Option<Submission> {
        let has_news =
            || self.submitted.load(Ordering::Acquire) != taken || self.closing.load(Ordering::Acquire);
        let _news = sync::linger(Instant::now() + sync::LINGER, || has_news().then_some(()));
        let mut line = self.lock();
        loop {
            if let found @ Some(_) = line.submissions.pop_front() {
                return found;
            }
            if self.closing.load(Ordering::Acquire) {
                return None;
            }
            line.is_asleep = true;
            line = self.wake.wait(line).unwrap_or_else(PoisonError::into_inner);
            line.is_asleep = false;
        }
    }

    /// Waits in the queue's thread for something that another thread does.
    ///
    /// Destroying a device with work pending is invalid (VUID-vkDestroyDevice-device-05137). If it happens, what
    /// waits for the host waits in vain; what waits for another queue may still succeed.
    fn wait(&self, device: &Device, is_ready: &dyn Fn() -> bool) -> Result<(), Stopped> {
        let look = || {
            if is_ready() {
                return Some(Ok(()));
            }
            device.is_lost().then_some(Err(Stopped))
        };
        let closing = || self.closing.load(Ordering::Acquire).then_some(None);
        match device.notifier.wait(None, || look().map(Some).or_else(closing)) {
            Some(Some(outcome)) => outcome,
            _ => device.notifier.wait(Some(Instant::now() + GRACE), look).unwrap_or(Err(Stopped)),
        }
    }

    /// Executes a submission, unless the device is lost.
    fn run(&self, device: &Device, executor: &mut Executor, submission: Submission) -> Result<(), Stopped> {
        let Submission { waits, buffers, signals, fence } = submission;
        self.wait(device, &|| waits.iter().all(|(semaphore, value)| semaphore.value() >= *value))?;
        if device.is_lost() {
            return Err(Stopped);
        }
        let wait = |is_ready: &dyn Fn() -> bool| self.wait(device, is_ready);
        executor.execute(device, &buffers, &wait)?;
        // Before the application learns of the end: what it frees then is free, and what it records again
        // finds its memory.
        drop(buffers);
        signals.iter().for_each(|(semaphore, value)| semaphore.signal(*value));
        if let Some(fence) = fence {
            fence.signal();
        }
        Ok(())
    }
}

/// The thread of a queue.
fn serve(device: &Weak<Device>, shared: &Shared) {
    let mut executor = Executor::default();
    let mut taken = 0;
    while let Some(submission) = shared.next(taken) {
        taken += 1;
        let Some(device) = device.upgrade() else { return };
        let run = AssertUnwindSafe(|| shared.run(&device, &mut executor, submission));
        // Of a submission that was stopped nothing is signalled; those who wait learn that the device is lost.
        let outcome = catch_unwind(run).unwrap_or_else(|_panic| {
            debug::report_panic("the thread of a queue");
            device.lose();
            Err(Stopped)
        });
        shared.finished.fetch_add(1, Ordering::Release);
        device.notifier.notify();
        if outcome.is_err() && !device.is_lost() {
            // The queue is shut down, and what this submission waited for does not come.
            return;
        }
    }
}

#[cfg(test)]
mod tests;

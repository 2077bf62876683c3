//! The end of the process while threads still work.
//!
//! `exit` destroys the objects of all libraries, LLVM's among them, and threads go on meanwhile: those that were left
//! behind, and those that other threads wait for. One that uses what was destroyed ends the process by a signal, and the
//! status that it ended with is lost. So `exit` waits for them a while, before it destroys anything. They
//! cannot be stopped, since they may hold the C library's locks; one that works on and faults sleeps from there on.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::process;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::ending;

/// How long the end of the process waits for them. Most pipelines are compiled in less; who pressed Ctrl-C waits as well.
const PATIENCE: Duration = Duration::from_millis(500);

/// How often it looks.
const LOOK: Duration = Duration::from_millis(1);

/// What the use of what was destroyed can end in: `abort` is what the allocator does.
const SIGNALS: [c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGABRT];

/// The process (upper half), and how many of its threads work: a child (`fork`) has none of its parent's.
static WORKING: AtomicU64 = AtomicU64::new(0);

static HAS_BEGUN: AtomicBool = AtomicBool::new(false);

/// What the signals did before the process began to end.
static BEFORE: OnceLock<[libc::sigaction; 4]> = OnceLock::new();

/// Work of a thread, for as long as it lives.
#[derive(Debug)]
pub(super) struct Working(());

impl Working {
    pub(super) fn new() -> Self {
        let this_process = u64::from(process::id()) << 32;
        let add =
            |working: u64| if working >> 32 << 32 == this_process { working + 1 } else { this_process | 1 };
        let _before = WORKING.fetch_update(Ordering::AcqRel, Ordering::Acquire, |working| Some(add(working)));
        Self(())
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        no_longer_works();
    }
}

/// Tells that a thread has done its work, or sleeps for ever.
pub(super) fn no_longer_works() {
    WORKING.fetch_sub(1, Ordering::AcqRel);
}

/// Whether the process ends, so that LLVM may be gone.
pub(super) fn has_begun() -> bool {
    HAS_BEGUN.load(Ordering::Acquire)
}

/// Has the end of the process wait for the threads that work. What is constructed later is destroyed before it waits, so
/// this is done again whenever work is left behind.
pub(super) fn wait_at_exit() {
    // SAFETY: the function can be called at any time, and stays loaded (`exhaustion::stay_loaded`).
    let _best_effort = unsafe { libc::atexit(wait) };
}

extern "C" fn wait() {
    if HAS_BEGUN.swap(true, Ordering::AcqRel) {
        return;
    }
    let start = Instant::now();
    while is_working() && start.elapsed() < PATIENCE {
        thread::sleep(LOOK);
    }
    if is_working() {
        catch_faults();
    }
}

/// Whether threads of this process work.
fn is_working() -> bool {
    let working = WORKING.load(Ordering::Acquire);
    working >> 32 == u64::from(process::id()) && working & u64::from(u32::MAX) != 0
}

/// From here on, a thread that works and faults sleeps.
fn catch_faults() {
    // SAFETY: all zeros is a valid action: the default one.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = faulted;
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    let before = SIGNALS.map(|signal| {
        let mut before = action;
        // SAFETY: both can be accessed; it only asks what the signal does.
        unsafe { libc::sigaction(signal, ptr::null(), &raw mut before) };
        before
    });
    if BEFORE.set(before).is_ok() {
        for signal in SIGNALS {
            // SAFETY: the handler has the signature that `SA_SIGINFO` asks for, and does what a handler may.
            unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
        }
    }
}

/// A thread faulted.
extern "C" fn faulted(signal: c_int, _info: *mut libc::siginfo_t, _context: *mut c_void) {
    if ending::is_watched() {
        loop {
            // SAFETY: it waits for a signal's handler to return.
            unsafe { libc::pause() };
        }
    }
    // It is somebody else's: the fault comes again, and finds what it would have found.
    if let (Some(before), Some(index)) = (BEFORE.get(), SIGNALS.iter().position(|&own| own == signal)) {
        // SAFETY: `sigaction` gave this action for this signal.
        unsafe { libc::sigaction(signal, &raw const before[index], ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests;

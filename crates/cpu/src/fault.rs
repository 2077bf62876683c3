//! Tells of a kernel that follows a wild device address, before the process dies of it.
//!
//! Bounds are checked where a kernel goes through a binding. A device address may lead anywhere, and one
//! that leads nowhere ends in a signal. [`report`] installs a handler that says so in one line and ends the
//! process, if the thread was [`inside`] a kernel; a fault of anything else goes to the handler before it.
//!
//! The handler may only do what is safe at any moment: it formats into an array of its own, writes that to standard
//! error and leaves by `_exit`. It runs on the thread's alternate stack, which every thread of the standard library
//! has, because the kernel's own stack may be what has run out.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The signals of an access to memory that is not there.
const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// Exit status after a fault of a kernel: the input was wrong.
const STATUS: c_int = 2;

/// `si_code` of a fault whose address the processor does not tell: one that no memory can have.
#[cfg(target_os = "linux")]
const NO_ADDRESS: c_int = 0x80;
#[cfg(not(target_os = "linux"))]
const NO_ADDRESS: c_int = c_int::MIN;

/// What handled each of `SIGNALS` before.
static PREVIOUS: [OnceLock<libc::sigaction>; 2] = [const { OnceLock::new() }; 2];

/// Whether a thread has told already: kernels often fault on all of them at once.
static TOLD: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread runs a kernel. Constant and without destructor, so that the handler may read it.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Marks this thread as inside a kernel while `f` runs.
pub(crate) fn inside<R>(f: impl FnOnce() -> R) -> R {
    /// Takes the mark away even if `f` unwinds.
    struct Mark(bool);
    impl Drop for Mark {
        fn drop(&mut self) {
            INSIDE.set(self.0);
        }
    }
    let _mark = Mark(INSIDE.replace(true));
    f()
}

/// Ends the process with status 2 and one line on standard error when a kernel accesses memory that is not there.
///
/// The handler of a signal belongs to the whole process; this is for programs that run kernels, not for libraries.
/// Calling it again changes nothing.
pub fn report() {
    for (signal, previous) in SIGNALS.into_iter().zip(&PREVIOUS) {
        let mut found = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: without a new action the call only fills in the old one.
        if unsafe { libc::sigaction(signal, ptr::null(), found.as_mut_ptr()) } != 0 {
            continue;
        }
        // SAFETY: the call succeeded and has filled it in.
        let found = unsafe { found.assume_init() };
        // Known before the handler can run.
        if previous.set(found).is_err() {
            continue;
        }
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = handle;
        // SAFETY: all zero is an action: the default one with an empty mask.
        let mut action = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: the handler has the signature that `SA_SIGINFO` asks for, and does only what is safe in a
        // handler. If the call fails, the old handler stands.
        let _result = unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
    }
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    if !INSIDE.get() {
        return hand_over(signal, info, context);
    }
    if TOLD.swap(true, Ordering::Relaxed) {
        // Another thread is telling, and ends the process.
        loop {
            // SAFETY: waits, and touches nothing.
            unsafe { libc::pause() };
        }
    }
    // SAFETY: the system passes the signal's information.
    let code = unsafe { (*info).si_code };
    let mut line = Line::default();
    line.push(b"error: the kernel accessed ");
    if code == NO_ADDRESS {
        line.push(b"an address that no memory has");
    } else {
        line.push(b"address 0x");
        // SAFETY: `info` is as above, and both signals carry an address.
        line.push_hex(unsafe { (*info).si_addr() }.addr());
        line.push(b", which belongs to no buffer");
    }
    line.push(b"\n");
    // SAFETY: the bytes are those of `line`. If nobody can read them, the exit status still tells.
    let _written = unsafe { libc::write(libc::STDERR_FILENO, line.bytes.as_ptr().cast(), line.len) };
    // SAFETY: ends the process at once and runs nothing of it.
    unsafe { libc::_exit(STATUS) }
}

/// Lets the handler before ours have the signal.
fn hand_over(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let index = usize::from(signal != SIGNALS[0]);
    let previous = PREVIOUS[index].get();
    match previous.map_or(libc::SIG_DFL, |action| action.sa_sigaction) {
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: the default action of a signal is always there. The fault happens again when we return,
            // and ends the process as if we had never been.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        handler if previous.is_some_and(|action| action.sa_flags & libc::SA_SIGINFO != 0) => {
            // SAFETY: with this flag the system has found a function of this signature there.
            let handler = unsafe {
                std::mem::transmute::<usize, extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void)>(handler)
            };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: without the flag the handler takes the signal only.
            let handler = unsafe { std::mem::transmute::<usize, extern "C" fn(c_int)>(handler) };
            handler(signal);
        }
    }
}

/// A line of text without memory from the heap.
struct Line {
    bytes: [u8; 128],
    len: usize,
}

impl Default for Line {
    fn default() -> Self {
        Self { bytes: [0; 128], len: 0 }
    }
}

impl Line {
    /// Appends what fits.
    fn push(&mut self, text: &[u8]) {
        for (to, from) in self.bytes[self.len..].iter_mut().zip(text) {
            *to = *from;
            self.len += 1;
        }
    }

    /// Appends a number without leading zeros.
    fn push_hex(&mut self, number: usize) {
        let digits = number.checked_ilog2().unwrap_or(0) / 4;
        for digit in (0..=digits).rev() {
            let value = (number >> (4 * digit)) & 15;
            self.push(&[b"0123456789abcdef"[value]]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_inside_only_while_it_is() {
        assert!(!INSIDE.get());
        inside(|| {
            assert!(INSIDE.get());
            inside(|| {});
            assert!(INSIDE.get());
            assert!(!std::thread::spawn(|| INSIDE.get()).join().unwrap());
        });
        assert!(!INSIDE.get());
        let _panicked = std::panic::catch_unwind(|| inside(|| std::panic::resume_unwind(Box::new(()))));
        assert!(!INSIDE.get());
    }

    #[test]
    fn a_line_holds_what_fits() {
        let mut line = Line::default();
        line.push(b"0x");
        line.push_hex(0xdead_0010);
        line.push(b" ");
        line.push_hex(0);
        assert_eq!(&line.bytes[..line.len], b"0xdead0010 0");
        line.push(&[b'x'; 200]);
        assert_eq!(line.len, 128);
        line.push_hex(usize::MAX);
        assert_eq!(line.len, 128);
    }
}

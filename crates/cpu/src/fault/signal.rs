//! The handler of the signals that tell of an access to memory that is not there.
//!
//! It may run at any moment, so it does nothing but read and write plain memory: which kernel runs on the thread is
//! a value that POSIX keeps for each thread, because reading a `thread_local!` of a library that was loaded late may
//! allocate. What it notes is made into an error by the thread itself, when it runs on its own stack again.
//!
//! A signal that is not a kernel's goes to the handler that was there before. An application may install its own after
//! us: [`install`], which comes before every dispatch that can fault, then takes its place in front again. Should
//! that one in turn call us, we must not call it once more; which handlers were asked already stands in the context
//! of the signal, in a field that the system sets to null for each signal and does not read (`uc_link`).

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use corosensei::stack::{DefaultStack, Stack};

use super::{End, Kernel, RawFault, registers};

/// The signals of an access to memory that is not there.
const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// `si_code` of a fault whose address the processor does not tell (`SI_KERNEL`).
const NO_ADDRESS: c_int = 0x80;

/// Stack for the handler and the context that the system saves on it, which is the larger the more registers there are.
const STACK_BYTES: usize = 64 << 10;

/// A handler that was there before ours.
struct Before {
    action: libc::sigaction,
    /// The one before it, when ours was installed for another time.
    older: *const Before,
}

/// The newest handler before ours, of each of `SIGNALS`. They are never freed: the handler may be reading them.
static BEFORE: [AtomicPtr<Before>; 2] = [const { AtomicPtr::new(ptr::null_mut()) }; 2];

/// Where each thread keeps its kernel.
static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();

/// The kernel that runs on this thread; null if there is none.
pub(super) fn current() -> *const Kernel {
    match KEY.get() {
        // SAFETY: the key was created and is never deleted.
        Some(Some(key)) => unsafe { libc::pthread_getspecific(*key) }.cast_const().cast(),
        _ => ptr::null(),
    }
}

/// Sets the kernel that runs on this thread.
pub(super) fn set_current(kernel: *const Kernel) {
    if let Some(Some(key)) = KEY.get() {
        // SAFETY: as above. It can only fail for the first value of a thread, for lack of memory: then the thread's
        // kernel is not known, and its faults are not ours.
        let _result = unsafe { libc::pthread_setspecific(*key, kernel.cast()) };
    }
}

/// Sees to it that the handler is in place. Cheap if it is.
pub(crate) fn install() {
    static LOCK: Mutex<()> = Mutex::new(());
    KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: writes a new key. Values have no destructor.
        let result = unsafe { libc::pthread_key_create(&raw mut key, None) };
        (result == 0).then_some(key)
    });
    for (signal, before) in SIGNALS.into_iter().zip(&BEFORE) {
        if found(signal).is_none_or(|found| is_ours(&found)) {
            continue;
        }
        let _lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        // Again under the lock: another thread may have been faster.
        let Some(action) = found(signal).filter(|found| !is_ours(found)) else { continue };
        let older = before.load(Ordering::Acquire);
        // Known before the handler can run.
        before.store(Box::into_raw(Box::new(Before { action, older })), Ordering::Release);
        // SAFETY: all zero is an action: the default one with an empty mask.
        let mut own = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
        own.sa_sigaction = address();
        own.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: the handler has the signature that `SA_SIGINFO` asks for, and does only what is safe in a
        // handler. If the call fails, the old handler stands.
        let _result = unsafe { libc::sigaction(signal, &raw const own, ptr::null_mut()) };
    }
}

/// What is installed for a signal.
fn found(signal: c_int) -> Option<libc::sigaction> {
    let mut found = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action the call only fills in the present one.
    let result = unsafe { libc::sigaction(signal, ptr::null(), found.as_mut_ptr()) };
    // SAFETY: the call has filled it in if it succeeded.
    (result == 0).then(|| unsafe { found.assume_init() })
}

fn is_ours(action: &libc::sigaction) -> bool {
    action.sa_sigaction == address()
}

/// The address of the handler.
fn address() -> usize {
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = handle;
    handler as *const () as usize
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let kernel = current();
    // SAFETY: the mark is set while the kernel runs, and `resume` keeps what it points to as long.
    if let Some(kernel) = unsafe { kernel.as_ref() } {
        // SAFETY: the system passes the signal's information, and the context that it interrupted.
        if unsafe { recover(kernel, info, context.cast()) } {
            return;
        }
    }
    // SAFETY: what the system, or another handler, passed to us.
    unsafe { hand_over(signal, info, context) }
}

/// Lets the kernel's coroutine return, if the kernel is at fault.
///
/// # Safety
///
/// The pointers must be those that a handler is given, and the kernel the one of this thread.
unsafe fn recover(kernel: &Kernel, info: *const libc::siginfo_t, context: *mut libc::ucontext_t) -> bool {
    // SAFETY: by the contract.
    let code = unsafe { (*info).si_code };
    // SAFETY: by the contract.
    let context = unsafe { &mut *context };
    // Somebody's `kill` is no fault, and code on another stack is no kernel.
    if code <= 0 || !kernel.trap.stack_ptr_in_bounds(registers::stack_pointer(context)) {
        return false;
    }
    // SAFETY: both signals carry an address.
    let address = unsafe { (*info).si_addr() }.addr();
    let is_overflow = code != NO_ADDRESS && address.wrapping_sub(kernel.stack_limit) < guard_bytes();
    let fault = RawFault {
        address: (code != NO_ADDRESS).then_some(address as u64),
        wrote: registers::wrote(context),
        is_overflow,
    };
    kernel.fault.set(Some(fault));
    // SAFETY: the stack pointer is within the coroutine's stack. What the coroutine wrote elsewhere are results of
    // the kernel, which are unspecified now; nothing on the stack is used any more (see the module's invariant).
    let to = unsafe { kernel.trap.setup_trap_handler(|| End::Faulted) };
    registers::set(context, to);
    true
}

/// Bytes at the end of a stack that cannot be accessed.
fn guard_bytes() -> usize {
    // SAFETY: asks a question.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Lets the handler before ours have the signal.
///
/// # Safety
///
/// The arguments must be those that a handler is given.
unsafe fn hand_over(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let newest = BEFORE[usize::from(signal != SIGNALS[0])].load(Ordering::Acquire).cast_const();
    // SAFETY: by the contract.
    let link = unsafe { &raw mut (*context.cast::<libc::ucontext_t>()).uc_link };
    // SAFETY: as above.
    let tried = unsafe { link.read() };
    let mut chosen = newest;
    if !tried.is_null() {
        // A handler that we called has called us: the next one is that before it.
        // SAFETY: the list is never freed.
        while let Some(before) = unsafe { chosen.as_ref() } {
            chosen = before.older;
            if ptr::from_ref(before).addr() == tried.addr() {
                break;
            }
        }
    }
    // SAFETY: as above.
    let Some(before) = (unsafe { chosen.as_ref() }) else { return take_default(signal, info) };
    match before.action.sa_sigaction {
        libc::SIG_DFL => take_default(signal, info),
        // A fault that is ignored ends the process nevertheless; only what somebody sent can be ignored.
        // SAFETY: by the contract.
        libc::SIG_IGN if unsafe { (*info).si_code } <= 0 => {}
        libc::SIG_IGN => take_default(signal, info),
        handler => {
            // SAFETY: by the contract; the system reads this field never.
            unsafe { link.write(chosen.cast_mut().cast()) };
            call(&before.action, handler, signal, info, context);
            // SAFETY: as above.
            unsafe { link.write(tried) };
        }
    }
}

/// Calls a handler as the system would: with the signals blocked that it asked for.
fn call(
    action: &libc::sigaction,
    handler: usize,
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    let mut mask = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets are there; the old one is filled in.
    let is_blocked =
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const action.sa_mask, mask.as_mut_ptr()) } == 0;
    if action.sa_flags & libc::SA_SIGINFO != 0 {
        // SAFETY: with this flag the system has found a function of this signature there.
        let handler = unsafe {
            std::mem::transmute::<usize, extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void)>(handler)
        };
        handler(signal, info, context);
    } else {
        // SAFETY: without the flag the handler takes the signal only.
        let handler = unsafe { std::mem::transmute::<usize, extern "C" fn(c_int)>(handler) };
        handler(signal);
    }
    if is_blocked {
        // SAFETY: the call above has filled it in.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask.as_ptr(), ptr::null_mut()) };
    }
}

/// Lets the system end the process, as if we had never been.
fn take_default(signal: c_int, info: *const libc::siginfo_t) {
    // SAFETY: the default action of a signal is always there. A fault happens again when we return.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    // SAFETY: the system passes the signal's information.
    if unsafe { (*info).si_code } <= 0 {
        // What somebody sent has to be sent again; it is blocked until we return.
        // SAFETY: sends a signal to this thread.
        unsafe { libc::raise(signal) };
    }
}

/// A stack for the handler, for threads that have none: the kernel's own may be what has run out.
#[derive(Default)]
pub(crate) struct SignalStack(Option<DefaultStack>);

impl SignalStack {
    /// Runs `f` so that the handler can run meanwhile: with a stack for it, and its signals not blocked.
    pub(crate) fn with<R>(&mut self, f: impl FnOnce() -> R) -> R {
        let _unblocked = Unblocked::new();
        let mut present = MaybeUninit::<libc::stack_t>::uninit();
        // SAFETY: without a new stack the call only fills in the present one.
        let result = unsafe { libc::sigaltstack(ptr::null(), present.as_mut_ptr()) };
        // SAFETY: filled in if it succeeded.
        let is_missing = result == 0 && unsafe { present.assume_init() }.ss_flags & libc::SS_DISABLE != 0;
        let stack = match (&mut self.0, is_missing) {
            (_, false) => return f(),
            (Some(stack), true) => stack,
            // Without memory for it, the handler runs on the kernel's stack, which rarely runs out.
            (none, true) => match DefaultStack::new(STACK_BYTES) {
                Ok(stack) => none.insert(stack),
                Err(_no_memory) => return f(),
            },
        };
        let bottom = stack.limit().get() + guard_bytes();
        set_signal_stack(libc::stack_t {
            ss_sp: ptr::with_exposed_provenance_mut(bottom),
            ss_flags: 0,
            ss_size: stack.base().get() - bottom,
        });
        let _taken_back = TakeBack;
        f()
    }
}

/// Lets the signals come; the system ends a process that faults while they are blocked, as some applications block all
/// signals for threads that are not to be disturbed, and threads inherit that.
struct Unblocked(Option<libc::sigset_t>);

impl Unblocked {
    fn new() -> Self {
        let mut old = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: an empty set is a valid one, and adding to it too.
        let set = unsafe {
            let mut set = MaybeUninit::<libc::sigset_t>::zeroed().assume_init();
            libc::sigemptyset(&raw mut set);
            for signal in SIGNALS {
                libc::sigaddset(&raw mut set, signal);
            }
            set
        };
        // SAFETY: both sets are there; the old one is filled in.
        let result = unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, old.as_mut_ptr()) };
        if result != 0 {
            return Self(None);
        }
        // SAFETY: filled in, as the call succeeded.
        let old = unsafe { old.assume_init() };
        // SAFETY: asks a question about a set that is there.
        let was_blocked =
            SIGNALS.into_iter().any(|signal| unsafe { libc::sigismember(&raw const old, signal) } == 1);
        Self(was_blocked.then_some(old))
    }
}

impl Drop for Unblocked {
    fn drop(&mut self) {
        if let Some(old) = &self.0 {
            // SAFETY: the set that was there before.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, old, ptr::null_mut()) };
        }
    }
}

/// Takes the thread's stack for handlers away again.
struct TakeBack;

impl Drop for TakeBack {
    fn drop(&mut self) {
        set_signal_stack(libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 });
    }
}

fn set_signal_stack(stack: libc::stack_t) {
    // SAFETY: the stack is there until it is taken away. If the call fails, handlers run where they did before.
    let _result = unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) };
}

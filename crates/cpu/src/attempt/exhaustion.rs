//! The end of the memory, and other ends of LLVM.
//!
//! C++ code without memory throws what no frame of LLVM or of Rust can catch, or ends the process, as
//! LLVM does for whatever it takes for its own fault. Before either, it calls a handler: C++'s for `new`,
//! LLVM's for allocations and for fatal errors. Ours tell who waits for the work and keep the thread in
//! the handler for ever, so that nothing is unwound. [`Allocator`] does the same for Rust's own
//! allocations in programs that choose it; in others they end the process, as do those of threads that
//! do no such work, unless they are asked for with an error in mind.
//!
//! What the thread holds stays held: that no lock of the C library is among it is its promise (handlers
//! are called without), and LLVM takes its few while it registers things. Handlers belong to the whole
//! process: on other threads ours do what would happen without them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::ending::{self, How, Text};
use super::exit;

type NewHandler = unsafe extern "C-unwind" fn();
type FatalHandler = extern "C" fn(*const c_char);
type BadAllocHandler = unsafe extern "C-unwind" fn(*mut c_void, *const c_char, bool);

#[cfg_attr(target_vendor = "apple", link(name = "c++"))]
#[cfg_attr(not(target_vendor = "apple"), link(name = "stdc++"))]
unsafe extern "C-unwind" {
    /// `std::set_new_handler`
    #[link_name = "_ZSt15set_new_handlerPFvvE"]
    fn set_new_handler(handler: Option<NewHandler>) -> *mut c_void;
    /// `std::__throw_bad_alloc`
    #[link_name = "_ZSt17__throw_bad_allocv"]
    fn throw_bad_alloc() -> !;
}

unsafe extern "C" {
    fn LLVMInstallFatalErrorHandler(handler: FatalHandler);
    /// `llvm::install_bad_alloc_error_handler`
    #[link_name = "_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_"]
    fn install_bad_alloc_error_handler(handler: BadAllocHandler, data: *mut c_void);
}

/// The handler for `new` that was there before ours, or null.
static PREVIOUS: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Puts the handlers in place, once.
pub(super) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        stay_loaded();
        // SAFETY: handlers may be set at any time, and ours are made for all threads.
        PREVIOUS.store(unsafe { set_new_handler(Some(no_memory)) }, Ordering::Release);
        // SAFETY: as above; LLVM has one handler of a kind, and calls it with a text that lives as long.
        unsafe { LLVMInstallFatalErrorHandler(fatal) };
        // SAFETY: as above.
        unsafe { install_bad_alloc_error_handler(no_memory_in_llvm, ptr::null_mut()) };
        exit::wait_at_exit();
    });
}

/// Keeps this code loaded, which a driver's is only for as long as an application has an instance: the
/// process has its handlers, and threads may have been left behind in it.
fn stay_loaded() {
    // SAFETY: all zeros is a valid `Dl_info`: null pointers.
    let mut info: libc::Dl_info = unsafe { mem::zeroed() };
    let here = stay_loaded as *const () as *const c_void;
    // SAFETY: `here` is an address in this file's code; `info` can be written.
    let found: c_int = unsafe { libc::dladdr(here, &raw mut info) };
    if found != 0 && !info.dli_fname.is_null() {
        let how = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
        // SAFETY: the name is NUL-terminated; what is loaded already runs no initialiser. A program
        // itself is no library, and needs none of this.
        let _kept = unsafe { libc::dlopen(info.dli_fname, how) };
    }
}

/// C++'s `new` has no memory. If this returns, `new` tries again.
unsafe extern "C-unwind" fn no_memory() {
    ending::tell(How::OutOfMemory);
    let previous = PREVIOUS.load(Ordering::Acquire);
    if previous.is_null() {
        // SAFETY: this is what `new` does without a handler; no frame between has anything to drop.
        unsafe { throw_bad_alloc() }
    }
    // SAFETY: `set_new_handler` gave it, which takes and gives functions of this type.
    let previous = unsafe { mem::transmute::<*mut c_void, NewHandler>(previous) };
    // SAFETY: it is a handler for `new`, called as `new` does.
    unsafe { previous() }
}

/// LLVM's own allocations have no memory.
unsafe extern "C-unwind" fn no_memory_in_llvm(_data: *mut c_void, _reason: *const c_char, _dump: bool) {
    ending::tell(How::OutOfMemory);
    // SAFETY: this is what LLVM does where it can throw; it must not return.
    unsafe { throw_bad_alloc() }
}

/// LLVM gives up. If this returns, it ends the process.
extern "C" fn fatal(reason: *const c_char) {
    // SAFETY: LLVM passes a NUL-terminated text.
    let reason = unsafe { CStr::from_ptr(reason) }.to_bytes();
    let is_memory = reason.windows(13).any(|part| part.eq_ignore_ascii_case(b"out of memory"));
    ending::tell(if is_memory { How::OutOfMemory } else { How::Fatal(Text::new(reason)) });
    for part in [b"LLVM ERROR: ", reason, b"\n"] {
        // SAFETY: the bytes are readable. As LLVM does without a handler, it says why it ends.
        let _best_effort = unsafe { libc::write(2, part.as_ptr().cast(), part.len()) };
    }
}

/// The system's allocator, for programs that compile: where a thread that works for the compiler has no
/// memory, the work is given up, and the process is not. Elsewhere it is the system's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator;

/// Gives the work up if there is no memory.
fn checked(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        ending::tell(How::OutOfMemory);
    }
    memory
}

// SAFETY: all memory is the system allocator's, and is given back to it.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the contract is the same.
        checked(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the contract is the same.
        checked(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the contract is the same.
        checked(unsafe { System.realloc(memory, layout, size) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the contract is the same.
        unsafe { System.dealloc(memory, layout) }
    }
}

//! What LLVM reports while it generates code: the size of the stack frame, and failures.
//!
//! The host has to know how large a stack compiled code needs. LLVM only tells in a warning, which the attribute
//! `warn-stack-size` asks for. Without a handler of its own, LLVM ends the process on a failure.

use std::ffi::{CStr, c_void};

use inkwell::context::Context;
use inkwell::llvm_sys::LLVMDiagnosticSeverity;
use inkwell::llvm_sys::core::{
    LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity,
};
use inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;

/// Asks for the size of a function's stack frame, however small: the name of an attribute and its value.
pub(crate) const ASK_FOR_FRAME: (&str, &str) = ("warn-stack-size", "0");

/// What LLVM reported about a context.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Bytes of the stack frames of all functions together.
    pub(crate) frame_bytes: u64,
    /// Failures.
    pub(crate) errors: Vec<String>,
}

impl Report {
    /// Runs `f`, and collects what LLVM reports about the context meanwhile.
    pub(crate) fn collect<R>(cx: &Context, f: impl FnOnce() -> R) -> (R, Self) {
        let mut report = Self::default();
        let to = (&raw mut report).cast::<c_void>();
        // SAFETY: the context is live; `report` outlives the handler, which is removed below.
        unsafe { LLVMContextSetDiagnosticHandler(cx.raw(), Some(receive), to) };
        let result = f();
        // SAFETY: as above; without a handler there is no use of `report`.
        unsafe { LLVMContextSetDiagnosticHandler(cx.raw(), None, std::ptr::null_mut()) };
        (result, report)
    }

    fn add(&mut self, severity: LLVMDiagnosticSeverity, text: &str) {
        if let Some(bytes) = frame_bytes(text) {
            self.frame_bytes += bytes;
        } else if matches!(severity, LLVMDiagnosticSeverity::LLVMDSError) {
            self.errors.push(text.to_owned());
        }
    }
}

/// Reads `stack frame size (N) exceeds limit (0) in function …`.
fn frame_bytes(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("stack frame size (")?;
    rest.split_once(')')?.0.parse().ok()
}

/// Receives a diagnostic.
extern "C" fn receive(info: LLVMDiagnosticInfoRef, to: *mut c_void) {
    // SAFETY: `info` is live during this call.
    let severity = unsafe { LLVMGetDiagInfoSeverity(info) };
    // SAFETY: as above; the text is ours.
    let text = unsafe { LLVMGetDiagInfoDescription(info) };
    // SAFETY: the text is NUL-terminated until it is disposed of.
    let copy = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    // SAFETY: it came from LLVM and is used no more.
    unsafe { LLVMDisposeMessage(text) };
    // SAFETY: `collect` passes a report that outlives the handler and that nothing else uses meanwhile.
    let report = unsafe { &mut *to.cast::<Report>() };
    report.add(severity, &copy);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(frame_bytes("stack frame size (4096) exceeds limit (0) in function 'f'"), Some(4096));
        assert_eq!(frame_bytes("something else (1)"), None);
    }
}

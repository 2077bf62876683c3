//! Loads relocatable object code into executable memory.
//!
//! Each piece of code has a linker of its own (LLVM's ORC), so dropping a [`Code`] frees all that was
//! loaded for it. Objects reach kernels and services through tables that are passed at dispatch; from
//! the process they may only take the few memory functions of `process_symbols` that LLVM calls on
//! its own account. Anything else unresolved is an error, never a call into the unknown.

use std::ffi::{CStr, CString};
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, OnceLock, PoisonError};

use inkwell::llvm_sys::core::LLVMCreateMemoryBufferWithMemoryRangeCopy;
use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use inkwell::llvm_sys::orc2::lljit::{
    LLVMOrcCreateLLJIT, LLVMOrcDisposeLLJIT, LLVMOrcLLJITAddObjectFile, LLVMOrcLLJITGetExecutionSession,
    LLVMOrcLLJITMangleAndIntern, LLVMOrcLLJITRef,
};
use inkwell::llvm_sys::orc2::{
    LLVMJITEvaluatedSymbol, LLVMJITSymbolFlags, LLVMJITSymbolGenericFlags, LLVMOrcAbsoluteSymbols,
    LLVMOrcCJITDylibSearchOrderElement, LLVMOrcCLookupSetElement, LLVMOrcCSymbolMapPair,
    LLVMOrcCSymbolMapPairs, LLVMOrcDisposeMaterializationUnit, LLVMOrcExecutionSessionCreateBareJITDylib,
    LLVMOrcExecutionSessionLookup, LLVMOrcExecutionSessionRef, LLVMOrcExecutionSessionSetErrorReporter,
    LLVMOrcJITDylibDefine, LLVMOrcJITDylibLookupFlags, LLVMOrcJITDylibRef, LLVMOrcLookupKind,
    LLVMOrcSymbolLookupFlags,
};
use inkwell::targets::{InitializationConfig, Target};

/// Why code could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JitError {
    /// LLVM has no code generator for this machine.
    #[error("this build of LLVM cannot generate code for this machine: {0}")]
    NoNativeTarget(String),
    /// The linker refused the object or misses a symbol.
    #[error("the linker refused the object code: {0}")]
    Link(String),
}

type MemCopy = unsafe extern "C" fn(*mut libc::c_void, *const libc::c_void, usize) -> *mut libc::c_void;
type MemSet = unsafe extern "C" fn(*mut libc::c_void, i32, usize) -> *mut libc::c_void;

/// The functions of the process that object code may call, with their addresses.
fn process_symbols() -> [(&'static CStr, usize); 3] {
    let (copy, shift): (MemCopy, MemCopy) = (libc::memcpy, libc::memmove);
    let set: MemSet = libc::memset;
    [(c"memcpy", copy as usize), (c"memmove", shift as usize), (c"memset", set as usize)]
}

/// Object code, loaded and executable until dropped.
pub(crate) struct Code {
    jit: LLVMOrcLLJITRef,
    /// A library of our own: the main one of `jit` would resolve against the whole process.
    dylib: LLVMOrcJITDylibRef,
    /// What the linker reported beside its results; `jit` holds a pointer to it.
    reports: Box<Reports>,
}

/// Messages of failures, which name causes that the results of calls leave out.
type Reports = Mutex<Vec<String>>;

// SAFETY: ORC's session takes its own lock in every call, and `Code` calls it mutably only in `drop`.
unsafe impl Send for Code {}
// SAFETY: as above; shared references can only look symbols up, which ORC synchronises.
unsafe impl Sync for Code {}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Code").finish_non_exhaustive()
    }
}

impl Code {
    /// Loads an object file of this machine.
    ///
    /// # Errors
    ///
    /// When LLVM has no native code generator, or the object is malformed.
    pub(crate) fn load(object: &[u8]) -> Result<Self, JitError> {
        initialize_native()?;
        let mut jit: LLVMOrcLLJITRef = ptr::null_mut();
        // SAFETY: a null builder asks for the defaults; `jit` is written on success only.
        check(unsafe { LLVMOrcCreateLLJIT(&raw mut jit, ptr::null_mut()) })?;
        let mut code = Self { jit, dylib: ptr::null_mut(), reports: Box::default() };
        let reports: *const Reports = &raw const *code.reports;
        // SAFETY: the reports are on the heap and live until the session has been disposed of.
        unsafe {
            LLVMOrcExecutionSessionSetErrorReporter(code.session(), report, reports.cast_mut().cast());
        }
        // SAFETY: the session is live, and has no library of this name yet.
        code.dylib = unsafe { LLVMOrcExecutionSessionCreateBareJITDylib(code.session(), c"code".as_ptr()) };
        code.define_process_symbols()?;
        code.add(object)?;
        Ok(code)
    }

    /// The address of a function in the object; linking is done at the first call.
    ///
    /// # Errors
    ///
    /// When there is no such symbol, or the object needs one that is not provided.
    pub(crate) fn symbol(&self, name: &str) -> Result<NonNull<u8>, JitError> {
        let unknown = || JitError::Link(format!("no symbol `{}`", name.escape_debug()));
        let c_name = CString::new(name).map_err(|_nul| unknown())?;
        let found = self.look_up(&c_name).map_err(|error| self.explain(error))?;
        let address = usize::try_from(found).map_err(|_wide| unknown())?;
        NonNull::new(ptr::with_exposed_provenance_mut(address)).ok_or_else(unknown)
    }

    /// Adds what the linker reported.
    fn explain(&self, error: JitError) -> JitError {
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        match error {
            JitError::Link(text) if !reports.is_empty() => {
                JitError::Link(format!("{text}: {}", reports.drain(..).collect::<Vec<_>>().join("; ")))
            }
            other => other,
        }
    }

    fn session(&self) -> LLVMOrcExecutionSessionRef {
        // SAFETY: `self.jit` is live, and its session lives as long.
        unsafe { LLVMOrcLLJITGetExecutionSession(self.jit) }
    }

    /// Links and finds a symbol. ORC answers through a callback, on a thread of its choice.
    fn look_up(&self, name: &CStr) -> Result<u64, JitError> {
        let mut order = LLVMOrcCJITDylibSearchOrderElement {
            JD: self.dylib,
            JDLookupFlags: LLVMOrcJITDylibLookupFlags::LLVMOrcJITDylibLookupFlagsMatchAllSymbols,
        };
        let mut set = LLVMOrcCLookupSetElement {
            // SAFETY: `self.jit` is live, `name` is NUL-terminated.
            Name: unsafe { LLVMOrcLLJITMangleAndIntern(self.jit, name.as_ptr()) },
            LookupFlags: LLVMOrcSymbolLookupFlags::LLVMOrcSymbolLookupFlagsRequiredSymbol,
        };
        let (sender, receiver) = sync_channel(1);
        let context = Box::into_raw(Box::new(sender));
        // SAFETY: session and library are live; both arrays have one entry and are read during the
        // call; `answer` takes `context` back, and ORC calls it exactly once.
        unsafe {
            LLVMOrcExecutionSessionLookup(
                self.session(),
                LLVMOrcLookupKind::LLVMOrcLookupKindStatic,
                &raw mut order,
                1,
                &raw mut set,
                1,
                answer,
                context.cast(),
            );
        }
        receiver.recv().unwrap_or_else(|_closed| Err(JitError::Link("the linker gave no answer".into())))
    }

    fn define_process_symbols(&self) -> Result<(), JitError> {
        let generic = LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsExported as u8
            | LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsCallable as u8;
        let mut pairs = process_symbols().map(|(name, address)| LLVMOrcCSymbolMapPair {
            // SAFETY: `self.jit` is live and `name` is NUL-terminated.
            Name: unsafe { LLVMOrcLLJITMangleAndIntern(self.jit, name.as_ptr()) },
            Sym: LLVMJITEvaluatedSymbol {
                Address: address as u64,
                Flags: LLVMJITSymbolFlags { GenericFlags: generic, TargetFlags: 0 },
            },
        });
        // SAFETY: `pairs` holds `pairs.len()` entries; their names, just interned, change owner.
        let unit = unsafe { LLVMOrcAbsoluteSymbols(pairs.as_mut_ptr(), pairs.len()) };
        // SAFETY: the library lives as long as `self.jit`; on success `unit` changes owner.
        check(unsafe { LLVMOrcJITDylibDefine(self.dylib, unit) }).inspect_err(|_error| {
            // SAFETY: after a failure the unit is still ours, and is not used again.
            unsafe { LLVMOrcDisposeMaterializationUnit(unit) }
        })
    }

    fn add(&self, object: &[u8]) -> Result<(), JitError> {
        // SAFETY: pointer and length are of one slice; LLVM copies it; the name is NUL-terminated.
        let buffer = unsafe {
            LLVMCreateMemoryBufferWithMemoryRangeCopy(
                object.as_ptr().cast(),
                object.len(),
                c"pipeline".as_ptr(),
            )
        };
        // SAFETY: all three are live; the buffer changes owner, also on failure.
        check(unsafe { LLVMOrcLLJITAddObjectFile(self.jit, self.dylib, buffer) })
    }
}

/// Receives the result of [`Code::look_up`].
extern "C" fn answer(
    error: LLVMErrorRef,
    result: LLVMOrcCSymbolMapPairs,
    count: usize,
    context: *mut libc::c_void,
) {
    // SAFETY: `context` is the box that `look_up` gave away for this one call.
    let sender = unsafe { Box::from_raw(context.cast::<SyncSender<Result<u64, JitError>>>()) };
    let found = check(error).and_then(|()| {
        // SAFETY: on success `result` has `count` entries.
        let pair = (count > 0).then(|| unsafe { &*result });
        pair.map(|pair| pair.Sym.Address).ok_or_else(|| JitError::Link("no symbol found".into()))
    });
    // The receiver waits for this; if it is gone, nobody wants the answer.
    let _unwanted = sender.send(found);
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: `self.jit` came from `LLVMOrcCreateLLJIT` and is used nowhere after this.
        let result = check(unsafe { LLVMOrcDisposeLLJIT(self.jit) });
        debug_assert_eq!(result, Ok(()), "disposing of a linker");
    }
}

/// Registers LLVM's code generator for this machine, once per process.
fn initialize_native() -> Result<(), JitError> {
    static RESULT: OnceLock<Result<(), String>> = OnceLock::new();
    RESULT
        .get_or_init(|| Target::initialize_native(&InitializationConfig::default()))
        .clone()
        .map_err(JitError::NoNativeTarget)
}

/// Keeps a failure that ORC would otherwise print.
extern "C" fn report(context: *mut libc::c_void, error: LLVMErrorRef) {
    // SAFETY: `context` is the `reports` of a `Code` whose session is still live.
    let reports = unsafe { &*context.cast::<Reports>() };
    if let Err(JitError::Link(text)) = check(error) {
        reports.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }
}

/// Takes an LLVM error and its text.
fn check(error: LLVMErrorRef) -> Result<(), JitError> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: `error` is a failure that nobody has taken yet; this takes it.
    let message = unsafe { LLVMGetErrorMessage(error) };
    // SAFETY: `message` is a NUL-terminated string until disposed of.
    let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
    // SAFETY: `message` came from `LLVMGetErrorMessage` and is not used again.
    unsafe { LLVMDisposeErrorMessage(message) };
    Err(JitError::Link(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object_from_ir;

    const ADD: &str = "define i32 @add(i32 %a, i32 %b) nounwind { %r = add i32 %a, %b ret i32 %r }";

    #[test]
    fn runs_loaded_code() {
        let code = Code::load(&object_from_ir(ADD)).unwrap();
        let address = code.symbol("add").unwrap();
        // SAFETY: the object defines `add` with this signature, and `code` is still alive.
        let add: extern "C" fn(i32, i32) -> i32 = unsafe { std::mem::transmute(address) };
        assert_eq!(add(40, 2), 42);
    }

    #[test]
    fn provides_the_memory_functions() {
        let text = "declare ptr @memset(ptr, i32, i64)
            define void @fill(ptr %p, i64 %n) nounwind { %r = call ptr @memset(ptr %p, i32 7, i64 %n) ret void }";
        let code = Code::load(&object_from_ir(text)).unwrap();
        let address = code.symbol("fill").unwrap();
        // SAFETY: as above.
        let fill: extern "C" fn(*mut u8, u64) = unsafe { std::mem::transmute(address) };
        let mut bytes = [0_u8; 100];
        fill(bytes.as_mut_ptr(), 100);
        assert_eq!(bytes, [7; 100]);
    }

    #[test]
    fn refuses_what_it_cannot_resolve() {
        let text = "declare void @system(ptr) define void @f() { call void @system(ptr null) ret void }";
        let code = Code::load(&object_from_ir(text)).unwrap();
        let error = code.symbol("f").unwrap_err();
        assert!(error.to_string().contains("system"), "{error}");
        assert!(code.symbol("absent").is_err());
        assert!(code.symbol("nul\0inside").is_err());
    }

    #[test]
    fn refuses_what_is_no_object() {
        for bytes in [&b""[..], b"not an object", &[0x7f, b'E', b'L', b'F', 2, 1, 1, 0]] {
            let result = Code::load(bytes).and_then(|code| code.symbol("add"));
            assert!(result.is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn truncated_objects_are_refused_or_harmless() {
        let object = object_from_ir(ADD);
        for length in 0..object.len() {
            let _any = Code::load(&object[..length]).and_then(|code| code.symbol("add"));
        }
    }

    #[test]
    fn prints_the_cost_of_loading() {
        let object = object_from_ir(ADD);
        for _ in 0..3 {
            let start = std::time::Instant::now();
            let code = Code::load(&object).unwrap();
            let created = start.elapsed();
            code.symbol("add").unwrap();
            let linked = start.elapsed();
            drop(code);
            println!("load {created:?}, with link {linked:?}, with drop {:?}", start.elapsed());
        }
    }
}

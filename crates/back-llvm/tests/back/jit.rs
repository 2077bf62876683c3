//! Loads an object and runs a dispatch of it, the subgroups of a work-group in turn.

use inkwell::llvm_sys::core::LLVMCreateMemoryBufferWithMemoryRangeCopy;
use inkwell::llvm_sys::error::{LLVMErrorRef, LLVMGetErrorMessage};
use inkwell::llvm_sys::orc2::lljit::{
    LLVMOrcCreateLLJIT, LLVMOrcDisposeLLJIT, LLVMOrcLLJITAddObjectFile, LLVMOrcLLJITGetMainJITDylib,
    LLVMOrcLLJITLookup, LLVMOrcLLJITRef,
};
use phalanx_back_llvm::abi::{
    BindingDesc, BufferDesc, DispatchContext, ENTRY_SYMBOL, Entry, LoadOnce, Meta, Note, Services,
    SubgroupContext, go_on,
};
use phalanx_back_llvm::{Compiled, Target};
use phalanx_kernels::math::{self, MathLevel};
use phalanx_kernels::{Level, LoadFn};
use std::alloc::Layout;
use std::ffi::{CStr, CString};
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;

/// Loaded code.
pub(crate) struct Code {
    jit: LLVMOrcLLJITRef,
    entry: Entry,
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: `jit` was created by `load` and is disposed of once.
        check(unsafe { LLVMOrcDisposeLLJIT(self.jit) });
    }
}

fn check(error: LLVMErrorRef) {
    if error.is_null() {
        return;
    }
    // SAFETY: the error is not null and its message is taken once.
    let message = unsafe { CStr::from_ptr(LLVMGetErrorMessage(error)) };
    panic!("{}", message.to_string_lossy());
}

/// Loads an object. Symbols of the process are not offered: code that needs any does not load.
pub(crate) fn load(object: &[u8]) -> Code {
    let mut jit = ptr::null_mut();
    // SAFETY: a null builder stands for the defaults; `jit` is valid for writing.
    check(unsafe { LLVMOrcCreateLLJIT(&raw mut jit, ptr::null_mut()) });
    let name = CString::new(ENTRY_SYMBOL).unwrap();
    let mut address = 0;
    // SAFETY: the object is copied into a buffer that the linker then owns; `jit` is live.
    unsafe {
        let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
            object.as_ptr().cast(),
            object.len(),
            c"object".as_ptr(),
        );
        let dylib = LLVMOrcLLJITGetMainJITDylib(jit);
        check(LLVMOrcLLJITAddObjectFile(jit, dylib, buffer));
        check(LLVMOrcLLJITLookup(jit, &raw mut address, name.as_ptr()));
    }
    // SAFETY: the object defines the symbol as a function of this type.
    let entry = unsafe { std::mem::transmute::<usize, Entry>(address as usize) };
    Code { jit, entry }
}

/// What the services of a work-group need; `SubgroupContext::host` points to it.
struct Group<'a> {
    printed: &'a Mutex<Vec<Printed>>,
}

/// A call of `printf`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Printed {
    pub(crate) group: [u32; 3],
    pub(crate) subgroup: u32,
    pub(crate) lane: u32,
    pub(crate) format: u32,
    pub(crate) args: Vec<u64>,
}

/// Answers an operation on images. There are none.
unsafe extern "C" fn image(
    _cx: *const SubgroupContext,
    _binding: u32,
    _code: u64,
    _mask: *const u64,
    _places: *const i32,
    _values: *mut u8,
) {
    std::process::abort();
}

unsafe extern "C" fn printf(
    context: *const SubgroupContext,
    format: u32,
    lane: u32,
    args: *const u64,
    n: u32,
) {
    // SAFETY: `run_group` made the context; compiled code passes `n` arguments.
    let (context, args) = unsafe { (&*context, std::slice::from_raw_parts(args, n as usize)) };
    // SAFETY: its group lives until all subgroups have ended.
    let group = unsafe { &*context.host.cast::<Group<'_>>() };
    group.printed.lock().unwrap().push(Printed {
        group: context.group_id,
        subgroup: context.subgroup_id,
        lane,
        format,
        args: args.to_vec(),
    });
}

/// Where profiled code says where it is.
static NOWHERE: AtomicU32 = AtomicU32::new(0);

/// Tests here ask for no checks of addresses.
unsafe extern "C" fn check_access(
    _context: *const SubgroupContext,
    _mask: *const u64,
    _addresses: *const u64,
    _runs: u64,
    _stride: u64,
    _bytes: u64,
    _writes: u32,
) {
}

/// Each subgroup loads for itself.
unsafe extern "C" fn load_once(
    context: *const SubgroupContext,
    load: *const LoadOnce,
    tiles: *mut u8,
    _notes: *mut Note,
    base: *const u8,
    size: u64,
    offset: u64,
    stride: i64,
) -> *mut u8 {
    // SAFETY: compiled code passes the context it was called with, and a constant that names a `LoadFn` of the table.
    let (load, kernel) = unsafe {
        let kernel = (*(*context).dispatch).kernels.add((*load).kernel as usize).read();
        (&*load, std::mem::transmute::<usize, LoadFn>(kernel))
    };
    // SAFETY: and what the kernel is to be given.
    unsafe { kernel(&load.access, tiles, base, size, offset, stride) };
    tiles
}

/// Memory with the alignment that the interface promises.
struct Aligned(*mut u8, Layout);

impl Aligned {
    fn new(bytes: usize) -> Self {
        Self::to(bytes, 64)
    }

    fn to(bytes: usize, align: usize) -> Self {
        let layout = Layout::from_size_align(bytes.max(64), align).unwrap();
        // SAFETY: the size is not zero.
        Self(unsafe { std::alloc::alloc_zeroed(layout) }, layout)
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { std::alloc::dealloc(self.0, self.1) };
    }
}

/// Passes an address to another thread.
struct Shared<T>(T);
// SAFETY: what is passed is only used while `run`, which owns it, waits for the thread.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

/// What a dispatch is given besides its code.
pub(crate) struct Inputs<'a> {
    /// One descriptor array for each binding.
    pub(crate) bindings: &'a [Vec<BufferDesc>],
    pub(crate) push: &'a [u8],
    pub(crate) groups: [u32; 3],
    pub(crate) base: [u32; 3],
    pub(crate) stop: u32,
}

/// Runs a dispatch and gives what it printed.
pub(crate) fn run(compiled: &Compiled, target: &Target, inputs: &Inputs<'_>) -> Vec<Printed> {
    let meta = &compiled.meta;
    let special = compiled.special.as_ref().filter(|_| meta.is_aligned(inputs.push));
    let code = load(special.unwrap_or(&compiled.object));
    assert_eq!(meta.num_bindings as usize, inputs.bindings.len());
    assert!(meta.push_bytes as usize <= inputs.push.len());
    let bindings: Vec<_> =
        inputs.bindings.iter().map(|b| BindingDesc { descs: b.as_ptr(), count: b.len() as u64 }).collect();
    let stop = AtomicU32::new(inputs.stop);
    // Tests here ask for no warnings, so whatever tells of one may do so in any way, and have no images.
    let services = Services { printf, warn: printf, image, check: check_access, load_once };
    let kernels: *const phalanx_kernels::Table =
        target.processor().isa().expect("tests run what is available").table();
    let dispatch = Shared(DispatchContext {
        bindings: bindings.as_ptr(),
        push: inputs.push.as_ptr(),
        num_groups: inputs.groups,
        base_group: inputs.base,
        stop: &raw const stop,
        kernels: kernels.cast(),
        math: math::table(math_level(target)).as_ptr().cast(),
        services: &raw const services,
    });
    let printed = Mutex::new(Vec::new());
    let [nx, ny, nz] = inputs.groups;
    for index in 0..nx * ny * nz {
        let id = [index % nx, index / nx % ny, index / nx / ny];
        let id = [0, 1, 2].map(|i| id[i] + inputs.base[i]);
        run_group(code.entry, meta, &dispatch, id, &printed);
    }
    printed.into_inner().unwrap()
}

fn math_level(target: &Target) -> MathLevel {
    match target.kernels().level() {
        Level::Avx512 => MathLevel::Avx512,
        Level::Avx2 => MathLevel::Avx2,
        Level::Neon => MathLevel::Neon,
        Level::Portable => MathLevel::Portable,
    }
}

fn run_group(
    entry: Entry,
    meta: &Meta,
    dispatch: &Shared<DispatchContext>,
    group_id: [u32; 3],
    printed: &Mutex<Vec<Printed>>,
) {
    let n = meta.num_subgroups();
    let shared = Aligned::new(meta.shared_bytes as usize);
    let group = Group { printed };
    let scratch: Vec<_> =
        (0..n).map(|_| Aligned::new((meta.scratch_bytes + meta.leader_scratch_bytes) as usize)).collect();
    let align = (meta.frame_align as usize).max(64);
    let frames: Vec<_> = (0..n).map(|_| Aligned::to(meta.frame_bytes as usize, align)).collect();
    // Here each has what is otherwise common.
    let common: Vec<_> = (0..n).map(|_| Aligned::new(meta.common_bytes as usize)).collect();
    let contexts: Vec<_> = (0..n)
        .map(|subgroup_id| {
            Shared(SubgroupContext {
                dispatch: &raw const dispatch.0,
                group_id,
                subgroup_id,
                groups: 1,
                declined: 0,
                shared: shared.0,
                scratch: scratch[subgroup_id as usize].0,
                common: common[subgroup_id as usize].0,
                frame: frames[subgroup_id as usize].0,
                host: (&raw const group).cast_mut().cast(),
                place: 0,
                site: &raw const NOWHERE,
            })
        })
        .collect();
    // SAFETY: the contexts are as the interface demands and outlive the calls.
    let call = |context: &Shared<SubgroupContext>| unsafe { entry(&raw const context.0) };
    if meta.runs_groups {
        contexts.iter().take(1).for_each(call);
        return;
    }
    contexts.iter().for_each(call);
    if !meta.stops {
        return;
    }
    let mut live: Vec<&Shared<SubgroupContext>> = contexts.iter().collect();
    while !live.is_empty() {
        // SAFETY: the calls have prepared the frames, and those that have ended are not run again.
        live.retain(|context| unsafe { go_on(context.0.frame) });
    }
}

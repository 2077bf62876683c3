//! IR to LLVM IR to object code.
//!
//! A subgroup is one hardware thread; its lanes are the elements of vector registers. A value that
//! is the same in all lanes is a scalar, one that differs is a vector with an element per lane.
//! Where lanes part ways, a mask says which of them execute.

pub mod abi;
mod ahead;
mod atomic;
mod builtin;
mod bundles;
mod check;
mod control;
mod coopmat;
mod counted;
mod edge;
mod effort;
mod elementwise;
mod filled;
mod forms;
mod groups;
mod halves;
mod image;
mod lanes;
mod lower;
mod masks;
mod math;
mod memory;
mod neighbours;
mod optimize;
mod pick;
mod pieces;
mod pin;
mod pointer;
mod prologue;
mod repeated;
mod report;
mod roll;
mod service;
mod sink;
mod site;
mod straight;
mod strides;
mod subgroup;
mod target;
#[cfg(test)]
mod testing;
mod value;
mod vars;
mod vector;
mod window;

use inkwell::context::Context;
use lower::Common;
use phalanx_emit_llvm::{self as emit, error};
use phalanx_ir::Verified;
use std::time::{Duration, Instant};

pub use abi::Meta;
pub use phalanx_emit_llvm::Error;
pub use target::Target;

/// A compiled module.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// A relocatable object that defines [`abi::ENTRY_SYMBOL`].
    pub object: Vec<u8>,
    /// What the host has to know to run it.
    pub meta: Meta,
    /// What [`Options`] asked for.
    pub dumps: Dumps,
    /// Where the time went.
    pub times: Times,
}

/// How long the steps of a compilation took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Analysis, and IR to LLVM IR.
    pub lower: Duration,
    /// LLVM's passes, its verifier included.
    pub optimize: Duration,
    /// LLVM IR to object code.
    pub generate: Duration,
}

/// What the caller wants besides the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Fill [`Dumps::llvm_lowered`] and [`Dumps::llvm_optimized`].
    pub dump_llvm: bool,
    /// Fill [`Dumps::asm`].
    pub dump_asm: bool,
    /// Ask the host before each access by address whether there is such memory ([`abi::Services::check`]).
    pub check_addresses: bool,
    /// Write down where the code is, for a profiler to look at ([`abi::Site`]).
    pub profile: bool,
}

/// Intermediate forms, for people to read.
#[derive(Clone, Debug, Default)]
pub struct Dumps {
    /// LLVM IR as it was made.
    pub llvm_lowered: Option<String>,
    /// LLVM IR as the code generator got it.
    pub llvm_optimized: Option<String>,
    /// Assembly.
    pub asm: Option<String>,
}

/// Compiles a verified module for a CPU.
///
/// # Errors
///
/// [`Error::Unsupported`] names what this target does not do. [`Error::Bug`] is our own fault.
pub fn compile(module: &Verified, target: &Target, options: &Options) -> Result<Compiled, Error> {
    let start = Instant::now();
    let cx = Context::create();
    let mut emit = emit::Emit::new(&cx, &module.name, target.caps());
    emit.has_notes = options.profile;
    let mut common = Common { checks_addresses: options.check_addresses, ..Common::default() };
    let isa = coopmat::kernels(&module.body, target.kernels());
    let (emit, functions, meta) = forms::lower(emit, &mut common, module, isa)?;
    let lower = start.elapsed();
    let mut compiled = optimize::to_object(&cx, &emit.module, &functions, target, options)?;
    let stack_bytes = compiled.meta.stack_bytes;
    compiled.meta = Meta { stack_bytes, places: common.places, sites: common.sites.list, ..meta };
    compiled.times.lower = lower;
    Ok(compiled)
}

//! IR to LLVM IR to object code.
//!
//! A subgroup is one hardware thread; its lanes are the elements of vector registers. A value that
//! is the same in all lanes is a scalar, one that differs is a vector with an element per lane.
//! Where lanes part ways, a mask says which of them execute.

pub mod abi;
mod ahead;
mod apart;
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
mod shared;
mod sink;
mod site;
mod straight;
mod strides;
mod subgroup;
mod suspend;
mod target;
#[cfg(test)]
mod testing;
mod value;
mod vars;
mod vector;
mod window;

use forms::{Form, Forms, Settings};
use inkwell::context::Context;
use lower::Common;
use phalanx_emit_llvm::{self as emit, error};
use phalanx_ir::{Verified, passes};
use std::ops::Add;
use std::time::{Duration, Instant};

pub use abi::Meta;
pub use phalanx_emit_llvm::Error;
pub use target::Target;

/// A compiled module.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// A relocatable object that defines [`abi::ENTRY_SYMBOL`], for all that it may be called for.
    pub object: Vec<u8>,
    /// Another such object, for where [`Meta::block`] or [`Meta::aligned`] says.
    pub special: Option<Vec<u8>>,
    /// What the host has to know to run it.
    pub meta: Meta,
    /// What [`Options`] asked for.
    pub dumps: Dumps,
    /// Where the time went.
    pub times: Times,
}

/// How long the steps of a compilation took, on all threads together.
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
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// How the target's own passes are run.
    pub passes: passes::Options,
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

/// How work of the compiler is done that may be done at once.
pub trait Workers {
    /// Does two pieces of work and returns when both are done. The second owns what it needs, so that it can be left behind
    /// with a thread.
    fn both<A, B: Send + 'static>(
        &self,
        first: impl FnOnce() -> A,
        second: impl FnOnce() -> B + Send + 'static,
    ) -> (A, B);
}

/// One piece after the other, on the calling thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct InTurn;

impl Workers for InTurn {
    fn both<A, B: Send + 'static>(
        &self,
        first: impl FnOnce() -> A,
        second: impl FnOnce() -> B + Send + 'static,
    ) -> (A, B) {
        (first(), second())
    }
}

/// Compiles a verified module for a CPU, on the calling thread.
///
/// # Errors
///
/// [`Error::Unsupported`] names what this target does not do. [`Error::Bug`] is our own fault.
pub fn compile(module: &Verified, target: &Target, options: &Options) -> Result<Compiled, Error> {
    compile_by(&InTurn, module, target, options)
}

/// Compiles a verified module for a CPU; a module of two forms at once, if the workers do.
///
/// # Errors
///
/// As [`compile`].
pub fn compile_by(
    workers: &impl Workers,
    module: &Verified,
    target: &Target,
    options: &Options,
) -> Result<Compiled, Error> {
    let start = Instant::now();
    let isa = coopmat::kernels(&module.body, target.kernels());
    let settings = Settings { isa, passes: options.passes };
    let Forms { general, special } = Forms::of(module, settings)?;
    let lower = start.elapsed();
    let task = Task { name: module.name.clone(), target: target.clone(), options: *options, settings };
    let mut common = Common { checks_addresses: options.check_addresses, ..Common::default() };
    let mut compiled = match special {
        None => task.compile(&general, &mut common)?,
        // What one form numbers, the other goes on with.
        Some(special) if options.check_addresses || options.profile => {
            let general = task.compile(&general, &mut common)?;
            general.with_special(task.compile(&special, &mut common)?)
        }
        Some(special) => {
            let other = task.clone();
            let (special, general) = workers.both(
                || task.compile(&special, &mut Common::default()),
                move || other.compile(&general, &mut Common::default()),
            );
            general?.with_special(special?)
        }
    };
    (compiled.meta.places, compiled.meta.sites) = (common.places, common.sites.list);
    compiled.times.lower += lower;
    Ok(compiled)
}

/// What is to be done with the forms of a module.
#[derive(Clone, Debug)]
struct Task {
    name: String,
    target: Target,
    options: Options,
    settings: Settings,
}

impl Task {
    /// Compiles a form.
    fn compile(&self, form: &Form, common: &mut Common) -> Result<Compiled, Error> {
        let start = Instant::now();
        let cx = Context::create();
        let mut emit = emit::Emit::new(&cx, &self.name, self.target.caps());
        emit.has_notes = self.options.profile;
        let (emit, functions, meta) = form.lower(emit, common, self.settings)?;
        let lower = start.elapsed();
        let compiled = optimize::to_object(&cx, &emit.module, &functions, &self.target, &self.options)?;
        let Meta { stack_bytes, frame_bytes, frame_align, .. } = compiled.meta;
        let meta = Meta { stack_bytes, frame_bytes, frame_align, ..meta };
        Ok(Compiled { meta, times: Times { lower, ..compiled.times }, ..compiled })
    }
}

impl Compiled {
    /// The two forms of a module as one.
    fn with_special(self, special: Self) -> Self {
        Self {
            object: self.object,
            special: Some(special.object),
            meta: forms::join(self.meta, special.meta),
            dumps: self.dumps.and(special.dumps),
            times: self.times + special.times,
        }
    }
}

impl Dumps {
    /// These and others behind them.
    fn and(self, others: Self) -> Self {
        let both = |text: Option<String>, other: Option<String>| Some(text? + &other?);
        Self {
            llvm_lowered: both(self.llvm_lowered, others.llvm_lowered),
            llvm_optimized: both(self.llvm_optimized, others.llvm_optimized),
            asm: both(self.asm, others.asm),
        }
    }
}

impl Add for Times {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            lower: self.lower + other.lower,
            optimize: self.optimize + other.optimize,
            generate: self.generate + other.generate,
        }
    }
}

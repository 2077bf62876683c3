//! The CPU device: JIT, work-groups, barriers, dispatch.
//!
//! A [`Device`] compiles verified modules to a [`Pipeline`] and runs a [`Dispatch`] of it on
//! buffers. A pipeline's code runs one subgroup; `run` spreads the work-groups over the threads of
//! `pool`, and from barrier to barrier over the subgroups of a work-group. `watchdog` ends what takes too long, `fault` what accesses memory that is not there, `attempt` gives up compiling that does not end,
//! `cache` remembers what was compiled, `jit` loads it. `profile` tells where time goes.
//!
//! Invariant: this crate knows neither SPIR-V nor Vulkan. A dispatch ends, by its own end or by the watchdog.

mod attempt;
mod bandwidth;
mod batch;
mod binary;
mod cache;
mod check;
mod cores;
mod device;
mod error;
mod fault;
mod float_env;
mod grid;
mod image;
mod jit;
mod machine;
mod pieces;
mod pipeline;
mod pool;
mod printf;
mod process;
mod profile;
mod run;
mod scratch;
mod shares;
mod stack;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod watchdog;

pub use attempt::exhaustion::Allocator;
pub use attempt::{Abandoned, Attempt};
pub use bandwidth::Probe;
pub use cores::usable as usable_cores;
pub use device::{Compiled, Compiler, Config, Created, Device, Dispatch, Report};
pub use error::Error;
pub use jit::JitError;
pub use phalanx_back_llvm::abi::{Family, Site};
pub use phalanx_back_llvm::{Dumps, Error as CompileError, Options};
pub use pieces::Piece;
pub use pipeline::Pipeline;
pub use profile::PipelineProfile;

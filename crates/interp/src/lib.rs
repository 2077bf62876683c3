//! The reference meaning: executes the IR literally.
//!
//! The interpreter is the oracle of every other target, so it is written to be obviously right, not
//! fast. Each scalar instruction is done invocation by invocation through [`phalanx_ir::eval`]; each
//! matrix instruction is done once for its scope on row-major elements.
//!
//! A subgroup is executed in lockstep, with a set of active invocations that follows the structure
//! of the program: an `if` runs both sides with the two parts of the set, a branch removes
//! invocations from the set until the construct it names ends or starts again, and invocations
//! reconverge where a construct ends. The constructs in progress are an explicit stack, so that
//! nesting needs no host stack and a subgroup can stop anywhere. It stops at a barrier of the
//! work-group until the others are there, and after a slice of instructions to let the others run.
//! It stops, too, at an instruction on whole matrices of the work-group, which all execute together.
//! Work-groups run one after the other, in order. Everything is deterministic, but for a dispatch that is interrupted.
//!
//! It executes what it is given: no pass of the compiler runs before, so that none of them can be wrong unseen.
//!
//! Variables and shared memory start as zeros. Reads outside of buffers, push constants and shared
//! objects give zero and writes there do nothing, but they are counted in the [`Report`]. An access
//! to a raw address that is in no buffer is an [`Error`]. What is accessed inside is counted, too: [`Traffic`].

#![forbid(unsafe_code)]

mod error;
mod exec;
mod group;
mod lanes;
mod memory;
mod schedule;
mod subgroup;
mod traffic;
mod value;

pub use error::{Error, Place};
pub use memory::{BufferId, Memory, Region};
pub use schedule::{Limits, Report, run, run_until};
pub use traffic::{Accesses, Amount, Traffic};

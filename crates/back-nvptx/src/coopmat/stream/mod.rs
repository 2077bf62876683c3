//! Factors that threads of their own bring.
//!
//! A work-group that multiplies matrices which its invocations hold together gets [`PRODUCERS`] more threads. They run the
//! same program without its effects, and where it loads a factor, they copy the factor to shared memory, into a ring of a
//! few slots. The invocations load no such factor: they wait until it is there, multiply it from where it is by `wgmma`
//! ([`multiply`]), and give the slot back. So loads are some rounds of a loop ahead of the multiplications whatever the
//! program computes its addresses from, as long as that is nothing that the work-group itself computes ([`mod@plan`]).
//!
//! ```text
//! producers                                     invocations
//! wait until the slot is empty                  wait until the slot is full
//! copy A and B to it                            multiply
//! say some rounds later that it is full         say that the one before it is empty
//! ```

mod ask;
mod boxes;
mod cluster;
mod delay;
mod fields;
mod fill;
mod late;
mod multiply;
mod pairs;
mod plan;
mod ring;
mod runs;
mod scale;
mod skip;
mod slot;
mod turn;
mod turns;

pub(crate) use multiply::FENCE;
pub(crate) use pairs::Pairs;
pub(crate) use plan::{Plan, may_stream, plan};
pub(crate) use ring::{Ring, Role};
pub(crate) use slot::Part;

/// Threads that copy: as many as a group of warps that multiplies has.
pub(crate) const PRODUCERS: u32 = 128;

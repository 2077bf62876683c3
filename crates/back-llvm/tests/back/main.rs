//! Compiles small modules for every kind of processor that this machine can stand in for, runs
//! them, and compares what they leave in memory with what the interpreter leaves there. Code for the
//! others is made and judged.

#![expect(clippy::unwrap_used, reason = "a helper of tests may panic as a test may")]
#![expect(
    clippy::panic,
    clippy::print_stdout,
    reason = "a helper of tests may panic and print as a test may"
)]

mod arith;
mod jit;
mod judge;
mod kernel;
mod memory;
mod processors;
mod random;
mod site;
mod straight;
mod subgroup;
mod vars;

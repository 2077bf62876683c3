//! Runs the file tests: every file below `filetests/` says in its comments what is to be done with
//! it and what must come out. [`directive`] has the language of those comments, `docs/testing.md`
//! shows it by example.
//!
//! A test that runs does so on the interpreter, on the interpreter after the passes, and on the
//! CPU, for each subgroup size it names; all must give what the file expects.

#![forbid(unsafe_code)]

pub mod compare;
pub mod compile;
pub mod coopvec;
pub mod data;
pub mod directive;
mod error;
mod expr;
pub mod generate;
pub mod harness;
pub mod judges;
mod kept;
pub mod known;
mod laid;
pub mod mutate;
pub mod random;
pub mod readers;
pub mod runner;
pub mod sample;
mod sampler;
mod slot;
mod snapshot;
pub mod tally;
pub mod target;
mod tokens;

pub use error::Wrong;
pub use slot::Slot;

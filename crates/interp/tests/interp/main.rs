//! Runs small modules and looks at the memory they leave.

#![expect(clippy::unwrap_used, reason = "a helper of tests may panic as a test may")]

mod barrier;
mod control;
mod kernel;
mod limits;
mod matrix;
mod memory;
mod random;
mod scalar;
mod subgroup;
mod traffic;

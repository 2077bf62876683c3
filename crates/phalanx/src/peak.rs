//! The most that the machine can do, for comparison.
//!
//! Each figure is in operations per second (a multiplication and an addition are two) of this many
//! threads together, with the instructions that kernels use; measuring it takes the given time. What a processor
//! does at most changes with its clock, from one moment to the next.

use std::time::Duration;

use phalanx_kernels::{Isa, peak};

/// Multiply-adds of f32.
pub fn f32_fma(threads: usize, duration: Duration) -> f64 {
    peak::f32_fma(isa(), threads, duration)
}

/// Dot products of pairs of bf16, or what kernels use where the machine has no instruction for them.
pub fn bf16_dot(threads: usize, duration: Duration) -> f64 {
    peak::bf16_dot(isa(), threads, duration)
}

/// Dot products of quads of bytes, or what kernels use where the machine has no instruction for them.
pub fn i8_dot(threads: usize, duration: Duration) -> f64 {
    peak::i8_dot(isa(), threads, duration)
}

/// What kernels use: if the environment asks for what is not there, creating a device says so.
fn isa() -> Isa {
    Isa::detect().unwrap_or_else(|_error| Isa::native())
}

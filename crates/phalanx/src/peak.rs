//! The most that the machine can do, for comparison.
//!
//! Each figure is in operations per second (a multiplication and an addition are two) of this many
//! threads together, with the instructions that the kernels of a processor use; measuring it takes the given time. What a processor
//! does at most changes with its clock, from one moment to the next.

use std::time::Duration;

use phalanx_kernels::{Isa, Processor, peak};

/// Multiply-adds of f32.
pub fn f32_fma(processor: Processor, threads: usize, duration: Duration) -> f64 {
    peak::f32_fma(isa(processor), threads, duration)
}

/// Dot products of pairs of bf16, or what kernels use where the processor has no instruction for them.
pub fn bf16_dot(processor: Processor, threads: usize, duration: Duration) -> f64 {
    peak::bf16_dot(isa(processor), threads, duration)
}

/// Dot products of quads of bytes, or what kernels use where the processor has no instruction for them.
pub fn i8_dot(processor: Processor, threads: usize, duration: Duration) -> f64 {
    peak::i8_dot(isa(processor), threads, duration)
}

/// What kernels use: if the machine cannot execute it, creating a device says so.
fn isa(processor: Processor) -> Isa {
    processor.isa().unwrap_or(Isa::PORTABLE)
}

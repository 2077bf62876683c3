//! The most that the machine can do, for comparison.
//!
//! Each figure is in operations per second (a multiplication and an addition are two) of this many
//! threads together, with the instructions that the kernels of a processor use; measuring it takes the given time. What a processor
//! does at most changes with its clock, from one moment to the next.

use std::time::Duration;

/// Memory like that of buffers, and how fast it is read.
pub use phalanx_cpu::Probe;
pub use phalanx_kernels::peak::Unit;
use phalanx_kernels::{Isa, Processor, peak};

/// Multiply-adds of f32.
pub fn f32_fma(processor: Processor, threads: usize, duration: Duration) -> f64 {
    peak::f32_fma(isa(processor), threads, duration)
}

/// Products of f16 in sums of f16 by what kernels use, [`f16_unit`].
pub fn f16_fma(processor: Processor, threads: usize, duration: Duration) -> f64 {
    peak::f16_fma(isa(processor), threads, duration)
}

/// Products of bf16 by what kernels use, [`bf16_unit`].
pub fn bf16_dot(processor: Processor, threads: usize, duration: Duration) -> f64 {
    peak::bf16_dot(isa(processor), threads, duration)
}

/// Products of bytes by what kernels use, [`i8_unit`].
pub fn i8_dot(processor: Processor, threads: usize, duration: Duration) -> f64 {
    peak::i8_dot(isa(processor), threads, duration)
}

/// What multiplies f16 on a processor where the sums are f16, too.
pub fn f16_unit(processor: Processor) -> Unit {
    processor.kernels().f16_unit()
}

/// What multiplies bf16 on a processor.
pub fn bf16_unit(processor: Processor) -> Unit {
    processor.kernels().bf16_unit()
}

/// What multiplies bytes on a processor.
pub fn i8_unit(processor: Processor) -> Unit {
    processor.kernels().i8_unit()
}

/// What kernels use: if the machine cannot execute it, creating a device says so.
fn isa(processor: Processor) -> Isa {
    processor.isa().unwrap_or(Isa::PORTABLE)
}

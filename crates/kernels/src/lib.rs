//! Matrix and vector kernels for CPUs: multiply, pack, convert, transpose, element-wise mathematics.

pub mod math;

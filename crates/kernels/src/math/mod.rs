//! The transcendental functions of shaders, over arrays of `f32`, for compiled code to call.
//!
//! Compiled kernels keep the lanes of a sub-group in vector registers. For a function that no instruction
//! computes they spill the argument to memory and call an entry of this module with the number of elements.
//! An entry works through blocks of 16 elements, each block a straight line of vector instructions.
//!
//! Every function is written once, branch-free, as plain Rust on one element (or on one block, where rare
//! arguments take another path), and compiled once for each [`MathLevel`]; LLVM's vectoriser makes vector
//! code of it. What makes this dependable is a block that is a multiple of every register in use: no
//! remainder loop is left. `examples/math_bench.rs` shows whether it still does.
//!
//! Code that is kept on disk must not contain addresses, so compiled code takes its entries from [`table`] by
//! the number of the [`MathFn`], which is stable.
//!
//! The error of each [`MathFn`] is bounded for every argument, however large. The bounds of the unary
//! functions stand a tenth or so above the worst of every 13th `f32`, as `examples/math_bench.rs --accuracy
//! 13` finds it; tests hold every level to them on a smaller sample. Denormal arguments and results are
//! computed in full, unless the caller has set the processor to flush them. The rounding mode must be to
//! nearest.
//!
//! Invariant: no entry reads or writes beyond the `n` elements it was given, whatever their values.

mod arc;
mod exp;
mod instance;
mod log;
mod num;
mod pow;
mod rem;
#[cfg(test)]
mod tests;
mod trig;

use std::fmt;

/// Elements in a block: one AVX-512 register, two of AVX2, four of SSE2 and NEON.
const LANES: usize = 16;

/// `out[i] = f(x[i])` for `i < n`.
///
/// # Safety
///
/// `x` must be valid for reading and `out` for writing `n` elements; they are the same or do not overlap. The
/// processor must have the instructions of the [`MathLevel`] that the function was taken from.
pub type UnaryFn = unsafe extern "C" fn(n: usize, x: *const f32, out: *mut f32);

/// `out[i] = f(x[i], y[i])` for `i < n`.
///
/// # Safety
///
/// As for [`UnaryFn`], with `y` as `x`; `out` may be either of them, or both.
pub type BinaryFn = unsafe extern "C" fn(n: usize, x: *const f32, y: *const f32, out: *mut f32);

/// `out[i] = f(x[i], y[i], z[i])` for `i < n`, in `f64`.
///
/// # Safety
///
/// As for [`UnaryFn`], with `y` and `z` as `x`; `out` may be any of them.
pub type TernaryFn =
    unsafe extern "C" fn(n: usize, x: *const f64, y: *const f64, z: *const f64, out: *mut f64);

/// `out[i] = f(x[i], y[i])` for `i < n`, in `f64`.
///
/// # Safety
///
/// As for [`BinaryFn`].
pub type DoubleFn = unsafe extern "C" fn(n: usize, x: *const f64, y: *const f64, out: *mut f64);

/// An entry of a [`table`]: [`UnaryFn`], [`BinaryFn`] or [`TernaryFn`], as the function's [arity](MathFn::arity) says, or
/// [`DoubleFn`] for the one that has two arguments [of `f64`](MathFn::is_of_f64). The size of a pointer.
#[derive(Clone, Copy)]
#[repr(C)]
pub union MathEntry {
    unary: UnaryFn,
    binary: BinaryFn,
    ternary: TernaryFn,
    double: DoubleFn,
}

impl MathEntry {
    /// Where the entry's code begins.
    pub fn address(self) -> *const () {
        // SAFETY: all fields are function pointers, which have one size and may hold any function's address.
        let function = unsafe { self.unary };
        function as *const ()
    }
}

impl fmt::Debug for MathEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MathEntry").field(&self.address()).finish()
    }
}

/// The instruction sets that the functions are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MathLevel {
    /// What every processor of the architecture has (SSE2 on x86-64); no fused multiply-add.
    Portable,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// x86-64 with AVX-512 F, DQ, VL and BW.
    Avx512,
    /// AArch64, whose base includes vectors and fused multiply-add.
    Neon,
}

impl MathLevel {
    /// Every level, those of other architectures too.
    pub const ALL: [Self; 4] = [Self::Portable, Self::Avx2, Self::Avx512, Self::Neon];

    /// The best level of this processor.
    pub fn detect() -> Self {
        [Self::Avx512, Self::Avx2, Self::Neon]
            .into_iter()
            .find(|level| level.is_available())
            .unwrap_or(Self::Portable)
    }

    /// Whether this processor can run the level's functions.
    pub fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                std::is_x86_feature_detected!("avx512f")
                    && std::is_x86_feature_detected!("avx512dq")
                    && std::is_x86_feature_detected!("avx512vl")
                    && std::is_x86_feature_detected!("avx512bw")
                    && std::is_x86_feature_detected!("fma")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
            Self::Neon => cfg!(target_arch = "aarch64"),
        }
    }
}

/// Declares [`MathFn`]: name, arity, error bound and documentation of each function, in the order of the
/// table.
macro_rules! functions {
    ($($(#[$doc:meta])* $function:ident: $name:literal, arity $arity:literal, ulp $ulp:literal;)*) => {
        /// A function. Its number is the index of its entry in every [`table`], and is kept in stored code:
        /// new functions come last.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum MathFn {
            $(
                $(#[$doc])*
                #[doc = concat!("\n\nWithin ", stringify!($ulp), " ULP.")]
                $function,
            )*
        }

        impl MathFn {
            /// Every function, in the order of the tables.
            pub const ALL: [Self; [$($arity),*].len()] = [$(Self::$function),*];

            /// The C name, lower case.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$function => $name,)*
                }
            }

            /// The number of arguments: 1 for a [`UnaryFn`], 2 for a [`BinaryFn`] or a [`DoubleFn`], 3 for a
            /// [`TernaryFn`].
            pub fn arity(self) -> usize {
                match self {
                    $(Self::$function => $arity,)*
                }
            }

            /// Whether arguments and result are `f64`, not `f32`.
            pub fn is_of_f64(self) -> bool {
                matches!(self, Self::Fma | Self::Frem64)
            }

            /// The largest error of a result at any level, in units of the last place of the exact value as
            /// an `f32` (of the least denormal below the normal numbers).
            pub fn max_ulp(self) -> f64 {
                match self {
                    $(Self::$function => $ulp,)*
                }
            }
        }
    };
}

functions! {
    /// Sine.
    Sin: "sin", arity 1, ulp 1.7;
    /// Cosine.
    Cos: "cos", arity 1, ulp 1.7;
    /// Tangent.
    Tan: "tan", arity 1, ulp 3.0;
    /// Arc sine; NaN outside [-1, 1].
    Asin: "asin", arity 1, ulp 2.5;
    /// Arc cosine; NaN outside [-1, 1].
    Acos: "acos", arity 1, ulp 1.3;
    /// Arc tangent.
    Atan: "atan", arity 1, ulp 2.6;
    /// Arc tangent of first / second argument in the quadrant of (second, first); zeros and infinities as in
    /// C.
    Atan2: "atan2", arity 2, ulp 3.0;
    /// Hyperbolic sine.
    Sinh: "sinh", arity 1, ulp 1.8;
    /// Hyperbolic cosine.
    Cosh: "cosh", arity 1, ulp 1.6;
    /// Hyperbolic tangent.
    Tanh: "tanh", arity 1, ulp 1.4;
    /// Inverse hyperbolic sine.
    Asinh: "asinh", arity 1, ulp 0.51;
    /// Inverse hyperbolic cosine; NaN below 1.
    Acosh: "acosh", arity 1, ulp 0.51;
    /// Inverse hyperbolic tangent; NaN outside [-1, 1].
    Atanh: "atanh", arity 1, ulp 0.51;
    /// e to the power of the argument.
    Exp: "exp", arity 1, ulp 1.2;
    /// 2 to the power of the argument.
    Exp2: "exp2", arity 1, ulp 1.5;
    /// Natural logarithm; −∞ for zeros, NaN below.
    Log: "log", arity 1, ulp 1.0;
    /// Logarithm to base 2; −∞ for zeros, NaN below.
    Log2: "log2", arity 1, ulp 2.3;
    /// First argument to the power of the second; special values as in C.
    Pow: "pow", arity 2, ulp 0.6;
    /// Remainder with the sign of the dividend: C's `fmod`, SPIR-V's `OpFRem`. Exact.
    Frem: "frem", arity 2, ulp 0.0;
    /// Remainder with the sign of the divisor: SPIR-V's `OpFMod`, x − y · ⌊x / y⌋, rounded once.
    Fmod: "fmod", arity 2, ulp 0.5;
    /// Product of the first two arguments plus the third, rounded once, in `f64`: for processors without such an
    /// instruction.
    Fma: "fma", arity 3, ulp 0.5;
    /// [`MathFn::Frem`] in `f64`. Exact, however large the quotient is.
    Frem64: "frem64", arity 2, ulp 0.0;
}

/// The entries of `level`, indexed by [`MathFn`]. A level of another architecture has the entries of
/// [`MathLevel::Portable`].
///
/// An entry may be called only where its level [is available](MathLevel::is_available).
pub fn table(level: MathLevel) -> &'static [MathEntry; MathFn::ALL.len()] {
    instance::table(level)
}

/// Where the code of `function` at `level` begins: a [`UnaryFn`], a [`BinaryFn`] or a [`TernaryFn`].
pub fn address(function: MathFn, level: MathLevel) -> *const () {
    table(level)[function as usize].address()
}

/// The unary function's entry; none if it takes more arguments.
pub fn unary(function: MathFn, level: MathLevel) -> Option<UnaryFn> {
    // SAFETY: an entry of arity 1 was made from a `UnaryFn`.
    (function.arity() == 1).then(|| unsafe { table(level)[function as usize].unary })
}

/// The binary function's entry; none if it does not take two arguments of `f32`.
pub fn binary(function: MathFn, level: MathLevel) -> Option<BinaryFn> {
    // SAFETY: an entry of arity 2 that is not of `f64` was made from a `BinaryFn`.
    (function.arity() == 2 && !function.is_of_f64())
        .then(|| unsafe { table(level)[function as usize].binary })
}

/// The entry of a binary function of `f64`; none if it is of another kind.
pub fn double(function: MathFn, level: MathLevel) -> Option<DoubleFn> {
    // SAFETY: an entry of arity 2 that is of `f64` was made from a `DoubleFn`.
    (function.arity() == 2 && function.is_of_f64()).then(|| unsafe { table(level)[function as usize].double })
}

/// The ternary function's entry; none if it takes fewer arguments.
pub fn ternary(function: MathFn, level: MathLevel) -> Option<TernaryFn> {
    // SAFETY: an entry of arity 3 was made from a `TernaryFn`.
    (function.arity() == 3).then(|| unsafe { table(level)[function as usize].ternary })
}

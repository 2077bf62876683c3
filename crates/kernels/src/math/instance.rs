//! The callable entries: each function of this module, compiled for each level, walking over its arrays.
//!
//! A level is a module made by one macro: the same inlined bodies under another `target_feature`. Fused
//! multiply-add is a constant parameter of the bodies, because without the instruction `mul_add` is a library
//! call per element.

use super::{LANES, MathEntry, MathFn, MathLevel, arc, exp, log, pow, rem, trig};

/// A block of elements.
type Block = [f32; LANES];

/// The table of `level`; of the portable level if `level` belongs to another architecture.
pub(super) fn table(level: MathLevel) -> &'static [MathEntry; MathFn::ALL.len()] {
    match level {
        #[cfg(target_arch = "x86_64")]
        MathLevel::Avx2 => &avx2::TABLE,
        #[cfg(target_arch = "x86_64")]
        MathLevel::Avx512 => &avx512::TABLE,
        #[cfg(not(target_arch = "x86_64"))]
        MathLevel::Avx2 | MathLevel::Avx512 => &portable::TABLE,
        #[cfg(target_arch = "aarch64")]
        MathLevel::Neon => &neon::TABLE,
        #[cfg(not(target_arch = "aarch64"))]
        MathLevel::Neon => &portable::TABLE,
        MathLevel::Portable => &portable::TABLE,
    }
}

/// Applies `function` to each block of `n` elements at `x`.
///
/// # Safety
///
/// As [`super::UnaryFn`] demands.
#[inline(always)]
unsafe fn walk_unary(n: usize, x: *const f32, out: *mut f32, function: impl Fn(&Block) -> Block) {
    let whole = n - n % LANES;
    // SAFETY: the elements from `whole` on are readable; no whole block's result overwrites them.
    let mut rest = unsafe { Rest::load(x.wrapping_add(whole), n - whole) };
    for done in (0..n).step_by(LANES) {
        let is_whole = done < whole;
        let from = if is_whole { x.wrapping_add(done).cast() } else { &raw const rest.block };
        // SAFETY: a whole block is readable at `x + done`; the rest is one. An array is aligned as its
        // element.
        let result = function(&unsafe { from.read() });
        let to = if is_whole { out.wrapping_add(done).cast() } else { &raw mut rest.block };
        // SAFETY: a whole block is writable at `out + done`, which is what has just been read, or apart from
        // `x`.
        unsafe { to.write(result) };
    }
    // SAFETY: the elements from `whole` on are writable.
    unsafe { rest.store(out.wrapping_add(whole)) };
}

/// Applies `function` to each pair of blocks of `n` elements at `x` and `y`.
///
/// # Safety
///
/// As [`super::BinaryFn`] demands.
#[inline(always)]
unsafe fn walk_binary(
    n: usize,
    x: *const f32,
    y: *const f32,
    out: *mut f32,
    function: impl Fn(&Block, &Block) -> Block,
) {
    let whole = n - n % LANES;
    // SAFETY: the elements from `whole` on are readable; no whole block's result overwrites them.
    let mut left = unsafe { Rest::load(x.wrapping_add(whole), n - whole) };
    // SAFETY: as above.
    let right = unsafe { Rest::load(y.wrapping_add(whole), n - whole) };
    for done in (0..n).step_by(LANES) {
        let is_whole = done < whole;
        let from = if is_whole { x.wrapping_add(done).cast() } else { &raw const left.block };
        let with = if is_whole { y.wrapping_add(done).cast() } else { &raw const right.block };
        // SAFETY: a whole block is readable at `x + done`; the rest is one. An array is aligned as its
        // element.
        let (from, with) = (unsafe { from.read() }, unsafe { with.read() });
        let result = function(&from, &with);
        let to = if is_whole { out.wrapping_add(done).cast() } else { &raw mut left.block };
        // SAFETY: a whole block is writable at `out + done`, which is what has just been read, or apart from
        // both.
        unsafe { to.write(result) };
    }
    // SAFETY: the elements from `whole` on are writable.
    unsafe { left.store(out.wrapping_add(whole)) };
}

/// The elements behind the last whole block, in a block of their own. They are loaded before the walk and
/// stored after it, so that the loop itself has no copy of variable length, which would be a call and empty
/// the registers.
struct Rest {
    block: Block,
    count: usize,
}

impl Rest {
    /// The `count` elements at `from`, and ones behind them: an argument that is no special case of any
    /// function.
    ///
    /// # Safety
    ///
    /// `count <= LANES` elements are readable at `from`.
    #[inline(always)]
    unsafe fn load(from: *const f32, count: usize) -> Self {
        let mut block = [1.0; LANES];
        if count != 0 {
            // SAFETY: `count` elements are readable at `from`, and the block holds no fewer.
            unsafe { from.copy_to_nonoverlapping(block.as_mut_ptr(), count) };
        }
        Self { block, count }
    }

    /// Writes the elements to `to`.
    ///
    /// # Safety
    ///
    /// As many are writable at `to`.
    #[inline(always)]
    unsafe fn store(&self, to: *mut f32) {
        if self.count != 0 {
            // SAFETY: `count` elements are writable at `to`, and the block holds no fewer.
            unsafe { self.block.as_ptr().copy_to_nonoverlapping(to, self.count) };
        }
    }
}

/// A function of one element as one of a block.
#[inline(always)]
fn each(function: impl Fn(f32) -> f32) -> impl Fn(&Block) -> Block {
    #[inline(always)]
    move |x: &Block| {
        let mut out = [0.0; LANES];
        for i in 0..LANES {
            out[i] = function(x[i]);
        }
        out
    }
}

/// A function of two elements as one of two blocks.
#[inline(always)]
fn each_pair(function: impl Fn(f32, f32) -> f32) -> impl Fn(&Block, &Block) -> Block {
    #[inline(always)]
    move |x: &Block, y: &Block| {
        let mut out = [0.0; LANES];
        for i in 0..LANES {
            out[i] = function(x[i], y[i]);
        }
        out
    }
}

/// Applies `function` to each triple of `n` elements at `x`, `y` and `z`.
///
/// # Safety
///
/// As [`super::TernaryFn`] demands.
#[inline(always)]
unsafe fn walk_ternary(
    n: usize,
    [x, y, z]: [*const f64; 3],
    out: *mut f64,
    function: impl Fn(f64, f64, f64) -> f64,
) {
    for i in 0..n {
        let [x, y, z] = [x, y, z].map(|from| from.wrapping_add(i));
        // SAFETY: `i < n` elements are readable at each.
        let (x, y, z) = (unsafe { x.read() }, unsafe { y.read() }, unsafe { z.read() });
        // SAFETY: as many are writable at `out`; where it is an operand, this element has been read.
        unsafe { out.wrapping_add(i).write(function(x, y, z)) };
    }
}

/// Applies `function` to each pair of `n` elements at `x` and `y`.
///
/// # Safety
///
/// As [`super::DoubleFn`] demands.
#[inline(always)]
unsafe fn walk_double(
    n: usize,
    x: *const f64,
    y: *const f64,
    out: *mut f64,
    function: impl Fn(f64, f64) -> f64,
) {
    for i in 0..n {
        // SAFETY: `i < n` elements are readable at both.
        let (x, y) = unsafe { (x.wrapping_add(i).read(), y.wrapping_add(i).read()) };
        // SAFETY: as many are writable at `out`; where it is an operand, this element has been read.
        unsafe { out.wrapping_add(i).write(function(x, y)) };
    }
}

/// One entry of arity 1 to 3, of one or two elements (`each`, `pair`), or for pairs of `f64`, with the attributes of its
/// level. The body is called by a closure that is always inlined: what calls a function that is passed as a value is
/// code of its own, without these attributes, in which each multiply-add is a call to a library.
macro_rules! entry {
    (1, {$($attribute:tt)*} $name:ident, $body:expr) => {
        $($attribute)*
        unsafe extern "C" fn $name(n: usize, x: *const f32, out: *mut f32) {
            // SAFETY: the caller keeps the contract of `UnaryFn`.
            unsafe { walk_unary(n, x, out, #[inline(always)] |x: &Block| $body(x)) }
        }
    };
    (each, {$($attribute:tt)*} $name:ident, $body:expr) => {
        $($attribute)*
        unsafe extern "C" fn $name(n: usize, x: *const f32, out: *mut f32) {
            // SAFETY: the caller keeps the contract of `UnaryFn`.
            unsafe { walk_unary(n, x, out, each(#[inline(always)] |x: f32| $body(x))) }
        }
    };
    (2, {$($attribute:tt)*} $name:ident, $body:expr) => {
        $($attribute)*
        unsafe extern "C" fn $name(n: usize, x: *const f32, y: *const f32, out: *mut f32) {
            // SAFETY: the caller keeps the contract of `BinaryFn`.
            unsafe { walk_binary(n, x, y, out, #[inline(always)] |x: &Block, y: &Block| $body(x, y)) }
        }
    };
    (pair, {$($attribute:tt)*} $name:ident, $body:expr) => {
        $($attribute)*
        unsafe extern "C" fn $name(n: usize, x: *const f32, y: *const f32, out: *mut f32) {
            // SAFETY: the caller keeps the contract of `BinaryFn`.
            unsafe { walk_binary(n, x, y, out, each_pair(#[inline(always)] |x: f32, y: f32| $body(x, y))) }
        }
    };
    (double, {$($attribute:tt)*} $name:ident, $body:expr) => {
        $($attribute)*
        unsafe extern "C" fn $name(n: usize, x: *const f64, y: *const f64, out: *mut f64) {
            // SAFETY: the caller keeps the contract of `DoubleFn`.
            unsafe { walk_double(n, x, y, out, $body) }
        }
    };
    (3, {$($attribute:tt)*} $name:ident, $body:expr) => {
        $($attribute)*
        unsafe extern "C" fn $name(n: usize, x: *const f64, y: *const f64, z: *const f64, out: *mut f64) {
            // SAFETY: the caller keeps the contract of `TernaryFn`.
            unsafe { walk_ternary(n, [x, y, z], out, #[inline(always)] |x: f64, y: f64, z: f64| $body(x, y, z)) }
        }
    };
}

/// The entries of a level under `attributes`, and their table in the order of [`MathFn`].
macro_rules! level {
    (attributes = $attributes:tt, fused = $fused:literal) => {
        level! { @entries $attributes
            1 unary sin = trig::sin::<$fused>;
            1 unary cos = trig::cos::<$fused>;
            1 unary tan = trig::tan::<$fused>;
            each unary asin = arc::asin::<$fused>;
            each unary acos = arc::acos::<$fused>;
            each unary atan = arc::atan::<$fused>;
            pair binary atan2 = arc::atan2::<$fused>;
            each unary sinh = exp::sinh::<$fused>;
            each unary cosh = exp::cosh::<$fused>;
            each unary tanh = exp::tanh::<$fused>;
            each unary asinh = log::asinh::<$fused>;
            each unary acosh = log::acosh::<$fused>;
            each unary atanh = log::atanh::<$fused>;
            each unary exp = exp::exp::<$fused>;
            each unary exp2 = exp::exp2::<$fused>;
            each unary log = log::log::<$fused>;
            each unary log2 = log::log2::<$fused>;
            2 binary pow = pow::pow::<$fused>;
            2 binary frem = rem::frem::<$fused>;
            2 binary fmod = rem::fmod::<$fused>;
            3 ternary fma = f64::mul_add;
            double double frem64 = |x: f64, y: f64| x % y;
        }
    };
    (@entries $attributes:tt $($kind:tt $field:ident $name:ident = $body:expr;)*) => {
        use super::*;

        $(entry! { $kind, $attributes $name, $body })*

        pub(super) static TABLE: [MathEntry; MathFn::ALL.len()] = [$(MathEntry { $field: $name }),*];
    };
}

mod portable {
    level! { attributes = {}, fused = false }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    level! { attributes = { #[target_feature(enable = "avx2,fma")] }, fused = true }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    level! { attributes = { #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,fma")] }, fused = true }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    level! { attributes = {}, fused = true }
}

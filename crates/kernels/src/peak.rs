//! The speed of light: how many operations per second a core does when nothing but arithmetic is asked of it.
//!
//! Twelve independent chains of the same instructions as the micro-kernels use, in registers. Where an
//! instruction set lacks a dot product, the figure is that of what the kernels do instead: f32 FMA for bf16,
//! pairs of i16 for bytes. Where it has matrix registers, the figure is that of their products: four chains, as many as
//! the micro-kernel has.

#[cfg(target_arch = "x86_64")]
use crate::arch::x86_64::amx;
use crate::isa::{Isa, KernelSet, Level};
use crate::portable;
use crate::simd::Dot;
use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

const CHAINS: usize = 12;
const STEPS: usize = 1000;

/// A vector for each chain, of any instruction set, which lies in one line of the cache.
#[repr(align(64))]
struct Words([u8; 64 * CHAINS]);

/// Runs [`STEPS`] steps of [`CHAINS`] chains; `APART` where the product and its addition are instructions of their own,
/// so that the compiler would multiply once for all chains.
#[inline(always)]
unsafe fn chains<D: Dot, const APART: bool>() {
    let Words(words) = &Words([0; 64 * CHAINS]);
    // SAFETY: `words` holds a vector of any instruction set for each chain.
    unsafe {
        let mut acc = [D::load_acc(words.as_ptr(), words.as_ptr()); CHAINS];
        let a = D::splat(black_box(words.as_ptr()));
        for _ in 0..STEPS {
            // A fresh load each time, or the compiler might sum up the integer steps in closed form.
            let words = black_box(words.as_ptr());
            let b = D::load_b(words, words);
            for (chain, acc) in acc.iter_mut().enumerate() {
                let own = words.add(64 * chain);
                *acc = D::dot(*acc, a, if APART { D::load_b(own, own) } else { b });
            }
        }
        let mut out = [[0_u8; 64]; CHAINS];
        for (out, acc) in out.iter_mut().zip(acc) {
            D::store_acc(out.as_mut_ptr(), out.as_mut_ptr(), acc);
        }
        black_box(&out);
    }
}

macro_rules! compiled {
    ($($name:ident: $dot:ty, $apart:literal, $(#[$attr:meta])*;)*) => {$(
        $(#[$attr])*
        pub(super) unsafe fn $name() {
            // SAFETY: forwarded.
            unsafe { chains::<$dot, $apart>() }
        }
    )*};
}

compiled! {
    portable_f32: portable::F32, true,;
    portable_i16: portable::I16, true,;
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use crate::arch::x86_64::amx::Product;
    use crate::arch::x86_64::{avx2, avx512, fp16};
    use crate::mul_add::amx::{ROWS, WORDS};
    compiled! {
        avx2_f32: avx2::F32, false, #[target_feature(enable = "avx2,fma,f16c")];
        avx2_i16: avx2::I16, true, #[target_feature(enable = "avx2,fma,f16c")];
        avx2_i8: avx2::U8S8, false, #[target_feature(enable = "avx2,fma,f16c,avxvnni")];
        avx512_f32: avx512::F32<false>, false, #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")];
        avx512_bf16: avx512::Bf16<false>, false,
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")];
        avx512_f16: fp16::F16<false>, false,
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512fp16")];
        avx512_i16: avx512::I16<false>, true, #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")];
        avx512_i8: avx512::U8S8<false>, false,
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")];
    }
    pub(super) fn f32(level: Level) -> unsafe fn() {
        if level == Level::Avx512 { avx512_f32 } else { avx2_f32 }
    }
    pub(super) fn bf16(isa: Isa) -> Option<unsafe fn()> {
        let run: unsafe fn() = avx512_bf16;
        isa.bf16_dot().then_some(run)
    }
    pub(super) fn f16(isa: Isa) -> Option<unsafe fn()> {
        let run: unsafe fn() = avx512_f16;
        isa.fp16().then_some(run)
    }
    /// Runs [`STEPS`] steps of four chains of products of matrix registers.
    pub(super) unsafe fn amx<P: Product>() {
        // SAFETY: forwarded; whatever the registers hold, products take the same time.
        unsafe {
            amx::zero::<4>();
            amx::zero::<5>();
            amx::zero::<6>();
            amx::zero::<7>();
            for _ in 0..STEPS {
                P::add::<0, 4, 6>();
                P::add::<1, 4, 7>();
                P::add::<2, 5, 6>();
                P::add::<3, 5, 7>();
            }
        }
    }
    /// Products of numbers in a run of [`amx()`], of so many numbers in a word.
    pub(super) const fn amx_products(per_word: usize) -> usize {
        STEPS * 4 * ROWS * WORDS * WORDS * per_word
    }
    pub(super) fn i8(isa: Isa) -> (unsafe fn(), usize) {
        match (isa.level(), isa.vnni()) {
            (Level::Avx512, true) => (avx512_i8, 4),
            (Level::Avx512, false) => (avx512_i16, 2),
            (_, true) => (avx2_i8, 4),
            (_, false) => (avx2_i16, 2),
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::*;
    use crate::arch::aarch64::neon;
    use crate::arch::aarch64::neon::{S8Squares, Squares};
    compiled! {
        neon_f32: neon::F32, false, #[target_feature(enable = "neon")];
        neon_i16: neon::I16, true, #[target_feature(enable = "neon")];
        neon_i8: neon::S8, false, #[target_feature(enable = "neon,dotprod")];
    }
    /// Runs [`STEPS`] steps of [`CHAINS`] chains of products of squares.
    #[target_feature(enable = "neon,i8mm")]
    unsafe fn neon_squares() {
        let words = [0_u8; 16];
        // SAFETY: forwarded; `words` holds a vector.
        unsafe {
            let factor = neon::load(black_box(words.as_ptr()));
            let mut sums = [factor; CHAINS];
            for _ in 0..STEPS {
                for sums in &mut sums {
                    *sums = S8Squares::add(*sums, factor, factor);
                }
            }
            black_box(&sums);
        }
    }
    /// What multiplies bytes, and how many of them for each sum at once.
    pub(super) fn i8(isa: Isa) -> (unsafe fn(), usize) {
        match (isa.i8mm(), isa.vnni()) {
            (true, _) => (neon_squares, 8),
            (false, true) => (neon_i8, 4),
            (false, false) => (neon_i16, 2),
        }
    }
}

/// Operations per second (a multiplication and an addition are two) of f32 FMA on this many threads together.
#[must_use]
pub fn f32_fma(isa: Isa, threads: usize, duration: Duration) -> f64 {
    let run: unsafe fn() = match isa.level() {
        Level::Portable => portable_f32,
        #[cfg(target_arch = "x86_64")]
        level => x86::f32(level),
        #[cfg(target_arch = "aarch64")]
        _ => arm::neon_f32,
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        _ => portable_f32,
    };
    measure(isa, (run, isa.lanes() * CHAINS * STEPS), threads, duration)
}

/// What does the work of a peak.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Fused multiplications and additions of f32.
    Fma,
    /// Fused multiplications and additions of f16.
    HalfFma,
    /// Products of pairs of i16, which bytes are widened to.
    Pairs,
    /// Dot products of vectors, of pairs of bf16 or quads of bytes, or of squares of bytes.
    Dot,
    /// Products of matrix registers.
    Amx,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fma => "f32 FMA",
            Self::HalfFma => "f16 FMA",
            Self::Pairs => "i16 pairs",
            Self::Dot => "dot product",
            Self::Amx => "AMX",
        })
    }
}

impl KernelSet {
    /// What multiplies bf16.
    #[must_use]
    pub const fn bf16_unit(self) -> Unit {
        match (self.amx(), self.bf16_dot()) {
            (true, _) => Unit::Amx,
            // Those of Neon are multiply-adds of f32, two for a pair.
            (false, true) if !matches!(self.level(), Level::Neon) => Unit::Dot,
            (false, _) => Unit::Fma,
        }
    }

    /// What multiplies f16 whose sums are f16.
    #[must_use]
    pub const fn f16_unit(self) -> Unit {
        if self.fp16() { Unit::HalfFma } else { Unit::Fma }
    }

    /// What multiplies bytes.
    #[must_use]
    pub const fn i8_unit(self) -> Unit {
        match (self.amx(), self.vnni()) {
            (true, _) => Unit::Amx,
            (false, true) => Unit::Dot,
            (false, false) => Unit::Pairs,
        }
    }
}

/// The same for products of bf16 by [`KernelSet::bf16_unit`].
#[must_use]
pub fn bf16_dot(isa: Isa, threads: usize, duration: Duration) -> f64 {
    #[cfg(target_arch = "x86_64")]
    if isa.amx() {
        return measure(isa, (x86::amx::<amx::Bf16>, x86::amx_products(2)), threads, duration);
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(run) = x86::bf16(isa) {
        return measure(isa, (run, isa.lanes() * 2 * CHAINS * STEPS), threads, duration);
    }
    f32_fma(isa, threads, duration)
}

/// The same for products of f16 in sums of f16 by [`KernelSet::f16_unit`].
#[must_use]
pub fn f16_fma(isa: Isa, threads: usize, duration: Duration) -> f64 {
    #[cfg(target_arch = "x86_64")]
    if let Some(run) = x86::f16(isa) {
        return measure(isa, (run, isa.lanes() * 2 * CHAINS * STEPS), threads, duration);
    }
    f32_fma(isa, threads, duration)
}

/// The same for products of bytes by [`KernelSet::i8_unit`].
#[must_use]
pub fn i8_dot(isa: Isa, threads: usize, duration: Duration) -> f64 {
    #[cfg(target_arch = "x86_64")]
    if isa.amx() {
        return measure(isa, (x86::amx::<amx::S8S8>, x86::amx_products(4)), threads, duration);
    }
    let (run, depth): (unsafe fn(), usize) = match isa.level() {
        Level::Portable => (portable_i16, 2),
        #[cfg(target_arch = "x86_64")]
        _ => x86::i8(isa),
        #[cfg(target_arch = "aarch64")]
        _ => arm::i8(isa),
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        _ => (portable_i16, 2),
    };
    measure(isa, (run, isa.lanes() * depth * CHAINS * STEPS), threads, duration)
}

/// Bytes that are read in a second by `threads` threads together, each its part of `memory` again and again for about
/// `duration`.
#[must_use]
pub fn read(memory: &[u64], threads: usize, duration: Duration) -> f64 {
    let one = |part: &[u64]| {
        let (start, mut passes, mut sum) = (Instant::now(), 0_u32, 0);
        while passes == 0 || start.elapsed() < duration {
            sum ^= fold(black_box(part));
            passes += 1;
        }
        black_box(sum);
        f64::from(passes) * size_of_val(part) as f64 / start.elapsed().as_secs_f64()
    };
    let length = memory.len().div_ceil(threads.max(1)).max(1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = memory.chunks(length).map(|part| scope.spawn(move || one(part))).collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).sum()
    })
}

/// All words together, so that each is looked at.
fn fold(words: &[u64]) -> u64 {
    let (lines, rest) = words.as_chunks::<16>();
    let mut sums = [0; 16];
    for line in lines {
        sums.iter_mut().zip(line).for_each(|(sum, word)| *sum ^= word);
    }
    sums.iter().chain(rest).fold(0, |sum, word| sum ^ word)
}

/// Runs on `threads` threads for about `duration` what does so many products. The middle one of short
/// windows counts: other programs may take the processor away from some, and the clock is faster in some than a
/// kernel that runs longer ever sees it.
fn measure(isa: Isa, (run, products): (unsafe fn(), usize), threads: usize, duration: Duration) -> f64 {
    const RUNS: usize = 64;
    let one = || {
        let _ready = isa.ready();
        let (start, mut windows) = (Instant::now(), Vec::new());
        while windows.is_empty() || start.elapsed() < duration {
            let window = Instant::now();
            for _ in 0..RUNS {
                // SAFETY: an `Isa` exists only where its instructions do.
                unsafe { run() };
            }
            windows.push(window.elapsed());
        }
        windows.sort_unstable();
        (RUNS * products * 2) as f64 / windows[windows.len() / 2].as_secs_f64()
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).sum()
    })
}

//! Multiplications of f16 by AVX512-FP16: 32 at once, each rounded to f16.
//!
//! A word is a pair along the inner dimension, as for the dot products of bf16, so that one broadcast of a word, which
//! a load does for nothing, serves both halves; one of 16 bits would take the place of a multiplication. What it costs is
//! that a sum consists of two, of the even and of the odd products, in the halves of a word of the accumulator. They
//! become one at the end of a step: it is in the lower half then, and the upper one is -0, which adds nothing to anything.
//! In tiles, sums are f32.
//!
//! These instructions keep denormals of f16 whatever the control register says, and lose no time over them.

use super::avx512;
use crate::simd::Dot;
use std::arch::x86_64::*;

/// Pairs of f16.
#[derive(Clone, Copy)]
pub(crate) struct F16<const HALVES: bool>;

/// The halves of words that are even.
const LOWER: __mmask32 = 0x5555_5555;
/// -0 in the upper half of a word.
const UPPER_ZERO: i32 = i32::MIN;

/// Sums of both halves of words, in the lower ones.
#[inline(always)]
unsafe fn joined(v: __m512i) -> __m512i {
    // SAFETY: the caller vouches for the instructions.
    unsafe {
        let (rest, lower) = (_mm512_set1_epi32(UPPER_ZERO), _mm512_castsi512_ph(v));
        let upper = _mm512_castsi512_ph(_mm512_ror_epi32::<16>(v));
        _mm512_castph_si512(_mm512_mask_add_ph(_mm512_castsi512_ph(rest), LOWER, lower, upper))
    }
}

impl<const HALVES: bool> Dot for F16<HALVES> {
    const LANES: usize = 16;
    const HALVES: bool = HALVES;
    const SINGLE: bool = true;
    type Acc = __m512i;
    type A = __m512i;
    type B = __m512i;

    #[inline(always)]
    unsafe fn zero() -> Self::Acc {
        // SAFETY: the caller vouches for the instructions.
        unsafe { _mm512_set1_epi32(UPPER_ZERO) }
    }
    #[inline(always)]
    unsafe fn load_acc(lo: *const u8, hi: *const u8) -> Self::Acc {
        // SAFETY: forwarded.
        unsafe {
            let sums = _mm512_castsi512_ps(avx512::load::<HALVES>(lo, hi));
            let lower = _mm512_cvtepu16_epi32(_mm256_castph_si256(_mm512_cvtxps_ph(sums)));
            _mm512_or_si512(lower, _mm512_set1_epi32(UPPER_ZERO))
        }
    }
    #[inline(always)]
    unsafe fn store_acc(lo: *mut u8, hi: *mut u8, v: Self::Acc) {
        // SAFETY: forwarded.
        unsafe {
            let sums = _mm256_castsi256_ph(_mm512_cvtepi32_epi16(joined(v)));
            avx512::store::<HALVES>(lo, hi, _mm512_castps_si512(_mm512_cvtxph_ps(sums)));
        }
    }
    #[inline(always)]
    unsafe fn splat(a: *const u8) -> Self::A {
        // SAFETY: one word is readable, by contract.
        unsafe { _mm512_set1_epi32(a.cast::<i32>().read_unaligned()) }
    }
    #[inline(always)]
    unsafe fn load_b(lo: *const u8, hi: *const u8) -> Self::B {
        // SAFETY: forwarded.
        unsafe { avx512::load::<HALVES>(lo, hi) }
    }
    #[inline(always)]
    unsafe fn dot(acc: Self::Acc, a: Self::A, b: Self::B) -> Self::Acc {
        // SAFETY: the caller vouches for the instructions.
        unsafe {
            let [acc, a, b] = [acc, a, b].map(|v| _mm512_castsi512_ph(v));
            _mm512_castph_si512(_mm512_fmadd_ph(a, b, acc))
        }
    }
    /// Ends a step.
    #[inline(always)]
    unsafe fn round_f16(v: Self::Acc) -> Self::Acc {
        // SAFETY: the caller vouches for the instructions.
        unsafe { joined(v) }
    }
    #[inline(always)]
    unsafe fn round_bf16(v: Self::Acc) -> Self::Acc {
        v
    }
    #[inline(always)]
    unsafe fn add(a: Self::Acc, _: Self::Acc) -> Self::Acc {
        a
    }
}

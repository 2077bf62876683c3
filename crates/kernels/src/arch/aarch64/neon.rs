//! 128-bit vectors of aarch64.

use crate::float;
use crate::portable::Portable;
use crate::simd::{Dot, MAX_LANES, Simd};
use std::arch::aarch64::*;

/// Neon.
#[derive(Clone, Copy)]
pub(crate) struct Neon;

#[inline(always)]
fn words(v: uint32x4_t) -> [u32; 4] {
    // SAFETY: both types are four words.
    unsafe { std::mem::transmute::<uint32x4_t, [u32; 4]>(v) }
}

#[inline(always)]
fn vector(v: [u32; 4]) -> uint32x4_t {
    // SAFETY: both types are four words.
    unsafe { std::mem::transmute::<[u32; 4], uint32x4_t>(v) }
}

/// Partial vectors go through the portable code, which is as wide.
impl Simd for Neon {
    const LANES: usize = 4;
    type Words = uint32x4_t;

    #[inline(always)]
    unsafe fn zero() -> Self::Words {
        vector([0; 4])
    }
    #[inline(always)]
    unsafe fn load(src: *const u8, bytes: usize) -> Self::Words {
        // SAFETY: `bytes` are readable, by contract.
        unsafe { if bytes == 16 { vld1q_u32(src.cast()) } else { vector(Portable::load(src, bytes)) } }
    }
    #[inline(always)]
    unsafe fn store(dst: *mut u8, bytes: usize, v: Self::Words) {
        // SAFETY: `bytes` are writable, by contract.
        unsafe {
            if bytes == 16 {
                vst1q_u32(dst.cast(), v);
            } else {
                Portable::store(dst, bytes, words(v));
            }
        }
    }
    #[inline(always)]
    unsafe fn load_f16(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: forwarded.
        vector(unsafe { Portable::load_f16(src, n) })
    }
    #[inline(always)]
    unsafe fn load_u16(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: forwarded.
        vector(unsafe { Portable::load_u16(src, n) })
    }
    #[inline(always)]
    unsafe fn load_u8(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: forwarded.
        vector(unsafe { Portable::load_u8(src, n) })
    }
    #[inline(always)]
    unsafe fn load_i8(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: forwarded.
        vector(unsafe { Portable::load_i8(src, n) })
    }
    #[inline(always)]
    unsafe fn store_f16(dst: *mut u8, n: usize, v: Self::Words) {
        // SAFETY: forwarded.
        unsafe { Portable::store_f16(dst, n, words(v)) }
    }
    #[inline(always)]
    unsafe fn store_u16(dst: *mut u8, n: usize, v: Self::Words) {
        // SAFETY: forwarded.
        unsafe { Portable::store_u16(dst, n, words(v)) }
    }
    #[inline(always)]
    unsafe fn store_u8(dst: *mut u8, n: usize, v: Self::Words) {
        // SAFETY: forwarded.
        unsafe { Portable::store_u8(dst, n, words(v)) }
    }
    #[inline(always)]
    unsafe fn round_f16(v: Self::Words) -> Self::Words {
        vector(words(v).map(|x| float::round_f16(f32::from_bits(x)).to_bits()))
    }
    #[inline(always)]
    unsafe fn shl<const N: u32>(v: Self::Words) -> Self::Words {
        vector(words(v).map(|x| x << N))
    }
    #[inline(always)]
    unsafe fn shr<const N: u32>(v: Self::Words) -> Self::Words {
        vector(words(v).map(|x| x >> N))
    }
    #[inline(always)]
    unsafe fn or(a: Self::Words, b: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { vorrq_u32(a, b) }
    }
    #[inline(always)]
    unsafe fn add_f32(a: Self::Words, b: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { vreinterpretq_u32_f32(vaddq_f32(vreinterpretq_f32_u32(a), vreinterpretq_f32_u32(b))) }
    }
    #[inline(always)]
    unsafe fn sub_f32(a: Self::Words, b: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { vreinterpretq_u32_f32(vsubq_f32(vreinterpretq_f32_u32(a), vreinterpretq_f32_u32(b))) }
    }
    #[inline(always)]
    unsafe fn mul_f32(a: Self::Words, b: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { vreinterpretq_u32_f32(vmulq_f32(vreinterpretq_f32_u32(a), vreinterpretq_f32_u32(b))) }
    }
    #[inline(always)]
    unsafe fn div_f32(a: Self::Words, b: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { vreinterpretq_u32_f32(vdivq_f32(vreinterpretq_f32_u32(a), vreinterpretq_f32_u32(b))) }
    }
    #[inline(always)]
    unsafe fn map(v: Self::Words, f: impl Fn(u32) -> u32) -> Self::Words {
        vector(words(v).map(f))
    }
    #[inline(always)]
    unsafe fn transpose(block: &mut [Self::Words; MAX_LANES]) {
        // SAFETY: the caller vouches for the instructions.
        unsafe {
            let as_pairs = |v| vreinterpretq_u64_u32(v);
            let as_words = |v| vreinterpretq_u32_u64(v);
            let even01 = as_pairs(vtrn1q_u32(block[0], block[1]));
            let odd01 = as_pairs(vtrn2q_u32(block[0], block[1]));
            let even23 = as_pairs(vtrn1q_u32(block[2], block[3]));
            let odd23 = as_pairs(vtrn2q_u32(block[2], block[3]));
            block[0] = as_words(vtrn1q_u64(even01, even23));
            block[1] = as_words(vtrn1q_u64(odd01, odd23));
            block[2] = as_words(vtrn2q_u64(even01, even23));
            block[3] = as_words(vtrn2q_u64(odd01, odd23));
        }
    }
}

/// f32 words.
#[derive(Clone, Copy)]
pub(crate) struct F32;

impl Dot for F32 {
    const LANES: usize = 4;
    const HALVES: bool = false;
    const SINGLE: bool = true;
    type Acc = float32x4_t;
    type A = float32x4_t;
    type B = float32x4_t;

    #[inline(always)]
    unsafe fn zero() -> Self::Acc {
        // SAFETY: the caller vouches for the instructions.
        unsafe { vdupq_n_f32(0.0) }
    }
    #[inline(always)]
    unsafe fn load_acc(lo: *const u8, _hi: *const u8) -> Self::Acc {
        // SAFETY: one vector is readable, by contract.
        unsafe { vld1q_f32(lo.cast()) }
    }
    #[inline(always)]
    unsafe fn store_acc(lo: *mut u8, _hi: *mut u8, v: Self::Acc) {
        // SAFETY: one vector is writable, by contract.
        unsafe { vst1q_f32(lo.cast(), v) }
    }
    #[inline(always)]
    unsafe fn splat(a: *const u8) -> Self::A {
        // SAFETY: one word is readable, by contract.
        unsafe { vdupq_n_f32(a.cast::<f32>().read_unaligned()) }
    }
    #[inline(always)]
    unsafe fn load_b(lo: *const u8, _hi: *const u8) -> Self::B {
        // SAFETY: one vector is readable, by contract.
        unsafe { vld1q_f32(lo.cast()) }
    }
    #[inline(always)]
    unsafe fn dot(acc: Self::Acc, a: Self::A, b: Self::B) -> Self::Acc {
        // SAFETY: the caller vouches for the instructions.
        unsafe { vfmaq_f32(acc, a, b) }
    }
    #[inline(always)]
    unsafe fn round_f16(v: Self::Acc) -> Self::Acc {
        // SAFETY: the caller vouches for the instructions.
        unsafe { vreinterpretq_f32_u32(Neon::round_f16(vreinterpretq_u32_f32(v))) }
    }
    #[inline(always)]
    unsafe fn round_bf16(v: Self::Acc) -> Self::Acc {
        let round = |x| float::round_bf16(f32::from_bits(x)).to_bits();
        // SAFETY: the caller vouches for the instructions.
        unsafe { vreinterpretq_f32_u32(vector(words(vreinterpretq_u32_f32(v)).map(round))) }
    }
    #[inline(always)]
    unsafe fn add(a: Self::Acc, _b: Self::Acc) -> Self::Acc {
        a
    }
}

/// A [`Dot`] that is not rounded. Its words are opaque, of the size of a number that is broadcast.
macro_rules! dot {
    (
        $(#[$doc:meta])* $name:ident, $word:ty, $vector:ty: $splat:ident $load:ident $store:ident $add:ident,
        |$acc:ident, $a:ident, $b:ident| $dot:expr
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name;

        impl Dot for $name {
            const LANES: usize = size_of::<$vector>() / Self::WORD;
            const HALVES: bool = false;
            const WORD: usize = size_of::<$word>();
            const SINGLE: bool = false;
            type Acc = $vector;
            type A = $vector;
            type B = $vector;

            #[inline(always)]
            unsafe fn zero() -> Self::Acc {
                // SAFETY: the caller vouches for the instructions.
                unsafe { $splat(<$word>::default()) }
            }
            #[inline(always)]
            unsafe fn load_acc(lo: *const u8, _hi: *const u8) -> Self::Acc {
                // SAFETY: one vector is readable, by contract.
                unsafe { $load(lo.cast()) }
            }
            #[inline(always)]
            unsafe fn store_acc(lo: *mut u8, _hi: *mut u8, v: Self::Acc) {
                // SAFETY: one vector is writable, by contract.
                unsafe { $store(lo.cast(), v) }
            }
            #[inline(always)]
            unsafe fn splat(a: *const u8) -> Self::A {
                // SAFETY: one word is readable, by contract.
                unsafe { $splat(a.cast::<$word>().read_unaligned()) }
            }
            #[inline(always)]
            unsafe fn load_b(lo: *const u8, _hi: *const u8) -> Self::B {
                // SAFETY: one vector is readable, by contract.
                unsafe { $load(lo.cast()) }
            }
            #[inline(always)]
            unsafe fn dot($acc: Self::Acc, $a: Self::A, $b: Self::B) -> Self::Acc {
                // SAFETY: the caller vouches for the instructions.
                unsafe { $dot }
            }
            #[inline(always)]
            unsafe fn round_f16(v: Self::Acc) -> Self::Acc {
                v
            }
            #[inline(always)]
            unsafe fn round_bf16(v: Self::Acc) -> Self::Acc {
                v
            }
            #[inline(always)]
            unsafe fn add(a: Self::Acc, b: Self::Acc) -> Self::Acc {
                // SAFETY: the caller vouches for the instructions.
                unsafe { $add(a, b) }
            }
        }
    };
}

dot!(
    /// i32 words.
    I32, i32, int32x4_t: vdupq_n_s32 vld1q_s32 vst1q_s32 vaddq_s32, |acc, a, b| vmlaq_s32(acc, a, b)
);
dot!(
    /// Pairs of i16.
    I16, i32, int32x4_t: vdupq_n_s32 vld1q_s32 vst1q_s32 vaddq_s32, |acc, a, b| {
        let (a, b) = (vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b));
        let low = vmull_s16(vget_low_s16(a), vget_low_s16(b));
        vaddq_s32(acc, vpaddq_s32(low, vmull_high_s16(a, b)))
    }
);
dot!(
    /// f64 words.
    F64, f64, float64x2_t: vdupq_n_f64 vld1q_f64 vst1q_f64 vaddq_f64, |acc, a, b| vfmaq_f64(acc, a, b)
);
dot!(
    /// i64 words, whose product is made of three of halves.
    I64, u64, uint64x2_t: vdupq_n_u64 vld1q_u64 vst1q_u64 vaddq_u64, |acc, a, b| {
        let (a_low, a_high) = (vmovn_u64(a), vshrn_n_u64::<32>(a));
        let (b_low, b_high) = (vmovn_u64(b), vshrn_n_u64::<32>(b));
        let across = vmlal_u32(vmull_u32(a_high, b_low), a_low, b_high);
        vaddq_u64(vmlal_u32(acc, a_low, b_low), vshlq_n_u64::<32>(across))
    }
);

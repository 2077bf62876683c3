//! 128-bit vectors of aarch64, and what came later: dot products of bytes, products of squares of them, and
//! multiplications of bf16.
//!
//! The standard library keeps the younger instructions for its experiments, so they are written as such.
//!
//! Of bf16 only BFMLALB and BFMLALT are used, which are multiply-adds of f32 in all respects. BFDOT and BFMMLA round
//! each product and each sum to odd, whatever the control register says, and know no denormals (but with FEAT_EBF16).

use crate::float;
use crate::portable::Portable;
use crate::simd::{Dot, MAX_LANES, Simd};
use std::arch::aarch64::*;
use std::arch::asm;

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
            const ALIKE: bool = true;
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
dot!(
    /// Quads of signed bytes.
    S8, i32, int32x4_t: vdupq_n_s32 vld1q_s32 vst1q_s32 vaddq_s32, |acc, a, b| {
        let mut sums = acc;
        asm!(
            "sdot {0:v}.4s, {1:v}.16b, {2:v}.16b", inout(vreg) sums, in(vreg) a, in(vreg) b,
            options(pure, nomem, nostack, preserves_flags)
        );
        sums
    }
);
dot!(
    /// Quads of unsigned bytes.
    U8, i32, int32x4_t: vdupq_n_s32 vld1q_s32 vst1q_s32 vaddq_s32, |acc, a, b| {
        let mut sums = acc;
        asm!(
            "udot {0:v}.4s, {1:v}.16b, {2:v}.16b", inout(vreg) sums, in(vreg) a, in(vreg) b,
            options(pure, nomem, nostack, preserves_flags)
        );
        sums
    }
);

/// Pairs of bf16: two multiply-adds, the upper numbers first.
#[derive(Clone, Copy)]
pub(crate) struct Bf16;

impl Dot for Bf16 {
    const LANES: usize = F32::LANES;
    const HALVES: bool = false;
    const SINGLE: bool = true;
    type Acc = float32x4_t;
    type A = float32x4_t;
    type B = float32x4_t;

    #[inline(always)]
    unsafe fn zero() -> Self::Acc {
        // SAFETY: forwarded.
        unsafe { F32::zero() }
    }
    #[inline(always)]
    unsafe fn load_acc(lo: *const u8, hi: *const u8) -> Self::Acc {
        // SAFETY: forwarded.
        unsafe { F32::load_acc(lo, hi) }
    }
    #[inline(always)]
    unsafe fn store_acc(lo: *mut u8, hi: *mut u8, v: Self::Acc) {
        // SAFETY: forwarded.
        unsafe { F32::store_acc(lo, hi, v) }
    }
    #[inline(always)]
    unsafe fn splat(a: *const u8) -> Self::A {
        // SAFETY: forwarded.
        unsafe { F32::splat(a) }
    }
    #[inline(always)]
    unsafe fn load_b(lo: *const u8, hi: *const u8) -> Self::B {
        // SAFETY: forwarded.
        unsafe { F32::load_b(lo, hi) }
    }
    #[inline(always)]
    unsafe fn dot(acc: Self::Acc, a: Self::A, b: Self::B) -> Self::Acc {
        let mut sums = acc;
        // SAFETY: the caller vouches for the instructions. They depend on the control register, which changes only
        // between accesses to memory (see `mul_add::flush`), so they are not said to be pure.
        unsafe {
            asm!(
                "bfmlalt {0:v}.4s, {1:v}.8h, {2:v}.8h",
                "bfmlalb {0:v}.4s, {1:v}.8h, {2:v}.8h",
                inout(vreg) sums, in(vreg) a, in(vreg) b,
                options(readonly, nostack, preserves_flags)
            );
        }
        sums
    }
    #[inline(always)]
    unsafe fn round_f16(v: Self::Acc) -> Self::Acc {
        // SAFETY: forwarded.
        unsafe { F32::round_f16(v) }
    }
    #[inline(always)]
    unsafe fn round_bf16(v: Self::Acc) -> Self::Acc {
        // SAFETY: forwarded.
        unsafe { F32::round_bf16(v) }
    }
    #[inline(always)]
    unsafe fn add(a: Self::Acc, _b: Self::Acc) -> Self::Acc {
        a
    }
}

/// Four words of 32 bits.
pub(crate) type Words = int32x4_t;

/// A product of squares: two rows of eight bytes of A, one behind the other, and two columns of as many of B. It is
/// added to two rows of two sums.
pub(crate) trait Squares: Copy {
    /// # Safety
    /// The processor has the instruction.
    unsafe fn add(sums: Words, a: Words, b: Words) -> Words;
}

macro_rules! squares {
    ($($(#[$doc:meta])* $name:ident $instruction:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name;

        impl Squares for $name {
            #[inline(always)]
            unsafe fn add(mut sums: Words, a: Words, b: Words) -> Words {
                // SAFETY: the caller vouches for the instruction.
                unsafe {
                    asm!(
                        concat!($instruction, " {0:v}.4s, {1:v}.16b, {2:v}.16b"),
                        inout(vreg) sums, in(vreg) a, in(vreg) b,
                        options(pure, nomem, nostack, preserves_flags)
                    );
                }
                sums
            }
        }
    )*};
}
squares! {
    /// Signed bytes.
    S8Squares "smmla";
    /// Unsigned bytes.
    U8Squares "ummla";
    /// Unsigned bytes of A, signed ones of B.
    U8S8Squares "usmmla";
}

/// Zero words.
///
/// # Safety
/// The processor has the instructions.
#[inline(always)]
pub(crate) unsafe fn zero() -> Words {
    // SAFETY: forwarded.
    unsafe { vdupq_n_s32(0) }
}

/// Sums, wrapping.
///
/// # Safety
/// The processor has the instructions.
#[inline(always)]
pub(crate) unsafe fn add(x: Words, y: Words) -> Words {
    // SAFETY: forwarded.
    unsafe { vaddq_s32(x, y) }
}

/// Reads four words.
///
/// # Safety
/// They are readable.
#[inline(always)]
pub(crate) unsafe fn load(from: *const u8) -> Words {
    // SAFETY: forwarded.
    unsafe { vld1q_s32(from.cast()) }
}

/// Writes four words.
///
/// # Safety
/// They are writable.
#[inline(always)]
pub(crate) unsafe fn store(to: *mut u8, v: Words) {
    // SAFETY: forwarded.
    unsafe { vst1q_s32(to.cast(), v) }
}

/// Words of two vectors in turn: of their lower halves, of their upper ones.
///
/// # Safety
/// The processor has the instructions.
#[inline(always)]
pub(crate) unsafe fn zipped(x: Words, y: Words) -> [Words; 2] {
    // SAFETY: forwarded.
    unsafe { [vzip1q_s32(x, y), vzip2q_s32(x, y)] }
}

/// The lower halves of two vectors, the upper ones.
///
/// # Safety
/// The processor has the instructions.
#[inline(always)]
pub(crate) unsafe fn halves(x: Words, y: Words) -> [Words; 2] {
    // SAFETY: forwarded.
    unsafe {
        let (x, y) = (vreinterpretq_s64_s32(x), vreinterpretq_s64_s32(y));
        [vreinterpretq_s32_s64(vzip1q_s64(x, y)), vreinterpretq_s32_s64(vzip2q_s64(x, y))]
    }
}

/// Two words of each of two rows, one behind the other.
///
/// # Safety
/// The words are readable.
#[inline(always)]
pub(crate) unsafe fn two_rows(x: *const u8, y: *const u8) -> Words {
    // SAFETY: forwarded.
    unsafe { vcombine_s32(vld1_s32(x.cast()), vld1_s32(y.cast())) }
}

/// The same of one word each; the other is zero.
///
/// # Safety
/// The words are readable.
#[inline(always)]
pub(crate) unsafe fn two_words(x: *const u8, y: *const u8) -> Words {
    // SAFETY: forwarded.
    unsafe {
        let word = |from: *const u8| vcreate_s32(from.cast::<u32>().read_unaligned().into());
        vcombine_s32(word(x), word(y))
    }
}

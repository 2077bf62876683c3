//! 256-bit vectors with FMA and F16C, and the dot product of AVX-VNNI.

use crate::simd::{Dot, MAX_LANES, Simd};
use std::arch::asm;
use std::arch::x86_64::*;

/// AVX2.
#[derive(Clone, Copy)]
pub(crate) struct Avx2;

/// Copies `bytes` bytes into a zeroed vector's worth of memory: short rows must not be read past their end.
#[inline(always)]
unsafe fn staged(src: *const u8, bytes: usize) -> [u8; 32] {
    let mut stage = [0; 32];
    // SAFETY: `bytes` are readable and at most 32, by contract.
    unsafe { stage.as_mut_ptr().copy_from_nonoverlapping(src, bytes) };
    stage
}

#[inline(always)]
unsafe fn load_128(src: *const u8, bytes: usize) -> __m128i {
    // SAFETY: `bytes` are readable, by contract; the stage holds 32.
    unsafe {
        match bytes {
            16 => _mm_loadu_si128(src.cast()),
            8 => _mm_loadl_epi64(src.cast()),
            _ => _mm_loadu_si128(staged(src, bytes).as_ptr().cast()),
        }
    }
}

#[inline(always)]
unsafe fn store_128(dst: *mut u8, bytes: usize, v: __m128i) {
    // SAFETY: `bytes` are writable and at most 16, by contract.
    unsafe {
        match bytes {
            16 => _mm_storeu_si128(dst.cast(), v),
            8 => _mm_storel_epi64(dst.cast(), v),
            _ => {
                let stage = std::mem::transmute::<__m128i, [u8; 16]>(v);
                dst.copy_from_nonoverlapping(stage.as_ptr(), bytes);
            }
        }
    }
}

impl Simd for Avx2 {
    const LANES: usize = 8;
    type Words = __m256i;

    #[inline(always)]
    unsafe fn zero() -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { _mm256_setzero_si256() }
    }
    #[inline(always)]
    unsafe fn load(src: *const u8, bytes: usize) -> Self::Words {
        // SAFETY: `bytes` are readable, by contract; the stage holds 32.
        unsafe {
            if bytes == 32 {
                _mm256_loadu_si256(src.cast())
            } else {
                _mm256_loadu_si256(staged(src, bytes).as_ptr().cast())
            }
        }
    }
    #[inline(always)]
    unsafe fn store(dst: *mut u8, bytes: usize, v: Self::Words) {
        // SAFETY: `bytes` are writable and at most 32, by contract.
        unsafe {
            if bytes == 32 {
                _mm256_storeu_si256(dst.cast(), v);
            } else {
                let stage = std::mem::transmute::<__m256i, [u8; 32]>(v);
                dst.copy_from_nonoverlapping(stage.as_ptr(), bytes);
            }
        }
    }
    #[inline(always)]
    unsafe fn load_f16(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: `n` elements are readable, by contract.
        unsafe { _mm256_castps_si256(_mm256_cvtph_ps(load_128(src, 2 * n))) }
    }
    #[inline(always)]
    unsafe fn load_u16(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: `n` elements are readable, by contract.
        unsafe { _mm256_cvtepu16_epi32(load_128(src, 2 * n)) }
    }
    #[inline(always)]
    unsafe fn load_u8(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: `n` elements are readable, by contract.
        unsafe { _mm256_cvtepu8_epi32(load_128(src, n)) }
    }
    #[inline(always)]
    unsafe fn load_i8(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: `n` elements are readable, by contract.
        unsafe { _mm256_cvtepi8_epi32(load_128(src, n)) }
    }
    /// As f16 it is 2^8 times too small, and NaN is a number.
    #[inline(always)]
    unsafe fn load_e4m3(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: `n` elements are readable, by contract.
        unsafe {
            // Of the sign that fills up 16 bits, bit 15 stays.
            let wide = _mm_slli_epi16::<7>(_mm_cvtepi8_epi16(load_128(src, n)));
            let halves = _mm_and_si128(wide, _mm_set1_epi16(0xbf80_u16 as i16));
            let largest = _mm_set1_epi16(0x3f80);
            let nan = _mm_cmpeq_epi16(_mm_and_si128(wide, largest), largest);
            let halves = _mm_or_si128(halves, _mm_and_si128(nan, _mm_set1_epi16(0x7e00)));
            _mm256_castps_si256(_mm256_mul_ps(_mm256_cvtph_ps(halves), _mm256_set1_ps(256.0)))
        }
    }
    #[inline(always)]
    unsafe fn load_e5m2(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: `n` elements are readable, by contract.
        unsafe {
            let halves = _mm_slli_epi16::<8>(_mm_cvtepu8_epi16(load_128(src, n)));
            _mm256_castps_si256(_mm256_cvtph_ps(halves))
        }
    }
    #[inline(always)]
    unsafe fn store_f16(dst: *mut u8, n: usize, v: Self::Words) {
        // SAFETY: `n` elements are writable, by contract.
        unsafe {
            let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_castsi256_ps(v));
            store_128(dst, 2 * n, halves);
        }
    }
    #[inline(always)]
    unsafe fn narrow_f16(dst: *mut u8, v: Self::Words) {
        // The instruction rounds.
        // SAFETY: forwarded.
        unsafe { Self::store_f16(dst, Self::LANES, v) }
    }
    #[inline(always)]
    unsafe fn store_u16(dst: *mut u8, n: usize, v: Self::Words) {
        // SAFETY: `n` elements are writable, by contract.
        unsafe {
            // The mask keeps the saturating pack from saturating.
            let low = _mm256_and_si256(v, _mm256_set1_epi32(0xffff));
            let packed = _mm256_permute4x64_epi64::<0b10_00>(_mm256_packus_epi32(low, low));
            store_128(dst, 2 * n, _mm256_castsi256_si128(packed));
        }
    }
    #[inline(always)]
    unsafe fn store_u8(dst: *mut u8, n: usize, v: Self::Words) {
        // SAFETY: `n` elements are writable, by contract.
        unsafe {
            let low = _mm256_and_si256(v, _mm256_set1_epi32(0xff));
            let pairs = _mm256_permute4x64_epi64::<0b10_00>(_mm256_packus_epi32(low, low));
            let bytes = _mm_packus_epi16(_mm256_castsi256_si128(pairs), _mm_setzero_si128());
            store_128(dst, n, bytes);
        }
    }
    #[inline(always)]
    unsafe fn round_f16(v: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { _mm256_castps_si256(round_f16(_mm256_castsi256_ps(v))) }
    }
    #[inline(always)]
    unsafe fn shl<const N: u32>(v: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { _mm256_sll_epi32(v, _mm_cvtsi32_si128(N as i32)) }
    }
    #[inline(always)]
    unsafe fn shr<const N: u32>(v: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { _mm256_srl_epi32(v, _mm_cvtsi32_si128(N as i32)) }
    }
    #[inline(always)]
    unsafe fn or(a: Self::Words, b: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { _mm256_or_si256(a, b) }
    }
    const EXCHANGES: bool = true;
    #[inline(always)]
    unsafe fn exchange(at: *mut u128, old: u128, new: u128) -> u128 {
        // SAFETY: the caller vouches for the place.
        unsafe { super::exchange(at, old, new) }
    }
    #[inline(always)]
    unsafe fn pick(low: Self::Words, high: Self::Words, numbers: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe {
            let [low, high] = [low, high].map(|v| _mm256_permutevar8x32_epi32(v, numbers));
            // A float's sign is what chooses.
            let is_high = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(numbers));
            let picked = _mm256_blendv_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), is_high);
            _mm256_castps_si256(picked)
        }
    }
    #[inline(always)]
    unsafe fn add_f32(a: Self::Words, b: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { _mm256_castps_si256(_mm256_add_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b))) }
    }
    #[inline(always)]
    unsafe fn sub_f32(a: Self::Words, b: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { _mm256_castps_si256(_mm256_sub_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b))) }
    }
    #[inline(always)]
    unsafe fn mul_f32(a: Self::Words, b: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { _mm256_castps_si256(_mm256_mul_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b))) }
    }
    #[inline(always)]
    unsafe fn div_f32(a: Self::Words, b: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { _mm256_castps_si256(_mm256_div_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b))) }
    }
    #[inline(always)]
    unsafe fn map(v: Self::Words, f: impl Fn(u32) -> u32) -> Self::Words {
        // SAFETY: both types are 8 words.
        unsafe {
            let mut words = std::mem::transmute::<__m256i, [u32; 8]>(v);
            for word in &mut words {
                *word = f(*word);
            }
            std::mem::transmute::<[u32; 8], __m256i>(words)
        }
    }
    #[inline(always)]
    unsafe fn transpose(block: &mut [Self::Words; MAX_LANES]) {
        // SAFETY: the caller vouches for the instructions.
        unsafe {
            let mut quads = [_mm256_setzero_si256(); 8];
            let mut i = 0;
            while i < 8 {
                let lo01 = _mm256_unpacklo_epi32(block[i], block[i + 1]);
                let hi01 = _mm256_unpackhi_epi32(block[i], block[i + 1]);
                let lo23 = _mm256_unpacklo_epi32(block[i + 2], block[i + 3]);
                let hi23 = _mm256_unpackhi_epi32(block[i + 2], block[i + 3]);
                quads[i] = _mm256_unpacklo_epi64(lo01, lo23);
                quads[i + 1] = _mm256_unpackhi_epi64(lo01, lo23);
                quads[i + 2] = _mm256_unpacklo_epi64(hi01, hi23);
                quads[i + 3] = _mm256_unpackhi_epi64(hi01, hi23);
                i += 4;
            }
            let mut j = 0;
            while j < 4 {
                block[j] = _mm256_permute2x128_si256::<0x20>(quads[j], quads[j + 4]);
                block[j + 4] = _mm256_permute2x128_si256::<0x31>(quads[j], quads[j + 4]);
                j += 1;
            }
        }
    }
}

#[inline(always)]
unsafe fn round_f16(v: __m256) -> __m256 {
    // SAFETY: the caller vouches for the instructions.
    unsafe { _mm256_cvtph_ps(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v)) }
}

/// To nearest even on the bits of f32.
#[inline(always)]
unsafe fn round_bf16(v: __m256i) -> __m256i {
    // SAFETY: the caller vouches for the instructions.
    unsafe {
        let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(v), _mm256_set1_epi32(1));
        let rounded = _mm256_add_epi32(_mm256_add_epi32(v, _mm256_set1_epi32(0x7fff)), odd);
        let value = _mm256_castsi256_ps(v);
        let nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(value, value));
        let quiet = _mm256_or_si256(v, _mm256_set1_epi32(1 << 22));
        let rounded = _mm256_blendv_epi8(rounded, quiet, nan);
        _mm256_and_si256(rounded, _mm256_set1_epi32(-1 << 16))
    }
}

/// [`Dot::dot_behind`] of pairs of i16. The compiler would load a vector once that several products have as their operand,
/// for which there is no register.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn add_pairs_behind<const FURTHER: bool>(
    acc: __m256i,
    a: __m256i,
    place: *const u8,
    at: usize,
) -> __m256i {
    let product: __m256i;
    // SAFETY: the vector behind the place is readable, by contract, and the caller vouches for the instructions.
    unsafe {
        if FURTHER {
            asm!("vpmaddwd {}, {}, ymmword ptr [{} + {} + 32]",
                out(ymm_reg) product, in(ymm_reg) a, in(reg) place, in(reg) at,
                options(pure, readonly, nostack, preserves_flags));
        } else {
            asm!("vpmaddwd {}, {}, ymmword ptr [{} + 32]",
                out(ymm_reg) product, in(ymm_reg) a, in(reg) place,
                options(pure, readonly, nostack, preserves_flags));
        }
        _mm256_add_epi32(acc, product)
    }
}

/// A [`Dot`] whose words are opaque, of the size of an integer that is broadcast.
macro_rules! dot {
    ($(#[$doc:meta])* $name:ident, single: $single:literal, $word:ty: $splat:ident, |$acc:ident, $a:ident, $b:ident| $dot:expr
        $(, behind: $behind:ident)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name;

        impl Dot for $name {
            const LANES: usize = size_of::<__m256i>() / Self::WORD;
            const HALVES: bool = false;
            const WORD: usize = size_of::<$word>();
            const SINGLE: bool = $single;
            const SPARES_INSTRUCTIONS: bool = true;
            #[expect(clippy::pointers_in_nomem_asm_block, reason = "nothing is read by way of the address")]
            #[inline(always)]
            fn hidden(mut address: *const u8) -> *const u8 {
                // SAFETY: there is no instruction.
                unsafe { asm!("/* {} */", inout(reg) address, options(pure, nomem, nostack, preserves_flags)) };
                address
            }
            type Acc = __m256i;
            type A = __m256i;
            type B = __m256i;

            #[inline(always)]
            unsafe fn zero() -> Self::Acc {
                // SAFETY: the caller vouches for the instructions.
                unsafe { _mm256_setzero_si256() }
            }
            #[inline(always)]
            unsafe fn load_acc(lo: *const u8, _hi: *const u8) -> Self::Acc {
                // SAFETY: one vector is readable, by contract.
                unsafe { _mm256_loadu_si256(lo.cast()) }
            }
            #[inline(always)]
            unsafe fn store_acc(lo: *mut u8, _hi: *mut u8, v: Self::Acc) {
                // SAFETY: one vector is writable, by contract.
                unsafe { _mm256_storeu_si256(lo.cast(), v) }
            }
            #[inline(always)]
            unsafe fn splat(a: *const u8) -> Self::A {
                // SAFETY: one word is readable, by contract.
                unsafe { $splat(a.cast::<$word>().read_unaligned()) }
            }
            #[inline(always)]
            unsafe fn load_b(lo: *const u8, _hi: *const u8) -> Self::B {
                // SAFETY: one vector is readable, by contract.
                unsafe { _mm256_loadu_si256(lo.cast()) }
            }
            #[inline(always)]
            unsafe fn dot($acc: Self::Acc, $a: Self::A, $b: Self::B) -> Self::Acc {
                // SAFETY: the caller vouches for the instructions.
                unsafe { $dot }
            }
            $(
                #[inline(always)]
                unsafe fn dot_behind<const FURTHER: bool>(
                    acc: Self::Acc,
                    a: Self::A,
                    place: *const u8,
                    at: usize,
                ) -> Self::Acc {
                    // SAFETY: forwarded.
                    unsafe { $behind::<FURTHER>(acc, a, place, at) }
                }
            )?
            #[inline(always)]
            unsafe fn round_f16(v: Self::Acc) -> Self::Acc {
                // SAFETY: the caller vouches for the instructions.
                unsafe { _mm256_castps_si256(round_f16(_mm256_castsi256_ps(v))) }
            }
            #[inline(always)]
            unsafe fn round_bf16(v: Self::Acc) -> Self::Acc {
                // SAFETY: the caller vouches for the instructions.
                unsafe { round_bf16(v) }
            }
            #[inline(always)]
            unsafe fn add(a: Self::Acc, b: Self::Acc) -> Self::Acc {
                // SAFETY: the caller vouches for the instructions.
                unsafe { _mm256_add_epi32(a, b) }
            }
        }
    };
}

dot!(
    /// f32 words.
    F32, single: true, i32: _mm256_set1_epi32, |acc, a, b| _mm256_castps_si256(_mm256_fmadd_ps(
        _mm256_castsi256_ps(a),
        _mm256_castsi256_ps(b),
        _mm256_castsi256_ps(acc),
    ))
);
dot!(
    /// Quads of unsigned bytes times quads of signed bytes.
    U8S8, single: false, i32: _mm256_set1_epi32, |acc, a, b| _mm256_dpbusd_avx_epi32(acc, a, b)
);
dot!(
    /// Quads of signed bytes times quads of unsigned bytes.
    S8U8, single: false, i32: _mm256_set1_epi32, |acc, a, b| _mm256_dpbusd_avx_epi32(acc, b, a)
);
dot!(
    /// i32 words.
    I32, single: false, i32: _mm256_set1_epi32, |acc, a, b| _mm256_add_epi32(acc, _mm256_mullo_epi32(a, b))
);
dot!(
    /// Pairs of i16.
    I16, single: false, i32: _mm256_set1_epi32, |acc, a, b| _mm256_add_epi32(acc, _mm256_madd_epi16(a, b)),
    behind: add_pairs_behind
);
dot!(
    /// f64 words.
    F64, single: false, i64: _mm256_set1_epi64x, |acc, a, b| _mm256_castpd_si256(_mm256_fmadd_pd(
        _mm256_castsi256_pd(a),
        _mm256_castsi256_pd(b),
        _mm256_castsi256_pd(acc),
    ))
);
dot!(
    /// i64 words, whose product is made of three of halves.
    I64, single: false, i64: _mm256_set1_epi64x, |acc, a, b| {
        let (a_high, b_high) = (_mm256_srli_epi64::<32>(a), _mm256_srli_epi64::<32>(b));
        let across = _mm256_add_epi64(_mm256_mul_epu32(a_high, b), _mm256_mul_epu32(a, b_high));
        let sum = _mm256_add_epi64(acc, _mm256_mul_epu32(a, b));
        _mm256_add_epi64(sum, _mm256_slli_epi64::<32>(across))
    }
);

//! 512-bit vectors: F, BW, VL and DQ, and the dot products of BF16 and VNNI.
//!
//! Masked accesses do not touch the bytes they leave out, so short rows need no detours.

use crate::simd::{Dot, MAX_LANES, Simd};
use std::arch::x86_64::*;

/// AVX-512.
#[derive(Clone, Copy)]
pub(crate) struct Avx512;

/// The low `n` bits, `n` from 1 to 64.
#[inline(always)]
fn low_bits(n: usize) -> u64 {
    u64::MAX >> (64 - n)
}

impl Simd for Avx512 {
    const LANES: usize = 16;
    type Words = __m512i;

    #[inline(always)]
    unsafe fn zero() -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { _mm512_setzero_si512() }
    }
    #[inline(always)]
    unsafe fn load(src: *const u8, bytes: usize) -> Self::Words {
        // SAFETY: only `bytes` bytes are touched.
        unsafe {
            if bytes == 64 {
                _mm512_loadu_si512(src.cast())
            } else {
                _mm512_maskz_loadu_epi8(low_bits(bytes), src.cast())
            }
        }
    }
    #[inline(always)]
    unsafe fn store(dst: *mut u8, bytes: usize, v: Self::Words) {
        // SAFETY: only `bytes` bytes are touched.
        unsafe {
            if bytes == 64 {
                _mm512_storeu_si512(dst.cast(), v);
            } else {
                _mm512_mask_storeu_epi8(dst.cast(), low_bits(bytes), v);
            }
        }
    }
    #[inline(always)]
    unsafe fn load_f16(src: *const u8, n: usize) -> Self::Words {
        // With the current rounding mode, which does not matter, the instruction takes its operand from memory.
        // SAFETY: only `n` elements are touched.
        unsafe {
            let words = _mm512_cvt_roundph_ps::<_MM_FROUND_CUR_DIRECTION>(load_halves(src, n));
            _mm512_castps_si512(words)
        }
    }
    #[inline(always)]
    unsafe fn load_u16(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: only `n` elements are touched.
        unsafe { _mm512_cvtepu16_epi32(load_halves(src, n)) }
    }
    #[inline(always)]
    unsafe fn load_u8(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: only `n` elements are touched.
        unsafe { _mm512_cvtepu8_epi32(load_bytes(src, n)) }
    }
    #[inline(always)]
    unsafe fn load_i8(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: only `n` elements are touched.
        unsafe { _mm512_cvtepi8_epi32(load_bytes(src, n)) }
    }
    /// As f16 it is 2^8 times too small, and NaN is a number.
    #[inline(always)]
    unsafe fn load_e4m3(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: only `n` elements are touched.
        unsafe {
            let bytes = load_bytes(src, n);
            // Of the sign that fills up 16 bits, bit 15 stays.
            let wide = _mm256_slli_epi16::<7>(_mm256_cvtepi8_epi16(bytes));
            let halves = _mm256_and_si256(wide, _mm256_set1_epi16(0xbf80_u16 as i16));
            let nan = _mm_cmpeq_epi8_mask(_mm_or_si128(bytes, _mm_set1_epi8(-0x80)), _mm_set1_epi8(-1));
            let halves =
                _mm256_mask_blend_epi16(nan, halves, _mm256_or_si256(halves, _mm256_set1_epi16(0x7e00)));
            _mm512_castps_si512(_mm512_mul_ps(_mm512_cvtph_ps(halves), _mm512_set1_ps(256.0)))
        }
    }
    #[inline(always)]
    unsafe fn load_e5m2(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: only `n` elements are touched.
        unsafe {
            let halves = _mm256_slli_epi16::<8>(_mm256_cvtepu8_epi16(load_bytes(src, n)));
            _mm512_castps_si512(_mm512_cvtph_ps(halves))
        }
    }
    #[inline(always)]
    unsafe fn store_f16(dst: *mut u8, n: usize, v: Self::Words) {
        // SAFETY: only `n` elements are touched.
        unsafe { store_halves(dst, n, _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm512_castsi512_ps(v))) }
    }
    #[inline(always)]
    unsafe fn narrow_f16(dst: *mut u8, v: Self::Words) {
        // The instruction rounds.
        // SAFETY: forwarded.
        unsafe { Self::store_f16(dst, Self::LANES, v) }
    }
    #[inline(always)]
    unsafe fn store_u16(dst: *mut u8, n: usize, v: Self::Words) {
        // SAFETY: only `n` elements are touched.
        unsafe { store_halves(dst, n, _mm512_cvtepi32_epi16(v)) }
    }
    #[inline(always)]
    unsafe fn store_u8(dst: *mut u8, n: usize, v: Self::Words) {
        // SAFETY: only `n` elements are touched.
        unsafe { _mm_mask_storeu_epi8(dst.cast(), low_bits(n) as u16, _mm512_cvtepi32_epi8(v)) }
    }
    #[inline(always)]
    unsafe fn round_f16(v: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { _mm512_castps_si512(round_f16(_mm512_castsi512_ps(v))) }
    }
    #[inline(always)]
    unsafe fn shl<const N: u32>(v: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { _mm512_slli_epi32::<N>(v) }
    }
    #[inline(always)]
    unsafe fn shr<const N: u32>(v: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { _mm512_srli_epi32::<N>(v) }
    }
    #[inline(always)]
    unsafe fn or(a: Self::Words, b: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { _mm512_or_si512(a, b) }
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
        unsafe { _mm512_permutex2var_epi32(low, numbers, high) }
    }
    #[inline(always)]
    unsafe fn add_f32(a: Self::Words, b: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { _mm512_castps_si512(_mm512_add_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b))) }
    }
    #[inline(always)]
    unsafe fn sub_f32(a: Self::Words, b: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { _mm512_castps_si512(_mm512_sub_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b))) }
    }
    #[inline(always)]
    unsafe fn mul_f32(a: Self::Words, b: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { _mm512_castps_si512(_mm512_mul_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b))) }
    }
    #[inline(always)]
    unsafe fn div_f32(a: Self::Words, b: Self::Words) -> Self::Words {
        // SAFETY: the caller vouches for the instructions.
        unsafe { _mm512_castps_si512(_mm512_div_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b))) }
    }
    #[inline(always)]
    unsafe fn map(v: Self::Words, f: impl Fn(u32) -> u32) -> Self::Words {
        // SAFETY: both types are 16 words.
        unsafe {
            let mut words = std::mem::transmute::<__m512i, [u32; 16]>(v);
            for word in &mut words {
                *word = f(*word);
            }
            std::mem::transmute::<[u32; 16], __m512i>(words)
        }
    }
    #[inline(always)]
    unsafe fn transpose(block: &mut [Self::Words; MAX_LANES]) {
        // SAFETY: the caller vouches for the instructions.
        unsafe {
            // Pairs, then quads of words within each 128-bit quarter.
            let mut quads = [_mm512_setzero_si512(); 16];
            let mut i = 0;
            while i < 16 {
                let lo01 = _mm512_unpacklo_epi32(block[i], block[i + 1]);
                let hi01 = _mm512_unpackhi_epi32(block[i], block[i + 1]);
                let lo23 = _mm512_unpacklo_epi32(block[i + 2], block[i + 3]);
                let hi23 = _mm512_unpackhi_epi32(block[i + 2], block[i + 3]);
                quads[i] = _mm512_unpacklo_epi64(lo01, lo23);
                quads[i + 1] = _mm512_unpackhi_epi64(lo01, lo23);
                quads[i + 2] = _mm512_unpacklo_epi64(hi01, hi23);
                quads[i + 3] = _mm512_unpackhi_epi64(hi01, hi23);
                i += 4;
            }
            // `quads[4g + j]` holds, in quarter q, column 4q + j of rows 4g to 4g + 3: transpose the quarters.
            let mut j = 0;
            while j < 4 {
                let (q0, q1, q2, q3) = (quads[j], quads[j + 4], quads[j + 8], quads[j + 12]);
                let even01 = _mm512_shuffle_i32x4::<0b10_00_10_00>(q0, q1);
                let odd01 = _mm512_shuffle_i32x4::<0b11_01_11_01>(q0, q1);
                let even23 = _mm512_shuffle_i32x4::<0b10_00_10_00>(q2, q3);
                let odd23 = _mm512_shuffle_i32x4::<0b11_01_11_01>(q2, q3);
                block[j] = _mm512_shuffle_i32x4::<0b10_00_10_00>(even01, even23);
                block[j + 4] = _mm512_shuffle_i32x4::<0b10_00_10_00>(odd01, odd23);
                block[j + 8] = _mm512_shuffle_i32x4::<0b11_01_11_01>(even01, even23);
                block[j + 12] = _mm512_shuffle_i32x4::<0b11_01_11_01>(odd01, odd23);
                j += 1;
            }
        }
    }
    /// Shuffles are what a transposition waits for: halves need a third of those that words need, if quarters come
    /// together while they are loaded.
    #[inline(always)]
    unsafe fn load_f16_transposed(lines: [*const u8; MAX_LANES]) -> [Self::Words; MAX_LANES] {
        // SAFETY: the caller vouches for 32 bytes of each line and for the instructions.
        unsafe {
            // Two columns each: 16 halves of one, then of the other.
            let mut columns = [_mm512_setzero_si512(); 8];
            let order = _mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0);
            let mut side = 0;
            while side < 2 {
                // Quarter q of `rows(g)` is of line 4q + g.
                let rows = |g: usize| gather_pieces(std::array::from_fn(|q| lines[4 * q + g].add(side * 16)));
                let (r0, r1, r2, r3) = (rows(0), rows(1), rows(2), rows(3));
                let pairs = quads([r0, r1, r2, r3]);
                for (i, pair) in pairs.into_iter().enumerate() {
                    columns[side * 4 + i] = _mm512_permutexvar_epi64(order, pair);
                }
                side += 1;
            }
            // Out of memory, halves are widened without a shuffle.
            let columns = std::hint::black_box(&columns).as_ptr().cast::<u8>();
            std::array::from_fn(|x| Self::load_f16(columns.add(x * 32), 16))
        }
    }
    const HAS_F16_COLUMNS: bool = true;
    #[inline(always)]
    unsafe fn load_f16_columns(lines: [*const u8; MAX_LANES], mut give: impl FnMut(usize, Self::Words)) {
        // SAFETY: the caller vouches for 64 bytes of each line and for the instructions.
        unsafe {
            // Quarter q of `eights[j]` is column 8q + j of the first eight lines, that of `eights[8 + j]` of the others.
            let mut eights = [_mm512_setzero_si512(); 16];
            let mut g = 0;
            while g < 2 {
                let r: [__m512i; 8] = std::array::from_fn(|y| Self::load(lines[8 * g + y], 64));
                let (upper, lower) = (quads([r[0], r[1], r[2], r[3]]), quads([r[4], r[5], r[6], r[7]]));
                let mut i = 0;
                while i < 4 {
                    eights[8 * g + 2 * i] = _mm512_unpacklo_epi64(upper[i], lower[i]);
                    eights[8 * g + 2 * i + 1] = _mm512_unpackhi_epi64(upper[i], lower[i]);
                    i += 1;
                }
                g += 1;
            }
            // Two columns each: j and 8 + j, behind them 16 + j and 24 + j.
            let mut columns = [_mm512_setzero_si512(); 16];
            let low = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
            let high = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
            let mut j = 0;
            while j < 8 {
                columns[j] = _mm512_permutex2var_epi64(eights[j], low, eights[8 + j]);
                columns[8 + j] = _mm512_permutex2var_epi64(eights[j], high, eights[8 + j]);
                j += 1;
            }
            let columns = std::hint::black_box(&columns).as_ptr().cast::<u8>();
            let mut pair = 0;
            while pair < 16 {
                // In 0 to 7, or 16 to 23.
                let x = pair + (pair & 8);
                give(x, Self::load_f16(columns.add(pair * 64), 16));
                give(x + 8, Self::load_f16(columns.add(pair * 64 + 32), 16));
                pair += 1;
            }
        }
    }
}

/// Halves of four lines, in each quarter those of two columns, one behind the other.
#[inline(always)]
unsafe fn quads([r0, r1, r2, r3]: [__m512i; 4]) -> [__m512i; 4] {
    // SAFETY: the caller vouches for the instructions.
    unsafe {
        let (lo01, hi01) = (_mm512_unpacklo_epi16(r0, r1), _mm512_unpackhi_epi16(r0, r1));
        let (lo23, hi23) = (_mm512_unpacklo_epi16(r2, r3), _mm512_unpackhi_epi16(r2, r3));
        [
            _mm512_unpacklo_epi32(lo01, lo23),
            _mm512_unpackhi_epi32(lo01, lo23),
            _mm512_unpacklo_epi32(hi01, hi23),
            _mm512_unpackhi_epi32(hi01, hi23),
        ]
    }
}

/// Four 16-byte pieces, one behind the other.
#[inline(always)]
unsafe fn gather_pieces(pieces: [*const u8; 4]) -> __m512i {
    // SAFETY: the caller vouches for 16 bytes at each address.
    unsafe {
        let piece = |i: usize| _mm_loadu_si128(pieces[i].cast());
        let v = _mm512_castsi128_si512(piece(0));
        let v = _mm512_mask_broadcast_i32x4(v, 0x00f0, piece(1));
        let v = _mm512_mask_broadcast_i32x4(v, 0x0f00, piece(2));
        _mm512_mask_broadcast_i32x4(v, 0xf000, piece(3))
    }
}

#[inline(always)]
unsafe fn load_bytes(src: *const u8, n: usize) -> __m128i {
    // SAFETY: only `n` elements are touched.
    unsafe {
        if n == 16 {
            _mm_loadu_si128(src.cast())
        } else {
            _mm_maskz_loadu_epi8(low_bits(n) as u16, src.cast())
        }
    }
}

#[inline(always)]
unsafe fn load_halves(src: *const u8, n: usize) -> __m256i {
    // SAFETY: only `n` elements of two bytes are touched.
    unsafe {
        if n == 16 {
            _mm256_loadu_si256(src.cast())
        } else {
            _mm256_maskz_loadu_epi16(low_bits(n) as u16, src.cast())
        }
    }
}

#[inline(always)]
unsafe fn store_halves(dst: *mut u8, n: usize, v: __m256i) {
    // SAFETY: only `n` elements of two bytes are touched.
    unsafe {
        if n == 16 {
            _mm256_storeu_si256(dst.cast(), v);
        } else {
            _mm256_mask_storeu_epi16(dst.cast(), low_bits(n) as u16, v);
        }
    }
}

#[inline(always)]
unsafe fn round_f16(v: __m512) -> __m512 {
    // SAFETY: the caller vouches for the instructions.
    unsafe { _mm512_cvtph_ps(_mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v)) }
}

/// To nearest even on the bits of f32; the instruction that does it takes denormals for zeros.
#[inline(always)]
unsafe fn round_bf16(v: __m512i) -> __m512i {
    // SAFETY: the caller vouches for the instructions.
    unsafe {
        let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(v), _mm512_set1_epi32(1));
        let rounded = _mm512_add_epi32(_mm512_add_epi32(v, _mm512_set1_epi32(0x7fff)), odd);
        let value = _mm512_castsi512_ps(v);
        let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(value, value);
        let rounded = _mm512_mask_or_epi32(rounded, nan, v, _mm512_set1_epi32(1 << 22));
        _mm512_and_si512(rounded, _mm512_set1_epi32(-1 << 16))
    }
}

/// Reads a vector, or two halves of one.
#[inline(always)]
pub(super) unsafe fn load<const HALVES: bool>(lo: *const u8, hi: *const u8) -> __m512i {
    // SAFETY: the caller vouches for 64 bytes at `lo`, or for 32 at each address.
    unsafe {
        if HALVES {
            let low = _mm512_castsi256_si512(_mm256_loadu_si256(lo.cast()));
            _mm512_inserti64x4::<1>(low, _mm256_loadu_si256(hi.cast()))
        } else {
            _mm512_loadu_si512(lo.cast())
        }
    }
}

/// Writes a vector, or two halves of one.
#[inline(always)]
pub(super) unsafe fn store<const HALVES: bool>(lo: *mut u8, hi: *mut u8, v: __m512i) {
    // SAFETY: the caller vouches for 64 bytes at `lo`, or for 32 at each address.
    unsafe {
        if HALVES {
            _mm256_storeu_si256(lo.cast(), _mm512_castsi512_si256(v));
            _mm256_storeu_si256(hi.cast(), _mm512_extracti64x4_epi64::<1>(v));
        } else {
            _mm512_storeu_si512(lo.cast(), v);
        }
    }
}

/// A [`Dot`] whose words are opaque, of the size of an integer that is broadcast.
macro_rules! dot {
    ($(#[$doc:meta])* $name:ident, single: $single:literal, $word:ty: $splat:ident, |$acc:ident, $a:ident, $b:ident| $dot:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name<const HALVES: bool>;

        impl<const HALVES: bool> Dot for $name<HALVES> {
            const LANES: usize = size_of::<__m512i>() / Self::WORD;
            const HALVES: bool = HALVES;
            const WORD: usize = size_of::<$word>();
            const SINGLE: bool = $single;
            type Acc = __m512i;
            type A = __m512i;
            type B = __m512i;

            #[inline(always)]
            unsafe fn zero() -> Self::Acc {
                // SAFETY: the caller vouches for the instructions.
                unsafe { _mm512_setzero_si512() }
            }
            #[inline(always)]
            unsafe fn load_acc(lo: *const u8, hi: *const u8) -> Self::Acc {
                // SAFETY: forwarded.
                unsafe { load::<HALVES>(lo, hi) }
            }
            #[inline(always)]
            unsafe fn store_acc(lo: *mut u8, hi: *mut u8, v: Self::Acc) {
                // SAFETY: forwarded.
                unsafe { store::<HALVES>(lo, hi, v) }
            }
            #[inline(always)]
            unsafe fn splat(a: *const u8) -> Self::A {
                // SAFETY: one word is readable, by contract.
                unsafe { $splat(a.cast::<$word>().read_unaligned()) }
            }
            #[inline(always)]
            unsafe fn load_b(lo: *const u8, hi: *const u8) -> Self::B {
                // SAFETY: forwarded.
                unsafe { load::<HALVES>(lo, hi) }
            }
            #[inline(always)]
            unsafe fn dot($acc: Self::Acc, $a: Self::A, $b: Self::B) -> Self::Acc {
                // SAFETY: the caller vouches for the instructions.
                unsafe { $dot }
            }
            #[inline(always)]
            unsafe fn round_f16(v: Self::Acc) -> Self::Acc {
                // SAFETY: the caller vouches for the instructions.
                unsafe { _mm512_castps_si512(round_f16(_mm512_castsi512_ps(v))) }
            }
            #[inline(always)]
            unsafe fn round_bf16(v: Self::Acc) -> Self::Acc {
                // SAFETY: the caller vouches for the instructions.
                unsafe { round_bf16(v) }
            }
            #[inline(always)]
            unsafe fn add(a: Self::Acc, b: Self::Acc) -> Self::Acc {
                // SAFETY: the caller vouches for the instructions.
                unsafe { _mm512_add_epi32(a, b) }
            }
        }
    };
}

dot!(
    /// f32 words.
    F32, single: true, i32: _mm512_set1_epi32, |acc, a, b| _mm512_castps_si512(_mm512_fmadd_ps(
        _mm512_castsi512_ps(a),
        _mm512_castsi512_ps(b),
        _mm512_castsi512_ps(acc),
    ))
);
dot!(
    /// Pairs of bf16.
    Bf16, single: true, i32: _mm512_set1_epi32, |acc, a, b| _mm512_castps_si512(_mm512_dpbf16_ps(
        _mm512_castsi512_ps(acc),
        std::mem::transmute::<__m512i, __m512bh>(a),
        std::mem::transmute::<__m512i, __m512bh>(b),
    ))
);
dot!(
    /// Quads of unsigned bytes times quads of signed bytes.
    U8S8, single: false, i32: _mm512_set1_epi32, |acc, a, b| _mm512_dpbusd_epi32(acc, a, b)
);
dot!(
    /// Quads of signed bytes times quads of unsigned bytes.
    S8U8, single: false, i32: _mm512_set1_epi32, |acc, a, b| _mm512_dpbusd_epi32(acc, b, a)
);
dot!(
    /// i32 words.
    I32, single: false, i32: _mm512_set1_epi32, |acc, a, b| _mm512_add_epi32(acc, _mm512_mullo_epi32(a, b))
);
dot!(
    /// Pairs of i16.
    I16, single: false, i32: _mm512_set1_epi32, |acc, a, b| _mm512_add_epi32(acc, _mm512_madd_epi16(a, b))
);
dot!(
    /// f64 words.
    F64, single: false, i64: _mm512_set1_epi64, |acc, a, b| _mm512_castpd_si512(_mm512_fmadd_pd(
        _mm512_castsi512_pd(a),
        _mm512_castsi512_pd(b),
        _mm512_castsi512_pd(acc),
    ))
);
dot!(
    /// i64 words.
    I64, single: false, i64: _mm512_set1_epi64, |acc, a, b| _mm512_add_epi64(acc, _mm512_mullo_epi64(a, b))
);

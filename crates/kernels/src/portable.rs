//! The instruction set "none": arrays of four words, for the compiler to vectorise as it can.

use crate::float;
use crate::simd::{Dot, MAX_LANES, Simd};

const LANES: usize = 4;

/// Plain Rust.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

/// Reads `count` elements of `N` bytes, zero-extended to words.
#[inline(always)]
unsafe fn load_narrow<const N: usize>(src: *const u8, count: usize) -> [u32; LANES] {
    let mut words = [0; LANES];
    for (i, word) in words.iter_mut().enumerate().take(count) {
        let mut bytes = [0; 4];
        // SAFETY: the caller vouches for `count` elements of `N` bytes.
        bytes[..N].copy_from_slice(unsafe { &*src.add(i * N).cast::<[u8; N]>() });
        *word = u32::from_le_bytes(bytes);
    }
    words
}

/// Writes the low `N` bytes of `count` words.
#[inline(always)]
unsafe fn store_narrow<const N: usize>(dst: *mut u8, count: usize, words: [u32; LANES]) {
    for (i, word) in words.iter().enumerate().take(count) {
        let bytes = word.to_le_bytes();
        // SAFETY: the caller vouches for `count` elements of `N` bytes.
        unsafe { dst.add(i * N).copy_from_nonoverlapping(bytes.as_ptr(), N) };
    }
}

impl Simd for Portable {
    const LANES: usize = LANES;
    type Words = [u32; LANES];

    #[inline(always)]
    unsafe fn zero() -> Self::Words {
        [0; LANES]
    }
    #[inline(always)]
    unsafe fn load(src: *const u8, bytes: usize) -> Self::Words {
        let mut words = [0; LANES];
        // SAFETY: `bytes` are readable and fit the array, by contract.
        unsafe { words.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(src, bytes) };
        words
    }
    #[inline(always)]
    unsafe fn store(dst: *mut u8, bytes: usize, v: Self::Words) {
        // SAFETY: `bytes` are writable and fit the array, by contract.
        unsafe { dst.copy_from_nonoverlapping(v.as_ptr().cast::<u8>(), bytes) };
    }
    #[inline(always)]
    unsafe fn load_f16(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: forwarded.
        unsafe { load_narrow::<2>(src, n) }.map(|h| float::f16_value(h as u16).to_bits())
    }
    #[inline(always)]
    unsafe fn load_u16(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: forwarded.
        unsafe { load_narrow::<2>(src, n) }
    }
    #[inline(always)]
    unsafe fn load_u8(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: forwarded.
        unsafe { load_narrow::<1>(src, n) }
    }
    #[inline(always)]
    unsafe fn load_i8(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: forwarded.
        unsafe { load_narrow::<1>(src, n) }.map(|x| i32::from(x as i8).cast_unsigned())
    }
    #[inline(always)]
    unsafe fn store_f16(dst: *mut u8, n: usize, v: Self::Words) {
        // SAFETY: forwarded.
        unsafe { store_narrow::<2>(dst, n, v.map(|x| float::f16_bits(f32::from_bits(x)).into())) }
    }
    #[inline(always)]
    unsafe fn store_u16(dst: *mut u8, n: usize, v: Self::Words) {
        // SAFETY: forwarded.
        unsafe { store_narrow::<2>(dst, n, v) }
    }
    #[inline(always)]
    unsafe fn store_u8(dst: *mut u8, n: usize, v: Self::Words) {
        // SAFETY: forwarded.
        unsafe { store_narrow::<1>(dst, n, v) }
    }
    #[inline(always)]
    unsafe fn round_f16(v: Self::Words) -> Self::Words {
        v.map(|x| float::round_f16(f32::from_bits(x)).to_bits())
    }
    #[inline(always)]
    unsafe fn shl<const N: u32>(v: Self::Words) -> Self::Words {
        v.map(|x| x << N)
    }
    #[inline(always)]
    unsafe fn shr<const N: u32>(v: Self::Words) -> Self::Words {
        v.map(|x| x >> N)
    }
    #[inline(always)]
    unsafe fn or(a: Self::Words, b: Self::Words) -> Self::Words {
        [a[0] | b[0], a[1] | b[1], a[2] | b[2], a[3] | b[3]]
    }
    #[inline(always)]
    unsafe fn add_f32(a: Self::Words, b: Self::Words) -> Self::Words {
        [0, 1, 2, 3].map(|i: usize| (f32::from_bits(a[i]) + f32::from_bits(b[i])).to_bits())
    }
    #[inline(always)]
    unsafe fn sub_f32(a: Self::Words, b: Self::Words) -> Self::Words {
        [0, 1, 2, 3].map(|i: usize| (f32::from_bits(a[i]) - f32::from_bits(b[i])).to_bits())
    }
    #[inline(always)]
    unsafe fn mul_f32(a: Self::Words, b: Self::Words) -> Self::Words {
        [0, 1, 2, 3].map(|i: usize| (f32::from_bits(a[i]) * f32::from_bits(b[i])).to_bits())
    }
    #[inline(always)]
    unsafe fn div_f32(a: Self::Words, b: Self::Words) -> Self::Words {
        [0, 1, 2, 3].map(|i: usize| (f32::from_bits(a[i]) / f32::from_bits(b[i])).to_bits())
    }
    #[inline(always)]
    unsafe fn map(v: Self::Words, f: impl Fn(u32) -> u32) -> Self::Words {
        v.map(f)
    }
    #[inline(always)]
    unsafe fn transpose(block: &mut [Self::Words; MAX_LANES]) {
        let mut rows = [[0; LANES]; LANES];
        for (x, row) in rows.iter_mut().enumerate() {
            *row = [block[0][x], block[1][x], block[2][x], block[3][x]];
        }
        block[..LANES].copy_from_slice(&rows);
    }
}

/// f32 words.
#[derive(Clone, Copy)]
pub(crate) struct F32;

impl Dot for F32 {
    const LANES: usize = LANES;
    const HALVES: bool = false;
    const SINGLE: bool = true;
    type Acc = [f32; LANES];
    type A = f32;
    type B = [f32; LANES];

    #[inline(always)]
    unsafe fn zero() -> Self::Acc {
        [0.0; LANES]
    }
    #[inline(always)]
    unsafe fn load_acc(lo: *const u8, _hi: *const u8) -> Self::Acc {
        // SAFETY: one vector is readable, by contract.
        unsafe { lo.cast::<Self::Acc>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store_acc(lo: *mut u8, _hi: *mut u8, v: Self::Acc) {
        // SAFETY: one vector is writable, by contract.
        unsafe { lo.cast::<Self::Acc>().write_unaligned(v) }
    }
    #[inline(always)]
    unsafe fn splat(a: *const u8) -> Self::A {
        // SAFETY: one word is readable, by contract.
        unsafe { a.cast::<f32>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn load_b(lo: *const u8, _hi: *const u8) -> Self::B {
        // SAFETY: one vector is readable, by contract.
        unsafe { lo.cast::<Self::B>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn dot(mut acc: Self::Acc, a: Self::A, b: Self::B) -> Self::Acc {
        // Not `mul_add`: without the instruction that is a call into libm.
        for (acc, b) in acc.iter_mut().zip(b) {
            *acc += a * b;
        }
        acc
    }
    #[inline(always)]
    unsafe fn round_f16(v: Self::Acc) -> Self::Acc {
        v.map(float::round_f16)
    }
    #[inline(always)]
    unsafe fn round_bf16(v: Self::Acc) -> Self::Acc {
        v.map(float::round_bf16)
    }
    #[inline(always)]
    unsafe fn add(a: Self::Acc, _b: Self::Acc) -> Self::Acc {
        a
    }
}

/// A [`Dot`] of plain numbers that are not rounded.
macro_rules! dot {
    ($(#[$doc:meta])* $name:ident, $word:ty, |$acc:ident, $a:ident, $b:ident| $dot:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name;

        impl Dot for $name {
            const LANES: usize = 4 * LANES / Self::WORD;
            const HALVES: bool = false;
            const WORD: usize = size_of::<$word>();
            const SINGLE: bool = false;
            type Acc = [$word; 4 * LANES / size_of::<$word>()];
            type A = $word;
            type B = Self::Acc;

            #[inline(always)]
            unsafe fn zero() -> Self::Acc {
                Self::Acc::default()
            }
            #[inline(always)]
            unsafe fn load_acc(lo: *const u8, _hi: *const u8) -> Self::Acc {
                // SAFETY: one vector is readable, by contract.
                unsafe { lo.cast::<Self::Acc>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store_acc(lo: *mut u8, _hi: *mut u8, v: Self::Acc) {
                // SAFETY: one vector is writable, by contract.
                unsafe { lo.cast::<Self::Acc>().write_unaligned(v) }
            }
            #[inline(always)]
            unsafe fn splat(a: *const u8) -> Self::A {
                // SAFETY: one word is readable, by contract.
                unsafe { a.cast::<Self::A>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn load_b(lo: *const u8, _hi: *const u8) -> Self::B {
                // SAFETY: one vector is readable, by contract.
                unsafe { lo.cast::<Self::B>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn dot(mut sums: Self::Acc, $a: Self::A, b: Self::B) -> Self::Acc {
                for (sum, $b) in sums.iter_mut().zip(b) {
                    let $acc = *sum;
                    *sum = $dot;
                }
                sums
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
            unsafe fn add(a: Self::Acc, _b: Self::Acc) -> Self::Acc {
                a
            }
        }
    };
}

dot!(
    /// i32 words.
    I32, i32, |acc, a, b| acc.wrapping_add(a.wrapping_mul(b))
);
dot!(
    /// i64 words.
    I64, i64, |acc, a, b| acc.wrapping_add(a.wrapping_mul(b))
);
dot!(
    /// f64 words.
    F64, f64, |acc, a, b| acc + a * b
);

/// Pairs of i16.
#[derive(Clone, Copy)]
pub(crate) struct I16;

impl Dot for I16 {
    const LANES: usize = LANES;
    const HALVES: bool = false;
    const SINGLE: bool = false;
    type Acc = [i32; LANES];
    type A = [i16; 2];
    type B = [[i16; 2]; LANES];

    #[inline(always)]
    unsafe fn zero() -> Self::Acc {
        [0; LANES]
    }
    #[inline(always)]
    unsafe fn load_acc(lo: *const u8, _hi: *const u8) -> Self::Acc {
        // SAFETY: one vector is readable, by contract.
        unsafe { lo.cast::<Self::Acc>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store_acc(lo: *mut u8, _hi: *mut u8, v: Self::Acc) {
        // SAFETY: one vector is writable, by contract.
        unsafe { lo.cast::<Self::Acc>().write_unaligned(v) }
    }
    #[inline(always)]
    unsafe fn splat(a: *const u8) -> Self::A {
        // SAFETY: one word is readable, by contract.
        unsafe { a.cast::<Self::A>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn load_b(lo: *const u8, _hi: *const u8) -> Self::B {
        // SAFETY: one vector is readable, by contract.
        unsafe { lo.cast::<Self::B>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn dot(mut acc: Self::Acc, a: Self::A, b: Self::B) -> Self::Acc {
        for (acc, b) in acc.iter_mut().zip(b) {
            let products = [0, 1].map(|i| i32::from(a[i]) * i32::from(b[i]));
            *acc = acc.wrapping_add(products[0]).wrapping_add(products[1]);
        }
        acc
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
        [0, 1, 2, 3].map(|i: usize| a[i].wrapping_add(b[i]))
    }
}

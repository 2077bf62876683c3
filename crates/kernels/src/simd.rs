//! What an instruction set must offer for the algorithms of this crate to run on it.
//!
//! Every function is `inline(always)` and carries no target feature itself: it is compiled inside a kernel
//! that does (see `instantiate.rs`). Vectors are seen as 32-bit words throughout, because 8- and 16-bit
//! elements are always handled as whole words: pairs and quads along the inner dimension.

use crate::float;

/// The most words that a vector of any instruction set has.
pub(crate) const MAX_LANES: usize = 16;

/// Moving, widening, narrowing and transposing words.
///
/// # Safety
/// Common to all functions: the processor has the instructions; a source is readable and a destination
/// writable for the bytes named at each function; counts are at most what one vector holds. No alignment is
/// asked for.
pub(crate) trait Simd: Copy {
    /// Words in a vector, at most [`MAX_LANES`].
    const LANES: usize;
    /// A vector of words.
    type Words: Copy;

    /// Zero words.
    unsafe fn zero() -> Self::Words;
    /// Reads `bytes` bytes, at most a vector; the others are zero.
    unsafe fn load(src: *const u8, bytes: usize) -> Self::Words;
    /// Writes the first `bytes` bytes.
    unsafe fn store(dst: *mut u8, bytes: usize, v: Self::Words);
    /// Reads `n` f16 and widens them to f32.
    unsafe fn load_f16(src: *const u8, n: usize) -> Self::Words;
    /// Reads `n` 16-bit elements and widens them with zeros.
    unsafe fn load_u16(src: *const u8, n: usize) -> Self::Words;
    /// Reads `n` bytes and widens them with zeros.
    unsafe fn load_u8(src: *const u8, n: usize) -> Self::Words;
    /// Narrows representable f32 to f16 and writes `n` of them.
    unsafe fn store_f16(dst: *mut u8, n: usize, v: Self::Words);
    /// Writes the low halves of `n` words.
    unsafe fn store_u16(dst: *mut u8, n: usize, v: Self::Words);
    /// Writes the low bytes of `n` words.
    unsafe fn store_u8(dst: *mut u8, n: usize, v: Self::Words);
    /// Rounds f32 to f16, still as f32.
    unsafe fn round_f16(v: Self::Words) -> Self::Words;
    /// Shifts every word left.
    unsafe fn shl<const N: u32>(v: Self::Words) -> Self::Words;
    /// Shifts zeros into every word from the left.
    unsafe fn shr<const N: u32>(v: Self::Words) -> Self::Words;
    /// Bitwise or.
    unsafe fn or(a: Self::Words, b: Self::Words) -> Self::Words;
    /// Applies a function on f32 bits to every word; compiles to vector code when `f` has no branches.
    unsafe fn map(v: Self::Words, f: impl Fn(u32) -> u32) -> Self::Words;
    /// Transposes the square of the first [`Self::LANES`] vectors.
    unsafe fn transpose(block: &mut [Self::Words; MAX_LANES]);
}

/// One step of a multiplication: 32-bit words of A broadcast, times a vector of words of B, added to a vector of
/// 32-bit accumulators. A word is one f32, a pair of 16-bit elements or a quad of bytes.
///
/// # Safety
/// Common to all functions: the processor has the instructions; pointers are valid for the access.
pub(crate) trait Dot: Copy {
    /// Accumulators in a vector.
    const LANES: usize;
    /// Whether a vector is made of two half vectors at different addresses, from two tiles.
    const HALVES: bool;
    /// Whether accumulators are i32, otherwise f32.
    const INTEGER: bool;
    /// A vector of accumulators.
    type Acc: Copy;
    /// A broadcast word.
    type A: Copy;
    /// A vector of words.
    type B: Copy;

    /// Zero accumulators.
    unsafe fn zero() -> Self::Acc;
    /// Reads accumulators; `hi` is the address of the second half and used only with [`Self::HALVES`].
    unsafe fn load_acc(lo: *const u8, hi: *const u8) -> Self::Acc;
    /// Writes accumulators.
    unsafe fn store_acc(lo: *mut u8, hi: *mut u8, v: Self::Acc);
    /// Broadcasts a word.
    unsafe fn splat(a: *const u8) -> Self::A;
    /// Reads a vector of words.
    unsafe fn load_b(lo: *const u8, hi: *const u8) -> Self::B;
    /// `acc + a * b`.
    unsafe fn dot(acc: Self::Acc, a: Self::A, b: Self::B) -> Self::Acc;
    /// Rounds f32 accumulators to f16; not called with [`Self::INTEGER`].
    unsafe fn round_f16(v: Self::Acc) -> Self::Acc;
    /// Adds wrapping; called only with [`Self::INTEGER`].
    unsafe fn add(a: Self::Acc, b: Self::Acc) -> Self::Acc;
}

/// A load that widens one element to one f32 word, and the store that narrows it again.
pub(crate) trait Widen: Copy {
    /// Bytes of one element in user memory.
    const BYTES: usize;
    /// Reads and widens `n` elements.
    ///
    /// # Safety
    /// As for [`Simd`]; `n` elements are readable.
    unsafe fn load<S: Simd>(src: *const u8, n: usize) -> S::Words;
    /// Narrows and writes `n` representable elements.
    ///
    /// # Safety
    /// As for [`Simd`]; `n` elements are writable.
    unsafe fn store<S: Simd>(dst: *mut u8, n: usize, v: S::Words);
}

/// 32-bit elements, kept as they are.
#[derive(Clone, Copy)]
pub(crate) struct Word;
/// f16 elements.
#[derive(Clone, Copy)]
pub(crate) struct F16;
/// bf16 elements.
#[derive(Clone, Copy)]
pub(crate) struct Bf16;
/// e4m3 elements.
#[derive(Clone, Copy)]
pub(crate) struct E4m3;
/// e5m2 elements.
#[derive(Clone, Copy)]
pub(crate) struct E5m2;

impl Widen for Word {
    const BYTES: usize = 4;
    #[inline(always)]
    unsafe fn load<S: Simd>(src: *const u8, n: usize) -> S::Words {
        // SAFETY: forwarded.
        unsafe { S::load(src, n * 4) }
    }
    #[inline(always)]
    unsafe fn store<S: Simd>(dst: *mut u8, n: usize, v: S::Words) {
        // SAFETY: forwarded.
        unsafe { S::store(dst, n * 4, v) }
    }
}

impl Widen for F16 {
    const BYTES: usize = 2;
    #[inline(always)]
    unsafe fn load<S: Simd>(src: *const u8, n: usize) -> S::Words {
        // SAFETY: forwarded.
        unsafe { S::load_f16(src, n) }
    }
    #[inline(always)]
    unsafe fn store<S: Simd>(dst: *mut u8, n: usize, v: S::Words) {
        // SAFETY: forwarded.
        unsafe { S::store_f16(dst, n, v) }
    }
}

impl Widen for Bf16 {
    const BYTES: usize = 2;
    #[inline(always)]
    unsafe fn load<S: Simd>(src: *const u8, n: usize) -> S::Words {
        // SAFETY: forwarded.
        unsafe { S::shl::<16>(S::load_u16(src, n)) }
    }
    #[inline(always)]
    unsafe fn store<S: Simd>(dst: *mut u8, n: usize, v: S::Words) {
        // SAFETY: forwarded.
        unsafe { S::store_u16(dst, n, S::shr::<16>(v)) }
    }
}

impl Widen for E4m3 {
    const BYTES: usize = 1;
    #[inline(always)]
    unsafe fn load<S: Simd>(src: *const u8, n: usize) -> S::Words {
        // SAFETY: forwarded.
        unsafe { S::map(S::load_u8(src, n), |x| float::e4m3_value(x as u8).to_bits()) }
    }
    #[inline(always)]
    unsafe fn store<S: Simd>(dst: *mut u8, n: usize, v: S::Words) {
        // SAFETY: forwarded.
        unsafe { S::store_u8(dst, n, S::map(v, |x| u32::from(float::e4m3_bits(f32::from_bits(x))))) }
    }
}

impl Widen for E5m2 {
    const BYTES: usize = 1;
    #[inline(always)]
    unsafe fn load<S: Simd>(src: *const u8, n: usize) -> S::Words {
        // SAFETY: forwarded.
        unsafe { S::map(S::load_u8(src, n), |x| float::e5m2_value(x as u8).to_bits()) }
    }
    #[inline(always)]
    unsafe fn store<S: Simd>(dst: *mut u8, n: usize, v: S::Words) {
        // SAFETY: forwarded.
        unsafe { S::store_u8(dst, n, S::map(v, |x| u32::from(float::e5m2_bits(f32::from_bits(x))))) }
    }
}

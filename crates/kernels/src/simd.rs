//! What an instruction set must offer for the algorithms of this crate to run on it.
//!
//! Every function is `inline(always)` and carries no target feature itself: it is compiled inside a kernel
//! that does (see `instantiate.rs`). Vectors are seen as 32-bit words throughout, because 8- and 16-bit
//! elements are always handled as whole words: pairs and quads along the inner dimension.

use crate::elem::Elem;
use crate::float;
use std::marker::PhantomData;

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
    /// Reads `n` bytes and widens them with their sign; what fills up the vector is zero.
    unsafe fn load_i8(src: *const u8, n: usize) -> Self::Words;
    /// Reads `n` e4m3 and widens them to f32.
    #[inline(always)]
    unsafe fn load_e4m3(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: forwarded.
        unsafe { Self::map(Self::load_u8(src, n), |x| float::e4m3_value(x as u8).to_bits()) }
    }
    /// Reads `n` e5m2 and widens them to f32.
    #[inline(always)]
    unsafe fn load_e5m2(src: *const u8, n: usize) -> Self::Words {
        // SAFETY: forwarded.
        unsafe { Self::map(Self::load_u8(src, n), |x| float::e5m2_value(x as u8).to_bits()) }
    }
    /// Narrows representable f32 to f16 and writes `n` of them.
    unsafe fn store_f16(dst: *mut u8, n: usize, v: Self::Words);
    /// Rounds f32 to f16 and writes all of them.
    #[inline(always)]
    unsafe fn narrow_f16(dst: *mut u8, v: Self::Words) {
        // SAFETY: forwarded.
        unsafe { Self::store_f16(dst, Self::LANES, Self::round_f16(v)) }
    }
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
    /// Sum of f32.
    unsafe fn add_f32(a: Self::Words, b: Self::Words) -> Self::Words;
    /// Difference of f32.
    unsafe fn sub_f32(a: Self::Words, b: Self::Words) -> Self::Words;
    /// Product of f32.
    unsafe fn mul_f32(a: Self::Words, b: Self::Words) -> Self::Words;
    /// Quotient of f32.
    unsafe fn div_f32(a: Self::Words, b: Self::Words) -> Self::Words;
    /// Applies a function on f32 bits to every word; compiles to vector code when `f` has no branches.
    unsafe fn map(v: Self::Words, f: impl Fn(u32) -> u32) -> Self::Words;
    /// Words of two vectors, by their numbers in both: those of `high` follow those of `low`. Higher bits of a number than
    /// it takes have no meaning.
    #[inline(always)]
    unsafe fn pick(low: Self::Words, high: Self::Words, numbers: Self::Words) -> Self::Words {
        let mut words = [0_u32; 2 * MAX_LANES];
        let mut picked = [0_u32; MAX_LANES];
        // SAFETY: both hold what is written.
        unsafe {
            Self::store(words.as_mut_ptr().cast(), Self::LANES * 4, low);
            Self::store(words.as_mut_ptr().add(Self::LANES).cast(), Self::LANES * 4, high);
            Self::store(picked.as_mut_ptr().cast(), Self::LANES * 4, numbers);
            for word in &mut picked {
                *word = words[*word as usize % (2 * Self::LANES)];
            }
            Self::load(picked.as_ptr().cast(), Self::LANES * 4)
        }
    }
    /// Whether [`Self::exchange`] is there.
    const EXCHANGES: bool = false;
    /// Puts 16 bytes, at an address that is a multiple of 16, in the place of others, atomically and relaxed; gives what
    /// was there.
    #[inline(always)]
    unsafe fn exchange(_at: *mut u128, old: u128, _new: u128) -> u128 {
        old
    }
    /// Transposes the square of the first [`Self::LANES`] vectors.
    unsafe fn transpose(block: &mut [Self::Words; MAX_LANES]);
    /// Reads a square of f16, line by line, widens it to f32 and transposes it.
    #[inline(always)]
    unsafe fn load_f16_transposed(lines: [*const u8; MAX_LANES]) -> [Self::Words; MAX_LANES] {
        // SAFETY: forwarded.
        unsafe {
            let mut block = [Self::zero(); MAX_LANES];
            for (words, line) in block.iter_mut().zip(lines).take(Self::LANES) {
                *words = Self::load_f16(line, Self::LANES);
            }
            Self::transpose(&mut block);
            block
        }
    }
    /// Whether there is [`Self::load_f16_columns`].
    const HAS_F16_COLUMNS: bool = false;
    /// Reads twice as many f16 of each line as there are lanes, each line at once, and gives them column by column,
    /// widened, with their numbers.
    ///
    /// # Safety
    /// As for [`Simd`]; so many elements of each line are readable.
    #[inline(always)]
    unsafe fn load_f16_columns(_lines: [*const u8; MAX_LANES], _give: impl FnMut(usize, Self::Words)) {}
}

/// One step of a multiplication: words of A broadcast, times a vector of words of B, added to a vector of accumulators
/// of the same size. A word of 32 bits is one f32, a pair of 16-bit elements or a quad of bytes, one of 64 bits an f64
/// or an integer.
///
/// # Safety
/// Common to all functions: the processor has the instructions; pointers are valid for the access.
pub(crate) trait Dot: Copy {
    /// Accumulators in a vector.
    const LANES: usize;
    /// Whether a vector is made of two half vectors at different addresses, from two tiles.
    const HALVES: bool;
    /// Bytes of a word, and of an accumulator.
    const WORD: usize = 4;
    /// Whether accumulators are f32, which may be rounded to narrower floats; otherwise they are integers or f64.
    const SINGLE: bool;
    /// Whether bytes of both factors have a sign, or neither have; otherwise one of them has.
    const ALIKE: bool = false;
    /// Whether instructions are what a product waits for, as they compute little each: its loop then does two words at a
    /// time, with few additions of addresses.
    const SPARES_INSTRUCTIONS: bool = false;
    /// An address, of which the compiler does not see how it came about: it would make one chain of additions of all
    /// addresses in a loop.
    #[inline(always)]
    fn hidden(address: *const u8) -> *const u8 {
        address
    }
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
    /// `acc + a * b`, of the vector b behind the one that is `at` bytes, or none if not `FURTHER`, from a place: an operand in
    /// memory where the instruction has one.
    #[inline(always)]
    unsafe fn dot_behind<const FURTHER: bool>(
        acc: Self::Acc,
        a: Self::A,
        place: *const u8,
        at: usize,
    ) -> Self::Acc {
        let place = place.wrapping_add(at + Self::LANES * Self::WORD);
        // SAFETY: forwarded.
        unsafe { Self::dot(acc, a, Self::load_b(place, place)) }
    }
    /// Rounds accumulators to f16; called only with [`Self::SINGLE`].
    unsafe fn round_f16(v: Self::Acc) -> Self::Acc;
    /// Rounds accumulators to bf16; called only with [`Self::SINGLE`].
    unsafe fn round_bf16(v: Self::Acc) -> Self::Acc;
    /// Adds wrapping; called only of products of bytes and pairs of i16.
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
    /// Reads and widens a square, and transposes it.
    ///
    /// # Safety
    /// As for [`Simd`]; of each of the first [`Simd::LANES`] lines as many elements are readable.
    #[inline(always)]
    unsafe fn load_transposed<S: Simd>(lines: [*const u8; MAX_LANES]) -> [S::Words; MAX_LANES] {
        // SAFETY: forwarded.
        unsafe {
            let mut block = [S::zero(); MAX_LANES];
            for (words, line) in block.iter_mut().zip(lines).take(S::LANES) {
                *words = Self::load::<S>(line, S::LANES);
            }
            S::transpose(&mut block);
            block
        }
    }
    /// Whether there is [`Self::load_columns`].
    #[inline(always)]
    fn has_columns<S: Simd>() -> bool {
        false
    }
    /// Reads twice as many elements of each line as there are lanes, each line at once, and gives them column by column,
    /// widened, with their numbers.
    ///
    /// # Safety
    /// As for [`Simd`]; so many elements of each line are readable.
    #[inline(always)]
    unsafe fn load_columns<S: Simd>(_lines: [*const u8; MAX_LANES], _give: impl FnMut(usize, S::Words)) {}
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
    #[inline(always)]
    unsafe fn load_transposed<S: Simd>(lines: [*const u8; MAX_LANES]) -> [S::Words; MAX_LANES] {
        // SAFETY: forwarded.
        unsafe { S::load_f16_transposed(lines) }
    }
    #[inline(always)]
    fn has_columns<S: Simd>() -> bool {
        S::HAS_F16_COLUMNS
    }
    #[inline(always)]
    unsafe fn load_columns<S: Simd>(lines: [*const u8; MAX_LANES], give: impl FnMut(usize, S::Words)) {
        // SAFETY: forwarded.
        unsafe { S::load_f16_columns(lines, give) }
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
        unsafe { S::load_e4m3(src, n) }
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
        unsafe { S::load_e5m2(src, n) }
    }
    #[inline(always)]
    unsafe fn store<S: Simd>(dst: *mut u8, n: usize, v: S::Words) {
        // SAFETY: forwarded.
        unsafe { S::store_u8(dst, n, S::map(v, |x| u32::from(float::e5m2_bits(f32::from_bits(x))))) }
    }
}

/// A rounding of f32 words to the values of an element type.
pub(crate) trait Round: Copy {
    /// Rounds every word.
    ///
    /// # Safety
    /// As for [`Simd`].
    unsafe fn round<S: Simd>(v: S::Words) -> S::Words;
}

/// Keeps f32 as it is.
#[derive(Clone, Copy)]
pub(crate) struct Exact;

impl Round for Exact {
    #[inline(always)]
    unsafe fn round<S: Simd>(v: S::Words) -> S::Words {
        v
    }
}

impl Round for F16 {
    #[inline(always)]
    unsafe fn round<S: Simd>(v: S::Words) -> S::Words {
        // SAFETY: forwarded.
        unsafe { S::round_f16(v) }
    }
}

/// Saturating rounding to an 8-bit float.
#[derive(Clone, Copy)]
pub(crate) struct Saturating<T>(PhantomData<T>);

macro_rules! round_by_map {
    ($($ty:ty: $f:path;)*) => {$(
        impl Round for $ty {
            #[inline(always)]
            unsafe fn round<S: Simd>(v: S::Words) -> S::Words {
                // SAFETY: forwarded.
                unsafe { S::map(v, |x| $f(f32::from_bits(x)).to_bits()) }
            }
        }
    )*};
}
round_by_map! {
    Bf16: float::round_bf16;
    E4m3: float::round_e4m3;
    E5m2: float::round_e5m2;
    Saturating<E4m3>: float::round_e4m3_sat;
    Saturating<E5m2>: float::round_e5m2_sat;
}

/// Something to be done with a rounding that is chosen at run time.
pub(crate) trait WithRound {
    /// Does it, compiled for the rounding.
    ///
    /// # Safety
    /// As the implementation says.
    unsafe fn run<R: Round>(self);
}

/// Chooses the rounding of an element type; `saturate_fp8` concerns the 8-bit floats only.
///
/// # Safety
/// As for `what`.
#[inline(always)]
pub(crate) unsafe fn with_round(elem: Elem, saturate_fp8: bool, what: impl WithRound) {
    // SAFETY: forwarded.
    unsafe {
        match (elem, saturate_fp8) {
            (Elem::F16, _) => what.run::<F16>(),
            (Elem::BF16, _) => what.run::<Bf16>(),
            (Elem::E4M3, false) => what.run::<E4m3>(),
            (Elem::E4M3, true) => what.run::<Saturating<E4m3>>(),
            (Elem::E5M2, false) => what.run::<E5m2>(),
            (Elem::E5M2, true) => what.run::<Saturating<E5m2>>(),
            (Elem::F32 | Elem::F64 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64, _) => what.run::<Exact>(),
        }
    }
}

/// Rounds `bytes` bytes of f32 words, a multiple of 64, from one place to another or in place.
#[derive(Clone, Copy)]
pub(crate) struct RoundWords<S> {
    /// To here.
    pub(crate) dst: *mut u8,
    /// From here.
    pub(crate) src: *const u8,
    /// So many.
    pub(crate) bytes: usize,
    /// By these instructions.
    pub(crate) simd: PhantomData<S>,
}

impl<S: Simd> WithRound for RoundWords<S> {
    #[inline(always)]
    unsafe fn run<R: Round>(self) {
        let step = S::LANES * 4;
        let mut at = 0;
        while at < self.bytes {
            // SAFETY: vectors divide 64 bytes.
            unsafe { S::store(self.dst.add(at), step, R::round::<S>(S::load(self.src.add(at), step))) };
            at += step;
        }
    }
}

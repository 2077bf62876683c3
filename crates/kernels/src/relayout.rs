//! Moving a matrix in memory to another order, padding and element type: what turns the weights of a network as a
//! program has them into those that it multiplies by.
//!
//! A matrix is a number of *lines*, its rows or its columns, each of consecutive elements. The lines of the
//! destination come from lines of the source, or *across* them. Elements go through words: a block of lines is
//! widened into a buffer on the stack, transposed there if it comes across, rounded and narrowed from there. Lines
//! that stay as they are get copied. Both buffers fit the first cache together. Formats of 8 bits are converted there, in
//! loops over words: of a single vector the compiler makes scalar code.

use crate::elem::Elem;
use crate::float;
use crate::isa::{Isa, Level};
use crate::portable::Portable;
use crate::simd::{Bf16, Exact, F16, MAX_LANES, Round, Simd, Widen, Word};
use std::ops::Range;

/// Elements of a line that are in the buffer at once, where lines stay lines.
const CHUNK: usize = 1024;
/// Lines of the destination that are in the buffers at once, where they come across: so many elements of a line of the
/// source. Each of those is in a page of its own; with 64, matrices of 4096 rows took a third longer.
const BLOCK_LINES: usize = 128;
/// And so many elements of each, so many lines of the source.
const BLOCK_LENGTH: usize = 32;

/// A matrix that is moved. Sizes are in elements, strides in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relayout {
    lines: usize,
    length: usize,
    from: Elem,
    to: Elem,
    round: Option<Elem>,
    across: bool,
    strides: [usize; 2],
    padded: bool,
}

/// What a [`Relayout`] is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelayoutParams {
    /// Lines of the destination.
    pub lines: usize,
    /// Elements of each.
    pub length: usize,
    /// What an element of the source is.
    pub from: Elem,
    /// What an element of the destination is.
    pub to: Elem,
    /// The type of float whose values f32 of the destination become, or f16 if it has 8 bits; to what the destination is they
    /// are always rounded.
    pub round: Option<Elem>,
    /// Whether the lines of the source are the columns of the destination's.
    pub across: bool,
    /// Bytes from a line of the source to the next.
    pub src_stride: usize,
    /// Bytes from a line of the destination to the next: at least a line, if there are several.
    pub dst_stride: usize,
    /// Whether what is between the lines of the destination, and behind the last, becomes zero.
    pub padded: bool,
}

impl Relayout {
    /// Checks that the elements can be converted: both are floats, or they are the same; `None` otherwise, where they
    /// have more than 32 bits, or where lines overlap or end beyond what can be addressed.
    #[must_use]
    pub fn new(params: RelayoutParams) -> Option<Self> {
        let RelayoutParams { lines, length, from, to, round, across, src_stride, dst_stride, padded } =
            params;
        let small = |elem: Elem| elem.bytes() <= 4;
        let has_values_of = |elem: Elem| match to {
            Elem::F32 => elem.is_float(),
            Elem::F16 => matches!(elem, Elem::E4M3 | Elem::E5M2),
            _ => false,
        };
        let rounds = round.is_none_or(has_values_of);
        let floats = from.is_float() && to.is_float() && rounds;
        if !small(from) || !small(to) || !floats && (from != to || round.is_some()) {
            return None;
        }
        if lines > 1 && length.checked_mul(to.bytes())? > dst_stride {
            return None;
        }
        let strides = [src_stride, dst_stride];
        let relayout = Self { lines, length, from, to, round, across, strides, padded };
        let ends = [relayout.source_end()?, relayout.destination_end()?];
        ends.into_iter().all(|end| isize::try_from(end).is_ok()).then_some(relayout)
    }

    /// Lines of the destination.
    #[must_use]
    pub const fn lines(&self) -> usize {
        self.lines
    }

    /// Bytes of the source, up to the end of the last element.
    #[must_use]
    pub fn source_bytes(&self) -> usize {
        self.source_end().unwrap_or(usize::MAX)
    }

    /// Bytes of the destination, up to the end of the last element, or of the last line with its padding.
    #[must_use]
    pub fn destination_bytes(&self) -> usize {
        self.destination_end().unwrap_or(usize::MAX)
    }

    fn source_end(&self) -> Option<usize> {
        let (lines, length) = if self.across { (self.length, self.lines) } else { (self.lines, self.length) };
        end(lines, length, self.from.bytes(), self.strides[0])
    }

    fn destination_end(&self) -> Option<usize> {
        if self.padded {
            return self.lines.checked_mul(self.strides[1]);
        }
        end(self.lines, self.length, self.to.bytes(), self.strides[1])
    }

    /// Whether elements are moved as they are.
    fn keeps_bits(&self) -> bool {
        self.from == self.to && self.round.is_none()
    }

    /// Moves the matrix. `false` if a slice is too short, and then nothing is written.
    #[must_use]
    pub fn run(&self, isa: Isa, src: &[u8], dst: &mut [u8]) -> bool {
        let fits = src.len() >= self.source_bytes() && dst.len() >= self.destination_bytes();
        if fits {
            // SAFETY: the slices are as long as the matrix takes, and do not overlap.
            unsafe { self.run_lines(isa, src.as_ptr(), dst.as_mut_ptr(), 0..self.lines) };
        }
        fits
    }

    /// Moves some lines of the destination.
    ///
    /// # Safety
    ///
    /// [`Self::source_bytes`] can be read from `src`, and [`Self::destination_bytes`] written from `dst`. Where they
    /// overlap, what is written is not specified.
    pub unsafe fn run_lines(&self, isa: Isa, src: *const u8, dst: *mut u8, lines: Range<usize>) {
        let lines = lines.start..lines.end.min(self.lines);
        let run: unsafe fn(&Self, *const u8, *mut u8, Range<usize>) = match isa.level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => avx512,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => avx2,
            #[cfg(target_arch = "aarch64")]
            Level::Neon => neon,
            _ => portable,
        };
        // SAFETY: an `Isa` exists only where its instructions do; the rest is this function's contract.
        unsafe { run(self, src, dst, lines) };
    }
}

/// The end of the last element of so many lines.
fn end(lines: usize, length: usize, bytes: usize, stride: usize) -> Option<usize> {
    if lines == 0 || length == 0 {
        return Some(0);
    }
    stride.checked_mul(lines - 1)?.checked_add(length.checked_mul(bytes)?)
}

macro_rules! compiled {
    ($($name:ident: $simd:ty, $(#[$attr:meta])*;)*) => {$(
        $(#[$attr])*
        unsafe fn $name(what: &Relayout, src: *const u8, dst: *mut u8, lines: Range<usize>) {
            // SAFETY: forwarded.
            unsafe { run::<$simd>(what, src, dst, lines) }
        }
    )*};
}
compiled! { portable: Portable,; }
#[cfg(target_arch = "x86_64")]
compiled! {
    avx2: crate::arch::x86_64::avx2::Avx2, #[target_feature(enable = "avx2,fma,f16c")];
    avx512: crate::arch::x86_64::avx512::Avx512,
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")];
}
#[cfg(target_arch = "aarch64")]
compiled! { neon: crate::arch::aarch64::neon::Neon, #[target_feature(enable = "neon")]; }

/// # Safety
/// As for [`Relayout::run_lines`]; the processor has the instructions.
#[inline(always)]
unsafe fn run<S: Simd>(what: &Relayout, src: *const u8, dst: *mut u8, lines: Range<usize>) {
    // SAFETY: forwarded.
    unsafe {
        if what.across {
            across::<S>(what, src, dst, lines.clone());
        } else if what.keeps_bits() {
            for line in lines.clone() {
                // They overlap where a program says so of memory that is not Rust's.
                let (from, to) = (src.add(line * what.strides[0]), dst.add(line * what.strides[1]));
                std::ptr::copy(from, to, what.length * what.to.bytes());
            }
        } else {
            along::<S>(what, src, dst, lines.clone());
        }
        if what.padded {
            let used = what.length * what.to.bytes();
            for line in lines {
                dst.add(line * what.strides[1] + used).write_bytes(0, what.strides[1] - used);
            }
        }
    }
}

/// Lines from lines.
#[inline(always)]
unsafe fn along<S: Simd>(what: &Relayout, src: *const u8, dst: *mut u8, lines: Range<usize>) {
    let mut words = [0_u32; CHUNK];
    for line in lines {
        for at in (0..what.length).step_by(CHUNK) {
            let length = (what.length - at).min(CHUNK);
            let vectors = length.next_multiple_of(S::LANES);
            // SAFETY: the elements are in the line, and fit the buffer.
            unsafe {
                let from = src.add(line * what.strides[0] + at * what.from.bytes());
                widen::<S>(what, from, [1, length], &mut words[..vectors]);
                let to = dst.add(line * what.strides[1] + at * what.to.bytes());
                narrow::<S>(what, to, [1, length], &mut words[..vectors]);
            }
        }
    }
}

/// Lines from columns. A group of lines is written from its begin to its end, so that what has been written of a line
/// of the cache is still there when the rest comes.
#[inline(always)]
unsafe fn across<S: Simd>(what: &Relayout, src: *const u8, dst: *mut u8, lines: Range<usize>) {
    let mut read = [0_u32; BLOCK_LINES * BLOCK_LENGTH];
    let mut turned = [0_u32; BLOCK_LINES * BLOCK_LENGTH];
    for line in lines.clone().step_by(BLOCK_LINES) {
        let count = (lines.end - line).min(BLOCK_LINES);
        for at in (0..what.length).step_by(BLOCK_LENGTH) {
            let length = (what.length - at).min(BLOCK_LENGTH);
            // SAFETY: `length` lines of the source from `at` on have `count` elements from `line` on, and the
            // destination has them the other way; the buffers hold more.
            unsafe {
                let from = src.add(at * what.strides[0] + line * what.from.bytes());
                widen::<S>(what, from, [length, count], &mut read);
                transpose::<S>(&read, &mut turned, [length, count]);
                let to = dst.add(line * what.strides[1] + at * what.to.bytes());
                narrow::<S>(what, to, [count, length], &mut turned);
            }
        }
    }
}

/// Transposes `size[0]` lines of at most `BLOCK_LINES` words into lines of `BLOCK_LENGTH`, in whole squares.
#[inline(always)]
unsafe fn transpose<S: Simd>(
    from: &[u32; BLOCK_LINES * BLOCK_LENGTH],
    to: &mut [u32; BLOCK_LINES * BLOCK_LENGTH],
    size: [usize; 2],
) {
    for y in (0..size[0]).step_by(S::LANES) {
        for x in (0..size[1]).step_by(S::LANES) {
            // SAFETY: the lanes divide both sizes of the buffers, so that whole squares are inside.
            unsafe {
                let mut block = [S::zero(); MAX_LANES];
                for (i, words) in block.iter_mut().enumerate().take(S::LANES) {
                    *words = S::load(from.as_ptr().add((y + i) * BLOCK_LINES + x).cast(), S::LANES * 4);
                }
                S::transpose(&mut block);
                for (i, &words) in block.iter().enumerate().take(S::LANES) {
                    S::store(to.as_mut_ptr().add((x + i) * BLOCK_LENGTH + y).cast(), S::LANES * 4, words);
                }
            }
        }
    }
}

/// Elements of 8 bits, taken as they are.
#[derive(Clone, Copy)]
struct Byte;
/// Elements of 16 bits, taken as they are.
#[derive(Clone, Copy)]
struct Half;

impl Widen for Byte {
    const BYTES: usize = 1;
    #[inline(always)]
    unsafe fn load<S: Simd>(src: *const u8, n: usize) -> S::Words {
        // SAFETY: forwarded.
        unsafe { S::load_u8(src, n) }
    }
    #[inline(always)]
    unsafe fn store<S: Simd>(dst: *mut u8, n: usize, v: S::Words) {
        // SAFETY: forwarded.
        unsafe { S::store_u8(dst, n, v) }
    }
}

impl Widen for Half {
    const BYTES: usize = 2;
    #[inline(always)]
    unsafe fn load<S: Simd>(src: *const u8, n: usize) -> S::Words {
        // SAFETY: forwarded.
        unsafe { S::load_u16(src, n) }
    }
    #[inline(always)]
    unsafe fn store<S: Simd>(dst: *mut u8, n: usize, v: S::Words) {
        // SAFETY: forwarded.
        unsafe { S::store_u16(dst, n, v) }
    }
}

/// Reads `size[0]` lines of `size[1]` elements into lines of a buffer.
#[inline(always)]
unsafe fn widen<S: Simd>(what: &Relayout, src: *const u8, size: [usize; 2], words: &mut [u32]) {
    let stride = what.strides[0];
    // SAFETY: forwarded.
    unsafe {
        match (what.from, what.from.bytes()) {
            (Elem::F16, _) if !what.keeps_bits() => read::<S, F16>(src, stride, size, words),
            (Elem::BF16, _) if !what.keeps_bits() => read::<S, Bf16>(src, stride, size, words),
            (_, 1) => read::<S, Byte>(src, stride, size, words),
            (_, 2) => read::<S, Half>(src, stride, size, words),
            _ => read::<S, Word>(src, stride, size, words),
        }
    }
    if !what.keeps_bits() {
        match what.from {
            Elem::E4M3 => map(words, float::e4m3_value_word),
            Elem::E5M2 => map(words, float::e5m2_value_word),
            _ => {}
        }
    }
}

/// Writes lines of a buffer to those of the destination, rounded.
#[inline(always)]
unsafe fn narrow<S: Simd>(what: &Relayout, dst: *mut u8, size: [usize; 2], words: &mut [u32]) {
    let value = f32::from_bits;
    match (what.round, what.to) {
        _ if what.keeps_bits() => {}
        (Some(Elem::BF16), _) => map(words, |x| float::round_bf16(value(x)).to_bits()),
        (Some(Elem::E4M3), _) => map(words, |x| float::round_e4m3(value(x)).to_bits()),
        (Some(Elem::E5M2), _) => map(words, |x| float::round_e5m2(value(x)).to_bits()),
        (_, Elem::BF16) => map(words, |x| float::bf16_bits(float::round_bf16(value(x))).into()),
        (_, Elem::E4M3) => map(words, float::e4m3_word),
        (_, Elem::E5M2) => map(words, float::e5m2_word),
        _ => {}
    }
    let stride = what.strides[1];
    // SAFETY: forwarded.
    unsafe {
        match (what.to, what.to.bytes(), what.round) {
            (Elem::F16, ..) if !what.keeps_bits() => write::<S, F16, F16>(dst, stride, size, words),
            (_, _, Some(Elem::F16)) => write::<S, Word, F16>(dst, stride, size, words),
            (_, 1, _) => write::<S, Byte, Exact>(dst, stride, size, words),
            (_, 2, _) => write::<S, Half, Exact>(dst, stride, size, words),
            _ => write::<S, Word, Exact>(dst, stride, size, words),
        }
    }
}

/// Applies a function to all words of a buffer, in a loop that becomes vector code.
#[inline(always)]
fn map(words: &mut [u32], f: impl Fn(u32) -> u32) {
    for word in words {
        *word = f(*word);
    }
}

#[inline(always)]
unsafe fn read<S: Simd, W: Widen>(src: *const u8, stride: usize, size: [usize; 2], words: &mut [u32]) {
    for y in 0..size[0] {
        let whole = size[1] - size[1] % S::LANES;
        // SAFETY: the elements are in the line. The buffer has place for a vector behind each line that does not
        // end with one, as the lanes divide the length of its lines.
        unsafe {
            let (from, to) = (src.add(y * stride), words.as_mut_ptr().add(y * BLOCK_LINES));
            for x in (0..whole).step_by(S::LANES) {
                S::store(to.add(x).cast(), S::LANES * 4, W::load::<S>(from.add(x * W::BYTES), S::LANES));
            }
            if whole < size[1] {
                let rest = W::load::<S>(from.add(whole * W::BYTES), size[1] - whole);
                S::store(to.add(whole).cast(), S::LANES * 4, rest);
            }
        }
    }
}

#[inline(always)]
unsafe fn write<S: Simd, W: Widen, R: Round>(dst: *mut u8, stride: usize, size: [usize; 2], words: &[u32]) {
    for y in 0..size[0] {
        let whole = size[1] - size[1] % S::LANES;
        // SAFETY: the elements are in the line, and whole vectors in the buffer, as above.
        unsafe {
            let (from, to) = (words.as_ptr().add(y * BLOCK_LENGTH), dst.add(y * stride));
            for x in (0..whole).step_by(S::LANES) {
                let vector = R::round::<S>(S::load(from.add(x).cast(), S::LANES * 4));
                W::store::<S>(to.add(x * W::BYTES), S::LANES, vector);
            }
            if whole < size[1] {
                let vector = R::round::<S>(S::load(from.add(whole).cast(), S::LANES * 4));
                W::store::<S>(to.add(whole * W::BYTES), size[1] - whole, vector);
            }
        }
    }
}

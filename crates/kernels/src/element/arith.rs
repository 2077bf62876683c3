//! Arithmetic element by element, and filling.
//!
//! Tiles of one layout are processed as flat arrays, padding included: no operation turns zeros into anything
//! but zeros of either sign, except filling and the division of bf16, which restore the padding afterwards.
//! Small floats compute in f32 and round once, which is correct rounding for `+ - * /` because 24 bits are more
//! than twice 11 plus two.

use super::run::{At, CHUNK, copy_run};
use super::{ComponentParams, ElementParams, native_row, zero_padding};
use crate::elem::{Elem, Use};
use crate::float;
use crate::layout::TileLayout;
use crate::simd::{Round, Simd, WithRound, with_round};
use std::marker::PhantomData;

/// The integers that matrices hold, read as signed.
pub(crate) trait Int: Copy + Default {
    /// Wrapping sum.
    fn add(self, other: Self) -> Self;
    /// Wrapping difference.
    fn sub(self, other: Self) -> Self;
    /// Wrapping product.
    fn mul(self, other: Self) -> Self;
    /// Signed quotient, wrapping; by zero gives 0.
    fn div(self, other: Self) -> Self;
    /// Unsigned quotient; by zero gives 0.
    fn div_u(self, other: Self) -> Self;
}

/// Quotients of small integers are exact in a float of at least as many bits plus the bits of the quotient, which
/// vectors can divide.
macro_rules! int {
    ($($signed:ty, $unsigned:ty, $wide:ty, |$x:ident, $y:ident| $div:expr;)*) => {$(
        impl Int for $signed {
            #[inline(always)]
            fn add(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)]
            fn sub(self, other: Self) -> Self { self.wrapping_sub(other) }
            #[inline(always)]
            fn mul(self, other: Self) -> Self { self.wrapping_mul(other) }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                let ($x, $y) = (self as $wide, if other == 0 { 1 } else { other } as $wide);
                if other == 0 { 0 } else { $div as Self }
            }
            #[inline(always)]
            fn div_u(self, other: Self) -> Self {
                let (left, right) = (self as $unsigned, other as $unsigned);
                let ($x, $y) = (left as $wide, if right == 0 { 1 } else { right } as $wide);
                if right == 0 { 0 } else { $div as $unsigned as Self }
            }
        }
    )*};
}
int! {
    i8, u8, f32, |x, y| (x / y) as i32;
    i16, u16, f32, |x, y| (x / y) as i32;
    i32, u32, f64, |x, y| (x / y) as i64;
}

impl Int for i64 {
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        if other == 0 { 0 } else { self.wrapping_div(other) }
    }
    #[inline(always)]
    fn div_u(self, other: Self) -> Self {
        (self as u64).checked_div(other as u64).unwrap_or(0) as Self
    }
}

/// A binary operation.
pub(crate) trait Op {
    /// Whether it is a division.
    const DIVIDES: bool;
    /// On words that are f32.
    ///
    /// # Safety
    /// As for [`Simd`].
    unsafe fn words<S: Simd>(x: S::Words, y: S::Words) -> S::Words;
    /// On binary32.
    fn f32(x: f32, y: f32) -> f32;
    /// On binary64.
    fn f64(x: f64, y: f64) -> f64;
    /// On integers.
    fn int<T: Int>(x: T, y: T) -> T;
}

macro_rules! op {
    ($($(#[$doc:meta])* $name:ident: $float:tt, $words:ident, $int:ident, $divides:literal;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;
        impl Op for $name {
            const DIVIDES: bool = $divides;
            #[inline(always)]
            unsafe fn words<S: Simd>(x: S::Words, y: S::Words) -> S::Words {
                // SAFETY: forwarded.
                unsafe { S::$words(x, y) }
            }
            #[inline(always)]
            fn f32(x: f32, y: f32) -> f32 { x $float y }
            #[inline(always)]
            fn f64(x: f64, y: f64) -> f64 { x $float y }
            #[inline(always)]
            fn int<T: Int>(x: T, y: T) -> T { x.$int(y) }
        }
    )*};
}
op! {
    /// Sum.
    Add: +, add_f32, add, false;
    /// Difference.
    Sub: -, sub_f32, sub, false;
    /// Product.
    Mul: *, mul_f32, mul, false;
    /// Quotient, signed for integers.
    Div: /, div_f32, div, true;
    /// Quotient, unsigned for integers.
    DivU: /, div_f32, div_u, true;
}

/// An operation on tiles of f32 words, to be compiled for each rounding of the results.
struct Words<S, O> {
    dst: *mut u8,
    x: *const u8,
    y: *const u8,
    /// Bytes from one 64-byte piece of `y` to the next: 64 or 0.
    y_step: usize,
    bytes: usize,
    kind: PhantomData<(S, O)>,
}

impl<S: Simd, O: Op> WithRound for Words<S, O> {
    #[inline(always)]
    unsafe fn run<R: Round>(self) {
        let step = S::LANES * 4;
        let mut piece = 0;
        while piece * 64 < self.bytes {
            let mut at = 0;
            while at < 64 {
                // SAFETY: the tiles have `bytes` bytes, a multiple of 64, which vectors divide.
                unsafe {
                    let x = S::load(self.x.add(piece * 64 + at), step);
                    let y = S::load(self.y.add(piece * self.y_step + at), step);
                    S::store(self.dst.add(piece * 64 + at), step, R::round::<S>(O::words::<S>(x, y)));
                }
                at += step;
            }
            piece += 1;
        }
    }
}

/// Applies `f` to pieces of the operands. With a step of 0 all pieces of `y` are the same.
#[inline(always)]
unsafe fn pieces<T: Copy, const N: usize>(
    dst: *mut u8,
    x: *const u8,
    (y, y_step): (*const u8, usize),
    bytes: usize,
    f: impl Fn([T; N], [T; N]) -> [T; N],
) {
    let size = N * size_of::<T>();
    let mut at = 0;
    while at < bytes {
        // SAFETY: the tiles have `bytes` bytes, a multiple of 64 and so of the piece, by contract of the callers.
        unsafe {
            let left = x.add(at).cast::<[T; N]>().read_unaligned();
            let right = y.add(if y_step == 0 { 0 } else { at }).cast::<[T; N]>().read_unaligned();
            dst.add(at).cast::<[T; N]>().write_unaligned(f(left, right));
        }
        at += size;
    }
}

/// Applies `f` to corresponding elements.
#[inline(always)]
fn zip<T: Copy, const N: usize>(mut x: [T; N], y: [T; N], f: impl Fn(T, T) -> T) -> [T; N] {
    for (x, y) in x.iter_mut().zip(y) {
        *x = f(*x, y);
    }
    x
}

/// `dst = x O y` on tiles.
///
/// # Safety
/// The tiles are of the layout; with a step of 0, `y` has 64 bytes. The processor has the instructions.
#[inline(always)]
pub(crate) unsafe fn binary<S: Simd, O: Op>(
    layout: &TileLayout,
    dst: *mut u8,
    x: *const u8,
    y: (*const u8, usize),
) {
    let bytes = layout.bytes();
    // SAFETY: forwarded.
    unsafe {
        match layout.storage {
            Elem::F32 => {
                let (y, y_step) = y;
                let words = Words::<S, O> { dst, x, y, y_step, bytes, kind: PhantomData };
                with_round(layout.elem, false, words);
            }
            Elem::F64 => pieces::<f64, 8>(dst, x, y, bytes, |x, y| zip(x, y, O::f64)),
            Elem::BF16 => pieces::<u16, 32>(dst, x, y, bytes, |x, y| zip(x, y, bf16::<O>)),
            Elem::F16 => pieces::<u16, 32>(dst, x, y, bytes, |x, y| zip(x, y, f16::<O>)),
            // Division goes by way of floats, which are as wide as a vector already.
            Elem::I8 if O::DIVIDES => pieces::<i8, 16>(dst, x, y, bytes, |x, y| zip(x, y, O::int)),
            Elem::I8 => pieces::<i8, 64>(dst, x, y, bytes, |x, y| zip(x, y, O::int)),
            Elem::I16 if O::DIVIDES => pieces::<i16, 16>(dst, x, y, bytes, |x, y| zip(x, y, O::int)),
            Elem::I16 => pieces::<i16, 32>(dst, x, y, bytes, |x, y| zip(x, y, O::int)),
            Elem::I32 if O::DIVIDES => pieces::<i32, 8>(dst, x, y, bytes, |x, y| zip(x, y, O::int)),
            Elem::I32 => pieces::<i32, 16>(dst, x, y, bytes, |x, y| zip(x, y, O::int)),
            Elem::I64 => pieces::<i64, 8>(dst, x, y, bytes, |x, y| zip(x, y, O::int)),
            // No layout stores these.
            Elem::E4M3 | Elem::E5M2 => {}
        }
        if matches!(layout.storage, Elem::BF16 | Elem::F16) {
            zero_padding(layout, dst);
        }
    }
}

#[inline(always)]
fn bf16<O: Op>(x: u16, y: u16) -> u16 {
    float::bf16_bits(float::round_bf16(O::f32(float::bf16_value(x), float::bf16_value(y))))
}

#[inline(always)]
fn f16<O: Op>(x: u16, y: u16) -> u16 {
    float::f16_bits(float::round_f16(O::f32(float::f16_value(x), float::f16_value(y))))
}

/// `dst = -x` on tiles.
///
/// # Safety
/// The tiles are of the layout.
#[inline(always)]
pub(crate) unsafe fn neg(p: &ElementParams, dst: *mut u8, x: *const u8) {
    let bytes = p.layout.bytes();
    let zero = (x, 64);
    // SAFETY: forwarded; the second operand is not used.
    unsafe {
        match p.layout.storage {
            Elem::F32 => pieces::<f32, 16>(dst, x, zero, bytes, |x, _| x.map(|x| -x)),
            Elem::F64 => pieces::<f64, 8>(dst, x, zero, bytes, |x, _| x.map(|x| -x)),
            Elem::BF16 | Elem::F16 => pieces::<u16, 32>(dst, x, zero, bytes, |x, _| x.map(|x| x ^ 0x8000)),
            Elem::I8 => pieces::<i8, 64>(dst, x, zero, bytes, |x, _| x.map(i8::wrapping_neg)),
            Elem::I16 => pieces::<i16, 32>(dst, x, zero, bytes, |x, _| x.map(i16::wrapping_neg)),
            Elem::I32 => pieces::<i32, 16>(dst, x, zero, bytes, |x, _| x.map(i32::wrapping_neg)),
            Elem::I64 => pieces::<i64, 8>(dst, x, zero, bytes, |x, _| x.map(i64::wrapping_neg)),
            Elem::E4M3 | Elem::E5M2 => {}
        }
    }
}

/// 64 bytes of storage elements of one value, given in the bits of the element type.
#[inline(always)]
fn splat(layout: &TileLayout, bits: u64) -> [u64; 8] {
    let bits = match (layout.elem, layout.storage) {
        (Elem::F16, Elem::F32) => float::f16_value(bits as u16).to_bits().into(),
        (Elem::BF16, Elem::F32) => float::bf16_value(bits as u16).to_bits().into(),
        (Elem::E4M3, Elem::F32) => float::e4m3_value(bits as u8).to_bits().into(),
        (Elem::E5M2, Elem::F32) => float::e5m2_value(bits as u8).to_bits().into(),
        _ => bits,
    };
    [match layout.storage.bytes() {
        1 => (bits & 0xff) * 0x0101_0101_0101_0101,
        2 => (bits & 0xffff) * 0x0001_0001_0001_0001,
        4 => (bits & 0xffff_ffff) * 0x0000_0001_0000_0001,
        _ => bits,
    }; 8]
}

/// Sets every element to one value.
///
/// # Safety
/// The tile is of the layout; the processor has the instructions.
#[inline(always)]
pub(crate) unsafe fn fill<S: Simd>(p: &ElementParams, dst: *mut u8, bits: u64) {
    let piece = splat(&p.layout, bits);
    let (bytes, step) = (p.layout.bytes(), S::LANES * 4);
    // SAFETY: vectors divide 64 bytes, which divide the tile's size.
    unsafe {
        let words = S::load(piece.as_ptr().cast(), step);
        let mut at = 0;
        while at < bytes {
            S::store(dst.add(at), step, words);
            at += step;
        }
        zero_padding(&p.layout, dst);
    }
}

/// Copies a tile.
///
/// # Safety
/// The tiles are of the layout.
#[inline(always)]
pub(crate) unsafe fn copy(p: &ElementParams, dst: *mut u8, src: *const u8) {
    for at in (0..p.layout.bytes()).step_by(64) {
        // SAFETY: the size of both tiles is a multiple of 64.
        unsafe {
            dst.add(at).cast::<[u8; 64]>().write_unaligned(src.add(at).cast::<[u8; 64]>().read_unaligned())
        };
    }
}

/// `dst = x * scalar`.
///
/// # Safety
/// As for [`binary`].
#[inline(always)]
pub(crate) unsafe fn scale<S: Simd>(p: &ElementParams, dst: *mut u8, x: *const u8, bits: u64) {
    let piece = splat(&p.layout, bits);
    // SAFETY: forwarded; `piece` has 64 bytes.
    unsafe { binary::<S, Mul>(&p.layout, dst, x, (piece.as_ptr().cast(), 0)) };
}

/// The runs `(lane, row, col, n)` of elements whose lanes are consecutive.
struct LaneRuns {
    rows: usize,
    cols: usize,
    lanes: usize,
    row: usize,
    col: usize,
    lane: usize,
}

impl LaneRuns {
    #[inline(always)]
    fn new(p: &ComponentParams) -> Self {
        let (rows, cols) = (p.layout.rows as usize, p.layout.cols as usize);
        Self { rows, cols, lanes: p.subgroup as usize, row: 0, col: 0, lane: 0 }
    }
}

impl Iterator for LaneRuns {
    type Item = (usize, usize, usize, usize);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.col == self.cols {
            (self.row, self.col) = (self.row + 1, 0);
        }
        if self.row >= self.rows {
            return None;
        }
        let (lane, col) = (self.lane, self.col);
        let n = (self.cols - col).min(self.lanes - lane).min(CHUNK);
        self.col += n;
        self.lane = if lane + n == self.lanes { 0 } else { lane + n };
        Some((lane, self.row, col, n))
    }
}

/// Sets all components of every lane to the lane's value.
///
/// # Safety
/// The tile is of the layout; `values` has an element per lane.
#[inline(always)]
pub(crate) unsafe fn splat_lanes(p: &ComponentParams, dst: *mut u8, values: *const u8) {
    let native = native_row(p.layout.elem, p.subgroup);
    for (lane, row, col, n) in LaneRuns::new(p) {
        // SAFETY: the run lies in the tile, its lanes in `values`.
        unsafe {
            let from = At { layout: &native, tile: values, row: 0, col: lane };
            copy_run(At { layout: &p.layout, tile: dst, row, col }, from, n);
        }
    }
    // SAFETY: forwarded.
    unsafe { zero_padding(&p.layout, dst) };
}

/// Multiplies all components of every lane by the lane's value.
///
/// # Safety
/// As for [`splat_lanes`]; `x` is of the layout too. The processor has the instructions.
#[inline(always)]
pub(crate) unsafe fn scale_lanes<S: Simd>(
    p: &ComponentParams,
    dst: *mut u8,
    x: *const u8,
    values: *const u8,
) {
    let native = native_row(p.layout.elem, p.subgroup);
    // Runs are multiplied as one-row tiles in the storage type.
    let row_layout =
        TileLayout { storage: p.layout.storage, use_: Use::Any, ..native_row(p.layout.elem, CHUNK as u32) };
    for (lane, row, col, n) in LaneRuns::new(p) {
        let mut left = [0_u64; CHUNK];
        let mut right = [0_u64; CHUNK];
        let (left, right) = (left.as_mut_ptr().cast::<u8>(), right.as_mut_ptr().cast::<u8>());
        // SAFETY: the run lies in the tiles, its lanes in `values`; the buffers hold a chunk of any type.
        unsafe {
            let stage = |tile| At { layout: &row_layout, tile, row: 0, col: 0 };
            copy_run(stage(left), At { layout: &p.layout, tile: x, row, col }, n);
            copy_run(stage(right), At { layout: &native, tile: values, row: 0, col: lane }, n);
            binary::<S, Mul>(&row_layout, left, left.cast_const(), (right.cast_const(), 64));
            let product = At { layout: &row_layout, tile: left.cast_const(), row: 0, col: 0 };
            copy_run(At { layout: &p.layout, tile: dst, row, col }, product, n);
        }
    }
    // SAFETY: forwarded.
    unsafe { zero_padding(&p.layout, dst) };
}

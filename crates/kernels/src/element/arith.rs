//! Arithmetic element by element, and filling.
//!
//! Tiles of one layout are processed as flat arrays, padding included: no operation turns zeros into anything
//! but zeros of either sign, except filling and the division of bf16, which restore the padding afterwards.
//! Small floats compute in f32 and round once, which is correct rounding for `+ - * /` because 24 bits are more
//! than twice 11 plus two.

use super::run::{At, CHUNK, copy_run, round};
use super::{ComponentParams, ElementParams, native_row, zero_padding};
use crate::elem::{Elem, Use};
use crate::float;
use crate::layout::TileLayout;
use crate::simd::Simd;

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

macro_rules! int {
    ($($signed:ty, $unsigned:ty;)*) => {$(
        impl Int for $signed {
            #[inline(always)]
            fn add(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)]
            fn sub(self, other: Self) -> Self { self.wrapping_sub(other) }
            #[inline(always)]
            fn mul(self, other: Self) -> Self { self.wrapping_mul(other) }
            #[inline(always)]
            fn div(self, other: Self) -> Self { if other == 0 { 0 } else { self.wrapping_div(other) } }
            #[inline(always)]
            fn div_u(self, other: Self) -> Self {
                (self as $unsigned).checked_div(other as $unsigned).unwrap_or(0) as Self
            }
        }
    )*};
}
int!(i8, u8; i16, u16; i32, u32; i64, u64;);

/// A binary operation.
pub(crate) trait Op {
    /// On binary32.
    fn f32(x: f32, y: f32) -> f32;
    /// On binary64.
    fn f64(x: f64, y: f64) -> f64;
    /// On integers.
    fn int<T: Int>(x: T, y: T) -> T;
}

macro_rules! op {
    ($($(#[$doc:meta])* $name:ident: $float:tt, $int:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;
        impl Op for $name {
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
    Add: +, add;
    /// Difference.
    Sub: -, sub;
    /// Product.
    Mul: *, mul;
    /// Quotient, signed for integers.
    Div: /, div;
    /// Quotient, unsigned for integers.
    DivU: /, div_u;
}

/// Applies `f` to 64-byte pieces of the operands. The pieces of `y` are `y_step` bytes apart.
#[inline(always)]
unsafe fn pieces<T: Copy, const N: usize>(
    dst: *mut u8,
    x: *const u8,
    (y, y_step): (*const u8, usize),
    bytes: usize,
    f: impl Fn([T; N], [T; N]) -> [T; N],
) {
    for piece in 0..bytes / 64 {
        // SAFETY: the tiles have `bytes` bytes, a multiple of 64, by contract of the callers.
        unsafe {
            let left = x.add(piece * 64).cast::<[T; N]>().read_unaligned();
            let right = y.add(piece * y_step).cast::<[T; N]>().read_unaligned();
            dst.add(piece * 64).cast::<[T; N]>().write_unaligned(f(left, right));
        }
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
            Elem::F32 => pieces::<f32, 16>(dst, x, y, bytes, |x, y| {
                let mut sum = zip(x, y, O::f32);
                round::<S>(layout.elem, false, &mut sum);
                sum
            }),
            Elem::F64 => pieces::<f64, 8>(dst, x, y, bytes, |x, y| zip(x, y, O::f64)),
            Elem::BF16 => pieces::<u16, 32>(dst, x, y, bytes, |x, y| zip(x, y, bf16::<O>)),
            Elem::I8 => pieces::<i8, 64>(dst, x, y, bytes, |x, y| zip(x, y, O::int)),
            Elem::I16 => pieces::<i16, 32>(dst, x, y, bytes, |x, y| zip(x, y, O::int)),
            Elem::I32 => pieces::<i32, 16>(dst, x, y, bytes, |x, y| zip(x, y, O::int)),
            Elem::I64 => pieces::<i64, 8>(dst, x, y, bytes, |x, y| zip(x, y, O::int)),
            // No layout stores these.
            Elem::F16 | Elem::E4M3 | Elem::E5M2 => {}
        }
        if layout.storage == Elem::BF16 {
            zero_padding(layout, dst);
        }
    }
}

#[inline(always)]
fn bf16<O: Op>(x: u16, y: u16) -> u16 {
    float::bf16_bits(float::round_bf16(O::f32(float::bf16_value(x), float::bf16_value(y))))
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
            Elem::BF16 => pieces::<u16, 32>(dst, x, zero, bytes, |x, _| x.map(|x| x ^ 0x8000)),
            Elem::I8 => pieces::<i8, 64>(dst, x, zero, bytes, |x, _| x.map(i8::wrapping_neg)),
            Elem::I16 => pieces::<i16, 32>(dst, x, zero, bytes, |x, _| x.map(i16::wrapping_neg)),
            Elem::I32 => pieces::<i32, 16>(dst, x, zero, bytes, |x, _| x.map(i32::wrapping_neg)),
            Elem::I64 => pieces::<i64, 8>(dst, x, zero, bytes, |x, _| x.map(i64::wrapping_neg)),
            Elem::F16 | Elem::E4M3 | Elem::E5M2 => {}
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
/// The tile is of the layout.
#[inline(always)]
pub(crate) unsafe fn fill(p: &ElementParams, dst: *mut u8, bits: u64) {
    let piece = splat(&p.layout, bits);
    for at in (0..p.layout.bytes()).step_by(64) {
        // SAFETY: the tile's size is a multiple of 64.
        unsafe { dst.add(at).cast::<[u64; 8]>().write_unaligned(piece) };
    }
    // SAFETY: forwarded.
    unsafe { zero_padding(&p.layout, dst) };
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

/// Calls `f(lane, row, col, n)` for runs of elements whose lanes are consecutive.
#[inline(always)]
fn for_lanes(p: &ComponentParams, mut f: impl FnMut(usize, usize, usize, usize)) {
    let (cols, lanes) = (p.layout.cols as usize, p.subgroup as usize);
    let mut lane = 0;
    for row in 0..p.layout.rows as usize {
        let mut col = 0;
        while col < cols {
            let n = (cols - col).min(lanes - lane).min(CHUNK);
            f(lane, row, col, n);
            col += n;
            lane = (lane + n) % lanes;
        }
    }
}

/// Sets all components of every lane to the lane's value.
///
/// # Safety
/// The tile is of the layout; `values` has an element per lane.
#[inline(always)]
pub(crate) unsafe fn splat_lanes(p: &ComponentParams, dst: *mut u8, values: *const u8) {
    let native = native_row(p.layout.elem, p.subgroup);
    for_lanes(p, |lane, row, col, n| {
        // SAFETY: the run lies in the tile, its lanes in `values`.
        unsafe {
            let from = At { layout: &native, tile: values, row: 0, col: lane };
            copy_run(At { layout: &p.layout, tile: dst, row, col }, from, n);
        }
    });
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
    for_lanes(p, |lane, row, col, n| {
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
    });
    // SAFETY: forwarded.
    unsafe { zero_padding(&p.layout, dst) };
}

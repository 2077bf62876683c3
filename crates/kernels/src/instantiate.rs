//! The kernels compiled for each instruction set, and their tables.
//!
//! Everything below an entry point is `inline(always)` and thus compiled with its target features.

use crate::elem::Elem;
use crate::element::{ComponentParams, ConvertParams, ElementParams, arith, component, convert, rotate};
use crate::kernel::Table;
use crate::mul_add::flush::Flush;
use crate::mul_add::panel::{Finish, Operands, Panel, RunPanel, drive, panel};
use crate::mul_add::wishes::Wishes;
use crate::mul_add::{MulAddParams, general, prepare, saturating};
use crate::portable;
use crate::simd::{Dot, RoundWords, Simd, with_round};
use crate::transfer::lanes::{self, LaneAccess, Lanes};
use crate::transfer::tensor::{self, TensorAccess, TensorWords};
use crate::transfer::{Access, load, store};
use crate::vector::places::Columns;
use crate::vector::product::{self, MicroKernel, Product, Span};
use crate::vector::{VecMatMulParams, VecOuterAddParams, input, mul, outer, result};
use std::marker::PhantomData;
use std::ops::Range;

/// What a family does with its operands before the micro-kernel runs.
trait Prepare {
    /// Bytes of an operand as the micro-kernel sees it, per byte of its tile.
    const WIDENING: usize;
    /// # Safety
    /// As for the multiplication.
    unsafe fn prepare<D: Dot>(params: &MulAddParams, operands: Operands, scratch: *mut u8) -> Operands;
}

/// Tiles are in the form that the micro-kernel wants.
struct Ready;
/// Quads of bytes.
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    expect(dead_code, reason = "no kernel has byte dot products")
)]
struct Quads;
/// Quads of bytes, with the signs that they have.
#[cfg_attr(
    not(target_arch = "aarch64"),
    expect(dead_code, reason = "only AArch64 has products of squares of bytes")
)]
struct QuadsAsTheyAre;
/// Bytes to pairs of i16.
struct Pairs;
/// Integers of 32 bits, or of 16 to those.
struct Words;

impl Prepare for Ready {
    const WIDENING: usize = 1;
    #[inline(always)]
    unsafe fn prepare<D: Dot>(_: &MulAddParams, operands: Operands, _: *mut u8) -> Operands {
        operands
    }
}

impl Prepare for Quads {
    const WIDENING: usize = 1;
    #[inline(always)]
    unsafe fn prepare<D: Dot>(params: &MulAddParams, operands: Operands, scratch: *mut u8) -> Operands {
        let flip = (params.a_signed == params.b_signed) != D::ALIKE;
        // SAFETY: forwarded.
        unsafe { prepare::bytes::<D>(params, operands, scratch, flip) }
    }
}

impl Prepare for QuadsAsTheyAre {
    const WIDENING: usize = 1;
    #[inline(always)]
    unsafe fn prepare<D: Dot>(params: &MulAddParams, operands: Operands, scratch: *mut u8) -> Operands {
        // SAFETY: forwarded.
        unsafe { prepare::bytes::<D>(params, operands, scratch, false) }
    }
}

impl Prepare for Pairs {
    const WIDENING: usize = 2;
    #[inline(always)]
    unsafe fn prepare<D: Dot>(params: &MulAddParams, operands: Operands, scratch: *mut u8) -> Operands {
        // SAFETY: forwarded.
        unsafe { prepare::pairs(params, operands, scratch) }
    }
}

impl Prepare for Words {
    const WIDENING: usize = 1;
    #[inline(always)]
    unsafe fn prepare<D: Dot>(params: &MulAddParams, operands: Operands, scratch: *mut u8) -> Operands {
        // SAFETY: forwarded.
        unsafe { prepare::words(params, operands, scratch) }
    }
}

/// A multiplication of one family: preparation, micro-kernel, rounding.
#[inline(always)]
unsafe fn mul_add<S: Simd, D: Dot, P: Prepare>(
    params: &MulAddParams,
    operands: Operands,
    scratch: *mut u8,
    run: RunPanel,
) {
    let all = 0..params.k as usize;
    // SAFETY: forwarded; the control register is touched only by kernels that compute on tiles in memory.
    unsafe {
        let prepared = P::prepare::<D>(params, operands, scratch);
        if !D::SINGLE {
            if params.saturating {
                let diverted = prepare::divert_results(params, prepared, scratch, P::WIDENING);
                drive::<D>(params, diverted, Finish::WithoutC, all, run);
                return prepare::add_saturating(params, operands, diverted.r);
            }
            return drive::<D>(params, prepared, Finish::Plain, all, run);
        }
        let _flush = if params.flushes { Some(Flush::start()) } else { None };
        let finish = match params.r.elem {
            // The rounding to 8 bits is too long for the micro-kernel.
            Elem::E4M3 | Elem::E5M2 => {
                let mut operands = prepared;
                for steps in roundings(params) {
                    drive::<D>(params, operands, Finish::Plain, steps, run);
                    operands = round_sums::<S>(params, operands);
                }
                return;
            }
            Elem::F16 => Finish::F16,
            Elem::BF16 => Finish::Bf16,
            _ => Finish::Plain,
        };
        drive::<D>(params, prepared, finish, all, run);
    }
}

/// The steps after each of which sums are rounded.
#[inline(always)]
fn roundings(params: &MulAddParams) -> impl Iterator<Item = Range<usize>> {
    let k = params.k as usize;
    let each = if params.relaxed { k } else { 1 };
    (0..k).step_by(each).map(move |first| first..first + each)
}

/// Rounds sums where they lie, and gives the operands for the next steps.
#[inline(always)]
unsafe fn round_sums<S: Simd>(params: &MulAddParams, operands: Operands) -> Operands {
    for t in 0..(params.m * params.n) as usize {
        // SAFETY: the result has so many tiles.
        unsafe {
            let (dst, bytes) = (*operands.r.add(t), params.r.bytes());
            with_round(params.r.elem, false, RoundWords::<S> { dst, src: dst, bytes, simd: PhantomData });
        }
    }
    // Sums are as far apart in both: the layouts of C and the result differ in the element type at most.
    Operands { c: operands.r.cast(), ..operands }
}

/// The kernels that need nothing but a [`Simd`].
macro_rules! basic {
    ($simd:ty, $(#[$attr:meta])*) => {
        $(#[$attr])*
        unsafe extern "C" fn load_(p: *const Access, dst: *mut u8, base: *const u8, size: u64, offset: u64, stride: i64) {
            // SAFETY: the contract of `LoadFn`.
            unsafe { load::load::<$simd>(&*p, dst, base, size, offset, stride) }
        }
        $(#[$attr])*
        unsafe extern "C" fn store_(p: *const Access, src: *const u8, base: *mut u8, size: u64, offset: u64, stride: i64) {
            // SAFETY: the contract of `StoreFn`.
            unsafe { store::store::<$simd>(&*p, src, base, size, offset, stride) }
        }
        unsafe extern "C" fn load_tensor(
            p: *const TensorAccess, words: *const TensorWords, dst: *mut u8, base: *const u8, size: u64, offset: u64,
            object: *const u8, scratch: *mut u8,
        ) {
            let memory = tensor::Memory { base: base.cast_mut(), size, offset };
            // SAFETY: the contract of `LoadTensorFn`.
            unsafe { tensor::load::load(&*p, &*words, dst, memory, (object, scratch), load_) }
        }
        unsafe extern "C" fn store_tensor(
            p: *const TensorAccess, words: *const TensorWords, src: *const u8, base: *mut u8, size: u64, offset: u64,
            scratch: *mut u8,
        ) {
            let memory = tensor::Memory { base, size, offset };
            // SAFETY: the contract of `StoreTensorFn`.
            unsafe { tensor::store::store(&*p, &*words, src, memory, scratch, store_) }
        }
        $(#[$attr])*
        unsafe extern "C" fn fill(p: *const ElementParams, dst: *mut u8, bits: u64) {
            // SAFETY: the contract of `FillFn`.
            unsafe { arith::fill::<$simd>(&*p, dst, bits) }
        }
        $(#[$attr])*
        unsafe extern "C" fn copy(p: *const ElementParams, dst: *mut u8, x: *const u8) {
            // SAFETY: the contract of `UnaryFn`.
            unsafe { arith::copy(&*p, dst, x) }
        }
        $(#[$attr])*
        unsafe extern "C" fn neg(p: *const ElementParams, dst: *mut u8, x: *const u8) {
            // SAFETY: the contract of `UnaryFn`.
            unsafe { arith::neg(&*p, dst, x) }
        }
        basic!(@binary $simd, add Add, $(#[$attr])*);
        basic!(@binary $simd, sub Sub, $(#[$attr])*);
        basic!(@binary $simd, mul Mul, $(#[$attr])*);
        basic!(@binary $simd, div Div, $(#[$attr])*);
        basic!(@binary $simd, div_u DivU, $(#[$attr])*);
        $(#[$attr])*
        unsafe extern "C" fn scale(p: *const ElementParams, dst: *mut u8, x: *const u8, bits: u64) {
            // SAFETY: the contract of `ScaleFn`.
            unsafe { arith::scale::<$simd>(&*p, dst, x, bits) }
        }
        $(#[$attr])*
        unsafe extern "C" fn rotate_(p: *const ElementParams, dst: *mut u8, first: *const u8, second: *const u8, offset: i32) {
            // SAFETY: the contract of `RotateFn`.
            unsafe { rotate::rotate(&*p, dst, first, second, offset) }
        }
        $(#[$attr])*
        unsafe extern "C" fn convert_(p: *const ConvertParams, dst: *mut u8, src: *const u8) {
            // SAFETY: the contract of `ConvertFn`.
            unsafe { convert::convert::<$simd>(&*p, dst, src) }
        }
        $(#[$attr])*
        unsafe extern "C" fn extract(p: *const ComponentParams, tile: *const u8, component: u32, out: *mut u8) {
            // SAFETY: the contract of `ExtractFn`.
            unsafe { component::extract(&*p, tile, component, out) }
        }
        $(#[$attr])*
        unsafe extern "C" fn insert(p: *const ComponentParams, tile: *mut u8, component: u32, values: *const u8, mask: *const u8) {
            // SAFETY: the contract of `InsertFn`.
            unsafe { component::insert(&*p, tile, component, values, mask) }
        }
        $(#[$attr])*
        unsafe extern "C" fn general_(
            p: *const MulAddParams, a: *const *const u8, b: *const *const u8, c: *const *const u8,
            r: *const *mut u8, scratch: *mut u8, _: *mut Wishes,
        ) {
            let operands = Operands { a, b, c, r, compensation: std::ptr::null(), wishes: std::ptr::null_mut() };
            // SAFETY: the contract of `MulAddFn`.
            unsafe { general::multiply(&*p, operands, scratch) }
        }
    };
    (@binary $simd:ty, $name:ident $op:ident, $(#[$attr:meta])*) => {
        $(#[$attr])*
        unsafe extern "C" fn $name(p: *const ElementParams, dst: *mut u8, x: *const u8, y: *const u8) {
            // SAFETY: the contract of `BinaryFn`.
            unsafe { arith::binary::<$simd, arith::$op>(&(*p).layout, dst, x, (y, 64)) }
        }
    };
}

/// A multiplication kernel in a module of its own, with the block shapes that the plan may choose.
macro_rules! family {
    ($name:ident, $simd:ty, $dot:ty, $prepare:ty, blocks: [$(($rows:literal, $vectors:literal)),*], $(#[$attr:meta])*) => {
        mod $name {
            use super::*;

            $(#[$attr])*
            unsafe fn block<const MR: usize, const NV: usize>(p: &Panel<'_>) {
                // SAFETY: forwarded.
                unsafe { panel::<$dot, MR, NV>(p) }
            }

            pub(super) unsafe fn run_panel(p: &Panel<'_>, rows: usize, vectors: usize) {
                // SAFETY: forwarded.
                unsafe {
                    match (rows, vectors) {
                        $(($rows, $vectors) => block::<$rows, $vectors>(p),)*
                        _ => unreachable!("the plan chose a block of {rows} rows and {vectors} vectors"),
                    }
                }
            }

            $(#[$attr])*
            pub(super) unsafe extern "C" fn kernel(
                p: *const MulAddParams, a: *const *const u8, b: *const *const u8, c: *const *const u8,
                r: *const *mut u8, scratch: *mut u8, wishes: *mut Wishes,
            ) {
                let operands = Operands { a, b, c, r, compensation: std::ptr::null(), wishes };
                // SAFETY: the contract of `MulAddFn`.
                unsafe { mul_add::<$simd, $dot, $prepare>(&*p, operands, scratch, run_panel) }
            }
        }
    };
}

/// A multiplication of matrices and vectors in a module of its own, with so many numbers in a word, the most rows of a
/// block by its vectors, and all block shapes.
macro_rules! vector_family {
    (
        $name:ident, $simd:ty, $dot:ty, $per_word:literal, $most:expr, blocks: [$(($rows:literal, $vectors:literal)),*],
        $(#[$attr:meta])*
    ) => {
        mod $name {
            use super::*;

            $(#[$attr])*
            unsafe fn block<const MR: usize, const NV: usize>(p: &Product, span: Span) {
                // SAFETY: forwarded.
                unsafe { product::blocks::<$simd, $dot, MR, NV>(p, span) }
            }

            unsafe fn run(p: &Product, span: Span, rows: usize, vectors: usize) {
                // SAFETY: forwarded.
                unsafe {
                    match (rows, vectors) {
                        $(($rows, $vectors) => block::<$rows, $vectors>(p, span),)*
                        _ => unreachable!("there is no block of {rows} rows and {vectors} vectors"),
                    }
                }
            }

            $(#[$attr])*
            unsafe fn gather(columns: &Columns, rows: usize, pitch: usize, to: *mut u8, from: *const u8) {
                // SAFETY: forwarded.
                unsafe { input::gather::<$simd>(columns, rows, pitch, to, from) }
            }

            $(#[$attr])*
            unsafe fn scatter(
                p: &VecMatMulParams, columns: &Columns, rows: usize, pitch: usize, to: *mut u8, words: *const u8,
            ) {
                // SAFETY: forwarded.
                unsafe { result::scatter::<$simd>(p, columns, rows, pitch, (to, words)) }
            }

            pub(super) const MICRO: MicroKernel = MicroKernel { run, rows: $most, gather, scatter };

            $(#[$attr])*
            pub(super) unsafe extern "C" fn kernel(
                p: *const VecMatMulParams, result: *mut u8, input: *const u8, places: *const u64, scratch: *mut u8,
            ) {
                // SAFETY: the contract of `VecMatMulFn`.
                unsafe { mul::mat_mul::<$simd, $dot, $per_word>(&*p, (result, input), places, scratch, MICRO) }
            }
        }
    };
}

/// The sums of outer products, by the micro-kernel of f32.
macro_rules! outer {
    ($simd:ty, $(#[$attr:meta])*) => {
        $(#[$attr])*
        unsafe extern "C" fn vec_outer_add(
            p: *const VecOuterAddParams, a: *const u8, b: *const u8, places: *const u64, scratch: *mut u8,
        ) {
            // SAFETY: the contract of `VecOuterAddFn`.
            unsafe { outer::outer_add::<$simd>(&*p, (a, b), places, scratch, vec_f32::MICRO) }
        }
    };
}

/// The saturating multiplication, by the micro-kernel of 64-bit integers.
macro_rules! saturating {
    ($dot:ty, $(#[$attr:meta])*) => {
        $(#[$attr])*
        unsafe extern "C" fn mul_add_saturating(
            p: *const MulAddParams, a: *const *const u8, b: *const *const u8, c: *const *const u8,
            r: *const *mut u8, scratch: *mut u8, _: *mut Wishes,
        ) {
            let operands = Operands { a, b, c, r, compensation: std::ptr::null(), wishes: std::ptr::null_mut() };
            // SAFETY: the contract of `MulAddFn`.
            unsafe { saturating::multiply::<$dot>(&*p, operands, scratch, i64::run_panel) }
        }
    };
}

/// A table; multiplications not named are general.
macro_rules! table {
    ($($field:ident: $kernel:path),* $(,)?) => {
        Table {
            $($field: $kernel,)*
            ..Table {
                load: load_,
                load_parts: load_,
                store: store_,
                load_lanes,
                store_lanes,
                load_tensor,
                store_tensor,
                fill,
                splat_lanes,
                copy,
                neg,
                add,
                sub,
                mul,
                div,
                div_u,
                scale,
                scale_lanes,
                rotate: rotate_,
                convert: convert_,
                bitcast,
                extract,
                insert,
                extract_lanes,
                insert_lanes,
                mul_add_general: general_,
                mul_add_f32: general_,
                mul_add_f32_half: general_,
                mul_add_bf16: general_,
                mul_add_bf16_half: general_,
                mul_add_f16: general_,
                mul_add_f16_half: general_,
                mul_add_amx_bf16: general_,
                mul_add_amx_i8: general_,
                mul_add_amx_split: general_,
                mul_add_amx_split_half: general_,
                mul_add_u8s8: general_,
                mul_add_u8s8_half: general_,
                mul_add_s8u8: general_,
                mul_add_s8u8_half: general_,
                mul_add_i16: general_,
                mul_add_i16_half: general_,
                mul_add_i32: general_,
                mul_add_i32_half: general_,
                mul_add_f64: f64::kernel,
                mul_add_i64: i64::kernel,
                mul_add_saturating,
                vec_mat_mul_f32: vec_f32::kernel,
                vec_mat_mul_i16: vec_i16::kernel,
                vec_mat_mul_u8s8: vec_i16::kernel,
                vec_mat_mul_s8u8: vec_i16::kernel,
                vec_outer_add,
            }
        }
    };
}

mod plain {
    use super::*;

    // Rare, or gathering single elements, which gains little from vectors: these serve all instruction sets.
    pub(super) unsafe extern "C" fn load_lanes(
        p: *const LaneAccess,
        array: *mut u8,
        base: *const u8,
        places: *const u8,
        size: u64,
        mask: u64,
        start: u64,
    ) {
        // SAFETY: the contract of `LoadLanesFn`.
        unsafe { lanes::load(&*p, array, base, Lanes { places, size, mask, start }) }
    }

    pub(super) unsafe extern "C" fn store_lanes(
        p: *const LaneAccess,
        array: *const u8,
        base: *mut u8,
        places: *const u8,
        size: u64,
        mask: u64,
        start: u64,
    ) {
        // SAFETY: the contract of `StoreLanesFn`.
        unsafe { lanes::store(&*p, array, base, Lanes { places, size, mask, start }) }
    }

    pub(super) unsafe extern "C" fn splat_lanes(p: *const ComponentParams, dst: *mut u8, values: *const u8) {
        // SAFETY: the contract of `SplatLanesFn`.
        unsafe { arith::splat_lanes(&*p, dst, values) }
    }

    pub(super) unsafe extern "C" fn scale_lanes(
        p: *const ComponentParams,
        dst: *mut u8,
        x: *const u8,
        values: *const u8,
    ) {
        // SAFETY: the contract of `ScaleLanesFn`.
        unsafe { arith::scale_lanes::<portable::Portable>(&*p, dst, x, values) }
    }

    pub(super) unsafe extern "C" fn bitcast(p: *const ConvertParams, dst: *mut u8, src: *const u8) {
        // SAFETY: the contract of `ConvertFn`.
        unsafe { convert::bitcast(&*p, dst, src) }
    }

    pub(super) unsafe extern "C" fn extract_lanes(
        p: *const ComponentParams,
        tile: *const u8,
        components: *const u32,
        out: *mut u8,
    ) {
        // SAFETY: the contract of `ExtractLanesFn`.
        unsafe { component::extract_lanes(&*p, tile, components, out) }
    }

    pub(super) unsafe extern "C" fn insert_lanes(
        p: *const ComponentParams,
        tile: *mut u8,
        components: *const u32,
        values: *const u8,
        mask: *const u8,
    ) {
        // SAFETY: the contract of `InsertLanesFn`.
        unsafe { component::insert_lanes(&*p, tile, components, values, mask) }
    }

    basic!(portable::Portable,);
    family!(f32, portable::Portable, portable::F32, Ready,
        blocks: [(1, 1), (2, 1), (4, 1), (1, 2), (2, 2), (4, 2)],);
    family!(i16, portable::Portable, portable::I16, Pairs,
        blocks: [(1, 1), (2, 1), (4, 1), (1, 2), (2, 2), (4, 2)],);
    family!(i32, portable::Portable, portable::I32, Words,
        blocks: [(1, 1), (2, 1), (4, 1), (1, 2), (2, 2), (4, 2)],);
    family!(f64, portable::Portable, portable::F64, Ready,
        blocks: [(1, 1), (2, 1), (4, 1), (1, 2), (2, 2), (4, 2)],);
    family!(i64, portable::Portable, portable::I64, Ready,
        blocks: [(1, 1), (2, 1), (4, 1), (1, 2), (2, 2), (4, 2)],);
    saturating!(portable::I64,);
    vector_family!(vec_f32, portable::Portable, portable::F32, 1, [4, 4],
        blocks: [(1, 1), (2, 1), (4, 1), (1, 2), (2, 2), (4, 2)],);
    vector_family!(vec_i16, portable::Portable, portable::I16, 2, [4, 4],
        blocks: [(1, 1), (2, 1), (4, 1), (1, 2), (2, 2), (4, 2)],);
    outer!(portable::Portable,);
    pub(crate) static TABLE: Table =
        table! { mul_add_f32: f32::kernel, mul_add_i16: i16::kernel, mul_add_i32: i32::kernel };
}
pub(crate) use plain::TABLE as PORTABLE;

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::plain::{
        bitcast, extract_lanes, insert_lanes, load_lanes, scale_lanes, splat_lanes, store_lanes,
    };
    use super::*;
    use crate::arch::x86_64::avx2::{self, Avx2};
    basic!(Avx2, #[target_feature(enable = "avx2,fma,f16c")]);
    family!(f32, Avx2, avx2::F32, Ready,
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (6, 2)],
        #[target_feature(enable = "avx2,fma,f16c")]);
    family!(i16, Avx2, avx2::I16, Pairs,
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (6, 2), (1, 4), (2, 4), (3, 4)],
        #[target_feature(enable = "avx2,fma,f16c")]);
    family!(i32, Avx2, avx2::I32, Words,
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (6, 2)],
        #[target_feature(enable = "avx2,fma,f16c")]);
    family!(f64, Avx2, avx2::F64, Ready,
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (6, 2)],
        #[target_feature(enable = "avx2,fma,f16c")]);
    family!(i64, Avx2, avx2::I64, Ready,
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (6, 2)],
        #[target_feature(enable = "avx2,fma,f16c")]);
    saturating!(avx2::I64, #[target_feature(enable = "avx2,fma,f16c")]);
    family!(u8s8, Avx2, avx2::U8S8, Quads,
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (6, 2)],
        #[target_feature(enable = "avx2,fma,f16c,avxvnni")]);
    family!(s8u8, Avx2, avx2::S8U8, Quads,
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (6, 2)],
        #[target_feature(enable = "avx2,fma,f16c,avxvnni")]);
    vector_family!(vec_f32, Avx2, avx2::F32, 1, [8, 6],
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (6, 2)],
        #[target_feature(enable = "avx2,fma,f16c")]);
    vector_family!(vec_i16, Avx2, avx2::I16, 2, [8, 6],
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (6, 2)],
        #[target_feature(enable = "avx2,fma,f16c")]);
    vector_family!(vec_u8s8, Avx2, avx2::U8S8, 4, [8, 6],
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (6, 2)],
        #[target_feature(enable = "avx2,fma,f16c,avxvnni")]);
    vector_family!(vec_s8u8, Avx2, avx2::S8U8, 4, [8, 6],
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (6, 2)],
        #[target_feature(enable = "avx2,fma,f16c,avxvnni")]);
    outer!(Avx2, #[target_feature(enable = "avx2,fma,f16c")]);
    pub(crate) static TABLE: Table = table! {
        mul_add_f32: f32::kernel,
        mul_add_i16: i16::kernel,
        mul_add_i32: i32::kernel,
        mul_add_u8s8: u8s8::kernel,
        mul_add_s8u8: s8u8::kernel,
        vec_mat_mul_u8s8: vec_u8s8::kernel,
        vec_mat_mul_s8u8: vec_s8u8::kernel,
    };
}
#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::TABLE as AVX2;

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::plain::{
        bitcast, extract_lanes, insert_lanes, load_lanes, scale_lanes, splat_lanes, store_lanes,
    };
    use super::*;
    use crate::arch::x86_64::avx512::{self, Avx512};
    use crate::arch::x86_64::fp16;
    basic!(Avx512, #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]);
    macro_rules! wide {
        ($name:ident, $dot:ty, $prepare:ty, $features:literal) => {
            family!($name, Avx512, $dot, $prepare, blocks: [
                (1, 1), (2, 1), (4, 1), (8, 1), (16, 1), (1, 2), (2, 2), (4, 2), (8, 2),
                (1, 3), (2, 3), (4, 3), (8, 3), (1, 4), (2, 4), (4, 4)
            ], #[target_feature(enable = $features)]);
        };
    }
    macro_rules! half {
        ($name:ident, $dot:ty, $prepare:ty, $features:literal) => {
            family!($name, Avx512, $dot, $prepare, blocks: [
                (1, 1), (2, 1), (4, 1), (8, 1), (16, 1), (1, 2), (2, 2), (4, 2), (8, 2)
            ], #[target_feature(enable = $features)]);
        };
    }
    wide!(f32, avx512::F32<false>, Ready, "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c");
    half!(f32_half, avx512::F32<true>, Ready, "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c");
    wide!(bf16, avx512::Bf16<false>, Ready, "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c,avx512bf16");
    half!(
        bf16_half,
        avx512::Bf16<true>,
        Ready,
        "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c,avx512bf16"
    );
    wide!(f16, fp16::F16<false>, Ready, "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c,avx512fp16");
    half!(f16_half, fp16::F16<true>, Ready, "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c,avx512fp16");
    wide!(u8s8, avx512::U8S8<false>, Quads, "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c,avx512vnni");
    half!(
        u8s8_half,
        avx512::U8S8<true>,
        Quads,
        "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c,avx512vnni"
    );
    wide!(s8u8, avx512::S8U8<false>, Quads, "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c,avx512vnni");
    half!(
        s8u8_half,
        avx512::S8U8<true>,
        Quads,
        "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c,avx512vnni"
    );
    /// The same in matrix registers.
    mod amx {
        use super::*;
        use crate::arch::x86_64::amx;
        use crate::mul_add::amx::{drive, drive_split, split_tile};

        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]
        pub(super) unsafe extern "C" fn bf16(
            p: *const MulAddParams,
            a: *const *const u8,
            b: *const *const u8,
            c: *const *const u8,
            r: *const *mut u8,
            scratch: *mut u8,
            _: *mut Wishes,
        ) {
            let operands =
                Operands { a, b, c, r, compensation: std::ptr::null(), wishes: std::ptr::null_mut() };
            // SAFETY: the contract of `MulAddFn`.
            unsafe {
                let p = &*p;
                if p.r.elem == Elem::F32 {
                    return drive::<amx::Bf16>(p, operands, Finish::Plain, 0..p.k as usize, scratch);
                }
                let mut operands = operands;
                for steps in roundings(p) {
                    drive::<amx::Bf16>(p, operands, Finish::Plain, steps, scratch);
                    operands = round_sums::<Avx512>(p, operands);
                }
            }
        }

        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]
        pub(super) unsafe extern "C" fn bytes(
            p: *const MulAddParams,
            a: *const *const u8,
            b: *const *const u8,
            c: *const *const u8,
            r: *const *mut u8,
            scratch: *mut u8,
            _: *mut Wishes,
        ) {
            let operands =
                Operands { a, b, c, r, compensation: std::ptr::null(), wishes: std::ptr::null_mut() };
            // SAFETY: the contract of `MulAddFn`.
            unsafe {
                let p = &*p;
                let mut products = (operands, Finish::Plain, scratch);
                if p.saturating {
                    let diverted = prepare::divert_results(p, operands, scratch, 1);
                    let rest = scratch.add(prepare::Scratch::new(p, 1).bytes);
                    products = (diverted, Finish::WithoutC, rest);
                }
                let (to, finish, scratch) = products;
                let all = 0..p.k as usize;
                match (p.a_signed, p.b_signed) {
                    (true, true) => drive::<amx::S8S8>(p, to, finish, all, scratch),
                    (true, false) => drive::<amx::S8U8>(p, to, finish, all, scratch),
                    (false, true) => drive::<amx::U8S8>(p, to, finish, all, scratch),
                    (false, false) => drive::<amx::U8U8>(p, to, finish, all, scratch),
                }
                if p.saturating {
                    prepare::add_saturating(p, operands, to.r);
                }
            }
        }

        macro_rules! split {
            ($name:ident, $otherwise:path) => {
                #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]
                pub(super) unsafe extern "C" fn $name(
                    p: *const MulAddParams,
                    a: *const *const u8,
                    b: *const *const u8,
                    c: *const *const u8,
                    r: *const *mut u8,
                    scratch: *mut u8,
                    wishes: *mut Wishes,
                ) {
                    let operands =
                        Operands { a, b, c, r, compensation: std::ptr::null(), wishes: std::ptr::null_mut() };
                    // SAFETY: the contract of `MulAddFn`.
                    unsafe {
                        if !drive_split::<amx::Bf16>(&*p, operands, scratch) {
                            return $otherwise(p, a, b, c, r, scratch, wishes);
                        }
                        if (*p).r.elem != Elem::F32 {
                            round_sums::<Avx512>(&*p, operands);
                        }
                    }
                }
            };
        }
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]
        pub(super) unsafe extern "C" fn load_parts(
            p: *const Access,
            dst: *mut u8,
            base: *const u8,
            size: u64,
            offset: u64,
            stride: i64,
        ) {
            // SAFETY: the contract of `LoadFn`, and that there is room behind the tile.
            unsafe {
                load_(p, dst, base, size, offset, stride);
                split_tile(&(*p).layout, dst);
            }
        }

        split!(split, f32::kernel);
        split!(split_half, f32_half::kernel);
    }
    half!(i16, avx512::I16<false>, Pairs, "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c");
    half!(i32, avx512::I32<false>, Words, "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c");
    half!(i32_half, avx512::I32<true>, Words, "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c");
    half!(i16_half, avx512::I16<true>, Pairs, "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c");
    wide!(f64, avx512::F64<false>, Ready, "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c");
    half!(i64, avx512::I64<false>, Ready, "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c");
    saturating!(avx512::I64<false>, #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]);
    vector_family!(vec_f32, Avx512, avx512::F32<false>, 1, [8, 8],
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (8, 2)],
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]);
    vector_family!(vec_i16, Avx512, avx512::I16<false>, 2, [8, 8],
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (8, 2)],
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]);
    vector_family!(vec_u8s8, Avx512, avx512::U8S8<false>, 4, [8, 8],
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (8, 2)],
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c,avx512vnni")]);
    vector_family!(vec_s8u8, Avx512, avx512::S8U8<false>, 4, [8, 8],
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (8, 2)],
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c,avx512vnni")]);
    outer!(Avx512, #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]);
    pub(crate) static TABLE: Table = table! {
        mul_add_f32: f32::kernel,
        mul_add_f32_half: f32_half::kernel,
        mul_add_bf16: bf16::kernel,
        mul_add_bf16_half: bf16_half::kernel,
        mul_add_f16: f16::kernel,
        mul_add_f16_half: f16_half::kernel,
        mul_add_amx_bf16: amx::bf16,
        mul_add_amx_i8: amx::bytes,
        load_parts: amx::load_parts,
        mul_add_amx_split: amx::split,
        mul_add_amx_split_half: amx::split_half,
        mul_add_u8s8: u8s8::kernel,
        mul_add_u8s8_half: u8s8_half::kernel,
        mul_add_s8u8: s8u8::kernel,
        mul_add_s8u8_half: s8u8_half::kernel,
        mul_add_i16: i16::kernel,
        mul_add_i16_half: i16_half::kernel,
        mul_add_i32: i32::kernel,
        mul_add_i32_half: i32_half::kernel,
        vec_mat_mul_u8s8: vec_u8s8::kernel,
        vec_mat_mul_s8u8: vec_s8u8::kernel,
    };
}
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::TABLE as AVX512;

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::plain::{
        bitcast, extract_lanes, insert_lanes, load_lanes, scale_lanes, splat_lanes, store_lanes,
    };
    use super::*;
    use crate::arch::aarch64::neon::{self, Neon};
    basic!(Neon, #[target_feature(enable = "neon")]);
    family!(f32, Neon, neon::F32, Ready,
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (8, 2)],
        #[target_feature(enable = "neon")]);
    family!(i16, Neon, neon::I16, Pairs,
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (8, 2)],
        #[target_feature(enable = "neon")]);
    family!(i32, Neon, neon::I32, Words,
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (8, 2)],
        #[target_feature(enable = "neon")]);
    family!(f64, Neon, neon::F64, Ready,
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (8, 2)],
        #[target_feature(enable = "neon")]);
    family!(i64, Neon, neon::I64, Ready,
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (8, 2)],
        #[target_feature(enable = "neon")]);
    saturating!(neon::I64, #[target_feature(enable = "neon")]);
    family!(bf16, Neon, neon::Bf16, Ready,
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (8, 2)],
        #[target_feature(enable = "neon,bf16")]);
    family!(s8, Neon, neon::S8, Quads,
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (8, 2)],
        #[target_feature(enable = "neon,dotprod")]);
    family!(u8, Neon, neon::U8, Quads,
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (8, 2)],
        #[target_feature(enable = "neon,dotprod")]);
    /// Products of squares of bytes.
    mod squares {
        use super::*;
        use crate::mul_add::squares::panel;

        macro_rules! run_panel {
            ($name:ident, $squares:ty) => {
                mod $name {
                    use super::*;

                    #[target_feature(enable = "neon,i8mm")]
                    unsafe fn block<const PAIRS: usize, const NV: usize>(p: &Panel<'_>, rows: usize) {
                        // SAFETY: forwarded.
                        unsafe { panel::<$squares, PAIRS, NV>(p, rows) }
                    }

                    pub(super) unsafe fn run(p: &Panel<'_>, rows: usize, vectors: usize) {
                        // SAFETY: forwarded.
                        unsafe {
                            match (rows, vectors) {
                                (1 | 2, 1) => block::<1, 1>(p, rows),
                                (4, 1) => block::<2, 1>(p, rows),
                                (8, 1) => block::<4, 1>(p, rows),
                                (1 | 2, 2) => block::<1, 2>(p, rows),
                                (4, 2) => block::<2, 2>(p, rows),
                                (8, 2) => block::<4, 2>(p, rows),
                                _ => unreachable!(
                                    "the plan chose a block of {rows} rows and {vectors} vectors"
                                ),
                            }
                        }
                    }
                }
            };
        }
        run_panel!(s8, neon::S8Squares);
        run_panel!(u8, neon::U8Squares);
        run_panel!(u8s8, neon::U8S8Squares);

        /// B is signed; there is an instruction for either signedness of A.
        #[target_feature(enable = "neon,dotprod,i8mm")]
        pub(super) unsafe extern "C" fn signed(
            p: *const MulAddParams,
            a: *const *const u8,
            b: *const *const u8,
            c: *const *const u8,
            r: *const *mut u8,
            scratch: *mut u8,
            wishes: *mut Wishes,
        ) {
            let operands = Operands { a, b, c, r, compensation: std::ptr::null(), wishes };
            // SAFETY: the contract of `MulAddFn`.
            unsafe {
                let run = if (*p).a_signed { s8::run } else { u8s8::run };
                mul_add::<Neon, neon::S8, QuadsAsTheyAre>(&*p, operands, scratch, run)
            }
        }

        /// B is unsigned, and A becomes so.
        #[target_feature(enable = "neon,dotprod,i8mm")]
        pub(super) unsafe extern "C" fn unsigned(
            p: *const MulAddParams,
            a: *const *const u8,
            b: *const *const u8,
            c: *const *const u8,
            r: *const *mut u8,
            scratch: *mut u8,
            wishes: *mut Wishes,
        ) {
            let operands = Operands { a, b, c, r, compensation: std::ptr::null(), wishes };
            // SAFETY: the contract of `MulAddFn`.
            unsafe { mul_add::<Neon, neon::U8, Quads>(&*p, operands, scratch, u8::run) }
        }
    }
    vector_family!(vec_f32, Neon, neon::F32, 1, [8, 8],
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (8, 2)],
        #[target_feature(enable = "neon")]);
    vector_family!(vec_i16, Neon, neon::I16, 2, [8, 8],
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (8, 2)],
        #[target_feature(enable = "neon")]);
    outer!(Neon, #[target_feature(enable = "neon")]);
    vector_family!(vec_s8, Neon, neon::S8, 4, [8, 8],
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (8, 2)],
        #[target_feature(enable = "neon,dotprod")]);
    vector_family!(vec_u8, Neon, neon::U8, 4, [8, 8],
        blocks: [(1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2), (8, 2)],
        #[target_feature(enable = "neon,dotprod")]);
    macro_rules! neon_table {
        ($signed:path, $unsigned:path) => {
            table! {
                mul_add_f32: f32::kernel,
                mul_add_bf16: bf16::kernel,
                mul_add_i16: i16::kernel,
                mul_add_i32: i32::kernel,
                mul_add_u8s8: $signed,
                mul_add_s8u8: $unsigned,
                vec_mat_mul_u8s8: vec_s8::kernel,
                vec_mat_mul_s8u8: vec_u8::kernel,
            }
        };
    }
    pub(crate) static TABLE: Table = neon_table!(s8::kernel, u8::kernel);
    pub(crate) static I8MM: Table = neon_table!(squares::signed, squares::unsigned);
}
#[cfg(target_arch = "aarch64")]
pub(crate) use neon::{I8MM as NEON_I8MM, TABLE as NEON};

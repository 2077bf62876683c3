//! The table of kernels through which compiled code calls this crate.
//!
//! Compiled code is cached on disk and so holds no addresses: it gets the address of its [`Table`] at run time
//! and calls entry [`KernelId`]. All tables have the same entries; an entry that needs instructions the table's
//! level lacks is never planned for it and holds the general kernel instead.

use crate::element::{ComponentParams, ConvertParams, ElementParams};
use crate::isa::{Isa, Level};
use crate::mul_add::MulAddParams;
use crate::mul_add::wishes::Wishes;
use crate::transfer::Access;
use crate::transfer::lanes::LaneAccess;
use crate::transfer::tensor::{TensorAccess, TensorWords};
use crate::vector::{VecMatMulParams, VecOuterAddParams};

/// Reads a matrix from memory into a tile: `(access, tile, base, size, offset, stride_bytes)`.
pub type LoadFn = unsafe extern "C" fn(*const Access, *mut u8, *const u8, u64, u64, i64);
/// Writes a tile to memory: `(access, tile, base, size, offset, stride_bytes)`.
pub type StoreFn = unsafe extern "C" fn(*const Access, *const u8, *mut u8, u64, u64, i64);
/// Reads the scalars of lanes to an array: `(access, array, base, places, size, mask, start)`. The mask has a bit for each of
/// at most 64 lanes, and each lane of it a place; `start` is added to all offsets.
pub type LoadLanesFn = unsafe extern "C" fn(*const LaneAccess, *mut u8, *const u8, *const u8, u64, u64, u64);
/// Writes the scalars of lanes from an array: `(access, array, base, places, size, mask, start)`, as in [`LoadLanesFn`].
pub type StoreLanesFn = unsafe extern "C" fn(*const LaneAccess, *const u8, *mut u8, *const u8, u64, u64, u64);
/// Reads a matrix through a tensor layout: `(access, words, tile, base, size, offset, object, scratch)`. Elements
/// that the view clips come from the tile `object`, which may be the result's, and is not read if none are.
/// `scratch` is 64-byte aligned and as large as the access says.
pub type LoadTensorFn = unsafe extern "C" fn(
    *const TensorAccess,
    *const TensorWords,
    *mut u8,
    *const u8,
    u64,
    u64,
    *const u8,
    *mut u8,
);
/// Writes a tile through a tensor layout: `(access, words, tile, base, size, offset, scratch)`.
pub type StoreTensorFn =
    unsafe extern "C" fn(*const TensorAccess, *const TensorWords, *const u8, *mut u8, u64, u64, *mut u8);
/// Sets every element to one value, given as the bits of the element type: `(params, result, bits)`.
pub type FillFn = unsafe extern "C" fn(*const ElementParams, *mut u8, u64);
/// `(params, result, operand)`; the two may be the same tile.
pub type UnaryFn = unsafe extern "C" fn(*const ElementParams, *mut u8, *const u8);
/// `(params, result, left, right)`; any of them may be the same tile.
pub type BinaryFn = unsafe extern "C" fn(*const ElementParams, *mut u8, *const u8, *const u8);
/// `(params, result, operand, bits of the scalar)`; the tiles may be the same.
pub type ScaleFn = unsafe extern "C" fn(*const ElementParams, *mut u8, *const u8, u64);
/// The elements of two matrices, row by row and the second behind the first, from element `offset` on: `(params, result,
/// first, second, offset)`. An offset below 0 counts as 0, and one beyond a matrix as its size. The result is another
/// tile than the operands, which may be the same.
pub type RotateFn = unsafe extern "C" fn(*const ElementParams, *mut u8, *const u8, *const u8, i32);
/// One scalar per lane in the element type: `(params, result, values)`.
pub type SplatLanesFn = unsafe extern "C" fn(*const ComponentParams, *mut u8, *const u8);
/// One scalar per lane in the element type: `(params, result, operand, values)`.
pub type ScaleLanesFn = unsafe extern "C" fn(*const ComponentParams, *mut u8, *const u8, *const u8);
/// `(params, result, operand)`; the two are different tiles.
pub type ConvertFn = unsafe extern "C" fn(*const ConvertParams, *mut u8, *const u8);
/// Component `i` of every lane, in the element type: `(params, tile, i, values out)`.
pub type ExtractFn = unsafe extern "C" fn(*const ComponentParams, *const u8, u32, *mut u8);
/// `(params, tile, i, values, mask)`, one mask byte per lane, 0 or 1.
pub type InsertFn = unsafe extern "C" fn(*const ComponentParams, *mut u8, u32, *const u8, *const u8);
/// As [`ExtractFn`], with a component index per lane.
pub type ExtractLanesFn = unsafe extern "C" fn(*const ComponentParams, *const u8, *const u32, *mut u8);
/// As [`InsertFn`], with a component index per lane.
pub type InsertLanesFn =
    unsafe extern "C" fn(*const ComponentParams, *mut u8, *const u32, *const u8, *const u8);
/// `R[i][j] = C[i][j] + sum over k of A[i][k] * B[k][j]` on tiles: `(params, a, b, c, r, scratch, wishes)`.
///
/// The operands are arrays of tile pointers in row-major order of the grid. A tile of `r` may be the tile of `c`
/// at the same place and no other. `scratch` is 64-byte aligned and as large as the plan says. `wishes` says what will be
/// read soon, or is null. The thread is [ready](Isa::ready).
pub type MulAddFn = unsafe extern "C" fn(
    *const MulAddParams,
    *const *const u8,
    *const *const u8,
    *const *const u8,
    *const *mut u8,
    *mut u8,
    *mut Wishes,
);

/// Multiplies the vector of each active lane by its matrix: `(params, result, input, places, scratch)`.
///
/// A vector is an array of elements, each the scalars of all lanes; the two may be the same. What inactive lanes have in
/// the result stays. `places` are [`Piece::words`](crate::Piece::words) words: a mask of the active lanes in two words, the
/// first lane in the lowest bit, then each [`Piece`](crate::Piece) from its [`word`](crate::Piece::word) on, for all lanes if it
/// differs between them, otherwise once; those of a bias only if there is one. Reads outside of an object give zeros.
/// `scratch` is 64-byte aligned and as large as the plan says.
pub type VecMatMulFn = unsafe extern "C" fn(*const VecMatMulParams, *mut u8, *const u8, *const u64, *mut u8);
/// Adds the outer product of two vectors of each active lane to its matrix: `(params, a, b, places, scratch)`, as in
/// [`VecMatMulFn`]; `a` is not read if the plan has none. Nothing happens to elements outside of an object.
pub type VecOuterAddFn =
    unsafe extern "C" fn(*const VecOuterAddParams, *const u8, *const u8, *const u64, *mut u8);

/// A place in the [`Table`], stable within one version of this crate.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct KernelId(pub u32);

/// Declares the entries of the table once: the fields, the ids and the names.
macro_rules! entries {
    ($($(#[$doc:meta])* $field:ident $id:ident: $ty:ty,)*) => {
        /// The kernels of one instruction set; in memory, an array of function pointers.
        #[repr(C)]
        #[derive(Debug)]
        pub struct Table {
            $($(#[$doc])* pub $field: $ty,)*
        }

        impl KernelId {
            $($(#[$doc])* pub const $id: Self =
                Self((std::mem::offset_of!(Table, $field) / size_of::<usize>()) as u32);)*
            /// The names of all kernels, by index.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($field)),*];
        }
    };
}

entries! {
    /// Memory to tile.
    load LOAD: LoadFn,
    /// The same for a factor with room for its parts behind the tile ([`KernelSet::bytes_with_parts`]), which are made of it.
    ///
    /// [`KernelSet::bytes_with_parts`]: crate::KernelSet::bytes_with_parts
    load_parts LOAD_PARTS: LoadFn,
    /// Tile to memory.
    store STORE: StoreFn,
    /// Memory to scalars of lanes.
    load_lanes LOAD_LANES: LoadLanesFn,
    /// Scalars of lanes to memory.
    store_lanes STORE_LANES: StoreLanesFn,
    /// Tensor to tile.
    load_tensor LOAD_TENSOR: LoadTensorFn,
    /// Tile to tensor.
    store_tensor STORE_TENSOR: StoreTensorFn,
    /// One value everywhere.
    fill FILL: FillFn,
    /// A value per lane in all its components.
    splat_lanes SPLAT_LANES: SplatLanesFn,
    /// Copy of a tile of the same layout.
    copy COPY: UnaryFn,
    /// Negation.
    neg NEG: UnaryFn,
    /// Addition.
    add ADD: BinaryFn,
    /// Subtraction.
    sub SUB: BinaryFn,
    /// Multiplication of elements.
    mul MUL: BinaryFn,
    /// Division of floats or of signed integers. By zero gives 0 for integers; min / -1 wraps.
    div DIV: BinaryFn,
    /// Division of unsigned integers; by zero gives 0.
    div_u DIV_U: BinaryFn,
    /// Matrix times one scalar.
    scale SCALE: ScaleFn,
    /// Matrix times a scalar per lane.
    scale_lanes SCALE_LANES: ScaleLanesFn,
    /// Two matrices from an element on.
    rotate ROTATE: RotateFn,
    /// Conversion of element type, use, or both.
    convert CONVERT: ConvertFn,
    /// Reinterpretation of the bits of each element as another type of the same width.
    bitcast BITCAST: ConvertFn,
    /// One component of every lane.
    extract EXTRACT: ExtractFn,
    /// Writes one component of the lanes of a mask.
    insert INSERT: InsertFn,
    /// A component per lane, of its own index.
    extract_lanes EXTRACT_LANES: ExtractLanesFn,
    /// Writes a component per lane, of its own index.
    insert_lanes INSERT_LANES: InsertLanesFn,
    /// Multiplication in scalar code, for every combination of types and layouts.
    mul_add_general MUL_ADD_GENERAL: MulAddFn,
    /// Multiplication of f32 words.
    mul_add_f32 MUL_ADD_F32: MulAddFn,
    /// The same for tiles half a vector wide.
    mul_add_f32_half MUL_ADD_F32_HALF: MulAddFn,
    /// Multiplication of pairs of bf16.
    mul_add_bf16 MUL_ADD_BF16: MulAddFn,
    /// The same for tiles half a vector wide.
    mul_add_bf16_half MUL_ADD_BF16_HALF: MulAddFn,
    /// Multiplication of pairs of f16 in f16.
    mul_add_f16 MUL_ADD_F16: MulAddFn,
    /// The same for tiles half a vector wide.
    mul_add_f16_half MUL_ADD_F16_HALF: MulAddFn,
    /// Multiplication of pairs of bf16 in matrix registers.
    mul_add_amx_bf16 MUL_ADD_AMX_BF16: MulAddFn,
    /// Multiplication of bytes in matrix registers.
    mul_add_amx_i8 MUL_ADD_AMX_I8: MulAddFn,
    /// Multiplication in matrix registers of words of f32 that are the sum of two bf16.
    mul_add_amx_split MUL_ADD_AMX_SPLIT: MulAddFn,
    /// The same for tiles half a vector wide.
    mul_add_amx_split_half MUL_ADD_AMX_SPLIT_HALF: MulAddFn,
    /// Multiplication of bytes, signed B (and A of the signedness that the instruction wants, or brought to it).
    mul_add_u8s8 MUL_ADD_U8S8: MulAddFn,
    /// The same for tiles half a vector wide.
    mul_add_u8s8_half MUL_ADD_U8S8_HALF: MulAddFn,
    /// Multiplication of bytes, unsigned B.
    mul_add_s8u8 MUL_ADD_S8U8: MulAddFn,
    /// The same for tiles half a vector wide.
    mul_add_s8u8_half MUL_ADD_S8U8_HALF: MulAddFn,
    /// Multiplication of bytes widened to i16 in scratch.
    mul_add_i16 MUL_ADD_I16: MulAddFn,
    /// The same for tiles half a vector wide.
    mul_add_i16_half MUL_ADD_I16_HALF: MulAddFn,
    /// Multiplication of integers of 32 bits, and of 16 widened in scratch.
    mul_add_i32 MUL_ADD_I32: MulAddFn,
    /// The same for tiles half a vector wide.
    mul_add_i32_half MUL_ADD_I32_HALF: MulAddFn,
    /// Multiplication of f64.
    mul_add_f64 MUL_ADD_F64: MulAddFn,
    /// Multiplication of integers of 64 bits.
    mul_add_i64 MUL_ADD_I64: MulAddFn,
    /// Multiplication of integers of any types, clamping sums.
    mul_add_saturating MUL_ADD_SATURATING: MulAddFn,
    /// Matrix times vectors of lanes, of f32 words.
    vec_mat_mul_f32 VEC_MAT_MUL_F32: VecMatMulFn,
    /// The same of bytes widened to i16.
    vec_mat_mul_i16 VEC_MAT_MUL_I16: VecMatMulFn,
    /// The same of bytes, signed vectors.
    vec_mat_mul_u8s8 VEC_MAT_MUL_U8S8: VecMatMulFn,
    /// The same of bytes, unsigned vectors.
    vec_mat_mul_s8u8 VEC_MAT_MUL_S8U8: VecMatMulFn,
    /// Outer products of vectors of lanes, added to memory.
    vec_outer_add VEC_OUTER_ADD: VecOuterAddFn,
}

impl KernelId {
    /// How many kernels there are.
    pub const COUNT: usize = Self::NAMES.len();

    /// Index in the table, in pointers.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Name of the kernel.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.get(self.index()).copied().unwrap_or("unknown")
    }

    /// Address of the kernel for these instructions; `None` when the id is no kernel's.
    #[must_use]
    pub fn address(self, isa: Isa) -> Option<*const ()> {
        let table = std::ptr::from_ref(isa.table()).cast::<*const ()>();
        // SAFETY: the table is `repr(C)` and consists of `COUNT` function pointers.
        (self.index() < Self::COUNT).then(|| unsafe { *table.add(self.index()) })
    }
}

const _: () = assert!(size_of::<Table>() == KernelId::COUNT * size_of::<usize>());

impl Isa {
    /// The kernels for these instructions.
    #[must_use]
    pub fn table(self) -> &'static Table {
        match self.level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => &crate::instantiate::AVX512,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => &crate::instantiate::AVX2,
            #[cfg(target_arch = "aarch64")]
            Level::Neon if self.i8mm() => &crate::instantiate::NEON_I8MM,
            #[cfg(target_arch = "aarch64")]
            Level::Neon => &crate::instantiate::NEON,
            _ => &crate::instantiate::PORTABLE,
        }
    }
}

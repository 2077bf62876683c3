//! Operations on the vectors of the lanes of a subgroup (SPV_NV_cooperative_vector).
//!
//! Element `i` of all lanes lies together: the vectors of a subgroup are a matrix of K rows, with a column for each lane.
//! So the products of one matrix and the vectors of many lanes are one product of matrices, and the outer products of
//! many lanes that are added to one matrix are one too. Each lane may have its own matrix:
//!
//! ```text
//! for each group of lanes with one matrix, bias and stride:                 (`places`)
//!     X = the columns of these lanes, as words                              (`input`)
//!     for each block of rows:
//!         A = rows of the matrix, as words; in place if they are such       (`matrix`)
//!         R = bias + A * X                                                  (`product`)
//!         the result's columns of these lanes = R                           (`result`)
//! ```
//!
//! A *word* has 32 bits: an f32, or two i16 or four bytes that follow each other along K. `mul` is the whole, `outer`
//! adds outer products to memory, by the atomic additions of `atomic`.

mod atomic;
pub(crate) mod input;
mod matrix;
pub(crate) mod mul;
pub(crate) mod outer;
pub(crate) mod places;
pub(crate) mod product;
pub(crate) mod result;

use crate::elem::Elem;
use crate::isa::KernelSet;
use crate::kernel::KernelId;

/// Most lanes of a subgroup.
pub const MAX_VECTOR_LANES: usize = 128;

/// A number of a piece of the places of an operation: see [`VecMatMulFn`](crate::VecMatMulFn).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Piece {
    /// Address of the object that the matrix is in.
    MatrixBase,
    /// Its bytes.
    MatrixSize,
    /// Where the matrix begins in it, in bytes.
    MatrixOffset,
    /// Bytes from a line of the matrix to the next.
    Stride,
    /// Address of the object that the bias is in.
    BiasBase,
    /// Its bytes.
    BiasSize,
    /// Where the bias begins in it, in bytes.
    BiasOffset,
}

impl Piece {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::MatrixBase,
        Self::MatrixSize,
        Self::MatrixOffset,
        Self::Stride,
        Self::BiasBase,
        Self::BiasSize,
        Self::BiasOffset,
    ];

    /// The word of the places where it begins, with so many lanes.
    #[must_use]
    pub const fn word(self, lanes: u32) -> u32 {
        2 + self as u32 * lanes
    }

    /// Words of the places in all.
    #[must_use]
    pub const fn words(lanes: u32) -> u32 {
        2 + Self::ALL.len() as u32 * lanes
    }

    /// Its bit in a set of pieces.
    #[must_use]
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The product of a matrix and a vector for each lane, to be planned.
///
/// Elements of the vector become numbers of the interpretation first: floats become integers to nearest even and
/// saturating (a NaN 0), integers become integers saturating, floats become 8-bit floats saturating. Then they are
/// multiplied and summed, with the bias: floats as f32, rounded to the result once; integers modulo 2^32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VecMatMul {
    /// Lanes of the subgroup: a power of two from 4 to [`MAX_VECTOR_LANES`].
    pub lanes: u32,
    /// Rows of the matrix, not 0.
    pub m: u32,
    /// Columns of the matrix, not 0.
    pub k: u32,
    /// What the vector's elements are: an integer, f16 or f32.
    pub input: Elem,
    /// Whether they have a sign.
    pub input_signed: bool,
    /// Whether each is an i32 that holds four bytes, the first in the lowest; they are taken as they are.
    pub packed: bool,
    /// What they become: a float other than f64, or i8.
    pub interpretation: Elem,
    /// Whether that has a sign.
    pub interpretation_signed: bool,
    /// What the matrix consists of in memory: a float other than f64, or i8, as the interpretation.
    pub matrix: Elem,
    /// Whether that has a sign.
    pub matrix_signed: bool,
    /// Whether its lines are columns: then an element follows the one above it, otherwise the one before it in its row.
    pub columns: bool,
    /// What the bias consists of: a float other than f64, or i32.
    pub bias: Option<Elem>,
    /// What the result consists of: f16 or f32, or i32.
    pub result: Elem,
    /// The pieces that differ between lanes, as a set of [`Piece::bit`]s.
    pub varying: u8,
}

/// How an operation on vectors is to be called.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VecPlan<P> {
    /// The kernel.
    pub kernel: KernelId,
    /// Its first argument.
    pub params: P,
    /// The size of its scratch memory, a multiple of 64.
    pub scratch_bytes: usize,
}

/// The static parameters of a [`VecMatMul`]. Plain bytes, free of addresses.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, bytemuck::NoUninit)]
pub struct VecMatMulParams {
    pub(crate) lanes: u32,
    pub(crate) m: u32,
    pub(crate) k: u32,
    pub(crate) input: Elem,
    pub(crate) interpretation: Elem,
    pub(crate) matrix: Elem,
    pub(crate) bias: Elem,
    pub(crate) result: Elem,
    pub(crate) input_signed: bool,
    pub(crate) packed: bool,
    pub(crate) interpretation_signed: bool,
    pub(crate) matrix_signed: bool,
    pub(crate) columns: bool,
    pub(crate) has_bias: bool,
    pub(crate) varying: u8,
}

/// The outer product of two vectors for each lane, added to a matrix in memory; to be planned. Products are summed in f32
/// over the lanes with one matrix, and each sum is added to its element by an atomic operation, rounded once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VecOuterAdd {
    /// Lanes of the subgroup: a power of two from 4 to [`MAX_VECTOR_LANES`].
    pub lanes: u32,
    /// What the vector with an element for each row consists of, f16 or f32. Without one the matrix has one row, and the
    /// other vector itself is added to it.
    pub a: Option<Elem>,
    /// Rows of the matrix.
    pub m: u32,
    /// What the vector with an element for each column consists of: f16 or f32.
    pub b: Elem,
    /// Columns of the matrix.
    pub n: u32,
    /// What the matrix consists of: f16 or f32.
    pub matrix: Elem,
    /// The pieces that differ between lanes, as a set of [`Piece::bit`]s; the bias' have no meaning.
    pub varying: u8,
}

/// The static parameters of a [`VecOuterAdd`]. Plain bytes, free of addresses.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, bytemuck::NoUninit)]
pub struct VecOuterAddParams {
    pub(crate) lanes: u32,
    pub(crate) m: u32,
    pub(crate) n: u32,
    pub(crate) a: Elem,
    pub(crate) b: Elem,
    pub(crate) matrix: Elem,
    pub(crate) has_a: bool,
    pub(crate) varying: u8,
    zero: [u8; 3],
}

impl KernelSet {
    /// Plans the product of a matrix and a vector for each lane.
    #[must_use]
    pub fn plan_vec_mat_mul(self, op: &VecMatMul) -> VecPlan<VecMatMulParams> {
        let params = VecMatMulParams {
            lanes: op.lanes,
            m: op.m,
            k: op.k,
            input: op.input,
            interpretation: op.interpretation,
            matrix: op.matrix,
            bias: op.bias.unwrap_or(Elem::F32),
            result: op.result,
            input_signed: op.input_signed,
            packed: op.packed,
            interpretation_signed: op.interpretation_signed,
            matrix_signed: op.matrix_signed,
            columns: op.columns,
            has_bias: op.bias.is_some(),
            varying: op.varying,
        };
        let (kernel, per_word) = match (op.interpretation.is_float(), self.vnni()) {
            (true, _) => (KernelId::VEC_MAT_MUL_F32, 1),
            (false, false) => (KernelId::VEC_MAT_MUL_I16, 2),
            // The matrix gets the signedness that the instruction wants.
            (false, true) if op.interpretation_signed => (KernelId::VEC_MAT_MUL_U8S8, 4),
            (false, true) => (KernelId::VEC_MAT_MUL_S8U8, 4),
        };
        let scratch_bytes = mul::Parts::new(&params, self.lanes(), per_word).bytes;
        VecPlan { kernel, params, scratch_bytes }
    }

    /// Plans the addition of an outer product for each lane.
    #[must_use]
    pub fn plan_vec_outer_add(self, op: &VecOuterAdd) -> VecPlan<VecOuterAddParams> {
        let params = VecOuterAddParams {
            lanes: op.lanes,
            m: if op.a.is_some() { op.m } else { 1 },
            n: op.n,
            a: op.a.unwrap_or(Elem::F32),
            b: op.b,
            matrix: op.matrix,
            has_a: op.a.is_some(),
            varying: op.varying,
            zero: [0; 3],
        };
        let scratch_bytes = outer::Parts::new(&params, self.lanes()).bytes;
        VecPlan { kernel: KernelId::VEC_OUTER_ADD, params, scratch_bytes }
    }
}

/// Hands out parts of scratch memory, each from a line of the cache on.
#[derive(Default)]
struct Cut {
    end: usize,
}

impl Cut {
    /// The offset of so many bytes.
    fn take(&mut self, bytes: usize) -> usize {
        let start = self.end;
        self.end = (start + bytes).next_multiple_of(64);
        start
    }
}

//! Multiplication of grids of tiles: `R[i][j] = C[i][j] + sum over k of A[i][k] * B[k][j]`.
//!
//! `plan` chooses the kernel and the blocking ahead of time; `panel` is the micro-kernel, the same for f32
//! words, bf16 pairs, byte quads, i16 pairs and words of 64 bits; `prepare` brings bytes into the form that the dot-product
//! instructions want; `amx` multiplies in matrix registers; `flush` has the processor take denormals for zeros; `general` covers every other
//! combination of types, `saturating` the sums of integers of any types that are clamped, and `squares` is a micro-kernel of bytes for Arm.

mod ahead;
pub(crate) mod amx;
pub(crate) mod flush;
pub(crate) mod general;
pub(crate) mod panel;
mod plan;
pub(crate) mod prepare;
pub(crate) mod saturating;
#[cfg(target_arch = "aarch64")]
pub(crate) mod squares;
pub(crate) mod wishes;

use crate::elem::Elem;
use crate::kernel::KernelId;
use crate::layout::TileLayout;

/// A multiplication to be planned.
///
/// A *step* is the product of a tile of A and a tile of B, added to what the steps before it came to, or to C.
/// Floats are accumulated in f32 (f64 in the general kernel) and rounded to the element type of the result at the
/// end of each step; when `relaxed`, a kernel may leave that to the end of the last. Integers are extended by their
/// own flags and summed modulo the result's width; when `saturating`, a step's sum is exact and then clamped to the
/// range of the result.
///
/// Where both factors are bf16 and the result is not f64, denormal factors, addends and results of a step count as
/// zeros, and so do denormal sums between: that is what dot products of bf16 in hardware do.
///
/// A product of numbers of f16 may be added as the four products of their parts (see `amx`), and a denormal addend of such
/// products count as zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MulAdd {
    /// Left operand, M×K.
    pub a: TileLayout,
    /// Right operand, K×N.
    pub b: TileLayout,
    /// Addend, M×N.
    pub c: TileLayout,
    /// Result, M×N.
    pub r: TileLayout,
    /// Elements of A are sign-extended.
    pub a_signed: bool,
    /// Elements of B are sign-extended.
    pub b_signed: bool,
    /// Elements of C are sign-extended.
    pub c_signed: bool,
    /// The range that the result saturates to is that of the signed type.
    pub r_signed: bool,
    /// Adding C saturates.
    pub saturating: bool,
    /// Sums may be rounded less often.
    pub relaxed: bool,
    /// Tiles of A are some of the columns of larger ones, those of B some of the rows: nothing is behind them, and [`a`](Self::a)
    /// and [`b`](Self::b) have the distances of the larger ones.
    pub sliced: bool,
    /// Behind each tile of A are its parts ([`KernelId::LOAD_PARTS`]).
    pub a_parts: bool,
    /// The same for B.
    pub b_parts: bool,
}

impl MulAdd {
    /// Whether no float is in it. Only then sums saturate.
    pub(crate) fn is_of_integers(&self) -> bool {
        [self.a, self.b, self.c, self.r].iter().all(|layout| !layout.elem.is_float())
    }

    /// Whether denormals count as zeros.
    pub(crate) fn flushes(&self) -> bool {
        let is_bf16 = |layout: &TileLayout| layout.elem == Elem::BF16;
        is_bf16(&self.a) && is_bf16(&self.b) && self.c.elem != Elem::F64 && self.r.elem != Elem::F64
    }
}

/// The size of a grid, in tiles; no dimension is zero.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Grid {
    /// Rows of tiles of A and the result.
    pub m: u32,
    /// Columns of tiles of B and the result.
    pub n: u32,
    /// Columns of tiles of A, rows of tiles of B.
    pub k: u32,
}

impl Grid {
    /// A single multiplication.
    pub const ONE: Self = Self { m: 1, n: 1, k: 1 };
}

/// How a multiplication is to be called.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Plan {
    /// The kernel, a [`crate::kernel::MulAddFn`].
    pub kernel: KernelId,
    /// Its first argument.
    pub params: MulAddParams,
    /// The size of its last argument; a multiple of 64, possibly 0.
    pub scratch_bytes: usize,
}

/// The static parameters of a multiplication, made by planning. Plain bytes, free of addresses.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, bytemuck::NoUninit)]
pub struct MulAddParams {
    pub(crate) a: TileLayout,
    pub(crate) b: TileLayout,
    pub(crate) c: TileLayout,
    pub(crate) r: TileLayout,
    /// The layouts that the kernel wants A and B in; where they differ, tiles are brought into it first.
    pub(crate) want_a: TileLayout,
    pub(crate) want_b: TileLayout,
    pub(crate) m: u32,
    pub(crate) n: u32,
    pub(crate) k: u32,
    /// Rows of a tile of A.
    pub(crate) rows: u32,
    /// 32-bit words of K in a tile.
    pub(crate) words: u32,
    /// Vectors of columns in a tile, when they are whole ones.
    pub(crate) vectors: u32,
    /// Bytes from row to row of the operands as the micro-kernel sees them.
    pub(crate) lda: u32,
    pub(crate) ldb: u32,
    pub(crate) ldc: u32,
    pub(crate) ldr: u32,
    /// Vectors of columns in a block.
    pub(crate) group: u8,
    /// Rows in a block, by the number of its vectors.
    pub(crate) block_rows: [u8; 4],
    pub(crate) a_signed: bool,
    pub(crate) b_signed: bool,
    pub(crate) c_signed: bool,
    pub(crate) r_signed: bool,
    pub(crate) saturating: bool,
    pub(crate) relaxed: bool,
    /// Denormals count as zeros.
    pub(crate) flushes: bool,
    /// There are parts behind tiles of A, as many as the kernel wants.
    pub(crate) a_parts: bool,
    pub(crate) b_parts: bool,
    /// Tiles of A and B are parts of larger ones.
    pub(crate) sliced: bool,
    pub(crate) zero: [u8; 1],
}

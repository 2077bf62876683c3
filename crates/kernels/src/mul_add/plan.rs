//! Choosing the kernel and the shape of its blocks.

use super::flush::Flush;
use super::panel::IN_PAIRS;
use super::prepare::Scratch;
use super::{Grid, MulAdd, MulAddParams, Plan, amx, saturating};
use crate::elem::{Elem, Use};
use crate::isa::{KernelSet, Level};
use crate::kernel::KernelId;
use crate::layout::TileLayout;

/// The families of micro-kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Family {
    F32,
    Bf16,
    /// Pairs of f16, summed in f16.
    F16,
    /// Byte dot product.
    Bytes,
    /// Bytes widened to pairs of i16.
    Pairs,
    /// Integers of 32 bits, or of 16 widened to them.
    Words,
    F64,
    I64,
    /// Integers of any types, cut into parts of fewer than 64 bits.
    Saturating,
    /// Pairs of bf16 in matrix registers.
    AmxBf16,
    /// Bytes in matrix registers.
    AmxBytes,
    /// Words of f32 that are two bf16, in matrix registers.
    AmxSplit,
}

impl KernelSet {
    /// Plans the multiplication of a grid of tiles.
    #[must_use]
    pub fn plan_mul_add(self, op: &MulAdd, grid: Grid) -> Plan {
        let want = |layout: &TileLayout, use_| self.layout(layout.elem, use_, layout.rows, layout.cols);
        let family = self.family(op, grid);
        let bytes = matches!(family, Some(Family::Bytes | Family::Pairs));
        let (want_a, want_b) = match family {
            Some(Family::Words) if op.a.elem == Elem::I16 => {
                let words =
                    |layout: &TileLayout, use_| want(&TileLayout { elem: Elem::I32, ..*layout }, use_);
                (words(&op.a, Use::A), words(&op.b, Use::B))
            }
            Some(Family::Saturating) => {
                let parts =
                    |layout: &TileLayout, use_| want(&TileLayout { elem: Elem::I64, ..*layout }, use_);
                (parts(&op.a, Use::A), parts(&op.b, Use::B))
            }
            _ if bytes => (want(&op.a, Use::A), want(&op.b, Use::B)),
            _ => (op.a, op.b),
        };
        let mut params = MulAddParams {
            a: op.a,
            b: op.b,
            c: op.c,
            r: op.r,
            want_a,
            want_b,
            m: grid.m,
            n: grid.n,
            k: grid.k,
            rows: op.a.rows,
            words: 0,
            vectors: 0,
            lda: 0,
            ldb: 0,
            ldc: op.c.row_bytes() as u32,
            ldr: op.r.row_bytes() as u32,
            group: 0,
            block_rows: [0; 4],
            a_signed: op.a_signed,
            b_signed: op.b_signed,
            c_signed: op.c_signed,
            r_signed: op.r_signed,
            saturating: op.saturating && op.is_of_integers(),
            relaxed: op.relaxed,
            // Dot products do it by themselves; those of Neon are multiply-adds.
            flushes: op.flushes()
                && (self.level() == Level::Neon || !matches!(family, Some(Family::Bf16 | Family::AmxBf16))),
            a_parts: op.a_parts && amx::has_parts(&op.a, op),
            b_parts: op.b_parts && amx::has_parts(&op.b, op),
            sliced: op.sliced,
            zero: [0; 1],
        };
        let Some(family) = family else {
            let scratch_bytes = super::general::scratch_bytes(&params);
            return Plan { kernel: KernelId::MUL_ADD_GENERAL, params, scratch_bytes };
        };
        if family == Family::Saturating {
            let sums = self.layout(Elem::I64, Use::Accumulator, op.r.rows, op.r.cols).row_bytes();
            (params.ldc, params.ldr) = (sums as u32, sums as u32);
        }
        self.block(&mut params, family);
        let family = if self.amx() { in_matrix_registers(&params, family) } else { family };
        let kernel = kernel(family, op, self.is_half(&params.want_b));
        let scratch_bytes = match family {
            Family::F32 | Family::Bf16 | Family::F16 | Family::F64 | Family::I64 => 0,
            Family::Saturating => saturating::scratch_bytes(&params),
            Family::Bytes | Family::Words => Scratch::new(&params, 1).bytes,
            Family::Pairs => Scratch::new(&params, 2).bytes,
            Family::AmxBf16 | Family::AmxBytes | Family::AmxSplit => amx::scratch_bytes(&params),
        };
        Plan { kernel, params, scratch_bytes }
    }

    /// The micro-kernel for these types and layouts, if there is one.
    fn family(self, op: &MulAdd, grid: Grid) -> Option<Family> {
        let words = |layout: &TileLayout, storage| layout.storage == storage && layout.interleave == 1;
        let padded = |layout: &TileLayout| {
            layout.ld >= layout.cols.next_multiple_of(self.column_step(layout.storage, layout.cols))
        };
        let integers = op.is_of_integers();
        let bytes = op.a.elem == Elem::I8 && op.b.elem == Elem::I8;
        if op.saturating && integers {
            // Sums of bytes are kept in 32 bits before they are clamped.
            let deep = op.a.cols > i32::MAX as u32 / (255 * 255) || grid.k > 1;
            let sums = [&op.c, &op.r].iter().all(|layout| words(layout, Elem::I32) && padded(layout));
            if !(bytes && sums) || deep {
                return Some(Family::Saturating);
            }
        }
        if !padded(&op.c) || !padded(&op.r) {
            return None;
        }
        if words(&op.c, Elem::F32) && words(&op.r, Elem::F32) {
            if words(&op.a, Elem::F32) && words(&op.b, Elem::F32) && padded(&op.b) {
                return (!op.flushes() || Flush::EXISTS).then_some(Family::F32);
            }
            let pairs = op.a.use_ == Use::A && op.b.interleave == 2 && padded(&op.b);
            let factors = |elem| pairs && words(&op.a, elem) && op.b.storage == elem;
            let sums_of_f16 = op.c.elem == Elem::F16 && op.r.elem == Elem::F16;
            return match () {
                () if self.bf16_dot() && factors(Elem::BF16) => Some(Family::Bf16),
                () if self.keeps_halves() && factors(Elem::F16) && sums_of_f16 => Some(Family::F16),
                () => None,
            };
        }
        let all = |elem| [&op.a, &op.b, &op.c, &op.r].iter().all(|layout| layout.elem == elem);
        if padded(&op.b) && (all(Elem::F64) || all(Elem::I64)) {
            return Some(if integers { Family::I64 } else { Family::F64 });
        }
        if !words(&op.c, Elem::I32) || !words(&op.r, Elem::I32) {
            return None;
        }
        match (op.a.elem, op.b.elem) {
            (Elem::I16, Elem::I16) => Some(Family::Words),
            (Elem::I32, Elem::I32) if padded(&op.b) => Some(Family::Words),
            (Elem::I8, Elem::I8) if self.vnni() => Some(Family::Bytes),
            (Elem::I8, Elem::I8) => Some(Family::Pairs),
            _ => None,
        }
    }

    /// Whether tiles of B are half a vector wide.
    fn is_half(self, want_b: &TileLayout) -> bool {
        self.column_step(want_b.storage, want_b.cols) < self.words_of(want_b.storage)
    }

    /// Fills in the strides and the blocking.
    fn block(self, params: &mut MulAddParams, family: Family) {
        let depth = params.want_a.cols;
        // Bytes that the micro-kernel sees per byte of a tile.
        let widening = if family == Family::Pairs { 2 } else { 1 };
        params.lda = params.want_a.row_bytes() as u32 * widening;
        params.ldb = params.want_b.row_bytes() as u32 * widening;
        params.words = match family {
            Family::F32 | Family::Words | Family::F64 | Family::I64 => depth,
            Family::Saturating | Family::AmxSplit => depth,
            Family::Bf16 | Family::F16 | Family::Pairs | Family::AmxBf16 => depth.div_ceil(2),
            Family::Bytes | Family::AmxBytes => depth.div_ceil(4),
        };
        params.vectors = params.want_b.cols.div_ceil(self.words_of(params.want_b.storage));
        let half = self.is_half(&params.want_b);
        let total = match family {
            // Tiles are multiplied one by one.
            Family::Saturating => params.vectors,
            _ if half => params.n.div_ceil(2),
            _ => params.n * params.vectors,
        };
        let is_narrow = matches!(family, Family::Pairs | Family::Words | Family::I64 | Family::Saturating);
        let is_near = params.words.saturating_mul(params.k) <= NEAR_WORDS;
        let in_pairs = family == Family::Pairs && params.vectors.is_multiple_of(2) && is_near;
        let is_narrow = half || is_narrow;
        (params.group, params.block_rows) = blocking(self.level(), is_narrow, in_pairs, params.rows, total);
    }
}

/// The family for a processor with AMX, in place of one for others.
fn in_matrix_registers(params: &MulAddParams, family: Family) -> Family {
    // Bytes of any use are brought into the layouts of factors elsewhere.
    let lies = params.a == params.want_a && params.b == params.want_b;
    match family {
        Family::Bf16 if amx::is_possible(params) => Family::AmxBf16,
        Family::Bytes if amx::is_possible(params) && lies => Family::AmxBytes,
        Family::F32 if amx::is_possible_split(params) => Family::AmxSplit,
        other => other,
    }
}

/// Words of K up to which four vectors of B, which are read for every three rows, stay in a first cache of 32 KiB beside the
/// other operands.
const NEAR_WORDS: u32 = 128;

/// Vectors in a block, and rows in it by the number of vectors. Only blocks that the kernels are compiled for may
/// be chosen; those of `narrow` families have at most two vectors, but for four that are two pairs side by side on AVX2.
fn blocking(level: Level, narrow: bool, in_pairs: bool, rows: u32, vectors: u32) -> (u8, [u8; 4]) {
    let group = match (level, vectors) {
        (_, 1) => 1,
        (Level::Avx512, _) if narrow => 2,
        // 16 registers are too few for 4 rows of three: two vectors, and then one.
        (Level::Avx512, 3) => 3,
        // As many accumulators as with 8 rows of two vectors, but fewer loads.
        (Level::Avx512, _) if vectors.is_multiple_of(4) => 4,
        (Level::Avx2, _) if in_pairs && vectors.is_multiple_of(IN_PAIRS as u32) => IN_PAIRS as u8,
        _ => 2,
    };
    let block_rows = match level {
        // A single vector of columns needs 16 rows to cover the latency and the broadcasts.
        Level::Avx512 => [if rows.is_multiple_of(16) { 16 } else { 8 }, 8, 8, 4],
        // Three rows of four vectors have fewer instructions than six of two, as half of the vectors are operands in memory.
        // Only pairs of i16 gain, whose sums take an instruction more for each product.
        Level::Avx2 => [8, 6, 1, 3],
        Level::Neon => [8, 8, 4, 4],
        Level::Portable => [4, 4, 2, 1],
    };
    (group, block_rows)
}

/// The table entry of a family.
fn kernel(family: Family, op: &MulAdd, half: bool) -> KernelId {
    match (family, half) {
        (Family::AmxBf16, _) => KernelId::MUL_ADD_AMX_BF16,
        (Family::AmxBytes, _) => KernelId::MUL_ADD_AMX_I8,
        (Family::AmxSplit, false) => KernelId::MUL_ADD_AMX_SPLIT,
        (Family::AmxSplit, true) => KernelId::MUL_ADD_AMX_SPLIT_HALF,
        (Family::F32, false) => KernelId::MUL_ADD_F32,
        (Family::F32, true) => KernelId::MUL_ADD_F32_HALF,
        (Family::Bf16, false) => KernelId::MUL_ADD_BF16,
        (Family::Bf16, true) => KernelId::MUL_ADD_BF16_HALF,
        (Family::F16, false) => KernelId::MUL_ADD_F16,
        (Family::F16, true) => KernelId::MUL_ADD_F16_HALF,
        (Family::F64, _) => KernelId::MUL_ADD_F64,
        (Family::I64, _) => KernelId::MUL_ADD_I64,
        (Family::Saturating, _) => KernelId::MUL_ADD_SATURATING,
        (Family::Words, false) => KernelId::MUL_ADD_I32,
        (Family::Words, true) => KernelId::MUL_ADD_I32_HALF,
        (Family::Pairs, false) => KernelId::MUL_ADD_I16,
        (Family::Pairs, true) => KernelId::MUL_ADD_I16_HALF,
        // A of the same signedness as B gets its sign bits flipped, which also flips its signedness.
        (Family::Bytes, false) if op.b_signed => KernelId::MUL_ADD_U8S8,
        (Family::Bytes, true) if op.b_signed => KernelId::MUL_ADD_U8S8_HALF,
        (Family::Bytes, false) => KernelId::MUL_ADD_S8U8,
        (Family::Bytes, true) => KernelId::MUL_ADD_S8U8_HALF,
    }
}

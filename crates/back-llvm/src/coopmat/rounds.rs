//! For how many rounds of a loop multiply-adds are put off (see [`phalanx_ir::passes::chain`]), and of how many rounds blocks
//! are staged together ([`phalanx_ir::passes::stage`]).
//!
//! Sums that do not stay in the first cache are read from the second and written to it by each call of a
//! kernel, whatever its inner dimension. Longer inner dimensions make that cheap; but the factors that are
//! kept must not drive the sums out of the second cache.

use super::{layout, plan_of};
use phalanx_ir::passes::Round;
use phalanx_ir::{Function, Inst, Op, Scalar, Space, Type, Value};
use phalanx_kernels::{Grid, KernelId, KernelSet};

/// Bytes of sums that stay in the first cache beside what they are made of.
const SMALL: usize = 24 << 10;
/// Bytes of sums and kept factors that stay in the second cache.
const LARGE: usize = 768 << 10;

/// What limits the blocks that are staged together.
struct Room {
    /// Bytes of the blocks, which stay in the second cache.
    staged: u64,
    /// Bytes of a row of A in all of them.
    row: u64,
    /// Bytes of a subgroup's factors in all of them.
    tiles: u64,
}

const ROOM: Room = Room { staged: 160 << 10, row: 256, tiles: 56 << 10 };
/// The same for matrix registers, which gain more by each product between two accesses to a sum; their processors have two
/// megabytes of second cache.
const ROOM_OF_REGISTERS: Room = Room { staged: 400 << 10, row: 512, ..ROOM };

/// What limits the rounds that are done together.
struct Limits {
    /// An inner dimension beyond which there is little to gain.
    deep: u32,
    /// Most multiply-adds in one call.
    many: u32,
    /// Most rounds.
    rounds: u32,
    /// Sums of no more bytes gain nothing.
    small: usize,
}

/// A grid that is large enough for any kernel.
const MANY: Grid = Grid { m: 64, n: 64, k: 64 };

/// For vectors, which keep sums in registers and read them from the first cache for nothing.
const VECTORS: Limits = Limits { deep: 128, many: 64, rounds: 4, small: SMALL };
/// The same for words of two or four elements: as many multiply-adds take a half or a quarter of the time, which is soon
/// less than what a call costs beside them.
const PACKED: Limits = Limits { many: 256, ..VECTORS };
/// The same where a round is a single multiply-add, which takes less time than its call and its sums do.
const SINGLE: Limits = Limits { rounds: 8, small: 0, ..VECTORS };

/// How many rounds are worth doing together.
pub(crate) fn rounds(func: &Function, isa: KernelSet, round: &Round) -> u32 {
    let bytes = |ty: Type| ty.mat().map_or(0, |m| layout(isa, m).bytes());
    let sums: usize = round.sums.iter().map(|sum| bytes(func.var(sum.var).ty)).sum();
    let factors: usize = round.factors.iter().map(|&f| bytes(func.ty(f))).sum();
    let limits = limits(func, isa, round);
    let count = round.mul_adds().count() as u32;
    let depth = |inst| func.ty(func.inst(inst).args[0]).mat().map_or(0, |m| m.cols);
    let deepest = round.sums.iter().map(|sum| sum.mul_adds.iter().map(|&i| depth(i)).sum::<u32>()).max();
    let fits = |rounds: u32| {
        sums + factors * rounds as usize <= LARGE
            && deepest.unwrap_or(0) * rounds <= limits.deep
            && count * rounds <= limits.many
    };
    let is_worth = sums > limits.small && round.mul_adds().all(|inst| is_fast(func, isa, inst));
    if is_worth { (1..=limits.rounds).rev().find(|&n| fits(n)).unwrap_or(1) } else { 1 }
}

/// How many blocks of so many bytes are worth staging together, in work-groups of so many subgroups.
pub(crate) fn blocks(func: &Function, isa: KernelSet, subgroups: u32, round: &Round, bytes: u64) -> u32 {
    let tile = |ty: Type| ty.mat().map_or(0, |m| layout(isa, m).bytes() as u64);
    let tiles: u64 = round.factors.iter().map(|&f| tile(func.ty(f))).sum();
    let sums: u64 = round.sums.iter().map(|sum| tile(func.var(sum.var).ty)).sum();
    let row = |inst| func.ty(func.inst(inst).args[0]).mat().map_or(0, |m| u64::from(m.cols * m.elem.bytes()));
    let rows = round.sums.iter().map(|sum| sum.mul_adds.iter().map(|&i| row(i)).sum::<u64>());
    let longest = rows.max().unwrap_or(0);
    let is_worth = round.mul_adds().all(|inst| {
        let kernel = plan_of(func, isa, inst, Grid::ONE).kernel;
        is_fast(func, isa, inst) && (!is_wide(kernel) || sums * u64::from(subgroups) > SMALL as u64)
    });
    let is_in_registers = |inst| {
        let kernel = plan_of(func, isa, inst, MANY).kernel;
        matches!(kernel, KernelId::MUL_ADD_AMX_BF16 | KernelId::MUL_ADD_AMX_I8)
    };
    let room = if round.mul_adds().all(is_in_registers) { ROOM_OF_REGISTERS } else { ROOM };
    let fits = |n: u64| n * longest <= room.row && n * bytes <= room.staged && n * tiles <= room.tiles;
    // A power of two, as that divides most lengths.
    let most = [16, 8, 4, 2].into_iter().find(|&n| is_worth && fits(n));
    most.unwrap_or(1) as u32
}

/// The limits for the kernel of these multiply-adds. That in matrix registers takes as long to write a register of sums
/// as for a product, so it gains by any number of them, up to rows of A of half a thousand bytes; narrow matrices are
/// parts of what fills a register, too.
fn limits(func: &Function, isa: KernelSet, round: &Round) -> Limits {
    let Some(inst) = round.mul_adds().next() else { return VECTORS };
    // Narrow matrices are multiplied there only in many steps, and factors of f16 only in large grids.
    let many = if round.mul_adds().count() == 1 { Grid { m: 1, n: 1, ..MANY } } else { MANY };
    let is_staged = round.factors.iter().any(|&factor| is_of_shared_memory(func, factor));
    let bytes = match plan_of(func, isa, inst, many).kernel {
        // What is split for one subgroup is there for the others, if it is not kept for later.
        KernelId::MUL_ADD_AMX_SPLIT | KernelId::MUL_ADD_AMX_SPLIT_HALF if is_staged => {
            return Limits { rounds: 1, ..VECTORS };
        }
        KernelId::MUL_ADD_AMX_SPLIT | KernelId::MUL_ADD_AMX_SPLIT_HALF => 4,
        KernelId::MUL_ADD_AMX_BF16 => 2,
        KernelId::MUL_ADD_AMX_I8 => 1,
        // What is kept for later cannot be what another subgroup has loaded. Words of one element are so many that the
        // tiles of all subgroups then fill the second cache.
        kernel if is_staged => {
            return Limits { rounds: if is_wide(kernel) { 1 } else { VECTORS.rounds }, ..VECTORS };
        }
        _ if round.mul_adds().count() == 1 => return SINGLE,
        KernelId::MUL_ADD_GENERAL
        | KernelId::MUL_ADD_F32
        | KernelId::MUL_ADD_F32_HALF
        | KernelId::MUL_ADD_F64
        | KernelId::MUL_ADD_I64 => return VECTORS,
        _ => return PACKED,
    };
    Limits { deep: 512 / bytes, many: 256, rounds: 8, small: 0 }
}

/// Whether a kernel multiplies words of one element.
fn is_wide(kernel: KernelId) -> bool {
    use KernelId as K;
    matches!(kernel, K::MUL_ADD_F32 | K::MUL_ADD_F32_HALF | K::MUL_ADD_F64 | K::MUL_ADD_I64)
}

/// Whether a matrix is loaded from shared memory.
fn is_of_shared_memory(func: &Function, matrix: Value) -> bool {
    let info = func.inst(func.values[matrix.index()].def);
    matches!(info.op, Op::MatLoad { .. }) && func.ty(info.args[0]) == Type::Ptr(Space::Shared)
}

/// Whether a kernel keeps sums in registers from one multiply-add to the next.
fn is_fast(func: &Function, isa: KernelSet, inst: Inst) -> bool {
    let Op::MatMulAdd(flags) = func.inst(inst).op else { return false };
    let sum = func.ty(func.inst(inst).results[0]).mat();
    let is_kept = sum.is_some_and(|m| {
        use Scalar as S;
        matches!(m.elem, S::F64 | S::F32 | S::F16 | S::BF16 | S::I64 | S::I32)
    });
    let kernel = || plan_of(func, isa, inst, Grid::ONE).kernel;
    is_kept && !flags.saturate && kernel() != KernelId::MUL_ADD_GENERAL
}

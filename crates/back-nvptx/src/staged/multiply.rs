//! A block that is multiplied by `wgmma`.
//!
//! As with matrices of the work-group, a multiplication goes on while the next block is waited for, and a block is given
//! back when the one behind it was begun: PTX ISA, *Asynchronous Warpgroup Level Matrix Instructions*.

use super::fuse::{DEPTH, Fused, Side};
use crate::coopmat::round::Round;
use crate::lower::Lower;
use inkwell::values::InstructionOpcode as I;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{Inst, Scalar, Use};

/// Rows that a group of four warps multiplies at once.
const ROWS: u32 = 64;

/// The instruction for so many columns.
fn name(fused: &Fused) -> String {
    let elem = fused.a.part.m.elem;
    let sign = |is_signed| if is_signed { "s8" } else { "u8" };
    let types = match elem {
        Scalar::F16 if fused.sums == Scalar::F16 => "f16.f16.f16".to_owned(),
        Scalar::F16 => "f32.f16.f16".to_owned(),
        Scalar::BF16 => "f32.bf16.bf16".to_owned(),
        _ => format!("s32.{}.{}", sign(fused.flags.a_signed), sign(fused.flags.b_signed)),
    };
    format!("wgmma.mma_async.sync.aligned.m64n{}k{}.{types}", fused.columns(), DEPTH / elem.bytes())
}

impl<'c> Lower<'_, 'c> {
    /// Where in the block that is filled a piece lies that the program puts somewhere else.
    pub(super) fn place_in_part(&mut self, fused: &Fused, store: Inst) -> Result<V<'c>> {
        let use_ = fused.stores.get(&store).ok_or_else(|| Error::bug("a piece of no factor"))?;
        let side: &Side = if *use_ == Use::A { &fused.a } else { &fused.b };
        let p = self.ptr(self.f.inst(store).args[0])?;
        let i32_ty = self.e.cx.i32_type();
        let start = self.e.cast(I::PtrToInt, self.shared.into(), i32_ty)?;
        let object = self.e.cast(I::PtrToInt, p.base, i32_ty)?;
        let offset = self.e.zext_trunc(p.offset, 32)?;
        let from_start = self.e.add(self.e.sub(object, start)?, offset)?;
        let further = self.e.sub(from_start, self.e.i32(side.first))?;
        let line = self.e.bin(I::UDiv, further, self.e.i32(side.stride))?;
        let byte = self.e.bin(I::URem, further, self.e.i32(side.stride))?;
        let place = side.part.place(&mut self.e, line, byte)?;
        self.e.add(place, self.e.i32(side.at))
    }

    /// The descriptor of a factor that begins somewhere.
    fn descriptor_at(&mut self, side: &Side, at: V<'c>) -> Result<V<'c>> {
        let at = self.e.lshr(at, self.e.i32(4))?;
        let at = self.e.zext_trunc(at, 64)?;
        self.e.or(at, self.e.i64(side.part.descriptor().cast_signed()))
    }

    /// Begins to multiply the block, and waits until what was begun before has ended.
    pub(super) fn multiply_block(&mut self, fused: &Fused) -> Result<()> {
        let block = self.block_address()?;
        // The group of four warps, known to be the same for the warp.
        let warp = self.hardware_thread()?;
        let group = self.e.lshr(warp, self.e.i32(7))?;
        let (all, first, within) = (self.e.i32(u32::MAX), self.e.i32(0), self.e.i32(31));
        let group = self.e.intrinsic("llvm.nvvm.shfl.sync.idx.i32", &[], &[all, group, first, within])?;
        let high = fused.grid[0] / 4;
        let row = self.e.bin(I::URem, group, self.e.i32(high))?;
        let column = self.e.bin(I::UDiv, group, self.e.i32(high))?;
        let (a, b) = (&fused.a, &fused.b);
        let row = self.e.mul(row, self.e.i32(a.part.step(a.part.blocks * ROWS, 0)))?;
        let column = self.e.mul(column, self.e.i32(b.part.step(fused.columns(), 0)))?;
        let at = self.e.add(block, row)?;
        let left = self.descriptor_at(a, at)?;
        let at = self.e.add(block, self.e.i32(b.at))?;
        let at = self.e.add(at, column)?;
        let right = self.descriptor_at(b, at)?;
        let turned = |side: &Side| u32::from(!side.part.along_k);
        let round = Round {
            instruction: name(fused),
            modifiers: match a.part.m.elem {
                Scalar::I8 => String::new(),
                _ => format!(", 1, 1, {}, {}", turned(a), turned(b)),
            },
            factors: [self.e.zext_trunc(left, 32)?, self.e.zext_trunc(right, 32)?],
            high: [a, b].map(|side| (side.part.descriptor() >> 32) as u32),
            parts: (0..fused.cells.len() as u32)
                .map(|block| [a.part.step(block * ROWS, 0) / 16, 0])
                .collect(),
            steps: fused.steps(),
        };
        let adds = self.e.i32(1);
        self.change_cells(fused.var, &fused.cells.concat(), |l, words| l.begin_round(&round, &words, adds))?;
        self.act("wgmma.wait_group.sync.aligned 1;", &[])
    }

    /// Waits for all multiplications.
    pub(super) fn wait_for_cells(&mut self, fused: &Fused) -> Result<()> {
        let all = fused.cells.concat();
        self.change_cells(fused.var, &all, |l, words| l.wait_for_sums(&words, &[]))
    }
}

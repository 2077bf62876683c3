//! Sums that a round multiplies by a factor for each row, which is 1 in most rounds.
//!
//! Attention scales its sums when larger scores come. Meanwhile the warps that do multiply nothing, and the next product waits
//! for them. So a warp all of whose factors are 1 goes around the multiplications: what they give is the same.

use super::Role;
use crate::coopmat::Mat;
use crate::lower::Lower;
use phalanx_emit_llvm::{Result, V};
use phalanx_ir::{BinaryOp, CompareOp, Inst, Op, Scalar, Value};

impl<'c> Lower<'_, 'c> {
    /// The sums and the factor, if an instruction multiplies the sums of a product that is put off so.
    pub(in crate::coopmat) fn scaled_rows(&self, inst: Inst) -> Option<[Value; 2]> {
        let ring = self.ring.as_ref().filter(|ring| ring.role == Role::Multiply)?;
        let sums = self.f.inst(ring.plan.delay?.load).results[0];
        let info = self.f.inst(inst);
        let factor = match info.args[..] {
            [x, y] if x == sums => y,
            [x, y] if y == sums => x,
            _ => return None,
        };
        let is_product = info.op == Op::Binary(BinaryOp::Fmul);
        let is_single = self.f.ty(sums).mat()?.elem == Scalar::F32;
        (is_product && is_single && self.matrices.alike[factor.index()]).then_some([sums, factor])
    }

    /// Multiplies sums by a factor for each row.
    pub(in crate::coopmat) fn scale_rows(&mut self, inst: Inst, [sums, factor]: [Value; 2]) -> Result<()> {
        let (exact, ty) = (self.f.inst(inst).exact, self.mat_ty(sums)?);
        let layout = self.share_of(ty).layout;
        let (sums, factors) = (self.mat_in(sums, layout.kind)?, self.mat_in(factor, layout.kind)?);
        let mut of_rows: Vec<V<'c>> = Vec::new();
        for &factor in factors.words.iter() {
            if !of_rows.contains(&factor) {
                of_rows.push(factor);
            }
        }
        let one = self.e.scalar_const(Scalar::F32, u64::from(1.0_f32.to_bits()));
        let mut are_ones = self.e.bool(true);
        for factor in of_rows {
            let is_one = self.e.compare(CompareOp::FordEq, Scalar::F32, factor, one)?;
            are_ones = self.e.and(are_ones, is_one)?;
        }
        let all = self.e.i32(u32::MAX);
        let are_ones = self.e.intrinsic("llvm.nvvm.vote.all.sync", &[], &[all, are_ones])?;
        let multiply = |l: &mut Self| {
            let pairs = sums.words.iter().zip(factors.words.iter());
            pairs.map(|(&x, &y)| l.e.binary(BinaryOp::Fmul, Scalar::F32, x, y, exact)).collect()
        };
        let words = self.either(are_ones, |_| Ok(sums.words.to_vec()), multiply)?;
        self.set_mat(inst, Mat { layout, elem: Scalar::F32, words: words.into() })
    }
}

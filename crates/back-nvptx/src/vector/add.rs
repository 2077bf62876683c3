//! Sums of invocations, added to memory.
//!
//! Invocations of a warp that come there together and add to the same place add up what they have first, and one of them
//! adds the sum.

use super::{Matrix, Places};
use crate::lower::{Lower, Ptr};
use inkwell::IntPredicate;
use inkwell::values::InstructionOpcode as I;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{Inst, MemFlags, Scalar, Var, VecOuterAdd};

impl<'c> Lower<'_, 'c> {
    pub(crate) fn lower_vec_outer_add(&mut self, inst: Inst, op: &VecOuterAdd) -> Result<()> {
        let f = self.f;
        let args = &f.inst(inst).args;
        let shape = [op.a, op.b].map(|var| f.var(var).count);
        let stride = self.scalar(args[1])?;
        let steps = |given| op.layout.steps(op.matrix, shape[1], given);
        let Some((steps, others)) = steps(0).zip(steps(1)) else {
            return Err(Error::bug("sums in a matrix whose rows take turns"));
        };
        let places = self.lines(steps, others, stride);
        let matrix = self.matrix(args[0], op.matrix.scalar(), shape, places)?;
        self.add_to(&matrix, &|l, row, column| {
            let (a, b) = (l.vector_element(op.a, row)?, l.vector_element(op.b, column)?);
            l.e.bin(I::FMul, a, b)
        })
    }

    pub(crate) fn lower_vec_reduce_add(&mut self, inst: Inst, var: Var) -> Result<()> {
        let f = self.f;
        let (_, s) = self.vector(var)?;
        let places = Places::Lines([self.e.i64(s.bytes().into()), self.e.i64(0)]);
        let matrix = self.matrix(f.inst(inst).args[0], s, [1, f.var(var).count], places)?;
        self.add_to(&matrix, &|l, _, column| l.vector_element(var, column))
    }

    /// An element of a vector as an `f32`.
    fn vector_element(&mut self, var: Var, index: V<'c>) -> Result<V<'c>> {
        let (at, s) = self.vector(var)?;
        let at = self.e.element_ptr(self.e.scalar_ty(s), at.into(), index)?;
        let x = self.e.load(self.e.scalar_ty(s), at.into_pointer_value(), s.bytes())?;
        self.e.as_f32(s, x)
    }

    /// Adds a number (`f32`) to each element of a matrix.
    fn add_to(
        &mut self,
        m: &Matrix<'c>,
        number: &dyn Fn(&mut Self, V<'c>, V<'c>) -> Result<V<'c>>,
    ) -> Result<()> {
        let mask = self.mask()?;
        let first = self.first_of(mask)?;
        let address = self.address(&m.p)?;
        let mut is_same = self.e.bool(true);
        let steps = match m.places {
            Places::Lines(steps) => steps.to_vec(),
            Places::Paired { .. } => Vec::new(),
        };
        for x in [address, m.p.size].into_iter().chain(steps) {
            let other = self.value_of_lane(mask, Scalar::I64, x, first)?;
            let equal = self.e.icmp(IntPredicate::EQ, x, other)?;
            is_same = self.e.and(is_same, equal)?;
        }
        let same = self.ballot(mask, is_same)?;
        let are_same = self.e.icmp(IntPredicate::EQ, same, mask)?;
        let lane = self.lane()?;
        let is_first = self.e.icmp(IntPredicate::EQ, lane, first)?;
        self.either(
            are_same,
            |l| {
                l.each_element(m, &|l, row, column| {
                    let x = number(l, row, column)?;
                    let sum = l.sum_of_lanes(mask, x)?;
                    let add = |l: &mut Self| l.add_at(m, row, column, sum).map(|()| Vec::new());
                    l.either(is_first, add, |_| Ok(Vec::new())).map(|_nothing| ())
                })
            },
            |l| {
                l.each_element(m, &|l, row, column| {
                    let x = number(l, row, column)?;
                    l.add_at(m, row, column, x)
                })
            },
        )
        .map(|_nothing| ())
    }

    fn each_element(
        &mut self,
        m: &Matrix<'c>,
        f: &dyn Fn(&mut Self, V<'c>, V<'c>) -> Result<()>,
    ) -> Result<Vec<V<'c>>> {
        self.repeat(m.rows, &[], |l, row, _| {
            l.repeat(m.columns, &[], |l, column, _| {
                f(l, row, column)?;
                Ok(Vec::new())
            })
        })
    }

    /// Adds to an element, unless it is outside. One that is not aligned can't be added to atomically.
    fn add_at(&mut self, m: &Matrix<'c>, row: V<'c>, column: V<'c>, x: V<'c>) -> Result<()> {
        let p = self.place_in(m, row, column)?;
        let bytes = u64::from(m.elem.bytes());
        let add = |l: &mut Self| {
            let at = l.place(&p)?;
            let is_aligned = l.is_aligned(at, bytes)?;
            let sum = |e: &mut phalanx_emit_llvm::Emit<'c>, old: V<'c>| {
                let sum = e.as_f32(m.elem, old)?;
                let sum = e.bin(I::FAdd, sum, x)?;
                e.round_f32(m.elem, sum)
            };
            let atomically = |l: &mut Self| l.e.atomic_update(m.elem, at, sum).map(|_old| Vec::new());
            let in_pieces = |l: &mut Self| l.add_in_pieces(&p, m.elem, sum);
            l.either(is_aligned, atomically, in_pieces)
        };
        match self.inside(&p, bytes)? {
            None => add(self),
            Some(inside) => self.either(inside, add, |_| Ok(Vec::new())),
        }
        .map(|_nothing| ())
    }

    fn add_in_pieces(
        &mut self,
        p: &Ptr<'c>,
        s: Scalar,
        sum: impl FnOnce(&mut phalanx_emit_llvm::Emit<'c>, V<'c>) -> Result<V<'c>>,
    ) -> Result<Vec<V<'c>>> {
        let flags = MemFlags::default();
        let old = self.read(p, s, 1, 1, flags)?;
        let new = sum(&mut self.e, old[0])?;
        self.write(p, s, &[new], 1, flags)?;
        Ok(Vec::new())
    }
}

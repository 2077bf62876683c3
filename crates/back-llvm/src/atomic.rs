//! Atomic operations.
//!
//! Lanes act one after the other: each active lane does its operation in a loop. Operations that
//! no processor has (on floats) are loops of compare-and-exchange. All are relaxed.

use crate::emit::V;
use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::value::{Ptr, Val};
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValue, PointerValue};
use inkwell::{AtomicOrdering, AtomicRMWBinOp};
use phalanx_ir::{AtomicOp, BinaryOp, Inst, Scalar, Space};

impl<'c> Lower<'_, 'c> {
    pub(crate) fn lower_atomic(&mut self, inst: Inst, op: AtomicOp) -> Result<()> {
        let f = self.f;
        let info = f.inst(inst);
        let p = self.ptr(info.args[0])?;
        let s = match info.results.first() {
            Some(&r) => self.scalar_ty(r)?,
            None => self.scalar_ty(info.args[1])?,
        };
        self.check_access(inst, &p, s.bytes().into(), op != AtomicOp::Load)?;
        let operands = info.args[1..].iter().map(|&v| self.scalar(v)).collect::<Result<Vec<_>>>()?;
        let one_place = p.base.is_uniform() && p.size.is_uniform() && p.offset.is_uniform();
        if one_place && op == AtomicOp::Load {
            let v = self.atomic_at(op, s, &p, [p.base.v, p.size.v, p.offset.v], &[])?;
            let v = v.ok_or_else(|| Error::bug("an atomic load has a result"))?;
            self.set(inst, Val::uniform(v));
            return Ok(());
        }
        let ty: BasicTypeEnum<'c> = self.e.vec_of(self.e.scalar_ty(s), self.w).into();
        let slot = self.spill_slot(ty, 0)?;
        let has_result = !info.results.is_empty();
        if has_result {
            // Lanes that don't take part must not hold what LLVM may take for any value.
            self.e.b.build_store(slot, self.e.zero(ty))?;
        }
        self.each_active_lane(|l, lane| {
            let place = [l.at_lane(p.base, lane)?, l.at_lane(p.size, lane)?, l.at_lane(p.offset, lane)?];
            let xs = operands.iter().map(|&x| l.at_lane(x, lane)).collect::<Result<Vec<_>>>()?;
            if let Some(old) = l.atomic_at(op, s, &p, place, &xs)?.filter(|_| has_result) {
                let at = l.e.element_ptr(l.e.scalar_ty(s), slot.into(), lane)?;
                l.e.store(old, at.into_pointer_value(), 1)?;
            }
            Ok(())
        })?;
        if has_result {
            let v = self.e.b.build_load(ty, slot, "")?;
            self.set(inst, Val::varying(v));
        }
        Ok(())
    }

    /// One operation at a place (base, size, offset). Out of bounds it acts on a place that nobody
    /// reads, and gives zero.
    fn atomic_at(
        &mut self,
        op: AtomicOp,
        s: Scalar,
        p: &Ptr<'c>,
        [base, size, offset]: [V<'c>; 3],
        xs: &[V<'c>],
    ) -> Result<Option<V<'c>>> {
        if p.space == Space::Global {
            let at = self.e.cast(inkwell::values::InstructionOpcode::IntToPtr, offset, self.e.ptr_ty())?;
            return self.atomic_op(op, s, at.into_pointer_value(), xs);
        }
        let at = self.e.offset(base, offset)?;
        let inside = self.is_inside(offset, size, s.bytes().into())?;
        let nowhere = self.spill_slot(self.e.cx.i64_type().into(), u32::MAX)?;
        self.e.store(self.e.i64(0), nowhere, 8)?;
        let at = self.e.select(inside, at, nowhere.into())?.into_pointer_value();
        match self.atomic_op(op, s, at, xs)? {
            Some(old) => Ok(Some(self.e.select(inside, old, self.e.zero(old.get_type()))?)),
            None => Ok(None),
        }
    }

    fn atomic_op(
        &mut self,
        op: AtomicOp,
        s: Scalar,
        at: PointerValue<'c>,
        xs: &[V<'c>],
    ) -> Result<Option<V<'c>>> {
        use AtomicRMWBinOp as R;
        let x = xs.first().copied();
        let operand = || x.ok_or_else(|| Error::bug("an atomic operation lacks its operand"));
        let rmw = match op {
            AtomicOp::Load => return self.atomic_load(s, at).map(Some),
            AtomicOp::Store => return self.atomic_store(s, at, operand()?).map(|()| None),
            AtomicOp::CompareExchange => {
                let [value, comparator] = xs else {
                    return Err(Error::bug("compare-and-exchange has two operands"));
                };
                let (new, old) = (self.as_bits(s, *value)?, self.as_bits(s, *comparator)?);
                let (found, _) = self.compare_exchange(at, old, new)?;
                return self.with_bits(s, found).map(Some);
            }
            AtomicOp::Fadd => return self.atomic_loop(BinaryOp::Fadd, s, at, operand()?).map(Some),
            AtomicOp::Fmin => return self.atomic_loop(BinaryOp::Fmin, s, at, operand()?).map(Some),
            AtomicOp::Fmax => return self.atomic_loop(BinaryOp::Fmax, s, at, operand()?).map(Some),
            AtomicOp::Exchange => R::Xchg,
            AtomicOp::Iadd => R::Add,
            AtomicOp::Isub => R::Sub,
            AtomicOp::Smin => R::Min,
            AtomicOp::Smax => R::Max,
            AtomicOp::Umin => R::UMin,
            AtomicOp::Umax => R::UMax,
            AtomicOp::And => R::And,
            AtomicOp::Or => R::Or,
            AtomicOp::Xor => R::Xor,
        };
        let x = self.as_bits(s, operand()?)?.into_int_value();
        let old = self.e.b.build_atomicrmw(rmw, at, x, AtomicOrdering::Monotonic)?;
        self.with_bits(s, old.into()).map(Some)
    }

    fn atomic_load(&mut self, s: Scalar, at: PointerValue<'c>) -> Result<V<'c>> {
        let v = self.e.load(self.e.int_ty(s.bits()), at, s.bytes())?;
        if let Some(inst) = v.as_instruction_value() {
            inst.set_atomic_ordering(AtomicOrdering::Monotonic).map_err(|e| Error::bug(e.to_string()))?;
        }
        // A loop that waits for another's write must read again.
        self.e.set_volatile(v)?;
        self.with_bits(s, v)
    }

    fn atomic_store(&mut self, s: Scalar, at: PointerValue<'c>, x: V<'c>) -> Result<()> {
        let x = self.as_bits(s, x)?;
        let inst = self.e.store(x, at, s.bytes())?;
        inst.set_atomic_ordering(AtomicOrdering::Monotonic).map_err(|e| Error::bug(e.to_string()))
    }

    /// Replaces `old` (integers) if it is there; gives what was there, and whether it was.
    fn compare_exchange(&mut self, at: PointerValue<'c>, old: V<'c>, new: V<'c>) -> Result<(V<'c>, V<'c>)> {
        let order = AtomicOrdering::Monotonic;
        let pair = self.e.b.build_cmpxchg(at, old.into_int_value(), new.into_int_value(), order, order)?;
        let found = self.e.b.build_extract_value(pair, 0, "")?;
        Ok((found, self.e.b.build_extract_value(pair, 1, "")?))
    }

    /// Tries until nobody else has written between the read and the write.
    fn atomic_loop(&mut self, op: BinaryOp, s: Scalar, at: PointerValue<'c>, x: V<'c>) -> Result<V<'c>> {
        let int = self.e.int_ty(s.bits());
        let first = self.e.load(int, at, s.bytes())?;
        if let Some(inst) = first.as_instruction_value() {
            inst.set_atomic_ordering(AtomicOrdering::Monotonic).map_err(|e| Error::bug(e.to_string()))?;
        }
        let [again, done] = ["atomic", "atomic_done"].map(|n| self.new_block(n));
        let before = self.e.here()?;
        self.e.br(again)?;

        self.e.b.position_at_end(again);
        let phi = self.e.b.build_phi(int, "old")?;
        phi.add_incoming(&[(&first, before)]);
        let old_bits = phi.as_basic_value();
        let old = self.with_bits(s, old_bits)?;
        let new = self.binary(op, s, old, x, true)?;
        let new = self.as_bits(s, new)?;
        let (found, ok) = self.compare_exchange(at, old_bits, new)?;
        phi.add_incoming(&[(&found, self.e.here()?)]);
        self.e.cond_br(ok, done, again)?;
        self.e.b.position_at_end(done);
        Ok(old)
    }

    /// A scalar as the integer with its bits.
    pub(crate) fn as_bits(&mut self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        self.e.bitcast(x, self.e.ty_like(self.e.int_ty(s.bits()), x))
    }

    /// The scalar with the bits of an integer.
    pub(crate) fn with_bits(&mut self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        self.e.bitcast(x, self.e.ty_like(self.e.scalar_ty(s), x))
    }
}

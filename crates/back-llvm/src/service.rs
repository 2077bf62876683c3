//! Barriers, printing and the clock, and leaving a block of work-groups to its members.

use crate::abi::offset;
use crate::emit::V;
use crate::error::Result;
use crate::lower::Lower;
use crate::prologue::Field;
use crate::value::Val;
use inkwell::values::PointerValue;
use inkwell::{AtomicOrdering, IntPredicate};
use phalanx_ir::{Barrier, Inst, Scope, Value};

impl<'c> Lower<'_, 'c> {
    pub(crate) fn lower_barrier(&mut self, barrier: Barrier) -> Result<()> {
        // The lanes of a subgroup execute one after the other's instruction: they need no barrier,
        // but what they wrote has to be in memory for others.
        if barrier.execution < Scope::Workgroup {
            if barrier.memory > Scope::Subgroup {
                self.e.b.build_fence(AtomicOrdering::AcquireRelease, false, "")?;
            }
            return Ok(());
        }
        self.workgroup_barrier()
    }

    /// Waits for the other subgroups of the work-group.
    pub(crate) fn workgroup_barrier(&mut self) -> Result<()> {
        let Some(suspends) = self.prologue.suspends else {
            self.e.b.build_fence(AtomicOrdering::AcquireRelease, false, "")?;
            return Ok(());
        };
        self.suspend(suspends)?;
        self.leave_if_stopped()
    }

    /// Calls the host for each active lane.
    pub(crate) fn lower_printf(&mut self, inst: Inst, format: u32) -> Result<()> {
        let args = &self.f.inst(inst).args;
        let printf = self.table_entry(Field::Services, offset::SERVICES_PRINTF as u64)?;
        self.each_active_lane(|l, lane| l.tell(printf, format, lane, args))
    }

    /// Calls the host for the lanes whose condition holds, if there are any.
    pub(crate) fn lower_warn(&mut self, inst: Inst, format: u32) -> Result<()> {
        let Some((&cond, args)) = self.f.inst(inst).args.split_first() else { return Ok(()) };
        let Some((any, lanes)) = self.holds_anywhere(cond)? else { return Ok(()) };
        let [told, fine] = ["warn", "fine"].map(|n| self.new_block(n));
        self.e.cond_br(any, told, fine)?;
        self.e.b.position_at_end(told);
        let warn = self.table_entry(Field::Services, offset::SERVICES_WARN as u64)?;
        self.each_lane(lanes, |l, lane| l.tell(warn, format, lane, args))?;
        self.e.br(fine)?;
        self.e.b.position_at_end(fine);
        Ok(())
    }

    /// Leaves with all lanes if the condition holds in one that is active, and says so.
    pub(crate) fn lower_decline(&mut self, inst: Inst) -> Result<()> {
        let Some((any, _lanes)) = self.holds_anywhere(self.args(inst)[0])? else { return Ok(()) };
        let [declines, goes_on] = ["declines", "goes_on"].map(|n| self.new_block(n));
        self.e.cond_br(any, declines, goes_on)?;
        self.e.b.position_at_end(declines);
        let at = self.e.field(self.prologue.context, offset::SUBGROUP_DECLINED as u64)?;
        self.e.store(self.e.i32(1), at, 4)?;
        self.e.br(self.prologue.ret)?;
        self.e.b.position_at_end(goes_on);
        Ok(())
    }

    /// Whether a condition holds in an active lane, and in which; none if it does in no case.
    fn holds_anywhere(&mut self, cond: Value) -> Result<Option<(V<'c>, V<'c>)>> {
        let cond = self.scalar(cond)?;
        let mask = self.exec_mask();
        if !cond.is_uniform() {
            let lanes = self.e.and(mask, self.vector(cond)?)?;
            return Ok(Some((self.e.any(lanes)?, lanes)));
        }
        let is_never = crate::emit::const_int(cond.v) == Some(0);
        Ok((!is_never).then_some((cond.v, mask)))
    }

    /// Calls a service that prints a lane's scalars.
    fn tell(&mut self, service: PointerValue<'c>, format: u32, lane: V<'c>, args: &[Value]) -> Result<()> {
        let words = self.e.cx.i64_type().array_type(args.len().max(1) as u32);
        let slot = self.spill_slot(words.into(), 0)?;
        for (i, &arg) in args.iter().enumerate() {
            let (s, v) = (self.scalar_ty(arg)?, self.scalar(arg)?);
            let x = self.at_lane(v, lane)?;
            let bits = self.e.bitcast(x, self.e.int_ty(s.bits()).into())?;
            let word = self.e.zext_trunc(bits, 64)?;
            let at = self.e.field(slot, 8 * i as u64)?;
            self.e.store(word, at, 8)?;
        }
        let (format, n) = (self.e.i32(format), self.e.i32(args.len() as u32));
        let context = self.prologue.context.into();
        self.e.call(service, &[context, format, lane, slot.into(), n], None)?;
        Ok(())
    }

    pub(crate) fn lower_clock(&mut self, inst: Inst) -> Result<()> {
        let name = if self.e.caps.is_x86 { "llvm.readcyclecounter" } else { "llvm.readsteadycounter" };
        let now = self.e.intrinsic(name, &[], &[])?;
        self.set(inst, Val::uniform(now));
        Ok(())
    }

    /// Runs code once for each active lane in order, with the lane's number (`i32`).
    pub(crate) fn each_active_lane(
        &mut self,
        body: impl FnOnce(&mut Self, V<'c>) -> Result<()>,
    ) -> Result<()> {
        self.each_lane(self.exec_mask(), body)
    }

    /// The same for each lane of a mask that has some.
    fn each_lane(&mut self, mask: V<'c>, body: impl FnOnce(&mut Self, V<'c>) -> Result<()>) -> Result<()> {
        let bits = self.e.mask_bits(mask)?;
        let (zero, one) = (self.e.int_like(bits, 0), self.e.int_like(bits, 1));
        let [head, exit] = ["lane", "lanes_done"].map(|n| self.new_block(n));
        let before = self.e.here()?;
        self.e.br(head)?;

        self.e.b.position_at_end(head);
        let rest = self.e.b.build_phi(bits.get_type(), "rest")?;
        rest.add_incoming(&[(&bits, before)]);
        let yes = self.e.bool(true);
        let now = rest.as_basic_value();
        let lane = self.e.intrinsic("llvm.cttz", &[bits.get_type()], &[now, yes])?;
        let lane = self.e.zext_trunc(lane, 32)?;
        body(self, lane)?;
        let below = self.e.sub(now, one)?;
        let next = self.e.and(now, below)?;
        rest.add_incoming(&[(&next, self.e.here()?)]);
        let done = self.e.icmp(IntPredicate::EQ, next, zero)?;
        self.e.cond_br(done, exit, head)?;
        self.e.b.position_at_end(exit);
        Ok(())
    }
}

//! Operations of a subgroup.
//!
//! Each is done by the threads of the current mask, which come here together. Where the mask is the whole warp for
//! sure, reductions and scans take five steps; otherwise the threads of the mask are gone through one by one.

use crate::lower::Lower;
use inkwell::IntPredicate;
use inkwell::values::BasicValue;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::eval::reduce_identity;
use phalanx_ir::{CompareOp, Inst, ReduceOp, Scalar, SubgroupOp};

/// Which lanes a lane takes from.
#[derive(Clone, Copy, Debug)]
enum Taken<'c> {
    /// All of its cluster of so many.
    Cluster(u32),
    /// Those up to it.
    UpTo,
    /// Those below it.
    Below,
    /// Those of a set, up to it or below it if said so.
    Set(V<'c>, Bound),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    None,
    UpTo,
    Below,
}

impl<'c> Lower<'_, 'c> {
    pub(crate) fn lower_subgroup(&mut self, inst: Inst, op: SubgroupOp) -> Result<()> {
        let f = self.f;
        let info = f.inst(inst);
        let args = info.args.iter().map(|&v| self.scalar(v)).collect::<Result<Vec<_>>>()?;
        let s = match info.args.first() {
            Some(&x) => self.scalar_ty(x)?,
            None => Scalar::Bool,
        };
        let mask = self.mask()?;
        let v = match (op, &args[..]) {
            (SubgroupOp::Elect, []) => {
                let first = self.first_of(mask)?;
                let lane = self.lane()?;
                self.e.icmp(IntPredicate::EQ, lane, first)?
            }
            (SubgroupOp::All, &[x]) => {
                let yes = self.ballot(mask, x)?;
                self.e.icmp(IntPredicate::EQ, yes, mask)?
            }
            (SubgroupOp::Any, &[x]) => {
                let yes = self.ballot(mask, x)?;
                self.e.icmp(IntPredicate::NE, yes, self.e.i32(0))?
            }
            (SubgroupOp::AllEqual, &[x]) => {
                let first = self.first_of(mask)?;
                let other = self.value_of_lane(mask, s, x, first)?;
                let equal = self.is_equal(s, x, other)?;
                let yes = self.ballot(mask, equal)?;
                self.e.icmp(IntPredicate::EQ, yes, mask)?
            }
            (SubgroupOp::Broadcast | SubgroupOp::Shuffle, &[x, lane]) => self.shuffle(mask, s, x, lane)?,
            (SubgroupOp::BroadcastFirst, &[x]) => {
                let first = self.first_of(mask)?;
                self.value_of_lane(mask, s, x, first)?
            }
            (SubgroupOp::Ballot, &[x]) => {
                let yes = self.ballot(mask, x)?;
                return self.set_ballot(inst, yes);
            }
            (SubgroupOp::Reduce(op, cluster), &[x]) => {
                self.reduce(mask, op, s, x, Taken::Cluster(cluster.unwrap_or(32).min(32)))?
            }
            (SubgroupOp::InclusiveScan(op), &[x]) => self.reduce(mask, op, s, x, Taken::UpTo)?,
            (SubgroupOp::ExclusiveScan(op), &[x]) => self.reduce(mask, op, s, x, Taken::Below)?,
            (SubgroupOp::PartitionedReduce(op), &[x, set, ..]) => {
                self.reduce(mask, op, s, x, Taken::Set(set, Bound::None))?
            }
            (SubgroupOp::PartitionedInclusiveScan(op), &[x, set, ..]) => {
                self.reduce(mask, op, s, x, Taken::Set(set, Bound::UpTo))?
            }
            (SubgroupOp::PartitionedExclusiveScan(op), &[x, set, ..]) => {
                self.reduce(mask, op, s, x, Taken::Set(set, Bound::Below))?
            }
            (SubgroupOp::Partition, &[x]) => {
                let same = self.partition(mask, s, x)?;
                return self.set_ballot(inst, same);
            }
            _ => return Err(Error::bug("an operation of a subgroup has the wrong number of operands")),
        };
        self.set(inst, v);
        Ok(())
    }

    fn set_ballot(&mut self, inst: Inst, low: V<'c>) -> Result<()> {
        let f = self.f;
        for (i, &result) in f.inst(inst).results.iter().enumerate() {
            let word = if i == 0 { low } else { self.e.i32(0) };
            self.define(result, word);
        }
        Ok(())
    }

    pub(crate) fn lane(&mut self) -> Result<V<'c>> {
        let thread = self.thread()?;
        self.e.and(thread, self.e.i32(31))
    }

    /// The lowest lane of a mask that has one.
    pub(crate) fn first_of(&mut self, mask: V<'c>) -> Result<V<'c>> {
        let not_zero = self.e.bool(true);
        self.e.intrinsic("llvm.cttz", &[mask.get_type()], &[mask, not_zero])
    }

    /// Equal by value.
    fn is_equal(&mut self, s: Scalar, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let op = if s.is_float() { CompareOp::FordEq } else { CompareOp::Ieq };
        self.e.compare(op, s, x, y)
    }

    /// What a lane of the mask has.
    pub(crate) fn value_of_lane(&mut self, mask: V<'c>, s: Scalar, x: V<'c>, lane: V<'c>) -> Result<V<'c>> {
        self.exchange("llvm.nvvm.shfl.sync.idx.i32", mask, s, x, lane, 31)
    }

    /// Moves scalars between lanes by an instruction for words.
    fn exchange(
        &mut self,
        name: &'static str,
        mask: V<'c>,
        s: Scalar,
        x: V<'c>,
        lane: V<'c>,
        clamp: u32,
    ) -> Result<V<'c>> {
        let clamp = self.e.i32(clamp);
        let bits = self.as_bits(s, x)?;
        if s.bits() < 64 {
            let word = self.e.zext_trunc(bits, 32)?;
            let word = self.e.intrinsic(name, &[], &[mask, word, lane, clamp])?;
            let bits = self.e.zext_trunc(word, s.bits())?;
            return self.with_bits(s, bits);
        }
        let low = self.e.zext_trunc(bits, 32)?;
        let high = self.e.zext_trunc(self.e.lshr(bits, self.e.i64(32))?, 32)?;
        let low = self.e.intrinsic(name, &[], &[mask, low, lane, clamp])?;
        let high = self.e.intrinsic(name, &[], &[mask, high, lane, clamp])?;
        let high = self.e.shl(self.e.zext_trunc(high, 64)?, self.e.i64(32))?;
        let bits = self.e.or(self.e.zext_trunc(low, 64)?, high)?;
        self.with_bits(s, bits)
    }

    /// What any lane has; zero of one that is not here.
    fn shuffle(&mut self, mask: V<'c>, s: Scalar, x: V<'c>, lane: V<'c>) -> Result<V<'c>> {
        let y = self.value_of_lane(mask, s, x, lane)?;
        let low = self.e.and(lane, self.e.i32(31))?;
        let bit = self.e.and(self.e.lshr(mask, low)?, self.e.i32(1))?;
        let is_here = self.e.icmp(IntPredicate::NE, bit, self.e.i32(0))?;
        let exists = self.e.icmp(IntPredicate::ULT, lane, self.e.i32(32))?;
        let is_here = self.e.and(is_here, exists)?;
        self.e.select(is_here, y, self.e.zero(y.get_type()))
    }

    fn combine(&mut self, op: ReduceOp, s: Scalar, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.e.binary(op.step(), s, x, y, true)
    }

    /// The sum of what the lanes of a mask have (`f32`).
    pub(crate) fn sum_of_lanes(&mut self, mask: V<'c>, x: V<'c>) -> Result<V<'c>> {
        self.reduce(mask, ReduceOp::Fadd, Scalar::F32, x, Taken::Cluster(32))
    }

    fn reduce(&mut self, mask: V<'c>, op: ReduceOp, s: Scalar, x: V<'c>, taken: Taken<'c>) -> Result<V<'c>> {
        let is_whole = self.is_whole();
        match taken {
            Taken::Cluster(size) if is_whole => {
                let mut sum = x;
                let mut step = 1;
                while step < size {
                    let step_value = self.e.i32(step);
                    let name = "llvm.nvvm.shfl.sync.bfly.i32";
                    let other = self.exchange(name, mask, s, sum, step_value, 31)?;
                    sum = self.combine(op, s, sum, other)?;
                    step *= 2;
                }
                Ok(sum)
            }
            Taken::UpTo | Taken::Below if is_whole => {
                let lane = self.lane()?;
                let identity = self.e.scalar_const(s, reduce_identity(op, s));
                let mut sum = x;
                if matches!(taken, Taken::Below) {
                    sum = self.value_below(mask, s, x, 1, lane, identity)?;
                }
                for step in [1, 2, 4, 8, 16] {
                    let other = self.value_below(mask, s, sum, step, lane, identity)?;
                    let more = self.combine(op, s, other, sum)?;
                    let has_other = self.e.icmp(IntPredicate::UGE, lane, self.e.i32(step))?;
                    sum = self.e.select(has_other, more, sum)?;
                }
                Ok(sum)
            }
            _ => self.one_by_one(mask, op, s, x, taken),
        }
    }

    /// Whether nothing but a whole warp can be here.
    fn is_whole(&self) -> bool {
        self.layout.threads.is_multiple_of(32) && !self.uniformity.is_divergent_block(self.here)
    }

    /// What the lane so far below has; a substitute where there is none.
    fn value_below(
        &mut self,
        mask: V<'c>,
        s: Scalar,
        x: V<'c>,
        step: u32,
        lane: V<'c>,
        substitute: V<'c>,
    ) -> Result<V<'c>> {
        let distance = self.e.i32(step);
        let y = self.exchange("llvm.nvvm.shfl.sync.up.i32", mask, s, x, distance, 0)?;
        let exists = self.e.icmp(IntPredicate::UGE, lane, distance)?;
        self.e.select(exists, y, substitute)
    }

    /// A reduction that goes through the lanes of the mask from the lowest on.
    fn one_by_one(
        &mut self,
        mask: V<'c>,
        op: ReduceOp,
        s: Scalar,
        x: V<'c>,
        taken: Taken<'c>,
    ) -> Result<V<'c>> {
        let lane = self.lane()?;
        let own = self.e.shl(self.e.i32(1), lane)?;
        let below = self.e.sub(own, self.e.i32(1))?;
        let up_to = self.e.or(below, own)?;
        let set = match taken {
            Taken::Cluster(32) => self.e.i32(u32::MAX),
            Taken::Cluster(size) => {
                let first = self.e.and(lane, self.e.i32(!(size - 1)))?;
                self.e.shl(self.e.i32(((1_u64 << size) - 1) as u32), first)?
            }
            Taken::UpTo => up_to,
            Taken::Below => below,
            Taken::Set(set, Bound::None) => set,
            Taken::Set(set, Bound::UpTo) => self.e.and(set, up_to)?,
            Taken::Set(set, Bound::Below) => self.e.and(set, below)?,
        };
        let set = self.e.and(set, mask)?;
        let identity = self.e.scalar_const(s, reduce_identity(op, s));
        let is_empty = self.e.bool(true);
        let [sum, _] = self.each_lane(mask, s, x, [identity, is_empty], |l, bit, y, [sum, is_empty]| {
            let is_taken = l.e.icmp(IntPredicate::NE, l.e.and(set, bit)?, l.e.i32(0))?;
            let more = l.combine(op, s, sum, y)?;
            // The first is taken as it is, so that an identity that is not quite one does not matter.
            let more = l.e.select(is_empty, y, more)?;
            let sum = l.e.select(is_taken, more, sum)?;
            let still_empty = l.e.and(is_empty, l.e.not(is_taken)?)?;
            Ok([sum, still_empty])
        })?;
        Ok(sum)
    }

    /// The lanes of the mask that have the same value.
    fn partition(&mut self, mask: V<'c>, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        // A NaN is in a partition of its own.
        let lane = self.lane()?;
        let own = self.e.shl(self.e.i32(1), lane)?;
        let [same, _] = self.each_lane(mask, s, x, [own, own], |l, bit, y, [same, unused]| {
            let equal = l.is_equal(s, x, y)?;
            let more = l.e.or(same, bit)?;
            Ok([l.e.select(equal, more, same)?, unused])
        })?;
        Ok(same)
    }

    /// Does something in all lanes of the mask for each of them, from the lowest on: with its bit and what it has.
    fn each_lane(
        &mut self,
        mask: V<'c>,
        s: Scalar,
        x: V<'c>,
        start: [V<'c>; 2],
        body: impl FnOnce(&mut Self, V<'c>, V<'c>, [V<'c>; 2]) -> Result<[V<'c>; 2]>,
    ) -> Result<[V<'c>; 2]> {
        let [again, done] = ["lanes", "lanes_done"].map(|name| self.new_block(name));
        let before = self.e.here()?;
        self.e.br(again)?;
        self.e.b.position_at_end(again);
        let rest = self.carried(mask, before)?;
        let state = [self.carried(start[0], before)?, self.carried(start[1], before)?];
        let lanes = rest.as_basic_value();
        let lane = self.first_of(lanes)?;
        let bit = self.e.shl(self.e.i32(1), lane)?;
        let y = self.value_of_lane(mask, s, x, lane)?;
        let next = body(self, bit, y, state.map(|phi| phi.as_basic_value()))?;
        let less = self.e.sub(lanes, self.e.i32(1))?;
        let less = self.e.and(lanes, less)?;
        let end = self.e.here()?;
        rest.add_incoming(&[(&less, end)]);
        for (phi, v) in state.iter().zip(&next) {
            let v: &dyn BasicValue<'c> = v;
            phi.add_incoming(&[(v, end)]);
        }
        let more = self.e.icmp(IntPredicate::NE, less, self.e.i32(0))?;
        self.e.cond_br(more, again, done)?;
        self.e.b.position_at_end(done);
        Ok(next)
    }
}

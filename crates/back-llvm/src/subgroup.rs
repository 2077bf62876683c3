//! Operations between the lanes of a subgroup: shuffles of one vector.
//!
//! Lanes that do not take part are replaced by the operation's identity first. Then a reduction
//! halves the vector until one element is left, a clustered one exchanges ever larger halves of
//! the clusters, and a scan adds the vector to itself, moved by 1, 2, 4, ... lanes.

use crate::emit::{V, const_elems, const_int};
use crate::error::{Error, Result};
use crate::lower::{Exec, Lower};
use crate::value::{Lowered, Val};
use inkwell::IntPredicate;
use inkwell::types::BasicTypeEnum;
use inkwell::values::InstructionOpcode;
use phalanx_ir::{CompareOp, Inst, InstInfo, ReduceOp, Scalar, SubgroupOp, eval};

/// Which lanes a reduction takes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Range {
    All,
    Inclusive,
    Exclusive,
}

impl<'c> Lower<'_, 'c> {
    pub(crate) fn lower_subgroup(&mut self, inst: Inst, op: SubgroupOp) -> Result<()> {
        let f = self.f;
        let info = f.inst(inst);
        let arg = |l: &Self, i: usize| match info.args.get(i) {
            Some(&v) => l.scalar(v),
            None => Err(Error::bug("a subgroup operation lacks an operand")),
        };
        let result = match op {
            SubgroupOp::Elect => {
                let first = self.first_lane()?;
                let lanes = self.lane_numbers();
                let first = self.e.splat(first, self.w)?;
                Val::varying(self.e.icmp(IntPredicate::EQ, lanes, first)?)
            }
            SubgroupOp::All => {
                let x = arg(self, 0)?;
                self.vote_all(x)?
            }
            SubgroupOp::Any => {
                let x = arg(self, 0)?;
                self.vote_any(x)?
            }
            SubgroupOp::AllEqual => {
                let x = arg(self, 0)?;
                let equal = self.equal_to_first(self.scalar_ty(info.args[0])?, x)?;
                self.vote_all(equal)?
            }
            SubgroupOp::Broadcast => {
                let (x, lane) = (arg(self, 0)?, arg(self, 1)?);
                let lane = self.first(lane)?;
                Val::uniform(self.broadcast(x, lane)?)
            }
            SubgroupOp::BroadcastFirst => {
                let x = arg(self, 0)?;
                Val::uniform(self.first(x)?)
            }
            SubgroupOp::Ballot => {
                let x = arg(self, 0)?;
                let lanes = self.active_where(x)?;
                return self.set_ballot(info, lanes);
            }
            SubgroupOp::Shuffle => {
                let (x, lane) = (arg(self, 0)?, arg(self, 1)?);
                self.shuffle(x, lane)?
            }
            SubgroupOp::Reduce(r, cluster) => {
                let (s, x) = (self.scalar_ty(info.args[0])?, arg(self, 0)?);
                self.reduce(r, s, x, cluster.unwrap_or(self.w))?
            }
            SubgroupOp::InclusiveScan(r) | SubgroupOp::ExclusiveScan(r) => {
                let (s, x) = (self.scalar_ty(info.args[0])?, arg(self, 0)?);
                let x = self.with_identity(r, s, x, self.exec)?;
                let is_inclusive = matches!(op, SubgroupOp::InclusiveScan(_));
                Val::varying(if is_inclusive { self.scan(r, s, x)? } else { self.exclusive_scan(r, s, x)? })
            }
            SubgroupOp::PartitionedReduce(r) => return self.partitioned(info, r, Range::All),
            SubgroupOp::PartitionedInclusiveScan(r) => return self.partitioned(info, r, Range::Inclusive),
            SubgroupOp::PartitionedExclusiveScan(r) => return self.partitioned(info, r, Range::Exclusive),
            SubgroupOp::Partition => return self.partition(info),
        };
        self.set(inst, result);
        Ok(())
    }

    /// The lanes' numbers.
    pub(crate) fn lane_numbers(&self) -> V<'c> {
        self.e.const_ints(32, 0..u64::from(self.w))
    }
}

/// Votes.
impl<'c> Lower<'_, 'c> {
    /// The active lanes where a condition holds.
    fn active_where(&mut self, x: Val<'c>) -> Result<V<'c>> {
        let x = self.vector(x)?;
        match self.exec.mask {
            Some(mask) => self.e.and(x, mask),
            None => Ok(x),
        }
    }

    fn vote_any(&mut self, x: Val<'c>) -> Result<Val<'c>> {
        if x.is_uniform() {
            return Ok(x);
        }
        let lanes = self.active_where(x)?;
        Ok(Val::uniform(self.e.any(lanes)?))
    }

    fn vote_all(&mut self, x: Val<'c>) -> Result<Val<'c>> {
        if x.is_uniform() {
            return Ok(x);
        }
        let mut lanes = self.vector(x)?;
        if let Some(mask) = self.exec.mask {
            lanes = self.e.or(lanes, self.e.not(mask)?)?;
        }
        Ok(Val::uniform(self.e.all(lanes)?))
    }

    /// Where a value equals that of the first active lane; floats compare by value.
    fn equal_to_first(&mut self, s: Scalar, x: Val<'c>) -> Result<Val<'c>> {
        let op = if s.is_float() { CompareOp::FordEq } else { CompareOp::Ieq };
        let first = self.first(x)?;
        let (shape, both) = self.together(&[x, Val::uniform(first)])?;
        Ok(Val { shape, v: self.e.compare(op, s, both[0], both[1])? })
    }

    /// Defines the four words of a ballot.
    fn set_ballot(&mut self, info: &InstInfo, lanes: V<'c>) -> Result<()> {
        let bits = self.e.mask_bits(lanes)?;
        for (i, &result) in (0..).zip(&info.results) {
            let word = self.ballot_word(bits, i)?;
            self.define(result, Lowered::Scalar(Val::uniform(word)));
        }
        Ok(())
    }

    /// Word `i` of a set of lanes.
    fn ballot_word(&mut self, bits: V<'c>, i: u32) -> Result<V<'c>> {
        if 32 * i >= self.w {
            return Ok(self.e.i32(0));
        }
        let word = self.e.lshr(bits, self.e.int_like(bits, u64::from(32 * i)))?;
        self.e.zext_trunc(word, 32)
    }
}

/// Moving values between lanes.
impl<'c> Lower<'_, 'c> {
    /// The value of a lane; zero from an inactive one or from none.
    fn broadcast(&mut self, x: Val<'c>, lane: V<'c>) -> Result<V<'c>> {
        let exists = self.e.icmp(IntPredicate::ULT, lane, self.e.i32(self.w))?;
        let lane = self.e.select(exists, lane, self.e.i32(0))?;
        let v = self.at_lane(x, lane)?;
        let active = match self.exec.mask {
            Some(mask) => self.e.and(exists, self.e.extract(mask, lane)?)?,
            None => exists,
        };
        if const_int(active) == Some(1) {
            return Ok(v);
        }
        self.e.select(active, v, self.e.zero(v.get_type()))
    }

    fn shuffle(&mut self, x: Val<'c>, lane: Val<'c>) -> Result<Val<'c>> {
        if lane.is_uniform() {
            let v = self.broadcast(x, lane.v)?;
            return Ok(Val::uniform(v));
        }
        let index = self.vector(lane)?;
        let v = self.vector(x)?;
        let mut v = match self.exec.mask {
            Some(mask) => self.e.select(mask, v, self.e.zero(v.get_type()))?,
            None => v,
        };
        if let Some(picks) = const_elems(index) {
            let zero = self.e.zero(v.get_type());
            v = self.e.shuffle(v, zero, picks.into_iter().map(|l| Some(l.min(u64::from(self.w)) as u32)))?;
            return Ok(Val::varying(v));
        }
        let exists = self.e.icmp(IntPredicate::ULT, index, self.e.int_like(index, self.w.into()))?;
        let index = self.e.select(exists, index, self.e.int_like(index, 0))?;
        let moved = self.pick_lanes(v, index)?;
        Ok(Val::varying(self.e.select(exists, moved, self.e.zero(moved.get_type()))?))
    }
}

/// Reductions and scans.
impl<'c> Lower<'_, 'c> {
    /// A vector with the operation's identity where lanes do not take part.
    fn with_identity(&mut self, r: ReduceOp, s: Scalar, x: Val<'c>, exec: Exec<'c>) -> Result<V<'c>> {
        let x = self.vector(x)?;
        match exec.mask {
            Some(mask) => {
                let identity = self.identity(r, s);
                self.e.select(mask, x, identity)
            }
            None => Ok(x),
        }
    }

    fn identity(&self, r: ReduceOp, s: Scalar) -> V<'c> {
        let bits = match r {
            // Adding a negative zero changes nothing, not even a negative zero.
            ReduceOp::Fadd => 1 << (s.bits() - 1),
            _ => eval::reduce_identity(r, s),
        };
        self.e.const_vec(&vec![self.e.scalar_const(s, bits); self.w as usize])
    }

    fn combine(&mut self, r: ReduceOp, s: Scalar, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.binary(r.step(), s, x, y, true)
    }

    fn reduce(&mut self, r: ReduceOp, s: Scalar, x: Val<'c>, cluster: u32) -> Result<Val<'c>> {
        if cluster <= 1 {
            return Ok(x);
        }
        let x = self.with_identity(r, s, x, self.exec)?;
        if cluster >= self.w {
            return Ok(Val::uniform(self.reduce_all(r, s, x)?));
        }
        let mut x = x;
        let mut distance = 1;
        while distance < cluster {
            let other = self.e.permute(x, (0..self.w).map(|l| l ^ distance))?;
            x = self.combine(r, s, x, other)?;
            distance *= 2;
        }
        Ok(Val::varying(x))
    }

    /// One value out of a whole vector.
    fn reduce_all(&mut self, r: ReduceOp, s: Scalar, mut x: V<'c>) -> Result<V<'c>> {
        if s == Scalar::Bool {
            return self.reduce_bools(r, x);
        }
        let mut half = self.w / 2;
        while half > 0 {
            let low = self.e.permute(x, 0..half)?;
            let high = self.e.permute(x, half..2 * half)?;
            x = self.combine(r, s, low, high)?;
            half /= 2;
        }
        self.e.extract_at(x, 0)
    }

    fn reduce_bools(&mut self, r: ReduceOp, x: V<'c>) -> Result<V<'c>> {
        match r {
            ReduceOp::And => self.e.all(x),
            ReduceOp::Or => self.e.any(x),
            _ => {
                let bits = self.e.mask_bits(x)?;
                let count = self.e.map1("llvm.ctpop", bits)?;
                self.e.cast(InstructionOpcode::Trunc, count, self.e.cx.bool_type())
            }
        }
    }

    /// Each lane's sum of the lanes up to it.
    fn scan(&mut self, r: ReduceOp, s: Scalar, mut x: V<'c>) -> Result<V<'c>> {
        let mut distance = 1;
        while distance < self.w {
            let below = self.shift_up(r, s, x, distance)?;
            x = self.combine(r, s, below, x)?;
            distance *= 2;
        }
        Ok(x)
    }

    /// Moves values to higher lanes; the identity comes in from below.
    fn shift_up(&mut self, r: ReduceOp, s: Scalar, x: V<'c>, distance: u32) -> Result<V<'c>> {
        let (identity, w) = (self.identity(r, s), self.w);
        self.e.shuffle(identity, x, (0..w).map(|l| Some(if l < distance { l } else { w + l - distance })))
    }

    /// Each lane's sum of the lanes below it.
    fn exclusive_scan(&mut self, r: ReduceOp, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        let sums = self.scan(r, s, x)?;
        let below = self.shift_up(r, s, sums, 1)?;
        if r != ReduceOp::Fadd {
            return Ok(below);
        }
        // The sum of nothing is a positive zero.
        self.combine(r, s, below, self.e.zero(below.get_type()))
    }
}

/// Partitions.
impl<'c> Lower<'_, 'c> {
    /// Reductions within sets of lanes: one after the other for all lanes that name the same set.
    fn partitioned(&mut self, info: &InstInfo, r: ReduceOp, range: Range) -> Result<()> {
        let s = self.scalar_ty(info.args[0])?;
        let x = self.scalar(info.args[0])?;
        let words = info.args[1..].iter().map(|&v| self.scalar(v)).collect::<Result<Vec<_>>>()?;
        let words = words.into_iter().map(|v| self.vector(v)).collect::<Result<Vec<_>>>()?;
        let ty: BasicTypeEnum<'c> = self.e.vec_of(self.e.scalar_ty(s), self.w).into();
        let slot = self.alloca(ty, "partitioned")?;
        self.e.b.build_store(slot, self.e.zero(ty))?;
        self.each_group(|l, leader, rest| {
            let (mut same, mut set) = (rest, Vec::new());
            for &word in &words {
                let chosen = l.e.extract(word, leader)?;
                let equal = l.e.icmp(IntPredicate::EQ, word, l.e.splat(chosen, l.w)?)?;
                same = l.e.and(same, equal)?;
                set.push(chosen);
            }
            let members = l.lanes_of(&set)?;
            let members = l.e.and(members, l.exec_mask())?;
            let x = l.with_identity(r, s, x, Exec { mask: Some(members) })?;
            let y = match range {
                Range::All => {
                    let all = l.reduce_all(r, s, x)?;
                    l.e.splat(all, l.w)?
                }
                Range::Inclusive => l.scan(r, s, x)?,
                Range::Exclusive => l.exclusive_scan(r, s, x)?,
            };
            let old = l.e.b.build_load(ty, slot, "")?;
            let new = l.e.select(same, y, old)?;
            l.e.b.build_store(slot, new)?;
            Ok(same)
        })?;
        let v = self.e.b.build_load(ty, slot, "")?;
        self.define(info.results[0], Lowered::Scalar(Val::varying(v)));
        Ok(())
    }

    /// The lanes of a set that is given as words.
    fn lanes_of(&mut self, words: &[V<'c>]) -> Result<V<'c>> {
        let mask = self.e.cx.bool_type().vec_type(self.w).into();
        if self.w <= 32 {
            let word = *words.first().ok_or_else(|| Error::bug("a partition has words"))?;
            let bits = self.e.zext_trunc(word, self.w)?;
            return self.e.bitcast(bits, mask);
        }
        // Not as one wide integer: with that and a mask made of a comparison LLVM 19 never ends.
        let count = (self.w / 32) as usize;
        let mut set = self.e.zero(self.e.cx.i32_type().vec_type(count as u32).into());
        for (i, &word) in (0..).zip(words.iter().take(count)) {
            let at = self.e.i32(i).into_int_value();
            set = self.e.b.build_insert_element(set.into_vector_value(), word, at, "")?.into();
        }
        self.e.bitcast(set, mask)
    }

    /// The set of lanes with the same value, for each lane.
    fn partition(&mut self, info: &InstInfo) -> Result<()> {
        let s = self.scalar_ty(info.args[0])?;
        let x = self.scalar(info.args[0])?;
        let x = self.vector(x)?;
        let op = if s.is_float() { CompareOp::FordEq } else { CompareOp::Ieq };
        let ty: BasicTypeEnum<'c> = self.e.cx.i32_type().vec_type(self.w).into();
        let mut slots = Vec::new();
        for _ in &info.results {
            let slot = self.alloca(ty, "partition")?;
            self.e.b.build_store(slot, self.e.zero(ty))?;
            slots.push(slot);
        }
        self.each_group(|l, leader, rest| {
            let value = l.e.extract(x, leader)?;
            let value = l.e.splat(value, l.w)?;
            let equal = l.e.compare(op, s, x, value)?;
            // A NaN is equal to nothing, and alone.
            let is_leader = l.e.icmp(IntPredicate::EQ, l.lane_numbers(), l.e.splat(leader, l.w)?)?;
            let group = l.e.and(rest, l.e.or(equal, is_leader)?)?;
            let bits = l.e.mask_bits(group)?;
            for (i, &slot) in (0..).zip(&slots) {
                let word = l.ballot_word(bits, i)?;
                let word = l.e.splat(word, l.w)?;
                let old = l.e.b.build_load(ty, slot, "")?;
                let new = l.e.select(group, word, old)?;
                l.e.b.build_store(slot, new)?;
            }
            Ok(group)
        })?;
        for (&result, slot) in info.results.iter().zip(slots) {
            let v = self.e.b.build_load(ty, slot, "")?;
            self.define(result, Lowered::Scalar(Val::varying(v)));
        }
        Ok(())
    }

    /// Runs code for groups of lanes until every active lane was in one. The code gets the first
    /// lane of those that are left and all that are left, and gives the group, which contains it.
    fn each_group(&mut self, body: impl FnOnce(&mut Self, V<'c>, V<'c>) -> Result<V<'c>>) -> Result<()> {
        let exec = self.exec_mask();
        let [head, exit] = ["group", "groups_done"].map(|n| self.new_block(n));
        let before = self.e.here()?;
        self.e.br(head)?;
        self.e.b.position_at_end(head);
        let rest = self.e.b.build_phi(exec.get_type(), "rest")?;
        rest.add_incoming(&[(&exec, before)]);
        let now = rest.as_basic_value();
        let bits = self.e.mask_bits(now)?;
        let yes = self.e.bool(true);
        let leader = self.e.intrinsic("llvm.cttz", &[bits.get_type()], &[bits, yes])?;
        let leader = self.e.zext_trunc(leader, 32)?;
        let group = body(self, leader, now)?;
        let left = self.e.and(now, self.e.not(group)?)?;
        rest.add_incoming(&[(&left, self.e.here()?)]);
        let any = self.e.any(left)?;
        self.e.cond_br(any, head, exit)?;
        self.e.b.position_at_end(exit);
        Ok(())
    }
}

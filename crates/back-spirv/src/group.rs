//! Operations between the invocations of a subgroup, and barriers.
//!
//! IR has shuffles alone; one whose lane is computed as a rotation computes it becomes *OpGroupNonUniformRotateKHR* again.

use phalanx_ir::{BinaryOp, Builtin, InstInfo, Op as IrOp, ReduceOp, Scalar, Scope, SubgroupOp, Value};
use rspirv::dr::Operand;
use rspirv::spirv::{self, Capability, GroupOperation, MemorySemantics, Op, Word};

use crate::emit::id;
use crate::error::{Error, Res};
use crate::lower::{Lower, Val};

impl Lower<'_> {
    pub(crate) fn group(&mut self, info: &InstInfo) -> Res<()> {
        match &info.op {
            IrOp::Barrier(barrier) => {
                self.barrier(barrier.execution, barrier.memory);
                Ok(())
            }
            IrOp::Subgroup(op) => self.subgroup(*op, info),
            _ => Err(Error::bug("no operation of a subgroup")),
        }
    }

    fn barrier(&mut self, execution: Scope, memory: Scope) {
        let semantics = match memory {
            Scope::Invocation => MemorySemantics::empty(),
            _ => {
                MemorySemantics::ACQUIRE_RELEASE
                    | MemorySemantics::UNIFORM_MEMORY
                    | MemorySemantics::WORKGROUP_MEMORY
                    | MemorySemantics::MAKE_AVAILABLE
                    | MemorySemantics::MAKE_VISIBLE
            }
        };
        let semantics = self.e.int(semantics.bits());
        let memory = self.scope(memory);
        if execution == Scope::Invocation {
            self.e.effect(
                Op::MemoryBarrier,
                vec![Operand::IdScope(memory), Operand::IdMemorySemantics(semantics)],
            );
            return;
        }
        let execution = self.scope(execution);
        let operands = vec![
            Operand::IdScope(execution),
            Operand::IdScope(memory),
            Operand::IdMemorySemantics(semantics),
        ];
        self.e.effect(Op::ControlBarrier, operands);
    }

    /// An instruction between the invocations of the subgroup.
    fn between(&mut self, op: Op, ty: Word, operands: Vec<Operand>) -> Word {
        let scope = self.e.int(spirv::Scope::Subgroup as u32);
        let operands = [vec![Operand::IdScope(scope)], operands].concat();
        self.e.result(op, ty, operands)
    }

    fn subgroup(&mut self, op: SubgroupOp, info: &InstInfo) -> Res<()> {
        let bool = self.e.bool();
        let args = self.words(&info.args)?;
        let ids: Vec<Operand> = args.iter().map(|&arg| id(arg)).collect();
        self.e.needs(Capability::GroupNonUniform);
        let word = match op {
            SubgroupOp::Elect => self.between(Op::GroupNonUniformElect, bool, ids),
            SubgroupOp::All | SubgroupOp::Any | SubgroupOp::AllEqual => {
                self.e.needs(Capability::GroupNonUniformVote);
                let op = match op {
                    SubgroupOp::All => Op::GroupNonUniformAll,
                    SubgroupOp::Any => Op::GroupNonUniformAny,
                    _ => Op::GroupNonUniformAllEqual,
                };
                self.between(op, bool, ids)
            }
            SubgroupOp::Broadcast => {
                let ty = self.ty(self.func.ty(info.args[0]))?;
                // A lane that is no constant need only be uniform since SPIR-V 1.5.
                self.e.needs(Capability::GroupNonUniformBallot);
                self.between(Op::GroupNonUniformBroadcast, ty, ids)
            }
            SubgroupOp::BroadcastFirst => {
                let ty = self.ty(self.func.ty(info.args[0]))?;
                self.e.needs(Capability::GroupNonUniformBallot);
                self.between(Op::GroupNonUniformBroadcastFirst, ty, ids)
            }
            SubgroupOp::Ballot => {
                self.e.needs(Capability::GroupNonUniformBallot);
                let four = self.e.vector(Scalar::I32, 4);
                let ballot = self.between(Op::GroupNonUniformBallot, four, ids);
                return self.four(ballot, info);
            }
            SubgroupOp::Shuffle => self.shuffle(info, &args)?,
            SubgroupOp::Reduce(op, None) => self.reduce(op, GroupOperation::Reduce, info, ids)?,
            SubgroupOp::Reduce(op, Some(cluster)) => {
                self.e.needs(Capability::GroupNonUniformClustered);
                let cluster = self.e.int(cluster);
                self.reduce(op, GroupOperation::ClusteredReduce, info, [ids, vec![id(cluster)]].concat())?
            }
            SubgroupOp::InclusiveScan(op) => self.reduce(op, GroupOperation::InclusiveScan, info, ids)?,
            SubgroupOp::ExclusiveScan(op) => self.reduce(op, GroupOperation::ExclusiveScan, info, ids)?,
            SubgroupOp::PartitionedReduce(op) => {
                self.partitioned(op, GroupOperation::PartitionedReduceNV, info, &args)?
            }
            SubgroupOp::PartitionedInclusiveScan(op) => {
                self.partitioned(op, GroupOperation::PartitionedInclusiveScanNV, info, &args)?
            }
            SubgroupOp::PartitionedExclusiveScan(op) => {
                self.partitioned(op, GroupOperation::PartitionedExclusiveScanNV, info, &args)?
            }
            SubgroupOp::Partition => {
                self.e.needs(Capability::GroupNonUniformPartitionedEXT);
                let four = self.e.vector(Scalar::I32, 4);
                let ballot = self.e.result(Op::GroupNonUniformPartitionEXT, four, ids);
                return self.four(ballot, info);
            }
        };
        self.set(info.results[0], Val::Word(word));
        Ok(())
    }

    /// The words of a ballot are results.
    fn four(&mut self, ballot: Word, info: &InstInfo) -> Res<()> {
        for (i, &result) in info.results.iter().enumerate() {
            let word = self.extracted(Scalar::I32, ballot, i as u32);
            self.set(result, Val::Word(word));
        }
        Ok(())
    }

    fn partitioned(
        &mut self,
        op: ReduceOp,
        how: GroupOperation,
        info: &InstInfo,
        args: &[Word],
    ) -> Res<Word> {
        self.e.needs(Capability::GroupNonUniformPartitionedEXT);
        let four = self.e.vector(Scalar::I32, 4);
        let ballot = self.e.value(Op::CompositeConstruct, four, &args[1..]);
        self.reduce(op, how, info, vec![id(args[0]), id(ballot)])
    }

    fn reduce(&mut self, op: ReduceOp, how: GroupOperation, info: &InstInfo, ids: Vec<Operand>) -> Res<Word> {
        let s = self.elem(info.args[0])?;
        let is_bool = s == Scalar::Bool;
        let opcode = match op {
            ReduceOp::Iadd => Op::GroupNonUniformIAdd,
            ReduceOp::Fadd => Op::GroupNonUniformFAdd,
            ReduceOp::Imul => Op::GroupNonUniformIMul,
            ReduceOp::Fmul => Op::GroupNonUniformFMul,
            ReduceOp::Smin => Op::GroupNonUniformSMin,
            ReduceOp::Umin => Op::GroupNonUniformUMin,
            ReduceOp::Fmin => Op::GroupNonUniformFMin,
            ReduceOp::Smax => Op::GroupNonUniformSMax,
            ReduceOp::Umax => Op::GroupNonUniformUMax,
            ReduceOp::Fmax => Op::GroupNonUniformFMax,
            ReduceOp::And if is_bool => Op::GroupNonUniformLogicalAnd,
            ReduceOp::Or if is_bool => Op::GroupNonUniformLogicalOr,
            ReduceOp::Xor if is_bool => Op::GroupNonUniformLogicalXor,
            ReduceOp::And => Op::GroupNonUniformBitwiseAnd,
            ReduceOp::Or => Op::GroupNonUniformBitwiseOr,
            ReduceOp::Xor => Op::GroupNonUniformBitwiseXor,
        };
        // The others have capabilities of their own.
        if matches!(
            how,
            GroupOperation::Reduce | GroupOperation::InclusiveScan | GroupOperation::ExclusiveScan
        ) {
            self.e.needs(Capability::GroupNonUniformArithmetic);
        }
        let ty = self.e.scalar(s);
        Ok(self.between(opcode, ty, [vec![Operand::GroupOperation(how)], ids].concat()))
    }

    // ── shuffles ──

    fn shuffle(&mut self, info: &InstInfo, args: &[Word]) -> Res<Word> {
        let s = self.elem(info.args[0])?;
        if let Some((delta, size)) = self.rotation(info.args[1]) {
            let delta = self.word(delta)?;
            return Ok(self.rotate(s, args[0], delta, size));
        }
        self.e.needs(Capability::GroupNonUniformShuffle);
        let ty = self.e.scalar(s);
        Ok(self.between(Op::GroupNonUniformShuffle, ty, vec![id(args[0]), id(args[1])]))
    }

    /// By how much, and in clusters of which size, a lane is rotated: what front ends make of rotations is
    /// `((lane + delta) & (size - 1)) | (lane & ~(size - 1))`.
    fn rotation(&self, lane: Value) -> Option<(Value, u32)> {
        let binary = |v: Value, op: BinaryOp| {
            let def = self.func.def(v);
            (def.op == IrOp::Binary(op)).then(|| [def.args[0], def.args[1]])
        };
        let is_lane = |v: Value| self.func.def(v).op == IrOp::Builtin(Builtin::SubgroupLane);
        let masked = |v: Value| {
            let [x, mask] = binary(v, BinaryOp::And)?;
            Some((x, self.func.const_bits(mask)? as u32))
        };
        let [x, y] = binary(lane, BinaryOp::Or)?;
        let (base, moved) = (masked(x)?, masked(y)?);
        let size = moved.1.checked_add(1)?;
        let [own, delta] = binary(moved.0, BinaryOp::Iadd)?;
        let is_rotation = is_lane(base.0)
            && is_lane(own)
            && size.is_power_of_two()
            && base.1 == !moved.1
            && size <= self.module.subgroup_size;
        is_rotation.then_some((delta, size))
    }

    /// Rotates a scalar: lane `l` of a cluster of `size` lanes gets that of lane `(l + delta) mod size`.
    pub(crate) fn rotate(&mut self, s: Scalar, x: Word, delta: Word, size: u32) -> Word {
        // Types that can only be moved are moved as integers.
        let moved = match Scalar::int(s.bits()) {
            Some(int) if s.is_float() && !s.is_arithmetic_float() => int,
            _ => s,
        };
        let x = self.bitcast(s, moved, x);
        let ty = self.e.scalar(moved);
        let lanes = self.module.subgroup_size;
        let rotated = if self.options.rotates_by_shuffle {
            self.e.needs(Capability::GroupNonUniformShuffle);
            let lane = self.rotated_lane(delta, size);
            self.between(Op::GroupNonUniformShuffle, ty, vec![id(x), id(lane)])
        } else {
            self.e.needs(Capability::GroupNonUniformRotateKHR);
            let mut operands = vec![id(x), id(delta)];
            if size < lanes {
                let size = self.e.int(size);
                operands.push(id(size));
            }
            self.between(Op::GroupNonUniformRotateKHR, ty, operands)
        };
        self.bitcast(moved, s, rotated)
    }

    fn rotated_lane(&mut self, delta: Word, size: u32) -> Word {
        let own = self.own_lane();
        let moved = self.e.integer(BinaryOp::Iadd, Scalar::I32, own, delta);
        let moved = self.e.integer_with(BinaryOp::And, moved, size - 1);
        if size == self.module.subgroup_size {
            return moved;
        }
        let base = self.e.integer_with(BinaryOp::And, own, !(size - 1));
        self.e.integer(BinaryOp::Or, Scalar::I32, base, moved)
    }

    pub(crate) fn own_lane(&mut self) -> Word {
        // The built-in exists on every device that the capability is asked of.
        self.builtin(Builtin::SubgroupLane).unwrap_or_default()
    }
}

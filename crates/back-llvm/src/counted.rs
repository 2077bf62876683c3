//! Loops that count.
//!
//! ```text
//! loop @0 {
//!   %i = var_load<$i>
//!   %more = ult %i, 64
//!   if %more { ... var_store<$i> (iadd %i, 1) ; br @0 }
//! }
//! ```

use phalanx_ir::{BinaryOp, Block, CompareOp, Function, Inst, InstInfo, Label, Op, Type, Value, Var};

/// A loop of plain operations, without another loop in it, that counts up to a constant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count {
    pub(crate) counter: Var,
    /// What the counter is in a round.
    pub(crate) index: Value,
    /// The first value that is too large.
    pub(crate) end: u64,
    pub(crate) step: u64,
    /// What is done in a round.
    pub(crate) body: Block,
    /// Whether a round may end elsewhere than at its end.
    pub(crate) leaves: bool,
}

impl Count {
    /// The most rounds.
    pub(crate) fn rounds(&self) -> u64 {
        self.end.div_ceil(self.step)
    }
}

/// How an instruction counts, if it is such a loop.
pub(crate) fn count(f: &Function, inst: Inst) -> Option<Count> {
    let &Op::Loop { label, body } = &f.inst(inst).op else { return None };
    let &[load, compare, branch] = f.block(body) else { return None };
    let (load, compare, branch) = (f.inst(load), f.inst(compare), f.inst(branch));
    let (&Op::VarLoad(counter), &Op::Compare(CompareOp::Ult), &Op::If { then, otherwise }) =
        (&load.op, &compare.op, &branch.op)
    else {
        return None;
    };
    let (&[index], &[i, end]) = (&load.results[..], &compare.args[..]) else { return None };
    let step = step(f, then, label, counter, index)?;
    // Narrower counters wrap around sooner.
    let is_its_own = i == index && f.ty(index) == Type::I32 && load.args.is_empty();
    let decides = branch.args.first() == compare.results.first() && f.block(otherwise).is_empty();
    let end = f.const_bits(end)?;
    let acts = acts(f, then, label, counter)?;
    let leaves = acts.leaves > 0;
    let is_plain = is_its_own && decides && (acts.again, acts.writes) == (1, 1) && end < 1 << 31;
    is_plain.then_some(Count { counter, index, end, step, body: then, leaves })
}

/// What is added to the counter at the end of a round.
fn step(f: &Function, then: Block, label: Label, counter: Var, index: Value) -> Option<u64> {
    let [.., store, again] = f.block(then) else { return None };
    let (store, again) = (f.inst(*store), f.inst(*again));
    let (&Op::VarStore(var), &Op::Br(to), &[next]) = (&store.op, &again.op, &store.args[..]) else {
        return None;
    };
    let InstInfo { op: Op::Binary(BinaryOp::Iadd), args, .. } = f.def(next) else { return None };
    let &[i, by] = &args[..] else { return None };
    // Below 2^31, a sum cannot wrap around.
    let step = f.const_bits(by).filter(|step| (1..1 << 31).contains(step))?;
    (var == counter && to == label && i == index).then_some(step)
}

/// What a block and those in it do.
#[derive(Default)]
struct Acts {
    /// Branches to the loop.
    again: u32,
    /// Other branches, and returns.
    leaves: u32,
    /// Stores to the counter.
    writes: u32,
}

/// `None` with another loop in it, or with an operation on whole vectors or matrices, which may take as long as one.
fn acts(f: &Function, block: Block, label: Label, counter: Var) -> Option<Acts> {
    let mut acts = Acts::default();
    for &inst in f.block(block) {
        let info = f.inst(inst);
        let op = &info.op;
        let mut values = info.args.iter().chain(&info.results);
        match op {
            Op::Loop { .. } | Op::VecMatMul(_) | Op::VecOuterAdd(_) | Op::VecReduceAdd(_) => return None,
            _ if values.any(|&v| f.ty(v).mat().is_some()) => return None,
            Op::Br(to) if *to == label => acts.again += 1,
            Op::Br(_) | Op::Return => acts.leaves += 1,
            Op::VarStore(var) => acts.writes += u32::from(*var == counter),
            _ => {}
        }
        for body in op.bodies() {
            let inner = self::acts(f, body, label, counter)?;
            acts.again += inner.again;
            acts.leaves += inner.leaves;
            acts.writes += inner.writes;
        }
    }
    Some(acts)
}

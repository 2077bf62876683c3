//! Loops that count.

use crate::entities::{Block, Inst, Label, Value, Var};
use crate::module::Function;
use crate::op::{BinaryOp, CompareOp, Op};
use crate::tree::{Parent, Tree};
use crate::types::Type;

/// A loop that goes on while a variable is below some end, and adds to it in each round:
///
/// ```text
/// loop @label {                  // head
///   %counter = var_load<$var>
///   …
///   %test = ult %counter, %end
///   if %test {                   // body
///     …
///     %next = iadd %counter, step
///     var_store<$var> %next
///     br @label
///   }
/// }
/// ```
#[derive(Debug)]
pub(super) struct Counted {
    /// The loop.
    pub(super) around: Parent,
    pub(super) head: Block,
    pub(super) body: Block,
    pub(super) var: Var,
    /// The instruction that tests the counter, and how; that which adds to it.
    pub(super) test: Inst,
    pub(super) compare: CompareOp,
    pub(super) next: Inst,
    pub(super) counter: Value,
    pub(super) end: Value,
    /// More than zero, and less than half of all words.
    pub(super) step: u64,
}

impl Counted {
    /// That with this block as its body.
    pub(super) fn of(func: &Function, tree: &Tree, body: Block) -> Option<Self> {
        let branch = tree.parent(body)?;
        let Op::If { then, otherwise } = func.inst(branch.inst).op else { return None };
        let around = tree.parent(branch.block)?;
        let Op::Loop { label, body: head } = func.inst(around.inst).op else { return None };
        let test = func.values[func.inst(branch.inst).args[0].index()].def;
        let Op::Compare(compare @ (CompareOp::Ult | CompareOp::Slt)) = func.inst(test).op else {
            return None;
        };
        let &[counter, end] = func.inst(test).args.as_slice() else { return None };
        let Op::VarLoad(var) = func.def(counter).op else { return None };
        let is_number = func.var(var).ty == Type::I32 && func.var(var).count == 1;
        let is_in_head = |inst: Inst| func.block(head).contains(&inst);
        let is_plain = then == body && func.block(otherwise).is_empty();
        let is_last = func.block(head).last() == Some(&branch.inst);
        if !is_number
            || !is_plain
            || !is_last
            || !is_in_head(test)
            || !is_in_head(func.values[counter.index()].def)
        {
            return None;
        }
        let (next, step) = next(func, body, var, label)?;
        let is_up = (1..1 << 31).contains(&step);
        is_up.then_some(Self { around, head, body, var, test, compare, next, counter, end, step })
    }

    /// What the counter is in the first round, and how many rounds there are, if both are known, nothing else is stored to
    /// the counter and no addition carries out of range.
    pub(super) fn rounds(&self, func: &Function, tree: &Tree) -> Option<(u64, u64)> {
        let (start, end) = (self.start(func)?, func.const_bits(self.end)?);
        // Whatever their sign.
        let is_small = [start, end, self.step].iter().all(|&x| x < 1 << 30);
        let is_store = |&&inst: &&Inst| matches!(func.inst(inst).op, Op::VarStore(to) if to == self.var);
        let is_alone = tree.within(self.head).iter().filter(is_store).count() == 1;
        let distance = end.checked_sub(start).filter(|_| is_small && is_alone)?;
        Some((start, distance.div_ceil(self.step)))
    }

    /// What the counter is before the loop.
    fn start(&self, func: &Function) -> Option<u64> {
        let before = func.block(self.around.block);
        let before = &before[..before.iter().position(|&inst| inst == self.around.inst)?];
        // Behind the last construct, which may store something else.
        let plain =
            before.iter().rev().map(|&i| func.inst(i)).take_while(|info| info.op.bodies().next().is_none());
        let store = plain.into_iter().find(|info| matches!(info.op, Op::VarStore(to) if to == self.var))?;
        func.const_bits(store.args[0])
    }

    /// What the head does before it branches.
    pub(super) fn before<'a>(&self, func: &'a Function) -> &'a [Inst] {
        func.block(self.head).split_last().map_or(&[], |(_, before)| before)
    }
}

/// What adds to the counter at the end of a round, and what is added.
fn next(func: &Function, block: Block, var: Var, label: Label) -> Option<(Inst, u64)> {
    let [.., store, br] = func.block(block) else { return None };
    let (store, br) = (func.inst(*store), &func.inst(*br).op);
    let (&Op::VarStore(to), &[value], Op::Br(back)) = (&store.op, store.args.as_slice(), br) else {
        return None;
    };
    let info = func.def(value);
    let &[x, y] = info.args.as_slice() else { return None };
    let is_counter = |v: Value| matches!(func.def(v).op, Op::VarLoad(from) if from == var);
    let (Op::Binary(BinaryOp::Iadd), true) = (&info.op, to == var && *back == label) else { return None };
    let by = if is_counter(x) { y } else { Some(x).filter(|_| is_counter(y))? };
    Some((func.values[value.index()].def, func.const_bits(by)?))
}

//! Full unrolling of small loops, by partial evaluation.
//!
//! ```text
//! var_store<$i> %zero                      var_store<$acc> %zero, …
//! block @out {                             var_store<$acc> %one, …
//!   loop @next {                     →
//!     %i: i32 = var_load<$i>
//!     %go: bool = slt %i, %two
//!     if %go { } else { br @out }
//!     var_store<$acc> %i, …
//!     …
//!     br @next
//!   }
//! }
//! ```
//!
//! Front ends leave `for (i…) for (j…) acc[i][j] = mul_add(a[i], b[j], acc[i][j])` as loops over
//! arrays of matrices; a target wants to see the multiply-adds one behind the other, with constant
//! indices. The body is copied once per iteration while [`walk`](super::walk) follows the variables.
//! An iteration must either always repeat the loop or never; otherwise, or when a limit is exceeded,
//! everything is undone and the loop stays.
//!
//! Loops are unrolled for their indices if the index of a matrix or of a short array, or the lane that a shuffle
//! reads, depends on the loop's counter, or within narrower limits if they hold matrix operations; where a target has matrices
//! in memory, one that multiplies none stays if it would leave copies of a loop, as where each matrix of the result goes through
//! shared memory on its way; for targets that run
//! invocations as threads, short ones whatever they hold, and those over the elements of vectors that are multiplied. But
//! what does the same to each component of such vectors stays one loop: it is for the target to say where components are.

use super::counted::Counted;
use super::walk::Walk;
use crate::componentwise::Componentwise;
use crate::effects::VarUse;
use crate::entities::{Block, Inst, Label, Value, Var};
use crate::module::Function;
use crate::op::{Op, SubgroupOp};
use crate::tree::Tree;
use crate::types::Type;
use std::collections::BTreeSet;

/// Most times a body is copied: 32 iterations, and the test that ends them.
const MAX_COPIES: usize = 33;
/// Most instructions that copies may add to a function.
const MAX_CLONED: usize = 4096;
/// The same for one loop that has matrix operations, but no index by its counter.
const MAX_CLONED_PLAIN: usize = 512;
/// The same for one loop of any kind, for threads: their loads are then under way at the same time.
const MAX_CLONED_SHORT: usize = 1024;
/// Most elements of a vector that threads multiply, and have in registers for that.
const MAX_VECTOR: u32 = 64;
/// Most elements of an array of scalars that are worth turning into registers. Longer ones stay in
/// memory, where an index costs nothing and unrolled code would cost time to compile.
const MAX_ELEMENTS: u32 = 16;
/// The same as [`MAX_CLONED`] for indices alone: the sums of 128 multiplications, their loads and their stores.
const MAX_CLONED_FOR_INDICES: usize = 3 * MAX_CLONED;
/// The same for one loop that fills or empties arrays of matrices in a function that multiplies some: without its copies
/// it does no worse, and they must not leave the multiplications without any.
const MAX_CLONED_BESIDE: usize = MAX_CLONED / 4;
/// The same for one that does so behind the last multiplication, beside what others may have: where sums that lie side by
/// side are to become one matrix, all that is done to them must be plain.
const MAX_CLONED_BEHIND: usize = 2 * MAX_CLONED;
/// How many instructions are copied in all, those undone included, for one that may be added.
const TRIES: usize = 3;

/// What there is to gain from unrolling a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Gain {
    None,
    /// It has matrix operations.
    Matrices,
    /// The index of a matrix depends on its counter.
    MatrixIndices,
    /// That of a scalar, or a lane, does.
    Indices,
    /// One of these does, and matrices are multiplied.
    MulAdds,
}

/// What unrolling has used up.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    cloned: usize,
    tried: usize,
    /// Most that copies may add.
    most: usize,
    /// The same for one loop that has matrix operations, but no index by its counter.
    plain: usize,
    /// The same for one loop that has neither.
    short: usize,
    /// The same for one loop that has indices by its counter, but no multiplication of matrices.
    beside: usize,
    /// The bodies of loops behind the last multiplication of matrices, in a function that has some.
    behind: BTreeSet<Block>,
    /// Whether loops are copied for the indices of matrices.
    copies_loops: bool,
    /// Vectors that are multiplied by matrices, and those that are made of them component by component.
    vectors: BTreeSet<Var>,
}

impl Budget {
    pub(super) fn new(func: &Function) -> Self {
        let tree = Tree::new(func);
        let last = tree.order().iter().rposition(|&inst| is_mul_add(&func.inst(inst).op));
        let Some(last) = last else { return Self::of(MAX_CLONED) };
        let behind = tree.order()[last..].iter().filter_map(|&inst| match func.inst(inst).op {
            Op::Loop { body, .. } => Some(body),
            _ => None,
        });
        Self { beside: MAX_CLONED_BESIDE, behind: behind.collect(), ..Self::of(MAX_CLONED) }
    }

    /// As many for each loop whose counter is an index.
    fn of(most: usize) -> Self {
        Self {
            cloned: 0,
            tried: 0,
            most,
            plain: MAX_CLONED_PLAIN,
            short: 0,
            beside: most,
            behind: BTreeSet::new(),
            copies_loops: false,
            vectors: BTreeSet::new(),
        }
    }

    /// For threads.
    pub(super) fn for_threads(func: &Function) -> Self {
        Self {
            short: MAX_CLONED_SHORT,
            copies_loops: true,
            vectors: Componentwise::multiplied(func),
            ..Self::of(MAX_CLONED)
        }
    }

    /// For indices alone.
    pub(super) fn for_indices() -> Self {
        Self { plain: 0, ..Self::of(MAX_CLONED_FOR_INDICES) }
    }
}

impl Walk<'_> {
    /// Copies a loop's body for each iteration; `false` if the loop has to stay, and then nothing
    /// has changed.
    pub(super) fn unroll(&mut self, label: Label, body: Block, stored: &[Var]) -> bool {
        let Some(budget) = self.budget.clone() else { return false };
        let is_multiplied = |var: Var| budget.vectors.contains(&var);
        if Componentwise::of(self.old, label, body)
            .is_some_and(|found| found.vectors(self.old).any(is_multiplied))
        {
            return false;
        }
        let gain = gain(self.old, body, stored, &budget.vectors);
        let limit = match gain {
            Gain::None => budget.short,
            Gain::Matrices => budget.plain,
            Gain::MatrixIndices | Gain::Indices => budget.beside,
            Gain::MulAdds => budget.most,
        };
        let is_behind = gain == Gain::MatrixIndices && budget.behind.contains(&body);
        let begin = self.new.insts.len();
        // Those that come last have not less of them for what came before.
        let tries = if is_behind { 2 * TRIES } else { TRIES } * budget.most;
        let tries = tries.saturating_sub(budget.tried);
        let left = match gain {
            _ if is_behind => MAX_CLONED_BEHIND,
            // The only round of a loop takes no more place than the loop does.
            Gain::Matrices if limit > 0 && self.has_one_round(body) => budget.most - budget.cloned,
            _ => limit.min(budget.most - budget.cloned),
        };
        let most = left.min(tries);
        if most == 0 {
            return false;
        }
        let saved = self.save();
        let copies = if budget.vectors.is_empty() { MAX_COPIES } else { MAX_VECTOR as usize + 1 };
        let may_copy_loops = gain != Gain::MatrixIndices || budget.copies_loops;
        let is_done = self.iterations(label, body, copies, begin + most)
            && (may_copy_loops
                || !self.new.insts[begin..].iter().any(|info| matches!(info.op, Op::Loop { .. })));
        let added = self.new.insts.len() - begin;
        if !is_done {
            self.restore(saved);
        }
        self.budget = Some(Budget {
            cloned: budget.cloned + if is_done && !is_behind { added } else { 0 },
            tried: budget.tried + added,
            ..budget
        });
        is_done
    }

    /// Whether a counter goes beyond its end in the first round.
    fn has_one_round(&self, head: Block) -> bool {
        let counts = || {
            let Op::If { then, .. } = self.old.inst(*self.old.block(head).last()?).op else { return None };
            let counted = Counted::of(self.old, &Tree::new(self.old), then)?;
            let start = self.slots.slot(counted.var, 0).and_then(|slot| self.env.value(slot));
            let start = start.and_then(|start| self.new.const_bits(start))?;
            let end = self.old.const_bits(counted.end)?;
            let is_small = start < 1 << 31 && end < 1 << 31;
            Some(is_small && start < end && start + counted.step >= end)
        };
        counts().unwrap_or(false)
    }

    fn iterations(&mut self, label: Label, body: Block, copies: usize, limit: usize) -> bool {
        for _ in 0..copies {
            let before = self.env.clone();
            let frame = self.enter(label, false);
            self.block(body);
            if self.new.insts.len() > limit {
                return false;
            }
            match self.ends(label) {
                // Every way through the iteration ends the loop.
                (false, _) => {
                    self.leave(label, frame);
                    return true;
                }
                (true, true) => return false,
                (true, false) => self.leave(label, frame),
            }
            // A counter must have moved, or the next iteration will be as this one.
            let is_const = |v: Value| self.new.const_bits(v).is_some();
            if !self.env.changed(&before).any(is_const) {
                return false;
            }
        }
        false
    }
}

fn gain(func: &Function, body: Block, stored: &[Var], vectors: &BTreeSet<Var>) -> Gain {
    let mut inner = Vec::new();
    stores_in_loops(func, body, false, &mut inner);
    inner.sort_unstable();
    // They stay in order.
    let counters: Vec<Var> = stored.iter().copied().filter(|v| inner.binary_search(v).is_err()).collect();
    match gain_of_block(func, body, &counters, vectors) {
        Gain::MatrixIndices | Gain::Indices if multiplies(func, body) => Gain::MulAdds,
        gain => gain,
    }
}

fn is_mul_add(op: &Op) -> bool {
    matches!(op, Op::MatMulAdd(_))
}

fn multiplies(func: &Function, block: Block) -> bool {
    let of_inst = |&inst: &Inst| {
        let op = &func.inst(inst).op;
        is_mul_add(op) || op.bodies().any(|body| multiplies(func, body))
    };
    func.block(block).iter().any(of_inst)
}

/// Variables written in loops that are nested in a block.
fn stores_in_loops(func: &Function, block: Block, in_loop: bool, vars: &mut Vec<Var>) {
    for &inst in func.block(block) {
        let op = &func.inst(inst).op;
        if in_loop {
            let is_written =
                |(_, use_): &(Var, VarUse)| matches!(use_, VarUse::Write) || matches!(op, Op::VarStore(_));
            vars.extend(op.vars().filter(is_written).map(|(var, _)| var));
        }
        let in_loop = in_loop || matches!(op, Op::Loop { .. });
        op.bodies().for_each(|b| stores_in_loops(func, b, in_loop, vars));
    }
}

fn gain_of_block(func: &Function, block: Block, counters: &[Var], vectors: &BTreeSet<Var>) -> Gain {
    let gains = func.block(block).iter().map(|&inst| gain_of_inst(func, inst, counters, vectors));
    gains.max().unwrap_or(Gain::None)
}

fn gain_of_inst(func: &Function, inst: Inst, counters: &[Var], vectors: &BTreeSet<Var>) -> Gain {
    let info = func.inst(inst);
    let is_matrix = |var: Var| func.var(var).ty.mat().is_some();
    let gains = |var: Var| {
        is_matrix(var)
            || func.var(var).count <= MAX_ELEMENTS
            || func.var(var).count <= MAX_VECTOR && vectors.contains(&var)
    };
    let index = match info.op {
        Op::VarLoad(var) | Op::VarComponentLoad(var) | Op::VarComponentStore(var) if gains(var) => {
            info.args.first()
        }
        Op::VarStore(var) if info.args.len() > 1 && gains(var) => info.args.first(),
        Op::Subgroup(SubgroupOp::Shuffle) => info.args.get(1),
        _ => None,
    };
    if index.is_some_and(|&v| depends_on(func, v, counters)) {
        return if info.op.var().is_some_and(is_matrix) { Gain::MatrixIndices } else { Gain::Indices };
    }
    let is_mat = |v: &Value| matches!(func.ty(*v), Type::Mat(_));
    let nested = info.op.bodies().map(|b| gain_of_block(func, b, counters, vectors)).max();
    let own = if info.args.iter().chain(&info.results).any(is_mat) { Gain::Matrices } else { Gain::None };
    nested.map_or(own, |n| n.max(own))
}

/// Whether a value is computed from a load of one of the variables, which are in order, in a few steps.
fn depends_on(func: &Function, value: Value, vars: &[Var]) -> bool {
    let mut open = vec![value];
    for _ in 0..32 {
        let Some(v) = open.pop() else { return false };
        let def = func.def(v);
        match def.op {
            Op::VarLoad(var) if vars.binary_search(&var).is_ok() => return true,
            _ => open.extend(&def.args),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::walk;
    use super::*;
    use crate::{text, verify};

    /// A loop of slices that has only one, however long that is.
    #[test]
    fn a_loop_of_one_round_dissolves() {
        let long: String = (0..600).map(|n| format!("%x{n}: i32 = load<volatile> %p\n")).collect();
        let loops = |rounds: u32| {
            let code = format!(
                "shared 1024 var $i: i32 var $c: mat<8x8xf32, subgroup, acc> {{
                %0: i32 = const 0
                %1: i32 = const 1
                %end: i32 = const {rounds}
                %stride: i64 = const 32
                %p: ptr<shared> = shared_ptr<offset=0, bytes=1024>
                var_store<$i> %0
                loop @0 {{
                    %i: i32 = var_load<$i>
                    %go: bool = ult %i, %end
                    if %go {{
                        {long}
                        %a: mat<8x8xf32, subgroup, a> = mat_load %p, %stride
                        %b: mat<8x8xf32, subgroup, b> = mat_load %p, %stride
                        %c: mat<8x8xf32, subgroup, acc> = var_load<$c>
                        %d: mat<8x8xf32, subgroup, acc> = mat_mul_add %a, %b, %c
                        var_store<$c> %d
                        %next: i32 = iadd %i, %1
                        var_store<$i> %next
                        br @0
                    }}
                }}
                %e: mat<8x8xf32, subgroup, acc> = var_load<$c>
                mat_store %p, %e, %stride
            }}"
            );
            let module = verify(text::parse(&code).unwrap_or_else(|e| panic!("{e}\n{code}"))).unwrap();
            let func = walk::unroll(&module.body);
            func.insts.iter().filter(|info| matches!(info.op, Op::Loop { .. })).count()
        };
        assert_eq!([loops(1), loops(2)], [0, 1]);
    }
}

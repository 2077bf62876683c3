//! Where the matrices of variables lie in shared memory.

use super::{IsInPlace, is_shared};
use crate::entities::{Block, Inst, Label, Var};
use crate::module::Function;
use crate::op::Op;
use std::collections::{BTreeMap, BTreeSet};

/// For each variable with accesses to components: the regions of the code in which it lies in shared memory.
#[derive(Debug, Default)]
pub(super) struct Regions {
    /// The variables that go there before an instruction.
    begins: BTreeMap<Inst, Vec<Var>>,
    /// Those that come back behind one.
    ends: BTreeMap<Inst, Vec<Var>>,
    /// Accesses of whole elements inside of a region of their variable.
    inside: BTreeSet<Inst>,
    accessed: BTreeSet<Var>,
}

impl Regions {
    /// Finds them, for all variables but those whose components are in place.
    pub(super) fn find(func: &Function, is_in_place: IsInPlace<'_>) -> Self {
        let mut summaries = vec![Summary::default(); func.insts.len()];
        let mut accessed = Summary::of_block(func, Function::ENTRY, &mut summaries).components;
        accessed.retain(|&var| !is_in_place(func, var));
        let mut regions = Self { accessed: accessed.clone(), ..Self::default() };
        for &var in &accessed {
            let mut finder = Finder { func, summaries: &summaries, var, found: Vec::new() };
            match finder.entry() {
                Ok(()) => finder.found.iter().for_each(|region| regions.add(func, region, var)),
                // The variable lies there all the time.
                Err(Leaves) => regions.mark_inside(func, var, func.block(Function::ENTRY)),
            }
        }
        regions
    }

    fn add(&mut self, func: &Function, region: &Region, var: Var) {
        let (Some(&first), Some(&last)) = (region.code.first(), region.code.last()) else { return };
        self.begins.entry(first).or_default().push(var);
        if region.is_read_again {
            self.ends.entry(last).or_default().push(var);
        }
        self.mark_inside(func, var, &region.code);
    }

    fn mark_inside(&mut self, func: &Function, var: Var, code: &[Inst]) {
        for &inst in code {
            let op = &func.inst(inst).op;
            if matches!(op, Op::VarLoad(_) | Op::VarStore(_)) && op.var() == Some(var) {
                self.inside.insert(inst);
            }
            for body in op.bodies() {
                self.mark_inside(func, var, func.block(body));
            }
        }
    }

    /// Whether components of a variable are accessed.
    pub(super) fn accesses(&self, var: Var) -> bool {
        self.accessed.contains(&var)
    }

    /// The variables that go to shared memory before an instruction.
    pub(super) fn begin_at(&self, inst: Inst) -> &[Var] {
        self.begins.get(&inst).map_or(&[], Vec::as_slice)
    }

    /// The variables that come back behind an instruction.
    pub(super) fn end_at(&self, inst: Inst) -> &[Var] {
        self.ends.get(&inst).map_or(&[], Vec::as_slice)
    }

    /// Whether an access of a whole element is inside of a region of its variable.
    pub(super) fn is_inside(&self, inst: Inst) -> bool {
        self.inside.contains(&inst)
    }
}

/// What an instruction does, with all that is nested in it.
#[derive(Clone, Debug, Default)]
struct Summary {
    /// The variables of the work-group of which it accesses components, and whole elements.
    components: BTreeSet<Var>,
    wholes: BTreeSet<Var>,
    /// The labels outside of it that it branches to.
    targets: BTreeSet<Label>,
    returns: bool,
}

impl Summary {
    fn of_block(func: &Function, block: Block, all: &mut [Self]) -> Self {
        let mut sum = Self::default();
        for &inst in func.block(block) {
            let summary = Self::of_inst(func, inst, all);
            sum.add(&summary);
            all[inst.index()] = summary;
        }
        sum
    }

    fn of_inst(func: &Function, inst: Inst, all: &mut [Self]) -> Self {
        let op = &func.inst(inst).op;
        let mut sum = Self::default();
        for body in op.bodies() {
            sum.add(&Self::of_block(func, body, all));
        }
        let var = op.var().filter(|&var| is_shared(func.var(var).ty));
        match (op, var) {
            (Op::Br(label), _) => sum.targets.extend([*label]),
            (Op::Block { label, .. } | Op::Loop { label, .. }, _) => {
                sum.targets.remove(label);
            }
            (Op::Return, _) => sum.returns = true,
            (Op::VarComponentLoad(_) | Op::VarComponentStore(_), Some(var)) => sum.components.extend([var]),
            (_, Some(var)) => sum.wholes.extend([var]),
            _ => {}
        }
        sum
    }

    fn add(&mut self, other: &Self) {
        self.components.extend(&other.components);
        self.wholes.extend(&other.wholes);
        self.targets.extend(&other.targets);
        self.returns |= other.returns;
    }

    /// Whether what follows may not be executed by all invocations that execute this.
    fn leaves(&self) -> bool {
        self.returns || !self.targets.is_empty()
    }
}

/// Invocations may leave a region in its middle, so it has to be a greater one.
struct Leaves;

/// Instructions of a block, one behind the other.
struct Region {
    code: Vec<Inst>,
    /// Whether the variable is accessed whole behind it.
    is_read_again: bool,
}

/// Finds the regions of a variable.
struct Finder<'f> {
    func: &'f Function,
    summaries: &'f [Summary],
    var: Var,
    found: Vec<Region>,
}

impl<'f> Finder<'f> {
    /// The outermost block is executed once: behind the last access of a whole element nothing has to be read
    /// back, and there it does not matter who leaves.
    fn entry(&mut self) -> Result<(), Leaves> {
        let code = self.func.block(Function::ENTRY);
        let last = code.iter().rposition(|&inst| self.summary(inst).wholes.contains(&self.var));
        let (before, tail) = code.split_at(last.map_or(0, |last| last + 1));
        self.code(before)?;
        if tail.iter().any(|&inst| self.summary(inst).components.contains(&self.var)) {
            self.found.push(Region { code: tail.to_vec(), is_read_again: false });
        }
        Ok(())
    }

    /// Finds regions among instructions that follow each other.
    fn code(&mut self, code: &[Inst]) -> Result<(), Leaves> {
        // The instructions from the first access to a component on, how many up to the last such access, and
        // whether invocations may have left since the last time that all were there.
        let (mut open, mut len, mut has_left) = (Vec::new(), 0, false);
        for &inst in code {
            let summary = self.summary(inst);
            let [component, whole] =
                [&summary.components, &summary.wholes].map(|vars| vars.contains(&self.var));
            if whole {
                self.close(&mut open, len);
                has_left = false;
                if !component || self.is_split(inst) {
                    continue;
                }
            }
            if component {
                if has_left || summary.leaves() {
                    return Err(Leaves);
                }
                open.push(inst);
                len = open.len();
            } else if summary.leaves() {
                self.close(&mut open, len);
                has_left = true;
            } else if !open.is_empty() {
                open.push(inst);
            }
        }
        self.close(&mut open, len);
        Ok(())
    }

    fn close(&mut self, open: &mut Vec<Inst>, len: usize) {
        if !open.is_empty() {
            open.truncate(len);
            self.found.push(Region { code: std::mem::take(open), is_read_again: true });
        }
    }

    /// Finds regions inside of an instruction; false if it has to be one as a whole.
    fn is_split(&mut self, inst: Inst) -> bool {
        let found = self.found.len();
        for body in self.func.inst(inst).op.bodies() {
            if self.code(self.func.block(body)).is_err() {
                self.found.truncate(found);
                return false;
            }
        }
        true
    }

    fn summary(&self, inst: Inst) -> &'f Summary {
        &self.summaries[inst.index()]
    }
}

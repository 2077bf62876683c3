//! Removes what has no effect: unused results, stores that nobody reads, empty constructs.
//!
//! ```text
//! %1: f32 = fadd %0, %0         ; not used
//! var_store<$x> %0              ; overwritten below          →   var_store<$x> %2
//! var_store<$x> %2
//! ```
//!
//! One walk backwards over the code. A value is needed if a kept instruction uses it; all users come
//! after its definition, so they are known by then. An element of a variable is live where a load
//! may still read it; behind a branch that is what is live at its target. For the head of a loop,
//! which is not known when its end is visited, everything counts as live that the body loads, or
//! that is live where branches out of the body lead to.

use super::opt_cycles;
use super::opt_forward::Slots;
use crate::effects::VarUse;
use crate::entities::{Block, Inst, Value, Var};
use crate::module::Function;
use crate::op::Op;

/// Removes what has no effect.
pub(super) fn run(func: &Function) -> Function {
    let mut func = func.clone();
    opt_cycles::run(&mut func);
    let slots = Slots::new(&func);
    let mut dce = Dce {
        needed: vec![false; func.values.len()],
        live: Live { slots: vec![false; slots.len()] },
        at_label: vec![None; func.labels as usize],
        func,
        slots,
    };
    dce.block(Function::ENTRY);
    dce.func
}

/// Which elements of variables may still be read.
#[derive(Clone, Debug)]
struct Live {
    slots: Vec<bool>,
}

impl Live {
    fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.slots.iter_mut().zip(&other.slots) {
            *mine |= theirs;
        }
    }
}

struct Dce {
    func: Function,
    needed: Vec<bool>,
    slots: Slots,
    live: Live,
    at_label: Vec<Option<Live>>,
}

impl Dce {
    /// Goes through a block backwards and keeps what is needed.
    fn block(&mut self, block: Block) {
        let insts = std::mem::take(&mut self.func.blocks[block.index()]);
        let mut kept: Vec<Inst> = insts.into_iter().rev().filter(|&i| self.keeps(i)).collect();
        kept.reverse();
        self.func.blocks[block.index()] = kept;
    }

    fn keeps(&mut self, inst: Inst) -> bool {
        let info = self.func.inst(inst);
        let (op, args) = (info.op.clone(), info.args.clone());
        let is_used = info.results.iter().any(|v| self.needed[v.index()]);
        let keeps = match op {
            Op::VarStore(var) => self.store(var, args.get(..args.len() - 1).unwrap_or_default()),
            Op::VarComponentStore(var) => self.is_live(var, args.first()),
            Op::VecMatMul(v) => self.overwrite(v.result),
            Op::If { then, otherwise } => self.if_(then, otherwise),
            Op::Block { label, body } => {
                self.at_label[label.index()] = Some(self.live.clone());
                self.block(body);
                !self.is_empty(body)
            }
            Op::Loop { label, body } => {
                let mut head = self.live.clone();
                self.loads(body, &mut head);
                self.at_label[label.index()] = Some(head);
                self.block(body);
                !self.is_empty(body)
            }
            Op::Br(label) => {
                if let Some(live) = &self.at_label[label.index()] {
                    self.live.clone_from(live);
                }
                true
            }
            Op::Return => {
                self.live.slots.fill(false);
                true
            }
            _ => is_used || op.has_effect() || op.region().is_some_and(|(_, body)| self.acts(body)),
        };
        if keeps && let Some((_, body)) = op.region() {
            // It is executed again and again like a loop, or not at all.
            let mut live = self.live.clone();
            self.loads(body, &mut live);
            self.live.clone_from(&live);
            self.block(body);
            self.live = live;
        }
        if keeps {
            args.iter().for_each(|v| self.needed[v.index()] = true);
            let mut live = std::mem::replace(&mut self.live, Live { slots: Vec::new() });
            self.mark_read(&op, &args, &mut live);
            self.live = live;
        }
        keeps
    }

    /// Whether a region does something besides making an element. Functions for elements may write to memory, and
    /// those that store a matrix so have a result that nobody uses.
    fn acts(&self, region: Block) -> bool {
        self.func.block(region).iter().any(|&inst| {
            let op = &self.func.inst(inst).op;
            match op {
                Op::Params | Op::Yield | Op::Br(_) => false,
                Op::If { .. } | Op::Block { .. } | Op::Loop { .. } => op.bodies().any(|body| self.acts(body)),
                _ => op.has_effect(),
            }
        })
    }

    fn is_empty(&self, block: Block) -> bool {
        self.func.block(block).is_empty()
    }

    fn if_(&mut self, then: Block, otherwise: Block) -> bool {
        let after = self.live.clone();
        self.block(then);
        let then_live = std::mem::replace(&mut self.live, after);
        self.block(otherwise);
        self.live.join(&then_live);
        !(self.is_empty(then) && self.is_empty(otherwise))
    }

    /// The elements that an access may be to; none if the variable is not followed.
    fn accessed(&self, var: Var, index: Option<&Value>) -> Option<std::ops::Range<usize>> {
        let all = self.slots.all(&self.func, var);
        if all.is_empty() {
            return None;
        }
        let index = index.map_or(Some(0), |&v| self.func.const_bits(v));
        Some(match index {
            Some(i) if i < all.len() as u64 => all.start + i as usize..all.start + i as usize + 1,
            // Outside, there is nothing to read or write.
            Some(_) => all.start..all.start,
            None => all,
        })
    }

    fn is_live(&self, var: Var, index: Option<&Value>) -> bool {
        self.accessed(var, index).is_none_or(|slots| self.live.slots[slots].contains(&true))
    }

    /// Whether a store is needed; before one to a known element that is not live.
    fn store(&mut self, var: Var, index: &[Value]) -> bool {
        let is_live = self.is_live(var, index.first());
        if let Some(slots) = self.accessed(var, index.first())
            && slots.len() == 1
        {
            self.live.slots[slots].fill(false);
        }
        is_live
    }

    /// Whether an operation that writes all of a variable is needed; before it nothing is live there.
    fn overwrite(&mut self, var: Var) -> bool {
        let all = self.slots.all(&self.func, var);
        let is_live = all.is_empty() || self.live.slots[all.clone()].contains(&true);
        self.live.slots[all].fill(false);
        is_live
    }

    /// Marks what an operation reads.
    fn mark_read(&self, op: &Op, args: &[Value], live: &mut Live) {
        for (var, use_) in op.vars() {
            match use_ {
                VarUse::Load => self.mark(var, args.first(), live),
                VarUse::Read => live.slots[self.slots.all(&self.func, var)].fill(true),
                VarUse::Store | VarUse::Write => {}
            }
        }
    }

    fn mark(&self, var: Var, index: Option<&Value>, live: &mut Live) {
        if let Some(slots) = self.accessed(var, index) {
            live.slots[slots].fill(true);
        }
    }

    /// Marks what is loaded in a block and those nested there, or where branches from there lead to.
    fn loads(&self, block: Block, live: &mut Live) {
        for &inst in self.func.block(block) {
            let info = self.func.inst(inst);
            self.mark_read(&info.op, &info.args, live);
            // Inner labels are not known yet, and lead to the loads seen here.
            if let Op::Br(label) = info.op
                && let Some(there) = &self.at_label[label.index()]
            {
                live.join(there);
            }
            info.op.bodies().for_each(|b| self.loads(b, live));
        }
    }
}

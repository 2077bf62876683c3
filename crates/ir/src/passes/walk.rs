//! Copies a function while folding, forwarding and, if asked, unrolling.
//!
//! The walk goes through the old function in program order and appends to a new one. It knows at
//! each point what the variables hold, whether the point is reached at all, and which values are
//! visible. So an `if` on a constant becomes the branch that is taken, code behind a branch
//! disappears, and constructs that nothing branches to dissolve into the block around them. All
//! constants are gathered at the beginning of the outermost block, each once, and are visible
//! everywhere.
//!
//! The time is linear in the instructions of the old function and of the new, times the depth of
//! loops, plus a small part of the number of followed variables for each construct.

use super::opt_fold::{Folded, fold, unclipped};
use super::opt_forward::{Env, Slots};
use super::opt_unroll::Budget;
use crate::effects::VarUse;
use crate::entities::{Block, Inst, Label, Value, Var};
use crate::module::{Function, InstInfo};
use crate::op::Op;
use crate::types::{Scalar, Type};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Folds and forwards.
pub(super) fn simplify(func: &Function) -> Function {
    Walk::new(func, None).run()
}

/// Folds and forwards, and unrolls loops.
pub(super) fn unroll(func: &Function) -> Function {
    Walk::new(func, Some(Budget::new(func))).run()
}

/// The same, and unrolls all short loops.
pub(super) fn unroll_for_threads(func: &Function) -> Function {
    Walk::new(func, Some(Budget::for_threads(func))).run()
}

/// Folds and forwards, and unrolls loops for the indices that depend on their counters.
pub(super) fn unroll_for_indices(func: &Function) -> Function {
    Walk::new(func, Some(Budget::for_indices())).run()
}

/// The state of a walk.
pub(super) struct Walk<'f> {
    pub(super) old: &'f Function,
    pub(super) new: Function,
    /// The new value of each old one that was reached.
    map: Vec<Value>,
    /// The block of each new value.
    homes: Vec<Block>,
    /// Whether each new block is being filled.
    is_open: Vec<bool>,
    /// The block that a dissolved block went into.
    merged: Vec<Option<Block>>,
    /// The block that is appended to.
    at: Block,
    is_reached: bool,
    pub(super) slots: Slots,
    pub(super) env: Env,
    /// What the old labels mean now.
    targets: Vec<Option<Target>>,
    constants: BTreeMap<(Scalar, u64), Value>,
    /// The constants in the order they were needed.
    pool: Vec<Inst>,
    pub(super) budget: Option<Budget>,
}

/// What a label means while its construct is copied.
#[derive(Clone)]
struct Target {
    label: Label,
    body: Block,
    /// Whether branching repeats.
    is_loop: bool,
    /// Branches in the new function.
    uses: u32,
    /// What holds at all branches.
    env: Option<Env>,
}

/// A construct whose body is being filled.
pub(super) struct Frame {
    parent: Block,
    body: Block,
    /// What held where it begins.
    before: Env,
}

/// What a failed attempt goes back to.
pub(super) struct Saved {
    at: Block,
    len: usize,
    env: Env,
    targets: Vec<Option<Target>>,
}

impl<'f> Walk<'f> {
    fn new(old: &'f Function, budget: Option<Budget>) -> Self {
        let slots = Slots::new(old);
        let env = Env::new(&slots);
        let mut new = Function { vars: old.vars.clone(), ..Function::default() };
        new.new_block();
        Self {
            old,
            new,
            // Operands are visible, so each is mapped before it is used.
            map: (0..old.values.len()).map(Value::new).collect(),
            homes: Vec::new(),
            is_open: vec![true],
            merged: vec![None],
            at: Function::ENTRY,
            is_reached: true,
            slots,
            env,
            targets: vec![None; old.labels as usize],
            constants: BTreeMap::new(),
            pool: Vec::new(),
            budget,
        }
    }

    fn run(mut self) -> Function {
        self.block(Function::ENTRY);
        self.new.blocks[0].splice(0..0, self.pool);
        self.new
    }

    // ── emission ──

    /// The constant, made when it is first needed.
    fn constant(&mut self, ty: Scalar, bits: u64) -> Value {
        if let Some(&v) = self.constants.get(&(ty, bits)) {
            return v;
        }
        let inst = self.new.new_inst(Op::Const(bits), &[], &[ty.into()], 0);
        self.homes.push(Function::ENTRY);
        self.pool.push(inst);
        let v = self.new.inst(inst).results[0];
        self.constants.insert((ty, bits), v);
        v
    }

    /// Appends an instruction like `info`.
    fn emit(&mut self, info: &InstInfo, op: Op, args: &[Value]) {
        let types: SmallVec<[Type; 4]> = info.results.iter().map(|&v| self.old.ty(v)).collect();
        let inst = self.new.new_inst(op, args, &types, info.loc);
        self.new.insts[inst.index()].exact = info.exact;
        self.homes.resize(self.new.values.len(), self.at);
        self.new.blocks[self.at.index()].push(inst);
        for (k, &v) in info.results.iter().enumerate() {
            self.map[v.index()] = self.new.inst(inst).results[k];
        }
    }

    fn new_block(&mut self) -> Block {
        self.is_open.push(true);
        self.merged.push(None);
        self.new.new_block()
    }

    /// The block that a block's instructions are in now.
    fn resolve(&self, mut block: Block) -> Block {
        while let Some(b) = self.merged[block.index()] {
            block = b;
        }
        block
    }

    fn is_visible(&self, v: Value) -> bool {
        self.is_open[self.resolve(self.homes[v.index()]).index()]
    }

    /// Drops what the environment knows by values that are out of sight behind a construct, at whose beginning it was
    /// `before`.
    fn settle_env(&mut self, before: &Env) {
        let mut env = std::mem::replace(&mut self.env, Env::new(&self.slots));
        env.retain(before, |v| self.is_visible(v));
        self.env = env;
    }

    // ── instructions ──

    /// Copies the instructions of an old block to the current place.
    pub(super) fn block(&mut self, block: Block) {
        let old = self.old;
        for &inst in old.block(block) {
            if !self.is_reached {
                return;
            }
            self.inst(old.inst(inst));
        }
    }

    fn inst(&mut self, info: &'f InstInfo) {
        let args: SmallVec<[Value; 4]> = info.args.iter().map(|v| self.map[v.index()]).collect();
        match info.op {
            Op::Const(bits) => self.set_const(info, bits),
            Op::VarLoad(var) => self.var_load(info, var, &args),
            Op::VarStore(var) => self.var_store(info, var, &args),
            Op::VarComponentStore(var) => {
                let index = self.new.const_bits(args[0]);
                match index.filter(|i| *i < self.old.var(var).count.into()) {
                    Some(index) => self.env.forget(self.slots.slot(var, index)),
                    None => self.env.forget(self.slots.all(self.old, var)),
                }
                self.emit(info, info.op.clone(), &args);
            }
            Op::If { then, otherwise } => self.if_(info, args[0], then, otherwise),
            Op::Block { label, body } => {
                let frame = self.enter(label, false);
                self.block(body);
                self.leave(label, frame);
            }
            Op::Loop { label, body } => self.loop_(label, body),
            Op::Br(label) => self.br(info, label),
            Op::Return => {
                self.emit(info, Op::Return, &[]);
                self.is_reached = false;
            }
            _ => {
                let whole = unclipped(&self.new, self.old, info, &args);
                let (op, args) = whole.unwrap_or_else(|| (info.op.clone(), args));
                match op.region() {
                    Some((_, body)) => self.region(info, &op, body, &args),
                    None => self.pure(info, &op, &args),
                }
                for (var, _) in info.op.vars().filter(|(_, use_)| *use_ == VarUse::Write) {
                    self.env.forget(self.slots.all(self.old, var));
                }
            }
        }
    }

    /// Copies an operation with a region, which is executed any number of times.
    fn region(&mut self, info: &InstInfo, op: &Op, body: Block, args: &[Value]) {
        let stored = stores(self.old, body);
        let forget = |walk: &mut Self| {
            stored.iter().for_each(|&var| walk.env.forget(walk.slots.all(walk.old, var)));
        };
        forget(self);
        let before = self.env.clone();
        let parent = self.at;
        let (new, is_left) = self.branch(body);
        if is_left && let Some(elem) = info.results.first().and_then(|&v| self.old.ty(v).elem()) {
            // Its end is never reached, but has to be there.
            let zero = self.constant(elem, 0);
            let end = self.new.new_inst(Op::Yield, &[zero], &[], info.loc);
            let block = &mut self.new.blocks[new.index()];
            if let Some(last) = block.last().filter(|&&i| self.new.insts[i.index()].op.is_terminator()) {
                debug_assert!(false, "{last} leaves a region");
                block.pop();
            }
            block.push(end);
        }
        (self.at, self.env, self.is_reached) = (parent, before, true);
        let mut op = op.clone();
        op.replace_bodies(|| new);
        self.emit(info, op, args);
    }

    fn set_const(&mut self, info: &InstInfo, bits: u64) {
        if let Some(&v) = info.results.first()
            && let Some(ty) = self.old.ty(v).scalar()
        {
            self.map[v.index()] = self.constant(ty, bits);
        }
    }

    fn pure(&mut self, info: &InstInfo, op: &Op, args: &[Value]) {
        let [result] = info.results[..] else { return self.emit(info, op.clone(), args) };
        match fold(&self.new, op, args, self.old.ty(result)) {
            None => self.emit(info, op.clone(), args),
            Some(Folded::Const(bits)) => self.set_const(info, bits),
            Some(Folded::Same(v)) => self.map[result.index()] = v,
            Some(Folded::Other(op, args)) => self.emit(info, op, &args),
        }
    }

    // ── variables ──

    /// The constant index of an access; `None` if it is not constant.
    fn index(&self, index: Option<&Value>) -> Option<u64> {
        index.map_or(Some(0), |&v| self.new.const_bits(v))
    }

    fn var_load(&mut self, info: &InstInfo, var: Var, args: &[Value]) {
        let result = info.results[0];
        let var_info = self.old.var(var);
        let Some(index) = self.index(args.first()) else { return self.emit(info, info.op.clone(), args) };
        if index >= var_info.count.into() {
            return match var_info.ty {
                Type::Scalar(_) => self.set_const(info, 0),
                Type::Ptr(_) | Type::Mat(_) => self.emit(info, info.op.clone(), args),
            };
        }
        if let Some(table) = &var_info.table {
            return self.set_const(info, table[index as usize]);
        }
        let slot = self.slots.slot(var, index);
        if let Some(known) = slot.and_then(|s| self.env.value(s)) {
            self.map[result.index()] = known;
            return;
        }
        self.emit(info, info.op.clone(), args);
        if let Some(slot) = slot {
            // The next load need not be made.
            self.env.set(slot, Some(self.map[result.index()]));
        }
    }

    fn var_store(&mut self, info: &InstInfo, var: Var, args: &[Value]) {
        let [index @ .., value] = args else { return };
        match self.index(index.first()) {
            Some(index) if index >= self.old.var(var).count.into() => return,
            Some(index) => {
                if let Some(slot) = self.slots.slot(var, index) {
                    if self.env.value(slot) == Some(*value) {
                        return;
                    }
                    self.env.set(slot, Some(*value));
                }
            }
            None => self.env.forget(self.slots.all(self.old, var)),
        }
        self.emit(info, info.op.clone(), args);
    }

    // ── control ──

    fn if_(&mut self, info: &InstInfo, cond: Value, then: Block, otherwise: Block) {
        match self.new.const_bits(cond) {
            Some(0) => return self.block(otherwise),
            Some(_) => return self.block(then),
            None => {}
        }
        let parent = self.at;
        let before = self.env.clone();
        let (t, is_then_left) = self.branch(then);
        let after_then = std::mem::replace(&mut self.env, before.clone());
        self.is_reached = true;
        let (o, is_else_left) = self.branch(otherwise);
        match (is_then_left, is_else_left) {
            (false, false) => self.env.join(&after_then),
            (false, true) => self.env = after_then,
            (true, false | true) => {}
        }
        self.is_reached = !(is_then_left && is_else_left);
        self.at = parent;
        self.settle_env(&before);
        let is_empty = |b: Block| self.new.block(b).is_empty();
        if !(is_empty(t) && is_empty(o)) {
            self.emit(info, Op::If { then: t, otherwise: o }, &[cond]);
        }
    }

    /// Copies a branch into a block of its own; also whether all leave it by branching.
    fn branch(&mut self, body: Block) -> (Block, bool) {
        let block = self.new_block();
        self.at = block;
        self.block(body);
        self.is_open[block.index()] = false;
        (block, !self.is_reached)
    }

    fn br(&mut self, info: &InstInfo, label: Label) {
        self.is_reached = false;
        let at = self.resolve(self.at);
        let Some(target) = &mut self.targets[label.index()] else { return };
        match &mut target.env {
            _ if target.is_loop => {}
            Some(env) => env.join(&self.env),
            none => *none = Some(self.env.clone()),
        }
        if !target.is_loop && at == target.body {
            // It is where the end of the body leads to.
            return;
        }
        target.uses += 1;
        let op = Op::Br(target.label);
        self.emit(info, op, &[]);
    }

    /// Begins the body of a construct, of which branches to `label` leave or repeat.
    pub(super) fn enter(&mut self, label: Label, is_loop: bool) -> Frame {
        let body = self.new_block();
        let target = Target { label: self.new.new_label(), body, is_loop, uses: 0, env: None };
        self.targets[label.index()] = Some(target);
        Frame { parent: std::mem::replace(&mut self.at, body), body, before: self.env.clone() }
    }

    /// Whether branches to the label were reached, and whether the end of its body was.
    pub(super) fn ends(&self, label: Label) -> (bool, bool) {
        let is_taken = self.targets[label.index()].as_ref().is_some_and(|t| t.env.is_some());
        (is_taken, self.is_reached)
    }

    /// Ends the body of a construct, and dissolves it if nothing branches to its label.
    pub(super) fn leave(&mut self, label: Label, frame: Frame) {
        let Frame { parent, body, before } = frame;
        self.at = parent;
        let Some(target) = self.targets[label.index()].take() else { return };
        if let Some(env) = target.env {
            if self.is_reached {
                self.env.join(&env);
            } else {
                self.env = env;
            }
            self.is_reached = true;
        }
        let mut uses = target.uses;
        if !target.is_loop {
            uses -= self.strip_tail(body, target.label);
        }
        if uses == 0 {
            let insts = std::mem::take(&mut self.new.blocks[body.index()]);
            self.new.blocks[parent.index()].extend(insts);
            self.merged[body.index()] = Some(parent);
        } else {
            self.is_open[body.index()] = false;
            let op = match target.is_loop {
                true => Op::Loop { label: target.label, body },
                false => Op::Block { label: target.label, body },
            };
            let inst = self.new.new_inst(op, &[], &[], 0);
            self.new.blocks[parent.index()].push(inst);
        }
        self.settle_env(&before);
    }

    /// Removes branches to `label` from where the end of `block` leads there anyway; how many.
    fn strip_tail(&mut self, block: Block, label: Label) -> u32 {
        let mut stripped = 0;
        while let Some(&last) = self.new.block(block).last() {
            let op = &self.new.inst(last).op;
            if *op != Op::Br(label) {
                let bodies: SmallVec<[Block; 2]> = op.bodies().collect();
                stripped += bodies.into_iter().map(|b| self.strip_tail(b, label)).sum::<u32>();
                break;
            }
            self.new.blocks[block.index()].pop();
            stripped += 1;
        }
        stripped
    }

    fn loop_(&mut self, label: Label, body: Block) {
        let stored = stores(self.old, body);
        if self.unroll(label, body, &stored) {
            return;
        }
        for &var in &stored {
            self.env.forget(self.slots.all(self.old, var));
        }
        let frame = self.enter(label, true);
        self.block(body);
        self.leave(label, frame);
    }

    // ── attempts ──

    pub(super) fn save(&self) -> Saved {
        let len = self.new.block(self.at).len();
        Saved { at: self.at, len, env: self.env.clone(), targets: self.targets.clone() }
    }

    /// Goes back. What was made stays behind in the arenas, in no block.
    pub(super) fn restore(&mut self, saved: Saved) {
        self.new.blocks[saved.at.index()].truncate(saved.len);
        self.at = saved.at;
        self.env = saved.env;
        self.targets = saved.targets;
        self.is_reached = true;
    }
}

/// The variables that are written in a block and those nested there, in order.
fn stores(func: &Function, block: Block) -> Vec<Var> {
    let mut vars = Vec::new();
    push_stores(func, block, &mut vars);
    vars.sort_unstable();
    vars.dedup();
    vars
}

fn push_stores(func: &Function, block: Block, vars: &mut Vec<Var>) {
    for &inst in func.block(block) {
        let op = &func.inst(inst).op;
        vars.extend(op.vars().filter(|(_, use_)| use_.writes()).map(|(var, _)| var));
        op.bodies().for_each(|b| push_stores(func, b, vars));
    }
}

//! Renumbering: entities in the order in which the text form names them, and nothing else.

use crate::entities::{Block, Inst, Label, Value, Var};
use crate::module::Function;
use crate::op::Op;

/// The same function with its entities in program order, without instructions, blocks, labels and
/// variables that it does not use.
pub fn compact(old: &Function) -> Function {
    let mut used = vec![false; old.vars.len()];
    mark_vars(old, Function::ENTRY, &mut used);
    renumber(old, &used)
}

/// The same, with all variables.
pub fn compact_keeping_vars(old: &Function) -> Function {
    renumber(old, &vec![true; old.vars.len()])
}

fn renumber(old: &Function, used: &[bool]) -> Function {
    let mut c = Compact {
        old,
        new: Function::default(),
        values: (0..old.values.len()).map(Value::new).collect(),
        labels: (0..old.labels as usize).map(Label::new).collect(),
        vars: vec![None; old.vars.len()],
    };
    for (i, var) in old.vars.iter().enumerate().filter(|(i, _)| used[*i]) {
        c.vars[i] = Some(Var::new(c.new.vars.len()));
        c.new.vars.push(var.clone());
    }
    let entry = c.new.new_block();
    c.block(Function::ENTRY, entry);
    c.new
}

fn mark_vars(func: &Function, block: Block, used: &mut [bool]) {
    for &inst in func.block(block) {
        let op = &func.inst(inst).op;
        op.vars().for_each(|(var, _)| used[var.index()] = true);
        op.bodies().for_each(|b| mark_vars(func, b, used));
    }
}

struct Compact<'f> {
    old: &'f Function,
    new: Function,
    values: Vec<Value>,
    labels: Vec<Label>,
    vars: Vec<Option<Var>>,
}

impl Compact<'_> {
    fn block(&mut self, from: Block, to: Block) {
        let old = self.old;
        for &inst in old.block(from) {
            self.inst(inst, to);
        }
    }

    fn inst(&mut self, inst: Inst, to: Block) {
        let old = self.old.inst(inst);
        let args: Vec<Value> = old.args.iter().map(|v| self.values[v.index()]).collect();
        let types: Vec<_> = old.results.iter().map(|&v| self.old.ty(v)).collect();
        let op = self.op(&old.op);
        let new = self.new.new_inst(op.clone(), &args, &types, old.loc);
        self.new.insts[new.index()].exact = old.exact;
        self.new.blocks[to.index()].push(new);
        for (from, &to) in old.results.iter().zip(&self.new.inst(new).results) {
            self.values[from.index()] = to;
        }
        for (from, to) in old.op.bodies().zip(op.bodies()) {
            self.block(from, to);
        }
    }

    fn op(&mut self, op: &Op) -> Op {
        match *op {
            Op::Block { label, .. } => Op::Block { label: self.label(label), body: self.new.new_block() },
            Op::Loop { label, .. } => Op::Loop { label: self.label(label), body: self.new.new_block() },
            Op::Br(label) => Op::Br(self.labels[label.index()]),
            _ => {
                let mut new = op.clone();
                new.map_vars(|v| self.vars[v.index()].unwrap_or(v));
                new.replace_bodies(|| self.new.new_block());
                new
            }
        }
    }

    fn label(&mut self, label: Label) -> Label {
        let new = self.new.new_label();
        self.labels[label.index()] = new;
        new
    }
}

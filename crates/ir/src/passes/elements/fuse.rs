//! Chains of operations on elements as one function of each.
//!
//! ```text
//! %x = f_to_f %m                %z = mat_map %m, %s {
//! %y = fmul %x, %c                %row, %col, %e, %f = params
//! %z = fadd %s, %y         →      %x = f_to_f %e
//!                                 %y = fmul %x, %0        ; %c was of one number, %0
//!                                 %z = fadd %f, %y
//!                                 yield %z
//!                               }
//! ```
//!
//! What nothing else looks at is not stored, and what it is made of is read by what looks at it.

use super::Elements;
use super::region::{Step, is_elementwise, mats, only_computes, params};
use crate::entities::{Block, Inst, Value};
use crate::module::Function;
use crate::op::Op;
use std::collections::{BTreeMap, BTreeSet};

/// Fuses operations of a function; `None` if there are none.
pub(super) fn run(func: &Function, elements: Elements<'_>) -> Option<Function> {
    let mut this =
        Fuse { new: func.clone(), elements, uses: vec![0; func.values.len()], instead: BTreeMap::new() };
    let live = (0..func.blocks.len()).flat_map(|block| func.block(Block::new(block)));
    for &inst in live {
        // Twice by one instruction is one use.
        let args: BTreeSet<Value> = func.inst(inst).args.iter().copied().collect();
        args.iter().for_each(|v| this.uses[v.index()] += 1);
    }
    for block in (0..func.blocks.len()).map(Block::new) {
        this.block(block);
    }
    if this.instead.is_empty() {
        return None;
    }
    let Fuse { mut new, instead, .. } = this;
    for arg in new.insts.iter_mut().flat_map(|info| &mut info.args) {
        while let Some(&other) = instead.get(arg) {
            *arg = other;
        }
    }
    Some(new)
}

struct Fuse<'a> {
    new: Function,
    elements: Elements<'a>,
    /// How many instructions use each value.
    uses: Vec<u32>,
    /// What stands for parameters of regions.
    instead: BTreeMap<Value, Value>,
}

impl Fuse<'_> {
    fn block(&mut self, block: Block) {
        let mut list = self.new.block(block).to_vec();
        let here: BTreeSet<Inst> = list.iter().copied().collect();
        let mut gone = BTreeSet::new();
        for &inst in &list {
            gone.extend(self.fuse(inst, &here));
        }
        if !gone.is_empty() {
            list.retain(|inst| !gone.contains(inst));
        }
        self.new.blocks[block.index()] = list;
    }

    /// Takes what an operation needs of its block into its region; gives the instructions that are no more.
    fn fuse(&mut self, inst: Inst, here: &BTreeSet<Inst>) -> Vec<Inst> {
        if !self.is_mapped(inst) {
            return Vec::new();
        }
        let operands = self.new.inst(inst).args.clone();
        // What is the same for a row is computed once for it.
        let width = |v: Value| self.new.ty(v).mat().map(|m| m.cols);
        let result = self.new.inst(inst).results[0];
        let is_taken = |&v: &Value| width(v) == width(result) && self.is_taken(v, here);
        let taken = operands.iter().copied().filter(is_taken).collect::<BTreeSet<Value>>();
        let numbers = operands.iter().filter(|&&v| self.is_number(v)).count();
        // One number is read from its matrix as soon as a function is made of it.
        let is_map = matches!(self.new.inst(inst).op, Op::MatMap { .. });
        if !self.has_matrix(inst) || taken.is_empty() && !(is_map && numbers > 0) {
            return Vec::new();
        }
        let mut steps = Vec::new();
        for &v in &taken {
            let def = self.new.values[v.index()].def;
            steps.extend(Step::of(&mut self.new, def).map(|step| (Some(v), step)));
        }
        steps.extend(Step::of(&mut self.new, inst).map(|step| (None, step)));
        self.join(inst, &steps, &taken);
        taken.iter().map(|v| self.new.values[v.index()].def).collect()
    }

    /// Makes one map of the steps to an operation, of which it is the last.
    fn join(&mut self, inst: Inst, steps: &[(Option<Value>, Step)], taken: &BTreeSet<Value>) {
        let outer = steps.iter().flat_map(|(_, step)| step.operands.iter().copied());
        let outer = outer.filter(|&v| !taken.contains(&v) && !self.is_number(v));
        let operands: Vec<Value> = outer.collect::<BTreeSet<Value>>().into_iter().collect();
        let loc = self.new.inst(inst).loc;
        let params = params(&mut self.new, &operands, loc);
        let (mut insts, mut gives) = (Vec::new(), BTreeMap::new());
        let mut last = None;
        for (result, step) in steps {
            self.instead.extend(step.params.iter().copied().zip(params.iter().copied()).take(2));
            for (&param, &operand) in step.params[2..].iter().zip(&step.operands) {
                let known = gives.get(&operand).copied().or_else(|| {
                    let at = operands.iter().position(|&v| v == operand)?;
                    Some(params[2 + at])
                });
                let element = known.unwrap_or_else(|| self.new.def(operand).args[0]);
                self.instead.insert(param, element);
            }
            insts.extend(&step.insts);
            match result {
                Some(result) => _ = gives.insert(*result, step.gives),
                None => last = Some(step.gives),
            }
        }
        let Some(last) = last else { return };
        let step = Step { operands: operands.iter().copied().collect(), insts, params, gives: last };
        let first = self.new.values[step.params[0].index()].def;
        let body = step.body(&mut self.new, first);
        let info = &mut self.new.insts[inst.index()];
        (info.op, info.args, info.exact) = (Op::MatMap { body }, step.operands, false);
    }

    /// Whether an operation is, or may become, a map that goes straight through matrices.
    fn is_mapped(&self, inst: Inst) -> bool {
        let info = self.new.inst(inst);
        let is_map = matches!(info.op, Op::MatMap { .. } if !info.args.is_empty());
        (is_map || info.op == Op::MatScale || is_elementwise(&self.new, info))
            && mats(&self.new, info).all(self.elements.maps)
    }

    /// Whether a matrix is made in a block for one operation there, by nothing but computing.
    fn is_taken(&self, v: Value, here: &BTreeSet<Inst>) -> bool {
        let def = self.new.values[v.index()].def;
        let computes = match self.new.inst(def).op {
            Op::MatMap { body } => {
                let insts = self.new.block(body);
                only_computes(&self.new, &insts[1..insts.len() - 1])
            }
            _ => true,
        };
        self.new.ty(v).mat().is_some()
            && self.uses[v.index()] == 1
            && here.contains(&def)
            && computes
            && self.is_mapped(def)
            && self.has_matrix(def)
    }

    /// Whether an instruction looks at a matrix of more than one number.
    fn has_matrix(&self, inst: Inst) -> bool {
        self.new.inst(inst).args.iter().any(|&v| self.new.ty(v).mat().is_some() && !self.is_number(v))
    }

    /// Whether all elements of a matrix are one constant.
    fn is_number(&self, v: Value) -> bool {
        let info = self.new.def(v);
        info.op == Op::MatSplat && self.new.const_bits(info.args[0]).is_some()
    }
}

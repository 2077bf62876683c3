//! Where lanes part ways, and whether the lanes that load a variable agree on its last store.

use crate::entities::{Block, Inst, Label, Var};
use crate::module::Function;
use crate::op::Op;
use crate::tree::Tree;
use std::collections::BTreeMap;

/// What is divergent; only ever grows.
#[derive(Clone, Debug)]
pub(super) struct Control {
    pub(super) divergent_ifs: Vec<bool>,
    pub(super) divergent_labels: Vec<bool>,
    pub(super) divergent_return: bool,
    /// Whether the construct is divergent that the block is a body of.
    bodies: Vec<bool>,
    /// Blocks that became so, whose branches are still to be looked at.
    fresh: Vec<Block>,
    /// Whether any construct around the block is. Known at the end.
    pub(super) divergent_blocks: Vec<bool>,
    /// The label's construct's body.
    label_bodies: Vec<Option<Block>>,
}

/// Whether at each load all active lanes agree on which store was the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    /// Stores are where the lanes are together.
    Everywhere,
    /// They agree where the variable is loaded.
    AtLoads,
    No,
}

impl Control {
    pub(super) fn new(func: &Function, tree: &Tree) -> Self {
        let mut label_bodies = vec![None; func.labels as usize];
        for &inst in tree.order() {
            if let Op::Block { label, body } | Op::Loop { label, body } = func.inst(inst).op {
                label_bodies[label.index()] = Some(body);
            }
        }
        Self {
            divergent_ifs: vec![false; func.insts.len()],
            divergent_labels: vec![false; func.labels as usize],
            divergent_return: false,
            bodies: vec![false; func.blocks.len()],
            fresh: Vec::new(),
            divergent_blocks: Vec::new(),
            label_bodies,
        }
    }

    fn mark(&mut self, body: Block) {
        if !std::mem::replace(&mut self.bodies[body.index()], true) {
            self.fresh.push(body);
        }
    }

    /// Notes whether an `if` is divergent.
    pub(super) fn set_if(&mut self, func: &Function, inst: Inst, is_divergent: bool) {
        if is_divergent && !self.divergent_ifs[inst.index()] {
            self.divergent_ifs[inst.index()] = true;
            func.inst(inst).op.bodies().for_each(|body| self.mark(body));
        }
    }

    /// Finds the labels that divergent constructs make divergent; gives the variables for which that may matter, and
    /// whether because of a store.
    pub(super) fn propagate(&mut self, func: &Function, tree: &Tree) -> BTreeMap<Var, bool> {
        let mut vars = BTreeMap::new();
        while let Some(block) = self.fresh.pop() {
            for &inst in tree.within(block) {
                let op = &func.inst(inst).op;
                if let Op::Br(label) = *op {
                    self.branch(tree, inst, label);
                }
                if let Op::Return = *op {
                    let block = tree.block_of(inst).unwrap_or(Function::ENTRY);
                    self.divergent_return |= self.crosses(tree, block, Function::ENTRY);
                }
                for (var, use_) in op.vars() {
                    *vars.entry(var).or_default() |= use_.writes();
                }
            }
        }
        vars
    }

    fn branch(&mut self, tree: &Tree, inst: Inst, label: Label) {
        let Some(body) = self.label_bodies[label.index()] else { return };
        let block = tree.block_of(inst).unwrap_or(Function::ENTRY);
        if !self.divergent_labels[label.index()] && self.crosses(tree, block, body) {
            self.divergent_labels[label.index()] = true;
            self.mark(body);
        }
    }

    /// Whether a divergent construct is around `from` within `to`.
    fn crosses(&self, tree: &Tree, from: Block, to: Block) -> bool {
        tree.up(from, to).any(|b| self.bodies[b.index()])
    }

    /// Whether lanes in `block` may differ in which earlier executions of it they took part in:
    /// something is divergent between it and the outermost loop around it.
    fn forgets(&self, tree: &Tree, block: Block) -> bool {
        let is_divergent = |b: &Block| self.bodies[b.index()];
        tree.up(block, Function::ENTRY).take_while(|b| tree.in_loop(*b)).any(|b| is_divergent(&b))
    }

    /// What the lanes agree on. The file's parent gives the reasons.
    pub(super) fn agreement(&self, tree: &Tree, a: &Accesses, count: u32) -> Agreement {
        let Some((all, loads)) = a.all.zip(a.loads) else { return Agreement::Everywhere };
        // Only a store to a variable of one element overwrites all of it.
        let begins = count == 1 && a.begins_with_store_in == Some(all);
        if a.stores.iter().all(|&store| !self.crosses(tree, store, all)) {
            let agrees = begins || !self.forgets(tree, all);
            return if agrees { Agreement::Everywhere } else { Agreement::No };
        }
        // As far out from the loads as the lanes stay together.
        let Some(u) = tree.up(loads, all).find(|b| self.bodies[b.index()]) else { return Agreement::No };
        let is_entered_once = tree.up(u, all).all(|b| !tree.is_loop_body(b));
        if !is_entered_once || (!begins && tree.in_loop(all)) {
            return Agreement::No;
        }
        let agrees = a.stores.iter().all(|&store| {
            let to = if tree.common(store, u) == u { u } else { all };
            !self.crosses(tree, store, to)
        });
        if agrees { Agreement::AtLoads } else { Agreement::No }
    }

    /// Settles which blocks are divergent.
    pub(super) fn finish(&mut self, tree: &Tree) {
        self.divergent_blocks =
            (0..self.bodies.len()).map(|b| self.crosses(tree, Block::new(b), Function::ENTRY)).collect();
    }
}

/// Where a variable is loaded and stored.
#[derive(Clone, Debug, Default)]
pub(super) struct Accesses {
    /// The innermost block around all accesses.
    all: Option<Block>,
    /// The innermost block around all loads.
    loads: Option<Block>,
    /// The block of the first access, if that is a store.
    begins_with_store_in: Option<Block>,
    /// The blocks of the stores.
    stores: Vec<Block>,
}

/// Where each variable is loaded and stored.
pub(super) fn accesses(func: &Function, tree: &Tree) -> Vec<Accesses> {
    let mut accesses = vec![Accesses::default(); func.vars.len()];
    for &inst in tree.order() {
        let block = tree.block_of(inst).unwrap_or(Function::ENTRY);
        let around = |b: &mut Option<Block>| *b = Some(b.map_or(block, |b| tree.common(b, block)));
        for (var, use_) in func.inst(inst).op.vars() {
            let a = &mut accesses[var.index()];
            if use_.writes() {
                if a.all.is_none() {
                    a.begins_with_store_in = Some(block);
                }
                a.stores.push(block);
            } else {
                around(&mut a.loads);
            }
            around(&mut a.all);
        }
    }
    accesses
}

//! Where lanes part ways, and whether the lanes that load a variable agree on its last store.

use crate::entities::{Block, Inst, Label};
use crate::module::Function;
use crate::op::Op;
use crate::tree::Tree;

/// What is divergent; only ever grows.
#[derive(Clone, Debug)]
pub(super) struct Control {
    pub(super) divergent_ifs: Vec<bool>,
    pub(super) divergent_labels: Vec<bool>,
    pub(super) divergent_return: bool,
    /// Whether the construct is divergent that the block is a body of.
    bodies: Vec<bool>,
    /// Whether any construct around the block is. Known at the end.
    pub(super) divergent_blocks: Vec<bool>,
    /// The label's construct's body.
    label_bodies: Vec<Option<Block>>,
}

impl Control {
    pub(super) fn new(func: &Function) -> Self {
        Self {
            divergent_ifs: vec![false; func.insts.len()],
            divergent_labels: vec![false; func.labels as usize],
            divergent_return: false,
            bodies: vec![false; func.blocks.len()],
            divergent_blocks: Vec::new(),
            label_bodies: vec![None; func.labels as usize],
        }
    }

    /// Notes that an `if` is divergent; whether that is new.
    pub(super) fn set_if(&mut self, func: &Function, inst: Inst, is_divergent: bool) -> bool {
        if !is_divergent || self.divergent_ifs[inst.index()] {
            return false;
        }
        self.divergent_ifs[inst.index()] = true;
        for body in func.inst(inst).op.bodies() {
            self.bodies[body.index()] = true;
        }
        true
    }

    /// Finds the labels that divergent constructs make divergent; whether one is new.
    pub(super) fn propagate(&mut self, func: &Function, tree: &Tree) -> bool {
        let mut changed = false;
        for &inst in tree.order() {
            match func.inst(inst).op {
                Op::Block { label, body } | Op::Loop { label, body } => {
                    self.label_bodies[label.index()] = Some(body);
                }
                Op::Br(label) => changed |= self.branch(tree, inst, label),
                Op::Return if !self.divergent_return => {
                    let block = tree.block_of(inst).unwrap_or(Function::ENTRY);
                    self.divergent_return = self.crosses(tree, block, Function::ENTRY);
                    changed |= self.divergent_return;
                }
                _ => {}
            }
        }
        changed
    }

    fn branch(&mut self, tree: &Tree, inst: Inst, label: Label) -> bool {
        let Some(body) = self.label_bodies[label.index()] else { return false };
        let block = tree.block_of(inst).unwrap_or(Function::ENTRY);
        if self.divergent_labels[label.index()] || !self.crosses(tree, block, body) {
            return false;
        }
        self.divergent_labels[label.index()] = true;
        self.bodies[body.index()] = true;
        true
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

    /// Whether at each load all active lanes agree on which store was the last. The file's parent
    /// gives the reasons.
    pub(super) fn agrees(&self, tree: &Tree, a: &Accesses, count: u32) -> bool {
        let Some((all, loads)) = a.all.zip(a.loads) else { return true };
        // Only a store to a variable of one element overwrites all of it.
        let begins = count == 1 && a.begins_with_store_in == Some(all);
        if a.stores.iter().all(|&store| !self.crosses(tree, store, all)) {
            return begins || !self.forgets(tree, all);
        }
        // As far out from the loads as the lanes stay together.
        let Some(u) = tree.up(loads, all).find(|b| self.bodies[b.index()]) else { return false };
        let is_entered_once = tree.up(u, all).all(|b| !tree.is_loop_body(b));
        if !is_entered_once || (!begins && tree.in_loop(all)) {
            return false;
        }
        a.stores.iter().all(|&store| {
            let to = if tree.common(store, u) == u { u } else { all };
            !self.crosses(tree, store, to)
        })
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
        match func.inst(inst).op {
            Op::VarLoad(var) => {
                let a = &mut accesses[var.index()];
                around(&mut a.all);
                around(&mut a.loads);
            }
            Op::VarStore(var) => {
                let a = &mut accesses[var.index()];
                if a.all.is_none() {
                    a.begins_with_store_in = Some(block);
                }
                around(&mut a.all);
                a.stores.push(block);
            }
            _ => {}
        }
    }
    accesses
}

//! What the rounds of a loop have in common.

use crate::entities::{Block, Inst, Var};
use crate::module::Function;
use crate::op::Op;
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// What is the same in each round of a loop.
pub(super) struct Alike {
    /// By number: values that may differ from round to round.
    pub(super) differs: Vec<bool>,
    /// Blocks that may be executed in one round and not in another.
    depends: BTreeSet<Block>,
}

impl Alike {
    /// That of the loop with this head, whose rounds end with a branch of it.
    pub(super) fn of(func: &Function, tree: &Tree, head: Block, body: Block) -> Self {
        let insts = tree.within(head);
        let mut this = Self { differs: vec![false; func.values.len()], depends: BTreeSet::new() };
        // Variables that are stored before anything else is done with them are what they are made to be.
        let mut first = BTreeMap::new();
        for &inst in insts {
            let info = func.inst(inst);
            for (var, _) in info.op.vars() {
                let is_at_once = tree.block_of(inst).is_some_and(|block| block == head || block == body);
                let is_whole = matches!(info.op, Op::VarStore(_)) && info.args.len() == 1;
                first.entry(var).or_insert(is_at_once && is_whole);
            }
        }
        let stored: BTreeSet<Var> = insts
            .iter()
            .flat_map(|&inst| func.inst(inst).op.vars())
            .filter(|(_, how)| how.writes())
            .map(|(var, _)| var)
            .collect();
        let mut vars: BTreeSet<Var> = stored.into_iter().filter(|var| !first[var]).collect();
        while this.spread(func, tree, insts, (head, body), &mut vars) {}
        this
    }

    /// Goes once through the instructions; whether something changed.
    fn spread(
        &mut self,
        func: &Function,
        tree: &Tree,
        insts: &[Inst],
        (head, body): (Block, Block),
        vars: &mut BTreeSet<Var>,
    ) -> bool {
        let mut changed = false;
        for &inst in insts {
            let info = func.inst(inst);
            let home = tree.block_of(inst).unwrap_or(head);
            let depends = tree.up(home, head).any(|block| self.depends.contains(&block));
            let is_made_so = depends
                || info.args.iter().any(|v| self.differs[v.index()])
                || info.op.vars().any(|(var, how)| !how.writes() && vars.contains(&var));
            if !is_made_so {
                continue;
            }
            for v in &info.results {
                changed |= !std::mem::replace(&mut self.differs[v.index()], true);
            }
            for (var, _) in info.op.vars().filter(|(_, how)| how.writes()) {
                changed |= vars.insert(var);
            }
            let Op::If { then, otherwise } = info.op else { continue };
            if then == body {
                continue;
            }
            for block in [then, otherwise] {
                changed |= self.depends.insert(block);
                for &inner in tree.within(block) {
                    let Op::Br(to) = func.inst(inner).op else { continue };
                    changed |= insts.iter().any(|&inst| match func.inst(inst).op {
                        Op::Loop { label, body } | Op::Block { label, body } => {
                            label == to && self.depends.insert(body)
                        }
                        _ => false,
                    });
                }
            }
        }
        changed
    }

    /// Whether a store is to the same place in each round.
    pub(super) fn is_stored_alike(&self, func: &Function, tree: &Tree, store: Inst, head: Block) -> bool {
        let Some(home) = tree.block_of(store) else { return false };
        let depends = tree.up(home, head).any(|block| self.depends.contains(&block));
        !depends && !self.differs[func.inst(store).args[0].index()]
    }
}

//! Where it is too late to decline ([`Op::Decline`]): where something may have been stored.

use crate::entities::Inst;
use crate::module::Function;
use crate::op::Op;
use crate::tree::Tree;

/// The order of a function's instructions, and what of them stores.
pub(super) struct Late {
    pub(super) tree: Tree,
    positions: Vec<usize>,
    stores: Vec<Inst>,
}

impl Late {
    pub(super) fn of(func: &Function) -> Self {
        let tree = Tree::new(func);
        let mut positions = vec![0; func.insts.len()];
        tree.order().iter().enumerate().for_each(|(position, inst)| positions[inst.index()] = position);
        let is_store = |&inst: &Inst| matches!(func.inst(inst).op, Op::Store(_) | Op::MatStore { .. });
        let stores = tree.order().iter().copied().filter(is_store).collect();
        Self { tree, positions, stores }
    }

    /// Whether a store, but for some, may come before an instruction: it stands there, or in a loop around it.
    pub(super) fn is_late(&self, inst: Inst, but: &[Inst]) -> bool {
        let rounds = self.tree.outermost_loop(inst).map_or(&[][..], |body| self.tree.within(body));
        let is_before = |store: &&Inst| {
            self.positions[store.index()] < self.positions[inst.index()] || rounds.contains(store)
        };
        self.stores.iter().filter(is_before).any(|store| !but.contains(store))
    }
}

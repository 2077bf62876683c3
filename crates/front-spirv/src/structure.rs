//! The structure of a function: a tree that says which construct each block goes into.
//!
//! This is the translation of reducible control flow of Ramsey's "Beyond Relooper" (ICFP 2022) over
//! a tree that is close to the dominator tree. A node's code comes first, then one IR `block` for
//! each child that several branches reach, nested so that the child with the greatest number (in
//! reverse postorder) is outermost:
//!
//! ```text
//! code of X
//! block @M2 { block @M1 { branches of X }  tree of M1 }
//! tree of M2
//! ```
//!
//! A child that only X branches to goes where the branch is. Two differences from the dominator
//! tree make invocations meet where SPIR-V says they do:
//!
//! - A loop's header `h` gets a *group* node above it, which holds the IR `loop`. The declared merge
//!   block is a child of the group, so it is outside of the loop even though `h` dominates it.
//! - The declared merge block of a selection is a child of the selection's header (or above it), even
//!   if a block inside the selection dominates it.
//!
//! The parent of any other node is the lowest common ancestor of its forward predecessors, which is
//! its immediate dominator where nothing was moved. Every ancestor of a node dominates it, so an
//! ancestor's values are in scope there. A value that is used elsewhere *escapes*; it crosses through
//! a variable.

use crate::cfg::Cfg;
use crate::diag::{Res, code, invalid};
use crate::module::{FunctionDecl, Spv};
use crate::reader::Id;
use crate::types::Types;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;

/// The structure of a function. Nodes are the blocks of the graph, then the groups.
#[derive(Debug)]
pub(crate) struct Structure {
    pub(crate) cfg: Cfg,
    parent: Vec<u32>,
    depth: Vec<u32>,
    /// An ancestor further up, such that any ancestor is found in logarithmic time (Myers 1983).
    jump: Vec<u32>,
    /// The group of each block; the block itself if it is no loop header.
    group: Vec<u32>,
    /// The header of each group.
    header: Vec<u32>,
    /// Children that need a label, in reverse postorder.
    labelled: Vec<Vec<u32>>,
    /// Whether a block goes where the one branch to it is.
    inline: Vec<bool>,
    escaping: FxHashSet<Id>,
    /// What each phi takes from each predecessor.
    incoming: FxHashMap<(Id, Id), Id>,
    /// How many blocks end in a return.
    pub(crate) returns: usize,
}

impl Structure {
    /// The structure of a function with a body.
    pub(crate) fn build(spv: &Spv<'_>, types: &Types, decl: &FunctionDecl) -> Res<Self> {
        let cfg = Cfg::build(spv, types, decl)?;
        let n = cfg.blocks.len();
        let is_return =
            |b: &&crate::module::BlockDecl| matches!(spv.insts[b.term].op, Op::Return | Op::ReturnValue);
        let returns = cfg.blocks.iter().filter(is_return).count();
        let mut s = Self {
            parent: vec![0; n],
            depth: vec![0; n],
            jump: vec![0; n],
            group: (0..n as u32).collect(),
            header: Vec::new(),
            labelled: Vec::new(),
            inline: vec![false; n],
            escaping: FxHashSet::default(),
            incoming: FxHashMap::default(),
            returns,
            cfg,
        };
        s.make_groups();
        s.make_tree(spv)?;
        s.find_escaping(spv);
        Ok(s)
    }

    /// Gives each block that an edge from below returns to a group.
    fn make_groups(&mut self) {
        for block in 0..self.cfg.blocks.len() {
            if self.cfg.preds[block].iter().any(|&p| p >= block as u32) {
                self.group[block] = (self.cfg.blocks.len() + self.header.len()) as u32;
                self.header.push(block as u32);
            }
        }
        let nodes = self.cfg.blocks.len() + self.header.len();
        self.parent.resize(nodes, 0);
        self.depth.resize(nodes, 0);
        self.jump.resize(nodes, 0);
        self.labelled.resize(nodes, Vec::new());
    }

    fn make_tree(&mut self, spv: &Spv<'_>) -> Res<()> {
        // For each block, the nodes that it must not be below, because they declare it as merge.
        let mut declared: FxHashMap<u32, Vec<(u32, u32)>> = FxHashMap::default();
        for block in 0..self.cfg.blocks.len() as u32 {
            if let Some(merge) = self.cfg.merge(spv, block)
                && let Some(to) = self.cfg.block_of(merge.label)
            {
                let above = if merge.is_loop { self.group[block as usize] } else { block };
                declared.entry(to).or_default().push((block, above));
            }
            if block != 0 {
                self.place(block, declared.get(&block).map_or(&[][..], |d| d));
            }
        }
        self.check_reducible(spv)
    }

    /// Finds the parent of a block whose forward predecessors are all placed.
    fn place(&mut self, block: u32, declared: &[(u32, u32)]) {
        let forward = |p: &&u32| **p < block;
        let preds: Vec<u32> = self.cfg.preds[block as usize].iter().filter(forward).copied().collect();
        let headers = declared.iter().filter(|(by, _)| *by < block).map(|d| d.1);
        let parent = preds.iter().copied().chain(headers).reduce(|a, b| self.common(a, b)).unwrap_or(0);
        let top = self.group[block as usize];
        self.attach(top, parent);
        if top != block {
            self.attach(block, top);
        }
        let is_own_merge = declared.iter().any(|(by, _)| *by == parent);
        let inline = preds == [parent] && !is_own_merge;
        self.inline[block as usize] = inline;
        if !inline {
            self.labelled[parent as usize].push(top);
        }
    }

    fn attach(&mut self, node: u32, parent: u32) {
        let (n, p) = (node as usize, parent as usize);
        self.parent[n] = parent;
        self.depth[n] = self.depth[p] + 1;
        let (j, jj) = (self.jump[p], self.jump[self.jump[p] as usize]);
        let even = self.depth[p] - self.depth[j as usize] == self.depth[j as usize] - self.depth[jj as usize];
        self.jump[n] = if even { jj } else { parent };
    }

    /// The ancestor of a node at a depth.
    fn ancestor(&self, mut node: u32, depth: u32) -> u32 {
        while self.depth[node as usize] > depth {
            let jump = self.jump[node as usize];
            node = if self.depth[jump as usize] >= depth { jump } else { self.parent[node as usize] };
        }
        node
    }

    /// The lowest common ancestor.
    fn common(&self, a: u32, b: u32) -> u32 {
        let depth = self.depth[a as usize].min(self.depth[b as usize]);
        let (mut a, mut b) = (self.ancestor(a, depth), self.ancestor(b, depth));
        while a != b {
            let (ja, jb) = (self.jump[a as usize], self.jump[b as usize]);
            (a, b) = if ja == jb { (self.parent[a as usize], self.parent[b as usize]) } else { (ja, jb) };
        }
        a
    }

    /// A loop that can be entered beside its header has no structured form.
    fn check_reducible(&self, spv: &Spv<'_>) -> Res<()> {
        for (from, succs) in self.cfg.succs.iter().enumerate() {
            for &to in succs {
                if to <= from as u32 && !self.encloses(to, from as u32) {
                    let m = format!(
                        "the branch to %{} closes a loop that has another entry",
                        self.cfg.blocks[to as usize].label
                    );
                    let term = self.cfg.blocks[from].term;
                    return Err(spv.locate(invalid(code::CONTROL_FLOW, m), term));
                }
            }
        }
        Ok(())
    }

    /// Finds the ids that are used where their definition does not enclose the use. Which operand
    /// words are ids depends on the instruction; a literal that equals an id only costs a variable.
    fn find_escaping(&mut self, spv: &Spv<'_>) {
        let mut defs: FxHashMap<Id, u32> = FxHashMap::default();
        for (node, block) in self.cfg.blocks.iter().enumerate() {
            let ids = spv.insts[block.first..block.term].iter().map(|i| i.id).filter(|id| *id != 0);
            defs.extend(ids.map(|id| (id, node as u32)));
        }
        let (mut escaping, mut incoming) = (FxHashSet::default(), FxHashMap::default());
        for (node, block) in self.cfg.blocks.iter().enumerate() {
            for inst in &spv.insts[block.first..=block.term] {
                if inst.op == Op::Phi {
                    // A phi's operands are used at the end of the predecessors.
                    for pair in inst.args.chunks_exact(2) {
                        incoming.entry((inst.id, pair[1])).or_insert(pair[0]);
                        if let Some(pred) = self.cfg.block_of(pair[1]) {
                            self.note_use(&defs, pair[0], pred, &mut escaping);
                        }
                    }
                } else {
                    for &word in inst.args {
                        self.note_use(&defs, word, node as u32, &mut escaping);
                    }
                }
            }
        }
        (self.escaping, self.incoming) = (escaping, incoming);
    }

    fn note_use(&self, defs: &FxHashMap<Id, u32>, id: Id, node: u32, escaping: &mut FxHashSet<Id>) {
        if let Some(&def) = defs.get(&id)
            && !self.encloses(def, node)
        {
            escaping.insert(id);
        }
    }

    /// Whether what node `a` defines is in scope at node `b`.
    pub(crate) fn encloses(&self, a: u32, b: u32) -> bool {
        let depth = self.depth[a as usize];
        self.depth[b as usize] >= depth && self.ancestor(b, depth) == a
    }

    /// Whether an id is used out of scope.
    pub(crate) fn escapes(&self, id: Id) -> bool {
        self.escaping.contains(&id)
    }

    /// What a phi takes from the predecessor with a label.
    pub(crate) fn incoming(&self, phi: Id, label: Id) -> Option<Id> {
        self.incoming.get(&(phi, label)).copied()
    }

    /// The node that a branch to a block goes to.
    pub(crate) fn top(&self, block: u32) -> u32 {
        self.group[block as usize]
    }

    /// The header if the node is a group.
    pub(crate) fn header_of(&self, node: u32) -> Option<u32> {
        self.header.get((node as usize).checked_sub(self.cfg.blocks.len())?).copied()
    }

    /// Children of a node that need a label, in reverse postorder.
    pub(crate) fn labelled(&self, node: u32) -> &[u32] {
        &self.labelled[node as usize]
    }

    /// Whether a block goes where the one branch to it is.
    pub(crate) fn is_inline(&self, block: u32) -> bool {
        self.inline[block as usize]
    }
}

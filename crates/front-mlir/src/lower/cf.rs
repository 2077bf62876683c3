//! Graphs of blocks as structured control flow.
//!
//! This is the translation of reducible control flow of Ramsey's "Beyond Relooper" (ICFP 2022) over a tree that is close
//! to the dominator tree. A node's code comes first, then one IR `block` for each child that several branches reach,
//! nested so that the child with the greatest number (in reverse postorder) is outermost:
//!
//! ```text
//! code of X
//! block @M2 { block @M1 { branches of X }  tree of M1 }
//! tree of M2
//! ```
//!
//! A child that only one branch goes to is where that branch is. MLIR does not say where invocations meet, so it is
//! decided here: behind a loop is what its blocks branch to and what is not in it (a natural loop). A header gets a
//! *group* node above it, which holds the IR `loop`; the blocks behind the loop are children of the group or above.
//! The parent of any other node is the lowest common ancestor of its forward predecessors: its immediate dominator, if
//! nothing was moved. Every ancestor of a node dominates it, so an ancestor's values are in scope there. A value that is
//! used elsewhere *escapes*: it crosses through a variable, as all arguments of blocks do where branches meet.

use phalanx_ir::{CompareOp as C, Label, Op as IrOp, Scalar};
use rustc_hash::FxHashMap;

use super::attr;
use super::cx::Cx;
use super::func::returns;
use super::value::{Slots, Val};
use crate::ast::{Block, Op, Region, Successor, ValueId};
use crate::error::{Res, at, bug, invalid, unsupported};

/// A graph of blocks and the tree that they become. Nodes are the reachable blocks in reverse postorder, then the groups.
#[derive(Debug)]
struct Graph<'a> {
    blocks: Vec<&'a Block>,
    /// The number of each block of the region, if it is reachable.
    number: Vec<Option<usize>>,
    preds: Vec<Vec<usize>>,
    /// The immediate dominator of each block.
    dominator: Vec<usize>,
    /// The header of the innermost loop around each block; around a header, of the loop that it is in besides its own.
    around: Vec<Option<usize>>,
    /// The group of each header.
    group: FxHashMap<usize, usize>,
    /// The header of each group, by its number less that of blocks.
    headers: Vec<usize>,
    parent: Vec<usize>,
    depth: Vec<usize>,
    /// Blocks that need a label, below their parents, in reverse postorder.
    labelled: Vec<Vec<usize>>,
    /// Whether a block goes where the one branch to it is.
    inline: Vec<bool>,
}

/// What is known while the blocks are emitted.
#[derive(Debug)]
struct Flow<'a> {
    graph: Graph<'a>,
    /// Variables for the arguments of blocks that are not inline.
    slots: Vec<Vec<Slots>>,
    /// Labels of groups' loops (by header) and of blocks that follow.
    loops: FxHashMap<usize, Label>,
    labels: FxHashMap<usize, Label>,
    /// Branches to each label.
    branches: FxHashMap<Label, u32>,
}

/// Where a branch goes.
fn successors(block: &Block) -> &[Successor] {
    block.ops.last().map_or(&[], |op| &op.successors)
}

impl<'a> Graph<'a> {
    fn build(region: &'a Region) -> Res<Self> {
        let order = postorder(region)?;
        let mut number = vec![None; region.blocks.len()];
        let blocks: Vec<&Block> = order.iter().rev().map(|&i| &region.blocks[i]).collect();
        for (n, &i) in order.iter().rev().enumerate() {
            number[i] = Some(n);
        }
        let n = blocks.len();
        let mut preds = vec![Vec::new(); n];
        for (from, block) in blocks.iter().enumerate() {
            for successor in successors(block) {
                let to = number[successor.block].ok_or_else(|| bug("a block that is not reached"))?;
                preds[to].push(from);
            }
        }
        let mut graph = Self {
            blocks,
            number,
            preds,
            dominator: vec![0; n],
            around: vec![None; n],
            group: FxHashMap::default(),
            headers: Vec::new(),
            parent: vec![0; n],
            depth: vec![0; n],
            labelled: vec![Vec::new(); n],
            inline: vec![false; n],
        };
        graph.find_dominators();
        graph.find_loops()?;
        (1..n).for_each(|block| graph.place(block));
        Ok(graph)
    }

    /// Immediate dominators, as Cooper, Harvey and Kennedy find them.
    fn find_dominators(&mut self) {
        let mut known = vec![false; self.blocks.len()];
        known[0] = true;
        let mut changed = true;
        while changed {
            changed = false;
            for block in 1..self.blocks.len() {
                let mut found: Option<usize> = None;
                for &pred in self.preds[block].iter().filter(|&&pred| known[pred]) {
                    found = Some(found.map_or(pred, |other| self.meet(other, pred)));
                }
                let Some(found) = found else { continue };
                if !known[block] || self.dominator[block] != found {
                    (self.dominator[block], known[block], changed) = (found, true, true);
                }
            }
        }
    }

    fn meet(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            if a > b {
                a = self.dominator[a];
            } else {
                b = self.dominator[b];
            }
        }
        a
    }

    fn dominates(&self, a: usize, mut b: usize) -> bool {
        while b > a {
            b = self.dominator[b];
        }
        a == b
    }

    /// Natural loops, the inner ones first. A loop that can be entered beside its header has no structured form.
    fn find_loops(&mut self) -> Res<()> {
        let n = self.blocks.len();
        for header in (0..n).rev() {
            let latches: Vec<usize> = self.preds[header].iter().copied().filter(|&p| p >= header).collect();
            if latches.is_empty() {
                continue;
            }
            if let Some(&latch) = latches.iter().find(|&&latch| !self.dominates(header, latch)) {
                let fault =
                    unsupported("irreducible control flow: the branch closes a loop that has another entry");
                return Err(match self.blocks[latch].ops.last() {
                    Some(op) => at(fault, op.pos, &op.name),
                    None => fault,
                });
            }
            self.group.insert(header, n + self.headers.len());
            self.headers.push(header);
            let mut work = latches;
            while let Some(mut block) = work.pop() {
                // The outermost loop around the block that is known so far stands for it.
                let mut inside = block == header;
                while let Some(outer) = self.around[block].filter(|_| !inside) {
                    inside = outer == header;
                    block = outer;
                }
                if inside || block == header {
                    continue;
                }
                self.around[block] = Some(header);
                work.extend(&self.preds[block]);
            }
        }
        let nodes = n + self.headers.len();
        self.parent.resize(nodes, 0);
        self.depth.resize(nodes, 0);
        self.labelled.resize(nodes, Vec::new());
        if let Some(&top) = self.group.get(&0) {
            // The entry may be a loop's header: then the group is the root.
            self.parent[0] = top;
            self.parent[top] = top;
            self.depth[0] = 1;
        }
        Ok(())
    }

    /// The innermost loop that a block is in, its own included if it is a header.
    fn innermost(&self, block: usize) -> Option<usize> {
        if self.group.contains_key(&block) { Some(block) } else { self.around[block] }
    }

    fn is_in_loop(&self, block: usize, header: usize) -> bool {
        let mut at = self.innermost(block);
        while let Some(found) = at {
            if found == header {
                return true;
            }
            at = self.around[found];
        }
        false
    }

    /// Finds the parent of a block whose forward predecessors are all placed.
    fn place(&mut self, block: usize) {
        let mut parent: Option<usize> = None;
        let (mut edges, mut only) = (0, 0);
        for &pred in self.preds[block].iter().filter(|&&pred| pred < block) {
            // The block is behind all loops that the branch leaves.
            let (mut node, mut at) = (pred, self.innermost(pred));
            while let Some(header) = at {
                if !self.is_in_loop(block, header) {
                    node = self.top(header);
                }
                at = self.around[header];
            }
            (edges, only) = (edges + 1, pred);
            parent = Some(parent.map_or(node, |other| self.common(other, node)));
        }
        let parent = parent.unwrap_or(self.top(0));
        let top = self.top(block);
        self.attach(top, parent);
        if top != block {
            self.attach(block, top);
        }
        self.inline[block] = edges == 1 && parent == only;
        if !self.inline[block] {
            self.labelled[parent].push(block);
        }
    }

    fn attach(&mut self, node: usize, parent: usize) {
        self.parent[node] = parent;
        self.depth[node] = self.depth[parent] + 1;
    }

    /// The lowest common ancestor.
    fn common(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            if self.depth[a] >= self.depth[b] {
                a = self.parent[a];
            } else {
                b = self.parent[b];
            }
        }
        a
    }

    /// The node that a branch to a block goes to.
    fn top(&self, block: usize) -> usize {
        self.group.get(&block).copied().unwrap_or(block)
    }

    /// Whether a block's arguments are those of the one branch to it, and need no variables.
    fn is_bound(&self, block: usize) -> bool {
        !self.group.contains_key(&block) && (block == 0 || self.inline[block])
    }

    /// The header if a node is a group.
    fn header_of(&self, node: usize) -> Option<usize> {
        self.headers.get(node.checked_sub(self.blocks.len())?).copied()
    }

    /// Whether what block `a` defines is in scope at block `b`.
    fn encloses(&self, a: usize, mut b: usize) -> bool {
        while self.depth[b] > self.depth[a] {
            b = self.parent[b];
        }
        a == b
    }
}

/// The reachable blocks, each behind those that it branches to.
fn postorder(region: &Region) -> Res<Vec<usize>> {
    let count = region.blocks.len();
    let (mut order, mut seen) = (Vec::with_capacity(count), vec![false; count]);
    let mut stack = vec![(0, 0)];
    seen[0] = true;
    while let Some((block, next)) = stack.pop() {
        match successors(&region.blocks[block]).get(next) {
            None => order.push(block),
            Some(successor) => {
                stack.push((block, next + 1));
                let to = successor.block;
                match seen.get_mut(to) {
                    None => return Err(invalid("a branch to a block that the region does not have")),
                    Some(true) => {}
                    Some(seen) => {
                        *seen = true;
                        stack.push((to, 0));
                    }
                }
            }
        }
    }
    Ok(order)
}

impl<'a> Cx<'a> {
    /// Translates a graph of blocks, the first of which has these arguments.
    pub(super) fn blocks(&mut self, region: &'a Region, args: Vec<Val>) -> Res<()> {
        let graph = Graph::build(region)?;
        self.find_escaping(&graph)?;
        let mut slots = Vec::with_capacity(graph.blocks.len());
        for (block, found) in graph.blocks.iter().enumerate() {
            let mut list = Vec::new();
            if !graph.is_bound(block) {
                for &id in &found.args {
                    let ty = self.ty(id)?;
                    list.push(self.slots(ty)?);
                }
            }
            slots.push(list);
        }
        let root = graph.top(0);
        let mark = self.enter();
        let (loops, labels, branches) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        let mut flow = Flow { graph, slots, loops, labels, branches };
        self.hand(&flow, 0, args)?;
        self.tree(&mut flow, root, None)?;
        self.leave(mark);
        Ok(())
    }

    /// Writes the arguments of a block.
    fn pass(&mut self, slots: &[Slots], args: &[Val]) -> Res<()> {
        if slots.len() != args.len() {
            let (found, expected) = (args.len(), slots.len());
            return Err(invalid(format!("hands over {found} values, expected {expected}")));
        }
        slots.iter().zip(args).try_for_each(|(slots, arg)| self.store(slots, arg))
    }

    /// Gives variables to values that are used where their definition does not enclose the use.
    fn find_escaping(&mut self, graph: &Graph<'a>) -> Res<()> {
        let mut defs: FxHashMap<ValueId, usize> = FxHashMap::default();
        for (node, block) in graph.blocks.iter().enumerate() {
            let results = block.ops.iter().flat_map(|op| &op.results);
            defs.extend(block.args.iter().chain(results).map(|&id| (id, node)));
        }
        for (node, block) in graph.blocks.iter().enumerate() {
            let mut work: Vec<&'a Op> = block.ops.iter().collect();
            while let Some(op) = work.pop() {
                let handed = op.successors.iter().flat_map(|successor| &successor.args);
                for &id in op.operands.iter().chain(handed) {
                    let Some(&def) = defs.get(&id) else { continue };
                    if !graph.dominates(def, node) {
                        let name = self.ast.values.get(id.0 as usize).map_or("", |value| &value.name);
                        let fault = invalid(format!("%{name} is used where it need not be defined"));
                        return Err(at(fault, op.pos, &op.name));
                    }
                    if !graph.encloses(def, node) && !self.escaping.contains_key(&id) {
                        let ty = self.ty(id)?;
                        let slots = self.slots(ty).map_err(|fault| at(fault, op.pos, &op.name))?;
                        self.escaping.insert(id, slots);
                    }
                }
                work.extend(op.regions.iter().flat_map(|region| &region.blocks).flat_map(|block| &block.ops));
            }
        }
        Ok(())
    }

    /// Branches to a label, unless it is what comes next anyway.
    fn go(&mut self, flow: &mut Flow<'a>, label: Label, next: Option<Label>) {
        if Some(label) != next {
            *flow.branches.entry(label).or_default() += 1;
            self.b().br(label);
        }
    }

    /// Emits a node and everything below it. Falling off its end continues at `next`; without one, every path ends in a
    /// branch.
    fn tree(&mut self, flow: &mut Flow<'a>, mut node: usize, next: Option<Label>) -> Res<()> {
        let mark = self.enter();
        loop {
            if flow.graph.header_of(node).is_none() {
                self.code(flow, node)?;
            }
            let kids = flow.graph.labelled[node].clone();
            let labels: Vec<Label> = kids.iter().map(|_| self.func.new_label()).collect();
            flow.labels.extend(kids.iter().copied().zip(labels.iter().copied()));
            if let Some(&last) = kids.last() {
                self.nest(flow, node, &kids, &labels)?;
                node = flow.graph.top(last);
            } else if let Some(to) = self.straight_on(flow, node)? {
                node = to;
            } else {
                self.deeper(|cx| cx.end(flow, node, next))?;
                break;
            }
        }
        self.leave(mark);
        Ok(())
    }

    /// Emits the end of a node within a block for each of these children, and what all but the last hold behind theirs.
    fn nest(&mut self, flow: &mut Flow<'a>, node: usize, kids: &[usize], labels: &[Label]) -> Res<()> {
        let (Some((_, kids)), Some((&label, labels))) = (kids.split_last(), labels.split_last()) else {
            return Err(bug("a block for no child"));
        };
        let body = self.func.new_block();
        self.within(body, |cx| {
            cx.deeper(|cx| {
                let Some(&before) = kids.last() else { return cx.end(flow, node, Some(label)) };
                cx.nest(flow, node, kids, labels)?;
                cx.tree(flow, flow.graph.top(before), Some(label))
            })
        })?;
        // What nothing branches out of needs no block; but a branch stands last in its block.
        let last = self.func.blocks[body.index()].last();
        let ends = last.is_some_and(|&inst| matches!(self.func.inst(inst).op, IrOp::Br(_) | IrOp::Return));
        if ends || flow.branches.get(&label).is_some_and(|&n| n > 0) {
            self.b().effect(IrOp::Block { label, body }, &[]);
        } else {
            let insts = std::mem::take(&mut self.func.blocks[body.index()]);
            self.func.blocks[self.block.index()].extend(insts);
        }
        Ok(())
    }

    /// The node that follows, if a block ends in a branch to one that goes here.
    fn straight_on(&mut self, flow: &Flow<'a>, node: usize) -> Res<Option<usize>> {
        let Some(op) = flow.graph.blocks.get(node).and_then(|block| block.ops.last()) else {
            return Ok(None);
        };
        let [successor] = &op.successors[..] else { return Ok(None) };
        let to = flow.graph.number.get(successor.block).copied().flatten();
        let Some(to) = to.filter(|&to| to > node && flow.graph.inline[to] && &*op.name == "cf.br") else {
            return Ok(None);
        };
        self.at(op, |cx| {
            let args = successor.args.iter().map(|&id| cx.val(id)).collect::<Res<Vec<_>>>()?;
            cx.hand(flow, to, args)
        })?;
        Ok(Some(flow.graph.top(to)))
    }

    /// Gives a block its arguments: as they are if it goes where the branch is, else through variables.
    fn hand(&mut self, flow: &Flow<'a>, to: usize, args: Vec<Val>) -> Res<()> {
        if flow.graph.is_bound(to) {
            return self.parameters(&flow.graph.blocks[to].args, args);
        }
        self.pass(&flow.slots[to], &args)
    }

    /// Emits the operations of a block but the terminator.
    fn code(&mut self, flow: &mut Flow<'a>, node: usize) -> Res<()> {
        let block = flow.graph.blocks[node];
        if !flow.graph.is_bound(node) {
            let args = flow.slots[node].iter().map(|slots| self.load(slots)).collect();
            self.parameters(&block.args, args)?;
        }
        self.block_ops(&block.ops).map(|_| ())
    }

    /// Emits the end of a node: a loop, or what a terminator says.
    fn end(&mut self, flow: &mut Flow<'a>, node: usize, next: Option<Label>) -> Res<()> {
        if let Some(header) = flow.graph.header_of(node) {
            return self.repeat(|cx, label| {
                flow.loops.insert(header, label);
                cx.tree(flow, header, next)
            });
        }
        let block = flow.graph.blocks[node];
        let op = block.ops.last().ok_or_else(|| invalid("a block without a terminator"))?;
        self.at(op, |cx| cx.terminator(flow, node, op, next))
    }

    fn terminator(&mut self, flow: &mut Flow<'a>, node: usize, op: &'a Op, next: Option<Label>) -> Res<()> {
        let count = |n: usize| {
            let found = op.successors.len();
            if found == n { Ok(()) } else { Err(invalid(format!("{found} successors, expected {n}"))) }
        };
        match &*op.name {
            "cf.br" => {
                count(1)?;
                self.branch(flow, node, &op.successors[0], next)
            }
            "cf.cond_br" => {
                count(2)?;
                let condition = self.value_of(op, 0, Scalar::Bool)?;
                let (yes, no) = (self.func.new_block(), self.func.new_block());
                self.b().effect(IrOp::If { then: yes, otherwise: no }, &[condition]);
                self.within(yes, |cx| cx.branch(flow, node, &op.successors[0], next))?;
                self.within(no, |cx| cx.branch(flow, node, &op.successors[1], next))
            }
            "cf.switch" => self.switch(flow, node, op, next),
            _ if returns(op) => {
                let exit = self.exits.last().cloned().ok_or_else(|| bug("a return out of nothing"))?;
                let vals = self.handed_over(op, exit.results.len())?;
                self.pass(&exit.results, &vals)?;
                self.b().br(exit.label);
                Ok(())
            }
            name => Err(unsupported(format!("the operation {name} at the end of a block"))),
        }
    }

    fn switch(&mut self, flow: &mut Flow<'a>, node: usize, op: &'a Op, next: Option<Label>) -> Res<()> {
        let selector = self.value(op, 0)?;
        let scalar = super::arith::scalar_of(self, selector)?;
        let cases = attr::optional_ints(op, "case_values")?.unwrap_or_default();
        let (Some((default, targets)), true) = (op.successors.split_first(), scalar.is_int()) else {
            return Err(invalid("expected an integer, and a successor for all other values"));
        };
        if cases.len() != targets.len() {
            let (found, expected) = (targets.len(), cases.len());
            return Err(invalid(format!("{found} successors of cases, expected {expected}")));
        }
        for (&case, target) in cases.iter().zip(targets) {
            let case = self.b().constant(scalar, case as u64);
            let is_met = self.b().compare(C::Ieq, selector, case);
            self.fork(is_met, |cx| cx.branch(flow, node, target, None), |_| Ok(()))?;
        }
        self.branch(flow, node, default, next)
    }

    fn branch(
        &mut self,
        flow: &mut Flow<'a>,
        from: usize,
        successor: &'a Successor,
        next: Option<Label>,
    ) -> Res<()> {
        let to = flow.graph.number.get(successor.block).copied().flatten();
        let to = to.ok_or_else(|| bug("a branch to a block that is not reached"))?;
        let args = successor.args.iter().map(|&id| self.val(id)).collect::<Res<Vec<_>>>()?;
        self.hand(flow, to, args)?;
        if to > from && flow.graph.inline[to] {
            return self.tree(flow, flow.graph.top(to), next);
        }
        let label = if to > from { flow.labels.get(&to) } else { flow.loops.get(&to) };
        let label = *label.ok_or_else(|| bug("a branch leaves the construct of its target"))?;
        self.go(flow, label, next);
        Ok(())
    }
}

//! Every use of a value comes behind its definition when the code runs.
//!
//! The blocks of a region are visited by their dominator tree, the values of a block can be seen in all blocks below
//! it. Immediate dominators are found by the algorithm of Lengauer and Tarjan with compressed paths, whose time hardly
//! grows faster than the number of branches, whatever they are.
//! Blocks that nothing goes to never run, so nothing is asked of them.

use std::collections::HashMap;

use super::error::{Parsed, SyntaxError};
use super::parser::value_name;
use crate::ast::{Block, Op, Pos, Region, ValueDef, ValueId};

/// Checks all operations; `late` has the first use of each value that is used in a line before its own.
pub(crate) fn check(ops: &[Op], values: &[ValueDef], late: &HashMap<ValueId, Pos>) -> Parsed<()> {
    let mut checker = Checker { values, late, visible: vec![false; values.len()] };
    ops.iter().try_for_each(|op| checker.op(op))
}

struct Checker<'t> {
    values: &'t [ValueDef],
    late: &'t HashMap<ValueId, Pos>,
    visible: Vec<bool>,
}

impl Checker<'_> {
    fn op(&mut self, op: &Op) -> Parsed<()> {
        for operand in &op.operands {
            if !self.visible.get(operand.0 as usize).is_some_and(|visible| *visible) {
                return Err(self.hidden(*operand, op.pos));
            }
        }
        op.regions.iter().try_for_each(|region| self.region(region))?;
        self.show(&op.results, true);
        Ok(())
    }

    fn hidden(&self, value: ValueId, pos: Pos) -> Box<SyntaxError> {
        let (name, place) = self.values.get(value.0 as usize).map_or(("", pos), |def| (&*def.name, def.pos));
        SyntaxError::unexpected(
            self.late.get(&value).copied().unwrap_or(pos),
            "a value whose definition comes before this on every path",
            format!("{}, defined at {}:{}", value_name(name, 0), place.line, place.column),
        )
    }

    fn show(&mut self, values: &[ValueId], visible: bool) {
        for value in values {
            if let Some(entry) = self.visible.get_mut(value.0 as usize) {
                *entry = visible;
            }
        }
    }

    fn block(&mut self, block: &Block) -> Parsed<()> {
        self.show(&block.args, true);
        block.ops.iter().try_for_each(|op| self.op(op))
    }

    fn hide(&mut self, block: &Block) {
        self.show(&block.args, false);
        for op in &block.ops {
            self.show(&op.results, false);
        }
    }

    fn region(&mut self, region: &Region) -> Parsed<()> {
        if let [block] = &region.blocks[..] {
            self.block(block)?;
            self.hide(block);
            return Ok(());
        }
        let children = dominator_tree(&region.blocks);
        // A block is entered, then its children, then it is left.
        let mut work = vec![(0, true)];
        while let Some((index, enters)) = work.pop() {
            let Some(block) = region.blocks.get(index) else { continue };
            if !enters {
                self.hide(block);
                continue;
            }
            self.block(block)?;
            work.push((index, false));
            work.extend(children[index].iter().map(|child| (*child, true)));
        }
        Ok(())
    }
}

fn successors(block: &Block) -> impl Iterator<Item = usize> {
    block.ops.last().into_iter().flat_map(|op| &op.successors).map(|successor| successor.block)
}

/// The blocks that each block dominates immediately; blocks that nothing reaches are nobody's.
fn dominator_tree(blocks: &[Block]) -> Vec<Vec<usize>> {
    let (order, parents) = preorder(blocks);
    let mut place = vec![None; blocks.len()];
    for (index, block) in order.iter().enumerate() {
        place[*block] = Some(index);
    }
    let mut predecessors = vec![Vec::new(); order.len()];
    for (index, block) in order.iter().enumerate() {
        for next in successors(&blocks[*block]).filter_map(|next| place[next]) {
            predecessors[next].push(index);
        }
    }
    let dominators = Forest::new(order.len()).dominators(&parents, &predecessors);
    let mut children = vec![Vec::new(); blocks.len()];
    for (index, dominator) in dominators.iter().enumerate().skip(1) {
        children[order[*dominator]].push(order[index]);
    }
    children
}

/// Blocks in the order in which a search in depth reaches them, and the place of that from which it came.
fn preorder(blocks: &[Block]) -> (Vec<usize>, Vec<usize>) {
    let (mut order, mut parents) = (Vec::new(), Vec::new());
    let mut seen = vec![false; blocks.len()];
    let mut work = if blocks.is_empty() { Vec::new() } else { vec![(0, 0)] };
    while let Some((block, parent)) = work.pop() {
        if std::mem::replace(&mut seen[block], true) {
            continue;
        }
        let index = order.len();
        order.push(block);
        parents.push(parent);
        work.extend(successors(&blocks[block]).filter(|next| !seen[*next]).map(|next| (next, index)));
    }
    (order, parents)
}

/// The part of the search's tree that was linked so far, by places in its order.
struct Forest {
    ancestor: Vec<Option<usize>>,
    /// Of the way up to the root, the place with the least semidominator.
    label: Vec<usize>,
    semi: Vec<usize>,
}

impl Forest {
    fn new(count: usize) -> Self {
        Self { ancestor: vec![None; count], label: (0..count).collect(), semi: (0..count).collect() }
    }

    fn dominators(mut self, parents: &[usize], predecessors: &[Vec<usize>]) -> Vec<usize> {
        let count = parents.len();
        let mut dominator = vec![0; count];
        let mut buckets = vec![Vec::new(); count];
        for place in (1..count).rev() {
            for before in &predecessors[place] {
                let least = self.least(*before);
                self.semi[place] = self.semi[place].min(self.semi[least]);
            }
            buckets[self.semi[place]].push(place);
            let parent = parents[place];
            self.ancestor[place] = Some(parent);
            for below in std::mem::take(&mut buckets[parent]) {
                let least = self.least(below);
                dominator[below] = if self.semi[least] < self.semi[below] { least } else { parent };
            }
        }
        for place in 1..count {
            if dominator[place] != self.semi[place] {
                dominator[place] = dominator[dominator[place]];
            }
        }
        dominator
    }

    /// The place with the least semidominator on the way up from a place; the way is made shorter for the next time.
    fn least(&mut self, place: usize) -> usize {
        let mut way = Vec::new();
        let mut at = place;
        while let Some(up) = self.ancestor[at] {
            if self.ancestor[up].is_none() {
                break;
            }
            way.push(at);
            at = up;
        }
        for at in way.into_iter().rev() {
            let Some(up) = self.ancestor[at] else { continue };
            if self.semi[self.label[up]] < self.semi[self.label[at]] {
                self.label[at] = self.label[up];
            }
            self.ancestor[at] = self.ancestor[up];
        }
        self.label[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::Successor;

    fn blocks(edges: &[Vec<usize>]) -> Vec<Block> {
        let block = |targets: &Vec<usize>| {
            let successors =
                targets.iter().map(|block| Successor { block: *block, args: Vec::new() }).collect();
            let op = Op {
                name: "cf.br".into(),
                pos: Pos::default(),
                loc: None,
                operands: Vec::new(),
                results: Vec::new(),
                attrs: Vec::new(),
                regions: Vec::new(),
                successors,
            };
            Block { args: Vec::new(), ops: vec![op] }
        };
        edges.iter().map(block).collect()
    }

    /// The blocks that are reached without going through one.
    fn reached(edges: &[Vec<usize>], without: Option<usize>) -> Vec<bool> {
        let mut seen = vec![false; edges.len()];
        let mut work = if without == Some(0) { Vec::new() } else { vec![0] };
        while let Some(block) = work.pop() {
            if Some(block) != without && !std::mem::replace(&mut seen[block], true) {
                work.extend(&edges[block]);
            }
        }
        seen
    }

    #[test]
    fn a_block_dominates_what_is_not_reached_without_it() {
        let mut state = 1u64;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        for round in 0..400 {
            let count = 1 + below(12);
            let edges: Vec<Vec<usize>> =
                (0..count).map(|_| (0..below(4)).map(|_| below(count)).collect()).collect();
            let children = dominator_tree(&blocks(&edges));
            let mut parent = vec![None; count];
            for (block, list) in children.iter().enumerate() {
                list.iter().for_each(|child| parent[*child] = Some(block));
            }
            let all = reached(&edges, None);
            for target in (0..count).filter(|block| all[*block]) {
                let above: Vec<usize> = std::iter::successors(Some(target), |block| parent[*block]).collect();
                for block in (0..count).filter(|block| all[*block]) {
                    let dominates = !reached(&edges, Some(block))[target];
                    assert_eq!(
                        above.contains(&block),
                        dominates,
                        "round {round}: {block} over {target} in {edges:?}"
                    );
                }
            }
        }
    }
}

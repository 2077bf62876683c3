//! Every use of a value comes behind its definition when the code runs.
//!
//! The blocks of a region are visited by their dominator tree, the values of a block can be seen in all blocks below
//! it. Immediate dominators are found by Cooper, Harvey and Kennedy's iteration over the blocks in reverse postorder.
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

fn successors(block: &Block) -> impl DoubleEndedIterator<Item = usize> {
    block.ops.last().into_iter().flat_map(|op| &op.successors).map(|successor| successor.block)
}

/// The blocks that each block dominates immediately; blocks that nothing reaches are nobody's.
fn dominator_tree(blocks: &[Block]) -> Vec<Vec<usize>> {
    let order = reverse_postorder(blocks);
    let mut rank = vec![usize::MAX; blocks.len()];
    for (place, block) in order.iter().enumerate() {
        rank[*block] = place;
    }
    let mut predecessors = vec![Vec::new(); blocks.len()];
    for block in &order {
        for next in successors(&blocks[*block]) {
            predecessors[next].push(*block);
        }
    }
    // Dominators as places in the order; the entry is its own.
    let mut dominator: Vec<Option<usize>> = vec![None; order.len()];
    if let Some(entry) = dominator.first_mut() {
        *entry = Some(0);
    }
    let mut changed = true;
    while changed {
        changed = false;
        for place in 1..order.len() {
            let known = predecessors[order[place]].iter().map(|block| rank[*block]);
            let found =
                known.filter(|known| dominator[*known].is_some()).reduce(|a, b| meet(&dominator, a, b));
            if dominator[place] != found {
                dominator[place] = found;
                changed = true;
            }
        }
    }
    let mut children = vec![Vec::new(); blocks.len()];
    for (place, parent) in dominator.iter().enumerate().skip(1) {
        if let Some(parent) = parent {
            children[order[*parent]].push(order[place]);
        }
    }
    children
}

fn meet(dominator: &[Option<usize>], mut a: usize, mut b: usize) -> usize {
    while a != b {
        if a < b {
            std::mem::swap(&mut a, &mut b);
        }
        a = dominator[a].unwrap_or(0);
    }
    a
}

fn reverse_postorder(blocks: &[Block]) -> Vec<usize> {
    let mut seen = vec![false; blocks.len()];
    let mut order = Vec::with_capacity(blocks.len());
    let mut work = Vec::new();
    if let Some(entry) = seen.first_mut() {
        *entry = true;
        work.push((0, successors(&blocks[0])));
    }
    while let Some((block, rest)) = work.last_mut() {
        match rest.next() {
            Some(next) if !seen[next] => {
                seen[next] = true;
                work.push((next, successors(&blocks[next])));
            }
            Some(_) => {}
            None => {
                order.push(*block);
                work.pop();
            }
        }
    }
    order.reverse();
    order
}

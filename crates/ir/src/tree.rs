//! Where each block hangs: the construct it is a body of, and the order of instructions.

use crate::entities::{Block, Inst};
use crate::module::Function;
use crate::op::Op;
use std::ops::Range;

/// The blocks of a function as a tree, with the instructions in program order.
///
/// Made from a verified function; instructions and blocks that the entry block does not reach are
/// not part of it.
#[derive(Clone, Debug)]
pub struct Tree {
    parents: Vec<Option<Parent>>,
    depths: Vec<u32>,
    loop_bodies: Vec<bool>,
    in_loop: Vec<bool>,
    /// The block of each instruction.
    homes: Vec<Option<Block>>,
    /// Where in the order the instructions of each block begin and end, nested ones included.
    spans: Vec<Range<usize>>,
    /// The instructions in program order, a construct before what is nested in it.
    order: Vec<Inst>,
}

/// The construct that a block is a body of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The construct.
    pub inst: Inst,
    /// The block that holds it.
    pub block: Block,
}

impl Tree {
    /// The tree of a function.
    pub fn new(func: &Function) -> Self {
        let mut tree = Self {
            parents: vec![None; func.blocks.len()],
            depths: vec![0; func.blocks.len()],
            loop_bodies: vec![false; func.blocks.len()],
            in_loop: vec![false; func.blocks.len()],
            homes: vec![None; func.insts.len()],
            spans: vec![0..0; func.blocks.len()],
            order: Vec::with_capacity(func.insts.len()),
        };
        if !func.blocks.is_empty() {
            tree.visit(func, Function::ENTRY);
        }
        tree
    }

    fn visit(&mut self, func: &Function, block: Block) {
        let start = self.order.len();
        for &inst in func.block(block) {
            self.homes[inst.index()] = Some(block);
            self.order.push(inst);
            for body in func.inst(inst).op.bodies() {
                let b = body.index();
                self.parents[b] = Some(Parent { inst, block });
                self.depths[b] = self.depths[block.index()] + 1;
                self.loop_bodies[b] = matches!(func.inst(inst).op, Op::Loop { .. });
                // A region is executed for element after element.
                let repeats = self.loop_bodies[b] || func.inst(inst).op.region().is_some();
                self.in_loop[b] = self.in_loop[block.index()] || repeats;
                self.visit(func, body);
            }
        }
        self.spans[block.index()] = start..self.order.len();
    }

    /// The instructions in program order, a construct before what is nested in it.
    pub fn order(&self) -> &[Inst] {
        &self.order
    }

    /// The instructions of a block and of those nested there, in program order.
    pub fn within(&self, b: Block) -> &[Inst] {
        &self.order[self.spans[b.index()].clone()]
    }

    /// The construct around a block; none for the outermost.
    pub fn parent(&self, b: Block) -> Option<Parent> {
        self.parents[b.index()]
    }

    /// Whether the block is the body of a loop.
    pub fn is_loop_body(&self, b: Block) -> bool {
        self.loop_bodies[b.index()]
    }

    /// Whether a loop or an operation with a region is around the block's instructions: the block is in the body of one,
    /// or is it.
    pub fn in_loop(&self, b: Block) -> bool {
        self.in_loop[b.index()]
    }

    /// The block that holds an instruction; none if it is not reached.
    pub fn block_of(&self, i: Inst) -> Option<Block> {
        self.homes[i.index()]
    }

    /// The body of the outermost loop around an instruction.
    pub fn outermost_loop(&self, i: Inst) -> Option<Block> {
        let around = self.up(self.block_of(i)?, Function::ENTRY);
        around.filter(|&b| self.is_loop_body(b)).last()
    }

    /// The innermost block that contains both.
    pub fn common(&self, mut a: Block, mut b: Block) -> Block {
        while a != b {
            let (da, db) = (self.depths[a.index()], self.depths[b.index()]);
            if da >= db {
                a = self.parent(a).map_or(Function::ENTRY, |p| p.block);
            }
            if db >= da {
                b = self.parent(b).map_or(Function::ENTRY, |p| p.block);
            }
        }
        a
    }

    /// A block and the blocks around it, up to `to` but without it.
    pub fn up(&self, from: Block, to: Block) -> impl Iterator<Item = Block> + '_ {
        let mut at = Some(from);
        std::iter::from_fn(move || {
            let b = at.filter(|b| *b != to)?;
            at = self.parent(b).map(|p| p.block);
            Some(b)
        })
    }
}

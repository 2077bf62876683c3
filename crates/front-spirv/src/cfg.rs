//! The control-flow graph of a function: its reachable blocks in reverse postorder.

use crate::diag::{Res, code, invalid, unsupported};
use crate::module::{BlockDecl, FunctionDecl, Spv};
use crate::reader::{Id, Inst};
use crate::types::Types;
use rustc_hash::FxHashMap;
use spirv::Op;

/// The reachable blocks of a function. A block's number is its place in reverse postorder, so an
/// edge to a number that is not greater is one that closes a loop.
#[derive(Debug)]
pub(crate) struct Cfg {
    pub(crate) blocks: Vec<BlockDecl>,
    /// Distinct successors of each block.
    pub(crate) succs: Vec<Vec<u32>>,
    pub(crate) preds: Vec<Vec<u32>>,
    by_label: FxHashMap<Id, u32>,
}

/// A declared merge block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Merge {
    /// Label of the merge block.
    pub(crate) label: Id,
    /// Whether it ends a loop.
    pub(crate) is_loop: bool,
}

impl Cfg {
    /// The graph of a function with a body.
    pub(crate) fn build(spv: &Spv<'_>, types: &Types, decl: &FunctionDecl) -> Res<Self> {
        let index: FxHashMap<Id, usize> = decl.blocks.iter().enumerate().map(|(i, b)| (b.label, i)).collect();
        let mut succs = Vec::with_capacity(decl.blocks.len());
        for block in &decl.blocks {
            let targets = targets(spv, types, block).and_then(|t| resolve(&t, &index));
            succs.push(targets.map_err(|fault| spv.locate(fault, block.term))?);
        }
        if decl.blocks.is_empty() {
            let m = "the function has no body; linking modules is not supported";
            return Err(spv.locate(unsupported(code::CONTROL_FLOW, m), decl.inst));
        }
        let order = reverse_postorder(&succs);
        let mut number = vec![u32::MAX; decl.blocks.len()];
        for (n, &block) in order.iter().enumerate() {
            number[block] = n as u32;
        }
        let mut cfg = Self {
            blocks: order.iter().map(|&b| decl.blocks[b]).collect(),
            succs: order.iter().map(|&b| succs[b].iter().map(|&s| number[s]).collect()).collect(),
            preds: vec![Vec::new(); order.len()],
            by_label: order.iter().map(|&b| (decl.blocks[b].label, number[b])).collect(),
        };
        for (n, succs) in cfg.succs.iter().enumerate() {
            for &s in succs {
                cfg.preds[s as usize].push(n as u32);
            }
        }
        if !cfg.preds[0].is_empty() {
            let m = "a branch goes to the entry block of the function";
            return Err(spv.locate(invalid(code::CONTROL_FLOW, m), decl.inst));
        }
        Ok(cfg)
    }

    /// The block with a label; `None` if it is unreachable.
    pub(crate) fn block_of(&self, label: Id) -> Option<u32> {
        self.by_label.get(&label).copied()
    }

    /// The merge block that a block declares.
    pub(crate) fn merge(&self, spv: &Spv<'_>, block: u32) -> Option<Merge> {
        let b = &self.blocks[block as usize];
        let inst =
            spv.insts[b.first..b.term].iter().rev().find(|i| !matches!(i.op, Op::Line | Op::NoLine))?;
        let is_loop = inst.op == Op::LoopMerge;
        let is_merge = is_loop || inst.op == Op::SelectionMerge;
        is_merge.then(|| Merge { label: inst.args[0], is_loop })
    }
}

fn resolve(labels: &[Id], index: &FxHashMap<Id, usize>) -> Res<Vec<usize>> {
    let mut out: Vec<usize> = Vec::with_capacity(labels.len());
    for label in labels {
        let &to = index.get(label).ok_or_else(|| {
            invalid(code::CONTROL_FLOW, format!("branches to %{label}, which is no block of this function"))
        })?;
        out.push(to);
    }
    let mut seen = rustc_hash::FxHashSet::default();
    out.retain(|b| seen.insert(*b));
    Ok(out)
}

/// The labels that a block's terminator names.
fn targets(spv: &Spv<'_>, types: &Types, block: &BlockDecl) -> Res<Vec<Id>> {
    let term = &spv.insts[block.term];
    match term.op {
        Op::Branch => Ok(vec![term.arg(0)?]),
        Op::BranchConditional => Ok(vec![term.arg(1)?, term.arg(2)?]),
        Op::Switch => {
            let mut out: Vec<Id> = switch_cases(spv, types, term)?.iter().map(|c| c.1).collect();
            out.push(term.arg(1)?);
            Ok(out)
        }
        Op::Return | Op::ReturnValue | Op::Unreachable => Ok(Vec::new()),
        _ => Err(invalid(code::CONTROL_FLOW, format!("{} is not allowed in a compute shader", term.name()))),
    }
}

/// The cases of an *OpSwitch*: bits and label of each. A literal is as wide as the selector.
pub(crate) fn switch_cases(spv: &Spv<'_>, types: &Types, term: &Inst<'_>) -> Res<Vec<(u64, Id)>> {
    let selector = term.arg(0)?;
    let scalar = spv.def(selector).and_then(|d| types.scalar(types.lookup(d.ty).ok()?));
    let Some(scalar) = scalar.filter(|s| s.is_int()) else {
        return Err(invalid(code::OPERAND, format!("the selector %{selector} is not an integer")));
    };
    let words = if scalar.bits() == 64 { 3 } else { 2 };
    let cases = term.rest(2).chunks(words).map(|case| match *case {
        [low, label] => Ok((u64::from(low) & scalar.mask(), label)),
        [low, high, label] => Ok((u64::from(low) | u64::from(high) << 32, label)),
        _ => Err(invalid(code::READER, "the last case is not complete")),
    });
    cases.collect()
}

fn reverse_postorder(succs: &[Vec<usize>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(succs.len());
    let mut seen = vec![false; succs.len()];
    let mut stack = vec![(0, 0)];
    seen[0] = true;
    while let Some((block, next)) = stack.last_mut() {
        match succs[*block].get(*next) {
            Some(&to) => {
                *next += 1;
                if !std::mem::replace(&mut seen[to], true) {
                    stack.push((to, 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

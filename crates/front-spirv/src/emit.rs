//! Functions to structured IR, calls inlined.
//!
//! A function's body becomes an IR `block` whose label is the return target. [`Structure`] says which
//! constructs its basic blocks go into; this file makes them. What follows a construct is passed down
//! as `next`: a branch there from the construct's end needs no instruction, and a `block` that nothing
//! branches out of is dissolved into its surroundings. A selection thus becomes a plain `if`, and the
//! exit of a loop the end of its body.

mod call;
mod vars;

pub(crate) use call::Instance;

use crate::cfg::switch_cases;
use crate::cx::Cx;
use crate::diag::{Fault, Res, bug, code, invalid, operand, unsupported};
use crate::ops;
use crate::reader::{Id, Inst};
use crate::structure::Structure;
use crate::types::Ty;
use crate::value::Val;
use phalanx_ir::{self as ir, CompareOp, Label, Op as IrOp, Scalar, Value, Var};
use rustc_hash::FxHashMap;
use spirv::Op;
use std::rc::Rc;

/// Findings collected before giving up.
const MAX_FAULTS: usize = 20;

/// Switches with more targets become a flat row of `if`s instead of nested ones.
const MAX_NESTED_CASES: usize = 12;

/// What goes to a label.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Uses {
    /// Branch instructions.
    branches: u32,
    /// Whether anything gets there: by a branch, or by falling off the end of its `block`.
    reached: bool,
}

impl<'m> Cx<'m> {
    /// Translates the entry point's function, and before it the variables that it mentions.
    pub(crate) fn translate(&mut self, function: Id) -> Res<()> {
        let ids = crate::interface::reachable_ids(self.spv, function);
        self.declare_variables(&ids)?;
        self.entry_function(function)
    }

    fn entry_function(&mut self, function: Id) -> Res<()> {
        let spv = self.spv;
        let decl = spv
            .functions
            .get(&function)
            .ok_or_else(|| invalid(code::ENTRY_POINT, format!("%{function} is not a function")))?;
        if !decl.params.is_empty() {
            return Err(invalid(code::ENTRY_POINT, "the function of an entry point has parameters"));
        }
        self.function(decl, Vec::new()).map(|_| ())
    }

    fn instance(&mut self) -> Res<&mut Instance> {
        self.stack.last_mut().ok_or_else(|| bug("no function is being translated"))
    }

    fn structure(&self) -> Res<Rc<Structure>> {
        self.stack.last().map(|i| i.structure.clone()).ok_or_else(|| bug("no function is being translated"))
    }

    pub(crate) fn new_label(&mut self) -> Label {
        self.labels.push(Uses::default());
        self.func.new_label()
    }

    /// Appends the content of a `block`: as such if something branches to its label, else as it is.
    /// A branch stands last in its block, so content that ends in one stays apart, too: more may be
    /// appended here.
    fn wrap(&mut self, label: Label, body: ir::Block) {
        let last = self.func.blocks[body.index()].last();
        let ends = last.is_some_and(|&i| matches!(self.func.inst(i).op, IrOp::Br(_) | IrOp::Return));
        if self.labels[label.index()].branches > 0 || ends {
            self.b().effect(IrOp::Block { label, body }, &[]);
        } else {
            let insts = std::mem::take(&mut self.func.blocks[body.index()]);
            self.func.blocks[self.block.index()].extend(insts);
        }
    }

    /// Branches to a label, unless it is what comes next anyway.
    fn br(&mut self, label: Label, next: Option<Label>) {
        let uses = &mut self.labels[label.index()];
        uses.reached = true;
        if Some(label) != next {
            uses.branches += 1;
            self.b().br(label);
        }
    }

    /// Emits a node and everything below it. Falling off its end continues at `next`; without one,
    /// every path must end in a branch.
    fn tree(&mut self, mut node: u32, next: Option<Label>) -> Res<()> {
        let s = self.structure()?;
        loop {
            if s.header_of(node).is_none() {
                self.code(&s, node)?;
            }
            let kids = s.labelled(node);
            let Some((&last, _)) = kids.split_last() else {
                if let Some(to) = self.straight_on(&s, node)? {
                    node = to;
                    continue;
                }
                return self.end(&s, node, next);
            };
            if !self.kids(&s, node, kids)? {
                return Ok(());
            }
            node = last;
        }
    }

    /// Notes that what follows nests deeper. [`Cx::function`] puts the count right after a fault.
    fn deepen(&mut self, levels: usize) -> Res<()> {
        self.depth = self.depth.saturating_add(u32::try_from(levels).unwrap_or(u32::MAX));
        let limit = self.options.limits.nesting;
        if self.depth > limit {
            let m = format!("constructs and calls nest deeper than {limit}");
            return Err(unsupported(code::LIMIT, m));
        }
        Ok(())
    }

    /// Emits the end of a node and the trees of its labelled children but the last, which is left to
    /// follow at the current place; false if nothing gets there, since a constant decides a branch.
    fn kids(&mut self, s: &Structure, node: u32, kids: &[u32]) -> Res<bool> {
        let outer = self.block;
        self.deepen(kids.len())?;
        let labels: Vec<Label> = kids.iter().map(|_| self.new_label()).collect();
        self.instance()?.labels.extend(kids.iter().copied().zip(labels.iter().copied()));
        let mut inner = self.func.new_block();
        self.block = inner;
        self.end(s, node, labels.first().copied())?;
        let mut reached = false;
        for (i, &kid) in kids.iter().enumerate() {
            reached = self.labels[labels[i].index()].reached;
            let after = labels.get(i + 1).copied();
            self.depth -= 1;
            self.block = if after.is_some() { self.func.new_block() } else { outer };
            self.wrap(labels[i], inner);
            if after.is_some() {
                inner = self.block;
                if reached {
                    self.tree(kid, after)?;
                }
                self.block = inner;
            }
        }
        Ok(reached)
    }

    /// The node that follows, if the node ends in a branch to a block that goes here.
    fn straight_on(&mut self, s: &Structure, node: u32) -> Res<Option<u32>> {
        if s.header_of(node).is_some() {
            return Ok(None);
        }
        let &[to] = &s.cfg.succs[node as usize][..] else { return Ok(None) };
        if to <= node || !s.is_inline(to) {
            return Ok(None);
        }
        self.begin(s.cfg.blocks[node as usize].term);
        self.pass_phis(s, node, to)?;
        Ok(Some(s.top(to)))
    }

    /// Emits the instructions of a block.
    fn code(&mut self, s: &Structure, node: u32) -> Res<()> {
        self.instance()?.node = node;
        let block = s.cfg.blocks[node as usize];
        for i in block.first..block.term {
            self.instruction(i)?;
        }
        Ok(())
    }

    /// Emits an instruction. A fault is noted and the result becomes zero, so that others are found;
    /// what only follows from it is not noted.
    fn instruction(&mut self, i: usize) -> Res<()> {
        self.translated += 1;
        let limit = self.options.limits.instructions;
        if self.translated.max(self.func.insts.len()) > limit {
            let m = format!("more than {limit} instructions after inlining all calls");
            return Err(self.spv.locate(unsupported(code::LIMIT, m), i));
        }
        self.begin(i);
        let inst = self.spv.insts[i];
        let done = match inst.op {
            Op::SelectionMerge | Op::LoopMerge => Ok(()),
            Op::Phi => self.phi(&inst),
            _ => self.operation(&inst),
        };
        match done {
            Ok(()) => Ok(()),
            Err(fault) => self.note(fault, i, &inst),
        }
    }

    pub(crate) fn operation(&mut self, inst: &Inst<'_>) -> Res<()> {
        self.modes.check(self.spv, self.globals, inst)?;
        self.check_region(inst)?;
        if self.long_operation(inst)? {
            return Ok(());
        }
        self.flush_operands(inst)?;
        ops::emit(self, inst)?;
        self.flush_result(inst)
    }

    fn note(&mut self, fault: Fault, i: usize, inst: &Inst<'_>) -> Res<()> {
        self.flushed.clear();
        let fault = self.spv.locate(fault, i);
        if fault.code == code::LIMIT || self.faults.len() + 1 >= MAX_FAULTS {
            return Err(fault);
        }
        if !inst.rest(0).iter().any(|id| self.broken.contains(id)) {
            self.faults.push(*fault);
        }
        self.broken.insert(inst.id);
        if inst.id != 0
            && let Ok(ty) = self.types().lookup(inst.ty)
        {
            let zero = self.types().zero(ty);
            self.bind_everywhere(inst.id, ty, zero);
        }
        Ok(())
    }

    /// Emits the end of a node: a loop, or what a terminator says.
    fn end(&mut self, s: &Structure, node: u32, next: Option<Label>) -> Res<()> {
        if let Some(header) = s.header_of(node) {
            return self.repeat(header, next);
        }
        let at = s.cfg.blocks[node as usize].term;
        self.begin(at);
        self.instance()?.node = node;
        let term = self.spv.insts[at];
        let done = match term.op {
            Op::Branch => self.branch(s, node, s.cfg.succs[node as usize][0], next),
            Op::BranchConditional => self.conditional(s, node, &term, next),
            Op::Switch => self.switch(s, node, &term, next),
            Op::Return => self.leave(next),
            Op::ReturnValue => self.leave_with(&term, next),
            Op::Unreachable => {
                match self.region_exit() {
                    // Others go on with elements of theirs.
                    Some(exit) => self.br(exit, next),
                    None => self.b().effect(IrOp::Return, &[]),
                }
                Ok(())
            }
            _ => Err(bug("an unknown terminator")),
        };
        done.map_err(|fault| self.spv.locate(fault, at))
    }

    fn repeat(&mut self, header: u32, next: Option<Label>) -> Res<()> {
        let outer = self.block;
        self.deepen(1)?;
        let (label, body) = (self.new_label(), self.func.new_block());
        self.instance()?.labels.insert(header, label);
        self.block = body;
        self.tree(header, next)?;
        self.block = outer;
        self.depth -= 1;
        self.b().effect(IrOp::Loop { label, body }, &[]);
        Ok(())
    }

    fn branch(&mut self, s: &Structure, from: u32, to: u32, next: Option<Label>) -> Res<()> {
        self.instance()?.node = from;
        self.pass_phis(s, from, to)?;
        if to > from && s.is_inline(to) {
            return self.tree(s.top(to), next);
        }
        // A branch back goes to the loop, which has its header's label; any other to the group.
        let target = if to > from { s.top(to) } else { to };
        let label = self.instance()?.labels.get(&target).copied();
        let label = label.ok_or_else(|| bug("a branch leaves the construct of its target"))?;
        self.br(label, next);
        Ok(())
    }

    fn conditional(&mut self, s: &Structure, node: u32, term: &Inst<'_>, next: Option<Label>) -> Res<()> {
        let succs = &s.cfg.succs[node as usize];
        let &[yes, no] = &succs[..] else {
            return self.branch(s, node, succs[0], next);
        };
        // Specialisation often decides a branch; the other side is not translated.
        if let Some(bits) = self.const_bits(term.arg(0)?) {
            return self.branch(s, node, if bits != 0 { yes } else { no }, next);
        }
        let cond = self.scalar(term.arg(0)?, Scalar::Bool)?;
        self.fork(cond, |cx| cx.branch(s, node, yes, next), |cx| cx.branch(s, node, no, next))
    }

    /// Appends an `if` and fills its branches.
    pub(crate) fn fork(
        &mut self,
        cond: Value,
        then: impl FnOnce(&mut Self) -> Res<()>,
        otherwise: impl FnOnce(&mut Self) -> Res<()>,
    ) -> Res<()> {
        let outer = self.block;
        self.deepen(1)?;
        let (t, o) = (self.func.new_block(), self.func.new_block());
        self.b().effect(IrOp::If { then: t, otherwise: o }, &[cond]);
        self.block = t;
        then(self)?;
        self.block = o;
        otherwise(self)?;
        self.block = outer;
        self.depth -= 1;
        Ok(())
    }

    fn switch(&mut self, s: &Structure, node: u32, term: &Inst<'_>, next: Option<Label>) -> Res<()> {
        let selector = self.value(term.arg(0)?)?;
        let block_of = |label| s.cfg.block_of(label).ok_or_else(|| bug("an unknown case label"));
        let default = block_of(term.arg(1)?)?;
        // The successors are distinct and in the order of their first case.
        let mut cases: Vec<(u32, Option<Value>)> =
            s.cfg.succs[node as usize].iter().filter(|&&t| t != default).map(|&t| (t, None)).collect();
        let place: FxHashMap<u32, usize> = cases.iter().enumerate().map(|(i, c)| (c.0, i)).collect();
        let scalar = self.func.ty(selector).scalar().ok_or_else(|| bug("a selector is no scalar"))?;
        if let Some(bits) = self.const_bits(term.arg(0)?) {
            let all = switch_cases(self.spv, self.types(), term)?;
            let taken = all.iter().find(|c| c.0 == bits).map_or(Ok(default), |c| block_of(c.1))?;
            return self.branch(s, node, taken, next);
        }
        for (bits, label) in switch_cases(self.spv, self.types(), term)? {
            let Some(&i) = place.get(&block_of(label)?) else { continue };
            let literal = self.constant(scalar, bits);
            let equal = self.b().compare(CompareOp::Ieq, selector, literal);
            let any = match cases[i].1 {
                Some(cond) => self.b().binary(ir::BinaryOp::Or, cond, equal),
                None => equal,
            };
            cases[i].1 = Some(any);
        }
        self.case(s, node, &cases, default, next)
    }

    fn case(
        &mut self,
        s: &Structure,
        node: u32,
        cases: &[(u32, Option<Value>)],
        default: u32,
        next: Option<Label>,
    ) -> Res<()> {
        let Some((&(to, cond), rest)) = cases.split_first() else {
            return self.branch(s, node, default, next);
        };
        let cond = cond.ok_or_else(|| bug("a case without a condition"))?;
        if cases.len() <= MAX_NESTED_CASES {
            return self.fork(
                cond,
                |cx| cx.branch(s, node, to, next),
                |cx| cx.case(s, node, rest, default, next),
            );
        }
        for &(to, cond) in cases {
            let cond = cond.ok_or_else(|| bug("a case without a condition"))?;
            self.fork(cond, |cx| cx.branch(s, node, to, None), |_| Ok(()))?;
        }
        self.branch(s, node, default, next)
    }

    // ── phi ──

    /// *OpPhi*: its variables were stored where the branches are.
    fn phi(&mut self, inst: &Inst<'_>) -> Res<()> {
        let ty = self.result_ty(inst)?;
        let vars = self.phi_vars(inst.id, ty)?;
        let val = self.load_vars(ty, &vars)?;
        self.define(inst, val)
    }

    /// Stores what the phis of block `to` take from block `from`: all are read before any is
    /// written, since one phi may be another's operand.
    fn pass_phis(&mut self, s: &Structure, from: u32, to: u32) -> Res<()> {
        let label = s.cfg.blocks[from as usize].label;
        let target = s.cfg.blocks[to as usize];
        let mut moves = Vec::new();
        for i in target.first..target.term {
            let inst = self.spv.insts[i];
            match inst.op {
                Op::Phi => {
                    let source = s.incoming(inst.id, label).ok_or_else(|| {
                        let m = format!("has no operand for the predecessor %{label}");
                        self.spv.locate(invalid(code::CONTROL_FLOW, m), i)
                    })?;
                    moves.push(self.phi_move(&inst, source).map_err(|f| self.spv.locate(f, i))?);
                }
                Op::Line | Op::NoLine | Op::ExtInst => {}
                _ => break,
            }
        }
        for (ty, val, vars) in moves {
            self.store_vars(ty, &val, &vars)?;
        }
        Ok(())
    }

    /// The value that a phi takes, and its variables.
    fn phi_move(&mut self, inst: &Inst<'_>, source: Id) -> Res<(Ty, Val, Rc<[Var]>)> {
        let ty = self.result_ty(inst)?;
        let (found, val) = self.val(source)?;
        if !self.passes(found, ty) {
            let (wanted, found) = (self.types().describe(ty), self.types().describe(found));
            return Err(operand(format!("operand %{source} is {found}, expected {wanted}")));
        }
        Ok((found, val, self.phi_vars(inst.id, ty)?))
    }

    fn phi_vars(&mut self, id: Id, ty: Ty) -> Res<Rc<[Var]>> {
        if let Some(vars) = self.instance()?.phis.get(&id) {
            return Ok(vars.clone());
        }
        let vars = self.vars_for(ty)?;
        self.instance()?.phis.insert(id, vars.clone());
        Ok(vars)
    }
}

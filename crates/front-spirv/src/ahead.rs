//! Looking ahead in a basic block, so that long vectors need not be copied.
//!
//! A load of a whole variable stands for the variable itself if nothing writes there before the last use of the value,
//! and a result that is stored to a whole variable is made there if nothing looks at the variable in between:
//!
//! ```text
//! %a = OpLoad %x                 ; is the variable x
//! %b = OpFAdd %a %a              ; is made in y
//! OpStore %y %b                  ; nothing is left to do
//! ```
//!
//! What is computed component by component for another such instruction only is put off until that one's loop.

use crate::cx::Cx;
use crate::long::{fold, is_componentwise, is_taken_apart};
use crate::reader::{Id, Inst};
use crate::value::{Pointer, Val};
use phalanx_ir::{self as ir, Var};
use spirv::Op;

/// How many instructions are looked at.
const MAX_AHEAD: usize = 64;

/// A value that stands for a variable, and where it is used last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Borrow {
    var: Var,
    /// Number of the call and of the instruction.
    until: (u32, usize),
}

impl Cx<'_> {
    /// Whether the result of the current instruction, a load of a whole variable, may stand for the variable.
    pub(crate) fn borrows(&mut self, var: Var) -> bool {
        self.count_uses();
        let Some(last) = self.last_use(self.spv.insts[self.inst].id, var) else { return false };
        let until = (self.serial_here(), last);
        self.long.borrows.retain(|b| b.until.0 == until.0 && b.until.1 > self.inst);
        self.long.borrows.push(Borrow { var, until });
        true
    }

    /// The variable that the result of the current instruction is stored to, as a whole, before anything else looks at
    /// it. An instruction that reads component `i` before it writes component `i` may read from there itself.
    ///
    /// On its way the result may pass through a variable that nothing else is done with, as results of built-in functions
    /// do that are parameters (`out`).
    pub(crate) fn destination(&mut self, leaf: ir::Type, n: u32, reads_in_step: bool) -> Option<Var> {
        self.count_uses();
        let (at, between) = self.store_of(self.inst)?;
        let passed = self.passes_on(at, between).and_then(|load| self.store_of(load));
        if let Some((end, _)) = passed
            && let Some(var) = self.free_place(end, leaf, n, reads_in_step)
        {
            self.long.passed.insert(between, var);
            return Some(var);
        }
        self.free_place(at, leaf, n, reads_in_step)
    }

    /// Where the result of an instruction is stored, if that is all that is done with it, and the pointer.
    fn store_of(&self, at: usize) -> Option<(usize, Id)> {
        let id = self.spv.insts[at].id;
        let is_store = |inst: &Inst<'_>| inst.op == Op::Store && inst.args.get(1) == Some(&id);
        let behind = self.ahead(at).iter().position(is_store).filter(|_| self.uses_of(id) == 1)?;
        let store = at + 1 + behind;
        Some((store, *self.spv.insts[store].args.first()?))
    }

    /// The load behind a store to a variable that is mentioned by these two only.
    fn passes_on(&self, store: usize, pointer: Id) -> Option<usize> {
        let is_variable = self.spv.def(pointer).is_some_and(|def| def.op == Op::Variable);
        let is_load = |inst: &Inst<'_>| inst.op == Op::Load && inst.args.first() == Some(&pointer);
        let behind = self.ahead(store).iter().position(is_load)?;
        (is_variable && self.uses_of(pointer) == 2).then_some(store + 1 + behind)
    }

    /// The variable that an instruction ahead stores to as a whole, if nothing looks at it until then.
    fn free_place(&self, store: usize, leaf: ir::Type, n: u32, reads_in_step: bool) -> Option<Var> {
        let &pointer = self.spv.insts[store].args.first()?;
        // A pointer made in this block does not have its value yet.
        let Val::Ptr(p) = &self.slots.get(&pointer).filter(|_| !self.is_ahead(pointer))?.val else {
            return None;
        };
        let Pointer::Local(p) = &**p else { return None };
        let var = self.whole(p, leaf, n)?;
        let here = (self.serial_here(), self.inst + usize::from(reads_in_step));
        let is_borrowed = |b: &Borrow| b.var == var && b.until.0 == here.0 && b.until.1 >= here.1;
        let is_looked_at =
            |i: &Inst<'_>| i.op == Op::FunctionCall || i.args.iter().any(|&id| self.points_into(id, var));
        let is_free = !self.long.borrows.iter().any(is_borrowed)
            && !self.spv.insts[self.inst + 1..store].iter().any(is_looked_at);
        is_free.then_some(var)
    }

    /// Whether a value that is stored to the variable of a pointer only passes through it.
    pub(crate) fn is_passed(&self, pointer: Id, val: &Val) -> bool {
        matches!(val, Val::Long(var) if self.long.passed.get(&pointer) == Some(var))
    }

    /// The instruction that alone uses the result of this one, if both go component by component and are in one block.
    pub(crate) fn joins(&self, at: usize) -> Option<usize> {
        let inst = &self.spv.insts[at];
        let is_long = |inst: &Inst<'_>| self.types().lookup(inst.ty).is_ok_and(|ty| self.long(ty).is_some());
        if self.uses_of(inst.id) != 1 || !is_long(inst) || !is_componentwise(self, inst) {
            return None;
        }
        let ahead = self.ahead(at);
        let (k, user) = ahead.iter().enumerate().find(|(_, i)| i.args.contains(&inst.id))?;
        let goes_on = user.op != Op::Bitcast && is_long(user) && is_componentwise(self, user);
        (goes_on || fold(user.op).is_some()).then_some(at + 1 + k)
    }

    /// Where the components of an instruction's operands are read last.
    fn done_at(&self, mut at: usize) -> usize {
        while let Some(next) = self.joins(at) {
            at = next;
        }
        at
    }

    /// The instructions behind one, to the end of its block or as far as it is worth it.
    fn ahead(&self, at: usize) -> &[Inst<'_>] {
        let rest = &self.spv.insts[at + 1..];
        let rest = &rest[..rest.len().min(MAX_AHEAD)];
        let end = rest.iter().position(|i| i.op == Op::Label || i.op == Op::FunctionEnd);
        &rest[..end.unwrap_or(rest.len())]
    }

    /// Where a value is read last, if all its uses are in this block, each is done with the value at once, and nothing
    /// writes to the variable until then.
    fn last_use(&self, id: Id, var: Var) -> Option<usize> {
        let (mut left, mut last) = (self.uses_of(id), self.inst);
        for (at, inst) in (self.inst + 1..).zip(self.ahead(self.inst)) {
            let here = inst.args.iter().filter(|&&arg| arg == id).count();
            if here > 0 {
                if !is_taken_apart(self, inst) {
                    return None;
                }
                left = left.checked_sub(u32::try_from(here).ok()?)?;
                last = last.max(self.done_at(at));
            }
            if left == 0 && at >= last {
                return Some(last);
            }
            if self.may_write(inst, var) {
                return None;
            }
        }
        None
    }

    fn may_write(&self, inst: &Inst<'_>, var: Var) -> bool {
        match inst.op {
            Op::Load | Op::AccessChain | Op::InBoundsAccessChain => false,
            Op::FunctionCall => true,
            _ => inst.args.iter().any(|&id| self.points_into(id, var)),
        }
    }

    /// Whether an id is a pointer into a variable, as far as can be told before its instruction is translated.
    fn points_into(&self, mut id: Id, var: Var) -> bool {
        // Chains of chains are finite, as each is defined before it is used; broken modules are refused elsewhere.
        for _ in 0..MAX_AHEAD {
            if !self.is_ahead(id) {
                let Some(slot) = self.slots.get(&id) else { return false };
                let Val::Ptr(p) = &slot.val else { return false };
                return matches!(&**p, Pointer::Local(p) if p.var.pieces.contains(&var));
            }
            match self.spv.def(id) {
                Some(Inst {
                    op: Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject, args, ..
                }) => {
                    let Some(&base) = args.first() else { return true };
                    id = base;
                }
                _ => return false,
            }
        }
        true
    }

    /// Whether an id is defined behind the current instruction.
    fn is_ahead(&self, id: Id) -> bool {
        self.spv.def(id).is_some_and(|def| def.at > self.spv.insts[self.inst].at)
    }

    fn serial_here(&self) -> u32 {
        self.stack.last().map_or(0, |i| i.serial)
    }
}

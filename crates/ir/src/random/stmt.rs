//! Statements: assignments, writes, and control flow.

use super::{ATOMICS, Generator, PLACES, Target};
use crate::builder::Builder;
use crate::entities::{Label, Value, Var};
use crate::op::{AtomicOp, Barrier, BinaryOp, Builtin, CompareOp, MemFlags, Op};
use crate::types::{Scalar, Scope, Space, Type};

impl Generator<'_> {
    /// A list of statements, in `nested` constructs.
    pub(super) fn statements(&mut self, b: &mut Builder<'_>, count: u32, nested: u32) {
        for _ in 0..count {
            self.statement(b, nested);
        }
    }

    fn statement(&mut self, b: &mut Builder<'_>, nested: u32) {
        let is_deep = nested >= self.config.depth;
        match self.rng.below(18) {
            16 | 17 => {
                let (var, value) = (self.uniform_var(), self.uniform(b, 2));
                b.var_store(var, None, value);
            }
            0 | 1 if !is_deep => self.branch(b, nested),
            2 if !is_deep => self.early_out(b, nested),
            3 | 4 if !is_deep => self.counted_loop(b, nested),
            5 if !is_deep => self.free_loop(b, nested),
            6 => {
                let value = self.any_value(b);
                self.write(b, value);
            }
            7 => self.set_element(b),
            8 => self.atomic(b),
            9 if self.config.barriers && self.is_together => self.exchange(b),
            10 | 11 if self.config.matrices && self.is_together => self.matrix_statement(b),
            13 if self.config.vectors => self.vector_statement(b),
            12 if self.config.returns && nested > 0 && self.rng.one_in(4) => self.maybe_return(b),
            _ => self.assign(b),
        }
    }

    /// Statements in a block of their own; what they define is not visible afterwards.
    fn nested(&mut self, b: &mut Builder<'_>, nested: u32, is_together: bool) {
        let (values, together) = (self.values.len(), self.is_together);
        self.is_together &= is_together;
        let count = 1 + self.rng.below(3) as u32;
        self.statements(b, count, nested + 1);
        self.is_together = together;
        self.values.truncate(values);
    }

    fn any_value(&mut self, b: &mut Builder<'_>) -> Value {
        let types = self.types();
        let ty = self.rng.pick(&types);
        self.expr(b, ty, 2)
    }

    fn assign(&mut self, b: &mut Builder<'_>) {
        let var = self.rng.pick(&self.vars.clone());
        if let Some(ty) = b.func.var(var).ty.scalar() {
            let value = self.expr(b, ty, 3);
            b.var_store(var, None, value);
        }
    }

    fn set_element(&mut self, b: &mut Builder<'_>) {
        let array = self.rng.pick(&self.arrays.clone());
        if let Some(ty) = b.func.var(array).ty.scalar() {
            let (index, value) = (self.array_index(b, 2), self.expr(b, ty, 2));
            b.var_store(array, Some(index), value);
        }
    }

    /// Writes a value to a place of this invocation, or outside of the buffer.
    pub(super) fn write(&mut self, b: &mut Builder<'_>, value: Value) {
        let value = self.settled(b, value);
        let size = b.func.ty(value).scalar().map_or(4, Scalar::bytes);
        // A place has elements of one size, so that invocations do not meet there.
        let place = (self.places * 4 + size.trailing_zeros()) % PLACES;
        self.places += 1;
        let far = if self.rng.one_in(8) { 1 << 40 } else { 0 };
        let disp = i64::from(place * self.invocations() * 8) + far;
        let ptr = b.ptr_add(self.out, Some(self.index), size.into(), disp);
        b.effect(Op::Store(MemFlags::default()), &[ptr, value]);
    }

    /// An atomic operation on the word that belongs to it, so that their order does not matter.
    fn atomic(&mut self, b: &mut Builder<'_>) {
        let ops = [AtomicOp::Iadd, AtomicOp::Smax, AtomicOp::Umin, AtomicOp::Xor, AtomicOp::Or];
        let which = self.rng.below(ATOMICS as usize);
        let disp = i64::from(self.atomics_start()) + which as i64 * 8;
        let ptr = b.ptr_add(self.out, None, 0, disp);
        let value = self.expr(b, Scalar::I32, 2);
        b.value(Op::Atomic(ops[which]), &[ptr, value], Type::I32);
    }

    /// Values of other invocations, through shared memory.
    fn exchange(&mut self, b: &mut Builder<'_>) {
        let count = self.module.workgroup_invocations();
        let op = Op::SharedPtr { offset: 0, bytes: count * 4 };
        let shared = b.value(op, &[], Type::Ptr(Space::Shared));
        let barrier = Op::Barrier(Barrier { execution: Scope::Workgroup, memory: Scope::Workgroup });
        let size = self.module.subgroup_size;
        let own = if count.is_multiple_of(size) && self.rng.one_in(2) {
            // The same place, in the part of the subgroup.
            let id = b.value(Op::Builtin(Builtin::SubgroupId), &[], Type::I32);
            let op = Op::SharedPtr { offset: 0, bytes: size * 4 };
            let part = b.value(op, &[id], Type::Ptr(Space::Shared));
            let lane = b.value(Op::Builtin(Builtin::SubgroupLane), &[], Type::I32);
            b.ptr_add(part, Some(lane), 4, 0)
        } else {
            let local = b.value(Op::Builtin(Builtin::LocalInvocationIndex), &[], Type::I32);
            b.ptr_add(shared, Some(local), 4, 0)
        };
        let value = self.expr(b, Scalar::I32, 2);
        b.effect(Op::Store(MemFlags::default()), &[own, value]);
        b.effect(barrier.clone(), &[]);
        let index = self.expr(b, Scalar::I32, 1);
        let other = b.ptr_add(shared, Some(index), 4, 0);
        let near = b.ptr_add(own, None, 0, self.rng.pick(&[4, -4, 8]));
        for ptr in [other, near] {
            let value = b.value(Op::Load(MemFlags::default()), &[ptr], Type::I32);
            self.values.push(value);
        }
        b.effect(barrier, &[]);
    }

    // ── control ──

    fn branch(&mut self, b: &mut Builder<'_>, nested: u32) {
        let cond = self.cond(b);
        let (then, otherwise) = (b.func.new_block(), b.func.new_block());
        b.effect(Op::If { then, otherwise }, &[cond]);
        b.within(then, |b| {
            self.nested(b, nested, false);
            self.maybe_leave(b);
        });
        if self.rng.one_in(2) {
            b.within(otherwise, |b| {
                self.nested(b, nested, false);
                self.maybe_leave(b);
            });
        }
    }

    /// Branches to a label at the end of a block.
    fn maybe_leave(&mut self, b: &mut Builder<'_>) {
        if self.targets.is_empty() || !self.rng.one_in(3) {
            return;
        }
        let target = self.rng.pick(&self.targets.clone());
        self.leave(b, target);
    }

    fn leave(&mut self, b: &mut Builder<'_>, target: Target) {
        let Some(fuel) = target.fuel else { return b.br(target.label) };
        let (left, zero, one) = (b.var_load(fuel, None), b.i32(0), b.i32(1));
        let goes = b.compare(CompareOp::Slt, zero, left);
        b.if_else(
            goes,
            |b| {
                let left = b.binary(BinaryOp::Isub, left, one);
                b.var_store(fuel, None, left);
                b.br(target.label);
            },
            |_| {},
        );
    }

    fn within_target(
        &mut self,
        b: &mut Builder<'_>,
        label: Label,
        fuel: Option<Var>,
        fill: impl FnOnce(&mut Self, &mut Builder<'_>),
    ) {
        let values = self.values.len();
        self.targets.push(Target { label, fuel });
        fill(self, b);
        self.targets.pop();
        self.values.truncate(values);
    }

    fn early_out(&mut self, b: &mut Builder<'_>, nested: u32) {
        b.scoped(|b, label| {
            self.within_target(b, label, None, |g, b| {
                g.nested(b, nested, false);
                g.nested(b, nested, false);
            });
        });
    }

    /// A loop in the form that front ends give to `for`.
    fn counted_loop(&mut self, b: &mut Builder<'_>, nested: u32) {
        let counter = b.func.new_var(Type::I32, 1, "");
        let (zero, one) = (b.i32(0), b.i32(1));
        // With a common number of iterations and without ways out, all stay together.
        let is_together = self.rng.one_in(2);
        let limit = if is_together {
            b.i32(1 + self.rng.below(4) as i32)
        } else {
            let is_uniform = self.rng.one_in(2);
            let limit = if is_uniform { self.uniform(b, 1) } else { self.expr(b, Scalar::I32, 2) };
            let mask = b.i32(3);
            b.binary(BinaryOp::And, limit, mask)
        };
        b.var_store(counter, None, zero);
        let uniforms = self.uniforms.len();
        b.scoped(|b, out| {
            b.repeated(|b, next| {
                let i = b.var_load(counter, None);
                let goes = b.compare(CompareOp::Slt, i, limit);
                b.if_else(goes, |_| {}, |b| b.br(out));
                self.values.push(i);
                self.loop_local(b, i, zero);
                let hidden = if is_together { std::mem::take(&mut self.targets) } else { Vec::new() };
                let exit = (!is_together).then_some(out);
                let outer = std::mem::replace(&mut self.counter, is_together.then_some(i));
                self.loop_body(b, nested, exit);
                self.counter = outer;
                self.targets.extend(hidden);
                self.values.pop();
                self.uniforms.truncate(uniforms);
                let i = b.binary(BinaryOp::Iadd, i, one);
                b.var_store(counter, None, i);
                b.br(next);
            });
        });
    }

    /// A variable of the loop's body that keeps what it holds from one iteration to the next.
    /// It is written in the first iteration, in which `i` is `first`.
    fn loop_local(&mut self, b: &mut Builder<'_>, i: Value, first: Value) {
        if self.rng.one_in(2) {
            return;
        }
        let var = b.func.new_var(Type::I32, 1, "");
        let ptr = b.value(Op::PushPtr, &[], Type::Ptr(Space::Push));
        let push = b.value(Op::Load(MemFlags::default()), &[ptr], Type::I32);
        // Without the first condition it is mostly not written in the first iteration. What it is
        // given then could be anything, so that nobody counts on a constant.
        let cond = if self.config.unspecified {
            let rare = b.i32(self.rng.next() as i32);
            b.compare(CompareOp::Ieq, push, rare)
        } else {
            b.compare(CompareOp::Ieq, i, first)
        };
        b.if_else(cond, |b| b.var_store(var, None, push), |_| {});
        self.uniforms.push(var);
    }

    /// The body proper, which `continue` leaves.
    fn loop_body(&mut self, b: &mut Builder<'_>, nested: u32, exit: Option<Label>) {
        let Some(out) = exit else { return self.nested(b, nested, true) };
        self.within_target(b, out, None, |g, b| {
            b.scoped(|b, skip| {
                g.within_target(b, skip, None, |g, b| g.nested(b, nested, false));
            });
        });
    }

    /// A loop that is repeated from inside, as often as its fuel allows.
    fn free_loop(&mut self, b: &mut Builder<'_>, nested: u32) {
        let fuel = b.func.new_var(Type::I32, 1, "");
        let full = b.i32(1 + self.rng.below(4) as i32);
        b.var_store(fuel, None, full);
        let uniforms = self.uniforms.len();
        b.repeated(|b, label| {
            self.within_target(b, label, Some(fuel), |g, b| {
                let left = b.var_load(fuel, None);
                g.loop_local(b, left, full);
                g.nested(b, nested, false);
                if g.rng.one_in(2) {
                    let cond = g.cond(b);
                    b.if_else(cond, |b| g.leave(b, Target { label, fuel: Some(fuel) }), |_| {});
                }
                g.nested(b, nested, false);
                if g.rng.one_in(2) {
                    g.leave(b, Target { label, fuel: Some(fuel) });
                }
            });
        });
        self.uniforms.truncate(uniforms);
    }

    fn maybe_return(&mut self, b: &mut Builder<'_>) {
        if self.config.barriers || self.config.matrices {
            return;
        }
        let cond = self.cond(b);
        b.if_else(cond, |b| b.effect(Op::Return, &[]), |_| {});
    }
}

//! Subgroups of a work-group that wait for each other.

use crate::kernel::{Ext, Kernel, dispatch, to_words, words};
use phalanx_interp::Error;
use phalanx_ir::{
    AtomicOp, Barrier, BinaryOp, Builder, Builtin, CompareOp, Op, Scalar, Scope, Type, Value, Var,
};

fn barrier(b: &mut Builder<'_>) {
    b.effect(Op::Barrier(Barrier { execution: Scope::Workgroup, memory: Scope::Workgroup }), &[]);
}

/// `for i in 0..rounds { fill(i) }` with the counter in a variable.
fn repeat(b: &mut Builder<'_>, rounds: i32, fill: impl FnOnce(&mut Builder<'_>, Value)) {
    let counter: Var = b.func.new_var(Type::I32, 1, "i");
    let zero = b.i32(0);
    b.var_store(counter, None, zero);
    b.scoped(|b, leave| {
        b.repeated(|b, again| {
            let (i, limit) = (b.var_load(counter, None), b.i32(rounds));
            let done = b.compare(CompareOp::Sle, limit, i);
            b.if_else(done, |b| b.br(leave), |_| {});
            fill(b, i);
            let one = b.i32(1);
            let next = b.binary(BinaryOp::Iadd, i, one);
            b.var_store(counter, None, next);
            b.br(again);
        });
    });
}

#[test]
fn values_pass_between_subgroups() {
    // Each round every invocation takes the value of the one 5 further on, in a ring of 20.
    let module = Kernel::new([20, 1, 1]).shared(80).body(|b| {
        let i = b.local();
        let shared = b.shared(0, 80);
        let (five, twenty) = (b.i32(5), b.i32(20));
        let own = b.ptr_add(shared, Some(i), 4, 0);
        let other = b.binary(BinaryOp::Iadd, i, five);
        let other = b.binary(BinaryOp::Umod, other, twenty);
        let other = b.ptr_add(shared, Some(other), 4, 0);
        b.store(own, i);
        repeat(b, 3, |b, _| {
            barrier(b);
            let x = b.load(other, Scalar::I32);
            barrier(b);
            b.store(own, x);
        });
        let x = b.load(own, Scalar::I32);
        b.put(i, x);
    });
    assert_eq!(words(&module, 20), (0..20).map(|i| (i + 15) % 20).collect::<Vec<_>>());
}

#[test]
fn subgroups_that_end_do_not_hold_up_the_others() {
    let module = Kernel::new([24, 1, 1]).shared(4).body(|b| {
        let subgroup = b.builtin(Builtin::SubgroupId);
        let shared = b.shared(0, 4);
        let zero = b.i32(0);
        let first = b.compare(CompareOp::Ieq, subgroup, zero);
        b.if_else(first, |b| b.effect(Op::Return, &[]), |_| {});
        let nine = b.i32(9);
        b.store(shared, nine);
        barrier(b);
        let x = b.load(shared, Scalar::I32);
        let i = b.local();
        b.put(i, x);
    });
    let result = words(&module, 24);
    assert_eq!(result[..8], [-1; 8]);
    assert_eq!(result[8..], [9; 16]);
}

#[test]
fn subgroups_may_wait_through_memory() {
    // Subgroup 0 spins until subgroup 1 has set a flag.
    let module = Kernel::new([16, 1, 1]).shared(4).body(|b| {
        let subgroup = b.builtin(Builtin::SubgroupId);
        let (flag, zero, one) = (b.shared(0, 4), b.i32(0), b.i32(1));
        let first = b.compare(CompareOp::Ieq, subgroup, zero);
        b.if_else(
            first,
            |b| {
                b.repeated(|b, again| {
                    let x = b.value(Op::Atomic(AtomicOp::Load), &[flag], Type::I32);
                    let unset = b.compare(CompareOp::Ieq, x, zero);
                    b.if_else(unset, |b| b.br(again), |_| {});
                });
            },
            |b| b.effect(Op::Atomic(AtomicOp::Store), &[flag, one]),
        );
        let i = b.local();
        b.put(i, subgroup);
    });
    assert_eq!(words(&module, 16)[7..9], [0, 1]);
}

#[test]
fn a_subgroup_barrier_does_not_wait_for_others() {
    let module = Kernel::new([16, 1, 1]).body(|b| {
        let subgroup = b.builtin(Builtin::SubgroupId);
        let zero = b.i32(0);
        let first = b.compare(CompareOp::Ieq, subgroup, zero);
        let wait = Op::Barrier(Barrier { execution: Scope::Subgroup, memory: Scope::Workgroup });
        b.if_else(first, |b| b.effect(wait, &[]), |_| {});
        let i = b.local();
        b.put(i, i);
    });
    assert_eq!(words(&module, 16)[15], 15);
}

#[test]
fn work_groups_start_with_clear_memory_of_their_own() {
    let module = Kernel::new([8, 1, 1]).shared(4).body(|b| {
        let group = b.builtin(Builtin::WorkgroupId(0));
        let (shared, one) = (b.shared(0, 4), b.i32(1));
        let var = b.func.new_var(Type::I32, 1, "x");
        let old = b.value(Op::Atomic(AtomicOp::Iadd), &[shared, one], Type::I32);
        let x = b.var_load(var, None);
        let x = b.binary(BinaryOp::Iadd, x, one);
        b.var_store(var, None, x);
        barrier(b);
        let n = b.load(shared, Scalar::I32);
        let n = b.binary(BinaryOp::Imul, n, x);
        let zero = b.i32(0);
        let first = b.compare(CompareOp::Ieq, old, zero);
        b.if_else(first, |b| b.put(group, n), |_| {});
    });
    let mut buffers = [vec![0; 12]];
    dispatch(&module, &mut buffers, [3, 1, 1]).unwrap();
    assert_eq!(to_words(&buffers[0]), [8; 3]);
}

#[test]
fn spinning_for_ever_ends_with_an_error() {
    let module = Kernel::new([16, 1, 1]).body(|b| {
        let subgroup = b.builtin(Builtin::SubgroupId);
        let zero = b.i32(0);
        let first = b.compare(CompareOp::Ieq, subgroup, zero);
        b.if_else(first, |b| b.repeated(|b, again| b.br(again)), barrier);
    });
    let error = dispatch(&module, &mut [vec![]], [1; 3]).unwrap_err();
    assert!(matches!(error, Error::StepLimit { .. }), "{error}");
}

//! Divergent control flow: each lane must end with what it would compute alone.

use crate::kernel::{Ext, Kernel, dispatch, words};
use phalanx_interp::Error;
use phalanx_ir::{BinaryOp, Builder, CompareOp, Label, Op, SubgroupOp, Type, Value, Var};

/// `var op= value`.
fn update(b: &mut Builder<'_>, var: Var, op: BinaryOp, value: Value) {
    let old = b.var_load(var, None);
    let new = b.binary(op, old, value);
    b.var_store(var, None, new);
}

fn branch_if(b: &mut Builder<'_>, condition: Value, label: Label) {
    b.if_else(condition, |b| b.br(label), |_| {});
}

/// How many lanes are active.
fn count_active(b: &mut Builder<'_>) -> Value {
    let one = b.i32(1);
    b.value(Op::Subgroup(SubgroupOp::Reduce(phalanx_ir::ReduceOp::Iadd, None)), &[one], Type::I32)
}

#[test]
fn both_sides_of_an_if_run_and_rejoin() {
    let module = Kernel::new([8, 1, 1]).body(|b| {
        let (i, three) = (b.local(), b.i32(3));
        let var = b.func.new_var(Type::I32, 1, "x");
        let small = b.compare(CompareOp::Slt, i, three);
        b.if_else(
            small,
            |b| {
                let n = count_active(b);
                b.var_store(var, None, n);
            },
            |b| {
                let n = count_active(b);
                let ten = b.i32(10);
                let n = b.binary(BinaryOp::Imul, n, ten);
                b.var_store(var, None, n);
            },
        );
        let n = count_active(b);
        update(b, var, BinaryOp::Iadd, n);
        let x = b.var_load(var, None);
        b.put(i, x);
    });
    assert_eq!(words(&module, 8), [11, 11, 11, 58, 58, 58, 58, 58]);
}

/// `for outer { if lane is odd at an odd outer, continue; for inner { if inner == lane, break; if
/// outer * inner > 20, break outer; sum += outer * 10 + inner } }`.
#[test]
fn nested_loops_with_breaks_and_continues_by_lane() {
    let module = Kernel::new([8, 1, 1]).body(|b| {
        let lane = b.local();
        let [sum, outer, inner] = ["sum", "outer", "inner"].map(|n| b.func.new_var(Type::I32, 1, n));
        let zero = b.i32(0);
        b.var_store(sum, None, zero);
        b.var_store(outer, None, zero);
        b.scoped(|b, leave_outer| {
            b.repeated(|b, repeat_outer| {
                let (o, limit) = (b.var_load(outer, None), b.i32(6));
                let done = b.compare(CompareOp::Sle, limit, o);
                branch_if(b, done, leave_outer);
                b.scoped(|b, continue_outer| {
                    let both = b.binary(BinaryOp::And, o, lane);
                    let one = b.i32(1);
                    let odd = b.binary(BinaryOp::And, both, one);
                    let skip = b.compare(CompareOp::Ieq, odd, one);
                    branch_if(b, skip, continue_outer);
                    let zero = b.i32(0);
                    b.var_store(inner, None, zero);
                    b.scoped(|b, leave_inner| inner_loop(b, lane, sum, o, inner, leave_inner, leave_outer));
                });
                let one = b.i32(1);
                update(b, outer, BinaryOp::Iadd, one);
                b.br(repeat_outer);
            });
        });
        let x = b.var_load(sum, None);
        b.put(lane, x);
    });
    assert_eq!(words(&module, 8), (0..8).map(expected_sum).collect::<Vec<_>>());
}

fn inner_loop(
    b: &mut Builder<'_>,
    lane: Value,
    sum: Var,
    o: Value,
    inner: Var,
    leave_inner: Label,
    leave_outer: Label,
) {
    b.repeated(|b, repeat| {
        let i = b.var_load(inner, None);
        let equal = b.compare(CompareOp::Ieq, i, lane);
        branch_if(b, equal, leave_inner);
        let (product, limit) = (b.binary(BinaryOp::Imul, o, i), b.i32(20));
        let large = b.compare(CompareOp::Slt, limit, product);
        branch_if(b, large, leave_outer);
        let ten = b.i32(10);
        let term = b.binary(BinaryOp::Imul, o, ten);
        let term = b.binary(BinaryOp::Iadd, term, i);
        update(b, sum, BinaryOp::Iadd, term);
        let one = b.i32(1);
        update(b, inner, BinaryOp::Iadd, one);
        b.br(repeat);
    });
}

fn expected_sum(lane: i32) -> i32 {
    let mut sum = 0;
    'outer: for outer in 0..6 {
        if outer & lane & 1 == 1 {
            continue;
        }
        for inner in 0.. {
            if inner == lane {
                break;
            }
            if outer * inner > 20 {
                break 'outer;
            }
            sum += outer * 10 + inner;
        }
    }
    sum
}

#[test]
fn lanes_that_leave_a_loop_wait_for_the_others() {
    // Lane l leaves after l + 1 rounds; in round r, 8 - r lanes are active; at the end, all are.
    let module = Kernel::new([8, 1, 1]).body(|b| {
        let lane = b.local();
        let [seen, round] = ["seen", "round"].map(|n| b.func.new_var(Type::I32, 1, n));
        b.scoped(|b, leave| {
            b.repeated(|b, repeat| {
                let n = count_active(b);
                update(b, seen, BinaryOp::Iadd, n);
                let r = b.var_load(round, None);
                let last = b.compare(CompareOp::Ieq, r, lane);
                branch_if(b, last, leave);
                let one = b.i32(1);
                update(b, round, BinaryOp::Iadd, one);
                b.br(repeat);
            });
        });
        let (n, hundred) = (count_active(b), b.i32(100));
        let n = b.binary(BinaryOp::Imul, n, hundred);
        update(b, seen, BinaryOp::Iadd, n);
        let x = b.var_load(seen, None);
        b.put(lane, x);
    });
    let want: Vec<_> = (0..8).map(|lane| 800 + (0..=lane).map(|r| 8 - r).sum::<i32>()).collect();
    assert_eq!(words(&module, 8), want);
}

#[test]
fn returned_lanes_are_gone() {
    let module = Kernel::new([8, 1, 1]).body(|b| {
        let (lane, five) = (b.local(), b.i32(5));
        let late = b.compare(CompareOp::Slt, five, lane);
        b.repeated(|b, _| b.if_else(late, |b| b.effect(Op::Return, &[]), |_| {}));
        let n = count_active(b);
        b.put(lane, n);
    });
    assert_eq!(words(&module, 8), [6, 6, 6, 6, 6, 6, -1, -1]);
}

#[test]
fn a_block_is_left_to_its_end_from_deep_inside() {
    let module = Kernel::new([8, 1, 1]).body(|b| {
        let lane = b.local();
        let one = b.i32(1);
        let odd = b.binary(BinaryOp::And, lane, one);
        let odd = b.compare(CompareOp::Ieq, odd, one);
        let var = b.func.new_var(Type::I32, 1, "x");
        b.scoped(|b, outer| {
            b.scoped(|b, _| {
                b.repeated(|b, _| {
                    b.if_else(odd, |b| b.scoped(|b, _| b.br(outer)), |_| {});
                    let seven = b.i32(7);
                    b.var_store(var, None, seven);
                });
            });
            let ten = b.i32(10);
            update(b, var, BinaryOp::Iadd, ten);
        });
        let x = b.var_load(var, None);
        b.put(lane, x);
    });
    assert_eq!(words(&module, 8), [17, 0, 17, 0, 17, 0, 17, 0]);
}

#[test]
fn the_missing_lanes_of_the_last_subgroup_do_not_run() {
    let module = Kernel::new([11, 1, 1]).body(|b| {
        let (lane, n) = (b.local(), count_active(b));
        b.put(lane, n);
    });
    assert_eq!(words(&module, 12), [8, 8, 8, 8, 8, 8, 8, 8, 3, 3, 3, -1]);
}

#[test]
fn an_endless_loop_ends_with_an_error() {
    let module = Kernel::new([8, 1, 1]).body(|b| b.repeated(|b, label| b.br(label)));
    let error = dispatch(&module, &mut [vec![]], [1; 3]).unwrap_err();
    assert_eq!(error, Error::StepLimit { limit: 1_000_000 });
}

#[test]
fn deep_nesting_needs_no_host_stack() {
    fn nest(b: &mut Builder<'_>, depth: usize) {
        if depth == 0 {
            let (i, x) = (b.local(), b.i32(5));
            b.put(i, x);
        } else {
            let yes = b.bool(true);
            b.if_else(yes, |b| nest(b, depth - 1), |_| {});
        }
    }
    let module = Kernel::new([1, 1, 1]).body(|b| nest(b, 400));
    assert_eq!(words(&module, 1), [5]);
}

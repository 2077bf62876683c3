//! Dispatches that have to end: by their number of steps, because somebody interrupts them, or before they begin.

use crate::kernel::{Ext, Kernel};
use phalanx_interp::{Error, Limits, Memory, run, run_until};
use phalanx_ir::{
    BinaryOp, MAX_DISPATCH_INVOCATIONS, MatReduceKind, MatType, MulAddFlags, Op, Scalar, Scope, Type, Use,
    Value, Verified,
};
use std::cell::Cell;

const SIZE: u32 = 64;

fn mat(scope: Scope, use_: Use) -> MatType {
    MatType { elem: Scalar::F32, scope, rows: SIZE, cols: SIZE, use_ }
}

/// A kernel of one work-group that does something with a large matrix.
fn on_matrix(scope: Scope, emit: impl FnOnce(&mut phalanx_ir::Builder<'_>, Value, MatType)) -> Verified {
    Kernel::new([16, 1, 1]).body(|b| {
        let one = b.constant(Scalar::F32, 0x3f80_0000);
        let m = mat(scope, Use::Accumulator);
        let x = b.value(Op::MatSplat, &[one], m.into());
        emit(b, x, m);
    })
}

/// Modules that are long because of one instruction, with the steps that it takes.
fn long() -> Vec<(&'static str, u64, Verified)> {
    let elements = u64::from(SIZE * SIZE);
    let mut modules = Vec::new();
    for scope in [Scope::Subgroup, Scope::Workgroup] {
        let product = on_matrix(scope, |b, x, m| {
            let [p, q] = [Use::A, Use::B].map(|use_| b.value(Op::Bitcast, &[x], mat(scope, use_).into()));
            b.value(Op::MatMulAdd(MulAddFlags::default()), &[p, q, x], m.into());
        });
        modules.push(("product", elements * u64::from(SIZE), product));
        let sum = on_matrix(scope, |b, x, m| {
            b.binary(BinaryOp::Fadd, x, x);
            b.value(Op::MatScale, &[x, b.func.def(x).args[0]], m.into());
        });
        modules.push(("sum", 2 * elements, sum));
        let map = on_matrix(scope, |b, x, m| {
            let body = b.func.new_block();
            b.within(body, |b| {
                let params = b.values(Op::Params, &[], &[Type::I32, Type::I32, Type::F32]);
                b.effect(Op::Yield, &[params[2]]);
            });
            b.value(Op::MatMap { body }, &[x], m.into());
        });
        modules.push(("map", elements, map));
        let reduction = on_matrix(scope, |b, x, m| {
            let body = b.func.new_block();
            b.within(body, |b| {
                let params = b.values(Op::Params, &[], &[Type::F32; 2]);
                b.effect(Op::Yield, &[params[0]]);
            });
            b.value(Op::MatReduce { kind: MatReduceKind::All, body }, &[x], m.into());
        });
        modules.push(("reduction", elements, reduction));
        let copy = on_matrix(scope, |b, x, m| {
            let var = b.func.new_var(m.into(), 1, "m");
            b.var_store(var, None, x);
            b.var_load(var, None);
        });
        modules.push(("copy", 2 * elements, copy));
    }
    modules
}

#[test]
fn matrices_count_by_their_elements() {
    for (name, least, module) in long() {
        let steps = |limits: &Limits| run(&module, &mut Memory::new(), [1; 3], [0; 3], limits);
        let report = steps(&Limits::default()).unwrap();
        assert!(report.steps >= least, "{name}: {} of {least}", report.steps);
        let limit = report.steps - 1;
        let error = steps(&Limits { max_steps: limit, ..Limits::default() }).unwrap_err();
        assert_eq!(error, Error::StepLimit { limit }, "{name}");
        let exact = Limits { max_steps: report.steps, ..Limits::default() };
        assert_eq!(steps(&exact).unwrap(), report, "{name}: the same again");
    }
}

#[test]
fn a_long_instruction_is_interrupted_in_the_middle() {
    for (name, least, module) in long() {
        let asked = Cell::new(0);
        // The splat before has less than half of the elements' questions.
        let often = 3 + u64::from(SIZE * SIZE) / 256;
        let interrupt = || {
            asked.set(asked.get() + 1);
            asked.get() > often
        };
        let limits = Limits::default();
        let error = run_until(&module, &mut Memory::new(), [1; 3], [0; 3], &limits, &interrupt).unwrap_err();
        assert_eq!(error, Error::Interrupted, "{name}");
        assert!(least / 256 > often - 4, "{name}: is long enough to show something");
    }
}

#[test]
fn empty_programs_end_within_the_limit_too() {
    let module = Kernel::new([1, 1, 1]).body(|_| {});
    let limits = Limits { max_steps: 100, ..Limits::default() };
    let error = run(&module, &mut Memory::new(), [1 << 30; 3], [0; 3], &limits).unwrap_err();
    assert_eq!(error, Error::StepLimit { limit: 100 });
    let asked = Cell::new(0);
    let interrupt = || {
        asked.set(asked.get() + 1);
        asked.get() == 10
    };
    let limits = Limits { max_steps: u64::MAX, ..Limits::default() };
    let error =
        run_until(&module, &mut Memory::new(), [1 << 30; 3], [0; 3], &limits, &interrupt).unwrap_err();
    assert_eq!((error, asked.get()), (Error::Interrupted, 10));
}

#[test]
fn no_work_groups_along_one_axis_are_none_at_all() {
    let module = Kernel::new([1, 1, 1]).body(|b| {
        let zero = b.i32(0);
        b.put(zero, zero);
    });
    for groups in [[0, u32::MAX, u32::MAX], [u32::MAX, 0, u32::MAX], [u32::MAX, u32::MAX, 0]] {
        let report = run(&module, &mut Memory::new(), groups, [0; 3], &Limits::default()).unwrap();
        assert_eq!(report.steps, 0);
    }
}

#[test]
fn ids_beyond_the_bound_are_refused() {
    let limits = Limits { max_steps: 1000, ..Limits::default() };
    let module = |size| Kernel::new(size).body(|_| {});
    let most = MAX_DISPATCH_INVOCATIONS / 64;
    for axis in 0..3 {
        let mut size = [1; 3];
        size[axis] = 64;
        let module = module(size);
        let dispatch = |count: u32, first: u32| {
            let (mut groups, mut base) = ([1; 3], [0; 3]);
            (groups[axis], base[axis]) = (count, first);
            run(&module, &mut Memory::new(), groups, base, &limits)
        };
        // As many as there may be are too many for the number of steps only.
        assert_eq!(dispatch(most, 0).unwrap_err(), Error::StepLimit { limit: 1000 });
        assert!(dispatch(1, most - 1).is_ok());
        for (count, first) in [(most + 1, 0), (1, most), (most, 1), (u32::MAX, u32::MAX)] {
            let invocations = (u64::from(count) + u64::from(first)) * 64;
            assert_eq!(dispatch(count, first).unwrap_err(), Error::TooManyInvocations { axis, invocations });
        }
    }
}

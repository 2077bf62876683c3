//! What is decided about matrices before lowering.

use super::once::Once;
use super::places::{Place, Places};
use super::schedule::Schedule;
use super::slots::{Memory, Slots};
use super::uses::{Element, Uses};
use super::views::Views;
use crate::testing::assembly;
use phalanx_ir::{
    Barrier, BinaryOp, Builder, CompareOp, Function, MatType, MemFlags, MulAddFlags, Op, Scalar, Scope, Type,
    Use, Value, Var, text,
};

fn mat(use_: Use) -> MatType {
    MatType { elem: Scalar::F32, scope: Scope::Subgroup, rows: 16, cols: 16, use_ }
}

/// A function under construction, with an accumulator variable of four matrices.
struct Code {
    func: Function,
    acc: Var,
}

impl Code {
    fn new() -> Self {
        let mut func = Function::default();
        let acc = func.new_var(mat(Use::Accumulator).into(), 4, "acc");
        Self { func, acc }
    }

    fn build(mut self, fill: impl FnOnce(&mut Builder<'_>, Var)) -> (Function, Uses, Places, Schedule) {
        fill(&mut Builder::new(&mut self.func), self.acc);
        let mut uses = Uses::of(&self.func);
        let places = Places::of(&self.func, &mut uses);
        let schedule = Schedule::of(&self.func, &uses, &places);
        (self.func, uses, places, schedule)
    }
}

fn load(b: &mut Builder<'_>, use_: Use) -> Value {
    let ptr = b.value(Op::SharedPtr { offset: 0, bytes: 4096 }, &[], Type::Ptr(phalanx_ir::Space::Shared));
    let stride = b.i64(64);
    b.value(Op::MatLoad { column_major: false, flags: MemFlags::default() }, &[ptr, stride], mat(use_).into())
}

fn mul_add(b: &mut Builder<'_>, a: Value, x: Value, c: Value) -> Value {
    b.value(Op::MatMulAdd(MulAddFlags::default()), &[a, x, c], mat(Use::Accumulator).into())
}

/// `acc[at] += a * x`
fn accumulate(b: &mut Builder<'_>, acc: Var, at: i32, a: Value, x: Value) -> Value {
    let index = b.i32(at);
    let c = b.var_load(acc, Some(index));
    let r = mul_add(b, a, x, c);
    b.var_store(acc, Some(index), r);
    r
}

#[test]
fn accumulation_is_in_place_and_a_grid() {
    let mut results = Vec::new();
    let (func, _, places, schedule) = Code::new().build(|b, acc| {
        let a = [load(b, Use::A), load(b, Use::A)];
        for j in 0..2 {
            let x = load(b, Use::B);
            for (i, &a) in a.iter().enumerate() {
                results.push(accumulate(b, acc, (2 * i + j) as i32, a, x));
            }
        }
    });
    let expected = [0, 2, 1, 3].map(|k| Place::Var(Var::new(0), Element::Const(k)));
    assert_eq!(results.iter().map(|&r| places.of_value(r)).collect::<Vec<_>>(), expected);
    assert!(
        func.block(Function::ENTRY)
            .iter()
            .all(|&i| { !matches!(func.inst(i).op, Op::VarStore(_)) || places.is_elided(i) })
    );
    let groups: Vec<_> = schedule.groups().collect();
    assert_eq!(groups.len(), 1);
    assert_eq!((groups[0].m, groups[0].n, groups[0].k), (2, 2, 1));
    assert_eq!(groups[0].r, [results[0], results[2], results[1], results[3]]);
}

#[test]
fn what_a_branch_changes_is_where_it_will_be() {
    // What the branch does with the sum, with another matrix, and whether each lives in the variable.
    type Branch<'a> = dyn Fn(&mut Builder<'_>, Var, Value, Value) -> Value + 'a;
    let double = |b: &mut Builder<'_>, acc, at, v| {
        let twice = b.binary(BinaryOp::Fadd, v, v);
        let index = b.i32(at);
        b.var_store(acc, Some(index), twice);
        twice
    };
    let cases: [(&Branch<'_>, bool, bool); 4] = [
        // It is read and then written.
        (&|b, acc, sum, _| double(b, acc, 0, sum), true, true),
        // It is read again behind that.
        (
            &|b, acc, sum, other| {
                b.var_store(acc, None, other);
                double(b, acc, 0, sum)
            },
            false,
            true,
        ),
        // What is stored is there before it is read.
        (
            &|b, acc, sum, other| {
                let twice = b.binary(BinaryOp::Fadd, other, other);
                double(b, acc, 1, sum);
                b.var_store(acc, None, twice);
                twice
            },
            true,
            false,
        ),
        // Or before that is done further within.
        (
            &|b, acc, sum, other| {
                let twice = b.binary(BinaryOp::Fadd, other, other);
                b.scoped(|b, _| {
                    double(b, acc, 1, sum);
                });
                b.var_store(acc, None, twice);
                twice
            },
            true,
            false,
        ),
    ];
    for (number, (branch, sum_is_there, changed_is_there)) in cases.into_iter().enumerate() {
        let mut values = Vec::new();
        let (_, _, places, _) = Code::new().build(|b, acc| {
            let (a, x, c) = (load(b, Use::A), load(b, Use::B), load(b, Use::Accumulator));
            let other = load(b, Use::Accumulator);
            let sum = mul_add(b, a, x, c);
            b.var_store(acc, None, sum);
            let zero = b.i32(0);
            let holds = b.compare(CompareOp::Ieq, zero, zero);
            b.if_else(holds, |b| values.extend([sum, branch(b, acc, sum, other)]), |_| ());
            let seen = b.var_load(acc, None);
            b.binary(BinaryOp::Fadd, seen, seen);
        });
        let is_there = |v| places.of_value(v) == Place::Var(Var::new(0), Element::Const(0));
        let expected = [sum_is_there, changed_is_there];
        assert_eq!(values.iter().map(|&v| is_there(v)).collect::<Vec<_>>(), expected, "case {number}");
    }
}

#[test]
fn what_a_sum_begins_with_is_where_the_sum_will_be() {
    let places = |is_looked_at: bool, is_read: bool| {
        let mut begin = None;
        let (_, _, places, _) = Code::new().build(|b, acc| {
            let (a, x) = (load(b, Use::A), load(b, Use::B));
            let before = b.var_load(acc, None);
            let twice = b.binary(BinaryOp::Fadd, before, before);
            if is_looked_at {
                b.binary(BinaryOp::Fadd, twice, twice);
            }
            if is_read {
                b.binary(BinaryOp::Fadd, before, before);
            }
            let sum = mul_add(b, a, x, twice);
            b.var_store(acc, None, sum);
            begin = Some(twice);
        });
        places.of_value(begin.unwrap())
    };
    assert_eq!(places(false, false), Place::Var(Var::new(0), Element::Const(0)));
    // It is needed once more, or what the variable held is.
    assert!(matches!(places(true, false), Place::Slot(_)));
    assert!(matches!(places(false, true), Place::Slot(_)));
}

#[test]
fn chains_become_one_sum() {
    let mut results = Vec::new();
    let (_, _, _, schedule) = Code::new().build(|b, acc| {
        for _ in 0..3 {
            let (a, x) = (load(b, Use::A), load(b, Use::B));
            results.push(accumulate(b, acc, 0, a, x));
        }
    });
    let groups: Vec<_> = schedule.groups().collect();
    assert_eq!(groups.len(), 1);
    assert_eq!((groups[0].m, groups[0].n, groups[0].k), (1, 1, 3));
    assert_eq!(groups[0].r, [results[2]]);
}

#[test]
fn chains_of_values_need_no_variable() {
    let (_, _, _, schedule) = Code::new().build(|b, acc| {
        let (a, x) = (load(b, Use::A), load(b, Use::B));
        let c = b.var_load(acc, None);
        let first = mul_add(b, a, x, c);
        let second = mul_add(b, a, x, first);
        b.var_store(acc, None, second);
    });
    let groups: Vec<_> = schedule.groups().collect();
    assert_eq!((groups.len(), groups[0].k), (1, 2));
}

#[test]
fn a_sum_that_is_seen_is_computed_first() {
    let (_, _, _, schedule) = Code::new().build(|b, acc| {
        let (a, x) = (load(b, Use::A), load(b, Use::B));
        let c = b.var_load(acc, None);
        let first = mul_add(b, a, x, c);
        let second = mul_add(b, a, x, first);
        let both = b.binary(BinaryOp::Fadd, first, second);
        b.var_store(acc, None, both);
    });
    assert_eq!(schedule.groups().count(), 2);
}

#[test]
fn sums_that_share_no_factors_are_grids_of_their_own() {
    let (_, _, _, schedule) = Code::new().build(|b, acc| {
        let a = [load(b, Use::A), load(b, Use::A)];
        let x = [load(b, Use::B), load(b, Use::B)];
        for (j, &x) in x.iter().enumerate() {
            accumulate(b, acc, j as i32, a[0], x);
            accumulate(b, acc, 2, a[1], x);
        }
    });
    let sizes: Vec<_> = schedule.groups().map(|g| (g.m, g.n, g.k)).collect();
    assert_eq!(sizes, [(1, 2, 1), (1, 1, 2)]);
}

#[test]
fn a_value_outlives_its_variable() {
    let mut old = None;
    let (_, _, places, _) = Code::new().build(|b, acc| {
        let loaded = b.var_load(acc, None);
        let other = load(b, Use::Accumulator);
        b.var_store(acc, None, other);
        let index = b.i32(1);
        b.var_store(acc, Some(index), loaded);
        old = Some(loaded);
    });
    let old = old.expect("built");
    assert_eq!(places.of_value(old), Place::Slot(old));
}

#[test]
fn a_factor_is_not_overwritten_by_its_product() {
    let any = |b: &mut Builder<'_>| load(b, Use::Any);
    let (_, _, places, _) = Code::new().build(|b, _| {
        let var = b.func.new_var(mat(Use::Any).into(), 1, "m");
        let start = any(b);
        b.var_store(var, None, start);
        let m = b.var_load(var, None);
        let c = any(b);
        let r = b.value(Op::MatMulAdd(MulAddFlags::default()), &[m, m, c], mat(Use::Any).into());
        b.var_store(var, None, r);
        let at = b.func.blocks[0].len() - 1;
        assert!(matches!(b.func.inst(b.func.blocks[0][at]).op, Op::VarStore(_)));
    });
    // One of the two has to be a tile of its own; the product is.
    let elided = (0..100).filter(|&i| places.is_elided(phalanx_ir::Inst::new(i))).count();
    assert_eq!(elided, 1);
}

#[test]
fn barriers_and_memory_do_not_end_a_group_but_control_flow_does() {
    let (_, _, _, schedule) = Code::new().build(|b, acc| {
        let (a, x) = (load(b, Use::A), load(b, Use::B));
        accumulate(b, acc, 0, a, x);
        b.effect(Op::Barrier(Barrier { execution: Scope::Workgroup, memory: Scope::Workgroup }), &[]);
        accumulate(b, acc, 1, a, x);
        b.scoped(|b, _| {
            accumulate(b, acc, 2, a, x);
        });
    });
    let sizes: Vec<_> = schedule.groups().map(|g| (g.m, g.n, g.k)).collect();
    // The two before the block have equal factors, so they are no grid but two chains.
    assert_eq!(sizes, [(1, 1, 1), (1, 1, 1), (1, 1, 1)]);
}

#[test]
fn slots_are_reused() {
    let (func, uses, places, schedule) = Code::new().build(|b, acc| {
        for _ in 0..10 {
            let (a, x) = (load(b, Use::A), load(b, Use::B));
            accumulate(b, acc, 0, a, x);
            // Reading a component ends the group.
            let zero = b.i32(0);
            b.value(Op::VarComponentLoad(acc), &[zero, zero], Type::F32);
        }
    });
    let slots =
        Slots::of(&func, &uses, (&places, &Views::default()), &schedule, &Once::default(), 0, |_| 1024);
    // The variable, and a slot for a factor of each kind; gaps between them are smaller than a slot.
    let bytes = slots.bytes(Memory::Own);
    assert!((7 * 1024..8 * 1024).contains(&bytes), "{bytes}");
    assert_eq!(slots.bytes(Memory::Common), 0);
}

#[test]
fn subgroups_share_what_is_not_in_use_across_a_barrier() {
    let mut values = Vec::new();
    let (func, uses, places, schedule) = Code::new().build(|b, acc| {
        let wait = |b: &mut Builder<'_>| {
            b.effect(Op::Barrier(Barrier { execution: Scope::Workgroup, memory: Scope::Workgroup }), &[]);
        };
        let across = load(b, Use::A);
        wait(b);
        let between = load(b, Use::B);
        values.extend([across, between]);
        accumulate(b, acc, 0, across, between);
        // Reading a component ends the group, and with it the use of its factors.
        let zero = b.i32(0);
        b.value(Op::VarComponentLoad(acc), &[zero, zero], Type::F32);
        let around = load(b, Use::A);
        b.scoped(|b, _| {
            wait(b);
            accumulate(b, acc, 0, around, around);
        });
        values.push(around);
    });
    let slots =
        Slots::of(&func, &uses, (&places, &Views::default()), &schedule, &Once::default(), 64, |_| 1024);
    let memory: Vec<_> = values.iter().map(|&v| slots.value(v).memory).collect();
    assert_eq!(memory, [Memory::Own, Memory::Common, Memory::Own]);
    assert_eq!(slots.var(Var::new(0)).memory, Memory::Own);
    assert_eq!(slots.scratch.memory, Memory::Common);
}

#[test]
fn subgroups_load_once_what_nothing_writes_since_a_barrier() {
    let mut values = Vec::new();
    let (func, ..) = Code::new().build(|b, acc| {
        let wait = |b: &mut Builder<'_>| {
            b.effect(Op::Barrier(Barrier { execution: Scope::Workgroup, memory: Scope::Workgroup }), &[]);
        };
        let store = |b: &mut Builder<'_>| {
            let ptr =
                b.value(Op::SharedPtr { offset: 0, bytes: 4096 }, &[], Type::Ptr(phalanx_ir::Space::Shared));
            let (c, stride) = (b.var_load(acc, None), b.i64(64));
            b.effect(Op::MatStore { column_major: false, flags: MemFlags::default() }, &[ptr, c, stride]);
        };
        values.push((load(b, Use::A), false));
        wait(b);
        values.push((load(b, Use::A), true));
        b.scoped(|b, _| values.push((load(b, Use::B), true)));
        store(b);
        values.push((load(b, Use::A), false));
        wait(b);
        b.scoped(|b, _| {
            store(b);
            wait(b);
            values.push((load(b, Use::B), true));
        });
        values.push((load(b, Use::A), false));
    });
    let once = Once::of(&func, 8, |_| 1024);
    for (v, expected) in values {
        assert_eq!(once.contains(v), expected, "{v}");
    }
    assert_eq!(once.ways, 4);
    let mut ordered = func.clone();
    let b = &mut Builder::new(&mut ordered);
    let ptr = b.value(Op::SharedPtr { offset: 0, bytes: 4096 }, &[], Type::Ptr(phalanx_ir::Space::Shared));
    b.value(Op::Load(MemFlags { volatile: true, ..MemFlags::default() }), &[ptr], Type::I32);
    assert_eq!(Once::of(&ordered, 8, |_| 1024).ways, 0);
    assert_eq!(Once::of(&func, 3, |_| 1024).ways, 3);
    assert_eq!(Once::of(&func, 8, |_| 20 << 10).ways, 2);
    assert_eq!(Once::of(&func, 8, |_| 40 << 10).ways, 1);
    assert_eq!(Once::of(&func, 8, |_| 1 << 20).ways, 0);
    assert_eq!(Once::of(&func, 1, |_| 1024).ways, 0);
}

/// Rotations of loaded matrices by so many elements: which operands, and how far.
fn rotated(rotations: &[(usize, usize, i32)]) -> (Vec<Value>, Vec<Value>, Slots, Views) {
    let (mut loaded, mut results) = (Vec::new(), Vec::new());
    let (func, uses, places, schedule) = Code::new().build(|b, acc| {
        loaded.extend((0..4).map(|_| load(b, Use::A)));
        let x = load(b, Use::B);
        for (at, &(first, second, offset)) in (0..).zip(rotations) {
            let offset = b.i32(offset);
            let args = [loaded[first], loaded[second], offset];
            results.push(b.value(Op::MatRotate, &args, mat(Use::A).into()));
            accumulate(b, acc, at, results[at as usize], x);
        }
    });
    let set = phalanx_kernels::Processor::native().kernels();
    let views = Views::of(&func, &uses, &places, |ty| super::layout(set, ty));
    let slots = Slots::of(&func, &uses, (&places, &views), &schedule, &Once::default(), 0, |_| 1024);
    (loaded, results, slots, views)
}

#[test]
fn rotations_by_rows_are_parts_of_matrices_that_lie_in_a_row() {
    // The last ones come first, so that a run gets one in front of it; two of them are of the same matrices.
    let (loaded, results, slots, views) = rotated(&[(2, 3, 16), (0, 1, 16), (1, 2, 32), (1, 2, 240)]);
    let place = |v: &Value| slots.value(*v).offset;
    let start = place(&loaded[0]);
    assert_eq!(loaded.iter().map(place).collect::<Vec<_>>(), [0, 1024, 2048, 3072].map(|at| start + at));
    assert_eq!(results.iter().map(place).collect::<Vec<_>>(), [2112, 64, 1152, 1984].map(|at| start + at));
    assert!(results.iter().all(|&v| views.view(v).is_some()));
}

#[test]
fn a_matrix_has_one_place_and_what_does_not_fit_is_copied() {
    // A second matrix behind the first one, a circle, a matrix behind itself, parts of rows.
    let wanted = [(0, 1, 16), (0, 2, 16), (1, 0, 16), (3, 3, 16), (2, 3, 24)];
    let are_views = |rotations: &[_]| {
        let (_, results, _, views) = rotated(rotations);
        results.iter().map(|&v| views.view(v).is_some()).collect::<Vec<_>>()
    };
    assert_eq!(are_views(&wanted[..4]), [true, false, false, false]);
    assert_eq!(are_views(&wanted[4..]), [false]);
}

#[test]
fn factors_of_f16_stay_narrow_if_all_their_sums_are() {
    let set = |name| phalanx_kernels::Processor::named(name).unwrap().kernels();
    let chosen = |set, sums: &[Scalar]| {
        let (func, ..) = Code::new().build(|b, _| {
            for &elem in sums {
                let ty = |elem, use_| MatType { elem, ..mat(use_) };
                let mut zero = |elem, use_| {
                    let x = b.constant(elem, 0);
                    b.value(Op::MatSplat, &[x], ty(elem, use_).into())
                };
                let args =
                    [zero(Scalar::F16, Use::A), zero(Scalar::F16, Use::B), zero(elem, Use::Accumulator)];
                b.value(Op::MatMulAdd(MulAddFlags::default()), &args, ty(elem, Use::Accumulator).into());
            }
        });
        super::kernels(&func, set)
    };
    let xeon = set("sapphirerapids");
    assert_eq!(chosen(xeon, &[Scalar::F16, Scalar::F16]), xeon.for_sums_of_f16());
    assert_ne!(xeon.for_sums_of_f16(), xeon);
    for sums in [&[][..], &[Scalar::F32], &[Scalar::F16, Scalar::F32]] {
        assert_eq!(chosen(xeon, sums), xeon);
    }
    assert_eq!(chosen(set("znver4"), &[Scalar::F16]), set("znver4"));
}

#[test]
fn what_is_staged_is_wished_for() {
    let mut has_wishes = Vec::new();
    for processor in ["znver4", "sapphirerapids"] {
        let set = phalanx_kernels::Processor::named(processor).unwrap().kernels();
        for space in [phalanx_ir::Space::Shared, phalanx_ir::Space::Buffer] {
            let (func, _, _, schedule) = Code::new().build(|b, acc| {
                let factor = |b: &mut Builder<'_>, use_| {
                    let ptr = b.value(Op::SharedPtr { offset: 0, bytes: 4096 }, &[], Type::Ptr(space));
                    let stride = b.i64(64);
                    let ty = MatType { elem: Scalar::BF16, ..mat(use_) };
                    b.value(
                        Op::MatLoad { column_major: false, flags: MemFlags::default() },
                        &[ptr, stride],
                        ty.into(),
                    )
                };
                let (a, x) = (factor(b, Use::A), factor(b, Use::B));
                accumulate(b, acc, 0, a, x);
            });
            has_wishes.push(super::wishes::are_worth(&func, &schedule, |group| {
                super::plan(&func, set, group, [false; 2])
            }));
        }
    }
    // Products in matrix registers ask for nothing.
    assert_eq!(has_wishes, [true, false, false, false]);
}

/// Of a staged factor that is kept in f32, no part is made for vectors; for matrix registers all that make whole blocks are.
#[test]
fn factors_that_are_loaded_once_are_split_once() {
    let split = |processor, rows, depth| {
        let set = phalanx_kernels::Processor::named(processor).unwrap().kernels();
        let mut factors = Vec::new();
        let (func, _, _, schedule) = Code::new().build(|b, _| {
            b.effect(Op::Barrier(Barrier { execution: Scope::Workgroup, memory: Scope::Workgroup }), &[]);
            let mut factor = |use_, rows, cols| {
                let space = Type::Ptr(phalanx_ir::Space::Shared);
                let ptr = b.value(Op::SharedPtr { offset: 0, bytes: 1 << 14 }, &[], space);
                let stride = b.i64(128);
                let ty = MatType { elem: Scalar::F16, rows, cols, ..mat(use_) };
                let load = Op::MatLoad { column_major: false, flags: MemFlags::default() };
                b.value(load, &[ptr, stride], ty.into())
            };
            factors.extend([factor(Use::A, rows, depth), factor(Use::B, depth, 64)]);
            let ty = MatType { rows, cols: 64, ..mat(Use::Accumulator) };
            let zero = b.constant(Scalar::F32, 0);
            let zero = b.value(Op::MatSplat, &[zero], ty.into());
            let args = [factors[0], factors[1], zero];
            b.value(Op::MatMulAdd(MulAddFlags::default()), &args, ty.into());
        });
        let mut once = Once::of(&func, 4, |_| 1024);
        once.split(
            &func,
            &schedule,
            |group| super::plan(&func, set, group, [false; 2]),
            |ty| set.bytes_with_parts(&super::layout(set, ty)),
        );
        [factors[0], factors[1]].map(|v| once.bytes_with_parts(v))
    };
    // 64 rows of 256 bytes and a note of where a large factor came from; a line, and two blocks for each of 4 times 2.
    let bytes = 64 * 256 + 64 + 64 + 2 * 8 * 1024;
    assert_eq!(split("sapphirerapids", 64, 64), [Some(bytes); 2]);
    assert_eq!(split("sapphirerapids", 64, 48), [None, None]);
    assert_eq!(split("sapphirerapids", 16, 64), [None, None]);
    assert_eq!(split("icelake-server", 64, 64), [None, None]);
}

/// Whether loads by tensor layouts are told of, and the runs of the first; with so many multiplications.
fn tensors(span: u32, block: u32, loads: usize, products: usize) -> (bool, Option<super::tensor::Runs>) {
    let load = |i| {
        format!(
            "%a{i}: mat<16x{span}xf16, subgroup, a> = mat_load_tensor<dims=2, constant, unit=2> \
             %p, %n, %n, %n, %1, %n, %n, %16, %s, %1, %b, %0\n"
        )
    };
    let product = |i| {
        format!(
            "%c{i}: mat<16x16xf32, subgroup, acc> = mat_splat %f
            %r{i}: mat<16x16xf32, subgroup, acc> = mat_mul_add %a0, %x, %c{i}
            mat_store %p, %r{i}, %l
            "
        )
    };
    let code = format!(
        "binding buf0 = 0.0 storage {{
        %0: i32 = const 0
        %1: i32 = const 1
        %16: i32 = const 16
        %s: i32 = const {span}
        %b: i32 = const {block}
        %l: i64 = const 64
        %h: f16 = const 0.0
        %f: f32 = const 0.0
        %p: ptr<buffer> = buffer_ptr<buf0> %0
        %n: i32 = load %p
        {}
        %x: mat<{span}x16xf16, subgroup, b> = mat_splat %h
        {}
        }}",
        (0..loads).map(load).collect::<String>(),
        (0..products).map(product).collect::<String>()
    );
    let module = text::parse(&code).unwrap_or_else(|e| panic!("{e}\n{code}"));
    let func = module.body;
    let mut uses = Uses::of(&func);
    let places = Places::of(&func, &mut uses);
    let schedule = Schedule::of(&func, &uses, &places);
    let set = phalanx_kernels::Processor::named("znver4").unwrap().kernels();
    let asks =
        super::wishes::asks_for_tensors(&func, &schedule, |group| super::plan(&func, set, group, [false; 2]));
    let runs = func.insts.iter().find_map(|info| match &info.op {
        Op::MatLoadTensor { access, .. } => super::tensor::runs(&func, info, access),
        _ => None,
    });
    (asks, runs)
}

#[test]
fn factors_loaded_in_one_place_are_wished_for_through_tensor_layouts() {
    let (asks, runs) = tensors(64, 1, 1, 1);
    assert_eq!(format!("{runs:?}"), "Some(Runs { lines: 2, outer: (0, 1), inner: (0, 16) })");
    assert!(asks);
    assert!(tensors(64, 1, 1, 2).0);
    // Less than a line, blocks, two loads, and no multiplication.
    assert_eq!(tensors(16, 1, 1, 1), (false, None));
    assert_eq!(tensors(64, 32, 1, 1), (false, None));
    assert!(!tensors(64, 1, 2, 1).0 && !tensors(64, 1, 1, 0).0);
}

#[test]
fn reads_of_what_is_staged_ask_for_those_to_come() {
    let prefetches = |space: &str| {
        let module = format!(
            "kernel \"main\"
workgroup_size 32 1 1
subgroup_size 32
shared 4096
binding buf0 = 0.0 storage writable
{{
  %0: i32 = const 0
  %l: i64 = const 64
  %f: f32 = const 0.0
  %p: ptr<buffer> = buffer_ptr<buf0> %0
  %s: ptr<shared> = shared_ptr<offset=0, bytes=4096>
  %lane: i32 = local_invocation_id<x>
  %from: ptr<buffer> = ptr_add<scale=4> %p, %lane
  %v: i32 = load %from
  %to: ptr<shared> = ptr_add<scale=4> %s, %lane
  store %to, %v
  %a: mat<16x16xf32, subgroup, a> = mat_load %{space}, %l
  %b: mat<16x16xf32, subgroup, b> = mat_load %{space}, %l
  %c: mat<16x16xf32, subgroup, acc> = mat_splat %f
  %r: mat<16x16xf32, subgroup, acc> = mat_mul_add %a, %b, %c
  mat_store %p, %r, %l
}}
"
        );
        assembly(&module, "znver4").matches("prefetch").count()
    };
    // The two lines of a register for each lane.
    assert_eq!(prefetches("s"), 2);
    assert_eq!(prefetches("p"), 0);
}

#[test]
fn what_lies_behind_blocks_that_are_decoded_is_asked_for() {
    let prefetches = |decode: &str| {
        let module = format!(
            "kernel \"main\"
workgroup_size 32 1 1
subgroup_size 32
binding buf0 = 0.0 storage writable
{{
  %0: i32 = const 0
  %1: i32 = const 1
  %16: i32 = const 16
  %32: i32 = const 32
  %rows: i32 = const 64
  %long: i32 = const 1024
  %line: i32 = const 32
  %p: ptr<buffer> = buffer_ptr<buf0> %0
  %to: i64 = const 128
  %a: mat<16x32xf16, subgroup, a> = mat_load_tensor<dims=2, constant, unit=18, decode> %p, %rows, %long, %line, %1, %0, %0, %16, %32, %1, %32, %0 {{
    %block: ptr<buffer>, %y: i32, %x: i32, %in_y: i32, %in_x: i32 = params
    {decode}
  }}
  mat_store %p, %a, %to
}}
"
        );
        assembly(&module, "znver4").matches("prefetch").count()
    };
    // In the loop for blocks that are whole and inside, and once for a block.
    let twice = "%d: f16, %e: f16 = load %block %v: f16 = fmul %d, %e yield %v";
    let apart =
        "%at: ptr<buffer> = ptr_add<scale=1, disp=2> %block, %in_x %w: i8 = load %at %d: f16 = load %block
        %f: f16 = u_to_f %w %v: f16 = fmul %d, %f yield %v";
    assert_eq!([twice, apart].map(prefetches), [1, 1]);
    assert_eq!(prefetches("%d: f16 = const 1.0 yield %d"), 0);
}

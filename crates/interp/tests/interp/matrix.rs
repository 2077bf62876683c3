//! Matrices of all types against naive loops, and the components that lanes hold.

use crate::kernel::{Ext, Kernel, dispatch, pack, to_words, unpack};
use phalanx_ir::{
    BinaryOp, Builder, CompareOp, ConvertKind, Distribution, MatType, MemFlags, MulAddFlags, Op, Scalar,
    Scope, Type, UnaryOp, Use, Value, eval,
};

const TYPES: [Scalar; 10] = [
    Scalar::I8,
    Scalar::I16,
    Scalar::I32,
    Scalar::I64,
    Scalar::F16,
    Scalar::F32,
    Scalar::F64,
    Scalar::BF16,
    Scalar::E4M3,
    Scalar::E5M2,
];

fn mat(elem: Scalar, rows: u32, cols: u32, use_: Use) -> MatType {
    MatType { elem, scope: Scope::Subgroup, rows, cols, use_ }
}

fn load(b: &mut Builder<'_>, p: Value, stride: i64, column_major: bool, m: MatType) -> Value {
    let stride = b.i64(stride);
    b.value(Op::MatLoad { column_major, flags: MemFlags::default() }, &[p, stride], m.into())
}

fn store(b: &mut Builder<'_>, p: Value, value: Value, stride: i64, column_major: bool) {
    let stride = b.i64(stride);
    b.effect(Op::MatStore { column_major, flags: MemFlags::default() }, &[p, value, stride]);
}

/// The bits of a small integer as an element.
fn bits(ty: Scalar, x: i64) -> u64 {
    if ty.is_float() { eval::from_f64(ty, x as f64) } else { x as u64 & ty.mask() }
}

/// Small integers that every type holds exactly, and their products' sums too.
fn small(seed: usize, count: usize) -> Vec<i64> {
    (0..count).map(|i| ((i * 7 + seed * 5) % 4) as i64 - 1).collect()
}

fn pack_ints(ty: Scalar, values: &[i64]) -> Vec<u8> {
    pack(ty, values.iter().map(|&x| bits(ty, x)))
}

#[test]
fn multiply_add_of_all_types_is_a_naive_loop() {
    let (m, n, k) = (3, 5, 4);
    for ty in TYPES {
        let signed = MulAddFlags { a_signed: true, b_signed: true, c_signed: true, ..Default::default() };
        let size = i64::from(ty.bytes());
        let module = Kernel::new([8, 1, 1]).bindings(4).body(|b| {
            let [p, q, r, out] = [1, 2, 3, 0].map(|binding| b.buffer(binding));
            let x = load(b, p, 4 * size, false, mat(ty, 3, 4, Use::A));
            let y = load(b, q, 4 * size, true, mat(ty, 4, 5, Use::B));
            let z = load(b, r, 5 * size, false, mat(ty, 3, 5, Use::Accumulator));
            let sum = b.value(Op::MatMulAdd(signed), &[x, y, z], mat(ty, 3, 5, Use::Accumulator).into());
            store(b, out, sum, 7 * size, false);
        });
        let (x, y, z) = (small(1, m * k), small(2, k * n), small(3, m * n));
        let mut buffers =
            [vec![0xaa; 21 * size as usize], pack_ints(ty, &x), pack_ints(ty, &y), pack_ints(ty, &z)];
        dispatch(&module, &mut buffers, [1; 3]).unwrap();
        let got = unpack(ty, &buffers[0]);
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let want = z[i * n + j] + (0..k).map(|l| x[i * k + l] * y[j * k + l]).sum::<i64>();
            assert_eq!(got[i * 7 + j], bits(ty, want), "{ty} ({i}, {j})");
        }
        // What lies between the rows is untouched.
        assert_eq!(got[5], 0xaaaa_aaaa_aaaa_aaaa & ty.mask());
    }
}

#[test]
fn multiply_add_mixes_types_and_signs() {
    let flags = MulAddFlags { b_signed: true, c_signed: true, result_signed: true, ..Default::default() };
    let module = Kernel::new([8, 1, 1]).bindings(3).body(|b| {
        let [p, q, out] = [1, 2, 0].map(|binding| b.buffer(binding));
        let x = load(b, p, 2, false, mat(Scalar::I8, 2, 2, Use::A));
        let y = load(b, q, 2, false, mat(Scalar::I8, 2, 2, Use::B));
        let c = b.constant(Scalar::I16, 0xfff6);
        let c = b.value(Op::MatSplat, &[c], mat(Scalar::I16, 2, 2, Use::Accumulator).into());
        let sum = b.value(Op::MatMulAdd(flags), &[x, y, c], mat(Scalar::I32, 2, 2, Use::Accumulator).into());
        store(b, out, sum, 8, false);
    });
    let mut buffers = [vec![0; 16], vec![200, 1, 255, 0], vec![0xff, 2, 3, 0x80]];
    dispatch(&module, &mut buffers, [1; 3]).unwrap();
    assert_eq!(to_words(&buffers[0]), [-200 + 3 - 10, 400 - 128 - 10, -255 - 10, 510 - 10]);
}

#[test]
fn loads_broadcast_transpose_and_stop_at_the_end() {
    let m = mat(Scalar::I32, 3, 3, Use::Accumulator);
    for (stride, column_major, want) in [
        (0, false, [1, 2, 3, 1, 2, 3, 1, 2, 3]),
        (0, true, [1, 1, 1, 2, 2, 2, 3, 3, 3]),
        (12, true, [1, 4, 7, 2, 5, 0, 3, 6, 0]),
        (12, false, [1, 2, 3, 4, 5, 6, 7, 0, 0]),
        (16, false, [1, 2, 3, 5, 6, 7, 0, 0, 0]),
        (4, false, [1, 2, 3, 2, 3, 4, 3, 4, 5]),
    ] {
        let module = Kernel::new([8, 1, 1]).bindings(2).body(|b| {
            let [p, out] = [1, 0].map(|binding| b.buffer(binding));
            let x = load(b, p, stride, column_major, m);
            store(b, out, x, 12, false);
        });
        let mut buffers = [vec![0; 36], pack(Scalar::I32, 1..8)];
        dispatch(&module, &mut buffers, [1; 3]).unwrap();
        assert_eq!(to_words(&buffers[0]), want, "stride {stride}, column major {column_major}");
    }
}

/// The words of an 8-lane kernel's matrix of `m`, stored without gaps.
fn stored(m: MatType, emit: impl FnOnce(&mut Builder<'_>, Value) -> Value) -> Vec<u64> {
    let module = Kernel::new([8, 1, 1]).body(|b| {
        let lane = b.local();
        let x = emit(b, lane);
        let out = b.buffer(0);
        store(b, out, x, i64::from(m.cols * m.elem.bytes()), false);
    });
    let mut buffers = [vec![0; (m.len() * u64::from(m.elem.bytes())) as usize]];
    dispatch(&module, &mut buffers, [1; 3]).unwrap();
    unpack(m.elem, &buffers[0])
}

#[test]
fn a_splat_keeps_the_scalar_of_each_lane() {
    let m = mat(Scalar::I32, 3, 7, Use::A);
    let got = stored(m, |b, lane| b.value(Op::MatSplat, &[lane], m.into()));
    assert_eq!(got, (0..21).map(|i| i % 8).collect::<Vec<_>>());
}

#[test]
fn components_are_those_of_the_lane() {
    let m = mat(Scalar::I32, 3, 7, Use::A);
    assert_eq!(m.components(8), 3);
    // Component c of lane l becomes 100 * c + l, and the last is doubled through extraction.
    let got = stored(m, |b, lane| {
        let zero = b.i32(0);
        let mut x = b.value(Op::MatSplat, &[zero], m.into());
        for c in 0..4 {
            let (index, hundreds) = (b.i32(c), b.i32(100 * c));
            let value = b.binary(BinaryOp::Iadd, hundreds, lane);
            x = b.value(Op::MatInsert, &[x, index, value], m.into());
        }
        let two = b.i32(2);
        let last = b.value(Op::MatExtract, &[x, two], Type::I32);
        let last = b.binary(BinaryOp::Iadd, last, last);
        b.value(Op::MatInsert, &[x, two, last], m.into())
    });
    let want = |i: u64| (100 * (i / 8) + i % 8) * if i < 16 { 1 } else { 2 };
    assert_eq!(got, (0..21).map(want).collect::<Vec<_>>());
}

#[test]
fn a_component_is_where_its_coordinates_say() {
    // The types have fragments of 2, 4 and 1 elements by rows and by columns, and padding.
    let types = [
        mat(Scalar::I16, 16, 16, Use::A),
        mat(Scalar::I8, 32, 8, Use::B),
        mat(Scalar::I32, 16, 8, Use::B),
        mat(Scalar::I64, 16, 24, Use::Accumulator),
        mat(Scalar::I32, 5, 9, Use::Accumulator),
    ];
    for (distribution, scope) in Distribution::ALL
        .into_iter()
        .flat_map(|distribution| [(distribution, Scope::Subgroup), (distribution, Scope::Workgroup)])
    {
        for m in types.map(|m| MatType { scope, ..m }) {
            let mut kernel = Kernel::new([32, 1, 1]);
            (kernel.module.subgroup_size, kernel.module.distribution) = (32, distribution);
            let module = kernel.body(|b| {
                let zero = b.constant(m.elem, 0);
                let mut x = b.value(Op::MatSplat, &[zero], m.into());
                for i in 0..m.components(32) {
                    let i = b.i32(i as i32);
                    let place = b.values(Op::MatCoordinate, &[x, i], &[Type::I32; 2]);
                    let cols = b.i32(m.cols as i32);
                    let element = b.binary(BinaryOp::Imul, place[0], cols);
                    let element = b.binary(BinaryOp::Iadd, element, place[1]);
                    let element = if m.elem == Scalar::I32 {
                        element
                    } else {
                        b.convert(ConvertKind::UToU, element, m.elem)
                    };
                    x = b.value(Op::MatInsert, &[x, i, element], m.into());
                }
                let out = b.buffer(0);
                store(b, out, x, i64::from(m.cols * m.elem.bytes()), false);
            });
            let mut buffers = [vec![0; (m.len() * u64::from(m.elem.bytes())) as usize]];
            dispatch(&module, &mut buffers, [1; 3]).unwrap();
            let want: Vec<_> = (0..m.len()).map(|i| i & m.elem.mask()).collect();
            assert_eq!(unpack(m.elem, &buffers[0]), want, "{m} {distribution:?}");
        }
    }
}

#[test]
fn fragments_are_distributed_as_matrix_units_hold_them() {
    let m = mat(Scalar::I32, 16, 16, Use::Accumulator);
    let mut kernel = Kernel::new([32, 1, 1]);
    (kernel.module.subgroup_size, kernel.module.distribution) = (32, Distribution::Fragments);
    let module = kernel.body(|b| {
        let (lane, five, out) = (b.local(), b.i32(5), b.buffer(0));
        let x = b.value(Op::MatSplat, &[lane], m.into());
        let hundred = b.i32(100);
        let large = b.binary(BinaryOp::Iadd, lane, hundred);
        let x = b.value(Op::MatInsert, &[x, five, large], m.into());
        store(b, out, x, 64, false);
    });
    let mut buffers = [vec![0; 1024]];
    dispatch(&module, &mut buffers, [1; 3]).unwrap();
    let element = |i: i32| {
        let (row, col) = (i / 16, i % 16);
        let lane = row % 8 * 4 + col / 2 % 4;
        // Component 5 is the second element of the lower half's first step.
        if (row / 8, col / 8, col % 2) == (1, 0, 1) { lane + 100 } else { lane }
    };
    assert_eq!(to_words(&buffers[0]), (0..256).map(element).collect::<Vec<_>>());
}

#[test]
fn variables_hold_arrays_of_matrices() {
    let m = mat(Scalar::I32, 2, 8, Use::Accumulator);
    let got = stored(m, |b, lane| {
        let array = b.func.new_var(m.into(), 3, "tiles");
        let (one, two, seven) = (b.i32(1), b.i32(2), b.i32(7));
        let x = b.value(Op::MatSplat, &[lane], m.into());
        b.var_store(array, Some(one), x);
        b.var_store(array, Some(seven), x);
        // Lanes from 4 on change their second component, in divergent code.
        let four = b.i32(4);
        let low = b.compare(CompareOp::Slt, lane, four);
        b.if_else(
            low,
            |_| {},
            |b| {
                let c = b.value(Op::VarComponentLoad(array), &[one, one], Type::I32);
                let ten = b.i32(10);
                let c = b.binary(BinaryOp::Imul, c, ten);
                b.effect(Op::VarComponentStore(array), &[one, one, c]);
                b.effect(Op::VarComponentStore(array), &[one, two, c]);
                b.effect(Op::VarComponentStore(array), &[seven, one, c]);
            },
        );
        let outside = b.value(Op::VarComponentLoad(array), &[seven, one], Type::I32);
        let x = b.var_load(array, Some(one));
        let y = b.var_load(array, Some(seven));
        let sum = b.binary(BinaryOp::Iadd, x, y);
        let outside = b.value(Op::MatSplat, &[outside], m.into());
        b.binary(BinaryOp::Iadd, sum, outside)
    });
    assert_eq!(got, [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 40, 50, 60, 70]);
}

#[test]
fn arithmetic_is_elementwise() {
    let m = mat(Scalar::F32, 2, 8, Use::Accumulator);
    let got = stored(m, |b, lane| {
        let x = b.convert(ConvertKind::SToF, lane, Scalar::F32);
        let half = b.constant(Scalar::F32, 0.5f32.to_bits().into());
        let x = b.value(Op::MatSplat, &[x], m.into());
        let y = b.value(Op::MatScale, &[x, half], m.into());
        let y = b.unary(UnaryOp::Fneg, y);
        let z = b.binary(BinaryOp::Fsub, x, y);
        let yes = b.bool(true);
        b.select(yes, z, x)
    });
    let want = |i: u64| u64::from((1.5 * (i % 8) as f32).to_bits());
    assert_eq!(got, (0..16).map(want).collect::<Vec<_>>());
}

#[test]
fn conversions_round_each_element_once() {
    for ty in TYPES {
        let m = mat(ty, 1, 8, Use::Accumulator);
        let got = stored(m, |b, lane| {
            let x = b.value(Op::MatSplat, &[lane], mat(Scalar::I32, 1, 8, Use::Accumulator).into());
            if ty.is_float() {
                b.convert(ConvertKind::SToF, x, ty)
            } else if ty == Scalar::I32 {
                x
            } else {
                b.convert(ConvertKind::SToS, x, ty)
            }
        });
        assert_eq!(got, (0..8).map(|lane| bits(ty, lane)).collect::<Vec<_>>(), "{ty}");
    }
}

#[test]
fn the_missing_lanes_of_a_subgroup_have_elements_too() {
    // Five invocations in a subgroup of 8: their splat is a constant everywhere.
    let m = mat(Scalar::I32, 2, 8, Use::A);
    let module = Kernel::new([5, 1, 1]).body(|b| {
        let (six, out) = (b.i32(6), b.buffer(0));
        let x = b.value(Op::MatSplat, &[six], m.into());
        store(b, out, x, 32, false);
    });
    let mut buffers = [vec![0; 64]];
    dispatch(&module, &mut buffers, [1; 3]).unwrap();
    assert_eq!(to_words(&buffers[0]), [6; 16]);
}

fn group_mat(rows: u32, cols: u32, use_: Use) -> MatType {
    MatType { scope: Scope::Workgroup, ..mat(Scalar::I32, rows, cols, use_) }
}

#[test]
fn matrices_of_the_work_group() {
    // A(r, c) is the invocation (4 r + c) % 20; B is the identity, in place. Component 1 of 24 elements is 20 to 23.
    let module = Kernel::new([20, 1, 1]).body(|b| {
        let (lane, out) = (b.local(), b.buffer(0));
        let a = b.value(Op::MatSplat, &[lane], group_mat(6, 4, Use::A).into());
        let unit = load(b, out, 16, false, group_mat(4, 4, Use::B));
        let c = b.value(Op::MatSplat, &[lane], group_mat(6, 4, Use::Accumulator).into());
        let flags = MulAddFlags::default();
        let sum = b.value(Op::MatMulAdd(flags), &[a, unit, c], group_mat(6, 4, Use::Accumulator).into());
        let one = b.i32(1);
        let sum = b.value(Op::MatInsert, &[sum, one, lane], group_mat(6, 4, Use::Accumulator).into());
        store(b, out, sum, 24, true);
        let again = load(b, out, 24, true, group_mat(6, 4, Use::Accumulator));
        let second = b.value(Op::MatExtract, &[again, one], Type::I32);
        let index = b.i32(24);
        let index = b.binary(BinaryOp::Iadd, index, lane);
        b.put(index, second);
    });
    let mut buffers = [vec![0; 44 * 4]];
    for i in 0..4 {
        buffers[0][20 * i] = 1;
    }
    dispatch(&module, &mut buffers, [1; 3]).unwrap();
    let got = to_words(&buffers[0]);
    let element = |i: i32| if i < 20 { 2 * i } else { i - 20 };
    let want: Vec<_> = (0..24).map(|i| element(4 * (i % 6) + i / 6)).collect();
    assert_eq!(got[..24], want);
    let second: Vec<_> = (0..20).map(|lane| if lane < 4 { lane } else { 0 }).collect();
    assert_eq!(got[24..], second);
}

/// Components of two subgroups' matrix: three elements of each invocation, the last one not of all.
#[test]
fn each_invocation_comes_to_its_components_when_it_wants() {
    let ty = group_mat(5, 8, Use::Accumulator);
    let module = Kernel::new([16, 1, 1]).body(|b| {
        let (local, zero, one, out) = (b.local(), b.i32(0), b.i32(1), b.buffer(0));
        let var = b.func.new_var(ty.into(), 1, "m");
        let count = b.func.new_var(Type::I32, 1, "count");
        let m = b.value(Op::MatSplat, &[zero], ty.into());
        b.var_store(var, Some(zero), m);
        // Invocation l writes l + 1 to its components below l mod 4.
        b.var_store(count, None, zero);
        b.scoped(|b, out| {
            b.repeated(|b, again| {
                let i = b.var_load(count, None);
                let three = b.i32(3);
                let most = b.binary(BinaryOp::And, local, three);
                let is_done = b.compare(CompareOp::Sle, most, i);
                b.if_else(is_done, |b| b.br(out), |_| ());
                let x = b.binary(BinaryOp::Iadd, local, one);
                b.effect(Op::VarComponentStore(var), &[zero, i, x]);
                let next = b.binary(BinaryOp::Iadd, i, one);
                b.var_store(count, None, next);
                b.br(again);
            });
        });
        let m = b.var_load(var, Some(zero));
        let m = b.value(Op::MatScale, &[m, local], ty.into());
        store(b, out, m, 32, false);
        let component = b.value(Op::VarComponentLoad(var), &[zero, one], Type::I32);
        let behind = b.i32(40);
        let at = b.binary(BinaryOp::Iadd, behind, local);
        b.put(at, component);
    });
    let mut buffers = [vec![0; 56 * 4]];
    dispatch(&module, &mut buffers, [1; 3]).unwrap();
    let got = to_words(&buffers[0]);
    let written = |component: i32, l: i32| if component < l % 4 { l + 1 } else { 0 };
    let want: Vec<_> = (0..40).map(|i| i % 16 * written(i / 16, i % 16)).collect();
    assert_eq!(got[..40], want);
    let second: Vec<_> = (0..16).map(|l| written(1, l)).collect();
    assert_eq!(got[40..], second);
}

#[test]
fn subgroups_that_do_not_come_are_not_waited_for() {
    // The second subgroup returns before, against the rule; the first one goes on.
    let ty = group_mat(2, 4, Use::Accumulator);
    let module = Kernel::new([16, 1, 1]).body(|b| {
        let (local, eight, out) = (b.local(), b.i32(8), b.buffer(0));
        let is_first = b.compare(CompareOp::Slt, local, eight);
        b.if_else(
            is_first,
            |b| {
                let m = b.value(Op::MatSplat, &[local], ty.into());
                store(b, out, m, 16, false);
            },
            |_| (),
        );
    });
    let mut buffers = [vec![0; 32]];
    dispatch(&module, &mut buffers, [1; 3]).unwrap();
    assert_eq!(to_words(&buffers[0]), [0, 1, 2, 3, 4, 5, 6, 7]);
}

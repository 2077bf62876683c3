//! Scalar operations, variables, built-ins and printing.

use crate::kernel::{Ext, Kernel, dispatch, pack, to_words, words};
use phalanx_interp::{Error, Limits, Memory, run};
use phalanx_ir::{BinaryOp, Builtin, CompareOp, ConvertKind, ConvertOp, Op, Rounding, Scalar, Type, UnaryOp};

#[test]
fn operations_act_on_each_lane() {
    let module = Kernel::new([8, 1, 1]).bindings(2).body(|b| {
        let i = b.local();
        let place = b.at(1, i, 4);
        let x = b.load(place, Scalar::F32);
        let root = b.unary(UnaryOp::Sqrt, x);
        let two = b.constant(Scalar::F32, 2f32.to_bits().into());
        let big = b.compare(CompareOp::FordLt, two, root);
        let fused = b.value(Op::Fma, &[root, two, x], Type::F32);
        let chosen = b.select(big, fused, root);
        let int = b.convert(ConvertKind::FToS, chosen, Scalar::I32);
        let bits = b.value(Op::Bitcast, &[chosen], Type::I32);
        let diff = b.binary(BinaryOp::Isub, int, bits);
        b.put(i, diff);
    });
    let inputs = [0.0, 1.0, 2.0, 4.0, 9.0, 16.0, 25.0, -1.0f32];
    let mut buffers = [vec![0; 32], pack(Scalar::F32, inputs.map(|x| x.to_bits().into()))];
    dispatch(&module, &mut buffers, [1; 3]).unwrap();
    let want = inputs.map(|x| {
        let root = x.sqrt();
        let y = if root > 2.0 { root.mul_add(2.0, x) } else { root };
        let bits = if y.is_nan() { 0x7fc0_0000 } else { y.to_bits() as i32 };
        (y as i32).wrapping_sub(bits)
    });
    assert_eq!(to_words(&buffers[0]), want);
}

#[test]
fn narrow_conversions_keep_their_options() {
    let module = Kernel::new([1, 1, 1]).body(|b| {
        let x = b.constant(Scalar::F32, 1000f32.to_bits().into());
        for (i, (rounding, saturate)) in
            [(Rounding::NearestEven, false), (Rounding::NearestEven, true), (Rounding::TowardZero, false)]
                .into_iter()
                .enumerate()
        {
            let op = ConvertOp { kind: ConvertKind::FToF, rounding, saturate };
            let y = b.value(Op::Convert(op), &[x], Scalar::E4M3.into());
            let y = b.value(Op::Bitcast, &[y], Scalar::I8.into());
            let y = b.convert(ConvertKind::UToU, y, Scalar::I32);
            let i = b.i32(i as i32);
            b.put(i, y);
        }
    });
    assert_eq!(words(&module, 3), [0x7f, 0x7e, 0x7e]);
}

#[test]
fn arrays_are_indexed_by_lane_and_bounded() {
    let module = Kernel::new([8, 1, 1]).body(|b| {
        let i = b.local();
        let array = b.func.new_var(Type::I32, 4, "array");
        let two = b.i32(2);
        let index = b.binary(BinaryOp::Isub, i, two);
        let value = b.binary(BinaryOp::Imul, i, i);
        b.var_store(array, Some(index), value);
        let mut sum = b.i32(0);
        for k in -1..5 {
            let k = b.i32(k);
            let x = b.var_load(array, Some(k));
            sum = b.binary(BinaryOp::Iadd, sum, x);
        }
        let own = b.var_load(array, Some(index));
        let hundred = b.i32(100);
        let own = b.binary(BinaryOp::Imul, own, hundred);
        let result = b.binary(BinaryOp::Iadd, own, sum);
        b.put(i, result);
    });
    assert_eq!(words(&module, 8), [0, 0, 404, 909, 1616, 2525, 0, 0]);
}

#[test]
fn tables_are_read() {
    let module = Kernel::new([8, 1, 1]).body(|b| {
        let i = b.local();
        let table = b.func.new_var(Type::I32, 5, "table");
        b.func.vars[table.index()].table = Some(vec![3, 1, 4, 1, 5]);
        let x = b.var_load(table, Some(i));
        b.put(i, x);
    });
    assert_eq!(words(&module, 8), [3, 1, 4, 1, 5, 0, 0, 0]);
}

#[test]
fn pointers_live_in_variables() {
    let module = Kernel::new([8, 1, 1]).bindings(2).body(|b| {
        let i = b.local();
        let array = b.func.new_var(Type::Ptr(phalanx_ir::Space::Buffer), 2, "pointers");
        let [zero, one] = [0, 1].map(|x| b.i32(x));
        let [p, q] = [0, 1].map(|binding| b.buffer(binding));
        b.var_store(array, Some(zero), p);
        b.var_store(array, Some(one), q);
        let odd = b.binary(BinaryOp::And, i, one);
        let p = b.var_load(array, Some(odd));
        let p = b.ptr_add(p, Some(i), 4, 0);
        b.store(p, i);
    });
    let mut buffers = [vec![0; 32], vec![0; 32]];
    dispatch(&module, &mut buffers, [1; 3]).unwrap();
    assert_eq!(to_words(&buffers[0]), [0, 0, 2, 0, 4, 0, 6, 0]);
    assert_eq!(to_words(&buffers[1]), [0, 1, 0, 3, 0, 5, 0, 7]);
}

#[test]
fn builtins_number_the_invocations() {
    let axes = [0, 1, 2];
    let mut builtins: Vec<Builtin> = Vec::new();
    builtins.extend(axes.map(Builtin::NumWorkgroups));
    builtins.extend(axes.map(Builtin::WorkgroupId));
    builtins.extend(axes.map(Builtin::LocalInvocationId));
    builtins.extend(axes.map(Builtin::GlobalInvocationId));
    builtins.extend([Builtin::LocalInvocationIndex, Builtin::SubgroupId, Builtin::SubgroupLane]);
    // Invocation (2, 1, 1) of a 3×2×2 work-group writes: local index 11, lane 3 of subgroup 1.
    let module = Kernel::new([3, 2, 2]).body(|b| {
        let (i, eleven) = (b.local(), b.i32(11));
        let last = b.compare(CompareOp::Ieq, i, eleven);
        b.if_else(
            last,
            |b| {
                for (k, &builtin) in builtins.iter().enumerate() {
                    let (k, x) = (b.i32(k as i32), b.builtin(builtin));
                    b.put(k, x);
                }
            },
            |_| {},
        );
    });
    let mut bytes = vec![0; 60];
    let mut memory = Memory::new();
    let buffer = memory.add_buffer(&mut bytes, 0);
    memory.bind_buffer(phalanx_ir::Binding::new(0), buffer);
    run(&module, &mut memory, [2, 1, 3], [10, 20, 30], &Limits::default()).unwrap();
    let want = [2, 1, 3, 11, 20, 32, 2, 1, 1, 35, 41, 65, 11, 1, 3];
    assert_eq!(to_words(&bytes), want);
}

#[test]
fn printf_prints_a_line_for_each_active_lane() {
    let mut kernel = Kernel::new([8, 1, 1]);
    kernel.module.formats = vec!["lane %d of %u: %5.2f".into()];
    let module = kernel.body(|b| {
        let (i, two) = (b.local(), b.i32(2));
        let few = b.compare(CompareOp::Slt, i, two);
        let x = b.convert(ConvertKind::SToF, i, Scalar::F32);
        let eight = b.i32(8);
        b.if_else(few, |b| b.effect(Op::Printf(0), &[i, eight, x]), |_| {});
    });
    let report = dispatch(&module, &mut [vec![]], [2, 1, 1]).unwrap();
    assert_eq!(report.output, ["lane 0 of 8:  0.00", "lane 1 of 8:  1.00"].repeat(2));
    let limits = Limits { max_lines: 3, ..Limits::default() };
    let report = run(&module, &mut Memory::new(), [2, 1, 1], [0; 3], &limits).unwrap();
    assert_eq!((report.output.len(), report.dropped_lines), (3, 1));
}

#[test]
fn the_clock_rises() {
    let module = Kernel::new([1, 1, 1]).body(|b| {
        let [x, y] = [0; 2].map(|_| b.value(Op::Clock, &[], Type::I64));
        let rises = b.compare(CompareOp::Ult, x, y);
        let zero = b.i32(0);
        b.put(zero, rises);
    });
    assert_eq!(words(&module, 1), [1]);
}

#[test]
fn too_much_private_memory_is_refused() {
    let module = Kernel::new([64, 1, 1]).body(|b| {
        b.func.new_var(Type::I64, 1 << 24, "huge");
    });
    let error = dispatch(&module, &mut [vec![]], [1; 3]).unwrap_err();
    assert!(matches!(error, Error::MemoryLimit { .. }), "{error}");
}

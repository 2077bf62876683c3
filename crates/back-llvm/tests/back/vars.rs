//! Variables: every type, index and mask.

use crate::kernel::{Case, Ext, Kernel, Random, SIZES};
use phalanx_ir::{BinaryOp as B, Builder, Builtin, CompareOp, Scalar, Type, Value, VarInfo};

/// Writes and reads an array at indices that are known, uniform, and different in each lane, with
/// and without a mask, in range and out of it.
fn array(w: u32, count: u32, varying_store: bool, masked: bool) {
    let module = Kernel::new(w, [w, 1, 1]).body(|b| {
        let var = b.func.new_var(Type::I32, count, "a");
        let (i, group) = (b.local(), b.builtin(Builtin::WorkgroupId(0)));
        for k in 0..count {
            let index = b.i32(k as i32);
            let x = b.plus(i, 100 * k as i32);
            b.var_store(var, Some(index), x);
        }
        let five = b.i32(5);
        let spread = b.binary(B::Imul, i, five);
        let limit = b.i32(count as i32 + 2);
        let spread = b.binary(B::Umod, spread, limit);
        let body = |b: &mut Builder<'_>| {
            let x = b.plus(i, 7000);
            let index = if varying_store { spread } else { group };
            b.var_store(var, Some(index), x);
            let outside = b.i32(count as i32);
            b.var_store(var, Some(outside), x);
        };
        if masked {
            let (three, one) = (b.i32(3), b.i32(1));
            let rest = b.binary(B::Umod, i, three);
            let c = b.compare(CompareOp::Ieq, rest, one);
            b.if_else(c, body, |_| {});
        } else {
            body(b);
        }
        let known = b.i32(1);
        let beyond = b.i32(-1);
        let at = b.builtin(Builtin::GlobalInvocationId(0));
        for (k, index) in [spread, group, known, beyond].into_iter().enumerate() {
            let x = b.var_load(var, Some(index));
            let to = b.plus(at, (4 * k * w as usize) as i32);
            b.put(0, to, x);
        }
    });
    let buffers = vec![vec![0xee; (16 * 4 * w) as usize]];
    Case { groups: [4, 1, 1], ..Case::new(&module, buffers) }.check();
}

#[test]
fn arrays() {
    for w in SIZES {
        for count in [2, 3, 20] {
            array(w, count, true, true);
        }
    }
    array(8, 3, false, true);
    array(8, 20, false, false);
    array(8, 20, true, false);
    array(64, 200, true, true);
}

#[test]
fn types() {
    for ty in [Scalar::Bool, Scalar::I8, Scalar::BF16, Scalar::F16, Scalar::F64] {
        for count in [1, 3, 30] {
            let module = Kernel::new(8, [8, 1, 1]).body(|b| {
                let var = b.func.new_var(ty.into(), count, "v");
                let (i, three) = (b.local(), b.i32(3));
                let rest = b.binary(B::Umod, i, three);
                let one = b.i32(1);
                let c = b.compare(CompareOp::Ieq, rest, one);
                let x = match ty {
                    Scalar::Bool => c,
                    _ => {
                        let x = b.convert(phalanx_ir::ConvertKind::SToF, i, Scalar::F32);
                        match ty {
                            Scalar::I8 => b.convert(phalanx_ir::ConvertKind::UToU, i, ty),
                            _ => b.convert(phalanx_ir::ConvertKind::FToF, x, ty),
                        }
                    }
                };
                for k in 0..count {
                    let k = b.i32(k as i32);
                    b.var_store(var, Some(k), x);
                }
                b.if_else(c, |b| b.var_store(var, Some(rest), x), |_| {});
                let y = b.var_load(var, Some(rest));
                b.put(0, i, y);
                let z = b.var_load(var, None);
                let j = b.plus(i, 8);
                b.put(0, j, z);
            });
            Case::new(&module, vec![vec![0xee; 128]]).check();
        }
    }
}

#[test]
fn tables() {
    for ty in [Scalar::Bool, Scalar::I8, Scalar::I16, Scalar::F32, Scalar::I64] {
        let module = Kernel::new(16, [16, 1, 1]).body(|b| {
            let mut random = Random(3);
            let table = (0..11).map(|_| random.next() & ty.mask()).collect();
            b.func.vars.push(VarInfo { ty: ty.into(), count: 11, name: String::new(), table: Some(table) });
            let var = phalanx_ir::Var::new(0);
            let i = b.local();
            let x = b.var_load(var, Some(i));
            b.put(0, i, x);
            let group = b.builtin(Builtin::WorkgroupId(0));
            let y = b.var_load(var, Some(group));
            let z = b.var_load(var, None);
            let (j, k) = (b.plus(i, 16), b.plus(i, 32));
            b.put(0, j, y);
            b.put(0, k, z);
        });
        Case { groups: [2, 1, 1], ..Case::new(&module, vec![vec![0; 384]]) }.check();
    }
}

/// What was not written is unspecified, but using it as an index must be harmless.
#[test]
fn unwritten_variables_are_harmless() {
    let module = Kernel::new(8, [8, 1, 1]).body(|b| {
        let index = b.func.new_var(Type::I32, 1, "index");
        let big = b.func.new_var(Type::I32, 100, "big");
        let i = b.var_load(index, None);
        let x = b.local();
        b.var_store(big, Some(i), x);
        let y = b.var_load(big, Some(i));
        b.put(0, y, x);
        let zero: Value = b.i32(0);
        b.put(0, zero, zero);
    });
    let case = Case::new(&module, vec![vec![0; 64]]);
    for target in crate::kernel::targets() {
        case.compiled(target);
    }
}

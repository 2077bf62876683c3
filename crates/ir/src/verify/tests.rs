//! One broken module for each kind of rule.

use super::{VerifyErrors, verify};
use crate::{
    BinaryOp, BindingInfo, BindingKind, Block, Builder, Inst, Label, MatType, MemFlags, Module, MulAddFlags,
    Op, Scalar, Scope, Space, Type, Use, Value, Var,
};

fn module() -> Module {
    let mut m = Module { workgroup_size: [32, 1, 1], subgroup_size: 32, ..Module::default() };
    m.bindings.push(BindingInfo {
        set: 0,
        binding: 0,
        count: Some(1),
        kind: BindingKind::Storage,
        writable: false,
        name: "in".into(),
    });
    m
}

fn build(fill: impl FnOnce(&mut Builder<'_>)) -> Result<(), VerifyErrors> {
    let mut m = module();
    fill(&mut Builder::new(&mut m.body));
    verify(m).map(|_| ())
}

fn fails(with: &str, fill: impl FnOnce(&mut Builder<'_>)) {
    let message = build(fill).unwrap_err().to_string();
    assert!(message.contains(with), "expected {with:?} in {message:?}");
}

fn mat(elem: Scalar, rows: u32, cols: u32, use_: Use) -> Type {
    MatType { elem, scope: Scope::Subgroup, rows, cols, use_ }.into()
}

#[test]
fn accepts_a_valid_module() {
    build(|b| {
        let x = b.i32(1);
        let t = b.bool(true);
        b.scoped(|b, out| {
            b.if_else(
                t,
                |b| b.br(out),
                |b| {
                    b.binary(BinaryOp::Iadd, x, x);
                },
            );
        });
    })
    .unwrap();
}

#[test]
fn head() {
    let mut m = module();
    m.workgroup_size = [0, 1, 1];
    m.subgroup_size = 24;
    m.bindings[0].count = Some(0);
    let errors = verify(m).unwrap_err();
    assert_eq!(errors.errors().len(), 4, "{errors}"); // the entry block is missing as well
}

#[test]
fn operand_types() {
    fails("operand 1 has type f32, expected i32", |b| {
        let x = b.i32(1);
        let y = b.constant(Scalar::F32, 0);
        b.binary(BinaryOp::Iadd, x, y);
    });
    fails("operand 0 has type bool, expected an integer, or a matrix", |b| {
        let x = b.bool(true);
        b.binary(BinaryOp::Iadd, x, x);
    });
    fails("0 operands, expected 2", |b| {
        b.value(Op::Binary(BinaryOp::Iadd), &[], Type::I32);
    });
    fails("bits 0x100 do not fit i8", |b| {
        b.value(Op::Const(256), &[], Scalar::I8.into());
    });
    fails("1 results, expected 0", |b| {
        b.value(Op::Return, &[], Type::I32);
    });
}

#[test]
fn visibility() {
    fails("operand 0 is %1, which is not defined here", |b| {
        let t = b.bool(true);
        let mut inner = None;
        b.if_else(t, |b| inner = Some(b.i32(1)), |_| {});
        let x = inner.unwrap();
        b.binary(BinaryOp::Iadd, x, x);
    });
    fails("which is not defined here", |b| {
        b.value(Op::Bitcast, &[Value::new(0)], Type::I32);
    });
    fails("which is not defined here", |b| {
        b.value(Op::Bitcast, &[Value::new(99)], Type::I32);
    });
}

#[test]
fn structure() {
    fails("@0 is not the label of an enclosing construct", |b| {
        b.scoped(|_, _| {});
        b.br(Label::new(0));
    });
    fails("instructions follow it", |b| {
        b.effect(Op::Return, &[]);
        b.effect(Op::Return, &[]);
    });
    fails("b0 is the body of more than one", |b| {
        let label = b.func.new_label();
        b.effect(Op::Block { label, body: Block::new(0) }, &[]);
    });
    fails("more than one place", |b| {
        let i = b.push(Op::Clock, &[], &[Type::I64]);
        b.func.blocks[0].push(i);
    });
    fails("@0 belongs to more than one", |b| {
        b.scoped(|b, label| {
            let body = b.func.new_block();
            b.effect(Op::Loop { label, body }, &[]);
        });
    });
}

#[test]
fn indices_out_of_range() {
    fails("instruction 77 does not exist", |b| b.func.blocks[0].push(Inst::new(77)));
    fails("block 9 does not exist", |b| {
        let t = b.bool(true);
        let then = b.func.new_block();
        b.effect(Op::If { then, otherwise: Block::new(9) }, &[t]);
    });
    fails("variable 3 does not exist", |b| {
        b.value(Op::VarLoad(Var::new(3)), &[], Type::I32);
    });
    fails("label 5 does not exist", |b| {
        let body = b.func.new_block();
        b.effect(Op::Block { label: Label::new(5), body }, &[]);
    });
    fails("format 0 does not exist", |b| b.effect(Op::Printf(0), &[]));
    fails("not recorded as defined here", |b| {
        let i = b.push(Op::Clock, &[], &[]);
        b.func.insts[i.index()].results.push(Value::new(1000));
    });
    fails("source position 4 does not exist", |b| {
        b.loc = 4;
        b.i32(0);
    });
}

#[test]
fn memory() {
    let binding = crate::Binding::new(0);
    fails("read-only", |b| {
        let zero = b.i32(0);
        let p = b.value(Op::BufferPtr(binding), &[zero], Type::Ptr(Space::Buffer));
        let p = b.ptr_add(p, Some(zero), 4, 0);
        b.effect(Op::Store(MemFlags::default()), &[p, zero]);
    });
    fails("expected a scalar other than bool", |b| {
        let p = b.value(Op::PushPtr, &[], Type::Ptr(Space::Push));
        b.value(Op::Load(MemFlags::default()), &[p], Type::BOOL);
    });
    fails("exceed the shared memory of 0", |b| {
        let op = Op::SharedPtr { offset: u32::MAX, bytes: u32::MAX };
        b.value(op, &[], Type::Ptr(Space::Shared));
    });
    fails("$0 is read-only", |b| {
        let var = b.func.new_var(Type::I32, 1, "t");
        b.func.vars[0].table = Some(vec![7]);
        let x = b.i32(0);
        b.var_store(var, None, x);
    });
}

#[test]
fn matrices() {
    let acc = mat(Scalar::F32, 16, 8, Use::Accumulator);
    let make = |b: &mut Builder<'_>, ty: Type| {
        let x = b.constant(ty.elem().unwrap(), 0);
        b.value(Op::MatSplat, &[x], ty)
    };
    build(|b| {
        let x = make(b, mat(Scalar::F16, 16, 4, Use::A));
        let y = make(b, mat(Scalar::F16, 4, 8, Use::B));
        let z = make(b, acc);
        b.value(Op::MatMulAdd(MulAddFlags::default()), &[x, y, z], acc);
    })
    .unwrap();
    fails("operand 1 has type mat<5x8xf16, subgroup, b>, expected mat<4x8xf16, subgroup, b>", |b| {
        let x = make(b, mat(Scalar::F16, 16, 4, Use::A));
        let y = make(b, mat(Scalar::F16, 5, 8, Use::B));
        let z = make(b, acc);
        b.value(Op::MatMulAdd(MulAddFlags::default()), &[x, y, z], acc);
    });
    fails("operand 1 has type mat<4x8xi8", |b| {
        let x = make(b, mat(Scalar::F16, 16, 4, Use::A));
        let y = make(b, mat(Scalar::I8, 4, 8, Use::B));
        let z = make(b, acc);
        b.value(Op::MatMulAdd(MulAddFlags::default()), &[x, y, z], acc);
    });
    for (elem, depth, step, relaxed) in [
        (Scalar::F16, 16, 6, false),
        (Scalar::F16, 20, 8, false),
        (Scalar::F16, 1028, 4, false),
        (Scalar::F16, 16, 8, true),
        (Scalar::I32, 16, 8, false),
    ] {
        let run = |b: &mut Builder<'_>| {
            let factor = if elem == Scalar::I32 { Scalar::I8 } else { elem };
            let x = make(b, mat(factor, 16, depth, Use::A));
            let y = make(b, mat(factor, depth, 8, Use::B));
            let z = make(b, acc.mat().unwrap().with_elem(elem).into());
            let flags = MulAddFlags { step, relaxed, ..MulAddFlags::default() };
            b.value(Op::MatMulAdd(flags), &[x, y, z], b.func.ty(z));
        };
        fails("expected a multiple of 4 that divides the columns of A", run);
    }
    fails("not a valid matrix type", |b| {
        make(b, mat(Scalar::I8, 0, 8, Use::B));
    });
    fails("not a valid matrix type", |b| {
        make(b, mat(Scalar::I8, u32::MAX, u32::MAX, Use::B));
    });
}

#[test]
fn deep_nesting_is_an_error_and_not_a_crash() {
    let mut m = module();
    let mut block = Builder::new(&mut m.body).block;
    for _ in 0..100_000 {
        let (label, body) = (m.body.new_label(), m.body.new_block());
        Builder { block, ..Builder::new(&mut m.body) }.effect(Op::Block { label, body }, &[]);
        block = body;
    }
    assert!(verify(m).unwrap_err().to_string().contains("512 deep"));
}

/// A region with these parameters and result.
fn region(b: &mut Builder<'_>, params: &[Type], fill: impl FnOnce(&mut Builder<'_>, &[Value])) -> Block {
    let body = b.func.new_block();
    b.within(body, |b| {
        let params = b.values(Op::Params, &[], params);
        fill(b, &params);
    });
    body
}

fn give(b: &mut Builder<'_>, params: &[Value]) {
    b.effect(Op::Yield, &params[params.len() - 1..]);
}

const MAP: [Type; 3] = [Type::I32, Type::I32, Type::F32];

/// Maps a matrix of `f32` by a region.
fn map(b: &mut Builder<'_>, body: Block) {
    let ty = mat(Scalar::F32, 4, 4, Use::A);
    let x = b.constant(Scalar::F32, 0);
    let m = b.value(Op::MatSplat, &[x], ty);
    b.value(Op::MatMap { body }, &[m], ty);
}

#[test]
fn regions() {
    build(|b| {
        let body = region(b, &MAP, give);
        map(b, body);
    })
    .unwrap();
    fails("does not begin with params of type i32, i32, f32", |b| {
        let body = region(b, &[Type::I32, Type::F32], give);
        map(b, body);
    });
    fails("does not end with a yield of f32", |b| {
        let body = region(b, &MAP, |b, params| give(b, &params[..1]));
        map(b, body);
    });
    fails("does not end with a yield", |b| {
        let body = region(b, &MAP, |_, _| {});
        map(b, body);
    });
    fails("stands in a region", |b| {
        let body = region(b, &MAP, |b, params| {
            b.value(Op::Subgroup(crate::SubgroupOp::Elect), &[], Type::BOOL);
            give(b, params);
        });
        map(b, body);
    });
    fails("stands in a region", |b| {
        let body = region(b, &MAP, |b, params| {
            b.value(Op::MatSplat, &params[2..], mat(Scalar::F32, 4, 4, Use::A));
            give(b, params);
        });
        map(b, body);
    });
    fails("not the label of an enclosing construct", |b| {
        b.scoped(|b, out| {
            let body = region(b, &MAP, |b, params| {
                let t = b.bool(true);
                b.if_else(t, |b| b.br(out), |_| {});
                give(b, params);
            });
            map(b, body);
        });
    });
    fails("not in a region, first or last", |b| b.effect(Op::Yield, &[]));
    fails("not in a region, first or last", |b| {
        let body = region(b, &MAP, |b, params| {
            let t = b.bool(true);
            b.if_else(t, |b| give(b, params), |_| {});
            give(b, params);
        });
        map(b, body);
    });
}

#[test]
fn whole_matrices() {
    let f32s = |rows, cols| mat(Scalar::F32, rows, cols, Use::Accumulator);
    let make = |b: &mut Builder<'_>, ty: Type| {
        let x = b.constant(Scalar::F32, 0);
        b.value(Op::MatSplat, &[x], ty)
    };
    fails("result 0 has type mat<4x8xf32, subgroup, acc>, expected mat<8x4xf32, subgroup, acc>", |b| {
        let m = make(b, f32s(4, 8));
        b.value(Op::MatTranspose, &[m], f32s(4, 8));
    });
    fails("expected mat<4x3xf32, subgroup, acc>", |b| {
        let m = make(b, f32s(4, 8));
        let body = region(b, &[Type::F32; 2], give);
        b.value(Op::MatReduce { kind: crate::MatReduceKind::Row, body }, &[m], f32s(5, 3));
    });
    fails("has no squares", |b| {
        let m = make(b, f32s(4, 7));
        let body = region(b, &[Type::F32; 2], give);
        b.value(Op::MatReduce { kind: crate::MatReduceKind::Square, body }, &[m], f32s(2, 3));
    });
    let map = |b: &mut Builder<'_>, shape: Type| {
        let (m, n) = (make(b, f32s(4, 8)), make(b, shape));
        let body = region(b, &[Type::I32, Type::I32, Type::F32, Type::F32], give);
        b.value(Op::MatMap { body }, &[m, n], f32s(4, 8));
    };
    // Operands may be narrower.
    build(|b| map(b, f32s(4, 2))).unwrap();
    fails("operand 1 has type mat<4x16xf32, subgroup, acc>, expected mat<4x8xf32, subgroup, acc>", |b| {
        map(b, f32s(4, 16));
    });
    fails("operand 1 has type mat<2x8xf32, subgroup, acc>, expected mat<4x8xf32, subgroup, acc>", |b| {
        map(b, f32s(2, 8));
    });
}

#[test]
fn tensors() {
    let view =
        |dims, permutation| crate::TensorView { dims, has_dimensions: false, clips: true, permutation };
    let load = |dims: u8, view, unit, words: usize| {
        move |b: &mut Builder<'_>| {
            let p = b.value(Op::PushPtr, &[], Type::Ptr(Space::Push));
            let zero = b.i32(0);
            let flags = MemFlags::default();
            let access = crate::TensorAccess { dims, clamp: crate::Clamp::Constant, unit, view, flags };
            let mut args = vec![p];
            args.extend(std::iter::repeat_n(zero, words));
            let op = Op::MatLoadTensor { access, decode: None };
            b.value(op, &args, mat(Scalar::F32, 4, 4, Use::A));
        }
    };
    build(load(2, None, 4, 11)).unwrap();
    fails("11 operands, expected 12", load(2, None, 4, 10));
    fails("0 dimensions", load(0, None, 4, 1));
    fails("6 dimensions", load(6, None, 4, 31));
    fails("unit of a tensor is 0", load(1, None, 0, 6));
    fails("is not a permutation", load(2, Some(view(2, [1, 1, 0, 0, 0])), 4, 15));
    fails("3 dimensions", load(2, Some(view(3, [0, 1, 2, 0, 0])), 4, 15));
}

#[test]
fn vectors() {
    use crate::{Component, MatrixLayout, VecMatMul, VecOuterAdd};
    let op = |f: fn(&mut VecMatMul)| {
        move |b: &mut Builder<'_>| {
            let wide = b.constant(Scalar::I64, 0);
            let p = b.value(Op::IntToPtr, &[wide], Type::Ptr(Space::Global));
            let input = b.func.new_var(Scalar::F16.into(), 4, "");
            let result = b.func.new_var(Scalar::F16.into(), 8, "");
            b.func.new_var(Type::I32, 4, "");
            let mut op = VecMatMul {
                result,
                input,
                m: 8,
                k: 4,
                interpretation: Component::E4m3,
                packed: false,
                input_signed: false,
                matrix: Component::F16,
                layout: MatrixLayout::Training,
                transposed: true,
                bias: Some(Component::F32),
            };
            f(&mut op);
            let args = [p, wide, p];
            b.effect(Op::VecMatMul(op), &args[..2 + usize::from(op.bias.is_some())]);
        }
    };
    build(op(|_| {})).unwrap();
    build(op(|op| op.bias = None)).unwrap();
    fails("has 8 elements, expected 7", op(|op| op.m = 7));
    fails("has 4 elements, expected 3", op(|op| op.k = 3));
    fails("do not go together", op(|op| op.matrix = Component::U8));
    fails("do not go together", op(|op| op.packed = true));
    fails("has elements of type i32, expected f16 or f32", op(|op| op.result = Var::new(2)));
    fails("variable 9 does not exist", op(|op| op.input = Var::new(9)));
    let int = |b: &mut Builder<'_>, components: u32| {
        let wide = b.constant(Scalar::I64, 0);
        let p = b.value(Op::IntToPtr, &[wide], Type::Ptr(Space::Global));
        let input = b.func.new_var(Type::I32, components, "");
        let result = b.func.new_var(Type::I32, 1, "");
        let (interpretation, matrix) = (Component::U8, Component::S8);
        let (layout, bias) = (MatrixLayout::RowMajor, Some(Component::S32));
        let op = VecMatMul {
            result,
            input,
            m: 1,
            k: 5,
            interpretation,
            packed: true,
            input_signed: false,
            matrix,
            layout,
            transposed: false,
            bias,
        };
        b.effect(Op::VecMatMul(op), &[p, wide, p]);
    };
    build(|b| int(b, 2)).unwrap();
    build(|b| int(b, 3)).unwrap();
    fails("has 1 elements, expected 2", |b| int(b, 1));
    let outer = |matrix, layout| {
        move |b: &mut Builder<'_>| {
            let wide = b.constant(Scalar::I64, 0);
            let p = b.value(Op::IntToPtr, &[wide], Type::Ptr(Space::Global));
            let a = b.func.new_var(Scalar::F16.into(), 4, "");
            b.effect(Op::VecReduceAdd(a), &[p]);
            b.effect(Op::VecOuterAdd(VecOuterAdd { a, b: a, matrix, layout }), &[p, wide]);
        }
    };
    build(outer(Component::F32, MatrixLayout::Training)).unwrap();
    fails("do not go together", outer(Component::E4m3, MatrixLayout::Training));
    fails(
        "layout inferencing, expected a layout that can be added to",
        outer(Component::F16, MatrixLayout::Inferencing),
    );
}

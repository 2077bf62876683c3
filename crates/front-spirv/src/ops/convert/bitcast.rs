//! *OpBitcast*.
//!
//! Between scalars and vectors of different component widths, the component with the lower index is
//! the less significant one (SPIR-V 3.52.11). Pointers with physical addresses are 64-bit integers
//! for this purpose.

use crate::cx::{Cx, Values};
use crate::diag::{Res, operand};
use crate::ops::componentwise::{self as cw, Class};
use crate::reader::Inst;
use crate::types::{Kind, Ty, space};
use crate::value::{MemPtr, Pointer, Spread, Val};
use phalanx_ir::{self as ir, BinaryOp as B, ConvertKind, Scalar, Space, Value};

/// Translates *OpBitcast*.
pub(super) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let id = inst.arg(0)?;
    let (from, to) = (cx.ty_of(id)?, cx.result_ty(inst)?);
    match (is_pointer(cx, from), is_pointer(cx, to)) {
        (true, true) => return pointer_to_pointer(cx, inst, to),
        (true, false) => {
            let (pointer, _) = cx.memory(id)?;
            let pointer = physical(cx, pointer)?;
            let address = cx.b().value(ir::Op::PtrToInt, &[pointer], ir::Type::I64);
            return numbers(cx, inst, &[address]);
        }
        (false, true) => {
            let x = cw::components(cx, id, Class::Int)?;
            let address = regroup(cx, &x, Scalar::I64)?;
            let [address] = address[..] else {
                return Err(operand("a pointer has 64 bits, but the operand has not"));
            };
            let pointer = cx.b().value(ir::Op::IntToPtr, &[address], ir::Type::Ptr(Space::Global));
            return cx.define_values(inst, &[pointer]);
        }
        (false, false) => {}
    }
    let x = cw::elements(cx, id, Class::Number)?;
    match cx.func.ty(x[0]).mat() {
        Some(mat) => matrix(cx, inst, x[0], mat),
        None => numbers(cx, inst, &x),
    }
}

fn is_pointer(cx: &Cx<'_>, ty: Ty) -> bool {
    matches!(cx.types().kind(ty), Kind::Pointer { .. })
}

/// Checks that a pointer has an address.
fn physical(cx: &Cx<'_>, pointer: Value) -> Res<Value> {
    match cx.func.ty(pointer) {
        ir::Type::Ptr(Space::Global | Space::Buffer) => Ok(pointer),
        other => Err(operand(format!("the operand is {other}, expected a pointer to physical storage"))),
    }
}

/// Another pointee; the storage class stays.
fn pointer_to_pointer(cx: &mut Cx<'_>, inst: &Inst<'_>, to: Ty) -> Res<()> {
    let (class, pointee) = cx.types().pointer(to)?;
    let pointer = cx.pointer(inst.arg(0)?)?;
    let Pointer::Memory(p) = &*pointer else {
        return Err(operand("the operand points to a variable of the invocation, expected memory"));
    };
    if space(class) != Some(p.space) {
        let found = p.space.name();
        return Err(operand(format!("the result type points to {class:?}, but the operand to {found}")));
    }
    let p = MemPtr { ty: pointee, spread: Spread::default(), ..p.clone() };
    cx.define(inst, Val::ptr(Pointer::Memory(p)))
}

/// Another component type of the same width.
fn matrix(cx: &mut Cx<'_>, inst: &Inst<'_>, x: Value, from: ir::MatType) -> Res<()> {
    let to = cw::result_scalar(cx, inst, Class::Number)?;
    if to.bits() != from.elem.bits() {
        let (found, wanted) = (to.bits(), from.elem.bits());
        return Err(operand(format!("the result's components have {found} bits, expected {wanted}")));
    }
    let out = cx.b().value(ir::Op::Bitcast, &[x], from.with_elem(to).into());
    cx.define_values(inst, &[out])
}

fn numbers(cx: &mut Cx<'_>, inst: &Inst<'_>, x: &[Value]) -> Res<()> {
    let to = cw::result_scalar(cx, inst, Class::Number)?;
    let out = regroup(cx, x, to)?;
    cx.define_values(inst, &out)
}

/// The same bits as numbers of type `to`.
pub(in crate::ops) fn regroup(cx: &mut Cx<'_>, x: &[Value], to: Scalar) -> Res<Values> {
    let from = cw::scalar_ty(cx, x[0])?;
    if from.bits() == to.bits() {
        return Ok(cw::map(x, |x| recast(cx, x, to)));
    }
    let (Some(narrow), Some(wide)) = (int_of(from), int_of(to)) else {
        return Err(operand(format!("expected numbers, found {from} and {to}")));
    };
    let x = cw::map(x, |x| recast(cx, x, narrow));
    let parts = if from.bits() > to.bits() {
        x.iter().flat_map(|&x| split(cx, x, wide, from.bits() / to.bits())).collect()
    } else {
        let n = (to.bits() / from.bits()) as usize;
        if !x.len().is_multiple_of(n) {
            let m = format!("{} components of {from} have no whole number of {to}", x.len());
            return Err(operand(m));
        }
        x.chunks(n).map(|x| join(cx, x, wide)).collect::<Values>()
    };
    Ok(cw::map(&parts, |x| recast(cx, x, to)))
}

fn int_of(ty: Scalar) -> Option<Scalar> {
    Scalar::int(ty.bits())
}

/// The same bits in another type of the same width.
fn recast(cx: &mut Cx<'_>, x: Value, to: Scalar) -> Value {
    if cx.func.ty(x) == ir::Type::Scalar(to) {
        return x;
    }
    cx.b().value(ir::Op::Bitcast, &[x], to.into())
}

/// The `n` parts of an integer, the least significant first.
fn split(cx: &mut Cx<'_>, x: Value, part: Scalar, n: u32) -> Values {
    (0..n)
        .map(|i| {
            let count = cx.i32((i * part.bits()) as i32);
            let shifted = if i == 0 { x } else { cx.b().binary(B::Lshr, x, count) };
            cx.b().convert(ConvertKind::UToU, shifted, part)
        })
        .collect()
}

/// The integer with these parts, the least significant first.
fn join(cx: &mut Cx<'_>, parts: &[Value], whole: Scalar) -> Value {
    let width = whole.bits() / parts.len() as u32;
    let mut acc = cw::resize(cx, parts[0], whole, false);
    for (i, &part) in parts.iter().enumerate().skip(1) {
        let count = cx.i32(i as i32 * width as i32);
        let part = cw::resize(cx, part, whole, false);
        let part = cx.b().binary(B::Shl, part, count);
        acc = cx.b().binary(B::Or, acc, part);
    }
    acc
}

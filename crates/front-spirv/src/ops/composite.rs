//! Composites: making them, taking parts out, putting parts in, choosing between them.
//!
//! Composites are trees of values (see [`crate::value`]), so most of this emits no IR. A cooperative
//! matrix is a composite, too: of components that an invocation holds.

use crate::cx::Cx;
use crate::diag::{Res, bug, operand};
use crate::reader::{Id, Inst};
use crate::types::{Kind, Ty};
use crate::value::Val;
use phalanx_ir::{self as ir, CompareOp, MatType, Op as IrOp, Scalar};
use spirv::Op;

/// Translates an instruction of this family.
pub(crate) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    match inst.op {
        Op::CompositeConstruct => construct(cx, inst),
        Op::CompositeConstructReplicateEXT => replicate(cx, inst),
        Op::CompositeExtract => extract(cx, inst),
        Op::CompositeInsert => insert(cx, inst),
        Op::VectorShuffle => shuffle(cx, inst),
        Op::VectorExtractDynamic => extract_dynamic(cx, inst),
        Op::VectorInsertDynamic => insert_dynamic(cx, inst),
        Op::Transpose => transpose(cx, inst),
        _ => Err(bug("no instruction of this family")),
    }
}

/// *OpUndef*: any value will do.
pub(crate) fn undef(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let ty = cx.result_ty(inst)?;
    let zero = cx.types().zero(ty);
    cx.define(inst, zero)
}

/// *OpCopyObject* and *OpCopyLogical*; the latter only changes decorations.
pub(crate) fn copy(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (found, val) = cx.val(inst.arg(0)?)?;
    let ty = cx.result_ty(inst)?;
    check(cx, found, ty)?;
    cx.define(inst, val)
}

fn check(cx: &Cx<'_>, found: Ty, wanted: Ty) -> Res<()> {
    if cx.types().same(found, wanted) {
        return Ok(());
    }
    let (found, wanted) = (cx.types().describe(found), cx.types().describe(wanted));
    Err(operand(format!("an operand is {found}, expected {wanted}")))
}

/// *OpSelect*: by one condition for whole objects, or by one for each component of a vector.
pub(crate) fn select(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let ty = cx.result_ty(inst)?;
    let conds = cx.values(inst.arg(0)?)?;
    let (a, x) = cx.val(inst.arg(1)?)?;
    let (b, y) = cx.val(inst.arg(2)?)?;
    check(cx, a, ty)?;
    check(cx, b, ty)?;
    let (x, y) = (cx.flatten(a, &x)?, cx.flatten(b, &y)?);
    if conds.iter().any(|c| cx.func.ty(*c) != ir::Type::BOOL) {
        return Err(operand("the condition is not bool"));
    }
    if conds.len() != 1 && conds.len() != x.len() {
        return Err(operand(format!("{} conditions for {} components", conds.len(), x.len())));
    }
    let pick = |(i, (x, y))| cx.b().select(conds[if conds.len() == 1 { 0 } else { i }], x, y);
    let values: crate::cx::Values = x.into_iter().zip(y).enumerate().map(pick).collect();
    cx.define_values(inst, &values)
}

/// *OpCompositeConstruct*: constituents in order; those of a vector may be vectors, and a
/// cooperative matrix takes one scalar for all its components.
fn construct(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let ty = cx.result_ty(inst)?;
    match *cx.types().kind(ty) {
        Kind::CoopMat { .. } => replicate(cx, inst),
        Kind::Vector { n, elem } => {
            let mut parts = Vec::with_capacity(n as usize);
            for &id in inst.args {
                let (found, val) = cx.val(id)?;
                match *cx.types().kind(found) {
                    Kind::Vector { n, .. } => {
                        for i in 0..n {
                            parts.push(cx.part(found, &val, i)?);
                        }
                    }
                    _ if cx.types().lanes(found) == Some(1) => parts.push(val),
                    _ => return Err(operand(format!("operand %{id} is no scalar or vector"))),
                }
                let same = cx.types().scalar(found) == cx.types().scalar(elem);
                if !same || cx.types().coop_mat(found).is_some() {
                    return Err(operand(format!("operand %{id} is {}", cx.types().describe(found))));
                }
            }
            if parts.len() != n as usize {
                return Err(operand(format!("expected {n} components, found {}", parts.len())));
            }
            cx.define(inst, Val::many(parts))
        }
        _ => {
            let n = cx.types().count(ty).ok_or_else(|| not_composite(cx, ty))?;
            if n as usize != inst.args.len() {
                return Err(operand(format!("expected {n} constituents, found {}", inst.args.len())));
            }
            let mut parts = Vec::with_capacity(n as usize);
            for (i, &id) in inst.args.iter().enumerate() {
                let (found, val) = cx.val(id)?;
                let wanted = cx.types().constituent(ty, i as u32).ok_or_else(|| not_composite(cx, ty))?;
                check(cx, found, wanted)?;
                parts.push(val);
            }
            cx.define(inst, Val::many(parts))
        }
    }
}

fn not_composite(cx: &Cx<'_>, ty: Ty) -> crate::diag::Fault {
    operand(format!("expected a composite, found {}", cx.types().describe(ty)))
}

/// All constituents are one value. The scalar that fills a cooperative matrix may differ between
/// invocations; each component takes that of the invocation that holds it.
fn replicate(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let ty = cx.result_ty(inst)?;
    let &[id] = inst.args else {
        return Err(operand(format!("expected 1 constituent, found {}", inst.args.len())));
    };
    if let Some(mat) = cx.types().coop_mat(ty) {
        if let Some(bits) = cx.const_bits(id) {
            let found = cx.ty_of(id)?;
            if cx.types().leaf(found) == Some(mat.elem.into()) {
                return cx.define(inst, Val::Const(mat.into(), bits));
            }
        }
        let scalar = cx.scalar(id, mat.elem)?;
        let v = cx.b().value(IrOp::MatSplat, &[scalar], mat.into());
        return cx.define_values(inst, &[v]);
    }
    let (found, val) = cx.val(id)?;
    let n = cx.types().count(ty).ok_or_else(|| not_composite(cx, ty))?;
    if n > crate::types::MAX_VALUE_LEAVES {
        return Err(crate::types::too_large(n));
    }
    cx.spend(n);
    for i in 0..n {
        let wanted = cx.types().constituent(ty, i).ok_or_else(|| not_composite(cx, ty))?;
        check(cx, found, wanted)?;
    }
    cx.define(inst, Val::many((0..n).map(|_| val.clone())))
}

fn extract(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (mut ty, mut val) = cx.val(inst.arg(0)?)?;
    let mut indices = inst.rest(1).iter();
    for &i in indices.by_ref() {
        if let Some(mat) = cx.types().coop_mat(ty) {
            let m = cx.leaf_value(mat.into(), &val)?;
            let component = cx.i32(i as i32);
            let v = cx.b().value(IrOp::MatExtract, &[m, component], mat.elem.into());
            if indices.next().is_some() {
                return Err(operand("too many indices"));
            }
            return cx.define_values(inst, &[v]);
        }
        val = cx.part(ty, &val, i)?;
        ty = cx.types().constituent(ty, i).ok_or_else(|| not_composite(cx, ty))?;
    }
    let wanted = cx.result_ty(inst)?;
    check(cx, ty, wanted)?;
    cx.define(inst, val)
}

fn insert(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (object, part) = cx.val(inst.arg(0)?)?;
    let (ty, val) = cx.val(inst.arg(1)?)?;
    let wanted = cx.result_ty(inst)?;
    check(cx, ty, wanted)?;
    let val = with_part(cx, ty, &val, inst.rest(2), object, part)?;
    cx.define(inst, val)
}

/// The composite `val` with the constituent that `path` leads to replaced.
fn with_part(cx: &mut Cx<'_>, ty: Ty, val: &Val, path: &[u32], object: Ty, part: Val) -> Res<Val> {
    let Some((&i, rest)) = path.split_first() else {
        check(cx, object, ty)?;
        return Ok(part);
    };
    if let Some(mat) = cx.types().coop_mat(ty) {
        let m = cx.leaf_value(mat.into(), val)?;
        let component = cx.i32(i as i32);
        if !rest.is_empty() || cx.types().leaf(object) != Some(mat.elem.into()) {
            return Err(operand(format!("expected a component of {mat}")));
        }
        let x = cx.leaf_value(mat.elem.into(), &part)?;
        return Ok(Val::Ir(insert_component(cx, mat, m, component, x)));
    }
    let elem = cx.types().constituent(ty, i).ok_or_else(|| not_composite(cx, ty))?;
    let old = if rest.is_empty() { Val::Zero } else { cx.part(ty, val, i)? };
    let new = with_part(cx, elem, &old, rest, object, part)?;
    if let (Some(_), Some(leaf)) = (cx.long(ty).filter(|(_, n)| i < *n), cx.types().leaf(elem)) {
        let (i, x) = (cx.i32(i.cast_signed()), cx.leaf_value(leaf, &new)?);
        return cx.long_with(ty, val, i, x);
    }
    let n =
        cx.types().leaf_types(ty).and_then(|_| cx.types().count(ty).ok_or_else(|| not_composite(cx, ty)))?;
    cx.spend(n);
    let mut parts = Vec::with_capacity(n as usize);
    for j in 0..n {
        parts.push(if j == i { new.clone() } else { cx.part(ty, val, j)? });
    }
    Ok(Val::many(parts))
}

fn insert_component(
    cx: &mut Cx<'_>,
    mat: MatType,
    m: ir::Value,
    component: ir::Value,
    x: ir::Value,
) -> ir::Value {
    cx.b().value(IrOp::MatInsert, &[m, component, x], mat.into())
}

/// *OpVectorShuffle*: all ones as an index stands for any value.
fn shuffle(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let ty = cx.result_ty(inst)?;
    let mut all = Vec::new();
    for id in [inst.arg(0)?, inst.arg(1)?] {
        let (found, val) = cx.val(id)?;
        if !matches!(cx.types().kind(found), Kind::Vector { .. }) {
            return Err(operand(format!("operand %{id} is {}", cx.types().describe(found))));
        }
        for i in 0..cx.types().count(found).unwrap_or(0) {
            let elem = cx.types().constituent(found, i).ok_or_else(|| not_composite(cx, found))?;
            all.push((elem, cx.part(found, &val, i)?));
        }
    }
    let (Some(n), Some(elem)) = (cx.types().count(ty), cx.types().constituent(ty, 0)) else {
        return Err(not_composite(cx, ty));
    };
    if inst.rest(2).len() != n as usize {
        return Err(operand(format!("expected {n} components, found {}", inst.rest(2).len())));
    }
    let mut parts = Vec::with_capacity(n as usize);
    for &i in inst.rest(2) {
        if i == u32::MAX {
            parts.push(cx.types().zero(elem));
            continue;
        }
        let part = all.get(i as usize).ok_or_else(|| operand(format!("component {i} of {}", all.len())))?;
        check(cx, part.0, elem)?;
        parts.push(part.1.clone());
    }
    cx.define(inst, Val::many(parts))
}

fn vector(cx: &mut Cx<'_>, id: Id) -> Res<crate::cx::Values> {
    let ty = cx.ty_of(id)?;
    if !matches!(cx.types().kind(ty), Kind::Vector { .. }) {
        return Err(operand(format!("operand %{id} is {}, expected a vector", cx.types().describe(ty))));
    }
    cx.values(id)
}

fn extract_dynamic(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (ty, val) = cx.val(inst.arg(0)?)?;
    if cx.long(ty).is_some() {
        let index = cx.index_i32(inst.arg(1)?)?;
        let v = cx.long_component(ty, &val, index)?;
        return cx.define_values(inst, &[v]);
    }
    let values = vector(cx, inst.arg(0)?)?;
    let index = cx.index(inst.arg(1)?)?;
    let v = match index.base {
        None => usize::try_from(index.offset).ok().and_then(|i| values.get(i)).copied().unwrap_or(values[0]),
        Some(_) => {
            let index = cx.index_i32(inst.arg(1)?)?;
            cx.choose(&values, index)?
        }
    };
    cx.define_values(inst, &[v])
}

fn insert_dynamic(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (ty, val) = cx.val(inst.arg(0)?)?;
    let x = cx.value(inst.arg(1)?)?;
    let index = cx.index_i32(inst.arg(2)?)?;
    if let Some((elem, _)) = cx.long(ty) {
        check(cx, cx.ty_of(inst.arg(1)?)?, elem)?;
        check(cx, ty, cx.result_ty(inst)?)?;
        let val = cx.long_with(ty, &val, index, x)?;
        return cx.define(inst, val);
    }
    let mut values = vector(cx, inst.arg(0)?)?;
    cx.expect(inst.arg(1)?, x, cx.func.ty(values[0]))?;
    for (i, v) in values.iter_mut().enumerate() {
        let i = cx.constant(Scalar::I32, i as u64);
        let here = cx.b().compare(CompareOp::Ieq, index, i);
        *v = cx.b().select(here, x, *v);
    }
    cx.define_values(inst, &values)
}

fn transpose(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (ty, val) = cx.val(inst.arg(0)?)?;
    let Kind::Matrix { column, n } = *cx.types().kind(ty) else { return Err(not_composite(cx, ty)) };
    let rows = cx.types().count(column).unwrap_or(0);
    let mut columns = Vec::with_capacity(rows as usize);
    for r in 0..rows {
        let mut parts = Vec::with_capacity(n as usize);
        for c in 0..n {
            let col = cx.part(ty, &val, c)?;
            parts.push(cx.part(column, &col, r)?);
        }
        columns.push(Val::many(parts));
    }
    let result = cx.result_ty(inst)?;
    let fits = cx.types().count(result) == Some(rows)
        && cx.types().constituent(result, 0).and_then(|c| cx.types().count(c)) == Some(n)
        && cx.types().scalar(result) == cx.types().scalar(ty)
        && matches!(cx.types().kind(result), Kind::Matrix { .. });
    if !fits {
        return Err(operand(format!("the result type {} does not fit", cx.types().describe(result))));
    }
    cx.define(inst, Val::many(columns))
}

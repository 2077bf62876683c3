//! SPV_QCOM_cooperative_matrix_conversion: arrays of the invocations as rows or columns of a matrix,
//! and what arrays need for that.
//!
//! The array of an invocation is a row of a matrix of use A or Accumulator, and a column of one of use
//! B. Its bytes are those of the row: that of an array of unsigned 32-bit integers, too, which thus
//! holds several narrower components each, the first in the lowest bits.
//!
//! What the extension says of the *supported sizes* is for a device to check, which knows them.

use super::convert::regroup;
use crate::cx::{Cx, Values};
use crate::diag::{Res, code, operand, unsupported};
use crate::reader::{Id, Inst};
use crate::types::{Kind, Ty};
use phalanx_ir::{self as ir, BinaryOp as B, MatType, Scalar, Scope, Use, Value};
use spirv::Op;

/// Translates an instruction of this family.
pub(crate) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    match inst.op {
        Op::BitCastArrayQCOM => bit_cast(cx, inst),
        Op::ExtractSubArrayQCOM => extract_sub_array(cx, inst),
        Op::CompositeConstructCoopMatQCOM => construct(cx, inst),
        Op::CompositeExtractCoopMatQCOM => extract(cx, inst),
        _ => Err(unsupported(code::OPCODE, format!("{} is not supported", inst.name()))),
    }
}

/// A one-dimensional array.
#[derive(Clone, Copy, PartialEq)]
struct Array {
    elem: Scalar,
    signed: bool,
    n: u32,
}

/// The array that a type is. `what` names the operand for messages.
fn array(cx: &Cx<'_>, ty: Ty, what: &str) -> Res<Array> {
    if let Kind::Array { elem, n } = *cx.types().kind(ty) {
        match *cx.types().kind(elem) {
            Kind::Int { scalar, signed } => return Ok(Array { elem: scalar, signed, n }),
            Kind::Float(scalar) => return Ok(Array { elem: scalar, signed: false, n }),
            _ => {}
        }
    }
    let found = cx.types().describe(ty);
    Err(operand(format!("{what} is {found}, expected a one-dimensional array of numbers")))
}

/// The same of an array whose elements fill registers: "either a 32-bit OpTypeInt (unsigned/signed) or
/// an OpTypeFloat with the default IEEE 754 encoding (32-bit or 16-bit)".
fn plain_array(cx: &Cx<'_>, ty: Ty, what: &str) -> Res<Array> {
    let array = array(cx, ty, what)?;
    if matches!(array.elem, Scalar::I32 | Scalar::F32 | Scalar::F16) {
        return Ok(array);
    }
    let found = cx.types().describe(ty);
    Err(operand(format!("{what} is {found}, expected elements of s32, u32, f32 or f16")))
}

fn source(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<(Ty, Values)> {
    let id = inst.arg(0)?;
    Ok((cx.ty_of(id)?, cx.values(id)?))
}

// ── arrays ──

fn bit_cast(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (ty, x) = source(cx, inst)?;
    let from = plain_array(cx, ty, "Source Array")?;
    let to = plain_array(cx, cx.result_ty(inst)?, "the result type")?;
    let bytes = |a: Array| u64::from(a.n) * u64::from(a.elem.bytes());
    if bytes(from) != bytes(to) {
        let (found, wanted) = (bytes(to), bytes(from));
        let m =
            format!("the result type has {found} bytes, but Source Array {wanted}: the sizes must be equal");
        return Err(operand(m));
    }
    let out = regroup(cx, &x, to.elem)?;
    cx.define_values(inst, &out)
}

fn extract_sub_array(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (ty, x) = source(cx, inst)?;
    let from = plain_array(cx, ty, "Source Array")?;
    let to = plain_array(cx, cx.result_ty(inst)?, "the result type")?;
    if (from.elem, from.signed) != (to.elem, to.signed) {
        let (found, wanted) = (cx.types().describe(cx.result_ty(inst)?), cx.types().describe(ty));
        return Err(operand(format!("the result type is {found}, expected the element type of {wanted}")));
    }
    if to.n > from.n {
        return Err(operand(format!("the result type has {} elements, but Source Array {}", to.n, from.n)));
    }
    let start = inst.arg(1)?;
    let index = cx.scalar(start, Scalar::I32)?;
    let count = to.n as usize;
    if let Some(bits) = cx.func.const_bits(index) {
        let first = bits as u32 as i32;
        let part = usize::try_from(first).ok().and_then(|first| x.get(first..first.checked_add(count)?));
        return match part {
            Some(part) => cx.define_values(inst, &Values::from_slice(part)),
            None => Err(operand(format!(
                "Start Index is {first}: with the {count} elements of the result, it must not be greater \
                 than the {} of Source Array",
                from.n
            ))),
        };
    }
    let out = pick(cx, &x, index, from.elem, count)?;
    cx.define_values(inst, &out)
}

/// `count` consecutive values from a place that only run time knows, which goes through a variable.
/// Outside of the array there is zero.
fn pick(cx: &mut Cx<'_>, x: &[Value], first: Value, elem: Scalar, count: usize) -> Res<Values> {
    let var = cx.scratch_var(elem.into(), x.len() as u32)?;
    for (i, &x) in x.iter().enumerate() {
        let i = cx.i32(i as i32);
        cx.b().var_store(var, Some(i), x);
    }
    Ok((0..count)
        .map(|i| {
            let i = cx.i32(i as i32);
            let place = cx.b().binary(B::Iadd, first, i);
            cx.b().var_load(var, Some(place))
        })
        .collect())
}

// ── matrices ──

fn construct(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (ty, x) = source(cx, inst)?;
    let array = array(cx, ty, "Source Array")?;
    let mat = cx.result_ty(inst)?;
    let columns = conversion(cx, mat, array, "the result type")?;
    let m = matrix(cx, mat, "the result type")?;
    let out = cx.b().value(ir::Op::MatFromLanes { columns }, &x, m.into());
    cx.define_values(inst, &[out])
}

fn extract(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let array = array(cx, cx.result_ty(inst)?, "the result type")?;
    let id: Id = inst.arg(0)?;
    let columns = conversion(cx, cx.ty_of(id)?, array, "Source CoopMat")?;
    let (_, value) = cx.matrix(id)?;
    let types = vec![ir::Type::from(array.elem); array.n as usize];
    let out = cx.b().values(ir::Op::MatToLanes { columns }, &[value], &types);
    cx.define_values(inst, &out)
}

fn matrix(cx: &Cx<'_>, ty: Ty, what: &str) -> Res<MatType> {
    cx.types().coop_mat(ty).ok_or_else(|| {
        let found = cx.types().describe(ty);
        operand(format!("{what} is {found}, expected a cooperative matrix"))
    })
}

/// Checks a conversion between an array and a matrix, named `what`; whether the arrays are columns.
fn conversion(cx: &Cx<'_>, ty: Ty, array: Array, what: &str) -> Res<bool> {
    let m = matrix(cx, ty, what)?;
    if m.scope != Scope::Subgroup {
        return Err(operand(format!("{what} is {m}, expected Scope Subgroup")));
    }
    let columns = match m.use_ {
        Use::A | Use::Accumulator => false,
        Use::B => true,
        Use::Any => return Err(operand(format!("{what} is {m}, expected an OpTypeCooperativeMatrixKHR"))),
    };
    check_size(cx, m, columns, what)?;
    check_array(m, cx.types().is_signed(ty), columns, array)?;
    Ok(columns)
}

/// The components and sides that a use allows.
fn check_size(cx: &Cx<'_>, m: MatType, columns: bool, what: &str) -> Res<()> {
    let (count, len) = m.lines(columns);
    let (line, side) = if columns { ("column", "Columns") } else { ("row", "Rows") };
    let lanes = cx.globals.subgroup_size;
    if count > lanes {
        let m = format!(
            "{what} is {m}, but {side} must be at most SubgroupSize, {lanes}: an invocation has one {line}"
        );
        return Err(operand(m));
    }
    if m.use_ == Use::Accumulator {
        if !matches!(m.elem, Scalar::I32 | Scalar::F32 | Scalar::F16) {
            return Err(operand(format!("{what} is {m}, expected components of s32, u32, f32 or f16")));
        }
        if len > lanes {
            let m = format!("{what} is {m}, but Columns must be at most SubgroupSize, {lanes}");
            return Err(operand(m));
        }
        return Ok(());
    }
    if !matches!(m.elem, Scalar::I8 | Scalar::F32 | Scalar::F16) {
        return Err(operand(format!("{what} is {m}, expected components of s8, u8, f32 or f16")));
    }
    let wanted = LINE_BYTES / m.elem.bytes();
    if len != wanted {
        return Err(operand(format!(
            "{what} is {m}, but a {line} must have {wanted} components, {LINE_BYTES} bytes"
        )));
    }
    Ok(())
}

/// Bytes of a row of A and of a column of B.
const LINE_BYTES: u32 = 32;

/// The array must be of the component type, or of unsigned 32-bit integers that hold a whole line.
fn check_array(m: MatType, signed: bool, columns: bool, array: Array) -> Res<()> {
    let (_, len) = m.lines(columns);
    let is_same = array.elem == m.elem && (!m.elem.is_int() || array.signed == signed);
    let is_packed = array.elem == Scalar::I32 && !array.signed;
    if !is_same && !is_packed {
        let sign = |signed| if signed { "signed " } else { "" };
        return Err(operand(format!(
            "the array is of {}{}, expected the component type of {m} or unsigned i32",
            sign(array.signed),
            array.elem
        )));
    }
    let bits = len * m.elem.bits();
    let wanted = bits.div_ceil(array.elem.bits());
    if array.n != wanted || !bits.is_multiple_of(array.elem.bits()) {
        return Err(operand(format!(
            "the array has {} elements of {}, but {m} needs {bits} bits for each invocation",
            array.n, array.elem
        )));
    }
    Ok(())
}

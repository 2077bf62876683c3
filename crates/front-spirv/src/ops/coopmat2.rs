//! SPV_NV_cooperative_matrix2: conversions of use, transposes, reductions and operations on elements.
//!
//! The last two call a function for each element. It is inlined into a region of the IR's operation,
//! so that a target sees the matrix as a whole and what happens to its elements.

use super::componentwise::{self as cw};
use crate::cx::Cx;
use crate::diag::{Res, code, operand, unsupported};
use crate::module::FunctionDecl;
use crate::reader::{Id, Inst};
use crate::types::{Kind, Ty};
use crate::value::Val;
use phalanx_ir::{self as ir, ConvertKind, ConvertOp, MatReduceKind, MatType, Scalar, Use, Value};
use spirv::Op;

/// Translates an instruction of this family.
pub(crate) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    match inst.op {
        Op::CooperativeMatrixConvertNV => convert_use(cx, inst),
        Op::CooperativeMatrixTransposeNV => transpose(cx, inst),
        Op::CooperativeMatrixReduceNV => reduce(cx, inst),
        Op::CooperativeMatrixPerElementOpNV => per_element(cx, inst),
        _ => Err(unsupported(code::OPCODE, format!("{} is not supported", inst.name()))),
    }
}

/// The result type, which must be a cooperative matrix.
pub(super) fn result_matrix(cx: &Cx<'_>, inst: &Inst<'_>) -> Res<(MatType, bool)> {
    let ty = cx.result_ty(inst)?;
    match *cx.types().kind(ty) {
        Kind::CoopMat { mat, signed } => Ok((mat, signed)),
        _ => {
            let found = cx.types().describe(ty);
            Err(operand(format!("the result type is {found}, expected a cooperative matrix")))
        }
    }
}

/// Checks that a conversion may change the use: "the Use of the operand can be MatrixAccumulatorKHR and
/// the Use of the result type can be MatrixAKHR or MatrixBKHR". *CooperativeMatrixConversionsEXT* allows
/// the reverse, too.
pub(super) fn check_use(cx: &Cx<'_>, from: MatType, to: MatType) -> Res<()> {
    if from.use_ == to.use_ || may_change_use(cx, from, to) {
        return Ok(());
    }
    let back = if has_ext_conversions(cx) { ", or back" } else { "" };
    Err(operand(format!("converts {from} to {to}: the use only changes from Accumulator to A or B{back}")))
}

fn may_change_use(cx: &Cx<'_>, from: MatType, to: MatType) -> bool {
    let is_factor = |m: MatType| matches!(m.use_, Use::A | Use::B);
    from.use_ == Use::Accumulator && is_factor(to)
        || has_ext_conversions(cx) && is_factor(from) && to.use_ == Use::Accumulator
}

/// Whether the module declares *CooperativeMatrixConversionsEXT*
/// (SPV_EXT_cooperative_matrix_maintenance1).
fn has_ext_conversions(cx: &Cx<'_>) -> bool {
    cx.spv.capabilities.contains(&5429)
}

/// Whether a conversion is decorated *CooperativeMatrixTransposeEXT*. "A conversion decorated with
/// CooperativeMatrixTransposeEXT must have a MatrixAccumulatorKHR Matrix and a MatrixAKHR or MatrixBKHR
/// Result Type."
pub(super) fn is_transposed(cx: &Cx<'_>, inst: &Inst<'_>, from: MatType, to: MatType) -> Res<bool> {
    if !cx.spv.decor.has_number(inst.id, 5440) {
        return Ok(false);
    }
    if from.use_ == Use::Accumulator && matches!(to.use_, Use::A | Use::B) {
        return Ok(true);
    }
    Err(operand(format!("transposes {from} to {to}, expected from Accumulator to A or B")))
}

fn same_component(cx: &Cx<'_>, inst: &Inst<'_>, from: MatType, to: MatType) -> Res<()> {
    let (found, wanted) = (cx.ty_of(inst.arg(0)?)?, cx.result_ty(inst)?);
    if from.elem == to.elem && cx.types().is_signed(found) == cx.types().is_signed(wanted) {
        return Ok(());
    }
    // The IR's types have no sign, so only the declared ones tell the two apart.
    let [found_component, wanted_component] = [found, wanted].map(|ty| cx.types().describe_component(ty));
    let m = format!(
        "Matrix is {from} of {found_component}, but the result is {to} of {wanted_component}: \
         the component types must be one"
    );
    Err(operand(m))
}

fn convert_use(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (to, _) = result_matrix(cx, inst)?;
    let (from, matrix) = cx.matrix(inst.arg(0)?)?;
    // The validator lets the sign change with CooperativeMatrixConversionsEXT.
    if !(has_ext_conversions(cx) && from.elem.is_int() && from.elem == to.elem) {
        same_component(cx, inst, from, to)?;
    }
    if is_transposed(cx, inst, from, to)? {
        let out = transposed(cx, matrix, from, to)?;
        return cx.define_values(inst, &[out]);
    }
    if (MatType { use_: to.use_, ..from }) != to {
        return Err(operand(format!("the result type is {to}, expected the scope and shape of {from}")));
    }
    if !may_change_use(cx, from, to) {
        let m = format!("converts {from} to {to}: the use must change from Accumulator to A or B");
        return Err(operand(m));
    }
    let out = cx.b().value(ir::Op::Bitcast, &[matrix], to.into());
    cx.define_values(inst, &[out])
}

/// The transpose of a matrix, of the same component type and scope.
pub(super) fn transposed(cx: &mut Cx<'_>, matrix: Value, from: MatType, to: MatType) -> Res<Value> {
    let wanted = MatType { rows: from.cols, cols: from.rows, use_: to.use_, ..from };
    if to != wanted {
        return Err(operand(format!("the result type is {to}, expected {wanted}")));
    }
    Ok(cx.b().value(ir::Op::MatTranspose, &[matrix], to.into()))
}

/// *OpCooperativeMatrixGetCoordinateEXT*: row and column of a component. Those of one that is no element
/// are outside of the matrix.
pub(crate) fn coordinate(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (m, matrix) = cx.matrix(inst.arg(0)?)?;
    if m.use_ == Use::Any {
        return Err(operand(format!("Matrix is {m}, expected an OpTypeCooperativeMatrixKHR")));
    }
    let component = word(cx, inst.arg(1)?)?;
    let place = place(cx, matrix, component);
    cx.define_values(inst, &place)
}

/// Row and column of a component of this invocation, in a matrix of this one's type.
pub(super) fn place(cx: &mut Cx<'_>, matrix: Value, component: Value) -> [Value; 2] {
    let place = cx.b().values(ir::Op::MatCoordinate, &[matrix, component], &[ir::Type::I32; 2]);
    [place[0], place[1]]
}

fn transpose(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (to, _) = result_matrix(cx, inst)?;
    let (from, matrix) = cx.matrix(inst.arg(0)?)?;
    if from.use_ != Use::Accumulator || to.use_ != Use::B {
        return Err(operand(format!("transposes {from} to {to}, expected from Accumulator to B")));
    }
    // GLSL wants one component type. The text of SPIR-V does not say so, its validator does not check it, and
    // the conformance suite transposes to another type.
    let converted = from.with_elem(to.elem);
    let matrix = match component_conversion(cx, inst, from.elem, to.elem)? {
        Some(kind) => cx.b().value(ir::Op::Convert(ConvertOp::new(kind)), &[matrix], converted.into()),
        None => matrix,
    };
    let out = transposed(cx, matrix, converted, to)?;
    cx.define_values(inst, &[out])
}

/// How components of the operand's type become such of the result's; none if the type is one. Integers are extended
/// by the operand's signedness.
fn component_conversion(cx: &Cx<'_>, inst: &Inst<'_>, from: Scalar, to: Scalar) -> Res<Option<ConvertKind>> {
    use ConvertKind as K;
    let (found, wanted) = (cx.ty_of(inst.arg(0)?)?, cx.result_ty(inst)?);
    let signed = |ty: Ty| cx.types().is_signed(ty);
    Ok(match (from.is_int(), to.is_int()) {
        _ if from == to => None,
        (true, true) => Some(if signed(found) { K::SToS } else { K::UToU }),
        (true, false) => Some(if signed(found) { K::SToF } else { K::UToF }),
        (false, true) => Some(if signed(wanted) { K::FToS } else { K::FToU }),
        (false, false) => Some(K::FToF),
    })
}

// ── functions for elements ──

/// The function's return type must be `elem`'s.
pub(super) fn check_return(cx: &Cx<'_>, decl: &FunctionDecl, m: MatType) -> Res<()> {
    let ty = cx.types().lookup(cx.spv.insts[decl.inst].ty)?;
    if cx.types().leaf(ty) == Some(m.elem.into()) {
        return Ok(());
    }
    let found = cx.types().describe(ty);
    Err(operand(format!("the function %{} returns {found}, but the components are {}", decl.id, m.elem)))
}

/// Checks that parameter `i` of a function has the IR type `wanted`.
pub(super) fn check_param(cx: &Cx<'_>, decl: &FunctionDecl, i: usize, wanted: ir::Type) -> Res<()> {
    let ty = param(cx, decl, i)?;
    if cx.types().leaf(ty) == Some(wanted) {
        return Ok(());
    }
    let found = cx.types().describe(ty);
    Err(operand(format!("parameter {i} of the function %{} is {found}, expected {wanted}", decl.id)))
}

/// The type of parameter `i` of a function.
pub(super) fn param(cx: &Cx<'_>, decl: &FunctionDecl, i: usize) -> Res<Ty> {
    let (_, ty) = decl.params.get(i).ok_or_else(|| operand(format!("%{} lacks parameter {i}", decl.id)))?;
    cx.types().lookup(*ty)
}

/// Checks the number of a function's parameters.
pub(super) fn check_param_count(decl: &FunctionDecl, wanted: usize) -> Res<()> {
    let found = decl.params.len();
    if found == wanted {
        return Ok(());
    }
    Err(operand(format!("the function %{} has {found} parameters, expected {wanted}", decl.id)))
}

fn reduce(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (to, _) = result_matrix(cx, inst)?;
    let (from, matrix) = cx.matrix(inst.arg(0)?)?;
    same_component(cx, inst, from, to)?;
    let (kind, rows, cols) = match inst.arg(1)? {
        1 => (MatReduceKind::Row, from.rows, to.cols),
        2 => (MatReduceKind::Column, to.rows, from.cols),
        3 => (MatReduceKind::All, to.rows, to.cols),
        4 => (MatReduceKind::Square, from.rows / 2, from.cols / 2),
        mask => {
            let m = format!("Reduce is {mask:#x}: \"It is invalid to combine 2x2 with Row or Column\"");
            return Err(operand(if mask & 3 != 0 && mask < 8 {
                m
            } else {
                format!("unknown Reduce {mask:#x}")
            }));
        }
    };
    if kind == MatReduceKind::Square && (from.rows % 2 != 0 || from.cols % 2 != 0) {
        return Err(operand(format!("2x2 needs even dimensions, but Matrix is {from}")));
    }
    let wanted = MatType { rows, cols, ..from };
    if to != wanted {
        return Err(operand(format!("the result type is {to}, expected {wanted}")));
    }
    if from.use_ != Use::Accumulator {
        return Err(operand(format!("Matrix is {from}, expected Use MatrixAccumulatorKHR")));
    }
    let decl = cx.function_operand(inst.arg(2)?)?;
    check_return(cx, decl, from)?;
    check_param_count(decl, 2)?;
    let elem = from.elem.into();
    check_param(cx, decl, 0, elem)?;
    check_param(cx, decl, 1, elem)?;
    let body = cx.fill_region(inst, decl, &[elem, elem], from.elem, |_, x| Ok(values(x)))?;
    let out = cx.b().value(ir::Op::MatReduce { kind, body }, &[matrix], to.into());
    cx.define_values(inst, &[out])
}

fn values(list: &[Value]) -> Vec<Val> {
    list.iter().map(|&v| Val::Ir(v)).collect()
}

/// An argument of a function for elements.
enum Argument {
    /// The element of this matrix: a parameter of the region.
    Element,
    /// The same for all.
    Same(Val),
}

fn per_element(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (to, _) = result_matrix(cx, inst)?;
    let (from, matrix) = cx.matrix(inst.arg(0)?)?;
    if from != to || cx.ty_of(inst.arg(0)?)? != cx.result_ty(inst)? {
        return Err(operand(format!("Matrix is {from}, but the result type is {to}: they must match")));
    }
    let decl = cx.function_operand(inst.arg(1)?)?;
    check_return(cx, decl, from)?;
    check_param_count(decl, 3 + inst.rest(2).len())?;
    check_param(cx, decl, 0, ir::Type::I32)?;
    check_param(cx, decl, 1, ir::Type::I32)?;
    check_param(cx, decl, 2, from.elem.into())?;
    let mut matrices = vec![matrix];
    let mut extra = Vec::with_capacity(inst.rest(2).len());
    for (i, &id) in inst.rest(2).iter().enumerate() {
        extra.push(argument(cx, decl, 3 + i, id, from, &mut matrices)?);
    }
    let mut params = vec![ir::Type::I32; 2];
    params.extend(matrices.iter().map(|_| ir::Type::from(from.elem)));
    let body = cx.fill_region(inst, decl, &params, from.elem, |_, params| {
        let mut args = values(&params[..3]);
        let mut elements = params[3..].iter();
        for argument in extra {
            args.push(match argument {
                Argument::Same(val) => val,
                Argument::Element => Val::Ir(*elements.next().unwrap_or(&params[2])),
            });
        }
        Ok(args)
    })?;
    let out = cx.b().value(ir::Op::MatMap { body }, &matrices, to.into());
    cx.define_values(inst, &[out])
}

/// An extra operand; of a matrix the function takes the element.
fn argument(
    cx: &mut Cx<'_>,
    decl: &FunctionDecl,
    i: usize,
    id: Id,
    m: MatType,
    matrices: &mut Vec<Value>,
) -> Res<Argument> {
    let (ty, val) = cx.val(id)?;
    if cx.types().coop_mat(ty).is_some() {
        let (found, value) = cx.matrix(id)?;
        if found != m {
            return Err(operand(format!("operand %{id} is {found}, expected the type of Matrix, {m}")));
        }
        check_param(cx, decl, i, m.elem.into())?;
        matrices.push(value);
        return Ok(Argument::Element);
    }
    let wanted = param(cx, decl, i)?;
    if !cx.passes(ty, wanted) {
        let (found, wanted) = (cx.types().describe(ty), cx.types().describe(wanted));
        return Err(operand(format!("operand %{id} is {found}, but the function takes {wanted}")));
    }
    Ok(Argument::Same(val))
}

/// The IR values of an operand that must be 32-bit integers: a scalar each.
pub(super) fn word(cx: &mut Cx<'_>, id: Id) -> Res<Value> {
    let v = cw::scalar(cx, id, cw::Class::Int)?;
    cx.expect(id, v, ir::Type::I32)?;
    Ok(v)
}

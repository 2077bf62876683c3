//! Conversions between numbers. Reinterpretation of bits is in [`bitcast`].
//!
//! All of these also take cooperative matrices, which keep their scope and shape; the use may change
//! (SPV_NV_cooperative_matrix2).

mod bitcast;

pub(super) use bitcast::regroup;

use super::componentwise::{self as cw, Class};
use crate::cx::{Cx, Values};
use crate::diag::{Res, code, operand, unsupported};
use crate::reader::Inst;
use phalanx_ir::{
    self as ir, BinaryOp as B, CompareOp as C, ConvertKind, ConvertOp, Rounding, Scalar, UnaryOp as U,
};
use spirv::{Decoration, Op};

/// Translates an instruction of this family.
pub(crate) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    use Class::{AnyFloat, Int};
    match inst.op {
        Op::ConvertFToU => convert(cx, inst, ConvertKind::FToU, AnyFloat, Int),
        Op::ConvertFToS => convert(cx, inst, ConvertKind::FToS, AnyFloat, Int),
        Op::ConvertSToF => convert(cx, inst, ConvertKind::SToF, Int, AnyFloat),
        Op::ConvertUToF => convert(cx, inst, ConvertKind::UToF, Int, AnyFloat),
        Op::UConvert => convert(cx, inst, ConvertKind::UToU, Int, Int),
        Op::SConvert => convert(cx, inst, ConvertKind::SToS, Int, Int),
        Op::FConvert => convert(cx, inst, ConvertKind::FToF, AnyFloat, AnyFloat),
        Op::QuantizeToF16 => quantize(cx, inst),
        Op::Bitcast => bitcast::emit(cx, inst),
        _ => Err(unsupported(code::OPCODE, format!("{} is not supported", inst.name()))),
    }
}

fn convert(cx: &mut Cx<'_>, inst: &Inst<'_>, kind: ConvertKind, from: Class, to: Class) -> Res<()> {
    let x = cw::elements(cx, inst.arg(0)?, from)?;
    let elem = cw::result_scalar(cx, inst, to)?;
    let is_float8 = matches!(elem, Scalar::E4M3 | Scalar::E5M2);
    let saturated = Decoration::SaturatedToLargestFloat8NormalConversionEXT;
    let saturate = is_float8 && cx.spv.decor.has(inst.id, saturated);
    let op = ir::Op::Convert(ConvertOp { kind, rounding: rounding(cx, inst)?, saturate });
    if let (Some(from), Some(to)) = (cx.func.ty(x[0]).mat(), cx.types().coop_mat(cx.result_ty(inst)?))
        && super::coopmat2::is_transposed(cx, inst, from, to)?
    {
        let converted = from.with_elem(elem);
        let y = cx.b().value(op, &[x[0]], converted.into());
        let out = super::coopmat2::transposed(cx, y, converted, to)?;
        return cx.define_values(inst, &[out]);
    }
    let ty = converted_type(cx, inst, cx.func.ty(x[0]), elem)?;
    let out = cw::map(&x, |x| cx.b().value(op.clone(), &[x], ty));
    cx.define_values(inst, &out)
}

/// The type of each component of the result: the scalar, or the matrix if the operand is one.
fn converted_type(cx: &Cx<'_>, inst: &Inst<'_>, from: ir::Type, elem: Scalar) -> Res<ir::Type> {
    let to = cx.types().coop_mat(cx.result_ty(inst)?);
    match (from.mat(), to) {
        (None, None) => Ok(elem.into()),
        (Some(from), Some(to)) => {
            let same = ir::MatType { elem: to.elem, use_: to.use_, ..from };
            if same == to {
                super::coopmat2::check_use(cx, from, to)?;
                return Ok(to.into());
            }
            Err(operand(format!("the result type is {to}, expected the scope and shape of {from}")))
        }
        (Some(from), None) => Err(operand(format!("the operand is {from}, but the result is no matrix"))),
        (None, Some(to)) => Err(operand(format!("the result type is {to}, but the operand is no matrix"))),
    }
}

/// What *FPRoundingMode* says, or the execution mode for the width of the result; without them to
/// nearest even, which every default allows.
fn rounding(cx: &Cx<'_>, inst: &Inst<'_>) -> Res<Rounding> {
    let width = cx.types().scalar(cx.result_ty(inst)?).map_or(0, Scalar::bits);
    match cx.spv.decor.literal(inst.id, Decoration::FPRoundingMode) {
        None if cx.modes.rounds_toward_zero(width) => Ok(Rounding::TowardZero),
        None | Some(0) => Ok(Rounding::NearestEven),
        Some(1) => Ok(Rounding::TowardZero),
        // VUID-StandaloneSpirv-FPRoundingMode: shaders may only ask for RTE and RTZ.
        Some(mode) => Err(unsupported(code::DECORATION, format!("FPRoundingMode {mode}"))),
    }
}

/// *OpQuantizeToF16*: through `f16` and back; what is less than its least normal number is zero.
fn quantize(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let x = cw::components(cx, inst.arg(0)?, Class::Float)?;
    cx.expect(inst.arg(0)?, x[0], ir::Type::F32)?;
    let zero = cw::float(cx, Scalar::F32, 0.0);
    let least = cw::float(cx, Scalar::F32, f64::from(2_f32.powi(-14)));
    let out: Values = cw::map(&x, |x| {
        let half = cw::refloat(cx, x, Scalar::F16);
        let rounded = cw::refloat(cx, half, Scalar::F32);
        let signed_zero = cx.b().binary(B::Fmul, x, zero);
        let abs = cx.b().unary(U::Fabs, x);
        let small = cx.b().compare(C::FordLt, abs, least);
        cx.b().select(small, signed_zero, rounded)
    });
    cx.define_values(inst, &out)
}

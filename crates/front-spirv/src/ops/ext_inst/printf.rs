//! *NonSemantic.DebugPrintf*.
//!
//! The conversions of the format say what types they take (see [`phalanx_ir::printf`]); what is
//! passed is converted to those by value, component by component.

use crate::cx::{Cx, Values};
use crate::diag::{Res, code, invalid, operand};
use crate::ops::componentwise::{self as cw, Class};
use crate::reader::Inst;
use phalanx_ir::{self as ir, ConvertKind, Scalar, Value};

/// Translates *DebugPrintf*: set, number, format, arguments.
pub(super) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let id = inst.arg(2)?;
    let Some(format) = cx.spv.string(id) else {
        return Err(invalid(code::OPERAND, format!("the format %{id} is no OpString")));
    };
    let wanted = ir::printf::arguments(format);
    let mut found: Vec<(Value, bool)> = Vec::with_capacity(wanted.len());
    for &arg in inst.rest(3) {
        let ty = cx.ty_of(arg)?;
        let signed = cx.types().is_signed(ty);
        let values = cw::components(cx, arg, Class::Any)?;
        found.extend(values.into_iter().map(|v| (v, signed)));
    }
    // Arguments that no conversion takes are not printed, and a conversion without one prints zero.
    let mut args = Values::new();
    for (&(v, signed), &to) in found.iter().zip(&wanted) {
        args.push(convert(cx, v, signed, to)?);
    }
    let index = cx.format(format)?;
    cx.b().effect(ir::Op::Printf(index), &args);
    if inst.id != 0 && cx.result_ty(inst).is_ok_and(|ty| cx.types().leaf(ty).is_some()) {
        return Err(operand("the result type of DebugPrintf must be void"));
    }
    Ok(())
}

impl Cx<'_> {
    /// The index of a format; each is kept once.
    pub(crate) fn format(&mut self, format: &str) -> Res<u32> {
        let formats = &mut self.module.formats;
        let index = formats.iter().position(|f| f == format).unwrap_or(formats.len());
        if index == formats.len() {
            formats.push(format.to_owned());
        }
        u32::try_from(index).map_err(|_| operand("too many formats"))
    }
}

fn convert(cx: &mut Cx<'_>, v: Value, signed: bool, to: Scalar) -> Res<Value> {
    let from = cw::scalar_ty(cx, v)?;
    if from == to {
        return Ok(v);
    }
    let v = if from == Scalar::Bool { cx.bool_to_i32(v) } else { v };
    let kind = match (from.is_float(), to.is_float(), signed) {
        (true, true, _) => ConvertKind::FToF,
        (true, false, _) => ConvertKind::FToS,
        (false, true, true) => ConvertKind::SToF,
        (false, true, false) => ConvertKind::UToF,
        (false, false, true) => ConvertKind::SToS,
        (false, false, false) => ConvertKind::UToU,
    };
    if cx.func.ty(v) == ir::Type::Scalar(to) {
        return Ok(v);
    }
    Ok(cx.b().convert(kind, v, to))
}

//! *OpSpecConstantOp*, evaluated at translation.

use crate::diag::{Res, code, unsupported};
use crate::globals::Globals;
use crate::reader::Inst;
use crate::types::Ty;
use crate::value::Val;

/// Evaluates an *OpSpecConstantOp* with result type `ty`.
pub(crate) fn evaluate(_globals: &Globals, inst: &Inst<'_>, _ty: Ty) -> Res<Val> {
    Err(unsupported(code::OPCODE, inst.name()))
}

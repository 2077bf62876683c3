//! Cooperative matrices: SPV_KHR_cooperative_matrix and SPV_NV_cooperative_matrix.

use crate::cx::Cx;
use crate::diag::{Res, code, unsupported};
use crate::reader::Inst;

/// Translates an instruction of this family.
pub(crate) fn emit(_cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    Err(unsupported(code::OPCODE, format!("{} is not built", inst.name())))
}

//! Operations between the invocations of a subgroup.

use crate::cx::Cx;
use crate::diag::{Res, code, unsupported};
use crate::reader::Inst;

/// Translates an instruction of this family.
pub(crate) fn emit(_cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    Err(unsupported(code::OPCODE, format!("{} is not built", inst.name())))
}

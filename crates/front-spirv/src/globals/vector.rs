//! Types of vectors, long ones (SPV_EXT_long_vector) and cooperative ones (SPV_NV_cooperative_vector) included.

use super::Globals;
use crate::diag::{Res, code, invalid};
use crate::module::Spv;
use crate::reader::{Id, Inst};
use crate::types::{Kind, Ty};
use phalanx_ir::Type;
use spirv::{Capability, Op};

/// Components of a vector with the capability *LongVectorEXT*, and of a cooperative one. Each is a value of its own, so a target has no
/// reason for a limit; it keeps instructions on whole vectors affordable.
pub const MAX_VECTOR_COMPONENTS: u32 = 1024;

/// Components without it: *Vector16* has the most.
const MAX_SHORT: u32 = 16;

/// *OpTypeVector* or *OpTypeVectorIdEXT*.
pub(super) fn kind(g: &Globals, spv: &Spv<'_>, inst: &Inst<'_>) -> Res<Kind> {
    let has = |capability: Capability| spv.capabilities.contains(&(capability as u32));
    let is_cooperative = inst.op != Op::TypeVector && has(Capability::CooperativeVectorNV);
    let is_long = is_cooperative || has(Capability::LongVectorEXT);
    let elem = g.types.lookup(inst.arg(0)?)?;
    let n = match inst.op {
        Op::TypeVector => inst.arg(1)?,
        _ if is_long => count(g, inst.arg(1)?)?,
        _ => {
            let m = "OpTypeVectorIdEXT, without the capability LongVectorEXT or CooperativeVectorNV";
            return Err(invalid(code::CAPABILITY, m));
        }
    };
    let range = if is_long { 1..=MAX_VECTOR_COMPONENTS } else { 2..=MAX_SHORT };
    if !matches!(g.types.leaf(elem), Some(Type::Scalar(_))) || !range.contains(&n) {
        let (low, high) = range.into_inner();
        let m = format!("expected {low} to {high} scalars, found {n} of {}", g.types.describe(elem));
        return Err(invalid(code::TYPE, m));
    }
    Ok(Kind::Vector { elem, n })
}

/// *Component Count*: "a constant instruction with scalar 32-bit integer type".
fn count(g: &Globals, id: Id) -> Res<u32> {
    let (ty, _) = g.constant(id)?;
    if g.types.leaf(*ty) != Some(Type::I32) {
        let m = format!("Component Count is {}, expected a 32-bit integer", g.types.describe(*ty));
        return Err(invalid(code::TYPE, m));
    }
    g.const_u32(id)
}

/// *OpTypeMatrix*, whose columns are of *OpTypeVector* with 2 to 4 components.
pub(super) fn matrix(g: &Globals, spv: &Spv<'_>, inst: &Inst<'_>) -> Res<Kind> {
    let (column, n) = (g.types.lookup(inst.arg(0)?)?, inst.arg(1)?);
    if !is_column(g, spv, column) || !(2..=4).contains(&n) {
        return Err(invalid(code::TYPE, "expected 2 to 4 columns of a vector type with 2 to 4 components"));
    }
    Ok(Kind::Matrix { column, n })
}

fn is_column(g: &Globals, spv: &Spv<'_>, ty: Ty) -> bool {
    let is_plain = spv.def(ty.id()).is_some_and(|inst| inst.op == Op::TypeVector);
    is_plain && matches!(g.types.kind(ty), Kind::Vector { n: 2..=4, .. })
}

//! Types of tensor layouts and views (SPV_NV_tensor_addressing).

use super::Globals;
use crate::diag::{Res, code, invalid};
use crate::reader::{Id, Inst};
use crate::types::{Kind, Tensor, Ty};
use phalanx_ir::tensor::MAX_DIMS;
use phalanx_ir::{self as ir, Clamp, TensorView};
use spirv::Op;

/// *OpTypeTensorLayoutNV* or *OpTypeTensorViewNV*.
pub(super) fn kind(g: &Globals, inst: &Inst<'_>) -> Res<Kind> {
    let (word, dims) = dimensions(g, inst.arg(0)?)?;
    let tensor = match inst.op {
        Op::TypeTensorLayoutNV => Tensor::Layout { dims, clamp: clamp(g.const_u32(inst.arg(1)?)?)? },
        _ => Tensor::View(view(g, inst, dims)?),
    };
    Ok(Kind::Tensor { word, tensor })
}

/// The number of dimensions, and the type that state is kept in.
fn dimensions(g: &Globals, id: Id) -> Res<(Ty, u8)> {
    let (ty, _) = g.constant(id)?;
    let dims = g.const_u32(id)?;
    if g.types.leaf(*ty) != Some(ir::Type::I32) {
        let m = format!("Dim is {}, expected a 32-bit integer", g.types.describe(*ty));
        return Err(invalid(code::TYPE, m));
    }
    match u8::try_from(dims) {
        Ok(n) if (1..=MAX_DIMS).contains(&n.into()) => Ok((*ty, n)),
        _ => Err(invalid(code::TYPE, format!("Dim is {dims}, expected 1 to {MAX_DIMS}"))),
    }
}

fn clamp(mode: u32) -> Res<Clamp> {
    match mode {
        0 => Ok(Clamp::Undefined),
        1 => Ok(Clamp::Constant),
        2 => Ok(Clamp::ClampToEdge),
        3 => Ok(Clamp::Repeat),
        4 => Ok(Clamp::RepeatMirrored),
        other => Err(invalid(code::TYPE, format!("tensor clamp mode {other}, expected 0 to 4"))),
    }
}

fn view(g: &Globals, inst: &Inst<'_>, dims: u8) -> Res<TensorView> {
    let has = inst.arg(1)?;
    let has_dimensions = g
        .const_bits(has)
        .filter(|_| g.get(has).is_some_and(|(ty, _)| g.types.leaf(*ty) == Some(ir::Type::BOOL)));
    let has_dimensions = has_dimensions.ok_or_else(|| {
        invalid(code::TYPE, format!("HasDimensions %{has} must be a constant of type bool"))
    })?;
    let places = inst.rest(2);
    if places.len() != usize::from(dims) {
        let m = format!("{} places for {dims} dimensions", places.len());
        return Err(invalid(code::TYPE, m));
    }
    let mut permutation = [0; MAX_DIMS];
    let mut seen = [false; MAX_DIMS];
    for (place, &id) in permutation.iter_mut().zip(places) {
        let p = g.const_u32(id)?;
        let fresh = usize::try_from(p).ok().filter(|p| *p < usize::from(dims)).and_then(|p| seen.get_mut(p));
        if fresh.is_none_or(|seen| std::mem::replace(seen, true)) {
            let m = format!("p0 to p{} must be a permutation of 0 to {0}: {p} is not of it", dims - 1);
            return Err(invalid(code::TYPE, m));
        }
        *place = p as u8;
    }
    // What a view clips is an operand, and is known only when it is used.
    Ok(TensorView { dims, has_dimensions: has_dimensions != 0, clips: true, permutation })
}

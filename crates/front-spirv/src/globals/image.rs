//! Types of images.

use super::Globals;
use crate::diag::{Res, code, invalid};
use crate::reader::Inst;
use crate::types::Kind;
use phalanx_ir::image::{ImageDim, ImageKind, ImageUse};
use spirv::Dim;

/// *OpTypeImage*. What is not built is opaque: it may be declared, but nothing is done with it.
pub(super) fn kind(g: &Globals, inst: &Inst<'_>) -> Res<Kind> {
    let texel = g.types.lookup(inst.arg(0)?)?;
    let dim = Dim::from_u32(inst.arg(1)?).ok_or_else(|| invalid(code::TYPE, "an unknown dimension"))?;
    let (arrayed, multisampled, sampled) = (inst.arg(3)? != 0, inst.arg(4)? != 0, inst.arg(5)?);
    let dim = match dim {
        Dim::DimBuffer if !arrayed => ImageDim::Buffer,
        Dim::Dim1D => ImageDim::D1,
        Dim::Dim2D => ImageDim::D2,
        Dim::Dim3D if !arrayed => ImageDim::D3,
        Dim::DimCube => ImageDim::Cube,
        _ => return Ok(Kind::Opaque),
    };
    let usage = match sampled {
        1 => ImageUse::Sampled,
        2 => ImageUse::Storage,
        _ => return Ok(Kind::Opaque),
    };
    if multisampled || g.types.scalar(texel).is_none() {
        return Ok(Kind::Opaque);
    }
    Ok(Kind::Image { texel, kind: ImageKind { dim, arrayed, usage } })
}

/// *OpTypeSampledImage*.
pub(super) fn combined(g: &Globals, inst: &Inst<'_>) -> Res<Kind> {
    let image = g.types.lookup(inst.arg(0)?)?;
    Ok(match *g.types.kind(image) {
        Kind::Image { texel, kind } => {
            Kind::Image { texel, kind: ImageKind { usage: ImageUse::Combined, ..kind } }
        }
        _ => Kind::Opaque,
    })
}

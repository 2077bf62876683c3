//! Types of images.

use super::Globals;
use crate::diag::{Res, code, invalid};
use crate::reader::Inst;
use crate::types::Kind;
use phalanx_ir::image::{ImageDim, ImageKind, ImageUse};
use spirv::Dim;

/// *OpTypeImage*. What is not built is opaque: it may be declared, but nothing is done with it. The operand *Depth* says
/// nothing that instructions do not say themselves.
pub(super) fn kind(g: &Globals, inst: &Inst<'_>) -> Res<Kind> {
    let texel = g.types.lookup(inst.arg(0)?)?;
    let dim = Dim::from_u32(inst.arg(1)?).ok_or_else(|| invalid(code::TYPE, "an unknown dimension"))?;
    let operands = [("Depth", inst.arg(2)?, 2), ("Arrayed", inst.arg(3)?, 1), ("MS", inst.arg(4)?, 1)];
    for (name, found, most) in operands {
        if found > most {
            return Err(invalid(code::TYPE, format!("the operand {name} is {found}, expected 0 to {most}")));
        }
    }
    let [_, (_, arrayed, _), (_, multisampled, _)] = operands;
    let arrayed = arrayed != 0;
    let dim = match dim {
        Dim::DimBuffer if !arrayed => ImageDim::Buffer,
        Dim::Dim1D => ImageDim::D1,
        Dim::Dim2D => ImageDim::D2,
        Dim::Dim3D if !arrayed => ImageDim::D3,
        Dim::DimCube => ImageDim::Cube,
        Dim::DimRect => return Ok(Kind::Opaque("rectangle image")),
        Dim::DimSubpassData => return Ok(Kind::Opaque("input attachment")),
        _ => return Ok(Kind::Opaque("image of a dimension that has no arrays")),
    };
    let usage = match inst.arg(5)? {
        1 => ImageUse::Sampled,
        2 => ImageUse::Storage,
        _ => return Ok(Kind::Opaque("image of unknown use")),
    };
    if multisampled != 0 {
        return Ok(Kind::Opaque("multisampled image"));
    }
    if g.types.scalar(texel).is_none() {
        return Ok(Kind::Opaque("image of no scalars"));
    }
    Ok(Kind::Image { texel, kind: ImageKind { dim, arrayed, usage } })
}

/// *OpTypeSampledImage*.
pub(super) fn combined(g: &Globals, inst: &Inst<'_>) -> Res<Kind> {
    let image = g.types.lookup(inst.arg(0)?)?;
    match *g.types.kind(image) {
        Kind::Image { kind: ImageKind { usage: ImageUse::Storage, .. }, .. } => {
            Err(invalid(code::TYPE, "a storage image is not combined with a sampler"))
        }
        Kind::Image { texel, kind } => {
            Ok(Kind::Image { texel, kind: ImageKind { usage: ImageUse::Combined, ..kind } })
        }
        Kind::Opaque(what) => Ok(Kind::Opaque(what)),
        _ => Err(invalid(code::TYPE, format!("expected an image, found {}", g.types.describe(image)))),
    }
}

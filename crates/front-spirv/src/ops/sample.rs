//! Sampling of images: between texels, at a level of detail, through a sampler.
//!
//! A sampled image is a handle as an image is. It either comes from one descriptor, or *OpSampledImage* puts the
//! descriptors of an image and of a sampler together; then the operation names both.

use super::image::{COMPONENTS, Extras, Image, words};
use crate::cx::{Cx, Values};
use crate::diag::{Res, code, operand, unsupported};
use crate::reader::{Id, Inst};
use crate::types::Kind;
use crate::value::{DescriptorPtr, Pointer, Val};
use phalanx_ir::image::{ImageDim, ImageUse};
use phalanx_ir::{self as ir, BinaryOp, ConvertKind, ImageOp, LodKind, SampleKind, SampleOp, Scalar, Value};
use spirv::Op;

/// Translates an instruction of this family.
pub(crate) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    match inst.op {
        Op::SampledImage => combine(cx, inst),
        Op::ImageSampleExplicitLod => sample(cx, inst, Form { compares: false, projective: false }),
        Op::ImageSampleDrefExplicitLod => sample(cx, inst, Form { compares: true, projective: false }),
        Op::ImageSampleProjExplicitLod => sample(cx, inst, Form { compares: false, projective: true }),
        Op::ImageSampleProjDrefExplicitLod => sample(cx, inst, Form { compares: true, projective: true }),
        Op::ImageGather | Op::ImageDrefGather => gather(cx, inst),
        _ => Err(derivatives(inst)),
    }
}

/// What is left is about implicit levels of detail.
fn derivatives(inst: &Inst<'_>) -> crate::diag::Fault {
    let m = format!(
        "{} needs derivatives, which a compute shader has in derivative groups only, and those are not supported; \
         state the level of detail (OpImageSampleExplicitLod, in GLSL textureLod or textureGrad)",
        inst.name()
    );
    unsupported(code::OPCODE, m)
}

/// *OpSampledImage*: image, sampler.
fn combine(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let image = Image::read(cx, inst.arg(0)?)?;
    let ty = cx.result_ty(inst)?;
    match *cx.types().kind(ty) {
        Kind::Image { texel, kind }
            if kind.usage == ImageUse::Combined
                && image.kind.usage == ImageUse::Sampled
                && cx.types().same(texel, image.texel)
                && (kind.dim, kind.arrayed) == (image.kind.dim, image.kind.arrayed) => {}
        _ => {
            let (image, ty) = (cx.types().describe(image.descriptor.ty), cx.types().describe(ty));
            return Err(operand(format!("expected the image of a {ty}, found {image}")));
        }
    }
    let sampler = sampler(cx, inst.arg(1)?)?;
    let descriptor =
        DescriptorPtr { ty, sampler: Some((sampler.binding, sampler.index)), ..image.descriptor };
    cx.define(inst, Val::ptr(Pointer::Descriptors(descriptor)))
}

/// An operand that is a sampler.
fn sampler(cx: &mut Cx<'_>, id: Id) -> Res<DescriptorPtr> {
    match &*cx.pointer(id)? {
        Pointer::Descriptors(p) if matches!(cx.types().kind(p.ty), Kind::Sampler) => Ok(p.clone()),
        _ => {
            let found = cx.types().describe(cx.ty_of(id)?);
            Err(operand(format!("operand %{id} is {found}, expected a sampler")))
        }
    }
}

/// A sampled image.
struct Sampled {
    image: Image,
    scalar: Scalar,
}

impl Sampled {
    fn read(cx: &mut Cx<'_>, id: Id) -> Res<Self> {
        let image = Image::read(cx, id)?;
        if image.kind.usage != ImageUse::Combined || image.kind.dim == ImageDim::Buffer {
            let found = cx.types().describe(image.descriptor.ty);
            return Err(operand(format!(
                "operand %{id} is {found}, expected a sampled image (OpTypeSampledImage)"
            )));
        }
        match image.scalar(cx)? {
            Scalar::I64 => Err(unsupported(code::TYPE, "sampling of images with components of 64 bits")),
            scalar => Ok(Self { image, scalar }),
        }
    }

    /// Checks the type of the result: so many components of the type that the image has.
    fn expect(&self, cx: &Cx<'_>, inst: &Inst<'_>, compares: bool, components: usize) -> Res<()> {
        if compares && self.scalar != Scalar::F32 {
            let found = cx.types().describe(self.image.texel);
            return Err(operand(format!("the image is of {found}; only f32 can be compared")));
        }
        // VUID-StandaloneSpirv-OpImage-04777.
        if compares && self.image.kind.dim == ImageDim::D3 {
            return Err(operand("an image of 3 dimensions cannot be compared"));
        }
        let ty = cx.result_ty(inst)?;
        let elem = cx.types().constituent(ty, 0).unwrap_or(ty);
        if cx.types().lanes(ty) != Some(components as u32) || !cx.types().same(elem, self.image.texel) {
            let (found, texel) = (cx.types().describe(ty), cx.types().describe(self.image.texel));
            return Err(operand(format!("the result type is {found}, expected {components} {texel}")));
        }
        Ok(())
    }

    /// The coordinates, and behind them the divisor of a projective form. There may be more components than needed.
    fn coordinates(&self, cx: &mut Cx<'_>, id: Id, form: Form) -> Res<Values> {
        let n = self.image.kind.sample_coordinates() + usize::from(form.projective);
        let mut values = floats(cx, id)?;
        if values.len() < n {
            let m = format!("the coordinate %{id} has {} components, expected {n}", values.len());
            return Err(operand(m));
        }
        values.truncate(n);
        Ok(values)
    }

    /// Appends what an image operand gives for each axis.
    fn each_axis(&self, id: Id, values: Values, args: &mut Values) -> Res<()> {
        let n = self.image.kind.axes();
        if values.len() != n {
            let m = format!("the image operand %{id} has {} components, expected {n}", values.len());
            return Err(operand(m));
        }
        args.extend(values);
        Ok(())
    }

    /// Appends an offset; gives whether there is one.
    fn offset(&self, cx: &mut Cx<'_>, id: Option<Id>, args: &mut Values) -> Res<bool> {
        let Some(id) = id else { return Ok(false) };
        if self.image.kind.dim == ImageDim::Cube {
            // SPIR-V 3.14: not valid with the Cube dimension.
            return Err(operand("an offset into a cube"));
        }
        let values = words(cx, id)?;
        self.each_axis(id, values, args)?;
        Ok(true)
    }

    /// Samples. The operands begin with the coordinates.
    fn emit(&self, cx: &mut Cx<'_>, op: SampleOp, operands: &[Value]) -> Values {
        let mut args = Values::new();
        if let Some((_, index)) = self.image.descriptor.sampler {
            args.push(cx.index_value(index));
        }
        args.extend_from_slice(operands);
        let components = if op.kind == SampleKind::Compare { 1 } else { COMPONENTS };
        let sampler = self.image.descriptor.sampler.map(|(binding, _)| binding);
        let results = [ir::Type::from(self.scalar); COMPONENTS];
        self.image.emit(cx, ImageOp::Sample(SampleOp { sampler, ..op }), &args, &results[..components])
    }
}

/// The components of a float operand as `f32`s.
fn floats(cx: &mut Cx<'_>, id: Id) -> Res<Values> {
    let values = cx.values(id)?;
    let float = |v: Value| match cx.func.ty(v) {
        ir::Type::F32 => Ok(v),
        ir::Type::Scalar(Scalar::F16) => Ok(cx.b().convert(ConvertKind::FToF, v, Scalar::F32)),
        other => Err(operand(format!("operand %{id} consists of {other}, expected f32"))),
    };
    values.into_iter().map(float).collect()
}

/// A float operand as `f32`.
fn float(cx: &mut Cx<'_>, id: Id) -> Res<Value> {
    match floats(cx, id)?[..] {
        [v] => Ok(v),
        ref values => Err(operand(format!("operand %{id} has {} components, expected 1", values.len()))),
    }
}

/// Variants of an instruction.
#[derive(Clone, Copy)]
struct Form {
    /// A reference for a depth comparison follows the coordinate.
    compares: bool,
    /// The last component of the coordinate divides the others, and the reference.
    projective: bool,
}

/// *OpImageSample…ExplicitLod*: sampled image, coordinate, reference, image operands.
fn sample(cx: &mut Cx<'_>, inst: &Inst<'_>, form: Form) -> Res<()> {
    let sampled = Sampled::read(cx, inst.arg(0)?)?;
    sampled.expect(cx, inst, form.compares, if form.compares { 1 } else { COMPONENTS })?;
    let kind = sampled.image.kind;
    if form.projective && (kind.arrayed || kind.dim == ImageDim::Cube) {
        // The dimension must be 1D, 2D, 3D or Rect, and the image no array.
        return Err(operand("a projective coordinate of a cube or an array"));
    }
    let mut args = sampled.coordinates(cx, inst.arg(1)?, form)?;
    let divisor = if form.projective { args.pop() } else { None };
    if form.compares {
        args.push(cx.scalar(inst.arg(2)?, Scalar::F32)?);
    }
    if let Some(q) = divisor {
        for v in &mut args {
            *v = cx.b().binary(BinaryOp::Fdiv, *v, q);
        }
    }
    let extras = Extras::read(cx, inst.rest(2 + usize::from(form.compares)))?;
    let lod = match (extras.lod, extras.gradients) {
        (Some(level), None) => {
            args.push(float(cx, level)?);
            LodKind::Level
        }
        (None, Some(gradients)) => {
            for id in gradients {
                let values = floats(cx, id)?;
                sampled.each_axis(id, values, &mut args)?;
            }
            LodKind::Gradients
        }
        // SPIR-V 3.14: an explicit level needs one of them, and both together are not valid.
        _ => return Err(operand("expected one of the image operands Lod and Grad")),
    };
    if extras.offsets.is_some() {
        return Err(operand("the image operand ConstOffsets is for gathers only"));
    }
    let has_offset = sampled.offset(cx, extras.offset, &mut args)?;
    if let Some(id) = extras.min_lod {
        if lod != LodKind::Gradients {
            return Err(operand("the image operand MinLod needs an implicit level or Grad"));
        }
        args.push(float(cx, id)?);
    }
    let has_min_lod = extras.min_lod.is_some();
    let kind = if form.compares { SampleKind::Compare } else { SampleKind::Sample };
    let op = SampleOp { sampler: None, kind, lod, has_offset, has_min_lod };
    let result = sampled.emit(cx, op, &args);
    cx.define_values(inst, &result)
}

/// *OpImageGather*: sampled image, coordinate, component, image operands. *OpImageDrefGather* has a reference in the
/// place of the component.
fn gather(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let sampled = Sampled::read(cx, inst.arg(0)?)?;
    let compares = inst.op == Op::ImageDrefGather;
    sampled.expect(cx, inst, compares, COMPONENTS)?;
    if !matches!(sampled.image.kind.dim, ImageDim::D2 | ImageDim::Cube) {
        return Err(operand("only images of 2 dimensions and cubes can be gathered"));
    }
    let mut args = sampled.coordinates(cx, inst.arg(1)?, Form { compares, projective: false })?;
    let kind = if compares {
        args.push(cx.scalar(inst.arg(2)?, Scalar::F32)?);
        SampleKind::GatherCompare
    } else {
        SampleKind::Gather(component(cx, inst.arg(2)?)?)
    };
    let extras = Extras::read(cx, inst.rest(3))?;
    if extras.lod.is_some() {
        return Err(unsupported(code::OPERAND, "the image operand Lod of a gather"));
    }
    if extras.gradients.is_some() || extras.min_lod.is_some() {
        return Err(operand("a gather is of the base level: it has no image operands Grad and MinLod"));
    }
    let has_offset = extras.offset.is_some() || extras.offsets.is_some();
    let op = SampleOp { sampler: None, kind, lod: LodKind::Base, has_offset, has_min_lod: false };
    let result = match extras.offsets {
        Some(id) => gather_apart(cx, &sampled, op, &args, id)?,
        None => {
            sampled.offset(cx, extras.offset, &mut args)?;
            sampled.emit(cx, op, &args)
        }
    };
    cx.define_values(inst, &result)
}

/// The component that a gather takes.
fn component(cx: &Cx<'_>, id: Id) -> Res<u8> {
    match cx.const_bits(id) {
        Some(bits @ 0..=3) => Ok(bits as u8),
        Some(bits) => Err(operand(format!("the component of a gather is {bits}, expected 0 to 3"))),
        // VUID-StandaloneSpirv-OpImageGather-04664.
        None => Err(operand(format!("the component %{id} of a gather must be a constant"))),
    }
}

/// A gather of four texels with an offset each. Each is (i0, j0) of a gather of its own, which comes last there.
fn gather_apart(cx: &mut Cx<'_>, sampled: &Sampled, op: SampleOp, args: &[Value], id: Id) -> Res<Values> {
    let axes = sampled.image.kind.axes();
    if sampled.image.kind.dim == ImageDim::Cube {
        return Err(operand("an offset into a cube"));
    }
    let offsets = cx.values(id)?;
    if !matches!(cx.types().kind(cx.ty_of(id)?), Kind::Array { n: 4, .. }) || offsets.len() != 4 * axes {
        let found = cx.types().describe(cx.ty_of(id)?);
        return Err(operand(format!("the image operand %{id} is {found}, expected an array of 4 offsets")));
    }
    let mut texels = Values::new();
    for offset in offsets.chunks_exact(axes) {
        let mut args = Values::from_slice(args);
        for &v in offset {
            cx.expect(id, v, ir::Type::I32)?;
            args.push(v);
        }
        texels.extend(sampled.emit(cx, op, &args).last().copied());
    }
    Ok(texels)
}

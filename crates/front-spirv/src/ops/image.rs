//! Images and texel buffers: reads and writes of texels, and queries. Sampling is in [`super::sample`].
//!
//! An image is no value of the IR. Its handle is a pointer to its descriptor, and a load hands that on.

use super::componentwise::{self as cw, Class};
use crate::cx::{Cx, Values};
use crate::diag::{Res, code, invalid, operand, unsupported};
use crate::reader::{Id, Inst};
use crate::types::{Kind, Ty};
use crate::value::{DescriptorPtr, Pointer, TexelPtr, Val};
use phalanx_ir::image::ImageKind;
use phalanx_ir::{self as ir, AtomicOp, BinaryOp, ConvertKind, ImageOp, Scalar, Value};
use spirv::{ImageOperands, Op};

/// Components of a texel.
pub(super) const COMPONENTS: usize = 4;

/// Translates an instruction of this family.
pub(crate) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    match inst.op {
        Op::ImageRead | Op::ImageFetch => read(cx, inst),
        Op::ImageWrite => write(cx, inst),
        Op::ImageTexelPointer => texel_pointer(cx, inst),
        Op::ImageQuerySize | Op::ImageQuerySizeLod => size(cx, inst),
        Op::ImageQueryLevels => levels(cx, inst),
        Op::Image => part(cx, inst),
        _ => Err(unsupported(code::OPCODE, format!("{} is not supported", inst.name()))),
    }
}

/// An image operand.
pub(super) struct Image {
    pub(super) descriptor: DescriptorPtr,
    pub(super) kind: ImageKind,
    /// Type of a component.
    pub(super) texel: Ty,
}

impl Image {
    /// The handle that an operand is.
    pub(super) fn read(cx: &mut Cx<'_>, id: Id) -> Res<Self> {
        match &*cx.pointer(id)? {
            Pointer::Descriptors(p) => Self::of(cx, p.clone()),
            _ => Err(operand(format!("operand %{id} is no image"))),
        }
    }

    fn of(cx: &Cx<'_>, descriptor: DescriptorPtr) -> Res<Self> {
        match *cx.types().kind(descriptor.ty) {
            Kind::Image { texel, kind } => Ok(Self { descriptor, kind, texel }),
            _ => {
                let m = format!("expected an image, found {}", cx.types().describe(descriptor.ty));
                Err(operand(m))
            }
        }
    }

    /// The type of a component in the IR.
    pub(super) fn scalar(&self, cx: &Cx<'_>) -> Res<Scalar> {
        let scalar = cx.types().scalar(self.texel);
        let known = scalar.filter(|s| [Scalar::I32, Scalar::F32, Scalar::I64].contains(s));
        known.ok_or_else(|| {
            let m = format!("images of {}", cx.types().describe(self.texel));
            unsupported(code::TYPE, m)
        })
    }

    /// Appends an operation on the image: its index stands before all other operands.
    pub(super) fn emit(&self, cx: &mut Cx<'_>, op: ImageOp, args: &[Value], results: &[ir::Type]) -> Values {
        let mut all = Values::from_slice(&[cx.index_value(self.descriptor.index)]);
        all.extend_from_slice(args);
        let values = cx.b().values(ir::Op::Image(self.descriptor.binding, op), &all, results);
        values.into_iter().collect()
    }

    /// The coordinates of a texel.
    fn coordinates(&self, cx: &mut Cx<'_>, id: Id) -> Res<Values> {
        let n = self.kind.coordinates();
        let mut values = words(cx, id)?;
        if values.len() < n {
            return Err(operand(format!("operand %{id} has {} components, expected {n}", values.len())));
        }
        values.truncate(n);
        Ok(values)
    }

    fn expect_writable(&self, cx: &Cx<'_>) -> Res<()> {
        let b = cx.module.binding(self.descriptor.binding);
        if b.writable {
            return Ok(());
        }
        Err(operand(format!("the image of set {}, binding {} is not writable", b.set, b.binding)))
    }
}

/// The components of an integer operand as `i32`s.
pub(super) fn words(cx: &mut Cx<'_>, id: Id) -> Res<Values> {
    let values = cx.values(id)?;
    let signed = cx.types().is_signed(cx.ty_of(id)?);
    let kind = if signed { ConvertKind::SToS } else { ConvertKind::UToU };
    let word = |v: Value| match cx.func.ty(v) {
        ir::Type::I32 => Ok(v),
        ir::Type::Scalar(s) if s.is_int() => Ok(cx.b().convert(kind, v, Scalar::I32)),
        other => Err(operand(format!("operand %{id} consists of {other}, expected integers"))),
    };
    values.into_iter().map(word).collect()
}

/// What the image operands of an instruction ask for, by the ids behind the mask.
#[derive(Default)]
pub(super) struct Extras {
    pub(super) lod: Option<Id>,
    pub(super) gradients: Option<[Id; 2]>,
    pub(super) offset: Option<Id>,
    pub(super) offsets: Option<Id>,
    pub(super) min_lod: Option<Id>,
}

impl Extras {
    /// Reads a mask and what follows its bits, in the order of the bits. Reading sees all that is written anyway, and
    /// a format says itself how its integers are extended.
    pub(super) fn read(cx: &Cx<'_>, words: &[u32]) -> Res<Self> {
        use ImageOperands as O;
        let Some((&mask, mut rest)) = words.split_first() else { return Ok(Self::default()) };
        let alone =
            O::NON_PRIVATE_TEXEL | O::VOLATILE_TEXEL | O::SIGN_EXTEND | O::ZERO_EXTEND | O::NONTEMPORAL;
        let mut extras = Self::default();
        let asked = O::from_bits_retain(mask);
        for (name, bit) in asked.difference(alone).iter_names() {
            let mut next = || -> Res<Id> {
                let (&id, tail) =
                    rest.split_first().ok_or_else(|| operand("the image operands are incomplete"))?;
                rest = tail;
                Ok(id)
            };
            match bit {
                O::LOD => extras.lod = Some(next()?),
                O::GRAD => extras.gradients = Some([next()?, next()?]),
                O::CONST_OFFSET => extras.offset = Some(constant(cx, next()?)?),
                O::OFFSET => extras.offset = Some(next()?),
                O::CONST_OFFSETS => extras.offsets = Some(constant(cx, next()?)?),
                O::MIN_LOD => extras.min_lod = Some(next()?),
                O::MAKE_TEXEL_AVAILABLE | O::MAKE_TEXEL_VISIBLE => {
                    cx.scope(next()?)?;
                }
                // SPIR-V 3.14: Bias is for implicit levels of detail.
                O::BIAS => {
                    return Err(operand(
                        "the image operand Bias of an instruction without an implicit level",
                    ));
                }
                _ => return Err(unsupported(code::OPERAND, format!("the image operand {name}"))),
            }
        }
        let unknown = mask & !O::all().bits();
        if unknown != 0 {
            return Err(unsupported(code::OPERAND, format!("image operands {unknown:#x}")));
        }
        if (asked & (O::CONST_OFFSET | O::OFFSET | O::CONST_OFFSETS)).iter().count() > 1 {
            // SPIR-V 3.14.
            return Err(operand(
                "at most one of the image operands ConstOffset, Offset and ConstOffsets is allowed",
            ));
        }
        Ok(extras)
    }

    /// Checks that nothing is asked for but a level and an offset of texels.
    fn of_texel(self) -> Res<Self> {
        if self.gradients.is_some() || self.offsets.is_some() || self.min_lod.is_some() {
            return Err(operand("the image operands Grad, ConstOffsets and MinLod are for sampling"));
        }
        Ok(self)
    }
}

/// An operand that must be a constant.
fn constant(cx: &Cx<'_>, id: Id) -> Res<Id> {
    match cx.globals.get(id) {
        Some(_) => Ok(id),
        None => Err(operand(format!("the offset %{id} must be a constant"))),
    }
}

/// *OpImageRead*, *OpImageFetch*: image, coordinates, image operands.
fn read(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let image = Image::read(cx, inst.arg(0)?)?;
    if image.kind.is_storage() != (inst.op == Op::ImageRead) {
        return Err(operand("OpImageRead is for storage images, OpImageFetch for images to be sampled"));
    }
    let scalar = image.scalar(cx)?;
    let mut args = image.coordinates(cx, inst.arg(1)?)?;
    let extras = Extras::read(cx, inst.rest(2))?.of_texel()?;
    if let Some(id) = extras.offset {
        // There is an offset for each axis, but none for the layer of an array.
        for (coordinate, offset) in args.iter_mut().zip(words(cx, id)?) {
            *coordinate = cx.b().binary(BinaryOp::Iadd, *coordinate, offset);
        }
    }
    match extras.lod {
        Some(_) if image.kind.is_storage() => {
            return Err(unsupported(code::OPERAND, "a level of detail of a storage image"));
        }
        Some(id) => args.push(cx.index_i32(id)?),
        None => {}
    }
    let mut texel = image.emit(cx, ImageOp::Load, &args, &[scalar.into(); COMPONENTS]);
    let ty = cx.result_ty(inst)?;
    let n = cx.types().lanes(ty).unwrap_or(0) as usize;
    texel.truncate(n);
    cx.define_values(inst, &texel)
}

/// *OpImageWrite*: image, coordinates, texel, image operands.
fn write(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let image = Image::read(cx, inst.arg(0)?)?;
    image.expect_writable(cx)?;
    let scalar = image.scalar(cx)?;
    let mut args = image.coordinates(cx, inst.arg(1)?)?;
    let id = inst.arg(2)?;
    let mut texel = cx.values(id)?;
    if texel.len() > COMPONENTS {
        return Err(operand(format!("operand %{id} has {} components, expected 4", texel.len())));
    }
    for &v in &texel {
        cx.expect(id, v, scalar.into())?;
    }
    // VUID-RuntimeSpirv-OpImageWrite-07112: there are at least as many components as the format has.
    let zero = cx.constant(scalar, 0);
    texel.resize(COMPONENTS, zero);
    let extras = Extras::read(cx, inst.rest(3))?.of_texel()?;
    if extras.lod.is_some() || extras.offset.is_some() {
        return Err(unsupported(code::OPERAND, "a level of detail or an offset of a write"));
    }
    args.extend(texel);
    image.emit(cx, ImageOp::Store, &args, &[]);
    Ok(())
}

/// *OpImageTexelPointer*: pointer to an image, coordinates, sample.
fn texel_pointer(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let image = Image::read(cx, inst.arg(0)?)?;
    if !image.kind.is_storage() {
        return Err(operand("a pointer to a texel of an image that is no storage image"));
    }
    let coordinates = image.coordinates(cx, inst.arg(1)?)?;
    if cx.const_bits(inst.arg(2)?) != Some(0) {
        // OpImageTexelPointer: 0 if the image is not multisampled.
        return Err(operand("the sample of an image with one sample must be 0"));
    }
    let (_, pointee) = cx.types().pointer(cx.result_ty(inst)?)?;
    if pointee.is_none_or(|pointee| !cx.types().same(pointee, image.texel)) {
        return Err(operand("the result does not point to what the image consists of"));
    }
    let texel = TexelPtr { image: image.descriptor, coordinates, ty: image.texel };
    cx.define(inst, Val::ptr(Pointer::Texel(texel)))
}

/// An atomic operation on a texel.
pub(super) fn atomic(
    cx: &mut Cx<'_>,
    texel: &TexelPtr,
    op: AtomicOp,
    operands: &[Value],
    results: &[ir::Type],
) -> Res<Values> {
    let image = Image::of(cx, texel.image.clone())?;
    image.scalar(cx)?;
    if op != AtomicOp::Load {
        image.expect_writable(cx)?;
    }
    let mut args = texel.coordinates.clone();
    args.extend_from_slice(operands);
    Ok(image.emit(cx, ImageOp::Atomic(op), &args, results))
}

/// *OpImageQuerySize*, *OpImageQuerySizeLod*: image, and the level.
fn size(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let image = Image::read(cx, inst.arg(0)?)?;
    let mut args = Values::new();
    if inst.op == Op::ImageQuerySizeLod {
        if image.kind.is_storage() {
            return Err(operand("OpImageQuerySizeLod of a storage image"));
        }
        args.push(cx.index_i32(inst.arg(1)?)?);
    }
    let sizes = vec![ir::Type::I32; image.kind.sizes()];
    let size = image.emit(cx, ImageOp::Size, &args, &sizes);
    define_words(cx, inst, &size)
}

/// *OpImageQueryLevels*.
fn levels(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let image = Image::read(cx, inst.arg(0)?)?;
    let levels = image.emit(cx, ImageOp::Levels, &[], &[ir::Type::I32]);
    define_words(cx, inst, &levels)
}

/// Gives the result of an instruction, integers of some width, its value.
fn define_words(cx: &mut Cx<'_>, inst: &Inst<'_>, words: &[Value]) -> Res<()> {
    let to = cw::result_scalar(cx, inst, Class::Int)?;
    let convert = |&v: &Value| match to {
        Scalar::I32 => v,
        to => cx.b().convert(ConvertKind::UToU, v, to),
    };
    let values: Values = words.iter().map(convert).collect();
    cx.define_values(inst, &values)
}

/// *OpImage*: the image of a sampled image.
fn part(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let image = Image::read(cx, inst.arg(0)?)?;
    let ty = cx.result_ty(inst)?;
    match *cx.types().kind(ty) {
        Kind::Image { texel, kind }
            if texel == image.texel && (kind.dim, kind.arrayed) == (image.kind.dim, image.kind.arrayed) =>
        {
            let descriptor = DescriptorPtr { ty, sampler: None, ..image.descriptor };
            cx.define(inst, Val::ptr(Pointer::Descriptors(descriptor)))
        }
        _ => {
            let m = format!("the image is {}", cx.types().describe(ty));
            Err(invalid(code::TYPE, m))
        }
    }
}

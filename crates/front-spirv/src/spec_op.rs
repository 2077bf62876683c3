//! *OpSpecConstantOp*, evaluated at translation.
//!
//! Scalars go through [`phalanx_ir::eval`], so a specialised constant has the value that the same
//! instruction would give at run time. Vectors are evaluated component by component.

use crate::diag::{Fault, Res, bug, code, operand, unsupported};
use crate::globals::Globals;
use crate::module::Spv;
use crate::reader::{Id, Inst, op_name};
use crate::types::{Kind, Ty};
use crate::value::Val;
use phalanx_ir::eval;
use phalanx_ir::{self as ir, BinaryOp, CompareOp, ConvertKind, ConvertOp, Scalar, UnaryOp};
use spirv::Op;

/// A constant scalar.
#[derive(Clone, Copy, Debug)]
struct Bits {
    ty: Scalar,
    bits: u64,
}

/// Whether some *OpSpecConstantOp* is the length of a cooperative matrix.
pub(crate) fn has_length(spv: &Spv<'_>) -> bool {
    let mut insts = spv.globals.iter().map(|&i| &spv.insts[i]).filter(|inst| inst.op == Op::SpecConstantOp);
    let lengths = [Op::CooperativeMatrixLengthKHR, Op::CooperativeMatrixLengthNV].map(|op| op as u32);
    insts.any(|inst| inst.arg(0).is_ok_and(|op| lengths.contains(&op)))
}

/// Evaluates an *OpSpecConstantOp* with result type `ty`.
pub(crate) fn evaluate(g: &Globals, inst: &Inst<'_>, ty: Ty) -> Res<Val> {
    let word = inst.arg(0)?;
    let op = Op::from_u32(word).ok_or_else(|| operand(format!("unknown opcode {word}")))?;
    let args = inst.rest(1);
    let at = |i: usize| args.get(i).copied().ok_or_else(|| operand(format!("lacks operand {i}")));
    let val = match op {
        Op::CompositeExtract => extract(g, ty, at(0)?, args.get(1..).unwrap_or_default())?,
        Op::CompositeInsert => {
            let (object, part) = g.constant(at(0)?)?.clone();
            let (composite, val) = g.constant(at(1)?)?.clone();
            insert(g, composite, &val, args.get(2..).unwrap_or_default(), (object, part))?
        }
        Op::VectorShuffle => return shuffle(g, ty, at(0)?, at(1)?, args.get(2..).unwrap_or_default()),
        Op::Select => return select(g, ty, at(0)?, at(1)?, at(2)?),
        Op::CompositeConstructReplicateEXT => return g.replicated(ty, at(0)?),
        Op::CooperativeMatrixLengthKHR | Op::CooperativeMatrixLengthNV => {
            let mat = g.types.lookup(at(0)?)?;
            (ty, Val::Const(ir::Type::I32, u64::from(g.coop_length(mat)?)))
        }
        Op::CopyLogical | Op::CopyObject => g.constant(at(0)?)?.clone(),
        _ => return componentwise(g, op, ty, args),
    };
    if !g.types.same(val.0, ty) || g.types.leaf(ty).is_some_and(|l| !fits(&val.1, l)) {
        let (found, wanted) = (g.types.describe(val.0), g.types.describe(ty));
        return Err(operand(format!("{} gives {found}, expected {wanted}", op_name(op))));
    }
    Ok(val.1)
}

fn fits(val: &Val, leaf: ir::Type) -> bool {
    !matches!(val, Val::Const(found, _) if *found != leaf)
}

/// A constituent, of type `wanted`. A constant matrix has the same value in all its components.
fn extract(g: &Globals, wanted: Ty, id: Id, path: &[u32]) -> Res<(Ty, Val)> {
    let (mut ty, mut val) = g.constant(id)?.clone();
    for &i in path {
        if let Some(mat) = g.types.coop_mat(ty) {
            let component = match val {
                Val::Const(_, bits) => Val::Const(mat.elem.into(), bits),
                other => other,
            };
            (ty, val) = if g.types.leaf(wanted) == Some(mat.elem.into()) {
                (wanted, component)
            } else {
                return Err(operand(format!("a component is {}", mat.elem)));
            };
            continue;
        }
        val = g.types.part(ty, &val, i)?;
        ty = g.types.constituent(ty, i).ok_or_else(|| operand("too many indices"))?;
    }
    Ok((ty, val))
}

fn insert(g: &Globals, ty: Ty, val: &Val, path: &[u32], new: (Ty, Val)) -> Res<(Ty, Val)> {
    let Some((&i, rest)) = path.split_first() else {
        if !g.types.same(new.0, ty) {
            return Err(operand("the object does not have the type of the constituent"));
        }
        return Ok((ty, new.1));
    };
    let part = g.types.part(ty, val, i)?;
    let elem = g.types.constituent(ty, i).ok_or_else(|| operand("too many indices"))?;
    let part = insert(g, elem, &part, rest, new)?.1;
    // Bounds the number of parts.
    g.types.leaf_types(ty)?;
    let n = g.types.count(ty).unwrap_or(0);
    g.spend(n)?;
    let parts = (0..n).map(|j| if j == i { Ok(part.clone()) } else { g.types.part(ty, val, j) });
    Ok((ty, Val::Many(parts.collect::<Res<_>>()?)))
}

fn shuffle(g: &Globals, ty: Ty, a: Id, b: Id, indices: &[u32]) -> Res<Val> {
    let mut all = scalars(g, a)?;
    all.extend(scalars(g, b)?);
    let wanted = element(g, ty)?;
    let mut out = Vec::new();
    for &i in indices {
        let found = if i == u32::MAX { Bits { ty: wanted, bits: 0 } } else { *pick(&all, i as usize)? };
        out.push(found);
    }
    result(g, ty, &out)
}

fn pick(all: &[Bits], i: usize) -> Res<&Bits> {
    all.get(i).ok_or_else(|| operand(format!("component {i} of {}", all.len())))
}

fn select(g: &Globals, ty: Ty, cond: Id, a: Id, b: Id) -> Res<Val> {
    let conds = scalars(g, cond)?;
    let (x, y) = (g.constant(a)?, g.constant(b)?);
    if !g.types.same(x.0, ty) || !g.types.same(y.0, ty) {
        return Err(operand("the objects do not have the result type"));
    }
    if let [cond] = conds[..] {
        return Ok(if cond.bits != 0 { x.1.clone() } else { y.1.clone() });
    }
    let (x, y) = (scalars(g, a)?, scalars(g, b)?);
    if conds.len() != x.len() {
        return Err(operand(format!("{} conditions for {} components", conds.len(), x.len())));
    }
    let out: Vec<Bits> =
        conds.iter().zip(x.iter().zip(&y)).map(|(c, (x, y))| if c.bits != 0 { *x } else { *y }).collect();
    result(g, ty, &out)
}

/// The components of a constant scalar or vector.
fn scalars(g: &Globals, id: Id) -> Res<Vec<Bits>> {
    let (ty, val) = g.constant(id)?;
    let scalar = |val: &Val| match val {
        Val::Const(ir::Type::Scalar(ty), bits) => Ok(Bits { ty: *ty, bits: *bits }),
        _ => Err(operand(format!("operand %{id} is no constant scalar or vector"))),
    };
    match g.types.kind(*ty) {
        Kind::Vector { n, .. } => (0..*n).map(|i| scalar(&g.types.part(*ty, val, i)?)).collect(),
        _ => Ok(vec![scalar(val)?]),
    }
}

/// The scalar type of a scalar or vector.
fn element(g: &Globals, ty: Ty) -> Res<Scalar> {
    let is_plain = g.types.lanes(ty).is_some() && g.types.coop_mat(ty).is_none();
    g.types
        .scalar(ty)
        .filter(|_| is_plain)
        .ok_or_else(|| operand(format!("the result type is {}", g.types.describe(ty))))
}

/// A scalar or vector of these components.
fn result(g: &Globals, ty: Ty, values: &[Bits]) -> Res<Val> {
    let (scalar, lanes) = (element(g, ty)?, g.types.lanes(ty).unwrap_or(1));
    if lanes as usize != values.len() {
        return Err(operand(format!("the result has {lanes} components, the operands {}", values.len())));
    }
    if let Some(other) = values.iter().find(|v| v.ty != scalar) {
        return Err(operand(format!("the result type is {scalar}, but the operands give {}", other.ty)));
    }
    let mut parts = values.iter().map(|v| Val::Const(scalar.into(), v.bits & scalar.mask()));
    match g.types.kind(ty) {
        Kind::Vector { .. } => Ok(Val::many(parts)),
        _ => parts.next().ok_or_else(|| bug("a scalar without a component")),
    }
}

/// Everything that works component by component.
fn componentwise(g: &Globals, op: Op, ty: Ty, args: &[Id]) -> Res<Val> {
    let args: Vec<Vec<Bits>> = args.iter().map(|&id| scalars(g, id)).collect::<Res<_>>()?;
    let wanted = element(g, ty)?;
    let lanes = args.first().map_or(0, Vec::len);
    let mut out = Vec::with_capacity(lanes);
    for i in 0..lanes {
        let operands: Vec<Bits> = args.iter().map(|a| pick(a, i).copied()).collect::<Res<_>>()?;
        out.push(scalar_op(op, wanted, &operands)?);
    }
    result(g, ty, &out)
}

fn scalar_op(op: Op, wanted: Scalar, x: &[Bits]) -> Res<Bits> {
    match *x {
        [a] => unary(op, wanted, a),
        [a, b] => binary(op, a, b),
        _ => Err(not_built(op)),
    }
}

fn not_built(op: Op) -> Fault {
    unsupported(code::OPCODE, format!("{} in OpSpecConstantOp", op_name(op)))
}

fn check(op: Op, ok: bool, x: Bits) -> Res<()> {
    if ok { Ok(()) } else { Err(operand(format!("{} of {}", op_name(op), x.ty))) }
}

fn unary(op: Op, wanted: Scalar, x: Bits) -> Res<Bits> {
    let same = |op| Ok(Bits { ty: x.ty, bits: eval::unary(op, x.ty, x.bits) });
    let convert = |kind| {
        let (from_float, to_float) = (x.ty.is_float(), wanted.is_float());
        let ok = match kind {
            ConvertKind::SToS | ConvertKind::UToU => x.ty.is_int() && wanted.is_int(),
            ConvertKind::FToF => from_float && to_float,
            ConvertKind::FToS | ConvertKind::FToU => from_float && wanted.is_int(),
            ConvertKind::SToF | ConvertKind::UToF => x.ty.is_int() && to_float,
        };
        check(op, ok, x)?;
        Ok(Bits { ty: wanted, bits: eval::convert(ConvertOp::new(kind), x.ty, wanted, x.bits) })
    };
    match op {
        Op::SNegate => check(op, x.ty.is_int(), x).and_then(|()| same(UnaryOp::Ineg)),
        Op::Not => check(op, x.ty.is_int(), x).and_then(|()| same(UnaryOp::Not)),
        Op::LogicalNot => check(op, x.ty == Scalar::Bool, x).and_then(|()| same(UnaryOp::Not)),
        Op::FNegate => check(op, x.ty.is_arithmetic_float(), x).and_then(|()| same(UnaryOp::Fneg)),
        Op::BitReverse => check(op, x.ty.is_int(), x).and_then(|()| same(UnaryOp::BitReverse)),
        Op::BitCount => check(op, x.ty.is_int(), x).and_then(|()| same(UnaryOp::BitCount)),
        Op::SConvert => convert(ConvertKind::SToS),
        Op::UConvert => convert(ConvertKind::UToU),
        Op::FConvert => convert(ConvertKind::FToF),
        Op::ConvertFToS => convert(ConvertKind::FToS),
        Op::ConvertFToU => convert(ConvertKind::FToU),
        Op::ConvertSToF => convert(ConvertKind::SToF),
        Op::ConvertUToF => convert(ConvertKind::UToF),
        Op::QuantizeToF16 => {
            check(op, x.ty == Scalar::F32, x)?;
            let to = |from, to, bits| eval::convert(ConvertOp::new(ConvertKind::FToF), from, to, bits);
            let half = to(Scalar::F32, Scalar::F16, x.bits);
            Ok(Bits { ty: x.ty, bits: to(Scalar::F16, Scalar::F32, quantized(half)) })
        }
        Op::Bitcast => {
            check(op, x.ty.bits() == wanted.bits() && x.ty != Scalar::Bool, x)?;
            Ok(Bits { ty: wanted, bits: x.bits })
        }
        _ => Err(not_built(op)),
    }
}

/// *OpQuantizeToF16* flushes what is too small for a normal `f16` to zero of the same sign.
fn quantized(half: u64) -> u64 {
    if half & 0x7c00 == 0 { half & 0x8000 } else { half }
}

fn binary(op: Op, a: Bits, b: Bits) -> Res<Bits> {
    let is_shift = matches!(op, Op::ShiftLeftLogical | Op::ShiftRightLogical | Op::ShiftRightArithmetic);
    check(op, a.ty == b.ty || is_shift && b.ty.is_int(), b)?;
    if let Some((compare, swap)) = comparison(op) {
        let (x, y) = if swap { (b, a) } else { (a, b) };
        check(op, compare_fits(compare, a.ty), a)?;
        let bits = u64::from(eval::compare(compare, a.ty, x.bits, y.bits));
        return Ok(Bits { ty: Scalar::Bool, bits });
    }
    if let Some(logical) = logical(op) {
        check(op, a.ty == Scalar::Bool, a)?;
        return Ok(Bits { ty: Scalar::Bool, bits: u64::from(logical(a.bits != 0, b.bits != 0)) });
    }
    let binary = arithmetic(op).ok_or_else(|| not_built(op))?;
    let is_float = matches!(
        binary,
        BinaryOp::Fadd | BinaryOp::Fsub | BinaryOp::Fmul | BinaryOp::Fdiv | BinaryOp::Frem | BinaryOp::Fmod
    );
    check(op, if is_float { a.ty.is_arithmetic_float() } else { a.ty.is_int() }, a)?;
    // Shift counts may differ in width; they are small numbers either way.
    let y = if is_shift { b.bits & a.ty.mask() } else { b.bits };
    Ok(Bits { ty: a.ty, bits: eval::binary(binary, a.ty, a.bits, y) })
}

fn compare_fits(op: CompareOp, ty: Scalar) -> bool {
    match op {
        CompareOp::Ieq | CompareOp::Ine => ty.is_int(),
        CompareOp::Slt | CompareOp::Sle | CompareOp::Ult | CompareOp::Ule => ty.is_int(),
        _ => ty.is_arithmetic_float(),
    }
}

/// The comparison that an opcode is, and whether its operands are exchanged.
fn comparison(op: Op) -> Option<(CompareOp, bool)> {
    Some(match op {
        Op::IEqual => (CompareOp::Ieq, false),
        Op::INotEqual => (CompareOp::Ine, false),
        Op::ULessThan => (CompareOp::Ult, false),
        Op::SLessThan => (CompareOp::Slt, false),
        Op::ULessThanEqual => (CompareOp::Ule, false),
        Op::SLessThanEqual => (CompareOp::Sle, false),
        Op::UGreaterThan => (CompareOp::Ult, true),
        Op::SGreaterThan => (CompareOp::Slt, true),
        Op::UGreaterThanEqual => (CompareOp::Ule, true),
        Op::SGreaterThanEqual => (CompareOp::Sle, true),
        _ => return None,
    })
}

fn logical(op: Op) -> Option<fn(bool, bool) -> bool> {
    Some(match op {
        Op::LogicalOr => |a, b| a || b,
        Op::LogicalAnd => |a, b| a && b,
        Op::LogicalEqual => |a, b| a == b,
        Op::LogicalNotEqual => |a, b| a != b,
        _ => return None,
    })
}

fn arithmetic(op: Op) -> Option<BinaryOp> {
    Some(match op {
        Op::IAdd => BinaryOp::Iadd,
        Op::ISub => BinaryOp::Isub,
        Op::IMul => BinaryOp::Imul,
        Op::UDiv => BinaryOp::Udiv,
        Op::SDiv => BinaryOp::Sdiv,
        Op::UMod => BinaryOp::Umod,
        Op::SRem => BinaryOp::Srem,
        Op::SMod => BinaryOp::Smod,
        Op::ShiftRightLogical => BinaryOp::Lshr,
        Op::ShiftRightArithmetic => BinaryOp::Ashr,
        Op::ShiftLeftLogical => BinaryOp::Shl,
        Op::BitwiseOr => BinaryOp::Or,
        Op::BitwiseXor => BinaryOp::Xor,
        Op::BitwiseAnd => BinaryOp::And,
        Op::FAdd => BinaryOp::Fadd,
        Op::FSub => BinaryOp::Fsub,
        Op::FMul => BinaryOp::Fmul,
        Op::FDiv => BinaryOp::Fdiv,
        Op::FRem => BinaryOp::Frem,
        Op::FMod => BinaryOp::Fmod,
        _ => return None,
    })
}

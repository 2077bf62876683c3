//! Cooperative matrices: SPV_KHR_cooperative_matrix and SPV_NV_cooperative_matrix.
//!
//! Loads, stores, multiply-add and length. Arithmetic, conversions and composites treat a matrix as
//! one more kind of operand and are with their families.
//!
//! The two extensions differ in the order of operands, in where signedness comes from, and in that
//! only the KHR one knows saturation and pointers without a type.

use super::blocked::{self, Order};
use super::componentwise::{self as cw, Class};
use crate::cx::Cx;
use crate::diag::{Res, code, invalid, operand, unsupported};
use crate::reader::{Id, Inst};
use crate::types::Kind;
use crate::value::MemPtr;
use phalanx_ir::{self as ir, BinaryOp as B, MatType, MemFlags, MulAddFlags, Scalar, Use, Value};
use spirv::{CooperativeMatrixOperands, Op};

/// Translates an instruction of this family.
pub(crate) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    match inst.op {
        Op::CooperativeMatrixLoadKHR => {
            if let Some(order) = Order::of(cx.const_u32(inst.arg(1)?)?) {
                return blocked::load(cx, inst, order);
            }
            let access = Access::khr(cx, inst, 0)?;
            load(cx, inst, &access)
        }
        Op::CooperativeMatrixLoadNV => {
            let access = Access::nv(cx, inst, 0)?;
            load(cx, inst, &access)
        }
        Op::CooperativeMatrixStoreKHR => {
            if let Some(order) = Order::of(cx.const_u32(inst.arg(2)?)?) {
                return blocked::store(cx, inst, order);
            }
            let access = Access::khr(cx, inst, 1)?;
            store(cx, inst, &access)
        }
        Op::CooperativeMatrixStoreNV => {
            let access = Access::nv(cx, inst, 1)?;
            store(cx, inst, &access)
        }
        Op::CooperativeMatrixMulAddKHR => mul_add(cx, inst, false),
        Op::CooperativeMatrixMulAddNV => mul_add(cx, inst, true),
        Op::CooperativeMatrixLengthKHR | Op::CooperativeMatrixLengthNV => length(cx, inst),
        _ => Err(unsupported(code::OPCODE, format!("{} is not supported", inst.name()))),
    }
}

/// Where a matrix is in memory.
struct Access {
    pointer: Value,
    /// Bytes between rows, or columns if column-major.
    stride: Value,
    column_major: bool,
    flags: MemFlags,
}

impl Access {
    /// The operands of a KHR load (`objects` = 0) or store (1): pointer, object, layout, then
    /// optionally stride, and behind that memory operands. They are told apart by position.
    fn khr(cx: &mut Cx<'_>, inst: &Inst<'_>, objects: usize) -> Res<Self> {
        let (pointer, p) = cx.memory(inst.arg(0)?)?;
        let column_major = match cx.const_u32(inst.arg(1 + objects)?)? {
            0 => false,
            1 => true,
            layout => return Err(unsupported(code::OPERAND, format!("cooperative matrix layout {layout}"))),
        };
        let Some(&stride) = inst.args.get(2 + objects) else {
            // "Stride must be present if MemoryLayout is RowMajorKHR or ColumnMajorKHR."
            return Err(invalid(code::OPERAND, "lacks the Stride that its layout needs"));
        };
        let stride = stride_bytes(cx, stride, &p)?;
        let flags = memory_flags(cx, inst, 3 + objects, &p)?;
        Ok(Self { pointer, stride, column_major, flags })
    }

    /// The operands of an NV load or store: pointer, object, stride, whether it is column-major.
    fn nv(cx: &mut Cx<'_>, inst: &Inst<'_>, objects: usize) -> Res<Self> {
        let (pointer, p) = cx.memory(inst.arg(0)?)?;
        let stride = stride_bytes(cx, inst.arg(1 + objects)?, &p)?;
        let order = inst.arg(2 + objects)?;
        let column_major = cx
            .const_bits(order)
            .ok_or_else(|| operand(format!("operand %{order} must be a constant of type bool")))?;
        let flags = memory_flags(cx, inst, 3 + objects, &p)?;
        Ok(Self { pointer, stride, column_major: column_major != 0, flags })
    }
}

/// Memory operands from operand `i` on.
fn memory_flags(cx: &Cx<'_>, inst: &Inst<'_>, i: usize, p: &MemPtr) -> Res<MemFlags> {
    let (flags, _) = cx.memory_operands(inst.rest(i))?;
    Ok(MemFlags { volatile: flags.volatile || p.volatile, ..flags })
}

/// The stride in bytes as `i64`. It counts what the pointer points to, and bytes if the pointer is
/// untyped (SPV_KHR_untyped_pointers); any *ArrayStride* is ignored.
fn stride_bytes(cx: &mut Cx<'_>, id: Id, p: &MemPtr) -> Res<Value> {
    let unit = pointee_bytes(cx, p)?;
    let ty = cx.ty_of(id)?;
    let v = cw::scalar(cx, id, Class::Int)?;
    let signed = cx.types().is_signed(ty);
    if let Some(bits) = cx.const_bits(id) {
        let scalar = cw::scalar_ty(cx, v)?;
        let stride = if signed { ir::eval::sign_extend(scalar, bits) } else { bits.cast_signed() };
        return Ok(cx.i64(stride.wrapping_mul(unit)));
    }
    let v = cw::resize(cx, v, Scalar::I64, signed);
    if unit == 1 {
        return Ok(v);
    }
    let unit = cx.i64(unit);
    Ok(cx.b().binary(B::Imul, v, unit))
}

/// Bytes of the scalar or vector that a pointer points to; 1 if it is untyped.
fn pointee_bytes(cx: &Cx<'_>, p: &MemPtr) -> Res<i64> {
    let Some(mut ty) = p.ty else { return Ok(1) };
    while let Kind::Array { elem, .. } | Kind::RuntimeArray { elem } = *cx.types().kind(ty) {
        ty = elem;
    }
    let types = cx.types();
    let is_plain = types.coop_mat(ty).is_none();
    match (types.lanes(ty).filter(|_| is_plain), types.scalar(ty)) {
        (Some(n), Some(scalar)) if scalar != Scalar::Bool => Ok(i64::from(n) * i64::from(scalar.bytes())),
        _ => {
            let found = types.describe(ty);
            Err(operand(format!("points to {found}, expected a pointer to numbers or vectors")))
        }
    }
}

fn load(cx: &mut Cx<'_>, inst: &Inst<'_>, access: &Access) -> Res<()> {
    let ty = cx.result_ty(inst)?;
    let Some(mat) = cx.types().coop_mat(ty) else {
        let found = cx.types().describe(ty);
        return Err(operand(format!("the result type is {found}, expected a cooperative matrix")));
    };
    let op = ir::Op::MatLoad { column_major: access.column_major, flags: access.flags };
    let out = cx.b().value(op, &[access.pointer, access.stride], mat.into());
    cx.define_values(inst, &[out])
}

fn store(cx: &mut Cx<'_>, inst: &Inst<'_>, access: &Access) -> Res<()> {
    cx.expect_writable(access.pointer)?;
    let (_, object) = cx.matrix(inst.arg(1)?)?;
    let op = ir::Op::MatStore { column_major: access.column_major, flags: access.flags };
    cx.b().effect(op, &[access.pointer, object, access.stride]);
    Ok(())
}

/// `A * B + C`.
fn mul_add(cx: &mut Cx<'_>, inst: &Inst<'_>, nv: bool) -> Res<()> {
    let ty = cx.result_ty(inst)?;
    let Some(r) = cx.types().coop_mat(ty) else {
        let found = cx.types().describe(ty);
        return Err(operand(format!("the result type is {found}, expected a cooperative matrix")));
    };
    let (a, va) = cx.matrix(inst.arg(0)?)?;
    let (b, vb) = cx.matrix(inst.arg(1)?)?;
    let (c, vc) = cx.matrix(inst.arg(2)?)?;
    check_role("A", a, a, (a.rows, a.cols), Use::A)?;
    check_role("B", b, a, (a.cols, b.cols), Use::B)?;
    check_role("C", c, a, (a.rows, b.cols), Use::Accumulator)?;
    check_role("the result", r, a, (a.rows, b.cols), Use::Accumulator)?;
    let flags = match (a.elem.is_int(), nv) {
        // The flags mean nothing on floats, where the CTS sets them nevertheless.
        (false, _) => MulAddFlags::default(),
        (true, true) => signs_of_types(cx, inst)?,
        (true, false) => flags_of_mask(inst.args.get(3).copied().unwrap_or(0))?,
    };
    let out = cx.b().value(ir::Op::MatMulAdd(flags), &[va, vb, vc], r.into());
    cx.define_values(inst, &[out])
}

fn check_role(name: &str, m: MatType, a: MatType, shape: (u32, u32), role: Use) -> Res<()> {
    let (rows, cols) = shape;
    let wanted = MatType {
        elem: m.elem,
        scope: a.scope,
        rows,
        cols,
        use_: if m.use_ == Use::Any { Use::Any } else { role },
    };
    if m != wanted {
        return Err(operand(format!("{name} is {m}, expected {wanted}")));
    }
    if m.elem.is_int() != a.elem.is_int() {
        return Err(operand(format!("{name} is {m}, but A is {a}: integers do not mix with floats")));
    }
    Ok(())
}

/// SPV_KHR_cooperative_matrix: signedness is what the operand says, whatever the types are.
fn flags_of_mask(mask: u32) -> Res<MulAddFlags> {
    use CooperativeMatrixOperands as M;
    let Some(mask) = M::from_bits(mask) else {
        return Err(operand(format!("unknown cooperative matrix operands {mask:#x}")));
    };
    Ok(MulAddFlags {
        a_signed: mask.contains(M::MATRIX_A_SIGNED_COMPONENTS_KHR),
        b_signed: mask.contains(M::MATRIX_B_SIGNED_COMPONENTS_KHR),
        c_signed: mask.contains(M::MATRIX_C_SIGNED_COMPONENTS_KHR),
        result_signed: mask.contains(M::MATRIX_RESULT_SIGNED_COMPONENTS_KHR),
        saturate: mask.contains(M::SATURATING_ACCUMULATION_KHR),
        relaxed: false,
        step: 0,
    })
}

/// SPV_NV_cooperative_matrix: signedness is that of *OpTypeInt*.
fn signs_of_types(cx: &Cx<'_>, inst: &Inst<'_>) -> Res<MulAddFlags> {
    let signed = |i| -> Res<bool> { Ok(cx.types().is_signed(cx.ty_of(inst.arg(i)?)?)) };
    Ok(MulAddFlags {
        a_signed: signed(0)?,
        b_signed: signed(1)?,
        c_signed: signed(2)?,
        result_signed: cx.types().is_signed(cx.result_ty(inst)?),
        saturate: false,
        relaxed: false,
        step: 0,
    })
}

/// Components of an invocation; the operand is a type.
fn length(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let ty = cx.types().lookup(inst.arg(0)?)?;
    let n = cx.globals.coop_length(ty)?;
    let n = cx.i32(n.cast_signed());
    cx.define_values(inst, &[n])
}

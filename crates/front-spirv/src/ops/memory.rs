//! Variables, loads and stores, copies, and what pointers tell.

use crate::cx::Cx;
use crate::diag::{Res, bug, code, operand, unsupported};
use crate::reader::Inst;
use crate::types::Kind;
use crate::value::{MemPtr, Pointer, Spread, Val};
use phalanx_ir::{self as ir, CompareOp, ConvertKind, MemFlags, Op as IrOp, Scalar, Value};
use spirv::{Op, StorageClass};

/// Bytes that *OpCopyMemorySized* copies at most; each is an instruction.
const MAX_SIZED_COPY: u64 = 1 << 16;

/// Translates an instruction of this family.
pub(crate) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    match inst.op {
        Op::Variable => variable(cx, inst),
        Op::Load => load(cx, inst),
        Op::Store => store(cx, inst),
        Op::CopyMemory => copy(cx, inst),
        Op::CopyMemorySized => copy_sized(cx, inst),
        Op::ArrayLength | Op::UntypedArrayLengthKHR => array_length(cx, inst),
        Op::PtrEqual | Op::PtrNotEqual => equal(cx, inst),
        Op::PtrDiff => difference(cx, inst),
        Op::ConvertPtrToU => to_int(cx, inst),
        Op::ConvertUToPtr => from_int(cx, inst),
        Op::UntypedVariableKHR | Op::RawAccessChainNV => {
            Err(unsupported(code::OPCODE, format!("{} is not supported here", inst.name())))
        }
        _ => cx.access_chain(inst),
    }
}

/// A *Function* variable; the interface handles those of the module.
fn variable(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let result = cx.result_ty(inst)?;
    let (class, pointee) = cx.types().pointer(result)?;
    if class != StorageClass::Function || inst.arg(0)? != StorageClass::Function as u32 {
        return Err(operand(format!("a {class:?} variable inside a function")));
    }
    let ty = pointee.ok_or_else(|| operand("an untyped Function variable"))?;
    let p = cx.local_variable(inst.id, ty)?;
    if let Some(&init) = inst.args.get(1) {
        let (found, val) = cx.val(init)?;
        cx.initialize(&p, found, &val)?;
    }
    cx.define(inst, Val::ptr(p))
}

fn load(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let ty = cx.result_ty(inst)?;
    let p = cx.pointer(inst.arg(0)?)?;
    let (flags, _) = cx.memory_operands(inst.rest(1))?;
    let val = cx.load(&p, ty, flags)?;
    cx.own_long(inst.id, &val);
    cx.define(inst, val)
}

fn store(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let p = cx.pointer(inst.arg(0)?)?;
    let (ty, val) = cx.val(inst.arg(1)?)?;
    let (flags, _) = cx.memory_operands(inst.rest(2))?;
    cx.store(&p, ty, &val, flags)?;
    cx.release_long(inst);
    Ok(())
}

/// *OpCopyMemory*: one set of memory operands is for both sides; of two, the first is the target's.
fn copy(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (target, source) = (cx.pointer(inst.arg(0)?)?, cx.pointer(inst.arg(1)?)?);
    let ty = cx.pointee(&source).or_else(|| cx.pointee(&target));
    let ty = ty.ok_or_else(|| operand("both pointers are untyped"))?;
    let (flags, used) = cx.memory_operands(inst.rest(2))?;
    let from = match inst.rest(2 + used) {
        [] => flags,
        rest => cx.memory_operands(rest)?.0,
    };
    let val = cx.load(&source, ty, from)?;
    cx.store(&target, ty, &val, flags)
}

fn copy_sized(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (target, source) = (cx.memory(inst.arg(0)?)?.0, cx.memory(inst.arg(1)?)?.0);
    cx.expect_writable(target)?;
    let bytes = cx.const_bits(inst.arg(2)?).filter(|n| *n <= MAX_SIZED_COPY);
    let bytes = bytes.ok_or_else(|| {
        unsupported(code::OPERAND, format!("a size that is no constant up to {MAX_SIZED_COPY}"))
    })?;
    let (flags, _) = cx.memory_operands(inst.rest(3))?;
    // All is read before anything is written: the two must not overlap anyway.
    let (words, tail) = (bytes as i64 / 4, bytes as i64 % 4);
    let parts =
        (0..words).map(|i| (i * 4, Scalar::I32)).chain((0..tail).map(|i| (words * 4 + i, Scalar::I8)));
    let parts: Vec<(i64, Scalar)> = parts.collect();
    let mut values = Vec::with_capacity(parts.len());
    for &(at, scalar) in &parts {
        let p = cx.b().ptr_add(source, None, 0, at);
        values.push(cx.b().value(IrOp::Load(flags), &[p], scalar.into()));
    }
    for (&(at, _), v) in parts.iter().zip(values) {
        let p = cx.b().ptr_add(target, None, 0, at);
        cx.b().effect(IrOp::Store(flags), &[p, v]);
    }
    Ok(())
}

/// The length of the run-time array that ends a buffer's structure. The untyped form names the
/// structure in front of the pointer.
fn array_length(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let untyped = usize::from(inst.op == Op::UntypedArrayLengthKHR);
    let id = inst.arg(untyped)?;
    let Pointer::Memory(p) = (*cx.pointer(id)?).clone() else {
        return Err(operand(format!("operand %{id} does not point to a buffer")));
    };
    let ty = if untyped == 1 { Some(cx.types().lookup(inst.arg(0)?)?) } else { p.ty };
    let ty = ty.ok_or_else(|| operand("the pointer is untyped"))?;
    let member = inst.arg(untyped + 1)?;
    let array = match cx.types().kind(ty) {
        Kind::Struct(_) => cx.types().constituent(ty, member),
        _ => None,
    };
    let array = array.filter(|a| matches!(cx.types().kind(*a), Kind::RuntimeArray { .. }));
    let array = array.ok_or_else(|| {
        operand(format!("member {member} of {} is no run-time array", cx.types().describe(ty)))
    })?;
    let p = cx.memory_member(p, ty, member)?;
    let stride = cx.layout().array_stride(array, p.spread)?;
    if stride == 0 {
        return Err(operand("the array's stride is 0"));
    }
    let start = cx.byte_pointer(&p);
    let bytes = cx.b().value(IrOp::PtrBytesLeft, &[start], ir::Type::I64);
    let stride = cx.i64(stride);
    let n = cx.b().binary(ir::BinaryOp::Udiv, bytes, stride);
    let result = cx.result_ty(inst)?;
    let n = match cx.types().leaf(result) {
        Some(ir::Type::I64) => n,
        Some(ir::Type::I32) => cx.b().convert(ConvertKind::UToU, n, Scalar::I32),
        _ => {
            let found = cx.types().describe(result);
            return Err(operand(format!("the result is {found}, expected an integer of 32 or 64 bits")));
        }
    };
    cx.define_values(inst, &[n])
}

fn pointer_value(cx: &mut Cx<'_>, id: u32) -> Res<Value> {
    let v = cx.value(id)?;
    match cx.func.ty(v) {
        ir::Type::Ptr(_) => Ok(v),
        other => Err(operand(format!("operand %{id} is {other}, expected a pointer"))),
    }
}

fn pointer_pair(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<(Value, Value)> {
    let (a, b) = (pointer_value(cx, inst.arg(0)?)?, pointer_value(cx, inst.arg(1)?)?);
    if cx.func.ty(a) != cx.func.ty(b) {
        return Err(operand("the pointers are of different storage classes"));
    }
    Ok((a, b))
}

fn equal(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (a, b) = pointer_pair(cx, inst)?;
    let op = if inst.op == Op::PtrEqual { CompareOp::Ieq } else { CompareOp::Ine };
    let v = cx.b().compare(op, a, b);
    cx.define_values(inst, &[v])
}

/// *OpPtrDiff*: in elements of the array that both point into; in bytes for untyped pointers
/// (`SPV_KHR_untyped_pointers`).
fn difference(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (a, b) = pointer_pair(cx, inst)?;
    let (id, result) = (inst.arg(0)?, cx.result_ty(inst)?);
    let stride = match cx.pointee_of(id)? {
        Some(pointee) => cx.layout().pointer_stride(cx.ty_of(id)?, pointee)?.max(1),
        None => 1,
    };
    let bytes = cx.b().value(IrOp::PtrDiff, &[a, b], ir::Type::I64);
    let stride = cx.i64(stride);
    let n = cx.b().binary(ir::BinaryOp::Sdiv, bytes, stride);
    let scalar = cx.types().scalar(result).filter(|s| s.is_int());
    let scalar = scalar.ok_or_else(|| operand("the result type is no integer"))?;
    let n = if scalar == Scalar::I64 { n } else { cx.b().convert(ConvertKind::SToS, n, scalar) };
    cx.define_values(inst, &[n])
}

fn to_int(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let p = pointer_value(cx, inst.arg(0)?)?;
    if cx.func.ty(p) != ir::Type::Ptr(ir::Space::Global) {
        return Err(operand("expected a PhysicalStorageBuffer pointer"));
    }
    let bits = cx.b().value(IrOp::PtrToInt, &[p], ir::Type::I64);
    let ty = cx.result_ty(inst)?;
    let scalar = cx.types().leaf(ty).and_then(ir::Type::scalar).filter(|s| s.is_int());
    let scalar = scalar.ok_or_else(|| operand("the result type is no integer"))?;
    let v = if scalar == Scalar::I64 { bits } else { cx.b().convert(ConvertKind::UToU, bits, scalar) };
    cx.define_values(inst, &[v])
}

fn from_int(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let v = cx.value(inst.arg(0)?)?;
    let v = match cx.func.ty(v) {
        ir::Type::I64 => v,
        ir::Type::Scalar(s) if s.is_int() => cx.b().convert(ConvertKind::UToU, v, Scalar::I64),
        other => return Err(operand(format!("expected an integer, found {other}"))),
    };
    cx.define_address(inst, v)
}

impl Cx<'_> {
    /// Gives the result of an instruction, a *PhysicalStorageBuffer* pointer, an address.
    pub(crate) fn define_address(&mut self, inst: &Inst<'_>, address: Value) -> Res<()> {
        let ty = self.result_ty(inst)?;
        if self.types().leaf(ty) != Some(ir::Type::Ptr(ir::Space::Global)) {
            return Err(operand("the result type is no PhysicalStorageBuffer pointer"));
        }
        let v = self.b().value(IrOp::IntToPtr, &[address], ir::Type::Ptr(ir::Space::Global));
        self.define_values(inst, &[v])
    }

    /// Stores the initial value of a variable.
    pub(crate) fn initialize(&mut self, p: &Pointer, ty: crate::types::Ty, val: &Val) -> Res<()> {
        if let (Pointer::Local(local), Val::Zero) = (p, val)
            && self.clear(local)?
        {
            return Ok(());
        }
        self.store(p, ty, val, MemFlags::default())
    }

    /// The pointer to the start of memory of a given type.
    pub(crate) fn memory_pointer(&self, base: Value, ty: crate::types::Ty, volatile: bool) -> Res<Pointer> {
        let ir::Type::Ptr(space) = self.func.ty(base) else { return Err(bug("a base that is no pointer")) };
        let spread = Spread::default();
        Ok(Pointer::Memory(MemPtr { base, disp: 0, space, ty: Some(ty), volatile, spread }))
    }
}

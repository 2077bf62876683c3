//! Atomic operations, barriers and the clock.
//!
//! The atomic operations of the IR are relaxed. Where memory semantics ask for more, a memory
//! barrier stands before (release) or behind (acquire) the operation, which orders at least as much
//! as SPIR-V demands.

use super::componentwise::{self as cw, Class};
use crate::cx::{Cx, Values};
use crate::diag::{Res, code, invalid, operand, unsupported};
use crate::reader::{Id, Inst};
use crate::value::{Pointer, TexelPtr};
use phalanx_ir::{self as ir, AtomicOp as A, Barrier, Scalar, Scope, Value};
use spirv::{MemorySemantics, Op};

/// Translates an instruction of this family.
pub(crate) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    use Class::{Float, Int};
    match inst.op {
        Op::ControlBarrier => return control_barrier(cx, inst),
        Op::MemoryBarrier => return memory_barrier(cx, inst),
        Op::ReadClockKHR => return read_clock(cx, inst),
        Op::AtomicStore => return store(cx, inst),
        Op::AtomicLoad => return update(cx, inst, A::Load, Class::Number, Operands::None),
        Op::AtomicCompareExchange => return compare_exchange(cx, inst),
        Op::AtomicIIncrement => return update(cx, inst, A::Iadd, Int, Operands::One),
        Op::AtomicIDecrement => return update(cx, inst, A::Isub, Int, Operands::One),
        _ => {}
    }
    let (op, class) = match inst.op {
        Op::AtomicExchange => (A::Exchange, Class::Number),
        Op::AtomicIAdd => (A::Iadd, Int),
        Op::AtomicISub => (A::Isub, Int),
        Op::AtomicSMin => (A::Smin, Int),
        Op::AtomicUMin => (A::Umin, Int),
        Op::AtomicSMax => (A::Smax, Int),
        Op::AtomicUMax => (A::Umax, Int),
        Op::AtomicAnd => (A::And, Int),
        Op::AtomicOr => (A::Or, Int),
        Op::AtomicXor => (A::Xor, Int),
        Op::AtomicFAddEXT => (A::Fadd, Float),
        Op::AtomicFMinEXT => (A::Fmin, Float),
        Op::AtomicFMaxEXT => (A::Fmax, Float),
        _ => return Err(unsupported(code::OPCODE, format!("{} is not supported", inst.name()))),
    };
    update(cx, inst, op, class, Operands::Value)
}

/// What an atomic operation takes besides its pointer.
enum Operands {
    None,
    /// The constant one.
    One,
    /// The operand behind the memory semantics.
    Value,
}

/// Operations with the operands pointer, scope, semantics and perhaps a value.
fn update(cx: &mut Cx<'_>, inst: &Inst<'_>, op: A, class: Class, operands: Operands) -> Res<()> {
    let scalar = atomic_scalar(cx, inst, class)?;
    let object = Object::read(cx, inst.arg(0)?, scalar)?;
    let mut args = Values::new();
    match operands {
        Operands::None => {}
        Operands::One => args.push(cx.constant(scalar, 1)),
        Operands::Value => args.push(cx.scalar(inst.arg(3)?, scalar)?),
    }
    let order = Order::read(cx, inst, 2)?;
    order.before(cx);
    let out = object.update(cx, op, &args, &[scalar.into()])?;
    order.behind(cx);
    cx.define_values(inst, &out)
}

fn compare_exchange(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let scalar = atomic_scalar(cx, inst, Class::Int)?;
    let object = Object::read(cx, inst.arg(0)?, scalar)?;
    let value = cx.scalar(inst.arg(4)?, scalar)?;
    let comparator = cx.scalar(inst.arg(5)?, scalar)?;
    // The semantics if unequal may not be stronger than those if equal.
    let order = Order::read(cx, inst, 2)?;
    order.before(cx);
    let out = object.update(cx, A::CompareExchange, &[value, comparator], &[scalar.into()])?;
    order.behind(cx);
    cx.define_values(inst, &out)
}

fn store(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let value = cw::scalar(cx, inst.arg(3)?, Class::Number)?;
    let scalar = cw::scalar_ty(cx, value)?;
    check_scalar(scalar, Class::Number)?;
    let object = Object::read(cx, inst.arg(0)?, scalar)?;
    let order = Order::read(cx, inst, 2)?;
    order.before(cx);
    object.update(cx, A::Store, &[value], &[])?;
    order.behind(cx);
    Ok(())
}

/// The type of the object, which is that of the result.
fn atomic_scalar(cx: &Cx<'_>, inst: &Inst<'_>, class: Class) -> Res<Scalar> {
    let ty = cx.result_ty(inst)?;
    let scalar = cx.types().leaf(ty).and_then(ir::Type::scalar);
    let Some(scalar) = scalar else {
        let found = cx.types().describe(ty);
        return Err(invalid(code::TYPE, format!("the result type is {found}, expected a scalar")));
    };
    check_scalar(scalar, class)?;
    Ok(scalar)
}

fn check_scalar(scalar: Scalar, class: Class) -> Res<()> {
    let storage_only = scalar.is_float() && !scalar.is_arithmetic_float();
    if storage_only || !class.has(scalar) {
        return Err(operand(format!("the operation is not defined on {scalar}")));
    }
    Ok(())
}

/// What an atomic operation is on.
enum Object {
    Memory(Value),
    Texel(TexelPtr),
}

impl Object {
    /// The pointer operand, which must point to such a scalar, or be untyped.
    fn read(cx: &mut Cx<'_>, id: Id, scalar: Scalar) -> Res<Self> {
        let (object, ty) = match &*cx.pointer(id)? {
            Pointer::Texel(p) => (Self::Texel(p.clone()), Some(p.ty)),
            _ => {
                let (pointer, p) = cx.memory(id)?;
                (Self::Memory(pointer), p.ty)
            }
        };
        match ty {
            Some(ty) if cx.types().leaf(ty) != Some(scalar.into()) => {
                let found = cx.types().describe(ty);
                Err(operand(format!("operand %{id} points to {found}, expected {scalar}")))
            }
            _ => Ok(object),
        }
    }

    fn update(&self, cx: &mut Cx<'_>, op: A, operands: &[Value], results: &[ir::Type]) -> Res<Values> {
        match self {
            Self::Texel(texel) => super::image::atomic(cx, texel, op, operands, results),
            Self::Memory(pointer) => {
                if op != A::Load {
                    cx.expect_writable(*pointer)?;
                }
                let mut args = Values::from_slice(&[*pointer]);
                args.extend_from_slice(operands);
                Ok(cx.b().values(ir::Op::Atomic(op), &args, results).into_iter().collect())
            }
        }
    }
}

impl Cx<'_> {
    /// Checks that what a pointer comes from may be written: no push constant, and no buffer that is
    /// declared read-only.
    pub(crate) fn expect_writable(&self, pointer: Value) -> Res<()> {
        let mut def = self.func.def(pointer);
        while let (ir::Op::PtrAdd { .. }, Some(&base)) = (&def.op, def.args.first()) {
            def = self.func.def(base);
        }
        match def.op {
            ir::Op::PushPtr => Err(operand("push constants are not writable")),
            ir::Op::BufferPtr(b) if !self.module.binding(b).writable => {
                let b = self.module.binding(b);
                let m = format!("the buffer of set {}, binding {} is not writable", b.set, b.binding);
                Err(operand(m))
            }
            _ => Ok(()),
        }
    }
}

/// What must happen before or behind an operation, as scope and semantics say.
struct Order {
    scope: Scope,
    release: bool,
    acquire: bool,
}

impl Order {
    /// Reads the semantics at operand `i` and the scope before it.
    fn read(cx: &Cx<'_>, inst: &Inst<'_>, i: usize) -> Res<Self> {
        use MemorySemantics as M;
        let scope = cx.scope(inst.arg(i - 1)?)?;
        let semantics = M::from_bits_truncate(cx.const_u32(inst.arg(i)?)?);
        let both = M::ACQUIRE_RELEASE | M::SEQUENTIALLY_CONSISTENT;
        Ok(Self {
            scope,
            release: semantics.intersects(both | M::RELEASE),
            acquire: semantics.intersects(both | M::ACQUIRE),
        })
    }

    fn before(&self, cx: &mut Cx<'_>) {
        if self.release {
            self.fence(cx);
        }
    }

    fn behind(&self, cx: &mut Cx<'_>) {
        if self.acquire {
            self.fence(cx);
        }
    }

    /// The scope in which memory is ordered.
    fn memory(&self) -> Scope {
        if self.release || self.acquire { self.scope } else { Scope::Invocation }
    }

    fn fence(&self, cx: &mut Cx<'_>) {
        if self.scope != Scope::Invocation {
            let barrier = Barrier { execution: Scope::Invocation, memory: self.scope };
            cx.b().effect(ir::Op::Barrier(barrier), &[]);
        }
    }
}

/// *OpControlBarrier*: execution scope, memory scope, semantics.
fn control_barrier(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let execution = cx.scope(inst.arg(0)?)?;
    if execution == Scope::Device {
        // VUID-StandaloneSpirv-None-04636: Workgroup or Subgroup.
        return Err(unsupported(code::OPERAND, "a control barrier wider than a work-group"));
    }
    let memory = Order::read(cx, inst, 2)?.memory();
    if execution != Scope::Invocation || memory != Scope::Invocation {
        cx.b().effect(ir::Op::Barrier(Barrier { execution, memory }), &[]);
    }
    Ok(())
}

/// *OpMemoryBarrier*: memory scope, semantics.
fn memory_barrier(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let order = Order::read(cx, inst, 1)?;
    if order.release || order.acquire {
        order.fence(cx);
    }
    Ok(())
}

/// *OpReadClockKHR*: 64 bits, or two components of 32, the lower half first.
fn read_clock(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    cx.scope(inst.arg(0)?)?;
    let clock = cx.b().value(ir::Op::Clock, &[], ir::Type::I64);
    let to = cw::result_scalar(cx, inst, Class::Int)?;
    let out: Values = super::convert::regroup(cx, &[clock], to)?;
    cx.define_values(inst, &out)
}

//! Cooperative vectors: SPV_NV_cooperative_vector.
//!
//! Their type is that of long vectors, and most instructions treat them as such; here are those with memory. Pointers
//! are to arrays whose element type says nothing: offsets and strides count bytes.

use super::componentwise::{self as cw, Class};
use crate::cx::Cx;
use crate::diag::{Res, code, invalid, operand, unsupported};
use crate::reader::{Id, Inst};
use crate::types::{Kind, Ty};
use crate::value::{MemPtr, Pointer, Spread, Val};
use crate::vector_facts;
use phalanx_ir::{self as ir, Component, MatrixLayout, Scalar, Space, Value, Var, VecMatMul, VecOuterAdd};
use spirv::{CooperativeMatrixOperands, Op};

/// Translates an instruction of this family.
pub(crate) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    match inst.op {
        Op::CooperativeVectorLoadNV => load(cx, inst),
        Op::CooperativeVectorStoreNV => store(cx, inst),
        _ if cx.region.is_some() => {
            Err(unsupported(code::OPCODE, format!("{} in a function for elements of matrices", inst.name())))
        }
        Op::CooperativeVectorMatrixMulNV | Op::CooperativeVectorMatrixMulAddNV => mat_mul(cx, inst),
        Op::CooperativeVectorOuterProductAccumulateNV => outer_add(cx, inst),
        Op::CooperativeVectorReduceSumAccumulateNV => reduce_add(cx, inst),
        _ => Err(unsupported(code::OPCODE, format!("{} is not supported", inst.name()))),
    }
}

fn load(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let ty = cx.result_ty(inst)?;
    vector(cx, ty)?;
    let p = place(cx, inst.arg(0)?, inst.arg(1)?, ty)?;
    let (flags, _) = cx.memory_operands(inst.rest(2))?;
    let val = cx.load(&p, ty, flags)?;
    cx.own_long(inst.id, &val);
    cx.define(inst, val)
}

fn store(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (ty, val) = cx.val(inst.arg(2)?)?;
    vector(cx, ty)?;
    let p = place(cx, inst.arg(0)?, inst.arg(1)?, ty)?;
    let (flags, _) = cx.memory_operands(inst.rest(3))?;
    cx.store(&p, ty, &val, flags)?;
    cx.release_long(inst);
    Ok(())
}

/// The vector of this type at an offset from a pointer.
fn place(cx: &mut Cx<'_>, pointer: Id, offset: Id, ty: Ty) -> Res<Pointer> {
    let (base, p) = address(cx, pointer, offset)?;
    Ok(Pointer::Memory(MemPtr { base, disp: 0, ty: Some(ty), spread: Spread::default(), ..p }))
}

/// The address at an offset in bytes from a pointer.
fn address(cx: &mut Cx<'_>, pointer: Id, offset: Id) -> Res<(Value, MemPtr)> {
    let (base, p) = cx.memory(pointer)?;
    if let Some(0) = cx.const_bits(offset) {
        return Ok((base, p));
    }
    let signed = cx.types().is_signed(cx.ty_of(offset)?);
    let v = cw::scalar(cx, offset, Class::Int)?;
    let bytes = cw::resize(cx, v, Scalar::I64, signed);
    Ok((cx.b().ptr_add(base, Some(bytes), 1, 0), p))
}

/// The same of a pointer to a matrix, a bias or sums: in buffers, by descriptor or by address.
fn buffer_address(cx: &mut Cx<'_>, pointer: Id, offset: Id) -> Res<Value> {
    let (at, p) = address(cx, pointer, offset)?;
    match p.space {
        Space::Buffer | Space::Global => Ok(at),
        Space::Push | Space::Shared => {
            let m = format!("operand %{pointer} must point to StorageBuffer or PhysicalStorageBuffer");
            Err(operand(m))
        }
    }
}

/// `result = matrix * input [+ bias]`.
fn mat_mul(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let ty = cx.result_ty(inst)?;
    let (elem, length) = vector(cx, ty)?;
    let has_bias = inst.op == Op::CooperativeVectorMatrixMulAddNV;
    let (interpretation, packed) = interpretation(cx, inst.arg(1)?)?;
    let matrix = component(cx, inst.arg(4)?)?;
    let matrix_at = buffer_address(cx, inst.arg(2)?, inst.arg(3)?)?;
    let (bias, bias_at, shape) = if has_bias {
        let at = buffer_address(cx, inst.arg(5)?, inst.arg(6)?)?;
        (Some(component(cx, inst.arg(7)?)?), Some(at), 8)
    } else {
        (None, None, 5)
    };
    let [m, k] = [inst.arg(shape)?, inst.arg(shape + 1)?].map(|id| cx.const_u32(id));
    let (m, k) = (m?, k?);
    let layout = layout(cx, inst.arg(shape + 2)?)?;
    let transposed = flag(cx, inst.arg(shape + 3)?)?;
    check_matrix(matrix, layout, transposed)?;
    let stride = stride(cx, inst.args.get(shape + 4).copied(), layout)?;
    let mask = inst.args.get(shape + 5).copied().unwrap_or(0);
    let Some(mask) = CooperativeMatrixOperands::from_bits(mask) else {
        return Err(operand(format!("unknown cooperative matrix operands {mask:#x}")));
    };
    if length != m {
        return Err(operand(format!("the result has {length} components, expected M, {m}")));
    }
    let (_, components) = vector_operand(cx, inst.arg(0)?)?;
    let (needed, fits) =
        if packed { (k.div_ceil(4), components >= k.div_ceil(4)) } else { (k, components == k) };
    if !fits {
        return Err(operand(format!(
            "the input has {components} components, expected {needed} for K of {k}"
        )));
    }
    check_types(cx, inst, elem, (interpretation, packed), matrix, bias)?;
    let input = cx.vector_var(inst.arg(0)?)?;
    let leaf = cx.types().scalar(elem).ok_or_else(|| operand("a vector of no scalars"))?;
    let result = cx.result_var(leaf.into(), m, false)?;
    let op = VecMatMul {
        result,
        input,
        m,
        k,
        interpretation,
        packed,
        // The flags of matrix multiplications: the vector is its right factor.
        input_signed: mask.contains(CooperativeMatrixOperands::MATRIX_B_SIGNED_COMPONENTS_KHR),
        matrix,
        layout,
        transposed,
        bias,
    };
    let operands: Vec<Value> = [matrix_at, stride].into_iter().chain(bias_at).collect();
    cx.b().effect(ir::Op::VecMatMul(op), &operands);
    cx.release_vector(inst.arg(0)?, input);
    cx.define_vector(inst, result)
}

/// The rules that the texts have for layouts.
fn check_matrix(matrix: Component, layout: MatrixLayout, transposed: bool) -> Res<()> {
    if layout.is_optimal() {
        return Ok(());
    }
    if transposed {
        return Err(operand(format!(
            "a transposed matrix in the layout {}, expected an optimal one",
            layout.name()
        )));
    }
    if matches!(matrix, Component::E4m3 | Component::E5m2) {
        let m =
            format!("a matrix of {} in the layout {}, expected an optimal one", matrix.name(), layout.name());
        return Err(operand(m));
    }
    Ok(())
}

/// Whether the component types go together.
fn check_types(
    cx: &Cx<'_>,
    inst: &Inst<'_>,
    result: Ty,
    (interpretation, packed): (Component, bool),
    matrix: Component,
    bias: Option<Component>,
) -> Res<()> {
    let is_byte = |c: Component| matches!(c, Component::S8 | Component::U8);
    let is_wide = |c: Component| matches!(c, Component::S32 | Component::U32);
    let (input, _) = vector_operand(cx, inst.arg(0)?)?;
    let (input, result) = (cx.types().scalar(input), cx.types().scalar(result));
    let (Some(input), Some(result)) = (input, result) else { return Err(operand("a vector of no scalars")) };
    let goes = if interpretation.is_float() {
        matrix.is_float()
            && bias.is_none_or(Component::is_float)
            && matches!(result, Scalar::F16 | Scalar::F32)
    } else {
        is_byte(interpretation) && is_byte(matrix) && bias.is_none_or(is_wide) && result == Scalar::I32
    };
    let is_input = if packed {
        input == Scalar::I32
    } else {
        input.is_int() || matches!(input, Scalar::F16 | Scalar::F32)
    };
    if goes && is_input {
        return Ok(());
    }
    let bias = bias.map_or(String::new(), |b| format!(", a bias of {}", b.name()));
    let packed = if packed { " packed" } else { "" };
    let m = format!(
        "an input of {input} as {}{packed}, a matrix of {}{bias} and a result of {result}",
        interpretation.name(),
        matrix.name(),
    );
    Err(unsupported(code::OPERAND, m))
}

/// `matrix += a * transpose(b)`.
fn outer_add(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let at = buffer_address(cx, inst.arg(0)?, inst.arg(1)?)?;
    cx.expect_writable(at)?;
    let layout = layout(cx, inst.arg(4)?)?;
    if layout != MatrixLayout::Training {
        return Err(operand(format!("the layout is {}, expected training", layout.name())));
    }
    let matrix = component(cx, inst.arg(5)?)?;
    let (a, b) = (inst.arg(2)?, inst.arg(3)?);
    for id in [a, b] {
        expect_summed(cx, id)?;
    }
    if !matches!(matrix, Component::F16 | Component::F32) {
        return Err(unsupported(code::OPERAND, format!("sums in a matrix of {}", matrix.name())));
    }
    let op = VecOuterAdd { a: cx.vector_var(a)?, b: cx.vector_var(b)?, matrix, layout };
    // Optimal layouts have a stride of their own.
    let stride = cx.i64(0);
    cx.b().effect(ir::Op::VecOuterAdd(op), &[at, stride]);
    cx.release_vector(a, op.a);
    cx.release_vector(b, op.b);
    cx.release_long(inst);
    Ok(())
}

/// `memory[i] += v[i]`.
fn reduce_add(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let at = buffer_address(cx, inst.arg(0)?, inst.arg(1)?)?;
    cx.expect_writable(at)?;
    let id = inst.arg(2)?;
    expect_summed(cx, id)?;
    let var = cx.vector_var(id)?;
    cx.b().effect(ir::Op::VecReduceAdd(var), &[at]);
    cx.release_vector(id, var);
    cx.release_long(inst);
    Ok(())
}

fn expect_summed(cx: &Cx<'_>, id: Id) -> Res<()> {
    let (elem, _) = vector_operand(cx, id)?;
    match cx.types().scalar(elem) {
        Some(Scalar::F16 | Scalar::F32) => Ok(()),
        _ => {
            let found = cx.types().describe(cx.ty_of(id)?);
            Err(operand(format!("operand %{id} is {found}, expected a vector of f16 or f32")))
        }
    }
}

/// The component type and the number of components of a vector type.
fn vector(cx: &Cx<'_>, ty: Ty) -> Res<(Ty, u32)> {
    match *cx.types().kind(ty) {
        Kind::Vector { elem, n } => Ok((elem, n)),
        _ => Err(operand(format!("found {}, expected a cooperative vector", cx.types().describe(ty)))),
    }
}

fn vector_operand(cx: &Cx<'_>, id: Id) -> Res<(Ty, u32)> {
    vector(cx, cx.ty_of(id)?)
}

/// What a component type means, and whether it is packed.
fn interpretation(cx: &Cx<'_>, id: Id) -> Res<(Component, bool)> {
    let number = cx.const_u32(id)?;
    vector_facts::component(number)
        .ok_or_else(|| unsupported(code::OPERAND, format!("component type {number} of cooperative vectors")))
}

/// A component type that is not packed.
fn component(cx: &Cx<'_>, id: Id) -> Res<Component> {
    match interpretation(cx, id)? {
        (component, false) => Ok(component),
        (component, true) => Err(operand(format!("{} packed, which only inputs are", component.name()))),
    }
}

fn layout(cx: &Cx<'_>, id: Id) -> Res<MatrixLayout> {
    Ok(match cx.const_u32(id)? {
        0 => MatrixLayout::RowMajor,
        1 => MatrixLayout::ColumnMajor,
        2 => MatrixLayout::Inferencing,
        3 => MatrixLayout::Training,
        other => {
            return Err(unsupported(code::OPERAND, format!("layout {other} of cooperative vector matrices")));
        }
    })
}

fn flag(cx: &Cx<'_>, id: Id) -> Res<bool> {
    let bits =
        cx.const_bits(id).ok_or_else(|| operand(format!("operand %{id} must be a constant of type bool")))?;
    Ok(bits != 0)
}

/// The stride in bytes; optimal layouts have one of their own.
fn stride(cx: &mut Cx<'_>, id: Option<Id>, layout: MatrixLayout) -> Res<Value> {
    match id {
        _ if layout.is_optimal() => Ok(cx.i64(0)),
        Some(id) => {
            let signed = cx.types().is_signed(cx.ty_of(id)?);
            let v = cw::scalar(cx, id, Class::Int)?;
            Ok(cw::resize(cx, v, Scalar::I64, signed))
        }
        None => Err(invalid(code::OPERAND, "lacks the MatrixStride that its layout needs")),
    }
}

impl Cx<'_> {
    /// A variable that holds the components of an operand.
    fn vector_var(&mut self, id: Id) -> Res<Var> {
        let (ty, val) = self.val(id)?;
        let (elem, n) = vector(self, ty)?;
        if let Val::Long(var) = val
            && self.func.var(var).table.is_none()
        {
            return Ok(var);
        }
        let leaf = self.types().scalar(elem).ok_or_else(|| operand("a vector of no scalars"))?;
        let var = self.long_var(leaf.into(), n)?;
        if self.long(ty).is_some() {
            self.copy_long(ty, &val, var)?;
        } else {
            for (i, v) in (0..).zip(self.flatten(ty, &val)?) {
                let i = self.i32(i);
                self.b().var_store(var, Some(i), v);
            }
        }
        Ok(var)
    }

    /// Gives back a variable that was made for an operand only.
    fn release_vector(&mut self, id: Id, var: Var) {
        if !matches!(self.slots.get(&id).map(|slot| &slot.val), Some(Val::Long(held)) if *held == var) {
            self.free_long(var);
        }
    }

    /// Gives an instruction the vector in a variable as its result.
    fn define_vector(&mut self, inst: &Inst<'_>, var: Var) -> Res<()> {
        let ty = self.result_ty(inst)?;
        let val = if self.long(ty).is_some() {
            Val::Long(var)
        } else {
            let n = self.func.var(var).count.cast_signed();
            let mut parts = Vec::with_capacity(n as usize);
            for i in 0..n {
                let i = self.i32(i);
                parts.push(Val::Ir(self.b().var_load(var, Some(i))));
            }
            self.free_long(var);
            Val::many(parts)
        };
        self.own_long(inst.id, &val);
        self.define(inst, val)?;
        self.release_long(inst);
        Ok(())
    }
}

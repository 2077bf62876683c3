//! Tensor layouts and views (SPV_NV_tensor_addressing), and loads and stores through them.
//!
//! A layout is a list of words, as [`Tensor::words`](crate::types::Tensor::words) says, so that it may
//! be copied, passed and kept in variables like any composite. A load or store hands the words to the
//! IR's operation, which keeps the access whole.

mod state;

use self::state::State;
use super::coopmat2::{check_param_count, check_return, param, result_matrix, word};
use crate::cx::{Cx, Values};
use crate::diag::{Res, code, operand, unsupported};
use crate::module::FunctionDecl;
use crate::reader::{Id, Inst};
use crate::types::{Kind, Tensor};
use crate::value::Val;
use phalanx_ir::{self as ir, BinaryOp as B, MatType, MemFlags, Space, TensorAccess, TensorView, Value};
use spirv::{Op, StorageClass};

/// Translates an instruction of this family.
pub(crate) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    match inst.op {
        Op::CreateTensorLayoutNV | Op::CreateTensorViewNV => create(cx, inst),
        Op::CooperativeMatrixLoadTensorNV => load(cx, inst),
        Op::CooperativeMatrixStoreTensorNV => store(cx, inst),
        _ => update(cx, inst),
    }
}

// ── state ──

fn result_tensor(cx: &Cx<'_>, inst: &Inst<'_>) -> Res<Tensor> {
    let ty = cx.result_ty(inst)?;
    match *cx.types().kind(ty) {
        Kind::Tensor { tensor, .. } => Ok(tensor),
        _ => Err(operand(format!("the result type is {}", cx.types().describe(ty)))),
    }
}

fn create(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let tensor = result_tensor(cx, inst)?;
    let (zero, one, all) = (cx.i32(0), cx.i32(1), cx.i32(-1));
    let mut words: Values = (0..tensor.words()).map(|_| zero).collect();
    let (first, step, fill) = match (inst.op, &tensor) {
        // Block sizes.
        (Op::CreateTensorLayoutNV, Tensor::Layout { dims, .. }) => (4 * usize::from(*dims), 1, (*dims, one)),
        // Spans of the clip.
        (Op::CreateTensorViewNV, Tensor::View(view)) => (2 * usize::from(view.dims) + 1, 2, (2, all)),
        _ => return Err(operand(format!("{} gives another type than its result's", inst.name()))),
    };
    words.iter_mut().skip(first).step_by(step).take(fill.0.into()).for_each(|w| *w = fill.1);
    cx.define_values(inst, &words)
}

/// An instruction that copies a layout or view and sets a part of it.
fn update(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let tensor = result_tensor(cx, inst)?;
    let (found, ty) = (cx.ty_of(inst.arg(0)?)?, cx.result_ty(inst)?);
    if !cx.types().same(found, ty) {
        let found = cx.types().describe(found);
        return Err(operand(format!("the operand is {found}, expected the result type")));
    }
    let mut words = cx.values(inst.arg(0)?)?;
    let set: Values = inst.rest(1).iter().map(|&id| word(cx, id)).collect::<Res<_>>()?;
    let dims = match (inst.op, &tensor) {
        (Op::TensorViewSetDimensionNV | Op::TensorViewSetStrideNV, Tensor::View(view)) => view.dims.into(),
        (Op::TensorViewSetClipNV, Tensor::View(_)) => 4,
        (Op::TensorLayoutSetClampValueNV, Tensor::Layout { .. }) => 1,
        (Op::TensorLayoutSliceNV, Tensor::Layout { dims, .. }) => 2 * usize::from(*dims),
        (
            Op::TensorLayoutSetDimensionNV | Op::TensorLayoutSetStrideNV | Op::TensorLayoutSetBlockSizeNV,
            Tensor::Layout { dims, .. },
        ) => (*dims).into(),
        _ => return Err(operand(format!("{} on the wrong type", inst.name()))),
    };
    if set.len() != dims {
        return Err(operand(format!("{} values, expected {dims}", set.len())));
    }
    match inst.op {
        Op::TensorLayoutSetDimensionNV => set_dimension(cx, &mut words, &set),
        Op::TensorLayoutSetStrideNV | Op::TensorViewSetStrideNV => {
            words[dims..2 * dims].copy_from_slice(&set)
        }
        Op::TensorLayoutSliceNV => slice(cx, &mut words, &set),
        Op::TensorLayoutSetClampValueNV => *last(&mut words)? = set[0],
        Op::TensorLayoutSetBlockSizeNV => words[4 * dims..5 * dims].copy_from_slice(&set),
        Op::TensorViewSetDimensionNV => {
            words[..dims].copy_from_slice(&set);
            strides(cx, &mut words[dims..2 * dims], &set);
        }
        _ => {
            let first = words.len() - 4;
            words[first..].copy_from_slice(&set);
        }
    }
    cx.define_values(inst, &words)
}

fn last(words: &mut Values) -> Res<&mut Value> {
    words.last_mut().ok_or_else(|| crate::diag::bug("a layout without words"))
}

/// `stride[last] = 1`, `stride[i] = stride[i + 1] * sizes[i + 1]`.
fn strides(cx: &mut Cx<'_>, strides: &mut [Value], sizes: &[Value]) {
    let mut stride = cx.i32(1);
    for (d, place) in strides.iter_mut().enumerate().rev() {
        *place = stride;
        if d > 0 {
            stride = cx.b().binary(B::Imul, stride, sizes[d]);
        }
    }
}

/// *OpTensorLayoutSetDimensionNV*: dimension and span, offsets of 0, and strides that count blocks.
fn set_dimension(cx: &mut Cx<'_>, words: &mut Values, set: &[Value]) {
    let (dims, zero, one) = (set.len(), cx.i32(0), cx.i32(1));
    let blocks: Values = (0..dims)
        .map(|d| {
            // Rounded up, without overflow.
            let size = words[4 * dims + d];
            if size == one {
                return set[d];
            }
            let whole = cx.b().binary(B::Udiv, set[d], size);
            let rest = cx.b().binary(B::Umod, set[d], size);
            let has_rest = cx.b().compare(ir::CompareOp::Ine, rest, zero);
            let more = cx.b().select(has_rest, one, zero);
            cx.b().binary(B::Iadd, whole, more)
        })
        .collect();
    words[..dims].copy_from_slice(set);
    strides(cx, &mut words[dims..2 * dims], &blocks);
    words[2 * dims..3 * dims].fill(zero);
    words[3 * dims..4 * dims].copy_from_slice(set);
}

/// *OpTensorLayoutSliceNV*: offsets add up, spans are replaced.
fn slice(cx: &mut Cx<'_>, words: &mut Values, set: &[Value]) {
    let dims = set.len() / 2;
    for (d, pair) in set.chunks_exact(2).enumerate() {
        let offset = &mut words[2 * dims + d];
        *offset = cx.b().binary(B::Iadd, *offset, pair[0]);
        words[3 * dims + d] = pair[1];
    }
}

// ── accesses ──

/// What the operands of a load or store say.
struct Access {
    pointer: Value,
    access: TensorAccess,
    words: Values,
    decode: Option<Id>,
}

/// Bits of the tensor addressing operands.
const TENSOR_VIEW: u32 = 1;
const DECODE_FUNC: u32 = 2;
const DECODE_VECTOR_FUNC: u32 = 4;

fn access(cx: &mut Cx<'_>, inst: &Inst<'_>, m: MatType) -> Res<Access> {
    let (pointer, p) = cx.memory(inst.arg(0)?)?;
    let layout = cx.ty_of(inst.arg(2)?)?;
    let Kind::Tensor { tensor: Tensor::Layout { dims, clamp }, .. } = *cx.types().kind(layout) else {
        let found = cx.types().describe(layout);
        return Err(operand(format!("TensorLayout is {found}, expected a tensor layout")));
    };
    let mut words = cx.values(inst.arg(2)?)?;
    let (flags, used) = cx.memory_operands(inst.rest(3))?;
    let rest = inst.rest(3 + used);
    let Some((&mask, mut rest)) = rest.split_first().filter(|_| used > 0) else {
        return Err(operand("lacks its Memory Operands or Tensor Addressing Operands"));
    };
    if mask & !(TENSOR_VIEW | DECODE_FUNC | DECODE_VECTOR_FUNC) != 0 {
        return Err(unsupported(code::OPERAND, format!("tensor addressing operands {mask:#x}")));
    }
    let mut take = |bit| -> Res<Option<Id>> {
        if mask & bit == 0 {
            return Ok(None);
        }
        let (&id, tail) =
            rest.split_first().ok_or_else(|| operand("the tensor addressing operands are incomplete"))?;
        rest = tail;
        Ok(Some(id))
    };
    let (view, decode) = (take(TENSOR_VIEW)?, take(DECODE_FUNC)?);
    if let Some(function) = take(DECODE_VECTOR_FUNC)? {
        check_vector(cx, function, dims, m)?;
        if decode.is_none() {
            return Err(operand("DecodeVectorFunc without DecodeFunc"));
        }
    }
    let view = view.map(|id| view_operand(cx, id, dims, &mut words)).transpose()?;
    let flags = MemFlags { volatile: flags.volatile || p.volatile, ..flags };
    let access = TensorAccess { dims, clamp, unit: m.elem.bytes(), view, flags };
    let is_store = inst.op == Op::CooperativeMatrixStoreTensorNV;
    State { access: &access, words: &words, m, is_store }.check(cx, inst)?;
    Ok(Access { pointer, access, words, decode })
}

/// The view's type; its words are appended, those of a clip last.
fn view_operand(cx: &mut Cx<'_>, id: Id, dims: u8, words: &mut Values) -> Res<TensorView> {
    let ty = cx.ty_of(id)?;
    let Kind::Tensor { tensor: Tensor::View(view), .. } = *cx.types().kind(ty) else {
        let found = cx.types().describe(ty);
        return Err(operand(format!("operand %{id} is {found}, expected a tensor view")));
    };
    if !view.has_dimensions && view.dims > dims {
        let m = format!("the view takes its {} dimensions from a span of {dims}", view.dims);
        return Err(operand(m));
    }
    let state = cx.values(id)?;
    words.extend_from_slice(&state[if view.has_dimensions { 0 } else { 2 * usize::from(view.dims) }..]);
    Ok(view)
}

fn load(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (m, _) = result_matrix(cx, inst)?;
    let (object, value) = cx.matrix(inst.arg(1)?)?;
    if object != m {
        return Err(operand(format!("Object is {object}, expected the result type, {m}")));
    }
    let mut a = access(cx, inst, m)?;
    let decode = match a.decode {
        Some(function) => Some(decode(cx, inst, &mut a, function, m)?),
        None => None,
    };
    let mut args: Values = Values::new();
    args.push(a.pointer);
    args.extend(a.access.view.map(|_| value));
    args.extend(a.words);
    let out = cx.b().value(ir::Op::MatLoadTensor { access: a.access, decode }, &args, m.into());
    cx.define_values(inst, &[out])
}

fn store(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (m, value) = cx.matrix(inst.arg(1)?)?;
    let a = access(cx, inst, m)?;
    if a.decode.is_some() {
        return Err(operand("\"DecodeFunc is not allowed with OpCooperativeMatrixStoreTensorNV\""));
    }
    cx.expect_writable(a.pointer)?;
    let mut args: Values = Values::new();
    args.extend([a.pointer, value]);
    args.extend(a.words);
    cx.b().effect(ir::Op::MatStoreTensor(a.access), &args);
    Ok(())
}

/// The region of a load whose elements a function makes: of a pointer to what holds them, the
/// coordinates of the block and those in the block.
fn decode(cx: &mut Cx<'_>, inst: &Inst<'_>, a: &mut Access, function: Id, m: MatType) -> Res<ir::Block> {
    let decl = cx.function_operand(function)?;
    let dims = usize::from(a.access.dims);
    check_return(cx, decl, m)?;
    check_param_count(decl, 3)?;
    check_coords(cx, decl, 1, dims)?;
    check_coords(cx, decl, 2, dims)?;
    let pointer_ty = param(cx, decl, 0)?;
    let pointee = match cx.types().pointer(pointer_ty) {
        Ok((StorageClass::PhysicalStorageBuffer, Some(pointee))) => pointee,
        _ => {
            let found = cx.types().describe(pointer_ty);
            let m =
                format!("parameter 0 of the function is {found}, expected a PhysicalStorageBuffer pointer");
            return Err(operand(m));
        }
    };
    let class = cx.types().pointer(cx.ty_of(inst.arg(0)?)?)?.0;
    if !matches!(class, StorageClass::StorageBuffer | StorageClass::PhysicalStorageBuffer) {
        let m =
            format!("Pointer is of class {class:?}; DecodeFunc needs StorageBuffer or PhysicalStorageBuffer");
        return Err(operand(m));
    }
    let bytes = cx.layout().pointee_size(pointee)?;
    a.access.unit = u32::try_from(bytes).ok().filter(|b| *b > 0).ok_or_else(|| {
        operand(format!("the function points to {} bytes, by which indices are multiplied", bytes))
    })?;
    let global = ir::Type::Ptr(Space::Global);
    if cx.func.ty(a.pointer) != global {
        // The function wants an address, whatever the buffer was bound as.
        let address = cx.b().value(ir::Op::PtrToInt, &[a.pointer], ir::Type::I64);
        a.pointer = cx.b().value(ir::Op::IntToPtr, &[address], global);
    }
    let mut params = vec![global];
    params.extend(std::iter::repeat_n(ir::Type::I32, 2 * dims));
    cx.fill_region(inst, decl, &params, m.elem, |cx, params| {
        let coords = |list: &[Value]| Val::many(list.iter().map(|&v| Val::Ir(v)));
        let pointer = Val::ptr(cx.pointer_from(pointer_ty, params[0])?);
        Ok(vec![pointer, coords(&params[1..=dims]), coords(&params[1 + dims..])])
    })
}

/// Checks the function that decodes several elements at once. It says the same as the one for single
/// elements, which is called instead.
fn check_vector(cx: &Cx<'_>, function: Id, dims: u8, m: MatType) -> Res<()> {
    let decl = cx.function_operand(function)?;
    let ty = cx.types().lookup(cx.spv.insts[decl.inst].ty)?;
    let is_vector = matches!(cx.types().kind(ty), Kind::Vector { n: 2 | 4 | 8, .. });
    if !is_vector || cx.types().scalar(ty) != Some(m.elem) {
        let found = cx.types().describe(ty);
        let m = format!("the function %{function} returns {found}, expected 2, 4 or 8 of {}", m.elem);
        return Err(operand(m));
    }
    check_param_count(decl, 3)?;
    check_coords(cx, decl, 1, dims.into())?;
    check_coords(cx, decl, 2, dims.into())
}

/// Parameter `i` must be an array of a 32-bit integer for each dimension.
fn check_coords(cx: &Cx<'_>, decl: &FunctionDecl, i: usize, dims: usize) -> Res<()> {
    let ty = param(cx, decl, i)?;
    match *cx.types().kind(ty) {
        Kind::Array { elem, n } if n as usize == dims && cx.types().leaf(elem) == Some(ir::Type::I32) => {
            Ok(())
        }
        _ => {
            let found = cx.types().describe(ty);
            let m = format!("parameter {i} of the function is {found}, expected an array of {dims} u32");
            Err(operand(m))
        }
    }
}

//! Places in memory: what a memref's type states, where an element is, reading and writing it.
//!
//! An access outside of the buffer, of the shared object or of the variable reads zero and writes nothing.

use phalanx_ir::{CompareOp, ConvertKind, MemFlags, Op as IrOp, Scalar, Value};

use super::cx::Cx;
use super::types;
use super::value::{Base, Idx, Memory, Values};
use crate::ast::{Affine, AffineMap, Layout, MemRef, Op};
use crate::error::{Res, invalid, unsupported};

/// The extents of a memref's type, its strides and its offset, as far as it states them.
pub(super) type Numbers = (Vec<Option<i64>>, Vec<Option<i64>>, Option<i64>);

/// The numbers that a memref's type states.
pub(super) fn numbers(memref: &MemRef) -> Res<Numbers> {
    let Some(shape) = &memref.shape else { return Err(unsupported("a memref without a rank")) };
    let extent = |&n: &Option<u64>| match n {
        None => Ok(None),
        Some(n) => i64::try_from(n).map(Some).map_err(|_large| invalid("a memref's extent is too large")),
    };
    let sizes = shape.iter().map(extent).collect::<Res<Vec<_>>>()?;
    let (strides, offset) = match &memref.layout {
        Layout::Identity => (dense(&sizes), Some(0)),
        Layout::Strided { strides, offset } => (strides.clone(), *offset),
        Layout::Map(map) => strided(map, sizes.len())
            .ok_or_else(|| unsupported("a memref with a layout that is no sum of strides"))?,
    };
    if strides.len() != sizes.len() {
        let (strides, rank) = (strides.len(), sizes.len());
        return Err(invalid(format!("a memref of rank {rank} with {strides} strides")));
    }
    Ok((sizes, strides, offset))
}

/// Strides of rows that follow each other without gaps.
pub(super) fn dense(sizes: &[Option<i64>]) -> Vec<Option<i64>> {
    let mut strides = vec![Some(1); sizes.len()];
    for i in (1..sizes.len()).rev() {
        strides[i - 1] =
            strides[i].zip(sizes[i]).and_then(|(stride, size): (i64, i64)| stride.checked_mul(size));
    }
    strides
}

/// The same where extents need not be known.
pub(super) fn packed(cx: &mut Cx<'_>, sizes: &[Idx]) -> Vec<Idx> {
    let mut strides = vec![Idx::Const(1); sizes.len()];
    for i in (1..sizes.len()).rev() {
        strides[i - 1] = cx.mul(strides[i], sizes[i]);
    }
    strides
}

/// The strides and the offset that a map is the sum of: `(d0, d1)[s0] -> (d0 * 8 + d1 + s0)`.
fn strided(map: &AffineMap, rank: usize) -> Option<(Vec<Option<i64>>, Option<i64>)> {
    if map.dims as usize != rank {
        return None;
    }
    if map.results.len() == rank
        && map.results.iter().enumerate().all(|(i, e)| *e == Affine::Dim(i as u32))
        && rank != 1
    {
        return None;
    }
    let [sum] = &map.results[..] else { return None };
    let (mut strides, mut offset) = (vec![Some(0); rank], Some(0));
    let mut terms = vec![sum];
    while let Some(term) = terms.pop() {
        match term {
            Affine::Add(x, y) => terms.extend([&**x, &**y]),
            Affine::Const(n) => offset = offset.and_then(|offset: i64| offset.checked_add(*n)),
            Affine::Symbol(_) => offset = None,
            Affine::Dim(d) => *strides.get_mut(*d as usize)? = Some(1),
            Affine::Mul(x, y) => match (&**x, &**y) {
                (Affine::Dim(d), Affine::Const(n)) | (Affine::Const(n), Affine::Dim(d)) => {
                    *strides.get_mut(*d as usize)? = Some(*n);
                }
                (Affine::Dim(d), Affine::Symbol(_)) | (Affine::Symbol(_), Affine::Dim(d)) => {
                    *strides.get_mut(*d as usize)? = None;
                }
                _ => return None,
            },
            Affine::FloorDiv(..) | Affine::CeilDiv(..) | Affine::Mod(..) => return None,
        }
    }
    Some((strides, offset))
}

/// Where an element is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Pointer(Value),
    Variable(phalanx_ir::Var, Idx),
}

/// The place of an element.
pub(super) fn place(cx: &mut Cx<'_>, memory: &Memory, indices: &[Idx]) -> Res<Place> {
    if indices.len() != memory.strides.len() {
        let (found, rank) = (indices.len(), memory.strides.len());
        return Err(invalid(format!("{found} indices into a memref of rank {rank}")));
    }
    let unit = i64::from(types::in_memory(memory.elem).bytes()) * i64::from(memory.lanes);
    match memory.base {
        Base::Variable(var) => {
            let mut at = memory.offset;
            for (&index, &stride) in indices.iter().zip(&memory.strides) {
                let step = cx.mul(index, stride);
                at = cx.add(at, step);
            }
            Ok(Place::Variable(var, cx.mul(at, Idx::Const(i64::from(memory.lanes)))))
        }
        Base::Pointer(base) => {
            let (mut pointer, mut bytes) = (base, 0_i64);
            let steps = indices.iter().copied().zip(memory.strides.iter().copied());
            for (index, stride) in steps.chain([(memory.offset, Idx::Const(1))]) {
                match (index, stride) {
                    (Idx::Const(index), Idx::Const(stride)) => {
                        bytes = bytes.wrapping_add(index.wrapping_mul(stride).wrapping_mul(unit));
                    }
                    (Idx::Dyn(index), Idx::Const(stride)) => {
                        pointer = cx.b().ptr_add(pointer, Some(index), stride.wrapping_mul(unit), 0);
                    }
                    (index, Idx::Dyn(stride)) => {
                        if let Idx::Dyn(product) = cx.mul(index, Idx::Dyn(stride)) {
                            pointer = cx.b().ptr_add(pointer, Some(product), unit, 0);
                        }
                    }
                }
            }
            if bytes != 0 {
                pointer = cx.b().ptr_add(pointer, None, 1, bytes);
            }
            Ok(Place::Pointer(pointer))
        }
    }
}

/// A scalar as it comes from memory.
pub(super) fn from_memory(cx: &mut Cx<'_>, value: Value, scalar: Scalar) -> Value {
    if scalar != Scalar::Bool {
        return value;
    }
    let zero = cx.b().constant(Scalar::I8, 0);
    cx.b().compare(CompareOp::Ine, value, zero)
}

/// A scalar as it goes to memory.
fn to_memory(cx: &mut Cx<'_>, value: Value, scalar: Scalar) -> Value {
    if scalar != Scalar::Bool {
        return value;
    }
    let (one, zero) = (cx.b().constant(Scalar::I8, 1), cx.b().constant(Scalar::I8, 0));
    cx.b().select(value, one, zero)
}

/// Reads consecutive scalars.
pub(super) fn read(cx: &mut Cx<'_>, place: Place, scalar: Scalar, count: usize, flags: MemFlags) -> Values {
    match place {
        Place::Pointer(pointer) => {
            let tys = vec![types::in_memory(scalar).into(); count];
            let loaded = cx.b().values(IrOp::Load(flags), &[pointer], &tys);
            loaded.iter().map(|&value| from_memory(cx, value, scalar)).collect()
        }
        Place::Variable(var, at) => (0..count as i64)
            .map(|i| {
                let at = cx.add(at, Idx::Const(i));
                let at = cx.narrow(at);
                cx.b().var_load(var, Some(at))
            })
            .collect(),
    }
}

/// Writes consecutive scalars.
pub(super) fn write(
    cx: &mut Cx<'_>,
    place: Place,
    scalar: Scalar,
    values: &[Value],
    flags: MemFlags,
) -> Res<()> {
    match place {
        Place::Pointer(pointer) => {
            let mut args = vec![pointer];
            for &value in values {
                args.push(to_memory(cx, value, scalar));
            }
            cx.b().effect(IrOp::Store(flags), &args);
        }
        Place::Variable(var, at) => {
            if cx.func.var(var).table.is_some() {
                return Err(invalid("writes to a constant"));
            }
            for (i, &value) in values.iter().enumerate() {
                let at = cx.add(at, Idx::Const(i as i64));
                let at = cx.narrow(at);
                cx.b().var_store(var, Some(at), value);
            }
        }
    }
    Ok(())
}

/// Reads an element.
pub(super) fn load(cx: &mut Cx<'_>, memory: &Memory, indices: &[Idx], flags: MemFlags) -> Res<Values> {
    let place = place(cx, memory, indices)?;
    Ok(read(cx, place, memory.elem, memory.lanes as usize, flags))
}

/// Writes an element.
pub(super) fn store(
    cx: &mut Cx<'_>,
    memory: &Memory,
    indices: &[Idx],
    values: &[Value],
    flags: MemFlags,
) -> Res<()> {
    check_element(cx, memory, values, memory.lanes as usize)?;
    let place = place(cx, memory, indices)?;
    write(cx, place, memory.elem, values, flags)
}

/// Whether values are so many elements of a memref.
pub(super) fn check_element(cx: &Cx<'_>, memory: &Memory, values: &[Value], count: usize) -> Res<()> {
    let fits = values.iter().all(|&value| cx.func.ty(value) == types::ir(memory.elem));
    if fits && values.len() == count {
        return Ok(());
    }
    Err(invalid(format!("the value has another type than the memref's elements, {}", memory.elem)))
}

/// A conversion of an integer for an index of a variable.
pub(super) fn extend(cx: &mut Cx<'_>, value: Value, signed: bool, to: Scalar) -> Value {
    let kind = if signed { ConvertKind::SToS } else { ConvertKind::UToU };
    if cx.func.ty(value) == types::ir(to) { value } else { cx.b().convert(kind, value, to) }
}

/// The operands from number `first` on, as indices.
pub(super) fn indices(cx: &mut Cx<'_>, op: &Op, first: usize) -> Res<Vec<Idx>> {
    (first..op.operands.len()).map(|i| cx.index(op, i)).collect()
}

//! Views: memrefs of memory that is there already, with other offsets, extents and strides.

use std::rc::Rc;

use super::attr::{self, DYNAMIC};
use super::cx::Cx;
use super::place::{Place, indices, numbers, packed, place};
use super::types;
use super::value::{Base, Idx, Memory, Val};
use crate::ast::{Affine, Attr, MemRef, Op, Type};
use crate::error::{Res, invalid, not_built, unsupported};

/// Translates an operation that makes a view.
pub(super) fn emit(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    match &*op.name {
        "memref.cast" | "memref.memory_space_cast" => {
            let memory = cx.memory(op, 0)?;
            let memory = stated(cx, op, (*memory).clone())?;
            cx.define(op, vec![memory])
        }
        "memref.subview" => subview(cx, op),
        "memref.reinterpret_cast" => reinterpret_cast(cx, op),
        "memref.collapse_shape" => collapse(cx, op),
        "memref.expand_shape" => expand(cx, op),
        "memref.transpose" => transpose(cx, op),
        "memref.view" => view(cx, op),
        "memref.extract_strided_metadata" => metadata(cx, op),
        _ => Err(not_built()),
    }
}

/// The memref type of the first result.
pub(super) fn result_memref<'a>(cx: &Cx<'a>, op: &Op) -> Res<&'a MemRef> {
    match cx.result_ty(op, 0)? {
        Type::MemRef(memref) => Ok(memref),
        other => Err(invalid(format!("the result is {}, expected a memref", types::describe(other)))),
    }
}

/// A memref with the numbers that the type of an operation's result states.
fn stated(cx: &Cx<'_>, op: &Op, mut memory: Memory) -> Res<Val> {
    let memref = result_memref(cx, op)?;
    if memref.shape.is_none() {
        return Ok(Val::Memory(Rc::new(memory)));
    }
    let (sizes, strides, offset) = numbers(memref)?;
    if sizes.len() != memory.sizes.len() {
        let (found, expected) = (sizes.len(), memory.sizes.len());
        return Err(invalid(format!("the result has {found} dimensions, expected {expected}")));
    }
    let state = |number: &mut Idx, stated: Option<i64>| {
        if let Some(n) = stated {
            *number = Idx::Const(n);
        }
    };
    memory.sizes.iter_mut().zip(sizes).for_each(|(number, n)| state(number, n));
    memory.strides.iter_mut().zip(strides).for_each(|(number, n)| state(number, n));
    state(&mut memory.offset, offset);
    Ok(Val::Memory(Rc::new(memory)))
}

/// A list of which some are in an attribute and the others are operands.
pub(super) fn mixed(cx: &mut Cx<'_>, op: &Op, name: &str, operands: std::ops::Range<usize>) -> Res<Vec<Idx>> {
    let mut operands = operands.into_iter();
    let mut list = Vec::new();
    for n in attr::ints(op, name)? {
        list.push(match n {
            DYNAMIC => match operands.next() {
                Some(i) => cx.index(op, i)?,
                None => {
                    return Err(invalid(format!("`{name}` has more open numbers than there are operands")));
                }
            },
            n => Idx::Const(n),
        });
    }
    match operands.next() {
        None => Ok(list),
        Some(_) => Err(invalid(format!("`{name}` has fewer open numbers than there are operands"))),
    }
}

fn subview(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let source = cx.memory(op, 0)?;
    let groups = attr::segments(op, 4)?;
    let offsets = mixed(cx, op, "static_offsets", groups[1].clone())?;
    let sizes = mixed(cx, op, "static_sizes", groups[2].clone())?;
    let steps = mixed(cx, op, "static_strides", groups[3].clone())?;
    let rank = source.sizes.len();
    if [offsets.len(), sizes.len(), steps.len()] != [rank; 3] {
        return Err(invalid(format!("expected {rank} offsets, sizes and strides")));
    }
    let mut offset = source.offset;
    let mut strides = Vec::with_capacity(rank);
    for i in 0..rank {
        let moved = cx.mul(offsets[i], source.strides[i]);
        offset = cx.add(offset, moved);
        strides.push(cx.mul(steps[i], source.strides[i]));
    }
    // Dimensions of one element may be left out of the result: those that the type does not have.
    let memref = result_memref(cx, op)?;
    let (wanted, wanted_strides, _) = numbers(memref)?;
    let mut kept = Vec::with_capacity(wanted.len());
    let mut dropped = rank.saturating_sub(wanted.len());
    for i in 0..rank {
        let at = kept.len();
        let fits = |stated: Option<&Option<i64>>, number: Idx| match (stated, number.known()) {
            (Some(Some(n)), Some(known)) => *n == known,
            (Some(_), _) => true,
            (None, _) => false,
        };
        let is_kept = fits(wanted.get(at), sizes[i]) && fits(wanted_strides.get(at), strides[i]);
        if dropped > 0 && sizes[i] == Idx::Const(1) && !(is_kept && wanted[at] == Some(1)) {
            dropped -= 1;
        } else {
            kept.push(i);
        }
    }
    if kept.len() > wanted.len() {
        // Of several dimensions of one element, the first were kept.
        let ones: Vec<usize> = kept.iter().copied().filter(|&i| sizes[i] == Idx::Const(1)).collect();
        let surplus = kept.len() - wanted.len();
        let gone: Vec<usize> = ones.into_iter().rev().take(surplus).collect();
        kept.retain(|i| !gone.contains(i));
    }
    if kept.len() != wanted.len() {
        return Err(invalid("the result does not have the dimensions of the view"));
    }
    let memory = Memory {
        offset,
        sizes: kept.iter().map(|&i| sizes[i]).collect(),
        strides: kept.iter().map(|&i| strides[i]).collect(),
        ..(*source).clone()
    };
    let val = stated(cx, op, memory)?;
    cx.define(op, vec![val])
}

fn reinterpret_cast(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let source = cx.memory(op, 0)?;
    let groups = attr::segments(op, 4)?;
    let offset = mixed(cx, op, "static_offsets", groups[1].clone())?;
    let sizes = mixed(cx, op, "static_sizes", groups[2].clone())?;
    let strides = mixed(cx, op, "static_strides", groups[3].clone())?;
    let (&[offset], true) = (&offset[..], sizes.len() == strides.len()) else {
        return Err(invalid("expected one offset, and as many sizes as strides"));
    };
    let val = stated(cx, op, Memory { offset, sizes, strides, ..(*source).clone() })?;
    cx.define(op, vec![val])
}

/// The dimensions of each group of `reassociation`.
fn reassociation(op: &Op) -> Res<Vec<Vec<usize>>> {
    let wrong = || invalid("expected the attribute `reassociation`, a list of lists of dimensions");
    let Some(Attr::Array(groups)) = attr::get(op, "reassociation") else { return Err(wrong()) };
    let group = |attr: &Attr| {
        let list = attr::int_list(attr)?;
        list.into_iter().map(|n| usize::try_from(n).ok()).collect::<Option<Vec<_>>>()
    };
    groups.iter().map(|attr| group(attr).ok_or_else(wrong)).collect()
}

fn collapse(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let source = cx.memory(op, 0)?;
    let (mut sizes, mut strides) = (Vec::new(), Vec::new());
    for group in reassociation(op)? {
        if group.is_empty() || group.iter().any(|&i| i >= source.sizes.len()) {
            return Err(invalid("`reassociation` names a dimension that is not there"));
        }
        // The dimensions of a group lie densely, so its innermost one that is longer than 1 has its stride.
        let longer = group.iter().rev().copied().find(|&i| source.sizes[i] != Idx::Const(1));
        strides.push(source.strides[longer.unwrap_or(group[group.len() - 1])]);
        let mut size = Idx::Const(1);
        for &i in &group {
            size = cx.mul(size, source.sizes[i]);
        }
        sizes.push(size);
    }
    let val = stated(cx, op, Memory { sizes, strides, ..(*source).clone() })?;
    cx.define(op, vec![val])
}

fn expand(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let source = cx.memory(op, 0)?;
    let memref = result_memref(cx, op)?;
    let (wanted, _, _) = numbers(memref)?;
    let groups = reassociation(op)?;
    if groups.len() != source.sizes.len() {
        return Err(invalid("`reassociation` needs a group for each dimension"));
    }
    let sizes = match attr::get(op, "static_output_shape") {
        Some(_) => mixed(cx, op, "static_output_shape", 1..op.operands.len())?,
        None => wanted.iter().map(|n| n.map_or(Idx::Const(DYNAMIC), Idx::Const)).collect(),
    };
    if sizes.contains(&Idx::Const(DYNAMIC)) {
        return Err(unsupported("open extents without `output_shape`"));
    }
    let mut strides = vec![Idx::Const(1); sizes.len()];
    for (group, &stride) in groups.iter().zip(&source.strides) {
        let mut stride = stride;
        for &i in group.iter().rev() {
            let (Some(slot), Some(&size)) = (strides.get_mut(i), sizes.get(i)) else {
                return Err(invalid("`reassociation` names a dimension that is not there"));
            };
            *slot = stride;
            stride = cx.mul(stride, size);
        }
    }
    let val = stated(cx, op, Memory { sizes, strides, ..(*source).clone() })?;
    cx.define(op, vec![val])
}

fn transpose(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let source = cx.memory(op, 0)?;
    let map = attr::map(op, "permutation")?;
    let dims: Option<Vec<usize>> = map
        .results
        .iter()
        .map(|e| match e {
            Affine::Dim(d) => Some(*d as usize).filter(|&d| d < source.sizes.len()),
            _ => None,
        })
        .collect();
    let dims = dims.filter(|dims| dims.len() == source.sizes.len());
    let dims = dims.ok_or_else(|| invalid("`permutation` is none of the memref's dimensions"))?;
    let sizes = dims.iter().map(|&d| source.sizes[d]).collect();
    let strides = dims.iter().map(|&d| source.strides[d]).collect();
    let val = stated(cx, op, Memory { sizes, strides, ..(*source).clone() })?;
    cx.define(op, vec![val])
}

/// Bytes as another type.
fn view(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let source = cx.memory(op, 0)?;
    let memref = result_memref(cx, op)?;
    let shift = cx.index(op, 1)?;
    let Base::Pointer(_) = source.base else { return Err(unsupported("a view of private memory")) };
    let Place::Pointer(pointer) = place(cx, &source, &[shift])? else {
        return Err(unsupported("a view of private memory"));
    };
    let (mut sizes, _, _) = numbers(memref)?;
    let mut open = indices(cx, op, 2)?.into_iter();
    let sizes: Option<Vec<Idx>> =
        sizes.iter_mut().map(|n| n.map(Idx::Const).or_else(|| open.next())).collect();
    let sizes = sizes.ok_or_else(|| invalid("expected an operand for each open extent"))?;
    let strides = packed(cx, &sizes);
    let (lanes, elem) = types::scalars(&memref.elem)?;
    let (base, lanes, offset) = (Base::Pointer(pointer), lanes as u32, Idx::Const(0));
    cx.define(op, vec![Val::Memory(Rc::new(Memory { base, elem, lanes, offset, sizes, strides }))])
}

fn metadata(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let source = cx.memory(op, 0)?;
    let base = Memory { offset: Idx::Const(0), sizes: Vec::new(), strides: Vec::new(), ..(*source).clone() };
    let mut vals = vec![Val::Memory(Rc::new(base))];
    for &idx in [source.offset].iter().chain(&source.sizes).chain(&source.strides) {
        vals.push(Val::one(cx.idx_value(idx)));
    }
    cx.define(op, vals)
}

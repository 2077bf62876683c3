//! Vectors: `vector`, each element a scalar of its own.
//!
//! Loads and stores of memory go along the innermost dimension. An element of `transfer_read` outside of the memref's
//! extents is the padding, one of `transfer_write` is left alone, unless `in_bounds` says that there is none.

use phalanx_ir::{BinaryOp as B, CompareOp as C, MemFlags, Scalar, Value};

use super::arith::{is_exact, propagating, scalar_of, widened};
use super::attr::{self, DYNAMIC};
use super::cx::Cx;
use super::math::fma;
use super::place::{self, Place};
use super::types;
use super::value::{Idx, Memory, Val, Values};
use crate::ast::{Affine, Attr, Op, Type};
use crate::error::{Res, invalid, not_built, unsupported};

/// Translates an operation of the dialect.
pub(super) fn emit(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    match &*op.name {
        "vector.load" => load(cx, op),
        "vector.store" => store(cx, op),
        "vector.transfer_read" => transfer_read(cx, op),
        "vector.transfer_write" => transfer_write(cx, op),
        "vector.splat" | "vector.broadcast" => broadcast(cx, op),
        "vector.extract" | "vector.extractelement" => extract(cx, op),
        "vector.insert" | "vector.insertelement" => insert(cx, op),
        "vector.fma" => {
            let (x, y, z) = (cx.values(op, 0)?, cx.values(op, 1)?, cx.values(op, 2)?);
            if x.len() != y.len() || x.len() != z.len() {
                return Err(invalid("operands of different types"));
            }
            let mut out = Values::new();
            for i in 0..x.len() {
                let ty = cx.func.ty(x[i]);
                if cx.func.ty(y[i]) != ty || cx.func.ty(z[i]) != ty || !scalar_of(cx, x[i])?.is_float() {
                    return Err(invalid("operands of different types, or no floats"));
                }
                out.push(fma(cx, x[i], y[i], z[i])?);
            }
            cx.define_values(op, out)
        }
        "vector.shape_cast" => {
            let values = cx.values(op, 0)?;
            cx.define_values(op, values)
        }
        "vector.from_elements" => {
            let values = (0..op.operands.len()).map(|i| cx.value(op, i)).collect::<Res<Values>>()?;
            cx.define_values(op, values)
        }
        "vector.to_elements" => {
            let values = cx.values(op, 0)?;
            cx.define(op, values.into_iter().map(Val::one).collect())
        }
        "vector.shuffle" => shuffle(cx, op),
        "vector.bitcast" => {
            let x = cx.values(op, 0)?;
            let (_, scalar) = types::scalars(cx.result_ty(op, 0)?)?;
            let mut out = Values::new();
            for &x in &x {
                let from = scalar_of(cx, x)?;
                if from.bits() != scalar.bits() {
                    return Err(unsupported("a bitcast between elements of different sizes"));
                }
                let same = from == scalar;
                out.push(if same { x } else { cx.b().value(phalanx_ir::Op::Bitcast, &[x], scalar.into()) });
            }
            cx.define_values(op, out)
        }
        "vector.reduction" => reduction(cx, op),
        _ => Err(not_built()),
    }
}

/// The extents of a vector; none of a scalar.
fn shape(ty: &Type) -> &[u64] {
    match ty {
        Type::Vector(shape, _) => shape,
        _ => &[],
    }
}

/// The extents of the vector that is the first result, or an operand.
fn extents(ty: &Type) -> Vec<usize> {
    shape(ty).iter().map(|&n| n as usize).collect()
}

fn broadcast(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let values = cx.values(op, 0)?;
    let (from, to) = (extents(cx.operand_ty(op, 0)?), extents(cx.result_ty(op, 0)?));
    let (count, _) = types::scalars(cx.result_ty(op, 0)?)?;
    if from.len() > to.len() {
        return Err(invalid("a result with fewer dimensions than the operand"));
    }
    let mut out = Values::new();
    for element in 0..count {
        // The dimensions of the operand are the last ones of the result; one of 1 is repeated.
        let (mut rest, mut at, mut unit) = (element, 0, 1);
        for (i, &extent) in to.iter().enumerate().rev() {
            let place = rest % extent.max(1);
            rest /= extent.max(1);
            if let Some(own) = (i + from.len()).checked_sub(to.len()).map(|i| from[i]) {
                if own != 1 && own != extent {
                    return Err(invalid(format!("a dimension of {own} for one of {extent}")));
                }
                at += if own == 1 { 0 } else { place * unit };
                unit *= own;
            }
        }
        out.push(*values.get(at).ok_or_else(|| invalid("a vector without elements"))?);
    }
    cx.define_values(op, out)
}

// ── elements ──

/// The position of an operation, as far as it is known, and the operand of its last index if it is not.
fn position(cx: &mut Cx<'_>, op: &Op, first: usize) -> Res<Vec<Idx>> {
    let mut operands = first..op.operands.len();
    let list = match attr::optional_ints(op, "static_position")? {
        Some(list) => list,
        None => attr::optional_ints(op, "position")?.unwrap_or_default(),
    };
    let mut position = Vec::new();
    for n in list {
        position.push(match n {
            DYNAMIC => match operands.next() {
                Some(i) => number(cx, op, i)?,
                None => return Err(invalid("fewer operands than open indices")),
            },
            n => Idx::Const(n),
        });
    }
    for i in operands {
        position.push(number(cx, op, i)?);
    }
    Ok(position)
}

/// An index of any integer type.
fn number(cx: &mut Cx<'_>, op: &Op, i: usize) -> Res<Idx> {
    let value = cx.value(op, i)?;
    if !scalar_of(cx, value)?.is_int() {
        return Err(cx.wrong(op, i, "an integer"));
    }
    let wide = place::extend(cx, value, true, Scalar::I64);
    Ok(cx.idx(wide))
}

/// The first element at a position of a vector, and how many there are.
fn part(cx: &mut Cx<'_>, extents: &[usize], position: &[Idx]) -> Res<(Idx, usize)> {
    if position.len() > extents.len() {
        return Err(invalid(format!("{} indices into {} dimensions", position.len(), extents.len())));
    }
    let mut at = Idx::Const(0);
    for (&index, &extent) in position.iter().zip(extents) {
        if index.known().is_some_and(|n| !(0..extent as i64).contains(&n)) {
            return Err(invalid(format!("an index beyond a dimension of {extent}")));
        }
        at = cx.mul(at, Idx::Const(extent as i64));
        at = cx.add(at, index);
    }
    let count: usize = extents[position.len()..].iter().product();
    Ok((cx.mul(at, Idx::Const(count as i64)), count))
}

fn extract(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let values = cx.values(op, 0)?;
    let extents = extents(cx.operand_ty(op, 0)?);
    let position = position(cx, op, 1)?;
    let (at, count) = part(cx, &extents, &position)?;
    let out = match at {
        Idx::Const(at) => values[at as usize..at as usize + count].into(),
        // The element of a vector that is not known: from a variable that holds it.
        Idx::Dyn(_) => {
            let ty = cx.func.ty(*values.first().ok_or_else(|| invalid("a vector without elements"))?);
            let var = cx.func.new_var(ty, values.len() as u32, "");
            fill(cx, var, &values);
            let mut out = Values::new();
            for i in 0..count {
                let at = cx.add(at, Idx::Const(i as i64));
                let at = cx.narrow(at);
                out.push(cx.b().var_load(var, Some(at)));
            }
            out
        }
    };
    cx.define_values(op, out)
}

fn fill(cx: &mut Cx<'_>, var: phalanx_ir::Var, values: &[Value]) {
    for (i, &value) in values.iter().enumerate() {
        let at = cx.b().i32(i as i32);
        cx.b().var_store(var, Some(at), value);
    }
}

fn insert(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let (new, mut values) = (cx.values(op, 0)?, cx.values(op, 1)?);
    let extents = extents(cx.operand_ty(op, 1)?);
    let position = position(cx, op, 2)?;
    let (at, count) = part(cx, &extents, &position)?;
    let same = new.iter().zip(&values).all(|(&x, &y)| cx.func.ty(x) == cx.func.ty(y));
    if count != new.len() || !same {
        return Err(cx.wrong(op, 0, "an element of the vector"));
    }
    match at {
        Idx::Const(at) => values[at as usize..at as usize + count].copy_from_slice(&new),
        Idx::Dyn(_) => {
            let ty = cx.func.ty(*values.first().ok_or_else(|| invalid("a vector without elements"))?);
            let var = cx.func.new_var(ty, values.len() as u32, "");
            fill(cx, var, &values);
            for (i, &value) in new.iter().enumerate() {
                let at = cx.add(at, Idx::Const(i as i64));
                let at = cx.narrow(at);
                cx.b().var_store(var, Some(at), value);
            }
            for (i, value) in values.iter_mut().enumerate() {
                let at = cx.b().i32(i as i32);
                *value = cx.b().var_load(var, Some(at));
            }
        }
    }
    cx.define_values(op, values)
}

fn shuffle(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let (x, y) = (cx.values(op, 0)?, cx.values(op, 1)?);
    if shape(cx.operand_ty(op, 0)?).len() != 1 {
        return Err(unsupported("a shuffle of vectors of several dimensions"));
    }
    let mut out = Values::new();
    for n in attr::ints(op, "mask")? {
        let element = usize::try_from(n).ok().and_then(|n| x.iter().chain(&y).nth(n));
        // -1 is poison.
        let element = if n == -1 { x.first() } else { element };
        out.push(*element.ok_or_else(|| invalid(format!("element {n} of two vectors")))?);
    }
    cx.define_values(op, out)
}

/// From the first element to the last, one after the other.
fn reduction(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let values = cx.values(op, 0)?;
    let first = *values.first().ok_or_else(|| invalid("a vector without elements"))?;
    let is_float = scalar_of(cx, first)?.is_float();
    let kind = attr::keyword(op, "kind")?;
    let (op_of, wants_float) = match kind {
        "add" => (if is_float { B::Fadd } else { B::Iadd }, is_float),
        "mul" => (if is_float { B::Fmul } else { B::Imul }, is_float),
        "minsi" => (B::Smin, false),
        "minui" => (B::Umin, false),
        "maxsi" => (B::Smax, false),
        "maxui" => (B::Umax, false),
        "and" => (B::And, false),
        "or" => (B::Or, false),
        "xor" => (B::Xor, false),
        "minnumf" | "minimumf" => (B::Fmin, true),
        "maxnumf" | "maximumf" => (B::Fmax, true),
        kind => return Err(unsupported(format!("the reduction {kind}"))),
    };
    let is_logic = matches!(op_of, B::And | B::Or | B::Xor);
    if wants_float != is_float || (scalar_of(cx, first)? == Scalar::Bool && !is_logic) {
        return Err(invalid(format!("a reduction {kind} of {}", scalar_of(cx, first)?)));
    }
    let mut list = values.to_vec();
    if op.operands.len() > 1 {
        let start = cx.value(op, 1)?;
        if cx.func.ty(start) != cx.func.ty(first) {
            return Err(cx.wrong(op, 1, "an element of the vector"));
        }
        list.insert(0, start);
    }
    let (exact, mut sum) = (is_exact(op), list[0]);
    for &value in &list[1..] {
        sum = if is_float {
            widened(cx, &[sum, value], |cx, v| match kind {
                "minimumf" | "maximumf" => propagating(cx, kind == "maximumf", v[0], v[1]),
                _ => cx.exact(exact).binary(op_of, v[0], v[1]),
            })?
        } else {
            cx.b().binary(op_of, sum, value)
        };
    }
    cx.define(op, vec![Val::one(sum)])
}

// ── memory ──

/// Reads so many elements along the innermost dimension.
fn read(cx: &mut Cx<'_>, memory: &Memory, indices: &[Idx], count: usize) -> Res<Values> {
    match memory.strides.last() {
        Some(Idx::Const(1)) | None => {
            let place = place::place(cx, memory, indices)?;
            Ok(place::read(cx, place, memory.elem, count * memory.lanes as usize, MemFlags::default()))
        }
        Some(_) => {
            let mut out = Values::new();
            for i in 0..count {
                let place = nth(cx, memory, indices, i)?;
                out.extend(place::read(cx, place, memory.elem, memory.lanes as usize, MemFlags::default()));
            }
            Ok(out)
        }
    }
}

/// The place of element `i` along the innermost dimension.
fn nth(cx: &mut Cx<'_>, memory: &Memory, indices: &[Idx], i: usize) -> Res<Place> {
    let mut indices = indices.to_vec();
    if let Some(last) = indices.last_mut() {
        *last = cx.add(*last, Idx::Const(i as i64));
    }
    place::place(cx, memory, &indices)
}

/// The rows of a vector of several dimensions: the indices of each row's first element.
fn rows(cx: &mut Cx<'_>, extents: &[usize], indices: &[Idx]) -> Res<(Vec<Vec<Idx>>, usize)> {
    let (&len, outer) = extents.split_last().unwrap_or((&1, &[]));
    if outer.len() >= indices.len().max(1) {
        return Err(invalid("a vector of more dimensions than the memref has"));
    }
    let count: usize = outer.iter().product();
    let mut list = Vec::with_capacity(count);
    for row in 0..count {
        let (mut rest, mut at) = (row, indices.to_vec());
        for (i, &extent) in outer.iter().enumerate().rev() {
            let slot = indices.len() - extents.len() + i;
            at[slot] = cx.add(at[slot], Idx::Const((rest % extent) as i64));
            rest /= extent;
        }
        list.push(at);
    }
    Ok((list, len))
}

/// How many of the memref's elements a row of scalars is.
fn elements(memory: &Memory, extents: &[usize]) -> Res<Vec<usize>> {
    let mut extents = extents.to_vec();
    if memory.lanes > 1 {
        // The elements of the memref are vectors themselves: those are the vector's innermost dimensions.
        let (mut lanes, wanted) = (1, memory.lanes as usize);
        while lanes < wanted {
            lanes *= extents.pop().ok_or_else(|| invalid("a vector smaller than the memref's elements"))?;
        }
        if lanes != wanted {
            return Err(invalid("a vector that is no multiple of the memref's elements"));
        }
    }
    Ok(extents)
}

fn load(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let memory = cx.memory(op, 0)?;
    let indices = place::indices(cx, op, 1)?;
    read_rows(cx, op, &memory, &indices)
}

/// Reads the vector that is the first result, row by row.
fn read_rows(cx: &mut Cx<'_>, op: &Op, memory: &Memory, indices: &[Idx]) -> Res<()> {
    let extents = elements(memory, &extents(cx.result_ty(op, 0)?))?;
    let (rows, len) = rows(cx, &extents, indices)?;
    let mut out = Values::new();
    for row in &rows {
        out.extend(read(cx, memory, row, len)?);
    }
    cx.define_values(op, out)
}

fn store(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let (values, memory) = (cx.values(op, 0)?, cx.memory(op, 1)?);
    let indices = place::indices(cx, op, 2)?;
    write_rows(cx, op, &memory, &indices, &values)
}

/// Writes the vector that is the first operand, row by row.
fn write_rows(cx: &mut Cx<'_>, op: &Op, memory: &Memory, indices: &[Idx], values: &[Value]) -> Res<()> {
    place::check_element(cx, memory, values, values.len())?;
    let extents = elements(memory, &extents(cx.operand_ty(op, 0)?))?;
    let (rows, len) = rows(cx, &extents, indices)?;
    for (row, values) in rows.iter().zip(values.chunks(len * memory.lanes as usize)) {
        write(cx, memory, row, values)?;
    }
    Ok(())
}

fn write(cx: &mut Cx<'_>, memory: &Memory, indices: &[Idx], values: &[Value]) -> Res<()> {
    if matches!(memory.strides.last(), Some(Idx::Const(1)) | None) {
        let place = place::place(cx, memory, indices)?;
        return place::write(cx, place, memory.elem, values, MemFlags::default());
    }
    for (i, values) in values.chunks(memory.lanes as usize).enumerate() {
        let place = nth(cx, memory, indices, i)?;
        place::write(cx, place, memory.elem, values, MemFlags::default())?;
    }
    Ok(())
}

// ── transfers ──

/// What a transfer goes along.
struct Transfer {
    indices: Vec<Idx>,
    /// Elements; none for a vector without dimensions.
    count: usize,
    /// The dimension of the memref; none where each element is the same one.
    along: Option<usize>,
    in_bounds: bool,
    mask: Option<Values>,
}

impl Transfer {
    /// Of the operands behind `first`; the groups are those of `operandSegmentSizes`.
    fn of(cx: &mut Cx<'_>, op: &Op, vector: &Type, memory: &Memory, [at, mask]: [usize; 2]) -> Res<Self> {
        let groups = attr::segments(op, mask + 1)?;
        let indices = groups[at].clone().map(|i| cx.index(op, i)).collect::<Res<Vec<_>>>()?;
        let count = match shape(vector) {
            [] => 1,
            [n] => *n as usize,
            _ => return Err(unsupported("a transfer of a vector of several dimensions")),
        };
        if memory.lanes != 1 {
            return Err(unsupported("a transfer of a memref of vectors"));
        }
        let rank = memory.sizes.len();
        if indices.len() != rank {
            return Err(invalid(format!("{} indices into a memref of rank {rank}", indices.len())));
        }
        let along = match attr::get(op, "permutation_map") {
            None => rank.checked_sub(1),
            Some(Attr::Map(map)) => match map.results[..] {
                [] | [Affine::Const(0)] => None,
                [Affine::Dim(d)] if (d as usize) < rank => Some(d as usize),
                _ => return Err(unsupported("a transfer along several dimensions")),
            },
            Some(_) => return Err(invalid("`permutation_map`: expected a map")),
        };
        let in_bounds =
            attr::optional_ints(op, "in_bounds")?.is_some_and(|list| list.iter().all(|&b| b != 0));
        let mask = match groups.get(mask).filter(|range| !range.is_empty()) {
            Some(range) => Some(cx.values(op, range.start)?),
            None => None,
        };
        if let Some(mask) = &mask
            && (mask.len() != count || mask.iter().any(|&m| cx.func.ty(m) != types::ir(Scalar::Bool)))
        {
            return Err(invalid("a mask of another size than the vector"));
        }
        Ok(Self { indices, count, along, in_bounds, mask })
    }

    /// The indices of an element.
    fn element(&self, cx: &mut Cx<'_>, i: usize) -> Vec<Idx> {
        let mut indices = self.indices.clone();
        if let Some(along) = self.along {
            indices[along] = cx.add(indices[along], Idx::Const(i as i64));
        }
        indices
    }

    /// Whether an element is transferred; none for always.
    fn condition(&self, cx: &mut Cx<'_>, memory: &Memory, i: usize) -> Option<Value> {
        let masked = self.mask.as_ref().map(|mask| mask[i]);
        let (Some(along), false) = (self.along, self.in_bounds) else { return masked };
        let index = cx.add(self.indices[along], Idx::Const(i as i64));
        let inside = match (index, memory.sizes[along]) {
            (Idx::Const(n), Idx::Const(size)) if (0..size).contains(&n) => None,
            (index, size) => {
                // Without a sign, so that what is below 0 is beyond.
                let (index, size) = (cx.idx_value(index), cx.idx_value(size));
                Some(cx.b().compare(C::Ult, index, size))
            }
        };
        match (masked, inside) {
            (Some(x), Some(y)) => Some(cx.b().binary(B::And, x, y)),
            (x, y) => x.or(y),
        }
    }
}

/// Whether a transfer is a plain load or store of a vector of several dimensions: all of it inside, without a mask, and
/// along the innermost dimensions in their order.
fn is_plain(op: &Op, vector: &Type, memory: &Memory, mask: usize) -> Res<bool> {
    let (dims, rank) = (shape(vector).len(), memory.sizes.len());
    if dims < 2 || dims > rank {
        return Ok(false);
    }
    let is_minor = match attr::get(op, "permutation_map") {
        None => true,
        Some(Attr::Map(map)) => {
            map.results.len() == dims
                && (map.results.iter().zip(rank - dims..)).all(|(e, d)| *e == Affine::Dim(d as u32))
        }
        Some(_) => false,
    };
    let in_bounds = attr::optional_ints(op, "in_bounds")?;
    let is_inside = in_bounds.is_some_and(|list| list.len() == dims && list.iter().all(|&b| b != 0));
    let groups = attr::segments(op, mask + 1)?;
    Ok(is_minor && is_inside && groups[mask].is_empty())
}

fn transfer_read(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let memory = cx.memory(op, 0)?;
    let ty = cx.result_ty(op, 0)?;
    if is_plain(op, ty, &memory, 3)? {
        let groups = attr::segments(op, 2)?;
        let indices = groups[1].clone().map(|i| cx.index(op, i)).collect::<Res<Vec<_>>>()?;
        return read_rows(cx, op, &memory, &indices);
    }
    let transfer = Transfer::of(cx, op, ty, &memory, [1, 3])?;
    let padding = cx.value(op, attr::segments(op, 3)?[2].start)?;
    if cx.func.ty(padding) != types::ir(memory.elem) {
        return Err(invalid("a padding of another type than the memref's elements"));
    }
    let is_last = transfer.along == memory.sizes.len().checked_sub(1);
    if transfer.in_bounds && transfer.mask.is_none() && is_last && transfer.count > 0 {
        let out = read(cx, &memory, &transfer.indices, transfer.count)?;
        return cx.define_values(op, out);
    }
    let mut out = Values::new();
    for i in 0..transfer.count {
        let condition = transfer.condition(cx, &memory, i);
        let indices = transfer.element(cx, i);
        // Reading outside of the extents, but in the buffer, gives what is not looked at.
        let value = place::load(cx, &memory, &indices, MemFlags::default())?[0];
        out.push(condition.map_or(value, |condition| cx.b().select(condition, value, padding)));
    }
    cx.define_values(op, out)
}

fn transfer_write(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let (values, memory) = (cx.values(op, 0)?, cx.memory(op, 1)?);
    let ty = cx.operand_ty(op, 0)?;
    if is_plain(op, ty, &memory, 3)? {
        let groups = attr::segments(op, 3)?;
        let indices = groups[2].clone().map(|i| cx.index(op, i)).collect::<Res<Vec<_>>>()?;
        return write_rows(cx, op, &memory, &indices, &values);
    }
    let transfer = Transfer::of(cx, op, ty, &memory, [2, 3])?;
    place::check_element(cx, &memory, &values, transfer.count)?;
    let is_last = transfer.along == memory.sizes.len().checked_sub(1);
    if transfer.in_bounds && transfer.mask.is_none() && is_last && transfer.count > 0 {
        return write(cx, &memory, &transfer.indices, &values);
    }
    for (i, &value) in values.iter().enumerate() {
        let condition = transfer.condition(cx, &memory, i);
        let indices = transfer.element(cx, i);
        let emit = |cx: &mut Cx<'_>| place::store(cx, &memory, &indices, &[value], MemFlags::default());
        match condition {
            None => emit(cx)?,
            Some(condition) => cx.fork(condition, emit, |_| Ok(()))?,
        }
    }
    Ok(())
}

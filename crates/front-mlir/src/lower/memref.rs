//! Memory: loads and stores, allocations, globals and copies of `memref`.

use std::rc::Rc;

use phalanx_ir::{AtomicOp, BinaryOp as B, CompareOp, MemFlags, Op as IrOp, Type as IrType};

use super::attr;
use super::cx::Cx;
use super::place::{Place, check_element, dense, indices, load, numbers, place, store};
use super::symbols::Symbols;
use super::types::{self, MemSpace};
use super::value::{Base, Idx, Memory, Val};
use super::view::{self, result_memref};
use crate::ast::{Attr, MemRef, Op};
use crate::error::{Res, invalid, unsupported};

/// Translates an operation of the dialect.
pub(super) fn emit<'a>(cx: &mut Cx<'a>, op: &'a Op) -> Res<()> {
    match &*op.name {
        "memref.load" => {
            let memory = cx.memory(op, 0)?;
            let indices = indices(cx, op, 1)?;
            let values = load(cx, &memory, &indices, flags(op))?;
            cx.define_values(op, values)
        }
        "memref.store" => {
            let values = cx.values(op, 0)?;
            let memory = cx.memory(op, 1)?;
            let indices = indices(cx, op, 2)?;
            store(cx, &memory, &indices, &values, flags(op))
        }
        "memref.alloc" | "memref.alloca" => allocation(cx, op),
        "memref.dealloc" | "memref.assume_alignment" | "memref.alloca_scope.return" => assumed(cx, op),
        "memref.dim" => dim(cx, op),
        "memref.rank" => {
            let rank = cx.memory(op, 0)?.sizes.len();
            let rank = cx.b().i64(rank as i64);
            cx.define(op, vec![Val::one(rank)])
        }
        "memref.get_global" => get_global(cx, op),
        "memref.copy" => copy(cx, op),
        "memref.atomic_rmw" => atomic(cx, op),
        _ => view::emit(cx, op),
    }
}

fn flags(op: &Op) -> MemFlags {
    MemFlags { volatile: false, nontemporal: attr::flag(op, "nontemporal") }
}

fn allocation(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let memref = result_memref(cx, op)?;
    let is_private = &*op.name == "memref.alloca";
    let space = match MemSpace::of(memref.space.as_ref())? {
        MemSpace::Buffer if is_private => MemSpace::Private,
        MemSpace::Buffer => return Err(unsupported("memory that a kernel allocates in a buffer")),
        space => space,
    };
    let sizes = match attr::get(op, "operandSegmentSizes") {
        Some(_) => attr::segments(op, 1)?[0].clone(),
        None => 0..op.operands.len(),
    };
    let sizes = sizes.map(|i| cx.index(op, i)).collect::<Res<Vec<_>>>()?;
    let val = allocate(cx, memref, &sizes, space)?;
    cx.define(op, vec![val])
}

/// Memory of its own for a memref; its open extents are given, and must be known.
pub(super) fn allocate(cx: &mut Cx<'_>, memref: &MemRef, open: &[Idx], space: MemSpace) -> Res<Val> {
    let (mut sizes, strides, offset) = numbers(memref)?;
    let mut open = open.iter();
    for size in sizes.iter_mut().filter(|size| size.is_none()) {
        *size = open.next().and_then(|idx| idx.known());
    }
    let strides = if strides.contains(&None) { dense(&sizes) } else { strides };
    let known = |list: &[Option<i64>]| list.iter().copied().collect::<Option<Vec<i64>>>();
    let (Some(sizes), Some(strides)) = (known(&sizes), known(&strides)) else {
        return Err(unsupported("an allocation whose size is not a constant"));
    };
    let (lanes, elem) = types::scalars(&memref.elem)?;
    let offset = offset.unwrap_or(0);
    let span = sizes.iter().zip(&strides).try_fold(i128::from(offset) + 1, |end, (&size, &stride)| {
        (size >= 0 && stride >= 0).then(|| end + i128::from(size - 1).max(0) * i128::from(stride))
    });
    let span = span.filter(|_| offset >= 0).ok_or_else(|| invalid("an allocation of a negative size"))?;
    let count = span.saturating_mul(lanes as i128);
    let bytes = count.saturating_mul(i128::from(types::in_memory(elem).bytes()));
    let base = match space {
        MemSpace::Shared => {
            let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
            let at = cx.shared(bytes)?;
            Base::Pointer(cx.shared_ptr(at, bytes as u32))
        }
        MemSpace::Private | MemSpace::Buffer => {
            let limit = cx.options.limits.private_bytes;
            if bytes > i128::from(limit) {
                return Err(unsupported(format!("a private variable of {bytes} bytes: at most {limit}")));
            }
            Base::Variable(cx.func.new_var(elem.into(), count as u32, ""))
        }
    };
    let constants = |list: Vec<i64>| list.into_iter().map(Idx::Const).collect();
    let (sizes, strides, offset) = (constants(sizes), constants(strides), Idx::Const(offset));
    Ok(Val::Memory(Rc::new(Memory { base, elem, lanes: lanes as u32, offset, sizes, strides })))
}

/// Nothing happens; a result is the operand.
fn assumed(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    match op.results.len() {
        0 => Ok(()),
        _ => {
            let memory = cx.memory(op, 0)?;
            cx.define(op, vec![Val::Memory(memory)])
        }
    }
}

fn dim(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let memory = cx.memory(op, 0)?;
    let Some(i) = cx.index(op, 1)?.known() else {
        return Err(unsupported("a dimension that is not a constant"));
    };
    let size = usize::try_from(i).ok().and_then(|i| memory.sizes.get(i));
    let Some(&size) = size else {
        let rank = memory.sizes.len();
        return Err(invalid(format!("dimension {i} of a memref of rank {rank}")));
    };
    let value = cx.idx_value(size);
    cx.define(op, vec![Val::one(value)])
}

fn get_global(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let name = attr::symbol(op, "name")?;
    let from = cx.calls.last().cloned().unwrap_or_default();
    let Some((name, &global)) = Symbols::resolve(&cx.symbols.globals, &from, &name) else {
        return Err(invalid(format!("there is no global @{name}")));
    };
    let memref = result_memref(cx, op)?;
    let known = cx.globals.get(name).copied();
    let (sizes, strides, offset) = numbers(memref)?;
    let (lanes, elem) = types::scalars(&memref.elem)?;
    let base = match known {
        Some(base @ Base::Variable(_)) => base,
        // A pointer is a value of the block that made it.
        Some(Base::Pointer(_)) | None => {
            let base = global_memory(cx, name, global, memref)?;
            cx.globals.insert(name.to_owned(), base);
            base
        }
    };
    let known = |list: Vec<Option<i64>>| {
        let list: Option<Vec<Idx>> = list.into_iter().map(|n| n.map(Idx::Const)).collect();
        list.ok_or_else(|| invalid("a global with open extents"))
    };
    let (sizes, strides, offset) = (known(sizes)?, known(strides)?, Idx::Const(offset.unwrap_or(0)));
    cx.define(
        op,
        vec![Val::Memory(Rc::new(Memory { base, elem, lanes: lanes as u32, offset, sizes, strides }))],
    )
}

/// The memory of a global: a table of its constants, or memory of the work-group.
fn global_memory(cx: &mut Cx<'_>, name: &str, global: &Op, memref: &MemRef) -> Res<Base> {
    let (lanes, elem) = types::scalars(&memref.elem)?;
    let (sizes, _, _) = numbers(memref)?;
    let count = sizes.iter().try_fold(lanes as i64, |n, size| n.checked_mul((*size)?));
    let limit = cx.options.limits.private_bytes as i64;
    let Some(count) = count.filter(|&n| (1..=limit).contains(&n)) else {
        return Err(unsupported(format!("a global of more than {limit} elements, or of none")));
    };
    if let Some(Attr::Dense(items, _)) = attr::get(global, "initial_value") {
        if !attr::flag(global, "constant") {
            return Err(unsupported("a global with a value that is not constant"));
        }
        let table = super::arith::constants(items, count as usize, elem)?;
        let var = cx.func.new_var(elem.into(), count as u32, name);
        cx.func.vars[var.index()].table = Some(table);
        return Ok(Base::Variable(var));
    }
    if MemSpace::of(memref.space.as_ref())? != MemSpace::Shared {
        return Err(unsupported("a global that is neither constant nor memory of the work-group"));
    }
    let bytes = count as u64 * u64::from(types::in_memory(elem).bytes());
    let at = match cx.shared_globals.get(name) {
        Some(&at) => at,
        None => {
            let at = cx.shared(bytes)?;
            cx.shared_globals.insert(name.to_owned(), at);
            at
        }
    };
    Ok(Base::Pointer(cx.shared_ptr(at, bytes as u32)))
}

/// `memref.atomic_rmw`, with the numbers of `arith`'s `AtomicRMWKind`.
fn atomic(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let (value, memory) = (cx.value(op, 0)?, cx.memory(op, 1)?);
    let indices = indices(cx, op, 2)?;
    check_element(cx, &memory, &[value], memory.lanes as usize)?;
    let (kind, wants_float) = match attr::int(op, "kind")? {
        0 => (AtomicOp::Fadd, Some(true)),
        1 => (AtomicOp::Iadd, Some(false)),
        2 => (AtomicOp::Exchange, None),
        4 => (AtomicOp::Smax, Some(false)),
        5 => (AtomicOp::Umax, Some(false)),
        7 => (AtomicOp::Smin, Some(false)),
        8 => (AtomicOp::Umin, Some(false)),
        11 => (AtomicOp::Or, Some(false)),
        12 => (AtomicOp::And, Some(false)),
        13 => (AtomicOp::Fmax, Some(true)),
        14 => (AtomicOp::Fmin, Some(true)),
        kind => {
            return Err(unsupported(format!(
                "the atomic operation {kind}: a product, or one that NaN goes through"
            )));
        }
    };
    if !matches!(memory.elem.bits(), 32 | 64) || !(memory.elem.is_int() || memory.elem.is_arithmetic_float())
    {
        return Err(unsupported(format!("an atomic operation on {}", memory.elem)));
    }
    if wants_float.is_some_and(|float| float != memory.elem.is_float()) {
        return Err(invalid(format!("the atomic operation on {}", memory.elem)));
    }
    let Place::Pointer(pointer) = place(cx, &memory, &indices)? else {
        return Err(unsupported("an atomic operation on private memory"));
    };
    let old = cx.b().value(IrOp::Atomic(kind), &[pointer, value], memory.elem.into());
    cx.define(op, vec![Val::one(old)])
}

/// `memref.copy`, by each invocation: a loop over the elements.
fn copy(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let (from, to) = (cx.memory(op, 0)?, cx.memory(op, 1)?);
    if from.sizes.len() != to.sizes.len() || (from.elem, from.lanes) != (to.elem, to.lanes) {
        return Err(invalid("copies between memrefs of different types"));
    }
    let mut total = Idx::Const(1);
    for &size in &from.sizes {
        total = cx.mul(total, size);
    }
    let counter = cx.func.new_var(IrType::I64, 1, "");
    let zero = cx.b().i64(0);
    cx.b().var_store(counter, None, zero);
    let total = cx.idx_value(total);
    cx.repeat(|cx, label| {
        let i = cx.b().var_load(counter, None);
        let more = cx.b().compare(CompareOp::Slt, i, total);
        cx.fork(
            more,
            |cx| {
                let mut rest = i;
                let mut indices = vec![Idx::Const(0); from.sizes.len()];
                for (slot, &size) in indices.iter_mut().zip(&from.sizes).rev() {
                    let size = cx.idx_value(size);
                    *slot = Idx::Dyn(cx.b().binary(B::Umod, rest, size));
                    rest = cx.b().binary(B::Udiv, rest, size);
                }
                let values = load(cx, &from, &indices, MemFlags::default())?;
                store(cx, &to, &indices, &values, MemFlags::default())?;
                let one = cx.b().i64(1);
                let next = cx.b().binary(B::Iadd, i, one);
                cx.b().var_store(counter, None, next);
                cx.b().br(label);
                Ok(())
            },
            |_| Ok(()),
        )
    })
}

//! `affine`: maps are computed, and what is left is the same as in `scf` and `memref`.

use phalanx_ir::{BinaryOp as B, CompareOp as C, MemFlags, Value};

use super::attr;
use super::cx::Cx;
use super::value::{Idx, Val};
use super::{place, scf};
use crate::ast::{Affine, AffineMap, Attr, Op};
use crate::error::{Res, invalid, not_built, unsupported};

/// Translates an operation of the dialect.
pub(super) fn emit<'a>(cx: &mut Cx<'a>, op: &'a Op) -> Res<()> {
    match &*op.name {
        "affine.apply" => {
            let results = applied(cx, op, "map", 0..op.operands.len())?;
            let [result] = results[..] else { return Err(invalid("a map with one result")) };
            give(cx, op, result)
        }
        "affine.min" | "affine.max" => {
            let results = applied(cx, op, "map", 0..op.operands.len())?;
            let result = extremum(cx, &results, &*op.name == "affine.max")?;
            give(cx, op, result)
        }
        "affine.load" => {
            let memory = cx.memory(op, 0)?;
            let indices = applied(cx, op, "map", 1..op.operands.len())?;
            let values = place::load(cx, &memory, &indices, MemFlags::default())?;
            cx.define_values(op, values)
        }
        "affine.store" => {
            let (values, memory) = (cx.values(op, 0)?, cx.memory(op, 1)?);
            let indices = applied(cx, op, "map", 2..op.operands.len())?;
            place::store(cx, &memory, &indices, &values, MemFlags::default())
        }
        "affine.for" => for_loop(cx, op),
        "affine.if" => {
            let condition = condition(cx, op)?;
            scf::branch(cx, op, condition)
        }
        _ => Err(not_built()),
    }
}

fn give(cx: &mut Cx<'_>, op: &Op, result: Idx) -> Res<()> {
    let value = cx.idx_value(result);
    cx.define(op, vec![Val::one(value)])
}

/// The results of a map of operands: dimensions first, then symbols.
fn applied(cx: &mut Cx<'_>, op: &Op, name: &str, operands: std::ops::Range<usize>) -> Res<Vec<Idx>> {
    let map = match attr::get(op, name) {
        Some(Attr::Map(map)) => map,
        // The identity may be left out.
        None => return operands.map(|i| cx.index(op, i)).collect(),
        Some(_) => return Err(invalid(format!("`{name}`: expected a map"))),
    };
    let operands = operands.map(|i| cx.index(op, i)).collect::<Res<Vec<_>>>()?;
    results(cx, map, &operands)
}

fn results(cx: &mut Cx<'_>, map: &AffineMap, operands: &[Idx]) -> Res<Vec<Idx>> {
    check_count(map.dims, map.symbols, operands)?;
    map.results.iter().map(|expr| compute(cx, expr, map.dims, operands, 0)).collect()
}

fn check_count(dims: u32, symbols: u32, operands: &[Idx]) -> Res<()> {
    if u64::from(dims) + u64::from(symbols) == operands.len() as u64 {
        return Ok(());
    }
    Err(invalid(format!("a map of {dims} dimensions and {symbols} symbols with {} operands", operands.len())))
}

/// Deepest nesting of expressions.
const MAX_NESTING: u32 = 200;

fn compute(cx: &mut Cx<'_>, expr: &Affine, dims: u32, operands: &[Idx], depth: u32) -> Res<Idx> {
    if depth > MAX_NESTING {
        return Err(unsupported(format!("an expression that nests deeper than {MAX_NESTING}")));
    }
    let missing = || invalid("a map with a dimension or a symbol that it does not have");
    let (kind, x, y) = match expr {
        Affine::Const(n) => return Ok(Idx::Const(*n)),
        Affine::Dim(d) if *d < dims => return operands.get(*d as usize).copied().ok_or_else(missing),
        Affine::Symbol(s) => {
            let at = u64::from(dims) + u64::from(*s);
            return operands.get(at as usize).copied().ok_or_else(missing);
        }
        Affine::Dim(_) => return Err(missing()),
        Affine::Add(x, y) => (None, x, y),
        Affine::Mul(x, y) => (Some(B::Imul), x, y),
        Affine::FloorDiv(x, y) => (Some(B::Sdiv), x, y),
        Affine::CeilDiv(x, y) => (Some(B::Udiv), x, y),
        Affine::Mod(x, y) => (Some(B::Smod), x, y),
    };
    let x = compute(cx, x, dims, operands, depth + 1)?;
    let y = compute(cx, y, dims, operands, depth + 1)?;
    Ok(match kind {
        None => cx.add(x, y),
        Some(B::Imul) => cx.mul(x, y),
        Some(B::Smod) => remainder(cx, x, y),
        Some(kind) => quotient(cx, x, y, kind == B::Udiv),
    })
}

/// A quotient rounded down or up; the divisor is positive.
fn quotient(cx: &mut Cx<'_>, x: Idx, y: Idx, up: bool) -> Idx {
    if let (Idx::Const(x), Idx::Const(y)) = (x, y)
        && let Some(quotient) = x.checked_div_euclid(y)
    {
        let exact = x.checked_rem_euclid(y) == Some(0);
        return Idx::Const(if up && !exact { quotient.wrapping_add(1) } else { quotient });
    }
    // floor(x / y) = (x - x mod y) / y, and ceil(x / y) = -floor(-x / y).
    let zero = Idx::Const(0);
    let x = if up { cx.combine(B::Isub, zero, x) } else { x };
    let rest = remainder(cx, x, y);
    let whole = cx.combine(B::Isub, x, rest);
    let floor = cx.combine(B::Sdiv, whole, y);
    if up { cx.combine(B::Isub, zero, floor) } else { floor }
}

fn remainder(cx: &mut Cx<'_>, x: Idx, y: Idx) -> Idx {
    match (x, y) {
        (Idx::Const(x), Idx::Const(y)) if y > 0 => Idx::Const(x.rem_euclid(y)),
        _ => cx.combine(B::Smod, x, y),
    }
}

/// The least or the greatest of some numbers.
fn extremum(cx: &mut Cx<'_>, list: &[Idx], max: bool) -> Res<Idx> {
    let pick = |cx: &mut Cx<'_>, x: Idx, y: Idx| match (x, y) {
        (Idx::Const(x), Idx::Const(y)) => Idx::Const(if max { x.max(y) } else { x.min(y) }),
        _ => cx.combine(if max { B::Smax } else { B::Smin }, x, y),
    };
    let (&first, rest) = list.split_first().ok_or_else(|| invalid("a map without results"))?;
    Ok(rest.iter().fold(first, |best, &next| pick(cx, best, next)))
}

/// The greatest of the lower bounds up to the least of the upper ones.
fn for_loop<'a>(cx: &mut Cx<'a>, op: &'a Op) -> Res<()> {
    let groups = attr::segments(op, 3)?;
    let low = applied(cx, op, "lowerBoundMap", groups[0].clone())?;
    let high = applied(cx, op, "upperBoundMap", groups[1].clone())?;
    let (low, high) = (extremum(cx, &low, true)?, extremum(cx, &high, false)?);
    let step = attr::optional_int(op, "step")?.unwrap_or(1);
    if step < 1 {
        return Err(invalid(format!("a step of {step}: expected at least 1")));
    }
    let bounds = [low, high, Idx::Const(step)].map(|idx| cx.idx_value(idx));
    let inits = groups[2].clone().map(|i| cx.arg(op, i)).collect::<Res<Vec<_>>>()?;
    scf::for_loop(cx, op, bounds, inits, false)
}

/// Whether all constraints of a set hold.
fn condition(cx: &mut Cx<'_>, op: &Op) -> Res<Value> {
    let Some(Attr::Set(set)) = attr::get(op, "condition") else {
        return Err(invalid("expected the attribute `condition`, a set"));
    };
    let operands = (0..op.operands.len()).map(|i| cx.index(op, i)).collect::<Res<Vec<_>>>()?;
    check_count(set.dims, set.symbols, &operands)?;
    let mut all = cx.b().bool(true);
    for (expr, is_zero) in &set.constraints {
        let x = compute(cx, expr, set.dims, &operands, 0)?;
        let x = cx.idx_value(x);
        let zero = cx.b().i64(0);
        let holds = if *is_zero { cx.b().compare(C::Ieq, x, zero) } else { cx.b().compare(C::Sle, zero, x) };
        all = cx.b().binary(B::And, all, holds);
    }
    Ok(all)
}

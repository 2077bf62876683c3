//! What invocations do together: shuffles, rotations and reductions.
//!
//! Where the source of a shuffle or a rotation is no valid lane, its value is poison, here some value of a lane or zero.

use phalanx_ir::{
    BinaryOp as B, Builtin, CompareOp as C, MemFlags, Op as IrOp, ReduceOp as R, Scalar, SubgroupOp as S,
    Type as IrType, UnaryOp as U, Value,
};

use super::arith::{scalar_of, widened};
use super::cx::Cx;
use super::gpu::{barrier, input};
use super::scf::{region, single_block};
use super::value::{Val, Values};
use super::{attr, place, types};
use crate::ast::Op;
use crate::error::{Res, invalid, not_built, unsupported};

/// Translates an operation of this family.
pub(super) fn emit<'a>(cx: &mut Cx<'a>, op: &'a Op) -> Res<()> {
    match &*op.name {
        "gpu.shuffle" => shuffle(cx, op),
        "gpu.rotate" => rotate(cx, op),
        "gpu.subgroup_reduce" => subgroup_reduce(cx, op),
        "gpu.all_reduce" => all_reduce(cx, op),
        "gpu.subgroup_broadcast" => broadcast(cx, op),
        _ => Err(not_built()),
    }
}

/// An operand as `i32`.
fn word(cx: &mut Cx<'_>, op: &Op, i: usize) -> Res<Value> {
    let value = cx.value(op, i)?;
    if !scalar_of(cx, value)?.is_int() {
        return Err(cx.wrong(op, i, "an integer"));
    }
    Ok(place::extend(cx, value, true, Scalar::I32))
}

fn shuffled(cx: &mut Cx<'_>, values: &[Value], from: Value) -> Values {
    let mut out = Values::new();
    for &value in values {
        let ty = cx.func.ty(value);
        out.push(cx.b().value(IrOp::Subgroup(S::Shuffle), &[value, from], ty));
    }
    out
}

/// The first `width` lanes take part. Valid is what comes from one of them.
fn shuffle(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let values = cx.values(op, 0)?;
    let (offset, width) = (word(cx, op, 1)?, word(cx, op, 2)?);
    let own = input(cx, Builtin::SubgroupLane);
    let from = match attr::keyword(op, "mode")? {
        "xor" => cx.b().binary(B::Xor, own, offset),
        "down" => cx.b().binary(B::Iadd, own, offset),
        "up" => cx.b().binary(B::Isub, own, offset),
        "idx" => offset,
        mode => return Err(unsupported(format!("the shuffle mode {mode}"))),
    };
    // Without a sign, so that what is below the first lane is beyond the last.
    let (is_from, is_to) = (cx.b().compare(C::Ult, from, width), cx.b().compare(C::Ult, own, width));
    let valid = cx.b().binary(B::And, is_from, is_to);
    let out = shuffled(cx, &values, from);
    cx.define(op, vec![Val::Scalars(out), Val::one(valid)])
}

/// `gpu.rotate`: of clusters of `width` lanes, by attributes and with the bit that says whether the lane is one of the
/// first `width`; or as the RFC has it, by operands.
fn rotate(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let values = cx.values(op, 0)?;
    let own = input(cx, Builtin::SubgroupLane);
    let (offset, width) = match (attr::optional_int(op, "offset")?, attr::optional_int(op, "width")?) {
        (Some(offset), Some(width)) => {
            let lanes = cx.module.subgroup_size;
            let fits = u32::try_from(width).is_ok_and(|w| w.is_power_of_two() && w <= lanes);
            if !fits {
                return Err(unsupported(format!(
                    "a width of {width}: expected a power of two of at most the subgroup's {lanes} lanes"
                )));
            }
            if !(0..width).contains(&offset) {
                return Err(invalid(format!("an offset of {offset}: expected 0 to below {width}")));
            }
            (cx.b().i32(offset as i32), cx.b().i32(width as i32))
        }
        _ => (word(cx, op, 1)?, word(cx, op, 2)?),
    };
    let mut b = cx.b();
    let one = b.i32(1);
    let low = b.binary(B::Isub, width, one);
    let high = b.unary(U::Not, low);
    let moved = b.binary(B::Iadd, own, offset);
    let moved = b.binary(B::And, moved, low);
    let base = b.binary(B::And, own, high);
    let from = b.binary(B::Or, base, moved);
    let valid = b.compare(C::Ult, own, width);
    let mut results = vec![Val::Scalars(shuffled(cx, &values, from))];
    if op.results.len() > 1 {
        results.push(Val::one(valid));
    }
    cx.define(op, results)
}

fn broadcast(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let values = cx.values(op, 0)?;
    let lane = match attr::keyword(op, "broadcast_type")? {
        "specific_lane" => Some(word(cx, op, 1)?),
        "first_active_lane" => None,
        other => return Err(unsupported(format!("the broadcast {other}"))),
    };
    let mut out = Values::new();
    for &value in &values {
        let ty = cx.func.ty(value);
        out.push(match lane {
            Some(lane) => cx.b().value(IrOp::Subgroup(S::Broadcast), &[value, lane], ty),
            None => cx.b().value(IrOp::Subgroup(S::BroadcastFirst), &[value], ty),
        });
    }
    cx.define_values(op, out)
}

// ── reductions ──

/// How values are combined.
#[derive(Clone, Copy, Debug)]
struct Kind {
    op: R,
    /// Whether one NaN makes the result one.
    propagates: bool,
}

impl Kind {
    fn of(name: &str, scalar: Scalar) -> Res<Self> {
        let is_float = scalar.is_float();
        let (op, wants_float) = match name {
            "add" => (if is_float { R::Fadd } else { R::Iadd }, is_float),
            "mul" => (if is_float { R::Fmul } else { R::Imul }, is_float),
            "minsi" => (R::Smin, false),
            "minui" => (R::Umin, false),
            "maxsi" => (R::Smax, false),
            "maxui" => (R::Umax, false),
            "minnumf" | "minimumf" | "minf" => (R::Fmin, true),
            "maxnumf" | "maximumf" | "maxf" => (R::Fmax, true),
            "and" => (R::And, false),
            "or" => (R::Or, false),
            "xor" => (R::Xor, false),
            name => return Err(unsupported(format!("the reduction {name}"))),
        };
        let is_logic = matches!(op, R::And | R::Or | R::Xor);
        if wants_float != is_float || (scalar == Scalar::Bool && !is_logic) {
            return Err(invalid(format!("a reduction {name} of {scalar}")));
        }
        Ok(Self { op, propagates: matches!(name, "minimumf" | "maximumf") })
    }

    /// Combines the values of a subgroup's lanes, or of each cluster of so many of them.
    fn reduce(self, cx: &mut Cx<'_>, value: Value, cluster: Option<u32>) -> Res<Value> {
        widened(cx, &[value], |cx, v| {
            let ty = cx.func.ty(v[0]);
            let out = cx.b().value(IrOp::Subgroup(S::Reduce(self.op, cluster)), &[v[0]], ty);
            if !self.propagates {
                return out;
            }
            let nan = cx.b().unary(U::IsNan, v[0]);
            let any = cx.b().value(IrOp::Subgroup(S::Reduce(R::Or, cluster)), &[nan], IrType::BOOL);
            // The sum of numbers of which one is NaN is NaN.
            let sum = cx.b().value(IrOp::Subgroup(S::Reduce(R::Fadd, cluster)), &[v[0]], ty);
            cx.b().select(any, sum, out)
        })
    }

    /// Combines two values.
    fn combine(self, cx: &mut Cx<'_>, x: Value, y: Value) -> Res<Value> {
        let op = match self.op {
            R::Iadd => B::Iadd,
            R::Fadd => B::Fadd,
            R::Imul => B::Imul,
            R::Fmul => B::Fmul,
            R::Smin => B::Smin,
            R::Umin => B::Umin,
            R::Smax => B::Smax,
            R::Umax => B::Umax,
            R::And => B::And,
            R::Or => B::Or,
            R::Xor => B::Xor,
            R::Fmin | R::Fmax if self.propagates => {
                return widened(cx, &[x, y], |cx, v| {
                    super::arith::propagating(cx, self.op == R::Fmax, v[0], v[1])
                });
            }
            R::Fmin => B::Fmin,
            R::Fmax => B::Fmax,
        };
        widened_or_not(cx, x, y, op)
    }
}

fn widened_or_not(cx: &mut Cx<'_>, x: Value, y: Value, op: B) -> Res<Value> {
    if scalar_of(cx, x)?.is_float() {
        return widened(cx, &[x, y], |cx, v| cx.exact(true).binary(op, v[0], v[1]));
    }
    Ok(cx.b().binary(op, x, y))
}

fn subgroup_reduce(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let values = cx.values(op, 0)?;
    let kind = attr::keyword(op, "op")?;
    let lanes = cx.module.subgroup_size;
    let cluster = match attr::optional_int(op, "cluster_size")? {
        None => None,
        Some(n) => {
            let size = u32::try_from(n).ok().filter(|n| n.is_power_of_two() && *n <= lanes);
            let size = size.ok_or_else(|| {
                unsupported(format!(
                    "clusters of {n}: expected a power of two of at most the subgroup's {lanes} lanes"
                ))
            })?;
            (size < lanes).then_some(size)
        }
    };
    if attr::optional_int(op, "cluster_stride")?.is_some_and(|stride| stride != 1) {
        return Err(unsupported("clusters of lanes that do not follow each other"));
    }
    let mut out = Values::new();
    for &value in &values {
        let kind = Kind::of(kind, scalar_of(cx, value)?)?;
        out.push(if scalar_of(cx, value)?.is_float() {
            kind.reduce(cx, value, cluster)?
        } else {
            let ty = cx.func.ty(value);
            cx.b().value(IrOp::Subgroup(S::Reduce(kind.op, cluster)), &[value], ty)
        });
    }
    cx.define_values(op, out)
}

/// Shared memory with a place for a value of each of so many invocations or subgroups.
fn scratch(cx: &mut Cx<'_>, bytes: u32) -> Res<Value> {
    let offset = match cx.scratch {
        Some((offset, size)) if size >= bytes => offset,
        _ => {
            let offset = cx.shared(u64::from(bytes))?;
            cx.scratch = Some((offset, bytes));
            offset
        }
    };
    Ok(cx.shared_ptr(offset, bytes))
}

/// A reduction over the work-group, which all its invocations get.
fn all_reduce<'a>(cx: &mut Cx<'a>, op: &'a Op) -> Res<()> {
    let value = cx.value(op, 0)?;
    let has_body = op.regions.first().is_some_and(|region| !region.blocks.is_empty());
    let out = match (attr::get(op, "op"), has_body) {
        (Some(_), false) => {
            let kind = Kind::of(attr::keyword(op, "op")?, scalar_of(cx, value)?)?;
            reduce_subgroups(cx, value, kind)?
        }
        (None, true) => reduce_tree(cx, op, value)?,
        _ => return Err(invalid("expected either an operation or a region that combines two values")),
    };
    cx.define(op, vec![Val::one(out)])
}

/// Each subgroup reduces its own values, and each invocation then those of all subgroups.
fn reduce_subgroups(cx: &mut Cx<'_>, value: Value, kind: Kind) -> Res<Value> {
    let scalar = scalar_of(cx, value)?;
    let own = if scalar.is_float() {
        kind.reduce(cx, value, None)?
    } else {
        cx.b().value(IrOp::Subgroup(S::Reduce(kind.op, None)), &[value], scalar.into())
    };
    let count = cx.module.num_subgroups();
    if count == 1 {
        return Ok(own);
    }
    let unit = types::in_memory(scalar).bytes();
    let memory = scratch(cx, count * unit)?;
    let id = input(cx, Builtin::SubgroupId);
    // What others read there before has been read.
    barrier(cx);
    let place = cx.b().ptr_add(memory, Some(id), i64::from(unit), 0);
    write(cx, place, own, scalar)?;
    barrier(cx);
    let sum = cx.func.new_var(scalar.into(), 1, "");
    let counter = cx.func.new_var(IrType::I32, 1, "");
    let (first, one) = (read(cx, memory, scalar), cx.b().i32(1));
    cx.b().var_store(sum, None, first);
    cx.b().var_store(counter, None, one);
    cx.repeat(|cx, label| {
        let i = cx.b().var_load(counter, None);
        let place = cx.b().ptr_add(memory, Some(i), i64::from(unit), 0);
        let (x, y) = (cx.b().var_load(sum, None), read(cx, place, scalar));
        let combined = kind.combine(cx, x, y)?;
        cx.b().var_store(sum, None, combined);
        let next = cx.b().binary(B::Iadd, i, one);
        cx.b().var_store(counter, None, next);
        let end = cx.b().i32(count as i32);
        let more = cx.b().compare(C::Ult, next, end);
        cx.fork(
            more,
            |cx| {
                cx.b().br(label);
                Ok(())
            },
            |_| Ok(()),
        )
    })?;
    Ok(cx.b().var_load(sum, None))
}

fn read(cx: &mut Cx<'_>, place: Value, scalar: Scalar) -> Value {
    place::read(cx, place::Place::Pointer(place), scalar, 1, MemFlags::default())[0]
}

fn write(cx: &mut Cx<'_>, place: Value, value: Value, scalar: Scalar) -> Res<()> {
    place::write(cx, place::Place::Pointer(place), scalar, &[value], MemFlags::default())
}

/// The values of all invocations in shared memory, of which half are combined with the other half, until one is left.
fn reduce_tree<'a>(cx: &mut Cx<'a>, op: &'a Op, value: Value) -> Res<Value> {
    let scalar = scalar_of(cx, value)?;
    let unit = types::in_memory(scalar).bytes();
    let count = cx.module.workgroup_invocations();
    let memory = scratch(cx, count * unit)?;
    let own = input(cx, Builtin::LocalInvocationIndex);
    barrier(cx);
    let place = cx.b().ptr_add(memory, Some(own), i64::from(unit), 0);
    write(cx, place, value, scalar)?;
    barrier(cx);
    let mut left = count;
    while left > 1 {
        let half = left.next_power_of_two() / 2;
        let pairs = cx.b().i32((left - half) as i32);
        let has_pair = cx.b().compare(C::Ult, own, pairs);
        cx.fork(
            has_pair,
            |cx| {
                let other = cx.b().ptr_add(place, None, 1, i64::from(half) * i64::from(unit));
                let (x, y) = (read(cx, place, scalar), read(cx, other, scalar));
                let combined = combined_by(cx, op, x, y)?;
                write(cx, place, combined, scalar)
            },
            |_| Ok(()),
        )?;
        barrier(cx);
        left = half;
    }
    Ok(read(cx, memory, scalar))
}

/// What the region of an operation makes of two values.
fn combined_by<'a>(cx: &mut Cx<'a>, op: &'a Op, x: Value, y: Value) -> Res<Value> {
    let block = single_block(region(op, 0)?)?;
    let expected = cx.func.ty(x);
    let mark = cx.enter();
    cx.parameters(&block.args, vec![Val::one(x), Val::one(y)])?;
    let last = cx.deeper(|cx| cx.block_ops(&block.ops))?;
    let out = cx.at(last, |cx| {
        if &*last.name != "gpu.yield" || last.operands.len() != 1 {
            return Err(invalid("expected gpu.yield with one value at the end of the region"));
        }
        let out = cx.value(last, 0)?;
        if cx.func.ty(out) == expected { Ok(out) } else { Err(cx.wrong(last, 0, "what is reduced")) }
    })?;
    cx.leave(mark);
    Ok(out)
}

//! Extraction: a part of a number that another number chooses is a shift away.
//!
//! Decode functions take a word apart into bytes and then one of them, by an index that differs from element to element.
//! To the IR that is a choice among all of them:
//!
//! ```text
//! %index: i32 = and %i, %one
//! %low: i8 = u_to_u %x
//! %3: i32 = lshr %x, %eight                       %3: i32 = shl %index, %three
//! %high: i8 = u_to_u %3                      →    %4: i32 = lshr %x, %3
//! %4: bool = ieq %index, %one                     %5: i8 = u_to_u %4
//! %5: i8 = select %4, %high, %low
//! ```
//!
//! The index is known to name a part by its mask, and choices of parts beyond are never made.

use crate::entities::{Inst, Value};
use crate::module::Function;
use crate::op::{BinaryOp, CompareOp, ConvertKind, ConvertOp, Op};
use crate::types::Type;

/// Makes shifts of such choices.
pub(super) fn run(func: &Function) -> Function {
    let mut new = func.clone();
    for (block, insts) in new.blocks.clone().into_iter().enumerate() {
        // A choice is recognised by those that it is made of, as they were.
        let insts = insts.into_iter().flat_map(|inst| {
            let shift = Choice::of(func, inst).map(|choice| choice.shift(&mut new, inst));
            shift.into_iter().flatten().chain([inst])
        });
        let insts = insts.collect();
        new.blocks[block] = insts;
    }
    new
}

/// Part `index` of a number.
struct Choice {
    number: Value,
    index: Value,
    /// Of a part, a power of two.
    bits: u32,
}

impl Choice {
    /// What a *select* chooses, if it is that: part 0 where no comparison holds.
    fn of(func: &Function, inst: Inst) -> Option<Self> {
        let info = func.inst(inst);
        let (Op::Select, &[cond, first, _]) = (&info.op, &info.args[..]) else { return None };
        let (Op::Binary(BinaryOp::Lshr), &[number, _]) = shifted(func, first)? else { return None };
        let (index, _) = compared(func, cond)?;
        let (ty, mask) = (func.ty(number), mask(func, index)?);
        let (Type::Scalar(whole), Type::Scalar(part)) = (ty, func.ty(first)) else { return None };
        let bits = part.bits();
        if func.ty(index) != ty || !bits.is_power_of_two() || mask >= u64::from(whole.bits() / bits) {
            return None;
        }
        let mut missing: Vec<u64> = (1..=mask).collect();
        let mut value = info.results[0];
        while let (Op::Select, &[cond, chosen, otherwise]) = (&func.def(value).op, &func.def(value).args[..])
        {
            let (compared, k) = compared(func, cond)?;
            let is_chosen = k <= mask;
            if compared != index
                || k == 0
                || (is_chosen && !is_part(func, chosen, number, k * u64::from(bits)))
            {
                return None;
            }
            missing.retain(|&other| other != k);
            value = otherwise;
        }
        let is_whole = missing.is_empty() && is_part(func, value, number, 0);
        is_whole.then_some(Self { number, index, bits })
    }

    /// Makes the *select* a conversion of a shifted number; gives what comes before it.
    fn shift(&self, func: &mut Function, select: Inst) -> [Inst; 3] {
        let (ty, loc) = (func.ty(self.number), func.inst(select).loc);
        let by = func.new_inst(Op::Const(self.bits.trailing_zeros().into()), &[], &[ty], loc);
        let args = [self.index, func.inst(by).results[0]];
        let place = func.new_inst(Op::Binary(BinaryOp::Shl), &args, &[ty], loc);
        let args = [self.number, func.inst(place).results[0]];
        let shifted = func.new_inst(Op::Binary(BinaryOp::Lshr), &args, &[ty], loc);
        let value = func.inst(shifted).results[0];
        let info = &mut func.insts[select.index()];
        info.op = Op::Convert(ConvertOp::new(ConvertKind::UToU));
        info.args.clear();
        info.args.push(value);
        [by, place, shifted]
    }
}

/// The operation, and its operands, of whose result a value is the lower bits.
fn shifted(func: &Function, v: Value) -> Option<(&Op, &[Value])> {
    let from = func.def(narrowed(func, v)?);
    Some((&from.op, &from.args))
}

/// The integer whose lower bits another is.
fn narrowed(func: &Function, v: Value) -> Option<Value> {
    let info = func.def(v);
    let (Op::Convert(op), &[from]) = (&info.op, &info.args[..]) else { return None };
    let (Type::Scalar(part), Type::Scalar(whole)) = (func.ty(v), func.ty(from)) else { return None };
    let is_narrower = part.is_int() && whole.is_int() && part.bits() < whole.bits();
    (is_narrower && op.kind == ConvertKind::UToU && !op.saturate).then_some(from)
}

/// Whether a value is the part of a number that begins with this bit.
fn is_part(func: &Function, v: Value, number: Value, bit: u64) -> bool {
    match (narrowed(func, v), shifted(func, v)) {
        (Some(from), _) if bit == 0 => from == number,
        (_, Some((Op::Binary(BinaryOp::Lshr), &[from, by]))) => {
            from == number && func.const_bits(by) == Some(bit)
        }
        _ => false,
    }
}

/// What is compared with which constant.
fn compared(func: &Function, cond: Value) -> Option<(Value, u64)> {
    let info = func.def(cond);
    match (&info.op, &info.args[..]) {
        (Op::Compare(CompareOp::Ieq), &[x, k]) => Some((x, func.const_bits(k)?)),
        _ => None,
    }
}

/// The greatest value that a number may have, if it is masked.
fn mask(func: &Function, v: Value) -> Option<u64> {
    let info = func.def(v);
    match (&info.op, &info.args[..]) {
        (Op::Binary(BinaryOp::And), &[x, y]) => func.const_bits(y).or_else(|| func.const_bits(x)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{text, verify};

    /// The kernel with a choice by the lower bits of `%i`, and how many choices are left of it.
    fn choices(mask: u32, body: &str) -> (String, usize) {
        let code = format!(
            "workgroup_size 4 1 1 subgroup_size 4
            binding buf0 = 0.0 storage writable
            {{
                %0: i32 = const 0
                %1: i32 = const 1
                %2: i32 = const 2
                %3: i32 = const 3
                %8: i32 = const 8
                %16: i32 = const 16
                %24: i32 = const 24
                %mask: i32 = const {mask}
                %g: ptr<buffer> = buffer_ptr<buf0> %0
                %i: i32, %x: i32, %other: i32 = load %g
                %n: i32 = and %i, %mask
                %x1: i32 = lshr %x, %8
                %x2: i32 = lshr %x, %16
                %x3: i32 = lshr %x, %24
                %p0: i8 = u_to_u %x
                %p1: i8 = u_to_u %x1
                %p2: i8 = u_to_u %x2
                %p3: i8 = u_to_u %x3
                %is1: bool = ieq %n, %1
                %is2: bool = ieq %n, %2
                %is3: bool = ieq %n, %3
                {body}
                store %g, %r
            }}"
        );
        let module = verify(text::parse(&code).unwrap_or_else(|e| panic!("{e}\n{code}"))).unwrap();
        let mut module = module.into_inner();
        module.body = super::super::opt_dce::run(&run(&module.body));
        let module = verify(module).unwrap_or_else(|e| panic!("{e}\n{code}"));
        let body = &module.body;
        let is_choice = |&&inst: &&Inst| body.inst(inst).op == Op::Select;
        let left = body.block(Function::ENTRY).iter().filter(is_choice).count();
        (module.to_string(), left)
    }

    const BOTH: &str = "%r: i8 = select %is1, %p1, %p0";
    const ALL: &str =
        "%c1: i8 = select %is1, %p1, %p0 %c2: i8 = select %is2, %p2, %c1 %r: i8 = select %is3, %p3, %c2";

    #[test]
    fn bytes_chosen_by_number_are_a_shift_away() {
        for (mask, body) in [(1, BOTH), (1, ALL), (3, ALL)] {
            let (text, left) = choices(mask, body);
            assert_eq!(left, 0, "{text}");
            assert_eq!(text.matches("lshr").count(), 1, "{text}");
        }
    }

    #[test]
    fn what_may_be_no_part_is_still_chosen() {
        // A byte that no comparison names, one that is not where its number says, one of another number, and an index of
        // which more is known to be possible.
        assert_eq!(choices(3, BOTH).1, 1);
        assert_eq!(choices(1, "%r: i8 = select %is1, %p2, %p0").1, 1);
        assert_eq!(choices(1, "%q: i8 = u_to_u %other %r: i8 = select %is1, %p1, %q").1, 1);
        assert_eq!(choices(7, ALL).1, 3);
    }
}

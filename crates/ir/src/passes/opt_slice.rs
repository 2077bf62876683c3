//! Slicing: an array of vectors becomes a variable for each vector.
//!
//! Kernels fetch the next block into "registers", an array of vectors, and store it an iteration later. To the IR that is an
//! array of scalars:
//!
//! ```text
//! var $next: i32[8]                          var $next0: i32[4]  var $next1: i32[4]
//! var_store<$next> %4, %x                →   var_store<$next1> %0, %x
//! var_store<$next> %5, %y                    var_store<$next1> %1, %y
//! ```
//!
//! A target can then keep each vector in the order in which memory has it. How long the vectors are is said by the loads that
//! fill the array, and by the stores that empty it.

use crate::entities::{Inst, Value, Var};
use crate::module::Function;
use crate::op::Op;
use crate::tree::Tree;
use crate::types::{Scalar, Type};
use std::collections::BTreeMap;

/// Slices arrays.
pub(super) fn run(func: &Function) -> Function {
    let tree = Tree::new(func);
    let mut func = func.clone();
    let mut numbers = BTreeMap::new();
    for (var, length) in lengths(&func, tree.order()) {
        slice(&mut func, tree.order(), (var, length), &mut numbers);
    }
    let numbers = numbers.into_values().map(|number| func.values[number.index()].def);
    let numbers: Vec<Inst> = numbers.collect();
    func.blocks[Function::ENTRY.index()].splice(0..0, numbers);
    func
}

/// The arrays that are accessed at known places alone, with the lengths of the vectors that they consist of.
fn lengths(func: &Function, reached: &[Inst]) -> Vec<(Var, u32)> {
    let reached = || reached.iter().map(|&inst| func.inst(inst));
    let mut lengths: Vec<Option<u32>> = func.vars.iter().map(|_| Some(0)).collect();
    for info in reached() {
        for (var, _) in info.op.vars() {
            if element(func, &info.op, &info.args, var).is_none() {
                lengths[var.index()] = None;
            }
        }
    }
    for info in reached() {
        match (&info.op, &info.args[..]) {
            (&Op::VarStore(var), &[index, value]) => {
                let def = func.def(value);
                if matches!(def.op, Op::Load(_)) {
                    let k = def.results.iter().position(|&v| v == value);
                    vote(func, &mut lengths[var.index()], index, k, def.results.len());
                }
            }
            (Op::Store(_), [_, all @ ..]) => {
                for (k, &value) in all.iter().enumerate() {
                    let def = func.def(value);
                    if let (&Op::VarLoad(var), &[index]) = (&def.op, &def.args[..]) {
                        vote(func, &mut lengths[var.index()], index, Some(k), all.len());
                    }
                }
            }
            _ => {}
        }
    }
    let is_array = |&(var, length): &(Var, u32)| {
        let info = func.var(var);
        length > 1 && info.count > length && info.count.is_multiple_of(length)
    };
    let found = lengths.iter().enumerate().filter_map(|(i, length)| Some((Var::new(i), (*length)?)));
    found.filter(is_array).collect()
}

/// Says that an element of an array is scalar `k` of an access of so many; single ones say nothing.
fn vote(func: &Function, length: &mut Option<u32>, index: Value, k: Option<usize>, all: usize) {
    let (Some(k), Some(index), 2..) = (k, func.const_bits(index), all) else { return };
    let agrees = length.is_none_or(|known| known == 0 || known as usize == all);
    let fits = index % all as u64 == k as u64;
    *length = length.filter(|_| agrees && fits).map(|_| all as u32);
}

/// The known element of a variable of scalars that an operation reads or writes.
fn element(func: &Function, op: &Op, args: &[Value], var: Var) -> Option<u64> {
    let info = func.var(var);
    let is_plain = matches!(info.ty, Type::Scalar(scalar) if scalar != Scalar::Bool) && info.table.is_none();
    let index = match (op, args) {
        (Op::VarLoad(_), &[index]) | (Op::VarStore(_), &[index, _]) if is_plain => func.const_bits(index)?,
        _ => return None,
    };
    (index < u64::from(info.count)).then_some(index)
}

/// Makes a variable for each vector of an array; the first keeps its number.
fn slice(
    func: &mut Function,
    reached: &[Inst],
    (var, length): (Var, u32),
    numbers: &mut BTreeMap<u64, Value>,
) {
    let info = func.var(var).clone();
    let others = (1..info.count / length).map(|_| func.new_var(info.ty, length, info.name.clone()));
    let vectors: Vec<Var> = std::iter::once(var).chain(others.collect::<Vec<_>>()).collect();
    func.vars[var.index()].count = length;
    for &inst in reached {
        let accessed = func.inst(inst);
        if accessed.op.var() != Some(var) {
            continue;
        }
        let Some(index) = func.const_bits(accessed.args[0]) else { continue };
        let place = index % u64::from(length);
        let place = *numbers.entry(place).or_insert_with(|| {
            let inst = func.new_inst(Op::Const(place), &[], &[Type::I32], 0);
            func.inst(inst).results[0]
        });
        let accessed = &mut func.insts[inst.index()];
        accessed.args[0] = place;
        let vector = vectors[(index / u64::from(length)) as usize];
        match &mut accessed.op {
            Op::VarLoad(var) | Op::VarStore(var) => *var = vector,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{text, verify};

    /// The numbers of elements of the variables of a kernel, once its arrays are sliced.
    fn counts(body: &str) -> Vec<u32> {
        counts_of(body, |_func| {})
    }

    /// The same, with the function changed before.
    fn counts_of(body: &str, change: impl FnOnce(&mut Function)) -> Vec<u32> {
        let code = format!(
            "workgroup_size 4 1 1 subgroup_size 4 shared 4096
            binding buf0 = 0.0 storage
            var $v: i32[4] {{
                %0: i32 = const 0
                %1: i32 = const 1
                %2: i32 = const 2
                %3: i32 = const 3
                %s: ptr<shared> = shared_ptr<offset=0, bytes=4096>
                %g: ptr<buffer> = buffer_ptr<buf0> %0
                %lane: i32 = subgroup_lane
                %x: i32, %y: i32 = load %g
                {body}
            }}"
        );
        let module = verify(text::parse(&code).unwrap_or_else(|e| panic!("{e}\n{code}"))).unwrap();
        let mut module = module.into_inner();
        change(&mut module.body);
        module.body = run(&module.body);
        let module = verify(module).unwrap_or_else(|e| panic!("{e}\n{code}"));
        module.body.vars.iter().map(|var| var.count).collect()
    }

    #[test]
    fn arrays_that_loads_fill_are_sliced() {
        assert_eq!(counts("var_store<$v> %2, %x var_store<$v> %3, %y"), [2, 2]);
        assert_eq!(counts("%a: i32 = var_load<$v> %2 %b: i32 = var_load<$v> %3 store %s, %a, %b"), [2, 2]);
        // Single elements may be looked at, too.
        assert_eq!(counts("var_store<$v> %0, %x %a: i32 = var_load<$v> %3 store %s, %a"), [2, 2]);
    }

    #[test]
    fn what_nobody_comes_to_is_let_alone() {
        // What was left of a loop that could not be unrolled: an element that there is not.
        let leave = |func: &mut Function| {
            let far = func.new_inst(Op::Const(64), &[], &[Type::I32], 0);
            let far = func.inst(far).results[0];
            func.new_inst(Op::VarLoad(Var::new(0)), &[far], &[Type::I32], 0);
        };
        assert_eq!(counts_of("var_store<$v> %2, %x var_store<$v> %3, %y", leave), [2, 2]);
    }

    #[test]
    fn arrays_of_nothing_in_particular_stay() {
        for body in [
            "var_store<$v> %0, %lane",
            // Across two vectors, in another order, as vectors of other lengths, and at an unknown place.
            "var_store<$v> %1, %x var_store<$v> %2, %y",
            "var_store<$v> %0, %y var_store<$v> %1, %x",
            "var_store<$v> %0, %x %a: i32 = var_load<$v> %0 store %s, %a, %a, %a, %a",
            "var_store<$v> %0, %x var_store<$v> %lane, %y",
            // The first element, without saying so.
            "var_store<$v> %2, %x var_store<$v> %3, %y var_store<$v> %1",
        ] {
            assert_eq!(counts(body), [4], "{body}");
        }
    }
}

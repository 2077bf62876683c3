//! Variables that need not be cleared.
//!
//! What was not written is zero, but most vectors and arrays are written as a whole before anything looks at them: by one
//! operation, or by a loop that counts through them. Only the code that all invocations go through is looked at.

use crate::counted;
use phalanx_ir::{Function, Inst, Op, Value, Var};

/// By variable: whether its first use writes all of it, for every invocation that has not returned.
pub(crate) fn filled(f: &Function) -> Vec<bool> {
    let mut uses = vec![None; f.vars.len()];
    let entry = f.block(Function::ENTRY);
    for (k, &inst) in entry.iter().enumerate() {
        let all = match &f.inst(inst).op {
            Op::VecMatMul(op) if op.result != op.input => vec![op.result],
            Op::Loop { .. } => by_loop(f, &entry[..k], inst),
            _ => Vec::new(),
        };
        for var in all {
            uses[var.index()].get_or_insert(true);
        }
        each_use(f, inst, &mut |var| {
            uses[var.index()].get_or_insert(false);
        });
    }
    uses.into_iter().map(|first| first == Some(true)).collect()
}

/// Shows all variables that an instruction and those in it use.
fn each_use(f: &Function, inst: Inst, see: &mut impl FnMut(Var)) {
    let op = &f.inst(inst).op;
    op.vars().for_each(|(var, _)| see(var));
    for body in op.bodies() {
        f.block(body).iter().for_each(|&inst| each_use(f, inst, see));
    }
}

/// The variables that a loop fills, one element in each round, and does nothing else with.
fn by_loop(f: &Function, before: &[Inst], inst: Inst) -> Vec<Var> {
    let Some(count) = counted::count(f, inst) else { return Vec::new() };
    // The counter starts from 0 if that is the last thing stored there.
    let stores = before.iter().rev().find(|&&i| f.inst(i).op.vars().any(|(var, _)| var == count.counter));
    let starts_at_zero = stores.is_some_and(|&i| {
        let info = f.inst(i);
        info.op == Op::VarStore(count.counter) && info.args.first().and_then(|&v| f.const_bits(v)) == Some(0)
    });
    if !starts_at_zero || count.step != 1 || count.leaves {
        return Vec::new();
    }
    let stored = |&inst: &Inst| match (&f.inst(inst).op, &f.inst(inst).args[..]) {
        (&Op::VarStore(var), &[index, _]) if fits(f, var, index, &count) => Some(var),
        _ => None,
    };
    let is_used_once = |var: &Var| {
        let mut uses = 0;
        each_use(f, inst, &mut |v| uses += u32::from(v == *var));
        uses == 1
    };
    f.block(count.body).iter().filter_map(stored).filter(is_used_once).collect()
}

fn fits(f: &Function, var: Var, index: Value, count: &counted::Count) -> bool {
    index == count.index && u64::from(f.var(var).count) <= count.end
}

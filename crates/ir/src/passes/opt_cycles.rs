//! Removes variables that are only read for the sake of each other.
//!
//! ```text
//! loop @0 {
//!   %a = var_load<$a>              ; what was in $a before goes round with the loop,
//!   …                              ; but nothing is ever made of it
//!   var_store<$b> %a
//!   …
//!   %b = var_load<$b>
//!   var_store<$a> %b
//!   …
//! }
//! ```
//!
//! Such rings are what is left of values that a loop in SSA form carries along, though each round makes them anew: a matrix
//! in them is copied again and again. The walk backwards of [`opt_dce`](super::opt_dce) takes all for read that a loop
//! reads. Here nothing is needed at first: an instruction with an effect needs its operands, a needed value
//! what it is made of, and a variable that is read for a needed value all that is stored there.

use crate::entities::{Block, Inst, Value, Var};
use crate::module::{Function, InstInfo};
use crate::op::Op;

/// Removes stores to variables that nothing is made of.
pub(super) fn run(func: &mut Function) {
    let mut needs = Needs {
        values: vec![false; func.values.len()],
        vars: vec![false; func.vars.len()],
        stores: vec![Vec::new(); func.vars.len()],
        next_values: Vec::new(),
        next_vars: Vec::new(),
    };
    needs.begin(func, Function::ENTRY);
    needs.follow(func);
    if needs.vars.iter().zip(&needs.stores).all(|(&is_needed, stores)| is_needed || stores.is_empty()) {
        return;
    }
    for block in 0..func.blocks.len() {
        let mut list = std::mem::take(&mut func.blocks[block]);
        list.retain(|&inst| stored(func.inst(inst)).is_none_or(|var| needs.vars[var.index()]));
        func.blocks[block] = list;
    }
}

/// The variable to which an instruction stores, and nothing else.
fn stored(info: &InstInfo) -> Option<Var> {
    match info.op {
        Op::VarStore(var) | Op::VarComponentStore(var) => Some(var),
        _ => None,
    }
}

struct Needs {
    values: Vec<bool>,
    vars: Vec<bool>,
    /// By variable.
    stores: Vec<Vec<Inst>>,
    /// Needed, and not followed yet.
    next_values: Vec<Value>,
    next_vars: Vec<Var>,
}

impl Needs {
    /// Notes what the instructions of a block need that act, and the stores there.
    fn begin(&mut self, func: &Function, block: Block) {
        for &inst in func.block(block) {
            let info = func.inst(inst);
            match stored(info) {
                Some(var) => self.stores[var.index()].push(inst),
                // What a region does with elements it does by the operands, whoever needs the result.
                None if info.op.has_effect() || info.op.region().is_some() => self.operands(info),
                None => {}
            }
            info.op.bodies().for_each(|body| self.begin(func, body));
        }
    }

    /// Follows what is needed to where it comes from.
    fn follow(&mut self, func: &Function) {
        loop {
            if let Some(value) = self.next_values.pop() {
                self.operands(func.def(value));
            } else if let Some(var) = self.next_vars.pop() {
                for store in std::mem::take(&mut self.stores[var.index()]) {
                    self.operands(func.inst(store));
                }
            } else {
                break;
            }
        }
    }

    fn operands(&mut self, info: &InstInfo) {
        for &value in &info.args {
            if !std::mem::replace(&mut self.values[value.index()], true) {
                self.next_values.push(value);
            }
        }
        for (var, _) in info.op.vars().filter(|(_, how)| !how.writes()) {
            if !std::mem::replace(&mut self.vars[var.index()], true) {
                self.next_vars.push(var);
            }
        }
    }
}

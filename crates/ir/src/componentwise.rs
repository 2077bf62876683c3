//! Loops that do the same to each component of vectors.
//!
//! ```text
//! loop @next {
//!   %i: i32 = var_load<$i>
//!   %more: bool = ult %i, %n
//!   if %more {
//!     %x: f16 = var_load<$x> %i
//!     %y: f16 = fmax %x, %zero
//!     var_store<$y> %i, %y
//!     %j: i32 = iadd %i, %one
//!     var_store<$i> %j
//!     br @next
//!   }
//! }
//! ```
//!
//! A front end makes such a loop of an instruction on long vectors. In which order components are worked on does not
//! matter, nor who does it: a target that keeps components elsewhere than in the invocation that they belong to does it
//! there.

use crate::entities::{Block, Inst, Label, Value, Var};
use crate::module::{Function, InstInfo};
use crate::op::{BinaryOp, CompareOp, Op};
use crate::types::Type;
use std::collections::BTreeSet;

/// A loop that does the same to each component of vectors of one length.
#[derive(Clone, Copy, Debug)]
pub struct Componentwise<'f> {
    /// Its counter, which goes from what it is up to the length.
    pub counter: Var,
    /// Components of the vectors.
    pub length: u32,
    /// What is done to a component: instructions that compute a scalar, loads of components and stores of components.
    pub insts: &'f [Inst],
}

impl<'f> Componentwise<'f> {
    /// Whether the loop with this label and body is one.
    pub fn of(func: &'f Function, label: Label, body: Block) -> Option<Self> {
        let &[load, compare, fork] = func.block(body) else { return None };
        let [load, compare, fork] = [load, compare, fork].map(|inst| func.inst(inst));
        let (Op::VarLoad(counter), [], &[i]) = (&load.op, &load.args[..], &load.results[..]) else {
            return None;
        };
        let (Op::Compare(CompareOp::Ult), &[first, length]) = (&compare.op, &compare.args[..]) else {
            return None;
        };
        let Op::If { then, otherwise } = fork.op else { return None };
        let length = u32::try_from(func.const_bits(length)?).ok()?;
        if first != i || fork.args[..] != compare.results[..] || !func.block(otherwise).is_empty() {
            return None;
        }
        let &[ref insts @ .., next, store, again] = func.block(then) else { return None };
        let [next, store, again] = [next, store, again].map(|inst| func.inst(inst));
        let counts = next.op == Op::Binary(BinaryOp::Iadd)
            && next.args[0] == i
            && func.const_bits(next.args[1]) == Some(1)
            && store.op == Op::VarStore(*counter)
            && store.args[..] == next.results[..]
            && again.op == Op::Br(label);
        let found = Self { counter: *counter, length, insts };
        (counts && insts.iter().all(|&inst| found.is_of_component(func, inst, i))).then_some(found)
    }

    /// Whether an instruction is about component `i` and no other.
    fn is_of_component(&self, func: &Function, inst: Inst, i: Value) -> bool {
        let info = func.inst(inst);
        let is_vector = |var: Var| func.var(var).count == self.length && func.var(var).table.is_none();
        let (places, operands) = match info.op {
            Op::VarLoad(var) if is_vector(var) => info.args.split_at(info.args.len()),
            Op::VarStore(var) if is_vector(var) => info.args.split_at(info.args.len() - 1),
            Op::Unary(_)
            | Op::Binary(_)
            | Op::Compare(_)
            | Op::Fma
            | Op::Select
            | Op::Convert(_)
            | Op::Bitcast => info.args.split_at(0),
            _ => return false,
        };
        let is_scalar = |v: &Value| matches!(func.ty(*v), Type::Scalar(_));
        let is_placed = info.op.var().is_none() || places == [i];
        is_placed && operands.iter().chain(&info.results).all(|v| *v != i && is_scalar(v))
    }

    /// Vectors that are multiplied by matrices, and those that are made of them, or they of those, component by component.
    pub fn multiplied(func: &Function) -> BTreeSet<Var> {
        let mut vectors = BTreeSet::new();
        for info in &func.insts {
            if let Op::VecMatMul(op) = &info.op {
                vectors.extend([op.result, op.input]);
            }
        }
        if vectors.is_empty() {
            return vectors;
        }
        let of = |info: &InstInfo| match info.op {
            Op::Loop { label, body } => Componentwise::of(func, label, body),
            _ => None,
        };
        let loops: Vec<_> = func.insts.iter().filter_map(of).collect();
        loop {
            let before = vectors.len();
            for found in &loops {
                if found.vectors(func).any(|var| vectors.contains(&var)) {
                    vectors.extend(found.vectors(func));
                }
            }
            if vectors.len() == before {
                return vectors;
            }
        }
    }

    /// The vectors whose components it reads or writes.
    pub fn vectors(&self, func: &'f Function) -> impl Iterator<Item = Var> + use<'f> {
        self.insts.iter().filter_map(|&inst| func.inst(inst).op.var())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    fn is_found(body: &str) -> bool {
        let source = format!(
            "kernel \"main\"\nworkgroup_size 32 1 1\nsubgroup_size 32\n\
             var $i: i32 var $x: f16[9] var $y: f16[9] var $z: f16[8] {{
                %zero: f16 = const 0.0
                %n: i32 = const 9
                %one: i32 = const 1
                loop @next {{
                    %i: i32 = var_load<$i>
                    %more: bool = ult %i, %n
                    if %more {{
                        {body}
                        %j: i32 = iadd %i, %one
                        var_store<$i> %j
                        br @next
                    }}
                }}
            }}"
        );
        let module = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let f = &module.body;
        let mut loops = f.insts.iter().filter_map(|info| match info.op {
            Op::Loop { label, body } => Some(Componentwise::of(f, label, body)),
            _ => None,
        });
        let found = loops.next().expect("there is a loop");
        found.inspect(|found| assert_eq!((found.length, found.counter), (9, Var::new(0)))).is_some()
    }

    #[test]
    fn a_loop_about_components_of_one_number_is_found() {
        assert!(is_found("%x: f16 = var_load<$x> %i\n%y: f16 = fmax %x, %zero\nvar_store<$y> %i, %y"));
        assert!(is_found("var_store<$x> %i, %zero"));
        // Other components, vectors of other lengths, the number itself, and what is no number.
        assert!(!is_found("%x: f16 = var_load<$x> %one\nvar_store<$y> %i, %x"));
        assert!(!is_found("%x: f16 = var_load<$z> %i\nvar_store<$y> %i, %x"));
        assert!(!is_found("%x: f16 = u_to_f %i\nvar_store<$y> %i, %x"));
        assert!(!is_found("return"));
    }
}

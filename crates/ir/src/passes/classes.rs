//! Values that are equal wherever both are visible: what the same operation makes of the same operands.

use crate::entities::Value;
use crate::module::Function;
use crate::op::Op;
use crate::types::{Space, Type};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

/// Operations that are looked through.
const DEPTH: u32 = 12;

/// The kind of an operation, and the classes of its operands.
type Key = (Discriminant<Op>, SmallVec<[u32; 4]>);

/// Numbers of values, the same for those that are known to be equal.
#[derive(Debug, Default)]
pub(super) struct Classes {
    known: HashMap<Value, u32>,
    made: HashMap<Key, Vec<(Op, Type, u32)>>,
    count: u32,
}

impl Classes {
    /// The number of a value.
    pub(super) fn of(&mut self, func: &Function, v: Value) -> u32 {
        self.within(func, v, DEPTH)
    }

    fn within(&mut self, func: &Function, v: Value, depth: u32) -> u32 {
        if let Some(&class) = self.known.get(&v) {
            return class;
        }
        let info = func.def(v);
        let is_followed = match info.op {
            Op::Const(_)
            | Op::Binary(_)
            | Op::Convert(_)
            | Op::Builtin(_)
            | Op::PtrAdd { .. }
            | Op::BufferPtr(_)
            | Op::PushPtr
            | Op::SharedPtr { .. } => true,
            // Nobody writes push constants.
            Op::Load(_) => info.results.len() == 1 && func.ty(info.args[0]) == Type::Ptr(Space::Push),
            _ => false,
        };
        let class = if is_followed && depth > 0 {
            let args: SmallVec<[u32; 4]> =
                info.args.iter().map(|&arg| self.within(func, arg, depth - 1)).collect();
            let alike = self.made.entry((discriminant(&info.op), args)).or_default();
            match alike.iter().find(|(op, ty, _)| *op == info.op && *ty == func.ty(v)) {
                Some(&(_, _, class)) => class,
                None => {
                    self.count += 1;
                    alike.push((info.op.clone(), func.ty(v), self.count));
                    self.count
                }
            }
        } else {
            self.count += 1;
            self.count
        };
        self.known.insert(v, class);
        class
    }
}

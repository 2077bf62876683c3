//! What values may be: computed with numbers that are made up for what is not known.
//!
//! Whether two addresses are a stride apart is asked where code runs, but only if they are with such numbers: these are so
//! small that nothing wraps, and equal only where what they stand for is.

use super::super::classes::Classes;
use crate::entities::Value;
use crate::module::Function;
use crate::op::{BinaryOp, Op};
use crate::types::Type;
use std::collections::HashMap;

/// Operations that a value is followed through.
const FAR: u32 = 32;

/// Values that were met, and what they may be.
#[derive(Debug, Default)]
pub(in super::super) struct Guesses {
    numbers: HashMap<Value, i64>,
}

impl Guesses {
    /// An integer, or an address.
    pub(in super::super) fn of(&mut self, func: &Function, classes: &mut Classes, v: Value) -> i64 {
        self.follow(func, classes, v, FAR)
    }

    fn follow(&mut self, func: &Function, classes: &mut Classes, v: Value, far: u32) -> i64 {
        if let Some(&number) = self.numbers.get(&v) {
            return number;
        }
        let info = func.def(v);
        let is_known =
            matches!(func.ty(v), Type::Scalar(s) if s.is_int()) || matches!(func.ty(v), Type::Ptr(_));
        let mut arg = |i: usize| self.follow(func, classes, info.args[i], far.saturating_sub(1));
        let number = match info.op {
            _ if far == 0 || !is_known => made_up(classes.of(func, v)),
            Op::Const(bits) => match func.ty(v) {
                Type::Scalar(s) => crate::eval::sign_extend(s, bits),
                _ => 0,
            },
            Op::Binary(BinaryOp::Iadd) => arg(0).wrapping_add(arg(1)),
            Op::Binary(BinaryOp::Isub) => arg(0).wrapping_sub(arg(1)),
            Op::Binary(BinaryOp::Imul) => arg(0).wrapping_mul(arg(1)),
            Op::Binary(BinaryOp::Shl) => arg(0).wrapping_shl(arg(1) as u32),
            Op::Convert(_) if matches!(func.ty(info.args[0]), Type::Scalar(s) if s.is_int()) => arg(0),
            Op::PtrAdd { scale, disp } => {
                let index = if info.args.len() > 1 { arg(1) } else { 0 };
                arg(0).wrapping_add(disp).wrapping_add(scale.wrapping_mul(index))
            }
            _ => made_up(classes.of(func, v)),
        };
        self.numbers.insert(v, number);
        number
    }
}

/// A small number for a class.
fn made_up(class: u32) -> i64 {
    1 + i64::from(class.wrapping_mul(0x9e37_79b9) >> 24)
}

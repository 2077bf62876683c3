//! Scalar expressions.

use super::{FLOATS, Generator, IN_BYTES, INTS, PUSH_BYTES};
use crate::builder::Builder;
use crate::entities::{Binding, Value, Var};
use crate::eval;
use crate::op::{
    BinaryOp, Builtin, CompareOp, ConvertKind, ConvertOp, MemFlags, Op, ReduceOp, SubgroupOp, UnaryOp,
};
use crate::types::{Scalar, Space, Type};

const INT_BINARY: [BinaryOp; 22] = [
    BinaryOp::Iadd,
    BinaryOp::Iadd,
    BinaryOp::Isub,
    BinaryOp::Imul,
    BinaryOp::Sdiv,
    BinaryOp::Udiv,
    BinaryOp::Srem,
    BinaryOp::Smod,
    BinaryOp::Umod,
    BinaryOp::SmulHi,
    BinaryOp::UmulHi,
    BinaryOp::Smin,
    BinaryOp::Smax,
    BinaryOp::Umin,
    BinaryOp::Umax,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::Shl,
    BinaryOp::Lshr,
    BinaryOp::Ashr,
    BinaryOp::And,
];
const INT_UNARY: [UnaryOp; 8] = [
    UnaryOp::Ineg,
    UnaryOp::Not,
    UnaryOp::BitReverse,
    UnaryOp::BitCount,
    UnaryOp::FindLsb,
    UnaryOp::FindSMsb,
    UnaryOp::FindUMsb,
    UnaryOp::Sabs,
];
const FLOAT_BINARY: [BinaryOp; 6] =
    [BinaryOp::Fadd, BinaryOp::Fsub, BinaryOp::Fmul, BinaryOp::Fdiv, BinaryOp::Fmin, BinaryOp::Fmax];
const FLOAT_UNARY: [UnaryOp; 7] = [
    UnaryOp::Fneg,
    UnaryOp::Fabs,
    UnaryOp::Floor,
    UnaryOp::Ceil,
    UnaryOp::Trunc,
    UnaryOp::RoundEven,
    UnaryOp::Sqrt,
];
const INT_REDUCE: [ReduceOp; 9] = [
    ReduceOp::Iadd,
    ReduceOp::Imul,
    ReduceOp::Smin,
    ReduceOp::Umin,
    ReduceOp::Smax,
    ReduceOp::Umax,
    ReduceOp::And,
    ReduceOp::Or,
    ReduceOp::Xor,
];
const INT_COMPARE: [CompareOp; 6] =
    [CompareOp::Ieq, CompareOp::Ine, CompareOp::Slt, CompareOp::Sle, CompareOp::Ult, CompareOp::Ule];
const FLOAT_COMPARE: [CompareOp; 8] = [
    CompareOp::FordEq,
    CompareOp::FordNe,
    CompareOp::FordLt,
    CompareOp::FordLe,
    CompareOp::FunordEq,
    CompareOp::FunordNe,
    CompareOp::FunordLt,
    CompareOp::FunordLe,
];

const AFFINE_WITH_CONSTANT: [BinaryOp; 11] = [
    BinaryOp::Iadd,
    BinaryOp::Isub,
    BinaryOp::Imul,
    BinaryOp::Shl,
    BinaryOp::Lshr,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::Udiv,
    BinaryOp::Umod,
    BinaryOp::Srem,
];

impl Generator<'_> {
    /// An `i32` that is the same in all lanes that are here.
    pub(super) fn uniform(&mut self, b: &mut Builder<'_>, depth: u32) -> Value {
        match self.rng.below(if depth == 0 { 4 } else { 6 }) {
            0 => b.i32(self.rng.below(8) as i32 - 2),
            1 => b.i32(self.rng.next() as i32),
            2 => {
                let ptr = b.value(Op::PushPtr, &[], Type::Ptr(Space::Push));
                b.value(Op::Load(MemFlags::default()), &[ptr], Type::I32)
            }
            3 => {
                let var = self.uniform_var();
                b.var_load(var, None)
            }
            _ => {
                let (x, y) = (self.uniform(b, depth - 1), self.uniform(b, depth - 1));
                b.binary(self.rng.pick(&INT_BINARY), x, y)
            }
        }
    }

    /// A variable that is only given uniform values; the youngest more often than others.
    pub(super) fn uniform_var(&mut self) -> Var {
        match self.uniforms.last() {
            Some(&var) if self.rng.one_in(2) => var,
            _ => self.rng.pick(&self.uniforms),
        }
    }

    /// An `i32` that may well be affine.
    fn affine(&mut self, b: &mut Builder<'_>, depth: u32) -> Value {
        if depth == 0 || self.rng.one_in(4) {
            return self.builtin(b);
        }
        let x = self.affine(b, depth - 1);
        if self.rng.one_in(3) {
            let y = self.uniform(b, 1);
            return b.binary(self.rng.pick(&[BinaryOp::Iadd, BinaryOp::Isub, BinaryOp::Or]), x, y);
        }
        let y = self.rng.pick(&[1, 2, 4, 8, 16, 32, 64, 3, -1, 7, 15, 31, 63, 5, i32::MAX - 9]);
        let y = b.i32(y);
        b.binary(self.rng.pick(&AFFINE_WITH_CONSTANT), x, y)
    }

    /// A condition of a branch.
    pub(super) fn cond(&mut self, b: &mut Builder<'_>) -> Value {
        if self.rng.one_in(3) {
            return self.expr(b, Scalar::Bool, 2);
        }
        if self.rng.one_in(2) {
            // Some lanes, but not others.
            let lane = b.value(Op::Builtin(Builtin::SubgroupLane), &[], Type::I32);
            let (bit, shift) = (b.i32(1 << self.rng.below(3)), self.uniform(b, 0));
            let lane = b.binary(BinaryOp::Iadd, lane, shift);
            let masked = b.binary(BinaryOp::And, lane, bit);
            return b.compare(CompareOp::Ieq, masked, bit);
        }
        let (x, y) = (self.uniform(b, 1), self.uniform(b, 1));
        b.compare(self.rng.pick(&INT_COMPARE), x, y)
    }

    /// A value of a type, from operations nested up to `depth` deep. It is visible from now on.
    pub(super) fn expr(&mut self, b: &mut Builder<'_>, ty: Scalar, depth: u32) -> Value {
        let value = if depth == 0 { self.leaf(b, ty) } else { self.node(b, ty, depth - 1) };
        self.values.push(value);
        value
    }

    fn leaf(&mut self, b: &mut Builder<'_>, ty: Scalar) -> Value {
        match self.rng.below(6) {
            0 | 1 => self.known(b, ty),
            2 | 3 => {
                let of_type = |v: &&Value| b.func.ty(**v) == ty.into();
                let values: Vec<Value> = self.values.iter().filter(of_type).copied().collect();
                if values.is_empty() { self.known(b, ty) } else { self.rng.pick(&values) }
            }
            4 => {
                let vars: Vec<_> =
                    self.vars.iter().filter(|v| b.func.var(**v).ty == ty.into()).copied().collect();
                if vars.is_empty() {
                    return self.known(b, ty);
                }
                let var = self.rng.pick(&vars);
                b.var_load(var, None)
            }
            _ if ty == Scalar::I32 => self.builtin(b),
            _ => self.known(b, ty),
        }
    }

    fn known(&mut self, b: &mut Builder<'_>, ty: Scalar) -> Value {
        let bits = match self.rng.below(4) {
            _ if ty.is_float() => {
                eval::from_f64(ty, self.rng.pick(&[0.0, 1.0, -1.0, 0.5, 3.0, -7.25, 1e4, 1e-4]))
            }
            0 => self.rng.next(),
            1 => ty.mask() >> self.rng.below(2),
            _ => self.rng.below(8) as u64,
        };
        b.constant(ty, bits)
    }

    fn builtin(&mut self, b: &mut Builder<'_>) -> Value {
        let axis = self.rng.below(3) as u8;
        let op = match self.rng.below(7) {
            0 => Builtin::NumWorkgroups(axis),
            1 => Builtin::WorkgroupId(axis),
            2 => Builtin::LocalInvocationId(axis),
            3 => Builtin::GlobalInvocationId(axis),
            4 => Builtin::LocalInvocationIndex,
            5 => Builtin::SubgroupId,
            _ => Builtin::SubgroupLane,
        };
        b.value(Op::Builtin(op), &[], Type::I32)
    }

    fn node(&mut self, b: &mut Builder<'_>, ty: Scalar, depth: u32) -> Value {
        match self.rng.below(10) {
            8 if ty == Scalar::I32 => self.uniform(b, depth),
            9 if matches!(ty, Scalar::I32 | Scalar::I64) => {
                let x = self.affine(b, depth);
                let kind = self.rng.pick(&[ConvertKind::SToS, ConvertKind::UToU]);
                if ty == Scalar::I32 { x } else { b.convert(kind, x, ty) }
            }
            0 => {
                let cond = self.expr(b, Scalar::Bool, depth);
                let (x, y) = (self.expr(b, ty, depth), self.expr(b, ty, depth));
                b.select(cond, x, y)
            }
            1 if ty != Scalar::Bool => self.conversion(b, ty, depth),
            2 if ty != Scalar::Bool => self.read(b, ty, depth),
            3 if self.config.subgroups && !self.in_region => self.subgroup(b, ty, depth),
            4 => self.element(b, ty, depth),
            _ => self.arithmetic(b, ty, depth),
        }
    }

    fn arithmetic(&mut self, b: &mut Builder<'_>, ty: Scalar, depth: u32) -> Value {
        let is_unary = self.rng.one_in(4);
        match ty {
            Scalar::Bool => self.condition(b, depth),
            _ if ty.is_int() && is_unary => {
                let x = self.expr(b, ty, depth);
                b.unary(self.rng.pick(&INT_UNARY), x)
            }
            _ if ty.is_int() => {
                let (x, y) = (self.expr(b, ty, depth), self.expr(b, ty, depth));
                b.binary(self.rng.pick(&INT_BINARY), x, y)
            }
            _ if is_unary => {
                let x = self.expr(b, ty, depth);
                b.unary(self.rng.pick(&FLOAT_UNARY), x)
            }
            _ => {
                let (x, y) = (self.expr(b, ty, depth), self.expr(b, ty, depth));
                let op = self.rng.pick(&FLOAT_BINARY);
                b.exact = true;
                let z = b.binary(op, x, y);
                b.exact = false;
                if !matches!(op, BinaryOp::Fmin | BinaryOp::Fmax) {
                    return z;
                }
                // Of two zeros, either may be the lesser.
                let zero = b.constant(ty, 0);
                b.binary(BinaryOp::Fadd, z, zero)
            }
        }
    }

    fn condition(&mut self, b: &mut Builder<'_>, depth: u32) -> Value {
        match self.rng.below(5) {
            0 => {
                let x = self.expr(b, Scalar::Bool, depth);
                b.unary(UnaryOp::Not, x)
            }
            1 => {
                let (x, y) = (self.expr(b, Scalar::Bool, depth), self.expr(b, Scalar::Bool, depth));
                b.binary(self.rng.pick(&[BinaryOp::And, BinaryOp::Or, BinaryOp::Xor]), x, y)
            }
            2 if self.config.floats => {
                let ty = self.rng.pick(&FLOATS);
                let (x, y) = (self.expr(b, ty, depth), self.expr(b, ty, depth));
                b.compare(self.rng.pick(&FLOAT_COMPARE), x, y)
            }
            _ => {
                let ty = self.rng.pick(&INTS);
                let (x, y) = (self.expr(b, ty, depth), self.expr(b, ty, depth));
                b.compare(self.rng.pick(&INT_COMPARE), x, y)
            }
        }
    }

    fn conversion(&mut self, b: &mut Builder<'_>, ty: Scalar, depth: u32) -> Value {
        let from_float = self.config.floats && self.rng.one_in(3);
        let from = if from_float { self.rng.pick(&FLOATS) } else { self.rng.pick(&INTS) };
        let x = self.expr(b, from, depth);
        let kind = match (from_float, ty.is_float()) {
            (false, false) => self.rng.pick(&[ConvertKind::SToS, ConvertKind::UToU]),
            (false, true) => self.rng.pick(&[ConvertKind::SToF, ConvertKind::UToF]),
            (true, false) => self.rng.pick(&[ConvertKind::FToS, ConvertKind::FToU]),
            (true, true) => ConvertKind::FToF,
        };
        b.value(Op::Convert(ConvertOp::new(kind)), &[x], ty.into())
    }

    /// Reads the input, inside or outside of its bounds.
    fn read(&mut self, b: &mut Builder<'_>, ty: Scalar, depth: u32) -> Value {
        let is_push = self.rng.one_in(4);
        let (ptr, bytes) = if is_push {
            (b.value(Op::PushPtr, &[], Type::Ptr(Space::Push)), PUSH_BYTES)
        } else {
            let zero = b.i32(0);
            (b.value(Op::BufferPtr(Binding::new(1)), &[zero], Type::Ptr(Space::Buffer)), IN_BYTES)
        };
        let size = ty.bytes();
        let index = match self.rng.below(4) {
            // Consecutive in consecutive lanes.
            0 if self.rng.one_in(2) => self.index,
            0 => self.affine(b, depth + 1),
            1 => self.expr(b, Scalar::I64, depth),
            2 => self.expr(b, Scalar::I32, depth),
            _ => {
                let index = self.expr(b, Scalar::I32, depth);
                let mask = b.i32((bytes / size - 1) as i32);
                b.binary(BinaryOp::And, index, mask)
            }
        };
        let disp = i64::from(size) * self.rng.pick(&[0, 0, 1, -1]);
        let ptr = b.ptr_add(ptr, Some(index), size.into(), disp);
        b.value(Op::Load(MemFlags::default()), &[ptr], ty.into())
    }

    /// An element of an array, at an index that may be outside.
    fn element(&mut self, b: &mut Builder<'_>, ty: Scalar, depth: u32) -> Value {
        let of_type = |v: &&Var| b.func.var(**v).ty == ty.into();
        let Some(&array) = self.arrays.iter().find(of_type) else { return self.arithmetic(b, ty, depth) };
        let index = self.array_index(b, depth);
        b.var_load(array, Some(index))
    }

    pub(super) fn array_index(&mut self, b: &mut Builder<'_>, depth: u32) -> Value {
        match self.counter {
            Some(i) if self.rng.one_in(2) => return i,
            _ if self.rng.one_in(2) => return b.i32(self.rng.below(5) as i32),
            _ => {}
        }
        let (index, mask) = (self.expr(b, Scalar::I32, depth), b.i32(self.rng.pick(&[3, 3, 7])));
        b.binary(BinaryOp::And, index, mask)
    }

    fn subgroup(&mut self, b: &mut Builder<'_>, ty: Scalar, depth: u32) -> Value {
        if ty == Scalar::Bool {
            let op = self.rng.pick(&[
                SubgroupOp::Elect,
                SubgroupOp::All,
                SubgroupOp::Any,
                SubgroupOp::Reduce(ReduceOp::Xor, None),
            ]);
            let args = if op == SubgroupOp::Elect { vec![] } else { vec![self.expr(b, Scalar::Bool, depth)] };
            return b.value(Op::Subgroup(op), &args, Type::BOOL);
        }
        let x = self.expr(b, ty, depth);
        match self.rng.below(6) {
            0 => {
                let lane = b.i32(self.rng.below(self.module.subgroup_size as usize) as i32);
                b.value(Op::Subgroup(SubgroupOp::Broadcast), &[x, lane], ty.into())
            }
            1 => b.value(Op::Subgroup(SubgroupOp::BroadcastFirst), &[x], ty.into()),
            2 => {
                let lane = self.expr(b, Scalar::I32, depth);
                let mask = b.i32(self.module.subgroup_size as i32 * 2 - 1);
                let lane = b.binary(BinaryOp::And, lane, mask);
                b.value(Op::Subgroup(SubgroupOp::Shuffle), &[x, lane], ty.into())
            }
            3 if ty == Scalar::I32 => {
                let cond = self.expr(b, Scalar::Bool, depth);
                let words = b.values(Op::Subgroup(SubgroupOp::Ballot), &[cond], &[Type::I32; 4]);
                words[self.rng.below(4)]
            }
            _ if ty.is_int() => self.reduction(b, x, ty),
            _ => x,
        }
    }

    fn reduction(&mut self, b: &mut Builder<'_>, x: Value, ty: Scalar) -> Value {
        let op = self.rng.pick(&INT_REDUCE);
        let size = self.module.subgroup_size;
        let op = match self.rng.below(4) {
            0 => SubgroupOp::Reduce(op, None),
            1 => SubgroupOp::Reduce(op, Some(self.rng.pick(&[1, 2, 4, size]))),
            2 => SubgroupOp::InclusiveScan(op),
            _ => SubgroupOp::ExclusiveScan(op),
        };
        b.value(Op::Subgroup(op), &[x], ty.into())
    }

    /// The value as an integer or float that is the same on all targets: a NaN becomes 0.
    pub(super) fn settled(&mut self, b: &mut Builder<'_>, x: Value) -> Value {
        match b.func.ty(x).scalar() {
            Some(Scalar::Bool) => {
                let (one, zero) = (b.i32(1), b.i32(0));
                b.select(x, one, zero)
            }
            Some(ty) if ty.is_float() => {
                let (nan, zero) = (b.unary(UnaryOp::IsNan, x), b.constant(ty, 0));
                b.select(nan, zero, x)
            }
            Some(_) | None => x,
        }
    }
}

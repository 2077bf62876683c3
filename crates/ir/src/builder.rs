//! Appends instructions to a function.

use crate::entities::{Block, Inst, Label, Value, Var};
use crate::module::{Function, LocId};
use crate::op::{BinaryOp, CompareOp, ConvertKind, ConvertOp, Op, UnaryOp};
use crate::types::{Scalar, Type};
use smallvec::SmallVec;

/// Appends instructions at the end of a current block.
#[derive(Debug)]
pub struct Builder<'f> {
    /// The function under construction.
    pub func: &'f mut Function,
    /// The block that instructions are appended to.
    pub block: Block,
    /// The source position given to new instructions.
    pub loc: LocId,
    /// Whether new instructions are exact.
    pub exact: bool,
}

impl<'f> Builder<'f> {
    /// A builder at the end of the outermost block, which it makes if it is missing.
    pub fn new(func: &'f mut Function) -> Self {
        if func.blocks.is_empty() {
            func.new_block();
        }
        Self { func, block: Function::ENTRY, loc: 0, exact: false }
    }

    /// Appends an instruction with results of the given types.
    pub fn push(&mut self, op: Op, args: &[Value], results: &[Type]) -> Inst {
        let inst = self.func.new_inst(op, args, results, self.loc);
        self.func.insts[inst.index()].exact = self.exact;
        self.func.blocks[self.block.index()].push(inst);
        inst
    }

    /// Appends an instruction with one result.
    pub fn value(&mut self, op: Op, args: &[Value], ty: Type) -> Value {
        let inst = self.push(op, args, &[ty]);
        self.func.inst(inst).results[0]
    }

    /// Appends an instruction with several results.
    pub fn values(&mut self, op: Op, args: &[Value], tys: &[Type]) -> SmallVec<[Value; 1]> {
        let inst = self.push(op, args, tys);
        self.func.inst(inst).results.clone()
    }

    /// Appends an instruction without a result.
    pub fn effect(&mut self, op: Op, args: &[Value]) {
        self.push(op, args, &[]);
    }

    /// A constant; the bits beyond the type's width are dropped.
    pub fn constant(&mut self, ty: Scalar, bits: u64) -> Value {
        self.value(Op::Const(bits & ty.mask()), &[], ty.into())
    }

    /// An `i32` constant.
    pub fn i32(&mut self, x: i32) -> Value {
        self.constant(Scalar::I32, x as u32 as u64)
    }

    /// An `i64` constant.
    pub fn i64(&mut self, x: i64) -> Value {
        self.constant(Scalar::I64, x as u64)
    }

    /// A `bool` constant.
    pub fn bool(&mut self, x: bool) -> Value {
        self.constant(Scalar::Bool, x as u64)
    }

    /// An operation with one operand, of the operand's type (`bool` for the two predicates).
    pub fn unary(&mut self, op: UnaryOp, x: Value) -> Value {
        let ty = match op {
            UnaryOp::IsNan | UnaryOp::IsInf => Type::BOOL,
            _ => self.func.ty(x),
        };
        self.value(Op::Unary(op), &[x], ty)
    }

    /// An operation with two operands, of the first operand's type.
    pub fn binary(&mut self, op: BinaryOp, x: Value, y: Value) -> Value {
        let ty = self.func.ty(x);
        self.value(Op::Binary(op), &[x, y], ty)
    }

    /// A comparison.
    pub fn compare(&mut self, op: CompareOp, x: Value, y: Value) -> Value {
        self.value(Op::Compare(op), &[x, y], Type::BOOL)
    }

    /// `cond ? x : y`.
    pub fn select(&mut self, cond: Value, x: Value, y: Value) -> Value {
        let ty = self.func.ty(x);
        self.value(Op::Select, &[cond, x, y], ty)
    }

    /// A conversion of a scalar that rounds to nearest even.
    pub fn convert(&mut self, kind: ConvertKind, x: Value, to: Scalar) -> Value {
        let ty = match self.func.ty(x) {
            Type::Mat(m) => m.with_elem(to).into(),
            Type::Scalar(_) | Type::Ptr(_) => to.into(),
        };
        self.value(Op::Convert(ConvertOp::new(kind)), &[x], ty)
    }

    /// Reads an element of a variable; the first without an index.
    pub fn var_load(&mut self, var: Var, index: Option<Value>) -> Value {
        let ty = self.func.var(var).ty;
        self.value(Op::VarLoad(var), index.as_slice(), ty)
    }

    /// Writes an element of a variable; the first without an index.
    pub fn var_store(&mut self, var: Var, index: Option<Value>, value: Value) {
        let mut args: SmallVec<[Value; 2]> = index.into_iter().collect();
        args.push(value);
        self.effect(Op::VarStore(var), &args);
    }

    /// Adds `index * scale + disp` bytes to a pointer.
    pub fn ptr_add(&mut self, ptr: Value, index: Option<Value>, scale: i64, disp: i64) -> Value {
        let ty = self.func.ty(ptr);
        let mut args: SmallVec<[Value; 2]> = SmallVec::from_slice(&[ptr]);
        args.extend(index);
        self.value(Op::PtrAdd { scale, disp }, &args, ty)
    }

    /// Appends an `if` and fills its branches.
    pub fn if_else(
        &mut self,
        cond: Value,
        then: impl FnOnce(&mut Builder<'_>),
        otherwise: impl FnOnce(&mut Builder<'_>),
    ) {
        let (t, o) = (self.func.new_block(), self.func.new_block());
        self.effect(Op::If { then: t, otherwise: o }, &[cond]);
        self.within(t, then);
        self.within(o, otherwise);
    }

    /// Appends a `block` and fills it; a branch to the label leaves it.
    pub fn scoped(&mut self, fill: impl FnOnce(&mut Builder<'_>, Label)) {
        let (label, body) = (self.func.new_label(), self.func.new_block());
        self.effect(Op::Block { label, body }, &[]);
        self.within(body, |b| fill(b, label));
    }

    /// Appends a `loop` and fills it; a branch to the label repeats it.
    pub fn repeated(&mut self, fill: impl FnOnce(&mut Builder<'_>, Label)) {
        let (label, body) = (self.func.new_label(), self.func.new_block());
        self.effect(Op::Loop { label, body }, &[]);
        self.within(body, |b| fill(b, label));
    }

    /// Branches to a label.
    pub fn br(&mut self, label: Label) {
        self.effect(Op::Br(label), &[]);
    }

    /// Runs `fill` with a builder at the end of another block.
    pub fn within(&mut self, block: Block, fill: impl FnOnce(&mut Builder<'_>)) {
        let mut inner = Builder { func: self.func, block, loc: self.loc, exact: self.exact };
        fill(&mut inner);
    }
}

//! The state of a translation: what values are, where code goes.

use phalanx_ir::{
    self as ir, BinaryOp as B, Builder, ConvertKind, Function, Label, LocId, MatType, Op as IrOp, Scalar,
    SourceLoc, Space, Value, Var,
};
use rustc_hash::FxHashMap;

use super::Options;
use super::symbols::Symbols;
use super::types::{self, MemSpace};
use super::value::{Idx, Memory, Slot, Slots, Val, Values};
use crate::ast::{Ast, Op, Type, ValueId};
use crate::error::{Res, at, bug, invalid, unsupported};

/// The state of a translation.
#[derive(Debug)]
pub(super) struct Cx<'a> {
    pub(super) ast: &'a Ast,
    pub(super) symbols: &'a Symbols<'a>,
    pub(super) options: &'a Options<'a>,
    pub(super) module: ir::Module,
    pub(super) func: Function,
    /// Where code goes.
    pub(super) block: ir::Block,
    loc: LocId,
    locs: FxHashMap<(&'a str, u32), LocId>,
    vals: Vec<Option<Val>>,
    /// The values that are defined, in that order.
    defined: Vec<ValueId>,
    /// Values that are used where what defines them does not enclose the use, and the variables that carry them.
    pub(super) escaping: FxHashMap<ValueId, Slots>,
    /// Nesting of constructs and calls.
    depth: u32,
    /// The functions that are being inlined, by name.
    pub(super) calls: Vec<String>,
    /// Where the functions that are being inlined return to.
    pub(super) exits: Vec<Exit>,
    /// The memory of globals that were met.
    pub(super) globals: FxHashMap<String, super::value::Base>,
    /// Where globals of the work-group's memory lie in it.
    pub(super) shared_globals: FxHashMap<String, u32>,
    /// What the arguments of the entry point are.
    pub(super) buffers: Vec<super::BufferInfo>,
    pub(super) pushes: Vec<super::PushInfo>,
    /// Scratch memory of reductions over the work-group: offset and bytes.
    pub(super) scratch: Option<(u32, u32)>,
}

/// Where a function with several blocks returns to.
#[derive(Clone, Debug)]
pub(super) struct Exit {
    pub(super) label: Label,
    pub(super) results: Vec<Slots>,
}

impl<'a> Cx<'a> {
    pub(super) fn new(ast: &'a Ast, symbols: &'a Symbols<'a>, options: &'a Options<'a>) -> Self {
        let mut func = Function::default();
        let block = func.new_block();
        Self {
            ast,
            symbols,
            options,
            module: ir::Module::default(),
            func,
            block,
            loc: 0,
            locs: FxHashMap::default(),
            vals: vec![None; ast.values.len()],
            defined: Vec::new(),
            escaping: FxHashMap::default(),
            depth: 0,
            calls: Vec::new(),
            exits: Vec::new(),
            globals: FxHashMap::default(),
            shared_globals: FxHashMap::default(),
            buffers: Vec::new(),
            pushes: Vec::new(),
            scratch: None,
        }
    }

    /// A builder at the current place.
    pub(super) fn b(&mut self) -> Builder<'_> {
        Builder { func: &mut self.func, block: self.block, loc: self.loc, exact: false }
    }

    /// A builder whose floating-point operations are not contracted.
    pub(super) fn exact(&mut self, exact: bool) -> Builder<'_> {
        Builder { func: &mut self.func, block: self.block, loc: self.loc, exact }
    }

    // ── places ──

    /// Translates an operation at its place in the source.
    pub(super) fn at<T>(&mut self, op: &'a Op, emit: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        let place = self.place(op);
        let outer = std::mem::replace(&mut self.loc, place);
        let limit = self.options.limits.instructions;
        let done = if self.func.insts.len() > limit {
            Err(unsupported(format!("more than {limit} instructions")))
        } else {
            emit(self)
        };
        self.loc = outer;
        done.map_err(|fault| at(fault, op.pos, &op.name))
    }

    /// The source position of an operation: its location, else its place in the text.
    fn place(&mut self, op: &'a Op) -> LocId {
        let (file, line) = match &op.loc {
            Some(loc) if loc.pos.line != 0 => (&*loc.file, loc.pos.line),
            _ => (self.options.file, op.pos.line),
        };
        if let Some(&id) = self.locs.get(&(file, line)) {
            return id;
        }
        self.module.locs.push(SourceLoc { file: file.to_owned(), line, word: 0 });
        let id = self.module.locs.len() as LocId;
        self.locs.insert((file, line), id);
        id
    }

    /// Does something that nests deeper.
    pub(super) fn deeper<T>(&mut self, emit: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        let limit = self.options.limits.nesting;
        if self.depth >= limit {
            return Err(unsupported(format!("constructs and calls nest deeper than {limit}")));
        }
        self.depth += 1;
        let done = emit(self);
        self.depth -= 1;
        done
    }

    /// Fills a block.
    pub(super) fn within<T>(&mut self, block: ir::Block, fill: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        let outer = std::mem::replace(&mut self.block, block);
        let done = fill(self);
        self.block = outer;
        done
    }

    /// Appends an `if` and fills its branches.
    pub(super) fn fork(
        &mut self,
        condition: Value,
        then: impl FnOnce(&mut Self) -> Res<()>,
        otherwise: impl FnOnce(&mut Self) -> Res<()>,
    ) -> Res<()> {
        let (yes, no) = (self.func.new_block(), self.func.new_block());
        self.b().effect(IrOp::If { then: yes, otherwise: no }, &[condition]);
        self.within(yes, then)?;
        self.within(no, otherwise)
    }

    /// Appends a `loop` and fills it.
    pub(super) fn repeat(&mut self, fill: impl FnOnce(&mut Self, Label) -> Res<()>) -> Res<()> {
        let (label, body) = (self.func.new_label(), self.func.new_block());
        self.b().effect(IrOp::Loop { label, body }, &[]);
        self.within(body, |cx| fill(cx, label))
    }

    // ── values ──

    /// The type of a value.
    pub(super) fn ty(&self, id: ValueId) -> Res<&'a Type> {
        let found = self.ast.values.get(id.0 as usize);
        found.map(|value| &value.ty).ok_or_else(|| bug("a value that the module does not have"))
    }

    /// The id of an operand.
    pub(super) fn operand(&self, op: &Op, i: usize) -> Res<ValueId> {
        let count = op.operands.len();
        op.operands.get(i).copied().ok_or_else(|| invalid(format!("expected more than {count} operands")))
    }

    /// The type of an operand.
    pub(super) fn operand_ty(&self, op: &Op, i: usize) -> Res<&'a Type> {
        self.ty(self.operand(op, i)?)
    }

    /// The type of a result.
    pub(super) fn result_ty(&self, op: &Op, i: usize) -> Res<&'a Type> {
        let count = op.results.len();
        let id = op.results.get(i).ok_or_else(|| invalid(format!("expected more than {count} results")))?;
        self.ty(*id)
    }

    /// What a value is.
    pub(super) fn val(&mut self, id: ValueId) -> Res<Val> {
        if let Some(Some(val)) = self.vals.get(id.0 as usize) {
            return Ok(val.clone());
        }
        if let Some(slots) = self.escaping.get(&id).cloned() {
            return Ok(self.load(&slots));
        }
        let name = self.ast.values.get(id.0 as usize).map_or("", |value| &value.name);
        Err(invalid(format!("%{name} is used where it is not defined")))
    }

    /// What an operand is.
    pub(super) fn arg(&mut self, op: &Op, i: usize) -> Res<Val> {
        let id = self.operand(op, i)?;
        self.val(id)
    }

    /// The scalars of an operand that is a scalar or a vector.
    pub(super) fn values(&mut self, op: &Op, i: usize) -> Res<Values> {
        match self.arg(op, i)? {
            Val::Scalars(values) => Ok(values),
            Val::Matrix(_) | Val::Memory(_) => Err(self.wrong(op, i, "a scalar or a vector")),
        }
    }

    /// An operand that is one scalar.
    pub(super) fn value(&mut self, op: &Op, i: usize) -> Res<Value> {
        let ty = self.operand_ty(op, i)?;
        match self.values(op, i)?[..] {
            [value] if !types::is_vector(ty) => Ok(value),
            _ => Err(self.wrong(op, i, "a scalar")),
        }
    }

    /// An operand that is a scalar of a type.
    pub(super) fn value_of(&mut self, op: &Op, i: usize, scalar: Scalar) -> Res<Value> {
        let value = self.value(op, i)?;
        if self.func.ty(value) != types::ir(scalar) {
            return Err(self.wrong(op, i, scalar.name()));
        }
        Ok(value)
    }

    /// An operand that is an `index`.
    pub(super) fn index(&mut self, op: &Op, i: usize) -> Res<Idx> {
        let value = self.value_of(op, i, Scalar::I64)?;
        Ok(self.idx(value))
    }

    /// An `i64` as a number that may be known.
    pub(super) fn idx(&self, value: Value) -> Idx {
        self.func.const_bits(value).map_or(Idx::Dyn(value), |bits| Idx::Const(bits.cast_signed()))
    }

    /// An operand that is a matrix.
    pub(super) fn matrix(&mut self, op: &Op, i: usize) -> Res<(Value, MatType)> {
        if let Val::Matrix(value) = self.arg(op, i)?
            && let Some(ty) = self.func.ty(value).mat()
        {
            return Ok((value, ty));
        }
        Err(self.wrong(op, i, "a !gpu.mma_matrix"))
    }

    /// An operand that is a memref.
    pub(super) fn memory(&mut self, op: &Op, i: usize) -> Res<std::rc::Rc<Memory>> {
        match self.arg(op, i)? {
            Val::Memory(memory) => Ok(memory),
            Val::Scalars(_) | Val::Matrix(_) => Err(self.wrong(op, i, "a memref")),
        }
    }

    /// An operand of a wrong type.
    pub(super) fn wrong(&self, op: &Op, i: usize, expected: &str) -> crate::error::Fault {
        let found = self.operand_ty(op, i).map_or_else(|_fault| "nothing".to_owned(), types::describe);
        invalid(format!("operand {i} is {found}, expected {expected}"))
    }

    /// Says what the results of an operation are.
    pub(super) fn define(&mut self, op: &Op, vals: Vec<Val>) -> Res<()> {
        if op.results.len() != vals.len() {
            let (found, expected) = (op.results.len(), vals.len());
            return Err(invalid(format!("has {found} results, expected {expected}")));
        }
        op.results.iter().zip(vals).try_for_each(|(&id, val)| self.bind(id, val))
    }

    /// Says that the one result of an operation is a scalar, or the elements of a vector.
    pub(super) fn define_values(&mut self, op: &Op, values: Values) -> Res<()> {
        self.define(op, vec![Val::Scalars(values)])
    }

    /// Says what a value is.
    pub(super) fn bind(&mut self, id: ValueId, val: Val) -> Res<()> {
        self.check(id, &val)?;
        if let Some(slots) = self.escaping.get(&id).cloned() {
            self.store(&slots, &val)?;
        }
        let slot = self.vals.get_mut(id.0 as usize).ok_or_else(|| bug("a value that is not there"))?;
        *slot = Some(val);
        self.defined.push(id);
        Ok(())
    }

    /// Whether what a value is has the type that the text says.
    fn check(&self, id: ValueId, val: &Val) -> Res<()> {
        let ty = self.ty(id)?;
        let fits = match val {
            Val::Scalars(values) => {
                let (count, scalar) = types::scalars(ty)?;
                values.len() == count && values.iter().all(|&v| self.func.ty(v) == types::ir(scalar))
            }
            Val::Matrix(value) => match ty {
                Type::Mma(mma) => self.func.ty(*value) == types::matrix(mma)?.into(),
                _ => false,
            },
            Val::Memory(memory) => match ty {
                Type::MemRef(memref) => {
                    let (lanes, elem) = types::scalars(&memref.elem)?;
                    let rank = memref.shape.as_ref().map(Vec::len);
                    let space = MemSpace::of(memref.space.as_ref())?;
                    let pointer = match memory.base {
                        super::value::Base::Pointer(p) => {
                            space.pointer().is_some_and(|s| self.func.ty(p) == ir::Type::Ptr(s))
                        }
                        super::value::Base::Variable(_) => true,
                    };
                    pointer
                        && (memory.lanes as usize, memory.elem) == (lanes, elem)
                        && rank.is_none_or(|rank| rank == memory.sizes.len())
                }
                _ => false,
            },
        };
        if fits {
            return Ok(());
        }
        Err(invalid(format!("%{} cannot be {}", self.ast.values[id.0 as usize].name, types::describe(ty))))
    }

    /// What is defined from here on goes out of scope at [`Cx::leave`].
    pub(super) fn enter(&self) -> usize {
        self.defined.len()
    }

    pub(super) fn leave(&mut self, mark: usize) {
        for id in self.defined.drain(mark.min(self.defined.len())..) {
            if let Some(val) = self.vals.get_mut(id.0 as usize) {
                *val = None;
            }
        }
    }

    // ── data that crosses constructs ──

    /// Variables for a value of a type.
    pub(super) fn slots(&mut self, ty: &Type) -> Res<Slots> {
        match ty {
            Type::Mma(mma) => {
                let ty = types::matrix(mma)?;
                Ok(Slots::Matrix(self.func.new_var(ty.into(), 1, "")))
            }
            Type::MemRef(memref) => self.memory_slots(memref),
            ty => {
                let (count, scalar) = types::scalars(ty)?;
                let var = |_| self.func.new_var(scalar.into(), 1, "");
                Ok(Slots::Scalars((0..count).map(var).collect()))
            }
        }
    }

    fn memory_slots(&mut self, memref: &crate::ast::MemRef) -> Res<Slots> {
        let Some(space) = MemSpace::of(memref.space.as_ref())?.pointer() else {
            return Err(unsupported("a memref of private memory that crosses a construct"));
        };
        let (lanes, elem) = types::scalars(&memref.elem)?;
        let (sizes, strides, offset) = super::place::numbers(memref)?;
        let mut slot = |known: Option<i64>| match known {
            Some(n) => Slot::Const(n),
            None => Slot::Var(self.func.new_var(ir::Type::I64, 1, "")),
        };
        let (sizes, strides) =
            (sizes.into_iter().map(&mut slot).collect(), strides.into_iter().map(&mut slot).collect());
        let offset = slot(offset);
        let pointer = self.func.new_var(ir::Type::Ptr(space), 1, "");
        Ok(Slots::Memory { pointer, elem, lanes: lanes as u32, offset, sizes, strides })
    }

    /// Writes a value to its variables.
    pub(super) fn store(&mut self, slots: &Slots, val: &Val) -> Res<()> {
        match (slots, val) {
            (Slots::Scalars(vars), Val::Scalars(values)) if vars.len() == values.len() => {
                for (&var, &value) in vars.iter().zip(values) {
                    self.store_var(var, value)?;
                }
                Ok(())
            }
            (Slots::Matrix(var), Val::Matrix(value)) => self.store_var(*var, *value),
            (Slots::Memory { pointer, elem, lanes, offset, sizes, strides }, Val::Memory(memory))
                if (*elem, *lanes) == (memory.elem, memory.lanes) && sizes.len() == memory.sizes.len() =>
            {
                let super::value::Base::Pointer(base) = memory.base else {
                    return Err(unsupported(
                        "a memref of private or constant memory that crosses a construct",
                    ));
                };
                self.store_var(*pointer, base)?;
                let numbers = sizes.iter().zip(&memory.sizes).chain(strides.iter().zip(&memory.strides));
                for (slot, &number) in numbers.chain([(offset, &memory.offset)]) {
                    if let Slot::Var(var) = *slot {
                        let value = self.idx_value(number);
                        self.store_var(var, value)?;
                    }
                }
                Ok(())
            }
            _ => Err(invalid("a value that crosses a construct has another type on its other side")),
        }
    }

    fn store_var(&mut self, var: Var, value: Value) -> Res<()> {
        let (expected, found) = (self.func.var(var).ty, self.func.ty(value));
        if expected != found {
            return Err(invalid(format!("a value of type {found}, expected {expected}")));
        }
        self.b().var_store(var, None, value);
        Ok(())
    }

    /// Reads a value from its variables.
    pub(super) fn load(&mut self, slots: &Slots) -> Val {
        match slots {
            Slots::Scalars(vars) => {
                Val::Scalars(vars.iter().map(|&var| self.b().var_load(var, None)).collect())
            }
            Slots::Matrix(var) => Val::Matrix(self.b().var_load(*var, None)),
            Slots::Memory { pointer, elem, lanes, offset, sizes, strides } => {
                let base = super::value::Base::Pointer(self.b().var_load(*pointer, None));
                let mut number = |slot: &Slot| match *slot {
                    Slot::Const(n) => Idx::Const(n),
                    Slot::Var(var) => Idx::Dyn(self.b().var_load(var, None)),
                };
                let offset = number(offset);
                let sizes = sizes.iter().map(&mut number).collect();
                let strides = strides.iter().map(&mut number).collect();
                Val::Memory(std::rc::Rc::new(Memory {
                    base,
                    elem: *elem,
                    lanes: *lanes,
                    offset,
                    sizes,
                    strides,
                }))
            }
        }
    }

    // ── numbers ──

    /// The `i64` that a number is.
    pub(super) fn idx_value(&mut self, idx: Idx) -> Value {
        match idx {
            Idx::Const(n) => self.b().i64(n),
            Idx::Dyn(value) => value,
        }
    }

    pub(super) fn add(&mut self, x: Idx, y: Idx) -> Idx {
        match (x, y) {
            (Idx::Const(x), Idx::Const(y)) => Idx::Const(x.wrapping_add(y)),
            (Idx::Const(0), z) | (z, Idx::Const(0)) => z,
            _ => self.combine(B::Iadd, x, y),
        }
    }

    pub(super) fn mul(&mut self, x: Idx, y: Idx) -> Idx {
        match (x, y) {
            (Idx::Const(x), Idx::Const(y)) => Idx::Const(x.wrapping_mul(y)),
            (Idx::Const(1), z) | (z, Idx::Const(1)) => z,
            (Idx::Const(0), _) | (_, Idx::Const(0)) => Idx::Const(0),
            _ => self.combine(B::Imul, x, y),
        }
    }

    pub(super) fn combine(&mut self, op: B, x: Idx, y: Idx) -> Idx {
        let (x, y) = (self.idx_value(x), self.idx_value(y));
        Idx::Dyn(self.b().binary(op, x, y))
    }

    /// An `i32` as an `index`; it is never negative.
    pub(super) fn widen(&mut self, value: Value) -> Value {
        self.b().convert(ConvertKind::UToU, value, Scalar::I64)
    }

    /// A number as the `i32` that an index of a variable is.
    pub(super) fn narrow(&mut self, idx: Idx) -> Value {
        match idx {
            Idx::Const(n) => self.b().i32(i32::try_from(n).unwrap_or(-1)),
            Idx::Dyn(value) => self.b().convert(ConvertKind::SToS, value, Scalar::I32),
        }
    }

    // ── memory that is made here ──

    /// Memory that a work-group shares: its offset.
    pub(super) fn shared(&mut self, bytes: u64) -> Res<u32> {
        let offset = u64::from(self.module.shared_bytes).next_multiple_of(64);
        let limit = self.options.limits.shared_bytes;
        let end = offset.saturating_add(bytes);
        if end > u64::from(limit) {
            return Err(unsupported(format!("{end} bytes of shared memory: at most {limit}")));
        }
        self.module.shared_bytes = end as u32;
        Ok(offset as u32)
    }

    /// A pointer to it.
    pub(super) fn shared_ptr(&mut self, offset: u32, bytes: u32) -> Value {
        self.b().value(IrOp::SharedPtr { offset, bytes }, &[], ir::Type::Ptr(Space::Shared))
    }
}

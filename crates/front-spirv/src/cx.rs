//! The translator: state and the interface that instruction families build on.
//!
//! A family's function takes the instruction, reads operands through [`Cx::value`], [`Cx::values`],
//! [`Cx::val`] and the constant readers, appends IR through [`Cx::b`], and gives the result to
//! [`Cx::define`] or [`Cx::define_values`]. Those two check that what is defined has the result
//! type's leaf types, so the IR stays well typed whatever the module says.
//!
//! Constants and other values without operands that never change (built-ins, push constant and
//! shared pointers) are made once and put in front of everything else at the end: they are in scope
//! everywhere.

use crate::diag::{Diagnostic, Res, bug, code, invalid, operand};
use crate::emit::{Instance, Uses};
use crate::float_modes::FloatModes;
use crate::globals::Globals;
use crate::module::Spv;
use crate::reader::{Id, Inst};
use crate::structure::Structure;
use crate::tables::Tables;
use crate::types::{Kind, Ty, Types};
use crate::value::{LocalVar, MemPtr, Pointer, Spread, Val};
use phalanx_ir::{self as ir, Builder, LocId, MatType, Op, Scalar, Space, Value, Var};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::rc::Rc;

/// A few IR values.
pub(crate) type Values = SmallVec<[Value; 4]>;

/// What an id stands for, and where that is in scope.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) ty: Ty,
    pub(crate) val: Val,
    /// Node of the current function's structure that defines it (see [`crate::structure`]); `None`
    /// for what is in scope everywhere in the function.
    pub(crate) node: Option<u32>,
    /// The call that defines it.
    pub(crate) serial: u32,
    /// Variables that hold its IR values where they are not in scope.
    pub(crate) spill: Option<Rc<[(Value, Var)]>>,
}

/// The state of a translation.
pub(crate) struct Cx<'m> {
    pub(crate) spv: &'m Spv<'m>,
    pub(crate) globals: &'m Globals,
    pub(crate) options: &'m crate::Options<'m>,
    /// The module under construction, its body aside.
    pub(crate) module: ir::Module,
    pub(crate) func: ir::Function,
    /// The block that instructions are appended to.
    pub(crate) block: ir::Block,
    pub(crate) modes: FloatModes,
    /// Position of the current instruction in the module.
    pub(crate) inst: usize,
    loc: LocId,
    /// Whether the current instruction is decorated *NoContraction*.
    exact: bool,
    /// Source position of each instruction, once it has one.
    locs: Vec<LocId>,
    /// Operands of the current instruction without their denormals.
    pub(crate) flushed: FxHashMap<Id, Val>,
    /// Values that are in scope everywhere, in order of creation, and what each was made from.
    prologue: Vec<ir::Inst>,
    prologue_values: FxHashSet<Value>,
    consts: FxHashMap<(Scalar, u64), Value>,
    cached: Vec<(Op, Value)>,
    pub(crate) slots: FxHashMap<Id, Slot>,
    /// The functions being translated, innermost last.
    pub(crate) stack: Vec<Instance>,
    pub(crate) structures: FxHashMap<Id, Rc<Structure>>,
    /// Number of the latest call.
    pub(crate) serial: u32,
    pub(crate) tables: Tables,
    /// Offset and size of each *Workgroup* variable.
    pub(crate) shared: FxHashMap<Id, (u32, u32)>,
    /// Large variables of functions, and tables.
    pub(crate) large_locals: FxHashMap<Id, Rc<LocalVar>>,
    pub(crate) long: crate::long::Pool,
    /// Bytes of all variables so far.
    pub(crate) private_bytes: u64,
    /// SPIR-V instructions translated so far, repeated for each inlined call.
    pub(crate) translated: usize,
    /// Nesting of constructs and calls.
    pub(crate) depth: u32,
    /// The region that is being filled.
    pub(crate) region: Option<crate::region::Region>,
    /// What goes to each label.
    pub(crate) labels: Vec<Uses>,
    /// Findings so far.
    pub(crate) faults: Vec<Diagnostic>,
    /// Results of instructions at fault, and of those that use them.
    pub(crate) broken: FxHashSet<Id>,
}

impl<'m> Cx<'m> {
    /// A translator at the start of an empty module.
    pub(crate) fn new(spv: &'m Spv<'m>, globals: &'m Globals, options: &'m crate::Options<'m>) -> Self {
        let mut func = ir::Function::default();
        let block = func.new_block();
        Self {
            spv,
            globals,
            options,
            module: ir::Module::default(),
            func,
            block,
            modes: FloatModes::default(),
            inst: 0,
            loc: 0,
            exact: false,
            locs: vec![0; spv.insts.len()],
            flushed: FxHashMap::default(),
            prologue: Vec::new(),
            prologue_values: FxHashSet::default(),
            consts: FxHashMap::default(),
            cached: Vec::new(),
            slots: FxHashMap::default(),
            stack: Vec::new(),
            structures: FxHashMap::default(),
            serial: 0,
            tables: Tables::find(spv, globals),
            shared: FxHashMap::default(),
            large_locals: FxHashMap::default(),
            long: crate::long::Pool::default(),
            private_bytes: 0,
            translated: 0,
            depth: 0,
            region: None,
            labels: Vec::new(),
            faults: Vec::new(),
            broken: FxHashSet::default(),
        }
    }

    /// The module, when everything is translated.
    pub(crate) fn finish(mut self) -> ir::Module {
        let entry = &mut self.func.blocks[ir::Function::ENTRY.index()];
        let body = std::mem::replace(entry, self.prologue);
        entry.extend(body);
        self.module.body = self.func;
        self.module
    }

    /// Sets the instruction that what follows belongs to.
    pub(crate) fn begin(&mut self, index: usize) {
        self.inst = index;
        let inst = &self.spv.insts[index];
        self.exact = self.modes.is_exact(self.spv, self.globals, inst);
        if self.locs[index] == 0 {
            let (file, line) = self.spv.line(index);
            self.module.locs.push(ir::SourceLoc { file: file.to_owned(), line, word: inst.at });
            self.locs[index] = self.module.locs.len() as LocId;
        }
        self.loc = self.locs[index];
    }

    /// Counts work that emits no instruction: composites of `n` constituents are copied.
    pub(crate) fn spend(&mut self, n: u32) {
        self.translated = self.translated.saturating_add(n as usize / 4);
    }

    // ── emitting ──

    /// A builder at the current place.
    pub(crate) fn b(&mut self) -> Builder<'_> {
        Builder { func: &mut self.func, block: self.block, loc: self.loc, exact: self.exact }
    }

    /// A constant scalar; each is made once.
    pub(crate) fn constant(&mut self, ty: Scalar, bits: u64) -> Value {
        let bits = bits & ty.mask();
        if let Some(&v) = self.consts.get(&(ty, bits)) {
            return v;
        }
        let v = self.prologue_value(Op::Const(bits), &[], ty.into());
        self.consts.insert((ty, bits), v);
        v
    }

    /// An `i32` constant.
    pub(crate) fn i32(&mut self, x: i32) -> Value {
        self.constant(Scalar::I32, x as u32 as u64)
    }

    /// An `i64` constant.
    pub(crate) fn i64(&mut self, x: i64) -> Value {
        self.constant(Scalar::I64, x as u64)
    }

    /// The result of an operation that gives the same wherever it stands; each is made once. The
    /// operands must be such values, too.
    pub(crate) fn invariant(&mut self, op: Op, args: &[Value], ty: ir::Type) -> Value {
        let known = self.cached.iter().find(|(known, v)| *known == op && self.func.def(*v).args[..] == *args);
        if let Some((_, v)) = known {
            return *v;
        }
        let v = self.prologue_value(op.clone(), args, ty);
        self.cached.push((op, v));
        v
    }

    fn prologue_value(&mut self, op: Op, args: &[Value], ty: ir::Type) -> Value {
        let inst = self.func.new_inst(op, args, &[ty], 0);
        self.prologue.push(inst);
        let v = self.func.inst(inst).results[0];
        self.prologue_values.insert(v);
        v
    }

    /// Whether a value is in scope everywhere.
    pub(crate) fn is_invariant(&self, v: Value) -> bool {
        self.prologue_values.contains(&v)
    }

    // ── types ──

    /// The types of the module.
    pub(crate) fn types(&self) -> &'m Types {
        &self.globals.types
    }

    /// The result type of an instruction.
    pub(crate) fn result_ty(&self, inst: &Inst<'_>) -> Res<Ty> {
        self.types().lookup(inst.ty)
    }

    /// The type of an operand.
    pub(crate) fn ty_of(&self, id: Id) -> Res<Ty> {
        match self.slots.get(&id) {
            Some(slot) => Ok(slot.ty),
            None => self.globals.get(id).map(|(ty, _)| *ty).ok_or_else(|| undefined(id)),
        }
    }

    // ── reading operands ──

    /// An operand's type and value.
    pub(crate) fn val(&mut self, id: Id) -> Res<(Ty, Val)> {
        let Some(slot) = self.slots.get(&id) else {
            let (ty, val) = self.globals.get(id).ok_or_else(|| undefined(id))?;
            return Ok((*ty, self.flushed(id).unwrap_or_else(|| val.clone())));
        };
        let slot = slot.clone();
        let val = match self.flushed(id) {
            Some(val) => val,
            None => self.reload(&slot)?,
        };
        Ok((slot.ty, val))
    }

    /// The IR values of an operand: the components of a scalar, vector or SPIR-V matrix (columns in
    /// order), a whole cooperative matrix as one value; any other composite in the order of its
    /// members.
    pub(crate) fn values(&mut self, id: Id) -> Res<Values> {
        let (ty, val) = self.val(id)?;
        self.flatten(ty, &val)
    }

    /// The IR value of an operand that is a scalar or a cooperative matrix.
    pub(crate) fn value(&mut self, id: Id) -> Res<Value> {
        let values = self.values(id)?;
        match values[..] {
            [v] => Ok(v),
            _ => Err(operand(format!("operand %{id} has {} components, expected 1", values.len()))),
        }
    }

    /// The IR value of an operand, which must be a scalar of type `wanted`.
    pub(crate) fn scalar(&mut self, id: Id, wanted: Scalar) -> Res<Value> {
        let v = self.value(id)?;
        self.expect(id, v, wanted.into())?;
        Ok(v)
    }

    /// The IR value of an operand, which must be an integer, as `i32`: truncated or zero-extended.
    pub(crate) fn index_i32(&mut self, id: Id) -> Res<Value> {
        let v = self.value(id)?;
        match self.func.ty(v) {
            ir::Type::Scalar(Scalar::I32) => Ok(v),
            ir::Type::Scalar(s) if s.is_int() => {
                let kind = if self.types().is_signed(self.ty_of(id)?) {
                    ir::ConvertKind::SToS
                } else {
                    ir::ConvertKind::UToU
                };
                Ok(self.b().convert(kind, v, Scalar::I32))
            }
            other => Err(operand(format!("operand %{id} is {other}, expected an integer"))),
        }
    }

    /// The IR value of an operand, which must be a cooperative matrix.
    pub(crate) fn matrix(&mut self, id: Id) -> Res<(MatType, Value)> {
        let v = self.value(id)?;
        match self.func.ty(v) {
            ir::Type::Mat(m) => Ok((m, v)),
            other => Err(operand(format!("operand %{id} is {other}, expected a cooperative matrix"))),
        }
    }

    /// Checks the IR type of an operand's value.
    pub(crate) fn expect(&self, id: Id, v: Value, wanted: ir::Type) -> Res<()> {
        let found = self.func.ty(v);
        if found == wanted {
            return Ok(());
        }
        Err(operand(format!("operand %{id} is {found}, expected {wanted}")))
    }

    /// The bits of an operand that is a scalar constant.
    pub(crate) fn const_bits(&self, id: Id) -> Option<u64> {
        match self.slots.get(&id) {
            Some(Slot { val: Val::Const(ir::Type::Scalar(_), bits), .. }) => Some(*bits),
            Some(_) => None,
            None => self.globals.const_bits(id),
        }
    }

    /// The value of an operand that must be a constant integer of at most 32 bits: a scope, memory
    /// semantics, a layout.
    pub(crate) fn const_u32(&self, id: Id) -> Res<u32> {
        let bits = self.const_bits(id).and_then(|bits| u32::try_from(bits).ok());
        bits.ok_or_else(|| operand(format!("operand %{id} must be a constant integer of 32 bits")))
    }

    /// A scope operand.
    pub(crate) fn scope(&self, id: Id) -> Res<ir::Scope> {
        match self.const_u32(id)? {
            // CrossDevice, Device, QueueFamily and ShaderCallKHR: the CPU device is coherent.
            0 | 1 | 5 | 6 => Ok(ir::Scope::Device),
            2 => Ok(ir::Scope::Workgroup),
            3 => Ok(ir::Scope::Subgroup),
            4 => Ok(ir::Scope::Invocation),
            other => Err(operand(format!("unknown scope {other}"))),
        }
    }

    /// An operand that is a pointer.
    pub(crate) fn pointer(&mut self, id: Id) -> Res<Rc<Pointer>> {
        let (ty, val) = self.val(id)?;
        match val {
            Val::Ptr(p) => Ok(p),
            Val::Zero | Val::Ir(_) | Val::Const(..) | Val::Many(_) | Val::Long(_) => {
                let v = self.flatten(ty, &val)?.first().copied();
                let v = v.ok_or_else(|| operand(format!("operand %{id} is empty, expected a pointer")))?;
                self.pointer_from(ty, v).map(Rc::new)
            }
        }
    }

    /// An operand that is a pointer into memory: its byte pointer, and what it knows of the pointee.
    pub(crate) fn memory(&mut self, id: Id) -> Res<(Value, MemPtr)> {
        match &*self.pointer(id)? {
            Pointer::Memory(p) => {
                let v = self.byte_pointer(p);
                Ok((v, p.clone()))
            }
            _ => {
                let m = format!("operand %{id} points to a variable of the invocation, expected memory");
                Err(operand(m))
            }
        }
    }

    /// The IR pointer of a memory pointer.
    pub(crate) fn byte_pointer(&mut self, p: &MemPtr) -> Value {
        if p.disp == 0 { p.base } else { self.b().ptr_add(p.base, None, 0, p.disp) }
    }

    // ── defining results ──

    /// Gives the result of an instruction its value.
    pub(crate) fn define(&mut self, inst: &Inst<'_>, val: Val) -> Res<()> {
        let ty = self.result_ty(inst)?;
        self.bind(inst.id, ty, val)
    }

    /// Gives the result of an instruction its value, as the list [`Cx::values`] would give.
    pub(crate) fn define_values(&mut self, inst: &Inst<'_>, values: &[Value]) -> Res<()> {
        let ty = self.result_ty(inst)?;
        let val = self.unflatten(ty, values)?;
        self.bind(inst.id, ty, val)
    }

    // ── values and composites ──

    /// The IR values of a value of type `ty`; constants are made.
    pub(crate) fn flatten(&mut self, ty: Ty, val: &Val) -> Res<Values> {
        let mut out = Values::new();
        if !matches!(val, Val::Ir(_)) && self.types().leaf(ty).is_none() {
            let n = self.types().leaf_types(ty)?.len();
            self.spend(n as u32);
        }
        self.flatten_into(ty, val, &mut out)?;
        Ok(out)
    }

    fn flatten_into(&mut self, ty: Ty, val: &Val, out: &mut Values) -> Res<()> {
        if let Some(leaf) = self.types().leaf(ty) {
            out.push(self.leaf_value(leaf, val)?);
            return Ok(());
        }
        let n = self.types().count(ty).ok_or_else(|| {
            operand(format!("expected a value in registers, found {}", self.types().describe(ty)))
        })?;
        for i in 0..n {
            let part = self.part(ty, val, i)?;
            let elem = self.types().constituent(ty, i).ok_or_else(|| bug("a constituent lacks its type"))?;
            self.flatten_into(elem, &part, out)?;
        }
        Ok(())
    }

    pub(crate) fn leaf_value(&mut self, leaf: ir::Type, val: &Val) -> Res<Value> {
        match val {
            Val::Ir(v) => Ok(*v),
            Val::Const(ir::Type::Scalar(s), bits) => Ok(self.constant(*s, *bits)),
            Val::Const(mat @ ir::Type::Mat(m), bits) => {
                let scalar = self.constant(m.elem, *bits);
                Ok(self.b().value(Op::MatSplat, &[scalar], *mat))
            }
            Val::Ptr(p) => match &**p {
                Pointer::Memory(p) => Ok(self.byte_pointer(p)),
                _ => Err(invalid(code::OPERAND, "a logical pointer is used as a value")),
            },
            Val::Zero => match leaf {
                ir::Type::Ptr(Space::Global) => {
                    let zero = self.i64(0);
                    Ok(self.invariant(Op::IntToPtr, &[zero], leaf))
                }
                ir::Type::Ptr(space) => self.null_pointer(space),
                _ => Err(bug("the null of a scalar must be a constant")),
            },
            Val::Const(ir::Type::Ptr(_), _) | Val::Many(_) | Val::Long(_) => {
                Err(bug(format!("{val:?} is no {leaf}")))
            }
        }
    }

    /// The value of type `ty` with these IR values.
    pub(crate) fn unflatten(&self, ty: Ty, values: &[Value]) -> Res<Val> {
        let mut rest = values;
        let val = self.unflatten_from(ty, &mut rest)?;
        if !rest.is_empty() {
            let m = format!(
                "expected a {} as result type for {} components",
                self.types().describe(ty),
                values.len()
            );
            return Err(operand(m));
        }
        Ok(val)
    }

    fn unflatten_from(&self, ty: Ty, rest: &mut &[Value]) -> Res<Val> {
        if let Some(leaf) = self.types().leaf(ty) {
            let Some((&v, tail)) = rest.split_first() else {
                let m = format!("the result type {} has too many components", self.types().describe(ty));
                return Err(operand(m));
            };
            *rest = tail;
            let found = self.func.ty(v);
            if found != leaf {
                return Err(operand(format!("the result type is {leaf}, but the operands give {found}")));
            }
            return match leaf {
                ir::Type::Ptr(_) => Ok(Val::ptr(self.pointer_from(ty, v)?)),
                ir::Type::Scalar(_) | ir::Type::Mat(_) => Ok(Val::Ir(v)),
            };
        }
        let n = self.types().count(ty).filter(|&n| n as usize <= rest.len() || n == 0).ok_or_else(|| {
            operand(format!("the result type {} does not fit the operands", self.types().describe(ty)))
        })?;
        let part = |i| {
            let elem = self.types().constituent(ty, i).ok_or_else(|| bug("a constituent lacks its type"))?;
            self.unflatten_from(elem, rest)
        };
        Ok(Val::Many((0..n).map(part).collect::<Res<_>>()?))
    }

    /// The pointer of type `ty` that an IR pointer is.
    pub(crate) fn pointer_from(&self, ty: Ty, base: Value) -> Res<Pointer> {
        let Kind::Pointer { pointee, .. } = *self.types().kind(ty) else {
            return Err(operand(format!("expected a pointer, found {}", self.types().describe(ty))));
        };
        let ir::Type::Ptr(space) = self.func.ty(base) else {
            return Err(bug("a pointer's value is no pointer"));
        };
        let ty = pointee.map(|p| self.types().lookup(p)).transpose()?;
        Ok(Pointer::Memory(MemPtr { base, disp: 0, space, ty, volatile: false, spread: Spread::default() }))
    }
}

fn undefined(id: Id) -> crate::diag::Fault {
    invalid(code::ID, format!("%{id} is not defined before its use"))
}

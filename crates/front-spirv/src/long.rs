//! Long vectors as values (SPV_EXT_long_vector).
//!
//! The value of a vector of more than [`MAX_LISTED`] components is a variable, written where the value is made and
//! nowhere else. What works component by component is a loop around the same instruction on scalars, so that code does
//! not grow with the vectors; whatever else takes such a vector reads its components one after the other.

use crate::cx::{Cx, Slot};
use crate::diag::{Res, bug, operand};
use crate::opcode;
use crate::reader::{Id, Inst};
use crate::types::{Kind, Ty};
use crate::value::{Index, LocalPtr, Pointer, Val};
use phalanx_ir::{self as ir, BinaryOp, MemFlags, Value, Var};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;
use std::rc::Rc;

/// Components of the vectors whose values are lists of components.
const MAX_LISTED: u32 = 8;

/// How many instructions are put off for one.
const MAX_LATER: u32 = 16;

/// Where components come from.
#[derive(Clone, Debug)]
enum Source {
    Var(Var),
    /// All components are this.
    Same(Val),
    /// They are still to be computed.
    Later(Rc<Later>),
}

/// An instruction that is put off until the loop of the one that uses its result.
#[derive(Debug)]
struct Later {
    /// Its position in the module.
    at: usize,
    elem: Ty,
    vectors: Vec<Vector>,
    /// Instructions that are put off for it, one for another.
    depth: u32,
}

/// Variables of values that are dead, to be used again.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// How often each id is mentioned as an operand, or more.
    uses: Option<FxHashMap<Id, u32>>,
    /// The instruction that each variable was made for.
    owners: FxHashMap<Var, Id>,
    /// All variables that were made for values.
    made: FxHashSet<Var>,
    free: Vec<Var>,
    later: FxHashMap<Id, Rc<Later>>,
    /// Where values lie that pass through the variables of these pointers.
    pub(crate) passed: FxHashMap<Id, Var>,
    /// Values that stand for variables of the program.
    pub(crate) borrows: Vec<crate::ahead::Borrow>,
}

impl Cx<'_> {
    /// A variable for a value that [`Cx::own_long`] is told of.
    pub(crate) fn long_var(&mut self, leaf: ir::Type, n: u32) -> Res<Var> {
        let fits = |var: &Var| self.func.var(*var).ty == leaf && self.func.var(*var).count == n;
        match self.long.free.iter().position(fits) {
            Some(i) => Ok(self.long.free.swap_remove(i)),
            None => {
                let var = self.scratch_var(leaf, n)?;
                self.long.made.insert(var);
                Ok(var)
            }
        }
    }

    /// A variable for the result of the current instruction: the one that it is stored to, if it may be made there.
    pub(crate) fn result_var(&mut self, leaf: ir::Type, n: u32, reads_in_step: bool) -> Res<Var> {
        match self.destination(leaf, n, reads_in_step) {
            Some(var) => Ok(var),
            None => self.long_var(leaf, n),
        }
    }

    /// Gives back a variable of [`Cx::long_var`] whose value nobody looks at again.
    pub(crate) fn free_long(&mut self, var: Var) {
        if self.long.made.contains(&var) {
            self.long.free.push(var);
        }
    }

    /// Notes that a variable holds nothing but the value of this id.
    pub(crate) fn own_long(&mut self, id: Id, val: &Val) {
        if let Val::Long(var) = val
            && self.long.made.contains(var)
        {
            self.long.owners.insert(*var, id);
        }
    }

    /// Counts the uses of all ids, once.
    pub(crate) fn count_uses(&mut self) {
        let spv = self.spv;
        self.long.uses.get_or_insert_with(|| {
            let mut uses = FxHashMap::default();
            let code = spv.insts.iter().skip_while(|i| i.op != Op::Function);
            for &word in code.filter(|i| i.op != Op::Line).flat_map(|i| i.args) {
                *uses.entry(word).or_default() += 1;
            }
            uses
        });
    }

    /// How often the result of an instruction is mentioned as an operand, or more, once uses are counted.
    pub(crate) fn uses_of(&self, id: Id) -> u32 {
        let uses = self.long.uses.as_ref().map(|uses| uses.get(&id).copied().unwrap_or(0));
        uses.unwrap_or(u32::MAX)
    }

    /// Behind an instruction: frees the variables of operands that are used by nothing else, if they are of the same
    /// block. Whatever takes over a value as it is, is a use of another kind, and does not come here.
    pub(crate) fn release_long(&mut self, inst: &Inst<'_>) {
        self.count_uses();
        let here = self.stack.last().map(|i| (i.node, i.serial));
        for id in inst.args {
            if self.uses_of(*id) != 1 {
                continue;
            }
            let Some(slot) = self.slots.get(id) else { continue };
            let Val::Long(var) = slot.val else { continue };
            if slot.node.map(|node| (node, slot.serial)) == here && self.long.owners.get(&var) == Some(id) {
                self.long.owners.remove(&var);
                self.long.free.push(var);
            }
        }
    }

    /// The component type and the length, if this is a vector type whose values lie in variables.
    pub(crate) fn long(&self, ty: Ty) -> Option<(Ty, u32)> {
        match *self.types().kind(ty) {
            Kind::Vector { elem, n } if n > MAX_LISTED => Some((elem, n)),
            _ => None,
        }
    }

    fn component_type(&self, elem: Ty) -> Res<ir::Type> {
        self.types().leaf(elem).ok_or_else(|| bug("a vector of no scalars"))
    }

    fn source(&mut self, ty: Ty, val: &Val) -> Res<Source> {
        let (elem, n) = self.long(ty).ok_or_else(|| bug("no long vector"))?;
        let parts = match val {
            Val::Long(var) => return Ok(Source::Var(*var)),
            Val::Zero => return Ok(Source::Same(self.types().zero(elem))),
            Val::Many(parts) if parts.len() == n as usize => parts.clone(),
            _ => return Err(bug("a long vector of another length")),
        };
        if let Some(same) = repeated(&parts) {
            return Ok(Source::Same(same));
        }
        let leaf = self.component_type(elem)?;
        let bits: Option<Vec<u64>> = parts.iter().map(constant).collect();
        if bits.is_some() {
            let var = self.func.new_var(leaf, n, "");
            self.func.vars[var.index()].table = bits;
            return Ok(Source::Var(var));
        }
        let var = self.scratch_var(leaf, n)?;
        for (i, part) in parts.iter().enumerate() {
            let (i, v) = (self.i32(i as i32), self.leaf_value(leaf, part)?);
            self.b().var_store(var, Some(i), v);
        }
        Ok(Source::Var(var))
    }

    fn component(&mut self, source: &Source, leaf: ir::Type, i: Value) -> Res<Value> {
        match source {
            Source::Var(var) => Ok(self.b().var_load(*var, Some(i))),
            Source::Same(val) => self.leaf_value(leaf, val),
            Source::Later(later) => {
                let (at, spv) = (self.inst, self.spv);
                self.begin(later.at);
                let v = self.on_components(&spv.insts[later.at], later.elem, &later.vectors, i);
                self.begin(at);
                v.map_err(|fault| spv.locate(fault, later.at))
            }
        }
    }

    /// What stands for a value once it has a name: a list of components that are no constants becomes a variable.
    pub(crate) fn settled(&mut self, ty: Ty, val: Val) -> Res<Val> {
        let Val::Many(parts) = &val else { return Ok(val) };
        if self.long(ty).is_none() || parts.iter().all(|p| constant(p).is_some()) || repeated(parts).is_some()
        {
            return Ok(val);
        }
        match self.source(ty, &val)? {
            Source::Var(var) => Ok(Val::Long(var)),
            Source::Same(_) | Source::Later(_) => Ok(val),
        }
    }

    /// Constituent `i` of a composite value.
    pub(crate) fn part(&mut self, ty: Ty, val: &Val, i: u32) -> Res<Val> {
        match val {
            Val::Long(var) if self.types().count(ty).is_some_and(|n| i < n) => {
                let i = self.i32(i.cast_signed());
                Ok(Val::Ir(self.b().var_load(*var, Some(i))))
            }
            _ => self.types().part(ty, val, i),
        }
    }

    /// The component with a dynamic index.
    pub(crate) fn long_component(&mut self, ty: Ty, val: &Val, i: Value) -> Res<Value> {
        let (elem, _) = self.long(ty).ok_or_else(|| bug("no long vector"))?;
        let (source, leaf) = (self.source(ty, val)?, self.component_type(elem)?);
        self.component(&source, leaf, i)
    }

    /// The vector with one component replaced.
    pub(crate) fn long_with(&mut self, ty: Ty, val: &Val, i: Value, x: Value) -> Res<Val> {
        let (elem, n) = self.long(ty).ok_or_else(|| bug("no long vector"))?;
        let var = self.scratch_var(self.component_type(elem)?, n)?;
        self.copy_long(ty, val, var)?;
        self.b().var_store(var, Some(i), x);
        Ok(Val::Long(var))
    }

    /// Stores the components in a variable of as many elements.
    pub(crate) fn copy_long(&mut self, ty: Ty, val: &Val, to: Var) -> Res<()> {
        let (elem, n) = self.long(ty).ok_or_else(|| bug("no long vector"))?;
        let (source, leaf) = (self.source(ty, val)?, self.component_type(elem)?);
        self.count_up(0, n, 1, |cx, i| {
            let v = cx.component(&source, leaf, i)?;
            cx.b().var_store(to, Some(i), v);
            Ok(())
        })
    }

    /// The variable that a pointer is to the whole of.
    pub(crate) fn whole(&self, p: &LocalPtr, leaf: ir::Type, n: u32) -> Option<Var> {
        let &var = p.var.pieces.get(p.piece as usize)?;
        let info = self.func.var(var);
        let is_whole = p.index == Index::ZERO && p.component.is_none() && (info.ty, info.count) == (leaf, n);
        (is_whole && !p.var.is_table).then_some(var)
    }

    fn component_at(&mut self, p: &Pointer, ty: Ty, i: Value) -> Res<Pointer> {
        let i = Index { base: Some(i), offset: 0 };
        match p {
            Pointer::Memory(p) => self.memory_element(p.clone(), ty, i).map(Pointer::Memory),
            Pointer::Local(p) => self.local_element(p.clone(), i).map(Pointer::Local),
            _ => Err(operand("a pointer to a long vector that is in no memory")),
        }
    }

    pub(crate) fn load_long(&mut self, p: &Pointer, ty: Ty, flags: MemFlags) -> Res<Val> {
        let (elem, n) = self.long(ty).ok_or_else(|| bug("no long vector"))?;
        let leaf = self.component_type(elem)?;
        // Other instructions load it as a part of something.
        let inst = self.spv.insts[self.inst];
        let is_result = matches!(inst.op, Op::Load | Op::CooperativeVectorLoadNV) && inst.ty == ty.id();
        if is_result && let Some(var) = inst.args.first().and_then(|id| self.long.passed.remove(id)) {
            return Ok(Val::Long(var));
        }
        if let Pointer::Local(p) = p
            && let Some(var) = self.whole(p, leaf, n)
            && is_result
            && self.borrows(var)
        {
            return Ok(Val::Long(var));
        }
        let var = if is_result { self.result_var(leaf, n, false)? } else { self.long_var(leaf, n)? };
        self.count_up(0, n, 1, |cx, i| {
            let at = cx.component_at(p, ty, i)?;
            let val = cx.load(&at, elem, flags)?;
            let v = cx.leaf_value(leaf, &val)?;
            cx.b().var_store(var, Some(i), v);
            Ok(())
        })?;
        Ok(Val::Long(var))
    }

    pub(crate) fn store_long(&mut self, p: &Pointer, ty: Ty, val: &Val, flags: MemFlags) -> Res<()> {
        let (elem, n) = self.long(ty).ok_or_else(|| bug("no long vector"))?;
        let (source, leaf) = (self.source(ty, val)?, self.component_type(elem)?);
        let inst = self.spv.insts[self.inst];
        if inst.op == Op::Store && inst.args.first().is_some_and(|&id| self.is_passed(id, val)) {
            return Ok(());
        }
        if let (Source::Var(var), Pointer::Local(p)) = (&source, p)
            && self.whole(p, leaf, n) == Some(*var)
        {
            return Ok(());
        }
        self.count_up(0, n, 1, |cx, i| {
            let at = cx.component_at(p, ty, i)?;
            let v = cx.component(&source, leaf, i)?;
            cx.store(&at, elem, &Val::Ir(v), flags)
        })
    }

    /// Translates an instruction on long vectors by a loop; false if it is not one that can be.
    pub(crate) fn long_operation(&mut self, inst: &Inst<'_>) -> Res<bool> {
        let Ok(result) = self.types().lookup(inst.ty) else { return Ok(false) };
        match (self.long(result), fold(inst.op)) {
            (Some((elem, n)), _) if is_componentwise(self, inst) => {
                let vectors = self.vectors(inst, Some(n))?;
                let leaf = self.component_type(elem)?;
                if self.put_off(inst, elem, &vectors) {
                    self.define(inst, Val::Zero)?;
                    return Ok(true);
                }
                let var = self.result_var(leaf, n, true)?;
                self.count_up(0, n, 1, |cx, i| {
                    let v = cx.on_components(inst, elem, &vectors, i)?;
                    cx.expect(inst.id, v, leaf)?;
                    cx.b().var_store(var, Some(i), v);
                    Ok(())
                })?;
                self.own_long(inst.id, &Val::Long(var));
                self.define(inst, Val::Long(var))?;
                self.release_all(inst, &vectors);
                Ok(true)
            }
            (None, Some(op)) if self.types().leaf(result).is_some_and(is_summed) => {
                let vectors = self.vectors(inst, None)?;
                let Some(n) = vectors.first().map(|v| v.n) else { return Ok(false) };
                let first = self.i32(0);
                let first = self.on_components(inst, result, &vectors, first)?;
                let sum = self.func.new_var(self.func.ty(first), 1, "");
                self.b().var_store(sum, None, first);
                self.count_up(1, n, 1, |cx, i| {
                    let term = cx.on_components(inst, result, &vectors, i)?;
                    let before = cx.b().var_load(sum, None);
                    let after = cx.b().binary(op, before, term);
                    cx.b().var_store(sum, None, after);
                    Ok(())
                })?;
                let v = self.b().var_load(sum, None);
                self.define_values(inst, &[v])?;
                self.release_all(inst, &vectors);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Puts an instruction off, if its result is for one other only.
    fn put_off(&mut self, inst: &Inst<'_>, elem: Ty, vectors: &[Vector]) -> bool {
        self.count_uses();
        let depth_of = |v: &Vector| if let Source::Later(later) = &v.source { later.depth } else { 0 };
        let depth = 1 + vectors.iter().map(depth_of).max().unwrap_or(0);
        let is_put_off = depth <= MAX_LATER && self.joins(self.inst).is_some();
        if is_put_off {
            let later = Later { at: self.inst, elem, vectors: vectors.to_vec(), depth };
            self.long.later.insert(inst.id, Rc::new(later));
        }
        is_put_off
    }

    /// Frees what an instruction and those that were put off for it used.
    fn release_all(&mut self, inst: &Inst<'_>, vectors: &[Vector]) {
        self.release_long(inst);
        for v in vectors {
            if let Source::Later(later) = &v.source {
                self.release_all(&self.spv.insts[later.at], &later.vectors);
            }
        }
    }

    /// The operands that are long vectors, all of one length.
    fn vectors(&mut self, inst: &Inst<'_>, wanted: Option<u32>) -> Res<Vec<Vector>> {
        let mut out: Vec<Vector> = Vec::new();
        let mut wanted = wanted;
        for &id in opcode::values(inst) {
            let Ok(ty) = self.ty_of(id) else { continue };
            let Some((elem, n)) = self.long(ty) else { continue };
            if *wanted.get_or_insert(n) != n {
                let m = format!("operand %{id} has {n} components, expected {}", wanted.unwrap_or(n));
                return Err(operand(m));
            }
            if out.iter().all(|v| v.id != id) {
                let source = match self.long.later.remove(&id) {
                    Some(later) => Source::Later(later),
                    None => {
                        let (_, val) = self.val(id)?;
                        self.source(ty, &val)?
                    }
                };
                out.push(Vector { id, elem, n, source });
            }
        }
        Ok(out)
    }

    /// The result of an instruction on component `i` of its vectors, where each has its component's name for it.
    fn on_components(&mut self, inst: &Inst<'_>, elem: Ty, vectors: &[Vector], i: Value) -> Res<Value> {
        let mut kept = Vec::with_capacity(vectors.len());
        for v in vectors {
            let leaf = self.component_type(v.elem)?;
            let component = self.component(&v.source, leaf, i)?;
            let before = self.slots.remove(&v.id);
            self.bind_everywhere(v.id, v.elem, Val::Ir(component));
            kept.push((v.id, before));
        }
        let done = self.operation(&Inst { ty: elem.id(), ..*inst });
        let result = done.and_then(|()| self.value(inst.id));
        self.slots.remove(&inst.id);
        for (id, before) in kept {
            let _: Option<Slot> = match before {
                Some(slot) => self.slots.insert(id, slot),
                None => self.slots.remove(&id),
            };
        }
        result
    }
}

/// An operand that is a long vector.
#[derive(Clone, Debug)]
struct Vector {
    id: Id,
    elem: Ty,
    n: u32,
    source: Source,
}

fn constant(val: &Val) -> Option<u64> {
    match val {
        Val::Const(ir::Type::Scalar(_), bits) => Some(*bits),
        _ => None,
    }
}

/// The component that all are.
fn repeated(parts: &[Val]) -> Option<Val> {
    let first = parts.first()?;
    let is_first = |val: &Val| match (first, val) {
        (Val::Const(a, x), Val::Const(b, y)) => (a, x) == (b, y),
        (Val::Ir(x), Val::Ir(y)) => x == y,
        _ => false,
    };
    parts.iter().all(is_first).then(|| first.clone())
}

/// What joins the results on the components of an instruction that gives a scalar.
pub(crate) fn fold(op: Op) -> Option<BinaryOp> {
    match op {
        Op::Dot => Some(BinaryOp::Fadd),
        Op::Any => Some(BinaryOp::Or),
        Op::All => Some(BinaryOp::And),
        _ => None,
    }
}

/// Whether sums may be rounded after each term, which those of bfloat16 may not.
fn is_summed(ty: ir::Type) -> bool {
    ty.scalar().is_some_and(|s| s.is_arithmetic_float() || s == ir::Scalar::Bool)
}

/// Whether an instruction is done with the vectors that it takes when its code ends; others may keep one as a part of
/// their result, or as it is.
pub(crate) fn is_taken_apart(cx: &Cx<'_>, inst: &Inst<'_>) -> bool {
    let is_other = matches!(
        inst.op,
        Op::Store
            | Op::CompositeExtract
            | Op::VectorExtractDynamic
            | Op::CooperativeVectorStoreNV
            | Op::CooperativeVectorMatrixMulNV
            | Op::CooperativeVectorMatrixMulAddNV
            | Op::CooperativeVectorOuterProductAccumulateNV
            | Op::CooperativeVectorReduceSumAccumulateNV
    );
    is_other || is_componentwise(cx, inst) || fold(inst.op).is_some()
}

/// Whether an instruction that gives a vector does the same to each component.
pub(crate) fn is_componentwise(cx: &Cx<'_>, inst: &Inst<'_>) -> bool {
    let lanes = |ty: Res<Ty>| ty.ok().and_then(|ty| cx.types().lanes(ty));
    // Other bit casts join components, or take them apart.
    let is_as_many = || inst.args.first().is_some_and(|&id| lanes(cx.ty_of(id)) == lanes(cx.result_ty(inst)));
    opcode::facts(cx.spv, inst).is_componentwise() && (inst.op != Op::Bitcast || is_as_many())
}

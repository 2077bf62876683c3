//! Takes operations apart that a target does not do whole: maps, reductions, transposes, accesses through
//! tensor layouts. Those of one scope; others stay. Of work-group scope also changes of use, for targets where
//! each use is spread over the subgroups in a way of its own.
//!
//! A matrix is written to memory of the subgroup, in whatever order suits; each invocation works on
//! elements there, with its region inlined, and the result is read back:
//!
//! ```text
//!                                             mat_store %scratch, %m, %stride
//! %r: mat<…> = mat_map %m {                   loop @next {
//!   %row, %col, %x = params          →          %e = iadd %i, %lane
//!   %y: f32 = fmul %x, %two                     %x = load (ptr_add<scale=4> %scratch, %e)
//!   yield %y                                    %y: f32 = fmul %x, %two
//! }                                             store (ptr_add<scale=4> %scratch, %e), %y  …
//!                                             }
//!                                             %r: mat<…> = mat_load %scratch, %stride
//! ```
//!
//! So a target needs nothing for them but loads and stores, of matrices and of scalars; those of
//! consecutive invocations are consecutive in memory. The memory is shared memory, behind the
//! module's own: a part for each subgroup, or one for the work-group, which all operations use again.

mod blocks;
mod element;
mod lanes;
mod reduce;
mod tensor;

#[cfg(test)]
mod tests;

use super::{Options, PassBug, gate, opt_dce, walk};
use crate::builder::Builder;
use crate::entities::{Block, Inst, Label, Value, Var};
use crate::module::{Function, InstInfo, Module};
use crate::op::{Barrier, BinaryOp, Builtin, CompareOp, MemFlags, Op};
use crate::types::{MatType, Scalar, Scope, Space, Type};
use crate::verify::{MAX_SHARED_BYTES, Verified};
use smallvec::SmallVec;

/// Alignment of areas in scratch memory.
const ALIGN: u64 = 64;

/// Where scratch memory lies in shared memory.
#[derive(Clone, Copy, Debug)]
pub struct Scratch {
    /// The first byte that may be taken.
    pub start: u32,
    /// Subgroups that execute the module: the first ones of the work-group.
    pub subgroups: u32,
    /// The scope of the matrices.
    pub scope: Scope,
    /// Whether invocations go their own ways: then they wait before the memory is used again.
    pub is_free: bool,
    /// Whether accesses through tensor layouts become maps, whose regions read or write an element. Those that decode do
    /// only if they would take much of the memory, because consecutive elements share a block.
    pub in_maps: bool,
    /// Whether those that decode become maps, too, however small.
    pub decodes_in_maps: bool,
    /// Whether those that decode become maps where the invocations take runs of a row, if the target does such maps
    /// whole, component by component.
    pub decodes_in_components: bool,
}

impl Scratch {
    /// Behind the module's own shared memory, for the matrices of all subgroups.
    pub fn of(module: &Module) -> Self {
        let (start, subgroups) = (module.shared_bytes, module.num_subgroups());
        Self {
            start,
            subgroups,
            scope: Scope::Subgroup,
            is_free: false,
            in_maps: false,
            decodes_in_maps: false,
            decodes_in_components: false,
        }
    }

    /// Behind the module's own shared memory, for the matrices of the work-group.
    pub fn of_workgroup(module: &Module) -> Self {
        Self { scope: Scope::Workgroup, subgroups: 1, is_free: true, ..Self::of(module) }
    }
}

/// Expands a module; `None` if there is nothing to expand, or too little shared memory for it.
///
/// # Errors
///
/// A bug in a pass.
pub fn expand(module: &Verified, scratch: Scratch, options: &Options) -> Result<Option<Verified>, PassBug> {
    expand_but(&|_, _| false, module, scratch, options)
}

/// Says of an instruction of a function whether a target does it whole.
pub type IsWhole<'a> = dyn Fn(&Function, &InstInfo) -> bool + 'a;

/// As [`expand`], but leaves alone what a target does whole.
///
/// # Errors
///
/// A bug in a pass.
pub fn expand_but(
    is_whole: &IsWhole<'_>,
    module: &Verified,
    scratch: Scratch,
    options: &Options,
) -> Result<Option<Verified>, PassBug> {
    let body = &module.body;
    let mut expanded = vec![false; body.insts.len()];
    for (expanded, info) in expanded.iter_mut().zip(&body.insts) {
        *expanded = is_expanded(body, info, scratch.scope) && !is_whole(body, info);
    }
    if !expanded.contains(&true) {
        return Ok(None);
    }
    let Some(mut module) = Expand::new(module, is_whole, &expanded, scratch).run() else { return Ok(None) };
    module = gate("expand", module)?.into_inner();
    if let Some(observe) = options.observe {
        observe("expand", &module);
    }
    module.body = opt_dce::run(&walk::simplify(&module.body));
    module.body = super::compact(&module.body);
    gate("simplify", module).map(Some)
}

/// Whether an instruction is taken apart.
fn is_expanded(func: &Function, info: &InstInfo, scope: Scope) -> bool {
    let is_whole = matches!(
        info.op,
        Op::MatTranspose
            | Op::MatRotate
            | Op::MatFromLanes { .. }
            | Op::MatToLanes { .. }
            | Op::MatMap { .. }
            | Op::MatReduce { .. }
            | Op::MatLoadTensor { .. }
            | Op::MatStoreTensor(_)
    );
    // All matrices of an operation have one scope.
    let mut mats =
        info.args.iter().chain(&info.results).filter_map(|&v| func.values.get(v.index())?.ty.mat());
    let changes_use = scope == Scope::Workgroup && is_change_of_use(func, info);
    (is_whole || changes_use) && mats.next().is_some_and(|m| m.scope == scope)
}

fn is_change_of_use(func: &Function, info: &InstInfo) -> bool {
    let use_of = |v: Option<&Value>| func.ty(*v?).mat().map(|m| m.use_);
    matches!(info.op, Op::Bitcast | Op::Convert(_))
        && use_of(info.args.first()) != use_of(info.results.first())
}

/// A part of the scratch memory: elements of a matrix one after the other.
#[derive(Clone, Copy, Debug)]
struct Area {
    at: Value,
    elem: Scalar,
}

struct Expand<'m> {
    old: &'m Function,
    module: &'m Module,
    is_whole: &'m IsWhole<'m>,
    /// Whether each of the old instructions is taken apart.
    expanded: &'m [bool],
    place: Scratch,
    new: Function,
    values: Vec<Value>,
    labels: Vec<Label>,
    /// The block that is appended to.
    at: Block,
    loc: u32,
    exact: bool,
    /// The scope's scratch memory, the invocation's number and how many there are.
    scratch: Value,
    lane: Value,
    lanes: Value,
    /// Bytes of scratch memory that the operation at hand uses, and the most that one did.
    used: u64,
    most: u64,
}

impl<'m> Expand<'m> {
    fn new(module: &'m Module, is_whole: &'m IsWhole<'m>, expanded: &'m [bool], place: Scratch) -> Self {
        let old = &module.body;
        let mut new = Function { vars: old.vars.clone(), ..Function::default() };
        let at = new.new_block();
        let nothing = Value::new(0);
        Self {
            old,
            module,
            is_whole,
            expanded,
            place,
            new,
            values: (0..old.values.len()).map(Value::new).collect(),
            labels: (0..old.labels as usize).map(Label::new).collect(),
            at,
            loc: 0,
            exact: false,
            scratch: nothing,
            lane: nothing,
            lanes: nothing,
            used: 0,
            most: 0,
        }
    }

    fn run(mut self) -> Option<Module> {
        let scratch = self.place;
        let is_group = scratch.scope == Scope::Workgroup;
        let offset = u64::from(scratch.start.max(self.module.shared_bytes)).next_multiple_of(ALIGN);
        let mut b = self.b();
        let id = b.value(Op::Builtin(Builtin::SubgroupId), &[], Type::I32);
        // The size is known at the end. It is that of one subgroup's memory, so that targets see that no
        // access leaves it.
        let part = if scratch.subgroups > 1 { &[id][..] } else { &[] };
        let shared = b.push(Op::SharedPtr { offset: 0, bytes: 0 }, part, &[Type::Ptr(Space::Shared)]);
        self.scratch = self.new.inst(shared).results[0];
        let own = if is_group { Builtin::LocalInvocationIndex } else { Builtin::SubgroupLane };
        self.lane = self.b().value(Op::Builtin(own), &[], Type::I32);
        self.lanes = match is_group {
            true => self.int(self.module.workgroup_invocations()),
            false => self.count_lanes(id),
        };
        self.block(Function::ENTRY);
        let total = self.most.checked_mul(scratch.subgroups.into())?;
        let end = offset.checked_add(total).filter(|&end| end <= MAX_SHARED_BYTES.into())?;
        self.new.insts[shared.index()].op = Op::SharedPtr { offset: offset as u32, bytes: self.most as u32 };
        Some(Module { shared_bytes: end as u32, body: self.new, ..self.module.clone() })
    }

    /// Invocations of this subgroup; the last one may be partly filled.
    fn count_lanes(&mut self, id: Value) -> Value {
        let (size, all) = (self.module.subgroup_size, self.module.workgroup_invocations());
        let full = self.int(size);
        if all.is_multiple_of(size) {
            return full;
        }
        let (last, rest) = (self.int(self.module.num_subgroups() - 1), self.int(all % size));
        let is_last = self.b().compare(CompareOp::Ieq, id, last);
        self.b().select(is_last, rest, full)
    }

    // ── copying ──

    fn b(&mut self) -> Builder<'_> {
        Builder { func: &mut self.new, block: self.at, loc: self.loc, exact: self.exact }
    }

    fn block(&mut self, block: Block) {
        let old = self.old;
        for &inst in old.block(block) {
            self.inst(inst);
        }
    }

    fn inst(&mut self, inst: Inst) {
        let info = self.old.inst(inst);
        (self.loc, self.exact) = (info.loc, false);
        if !self.expanded[inst.index()] {
            return self.copy(info);
        }
        self.used = 0;
        match info.op {
            Op::MatTranspose => self.transpose(info),
            Op::MatRotate => self.rotate(info),
            Op::MatFromLanes { columns } => self.mat_from_lanes(info, columns),
            Op::MatToLanes { columns } => self.mat_to_lanes(info, columns),
            Op::MatMap { body } => self.map(info, body),
            Op::MatReduce { kind, body } => self.reduce(info, kind, body),
            Op::MatLoadTensor { access, decode } => self.load_tensor(info, &access, decode),
            Op::MatStoreTensor(access) => self.store_tensor(info, access),
            Op::Bitcast | Op::Convert(_) => self.change_use(info),
            _ => {}
        }
        self.most = self.most.max(self.used);
    }

    fn copy(&mut self, info: &InstInfo) {
        let mut op = info.op.clone();
        match &mut op {
            Op::Block { label, .. } | Op::Loop { label, .. } => {
                let new = self.new.new_label();
                self.labels[label.index()] = new;
                *label = new;
            }
            Op::Br(label) => *label = self.labels[label.index()],
            _ => {}
        }
        op.replace_bodies(|| self.new.new_block());
        let args: SmallVec<[Value; 4]> = info.args.iter().map(|&v| self.value(v)).collect();
        let types: SmallVec<[Type; 4]> = info.results.iter().map(|&v| self.old.ty(v)).collect();
        self.exact = info.exact;
        let new = self.b().push(op.clone(), &args, &types);
        for (from, &to) in info.results.iter().zip(&self.new.inst(new).results) {
            self.values[from.index()] = to;
        }
        for (from, to) in info.op.bodies().zip(op.bodies()) {
            self.within(to, |this| this.block(from));
        }
    }

    /// The new value of an old one.
    fn value(&self, v: Value) -> Value {
        self.values[v.index()]
    }

    fn arg(&self, info: &InstInfo, i: usize) -> Value {
        self.value(info.args[i])
    }

    /// Appends a region's code, with these values for its parameters; gives its result.
    fn inline(&mut self, body: Block, params: &[Value]) -> Value {
        let (old, loc) = (self.old, self.loc);
        let mut result = None;
        for &inst in old.block(body) {
            let info = old.inst(inst);
            self.loc = info.loc;
            match info.op {
                Op::Params => {
                    for (from, &to) in info.results.iter().zip(params) {
                        self.values[from.index()] = to;
                    }
                }
                Op::Yield => result = info.args.first().map(|&v| self.value(v)),
                _ => self.copy(info),
            }
        }
        (self.loc, self.exact) = (loc, false);
        result.unwrap_or(self.lane)
    }

    fn within(&mut self, block: Block, fill: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.at, block);
        fill(self);
        self.at = outer;
    }

    // ── building ──

    fn int(&mut self, x: u32) -> Value {
        self.b().i32(x.cast_signed())
    }

    /// The bits of a new value that is a constant.
    fn known(&self, v: Value) -> Option<u32> {
        self.new.const_bits(v).map(|bits| bits as u32)
    }

    fn binary(&mut self, op: BinaryOp, x: Value, y: Value) -> Value {
        match (op, self.known(y)) {
            (BinaryOp::Imul | BinaryOp::Udiv, Some(1)) | (BinaryOp::Iadd | BinaryOp::Isub, Some(0)) => x,
            _ => self.b().binary(op, x, y),
        }
    }

    fn both(&mut self, x: Option<Value>, y: Option<Value>) -> Option<Value> {
        match (x, y) {
            (Some(x), Some(y)) => Some(self.b().binary(BinaryOp::And, x, y)),
            (x, y) => x.or(y),
        }
    }

    /// Appends code that is executed where a condition holds, or always without one.
    fn when(&mut self, cond: Option<Value>, fill: impl FnOnce(&mut Self)) {
        self.choose(cond, fill, |_| ());
    }

    fn choose(
        &mut self,
        cond: Option<Value>,
        then: impl FnOnce(&mut Self),
        otherwise: impl FnOnce(&mut Self),
    ) {
        let Some(cond) = cond else { return then(self) };
        let (t, o) = (self.new.new_block(), self.new.new_block());
        self.b().effect(Op::If { then: t, otherwise: o }, &[cond]);
        self.within(t, then);
        self.within(o, otherwise);
    }

    fn var(&mut self, ty: impl Into<Type>) -> Var {
        self.new.new_var(ty.into(), 1, "")
    }

    /// Executes code with `first`, `first + step`, … below `end`.
    fn count(&mut self, first: u32, end: u32, step: Value, body: impl FnOnce(&mut Self, Value)) {
        let start = self.int(first);
        if self.known(step).is_some_and(|step| first.saturating_add(step) >= end) {
            return if first < end {
                body(self, start)
            };
        }
        let end = self.int(end);
        self.count_to(start, end, step, body);
    }

    /// Executes code with `first`, which is below `end`, `first + step`, … below it.
    fn count_to(&mut self, first: Value, end: Value, step: Value, body: impl FnOnce(&mut Self, Value)) {
        let counter = self.var(Scalar::I32);
        self.b().var_store(counter, None, first);
        let (label, inner) = (self.new.new_label(), self.new.new_block());
        self.b().effect(Op::Loop { label, body: inner }, &[]);
        self.within(inner, |this| {
            let i = this.b().var_load(counter, None);
            body(this, i);
            let i = this.b().var_load(counter, None);
            let next = this.b().binary(BinaryOp::Iadd, i, step);
            this.b().var_store(counter, None, next);
            let more = this.b().compare(CompareOp::Ult, next, end);
            this.when(Some(more), |this| this.b().br(label));
        });
    }

    /// Shares out the numbers below `count` among the invocations.
    fn share(&mut self, count: u32, body: impl FnOnce(&mut Self, Value)) {
        let (lane, lanes) = (self.lane, self.lanes);
        let is_even = self.known(lanes).is_some_and(|lanes| count.is_multiple_of(lanes));
        self.count(0, count, lanes, |this, first| {
            let i = match this.known(first) {
                Some(0) => lane,
                _ => this.b().binary(BinaryOp::Iadd, first, lane),
            };
            let end = this.int(count);
            let is_inside = (!is_even).then(|| this.b().compare(CompareOp::Ult, i, end));
            this.when(is_inside, |this| body(this, i));
        });
    }

    // ── scratch memory ──

    /// A new area for this many elements.
    fn area(&mut self, elem: Scalar, count: u64) -> Area {
        if self.place.is_free && self.used == 0 {
            // What was there before has been read.
            self.settle();
        }
        let (start, disp) = (self.scratch, self.used as i64);
        let at = self.b().ptr_add(start, None, 0, disp);
        self.used = (self.used + count * u64::from(elem.bytes())).next_multiple_of(ALIGN);
        Area { at, elem }
    }

    fn place(&mut self, area: Area, index: Value) -> Value {
        self.b().ptr_add(area.at, Some(index), area.elem.bytes().into(), 0)
    }

    fn read(&mut self, area: Area, index: Value) -> Value {
        let at = self.place(area, index);
        self.b().value(Op::Load(MemFlags::default()), &[at], area.elem.into())
    }

    fn write(&mut self, area: Area, index: Value, x: Value) {
        let at = self.place(area, index);
        self.b().effect(Op::Store(MemFlags::default()), &[at, x]);
    }

    /// What invocations wrote is seen by the others behind this.
    fn settle(&mut self) {
        let (execution, memory) = (self.place.scope, self.place.scope);
        self.b().effect(Op::Barrier(Barrier { execution, memory }), &[]);
    }

    /// Writes a matrix to an area of its own, by rows or by columns.
    fn spill(&mut self, matrix: Value, m: MatType, column_major: bool) -> Area {
        let area = self.area(m.elem, m.len());
        let side = if column_major { m.rows } else { m.cols };
        let stride = self.b().i64(i64::from(side) * i64::from(m.elem.bytes()));
        let op = Op::MatStore { column_major, flags: MemFlags::default() };
        self.b().effect(op, &[area.at, matrix, stride]);
        area
    }

    /// The result of an instruction, read from an area by rows.
    fn fill(&mut self, info: &InstInfo, m: MatType, area: Area) {
        let stride = i64::from(m.cols) * i64::from(m.elem.bytes());
        self.fill_strided(info, m, area, stride, false);
    }

    fn fill_strided(&mut self, info: &InstInfo, m: MatType, area: Area, stride: i64, column_major: bool) {
        let stride = self.b().i64(stride);
        let op = Op::MatLoad { column_major, flags: MemFlags::default() };
        let result = self.b().value(op, &[area.at, stride], m.into());
        self.values[info.results[0].index()] = result;
    }

    /// The type of a matrix that the verifier has seen.
    fn mat(&self, v: Value) -> MatType {
        let none = MatType {
            elem: Scalar::I32,
            scope: Scope::Subgroup,
            rows: 1,
            cols: 1,
            use_: crate::types::Use::Any,
        };
        self.old.ty(v).mat().unwrap_or(none)
    }
}

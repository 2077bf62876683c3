//! Spreads the components of matrices of work-group scope over all invocations, for targets where the first
//! subgroup holds such matrices (see [`split`](super::split)).
//!
//! Where a program looks at components, the matrix lies in shared memory for a while, behind the module's own:
//!
//! ```text
//!                                             mat_store %shared, %m, %stride
//!                                             barrier<workgroup, workgroup>
//! loop @next {                                loop @next {
//!   …                                           …
//!   %x = var_component_load<$m> %0, %i   →      %x = load (ptr_add<scale=4> %shared, %i * invocations + %own)
//!   var_component_store<$m> %0, %i, %y          store (ptr_add<scale=4> %shared, …), %y
//!   …                                           …
//! }                                           }
//!                                             barrier<workgroup, workgroup>
//!                                             %n = mat_load %shared, %stride
//!                                             var_store<$m> %0, %n
//! ```
//!
//! A matrix made of one scalar that invocations do not have alike (`mat_splat`, `mat_scale`) has it component by
//! component, too.
//!
//! Barriers need all invocations. They come together wherever there is an operation on a whole matrix of the
//! work-group, so that such a region is as small as it can be without one: a row of instructions, of which none
//! branches out of it. Where there is no such region, it takes in the construct around it; then operations on the
//! whole variable inside have a barrier before and behind, and go to shared memory themselves.

mod regions;

#[cfg(test)]
mod tests;

use super::{Options, PassBug, gate};
use crate::builder::Builder;
use crate::entities::{Block, Inst, Value, Var};
use crate::module::{Function, InstInfo, Module};
use crate::op::{Barrier, BinaryOp, Builtin, CompareOp, MemFlags, Op};
use crate::types::{MatType, Scalar, Scope, Space, Type};
use crate::uniformity::Uniformity;
use crate::verify::{MAX_SHARED_BYTES, Verified};
use regions::Regions;

/// Alignment of matrices in shared memory.
const ALIGN: u64 = 64;

/// Why components are not spread.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpreadError {
    /// The matrices do not fit in shared memory.
    #[error("components of work-group matrices that take {0} bytes of shared memory, at most 2^28")]
    SharedMemory(u64),
    /// A bug in the pass.
    #[error(transparent)]
    Bug(#[from] PassBug),
}

/// Whether each invocation can tell by itself what components of a variable are.
pub type IsInPlace<'p> = &'p dyn Fn(&Function, Var) -> bool;

/// Spreads components; `None` if no component of a matrix of work-group scope is accessed, or all are in place.
///
/// # Errors
///
/// [`SpreadError`].
pub fn spread(module: &Verified, options: &Options) -> Result<Option<Verified>, SpreadError> {
    spread_but(&|_, _| false, module, options)
}

/// [`spread()`], which leaves loads of components of some variables as they are.
///
/// # Errors
///
/// [`SpreadError`].
pub fn spread_but(
    is_in_place: IsInPlace<'_>,
    module: &Verified,
    options: &Options,
) -> Result<Option<Verified>, SpreadError> {
    let insts =
        || module.body.insts.iter().filter(|info| module.body.concerns_matrices(info, Scope::Workgroup));
    // A work-group that is one full subgroup has its components in place.
    if module.workgroup_invocations() == module.subgroup_size || insts().next().is_none() {
        return Ok(None);
    }
    let computed = |info: &InstInfo| scalar_of(info).is_some_and(|x| module.body.const_bits(x).is_none());
    let uniformity = insts().any(computed).then(|| Uniformity::of_workgroup(module));
    let varies = |info: &InstInfo| {
        let uniformity = uniformity.as_ref().zip(scalar_of(info));
        uniformity.is_some_and(|(uniformity, x)| !uniformity.is_uniform(x))
    };
    let is_spread = |info: &InstInfo| {
        is_component(&info.op) && !info.op.var().is_some_and(|var| is_in_place(&module.body, var))
    };
    if !insts().any(|info| is_spread(info) || varies(info)) {
        return Ok(None);
    }
    let mut body = module.body.clone();
    name_values(&mut body, &varies, module.workgroup_invocations());
    let regions = Regions::find(&body, is_in_place);
    let mut spread = Spread::new(module, body, regions)?;
    spread.block(Function::ENTRY);
    let module = Module { body: spread.body, shared_bytes: spread.end, ..Module::clone(module) };
    let module = gate("spread", module)?;
    if let Some(observe) = options.observe {
        observe("spread", &module);
    }
    Ok(Some(module))
}

fn is_component(op: &Op) -> bool {
    matches!(op, Op::MatExtract | Op::MatInsert | Op::VarComponentLoad(_) | Op::VarComponentStore(_))
}

/// Whether elements of this type are matrices of work-group scope.
fn is_shared(ty: Type) -> bool {
    ty.mat().is_some_and(|m| m.scope == Scope::Workgroup)
}

/// The scalar of which an instruction makes all components of a matrix.
fn scalar_of(info: &InstInfo) -> Option<Value> {
    match info.op {
        Op::MatSplat => info.args.first().copied(),
        Op::MatScale => info.args.get(1).copied(),
        _ => None,
    }
}

/// Gives values whose components are accessed variables of their own, so that there are only accesses of variables;
/// those that consist of a varying scalar, too.
fn name_values(body: &mut Function, varies: &dyn Fn(&InstInfo) -> bool, invocations: u32) {
    let mut names = vec![None; body.values.len()];
    for block in 0..body.blocks.len() {
        let mut list = Vec::with_capacity(body.blocks[block].len());
        for inst in std::mem::take(&mut body.blocks[block]) {
            let info = body.inst(inst).clone();
            let typed = info.results.iter().chain(&info.args).map(|&v| (v, body.ty(v)));
            let Some((matrix, ty)) = typed.rev().find(|(_, ty)| is_shared(*ty)) else {
                list.push(inst);
                continue;
            };
            let mut b = Builder { block: body.new_block(), func: body, loc: info.loc, exact: false };
            match info.op {
                Op::MatExtract => {
                    let var = *names[matrix.index()].get_or_insert_with(|| b.func.new_var(ty, 1, ""));
                    let index = b.i32(0);
                    replace(b.func, inst, Op::VarComponentLoad(var), &[index, info.args[1]]);
                }
                Op::MatInsert => {
                    let var = b.func.new_var(ty, 1, "");
                    let index = b.i32(0);
                    b.var_store(var, Some(index), info.args[0]);
                    b.effect(Op::VarComponentStore(var), &[index, info.args[1], info.args[2]]);
                    replace(b.func, inst, Op::VarLoad(var), &[index]);
                }
                Op::MatSplat if varies(&info) => {
                    let (var, index) = fill(&mut b, ty, info.args[0], invocations);
                    replace(b.func, inst, Op::VarLoad(var), &[index]);
                }
                Op::MatScale if varies(&info) => {
                    let (var, index) = fill(&mut b, ty, info.args[1], invocations);
                    let factors = b.var_load(var, Some(index));
                    let is_int = ty.elem().is_some_and(Scalar::is_int);
                    let times = if is_int { BinaryOp::Imul } else { BinaryOp::Fmul };
                    replace(b.func, inst, Op::Binary(times), &[info.args[0], factors]);
                }
                _ => {}
            }
            let new = b.block.index();
            list.append(&mut body.blocks[new]);
            list.push(inst);
        }
        body.blocks[block] = list;
    }
    store_names(body, &names);
}

/// Appends code that stores a scalar in all components of a new variable; gives that and its index.
fn fill(b: &mut Builder<'_>, ty: Type, x: Value, invocations: u32) -> (Var, Value) {
    let (var, counter) = (b.func.new_var(ty, 1, ""), b.func.new_var(Type::I32, 1, ""));
    let (zero, one) = (b.i32(0), b.i32(1));
    let length = b.i32(ty.mat().map_or(0, |m| m.components(invocations)).cast_signed());
    b.var_store(counter, None, zero);
    b.repeated(|b, again| {
        let component = b.var_load(counter, None);
        b.effect(Op::VarComponentStore(var), &[zero, component, x]);
        let next = b.binary(BinaryOp::Iadd, component, one);
        b.var_store(counter, None, next);
        let more = b.compare(CompareOp::Ult, next, length);
        b.if_else(more, |b| b.br(again), |_| ());
    });
    (var, zero)
}

/// Stores values in their variables where they are defined.
fn store_names(body: &mut Function, names: &[Option<Var>]) {
    for block in 0..body.blocks.len() {
        let mut list = Vec::with_capacity(body.blocks[block].len());
        for inst in std::mem::take(&mut body.blocks[block]) {
            list.push(inst);
            let info = body.inst(inst);
            let (loc, results) = (info.loc, info.results.clone());
            for value in results {
                let Some(&Some(var)) = names.get(value.index()) else { continue };
                let index = body.new_inst(Op::Const(0), &[], &[Type::I32], loc);
                let zero = body.inst(index).results[0];
                list.extend([index, body.new_inst(Op::VarStore(var), &[zero, value], &[], loc)]);
            }
        }
        body.blocks[block] = list;
    }
}

/// Lets an instruction do something else for its results.
fn replace(body: &mut Function, inst: Inst, op: Op, args: &[Value]) {
    let info = &mut body.insts[inst.index()];
    (info.op, info.args) = (op, args.iter().copied().collect());
}

/// Where a variable's matrices lie in shared memory.
#[derive(Clone, Copy, Debug)]
struct Home {
    m: MatType,
    count: u32,
    pointer: Value,
}

/// Bytes of a matrix there.
fn bytes(m: MatType) -> u64 {
    m.len() * u64::from(m.elem.bytes())
}

struct Spread {
    body: Function,
    regions: Regions,
    /// For each variable whose components are accessed.
    homes: Vec<Option<Home>>,
    /// The local index of an invocation, how many there are, and whether there is one subgroup alone.
    own: Value,
    invocations: u32,
    is_alone: bool,
    /// Where shared memory ends.
    end: u32,
    /// The block that is appended to.
    at: Block,
    loc: u32,
}

impl Spread {
    fn new(module: &Module, body: Function, regions: Regions) -> Result<Self, SpreadError> {
        let mut this = Self {
            homes: vec![None; body.vars.len()],
            body,
            regions,
            own: Value::new(0),
            invocations: module.workgroup_invocations(),
            is_alone: module.num_subgroups() == 1,
            end: module.shared_bytes,
            at: Function::ENTRY,
            loc: 0,
        };
        let code = std::mem::take(&mut this.body.blocks[Function::ENTRY.index()]);
        this.own = this.b().value(Op::Builtin(Builtin::LocalInvocationIndex), &[], Type::I32);
        this.settle()?;
        this.body.blocks[Function::ENTRY.index()].extend(code);
        Ok(this)
    }

    /// Finds places for the variables in shared memory.
    fn settle(&mut self) -> Result<(), SpreadError> {
        let mut end = u64::from(self.end);
        for var in (0..self.homes.len()).map(Var::new) {
            let (ty, count) = (self.body.var(var).ty, self.body.var(var).count);
            let Some(m) = ty.mat().filter(|_| self.regions.accesses(var)) else { continue };
            let offset = end.next_multiple_of(ALIGN);
            let bytes = bytes(m).saturating_mul(count.into());
            end = offset.saturating_add(bytes);
            if end > MAX_SHARED_BYTES.into() {
                return Err(SpreadError::SharedMemory(end));
            }
            let op = Op::SharedPtr { offset: offset as u32, bytes: bytes as u32 };
            let pointer = self.b().value(op, &[], Type::Ptr(Space::Shared));
            self.homes[var.index()] = Some(Home { m, count, pointer });
        }
        self.end = end as u32;
        Ok(())
    }

    fn b(&mut self) -> Builder<'_> {
        Builder { func: &mut self.body, block: self.at, loc: self.loc, exact: false }
    }

    /// Rewrites a block; of the outermost one what was put at its head stays.
    fn block(&mut self, block: Block) {
        let mut code = std::mem::take(&mut self.body.blocks[block.index()]);
        if block == Function::ENTRY {
            let settled = 1 + self.homes.iter().flatten().count();
            self.body.blocks[block.index()].extend(code.drain(..settled));
        }
        let outer = std::mem::replace(&mut self.at, block);
        for inst in code {
            self.loc = self.body.inst(inst).loc;
            let begins = self.regions.begin_at(inst).to_vec();
            for &var in &begins {
                self.publish(var);
            }
            self.wait(!begins.is_empty());
            self.inst(inst);
            let ends = self.regions.end_at(inst).to_vec();
            self.wait(!ends.is_empty());
            for &var in &ends {
                self.collect(var);
            }
        }
        self.at = outer;
    }

    fn inst(&mut self, inst: Inst) {
        let op = self.body.inst(inst).op.clone();
        let home = op.var().and_then(|var| Some((var, self.homes[var.index()]?)));
        match (&op, home) {
            (Op::VarComponentLoad(_), Some((_, home))) => self.component_load(inst, home),
            (Op::VarComponentStore(_), Some((_, home))) => self.component_store(inst, home),
            (Op::VarLoad(_) | Op::VarStore(_), Some((var, _))) if self.regions.is_inside(inst) => {
                self.whole(inst, var);
            }
            _ => self.body.blocks[self.at.index()].push(inst),
        }
        for body in op.bodies() {
            self.block(body);
        }
    }

    /// A barrier of the work-group.
    fn wait(&mut self, is_needed: bool) {
        if is_needed && !self.is_alone {
            let (execution, memory) = (Scope::Workgroup, Scope::Workgroup);
            self.b().effect(Op::Barrier(Barrier { execution, memory }), &[]);
        }
    }

    // ── whole matrices ──

    /// Writes what a variable holds to shared memory.
    fn publish(&mut self, var: Var) {
        self.each(var, |b, m, index, at, stride| {
            let matrix = b.value(Op::VarLoad(var), &[index], m.into());
            let op = Op::MatStore { column_major: false, flags: MemFlags::default() };
            b.effect(op, &[at, matrix, stride]);
        });
    }

    /// Reads what a variable holds from shared memory.
    fn collect(&mut self, var: Var) {
        self.each(var, |b, m, index, at, stride| {
            let op = Op::MatLoad { column_major: false, flags: MemFlags::default() };
            let matrix = b.value(op, &[at, stride], m.into());
            b.effect(Op::VarStore(var), &[index, matrix]);
        });
    }

    /// Appends code for each matrix of a variable: with its index, its place and its stride.
    fn each(&mut self, var: Var, body: impl Fn(&mut Builder<'_>, MatType, Value, Value, Value)) {
        let Some(Home { m, count, pointer }) = self.homes[var.index()] else { return };
        let mut b = self.b();
        for i in 0..count {
            let index = b.i32(i.cast_signed());
            let at = b.ptr_add(pointer, None, 0, (u64::from(i) * bytes(m)) as i64);
            let stride = b.i64(i64::from(m.cols) * i64::from(m.elem.bytes()));
            body(&mut b, m, index, at, stride);
        }
    }

    /// An access of a whole element of a variable while that lies in shared memory.
    fn whole(&mut self, inst: Inst, var: Var) {
        self.wait(true);
        self.collect(var);
        self.body.blocks[self.at.index()].push(inst);
        if matches!(self.body.inst(inst).op, Op::VarStore(_)) {
            self.publish(var);
        }
        self.wait(true);
    }

    // ── components ──

    /// The place of an invocation's component, and whether there is one; if not, that of some component.
    fn place(&mut self, home: Home, index: Value, component: Value) -> (Value, Value) {
        let Home { m, count, pointer } = home;
        let (own, invocations) = (self.own, self.invocations);
        let mut b = self.b();
        let [step, length] = [invocations, m.components(invocations)].map(|n| b.i32(n.cast_signed()));
        let [elements, count] = [m.len() as u32, count].map(|n| b.i32(n.cast_signed()));
        let is_component = b.compare(CompareOp::Ult, component, length);
        let is_matrix = b.compare(CompareOp::Ult, index, count);
        let is_inside = b.binary(BinaryOp::And, is_component, is_matrix);
        let zero = b.i32(0);
        let [index, component] = [index, component].map(|n| b.select(is_inside, n, zero));
        let first = b.binary(BinaryOp::Imul, component, step);
        let element = b.binary(BinaryOp::Iadd, first, own);
        // Where all invocations have as many, what is known of their places as a whole stays known.
        let (element, is_inside) = if m.len().is_multiple_of(invocations.into()) {
            (element, is_inside)
        } else {
            let is_element = b.compare(CompareOp::Ult, element, elements);
            (b.select(is_element, element, zero), b.binary(BinaryOp::And, is_inside, is_element))
        };
        let matrix = b.ptr_add(pointer, Some(index), bytes(m) as i64, 0);
        (b.ptr_add(matrix, Some(element), m.elem.bytes().into(), 0), is_inside)
    }

    fn component_load(&mut self, inst: Inst, home: Home) {
        let [index, component] = self.body.inst(inst).args[..] else { return };
        let (at, is_inside) = self.place(home, index, component);
        let x = self.b().value(Op::Load(MemFlags::default()), &[at], home.m.elem.into());
        let zero = self.b().constant(home.m.elem, 0);
        replace(&mut self.body, inst, Op::Select, &[is_inside, x, zero]);
        self.body.blocks[self.at.index()].push(inst);
    }

    fn component_store(&mut self, inst: Inst, home: Home) {
        let [index, component, x] = self.body.inst(inst).args[..] else { return };
        let (at, is_inside) = self.place(home, index, component);
        let store = |b: &mut Builder<'_>| b.effect(Op::Store(MemFlags::default()), &[at, x]);
        self.b().if_else(is_inside, store, |_| ());
    }
}

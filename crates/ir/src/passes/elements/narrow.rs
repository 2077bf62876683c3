//! Matrices whose columns are all the same, computed for few columns.
//!
//! What there is one number of for each row, as the largest element or the sum of it, a program keeps in matrices as wide as
//! those that it is for. The first column of a narrow one says the same:
//!
//! ```text
//! %m: mat<64x64> = mat_reduce<row> %s { … }           %m: mat<64x8> = mat_reduce<row> %s { … }
//! %o: mat<64x64> = var_load<$o>                       %o: mat<64x8> = var_load<$o>
//! %n: mat<64x64> = fmax %m, %o                        %n: mat<64x8> = fmax %m, %o
//! %d: mat<64x64> = fsub %s, %n                   →    %d: mat<64x64> = mat_map %s, %n { … fsub … }
//! %e: mat<64x64> = mat_reduce<row> %n { yield %0 }    %e: mat<64x64> = mat_map %n { yield %0 }
//! %r: mat<64x64> = mat_mul_add %a, %ones, %c          %r: mat<64x8> = mat_reduce<row> %a { … fadd … }, plus %c
//! ```
//!
//! A product with a matrix of ones sums up rows, in which order is free.

use super::Elements;
use super::region::{Step, is_elementwise, mats};
use crate::entities::{Block, Inst, Value, Var};
use crate::eval::from_f64;
use crate::module::{Function, InstInfo};
use crate::op::{BinaryOp, ConvertKind, ConvertOp, MulAddFlags, Op, Rounding};
use crate::tensor::MatReduceKind;
use crate::tree::Tree;
use crate::types::{MatType, Scalar, Type, Use};
use crate::uniformity::Uniformity;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// Narrows matrices of a function; `None` if there are none that gain.
pub(super) fn run(func: &Function, uniformity: &Uniformity, elements: Elements<'_>) -> Option<Function> {
    let reduces = |info: &InstInfo| matches!(info.op, Op::MatReduce { .. } | Op::MatMulAdd(_));
    func.insts.iter().any(reduces).then_some(())?;
    let mut search = Search::new(func, uniformity, elements);
    search.settle();
    search.gains().then(|| Rewrite::new(&search).run())
}

/// How a matrix comes to have columns that are all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// All of its elements are one number.
    Splat,
    /// By an operation on elements of such matrices, or from a variable of them.
    Alike,
    /// As the fold of its rows.
    Rows,
    /// As the fold of the rows of such a matrix, which is each of its elements.
    Same,
    /// As the sums of the rows of a product's left factor, plus such a matrix.
    Sums,
}

/// Finds the matrices. At first all may be such; what proves to be no such is removed until nothing changes.
struct Search<'f> {
    func: &'f Function,
    uniformity: &'f Uniformity,
    elements: Elements<'f>,
    tree: Tree,
    /// Where each value is used.
    users: BTreeMap<Value, Vec<Inst>>,
    /// Where variables are accessed.
    accesses: BTreeMap<Var, Vec<Inst>>,
    values: BTreeSet<Value>,
    vars: BTreeSet<Var>,
}

impl<'f> Search<'f> {
    fn new(func: &'f Function, uniformity: &'f Uniformity, elements: Elements<'f>) -> Self {
        let tree = Tree::new(func);
        let mut users: BTreeMap<Value, Vec<Inst>> = BTreeMap::new();
        let mut accesses: BTreeMap<Var, Vec<Inst>> = BTreeMap::new();
        let mut values = BTreeSet::new();
        for &inst in tree.order() {
            let info = func.inst(inst);
            info.args.iter().for_each(|&v| users.entry(v).or_default().push(inst));
            info.op.vars().for_each(|(var, _)| accesses.entry(var).or_default().push(inst));
            values.extend(info.results.iter().filter(|&&v| func.ty(v).mat().is_some()));
        }
        let is_mat = |var: &Var| func.var(*var).ty.mat().is_some();
        let vars = accesses.keys().copied().filter(is_mat).collect();
        Self { func, uniformity, elements, tree, users, accesses, values, vars }
    }

    fn settle(&mut self) {
        loop {
            let values = self.values.iter().copied().filter(|&v| self.is_narrow(v));
            let values: BTreeSet<Value> = values.collect();
            let vars: BTreeSet<Var> = self.vars.iter().copied().filter(|&v| self.is_narrow_var(v)).collect();
            let is_settled = values.len() == self.values.len() && vars.len() == self.vars.len();
            (self.values, self.vars) = (values, vars);
            if is_settled {
                return;
            }
        }
    }

    /// Whether something is computed that is more than one number.
    fn gains(&self) -> bool {
        self.values.iter().any(|&v| self.origin(v).is_some_and(|origin| origin != Origin::Splat))
    }

    /// The narrowest matrix with these rows that is narrower. Widths are powers of two.
    fn narrow(&self, m: MatType) -> Option<MatType> {
        m.cols.is_power_of_two().then_some(())?;
        let widths = std::iter::successors(Some(1_u32), |w| w.checked_mul(2)).take_while(|&w| w < m.cols);
        widths.map(|cols| MatType { cols, ..m }).find(|&m| (self.elements.maps)(m))
    }

    /// The narrow type of a matrix.
    fn narrow_of(&self, v: Value) -> Option<MatType> {
        self.narrow(self.func.ty(v).mat()?)
    }

    fn is_narrow(&self, v: Value) -> bool {
        let Some(origin) = self.origin(v) else { return false };
        let users = self.users.get(&v).map_or(&[][..], |users| users);
        // One number is as soon in a wide matrix.
        origin == Origin::Splat || users.iter().all(|&user| self.takes_narrow(user, v))
    }

    fn is_narrow_var(&self, var: Var) -> bool {
        let is_narrow = |&inst: &Inst| {
            let info = self.func.inst(inst);
            match info.op {
                Op::VarLoad(_) => info.results.iter().all(|v| self.values.contains(v)),
                Op::VarStore(_) => info.args.last().is_some_and(|v| self.values.contains(v)),
                _ => false,
            }
        };
        self.accesses.get(&var).is_none_or(|accesses| accesses.iter().all(is_narrow))
    }

    fn origin(&self, v: Value) -> Option<Origin> {
        let (func, info) = (self.func, self.func.def(v));
        self.narrow_of(v)?;
        match info.op {
            Op::MatSplat => self.is_uniform(info.args[0]).then_some(Origin::Splat),
            Op::VarLoad(var) => self.vars.contains(&var).then_some(Origin::Alike),
            Op::MatScale => {
                (self.is_narrow_now(info.args[0]) && self.is_uniform(info.args[1])).then_some(Origin::Alike)
            }
            Op::MatMap { body } => {
                let is_alike = !info.args.is_empty() && self.are_as_narrow(&info.args, v);
                (is_alike && self.looks_at_rows_only(body)).then_some(Origin::Alike)
            }
            Op::MatReduce { kind: MatReduceKind::Row, body } => {
                let (from, to) = (func.ty(info.args[0]).mat()?, self.narrow_of(v)?);
                let narrow = self.narrow(from).filter(|_| self.is_narrow_now(info.args[0]));
                match narrow.filter(|from| from.cols <= to.cols && keeps_equal(func, body)) {
                    Some(_) => Some(Origin::Same),
                    // It takes all columns, and what makes them leaves them there.
                    None => (self.elements.folds)(from, to).then_some(Origin::Rows),
                }
            }
            Op::MatMulAdd(flags) => self.sums_rows(info, flags).then_some(Origin::Sums),
            _ if is_elementwise(func, info) => self.are_as_narrow(&info.args, v).then_some(Origin::Alike),
            _ => None,
        }
    }

    fn is_narrow_now(&self, v: Value) -> bool {
        self.values.contains(&v)
    }

    /// Whether matrices become as narrow as another.
    fn are_as_narrow(&self, matrices: &[Value], as_: Value) -> bool {
        let width = |v: Value| self.narrow_of(v).map(|m| m.cols);
        matrices.iter().all(|&v| self.is_narrow_now(v) && width(v) == width(as_))
    }

    fn is_uniform(&self, v: Value) -> bool {
        self.func.const_bits(v).is_some() || self.uniformity.is_uniform(v)
    }

    /// Whether a user of a value of columns that are the same can do with few of them.
    fn takes_narrow(&self, user: Inst, v: Value) -> bool {
        let (func, info) = (self.func, self.func.inst(user));
        let are_mapped = || mats(func, info).all(self.elements.maps);
        let is_result = info.results.first().is_some_and(|&result| self.is_narrow_now(result));
        match info.op {
            Op::VarStore(var) => self.vars.contains(&var),
            // The factors keep their width.
            Op::MatMulAdd(_) => is_result && info.args[2] == v && !info.args[..2].contains(&v),
            Op::MatMap { .. } => is_result || are_mapped(),
            Op::MatReduce { kind: MatReduceKind::Row, body } => {
                let result = info.results[0];
                let to = if is_result { self.narrow_of(result) } else { func.ty(result).mat() };
                let fits = self.narrow_of(v).zip(to).is_some_and(|(from, to)| from.cols <= to.cols);
                keeps_equal(func, body) && fits && (is_result || are_mapped())
            }
            _ if is_elementwise(func, info) || info.op == Op::MatScale => is_result || are_mapped(),
            _ => false,
        }
    }

    /// Whether a region gives the same for all elements of a row, of operands that are the same there.
    fn looks_at_rows_only(&self, body: Block) -> bool {
        let (func, region) = (self.func, self.tree.within(body));
        let column = func.block(body).first().and_then(|&params| func.inst(params).results.get(1));
        let is_inside = |v: Value| region.contains(&func.values[v.index()].def);
        region.iter().all(|&inst| {
            let info = func.inst(inst);
            let is_plain = match info.op {
                Op::Params | Op::Yield | Op::If { .. } => true,
                Op::VarLoad(var) | Op::VarStore(var) => {
                    self.accesses[&var].iter().all(|i| region.contains(i))
                }
                ref op => op.computes(),
            };
            let is_known = |&v: &Value| Some(&v) != column && (is_inside(v) || self.is_uniform(v));
            is_plain && info.args.iter().all(is_known)
        })
    }

    /// Whether a product has a matrix of ones for its right factor, and may be made of other sums.
    fn sums_rows(&self, info: &InstInfo, flags: MulAddFlags) -> bool {
        let func = self.func;
        let [Some(a), Some(r)] = [info.args[0], info.results[0]].map(|v| func.ty(v).mat()) else {
            return false;
        };
        let ones = func.def(info.args[1]);
        let is_one = |v: Value| {
            let Type::Scalar(elem) = func.ty(v) else { return false };
            elem.is_float() && func.const_bits(v) == Some(from_f64(elem, 1.0))
        };
        let are_ones = ones.op == Op::MatSplat && is_one(ones.args[0]);
        let is_f32 = r.elem == Scalar::F32 && func.ty(info.args[2]) == r.into();
        let (wide, Some(to)) = (summands(a), self.narrow(r)) else { return false };
        let is_direct =
            (self.elements.maps)(a) && (self.elements.maps)(wide) && (self.elements.folds)(wide, to);
        are_ones && is_f32 && is_direct && !flags.saturate && self.is_narrow_now(info.args[2])
    }
}

/// A left factor's elements as they are summed.
fn summands(a: MatType) -> MatType {
    MatType { elem: Scalar::F32, use_: Use::Accumulator, ..a }
}

/// Whether a region of a reduction gives an element of elements that are the same: one of them, the larger or the smaller.
fn keeps_equal(func: &Function, body: Block) -> bool {
    let insts = func.block(body);
    let (Some(params), Some(end)) = (insts.first(), insts.last()) else { return false };
    let (params, given) = (&func.inst(*params).results, func.inst(*end).args[0]);
    let info = func.def(given);
    let is_choice = match info.op {
        Op::Binary(op) => {
            use BinaryOp as B;
            matches!(op, B::Fmin | B::Fmax | B::Smin | B::Smax | B::Umin | B::Umax | B::And | B::Or)
        }
        _ => false,
    };
    let steps = insts.len() - 2;
    params.contains(&given) && steps == 0
        || is_choice && steps == 1 && info.args.iter().all(|v| params.contains(v))
}

/// Makes the new function.
struct Rewrite<'s, 'f> {
    search: &'s Search<'f>,
    new: Function,
    /// The narrow matrices for the values that have one.
    narrow: BTreeMap<Value, Value>,
}

impl<'s, 'f> Rewrite<'s, 'f> {
    fn new(search: &'s Search<'f>) -> Self {
        Self { search, new: search.func.clone(), narrow: BTreeMap::new() }
    }

    fn run(mut self) -> Function {
        for &var in &self.search.vars {
            let info = &mut self.new.vars[var.index()];
            let narrow = info.ty.mat().and_then(|m| self.search.narrow(m));
            info.ty = narrow.map_or(info.ty, Type::from);
        }
        self.block(Function::ENTRY);
        self.new
    }

    fn block(&mut self, block: Block) {
        let mut list = Vec::new();
        for &inst in self.search.func.block(block) {
            self.inst(inst, &mut list);
            self.search.func.inst(inst).op.bodies().for_each(|body| self.block(body));
        }
        self.new.blocks[block.index()] = list;
    }

    fn inst(&mut self, inst: Inst, list: &mut Vec<Inst>) {
        let search = self.search;
        let info = search.func.inst(inst);
        let result = info.results.first().filter(|v| search.values.contains(v));
        let made = result.and_then(|&v| Some((v, search.origin(v)?, search.narrow_of(v)?)));
        if let Some((v, origin, to)) = made {
            if origin == Origin::Splat {
                // What wants it wide finds it.
                list.push(inst);
            }
            let narrow = self.make(info, (origin, to), list);
            self.narrow.insert(v, narrow);
            return;
        }
        self.take_narrow(inst);
        list.push(inst);
    }

    /// Makes the narrow matrix of an instruction's result.
    fn make(&mut self, info: &InstInfo, (origin, to): (Origin, MatType), list: &mut Vec<Inst>) -> Value {
        let args = self.args(info);
        match origin {
            Origin::Same if self.new.ty(args[0]) == to.into() => args[0],
            Origin::Same => {
                let step = Step::same(&mut self.new, args[0], info.loc);
                self.map(step, to, list)
            }
            Origin::Sums => self.sum(info, args[2], to, list),
            Origin::Splat | Origin::Alike => {
                self.push(info.op.clone(), &args, to, (info.loc, info.exact), list)
            }
            Origin::Rows => self.push(info.op.clone(), &info.args, to, (info.loc, false), list),
        }
    }

    /// The operands of an instruction, narrow ones where there are.
    fn args(&self, info: &InstInfo) -> SmallVec<[Value; 4]> {
        info.args.iter().map(|v| self.narrow.get(v).copied().unwrap_or(*v)).collect()
    }

    fn push(
        &mut self,
        op: Op,
        args: &[Value],
        to: MatType,
        (loc, exact): (u32, bool),
        list: &mut Vec<Inst>,
    ) -> Value {
        let inst = self.new.new_inst(op, args, &[to.into()], loc);
        self.new.insts[inst.index()].exact = exact;
        list.push(inst);
        self.new.inst(inst).results[0]
    }

    /// A map of a matrix.
    fn map(&mut self, step: Step, to: MatType, list: &mut Vec<Inst>) -> Value {
        let params = self.new.values[step.params[0].index()].def;
        let body = step.body(&mut self.new, params);
        let loc = self.new.inst(params).loc;
        self.push(Op::MatMap { body }, &step.operands, to, (loc, false), list)
    }

    /// The sums of the rows of a product's left factor, and the addend.
    fn sum(&mut self, info: &InstInfo, addend: Value, to: MatType, list: &mut Vec<Inst>) -> Value {
        let (mut a, loc) = (info.args[0], info.loc);
        let Some(from) = self.new.ty(a).mat() else { return addend };
        let wide = summands(from);
        if from != wide {
            let mut step = Step::same(&mut self.new, a, loc);
            if from.elem != wide.elem {
                let op =
                    ConvertOp { kind: ConvertKind::FToF, rounding: Rounding::NearestEven, saturate: false };
                let convert = self.new.new_inst(Op::Convert(op), &[step.gives], &[Type::F32], loc);
                step.insts.push(convert);
                step.gives = self.new.inst(convert).results[0];
            }
            a = self.map(step, wide, list);
        }
        let pair = self.new.new_inst(Op::Params, &[], &[Type::F32; 2], loc);
        let operands = self.new.inst(pair).results.clone();
        let add = self.new.new_inst(Op::Binary(BinaryOp::Fadd), &operands, &[Type::F32], loc);
        let end = self.new.new_inst(Op::Yield, &[self.new.inst(add).results[0]], &[], loc);
        let body = self.new.new_block();
        self.new.blocks[body.index()] = vec![pair, add, end];
        let kind = MatReduceKind::Row;
        let sums = self.push(Op::MatReduce { kind, body }, &[a], to, (loc, false), list);
        self.push(Op::Binary(BinaryOp::Fadd), &[sums, addend], to, (loc, false), list)
    }

    /// Lets an instruction whose result is wide, or that has none, take narrow operands.
    fn take_narrow(&mut self, inst: Inst) {
        let (func, info) = (self.search.func, self.search.func.inst(inst));
        let is_narrow = |v: &Value| self.narrow.contains_key(v) && func.def(*v).op != Op::MatSplat;
        let step = match info.op {
            Op::VarStore(var) if !self.search.vars.contains(&var) => return,
            Op::VarStore(_) => None,
            _ if !info.args.iter().any(is_narrow) => return,
            Op::MatMap { .. } => None,
            Op::MatReduce { .. } => Some(Step::same(&mut self.new, info.args[0], info.loc)),
            _ => Step::of(&mut self.new, inst),
        };
        self.new.insts[inst.index()].args = self.args(info);
        let Some(step) = step else { return };
        let params = self.new.values[step.params[0].index()].def;
        let body = step.body(&mut self.new, params);
        let (types, new) = (&self.new.values, &mut self.new.insts[inst.index()]);
        // A factor is in the region now.
        new.args.retain(|v| types[v.index()].ty.mat().is_some());
        (new.op, new.exact) = (Op::MatMap { body }, false);
    }
}

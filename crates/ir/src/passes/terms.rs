//! Sums of products that a loop adds up are added up term by term.
//!
//! A product of vectors by *OpDot* is a sum of the products of four components, which lanes read together. Added up
//! within a lane they have to be brought to one place first, in each round of a loop:
//!
//! ```text
//!                                             var_store<$t> %0, %none   …   var_store<$t> %3, %none
//! loop @0 {                                   loop @0 {
//!   %x0, %x1, … = load %p                       %x0, %x1, … = load %p
//!   %s = var_load<$s>                           %t0 = var_load<$t> %0       …
//!   %a = fmul %x0, %y0                          %a = fmul %x0, %y0
//!   %b = fmul %x1, %y1                          %b = fmul %x1, %y1
//!   %c = fadd %a, %b …                   →      %u0 = fadd %t0, %a          …
//!   %d = fadd %s, %c                            var_store<$t> %0, %u0       …
//!   var_store<$s> %d                          }
//! }                                           %c = fadd %t0, %t1            …
//!                                             $s += %c
//! ```
//!
//! Then all components are treated alike and can stay where memory has them. That changes the order of additions, which
//! is for whoever makes code to choose unless they are *exact* (SPIR-V: those of *NoContraction* may not be reassociated).
//! The variable may be accessed in no other way in the construct around, and nothing may leave that for anywhere but
//! its end. `%none` is -0, to which anything may be added without a change.

use super::chain::{element, uses};
use crate::builder::Builder;
use crate::entities::{Inst, Label, Value, Var};
use crate::module::Function;
use crate::op::{BinaryOp, Op};
use crate::tree::{Parent, Tree};
use crate::types::{Scalar, Type};

/// Terms of a sum: as many as lanes read together.
const TERMS: [usize; 2] = [2, 4];

/// Most terms that a block adds up by themselves: more would not stay in registers.
const MOST: usize = 8;

/// Adds up sums of terms term by term.
pub(super) fn run(func: &Function) -> Function {
    let tree = Tree::new(func);
    let finder = Finder { func, uses: uses(func, &tree), tree: &tree };
    let groups = finder.groups();
    let mut new = func.clone();
    groups.iter().for_each(|group| rewrite(&mut new, &tree, group));
    new
}

/// Where a sum of terms is added to an element of a variable.
#[derive(Clone, Debug)]
struct Site {
    var: Var,
    element: u64,
    load: Inst,
    store: Inst,
    terms: Vec<Value>,
}

/// Additions to one element that are done term by term, and the construct in which that is done.
#[derive(Clone, Debug)]
struct Group {
    around: Parent,
    sites: Vec<Site>,
}

struct Finder<'a> {
    func: &'a Function,
    tree: &'a Tree,
    uses: Vec<usize>,
}

impl Finder<'_> {
    fn groups(&self) -> Vec<Group> {
        let mut sites: Vec<Site> = self.tree.order().iter().filter_map(|&inst| self.site(inst)).collect();
        let block = |site: &Site| self.tree.block_of(site.store);
        let is_little = |site: &Site| {
            let beside = sites.iter().filter(|other| block(other) == block(site));
            beside.map(|other| other.terms.len()).sum::<usize>() <= MOST
        };
        sites = sites.iter().filter(|site| is_little(site)).cloned().collect();
        let mut groups: Vec<Group> = Vec::new();
        for site in &sites {
            let is_done = |group: &Group| group.sites.iter().any(|other| other.store == site.store);
            if !groups.iter().any(is_done) {
                groups.extend(self.group(site, &sites));
            }
        }
        groups
    }

    /// The addition of a sum of terms that ends in a store.
    fn site(&self, store: Inst) -> Option<Site> {
        let Op::VarStore(var) = self.func.inst(store).op else { return None };
        if self.func.var(var).ty != Type::Scalar(Scalar::F32) {
            return None;
        }
        let (element, block) = (element(self.func, store)?, self.tree.block_of(store)?);
        let [before, sum] = self.addends(*self.func.inst(store).args.last()?, store)?;
        let is_before = |v: Value| {
            let load = self.func.values[v.index()].def;
            let is_same = self.func.inst(load).op == Op::VarLoad(var);
            is_same && self.uses[v.index()] == 1 && self::element(self.func, load) == Some(element)
        };
        let (before, mut sum) = match (is_before(before), is_before(sum)) {
            (true, false) => (before, sum),
            (false, true) => (sum, before),
            _ => return None,
        };
        let load = self.func.values[before.index()].def;
        let list = self.func.block(block);
        let [from, to] = [load, store].map(|inst| list.iter().position(|&i| i == inst));
        let acts = |&inst: &Inst| {
            let op = &self.func.inst(inst).op;
            op.bodies().next().is_some()
                || op.var() == Some(var)
                    && self::element(self.func, inst).is_none_or(|other| other == element)
        };
        if list.get(from? + 1..to?)?.iter().any(acts) {
            return None;
        }
        let mut terms = Vec::new();
        while let Some([rest, term]) = self.addends(sum, store) {
            terms.push(term);
            sum = rest;
        }
        terms.push(sum);
        terms.reverse();
        let is_wanted = TERMS.contains(&terms.len()) && self.are_read_together(&terms);
        is_wanted.then_some(Site { var, element, load, store, terms })
    }

    /// What a value is the sum of that nothing else uses, and that is computed in the block of an instruction.
    fn addends(&self, sum: Value, at: Inst) -> Option<[Value; 2]> {
        let info = self.func.def(sum);
        let def = self.func.values[sum.index()].def;
        let is_sum = info.op == Op::Binary(BinaryOp::Fadd) && !info.exact && self.uses[sum.index()] == 1;
        let is_here = self.tree.block_of(def) == self.tree.block_of(at);
        (is_sum && is_here).then(|| [info.args[0], info.args[1]])
    }

    /// Whether each term is a product of the scalar with its number of those that one load reads.
    fn are_read_together(&self, terms: &[Value]) -> bool {
        let factor = |term: Value, number: usize, which: usize| {
            let info = self.func.def(term);
            let is_product = info.op == Op::Binary(BinaryOp::Fmul) && !info.exact;
            let mut v = *info.args.get(which).filter(|_| is_product)?;
            while matches!(self.func.def(v).op, Op::Convert(_)) {
                v = self.func.def(v).args[0];
            }
            let load = self.func.def(v);
            let is_load = matches!(load.op, Op::Load(_)) && load.results.len() == terms.len();
            (is_load && load.results[number] == v).then(|| self.func.values[v.index()].def)
        };
        (0..2).any(|which| {
            let mut loads = terms.iter().enumerate().map(|(number, &term)| factor(term, number, which));
            let first = loads.next().flatten();
            first.is_some() && loads.all(|load| load == first)
        })
    }

    /// The additions to a site's element in the largest construct with a loop in which there are no other accesses to it.
    fn group(&self, site: &Site, sites: &[Site]) -> Option<Group> {
        let mut best = None;
        let mut has_loop = false;
        let mut at = self.tree.parent(self.tree.block_of(site.store)?);
        while let Some(around) = at {
            let op = &self.func.inst(around.inst).op;
            let inside: Vec<Inst> = op.bodies().flat_map(|body| self.tree.within(body)).copied().collect();
            let is_mine = |other: &Site| {
                (other.var, other.element) == (site.var, site.element) && inside.contains(&other.store)
            };
            let mine: Vec<Site> = sites.iter().filter(|other| is_mine(other)).cloned().collect();
            let is_known = |inst: &Inst| {
                let mut vars = self.func.inst(*inst).op.vars().filter(|(var, _)| *var == site.var).peekable();
                vars.peek().is_none()
                    || element(self.func, *inst).is_some_and(|e| e != site.element)
                    || mine.iter().any(|other| other.load == *inst || other.store == *inst)
            };
            let is_even = mine.iter().all(|other| other.terms.len() == site.terms.len());
            if op.region().is_some() || !is_even || !inside.iter().all(is_known) {
                break;
            }
            has_loop |= matches!(op, Op::Loop { .. });
            if has_loop && self.ends_at_its_end(around.inst, &inside) {
                best = Some(Group { around, sites: mine });
            }
            at = self.tree.parent(around.block);
        }
        best
    }

    /// Whether no branch leaves a construct for anywhere but its end.
    fn ends_at_its_end(&self, around: Inst, inside: &[Inst]) -> bool {
        let label = |&inst: &Inst| match self.func.inst(inst).op {
            Op::Block { label, .. } | Op::Loop { label, .. } => Some(label),
            _ => None,
        };
        let labels: Vec<Label> = inside.iter().chain([&around]).filter_map(label).collect();
        inside.iter().all(|&inst| match self.func.inst(inst).op {
            Op::Br(to) => labels.contains(&to),
            _ => true,
        })
    }
}

/// Adds up the terms of a group by themselves, and the sums of each behind the construct.
fn rewrite(func: &mut Function, tree: &Tree, group: &Group) {
    let Some(Site { var, element, terms, .. }) = group.sites.first().cloned() else { return };
    let sums = func.new_var(Type::Scalar(Scalar::F32), terms.len() as u32, "");
    let home = group.around.block;
    let mut list = std::mem::take(&mut func.blocks[home.index()]);
    let rest = list.split_off(list.iter().position(|&i| i == group.around.inst).unwrap_or(list.len()));
    let mut rest = rest.into_iter();
    func.blocks[home.index()] = list;
    let mut b = Builder { loc: func.inst(group.sites[0].store).loc, exact: false, block: home, func };
    let numbers: Vec<Value> = (0..terms.len()).map(|k| b.i32(k as i32)).collect();
    let none = b.constant(Scalar::F32, (-0.0f32).to_bits().into());
    numbers.iter().for_each(|&k| b.var_store(sums, Some(k), none));
    // A loop of none or few rounds, as there are many for what others have left, should cost little.
    let is_any = b.func.new_var(Type::Scalar(Scalar::Bool), 1, "");
    let (no, yes) = (b.bool(false), b.bool(true));
    b.var_store(is_any, None, no);
    b.func.blocks[home.index()].extend(rest.next());
    let is_added = b.var_load(is_any, None);
    b.if_else(is_added, |b| add_up(b, sums, &numbers, (var, element)), |_| ());
    func.blocks[home.index()].extend(rest);

    for site in &group.sites {
        let Some(block) = tree.block_of(site.store) else { continue };
        let list = std::mem::take(&mut func.blocks[block.index()]);
        for inst in list {
            if inst != site.store {
                func.blocks[block.index()].push(inst);
                continue;
            }
            let mut b = Builder { loc: func.inst(inst).loc, exact: false, block, func };
            let before: Vec<Value> = numbers.iter().map(|&k| b.var_load(sums, Some(k))).collect();
            let after =
                before.iter().zip(&site.terms).map(|(&sum, &term)| b.binary(BinaryOp::Fadd, sum, term));
            let after: Vec<Value> = after.collect();
            numbers.iter().zip(after).for_each(|(&k, sum)| b.var_store(sums, Some(k), sum));
            b.var_store(is_any, None, yes);
        }
    }
}

/// Adds the sums of all terms to an element.
fn add_up(b: &mut Builder<'_>, sums: Var, numbers: &[Value], (var, element): (Var, u64)) {
    let each: Vec<Value> = numbers.iter().map(|&k| b.var_load(sums, Some(k))).collect();
    let sum = each.into_iter().reduce(|sum, v| b.binary(BinaryOp::Fadd, sum, v));
    let index = b.i32(element as i32);
    let before = b.var_load(var, Some(index));
    let sum = sum.map_or(before, |sum| b.binary(BinaryOp::Fadd, before, sum));
    b.var_store(var, Some(index), sum);
}

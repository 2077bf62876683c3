//! Sums that lie side by side, as one wider matrix.
//!
//! A program holds the sums of a subgroup as an array of matrices, as large as a GPU's are. Where the factors lie side by
//! side in memory, and the sums where they are loaded and stored, wider matrices do the same in fewer operations:
//!
//! ```text
//! %a: mat<8x64xf16> = mat_load %p, …               %a: mat<8x64xf16> = mat_load %p, …
//! %b: mat<64x8xf16> = mat_load %q, …               %b: mat<64x16xf16> = mat_load %q, …
//! %r = ptr_add<disp=16> %q
//! %d: mat<64x8xf16> = mat_load %r, …         →
//! $c[0] += %a * %b                                 $c[0] += %a * %b
//! $c[1] += %a * %d
//! …                                                …
//! mat_store %o, $c[0], …                           mat_store %o, $c[0], …
//! %u = ptr_add<disp=32> %o
//! mat_store %u, $c[1], …
//! ```
//!
//! What is done with one sum must be done with all, so operations of all sums that correspond become one, where the last of
//! them stands: in each block the operations on a sum have the same order for each. Loads and stores are moved there only
//! past what does not act on memory. Stores of matrices that overlap have no order among invocations anyway (Vulkan memory
//! model, *data races*).
//!
//! Numbers are not different: each element is summed in the order that it was.
//!
//! Only factors in shared memory are joined, unless it is said otherwise: of others a target may know better how many to load
//! at once.
//!
//! Matrices whose distance depends on a stride that is told late are joined where code may decline ([`Op::Decline`]): there
//! it is asked, at each load and before the first store, whether they lie as far apart as the stride says.

mod grid;
mod guess;
#[cfg(test)]
mod tests;

use super::affine::Places;
use super::late::Late;
use crate::entities::{Block, Inst, Value, Var};
use crate::module::{Function, InstInfo, LocId};
use crate::op::{BinaryOp, CompareOp, Op};
use crate::tree::Tree;
use crate::types::{MatType, Scalar, Space, Type, Use};
use grid::{Grid, is_even, load};
pub(super) use guess::Guesses;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Most rows and columns of a wider matrix: more gain nothing.
const WIDE: u32 = 256;

/// What may be joined.
#[derive(Clone, Copy)]
struct Rules {
    /// Factors in such memory.
    may_join: fn(Space) -> bool,
    /// Whether code may decline.
    may_decline: bool,
}

/// Makes matrices wider.
pub(super) fn run(func: &Function) -> Function {
    widen(func, Rules { may_join: |space| space == Space::Shared, may_decline: false })
}

/// The same, of factors anywhere, in code that may decline.
pub(super) fn run_or_decline(func: &Function) -> Function {
    widen(func, Rules { may_join: |_space| true, may_decline: true })
}

fn widen(func: &Function, rules: Rules) -> Function {
    let mut new = func.clone();
    if !func.insts.iter().any(|info| matches!(info.op, Op::MatMulAdd(_))) {
        return new;
    }
    let mut mentions = Mentions::of(&new);
    for var in (0..func.vars.len()).map(Var::new) {
        let info = func.var(var);
        if info.count <= 1 || info.ty.mat().is_none() {
            continue;
        }
        if let Some(mut own) = with_own_loads(&new, &mentions, var) {
            if let Some(edits) = widened(&own, &Mentions::of(&own), var, rules) {
                edits.make(&mut own);
                new = own;
                mentions = Mentions::of(&new);
            }
        } else if let Some(edits) = widened(&new, &mentions, var, rules) {
            edits.make(&mut new);
            mentions = Mentions::of(&new);
        }
    }
    new
}

/// The same function with a load for each element of a variable, if what is loaded once begins several: what is added to the
/// rows of a column, say, is the same for all of them.
fn with_own_loads(func: &Function, mentions: &Mentions, var: Var) -> Option<Function> {
    let is_load = |inst: Inst| matches!(func.inst(inst).op, Op::MatLoad { flags, .. } if !flags.volatile);
    let stores = mentions.accesses.get(&var)?.iter().filter(|&&inst| func.inst(inst).op == Op::VarStore(var));
    let mut loaded = HashSet::new();
    let mut again: BTreeMap<Inst, Vec<Inst>> = BTreeMap::new();
    for &store in stores {
        let load = func.values[func.inst(store).args.last()?.index()].def;
        if is_load(load) && !loaded.insert(load) {
            again.entry(load).or_default().push(store);
        }
    }
    if again.is_empty() {
        return None;
    }
    let mut new = func.clone();
    let mut copies: HashMap<Inst, Vec<Inst>> = HashMap::new();
    for (load, stores) in again {
        let InstInfo { op, args, results, loc, .. } = func.inst(load).clone();
        for store in stores {
            let copy = new.new_inst(op.clone(), &args, &[func.ty(results[0])], loc);
            let value = new.inst(copy).results[0];
            *new.insts[store.index()].args.last_mut()? = value;
            copies.entry(load).or_default().push(copy);
        }
    }
    for block in &mut new.blocks {
        for inst in std::mem::take(block) {
            block.push(inst);
            block.extend(copies.remove(&inst).unwrap_or_default());
        }
    }
    Some(new)
}

/// Where matrices and variables are, of what is reached.
struct Mentions {
    users: HashMap<Value, Vec<Inst>>,
    accesses: HashMap<Var, Vec<Inst>>,
}

impl Mentions {
    fn of(func: &Function) -> Self {
        let mut this = Self { users: HashMap::new(), accesses: HashMap::new() };
        for &inst in Tree::new(func).order() {
            let info = func.inst(inst);
            for &arg in info.args.iter().filter(|&&arg| func.ty(arg).mat().is_some()) {
                this.users.entry(arg).or_default().push(inst);
            }
            for (var, _) in info.op.vars() {
                this.accesses.entry(var).or_default().push(inst);
            }
        }
        this
    }
}

fn widened(func: &Function, mentions: &Mentions, var: Var, rules: Rules) -> Option<Edits> {
    let sums = Sums::of(func, mentions, var)?;
    let (mut places, mut guesses) = (Places::default(), Guesses::default());
    let grid = Grid::of(func, &sums, &mut places, rules)?;
    // Both ways, or side by side, or one above the other.
    let (m, n) = (grid.rows.len(), grid.cols.len());
    let late = rules.may_decline.then(|| Late::of(func));
    [(m, n), (1, n), (m, 1)].into_iter().filter(|&(m, n)| m * n > 1).find_map(|(m, n)| {
        let late = late.as_ref();
        let (places, guesses) = (&mut places, &mut guesses);
        let cells = Cells { func, sums: &sums, grid: &grid, places, guesses, late, m, n };
        cells.edits(var)
    })
}

/// The instructions on the elements of a variable.
struct Sums<'a> {
    /// The block of each, its position there, and its number among those on its element there.
    spots: HashMap<Inst, Spot>,
    /// Those on an element in a block, in order.
    lists: BTreeMap<(u32, Block), Vec<Inst>>,
    mentions: &'a Mentions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spot {
    element: u32,
    block: Block,
    position: usize,
    number: usize,
}

impl<'a> Sums<'a> {
    /// Finds them, if each does something that can be done with a wider matrix.
    fn of(func: &Function, mentions: &'a Mentions, var: Var) -> Option<Self> {
        let mut elements: HashMap<Inst, u32> = HashMap::new();
        let mut open = Vec::new();
        for &inst in mentions.accesses.get(&var)? {
            let info = func.inst(inst);
            let has_index = match info.op {
                Op::VarLoad(_) => info.args.len() == 1,
                Op::VarStore(_) => info.args.len() == 2,
                _ => return None,
            };
            let index = if has_index { func.const_bits(info.args[0])? } else { 0 };
            open.push((inst, index as u32));
        }
        while let Some((inst, element)) = open.pop() {
            match elements.insert(inst, element) {
                Some(other) if other == element => continue,
                Some(_) => return None,
                None => {}
            }
            let info = func.inst(inst);
            let is_followed = match info.op {
                Op::VarLoad(v) | Op::VarStore(v) => v == var,
                Op::MatLoad { flags, .. } | Op::MatStore { flags, .. } => !flags.volatile,
                Op::MatMulAdd(_) | Op::MatScale | Op::Unary(_) | Op::Binary(_) | Op::Convert(_) => true,
                Op::MatMap { body } => is_even_map(func, body) && has_one_shape(func, info),
                _ => false,
            };
            if !is_followed {
                return None;
            }
            let args = sums(func, inst).filter(|&v| !is_splat(func, v)).map(|v| func.values[v.index()].def);
            let results =
                info.results.iter().flat_map(|v| mentions.users.get(v).into_iter().flatten().copied());
            open.extend(args.chain(results).map(|inst| (inst, element)));
        }
        if !elements.keys().any(|&inst| is_mul_add(func, inst)) {
            return None;
        }
        let mut this = Self { spots: HashMap::new(), lists: BTreeMap::new(), mentions };
        for block in (0..func.blocks.len()).map(Block::new) {
            for (position, &inst) in func.block(block).iter().enumerate() {
                let Some(&element) = elements.get(&inst) else { continue };
                let list = this.lists.entry((element, block)).or_default();
                this.spots.insert(inst, Spot { element, block, position, number: list.len() });
                list.push(inst);
            }
        }
        let is_factor = |v: &Value| elements.contains_key(&func.values[v.index()].def);
        let mut mul_adds = elements.keys().filter(|&&inst| is_mul_add(func, inst));
        let has_own_factors = mul_adds.all(|&inst| !func.inst(inst).args[..2].iter().any(is_factor));
        (this.spots.len() == elements.len() && has_own_factors).then_some(this)
    }

    /// The products that are added to an element, in order.
    fn mul_adds(&self, func: &Function, element: u32) -> Vec<Inst> {
        let of = self.lists.range((element, Block::new(0))..).take_while(|((e, _), _)| *e == element);
        of.flat_map(|(_, list)| list).copied().filter(|&i| is_mul_add(func, i)).collect()
    }
}

fn is_mul_add(func: &Function, inst: Inst) -> bool {
    matches!(func.inst(inst).op, Op::MatMulAdd(_))
}

/// The matrices that an instruction takes, but for factors.
fn sums(func: &Function, inst: Inst) -> impl Iterator<Item = Value> + '_ {
    let factors = if is_mul_add(func, inst) { 2 } else { 0 };
    func.inst(inst).args[factors..].iter().copied().filter(|&v| func.ty(v).mat().is_some())
}

/// Whether all elements of a matrix are one number.
fn is_splat(func: &Function, v: Value) -> bool {
    let info = func.def(v);
    matches!(info.op, Op::MatSplat) && is_common(func, info.args[0])
}

/// Whether a function of elements computes the same wherever they are.
fn is_even_map(func: &Function, body: Block) -> bool {
    let place = func.block(body).iter().find(|&&inst| func.inst(inst).op == Op::Params);
    let place = place.map_or(&[][..], |&params| &func.inst(params).results[..2]);
    func.block(body).iter().map(|&inst| func.inst(inst)).all(|info| {
        let is_plain = matches!(info.op, Op::Params | Op::Yield) || info.op.computes();
        is_plain && !info.args.iter().any(|arg| place.contains(arg))
    })
}

/// Whether all matrices of an operation have as many columns.
fn has_one_shape(func: &Function, info: &InstInfo) -> bool {
    let mut widths = info.args.iter().chain(&info.results).filter_map(|&v| func.ty(v).mat()).map(|m| m.cols);
    let first = widths.next();
    widths.all(|width| Some(width) == first)
}

/// Whether a number is plainly the same for all invocations.
fn is_common(func: &Function, v: Value) -> bool {
    let info = func.def(v);
    match info.op {
        Op::Const(_) => true,
        Op::Load(_) => func.ty(info.args[0]) == Type::Ptr(Space::Push) && is_common(func, info.args[0]),
        Op::PushPtr => true,
        Op::Convert(_) | Op::PtrAdd { .. } => info.args.iter().all(|&arg| is_common(func, arg)),
        _ => false,
    }
}

/// What is to become of the code.
#[derive(Default)]
struct Edits {
    var: Option<(Var, MatType, u32)>,
    /// How many instructions were made of more.
    joined: usize,
    removed: HashSet<Inst>,
    types: Vec<(Value, MatType)>,
    args: Vec<(Inst, usize, Arg)>,
    /// Which load of factors does for which.
    loads: HashMap<Inst, Inst>,
    /// What is asked before an instruction is done.
    asked: Vec<(Inst, Apart)>,
}

/// That an address is so many times a stride behind another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Apart {
    pub(super) from: Value,
    pub(super) to: Value,
    pub(super) lines: i64,
    pub(super) stride: Value,
}

/// A new operand.
enum Arg {
    Value(Value),
    /// The index of an element.
    Index(u32),
    /// A matrix of one number.
    Splat(MatType, Value),
}

/// A row and a column of a cell, and the element there.
type Member = (usize, usize, u32);

/// Elements that become one, `m` rows and `n` columns of them.
struct Cells<'a> {
    func: &'a Function,
    sums: &'a Sums<'a>,
    grid: &'a Grid,
    places: &'a mut Places,
    guesses: &'a mut Guesses,
    /// Where it is too late to decline; none if that is so everywhere.
    late: Option<&'a Late>,
    m: usize,
    n: usize,
}

impl Cells<'_> {
    /// How to make them one, if that can be done.
    fn edits(mut self, var: Var) -> Option<Edits> {
        let (m, n) = (self.m, self.n);
        let can_be_asked = self.late.is_some();
        let (rows, cols) = (&self.grid.rows, &self.grid.cols);
        if (m > 1 && !is_even(rows, true, can_be_asked)) || (n > 1 && !is_even(cols, false, can_be_asked)) {
            return None;
        }
        let mut edits = Edits::default();
        // The elements of each cell, by row and column, the first one first.
        let mut cells: BTreeMap<(usize, usize), Vec<Member>> = BTreeMap::new();
        for (&element, &(row, col)) in &self.grid.at {
            cells.entry((row / m, col / n)).or_default().push((row % m, col % n, element));
        }
        for (number, members) in cells.values_mut().enumerate() {
            members.sort_unstable();
            let blocks = self.sums.lists.keys().filter(|(element, _)| *element == members[0].2);
            for block in blocks.map(|(_, block)| *block).collect::<Vec<_>>() {
                let lists = members.iter().map(|&(_, _, element)| self.sums.lists.get(&(element, block)));
                let lists: Vec<_> = lists.collect::<Option<_>>()?;
                let length = lists[0].len();
                if lists.iter().any(|list| list.len() != length) {
                    return None;
                }
                for i in 0..length {
                    let insts: Vec<Inst> = lists.iter().map(|list| list[i]).collect();
                    self.join(&insts, members, number as u32, &mut edits)?;
                }
            }
        }
        // No element has instructions in blocks that the first of its cell has none in.
        let is_whole = self.sums.spots.len() == edits.joined * m * n;
        let (ty, count) = (self.func.var(var).ty.mat()?, self.grid.at.len() / (m * n));
        edits.var = Some((var, self.wide(ty)?, count as u32));
        is_whole.then_some(edits)
    }

    /// The type of a cell of such matrices.
    fn wide(&self, ty: MatType) -> Option<MatType> {
        let (m, n) = match ty.use_ {
            Use::A => (self.m, 1),
            Use::B => (1, self.n),
            Use::Accumulator | Use::Any => (self.m, self.n),
        };
        let wide =
            MatType { rows: ty.rows.checked_mul(m as u32)?, cols: ty.cols.checked_mul(n as u32)?, ..ty };
        let is_small = (m == 1 || wide.rows <= WIDE) && (n == 1 || wide.cols <= WIDE);
        is_small.then_some(wide)
    }

    /// Makes one of instructions that correspond.
    fn join(&mut self, insts: &[Inst], members: &[Member], cell: u32, edits: &mut Edits) -> Option<()> {
        let func = self.func;
        let (first, last) = (func.inst(insts[0]), self.last(insts));
        let are_alike = insts.iter().all(|&inst| {
            let info = func.inst(inst);
            let types = |info: &InstInfo| {
                info.args.iter().chain(&info.results).map(|&v| func.ty(v)).collect::<Vec<_>>()
            };
            let is_same = match (&info.op, &first.op) {
                (&Op::MatMap { body }, &Op::MatMap { body: other }) => self.are_same_maps(body, other),
                (op, other) => op == other,
            };
            is_same && types(info) == types(first)
        });
        if !are_alike || !self.has_free_way(insts, &first.op) {
            return None;
        }
        match first.op {
            Op::VarLoad(_) | Op::VarStore(_) => edits.args.push((last, 0, Arg::Index(cell))),
            Op::MatLoad { .. } | Op::MatStore { .. } => self.check_places(insts, members, edits)?,
            Op::MatMulAdd(_) => {
                self.join_factors(insts, 0, edits)?;
                self.join_factors(insts, 1, edits)?;
            }
            Op::MatScale => {
                let scale = |inst: &Inst| func.inst(*inst).args[1];
                let classes: HashSet<_> =
                    insts.iter().map(|i| self.places.classes.of(func, scale(i))).collect();
                (classes.len() == 1 && is_common(func, scale(&last))).then_some(())?;
            }
            _ => {}
        }
        if matches!(first.op, Op::MatLoad { .. } | Op::MatStore { .. }) {
            edits.args.push((last, 0, Arg::Value(first.args[0])));
        }
        for number in 0..first.args.len() {
            let is_sum = sums(func, insts[0]).any(|v| v == first.args[number]);
            if is_sum && !(is_mul_add(func, last) && number < 2) {
                let arg = self.sum(insts, number)?;
                edits.args.push((last, number, arg));
            }
        }
        for &result in &func.inst(last).results {
            let ty = func.ty(result).mat().filter(|ty| ty.use_ == Use::Accumulator)?;
            edits.types.push((result, self.wide(ty)?));
        }
        edits.joined += 1;
        edits.removed.extend(insts.iter().filter(|&&inst| inst != last));
        Some(())
    }

    /// Whether functions of elements compute the same.
    fn are_same_maps(&mut self, body: Block, other: Block) -> bool {
        let func = self.func;
        let (insts, others) = (func.block(body), func.block(other));
        let mut same: HashMap<Value, Value> = HashMap::new();
        insts.len() == others.len()
            && insts.iter().zip(others).all(|(&inst, &other)| {
                let (info, other) = (func.inst(inst), func.inst(other));
                let mut args = info.args.iter().zip(&other.args);
                let are_same = info.op == other.op
                    && info.exact == other.exact
                    && info.args.len() == other.args.len()
                    && args.all(|(&x, &y)| match same.get(&x) {
                        Some(&inside) => inside == y,
                        None => self.places.classes.of(func, x) == self.places.classes.of(func, y),
                    });
                let types = |info: &InstInfo| info.results.iter().map(|&v| func.ty(v)).collect::<Vec<_>>();
                same.extend(info.results.iter().copied().zip(other.results.iter().copied()));
                are_same && types(info) == types(other)
            })
    }

    /// The last of instructions in a block.
    fn last(&self, insts: &[Inst]) -> Inst {
        *insts.iter().max_by_key(|inst| self.sums.spots[inst].position).expect("there are some")
    }

    /// Whether instructions of one block may all be done where the last is.
    fn has_free_way(&self, insts: &[Inst], op: &Op) -> bool {
        let Spot { block, .. } = self.sums.spots[&insts[0]];
        let positions = insts.iter().map(|inst| self.sums.spots[inst].position);
        let (Some(from), Some(to)) = (positions.clone().min(), positions.max()) else { return false };
        self.is_free(block, from, to, op)
    }

    /// Whether loads, stores or other operations may pass what is between two positions.
    fn is_free(&self, block: Block, from: usize, to: usize, op: &Op) -> bool {
        let func = self.func;
        let (loads, stores) = (matches!(op, Op::MatLoad { .. }), matches!(op, Op::MatStore { .. }));
        func.block(block)[from..=to].iter().all(|inst| {
            let info = func.inst(*inst);
            let is_own_store =
                stores && matches!(info.op, Op::MatStore { .. }) && self.sums.spots.contains_key(inst);
            let is_push = |v: &Value| func.ty(*v) == Type::Ptr(Space::Push);
            let reads = match info.op {
                Op::Load(_) => !info.args.iter().all(is_push),
                Op::MatLoad { .. } | Op::MatLoadTensor { .. } | Op::Image(..) => true,
                _ => false,
            };
            let acts = info.op.has_effect() && info.op.var().is_none();
            let is_map = matches!(info.op, Op::MatMap { body } if is_even_map(func, body));
            (is_map || info.op.bodies().next().is_none())
                && (!(loads || stores) || !acts || is_own_store)
                && !(stores && reads)
        })
    }

    /// Whether what is loaded or stored lies side by side, and one below the other.
    fn check_places(&mut self, insts: &[Inst], members: &[Member], edits: &mut Edits) -> Option<()> {
        let block = self.sums.spots[&insts[0]].block;
        let last = self.last(insts);
        for (&inst, &(row, col, _)) in insts.iter().zip(members) {
            // Beside the first of its row, or below the first of its column, which is looked at by itself.
            let heads = [(0, 0), (row, 0), (0, col)].into_iter().filter(|&head| head != (row, col));
            let mut heads = heads.filter_map(|(r, c)| {
                let place = members.iter().position(|&(row, col, _)| (row, col) == (r, c))?;
                Some((insts[place], row - r, col - c))
            });
            let is_known = (row, col) == (0, 0)
                || heads.any(|(head, down, aside)| self.is_at(head, inst, block, down, aside).is_some());
            if !is_known {
                let (count, below) = if col == 0 { (row, true) } else { (col, false) };
                (row == 0 || col == 0).then_some(())?;
                edits.asked.push((last, self.asked(insts[0], inst, (block, last, insts), count, below)?));
            }
        }
        Some(())
    }

    /// Whether a matrix lies so many matrices below another and at its side.
    fn is_at(&mut self, head: Inst, inst: Inst, block: Block, down: usize, aside: usize) -> Option<()> {
        let (first, start) = load(self.func, self.places, head, block)?;
        let (other, at) = load(self.func, self.places, inst, block)?;
        let down = if down > 0 { first.step(true)?.checked_mul(down as i64)? } else { 0 };
        let aside = if aside > 0 { first.step(false)?.checked_mul(aside as i64)? } else { 0 };
        (other == first && at == start.checked_add(down)?.checked_add(aside)?).then_some(())
    }

    /// What is to be asked of a matrix that may be so many matrices below another, or at its side.
    fn asked(
        &mut self,
        head: Inst,
        inst: Inst,
        (block, last, insts): (Block, Inst, &[Inst]),
        count: usize,
        below: bool,
    ) -> Option<Apart> {
        let func = self.func;
        let (first, _) = load(func, self.places, head, block)?;
        let (other, _) = load(func, self.places, inst, block)?;
        let (from, to) = (func.inst(head).args[0], func.inst(inst).args[0]);
        let lines = i64::from(if below { first.ty().rows } else { first.ty().cols });
        let is_early = self.late.is_some_and(|late| !late.is_late(last, insts));
        let can_be_asked = is_early && other.may_follow(&first, below) && func.root(from) == func.root(to);
        let stride = *func.inst(last).args.last()?;
        let lines = lines.checked_mul(count as i64)?;
        let mut guess = |v| self.guesses.of(func, &mut self.places.classes, v);
        let is_likely = guess(to).wrapping_sub(guess(from)) == lines.wrapping_mul(guess(stride));
        (can_be_asked && is_likely).then_some(Apart { from, to, lines, stride })
    }

    /// Makes one load of the factors of multiply-adds.
    fn join_factors(&mut self, mul_adds: &[Inst], side: usize, edits: &mut Edits) -> Option<()> {
        let func = self.func;
        let block = self.sums.spots[&mul_adds[0]].block;
        let factor = |inst: &Inst| func.inst(*inst).args[side];
        if mul_adds.iter().all(|inst| factor(inst) == factor(&mul_adds[0])) {
            return Some(());
        }
        let mut loads: Vec<(usize, i64, Inst)> = Vec::new();
        for v in mul_adds.iter().map(factor) {
            let def = func.values[v.index()].def;
            let position = func.block(block).iter().position(|&i| i == def)?;
            let (_, at) = load(func, self.places, def, block)?;
            let is_own = |user: &Inst| is_mul_add(func, *user) && self.sums.spots.contains_key(user);
            let is_on_side = |user: &Inst| func.inst(*user).args[1 - side] != v;
            let users = &self.sums.mentions.users[&v];
            users.iter().all(|user| is_own(user) && is_on_side(user)).then_some(())?;
            loads.push((position, at, def));
        }
        let &(_, _, base) = loads.iter().min_by_key(|(_, at, _)| *at)?;
        let mut defs: Vec<Inst> = Vec::new();
        loads.iter().for_each(|&(_, _, def)| {
            if !defs.contains(&def) {
                defs.push(def);
            }
        });
        let (&(from, ..), &(to, _, last)) = (loads.iter().min()?, loads.iter().max()?);
        let mul_add = self.last(mul_adds);
        if !self.is_free(block, from, to, &func.inst(base).op) {
            return None;
        }
        for (count, &def) in defs.iter().enumerate().skip(1) {
            let (down, aside) = if side == 0 { (count, 0) } else { (0, count) };
            if self.is_at(defs[0], def, block, down, aside).is_none() && !edits.loads.contains_key(&def) {
                (defs[0] == base).then_some(())?;
                let asked = self.asked(base, def, (block, last, &[]), count, side == 0)?;
                edits.asked.push((last, asked));
            }
        }
        edits.args.push((mul_add, side, Arg::Value(func.inst(last).results[0])));
        for (_, _, inst) in loads {
            match edits.loads.insert(inst, last) {
                None if inst == last => {
                    edits.args.push((last, 0, Arg::Value(func.inst(base).args[0])));
                    let ty = func.ty(func.inst(last).results[0]).mat()?;
                    (ty.use_ == [Use::A, Use::B][side]).then_some(())?;
                    edits.types.push((func.inst(last).results[0], self.wide(ty)?));
                }
                None => _ = edits.removed.insert(inst),
                Some(other) => (other == last).then_some(())?,
            }
        }
        Some(())
    }

    /// What an operand of corresponding instructions becomes.
    fn sum(&mut self, insts: &[Inst], number: usize) -> Option<Arg> {
        let func = self.func;
        let args: Vec<Value> = insts.iter().map(|&inst| func.inst(inst).args[number]).collect();
        let last = func.inst(self.last(insts)).args[number];
        if is_splat(func, last) {
            let class = |this: &mut Self, v: Value| this.places.classes.of(func, func.def(v).args[0]);
            let known = class(self, last);
            let are_alike = args.iter().all(|&v| is_splat(func, v) && class(self, v) == known);
            let wide = self.wide(func.ty(last).mat()?)?;
            return are_alike.then_some(Arg::Splat(wide, func.def(last).args[0]));
        }
        let defs: Vec<Inst> = args.iter().map(|&v| func.values[v.index()].def).collect();
        let spot = |inst: &Inst| self.sums.spots.get(inst).map(|spot| (spot.block, spot.number));
        let known = spot(&defs[0])?;
        defs.iter()
            .all(|def| spot(def) == Some(known))
            .then(|| Arg::Value(func.inst(self.last(&defs)).results[0]))
    }
}

impl Edits {
    fn make(self, func: &mut Function) {
        let Some((var, ty, count)) = self.var else { return };
        func.vars[var.index()].ty = ty.into();
        func.vars[var.index()].count = count;
        for (v, ty) in self.types {
            func.values[v.index()].ty = ty.into();
        }
        let mut before: HashMap<Inst, Vec<Inst>> = HashMap::new();
        let mut asked: BTreeMap<Inst, Vec<Apart>> = BTreeMap::new();
        self.asked.into_iter().for_each(|(inst, apart)| asked.entry(inst).or_default().push(apart));
        for (inst, list) in asked {
            let loc = func.inst(inst).loc;
            before.insert(inst, decline_unless(func, loc, &list));
        }
        for (inst, number, arg) in self.args {
            let v = match arg {
                Arg::Value(v) => v,
                Arg::Index(index) => {
                    let op = Op::Const(index.into());
                    let index = func.new_inst(op, &[], &[Scalar::I32.into()], 0);
                    func.blocks[Function::ENTRY.index()].insert(0, index);
                    func.inst(index).results[0]
                }
                Arg::Splat(ty, scalar) => {
                    let loc = func.inst(inst).loc;
                    let splat = func.new_inst(Op::MatSplat, &[scalar], &[ty.into()], loc);
                    before.entry(inst).or_default().push(splat);
                    func.inst(splat).results[0]
                }
            };
            func.insts[inst.index()].args[number] = v;
        }
        for block in &mut func.blocks {
            let insts = std::mem::take(block);
            for inst in insts.into_iter().filter(|inst| !self.removed.contains(inst)) {
                block.extend(before.remove(&inst).unwrap_or_default());
                block.push(inst);
            }
        }
    }
}

/// Code that declines unless addresses are as far apart as is said.
pub(super) fn decline_unless(func: &mut Function, loc: LocId, list: &[Apart]) -> Vec<Inst> {
    let mut code = Vec::new();
    let mut push = |op: Op, args: &[Value], ty: Option<Type>| {
        let inst = func.new_inst(op, args, ty.as_slice(), loc);
        code.push(inst);
        func.inst(inst).results.first().copied()
    };
    let mut differs: Option<Value> = None;
    for apart in list {
        let word = Some(Scalar::I64.into());
        let distance = push(Op::PtrDiff, &[apart.to, apart.from], word);
        let lines = push(Op::Const(apart.lines.cast_unsigned()), &[], word);
        let expected = lines.and_then(|lines| push(Op::Binary(BinaryOp::Imul), &[apart.stride, lines], word));
        let (Some(distance), Some(expected)) = (distance, expected) else { continue };
        let other = push(Op::Compare(CompareOp::Ine), &[distance, expected], Some(Type::BOOL));
        differs = match (differs, other) {
            (Some(x), Some(y)) => push(Op::Binary(BinaryOp::Or), &[x, y], Some(Type::BOOL)),
            (x, y) => x.or(y),
        };
    }
    if let Some(differs) = differs {
        push(Op::Decline, &[differs], None);
    }
    code
}

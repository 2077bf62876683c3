//! Loops that stage a block in each round and multiply it.

use super::super::chain::{Round, round};
use super::super::counted::Counted;
use super::super::deepen::{depth, have_own_sides, may_be_deeper};
use super::address::Address;
use super::alike::Alike;
use super::object::{Lines, Object};
use crate::entities::{Block, Inst, Label, Value};
use crate::module::Function;
use crate::op::Op;
use crate::tree::{Parent, Tree};
use crate::types::{Scope, Space, Type, Use};
use crate::uniformity::Uniformity;
use std::collections::{BTreeMap, BTreeSet};

/// A loop whose rounds stage a block and multiply it.
pub(super) struct Staged {
    /// The loop.
    pub(super) around: Parent,
    label: Label,
    /// What a round does if there is one.
    pub(super) body: Block,
    pub(super) round: Round,
    /// How many there are, if that is known.
    pub(super) rounds: Option<u64>,
    /// The objects in shared memory that are written in each round.
    pub(super) objects: BTreeMap<Value, Object>,
    /// The stores to them.
    pub(super) stores: Vec<Inst>,
    /// Before the stores, if there is one; before the products; behind them, if there is one.
    pub(super) barriers: [Option<Inst>; 3],
    /// By number: whether a value points into the objects.
    pub(super) pointers: Vec<bool>,
    /// By number: whether it does or is made in the loop.
    pub(super) inside: Vec<bool>,
}

impl Staged {
    /// That with this block as its body.
    pub(super) fn of(func: &Function, tree: &Tree, uses: &[usize], body: Block) -> Option<Self> {
        let branch = tree.parent(body)?;
        let Op::If { then, otherwise } = func.inst(branch.inst).op else { return None };
        let around = tree.parent(branch.block)?;
        let Op::Loop { label, body: head } = func.inst(around.inst).op else { return None };
        let is_plain = then == body
            && func.block(otherwise).is_empty()
            && func.block(head).last() == Some(&branch.inst)
            && func.block(body).last().is_some_and(|&last| func.inst(last).op == Op::Br(label));
        if !is_plain {
            return None;
        }
        let round = round(func, tree, uses, body, around.inst).filter(|round| !round.sums.is_empty())?;
        let barriers = barriers(func, tree, head, body, &round)?;
        let mut this = Self {
            around,
            label,
            body,
            round,
            rounds: Counted::of(func, tree, body)
                .and_then(|counted| counted.rounds(func, tree))
                .map(|(_, n)| n),
            objects: BTreeMap::new(),
            stores: Vec::new(),
            barriers,
            pointers: Vec::new(),
            inside: Vec::new(),
        };
        this.find_stores(func, tree, head)?;
        this.find_values(func, tree, head);
        let is_apart = have_own_sides(func, &this.round)
            && this.round.mul_adds().all(|inst| may_be_deeper(func, inst))
            && this.are_stores_in_place(func, tree)
            && this.are_own(func, tree, head)
            && this.does_nothing_else(func, tree, head)
            && this.round.factors.iter().all(|&factor| is_loaded(func, factor));
        let alike = is_apart.then(|| Alike::of(func, tree, head, body))?;
        let is_right = this.stores.iter().all(|&store| alike.is_stored_alike(func, tree, store, head))
            && this.are_known(func, tree, head, &alike);
        is_right.then_some(this)
    }

    /// Bytes of a block.
    pub(super) fn bytes(&self) -> u64 {
        self.objects.values().map(|object| u64::from(object.bytes)).sum()
    }

    /// The loads of factors, the multiply-adds, and the loads and stores of sums, in program order.
    pub(super) fn products<'a>(&'a self, func: &'a Function) -> impl Iterator<Item = Inst> + 'a {
        let is_factor = |inst: Inst| func.inst(inst).results.iter().any(|v| self.round.factors.contains(v));
        let insts = func.block(self.body).iter().copied();
        insts.filter(move |&inst| is_factor(inst) || self.round.insts().contains(&inst))
    }

    /// Finds what is stored to shared memory, and in which objects.
    fn find_stores(&mut self, func: &Function, tree: &Tree, head: Block) -> Option<()> {
        for &inst in tree.within(head) {
            let info = func.inst(inst);
            if !matches!(info.op, Op::Store(_)) || func.ty(info.args[0]) != Type::Ptr(Space::Shared) {
                continue;
            }
            let root = func.root(info.args[0]);
            let (&Op::SharedPtr { bytes, .. }, []) = (&func.def(root).op, func.def(root).args.as_slice())
            else {
                return None;
            };
            self.objects.insert(root, Object::new(bytes));
            self.stores.push(inst);
        }
        // An object behind another one is aligned as that is.
        let are_even = self.objects.values().all(|object| object.bytes.is_multiple_of(16));
        (are_even && !self.objects.is_empty()).then_some(())
    }

    /// Whether all is stored between the barriers before the products.
    fn are_stores_in_place(&self, func: &Function, tree: &Tree) -> bool {
        let insts = func.block(self.body);
        let position = |inst: Inst| insts.iter().position(|&other| other == inst);
        let [start, end] = [self.barriers[0], self.barriers[1]].map(|barrier| barrier.and_then(position));
        self.stores.iter().all(|&store| {
            let Some(home) = tree.block_of(store) else { return false };
            let outermost = tree.up(home, self.body).last().and_then(|block| tree.parent(block));
            let at = position(outermost.map_or(store, |parent| parent.inst));
            at > start && at < end
        })
    }

    /// Whether nobody else accesses the objects, by whatever name.
    fn are_own(&self, func: &Function, tree: &Tree, head: Block) -> bool {
        let range = |v: Value| match func.def(v).op {
            Op::SharedPtr { offset, bytes } => Some((offset, offset.saturating_add(bytes))),
            _ => None,
        };
        let mine: Vec<_> = self.objects.keys().filter_map(|&v| range(v)).collect();
        let inside: BTreeSet<Inst> = tree.within(head).iter().copied().collect();
        tree.order().iter().all(|inst| {
            let info = func.inst(*inst);
            let is_object = info.results.first().is_some_and(|v| self.objects.contains_key(v));
            if let Some((start, end)) = info.results.first().and_then(|&v| range(v)).filter(|_| !is_object) {
                let is_apart = |&(from, to): &(u32, u32)| end <= from || to <= start;
                // Objects that lie one behind the other are wherever their number says.
                return info.args.is_empty() && mine.iter().all(is_apart);
            }
            let is_access = self.stores.contains(inst)
                || matches!(info.op, Op::PtrAdd { .. })
                || info.results.iter().any(|v| self.round.factors.contains(v)) && inside.contains(inst);
            let is_of_objects = |v: &Value| {
                func.ty(*v) == Type::Ptr(Space::Shared) && {
                    let root = func.root(*v);
                    self.objects.contains_key(&root) || range(root).is_none()
                }
            };
            is_access || !info.args.iter().any(is_of_objects)
        })
    }

    /// Whether nothing but variables and the objects is written in the loop, and all goes on at its end.
    fn does_nothing_else(&self, func: &Function, tree: &Tree, head: Block) -> bool {
        let last = func.block(self.body).last();
        tree.within(head).iter().all(|inst| {
            let op = &func.inst(*inst).op;
            match op {
                Op::If { .. } | Op::Loop { .. } | Op::Block { .. } | Op::VarStore(_) => true,
                Op::Br(to) => *to != self.label || last == Some(inst),
                Op::Store(_) => self.stores.contains(inst),
                Op::Barrier(barrier) => {
                    barrier.execution == Scope::Invocation || self.barriers.contains(&Some(*inst))
                }
                // What a clock says, and others write meanwhile, is not the same later.
                Op::Clock => false,
                _ => !op.has_effect() && op.region().is_none(),
            }
        })
    }

    /// Finds what points into the objects, and what is made in the loop.
    fn find_values(&mut self, func: &Function, tree: &Tree, head: Block) {
        let values = (0..func.values.len()).map(Value::new);
        self.pointers = values.map(|v| self.objects.contains_key(&func.root(v))).collect();
        self.inside = self.pointers.clone();
        for inst in tree.within(head) {
            func.inst(*inst).results.iter().for_each(|v| self.inside[v.index()] = true);
        }
    }

    /// Whether the products need nothing of a round but matrices and what can be made again and is the same in all.
    fn are_known(&self, func: &Function, tree: &Tree, head: Block, alike: &Alike) -> bool {
        let inside: BTreeSet<Inst> = tree.within(head).iter().copied().collect();
        let mut open: Vec<Value> =
            self.products(func).flat_map(|inst| func.inst(inst).args.to_vec()).collect();
        let mut seen = BTreeSet::new();
        while let Some(v) = open.pop() {
            let def = func.values[v.index()].def;
            if !seen.insert(v) || !inside.contains(&def) || func.ty(v).mat().is_some() {
                continue;
            }
            let info = func.inst(def);
            let is_plain = match &info.op {
                Op::Load(_) => func.ty(info.args[0]) != Type::Ptr(Space::Shared),
                // One that is stored in the loop may not be the same where it ends.
                Op::VarLoad(var) => !tree
                    .within(head)
                    .iter()
                    .any(|&inst| func.inst(inst).op.vars().any(|(other, how)| other == *var && how.writes())),
                op => {
                    op.computes()
                        || matches!(
                            op,
                            Op::PtrAdd { .. }
                                | Op::PushPtr
                                | Op::BufferPtr(_)
                                | Op::SharedPtr { .. }
                                | Op::Builtin(_)
                        )
                }
            };
            if !is_plain || alike.differs[v.index()] {
                return false;
            }
            open.extend(&info.args);
        }
        true
    }

    /// Finds how blocks lie in the objects; `None` if several could not lie beside each other.
    pub(super) fn find_lines(&mut self, func: &Function, ranges: &Uniformity) -> Option<()> {
        let mut all = BTreeMap::new();
        for &factor in &self.round.factors {
            let (object, lines) = self.lines(func, factor, ranges)?;
            if *all.entry(object).or_insert(lines) != lines {
                return None;
            }
        }
        for (v, object) in &mut self.objects {
            object.lines = all.get(v).copied()?;
        }
        let stays_in_width = |&store: &Inst| {
            let args = &func.inst(store).args;
            let Lines::Along { line, width } = self.objects[&func.root(args[0])].lines else { return true };
            let bytes = |v: &Value| func.ty(*v).scalar().map_or(i64::MAX >> 8, |s| i64::from(s.bytes()));
            let end = Address::of(func, args[0]).in_line(line, ranges).map(|(_, most)| most);
            end.is_some_and(|end| end + args[1..].iter().map(bytes).sum::<i64>() <= width)
        };
        self.stores.iter().all(stays_in_width).then_some(())
    }

    /// The object that a factor is in, and how.
    fn lines(&self, func: &Function, factor: Value, ranges: &Uniformity) -> Option<(Value, Lines)> {
        let info = func.def(factor);
        let (&Op::MatLoad { column_major, .. }, Type::Mat(m)) = (&info.op, func.ty(factor)) else {
            return None;
        };
        let root = func.root(info.args[0]);
        let bytes = i64::from(self.objects.get(&root)?.bytes);
        let line = func.const_bits(info.args[1]).map(|bits| bits as i64).filter(|&line| line > 0)?;
        let address = Address::of(func, info.args[0]);
        let (start, end) = address.in_line(line, ranges)?;
        let size = i64::from(m.elem.bytes());
        let deep = i64::try_from(depth(m)).ok()?;
        let is_along = column_major == (m.use_ == Use::B);
        if is_along {
            // From the beginning of a line on.
            let is_whole = (start, end) == (0, 0) && deep * size <= line && bytes % line == 0;
            return is_whole.then_some((root, Lines::Along { line, width: deep * size }));
        }
        // All lines of the object, and a part of each.
        let wide = i64::from(if m.use_ == Use::A { m.rows } else { m.cols }) * size;
        let is_whole = !address.leaves_line(line) && deep * line == bytes && end + wide <= line;
        is_whole.then_some((root, Lines::Across))
    }

    /// Places the objects of `count` blocks behind all of shared memory, and says where that ends then.
    pub(super) fn place(&mut self, shared_bytes: u32, count: u32) -> Option<u32> {
        let mut end = shared_bytes;
        for object in self.objects.values_mut() {
            end = end.checked_next_multiple_of(64)?;
            (object.offset, object.count) = (end, count);
            end = end.checked_add(u32::try_from(object.total()).ok()?)?;
        }
        Some(end)
    }
}

/// Whether a factor is loaded from shared memory.
fn is_loaded(func: &Function, factor: Value) -> bool {
    let info = func.def(factor);
    matches!(&info.op, Op::MatLoad { flags, .. } if !flags.volatile)
        && func.ty(info.args[0]) == Type::Ptr(Space::Shared)
}

/// The barriers for the work-group around products, if all are directly in the block: one at most before what is staged,
/// which is missing if there is one behind the products, and one between.
fn barriers(
    func: &Function,
    tree: &Tree,
    head: Block,
    body: Block,
    round: &Round,
) -> Option<[Option<Inst>; 3]> {
    let is_barrier = |inst: &&Inst| match &func.inst(**inst).op {
        Op::Barrier(barrier) => barrier.execution != Scope::Invocation,
        _ => false,
    };
    let insts = func.block(body);
    let all: Vec<Inst> = tree.within(head).iter().filter(is_barrier).copied().collect();
    let positions: Vec<usize> =
        all.iter().map(|inst| insts.iter().position(|other| other == inst)).collect::<Option<_>>()?;
    let makes = |inst: &Inst| func.inst(*inst).results.iter().any(|v| round.factors.contains(v));
    let is_product = |inst: &Inst| round.insts().contains(inst) || makes(inst);
    let first = insts.iter().position(is_product)?;
    let last = insts.iter().rposition(is_product)?;
    let is_for_all = |inst: &Inst| match &func.inst(*inst).op {
        Op::Barrier(barrier) => barrier.execution == Scope::Workgroup,
        _ => false,
    };
    match (all.as_slice(), positions.as_slice()) {
        _ if !all.iter().all(is_for_all) => None,
        (&[between, behind], &[x, y]) if x < first && last < y => Some([None, Some(between), Some(behind)]),
        (&[before, between], &[_, y]) if y < first => Some([Some(before), Some(between), None]),
        _ => None,
    }
}

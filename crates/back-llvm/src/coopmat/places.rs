//! Where each matrix value lives.
//!
//! A matrix is a tile in memory. Copying tiles would cost as much as multiplying them, so a value
//! lives in the variable that it is loaded from, or that it is about to be stored to, wherever
//! nothing disturbs the variable in between:
//!
//! ```text
//! %c = var_load $acc[3]          %c lives in $acc[3]; nothing is copied
//! %r = mat_mul_add %a, %b, %c    %r lives in $acc[3] too: computed in place
//! var_store $acc[3], %r          nothing left to do
//! ```
//!
//! Every other value gets a slot of its own in the subgroup's scratch memory.

use super::uses::{Element, Event, Uses, access, nested};
use phalanx_ir::{Block, Function, Inst, Op, Value, Var};
use std::collections::BTreeSet;

/// A tile in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Place {
    /// An element of a variable.
    Var(Var, Element),
    /// The slot of a value.
    Slot(Value),
}

impl Place {
    /// Whether the two may be the same memory. Slots of different values count as different:
    /// values whose lives overlap never share one.
    pub(crate) fn may_alias(self, other: Self) -> bool {
        match (self, other) {
            (Self::Slot(a), Self::Slot(b)) => a == b,
            (Self::Var(a, i), Self::Var(b, j)) => {
                a == b
                    && match (i, j) {
                        (Element::Const(i), Element::Const(j)) => i == j,
                        _ => true,
                    }
            }
            _ => false,
        }
    }
}

/// The places of all matrix values, and the stores that have become nothing.
#[derive(Debug)]
pub(crate) struct Places {
    place: Vec<Option<Place>>,
    elided: BTreeSet<Inst>,
}

impl Places {
    pub(crate) fn of(func: &Function, uses: &mut Uses) -> Self {
        let mut this = Self { place: vec![None; func.values.len()], elided: BTreeSet::new() };
        for block in 0..func.blocks.len() {
            let block = Block::new(block);
            for pos in 0..func.block(block).len() {
                this.decide(func, uses, block, pos);
            }
        }
        this
    }

    /// Where a matrix value lives.
    pub(crate) fn of_value(&self, v: Value) -> Place {
        self.place[v.index()].unwrap_or(Place::Slot(v))
    }

    /// Whether the store's value is in the variable already.
    pub(crate) fn is_elided(&self, store: Inst) -> bool {
        self.elided.contains(&store)
    }

    fn decide(&mut self, func: &Function, uses: &mut Uses, block: Block, pos: usize) {
        let inst = func.block(block)[pos];
        let info = func.inst(inst);
        let Some(&value) = info.results.first().filter(|&&v| func.ty(v).mat().is_some()) else { return };
        let place = match info.op {
            Op::VarLoad(_) => load_in_place(func, uses, block, pos),
            _ => self.sink(func, uses, block, pos),
        };
        if let Some(Place::Var(var, element)) = place {
            self.place[value.index()] = place;
            let positions = uses.uses[value.index()].clone();
            note_reads(func, uses, block, positions, (value, var, element));
        }
    }

    /// The variable that the value defined at `pos` is stored to, if it may be computed there.
    /// What the variable holds may be looked at until it is written again, by branches, too.
    fn sink(&mut self, func: &Function, uses: &Uses, block: Block, pos: usize) -> Option<Place> {
        let insts = func.block(block);
        let info = func.inst(insts[pos]);
        let value = info.results[0];
        let (store_pos, var, element) = target(func, uses, insts, value)?;
        if let Element::Dynamic(index) = element {
            let (index_block, index_pos) = uses.def[index.index()];
            if index_block == block && index_pos >= pos {
                return None;
            }
        }
        let events = &uses.events[block.index()];
        let last = uses.uses[value.index()].last().copied().unwrap_or(store_pos);
        let place = Place::Var(var, element);
        let is_read_first = |at: usize| match func.inst(insts[at]).op {
            Op::If { then, otherwise } => {
                [then, otherwise].into_iter().all(|block| self.is_read_first(func, uses, block, value, place))
            }
            _ => false,
        };
        let disturbed = events.any(var, element, pos + 1..store_pos, false)
            || insts[pos + 1..store_pos].iter().any(|&inst| leaves(func, inst))
            || events.any(var, element, store_pos + 1..last, true)
            || last > store_pos && events.any(var, element, last..last + 1, true) && !is_read_first(last);
        if disturbed || self.reads_unsafely(info.args.as_slice(), &info.op, place, func) {
            return None;
        }
        if func.inst(insts[store_pos]).args.last() == Some(&value) {
            self.elided.insert(insts[store_pos]);
        }
        Some(place)
    }

    /// Whether what a block reads of a value it reads before it writes the variable that the value lives in.
    fn is_read_first(&self, func: &Function, uses: &Uses, block: Block, value: Value, place: Place) -> bool {
        let Place::Var(var, element) = place else { return false };
        let insts = func.block(block);
        let is_written = |&pos: &usize| {
            let computed =
                || func.inst(insts[pos]).results.iter().any(|&v| self.of_value(v).may_alias(place));
            uses.events[block.index()].any(var, element, pos..pos + 1, true) || computed()
        };
        let written = (0..insts.len()).find(is_written).unwrap_or(insts.len());
        (written..insts.len()).all(|pos| !reads(func, insts[pos], value))
    }

    /// Whether an operation whose result is at `place` could overwrite an operand before it has
    /// been read: a factor of a multiplication, or an operand that only may be the same element.
    fn reads_unsafely(&self, args: &[Value], op: &Op, place: Place, func: &Function) -> bool {
        args.iter().enumerate().filter(|(_, v)| func.ty(**v).mat().is_some()).any(|(i, &v)| {
            let operand = self.of_value(v);
            let in_place = match op {
                Op::MatMulAdd(_) => i == 2,
                Op::Unary(_) | Op::Binary(_) | Op::MatScale | Op::MatInsert | Op::MatMap { .. } => true,
                // What a load leaves alone is read before anything is written.
                Op::MatLoadTensor { .. } => true,
                _ => false,
            };
            operand.may_alias(place) && !(in_place && operand == place)
        })
    }
}

/// Where in a block, and to which element of a variable, a value is stored, or the sum that it is the addend of.
fn target(func: &Function, uses: &Uses, insts: &[Inst], value: Value) -> Option<(usize, Var, Element)> {
    let stored = |value: Value| {
        uses.uses[value.index()].iter().find_map(|&at| {
            match (&func.inst(insts[at]).op, access(func, insts[at])) {
                (Op::VarStore(_), Some((var, element, true))) => Some((at, var, element)),
                _ => None,
            }
        })
    };
    let sum = || {
        let &[at] = &uses.uses[value.index()][..] else { return None };
        let info = func.inst(insts[at]);
        let is_addend = matches!(info.op, Op::MatMulAdd(_)) && info.args[2] == value;
        // Chains of sums are one sum without a variable.
        let is_first = !matches!(func.def(value).op, Op::MatMulAdd(_));
        info.results.first().copied().filter(|&sum| is_addend && is_first && func.ty(sum) == func.ty(value))
    };
    stored(value).or_else(|| stored(sum()?))
}

/// Whether an instruction may go on elsewhere than behind it.
fn leaves(func: &Function, inst: Inst) -> bool {
    let op = &func.inst(inst).op;
    matches!(op, Op::Br(_) | Op::Return | Op::Decline)
        || nested(op).flat_map(|block| func.block(block)).any(|&inst| leaves(func, inst))
}

/// Whether an instruction, or one within it, has a value as an operand.
fn reads(func: &Function, inst: Inst, value: Value) -> bool {
    let info = func.inst(inst);
    let mut within = nested(&info.op).flat_map(|block| func.block(block));
    info.args.contains(&value) || within.any(|&inst| reads(func, inst, value))
}

/// Notes that the uses of a value in a block read a variable, in blocks within it as well.
fn note_reads(
    func: &Function,
    uses: &mut Uses,
    block: Block,
    positions: impl IntoIterator<Item = usize>,
    (value, var, element): (Value, Var, Element),
) {
    for pos in positions {
        uses.events[block.index()].add(var, element, Event { pos, writes: false });
        for nested in nested(&func.inst(func.block(block)[pos]).op) {
            let insts = func.block(nested).iter().enumerate();
            let positions = insts.filter(|&(_, &inst)| reads(func, inst, value)).map(|(pos, _)| pos);
            note_reads(func, uses, nested, positions.collect::<Vec<_>>(), (value, var, element));
        }
    }
}

/// The variable itself, if nothing writes the element while the loaded value is in use.
fn load_in_place(func: &Function, uses: &Uses, block: Block, pos: usize) -> Option<Place> {
    let inst = func.block(block)[pos];
    let value = func.inst(inst).results[0];
    let (var, element, _) = access(func, inst)?;
    let last = *uses.uses[value.index()].last()?;
    // A construct may write and then read; a plain instruction reads before it writes.
    let is_construct =
        matches!(func.inst(func.block(block)[last]).op, Op::If { .. } | Op::Block { .. } | Op::Loop { .. });
    let end = if is_construct { last + 1 } else { last };
    let written = uses.events[block.index()].any(var, element, pos + 1..end, true);
    (!written).then_some(Place::Var(var, element))
}

//! Blocks of loops that are executed without looking at bounds where all that they access is inside.
//!
//! Looking at a bound and choosing an address cost as much as what a loop does with what it loads. Where addresses do not depend
//! on what the block itself loads, they are looked at once, before it:
//!
//! ```text
//! if all are inside { the block, whose accesses do not look } else { the block }
//! ```
//!
//! Accesses that move by the same indices are looked at as one ([`Area`]), by comparing an index with how many there are. An area
//! may be larger than what they access: then the second way does what the first would have done.
//!
//! Threads part here, so nothing in such a block concerns more than a thread.

use crate::coopmat::{self, Memory};
use crate::lower::{Flow, Lower, Ptr};
use inkwell::IntPredicate;
use phalanx_emit_llvm::{Error, Result, V, const_int};
use phalanx_ir::{Block, Function, Inst, Op, Space, Type, Value, Var};
use std::collections::{HashMap, HashSet};

/// Fewest accesses for which a block is executed one way or the other.
const MIN_ACCESSES: usize = 2;
/// Most instructions of a block, which is lowered twice.
const MAX_INSTS: usize = 4096;
/// Most bytes by which an index may move an access within an area.
const MAX_REACH: u128 = 256;
/// Most bytes of an area that nobody may access, unless it is an element of an array.
const MAX_SLACK: i128 = 32;

/// A block that is executed one way or the other.
#[derive(Debug)]
pub(crate) struct Within {
    /// What is done before, as addresses depend on it.
    early: Vec<Inst>,
    rest: Vec<Inst>,
    /// What is known to be inside on the first way.
    accesses: HashSet<Inst>,
    areas: Vec<Area>,
}

/// Memory that is accessed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Area {
    /// A pointer that nothing has moved.
    root: Value,
    /// What moves it: indices, and by how many bytes.
    terms: Vec<(Value, i64)>,
    /// Bytes from there on.
    first: i128,
    end: i128,
}

/// What of a block can be done before it.
struct Search<'f> {
    f: &'f Function,
    /// What stands in the block, in order, and where.
    insts: &'f [Inst],
    places: HashMap<Inst, usize>,
    /// What is to be done.
    early: HashSet<Inst>,
}

impl<'f> Search<'f> {
    fn of(f: &'f Function, block: Block) -> Self {
        let insts = f.block(block);
        Self { f, insts, places: insts.iter().copied().zip(0..).collect(), early: HashSet::new() }
    }

    /// Whether a value that is used at a place of the block can be there before it; notes what is to be done for that.
    fn is_early(&mut self, v: Value, before: usize) -> bool {
        let def = self.f.values[v.index()].def;
        let Some(&at) = self.places.get(&def) else {
            // From before the block.
            return true;
        };
        if at >= before {
            return false;
        }
        if self.early.contains(&def) {
            return true;
        }
        let info = self.f.inst(def);
        let may_be = match info.op {
            Op::Load(flags) => !flags.volatile && self.f.ty(info.args[0]) == Type::Ptr(Space::Push),
            Op::VarLoad(var) => !self.insts[..at].iter().any(|&inst| self.may_write(inst, var)),
            ref op => op.computes() || matches!(op, Op::Builtin(_)) || moves_pointers(op),
        };
        if may_be && info.args.iter().all(|&arg| self.is_early(arg, at)) {
            self.early.insert(def);
            return true;
        }
        false
    }

    /// Whether an instruction, or one within it, writes a variable.
    fn may_write(&self, inst: Inst, var: Var) -> bool {
        let op = &self.f.inst(inst).op;
        op.vars().any(|(other, how)| other == var && how.writes())
            || op.bodies().any(|body| self.f.block(body).iter().any(|&inst| self.may_write(inst, var)))
    }
}

/// Whether an operation makes or moves pointers.
fn moves_pointers(op: &Op) -> bool {
    matches!(op, Op::BufferPtr(_) | Op::PushPtr | Op::SharedPtr { .. } | Op::PtrAdd { .. })
}

/// Whether an operation, with all within it, is a thread's own matter, and no loop.
fn is_plain(f: &Function, inst: Inst) -> bool {
    let op = &f.inst(inst).op;
    let is_plain_itself = match op {
        Op::Load(_)
        | Op::Store(_)
        | Op::Atomic(_)
        | Op::Builtin(_)
        | Op::If { .. }
        | Op::Block { .. }
        | Op::Br(_)
        | Op::VarLoad(_)
        | Op::VarStore(_)
        | Op::PtrBytesLeft
        | Op::PtrDiff
        | Op::PtrToInt
        | Op::IntToPtr => true,
        op => op.computes() || moves_pointers(op),
    };
    is_plain_itself && op.bodies().all(|body| f.block(body).iter().all(|&inst| is_plain(f, inst)))
}

/// How many instructions there are in a block and within.
fn length(f: &Function, block: Block) -> usize {
    let within = |&inst: &Inst| f.inst(inst).op.bodies().map(|body| length(f, body)).sum::<usize>();
    f.block(block).iter().map(|inst| 1 + within(inst)).sum()
}

/// How many loads and stores there are in the block with the most of them, of those within a block.
fn most_within(f: &Function, block: Block) -> usize {
    let is_access = |inst: &&Inst| matches!(f.inst(**inst).op, Op::Load(_) | Op::Store(_));
    let own = |body: Block| f.block(body).iter().filter(is_access).count();
    let bodies = f.block(block).iter().flat_map(|&inst| f.inst(inst).op.bodies());
    bodies.map(|body| own(body).max(most_within(f, body))).max().unwrap_or(0)
}

impl<'c> Lower<'_, 'c> {
    /// Looks whether a block of a loop is one that is executed one way or the other.
    pub(crate) fn find_within(&self, block: Block) -> Option<Within> {
        if self.loops == 0 || self.known_inside.is_some() || self.tells_apart(block) {
            return None;
        }
        // What is brought ahead has rounds of its own.
        if self.ahead.is_some() || self.ring.is_some() || self.blocks.is_some() {
            return None;
        }
        let f = self.f;
        let insts = f.block(block);
        let fits = length(f, block) <= MAX_INSTS && insts.iter().all(|&inst| is_plain(f, inst));
        if !fits || insts.iter().any(|&inst| coopmat::concerns(f, f.inst(inst))) {
            return None;
        }
        let mut search = Search::of(f, block);
        let (mut accesses, mut areas) = (HashSet::new(), Vec::new());
        for (at, &inst) in insts.iter().enumerate() {
            if let Some(area) = self.area(inst)
                && search.is_early(area.root, at)
                && area.terms.iter().all(|&(index, _)| search.is_early(index, at))
            {
                accesses.insert(inst);
                add(&mut areas, area);
            }
        }
        // One with more in it has its turn when this one is gone through.
        if accesses.len() < MIN_ACCESSES.max(most_within(f, block)) {
            return None;
        }
        let (early, rest) = insts.iter().partition(|inst| search.early.contains(inst));
        Some(Within { early, rest, accesses, areas })
    }

    /// What a load or a store accesses, if somebody has to look whether it is inside.
    fn area(&self, inst: Inst) -> Option<Area> {
        let f = self.f;
        let info = f.inst(inst);
        let values = match info.op {
            Op::Load(_) => &info.results[..],
            Op::Store(_) => &info.args[1..],
            _ => return None,
        };
        let root = info.args[0];
        let bytes = self.bytes_of(values).ok()?.into();
        let has_bounds = matches!(f.ty(root), Type::Ptr(Space::Buffer | Space::Shared));
        if !has_bounds || self.is_range_inside(root, bytes) {
            return None;
        }
        let mut area = Area { root, terms: Vec::new(), first: 0, end: bytes };
        // Indices of few values, and how far they move it.
        let mut small = Vec::new();
        while let Op::PtrAdd { scale, disp } = f.def(area.root).op {
            let args = &f.def(area.root).args;
            area.first += i128::from(disp);
            area.end += i128::from(disp);
            if let Some(&index) = args.get(1) {
                let (low, high) = self.uniformity.range(index);
                let ends = [low, high].map(|end| i128::from(end) * i128::from(scale));
                match ends[0].abs_diff(ends[1]) <= MAX_REACH {
                    true => small.push((index, scale, ends[0].min(ends[1]), ends[0].max(ends[1]))),
                    false => area.terms.push((index, scale)),
                }
            }
            area.root = args[0];
        }
        // Within an element of an array it may move as it likes.
        let element = area.terms.iter().map(|&(_, scale)| scale.unsigned_abs()).max().unwrap_or(0);
        let (least, most) = small.iter().fold((0, 0), |(x, y), &(_, _, least, most)| (x + least, y + most));
        if most - least <= i128::from(element).max(bytes + MAX_SLACK) - bytes {
            area.first += least;
            area.end += most;
        } else {
            area.terms.extend(small.iter().map(|&(index, scale, ..)| (index, scale)));
        }
        let is_small = |x: i128| x.abs() < 1 << 31;
        (is_small(area.first) && is_small(area.end)).then_some(area)
    }

    /// Whether an access is on the way on which it is inside.
    pub(crate) fn is_found_inside(&self, inst: Inst) -> bool {
        self.known_inside.as_ref().is_some_and(|known| known.contains(&inst))
    }

    /// Lowers a block one way and the other.
    pub(crate) fn lower_within(&mut self, within: Within) -> Result<Flow> {
        self.sequence(&within.early)?;
        let mut all = self.e.bool(true);
        for area in &within.areas {
            if let Some(is_inside) = self.is_area_inside(area)? {
                all = self.e.and(all, is_inside)?;
            }
        }
        let [inside, looking, done] = ["inside", "looking", "done"].map(|name| self.new_block(name));
        self.e.cond_br_likely(all, inside, looking)?;
        let mut flow = Flow::Left;
        for (start, known) in [(inside, within.accesses), (looking, HashSet::new())] {
            self.e.b.position_at_end(start);
            let sizes = match known.is_empty() {
                true => self.hide_sizes(&within.areas)?,
                false => Vec::new(),
            };
            self.known_inside = Some(known);
            let own = self.sequence(&within.rest);
            self.known_inside = None;
            sizes.into_iter().for_each(|(root, p)| self.set_ptr(root, p));
            if own? == Flow::Next {
                self.e.br(done)?;
                flow = Flow::Next;
            }
        }
        self.e.b.position_at_end(done);
        if flow == Flow::Left {
            self.e.b.build_unreachable()?;
        }
        Ok(flow)
    }

    /// Hides from LLVM that sizes of objects are the same in all rounds: what follows from them would be computed before the
    /// loop for a way that is hardly ever taken. Gives the pointers as they were.
    fn hide_sizes(&mut self, areas: &[Area]) -> Result<Vec<(Inst, Ptr<'c>)>> {
        let mut before: Vec<(Inst, Ptr<'c>)> = Vec::new();
        for root in areas.iter().map(|area| area.root) {
            let (def, p) = (self.f.values[root.index()].def, self.ptr(root)?);
            if const_int(p.size).is_some() || before.iter().any(|&(other, _)| other == def) {
                continue;
            }
            let size =
                self.assembly("mov.b64 $0, $1;", &[self.e.cx.i64_type().into()], &[p.size], Memory::Write)?;
            self.set_ptr(def, Ptr { size: size[0], ..p });
            before.push((def, p));
        }
        Ok(before)
    }

    /// Whether memory is inside of its object; nothing where there are no bounds.
    fn is_area_inside(&mut self, area: &Area) -> Result<Option<V<'c>>> {
        let mut p = self.ptr(area.root)?;
        let bytes = u64::try_from(area.end - area.first).map_err(|_| Error::bug("an area of no bytes"))?;
        if let (&[(index, scale)], Ok(first)) = (&area.terms[..], u64::try_from(area.first))
            && self.f.ty(index).scalar().is_some_and(|s| s.bits() == 32)
            && scale > 0
            && const_int(p.offset) == Some(0)
        {
            // How many indices lead to the inside is the same in all rounds.
            let room = self.e.map2("llvm.usub.sat", p.size, self.e.i64((first + bytes - 1) as i64))?;
            let scale = self.e.i64(scale);
            let count = self.e.b.build_int_unsigned_div(
                self.e.add(room, self.e.sub(scale, self.e.i64(1))?)?.into_int_value(),
                scale.into_int_value(),
                "",
            )?;
            let most = self.e.i64(1 << 31);
            let count = self.e.map2("llvm.umin", count.into(), most)?;
            let index = self.scalar(index)?;
            let count = self.e.zext_trunc(count, 32)?;
            return self.e.icmp(IntPredicate::ULT, index, count).map(Some);
        }
        for &(index, scale) in &area.terms {
            let index = self.e.sext_trunc(self.scalar(index)?, 64)?;
            p.offset = self.e.add(p.offset, self.e.mul(index, self.e.i64(scale))?)?;
        }
        p.offset = self.e.add(p.offset, self.e.i64(area.first as i64))?;
        self.inside(&p, bytes)
    }
}

/// Adds an area to others: to one that moves by the same, if they are near each other.
fn add(areas: &mut Vec<Area>, area: Area) {
    let is_near = |other: &&mut Area| {
        let both = other.end.max(area.end) - other.first.min(area.first);
        let own = (other.end - other.first) + (area.end - area.first);
        other.root == area.root && other.terms == area.terms && both <= own + MAX_SLACK
    };
    match areas.iter_mut().find(is_near) {
        Some(other) => {
            other.first = other.first.min(area.first);
            other.end = other.end.max(area.end);
        }
        None => areas.push(area),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_that_move_together_are_joined_if_they_are_near() {
        let [x, y] = [0, 1].map(Value::new);
        let area = |index, first, end| Area { root: x, terms: vec![(index, 18)], first, end };
        let mut areas = Vec::new();
        for (index, first, end) in [(x, 0, 2), (x, 4, 18), (y, 0, 2), (x, 100, 104), (x, 16, 20)] {
            add(&mut areas, area(index, first, end));
        }
        assert_eq!(areas, [area(x, 0, 20), area(y, 0, 2), area(x, 100, 104)]);
    }
}

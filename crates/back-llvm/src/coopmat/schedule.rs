//! Which multiply-adds are done together.
//!
//! A kernel author writes a tile of the result as an array of matrices:
//!
//! ```text
//! acc[0] += a[0] * b[0];  acc[1] += a[0] * b[1];  acc[2] += a[1] * b[0];  acc[3] += a[1] * b[1];
//! ```
//!
//! One kernel call for all of them keeps accumulators in registers and reads each factor once.
//! A multiply-add is therefore put off until an instruction needs its result, or disturbs what it
//! reads; those that are then pending form a [`Group`]. Only matrices move: a group reads and
//! writes tiles private to the subgroup, so other memory accesses and barriers may pass it.

use super::places::{Place, Places};
use super::uses::{Element, Uses, access, nested};
use phalanx_ir::{Block, Function, Inst, MulAddFlags, Op, Type, Value};
use std::collections::BTreeMap;

/// Multiply-adds of one type done by one kernel call:
/// `r[i][j] = c[i][j] + Σ_k a[i][k] * b[k][j]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Rows of tiles.
    pub(crate) m: usize,
    /// Columns of tiles.
    pub(crate) n: usize,
    /// Multiply-adds in a chain.
    pub(crate) k: usize,
    /// `a[i][k]` at `i * k + k`.
    pub(crate) a: Vec<Value>,
    /// `b[k][j]` at `k * n + j`.
    pub(crate) b: Vec<Value>,
    /// `c[i][j]` at `i * n + j`.
    pub(crate) c: Vec<Value>,
    /// `r[i][j]` at `i * n + j`.
    pub(crate) r: Vec<Value>,
}

/// When groups are done.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    /// The groups done at an instruction, in order: the last multiply-add of each set of pending ones.
    groups: BTreeMap<Inst, Vec<Group>>,
    /// For a multiply-add, the position in its block at which it is done.
    pub(crate) done_at: BTreeMap<Inst, usize>,
}

impl Schedule {
    pub(crate) fn of(func: &Function, uses: &Uses, places: &Places) -> Self {
        let mut this = Self::default();
        for block in 0..func.blocks.len() {
            this.schedule_block(func, uses, places, Block::new(block));
        }
        this
    }

    /// The groups to do at this instruction.
    pub(crate) fn groups_at(&self, inst: Inst) -> &[Group] {
        self.groups.get(&inst).map_or(&[], Vec::as_slice)
    }

    /// All groups.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &Group> {
        self.groups.values().flatten()
    }

    fn schedule_block(&mut self, func: &Function, uses: &Uses, places: &Places, block: Block) {
        let mut pending = Pending::default();
        for (pos, &inst) in func.block(block).iter().enumerate() {
            match func.inst(inst).op {
                Op::MatMulAdd(flags) => {
                    let member = Member::new(func, uses, places, inst, pos, flags);
                    if let Some(member) = pending.push(member) {
                        self.close(func, &mut pending);
                        let left = pending.push(member);
                        assert!(left.is_none(), "anything may join nothing");
                    }
                }
                _ if nested(&func.inst(inst).op).next().is_some() => self.close(func, &mut pending),
                _ => {
                    if pending.conflicts(func, places, inst) {
                        self.close(func, &mut pending);
                    }
                }
            }
        }
        self.close(func, &mut pending);
    }

    fn close(&mut self, func: &Function, pending: &mut Pending) {
        let Pending { members, chains, .. } = std::mem::take(pending);
        let Some(last) = members.last() else { return };
        for member in &members {
            self.done_at.insert(member.inst, last.pos);
        }
        let last = last.inst;
        self.groups.insert(last, form_groups(func, &members, &chains));
    }
}

/// A multiply-add waiting to be done.
#[derive(Clone, Debug)]
struct Member {
    inst: Inst,
    pos: usize,
    key: Key,
    a: Place,
    b: Place,
    c: Place,
    r: Place,
    /// Whether the addend is of no use to anything else.
    owns_c: bool,
}

/// What the members of a group have in common.
type Key = ([Type; 4], MulAddFlags);

impl Member {
    fn new(
        func: &Function,
        uses: &Uses,
        places: &Places,
        inst: Inst,
        pos: usize,
        flags: MulAddFlags,
    ) -> Self {
        let info = func.inst(inst);
        let (a, b, c, r) = (info.args[0], info.args[1], info.args[2], info.results[0]);
        Self {
            inst,
            pos,
            key: ([func.ty(a), func.ty(b), func.ty(c), func.ty(r)], flags),
            a: places.of_value(a),
            b: places.of_value(b),
            c: places.of_value(c),
            r: places.of_value(r),
            owns_c: uses.uses[c.index()].len() == 1 && matches!(func.def(c).op, Op::MatMulAdd(_)),
        }
    }
}

/// The largest number of multiply-adds done together, and of their steps; bounds the pointers passed to a kernel.
const MAX_MEMBERS: usize = 256;
const MAX_STEPS: usize = 1024;

/// In a map from place to chain: more than one chain.
const SHARED: usize = usize::MAX;

/// A result tile: the chain of multiply-adds that sum up to it.
#[derive(Debug)]
struct Chain {
    /// Where the sum so far would be.
    tail: Place,
    /// Indices of its members.
    members: Vec<usize>,
}

#[derive(Debug, Default)]
struct Pending {
    members: Vec<Member>,
    chains: Vec<Chain>,
    /// Places of factors.
    factors: BTreeMap<Place, usize>,
    /// Places of addends, and the chain that starts there.
    reads: BTreeMap<Place, usize>,
    /// Places of results, and the chain that ends there.
    writes: BTreeMap<Place, usize>,
}

impl Pending {
    /// Adds a member, if the order among members stays free but for chains, in which one adds to
    /// what another has just computed; gives it back otherwise.
    fn push(&mut self, member: Member) -> Option<Member> {
        let ([a, ..], flags) = member.key;
        let most = MAX_MEMBERS.min(MAX_STEPS / super::steps_of(a, flags) as usize);
        let fits = self.members.first().is_none_or(|first| first.key == member.key)
            && self.members.len() < most
            && !any_alias(&self.writes, member.a, None)
            && !any_alias(&self.writes, member.b, None)
            && !any_alias(&self.factors, member.r, None);
        let tail_of = self.writes.get(&member.c).copied().filter(|&c| self.chains[c].tail == member.c);
        let except = |map: &BTreeMap<Place, usize>, place: Place| {
            (tail_of.is_some() && map.get(&place).copied() == tail_of).then_some(place)
        };
        // The sum so far must be the next addend exactly, and be seen by nothing else.
        let chains = member.key.0[2] == member.key.0[3]
            && !member.key.1.saturate
            && (member.r == member.c || member.owns_c);
        let fits = fits
            && (tail_of.is_none() || chains)
            && !any_alias(&self.writes, member.c, tail_of.map(|_| member.c))
            && !any_alias(&self.reads, member.r, except(&self.reads, member.r))
            && !any_alias(&self.writes, member.r, except(&self.writes, member.r));
        if !fits {
            return Some(member);
        }
        let index = self.members.len();
        let chain = tail_of.unwrap_or(self.chains.len());
        if tail_of.is_none() {
            self.chains.push(Chain { tail: member.r, members: Vec::new() });
            let shared = self.reads.get(&member.c).is_some_and(|&other| other != chain);
            self.reads.insert(member.c, if shared { SHARED } else { chain });
        }
        self.chains[chain].tail = member.r;
        self.chains[chain].members.push(index);
        for place in [member.a, member.b] {
            self.factors.insert(place, index);
        }
        self.writes.insert(member.r, chain);
        self.members.push(member);
        None
    }

    /// Whether an instruction that is not a multiply-add needs or disturbs what is pending.
    fn conflicts(&self, func: &Function, places: &Places, inst: Inst) -> bool {
        if self.members.is_empty() {
            return false;
        }
        let info = func.inst(inst);
        let is_elided = matches!(info.op, Op::VarStore(_)) && places.is_elided(inst);
        let in_place = |v: Value| matches!((places.of_value(v), &info.op), (Place::Var(..), Op::VarLoad(_)));
        let reads_value = !is_elided
            && info
                .args
                .iter()
                .filter(|&&v| func.ty(v).mat().is_some())
                .any(|&v| any_alias(&self.writes, places.of_value(v), None));
        let var_access = access(func, inst).filter(|_| !is_elided).is_some_and(|(var, element, writes)| {
            let place = Place::Var(var, element);
            match (writes, info.results.first()) {
                (false, Some(&v)) if in_place(v) => false,
                (false, _) => any_alias(&self.writes, place, None),
                (true, _) => self.touches(place),
            }
        });
        let writes_result = info
            .results
            .iter()
            .filter(|&&v| func.ty(v).mat().is_some() && !in_place(v))
            .any(|&v| self.touches(places.of_value(v)));
        reads_value || var_access || writes_result
    }

    fn touches(&self, place: Place) -> bool {
        [&self.writes, &self.factors, &self.reads].into_iter().any(|set| any_alias(set, place, None))
    }
}

/// Whether `place` may be the same memory as one in the set other than `except`.
fn any_alias(set: &BTreeMap<Place, usize>, place: Place, except: Option<Place>) -> bool {
    match place {
        // The only alias of a slot is itself.
        Place::Slot(_) => Some(place) != except && set.contains_key(&place),
        Place::Var(var, Element::Const(_)) => {
            (Some(place) != except && set.contains_key(&place))
                || set
                    .range(Place::Var(var, Element::Dynamic(Value::new(0)))..=Place::Var(var, DYNAMIC_END))
                    .next()
                    .is_some()
        }
        Place::Var(var, Element::Dynamic(_)) => set
            .range(Place::Var(var, Element::Const(0))..=Place::Var(var, DYNAMIC_END))
            .any(|(p, _)| Some(*p) != except),
    }
}

/// Greater than every other element.
const DYNAMIC_END: Element = Element::Dynamic(Value::new(u32::MAX as usize - 1));

/// Arranges members as full grids, a group for each; chains that make none are groups by themselves.
fn form_groups(func: &Function, members: &[Member], chains: &[Chain]) -> Vec<Group> {
    let mut groups = Vec::new();
    for related in families(members, chains) {
        match grid(func, members, &related) {
            Some(group) => groups.push(group),
            None => groups.extend(related.iter().map(|chain| single(func, members, chain))),
        }
    }
    groups
}

/// The chains by families: of equal length, and related by factors that they have in common. A program that multiplies
/// numbers in two parts, for instance, adds up the products of parts in sums of their own, each of which is a grid.
fn families<'a>(members: &[Member], chains: &'a [Chain]) -> Vec<Vec<&'a Chain>> {
    let mut family_of: BTreeMap<(usize, Vec<Place>), usize> = BTreeMap::new();
    let mut families: Vec<Vec<&Chain>> = Vec::new();
    for chain in chains {
        let sides = [(0, factors(members, chain, |m| m.a)), (1, factors(members, chain, |m| m.b))];
        let known: Vec<usize> = sides.iter().filter_map(|side| family_of.get(side).copied()).collect();
        let family = known.first().copied().unwrap_or_else(|| {
            families.push(Vec::new());
            families.len() - 1
        });
        // Two that turn out to be related are one.
        if let Some(&other) = known.get(1).filter(|&&other| other != family) {
            let moved = std::mem::take(&mut families[other]);
            families[family].extend(moved);
            family_of.values_mut().filter(|f| **f == other).for_each(|f| *f = family);
        }
        families[family].push(chain);
        family_of.extend(sides.into_iter().map(|side| (side, family)));
    }
    families.retain(|family| !family.is_empty());
    families
}

/// The factors of one side along a chain.
fn factors(members: &[Member], chain: &Chain, of: fn(&Member) -> Place) -> Vec<Place> {
    chain.members.iter().map(|&m| of(&members[m])).collect()
}

/// The chains as one grid, if their factors make one.
fn grid(func: &Function, members: &[Member], chains: &[&Chain]) -> Option<Group> {
    let k = chains[0].members.len();
    let mut rows: Vec<Vec<Place>> = Vec::new();
    let mut cols: Vec<Vec<Place>> = Vec::new();
    let mut row_index: BTreeMap<Vec<Place>, usize> = BTreeMap::new();
    let mut col_index: BTreeMap<Vec<Place>, usize> = BTreeMap::new();
    let mut cells: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (index, chain) in chains.iter().enumerate() {
        let i = number(&mut row_index, &mut rows, factors(members, chain, |m| m.a));
        let j = number(&mut col_index, &mut cols, factors(members, chain, |m| m.b));
        if cells.insert((i, j), index).is_some() {
            return None;
        }
    }
    let (m, n) = (rows.len(), cols.len());
    if cells.len() != m * n {
        return None;
    }
    let cell = |i: usize, j: usize| chains[cells[&(i, j)]];
    let arg = |member: usize, operand: usize| func.inst(members[member].inst).args[operand];
    let mut group = Group { m, n, k, a: Vec::new(), b: Vec::new(), c: Vec::new(), r: Vec::new() };
    for i in 0..m {
        group.a.extend((0..k).map(|kk| arg(cell(i, 0).members[kk], 0)));
        for j in 0..n {
            let chain = &cell(i, j).members;
            group.c.push(arg(chain[0], 2));
            group.r.push(func.inst(members[chain[k - 1]].inst).results[0]);
        }
    }
    for kk in 0..k {
        group.b.extend((0..n).map(|j| arg(cell(0, j).members[kk], 1)));
    }
    Some(group)
}

/// The number of a factor sequence, a new one if it is new.
fn number(index: &mut BTreeMap<Vec<Place>, usize>, list: &mut Vec<Vec<Place>>, key: Vec<Place>) -> usize {
    *index.entry(key.clone()).or_insert_with(|| {
        list.push(key);
        list.len() - 1
    })
}

fn single(func: &Function, members: &[Member], chain: &Chain) -> Group {
    let arg = |m: usize, operand: usize| func.inst(members[m].inst).args[operand];
    let last = *chain.members.last().expect("a chain has a member");
    Group {
        m: 1,
        n: 1,
        k: chain.members.len(),
        a: chain.members.iter().map(|&m| arg(m, 0)).collect(),
        b: chain.members.iter().map(|&m| arg(m, 1)).collect(),
        c: vec![arg(chain.members[0], 2)],
        r: vec![func.inst(members[last].inst).results[0]],
    }
}

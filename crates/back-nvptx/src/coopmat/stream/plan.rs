//! Which multiply-adds get their factors from producers, and what producers execute.

use super::boxes::Boxes;
use super::cluster::Cluster;
use super::delay::Delay;
use super::late::{Blank, Late};
use super::runs::is_straight;
use super::skip::{self, Skip};
use super::slot::{ALIGN, Part, ROWS};
use super::turns::Turns;
use super::{PRODUCERS, ring};
use crate::arch::Arch;
use phalanx_ir::{
    Block, Builtin, Function, Inst, Label, MatType, Module, Op, Scalar, Scope, Space, Type, Uniformity, Use,
    Value, Var,
};

/// Most words that an invocation holds of sums.
const MAX_SUMS: u32 = 128;
/// Registers of a multiprocessor.
const REGISTERS: u32 = 65536;
/// Most columns that one instruction multiplies.
pub(super) const MAX_COLUMNS: u32 = 256;

/// A multiply-add whose factors come through the ring.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) mul_add: Inst,
    /// The left factor, unless invocations have it in registers, where producers can't bring it.
    pub(crate) a: Option<Part>,
    pub(crate) b: Part,
    /// Of a left factor that stays for all rounds: where it is behind the words, and the instruction from which on it is there.
    pub(super) stays: Option<(u32, Inst)>,
    /// Whether its sums are nothing but the addend of the next round, so that it need not be waited for.
    pub(crate) is_chained: bool,
}

impl Stream {
    /// Whether products of a part of K are summed by themselves, as the instruction sums them in fewer digits than the sums
    /// have.
    pub(super) fn is_promoted(&self) -> bool {
        matches!(self.b.m.elem, Scalar::E4M3 | Scalar::E5M2)
    }

    /// Where the right factor begins in a slot.
    pub(super) fn right_at(&self) -> u32 {
        let in_slot = self.a.filter(|_| self.stays.is_none());
        in_slot.map_or(0, |a| a.bytes().next_multiple_of(ALIGN))
    }
}

/// The plan of a module.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) streams: Vec<Stream>,
    /// By instruction: the stream and whether it is the left factor that it gives.
    pub(super) fills: Vec<Option<(usize, Use)>>,
    /// By instruction: the streams whose slot is waited for before it.
    pub(super) starts: Vec<Option<usize>>,
    /// By instruction: whether producers execute it.
    pub(super) is_produced: Vec<bool>,
    /// By instruction: whether the invocations do not: it moves factors.
    pub(super) is_moved: Vec<bool>,
    /// By loop: variables whose sums are waited for behind it.
    pub(super) settles: Vec<Vec<Var>>,
    /// Where groups of warps take turns.
    pub(super) turns: Option<Turns>,
    /// Which product is put off to the next round.
    pub(super) delay: Option<Delay>,
    /// What is added behind a loop.
    pub(super) late: Option<Late>,
    /// What begins with zeros.
    pub(super) blank: Option<Blank>,
    /// Branches that producers do not know of.
    pub(super) skips: Vec<Skip>,
    /// What is copied in boxes.
    pub(crate) boxes: Boxes,
    /// What two work-groups share.
    pub(crate) cluster: Option<Cluster>,
    /// Bytes of shared memory, with the ring.
    pub(crate) shared_bytes: u32,
}

impl Plan {
    /// Bytes of the factors that stay.
    pub(super) fn bytes_that_stay(&self) -> u32 {
        let staying = self.streams.iter().filter(|stream| stream.stays.is_some());
        staying.filter_map(|stream| stream.a).map(|a| a.bytes().next_multiple_of(ALIGN)).sum()
    }

    /// Bytes of the factor that an instruction gives.
    pub(super) fn bytes_of(&self, fill: Inst) -> u32 {
        let Some((stream, use_)) = self.fills[fill.index()] else { return 0 };
        let stream = &self.streams[stream];
        if use_ == Use::A { stream.a.map_or(0, |a| a.bytes()) } else { stream.b.bytes() }
    }

    /// Whether a slot that is filled from an instruction on and multiplied by another has nothing of the other streams in it:
    /// producers are at one slot until they come to its product.
    fn is_apart(&self, places: &Places<'_>, first: Inst, mul_add: Inst) -> Option<bool> {
        let (from, to) = (places.number(first)?, places.number(mul_add)?);
        let mut others = self.starts.iter().enumerate().filter_map(|(i, &stream)| {
            Some((places.number(Inst::new(i))?, places.number(self.streams[stream?].mul_add)?))
        });
        Some(others.all(|(start, end)| end < from || to < start))
    }

    /// The stream whose left factor stays and is there from an instruction on.
    pub(super) fn stays_from(&self, inst: Inst) -> Option<usize> {
        self.streams.iter().position(|stream| stream.stays.is_some_and(|(_, from)| from == inst))
    }

    /// Whether producers copy words as they are, or element by element, for which they have few numbers at a time.
    fn only_copies(&self, ir: &Module) -> bool {
        let f = &ir.body;
        let mut fills = f.insts.iter().zip(&self.fills).filter(|(_, fill)| fill.is_some());
        let are_halves = self.streams.iter().all(|stream| stream.b.m.elem.bits() == 16);
        are_halves
            && fills.all(|(info, _)| match info.op {
                Op::MatMap { body } => !is_straight(f, body),
                _ => true,
            })
    }

    /// Registers of a producer and of an invocation, where they share out what a multiprocessor has: where invocations hold
    /// factors or sums of a part of K besides sums, and do not have all that a thread can have anyway.
    pub(crate) fn registers(&self, ir: &Module) -> Option<[u32; 2]> {
        let groups = ir.workgroup_invocations() / PRODUCERS;
        let holds_more = |stream: &Stream| stream.a.is_none() || stream.is_promoted();
        if groups < 2 || !self.streams.iter().any(holds_more) {
            return None;
        }
        // A work-group shares out what it began with, and waits for ever for more.
        let all = REGISTERS / (ir.workgroup_invocations() + PRODUCERS) / 8 * 8 * (groups + 1);
        let producer = match groups {
            2 if self.only_copies(ir) => 40,
            2 => 72,
            _ => 56,
        };
        Some([producer, (all - producer) / groups / 8 * 8])
    }
}

/// Whether the types of a module's matrices are such that some may be streamed.
pub(crate) fn may_stream(ir: &Module, arch: Arch) -> bool {
    let f = &ir.body;
    (0..f.insts.len()).any(|i| types(ir, arch, Inst::new(i)).is_some())
}

/// The types of a multiply-add that can be streamed.
fn types(ir: &Module, arch: Arch, inst: Inst) -> Option<[MatType; 3]> {
    let (f, warps) = (&ir.body, ir.num_subgroups());
    let info = f.inst(inst);
    let Op::MatMulAdd(flags) = info.op else { return None };
    let [a, b, c] = [0, 1, 2].map(|i| f.ty(info.args[i]).mat());
    let (a, b, c) = (a?, b?, c?);
    let has_instruction = match (a.elem, b.elem) {
        (Scalar::F16, Scalar::F16) => matches!(c.elem, Scalar::F16 | Scalar::F32),
        (Scalar::BF16, Scalar::BF16) => c.elem == Scalar::F32,
        (Scalar::I8, Scalar::I8) => c.elem == Scalar::I32 && !flags.saturate,
        (Scalar::E4M3 | Scalar::E5M2, Scalar::E4M3 | Scalar::E5M2) => c.elem == Scalar::F32,
        _ => false,
    };
    let steps = 32 / a.elem.bytes();
    let fits = arch.has_wgmma()
        && flags.step == 0
        && a.scope == Scope::Workgroup
        && f.ty(info.results[0]).mat() == Some(c)
        && has_instruction
        && warps.is_multiple_of(4)
        && ir.workgroup_invocations().is_multiple_of(32)
        && ir.workgroup_invocations() + PRODUCERS <= 1024
        && a.rows.is_multiple_of(ROWS / 4 * warps)
        && a.cols.is_multiple_of(steps)
        && b.cols.is_multiple_of(16)
        && (b.cols <= MAX_COLUMNS || b.cols.is_multiple_of(MAX_COLUMNS))
        && a.rows * b.cols * c.elem.bytes().min(4) / 4 <= MAX_SUMS * 32 * warps;
    fits.then_some([a, b, c])
}

/// Where instructions are.
pub(super) struct Places<'m> {
    pub(super) f: &'m Function,
    /// By instruction: the block that it is in and its number in program order.
    pub(super) of: Vec<Option<(Block, usize)>>,
    /// By block: the instruction that it belongs to, and the number behind its last.
    parent: Vec<Option<Inst>>,
    pub(super) end: Vec<usize>,
    /// Instructions that are executed, in program order.
    pub(super) order: Vec<Inst>,
}

impl<'m> Places<'m> {
    fn new(f: &'m Function) -> Self {
        let (insts, blocks) = (f.insts.len(), f.blocks.len());
        let (of, parent, end) = (vec![None; insts], vec![None; blocks], vec![0; blocks]);
        let mut places = Self { f, of, parent, end, order: Vec::new() };
        places.walk(Function::ENTRY);
        places
    }

    fn walk(&mut self, block: Block) {
        let f = self.f;
        for &inst in f.block(block) {
            self.of[inst.index()] = Some((block, self.order.len()));
            self.order.push(inst);
            for body in f.inst(inst).op.bodies() {
                self.parent[body.index()] = Some(inst);
                self.walk(body);
            }
        }
        self.end[block.index()] = self.order.len();
    }

    /// The number of an instruction in program order, if it is executed.
    pub(super) fn number(&self, inst: Inst) -> Option<usize> {
        self.of[inst.index()].map(|(_, number)| number)
    }

    /// The constructs around an instruction, the innermost first.
    pub(super) fn around(&self, inst: Inst) -> impl Iterator<Item = Inst> + '_ {
        let parent = |inst: Inst| self.of[inst.index()].and_then(|(block, _)| self.parent[block.index()]);
        std::iter::successors(parent(inst), move |&inst| parent(inst))
    }

    fn is_region(&self, inst: Inst) -> bool {
        matches!(self.f.inst(inst).op, Op::MatMap { .. } | Op::MatReduce { .. })
    }

    fn loads_of(&self, var: Var) -> Vec<Inst> {
        let is_load = |&&i: &&Inst| self.f.inst(i).op == Op::VarLoad(var);
        self.order.iter().filter(is_load).copied().collect()
    }

    pub(super) fn stores_of(&self, var: Var) -> Vec<Inst> {
        let is_store = |&&i: &&Inst| self.f.inst(i).op == Op::VarStore(var);
        self.order.iter().filter(is_store).copied().collect()
    }

    pub(super) fn users(&self, v: Value) -> Vec<Inst> {
        let uses = |&&i: &&Inst| self.f.inst(i).args.contains(&v);
        self.order.iter().filter(uses).copied().collect()
    }
}

/// A factor: what gives it, what moves it from there to the multiply-add, the statement with the first of it, and the
/// instruction that has it all.
pub(super) struct Factor {
    pub(super) fills: Vec<Inst>,
    pub(super) moves: Vec<Inst>,
    pub(super) first: Inst,
    last: Inst,
}

/// The streams of a module; nothing if there are none.
pub(crate) fn plan(ir: &Module, arch: Arch) -> Option<Plan> {
    if !may_stream(ir, arch) {
        return None;
    }
    // What stays takes the place of slots.
    find(ir, arch, true).or_else(|| find(ir, arch, false))
}

fn find(ir: &Module, arch: Arch, may_stay: bool) -> Option<Plan> {
    let f = &ir.body;
    let places = Places::new(f);
    let uniformity = Uniformity::of_workgroup(ir);
    let insts = f.insts.len();
    let mut plan = Plan {
        streams: Vec::new(),
        fills: vec![None; insts],
        starts: vec![None; insts],
        is_produced: vec![false; insts],
        is_moved: vec![false; insts],
        settles: vec![Vec::new(); insts],
        turns: None,
        delay: None,
        late: None,
        blank: None,
        skips: Vec::new(),
        boxes: Boxes::default(),
        cluster: None,
        shared_bytes: 0,
    };
    for &mul_add in &places.order {
        let Some([a, b, _]) = types(ir, arch, mul_add) else { continue };
        add(&mut plan, &places, &uniformity, (ir, may_stay), (mul_add, a, b));
    }
    if plan.skips.is_empty() {
        plan.turns = Turns::of(ir, &places, &plan);
        plan.delay = Delay::of(&places, &plan);
    } else {
        skip::settle(&places, &mut plan)?;
    }
    plan.late = Late::of(&places, &plan);
    plan.blank = Blank::of(&places, &plan);
    plan.boxes = Boxes::of(ir, &places, &plan);
    plan.cluster = Cluster::of(&places, &plan);
    plan.shared_bytes = ring::shared_bytes(ir, arch, &plan)?;
    Some(plan)
}

/// Adds a multiply-add to the streams, if it can be one.
fn add(
    plan: &mut Plan,
    places: &Places<'_>,
    uniformity: &Uniformity,
    (ir, may_stay): (&Module, bool),
    (mul_add, a, b): (Inst, MatType, MatType),
) -> Option<()> {
    let (f, warps) = (places.f, ir.num_subgroups());
    let args = &f.inst(mul_add).args;
    let here = places.of[mul_add.index()]?;
    let right = factor(places, mul_add, args[1], here)?;
    let left = factor(places, mul_add, args[0], here);
    // What is loaded once, before all loops, stays: one factor, for which there is one word.
    let outermost = places.around(mul_add).last().filter(|_| may_stay && plan.bytes_that_stay() == 0);
    let before = outermost.and_then(|inst| places.of[inst.index()]);
    let staying = || Some((factor(places, mul_add, args[0], before?)?, true));
    let left = left.map(|left| (left, false)).or_else(staying);
    if !is_before_writes(places, mul_add) {
        return None;
    }
    let is_along_k = |factor: &Factor, use_: Use| {
        let major = factor.fills.iter().find_map(|&fill| match f.inst(fill).op {
            Op::MatLoad { column_major, .. } => Some(column_major),
            _ => None,
        });
        // Bytes are turned where they lie across K.
        a.elem.bits() == 8 || major.is_none_or(|column_major| column_major == (use_ == Use::B))
    };
    let slice = |is_needed: &[bool], fills: &[Inst]| {
        let is_needed = is_needed.to_vec();
        let mut slice = Slice { places, uniformity, is_needed, skips: Vec::new(), is_possible: true };
        fills.iter().for_each(|&fill| slice.fill(fill));
        slice.around(mul_add);
        slice.is_possible.then_some((slice.is_needed, slice.skips))
    };
    let left = left.and_then(|(left, stays)| {
        let part = Part::of(a, is_along_k(&left, Use::A), warps)?;
        let can_stay = !stays || slice(&plan.is_produced, &left.fills).is_some();
        can_stay.then_some((part, (left, stays)))
    });
    let (a, left) = left.unzip();
    let (left, stays) = left.unzip();
    let b = Part::of(b, is_along_k(&right, Use::B), warps)?;
    let factors = || left.iter().map(|left| (left, Use::A)).chain([(&right, Use::B)]);
    let in_slot = factors().filter(|(_, use_)| *use_ == Use::B || stays != Some(true));
    let first = in_slot.map(|(factor, _)| factor.first).min_by_key(|&first| places.number(first))?;
    if !plan.is_apart(places, first, mul_add)? {
        return None;
    }
    let fills: Vec<Inst> = factors().flat_map(|(factor, _)| &factor.fills).copied().collect();
    let (is_produced, skips) = slice(&plan.is_produced, &fills)?;
    if is_left_between(places, &is_produced, first, mul_add)? {
        return None;
    }
    plan.is_produced = is_produced;
    for skip in skips {
        if !plan.skips.contains(&skip) {
            plan.skips.push(skip);
        }
    }
    let number = plan.streams.len();
    for (factor, use_) in factors() {
        for &fill in &factor.fills {
            plan.fills[fill.index()] = Some((number, use_));
            plan.is_moved[fill.index()] = true;
        }
        for &inst in &factor.moves {
            plan.is_moved[inst.index()] = true;
        }
        // Matrices of one scalar that only producers look at.
        for &v in factor.fills.iter().flat_map(|&fill| &f.inst(fill).args) {
            let is_own = places.users(v).iter().all(|user| factor.fills.contains(user));
            plan.is_moved[f.values[v.index()].def.index()] |= is_own && f.ty(v).mat().is_some();
        }
    }
    let stays = left.as_ref().filter(|_| stays == Some(true)).map(|left| (plan.bytes_that_stay(), left.last));
    plan.starts[first.index()] = Some(number);
    let mut stream = Stream { mul_add, a, b, stays, is_chained: false };
    if let Some((var, around)) = chain(places, mul_add) {
        // What is multiplied from registers must stay there until it is waited for.
        if a.is_some() && !stream.is_promoted() {
            plan.settles[around.index()].push(var);
            stream.is_chained = true;
        }
    }
    plan.streams.push(stream);
    Some(())
}

/// Whether producers may leave a slot between its first factor and its product: what they have asked for would come into what
/// they fill it with next, or into memory that the work-group has given back.
fn is_left_between(places: &Places<'_>, is_produced: &[bool], first: Inst, mul_add: Inst) -> Option<bool> {
    let f = places.f;
    let between = places.order.get(places.number(first)?..places.number(mul_add)?)?;
    let around: Vec<Label> = places.around(mul_add).filter_map(|inst| label(&f.inst(inst).op)).collect();
    Some(between.iter().any(|&inst| match f.inst(inst).op {
        Op::Return => true,
        Op::Br(to) => is_produced[inst.index()] && around.contains(&to),
        _ => false,
    }))
}

/// What gives a factor of a multiply-add in a block, before a place in it.
pub(super) fn factor(
    places: &Places<'_>,
    mul_add: Inst,
    v: Value,
    (block, number): (Block, usize),
) -> Option<Factor> {
    let f = places.f;
    if places.users(v).len() != 1 || f.inst(mul_add).args.iter().filter(|&&arg| arg == v).count() != 1 {
        return None;
    }
    let def = f.values[v.index()].def;
    let in_block = |inst: Inst| places.of[inst.index()].is_some_and(|(b, n)| b == block && n < number);
    if !in_block(def) {
        return None;
    }
    let Op::VarLoad(var) = f.inst(def).op else {
        return is_fill(f, def).then(|| Factor {
            fills: vec![def],
            moves: Vec::new(),
            first: def,
            last: def,
        });
    };
    let stores = places.stores_of(var);
    if !f.inst(def).args.is_empty() || places.loads_of(var) != [def] {
        return None;
    }
    let others = |info: &phalanx_ir::InstInfo| {
        info.op.vars().any(|(v, _)| v == var) && !matches!(info.op, Op::VarLoad(_) | Op::VarStore(_))
    };
    if places.order.iter().any(|&inst| others(f.inst(inst))) {
        return None;
    }
    let mut covered = Vec::new();
    let first = f.block(block).iter().copied().take_while(|&inst| inst != def).find(|&statement| {
        covered.clear();
        covers(f, statement, var, &mut covered)
    })?;
    if covered.len() != stores.len() {
        return None;
    }
    let mut fills = Vec::new();
    for &store in &stores {
        let [value] = f.inst(store).args[..] else { return None };
        let fill = f.values[value.index()].def;
        if !is_fill(f, fill) || places.users(value) != [store] {
            return None;
        }
        fills.push(fill);
    }
    // The first statement may come before the one that covers, where the value is made outside of the branches.
    let is_inside = |&fill: &Inst| fill == first || places.around(fill).any(|inst| inst == first);
    if first_op_is_if(f, first) && !fills.iter().all(is_inside) {
        return None;
    }
    let first = if first_op_is_if(f, first) { first } else { *fills.first()? };
    let moves = stores.into_iter().chain([def]).collect();
    Some(Factor { fills, moves, first, last: def })
}

fn first_op_is_if(f: &Function, inst: Inst) -> bool {
    matches!(f.inst(inst).op, Op::If { .. })
}

/// Whether a statement stores to a variable just once, whichever way is taken.
pub(super) fn covers(f: &Function, statement: Inst, var: Var, stores: &mut Vec<Inst>) -> bool {
    match f.inst(statement).op {
        Op::VarStore(v) if v == var => {
            stores.push(statement);
            true
        }
        Op::If { then, otherwise } => [then, otherwise].into_iter().all(|block| {
            let inside = f.block(block).iter().filter(|&&inst| covers(f, inst, var, stores));
            let count = inside.count();
            let leaves = f.block(block).iter().any(|&inst| matches!(f.inst(inst).op, Op::Br(_) | Op::Return));
            count == 1 && !leaves
        }),
        _ => false,
    }
}

/// Whether producers can make what an instruction gives.
fn is_fill(f: &Function, inst: Inst) -> bool {
    let info = f.inst(inst);
    match info.op {
        Op::MatLoad { flags, .. } => !flags.volatile,
        Op::MatMap { .. } => info.args.iter().all(|&v| f.def(v).op == Op::MatSplat),
        _ => false,
    }
}

/// The variable and the loop of sums that a multiply-add adds to in each round, and nobody looks at within.
pub(super) fn chain(places: &Places<'_>, mul_add: Inst) -> Option<(Var, Inst)> {
    let f = places.f;
    let info = f.inst(mul_add);
    let load = f.values[info.args[2].index()].def;
    let Op::VarLoad(var) = f.inst(load).op else { return None };
    let users = places.users(info.results[0]);
    let [store] = users[..] else { return None };
    let around = places.around(mul_add).find(|&inst| matches!(f.inst(inst).op, Op::Loop { .. }))?;
    let is_whole = f.var(var).count == 1 && f.inst(load).args.is_empty();
    let is_own = f.inst(store).op == Op::VarStore(var) && places.users(info.args[2]) == [mul_add];
    let within = |&inst: &Inst| places.around(inst).any(|outer| outer == around);
    let touches = |&inst: &Inst| f.inst(inst).op.vars().any(|(v, _)| v == var);
    let inside: Vec<Inst> = places.order.iter().copied().filter(|i| within(i) && touches(i)).collect();
    // The store follows at once, so that nothing can be done with sums that are not there yet.
    let same_block = places.of[store.index()]?.0 == places.of[mul_add.index()]?.0;
    (is_whole && is_own && same_block && inside == [load, store]).then_some((var, around))
}

/// Whether nothing that the work-group writes or learns of others can come before the factors are loaded.
fn is_before_writes(places: &Places<'_>, mul_add: Inst) -> bool {
    let f = places.f;
    let is_loop = |&inst: &Inst| matches!(f.inst(inst).op, Op::Loop { .. });
    // All of a loop comes before its next round.
    let outermost = places.around(mul_add).filter(is_loop).last();
    let mut is_clean =
        outermost.is_none_or(|inst| f.inst(inst).op.bodies().all(|body| !may_write(f, f.block(body))));
    let mut at = mul_add;
    while let Some((block, _)) = places.of[at.index()] {
        let before = f.block(block).iter().take_while(|&&inst| inst != at);
        is_clean &= !before.copied().any(|inst| does_write(f, inst));
        let Some(parent) = places.parent[block.index()] else { break };
        at = parent;
    }
    is_clean
}

/// Whether some of these instructions write what others of the work-group see, or learn of others, and the program goes on
/// behind them: what ends the invocation comes before nothing.
fn may_write(f: &Function, insts: &[Inst]) -> bool {
    !ends(f, insts) && insts.iter().any(|&inst| does_write(f, inst))
}

/// The same of one instruction, with what is inside of it.
fn does_write(f: &Function, inst: Inst) -> bool {
    let info = f.inst(inst);
    writes(f, info) || info.op.bodies().any(|body| may_write(f, f.block(body)))
}

/// Whether whoever executes these instructions returns at their end, and nowhere goes on around them.
fn ends(f: &Function, insts: &[Inst]) -> bool {
    let returns = insts.last().is_some_and(|&inst| f.inst(inst).op == Op::Return);
    let mut all = insts.to_vec();
    for &inst in insts {
        f.inst(inst).op.bodies().for_each(|body| instructions(f, body, &mut all));
    }
    let is_inside = |to: Label| all.iter().any(|&inst| label(&f.inst(inst).op) == Some(to));
    returns && all.iter().all(|&inst| !matches!(f.inst(inst).op, Op::Br(to) if !is_inside(to)))
}

/// The label that an instruction defines.
pub(super) fn label(op: &Op) -> Option<Label> {
    match op {
        Op::Loop { label, .. } | Op::Block { label, .. } => Some(*label),
        _ => None,
    }
}

fn writes(f: &Function, info: &phalanx_ir::InstInfo) -> bool {
    let is_shared = |v: &Value| f.ty(*v) == Type::Ptr(Space::Shared);
    match &info.op {
        Op::Store(_) | Op::MatStore { .. } => !info.args.first().is_some_and(is_shared),
        Op::Atomic(_) | Op::Image(..) | Op::VecOuterAdd(_) | Op::VecReduceAdd(_) | Op::MatStoreTensor(_) => {
            true
        }
        _ => false,
    }
}

/// What has to be executed for something.
struct Slice<'m> {
    places: &'m Places<'m>,
    uniformity: &'m Uniformity,
    is_needed: Vec<bool>,
    /// Branches that can't be executed, but be done without.
    skips: Vec<Skip>,
    is_possible: bool,
}

impl Slice<'_> {
    /// What gives a factor.
    fn fill(&mut self, fill: Inst) {
        let f = self.places.f;
        self.is_needed[fill.index()] = true;
        self.around(fill);
        for &arg in &f.inst(fill).args {
            match f.ty(arg) {
                // Of a matrix of one scalar, the scalar.
                Type::Mat(_) => f.def(arg).args.iter().for_each(|&scalar| self.value(scalar)),
                _ => self.value(arg),
            }
        }
        let bodies: Vec<Block> = f.inst(fill).op.bodies().collect();
        for body in bodies {
            self.region(body);
        }
    }

    /// All of a region, which producers execute element by element.
    fn region(&mut self, body: Block) {
        let f = self.places.f;
        let mut inside = Vec::new();
        instructions(f, body, &mut inside);
        for &inst in &inside {
            self.is_needed[inst.index()] = true;
        }
        for inst in inside {
            let info = f.inst(inst);
            self.is_possible &= is_pure(f, inst);
            for &arg in &info.args {
                self.value(arg);
            }
            if let Op::VarLoad(var) = info.op {
                for store in self.places.stores_of(var) {
                    self.inst(store);
                }
            }
        }
    }

    fn value(&mut self, v: Value) {
        self.inst(self.places.f.values[v.index()].def);
    }

    /// An instruction outside of regions, with all that it takes.
    fn inst(&mut self, inst: Inst) {
        if self.is_needed[inst.index()] || !self.is_possible {
            return;
        }
        self.is_needed[inst.index()] = true;
        let (places, f) = (self.places, self.places.f);
        let info = f.inst(inst);
        let is_scalar = |v: &Value| f.ty(*v).mat().is_none();
        let is_alike = |v: &Value| self.uniformity.is_uniform(*v);
        let values = info.args.iter().chain(&info.results);
        let alike = values.clone().all(|v| is_scalar(v) && is_alike(v));
        let var = info.op.var();
        let known = var.is_none_or(|v| f.var(v).ty.mat().is_none() && self.uniformity.is_var_uniform(v));
        self.is_possible &= alike && known && is_pure(f, inst);
        for &arg in &info.args {
            self.value(arg);
        }
        if let Op::VarLoad(var) = info.op {
            for store in places.stores_of(var) {
                self.inst(store);
            }
        }
        self.around(inst);
    }

    /// The constructs around an instruction, and what leaves them.
    fn around(&mut self, inst: Inst) {
        let (places, f) = (self.places, self.places.f);
        let around: Vec<Inst> = places.around(inst).collect();
        self.is_possible &= around.iter().all(|&inst| !places.is_region(inst));
        for outer in around {
            self.inst(outer);
            let label = match f.inst(outer).op {
                Op::Loop { label, .. } | Op::Block { label, .. } => label,
                _ => continue,
            };
            let branches = |&&i: &&Inst| f.inst(i).op == Op::Br(label);
            let branches: Vec<Inst> = places.order.iter().filter(branches).copied().collect();
            for branch in branches {
                self.branch(branch, outer);
            }
        }
        let returns = |&&i: &&Inst| f.inst(i).op == Op::Return;
        let returns: Vec<Inst> = places.order.iter().filter(returns).copied().collect();
        for inst in returns {
            self.inst(inst);
        }
    }

    /// A branch to a construct: one that goes behind a block may be unknown.
    fn branch(&mut self, inst: Inst, to: Inst) {
        if !self.is_possible || self.skips.iter().any(|skip| skip.branch == inst) {
            return;
        }
        let before = (self.is_needed.clone(), self.skips.clone());
        self.inst(inst);
        if let (false, Some(skip)) = (self.is_possible, Skip::of(self.places, inst, to)) {
            (self.is_needed, self.skips) = before;
            self.skips.push(skip);
            self.is_possible = true;
        }
    }
}

/// The instructions of a block and of those within.
pub(super) fn instructions(f: &Function, block: Block, all: &mut Vec<Inst>) {
    for &inst in f.block(block) {
        all.push(inst);
        for body in f.inst(inst).op.bodies() {
            instructions(f, body, all);
        }
    }
}

/// Whether an instruction does nothing but compute, branch and read what the work-group does not write.
pub(super) fn is_pure(f: &Function, inst: Inst) -> bool {
    let info = f.inst(inst);
    match info.op {
        ref op if op.computes() => true,
        Op::BufferPtr(_)
        | Op::PushPtr
        | Op::PtrAdd { .. }
        | Op::PtrBytesLeft
        | Op::PtrDiff
        | Op::PtrToInt
        | Op::IntToPtr
        | Op::Params
        | Op::Yield
        | Op::If { .. }
        | Op::Block { .. }
        | Op::Loop { .. }
        | Op::Br(_)
        | Op::Return
        | Op::VarLoad(_)
        | Op::VarStore(_)
        | Op::Builtin(Builtin::NumWorkgroups(_) | Builtin::WorkgroupId(_)) => true,
        Op::Load(flags) => !flags.volatile,
        _ => false,
    }
}

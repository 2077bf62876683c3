//! Finding a loop whose blocks of shared memory can be filled ahead.

use super::Ahead;
use super::cover::Bytes;
use crate::arch::Arch;
use phalanx_ir::{
    Barrier, Block, Builtin, Function, Inst, MemFlags, Module, Op, Scope, Space, Type, Value, Var,
};
use std::collections::{HashMap, HashSet};

/// Bytes that an asynchronous copy moves, and their alignment.
pub(super) const PIECE: u64 = 16;

const WORKGROUP: Barrier = Barrier { execution: Scope::Workgroup, memory: Scope::Workgroup };

/// An element of a variable.
type Element = (Var, u64);

/// A module, with what is asked of it often.
struct Search<'a> {
    module: &'a Module,
    f: &'a Function,
    /// How often values are used.
    uses: Vec<u32>,
    /// The block that each instruction is in.
    blocks: Vec<Block>,
}

impl Ahead {
    /// Finds the loop of a module. `aligned` says of pointers what divides them, and `is_inside` whether a piece from there is
    /// known to be in its object.
    pub(crate) fn find(
        module: &Module,
        arch: Arch,
        aligned: impl Fn(Value) -> u64,
        is_inside: impl Fn(Value) -> bool,
    ) -> Option<Self> {
        let half = module.shared_bytes.next_multiple_of(PIECE as u32);
        // Two work-groups still fit, as most programs mean it.
        if half == 0 || 4 * half > arch.shared_bytes() {
            return None;
        }
        let search = Search::new(module);
        let f = search.f;
        let [first, second] = search.barriers()?;
        let work = search.blocks[first.index()];
        let looped = search.loop_of(work)?;
        let insts = f.block(work);
        let at = |inst: Inst| insts.iter().position(|&other| other == inst);
        let (begin, end) = (at(first)?, at(second)?);
        let (stage, rest) = (insts.get(begin + 1..end)?, &insts[end + 1..]);
        let outside: HashSet<Inst> =
            f.block(Function::ENTRY).iter().copied().take_while(|&inst| inst != looped).collect();
        let stores = search.stage(stage, &outside)?;
        if !stores.iter().all(|&(store, _)| {
            let pointer = f.inst(store).args[0];
            aligned(pointer) >= PIECE && is_inside(pointer)
        }) {
            return None;
        }
        let guard = rest.iter().copied().find(|&inst| search.writes(inst, stores[0].1[0]))?;
        let Op::If { then, .. } = f.inst(guard).op else { return None };
        if !search.is_uniform(f.inst(guard).args[0], looped, work, &mut HashSet::new()) {
            return None;
        }
        let elements: HashSet<Element> = stores.iter().flat_map(|(_, elements)| elements.clone()).collect();
        let mut ahead = Self::new(looped, second, half, stage.to_vec());
        let written = search.fetches(then, &elements, &outside)?;
        for (store, elements) in &stores {
            let load = search.copied(elements, &written, then)?;
            if aligned(f.inst(load).args[0]) < PIECE || ahead.copies.insert(load, *store).is_some() {
                return None;
            }
        }
        ahead.skipped.extend(written.values().map(|&(inst, _)| inst));
        ahead.skipped.insert(first);
        search.is_calm(looped, work, stage)?;
        search.is_covered(&stores, rest)?;
        Some(ahead)
    }
}

impl<'a> Search<'a> {
    fn new(module: &'a Module) -> Self {
        let f = &module.body;
        let (mut uses, mut blocks) = (vec![0; f.values.len()], vec![Function::ENTRY; f.insts.len()]);
        for (number, block) in f.blocks.iter().enumerate() {
            for &inst in block {
                blocks[inst.index()] = Block::new(number);
                for v in &f.inst(inst).args {
                    uses[v.index()] += 1;
                }
            }
        }
        Self { module, f, uses, blocks }
    }

    /// All instructions of a block and of those within.
    fn all_in(&self, block: Block, all: &mut Vec<Inst>) {
        for &inst in self.f.block(block) {
            all.push(inst);
            for body in self.f.inst(inst).op.bodies() {
                self.all_in(body, all);
            }
        }
    }

    /// The barriers, if there are two, in one block.
    fn barriers(&self) -> Option<[Inst; 2]> {
        let mut all = Vec::new();
        self.all_in(Function::ENTRY, &mut all);
        all.retain(|&inst| matches!(self.f.inst(inst).op, Op::Barrier(_)));
        let &[first, second] = &all[..] else { return None };
        let is_plain = |inst: Inst| self.f.inst(inst).op == Op::Barrier(WORKGROUP);
        let is_one_block = self.blocks[first.index()] == self.blocks[second.index()];
        (is_plain(first) && is_plain(second) && is_one_block).then_some([first, second])
    }

    /// The loop of the outermost block that has a block as its body, or as a branch of a body.
    fn loop_of(&self, work: Block) -> Option<Inst> {
        self.f.block(Function::ENTRY).iter().copied().find(|&inst| {
            let Op::Loop { body, .. } = self.f.inst(inst).op else { return false };
            let is_branch = |&inst: &Inst| {
                matches!(self.f.inst(inst).op, Op::If { then, otherwise } if then == work || otherwise == work)
            };
            body == work || self.f.block(body).iter().any(is_branch)
        })
    }

    /// The stores of what stands between the barriers, with what they store; nothing if anything else happens there, or
    /// depends on the round of the loop.
    fn stage(&self, stage: &[Inst], outside: &HashSet<Inst>) -> Option<Vec<(Inst, Vec<Element>)>> {
        let own: HashSet<Inst> = stage.iter().copied().collect();
        let mut stores = Vec::new();
        for &inst in stage {
            let info = self.f.inst(inst);
            let is_known = |&v: &Value| {
                let def = self.f.values[v.index()].def;
                own.contains(&def) || outside.contains(&def)
            };
            if !info.args.iter().all(is_known) {
                return None;
            }
            match info.op {
                Op::VarLoad(_) => {
                    self.element(inst)?;
                }
                Op::Store(flags) => {
                    let elements = info.args[1..].iter().map(|&v| self.element(self.f.values[v.index()].def));
                    let elements: Vec<Element> = elements.collect::<Option<_>>()?;
                    let bytes = u64::from(self.f.ty(info.args[1]).scalar()?.bytes());
                    if flags.volatile || bytes * elements.len() as u64 != PIECE {
                        return None;
                    }
                    stores.push((inst, elements));
                }
                Op::Const(_) | Op::Binary(_) | Op::Convert(_) | Op::PtrAdd { .. } | Op::SharedPtr { .. } => {}
                _ => return None,
            }
        }
        (!stores.is_empty()).then_some(stores)
    }

    /// The element of a variable that an instruction loads or stores.
    fn element(&self, inst: Inst) -> Option<Element> {
        let info = self.f.inst(inst);
        let (var, index) = match (&info.op, &info.args[..]) {
            (Op::VarLoad(var), &[]) | (Op::VarStore(var), &[_]) => (*var, 0),
            (Op::VarLoad(var), &[index]) | (Op::VarStore(var), &[index, _]) => {
                (*var, self.f.const_bits(index)?)
            }
            _ => return None,
        };
        (index < u64::from(self.f.var(var).count)).then_some((var, index))
    }

    /// Whether an instruction is a condition under which a variable is written.
    fn writes(&self, inst: Inst, (var, _): Element) -> bool {
        let Op::If { then, .. } = self.f.inst(inst).op else { return false };
        self.f.block(then).iter().any(|&inst| self.f.inst(inst).op == Op::VarStore(var))
    }

    /// The stores to variables in a block, by element, and the values; nothing if the variables have to do with anything but
    /// these, what stands before the loop and what is staged.
    fn fetches(
        &self,
        then: Block,
        elements: &HashSet<Element>,
        outside: &HashSet<Inst>,
    ) -> Option<HashMap<Element, (Inst, Value)>> {
        let vars: HashSet<Var> = elements.iter().map(|&(var, _)| var).collect();
        let (mut all, mut written, mut loads) = (Vec::new(), HashMap::new(), 0);
        self.all_in(Function::ENTRY, &mut all);
        for inst in all {
            let info = self.f.inst(inst);
            if !info.op.var().is_some_and(|var| vars.contains(&var)) {
                continue;
            }
            let element = self.element(inst)?;
            match info.op {
                Op::VarLoad(_) if elements.contains(&element) => loads += 1,
                Op::VarStore(_) if outside.contains(&inst) => {}
                Op::VarStore(_) if self.blocks[inst.index()] == then => {
                    let value = *info.args.last()?;
                    written.insert(element, (inst, value)).is_none().then_some(())?;
                }
                _ => return None,
            }
        }
        // Each is staged, once.
        (loads == elements.len() && written.len() == loads).then_some(written)
    }

    /// The load whose results, and nothing else, become some elements, and nothing else.
    fn copied(
        &self,
        elements: &[Element],
        written: &HashMap<Element, (Inst, Value)>,
        then: Block,
    ) -> Option<Inst> {
        let values: Vec<Value> =
            elements.iter().map(|element| written.get(element).map(|&(_, v)| v)).collect::<Option<_>>()?;
        let load = self.f.values[values[0].index()].def;
        let info = self.f.inst(load);
        let Op::Load(MemFlags { volatile: false, .. }) = info.op else { return None };
        let is_copy = info.results[..] == values[..] && values.iter().all(|v| self.uses[v.index()] == 1);
        let is_here =
            self.blocks[load.index()] == then && self.f.ty(info.args[0]) == Type::Ptr(Space::Buffer);
        (is_copy && is_here).then_some(load)
    }

    /// Whether a value is the same for all invocations of a work-group, in a round of a loop whose barriers are in a block.
    fn is_uniform(&self, v: Value, looped: Inst, work: Block, seen: &mut HashSet<Var>) -> bool {
        let info = self.f.def(v);
        let all = |seen: &mut HashSet<Var>| info.args.iter().all(|&v| self.is_uniform(v, looped, work, seen));
        match info.op {
            Op::PushPtr => true,
            Op::Builtin(builtin) => matches!(builtin, Builtin::NumWorkgroups(_) | Builtin::WorkgroupId(_)),
            Op::Load(MemFlags { volatile: false, .. }) => {
                self.f.ty(info.args[0]) == Type::Ptr(Space::Push) && all(seen)
            }
            Op::PtrAdd { .. } => all(seen),
            ref op if op.computes() => all(seen),
            Op::VarLoad(var) => {
                if !seen.insert(var) {
                    // Judged where it was seen first.
                    return true;
                }
                let Op::Loop { body, .. } = self.f.inst(looped).op else { return false };
                let together = [Function::ENTRY, body, work];
                let touches = (0..).zip(&self.f.insts).filter(|(_, info)| info.op.var() == Some(var));
                all(seen)
                    && touches.into_iter().all(|(number, info)| match info.op {
                        Op::VarLoad(_) => true,
                        Op::VarStore(_) => {
                            together.contains(&self.blocks[number])
                                && info.args.iter().all(|&v| self.is_uniform(v, looped, work, seen))
                        }
                        _ => false,
                    })
            }
            _ => false,
        }
    }

    /// Whether nothing that others see is written before the loop and in it, but what is staged: a copy may look at memory
    /// until it is waited for.
    fn is_calm(&self, looped: Inst, work: Block, stage: &[Inst]) -> Option<()> {
        let mut all: Vec<Inst> = Vec::new();
        for &inst in self.f.block(Function::ENTRY).iter().take_while(|&&inst| inst != looped) {
            all.push(inst);
            for body in self.f.inst(inst).op.bodies() {
                self.all_in(body, &mut all);
            }
        }
        let Op::Loop { body, .. } = self.f.inst(looped).op else { return None };
        let mut within = Vec::new();
        self.all_in(body, &mut within);
        // What leaves a round early, or some invocations do, would leave out what others do.
        let labels: Vec<_> = within
            .iter()
            .filter_map(|&inst| match self.f.inst(inst).op {
                Op::Block { label, .. } | Op::Loop { label, .. } => Some(label),
                _ => None,
            })
            .collect();
        let stays = |inst: Inst| match self.f.inst(inst).op {
            Op::Br(label) => labels.contains(&label) || [body, work].contains(&self.blocks[inst.index()]),
            _ => true,
        };
        if !within.iter().all(|&inst| stays(inst)) {
            return None;
        }
        all.extend(within);
        let is_calm = |inst: &Inst| match self.f.inst(*inst).op {
            Op::Store(_) => stage.contains(inst),
            Op::MatLoad { flags, .. } | Op::Load(flags) => !flags.volatile,
            Op::MatStore { .. }
            | Op::MatStoreTensor(_)
            | Op::Atomic(_)
            | Op::Image(..)
            | Op::VecOuterAdd(_)
            | Op::VecReduceAdd(_)
            | Op::Return => false,
            _ => true,
        };
        all.iter().all(is_calm).then_some(())
    }

    /// Whether shared memory has nothing but what is staged in each round, and is only read behind it in the same round, and
    /// there only what was staged.
    fn is_covered(&self, stores: &[(Inst, Vec<Element>)], rest: &[Inst]) -> Option<()> {
        let mut staged = Bytes::none(self.module);
        for &(store, _) in stores {
            staged.add_store(self.module, store)?;
        }
        let mut behind = Vec::new();
        for &inst in rest {
            behind.push(inst);
            for body in self.f.inst(inst).op.bodies() {
                self.all_in(body, &mut behind);
            }
        }
        let behind: HashSet<Inst> = behind.into_iter().collect();
        let mut all = Vec::new();
        self.all_in(Function::ENTRY, &mut all);
        for inst in all {
            let info = self.f.inst(inst);
            let is_group = |&v: &Value| self.f.ty(v).mat().is_some_and(|m| m.scope == Scope::Workgroup);
            if info.args.iter().chain(&info.results).any(is_group) {
                return None;
            }
            let is_shared = |&v: &Value| self.f.ty(v) == Type::Ptr(Space::Shared);
            if !info.args.iter().any(is_shared) {
                continue;
            }
            match info.op {
                Op::PtrAdd { .. } => {}
                Op::Store(_) if stores.iter().any(|&(store, _)| store == inst) => {}
                Op::MatLoad { .. } if behind.contains(&inst) => {
                    staged.has_matrix(self.module, inst).then_some(())?;
                }
                _ => return None,
            }
        }
        Some(())
    }
}

//! Where in its block each matrix value is used, and where each matrix variable is touched.
//!
//! A position is the index of an instruction in its block. What happens inside of a construct
//! (`if`, `block`, `loop`) happens at the position of the construct, as seen from the blocks around
//! it: a value defined in one block is only ever used there or in constructs of that block.

use phalanx_ir::{Block, Function, Inst, Op, Type, Value, Var};
use std::collections::BTreeMap;

/// Which element of a matrix variable is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Element {
    /// A known element.
    Const(u32),
    /// The element with this index, known at run time.
    Dynamic(Value),
}

/// What is done to a variable at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// The position.
    pub(crate) pos: usize,
    /// Whether it writes.
    pub(crate) writes: bool,
}

/// Events on the matrix variables within one block, in order of position.
#[derive(Debug, Default)]
pub(crate) struct Events {
    known: BTreeMap<(Var, u32), Vec<Event>>,
    dynamic: BTreeMap<Var, Vec<Event>>,
    all: BTreeMap<Var, Vec<Event>>,
}

impl Events {
    pub(crate) fn add(&mut self, var: Var, element: Element, event: Event) {
        let list = match element {
            Element::Const(k) => self.known.entry((var, k)).or_default(),
            Element::Dynamic(_) => self.dynamic.entry(var).or_default(),
        };
        insert_sorted(list, event);
        insert_sorted(self.all.entry(var).or_default(), event);
    }

    /// Whether something that may concern this element happens at a position in `range`; only
    /// writes count if `only_writes`.
    pub(crate) fn any(
        &self,
        var: Var,
        element: Element,
        range: std::ops::Range<usize>,
        only_writes: bool,
    ) -> bool {
        let hit = |list: Option<&Vec<Event>>| {
            list.is_some_and(|list| {
                let from = list.partition_point(|e| e.pos < range.start);
                list[from..].iter().take_while(|e| e.pos < range.end).any(|e| e.writes || !only_writes)
            })
        };
        match element {
            Element::Const(k) => hit(self.known.get(&(var, k))) || hit(self.dynamic.get(&var)),
            Element::Dynamic(_) => hit(self.all.get(&var)),
        }
    }
}

fn insert_sorted(list: &mut Vec<Event>, event: Event) {
    let at = list.partition_point(|e| e.pos <= event.pos);
    list.insert(at, event);
}

/// Uses of values and events on variables, for the whole function.
#[derive(Debug)]
pub(crate) struct Uses {
    /// Block and position of each value's definition.
    pub(crate) def: Vec<(Block, usize)>,
    /// For each value of matrix type, the positions in its block where it is used, ascending.
    pub(crate) uses: Vec<Vec<usize>>,
    /// For each block, events on matrix variables.
    pub(crate) events: Vec<Events>,
}

impl Uses {
    pub(crate) fn of(func: &Function) -> Self {
        let mut this = Self {
            def: vec![(Function::ENTRY, 0); func.values.len()],
            uses: vec![Vec::new(); func.values.len()],
            events: func.blocks.iter().map(|_| Events::default()).collect(),
        };
        let mut path = Vec::new();
        this.visit(func, Function::ENTRY, &mut path);
        this
    }

    /// Nesting is bounded by the verifier, so recursion is.
    fn visit(&mut self, func: &Function, block: Block, path: &mut Vec<(Block, usize)>) {
        for (pos, &inst) in func.block(block).iter().enumerate() {
            path.push((block, pos));
            self.record(func, inst, path);
            for nested in nested(&func.inst(inst).op) {
                self.visit(func, nested, path);
            }
            path.pop();
        }
    }

    fn record(&mut self, func: &Function, inst: Inst, path: &[(Block, usize)]) {
        let info = func.inst(inst);
        let &(block, pos) = path.last().expect("the path ends at the instruction");
        for &result in &info.results {
            self.def[result.index()] = (block, pos);
        }
        for &arg in &info.args {
            if func.ty(arg).mat().is_some() {
                let home = self.def[arg.index()].0;
                let at = path.iter().find(|(b, _)| *b == home).map_or(pos, |&(_, p)| p);
                self.uses[arg.index()].push(at);
            }
        }
        if let Some((var, element, writes)) = access(func, inst) {
            for &(block, pos) in path {
                // An index computed in a nested block has no meaning outside; it stays dynamic.
                self.events[block.index()].add(var, element, Event { pos, writes });
            }
        }
    }
}

/// The blocks of a construct.
pub(crate) fn nested(op: &Op) -> impl Iterator<Item = Block> {
    let (first, second) = match *op {
        Op::If { then, otherwise } => (Some(then), Some(otherwise)),
        Op::Block { body, .. } | Op::Loop { body, .. } => (Some(body), None),
        _ => (None, None),
    };
    first.into_iter().chain(second)
}

/// The element of a matrix variable that an instruction accesses, and whether it writes.
pub(crate) fn access(func: &Function, inst: Inst) -> Option<(Var, Element, bool)> {
    let info = func.inst(inst);
    let (var, indexed, writes) = match info.op {
        Op::VarLoad(var) => (var, info.args.len() == 1, false),
        Op::VarStore(var) => (var, info.args.len() == 2, true),
        Op::VarComponentLoad(var) => (var, true, false),
        Op::VarComponentStore(var) => (var, true, true),
        _ => return None,
    };
    if !matches!(func.var(var).ty, Type::Mat(_)) {
        return None;
    }
    let element = match indexed.then(|| info.args[0]) {
        None => Element::Const(0),
        Some(index) => match func.const_bits(index) {
            Some(bits) => Element::Const(bits as u32),
            None => Element::Dynamic(index),
        },
    };
    Some((var, element, writes))
}

//! Which instructions to look at again, in rounds through the program.
//!
//! A round goes through the instructions in program order. One that has to be looked at again because of another is in
//! the same round if it comes behind that, otherwise in the next. So a round does what one over all instructions would
//! do, but takes no time for those of which nothing new is known.

use crate::entities::{Inst, Value, Var};
use crate::module::Function;
use crate::op::Op;
use crate::tree::Tree;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Lists of positions by number, one behind the other.
#[derive(Debug, Default)]
struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// From pairs of a number below `count` and an item.
    fn new(count: usize, pairs: &[(usize, u32)]) -> Self {
        let mut starts = vec![0; count + 1];
        for &(number, _) in pairs {
            starts[number + 1] += 1;
        }
        for i in 0..count {
            starts[i + 1] += starts[i];
        }
        let (mut ends, mut items) = (starts.clone(), vec![0; pairs.len()]);
        for &(number, item) in pairs {
            items[ends[number] as usize] = item;
            ends[number] += 1;
        }
        Self { starts, items }
    }

    fn of(&self, number: usize) -> &[u32] {
        &self.items[self.starts[number] as usize..self.starts[number + 1] as usize]
    }
}

/// What is to be done in this round and in the next.
#[derive(Debug)]
pub(super) struct Agenda {
    /// The positions of instructions that take each value.
    users: Lists,
    /// The positions of the loads of each variable.
    loads: Lists,
    now: BinaryHeap<Reverse<u32>>,
    next: Vec<u32>,
    is_listed: Vec<bool>,
    /// The position that the round has come to.
    at: Option<u32>,
}

impl Agenda {
    /// Everything once.
    pub(super) fn new(func: &Function, tree: &Tree) -> Self {
        let (mut users, mut loads) = (Vec::new(), Vec::new());
        for (position, &inst) in (0..).zip(tree.order()) {
            let info = func.inst(inst);
            users.extend(info.args.iter().map(|v| (v.index(), position)));
            if let Op::VarLoad(var) = info.op {
                loads.push((var.index(), position));
            }
        }
        let count = tree.order().len();
        Self {
            users: Lists::new(func.values.len(), &users),
            loads: Lists::new(func.vars.len(), &loads),
            now: BinaryHeap::new(),
            next: (0..count as u32).collect(),
            is_listed: vec![true; count],
            at: None,
        }
    }

    /// Begins a round; whether there is anything to do.
    pub(super) fn begin(&mut self) -> bool {
        self.at = None;
        self.now = self.next.drain(..).map(Reverse).collect();
        !self.now.is_empty()
    }

    /// The next instruction of the round.
    pub(super) fn next(&mut self, tree: &Tree) -> Option<Inst> {
        let Some(Reverse(position)) = self.now.pop() else {
            self.at = None;
            return None;
        };
        self.at = Some(position);
        self.is_listed[position as usize] = false;
        Some(tree.order()[position as usize])
    }

    /// Notes that something new is known of a value.
    pub(super) fn value_changed(&mut self, value: Value) {
        for i in 0..self.users.of(value.index()).len() {
            self.list(self.users.of(value.index())[i]);
        }
    }

    /// The same of what a variable holds.
    pub(super) fn var_changed(&mut self, var: Var) {
        for i in 0..self.loads.of(var.index()).len() {
            self.list(self.loads.of(var.index())[i]);
        }
    }

    fn list(&mut self, position: u32) {
        if std::mem::replace(&mut self.is_listed[position as usize], true) {
            return;
        }
        match self.at {
            Some(at) if position > at => self.now.push(Reverse(position)),
            _ => self.next.push(position),
        }
    }
}

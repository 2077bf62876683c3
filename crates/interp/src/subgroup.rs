//! A subgroup in execution: its values and variables, and the constructs it is in.

use crate::lanes::Lanes;
use crate::memory::Pointer;
use crate::value::Data;
use phalanx_ir::{Block, Function, Inst, Label, Module, Scope, Type, Value, Var};

/// What a subgroup is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// To execute.
    Ready,
    /// To wait for the work-group before its next instruction, this one.
    Waiting(Inst),
    /// Nothing any more.
    Ended,
}

/// A construct in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    block: Block,
    /// Index of the next instruction in the block.
    next: usize,
    /// The lanes that execute it.
    active: Lanes,
    kind: Kind,
}

/// Which construct a block is the body of.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// The function, or a region.
    Body,
    /// The first side of an `if`; the other one is still to do.
    Then { otherwise: Block, pending: Lanes },
    /// The other side, with the lanes that reached the end of the first.
    Otherwise { joined: Lanes },
    /// A block, with the lanes that branched to its end.
    Block { label: Label, left: Lanes },
    /// A loop, with the lanes that branched to its start and those that reached its end.
    Loop { label: Label, again: Lanes, left: Lanes },
}

/// A subgroup in execution.
#[derive(Debug)]
pub(crate) struct Subgroup {
    /// Its index in the work-group.
    pub(crate) id: u32,
    /// Lanes of a full subgroup.
    pub(crate) size: u32,
    pub(crate) state: State,
    /// Whether the wait before the next instruction is over.
    pub(crate) released: bool,
    frames: Vec<Frame>,
    values: Vec<Data>,
    /// The elements of each variable: for scalars and pointers a [`Data`] with the lanes of each.
    vars: Vec<VarData>,
}

#[derive(Clone, Debug)]
enum VarData {
    Lanes(Vec<Data>),
    Matrices(Vec<Vec<u64>>),
}

impl Subgroup {
    pub(crate) fn new(module: &Module, id: u32) -> Self {
        let size = module.subgroup_size;
        let lanes = Lanes::below(size.min(module.workgroup_invocations() - id * size));
        let func = &module.body;
        let data = |ty| Data::new(ty, size as usize);
        Self {
            id,
            size,
            state: State::Ready,
            released: false,
            frames: vec![Frame { block: Function::ENTRY, next: 0, active: lanes, kind: Kind::Body }],
            values: func.values.iter().map(|value| data(value.ty)).collect(),
            vars: func
                .vars
                .iter()
                .map(|var| match var.ty {
                    // Those of the work-group are not the subgroup's.
                    Type::Mat(m) if m.scope == Scope::Workgroup => VarData::Matrices(Vec::new()),
                    Type::Mat(m) => VarData::Matrices(vec![vec![0; m.len() as usize]; var.count as usize]),
                    // A table is read where it is.
                    _ if var.table.is_some() => VarData::Lanes(Vec::new()),
                    Type::Scalar(_) | Type::Ptr(_) => VarData::Lanes(vec![data(var.ty); var.count as usize]),
                })
                .collect(),
        }
    }

    // ── values ──

    /// The bits of a scalar in a lane.
    #[inline]
    pub(crate) fn scalar(&self, value: Value, lane: usize) -> u64 {
        match &self.values[value.index()] {
            Data::Scalars(lanes) => lanes[lane],
            Data::Pointers(_) | Data::Matrix(_) => unreachable!("{value} was verified to be a scalar"),
        }
    }

    #[inline]
    pub(crate) fn set_scalar(&mut self, value: Value, lane: usize, bits: u64) {
        if let Data::Scalars(lanes) = &mut self.values[value.index()] {
            lanes[lane] = bits;
        }
    }

    /// A pointer in a lane.
    pub(crate) fn pointer(&self, value: Value, lane: usize) -> Pointer {
        match &self.values[value.index()] {
            Data::Pointers(lanes) => lanes[lane],
            Data::Scalars(_) | Data::Matrix(_) => unreachable!("{value} was verified to be a pointer"),
        }
    }

    pub(crate) fn set_pointer(&mut self, value: Value, lane: usize, pointer: Pointer) {
        if let Data::Pointers(lanes) = &mut self.values[value.index()] {
            lanes[lane] = pointer;
        }
    }

    /// The elements of a matrix of the subgroup.
    pub(crate) fn matrix(&self, value: Value) -> &[u64] {
        match &self.values[value.index()] {
            Data::Matrix(elements) => elements,
            Data::Scalars(_) | Data::Pointers(_) => unreachable!("{value} was verified to be a matrix"),
        }
    }

    pub(crate) fn set_matrix(&mut self, value: Value, elements: Vec<u64>) {
        self.values[value.index()] = Data::Matrix(elements);
    }

    /// Copies a lane of `from`, a scalar or pointer, to `to`.
    pub(crate) fn copy_lane(&mut self, from: Value, to: Value, lane: usize) {
        match &self.values[from.index()] {
            Data::Scalars(lanes) => self.set_scalar(to, lane, lanes[lane]),
            Data::Pointers(lanes) => self.set_pointer(to, lane, lanes[lane]),
            Data::Matrix(_) => {}
        }
    }

    // ── variables ──

    /// Reads a lane of an element of a variable into a value; zero outside of the variable.
    #[inline]
    pub(crate) fn load_lane(&mut self, var: Var, index: usize, lane: usize, to: Value) {
        let element = match &self.vars[var.index()] {
            VarData::Lanes(elements) => elements.get(index),
            VarData::Matrices(_) => None,
        };
        match (element, &self.values[to.index()]) {
            (Some(Data::Scalars(lanes)), _) => self.set_scalar(to, lane, lanes[lane]),
            (Some(Data::Pointers(lanes)), _) => self.set_pointer(to, lane, lanes[lane]),
            (_, Data::Pointers(_)) => self.set_pointer(to, lane, Pointer::NULL),
            (_, Data::Scalars(_) | Data::Matrix(_)) => self.set_scalar(to, lane, 0),
        }
    }

    /// Writes a lane of a value to an element of a variable; nothing outside of the variable.
    #[inline]
    pub(crate) fn store_lane(&mut self, var: Var, index: usize, lane: usize, from: Value) {
        let VarData::Lanes(elements) = &mut self.vars[var.index()] else { return };
        match (elements.get_mut(index), &self.values[from.index()]) {
            (Some(Data::Scalars(element)), Data::Scalars(value)) => element[lane] = value[lane],
            (Some(Data::Pointers(element)), Data::Pointers(value)) => element[lane] = value[lane],
            _ => {}
        }
    }

    /// A lane of an element of a variable of scalars; zero outside of it.
    pub(crate) fn element(&self, var: Var, index: usize, lane: usize) -> u64 {
        match &self.vars[var.index()] {
            VarData::Lanes(elements) => match elements.get(index) {
                Some(Data::Scalars(lanes)) => lanes[lane],
                _ => 0,
            },
            VarData::Matrices(_) => 0,
        }
    }

    /// Writes a lane of an element of a variable of scalars; nothing outside of it.
    pub(crate) fn set_element(&mut self, var: Var, index: usize, lane: usize, bits: u64) {
        if let VarData::Lanes(elements) = &mut self.vars[var.index()]
            && let Some(Data::Scalars(lanes)) = elements.get_mut(index)
        {
            lanes[lane] = bits;
        }
    }

    /// A matrix in a variable.
    pub(crate) fn var_matrix(&mut self, var: Var, index: usize) -> Option<&mut Vec<u64>> {
        match &mut self.vars[var.index()] {
            VarData::Matrices(elements) => elements.get_mut(index),
            VarData::Lanes(_) => None,
        }
    }

    // ── control ──

    /// The lanes that execute.
    pub(crate) fn active(&self) -> Lanes {
        self.frames.last().map_or(Lanes::NONE, |frame| frame.active)
    }

    /// The next instruction, after ending the constructs that are done; none at the end.
    pub(crate) fn next_inst(&mut self, func: &Function) -> Option<Inst> {
        self.next_inst_above(func, 0)
    }

    /// The same within the constructs above the lowest `floor`; none when those are done.
    pub(crate) fn next_inst_above(&mut self, func: &Function, floor: usize) -> Option<Inst> {
        loop {
            let frame = self.frames.last().filter(|_| self.frames.len() > floor)?;
            match func.block(frame.block).get(frame.next) {
                Some(&inst) if !frame.active.is_empty() => return Some(inst),
                _ => self.end_frame(),
            }
        }
    }

    /// Moves past the next instruction.
    pub(crate) fn advance(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.next += 1;
        }
    }

    fn enter(&mut self, block: Block, active: Lanes, kind: Kind) {
        self.frames.push(Frame { block, next: 0, active, kind });
    }

    /// Enters a region; gives the number of constructs around it.
    pub(crate) fn enter_region(&mut self, body: Block, lanes: Lanes) -> usize {
        let floor = self.frames.len();
        self.enter(body, lanes, Kind::Body);
        floor
    }

    pub(crate) fn enter_if(&mut self, holds: Lanes, then: Block, otherwise: Block) {
        let pending = self.active().without(holds);
        self.enter(then, holds, Kind::Then { otherwise, pending });
    }

    pub(crate) fn enter_block(&mut self, label: Label, body: Block) {
        self.enter(body, self.active(), Kind::Block { label, left: Lanes::NONE });
    }

    pub(crate) fn enter_loop(&mut self, label: Label, body: Block) {
        self.enter(body, self.active(), Kind::Loop { label, again: Lanes::NONE, left: Lanes::NONE });
    }

    /// The active lanes branch to a label of an enclosing construct.
    pub(crate) fn branch(&mut self, target: Label) {
        let active = self.active();
        for frame in self.frames.iter_mut().rev() {
            match &mut frame.kind {
                Kind::Block { label, left } if *label == target => {
                    *left = left.or(active);
                    break;
                }
                Kind::Loop { label, again, .. } if *label == target => {
                    *again = again.or(active);
                    break;
                }
                _ => {}
            }
        }
        self.stop();
    }

    /// The active lanes stop to execute this block.
    pub(crate) fn stop(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.active = Lanes::NONE;
        }
    }

    /// All lanes end.
    pub(crate) fn stop_all(&mut self) {
        self.frames.clear();
    }

    /// Ends the innermost construct, or starts what is left of it.
    fn end_frame(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        let ended = frame.active;
        match frame.kind {
            Kind::Body => {}
            Kind::Then { otherwise, pending } => {
                self.enter(otherwise, pending, Kind::Otherwise { joined: ended });
            }
            Kind::Otherwise { joined } => self.rejoin(joined.or(ended)),
            Kind::Block { left, .. } => self.rejoin(left.or(ended)),
            Kind::Loop { label, again, left } => {
                let left = left.or(ended);
                if again.is_empty() {
                    self.rejoin(left);
                } else {
                    self.enter(frame.block, again, Kind::Loop { label, again: Lanes::NONE, left });
                }
            }
        }
    }

    /// Goes on after a construct with these lanes.
    fn rejoin(&mut self, lanes: Lanes) {
        if let Some(frame) = self.frames.last_mut() {
            frame.active = lanes;
        }
    }
}

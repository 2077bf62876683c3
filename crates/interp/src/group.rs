//! A work-group in execution: its subgroups, and the matrices that it has as a whole.
//!
//! An instruction on whole matrices of work-group scope is executed by all invocations together, so a subgroup that
//! comes to one waits there for the others, and then it is done once. The operands that all have alike are those of
//! the first subgroup, which also executes regions, as if the matrix were its own. Where a program breaks the rule,
//! and not all subgroups come, those that wait at one place go on without the others.
//!
//! Components belong to all invocations: component `i` of the one with local index `l` is the element
//! `i * invocations + l`. An invocation reads and writes its own when it comes to that, without waiting: no two have
//! an element in common, and instructions on the whole matrix wait for everybody.

use crate::error::Error;
use crate::exec::{Dispatch, Exec};
use crate::subgroup::{State, Subgroup};
use phalanx_ir::{BinaryOp, Inst, InstInfo, MatType, Module, Op, Scope, Type, Value, Var, eval};

/// Instructions that a subgroup executes before another one has its turn.
const SLICE: u32 = 4096;

/// The matrices of work-group scope: elements in row-major order, none before the definition.
#[derive(Debug, Default)]
pub(crate) struct Matrices {
    values: Vec<Vec<u64>>,
    vars: Vec<Vec<Vec<u64>>>,
}

/// The matrix that a type is, if it is one of the work-group.
pub(crate) fn workgroup_matrix(ty: Type) -> Option<MatType> {
    ty.mat().filter(|m| m.scope == Scope::Workgroup)
}

impl Matrices {
    fn new(module: &Module) -> Self {
        let func = &module.body;
        let mut types = func.values.iter().map(|v| v.ty).chain(func.vars.iter().map(|v| v.ty));
        if !types.any(|ty| workgroup_matrix(ty).is_some()) {
            return Self::default();
        }
        let elements = |ty: Type| workgroup_matrix(ty).map(|m| vec![0; m.len() as usize]);
        let var = |ty, count| elements(ty).map_or_else(Vec::new, |matrix| vec![matrix; count]);
        Self {
            values: vec![Vec::new(); func.values.len()],
            vars: func.vars.iter().map(|info| var(info.ty, info.count as usize)).collect(),
        }
    }

    /// Whether the module has any.
    fn are_used(&self) -> bool {
        !self.values.is_empty()
    }

    pub(crate) fn value(&self, value: Value) -> &[u64] {
        self.values.get(value.index()).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn set_value(&mut self, value: Value, elements: Vec<u64>) {
        if let Some(matrix) = self.values.get_mut(value.index()) {
            *matrix = elements;
        }
    }

    /// An element of a variable, if it exists.
    pub(crate) fn var(&mut self, var: Var, index: usize) -> Option<&mut Vec<u64>> {
        self.vars.get_mut(var.index())?.get_mut(index)
    }
}

/// A work-group in execution.
#[derive(Debug)]
pub(crate) struct Group<'m> {
    module: &'m Module,
    subgroups: Vec<Subgroup>,
    matrices: Matrices,
}

impl<'m> Group<'m> {
    pub(crate) fn new(module: &'m Module, dispatch: &mut Dispatch<'_, '_>) -> Result<Self, Error> {
        let mut subgroups = Vec::new();
        for id in 0..module.num_subgroups() {
            dispatch.start_subgroup()?;
            subgroups.push(Subgroup::new(module, id));
        }
        Ok(Self { module, subgroups, matrices: Matrices::new(module) })
    }

    /// Runs all subgroups to their end.
    pub(crate) fn run(&mut self, dispatch: &mut Dispatch<'_, '_>) -> Result<(), Error> {
        while self.subgroups.iter().any(|subgroup| subgroup.state != State::Ended) {
            for sub in self.subgroups.iter_mut().filter(|sub| sub.state == State::Ready) {
                let (module, matrices) = (self.module, &mut self.matrices);
                let meets = matrices.are_used();
                Exec { module, dispatch, matrices, sub }.run(SLICE, meets)?;
            }
            if self.subgroups.iter().all(|subgroup| subgroup.state != State::Ready) {
                self.go_on(dispatch)?;
            }
        }
        Ok(())
    }

    /// Lets subgroups go on that wait; all others have ended.
    fn go_on(&mut self, dispatch: &mut Dispatch<'_, '_>) -> Result<(), Error> {
        let waits_at = |subgroup: &Subgroup| match subgroup.state {
            State::Waiting(inst) => Some(inst),
            State::Ready | State::Ended => None,
        };
        let Some(inst) = self.subgroups.iter().find_map(waits_at) else { return Ok(()) };
        let is_barrier = |inst| matches!(self.module.body.inst(inst).op, Op::Barrier(_));
        if is_barrier(inst) {
            for subgroup in &mut self.subgroups {
                if waits_at(subgroup).is_some_and(is_barrier) {
                    subgroup.state = State::Ready;
                    subgroup.released = true;
                }
            }
            return Ok(());
        }
        let mut here: Vec<&mut Subgroup> =
            self.subgroups.iter_mut().filter(|subgroup| waits_at(subgroup) == Some(inst)).collect();
        let (module, matrices) = (self.module, &mut self.matrices);
        together(module, dispatch, matrices, &mut here, inst)?;
        for (i, subgroup) in here.into_iter().enumerate() {
            // The first one has been counted and advanced by the execution.
            if i > 0 {
                dispatch.spend(1)?;
                subgroup.advance();
            }
            subgroup.state = State::Ready;
        }
        Ok(())
    }
}

/// Executes an instruction on matrices of the work-group for the subgroups that are here, at least one.
fn together(
    module: &Module,
    dispatch: &mut Dispatch<'_, '_>,
    matrices: &mut Matrices,
    here: &mut [&mut Subgroup],
    inst: Inst,
) -> Result<(), Error> {
    let info = module.body.inst(inst);
    let each = Each::new(module, here);
    let made = match info.op {
        Op::MatSplat => Some(each.splat(dispatch, info)?),
        Op::MatScale => Some(each.scale(dispatch, matrices, info)?),
        Op::MatInsert => Some(each.insert(dispatch, matrices, info)?),
        _ => None,
    };
    let Some(first) = here.first_mut() else { return Ok(()) };
    let Some(elements) = made else {
        return Exec { module, dispatch, matrices, sub: first }.step(inst);
    };
    matrices.set_value(info.results[0], elements);
    first.advance();
    dispatch.spend(1)
}

/// The scalars of each invocation.
struct Each<'s> {
    module: &'s Module,
    /// By subgroup; none where it did not come.
    subgroups: Vec<Option<&'s Subgroup>>,
}

impl<'s> Each<'s> {
    fn new(module: &'s Module, here: &'s [&mut Subgroup]) -> Self {
        let mut subgroups = vec![None; module.num_subgroups() as usize];
        for subgroup in here {
            subgroups[subgroup.id as usize] = Some(&**subgroup);
        }
        Self { module, subgroups }
    }

    /// The subgroup and the lane of an invocation, if that executes.
    fn lane(&self, invocation: u32) -> Option<(&'s Subgroup, usize)> {
        let size = self.module.subgroup_size;
        let subgroup = self.subgroups[(invocation / size) as usize]?;
        let lane = (invocation % size) as usize;
        subgroup.active().contains(lane).then_some((subgroup, lane))
    }

    /// The invocation that holds an element, and which component it is.
    fn holder(&self, m: MatType, element: usize) -> (u32, u32) {
        let (element, cols) = (element as u64, u64::from(m.cols));
        self.module.layout(m).at((element / cols) as u32, (element % cols) as u32)
    }

    /// The scalar of the invocation that holds an element as a component; that of the first one instead of one
    /// that is missing against the rule.
    fn scalar(&self, m: MatType, element: usize, scalar: Value) -> u64 {
        let (invocation, _) = self.holder(m, element);
        let first = || self.subgroups.iter().flatten().next().map(|sub| (*sub, sub.active().first()));
        self.lane(invocation).or_else(first).map_or(0, |(subgroup, lane)| subgroup.scalar(scalar, lane))
    }

    fn result(&self, info: &InstInfo) -> MatType {
        let Some(m) = self.module.body.ty(info.results[0]).mat() else {
            unreachable!("{} was verified to be a matrix", info.results[0])
        };
        m
    }

    fn splat(&self, dispatch: &mut Dispatch<'_, '_>, info: &InstInfo) -> Result<Vec<u64>, Error> {
        let m = self.result(info);
        dispatch.elements(&m, |i| self.scalar(m, i, info.args[0]))
    }

    fn scale(
        &self,
        dispatch: &mut Dispatch<'_, '_>,
        matrices: &Matrices,
        info: &InstInfo,
    ) -> Result<Vec<u64>, Error> {
        let m = self.result(info);
        let op = if m.elem.is_float() { BinaryOp::Fmul } else { BinaryOp::Imul };
        let from = matrices.value(info.args[0]);
        dispatch.elements(&m, |i| eval::binary(op, m.elem, from[i], self.scalar(m, i, info.args[1])))
    }

    fn insert(
        &self,
        dispatch: &mut Dispatch<'_, '_>,
        matrices: &Matrices,
        info: &InstInfo,
    ) -> Result<Vec<u64>, Error> {
        let m = self.result(info);
        let [component, scalar] = [info.args[1], info.args[2]];
        let from = matrices.value(info.args[0]);
        dispatch.elements(&m, |i| {
            let (invocation, own) = self.holder(m, i);
            let inserts = |&(sub, lane): &(&Subgroup, usize)| sub.scalar(component, lane) == u64::from(own);
            let lane = self.lane(invocation).filter(inserts);
            lane.map_or(from[i], |(sub, lane)| sub.scalar(scalar, lane))
        })
    }
}

//! Runs the work-groups of a dispatch, and the subgroups of each in turn.

use crate::error::{Error, Place};
use crate::exec::{Dispatch, Exec};
use crate::memory::{Memory, View};
use crate::subgroup::{State, Subgroup};
use crate::value::footprint;
use phalanx_ir::{Inst, MatType, Module, Op, Scope, Value, Verified};

/// Instructions that a subgroup executes before another one has its turn.
const SLICE: u32 = 4096;

/// What a dispatch may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions in all, counted once for each subgroup that executes one; to start a subgroup
    /// counts as one, too.
    pub max_steps: u64,
    /// Bytes for the values and variables of a work-group.
    pub max_bytes: u64,
    /// Lines printed; further ones are dropped.
    pub max_lines: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_steps: 1 << 36, max_bytes: 1 << 32, max_lines: 1 << 20 }
    }
}

/// What a dispatch did, apart from its writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The lines it printed, in order of execution.
    pub output: Vec<String>,
    /// Lines beyond [`Limits::max_lines`].
    pub dropped_lines: u64,
    /// Instructions executed, counted as for [`Limits::max_steps`].
    pub steps: u64,
    /// Accesses of scalars outside of buffers, push constants and shared objects.
    pub out_of_bounds: u64,
}

/// Runs a dispatch of `groups` work-groups, whose ids start from `base`.
///
/// # Errors
///
/// See [`Error`].
pub fn run(
    module: &Verified,
    memory: &mut Memory<'_>,
    groups: [u32; 3],
    base: [u32; 3],
    limits: &Limits,
) -> Result<Report, Error> {
    check_footprint(module, limits)?;
    let view = View { memory, shared: Vec::new(), out_of_bounds: 0 };
    let mut dispatch = Dispatch { view, groups, group: base, limits: *limits, report: Report::default() };
    for z in 0..groups[2] {
        for y in 0..groups[1] {
            for x in 0..groups[0] {
                dispatch.group = [x, y, z];
                for (id, base) in dispatch.group.iter_mut().zip(base) {
                    *id = id.wrapping_add(base);
                }
                dispatch.view.shared = vec![0; module.shared_bytes as usize];
                run_group(module, &mut dispatch)?;
            }
        }
    }
    let out_of_bounds = dispatch.view.out_of_bounds;
    Ok(Report { out_of_bounds, ..dispatch.report })
}

fn check_footprint(module: &Module, limits: &Limits) -> Result<(), Error> {
    let lanes = u64::from(module.subgroup_size);
    let values = module.body.values.iter().map(|value| footprint(value.ty, lanes));
    let vars = module.body.vars.iter();
    let vars = vars.map(|var| footprint(var.ty, lanes).saturating_mul(var.count.into()));
    let subgroup = values.chain(vars).fold(0u64, u64::saturating_add);
    let needed = subgroup.saturating_mul(module.num_subgroups().into());
    if needed > limits.max_bytes {
        return Err(Error::MemoryLimit { needed, limit: limits.max_bytes });
    }
    Ok(())
}

fn run_group(module: &Module, dispatch: &mut Dispatch<'_, '_>) -> Result<(), Error> {
    let mut subgroups = Vec::new();
    for id in 0..module.num_subgroups() {
        dispatch.count_step()?;
        subgroups.push(Subgroup::new(module, id));
    }
    while subgroups.iter().any(|subgroup| subgroup.state != State::Ended) {
        for subgroup in &mut subgroups {
            if subgroup.state == State::Ready {
                Exec { module, dispatch, sub: subgroup }.run(SLICE)?;
            }
        }
        if subgroups.iter().all(|subgroup| subgroup.state != State::Ready) {
            release(module, &mut subgroups)?;
        }
    }
    Ok(())
}

/// Lets the subgroups go on that wait; all others have ended.
fn release(module: &Module, subgroups: &mut [Subgroup]) -> Result<(), Error> {
    let waits = subgroups.iter().find_map(|subgroup| match subgroup.state {
        State::Waiting(inst) => Some(inst),
        State::Ready | State::Ended => None,
    });
    if let Some(inst) = waits {
        join_matrices(module, inst, subgroups)?;
    }
    for subgroup in subgroups {
        if matches!(subgroup.state, State::Waiting(_)) {
            subgroup.state = State::Ready;
            subgroup.released = true;
        }
    }
    Ok(())
}

/// Gives each subgroup the elements that the others hold of the matrices an instruction uses.
///
/// Every subgroup executes the operations on a matrix of the work-group on a copy of its own, in
/// which the elements that belong to its invocations are right. Operations that use elements of
/// others wait before they do.
fn join_matrices(module: &Module, inst: Inst, subgroups: &mut [Subgroup]) -> Result<(), Error> {
    let info = module.body.inst(inst);
    if matches!(info.op, Op::Barrier(_)) {
        return Ok(());
    }
    if subgroups.iter().any(|subgroup| subgroup.state != State::Waiting(inst)) {
        return Err(Error::Divergence { place: Place::new(module, inst) });
    }
    for &arg in &info.args {
        if let Some(m) = module.body.ty(arg).mat().filter(|m| m.scope == Scope::Workgroup) {
            join_matrix(&m, arg, subgroups);
        }
    }
    Ok(())
}

fn join_matrix(m: &MatType, value: Value, subgroups: &mut [Subgroup]) {
    let mut joined = vec![0; m.len() as usize];
    for subgroup in subgroups.iter() {
        for (element, &bits) in subgroup.matrix(value).iter().enumerate() {
            if subgroup.owner(m, element).is_some() {
                joined[element] = bits;
            }
        }
    }
    for subgroup in subgroups {
        subgroup.set_matrix(value, joined.clone());
    }
}

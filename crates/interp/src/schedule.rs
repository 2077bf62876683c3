//! Runs the work-groups of a dispatch, and the subgroups of each in turn.

use crate::error::Error;
use crate::exec::{Dispatch, Exec};
use crate::memory::{Memory, View};
use crate::subgroup::{State, Subgroup};
use crate::value::footprint;
use phalanx_ir::{Module, Scope, Type, Verified, passes};
use std::collections::BTreeSet;

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
    /// What it warned of, in order of execution.
    pub warnings: Vec<String>,
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
    // Which invocation has which component of a matrix of the work-group is the same for all targets.
    let spread = passes::spread(module, &passes::Options::default())?;
    let module = spread.as_ref().unwrap_or(module);
    check_footprint(module, limits)?;
    let view = View { memory, shared: Vec::new(), out_of_bounds: 0 };
    let (report, warned) = (Report::default(), BTreeSet::new());
    let mut dispatch = Dispatch { view, groups, group: base, limits: *limits, report, warned };
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
    let (lanes, subgroups) = (u64::from(module.subgroup_size), u64::from(module.num_subgroups()));
    let instances = |ty: Type| match ty {
        Type::Mat(m) if m.scope == Scope::Workgroup => 1,
        _ => subgroups,
    };
    let values = module.body.values.iter().map(|value| (value.ty, 1));
    let vars = module.body.vars.iter().map(|var| (var.ty, u64::from(var.count)));
    let bytes = |(ty, count)| footprint(ty, lanes).saturating_mul(count).saturating_mul(instances(ty));
    let needed = values.chain(vars).map(bytes).fold(0, u64::saturating_add);
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
            release(&mut subgroups);
        }
    }
    Ok(())
}

/// Lets the subgroups go on that wait at barriers; all others have ended.
fn release(subgroups: &mut [Subgroup]) {
    for subgroup in subgroups {
        if subgroup.state == State::Waiting {
            subgroup.state = State::Ready;
            subgroup.released = true;
        }
    }
}

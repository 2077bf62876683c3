//! Runs the work-groups of a dispatch, and the subgroups of each in turn.

use crate::error::Error;
use crate::exec::Dispatch;
use crate::group::{Group, workgroup_matrix};
use crate::memory::{Memory, View};
use crate::traffic::{Accesses, Traffic};
use crate::value::footprint;
use phalanx_ir::{MAX_DISPATCH_INVOCATIONS, Module, Type, Verified};
use std::collections::BTreeSet;

/// What a dispatch may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Steps in all. A step is an instruction, counted once for each subgroup that executes one; the start of a
    /// subgroup; and, besides, each element of a matrix that an instruction works on, or each product of two.
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
    /// Steps taken, counted as for [`Limits::max_steps`].
    pub steps: u64,
    /// Accesses of scalars outside of buffers, push constants and shared objects.
    pub out_of_bounds: u64,
    /// The accesses to memory that were inside.
    pub traffic: Traffic,
}

/// Runs a dispatch of `groups` work-groups, whose ids start from `base`.
///
/// # Errors
///
/// See [`Error`]; it is not interrupted.
pub fn run(
    module: &Verified,
    memory: &mut Memory<'_>,
    groups: [u32; 3],
    base: [u32; 3],
    limits: &Limits,
) -> Result<Report, Error> {
    run_until(module, memory, groups, base, limits, &|| false)
}

/// The same, until `interrupt` gives true. That is asked after every few hundred steps, whatever those are of.
///
/// # Errors
///
/// See [`Error`].
pub fn run_until(
    module: &Verified,
    memory: &mut Memory<'_>,
    groups: [u32; 3],
    base: [u32; 3],
    limits: &Limits,
    interrupt: &dyn Fn() -> bool,
) -> Result<Report, Error> {
    let traffic = Traffic { buffers: vec![Accesses::default(); memory.buffers()], ..Traffic::default() };
    // Along the other axes there may be more than can be counted.
    if groups.contains(&0) {
        return Ok(Report { traffic, ..Report::default() });
    }
    check_range(module, groups, base)?;
    check_footprint(module, limits)?;
    let view = View { memory, shared: Vec::new(), out_of_bounds: 0, traffic };
    let (report, warned) = (Report::default(), BTreeSet::new());
    let mut dispatch =
        Dispatch { view, interrupt, ask_at: 0, groups, group: base, limits: *limits, report, warned };
    for z in 0..groups[2] {
        for y in 0..groups[1] {
            for x in 0..groups[0] {
                dispatch.group = [x, y, z];
                for (id, base) in dispatch.group.iter_mut().zip(base) {
                    *id = id.wrapping_add(base);
                }
                dispatch.view.shared = vec![0; module.shared_bytes as usize];
                Group::new(module, &mut dispatch)?.run(&mut dispatch)?;
            }
        }
    }
    let View { out_of_bounds, traffic, .. } = dispatch.view;
    Ok(Report { out_of_bounds, traffic, ..dispatch.report })
}

/// Refuses a dispatch some of whose invocations have ids beyond those that analyses reckon with.
fn check_range(module: &Module, groups: [u32; 3], base: [u32; 3]) -> Result<(), Error> {
    for axis in 0..3 {
        let ids = u64::from(base[axis]) + u64::from(groups[axis]);
        let invocations = ids.saturating_mul(module.workgroup_size[axis].into());
        if invocations > MAX_DISPATCH_INVOCATIONS.into() {
            return Err(Error::TooManyInvocations { axis, invocations });
        }
    }
    Ok(())
}

fn check_footprint(module: &Module, limits: &Limits) -> Result<(), Error> {
    let (lanes, subgroups) = (u64::from(module.subgroup_size), u64::from(module.num_subgroups()));
    let instances = |ty: Type| match ty {
        ty if workgroup_matrix(ty).is_some() => 1,
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

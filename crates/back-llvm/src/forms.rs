//! The forms of a module: one that is right for all that it may be called for, and most often no other. Another is for push
//! constants that are as they mostly are, or for blocks of work-groups that load the same matrices (see
//! [`passes::coarsen`]). Each is an object of its own, so that they can be compiled beside each other; the host chooses by
//! what [`Meta`] says.
//!
//! Where the first subgroup of a work-group works on the matrices of the work-group (see [`passes::split`]), a form has two
//! functions, one for it and one for the others, and an entry that calls one of them. What lies in shared memory is the same
//! for both; only the first has scratch memory there for matrices of the work-group.

use crate::abi::{self, Meta, offset};
use crate::coopmat;
use crate::emit::Emit;
use crate::error::{Error, Result};
use crate::lower::{Common, Lower};
use crate::prologue::{Prologue, entry_function};
use inkwell::IntPredicate;
use inkwell::module::Linkage;
use inkwell::values::FunctionValue;
use phalanx_ir::passes::{self, PassBug, Scratch, Split, SpreadError};
use phalanx_ir::uniformity::Assumptions;
use phalanx_ir::{Distribution, Function, InstInfo, Uniformity, Verified};
use phalanx_kernels::KernelSet;

/// What a module is compiled with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) isa: KernelSet,
    pub(crate) passes: passes::Options,
}

/// The forms of a module.
pub(crate) struct Forms {
    /// That for everything.
    pub(crate) general: Form,
    /// One that does some of it faster.
    pub(crate) special: Option<Form>,
}

/// A form, not yet lowered. It owns all that it needs.
pub(crate) enum Form {
    /// A function for all subgroups, whose passes are done.
    Single {
        module: Verified,
        uniformity: Uniformity,
        /// Whether another form is for what programs mostly do, so that this one should be small.
        is_rare: bool,
    },
    /// One for the first subgroup, and one for the others.
    Led { leader: Verified, followers: Verified },
    /// A function for push constants that are as is assumed.
    Aligned { module: Verified, assumptions: Assumptions },
    /// A function for a block of work-groups, which may decline. Its expansion is still to be done.
    Block { module: Verified, block: [u32; 2] },
}

impl Forms {
    /// Finds the forms of a module.
    pub(crate) fn of(module: &Verified, settings: Settings) -> Result<Self> {
        if module.distribution != Distribution::Rows {
            let name = module.distribution.name();
            return Err(Error::unsupported(format!("components of matrices distributed as {name}")));
        }
        let distributed = passes::distribute(module, Distribution::Rows).map_err(bug)?;
        let module = distributed.as_ref().unwrap_or(module);
        let split = passes::split(module, &settings.passes).map_err(|error| match error {
            SpreadError::Bug(error) => bug(error),
            error => Error::unsupported(error.to_string()),
        })?;
        match split {
            Some(Split { leader, followers: Some(followers) }) => {
                Ok(Self { general: Form::Led { leader, followers }, special: None })
            }
            Some(Split { leader, followers: None }) => Self::of_all_subgroups(&leader, settings),
            None => Self::of_all_subgroups(module, settings),
        }
    }

    fn of_all_subgroups(whole: &Verified, settings: Settings) -> Result<Self> {
        let subgroups = whole.num_subgroups();
        let blocks =
            |func: &_, round: &_, bytes| coopmat::blocks(func, settings.isa, subgroups, round, bytes);
        let staged = passes::stage(whole, &blocks, &settings.passes).map_err(bug)?;
        let whole = staged.as_ref().unwrap_or(whole);
        let passed = prepare(whole, Scratch::of(whole), settings)?;
        let module = passed.unwrap_or_else(|| whole.clone());
        let uniformity = Uniformity::analyse_if(&module, &Assumptions::of_components());
        let assumptions = Assumptions::useful(&module, &uniformity);
        let special = if assumptions.is_empty() {
            let coarse = passes::coarsen(whole, &settings.passes).map_err(bug)?;
            coarse.map(|coarse| Form::Block { module: coarse.module, block: coarse.block })
        } else {
            Some(Form::Aligned { module: module.clone(), assumptions })
        };
        let is_rare = matches!(special, Some(Form::Aligned { .. }));
        Ok(Self { general: Form::Single { module, uniformity, is_rare }, special })
    }
}

impl Form {
    /// Lowers a form to a function that the host calls, and gives all functions that are as long as the module is.
    pub(crate) fn lower<'c>(
        &self,
        e: Emit<'c>,
        common: &mut Common,
        settings: Settings,
    ) -> Result<(Emit<'c>, Vec<FunctionValue<'c>>, Meta)> {
        let start = |e: &Emit<'c>| Prologue::new(e, abi::ENTRY_SYMBOL, Linkage::External);
        let (e, function, meta) = match self {
            Self::Led { leader, followers } => return led(e, common, leader, followers, settings),
            Self::Single { module, uniformity, is_rare } => {
                let mut start = start(&e);
                start.is_rare = *is_rare;
                Lower::module(e, common, start, module, uniformity, settings.isa, module.num_subgroups())?
            }
            Self::Aligned { module, assumptions } => {
                let uniformity = Uniformity::analyse_if(module, assumptions);
                // Where lengths are multiples, more is known to follow one another.
                let joined = passes::join_known(module, &uniformity).map_err(bug)?;
                let (module, uniformity) = match &joined {
                    Some(module) => (module, Uniformity::analyse_if(module, assumptions)),
                    None => (module, uniformity),
                };
                let start = start(&e);
                let (e, function, meta) = Lower::module(
                    e,
                    common,
                    start,
                    module,
                    &uniformity,
                    settings.isa,
                    module.num_subgroups(),
                )?;
                (e, function, Meta { aligned: assumptions.aligned().collect(), ..meta })
            }
            Self::Block { module, block } => {
                let start = start(&e);
                let subgroups = module.num_subgroups();
                let (e, function, meta) =
                    one_of_two(e, common, start, module, Scratch::of(module), settings, subgroups)?;
                (e, function, Meta { block: Some(*block), ..meta })
            }
        };
        Ok((e, vec![function], meta))
    }
}

/// What the host has to know of two forms of a module. All subgroups of a dispatch have push constants of one kind, and both
/// forms place matrices alike.
pub(crate) fn join(general: Meta, special: Meta) -> Meta {
    Meta {
        scratch_bytes: general.scratch_bytes.max(special.scratch_bytes),
        common_bytes: general.common_bytes.max(special.common_bytes),
        note_bytes: general.note_bytes.max(special.note_bytes),
        stack_bytes: general.stack_bytes.max(special.stack_bytes),
        frame_bytes: general.frame_bytes.max(special.frame_bytes),
        frame_align: general.frame_align.max(special.frame_align),
        block: special.block,
        aligned: special.aligned,
        ..general
    }
}

/// Two functions, and an entry that calls that for the first subgroup or that for the others.
fn led<'c>(
    e: Emit<'c>,
    common: &mut Common,
    leader: &Verified,
    followers: &Verified,
    settings: Settings,
) -> Result<(Emit<'c>, Vec<FunctionValue<'c>>, Meta)> {
    let alone = Scratch { subgroups: 1, ..Scratch::of(leader) };
    let mut start = Prologue::new(&e, "leader", Linkage::Internal);
    start.stops = true;
    // What both note of common memory would have to be the same.
    let (e, lead, first) = one_of_two(e, common, start, leader, alone, settings, 1)?;
    let behind = Scratch { start: first.shared_bytes, ..Scratch::of(followers) };
    let mut start = Prologue::new(&e, "followers", Linkage::Internal);
    start.stops = true;
    let (e, follow, others) = one_of_two(e, common, start, followers, behind, settings, 1)?;
    choose(&e, lead, follow)?;
    let meta = Meta {
        shared_bytes: first.shared_bytes.max(others.shared_bytes),
        leader_scratch_bytes: first.scratch_bytes.saturating_sub(others.scratch_bytes),
        common_bytes: first.common_bytes.max(others.common_bytes),
        note_bytes: 0,
        stops: first.stops || others.stops,
        uses_addresses: first.uses_addresses || others.uses_addresses,
        ..others
    };
    Ok((e, vec![lead, follow], meta))
}

/// Lowers a module whose subgroups or work-groups another one does as well, so that it runs none in a row.
fn one_of_two<'c>(
    e: Emit<'c>,
    common: &mut Common,
    mut start: Prologue<'c>,
    module: &Verified,
    scratch: Scratch,
    settings: Settings,
    subgroups: u32,
) -> Result<(Emit<'c>, FunctionValue<'c>, Meta)> {
    let passed = prepare(module, scratch, settings)?;
    let module = passed.as_ref().unwrap_or(module);
    let uniformity = Uniformity::analyse_if(module, &Assumptions::of_components());
    start.may_run_groups = false;
    Lower::module(e, common, start, module, &uniformity, settings.isa, subgroups)
}

/// What the passes make of a form, if it is another module then.
fn prepare(module: &Verified, scratch: Scratch, settings: Settings) -> Result<Option<Verified>> {
    let Settings { isa, passes: options } = settings;
    let is_whole = |f: &Function, i: &InstInfo| coopmat::is_whole(module, isa, f, i);
    let scratch = Scratch { decodes_in_components: true, ..scratch };
    let expanded = passes::expand_but(&is_whole, module, scratch, &options).map_err(bug)?;
    let chained = {
        let module = expanded.as_ref().unwrap_or(module);
        passes::chain(module, &|func, round| coopmat::rounds(func, isa, round), &options).map_err(bug)?
    };
    let module = chained.as_ref().or(expanded.as_ref()).unwrap_or(module);
    let (maps, folds) = (|m| coopmat::maps(module, isa, m), |from, to| coopmat::folds(module, isa, from, to));
    let elements = passes::Elements { maps: &maps, folds: &folds };
    let fewer = passes::elements(module, elements, &options).map_err(bug)?;
    Ok(fewer.or(chained).or(expanded))
}

/// The entry: calls a function for the first subgroup, or another for the others.
fn choose<'c>(e: &Emit<'c>, lead: FunctionValue<'c>, follow: FunctionValue<'c>) -> Result<()> {
    let function = entry_function(e, abi::ENTRY_SYMBOL, Linkage::External);
    let [entry, first, other] = ["entry", "first", "other"].map(|name| e.new_block(function, name));
    let context = function.get_nth_param(0).ok_or_else(|| Error::bug("an entry without a parameter"))?;
    e.b.position_at_end(entry);
    let found = e.field(context.into_pointer_value(), offset::SUBGROUP_ID as u64)?;
    let found = e.load_invariant(e.cx.i32_type(), found, 4)?;
    let is_first = e.icmp(IntPredicate::EQ, found, e.i32(0))?;
    e.cond_br(is_first, first, other)?;
    for (block, form) in [(first, lead), (other, follow)] {
        e.b.position_at_end(block);
        e.b.build_call(form, &[context.into()], "")?;
        e.b.build_return(None)?;
    }
    Ok(())
}

fn bug(bug: PassBug) -> Error {
    Error::bug(bug.to_string())
}

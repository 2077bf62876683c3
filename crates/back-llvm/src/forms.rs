//! The forms of a module, each a function: one, or two where the first subgroup of a work-group has another
//! than the others, where one is for push constants that are as they mostly are, or where one is for blocks of work-groups
//! that load the same matrices (see [`passes::coarsen`]).
//!
//! The first subgroup works on the matrices of the work-group (see [`passes::split`]). The entry then calls
//! one of the functions. What lies in shared memory is the same for both; only the first has scratch memory
//! there for matrices of the work-group.

use crate::abi::{self, Meta, offset};
use crate::coopmat;
use crate::emit::{Emit, V};
use crate::error::{Error, Result};
use crate::lower::{Common, Lower};
use crate::prologue::{Prologue, entry_function};
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::module::Linkage;
use inkwell::values::FunctionValue;
use phalanx_ir::passes::{self, Coarse, PassBug, Scratch, Split, SpreadError};
use phalanx_ir::uniformity::Assumptions;
use phalanx_ir::{Distribution, Function, InstInfo, Uniformity, Verified};
use phalanx_kernels::KernelSet;

/// Lowers all forms of a module, and gives their functions.
pub(crate) fn lower<'c>(
    e: Emit<'c>,
    common: &mut Common,
    module: &Verified,
    isa: KernelSet,
) -> Result<(Emit<'c>, Vec<FunctionValue<'c>>, Meta)> {
    if module.distribution != Distribution::Rows {
        let name = module.distribution.name();
        return Err(Error::unsupported(format!("components of matrices distributed as {name}")));
    }
    let distributed = passes::distribute(module, Distribution::Rows).map_err(bug)?;
    let module = distributed.as_ref().unwrap_or(module);
    let split = passes::split(module, &passes::Options::default()).map_err(|error| match error {
        SpreadError::Bug(error) => bug(error),
        error => Error::unsupported(error.to_string()),
    })?;
    let (leader, followers) = match split {
        Some(Split { leader, followers: Some(followers) }) => (leader, followers),
        Some(Split { leader, followers: None }) => return lower_only(e, common, &leader, isa),
        None => return lower_only(e, common, module, isa),
    };
    let alone = Scratch { subgroups: 1, ..Scratch::of(&leader) };
    let start = Prologue::new(&e, "leader", Linkage::Internal);
    // What both forms note of common memory would have to be the same.
    let (e, lead, first) = lower_form(e, common, start, &leader, alone, isa, 1)?;
    let behind = Scratch { start: first.shared_bytes, ..Scratch::of(&followers) };
    let start = Prologue::new(&e, "followers", Linkage::Internal);
    let (e, follow, others) = lower_form(e, common, start, &followers, behind, isa, 1)?;
    choose(&e, offset::SUBGROUP_ID, 0, lead, follow)?;
    let meta = Meta {
        shared_bytes: first.shared_bytes.max(others.shared_bytes),
        leader_scratch_bytes: first.scratch_bytes.saturating_sub(others.scratch_bytes),
        common_bytes: first.common_bytes.max(others.common_bytes),
        note_bytes: 0,
        has_workgroup_barrier: first.has_workgroup_barrier || others.has_workgroup_barrier,
        uses_addresses: first.uses_addresses || others.uses_addresses,
        ..others
    };
    Ok((e, vec![lead, follow], meta))
}

fn lower_only<'c>(
    e: Emit<'c>,
    common: &mut Common,
    module: &Verified,
    isa: KernelSet,
) -> Result<(Emit<'c>, Vec<FunctionValue<'c>>, Meta)> {
    let whole = module;
    let passed = prepare(module, Scratch::of(module), isa)?;
    let module = passed.as_ref().unwrap_or(module);
    let subgroups = module.num_subgroups();
    let uniformity = Uniformity::analyse_if(module, &Assumptions::of_components());
    let assumptions = Assumptions::useful(module, &uniformity);
    if assumptions.is_empty() {
        if let Some(coarse) = passes::coarsen(whole, &passes::Options::default()).map_err(bug)? {
            return lower_coarse(e, common, module, &uniformity, &coarse, isa);
        }
        let start = Prologue::new(&e, abi::ENTRY_SYMBOL, Linkage::External);
        let (e, function, meta) = Lower::module(e, common, start, module, &uniformity, isa, subgroups)?;
        return Ok((e, vec![function], meta));
    }
    let mut start = Prologue::new(&e, "general", Linkage::Internal);
    start.is_rare = true;
    let (e, general, meta) = Lower::module(e, common, start, module, &uniformity, isa, subgroups)?;
    let uniformity = Uniformity::analyse_if(module, &assumptions);
    // Where lengths are multiples, more is known to follow one another.
    let joined = passes::join_known(module, &uniformity).map_err(bug)?;
    let (module, uniformity) = match &joined {
        Some(module) => (module, Uniformity::analyse_if(module, &assumptions)),
        None => (module, uniformity),
    };
    let start = Prologue::new(&e, "aligned", Linkage::Internal);
    let (e, aligned, other) = Lower::module(e, common, start, module, &uniformity, isa, subgroups)?;
    choose_aligned(&e, &assumptions, aligned, general)?;
    // All subgroups of a dispatch run the same form, and both place matrices alike.
    let meta = Meta {
        scratch_bytes: meta.scratch_bytes.max(other.scratch_bytes),
        common_bytes: meta.common_bytes.max(other.common_bytes),
        ..meta
    };
    Ok((e, vec![general, aligned], meta))
}

/// A form for single work-groups, and one for blocks of them, which may decline.
fn lower_coarse<'c>(
    e: Emit<'c>,
    common: &mut Common,
    module: &Verified,
    uniformity: &Uniformity,
    coarse: &Coarse,
    isa: KernelSet,
) -> Result<(Emit<'c>, Vec<FunctionValue<'c>>, Meta)> {
    let subgroups = module.num_subgroups();
    let start = Prologue::new(&e, "single", Linkage::Internal);
    let (e, single, meta) = Lower::module(e, common, start, module, uniformity, isa, subgroups)?;
    let start = Prologue::new(&e, "block", Linkage::Internal);
    let scratch = Scratch::of(&coarse.module);
    let (e, block, other) = lower_form(e, common, start, &coarse.module, scratch, isa, subgroups)?;
    choose(&e, offset::SUBGROUP_GROUPS, abi::ALL_OF_BLOCK, block, single)?;
    let meta = Meta {
        scratch_bytes: meta.scratch_bytes.max(other.scratch_bytes),
        common_bytes: meta.common_bytes.max(other.common_bytes),
        note_bytes: meta.note_bytes.max(other.note_bytes),
        block: Some(coarse.block),
        ..meta
    };
    Ok((e, vec![single, block], meta))
}

fn lower_form<'c>(
    e: Emit<'c>,
    common: &mut Common,
    mut start: Prologue<'c>,
    module: &Verified,
    scratch: Scratch,
    isa: KernelSet,
    subgroups: u32,
) -> Result<(Emit<'c>, FunctionValue<'c>, Meta)> {
    let passed = prepare(module, scratch, isa)?;
    let module = passed.as_ref().unwrap_or(module);
    let uniformity = Uniformity::analyse_if(module, &Assumptions::of_components());
    start.may_run_groups = false;
    Lower::module(e, common, start, module, &uniformity, isa, subgroups)
}

/// What the passes make of a form, if it is another module then.
fn prepare(module: &Verified, scratch: Scratch, isa: KernelSet) -> Result<Option<Verified>> {
    let is_whole = |f: &Function, i: &InstInfo| coopmat::is_whole(module, isa, f, i);
    let options = passes::Options::default();
    let scratch = Scratch { decodes_in_components: true, ..scratch };
    let expanded = passes::expand_but(&is_whole, module, scratch, &options).map_err(bug)?;
    let chained = {
        let module = expanded.as_ref().unwrap_or(module);
        passes::chain(module, &|func, round| coopmat::rounds(func, isa, round), &options).map_err(bug)?
    };
    Ok(chained.or(expanded))
}

/// The entry: calls the form that assumes something of the push constants, if they are so, or the general one.
fn choose_aligned<'c>(
    e: &Emit<'c>,
    assumptions: &Assumptions,
    aligned: FunctionValue<'c>,
    general: FunctionValue<'c>,
) -> Result<()> {
    let function = entry_function(e, abi::ENTRY_SYMBOL, Linkage::External);
    let context = function.get_nth_param(0).ok_or_else(|| Error::bug("an entry without a parameter"))?;
    let [entry, even, odd] = ["entry", "aligned", "general"].map(|name| e.new_block(function, name));
    e.b.position_at_end(entry);
    let dispatch = e.field(context.into_pointer_value(), offset::SUBGROUP_DISPATCH as u64)?;
    let dispatch = e.load_invariant(e.ptr_ty(), dispatch, 8)?.into_pointer_value();
    let push = e.field(dispatch, offset::DISPATCH_PUSH as u64)?;
    let push = e.load_invariant(e.ptr_ty(), push, 8)?.into_pointer_value();
    let mut low = e.i32(0);
    for (at, log2) in assumptions.aligned() {
        let word = e.field(push, at.into())?;
        let word = e.load_invariant(e.cx.i32_type(), word, 1)?;
        low = e.or(low, e.and(word, e.i32((1 << log2) - 1))?)?;
    }
    let is_aligned = e.icmp(IntPredicate::EQ, low, e.i32(0))?;
    e.cond_br(is_aligned, even, odd)?;
    call_forms(e, &[(even, aligned), (odd, general)], context)
}

/// Ends blocks by calls of forms.
fn call_forms<'c>(e: &Emit<'c>, calls: &[(BasicBlock<'c>, FunctionValue<'c>)], context: V<'c>) -> Result<()> {
    for &(block, form) in calls {
        e.b.position_at_end(block);
        e.b.build_call(form, &[context.into()], "")?;
        e.b.build_return(None)?;
    }
    Ok(())
}

/// The entry: calls a form where a number of the context is so much, or another.
fn choose<'c>(
    e: &Emit<'c>,
    field: usize,
    number: u32,
    form: FunctionValue<'c>,
    another: FunctionValue<'c>,
) -> Result<()> {
    let function = entry_function(e, abi::ENTRY_SYMBOL, Linkage::External);
    let [entry, equal, other] = ["entry", "equal", "other"].map(|name| e.new_block(function, name));
    let context = function.get_nth_param(0).ok_or_else(|| Error::bug("an entry without a parameter"))?;
    e.b.position_at_end(entry);
    let found = e.field(context.into_pointer_value(), field as u64)?;
    let found = e.load_invariant(e.cx.i32_type(), found, 4)?;
    let is_equal = e.icmp(IntPredicate::EQ, found, e.i32(number))?;
    e.cond_br(is_equal, equal, other)?;
    call_forms(e, &[(equal, form), (other, another)], context)
}

fn bug(bug: PassBug) -> Error {
    Error::bug(bug.to_string())
}

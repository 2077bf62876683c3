//! The parsed tree to IR, for one entry point.
//!
//! Everything is walked once: structured operations become constructs of the IR, graphs of blocks are structured
//! by [`cf`], calls are inlined. Each file holds a dialect, or a part of one.

mod affine;
mod arith;
mod attr;
mod cf;
mod cx;
mod func;
mod gpu;
mod group;
mod info;
mod launch;
mod math;
mod memref;
mod mma;
mod place;
mod scf;
mod symbols;
mod types;
mod value;
mod vector;
mod view;

pub(crate) use info::inspect;
pub use info::{BufferInfo, EntryInfo, Info, MulAddInfo, PushInfo};

use cx::Cx;
use symbols::Symbols;

use crate::ast::{Ast, Op};
use crate::error::{Res, invalid, not_built, unsupported};

/// What to translate, and for which pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Name of the entry point: a function, with its module (`kernels::gemm`) or without. `None` for the only kernel.
    pub entry: Option<&'a str>,
    /// Invocations of a work-group along each axis, where the function does not state others. Without both they are
    /// those of its launch in the text, and without that one subgroup.
    pub workgroup_size: Option<[u32; 3]>,
    /// Invocations of a subgroup: a power of two from 4 to 128.
    pub subgroup_size: u32,
    /// Name of the text in source positions.
    pub file: &'a str,
    /// Limits of the device and of the translator's patience.
    pub limits: Limits,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { entry: None, workgroup_size: None, subgroup_size: 32, file: "", limits: Limits::default() }
    }
}

/// Limits of the device and of the translator's patience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions after inlining.
    pub instructions: usize,
    /// Nesting of constructs and calls.
    pub nesting: u32,
    /// Bytes of memory shared by a work-group.
    pub shared_bytes: u32,
    /// Bytes of push constants.
    pub push_bytes: u32,
    /// Invocations of a work-group.
    pub workgroup_invocations: u32,
    /// Bytes of all variables of one invocation, matrices aside.
    pub private_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            instructions: 2_000_000,
            nesting: 256,
            shared_bytes: 1 << 20,
            push_bytes: 256,
            workgroup_invocations: 1024,
            private_bytes: 1 << 20,
        }
    }
}

/// Translates an entry point.
pub(crate) fn translate(ast: &Ast, options: &Options<'_>) -> Res<phalanx_ir::Module> {
    check_subgroup_size(options.subgroup_size)?;
    let symbols = Symbols::of(ast);
    let (name, op) = choose(&symbols, options.entry)?;
    let launch = launch::of(ast, name).map(|launch| launch.workgroup_size);
    let size =
        workgroup_size(op, launch, options).map_err(|fault| crate::error::at(fault, op.pos, &op.name))?;
    let mut cx = Cx::new(ast, &symbols, options);
    cx.module.name = name.to_owned();
    cx.module.workgroup_size = size;
    cx.module.subgroup_size = options.subgroup_size;
    cx.entry(name, op)?;
    check_private(&cx)?;
    let mut module = cx.module;
    module.body = cx.func;
    Ok(module)
}

fn check_subgroup_size(size: u32) -> Res<()> {
    if size.is_power_of_two() && (4..=128).contains(&size) {
        return Ok(());
    }
    Err(invalid(format!("a subgroup size of {size}: expected a power of two from 4 to 128")))
}

/// The variables of an invocation fit into its memory.
fn check_private(cx: &Cx<'_>) -> Res<()> {
    let bytes = |var: &phalanx_ir::VarInfo| {
        let scalar = var.ty.scalar().map_or(16, |s| u64::from(s.bytes()));
        if var.table.is_some() || var.ty.mat().is_some() { 0 } else { scalar * u64::from(var.count) }
    };
    let (total, limit) = (cx.func.vars.iter().map(bytes).sum::<u64>(), cx.options.limits.private_bytes);
    if total <= limit {
        return Ok(());
    }
    Err(unsupported(format!("variables of {total} bytes for each invocation: at most {limit}")))
}

/// The entry point of a name, or the only one.
fn choose<'m, 'a>(symbols: &'m Symbols<'a>, wanted: Option<&str>) -> Res<(&'m str, &'a Op)> {
    let list = |names: &[(&str, &Op)]| {
        let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let all: Vec<_> = symbols.entries().collect();
    if let Some(wanted) = wanted {
        let is_named = |name: &str| name == wanted || name.rsplit("::").next() == Some(wanted);
        let mut found: Vec<_> = all.iter().copied().filter(|(name, _)| is_named(name)).collect();
        if let Some(exact) = found.iter().position(|(name, _)| *name == wanted) {
            return Ok(found.swap_remove(exact));
        }
        return match found[..] {
            [one] => Ok(one),
            [] => Err(invalid(format!("there is no entry point `{wanted}`; there are: {}", list(&all)))),
            _ => Err(invalid(format!("several entry points are called `{wanted}`: {}", list(&found)))),
        };
    }
    let kernels: Vec<_> = all.iter().copied().filter(|(_, op)| symbols::is_kernel(op)).collect();
    match (&kernels[..], &all[..]) {
        (&[one], _) | (&[], &[one]) => Ok(one),
        (&[], &[]) => Err(invalid("no function with a body that gives nothing: there is no entry point")),
        (kernels, all) => {
            let names = list(if kernels.is_empty() { all } else { kernels });
            Err(invalid(format!("several entry points, of which one must be named: {names}")))
        }
    }
}

/// The invocations of a work-group that a function states.
fn stated_size(op: &Op) -> Res<Option<[u32; 3]>> {
    let triple = |list: &[i64]| {
        let mut size = [1; 3];
        if list.len() > 3 {
            return Err(invalid("a work-group size of more than three axes"));
        }
        for (slot, &n) in size.iter_mut().zip(list) {
            *slot = u32::try_from(n).map_err(|_negative| invalid(format!("a work-group size of {n}")))?;
        }
        Ok(Some(size))
    };
    for name in ["known_block_size", "gpu.known_block_size", "rocdl.reqd_work_group_size", "nvvm.reqntid"] {
        if let Some(list) = attr::optional_ints(op, name)? {
            return triple(&list);
        }
    }
    let Some(crate::ast::Attr::Dialect(text)) = attr::get(op, "spirv.entry_point_abi") else {
        return Ok(None);
    };
    // #spirv.entry_point_abi<workgroup_size = [32, 1, 1], subgroup_size = 32>
    let Some((_, rest)) = text.split_once("workgroup_size") else { return Ok(None) };
    let list = rest.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(list, _)| list);
    let numbers: Option<Vec<i64>> = list.split(',').map(|n| n.trim().parse().ok()).collect();
    triple(&numbers.ok_or_else(|| invalid(format!("#{text}: expected a work-group size")))?)
}

fn workgroup_size(op: &Op, launch: Option<[u32; 3]>, options: &Options<'_>) -> Res<[u32; 3]> {
    let stated = stated_size(op)?;
    if let Some((stated, wanted)) = stated.zip(options.workgroup_size)
        && stated != wanted
    {
        return Err(invalid(format!(
            "work-groups of {wanted:?} invocations are asked for, it states {stated:?}"
        )));
    }
    let size = stated.or(options.workgroup_size).or(launch).unwrap_or([options.subgroup_size, 1, 1]);
    let limit = options.limits.workgroup_invocations;
    let count = size.iter().try_fold(1_u32, |n, &axis| n.checked_mul(axis));
    match count {
        Some(count) if (1..=limit).contains(&count) => Ok(size),
        _ => Err(unsupported(format!(
            "work-groups of {size:?} invocations: at least 1 and at most {limit} in all"
        ))),
    }
}

/// Translates an operation that is no terminator.
fn dispatch<'a>(cx: &mut Cx<'a>, op: &'a Op) -> Res<()> {
    match op.name.split_once('.').map_or("", |(dialect, _)| dialect) {
        "arith" => arith::emit(cx, op),
        "math" => math::emit(cx, op),
        "memref" => memref::emit(cx, op),
        "vector" => vector::emit(cx, op),
        "affine" => affine::emit(cx, op),
        "scf" => scf::emit(cx, op),
        "gpu" => gpu::emit(cx, op),
        "func" if &*op.name == "func.call" => cx.call(op),
        "ub" if &*op.name == "ub.poison" => arith::poison(cx, op),
        "cf" if &*op.name == "cf.assert" => Ok(()),
        _ => Err(not_built()),
    }
}

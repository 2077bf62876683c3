//! The entry point: which one, and the size of its work-group.

use crate::diag::{Res, code, invalid, unsupported};
use crate::globals::Globals;
use crate::module::{EntryPoint, Spv};
use spirv::{BuiltIn, Decoration, ExecutionMode, ExecutionModel, Op};

/// Chooses an entry point: by name, or the only compute one.
pub(crate) fn choose<'a>(spv: &'a Spv<'_>, name: Option<&str>) -> Res<&'a EntryPoint> {
    let is_compute = |e: &&EntryPoint| e.model == ExecutionModel::GLCompute as u32;
    let names = || {
        let all: Vec<String> = spv.entry_points.iter().map(|e| format!("\"{}\"", e.name)).collect();
        if all.is_empty() { "none".to_owned() } else { all.join(", ") }
    };
    if let Some(name) = name {
        let found = spv.entry_points.iter().filter(|e| e.name == name);
        let mut named = found.clone().filter(is_compute).chain(found);
        let entry = named.next().ok_or_else(|| {
            invalid(code::ENTRY_POINT, format!("no entry point \"{name}\"; the module has {}", names()))
        })?;
        return check_model(spv, entry);
    }
    let mut compute = spv.entry_points.iter().filter(is_compute);
    match (compute.next(), compute.next()) {
        (Some(entry), None) => Ok(entry),
        (Some(_), Some(_)) => {
            Err(invalid(code::ENTRY_POINT, format!("several entry points, choose one: {}", names())))
        }
        (None, _) => match spv.entry_points.first() {
            Some(entry) => check_model(spv, entry),
            None => Err(invalid(code::ENTRY_POINT, "the module has no entry point")),
        },
    }
}

fn check_model<'a>(spv: &Spv<'_>, entry: &'a EntryPoint) -> Res<&'a EntryPoint> {
    if entry.model == ExecutionModel::GLCompute as u32 {
        return Ok(entry);
    }
    let model = ExecutionModel::from_u32(entry.model);
    let model = model.map_or_else(|| entry.model.to_string(), |m| format!("{m:?}"));
    let m = format!("execution model {model} of \"{}\"; GLCompute is", entry.name);
    Err(spv.locate(unsupported(code::ENTRY_POINT, m), entry.inst))
}

/// Invocations of a work-group along each axis. The *WorkgroupSize* built-in wins over
/// *LocalSizeId*, and that over *LocalSize* (SPIR-V 3.6 and 3.21).
pub(crate) fn local_size(spv: &Spv<'_>, globals: &Globals, entry: &EntryPoint) -> Res<[u32; 3]> {
    if let Some(size) = workgroup_size(spv, globals)? {
        return Ok(size);
    }
    for (id_form, wanted) in [(true, ExecutionMode::LocalSizeId), (false, ExecutionMode::LocalSize)] {
        for inst in spv.modes.iter().map(|&i| &spv.insts[i]) {
            let is_wanted = inst.arg(0)? == entry.function && inst.arg(1)? == wanted as u32;
            if !is_wanted {
                continue;
            }
            let mut size = [1; 3];
            for (axis, s) in size.iter_mut().enumerate() {
                let word = inst.arg(2 + axis)?;
                *s = if id_form { globals.const_u32(word)? } else { word };
            }
            return Ok(size);
        }
    }
    let m = format!("the entry point \"{}\" states no LocalSize", entry.name);
    Err(invalid(code::ENTRY_POINT, m))
}

fn workgroup_size(spv: &Spv<'_>, globals: &Globals) -> Res<Option<[u32; 3]>> {
    for &i in &spv.globals {
        let inst = &spv.insts[i];
        let is_constant = matches!(
            inst.op,
            Op::ConstantComposite | Op::SpecConstantComposite | Op::ConstantNull | Op::SpecConstantOp
        );
        if !is_constant
            || spv.decor.literal(inst.id, Decoration::BuiltIn) != Some(BuiltIn::WorkgroupSize as u32)
        {
            continue;
        }
        let (ty, val) = globals.constant(inst.id)?;
        let mut size = [1; 3];
        for (axis, s) in size.iter_mut().enumerate() {
            match globals.types.part(*ty, val, axis as u32)? {
                crate::value::Val::Const(_, bits) => *s = u32::try_from(bits).unwrap_or(u32::MAX),
                _ => return Err(invalid(code::ENTRY_POINT, "the WorkgroupSize is no vector of integers")),
            }
        }
        return Ok(Some(size));
    }
    Ok(None)
}

/// Checks the size of a work-group against its limit.
pub(crate) fn check_size(size: [u32; 3], limit: u32) -> Res<u32> {
    let product = size.iter().try_fold(1_u32, |p, &s| p.checked_mul(s));
    match product {
        Some(0) => Err(invalid(code::ENTRY_POINT, format!("a work-group of {size:?} invocations is empty"))),
        Some(n) if n <= limit => Ok(n),
        _ => {
            let m = format!("a work-group of {size:?} invocations; at most {limit} are supported");
            Err(invalid(code::LIMIT, m))
        }
    }
}

//! From LLVM IR to PTX: LLVM's verifier, its passes, code generation.

use crate::abi::{self, Layout};
use crate::arch::Arch;
use crate::coopmat;
use crate::coopmat::stream::{self, Plan};
use crate::lower::Lower;
use crate::spill::Homes;
use crate::{Compiled, Error};
use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{
    CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple,
};
use phalanx_emit_llvm::{Emit, Result};
use phalanx_ir::{Uniformity, Verified, passes};
use std::sync::Once;

const TRIPLE: &str = "nvptx64-nvidia-cuda";

/// What the lowering leaves to do: variables become registers, bounds checks that are known are folded, what does not
/// change moves out of loops. LLVM's own list would take accesses of several words apart, and move the parts.
const PASSES: &str = "always-inline,function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,\
loop-mssa(licm),gvn,simplifycfg,adce,infer-alignment)";

pub(crate) fn compile(module: &Verified, arch: Arch, keeps_llvm: bool) -> Result<Compiled> {
    if module.subgroup_size != abi::SUBGROUP_SIZE {
        let n = module.subgroup_size;
        return Err(Error::unsupported(format!("subgroups of {n}: a warp has {}", abi::SUBGROUP_SIZE)));
    }
    let bug = |bug: passes::PassBug| Error::bug(bug.to_string());
    let distributed = passes::distribute(module, module.distribution).map_err(bug)?;
    let module = distributed.as_ref().unwrap_or(module);
    let own_bytes = module.shared_bytes;
    let (prepared, plan) = prepare(module, arch)?;
    let module = prepared.as_ref().unwrap_or(module);
    let homes = Homes::of(module, own_bytes, arch.shared_bytes());
    if homes.shared_bytes > arch.shared_bytes().into() {
        let (found, most) = (homes.shared_bytes, arch.shared_bytes());
        return Err(Error::unsupported(format!("{found} bytes of shared memory, at most {most}")));
    }
    let mut layout = Layout {
        shared_bytes: homes.shared_bytes as u32,
        spilled_bytes: homes.spilled_bytes,
        waits: arch.has_dependent_launch(),
        ..Layout::of(module)
    };
    if let Some(plan) = &plan {
        layout.shared_bytes = plan.shared_bytes;
        layout.threads += stream::PRODUCERS;
        layout.add_maps(plan.boxes.maps.clone());
        layout.pairs = plan.cluster.as_ref().map(|cluster| cluster.axis);
    }
    if layout.threads > 1024 {
        return Err(Error::unsupported(format!("work-groups of {}, at most 1024", layout.threads)));
    }
    if layout.bytes > abi::MAX_BYTES {
        let found = layout.bytes;
        return Err(Error::unsupported(format!("{found} bytes of arguments, at most {}", abi::MAX_BYTES)));
    }
    let machine = machine(arch)?;
    let cx = Context::create();
    let e = Emit::new(&cx, &module.name, arch.caps());
    e.module.set_triple(&machine.get_triple());
    e.module.set_data_layout(&machine.get_target_data().get_data_layout());
    let (e, layout) = Lower::module(e, module, &Uniformity::analyse(module), (layout, homes), arch, plan)?;
    let text = || keeps_llvm.then(|| e.module.to_string());
    let lowered = text();
    // LLVM ends the process when it is given IR that breaks its rules.
    e.module.verify().map_err(|error| Error::bug(format!("LLVM refuses the module: {error}")))?;
    e.module
        .run_passes(PASSES, &machine, PassBuilderOptions::create())
        .map_err(|error| Error::bug(format!("LLVM refuses its passes: {error}")))?;
    let optimized = text();
    let assembly = machine
        .write_to_memory_buffer(&e.module, FileType::Assembly)
        .map_err(|error| Error::bug(format!("LLVM can't generate code: {error}")))?;
    let ptx = String::from_utf8_lossy(assembly.as_slice()).trim_end_matches('\0').to_owned();
    Ok(Compiled { ptx, layout, llvm: lowered.zip(optimized).map(Into::into) })
}

/// The module without what is not done in registers, and which factors come through shared memory.
fn prepare(module: &Verified, arch: Arch) -> Result<(Option<Verified>, Option<Plan>)> {
    if stream::may_stream(module, arch) {
        match coopmat::prepare(module, arch, true) {
            Ok(prepared) => {
                let plan = stream::plan(prepared.as_ref().unwrap_or(module), arch);
                if plan.is_some() {
                    return Ok((prepared, plan));
                }
            }
            Err(Error::Unsupported { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok((coopmat::prepare(module, arch, false)?, None))
}

fn machine(arch: Arch) -> Result<TargetMachine> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| Target::initialize_nvptx(&InitializationConfig::default()));
    let triple = TargetTriple::create(TRIPLE);
    let target = Target::from_triple(&triple).map_err(|error| Error::unsupported(error.to_string()))?;
    let level = OptimizationLevel::Default;
    target
        .create_target_machine(
            &triple,
            arch.name(),
            arch.version(),
            level,
            RelocMode::Default,
            CodeModel::Default,
        )
        .ok_or_else(|| Error::unsupported(format!("{TRIPLE} {arch}")))
}

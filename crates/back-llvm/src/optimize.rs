//! From LLVM IR to an object: LLVM's verifier, a short list of passes, code generation.

use crate::effort::{self, Effort, Extent};
use crate::error::{Error, Result};
use crate::halves;
use crate::masks;
use crate::pin;
use crate::report::{self, Report};
use crate::roll;
use crate::sink;
use crate::suspend::{self, Frame};
use crate::target::Target;
use crate::{Compiled, Dumps, Meta, Options, Times};
use inkwell::OptimizationLevel;
use inkwell::attributes::AttributeLoc;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{FileType, TargetMachine};
use inkwell::values::FunctionValue;
use std::time::Instant;

/// Optimises a module and makes an object of it; of the metadata only the sizes of the stack and of the frame are filled in.
pub(crate) fn to_object<'c>(
    cx: &'c Context,
    module: &Module<'c>,
    functions: &[FunctionValue<'c>],
    target: &Target,
    options: &Options,
) -> Result<Compiled> {
    let machine = target.machine(OptimizationLevel::Default)?;
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    // Only functions with a body: intrinsics have attributes of their own.
    for helper in module.get_functions().filter(|f| f.count_basic_blocks() > 0) {
        set_attributes(cx, helper, target);
    }
    let mut dumps = Dumps::default();
    if options.dump_llvm {
        dumps.llvm_lowered = Some(module.to_string());
    }
    let start = Instant::now();
    // LLVM ends the process when it is given IR that breaks its rules.
    module.verify().map_err(|e| Error::bug(format!("LLVM refuses the module: {e}")))?;
    let effort = Effort::for_lowered(Extent::largest(functions));
    let mut frame = Frame::default();
    let gone_on;
    let functions = if suspend::has_frames(module) {
        suspend::define(cx, module)?;
        optimize(module, &suspend::passes(effort.passes()), &machine)?;
        (gone_on, frame) = suspend::split(cx, module, functions)?;
        optimize(module, suspend::PASSES_BEHIND, &machine)?;
        &gone_on
    } else {
        optimize(module, effort.passes(), &machine)?;
        functions
    };
    if !target.caps().native_f16 {
        for function in module.get_functions() {
            halves::choose_words(cx, function)?;
        }
    }
    if let Some(register_bits) = target.masks_as_bytes() {
        for &function in functions {
            masks::widen(cx, function, register_bits)?;
        }
        debug_assert!(module.verify().is_ok(), "{:?}", module.verify());
    }
    let extent = Extent::largest(functions);
    if matches!(effort, Effort::Full | Effort::Matrices) {
        for &function in functions {
            for repeat in roll::roll(cx, module, function)? {
                set_attributes(cx, repeat, target);
            }
            sink::sink(cx, function)?;
            if target.has_few_registers() {
                pin::pin(cx, function, target.caps().register_bytes)?;
            }
        }
    }
    debug_assert!(module.verify().is_ok(), "{:?}", module.verify());
    let reach = || functions.iter().map(|&f| effort::reach(f)).max().unwrap_or(0);
    let machine = match effort.level(extent, reach) {
        OptimizationLevel::Default => machine,
        level => target.machine(level)?,
    };
    let optimize = start.elapsed();
    if options.dump_llvm {
        dumps.llvm_optimized = Some(module.to_string());
    }
    if options.dump_asm {
        dumps.asm =
            Some(String::from_utf8_lossy(&generate(module, &machine, FileType::Assembly)?).into_owned());
    }
    let start = Instant::now();
    let (object, report) = Report::collect(cx, || generate(module, &machine, FileType::Object));
    if let Some(error) = report.errors.first() {
        return Err(Error::bug(format!("LLVM can't generate code: {error}")));
    }
    let times = Times { optimize, generate: start.elapsed(), ..Times::default() };
    let (stack_bytes, frame_bytes, frame_align) = (report.frame_bytes, frame.bytes, frame.align);
    let meta = Meta { stack_bytes, frame_bytes, frame_align, ..Meta::default() };
    Ok(Compiled { object: object?, special: None, meta, dumps, times })
}

fn optimize(module: &Module<'_>, passes: &str, machine: &TargetMachine) -> Result<()> {
    module
        .run_passes(passes, machine, PassBuilderOptions::create())
        .map_err(|e| Error::bug(format!("LLVM refuses its passes: {e}")))
}

fn generate(module: &Module<'_>, machine: &TargetMachine, kind: FileType) -> Result<Vec<u8>> {
    let buffer = machine
        .write_to_memory_buffer(module, kind)
        .map_err(|e| Error::bug(format!("LLVM can't generate code: {e}")))?;
    Ok(buffer.as_slice().to_vec())
}

fn set_attributes(cx: &Context, function: FunctionValue<'_>, target: &Target) {
    let add = |key: &str, value: &str| {
        function.add_attribute(AttributeLoc::Function, cx.create_string_attribute(key, value));
    };
    add("target-cpu", target.cpu());
    add("tune-cpu", target.tune());
    add("target-features", &target.feature_string());
    if target.has_wide_vectors() {
        add("prefer-vector-width", "512");
        add("min-legal-vector-width", "512");
    }
    add(report::ASK_FOR_FRAME.0, report::ASK_FOR_FRAME.1);
    // There is no C library to call, so no loop may become a call to one.
    add("no-builtins", "");
    let flag =
        |name| cx.create_enum_attribute(inkwell::attributes::Attribute::get_named_enum_kind_id(name), 0);
    function.add_attribute(AttributeLoc::Function, flag("nounwind"));
    function.add_attribute(AttributeLoc::Param(0), flag("noalias"));
}

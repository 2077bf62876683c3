//! Helpers of the tests.

use std::mem::offset_of;
use std::sync::Arc;

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{
    CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple,
};
use phalanx_back_llvm::Meta;
use phalanx_back_llvm::abi::{DispatchContext, ENTRY_SYMBOL, Services, SubgroupContext};
use phalanx_ir::{BindingInfo, BindingKind};

use crate::binary::Binary;
use crate::pipeline::Pipeline;

/// Compiles text IR of LLVM for this machine.
pub(crate) fn object_from_ir(text: &str) -> Vec<u8> {
    Target::initialize_native(&InitializationConfig::default()).unwrap();
    let (cpu, features) = (TargetMachine::get_host_cpu_name(), TargetMachine::get_host_cpu_features());
    object(&TargetMachine::get_default_triple(), cpu.to_str().unwrap(), features.to_str().unwrap(), text)
}

/// Compiles text IR of LLVM for any machine of a kind.
pub(crate) fn object_for(triple: &str, text: &str) -> Vec<u8> {
    Target::initialize_x86(&InitializationConfig::default());
    Target::initialize_aarch64(&InitializationConfig::default());
    object(&TargetTriple::create(triple), "", "", text)
}

fn object(triple: &TargetTriple, cpu: &str, features: &str, text: &str) -> Vec<u8> {
    let machine = Target::from_triple(triple)
        .unwrap()
        .create_target_machine(
            triple,
            cpu,
            features,
            OptimizationLevel::Default,
            RelocMode::PIC,
            CodeModel::Small,
        )
        .unwrap();
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
    let module = context.create_module_from_ir(buffer).unwrap();
    module.set_triple(triple);
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    module
        .run_passes("coro-early,cgscc(coro-split),coro-cleanup", &machine, PassBuilderOptions::create())
        .unwrap();
    machine.write_to_memory_buffer(&module, FileType::Object).unwrap().as_slice().to_vec()
}

/// A pipeline of one subgroup per work-group, without bindings.
pub(crate) fn pipeline(body: &str) -> Arc<Pipeline> {
    pipeline_with(body, meta())
}

/// One subgroup per work-group.
pub(crate) fn meta() -> Meta {
    Meta { subgroup_size: 32, workgroup_size: [32, 1, 1], ..Meta::default() }
}

/// Waits for the other subgroups, in a pipeline that stops; what is behind has this label.
pub(crate) fn barrier(behind: &str) -> String {
    format!(
        "%way.{behind} = call i8 @llvm.coro.suspend(token none, i1 false)
         switch i8 %way.{behind}, label %away [i8 0, label %{behind}]
         {behind}:\n"
    )
}

/// The body of a function that stops, as a coroutine. The body begins with the label `start`.
fn stopping(body: &str) -> String {
    let (frame, start) = (offset_of!(SubgroupContext, frame), barrier("start"));
    let body = body.replace("ret void", "br label %end");
    format!(
        "%memory.p = getelementptr i8, ptr %c, i64 {frame}
         %memory = load ptr, ptr %memory.p
         %id = call token @llvm.coro.id(i32 0, ptr null, ptr null, ptr null)
         %frame = call ptr @llvm.coro.begin(token %id, ptr %memory)
         {start}{body}
         end:
           %way.end = call i8 @llvm.coro.suspend(token none, i1 true)
           switch i8 %way.end, label %away [i8 0, label %never]
         never:
           unreachable
         away:
           %ended = call i1 @llvm.coro.end(ptr %frame, i1 false, token none)
           ret void"
    )
}

/// One of a subgroup that waits for others, with a frame for what few values are in use meanwhile.
pub(crate) fn stops(meta: Meta) -> Meta {
    Meta { stops: true, frame_bytes: 512, frame_align: 16, ..meta }
}

/// A pipeline whose code is `body` in text IR of LLVM, where `%c` is the subgroup's context.
pub(crate) fn pipeline_with(body: &str, meta: Meta) -> Arc<Pipeline> {
    pipeline_of(body, None, meta)
}

/// The same with a body for what the special form does.
pub(crate) fn pipeline_of(body: &str, special: Option<&str>, meta: Meta) -> Arc<Pipeline> {
    let binding = |binding| BindingInfo {
        set: 0,
        binding,
        count: Some(1),
        kind: BindingKind::Storage,
        writable: true,
        name: String::new(),
    };
    let bindings = (0..meta.num_bindings).map(binding).collect();
    let object = |body: &str| {
        let (body, kind) = if meta.stops { (stopping(body), "presplitcoroutine") } else { (body.into(), "") };
        object_from_ir(&format!("define void @{ENTRY_SYMBOL}(ptr %c) nounwind {kind} {{\n{body}\n}}"))
    };
    let (object, special) = (object(body), special.map(object));
    let binary = Binary { name: "test".into(), meta, bindings, object, special };
    Arc::new(Pipeline::load(&Arc::default(), binary, None).unwrap())
}

/// Does nothing.
pub(crate) const EMPTY: &str = "ret void";

/// Loads of what test kernels use from the context.
pub(crate) fn prologue() -> String {
    let field = |name: &str, ty: &str, base: &str, offset: usize| {
        format!(
            "%{name}.p = getelementptr i8, ptr %{base}, i64 {offset}\n%{name} = load {ty}, ptr %{name}.p\n"
        )
    };
    [
        field("d", "ptr", "c", offset_of!(SubgroupContext, dispatch)),
        field("gx", "i32", "c", offset_of!(SubgroupContext, group_id)),
        field("gy", "i32", "c", offset_of!(SubgroupContext, group_id) + 4),
        field("sg", "i32", "c", offset_of!(SubgroupContext, subgroup_id)),
        field("groups", "i32", "c", offset_of!(SubgroupContext, groups)),
        field("declined", "i32", "c", offset_of!(SubgroupContext, declined)),
        field("shared", "ptr", "c", offset_of!(SubgroupContext, shared)),
        field("scratch", "ptr", "c", offset_of!(SubgroupContext, scratch)),
        field("push", "ptr", "d", offset_of!(DispatchContext, push)),
        field("nx", "i32", "d", offset_of!(DispatchContext, num_groups)),
        field("stop", "ptr", "d", offset_of!(DispatchContext, stop)),
        field("services", "ptr", "d", offset_of!(DispatchContext, services)),
        field("printf", "ptr", "services", offset_of!(Services, printf)),
        field("bindings", "ptr", "d", offset_of!(DispatchContext, bindings)),
    ]
    .concat()
}

/// Loads of the first descriptor's address, `%buf`.
pub(crate) const BUFFER: &str = "%descs = load ptr, ptr %bindings\n%buf = load ptr, ptr %descs\n";

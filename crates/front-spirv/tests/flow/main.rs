//! Control flow, on the interpreter: random structured programs against a reference that executes
//! them lane by lane with masks, and shapes that random programs miss.

#![expect(clippy::panic, reason = "helpers of tests panic to fail them")]

mod emit;
mod fixed;
#[path = "../ops/mutate.rs"]
mod mutate;
mod program;
mod random;

use phalanx_front_spirv::{Diagnostics, Options, translate};
use phalanx_interp::{Limits, Memory};
use phalanx_ir::Binding;

/// Invocations of a work-group, and of its only subgroup.
pub(crate) const LANES: usize = 16;

/// Runs a module on buffer 0.0 and gives its contents.
pub(crate) fn run(text: &str, data: &[u32]) -> Vec<u32> {
    let module = compile(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let printed = phalanx_ir::text::print(&module);
    let module = phalanx_ir::verify(module).unwrap_or_else(|e| panic!("{e}\n{printed}\n{text}"));
    let mut bytes: Vec<u8> = data.iter().flat_map(|w| w.to_le_bytes()).collect();
    let mut memory = Memory::new();
    let buffer = memory.add_buffer(&mut bytes, 0);
    memory.bind_buffer(Binding::new(0), buffer);
    let limits = Limits { max_steps: 1 << 24, ..Limits::default() };
    phalanx_interp::run(&module, &mut memory, [1; 3], [0; 3], &limits)
        .unwrap_or_else(|e| panic!("{e}\n{printed}\n{text}"));
    bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect()
}

/// Translates a module.
pub(crate) fn compile(text: &str) -> Result<phalanx_ir::Module, Diagnostics> {
    let words = phalanx_spirv_asm::assemble(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    translate(&words, &Options { subgroup_size: LANES as u32, ..Options::default() })
}

/// A module around functions. `%lane` is not loaded yet: `%lane_var` is its variable; `%data` points to
/// a buffer of words.
pub(crate) fn module(globals: &str, functions: &str) -> String {
    format!(
        "OpCapability Shader\nOpCapability Int64\nOpCapability GroupNonUniformArithmetic\n\
         OpMemoryModel Logical GLSL450\n\
         OpEntryPoint GLCompute %main \"main\" %lane_var %data\n\
         OpExecutionMode %main LocalSize {LANES} 1 1\n\
         OpDecorate %lane_var BuiltIn LocalInvocationIndex\n\
         OpDecorate %words ArrayStride 4\nOpDecorate %block Block\nOpMemberDecorate %block 0 Offset 0\n\
         OpDecorate %data DescriptorSet 0\nOpDecorate %data Binding 0\n\
         %void = OpTypeVoid\n%void_fn = OpTypeFunction %void\n%bool = OpTypeBool\n\
         %u32 = OpTypeInt 32 0\n%u64 = OpTypeInt 64 0\n\
         %words = OpTypeRuntimeArray %u32\n%block = OpTypeStruct %words\n\
         %ptr_block = OpTypePointer StorageBuffer %block\n%ptr_data = OpTypePointer StorageBuffer %u32\n\
         %ptr_input = OpTypePointer Input %u32\n%ptr_fn = OpTypePointer Function %u32\n\
         %data = OpVariable %ptr_block StorageBuffer\n%lane_var = OpVariable %ptr_input Input\n\
         %scope = OpConstant %u32 3\n%true = OpConstantTrue %bool\n%false = OpConstantFalse %bool\n\
         {globals}\n{functions}"
    )
}

//! Variables, pointers, layouts, constants and the interface of entry points, on the interpreter.

#![expect(clippy::panic, reason = "helpers of tests panic to fail them")]

mod constants;
mod interface;
#[path = "../ops/mutate.rs"]
mod mutate;
mod pointers;
mod variables;

use phalanx_front_spirv::{Diagnostics, Options, translate};
use phalanx_interp::{Limits, Memory, Region};
use phalanx_ir::{Binding, Module};

/// What a module runs with.
#[derive(Default)]
pub(crate) struct Run<'a> {
    /// Words of each buffer, by binding number; the set does not matter. The buffer with binding `b`
    /// is at address `0x1000 * (b + 1)`.
    pub(crate) buffers: Vec<Vec<u32>>,
    pub(crate) push: Vec<u32>,
    pub(crate) spec: Vec<(u32, u64)>,
    pub(crate) entry: Option<&'a str>,
    /// All buffers are elements of the descriptor array with binding 0.
    pub(crate) as_array: bool,
}

impl Run<'_> {
    /// With one buffer.
    pub(crate) fn on(words: &[u32]) -> Self {
        Self { buffers: vec![words.to_vec()], ..Self::default() }
    }

    /// Translates.
    pub(crate) fn compile(&self, text: &str) -> Result<Module, Diagnostics> {
        let words = phalanx_spirv_asm::assemble(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let options =
            Options { entry: self.entry, specialization: &self.spec, subgroup_size: 4, ..Options::default() };
        mutate::mutate(&words, &options);
        translate(&words, &options)
    }

    /// The message that refuses a module.
    pub(crate) fn refused(&self, text: &str) -> String {
        match self.compile(text) {
            Ok(m) => panic!("translated:\n{}", phalanx_ir::text::print(&m)),
            Err(e) => e.to_string(),
        }
    }

    /// Runs one work-group and gives the buffers.
    pub(crate) fn go(&self, text: &str) -> Vec<Vec<u32>> {
        let module = self.compile(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let printed = phalanx_ir::text::print(&module);
        let module = phalanx_ir::verify(module).unwrap_or_else(|e| panic!("{e}\n{printed}\n{text}"));
        let bytes = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
        let mut buffers: Vec<Vec<u8>> = self.buffers.iter().map(|b| bytes(b)).collect();
        let push = bytes(&self.push);
        let mut memory = Memory::new();
        memory.set_push(&push);
        for (i, buffer) in buffers.iter_mut().enumerate() {
            let region = |buffer, bytes| Region { buffer, offset: 0, bytes };
            let bytes = buffer.len() as u64;
            let id = memory.add_buffer(buffer, 0x1000 * (i as u64 + 1));
            for (b, info) in module.bindings.iter().enumerate() {
                if self.as_array {
                    memory.bind(Binding::new(b), i, region(id, bytes));
                } else if info.binding as usize == i {
                    memory.bind(Binding::new(b), 0, region(id, bytes));
                }
            }
        }
        let limits = Limits { max_steps: 1 << 22, ..Limits::default() };
        phalanx_interp::run(&module, &mut memory, [1; 3], [0; 3], &limits)
            .unwrap_or_else(|e| panic!("{e}\n{printed}\n{text}"));
        buffers
            .iter()
            .map(|b| b.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect())
            .collect()
    }
}

/// A shader of four invocations. `%data` (binding 0) holds words `%u32`; the body has `%lane`, and
/// `%0`, `%1` … are constants. `%out` points to the lane's word.
pub(crate) fn shader(annotations: &str, globals: &str, body: &str) -> String {
    let constants: String = (0..20).map(|i| format!("%{i} = OpConstant %u32 {i}\n")).collect();
    format!(
        "OpCapability Shader\nOpCapability Int64\nOpCapability Int16\nOpCapability VariablePointers\n\
         OpCapability PhysicalStorageBufferAddresses\nOpCapability UntypedPointersKHR\n\
         OpCapability RuntimeDescriptorArray\nOpCapability StorageBufferArrayDynamicIndexing\n\
         OpCapability WorkgroupMemoryExplicitLayoutKHR\n\
         OpMemoryModel PhysicalStorageBuffer64 GLSL450\n\
         OpEntryPoint GLCompute %main \"main\" %lane_var %data\n\
         OpExecutionMode %main LocalSize 4 1 1\n\
         OpDecorate %lane_var BuiltIn LocalInvocationIndex\n\
         OpDecorate %words ArrayStride 4\nOpDecorate %block Block\nOpMemberDecorate %block 0 Offset 0\n\
         OpDecorate %data DescriptorSet 0\nOpDecorate %data Binding 0\n\
         {annotations}\n\
         %void = OpTypeVoid\n%void_fn = OpTypeFunction %void\n%bool = OpTypeBool\n\
         %u32 = OpTypeInt 32 0\n%i32 = OpTypeInt 32 1\n%u64 = OpTypeInt 64 0\n%u16 = OpTypeInt 16 0\n\
         %f32 = OpTypeFloat 32\n%v2 = OpTypeVector %u32 2\n%v3 = OpTypeVector %u32 3\n\
         %v4 = OpTypeVector %u32 4\n%v3f = OpTypeVector %f32 3\n\
         {constants}\
         %words = OpTypeRuntimeArray %u32\n%block = OpTypeStruct %words\n\
         %ptr_block = OpTypePointer StorageBuffer %block\n%ptr_data = OpTypePointer StorageBuffer %u32\n\
         %ptr_input = OpTypePointer Input %u32\n%ptr_fn = OpTypePointer Function %u32\n\
         %data = OpVariable %ptr_block StorageBuffer\n%lane_var = OpVariable %ptr_input Input\n\
         {globals}\n\
         %main = OpFunction %void None %void_fn\n%entry = OpLabel\n\
         %lane = OpLoad %u32 %lane_var\n%out = OpAccessChain %ptr_data %data %0 %lane\n\
         {body}\n\
         OpReturn\nOpFunctionEnd\n"
    )
}

/// As [`shader`], with variables in front of the body.
pub(crate) fn with_variables(variables: &str, globals: &str, body: &str) -> String {
    shader("", globals, body).replace("%entry = OpLabel\n", &format!("%entry = OpLabel\n{variables}\n"))
}

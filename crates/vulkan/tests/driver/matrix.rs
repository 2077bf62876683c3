//! Cooperative matrices.

use half::f16;
use vulkanalia::prelude::v1_3::*;

/// What validators say that are older than SPV_KHR_cooperative_matrix.
pub(crate) const UNKNOWN_SPIRV: [&str; 3] = [
    "SPIR-V module not valid: Invalid capability operand: 6022",
    "A SPIR-V Capability (Unhandled OpCapability) was declared that is not supported by Vulkan",
    "A SPIR-V Extension (SPV_KHR_cooperative_matrix) was declared that is not supported by Vulkan",
];

cases! {
    /// One product of 16 by 16 matrices for each work-group, as the host computes it.
    fn a_product_of_matrices(gpu) {
        let source = "
            #pragma use_vulkan_memory_model
            #extension GL_KHR_memory_scope_semantics : require
            #extension GL_KHR_cooperative_matrix : require
            #extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
            #extension GL_EXT_shader_16bit_storage : require
            layout(local_size_x = 32) in;
            layout(set = 0, binding = 0) buffer A { float16_t a[]; };
            layout(set = 0, binding = 1) buffer B { float16_t b[]; };
            layout(set = 0, binding = 2) buffer C { float c[]; };
            void main() {
                uint at = 256 * gl_WorkGroupID.x;
                coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> x;
                coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> y;
                coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> z;
                coopMatLoad(x, a, at, 16, gl_CooperativeMatrixLayoutRowMajor);
                coopMatLoad(y, b, at, 16, gl_CooperativeMatrixLayoutColumnMajor);
                coopMatLoad(z, c, at, 16, gl_CooperativeMatrixLayoutRowMajor);
                coopMatStore(coopMatMulAdd(x, y, z), c, at, 16, gl_CooperativeMatrixLayoutRowMajor);
            }";
        UNKNOWN_SPIRV.into_iter().for_each(|text| gpu.allow(text));
        const GROUPS: usize = 3;
        let value = |seed: usize, i: usize| ((i * 37 + seed * 101) % 64) as f32 / 16.0 - 2.0;
        let [a, b, c] = [1, 2, 3].map(|seed| (0..256 * GROUPS).map(|i| value(seed, i)).collect::<Vec<f32>>());
        let halves = |numbers: &[f32]| numbers.iter().map(|&x| f16::from_f32(x).to_bits()).collect::<Vec<u16>>();
        let buffers = [gpu.buffer_of(&halves(&a)), gpu.buffer_of(&halves(&b)), gpu.buffer_of(&c)];
        let layout = gpu.storage_layout(3);
        let kernel = gpu.kernel(source, &[layout]);
        let set = gpu.set_of(layout, &[&buffers[0], &buffers[1], &buffers[2]]);
        gpu.execute(|commands| {
            gpu.bind(commands, &kernel, &[set]);
            gpu.device.cmd_dispatch(commands, GROUPS as u32, 1, 1);
        });
        // The numbers are multiples of 1/16 and small, so that every sum is exact.
        let expected: Vec<f32> = (0..256 * GROUPS)
            .map(|i| {
                let (group, row, column) = (i / 256 * 256, i / 16 % 16, i % 16);
                let product = |k: usize| a[group + 16 * row + k] * b[group + 16 * column + k];
                c[i] + (0..16).map(product).sum::<f32>()
            })
            .collect();
        assert_eq!(buffers[2].read::<f32>(256 * GROUPS), expected);
    }
}

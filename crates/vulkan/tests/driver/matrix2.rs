//! Cooperative matrices of work-group scope and flexible dimensions.

use half::f16;
use vulkanalia::prelude::v1_3::*;

use crate::fixture;

/// What validators say that are older than the extensions.
const UNKNOWN_SPIRV: [&str; 5] = [
    "SPIR-V module not valid: Invalid capability operand: 6022",
    "SPIR-V module not valid: Invalid capability operand: 54",
    "A SPIR-V Capability (Unhandled OpCapability) was declared that is not supported by Vulkan",
    "A SPIR-V Extension (SPV_KHR_cooperative_matrix) was declared that is not supported by Vulkan",
    "A SPIR-V Extension (SPV_NV_",
];

cases! {
    /// The rows that applications look for: half precision in groups of 128 and 256.
    fn flexible_matrices_are_listed(gpu) {
        let command = gpu.instance.commands().get_physical_device_cooperative_matrix_flexible_dimensions_properties_nv;
        let rows: Vec<vk::CooperativeMatrixFlexibleDimensionsPropertiesNV> =
            fixture::list(|count, rows| command(gpu.physical, count, rows));
        let has = |sum, size| {
            rows.iter().any(|row| {
                (row.a_type, row.c_type) == (vk::ComponentTypeKHR::FLOAT16, sum)
                    && (row.scope, row.workgroup_invocations) == (vk::ScopeKHR::WORKGROUP, size)
                    && 32 % row.m_granularity == 0
                    && 16 % row.n_granularity == 0
                    && 16 % row.k_granularity == 0
            })
        };
        for sum in [vk::ComponentTypeKHR::FLOAT16, vk::ComponentTypeKHR::FLOAT32] {
            assert!(has(sum, 128) && has(sum, 256));
        }
        let mut limits = vk::PhysicalDeviceCooperativeMatrix2PropertiesNV::default();
        let mut properties = vk::PhysicalDeviceProperties2::builder().push_next(&mut limits).build();
        gpu.instance.get_physical_device_properties2(gpu.physical, &mut properties);
        assert!(limits.cooperative_matrix_workgroup_scope_max_workgroup_size >= 2 * 32);
        assert!(limits.cooperative_matrix_flexible_dimensions_max_dimension >= 512);
    }

    /// A matrix of a work-group of 128 times another that is read through a transposing view, and a function applied
    /// to each element, as the host computes it. Tiles reach over the matrices' edges.
    fn a_product_of_a_whole_work_group(gpu) {
        const ROWS: usize = 40;
        const COLUMNS: usize = 50;
        const DEPTH: usize = 24;
        let source = "
            #pragma use_vulkan_memory_model
            #extension GL_KHR_memory_scope_semantics : require
            #extension GL_KHR_cooperative_matrix : require
            #extension GL_NV_cooperative_matrix2 : require
            #extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
            #extension GL_EXT_shader_16bit_storage : require
            layout(local_size_x = 128) in;
            layout(set = 0, binding = 0) buffer A { float16_t a[]; };
            layout(set = 0, binding = 1) buffer B { float16_t b[]; };
            layout(set = 0, binding = 2) buffer C { float c[]; };
            const uint M = 40, N = 50, K = 24;
            float twice(const in uint row, const in uint column, const in float x, const in float factor) {
                return factor * x + float(row);
            }
            void main() {
                tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> inA =
                    createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
                tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> inB = inA;
                tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> inC = inA;
                inA = setTensorLayoutDimensionNV(inA, M, K);
                inB = setTensorLayoutDimensionNV(inB, N, K);
                inC = setTensorLayoutDimensionNV(inC, M, N);
                tensorViewNV<2, false, 1, 0> transposed = createTensorViewNV(2, false, 1, 0);
                coopmat<float, gl_ScopeWorkgroup, 64, 64, gl_MatrixUseAccumulator> sum =
                    coopmat<float, gl_ScopeWorkgroup, 64, 64, gl_MatrixUseAccumulator>(0.0);
                for (uint k = 0; k < K; k += 16) {
                    coopmat<float16_t, gl_ScopeWorkgroup, 64, 16, gl_MatrixUseA> x;
                    coopmat<float16_t, gl_ScopeWorkgroup, 16, 64, gl_MatrixUseB> y;
                    coopMatLoadTensorNV(x, a, 0, sliceTensorLayoutNV(inA, 0, 64, k, 16));
                    coopMatLoadTensorNV(y, b, 0, sliceTensorLayoutNV(inB, 0, 64, k, 16), transposed);
                    sum = coopMatMulAdd(x, y, sum);
                }
                coopMatPerElementNV(sum, sum, twice, 2.0);
                coopMatStoreTensorNV(sum, c, 0, sliceTensorLayoutNV(inC, 0, 64, 0, 64));
            }";
        UNKNOWN_SPIRV.into_iter().for_each(|text| gpu.allow(text));
        let value = |seed: usize, i: usize| ((i * 37 + seed * 101) % 64) as f32 / 16.0 - 2.0;
        let a: Vec<f32> = (0..ROWS * DEPTH).map(|i| value(1, i)).collect();
        let b: Vec<f32> = (0..COLUMNS * DEPTH).map(|i| value(2, i)).collect();
        let halves = |numbers: &[f32]| numbers.iter().map(|&x| f16::from_f32(x).to_bits()).collect::<Vec<u16>>();
        let nothing = vec![-1.0_f32; ROWS * COLUMNS + 64];
        let buffers = [gpu.buffer_of(&halves(&a)), gpu.buffer_of(&halves(&b)), gpu.buffer_of(&nothing)];
        let layout = gpu.storage_layout(3);
        let kernel = gpu.kernel(source, &[layout]);
        let set = gpu.set_of(layout, &[&buffers[0], &buffers[1], &buffers[2]]);
        gpu.execute(|commands| {
            gpu.bind(commands, &kernel, &[set]);
            gpu.device.cmd_dispatch(commands, 1, 1, 1);
        });
        // The numbers are multiples of 1/16 and small, so that every sum is exact.
        let mut expected: Vec<f32> = (0..ROWS * COLUMNS)
            .map(|i| {
                let (row, column) = (i / COLUMNS, i % COLUMNS);
                let product = |k: usize| a[DEPTH * row + k] * b[DEPTH * column + k];
                2.0 * (0..DEPTH).map(product).sum::<f32>() + row as f32
            })
            .collect();
        expected.extend([-1.0; 64]);
        assert_eq!(buffers[2].read::<f32>(expected.len()), expected);
    }

    /// A span of 0 that is in a buffer: the driver says so, once for the dispatch, and nothing worse happens.
    fn a_mistake_in_a_buffer_is_told_of(gpu) {
        let source = "
            #pragma use_vulkan_memory_model
            #extension GL_KHR_memory_scope_semantics : require
            #extension GL_KHR_cooperative_matrix : require
            #extension GL_NV_cooperative_matrix2 : require
            layout(local_size_x = 32) in;
            layout(set = 0, binding = 0) buffer A { uint a[]; };
            layout(set = 0, binding = 1) buffer B { uint b[]; };
            void main() {
                coopmat<uint, gl_ScopeSubgroup, 4, 4, gl_MatrixUseAccumulator> m =
                    coopmat<uint, gl_ScopeSubgroup, 4, 4, gl_MatrixUseAccumulator>(1);
                tensorLayoutNV<1> t = createTensorLayoutNV(1);
                t = setTensorLayoutDimensionNV(t, 16);
                coopMatLoadTensorNV(m, a, 4, sliceTensorLayoutNV(t, 0, a[0]));
                coopMatStore(m, b, 0, 4, gl_CooperativeMatrixLayoutRowMajor);
            }";
        UNKNOWN_SPIRV.into_iter().for_each(|text| gpu.allow(text));
        let numbers: Vec<u32> = [0].into_iter().chain(7..23).collect();
        let buffers = [gpu.buffer_of(&numbers), gpu.buffer_of(&[0_u32; 16])];
        let layout = gpu.storage_layout(2);
        let kernel = gpu.kernel(source, &[layout]);
        let set = gpu.set_of(layout, &[&buffers[0], &buffers[1]]);
        gpu.execute(|commands| {
            gpu.bind(commands, &kernel, &[set]);
            gpu.device.cmd_dispatch(commands, 5, 1, 1);
        });
        assert_eq!(buffers[1].read::<u32>(16), [10; 16]);
        let said = gpu.said();
        assert_eq!(said.matches("OpCooperativeMatrixLoadTensorNV").count(), 1, "{said}");
        assert!(said.contains("the layout's spans [0]"), "{said}");
    }
}

// Tensor loads and stores of matrices of the work-group: slices, clamped and clipped, views that transpose, functions that
// decode; beside matrices of the subgroups in the same kernel, which each subgroup has.
//
// test run
// subgroup 4 32 64
// spec 0=N
// in 0.0 f16 ramp 512 0 1
// out 0.1 f16 gen 24 x 8 = r+8<32&&c+4<10?(r+8)*16+c+4:9
// out 0.2 f16 gen 8 x 16 = c*16+r
// out 0.3 f16 gen 8 x 8 = r>=1&&r<4&&c>=2&&c<6?div((r-1)*4+c-2,8)*16+((r-1)*4+c-2)%8:-1
// inout 0.4 f16 fill 512 -2
// out 0.4 f16 gen 512 = div(i,16)>=4&&div(i,16)<12&&i%16>=4&&i%16<12?(i%16-4)*16+div(i,16)-4:-2
// out 0.5 f16 gen 16 x 16 = 2*(r*16+c)+1
// out 0.6 f16 gen 16 x 16 = (c*16+r)*2
//
// case n64: N=64
// case n256: N=256
// case n1024: N=1024
#version 460
#include "matrices2.glsl"
#extension GL_KHR_shader_subgroup_basic : require

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint N = 1;
layout(set = 0, binding = 0) readonly buffer I0 { float16_t a[]; };
layout(set = 0, binding = 1) buffer O1 { float16_t clamped[]; };
layout(set = 0, binding = 2) buffer O2 { float16_t turned[]; };
layout(set = 0, binding = 3) buffer O3 { float16_t clipped[]; };
layout(set = 0, binding = 4) buffer O4 { float16_t stored[]; };
layout(set = 0, binding = 5) buffer O5 { float16_t decoded[]; };
layout(set = 0, binding = 6) buffer O6 { float16_t subgroups[]; };
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Half { float16_t x; };
#define M(R, C, U) coopmat<float16_t, gl_ScopeWorkgroup, R, C, gl_MatrixUse##U>
#define CONSTANT gl_CooperativeMatrixClampModeConstantNV

float16_t decode(const in Half b, const in uint32_t block[2], const in uint32_t at[2]) { return b.x * 2.0hf + 1.0hf; }

void main()
{
    tensorLayoutNV<2, CONSTANT> u = createTensorLayoutNV(2, CONSTANT);
    u = setTensorLayoutDimensionNV(u, 32, 10);
    u = setTensorLayoutStrideNV(u, 16, 1);
    u = setTensorLayoutClampValueNV(u, 0x4880);
    M(24, 8, A) x;
    coopMatLoadTensorNV(x, a, 0, sliceTensorLayoutNV(u, 8, 24, 4, 8));
    coopMatStore(x, clamped, 0, 8, ROW_MAJOR);

    tensorLayoutNV<2> t = createTensorLayoutNV(2);
    t = setTensorLayoutDimensionNV(t, 32, 16);
    M(8, 16, B) y;
    coopMatLoadTensorNV(y, a, 0, sliceTensorLayoutNV(t, 0, 16, 0, 8), createTensorViewNV(2, false, 1, 0));
    coopMatStore(y, turned, 0, 16, ROW_MAJOR);

    M(8, 8, Accumulator) z = M(8, 8, Accumulator)(-1);
    tensorViewNV<2> v = createTensorViewNV(2);
    v = setTensorViewClipNV(v, 1, 3, 2, 4);
    coopMatLoadTensorNV(z, a, 0, sliceTensorLayoutNV(t, 0, 8, 0, 8), v);
    coopMatStore(z, clipped, 0, 8, ROW_MAJOR);

    coopMatLoadTensorNV(z, a, 0, sliceTensorLayoutNV(t, 0, 8, 0, 8));
    coopMatStoreTensorNV(z, stored, 0, sliceTensorLayoutNV(t, 4, 8, 4, 8), createTensorViewNV(2, false, 1, 0));

    M(16, 16, Accumulator) d;
    coopMatLoadTensorNV(d, a, 0, sliceTensorLayoutNV(t, 0, 16, 0, 16), decode);
    coopMatStore(d, decoded, 0, 16, ROW_MAJOR);

    // The last subgroup's own matrix, turned and doubled in its own scratch memory.
    MATRIX(float16_t, 16, 16, Accumulator) own;
    MATRIX(float16_t, 16, 16, B) other;
    coopMatLoad(own, a, 0, 16, ROW_MAJOR);
    coopMatTransposeNV(other, own + own);
    if (gl_SubgroupID == gl_NumSubgroups - 1)
        coopMatStore(other, subgroups, 0, 16, ROW_MAJOR);
}

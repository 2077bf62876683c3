// The legacy dialect: no use in the type, signs by the type, strides in elements of the buffer, a flag for
// column-major; with specialised shapes.
//
// test run
// subgroup 4 32
// keys LA=false LB=false SA=K SB=N
// spec 0=M 1=N 2=K 3=LA 4=LB 5=SA 6=SB
// define A_TYPE GA
// define C_TYPE GC
// define A_MATRIX(R,C) MA
// define C_MATRIX(R,C) MC
// in 0.0 TA rand M*K 1 LO HI 1
// in 0.1 TA rand K*N 2 LO HI 1
// in 0.2 TC rand M*N 3 0 5 1
// out 0.3 TC gen M x N = $0.2[i] + sum(k, K, $0.0[IA] * $0.1[IB])
//
// case f16-f32: M=16 N=16 K=16 TA=f16 TC=f32 GA=float16_t GC=float MA=fcoopmatNV<16,gl_ScopeSubgroup,R,C> MC=fcoopmatNV<32,gl_ScopeSubgroup,R,C> LO=-3 HI=3 IA=r*K+k IB=k*N+c
// case f16-f16: M=16 N=8 K=8 TA=f16 TC=f16 GA=float16_t GC=float16_t MA=fcoopmatNV<16,gl_ScopeSubgroup,R,C> MC=fcoopmatNV<16,gl_ScopeSubgroup,R,C> LO=-3 HI=3 IA=r*K+k IB=k*N+c
// case f16-f32-columns: M=7 N=9 K=5 LA=true LB=true SA=M SB=K TA=f16 TC=f32 GA=float16_t GC=float MA=fcoopmatNV<16,gl_ScopeSubgroup,R,C> MC=fcoopmatNV<32,gl_ScopeSubgroup,R,C> LO=-3 HI=3 IA=k*M+r IB=c*K+k
// case f32-f32: M=8 N=8 K=8 TA=f32 TC=f32 GA=float GC=float MA=fcoopmatNV<32,gl_ScopeSubgroup,R,C> MC=fcoopmatNV<32,gl_ScopeSubgroup,R,C> LO=-3 HI=3 IA=r*K+k IB=k*N+c
// case s8-s32: M=16 N=16 K=32 TA=i8 TC=i32 GA=int8_t GC=int MA=icoopmatNV<8,gl_ScopeSubgroup,R,C> MC=icoopmatNV<32,gl_ScopeSubgroup,R,C> LO=-128 HI=127 IA=r*K+k IB=k*N+c
// case u8-u32: M=16 N=16 K=32 TA=u8 TC=u32 GA=uint8_t GC=uint MA=ucoopmatNV<8,gl_ScopeSubgroup,R,C> MC=ucoopmatNV<32,gl_ScopeSubgroup,R,C> LO=0 HI=255 IA=r*K+k IB=k*N+c
// case u8-u32-odd: M=3 N=5 K=7 LB=true SB=K TA=u8 TC=u32 GA=uint8_t GC=uint MA=ucoopmatNV<8,gl_ScopeSubgroup,R,C> MC=ucoopmatNV<32,gl_ScopeSubgroup,R,C> LO=0 HI=255 IA=r*K+k IB=c*K+k
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix : require
#extension GL_NV_integer_cooperative_matrix : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint M = 1;
layout(constant_id = 1) const uint N = 1;
layout(constant_id = 2) const uint K = 1;
layout(constant_id = 3) const bool COLUMNS_A = false;
layout(constant_id = 4) const bool COLUMNS_B = false;
layout(constant_id = 5) const uint STRIDE_A = 1;
layout(constant_id = 6) const uint STRIDE_B = 1;
layout(set = 0, binding = 0) readonly buffer InA { A_TYPE a[]; };
layout(set = 0, binding = 1) readonly buffer InB { A_TYPE b[]; };
layout(set = 0, binding = 2) readonly buffer InC { C_TYPE c[]; };
layout(set = 0, binding = 3) writeonly buffer OutD { C_TYPE d[]; };

void main()
{
    A_MATRIX(M, K) matA;
    A_MATRIX(K, N) matB;
    C_MATRIX(M, N) matC;
    coopMatLoadNV(matA, a, 0, STRIDE_A, COLUMNS_A);
    coopMatLoadNV(matB, b, 0, STRIDE_B, COLUMNS_B);
    coopMatLoadNV(matC, c, 0, N, false);
    matC = coopMatMulAddNV(matA, matB, matC);
    coopMatStoreNV(matC, d, 0, N, false);
}

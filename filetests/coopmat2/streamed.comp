// Factors of the work-group that a loop loads and multiplies, which a GPU may have brought to shared memory ahead: parts
// outside of a tensor, rows and columns one behind the other, several blocks of rows for a subgroup, two products in a
// round, sums that are changed in each round or looked at after it, elements that a function decodes, rounds that depend on
// memory, no round, sums that a function stores, sums that begin with what is in memory, inside of it or not, and one of two
// ways, of which the first ends the invocation behind a store.
//
// test run
// define A TYPE
// define S SUMS
// define INVOCATIONS THREADS
// define COLUMNS_FIRST TURNED
// define KIND WAY
// spec 0=M 1=N 2=T
// push u32 [DEPTH]
// in 0.0 ELEM rand 20480 1 -2 3 1
// in 0.1 ELEM rand 20480 2 -2 3 1
// in 0.2 u32 [5 3 0 1]
// out 0.3 RESULT 32768 same
// in 0.4 RESULT rand 32768 4 -9 9 1
// keys TYPE=float16_t ELEM=f16 SUMS=float RESULT=f32 THREADS=128 TURNED=0 WAY=0 M=64 N=32 T=16 DEPTH=64
// case plain:
// case ragged: DEPTH=75
// case no-round: DEPTH=0
// case one-round: DEPTH=16
// case turned: TURNED=1 DEPTH=75
// case pieces: N=64 T=64 DEPTH=128
// case pieces-turned: N=64 T=64 TURNED=1 DEPTH=128
// case blocks: M=128 N=64 T=32
// case blocks-turned: M=128 N=64 T=32 TURNED=1
// case groups: THREADS=256 M=128 N=80 T=32
// case halves: SUMS=float16_t RESULT=f16
// case halves-turned: SUMS=float16_t RESULT=f16 THREADS=256 M=256 TURNED=1
// case bytes: TYPE=int8_t ELEM=i8 SUMS=int32_t RESULT=i32 T=32 TURNED=2 DEPTH=96
// case bytes-ragged: TYPE=int8_t ELEM=i8 SUMS=int32_t RESULT=i32 T=64 TURNED=2 DEPTH=75
// case bytes-of-rows: TYPE=int8_t ELEM=i8 SUMS=int32_t RESULT=i32 T=32 DEPTH=75
// case bytes-of-rows-inside: TYPE=int8_t ELEM=i8 SUMS=int32_t RESULT=i32 N=128 T=64 DEPTH=128
// case bytes-of-columns-inside: TYPE=int8_t ELEM=i8 SUMS=int32_t RESULT=i32 T=128 TURNED=1 DEPTH=128 WAY=8
// case two: WAY=1
// case scaled: WAY=2
// case looked-at: WAY=3
// case decoded: WAY=4
// case counted: WAY=5
// case nested: WAY=6
// case stored-by-elements: WAY=7
// case addend: WAY=8
// case addend-ragged: WAY=9 DEPTH=75
// case addend-no-round: WAY=8 DEPTH=0
// case addend-groups: WAY=8 THREADS=256 M=128 N=80 T=32
// case addend-halves: WAY=8 SUMS=float16_t RESULT=f16
// case addend-halves-ragged: WAY=9 SUMS=float16_t RESULT=f16 THREADS=256 M=256
// case addend-bytes: WAY=8 TYPE=int8_t ELEM=i8 SUMS=int32_t RESULT=i32 T=32 TURNED=2 DEPTH=96
// case ways: WAY=10
// case ways-first: WAY=10 DEPTH=75
// case ways-halves: WAY=10 SUMS=float16_t RESULT=f16
// case ways-halves-first: WAY=10 SUMS=float16_t RESULT=f16 THREADS=256 M=256 DEPTH=75
// case floats: TYPE=floate4m3_t ELEM=e4m3 T=32 TURNED=2 DEPTH=96
// case floats-e5m2: TYPE=floate5m2_t ELEM=e5m2 T=64 TURNED=2 DEPTH=75
// case floats-deep: TYPE=floate4m3_t ELEM=e4m3 T=160 TURNED=2 DEPTH=140
// case floats-blocks: TYPE=floate4m3_t ELEM=e4m3 M=128 N=80 T=64 TURNED=2 DEPTH=128
// case floats-groups: TYPE=floate4m3_t ELEM=e4m3 THREADS=256 M=128 N=160 T=32 TURNED=2 DEPTH=64
// case floats-of-rows: TYPE=floate4m3_t ELEM=e4m3 T=32 DEPTH=75
// case floats-of-rows-inside: TYPE=floate4m3_t ELEM=e4m3 N=128 T=64 DEPTH=128
// case floats-two: TYPE=floate4m3_t ELEM=e4m3 T=32 TURNED=2 DEPTH=64 WAY=1
// case floats-looked-at: TYPE=floate4m3_t ELEM=e4m3 T=32 TURNED=2 DEPTH=64 WAY=3
// case floats-addend: TYPE=floate4m3_t ELEM=e4m3 T=128 TURNED=2 DEPTH=128 WAY=8
#version 460
#include "matrices2.glsl"

layout(local_size_x = INVOCATIONS) in;
layout(constant_id = 0) const uint M = 64;
layout(constant_id = 1) const uint N = 32;
layout(constant_id = 2) const uint T = 16;
layout(push_constant) uniform Depth { uint depth; };
layout(set = 0, binding = 0) readonly buffer I0 { A a[]; };
layout(set = 0, binding = 1) readonly buffer I1 { A b[]; };
layout(set = 0, binding = 2) readonly buffer I2 { uint counts[]; };
layout(set = 0, binding = 3) buffer O3 { S sums[]; };
layout(set = 0, binding = 4) readonly buffer I4 { S start[]; };
layout(buffer_reference, std430, buffer_reference_align = 1) buffer Elem { A x; };
#define ZEROS gl_CooperativeMatrixClampModeConstantNV
#define LAYOUT tensorLayoutNV<2, ZEROS>
#define MAT(T, R, C, U) coopmat<T, gl_ScopeWorkgroup, R, C, gl_MatrixUse##U>

#if KIND == 4
A decode(const in Elem e, const in uint32_t block[2], const in uint32_t at[2]) { return e.x + A(block[1] % 2); }
#endif

S keep(const in uint32_t row, const in uint32_t column, const in S x)
{
    sums[row * N + column] = x;
    return x;
}

LAYOUT layoutOf(uint rows, uint columns, uint stride)
{
    LAYOUT l = setTensorLayoutDimensionNV(createTensorLayoutNV(2, ZEROS), rows, columns);
    return setTensorLayoutStrideNV(l, stride, 1);
}

// Bounds each component, whoever has it.
#define BOUND(m) for (int i = 0; i < m.length(); ++i) m[i] = min(max(m[i], S(-20)), S(20))

void main()
{
    // A of COLUMNS_FIRST 1 is column by column, B of 1 and 2; strides are multiples of 16 bytes.
    const tensorViewNV<2, false, 1, 0> turned = createTensorViewNV(2, false, 1, 0);
    const uint stride = 144;
    const uint rows = KIND == 8 ? M : M - 3;
    const LAYOUT ofA = COLUMNS_FIRST == 1 ? layoutOf(depth, rows, 256) : layoutOf(rows, depth, stride);
    const LAYOUT ofB = COLUMNS_FIRST >= 1 ? layoutOf(N - 5, depth, stride) : layoutOf(depth, N, 128);
    MAT(S, M, N, Accumulator) sum = MAT(S, M, N, Accumulator)(S(1));
    MAT(S, M, N, Accumulator) other = MAT(S, M, N, Accumulator)(S(0));
#if KIND == 10
    if (depth > 64) {
        for (uint k = 0; k < depth; k += T) {
            MAT(A, M, T, A) x;
            coopMatLoadTensorNV(x, a, 0, sliceTensorLayoutNV(ofA, 0, M, k, T));
            MAT(A, T, N, B) y;
            coopMatLoadTensorNV(y, b, 0, sliceTensorLayoutNV(ofB, k, T, 0, N));
            other = coopMatMulAdd(x, y, other);
        }
        BOUND(other);
        coopMatStore(other, sums, 0, N, ROW_MAJOR);
        return;
    }
#endif
    const uint rounds = KIND == 5 ? counts[0] * T : depth;
    for (uint again = 0; again < (KIND == 6 ? counts[1] : 1); ++again) {
        if (KIND == 8 || KIND == 9) {
            const LAYOUT ofStart = layoutOf(rows, N, N);
            coopMatLoadTensorNV(sum, start, 0, sliceTensorLayoutNV(ofStart, 0, M, 0, N));
        }
        for (uint k = 0; k < rounds; k += T) {
            MAT(A, M, T, A) x;
            if (COLUMNS_FIRST == 1)
                coopMatLoadTensorNV(x, a, 0, sliceTensorLayoutNV(ofA, k, T, 0, M), turned);
#if KIND == 4
            else
                coopMatLoadTensorNV(x, a, 0, sliceTensorLayoutNV(ofA, 0, M, k, T), decode);
#else
            else
                coopMatLoadTensorNV(x, a, 0, sliceTensorLayoutNV(ofA, 0, M, k, T));
#endif
            MAT(A, T, N, B) y;
            if (COLUMNS_FIRST >= 1)
                coopMatLoadTensorNV(y, b, 0, sliceTensorLayoutNV(ofB, 0, N, k, T), turned);
            else
                coopMatLoadTensorNV(y, b, 0, sliceTensorLayoutNV(ofB, k, T, 0, N));
            sum = coopMatMulAdd(x, y, sum);
            if (KIND == 1) {
                coopMatLoad(x, a, k + 8, stride, ROW_MAJOR);
                coopMatLoad(y, b, 128 * (k + 1), 128, ROW_MAJOR);
                other = coopMatMulAdd(x, y, other);
            }
            if (KIND == 2)
                sum *= S(2);
            if (KIND == 3)
                other += sum;
        }
    }
    if (KIND == 1 || KIND == 3)
        sum += other;
#if KIND == 10
    BOUND(sum);
#endif
    if (KIND == 7)
        coopMatPerElementNV(sum, sum, keep);
    else
        coopMatStore(sum, sums, 0, N, ROW_MAJOR);
}

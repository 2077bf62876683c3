//! Outer products and sums that many invocations add to memory (*OpCooperativeVectorOuterProductAccumulateNV*,
//! *OpCooperativeVectorReduceSumAccumulateNV*).

use super::flow::{Choice, Lanes};
use super::memory::{self, Matrix};
use crate::random::Random;
use phalanx::vector::{Component, MatrixLayout};

/// Lengths of vectors.
const LENGTHS: [u32; 11] = [1, 2, 3, 4, 7, 8, 9, 16, 17, 32, 33];

/// Small whole numbers.
fn numbers(random: &mut Random, count: u32) -> Vec<f64> {
    (0..count).map(|_| random.below(5) as f64 - 2.0).collect()
}

/// The vectors of all invocations in memory, each at a multiple of 16 bytes, and the bytes between them.
fn vectors(component: Component, length: u32, numbers: &[f64]) -> (String, u32) {
    let size = memory::ty(component).bytes() as u32;
    let stride = (length * size).next_multiple_of(16);
    let mut bytes = vec![0; numbers.len() / length as usize * stride as usize];
    for (n, &x) in numbers.iter().enumerate() {
        let (i, j) = (n as u32 / length, n as u32 % length);
        memory::put(&mut bytes, (i * stride + j * size) as usize, component, x);
    }
    (memory::byte_list(&bytes), stride)
}

/// The test of a random outer product: element (r, c) of the matrix grows by `a[r] * b[c]`.
pub(super) fn outer_product(random: &mut Random) -> String {
    let (rows, columns) = (*random.pick(&LENGTHS), *random.pick(&LENGTHS));
    let component = *random.pick(&[Component::F16, Component::F32]);
    let (lanes, choice) = (Lanes::pick(random), Choice::pick(random));
    let a = numbers(random, lanes.count() * rows);
    let b = numbers(random, lanes.count() * columns);
    let before = numbers(random, choice.of * rows * columns);
    let mut behind = before.clone();
    for i in 0..lanes.count() {
        for t in lanes.turns(i) {
            for (r, c) in (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c))) {
                let at = (choice.of(i, t) * rows + r) * columns + c;
                behind[at as usize] += a[(i * rows + r) as usize] * b[(i * columns + c) as usize];
            }
        }
    }
    let matrix = Matrix { component, layout: MatrixLayout::Training, rows, columns, stride: 0 };
    let one = |all: &[f64], n: u32| matrix.bytes(|r, c| all[((n * rows + r) * columns + c) as usize]);
    let bytes = |all: &[f64]| (0..choice.of).flat_map(|n| one(all, n)).collect::<Vec<u8>>();
    let (before, behind) = (bytes(&before), bytes(&behind));
    let size = before.len() as u32 / choice.of;
    let ((a, a_stride), (b, b_stride)) =
        (vectors(Component::F16, rows, &a), vectors(Component::F16, columns, &b));
    let directives = format!(
        "{}// in 0.0 {a}\n// in 0.1 {b}\n// inout 0.2 {}\n// out 0.2 {}\n",
        lanes.directives(),
        memory::byte_list(&before),
        memory::byte_list(&behind)
    );
    let declarations = format!(
        "layout(set = 0, binding = 0) readonly buffer A {{ float16_t a[]; }};\n\
         layout(set = 0, binding = 1) readonly buffer B {{ float16_t b[]; }};\n\
         layout(set = 0, binding = 2) buffer M {{ {} m[]; }};\n",
        memory::glsl(component)
    );
    let loads = format!(
        "    coopvecNV<float16_t, {rows}> v;\n    coopVecLoadNV(v, a, i * {a_stride});\n    \
         coopvecNV<float16_t, {columns}> w;\n    coopVecLoadNV(w, b, i * {b_stride});\n"
    );
    let operation = format!(
        "    coopVecOuterProductAccumulateNV(v, w, m, ({}) * {size}, 0, {}, {});\n",
        choice.glsl(),
        memory::layout(MatrixLayout::Training),
        memory::constant(component, false)
    );
    directives + &lanes.shader(&declarations, &loads, &operation, "")
}

/// The test of a random sum: element `j` in memory grows by `v[j]`.
pub(super) fn sum(random: &mut Random) -> String {
    let length = *random.pick(&LENGTHS);
    let component = *random.pick(&[Component::F16, Component::F32]);
    let (lanes, choice) = (Lanes::pick(random), Choice::pick(random));
    let v = numbers(random, lanes.count() * length);
    let before = numbers(random, choice.of * length);
    let mut behind = before.clone();
    for i in 0..lanes.count() {
        for t in lanes.turns(i) {
            for j in 0..length {
                behind[(choice.of(i, t) * length + j) as usize] += v[(i * length + j) as usize];
            }
        }
    }
    let (v, stride) = vectors(component, length, &v);
    let directives = format!(
        "{}// in 0.0 {v}\n// inout 0.1 {}\n// out 0.1 {}\n",
        lanes.directives(),
        vectors(component, length, &before).0,
        vectors(component, length, &behind).0
    );
    let scalar = memory::glsl(component);
    let declarations = format!(
        "layout(set = 0, binding = 0) readonly buffer V {{ {scalar} v[]; }};\n\
         layout(set = 0, binding = 1) buffer S {{ {scalar} s[]; }};\n"
    );
    let load = format!("    coopvecNV<{scalar}, {length}> w;\n    coopVecLoadNV(w, v, i * {stride});\n");
    let operation = format!("    coopVecReduceSumAccumulateNV(w, s, ({}) * {stride});\n", choice.glsl());
    directives + &lanes.shader(&declarations, &load, &operation, "")
}

//! Products of matrices and vectors (*OpCooperativeVectorMatrixMulNV*, *…MulAddNV*).

use super::flow::{Choice, Lanes};
use super::memory::{self, Matrix};
use crate::laid::Laid;
use crate::random::Random;
use phalanx::vector::{Component, MatrixLayout, VectorTypes};
use std::fmt::Write as _;

/// Rows and columns.
const SIDES: [u32; 18] = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 64, 65];
/// What a program may name: rows and columns, and what is the implementation's.
const LAYOUTS: [MatrixLayout; 4] =
    [MatrixLayout::RowMajor, MatrixLayout::ColumnMajor, MatrixLayout::Inferencing, MatrixLayout::Training];
/// Elements of a matrix.
const MOST: u32 = 1300;
/// Where results that nobody writes stay as they are.
const UNTOUCHED: f64 = 77.0;

/// A problem.
struct Product<'r> {
    row: &'r VectorTypes,
    m: u32,
    k: u32,
    lanes: Lanes,
    matrix: Matrix,
    transposed: bool,
    matrices: Choice,
    biases: Option<Choice>,
    /// Whether M and K are specialisation constants.
    specialised: bool,
    /// The type that the matrix' buffer claims to be of.
    claims: &'static str,
}

/// The test of a random problem with these types.
pub(super) fn text(random: &mut Random, row: &VectorTypes) -> String {
    let problem = Product::pick(random, row);
    let data = Data::pick(random, &problem);
    problem.text(&data)
}

impl<'r> Product<'r> {
    fn pick(random: &mut Random, row: &'r VectorTypes) -> Self {
        let (mut m, mut k) = (*random.pick(&SIDES), *random.pick(&SIDES));
        while m * k > MOST {
            (m, k) = (*random.pick(&SIDES), *random.pick(&SIDES));
        }
        // VUID 10090: matrices of 8-bit floats are in optimal layouts.
        let small = matches!(row.matrix, Component::E4m3 | Component::E5m2);
        let layout = *random.pick(&LAYOUTS[if small { 2 } else { 0 }..]);
        let transposed = layout.is_optimal() && row.transpose && random.one_in(2);
        let (rows, columns) = if transposed { (k, m) } else { (m, k) };
        let line = if layout == MatrixLayout::ColumnMajor { rows } else { columns };
        let size = memory::ty(row.matrix).bytes() as u32;
        let stride = (line * size).next_multiple_of(16) + random.pick(&[0, 0, 16, 48]);
        Self {
            row,
            m,
            k,
            lanes: Lanes::pick(random),
            matrix: Matrix { component: row.matrix, layout, rows, columns, stride },
            transposed,
            matrices: Choice::pick(random),
            biases: random.one_in(2).then(|| Choice::pick(random)),
            specialised: random.one_in(2),
            claims: *random.pick(&["uint8_t", "float16_t", "uint", "float"]),
        }
    }

    /// Components of the vector: with packed ones of four numbers each, ceil(K / 4).
    const fn components(&self) -> u32 {
        if self.row.packed { self.k.div_ceil(4) } else { self.k }
    }

    /// Bytes from an invocation's vector to the next, and from a result and a bias to the next: multiples of 16.
    fn strides(&self) -> (u32, u32, u32) {
        let bytes = |component, n| memory::ty(component).bytes() as u32 * n;
        let line = |component, n| u32::next_multiple_of(bytes(component, n), 16);
        (line(self.row.input, self.components()), line(self.row.result, self.m), line(self.row.bias, self.m))
    }
}

/// The numbers of a problem.
struct Data {
    /// Numbers of the vectors, K for each invocation, before they are interpreted.
    inputs: Vec<f64>,
    /// Elements of the matrices, by rows of the M x K matrix that is multiplied by.
    matrices: Vec<f64>,
    /// Biases, M each.
    biases: Vec<f64>,
}

impl Data {
    fn pick(random: &mut Random, problem: &Product<'_>) -> Self {
        let row = problem.row;
        let inputs = (0..problem.lanes.count() * problem.k).map(|_| input(random, row)).collect();
        let elements = problem.matrices.of * problem.m * problem.k;
        let matrices = (0..elements).map(|_| element(random, row.matrix)).collect();
        let biases = problem.biases.map_or(0, |choice| choice.of * problem.m);
        Self { inputs, matrices, biases: (0..biases).map(|_| bias(random, row.bias)).collect() }
    }
}

/// A number of a vector. Those that become integers are rounded and saturated; those that become floats are ones that all
/// types have.
fn input(random: &mut Random, row: &VectorTypes) -> f64 {
    let edges: &[f64] = match (row.input, row.packed) {
        (_, true) => return element(random, row.interpretation),
        (Component::S8 | Component::U8, _) => return element(random, row.input),
        _ if row.interpretation.is_float() => return small(random),
        (Component::S32, _) => {
            &[-2_147_483_648.0, 2_147_483_647.0, -129.0, -128.0, 127.0, 128.0, 255.0, 256.0, -1.0]
        }
        (Component::U32, _) => &[4_294_967_295.0, 2_147_483_648.0, 127.0, 128.0, 255.0, 256.0, 0.0],
        _ => &[0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, -128.5, 254.5, 255.5, 300.0, -1000.0, 65504.0],
    };
    let signed = row.input != Component::U32;
    if random.one_in(3) {
        *random.pick(edges)
    } else {
        random.below(100) as f64 - if signed { 50.0 } else { 0.0 }
    }
}

fn element(random: &mut Random, component: Component) -> f64 {
    let (edges, least): (&[f64], f64) = match component {
        Component::S8 => (&[-128.0, -127.0, 127.0], -128.0),
        Component::U8 => (&[255.0, 128.0, 127.0], 0.0),
        _ => return small(random),
    };
    if random.one_in(4) { *random.pick(edges) } else { random.below(256) as f64 + least }
}

fn bias(random: &mut Random, component: Component) -> f64 {
    match component {
        Component::S32 => random.bits() as i32 as f64,
        Component::U32 => random.bits() as u32 as f64,
        _ => random.below(17) as f64 - 8.0,
    }
}

/// A whole number that every float has.
fn small(random: &mut Random) -> f64 {
    random.below(7) as f64 - 3.0
}

// ── what the text says ──

/// "Input is converted to the type of InputInterpretation": integers saturate; floats are rounded to nearest even first.
fn interpreted(x: f64, to: Component) -> f64 {
    match to {
        Component::S8 => x.round_ties_even().clamp(-128.0, 127.0),
        Component::U8 => x.round_ties_even().clamp(0.0, 255.0),
        _ => x,
    }
}

/// "Integers wrap": a result of 32 bits, where it is one.
fn wrapped(x: i128, to: Component) -> f64 {
    match to {
        Component::S32 => x as i32 as f64,
        Component::U32 => x as u32 as f64,
        _ => x as f64,
    }
}

impl Product<'_> {
    /// Component `j` of the result of invocation `i`: the sums over its turns.
    fn expected(&self, data: &Data, i: u32, j: u32) -> f64 {
        let mut sum = 0_i128;
        for t in self.lanes.turns(i) {
            let matrix = self.matrices.of(i, t);
            for k in 0..self.k {
                let x = data.inputs[(i * self.k + k) as usize];
                let element = data.matrices[((matrix * self.m + j) * self.k + k) as usize];
                sum += (interpreted(x, self.row.interpretation) * element) as i128;
            }
            if let Some(choice) = self.biases {
                sum += data.biases[(choice.of(i, t) * self.m + j) as usize] as i128;
            }
        }
        wrapped(sum, self.row.result)
    }

    fn text(&self, data: &Data) -> String {
        let mut text = self.lanes.directives();
        if self.specialised {
            let _ = writeln!(text, "// spec 0={} 1={}", self.m, self.k);
        }
        let _ = writeln!(text, "// in 0.0 {}", memory::byte_list(&self.input_bytes(data)));
        let _ = writeln!(text, "// in 0.1 {}", memory::byte_list(&self.matrix_bytes(data)));
        let size = self.matrix.bytes(|_, _| 0.0).len();
        for laid in (0..self.matrices.of as usize).filter_map(|matrix| self.matrix.laid(matrix * size)) {
            let Laid { slot, byte, component, rows, columns } = laid;
            let _ = writeln!(text, "// matrix {slot} {} {rows} {columns} {byte}", component.name());
        }
        let _ = writeln!(text, "// in 0.2 {}", memory::byte_list(&self.bias_bytes(data)));
        let results = self.results(data);
        let name = memory::name(self.row.result);
        let _ = writeln!(text, "// inout 0.3 {name} fill {} {UNTOUCHED}", results.len());
        let _ = writeln!(text, "// out 0.3 {}", memory::list(self.row.result, &results));
        text + &self.shader()
    }

    fn results(&self, data: &Data) -> Vec<f64> {
        let line = self.strides().1 / memory::ty(self.row.result).bytes() as u32;
        let at = |n: u32| {
            let (i, j) = (n / line, n % line);
            if j < self.m && self.lanes.ends(i) { self.expected(data, i, j) } else { UNTOUCHED }
        };
        (0..self.lanes.count() * line).map(at).collect()
    }

    fn input_bytes(&self, data: &Data) -> Vec<u8> {
        let stride = self.strides().0;
        // A packed number is a byte of its own, the first in the lowest byte of a word.
        let component = if self.row.packed { self.row.interpretation } else { self.row.input };
        let size = memory::ty(component).bytes() as u32;
        let mut bytes = vec![0; (stride * self.lanes.count()) as usize];
        for (n, &x) in data.inputs.iter().enumerate() {
            let (i, k) = (n as u32 / self.k, n as u32 % self.k);
            memory::put(&mut bytes, (i * stride + k * size) as usize, component, x);
        }
        bytes
    }

    fn matrix_bytes(&self, data: &Data) -> Vec<u8> {
        let one = |matrix: u32| {
            self.matrix.bytes(|r, c| {
                let (j, k) = if self.transposed { (c, r) } else { (r, c) };
                data.matrices[((matrix * self.m + j) * self.k + k) as usize]
            })
        };
        (0..self.matrices.of).flat_map(one).collect()
    }

    fn bias_bytes(&self, data: &Data) -> Vec<u8> {
        let stride = self.strides().2;
        let size = memory::ty(self.row.bias).bytes() as u32;
        let mut bytes = vec![0; 16];
        for (n, &x) in data.biases.iter().enumerate() {
            let (bias, j) = (n as u32 / self.m, n as u32 % self.m);
            memory::put(&mut bytes, (bias * stride + j * size) as usize, self.row.bias, x);
        }
        bytes
    }

    fn shader(&self) -> String {
        let (row, (x_stride, r_stride, b_stride)) = (self.row, self.strides());
        let (input, result, claims) = (memory::glsl(row.input), memory::glsl(row.result), self.claims);
        let (m, k, components) = (self.m, self.k, self.components());
        let sizes = if self.specialised {
            "layout(constant_id = 0) const uint M = 8;\nlayout(constant_id = 1) const uint K = 8;\n"
                .to_owned()
        } else {
            format!("const uint M = {m};\nconst uint K = {k};\n")
        };
        let declarations = format!(
            "{sizes}layout(set = 0, binding = 0) readonly buffer X {{ {input} x[]; }};\n\
             layout(set = 0, binding = 1) readonly buffer A {{ {claims} a[]; }};\n\
             layout(set = 0, binding = 2) readonly buffer B {{ {} b[]; }};\n\
             layout(set = 0, binding = 3) buffer R {{ {result} r[]; }};\n",
            memory::glsl(row.bias)
        );
        let before = format!(
            "    coopvecNV<{input}, {components}> v;\n    coopVecLoadNV(v, x, i * {x_stride});\n    \
             coopvecNV<{result}, M> w = coopvecNV<{result}, M>({result}(0));\n"
        );
        let size = self.matrix.bytes(|_, _| 0.0).len();
        let (how, what) =
            (memory::constant(row.interpretation, row.packed), memory::constant(row.matrix, false));
        let (name, bias) = match self.biases {
            Some(choice) => {
                let (choice, what) = (choice.glsl(), memory::constant(row.bias, false));
                ("coopVecMatMulAddNV", format!("b, ({choice}) * {b_stride}, {what}, "))
            }
            None => ("coopVecMatMulNV", String::new()),
        };
        let operation = format!(
            "    coopvecNV<{result}, M> p;\n    {name}(p, v, {how}, a, ({}) * {size}, {what}, {bias}M, K, {}, {}, {});\n    \
             w = w + p;\n",
            self.matrices.glsl(),
            memory::layout(self.matrix.layout),
            self.transposed,
            self.matrix.stride
        );
        let behind = format!("    coopVecStoreNV(w, r, i * {r_stride});\n");
        self.lanes.shader(&declarations, &before, &operation, &behind)
    }
}

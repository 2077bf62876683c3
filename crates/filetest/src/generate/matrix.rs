//! Cooperative matrices: operations on their elements, conversions, and multiply-adds of every row of types.
//!
//! A matrix is loaded from an operand that lies in memory as a whole, and stored by each subgroup for itself.
//! Multiply-adds are of numbers whose sums are exact in any order.

use super::case::{Case, Emit, Operand, Source};
use super::check::Check;
use super::shader::Shader;
use super::value::{Domain, Ty};
use phalanx_ir::Scalar;
use std::sync::Arc;

/// *A*, *B* and accumulator.
const USES: [(u64, &str); 3] = [(0, "a"), (1, "b"), (2, "acc")];
/// Rows and columns of operations on elements.
const SHAPES: [(u32, u32); 3] = [(16, 16), (8, 4), (5, 7)];
const FLOAT_OPERATIONS: [&str; 4] = ["OpFAdd", "OpFSub", "OpFMul", "OpFDiv"];
const INT_OPERATIONS: [&str; 5] = ["OpIAdd", "OpISub", "OpIMul", "OpSDiv", "OpUDiv"];
/// Factors and sums of floats.
const FLOAT_ROWS: [(Scalar, Scalar); 10] = [
    (Scalar::F16, Scalar::F16),
    (Scalar::F16, Scalar::F32),
    (Scalar::BF16, Scalar::BF16),
    (Scalar::BF16, Scalar::F32),
    (Scalar::F32, Scalar::F32),
    (Scalar::F64, Scalar::F64),
    (Scalar::E4M3, Scalar::F16),
    (Scalar::E4M3, Scalar::F32),
    (Scalar::E5M2, Scalar::F16),
    (Scalar::E5M2, Scalar::F32),
];
const INT_ROWS: [(Scalar, Scalar); 4] = [
    (Scalar::I8, Scalar::I32),
    (Scalar::I16, Scalar::I32),
    (Scalar::I32, Scalar::I32),
    (Scalar::I64, Scalar::I64),
];
/// M, N and K.
const PRODUCTS: [(u32, u32, u32); 4] = [(16, 16, 16), (8, 8, 16), (16, 8, 32), (5, 3, 7)];

/// A matrix in memory.
#[derive(Clone, Copy)]
struct Mat {
    scalar: Scalar,
    rows: u32,
    cols: u32,
    use_: u64,
}

impl Mat {
    fn elements(self) -> Ty {
        Ty::new(self.scalar, self.rows * self.cols)
    }

    fn operand(self, domain: Domain) -> Operand {
        Operand { ty: self.elements(), domain, source: Source::Cell }
    }

    fn ty(self, shader: &mut Shader) -> String {
        shader.needs("CooperativeMatrixKHR", "SPV_KHR_cooperative_matrix");
        match self.scalar {
            Scalar::BF16 => shader.needs("BFloat16CooperativeMatrixKHR", "SPV_KHR_bfloat16"),
            Scalar::E4M3 | Scalar::E5M2 => shader.needs("Float8CooperativeMatrixEXT", "SPV_EXT_float8"),
            _ => {}
        }
        let part = shader.ty(Ty::scalar(self.scalar));
        let [scope, rows, cols, use_] =
            [3, self.rows.into(), self.cols.into(), self.use_].map(|n| shader.int(n));
        let name = format!("%mat{}x{}{}_{}", self.rows, self.cols, self.scalar, self.use_);
        shader.global(&name, &format!("OpTypeCooperativeMatrixKHR {part} {scope} {rows} {cols} {use_}"))
    }

    fn load(self, shader: &mut Shader, pointer: &str) -> String {
        let (ty, layout, stride) = (self.ty(shader), shader.int(0), shader.int(self.cols.into()));
        let bytes = self.scalar.bytes();
        shader.op(&format!("OpCooperativeMatrixLoadKHR {ty} {pointer} {layout} {stride} Aligned {bytes}"))
    }

    fn store(self, shader: &mut Shader, pointer: &str, value: &str) {
        let (layout, stride) = (shader.int(0), shader.int(self.cols.into()));
        let bytes = self.scalar.bytes();
        shader.line(&format!(
            "OpCooperativeMatrixStoreKHR {pointer} {value} {layout} {stride} Aligned {bytes}"
        ));
    }
}

/// A case that loads matrices, makes one of them and stores it through the last pointer.
fn case(
    name: String,
    operands: Vec<(Mat, Domain)>,
    result: Mat,
    make: impl Fn(&mut Shader, &str, &[String]) -> String + Send + Sync + 'static,
) -> Case {
    let mats: Vec<_> = operands.iter().map(|(mat, _)| *mat).collect();
    let emit: Emit = Arc::new(move |shader: &mut Shader, ids: &[String]| {
        let values: Vec<_> = mats.iter().zip(ids).map(|(mat, id)| mat.load(shader, id)).collect();
        let ty = result.ty(shader);
        let value = make(shader, &ty, &values);
        result.store(shader, &ids[mats.len()], &value);
        Vec::new()
    });
    Case {
        name,
        operands: operands.iter().map(|(mat, domain)| mat.operand(*domain)).collect(),
        results: vec![result.elements()],
        checks: vec![Check::Number],
        emit,
    }
}

/// Operations on elements, and conversions of the component type.
pub(super) fn elementwise() -> Vec<Case> {
    let mut all = Vec::new();
    for scalar in Scalar::ALL.into_iter().filter(|s| *s != Scalar::Bool) {
        for (rows, cols) in SHAPES {
            for (use_, name) in USES {
                let mat = Mat { scalar, rows, cols, use_ };
                let name = format!("{rows}x{cols}{scalar} {name}");
                all.extend(arithmetic(mat, &name));
                let others = Scalar::ALL.into_iter().filter(|to| *to != Scalar::Bool && *to != scalar);
                all.extend(others.flat_map(|to| conversions(mat, to, &name)));
            }
        }
    }
    all
}

fn arithmetic(mat: Mat, name: &str) -> Vec<Case> {
    let binary: &[&str] = match mat.scalar {
        s if s.is_int() => &INT_OPERATIONS,
        s if s.is_arithmetic_float() => &FLOAT_OPERATIONS,
        // SPV_KHR_bfloat16 and SPV_EXT_float8 have no arithmetic.
        _ => return Vec::new(),
    };
    let mut all = Vec::new();
    for &op in binary {
        let text = move |shader: &mut Shader, ty: &str, v: &[String]| {
            shader.op(&format!("{op} {ty} {} {}", v[0], v[1]))
        };
        all.push(case(format!("{op} {name}"), vec![(mat, Domain::Any); 2], mat, text));
    }
    let negate = if mat.scalar.is_int() { "OpSNegate" } else { "OpFNegate" };
    let text =
        move |shader: &mut Shader, ty: &str, v: &[String]| shader.op(&format!("{negate} {ty} {}", v[0]));
    all.push(case(format!("{negate} {name}"), vec![(mat, Domain::Any)], mat, text));
    let factor = super::value::number(mat.scalar, 3.0);
    let text = move |shader: &mut Shader, ty: &str, v: &[String]| {
        let factor = shader.constant(mat.scalar, factor);
        shader.op(&format!("OpMatrixTimesScalar {ty} {} {factor}", v[0]))
    };
    all.push(case(format!("OpMatrixTimesScalar {name}"), vec![(mat, Domain::Any)], mat, text));
    all
}

fn conversions(mat: Mat, to: Scalar, name: &str) -> Vec<Case> {
    let ops: &[&str] = match (mat.scalar.is_float(), to.is_float()) {
        (true, true) => &["OpFConvert"],
        (true, false) => &["OpConvertFToS", "OpConvertFToU"],
        (false, true) => &["OpConvertSToF", "OpConvertUToF"],
        (false, false) => &["OpSConvert", "OpUConvert"],
    };
    let result = Mat { scalar: to, ..mat };
    let of = |op: &&'static str| {
        let op = *op;
        let text =
            move |shader: &mut Shader, ty: &str, v: &[String]| shader.op(&format!("{op} {ty} {}", v[0]));
        case(format!("{op} {name} {to}"), vec![(mat, Domain::Any)], result, text)
    };
    ops.iter().map(of).collect()
}

/// Multiply-adds. Integers wrap or saturate, so any will do.
pub(super) fn products() -> Vec<Case> {
    let mut all = Vec::new();
    for shape in PRODUCTS {
        for (factor, sum) in FLOAT_ROWS {
            all.push(product(shape, factor, sum, 0));
        }
        for (factor, sum) in INT_ROWS {
            all.extend((0..32).map(|flags| product(shape, factor, sum, flags)));
        }
    }
    all
}

const FLAGS: [&str; 5] = [
    "MatrixASignedComponentsKHR",
    "MatrixBSignedComponentsKHR",
    "MatrixCSignedComponentsKHR",
    "MatrixResultSignedComponentsKHR",
    "SaturatingAccumulationKHR",
];

fn product((m, n, k): (u32, u32, u32), factor: Scalar, sum: Scalar, flags: u32) -> Case {
    let mat = |scalar, rows, cols, use_| Mat { scalar, rows, cols, use_ };
    let (a, b, c) = (mat(factor, m, k, 0), mat(factor, k, n, 1), mat(sum, m, n, 2));
    let domain = if factor.is_float() { Domain::Sign } else { Domain::Any };
    let set: Vec<_> =
        FLAGS.iter().enumerate().filter(|(i, _)| flags >> i & 1 == 1).map(|(_, flag)| *flag).collect();
    let operands = if set.is_empty() { "None".to_owned() } else { set.join("|") };
    let name = format!("MulAdd {m}x{n}x{k} {factor} {sum} {operands}");
    let text = move |shader: &mut Shader, ty: &str, v: &[String]| {
        let operands = if operands == "None" { "" } else { &operands };
        let line = format!("OpCooperativeMatrixMulAddKHR {ty} {} {operands}", v.join(" "));
        shader.op(line.trim_end())
    };
    case(name, vec![(a, domain), (b, domain), (c, domain)], c, text)
}

//! Products of vectors and matrices, determinants and inverses; and integer dot products.
//!
//! The products of floats are formulas, which come twice, as in [`super::glsl`].

use super::case::{Case, Operation, Source, sources};
use super::check::Check;
use super::float::FLOATS;
use super::integer::INTEGERS;
use super::shader::Shader;
use super::value::{Domain, Ty};
use phalanx_ir::Scalar;
use std::sync::Arc;

/// An operand or a result: a scalar, a vector, or a matrix of so many columns.
#[derive(Clone, Copy)]
enum Shape {
    Plain(Ty),
    Matrix(Ty, u32),
}

impl Shape {
    fn parts(self) -> Vec<Ty> {
        match self {
            Self::Plain(ty) => vec![ty],
            Self::Matrix(column, n) => vec![column; n as usize],
        }
    }

    fn ty(self, shader: &mut Shader) -> String {
        match self {
            Self::Plain(ty) => shader.ty(ty),
            Self::Matrix(column, n) => {
                let id = shader.ty(column);
                shader.needs("Matrix", "");
                shader.global(&format!("%m{n}{column}"), &format!("OpTypeMatrix {id} {n}"))
            }
        }
    }

    fn name(self) -> String {
        match self {
            Self::Plain(ty) => ty.to_string(),
            Self::Matrix(column, n) => format!("m{n}{column}"),
        }
    }
}

/// An instruction on such shapes; matrices are put together of their columns and taken apart again.
fn product(inst: &'static str, operands: Vec<Shape>, result: Shape, exact: bool) -> Operation {
    let shapes: Vec<_> = operands.iter().map(|s| s.name()).collect();
    let parts: Vec<Ty> = operands.iter().flat_map(|s| s.parts()).collect();
    let emit = move |shader: &mut Shader, ids: &[String]| {
        let mut rest = ids;
        let mut whole = String::new();
        for shape in &operands {
            let (own, others) = rest.split_at(shape.parts().len());
            rest = others;
            let ty = shape.ty(shader);
            whole += " ";
            whole += &match shape {
                Shape::Plain(_) => own[0].clone(),
                Shape::Matrix(..) => shader.op(&format!("OpCompositeConstruct {ty} {}", own.join(" "))),
            };
        }
        let ty = result.ty(shader);
        let id = shader.op(&format!("{}{whole}", inst.replace("$R", &ty)));
        if exact {
            shader.decorate(&id, "NoContraction");
        }
        let Shape::Matrix(column, n) = result else { return vec![id] };
        let column = shader.ty(column);
        (0..n).map(|i| shader.op(&format!("OpCompositeExtract {column} {id} {i}"))).collect()
    };
    let name = inst.replace("OpExtInst $R %glsl ", "").replace(" $R", "").replace("Op", "");
    Operation {
        name: format!("{name} {}{}", shapes.join(" "), if exact { " exact" } else { "" }),
        operands: parts.iter().map(|ty| (*ty, if exact { Domain::Any } else { Domain::Small })).collect(),
        results: result.parts(),
        check: Check::Number,
        emit: Arc::new(emit),
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for scalar in FLOATS {
        for exact in [true, false] {
            all.extend(vectors(scalar, exact));
            all.extend(matrices(scalar, exact));
        }
    }
    // A matrix has too many columns for all choices.
    all.iter().flat_map(|o| o.cases(&whole(o.operands.len())).collect::<Vec<_>>()).collect()
}

/// All varying, all uniform, and each of the first and last operand in another way than the rest.
fn whole(operands: usize) -> Vec<Vec<Source>> {
    if operands <= 2 {
        return sources(operands);
    }
    let one = |at: usize, one: Source, rest: Source| {
        (0..operands).map(|i| if i == at { one } else { rest }).collect::<Vec<_>>()
    };
    use Source::{Constant, Uniform, Varying};
    vec![
        one(0, Varying, Varying),
        one(0, Uniform, Uniform),
        one(0, Uniform, Varying),
        one(operands - 1, Uniform, Varying),
        one(operands - 1, Constant, Varying),
    ]
}

fn vectors(scalar: Scalar, exact: bool) -> Vec<Operation> {
    let part = Shape::Plain(Ty::scalar(scalar));
    (2..=4).map(|n| product("OpDot $R", vec![Shape::Plain(Ty::new(scalar, n)); 2], part, exact)).collect()
}

fn matrices(scalar: Scalar, exact: bool) -> Vec<Operation> {
    let part = Shape::Plain(Ty::scalar(scalar));
    let mut all = Vec::new();
    for rows in 2..=4 {
        let column = Ty::new(scalar, rows);
        for n in 2..=4 {
            let row = Ty::new(scalar, n);
            let (matrix, turned) = (Shape::Matrix(column, n), Shape::Matrix(row, rows));
            let (c, r) = (Shape::Plain(column), Shape::Plain(row));
            all.push(product("OpMatrixTimesScalar $R", vec![matrix, part], matrix, exact));
            all.push(product("OpVectorTimesMatrix $R", vec![c, matrix], r, exact));
            all.push(product("OpMatrixTimesVector $R", vec![matrix, r], c, exact));
            all.push(product("OpOuterProduct $R", vec![c, r], matrix, exact));
            all.push(product("OpTranspose $R", vec![matrix], turned, exact));
            let other = Shape::Matrix(row, 3);
            all.push(product("OpMatrixTimesMatrix $R", vec![matrix, other], Shape::Matrix(column, 3), exact));
        }
        let square = Shape::Matrix(column, rows);
        all.push(product("OpExtInst $R %glsl Determinant", vec![square], part, exact));
        all.push(product("OpExtInst $R %glsl MatrixInverse", vec![square], square, exact));
    }
    all
}

/// Integer dot products: of vectors and of bytes in words, plain and onto an accumulator.
pub(super) fn dots() -> Vec<Case> {
    let mut all = Vec::new();
    for result in INTEGERS.map(Ty::scalar) {
        for scalar in INTEGERS.into_iter().filter(|s| s.bits() <= result.scalar.bits()) {
            for n in 2..=4 {
                all.extend(dot(Ty::new(scalar, n), result, ""));
            }
        }
        all.extend(dot(Ty::scalar(Scalar::I32), result, " PackedVectorFormat4x8Bit"));
    }
    all.iter().flat_map(|o| o.cases(&sources(o.operands.len())).collect::<Vec<_>>()).collect()
}

fn dot(ty: Ty, result: Ty, format: &str) -> Vec<Operation> {
    let mut all = Vec::new();
    for op in ["OpSDot", "OpUDot", "OpSUDot"] {
        let plain = format!("{op} $R $0 $1{format}");
        all.push(Operation::instruction(&plain, &[ty, ty], result, Check::Bits));
        let saturating = format!("{op}AccSat $R $0 $1 $2{format}");
        all.push(Operation::instruction(&saturating, &[ty, ty, result], result, Check::Bits));
    }
    all.into_iter().map(|o| o.needs("DotProduct", "").needs("DotProductInputAll", "")).collect()
}

//! Integers: arithmetic, bits, shifts, bit fields, extended products, comparisons, and the functions
//! of GLSL.std.450 on integers.

use super::case::{Case, Operation, sources};
use super::check::Check;
use super::shader::Shader;
use super::value::{Domain, Ty};
use phalanx_ir::Scalar;
use std::sync::Arc;

pub(super) const INTEGERS: [Scalar; 4] = [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64];

const UNARY: [&str; 4] = ["OpSNegate", "OpNot", "OpBitReverse", "OpBitCount"];
const BINARY: [&str; 11] = [
    "OpIAdd",
    "OpISub",
    "OpIMul",
    "OpUDiv",
    "OpSDiv",
    "OpUMod",
    "OpSRem",
    "OpSMod",
    "OpBitwiseOr",
    "OpBitwiseXor",
    "OpBitwiseAnd",
];
const SHIFTS: [&str; 3] = ["OpShiftRightLogical", "OpShiftRightArithmetic", "OpShiftLeftLogical"];
const COMPARISONS: [&str; 10] = [
    "OpIEqual",
    "OpINotEqual",
    "OpUGreaterThan",
    "OpSGreaterThan",
    "OpUGreaterThanEqual",
    "OpSGreaterThanEqual",
    "OpULessThan",
    "OpSLessThan",
    "OpULessThanEqual",
    "OpSLessThanEqual",
];
/// Two results: both halves, or the sum and what is carried.
const EXTENDED: [&str; 4] = ["OpIAddCarry", "OpISubBorrow", "OpUMulExtended", "OpSMulExtended"];
/// Name and number of operands.
const FUNCTIONS: [(&str, usize); 11] = [
    ("SAbs", 1),
    ("SSign", 1),
    ("FindILsb", 1),
    ("FindSMsb", 1),
    ("FindUMsb", 1),
    ("SMin", 2),
    ("SMax", 2),
    ("UMin", 2),
    ("UMax", 2),
    ("SClamp", 3),
    ("UClamp", 3),
];

pub(super) fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for scalar in INTEGERS {
        for n in 1..=4 {
            let operations = operations(Ty::new(scalar, n));
            all.extend(
                operations.iter().flat_map(|o| o.cases(&sources(o.operands.len())).collect::<Vec<_>>()),
            );
        }
    }
    all
}

fn operations(ty: Ty) -> Vec<Operation> {
    let mut all = componentwise(ty);
    all.extend(EXTENDED.iter().map(|op| extended(op, ty)));
    all.extend(bit_fields(ty));
    all
}

/// One operation for each component.
pub(super) fn componentwise(ty: Ty) -> Vec<Operation> {
    let truth = Ty::new(Scalar::Bool, ty.n);
    let check = Check::Bits;
    let mut all = Vec::new();
    all.extend(UNARY.iter().map(|op| Operation::simple(op, 1, ty, ty, check)));
    all.extend(BINARY.iter().map(|op| Operation::simple(op, 2, ty, ty, check)));
    all.extend(COMPARISONS.iter().map(|op| Operation::simple(op, 2, ty, truth, check)));
    all.extend(FUNCTIONS.iter().map(|&(op, n)| Operation::glsl(op, n, ty, ty, check)));
    for op in SHIFTS {
        all.push(Operation::simple(op, 2, ty, ty, check));
        all.push(Operation::simple(op, 2, ty, ty, check).domain(1, Domain::Below(ty.scalar.bits())));
        // The count may be of another width.
        let count = Ty::new(if ty.scalar == Scalar::I64 { Scalar::I16 } else { Scalar::I64 }, ty.n);
        all.push(Operation::instruction(&format!("{op} $R $0 $1"), &[ty, count], ty, check));
    }
    all
}

fn extended(op: &'static str, ty: Ty) -> Operation {
    let emit = move |shader: &mut Shader, ids: &[String]| {
        let part = shader.ty(ty);
        let pair = shader.global(&format!("%pair_{ty}"), &format!("OpTypeStruct {part} {part}"));
        let both = shader.op(&format!("{op} {pair} {} {}", ids[0], ids[1]));
        (0..2).map(|i| shader.op(&format!("OpCompositeExtract {part} {both} {i}"))).collect()
    };
    Operation {
        name: op.trim_start_matches("Op").to_owned(),
        operands: vec![(ty, Domain::Any); 2],
        results: vec![ty; 2],
        check: Check::Bits,
        emit: Arc::new(emit),
    }
}

/// Offset and count are scalars. Beyond the width the result is undefined in SPIR-V, but the IR has no
/// such values, so all targets agree.
fn bit_fields(ty: Ty) -> [Operation; 3] {
    let (count, below) = (Ty::scalar(Scalar::I32), Domain::Below(ty.scalar.bits() + 1));
    let extract = |op: &str| {
        Operation::instruction(&format!("{op} $R $0 $1 $2"), &[ty, count, count], ty, Check::Bits)
            .domain(1, below)
            .domain(2, below)
    };
    let insert =
        Operation::instruction("OpBitFieldInsert $R $0 $1 $2 $3", &[ty, ty, count, count], ty, Check::Bits);
    [extract("OpBitFieldSExtract"), extract("OpBitFieldUExtract"), insert.domain(2, below).domain(3, below)]
}

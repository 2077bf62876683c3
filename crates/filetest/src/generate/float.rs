//! Floats: arithmetic, comparisons and classes; and truth values, which comparisons give.

use super::case::{Case, Operation, sources};
use super::check::Check;
use super::value::{Domain, Ty};
use phalanx_ir::Scalar;

/// The floats with arithmetic.
pub(super) const FLOATS: [Scalar; 3] = [Scalar::F16, Scalar::F32, Scalar::F64];

const ARITHMETIC: [&str; 5] = ["OpFAdd", "OpFSub", "OpFMul", "OpFDiv", "OpFMod"];
const COMPARISONS: [&str; 15] = [
    "OpFOrdEqual",
    "OpFUnordEqual",
    "OpFOrdNotEqual",
    "OpFUnordNotEqual",
    "OpFOrdLessThan",
    "OpFUnordLessThan",
    "OpFOrdGreaterThan",
    "OpFUnordGreaterThan",
    "OpFOrdLessThanEqual",
    "OpFUnordLessThanEqual",
    "OpFOrdGreaterThanEqual",
    "OpFUnordGreaterThanEqual",
    "OpOrdered",
    "OpUnordered",
    "OpLessOrGreater",
];
const CLASSES: [&str; 5] = ["OpIsNan", "OpIsInf", "OpIsFinite", "OpIsNormal", "OpSignBitSet"];
const LOGIC: [&str; 4] = ["OpLogicalEqual", "OpLogicalNotEqual", "OpLogicalOr", "OpLogicalAnd"];

pub(super) fn cases() -> Vec<Case> {
    let types = FLOATS.iter().flat_map(|s| (1..=4).map(|n| Ty::new(*s, n)));
    types.flat_map(operations).flat_map(|o| o.cases(&sources(o.operands.len())).collect::<Vec<_>>()).collect()
}

pub(super) fn operations(ty: Ty) -> Vec<Operation> {
    let truth = Ty::new(Scalar::Bool, ty.n);
    let mut all = vec![Operation::simple("OpFNegate", 1, ty, ty, Check::Bits)];
    all.extend(ARITHMETIC.iter().map(|op| Operation::simple(op, 2, ty, ty, Check::Number)));
    all.push(Operation::simple("OpFRem", 2, ty, ty, Check::Remainder));
    all.extend(COMPARISONS.iter().map(|op| Operation::simple(op, 2, ty, truth, Check::Bits)));
    all.extend(CLASSES.iter().map(|op| Operation::simple(op, 1, ty, truth, Check::Bits)));
    all.push(fused(ty));
    if ty.n > 1 {
        let factor = Ty::scalar(ty.scalar);
        all.push(Operation::instruction("OpVectorTimesScalar $R $0 $1", &[ty, factor], ty, Check::Number));
    }
    all
}

fn fused(ty: Ty) -> Operation {
    Operation::simple("OpFmaKHR", 3, ty, ty, Check::Number).needs("FMAKHR", "SPV_KHR_fma")
}

/// Truth values, and the choice by one between values of any type.
pub(super) fn logic() -> Vec<Case> {
    let mut all = Vec::new();
    for n in 1..=4 {
        let (ty, one) = (Ty::new(Scalar::Bool, n), Ty::scalar(Scalar::Bool));
        all.push(Operation::simple("OpLogicalNot", 1, ty, ty, Check::Bits));
        all.extend(LOGIC.iter().map(|op| Operation::simple(op, 2, ty, ty, Check::Bits)));
        if n > 1 {
            all.extend(["OpAny", "OpAll"].iter().map(|op| Operation::simple(op, 1, ty, one, Check::Bits)));
        }
        for scalar in Scalar::ALL {
            let chosen = Ty::new(scalar, n);
            let mut conditions = vec![ty];
            conditions.extend((n > 1).then_some(one));
            for condition in conditions {
                let operands = [condition, chosen, chosen];
                let select = Operation::instruction("OpSelect $R $0 $1 $2", &operands, chosen, Check::Bits);
                all.push(select.domain(0, Domain::Any));
            }
        }
    }
    all.iter().flat_map(|o| o.cases(&sources(o.operands.len())).collect::<Vec<_>>()).collect()
}

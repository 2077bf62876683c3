//! Conversions between all pairs of types, with rounding modes and saturation, and the same bits in
//! other types.

use super::case::{Case, Operation, sources};
use super::check::Check;
use super::integer::INTEGERS;
use super::shader::Shader;
use super::value::{Domain, Ty};
use phalanx_ir::Scalar;
use std::sync::Arc;

const FLOATS: [Scalar; 6] = [Scalar::F16, Scalar::F32, Scalar::F64, Scalar::BF16, Scalar::E4M3, Scalar::E5M2];

pub(super) fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for n in 1..=4 {
        for from in INTEGERS {
            for to in INTEGERS.into_iter().filter(|to| *to != from) {
                all.extend(["OpSConvert", "OpUConvert"].map(|op| plain(op, from, to, n)));
            }
            for to in FLOATS {
                all.extend(
                    ["OpConvertSToF", "OpConvertUToF"].into_iter().flat_map(|op| to_float(op, from, to, n)),
                );
            }
        }
        for from in FLOATS {
            all.extend(
                INTEGERS
                    .iter()
                    .flat_map(|to| ["OpConvertFToS", "OpConvertFToU"].map(|op| plain(op, from, *to, n))),
            );
            let others = FLOATS.into_iter().filter(|to| *to != from);
            all.extend(others.flat_map(|to| to_float("OpFConvert", from, to, n)));
        }
        all.push(Operation::simple(
            "OpQuantizeToF16",
            1,
            Ty::new(Scalar::F32, n),
            Ty::new(Scalar::F32, n),
            Check::Number,
        ));
    }
    all.extend(casts());
    all.iter().flat_map(|o| o.cases(&sources(1)).collect::<Vec<_>>()).collect()
}

fn plain(op: &str, from: Scalar, to: Scalar, n: u32) -> Operation {
    Operation::simple(op, 1, Ty::new(from, n), Ty::new(to, n), Check::Number)
}

/// With each way to round, and saturating where the type has it.
fn to_float(op: &'static str, from: Scalar, to: Scalar, n: u32) -> Vec<Operation> {
    let mut ways = vec![vec![], vec!["FPRoundingMode RTE"], vec!["FPRoundingMode RTZ"]];
    if matches!(to, Scalar::E4M3 | Scalar::E5M2) {
        const SATURATED: &str = "SaturatedToLargestFloat8NormalConversionEXT";
        ways.extend([vec![SATURATED], vec!["FPRoundingMode RTZ", SATURATED]]);
    }
    ways.into_iter().map(|way| decorated(op, Ty::new(from, n), Ty::new(to, n), way)).collect()
}

fn decorated(op: &'static str, from: Ty, to: Ty, decorations: Vec<&'static str>) -> Operation {
    let name = format!(
        "{}{}",
        op.trim_start_matches("Op"),
        decorations.iter().map(|d| format!(" {d}")).collect::<String>()
    );
    let emit = move |shader: &mut Shader, ids: &[String]| {
        let ty = shader.ty(to);
        let id = shader.op(&format!("{op} {ty} {}", ids[0]));
        decorations.iter().for_each(|decoration| shader.decorate(&id, decoration));
        vec![id]
    };
    Operation {
        name,
        operands: vec![(from, Domain::Any)],
        results: vec![to],
        check: Check::Number,
        emit: Arc::new(emit),
    }
}

/// Between all types of as many bits, where the components of one are whole multiples of the other's.
fn casts() -> Vec<Operation> {
    let scalars = INTEGERS.into_iter().chain(FLOATS);
    let types: Vec<_> = scalars.flat_map(|s| (1..=4).map(move |n| Ty::new(s, n))).collect();
    let mut all = Vec::new();
    for from in &types {
        for to in types.iter().filter(|to| to.bytes() == from.bytes() && *to != from) {
            // SPIR-V asks that one component count divides the other.
            if from.n.max(to.n).is_multiple_of(from.n.min(to.n)) {
                all.push(Operation::simple("OpBitcast", 1, *from, *to, Check::Bits));
            }
        }
    }
    all
}

//! The functions of GLSL.std.450 on floats.
//!
//! Functions that the specification defines by a formula are expanded to it, each step rounded
//! correctly. A target may contract a product and a sum, so these come twice: on all values without
//! contraction, and with it on small whole numbers, where it makes no difference.

use super::case::{Case, Operation, sources};
use super::check::Check;
use super::float::FLOATS;
use super::integer::INTEGERS;
use super::shader::Shader;
use super::value::{Domain, Ty};
use phalanx_ir::Scalar;
use phalanx_kernels::math::MathFn;
use std::sync::Arc;

const EXACT: [&str; 8] = ["Round", "RoundEven", "Trunc", "FSign", "Floor", "Ceil", "Fract", "Sqrt"];
/// Name and number of operands. Which zero they give where both are equal is open, and so is which
/// operand if one is NaN; the IR gives the other one.
const PICKS: [(&str, usize); 6] =
    [("FMin", 2), ("FMax", 2), ("NMin", 2), ("NMax", 2), ("FClamp", 3), ("NClamp", 3)];
/// The bound in ulps is that of the function that computes it. Vulkan asks for: sin and cos 2^-11
/// absolutely, tan sin/cos, asin, acos, atan and atan2 4096 ULP, exp and exp2 3 + 2|x| ULP, log and log2
/// 3 ULP, the hyperbolic ones what exp and log give, pow what exp2(y * log2(x)) gives.
const APPROXIMATE: [(&str, MathFn); 18] = [
    ("Sin", MathFn::Sin),
    ("Cos", MathFn::Cos),
    ("Tan", MathFn::Tan),
    ("Asin", MathFn::Asin),
    ("Acos", MathFn::Acos),
    ("Atan", MathFn::Atan),
    ("Sinh", MathFn::Sinh),
    ("Cosh", MathFn::Cosh),
    ("Tanh", MathFn::Tanh),
    ("Asinh", MathFn::Asinh),
    ("Acosh", MathFn::Acosh),
    ("Atanh", MathFn::Atanh),
    ("Exp", MathFn::Exp),
    ("Exp2", MathFn::Exp2),
    ("Log", MathFn::Log),
    ("Log2", MathFn::Log2),
    ("Pow", MathFn::Pow),
    ("Atan2", MathFn::Atan2),
];
/// Formulas on operands of one type.
const FORMULAS: [(&str, usize); 3] = [("Step", 2), ("FMix", 3), ("SmoothStep", 3)];
/// Formulas on whole vectors: operands, and whether the result is a scalar.
const GEOMETRY: [(&str, usize, bool); 5] = [
    ("Length", 1, true),
    ("Distance", 2, true),
    ("Normalize", 1, false),
    ("FaceForward", 3, false),
    ("Reflect", 2, false),
];
/// Vulkan: 2 ULP.
const INVERSE_SQRT_ULPS: f64 = 2.0;

pub(super) fn cases() -> Vec<Case> {
    let types = FLOATS.iter().flat_map(|s| (1..=4).map(|n| Ty::new(*s, n)));
    let all = types.flat_map(|ty| {
        let mut all = functions(ty);
        all.extend(geometry(ty));
        all.extend(split(ty));
        all
    });
    all.flat_map(|o| o.cases(&sources(o.operands.len())).collect::<Vec<_>>()).collect()
}

pub(super) fn functions(ty: Ty) -> Vec<Operation> {
    let mut all = vec![Operation::glsl("FAbs", 1, ty, ty, Check::Bits)];
    all.extend(EXACT.iter().map(|f| Operation::glsl(f, 1, ty, ty, Check::Number)));
    all.extend(PICKS.iter().map(|&(f, n)| Operation::glsl(f, n, ty, ty, Check::AnyZero)));
    all.push(Operation::glsl("InverseSqrt", 1, ty, ty, Check::Ulps(INVERSE_SQRT_ULPS)));
    all.push(Operation::glsl("Fma", 3, ty, ty, Check::Number));
    // Of 64-bit floats SPIR-V has none of these.
    if ty.scalar != Scalar::F64 {
        all.extend(["Radians", "Degrees"].map(|f| Operation::glsl(f, 1, ty, ty, Check::Number)));
        all.extend(
            APPROXIMATE.iter().map(|(name, f)| Operation::glsl(name, f.arity(), ty, ty, approximate(*f, ty))),
        );
    }
    all.extend(FORMULAS.iter().flat_map(|&(f, n)| formula(f, &vec![ty; n], ty)));
    all
}

fn approximate(f: MathFn, ty: Ty) -> Check {
    // An f16 is computed as an f32, whose error is next to nothing then.
    Check::Ulps(if ty.scalar == Scalar::F16 { 0.51 } else { f.max_ulp() })
}

/// A function without contraction, and on small numbers with it.
fn formula(name: &'static str, operands: &[Ty], result: Ty) -> [Operation; 2] {
    let make = |exact: bool| {
        let emit = move |shader: &mut Shader, ids: &[String]| {
            let ty = shader.ty(result);
            let id = shader.op(&format!("OpExtInst {ty} %glsl {name} {}", ids.join(" ")));
            if exact {
                shader.decorate(&id, "NoContraction");
            }
            vec![id]
        };
        let domain = if exact { Domain::Any } else { Domain::Small };
        Operation {
            name: format!("{name}{}", if exact { " exact" } else { "" }),
            operands: operands.iter().map(|ty| (*ty, domain)).collect(),
            results: vec![result],
            check: Check::Number,
            emit: Arc::new(emit),
        }
    };
    [make(true), make(false)]
}

fn geometry(ty: Ty) -> Vec<Operation> {
    let part = Ty::scalar(ty.scalar);
    let mut all = Vec::new();
    for (name, n, is_scalar) in GEOMETRY {
        all.extend(formula(name, &vec![ty; n], if is_scalar { part } else { ty }));
    }
    // Its root is no whole number, so only the exact form has one result.
    let [exact, _] = formula("Refract", &[ty, ty, part], ty);
    all.push(exact);
    if ty.n == 3 {
        all.extend(formula("Cross", &[ty, ty], ty));
    }
    all
}

/// *ModfStruct*, *FrexpStruct*, both with a pointer, and *Ldexp*.
fn split(ty: Ty) -> Vec<Operation> {
    let exponent = Ty::new(Scalar::I32, ty.n);
    let of = |name: &'static str, second: Ty, pointer: bool| {
        let emit = move |shader: &mut Shader, ids: &[String]| {
            let types = [shader.ty(ty), shader.ty(second)];
            if pointer {
                let variable = shader.local(second);
                let first = shader.op(&format!("OpExtInst {} %glsl {name} {} {variable}", types[0], ids[0]));
                return vec![first, shader.op(&format!("OpLoad {} {variable}", types[1]))];
            }
            let pair = shader
                .global(&format!("%split_{ty}_{second}"), &format!("OpTypeStruct {} {}", types[0], types[1]));
            let both = shader.op(&format!("OpExtInst {pair} %glsl {name} {}", ids[0]));
            let part = |i: usize| format!("OpCompositeExtract {} {both} {i}", types[i]);
            vec![shader.op(&part(0)), shader.op(&part(1))]
        };
        Operation {
            name: name.to_owned(),
            operands: vec![(ty, Domain::Any)],
            results: vec![ty, second],
            check: Check::Number,
            emit: Arc::new(emit),
        }
    };
    let mut all = vec![of("ModfStruct", ty, false), of("FrexpStruct", exponent, false)];
    all.extend([of("Modf", ty, true), of("Frexp", exponent, true)]);
    for scalar in INTEGERS {
        let power = Ty::new(scalar, ty.n);
        let ldexp = Operation::instruction("OpExtInst $R %glsl Ldexp $0 $1", &[ty, power], ty, Check::Number);
        all.push(ldexp.clone());
        all.push(ldexp.domain(1, Domain::Small));
    }
    all
}

/// Numbers packed into a word, and taken out of it.
pub(super) fn packing() -> Vec<Case> {
    let (word, pair) = (Ty::scalar(Scalar::I32), Ty::new(Scalar::I32, 2));
    let (f2, f4, double) = (Ty::new(Scalar::F32, 2), Ty::new(Scalar::F32, 4), Ty::scalar(Scalar::F64));
    let pack = [
        ("PackSnorm4x8", f4, word),
        ("PackUnorm4x8", f4, word),
        ("PackSnorm2x16", f2, word),
        ("PackUnorm2x16", f2, word),
        ("PackHalf2x16", f2, word),
        ("PackDouble2x32", pair, double),
        ("UnpackSnorm4x8", word, f4),
        ("UnpackUnorm4x8", word, f4),
        ("UnpackSnorm2x16", word, f2),
        ("UnpackUnorm2x16", word, f2),
        ("UnpackHalf2x16", word, f2),
        ("UnpackDouble2x32", double, pair),
    ];
    let all = pack.map(|(name, from, to)| {
        // The bits of an f16 NaN in a word are as unspecified as its payload.
        let check = if name == "PackHalf2x16" { Check::Halves } else { Check::Number };
        Operation::glsl(name, 1, from, to, check)
    });
    all.iter().flat_map(|o| o.cases(&sources(1)).collect::<Vec<_>>()).collect()
}

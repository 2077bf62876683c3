//! Every element-wise operation on every type, on edge values and random ones, against `eval`, in
//! vectors and in scalars.

use crate::kernel::{Case, Ext, Kernel, Random, Tolerance, pack};
use phalanx_ir::{
    BinaryOp as B, Builder, Builtin, CompareOp as C, ConvertKind as K, ConvertOp, Op, Rounding, Scalar,
    UnaryOp as U, Value,
};

const INTS: [Scalar; 4] = [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64];
const FLOATS: [Scalar; 3] = [Scalar::F16, Scalar::F32, Scalar::F64];
const NARROW: [Scalar; 3] = [Scalar::BF16, Scalar::E4M3, Scalar::E5M2];

const LANES: u32 = 32;

/// Edge values of a type, then random ones, as many as asked for.
fn samples(ty: Scalar, count: usize, seed: u64) -> Vec<u64> {
    let sign = 1u64 << (ty.bits() - 1);
    let mut values = vec![0, 1, 2, 3, 5, 7, ty.mask() >> 2, (ty.mask() >> 1) - 1, ty.mask() >> 1];
    if ty.is_float() {
        let reals = [1.0, 0.5, 1.5, 2.5, 3.0, 1e-3, 100.3, 448.0, 464.0, 57344.0, 65504.0, 65520.0, 1e10];
        values.extend(reals.map(|x| eval_bits(ty, x)));
        values.extend([f64::INFINITY, f64::NAN, 2f64.powi(-24), 2f64.powi(-149)].map(|x| eval_bits(ty, x)));
    }
    let signed: Vec<u64> = values.iter().flat_map(|&v| [v & (sign - 1), v & (sign - 1) | sign]).collect();
    let mut random = Random(seed);
    let mut all: Vec<u64> = (0..count)
        .map(|i| match i {
            _ if i < signed.len() => signed[i],
            _ if random.below(3) == 0 => signed[random.below(signed.len() as u64) as usize],
            // Floats of moderate size, so that operations on two of them are interesting.
            _ if ty.is_float() && random.below(2) == 0 => {
                eval_bits(ty, (random.next() as i64 as f64) * 2f64.powi(-60 + random.below(12) as i32))
            }
            _ if random.below(4) == 0 => random.below(100),
            _ => random.next(),
        })
        .collect();
    all.iter_mut().for_each(|x| *x &= ty.mask());
    all
}

fn eval_bits(ty: Scalar, x: f64) -> u64 {
    phalanx_ir::eval::from_f64(ty, x)
}

/// An operation on scalars.
type Emit = Box<dyn Fn(&mut Builder<'_>, &[Value]) -> Value>;

/// Operations on operands of the same types, which are tried together: to compile one module is
/// what takes the time.
struct Batch {
    types: Vec<Scalar>,
    /// Type of each result, how far off it may be, and the operation.
    ops: Vec<(Scalar, u64, Emit)>,
}

impl Batch {
    fn new(types: &[Scalar]) -> Self {
        Self { types: types.to_vec(), ops: Vec::new() }
    }

    fn add(&mut self, to: Scalar, ulps: u64, emit: impl Fn(&mut Builder<'_>, &[Value]) -> Value + 'static) {
        self.ops.push((to, ulps, Box::new(emit)));
    }

    /// Applies each operation to 256 inputs: once on vectors, and once on operands that are uniform.
    fn check(&self) {
        const GROUPS: u32 = 8;
        let count = (GROUPS * LANES) as usize;
        let inputs: Vec<Vec<u8>> = (0u64..)
            .zip(&self.types)
            .map(|(k, &ty)| {
                let mut values = samples(ty, count, k + 7);
                // Pair edge values with each other in many ways.
                values.rotate_left([0, 1, 37][k as usize]);
                pack(ty, values)
            })
            .collect();
        for uniform in [false, true] {
            let module = self.module(uniform);
            let mut buffers: Vec<_> =
                self.ops.iter().map(|(to, ..)| vec![0; count * in_memory(*to).bytes() as usize]).collect();
            buffers.extend(inputs.clone());
            let tolerances = self.ops.iter().map(|&(to, ulps, _)| tolerance(to, ulps)).collect();
            let groups = if uniform { GROUPS * LANES } else { GROUPS };
            Case { groups: [groups, 1, 1], tolerances, ..Case::new(&module, buffers) }.check();
        }
    }

    fn module(&self, uniform: bool) -> phalanx_ir::Verified {
        let bindings = self.ops.len() + self.types.len();
        Kernel::new(LANES, [LANES, 1, 1]).bindings(bindings as u32).body(|b| {
            let i = b.builtin(match uniform {
                true => Builtin::WorkgroupId(0),
                false => Builtin::GlobalInvocationId(0),
            });
            let args: Vec<_> = (self.ops.len()..)
                .zip(&self.types)
                .map(|(k, &ty)| {
                    let p = b.at(k, i, ty.bytes().into());
                    b.load(p, ty)
                })
                .collect();
            for (k, (.., emit)) in self.ops.iter().enumerate() {
                let result = emit(b, &args);
                b.put(k, i, result);
            }
        })
    }
}

fn in_memory(ty: Scalar) -> Scalar {
    if ty == Scalar::Bool { Scalar::I32 } else { ty }
}

fn tolerance(ty: Scalar, ulps: u64) -> Tolerance {
    if ty.is_float() { Tolerance::Ulp(ty, ulps) } else { Tolerance::Exact }
}

#[test]
fn integer_operations() {
    let unary = [
        U::Ineg,
        U::Not,
        U::BitReverse,
        U::BitCount,
        U::FindLsb,
        U::FindSMsb,
        U::FindUMsb,
        U::Sabs,
        U::Ssign,
    ];
    let binary = [
        B::Iadd,
        B::Isub,
        B::Imul,
        B::Sdiv,
        B::Udiv,
        B::Srem,
        B::Smod,
        B::Umod,
        B::SmulHi,
        B::UmulHi,
        B::Smin,
        B::Smax,
        B::Umin,
        B::Umax,
        B::And,
        B::Or,
        B::Xor,
    ];
    for ty in INTS {
        let mut batch = Batch::new(&[ty, ty]);
        for op in unary {
            batch.add(ty, 0, move |b, x| b.unary(op, x[0]));
        }
        for op in binary {
            batch.add(ty, 0, move |b, x| b.binary(op, x[0], x[1]));
        }
        for op in [C::Ieq, C::Ine, C::Slt, C::Sle, C::Ult, C::Ule] {
            batch.add(Scalar::Bool, 0, move |b, x| b.compare(op, x[0], x[1]));
        }
        batch.check();
        for count in INTS {
            let mut batch = Batch::new(&[ty, count]);
            for op in [B::Shl, B::Lshr, B::Ashr] {
                batch.add(ty, 0, move |b, x| b.binary(op, x[0], x[1]));
            }
            batch.check();
        }
    }
}

/// Divisors that are known.
#[test]
fn division_by_constants() {
    for ty in INTS {
        let mut batch = Batch::new(&[ty]);
        for divisor in [0, 1, 3, 7, 64, ty.mask(), 1 << (ty.bits() - 1)] {
            for op in [B::Sdiv, B::Udiv, B::Srem, B::Smod, B::Umod] {
                batch.add(ty, 0, move |b, x| {
                    let y = b.constant(ty, divisor);
                    b.binary(op, x[0], y)
                });
            }
        }
        batch.check();
    }
}

#[test]
fn float_operations() {
    let unary = [U::Fneg, U::Fabs, U::Fsign, U::Floor, U::Ceil, U::Trunc, U::RoundEven, U::Fract, U::Sqrt];
    let compare =
        [C::FordEq, C::FordNe, C::FordLt, C::FordLe, C::FunordEq, C::FunordNe, C::FunordLt, C::FunordLe];
    for ty in FLOATS {
        let mut batch = Batch::new(&[ty, ty, ty]);
        for op in unary {
            batch.add(ty, 0, move |b, x| b.unary(op, x[0]));
        }
        batch.add(ty, 2, |b, x| b.unary(U::InverseSqrt, x[0]));
        for op in [U::IsNan, U::IsInf] {
            batch.add(Scalar::Bool, 0, move |b, x| b.unary(op, x[0]));
        }
        for op in [B::Fadd, B::Fsub, B::Fmul, B::Fdiv, B::Fmin, B::Fmax, B::Fmod] {
            batch.add(ty, 0, move |b, x| b.binary(op, x[0], x[1]));
        }
        for op in compare {
            batch.add(Scalar::Bool, 0, move |b, x| b.compare(op, x[0], x[1]));
        }
        batch.add(ty, 0, move |b, x| b.value(Op::Fma, &[x[0], x[1], x[2]], ty.into()));
        batch.check();
        let mut batch = Batch::new(&[ty, Scalar::I32, Scalar::I8]);
        batch.add(ty, 0, |b, x| b.binary(B::Ldexp, x[0], x[1]));
        batch.add(ty, 0, |b, x| {
            let n = b.convert(K::SToS, x[2], Scalar::I32);
            b.binary(B::Ldexp, x[0], n)
        });
        batch.check();
    }
}

#[test]
fn transcendental_functions() {
    let unary = [
        U::Sin,
        U::Cos,
        U::Tan,
        U::Asin,
        U::Acos,
        U::Atan,
        U::Sinh,
        U::Cosh,
        U::Tanh,
        U::Asinh,
        U::Acosh,
        U::Atanh,
        U::Exp,
        U::Exp2,
        U::Log,
        U::Log2,
    ];
    for ty in [Scalar::F16, Scalar::F32] {
        let mut batch = Batch::new(&[ty, ty]);
        for op in unary {
            batch.add(ty, 4, move |b, x| b.unary(op, x[0]));
        }
        for op in [B::Pow, B::Atan2, B::Frem] {
            batch.add(ty, 4, move |b, x| b.binary(op, x[0], x[1]));
        }
        batch.check();
    }
}

#[test]
fn conversions_from_integers() {
    for from in INTS {
        let mut batch = Batch::new(&[from]);
        for to in INTS {
            for kind in [K::SToS, K::UToU] {
                batch.add(to, 0, move |b, x| b.convert(kind, x[0], to));
            }
        }
        for to in FLOATS.into_iter().chain(NARROW) {
            for kind in [K::SToF, K::UToF] {
                for rounding in [Rounding::NearestEven, Rounding::TowardZero] {
                    let op = ConvertOp { rounding, ..ConvertOp::new(kind) };
                    batch.add(to, 0, move |b, x| b.value(Op::Convert(op), x, to.into()));
                }
            }
        }
        batch.check();
    }
}

#[test]
fn conversions_from_floats() {
    for from in FLOATS.into_iter().chain(NARROW) {
        let mut batch = Batch::new(&[from]);
        for to in INTS {
            for kind in [K::FToS, K::FToU] {
                batch.add(to, 0, move |b, x| b.convert(kind, x[0], to));
            }
        }
        for to in FLOATS.into_iter().chain(NARROW) {
            for rounding in [Rounding::NearestEven, Rounding::TowardZero] {
                for saturate in [false, true] {
                    if !saturate || to.bits() == 8 {
                        let op = ConvertOp { kind: K::FToF, rounding, saturate };
                        batch.add(to, 0, move |b, x| b.value(Op::Convert(op), x, to.into()));
                    }
                }
            }
        }
        batch.check();
    }
}

#[test]
fn bits_and_choices() {
    for (from, to) in [
        (Scalar::F16, Scalar::I16),
        (Scalar::I16, Scalar::BF16),
        (Scalar::F32, Scalar::I32),
        (Scalar::I64, Scalar::F64),
        (Scalar::I8, Scalar::E4M3),
    ] {
        let mut batch = Batch::new(&[Scalar::I32, from, from]);
        batch.add(from, 0, |_, x| x[1]);
        batch.add(to, 0, move |b, x| b.value(Op::Bitcast, &x[1..2], to.into()));
        batch.add(from, 0, |b, x| {
            let zero = b.i32(0);
            let c = b.compare(C::Slt, x[0], zero);
            b.select(c, x[1], x[2])
        });
        batch.check();
    }
    let mut batch = Batch::new(&[Scalar::I32, Scalar::I32]);
    batch.add(Scalar::Bool, 0, |b, x| {
        let zero = b.i32(0);
        let (p, q) = (b.compare(C::Slt, x[0], zero), b.compare(C::Slt, x[1], zero));
        let not = b.unary(U::Not, p);
        let (and, or) = (b.binary(B::And, not, q), b.binary(B::Or, p, q));
        let xor = b.binary(B::Xor, and, or);
        let equal = b.compare(C::Ieq, xor, p);
        b.select(equal, q, xor)
    });
    batch.check();
}

/// `exact` keeps a product and a sum apart; without it they may be one.
#[test]
fn contraction_is_optional() {
    let fused = |b: &mut Builder<'_>, x: &[Value], exact: bool| {
        b.exact = exact;
        let product = b.binary(B::Fmul, x[0], x[1]);
        let sum = b.binary(B::Fadd, product, x[2]);
        b.exact = false;
        sum
    };
    let positive = |b: &mut Builder<'_>, x: Value| {
        let (low, high) = (1e-3f32, 1e3f32);
        let [low, high] = [low, high].map(|x| b.constant(Scalar::F32, x.to_bits().into()));
        let magnitude = b.unary(U::Fabs, x);
        let magnitude = b.binary(B::Fmin, magnitude, high);
        b.binary(B::Fmax, magnitude, low)
    };
    let mut batch = Batch::new(&[Scalar::F32; 3]);
    batch.add(Scalar::F32, 0, move |b, x| fused(b, x, true));
    batch.add(Scalar::F32, 1, move |b, x| {
        let x: Vec<_> = x.iter().map(|&x| positive(b, x)).collect();
        fused(b, &x, false)
    });
    batch.check();
}

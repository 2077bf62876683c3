//! The transcendental functions as LLVM compiles them for this machine, against `f64`.
//!
//! They are the algorithms of `phalanx_kernels::math`, so the bounds of their errors are those of that table; scalars and
//! vectors give the same bits.

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::execution_engine::{ExecutionEngine, JitFunction};
use phalanx_emit_llvm::{Caps, Emit, V};
use phalanx_ir::{BinaryOp, Scalar, UnaryOp};
use phalanx_kernels::math::MathFn;

/// Reads operands from two places and writes what an operation makes of them to a third.
type Entry = unsafe extern "C" fn(*const f32, *const f32, *mut f32);

const LANES: usize = 4;

#[derive(Clone, Copy)]
enum Op {
    One(UnaryOp),
    Two(BinaryOp),
}

const OPS: [(MathFn, Op); 19] = [
    (MathFn::Sin, Op::One(UnaryOp::Sin)),
    (MathFn::Cos, Op::One(UnaryOp::Cos)),
    (MathFn::Tan, Op::One(UnaryOp::Tan)),
    (MathFn::Asin, Op::One(UnaryOp::Asin)),
    (MathFn::Acos, Op::One(UnaryOp::Acos)),
    (MathFn::Atan, Op::One(UnaryOp::Atan)),
    (MathFn::Atan2, Op::Two(BinaryOp::Atan2)),
    (MathFn::Sinh, Op::One(UnaryOp::Sinh)),
    (MathFn::Cosh, Op::One(UnaryOp::Cosh)),
    (MathFn::Tanh, Op::One(UnaryOp::Tanh)),
    (MathFn::Asinh, Op::One(UnaryOp::Asinh)),
    (MathFn::Acosh, Op::One(UnaryOp::Acosh)),
    (MathFn::Atanh, Op::One(UnaryOp::Atanh)),
    (MathFn::Exp, Op::One(UnaryOp::Exp)),
    (MathFn::Exp2, Op::One(UnaryOp::Exp2)),
    (MathFn::Log, Op::One(UnaryOp::Log)),
    (MathFn::Log2, Op::One(UnaryOp::Log2)),
    (MathFn::Pow, Op::Two(BinaryOp::Pow)),
    (MathFn::Frem, Op::Two(BinaryOp::Frem)),
];

fn caps(fma: bool) -> Caps {
    Caps {
        // Vectors are then taken by registers, of which they have several.
        is_x86: cfg!(target_arch = "x86_64"),
        native_f16: false,
        f16_conversion: false,
        fma,
        mask_registers: false,
        vnni: false,
        register_bytes: 4,
    }
}

/// Makes code of an operation on scalars, or on vectors.
fn engine<'c>(cx: &'c Context, fma: bool, op: Op, s: Scalar, is_vector: bool) -> ExecutionEngine<'c> {
    let mut e = Emit::new(cx, "test", caps(fma));
    let ptr = e.ptr_ty().into();
    let function = e.module.add_function("f", cx.void_type().fn_type(&[ptr, ptr, ptr], false), None);
    let block = e.new_block(function, "entry");
    e.b.position_at_end(block);
    let at = |i| function.get_nth_param(i).expect("there are three").into_pointer_value();
    let elem = e.scalar_ty(s);
    let ty = if is_vector { e.vec_of(elem, LANES as u32).into() } else { elem };
    let load =
        |e: &Emit<'c>, i| -> V<'c> { e.load(ty, at(i), s.bytes()).expect("the builder is at a block") };
    let (x, y) = (load(&e, 0), load(&e, 1));
    let z = match op {
        Op::One(op) => e.unary(op, s, x, true),
        Op::Two(op) => e.binary(op, s, x, y, true),
    };
    e.store(z.expect("it is supported"), at(2), s.bytes()).expect("the builder is at a block");
    e.b.build_return(None).expect("the builder is at a block");
    e.module.verify().expect("LLVM takes the module");
    e.module.create_jit_execution_engine(OptimizationLevel::Less).expect("there is a JIT for this machine")
}

fn entry<'c>(engine: &ExecutionEngine<'c>) -> JitFunction<'c, Entry> {
    // SAFETY: `engine` made a function of this type and name.
    unsafe { engine.get_function("f") }.expect("it is in the module")
}

/// The exact value, nearly.
fn reference(function: MathFn, x: f64, y: f64) -> f64 {
    match function {
        MathFn::Sin => x.sin(),
        MathFn::Cos => x.cos(),
        MathFn::Tan => x.tan(),
        MathFn::Asin => x.asin(),
        MathFn::Acos => x.acos(),
        MathFn::Atan => x.atan(),
        MathFn::Atan2 => x.atan2(y),
        MathFn::Sinh => x.sinh(),
        MathFn::Cosh => x.cosh(),
        MathFn::Tanh => x.tanh(),
        MathFn::Asinh => x.asinh(),
        MathFn::Acosh => x.acosh(),
        MathFn::Atanh => x.atanh(),
        MathFn::Exp => x.exp(),
        MathFn::Exp2 => x.exp2(),
        MathFn::Log => x.ln(),
        MathFn::Log2 => x.log2(),
        MathFn::Pow => x.powf(y),
        _ => x % y,
    }
}

/// The distance of `got` from `exact` in units of the last place of an `f32`; infinite for a wrong kind of value.
fn ulp_error(got: f32, exact: f64) -> f64 {
    if got.is_nan() || exact.is_nan() {
        return if got.is_nan() && exact.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if exact == 0.0 && (got != 0.0 || got.is_sign_negative() != exact.is_sign_negative()) {
        return f64::INFINITY;
    }
    // Infinity stands where the next number would, unless it is exact.
    let top = 2.0_f64.powi(128);
    if exact.is_infinite() {
        return if f64::from(got) == exact { 0.0 } else { f64::INFINITY };
    }
    let got = if got.is_infinite() { top.copysign(f64::from(got)) } else { f64::from(got) };
    let exact = exact.clamp(-top, top);
    let exponent = ((exact.abs().to_bits() >> 52) as i32 - 1023).clamp(-126, 127);
    (got - exact).abs() / 2.0_f64.powi(exponent - 23)
}

/// Where something changes, and the neighbours of that.
fn edges() -> Vec<f32> {
    let bases = [
        0.0,
        f32::from_bits(2),
        f32::MIN_POSITIVE,
        1e-20,
        1.0 / 4096.0,
        0.25,
        0.5,
        0.625,
        std::f32::consts::FRAC_1_SQRT_2,
        std::f32::consts::FRAC_PI_4,
        1.0,
        std::f32::consts::SQRT_2,
        std::f32::consts::FRAC_PI_2,
        2.0,
        3.0,
        std::f32::consts::PI,
        9.0,
        10.0,
        88.72284,
        90.0,
        103.97208,
        127.0,
        128.0,
        149.0,
        151.0,
        4194304.0,
        8388608.0,
        16777216.0,
        134217728.0,
        16367173.0 * 4096.0,
        1e20,
        f32::MAX,
    ];
    let near = bases.iter().flat_map(|base: &f32| {
        (-2..=2).map(|step| f32::from_bits(base.to_bits().saturating_add_signed(step)))
    });
    let all: Vec<f32> = near.chain([f32::INFINITY, f32::NAN]).collect();
    all.iter().flat_map(|&x| [x, -x]).collect()
}

/// xorshift64*: enough to scatter arguments.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }

    /// Uniform in `low..high`.
    fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.bits() as f32 / 4_294_967_296.0)
    }
}

/// Arguments: edges with each other, every exponent, and the range where most work is done.
fn samples(function: MathFn) -> Vec<(f32, f32)> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ function as u64);
    let edges = edges();
    let mut all: Vec<(f32, f32)> = Vec::new();
    if function.arity() == 2 {
        all.extend(edges.iter().flat_map(|&x| edges.iter().map(move |&y| (x, y))));
    }
    all.extend(edges.iter().map(|&x| (x, 1.5)));
    for bits in (0..u32::MAX - 99_991).step_by(99_991) {
        all.push((f32::from_bits(bits), f32::from_bits(random.bits())));
    }
    for _ in 0..20_000 {
        all.push((random.between(-1.0, 1.0), random.between(-1.0, 1.0)));
        all.push((random.between(-10.0, 10.0), random.between(-10.0, 10.0)));
        all.push((random.between(-110.0, 110.0), random.between(-40.0, 40.0).round()));
        all.push((random.between(1.0, 2e6), random.between(-30.0, 30.0)));
        all.push((random.between(0.4, 2.5), random.between(-150.0, 150.0)));
    }
    all.truncate(all.len() / LANES * LANES);
    all
}

/// Checks an operation on all samples; gives the worst of its errors beyond the bound.
fn check(function: MathFn, op: Op, fma: bool) -> Option<String> {
    let cx = Context::create();
    let scalar = engine(&cx, fma, op, Scalar::F32, false);
    let scalar = entry(&scalar);
    let has_vectors = function != MathFn::Frem;
    let vector_engine = has_vectors.then(|| engine(&cx, fma, op, Scalar::F32, true));
    let vector = vector_engine.as_ref().map(entry);
    let (mut error, mut place) = (0.0, String::new());
    for group in samples(function).chunks(LANES) {
        let [x, y]: [[f32; LANES]; 2] =
            [std::array::from_fn(|i| group[i].0), std::array::from_fn(|i| group[i].1)];
        let mut one_by_one = [0.0; LANES];
        for i in 0..LANES {
            // SAFETY: it reads and writes one element of each.
            unsafe { scalar.call(&raw const x[i], &raw const y[i], &raw mut one_by_one[i]) };
        }
        if let Some(vector) = &vector {
            let mut together = [0.0_f32; LANES];
            // SAFETY: it reads and writes all elements of each.
            unsafe { vector.call(x.as_ptr(), y.as_ptr(), together.as_mut_ptr()) };
            for (a, b) in one_by_one.iter().zip(together) {
                let are_same = a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
                assert!(are_same, "{} of {x:?} {y:?}: {one_by_one:?} and {together:?}", function.name());
            }
        }
        for i in 0..LANES {
            let exact = reference(function, x[i].into(), y[i].into());
            let this = ulp_error(one_by_one[i], exact);
            if this > error {
                error = this;
                place = format!("({:e}, {:e}): got {:e}, exact {exact:e}", x[i], y[i], one_by_one[i]);
            }
        }
    }
    (error > function.max_ulp()).then(|| format!("{}, fused {fma}: {error} ULP at {place}", function.name()))
}

#[test]
fn errors_stay_within_the_bounds_of_the_kernels() {
    let failures: Vec<String> = OPS.iter().filter_map(|&(function, op)| check(function, op, true)).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn two_roundings_are_enough() {
    let failures: Vec<String> = OPS.iter().filter_map(|&(function, op)| check(function, op, false)).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn remainders_of_f64_are_exact_however_large_the_quotient() {
    let cx = Context::create();
    let engine = engine(&cx, true, Op::Two(BinaryOp::Frem), Scalar::F64, false);
    let entry = entry(&engine);
    let mut values = vec![0.0, 1.0, 3.0, 0.1, 1e15, 1e300, f64::MAX, f64::MIN_POSITIVE, 5e-324, 7e-310];
    values.extend([f64::INFINITY, f64::NAN, 1.0 + f64::EPSILON, 9_007_199_254_740_993.0]);
    let values: Vec<f64> = values.into_iter().flat_map(|x| [x, -x]).collect();
    for (&x, &y) in values.iter().flat_map(|x| values.iter().map(move |y| (x, y))) {
        let mut got = 0.0_f64;
        // SAFETY: the code was made for `f64`, of which each is one.
        unsafe { entry.call((&raw const x).cast(), (&raw const y).cast(), (&raw mut got).cast()) };
        let exact = x % y;
        let are_same = got.to_bits() == exact.to_bits() || got.is_nan() && exact.is_nan();
        assert!(are_same, "{x:e} % {y:e}: {got:e}, exact {exact:e}");
    }
}

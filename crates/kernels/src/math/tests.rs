//! Every function at every level this processor has, against the standard library in `f64`, and against C's
//! special values.

use super::{BinaryFn, MathFn, MathLevel, UnaryFn, address, binary, double, table, ternary, unary};
use std::num::NonZero;
use std::sync::Mutex;

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
        MathFn::Frem => x % y,
        // It has a third argument, and tests of its own.
        MathFn::Fma | MathFn::Frem64 => f64::NAN,
        MathFn::Fmod => {
            let rest = x % y;
            if rest == 0.0 {
                0.0_f64.copysign(y)
            } else if rest.is_sign_negative() == y.is_sign_negative() {
                rest
            } else {
                rest + y
            }
        }
    }
}

/// The distance of `got` from `exact` in units of the last place of an `f32` near `exact`; infinite for a
/// wrong kind of value.
fn ulp_error(got: f32, exact: f64) -> f64 {
    if got.is_nan() || exact.is_nan() {
        return if got.is_nan() && exact.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got == exact as f32 {
        // A zero of the wrong sign counts as a wrong kind, unless the exact value only underflows to one.
        let wrong = exact == 0.0 && got.is_sign_negative() != exact.is_sign_negative();
        if wrong {
            return f64::INFINITY;
        }
        if got.is_infinite() {
            return 0.0;
        }
    }
    if exact.is_infinite() {
        return f64::INFINITY;
    }
    // Infinity stands where the next number would.
    let top = 2.0_f64.powi(128);
    let got = if got.is_infinite() { top.copysign(f64::from(got)) } else { f64::from(got) };
    let exact = exact.clamp(-top, top);
    let exponent = ((exact.abs().to_bits() >> 52) as i32 - 1023).clamp(-126, 127);
    (got - exact).abs() / 2.0_f64.powi(exponent - 23)
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

/// Values where something changes, and all their neighbours.
fn edges() -> Vec<f32> {
    let mut values = vec![f32::NAN, -f32::NAN, f32::INFINITY, 0.0];
    let bases = [
        f32::from_bits(1),
        f32::MIN_POSITIVE,
        f32::MAX,
        f32::EPSILON,
        1e-20,
        1e20,
        0.1,
        0.25,
        0.3,
        0.5,
        0.625,
        0.7,
        0.75,
        std::f32::consts::FRAC_1_SQRT_2,
        1.0,
        std::f32::consts::SQRT_2,
        1.5,
        2.0,
        2.5,
        3.0,
        4.0,
        5.0,
        7.5,
        9.0,
        10.0,
        16.0,
        31.0,
        64.0,
        87.33655,
        88.02969,
        88.72284,
        89.4,
        90.0,
        100.0,
        103.97208,
        104.0,
        126.0,
        127.0,
        128.0,
        129.0,
        149.0,
        150.0,
        151.0,
        1000.0,
        1e9,
        33554432.0,
        16777216.0,
        8388608.0,
        4194304.0,
        134217728.0,
        268435456.0,
        std::f32::consts::FRAC_PI_4,
        std::f32::consts::FRAC_PI_2,
        3.0 * std::f32::consts::FRAC_PI_4,
        std::f32::consts::PI,
        std::f32::consts::TAU,
        11.0,
        355.0,
        16367173.0 * 4096.0,
        std::f32::consts::LN_2,
        std::f32::consts::LN_10,
        1.0 / 4096.0,
    ];
    for base in bases {
        for step in -2..=2 {
            values.push(f32::from_bits(base.to_bits().saturating_add_signed(step)));
        }
    }
    values.iter().flat_map(|v| [*v, -*v]).collect()
}

/// Edges, every exponent with a few mantissas, and points in the range where most work is done.
fn samples(function: MathFn, random: &mut Random) -> Vec<f32> {
    let mut values = edges();
    for bits in (0..u32::MAX - 9_973).step_by(19_937) {
        values.push(f32::from_bits(bits));
    }
    let (low, high) = match function {
        MathFn::Asin | MathFn::Acos | MathFn::Atanh => (-1.0, 1.0),
        MathFn::Log | MathFn::Log2 => (0.4, 2.5),
        MathFn::Acosh => (1.0, 4.0),
        MathFn::Exp | MathFn::Exp2 | MathFn::Sinh | MathFn::Cosh => (-110.0, 110.0),
        _ => (-10.0, 10.0),
    };
    for _ in 0..100_000 {
        values.push(random.between(low, high));
    }
    for _ in 0..50_000 {
        values.push(f32::from_bits(random.bits()));
        values.push(random.between(-2_000_000.0, 2_000_000.0));
    }
    values.truncate(values.len() & !3);
    values
}

/// Pairs: all pairs of edges, random bits, and ordinary numbers.
fn pairs(function: MathFn, random: &mut Random) -> (Vec<f32>, Vec<f32>) {
    let mut pairs = Vec::new();
    let edges = edges();
    for x in &edges {
        pairs.extend(edges.iter().map(|y| (*x, *y)));
    }
    for _ in 0..100_000 {
        pairs.push((f32::from_bits(random.bits()), f32::from_bits(random.bits())));
        pairs.push((random.between(-10.0, 10.0), random.between(-10.0, 10.0)));
        // For pow: results over the whole range of f32; for the remainders: quotients of every size.
        let x = random.between(-24.0, 24.0).exp2();
        let y = if function == MathFn::Pow {
            random.between(-160.0, 160.0) / x.log2()
        } else {
            random.between(-24.0, 24.0).exp2()
        };
        pairs.push((x, y));
        pairs.push((random.between(0.99, 1.01), random.between(-9000.0, 9000.0)));
        pairs.push((random.between(-20.0, 20.0), random.between(-40.0, 40.0).round()));
    }
    pairs.truncate(pairs.len() & !3);
    pairs.into_iter().unzip()
}

fn call_unary(entry: UnaryFn, x: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; x.len()];
    for (x, out) in x.chunks(512).zip(out.chunks_mut(512)) {
        // SAFETY: both have the length given, and the tests take entries of available levels only.
        unsafe { entry(x.len(), x.as_ptr(), out.as_mut_ptr()) };
    }
    out
}

fn call_binary(entry: BinaryFn, x: &[f32], y: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; x.len()];
    for ((x, y), out) in x.chunks(512).zip(y.chunks(512)).zip(out.chunks_mut(512)) {
        // SAFETY: all have the length given, and the tests take entries of available levels only.
        unsafe { entry(x.len(), x.as_ptr(), y.as_ptr(), out.as_mut_ptr()) };
    }
    out
}

fn available() -> impl Iterator<Item = MathLevel> {
    MathLevel::ALL.into_iter().filter(|level| level.is_available())
}

/// The functions of `f32`.
fn of_f32() -> impl Iterator<Item = MathFn> {
    MathFn::ALL.into_iter().filter(|function| !function.is_of_f64())
}

/// The worst error over `x` and `y` (empty for a unary function) at each level, with where it is.
fn worst(function: MathFn, x: &[f32], y: &[f32]) -> Vec<(MathLevel, f64, String)> {
    let second = |i: usize| y.get(i).copied().unwrap_or(0.0);
    let exact: Vec<f64> =
        (0..x.len()).map(|i| reference(function, f64::from(x[i]), f64::from(second(i)))).collect();
    let levels = available().map(|level| {
        let got = match function.arity() {
            1 => call_unary(unary(function, level).unwrap(), x),
            _ => call_binary(binary(function, level).unwrap(), x, y),
        };
        let (mut error, mut place) = (0.0, String::new());
        for i in 0..x.len() {
            let this = ulp_error(got[i], exact[i]);
            if this > error {
                error = this;
                place = format!("({:e}, {:e}): got {:e}, exact {:e}", x[i], second(i), got[i], exact[i]);
            }
        }
        (level, error, place)
    });
    levels.collect()
}

#[test]
fn errors_stay_within_the_documented_bounds() {
    let failures = Mutex::new(Vec::new());
    let check = |function: MathFn| {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ function as u64);
        let (x, y) = match function.arity() {
            1 => (samples(function, &mut random), Vec::new()),
            _ => pairs(function, &mut random),
        };
        for (level, error, place) in worst(function, &x, &y) {
            if error > function.max_ulp() {
                let failure = format!("{} {level:?}: {error} ULP at {place}", function.name());
                failures.lock().unwrap().push(failure);
            }
        }
    };
    // One thread of an emulator would take the time of all other tests together.
    let left = Mutex::new(of_f32());
    let next = || left.lock().unwrap().next();
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| std::iter::from_fn(next).for_each(check));
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Every length that leaves another rest, in place and apart, and nothing written beyond the end.
#[test]
fn lengths_and_aliases_make_no_difference() {
    let x: Vec<f32> = (0..600_u16).map(|i| f32::from(i) * 0.001 + 0.3).collect();
    let y: Vec<f32> = (0..600_u16).map(|i| 1.7 - f32::from(i) * 0.002).collect();
    for (function, level) in of_f32().flat_map(|f| available().map(move |level| (f, level))) {
        let unary = unary(function, level);
        let apart = match unary {
            Some(entry) => call_unary(entry, &x),
            None => call_binary(binary(function, level).unwrap(), &x, &y),
        };
        for n in (0..=72).chain([508, 512]) {
            let expect = |input: &[f32]| [&apart[..n], &input[n..]].concat();
            let same = |got: &[f32], input: &[f32]| {
                let equal = got.iter().zip(expect(input)).all(|(a, b)| a.to_bits() == b.to_bits());
                assert!(equal, "{} {level:?}, {n} elements", function.name());
            };
            let mut first = x.clone();
            let at = first.as_mut_ptr();
            match unary {
                // SAFETY: all 600 elements are there; in place is allowed.
                Some(entry) => unsafe { entry(n, at, at) },
                // SAFETY: as above.
                None => unsafe { binary(function, level).unwrap()(n, at, y.as_ptr(), at) },
            }
            same(&first, &x);
            if let Some(entry) = binary(function, level) {
                let mut second = y.clone();
                let at = second.as_mut_ptr();
                // SAFETY: as above.
                unsafe { entry(n, x.as_ptr(), at, at) };
                same(&second, &y);
            }
        }
    }
}

/// The arguments of a lane do not change its neighbours, even where one lane takes the path of huge
/// arguments.
#[test]
fn a_huge_argument_changes_its_lane_only() {
    for (function, level) in [MathFn::Sin, MathFn::Cos, MathFn::Tan]
        .into_iter()
        .flat_map(|f| available().map(move |level| (f, level)))
    {
        let entry = unary(function, level).unwrap();
        let small: Vec<f32> = (0..32_u8).map(|i| f32::from(i) * 0.37).collect();
        let mut mixed = small.clone();
        mixed[5] = 3e38;
        let (small, mixed) = (call_unary(entry, &small), call_unary(entry, &mixed));
        for lane in (0..32).filter(|lane| *lane != 5) {
            assert_eq!(
                small[lane].to_bits(),
                mixed[lane].to_bits(),
                "{} {level:?}, lane {lane}",
                function.name()
            );
        }
        assert!(ulp_error(mixed[5], reference(function, f64::from(3e38_f32), 0.0)) <= 1.0);
    }
}

/// Sums whose rounding is only right if nothing is rounded, overflows or underflows on the way there.
#[test]
fn fma_rounds_once() {
    let (tiny, max, ulp) = (f64::from_bits(1), f64::MAX, f64::EPSILON);
    let cases = [
        ([1.0 + ulp, 1.0 + ulp, -(1.0 + 2.0 * ulp)], ulp * ulp),
        ([3.0, 5.0, f64::INFINITY], f64::INFINITY),
        ([max, max, f64::NEG_INFINITY], f64::NEG_INFINITY),
        ([max, 2.0, -max], max),
        ([max, 1.0 + ulp, -max], max * ulp),
        ([tiny, 0.5, tiny], 2.0 * tiny),
        ([tiny, 0.25, tiny], tiny),
        ([1e-170, 1e-170, tiny], tiny),
        ([f64::MIN_POSITIVE, 0.5, 0.0], f64::MIN_POSITIVE / 2.0),
        ([-0.0, 1.0, -0.0], -0.0),
    ];
    for (level, (args, expected)) in available().flat_map(|level| cases.map(|case| (level, case))) {
        let mut x = args[0];
        let entry = ternary(MathFn::Fma, level).unwrap();
        // SAFETY: each argument is one element; the result may replace the first.
        unsafe { entry(1, &raw const x, &raw const args[1], &raw const args[2], &raw mut x) };
        assert_eq!(x.to_bits(), expected.to_bits(), "{level:?} {args:?}: {x:e}, expected {expected:e}");
    }
}

/// The remainder without division: the divisor, doubled while it fits, is taken away as it is halved again. Every
/// difference is exact.
fn remainder(x: f64, y: f64) -> f64 {
    let (mut rest, least) = (x.abs(), y.abs());
    if x.is_infinite() || least == 0.0 || x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    let mut part = least;
    while part <= rest / 2.0 {
        part *= 2.0;
    }
    while part >= least && least != f64::INFINITY {
        if rest >= part {
            rest -= part;
        }
        part /= 2.0;
    }
    rest.copysign(x)
}

#[test]
fn remainders_of_f64_are_exact_however_large_the_quotient() {
    let mut values = vec![0.0, 1.0, 3.0, 0.1, 1e15, 1e17, 1e300, f64::MAX, f64::MIN_POSITIVE, 5e-324, 7e-310];
    values.extend([f64::INFINITY, f64::NAN, 2.0 - f64::EPSILON, 1.0 + f64::EPSILON, 9_007_199_254_740_993.0]);
    let values: Vec<f64> = values.into_iter().flat_map(|x| [x, -x]).collect();
    for level in available() {
        let entry = double(MathFn::Frem64, level).unwrap();
        for (&x, &y) in values.iter().flat_map(|x| values.iter().map(move |y| (x, y))) {
            let (mut got, expected) = (x, remainder(x, y));
            // SAFETY: each argument is one element; the result may replace the first.
            unsafe { entry(1, &raw const got, &raw const y, &raw mut got) };
            let same = got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan();
            assert!(same, "{level:?} {x:e} % {y:e}: {got:e}, expected {expected:e}");
        }
    }
}

/// Stored code names functions by number: these may never change.
#[test]
fn numbers_are_stable() {
    let names: Vec<&str> = MathFn::ALL.iter().map(|f| f.name()).collect();
    let order = "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp exp2 log log2 pow frem fmod fma frem64";
    assert_eq!(names.join(" "), order);
    for (i, function) in MathFn::ALL.into_iter().enumerate() {
        assert_eq!(function as usize, i);
        for level in available() {
            assert_eq!(table(level)[i].address(), address(function, level));
        }
    }
}

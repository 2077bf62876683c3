//! Nanoseconds per element of every function of `phalanx_kernels::math` at every level this processor has,
//! beside the scalar function of the standard library; and, with `--accuracy STRIDE`, the worst error of the
//! unary functions over every STRIDE-th `f32`.
//!
//! `cargo run --release -p phalanx-kernels --example math_bench [-- ELEMENTS | -- --accuracy STRIDE]`
//!
//! ELEMENTS is how many a call gets: 32 by default, one variable of a sub-group. A function that the compiler
//! no longer vectorises shows as one that gains nothing from wider registers.
#![expect(clippy::print_stdout, reason = "the example's purpose is its table")]

use std::{hint::black_box, time::Instant};

use phalanx_kernels::math::{MathFn, MathLevel, binary, unary};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let levels: Vec<MathLevel> = MathLevel::ALL.into_iter().filter(|level| level.is_available()).collect();
    match arguments.first().map(String::as_str) {
        Some("--accuracy") => accuracy(&levels, number(arguments.get(1), 97)),
        _ => speed(&levels, number(arguments.first(), 32)),
    }
}

fn number(argument: Option<&String>, default: usize) -> usize {
    argument.and_then(|text| text.parse().ok()).filter(|n| *n > 0).unwrap_or(default)
}

/// The range of arguments that programs use.
fn range(function: MathFn) -> (f32, f32) {
    match function {
        MathFn::Asin | MathFn::Acos | MathFn::Atanh => (-0.99, 0.99),
        MathFn::Log | MathFn::Log2 | MathFn::Pow => (0.01, 100.0),
        MathFn::Acosh => (1.0, 100.0),
        _ => (-10.0, 10.0),
    }
}

/// The standard library's function for one element.
fn scalar(function: MathFn, x: f32, y: f32) -> f32 {
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
        // It is one of `f64`, and not measured.
        MathFn::Fma | MathFn::Frem64 => f32::NAN,
        MathFn::Fmod => x - y * (x / y).floor(),
    }
}

/// The same in `f64`, for functions of one argument.
fn exact(function: MathFn, x: f64) -> f64 {
    match function {
        MathFn::Sin => x.sin(),
        MathFn::Cos => x.cos(),
        MathFn::Tan => x.tan(),
        MathFn::Asin => x.asin(),
        MathFn::Acos => x.acos(),
        MathFn::Atan => x.atan(),
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
        MathFn::Atan2 | MathFn::Pow | MathFn::Frem | MathFn::Fmod | MathFn::Fma | MathFn::Frem64 => f64::NAN,
    }
}

/// The shortest of several timings of `work`, in nanoseconds per element.
fn time(elements: usize, mut work: impl FnMut()) -> f64 {
    let calls = 20_000_usize.div_ceil(elements);
    let mut best = f64::INFINITY;
    for _ in 0..40 {
        let start = Instant::now();
        for _ in 0..calls {
            work();
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / (calls * elements) as f64);
    }
    best
}

fn speed(levels: &[MathLevel], elements: usize) {
    println!("ns per element, {elements} elements a call");
    print!("{:8}", "");
    for level in levels {
        print!("{:>10}", format!("{level:?}"));
    }
    println!("{:>10}", "std");
    for function in MathFn::ALL.into_iter().filter(|function| !function.is_of_f64()) {
        let (low, high) = range(function);
        let x: Vec<f32> = (0..elements)
            .map(|i| low + (high - low) * ((i * 7919 % elements) as f32 + 0.3) / elements as f32)
            .collect();
        let y: Vec<f32> = (0..elements).map(|i| -3.1 + 6.0 * i as f32 / elements as f32).collect();
        let mut out = vec![0.0; elements];
        print!("{:8}", function.name());
        for level in levels {
            let best = if let Some(entry) = unary(function, *level) {
                // SAFETY: the arrays have the length given, and the level is available.
                time(elements, || unsafe {
                    entry(elements, black_box(x.as_ptr()), black_box(out.as_mut_ptr()))
                })
            } else if let Some(entry) = binary(function, *level) {
                let (x, y) = (x.as_ptr(), y.as_ptr());
                // SAFETY: as above.
                time(elements, || unsafe {
                    entry(elements, black_box(x), black_box(y), black_box(out.as_mut_ptr()))
                })
            } else {
                f64::NAN
            };
            print!("{best:10.2}");
        }
        let best = time(elements, || {
            let (x, y) = (black_box(&x), black_box(&y));
            for i in 0..elements {
                out[i] = scalar(function, x[i], y[i]);
            }
            black_box(&mut out);
        });
        println!("{best:10.2}");
    }
}

fn accuracy(levels: &[MathLevel], stride: usize) {
    for function in MathFn::ALL.into_iter().filter(|function| function.arity() == 1) {
        let mut worst = vec![(0.0, 0.0_f32); levels.len()];
        let mut bits = 0..=u32::MAX;
        loop {
            let x: Vec<f32> = bits.by_ref().step_by(stride).take(4096).map(f32::from_bits).collect();
            if x.is_empty() {
                break;
            }
            let exact: Vec<f64> = x.iter().map(|x| exact(function, f64::from(*x))).collect();
            let mut out = vec![0.0; x.len()];
            for (level, worst) in levels.iter().zip(&mut worst) {
                if let Some(entry) = unary(function, *level) {
                    // SAFETY: both arrays have the length given, and the level is available.
                    unsafe { entry(x.len(), x.as_ptr(), out.as_mut_ptr()) };
                }
                for ((x, got), exact) in x.iter().zip(&out).zip(&exact) {
                    // Infinities and NaN are for the tests; a finite result stands for the error here.
                    if exact.abs() < f64::from(f32::MAX) {
                        let exponent = ((exact.abs().to_bits() >> 52) as i32 - 1023).max(-126);
                        let error = (f64::from(*got) - exact).abs() / 2.0_f64.powi(exponent - 23);
                        if error.is_nan() || error > worst.0 {
                            *worst = (error, *x);
                        }
                    }
                }
            }
        }
        for (level, (error, x)) in levels.iter().zip(worst) {
            println!("{:8}{:>10}{error:8.4} ULP at {x:e}", function.name(), format!("{level:?}"));
        }
    }
}

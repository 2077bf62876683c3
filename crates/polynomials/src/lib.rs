//! The numbers of which the transcendental functions of shaders are made: coefficients of polynomials, constants in
//! parts, limits of arguments.
//!
//! The functions on arrays that compiled code calls (`kernels`) and those that are made in place (`emit-llvm`) are
//! one algorithm with these numbers, and have the same error. How an algorithm goes is told where it is.
//!
//! Polynomials are minimax fits made by `fit.py`, lowest power first. `x²` in a formula is the variable of a polynomial
//! with even or odd powers only.

#![no_std]
// Digits that a literal has beyond its type say what was rounded.
#![allow(clippy::excessive_precision, reason = "the constants are those of the fit, as it printed them")]

/// ln 2 in two parts, of which the first has ten bits: times any integer below 2^14 it is exact.
pub const LN2_PARTS: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
/// (e^x − 1 − x) / x² for |x| ≤ ½ ln 2.
pub const EXP: [f32; 5] = [0.49999994, 0.16666517, 0.041668102, 0.0083691925, 0.0013838903];
/// Beyond these e^x is infinite, or so far below the least denormal that processors do not take it for one: a product that is
/// rounded to a denormal, or to zero instead of one, takes some of them a hundred times as long as others.
pub const EXP_LIMITS: [f32; 2] = [-112.0, 89.0];
/// (2^x − 1) / x for |x| ≤ ½.
pub const EXP2: [f32; 6] = [0.69314724, 0.24022655, 0.055502728, 0.009617067, 0.0013417995, 0.00015819572];
/// Beyond these 2^x is infinite, or as far below the least denormal.
pub const EXP2_LIMITS: [f32; 2] = [-161.0, 129.0];
/// (2^x − 1) / x for |x| ≤ ½, with an error of 2^-31.
pub const EXP2_F64: [f64; 7] = [
    0.6931471838164462,
    0.24022650920760374,
    0.05550400376299886,
    0.009618056921591787,
    0.0013341950318982087,
    0.00015461367110136714,
    1.3359974342454492e-05,
];
/// (sinh x − x) / x³ for |x| ≤ 1.
pub const SINH: [f32; 4] = [0.16666667, 0.0083333105, 0.00019842896, 2.7822132e-06];
/// (tanh x − x) / x³ for |x| ≤ 0.625.
pub const TANH: [f32; 5] = [-0.3333328, 0.13331406, -0.053736515, 0.020628167, -0.005692296];

/// (ln (1 + x) − x + x²/2) / x³ for 1 + x in [√½, √2).
pub const LOG: [f32; 8] =
    [0.3333333, -0.25000823, 0.20001261, -0.16623335, 0.1420095, -0.13159509, 0.12766942, -0.07643114];
/// (log2 (1 + x) − x / ln 2) / x² for 1 + x in [√½, √2).
pub const LOG2: [f32; 9] = [
    -0.7213473,
    0.48090464,
    -0.36070725,
    0.28823584,
    -0.23910958,
    0.21015155,
    -0.20053412,
    0.15668823,
    -0.052664027,
];
/// log2 (1 + x) / x for 1 + x in [√½, √2), with an error of 2^-35.
pub const LOG2_F64: [f64; 13] = [
    1.442695040868705,
    -0.7213475208686283,
    0.48089836139591835,
    -0.36067367483970436,
    0.2885372934698843,
    -0.24045316523351407,
    0.20617535882658586,
    -0.18030060545684795,
    0.1587698154107751,
    -0.14315645061761034,
    0.14474836470947544,
    -0.14283925493442817,
    0.07737040024735077,
];

/// (sin x − x) / x³ for |x| ≤ π/4.
pub const SIN: [f32; 3] = [-0.16666655, 0.008332189, -0.0001951829];
/// (cos x − 1 + x²/2) / x⁴ for |x| ≤ π/4.
pub const COS: [f32; 3] = [0.041666646, -0.001388731, 2.4432327e-05];
/// (tan x − x) / x³ for |x| ≤ π/4.
pub const TAN: [f32; 6] = [0.33333156, 0.13338836, 0.0534082, 0.02444139, 0.0031014904, 0.009396518];
/// π/2 in two parts, of which the first has 25 bits: times an integer below 2^28 it is exact.
pub const FRAC_PI_2_PARTS: [f64; 2] = [1.570_796_310_901_641_8, 1.589_325_477_352_819_7e-8];
/// 2^27: up to here multiples of [`FRAC_PI_2_PARTS`] leave a rest of an `f32` that is exact enough.
pub const TRIG_LIMIT: f32 = 134_217_728.0;
/// The first bits of 2/π behind the binary point, for arguments beyond [`TRIG_LIMIT`].
pub const FRAC_2_PI_BITS: [u32; 7] =
    [0xa2f9_836e, 0x4e44_1529, 0xfc27_57d1, 0xf534_ddc0, 0xdb62_9599, 0x3c43_9041, 0xfe51_63ab];

/// (asin x − x) / x³ for |x| ≤ ½.
pub const ASIN: [f32; 5] = [0.16666752, 0.074953094, 0.04546915, 0.02418477, 0.04215834];
/// (atan x − x) / x³ for |x| ≤ 1.
pub const ATAN: [f32; 9] = [
    -0.333333,
    0.1999853,
    -0.14264014,
    0.10950861,
    -0.08399208,
    0.05787887,
    -0.031093532,
    0.010866268,
    -0.0017821423,
];
/// π/2 less its nearest `f32`.
pub const FRAC_PI_2_LOW: f32 = -4.371_139e-8;
/// π less its nearest `f32`.
pub const PI_LOW: f32 = -8.742_278e-8;

/// 1.5 · 2^23: added to an `f32` below 2^22 in magnitude, leaves the nearest integer in the low bits of the sum.
pub const ROUND_F32: f32 = 12_582_912.0;
/// 1.5 · 2^52: the same for an `f64` below 2^51.
pub const ROUND_F64: f64 = 6_755_399_441_055_744.0;

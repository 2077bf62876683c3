//! The values that operands take: edges first, then random ones.
//!
//! A value is a function of the seed, the operand and the invocation, so nothing has to be kept to
//! repeat a case.

use crate::random::Random;
use phalanx_ir::Rounding;
use phalanx_ir::Scalar;
use phalanx_ir::eval::{from_f64, round_f64, to_f64};

/// The type of an operand or a result: a scalar, or a vector of up to four (or many, as long vectors).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Ty {
    pub(super) scalar: Scalar,
    pub(super) n: u32,
}

impl Ty {
    pub(super) const fn new(scalar: Scalar, n: u32) -> Self {
        Self { scalar, n }
    }

    pub(super) const fn scalar(scalar: Scalar) -> Self {
        Self { scalar, n: 1 }
    }

    /// The type in memory: a truth value is an `i32` there.
    pub(super) const fn stored(self) -> Self {
        match self.scalar {
            Scalar::Bool => Self { scalar: Scalar::I32, n: self.n },
            _ => self,
        }
    }

    /// Bytes in memory.
    pub(super) const fn bytes(self) -> usize {
        (self.stored().scalar.bytes() * self.n) as usize
    }
}

impl std::fmt::Display for Ty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.n {
            1 => write!(f, "{}", self.scalar),
            n => write!(f, "v{n}{}", self.scalar),
        }
    }
}

/// Which values of its type an operand takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Domain {
    /// All.
    Any,
    /// Integers from 0 to about twice this; mostly below it.
    Below(u32),
    /// Lanes of the subgroup, and some beyond.
    Lane,
    /// Small integers, also as floats: sums and products of many are exact.
    Small,
    /// 1 or -1, as floats too: every product is exact.
    Sign,
    /// Few different values, so that some are equal.
    Few,
}

/// The bits of a value.
pub(super) fn value(
    seed: u64,
    scalar: Scalar,
    domain: Domain,
    operand: usize,
    part: u32,
    index: usize,
) -> u64 {
    let mut random = Random::new(
        seed ^ (index as u64) << 20 ^ u64::from(part) << 12 ^ (operand as u64) << 56 ^ (scalar as u64) << 50,
    );
    // Operands that are equal, now and then.
    if operand > 0 && random.one_in(12) {
        return value(seed, scalar, domain, 0, part, index);
    }
    let random = &mut random;
    match domain {
        Domain::Any | Domain::Lane => any(scalar, random, (operand == 0).then_some(index)),
        Domain::Below(limit) => {
            let limit = if random.one_in(8) { 2 * limit } else { limit };
            random.below(limit.into())
        }
        Domain::Small => number(scalar, random.below(9) as f64 - 4.0),
        Domain::Sign => number(scalar, if random.one_in(2) { 1.0 } else { -1.0 }),
        Domain::Few => number(scalar, random.below(3) as f64),
    }
}

/// A small whole number in any type.
pub(super) fn number(scalar: Scalar, x: f64) -> u64 {
    match scalar {
        Scalar::Bool => u64::from(x > 0.0),
        _ if scalar.is_float() => from_f64(scalar, x),
        _ => x as i64 as u64 & scalar.mask(),
    }
}

/// The first operand goes through the edges in order; all others meet them at random.
fn any(scalar: Scalar, random: &mut Random, order: Option<usize>) -> u64 {
    let edges = edges(scalar);
    if let Some(edge) = order.and_then(|index| edges.get(index)) {
        return *edge;
    }
    match random.below(8) {
        0..=3 => *random.pick(edges),
        4 | 5 => random.bits() & scalar.mask(),
        _ => ordinary(scalar, random),
    }
}

/// Numbers of everyday size.
fn ordinary(scalar: Scalar, random: &mut Random) -> u64 {
    if !scalar.is_float() {
        return random.bits() >> random.below(u64::from(scalar.bits())) & scalar.mask();
    }
    let size = 2_f64.powi(random.below(16) as i32 - 8);
    let x = (random.unit() * 2.0 - 1.0) * size;
    from_f64(scalar, if random.one_in(3) { x.round() } else { x })
}

/// Values where something changes.
pub(super) fn edges(scalar: Scalar) -> &'static [u64] {
    static ALL: std::sync::LazyLock<Vec<Vec<u64>>> =
        std::sync::LazyLock::new(|| Scalar::ALL.iter().map(|s| make_edges(*s)).collect());
    &ALL[scalar as usize]
}

fn make_edges(scalar: Scalar) -> Vec<u64> {
    let mut edges = match scalar {
        Scalar::Bool => vec![0, 1],
        _ if scalar.is_float() => float_edges(scalar),
        _ => int_edges(scalar),
    };
    let mut seen = std::collections::BTreeSet::new();
    edges.retain(|e| seen.insert(*e));
    edges
}

fn int_edges(scalar: Scalar) -> Vec<u64> {
    let bits = u64::from(scalar.bits());
    let (mask, sign) = (scalar.mask(), 1 << (bits - 1));
    let plain = [0, 1, mask, sign, sign - 1, 2, mask - 1, sign + 1, sign - 2, 3, 7, 10, bits - 1, bits];
    let more = [bits + 1, 2 * bits, 0x5555_5555_5555_5555, 0xaaaa_aaaa_aaaa_aaaa, sign >> 1, 127, 128];
    let wide = [255, 256, 0x7fff, 0x8000, 0xffff, 0x1_0000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
    // Where conversions to floats round: 2^11, 2^24 and 2^53, and ties above them.
    let rounds = [2049, 2051, 0x100_0001, 0x100_0003, 0x20_0000_0000_0001, 0x20_0000_0000_0003, 65519, 65520];
    plain.iter().chain(&more).chain(&wide).chain(&rounds).map(|x| x & mask).collect()
}

fn float_edges(scalar: Scalar) -> Vec<u64> {
    let sign = 1 << (scalar.bits() - 1);
    let infinity = from_f64(scalar, f64::INFINITY);
    let one = from_f64(scalar, 1.0);
    let largest = round_f64(scalar, 1e300_f64 * 1e8, Rounding::TowardZero, true);
    let least_normal = (1..sign).find(|_| true).map_or(0, |_| least_normal(scalar));
    let mut positive = vec![0, one, one + 1, one - 1, largest, largest - 1, infinity];
    positive.extend([least_normal, least_normal - 1, least_normal + 1, 1, 2, least_normal / 2]);
    // NaNs with a payload, quiet and signalling.
    if matches!(scalar, Scalar::E4M3) {
        positive.push(0x7f);
    } else {
        let quiet = from_f64(scalar, f64::NAN);
        positive.extend([quiet, quiet | 1, sign - 1, infinity | 1]);
    }
    let numbers = [
        0.5,
        1.5,
        2.0,
        2.5,
        3.0,
        3.5,
        0.25,
        0.75,
        10.0,
        0.1,
        1.0 / 3.0,
        std::f64::consts::PI,
        100.0,
        57.3,
        // Where conversions to narrower types round, saturate or overflow.
        126.5,
        127.0,
        127.5,
        128.0,
        128.5,
        255.0,
        255.5,
        256.0,
        32767.5,
        32768.0,
        65503.0,
        65504.0,
        65519.0,
        65519.999,
        65520.0,
        65535.0,
        65536.0,
        2147483520.0,
        2147483647.0,
        2147483648.0,
        4294967040.0,
        4294967295.0,
        4294967296.0,
        9.223372036854775e18,
        9.223372036854776e18,
        1.8446744073709552e19,
        448.0,
        464.0,
        464.1,
        480.0,
        57344.0,
        61440.0,
        61441.0,
        3.4028234663852886e38,
        3.4028235677973366e38,
        3.389e38,
        3.396e38,
        88.7,
        89.0,
        11.1,
        709.7,
        1e-5,
        6e-8,
        2.98e-8,
        5.97e-8,
        1e-40,
        1.4e-45,
        7e-46,
        0.0009765625,
        0.001953125,
        0.00146484375,
        1e-7,
        8388607.5,
        8388609.0,
        1023.5,
        2048.5,
        4503599627370495.5,
    ];
    positive.extend(numbers.map(|x| from_f64(scalar, x)));
    positive.iter().flat_map(|x| [*x, *x | sign]).collect()
}

fn least_normal(scalar: Scalar) -> u64 {
    let exponent = match scalar {
        Scalar::F16 | Scalar::E5M2 => -14,
        Scalar::E4M3 => -6,
        Scalar::F64 => -1022,
        _ => -126,
    };
    from_f64(scalar, 2_f64.powi(exponent))
}

/// A value for a reader.
pub(super) fn show(scalar: Scalar, bits: u64) -> String {
    let digits = 2 + scalar.bytes() as usize * 2;
    match scalar {
        Scalar::Bool => (bits != 0).to_string(),
        _ if scalar.is_float() => format!("{:?} ({bits:#0digits$x})", to_f64(scalar, bits)),
        _ => format!("{bits:#0digits$x}"),
    }
}

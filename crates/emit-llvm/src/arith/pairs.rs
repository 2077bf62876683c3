//! Dot products of the bytes of words on x86 without an instruction for them: by products of pairs.
//!
//! There are two such instructions. One multiplies pairs of 16-bit integers and adds the two products, which is exact: so
//! the bytes at even places and those at odd ones are extended, each in its place, and multiplied by themselves:
//!
//! ```text
//! x · y = pairs(even(x), even(y)) + pairs(odd(x), odd(y))
//! ```
//!
//! The other one multiplies pairs of an unsigned and a signed byte, and clamps their sum to 16 bits. It never has to where
//! the unsigned bytes are masked so that they have no highest bit: 2 · 127 · 128 is less than 2^15. Where the masks say that
//! sums of several products fit 16 bits as well, as they do for weights of four bits, they are added before they
//! become words.

use super::dot::{maker, masks_of};
use crate::error::Result;
use crate::{Emit, V, lanes};
use inkwell::values::InstructionOpcode as I;

/// What a dot product is the sum of, pair by pair.
#[derive(Clone, Debug)]
pub(crate) struct PairSums<'c> {
    /// By register: 16-bit integers.
    parts: Vec<V<'c>>,
    /// What none of them is beyond.
    most: u64,
}

/// Products of a pair of bytes, by a limit of the unsigned ones: the largest magnitude of a sum of two.
const fn most_of_pair(most_unsigned: u64) -> u64 {
    2 * most_unsigned * 128
}

impl<'c> Emit<'c> {
    /// The sum of the products of four bytes of vectors, which have a sign or not.
    pub(super) fn dot_by_pairs(&mut self, signs: (bool, bool), x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        // Of bytes without a highest bit, those that are signed are the same.
        let first = [(x, y, signs.1), (y, x, signs.0)].into_iter().find_map(|(x, y, is_signed)| {
            let most = largest_byte(x).filter(|&most| most < 128)?;
            (is_signed || largest_byte(y).is_some_and(|most| most < 128)).then_some((x, y, most))
        });
        let (x, y) = first.map_or((x, y), |(x, y, _)| (x, y));
        let registers: Vec<_> = self.registers(x)?.into_iter().zip(self.registers(y)?).collect();
        let mut parts = Vec::new();
        for (x, y) in registers {
            parts.push(match first {
                Some(_) => self.pair_sums(x, y)?,
                None => self.dot_of_halves(signs, x, y)?,
            });
        }
        match first {
            Some((.., most)) => self.word_sums(PairSums { parts, most: most_of_pair(most) }),
            None => self.concat(parts),
        }
    }

    /// The sum of two dot products by what they are sums of, if those of both fit.
    pub(super) fn add_pair_sums(&mut self, x: V<'c>, y: V<'c>) -> Result<Option<V<'c>>> {
        let (Some(a), Some(b)) = (self.pair_sums.get(&x), self.pair_sums.get(&y)) else { return Ok(None) };
        let most = a.most + b.most;
        if most > i16::MAX.cast_unsigned().into() || a.parts.len() != b.parts.len() {
            return Ok(None);
        }
        let both: Vec<_> = a.parts.iter().copied().zip(b.parts.iter().copied()).collect();
        let parts = both.into_iter().map(|(x, y)| self.add(x, y)).collect::<Result<_>>()?;
        self.word_sums(PairSums { parts, most }).map(Some)
    }

    /// Words, each of the sum of two pairs.
    fn word_sums(&mut self, sums: PairSums<'c>) -> Result<V<'c>> {
        let ones = self.int_like(sums.parts[0], 1);
        let words = sums.parts.iter().map(|&part| self.multiply_pairs(part, ones));
        let words = words.collect::<Result<Vec<_>>>()?;
        let words = self.concat(words)?;
        self.pair_sums.insert(words, sums);
        Ok(words)
    }

    /// A vector by registers, if it has several.
    fn registers(&self, v: V<'c>) -> Result<Vec<V<'c>>> {
        let n = lanes(v).unwrap_or(1);
        let register = (self.caps.register_bytes / 4).min(n);
        if n == register {
            return Ok(vec![v]);
        }
        (0..n).step_by(register as usize).map(|first| self.permute(v, first..first + register)).collect()
    }

    /// The products of bytes at even places, and of those at odd ones.
    fn dot_of_halves(&mut self, signs: (bool, bool), x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let [x_even, x_odd] = self.extended_halves(signs.0, x)?;
        let [y_even, y_odd] = self.extended_halves(signs.1, y)?;
        let (even, odd) = (self.multiply_pairs(x_even, y_even)?, self.multiply_pairs(x_odd, y_odd)?);
        self.add(even, odd)
    }

    /// The bytes at even places, and those at odd ones, as 16-bit integers.
    fn extended_halves(&self, is_signed: bool, x: V<'c>) -> Result<[V<'c>; 2]> {
        let x = self.as_integers(x, 16)?;
        let eight = self.int_like(x, 8);
        Ok(match is_signed {
            true => [self.bin(I::AShr, self.shl(x, eight)?, eight)?, self.bin(I::AShr, x, eight)?],
            false => [self.and(x, self.int_like(x, 0xff))?, self.lshr(x, eight)?],
        })
    }

    /// Words as integers of so many bits.
    fn as_integers(&self, x: V<'c>, bits: u32) -> Result<V<'c>> {
        let count = lanes(x).unwrap_or(1) * 32 / bits;
        self.bitcast(x, self.vec_of(self.int_ty(bits).into(), count).into())
    }

    /// Sums of two products of 16-bit integers.
    fn multiply_pairs(&mut self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let name = match lanes(x) {
            Some(32) => "llvm.x86.avx512.pmaddw.d.512",
            Some(16) => "llvm.x86.avx2.pmadd.wd",
            _ => "llvm.x86.sse2.pmadd.wd",
        };
        self.intrinsic(name, &[], &[x, y])
    }

    /// Sums of two products of unsigned and signed bytes.
    fn pair_sums(&mut self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let (x, y) = (self.as_integers(x, 8)?, self.as_integers(y, 8)?);
        let name = match lanes(x) {
            Some(64) => "llvm.x86.avx512.pmaddubs.w.512",
            Some(32) => "llvm.x86.avx2.pmadd.ub.sw",
            _ => "llvm.x86.ssse3.pmadd.ub.sw.128",
        };
        self.intrinsic(name, &[], &[x, y])
    }
}

/// The largest byte, without a sign, that a mask leaves of a vector's words.
fn largest_byte(x: V<'_>) -> Option<u64> {
    let bytes = |mask: u64| mask.to_le_bytes().into_iter().take(4).map(u64::from);
    let largest = |masks: Vec<u64>| masks.into_iter().flat_map(bytes).max();
    maker(x).and_then(masks_of).and_then(|masks| masks.into_iter().filter_map(largest).min())
}

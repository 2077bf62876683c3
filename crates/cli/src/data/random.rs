//! Random arrays that are the same everywhere for the same seed.
//!
//! The generator is SplitMix64: the k-th element depends on the seed and k alone. Floating-point elements are uniform
//! in [-1, 1) and rounded to their type; integers are uniform over all their values.

use std::iter;

use super::{Array, DType, DataError};

/// A stream of random words.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Appends the next elements, so many bytes of them.
    pub(super) fn fill(&mut self, dtype: DType, size: usize, bytes: &mut Vec<u8>) {
        for _ in 0..size / dtype.size_bytes() {
            dtype.push(self.element(dtype), bytes);
        }
    }

    /// The elements as numbers, without end.
    pub(crate) fn values(mut self, dtype: DType) -> impl Iterator<Item = f64> {
        iter::repeat_with(move || dtype.value(self.element(dtype)))
    }

    /// The bits of the next element.
    fn element(&mut self, dtype: DType) -> u64 {
        let word = self.next();
        if dtype.is_float() {
            // 53 bits fill the mantissa of f64, so each value is equally likely.
            let unit = (word >> 11) as f64 * f64::powi(2.0, -53);
            dtype.bits(2.0 * unit - 1.0)
        } else {
            word
        }
    }
}

impl Array {
    /// A random array; see the module for its distribution.
    pub(crate) fn random(dtype: DType, shape: Vec<usize>, seed: u64) -> Result<Self, DataError> {
        let size = super::size_bytes(dtype, &shape)?;
        let mut bytes = Vec::with_capacity(size);
        Random::new(seed).fill(dtype, size, &mut bytes);
        Ok(Self { dtype, shape, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        // The first words for seed 1234567 in the reference implementation's own test.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn floats_fill_the_interval_and_integers_their_range() {
        let floats = Array::random(DType::F32, vec![10_000], 7).expect("small");
        assert!(floats.values().all(|value| (-1.0..=1.0).contains(&value)));
        let mean = floats.values().sum::<f64>() / 10_000.0;
        assert!(mean.abs() < 0.03, "{mean}");
        let bytes = Array::random(DType::S8, vec![10_000], 7).expect("small");
        assert_eq!(bytes.values().fold(0.0, f64::min), -128.0);
        assert_eq!(bytes.values().fold(0.0, f64::max), 127.0);
    }

    #[test]
    fn the_same_seed_gives_the_same_array() {
        let array = |seed| Array::random(DType::Bf16, vec![8, 8], seed).expect("small");
        assert_eq!(array(1), array(1));
        assert_ne!(array(1), array(2));
    }
}

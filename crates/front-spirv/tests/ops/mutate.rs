//! Damages modules: whatever becomes of one, the translator answers with diagnostics or with a module
//! that the verifier accepts.

#![expect(clippy::panic, reason = "a check that fails panics")]

use phalanx_front_spirv::{Class, Options, inspect, translate};

/// Mutations of each module.
const ROUNDS: u64 = 300;

/// A small generator of random numbers (xorshift), so that failures can be repeated.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
}

/// Translates damaged copies of a module.
pub(crate) fn mutate(words: &[u32], options: &Options<'_>) {
    for seed in 1..=ROUNDS {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut words = words.to_vec();
        for _ in 0..=random.below(3) {
            damage(&mut words, &mut random);
        }
        check(&words, options, seed);
    }
}

fn damage(words: &mut Vec<u32>, random: &mut Random) {
    if words.len() <= 5 {
        return;
    }
    let at = 5 + random.below(words.len() as u64 - 5) as usize;
    let bound = u64::from(words[3]);
    match random.below(8) {
        0..=3 => words[at] = random.below(bound) as u32,
        4 => words[at] ^= 1 << random.below(32),
        5 => words[at] = [0, 1, 2, 3, 7, 0x7fff_ffff, 0x8000_0000, u32::MAX][random.below(8) as usize],
        6 => words[at] = words[5 + random.below(words.len() as u64 - 5) as usize],
        _ => words.truncate(at),
    }
}

fn check(words: &[u32], options: &Options<'_>, seed: u64) {
    // Whatever it says: it must not panic.
    let _ = inspect(words);
    match translate(words, options) {
        Ok(module) => {
            if let Err(e) = phalanx_ir::verify(module) {
                panic!("seed {seed}: the verifier refuses what was translated: {e}");
            }
        }
        Err(e) => {
            let bug = e.0.iter().find(|d| d.class == Class::Bug);
            assert!(bug.is_none(), "seed {seed}: {}", bug.map(ToString::to_string).unwrap_or_default());
        }
    }
}

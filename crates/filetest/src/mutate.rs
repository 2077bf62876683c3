//! Damages valid modules: truncated, with bits flipped, with words replaced, removed, doubled or
//! exchanged. What comes out is near enough to SPIR-V to get past the first checks.

use crate::random::Random;

/// Words that mean something at many places: small ids, ends of ranges, instructions.
const WORDS: [u32; 14] =
    [0, 1, 2, 3, 4, 8, 32, 64, 255, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x0001_0000, 0xffff_0000];

/// A damaged copy; the same seed does the same damage.
pub fn damage(words: &[u32], random: &mut Random) -> Vec<u32> {
    let mut out = words.to_vec();
    for _ in 0..=random.below(3) {
        step(&mut out, random);
    }
    out
}

fn step(words: &mut Vec<u32>, random: &mut Random) {
    if words.len() < 6 {
        words.push(random.bits() as u32);
        return;
    }
    // The head stays whole most of the time: behind it there is more to find.
    let first = if random.one_in(20) { 0 } else { 5 };
    let at = first + random.below((words.len() - first) as u64) as usize;
    match random.below(8) {
        0 => words[at] ^= 1 << random.below(32),
        1 => words[at] = *random.pick(&WORDS),
        // Another word of the module: likely an id or an instruction that exists.
        2 | 3 => words[at] = words[random.below(words.len() as u64) as usize],
        4 => words[at] = words[at].wrapping_add(random.below(5) as u32).wrapping_sub(2),
        5 => words.truncate(at),
        6 => instruction(words, random),
        _ => {
            words.remove(at);
        }
    }
}

/// Removes, doubles, or exchanges whole instructions.
fn instruction(words: &mut Vec<u32>, random: &mut Random) {
    let insts = instructions(words);
    if insts.len() < 2 {
        return;
    }
    let one = random.pick(&insts).clone();
    let two = random.pick(&insts).clone();
    match random.below(3) {
        0 => {
            words.drain(one);
        }
        1 => {
            let copy = words[one].to_vec();
            words.splice(two.start..two.start, copy);
        }
        _ => {
            let (one, two) = if one.start < two.start { (one, two) } else { (two, one) };
            let (first, second) = (words[one.clone()].to_vec(), words[two.clone()].to_vec());
            if one.end <= two.start {
                words.splice(two, first);
                words.splice(one, second);
            }
        }
    }
}

/// Where instructions are, as far as their lengths make sense.
fn instructions(words: &[u32]) -> Vec<std::ops::Range<usize>> {
    let mut ranges = Vec::new();
    let mut at = 5;
    while at < words.len() {
        let end = at + (words[at] >> 16).max(1) as usize;
        if end > words.len() {
            break;
        }
        ranges.push(at..end);
        at = end;
    }
    ranges
}

//! Compares what a target leaves with what the interpreter does.

use super::case::{Case, Source};
use super::check::{Check, in_set};
use super::kernel::{Kernel, Layout, Memory, position};
use super::value::{Ty, show};
use phalanx_ir::Scalar;
use phalanx_ir::eval::to_f64;

/// Mismatches that are shown.
const SHOWN: usize = 10;

/// The mismatches.
#[derive(Default)]
struct Wrong {
    count: usize,
    text: String,
}

impl Wrong {
    fn add(&mut self, line: impl FnOnce() -> String) {
        self.count += 1;
        if self.count <= SHOWN {
            self.text += &line();
        }
    }
}

impl Kernel {
    /// The cases that differ, with operands and results.
    pub(super) fn compare(&self, layout: &Layout, expected: &Memory, found: &Memory) -> Result<(), String> {
        let mut wrong = Wrong::default();
        for (c, case) in self.cases.iter().enumerate() {
            let last = case.checks.last().copied().unwrap_or(Check::Bits);
            for (i, (ty, &offset)) in case.results.iter().zip(&layout.results[c]).enumerate() {
                let check = case.checks.get(i).copied().unwrap_or(last);
                let words = |memory: &Memory| words(&memory.results, ty.stored(), offset, self.copies(case));
                let (want, have) = (words(expected), words(found));
                match check {
                    Check::Set => self.compare_sets(c, ty.stored().scalar, want, have, &mut wrong),
                    _ => self.compare_each(c, check, ty.stored().scalar, &want, &have, &mut wrong),
                }
            }
            for (i, operand) in case.operands.iter().enumerate().filter(|(_, o)| o.source == Source::Cell) {
                let offset = layout.operands[&(*operand, position(c, i, *operand))];
                let scalar = operand.ty.scalar;
                let (want, have) =
                    (word(&expected.operands, scalar, offset), word(&found.operands, scalar, offset));
                if !Check::AnyZero.accepts(scalar, &Vec::new, want, have) {
                    wrong.add(|| format!("  {} leaves\n{}", case.name, differ(scalar, want, have)));
                }
            }
        }
        match wrong.count {
            0 => Ok(()),
            n => Err(format!("{n} numbers differ, {} of which are\n{}", n.min(SHOWN), wrong.text)),
        }
    }

    fn compare_each(
        &self,
        case: usize,
        check: Check,
        scalar: Scalar,
        want: &[u64],
        have: &[u64],
        wrong: &mut Wrong,
    ) {
        for (at, (&want, &have)) in want.iter().zip(have).enumerate() {
            // A matrix lies element by element, one copy behind the other; of a vector each part by itself.
            let n = elements(&self.cases[case]);
            let (index, part) = if self.cases[case].stores_itself() {
                (at / n, (at % n) as u32)
            } else {
                (at % self.invocations(), (at / self.invocations()) as u32)
            };
            let operands = || {
                self.bits(case, part, index).map(|(scalar, bits)| to_f64(scalar, bits)).collect::<Vec<_>>()
            };
            if !check.accepts(scalar, &operands, want, have) {
                wrong.add(|| {
                    let operands: Vec<_> =
                        self.bits(case, part, index).map(|(s, bits)| show(s, bits)).collect();
                    let (name, operands) = (&self.cases[case].name, operands.join(", "));
                    let differ = differ(scalar, want, have);
                    format!("  {name} invocation {index} part {part}: {operands}\n{differ}")
                });
            }
        }
    }

    fn compare_sets(&self, case: usize, scalar: Scalar, want: Vec<u64>, have: Vec<u64>, wrong: &mut Wrong) {
        let [want, have] = [want, have].map(|words| {
            let mut words: Vec<_> = words.into_iter().map(|bits| in_set(scalar, bits)).collect();
            words.sort_unstable();
            words
        });
        if let Some((want, have)) = want.iter().zip(&have).find(|(want, have)| want != have) {
            wrong.add(|| {
                format!("  {} gives another set\n{}", self.cases[case].name, differ(scalar, *want, *have))
            });
        }
    }

    /// What a case takes in an invocation: the parts that go with the part of the result.
    fn bits(&self, case: usize, part: u32, index: usize) -> impl Iterator<Item = (Scalar, u64)> {
        self.cases[case].operands.iter().enumerate().map(move |(i, operand)| {
            let part = part % operand.ty.n;
            let bits = match operand.source {
                Source::Constant => self.constant(case, i)[part as usize],
                Source::Varying => self.value(*operand, i, part, index),
                Source::Cell => self.value(*operand, position(case, i, *operand), part, 0),
                Source::Uniform => self.value(*operand, i, part, index / self.group_size() as usize),
            };
            (operand.ty.scalar, bits)
        })
    }
}

/// Elements of a result.
fn elements(case: &Case) -> usize {
    case.results.first().map_or(1, |ty| ty.n as usize)
}

/// A result as often as there is one.
fn words(bytes: &[u8], ty: Ty, offset: usize, copies: usize) -> Vec<u64> {
    let size = ty.scalar.bytes() as usize;
    (0..copies * ty.n as usize).map(|at| word(bytes, ty.scalar, offset + at * size)).collect()
}

fn differ(scalar: Scalar, want: u64, have: u64) -> String {
    format!("    expected {}, found {}\n", show(scalar, want), show(scalar, have))
}

/// A little-endian number; what is not there is zero.
fn word(bytes: &[u8], scalar: Scalar, at: usize) -> u64 {
    let bytes = bytes.get(at..at + scalar.bytes() as usize).unwrap_or_default();
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

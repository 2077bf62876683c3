//! Damaged texts are read or refused, never a panic. What is read can be printed, and is read again as the same.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::canonical::assert_same;
use crate::corpus::{Input, OURS, UPSTREAM};
use phalanx_front_mlir::parse;
use phalanx_front_mlir::syntax::print;

/// Damaged copies of each text, unless `PHALANX_RANDOM_CASES` says how many times as many.
const ROUNDS: u64 = 400;

fn rounds() -> u64 {
    let times = std::env::var("PHALANX_RANDOM_CASES").ok().and_then(|n| n.parse().ok());
    ROUNDS * times.unwrap_or(1)
}

/// A small generator of random numbers (xorshift), so that failures can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

const PIECES: [&str; 24] = [
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ":",
    ",",
    "->",
    "%0",
    "^bb0",
    "@f",
    "#map",
    "!t",
    "\"",
    "0x",
    "-1",
    "9999999999999999999999",
    "dense<",
    "loc(",
    "é",
    "module",
];

/// Words of a text, roughly: what is between the places where letters and others meet.
fn cuts(text: &str) -> Vec<usize> {
    let mut cuts = vec![0];
    let mut last = ' ';
    for (at, letter) in text.char_indices() {
        if letter.is_alphanumeric() != last.is_alphanumeric() {
            cuts.push(at);
        }
        last = letter;
    }
    cuts.push(text.len());
    cuts
}

fn damage(text: &str, random: &mut Random) -> String {
    let cuts = cuts(text);
    let from = cuts[random.below(cuts.len())];
    let to = cuts[random.below(cuts.len())];
    let near = cuts.iter().copied().find(|cut| *cut > from).unwrap_or(text.len());
    let (first, second) = (from.min(to), from.max(to));
    match random.below(6) {
        // A word is left out, doubled, replaced, or another stands before it.
        0 => format!("{}{}", &text[..from], &text[near..]),
        1 => format!("{}{}", &text[..near], &text[from..]),
        2 => format!("{}{}{}", &text[..from], PIECES[random.below(PIECES.len())], &text[near..]),
        3 => format!("{}{}{}", &text[..from], PIECES[random.below(PIECES.len())], &text[from..]),
        // Two places change their text, or the text ends.
        4 => format!("{}{}{}", &text[..first], &text[second..], &text[first..second]),
        _ => text[..from].to_owned(),
    }
}

fn check(text: &str) {
    match parse(text) {
        Ok(ast) => {
            let first = print(&ast);
            let again = parse(&first).unwrap_or_else(|error| panic!("what was printed is refused: {error}"));
            assert_same("printed again", &first, &print(&again));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Texts that were printed otherwise than they had been read, or could not be read again.
const FOUND: [&str; 3] = [
    "func.func private @f(!t<?x?xi32, affine_map<(d0, d1)->(d0, d1)>>)",
    "#a = [1 : i8, affine_map<(d0) -> (d0 + 1)>]\nmodule attributes {x = #t.y<#a,#a>} {}",
    "func.func @f(%v: vector<2xf32>, %x: f32) {\n%0 = vector.contract {iterator_types = [\"<]\"]} %v, %v, %x : vector<2xf32>, vector<2xf32> into f32\nreturn\n}",
];

#[test]
fn what_damage_found_stays_mended() {
    FOUND.iter().for_each(|text| check(text));
}

#[test]
fn damaged_texts_are_answered() {
    for Input { name, text } in UPSTREAM.iter().chain(&OURS) {
        for seed in 1..=rounds() {
            let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut damaged = damage(text, &mut random);
            for _ in 0..random.below(3) {
                damaged = damage(&damaged, &mut random);
            }
            let result = catch_unwind(AssertUnwindSafe(|| check(&damaged)));
            assert!(result.is_ok(), "{name}, seed {seed}\n{damaged}");
        }
    }
}

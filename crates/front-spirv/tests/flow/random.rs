//! Random programs.

use super::emit::emit;
use super::program::{Case, Cond, Reference, STATE, Stmt};
use super::{LANES, run};

/// A small generator of random numbers (xorshift64), so that a seed names a program for ever.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) % u64::from(n)) as u32
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    fn var(&mut self) -> usize {
        self.below(STATE as u32) as usize
    }

    fn cond(&mut self) -> Cond {
        let modulus = 2 + self.below(6);
        Cond { var: self.var(), modulus, less_than: self.below(modulus + 1) }
    }

    /// Statements; `loops` says whether there is something to continue, `breaks` to break.
    fn body(&mut self, depth: u32, loops: bool, breaks: bool, calls: bool) -> Vec<Stmt> {
        let n = 1 + self.below(if depth == 0 { 5 } else { 3 });
        let mut out: Vec<Stmt> = (0..n).map(|_| self.stmt(depth, loops, breaks, calls)).collect();
        if depth > 0 && self.chance(12) {
            let end = match self.below(3) {
                0 if breaks => Stmt::Break,
                1 if loops => Stmt::Continue,
                _ => Stmt::Return,
            };
            out.push(end);
        }
        out
    }

    fn stmt(&mut self, depth: u32, loops: bool, breaks: bool, calls: bool) -> Stmt {
        let nested = depth < 4;
        match self.below(20) {
            0..=3 if nested => {
                let then = self.body(depth + 1, loops, breaks, calls);
                let otherwise =
                    if self.chance(50) { self.body(depth + 1, loops, breaks, calls) } else { Vec::new() };
                Stmt::If(self.cond(), then, otherwise)
            }
            4..=6 if nested => {
                let tail = if self.chance(50) { vec![self.simple()] } else { Vec::new() };
                let body = self.body(depth + 1, true, true, calls);
                Stmt::Loop { times: 1 + self.below(4), test_first: self.chance(60), body, tail }
            }
            7..=8 if nested => self.switch(depth, loops, calls),
            9 if breaks => Stmt::BreakIf(self.cond()),
            10 if loops => Stmt::ContinueIf(self.cond()),
            11 => Stmt::ReturnIf(self.cond()),
            12 if nested && calls => {
                Stmt::Call { early: self.cond(), body: self.body(depth + 1, false, false, depth < 2) }
            }
            _ => self.simple(),
        }
    }

    fn simple(&mut self) -> Stmt {
        match self.below(6) {
            0 => Stmt::Swap(self.var(), self.var()),
            1 => Stmt::Count(self.var()),
            _ => Stmt::Mix { var: self.var(), from: self.var(), k: self.below(100) },
        }
    }

    fn switch(&mut self, depth: u32, loops: bool, calls: bool) -> Stmt {
        let modulus = 3 + self.below(5);
        let n = 1 + self.below(4);
        let mut cases: Vec<Case> = (0..n)
            .map(|_| Case {
                literals: Vec::new(),
                body: self.body(depth + 1, loops, true, calls),
                falls_through: self.chance(40),
            })
            .collect();
        for literal in 0..modulus {
            if self.chance(70) {
                cases[self.below(n) as usize].literals.push(literal);
            }
        }
        Stmt::Switch { var: self.var(), modulus, cases, default: self.below(n) as usize }
    }
}

fn check(seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let program = random.body(0, false, false, true);
    let input: Vec<u32> = (0..LANES * STATE).map(|_| random.below(1000)).collect();
    let mut reference = Reference {
        state: std::array::from_fn(|l| std::array::from_fn(|i| input[l * STATE + i])),
        fuel: 20_000,
    };
    reference.run(&program);
    if reference.fuel == 0 {
        return;
    }
    let expected = reference.state.as_flattened();
    for ssa in [false, true] {
        let text = emit(&program, ssa);
        let found = run(&text, &input);
        assert_eq!(found, expected, "seed {seed}, ssa {ssa}\n{program:#?}\n{text}");
    }
}

#[test]
fn damaged_programs_are_diagnosed() {
    for seed in 0..15 {
        let program = Random(seed * 77 + 1).body(0, false, false, true);
        for ssa in [false, true] {
            let words = phalanx_spirv_asm::assemble(&emit(&program, ssa)).unwrap();
            super::mutate::mutate(&words, &phalanx_front_spirv::Options::default());
        }
    }
}

#[test]
fn programs_do_what_they_say() {
    let count = std::env::var("PHALANX_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    for seed in 0..count {
        check(seed);
    }
}

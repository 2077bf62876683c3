//! Random structured programs in lockstep, against a recursive evaluation of each invocation alone.

use crate::kernel::{Ext, Kernel, words};
use phalanx_ir::{BinaryOp, Builder, CompareOp, Label, Op, Type, Value, Var, Verified};

/// A statement on the state of an invocation: a number `x`, and fuel that bounds the repetitions.
#[derive(Debug)]
enum Stmt {
    /// `x = x * 5 + k + lane`.
    Step(u32),
    /// `if x >> shift & 1`.
    If(u32, Vec<Stmt>, Vec<Stmt>),
    Block(Vec<Stmt>),
    Loop(Vec<Stmt>),
    /// Branches to the enclosing block or loop of this depth from the inside; repeats a loop only
    /// while there is fuel. The last of its list.
    Branch(usize),
    /// Leaves the program with `x` as the result. The last of its list.
    Return,
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// A list in `targets` constructs that branches may name.
    fn list(&mut self, targets: usize, depth: u32) -> Vec<Stmt> {
        let mut list: Vec<_> = (0..self.below(4)).map(|_| self.stmt(targets, depth)).collect();
        match self.below(8) {
            0 => list.push(Stmt::Return),
            1..=4 if targets > 0 => list.push(Stmt::Branch(self.below(targets as u64) as usize)),
            _ => {}
        }
        list
    }

    fn stmt(&mut self, targets: usize, depth: u32) -> Stmt {
        if depth == 0 {
            return Stmt::Step(self.below(1000) as u32);
        }
        match self.below(6) {
            0 | 1 => {
                let shift = self.below(5) as u32;
                Stmt::If(shift, self.list(targets, depth - 1), self.list(targets, depth - 1))
            }
            2 => Stmt::Block(self.list(targets + 1, depth - 1)),
            3 => Stmt::Loop(self.list(targets + 1, depth - 1)),
            _ => Stmt::Step(self.below(1000) as u32),
        }
    }
}

// ── one invocation alone ──

struct State {
    lane: u32,
    x: u32,
    fuel: u32,
}

/// How a list is left.
enum Exit {
    End,
    Branch(usize),
    Return,
}

const FUEL: u32 = 6;

fn alone(state: &mut State, list: &[Stmt], targets: &mut Vec<bool>) -> Exit {
    for stmt in list {
        let exit = match stmt {
            Stmt::Step(k) => {
                state.x = state.x.wrapping_mul(5).wrapping_add(*k).wrapping_add(state.lane);
                Exit::End
            }
            Stmt::If(shift, then, otherwise) => {
                alone(state, if state.x >> shift & 1 == 1 { then } else { otherwise }, targets)
            }
            Stmt::Block(body) => construct(state, body, targets, false),
            Stmt::Loop(body) => construct(state, body, targets, true),
            Stmt::Branch(depth) if targets[targets.len() - 1 - depth] => {
                // The program falls through to the end of the list without fuel.
                if state.fuel == 0 {
                    Exit::End
                } else {
                    state.fuel -= 1;
                    Exit::Branch(*depth)
                }
            }
            Stmt::Branch(depth) => Exit::Branch(*depth),
            Stmt::Return => Exit::Return,
        };
        if !matches!(exit, Exit::End) {
            return exit;
        }
    }
    Exit::End
}

fn construct(state: &mut State, body: &[Stmt], targets: &mut Vec<bool>, repeats: bool) -> Exit {
    loop {
        targets.push(repeats);
        let exit = alone(state, body, targets);
        targets.pop();
        match exit {
            Exit::Branch(0) if repeats => {}
            Exit::Branch(0) | Exit::End => return Exit::End,
            Exit::Branch(depth) => return Exit::Branch(depth - 1),
            Exit::Return => return Exit::Return,
        }
    }
}

// ── all in lockstep ──

struct Emit {
    lane: Value,
    x: Var,
    fuel: Var,
    targets: Vec<(Label, bool)>,
}

impl Emit {
    fn list(&mut self, b: &mut Builder<'_>, list: &[Stmt]) {
        for stmt in list {
            match stmt {
                Stmt::Step(k) => self.step(b, *k),
                Stmt::If(shift, then, otherwise) => {
                    let (x, shift) = (b.var_load(self.x, None), b.i32(*shift as i32));
                    let bit = b.binary(BinaryOp::Lshr, x, shift);
                    let one = b.i32(1);
                    let bit = b.binary(BinaryOp::And, bit, one);
                    let holds = b.compare(CompareOp::Ieq, bit, one);
                    let (t, o) = (b.func.new_block(), b.func.new_block());
                    b.effect(Op::If { then: t, otherwise: o }, &[holds]);
                    b.within(t, |b| self.list(b, then));
                    b.within(o, |b| self.list(b, otherwise));
                }
                Stmt::Block(body) => b.scoped(|b, label| self.construct(b, body, label, false)),
                Stmt::Loop(body) => b.repeated(|b, label| self.construct(b, body, label, true)),
                Stmt::Branch(depth) => self.branch(b, *depth),
                Stmt::Return => self.finish(b),
            }
        }
    }

    fn step(&self, b: &mut Builder<'_>, k: u32) {
        let (x, five, k) = (b.var_load(self.x, None), b.i32(5), b.i32(k as i32));
        let x = b.binary(BinaryOp::Imul, x, five);
        let x = b.binary(BinaryOp::Iadd, x, k);
        let x = b.binary(BinaryOp::Iadd, x, self.lane);
        b.var_store(self.x, None, x);
    }

    fn construct(&mut self, b: &mut Builder<'_>, body: &[Stmt], label: Label, repeats: bool) {
        self.targets.push((label, repeats));
        self.list(b, body);
        self.targets.pop();
    }

    fn branch(&self, b: &mut Builder<'_>, depth: usize) {
        let (label, repeats) = self.targets[self.targets.len() - 1 - depth];
        if !repeats {
            return b.br(label);
        }
        let (fuel, zero, one) = (b.var_load(self.fuel, None), b.i32(0), b.i32(1));
        let left = b.compare(CompareOp::Ult, zero, fuel);
        b.if_else(
            left,
            |b| {
                let fuel = b.binary(BinaryOp::Isub, fuel, one);
                b.var_store(self.fuel, None, fuel);
                b.br(label);
            },
            |_| {},
        );
    }

    fn finish(&self, b: &mut Builder<'_>) {
        let x = b.var_load(self.x, None);
        b.put(self.lane, x);
        b.effect(Op::Return, &[]);
    }
}

fn emit(program: &[Stmt]) -> Verified {
    Kernel::new([16, 1, 1]).body(|b| {
        let lane = b.local();
        let [x, fuel] = ["x", "fuel"].map(|name| b.func.new_var(Type::I32, 1, name));
        let full = b.i32(FUEL as i32);
        b.var_store(x, None, lane);
        b.var_store(fuel, None, full);
        let mut emit = Emit { lane, x, fuel, targets: Vec::new() };
        emit.list(b, program);
        if !matches!(program.last(), Some(Stmt::Return)) {
            emit.finish(b);
        }
    })
}

#[test]
fn lockstep_gives_each_invocation_its_own_result() {
    for seed in 0..3000 {
        let mut random = Random(seed);
        let program: Vec<_> = (0..4).map(|_| random.stmt(0, 6)).collect();
        let want: Vec<_> = (0..16)
            .map(|lane| {
                let mut state = State { lane, x: lane, fuel: FUEL };
                alone(&mut state, &program, &mut Vec::new());
                state.x as i32
            })
            .collect();
        assert_eq!(words(&emit(&program), 16), want, "seed {seed}: {program:#?}");
    }
}

//! Random structured programs: masks, joins and loops against the interpreter.

use crate::kernel::{Case, Ext, Kernel, Random};
use phalanx_ir::{BinaryOp, Builder, Builtin, CompareOp, Label, Op, Type, Value, Var, Verified};

/// Writes a program on a number `x`, private to the invocation, a number `u`, for which all
/// invocations would compute the same if they took the same way, and fuel that bounds repetitions.
struct Program<'r> {
    random: &'r mut Random,
    lane: Value,
    x: Var,
    u: Var,
    fuel: Var,
    targets: Vec<(Label, bool)>,
}

impl Program<'_> {
    fn list(&mut self, b: &mut Builder<'_>, depth: u32) {
        for _ in 0..self.random.below(4) {
            self.stmt(b, depth);
        }
        match self.random.below(8) {
            0 => self.finish(b),
            1..=4 if !self.targets.is_empty() => self.branch(b),
            _ => {}
        }
    }

    fn stmt(&mut self, b: &mut Builder<'_>, depth: u32) {
        if depth == 0 {
            return self.step(b);
        }
        match self.random.below(7) {
            0 | 1 => {
                let cond = self.condition(b);
                let (t, o) = (b.func.new_block(), b.func.new_block());
                b.effect(Op::If { then: t, otherwise: o }, &[cond]);
                b.within(t, |b| self.list(b, depth - 1));
                b.within(o, |b| self.list(b, depth - 1));
            }
            2 => b.scoped(|b, label| self.construct(b, depth - 1, label, false)),
            3 => b.repeated(|b, label| self.construct(b, depth - 1, label, true)),
            _ => self.step(b),
        }
    }

    fn construct(&mut self, b: &mut Builder<'_>, depth: u32, label: Label, repeats: bool) {
        self.targets.push((label, repeats));
        self.list(b, depth);
        self.targets.pop();
    }

    /// A bit of the private or of the common number.
    fn condition(&mut self, b: &mut Builder<'_>) -> Value {
        let var = if self.random.below(2) == 0 { self.x } else { self.u };
        let (x, shift, one) = (b.var_load(var, None), b.i32(self.random.below(6) as i32), b.i32(1));
        let bit = b.binary(BinaryOp::Lshr, x, shift);
        let bit = b.binary(BinaryOp::And, bit, one);
        b.compare(CompareOp::Ieq, bit, one)
    }

    fn step(&mut self, b: &mut Builder<'_>) {
        let var = if self.random.below(3) == 0 { self.u } else { self.x };
        let k = b.i32(self.random.below(1000) as i32);
        let (x, five) = (b.var_load(var, None), b.i32(5));
        let x = b.binary(BinaryOp::Imul, x, five);
        let mut x = b.binary(BinaryOp::Iadd, x, k);
        if var == self.x {
            x = b.binary(BinaryOp::Iadd, x, self.lane);
            if self.random.below(4) == 0 {
                let u = b.var_load(self.u, None);
                x = b.binary(BinaryOp::Xor, x, u);
            }
        }
        b.var_store(var, None, x);
    }

    fn branch(&mut self, b: &mut Builder<'_>) {
        let (label, repeats) = self.targets[self.random.below(self.targets.len() as u64) as usize];
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

    fn finish(&mut self, b: &mut Builder<'_>) {
        self.put(b);
        b.effect(Op::Return, &[]);
    }

    fn put(&mut self, b: &mut Builder<'_>) {
        let (x, u) = (b.var_load(self.x, None), b.var_load(self.u, None));
        let x = b.binary(BinaryOp::Iadd, x, u);
        let i = b.builtin(Builtin::GlobalInvocationId(0));
        b.put(0, i, x);
    }
}

fn emit(seed: u64, subgroup_size: u32, workgroup_size: u32) -> Verified {
    let mut random = Random(seed);
    Kernel::new(subgroup_size, [workgroup_size, 1, 1]).body(|b| {
        let lane = b.local();
        let [x, u, fuel] = ["x", "u", "fuel"].map(|name| b.func.new_var(Type::I32, 1, name));
        let (full, group) = (b.i32(6), b.builtin(Builtin::WorkgroupId(0)));
        b.var_store(x, None, lane);
        b.var_store(u, None, group);
        b.var_store(fuel, None, full);
        let mut program = Program { random: &mut random, lane, x, u, fuel, targets: Vec::new() };
        for _ in 0..4 {
            program.stmt(b, 5);
        }
        program.put(b);
    })
}

#[test]
fn lanes_go_their_own_ways() {
    let count = std::env::var("PHALANX_RANDOM").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    for seed in 0..count {
        let (subgroup, group) = [(8, 8), (4, 6), (16, 16), (32, 40), (128, 100)][seed as usize % 5];
        let module = emit(seed, subgroup, group);
        let buffers = vec![vec![0xff; 4 * group as usize * 3]];
        println!("seed {seed}");
        Case { groups: [3, 1, 1], ..Case::new(&module, buffers) }.check();
    }
}

//! Branches that leave constructs, in random programs: whichever way control takes, the lowered module takes it too.
//!
//! A program writes a trace: at each statement, a number is mixed into a variable, which is stored at the end. Each branch
//! depends on the lane and on how often something was done, and loops are bounded by a count.

use super::{Random, again, module, run};
use phalanx_back_spirv::Options;
use std::fmt::Write as _;

struct Program {
    random: Random,
    text: String,
    next: u32,
    /// Labels in scope, and whether each is a loop's.
    labels: Vec<(String, bool)>,
}

impl Program {
    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// Mixes a number into the trace, and counts.
    fn statement(&mut self) {
        let n = self.fresh();
        let _ = writeln!(
            self.text,
            "%t{n}: i32 = var_load<$trace>
%f{n}: i32 = const 31
%m{n}: i32 = imul %t{n}, %f{n}
%k{n}: i32 = const {n}
%s{n}: i32 = iadd %m{n}, %k{n}
var_store<$trace> %s{n}
%c{n}: i32 = var_load<$count>
%o{n}: i32 = const 1
%d{n}: i32 = iadd %c{n}, %o{n}
var_store<$count> %d{n}"
        );
    }

    /// A condition that depends on the lane and on the count.
    fn condition(&mut self) -> String {
        let n = self.fresh();
        let (factor, mask) = (1 + 2 * self.random.below(8), 1 + self.random.below(7));
        let _ = writeln!(
            self.text,
            "%a{n}: i32 = var_load<$count>
%b{n}: i32 = const {factor}
%e{n}: i32 = imul %a{n}, %b{n}
%g{n}: i32 = iadd %e{n}, %lane
%h{n}: i32 = const {mask}
%i{n}: i32 = and %g{n}, %h{n}
%j{n}: i32 = const 0
%q{n}: bool = ieq %i{n}, %j{n}"
        );
        format!("%q{n}")
    }

    fn jump(&mut self) {
        let outside = self.labels.len() as u32;
        match self.random.below(outside + 1) {
            0 if self.random.below(3) == 0 => self.text += "return\n",
            0 => {}
            i => {
                let (label, is_loop) = self.labels[i as usize - 1].clone();
                if !is_loop {
                    let _ = writeln!(self.text, "br {label}");
                    return;
                }
                // Another round, unless there were many.
                let n = self.fresh();
                let _ = writeln!(
                    self.text,
                    "%u{n}: i32 = var_load<$count>
%v{n}: i32 = const 60
%w{n}: bool = ult %u{n}, %v{n}
if %w{n} {{
br {label}
}} else {{
}}"
                );
            }
        }
    }

    fn body(&mut self, depth: u32) {
        for _ in 0..1 + self.random.below(3) {
            self.statement();
            if depth == 0 {
                continue;
            }
            let n = self.fresh();
            match self.random.below(5) {
                0 | 1 => {
                    let condition = self.condition();
                    let _ = writeln!(self.text, "if {condition} {{");
                    self.side(depth);
                    self.text += "} else {\n";
                    self.side(depth);
                    self.text += "}\n";
                }
                2 | 3 => {
                    let is_loop = self.random.below(2) == 0;
                    let word = if is_loop { "loop" } else { "block" };
                    let _ = writeln!(self.text, "{word} @l{n} {{");
                    self.labels.push((format!("@l{n}"), is_loop));
                    // So that each round of a loop counts.
                    self.statement();
                    self.side(depth);
                    self.labels.pop();
                    self.text += "}\n";
                }
                _ => {}
            }
        }
    }

    fn side(&mut self, depth: u32) {
        if self.random.below(4) > 0 {
            self.body(depth - 1);
        }
        self.jump();
    }
}

fn program(seed: u64) -> String {
    let head = "kernel \"main\"
workgroup_size 16 1 1
subgroup_size 8
binding buf0 = 0.0 storage writable \"out\"
var $trace: i32
var $count: i32
{
%lane: i32 = local_invocation_index
%zero: i32 = const 0
%out: ptr<buffer> = buffer_ptr<buf0> %zero
%to: ptr<buffer> = ptr_add<scale=4> %out, %lane
var_store<$trace> %zero
var_store<$count> %zero
block @all {
";
    let mut program = Program {
        random: Random(seed),
        text: head.to_owned(),
        next: 0,
        labels: vec![("@all".to_owned(), false)],
    };
    program.body(4);
    program.text += "}\n%last: i32 = var_load<$trace>\nstore %to, %last\nreturn\n}\n";
    program.text
}

#[test]
fn control_takes_the_same_way() {
    let mut seen = 0;
    for seed in 1..300_u64 {
        let text = program(u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15));
        let original = module(&text);
        let buffers = [vec![0xa5; 64]];
        let before = run(&original, &buffers, 1);
        let after = run(&again(&original, Options::default()), &buffers, 1);
        assert_eq!(before, after, "seed {seed}\n{text}");
        seen += usize::from(before != buffers);
    }
    assert!(seen > 100, "{seen} programs come to their end");
}

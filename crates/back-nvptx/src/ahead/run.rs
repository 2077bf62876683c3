//! Loads of a block that follow one another, with what stands between them and does not matter for them.
//!
//! ```text
//! %p = ptr_add ..   %a = load %p   var_store $x, %a   %q = ptr_add ..   %b = load %q   var_store $y, %b
//! %p = ptr_add ..   %q = ptr_add ..   %a, %b = load %p and %q   var_store $x, %a   var_store $y, %b
//! ```
//!
//! What takes a value that is loaded is *late*: it is moved behind the loads, and so is all that must stay behind it.

use crate::coopmat;
use phalanx_ir::{Function, Inst, Op, Space, Type, Value, Var};
use std::collections::HashSet;

/// Most scalars that are loaded together: they are all in registers at once.
const MAX_SCALARS: usize = 64;

/// A run of instructions, in parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    /// What comes before the loads.
    pub(crate) early: Vec<Inst>,
    pub(crate) loads: Vec<Inst>,
    /// What comes after them.
    pub(crate) late: Vec<Inst>,
    /// How many instructions that are.
    pub(crate) count: usize,
}

/// What stands behind the loads of a run.
#[derive(Debug, Default)]
struct Late {
    values: HashSet<Value>,
    vars: HashSet<Var>,
}

/// What is done with an instruction of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Early,
    Load,
    Late,
}

impl Late {
    /// When an instruction has its turn; nothing if it ends the run.
    fn turn(&mut self, f: &Function, inst: Inst) -> Option<Turn> {
        let info = f.inst(inst);
        if coopmat::concerns(f, info) {
            return None;
        }
        let mut is_late = info.args.iter().any(|v| self.values.contains(v));
        match info.op {
            Op::Load(_) => match f.ty(info.args[0]) {
                Type::Ptr(Space::Buffer) if !is_late => {
                    self.values.extend(&info.results);
                    return Some(Turn::Load);
                }
                Type::Ptr(Space::Push) if !is_late => {}
                _ => return None,
            },
            Op::VarLoad(var) | Op::VarStore(var) => {
                is_late |= self.vars.contains(&var);
                if is_late {
                    self.vars.insert(var);
                }
            }
            // Nothing that is loaded here lies there.
            Op::Store(_) if f.ty(info.args[0]) == Type::Ptr(Space::Shared) => is_late = true,
            ref op if op.computes() => {}
            Op::Builtin(_)
            | Op::BufferPtr(_)
            | Op::PushPtr
            | Op::SharedPtr { .. }
            | Op::PtrAdd { .. }
            | Op::PtrBytesLeft
            | Op::PtrDiff => {}
            _ => return None,
        }
        if is_late {
            self.values.extend(&info.results);
        }
        Some(if is_late { Turn::Late } else { Turn::Early })
    }
}

impl Run {
    /// The run that begins with the first of some instructions, up to its last load. `fits` says of loads whether they may
    /// be done together with others.
    pub(crate) fn find(f: &Function, insts: &[Inst], fits: impl Fn(Inst) -> bool) -> Self {
        let (mut run, mut late) = (Self::default(), Late::default());
        let (mut turns, mut scalars) = (Vec::new(), 0);
        for (&inst, count) in insts.iter().zip(1..) {
            let Some(turn) = late.turn(f, inst) else { break };
            if turn == Turn::Load {
                scalars += f.inst(inst).results.len();
                if scalars > MAX_SCALARS || !fits(inst) {
                    break;
                }
                run.count = count;
            }
            turns.push((turn, inst));
        }
        for &(turn, inst) in turns.iter().take(run.count) {
            match turn {
                Turn::Early => run.early.push(inst),
                Turn::Load => run.loads.push(inst),
                Turn::Late => run.late.push(inst),
            }
        }
        run
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_ir::text;

    /// The run that begins with the first load of a kernel: its early and its late instructions and the number of loads.
    fn run(body: &str) -> (usize, usize, usize) {
        let source = format!(
            "kernel \"main\"\nworkgroup_size 32 1 1\nsubgroup_size 32\nshared 64\npush 4\n\
             binding buf0 = 0.0 storage writable\nvar $x: i32[2]\n{{\n%z: i32 = const 0\n%one: i32 = const 1\n\
             %p: ptr<buffer> = buffer_ptr<buf0> %z\n%s: ptr<shared> = shared_ptr<offset=0, bytes=64>\n\
             %n: ptr<push> = push_ptr\n{body}\n}}\n"
        );
        let module = text::parse(&source).expect("the text is IR");
        let f = &module.body;
        let insts = f.block(Function::ENTRY);
        let first = insts.iter().position(|&inst| matches!(f.inst(inst).op, Op::Load(_))).expect("a load");
        let run = Run::find(f, &insts[first..], |_| true);
        (run.early.len(), run.loads.len(), run.late.len())
    }

    #[test]
    fn what_takes_a_loaded_value_is_late() {
        let second = "%q: ptr<buffer> = ptr_add<disp=4> %p\n%b: i32 = load %q";
        assert_eq!(run(&format!("%a: i32 = load %p\nvar_store<$x> %z, %a\n{second}")), (1, 2, 1));
        assert_eq!(
            run(&format!("%a: i32 = load %p\nstore %s, %z\n{second}\nvar_store<$x> %z, %b")),
            (1, 2, 1)
        );
        // A variable that is written late is read and written late, even where another value goes there.
        let var =
            "%a: i32 = load %p\nvar_store<$x> %z, %a\n%c: i32 = var_load<$x> %one\nvar_store<$x> %one, %z";
        assert_eq!(run(&format!("{var}\n%d: i32 = iadd %c, %c\n{second}")), (1, 2, 4));
        // A place that was loaded.
        let index = "%a: i32 = load %p\n%q: ptr<buffer> = ptr_add<scale=4> %p, %a\n%b: i32 = load %q";
        assert_eq!(run(index), (0, 1, 0));
    }

    #[test]
    fn what_may_write_the_memory_ends_a_run() {
        for end in ["store %p, %z", "%c: i32 = load %s", "barrier<workgroup, workgroup>"] {
            assert_eq!(run(&format!("%a: i32 = load %p\n{end}\n%b: i32 = load %p")), (0, 1, 0), "{end}");
        }
        assert_eq!(run("%a: i32 = load %p\n%c: i32 = load %n\n%b: i32 = load %p"), (1, 2, 0));
    }
}

//! A loop over slices in a loop over blocks of slices as one loop, in code that may decline.
//!
//! Programs have both where a block would be staged through shared memory on a GPU. Nothing is done between blocks here, and
//! as one loop its rounds may be joined ([`strip`](super::strip)) whatever the size of a block:
//!
//! ```text
//! loop @blocks {                       %s = var_load<$s>
//!   %s = var_load<$s>                  decline if %end is so far up that %s + 64 wraps
//!   %go = ult %s, %end                 %last = %s + (umax(%end, %s) - %s, rounded up to 64)
//!   if %go {                           var_store<$k> %s
//!     var_store<$k> %s                 var_store<$s> %last
//!     loop @slices {                   loop @slices {
//!       %k = var_load<$k>                %k = var_load<$k>
//!       %in = ult %k, %s + 64      →     %go = ult %k, %last
//!       if %in {                         if %go {
//!         …                                …
//!         $k = %k + 16                     $k = %k + 16
//!         br @slices                       br @slices
//!       }                                }
//!     }                                }
//!     $s = %s + 64
//!     br @blocks
//!   }
//! }
//! ```

use super::counted::Counted;
use super::late::Late;
use crate::entities::{Block, Inst, Value, Var};
use crate::module::{Function, LocId};
use crate::op::{BinaryOp, CompareOp, Op};
use crate::tree::Tree;
use crate::types::{Scalar, Type};

/// Makes one loop of each two.
pub(super) fn run(func: &Function) -> Function {
    let late = Late::of(func);
    let mut new = func.clone();
    for block in (0..func.blocks.len()).map(Block::new) {
        if let Some(nest) = Nest::of(func, &late, block) {
            nest.flatten(&mut new);
        }
    }
    new
}

/// Two loops that count together.
struct Nest {
    blocks: Counted,
    slices: Counted,
    /// What the outer loop does before the inner one.
    before: Vec<Inst>,
}

impl Nest {
    /// That with this block as the body of its inner loop.
    fn of(func: &Function, late: &Late, body: Block) -> Option<Self> {
        let tree = &late.tree;
        let slices = Counted::of(func, tree, body)?;
        let blocks = Counted::of(func, tree, slices.around.block)?;
        let insts = func.block(blocks.body);
        let (before, behind) = insts.split_at(insts.iter().position(|&inst| inst == slices.around.inst)?);
        let (_, behind) = behind.split_first()?;
        let is_block = func.def(slices.end).op == Op::Binary(BinaryOp::Iadd)
            && blocks.step.is_multiple_of(slices.step)
            && slices.compare == blocks.compare
            && !late.is_late(blocks.around.inst, &[]);
        let nest = Self { blocks, slices, before: before.to_vec() };
        let has_own_counters = is_block && nest.has_own_counters(func, tree);
        let is_plain = before.iter().chain(behind).all(|&inst| nest.is_between(func, inst))
            && tree.within(nest.slices.head).iter().all(|&inst| nest.is_inside(func, inst))
            && nest.blocks.before(func).iter().all(|&inst| nest.is_outside(func, inst));
        (has_own_counters && is_plain).then_some(nest)
    }

    /// Whether one counter begins where the other is and ends a step of it further, and nobody else looks at either.
    fn has_own_counters(&self, func: &Function, tree: &Tree) -> bool {
        let (blocks, slices) = (&self.blocks, &self.slices);
        let [outer, inner] = [blocks, slices].map(|counted| tree.within(counted.head));
        let end = func.values[slices.end.index()].def;
        let is_block = |v: Value| func.def(v).op == Op::VarLoad(blocks.var);
        let ends = &func.inst(end).args;
        let is_step = |v: Value| func.const_bits(v) == Some(blocks.step);
        let is_step_further = ends.iter().any(|&v| is_block(v)) && ends.iter().any(|&v| is_step(v));
        let is_start = |inst: &Inst| func.inst(*inst).op == Op::VarStore(slices.var);
        let starts: Vec<Inst> = self.before.iter().copied().filter(is_start).collect();
        let &[start] = starts.as_slice() else { return false };
        let is_own = |inst: &Inst| {
            let info = func.inst(*inst);
            let uses = |var: Var| info.op.vars().any(|(other, _)| other == var);
            let is_stored_last =
                |counted: &Counted| matches!(func.block(counted.body), [.., store, _] if store == inst);
            let is_known = match info.op {
                Op::VarLoad(var) if var == blocks.var => outer.contains(inst),
                Op::VarLoad(var) if var == slices.var => inner.contains(inst),
                Op::VarStore(var) if var == blocks.var => !outer.contains(inst) || is_stored_last(blocks),
                Op::VarStore(var) if var == slices.var => {
                    !outer.contains(inst) || *inst == start || is_stored_last(slices)
                }
                _ => !uses(blocks.var) && !uses(slices.var),
            };
            let may_use_block = [start, end, blocks.test, blocks.next].contains(inst);
            let may_use_end = *inst == slices.test;
            is_known
                && info.args.iter().all(|&v| may_use_block || !is_block(v))
                && info.args.iter().all(|&v| may_use_end || v != slices.end)
        };
        is_step_further && is_block(func.inst(start).args[0]) && tree.order().iter().all(is_own)
    }

    /// Whether an instruction of the outer loop may be done once before all slices, or not at all.
    fn is_between(&self, func: &Function, inst: Inst) -> bool {
        let op = &func.inst(inst).op;
        match *op {
            Op::VarLoad(var) => var == self.blocks.var,
            Op::VarStore(var) => var == self.blocks.var || var == self.slices.var,
            Op::Br(_) => func.block(self.blocks.body).last() == Some(&inst),
            _ => op.computes(),
        }
    }

    /// Whether one of the outer loop's head gives the same whenever it is done.
    fn is_outside(&self, func: &Function, inst: Inst) -> bool {
        let op = &func.inst(inst).op;
        match *op {
            Op::VarLoad(var) => var == self.blocks.var,
            _ => !op.has_effect() && op.vars().next().is_none(),
        }
    }

    /// Whether one of the inner loop's stores to variables alone.
    fn is_inside(&self, func: &Function, inst: Inst) -> bool {
        let op = &func.inst(inst).op;
        match *op {
            Op::If { .. } => func.block(self.slices.head).last() == Some(&inst),
            Op::Br(_) => func.block(self.slices.body).last() == Some(&inst),
            Op::VarStore(_) | Op::Decline => true,
            _ => !op.has_effect() && op.bodies().next().is_none(),
        }
    }

    fn flatten(&self, func: &mut Function) {
        let (blocks, slices) = (&self.blocks, &self.slices);
        let home = blocks.around.block;
        let Some(at) = func.block(home).iter().position(|&inst| inst == blocks.around.inst) else { return };
        let mut code = [blocks.before(func), self.before.as_slice()].concat();
        let loc = func.inst(blocks.test).loc;
        let last = self.last(func, loc, &mut code);
        // Where the nest is in a loop that does not set the counter, it begins there the next time.
        code.push(func.new_inst(Op::VarStore(blocks.var), &[last], &[], loc));
        code.push(slices.around.inst);
        func.insts[slices.test.index()].args[1] = last;
        func.blocks[home.index()].splice(at..=at, code);
    }

    /// Where the last slice ends, if no word wraps until then.
    fn last(&self, func: &mut Function, loc: LocId, code: &mut Vec<Inst>) -> Value {
        let Counted { counter, end, step, compare, .. } = self.blocks;
        let mut make = |op: Op, args: &[Value], ty: Type| {
            let inst = func.new_inst(op, args, &[ty], loc);
            code.push(inst);
            func.inst(inst).results[0]
        };
        let (most, max) = match compare {
            CompareOp::Slt => (i32::MAX as u64, BinaryOp::Smax),
            _ => (u32::MAX.into(), BinaryOp::Umax),
        };
        let far = make(Op::Const(most - step + 1), &[], Scalar::I32.into());
        let is_far = make(Op::Compare(compare), &[far, end], Type::BOOL);
        let [step, almost] = [step, step - 1].map(|bits| make(Op::Const(bits), &[], Scalar::I32.into()));
        let mut binary = |op: BinaryOp, x: Value, y: Value| make(Op::Binary(op), &[x, y], Type::I32);
        // Some number of blocks from the first on: none where the end is before it.
        let end = binary(max, end, counter);
        let words = binary(BinaryOp::Isub, end, counter);
        let words = binary(BinaryOp::Iadd, words, almost);
        let count = binary(BinaryOp::Udiv, words, step);
        let words = binary(BinaryOp::Imul, count, step);
        let last = binary(BinaryOp::Iadd, counter, words);
        let decline = func.new_inst(Op::Decline, &[is_far], &[], loc);
        code.push(decline);
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::opt_dce;
    use crate::{text, verify};

    /// Slices of 16 of blocks of 64.
    const NEST: &str = "workgroup_size 32 1 1 subgroup_size 32 push 8
    binding buf0 = 0.0 storage writable
    var $sum: i32 var $s: i32 var $k: i32 {
    %start: i32 = const 32
    %16: i32 = const 16
    %64: i32 = const 64
    %push: ptr<push> = push_ptr
    %a: ptr<buffer> = buffer_ptr<buf0> %start
    var_store<$s> %start
    loop @blocks {
      %s: i32 = var_load<$s>
      %end: i32 = load %push
      %go: bool = ult %s, %end
      if %go {
        var_store<$k> %s
        loop @slices {
          %k: i32 = var_load<$k>
          %last: i32 = iadd %s, %64
          %in: bool = ult %k, %last
          if %in {
            %p: ptr<buffer> = ptr_add<scale=4> %a, %k
            %x: i32 = load %p
            %old: i32 = var_load<$sum>
            %new: i32 = iadd %old, %x
            var_store<$sum> %new
            %n: i32 = iadd %k, %16
            var_store<$k> %n
            br @slices
          }
        }
        %t: i32 = iadd %s, %64
        var_store<$s> %t
        br @blocks
      }
    }
    %sum: i32 = var_load<$sum>
    store %a, %sum
    }";

    /// How many loops are left, and how often code may decline.
    fn loops(code: &str) -> [usize; 2] {
        let module = verify(text::parse(code).unwrap_or_else(|e| panic!("{e}\n{code}")));
        let mut module = module.unwrap_or_else(|e| panic!("{e}\n{code}")).into_inner();
        module.body = opt_dce::run(&run(&module.body));
        let module = verify(module).unwrap_or_else(|e| panic!("{e}\n{code}"));
        let func = &module.body;
        let tree = Tree::new(func);
        let count =
            |is: fn(&Op) -> bool| tree.order().iter().filter(|inst| is(&func.inst(**inst).op)).count();
        [count(|op| matches!(op, Op::Loop { .. })), count(|op| *op == Op::Decline)]
    }

    #[test]
    fn blocks_of_slices_are_one_loop() {
        assert_eq!(loops(NEST), [1, 1]);
        // Signed, too.
        assert_eq!(loops(&NEST.replace("ult", "slt")), [1, 1]);
        // One that goes on, the next time, where it ended.
        let again = NEST.replace("loop @blocks {", "loop @again {\nloop @blocks {");
        let again = again.replace("%sum:", "%more: bool = ult %64, %16\nif %more { br @again }\n}\n%sum:");
        assert_eq!(loops(&again), [2, 1]);
        let mut module = text::parse(&again).unwrap();
        module.body = run(&module.body);
        assert_eq!(module.to_string().matches("var_store<$s>").count(), 2, "{module}");
        // What is computed between the loops.
        let code = NEST.replace("var_store<$k> %s", "%x4: i32 = imul %64, %16\nvar_store<$k> %s");
        assert_eq!(loops(&code.replace("%x: i32 = load %p\n", "%x: i32 = iadd %k, %x4\n")), [1, 1]);
    }

    #[test]
    fn other_nests_stay() {
        for (from, to) in [
            // Slices that are not all of a block, or of another one.
            ("%last: i32 = iadd %s, %64", "%last: i32 = iadd %s, %16"),
            ("%last: i32 = iadd %s, %64", "%last: i32 = iadd %k, %64"),
            ("%last: i32 = iadd %s, %64", "%last: i32 = imul %s, %64"),
            ("%n: i32 = iadd %k, %16", "%n: i32 = iadd %k, %end"),
            ("%16: i32 = const 16", "%16: i32 = const 24"),
            ("%in: bool = ult", "%in: bool = slt"),
            ("var_store<$k> %s", "var_store<$k> %16"),
            ("var_store<$k> %s", "var_store<$k> %16\nvar_store<$k> %s"),
            // What others would see of the counters.
            ("store %a, %sum", "%z: i32 = var_load<$s>\nstore %a, %z"),
            ("store %a, %sum", "%z: i32 = var_load<$k>\nstore %a, %z"),
            ("ptr_add<scale=4> %a, %k", "ptr_add<scale=4> %a, %s"),
            ("ptr_add<scale=4> %a, %k", "ptr_add<scale=4> %a, %last"),
            ("var_store<$sum> %new", "var_store<$sum> %new\nvar_store<$k> %new"),
            ("var_store<$sum> %new", "var_store<$sum> %new\nvar_store<$s> %new"),
            // What is done for each block.
            ("var_store<$k> %s", "store %a, %s\nvar_store<$k> %s"),
            ("var_store<$k> %s", "var_store<$sum> %16\nvar_store<$k> %s"),
            ("%t: i32", "barrier<workgroup, workgroup>\n%t: i32"),
            ("%go: bool", "%z: i32 = var_load<$sum>\n%go: bool"),
            // What can't be done once more, or is too late to decline behind.
            ("%x: i32 = load %p\n", "%x: i32 = load<volatile> %p\n"),
            ("var_store<$sum> %new", "store %p, %new"),
            ("var_store<$s> %start", "store %a, %start\nvar_store<$s> %start"),
        ] {
            let code = NEST.replace(from, to);
            assert_ne!(code, NEST, "{from}");
            assert_eq!(loops(&code), [2, 0], "{from} → {to}");
        }
    }
}

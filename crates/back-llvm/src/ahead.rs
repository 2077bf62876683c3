//! Asking for memory that a later work-group will read.
//!
//! A product of a matrix and a vector reads one or two rows in each work-group, and each row is a stream that begins anew:
//! before a processor foresees it, a good part of the row has been waited for. But what lies behind the rows is what the
//! next work-groups read, which this thread comes to next. So a load in a loop that goes on where the round before ended
//! asks for what lies some way behind, whichever row that is:
//!
//! ```text
//! row 0:  [....<at>.............]                      read in this round, and
//! row 1:  [....................]
//! row 2:  [....<at + AHEAD>....]                       asked for meanwhile
//! ```
//!
//! What does not depend on the number of the work-group is the same for all of them, so in a cache already, and a loop
//! with larger steps, down a column, would bring in what nobody reads. Multiplications of matrices ask on their own
//! (`coopmat/wishes.rs`).

use crate::error::Result;
use crate::lower::Lower;
use crate::memory::Access;
use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode, PointerValue};
use phalanx_ir::{Builtin, Function, Inst, Op, Space, Type};
use rustc_hash::FxHashSet;

/// Bytes of a line of the cache.
const LINE: u64 = 64;

/// How far behind what is read lies what is asked for: several work-groups of short rows.
const AHEAD: u64 = 12 * 1024;

/// The loads from buffers whose addresses depend on the number of the work-group along x, the next of which this thread
/// comes to next; none in programs that multiply matrices.
pub(crate) fn streams(func: &Function) -> FxHashSet<Inst> {
    if func.insts.iter().any(|i| matches!(i.op, Op::MatMulAdd(_))) {
        return FxHashSet::default();
    }
    let mut values = vec![false; func.values.len()];
    let mut vars = vec![false; func.vars.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for info in &func.insts {
            let is_id =
                matches!(info.op, Op::Builtin(Builtin::WorkgroupId(0) | Builtin::GlobalInvocationId(0)));
            let depends = is_id
                || info.args.iter().any(|v| values[v.index()])
                || info.op.vars().any(|(var, how)| !how.writes() && vars[var.index()]);
            if !depends {
                continue;
            }
            for (var, _) in info.op.vars().filter(|(_, how)| how.writes()) {
                changed |= !std::mem::replace(&mut vars[var.index()], true);
            }
            for v in &info.results {
                changed |= !std::mem::replace(&mut values[v.index()], true);
            }
        }
    }
    let is_stream = |i: &Inst| {
        let info = func.inst(*i);
        matches!(info.op, Op::Load(_))
            && func.ty(info.args[0]) == Type::Ptr(Space::Buffer)
            && values[info.args[0].index()]
    };
    (0..func.insts.len()).map(Inst::new).filter(is_stream).collect()
}

impl<'c> Lower<'_, 'c> {
    /// Asks for what lies behind so many bytes that all lanes read together, if the loop that reads them goes on there.
    pub(crate) fn ask_ahead(&mut self, a: &Access<'c>, at: PointerValue<'c>, bytes: u64) -> Result<()> {
        if !a.is_stream || bytes < LINE {
            return Ok(());
        }
        let word = self.e.cx.i64_type();
        let before = self.alloca(word, "before")?;
        self.at_entry(|l| l.e.store(l.e.i64(0), before, 8))?;
        let address = self.e.cast(InstructionOpcode::PtrToInt, at.into(), word)?;
        let last = self.e.load(word, before, 8)?;
        self.e.store(address, before, 8)?;
        let step = self.e.sub(address, last)?;
        let is_near = self.e.icmp(IntPredicate::ULE, step, self.e.i64(2 * bytes as i64))?;
        let is_first = self.e.icmp(IntPredicate::EQ, last, self.e.i64(0))?;
        let goes_on = self.e.or(is_near, is_first)?;
        let distance = self.e.select(goes_on, self.e.i64(AHEAD as i64), self.e.i64(0))?;
        let from = self.e.offset(at.into(), distance)?.into_pointer_value();
        for line in (0..bytes).step_by(LINE as usize) {
            let line = self.e.field(from, line)?;
            // To be read, into the second cache, data.
            let args = [line.into(), self.e.i32(0), self.e.i32(2), self.e.i32(1)];
            self.e.intrinsic_effect("llvm.prefetch", &[self.e.ptr_ty().into()], &args)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Options, Target, compile};
    use phalanx_ir::{text, verify};
    use phalanx_kernels::Processor;

    /// Lines that code asks for which reads 128 bytes in each of four rounds from `place` words on.
    fn asked(place: &str, loops: bool) -> usize {
        let (begin, end) =
            if loops { ("loop @1 {", "if %more {\nbr @1\n} else {\n}\n}") } else { ("block @1 {", "}") };
        let module = format!(
            "kernel \"main\"
workgroup_size 32 1 1
subgroup_size 32
binding buf0 = 0.0 storage writable
var $0: i32
{{
  %0: i32 = const 0
  %1: i32 = const 1
  %4: i32 = const 4
  %32: i32 = const 32
  %p: ptr<buffer> = buffer_ptr<buf0> %0
  %lane: i32 = local_invocation_id<x>
  %x: i32 = workgroup_id<x>
  %y: i32 = workgroup_id<y>
  var_store<$0> %0
  {begin}
    %i: i32 = var_load<$0>
    %next: i32 = iadd %i, %1
    %more: bool = ult %next, %4
    var_store<$0> %next
    %round: i32 = imul %i, %32
    %part: i32 = iadd %round, %lane
    %row: i32 = imul {place}, %32
    %at: i32 = iadd %part, %row
    %from: ptr<buffer> = ptr_add<scale=4> %p, %at
    %v: i32 = load %from
    %to: ptr<buffer> = ptr_add<scale=4> %p, %lane
    store %to, %v
  {end}
}}
"
        );
        let module = verify(text::parse(&module).unwrap()).unwrap();
        let target = Target::new(Processor::named("znver4").unwrap());
        let compiled = compile(&module, &target, &Options { dump_asm: true, ..Options::default() }).unwrap();
        compiled.dumps.asm.unwrap().matches("prefetch").count()
    }

    #[test]
    fn loops_ask_for_what_the_next_work_groups_read() {
        assert_eq!(asked("%x", true), 2);
        // The next work-group reads the same.
        assert_eq!(asked("%y", true), 0);
        assert_eq!(asked("%x", false), 0);
    }
}

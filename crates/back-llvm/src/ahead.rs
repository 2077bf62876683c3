//! Asking for memory that a later work-group will read.
//!
//! A product of a matrix and a vector reads one or two rows in each work-group, and each row is a stream that begins anew:
//! before a processor foresees it, a good part of a short row has been waited for. But the next work-group, which this
//! thread comes to next, reads rows that are as far from these as these are from those of the last one: the next along x, or
//! along y or z where the others do not count. So a load in a loop that reads on where it ended in the round before notes
//! where it began, and asks for the same part of the next stream, up to where a processor foresees it:
//!
//! ```text
//! row 0:  [**..................]          noted by the last work-group
//! row 2:  [**<at>..............]          read now
//! row 4:  [**<asked for>.......]
//! ```
//!
//! The next row of a few hundred bytes is read before it can have come, so of the work-groups behind that is asked for
//! before which [`NEAREST`] bytes are read, wherever they lie: heads of attention are parts of rows.
//!
//! What does not depend on the number of the work-group is the same for all of them, so in a cache already. What is an
//! unknown length away in each round of a loop, as rows are for a loop over rows, is no stream of that loop: it would begin
//! anew in each round.
//! Multiplications of matrices ask on their own (`coopmat/wishes.rs`).

use crate::emit::V;
use crate::error::Result;
use crate::lower::Lower;
use crate::memory::Access;
use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode, PointerValue};
use phalanx_ir::{BinaryOp, Block, Builtin, Function, Inst, InstInfo, Op, Space, Type, Value, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// Bytes of a line of the cache.
const LINE: u64 = 64;

/// Bytes from the beginning of a stream that are asked for; what follows the processor foresees.
const FOREMOST: u64 = 4096;

/// Bytes from the beginning of a stream to that of the next from which on nothing is asked for: waiting at the beginning
/// of so long a row is no great part of reading it, and asking was a tenth.
const FAR: u64 = 32 * 1024;

/// The least bytes that are read between asking and reading: at 30 bytes in a nanosecond memory takes some thousands to
/// answer. Rows of 4096 bytes lose a fifth by twice as much.
const NEAREST: u64 = 4096;

/// The loads from buffers whose addresses depend on the number of the work-group along the first axis that counts, the next
/// of which this thread comes to next, one for each element of a buffer that is read in parts; none in programs that
/// multiply matrices.
pub(crate) fn streams(func: &Function) -> FxHashSet<Inst> {
    if func.insts.iter().any(|i| matches!(i.op, Op::MatMulAdd(_))) {
        return FxHashSet::default();
    }
    let Some(first) = func.insts.iter().filter_map(axis).min() else { return FxHashSet::default() };
    let values = func.made_of(|info| axis(info) == Some(first), |_| true);
    let mut streams = FxHashSet::default();
    let jumps = jumps(func);
    for block in &func.blocks {
        // By what it is an element of: the load that reads most.
        let mut widest: FxHashMap<Value, (Inst, u64)> = FxHashMap::default();
        for &inst in block {
            let info = func.inst(inst);
            let is_stream = matches!(info.op, Op::Load(_))
                && func.ty(info.args[0]) == Type::Ptr(Space::Buffer)
                && values[info.args[0].index()]
                && !jumps.contains(&inst);
            let scalar = info.results.first().and_then(|&v| func.ty(v).scalar());
            if let (true, Some(scalar)) = (is_stream, scalar) {
                let bytes = info.results.len() as u64 * u64::from(scalar.bytes());
                let known = widest.entry(first_index(func, info.args[0])).or_insert((inst, bytes));
                if bytes > known.1 {
                    *known = (inst, bytes);
                }
            }
        }
        streams.extend(widest.into_values().map(|(inst, _)| inst));
    }
    streams
}

/// The axis along which an instruction asks for the number of the work-group.
fn axis(info: &InstInfo) -> Option<u8> {
    match info.op {
        Op::Builtin(Builtin::WorkgroupId(axis) | Builtin::GlobalInvocationId(axis)) => Some(axis),
        _ => None,
    }
}

/// The loads whose places are, in each round of the innermost loop around them, a product with an unknown length.
fn jumps(func: &Function) -> FxHashSet<Inst> {
    let mut jumps = FxHashSet::default();
    let mut open: Vec<(Block, Vec<Var>)> = vec![(Function::ENTRY, Vec::new())];
    while let Some((block, counters)) = open.pop() {
        for &inst in func.block(block) {
            let info = func.inst(inst);
            if matches!(info.op, Op::Load(_)) && is_product(func, info.args[0], &counters) {
                jumps.insert(inst);
            }
            for body in info.op.bodies() {
                let mut counters = counters.clone();
                if matches!(info.op, Op::Loop { .. }) {
                    counters.clear();
                    stored(func, body, &mut counters);
                }
                open.push((body, counters));
            }
        }
    }
    jumps
}

/// The variables that a block writes.
fn stored(func: &Function, block: Block, vars: &mut Vec<Var>) {
    for &inst in func.block(block) {
        let op = &func.inst(inst).op;
        vars.extend(op.vars().filter(|(_, how)| how.writes()).map(|(var, _)| var));
        op.bodies().for_each(|body| stored(func, body, vars));
    }
}

/// Whether a value is computed from the product of two values that are not known, one of which is computed from these variables.
fn is_product(func: &Function, value: Value, vars: &[Var]) -> bool {
    let is_unknown = |v: &Value| func.const_bits(*v).is_none();
    !vars.is_empty()
        && makers(func, value).into_iter().any(|inst| {
            let info = func.inst(inst);
            let is_product =
                matches!(info.op, Op::Binary(BinaryOp::Imul)) && info.args.iter().all(is_unknown);
            is_product && info.args.iter().any(|&factor| comes_from(func, factor, vars))
        })
}

/// Whether a value is computed from one of these variables.
fn comes_from(func: &Function, value: Value, vars: &[Var]) -> bool {
    let is_read = |inst: Inst| func.inst(inst).op.vars().any(|(var, _)| vars.contains(&var));
    makers(func, value).into_iter().any(is_read)
}

/// The instructions that a value is computed by, without what variables hold.
fn makers(func: &Function, value: Value) -> FxHashSet<Inst> {
    let mut makers = FxHashSet::default();
    let mut open = vec![value];
    while let Some(v) = open.pop() {
        let inst = func.values[v.index()].def;
        if makers.insert(inst) {
            open.extend(&func.inst(inst).args);
        }
    }
    makers
}

/// The first index on the way from an object to a place in it: that of a block of weights, wherever in it the place is.
fn first_index(func: &Function, mut ptr: Value) -> Value {
    let mut index = ptr;
    while let Op::PtrAdd { .. } = func.def(ptr).op {
        let args = &func.def(ptr).args;
        if let Some(&i) = args.get(1) {
            index = i;
        }
        ptr = args[0];
    }
    index
}

impl<'c> Lower<'_, 'c> {
    /// Asks for what the next work-group reads in the place of so many bytes, which all lanes read together.
    pub(crate) fn ask_ahead(&mut self, a: &Access<'c>, at: PointerValue<'c>, bytes: u64) -> Result<()> {
        // Lanes that are far from each other are no stream together.
        if !a.is_stream || !(LINE..=FOREMOST).contains(&bytes) {
            return Ok(());
        }
        let word = self.e.cx.i64_type();
        // What another dispatch left there is as good as anything.
        let mut noted = || -> Result<PointerValue<'c>> {
            let at = self.alloc_scratch(8, 8);
            self.scratch_ptr(at)
        };
        let (first, before) = (noted()?, noted()?);
        let mut variable = |name| self.alloca(word, name);
        let (ended, distance, end) = (variable("ended")?, variable("distance")?, variable("foremost")?);
        self.at_group(|l| {
            let last = l.e.load(word, before, 8)?;
            l.e.store(last, ended, 8)?;
            [before, distance, end].into_iter().try_for_each(|at| l.e.store(l.e.i64(0), at, 8).map(|_| ()))
        })?;
        let [begins, goes_on, asks, done] =
            ["begins", "goes_on", "asks", "asked"].map(|name| self.new_block(name));
        let address = self.e.cast(InstructionOpcode::PtrToInt, at.into(), word)?;
        let step = self.e.sub(address, self.e.load(word, before, 8)?)?;
        self.e.store(address, before, 8)?;
        // Between them lies what the other subgroups read.
        let near = 2 * bytes * u64::from(self.ir.num_subgroups());
        let is_first = self.e.icmp(IntPredicate::UGT, step, self.e.i64(near as i64))?;
        self.e.cond_br(is_first, begins, goes_on)?;

        self.e.b.position_at_end(begins);
        let last = self.e.load(word, first, 8)?;
        self.e.store(address, first, 8)?;
        let from_last = self.e.sub(address, last)?;
        let behind = self.e.add(self.e.load(word, ended, 8)?, self.e.i64(bytes as i64))?;
        let length = self.e.sub(behind, last)?;
        let far = self.times_until_far(from_last, length)?;
        self.e.store(far, distance, 8)?;
        let shifted = self.e.add(from_last, self.e.i64(FAR as i64 - 1))?;
        let is_far = self.e.icmp(IntPredicate::UGT, shifted, self.e.i64(2 * FAR as i64 - 2))?;
        let foremost = self.e.select(is_far, self.e.i64(0), self.e.i64(FOREMOST as i64))?;
        self.e.store(self.e.add(address, foremost)?, end, 8)?;
        self.e.br(goes_on)?;

        self.e.b.position_at_end(goes_on);
        let is_foremost = self.e.icmp(IntPredicate::ULT, address, self.e.load(word, end, 8)?)?;
        self.e.cond_br(is_foremost, asks, done)?;

        self.e.b.position_at_end(asks);
        let from_last = self.e.load(word, distance, 8)?;
        let from = self.e.offset(at.into(), from_last)?.into_pointer_value();
        for line in (0..bytes).step_by(LINE as usize) {
            let line = self.e.field(from, line)?;
            self.want_later(line)?;
        }
        self.e.br(done)?;
        self.e.b.position_at_end(done);
        Ok(())
    }

    /// A distance between streams of a length, times the least power of two with which [`NEAREST`] bytes or more are read
    /// between them.
    fn times_until_far(&mut self, distance: V<'c>, length: V<'c>) -> Result<V<'c>> {
        let (ty, no) = (self.e.cx.i64_type().into(), self.e.cx.bool_type().const_zero().into());
        let size = self.e.intrinsic("llvm.abs", &[ty], &[distance, no])?;
        let read = self.e.map2("llvm.umin", size, length)?;
        let read = self.e.map2("llvm.umax", read, self.e.i64(LINE as i64))?;
        let above = self.e.intrinsic("llvm.ctlz", &[ty], &[read, no])?;
        let least = self.e.i64(i64::from(NEAREST.leading_zeros()));
        let times = self.e.intrinsic("llvm.usub.sat", &[ty], &[above, least])?;
        self.e.shl(distance, times)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::assembly;

    /// Lines that code asks for which reads 128 bytes in each of four rounds from `place` words on.
    fn asked(place: &str, loops: bool) -> usize {
        asked_of(&format!("%row: i32 = imul {place}, %32"), loops)
    }

    /// The same where an instruction makes `%row`.
    fn asked_of(row: &str, loops: bool) -> usize {
        asked_by("%x: i32 = workgroup_id<x>\n%y: i32 = workgroup_id<y>", row, loops)
    }

    /// The same where the numbers of the work-group are other ones.
    fn asked_by(numbers: &str, row: &str, loops: bool) -> usize {
        let (begin, end) =
            if loops { ("loop @1 {", "if %more {\nbr @1\n} else {\n}\n}") } else { ("block @1 {", "}") };
        let module = format!(
            "kernel \"main\"
workgroup_size 32 1 1
subgroup_size 32
push 4
binding buf0 = 0.0 storage writable
var $0: i32
{{
  %0: i32 = const 0
  %1: i32 = const 1
  %4: i32 = const 4
  %32: i32 = const 32
  %p: ptr<buffer> = buffer_ptr<buf0> %0
  %lane: i32 = local_invocation_id<x>
  {numbers}
  var_store<$0> %0
  {begin}
    %i: i32 = var_load<$0>
    %next: i32 = iadd %i, %1
    %more: bool = ult %next, %4
    var_store<$0> %next
    %round: i32 = imul %i, %32
    %part: i32 = iadd %round, %lane
    {row}
    %at: i32 = iadd %part, %row
    %from: ptr<buffer> = ptr_add<scale=4> %p, %at
    %v: i32 = load %from
    %to: ptr<buffer> = ptr_add<scale=4> %p, %lane
    store %to, %v
  {end}
}}
"
        );
        assembly(&module, "znver4").matches("prefetch").count()
    }

    #[test]
    fn loops_ask_for_what_the_next_work_groups_read() {
        assert_eq!(asked("%x", true), 2);
        // A row of which nobody knows how long it is in each round.
        let row = "%push: ptr<push> = push_ptr\n%length: i32 = load %push\n%far: i32 = imul %i, %length\n\
                   %row: i32 = iadd %x, %far";
        assert_eq!(asked_of(row, true), 0);
        // The next work-group reads the same.
        assert_eq!(asked("%y", true), 0);
        assert_eq!(asked("%x", false), 0);
    }

    #[test]
    fn where_there_is_no_row_of_work_groups_those_of_a_column_follow_one_another() {
        let row = "%row: i32 = imul %y, %32";
        assert_eq!(asked_by("%y: i32 = workgroup_id<y>", row, true), 2);
        assert_eq!(asked_by("%y: i32 = workgroup_id<z>", row, true), 2);
    }

    /// Planes of 8×4 that lie 100 KB from each other are no stream together.
    #[test]
    fn lanes_that_are_far_from_each_other_ask_for_nothing() {
        let plane = |far: u32| {
            format!(
                "%z: i32 = lshr %lane, %4\n%far: i32 = const {far}\n%row0: i32 = imul %x, %32\n%up: i32 = imul %z, %far\n%row: i32 = iadd %row0, %up"
            )
        };
        assert!(asked_of(&plane(16), true) > 0);
        assert_eq!(asked_of(&plane(25_000), true), 0);
    }
}

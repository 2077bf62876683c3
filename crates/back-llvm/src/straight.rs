//! Straight code is cut into pieces.
//!
//! Parts of LLVM take time with the square of a block's length: each load that a bounds check may send elsewhere
//! makes `instcombine` look through all before it, instruction selection walks the chains of memory accesses, and
//! schedulers compare accesses in pairs. Two blocks of which one just jumps to the other are one to LLVM. So code
//! that has run on for long without a branch gets the one that loops have: it leaves if the host wants the dispatch
//! to end. 4000 loads one behind the other take code generation 2.5 s of a Zen 4 instead of 6.4 s; a test in 1000
//! instructions is not felt.

use crate::error::Result;
use crate::lower::Lower;
use phalanx_ir::{Inst, InstInfo, Op};

/// Instructions of LLVM, about, from one branch to the next. No kernel of the ladder or the benchmarks has so many.
const MAX_STRAIGHT: u32 = 1024;

impl Lower<'_, '_> {
    /// Counts an instruction that was just lowered, and ends the block if that has become long.
    pub(crate) fn bound_straight_code(&mut self, inst: Inst) -> Result<()> {
        let length = self.e.straight.get() + weight(self.f.inst(inst));
        self.e.straight.set(length);
        if length > MAX_STRAIGHT { self.leave_if_stopped() } else { Ok(()) }
    }
}

/// About how many instructions of LLVM an instruction becomes, apart from those in blocks of their own.
fn weight(info: &InstInfo) -> u32 {
    let scalars = (info.args.len() + info.results.len()) as u32;
    match info.op {
        Op::Const(_) => 0,
        Op::Load(_) | Op::Store(_) | Op::Atomic(_) => 4 * scalars,
        Op::PtrAdd { .. } => 2,
        Op::Image(..) => 8 * scalars,
        Op::Subgroup(_) => 16,
        _ => 1,
    }
}

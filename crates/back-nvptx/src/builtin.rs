//! Built-in inputs, from special registers.
//!
//! A block of threads has one axis, so that warps are subgroups whatever the shape of a work-group is; coordinates are
//! quotients and remainders by constants.

use crate::abi;
use crate::lower::Lower;
use inkwell::values::InstructionOpcode as I;
use phalanx_emit_llvm::{Result, V};
use phalanx_ir::{Builtin, Module};

/// The number of a work-group in its launch, by axis.
const GROUP: [&str; 3] =
    ["llvm.nvvm.read.ptx.sreg.ctaid.x", "llvm.nvvm.read.ptx.sreg.ctaid.y", "llvm.nvvm.read.ptx.sreg.ctaid.z"];

/// What an input is for an invocation of a work-group, by its local index; nothing if that does not follow from it.
pub(crate) fn of_invocation(module: &Module, invocation: u32, builtin: Builtin) -> Option<u32> {
    match builtin {
        Builtin::LocalInvocationIndex => Some(invocation),
        Builtin::SubgroupId => Some(invocation / abi::SUBGROUP_SIZE),
        Builtin::SubgroupLane => Some(invocation % abi::SUBGROUP_SIZE),
        Builtin::LocalInvocationId(axis) => {
            let (size, axis) = (module.workgroup_size, usize::from(axis));
            Some(invocation / size[..axis].iter().product::<u32>() % size[axis])
        }
        _ => None,
    }
}

impl<'c> Lower<'_, 'c> {
    /// The number of this work-group in its launch (`i64`): along x, then y, then z.
    pub(crate) fn number_in_launch(&mut self) -> Result<V<'c>> {
        const COUNT: [&str; 3] = [
            "llvm.nvvm.read.ptx.sreg.nctaid.x",
            "llvm.nvvm.read.ptx.sreg.nctaid.y",
            "llvm.nvvm.read.ptx.sreg.nctaid.z",
        ];
        let mut number = self.e.i64(0);
        for axis in [2, 1, 0] {
            let count = self.e.intrinsic(COUNT[axis], &[], &[])?;
            let group = self.e.intrinsic(GROUP[axis], &[], &[])?;
            number = self.e.mul(number, self.e.zext_trunc(count, 64)?)?;
            number = self.e.add(number, self.e.zext_trunc(group, 64)?)?;
        }
        Ok(number)
    }

    pub(crate) fn builtin(&mut self, b: Builtin) -> Result<V<'c>> {
        match b {
            Builtin::NumWorkgroups(axis) => self.argument(abi::GROUPS + 4 * u64::from(axis.min(2))),
            Builtin::WorkgroupId(axis) => {
                let axis = axis.min(2);
                let group = self.e.intrinsic(GROUP[usize::from(axis)], &[], &[])?;
                let base = self.argument(abi::BASE + 4 * u64::from(axis))?;
                self.e.add(base, group)
            }
            Builtin::LocalInvocationIndex => self.thread(),
            Builtin::SubgroupId => {
                let thread = self.thread()?;
                self.e.lshr(thread, self.e.i32(5))
            }
            Builtin::SubgroupLane => {
                let thread = self.thread()?;
                self.e.and(thread, self.e.i32(31))
            }
            Builtin::Multiprocessor => self.e.intrinsic("llvm.nvvm.read.ptx.sreg.smid", &[], &[]),
            Builtin::ResidentSubgroup => self.e.intrinsic("llvm.nvvm.read.ptx.sreg.warpid", &[], &[]),
            Builtin::LocalInvocationId(axis) => self.local_id(usize::from(axis.min(2))),
            Builtin::GlobalInvocationId(axis) => {
                let axis = axis.min(2);
                let group = self.builtin(Builtin::WorkgroupId(axis))?;
                let size = self.ir.workgroup_size[usize::from(axis)];
                let start = self.e.mul(group, self.e.i32(size))?;
                let local = self.local_id(axis.into())?;
                self.e.add(start, local)
            }
        }
    }

    /// A word of the block of arguments.
    pub(crate) fn argument(&mut self, at: u64) -> Result<V<'c>> {
        let at = self.e.field(self.arguments, at)?;
        self.e.load_invariant(self.e.cx.i32_type(), at, 4)
    }

    /// The local index of the invocation; of its double that of the invocation, too.
    pub(crate) fn thread(&mut self) -> Result<V<'c>> {
        let thread = self.hardware_thread()?;
        match self.is_double() {
            true => self.e.sub(thread, self.e.i32(self.ir.workgroup_invocations())),
            false => self.renumbered(thread),
        }
    }

    /// The number of the thread.
    pub(crate) fn hardware_thread(&mut self) -> Result<V<'c>> {
        self.e.intrinsic("llvm.nvvm.read.ptx.sreg.tid.x", &[], &[])
    }

    fn local_id(&mut self, axis: usize) -> Result<V<'c>> {
        let size = self.ir.workgroup_size;
        if size[axis] == 1 {
            return Ok(self.e.i32(0));
        }
        let below: u32 = size[..axis].iter().product();
        let thread = self.thread()?;
        let row = if below == 1 { thread } else { self.e.bin(I::UDiv, thread, self.e.i32(below))? };
        // Beyond the last axis that is longer than 1 there is nothing to wrap around for.
        let is_last = size[axis + 1..].iter().all(|&n| n == 1);
        if is_last { Ok(row) } else { self.e.bin(I::URem, row, self.e.i32(size[axis])) }
    }
}

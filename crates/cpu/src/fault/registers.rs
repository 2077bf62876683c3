//! The registers of an interrupted thread, as a signal handler finds and changes them.

use corosensei::trap::TrapHandlerRegs;

#[cfg(target_arch = "x86_64")]
mod arch {
    use super::TrapHandlerRegs;

    /// Of the error code of a page fault: the access was a write.
    const WRITE: i64 = 2;

    /// The number of a page fault. Others leave something else in the error code.
    const PAGE_FAULT: i64 = 14;

    fn register(context: &libc::ucontext_t, number: i32) -> i64 {
        context.uc_mcontext.gregs[number as usize]
    }

    pub(in crate::fault) fn stack_pointer(context: &libc::ucontext_t) -> usize {
        register(context, libc::REG_RSP) as usize
    }

    pub(in crate::fault) fn wrote(context: &libc::ucontext_t) -> Option<bool> {
        let is_known = register(context, libc::REG_TRAPNO) == PAGE_FAULT;
        is_known.then(|| register(context, libc::REG_ERR) & WRITE != 0)
    }

    pub(in crate::fault) fn set(context: &mut libc::ucontext_t, to: TrapHandlerRegs) {
        let TrapHandlerRegs { rip, rsp, rbp, rdi, rsi } = to;
        for (number, value) in [
            (libc::REG_RIP, rip),
            (libc::REG_RSP, rsp),
            (libc::REG_RBP, rbp),
            (libc::REG_RDI, rdi),
            (libc::REG_RSI, rsi),
        ] {
            context.uc_mcontext.gregs[number as usize] = value.cast_signed();
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod arch {
    use super::TrapHandlerRegs;

    pub(in crate::fault) fn stack_pointer(context: &libc::ucontext_t) -> usize {
        context.uc_mcontext.sp as usize
    }

    /// The syndrome register tells, but stands behind the registers of vectors, whose size varies.
    pub(in crate::fault) fn wrote(_context: &libc::ucontext_t) -> Option<bool> {
        None
    }

    pub(in crate::fault) fn set(context: &mut libc::ucontext_t, to: TrapHandlerRegs) {
        let TrapHandlerRegs { pc, sp, x0, x1, x29, lr } = to;
        let machine = &mut context.uc_mcontext;
        (machine.pc, machine.sp) = (pc, sp);
        (machine.regs[0], machine.regs[1]) = (x0, x1);
        (machine.regs[29], machine.regs[30]) = (x29, lr);
    }
}

pub(super) use arch::{set, stack_pointer, wrote};

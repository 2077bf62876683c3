//! Products of bf16 in f32 arithmetic: the processor takes denormals for zeros as long as they last.
//!
//! Dot products of bf16 in hardware (VDPBF16PS, TDPBF16PS) read denormal factors and addends as zeros and make zeros
//! of denormal sums, whatever the control register says, and cannot be told otherwise. The specification leaves
//! denormals of bf16 to the implementation; so that there is one answer on every processor, f32 multiplications of
//! bf16 factors do the same, by the control register, for which they need no instruction more. VDPBF16PS is two
//! fused multiply-adds, the upper element first, each rounded to nearest even (12 800 000 random results on Zen 4 and
//! on Sapphire Rapids are equal bit by bit), so the only difference is the order of the sum. BFMLALT and BFMLALB of Arm
//! are such multiply-adds that heed the control register.
//!
//! Invariant: the control register is as it was when a kernel returns.

/// The time in which denormals count as zeros.
pub(crate) struct Flush {
    saved: arch::Register,
}

impl Flush {
    /// Whether this processor can do it.
    pub(crate) const EXISTS: bool = arch::EXISTS;

    /// Begins.
    ///
    /// # Safety
    /// Until it is dropped, all arithmetic on floats has operands that are read from memory after this call and
    /// results that are written to memory before the drop: accesses to memory stay on their side of both.
    #[inline(always)]
    pub(crate) unsafe fn start() -> Self {
        // SAFETY: forwarded; the register gets a valid value.
        unsafe {
            let saved = arch::read();
            arch::write(arch::flushing(saved));
            Self { saved }
        }
    }
}

impl Drop for Flush {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: what the register held before.
        unsafe { arch::write(self.saved) };
    }
}

#[cfg(target_arch = "x86_64")]
mod arch {
    use std::arch::asm;

    pub(super) type Register = u32;
    pub(super) const EXISTS: bool = true;

    /// DAZ and FTZ of MXCSR.
    pub(super) const fn flushing(register: Register) -> Register {
        register | 1 << 6 | 1 << 15
    }

    #[inline(always)]
    pub(super) unsafe fn read() -> Register {
        let mut register = 0;
        // SAFETY: stores the control register to a local variable.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut register, options(nostack, preserves_flags)) };
        register
    }

    #[inline(always)]
    pub(super) unsafe fn write(register: Register) {
        // SAFETY: the caller vouches for the value.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const register, options(nostack, preserves_flags)) };
    }
}

#[cfg(target_arch = "aarch64")]
mod arch {
    use std::arch::asm;

    pub(super) type Register = u64;
    pub(super) const EXISTS: bool = true;

    /// FZ of FPCR.
    pub(super) const fn flushing(register: Register) -> Register {
        register | 1 << 24
    }

    #[inline(always)]
    pub(super) unsafe fn read() -> Register {
        let register;
        // SAFETY: reads the control register.
        unsafe { asm!("mrs {}, fpcr", out(reg) register, options(nostack, preserves_flags)) };
        register
    }

    #[inline(always)]
    pub(super) unsafe fn write(register: Register) {
        // SAFETY: the caller vouches for the value.
        unsafe { asm!("msr fpcr, {}", in(reg) register, options(nostack, preserves_flags)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod arch {
    pub(super) type Register = u32;
    pub(super) const EXISTS: bool = false;

    pub(super) const fn flushing(register: Register) -> Register {
        register
    }

    pub(super) unsafe fn read() -> Register {
        0
    }

    pub(super) unsafe fn write(_: Register) {}
}

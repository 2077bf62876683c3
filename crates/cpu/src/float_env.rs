//! The floating-point environment of kernels: round to nearest, denormals kept, no traps.
//!
//! A host may have set another one for its thread, and would change the results of kernels by it.

/// Runs `f` in the environment of kernels, and restores the thread's own.
pub(crate) fn with_default<R>(f: impl FnOnce() -> R) -> R {
    let saved = arch::replace(arch::DEFAULT);
    let result = f();
    if saved != arch::DEFAULT {
        arch::replace(saved);
    }
    result
}

#[cfg(target_arch = "x86_64")]
mod arch {
    use std::arch::asm;

    /// All exceptions masked, round to nearest, neither flush nor treat denormals as zero.
    pub(super) const DEFAULT: u32 = 0x1f80;

    /// Sticky flags that say what happened, and change nothing.
    const FLAGS: u32 = 0x3f;

    /// Sets the control register and gives its old value.
    pub(super) fn replace(new: u32) -> u32 {
        let mut old = 0_u32;
        // SAFETY: stores the control register to a local variable.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut old, options(nostack, preserves_flags)) };
        let old = old & !FLAGS;
        if old != new {
            // SAFETY: `new` is the default or what the register held before, so it is valid. Code
            // of ours that runs before it is restored does no arithmetic on floats.
            unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const new, options(nostack, preserves_flags)) };
        }
        old
    }
}

#[cfg(target_arch = "aarch64")]
mod arch {
    use std::arch::asm;

    pub(super) const DEFAULT: u64 = 0;

    /// Sets the control register and gives its old value.
    pub(super) fn replace(new: u64) -> u64 {
        let old: u64;
        // SAFETY: reads the control register.
        unsafe { asm!("mrs {}, fpcr", out(reg) old, options(nostack, nomem, preserves_flags)) };
        if old != new {
            // SAFETY: as on x86-64.
            unsafe { asm!("msr fpcr, {}", in(reg) new, options(nostack, nomem, preserves_flags)) };
        }
        old
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod arch {
    pub(super) const DEFAULT: u32 = 0;

    pub(super) fn replace(_new: u32) -> u32 {
        DEFAULT
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn replaces_and_restores() {
        const FLUSH_TO_ZERO: u32 = arch::DEFAULT | 1 << 15;
        let before = arch::replace(FLUSH_TO_ZERO);
        let inside = with_default(|| arch::replace(arch::DEFAULT));
        let after = arch::replace(before);
        assert_eq!((inside, after), (arch::DEFAULT, FLUSH_TO_ZERO));
    }
}

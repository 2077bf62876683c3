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

    /// With results that are denormal made zeros.
    #[cfg(test)]
    pub(super) const FLUSH_TO_ZERO: u32 = DEFAULT | 1 << 15;

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

    /// With denormals made zeros.
    #[cfg(test)]
    pub(super) const FLUSH_TO_ZERO: u64 = DEFAULT | 1 << 24;

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

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::arch::{DEFAULT, FLUSH_TO_ZERO};
    use super::*;
    use std::hint::black_box;

    #[test]
    fn replaces_and_restores() {
        let before = arch::replace(FLUSH_TO_ZERO);
        let inside = with_default(|| arch::replace(DEFAULT));
        let after = arch::replace(before);
        assert_eq!((inside, after), (DEFAULT, FLUSH_TO_ZERO));
    }

    #[test]
    fn denormals_are_kept_inside() {
        let halved = || black_box(black_box(f32::MIN_POSITIVE) * black_box(0.5)).to_bits();
        let before = arch::replace(FLUSH_TO_ZERO);
        let (outside, inside) = (halved(), with_default(halved));
        arch::replace(before);
        assert_eq!(outside, 0, "the switch switches");
        assert_eq!(inside, f32::MIN_POSITIVE.to_bits() >> 1);
    }
}

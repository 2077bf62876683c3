//! x86-64.

pub(crate) mod amx;
pub(crate) mod avx2;
pub(crate) mod avx512;
pub(crate) mod fp16;

/// Puts 16 bytes in the place of others if these are what is expected, atomically, and gives what was there. (The intrinsic
/// asks for a feature of the function that it is in, which closures do not inherit.)
///
/// # Safety
/// There are 16 writable bytes at the address, which is a multiple of 16. The processor has the instruction, as each with
/// AVX2 does.
#[inline(always)]
unsafe fn exchange(at: *mut u128, old: u128, new: u128) -> u128 {
    let (mut low, mut high) = (old as u64, (old >> 64) as u64);
    // SAFETY: only the 16 bytes are accessed, and `rbx`, which the compiler keeps for itself, is as it was.
    unsafe {
        std::arch::asm!(
            "xchg rbx, r8",
            "lock cmpxchg16b xmmword ptr [rdi]",
            "mov rbx, r8",
            in("rdi") at,
            inout("r8") new as u64 => _,
            in("rcx") (new >> 64) as u64,
            inout("rax") low,
            inout("rdx") high,
            options(nostack),
        );
    }
    u128::from(low) | u128::from(high) << 64
}

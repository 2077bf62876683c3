//! AMX: eight registers of 16 rows of 64 bytes, and products of them.
//!
//! A product adds to a register of 16×16 words that of 16 rows of 16 words (pairs of bf16, quads of bytes) and 16 rows of
//! 16 such words: one dot product of two words for each sum and each of 16 words of the inner dimension.
//!
//! Linux keeps the state of the registers for processes that have asked for it, as it makes the frames of signals 8 KiB
//! longer: it refuses where a thread has a stack for signals that is too short for that, and refuses such stacks from then
//! on. So the permission is asked for once, when somebody first wants to know what the processor has, and where it is
//! refused there is no AMX. A thread has registers of the shape that it asks for, and all kernels use the same shape,
//! [`FULL`]: to set it takes as long as some ten products, so it is done by whoever calls kernels, not by them. An
//! application whose thread is borrowed may have registers of a shape of its own, and rely on it: it gets it back.
//!
//! Registers hold their contents from one statement to the next because nothing else uses them: compilers do not unless
//! told to, and functions that are called may, so none are called between.
//!
//! Invariant: functions of this file access the memory that they are given and no other.

use crate::mul_add::amx::{ROW_BYTES, ROWS};
use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::sync::OnceLock;

/// Whether this process may use the registers and their products of bf16 and of bytes.
pub(crate) fn is_here() -> bool {
    static IS_HERE: OnceLock<bool> = OnceLock::new();
    *IS_HERE.get_or_init(|| processor_has_it() && is_permitted())
}

/// What CPUID says.
fn processor_has_it() -> bool {
    /// Products of bf16, registers, products of bytes: bits of EDX of leaf 7.
    const FEATURES: u32 = 1 << 22 | 1 << 24 | 1 << 25;
    __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & FEATURES == FEATURES
}

/// Asks the system for the permission. It lasts, for all threads, until the process becomes another program.
#[cfg(target_os = "linux")]
fn is_permitted() -> bool {
    const ARCH_PRCTL: usize = 158;
    const REQUEST_PERMISSION: usize = 0x1023;
    const TILE_DATA: usize = 18;
    let result: isize;
    // SAFETY: the call reads and writes no memory of the process; an older kernel says that it does not know it.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") ARCH_PRCTL as isize => result,
            in("rdi") REQUEST_PERMISSION,
            in("rsi") TILE_DATA,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    result == 0
}

/// How to ask other systems is not known here.
#[cfg(not(target_os = "linux"))]
fn is_permitted() -> bool {
    false
}

/// The shapes of the registers, as LDTILECFG reads them and STTILECFG writes them.
#[repr(C, align(64))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

/// No registers.
const NONE: Shape = Shape { palette: 0, start_row: 0, reserved: [0; 14], row_bytes: [0; 16], rows: [0; 16] };

/// All eight in full.
static FULL: Shape = {
    let mut shape = Shape { palette: 1, ..NONE };
    let mut register = 0;
    while register < 8 {
        shape.row_bytes[register] = ROW_BYTES as u16;
        shape.rows[register] = ROWS as u8;
        register += 1;
    }
    shape
};

const _: () = assert!(size_of::<Shape>() == 64);

/// Gives this thread registers of the full shape, and returns the shape that they had.
///
/// # Safety
/// [`is_here`].
pub(crate) unsafe fn configure() -> Shape {
    let mut before = NONE;
    // SAFETY: the shape is stored to a place of its size, and the new one is one that every processor with AMX has.
    unsafe {
        asm!("sttilecfg [{}]", in(reg) &raw mut before, options(nostack, preserves_flags));
        asm!("ldtilecfg [{}]", in(reg) &raw const FULL, options(nostack, readonly, preserves_flags));
    }
    before
}

/// Gives this thread registers of an earlier shape again. If it had none, the system has nothing to keep for it any more.
///
/// # Safety
/// [`is_here`], and [`configure`] has returned the shape.
pub(crate) unsafe fn restore(before: &Shape) {
    // SAFETY: nothing depends on what registers hold beyond the calls of kernels; the processor has accepted the shape.
    unsafe {
        if before.palette == NONE.palette {
            asm!("tilerelease", options(nostack, nomem, preserves_flags));
        } else {
            asm!("ldtilecfg [{}]", in(reg) before, options(nostack, readonly, preserves_flags));
        }
    }
}

/// Makes a register zero.
///
/// # Safety
/// The thread has registers of the full shape.
#[inline(always)]
pub(crate) unsafe fn zero<const T: u8>() {
    // SAFETY: forwarded.
    unsafe { asm!("tilezero tmm{t}", t = const T, options(nostack, preserves_flags)) };
}

/// Reads a register, rows `stride` bytes apart.
///
/// # Safety
/// The thread has registers of the full shape; there are [`ROWS`] rows of [`ROW_BYTES`] there.
#[inline(always)]
pub(crate) unsafe fn load<const T: u8>(from: *const u8, stride: usize) {
    // SAFETY: forwarded.
    unsafe {
        asm!(
            "tileloadd tmm{t}, [{from} + {stride}]",
            t = const T, from = in(reg) from, stride = in(reg) stride,
            options(nostack, readonly, preserves_flags),
        );
    }
}

/// Writes a register.
///
/// # Safety
/// As for [`load`]; the rows are writable.
#[inline(always)]
pub(crate) unsafe fn store<const T: u8>(to: *mut u8, stride: usize) {
    // SAFETY: forwarded.
    unsafe {
        asm!(
            "tilestored [{to} + {stride}], tmm{t}",
            t = const T, to = in(reg) to, stride = in(reg) stride,
            options(nostack, preserves_flags),
        );
    }
}

/// A kind of words, known when code is compiled.
pub(crate) trait Product {
    /// Adds the product of register `A` and register `B` to register `C`.
    ///
    /// # Safety
    /// The thread has registers of the full shape.
    unsafe fn add<const C: u8, const A: u8, const B: u8>();
}

macro_rules! products {
    ($($(#[$doc:meta])* $name:ident $instruction:literal;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;

        impl Product for $name {
            #[inline(always)]
            unsafe fn add<const C: u8, const A: u8, const B: u8>() {
                // SAFETY: forwarded.
                unsafe {
                    asm!(
                        concat!($instruction, " tmm{c}, tmm{a}, tmm{b}"),
                        c = const C, a = const A, b = const B,
                        options(nostack, preserves_flags),
                    );
                }
            }
        }
    )*};
}

products! {
    /// Pairs of bf16.
    Bf16 "tdpbf16ps";
    /// Bytes with a sign by bytes with a sign.
    S8S8 "tdpbssd";
    /// Bytes with a sign by bytes without.
    S8U8 "tdpbsud";
    /// Bytes without a sign by bytes with one.
    U8S8 "tdpbusd";
    /// Bytes without a sign by bytes without.
    U8U8 "tdpbuud";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Isa;

    /// As STTILECFG writes it.
    fn shape() -> Shape {
        let mut shape = NONE;
        // SAFETY: the caller has found AMX; the place is of the size.
        unsafe { asm!("sttilecfg [{}]", in(reg) &raw mut shape, options(nostack, preserves_flags)) };
        shape
    }

    #[test]
    fn an_application_gets_its_shape_back() {
        let Some(isa) = Isa::available().into_iter().find(|isa| isa.amx()) else { return };
        let ready = isa.ready();
        assert_eq!(shape(), FULL);
        drop(ready);
        assert_eq!(shape(), NONE);
        let mut own = Shape { palette: 1, ..NONE };
        (own.row_bytes[0], own.rows[0]) = (16, 3);
        // SAFETY: registers may have fewer rows, and shorter ones.
        unsafe {
            asm!("ldtilecfg [{}]", in(reg) &raw const own, options(nostack, readonly, preserves_flags))
        };
        drop(isa.ready());
        assert_eq!(shape(), own);
        // SAFETY: the thread has registers.
        unsafe { restore(&NONE) };
    }
}

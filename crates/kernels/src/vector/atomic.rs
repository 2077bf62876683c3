//! Atomic additions to consecutive numbers in memory.
//!
//! Each number is added to atomically. Several that lie in eight aligned bytes are exchanged together: that is atomic for
//! each of them, and costs what one does.

use crate::elem::Elem;
use crate::float;
use crate::simd::{MAX_LANES, Simd};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

/// Bytes that are exchanged together.
const UNIT: usize = size_of::<u64>();

/// Adds values to so many numbers, f16 or f32. Each sum is rounded to nearest even.
///
/// # Safety
/// The numbers are writable, the values readable, and a vector behind the last one too. The processor has the instructions.
/// Nobody else accesses the numbers but by atomic operations, or in ways of
/// which the result is of no account.
#[inline(always)]
pub(super) unsafe fn add<S: Simd>(elem: Elem, to: *mut u8, values: *const f32, count: usize) {
    // SAFETY: forwarded.
    unsafe {
        match elem {
            Elem::F16 => add_all::<S, Half>(to, values, count),
            _ => add_all::<S, Single>(to, values, count),
        }
    }
}

/// A type of numbers in memory.
trait Number {
    const BYTES: usize;
    /// The bits of the sum of a number, in the lowest bits, and a value.
    fn sum(bits: u64, value: f32) -> u64;
    /// The bits of the sums of all numbers of a unit and as many values.
    ///
    /// # Safety
    /// As for [`add`].
    unsafe fn sum_unit<S: Simd>(unit: u64, values: *const f32) -> u64;
    /// Adds to one number.
    ///
    /// # Safety
    /// As for [`add`]; the address is aligned.
    unsafe fn add_one(to: *mut u8, value: f32);
}

struct Half;
struct Single;

impl Number for Half {
    const BYTES: usize = 2;
    #[inline(always)]
    fn sum(bits: u64, value: f32) -> u64 {
        float::f16_bits(float::round_f16(float::f16_value(bits as u16) + value)).into()
    }
    #[inline(always)]
    unsafe fn sum_unit<S: Simd>(unit: u64, values: *const f32) -> u64 {
        let mut sums = [0_u64; MAX_LANES * 2 / UNIT];
        // SAFETY: the unit is four numbers, and there are so many values and more.
        unsafe {
            let old = S::load_f16(std::ptr::from_ref(&unit).cast(), UNIT / 2);
            let sum = S::add_f32(old, S::load(values.cast(), S::LANES * 4));
            S::narrow_f16(sums.as_mut_ptr().cast(), sum);
        }
        sums[0]
    }
    unsafe fn add_one(to: *mut u8, value: f32) {
        // SAFETY: forwarded.
        let number = unsafe { AtomicU16::from_ptr(to.cast()) };
        let mut old = number.load(Relaxed);
        while let Err(now) =
            number.compare_exchange_weak(old, Self::sum(old.into(), value) as u16, Relaxed, Relaxed)
        {
            old = now;
        }
    }
}

impl Number for Single {
    const BYTES: usize = 4;
    #[inline(always)]
    fn sum(bits: u64, value: f32) -> u64 {
        (f32::from_bits(bits as u32) + value).to_bits().into()
    }
    #[inline(always)]
    unsafe fn sum_unit<S: Simd>(unit: u64, values: *const f32) -> u64 {
        // SAFETY: the unit is two numbers, and there is a value for each.
        let [low, high] = unsafe { values.cast::<[f32; 2]>().read() };
        Self::sum(unit & u64::from(u32::MAX), low) | Self::sum(unit >> 32, high) << 32
    }
    unsafe fn add_one(to: *mut u8, value: f32) {
        // SAFETY: forwarded.
        let number = unsafe { AtomicU32::from_ptr(to.cast()) };
        let mut old = number.load(Relaxed);
        while let Err(now) =
            number.compare_exchange_weak(old, Self::sum(old.into(), value) as u32, Relaxed, Relaxed)
        {
            old = now;
        }
    }
}

#[inline(always)]
unsafe fn add_all<S: Simd, N: Number>(to: *mut u8, values: *const f32, count: usize) {
    let at = |i: usize| to.wrapping_add(i * N::BYTES);
    // SAFETY: the numbers are in memory, and units only where all of one is.
    unsafe {
        if !to.addr().is_multiple_of(N::BYTES) {
            // No atomic operation is asked for where numbers are not aligned.
            for i in 0..count {
                let mut bytes = [0; UNIT];
                bytes.as_mut_ptr().copy_from_nonoverlapping(at(i), N::BYTES);
                let sum = N::sum(u64::from_le_bytes(bytes), *values.add(i)).to_le_bytes();
                at(i).copy_from_nonoverlapping(sum.as_ptr(), N::BYTES);
            }
            return;
        }
        let mut i = 0;
        while i < count {
            if at(i).addr().is_multiple_of(UNIT) && count - i >= UNIT / N::BYTES {
                add_unit::<S, N>(at(i), values.add(i));
                i += UNIT / N::BYTES;
            } else {
                N::add_one(at(i), *values.add(i));
                i += 1;
            }
        }
    }
}

/// Adds to all numbers of a unit.
///
/// # Safety
/// As for [`add`]; the address is aligned to a unit.
#[inline(always)]
unsafe fn add_unit<S: Simd, N: Number>(to: *mut u8, values: *const f32) {
    // SAFETY: forwarded.
    let unit = unsafe { AtomicU64::from_ptr(to.cast()) };
    let mut old = unit.load(Relaxed);
    loop {
        // SAFETY: there is a value for each number.
        let new = unsafe { N::sum_unit::<S>(old, values) };
        match unit.compare_exchange_weak(old, new, Relaxed, Relaxed) {
            Ok(_) => return,
            Err(now) => old = now,
        }
    }
}

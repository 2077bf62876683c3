//! Atomic additions to consecutive numbers in memory.
//!
//! Each number is added to atomically. Several that lie in eight aligned bytes are exchanged together: that is atomic for
//! each of them, and costs what one does. Of f16, whose conversions take long, the sums of a whole vector are made before
//! the first of its units is exchanged; of f32 it costs more than it saves.

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

/// Room for a vector of f16.
type Units = [u64; MAX_LANES * 2 / UNIT];

/// A type of numbers in memory.
trait Number {
    const BYTES: usize;
    /// The bits of the sum of a number, in the lowest bits, and a value.
    fn sum(bits: u64, value: f32) -> u64;
    /// Adds to a vector of numbers, or does not where their units are better added to one by one.
    ///
    /// # Safety
    /// As for [`add`]; the address is aligned to a unit, and there are so many numbers.
    #[inline(always)]
    unsafe fn add_vector<S: Simd>(_to: *mut u8, _values: *const f32) -> bool {
        false
    }
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
    unsafe fn add_vector<S: Simd>(to: *mut u8, values: *const f32) -> bool {
        let units = S::LANES * Self::BYTES / UNIT;
        // SAFETY: the units are in memory.
        let atomic = |unit: usize| unsafe { AtomicU64::from_ptr(to.add(unit * UNIT).cast()) };
        let (mut old, mut new): (Units, Units) = ([0; _], [0; _]);
        for (unit, old) in old.iter_mut().take(units).enumerate() {
            *old = atomic(unit).load(Relaxed);
        }
        // SAFETY: there are so many values, and room for a vector.
        unsafe {
            let numbers = S::load_f16(old.as_ptr().cast(), S::LANES);
            let sum = S::add_f32(numbers, S::load(values.cast(), S::LANES * 4));
            S::narrow_f16(new.as_mut_ptr().cast(), sum);
        }
        for unit in 0..units {
            if atomic(unit).compare_exchange(old[unit], new[unit], Relaxed, Relaxed).is_err() {
                // SAFETY: the unit is one of the vector's.
                unsafe { add_unit::<Self>(to.add(unit * UNIT), values.add(unit * (UNIT / Self::BYTES))) };
            }
        }
        true
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
    /// Exchanges four at a time.
    #[inline(always)]
    unsafe fn add_vector<S: Simd>(to: *mut u8, values: *const f32) -> bool {
        if !S::EXCHANGES || !to.addr().is_multiple_of(16) {
            return false;
        }
        for four in (0..S::LANES).step_by(4) {
            // SAFETY: the numbers are in memory, and there is a value for each.
            unsafe { add_four::<S>(to.add(four * 4), values.add(four)) };
        }
        true
    }
    #[inline(always)]
    fn sum(bits: u64, value: f32) -> u64 {
        (f32::from_bits(bits as u32) + value).to_bits().into()
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

/// Adds to four f32.
///
/// # Safety
/// As for [`add`]; the address is a multiple of 16, and the processor exchanges so many bytes.
#[inline(always)]
unsafe fn add_four<S: Simd>(to: *mut u8, values: *const f32) {
    // SAFETY: forwarded.
    unsafe {
        // Read in two parts, which need not belong together: then the exchange does not happen.
        let part = |at: usize| AtomicU64::from_ptr(to.add(at).cast()).load(Relaxed);
        let mut old = u128::from(part(0)) | u128::from(part(8)) << 64;
        loop {
            let mut new = 0;
            for i in 0..4 {
                let sum = f32::from_bits((old >> (32 * i)) as u32) + *values.add(i);
                new |= u128::from(sum.to_bits()) << (32 * i);
            }
            let found = S::exchange(to.cast(), old, new);
            if found == old {
                return;
            }
            old = found;
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
        let (vector, unit) = (S::LANES, UNIT / N::BYTES);
        while i < count {
            let is_aligned = at(i).addr().is_multiple_of(UNIT);
            if is_aligned && count - i >= vector && N::add_vector::<S>(at(i), values.add(i)) {
                i += vector;
            } else if is_aligned && count - i >= unit {
                add_unit::<N>(at(i), values.add(i));
                i += unit;
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
unsafe fn add_unit<N: Number>(to: *mut u8, values: *const f32) {
    // SAFETY: forwarded.
    let unit = unsafe { AtomicU64::from_ptr(to.cast()) };
    let bits = 8 * N::BYTES as u32;
    let mut old = unit.load(Relaxed);
    loop {
        let mut new = 0;
        for i in 0..UNIT / N::BYTES {
            let at = i as u32 * bits;
            let number = old >> at & (u64::MAX >> (64 - bits));
            // SAFETY: there is a value for each number.
            new |= N::sum(number, unsafe { *values.add(i) }) << at;
        }
        match unit.compare_exchange_weak(old, new, Relaxed, Relaxed) {
            Ok(_) => return,
            Err(now) => old = now,
        }
    }
}

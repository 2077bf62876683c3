//! Asking the caches for memory before it is needed. Any address will do: where there is no memory, nothing happens.

/// Bytes of a line.
pub(crate) const LINE: usize = 64;

/// Asks the first cache for a line.
#[inline(always)]
pub(crate) fn want_soon(address: *const u8) {
    want::<true>(address);
}

/// Asks the second cache for a line.
#[inline(always)]
pub(crate) fn want_later(address: *const u8) {
    want::<false>(address);
}

#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(unused_variables, reason = "the hint is not stable elsewhere")
)]
#[inline(always)]
fn want<const SOON: bool>(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        // SAFETY: a hint, which never fails; all x86-64 processors have it.
        unsafe {
            if SOON {
                _mm_prefetch::<_MM_HINT_T0>(address.cast());
            } else {
                _mm_prefetch::<_MM_HINT_T1>(address.cast());
            }
        }
    }
}

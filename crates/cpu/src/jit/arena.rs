//! Executable memory, shared by all the code of a device.
//!
//! The system gives a process some 65 000 mappings, so code does not get one of its own: an [`Arena`]
//! maps large regions and hands out runs of pages of them, the lowest that are free. Pages are writable
//! while code is put there and executable afterwards, never both: code that runs lies on other pages.
//! The system joins neighbouring pages of equal rights, so a region is one or two mappings.
//!
//! Pages of code that was dropped go back to the system and are handed out again; a region without any
//! code is unmapped. The memory is private, so a child process (`fork`) has its own copy.

use std::collections::BTreeMap;
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, PoisonError};

use super::JitError;

/// Size of the first region. Each region is twice the one before, up to the largest.
const FIRST_REGION_BYTES: usize = 128 << 10;
const LARGEST_REGION_BYTES: usize = 2 << 20;

/// Regions of executable memory.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    /// By their addresses.
    regions: Mutex<BTreeMap<usize, Region>>,
}

/// A mapping. It is unmapped when it is dropped.
#[derive(Debug)]
struct Region {
    start: NonNull<u8>,
    bytes: usize,
    /// Runs of free bytes, by their offset; no two touch.
    free: BTreeMap<usize, usize>,
}

// SAFETY: a region is memory of the whole process; nothing in it belongs to a thread.
unsafe impl Send for Region {}

/// Pages of an arena, with code in them. They are free again when it is dropped.
pub(super) struct Slot {
    arena: Arc<Arena>,
    start: NonNull<u8>,
    /// A multiple of the page size.
    bytes: usize,
}

// SAFETY: the pages are memory of the whole process, and belong to this slot alone.
unsafe impl Send for Slot {}
// SAFETY: through a shared reference only the address is to be had.
unsafe impl Sync for Slot {}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Arena {
    /// Pages for so many bytes; what is in them cannot be accessed yet.
    pub(super) fn slot(self: &Arc<Self>, bytes: usize) -> Result<Slot, JitError> {
        let pages = bytes.max(1).checked_next_multiple_of(page_bytes());
        let bytes = pages.ok_or(JitError::OutOfMemory { bytes })?;
        let mut regions = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(start) = regions.values_mut().find_map(|region| region.take(bytes)) {
            return Ok(Slot { arena: Arc::clone(self), start, bytes });
        }
        let doubled = FIRST_REGION_BYTES << regions.len().min(8);
        let mut region = Region::map(doubled.min(LARGEST_REGION_BYTES).max(bytes))?;
        let start = region.take(bytes).expect("the region is as large as the slot, at least");
        regions.insert(region.start.addr().get(), region);
        Ok(Slot { arena: Arc::clone(self), start, bytes })
    }

    /// Takes pages back.
    fn free(&self, start: NonNull<u8>, bytes: usize) {
        let mut regions = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
        let several = regions.len() > 1;
        let Some((&base, region)) = regions.range_mut(..=start.addr().get()).next_back() else { return };
        region.give_back(start.addr().get() - base, bytes);
        if several && region.is_free() {
            regions.remove(&base);
        }
    }
}

impl Region {
    /// A region of at least so many bytes, a multiple of the page size.
    fn map(bytes: usize) -> Result<Self, JitError> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping, at a place that the system chooses; nothing can be accessed in it.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(JitError::OutOfMemory { bytes });
        }
        let start = NonNull::new(start.cast()).ok_or(JitError::OutOfMemory { bytes })?;
        Ok(Self { start, bytes, free: BTreeMap::from([(0, bytes)]) })
    }

    /// The first run of so many free bytes.
    fn take(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        let (&offset, &free) = self.free.iter().find(|(_, free)| **free >= bytes)?;
        self.free.remove(&offset);
        if free > bytes {
            self.free.insert(offset + bytes, free - bytes);
        }
        // SAFETY: the run lies in the mapping.
        Some(unsafe { self.start.add(offset) })
    }

    fn give_back(&mut self, offset: usize, bytes: usize) {
        // SAFETY: these pages of the mapping were handed out, and nobody uses them any more. They lose
        // their contents, and keep their rights so that the mapping stays one.
        let _advice =
            unsafe { libc::madvise(self.start.add(offset).as_ptr().cast(), bytes, libc::MADV_DONTNEED) };
        let (mut offset, mut bytes) = (offset, bytes);
        if let Some(behind) = self.free.remove(&(offset + bytes)) {
            bytes += behind;
        }
        if let Some((&before, &free)) = self.free.range(..offset).next_back()
            && before + free == offset
        {
            offset = before;
            bytes += free;
        }
        self.free.insert(offset, bytes);
    }

    fn is_free(&self) -> bool {
        self.free.get(&0) == Some(&self.bytes)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: this is a mapping of our own; slots hold the arena, so that none is left.
        let result = unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert_eq!(result, 0, "munmap of a mapping of our own");
    }
}

impl Slot {
    /// Where the code is, or will be.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Puts code at the slot's start and makes it executable. To be called once, as it makes the pages
    /// writable for a while.
    pub(super) fn fill(&mut self, code: &[u8]) -> Result<(), JitError> {
        assert!(code.len() <= self.bytes, "the slot was made for this code");
        self.protect(libc::PROT_READ | libc::PROT_WRITE)?;
        // SAFETY: the pages are writable, belong to this slot alone, and are enough.
        unsafe { ptr::copy_nonoverlapping(code.as_ptr(), self.start.as_ptr(), code.len()) };
        self.protect(libc::PROT_READ | libc::PROT_EXEC)?;
        // SAFETY: the range has just been written, and is readable.
        unsafe { forget_instructions(self.start, code.len()) };
        Ok(())
    }

    fn protect(&self, rights: libc::c_int) -> Result<(), JitError> {
        // SAFETY: whole pages of a mapping of our own, which only this slot uses; no code runs in them.
        let result = unsafe { libc::mprotect(self.start.as_ptr().cast(), self.bytes, rights) };
        // The system refuses when it has no memory for the description of the pages.
        if result == 0 { Ok(()) } else { Err(JitError::OutOfMemory { bytes: self.bytes }) }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.arena.free(self.start, self.bytes);
    }
}

/// Bytes of a page.
fn page_bytes() -> usize {
    // SAFETY: it only asks the system for a number.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).ok().filter(|bytes| bytes.is_power_of_two()).unwrap_or(4096)
}

/// Makes this core see code that another one has made ready. To be called before a thread runs code that it has not
/// run before: a core may have fetched instructions ahead that were there earlier, and one that waited for its work
/// without the system's help has had no reason to fetch them again (Arm Architecture Reference Manual, *Concurrent
/// modification and execution of instructions*).
pub(crate) fn see_code() {
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a barrier.
    unsafe {
        std::arch::asm!("isb", options(nostack, preserves_flags));
    }
}

/// Makes all cores see code that was written, once they have called [`see_code`].
///
/// # Safety
///
/// The range can be read.
#[cfg(all(target_arch = "aarch64", not(target_vendor = "apple")))]
unsafe fn forget_instructions(start: NonNull<u8>, bytes: usize) {
    use std::arch::asm;
    let kind: usize;
    // SAFETY: programs may read this register, which tells the sizes of the caches' lines.
    unsafe { asm!("mrs {}, ctr_el0", out(reg) kind, options(nomem, nostack, preserves_flags)) };
    let [data, code] = [(kind >> 16) & 0xf, kind & 0xf].map(|log2_words| 4_usize << log2_words);
    let (first, end) = (start.addr().get(), start.addr().get() + bytes);
    // Arm Architecture Reference Manual, B2.7.4.2: clean data to the point of unification, then
    // invalidate instructions there, with barriers between and behind.
    for line in ((first & !(data - 1))..end).step_by(data) {
        // SAFETY: the line has readable bytes, and nothing of it changes.
        unsafe { asm!("dc cvau, {}", in(reg) line, options(nostack, preserves_flags)) };
    }
    // SAFETY: a barrier.
    unsafe { asm!("dsb ish", options(nostack, preserves_flags)) };
    for line in ((first & !(code - 1))..end).step_by(code) {
        // SAFETY: as above.
        unsafe { asm!("ic ivau, {}", in(reg) line, options(nostack, preserves_flags)) };
    }
    // SAFETY: barriers.
    unsafe { asm!("dsb ish", "isb", options(nostack, preserves_flags)) };
}

/// As above.
#[cfg(all(target_arch = "aarch64", target_vendor = "apple"))]
unsafe fn forget_instructions(start: NonNull<u8>, bytes: usize) {
    unsafe extern "C" {
        fn sys_icache_invalidate(start: *mut libc::c_void, bytes: usize);
    }
    // SAFETY: as this function's.
    unsafe { sys_icache_invalidate(start.as_ptr().cast(), bytes) };
}

/// Other processors keep their caches in step.
#[cfg(not(target_arch = "aarch64"))]
unsafe fn forget_instructions(_start: NonNull<u8>, _bytes: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    fn regions(arena: &Arena) -> usize {
        arena.regions.lock().unwrap().len()
    }

    #[test]
    fn slots_are_apart_and_used_again() {
        let arena = Arc::<Arena>::default();
        let page = page_bytes();
        let mut slots: Vec<_> = (0..300).map(|i| arena.slot(i % 3 * page + 1).unwrap()).collect();
        let are_apart = |slots: &[Slot]| {
            let mut ranges: Vec<_> = slots.iter().map(|slot| (slot.start.addr().get(), slot.bytes)).collect();
            ranges.sort_unstable();
            ranges.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0)
        };
        assert!(are_apart(&slots));
        let before = regions(&arena);
        for slot in &mut slots {
            slot.fill(&[0xc3; 100]).unwrap();
        }
        // A third of them leaves, and as much comes.
        let mut index = 0;
        slots.retain(|_| {
            index += 1;
            index % 3 != 0
        });
        slots.extend((0..100).map(|_| arena.slot(3 * page).unwrap()));
        assert!(are_apart(&slots));
        assert_eq!(regions(&arena), before);
        for slot in &mut slots[200..] {
            slot.fill(&[1; 100]).unwrap();
        }
        // SAFETY: both slots are readable, and were filled with at least as many bytes.
        let bytes = [&slots[0], &slots[200]].map(|slot| unsafe { slot.start.add(99).read() });
        assert_eq!(bytes, [0xc3, 1]);
        drop(slots);
        assert!(regions(&arena) <= 1);
    }

    #[test]
    fn large_code_gets_a_region_and_absurd_code_an_error() {
        let arena = Arc::<Arena>::default();
        let large = arena.slot(5 << 20).unwrap();
        assert_eq!(large.bytes, 5 << 20);
        for bytes in [usize::MAX, usize::MAX / 2, 1 << 60] {
            assert!(matches!(arena.slot(bytes), Err(JitError::OutOfMemory { .. })), "{bytes}");
        }
    }
}

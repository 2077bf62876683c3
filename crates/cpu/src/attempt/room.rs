//! The room that a process has left for work.
//!
//! Where its address space is limited, work does not begin that could not end, and some memory is kept
//! for dealing with a failure.

/// What has to be left besides the stack: LLVM begins with some megabytes.
const LEAST_BYTES: u64 = 16 << 20;

/// The smallest stack that is worth a try.
const LEAST_STACK_BYTES: usize = 8 << 20;

/// Kept for who hears of the end: a failure has to be told, and code has to be sealed and loaded while the
/// allocator still holds the address space that compiling took.
const RESERVE_BYTES: usize = 8 << 20;

/// Room for a thread.
#[derive(Debug)]
pub(super) struct Room {
    stack_bytes: usize,
    /// Freed together with the room.
    _reserve: Vec<u8>,
}

impl Room {
    /// Room for a stack of this size, or a smaller one where there is little; none where there is less.
    pub(super) fn for_stack(stack_bytes: usize) -> Option<Self> {
        let Some(left) = address_space_left() else {
            return Some(Self { stack_bytes, _reserve: Vec::new() });
        };
        let for_stack = left.checked_sub(LEAST_BYTES)? / 2;
        let stack_bytes = stack_bytes.min(usize::try_from(for_stack).unwrap_or(usize::MAX)) & !0xffff;
        let mut reserve = Vec::new();
        reserve.try_reserve_exact(RESERVE_BYTES).ok()?;
        (stack_bytes >= LEAST_STACK_BYTES).then_some(Self { stack_bytes, _reserve: reserve })
    }

    /// Whether somebody limits the room, so that work takes as little as it can.
    pub(super) fn is_limited() -> bool {
        address_space_left().is_some()
    }

    pub(super) fn stack_bytes(&self) -> usize {
        self.stack_bytes
    }
}

/// Bytes that the process may still map; none if nobody limits them.
#[cfg(target_os = "linux")]
fn address_space_left() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the system writes the structure.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    if result != 0 || limit.rlim_cur == libc::RLIM_INFINITY {
        return None;
    }
    let sizes = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = sizes.split(' ').next()?.parse().ok()?;
    // SAFETY: it only asks the system for a number.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    Some(limit.rlim_cur.saturating_sub(pages.saturating_mul(page)))
}

#[cfg(not(target_os = "linux"))]
fn address_space_left() -> Option<u64> {
    None
}

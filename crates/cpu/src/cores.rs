//! How many threads run kernels at best.
//!
//! One per core: the hardware threads of a core share its arithmetic units, which matrix kernels keep
//! busy from one thread. The system's limits on the process (affinity, control groups) count.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

/// Number of cores that this process may use, at least 1.
pub fn usable() -> usize {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    physical().map_or(threads, |cores| cores.clamp(1, threads))
}

/// Number of cores behind the processors that this process may run on.
#[cfg(target_os = "linux")]
fn physical() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let mut cores = BTreeSet::new();
    for cpu in parse_list(allowed)? {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        cores.insert(parse_list(&std::fs::read_to_string(path).ok()?)?.into_iter().min()?);
    }
    Some(cores.len())
}

#[cfg(not(target_os = "linux"))]
fn physical() -> Option<usize> {
    None
}

/// Reads a list of processors as the kernel writes it: `0-3,8,10-11`.
fn parse_list(text: &str) -> Option<BTreeSet<u32>> {
    let mut list = BTreeSet::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        // No machine has more processors; a malformed file must not fill the memory.
        list.extend((first..=last).take(1 << 16));
    }
    Some(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        assert_eq!(parse_list("0-2,5\n").unwrap().into_iter().collect::<Vec<_>>(), [0, 1, 2, 5]);
        assert!(parse_list("").is_none());
        assert!(parse_list("1-x").is_none());
    }

    #[test]
    fn there_is_a_core() {
        assert!(usable() >= 1);
    }
}

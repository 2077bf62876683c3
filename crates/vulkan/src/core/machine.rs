//! What the machine has: its memory, and how much of that is left.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory that is assumed where the system does not tell.
const UNKNOWN: u64 = 4 << 30;

/// Bytes of device memory that this process holds, of all devices.
static HELD: AtomicU64 = AtomicU64::new(0);

/// A count of bytes that are held for as long as it lives.
#[derive(Debug)]
pub(crate) struct Held(u64);

impl Held {
    /// Counts bytes as held.
    pub(crate) fn new(bytes: u64) -> Self {
        HELD.fetch_add(bytes, Ordering::Relaxed);
        Self(bytes)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Bytes of device memory that this process holds.
pub(crate) fn held_bytes() -> u64 {
    HELD.load(Ordering::Relaxed)
}

/// Bytes of memory that this process may ever have: the machine's, or the limit of its control group.
pub(crate) fn memory_bytes() -> u64 {
    let total = meminfo("MemTotal").unwrap_or(UNKNOWN);
    control_groups().filter_map(|group| group.limit()).fold(total, u64::min)
}

/// Bytes of memory that this process could take now, those it holds included.
pub(crate) fn budget_bytes() -> u64 {
    free_bytes().saturating_add(held_bytes()).min(memory_bytes())
}

/// Bytes of memory that nobody uses now.
pub(crate) fn free_bytes() -> u64 {
    let free = meminfo("MemAvailable").unwrap_or_else(memory_bytes);
    control_groups().filter_map(|group| group.free()).fold(free, u64::min)
}

/// A line of `/proc/meminfo`, in bytes.
fn meminfo(key: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// A control group that limits memory, by the files of version 2 or 1.
struct ControlGroup {
    directory: PathBuf,
    limit: &'static str,
    current: &'static str,
}

impl ControlGroup {
    fn limit(&self) -> Option<u64> {
        number(&self.directory.join(self.limit))
    }

    fn free(&self) -> Option<u64> {
        let current = number(&self.directory.join(self.current))?;
        Some(self.limit()?.saturating_sub(current))
    }
}

/// The control groups of this process, the innermost first.
fn control_groups() -> impl Iterator<Item = ControlGroup> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let groups: Vec<ControlGroup> = text.lines().filter_map(parse_line).flat_map(ancestors).collect();
    groups.into_iter()
}

/// The hierarchy's place and the group in it, from a line `number:controllers:/path`.
fn parse_line(line: &str) -> Option<(bool, String)> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let is_second = controllers.is_empty();
    let is_memory = controllers.split(',').any(|name| name == "memory");
    (is_second || is_memory).then(|| (is_second, path.trim_start_matches('/').to_owned()))
}

/// A group and those around it. Inside of a container the path may be one of the host, which does not exist
/// here; then the root stands for the container's group.
fn ancestors((is_second, path): (bool, String)) -> Vec<ControlGroup> {
    let (root, limit, current) = if is_second {
        ("/sys/fs/cgroup", "memory.max", "memory.current")
    } else {
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
    };
    let root = Path::new(root);
    let group = |directory: &Path| ControlGroup { directory: root.join(directory), limit, current };
    Path::new(&path).ancestors().map(group).collect()
}

/// A file that holds a number; `max` is none.
fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_memory() {
        assert!(memory_bytes() >= 1 << 20);
        assert!(budget_bytes() <= memory_bytes());
    }

    #[test]
    fn held_bytes_are_counted() {
        let before = held_bytes();
        let held = Held::new(1 << 40);
        assert!(held_bytes() >= 1 << 40);
        drop(held);
        assert!(held_bytes() < before + (1 << 40));
    }

    #[test]
    fn groups_of_both_versions_are_found() {
        assert_eq!(parse_line("0::/user.slice/a"), Some((true, "user.slice/a".to_owned())));
        assert_eq!(parse_line("4:memory:/b"), Some((false, "b".to_owned())));
        assert_eq!(parse_line("5:cpu,cpuacct:/b"), None);
        let groups = ancestors((true, "a/b".to_owned()));
        let directories: Vec<&str> = groups.iter().filter_map(|group| group.directory.to_str()).collect();
        assert_eq!(directories, ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup/"]);
    }
}

//! How much memory this process can still have.
//!
//! Systems promise more memory than they have, and end a process that takes them at their word. So what a command is
//! about to take is compared with what there is.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

/// Where Linux tells the limits of the process's control group, in version 2 and in version 1.
const GROUP_LIMITS: [(&str, &str); 2] = [
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
];

/// Refuses to take more memory than there is. Where the system does not tell, everything is accepted.
pub(crate) fn check(bytes: u64) -> Result<()> {
    let Some(left) = available() else { return Ok(()) };
    ensure!(bytes <= left, "the buffers take {}, and {} of memory are left", size(bytes), size(left));
    Ok(())
}

/// Bytes that this process can still have without making the system run out.
fn available() -> Option<u64> {
    let system = fs::read_to_string("/proc/meminfo").ok().and_then(|text| system_left(&text));
    let number = |path: &str| fs::read_to_string(Path::new(path)).ok()?.trim().parse::<u64>().ok();
    let groups =
        GROUP_LIMITS.iter().filter_map(|(max, current)| Some(number(max)?.saturating_sub(number(current)?)));
    system.into_iter().chain(groups).min()
}

/// What `/proc/meminfo` says is left.
fn system_left(text: &str) -> Option<u64> {
    let kibibytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    Some((kibibytes("MemAvailable")? + kibibytes("SwapFree").unwrap_or(0)) << 10)
}

/// A number of bytes for people.
fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_read() {
        let text = "MemTotal:  24000000 kB\nMemFree: 1 kB\nMemAvailable:   2048 kB\nSwapFree:  1024 kB\n";
        assert_eq!(system_left(text), Some(3 << 20));
        assert_eq!(system_left("MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn what_is_too_much_is_refused_in_one_line() {
        check(0).expect("nothing is always there");
        if available().is_some() {
            let error = check(1 << 62).expect_err("more than there is").to_string();
            assert!(error.starts_with("the buffers take 4194304.0 TiB, and "), "{error}");
        }
        assert_eq!((size(1023).as_str(), size(1536 << 20).as_str()), ("1023 bytes", "1.5 GiB"));
    }
}

//! How much memory is too much for the caches of this machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Where Linux describes the caches of each core.
const CORES: &str = "/sys/devices/system/cpu";

/// The last-level cache of a machine that does not tell.
const FALLBACK: u64 = 64 << 20;

/// So many times what the last-level cache holds: what is read in turn is gone when its turn comes, however lines are replaced.
const TIMES: u64 = 4;

/// A machine with more cache than a quarter of this is measured with this.
const MOST: u64 = 2 << 30;

/// Bytes that come from memory if they are read in turn.
pub(crate) fn cold_bytes() -> u64 {
    let last_level = last_level(Path::new(CORES)).unwrap_or(FALLBACK);
    last_level.saturating_mul(TIMES).min(MOST)
}

/// What all caches of the last level hold together, each of which may be that of several cores.
fn last_level(cores: &Path) -> Option<u64> {
    let mut levels: BTreeMap<u32, BTreeMap<String, u64>> = BTreeMap::new();
    for core in fs::read_dir(cores).ok()?.flatten() {
        for index in fs::read_dir(core.path().join("cache")).into_iter().flatten().flatten() {
            let text = |name: &str| fs::read_to_string(index.path().join(name)).ok();
            let told = || {
                Some((text("level")?.trim().parse().ok()?, text("shared_cpu_list")?, size(&text("size")?)?))
            };
            if let Some((level, sharers, size)) = told() {
                levels.entry(level).or_default().insert(sharers, size);
            }
        }
    }
    Some(levels.pop_last()?.1.into_values().sum())
}

/// Bytes, of `32768K`.
fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, shift) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        _ => (text, 0),
    };
    number.parse::<u64>().ok()?.checked_shl(shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_of_the_last_level_are_added_once() {
        let root = tempfile::tempdir().expect("a directory");
        // Two cores share a cache of 32 MiB, a third has one of its own.
        for (core, sharers) in [(0, "0-1"), (1, "0-1"), (2, "2")] {
            for (index, level, size) in [(0, "1", "32K"), (3, "3", "32768K")] {
                let directory = root.path().join(format!("cpu{core}/cache/index{index}"));
                fs::create_dir_all(&directory).expect("writable");
                for (name, text) in [("level", level), ("size", size), ("shared_cpu_list", sharers)] {
                    fs::write(directory.join(name), format!("{text}\n")).expect("writable");
                }
            }
        }
        fs::create_dir(root.path().join("cpufreq")).expect("writable");
        assert_eq!(last_level(root.path()), Some(64 << 20));
        assert_eq!(last_level(&root.path().join("none")), None);
        assert_eq!(last_level(&root.path().join("cpufreq")), None);
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(
            [size("48K\n"), size("2M"), size("512"), size("x")],
            [Some(49152), Some(2 << 20), Some(512), None]
        );
    }

    #[test]
    fn what_is_cold_has_a_limit() {
        assert!((1..=MOST).contains(&cold_bytes()));
    }
}

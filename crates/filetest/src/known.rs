//! The list of tests that are known to fail, with the reasons.
//!
//! A line is `PATH: REASON`, with the path relative to the list's directory; `#` begins a comment. A
//! test on the list must fail: one that passes must be taken off it.

use std::collections::BTreeMap;
use std::path::Path;

/// Tests that are known to fail, each with its reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownFailures(BTreeMap<String, String>);

impl KnownFailures {
    /// Reads a list; a missing file is an empty one.
    pub fn read(path: &Path) -> Self {
        Self::parse(&std::fs::read_to_string(path).unwrap_or_default())
    }

    /// Reads a list.
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let entry = |line: &str| {
            let (path, reason) = line.split_once(':').unwrap_or((line, ""));
            (path.trim().to_owned(), reason.trim().to_owned())
        };
        Self(lines.map(entry).collect())
    }

    /// Why a test fails, if it is known to.
    pub fn reason(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The tests on the list.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::KnownFailures;

    #[test]
    fn lines_and_comments() {
        let list = KnownFailures::parse("# head\n\nrun/a.comp: because: of it\nb.ir\n");
        assert_eq!(list.reason("run/a.comp"), Some("because: of it"));
        assert_eq!(list.names().collect::<Vec<_>>(), ["b.ir", "run/a.comp"]);
    }
}

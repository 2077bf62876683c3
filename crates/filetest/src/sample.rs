//! The list of the file tests that also run on emulated processors.
//!
//! A line is the name of a test, with its case if the file has cases; `#` begins a comment.

use std::collections::BTreeSet;
use std::path::Path;

/// The names of some tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample(BTreeSet<String>);

impl Sample {
    /// Reads a list.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn read(path: &Path) -> std::io::Result<Self> {
        std::fs::read_to_string(path).map(|text| Self::parse(&text))
    }

    /// Reads a list.
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        Self(lines.map(str::to_owned).collect())
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// The files of the tests, each once, relative to the list's directory.
    pub fn files(&self) -> BTreeSet<&str> {
        self.names().map(|name| name.split_once(' ').map_or(name, |(file, _case)| file)).collect()
    }

    /// Whether a test is on the list.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::Sample;

    #[test]
    fn a_file_is_read_once_for_all_its_cases() {
        let sample = Sample::parse("# head\n\nb.comp second\n  b.comp first\na.ir\n");
        assert_eq!(sample.names().collect::<Vec<_>>(), ["a.ir", "b.comp first", "b.comp second"]);
        assert_eq!(sample.files().into_iter().collect::<Vec<_>>(), ["a.ir", "b.comp"]);
        assert!(sample.contains("b.comp first"));
        assert!(!sample.contains("b.comp"), "a case is named");
    }
}

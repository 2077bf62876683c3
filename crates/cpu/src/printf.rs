//! What kernels print, line by line.

use std::collections::BTreeMap;

/// Most lines that are kept of a dispatch; more are counted and dropped.
const MAX_LINES: usize = 65_536;

/// The lines that a dispatch printed.
#[derive(Debug, Default)]
pub(crate) struct Printed {
    lines: Vec<String>,
    dropped: u64,
    /// Warnings by their format.
    warnings: BTreeMap<u32, String>,
}

impl Printed {
    /// Prints arguments by a format. Each call is a line, or several if the format breaks it.
    pub(crate) fn print(&mut self, format: &str, args: &[u64]) {
        if self.lines.len() >= MAX_LINES {
            self.dropped += 1;
            return;
        }
        let text = phalanx_ir::printf::format(format, args);
        self.lines.extend(text.strip_suffix('\n').unwrap_or(&text).split('\n').map(str::to_owned));
    }

    /// Tells of a mistake, if this is the first time.
    pub(crate) fn warn(&mut self, index: u32, format: &str, args: &[u64]) {
        self.warnings.entry(index).or_insert_with(|| phalanx_ir::printf::format(format, args));
    }

    /// The lines, without their ends, and the warnings.
    pub(crate) fn into_lines(mut self) -> (Vec<String>, Vec<String>) {
        if self.dropped > 0 {
            self.lines.push(format!("({} more lines were dropped)", self.dropped));
        }
        (self.lines, self.warnings.into_values().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_break_lines() {
        let mut printed = Printed::default();
        printed.print("a=%d\n", &[1]);
        printed.print("b=%d\n\nc", &[2]);
        printed.print("", &[]);
        assert_eq!(printed.into_lines().0, ["a=1", "b=2", "", "c", ""]);
    }

    #[test]
    fn a_warning_is_given_once() {
        let mut printed = Printed::default();
        for (index, value) in [(7, 1), (3, 2), (7, 3)] {
            printed.warn(index, "%d", &[value]);
        }
        assert_eq!(printed.into_lines(), (vec![], vec!["2".to_owned(), "1".to_owned()]));
    }

    #[test]
    fn a_flood_is_limited() {
        let mut printed = Printed::default();
        for _ in 0..MAX_LINES + 5 {
            printed.print("x", &[]);
        }
        let (lines, _) = printed.into_lines();
        assert_eq!(lines.len(), MAX_LINES + 1);
        assert_eq!(lines[MAX_LINES], "(5 more lines were dropped)");
    }
}

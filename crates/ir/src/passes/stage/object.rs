//! Objects in shared memory that hold a block, and what holds several.

/// An object.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) bytes: u32,
    pub(super) lines: Lines,
    /// Where that of all blocks is, and how many these are.
    pub(super) offset: u32,
    pub(super) count: u32,
}

/// How a block lies in its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    /// The inner dimension goes along lines of so many bytes, of which `width` are used: blocks lie side by side.
    Along { line: i64, width: i64 },
    /// The inner dimension goes from line to line: blocks lie one behind the other.
    Across,
}

impl Object {
    pub(super) const fn new(bytes: u32) -> Self {
        Self { bytes, lines: Lines::Across, offset: 0, count: 1 }
    }

    /// Bytes of a line that has all blocks side by side, and what one had behind it.
    pub(super) fn line(&self) -> Option<i64> {
        match self.lines {
            Lines::Along { line, width } => Some(line + width * i64::from(self.count - 1)),
            Lines::Across => None,
        }
    }

    /// Bytes of all blocks.
    pub(super) fn total(&self) -> i64 {
        let bytes = i64::from(self.bytes);
        match (self.lines, self.line()) {
            (Lines::Along { line, .. }, Some(new_line)) => bytes / line * new_line,
            _ => bytes * i64::from(self.count),
        }
    }
}

//! Finds included files.

use std::path::{Path, PathBuf};

use super::Source;

/// Deepest nesting of includes.
const MAX_DEPTH: usize = 64;

/// Largest included file in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// An included file: its path as diagnostics name it, and its text.
#[derive(Debug)]
pub(super) struct Included {
    pub(super) path: String,
    pub(super) text: String,
}

/// Looks for a header: first beside the including file, if it is named in quotes, then in the
/// directories that the source names.
pub(super) fn find(
    source: &Source,
    header: &str,
    includer: &str,
    quoted: bool,
    depth: usize,
) -> Option<Included> {
    if depth > MAX_DEPTH {
        return None;
    }
    let includer = if includer.is_empty() { &source.name } else { includer };
    let beside = quoted.then(|| Path::new(includer).parent().unwrap_or(Path::new("")).to_path_buf());
    let candidates = beside.iter().chain(&source.include_dirs).map(|directory| directory.join(header));
    candidates.into_iter().find_map(|path| read(&path))
}

fn read(path: &PathBuf) -> Option<Included> {
    let size = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?.len();
    let text = (size <= MAX_BYTES).then(|| std::fs::read_to_string(path).ok()).flatten()?;
    (!text.contains('\0')).then(|| Included { path: path.to_string_lossy().into_owned(), text })
}

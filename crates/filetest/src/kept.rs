//! Modules of GLSL for a build of the tests that has no glslang.
//!
//! What the environment calls `MODULES` is a directory: a build with the feature `glsl` keeps there what it compiles, and
//! one without takes from there what it can't. Both are made by one compiler, whose hashes are the same.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The directory, if modules are kept.
pub(crate) fn directory() -> Option<PathBuf> {
    std::env::var_os("MODULES").map(PathBuf::from)
}

/// The file of the module of a source and what its case defines.
fn place(directory: &Path, source: &Path, defines: &[(String, String)]) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    (source, defines).hash(&mut hasher);
    let name = source.file_stem().unwrap_or_default().to_string_lossy();
    directory.join(format!("{name}-{:016x}.spv", hasher.finish()))
}

/// Keeps a module.
#[cfg(feature = "glsl")]
pub(crate) fn keep(
    directory: &Path,
    (source, defines): (&Path, &[(String, String)]),
    words: &[u32],
) -> std::io::Result<()> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(place(directory, source, defines), bytes)
}

/// Takes a module that was kept.
#[cfg(any(test, not(feature = "glsl")))]
pub(crate) fn take(
    directory: &Path,
    (source, defines): (&Path, &[(String, String)]),
) -> std::io::Result<Vec<u32>> {
    let bytes = std::fs::read(place(directory, source, defines))?;
    let words = bytes.as_chunks().0;
    Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

#[cfg(test)]
#[cfg(feature = "glsl")]
mod tests {
    use super::{keep, take};
    use std::path::Path;

    #[test]
    fn each_case_of_each_file_has_a_module_of_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let size = |size: &str| vec![("SIZE".to_owned(), size.to_owned())];
        let all = [("a/x.comp", size("1")), ("a/x.comp", size("2")), ("b/x.comp", size("1"))];
        for (number, (source, defines)) in (0_u32..).zip(&all) {
            keep(directory.path(), (Path::new(source), defines), &[number, !number]).unwrap();
        }
        for (number, (source, defines)) in (0_u32..).zip(&all) {
            let words = take(directory.path(), (Path::new(source), defines)).unwrap();
            assert_eq!(words, [number, !number], "{source} {defines:?}");
        }
        assert!(take(directory.path(), (Path::new("c/x.comp"), &[])).is_err());
    }
}

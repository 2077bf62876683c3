//! What may stand in a file: text alone, its size, the ban on unsafe code where it holds, notes without an issue, paths of
//! somebody's machine, white space at line ends.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// A file, named relative to the root with forward slashes.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    path: String,
    text: String,
    is_binary: bool,
}

/// Split a file before it reaches this many lines.
const MAX_LINES: usize = 1000;

/// Files that may be longer, each with the reason.
const LONG_FILES: [(&str, &str); 0] = [];

/// Crate roots that forbid unsafe code.
const SAFE_ROOTS: [&str; 8] = [
    "crates/ir/src/lib.rs",
    "crates/front-spirv/src/lib.rs",
    "crates/front-mlir/src/lib.rs",
    "crates/spirv-asm/src/lib.rs",
    "crates/interp/src/lib.rs",
    "crates/cli/src/main.rs",
    "crates/filetest/src/lib.rs",
    "xtask/src/main.rs",
];

const EXTENSIONS: [&str; 14] =
    ["rs", "toml", "md", "comp", "glsl", "h", "spvasm", "ir", "mlir", "sh", "yml", "json", "txt", "inc"];

/// Reads every file below `root` that the rules are about.
pub(crate) fn collect(root: &Path) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    visit(root, root, &mut sources)?;
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sources)
}

fn visit(root: &Path, directory: &Path, sources: &mut Vec<Source>) -> Result<()> {
    let entries =
        fs::read_dir(directory).with_context(|| format!("{} cannot be read", directory.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("{} cannot be listed", directory.display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        let kind = entry.file_type().with_context(|| format!("{} has no type", path.display()))?;
        if kind.is_dir() {
            // Build outputs, fuzzing corpora and git's own data are not sources.
            let is_output = path.join("CACHEDIR.TAG").is_file();
            if !is_output && !matches!(name.as_str(), ".git" | "target" | "out" | "corpus" | "artifacts") {
                visit(root, &path, sources)?;
            }
        } else if kind.is_file() {
            let relative = path.strip_prefix(root).unwrap_or(&path);
            let bytes = fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
            let is_binary = bytes.contains(&0);
            if is_binary || is_source(&name, directory) {
                sources.push(Source {
                    path: relative.to_string_lossy().replace('\\', "/"),
                    text: String::from_utf8_lossy(&bytes).into_owned(),
                    is_binary,
                });
            }
        }
    }
    Ok(())
}

fn is_source(name: &str, directory: &Path) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
        || directory.file_name().is_some_and(|name| name == ".ci")
}

/// Every rule that a file breaks, with file and line.
pub(crate) fn check(sources: &[Source]) -> Vec<String> {
    let mut violations = Vec::new();
    for source in sources {
        if source.is_binary {
            violations.push(format!("{}: no text", source.path));
            continue;
        }
        check_size(source, &mut violations);
        check_lines(source, &mut violations);
    }
    for root in SAFE_ROOTS {
        // A crate that is not there yet breaks nothing.
        let source = sources.iter().find(|source| source.path == root);
        if source.is_some_and(|source| !source.text.contains("#![forbid(unsafe_code)]")) {
            violations.push(format!("{root}: must say #![forbid(unsafe_code)]"));
        }
    }
    for (path, _) in LONG_FILES {
        let source = sources.iter().find(|source| source.path == path);
        if source.is_none_or(|source| source.text.lines().count() <= MAX_LINES) {
            violations.push(format!("{path}: needs no exception from the size rule any more"));
        }
    }
    violations
}

fn check_size(source: &Source, violations: &mut Vec<String>) {
    let is_table =
        source.path.ends_with("_gen.rs") || LONG_FILES.iter().any(|(path, _)| *path == source.path);
    let lines = source.text.lines().count();
    if source.path.ends_with(".rs") && !is_table && lines > MAX_LINES {
        violations.push(format!("{}: {lines} lines, at most {MAX_LINES}", source.path));
    }
}

fn check_lines(source: &Source, violations: &mut Vec<String>) {
    // Written in pieces, so that this file keeps its own rules.
    let unwanted = [concat!("FIX", "ME"), concat!("XX", "X"), concat!("HA", "CK")];
    let machine_paths =
        [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];
    for (index, line) in source.text.lines().enumerate() {
        let mut report = |what: &str| violations.push(format!("{}:{}: {what}", source.path, index + 1));
        if let Some(word) = unwanted.iter().find(|word| has_word(line, word)) {
            report(&format!(
                "{word}: mend it, or write an issue and a {} that names it",
                concat!("TO", "DO")
            ));
        }
        if todo_without_issue(line) {
            report(concat!("TO", "DO without an issue: write (#number) after it"));
        }
        if let Some(path) =
            machine_paths.iter().find(|path| line.contains(*path) && !is_well_known(line, path))
        {
            report(&format!("a path of somebody's machine ({path})"));
        }
        if line.ends_with([' ', '\t']) && !source.path.ends_with(".md") {
            report("white space at the end of the line");
        }
    }
}

/// Package managers install below the home of a user of their own; that place is the same everywhere.
fn is_well_known(line: &str, path: &str) -> bool {
    line.contains(&format!("{path}linuxbrew/"))
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !is_part(before) && !is_part(after)
    })
}

fn todo_without_issue(line: &str) -> bool {
    let word = concat!("TO", "DO");
    has_word(line, word)
        && !line.match_indices(word).all(|(at, _)| {
            let rest = line[at + word.len()..].strip_prefix("(#");
            rest.and_then(|rest| rest.split_once(')'))
                .is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(path: &str, text: &str) -> Vec<String> {
        check(&[Source { path: path.to_owned(), text: text.to_owned(), is_binary: false }])
    }

    #[test]
    fn binaries_are_found_whatever_they_are_called() {
        let directory = std::env::temp_dir().join(format!("phalanx-tidy-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("archive.whl"), b"PK\x03\x04\0\0").unwrap();
        fs::write(directory.join("plain.data"), "text").unwrap();
        let sources = collect(&directory).unwrap();
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(check(&sources), ["archive.whl: no text"]);
    }

    #[test]
    fn notes_need_an_issue() {
        let todo = concat!("TO", "DO");
        assert_eq!(violations("a.rs", &format!("// {todo}: later\n")).len(), 1);
        assert!(violations("a.rs", &format!("// {todo}(#12): later\n")).is_empty());
        assert_eq!(violations("a.rs", &format!("// {todo}(#): later\n")).len(), 1);
        assert!(violations("a.rs", &format!("let {todo}S = 1;\n")).is_empty());
    }

    #[test]
    fn long_files_are_named_with_their_length() {
        let text = "\n".repeat(MAX_LINES + 1);
        assert_eq!(violations("a.rs", &text), ["a.rs: 1001 lines, at most 1000"]);
        assert!(violations("table_gen.rs", &text).is_empty());
        assert!(violations("a.md", &text).is_empty());
    }

    #[test]
    fn machine_paths_are_found_with_their_line() {
        let path = concat!("/ho", "me/someone/file");
        assert!(violations("docs/a.md", &format!("one\n{path}\n"))[0].starts_with("docs/a.md:2:"));
        assert!(violations("a.rs", concat!("/ho", "me/linuxbrew/.linuxbrew")).is_empty());
    }

    #[test]
    fn safe_crates_must_say_so() {
        assert_eq!(violations("crates/ir/src/lib.rs", "//! IR.\n").len(), 1);
        assert!(violations("crates/ir/src/lib.rs", "#![forbid(unsafe_code)]\n").is_empty());
    }
}

//! Finds LLVM 19 the way the build will, and notices when the build would find another one.
//!
//! `llvm-sys` takes the first `llvm-config` on the path that is version 19.1 *or newer*. A machine whose plain
//! `llvm-config` is LLVM 21 would therefore link the wrong library. In that case, and where LLVM 19 lies outside
//! the path, cargo is started with [`PREFIX_VARIABLE`] set. It is left unset otherwise, because changing it makes
//! cargo rebuild everything above LLVM.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that `llvm-sys` 191 reads.
pub(crate) const PREFIX_VARIABLE: &str = "LLVM_SYS_191_PREFIX";

/// The only major version that the back end is written for.
const MAJOR: u32 = 19;

/// The names that `llvm-sys` tries, in its order.
const NAMES: [&str; 4] = ["llvm-config", "llvm-config-19", "llvm-config19", "llvm19-config"];

/// Where distributions put LLVM 19 without putting it on the path.
const PREFIXES: [&str; 7] = [
    "/usr/lib/llvm-19",
    "/usr/lib64/llvm19",
    "/usr/lib/llvm19",
    "/usr/lib/llvm/19",
    "/opt/homebrew/opt/llvm@19",
    "/usr/local/opt/llvm@19",
    "/home/linuxbrew/.linuxbrew/opt/llvm@19",
];

/// An LLVM 19 with its development files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Llvm {
    pub(crate) version: String,
    pub(crate) prefix: PathBuf,
    /// Whether the build must be told: its own search would find nothing or another version.
    pub(crate) needs_prefix: bool,
}

/// LLVM 19, if it is installed.
pub(crate) fn find() -> Option<Llvm> {
    if let Some(prefix) = std::env::var_os(PREFIX_VARIABLE) {
        let prefix = PathBuf::from(prefix);
        let version = NAMES.iter().find_map(|name| suitable(&prefix.join("bin").join(name)))?;
        return Some(Llvm { version, prefix, needs_prefix: false });
    }
    for name in NAMES {
        match ask(Path::new(name), "--version") {
            Some(version) if major(&version) == Some(MAJOR) && has_headers(Path::new(name)) => {
                let prefix = PathBuf::from(ask(Path::new(name), "--prefix")?);
                return Some(Llvm { version, prefix, needs_prefix: false });
            }
            // The build would stop its search here.
            Some(version) if major(&version).is_some_and(|found| found > MAJOR) => break,
            _ => {}
        }
    }
    let on_path = NAMES.iter().filter_map(|name| ask(Path::new(name), "--prefix").map(PathBuf::from));
    let known = PREFIXES.iter().map(PathBuf::from);
    known.chain(on_path).find_map(|prefix| {
        let version = suitable(&prefix.join("bin/llvm-config"))?;
        Some(Llvm { version, prefix, needs_prefix: true })
    })
}

/// The version of an `llvm-config` that is LLVM 19 and has the headers beside it.
fn suitable(config: &Path) -> Option<String> {
    let version = ask(config, "--version")?;
    (major(&version) == Some(MAJOR) && has_headers(config)).then_some(version)
}

/// Run-time packages ship `llvm-config` too, on some systems; the C headers mark the development package.
fn has_headers(config: &Path) -> bool {
    ask(config, "--includedir").is_some_and(|dir| Path::new(&dir).join("llvm-c/Core.h").is_file())
}

fn ask(config: &Path, question: &str) -> Option<String> {
    let output = Command::new(config).arg(question).output().ok()?;
    let answer = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| answer.trim().to_owned())
}

fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_with_a_suffix_has_its_major_number() {
        assert_eq!(major("19.1.7"), Some(19));
        assert_eq!(major("22.0.0git"), Some(22));
        assert_eq!(major("unknown"), None);
    }
}

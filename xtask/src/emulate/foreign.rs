//! What a build for another architecture needs and this machine lacks: Rust's standard library and LLVM 19.
//!
//! The standard library comes from rustup, where it can be had in a minute; else it is built from Debian's `rust-src`
//! of the compiler's version. LLVM is Debian's library for the architecture with what it needs, down to the C
//! library: programs find them all below one folder, so that their versions fit whatever the machine has.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::debian::{self, Release};
use crate::stages::Runner;

/// An architecture, by the names that it goes by.
pub(super) struct Foreign {
    /// Rust's name.
    pub(super) triple: &'static str,
    /// Debian's name, and that of its tools and folders.
    pub(super) debian: &'static str,
    pub(super) gnu: &'static str,
}

/// Seconds that rustup may take. On a machine that it cannot reach its servers from, it tries for long.
const RUSTUP_SECONDS: &str = "60";

/// The release of Debian that has every version of Rust, in the order of their appearance.
const RUST_SUITE: &str = "trixie-backports";

/// Rust's standard library for the architecture.
pub(super) enum Standard {
    Installed,
    /// To be built: the folder of its source.
    Source(PathBuf),
}

impl Standard {
    pub(super) fn find(run: &Runner, foreign: &Foreign) -> Result<Self> {
        if is_installed(run, foreign) {
            return Ok(Self::Installed);
        }
        let mut rustup = Command::new("timeout");
        rustup.args([RUSTUP_SECONDS, "rustup", "target", "add", foreign.triple]).current_dir(run.root());
        // Whether it worked is asked of the compiler, which need not be rustup's.
        let added = run.logged(rustup);
        if is_installed(run, foreign) {
            return Ok(Self::Installed);
        }
        let source = Self::source(run);
        source.with_context(|| match added {
            Ok(()) => "rustup's target is not this compiler's".to_owned(),
            Err(error) => format!("rustup gave no standard library for {} ({error:#})", foreign.triple),
        })
    }

    fn source(run: &Runner) -> Result<Self> {
        debian::codename()?;
        let version = rustc(run, &["--version"]).context("rustc gives no version")?;
        let version = version.split_whitespace().nth(1).unwrap_or_default();
        let release = Release { suite: RUST_SUITE.to_owned(), architecture: "amd64" };
        let wanted = format!("rust-src={version}+*");
        let root = debian::unpack(run, &folder(run).join("rust-src"), &release, &wanted, false)?;
        Ok(Self::Source(root.join(format!("usr/src/rustc-{version}/library"))))
    }

    /// Tells cargo to build it, where it has to be built.
    pub(super) fn tell(&self, cargo: &mut Command) {
        if let Self::Source(library) = self {
            // These are for nightly compilers; the library is this compiler's own, so it is none of its experiments.
            cargo.args(["-Zbuild-std=std,panic_unwind,test"]);
            cargo.env("RUSTC_BOOTSTRAP", "1").env("__CARGO_TESTS_ONLY_SRC_ROOT", library);
        }
    }
}

fn is_installed(run: &Runner, foreign: &Foreign) -> bool {
    let libraries = rustc(run, &["--print", "target-libdir", "--target", foreign.triple]);
    libraries.is_some_and(|folder| Path::new(&folder).is_dir())
}

fn rustc(run: &Runner, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.args(arguments).current_dir(run.root()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

/// Where everything lies that is fetched and built for emulation.
pub(super) fn folder(run: &Runner) -> PathBuf {
    run.target().join("emulated")
}

/// LLVM 19 of the architecture.
pub(super) struct ForeignLlvm {
    /// What the build is told: the folder that has `bin/llvm-config`.
    pub(super) prefix: PathBuf,
    /// The root of the file system that programs see.
    pub(super) root: PathBuf,
    gnu: &'static str,
}

impl ForeignLlvm {
    /// Fetches it. `linker` is the one that makes programs for the architecture.
    pub(super) fn find(run: &Runner, foreign: &Foreign, linker: &str) -> Result<Self> {
        let release = Release { suite: debian::codename()?, architecture: foreign.debian };
        let fetched = folder(run).join(format!("llvm-{}", foreign.debian));
        let root = debian::unpack(run, &fetched, &release, "libllvm19", true)?;
        let llvm = Self { prefix: fetched.join("prefix"), root, gnu: foreign.gnu };
        // Linkers look for this name, which is in the development package only.
        let ffi = llvm.libraries().join("libffi.so");
        if !ffi.exists() {
            std::os::unix::fs::symlink("libffi.so.8", &ffi).context("libffi cannot be linked")?;
        }
        let headers = run.llvm().prefix.join("include");
        let config = config_text(&run.llvm().version, &llvm.libraries(), &headers);
        write_program(&llvm.prefix.join("bin/llvm-config"), &config)?;
        write_program(&llvm.linker(), &llvm.linker_text(linker))?;
        Ok(llvm)
    }

    fn libraries(&self) -> PathBuf {
        self.root.join("usr/lib").join(self.gnu)
    }

    /// A linker that knows where the libraries are that LLVM itself needs. Said in cargo's flags instead it would have
    /// everything built again that was built without.
    pub(super) fn linker(&self) -> PathBuf {
        self.prefix.join("bin/linker")
    }

    fn linker_text(&self, linker: &str) -> String {
        let places = [self.libraries(), self.root.join("lib").join(self.gnu)];
        let places: Vec<_> =
            places.iter().map(|place| format!("'-Wl,-rpath-link,{}'", place.display())).collect();
        format!("#!/bin/sh\nexec {linker} {} \"$@\"\n", places.join(" "))
    }
}

/// Writes a script; not again if it is there, because cargo would build again what is older.
fn write_program(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let write = || {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        fs::write(path, text)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
    };
    write().with_context(|| format!("{} cannot be written", path.display()))
}

/// What stands in for the architecture's `llvm-config`, a program that cannot run here: the questions that `llvm-sys`
/// asks. The headers are this machine's, those of the same version.
fn config_text(version: &str, libraries: &Path, headers: &Path) -> String {
    format!(
        "#!/bin/sh\n\
         case $1 in\n\
         --version) echo {version};;\n\
         --libdir) echo '{}';;\n\
         --libnames) [ \"$2\" = --link-shared ] && echo libLLVM-19.so;;\n\
         --includedir) echo '{headers}';;\n\
         --cflags) echo '-I{headers}';;\n\
         --build-mode) echo Release;;\n\
         --system-libs) ;;\n\
         *) exit 1;;\n\
         esac\n",
        libraries.display(),
        headers = headers.display(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stand_in_answers_and_refuses_what_it_does_not_know() {
        let ask = |arguments: &[&str]| {
            let text = config_text("19.1.7", Path::new("/l i b"), Path::new("/include"));
            let output =
                Command::new("sh").args(["-c", &text, "llvm-config"]).args(arguments).output().unwrap();
            output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
        };
        assert_eq!(ask(&["--version"]).as_deref(), Some("19.1.7"));
        assert_eq!(ask(&["--libdir"]).as_deref(), Some("/l i b"));
        assert_eq!(ask(&["--libnames", "--link-shared"]).as_deref(), Some("libLLVM-19.so"));
        assert_eq!(ask(&["--libnames", "--link-static"]), None, "only the shared library is there");
        assert_eq!(ask(&["--system-libs", "--link-shared"]).as_deref(), Some(""));
        assert_eq!(ask(&["--components"]), None);
    }
}

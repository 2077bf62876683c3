//! Packages of Debian, unpacked into a folder of our own, for this or another architecture.
//!
//! apt is given a configuration, lists and a record of installed packages that lie in that folder, so that nothing of
//! the system changes and nobody has to be root. What is fetched is signed by Debian, and checked as apt always does.
//! Nothing is installed: no script of a package runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::stages::Runner;

/// Where the archive is, if the machine does not say which copy of it it uses.
const ARCHIVE: &str = "http://deb.debian.org/debian";

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Seconds for one call of apt. Without a network it would try for long.
const LIMIT_SECONDS: &str = "240";

/// A release of Debian, for one architecture.
pub(super) struct Release {
    /// The name of the release, `trixie` say.
    pub(super) suite: String,
    pub(super) architecture: &'static str,
}

/// The name of the release that this machine runs.
pub(super) fn codename() -> Result<String> {
    codename_in(&fs::read_to_string("/etc/os-release").unwrap_or_default())
        .context("packages are fetched from Debian on Debian only")
}

fn codename_in(release: &str) -> Option<String> {
    let field = |key: &str| {
        let line = release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.map(|value| value.trim_matches('"').to_owned())
    };
    (field("ID")? == "debian").then(|| field("VERSION_CODENAME")).flatten()
}

/// Fetches a package and what it needs, and unpacks them into `<folder>/root`, which is given. What is there already
/// is not fetched again. `wanted` is as apt takes it: `name`, or `name=version` with patterns.
pub(super) fn unpack(
    run: &Runner,
    folder: &Path,
    release: &Release,
    wanted: &str,
    with_needs: bool,
) -> Result<PathBuf> {
    let root = folder.join("root");
    let done = folder.join("done");
    let asked = format!("{} {} {wanted}", release.suite, release.architecture);
    if fs::read_to_string(&done).is_ok_and(|text| text == asked) {
        return Ok(root);
    }
    if !Path::new(KEYRING).is_file() {
        bail!("{KEYRING} is missing");
    }
    // Nothing of another attempt is mixed into this one.
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("{} cannot be removed", folder.display()))?;
    }
    let apt = Apt::new(folder, release)?;
    apt.call(run, &["update", "-qq"])?;
    let archives = folder.join("cache/archives");
    if with_needs {
        apt.call(run, &["install", "-qq", "-y", "--download-only", "--no-install-recommends", wanted])?;
    } else {
        apt.call(run, &["download", "-qq", wanted])?;
    }
    for entry in fs::read_dir(&archives)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            let mut command = Command::new("dpkg-deb");
            command.arg("--extract").arg(&path).arg(&root);
            run.logged(command).with_context(|| format!("{} cannot be unpacked", path.display()))?;
            fs::remove_file(&path)?;
        }
    }
    fs::write(&done, asked)?;
    Ok(root)
}

/// apt with everything of its own in a folder.
struct Apt {
    configuration: PathBuf,
    /// Where packages that are only downloaded go: the directory in which apt runs.
    archives: PathBuf,
}

impl Apt {
    fn new(folder: &Path, release: &Release) -> Result<Self> {
        let archives = folder.join("cache/archives");
        for needed in ["state/lists/partial", "cache/archives/partial", "root"] {
            let needed = folder.join(needed);
            fs::create_dir_all(&needed).with_context(|| format!("{} cannot be made", needed.display()))?;
        }
        let sources = folder.join("sources.list");
        let archive = archive().unwrap_or_else(|| ARCHIVE.to_owned());
        fs::write(&sources, format!("deb [signed-by={KEYRING}] {archive} {} main\n", release.suite))?;
        // No package is installed, so that all that are needed are fetched, the C library too.
        fs::write(folder.join("state/status"), "")?;
        let configuration = folder.join("apt.conf");
        fs::write(&configuration, settings(folder, &sources, release.architecture))?;
        Ok(Self { configuration, archives })
    }

    fn call(&self, run: &Runner, arguments: &[&str]) -> Result<()> {
        let mut command = Command::new("timeout");
        command.args([LIMIT_SECONDS, "apt-get"]).args(arguments).current_dir(&self.archives);
        command.env("APT_CONFIG", &self.configuration).env("DEBIAN_FRONTEND", "noninteractive");
        run.logged(command).with_context(|| format!("`apt-get {}`", arguments.join(" ")))
    }
}

/// The configuration. That of the system is read besides, because it may name a proxy.
fn settings(folder: &Path, sources: &Path, architecture: &str) -> String {
    let folder = folder.display();
    format!(
        "Dir::State \"{folder}/state\";\n\
         Dir::State::status \"{folder}/state/status\";\n\
         Dir::Cache \"{folder}/cache\";\n\
         Dir::Etc::sourcelist \"{}\";\n\
         Dir::Etc::sourceparts \"/dev/null\";\n\
         Dir::Etc::preferences \"/dev/null\";\n\
         Dir::Etc::preferencesparts \"/dev/null\";\n\
         APT::Architecture \"{architecture}\";\n\
         APT::Architectures {{ \"{architecture}\"; }};\n\
         APT::Sandbox::User \"\";\n\
         Acquire::Languages \"none\";\n\
         Debug::NoLocking \"true\";\n",
        sources.display(),
    )
}

/// The copy of Debian's archive that this machine is set up for.
fn archive() -> Option<String> {
    let mut command = Command::new("apt-get");
    command.args(["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"]);
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(|line| line.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_release_of_debian_has_packages() {
        let codename = |text: &str| codename_in(text);
        assert_eq!(codename("ID=debian\nVERSION_CODENAME=trixie\n").as_deref(), Some("trixie"));
        assert_eq!(codename("ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n"), None);
        assert_eq!(codename(""), None);
    }

    #[test]
    fn everything_that_apt_writes_is_in_the_folder() {
        let text = settings(Path::new("/x"), Path::new("/x/sources.list"), "arm64");
        for place in ["Dir::State \"/x/state\"", "Dir::State::status \"/x/", "Dir::Cache \"/x/cache\""] {
            assert!(text.contains(place), "{text}");
        }
    }
}

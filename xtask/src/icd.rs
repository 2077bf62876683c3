//! `cargo xtask install-icd`: builds the Vulkan driver and installs it with its manifest.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{cargo, setup};

/// The driver, and the manifest that tells the loader of it.
const LIBRARY: &str = "libvulkan_phalanx.so";
const MANIFEST: &str = "phalanx_icd.json";

/// The manifest as it lies in the repository, beside nothing.
const TEMPLATE: &str = include_str!("../../crates/vulkan/phalanx_icd.json");

/// Where library and manifest go.
#[derive(Debug, PartialEq, Eq)]
struct Destination {
    library: PathBuf,
    manifest: PathBuf,
    /// Whether the loader looks there by itself.
    is_searched: bool,
}

/// Builds and installs the driver.
pub(crate) fn install(root: &Path, arguments: &[String]) -> Result<()> {
    let destination = destination(arguments, |name| std::env::var_os(name))?;
    let llvm = setup::run(setup::Purpose::Build)?;
    let mut build = cargo(root, &llvm);
    build.args(["build", "--release", "--package", "phalanx-vulkan"]);
    let status = build.status().context("cargo could not be started")?;
    if !status.success() {
        bail!("the driver could not be built ({status})");
    }
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir));
    let built = target.join("release").join(LIBRARY);
    let library = fs::read(&built).with_context(|| format!("{} cannot be read", built.display()))?;
    replace(&destination.library, &library)?;
    replace(&destination.manifest, manifest(&destination.library)?.as_bytes())?;
    println!("{}", destination.library.display());
    println!("{}", destination.manifest.display());
    if destination.is_searched {
        println!("Vulkan programs find the driver by themselves; `vulkaninfo --summary` lists it.");
    } else {
        println!("Vulkan programs find the driver if they are told where its manifest is:");
        println!("  export VK_DRIVER_FILES={}", destination.manifest.display());
    }
    Ok(())
}

/// Understands the arguments `--user`, `--system` and `--prefix DIR`.
fn destination(arguments: &[String], variable: impl Fn(&str) -> Option<OsString>) -> Result<Destination> {
    let (mut is_system, mut is_user, mut prefix) = (false, false, None);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--user" => is_user = true,
            "--system" => is_system = true,
            "--prefix" => prefix = Some(arguments.next().context("--prefix needs a directory")?.as_str()),
            other => match other.strip_prefix("--prefix=") {
                Some(directory) => prefix = Some(directory),
                None => bail!("`{other}` is not understood: expected --user, --system or --prefix DIR"),
            },
        }
    }
    if is_user && (is_system || prefix.is_some()) {
        bail!("--user goes to the home directory, and neither with --system nor with --prefix");
    }
    if is_system || prefix.is_some() {
        let prefix = std::path::absolute(prefix.unwrap_or("/usr/local"))?;
        let is_searched = ["/usr/local", "/usr"].iter().any(|known| prefix == Path::new(known));
        return Ok(Destination {
            library: prefix.join("lib").join(LIBRARY),
            manifest: prefix.join("share/vulkan/icd.d").join(MANIFEST),
            is_searched,
        });
    }
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = set("HOME").context("HOME is not set")?;
    let data = set("XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share"));
    Ok(Destination {
        library: home.join(".local/lib").join(LIBRARY),
        manifest: data.join("vulkan/icd.d").join(MANIFEST),
        is_searched: true,
    })
}

/// The manifest of a driver that lies there.
fn manifest(library: &Path) -> Result<String> {
    let mut manifest: serde_json::Value =
        serde_json::from_str(TEMPLATE).context("the manifest is no JSON")?;
    let path = library.to_str().with_context(|| format!("{} is no text", library.display()))?;
    manifest["ICD"]["library_path"] = path.into();
    Ok(format!("{manifest:#}\n"))
}

/// Gives a file new contents in one step: programs may have the old ones loaded.
fn replace(path: &Path, contents: &[u8]) -> Result<()> {
    let directory = path.parent().context("a file without a directory")?;
    let new = path.with_extension(format!("new{}", std::process::id()));
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(&new, contents))
        .and_then(|()| fs::rename(&new, path))
        .with_context(|| format!("{} cannot be written", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Destination> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        destination(&arguments, |name| (name == "HOME").then(|| "/u/me".into()))
    }

    #[test]
    fn the_driver_goes_to_the_user_or_to_a_prefix() {
        let user = parse("").expect("well formed");
        assert_eq!(user.manifest, Path::new("/u/me/.local/share/vulkan/icd.d/phalanx_icd.json"));
        assert_eq!(user, parse("--user").expect("well formed"));
        let system = parse("--system").expect("well formed");
        assert_eq!(system.library, Path::new("/usr/local/lib/libvulkan_phalanx.so"));
        assert!(system.is_searched);
        let prefix = parse("--prefix=/opt/phalanx").expect("well formed");
        assert_eq!(prefix, parse("--system --prefix /opt/phalanx").expect("well formed"));
        assert!(!prefix.is_searched);
    }

    #[test]
    fn contradictions_are_refused() {
        for line in ["--user --system", "--user --prefix /opt", "--prefix", "--global"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn the_manifest_names_the_library() {
        let text = manifest(Path::new("/x/libvulkan_phalanx.so")).expect("a manifest");
        assert!(text.contains("\"/x/libvulkan_phalanx.so\"") && text.contains("\"api_version\""));
    }
}

//! `phalanx exec`: runs a program on the Vulkan driver.
//!
//! The loader is told where the driver's manifest is, and this process becomes the program: its exit status and
//! signals are the program's own.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};

use crate::Status;
use crate::args::{Claim, DeviceType, ExecArgs};
use crate::data::check_place;
use crate::runtime::{self, Processor};

/// The driver, and the manifest that tells the loader of it.
const LIBRARY: &str = "libvulkan_phalanx.so";
const MANIFEST: &str = "phalanx_icd.json";

/// A manifest that lies beside the driver.
const BESIDE: &str = include_str!("../../../vulkan/phalanx_icd.json");

/// Where the loader looks for manifests; the second is the older name.
const VARIABLES: [&str; 2] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];

pub(crate) fn run(args: &ExecArgs) -> Result<Status> {
    if args.subgroup_size.is_some() {
        // The driver could only fail to start, and the program would say that there is no device.
        runtime::check_subgroup_size(args.subgroup_size)?;
    }
    let own = std::env::current_exe().context("the place of this command is unknown")?;
    let library = find_library(&own).ok_or_else(|| {
        let directory = own.parent().unwrap_or(Path::new(".")).display();
        anyhow!(
            "there is no {LIBRARY} in {directory}, nor in the lib directory beside it\n\
             Build it with `cargo build --release --package phalanx-vulkan`, with the same profile as this command, \
             or install it with `cargo xtask install-icd`"
        )
    })?;
    let manifest = manifest(&library)?;
    let [program, rest @ ..] = &args.command[..] else { bail!("which program?") };
    let mut command = Command::new(program);
    command.args(rest);
    for variable in VARIABLES {
        command.env(variable, &manifest);
    }
    // It would add drivers to ours.
    command.env_remove("VK_ADD_DRIVER_FILES");
    if let Some(processor) = runtime::chosen() {
        command.env(Processor::ENV, processor.name());
    }
    if let Some(device) = args.device {
        command.env("PHALANX_DEVICE", device.to_string());
    }
    if let Some(ty) = args.present_as {
        command.env("PHALANX_DEVICE_TYPE", ty.name());
    }
    if let Some(size) = args.subgroup_size {
        command.env("PHALANX_SUBGROUP_SIZE", size.to_string());
    }
    if let Some(file) = &args.profile {
        command.env("PHALANX_PROFILE", profile_target(file)?);
    }
    if !args.claim.is_empty() {
        let claims: Vec<_> = args.claim.iter().map(|claim| claim.name()).collect();
        command.env("PHALANX_CLAIM", claims.join(","));
    }
    Err(become_program(command, program))
}

/// Where the profile goes, wherever the program goes.
fn profile_target(file: &Path) -> Result<PathBuf> {
    if file.as_os_str() == "-" {
        return Ok(file.to_owned());
    }
    let path = std::path::absolute(file).context("--profile: this is no name of a file")?;
    check_place(&path).context("--profile")?;
    Ok(path)
}

/// Replaces this process; returns only if that failed.
#[cfg(unix)]
fn become_program(mut command: Command, program: &OsStr) -> anyhow::Error {
    use std::os::unix::process::CommandExt;
    not_started(command.exec(), program)
}

#[cfg(not(unix))]
fn become_program(_command: Command, program: &OsStr) -> anyhow::Error {
    not_started(ErrorKind::Unsupported.into(), program)
}

fn not_started(error: std::io::Error, program: &OsStr) -> anyhow::Error {
    let program = program.display();
    if error.kind() == ErrorKind::NotFound {
        return anyhow!("there is no program `{program}`");
    }
    anyhow!(error).context(format!("`{program}` cannot be started"))
}

/// The driver that belongs to this command: beside it, as cargo builds them, or where a prefix has libraries.
fn find_library(own: &Path) -> Option<PathBuf> {
    // Tests run from a directory of their own below cargo's.
    let directories = ["", "..", "../lib"].into_iter();
    let own = own.parent()?;
    let mut candidates = directories.map(|directory| own.join(directory).join(LIBRARY));
    let found = candidates.find(|path| path.is_file())?;
    found.canonicalize().ok()
}

/// A manifest for the driver: the one beside it, which is written if need be, or the installed one, or one
/// of the user's.
fn manifest(library: &Path) -> Result<PathBuf> {
    let directory = library.parent().context("the driver lies nowhere")?;
    let installed = directory.join("../share/vulkan/icd.d").join(MANIFEST);
    if installed.is_file() {
        return Ok(installed);
    }
    let beside = directory.join(MANIFEST);
    if write_if_other(&beside, BESIDE).is_ok() {
        return Ok(beside);
    }
    let path = user_cache().context("neither XDG_CACHE_HOME nor HOME is set")?.join("phalanx").join(MANIFEST);
    let text = manifest_of(library)?;
    write_if_other(&path, &text).with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(path)
}

/// A manifest that names the driver by its whole path.
fn manifest_of(library: &Path) -> Result<String> {
    let mut manifest: serde_json::Value = serde_json::from_str(BESIDE).context("the manifest is no JSON")?;
    let path = library.to_str().with_context(|| format!("{} is no text", library.display()))?;
    manifest["ICD"]["library_path"] = path.into();
    Ok(format!("{manifest:#}\n"))
}

fn user_cache() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))
}

/// Gives a file its contents unless it has them, in one step: others may be reading it.
fn write_if_other(path: &Path, text: &str) -> std::io::Result<()> {
    if fs::read(path).is_ok_and(|found| found == text.as_bytes()) {
        return Ok(());
    }
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut name = OsString::from(path);
    name.push(format!(".{}", std::process::id()));
    let new = PathBuf::from(name);
    fs::write(&new, text)?;
    fs::rename(&new, path).inspect_err(|_error| {
        // What is left is of no use to anybody.
        let _ = fs::remove_file(&new);
    })
}

impl Claim {
    /// The word that the driver knows.
    fn name(self) -> &'static str {
        match self {
            Self::Conformant => "conformant",
            Self::Graphics => "graphics",
        }
    }
}

impl DeviceType {
    /// Its name for the driver.
    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Integrated => "integrated",
            Self::Discrete => "discrete",
            Self::Virtual => "virtual",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_is_found_beside_the_command_or_in_lib() {
        let prefix = tempfile::tempdir().expect("a directory");
        let (bin, lib) = (prefix.path().join("bin"), prefix.path().join("lib"));
        fs::create_dir_all(&bin).expect("a directory");
        fs::create_dir_all(&lib).expect("a directory");
        let own = bin.join("phalanx");
        assert_eq!(find_library(&own), None);
        fs::write(lib.join(LIBRARY), "").expect("a file");
        let found = find_library(&own).expect("the driver");
        assert_eq!(found, lib.join(LIBRARY).canonicalize().expect("a path"));
        fs::write(bin.join(LIBRARY), "").expect("a file");
        let found = find_library(&own).expect("the driver");
        assert_eq!(found, bin.join(LIBRARY).canonicalize().expect("a path"));
    }

    #[test]
    fn a_manifest_is_written_beside_the_driver() {
        let directory = tempfile::tempdir().expect("a directory");
        let library = directory.path().join(LIBRARY);
        let path = manifest(&library).expect("a manifest");
        assert_eq!(fs::read_to_string(&path).expect("a file"), BESIDE);
        assert_eq!(manifest(&library).expect("a manifest"), path);
        let only = fs::read_dir(directory.path()).expect("a directory").count();
        assert_eq!(only, 1, "nothing else is left behind");
    }

    #[test]
    fn an_installed_manifest_is_taken() {
        let prefix = tempfile::tempdir().expect("a directory");
        let directory = prefix.path().join("share/vulkan/icd.d");
        fs::create_dir_all(&directory).expect("a directory");
        fs::create_dir_all(prefix.path().join("lib")).expect("a directory");
        fs::write(directory.join(MANIFEST), "").expect("a file");
        let path = manifest(&prefix.path().join("lib").join(LIBRARY)).expect("a manifest");
        assert_eq!(path.canonicalize().ok(), directory.join(MANIFEST).canonicalize().ok());
    }

    #[test]
    fn a_manifest_names_its_driver() {
        let text = manifest_of(Path::new("/opt/x/libvulkan_phalanx.so")).expect("a manifest");
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(json["ICD"]["library_path"], "/opt/x/libvulkan_phalanx.so");
        assert_eq!(json["file_format_version"], "1.0.1");
    }
}

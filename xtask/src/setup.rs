//! Makes a machine able to build the workspace.
//!
//! On Debian and Ubuntu the missing packages are installed with apt-get, as root or through sudo. On every other
//! system the exact packages are named and nothing is touched.

use std::fs;
use std::io::IsTerminal;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::llvm::{self, Llvm};

/// What the machine is to be made ready for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Building and running.
    Build,
    /// Running the tests as well, some of which ask a foreign validator.
    Test,
}

/// Finds everything the build needs, installing it where the system is known.
pub(crate) fn run(purpose: Purpose) -> Result<Llvm> {
    let missing = missing(purpose);
    if !missing.is_empty() {
        let system = System::detect();
        if system.family == Family::Debian {
            install(&missing)?;
        } else if missing.iter().any(|part| part.is_required()) {
            bail!("{}", advice(&system, &missing));
        }
    }
    llvm::find().context(
        "LLVM 19 is still not found. If it is installed in a place of its own, \
         set LLVM_SYS_191_PREFIX to the directory that holds bin/llvm-config",
    )
}

/// A part of the machine that the workspace builds or tests with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Llvm,
    CxxCompiler,
    SpirvTools,
    VulkanLoader,
    VulkanValidation,
    Emulator,
    CrossCompiler,
}

impl Part {
    /// What only tests use is optional: those that want it are skipped without it.
    fn is_required(self) -> bool {
        matches!(self, Self::Llvm | Self::CxxCompiler)
    }

    fn apt_package(self) -> &'static str {
        match self {
            Self::Llvm => "llvm-19-dev",
            Self::CxxCompiler => "g++",
            Self::SpirvTools => "spirv-tools",
            Self::VulkanLoader => "libvulkan1",
            Self::VulkanValidation => "vulkan-validationlayers",
            Self::Emulator => "qemu-user-static",
            Self::CrossCompiler => "gcc-aarch64-linux-gnu",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Llvm => "LLVM 19 with its development files",
            Self::CxxCompiler => "a C++ compiler",
            Self::SpirvTools => "spirv-val (for tests only)",
            Self::VulkanLoader => "the Vulkan loader (for tests only)",
            Self::VulkanValidation => "the Vulkan validation layer (for tests only)",
            Self::Emulator => "QEMU's user-mode emulation (for tests only)",
            Self::CrossCompiler => "a C compiler for AArch64 (for tests only)",
        }
    }
}

fn missing(purpose: Purpose) -> Vec<Part> {
    let mut parts = Vec::new();
    if llvm::find().is_none() {
        parts.push(Part::Llvm);
    }
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    if !is_runnable(&compiler) && !is_runnable("g++") && !is_runnable("clang++") {
        parts.push(Part::CxxCompiler);
    }
    if purpose == Purpose::Test {
        if !is_runnable("spirv-val") {
            parts.push(Part::SpirvTools);
        }
        if !has_library("libvulkan.so.1") {
            parts.push(Part::VulkanLoader);
        }
        if !LAYER_MANIFESTS.iter().any(|path| Path::new(path).is_file()) {
            parts.push(Part::VulkanValidation);
        }
        if cfg!(target_arch = "x86_64") && !is_runnable("qemu-x86_64-static") {
            parts.push(Part::Emulator);
        }
        if cfg!(all(target_arch = "x86_64", target_os = "linux")) && !is_runnable("aarch64-linux-gnu-gcc") {
            parts.push(Part::CrossCompiler);
        }
    }
    parts
}

/// Where distributions put the manifest of the validation layer; the name's spelling has changed.
const LAYER_MANIFESTS: [&str; 2] = [
    "/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json",
    "/usr/share/vulkan/explicit_layer.d/VK_LAYER_KHRONOS_validation.json",
];

/// Whether the dynamic linker finds a library. What lists its cache is not on every user's search path.
fn has_library(name: &str) -> bool {
    ["ldconfig", "/sbin/ldconfig"].iter().any(|program| {
        let output = Command::new(program).arg("-p").stderr(Stdio::null()).output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(name))
    })
}

pub(crate) fn is_runnable(program: &str) -> bool {
    let status = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Debian,
    Fedora,
    Arch,
    Suse,
    Alpine,
    MacOs,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct System {
    family: Family,
    name: String,
}

impl System {
    fn detect() -> Self {
        if cfg!(target_os = "macos") {
            return Self { family: Family::MacOs, name: "macOS".to_owned() };
        }
        Self::from_os_release(&fs::read_to_string("/etc/os-release").unwrap_or_default())
    }

    /// Reads the `os-release` file: `ID` first, then the relatives in `ID_LIKE`.
    fn from_os_release(text: &str) -> Self {
        let field = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
            line.unwrap_or_default().trim_matches('"').to_owned()
        };
        let ids = format!("{} {}", field("ID"), field("ID_LIKE"));
        let family = ids.split_whitespace().find_map(|id| match id {
            "debian" | "ubuntu" => Some(Family::Debian),
            "fedora" | "rhel" | "centos" => Some(Family::Fedora),
            "arch" => Some(Family::Arch),
            "suse" | "opensuse" => Some(Family::Suse),
            "alpine" => Some(Family::Alpine),
            _ => None,
        });
        let name = match field("PRETTY_NAME") {
            name if name.is_empty() => "this system".to_owned(),
            name => name,
        };
        Self { family: family.unwrap_or(Family::Unknown), name }
    }
}

fn install(parts: &[Part]) -> Result<()> {
    let required = parts.iter().any(|part| part.is_required());
    let packages: Vec<&str> = parts.iter().map(|part| part.apt_package()).collect();
    println!("installing {} with apt-get", packages.join(" "));
    if !packages.iter().all(|package| is_offered(package)) {
        // A failed update need not matter: the lists at hand may be good enough.
        if let Err(error) = apt_get(&["update", "-qq"]) {
            eprintln!("warning: {error:#}");
        }
    }
    let mut arguments = vec!["install", "-y", "-qq", "--no-install-recommends"];
    arguments.extend(&packages);
    match apt_get(&arguments) {
        Ok(()) => Ok(()),
        Err(error) if required => Err(error).with_context(|| {
            format!("run `apt-get update && apt-get install {}` as root, then try again", packages.join(" "))
        }),
        Err(error) => {
            eprintln!("warning: {error:#}; the tests that need it are skipped");
            Ok(())
        }
    }
}

/// Whether the package lists on this machine know a version to install.
fn is_offered(package: &str) -> bool {
    let output = Command::new("apt-cache").args(["policy", package]).env("LC_ALL", "C").output();
    output.is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().any(|line| line.trim().starts_with("Candidate:") && !line.contains("(none)"))
    })
}

fn apt_get(arguments: &[&str]) -> Result<()> {
    let mut command = if is_root() {
        Command::new("apt-get")
    } else {
        let mut sudo = Command::new("sudo");
        // Without a terminal nobody can type a password, so sudo must not wait for one.
        if !std::io::stdin().is_terminal() {
            sudo.arg("-n");
        }
        sudo.args(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        sudo
    };
    command.args(["-o", "DPkg::Lock::Timeout=300"]).args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    command.stdout(Stdio::null());
    let status = command.status().context("neither apt-get nor sudo could be started")?;
    if !status.success() {
        bail!("`apt-get {}` failed ({status})", arguments.join(" "));
    }
    Ok(())
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// The message for systems on which nothing is installed automatically.
fn advice(system: &System, missing: &[Part]) -> String {
    let parts: Vec<&str> =
        missing.iter().filter(|part| part.is_required()).map(|part| part.description()).collect();
    let command = match system.family {
        Family::Debian => "sudo apt-get install llvm-19-dev g++",
        Family::Fedora => "sudo dnf install llvm19-devel gcc-c++ (Fedora 41: llvm-devel gcc-c++)",
        Family::Arch => "sudo pacman -S --needed llvm19 gcc",
        Family::Suse => "sudo zypper install llvm19-devel gcc-c++",
        Family::Alpine => "doas apk add llvm19-dev g++",
        Family::MacOs => "xcode-select --install; brew install llvm@19",
        Family::Unknown => "install the development package of LLVM 19 and a C++ compiler",
    };
    format!(
        "{name} lacks {parts}. Packages are installed automatically on Debian and Ubuntu only. Here, run\n\
         \n    {command}\n\n\
         and start again. If LLVM 19 lies in a place of its own, \
         set LLVM_SYS_191_PREFIX to the directory that holds bin/llvm-config.",
        name = system.name,
        parts = parts.join(" and "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_told_apart_by_their_release_file() {
        let family = |text: &str| System::from_os_release(text).family;
        assert_eq!(family("ID=debian\nVERSION_ID=\"12\"\n"), Family::Debian);
        assert_eq!(family("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"), Family::Debian);
        assert_eq!(family("ID=fedora\n"), Family::Fedora);
        assert_eq!(family("ID=endeavouros\nID_LIKE=arch\n"), Family::Arch);
        assert_eq!(family("ID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\"\n"), Family::Suse);
        assert_eq!(family(""), Family::Unknown);
    }

    #[test]
    fn advice_names_the_system_the_parts_and_the_packages() {
        let system = System::from_os_release("ID=fedora\nPRETTY_NAME=\"Fedora Linux 42\"\n");
        let text = advice(&system, &[Part::Llvm, Part::SpirvTools]);
        assert!(text.contains("Fedora Linux 42 lacks LLVM 19"), "{text}");
        assert!(text.contains("dnf install llvm19-devel"), "{text}");
        assert!(!text.contains("spirv-val"), "optional parts stop nobody: {text}");
    }
}

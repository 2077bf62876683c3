//! Which crate may depend on which.
//!
//! Dependencies run one way: front ends and back ends know the IR, the IR knows nobody, and the device, the library
//! and the command are stacked on top. Development dependencies are free: a test may look at anything.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A crate of the workspace with the names of its normal and build dependencies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) dependencies: Vec<String>,
}

/// The workspace crates that each workspace crate may use.
const ROOMS: [(&str, &[&str]); 20] = [
    ("phalanx-ir", &[]),
    ("phalanx-polynomials", &[]),
    ("phalanx-kernels", &["phalanx-polynomials"]),
    ("phalanx-spirv-asm", &[]),
    ("phalanx-front-spirv", &["phalanx-ir"]),
    ("phalanx-front-mlir", &["phalanx-ir"]),
    ("phalanx-interp", &["phalanx-ir"]),
    ("phalanx-emit-llvm", &["phalanx-ir", "phalanx-polynomials"]),
    ("phalanx-back-llvm", &["phalanx-emit-llvm", "phalanx-ir", "phalanx-kernels"]),
    ("phalanx-back-nvptx", &["phalanx-emit-llvm", "phalanx-ir"]),
    ("phalanx-back-spirv", &["phalanx-ir"]),
    ("phalanx-host", &["phalanx-ir"]),
    ("phalanx-cpu", &["phalanx-back-llvm", "phalanx-host", "phalanx-ir", "phalanx-kernels"]),
    ("phalanx-cuda", &["phalanx-back-nvptx", "phalanx-host", "phalanx-ir"]),
    ("phalanx", &LIBRARY),
    ("phalanx-vulkan", &["phalanx"]),
    // Other libraries, to measure beside ours.
    ("phalanx-versus", &[]),
    ("phalanx-cli", &["phalanx", "phalanx-spirv-asm", "phalanx-versus"]),
    // The test runner looks into every room.
    ("phalanx-filetest", &EVERYTHING),
    ("xtask", &[]),
];

const LIBRARY: [&str; 11] = [
    "phalanx-back-nvptx",
    "phalanx-back-spirv",
    "phalanx-cpu",
    "phalanx-cuda",
    "phalanx-front-mlir",
    "phalanx-front-spirv",
    "phalanx-host",
    "phalanx-interp",
    "phalanx-ir",
    "phalanx-kernels",
    "phalanx-spirv-asm",
];

const EVERYTHING: [&str; 13] = [
    "phalanx",
    "phalanx-back-llvm",
    "phalanx-back-nvptx",
    "phalanx-back-spirv",
    "phalanx-cpu",
    "phalanx-cuda",
    "phalanx-front-mlir",
    "phalanx-front-spirv",
    "phalanx-host",
    "phalanx-interp",
    "phalanx-ir",
    "phalanx-kernels",
    "phalanx-spirv-asm",
];

/// The rooms that read or write SPIR-V.
const SPIRV_ROOMS: &[&str] = &[
    "phalanx-back-spirv",
    "phalanx-front-spirv",
    "phalanx-front-mlir",
    "phalanx",
    "phalanx-filetest",
    "phalanx-spirv-asm",
];

/// The rooms that make code with LLVM.
const LLVM_ROOMS: &[&str] = &["phalanx-back-llvm", "phalanx-back-nvptx", "phalanx-cpu", "phalanx-emit-llvm"];

/// Outside crates that belong to some rooms only.
const CONFINED: [(&str, &[&str]); 11] = [
    ("inkwell", LLVM_ROOMS),
    ("llvm-sys", LLVM_ROOMS),
    ("rspirv", SPIRV_ROOMS),
    ("spirv", SPIRV_ROOMS),
    ("glslang", &["phalanx", "phalanx-filetest"]),
    ("glslang-sys", &["phalanx"]),
    ("ash", &["phalanx-vulkan"]),
    ("vulkanalia-sys", &["phalanx-vulkan"]),
    ("cudarc", &["phalanx-cuda", "phalanx-versus"]),
    ("libloading", &["phalanx-versus"]),
    // A library's errors are typed; only programs may flatten them.
    ("anyhow", &["phalanx-cli", "xtask"]),
];

/// Asks cargo for the crates of the workspace.
pub(crate) fn read(root: &Path) -> Result<Vec<Package>> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .context("cargo metadata could not be started")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    parse(&output.stdout)
}

fn parse(metadata: &[u8]) -> Result<Vec<Package>> {
    let metadata: Value = serde_json::from_slice(metadata).context("cargo metadata is not JSON")?;
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    let package = |value: &Value| {
        let dependencies = value["dependencies"].as_array()?.iter();
        let kept = dependencies.filter(|dependency| dependency["kind"].as_str() != Some("dev"));
        Some(Package {
            name: value["name"].as_str()?.to_owned(),
            dependencies: kept
                .filter_map(|dependency| dependency["name"].as_str().map(str::to_owned))
                .collect(),
        })
    };
    packages
        .iter()
        .map(|value| package(value).context("cargo metadata has a package without a name"))
        .collect()
}

/// Every dependency that runs the wrong way.
pub(crate) fn check(packages: &[Package]) -> Vec<String> {
    let mut violations = Vec::new();
    for package in packages {
        let name = package.name.as_str();
        let Some((_, allowed)) = ROOMS.iter().find(|(room, _)| *room == name) else {
            violations
                .push(format!("crate `{name}` has no rule: say in xtask/src/tidy/rooms.rs what it may know"));
            continue;
        };
        for dependency in package.dependencies.iter().map(String::as_str) {
            if packages.iter().any(|other| other.name == dependency) && !allowed.contains(&dependency) {
                violations.push(format!("crate `{name}` must not know `{dependency}`"));
            }
            let confined = CONFINED.iter().find(|(outside, _)| *outside == dependency);
            if let Some((_, rooms)) = confined
                && !rooms.contains(&name)
            {
                violations
                    .push(format!("crate `{name}` must not use `{dependency}`: only {}", rooms.join(", ")));
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[&str]) -> Package {
        let dependencies = dependencies.iter().map(|&dependency| dependency.to_owned()).collect();
        Package { name: name.to_owned(), dependencies }
    }

    #[test]
    fn the_ir_knows_nobody() {
        let packages =
            [package("phalanx-ir", &["half", "phalanx-kernels"]), package("phalanx-kernels", &["half"])];
        assert_eq!(check(&packages), ["crate `phalanx-ir` must not know `phalanx-kernels`"]);
    }

    #[test]
    fn llvm_stays_in_its_room() {
        let violations = check(&[package("phalanx-cli", &["inkwell"])]);
        assert_eq!(violations.len(), 1);
        assert!(violations[0].contains("must not use `inkwell`"), "{violations:?}");
        assert!(check(&[package("phalanx-cpu", &["inkwell"])]).is_empty());
    }

    #[test]
    fn a_crate_without_a_rule_is_reported() {
        assert_eq!(check(&[package("phalanx-new", &[])]).len(), 1);
    }

    #[test]
    fn development_dependencies_are_free() {
        let metadata = br#"{"packages":[{"name":"phalanx-ir","dependencies":[
            {"name":"half","kind":null},{"name":"phalanx-interp","kind":"dev"},{"name":"cc","kind":"build"}]}]}"#;
        let packages = parse(metadata).expect("the sample is well formed");
        assert_eq!(packages, [package("phalanx-ir", &["half", "cc"])]);
    }
}

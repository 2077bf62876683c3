//! `cargo xtask tidy`: the rules that the compiler does not check.
//!
//! [`rooms`] holds which crate may know which; [`files`] holds what may stand in a file.
//! All violations are collected, so that one run shows everything there is to mend.

mod files;
mod rooms;

use std::path::Path;

use anyhow::{Result, bail};

/// Checks everything and describes what was checked.
pub(crate) fn run(root: &Path) -> Result<String> {
    let packages = rooms::read(root)?;
    let mut violations = rooms::check(&packages);
    let sources = files::collect(root)?;
    violations.extend(files::check(&sources));
    if !violations.is_empty() {
        bail!("{} rules broken\n  {}", violations.len(), violations.join("\n  "));
    }
    Ok(format!("{} crates, {} files", packages.len(), sources.len()))
}

//! Names the compiler that makes code.
//!
//! A version number is not enough: while the compiler is being worked on, it changes without one. The
//! file that this code was loaded from (the program, or a shared library) tells builds apart by its size
//! and its time of modification.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Bytes that differ between builds.
pub(super) fn get() -> &'static [u8] {
    static ID: OnceLock<Vec<u8>> = OnceLock::new();
    ID.get_or_init(|| {
        let file = own_file().and_then(|path| describe(&path)).unwrap_or_default();
        format!("phalanx {} {file}", env!("CARGO_PKG_VERSION")).into_bytes()
    })
}

fn describe(path: &Path) -> Option<String> {
    let meta = std::fs::metadata(path).ok()?;
    Some(format!("{} {}.{:09} {}", meta.len(), meta.mtime(), meta.mtime_nsec(), path.display()))
}

/// The file that this code was loaded from.
fn own_file() -> Option<PathBuf> {
    // SAFETY: all zeros is a valid `Dl_info`: null pointers.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let here = own_file as *const () as *const libc::c_void;
    // SAFETY: `here` is an address in this file's code; `info` can be written.
    let found = unsafe { libc::dladdr(here, &raw mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: on success it is a NUL-terminated string that lives as long as the file is loaded.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let path = PathBuf::from(OsStr::from_bytes(name.to_bytes()));
    // A program may be named as it was called; the system knows better.
    if path.exists() { Some(path) } else { std::env::current_exe().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_file_is_found() {
        assert!(own_file().is_some_and(|path| path.exists()));
        let text = String::from_utf8_lossy(get()).into_owned();
        assert!(text.split(' ').count() >= 5, "{text}");
    }
}

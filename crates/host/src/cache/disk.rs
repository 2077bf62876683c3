//! Compiled code on disk: a file per key.
//!
//! A file holds [`SealedCode`]. One that is damaged, is another key's, or was not sealed by this user,
//! counts as absent and is written anew. Files are replaced as a whole, by renaming, so that several
//! processes may share a directory. It is made for its owner alone; a directory that is another user's,
//! or that others can write to, is not used at all.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::secret::is_private;
use super::{CacheKey, SealedCode};

/// A directory of compiled code.
#[derive(Debug)]
pub struct CodeDirectory {
    directory: PathBuf,
}

impl CodeDirectory {
    /// The directory of this name, which need not exist.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// The code of a key, if it is there and sound.
    pub fn read(&self, key: &CacheKey) -> Option<SealedCode> {
        if !is_private(&self.directory) {
            return None;
        }
        let bytes = fs::read(self.path(key)).ok()?;
        SealedCode::from_bytes(&bytes).filter(|code| code.key() == key)
    }

    /// Keeps code under its key.
    pub fn write(&self, code: &SealedCode) {
        // A full or read-only disk costs only the benefit of the cache.
        let _best_effort = replace(&self.directory, &self.path(code.key()), code.as_bytes());
    }

    fn path(&self, key: &CacheKey) -> PathBuf {
        self.directory.join(blake3::Hash::from(*key.bytes()).to_hex().as_str())
    }
}

/// Puts a file in place at once.
fn replace(directory: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    if !is_private(directory) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let temporary = directory.join(format!(".new-{}-{number}", std::process::id()));
    let result = write(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if result.is_err() {
        // If this fails too, the file is in nobody's way.
        let _best_effort = fs::remove_file(&temporary);
    }
    result
}

/// Writes a file that nobody else can read.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // What a process of this number left behind would be in the way.
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn code(key: &CacheKey, name: &str) -> SealedCode {
        SealedCode::new(key, &[name.as_bytes(), &[7; 1000]].concat())
    }

    #[test]
    fn what_is_written_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let disk = CodeDirectory::new(directory.path().join("a/b"));
        let [key, other] = [b"1", b"2"].map(|part| CacheKey::new(&[part]));
        assert_eq!(disk.read(&key), None);
        disk.write(&code(&key, "one"));
        disk.write(&code(&key, "two"));
        assert_eq!(disk.read(&key), Some(code(&key, "two")));
        assert_eq!(disk.read(&other), None);
        assert_eq!(fs::read_dir(directory.path().join("a/b")).unwrap().count(), 1);
    }

    #[test]
    fn damaged_files_are_ignored_and_rewritten() {
        let directory = tempfile::tempdir().unwrap();
        let disk = CodeDirectory::new(directory.path().to_path_buf());
        let key = CacheKey::new(&[b"key"]);
        disk.write(&code(&key, "sound"));
        let path = disk.path(&key);
        let sound = fs::read(&path).unwrap();
        for index in (0..sound.len()).step_by(7) {
            let mut damaged = sound.clone();
            damaged[index] ^= 1;
            fs::write(&path, &damaged).unwrap();
            assert_eq!(disk.read(&key), None, "byte {index}");
            fs::write(&path, &sound[..index]).unwrap();
            assert_eq!(disk.read(&key), None, "length {index}");
        }
        disk.write(&code(&key, "sound"));
        assert_eq!(disk.read(&key), Some(code(&key, "sound")));
    }

    #[test]
    fn another_keys_file_is_ignored() {
        let directory = tempfile::tempdir().unwrap();
        let disk = CodeDirectory::new(directory.path().to_path_buf());
        let [key, other] = [b"1", b"2"].map(|part| CacheKey::new(&[part]));
        disk.write(&code(&key, "one"));
        fs::rename(disk.path(&key), disk.path(&other)).unwrap();
        assert_eq!(disk.read(&other), None);
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let disk = CodeDirectory::new(directory.path().to_path_buf());
        let key = CacheKey::new(&[b"key"]);
        let set_mode =
            |mode| fs::set_permissions(directory.path(), fs::Permissions::from_mode(mode)).unwrap();
        disk.write(&code(&key, "one"));
        for mode in [0o720, 0o702, 0o1777] {
            set_mode(mode);
            assert_eq!(disk.read(&key), None, "{mode:o}");
            disk.write(&code(&key, "two"));
        }
        set_mode(0o755);
        assert_eq!(disk.read(&key), Some(code(&key, "one")));
    }

    #[test]
    fn an_unwritable_directory_is_no_failure() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let disk = CodeDirectory::new(file.path().join("below-a-file"));
        let key = CacheKey::new(&[]);
        disk.write(&code(&key, "x"));
        assert_eq!(disk.read(&key), None);
    }
}

//! Compiled code on disk: a file per key.
//!
//! A file holds a mark, the key, a checksum and the code. One that is damaged, or is another
//! key's, counts as absent and is written anew. Files are replaced as a whole, by renaming, so that
//! several processes may share a directory. What lies in it is executed: it is made for its owner alone,
//! and whoever can write it can run code as them.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::CacheKey;
use crate::binary::Binary;

const MAGIC: &[u8; 8] = b"PHALANX1";
const HASH_BYTES: usize = 32;

/// A directory of compiled code.
#[derive(Debug)]
pub(super) struct Disk {
    directory: PathBuf,
}

impl Disk {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// The code of a key, if it is there and sound.
    pub(super) fn read(&self, key: &CacheKey) -> Option<Binary> {
        let bytes = fs::read(self.path(key)).ok()?;
        let rest = bytes.strip_prefix(MAGIC)?.strip_prefix(key.bytes())?;
        let (checksum, payload) = rest.split_at_checked(HASH_BYTES)?;
        let sound = blake3::hash(payload).as_bytes() == checksum;
        sound.then(|| Binary::from_bytes(payload)).flatten()
    }

    /// Keeps the code of a key.
    pub(super) fn write(&self, key: &CacheKey, binary: &Binary) {
        let payload = binary.to_bytes();
        let checksum = blake3::hash(&payload);
        let bytes = [MAGIC, &key.bytes()[..], checksum.as_bytes(), &payload].concat();
        // A full or read-only disk costs only the benefit of the cache.
        let _best_effort = replace(&self.directory, &self.path(key), &bytes);
    }

    fn path(&self, key: &CacheKey) -> PathBuf {
        self.directory.join(blake3::Hash::from(*key.bytes()).to_hex().as_str())
    }
}

/// Puts a file in place at once.
fn replace(directory: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let temporary = directory.join(format!(".new-{}-{number}", std::process::id()));
    let result = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if result.is_err() {
        // If this fails too, the file is in nobody's way.
        let _best_effort = fs::remove_file(&temporary);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary(name: &str) -> Binary {
        Binary { name: name.into(), object: vec![7; 1000], ..Binary::default() }
    }

    #[test]
    fn what_is_written_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let disk = Disk::new(directory.path().join("a/b"));
        let [key, other] = [b"1", b"2"].map(|part| CacheKey::new(&[part]));
        assert_eq!(disk.read(&key), None);
        disk.write(&key, &binary("one"));
        disk.write(&key, &binary("two"));
        assert_eq!(disk.read(&key), Some(binary("two")));
        assert_eq!(disk.read(&other), None);
        assert_eq!(fs::read_dir(directory.path().join("a/b")).unwrap().count(), 1);
    }

    #[test]
    fn damaged_files_are_ignored_and_rewritten() {
        let directory = tempfile::tempdir().unwrap();
        let disk = Disk::new(directory.path().to_path_buf());
        let key = CacheKey::new(&[b"key"]);
        disk.write(&key, &binary("sound"));
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
        disk.write(&key, &binary("sound"));
        assert_eq!(disk.read(&key), Some(binary("sound")));
    }

    #[test]
    fn another_keys_file_is_ignored() {
        let directory = tempfile::tempdir().unwrap();
        let disk = Disk::new(directory.path().to_path_buf());
        let [key, other] = [b"1", b"2"].map(|part| CacheKey::new(&[part]));
        disk.write(&key, &binary("one"));
        fs::rename(disk.path(&key), disk.path(&other)).unwrap();
        assert_eq!(disk.read(&other), None);
    }

    #[test]
    fn an_unwritable_directory_is_no_failure() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let disk = Disk::new(file.path().join("below-a-file"));
        let key = CacheKey::new(&[]);
        disk.write(&key, &binary("x"));
        assert_eq!(disk.read(&key), None);
    }
}

//! Files that take the place of what was there only once they are complete.
//!
//! A full disk, Ctrl-C or an error half-way must not cost the user the result of an earlier run. So a file is written
//! under another name in the same directory, and takes its own when everything is on the disk. What is no plain
//! file (a device, a pipe) is written as it is, and so is a file in a directory that takes no new ones.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Stdout, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::{Builder, NamedTempFile};

/// A file that is being written. Dropped before [`Output::finish`], it leaves what was there.
#[derive(Debug)]
pub(crate) enum Output {
    /// Takes the place of `path` in the end.
    Replacing { file: BufWriter<NamedTempFile>, path: PathBuf },
    /// Cannot be replaced.
    InPlace(BufWriter<File>),
    /// Standard output.
    Standard(Stdout),
}

impl Output {
    /// Begins the file of this name.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        // A link keeps its name, what it leads to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_absent| path.to_owned());
        let old = fs::metadata(&path).ok();
        if old.as_ref().is_some_and(|old| !old.is_file()) {
            return Ok(Self::InPlace(BufWriter::new(File::create(&path)?)));
        }
        match beside(&path, old.as_ref()) {
            Ok(file) => Ok(Self::Replacing { file: BufWriter::new(file), path }),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                Ok(Self::InPlace(BufWriter::new(File::create(&path)?)))
            }
            Err(error) => Err(error),
        }
    }

    /// Gives the file its name.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::Replacing { file, path } => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                // Some file systems find out only now that they are full.
                file.as_file().sync_all()?;
                file.persist(path).map(drop).map_err(|error| error.error)
            }
            Self::InPlace(mut file) => file.flush(),
            Self::Standard(mut stdout) => stdout.flush(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Replacing { file, .. } => file.write(bytes),
            Self::InPlace(file) => file.write(bytes),
            Self::Standard(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Replacing { file, .. } => file.flush(),
            Self::InPlace(file) => file.flush(),
            Self::Standard(stdout) => stdout.flush(),
        }
    }
}

/// A new file in the directory of `path`, with the permissions of the old file, or those of any new one.
fn beside(path: &Path, old: Option<&fs::Metadata>) -> io::Result<NamedTempFile> {
    let directory = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let mut builder = Builder::new();
    builder.prefix(".phalanx-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(directory)?;
    if let Some(old) = old {
        file.as_file().set_permissions(old.permissions())?;
    }
    Ok(file)
}

/// Writes a whole file.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    let written = || {
        let mut output = Output::create(path)?;
        output.write_all(bytes.as_ref())?;
        output.finish()
    };
    written().with_context(|| format!("{} cannot be written", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).expect("readable").map(|entry| entry.expect("readable"));
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn what_was_there_stays_until_the_new_file_is_complete() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("r.npy");
        write(&path, "good").expect("writable");
        let mut output = Output::create(&path).expect("writable");
        output.write_all(&[0; 100_000]).expect("writable");
        assert_eq!(fs::read(&path).expect("readable"), b"good");
        drop(output);
        assert_eq!(fs::read(&path).expect("readable"), b"good");
        assert_eq!(names(directory.path()), ["r.npy"], "nothing is left behind");
        write(&path, "better").expect("writable");
        assert_eq!(fs::read(&path).expect("readable"), b"better");
        assert_eq!(names(directory.path()), ["r.npy"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_are_kept_and_devices_are_written() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let directory = tempfile::tempdir().expect("a directory");
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        write(&file, "old").expect("writable");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("ours");
        symlink("file", &link).expect("a link");
        write(&link, "new").expect("writable");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert_eq!(fs::read(&file).expect("readable"), b"new");
        assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o640);
        write(Path::new("/dev/null"), "anything").expect("writable");
        // Always full.
        if Path::new("/dev/full").exists() {
            write(Path::new("/dev/full"), "anything").expect_err("full");
        }
    }
}

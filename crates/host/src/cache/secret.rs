//! The user's secret, with which compiled code is authenticated.
//!
//! Code that is kept outside of the process comes back through hands that need not be the user's: an
//! application's data, a download, a shared directory. Only who knows the secret can have sealed what
//! is executed, and no application's data hold it: it is a file of 32 random bytes that its owner alone
//! can read, made once, in `$XDG_STATE_HOME/phalanx` or `~/.local/state/phalanx`.
//!
//! Processes that make it at the same time agree: it is written under another name and then linked to
//! its own, which only the first can do. Where there is no such place (no home, a home of somebody else
//! as under `sudo`, a disk that is full or read-only, a program with privileges of its own), the secret
//! is this process's own, and code that others sealed counts as absent.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Bytes of the secret.
pub(super) const BYTES: usize = 32;

/// What only this user's processes know.
pub(super) type Secret = [u8; BYTES];

/// Name of the secret's file.
const FILE: &str = "cache-secret";

/// The secret, which stays the same for as long as the process lives. None where the system has no
/// random numbers either: then no code can be authenticated.
pub(super) fn get() -> Option<&'static Secret> {
    static SECRET: OnceLock<Option<Secret>> = OnceLock::new();
    let make = || directory().and_then(|directory| of_directory(&directory).ok()).or_else(|| random().ok());
    SECRET.get_or_init(make).as_ref()
}

/// Whether a directory is this user's, and nobody else can write to it.
pub(super) fn is_private(directory: &Path) -> bool {
    let found = fs::metadata(directory);
    found.is_ok_and(|found| found.is_dir() && is_mine(&found) && found.mode() & 0o022 == 0)
}

fn is_mine(found: &fs::Metadata) -> bool {
    // SAFETY: it only asks the system for a number.
    found.uid() == unsafe { libc::geteuid() }
}

/// Where the user's programs keep their state.
fn directory() -> Option<PathBuf> {
    if has_privileges_of_its_own() {
        return None;
    }
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = variable("HOME").filter(|home| fs::metadata(home).is_ok_and(|found| is_mine(&found)));
    let state = variable("XDG_STATE_HOME").or_else(|| Some(home?.join(".local/state")))?;
    Some(state.join("phalanx"))
}

/// Whether the program runs with more rights than who started it, whose environment then must not be
/// believed.
#[cfg(target_os = "linux")]
fn has_privileges_of_its_own() -> bool {
    // SAFETY: it only asks the system for a number.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

#[cfg(not(target_os = "linux"))]
fn has_privileges_of_its_own() -> bool {
    // SAFETY: each only asks the system for a number.
    let [real, effective] = unsafe { [libc::getuid(), libc::geteuid()] };
    real != effective
}

/// The secret in a directory, which is made if it is not there.
fn of_directory(directory: &Path) -> io::Result<Secret> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    if !is_private(directory) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let path = directory.join(FILE);
    match read(&path) {
        Ok(secret) => return Ok(secret),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        // Others may know what others could read, and a damaged file helps nobody.
        Err(_unsound) => fs::remove_file(&path)?,
    }
    create(directory, &path)?;
    read(&path)
}

/// The secret of a file that only its owner can read.
fn read(path: &Path) -> io::Result<Secret> {
    let mut file =
        OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let found = file.metadata()?;
    let is_sound =
        found.is_file() && is_mine(&found) && found.mode() & 0o077 == 0 && found.len() == BYTES as u64;
    if !is_sound {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut secret = Secret::default();
    file.read_exact(&mut secret)?;
    Ok(secret)
}

/// Puts a new secret in place, unless another process was quicker.
fn create(directory: &Path, path: &Path) -> io::Result<()> {
    let secret = random()?;
    let name = blake3::Hash::from(random()?).to_hex();
    let temporary = directory.join(format!(".new-{name}"));
    let result = write(&temporary, &secret).and_then(|()| match fs::hard_link(&temporary, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    });
    // If this fails, the file is in nobody's way: its owner alone can read it.
    let _best_effort = fs::remove_file(&temporary);
    result
}

fn write(path: &Path, secret: &Secret) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(secret)?;
    // Once it has its name, it must be whole even after a loss of power.
    file.sync_all()
}

/// Random bytes of the system.
fn random() -> io::Result<Secret> {
    let mut secret = Secret::default();
    // SAFETY: the system writes as many bytes as there are.
    let result = unsafe { libc::getentropy(secret.as_mut_ptr().cast(), BYTES) };
    if result == 0 { Ok(secret) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_secret_is_made_once_and_is_its_owners_alone() {
        let base = tempfile::tempdir().unwrap();
        let directory = base.path().join("state/phalanx");
        let secret = of_directory(&directory).unwrap();
        assert_eq!(of_directory(&directory).unwrap(), secret);
        assert_ne!(secret, Secret::default());
        assert_eq!(fs::metadata(directory.join(FILE)).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&directory).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "nothing is left behind");
        assert_ne!(of_directory(&base.path().join("other")).unwrap(), secret);
    }

    #[test]
    fn those_who_make_it_at_once_agree() {
        for _ in 0..20 {
            let base = tempfile::tempdir().unwrap();
            let directory = base.path().join("phalanx");
            let secrets: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| of_directory(&directory))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect()
            });
            assert!(secrets.iter().all(|secret| *secret == secrets[0]));
        }
    }

    #[test]
    fn what_others_could_know_or_make_is_replaced_or_refused() {
        let base = tempfile::tempdir().unwrap();
        let directory = base.path().join("phalanx");
        let secret = of_directory(&directory).unwrap();
        let path = directory.join(FILE);
        set_mode(&path, 0o644);
        let second = of_directory(&directory).unwrap();
        assert_ne!(second, secret, "others could read it");
        fs::write(&path, &second[..31]).unwrap();
        let third = of_directory(&directory).unwrap();
        assert_ne!(third, second, "it was cut");
        let elsewhere = base.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        assert_ne!(of_directory(&directory).unwrap(), third, "a link may lead anywhere");
        set_mode(&directory, 0o770);
        assert!(of_directory(&directory).is_err(), "its group could replace the file");
        assert!(of_directory(&elsewhere).is_err(), "a file is no directory");
    }
}

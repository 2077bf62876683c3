//! Where the time of an application's dispatches goes, as the environment variable `PHALANX_PROFILE` asks for.
//!
//! It names a file, whose ending says what is written: `.json`, `.svg`, or else tables; `-` is the standard error stream.
//! The device is kept then, whatever the application destroys, so that there is one profile for the process. The file is
//! written when a `VkDevice` is destroyed, when the process ends by `exit` or by returning from `main`, and each second
//! while there is something new, so that a process that ends in any other way has lost a second at most. Standard error
//! is written to once, at `exit`.
#![expect(clippy::print_stderr, reason = "this is what the user asked for")]

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

/// Name of the variable.
const VARIABLE: &str = "PHALANX_PROFILE";

/// Time between two writes while dispatches run.
const INTERVAL: Duration = Duration::from_secs(1);

/// Where profiles go, if anywhere.
static TARGET: LazyLock<Option<OsString>> =
    LazyLock::new(|| std::env::var_os(VARIABLE).filter(|name| !name.is_empty()));

/// What is profiled.
#[derive(Debug)]
struct Kept {
    device: Arc<phalanx::Device>,
    /// How many dispatches the last profile that was written had.
    written: u64,
}

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

/// Whether a profile is asked for.
pub(crate) fn is_wanted() -> bool {
    TARGET.is_some()
}

/// Keeps a device, to tell of it.
pub(crate) fn keep(device: &Arc<phalanx::Device>) {
    static ONCE: Once = Once::new();
    let Some(target) = TARGET.as_deref() else { return };
    *kept() = Some(Kept { device: Arc::clone(device), written: 0 });
    ONCE.call_once(|| {
        // SAFETY: the function takes nothing and stays: the driver is never unloaded (see the build script).
        let _full = unsafe { libc::atexit(at_exit) };
        if target != STANDARD_ERROR {
            // Without the thread there are the other occasions.
            let _started = std::thread::Builder::new().name("phalanx-profile".into()).spawn(|| {
                loop {
                    std::thread::sleep(INTERVAL);
                    write();
                }
            });
        }
    });
}

const STANDARD_ERROR: &str = "-";

/// A logical device ends.
pub(crate) fn device_ends() {
    if TARGET.as_deref().is_some_and(|target| target != STANDARD_ERROR) {
        write();
    }
}

extern "C" fn at_exit() {
    // A panic must not leave it; there is nobody to tell.
    let _panicked = std::panic::catch_unwind(write);
}

fn kept() -> MutexGuard<'static, Option<Kept>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes what was seen, if there is anything new.
fn write() {
    let Some(target) = TARGET.as_deref() else { return };
    // Whoever holds it writes.
    let Ok(mut kept) = KEPT.try_lock() else { return };
    let Some(kept) = kept.as_mut().filter(|kept| !kept.device.is_forked()) else { return };
    let profile = kept.device.profile();
    let dispatches = profile.pipelines.iter().map(|pipeline| pipeline.dispatches).sum();
    if dispatches == kept.written {
        return;
    }
    kept.written = dispatches;
    if target == STANDARD_ERROR {
        eprint!("{}", profile.to_text(&no_source));
    } else if let Err(error) = replace(Path::new(target), &text_for(Path::new(target), &profile)) {
        eprintln!("phalanx: the profile cannot be written to {}: {error}", Path::new(target).display());
    }
}

/// A profile in the form that belongs to a file's name.
fn text_for(path: &Path, profile: &phalanx::profile::Profile) -> String {
    match path.extension().and_then(OsStr::to_str) {
        Some("json") => profile.to_json(),
        Some("svg") => profile.to_svg(),
        _ => profile.to_text(&no_source),
    }
}

/// Applications have their shaders in themselves.
fn no_source(_file: &str, _line: u32) -> Option<String> {
    None
}

/// Writes a file beside its place and moves it there: a process that ends meanwhile leaves the one before.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let beside = Path::new(&beside);
    std::fs::write(beside, text)?;
    std::fs::rename(beside, path).inspect_err(|_error| {
        // What is left is of no use to anybody.
        let _gone = std::fs::remove_file(beside);
    })
}

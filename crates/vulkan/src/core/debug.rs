//! Debugging output of the driver, as the environment variable `PHALANX_DEBUG` asks for.
//!
//! Its word `trace` prints every call, `print` every message that goes to the application. The other words are those of the crate `phalanx`.
#![expect(clippy::print_stderr, reason = "this is what the user asked for")]

use std::sync::LazyLock;

static TRACES: LazyLock<bool> = LazyLock::new(|| has_word("trace"));

static PRINTS: LazyLock<bool> = LazyLock::new(|| has_word("print"));

fn has_word(word: &str) -> bool {
    let words = std::env::var("PHALANX_DEBUG").unwrap_or_default();
    words.split(',').any(|found| found.trim() == word)
}

/// Prints a call.
pub(crate) fn trace(name: &str) {
    if *TRACES {
        eprintln!("phalanx: {:?} {name}", std::thread::current().id());
    }
}

/// Says why the driver does not work at all.
pub(crate) fn report(text: &str) {
    eprintln!("phalanx: {text}");
}

/// Prints a message that the application is told, too.
pub(crate) fn print(message: &str) {
    if *PRINTS {
        eprintln!("phalanx: {message}");
    }
}

/// Says that an entry point panicked; the panic hook has printed where and why.
pub(crate) fn report_panic(name: &str) {
    eprintln!("phalanx: {name} panicked; this is a bug in Phalanx, please report it");
}

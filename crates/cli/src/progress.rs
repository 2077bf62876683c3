//! Progress on a terminal, and a clean stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;
use signal_hook::low_level;

use crate::runtime::CancelToken;

/// Set by Ctrl-C. Long work asks for it between two steps and returns what it has; a dispatch that has the
/// token stops where it is.
///
/// A second Ctrl-C ends the program as if nobody listened.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    token: CancelToken,
    /// Whether nobody asks the token at the moment.
    is_aside: Arc<AtomicBool>,
}

impl Interrupt {
    pub(crate) fn listen() -> Result<Self> {
        let interrupt = Self { token: CancelToken::default(), is_aside: Arc::default() };
        let Self { token: cancel, is_aside } = interrupt.clone();
        let mut signals = Signals::new([SIGINT]).context("Ctrl-C cannot be listened to")?;
        let listen = move || {
            for signal in signals.forever() {
                if cancel.is_cancelled() || is_aside.load(Ordering::Relaxed) {
                    // It only returns for signals that end nothing.
                    let _ignored = low_level::emulate_default_handler(signal);
                }
                cancel.cancel();
            }
        };
        thread::Builder::new().name("ctrl-c".into()).spawn(listen).context("no thread for Ctrl-C")?;
        Ok(interrupt)
    }

    /// One that never comes.
    #[cfg(test)]
    pub(crate) fn never() -> Self {
        Self { token: CancelToken::default(), is_aside: Arc::default() }
    }

    pub(crate) fn is_set(&self) -> bool {
        self.token.is_cancelled()
    }

    /// For compiling and for dispatches.
    pub(crate) fn token(&self) -> &CancelToken {
        &self.token
    }

    /// Does work that does not look at the token, such as reading what a pipe gives: Ctrl-C ends the program at
    /// once meanwhile.
    pub(crate) fn aside<R>(&self, work: impl FnOnce() -> R) -> R {
        self.is_aside.store(true, Ordering::Relaxed);
        let result = work();
        self.is_aside.store(false, Ordering::Relaxed);
        result
    }
}

/// A bar with a message, on standard error and only if that is a terminal.
pub(crate) fn bar(steps: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{spinner} [{pos}/{len}] {wide_msg} {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

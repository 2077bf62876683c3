//! Progress on a terminal, and a clean stop.

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
pub(crate) struct Interrupt(CancelToken);

impl Interrupt {
    pub(crate) fn listen() -> Result<Self> {
        let token = CancelToken::default();
        let cancel = token.clone();
        let mut signals = Signals::new([SIGINT]).context("Ctrl-C cannot be listened to")?;
        let listen = move || {
            for signal in signals.forever() {
                if cancel.is_cancelled() {
                    // It only returns for signals that end nothing.
                    let _ignored = low_level::emulate_default_handler(signal);
                }
                cancel.cancel();
            }
        };
        thread::Builder::new().name("ctrl-c".into()).spawn(listen).context("no thread for Ctrl-C")?;
        Ok(Self(token))
    }

    /// One that never comes.
    #[cfg(test)]
    pub(crate) fn never() -> Self {
        Self(CancelToken::default())
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.is_cancelled()
    }

    /// For dispatches.
    pub(crate) fn token(&self) -> &CancelToken {
        &self.0
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

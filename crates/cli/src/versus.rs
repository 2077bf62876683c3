//! Another library in turn with our kernels: the only place that knows `phalanx_versus`.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;
pub(crate) use phalanx_versus::{Element, Library, Product};
use phalanx_versus::{Kind, Multiplication};

use crate::args::Versus;

/// By then the threads of a library have stopped waiting for its next product (see [`Kind::environment`]).
const REST: Duration = Duration::from_millis(2);

/// Loads a library. What it reads from the environment has to be there when the process starts; if it is not, the process starts
/// again with it.
pub(crate) fn open(versus: Versus) -> Result<Library> {
    let kind = match versus {
        Versus::OneDnn => Kind::OneDnn,
        Versus::OpenBlas => Kind::OpenBlas,
    };
    let missing: Vec<(&str, &str)> =
        kind.environment().into_iter().filter(|(name, _)| std::env::var_os(name).is_none()).collect();
    #[cfg(unix)]
    if !missing.is_empty() {
        use std::os::unix::process::CommandExt;
        let mut command = std::process::Command::new(std::env::current_exe()?);
        // It only returns if it fails.
        return Err(command.args(std::env::args_os().skip(1)).envs(missing).exec().into());
    }
    Ok(Library::open(kind)?)
}

/// A problem that a library solves.
pub(crate) struct Rival<'a> {
    multiplication: Multiplication<'a>,
    name: String,
}

impl<'a> Rival<'a> {
    /// Runs once, to be warm.
    pub(crate) fn new(mut multiplication: Multiplication<'a>, types: &str) -> Result<Self> {
        multiplication.run()?;
        sleep(REST);
        let name = format!("{} {types}", multiplication.library());
        Ok(Self { multiplication, name })
    }

    /// What it is, and with which types.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn result(&self) -> &[u8] {
        self.multiplication.result()
    }

    /// Runs for so long, but once at least; gives the seconds of one run.
    pub(crate) fn spell(&mut self, duration: Duration) -> Result<f64> {
        let (start, mut runs) = (Instant::now(), 0);
        while runs == 0 || start.elapsed() < duration {
            self.multiplication.run()?;
            runs += 1;
        }
        let seconds = start.elapsed().as_secs_f64() / f64::from(runs);
        sleep(REST);
        Ok(seconds)
    }
}

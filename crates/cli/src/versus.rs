//! Another library in turn with our kernels: the only place that knows `phalanx_versus`.

use std::borrow::Cow;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;
pub(crate) use phalanx_versus::{Element, Product};
use phalanx_versus::{Kind, Multiplication};

use crate::args::Versus;

/// By then the threads of a library have stopped waiting for its next product (see [`Kind::environment`]).
const REST: Duration = Duration::from_millis(2);

/// A library, and how it is used.
#[derive(Debug)]
pub(crate) struct Library {
    library: phalanx_versus::Library,
    is_packed: bool,
}

/// Loads a library. What it reads from the environment has to be there when the process starts; if it is not, the process starts
/// again with it.
pub(crate) fn open(versus: Versus) -> Result<Library> {
    let kind = match versus {
        Versus::OneDnn | Versus::OneDnnPacked => Kind::OneDnn,
        Versus::OpenBlas => Kind::OpenBlas,
        Versus::CuBlas => Kind::CuBlas,
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
    let library = phalanx_versus::Library::open(kind)?;
    Ok(Library { library, is_packed: versus == Versus::OneDnnPacked })
}

impl Library {
    /// Prepares a product and runs it once, to be warm; nothing if the library has no such product.
    pub(crate) fn rival(&self, product: Product, a: &[u8], b: &[u8]) -> Result<Option<Rival<'_>>> {
        let product = Product { is_packed: self.is_packed, ..product };
        let mut multiplication = match self.library.prepare(product, a, b) {
            Err(phalanx_versus::Error::Unsupported { .. }) => return Ok(None),
            prepared => prepared?,
        };
        multiplication.run()?;
        sleep(REST);
        let Product { a, b, d, .. } = product;
        let types = match (a == b, a == d) {
            (true, true) => a.to_string(),
            (true, false) => format!("{a}->{d}"),
            (false, _) => format!("{a}*{b}->{d}"),
        };
        let packed = if self.is_packed { " packed" } else { "" };
        let name = format!("{}{packed} {types}", multiplication.library());
        Ok(Some(Rival { multiplication, name }))
    }
}

/// A problem that a library solves.
pub(crate) struct Rival<'a> {
    multiplication: Multiplication<'a>,
    name: String,
}

impl Rival<'_> {
    /// What it is, and with which types.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn result(&self) -> Cow<'_, [u8]> {
        self.multiplication.result()
    }

    /// Runs for so long, but once at least; gives the seconds of one run.
    pub(crate) fn spell(&mut self, duration: Duration) -> Result<f64> {
        let (start, mut runs) = (Instant::now(), 0);
        // A GPU tells itself how long it took.
        let mut told = None;
        while runs == 0 || start.elapsed() < duration {
            if let Some(time) = self.multiplication.run()? {
                *told.get_or_insert(Duration::ZERO) += time;
            }
            runs += 1;
        }
        let seconds = told.unwrap_or(start.elapsed()).as_secs_f64() / f64::from(runs);
        sleep(REST);
        Ok(seconds)
    }
}

//! Another library, or another driver, in turn with our kernels: the only place that knows `phalanx_versus`.

use std::borrow::Cow;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use phalanx_versus::vulkan::{Execution, Number, Vulkan};
pub(crate) use phalanx_versus::{Element, Product, vulkan::Pass};
use phalanx_versus::{Kind, Multiplication};

use crate::args::workload::OtherDriver;
use crate::args::{LayoutName, Versus};
use crate::data::DType;
use crate::runtime::vector;

/// By then the threads of a library have stopped waiting for its next product (see [`Kind::environment`]).
const REST: Duration = Duration::from_millis(2);

/// A matrix in the layout that is optimal for inferencing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OptimalMatrix {
    /// Which of the buffers it is in.
    pub(crate) buffer: usize,
    /// Where it begins there.
    pub(crate) byte: usize,
    /// Its rows and columns.
    pub(crate) shape: [usize; 2],
    pub(crate) dtype: DType,
}

/// What is compared with, and how it is used.
#[derive(Debug)]
pub(crate) enum Library {
    /// Multiplies matrices.
    Products { library: phalanx_versus::Library, is_packed: bool },
    /// Runs the same programs.
    Driver(Box<Vulkan>),
}

/// Loads a library. What it reads from the environment has to be there when the process starts; if it is not, the process starts
/// again with it.
pub(crate) fn open(versus: Versus) -> Result<Library> {
    let kind = match versus {
        // Ours is what it is compared with.
        Versus::Vulkan => {
            return Ok(Library::Driver(Box::new(Vulkan::open(|name| !name.contains("(Phalanx"))?)));
        }
        Versus::OneDnn | Versus::OneDnnPacked => Kind::OneDnn,
        Versus::OpenBlas => Kind::OpenBlas,
        Versus::CuBlas => Kind::CuBlas { adds: false },
        Versus::CuBlasAdd => Kind::CuBlas { adds: true },
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
    Ok(Library::Products { library, is_packed: versus == Versus::OneDnnPacked })
}

/// Opens another driver, if one is wanted.
pub(crate) fn driver(wanted: Option<OtherDriver>) -> Result<Option<Library>> {
    wanted.map(|OtherDriver::Vulkan| open(Versus::Vulkan)).transpose()
}

impl Library {
    /// Prepares a product and runs it once, to be warm; nothing if the library has no such product.
    pub(crate) fn rival(&self, product: Product, a: &[u8], b: &[u8]) -> Result<Option<Rival<'_>>> {
        let &Self::Products { ref library, is_packed } = self else { return Ok(None) };
        let product = Product { is_packed, ..product };
        let mut multiplication = match library.prepare(product, a, b) {
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
        let packed = if is_packed { " packed" } else { "" };
        let name = format!("{}{packed} {types}", multiplication.library());
        Ok(Some(Rival { way: Way::Product(multiplication), name }))
    }

    /// Brings a matrix of a buffer from the layout that is optimal on a device here into a driver's own.
    pub(crate) fn optimize(
        &self,
        matrix: &OptimalMatrix,
        inferencing: LayoutName,
        contents: &mut [u8],
    ) -> Result<()> {
        let Self::Driver(vulkan) = self else { return Ok(()) };
        let &OptimalMatrix { byte, shape: [rows, columns], dtype, .. } = matrix;
        let number = match dtype {
            DType::F16 => Number::F16,
            DType::S8 => Number::S8,
            other => bail!("matrices of {other} are not brought into the layout of {}", vulkan.name()),
        };
        let room = vector::room(dtype, LayoutName::Inferencing, rows, columns)?;
        let place = &mut contents[byte..][..room];
        let (from, to) = ((dtype, inferencing), (dtype, LayoutName::RowMajor));
        let plain = vector::converted(matrix.shape, from, to, place)?;
        let theirs = vulkan.optimal(number, [rows as u32, columns as u32], &plain)?;
        ensure!(
            theirs.len() <= room,
            "a matrix of {rows}x{columns} takes {} bytes of {}, there is room for {room}",
            theirs.len(),
            vulkan.name()
        );
        place[..theirs.len()].copy_from_slice(&theirs);
        Ok(())
    }

    /// Prepares programs on buffers of these contents and runs them once, to be warm; nothing if this runs none.
    pub(crate) fn program(&self, passes: &[Pass<'_>], contents: &[&[u8]]) -> Result<Option<Rival<'_>>> {
        let Self::Driver(vulkan) = self else { return Ok(None) };
        let mut execution = vulkan.prepare(passes, contents)?;
        execution.run()?;
        Ok(Some(Rival { way: Way::Program(execution), name: vulkan.name().to_owned() }))
    }
}

/// A problem that a library solves.
pub(crate) struct Rival<'a> {
    way: Way<'a>,
    name: String,
}

enum Way<'a> {
    Product(Multiplication<'a>),
    Program(Execution<'a>),
}

impl Rival<'_> {
    /// What it is, and with which types.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What it computed.
    pub(crate) fn result(&mut self) -> Result<Cow<'_, [u8]>> {
        Ok(match &mut self.way {
            Way::Product(multiplication) => multiplication.result(),
            Way::Program(execution) => execution.result()?.into(),
        })
    }

    /// Runs for so long, but once at least; gives the seconds of one run.
    pub(crate) fn spell(&mut self, duration: Duration) -> Result<f64> {
        let (start, mut runs) = (Instant::now(), 0);
        // A GPU tells itself how long it took.
        let mut told = None;
        while runs == 0 || start.elapsed() < duration {
            let time = match &mut self.way {
                Way::Product(multiplication) => multiplication.run()?,
                Way::Program(execution) => Some(execution.run()?),
            };
            if let Some(time) = time {
                *told.get_or_insert(Duration::ZERO) += time;
            }
            runs += 1;
        }
        let seconds = told.unwrap_or(start.elapsed()).as_secs_f64() / f64::from(runs);
        sleep(REST);
        Ok(seconds)
    }
}

//! What is compared with, loaded when a benchmark asks for it: libraries of matrix products, oneDNN, OpenBLAS and cuBLAS, and
//! other drivers of Vulkan ([`vulkan`]).
//!
//! A [`Library`] is opened once and stays loaded, because the threads that it makes do. [`Library::prepare`] takes a copy of
//! the factors, plain matrices by rows or a B by columns, into memory of huge pages as that of devices is, and
//! [`Multiplication::run`] computes D = A·B, or D = A·B + D by cuBLAS if that is asked for. Nothing is brought into a layout of
//! the library's own outside of that, unless it is asked for.
//!
//! Invariant: no pointer leaves this crate, and what is given to a library is as large as it is told.

#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "calls a library through its C interface")]
mod cublas;
#[allow(unsafe_code, reason = "calls a library through its C interface")]
mod cublas_lt;
#[allow(unsafe_code, reason = "memory that it allocates itself")]
mod memory;
#[allow(unsafe_code, reason = "calls a library through its C interface")]
mod onednn;
#[allow(unsafe_code, reason = "calls a library through its C interface")]
mod openblas;
#[allow(unsafe_code, reason = "calls a driver through Vulkan's functions")]
pub mod vulkan;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use thiserror::Error;

use memory::Memory;

/// A library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// oneDNN 2 or 3, by `dnnl_matmul`.
    OneDnn,
    /// OpenBLAS, by `cblas_sgemm`.
    OpenBlas,
    /// cuBLAS, by `cublasGemmEx`, and floats of 8 bits by `cublasLtMatmul`, on the first GPU of NVIDIA.
    CuBlas {
        /// Whether a product is added to what the result holds, zeros at first, which is what D = A·B + C costs.
        adds: bool,
    },
}

impl Kind {
    /// What people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneDnn => "oneDNN",
            Self::OpenBlas => "OpenBLAS",
            Self::CuBlas { .. } => "cuBLAS",
        }
    }

    /// The package of Debian and Ubuntu that has it.
    #[must_use]
    pub const fn package(self) -> &'static str {
        match self {
            Self::OneDnn => "libdnnl-dev",
            Self::OpenBlas => "libopenblas-dev",
            Self::CuBlas { .. } => "nvidia-cuda-toolkit",
        }
    }

    /// Environment variables that have to be there when the process starts, for the library reads them when it is loaded.
    ///
    /// Its threads wait for the next product for as short as they can, or they would take the processor from what is measured
    /// beside it. OpenBLAS takes processors that it does not know for ones without AVX-512.
    #[must_use]
    pub fn environment(self) -> Vec<(&'static str, &'static str)> {
        match self {
            Self::OneDnn => vec![("GOMP_SPINCOUNT", "20000")],
            Self::OpenBlas if has_avx512() => {
                vec![("OPENBLAS_THREAD_TIMEOUT", "18"), ("OPENBLAS_CORETYPE", "SkylakeX")]
            }
            Self::OpenBlas => vec![("OPENBLAS_THREAD_TIMEOUT", "18")],
            Self::CuBlas { .. } => Vec::new(),
        }
    }
}

fn has_avx512() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx512f")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A type of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of binary32.
    Bf16,
    /// Floats of 8 bits, with 4 bits of exponent.
    E4m3,
    /// Floats of 8 bits, with 5 bits of exponent.
    E5m2,
    /// Bytes with a sign.
    S8,
    /// Bytes without.
    U8,
    /// Sums of products of bytes.
    S32,
}

impl Element {
    /// Bytes of an element.
    #[must_use]
    pub const fn size_bytes(self) -> usize {
        match self {
            Self::F32 | Self::S32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::E4m3 | Self::E5m2 | Self::S8 | Self::U8 => 1,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::E4m3 => "e4m3",
            Self::E5m2 => "e5m2",
            Self::S8 => "s8",
            Self::U8 => "u8",
            Self::S32 => "s32",
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is multiplied: A has m rows of k, B k rows of n, or n columns of k, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Product {
    /// Rows of A and of the result.
    pub m: usize,
    /// Columns of B and of the result.
    pub n: usize,
    /// Columns of A and rows of B.
    pub k: usize,
    /// The type of A.
    pub a: Element,
    /// The type of B.
    pub b: Element,
    /// The type of the result.
    pub d: Element,
    /// Whether B lies column by column.
    pub is_b_column_major: bool,
    /// Whether B is brought into the library's own layout when the product is prepared.
    pub is_packed: bool,
    /// How many threads compute it.
    pub threads: usize,
}

impl Product {
    fn check(&self, a: &[u8], b: &[u8]) -> Result<(), Error> {
        let &Self { m, n, k, .. } = self;
        let is_right = |bytes: &[u8], rows: usize, columns: usize, element: Element| {
            let elements = rows.checked_mul(columns);
            elements.and_then(|number| number.checked_mul(element.size_bytes())) == Some(bytes.len())
        };
        let is_small = |size: usize| (1..=i32::MAX as usize).contains(&size);
        let sizes = [m, n, k, self.threads];
        if sizes.into_iter().all(is_small) && is_right(a, m, k, self.a) && is_right(b, k, n, self.b) {
            return Ok(());
        }
        Err(Error::Size { m, n, k })
    }
}

/// Why nothing can be compared.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// It is not installed, or not as it should be.
    #[error("{kind} cannot be loaded: install it (the package {} of Debian and Ubuntu): {cause}", kind.package())]
    Missing {
        /// What was asked for.
        kind: Kind,
        /// What the system says.
        cause: String,
    },
    /// It has no such product on this processor.
    #[error("{library} does not multiply {a} by {b} to {d} on this processor")]
    Unsupported {
        /// Its name and version.
        library: String,
        /// The type of A.
        a: Element,
        /// The type of B.
        b: Element,
        /// The type of the result.
        d: Element,
    },
    /// It fails.
    #[error("{library} fails in {function} with status {status}")]
    Failed {
        /// Its name and version.
        library: String,
        /// What was called.
        function: &'static str,
        /// What it returned.
        status: i32,
    },
    /// The matrices are none of these sizes.
    #[error("no matrices of {m}x{n}x{k}")]
    Size {
        /// Rows of A.
        m: usize,
        /// Columns of B.
        n: usize,
        /// Columns of A.
        k: usize,
    },
    /// There is no memory.
    #[error("no memory for {bytes} bytes")]
    Memory {
        /// That was asked for.
        bytes: usize,
    },
}

/// A loaded library.
#[derive(Debug)]
pub struct Library {
    loaded: Loaded,
    name: String,
}

#[derive(Debug)]
enum Loaded {
    OneDnn(onednn::OneDnn),
    OpenBlas(openblas::OpenBlas),
    CuBlas(cublas::CuBlas),
}

impl Library {
    /// Loads a library for the rest of the process.
    ///
    /// # Errors
    /// [`Error::Missing`] if it is not there.
    pub fn open(kind: Kind) -> Result<Self, Error> {
        let missing = |cause| Error::Missing { kind, cause };
        let not_loaded = |cause: libloading::Error| missing(cause.to_string());
        let (loaded, name) = match kind {
            Kind::OneDnn => {
                let (library, name) = onednn::OneDnn::open().map_err(not_loaded)?;
                (Loaded::OneDnn(library), name)
            }
            Kind::OpenBlas => {
                let (library, name) = openblas::OpenBlas::open().map_err(not_loaded)?;
                (Loaded::OpenBlas(library), name)
            }
            Kind::CuBlas { adds } => {
                let (library, name) = cublas::CuBlas::open(adds).map_err(missing)?;
                (Loaded::CuBlas(library), name)
            }
        };
        Ok(Self { loaded, name })
    }

    /// Its name and version.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Copies the factors, and finds out how the library multiplies them.
    ///
    /// # Errors
    /// If the sizes do not fit, or the library has no such product.
    pub fn prepare(&self, product: Product, a: &[u8], b: &[u8]) -> Result<Multiplication<'_>, Error> {
        product.check(a, b)?;
        let mut result_bytes = product.m.checked_mul(product.n);
        result_bytes = result_bytes.and_then(|number| number.checked_mul(product.d.size_bytes()));
        let result_bytes = result_bytes.ok_or(Error::Size { m: product.m, n: product.n, k: product.k })?;
        if let Loaded::CuBlas(library) = &self.loaded {
            let way = Way::CuBlas(library.prepare(product, a, b, &self.name)?);
            let [a, b, d] = [Memory::zeroed(0)?, Memory::zeroed(0)?, Memory::zeroed(0)?];
            return Ok(Multiplication { way, operands: Operands { product, a, b, d }, name: &self.name });
        }
        let (a, b, d) = (Memory::of(a)?, Memory::of(b)?, Memory::zeroed(result_bytes)?);
        let operands = Operands { product, a, b, d };
        let way = match &self.loaded {
            Loaded::OneDnn(library) => Way::OneDnn(library.prepare(&operands, &self.name)?),
            Loaded::OpenBlas(library) => {
                library.check(&operands.product, &self.name)?;
                Way::OpenBlas(library)
            }
            Loaded::CuBlas(_) => unreachable!("it has memory of its own"),
        };
        Ok(Multiplication { way, operands, name: &self.name })
    }
}

/// Matrices in memory, of the sizes that the product has.
#[derive(Debug)]
struct Operands {
    product: Product,
    a: Memory,
    b: Memory,
    d: Memory,
}

/// A product that is ready to be computed.
#[derive(Debug)]
pub struct Multiplication<'a> {
    // Before the memory that it refers to.
    way: Way<'a>,
    operands: Operands,
    name: &'a str,
}

#[derive(Debug)]
enum Way<'a> {
    OneDnn(onednn::Multiplication<'a>),
    OpenBlas(&'a openblas::OpenBlas),
    CuBlas(cublas::Multiplication<'a>),
}

impl Multiplication<'_> {
    /// The name and version of the library.
    #[must_use]
    pub fn library(&self) -> &str {
        self.name
    }

    /// Computes it, or adds it to the result where the library was opened so; gives the time that a GPU took, if one did.
    ///
    /// # Errors
    /// If the library fails.
    pub fn run(&mut self) -> Result<Option<Duration>, Error> {
        match &mut self.way {
            Way::OneDnn(multiplication) => multiplication.run(&mut self.operands, self.name)?,
            Way::OpenBlas(library) => library.run(&mut self.operands),
            Way::CuBlas(multiplication) => return multiplication.run(self.name).map(Some),
        }
        Ok(None)
    }

    /// The result by rows.
    #[must_use]
    pub fn result(&self) -> Cow<'_, [u8]> {
        match &self.way {
            Way::CuBlas(multiplication) => multiplication.result().into(),
            Way::OneDnn(_) | Way::OpenBlas(_) => self.operands.d.bytes().into(),
        }
    }
}

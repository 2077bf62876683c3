//! Modules, and what they say about themselves.

use std::sync::Arc;

use phalanx_front_mlir as mlir;
use phalanx_front_spirv::{Info, inspect_specialized, inspect_unspecialized};

use crate::error::Error;

/// A module of SPIR-V or MLIR that was read and understood. Clones refer to the same module.
#[derive(Clone, Debug)]
pub struct Module {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    source: Source,
    info: Info,
}

/// What a module was made of.
#[derive(Debug)]
pub(crate) enum Source {
    Spirv(Vec<u32>),
    Mlir(Box<MlirText>),
}

/// MLIR with what messages and source positions call it.
#[derive(Debug)]
pub(crate) struct MlirText {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) ast: mlir::ast::Ast,
    pub(crate) info: mlir::Info,
}

impl Module {
    /// Reads a module.
    ///
    /// # Errors
    ///
    /// [`Error::Spirv`] says what is wrong and where.
    pub fn new(words: &[u32]) -> Result<Self, Error> {
        let info = inspect_unspecialized(words)?;
        Ok(Self { inner: Arc::new(Inner { source: Source::Spirv(words.to_vec()), info }) })
    }

    /// Reads MLIR. Its kernels take buffers by position: argument `i` is the buffer at set 0, binding `i`; numbers are
    /// push constants. See [`Module::groups`] for what a text says of the size of a dispatch.
    ///
    /// In source positions the text is called `name`.
    ///
    /// ```
    /// use phalanx::{Binding, Device, DeviceOptions, Dispatch, Module, PipelineDescriptor};
    /// let module = Module::from_mlir(
    ///     "gpu.module @kernels {
    ///        gpu.func @double(%x: memref<?xf32>) kernel {
    ///          %i = gpu.global_id x
    ///          %a = memref.load %x[%i] : memref<?xf32>
    ///          %b = arith.addf %a, %a : f32
    ///          memref.store %b, %x[%i] : memref<?xf32>
    ///          gpu.return
    ///        }
    ///      }",
    ///     "double.mlir",
    /// )?;
    /// let device = Device::new(&DeviceOptions::default())?;
    /// let pipeline = device.create_pipeline(&PipelineDescriptor::new(&module))?;
    /// let buffer = device.create_buffer_from(&[1.0_f32, 2.0, 3.0])?;
    /// device.dispatch(&Dispatch {
    ///     bindings: &[Binding::new(0, 0, &buffer)],
    ///     ..Dispatch::new(&pipeline, [1, 1, 1])
    /// })?;
    /// assert_eq!(buffer.read_slice::<f32>(0, 3)?, [2.0, 4.0, 6.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Mlir`] says what is wrong and where.
    pub fn from_mlir(text: &str, name: &str) -> Result<Self, Error> {
        let ast = mlir::parse(text).map_err(|error| mlir::Error::from(error).quote(text))?;
        let found = mlir::inspect_ast(&ast);
        let info = crate::mlir::module_info(&found);
        let text = MlirText { name: name.to_owned(), text: text.to_owned(), ast, info: found };
        Ok(Self { inner: Arc::new(Inner { source: Source::Mlir(Box::new(text)), info }) })
    }

    /// Work-groups along each axis, if the module holds a launch of the entry point that states them (MLIR's
    /// `gpu.launch_func` with constants).
    pub fn groups(&self, entry: &str) -> Option<[u32; 3]> {
        let Source::Mlir(mlir) = &self.inner.source else { return None };
        mlir.info.entry_points.iter().find(|found| found.name == entry)?.groups
    }

    /// The whole name of an entry point: in MLIR it may lack those of its modules, or be left out where there is only
    /// one kernel. SPIR-V has whole names.
    pub fn entry_name<'a>(&'a self, entry: Option<&'a str>) -> Option<&'a str> {
        let Source::Mlir(mlir) = &self.inner.source else { return entry };
        mlir.info.choose(entry)
    }

    /// What it holds and needs, with specialisation constants at their defaults. Where those make no valid
    /// types, such as matrices of 0 rows, it holds what does not depend on them.
    pub fn info(&self) -> &Info {
        &self.inner.info
    }

    /// What it holds and needs with these specialisation constants.
    ///
    /// # Errors
    ///
    /// As [`Module::new`].
    pub fn info_with(&self, specialization: &[(u32, SpecValue)]) -> Result<Info, Error> {
        let bits: Vec<_> = specialization.iter().map(|&(id, value)| (id, value.bits())).collect();
        match &self.inner.source {
            Source::Spirv(words) => Ok(inspect_specialized(words, &bits)?),
            Source::Mlir(_) => Ok(self.inner.info.clone()),
        }
    }

    /// The words of a module of SPIR-V; none of MLIR.
    pub fn words(&self) -> &[u32] {
        match &self.inner.source {
            Source::Spirv(words) => words,
            Source::Mlir(_) => &[],
        }
    }

    pub(crate) fn source(&self) -> &Source {
        &self.inner.source
    }

    pub(crate) fn declared(&self) -> &[(u32, u32)] {
        &self.inner.info.declared
    }
}

/// The value of a specialisation constant.
///
/// ```
/// use phalanx::SpecValue;
/// assert_eq!(SpecValue::from(1.0_f32).bits(), 0x3f80_0000);
/// assert_eq!(SpecValue::from(-1_i32).bits(), 0xffff_ffff);
/// assert_eq!(SpecValue::from(true), SpecValue::from_bits(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpecValue(u64);

impl SpecValue {
    /// A value by its bits, upper ones zero.
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Its bits.
    pub fn bits(self) -> u64 {
        self.0
    }
}

macro_rules! spec_values {
    ($($ty:ty, $value:ident => $bits:expr;)*) => {$(
        impl From<$ty> for SpecValue {
            fn from($value: $ty) -> Self {
                Self($bits)
            }
        }
    )*};
}

spec_values! {
    bool, value => value.into();
    u8, value => value.into();
    u16, value => value.into();
    u32, value => value.into();
    u64, value => value;
    i8, value => value.cast_unsigned().into();
    i16, value => value.cast_unsigned().into();
    i32, value => value.cast_unsigned().into();
    i64, value => value.cast_unsigned();
    f32, value => value.to_bits().into();
    f64, value => value.to_bits();
}

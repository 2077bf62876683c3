//! Kernels beside the ladder, each on data that means something and against an independent reference.
//!
//! A module is one workload: its sizes, its data, its reference, and what a picture of its result shows. The
//! GLSL or MLIR is in `shaders/`, a file for each kernel.

mod adam;
pub(crate) mod attention;
pub(crate) mod conv;
pub(crate) mod dequant;
mod gradient;
mod layers;
pub(crate) mod matvec;
pub(crate) mod mlp;
pub(crate) mod neural_texture;
pub(crate) mod rows;

use anyhow::Result;

use crate::args::workload::{OutputArgs, Scope, WorkloadCommand};
use crate::data::DType;
use crate::measure::{Kernel, Source, Workload, with_includes};
use crate::runtime::DeviceKind;

/// What a workload is run for; it decides the sizes that the user does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Demo,
    Bench,
    BenchOfGpu,
}

impl Purpose {
    fn choose<T>(self, demo: T, bench: T) -> T {
        match self {
            Self::Demo => demo,
            Self::Bench | Self::BenchOfGpu => bench,
        }
    }

    /// The same on a device.
    fn on(self, device: DeviceKind) -> Self {
        match (self, device) {
            (Self::Bench, DeviceKind::Cuda { .. }) => Self::BenchOfGpu,
            _ => self,
        }
    }

    /// The tiles that a kernel is run with, of which the first is for any device: all where a processor's speed is measured.
    fn tiles<T>(self, all: &[T]) -> &[T] {
        if self == Self::Bench { all } else { &all[..1] }
    }
}

impl WorkloadCommand {
    /// The problems that the user asked for, and where their results go.
    pub(crate) fn problems(&self, purpose: Purpose) -> Result<(Vec<Box<dyn Workload>>, &OutputArgs)> {
        Ok(match self {
            Self::Attention(args) => (attention::all(args, purpose)?, &args.output),
            Self::Conv(args) => (conv::all(args, purpose)?, &args.output),
            Self::ConvRotate(args) => (conv::rotate::all(args, purpose)?, &args.output),
            Self::Dequant(args) => (dequant::all(args, purpose)?, &args.output),
            Self::Matvec(args) => (matvec::all(args, purpose)?, &args.output),
            Self::Mlp(args) => (mlp::all(args, purpose)?, &args.output),
            Self::Rows(args) => (rows::all(args, purpose)?, &args.output),
            Self::NeuralTexture(args) => (neural_texture::all(args, purpose)?, &args.output),
        })
    }
}

/// A kernel of each form with each tile, but for those that are another once more: conversions have a tile of their own, and
/// few channels make one of several.
fn kernels_of<F: Copy, T: Copy>(forms: &[F], tiles: &[T], kernel: impl Fn(F, T) -> Kernel) -> Vec<Kernel> {
    let mut kernels: Vec<Kernel> = Vec::new();
    for (form, tile) in forms.iter().flat_map(|&form| tiles.iter().map(move |&tile| (form, tile))) {
        let kernel = kernel(form, tile);
        if !kernels.iter().any(|other| (&other.name, &other.tile) == (&kernel.name, &kernel.tile)) {
            kernels.push(kernel);
        }
    }
    kernels
}

/// The subgroup of the kernels in the dialect GL_NV_cooperative_matrix2.
const SUBGROUP_SIZE: u32 = 32;

/// The subgroup of the conversions: as many rows as it has invocations.
const CONVERSION_ROWS: u32 = 32;

impl Scope {
    /// The preprocessor definitions that make a kernel one of this scope.
    fn definitions(self) -> Vec<(&'static str, String)> {
        let name = match self {
            Self::Subgroup => "gl_ScopeSubgroup",
            Self::Workgroup => "gl_ScopeWorkgroup",
        };
        vec![("SCOPE", name.to_owned())]
    }

    /// How many invocations a work-group has.
    fn invocations(self) -> u32 {
        match self {
            Self::Subgroup => SUBGROUP_SIZE,
            Self::Workgroup => 8 * SUBGROUP_SIZE,
        }
    }
}

/// A kernel's source with what it includes: its workload's part, and that of its dialect.
fn complete(source: &str, common: &str) -> Source {
    let files = [
        ("common.glsl", common),
        ("../matrix2.glsl", include_str!("../../shaders/matrix2.glsl")),
        ("../conversion.glsl", include_str!("../../shaders/conversion.glsl")),
    ];
    Source::Glsl(with_includes(source, &files))
}

/// Push constants of 32-bit numbers.
fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Numbers rounded to a type.
fn bytes_of(dtype: DType, values: impl IntoIterator<Item = f64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    values.into_iter().for_each(|value| dtype.push(dtype.bits(value), &mut bytes));
    bytes
}

/// The numbers that bytes hold.
fn values_of(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(dtype.size_bytes()).map(|element| dtype.value(dtype.read(element))).collect()
}

//! What `phalanx explain` understands.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Error, Result, bail};
use clap::{Args, Subcommand, ValueEnum};

use crate::args::{GlslArgs, LayoutName};
use crate::data::DType;
use crate::data::spec::SpecConstant;
use crate::runtime::DeviceKind;

pub(crate) const EXPLAIN_HELP: &str = "\
A shader that is called `matrix`, `tensor` or `layout` is written ./matrix.

Example:
  phalanx explain matrix --type f16 --rows 16 --cols 16 --use a --subgroup-size 32 --svg a.svg
  phalanx explain tensor --rows 8 --cols 8 --dims 20,20 --slice=-2:8,5:8 --clamp edge --svg load.svg
  phalanx explain layout --type f16 --rows 8 --cols 12 --layout inferencing --svg layout.svg
  phalanx explain kernel.comp --spec 0=64 --let offset0=128 --svg kernel.svg";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct ExplainArgs {
    #[command(subcommand)]
    pub(crate) what: Option<ExplainCommand>,
    #[command(flatten)]
    pub(crate) shader: ShaderArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExplainCommand {
    /// Which component of which invocation each element of a matrix is
    #[command(after_help = MATRIX_HELP)]
    Matrix(MatrixArgs),
    /// Which element of a tensor each element of a matrix is loaded from or stored to
    #[command(after_help = TENSOR_HELP)]
    Tensor(TensorArgs),
    /// Which byte each element of a matrix for cooperative vectors begins at
    #[command(after_help = LAYOUT_HELP)]
    Layout(LayoutArgs),
}

/// In which form to answer.
#[derive(Debug, Args)]
pub(crate) struct Output {
    /// Draw a picture
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Print JSON, which leaves nothing out
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShaderArgs {
    /// GLSL (.comp, .glsl), SPIR-V (.spv), SPIR-V assembly (.spvasm) or MLIR (.mlir): all matrices and tensor accesses in it
    #[arg(required = true)]
    pub(crate) shader: Option<PathBuf>,
    /// The entry point; without it `main`, or the only kernel of MLIR
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
    /// Matrix shapes and numbers of tensors may depend on specialisation constants
    #[arg(long, value_name = "ID=VALUE")]
    pub(crate) spec: Vec<SpecConstant>,
    /// How many invocations a subgroup has: a power of two from 4 to 128
    #[arg(long, value_name = "N")]
    pub(crate) subgroup_size: Option<u32>,
    /// A number that the shader computes, in all tensor accesses, or as 2.offset0 in the second one
    #[arg(long = "let", value_name = "[ACCESS.]NAME=VALUE")]
    pub(crate) given: Vec<Given>,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) glsl: GlslArgs,
}

const MATRIX_HELP: &str = "\
The grid has invocation.component at the place of each element.

Example:
  phalanx explain matrix --type f16 --rows 16 --cols 16 --use a --scope subgroup --subgroup-size 32";

#[derive(Debug, Args)]
pub(crate) struct MatrixArgs {
    /// The component type
    #[arg(long = "type", value_name = "TYPE", default_value = "f16")]
    pub(crate) dtype: DType,
    /// Its rows
    #[arg(long, value_name = "N")]
    pub(crate) rows: u32,
    /// Its columns
    #[arg(long, value_name = "N")]
    pub(crate) cols: u32,
    /// Its role in a multiplication
    #[arg(long = "use", value_name = "USE", default_value = "accumulator")]
    pub(crate) use_: UseName,
    /// The invocations that share it
    #[arg(long, value_name = "SCOPE", default_value = "subgroup")]
    pub(crate) scope: ScopeName,
    /// How many invocations a subgroup has; the device's default unless given
    #[arg(long, value_name = "N")]
    pub(crate) subgroup_size: Option<u32>,
    /// How many invocations the work-group has that shares the matrix; as many as a subgroup unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) workgroup_size: Option<u32>,
    /// On what
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub(crate) device: DeviceKind,
    #[command(flatten)]
    pub(crate) output: Output,
}

const LAYOUT_HELP: &str = "\
The layouts inferencing and training are those of VK_NV_cooperative_vector that an implementation chooses.
`phalanx convert` brings matrices there.

Example:
  phalanx explain layout --type f16 --rows 8 --cols 12 --layout inferencing --svg layout.svg
  phalanx explain layout --type s8 --rows 4 --cols 4 --layout column-major --stride 16";

#[derive(Debug, Args)]
pub(crate) struct LayoutArgs {
    /// The type of the elements
    #[arg(long = "type", value_name = "TYPE", default_value = "f16")]
    pub(crate) dtype: DType,
    /// Rows of the matrix
    #[arg(long, value_name = "N")]
    pub(crate) rows: u32,
    /// Columns of the matrix
    #[arg(long, value_name = "N")]
    pub(crate) cols: u32,
    /// Its layout
    #[arg(long, value_name = "LAYOUT", default_value = "inferencing")]
    pub(crate) layout: LayoutName,
    /// Bytes from a row, or a column, to the next; none are left out without it, and optimal layouts have their own
    #[arg(long, value_name = "BYTES")]
    pub(crate) stride: Option<u64>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// The use of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UseName {
    A,
    B,
    #[value(alias = "acc", alias = "c")]
    Accumulator,
}

/// The scope of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeName {
    Subgroup,
    Workgroup,
}

const TENSOR_HELP: &str = "\
Dimension 0 is the outermost. What is not given is what OpCreateTensorLayoutNV and OpTensorLayoutSetDimensionNV
make it; there is a view if any of its options is given.
The grid has, for each element of the matrix, the index of its element in the tensor: with a `*` where the clamp
mode has moved it, `=` for the clamp value or a store that is discarded, `?` where the clamp mode leaves it
undefined, and `-` for what is clipped.

Example:
  phalanx explain tensor --rows 8 --cols 8 --dims 20,20 --slice=-2:8,5:8 --clamp edge
  phalanx explain tensor --rows 4 --cols 6 --dims 6,4 --permutation 1,0 --clip 0:3,0:6 --svg transpose.svg";

#[derive(Debug, Args)]
pub(crate) struct TensorArgs {
    /// Rows of the matrix
    #[arg(long, value_name = "N")]
    pub(crate) rows: u32,
    /// Columns of the matrix
    #[arg(long, value_name = "N")]
    pub(crate) cols: u32,
    /// The component type, which byte offsets depend on
    #[arg(long = "type", value_name = "TYPE", default_value = "f16")]
    pub(crate) dtype: DType,
    /// A store, which has no clamp modes but `undefined`
    #[arg(long)]
    pub(crate) store: bool,
    /// Sizes of the tensor, 1 to 5
    #[arg(long, value_name = "LIST", value_delimiter = ',', required = true)]
    pub(crate) dims: Vec<u32>,
    /// Elements, or blocks, from one to the next
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) strides: Vec<u32>,
    /// Sizes of blocks
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) blocks: Vec<u32>,
    /// The region: offset and span of each dimension
    #[arg(long, value_name = "OFFSET:SPAN,...", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) slice: Vec<Slice>,
    /// What becomes of coordinates outside of the tensor
    #[arg(long, value_name = "MODE", default_value = "undefined")]
    pub(crate) clamp: ClampName,
    /// Sizes of the view
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) view_dims: Vec<u32>,
    /// Strides of the view
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "view_dims")]
    pub(crate) view_strides: Vec<u32>,
    /// Which dimension comes at each place of the view
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) permutation: Vec<u8>,
    /// The rows and the columns of the matrix that are accessed
    #[arg(long, value_name = "ROW:ROWS,COL:COLS", value_delimiter = ',')]
    pub(crate) clip: Vec<Slice>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// A clamp mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClampName {
    Undefined,
    Constant,
    Edge,
    Repeat,
    Mirror,
}

/// Where something begins, and how much of it there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) offset: i32,
    pub(crate) span: u32,
}

impl FromStr for Slice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let context = || format!("`{text}` is no OFFSET:SPAN");
        let Some((offset, span)) = text.split_once(':') else { bail!(context()) };
        Ok(Self {
            offset: offset.trim().parse().with_context(context)?,
            span: span.trim().parse().with_context(context)?,
        })
    }
}

/// A number of a tensor access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Given {
    /// Counted from 1; all of them without it.
    pub(crate) access: Option<usize>,
    pub(crate) name: String,
    pub(crate) value: u32,
}

impl FromStr for Given {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let context = || format!("`{text}` is no NAME=VALUE");
        let Some((name, value)) = text.split_once('=') else { bail!(context()) };
        let (access, name) = match name.split_once('.') {
            Some((access, name)) => (Some(access.parse().with_context(context)?), name),
            None => (None, name),
        };
        // Offsets have a sign, sizes may need all bits.
        let value = match value.parse::<i32>() {
            Ok(value) => value.cast_unsigned(),
            Err(_) => value.parse().with_context(context)?,
        };
        Ok(Self { access, name: name.to_owned(), value })
    }
}

//! What `phalanx bench` and `phalanx demo` ask of the workloads beside the ladder.
//!
//! Both take the same options. What is not given is small for a demo, and for a benchmark what records are compared at.

use std::path::PathBuf;

use crate::runtime::DeviceKind;
use clap::{Args, Parser, Subcommand, ValueEnum};

use super::thread_count;

#[derive(Debug, Subcommand)]
pub(crate) enum WorkloadCommand {
    /// Attention that never holds the matrix of scores
    #[command(after_help = ATTENTION_HELP)]
    Attention(AttentionArgs),
    /// Convolution of images
    #[command(after_help = CONV_HELP)]
    Conv(ConvArgs),
    /// Convolution whose tiles of the image overlap, in MLIR: every tile loaded, or rotated out of its neighbours
    #[command(after_help = CONV_ROTATE_HELP)]
    ConvRotate(ConvRotateArgs),
    /// The product of quantised weights
    #[command(after_help = DEQUANT_HELP)]
    Dequant(DequantArgs),
    /// Matrix times vectors in plain subgroup code, against the speed of memory
    #[command(after_help = MATVEC_HELP)]
    Matvec(MatvecArgs),
    /// A small network that each invocation evaluates
    #[command(after_help = MLP_HELP)]
    Mlp(MlpArgs),
    /// Softmax, RMS norm, sums, prefix sums and sorting of rows in plain subgroup code, against the speed of memory
    #[command(after_help = ROWS_HELP)]
    Rows(RowsArgs),
    /// Training of a small network on a texture, and its decompression
    #[command(after_help = NEURAL_TEXTURE_HELP)]
    NeuralTexture(NeuralTextureArgs),
}

/// A command of them as one line, for tables of workloads.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
pub(crate) struct WorkloadLine {
    #[command(subcommand)]
    command: WorkloadCommand,
}

impl WorkloadLine {
    pub(crate) fn read(line: &str) -> Result<WorkloadCommand, clap::Error> {
        Ok(Self::try_parse_from(line.split_whitespace())?.command)
    }
}

/// What runs any kernel, as we do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OtherDriver {
    /// The first Vulkan device that is not ours
    Vulkan,
}

/// What every measurement takes.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// What runs it: `cpu`, or `cuda:0` for a GPU of NVIDIA
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub(crate) device: DeviceKind,
    /// How many threads to use; all cores unless given
    #[arg(long, value_name = "N", value_parser = thread_count)]
    pub(crate) threads: Option<usize>,
    /// Another Vulkan driver to measure in turn with each kernel
    #[arg(long, value_name = "DRIVER")]
    pub(crate) versus: Option<OtherDriver>,
    /// Write a record for each kernel; `-` is standard output. A demo writes one to out/
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Draw a chart. A demo draws one in out/
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Draw results as PNG, if they are worth looking at. A demo draws them in out/
    #[arg(long, value_name = "DIR")]
    pub(crate) pictures: Option<PathBuf>,
}

/// The dialects in which convolution and attention are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// GL_NV_cooperative_matrix2
    Matrix2,
    /// GL_QCOM_cooperative_matrix_conversion
    Qcom,
}

/// Who holds a matrix in the dialect GL_NV_cooperative_matrix2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    Subgroup,
    Workgroup,
}

/// Which keys a query sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mask {
    /// All of them
    Full,
    /// Those that do not come after it
    Causal,
}

const ATTENTION_HELP: &str = "\
The tokens are a text's bytes. A query asks what came after the bytes before it; the values say where in the text that
was. Results are compared with an independent softmax in f64.

Example:
  phalanx bench attention --tokens 4096 --head-sizes 64,128 --masks causal --json attention.json
  phalanx demo attention";

#[derive(Debug, Args)]
pub(crate) struct AttentionArgs {
    /// How many queries and keys [demo: 500, bench: 4096]
    #[arg(long, value_name = "N")]
    pub(crate) tokens: Option<u32>,
    /// How many heads [demo: 2, bench: 1]
    #[arg(long, value_name = "N")]
    pub(crate) heads: Option<u32>,
    /// The elements of a query and of a key: 64 or 128 [demo: both, bench: 128]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) head_sizes: Vec<u32>,
    /// Which keys a query sees
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [Mask::Full, Mask::Causal], value_enum)]
    pub(crate) masks: Vec<Mask>,
    /// Ways to write it
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [Form::Matrix2, Form::Qcom], value_enum)]
    pub(crate) kernels: Vec<Form>,
    /// Who holds the matrices of `matrix2`
    #[arg(long, default_value = "workgroup")]
    pub(crate) scope: Scope,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const CONV_HELP: &str = "\
Images are channels-last, weights have a row for each channel of the result. The first channels of the result are edges
and blurs of a pattern, the others have random weights. Results are compared with an explicit im2col and product in f64.

Example:
  phalanx bench conv --image 56x56x256 --out-channels 256 --filter 3x3 --json conv.json
  phalanx demo conv --stride 2 --dilation 2 --pad 3";

#[derive(Debug, Args)]
pub(crate) struct ConvArgs {
    /// The input: height, width and channels [demo: 60x60x64, bench: 56x56x256]
    #[arg(long, value_name = "HxWxC")]
    pub(crate) image: Option<String>,
    /// How many images
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) images: u32,
    /// The channels of the result [demo: 64, bench: 256]
    #[arg(long, value_name = "N")]
    pub(crate) out_channels: Option<u32>,
    /// The filter's height and width
    #[arg(long, value_name = "HxW", default_value = "3x3")]
    pub(crate) filter: String,
    /// How far the filter moves from one pixel of the result to the next
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) stride: u32,
    /// How far the filter's taps are apart
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) dilation: u32,
    /// Rows and columns of zeros around the image
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) pad: u32,
    /// Ways to write it
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [Form::Matrix2, Form::Qcom], value_enum)]
    pub(crate) kernels: Vec<Form>,
    /// Who holds the matrices of `matrix2`
    #[arg(long, default_value = "workgroup")]
    pub(crate) scope: Scope,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const CONV_ROTATE_HELP: &str = "\
Filters of 3x3 on a channels-last image with a border of zeros, f16 with sums of f32. The tiles of the three taps of a row
overlap: `loads` loads each of them, `rotations` loads those that do not overlap and makes the others of two neighbours
by gpu.subgroup_mma_rotate. The interpreter runs both once and counts the elements that they read. Results are compared
with an explicit im2col and product in f64, the interpreter's too.

Example:
  phalanx bench conv-rotate --image 56x56x64 --json conv-rotate.json --svg conv-rotate.svg
  phalanx demo conv-rotate";

#[derive(Debug, Args)]
pub(crate) struct ConvRotateArgs {
    /// The image: height, width and channels, a multiple of 32 [demo: 28x28x64, bench: 56x56x64]
    #[arg(long, value_name = "HxWxC")]
    pub(crate) image: Option<String>,
    /// The channels of the result, a multiple of 64
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) out_channels: u32,
    /// Ways to write it
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [RotateForm::Loads, RotateForm::Rotations], value_enum)]
    pub(crate) kernels: Vec<RotateForm>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Where the tiles of a convolution come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RotateForm {
    /// All from memory
    Loads,
    /// Those that overlap from others
    Rotations,
}

/// How weights are quantised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Quantisation {
    /// Blocks of 32 weights of 4 bits and an f16 scale
    #[value(name = "q4_0")]
    Q4,
    /// Blocks of 32 weights of 8 bits and an f16 scale
    #[value(name = "q8_0")]
    Q8,
}

/// Ways to multiply quantised weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DequantForm {
    /// A function that decodes an element while it is loaded
    Decode,
    /// The same with a second function that decodes four
    DecodeVector,
    /// Invocations decode rows and convert them to matrices
    Qcom,
}

const DEQUANT_HELP: &str = "\
Random weights are quantised in blocks of 32 along K, as inference engines do it. Results are compared with an independent
product in f64 of what the blocks hold.

Example:
  phalanx bench dequant --sizes 2048 --blocks q4_0 --kernels decode,qcom --json dequant.json
  phalanx demo dequant";

#[derive(Debug, Args)]
pub(crate) struct DequantArgs {
    /// The sizes of the product; K is a multiple of 32 [demo: 300x200x512, bench: 2048]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) sizes: Vec<crate::ladder::plan::Mnk>,
    /// The layouts of blocks
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [Quantisation::Q4, Quantisation::Q8], value_enum)]
    pub(crate) blocks: Vec<Quantisation>,
    /// Ways to write it
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [DequantForm::Decode, DequantForm::DecodeVector, DequantForm::Qcom], value_enum)]
    pub(crate) kernels: Vec<DequantForm>,
    /// Who holds the matrices of the decode functions
    #[arg(long, default_value = "workgroup")]
    pub(crate) scope: Scope,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What a matrix that multiplies vectors is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Weights {
    #[value(name = "q4_0")]
    Q4,
    #[value(name = "q8_0")]
    Q8,
    F16,
}

/// Ways to multiply vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MatvecForm {
    /// Weights and vectors as f32
    Plain,
    /// Dot products of bytes, the vectors in blocks as the weights; not for f16
    Dot,
}

const MATVEC_HELP: &str = "\
A benchmark multiplies several copies of the matrix in turn, more than caches hold. The peak is the speed at which as many bytes
are read, in 10⁹ bytes a second, and so is what kernels do.
Results are compared with an independent product in f64 of what the blocks hold.

Example:
  phalanx bench matvec --shape 4096x14336 --columns 1,8 --blocks q4_0 --json matvec.json
  phalanx demo matvec";

#[derive(Debug, Args)]
pub(crate) struct MatvecArgs {
    /// Rows and columns of the matrix; the columns are a multiple of 32 [demo: 300x1024, bench: 4096x14336]
    #[arg(long, value_name = "MxK", value_parser = image_size)]
    pub(crate) shape: Option<[u32; 2]>,
    /// How many vectors are multiplied, 1 to 8
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [1], value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(crate) columns: Vec<u32>,
    /// What the matrix is made of
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [Weights::Q4, Weights::Q8, Weights::F16], value_enum)]
    pub(crate) blocks: Vec<Weights>,
    /// Ways to write it
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [MatvecForm::Plain, MatvecForm::Dot], value_enum)]
    pub(crate) kernels: Vec<MatvecForm>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What is done to rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowsForm {
    Softmax,
    RmsNorm,
    Sum,
    PrefixSum,
    /// Bitonic, in shared memory and by shuffles; rows of at most 8192
    Sort,
}

const ROWS_HELP: &str = "\
The peak is the speed at which as many bytes as the input has are read, in 10⁹ bytes a second. What kernels do is counted as
the bytes of the input and of the result. Results are compared with plain loops in f64.

Example:
  phalanx bench rows --shape 4096x8192 --kernels softmax,prefix-sum --json rows.json
  phalanx demo rows";

#[derive(Debug, Args)]
pub(crate) struct RowsArgs {
    /// How many rows, and how many numbers each has, a multiple of 4 [demo: 100x1000, bench: 4096x8192]
    #[arg(long, value_name = "NxLENGTH", value_parser = image_size)]
    pub(crate) shape: Option<[u32; 2]>,
    /// What is done to them
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [RowsForm::Softmax, RowsForm::RmsNorm, RowsForm::Sum, RowsForm::PrefixSum, RowsForm::Sort], value_enum)]
    pub(crate) kernels: Vec<RowsForm>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The types of a network's weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MlpType {
    /// f16 weights, biases and results, sums in f32
    F16,
    /// 8-bit weights and vectors, 32-bit sums and biases
    S8,
}

/// Ways to evaluate a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MlpForm {
    /// GL_NV_cooperative_vector
    Vector,
    /// Loops over arrays
    Loops,
    /// A training step by GL_NV_cooperative_vector: forward, back, the gradient, Adam; for one network of f16
    Train,
}

/// What is done to the sums of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Activation {
    None,
    Relu,
    Tanh,
}

const MLP_HELP: &str = "\
Each invocation evaluates the network for a pixel. The demo's network is that of the extension's own document: six inputs, two
layers of 32, eight results. Results are compared with the same network in f64, and so are the gradient and the numbers of a
training step.

Example:
  phalanx bench mlp --lengths 64,64,64,64 --activations none --no-biases --kernels vector
  phalanx demo mlp";

#[derive(Debug, Args)]
pub(crate) struct MlpArgs {
    /// The length of the input, then that of each layer [demo: 6,32,32,8, bench: 64,64,64,64]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) lengths: Vec<u32>,
    /// What is done behind each layer, or behind all [demo: relu,tanh,none, bench: relu]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) activations: Vec<Activation>,
    /// Leave the biases out
    #[arg(long)]
    pub(crate) no_biases: bool,
    /// How many networks pixels take in turn
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [1])]
    pub(crate) sets: Vec<usize>,
    /// Width and height in pixels [demo: 320x180, bench: 1920x1080]
    #[arg(long, value_name = "WxH", value_parser = image_size)]
    pub(crate) image: Option<[u32; 2]>,
    /// The types of weights [all that have the activations]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    pub(crate) types: Vec<MlpType>,
    /// Ways to write it
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [MlpForm::Vector, MlpForm::Loops, MlpForm::Train], value_enum)]
    pub(crate) kernels: Vec<MlpForm>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Reads `1920x1080`.
fn image_size(text: &str) -> Result<[u32; 2], String> {
    let parts = text.split_once('x').map(|(width, height)| (width.parse().ok(), height.parse().ok()));
    match parts {
        Some((Some(width), Some(height))) => Ok([width, height]),
        _ => Err("expected a width and a height, `1920x1080`".to_owned()),
    }
}

const NEURAL_TEXTURE_HELP: &str = "\
A texture is compressed to two coarse grids of features and a network of two layers of 16: shaders train them with cooperative
vectors (Adam, on random texels). Two kernels decompress it, and their results are compared with the same network in f64. The
demo's own texture has six channels (colour, normal, roughness). A PNG file may be of any kind; greys become colours, and what
is transparent lies on white. With --train, a step is measured and compared with plain loops in f64, and the loss is drawn.

Example:
  phalanx demo neural-texture --train
  phalanx demo neural-texture --train --image photo.png --steps 3000 --psnr 30
  phalanx bench neural-texture --json texture.json";

#[derive(Debug, Args)]
pub(crate) struct NeuralTextureArgs {
    /// Show the training, too: measure and check a step, draw the loss
    #[arg(long)]
    pub(crate) train: bool,
    /// The image to compress, with edges of up to 4096 pixels, instead of one that is made
    #[arg(long, value_name = "FILE.png")]
    pub(crate) image: Option<PathBuf>,
    /// The edge of the image that is made, in texels [default: 128]
    #[arg(long, value_name = "N", conflicts_with = "image")]
    pub(crate) size: Option<u32>,
    /// How often it is repeated along each edge [demo: 1, bench: 8, of an image from a file 1]
    #[arg(long, value_name = "N")]
    pub(crate) repeat: Option<u32>,
    /// Steps of the training [default: 1500]
    #[arg(long, value_name = "N")]
    pub(crate) steps: Option<u32>,
    /// Texels of a step [default: a sixteenth of all, 512 to 16384]
    #[arg(long, value_name = "N")]
    pub(crate) batch: Option<u32>,
    /// The PSNR below which the result is wrong, in dB [default: 28 for the image and the training that nothing was said of]
    #[arg(long, value_name = "DB")]
    pub(crate) psnr: Option<f64>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

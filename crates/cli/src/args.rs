//! The command line.

pub(crate) mod workload;

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Error, Result, bail};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands::explain::args::{EXPLAIN_HELP, ExplainArgs};
use crate::commands::lower::{LOWER_HELP, LowerArgs};
use crate::commands::profile::{PROFILE_HELP, ProfileArgs};
use crate::data::DType;
use crate::data::spec::{BindSpec, OutSpec, PushSpec, SpecConstant};
use crate::ladder::plan::{DEFAULT_SHAPE, Mnk};
use crate::ladder::{Rung, Types};
use crate::runtime::{DeviceKind, Processor, Sizes};
use workload::WorkloadCommand;

/// Runs cooperative-matrix kernels on this machine's CPU.
#[derive(Debug, Parser)]
#[command(name = "phalanx", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// Make code for this processor: `native`, or a name that `phalanx devices` lists
    #[arg(long, global = true, value_name = "NAME", value_parser = Processor::from_name)]
    pub(crate) cpu: Option<Processor>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say what this machine offers to a kernel
    Devices(DevicesArgs),
    /// Run a compute shader on arrays from files or from random numbers
    #[command(after_help = RUN_HELP)]
    Run(RunArgs),
    /// Show where the time of a compute shader goes: by line, by kind of work, and as a flame graph
    #[command(after_help = PROFILE_HELP)]
    Profile(ProfileArgs),
    /// Say whether a shader is valid and what it needs
    #[command(after_help = CHECK_HELP)]
    Check(CheckArgs),
    /// Compile GLSL, or assemble the text form of SPIR-V, to a SPIR-V file
    #[command(after_help = COMPILE_HELP)]
    Compile(CompileArgs),
    /// Lower a kernel to SPIR-V, to MLIR's spirv dialect or to PTX, for other devices and compilers
    #[command(after_help = LOWER_HELP)]
    Lower(LowerArgs),
    /// Bring a matrix of a file to the layout that cooperative vectors are multiplied by
    #[command(after_help = CONVERT_HELP)]
    Convert(ConvertArgs),
    /// Show where the elements of matrices and tensors are
    #[command(after_help = EXPLAIN_HELP)]
    Explain(ExplainArgs),
    /// Run a Vulkan program on this machine's CPU
    #[command(after_help = EXEC_HELP)]
    Exec(ExecArgs),
    /// Measure matrix multiplications, other kernels, or the peaks of this machine
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Run kernels on small problems, check every result and draw charts and pictures
    #[command(after_help = DEMO_HELP)]
    Demo(DemoArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DevicesArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const CONVERT_HELP: &str = "\
Layouts are row-major, column-major, and the two of this implementation: inferencing, to multiply by, and training, to
add to. An array of two dimensions is rows and columns, with --from column-major columns and rows; one of one dimension
is a single row. `phalanx explain layout` shows where elements are.
Types are f16 f32 bf16 e4m3 e5m2 s8 u8 s32 u32. One of the types has to be f32 or f16 and the other a less precise
float, or both are the same. e4m3 and e5m2 can be written in the layouts inferencing and training only.
A file called .npy is written as an array: of two dimensions, or of all elements with their padding. Others are bytes.

Example:
  phalanx convert weights.npy --to inferencing --type f16 weights.bin
  phalanx convert model.safetensors#mlp.0.weight --to training --type f32 weights.npy
  phalanx convert weights.bin --from inferencing --from-type f16 --rows 64 --columns 32 \\
      --to row-major --type f16 back.npy";

/// The layout of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutName {
    #[value(alias = "row_major")]
    RowMajor,
    #[value(alias = "column_major")]
    ColumnMajor,
    /// The best one for multiplying on a processor
    Inferencing,
    /// The best one for multiplying on a GPU
    Paired,
    Training,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// FILE.npy, FILE.safetensors#TENSOR, or any other file of bytes
    pub(crate) input: String,
    /// The file to write; `-` is standard output
    pub(crate) output: PathBuf,
    /// The layout of the input
    #[arg(long, value_name = "LAYOUT", default_value = "row-major")]
    pub(crate) from: LayoutName,
    /// The layout to bring it to
    #[arg(long, value_name = "LAYOUT")]
    pub(crate) to: LayoutName,
    /// The type of the elements of the output
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) dtype: DType,
    /// The type of the elements of the input, where the file does not say it
    #[arg(long, value_name = "TYPE")]
    pub(crate) from_type: Option<DType>,
    /// Rows of the matrix, where the file does not say it
    #[arg(long, value_name = "N", requires = "columns")]
    pub(crate) rows: Option<u32>,
    /// Columns of the matrix
    #[arg(long, value_name = "N", requires = "rows")]
    pub(crate) columns: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const RUN_HELP: &str = "\
Buffers:
  --bind 0:1=weights.npy                    an array from a NumPy file
  --bind 0:1=f32[64,64]:weights.npy         the same, if it has this type and shape
  --bind 0:1=model.safetensors#layer.weight a tensor from a safetensors file
  --bind 0:1=data.bin                       any other file, as it is
  --bind 0:1=bits:weights.npy               an array whose type is not the shader's
  --bind 0:1=zeros:f32[64,64]               zeros
  --bind 0:1=rand:f16[64,64]:7              random numbers in [-1, 1), here with seed 7
  --bind 0:1[3]=...                         element 3 of an array of buffers
  --bind table=rand:f32[4096]               a buffer without a descriptor, known by its address alone
  --bind 0:0=addresses:0:1,table            the addresses of other buffers, 8 bytes each
  --bind 0:0=struct:u32:64,addr:table+256   a structure of numbers and addresses, here from byte 256 on
Types are f16 f32 f64 bf16 e4m3 e5m2 s8 s16 s32 s64 u8 u16 u32 u64.
In structures and push constants each field is aligned to its own size; `align:16` inserts a gap before a vector.
Push constants must have the shader's types, but for the sign; `bits:u32:0x3f800000` is taken whatever they are.
Standard input is TYPE[DIMS]:/dev/stdin. `--out 0:1=-` writes bare numbers to standard output, and what the
command has to say goes to standard error.

Example:
  phalanx run add.comp --groups 4 --bind 0:0=rand:f32[128] --bind 0:1=zeros:f32[128] \\
      --push u32:128 --out 0:1=sum.npy";

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// GLSL (.comp, .glsl), SPIR-V (.spv), SPIR-V assembly (.spvasm) or MLIR (.mlir)
    pub(crate) shader: PathBuf,
    /// The number of work-groups; MLIR may say it itself, by a launch with constants
    #[arg(long, value_name = "X,Y,Z")]
    pub(crate) groups: Option<Groups>,
    /// The entry point; without it `main`, or the only kernel of MLIR
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
    /// A specialisation constant; the shader knows its type, unless it is written as TYPE:VALUE
    #[arg(long, value_name = "ID=VALUE")]
    pub(crate) spec: Vec<SpecConstant>,
    #[command(flatten)]
    pub(crate) sizes: SizeArgs,
    /// Push constants; a number without a type has the type before it
    #[arg(long, value_name = "TYPE:VALUE,...")]
    pub(crate) push: Vec<PushSpec>,
    /// The contents of a buffer; see below
    #[arg(long, value_name = "SET:BIND=SOURCE")]
    pub(crate) bind: Vec<BindSpec>,
    /// Write a buffer to a file at the end, as a NumPy array if the file is called .npy; `-` is standard output
    #[arg(long, value_name = "SET:BIND=FILE")]
    pub(crate) out: Vec<OutSpec>,
    /// What runs it: `cpu`, `cuda:0` for a GPU of NVIDIA, or `interpreter`, the reference, which is thousands of times
    /// slower
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub(crate) device: DeviceKind,
    /// How many threads to use; all cores unless given
    #[arg(long, value_name = "N", value_parser = thread_count)]
    pub(crate) threads: Option<usize>,
    /// Check each access by device address against the buffers, which takes a kernel many times as long
    #[arg(long)]
    pub(crate) check_addresses: bool,
    /// End a kernel that runs longer; 0 waits for ever
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    pub(crate) timeout: f64,
    /// Leave for kernels: `accumulate` rounds sums of matrix multiply-adds once for a chain of them, not each
    #[arg(long, value_name = "WHAT")]
    pub(crate) relax: Option<Relax>,
    #[command(flatten)]
    pub(crate) glsl: GlslArgs,
}

/// Leave that kernels are never given unasked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Relax {
    Accumulate,
}

const CHECK_HELP: &str = "\
The exit status is 0 if the shader is valid, whether this machine runs it or not, and 2 otherwise.

Example:
  phalanx check kernel.comp -DTYPE=float16_t -I shaders";

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// GLSL (.comp, .glsl), SPIR-V (.spv), SPIR-V assembly (.spvasm) or MLIR (.mlir)
    pub(crate) shader: PathBuf,
    /// Matrix shapes and array sizes may depend on specialisation constants
    #[arg(long, value_name = "ID=VALUE")]
    pub(crate) spec: Vec<SpecConstant>,
    #[command(flatten)]
    pub(crate) sizes: SizeArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show everything that is wrong, not the first finding alone
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) glsl: GlslArgs,
}

const COMPILE_HELP: &str = "\
Example:
  phalanx compile kernel.comp -o kernel.spv -DTYPE=float16_t -I shaders";

#[derive(Debug, Args)]
pub(crate) struct CompileArgs {
    /// GLSL (.comp, .glsl) or SPIR-V assembly (.spvasm)
    pub(crate) shader: PathBuf,
    /// Where the SPIR-V goes; `-` is standard output
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) glsl: GlslArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SizeArgs {
    /// How many invocations a subgroup has: a power of two from 4 to 128
    #[arg(long, value_name = "N")]
    pub(crate) subgroup_size: Option<u32>,
    /// How many invocations a work-group of MLIR has along each axis, where it does not say so; one subgroup without this
    #[arg(long, value_name = "X,Y,Z", value_parser = workgroup_size)]
    pub(crate) workgroup_size: Option<[u32; 3]>,
}

impl SizeArgs {
    pub(crate) fn sizes(&self) -> Sizes {
        Sizes { subgroup: self.subgroup_size, workgroup: self.workgroup_size }
    }
}

const EXEC_HELP: &str = "\
The driver, libvulkan_phalanx.so, is looked for beside this command and in the lib directory of its prefix.

Example:
  phalanx exec -- vulkaninfo --summary
  phalanx exec --as discrete -- ./program that passes over CPUs
  phalanx exec --subgroup-size 16 -- ./program with shaders made for a GPU with subgroups of 16
  phalanx exec --claim conformant,graphics -- ./program built on wgpu
  phalanx exec --profile=times.svg -- ./program";

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// What runs its kernels: `cpu`, `cuda:0` for a GPU of NVIDIA, or `interpreter`, the reference, which is thousands of
    /// times slower
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<DeviceKind>,
    /// What the device says it is; some programs pass over CPUs
    #[arg(long = "as", value_name = "TYPE")]
    pub(crate) present_as: Option<DeviceType>,
    /// What the device claims to be though it is not; some programs want it and do without it
    #[arg(long, value_name = "CLAIM", value_delimiter = ',')]
    pub(crate) claim: Vec<Claim>,
    /// Invocations of a subgroup where the program asks for no number: 4, 8, 16, 32 (without this), 64 or 128.
    /// Programs with shaders made for one GPU may rely on its number
    #[arg(long, value_name = "N")]
    pub(crate) subgroup_size: Option<u32>,
    /// Show where the time of its dispatches goes, by pipeline: as tables on standard error when it ends, or in FILE, which
    /// may be called .json or .svg
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub(crate) profile: Option<PathBuf>,
    /// The program and its arguments
    #[arg(value_name = "APP", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

/// What a device may be taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Claim {
    /// One whose driver has passed the conformance suite: wgpu hides others
    Conformant,
    /// One with queues for graphics: wgpu and Taichi take no other
    Graphics,
}

/// A type of Vulkan devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceType {
    Integrated,
    Discrete,
    Virtual,
    Cpu,
}

#[derive(Debug, Args)]
pub(crate) struct GlslArgs {
    /// Define a macro for GLSL
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub(crate) define: Vec<String>,
    /// Where GLSL includes are looked for, after the shader's own directory
    #[arg(short = 'I', value_name = "DIR")]
    pub(crate) include: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Multiply matrices in each way of the ladder and compare with the machine's peaks
    #[command(after_help = GEMM_HELP)]
    Gemm(GemmArgs),
    /// Measure a kernel of your own
    #[command(after_help = KERNEL_HELP)]
    Kernel(KernelArgs),
    #[command(flatten)]
    Workload(WorkloadCommand),
    /// Measure only the peaks: f32 FMA, bf16 dot product, 8-bit dot product
    Peak(PeakArgs),
    /// Measure everything that has a share of the machine to reach, and say what reaches it
    #[command(after_help = ALL_HELP)]
    All(AllArgs),
}

const ALL_HELP: &str = "\
Each row of the table is a workload with a bar: a share of the best instruction of the processor for its types or of the speed at
which memory is read, a ratio to oneDNN in the same run, or a time. Of tile sizes the best counts. What the machine lacks is
named. It takes some ten minutes; Ctrl-C ends it and keeps what was measured. docs/performance.md says how bars are measured.

Example:
  phalanx bench all --json all.json
  phalanx bench all --filter staged
  phalanx bench all --device cuda:0 --json gpu.json
  phalanx bench all --quick";

#[derive(Debug, Args)]
pub(crate) struct AllArgs {
    /// Whose bars: `cpu`, or `cuda:0` for a GPU of NVIDIA, beside cuBLAS
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub(crate) device: DeviceKind,
    /// Only rows whose workload or name has this text
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) filter: String,
    /// Small problems, measured once: to see that everything works. The figures mean nothing
    #[arg(long)]
    pub(crate) quick: bool,
    /// How many threads to use; all cores unless given
    #[arg(long, value_name = "N", value_parser = thread_count)]
    pub(crate) threads: Option<usize>,
    /// Write a record for each row; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

const KERNEL_HELP: &str = "\
Buffers and everything else are given as to `phalanx run`. The kernel is dispatched again and again on the same buffers;
what a dispatch takes is told, and with --operations its share of what the processor's f32 multiply-adds reach beside it.
Results are not compared with anything.

Example:
  phalanx bench kernel conv.mlir --entry loads --groups 51 --operations 231211008 \\
      --bind 0:0=rand:f16[3364,64] --bind 0:1=rand:f16[576,64] --bind 0:2=zeros:f32[3264,64]";

#[derive(Debug, Args)]
pub(crate) struct KernelArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// How many additions and multiplications a dispatch is
    #[arg(long, value_name = "N")]
    pub(crate) operations: Option<f64>,
    /// Write a record; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

const GEMM_HELP: &str = "\
Types are written f16:f32 (A and B, then C and the sums) or, with the usual sums, f16.
Sizes are written 512, or 512x256x1024 for M, N and K.
Every result is compared with an independent one in f64.
A library (--versus) gets plain matrices as the kernels do, and brings none into a layout of its own beforehand, but for
`onednn-packed`; it computes A*B, without C. Where it has no product of such types, it multiplies f32: libdnnl-dev, libopenblas-dev.
The rungs are measured with matrices of each --shape; a scalar one has none, and that of `workgroup` is its tile.
The rungs `staged`, `staged-vec4` and `staged-scalar` copy blocks to shared memory as programs for GPUs do, by 16 bytes, by
four floats and by elements. They are only measured if they are named.
The rung `shared-mlir` is `shared` in MLIR, for f16:f32, and only measured if it is named. The last example compares both.

Example:
  phalanx bench gemm --types f16,bf16 --sizes 1024,2048 --rungs tiled,shared --json bench.json
  phalanx bench gemm --types f16 --shape 16x16x16 --tile 128x128x64 --rungs shared,shared-mlir";

#[derive(Debug, Args)]
pub(crate) struct GemmArgs {
    /// Element types
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = Types::DEFAULT)]
    pub(crate) types: Vec<Types>,
    /// Matrix sizes
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [Mnk::cube(512), Mnk::cube(1024)])]
    pub(crate) sizes: Vec<Mnk>,
    /// Ways to write the multiplication
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = Rung::ALL)]
    pub(crate) rungs: Vec<Rung>,
    /// What runs them: `cpu`, or `cuda:0` for a GPU of NVIDIA
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub(crate) device: DeviceKind,
    /// How many threads to use; all cores unless given
    #[arg(long, value_name = "N", value_parser = thread_count)]
    pub(crate) threads: Option<usize>,
    /// What a work-group computes and the step along K, where the rung has a choice
    #[arg(long, value_name = "MxNxK")]
    pub(crate) tile: Option<Mnk>,
    /// Sizes of one matrix; GPUs have 16x16x16, and larger ones are faster here
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [DEFAULT_SHAPE])]
    pub(crate) shape: Vec<Mnk>,
    /// Store B column by column
    #[arg(long)]
    pub(crate) col_major_b: bool,
    /// Leave for kernels: `accumulate` rounds sums of matrix multiply-adds once for a chain of them, not each
    #[arg(long, value_name = "WHAT")]
    pub(crate) relax: Option<Relax>,
    /// Measure a library in turn with each kernel, on as many threads, and compare
    #[arg(long, value_name = "LIBRARY")]
    pub(crate) versus: Option<Versus>,
    /// Write a record for each rung; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Draw a chart
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

/// Libraries that are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Versus {
    /// oneDNN, 2 or 3
    #[value(name = "onednn")]
    OneDnn,
    /// oneDNN with B brought into its own layout beforehand, outside of the time
    #[value(name = "onednn-packed")]
    OneDnnPacked,
    /// OpenBLAS, f32 alone
    #[value(name = "openblas")]
    OpenBlas,
    /// cuBLAS, on the first GPU of NVIDIA
    #[value(name = "cublas")]
    CuBlas,
    /// cuBLAS, adding the product to a matrix, as the ladder's kernels do
    #[value(name = "cublas-add")]
    CuBlasAdd,
    /// Another Vulkan driver, which runs the same SPIR-V on its first device
    #[value(name = "vulkan")]
    Vulkan,
}

#[derive(Debug, Args)]
pub(crate) struct PeakArgs {
    /// How many threads to use; all cores unless given
    #[arg(long, value_name = "N", value_parser = thread_count)]
    pub(crate) threads: Option<usize>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const DEMO_HELP: &str = "\
Without a name, the ladder of matrix multiplications is run.

Example:
  phalanx demo
  phalanx demo attention --tokens 300";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DemoArgs {
    #[command(subcommand)]
    pub(crate) which: Option<DemoCommand>,
    #[command(flatten)]
    pub(crate) ladder: LadderArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DemoCommand {
    /// The ladder of matrix multiplications
    Gemm(LadderArgs),
    #[command(flatten)]
    Workload(WorkloadCommand),
}

#[derive(Debug, Args)]
pub(crate) struct LadderArgs {
    /// The size of the matrices
    #[arg(long, value_name = "MxNxK", default_value_t = Mnk::cube(512))]
    pub(crate) size: Mnk,
    /// Where the chart goes
    #[arg(long, value_name = "FILE", default_value = "out/ladder.svg")]
    pub(crate) svg: PathBuf,
    /// Where the records go
    #[arg(long, value_name = "FILE", default_value = "out/ladder.json")]
    pub(crate) json: PathBuf,
    /// How many threads to use; all cores unless given
    #[arg(long, value_name = "N", value_parser = thread_count)]
    pub(crate) threads: Option<usize>,
}

/// The number of work-groups along each axis; missing ones are 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Groups(pub(crate) [u32; 3]);

impl FromStr for Groups {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match triple(text) {
            Some(groups) => Ok(Self(groups)),
            None => bail!("`{text}` is no number of work-groups; write X,Y,Z"),
        }
    }
}

fn workgroup_size(text: &str) -> Result<[u32; 3]> {
    match triple(text) {
        Some(size) => Ok(size),
        None => bail!("`{text}` is no size of a work-group; write X,Y,Z"),
    }
}

/// Numbers along the axes; missing ones are 1.
fn triple(text: &str) -> Option<[u32; 3]> {
    let numbers: Option<Vec<u32>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[x]) => Some([x, 1, 1]),
        Some(&[x, y]) => Some([x, y, 1]),
        Some(&[x, y, z]) => Some([x, y, z]),
        _ => None,
    }
}

fn thread_count(text: &str) -> Result<usize> {
    match text.parse() {
        Ok(count @ 1..=4096) => Ok(count),
        _ => bail!("`{text}` is no number from 1 to 4096"),
    }
}

pub(crate) fn seconds(text: &str) -> Result<f64> {
    match text.parse() {
        // A year is longer than anybody waits, and fits into every clock.
        Ok(seconds) if (0.0..=31_536_000.0).contains(&seconds) => Ok(seconds),
        _ => bail!("`{text}` is no number of seconds"),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_full_run_is_understood() {
        let line = "phalanx run a.comp --groups 4,2 --spec 0=16 --spec 1=true --bind 0:0=zeros:f32[4] \
                    --bind 0:1=rand:f16[2,2]:3 --push s32:-3 --push u32:1,2 --out 0:1=x.npy -DA=1 -I inc --timeout 0";
        let cli = Cli::try_parse_from(line.split_whitespace()).expect("well formed");
        let Command::Run(args) = cli.command else { panic!("another command") };
        assert_eq!((args.groups, args.spec.len(), args.bind.len()), (Some(Groups([4, 2, 1])), 2, 2));
        assert_eq!((args.push.len(), args.out.len(), args.entry.as_deref()), (2, 1, None));
        assert_eq!(args.glsl.define, ["A=1"]);
    }

    #[test]
    fn a_program_keeps_its_own_options() {
        let line = "phalanx exec --as integrated --claim conformant,graphics -- vulkaninfo --summary --as x";
        let cli = Cli::try_parse_from(line.split_whitespace()).expect("well formed");
        let Command::Exec(args) = cli.command else { panic!("another command") };
        assert_eq!(args.present_as, Some(DeviceType::Integrated));
        assert_eq!(args.claim, [Claim::Conformant, Claim::Graphics]);
        assert_eq!(args.command, ["vulkaninfo", "--summary", "--as", "x"]);
        assert_eq!(args.profile, None);
        assert!(Cli::try_parse_from(["phalanx", "exec"]).is_err());
        for (line, file) in [("--profile app", "-"), ("--profile=a.svg app", "a.svg")] {
            let cli = Cli::try_parse_from(format!("phalanx exec {line}").split_whitespace());
            let Command::Exec(args) = cli.expect("well formed").command else { panic!("another command") };
            assert_eq!(args.profile.as_deref(), Some(std::path::Path::new(file)));
            assert_eq!(args.command, ["app"]);
        }
    }

    #[test]
    fn the_benchmark_has_the_documented_defaults() {
        let cli = Cli::try_parse_from(["phalanx", "bench", "gemm"]).expect("well formed");
        let Command::Bench(BenchCommand::Gemm(args)) = cli.command else { panic!("another command") };
        assert_eq!(args.types, Types::DEFAULT);
        assert_eq!(args.rungs, Rung::ALL);
        assert_eq!(args.sizes, [Mnk::cube(512), Mnk::cube(1024)]);
    }

    #[test]
    fn wrong_values_are_refused_with_their_reason() {
        let refuse = |line: &str, expected: &str| {
            let error = Cli::try_parse_from(line.split_whitespace()).expect_err(line).to_string();
            assert!(error.contains(expected), "{line}: {error}");
        };
        refuse("phalanx bench gemm --threads 0", "no number from 1 to 4096");
        refuse("phalanx bench gemm --types f64", "not written for");
        refuse("phalanx run a.comp --groups 1,2,3,4", "work-groups");
        refuse("phalanx run a.comp --groups 1 --bind 0:0", "no `=`");
        refuse("phalanx check a.mlir --workgroup-size 8,x", "no size of a work-group");
        refuse("phalanx run a.comp --groups 1 --timeout=-1", "no number of seconds");
    }
}

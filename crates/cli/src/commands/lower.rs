//! `phalanx lower`: a kernel as SPIR-V, as text of MLIR's `spirv` dialect or as PTX, for other devices and compilers.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};

use super::load_shader;
use crate::args::{GlslArgs, SizeArgs};
use crate::data::spec::SpecConstant;
use crate::runtime::{self, Arch, Dialect};
use crate::{Status, output};

pub(crate) const LOWER_HELP: &str = "\
SPIR-V is for Vulkan, with the subgroup size that it is made for. Without -o it is printed as text; a file gets the
words, or text if it is called .spvasm; `-o -` writes the words to standard output.
PTX is for GPUs of NVIDIA, as `--device cuda:0` runs it; it is printed, or written as text.
What has no counterpart is refused by its name.

Example:
  phalanx lower conv.mlir --entry rotations --to spirv -o conv.spv
  phalanx lower conv.mlir --entry rotations --to mlir-spirv --subgroup-size 16
  phalanx lower gemm.comp --to mlir-spirv --llvm 19 -o gemm.mlir
  phalanx lower sum.comp --to ptx --sm 80 -o sum.ptx";

#[derive(Debug, Args)]
pub(crate) struct LowerArgs {
    /// GLSL (.comp, .glsl), SPIR-V (.spv), SPIR-V assembly (.spvasm) or MLIR (.mlir)
    pub(crate) shader: PathBuf,
    /// What to make of it
    #[arg(long, value_name = "FORM")]
    pub(crate) to: Form,
    /// Where it goes; without it, text is printed
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The entry point; without it `main`, or the only kernel of MLIR
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
    /// A specialisation constant; the shader knows its type, unless it is written as TYPE:VALUE
    #[arg(long, value_name = "ID=VALUE")]
    pub(crate) spec: Vec<SpecConstant>,
    #[command(flatten)]
    pub(crate) sizes: SizeArgs,
    /// The version of LLVM that the text is for; 19 has no rotation of a subgroup, and gets a shuffle
    #[arg(long, value_name = "VERSION", default_value = "22")]
    pub(crate) llvm: Llvm,
    /// The architecture that PTX is for: 80, 89 or 90a
    #[arg(long, value_name = "SM", default_value = "90a")]
    pub(crate) sm: Arch,
    #[command(flatten)]
    pub(crate) glsl: GlslArgs,
}

/// What a kernel becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// A module of SPIR-V
    Spirv,
    /// Text of MLIR's `spirv` dialect
    MlirSpirv,
    /// Assembly of NVIDIA's GPUs
    Ptx,
}

/// Versions of LLVM whose dialect is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Llvm {
    #[value(name = "19")]
    V19,
    #[value(name = "22")]
    V22,
}

pub(crate) fn run(args: &LowerArgs) -> Result<Status> {
    let sizes = args.sizes.sizes();
    runtime::check_subgroup_size(sizes.subgroup)?;
    let shader = load_shader(&args.shader, &args.glsl)?;
    let entry = shader.entry(args.entry.as_deref())?;
    let is_words = args.to == Form::Spirv && args.output.as_deref().is_some_and(|path| !is_text(path));
    let spirv = |dialect| shader.lower(&entry, &args.spec, sizes, dialect);
    let bytes = match (args.to, args.llvm) {
        (Form::Spirv, _) if is_words => {
            spirv(None).map(|lowered| lowered.words.iter().flat_map(|word| word.to_le_bytes()).collect())
        }
        (Form::Spirv, _) => spirv(None).map(|lowered| lowered.text.into_bytes()),
        (Form::MlirSpirv, Llvm::V19) => spirv(Some(Dialect::Llvm19)).map(|lowered| lowered.text.into_bytes()),
        (Form::MlirSpirv, Llvm::V22) => spirv(Some(Dialect::Llvm22)).map(|lowered| lowered.text.into_bytes()),
        (Form::Ptx, _) => shader.to_ptx(&entry, &args.spec, sizes, args.sm).map(String::into_bytes),
    };
    let bytes: Vec<u8> = bytes.with_context(|| format!("{} is not lowered", args.shader.display()))?;
    match args.output.as_deref() {
        Some(path) if path.as_os_str() != "-" => output::write(path, bytes)?,
        Some(_) if is_words => {
            use std::io::IsTerminal;
            ensure!(
                !stdout().is_terminal(),
                "words of SPIR-V are nothing to read; leave out -o, or let standard output be a file or a pipe"
            );
            stdout().write_all(&bytes)?;
        }
        _ => stdout().write_all(&bytes)?,
    }
    Ok(Status::Done)
}

/// Whether a file of SPIR-V is one of text.
fn is_text(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "spvasm")
}

//! The subcommands.

pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod compile;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod devices;
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod lower;
pub(crate) mod profile;
pub(crate) mod run;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::args::GlslArgs;
use crate::runtime::{self, Glsl, Shader};

/// Reads a shader in any of its forms.
fn load_shader(path: &Path, options: &GlslArgs) -> Result<Shader> {
    if path.extension().is_some_and(|extension| extension == "mlir") {
        let bytes = read(path)?;
        let name = path.display().to_string();
        return Shader::from_mlir(text(&bytes, &name)?, &name)
            .with_context(|| format!("{name} is not accepted"));
    }
    let words = load_spirv(path, options)?;
    Shader::from_words(&words).with_context(|| format!("{} is not accepted", path.display()))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))
}

fn text<'a>(bytes: &'a [u8], name: &str) -> Result<&'a str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => bail!("{name} is no text"),
    }
}

/// Reads a shader in any of its forms that become SPIR-V.
fn load_spirv(path: &Path, options: &GlslArgs) -> Result<Vec<u32>> {
    if path.as_os_str() == "-" {
        bail!("a shader is read from a file, whose name says what it is; `-` is none");
    }
    let bytes = read(path)?;
    let name = path.display().to_string();
    let text = || text(&bytes, &name);
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("spv") => words(&bytes).with_context(|| format!("{name} is no SPIR-V")),
        Some("spvasm") => {
            runtime::assemble(path, text()?).with_context(|| format!("{name} cannot be assembled"))
        }
        Some("comp" | "glsl") => {
            let mut include_directories = vec![path.parent().map_or_else(PathBuf::new, Path::to_path_buf)];
            include_directories.extend(options.include.iter().cloned());
            let definitions: Vec<(&str, &str)> =
                options.define.iter().map(|text| text.split_once('=').unwrap_or((text, ""))).collect();
            let words = runtime::compile_glsl(Glsl {
                name: &name,
                source: text()?,
                definitions: &definitions,
                include_directories: &include_directories,
            });
            runtime::release_compiler_memory();
            words.with_context(|| format!("{name} does not compile"))
        }
        _ => bail!("{name}: what is it? Known are .comp and .glsl, .spv, .spvasm, and .mlir"),
    }
}

/// SPIR-V is words of four bytes in the byte order of its magic number.
fn words(bytes: &[u8]) -> Result<Vec<u32>> {
    let (chunks, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        bail!("its {} bytes are no whole number of words", bytes.len());
    }
    const MAGIC: u32 = 0x0723_0203;
    let is_big_endian = chunks.first().is_some_and(|word| u32::from_be_bytes(*word) == MAGIC);
    let word = if is_big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
    Ok(chunks.iter().map(|bytes| word(*bytes)).collect())
}

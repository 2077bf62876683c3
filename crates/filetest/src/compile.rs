//! From a source to a verified module, and what is wrong with a source, with its lines.

use crate::directive::{Language, TestFile, substitute};
use crate::kept;
use phalanx_front_mlir as mlir;
use phalanx_front_spirv as front;
use phalanx_ir::text::parse;
use phalanx_ir::{Verified, verify};

/// Something wrong with a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The line, where it is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub text: String,
}

impl Finding {
    fn new(line: Option<usize>, text: impl Into<String>) -> Self {
        Self { line: line.filter(|line| *line > 0), text: text.into() }
    }
}

/// A source that has been read, but is not specialised yet.
#[derive(Clone, Debug)]
pub enum Source {
    /// SPIR-V, and the line of each instruction, where the text has one.
    Spirv {
        /// The module.
        words: Vec<u32>,
        /// Lines by instruction.
        lines: Vec<usize>,
    },
    /// MLIR.
    Mlir(String),
    /// The text of our IR.
    Ir(String),
}

/// Compiles, assembles, or takes the text as it is.
pub fn load(file: &TestFile) -> Result<Source, Vec<Finding>> {
    match file.language {
        Language::Glsl => load_glsl(file),
        Language::Spirv => match phalanx_spirv_asm::assemble(&file.text) {
            Ok(words) => Ok(Source::Spirv { words, lines: code_lines(&file.text) }),
            Err(error) => Err(vec![Finding::new(Some(error.line as usize), error.message)]),
        },
        Language::Mlir => Ok(Source::Mlir(substitute(&file.text, &file.defines))),
        Language::Ir => Ok(Source::Ir(file.text.clone())),
    }
}

#[cfg(feature = "glsl")]
fn load_glsl(file: &TestFile) -> Result<Source, Vec<Finding>> {
    use phalanx::glsl::{GlslMessage, GlslOptions, compile};
    let defines: Vec<_> = file.defines.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let name = file.path.to_string_lossy();
    let options = GlslOptions { name: &name, defines: &defines, ..GlslOptions::default() };
    let words = compile(&file.text, &options).map_err(|error| {
        let finding = |m: &GlslMessage| Finding::new(Some(m.line as usize), m.to_string());
        error.messages.iter().map(finding).collect::<Vec<_>>()
    })?;
    if let Some(directory) = kept::directory() {
        let kept = kept::keep(&directory, (&file.path, &file.defines), &words);
        kept.map_err(|error| vec![Finding::new(None, format!("its module could not be kept: {error}"))])?;
    }
    Ok(Source::Spirv { words, lines: Vec::new() })
}

#[cfg(not(feature = "glsl"))]
fn load_glsl(file: &TestFile) -> Result<Source, Vec<Finding>> {
    let wrong = |text: String| vec![Finding::new(None, text)];
    let Some(directory) = kept::directory() else {
        return Err(wrong("without the feature `glsl`, `MODULES` names where modules are kept".to_owned()));
    };
    let words = kept::take(&directory, (&file.path, &file.defines));
    let words = words.map_err(|error| wrong(format!("its module was not kept: {error}")))?;
    Ok(Source::Spirv { words, lines: Vec::new() })
}

impl Source {
    /// The verified module for a subgroup size; that of an IR text is in it, unless one is given.
    pub fn module(&self, file: &TestFile, subgroup: Option<u32>) -> Result<Verified, Vec<Finding>> {
        match self {
            Self::Spirv { words, lines } => {
                let options = front::Options {
                    entry: file.entry.as_deref(),
                    specialization: &file.spec,
                    subgroup_size: subgroup.unwrap_or(32),
                    ..front::Options::default()
                };
                let module = front::translate(words, &options).map_err(|found| {
                    found
                        .0
                        .iter()
                        .map(|d| Finding::new(place(file, words, lines, d), d.to_string()))
                        .collect::<Vec<_>>()
                })?;
                verify(module).map_err(|errors| {
                    vec![Finding::new(
                        None,
                        format!("internal error: translated to a broken module\n{errors}"),
                    )]
                })
            }
            Self::Mlir(text) => {
                let defaults = mlir::Options::default();
                let options = mlir::Options {
                    entry: file.entry.as_deref(),
                    subgroup_size: subgroup.unwrap_or(defaults.subgroup_size),
                    ..defaults
                };
                let module = mlir::translate(text, &options)
                    .map_err(|e| vec![Finding::new(Some(e.pos.line as usize), e.to_string())])?;
                verify(module).map_err(|errors| {
                    let text = format!("internal error: translated to a broken module\n{errors}");
                    vec![Finding::new(None, text)]
                })
            }
            Self::Ir(text) => {
                let mut module =
                    parse(text).map_err(|e| vec![Finding::new(Some(e.line as usize), e.to_string())])?;
                module.subgroup_size = subgroup.unwrap_or(module.subgroup_size);
                let lines = body_lines(text);
                verify(module).map_err(|errors| {
                    let line =
                        |e: &phalanx_ir::VerifyError| e.inst.and_then(|i| lines.get(i.index()).copied());
                    errors.errors().iter().map(|e| Finding::new(line(e), e.to_string())).collect()
                })
            }
        }
    }
}

/// The line of a diagnostic: by *OpLine* in GLSL, else that of the instruction at its word.
fn place(file: &TestFile, words: &[u32], lines: &[usize], d: &front::Diagnostic) -> Option<usize> {
    if file.language == Language::Glsl {
        return Some(d.location.line as usize);
    }
    let mut at = 5;
    for line in lines {
        let length = (*words.get(at)? >> 16).max(1);
        if (at as u32..at as u32 + length).contains(&d.location.word) {
            return Some(*line);
        }
        at += length as usize;
    }
    None
}

/// The lines of SPIR-V text that hold an instruction.
fn code_lines(text: &str) -> Vec<usize> {
    let is_code = |line: &str| !line.split(';').next().unwrap_or_default().trim().is_empty();
    text.lines().enumerate().filter(|(_, line)| is_code(line)).map(|(i, _)| i + 1).collect()
}

/// The lines of IR text that hold an instruction: those in braces that do more than close one.
fn body_lines(text: &str) -> Vec<usize> {
    let lines =
        text.lines().enumerate().map(|(i, line)| (i + 1, line.split(';').next().unwrap_or_default().trim()));
    let body = lines.skip_while(|(_, line)| *line != "{").skip(1);
    body.filter(|(_, line)| !line.is_empty() && !line.starts_with('}')).map(|(i, _)| i).collect()
}

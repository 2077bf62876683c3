//! GLSL to SPIR-V, through glslang.
//!
//! Sources are compute shaders for Vulkan 1.3. glslang knows all the cooperative extensions:
//! `GL_KHR_cooperative_matrix`, `GL_NV_cooperative_matrix`, `GL_NV_cooperative_matrix2`,
//! `GL_NV_cooperative_vector` and `GL_QCOM_cooperative_matrix_conversion`.
//!
//! It is what the feature `glsl` brings, as it is by default; without it each source is refused.
//!
//! ```
//! use phalanx::glsl::{self, GlslOptions};
//! let source = "#version 450\nlayout(local_size_x = SIZE) in;\nvoid main() {}";
//! let words = glsl::compile(source, &GlslOptions { defines: &[("SIZE", "32")], ..GlslOptions::default() })?;
//! assert_eq!(words[0], 0x0723_0203);
//!
//! let error = glsl::compile("#version 450\nvoid main() { x = 1; }", &GlslOptions::default()).unwrap_err();
//! assert_eq!(error.messages[0].line, 2);
//! # Ok::<(), glsl::GlslError>(())
//! ```

#[cfg(feature = "glsl")]
mod ffi;
#[cfg(not(feature = "glsl"))]
#[path = "none.rs"]
mod ffi;
#[cfg(feature = "glsl")]
mod include;
mod message;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use phalanx_cpu::{Abandoned, Attempt};

use crate::device;

pub use message::{GlslError, GlslMessage};

/// Stack of the thread that glslang runs on. Its parser and its tree walks recurse as deep as a source nests; memory
/// is only taken for what is used.
const STACK_BYTES: usize = 256 << 20;

/// What the preprocessor needs to know.
#[derive(Clone, Copy, Debug)]
pub struct GlslOptions<'a> {
    /// What diagnostics and debug information call the source. Includes in quotes are also looked for
    /// in its directory.
    pub name: &'a str,
    /// Macros with their replacements.
    pub defines: &'a [(&'a str, &'a str)],
    /// Where includes are looked for, in this order. `#include` needs no extension.
    pub include_dirs: &'a [PathBuf],
    /// Whether the module shall hold names and source lines, which diagnostics use.
    pub debug_info: bool,
}

impl Default for GlslOptions<'_> {
    fn default() -> Self {
        Self { name: "shader.comp", defines: &[], include_dirs: &[], debug_info: true }
    }
}

/// Compiles a compute shader.
///
/// # Errors
///
/// What glslang has to say, each message with file and line; or that it took longer than compiling may take, or has
/// no memory.
pub fn compile(source: &str, options: &GlslOptions<'_>) -> Result<Vec<u32>, GlslError> {
    let preamble = preamble(options)?;
    if source.contains('\0') {
        return Err(GlslError::plain(options.name, "the source has a NUL character"));
    }
    let plain = |text: String| GlslError::plain(options.name, text);
    if EXHAUSTED.load(Ordering::Relaxed) {
        return Err(plain(
            "glslang ran out of memory before, and its thread may hold what others need".into(),
        ));
    }
    let source = Source {
        text: with_preamble(source, options.name, &preamble),
        name: options.name.to_owned(),
        include_dirs: options.include_dirs.to_vec(),
        debug_info: options.debug_info,
    };
    let limit =
        device::limit(None, device::COMPILE_TIMEOUT_VARIABLE).map_err(|error| plain(error.to_string()))?;
    let attempt = Attempt { limit, stack_bytes: STACK_BYTES, ..Attempt::default() };
    let began = Arc::new(AtomicBool::new(false));
    let for_thread = Arc::clone(&began);
    let work = move || {
        for_thread.store(true, Ordering::Relaxed);
        ffi::compile(&source)
    };
    attempt.run(work).unwrap_or_else(|why| {
        let began = began.load(Ordering::Relaxed);
        LEFT_BEHIND.fetch_or(began, Ordering::Relaxed);
        EXHAUSTED.fetch_or(began && why == Abandoned::OutOfMemory, Ordering::Relaxed);
        Err(plain(why.to_string()))
    })
}

/// Whether a thread of glslang was left behind, which may count as compiling for ever.
static LEFT_BEHIND: AtomicBool = AtomicBool::new(false);

/// Whether one was left behind for want of memory: it stays where it was, with the locks that it held.
static EXHAUSTED: AtomicBool = AtomicBool::new(false);

/// What a compilation needs. It owns all of it, so that it can be left behind.
#[cfg_attr(not(feature = "glsl"), expect(dead_code, reason = "glslang looks at it"))]
struct Source {
    text: String,
    name: String,
    include_dirs: Vec<PathBuf>,
    debug_info: bool,
}

/// Gives back the 40 MiB that glslang keeps after the first compilation, most of them GLSL's built-in functions; the next
/// one learns them again, in some 70 ms. Waits for compilations of other threads to end. Where glslang is built with its
/// assertions, as it is without `-DNDEBUG` in `CXXFLAGS`, it is 70 MiB.
pub fn release_memory() {
    if !LEFT_BEHIND.load(Ordering::Relaxed) {
        ffi::release();
    }
}

/// The source with the preamble after its `#version`, which must come first. glslang has a preamble of
/// its own, but writes it before `#version` when it preprocesses. The line is given its file's name, without which
/// lines behind an include would be the included file's in the module.
fn with_preamble(source: &str, name: &str, preamble: &str) -> String {
    let (head, rest) = source.split_at(version_end(source));
    let next_line = head.matches('\n').count() + 1;
    let newline = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    // Inside of quotes GLSL has no way to write these.
    let file = if name.contains(['"', '\\', '\n', '\r']) { String::new() } else { format!(" \"{name}\"") };
    format!("{head}{newline}{preamble}#line {next_line}{file}\n{rest}")
}

/// Where the line of `#version` ends, after its newline; 0 without one. Only comments and white space
/// may come before (GLSL 3.3).
fn version_end(source: &str) -> usize {
    let mut rest = source;
    loop {
        rest = rest.trim_start();
        rest = if let Some(comment) = rest.strip_prefix("//") {
            comment.split_once('\n').map_or("", |(_, after)| after)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, after)| after)
        } else {
            break;
        };
    }
    let is_version =
        rest.strip_prefix('#').is_some_and(|d| d.trim_start_matches([' ', '\t']).starts_with("version"));
    if !is_version {
        return 0;
    }
    let start = source.len() - rest.len();
    rest.find('\n').map_or(source.len(), |end| start + end + 1)
}

/// What comes before the code.
fn preamble(options: &GlslOptions<'_>) -> Result<String, GlslError> {
    let mut text = String::from("#extension GL_GOOGLE_include_directive : enable\n");
    for (name, value) in options.defines {
        if !is_macro(name) {
            let message = format!("`{}` cannot be the name of a macro", name.escape_debug());
            return Err(GlslError::plain(options.name, message));
        }
        if value.contains(['\n', '\r', '\0', '\\']) {
            let message = format!("`{}` cannot be the value of macro `{name}`", value.escape_debug());
            return Err(GlslError::plain(options.name, message));
        }
        text += &format!("#define {name} {value}\n");
    }
    Ok(text)
}

/// Whether this can be a macro, with or without parameters.
fn is_macro(name: &str) -> bool {
    let identifier = name.split('(').next().unwrap_or_default();
    let mut chars = identifier.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name[identifier.len()..].chars().all(|c| c.is_ascii_alphanumeric() || "_(), ".contains(c))
}

#[cfg(test)]
#[cfg(feature = "glsl")]
mod tests {
    use super::*;

    fn options() -> GlslOptions<'static> {
        GlslOptions { name: "dir/test.comp", ..GlslOptions::default() }
    }

    #[test]
    fn errors_name_file_and_line() {
        let source = "#version 450\nvoid main() {\n  float x = y;\n  int i = 1.5;\n}\n";
        let error = compile(source, &options()).unwrap_err();
        assert_eq!((error.messages[0].file.as_str(), error.messages[0].line), ("dir/test.comp", 3));
        assert!(error.messages[0].text.contains("undeclared identifier"), "{error}");
        assert!(error.to_string().starts_with("dir/test.comp:3: "), "{error}");
    }

    #[test]
    fn comments_may_stand_before_the_version() {
        for head in ["\n\n", "// a\n// b\n", "/* a\n */ // b\n", "  "] {
            let source = format!("{head}#version 450\n\nvoid main() {{ oops; }}\n");
            let error = compile(&source, &options()).unwrap_err();
            assert_eq!(error.messages[0].line as usize, head.matches('\n').count() + 3, "{error}");
            compile(&source.replace("oops;", ""), &options()).unwrap();
        }
        let error = compile("void main() {\n oops;\n}\n", &options()).unwrap_err();
        assert_eq!(error.messages[0].line, 2, "{error}");
    }

    #[test]
    fn link_errors_are_reported() {
        let error = compile("#version 450\nvoid f();\nvoid main() { f(); }\n", &options()).unwrap_err();
        assert!(error.to_string().contains("f("), "{error}");
    }

    #[test]
    fn includes_are_found_and_named() {
        let directory = tempfile::tempdir().unwrap();
        let nested = directory.path().join("nested");
        std::fs::create_dir(&nested).unwrap();
        std::fs::write(nested.join("a.glsl"), "#include \"b.glsl\"\n").unwrap();
        std::fs::write(nested.join("b.glsl"), "float f() {\n  return oops;\n}\n").unwrap();
        let include_dirs = [directory.path().to_path_buf()];
        let options = GlslOptions { include_dirs: &include_dirs, ..options() };
        let source = "#version 450\n#include <nested/a.glsl>\nvoid main() { f(); }\n";
        let error = compile(source, &options).unwrap_err();
        assert!(error.messages[0].file.ends_with("nested/b.glsl"), "{error}");
        assert_eq!(error.messages[0].line, 2, "{error}");
        std::fs::write(nested.join("b.glsl"), "float f() { return 1.0; }\n").unwrap();
        compile(source, &options).unwrap();
    }

    #[test]
    fn lines_after_an_include_are_counted_on() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a.glsl"), "\n\n\n\nint one() { return 1; }\n").unwrap();
        let include_dirs = [directory.path().to_path_buf()];
        let options = GlslOptions { include_dirs: &include_dirs, ..options() };
        let source = "#version 450\n#include \"a.glsl\"\n\nvoid main() { int i = one(); oops; }\n";
        let error = compile(source, &options).unwrap_err();
        assert_eq!(
            (error.messages[0].file.as_str(), error.messages[0].line),
            ("dir/test.comp", 4),
            "{error}"
        );
    }

    #[test]
    fn lines_of_the_module_name_their_file() {
        const OP_STRING: u32 = 7;
        const OP_LINE: u32 = 8;
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a.glsl"), "int one() {\n  return 1;\n}\n").unwrap();
        let include_dirs = [directory.path().to_path_buf()];
        let source = "#version 450\n#include \"a.glsl\"\nlayout(binding = 0) buffer B { int b; };\nvoid main() {\n  \
                      b = one();\n}\n";
        for name in ["dir/test.comp", "dir/\"test\".comp"] {
            let options = GlslOptions { name, include_dirs: &include_dirs, ..options() };
            let words = compile(source, &options).unwrap();
            // Instructions are their number of words and opcode in a word, then operands (SPIR-V 2.3).
            let mut instructions = Vec::new();
            let mut rest = &words[5..];
            while let [first, ..] = *rest {
                let (instruction, behind) = rest.split_at((first >> 16) as usize);
                instructions.push((first & 0xFFFF, &instruction[1..]));
                rest = behind;
            }
            let file_of = |line: u32| {
                let (_, line) = instructions.iter().find(|(op, words)| *op == OP_LINE && words[1] == line)?;
                let named = |(op, words): &&(u32, &[u32])| *op == OP_STRING && words[0] == line[0];
                let (_, string) = instructions.iter().find(named)?;
                let bytes: Vec<u8> = string[1..].iter().flat_map(|word| word.to_le_bytes()).collect();
                Some(String::from_utf8(bytes).unwrap().trim_end_matches('\0').to_owned())
            };
            // The include has no line 5.
            let of_source = file_of(5).unwrap();
            assert_eq!(of_source == name, !name.contains('"'), "{of_source}");
            assert!(file_of(2).unwrap().ends_with("a.glsl"));
        }
    }

    #[test]
    fn a_missing_include_is_an_error() {
        let source = "#version 450\n#include \"absent.glsl\"\nvoid main() {}\n";
        let error = compile(source, &options()).unwrap_err();
        assert!(error.to_string().contains("absent.glsl"), "{error}");
        assert_eq!(error.messages[0].line, 2);
    }

    #[test]
    fn an_include_of_itself_ends() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a.glsl"), "#include \"a.glsl\"\n").unwrap();
        let include_dirs = [directory.path().to_path_buf()];
        let options = GlslOptions { include_dirs: &include_dirs, ..options() };
        let source = "#version 450\n#include \"a.glsl\"\nvoid main() {}\n";
        assert!(compile(source, &options).is_err());
    }

    #[test]
    fn macros_are_checked() {
        for name in ["", "1A", "A B", "A\n#define B", "é"] {
            let options = GlslOptions { defines: &[(name, "1")], ..options() };
            assert!(compile("#version 450\nvoid main() {}", &options).is_err(), "{name}");
        }
        let options = GlslOptions { defines: &[("F(a, b)", "(a + b)"), ("EMPTY", "")], ..options() };
        compile("#version 450\n#ifndef EMPTY\n#error\n#endif\nvoid main() { int i = F(1, 2); }", &options)
            .unwrap();
    }

    #[test]
    fn whatever_comes_in_nothing_breaks() {
        let deep =
            format!("#version 450\nvoid main() {{ int i = {}1{}; }}", "(".repeat(5000), ")".repeat(5000));
        let nested = format!("#version 450\nvoid main() {{ {} {} }}", "{".repeat(5000), "}".repeat(5000));
        let sum = format!("#version 450\nvoid main() {{ int j = 1; int i = j{}; }}", " + j".repeat(20_000));
        for source in
            ["", "\0", "void", "#version", "#version 999", "\u{feff}#version 450", &deep, &nested, &sum]
        {
            let _any = compile(source, &options());
        }
    }

    #[test]
    fn the_cooperative_extensions_compile() {
        let source = "#version 450
            #extension GL_KHR_cooperative_matrix : require
            #extension GL_KHR_memory_scope_semantics : require
            #extension GL_EXT_shader_explicit_arithmetic_types : require
            layout(local_size_x = 32) in;
            layout(set = 0, binding = 0) buffer Data { float16_t x[]; };
            void main() {
                coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a;
                coopMatLoad(a, x, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
                coopMatStore(a, x, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
            }";
        let with = compile(source, &options()).unwrap();
        let without = compile(source, &GlslOptions { debug_info: false, ..options() }).unwrap();
        assert!(without.len() < with.len());
    }

    #[test]
    fn threads_may_compile_at_once() {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| compile("#version 450\nvoid main() {}", &options()).unwrap());
            }
        });
    }
}

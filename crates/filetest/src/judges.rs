//! What others say of lowered modules: `spirv-val` of the binary, `mlir-opt` and `mlir-translate` of LLVM 19 of the text.
//!
//! Without them, nothing is judged. Debian's `spirv-val` of 2023 does not know cooperative matrices, so it judges what has
//! none; `PHALANX_SPIRV_VAL` names a newer one. What `mlir-translate` makes of the text is a module of a third party, and
//! is run as the lowered one is.

use crate::compile::{Source, load};
use crate::directive::{Command as Directive, TargetKind, TestFile};
use crate::runner::{Failure, read};
use crate::target::{Outcome, Target};
use phalanx_back_spirv::{Error, Llvm, Lowered, Options, lower};
use phalanx_ir::Verified;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// How many modules were judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Modules lowered.
    pub lowered: usize,
    /// Those that `spirv-val` accepted.
    pub valid: usize,
    /// Those that are newer than the `spirv-val` that is installed.
    pub too_new: usize,
    /// Texts that `mlir-opt` accepted.
    pub accepted: usize,
    /// Modules of texts, serialised by `mlir-translate`, that gave the same results.
    pub serialized: usize,
}

impl std::fmt::Display for Judged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { lowered, valid, too_new, accepted, serialized } = self;
        write!(
            f,
            "lowered: {lowered} modules; spirv-val accepts {valid} and is too old for {too_new}; \
             mlir-opt 19 accepts {accepted} texts, of which {serialized} ran when serialised"
        )
    }
}

/// Lowers what the tests of some files run that are lowered, and asks whoever is installed.
///
/// # Errors
///
/// What was refused, or gave another result.
pub fn judge(files: &[PathBuf]) -> Result<Judged, Failure> {
    let judges = Judges::installed();
    let (mut judged, mut texts) = (Judged::default(), Vec::new());
    for file in files {
        for test in read(file)? {
            let is_run = test.commands.contains(&Directive::Run) && test.run_error.is_none();
            if !is_run || !test.targets.contains(&TargetKind::Lowered) {
                continue;
            }
            judges.test(&test, &mut judged, &mut texts).map_err(|why| {
                let case = if test.case.is_empty() { "" } else { " " };
                Failure(format!("{}{case}{}: {why}", file.display(), test.case))
            })?;
        }
    }
    if !texts.is_empty() {
        // Starting it takes longer than what it does.
        let all = texts.join("// -----\n");
        ask(MLIR_OPT, &["--split-input-file"], all.as_bytes())
            .map_err(|why| Failure(format!("{MLIR_OPT}: {why}")))?;
        judged.accepted = texts.len();
    }
    Ok(judged)
}

struct Judges {
    validator: Option<String>,
    mlir_opt: bool,
    mlir_translate: bool,
}

impl Judges {
    fn installed() -> Self {
        let validator = std::env::var("PHALANX_SPIRV_VAL").unwrap_or_else(|_| "spirv-val".to_owned());
        Self {
            validator: is_there(&validator).then_some(validator),
            mlir_opt: is_there(MLIR_OPT),
            mlir_translate: is_there(MLIR_TRANSLATE),
        }
    }

    fn test(&self, test: &TestFile, judged: &mut Judged, texts: &mut Vec<String>) -> Result<(), String> {
        let source = load(test).map_err(|findings| format!("{findings:?}"))?;
        for &size in &test.subgroups {
            let module = source.module(test, Some(size)).map_err(|findings| format!("{findings:?}"))?;
            let lowered = lower(&module, Options::default()).map_err(|error| error.to_string())?;
            judged.lowered += 1;
            if let Some(validator) = &self.validator {
                validate(validator, &lowered, judged)?;
            }
            // The text does not depend on the size, but for numbers.
            if self.mlir_opt && test.subgroups.first() == Some(&size) {
                texts.extend(self.text(test, &module, judged)?);
            }
        }
        Ok(())
    }

    /// The text for LLVM 19, if its dialect has words for everything.
    fn text(
        &self,
        test: &TestFile,
        module: &Verified,
        judged: &mut Judged,
    ) -> Result<Option<String>, String> {
        let lowered =
            lower(module, Options { rotates_by_shuffle: true }).map_err(|error| error.to_string())?;
        let text = match lowered.to_mlir(Llvm::V19) {
            Ok(text) => text,
            Err(Error::NotInDialect { .. }) => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        if !self.mlir_translate {
            return Ok(Some(text));
        }
        let serialize = ["--no-implicit-module", "--serialize-spirv"];
        let bytes = ask(MLIR_TRANSLATE, &serialize, text.as_bytes())
            .map_err(|why| format!("{MLIR_TRANSLATE}: {why}\n{text}"))?;
        let words = phalanx_front_spirv::words_from_bytes(&bytes).map_err(|error| error.to_string())?;
        let entry = Some(module.name.clone());
        let again = TestFile { entry, spec: Vec::new(), ..test.clone() };
        let read = Source::Spirv { words, lines: Vec::new() }.module(&again, Some(module.subgroup_size));
        let read =
            read.map_err(|findings| format!("what {MLIR_TRANSLATE} makes is refused: {findings:?}"))?;
        let (expected, found) = (Target::Lowered.run(module, test)?, Target::Interp.run(&read, &again)?);
        // What is accessed may differ, what is found in memory may not.
        if expected != (Outcome { traffic: None, ..found }) {
            return Err(format!("what {MLIR_TRANSLATE} makes gives another result\n{text}"));
        }
        judged.serialized += 1;
        Ok(Some(text))
    }
}

const MLIR_OPT: &str = "mlir-opt-19";
const MLIR_TRANSLATE: &str = "mlir-translate-19";

fn is_there(program: &str) -> bool {
    let status = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// What a program makes of its standard input, or says against it.
fn ask(program: &str, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut pipe = child.stdin.take().ok_or("no standard input")?;
    let input = input.to_vec();
    // A program that has seen enough of its input closes it, and says why.
    let writer = std::thread::spawn(move || drop(pipe.write_all(&input)));
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let _ = writer.join();
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn validate(validator: &str, lowered: &Lowered, judged: &mut Judged) -> Result<(), String> {
    let bytes: Vec<u8> = lowered.words().iter().flat_map(|word| word.to_le_bytes()).collect();
    // Scalars stand one behind the other, in uniform buffers and in shared memory too.
    let arguments = [
        "--target-env",
        "vulkan1.2",
        "--uniform-buffer-standard-layout",
        "--workgroup-scalar-block-layout",
        "-",
    ];
    match ask(validator, &arguments, &bytes) {
        Ok(_) => judged.valid += 1,
        Err(why) if why.contains("Invalid capability operand") || why.contains("Invalid opcode") => {
            judged.too_new += 1;
        }
        Err(why) => return Err(format!("{validator}: {why}\n{}", lowered.disassemble())),
    }
    Ok(())
}

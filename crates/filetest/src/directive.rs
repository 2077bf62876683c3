//! A test file: its directives, which are comments, and its source.
//!
//! Directives are comments in the source's own syntax (`//` in GLSL and MLIR, `;` elsewhere). A comment is
//! one if it begins with one of [`WORDS`]; any other comment is prose. A directive goes on over the
//! following comments that are indented, and until its brackets are closed.
//!
//! A file may have several cases. `case NAME: KEY=VALUE …` begins one: the directives before the
//! first case, in which each `KEY` stands for its `VALUE`, and those up to the next. `keys KEY=VALUE …`
//! gives values for the cases that do not; a value may use other keys. `define NAME VALUE` is a macro in GLSL, and a
//! word that stands for another text in MLIR.

use crate::compare::Tolerance;
use crate::data::{Data, Ty};
use crate::error::Wrong;
use crate::expr::Env;
use crate::laid::Laid;
use crate::sampler;
use crate::slot::Slot;
use crate::tokens::Tokens;
use phalanx_ir::{Format, ImageLayout, Sampler};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a source is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// GLSL.
    Glsl,
    /// The text form of SPIR-V.
    Spirv,
    /// MLIR.
    Mlir,
    /// The text form of our IR.
    Ir,
}

impl Language {
    /// By the file's extension.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "comp" => Some(Self::Glsl),
            "spvasm" => Some(Self::Spirv),
            "mlir" => Some(Self::Mlir),
            "ir" => Some(Self::Ir),
            _ => None,
        }
    }

    /// What comments begin with.
    pub const fn comment(self) -> &'static str {
        match self {
            Self::Glsl | Self::Mlir => "//",
            Self::Spirv | Self::Ir => ";",
        }
    }
}

/// What to do with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Run it and compare.
    Run,
    /// Parse and verify IR.
    Verify,
    /// Translate to IR.
    Translate,
    /// Compare the IR with the text at the file's end; after the passes, if asked.
    Print {
        /// After the passes.
        optimized: bool,
    },
}

/// Who runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TargetKind {
    /// The interpreter.
    Interp,
    /// The interpreter, after the passes.
    Passes,
    /// The CPU.
    Cpu,
    /// The interpreter, after lowering to SPIR-V and reading that again.
    Lowered,
}

/// The expected contents of a buffer.
#[derive(Clone, Debug)]
pub struct Output {
    /// Where it is bound.
    pub slot: Slot,
    /// The contents.
    pub data: Data,
    /// The contents where a GPU runs it, if they differ.
    pub on_gpu: Option<Data>,
    /// How far results may be off.
    pub tolerance: Tolerance,
    /// Line in the file.
    pub line: usize,
}

/// How many elements are read from memory, or written, as the interpreter counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The buffer, or without one what work-groups share.
    pub slot: Option<Slot>,
    /// Whether those written are meant.
    pub written: bool,
    /// Their number.
    pub elements: u64,
    /// Line in the file.
    pub line: usize,
}

/// A finding that must be reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedError {
    /// Where; none where the directive stands alone on its line.
    pub at: Option<usize>,
    /// What its text holds.
    pub text: String,
    /// The directive's line.
    pub line: usize,
}

/// A test file.
#[derive(Clone, Debug)]
pub struct TestFile {
    /// Its path.
    pub path: PathBuf,
    /// Name of the case, or empty.
    pub case: String,
    /// Its text.
    pub text: String,
    /// Language of the source.
    pub language: Language,
    /// What to do.
    pub commands: Vec<Command>,
    /// Subgroup sizes to run with.
    pub subgroups: Vec<u32>,
    /// Who runs it.
    pub targets: Vec<TargetKind>,
    /// Whether it runs with every instruction set of the machine.
    pub all_isas: bool,
    /// Entry point, if it is not the only one.
    pub entry: Option<String>,
    /// Specialisation constants.
    pub spec: Vec<(u32, u64)>,
    /// Macros.
    pub defines: Vec<(String, String)>,
    /// Work-groups.
    pub groups: [u32; 3],
    /// The first work-group.
    pub base: [u32; 3],
    /// How texels lie in the buffers that are images.
    pub images: BTreeMap<Slot, ImageLayout>,
    /// The samplers, of bindings of their own and of images.
    pub samplers: BTreeMap<Slot, Sampler>,
    /// Matrices in the layout that is best for multiplying, of which each target has its own.
    pub matrices: Vec<Laid>,
    /// Contents of buffers before.
    pub inputs: BTreeMap<Slot, Data>,
    /// Contents of buffers after.
    pub outputs: Vec<Output>,
    /// Push constants.
    pub push: Data,
    /// Lines printed, sorted.
    pub printed: Vec<String>,
    /// Accesses to memory.
    pub counts: Vec<Count>,
    /// Findings of the translator or verifier.
    pub errors: Vec<ExpectedError>,
    /// What the error of running holds.
    pub run_error: Option<String>,
    /// When a dispatch is stopped.
    pub timeout: Duration,
}

/// A directive that is wrong, and its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {wrong}", path.display())]
pub struct DirectiveError {
    path: PathBuf,
    line: usize,
    wrong: Wrong,
}

/// Marks where a snapshot begins.
pub(crate) const SNAPSHOT: &str = "output:";

impl TestFile {
    /// The same test with what is expected of a GPU.
    pub fn on_gpu(&self) -> Self {
        let mut file = self.clone();
        for output in &mut file.outputs {
            if let Some(data) = output.on_gpu.take() {
                output.data = data;
            }
        }
        file
    }

    /// Reads the directives of a file: a test for each case.
    ///
    /// # Errors
    ///
    /// The first directive that is wrong.
    pub fn parse(path: &Path, text: &str) -> Result<Vec<Self>, DirectiveError> {
        let error = |line, wrong| DirectiveError { path: path.to_owned(), line, wrong };
        let language = Language::of(path)
            .ok_or_else(|| error(1, Wrong::new(".comp, .spvasm, .mlir or .ir", path.display())))?;
        let all = directives(text, language);
        let is_case = |(_, text): &(usize, String)| text.split_whitespace().next() == Some("case");
        let first = all.iter().position(is_case).unwrap_or(all.len());
        let (common, rest) = all.split_at(first);
        if rest.is_empty() {
            return Ok(vec![Self::one(path, text, language, "", common)?]);
        }
        let mut defaults = Vec::new();
        for (line, text) in common {
            if let Some(keys) = text.strip_prefix("keys ") {
                defaults.extend(key_list(keys).map_err(|wrong| error(*line, wrong))?);
            }
        }
        rest.chunk_by(|_, next| !is_case(next))
            .map(|case| {
                let (line, head) = &case[0];
                let rest = head.trim_start_matches("case").trim();
                let (name, list) = rest.split_once(':').unwrap_or((rest, ""));
                let mut keys = key_list(list).map_err(|wrong| error(*line, wrong))?;
                keys.extend(defaults.iter().cloned());
                resolve(&mut keys);
                let own = case[1..].iter().chain(common).map(|(line, text)| (*line, substitute(text, &keys)));
                let mut lines: Vec<_> = own.collect();
                lines.sort_by_key(|(line, _)| *line);
                Self::one(path, text, language, name, &lines)
            })
            .collect()
    }

    fn new(path: &Path, text: &str, language: Language, case: &str) -> Self {
        Self {
            path: path.to_owned(),
            case: case.to_owned(),
            text: text.to_owned(),
            language,
            commands: Vec::new(),
            subgroups: if language == Language::Ir { Vec::new() } else { vec![32] },
            targets: default_targets(language),
            all_isas: false,
            entry: None,
            spec: Vec::new(),
            defines: Vec::new(),
            groups: [1; 3],
            base: [0; 3],
            images: BTreeMap::new(),
            samplers: BTreeMap::new(),
            matrices: Vec::new(),
            inputs: BTreeMap::new(),
            outputs: Vec::new(),
            push: Data::default(),
            printed: Vec::new(),
            counts: Vec::new(),
            errors: expected_errors(text, language),
            run_error: None,
            timeout: Duration::from_secs(20),
        }
    }

    fn one(
        path: &Path,
        text: &str,
        language: Language,
        case: &str,
        directives: &[(usize, String)],
    ) -> Result<Self, DirectiveError> {
        let error = |line, wrong| DirectiveError { path: path.to_owned(), line, wrong };
        let mut file = Self::new(path, text, language, case);
        let mut reader = Reader { env: Env::default(), tolerance: Tolerance::default() };
        for (line, body) in directives {
            reader.directive(&mut file, *line, body).map_err(|wrong| error(*line, wrong))?;
        }
        file.printed.sort();
        if file.commands.is_empty() {
            return Err(error(1, Wrong::new("a `test` directive", "")));
        }
        let checks = !file.outputs.is_empty() || !file.printed.is_empty() || file.run_error.is_some();
        if file.commands.contains(&Command::Run) && !checks {
            return Err(error(1, Wrong::new("an `out`, `printf` or `run-error` directive", "")));
        }
        Ok(file)
    }
}

pub(crate) type Keys = Vec<(String, String)>;

/// `KEY=VALUE …`
fn key_list(text: &str) -> Result<Keys, Wrong> {
    let pair = |word: &str| {
        let (key, value) = word.split_once('=').ok_or_else(|| Wrong::new("KEY=VALUE", word))?;
        Ok((key.to_owned(), value.to_owned()))
    };
    text.split_whitespace().map(pair).collect()
}

/// Replaces keys in values. Those that lead to themselves stay as they are.
fn resolve(keys: &mut Keys) {
    for _round in 0..3 {
        let values: Vec<_> = keys.iter().map(|(_, value)| substitute(value, keys)).collect();
        for ((_, value), new) in keys.iter_mut().zip(values) {
            *value = new;
        }
    }
}

/// Puts values in the place of keys, where these stand as whole words.
pub(crate) fn substitute(text: &str, keys: &Keys) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        out += keys.iter().find(|(key, _)| *key == word).map_or(word, |(_, value)| value);
        let end = after.find(is_word).unwrap_or(after.len());
        let (marks, after) = after.split_at(end);
        out += marks;
        rest = after;
    }
    out
}

/// The comments that stand alone on their lines, joined with those that continue them; up to a
/// snapshot.
fn directives(text: &str, language: Language) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_end().strip_prefix(language.comment()) else {
            open = false;
            continue;
        };
        let body = comment.trim();
        if body == SNAPSHOT {
            break;
        }
        let goes_on = open || comment.starts_with("   ");
        match found.last_mut().filter(|(_, text)| goes_on && is_directive(text)) {
            Some((_, text)) => {
                text.push(' ');
                text.push_str(body);
            }
            None => found.push((index + 1, body.to_owned())),
        }
        open = found.last().is_some_and(|(_, text)| is_open(text));
    }
    found
}

/// Whether brackets are left open.
fn is_open(text: &str) -> bool {
    let count = |c| text.matches(c).count();
    count('[') > count(']') || count('(') > count(')')
}

/// What directives begin with.
pub const WORDS: [&str; 26] = [
    "case",
    "keys",
    "test",
    "subgroup",
    "target",
    "isa",
    "entry",
    "spec",
    "define",
    "dispatch",
    "base",
    "image",
    "sampler",
    "matrix",
    "in",
    "inout",
    "out",
    "gpu",
    "tolerance",
    "push",
    "printf",
    "reads",
    "writes",
    "run-error",
    "timeout",
    "error:",
];

fn is_directive(text: &str) -> bool {
    text.split_whitespace().next().is_some_and(|word| WORDS.contains(&word))
}

struct Reader {
    env: Env,
    tolerance: Tolerance,
}

impl Reader {
    fn directive(&mut self, file: &mut TestFile, line: usize, text: &str) -> Result<(), Wrong> {
        if !is_directive(text) {
            return Ok(());
        }
        let mut tokens = Tokens::new(text);
        match tokens.word("a directive")? {
            "test" => file.commands.push(command(&mut tokens)?),
            "subgroup" => file.subgroups = numbers(&mut tokens)?,
            "target" => file.targets = targets(&mut tokens)?,
            "isa" => {
                tokens.expect("all")?;
                file.all_isas = true;
            }
            "entry" => file.entry = Some(tokens.rest().to_owned()),
            "spec" => file.spec.extend(specialization(&mut tokens)?),
            "define" => {
                let name = tokens.word("the name of a macro")?.to_owned();
                file.defines.push((name, tokens.rest().to_owned()));
            }
            "dispatch" => file.groups = triple(&mut tokens)?,
            "base" => file.base = triple(&mut tokens)?,
            "image" => {
                let (slot, layout) = (slot(&mut tokens)?, image(&mut tokens)?);
                file.images.insert(slot, layout);
            }
            "sampler" => {
                let (slot, sampler) = (slot(&mut tokens)?, sampler::parse(&mut tokens)?);
                file.samplers.insert(slot, sampler);
            }
            "matrix" => {
                let slot = slot(&mut tokens)?;
                file.matrices.push(Laid::parse(slot, &mut tokens)?);
            }
            word @ ("in" | "inout") => self.input(file, &mut tokens, word)?,
            "out" => {
                let slot = slot(&mut tokens)?;
                let data = Data::parse(&mut tokens, &self.env)?;
                file.outputs.push(Output { slot, data, on_gpu: None, tolerance: self.tolerance, line });
            }
            "gpu" => {
                let data = Data::parse(&mut tokens, &self.env)?;
                let output = file.outputs.last_mut().filter(|output| output.line != 0);
                output.ok_or_else(|| Wrong::new("an `out` before it", ""))?.on_gpu = Some(data);
            }
            "tolerance" => self.tolerance = Tolerance::parse(&mut tokens)?,
            "push" => file.push.segments.extend(Data::parse(&mut tokens, &self.env)?.segments),
            word @ ("reads" | "writes") => {
                file.counts.push(count(&mut tokens, word == "writes", line)?);
            }
            "printf" => printed(&mut tokens, &mut file.printed)?,
            "run-error" => file.run_error = Some(tokens.rest().to_owned()),
            "timeout" => file.timeout = Duration::from_millis(tokens.number("milliseconds")? as u64),
            // Those of cases and of errors are read elsewhere.
            _ => {
                tokens.rest();
            }
        }
        tokens.end()
    }

    fn input(&mut self, file: &mut TestFile, tokens: &mut Tokens<'_>, word: &str) -> Result<(), Wrong> {
        let slot = slot(tokens)?;
        let data = Data::parse(tokens, &self.env)?;
        self.env.buffers.push((slot, data.values()?.into()));
        if word == "in" {
            // What is only read must not change.
            let tolerance = Tolerance::default();
            file.outputs.push(Output { slot, data: data.clone(), on_gpu: None, tolerance, line: 0 });
        }
        if file.inputs.insert(slot, data).is_some() {
            return Err(Wrong::new("a binding that is not given yet", slot));
        }
        Ok(())
    }
}

fn command(tokens: &mut Tokens<'_>) -> Result<Command, Wrong> {
    match tokens.word("`run`, `verify`, `translate` or `print`")? {
        "run" => Ok(Command::Run),
        "verify" => Ok(Command::Verify),
        "translate" => Ok(Command::Translate),
        "print" => {
            let optimized = tokens.peek() == Some("optimized");
            if optimized {
                tokens.next();
            }
            Ok(Command::Print { optimized })
        }
        word => Err(Wrong::new("`run`, `verify`, `translate` or `print`", word)),
    }
}

fn slot(tokens: &mut Tokens<'_>) -> Result<Slot, Wrong> {
    tokens.word("SET.BINDING")?.parse()
}

/// `FORMAT WIDTH [HEIGHT [DEPTH [LEVELS [LAYERS]]]]`: the buffer of a slot is an image without gaps.
fn image(tokens: &mut Tokens<'_>) -> Result<ImageLayout, Wrong> {
    let name = tokens.word("a format")?;
    let format = Format::from_name(name).ok_or_else(|| Wrong::new("a format", name))?;
    let sizes = numbers(tokens)?;
    if !(1..=5).contains(&sizes.len()) {
        return Err(Wrong::new("one to five sizes", sizes.len()));
    }
    let [width, height, depth, levels, layers] = [0, 1, 2, 3, 4].map(|i| sizes.get(i).copied().unwrap_or(1));
    Ok(ImageLayout::packed(format, [width, height, depth], levels, layers))
}

fn numbers(tokens: &mut Tokens<'_>) -> Result<Vec<u32>, Wrong> {
    let number = |word: &str| word.parse().map_err(|_| Wrong::new("a number", word));
    tokens.map(number).collect()
}

fn triple(tokens: &mut Tokens<'_>) -> Result<[u32; 3], Wrong> {
    let list = numbers(tokens)?;
    list.try_into().map_err(|list: Vec<u32>| Wrong::new("three numbers", list.len()))
}

/// All; but MLIR alone is also lowered to SPIR-V, unless a file asks for it.
fn default_targets(language: Language) -> Vec<TargetKind> {
    let mut targets = vec![TargetKind::Interp, TargetKind::Passes, TargetKind::Cpu];
    if language == Language::Mlir {
        targets.push(TargetKind::Lowered);
    }
    targets
}

fn targets(tokens: &mut Tokens<'_>) -> Result<Vec<TargetKind>, Wrong> {
    let target = |word| match word {
        "interp" => Ok(TargetKind::Interp),
        "passes" => Ok(TargetKind::Passes),
        "cpu" => Ok(TargetKind::Cpu),
        "lowered" => Ok(TargetKind::Lowered),
        _ => Err(Wrong::new("`interp`, `passes`, `cpu` or `lowered`", word)),
    };
    tokens.map(target).collect()
}

/// `ID=VALUE …`: an integer, a truth value, or `TYPE:VALUE`.
fn specialization(tokens: &mut Tokens<'_>) -> Result<Vec<(u32, u64)>, Wrong> {
    let constant = |word: &str| {
        let wrong = || Wrong::new("ID=VALUE", word);
        let (id, value) = word.split_once('=').ok_or_else(wrong)?;
        let bits = match (value, value.split_once(':')) {
            ("true", _) => 1,
            ("false", _) => 0,
            (_, Some((ty, value))) => Ty::from_name(ty).and_then(|ty| ty.parse(value)).ok_or_else(wrong)?,
            (_, None) => value.parse::<i64>().map_err(|_| wrong())? as u32 as u64,
        };
        Ok((id.parse().map_err(|_| wrong())?, bits))
    };
    tokens.map(constant).collect()
}

/// `reads SLOT ELEMENTS`, `writes SLOT ELEMENTS`; `shared` in place of a slot is what work-groups share.
fn count(tokens: &mut Tokens<'_>, written: bool, line: usize) -> Result<Count, Wrong> {
    let slot = match tokens.word("SET.BINDING or `shared`")? {
        "shared" => None,
        word => Some(word.parse()?),
    };
    let elements = tokens.number("the number of elements")? as u64;
    Ok(Count { slot, written, elements, line })
}

/// `printf "text" [times]`.
fn printed(tokens: &mut Tokens<'_>, lines: &mut Vec<String>) -> Result<(), Wrong> {
    let rest = tokens.rest();
    let inner = rest.strip_prefix('"').and_then(|text| text.rsplit_once('"'));
    let (text, times) = inner.ok_or_else(|| Wrong::new("a text in quotes", rest))?;
    let times = match times.trim() {
        "" => 1,
        times => times.parse().map_err(|_| Wrong::new("how many times", times))?,
    };
    lines.extend(std::iter::repeat_n(text.to_owned(), times));
    Ok(())
}

/// `error: text`, at the end of a line of code or on a line of its own.
fn expected_errors(text: &str, language: Language) -> Vec<ExpectedError> {
    let mark = format!("{} error:", language.comment());
    let found = text.lines().enumerate().filter_map(|(index, line)| {
        let (code, text) = line.split_once(&mark)?;
        let line = index + 1;
        let at = (!code.trim().is_empty()).then_some(line);
        Some(ExpectedError { at, text: text.trim().to_owned(), line })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(path: &str, text: &str) -> Result<Vec<TestFile>, String> {
        TestFile::parse(Path::new(path), text).map_err(|e| e.to_string())
    }

    #[test]
    fn directives_of_a_file() {
        let text = "// Adds numbers.\n// test run\n// subgroup 4 32\n// spec 0=-1 1=f32:1.5 2=true\n\
                    // in 0.0 i32 [1\n// 2]\n//   u8 [3]\n// out 0.1[2] i32 gen 2 = $0.0[i] + 1\n// push f32 [1.0]\n\
                    // printf \"a \"b\"\" 2\n// reads 0.0 3\n// writes shared 4\n\
                    void main() {} // error: bad\n";
        let files = parse("a.comp", text).unwrap();
        let [file] = files.as_slice() else { panic!("{files:?}") };
        assert_eq!(file.commands, [Command::Run]);
        assert_eq!(file.subgroups, [4, 32]);
        assert_eq!(file.spec, [(0, 0xffff_ffff), (1, 0x3fc0_0000), (2, 1)]);
        assert_eq!(file.outputs[1].data.values().unwrap(), [2.0, 3.0]);
        assert_eq!(file.outputs[1].slot, Slot { set: 0, binding: 1, index: 2 });
        assert_eq!(file.printed, ["a \"b\"", "a \"b\""]);
        let slot = Some(Slot { set: 0, binding: 0, index: 0 });
        assert_eq!(file.counts[0], Count { slot, written: false, elements: 3, line: 11 });
        assert_eq!(file.counts[1], Count { slot: None, written: true, elements: 4, line: 12 });
        assert_eq!(file.errors, [ExpectedError { at: Some(13), text: "bad".into(), line: 13 }]);
    }

    #[test]
    fn cases_substitute_keys() {
        let text = "; test run\n; spec 0=M\n; out 0.0 T gen M x N = M * r\n; keys N=T1 T1=1\n; case a: M=2 T=i8\n; case b: M=1 T=f32\n; spec 1=M\n";
        let files = parse("a.spvasm", text).unwrap();
        assert_eq!(files.len(), 2);
        assert_eq!((files[0].case.as_str(), files[0].spec.as_slice()), ("a", &[(0, 2)][..]));
        assert_eq!(files[0].outputs[0].data.values().unwrap(), [0.0, 2.0]);
        assert_eq!(files[1].spec, [(0, 1), (1, 1)]);
    }

    #[test]
    fn mistakes_have_lines() {
        let error = |text| parse("a.ir", text).unwrap_err();
        assert_eq!(
            error("; test rum\n"),
            "a.ir:1: expected `run`, `verify`, `translate` or `print`, found `rum`"
        );
        assert_eq!(error("; x\n; in 0,0 i8 [1]\n"), "a.ir:2: expected SET.BINDING, found `0,0`");
        assert_eq!(error("; hello\n"), "a.ir:1: expected a `test` directive, found the end");
        assert!(error("; test run\n").contains("expected an `out`"));
        let before = error("; test run\n; in 0.0 i8 [1]\n; gpu i8 [2]\n; out 0.1 i8 [1]\n");
        assert!(before.starts_with("a.ir:3: expected an `out` before it"), "{before}");
    }

    #[test]
    fn a_gpu_may_give_something_else() {
        let text = "; test run\n; out 0.0 i8 [1]\n; gpu i8 [2]\n; out 0.1 i8 [3]\n";
        let file = &parse("a.ir", text).unwrap()[0];
        let values = |file: &TestFile| [0, 1].map(|i| file.outputs[i].data.values().unwrap()).concat();
        assert_eq!(values(file), [1.0, 3.0]);
        assert_eq!(values(&file.on_gpu()), [2.0, 3.0]);
    }
}

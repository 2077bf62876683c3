//! What fuzz targets do with their input. Seeded tests on the stable compiler do the same, so a find
//! of a fuzzer becomes a seed or a file here.
//!
//! Each function panics where it finds a fault of ours, and accepts everything else.
#![expect(clippy::panic, reason = "a panic is how a fuzz target reports a fault")]

use crate::slot::Slot;
use crate::target::{Target, is_unsupported, processors, run_on_cpu, run_with_push};
use phalanx_front_mlir as mlir;
use phalanx_front_spirv as front;
use phalanx_interp::{Limits, Memory};
use phalanx_ir::random::{Case, Config, case};
use phalanx_ir::{Binding, Verified, passes, verify};
use phalanx_kernels::Processor;
use std::collections::BTreeMap;

/// Reads bytes as a SPIR-V module: whatever they are, it is answered with a module that verifies and
/// survives the passes, or with diagnostics that have a class and a place.
///
/// # Panics
///
/// Where the reader, the translator or a pass is at fault.
pub fn spirv_reader(bytes: &[u8]) {
    match front::words_from_bytes(bytes) {
        Ok(words) => spirv_words(&words),
        Err(found) => check_diagnostics(&found),
    }
}

/// The same for words.
///
/// # Panics
///
/// Where the reader, the translator or a pass is at fault.
pub fn spirv_words(words: &[u32]) {
    if let Err(found) = front::inspect(words) {
        check_diagnostics(&found);
    }
    let limits = front::Limits { instructions: 20_000, private_bytes: 1 << 20, ..front::Limits::default() };
    for subgroup_size in [4, 32] {
        let options = front::Options { subgroup_size, limits, ..front::Options::default() };
        match front::translate(words, &options) {
            Ok(module) => check_module(module),
            Err(found) => check_diagnostics(&found),
        }
    }
}

/// Reads bytes as MLIR text: whatever they are, it is answered with a tree that is printed and read again as it was,
/// or with a message; and each entry point of the tree with a module that verifies and survives the passes, or with a
/// message.
///
/// # Panics
///
/// Where the parser, the printer, the translator or a pass is at fault.
pub fn mlir_text(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match phalanx_front_mlir::parse(text) {
        Ok(ast) => {
            let printed = phalanx_front_mlir::syntax::print(&ast);
            let again = phalanx_front_mlir::parse(&printed)
                .unwrap_or_else(|e| panic!("what was printed is refused: {e}\n{printed}"));
            assert_eq!(
                printed,
                phalanx_front_mlir::syntax::print(&again),
                "what was printed is read otherwise"
            );
            mlir_entries(&ast);
        }
        Err(error) => assert!(error.to_string().len() < 4096, "a message as long as the text"),
    }
}

/// Translates each entry point of a tree, and what is chosen without a name.
fn mlir_entries(ast: &mlir::ast::Ast) {
    let info = mlir::inspect_ast(ast);
    let names = info.entry_points.iter().take(8).map(|entry| Some(entry.name.as_str()));
    let limits = mlir::Limits { instructions: 20_000, private_bytes: 1 << 16, ..mlir::Limits::default() };
    for entry in names.chain([None]) {
        let options = mlir::Options { entry, limits, ..mlir::Options::default() };
        match mlir::translate_ast(ast, &options) {
            Ok(module) => check_module(module),
            Err(error) => assert_ne!(error.class, mlir::Class::Bug, "{error}"),
        }
    }
}

fn check_module(module: phalanx_ir::Module) {
    let module = verify(module).unwrap_or_else(|e| panic!("translated to a broken module\n{e}"));
    passes::optimize(module, &strict()).unwrap_or_else(|bug| panic!("{bug}"));
}

fn strict() -> passes::Options {
    passes::Options { verify: true, ..passes::Options::default() }
}

fn check_diagnostics(found: &front::Diagnostics) {
    assert!(!found.0.is_empty(), "refused without a diagnostic");
    for diagnostic in &found.0 {
        assert_ne!(diagnostic.class, front::Class::Bug, "{diagnostic}");
        assert!(!diagnostic.message.is_empty(), "a diagnostic without a message");
    }
}

/// Makes a random module and runs it on the interpreter, before and after the passes, and on the
/// CPU: all leave the same bytes.
///
/// # Panics
///
/// Where they do not; the message has the seed and the module.
pub fn random_ir(seed: u64) {
    let case = case(seed, &config(seed)).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    let expected =
        interpret(&case, &case.module).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", *case.module));
    let module =
        passes::optimize(case.module.clone(), &strict()).unwrap_or_else(|bug| panic!("seed {seed}: {bug}"));
    let after = interpret(&case, &module).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", *module));
    if expected != after {
        panic!(
            "seed {seed}: the passes change the result\n{}\n{}\n{}",
            differences(&expected, &after),
            *case.module,
            *module
        );
    }
    let chained =
        passes::chain(&module, &|_, _| 3, &strict()).unwrap_or_else(|bug| panic!("seed {seed}: {bug}"));
    if let Some(chained) = chained {
        let after = interpret(&case, &chained).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", *chained));
        assert_eq!(
            expected, after,
            "seed {seed}: putting multiply-adds off changes the result\n{}",
            *chained
        );
    }
    // As it is once, and as it is in use for every processor.
    let processors = processors();
    let plain = processors.last().map(|own| (own, &case.module));
    for (processor, module) in plain.into_iter().chain(processors.iter().map(|p| (p, &module))) {
        let found = on_cpu(*processor, &case, module);
        let found = found.unwrap_or_else(|e| panic!("seed {seed}, {processor}: {e}\n{}", **module));
        if expected != found {
            panic!(
                "seed {seed}: the CPU gives another result as {processor}\n{}\n{}",
                differences(&expected, &found),
                **module
            );
        }
    }
}

/// Compares what a target makes of a random module with what the interpreter makes of it; false if the target does not
/// do what is in it.
///
/// # Errors
///
/// What differs.
pub fn random_ir_on(target: Target, seed: u64) -> Result<bool, String> {
    let case = case(seed, &config(seed)).map_err(|errors| errors.to_string())?;
    // The interpreter distributes components as the target does.
    let distribution = match target {
        Target::Cuda(_) => passes::THREADS.distribution,
        _ => passes::LANES.distribution,
    };
    let distributed = passes::distribute(&case.module, distribution).map_err(|bug| bug.to_string())?;
    let expected = interpret(&case, distributed.as_ref().unwrap_or(&case.module))?;
    match on(target, &case) {
        Ok(found) if found == expected => Ok(true),
        Ok(found) => Err(format!(
            "seed {seed}: {target} gives another result\n{}\n{}",
            differences(&expected, &found),
            *case.module
        )),
        Err(error) if is_unsupported(&error) => Ok(false),
        Err(error) => Err(format!("seed {seed}, {target}: {error}\n{}", *case.module)),
    }
}

/// The module of a seed, as a GPU's code generator gets it.
///
/// # Errors
/// If the generator or a pass makes what is not right.
pub fn random_module(seed: u64) -> Result<Verified, String> {
    let case = case(seed, &config(seed)).map_err(|errors| errors.to_string())?;
    passes::optimize_by(&passes::THREADS, case.module, &strict()).map_err(|bug| bug.to_string())
}

/// What the module of a seed may contain: everything, or less of some and more of the rest.
fn config(seed: u64) -> Config {
    let all = Config::default();
    match seed % 6 {
        0 | 1 => all,
        2 => Config { matrices: false, barriers: false, ..all },
        3 => Config { matrices: false, floats: false, statements: 30, ..all },
        4 => Config { barriers: false, matrices: false, subgroups: false, depth: 6, ..all },
        _ => Config { returns: false, depth: 3, statements: 20, ..all },
    }
}

/// The buffers after a run on the interpreter.
fn interpret(case: &Case, module: &Verified) -> Result<Vec<Vec<u8>>, String> {
    let mut buffers = case.buffers.clone();
    let mut memory = Memory::new();
    for (i, bytes) in buffers.iter_mut().enumerate() {
        let buffer = memory.add_buffer(bytes, (i as u64 + 1) << 44);
        memory.bind_buffer(Binding::new(i), buffer);
    }
    memory.set_push(&case.push);
    let limits = Limits { max_steps: 10_000_000, ..Limits::default() };
    phalanx_interp::run(module, &mut memory, case.groups, [0; 3], &limits).map_err(|e| e.to_string())?;
    drop(memory);
    Ok(buffers)
}

/// The buffers after a run on the CPU.
///
/// # Errors
///
/// Why it could not be run to its end.
pub fn on_cpu(processor: Processor, case: &Case, module: &Verified) -> Result<Vec<Vec<u8>>, String> {
    by_slots(case, |buffers| run_on_cpu(processor, module, buffers, &case.push, case.groups))
}

/// The buffers after a run on a target that does its own passes.
fn on(target: Target, case: &Case) -> Result<Vec<Vec<u8>>, String> {
    by_slots(case, |buffers| run_with_push(target, &case.module, buffers, &case.push, case.groups))
}

/// The buffers after a run that wants them by their slots.
fn by_slots(
    case: &Case,
    run: impl FnOnce(&BTreeMap<Slot, Vec<u8>>) -> Result<BTreeMap<Slot, Vec<u8>>, String>,
) -> Result<Vec<Vec<u8>>, String> {
    let slot = |i: usize| {
        let binding = &case.module.bindings[i];
        Slot { set: binding.set, binding: binding.binding, index: 0 }
    };
    let buffers: BTreeMap<_, _> =
        case.buffers.iter().enumerate().map(|(i, bytes)| (slot(i), bytes.clone())).collect();
    let mut found = run(&buffers)?;
    Ok((0..case.buffers.len()).map(|i| found.remove(&slot(i)).unwrap_or_default()).collect())
}

/// The bytes that differ, the first of them.
fn differences(expected: &[Vec<u8>], found: &[Vec<u8>]) -> String {
    let mut text = String::new();
    for (buffer, (x, y)) in expected.iter().zip(found).enumerate() {
        let differ = x.iter().zip(y).enumerate().filter(|(_, (x, y))| x != y);
        for (at, (x, y)) in differ.take(16) {
            text += &format!("  buffer {buffer}, byte {at}: expected {x:#04x}, found {y:#04x}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seeds of the fuzz target, whole and cut off everywhere.
    #[test]
    fn seeds_of_mlir_text_pass() {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../front-mlir/tests/syntax/corpus");
        let files: Vec<_> = std::fs::read_dir(corpus).expect("the corpus is there").collect();
        assert!(!files.is_empty());
        for file in files {
            let bytes = std::fs::read(file.expect("it is listed").path()).expect("it can be read");
            mlir_text(&bytes);
            (0..bytes.len()).step_by(101).for_each(|end| mlir_text(&bytes[..end]));
        }
    }

    /// The file tests with words of theirs exchanged, left out or repeated.
    #[test]
    fn damaged_mlir_is_answered() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../filetests/mlir");
        let mut files: Vec<_> =
            std::fs::read_dir(directory).expect("the tests are there").flatten().map(|f| f.path()).collect();
        files.sort();
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut below = |limit: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % limit.max(1) as u64) as usize
        };
        for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "mlir")) {
            let text = std::fs::read_to_string(file).expect("it can be read");
            let is_inner = |c: char| c.is_ascii_alphanumeric() || "_%.@^!#".contains(c);
            let words: Vec<&str> = text.split_inclusive(|c| !is_inner(c)).collect();
            for _ in 0..500 {
                let mut words = words.clone();
                for _ in 0..1 + below(2) {
                    let at = below(words.len());
                    // Mostly words of a kind, so that the text is still read.
                    let kind = |word: &str| {
                        word.chars().next().map(|c| (c.is_ascii_digit(), c.is_alphabetic(), c == '%'))
                    };
                    let mut from = below(words.len());
                    for _ in 0..30 {
                        if kind(words[from]) != kind(words[at]) {
                            from = below(words.len());
                        }
                    }
                    match below(8) {
                        0 => drop(words.remove(at)),
                        1 => words.insert(at, words[from]),
                        2 => words.swap(at, from),
                        _ => words[at] = words[from],
                    }
                }
                mlir_text(words.concat().as_bytes());
            }
        }
    }
}

//! What fuzz targets do with their input: `fuzz/` has this file as its own, too, so that it builds the readers and nothing
//! that runs programs. Seeded tests on the stable compiler do the same, so a find of a fuzzer becomes a seed or a file here.
//!
//! Each function panics where it finds a fault of ours, and accepts everything else.
#![expect(clippy::panic, reason = "a panic is how a fuzz target reports a fault")]

use phalanx_front_mlir as mlir;
use phalanx_front_spirv as front;
use phalanx_ir::{passes, verify};

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
    match mlir::parse(text) {
        Ok(ast) => {
            let printed = mlir::syntax::print(&ast);
            let again = mlir::parse(&printed)
                .unwrap_or_else(|e| panic!("what was printed is refused: {e}\n{printed}"));
            assert_eq!(printed, mlir::syntax::print(&again), "what was printed is read otherwise");
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
    let options = passes::Options { verify: true, ..passes::Options::default() };
    passes::optimize(module, &options).unwrap_or_else(|bug| panic!("{bug}"));
}

fn check_diagnostics(found: &front::Diagnostics) {
    assert!(!found.0.is_empty(), "refused without a diagnostic");
    for diagnostic in &found.0 {
        assert_ne!(diagnostic.class, front::Class::Bug, "{diagnostic}");
        assert!(!diagnostic.message.is_empty(), "a diagnostic without a message");
    }
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

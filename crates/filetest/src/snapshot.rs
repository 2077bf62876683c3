//! Text at the end of a file that says what the IR of it is.

use crate::directive::{SNAPSHOT, TestFile};
use crate::runner::Failure;
use phalanx_ir::Module;
use phalanx_ir::text::print;

/// Compares a module's text with the snapshot, or rewrites that. Source positions are left out: they
/// change with every word before them.
pub(crate) fn check(file: &TestFile, module: &Module, bless: bool) -> Result<(), Failure> {
    let mut module = module.clone();
    module.locs.clear();
    module.body.insts.iter_mut().for_each(|inst| inst.loc = 0);
    let module = &module;
    let mark = file.language.comment();
    let snapshot: String =
        print(module).lines().map(|line| format!("{mark} {line}").trim_end().to_owned() + "\n").collect();
    let head = format!("{mark} {SNAPSHOT}\n");
    let (code, found) = file.text.split_once(&head).unwrap_or((&file.text, ""));
    if found == snapshot {
        return Ok(());
    }
    if bless {
        let code = code.trim_end();
        let text = format!("{code}\n\n{head}{snapshot}");
        return std::fs::write(&file.path, text)
            .map_err(|e| Failure(format!("{}: {e}", file.path.display())));
    }
    let difference = difference(found, &snapshot);
    Err(Failure(format!("{}: the IR has changed (BLESS=1 accepts it)\n{difference}", file.path.display())))
}

/// Lines around the first and the last one that differ.
fn difference(expected: &str, found: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (expected.lines().collect(), found.lines().collect());
    let start = old.iter().zip(&new).take_while(|(x, y)| x == y).count();
    let end = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(|(x, y)| x == y).count();
    let context = start.saturating_sub(3);
    let mut out = String::new();
    for line in &old[context..start] {
        out += &format!("   {line}\n");
    }
    for line in &old[start..old.len() - end] {
        out += &format!(" - {line}\n");
    }
    for line in &new[start..new.len() - end] {
        out += &format!(" + {line}\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn differences_are_narrow() {
        assert_eq!(difference("a\nb\nc\n", "a\nx\nc\n"), "   a\n - b\n + x\n");
        assert_eq!(difference("", "a\n"), " + a\n");
        assert_eq!(difference("a\na\n", "a\n"), "   a\n - a\n");
    }
}

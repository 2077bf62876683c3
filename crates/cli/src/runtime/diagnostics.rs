//! What the library says about a shader, short enough to be read.

use std::collections::HashSet;
use std::error::Error;

use phalanx::Diagnostics;
use phalanx::glsl::GlslError;

/// The findings of an error, each once, if it has several. Of those about SPIR-V the first is told and the others,
/// which mostly follow from it, are counted, unless `all` are wanted.
pub(crate) fn brief(error: &(dyn Error + 'static), all: bool) -> Option<String> {
    if let Some(phalanx::Error::Glsl(error)) = error.downcast_ref() {
        return Some(once(error.messages.iter().map(ToString::to_string)).join("\n"));
    }
    if let Some(error) = error.downcast_ref::<GlslError>() {
        return Some(once(error.messages.iter().map(ToString::to_string)).join("\n"));
    }
    let findings = match error.downcast_ref() {
        Some(phalanx::Error::Spirv(findings)) => Some(findings),
        _ => error.downcast_ref::<Diagnostics>(),
    }?;
    let lines = once(findings.0.iter().map(ToString::to_string));
    match lines.as_slice() {
        [first, others @ ..] if !all && !others.is_empty() => {
            Some(format!("{first}\n  and {} more, which `phalanx check --all` shows", others.len()))
        }
        lines => Some(lines.join("\n")),
    }
}

/// Each line once, in their order.
fn once(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = HashSet::new();
    lines.filter(|line| seen.insert(line.clone())).collect()
}

#[cfg(test)]
mod tests {
    use phalanx::glsl::GlslMessage;

    use super::*;

    #[test]
    fn others_are_counted_and_repetitions_left_out() {
        let error = phalanx::Module::new(&[0x0723_0203, 0x0001_0000, 0, 9, 0, 0xffff, 0x0001_ffff])
            .expect_err("no module");
        let phalanx::Error::Spirv(Diagnostics(mut findings)) = error else {
            unreachable!("a module's error")
        };
        let first = findings.remove(0);
        let mut second = first.clone();
        second.message.push('!');
        let error = phalanx::Error::Spirv(Diagnostics(vec![first.clone(), first.clone(), second.clone()]));
        let text = brief(&error, false).expect("diagnostics");
        assert_eq!(text, format!("{first}\n  and 1 more, which `phalanx check --all` shows"));
        assert_eq!(brief(&error, true).expect("diagnostics"), format!("{first}\n{second}"));
        let error = phalanx::Error::Spirv(Diagnostics(vec![first.clone(), first.clone()]));
        assert_eq!(brief(&error, false).expect("diagnostics"), first.to_string());
    }

    #[test]
    fn messages_of_glslang_are_all_told() {
        let message = |line| GlslMessage { file: "a.comp".to_owned(), line, text: "odd".to_owned() };
        let error = GlslError { messages: vec![message(1), message(1), message(2)] };
        assert_eq!(brief(&error, false).expect("messages"), "a.comp:1: odd\na.comp:2: odd");
        assert!(brief(&std::io::Error::from(std::io::ErrorKind::NotFound), false).is_none());
    }
}

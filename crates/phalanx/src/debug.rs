//! Debugging output, as the environment variable `PHALANX_DEBUG` asks for.
//!
//! It holds words, separated by commas. Everything goes to the standard error stream.
//!
//! | word     | effect on each pipeline that is created              |
//! |----------|------------------------------------------------------|
//! | `ir`     | print the IR, as translated and after each pass      |
//! | `llvm`   | print the LLVM IR, as lowered and as optimised       |
//! | `asm`    | print the machine code                               |
//! | `verify` | verify the IR after each pass, as debug builds do    |
//! | `time`   | print how long each stage took                       |
//!
//! The words `trace` and `print` are for the Vulkan driver, which prints each of its calls, and each of its
//! messages.
//!
//! A pipeline that is looked at is compiled, even if it is in a cache.
#![expect(clippy::print_stderr, reason = "this is what the user asked for")]

use phalanx_ir::passes;

use crate::error::Error;

/// Name of the variable.
pub(crate) const VARIABLE: &str = "PHALANX_DEBUG";

/// What to print.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Debug {
    pub(crate) ir: bool,
    pub(crate) llvm: bool,
    pub(crate) asm: bool,
    pub(crate) verify: bool,
    pub(crate) time: bool,
}

impl Debug {
    /// Reads the variable.
    pub(crate) fn from_env() -> Result<Self, Error> {
        std::env::var(VARIABLE).map_or(Ok(Self::default()), |words| Self::parse(&words))
    }

    fn parse(words: &str) -> Result<Self, Error> {
        let mut debug = Self::default();
        for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                "ir" => debug.ir = true,
                "llvm" => debug.llvm = true,
                "asm" => debug.asm = true,
                "verify" => debug.verify = true,
                "time" => debug.time = true,
                "trace" | "print" => {}
                other => {
                    let expected = "words of ir, llvm, asm, verify, time, trace, print".to_owned();
                    return Err(Error::Setting { name: VARIABLE, expected, found: other.to_owned() });
                }
            }
        }
        Ok(debug)
    }

    /// Whether something of the compiler's insides is to be printed.
    pub(crate) fn looks_inside(self) -> bool {
        self.ir || self.llvm || self.asm
    }

    /// What to ask the compiler for.
    pub(crate) fn dumps(self) -> phalanx_cpu::Options {
        phalanx_cpu::Options {
            passes: self.passes(),
            dump_llvm: self.llvm,
            dump_asm: self.asm,
            ..Default::default()
        }
    }

    /// How to run the passes.
    pub(crate) fn passes(self) -> passes::Options {
        let options = passes::Options::default();
        passes::Options {
            verify: options.verify || self.verify,
            observe: self.ir.then_some(|name, module| print(&format!("IR, {name}"), &module.to_string())),
        }
    }

    /// Prints what the compiler wrote down.
    pub(crate) fn print_dumps(self, dumps: &phalanx_cpu::Dumps) {
        for (title, text) in [
            ("LLVM IR, lowered", &dumps.llvm_lowered),
            ("LLVM IR, optimised", &dumps.llvm_optimized),
            ("machine code", &dumps.asm),
        ] {
            if let Some(text) = text {
                print(title, text);
            }
        }
    }

    /// Prints what was made on the way to code, where it is asked for.
    pub(crate) fn print_code(self, forms: &[(bool, &str, &str)]) {
        for (_, title, text) in forms.iter().filter(|(is_wanted, ..)| *is_wanted) {
            print(title, text);
        }
    }

    /// Prints a line about time.
    pub(crate) fn print_time(self, line: &str) {
        if self.time {
            eprintln!("phalanx: {line}");
        }
    }
}

fn print(title: &str, text: &str) {
    eprintln!("; ── {title} ──\n{}", text.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read() {
        let debug = Debug::parse(" ir ,,time").unwrap();
        assert_eq!(debug, Debug { ir: true, time: true, ..Debug::default() });
        assert!(debug.looks_inside());
        let error = Debug::parse("ir,everything").unwrap_err();
        assert!(error.to_string().contains("everything"), "{error}");
    }
}

//! MLIR text to a tree of operations, and back.
//!
//! The parser goes over the text once, word by word (`lexer`), without a list of words. What it reads in a custom
//! form (`custom`) it writes down in the generic one, so that nobody else has to know custom forms. Names are resolved
//! as they are read (`scope`); that definitions come before uses (`dominance`) and
//! that blocks end as they must (`blocks`) is checked on the whole tree.
//! Language reference: <https://mlir.llvm.org/docs/LangRef>, dialects as in MLIR 19.

mod affine;
mod alias;
mod attrs;
mod blocks;
mod custom;
mod defaults;
mod dense;
mod dialect;
mod dominance;
mod error;
mod float;
mod lexer;
mod location;
mod measure;
mod operation;
mod parser;
mod print;
mod region;
mod scope;
mod types;

pub use error::{Problem, SyntaxError};
pub use print::print;

use crate::ast::{Ast, Pos};

/// Reads a text.
///
/// # Errors
///
/// The first thing that breaks a rule of the language or that is not built, with its place.
pub fn parse(text: &str) -> Result<Ast, SyntaxError> {
    if u32::try_from(text.len()).is_err() {
        return Err(*SyntaxError::unsupported(Pos { line: 1, column: 1 }, "a text of 4 GiB or more"));
    }
    operation::top_level(text).map_err(|error| error.in_text(text))
}

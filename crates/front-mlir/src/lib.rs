//! MLIR text to IR.

#![forbid(unsafe_code)]

pub mod ast;
mod error;
mod lower;
pub mod syntax;

pub use error::{Class, Error};
pub use lower::{BufferInfo, EntryInfo, Info, Limits, MulAddInfo, Options, PushInfo};
pub use syntax::{SyntaxError, parse};

/// Translates an entry point of a text.
///
/// # Errors
///
/// What is wrong, and where.
pub fn translate(text: &str, options: &Options<'_>) -> Result<phalanx_ir::Module, Error> {
    let module = parse(text).map_err(Error::from).and_then(|ast| translate_ast(&ast, options));
    module.map_err(|error| error.quote(text))
}

/// Translates an entry point of a parsed text.
///
/// # Errors
///
/// What is wrong, and where; the line itself is not quoted.
pub fn translate_ast(ast: &ast::Ast, options: &Options<'_>) -> Result<phalanx_ir::Module, Error> {
    lower::translate(ast, options).map_err(|fault| *fault)
}

/// What a parsed text holds.
pub fn inspect_ast(ast: &ast::Ast) -> Info {
    lower::inspect(ast)
}

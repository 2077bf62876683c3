//! MLIR text to IR.

#![forbid(unsafe_code)]

pub mod ast;
pub mod syntax;

pub use syntax::{SyntaxError, parse};

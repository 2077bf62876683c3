//! MLIR text to IR.
pub mod ast;

//! Text of MLIR's `spirv` dialect.

use rspirv::dr::Module;

use crate::error::Error;

/// The version of LLVM whose `spirv` dialect a text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Llvm {
    /// LLVM 19.
    V19,
    /// LLVM 22.
    #[default]
    V22,
}

pub(crate) fn print(_module: &Module, _version: Llvm) -> Result<String, Error> {
    Err(Error::unsupported("text"))
}

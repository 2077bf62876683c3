//! IR to LLVM IR.

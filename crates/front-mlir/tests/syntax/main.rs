//! The syntax of MLIR: a corpus of texts, one for each dialect, judged by `mlir-opt` where it is installed; messages;
//! limits; damaged texts.

#![expect(clippy::panic, reason = "helpers of tests panic to fail them")]

mod canonical;
mod corpus;
mod damage;
mod errors;
mod judge;
mod limits;

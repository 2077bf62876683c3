//! Any bytes are MLIR text that is printed and read again as it was, or are refused with a message.

#![no_main]

#[path = "../../crates/filetest/src/readers.rs"]
#[allow(dead_code, reason = "each target reads one language")]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::mlir_text(bytes));

//! Any bytes are a module, or are refused with diagnostics.

#![no_main]

#[path = "../../crates/filetest/src/readers.rs"]
#[allow(dead_code, reason = "each target reads one language")]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::spirv_reader(bytes));

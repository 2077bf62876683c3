//! Any bytes are a module, or are refused with diagnostics.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| phalanx_filetest::harness::spirv_reader(bytes));

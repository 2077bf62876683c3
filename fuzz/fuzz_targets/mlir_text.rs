//! Any bytes are MLIR text that is printed and read again as it was, or are refused with a message.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| phalanx_filetest::harness::mlir_text(bytes));

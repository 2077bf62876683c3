//! The module of any seed gives the same on the interpreter and on the CPU.

#![no_main]

libfuzzer_sys::fuzz_target!(|seed: u64| phalanx_filetest::harness::random_ir(seed));

//! How many tests ran for each processor that code was made for.

use phalanx_kernels::Processor;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

static TESTS: Mutex<BTreeMap<&'static str, u64>> = Mutex::new(BTreeMap::new());

/// Counts tests that have passed with code for a processor.
pub fn add(processor: Processor, tests: u64) {
    let mut counts = TESTS.lock().unwrap_or_else(PoisonError::into_inner);
    *counts.entry(processor.name()).or_default() += tests;
}

/// A line for each processor, to be printed at the end: `processor znver4: 1180 tests`.
pub fn lines() -> Vec<String> {
    let counts = TESTS.lock().unwrap_or_else(PoisonError::into_inner);
    counts.iter().map(|(name, tests)| format!("processor {name}: {tests} tests")).collect()
}

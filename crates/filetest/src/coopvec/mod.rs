//! Random problems for cooperative vectors. Each is written as a file test, in GLSL, and what it expects is computed
//! here straight from the text of SPV_NV_cooperative_vector, without the IR's own meaning of the operations: so the front
//! end, the interpreter and the CPU are all judged.
//!
//! A problem's number decides everything: types (each row of [`vector_types`] in turn), shapes, layouts, transposition,
//! strides, which invocations share a matrix, and the control flow around the operation. All numbers are such that
//! sums are exact in any order.

mod accumulate;
mod flow;
mod memory;
mod product;

use crate::directive::TestFile;
use crate::random::Random;
use crate::runner::{Settings, run_test};
use crate::target::processors;
use phalanx::vector::vector_types;
use std::path::Path;

/// Times that each row of types is multiplied with.
const TURNS: u64 = 1;
/// Outer products and sums.
const ACCUMULATIONS: u64 = 32;

/// The number of problems.
pub fn problems() -> u64 {
    vector_types().len() as u64 * TURNS + ACCUMULATIONS
}

/// The test of a problem: a whole file. Problems beyond [`problems`] are the same kinds with other numbers.
pub fn text(number: u64) -> String {
    let rows = vector_types();
    let mut random = Random::new(number ^ 0x00c0_0bec);
    let place = number % problems();
    match rows.get((place % rows.len() as u64) as usize) {
        Some(row) if place < rows.len() as u64 * TURNS => product::text(&mut random, row),
        _ if place.is_multiple_of(2) => accumulate::outer_product(&mut random),
        _ => accumulate::sum(&mut random),
    }
}

/// Runs the test of a problem on the interpreter, before and after the passes, and with code for a processor: each in
/// turn, because most of the time goes into compiling.
///
/// # Errors
///
/// What is wrong, and the test.
pub fn run(number: u64) -> Result<(), String> {
    let text = text(number);
    let fail = |why: String| format!("problem {number}: {why}\n{text}");
    let processors = processors();
    let settings =
        Settings { processor: Some(processors[number as usize % processors.len()]), ..Settings::default() };
    let tests = TestFile::parse(Path::new("coopvec.comp"), &text).map_err(|error| fail(error.to_string()))?;
    for test in &tests {
        run_test(test, &settings).map_err(|failure| fail(failure.0))?;
    }
    Ok(())
}

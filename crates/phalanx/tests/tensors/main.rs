//! Random tensor layouts, views, clips and clamp modes: what the library computes, what the interpreter loads,
//! decodes and stores, and what the CPU does, agree with a transcription of the specification's pseudo-code.
//!
//! A kernel is made of what types say; the rest stands in a buffer, a case for each work-group, or in the kernel as
//! constants. `PHALANX_RANDOM_CASES=n` runs n times as many.
#![expect(clippy::unwrap_used, reason = "a failure here fails the test")]

mod case;
mod kernel;
mod spec;

use phalanx::explain::{Clamp, TensorAccess, TensorPlace, TensorState, TensorView};
use phalanx::{DeviceKind, DeviceOptions};

use case::{Case, Random, Shape};
use spec::{ClampMode, Element};

fn times() -> u64 {
    std::env::var("PHALANX_RANDOM_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// What the library's own calculation is told of a case.
fn state(shape: &Shape, case: &Case, is_store: bool) -> TensorState {
    let (t, v) = (case.layout(shape, is_store), case.view(shape));
    let clamp = match t.clamp_mode {
        ClampMode::Undefined => Clamp::Undefined,
        ClampMode::Constant => Clamp::Constant,
        ClampMode::ClampToEdge => Clamp::ClampToEdge,
        ClampMode::Repeat => Clamp::Repeat,
        ClampMode::MirrorRepeat => Clamp::RepeatMirrored,
    };
    let view = v.as_ref().map(|v| TensorView {
        dims: v.v_dim as u8,
        has_dimensions: v.has_dimensions,
        clips: true,
        permutation: v.permutation.map(|p| p as u8),
    });
    let mut words = Vec::new();
    let l = t.l_dim;
    words.extend_from_slice(&t.layout_dimension[..l]);
    words.extend_from_slice(&t.stride[..l]);
    words.extend(t.offset[..l].iter().map(|&o| o as u32));
    words.extend_from_slice(&t.span[..l]);
    words.extend_from_slice(&t.block_size[..l]);
    words.push(t.clamp_value);
    if let Some(v) = &v {
        if v.has_dimensions {
            words.extend_from_slice(&v.view_dimension[..v.v_dim]);
            words.extend_from_slice(&v.view_stride[..v.v_dim]);
        }
        words.extend([v.clip_row_offset, v.clip_row_span, v.clip_col_offset, v.clip_col_span]);
    }
    let access = TensorAccess { dims: l as u8, clamp, unit: 4, view, flags: Default::default() };
    TensorState::new(access, words)
}

#[test]
fn the_library_computes_what_the_specification_says() {
    for seed in 0..6000 * times() {
        let mut random = Random::new(seed);
        let shape = Shape::random(&mut random);
        let case = Case::random(&shape, &mut random);
        for is_store in [false, true] {
            let state = state(&shape, &case, is_store);
            for element in 0..shape.rows * shape.cols {
                let (row, col) = (element / shape.cols, element % shape.cols);
                let expected = case.element(&shape, (row, col), is_store);
                let found = match state.place(row, col, shape.cols, is_store) {
                    TensorPlace::Clipped => Element::Skipped,
                    TensorPlace::Outside if shape.clamp_mode == ClampMode::Undefined => Element::Undefined,
                    TensorPlace::Outside => Element::ClampValue,
                    TensorPlace::Inside { block, in_block, .. } => Element::At {
                        index: state.index(block),
                        block_coord: block,
                        coord_in_block: in_block,
                    },
                };
                assert_eq!(found, expected, "seed {seed}, ({row}, {col}), {shape:?}, {case:?}");
            }
        }
    }
}

/// Cases that a kernel is run on at once.
const CASES: usize = 48;

fn compare(kind: DeviceKind, seeds: std::ops::Range<u64>, are_constants: bool) {
    let device =
        phalanx::Device::new(&DeviceOptions { kind, threads: Some(2), ..DeviceOptions::default() }).unwrap();
    for seed in seeds {
        let mut random = Random::new(seed ^ 0x5eed);
        let shape = Shape::random(&mut random);
        let count = if are_constants { 1 } else { CASES };
        let cases: Vec<Case> = (0..count).map(|_| Case::random(&shape, &mut random)).collect();
        let checked = kernel::check(&device, &shape, &cases, are_constants);
        assert_eq!(checked, Ok(()), "seed {seed} on {kind:?}: {shape:?}");
    }
}

#[test]
fn the_interpreter_agrees_on_cases_in_a_buffer() {
    compare(DeviceKind::Interpreter, 0..40 * times(), false);
}

#[test]
fn the_interpreter_agrees_on_constants() {
    compare(DeviceKind::Interpreter, 1000..1000 + 60 * times(), true);
}

#[test]
fn the_cpu_agrees_on_cases_in_a_buffer() {
    compare(DeviceKind::Cpu, 0..40 * times(), false);
}

#[test]
fn the_cpu_agrees_on_constants() {
    compare(DeviceKind::Cpu, 1000..1000 + 60 * times(), true);
}

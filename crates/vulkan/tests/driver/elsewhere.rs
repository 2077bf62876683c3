//! The client that benchmarks compare other drivers with ([`phalanx_versus::vulkan`]), on ours.

use phalanx::glsl::{self, GlslOptions};
use phalanx::vector::{Component, Conversion, MatrixForm, MatrixLayout, convert_matrix};
use phalanx_versus::vulkan::{Number, Pass, Vulkan, VulkanError};

use crate::fixture::{Route, entry};

/// Adds a constant to each number and multiplies it by another, so that the order of two of these shows.
const SOURCE: &str = "#version 460
    layout(local_size_x = 32) in;
    layout(constant_id = 7) const uint factor = 1;
    layout(set = 0, binding = 0) readonly buffer From { uint from[]; };
    layout(set = 0, binding = 1) buffer To { uint to[]; };
    layout(push_constant) uniform Push { uint addend; };
    void main() {
        uint i = gl_GlobalInvocationID.x;
        to[i] = (to[i] + from[i] + addend) * factor;
    }";

#[test]
fn passes_run_in_order_again_and_again() {
    if entry(Route::Loader).is_none() {
        println!("there is no loader");
        return;
    }
    let vulkan = Vulkan::open(|name| name.contains("(Phalanx")).expect("ours is there");
    let spirv = glsl::compile(SOURCE, &GlslOptions::default()).expect("it compiles");
    let pass = |factor: &'static [(u32, u32)], addend: &'static [u8]| Pass {
        spirv: &spirv,
        constants: factor,
        groups: [2, 1, 1],
        push_constants: addend,
    };
    let passes = [pass(&[(7, 3)], &[1, 0, 0, 0]), pass(&[], &[100, 0, 0, 0])];
    let bytes = |numbers: &dyn Fn(u32) -> u32| -> Vec<u8> {
        (0..64).flat_map(|i| numbers(i).to_le_bytes()).collect()
    };
    let mut execution = vulkan.prepare(&passes, &[&bytes(&|i| i), &bytes(&|_| 5)]).expect("it is prepared");
    let step = |to: u32, i: u32| (to + i + 1) * 3 + i + 100;
    execution.run().expect("it runs");
    assert_eq!(execution.result().expect("it is read"), bytes(&|i| step(5, i)));
    execution.run().expect("it runs");
    assert_eq!(execution.result().expect("it is read"), bytes(&|i| step(step(5, i), i)));
    assert!(!execution.compile_time().is_zero());
}

/// Rows that come from the layout which the driver finds optimal are those that were brought into it.
#[test]
fn a_matrix_is_brought_into_the_layout_that_a_driver_finds_optimal() {
    if entry(Route::Loader).is_none() {
        println!("there is no loader");
        return;
    }
    let vulkan = Vulkan::open(|name| name.contains("(Phalanx")).expect("ours is there");
    let [rows, columns] = [20, 33];
    for (number, component) in [(Number::F16, Component::F16), (Number::S8, Component::S8)] {
        let form = |layout| MatrixForm::packed(component, layout, rows, columns);
        let size = form(MatrixLayout::RowMajor).bytes(rows, columns).expect("it is small");
        let plain: Vec<u8> = (0..size).map(|i| (i * 7 % 60) as u8).collect();
        let optimal = vulkan.optimal(number, [rows, columns], &plain).expect("it is converted");
        assert_ne!(optimal, plain, "{component:?}");
        let back = Conversion {
            rows,
            columns,
            source: form(MatrixLayout::Inferencing),
            destination: form(MatrixLayout::RowMajor),
        };
        let mut found = vec![0; size];
        convert_matrix(&back, &optimal, &mut found).expect("it is converted back");
        assert_eq!(found, plain, "{component:?}");
        let refused = vulkan.optimal(number, [rows + 1, columns], &plain).expect_err("a row is missing");
        assert!(matches!(refused, VulkanError::Failed { .. }), "{refused}");
    }
}

#[test]
fn what_a_driver_refuses_is_told_and_no_device_is_as_well() {
    if entry(Route::Loader).is_none() {
        println!("there is no loader");
        return;
    }
    let none = Vulkan::open(|_| false).expect_err("none is wanted");
    assert!(matches!(&none, VulkanError::NoDevice { found } if found.contains("Phalanx")), "{none}");
    let vulkan = Vulkan::open(|name| name.contains("(Phalanx")).expect("ours is there");
    let pass = Pass { spirv: &[1, 2, 3], constants: &[], groups: [1; 3], push_constants: &[] };
    let refused = vulkan.prepare(&[pass], &[]).expect_err("that is no SPIR-V");
    assert!(matches!(refused, VulkanError::Failed { .. }), "{refused}");
}

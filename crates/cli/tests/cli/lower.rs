//! `phalanx lower`.

use super::{empty_directory, npy, phalanx, refuses, succeeds};

/// Rotates two 4x4 matrices by the number in a buffer.
const ROTATE: &str = r#"module {
  gpu.module @kernels {
    gpu.func @rotate(%in: memref<8x4xf32>, %out: memref<4x4xf32>, %by: memref<1xi32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %offset = memref.load %by[%c0] : memref<1xi32>
      %a = gpu.subgroup_mma_load_matrix %in[%c0, %c0] {leadDimension = 4 : index} : memref<8x4xf32> -> !gpu.mma_matrix<4x4xf32, "AOp">
      %b = gpu.subgroup_mma_load_matrix %in[%c4, %c0] {leadDimension = 4 : index} : memref<8x4xf32> -> !gpu.mma_matrix<4x4xf32, "AOp">
      %r = gpu.subgroup_mma_rotate %a, %b, %offset : !gpu.mma_matrix<4x4xf32, "AOp">, !gpu.mma_matrix<4x4xf32, "AOp">, i32 -> !gpu.mma_matrix<4x4xf32, "AOp">
      gpu.subgroup_mma_store_matrix %r, %out[%c0, %c0] {leadDimension = 4 : index} : !gpu.mma_matrix<4x4xf32, "AOp">, memref<4x4xf32>
      gpu.return
    }
    gpu.func @length(%in: memref<?xf32>, %out: memref<1xindex>) kernel {
      %c0 = arith.constant 0 : index
      %n = memref.dim %in, %c0 : memref<?xf32>
      memref.store %n, %out[%c0] : memref<1xindex>
      gpu.return
    }
  }
}
"#;

#[test]
fn a_kernel_is_lowered_and_runs() {
    let directory = empty_directory();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("rotate.mlir"), ROTATE).expect("writable");
    std::fs::write(path("in.npy"), npy(&(0_u8..32).map(f32::from).collect::<Vec<_>>())).expect("writable");
    std::fs::write(path("by.bin"), 5_i32.to_le_bytes()).expect("writable");
    let arguments =
        ["lower", "rotate.mlir", "--entry", "rotate", "--to", "spirv", "--subgroup-size", "16", "-o"];
    assert_eq!(succeeds(&[&arguments[..], &["rotate.spv"]].concat(), directory.path()), "");
    let words = std::fs::read(path("rotate.spv")).expect("written");
    assert!(words.starts_with(&[3, 2, 0x23, 7]));
    let to_pipe = phalanx(&[&arguments[..], &["-"]].concat(), directory.path());
    assert_eq!(to_pipe.stdout, words);
    for shader in ["rotate.mlir", "rotate.spv"] {
        let run = ["run", shader, "--entry", "kernels::rotate", "--groups", "1", "--subgroup-size", "16"];
        let buffers = ["--bind", "0:0=in.npy", "--bind", "0:1=zeros:f32[16]", "--bind", "0:2=by.bin"];
        let out = ["--out", "0:1=out.bin"];
        succeeds(&[&run[..], &buffers[..], &out[..]].concat(), directory.path());
        let expected: Vec<u8> = (5_u8..21).flat_map(|n| f32::from(n).to_le_bytes()).collect();
        assert_eq!(std::fs::read(path("out.bin")).expect("written"), expected, "{shader}");
    }
}

#[test]
fn a_kernel_is_lowered_to_text() {
    let directory = empty_directory();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("rotate.mlir"), ROTATE).expect("writable");
    let lower = |more: &[&str]| {
        let arguments = ["lower", "rotate.mlir", "--entry", "rotate", "--subgroup-size", "16"];
        succeeds(&[&arguments[..], more].concat(), directory.path())
    };
    assert!(lower(&["--to", "spirv"]).contains("OpGroupNonUniformRotateKHR"));
    assert!(lower(&["--to", "mlir-spirv"]).contains("spirv.GroupNonUniformRotateKHR <Subgroup>"));
    let old = lower(&["--to", "mlir-spirv", "--llvm", "19"]);
    assert!(old.contains("spirv.GroupNonUniformShuffle") && !old.contains("RotateKHR"), "{old}");
    lower(&["--to", "spirv", "-o", "rotate.spvasm"]);
    assert!(std::fs::read_to_string(path("rotate.spvasm")).expect("written").contains("OpCapability"));

    let length = ["lower", "rotate.mlir", "--entry", "length", "--to"];
    assert!(succeeds(&[&length[..], &["spirv"]].concat(), directory.path()).contains("OpArrayLength"));
    refuses(&[&length[..], &["mlir-spirv"]].concat(), directory.path(), &["LLVM 22 has no `OpArrayLength`"]);
}

#[test]
fn what_is_not_lowered_is_named() {
    let directory = empty_directory();
    let source = "#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0, rgba8) uniform image2D picture;
void main() { imageStore(picture, ivec2(0), vec4(1)); }";
    std::fs::write(directory.path().join("image.comp"), source).expect("writable");
    refuses(
        &["lower", "image.comp", "--to", "spirv"],
        directory.path(),
        &["image.comp", ":4: `image_store` is not lowered to SPIR-V"],
    );
    refuses(&["lower", "image.comp"], directory.path(), &["--to"]);
}

#[test]
fn a_kernel_becomes_ptx() {
    let directory = empty_directory();
    let source = "#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Data { float x[]; };
void main() { x[gl_GlobalInvocationID.x] *= 2; }";
    std::fs::write(directory.path().join("double.comp"), source).expect("writable");
    let ptx =
        |sm: &[&str]| succeeds(&[&["lower", "double.comp", "--to", "ptx"], sm].concat(), directory.path());
    assert!(ptx(&["--sm", "80"]).contains(".target sm_80"));
    let newest = ptx(&[]);
    assert!(newest.contains(".target sm_90a") && newest.contains("st.global"), "{newest}");
    let small = ["lower", "double.comp", "--to", "ptx", "--subgroup-size", "16"];
    refuses(&small, directory.path(), &["double.comp", "subgroups of 16"]);
    refuses(&["lower", "double.comp", "--to", "ptx", "--sm", "70"], directory.path(), &["70", "90a"]);
}

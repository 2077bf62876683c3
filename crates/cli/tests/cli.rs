//! The command as a user meets it: exit status and messages of the built program.

#[path = "cli/bench.rs"]
mod bench;
#[path = "cli/convert.rs"]
mod convert;
#[path = "cli/interrupt.rs"]
mod interrupt;
#[path = "cli/lower.rs"]
mod lower;
#[path = "cli/memory.rs"]
mod memory;
#[path = "cli/profile.rs"]
mod profile;
#[path = "cli/vectors.rs"]
mod vectors;

use std::path::Path;
use std::process::{Command, Output};

fn phalanx(arguments: &[&str], directory: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_phalanx"))
        .args(arguments)
        .current_dir(directory)
        .output()
        .expect("the program starts")
}

/// Asserts that the program refuses the arguments with status 2 and one message that holds all of `expected`.
fn refuses(arguments: &[&str], directory: &Path, expected: &[&str]) {
    let output = phalanx(arguments, directory);
    let message = String::from_utf8(output.stderr).expect("messages are text");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert_eq!(message.matches("error:").count(), 1, "{arguments:?}: {message}");
    let parts: Vec<&str> = message.trim_end().split(": ").collect();
    let is_repeated = |(index, part): (usize, &&str)| part.len() > 20 && parts[..index].contains(part);
    assert!(!parts.iter().enumerate().any(is_repeated), "{arguments:?}: {message}");
    for part in expected {
        assert!(message.contains(part), "{arguments:?}: `{part}` is missing in: {message}");
    }
}

fn empty_directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

#[test]
fn help_has_an_example_for_each_command_that_needs_one() {
    let directory = empty_directory();
    for command in [
        "run",
        "profile",
        "check",
        "compile",
        "lower",
        "convert",
        "demo",
        "bench gemm",
        "bench all",
        "bench attention",
        "demo conv",
        "bench conv-rotate",
        "bench dequant",
        "bench kernel",
        "demo neural-texture",
        "bench matvec",
        "demo rows",
    ] {
        let command: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let output = phalanx(&command, directory.path());
        let text = String::from_utf8(output.stdout).expect("help is text");
        assert!(output.status.success() && text.contains("Example:\n  phalanx "), "{text}");
    }
}

#[test]
fn explanations_are_text_json_and_pictures() {
    let directory = empty_directory();
    for help in [
        &["explain", "--help"][..],
        &["explain", "matrix", "--help"],
        &["explain", "tensor", "--help"],
        &["explain", "layout", "--help"],
    ] {
        let text = String::from_utf8(phalanx(help, directory.path()).stdout).expect("help is text");
        assert!(text.contains("Example:\n  phalanx explain "), "{text}");
    }
    let run = |line: &str| {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let output = phalanx(&arguments, directory.path());
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("answers are text")
    };
    let text = run("explain matrix --rows 3 --cols 5 --use a --subgroup-size 4 --svg a.svg");
    assert!(text.contains("1 components are padding") && text.contains(" 2.3"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&run(
        "explain tensor --rows 2 --cols 2 --dims 4 --slice=-1:4 --clamp edge --json",
    ))
    .expect("JSON");
    let index = |i: usize| json["elements"][i]["index"].as_u64();
    assert_eq!([0, 1, 2, 3].map(index), [0, 0, 1, 2].map(Some));
    let svg = std::fs::read_to_string(directory.path().join("a.svg")).expect("a picture");
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
    refuses(&["explain", "matrix", "--rows", "4"], directory.path(), &["--cols"]);
    refuses(&["explain"], directory.path(), &["required"]);
    refuses(&["explain", "gone.comp"], directory.path(), &["gone.comp cannot be read"]);
}

#[test]
fn wrong_arguments_are_refused() {
    let directory = empty_directory();
    let refuses = |line: &str, expected: &str| {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        refuses(&arguments, directory.path(), &[expected]);
    };
    refuses("frobnicate", "unrecognized subcommand 'frobnicate'");
    refuses("bench gemm --rungs ladder", "`ladder` is no rung; there are scalar");
    refuses("bench gemm --types f64", "the ladder is not written for f64->f32");
    refuses("bench gemm --sizes 100 --rungs simple --types f16", "M must be a multiple of the tile's");
    refuses(
        "bench gemm --sizes 128 --rungs tiled --types f16 --tile 100x64x32",
        "the tile's M must be a multiple of 16",
    );
    refuses("bench gemm --sizes 131072", "`131072` is no size; write 512, or 512x256x1024");
    refuses("bench gemm --threads 100000", "no number from 1 to 4096");
    refuses("bench conv --stride 0", "0 pixels of stride: there are from 1 to 4096");
    refuses("bench gemm --sizes 64 --json gone/x.json", "gone/x.json: there is no directory gone");
    refuses("bench attention --pictures gone", "there is no directory gone");
    refuses("run a.comp --groups 1 --bind 0:0=zeros:f32[2] --bind 0:0=zeros:f32[2]", "0:0 is bound twice");
    refuses("run a.comp --groups 1 --out 0:0=x.npy", "nothing is bound there");
    let (bind, out) = ("--bind 0:0=zeros:f32[2] --bind 0:1=zeros:f32[2]", "--out 0:0=x.npy");
    refuses(
        &format!("run a.comp --groups 1 {bind} {out} --out 0:0=y.npy"),
        "0:0: this buffer is written already",
    );
    refuses(&format!("run a.comp --groups 1 {bind} {out} --out 0:1=x.npy"), "0:1: another buffer is written");
    refuses("exec --subgroup-size 24 -- true", "one of [4, 8, 16, 32, 64, 128]");
    refuses("run a.comp --groups 1 --push addr:table", "addr:table: nothing is bound there");
    refuses("run a.comp --groups 1 --bind 0:0=rand:f32[2]:x", "the seed `x` is no number");
    refuses("run a.comp --groups 1 --bind 0:0=ones:f32[2]", "`ones` is no source");
    refuses("run a.comp --groups 1 --bind 0:0=-", "/dev/stdin");
    refuses(
        "run a.comp --groups 1 --bind 0:0=zeros:u8[1] --out 0:0=- --out 0:0=-",
        "only one buffer can be written to standard output",
    );
}

#[test]
fn problems_that_do_not_fit_in_memory_are_refused() {
    let directory = empty_directory();
    // 16 TiB of weights.
    let line =
        "bench conv --image 4096x4096x127 --out-channels 4096 --filter 4095x4095 --stride 4096 --pad 0";
    let arguments: Vec<&str> = line.split_whitespace().collect();
    refuses(&arguments, directory.path(), &["the buffers take 15.", " of memory are left"]);
}

#[test]
fn files_that_are_no_shader_are_refused() {
    let directory = empty_directory();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("odd.spv"), [1, 2, 3]).expect("writable");
    std::fs::write(path("binary.comp"), [0xff, 0xfe, 0]).expect("writable");
    std::fs::write(path("shader.txt"), "void main() {}").expect("writable");
    let refuses = |file: &str, expected: &str| refuses(&["check", file], directory.path(), &[file, expected]);
    refuses("missing.comp", "cannot be read");
    refuses("-", "a shader is read from a file");
    refuses("odd.spv", "no whole number of words");
    refuses("binary.comp", "is no text");
    refuses("shader.txt", "what is it? Known are .comp");
}

const SCALE: &str = "#version 450
layout(local_size_x = 32) in;
layout(constant_id = 3) const float offset = 0.0;
layout(set = 0, binding = 0) readonly buffer Input { float x[]; } source;
layout(set = 0, binding = 1) writeonly buffer Output { float x[]; } result;
layout(push_constant) uniform Push { uint count; float factor; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < count) result.x[i] = factor * source.x[i] + offset;
}
";

/// A NumPy file of version 1.0 with one dimension.
fn npy(values: &[f32]) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}", values.len());
    let padded = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&u16::try_from(padded.len()).expect("short").to_le_bytes());
    bytes.extend_from_slice(padded.as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

fn succeeds(arguments: &[&str], directory: &Path) -> String {
    let output = phalanx(arguments, directory);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {message}");
    String::from_utf8(output.stdout).expect("output is text")
}

#[test]
fn a_shader_runs_on_files() {
    let directory = empty_directory();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("scale.comp"), SCALE).expect("writable");
    let input: Vec<f32> = (0..40_u8).map(f32::from).collect();
    std::fs::write(path("in.npy"), npy(&input)).expect("writable");
    let line = "run scale.comp --groups 2 --bind 0:0=in.npy --bind 0:1=zeros:f32[40] --push u32:40,f32:2.5 \
                --spec 3=0.5 --threads 1";
    for file in ["out.npy", "out.bin"] {
        let out = format!("0:1={file}");
        let arguments: Vec<&str> = line.split_whitespace().chain(["--out", &out]).collect();
        let text = succeeds(&arguments, directory.path());
        assert!(text.contains("compiled in ") && text.contains("ran in "), "{text}");
    }

    let expected: Vec<f32> = input.iter().map(|value| 2.5 * value + 0.5).collect();
    let bytes: Vec<u8> = expected.iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(std::fs::read(path("out.bin")).expect("written"), bytes);
    let array = std::fs::read(path("out.npy")).expect("written");
    assert!(array.ends_with(&bytes) && array.starts_with(b"\x93NUMPY"), "{array:?}");
}

/// The text says how many work-groups there are and how large, and which kernel there is.
#[test]
fn mlir_runs_on_files() {
    let directory = empty_directory();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("scale.mlir"), SCALE_MLIR).expect("writable");
    std::fs::write(path("in.npy"), npy(&[1.0, 2.0, 3.0, 4.0])).expect("writable");
    let line = "run scale.mlir --bind 0:0=in.npy --bind 0:2=zeros:f32[4] --push f32:2.5 --out 0:2=out.bin";
    let run = |line: &str| succeeds(&line.split_whitespace().collect::<Vec<_>>(), directory.path());
    run(line);
    let expected: Vec<u8> = [2.5_f32, 5.0, 7.5, 10.0].into_iter().flat_map(f32::to_le_bytes).collect();
    assert_eq!(std::fs::read(path("out.bin")).expect("written"), expected);
    let text = run(&format!("{line} --entry scale --groups 1 --device interpreter"));
    assert!(text.contains("elements read: 0:0 2, 0:2 0"), "{text}");
    let bench =
        "bench kernel scale.mlir --bind 0:0=in.npy --bind 0:2=zeros:f32[4] --push f32:2.5 --operations 4";
    let record: serde_json::Value =
        serde_json::from_str(&run(&format!("{bench} --json -"))).expect("a record");
    assert!(record["seconds"].as_f64() > Some(0.0) && record["share_of_peak"].is_number(), "{record}");
    assert_eq!((&record["entry"], &record["groups"][0]), (&"kernels::scale".into(), &2.into()));
    let text = run("check scale.mlir");
    for part in ["MLIR", "kernels::scale", "2 x 1 x 1", "0:2 out", "4 bytes", "runs it"] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    let refuses = |line: &str, expected: &[&str]| {
        refuses(&line.split_whitespace().collect::<Vec<_>>(), directory.path(), expected);
    };
    let wide = run(&format!("{line} --groups 1 --workgroup-size 4 --device interpreter"));
    assert!(wide.contains("elements read: 0:0 4"), "{wide}");
    let shader = concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/conv/rotate.mlir");
    let row = "matrices of 16x64x32: f16 * f16 + f32 -> f32, scope subgroup";
    let json: serde_json::Value =
        serde_json::from_str(&run(&format!("check {shader} --json"))).expect("JSON");
    assert_eq!(json["requirements"], serde_json::json!([row]));
    let text = run(&format!("check {shader} --workgroup-size 32"));
    assert!(text.contains(&format!("a device must offer     {row}")), "{text}");
    let stated = ["work-groups of [64, 1, 1] invocations are asked for, it states [32, 1, 1]"];
    refuses(&format!("check {shader} --workgroup-size 64"), &stated);
    std::fs::write(path("scale.comp"), SCALE).expect("writable");
    refuses("check scale.comp --workgroup-size 64", &["only MLIR leaves their size open"]);
    refuses(&format!("{line} --entry other"), &["no entry point `other`; it has kernels::scale"]);
    refuses(&line.replace("f32:2.5", "u32:2"), &["the shader has `factor`, f32 at byte 0, not u32"]);
    std::fs::write(path("odd.mlir"), SCALE_MLIR.replace("arith.mulf", "arith.odd")).expect("writable");
    refuses("check odd.mlir", &["odd.mlir is not accepted", "10:14", "arith.odd"]);
}

const SCALE_MLIR: &str = "module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @scale(%in: memref<?xf32>, %factor: f32, %out: memref<?xf32>) kernel {
      %i = gpu.global_id x
      %c0 = arith.constant 0 : index
      %n = memref.dim %out, %c0 : memref<?xf32>
      %inside = arith.cmpi ult, %i, %n : index
      scf.if %inside {
        %x = memref.load %in[%i] : memref<?xf32>
        %y = arith.mulf %x, %factor : f32
        memref.store %y, %out[%i] : memref<?xf32>
      }
      gpu.return
    }
  }
  func.func @main(%in: memref<?xf32>, %out: memref<?xf32>) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %f = arith.constant 2.0 : f32
    gpu.launch_func @kernels::@scale blocks in (%c2, %c1, %c1) threads in (%c2, %c1, %c1)
        args(%in : memref<?xf32>, %f : f32, %out : memref<?xf32>)
    return
  }
}
";

#[test]
fn numbers_go_through_pipes() {
    let directory = empty_directory();
    std::fs::write(directory.path().join("scale.comp"), SCALE).expect("writable");
    let script = "printf '\\0\\0\\200\\077\\0\\0\\0\\100' | $0 run scale.comp --groups 1 --device interpreter \
                  --bind 0:0=f32[2]:/dev/stdin --bind 0:1=zeros:f32[2] --push s32:2,f32:0.5 --out 0:1=- | cat";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_phalanx")])
        .current_dir(directory.path())
        .output()
        .expect("a shell");
    let message = String::from_utf8_lossy(&output.stderr);
    let expected: Vec<u8> = [0.5_f32, 1.0].into_iter().flat_map(f32::to_le_bytes).collect();
    assert_eq!(output.stdout, expected, "{message}");
    assert!(message.starts_with("compiled in "), "{message}");
    assert!(!directory.path().join("-").exists());
}

#[test]
fn buffers_that_no_machine_has_are_refused() {
    let directory = empty_directory();
    std::fs::write(directory.path().join("scale.comp"), SCALE).expect("writable");
    for source in ["zeros:f32[2000000000000]", "rand:f32[2000000000000]"] {
        let line = format!(
            "run scale.comp --groups 1 --bind 0:0={source} --bind 0:1=zeros:f32[4] --push u32:4,f32:1"
        );
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let output = phalanx(&arguments, directory.path());
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(
            message.contains("the buffers take 7.3 TiB") || message.contains("out of memory"),
            "{message}"
        );
    }
}

/// A kernel that writes where the address and the index in its push constants lead. Its subgroups wait for each
/// other, so that they are coroutines.
const WILD: &str = "#version 460
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 64) in;
layout(buffer_reference) buffer Table { uint x[]; };
layout(push_constant) uniform Push { Table table; uint index; uint waits; };
shared uint s;
void main() {
    if (waits != 0) { s = index; barrier(); }
    table.x[index] = 7;
}
";

#[test]
fn a_wild_address_is_told_and_ends_with_status_2() {
    let directory = empty_directory();
    std::fs::write(directory.path().join("wild.comp"), WILD).expect("writable");
    let plain = WILD.replace("barrier();", "");
    std::fs::write(directory.path().join("plain.comp"), plain).expect("writable");
    for (shader, groups, threads) in [("wild.comp", 1, 1), ("wild.comp", 500, 2), ("plain.comp", 500, 2)] {
        let line =
            format!("run {shader} --groups {groups} --threads {threads} --push u64:0xdead0000,u32:4,u32:1");
        let arguments: Vec<&str> = line.split_whitespace().collect();
        refuses(
            &arguments,
            directory.path(),
            &[
                "error: the kernel `main` ",
                " address 0xdead0010",
                ", which is in no buffer; there are none\n",
            ],
        );
    }
    // No processor tells where such an address leads.
    let line = "run plain.comp --groups 1 --push u64:0xdeadbeefdeadbee0,u32:0,u32:1";
    let arguments: Vec<&str> = line.split_whitespace().collect();
    refuses(&arguments, directory.path(), &["error: the kernel `main` "]);
    // Behind the end of a buffer lies something else, which only a check tells.
    let line = "run plain.comp --groups 1 --check-addresses --bind t=zeros:u32[16] --push addr:t,u32:16,1";
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let end = "wrote to address 0x";
    refuses(&arguments, directory.path(), &[end, "0 bytes behind the end of the buffer of 64 bytes"]);
    let line = "run plain.comp --groups 1 --bind t=zeros:u32[16] --push addr:t+32,u32:1,1 --out t=-";
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let output = phalanx(&arguments, directory.path());
    assert_eq!(output.stdout.chunks(4).position(|word| word[0] == 7), Some(9));
    let line = "run plain.comp --groups 1 --bind t=zeros:u32[16] --push addr:t+65,u32:1,1";
    let arguments: Vec<&str> = line.split_whitespace().collect();
    refuses(&arguments, directory.path(), &["addr:t+65: the buffer has 64 bytes"]);
}

#[test]
fn the_interpreter_gives_the_same_result() {
    let directory = empty_directory();
    std::fs::write(directory.path().join("scale.comp"), SCALE).expect("writable");
    let outputs = ["cpu", "interpreter"].map(|device| {
        let line = format!(
            "run scale.comp --groups 2 --device {device} --bind 0:0=rand:f32[64]:3 --bind 0:1=zeros:f32[64] \
             --push u32:50,f32:2.5 --out 0:1={device}.npy"
        );
        let arguments: Vec<&str> = line.split_whitespace().collect();
        succeeds(&arguments, directory.path());
        std::fs::read(directory.path().join(format!("{device}.npy"))).expect("written")
    });
    assert_eq!(outputs[0], outputs[1]);
}

#[test]
fn a_buffer_that_is_not_used_is_a_warning() {
    let directory = empty_directory();
    let source = "#version 450\nlayout(binding = 1) buffer B { uint y[]; };\nvoid main() {}\n";
    std::fs::write(directory.path().join("unused.comp"), source).expect("writable");
    let arguments = ["run", "unused.comp", "--groups", "1", "--bind", "0:1=zeros:u32[1]"];
    let output = phalanx(&arguments, directory.path());
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    assert_eq!(message, "warning: --bind 0:1: the shader declares this buffer and does not use it\n");
    let arguments = ["run", "unused.comp", "--groups", "1", "--bind", "0:2=zeros:u32[1]"];
    refuses(&arguments, directory.path(), &["the shader has no such buffer; it has none"]);
}

#[test]
fn a_shader_is_compiled_for_others() {
    let directory = empty_directory();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("scale.comp"), SCALE.replace("factor *", "FACTOR *")).expect("writable");
    let arguments = ["compile", "scale.comp", "-o", "scale.spv", "-DFACTOR=factor"];
    assert_eq!(succeeds(&arguments, directory.path()), "");
    let words = std::fs::read(path("scale.spv")).expect("written");
    assert!(words.starts_with(&[3, 2, 0x23, 7]));
    let to_pipe = phalanx(&["compile", "scale.comp", "-o", "-", "-DFACTOR=factor"], directory.path());
    assert_eq!(to_pipe.stdout, words);
    assert!(succeeds(&["check", "scale.spv"], directory.path()).contains("3 offset = 0"));
    refuses(&["compile", "scale.comp", "-o", "x.spv"], directory.path(), &["scale.comp:9: ", "'FACTOR'"]);
    refuses(&["compile", "scale.spv", "-o", "no/x.spv"], directory.path(), &["no/x.spv cannot be written"]);
    assert!(!path("x.spv").exists());
}

#[test]
fn a_run_that_does_not_fit_its_shader_is_refused() {
    let directory = empty_directory();
    std::fs::write(directory.path().join("scale.comp"), SCALE).expect("writable");
    std::fs::write(directory.path().join("in.npy"), npy(&[1.0; 4])).expect("writable");
    let stuck = "#version 450\nlayout(binding = 0) buffer B { uint x[]; };\n\
                 void main() { while (x[0] == 0) atomicAdd(x[1], 1); }\n";
    std::fs::write(directory.path().join("stuck.comp"), stuck).expect("writable");
    let refuses = |line: &str, expected: &str| {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        refuses(&arguments, directory.path(), &[expected]);
    };
    let whole = "run scale.comp --groups 1 --bind 0:0=in.npy --bind 0:1=zeros:f32[4] --push u32:4,f32:1";
    refuses("run scale.comp --groups 1 --bind 0:0=in.npy --push u32:4,f32:1", "--bind 0:1 is missing");
    refuses(&whole.replace("f32[4]", "f64[4]"), "has elements of type f32, not f64");
    refuses(&whole.replace("in.npy", "f32[5]:in.npy"), "in.npy holds f32[4], but f32[5] was asked for");
    refuses(&whole.replace(",f32:1", ""), "8 bytes of push constants, --push gives 4");
    refuses(&format!("{whole} --entry other"), "no entry point `other`; it has main");
    refuses(&format!("{whole} --spec 4=1"), "no specialisation constant 4; it has 3 `offset`");
    refuses(&format!("{whole} --spec 3=true"), "specialisation constant 3 `offset` is f32, not true");
    refuses(&whole.replace("f32:1", "u32:1"), "the shader has `factor`, f32 at byte 4, not u32");
    refuses(&format!("{whole} --out 0:1=f32[5]:x.npy"), "f32[5]`: takes 20 bytes, but there are 16");
    refuses("run scale.comp --groups 1 --bind 0:0=gone.npy", "--bind 0:0: gone.npy: No such file");
    refuses(&format!("{whole} --subgroup-size 5"), "a subgroup size of 5");
    refuses("run stuck.comp --groups 1 --bind 0:0=zeros:u32[2] --timeout 0.1", "did not end within 100ms");
}

/// Takes a row of a matrix from each invocation. There must be 64 of them in a subgroup.
const ROWS: &str = "#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_QCOM_cooperative_matrix_conversion : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer B { float x[64 * 16]; };
void main() {
    float row[16];
    for (uint i = 0; i < 16; ++i) row[i] = float(16 * gl_LocalInvocationIndex + i);
    coopmat<float, gl_ScopeSubgroup, 64, 16, gl_MatrixUseAccumulator> m;
    vectorToCoopmatQCOM(row, m);
    coopMatStore(m, x, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
";

#[test]
fn what_is_valid_depends_on_the_size_of_the_subgroup() {
    let directory = empty_directory();
    std::fs::write(directory.path().join("rows.comp"), ROWS).expect("writable");
    let run = "run rows.comp --groups 1 --bind 0:0=zeros:f32[1024] --out 0:0=-";
    for line in ["check rows.comp", run] {
        let mut arguments: Vec<&str> = line.split(' ').collect();
        refuses(&arguments, directory.path(), &["Rows must be at most SubgroupSize, 32"]);
        arguments.extend(["--subgroup-size", "64"]);
        let output = phalanx(&arguments, directory.path());
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {message}");
        if line == run {
            let expected: Vec<u8> = (0..1024_u16).flat_map(|i| f32::from(i).to_le_bytes()).collect();
            assert_eq!(output.stdout, expected);
        } else {
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(text.contains("this machine            runs it"), "{text}");
        }
    }
}

#[test]
fn a_check_says_what_a_shader_needs() {
    let directory = empty_directory();
    let shaders = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders/ladder");
    let tiled = shaders.join("tiled.comp");
    let text = succeeds(&["check", tiled.to_str().expect("text"), "--spec", "0=32"], directory.path());
    for part in [
        "valid",
        "CooperativeMatrixKHR",
        "SPV_KHR_cooperative_matrix",
        "f16 32x16 A",
        "0:0 inputA",
        "elements f16",
        "20 bytes",
        "6 B_COL_MAJOR = false",
        "this machine            runs it",
        "invocations: x is constant",
        "matrices of 32x16x16: f16 * f16 + f32 -> f32",
        "vulkanMemoryModel",
    ] {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
}

/// Images of several samples are for drawing into; there are none here.
const MULTISAMPLED: &str = "#version 450
layout(binding = 0) uniform sampler2DMS s;
layout(binding = 1) buffer B { vec4 x; };
void main() { x = texelFetch(s, ivec2(0), 3); }
";

#[test]
fn a_check_is_there_for_programs_too() {
    let directory = empty_directory();
    let source = "#version 450
#extension GL_EXT_shader_atomic_float : require
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x_id = 0) in;
layout(binding = 0, scalar) buffer B { float n; vec3 x[]; };
shared float s[12];
void main() { atomicAdd(s[1], 1.0); barrier(); x[1].x = s[1]; }
";
    std::fs::write(directory.path().join("a.comp"), source).expect("writable");
    let text = succeeds(&["check", "a.comp", "--json", "--spec", "0=8"], directory.path());
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&report["valid"], &report["runs_here"]), (&true.into(), &true.into()), "{text}");
    let entry = &report["entry_points"][0];
    assert_eq!(entry["local_size"], serde_json::json!([8, 1, 1]));
    assert_eq!(entry["local_size_constants"], serde_json::json!([0, null, null]));
    assert_eq!(entry["shared_bytes"], 48);
    let needs = report["requirements"].as_array().expect("an array");
    for feature in ["shaderSharedFloat32AtomicAdd", "scalarBlockLayout"] {
        assert!(needs.iter().any(|need| need == feature), "{feature}: {text}");
    }
    assert!(!text.contains("shaderBufferFloat32AtomicAdd"), "{text}");

    std::fs::write(directory.path().join("magic.spv"), [0; 20]).expect("writable");
    let output = phalanx(&["check", "magic.spv", "--json"], directory.path());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((output.status.code(), &report["valid"]), (Some(2), &false.into()));
    assert!(report["error"].as_str().is_some_and(|error| error.contains("magic")), "{report}");

    std::fs::write(directory.path().join("multisampled.comp"), MULTISAMPLED).expect("writable");
    let output = phalanx(&["check", "multisampled.comp", "--json"], directory.path());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((output.status.code(), &report["valid"]), (Some(2), &serde_json::Value::Null), "{report}");
}

#[test]
fn of_many_findings_the_first_is_told() {
    let directory = empty_directory();
    // Twenty types that do not exist.
    let lines: Vec<String> = (0..20).map(|index| format!("%t{index} = OpTypeVector %x{index} 2")).collect();
    let text = format!("OpCapability Shader\nOpMemoryModel Logical GLSL450\n{}\n", lines.join("\n"));
    std::fs::write(directory.path().join("many.spvasm"), text).expect("writable");
    let count = |arguments: &[&str]| {
        let output = phalanx(arguments, directory.path());
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        (message.lines().count(), message)
    };
    let (few, message) = count(&["check", "many.spvasm"]);
    assert!(few == 2 && message.contains("more, which `phalanx check --all` shows"), "{message}");
    let (many, message) = count(&["check", "many.spvasm", "--all"]);
    assert!(many > 2, "{message}");
}

#[test]
fn a_check_points_to_what_is_wrong() {
    let directory = empty_directory();
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(directory.path().join(name), bytes).expect("writable");
    };
    write("typo.comp", b"#version 450\nvoid main() {\n  int x = y;\n}\n");
    refuses(&["check", "typo.comp"], directory.path(), &["typo.comp:3: ", "'y'"]);
    write("magic.spv", &[0; 20]);
    refuses(&["check", "magic.spv"], directory.path(), &["magic.spv is not accepted", "magic"]);
    write("words.spv", &[3, 2, 0x23, 7, 0, 6, 1, 0]);
    refuses(&["check", "words.spv"], directory.path(), &["words.spv is not accepted"]);
    write("odd.spvasm", b"OpCapability Shader\n%1 = OpNonsense\n");
    refuses(&["check", "odd.spvasm"], directory.path(), &["odd.spvasm:2:", "OpNonsense"]);
    write("multisampled.comp", MULTISAMPLED.as_bytes());
    refuses(
        &["check", "multisampled.comp"],
        directory.path(),
        &["multisampled.comp is not accepted", "unsupported: "],
    );
}

#[test]
fn a_device_is_described() {
    let directory = empty_directory();
    let text = succeeds(&["devices"], directory.path());
    assert!(text.contains("(default 32)") && text.contains("1-16384"), "{text}");
    let json = succeeds(&["devices", "--json"], directory.path());
    let devices: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(devices[0]["default_subgroup_size"], 32);
    assert_eq!(devices[0]["matrix_scopes"], serde_json::json!(["subgroup", "workgroup"]));
    let rows = devices[0]["matrices"].as_array().expect("an array");
    assert!(rows.iter().any(|row| row["a"] == "s8" && row["c"] == "s32" && row["is_saturating"] == true));
}

/// Every name that the machine offers, and no other, is taken by the option and by the environment, and is reported.
#[test]
fn code_is_made_for_the_processor_that_is_named() {
    let directory = empty_directory();
    let devices = |arguments: &[&str]| -> serde_json::Value {
        let json = succeeds(&[arguments, &["devices", "--json"]].concat(), directory.path());
        serde_json::from_str(&json).expect("JSON")
    };
    let native = devices(&[]);
    assert!(native[0]["processor"].as_str().expect("a name").starts_with("native ("), "{native}");
    let rows = native[0]["processors"].as_array().expect("an array").clone();
    let of = |is_available: bool| {
        let rows = rows.iter().filter(move |row| row["is_available"] == is_available);
        rows.map(|row| row["name"].as_str().expect("a name")).collect::<Vec<_>>()
    };
    for name in of(true) {
        assert_eq!(devices(&["--cpu", name])[0]["processor"], name);
    }
    let offered = format!("it offers native, {}", of(true).join(", "));
    for name in of(false) {
        let lacking = format!("this machine cannot run code for `{name}`: it lacks ");
        refuses(&["devices", "--cpu", name], directory.path(), &[&lacking, &offered]);
    }
    refuses(&["devices", "--cpu", "mmx"], directory.path(), &["there is no processor `mmx`", &offered]);

    let least = of(true)[0];
    for (value, expected) in [(least, 0), ("mmx", 2)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_phalanx"));
        let output = command.arg("devices").env("PHALANX_CPU", value).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(expected), "{value}");
        let text = String::from_utf8([output.stdout, output.stderr].concat()).expect("text");
        assert!(text.contains(&format!("processor         {least}")) || text.contains(&offered), "{text}");
    }
    let bench = ["bench", "gemm", "--cpu", least, "--sizes", "64", "--types", "f16", "--threads", "1"];
    let text = succeeds(&bench, directory.path());
    assert!(text.contains("share") && !text.contains("WRONG"), "{text}");
}

#[test]
fn every_rung_computes_the_right_result() {
    // Seven rungs, but one type is not in the older dialect.
    are_right("f16,f16:f16,f32,bf16", 27);
}

#[test]
fn every_rung_computes_the_right_result_of_bytes() {
    // Two are not.
    are_right("e4m3,e5m2,s8,u8", 26);
}

/// Asserts that all rungs of the ladder are right for these types, and how many records there are.
fn are_right(types: &str, count: usize) {
    let directory = empty_directory();
    let arguments =
        ["bench", "gemm", "--sizes", "64", "--types", types, "--threads", "1", "--json", "b.json"];
    let text = succeeds(&arguments, directory.path());
    assert!(text.contains("1 thread\n") && text.contains("share") && !text.contains("WRONG"), "{text}");
    let json = std::fs::read(directory.path().join("b.json")).expect("written");
    let records: Vec<serde_json::Map<String, serde_json::Value>> =
        serde_json::from_slice(&json).expect("a list of records");
    assert_eq!(records.len(), count);
    let mut fields = [
        "workload",
        "problem",
        "operations",
        "rung",
        "a",
        "c",
        "m",
        "n",
        "k",
        "tile",
        "shape",
        "threads",
        "seconds",
        "gflops",
        "peak_gflops",
        "peak_unit",
        "share_of_peak",
        "max_rel_error",
        "ok",
        "compile_ms",
        "relaxed_accumulation",
    ];
    fields.sort_unstable();
    for record in &records {
        let mut names: Vec<&str> = record.keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, fields);
        assert_eq!(record["ok"], true, "{record:?}");
    }
}

#[test]
fn a_column_major_b_gives_the_same_result() {
    let directory = empty_directory();
    let line = "bench gemm --sizes 64x96x64 --types f16,s8 --col-major-b --threads 2 --json -";
    let arguments: Vec<&str> = line.split_whitespace().collect();
    assert!(!succeeds(&arguments, directory.path()).contains("\"ok\": false"));
}

#[test]
fn a_demo_writes_its_chart_and_its_records() {
    let directory = empty_directory();
    let text = succeeds(&["demo", "--size", "64"], directory.path());
    assert!(text.contains("tiled-nv") && !text.contains("WRONG"), "{text}");
    let chart = std::fs::read_to_string(directory.path().join("out/ladder.svg")).expect("written");
    assert!(chart.starts_with("<svg"), "{chart}");
    assert!(directory.path().join("out/ladder.json").exists());
}

/// Asserts that a demo is right and leaves its records and this picture.
fn leaves_a_picture(line: &str, picture: &str) {
    leaves_pictures(line, &[picture]);
}

/// The same with several pictures.
fn leaves_pictures(line: &str, pictures: &[&str]) -> tempfile::TempDir {
    let directory = empty_directory();
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let text = succeeds(&arguments, directory.path());
    assert!(text.contains(" ok ") && !text.contains("WRONG"), "{text}");
    for picture in pictures {
        let bytes = std::fs::read(directory.path().join(format!("out/{picture}.png"))).expect("written");
        assert!(text.contains(picture) && bytes.starts_with(b"\x89PNG"), "{picture}");
    }
    assert!(directory.path().join(format!("out/{}.json", arguments[1])).exists());
    directory
}

#[test]
fn attention_shows_where_queries_look() {
    let line = "demo attention --tokens 70 --heads 1 --head-sizes 64 --masks causal --kernels matrix2";
    leaves_a_picture(line, "attention-64-causal");
}

#[test]
fn convolution_shows_what_filters_make_of_an_image() {
    leaves_a_picture("demo conv --image 12x12x16 --out-channels 16 --stride 2 --kernels matrix2", "conv");
}

#[test]
fn what_rotations_save_is_counted_beside_the_time() {
    let directory = leaves_pictures("demo conv-rotate --image 6x14x32", &[]);
    let read =
        |name: &str| std::fs::read_to_string(directory.path().join("out").join(name)).expect("written");
    let records: serde_json::Value = serde_json::from_str(&read("conv-rotate.json")).expect("records");
    let image = |kernel: usize| records[kernel]["elements_read"]["image"].as_u64().expect("counted");
    assert_eq!(
        (records[0]["rung"].as_str(), records[1]["rung"].as_str()),
        (Some("loads"), Some("rotations"))
    );
    assert!(image(1) > 0 && 2 * image(1) < image(0), "{records}");
    let chart = read("conv-rotate.svg");
    assert!(chart.contains("elements read") && chart.contains("rotations: image"), "{chart}");
}

#[test]
fn a_texture_is_shown_beside_its_original() {
    let pictures = ["neural-texture-original", "neural-texture-result", "neural-texture-error"];
    let directory = leaves_pictures("demo neural-texture --train --size 16 --steps 30", &pictures);
    let curve =
        std::fs::read_to_string(directory.path().join("out/neural-texture-loss.svg")).expect("written");
    assert!(curve.starts_with("<svg"), "{curve}");
    let records = std::fs::read_to_string(directory.path().join("out/neural-texture.json")).expect("written");
    let records: serde_json::Value = serde_json::from_str(&records).expect("records");
    let rungs: Vec<_> = records.as_array().expect("a list").iter().map(|record| &record["rung"]).collect();
    assert_eq!(rungs, ["train", "vector", "qcom"]);
    assert!(records[1]["psnr_db"].as_f64().is_some_and(|ratio| ratio > 10.0), "{records}");
    // A picture is an image to train with.
    let line = "demo neural-texture --image out/neural-texture-result.png --steps 20 --psnr 3";
    let text = succeeds(&line.split_whitespace().collect::<Vec<_>>(), directory.path());
    assert!(text.contains("784x256 texels of 3 channels") && !text.contains("WRONG"), "{text}");
    // What is asked for in vain is wrong.
    let line = "demo neural-texture --size 16 --steps 1 --psnr 60";
    let output = phalanx(&line.split_whitespace().collect::<Vec<_>>(), directory.path());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn a_benchmark_of_another_workload_has_the_same_records() {
    let directory = empty_directory();
    let line = "bench dequant --sizes 40x20x64 --blocks q4_0 --kernels decode --json -";
    let json = succeeds(&line.split_whitespace().collect::<Vec<_>>(), directory.path());
    let records: serde_json::Value = serde_json::from_str(&json).expect("nothing but a list of records");
    assert_eq!((&records[0]["workload"], &records[0]["rung"]), (&"dequant".into(), &"decode".into()));
    assert_eq!((&records[0]["ok"], &records[0]["n"]), (&true.into(), &20.into()));
    assert_eq!(std::fs::read_dir(directory.path()).expect("a directory").count(), 0);
}

/// Compiling GLSL takes the most, and glslang three quarters more with its assertions: `.cargo/config.toml`.
#[cfg(target_os = "linux")]
#[test]
fn a_small_benchmark_takes_less_than_64_mib() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_phalanx"))
        .args(["bench", "gemm", "--sizes", "64", "--types", "f16", "--rungs", "tiled"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the program starts");
    let status = format!("/proc/{}/status", program.id());
    let mut most = 0;
    while program.try_wait().expect("our own program").is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let kibibytes =
            text.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB"));
        most = most.max(kibibytes.map_or(0, |number| number.parse::<u64>().expect("a number")));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert!((1..64 << 10).contains(&most), "{most} KiB of private memory");
}

#[test]
fn sizes_that_a_workload_does_not_take_are_refused() {
    let directory = empty_directory();
    let refuses = |line: &str, expected: &str| {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        refuses(&arguments, directory.path(), &[expected]);
    };
    refuses("bench attention --head-sizes 96", "heads of 64 and 128");
    refuses("bench conv --image 5x5", "`5x5` is no size; write HxWxC");
    refuses("bench dequant --sizes 100", "K must be a multiple of 32");
    refuses("demo neural-texture --size 4", "not 4");
    refuses("demo neural-texture --image none.png", "none.png cannot be read");
    refuses("bench mlp --kernels train --types s8 --activations none", "only one network of f16 is trained");
}

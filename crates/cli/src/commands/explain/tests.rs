//! What is explained, and that kernels do the same.

use clap::Parser;

use super::*;
use crate::args::{Cli, Command};
use crate::runtime::{Binding, Dispatch, Shader, Sizes};

fn parse(line: &str) -> ExplainArgs {
    let line = std::iter::once("phalanx").chain(line.split_whitespace());
    let Command::Explain(args) = Cli::try_parse_from(line).expect("well formed").command else {
        panic!("another command")
    };
    args
}

fn matrix(line: &str) -> Result<Matrix> {
    match parse(line).what {
        Some(ExplainCommand::Matrix(args)) => device_matrix(&args),
        _ => panic!("no matrix"),
    }
}

fn access(line: &str) -> Result<Access> {
    match parse(line).what {
        Some(ExplainCommand::Tensor(args)) => tensor::from_args(&args),
        _ => panic!("no tensor"),
    }
}

/// Runs GLSL on the CPU with some numbers in binding 0; gives those that binding 1 holds then.
fn run(source: &str, subgroup_size: u32, input: &[u32], count: usize) -> Vec<u32> {
    let header = "#version 460
        #extension GL_KHR_cooperative_matrix : require
        #extension GL_KHR_memory_scope_semantics : require
        #extension GL_KHR_shader_subgroup_basic : require
        #extension GL_EXT_shader_explicit_arithmetic_types : require
        #extension GL_NV_cooperative_matrix2 : require\n";
    let source = format!("{header}{source}");
    let glsl = runtime::Glsl { name: "test", source: &source, definitions: &[], include_directories: &[] };
    let words = runtime::compile_glsl(glsl).expect("GLSL");
    let device = Device::new(Some(1)).expect("a device");
    let sizes = Sizes { subgroup: Some(subgroup_size), workgroup: None };
    let options = PipelineOptions { entry: "main", constants: &[], sizes, cancel: None };
    let shader = Shader::from_words(&words).expect("a shader");
    let pipeline = device.create_pipeline_of(&shader, options).expect("a pipeline");
    let buffer = |numbers: &[u32]| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let buffer = device.create_buffer(bytes.len()).expect("memory");
        buffer.write(0, &bytes).expect("memory");
        buffer
    };
    let (read, written) = (buffer(input), buffer(&vec![u32::MAX; count]));
    let binding = |binding, buffer| Binding { set: 0, binding, index: 0, buffer };
    device
        .dispatch(Dispatch {
            pipeline: &pipeline,
            groups: [1, 1, 1],
            bindings: &[binding(0, &read), binding(1, &written)],
            push_constants: &[],
            timeout: None,
            cancel: None,
        })
        .expect("a dispatch");
    let bytes = written.read(0..4 * count).expect("memory");
    bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
}

#[test]
fn the_map_of_a_matrix_is_that_of_a_kernel() {
    // Each invocation writes where it is to all its components; the matrix is stored row by row.
    for (rows, cols, size, scope) in
        [(16, 16, 32, "Subgroup"), (3, 7, 8, "Subgroup"), (5, 13, 16, "Subgroup"), (16, 24, 32, "Workgroup")]
    {
        let source = format!(
            "layout(local_size_x = {invocations}) in;
            layout(set = 0, binding = 0) buffer I {{ uint unused[]; }};
            layout(set = 0, binding = 1) buffer O {{ uint x[]; }};
            void main() {{
                coopmat<uint, gl_Scope{scope}, {rows}, {cols}, gl_MatrixUseAccumulator> m;
                for (int i = 0; i < m.length(); i++)
                    m[i] = 1000 * gl_LocalInvocationIndex + i;
                coopMatStore(m, x, 0, {cols}, gl_CooperativeMatrixLayoutRowMajor);
                if (gl_LocalInvocationIndex == 0) x[{rows} * {cols}] = m.length();
            }}",
            invocations = if scope == "Workgroup" { 2 * size } else { size },
        );
        let found = run(&source, size, &[0], rows * cols + 1);
        let line = format!(
            "explain matrix --type u32 --rows {rows} --cols {cols} --scope {} --subgroup-size {size} \
             --workgroup-size {}",
            scope.to_lowercase(),
            2 * size,
        );
        let report = serde_json::to_value(matrix(&line).expect("a matrix").report()).expect("JSON");
        assert_eq!(report["components"], found[rows * cols]);
        let mut seen = 0;
        for (lane, components) in report["map"].as_array().expect("a list").iter().enumerate() {
            for (component, place) in components.as_array().expect("a list").iter().enumerate() {
                let Some(place) = place.as_array() else { continue };
                let at = |i: usize| place[i].as_u64().expect("a number") as usize;
                assert_eq!(found[at(0) * cols + at(1)] as usize, 1000 * lane + component, "{line}");
                seen += 1;
            }
        }
        assert_eq!(seen, rows * cols, "{line}");
    }
}

#[test]
fn the_map_of_a_load_is_that_of_a_kernel() {
    let source = "layout(local_size_x = 32) in;
        layout(set = 0, binding = 0) buffer I { uint a[]; };
        layout(set = 0, binding = 1) buffer O { uint x[]; };
        void main() {
            coopmat<uint, gl_ScopeSubgroup, 6, 8, gl_MatrixUseAccumulator> m =
                coopmat<uint, gl_ScopeSubgroup, 6, 8, gl_MatrixUseAccumulator>(9999);
            tensorLayoutNV<2, gl_CooperativeMatrixClampModeClampToEdgeNV> t =
                createTensorLayoutNV(2, gl_CooperativeMatrixClampModeClampToEdgeNV);
            t = setTensorLayoutDimensionNV(t, 10, 12);
            t = sliceTensorLayoutNV(t, -2, 8, 7, 6);
            tensorViewNV<2, false, 1, 0> v = createTensorViewNV(2, false, 1, 0);
            v = setTensorViewClipNV(v, 0, 5, 1, 20);
            coopMatLoadTensorNV(m, a, 0, t, v);
            coopMatStore(m, x, 0, 8, gl_CooperativeMatrixLayoutRowMajor);
        }";
    let numbers: Vec<u32> = (0..120).collect();
    let found = run(source, 32, &numbers, 48);
    let access = access(
        "explain tensor --type u32 --rows 6 --cols 8 --dims 10,12 --slice=-2:8,7:6 --clamp edge \
         --permutation 1,0 --clip 0:5,1:20",
    )
    .expect("an access");
    let report = serde_json::to_value(access.report()).expect("JSON");
    let elements = report["elements"].as_array().expect("a list");
    let expected: Vec<u64> = elements.iter().map(|e| e["index"].as_u64().unwrap_or(9999)).collect();
    assert_eq!(found.iter().map(|&x| u64::from(x)).collect::<Vec<_>>(), expected);
    for is in ["element", "clamped", "clipped"] {
        assert!(elements.iter().any(|element| element["is"] == is), "{is}");
    }
    let clamped = elements.iter().find(|element| element["is"] == "clamped").expect("one");
    assert_eq!(clamped["byte"].as_u64(), clamped["index"].as_u64().map(|index| 4 * index));
}

#[test]
fn the_tensors_of_a_shader_are_found_and_computed_numbers_can_be_given() {
    let source = "#version 460
        #extension GL_KHR_cooperative_matrix : require
        #extension GL_KHR_memory_scope_semantics : require
        #extension GL_NV_cooperative_matrix2 : require
        layout(local_size_x = 32) in;
        layout(constant_id = 0) const uint WIDTH = 8;
        layout(set = 0, binding = 0) buffer I { float a[]; };
        void main() {
            coopmat<float, gl_ScopeSubgroup, 4, 4, gl_MatrixUseAccumulator> m =
                coopmat<float, gl_ScopeSubgroup, 4, 4, gl_MatrixUseAccumulator>(0);
            tensorLayoutNV<2> t = createTensorLayoutNV(2);
            t = setTensorLayoutDimensionNV(t, 16, WIDTH * 2);
            coopMatLoadTensorNV(m, a, 0, sliceTensorLayoutNV(t, 4, 4, 8, 4));
            coopMatStoreTensorNV(m, a, 0, sliceTensorLayoutNV(t, gl_WorkGroupID.x * 4, 4, 0, 4));
        }";
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("kernel.comp");
    std::fs::write(&path, source).expect("a file");
    let line = |more: &str| format!("explain {} {more}", path.display());
    let args = parse(&line("--spec 0=12 --let offset0=4")).shader;
    let words = load_shader(&path, &args.glsl).expect("a shader");
    let sizes = Sizes { subgroup: Some(32), workgroup: None };
    let options = PipelineOptions { entry: "main", constants: &args.spec, sizes, cancel: None };
    let found = library::explain(&words, options).expect("a module");
    assert_eq!(found.matrices.len(), 1);
    let words = |index: usize| found.tensors[index].words.clone();
    assert!(!found.tensors[0].is_store && found.tensors[1].is_store);
    // Dimensions, strides, offsets.
    assert_eq!(words(0)[..6], [16, 24, 24, 1, 4, 8].map(Some));
    assert_eq!(words(1)[4..6], [None, Some(0)]);
    assert!(found.tensors[0].place.as_ref().is_some_and(|place| place.line == 13), "{found:?}");
    let mut accesses: Vec<Access> =
        found.tensors.iter().enumerate().map(|(i, found)| shader_access(i + 1, found)).collect();
    assert_eq!(accesses[1].unknown(), ["offset0"]);
    give(&mut accesses, &args.given).expect("the name is known");
    let text = accesses[1].picture().text(Limit::TEXT);
    assert!(text.contains("offsets 4 0") && text.contains("16 elements are stored"), "{text}");
    // What the shader says is not overruled.
    assert!(accesses[0].picture().text(Limit::TEXT).contains("offsets 4 8"));
    let unknown = give(&mut accesses, &["offset9=1".parse().expect("a number")]).expect_err("no such");
    assert!(unknown.to_string().contains("there are block0"), "{unknown}");
}

#[test]
fn wrong_numbers_are_refused_with_the_rule() {
    let refuse = |line: &str, expected: &str| {
        let error = access(&format!("explain tensor --rows 4 --cols 4 {line}")).expect_err(line);
        assert!(error.to_string().contains(expected), "{line}: {error}");
    };
    refuse("--dims 4,0", "dimension 1 is 0");
    refuse("--dims 4,4 --slice 0:4,0:0", "span 1 is 0");
    refuse("--dims 4,4 --blocks 1,0", "block size 1 is 0");
    refuse("--dims 4,4 --view-dims 0,4", "dimension of the view 0 is 0");
    refuse("--dims 4,4 --blocks 1,2 --store", "a store has no blocks");
    refuse("--dims 4,4 --clip 4:1,0:4", "the clip begins at row 4 of 4");
    refuse("--dims 4,4 --permutation 1,1", "each of 0 to 1 once");
    refuse("--dims 4,4 --slice 0:4", "1 slices for 2 dimensions");
    refuse("--dims 1,2,3,4,5,6", "1 to 5 dimensions, not 6");
    refuse("--dims 4 --permutation 1,0", "takes its 2 dimensions from a span of 1");
    let error = matrix("explain matrix --rows 0 --cols 4").expect_err("no rows").to_string();
    assert!(error.contains("0 x 4"), "{error}");
    let error =
        matrix("explain matrix --rows 4 --cols 4 --subgroup-size 24").expect_err("a size").to_string();
    assert!(error.contains("subgroups of 24"), "{error}");
}

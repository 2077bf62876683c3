//! Profiles: lines that there are, families that make up the whole, pictures that are XML.

use super::*;
use serde_json::Value;

/// A product of two matrices, and a function of its elements.
const MATMUL: &str = "#version 460
#extension GL_KHR_cooperative_matrix : enable
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : enable
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer B { float16_t b[]; };
layout(set = 0, binding = 2) buffer C { float c[]; };
float smooth_step(float x) {
    for (int i = 0; i < 50; ++i) x = x * (1.5 - 0.5 * x * x);
    return x;
}
void main() {
    uint row = gl_WorkGroupID.y * 16, col = gl_WorkGroupID.x * 16;
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> acc = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
    for (uint k = 0; k < 256; k += 16) {
        coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> x;
        coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> y;
        coopMatLoad(x, a, row * 256 + k, 256, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(y, b, k * 256 + col, 256, gl_CooperativeMatrixLayoutRowMajor);
        acc = coopMatMulAdd(x, y, acc);
    }
    coopMatStore(acc, c, row * 256 + col, 256, gl_CooperativeMatrixLayoutRowMajor);
    for (uint i = 0; i < 16; ++i) c[row * 256 + col + i] = smooth_step(c[row * 256 + col + i]);
}
";

const ARGUMENTS: &str = "profile matmul.comp --groups 16,16 --bind 0:0=rand:f16[256,256] --bind 0:1=rand:f16[256,256] \
                         --bind 0:2=zeros:f32[256,256] --for 0.3 --threads 2";

fn profile(more: &str) -> (tempfile::TempDir, Output) {
    let directory = empty_directory();
    std::fs::write(directory.path().join("matmul.comp"), MATMUL).expect("writable");
    let arguments: Vec<&str> = ARGUMENTS.split_whitespace().chain(more.split_whitespace()).collect();
    let output = phalanx(&arguments, directory.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (directory, output)
}

#[test]
fn time_is_told_by_line_and_by_family() {
    let (_directory, output) = profile("--json -");
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let pipelines = json["pipelines"].as_array().expect("a list");
    let [pipeline] = pipelines.as_slice() else { panic!("{json}") };
    let number = |field: &str| pipeline[field].as_f64().unwrap_or_else(|| panic!("{field}: {json}"));
    assert!(pipeline["name"] == "main" && number("dispatches") >= 1.0);

    // What was seen is the time of the dispatches on both threads. The machine may be busy.
    let expected = number("elapsed") * number("threads");
    assert!((number("seen") / expected - 1.0).abs() < 0.25, "{} {expected}", number("seen"));
    let families = pipeline["families"].as_object().expect("an object");
    let sum: f64 = families.values().filter_map(Value::as_f64).sum();
    assert!((sum - 1.0).abs() < 1e-4, "{families:?}");

    let rows = pipeline["rows"].as_array().expect("a list");
    let sum: f64 = rows.iter().filter_map(|row| row["share"].as_f64()).sum();
    assert!((sum - 1.0).abs() < 1e-4, "{rows:?}");
    let lines: Vec<&str> = MATMUL.lines().collect();
    let own = ["scheduling", "idle"];
    for row in rows.iter().filter(|row| !own.contains(&row["family"].as_str().unwrap_or_default())) {
        let line = row["line"].as_u64().and_then(|line| (line as usize).checked_sub(1));
        assert!(row["file"] == "matmul.comp" && line.is_some_and(|line| line < lines.len()), "{row}");
    }
    // Each kind of work is on the line, and in the function, where it is written.
    let on = |part: &str| lines.iter().position(|line| line.contains(part)).map(|index| index as u64 + 1);
    for (family, line, function) in [
        ("multiply-add", on("acc = coopMatMulAdd"), "main"),
        ("matrix load/store", on("coopMatLoad(y"), "main"),
        ("lane code", on("x = x * (1.5"), "smooth_step"),
    ] {
        let found = rows.iter().any(|row| {
            row["family"] == family && row["line"].as_u64() == line && row["function"] == function
        });
        assert!(found, "{family} on line {line:?} of {function}: {rows:?}");
    }
}

#[test]
fn tables_show_the_source_and_pictures_are_xml() {
    let (directory, output) = profile("--svg flame.svg --out 0:2=c.npy");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(
        text.contains("multiply-add: mat_mul_add") && text.contains("acc = coopMatMulAdd(x, y, acc);"),
        "{text}"
    );
    assert!(directory.path().join("c.npy").is_file());
    let svg = std::fs::read_to_string(directory.path().join("flame.svg")).expect("a picture");
    assert_eq!(unclosed(&svg), Ok(0), "{svg}");
    assert!(
        svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && svg.contains(">smooth_step, "),
        "{svg}"
    );
}

/// How many elements are open at the end of XML without comments and declarations; what is wrong otherwise.
fn unclosed(xml: &str) -> Result<usize, String> {
    let mut open = Vec::new();
    for part in xml.split('<').skip(1) {
        let (tag, text) = part.split_once('>').ok_or_else(|| format!("<{part}"))?;
        if tag.matches('"').count() % 2 == 1 || text.contains('>') {
            return Err(part.to_owned());
        }
        if text
            .split('&')
            .skip(1)
            .any(|entity| !["amp;", "lt;", "gt;", "quot;"].iter().any(|e| entity.starts_with(e)))
        {
            return Err(text.to_owned());
        }
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        if tag.starts_with('/') {
            if open.pop() != Some(name) {
                return Err(format!("<{tag}>"));
            }
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    Ok(open.len())
}

#[test]
fn the_interpreter_is_not_profiled() {
    let directory = empty_directory();
    std::fs::write(directory.path().join("matmul.comp"), MATMUL).expect("writable");
    let arguments: Vec<&str> = ARGUMENTS.split_whitespace().chain(["--device", "interpreter"]).collect();
    refuses(&arguments, directory.path(), &["the interpreter is not profiled"]);
}

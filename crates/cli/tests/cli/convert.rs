//! `phalanx convert` and `phalanx explain layout`.

use std::path::Path;

use crate::{empty_directory, phalanx, refuses};

/// An array of two dimensions as NumPy writes it.
fn write_npy(path: &Path, shape: (usize, usize), numbers: &[f32]) {
    let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape:?}, }}");
    let header = format!("{text:117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(header.into_bytes());
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    std::fs::write(path, bytes).expect("writable");
}

fn succeeds(arguments: &[&str], directory: &Path) -> String {
    let output = phalanx(arguments, directory);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {message}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_matrix_goes_to_another_layout_and_back() {
    let directory = empty_directory();
    let here = directory.path();
    let numbers: Vec<f32> = (0..15).map(|i| i as f32 * 0.25 - 1.0).collect();
    write_npy(&here.join("w.npy"), (3, 5), &numbers);
    let text = succeeds(&["convert", "w.npy", "w.bin", "--to", "inferencing", "--type", "f16"], here);
    assert!(text.contains("3 x 5, f32 row_major -> f16 inferencing, kept as f32"), "{text}");
    let bytes = std::fs::read(here.join("w.bin")).expect("written");
    // Rows of 20 bytes begin at multiples of 16, and the whole is a multiple of 64.
    assert_eq!(bytes.len(), 128);
    assert_eq!(bytes[32..36], numbers[5].to_le_bytes());
    assert_eq!(bytes[20..32], [0; 12]);

    let back = ["convert", "w.bin", "back.npy", "--from", "inferencing", "--from-type", "f16", "--json"];
    let rest = ["--rows", "3", "--columns", "5", "--to", "column-major", "--type", "f16"];
    let json = succeeds(&[back.as_slice(), &rest].concat(), here);
    let report: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(report["destination"]["stride"], 6);
    assert_eq!(report["destination"]["bytes"], 30);
    // An array of columns.
    let text = succeeds(
        &["convert", "back.npy", "again.bin", "--from", "column-major", "--to", "row-major", "--type", "f32"],
        here,
    );
    assert!(text.contains("back.npy f16[5,3]: 3 x 5"), "{text}");
    let expected: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    assert_eq!(std::fs::read(here.join("again.bin")).expect("written"), expected);
}

#[test]
fn what_is_no_conversion_is_refused_with_what_to_do() {
    let directory = empty_directory();
    let here = directory.path();
    write_npy(&here.join("w.npy"), (3, 5), &[1.0; 15]);
    std::fs::write(here.join("w.bin"), [0; 64]).expect("writable");
    let convert = |arguments: &[&str], expected: &[&str]| {
        refuses(&[&["convert"], arguments].concat(), here, expected);
    };
    convert(
        &["w.npy", "o.bin", "--to", "row-major", "--type", "e4m3"],
        &["optimal layout", "--to inferencing"],
    );
    convert(&["w.npy", "o.bin", "--to", "training", "--type", "s8"], &["f32 to s8", "layout only"]);
    convert(
        &["w.npy", "o.bin", "--to", "training", "--type", "f64"],
        &["matrices of f64", "known types are f16"],
    );
    convert(
        &["w.npy", "o.bin", "--from-type", "f16", "--to", "training", "--type", "f16"],
        &["4 bytes are no f16"],
    );
    convert(&["w.bin", "o.bin", "--to", "training", "--type", "f16"], &["--from-type"]);
    let typed = ["w.bin", "o.bin", "--from-type", "f16", "--to", "training", "--type", "f16"];
    convert(&typed, &["--rows and --columns"]);
    convert(&[&typed[..], &["--rows", "9", "--columns", "4"]].concat(), &["holds 64 bytes", "takes 72"]);
    convert(&["rand:f32[4,4]", "o.bin", "--to", "training", "--type", "f16"], &["is no file"]);
    convert(&["w.npy", "nowhere/o.bin", "--to", "training", "--type", "f16"], &["no directory nowhere"]);
    assert!(!here.join("o.bin").exists());
    refuses(&["explain", "layout", "--rows", "0", "--cols", "4"], here, &["0 x 4"]);
    refuses(&["explain", "layout", "--rows", "2", "--cols", "4", "--type", "s64"], here, &["s64", "f16"]);
}

#[test]
fn layouts_are_explained() {
    let directory = empty_directory();
    let here = directory.path();
    let text = succeeds(&["explain", "layout", "--rows", "3", "--cols", "5", "--svg", "l.svg"], here);
    assert!(text.contains("rows begin 32 bytes apart") && text.contains("68 bytes are padding"), "{text}");
    assert!(text.contains("64 68 72 76 80"), "{text}");
    let svg = std::fs::read_to_string(here.join("l.svg")).expect("drawn");
    assert!(svg.starts_with("<svg") && svg.contains(">80<"), "{svg}");
    let json = succeeds(
        &[
            "explain", "layout", "--rows", "2", "--cols", "2", "--type", "s8", "--layout", "training",
            "--json",
        ],
        here,
    );
    let report: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(report["offsets"], serde_json::json!([[0, 1], [16, 17]]));
}

#[test]
fn devices_list_what_vectors_are_multiplied_by() {
    let directory = empty_directory();
    let json = succeeds(&["devices", "--json"], directory.path());
    let devices: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let row = serde_json::json!({
        "input": "u32", "interpretation": "s8 packed", "matrix": "s8", "bias": "s32", "result": "s32",
        "transpose": true,
    });
    assert!(devices[0]["vectors"].as_array().expect("a list").contains(&row), "{json}");
}

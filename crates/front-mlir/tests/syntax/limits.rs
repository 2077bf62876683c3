//! What would take too long or too deep a stack is refused, and soon.

use std::time::{Duration, Instant};

use phalanx_front_mlir::parse;

/// Refused, with a message that begins so.
fn refused_soon(what: &str, text: &str, message: &str) {
    let start = Instant::now();
    let error = parse(text).expect_err(what).to_string();
    assert!(error.contains(message), "{what}: {error}");
    assert!(error.len() < 1000, "{what}: a message of {} bytes", error.len());
    // A wide bound: it is for what grows with a power of the length.
    assert!(start.elapsed() < Duration::from_secs(20), "{what}: {:?}", start.elapsed());
}

const DEEP: &str = "expected at most 128 levels of nesting, found one more";

#[test]
fn nesting_has_an_end() {
    let many = 100_000;
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(many), close.repeat(many));
    refused_soon("regions", &deep("module {", "}"), DEEP);
    refused_soon("generic regions", &format!("\"a.b\"() {}", "({ \"a.b\"() ".repeat(many)), DEEP);
    let ifs = format!("func.func @f(%c: i1) {{ {}", "scf.if %c { ".repeat(many));
    refused_soon("branches", &ifs, DEEP);
    refused_soon("arrays", &format!("module attributes {{x = {}", deep("[", "]")), DEEP);
    refused_soon("dictionaries", &format!("module attributes {}", deep("{x = ", "}")), DEEP);
    refused_soon("tuples", &format!("func.func private @f({}", deep("tuple<", ">")), DEEP);
    refused_soon("functions", &format!("func.func private @f({}", deep("(", ")")), DEEP);
    refused_soon("memrefs", &format!("func.func private @f({}", deep("memref<4x", ">")), DEEP);
    refused_soon("elements", &format!("module attributes {{x = dense<{}", deep("[", "]")), DEEP);
    refused_soon("locations", &format!("module {{}} {}", deep("loc(callsite(", ")")), "expected");
    refused_soon("callsites", &format!("module {{}} loc({}", deep("callsite(", ")")), DEEP);
    refused_soon("parentheses", &format!("#m = affine_map<(d0) -> ({}", deep("(", ")")), DEEP);
    refused_soon("minuses", &format!("#m = affine_map<(d0) -> ({}d0)>", "-".repeat(many)), DEEP);
    refused_soon("sums", &format!("#m = affine_map<(d0) -> (d0{})>", " + d0".repeat(many)), DEEP);
    refused_soon("quotients", &format!("#m = affine_map<(d0) -> (d0{})>", " floordiv 2".repeat(many)), DEEP);
    let bodies = format!("module attributes {{x = #a.b{}", "<".repeat(many));
    refused_soon("bodies", &bodies, "whose brackets are closed");
}

#[test]
fn what_is_repeated_is_not_copied_without_bound() {
    let mut text = format!("#place = loc(\"{}\":1:1)\n", "x".repeat(1 << 20));
    for _ in 0..10_000 {
        text += "\"a.b\"() : () -> () loc(#place)\n";
    }
    refused_soon("places", &text, "aliases that stand for at most");
    let text = text.replace("#place)", "#late)") + &format!("#late = loc(\"{}\":1:1)\n", "x".repeat(1 << 20));
    refused_soon("late places", &text, "aliases that stand for at most");
    let group = |name: usize| {
        let types = "i1, ".repeat(200_000);
        format!("%{}:200001 = \"a.b\"() : () -> ({types}i1)", "n".repeat(name))
    };
    refused_soon("groups", &group(1 << 20), "expected a name of at most 256 bytes");
    let ast = parse(&group(200)).expect("it is right");
    assert!(ast.values.iter().all(|value| value.name.len() <= 64));
    let names: Vec<String> = (0..200).map(|index| format!("d{index}")).collect();
    refused_soon(
        "dimensions",
        &format!("#m = affine_map<({}) -> ()>", names.join(", ")),
        "at most 128 dimensions or symbols",
    );
    let wide = format!("tuple<{}i1>", "i1, ".repeat(100_000));
    refused_soon(
        "types",
        &format!("%0 = \"a.b\"() : () -> {wide}\n\"a.b\"(%0) : (i32) -> ()"),
        "expected a value of type `i32`",
    );
}

#[test]
fn branches_of_all_kinds_are_checked_in_linear_time() {
    let count = 100_000;
    // A chain of blocks, each of which may leave: the last has a predecessor in every one.
    let mut text = "func.func @f(%c: i1) {\ncf.br ^b0\n".to_owned();
    for block in 0..count {
        text += &format!("^b{block}:\ncf.cond_br %c, ^b{}, ^end\n", block + 1);
    }
    text += &format!("^b{count}:\ncf.br ^end\n^end:\nreturn\n}}\n");
    let start = Instant::now();
    parse(&text).expect("it is right");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn aliases_do_not_grow_without_bound() {
    let mut text = "#a0 = [1, 2]\n".to_owned();
    for level in 1..60 {
        text += &format!("#a{level} = [#a{0}, #a{0}]\n", level - 1);
    }
    refused_soon("attributes", &text, "aliases that stand for at most");
    let mut text = "!a0 = i32\n".to_owned();
    for level in 1..100_000 {
        text += &format!("!a{level} = tuple<!a{}>\n", level - 1);
    }
    refused_soon("types", &text, DEEP);
    let mut text = "#a0 = #x.y<\"some text that is not short\">\n".to_owned();
    for level in 1..60 {
        text += &format!("#a{level} = #x.y<#a{0}, #a{0}>\n", level - 1);
    }
    refused_soon("bodies", &text, "aliases that stand for at most");
}

#[test]
fn large_texts_that_are_wrong_end_with_one_message() {
    let size = 100 << 20;
    for piece in
        ["(", "x", "%", "\"", "\0", "1", "é", "{", "// comment ", "[[", "\\", "^", "#", "!", "@", "->", " "]
    {
        let size = if matches!(piece, "(" | "x" | "\"" | "// comment ") { size } else { size / 64 };
        let text = piece.repeat(size / piece.len());
        let start = Instant::now();
        // White space and comments alone are a text.
        if let Err(error) = parse(&text) {
            assert!(error.to_string().len() < 1000);
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{piece:?}: {:?}", start.elapsed());
    }
    let shape = format!("func.func private @f(memref<{}f32>)", "1x".repeat(size / 2));
    refused_soon("extents", &shape, "expected at most 64 extents");
    let extent = format!("func.func private @f(memref<{}xf32>)", "9".repeat(size));
    refused_soon("digits", &extent, "expected an extent of at most 63 bits");
    let digits = format!("module attributes {{x = {}}} {{}}", "9".repeat(size));
    refused_soon("a number", &digits, "expected a number of type `i64`");
    refused_soon("results", &"%a, ".repeat(size / 4), "expected a result's name");
}

#[test]
fn large_texts_that_are_right_are_read_in_linear_time() {
    let function = |ops: usize| {
        let mut text = "func.func @f(%v0: f32) -> f32 {\n".to_owned();
        for op in 1..=ops {
            text += &format!("  %v{op} = arith.addf %v{}, %v0 : f32\n", op - 1);
        }
        text + &format!("  return %v{ops} : f32\n}}\n")
    };
    let time = |text: &str| {
        let start = Instant::now();
        parse(text).expect("it is right");
        start.elapsed()
    };
    let (small, large) = (function(20_000), function(200_000));
    time(&small);
    let (small, large) = (time(&small), time(&large));
    assert!(large < small * 60 + Duration::from_secs(1), "{small:?} for 20 000 lines, {large:?} for 200 000");
}

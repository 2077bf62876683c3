//! Each message says where, what was expected and what stands there.

use phalanx_front_mlir::parse;
use phalanx_front_mlir::syntax::Problem;

/// A text is refused with a message, the first line of which is given.
fn refused(text: &str, message: &str) {
    let error = match parse(text) {
        Ok(_) => panic!("accepted, but `{message}` was expected\n{text}"),
        Err(error) => error.to_string(),
    };
    assert_eq!(error.lines().next(), Some(message), "{text}");
}

/// The same for what stands in a function with the arguments `%a: i32`, `%x: f32` and `%c: i1`, from line 2.
fn refused_inside(body: &str, message: &str) {
    refused(&format!("func.func @f(%a: i32, %x: f32, %c: i1) {{\n{body}\nreturn\n}}\n"), message);
}

#[test]
fn the_line_is_shown_with_a_caret() {
    let error = parse("func.func @f(%a: i32) {\n  %b = arith.addi %a, : i32\n  return\n}\n")
        .expect_err("a value is missing");
    let expected =
        "2:23: expected a value `%name`, found `:`\n    %b = arith.addi %a, : i32\n                        ^";
    assert_eq!(error.to_string(), expected);
    assert_eq!((error.pos.line, error.pos.column), (2, 23));
}

#[test]
fn long_lines_are_cut_around_the_place() {
    let text = format!("{}?{}", " ".repeat(500), "é".repeat(500));
    let error = parse(&text).expect_err("no operation").to_string();
    assert!(error.starts_with("1:501: expected an operation, found `?`\n"), "{error}");
    assert!(error.len() < 400, "{error}");
}

#[test]
fn values() {
    refused_inside(
        "%b = arith.addi %a, %z : i32",
        "2:21: expected a value that is defined and can be seen here, found `%z`, which is not",
    );
    refused_inside(
        "%b = arith.addi %a, %x : i32",
        "2:21: expected a value of type `i32`, found `%x` of type `f32`, defined at 1:23",
    );
    refused_inside(
        "%a = arith.constant 1 : i32",
        "2:1: expected a name that is not defined yet, found `%a`, which 1:14 defines",
    );
    refused_inside(
        "%b = arith.addi %a, %d : i32\n%d = arith.constant 1 : i32",
        "2:21: expected a value whose definition comes before this on every path, found `%d`, defined at 3:1",
    );
    refused_inside(
        "%b = arith.addi %a, %d : i32\n%d = arith.constant 1.0 : f32",
        "3:1: expected a value of type `f32`, found `%d` of type `i32`, used at 2:21",
    );
    refused_inside(
        "%r:3 = arith.mulsi_extended %a, %a : i32",
        "2:1: expected 2 names of results, as many as the operation has, found 3",
    );
    refused_inside(
        "%r:2 = arith.mulsi_extended %a, %a : i32\n%s = arith.addi %r#2, %a : i32",
        "3:17: expected a value that is defined and can be seen here, found `%r#2`, which is not",
    );
    refused_inside(
        "scf.if %c {\n%i = arith.constant 1 : i32\n}\n%j = arith.addi %i, %a : i32",
        "5:17: expected a value that is defined and can be seen here, found `%i`, which is not",
    );
    refused_inside(
        "%e = arith.addi %e, %a : i32",
        "2:17: expected a value whose definition comes before this on every path, found `%e`, defined at 2:1",
    );
    refused(
        "func.func @f(%a: i32) {\nreturn\n}\nfunc.func @g() {\nreturn %a : i32\n}",
        "5:8: expected a value that is defined and can be seen here, found `%a`, which is not",
    );
}

#[test]
fn dominance() {
    // The value of one branch is used in the other, and behind both.
    let branches = |left: &str, right: &str, join: &str| {
        format!("cf.cond_br %c, ^l, ^r\n^l:\n{left}\ncf.br ^j\n^r:\n{right}\ncf.br ^j\n^j:\n{join}")
    };
    let define = "%v = arith.constant 1 : i32";
    let take = "%w = arith.addi %v, %v : i32";
    let found = "expected a value whose definition comes before this on every path, found `%v`, defined at";
    refused_inside(&branches(define, take, ""), &format!("7:6: {found} 4:1"));
    refused_inside(&branches(define, "", take), &format!("10:6: {found} 4:1"));
    let fine = format!(
        "func.func @f(%c: i1) {{\n{define}\n{}\nreturn\n}}",
        branches(take, "", "%u = arith.addi %v, %v : i32")
    );
    parse(&fine).expect("the entry comes before all");
    // A block that nothing goes to never runs.
    let dead = format!("func.func @f() {{\nreturn\n^dead:\n{take}\nreturn\n^other:\n{define}\nreturn\n}}");
    parse(&dead).expect("blocks that never run are not asked");
}

#[test]
fn blocks() {
    refused_inside(
        "cf.br ^nowhere",
        "2:7: expected a block of this region, found `^nowhere`, which it lacks",
    );
    refused_inside(
        "cf.br ^b\n^b:\ncf.br ^b\n^b:",
        "5:1: expected a label that is not defined yet, found `^b`",
    );
    refused_inside(
        "scf.if %c {\ncf.br ^out\n}\ncf.br ^out\n^out:",
        "3:7: expected a block of this region, found `^out`, which it lacks",
    );
}

#[test]
fn terminators() {
    let rule = "expected an operation that ends the block";
    refused(
        "func.func @f(%a: i32) {\n  %b = arith.addi %a, %a : i32\n}",
        &format!("2:8: {rule} behind this one, found `arith.addi`"),
    );
    refused("func.func @f() {\n}", "1:16: expected a body that returns, found an empty one");
    refused_inside(
        "return\nscf.if %c {\n}",
        "3:1: expected the end of the block, found `scf.if` behind `func.return`",
    );
    let rule = "expected a branch that hands over what its block takes";
    refused_inside("cf.br ^b\n^b(%i: i32):", &format!("2:1: {rule}, 1 values, found 0"));
    refused_inside("cf.br ^b(%x : f32)\n^b(%i: i32):", &format!("2:1: {rule}, `i32`, found `f32`"));
    refused(
        "func.func @f() {\n^a:\n  cf.br ^a\n}",
        "3:3: expected a branch to another block than the first, found one to that",
    );
    let rule = "expected a function whose first block takes what its type says, found another";
    refused("func.func @f(i32) {\n  return\n}", &format!("1:1: {rule}"));
    refused("func.func @f(i32) {\n^b(%a: f32):\n  return\n}", &format!("1:1: {rule}"));
    // Who knows what an operation of another dialect is.
    parse("func.func @f() {\n  \"test.stop\"() : () -> ()\n}").expect("it may be a terminator");
}

#[test]
fn types_and_attributes() {
    refused_inside("%b = arith.addi %a, %a : ", "3:1: expected a type, found `return`");
    refused_inside(
        "%b = arith.addi %a, %a : i16777216",
        "2:26: expected an integer type of at most 16777215 bits, found `i16777216`",
    );
    refused_inside("%b = arith.constant 300 : i8", "2:21: expected a number of type `i8`, found `300`");
    refused_inside("%b = arith.constant 1 : f32", "2:21: expected a number of type `f32`, found `1`");
    refused_inside(
        "%b = arith.constant dense<[1, 2]> : vector<3xi32>",
        "2:27: expected lists of the shape [3], found [2]",
    );
    refused_inside(
        "%b = arith.constant dense<[[1], [2, 3]]> : vector<2x1xi32>",
        "2:33: expected a list of 1 elements, found 2",
    );
    refused_inside(
        "%b = arith.constant dense<[1, [2]]> : vector<2xi32>",
        "2:31: expected lists that are nested equally, found `[`",
    );
    refused_inside("%m = memref.alloc() : memref<4f32>", "2:31: expected `x` behind an extent, found `f32`");
    refused_inside("%m = memref.alloc() : memref<4xf32", "3:1: expected `>`, found `return`");
    refused_inside(
        "%b = arith.cmpi less, %a, %a : i32",
        "2:17: expected one of `eq`, `ne`, `slt`, `sle`, `sgt`, `sge`, `ult`, `ule`, `ugt`, `uge`, found `less`",
    );
    refused_inside(
        "%b = arith.constant #missing",
        "2:21: expected an attribute's alias that is defined before, found `#missing`",
    );
    refused_inside(
        "%b = arith.constant 1 : !missing",
        "2:25: expected a type's alias that is defined before, found `!missing`",
    );
    refused("#a = 1\n#a = 2", "2:1: expected an alias that is not defined yet, found `#a`, which is");
    refused(
        "module attributes {x = 1, x = 2} {}",
        "1:27: expected a name that is not in the list yet, found `x`",
    );
    refused(
        "module attributes {x = #gpu.address_space<workgroup} {}",
        "1:52: expected the bracket that closes the last one, found `}`",
    );
    refused(
        "module attributes {x = \"no end\n\"} {}",
        "1:24: expected an attribute, found a string without an end",
    );
    refused(
        "module attributes {x = affine_map<(d0) -> (d1)>} {}",
        "1:44: expected a dimension or symbol of this map, found `d1`",
    );
    refused(
        "module attributes {x = affine_map<(d0)[d0] -> ()>} {}",
        "1:40: expected a name that is not declared yet, found `d0`",
    );
    refused(
        "module attributes {x = affine_map<(d0) -> (d0 mod 0)>} {}",
        "1:47: expected a positive divisor, found zero or less",
    );
    refused(
        "func.func @f(%m: !gpu.mma_matrix<16x16xf16, \"DOp\">) {\nreturn\n}",
        "1:45: expected `\"AOp\"`, `\"BOp\"` or `\"COp\"`, found `\"DOp\"`",
    );
    refused(
        "\"x.y\"() : () -> () loc(#nowhere)",
        "1:24: expected an alias that is defined somewhere, found `#nowhere`, which is not",
    );
}

#[test]
fn words() {
    assert!(parse("").expect("nothing is a text").ops.is_empty());
    refused("module {", "1:9: expected an operation, a block or `}`, found the end of the text");
    refused("module }", "1:8: expected `{`, found `}`");
    refused("module { % }", "1:10: expected an operation, found `%` without a name");
    refused("é", "1:1: expected an operation, found a character outside of strings that is not ASCII");
    refused("\u{1}", "1:1: expected an operation, found a control character");
    refused("\"x\"y\"() : () -> ()", "1:4: expected `(`, found `y`");
    refused("\"a b\"() : () -> ()", "1:1: expected an operation's name, found `a b`");
    refused("\"x.y\"() : (i32) -> ()", "1:11: expected 0 types of operands, found 1");
}

#[test]
fn what_is_not_built_is_named() {
    for (text, what) in [
        ("linalg.matmul ins() outs()", "the operation `linalg.matmul`"),
        ("func.func @f() {\nspirv.Return\n}", "the operation `spirv.Return`"),
        ("module attributes {x = dense_resource<blob> : tensor<4xf32>} {}", "the attribute `dense_resource`"),
        ("func.func private @f(vector<[4]xf32>)", "vectors of scalable length"),
        ("module attributes {x = 1.0 : f80} {}", "numbers of type `f80`"),
        ("func.func private @f(complex<f32>)", "the type `complex`"),
        ("func.func private @f(tensor<4xf32, #x.y>)", "tensors with an encoding"),
        ("{-# dialect_resources: {} #-}", "resources of dialects"),
    ] {
        let error = parse(text).expect_err(text);
        let Problem::Unsupported { what: found } = &error.problem else { panic!("{error}") };
        assert_eq!(&**found, what, "{error}");
    }
}

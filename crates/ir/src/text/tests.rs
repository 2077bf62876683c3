//! Round trips and messages.

use super::{parse, print};
use crate::verify;
use expect_test::{Expect, expect};

/// Every part of the grammar.
const SAMPLE: &str = r#"kernel "main \"x\""
workgroup_size 32 2 1
subgroup_size 32
components fragments
shared 1024
push 16
binding buf0 = 0.0 storage writable "out"
binding buf1 = 1.3 uniform count=*
binding buf2 = 0.2 storage count=4
format "x = %d\n"
loc !1 "a.comp" 12 word=44
loc !2 "" 0
var $acc: mat<16x8xf32, subgroup, acc>[4]
var $1: i32
var $2: f32[3] "acc"
var $table: i16[3] = [1, -1, 0]

{
  %0: i32 = const 0
  %1: f32 = const 1.5
  %2: f32 = const 0x7fc00001
  %3: f32 = const -inf
  %4: bf16 = const 0.100097656
  %5: e4m3 = const -448.0
  %6: i8 = const -128
  %7: bool = const true
  %8: f64 = const 1e-300
  %9: f32 = fadd %1, %2 exact !1
  %10: ptr<buffer> = buffer_ptr<buf2> %0
  %11: ptr<buffer> = ptr_add<scale=-4, disp=16> %10, %0
  %12: i32, %13: i32 = load<volatile, nontemporal> %11
  %14: i32 = workgroup_id<z>
  %15: e5m2 = f_to_f<toward_zero, saturate> %9
  %16: i32 = subgroup_reduce<iadd, cluster=8> %14
  %17: i32, %18: i32, %19: i32, %20: i32 = subgroup_ballot %7
  %21: i64 = clock
  %22: ptr<shared> = shared_ptr<offset=0, bytes=64>
  %23: mat<16x8xf32, subgroup, acc> = mat_load<column_major> %22, %21
  var_store<$acc> %0, %23
  %24: f32 = var_component_load<$acc> %0, %14
  barrier<workgroup, workgroup>
  block @0 {
    loop @1 {
      if %7 {
        br @0
      } else {
        printf<format=0> %14
        br @1
      }
    }
  }
  if %7 {
    %25: i32 = atomic_compare_exchange %22, %0, %0
  }
  %26: i16 = var_load<$table> %0
  return
}
"#;

#[test]
fn sample_round_trips() {
    let module = parse(SAMPLE).unwrap();
    assert_eq!(print(&module), SAMPLE);
    verify(module).unwrap();
}

#[test]
fn names_are_free() {
    let text = "var $i: i32 {
        %zero: i32 = const 0 var_store<$i> %zero
        loop @again { %x: i32 = var_load<$i>
            %done: bool = ieq %x, %zero if %done { } else { br @again } }
    }";
    let expected = expect![[r#"
        kernel ""
        workgroup_size 1 1 1
        subgroup_size 32
        var $i: i32

        {
          %0: i32 = const 0
          var_store<$i> %0
          loop @0 {
            %1: i32 = var_load<$i>
            %2: bool = ieq %1, %0
            if %2 {
            } else {
              br @0
            }
          }
        }
    "#]];
    expected.assert_eq(&print(&parse(text).unwrap()));
}

/// The errors of several texts, one a line.
fn check_errors(texts: &[&str], expected: Expect) {
    let errors: Vec<_> = texts.iter().map(|t| parse(t).unwrap_err().to_string()).collect();
    expected.assert_eq(&(errors.join("\n") + "\n"));
}

#[test]
fn errors_name_the_place() {
    check_errors(
        &[
            "",
            "kernal",
            "{ %0: i32 = const 300000000000 }",
            "{ %0: i33 = const 3 }",
            "{\n  %0: i32 = iadd %1, %1\n}",
            "{ nonsense }",
            "{ %0: i32 = const 1\n %0: i32 = const 1 }",
            "{ br @3 }",
            "{ %0: i32 = workgroup_id }",
            "{ %0: i32 = workgroup_id<w> }",
            "{ %0: i32 = var_load<$x> }",
            "{ %0: i32 = clock<x> }",
            "{ %p: ptr<push> = push_ptr\n %q: ptr<push> = ptr_add<disp=a> %p }",
            "{ %0: mat<16x16xf32, lane, a> = const 3 }",
            "{ return } }",
            "{ \u{e9} }",
            "kernel \"open",
            "loc !2 \"\" 1 {}",
        ],
        expect![[r#"
            1:1: expected `kernel`, `workgroup_size`, `subgroup_size`, `components`, `shared`, `push`, `binding`, `format`, `loc`, `var` or `{`, found the end
            1:1: expected `kernel`, `workgroup_size`, `subgroup_size`, `components`, `shared`, `push`, `binding`, `format`, `loc`, `var` or `{`, found `kernal`
            1:19: expected a constant of i32, found `300000000000`
            1:7: expected a type, found `i33`
            2:18: expected a value that is defined, found `%1`
            1:3: expected the name of an operation, found `nonsense`
            2:2: expected a value that is not defined yet, found `%0`
            1:6: expected a label of a construct before, found `@3`
            1:26: expected `x`, `y`, `z`, found `}`
            1:26: expected `x`, `y`, `z`, found `w`
            1:22: expected a variable of the module, found `$x`
            1:19: expected nothing more for `clock`, found `x`
            2:31: expected a number, found `a`
            1:22: expected `invocation`, `subgroup`, `workgroup`, `device`, found `lane`
            1:12: expected the end, found `}`
            1:3: expected a token, found 'é'
            1:8: expected a closed string, found `"`
            1:5: expected `!1`, found `!2`
        "#]],
    );
}

#[test]
fn nesting_is_limited() {
    let text = "{ ".to_string() + &(0..100_000).map(|i| format!("block @{i} {{ ")).collect::<String>();
    assert!(parse(&text).unwrap_err().to_string().contains("less nesting"));
}

#[test]
fn every_operation_has_one_name() {
    let mut names: Vec<_> = super::ops::templates().iter().map(super::ops::mnemonic).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn broken_modules_print() {
    let mut module = parse("{ %0: i32 = const 0\n block @0 { } }").unwrap();
    module.body.blocks[1].push(crate::Inst::new(9));
    module.body.blocks[0].push(crate::Inst::new(1));
    module.body.insts[0].args.push(crate::Value::new(0));
    module.body.insts[0].results.push(crate::Value::new(77));
    let text = print(&module);
    assert!(text.contains("i9 is missing") && text.contains("b1 is missing, used before"), "{text}");
}

#[test]
fn examples_of_the_manual_are_valid() {
    let manual = include_str!("../../../../docs/ir.md");
    let examples: Vec<_> =
        manual.split("```phalanx\n").skip(1).filter_map(|s| s.split("```").next()).collect();
    assert!(!examples.is_empty());
    for example in examples {
        let module = parse(example).unwrap();
        assert_eq!(print(&parse(&print(&module)).unwrap()), print(&module));
        verify(module).unwrap();
    }
}

#[test]
fn every_kind_of_sampling_round_trips() {
    let kinds =
        ["sample", "compare", "gather_red", "gather_green", "gather_blue", "gather_alpha", "gather_compare"];
    let ends =
        ["level", "gradients", "base", "level, offset", "gradients, min_lod", "level, offset, min_lod"];
    for (sampler, kind, end) in ["", "sampler, buf1, "]
        .into_iter()
        .flat_map(|s| kinds.into_iter().flat_map(move |k| ends.map(move |e| (s, k, e))))
    {
        let text = format!(
            "kernel \"main\"\nworkgroup_size 1 1 1\nsubgroup_size 4\n\
             binding buf0 = 0.0 combined_image_2d\nbinding buf1 = 0.1 sampler\n\n\
             {{\n  image_sample<buf0, {sampler}{kind}, {end}>\n}}\n"
        );
        assert_eq!(parse(&text).map(|module| print(&module)), Ok(text));
    }
}

//! What becomes of matrices, for a target that goes straight through rows of eight and more, and of powers of two.

use super::{Elements, elements};
use crate::passes::Options;
use crate::types::{MatType, Scalar};
use crate::{text, verify};

/// A kernel around some code, and what the passes make of it, without its values' numbers.
fn passed(code: &str) -> Option<String> {
    let code = format!(
        "workgroup_size 32 1 1 subgroup_size 32
        binding buf0 = 0.0 storage writable
        var $m: mat<16x64xf32, subgroup, acc>
        var $n: mat<16x64xf32, subgroup, acc> {{
          %0: i32 = const 0
          %64: i64 = const 256
          %p: ptr<buffer> = buffer_ptr<buf0> %0
          %push: ptr<push> = push_ptr
          %zero: f32 = const 0x0
          %one: f32 = const 0x3f800000
          %x: mat<16x64xf32, subgroup, acc> = mat_load %p, %64
          {code}
        }}"
    );
    // Two spaces end an instruction.
    let code = code.replace("  ", "\n");
    let module = text::parse(&code).unwrap_or_else(|e| panic!("{e}\n{code}"));
    let module = verify(crate::Module { push_bytes: 4, ..module }).unwrap_or_else(|e| panic!("{e}\n{code}"));
    let maps = |m: MatType| m.cols >= 8 && m.elem != Scalar::I8;
    let folds = |from: MatType, to: MatType| maps(from) && maps(to) && from.cols.is_power_of_two();
    let options = Options { verify: true, observe: None };
    let made = elements(&module, Elements { maps: &maps, folds: &folds }, &options);
    made.unwrap_or_else(|e| panic!("{e}")).map(|module| module.to_string())
}

/// How often each word is in what becomes of some code; nothing if that stays as it is.
fn counts<const N: usize>(code: &str, words: [&str; N]) -> Option<[usize; N]> {
    let text = passed(code)?;
    Some(words.map(|word| text.matches(word).count()))
}

const LARGER: &str = "{ %a: f32, %b: f32 = params  %c: f32 = fmax %a, %b  yield %c }";
const WIDE: &str = "mat<16x64xf32, subgroup, acc>";

/// A reduction of the rows of a matrix.
fn reduced(name: &str, of: &str, body: &str) -> String {
    let names = ["a", "b", "c"]
        .iter()
        .fold(body.to_owned(), |b, n| b.replace(&format!("%{n}"), &format!("%{name}{n}")));
    format!("%{name}: {WIDE} = mat_reduce<row> %{of} {names}\n")
}

#[test]
fn numbers_of_rows_are_narrow_until_something_wide_needs_them() {
    let top = reduced("t", "x", LARGER);
    let code = format!("{top}  %u: {WIDE} = fadd %t, %t  %d: {WIDE} = fsub %x, %u  mat_store %p, %d, %64");
    let text = passed(&code).unwrap();
    assert_eq!(text.matches("mat<16x8xf32, subgroup, acc> = ").count(), 2, "{text}");
    // The sum of narrow matrices is a function with what takes it.
    assert_eq!(text.matches("mat_map").count(), 1, "{text}");
}

#[test]
fn what_is_stored_stays_wide() {
    let top = reduced("t", "x", LARGER);
    assert_eq!(passed(&format!("{top}  mat_store %p, %t, %64")), None);
    assert_eq!(passed(&format!("{top}  %u: {WIDE} = fadd %t, %x  mat_store %p, %t, %64")), None);
    assert_eq!(passed(&format!("{top}  %i: f32 = mat_extract %t, %0  store %p, %i")), None);
}

#[test]
fn rows_of_rows_are_themselves() {
    let code = |body: &str| {
        let (top, again) = (reduced("t", "x", LARGER), reduced("s", "t", body));
        format!("{top}  {again}  %d: {WIDE} = fsub %x, %s  mat_store %p, %d, %64")
    };
    for body in [LARGER, "{ %a: f32, %b: f32 = params  yield %a }", "{ %a: f32, %b: f32 = params  yield %b }"]
    {
        assert_eq!(counts(&code(body), ["mat_reduce", "mat_map"]), Some([1, 1]), "{body}");
    }
    // The sum of equal elements is another number; nothing is gained.
    let sum = "{ %a: f32, %b: f32 = params  %c: f32 = fadd %a, %b  yield %c }";
    assert_eq!(counts(&code(sum), ["mat_reduce", "mat_map"]), Some([2, 1]));
    let text = passed(&code(sum)).unwrap();
    assert!(text.contains(&format!("{WIDE} = mat_reduce<row>")), "{text}");
}

#[test]
fn variables_are_narrow_if_all_that_they_hold_is() {
    let code = |stored: &str, used: &str| {
        format!(
            "%z: {WIDE} = mat_splat %zero
            var_store<$m> %z
            loop @next {{
              {}
              %o: {WIDE} = var_load<$m>
              %n: {WIDE} = fadd %o, %t
              {stored}
              {used}
              if %cond {{ br @next }}
            }}",
            reduced("t", "x", LARGER)
        )
    };
    let code = |stored: &str, used: &str| format!("%cond: bool = ieq %0, %0  {}", code(stored, used));
    let used = format!("%d: {WIDE} = fsub %x, %n  mat_store %p, %d, %64");
    let is_narrow = |code: &str| passed(code).is_some_and(|text| text.contains("var $0: mat<16x8xf32"));
    let is_narrow = |stored: &str, used: &str| {
        let text = passed(&code(stored, used));
        is_narrow(&code(stored, used)) || text.is_some_and(|text| text.contains("$m: mat<16x8xf32"))
    };
    assert!(is_narrow("var_store<$m> %n", &used));
    assert!(!is_narrow("var_store<$m> %x", &used));
    assert!(!is_narrow("var_store<$m> %n  var_component_store<$m> %0, %0, %one", &used));
    // Sums of another product begin with it.
    let factors = "%a: mat<16x16xf32, subgroup, a> = mat_load %p, %64
        %b: mat<16x64xf32, subgroup, b> = mat_load %p, %64";
    let sum = format!("{factors} %d: {WIDE} = mat_mul_add %a, %b, %n  mat_store %p, %d, %64");
    assert!(!is_narrow("var_store<$m> %n", &sum));
}

#[test]
fn functions_that_know_the_column_are_wide() {
    let code = |region: &str, around: &str| {
        let top = reduced("t", "x", LARGER);
        format!(
            "{around}  {top}  %f: {WIDE} = mat_map %t {{ %r: i32, %k: i32, %e: f32 = params  {region}  yield %y }}
            %d: {WIDE} = fsub %x, %f  mat_store %p, %d, %64"
        )
    };
    let narrow = |region: &str, around: &str| {
        passed(&code(region, around)).unwrap().matches("mat<16x8xf32, subgroup, acc> = ").count()
    };
    assert_eq!(narrow("%y: f32 = fadd %e, %e", ""), 2);
    assert_eq!(narrow("%g: f32 = u_to_f %r  %y: f32 = fadd %e, %g", ""), 2);
    assert_eq!(narrow("%g: f32 = u_to_f %k  %y: f32 = fadd %e, %g", ""), 1);
    // What is the same for all lanes, and what is not.
    let (push, lane) = ("%v: f32 = load %push", "%w: i32 = subgroup_lane  %v: f32 = u_to_f %w");
    assert_eq!(narrow("%y: f32 = fadd %e, %v", push), 2);
    assert_eq!(narrow("%y: f32 = fadd %e, %v", lane), 1);
}

#[test]
fn products_with_ones_are_sums_of_rows() {
    let code = |number: &str, c: &str, flags: &str| {
        format!(
            "%h: f16 = const {number}
            %a: mat<16x16xf16, subgroup, a> = f_to_f %y
            %b: mat<16x64xf16, subgroup, b> = mat_splat %h
            %c: {WIDE} = {c}
            %s: {WIDE} = mat_mul_add{flags} %a, %b, %c
            %d: {WIDE} = fsub %x, %s  mat_store %p, %d, %64"
        )
    };
    let code = |number: &str, c: &str, flags: &str| {
        format!("%y: mat<16x16xf32, subgroup, acc> = mat_load %p, %64  {}", code(number, c, flags))
    };
    let is_sum = |code: &str| counts(code, ["mat_mul_add", "mat_reduce"]) == Some([0, 1]);
    assert!(is_sum(&code("0x3c00", "mat_splat %zero", "")));
    assert!(!is_sum(&code("0x4000", "mat_splat %zero", "")));
    assert!(!is_sum(&code("0x3c00", "mat_load %p, %64", "")));
    let text = passed(&code("0x3c00", "mat_splat %zero", "")).unwrap();
    // Halves are summed as binary32.
    assert!(text.contains("mat<16x8xf32, subgroup, acc> = mat_reduce<row>"), "{text}");
}

#[test]
fn chains_are_functions_of_each_element() {
    let code = |uses: &str| {
        format!(
            "%h: mat<16x64xf16, subgroup, acc> = f_to_f %x
            %c: f16 = const 0x4000
            %s: mat<16x64xf16, subgroup, acc> = mat_splat %c
            %m: mat<16x64xf16, subgroup, acc> = fmul %h, %s
            %w: {WIDE} = f_to_f %m
            %v: {WIDE} = mat_scale %w, %one
            %r: {WIDE} = fadd %v, %x
            mat_store %p, %r, %64
            {uses}"
        )
    };
    let words = ["mat_map", "mat_splat", "f_to_f", "mat_scale", "= fmul"];
    // The factor is one number in the function; the scale is, too.
    assert_eq!(counts(&code(""), words), Some([1, 0, 2, 0, 2]));
    let text = passed(&code("")).unwrap();
    assert!(text.contains("fmul") && text.contains(": f16 = fmul"), "{text}");
    // What is looked at once more is stored.
    assert_eq!(counts(&code("mat_store %p, %m, %64"), words), Some([2, 0, 2, 0, 2]));
    // In another block, it is left where it was.
    let once =
        format!("%r: {WIDE} = fadd %x, %x  block @b {{  %q: {WIDE} = fmul %r, %r  mat_store %p, %q, %64 }}");
    assert_eq!(passed(&once), None);
}

#[test]
fn functions_that_act_end_chains() {
    let code = |region: &str| {
        format!(
            "%m: {WIDE} = mat_map %x {{ %r: i32, %k: i32, %e: f32 = params  {region}  yield %e }}
            %n: {WIDE} = fadd %m, %m  mat_store %p, %n, %64"
        )
    };
    assert_eq!(counts(&code(""), ["mat_map"]), Some([1]));
    assert_eq!(passed(&code("store %p, %e")), None);
    // But they may end one.
    let last = format!(
        "%m: {WIDE} = fadd %x, %x
        %n: {WIDE} = mat_map %m {{ %r: i32, %k: i32, %e: f32 = params  store %p, %e  yield %e }}
        mat_store %p, %n, %64"
    );
    assert_eq!(counts(&last, ["mat_map", "= fadd"]), Some([1, 1]));
}

#[test]
fn other_shapes_are_left() {
    let bytes = "%b: mat<16x64xi8, subgroup, acc> = mat_load %p, %64
        %c: mat<16x64xi8, subgroup, acc> = iadd %b, %b
        %d: mat<16x64xi8, subgroup, acc> = imul %c, %b
        mat_store %p, %d, %64";
    assert_eq!(passed(bytes), None);
}

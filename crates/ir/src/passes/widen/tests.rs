//! Code before and after, by the matrices in it.

use super::*;
use crate::{text, verify};
use std::fmt::Write;

/// A product of 2×2 matrices of 4×4, each with a stride of its own for what it adds to.
fn product(stride: &str) -> String {
    let mut code = format!(
        "workgroup_size 4 1 1 subgroup_size 4 shared 4096 push 8
        binding buf0 = 0.0 storage writable
        var $c: mat<4x4xf32, subgroup, acc>[4] var $k: i32 {{
        %zero: i32 = const 0
        %one: i32 = const 1
        %two: i32 = const 2
        %three: i32 = const 3
        %four: i32 = const 4
        %line: i64 = const 32
        %ten: i64 = const 64
        %0: f32 = const 0
        %push: ptr<push> = push_ptr
        %s: ptr<shared> = shared_ptr<offset=0, bytes=4096>
        %o: ptr<buffer> = buffer_ptr<buf0> %zero
        %id: i32 = subgroup_id
        %start: mat<4x4xf32, subgroup, acc> = mat_splat %0
        {stride}\n"
    );
    let names = ["zero", "one", "two", "three"];
    for name in names {
        writeln!(code, "var_store<$c> %{name}, %start").unwrap();
    }
    code += "var_store<$k> %zero
        loop @next {
            barrier<workgroup, workgroup>
            %pa: ptr<shared> = ptr_add<scale=128> %s, %id
            %a0: mat<4x8xf16, subgroup, a> = mat_load %pa, %line
            %below: ptr<shared> = ptr_add<disp=128> %pa
            %a1: mat<4x8xf16, subgroup, a> = mat_load %below, %line\n";
    for j in 0..2 {
        writeln!(
            code,
            "%j{j}: i32 = imul %four, %{}
             %pb{j}: ptr<shared> = ptr_add<scale=2, disp=1024> %s, %j{j}
             %b{j}: mat<8x4xf16, subgroup, b> = mat_load %pb{j}, %line",
            names[j]
        )
        .unwrap();
        for i in 0..2 {
            let (e, name) = (2 * i + j, names[2 * i + j]);
            writeln!(
                code,
                "%x{e}: mat<4x4xf32, subgroup, acc> = var_load<$c> %{name}
                 %y{e}: mat<4x4xf32, subgroup, acc> = mat_mul_add %a{i}, %b{j}, %x{e}
                 var_store<$c> %{name}, %y{e}"
            )
            .unwrap();
        }
    }
    code += "%k: i32 = var_load<$k>
        %n: i32 = iadd %k, %one
        var_store<$k> %n
        %go: bool = ult %n, %four
        if %go {
            br @next
        }
        }\n";
    for (e, name) in names.iter().enumerate() {
        let (row, col) = (["zero", "four"][e / 2], ["zero", "four"][e % 2]);
        writeln!(
            code,
            "%w{e}: i32 = load %push
             %r{e}: i32 = imul %w{e}, %{row}
             %e{e}: i32 = iadd %r{e}, %{col}
             %p{e}: ptr<buffer> = ptr_add<scale=4> %o, %e{e}
             %z{e}: mat<4x4xf32, subgroup, acc> = var_load<$c> %{name}
             mat_store %p{e}, %z{e}, %stride"
        )
        .unwrap();
    }
    code + "}"
}

/// Rows are so many numbers apart as a push constant says.
fn any_stride() -> String {
    product(
        "%words: i32 = load %push\n%long: i64 = u_to_u %words\n%size: i64 = const 4\n%stride: i64 = imul %long, %size",
    )
}

/// They are 16 numbers apart.
fn known_stride() -> String {
    let code = product("%words: i32 = const 16\n%stride: i64 = const 64");
    (0..4).fold(code, |code, e| {
        code.replace(&format!("%w{e}: i32 = load %push"), "").replace(&format!("%w{e}"), "%words")
    })
}

/// The matrices that there are, with their number.
fn widened(code: &str) -> Vec<String> {
    let module = verify(text::parse(code).unwrap_or_else(|e| panic!("{e}\n{code}")));
    let mut module = module.unwrap_or_else(|e| panic!("{e}\n{code}")).into_inner();
    module.body = super::super::opt_dce::run(&run(&module.body));
    let module = verify(module).unwrap_or_else(|e| panic!("{e}\n{code}"));
    let reached = Tree::new(&module.body);
    let mut types: BTreeMap<String, usize> = BTreeMap::new();
    for &inst in reached.order() {
        let info = module.body.inst(inst);
        let ty = match info.op {
            Op::MatLoad { .. } | Op::MatMulAdd(_) => module.body.ty(info.results[0]),
            Op::MatStore { .. } => module.body.ty(info.args[1]),
            _ => continue,
        };
        let name = match info.op {
            Op::MatLoad { .. } => "load",
            Op::MatStore { .. } => "store",
            _ => "add",
        };
        let m = ty.mat().unwrap();
        *types.entry(format!("{name} {}x{}", m.rows, m.cols)).or_default() += 1;
    }
    types.into_iter().map(|(name, count)| format!("{count} {name}")).collect()
}

const NARROW: [&str; 4] = ["4 add 4x4", "2 load 4x8", "2 load 8x4", "4 store 4x4"];

#[test]
fn sums_that_lie_side_by_side_and_below_each_other_are_one() {
    assert_eq!(widened(&known_stride()), ["1 add 8x8", "2 load 8x8", "1 store 8x8"]);
    let columns = known_stride().replace("mat_store", "mat_store<column_major>");
    assert_eq!(widened(&columns), NARROW);
}

#[test]
fn rows_that_are_nobody_knows_how_far_apart_stay() {
    let side_by_side = ["2 add 4x8", "2 load 4x8", "1 load 8x8", "2 store 4x8"];
    assert_eq!(widened(&any_stride()), side_by_side);
    let apart = known_stride().replace("ptr_add<disp=128> %pa", "ptr_add<disp=96> %pa");
    assert_eq!(widened(&apart), side_by_side);
}

#[test]
fn columns_that_are_apart_stay() {
    let one_below_the_other = ["2 add 8x4", "2 load 8x4", "1 load 8x8", "2 store 8x4"];
    for (from, to) in [
        ("scale=2, disp=1024", "scale=4, disp=1024"),
        ("%j1: i32", "barrier<workgroup, workgroup>\n%j1: i32"),
        ("%j1: i32", "store %s, %zero\n%j1: i32"),
    ] {
        let code = known_stride().replace(from, to);
        assert_eq!(widened(&code), one_below_the_other, "{from} → {to}");
    }
}

#[test]
fn what_is_done_with_one_sum_alone_keeps_all() {
    let lane = "%lane: i32 = subgroup_lane\n%f: f32 = u_to_f %lane\n";
    for (from, to) in [
        ("mat_store %p1", "store %o, %zero\nmat_store %p1"),
        ("mat_store %p1", "mat_store<volatile> %p1"),
        ("mat_store %p1, %z1", "%neg: mat<4x4xf32, subgroup, acc> = fneg %z1\nmat_store %p1, %neg"),
        ("mat_store %p1, %z1", "%q: f32 = mat_extract %z1, %zero\nmat_store %p1, %z1"),
        ("var_store<$c> %one, %start", "var_store<$c> %id, %start"),
        (
            "var_store<$c> %one, %start",
            "%f: f32 = const 1065353216\n%other: mat<4x4xf32, subgroup, acc> = mat_splat %f\nvar_store<$c> %one, %other",
        ),
        (
            "%start: mat<4x4xf32, subgroup, acc> = mat_splat %0",
            &format!("{lane}%start: mat<4x4xf32, subgroup, acc> = mat_splat %f"),
        ),
        // A round for one sum only.
        (
            "%go: bool",
            "%x: mat<4x4xf32, subgroup, acc> = var_load<$c> %two\nvar_store<$c> %two, %x\n%go: bool",
        ),
        // Element 1 is stored first, and then looked at in a loop.
        ("var_store<$c> %one, %start", "loop @one {\nvar_store<$c> %one, %start\n}"),
    ] {
        let code = known_stride().replace(from, to);
        assert_ne!(code, known_stride(), "{from}");
        let ops = widened(&code);
        assert!(ops.iter().any(|op| op == NARROW[0]), "{from} → {to}: {ops:?}");
    }
}

#[test]
fn a_function_of_the_elements_of_all_sums_is_done_once() {
    let mapped = |own: &str| {
        (0..4).fold(known_stride(), |code, e| {
            let map = format!(
                "%m{e}: mat<4x4xf32, subgroup, acc> = mat_map %z{e} {{
                    %row{e}: i32, %col{e}: i32, %v{e}: f32 = params
                    %f{e}: f32 = {}
                    yield %f{e}
                }}
                mat_store %p{e}, %m{e}",
                own.replace("ROW", &format!("%q{e}"))
                    .replace("VALUE", &format!("%v{e}"))
                    .replace('E', &e.to_string())
            );
            let row = format!("%q{e}: f32 = u_to_f %row{e}\n%f{e}: f32");
            let map = if own.contains("ROW") { map.replace(&format!("%f{e}: f32"), &row) } else { map };
            code.replace(&format!("mat_store %p{e}, %z{e}"), &map)
        })
    };
    assert_eq!(widened(&mapped("fmax VALUE, %0")), ["1 add 8x8", "2 load 8x8", "1 store 8x8"]);
    // One that knows where an element is, and one that is another for each sum.
    assert_eq!(widened(&mapped("fmul VALUE, ROW")), NARROW);
    let others = mapped("fmul VALUE, %0").replacen("fmul %v2", "fadd %v2", 1);
    assert_eq!(widened(&others), NARROW);
}

#[test]
fn what_is_done_with_all_sums_is_done_once() {
    let code = (0..4).fold(known_stride(), |code, e| {
        let twice = format!(
            "%t{e}: mat<4x4xf32, subgroup, acc> = fadd %z{e}, %z{e}
             %n{e}: mat<4x4xf32, subgroup, acc> = fneg %t{e}
             %h{e}: mat<4x4xf32, subgroup, acc> = mat_scale %n{e}, %0
             mat_store %p{e}, %h{e}"
        );
        code.replace(&format!("mat_store %p{e}, %z{e}"), &twice)
    });
    assert_eq!(widened(&code), ["1 add 8x8", "2 load 8x8", "1 store 8x8"]);
}

/// Sums begin with what is loaded once for each column.
fn biased(apart: u32) -> String {
    let bias = |at: u32, name: &str| {
        format!(
            "%at_{name}: ptr<buffer> = ptr_add<disp={at}> %o
             %bias_{name}: mat<4x4xf32, subgroup, acc> = mat_load %at_{name}, %again
             var_store<$c> %{name}, %bias_{name}"
        )
    };
    let (left, right) = (bias(0, "zero"), bias(apart, "one"));
    known_stride()
        .replace("%start: mat", "%again: i64 = const 0\n%start: mat")
        .replace("var_store<$c> %zero, %start", &left)
        .replace("var_store<$c> %one, %start", &right)
        .replace("var_store<$c> %two, %start", "var_store<$c> %two, %bias_zero")
        .replace("var_store<$c> %three, %start", "var_store<$c> %three, %bias_one")
}

#[test]
fn what_several_sums_begin_with_is_loaded_once_for_all() {
    assert_eq!(widened(&biased(16)), ["1 add 8x8", "3 load 8x8", "1 store 8x8"]);
    // What the columns begin with lies apart: rows alone are joined.
    let one_below_the_other = ["2 add 8x4", "4 load 8x4", "1 load 8x8", "2 store 8x4"];
    assert_eq!(widened(&biased(32)), one_below_the_other);
    // Loaded to be stored again, nothing is loaded more often than it was.
    let alone = biased(16).replace("mat_store %p1", "mat_store<volatile> %p1");
    let as_it_was = ["4 add 4x4", "2 load 4x4", "2 load 4x8", "2 load 8x4", "4 store 4x4"];
    assert_eq!(widened(&alone), as_it_was);
}

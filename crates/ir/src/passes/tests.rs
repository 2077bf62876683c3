//! Text before and after.

mod unroll;

use super::{Options, compact, join_known, optimize};
use crate::{Module, Op, Scalar, Tree, Uniformity, text, verify};
use expect_test::{Expect, expect};
use std::fmt::Write;

fn parse(code: &str) -> crate::Verified {
    let module = text::parse(code).unwrap_or_else(|e| panic!("{e}\n{code}"));
    verify(module).unwrap_or_else(|e| panic!("{e}\n{code}"))
}

fn run(code: &str) -> Module {
    let options = Options { verify: true, ..Options::default() };
    let module = optimize(parse(code), &options).unwrap_or_else(|e| panic!("{e}\n{code}"));
    assert_eq!(text::parse(&module.to_string()).unwrap(), *module, "compact gives the order of the text");
    module.into_inner()
}

/// The body after all passes.
fn check(code: &str, expected: Expect) {
    let text = run(code).to_string();
    let body = text.find("\n{").map_or("", |at| &text[at + 1..]);
    expected.assert_eq(body);
}

#[test]
fn constants_and_identities() {
    check(
        "push 8 {
            %p: ptr<push> = push_ptr
            %zero: i32 = const 0
            %two: i32 = const 2
            %x: i32 = load %p
            %a: i32 = iadd %two, %two
            %b: i32 = imul %a, %a
            %c: i32 = iadd %x, %zero
            %d: bool = slt %b, %a
            %e: i32 = select %d, %two, %c
            %q: ptr<push> = ptr_add<scale=4> %p, %two
            %r: ptr<push> = ptr_add<disp=-4> %q
            %y: i32 = load %r
            %s: ptr<global> = int_to_ptr %z
            store %s, %b, %e, %y
        }"
        .replace("%s: ptr", "%z: i64 = const 16\n %s: ptr")
        .as_str(),
        expect![[r#"
            {
              %0: i32 = const 16
              %1: i64 = const 16
              %2: ptr<push> = push_ptr
              %3: i32 = load %2
              %4: ptr<push> = ptr_add<disp=4> %2
              %5: i32 = load %4
              %6: ptr<global> = int_to_ptr %1
              store %6, %0, %3, %5
            }
        "#]],
    );
}

#[test]
fn constant_branches() {
    check(
        "shared 64 var $x: i32 {
            %one: i32 = const 1
            %yes: bool = ieq %one, %one
            %p: ptr<shared> = shared_ptr<offset=0, bytes=64>
            block @out {
                if %yes { var_store<$x> %one\n br @out } else { return }
                store %p, %one
            }
            loop @once { %x: i32 = var_load<$x>\n store %p, %x }
        }",
        expect![[r#"
            {
              %0: i32 = const 1
              %1: ptr<shared> = shared_ptr<offset=0, bytes=64>
              store %1, %0
            }
        "#]],
    );
}

#[test]
fn forwarding_joins_paths() {
    check(
        "shared 64 var $x: i32 var $y: i32 var $z: i32[2] {
            %zero: i32 = const 0
            %one: i32 = const 1
            %two: i32 = const 2
            %p: ptr<shared> = shared_ptr<offset=0, bytes=64>
            %a: i32 = load %p
            %c: bool = ieq %a, %one
            var_store<$x> %a
            var_store<$y> %a
            if %c { var_store<$x> %one\n var_store<$z> %one, %two } else { var_store<$z> %one, %two }
            %b: i32 = var_load<$y>
            %d: i32 = var_load<$x>
            %e: i32 = var_load<$z> %one
            %f: i32 = var_load<$z> %two
            store %p, %b, %d, %e, %f
        }",
        expect![[r#"
            {
              %0: i32 = const 0
              %1: i32 = const 1
              %2: i32 = const 2
              %3: ptr<shared> = shared_ptr<offset=0, bytes=64>
              %4: i32 = load %3
              %5: bool = ieq %4, %1
              var_store<$x> %4
              if %5 {
                var_store<$x> %1
              }
              %6: i32 = var_load<$x>
              store %3, %4, %6, %2, %0
            }
        "#]],
    );
}

#[test]
fn dead_stores() {
    check(
        "shared 64 var $x: i32 var $i: i32 {
            %zero: i32 = const 0
            %p: ptr<shared> = shared_ptr<offset=0, bytes=64>
            var_store<$x> %zero
            var_store<$i> %zero
            loop @again {
                %a: i32 = load<volatile> %p
                var_store<$x> %a
                %c: bool = ieq %a, %zero
                if %c { br @again }
                var_store<$x> %zero
                if %c { } else { }
            }
            %x: i32 = var_load<$x>
            store %p, %x
            var_store<$x> %zero
        }",
        expect![[r#"
            {
              %0: i32 = const 0
              %1: ptr<shared> = shared_ptr<offset=0, bytes=64>
              loop @0 {
                %2: i32 = load<volatile> %1
                %3: bool = ieq %2, %0
                if %3 {
                  br @0
                }
              }
              store %1, %0
            }
        "#]],
    );
}

#[test]
fn stores_live_behind_a_way_out_of_a_loop_stay() {
    let code = "shared 64 subgroup_size 4 var $x: i32 {
        %p: ptr<shared> = shared_ptr<offset=0, bytes=64>
        %0: i32 = const 0
        %1: i32 = const 1
        var_store<$x> %0
        block @out {
            loop @again {
                %a: i32 = load<volatile> %p
                %c: bool = ieq %a, %0
                if %c { br @out }
                var_store<$x> %a
                br @again
            }
        }
        %x: i32 = var_load<$x>
        store %p, %x
    }";
    assert!(run(code).to_string().contains("var_store<$x> %"));
    assert_eq!(run(code).to_string().matches("var_store").count(), 2);
}

/// Nested as deeply as the verifier allows, in a thread with the stack of a test.
#[test]
fn deep_nesting() {
    let depth = verify::MAX_DEPTH - 2;
    let mut code =
        "shared 64 subgroup_size 4 { %p: ptr<shared> = shared_ptr<offset=0, bytes=64>\n".to_string();
    code +=
        "%x: i32 = load %p\n %c: bool = ieq %x, %x\n %y: i32 = load<volatile> %p\n %d: bool = ieq %x, %y\n";
    for i in 0..depth {
        let _ = match i % 3 {
            0 => write!(code, "block @{i} {{ if %d {{ br @{i} }} "),
            1 => write!(code, "loop @{i} {{ if %d {{ br @{i} }} "),
            _ => write!(code, "if %d {{ "),
        };
    }
    code += "store %p, %x\n";
    code += &"}".repeat(depth + 1);
    assert!(run(&code).to_string().contains("store"));
}

#[test]
fn compact_drops_what_is_not_used() {
    let mut module = parse("var $x: i32 var $y: i32 { %0: i32 = const 1\n var_store<$y> %0 }").into_inner();
    module.body.new_block();
    module.body.new_label();
    let new = compact(&module.body);
    assert_eq!((new.vars.len(), new.blocks.len(), new.labels), (1, 1, 0));
    assert_eq!(compact(&new), new);
}

#[test]
fn regions_are_executed_any_number_of_times() {
    check(
        "shared 64 var $x: i32 var $y: i32 {
            %two: i32 = const 2
            %three: i32 = const 3
            %p: ptr<shared> = shared_ptr<offset=0, bytes=64>
            %stride: i64 = const 8
            var_store<$x> %two
            var_store<$y> %three
            %m: mat<2x2xi32, subgroup, acc> = mat_splat %two
            %unused: mat<2x2xi32, subgroup, acc> = mat_map %m {
                %a: i32, %b: i32, %d: i32 = params
                yield %a
            }
            %n: mat<2x2xi32, subgroup, acc> = mat_map %m {
                %r: i32, %c: i32, %e: i32 = params
                %five: i32 = iadd %two, %three
                %x: i32 = var_load<$x>
                %y: i32 = var_load<$y>
                %s: i32 = iadd %x, %y
                %t: i32 = imul %s, %five
                var_store<$x> %t
                yield %t
            }
            mat_store %p, %n, %stride
            %after: i32 = var_load<$x>
            store %p, %after
        }",
        expect![[r#"
            {
              %0: i32 = const 2
              %1: i32 = const 3
              %2: i64 = const 8
              %3: i32 = const 5
              %4: ptr<shared> = shared_ptr<offset=0, bytes=64>
              var_store<$x> %0
              %5: mat<2x2xi32, subgroup, acc> = mat_splat %0
              %6: mat<2x2xi32, subgroup, acc> = mat_map %5 {
                %7: i32, %8: i32, %9: i32 = params
                %10: i32 = var_load<$x>
                %11: i32 = iadd %10, %1
                %12: i32 = imul %11, %3
                var_store<$x> %12
                yield %12
              }
              mat_store %4, %6, %2
              %13: i32 = var_load<$x>
              store %4, %13
            }
        "#]],
    );
}

#[test]
fn vectors_are_written_and_read_as_a_whole() {
    // What a product overwrites is not forwarded, and what it reads is stored.
    let code = "var $x: f32[2] var $y: f32[2] var $z: f32[2]
        {
          %0: i64 = const 64
          %1: ptr<global> = int_to_ptr %0
          %2: i32 = const 1
          %3: f32 = const 3.0
          var_store<$x> %2, %3
          var_store<$y> %2, %3
          vec_mat_mul<$y, $x, m=2, k=2, f32, f32, training> %1, %0
          vec_mat_mul<$z, $x, m=2, k=2, f32, f32, training> %1, %0
          %4: f32 = var_load<$y> %2
          store %1, %4
        }";
    let text = run(code).to_string();
    assert_eq!(text.matches("var_store").count(), 1, "{text}");
    assert_eq!(text.matches("vec_mat_mul").count(), 1, "{text}");
    assert_eq!(text.matches("var_load").count(), 1, "{text}");
}

#[test]
fn halves_of_words_are_read_together() {
    let code = |index: &str, between: &str| {
        format!(
            "binding buf0 = 0.0 storage writable
            {{
                %zero: i32 = const 0
                %one: i32 = const 1
                %two: i32 = const 2
                %p: ptr<buffer> = buffer_ptr<buf0> %zero
                %lane: i32 = subgroup_lane
                %i: i32 = {index}
                %j: i32 = iadd %i, %one
                %second: ptr<buffer> = ptr_add<scale=2, disp=2> %p, %j
                %b: i16 = load %second
                {between}
                %first: ptr<buffer> = ptr_add<scale=2, disp=2> %p, %i
                %a: i16 = load %first
                %sum: i16 = isub %a, %b
                store %p, %sum
                return
            }}"
        )
    };
    let loads = |index, between| {
        let text = run(&code(index, between)).to_string();
        text.lines().filter(|line| line.contains("= load")).count()
    };
    // An index that may be the last one is followed by the first.
    assert_eq!(loads("imul %two, %lane", ""), 1);
    assert_eq!(loads("lshr %lane, %two", ""), 1);
    assert_eq!(loads("iadd %two, %lane", ""), 2);
    assert_eq!(loads("imul %two, %lane", "store %p, %b"), 2);
    // The one that comes first in memory is read first, from where the other was.
    check(
        &code("imul %two, %lane", ""),
        expect![[r#"
        {
          %0: i32 = const 0
          %1: i32 = const 1
          %2: i32 = const 2
          %3: ptr<buffer> = buffer_ptr<buf0> %0
          %4: i32 = subgroup_lane
          %5: i32 = imul %2, %4
          %6: i32 = iadd %5, %1
          %7: ptr<buffer> = ptr_add<scale=2, disp=2> %3, %6
          %8: ptr<buffer> = ptr_add<scale=1, disp=-2> %7
          %9: i16, %10: i16 = load %8
          %11: i16 = isub %9, %10
          store %3, %11
          return
        }
    "#]],
    );
}

#[test]
fn pairs_of_halves_are_joined() {
    // The second index is one more, and not the least number, where the first is even.
    let kernel = |index: &str| {
        parse(&format!(
            "push 4 binding buf0 = 0.0 storage writable {{
            %zero: i32 = const 0
            %one: i32 = const 1
            %two: i32 = const 2
            %p: ptr<buffer> = buffer_ptr<buf0> %zero
            %push: ptr<push> = push_ptr
            %n: i32 = load %push
            %even: i32 = shl %n, %one
            %i: i32 = {index}
            %a: ptr<buffer> = ptr_add<scale=4> %p, %i
            %x: f16, %y: f16 = load %a
            %next: i32 = iadd %i, %one
            %b: ptr<buffer> = ptr_add<scale=4> %p, %next
            %z: f16, %w: f16 = load %b
            store %p, %x, %y, %z, %w
        }}"
        ))
    };
    let loads = |module: &Module| {
        module.body.insts.iter().filter(|i| matches!(i.op, Op::Load(_)) && i.results.len() == 4).count()
    };
    let optimized = |index| optimize(kernel(index), &Options::default()).unwrap();
    assert_eq!(loads(&optimized("iadd %even, %two")), 1);
    // What a target's analysis knows beyond that.
    let known = |index| {
        let module = optimized(index);
        assert_eq!(loads(&module), 0, "{index}");
        join_known(&module, &Uniformity::analyse(&module)).unwrap().as_deref().map(loads)
    };
    assert_eq!(known("or %even, %two"), Some(1));
    assert_eq!(known("or %n, %two"), None);
}

#[test]
fn rings_of_variables_that_nothing_is_made_of() {
    check(
        "push 8 var $0: f32 var $1: f32 var $2: f32 {
            %p: ptr<push> = push_ptr
            %x: f32, %y: f32 = load %p
            var_store<$0> %x
            var_store<$2> %x
            loop @0 {
                %a: f32 = var_load<$0>
                var_store<$1> %a
                %sum: f32 = var_load<$2>
                %next: f32 = fadd %sum, %y
                var_store<$2> %next
                %b: f32 = var_load<$1>
                var_store<$0> %b
                %more: bool = ford_lt %next, %x
                if %more {
                    br @0
                } else {}
            }
            %address: i64 = const 16
            %q: ptr<global> = int_to_ptr %address
            %result: f32 = var_load<$2>
            store %q, %result
        }",
        expect![[r#"
            {
              %0: i64 = const 16
              %1: ptr<push> = push_ptr
              %2: f32, %3: f32 = load %1
              var_store<$0> %2
              loop @0 {
                %4: f32 = var_load<$0>
                %5: f32 = fadd %4, %3
                var_store<$0> %5
                %6: bool = ford_lt %5, %2
                if %6 {
                  br @0
                }
              }
              %7: ptr<global> = int_to_ptr %0
              %8: f32 = var_load<$0>
              store %7, %8
            }
        "#]],
    );
}

/// A region that stores elements needs its matrix, also where nobody needs the matrix that it gives.
#[test]
fn what_a_region_stores_is_made_of_variables() {
    let text = run("push 8 subgroup_size 4 var $0: mat<2x2xf32, subgroup, acc> {
            %p: ptr<push> = push_ptr
            %x: f32, %y: f32 = load %p
            %m: mat<2x2xf32, subgroup, acc> = mat_splat %x
            var_store<$0> %m
            loop @0 {
                %a: mat<2x2xf32, subgroup, acc> = var_load<$0>
                %b: mat<2x2xf32, subgroup, acc> = mat_scale %a, %y
                var_store<$0> %b
                %z: f32 = load %p
                %more: bool = ford_lt %z, %x
                if %more {
                    br @0
                } else {}
            }
            %address: i64 = const 16
            %q: ptr<global> = int_to_ptr %address
            %c: mat<2x2xf32, subgroup, acc> = var_load<$0>
            %unused: mat<2x2xf32, subgroup, acc> = mat_map %c {
                %row: i32, %column: i32, %element: f32 = params
                store %q, %element
                yield %element
            }
        }")
    .to_string();
    assert_eq!(text.matches("var_store<$0>").count(), 2, "{text}");
}

/// How many additions of sums of products to a variable remain in a loop, and how many are done term by term.
fn by_terms(body: &str) -> (usize, usize) {
    let code = format!(
        "push 4 binding buf0 = 0.0 storage writable
        var $s: f32 var $i: i32 {{
            %0: i32 = const 0
            %1: i32 = const 1
            %zero: f32 = const 0.0
            %w: ptr<push> = push_ptr
            %n: i32 = load %w
            %lane: i32 = local_invocation_id<x>
            %p: ptr<buffer> = buffer_ptr<buf0> %0
            var_store<$s> %zero
            var_store<$i> %0
            block @0 {{ loop @1 {{
                %i: i32 = var_load<$i>
                %at: i32 = iadd %i, %lane
                %q: ptr<buffer> = ptr_add<scale=8> %p, %at
                %x: f32, %y: f32 = load %q
                {body}
                %next: i32 = iadd %i, %1
                var_store<$i> %next
                %more: bool = ult %next, %n
                if %more {{ br @1 }}
            }} }}
            %sum: f32 = var_load<$s>
            store %p, %sum
        }}"
    );
    let module = run(&code);
    let loads = |count| {
        let is_load = |op: &Op| {
            matches!(op, Op::VarLoad(var) if module.body.var(*var).ty == Scalar::F32.into()
            && module.body.var(*var).count == count)
        };
        let tree = Tree::new(&module.body);
        let insts = tree.order().iter().filter(|&&inst| tree.block_of(inst).is_some_and(|b| tree.in_loop(b)));
        insts.filter(|&&inst| is_load(&module.body.inst(inst).op)).count()
    };
    (loads(1), loads(2) / 2)
}

#[test]
fn sums_of_products_are_added_up_term_by_term() {
    let sum = "%n2: f32 = s_to_f %i
        %s: f32 = var_load<$s>
        %a: f32 = fmul %x, %n2
        %b: f32 = fmul %y, %n2
        %c: f32 = fadd %a, %b
        %d: f32 = fadd %s, %c
        var_store<$s> %d";
    assert_eq!(by_terms(sum), (0, 1));
    // Exact, in another order than in memory, seen in the loop, and used elsewhere.
    let exact = sum.replace("%c: f32 = fadd %a, %b", "%c: f32 = fadd %a, %b exact");
    assert_eq!(by_terms(&exact), (1, 0));
    assert_eq!(by_terms(&sum.replace("fadd %a, %b", "fadd %b, %a")), (1, 0));
    assert_eq!(by_terms(&format!("{sum}\n%e: f32 = var_load<$s>\nstore %q, %e")).1, 0);
    assert_eq!(by_terms(&format!("{sum}\nstore %q, %c")), (1, 0));
}

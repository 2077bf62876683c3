//! Loops whose number of rounds is known.

use super::super::{LANES, Options, Pipeline, THREADS, optimize_by};
use super::{check, parse, run};
use expect_test::expect;

/// A tile of multiply-adds, as glslang leaves it. `{count}` multiplications a side.
fn tile(count: u32) -> String {
    format!(
        "workgroup_size 32 1 1 subgroup_size 32 push 16 shared 16384
        var $i: i32 var $j: i32 var $k: i32
        var $acc: mat<16x16xf32, subgroup, acc>[{size}]
        var $a: mat<16x16xf16, subgroup, a>[{count}]
        var $b: mat<16x16xf16, subgroup, b>
        {{
          %0: i32 = const 0
          %1: i32 = const 1
          %n: i32 = const {count}
          %stride: i64 = const 64
          %f0: f32 = const 0.0
          %p: ptr<shared> = shared_ptr<offset=0, bytes=16384>
          %push: ptr<push> = push_ptr
          %zero: mat<16x16xf32, subgroup, acc> = mat_splat %f0
          var_store<$i> %0
          block @zero_out {{ loop @zero_next {{
            block @zero_body {{
              %z: i32 = var_load<$i>
              %zc: bool = slt %z, %size
              if %zc {{ br @zero_body }} else {{ br @zero_out }}
            }}
            %zi: i32 = var_load<$i>
            var_store<$acc> %zi, %zero
            block @zero_continue {{ br @zero_continue }}
            %zj: i32 = var_load<$i>
            %zk: i32 = iadd %zj, %1
            var_store<$i> %zk
            br @zero_next
          }} }}
          var_store<$k> %0
          block @k_out {{ loop @k_next {{
            %k: i32 = var_load<$k>
            %limit: i32 = load %push
            %kc: bool = slt %k, %limit
            if %kc {{ }} else {{ br @k_out }}
            var_store<$i> %0
            block @a_out {{ loop @a_next {{
              %ai: i32 = var_load<$i>
              %ac: bool = slt %ai, %n
              if %ac {{ }} else {{ br @a_out }}
              %ap: ptr<shared> = ptr_add<scale=2048> %p, %ai
              %am: mat<16x16xf16, subgroup, a> = mat_load %ap, %stride
              var_store<$a> %ai, %am
              %ai1: i32 = iadd %ai, %1
              var_store<$i> %ai1
              br @a_next
            }} }}
            var_store<$j> %0
            block @j_out {{ loop @j_next {{
              %j: i32 = var_load<$j>
              %jc: bool = slt %j, %n
              if %jc {{ }} else {{ br @j_out }}
              %bp: ptr<shared> = ptr_add<scale=32, disp=8192> %p, %j
              %bm: mat<16x16xf16, subgroup, b> = mat_load %bp, %stride
              var_store<$b> %bm
              var_store<$i> %0
              block @i_out {{ loop @i_next {{
                %i: i32 = var_load<$i>
                %ic: bool = slt %i, %n
                if %ic {{ }} else {{ br @i_out }}
                %row: i32 = imul %i, %n
                %at: i32 = iadd %row, %j
                %x: mat<16x16xf16, subgroup, a> = var_load<$a> %i
                %y: mat<16x16xf16, subgroup, b> = var_load<$b>
                %c: mat<16x16xf32, subgroup, acc> = var_load<$acc> %at
                %r: mat<16x16xf32, subgroup, acc> = mat_mul_add %x, %y, %c
                var_store<$acc> %at, %r
                %i1: i32 = iadd %i, %1
                var_store<$i> %i1
                br @i_next
              }} }}
              %j1: i32 = iadd %j, %1
              var_store<$j> %j1
              br @j_next
            }} }}
            %k2: i32 = var_load<$k>
            %k1: i32 = iadd %k2, %1
            var_store<$k> %k1
            br @k_next
          }} }}
          %last: i32 = const {last}
          %m: mat<16x16xf32, subgroup, acc> = var_load<$acc> %last
          mat_store %p, %m, %stride
        }}",
        size = count * count,
        last = count * count - 1,
    )
    .replace("%stride:", &format!("%size: i32 = const {}\n %stride:", count * count))
}

#[test]
fn tiles_become_straight_code() {
    check(
        &tile(2),
        expect![[r#"
        {
          %0: i32 = const 0
          %1: i32 = const 1
          %2: i32 = const 2
          %3: i64 = const 64
          %4: f32 = const 0.0
          %5: i32 = const 3
          %6: ptr<shared> = shared_ptr<offset=0, bytes=16384>
          %7: ptr<push> = push_ptr
          %8: mat<16x16xf32, subgroup, acc> = mat_splat %4
          var_store<$acc> %0, %8
          var_store<$acc> %1, %8
          var_store<$acc> %2, %8
          var_store<$acc> %5, %8
          var_store<$k> %0
          block @0 {
            loop @1 {
              %9: i32 = var_load<$k>
              %10: i32 = load %7
              %11: bool = slt %9, %10
              if %11 {
              } else {
                br @0
              }
              %12: mat<16x16xf16, subgroup, a> = mat_load %6, %3
              %13: ptr<shared> = ptr_add<disp=2048> %6
              %14: mat<16x16xf16, subgroup, a> = mat_load %13, %3
              %15: ptr<shared> = ptr_add<disp=8192> %6
              %16: mat<16x16xf16, subgroup, b> = mat_load %15, %3
              %17: mat<16x16xf32, subgroup, acc> = var_load<$acc> %0
              %18: mat<16x16xf32, subgroup, acc> = mat_mul_add %12, %16, %17
              var_store<$acc> %0, %18
              %19: mat<16x16xf32, subgroup, acc> = var_load<$acc> %2
              %20: mat<16x16xf32, subgroup, acc> = mat_mul_add %14, %16, %19
              var_store<$acc> %2, %20
              %21: ptr<shared> = ptr_add<disp=8224> %6
              %22: mat<16x16xf16, subgroup, b> = mat_load %21, %3
              %23: mat<16x16xf32, subgroup, acc> = var_load<$acc> %1
              %24: mat<16x16xf32, subgroup, acc> = mat_mul_add %12, %22, %23
              var_store<$acc> %1, %24
              %25: mat<16x16xf32, subgroup, acc> = var_load<$acc> %5
              %26: mat<16x16xf32, subgroup, acc> = mat_mul_add %14, %22, %25
              var_store<$acc> %5, %26
              %27: i32 = iadd %9, %1
              var_store<$k> %27
              br @1
            }
          }
          %28: mat<16x16xf32, subgroup, acc> = var_load<$acc> %5
          mat_store %6, %28, %3
        }
    "#]],
    );
}

#[test]
fn larger_tiles_too() {
    let text = run(&tile(4)).to_string();
    assert_eq!(text.matches("mat_mul_add").count(), 16);
    assert_eq!(text.matches("loop").count(), 1, "{text}");
}

#[test]
fn an_early_way_out_is_kept() {
    check(
        "shared 64 subgroup_size 4 var $i: i32 var $t: i32[2] {
            %0: i32 = const 0
            %1: i32 = const 1
            %2: i32 = const 2
            %p: ptr<shared> = shared_ptr<offset=0, bytes=64>
            var_store<$i> %0
            block @out { loop @next {
                %i: i32 = var_load<$i>
                %c: bool = slt %i, %2
                if %c { } else { br @out }
                %x: i32 = load %p
                %d: bool = ieq %x, %i
                if %d { br @out }
                block @continue {
                    %e: bool = slt %x, %i
                    if %e { br @continue }
                    var_store<$t> %i, %x
                }
                %j: i32 = iadd %i, %1
                var_store<$i> %j
                br @next
            } }
            %last: i32 = var_load<$i>
            %t: i32 = var_load<$t> %1
            store %p, %last, %t
        }",
        expect![[r#"
            {
              %0: i32 = const 0
              %1: i32 = const 1
              %2: i32 = const 2
              %3: ptr<shared> = shared_ptr<offset=0, bytes=64>
              var_store<$i> %0
              block @0 {
                %4: i32 = load %3
                %5: bool = ieq %4, %0
                if %5 {
                  br @0
                }
                var_store<$i> %1
                %6: i32 = load %3
                %7: bool = ieq %6, %1
                if %7 {
                  br @0
                }
                block @1 {
                  %8: bool = slt %6, %1
                  if %8 {
                    br @1
                  }
                  var_store<$t> %1, %6
                }
                var_store<$i> %2
              }
              %9: i32 = var_load<$i>
              %10: i32 = var_load<$t> %1
              store %3, %9, %10
            }
        "#]],
    );
}

#[test]
fn loops_over_lanes_are_unrolled() {
    let code = "shared 64 var $i: i32 var $x: i32 {
        %lane: i32 = subgroup_lane
        %s: ptr<shared> = shared_ptr<offset=0, bytes=64>
        %one: i32 = const 1
        %start: i32 = const 8
        var_store<$i> %start
        var_store<$x> %lane
        block @out { loop @next {
            %i: i32 = var_load<$i>
            %c: bool = sle %one, %i
            if %c { } else { br @out }
            %x: i32 = var_load<$x>
            %other: i32 = xor %lane, %i
            %y: i32 = subgroup_shuffle %x, %other
            %sum: i32 = iadd %x, %y
            var_store<$x> %sum
            %j: i32 = lshr %i, %one
            var_store<$i> %j
            br @next
        } }
        %r: i32 = var_load<$x>
        store %s, %r
    }";
    let text = run(code).to_string();
    assert_eq!((text.matches("loop").count(), text.matches("subgroup_shuffle").count()), (0, 4), "{text}");
}

/// Threads have vectors that they multiply in registers, for which their elements have constant numbers.
#[test]
fn loops_over_vectors_are_unrolled_for_threads() {
    let code = |component: &str, product: &str| {
        format!(
            "binding buf0 = 0.0 storage var $i: i32 var $x: f16[40] var $y: f16[8] {{
            %0: i32 = const 0
            %1: i32 = const 1
            %40: i32 = const 40
            %stride: i64 = const 0
            %p: ptr<buffer> = buffer_ptr<buf0> %0
            var_store<$i> %0
            loop @next {{
                %i: i32 = var_load<$i>
                %c: bool = ult %i, %40
                if %c {{
                    {component}
                    var_store<$x> %i, %x
                    %j: i32 = iadd %i, %1
                    var_store<$i> %j
                    br @next
                }}
            }}
            {product}
        }}"
        )
    };
    let loops = |code: String, pipeline: &Pipeline| {
        let module = optimize_by(pipeline, parse(&code), &Options::default()).expect("the passes are right");
        module.to_string().matches("loop").count()
    };
    let product = "vec_mat_mul<$y, $x, m=8, k=40, f16, f16, inferencing> %p, %stride";
    let indexed = "%x: f16 = u_to_f %i";
    assert_eq!(loops(code(indexed, product), &THREADS), 0);
    assert_eq!(loops(code(indexed, product), &LANES), 1);
    assert_eq!(loops(code(indexed, ""), &THREADS), 1);
    // What is the same for each component, the target does where components are.
    let alike = "%old: f16 = var_load<$x> %i %x: f16 = fmul %old, %old";
    assert_eq!(loops(code(alike, product), &THREADS), 1);
}

/// A long loop that fills an array of sums leaves the copies to the one that multiplies.
#[test]
fn loops_that_multiply_come_before_those_that_fill() {
    let long: String = (0..40).map(|n| format!("%x{n}: i32 = load<volatile> %p\n")).collect();
    let one = |name: &str, body: &str| {
        let code = format!(
            "var_store<$i> %0
            loop @{name} {{
                %i: i32 = var_load<$i>
                %go: bool = ult %i, %32
                if %go {{
                    {body}
                    %next: i32 = iadd %i, %1
                    var_store<$i> %next
                    br @{name}
                }}
            }}"
        );
        ["%i", "%go", "%next", "%m"].iter().fold(code, |code, value| {
            code.replace(&format!("{value}:"), &format!("{value}_{name}:"))
                .replace(&format!("{value},"), &format!("{value}_{name},"))
                .replace(&format!("{value} "), &format!("{value}_{name} "))
                .replace(&format!("{value}\n"), &format!("{value}_{name}\n"))
        })
    };
    let fill = one(
        "fill",
        &format!("{long} %m: mat<8x8xf32, subgroup, acc> = mat_load %p, %stride var_store<$c> %i, %m"),
    );
    let multiply = "%old: mat<8x8xf32, subgroup, acc> = var_load<$c> %i
        %new: mat<8x8xf32, subgroup, acc> = mat_mul_add %a, %b, %old
        var_store<$c> %i, %new";
    let empty = "%m: mat<8x8xf32, subgroup, acc> = var_load<$c> %i mat_store %p, %m, %stride";
    let code = |multiply: &str, empty: &str| {
        format!(
            "shared 65536 var $i: i32 var $c: mat<8x8xf32, subgroup, acc>[32] {{
            %0: i32 = const 0
            %1: i32 = const 1
            %32: i32 = const 32
            %stride: i64 = const 32
            %p: ptr<shared> = shared_ptr<offset=0, bytes=65536>
            %a: mat<8x8xf32, subgroup, a> = mat_load %p, %stride
            %b: mat<8x8xf32, subgroup, b> = mat_load %p, %stride
            {fill}
            {multiply}
            {}
        }}",
            one("empty", empty)
        )
    };
    let counts = |code: String| {
        let text = run(&code).to_string();
        (text.matches("loop").count(), text.matches("mat_mul_add").count())
    };
    assert_eq!(counts(code(&one("multiply", multiply), empty)), (1, 32));
    assert_eq!(counts(code("", empty)), (0, 0));
    // What is as long behind the multiplications takes nothing from them.
    let longer = format!("{} {empty}", long.replace("%x", "%y"));
    assert_eq!(counts(code(&one("multiply", multiply), &longer)), (1, 32));
}

#[test]
fn loops_within_loops_over_matrices_stay_unless_something_is_multiplied() {
    let code = |inner: &str| {
        format!(
            "push 4 shared 1024 var $i: i32 var $j: i32 var $c: mat<8x8xf32, subgroup, acc>[4] {{
            %0: i32 = const 0
            %1: i32 = const 1
            %4: i32 = const 4
            %stride: i64 = const 32
            %push: ptr<push> = push_ptr
            %n: i32 = load %push
            %p: ptr<shared> = shared_ptr<offset=0, bytes=1024>
            %a: mat<8x8xf32, subgroup, a> = mat_load %p, %stride
            %b: mat<8x8xf32, subgroup, b> = mat_load %p, %stride
            var_store<$i> %0
            loop @0 {{
                %i: i32 = var_load<$i>
                %go: bool = ult %i, %4
                if %go {{
                    %c: mat<8x8xf32, subgroup, acc> = var_load<$c> %i
                    mat_store %p, %c, %stride
                    {inner}
                    %k: i32 = iadd %i, %1
                    var_store<$i> %k
                    br @0
                }}
            }}
        }}"
        )
    };
    let rows = "var_store<$j> %0
        loop @1 {
            %j: i32 = var_load<$j>
            store %p, %j
            %l: i32 = iadd %j, %1
            var_store<$j> %l
            %more: bool = ult %l, %n
            if %more { br @1 }
        }";
    let multiply = "%d: mat<8x8xf32, subgroup, acc> = mat_mul_add %a, %b, %c\nvar_store<$c> %i, %d";
    let loops = |inner: &str| run(&code(inner)).to_string().matches("loop").count();
    assert_eq!(loops(""), 0);
    assert_eq!(loops(rows), 2);
    assert_eq!(loops(&format!("{multiply}\n{rows}")), 4);
}

#[test]
fn loops_that_cannot_be_unrolled_stay() {
    let code = |limit: &str, step: &str| {
        format!(
            "push 4 shared 64 var $i: i32 var $t: i32[16] {{
            %0: i32 = const 0
            %p: ptr<push> = push_ptr
            %n: i32 = load %p
            %s: ptr<shared> = shared_ptr<offset=0, bytes=64>
            %limit: i32 = const {limit}
            %step: i32 = const {step}
            var_store<$i> %0
            block @out {{ loop @next {{
                %i: i32 = var_load<$i>
                %c: bool = slt %i, %limit
                if %c {{ }} else {{ br @out }}
                var_store<$t> %i, %n
                %j: i32 = iadd %i, %step
                var_store<$i> %j
                br @next
            }} }}
            %x: i32 = var_load<$t> %n
            store %s, %x
        }}"
        )
    };
    let loops = |code: String| run(&code).to_string().matches("loop").count();
    assert_eq!(loops(code("32", "1")), 0);
    assert_eq!(loops(code("33", "1")), 1, "too many iterations");
    assert_eq!(loops(code("32", "0")), 1, "endless");
    assert_eq!(loops(code("5", "1").replace("const 5", "bitcast %n")), 1, "unknown");
    assert_eq!(loops(code("9", "1").replace("var_store<$t> %i", "var_store<$t> %n")), 1, "nothing to gain");
}

//! Small functions in text form, with what is expected of their values and variables.

use super::{Assumptions, Shape, Uniformity};
use crate::builder::Builder;
use crate::entities::{Value, Var};
use crate::op::{BinaryOp, Builtin, ImageOp, MemFlags, Op, SubgroupOp};
use crate::text::ops::templates;
use crate::types::{Space, Type};
use crate::{Function, MAX_DISPATCH_INVOCATIONS, Module, text, verify};

/// A work-group of 64×4, subgroups of 32, some inputs; then the given code.
fn module(vars: &str, code: &str) -> Module {
    let text = format!(
        "workgroup_size 64 4 1 subgroup_size 32 push 16 {vars}
        {{
          %zero: i32 = const 0
          %one: i32 = const 1
          %push: ptr<push> = push_ptr
          %u: i32 = load %push
          %c: bool = ieq %u, %zero
          %lane: i32 = subgroup_lane
          %v: bool = ieq %lane, %u
          {code}
        }}"
    );
    let module = text::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    verify(module).unwrap_or_else(|e| panic!("{e}\n{text}")).into_inner()
}

/// The shape of each value after the inputs, and `!` where it has guards.
fn shapes(vars: &str, code: &str) -> String {
    let module = module(vars, code);
    let u = Uniformity::analyse(&module);
    let values = (7..module.body.values.len()).map(Value::new);
    let shapes: Vec<_> = values
        .map(|v| {
            let guard = if u.guards(v).is_empty() { "" } else { "!" };
            match u.value(v) {
                Shape::Uniform => format!("u{guard}"),
                Shape::Affine { stride } => format!("{stride}{guard}"),
                Shape::Bits { steps } => format!("{:?}", &steps[..5]).replace(' ', ""),
                Shape::Varying => format!("v{guard}"),
            }
        })
        .collect();
    shapes.join(" ")
}

/// Whether the only variable is uniform.
fn var(code: &str) -> bool {
    let module = module("var $x: i32", code);
    Uniformity::analyse(&module).is_var_uniform(Var::new(0))
}

#[test]
fn ids() {
    let code = "%a: i32 = local_invocation_id<x>
        %b: i32 = local_invocation_id<y>
        %c2: i32 = local_invocation_id<z>
        %d: i32 = global_invocation_id<x>
        %e: i32 = local_invocation_index
        %f: i32 = workgroup_id<x>";
    assert_eq!(shapes("", code), "1 u u 1 1 u");
    assert_eq!(shapes("workgroup_size 8 8 1", code), "[1,2,4,0,0] [0,0,0,1,2] u [1,2,4,0,0] 1 u");
    assert_eq!(shapes("workgroup_size 4 4 4", code), "[1,2,0,0,0] [0,0,1,2,0] [0,0,0,0,1] [1,2,0,0,0] 1 u");
    assert_eq!(shapes("workgroup_size 6 8 1", code), "v v u v 1 u");
    assert_eq!(shapes("workgroup_size 1 32 2", code), "u 1 u u 1 u");
    assert_eq!(shapes("workgroup_size 20 1 1", code), "1 u u 1 1 u");
    assert_eq!(shapes("workgroup_size 1 1 20", code), "u u 1 u 1 u");
    assert_eq!(shapes("workgroup_size 4 8 20", code), "[1,2,0,0,0] [0,0,1,2,4] u [1,2,0,0,0] 1 u");
}

#[test]
fn affine_arithmetic() {
    let code = "%k: i32 = const 12
        %a: i32 = iadd %lane, %u
        %b: i32 = imul %lane, %k
        %d: i32 = imul %lane, %u
        %e: i32 = isub %u, %b
        %f: i32 = shl %lane, %one
        %g: i32 = isub %a, %lane
        %h: i32 = select %c, %a, %lane
        %i: i32 = select %v, %a, %lane
        %j: i32 = ineg %lane
        %l: i32 = not %lane
        %m: i32 = imul %lane, %lane
        %n: bool = ieq %a, %lane
        %o: bool = slt %a, %lane
        %p: i16 = s_to_s %b";
    assert_eq!(shapes("", code), "u 1 12 v -12 2 u 1 v -1 -1 v u v 12");
}

#[test]
fn bits_of_indices() {
    let code = "%n5: i32 = const 5
        %n31: i32 = const 31
        %n32: i32 = const 32
        %n16: i32 = const 16
        %i: i32 = local_invocation_index
        %a: i32 = and %i, %n31
        %b: i32 = lshr %i, %n5
        %d: i32 = udiv %i, %n32
        %e: i32 = umod %i, %n32
        %f: i32 = srem %i, %n32
        %g: i32 = and %i, %n16
        %h: i32 = or %i, %n32
        %j: i32 = xor %lane, %n16
        %k: i32 = xor %i, %n16
        %l: i32 = shl %i, %one
        %m: i32 = lshr %l, %one
        %n: i32 = iadd %i, %one
        %o: i32 = and %n, %n31
        %p: i32 = sdiv %i, %n16";
    assert_eq!(
        shapes("", code),
        "u u u u 1 1 u u 1 1 [0,0,0,0,16] 1 [1,2,4,8,-16] [1,2,4,8,-16] 2 1 1 v [0,0,0,0,1]"
    );
}

/// Padded rows of 24: what the bits add carries, but nothing of it is lost by a division by 8. An unknown row may be so
/// large that its offset wraps.
#[test]
fn divided_without_a_remainder() {
    let code = "%n3: i32 = const 3
        %n8: i32 = const 8
        %n24: i32 = const 24
        %i: i32 = local_invocation_index
        %row: i32 = lshr %i, %one
        %col: i32 = and %i, %one
        %a: i32 = imul %row, %n24
        %b: i32 = shl %col, %n3
        %d: i32 = iadd %a, %b
        %e: i32 = udiv %d, %n8
        %f: i32 = imul %u, %n24
        %g: i32 = iadd %d, %f
        %h: i32 = udiv %g, %n8
        %j: i32 = iadd %d, %one
        %k: i32 = udiv %j, %n8";
    assert_eq!(
        shapes("", code),
        "u u u 1 [0,1,2,4,8] [1,0,0,0,0] [0,24,48,96,192] [8,0,0,0,0] [8,24,48,96,192] [1,3,6,12,24] \
         u [8,24,48,96,192] v [8,24,48,96,192] v"
    );
}

#[test]
fn addresses() {
    let head = "binding b = 0.0 storage";
    let code = "%b: ptr<buffer> = buffer_ptr<b> %zero
        %i: i32 = global_invocation_id<x>
        %p: ptr<buffer> = ptr_add<scale=4> %b, %i
        %j: i32 = iadd %i, %u
        %q: ptr<buffer> = ptr_add<scale=4> %b, %j
        %k: i64 = s_to_s %lane
        %l: i64 = u_to_u %j
        %m: i64 = iadd %l, %k
        %r: ptr<buffer> = ptr_add<scale=-2> %b, %m
        %s: ptr<buffer> = ptr_add<disp=7> %r
        %x: f32 = load %p
        %y: f32 = load %b
        %z: i64 = ptr_diff %s, %p";
    assert_eq!(shapes(head, code), "u 1 4 1 4! 1 1! 2! -4! -4! v u -8!");
}

#[test]
fn subgroup_operations() {
    let code = "%a: bool = subgroup_elect
        %b: bool = subgroup_any %v
        %d: i32 = subgroup_reduce<iadd> %lane
        %e: i32 = subgroup_reduce<iadd, cluster=4> %lane
        %f: i32 = subgroup_reduce<iadd, cluster=32> %lane
        %g: i32 = subgroup_shuffle %lane, %u
        %h: i32 = subgroup_shuffle %u, %lane
        %i: i32 = subgroup_broadcast_first %lane
        %j: i32 = subgroup_inclusive_scan<iadd> %u";
    assert_eq!(shapes("", code), "v u u v u v v u v");
    assert_eq!(shapes("", "%a: i32 = subgroup_shuffle %zero, %u"), "u");
}

#[test]
fn variables_in_straight_code() {
    assert!(var("var_store<$x> %u"));
    assert!(!var("var_store<$x> %lane\n %y: i32 = var_load<$x>"));
    assert_eq!(shapes("var $x: i32", "var_store<$x> %lane\n %y: i32 = var_load<$x>"), "1");
    assert!(!var("if %v { var_store<$x> %zero } else { var_store<$x> %one }\n %y: i32 = var_load<$x>"));
    assert!(var("if %c { var_store<$x> %zero } else { var_store<$x> %one }\n %y: i32 = var_load<$x>"));
    // Only read where it was written.
    assert!(var("if %v { var_store<$x> %u\n %y: i32 = var_load<$x> }"));
    assert!(var("if %v { %y: i32 = var_load<$x>\n var_store<$x> %u }"));
    assert!(!var("if %v { var_store<$x> %u }\n %y: i32 = var_load<$x>"));
}

#[test]
fn arrays() {
    let code = |index: &str| {
        format!("var_store<$x> {index}, %u\n %y: i32 = var_load<$x> %one\n %z: i32 = var_load<$x> %lane")
    };
    assert_eq!(shapes("var $x: i32[4]", &code("%one")), "u v");
    assert_eq!(shapes("var $x: i32[4]", &code("%lane")), "v v");
    assert_eq!(shapes("var $x: i32[4] = [1, 2, 3, 4]", "%y: i32 = var_load<$x> %u"), "u");
    // Zeros lie outside of an affine array.
    let code = "var_store<$x> %one, %lane\n %y: i32 = var_load<$x> %one\n %z: i32 = var_load<$x> %u";
    assert_eq!(shapes("var $x: i32[4]", code), "1 v");
}

/// A loop as front ends make it.
fn counted(exit: &str, behind: &str) -> String {
    format!(
        "var_store<$x> %zero
        block @out {{
          loop @again {{
            %i: i32 = var_load<$x>
            if {exit} {{ br @out }}
            block @continue {{ if %v {{ br @continue }} }}
            %j: i32 = iadd %i, %one
            var_store<$x> %j
            br @again
          }}
        }}
        {behind}"
    )
}

#[test]
fn loops() {
    assert!(var(&counted("%c", "")));
    assert!(var(&counted("%c", "%k: i32 = var_load<$x>")));
    // Lanes leave at different times: the counter is shared inside, but not behind.
    assert!(var(&counted("%v", "")));
    assert!(!var(&counted("%v", "%k: i32 = var_load<$x>")));
    // The same in an outer loop, which begins by writing.
    assert!(var(&format!("loop @more {{ {}\n if %v {{ br @more }} }}", counted("%v", ""))));
    let ends_early = "loop @again { %i: i32 = var_load<$x>
        %j: i32 = iadd %i, %one
        if %v { br @again }
        var_store<$x> %j
        if %c { br @again } }";
    assert!(!var(ends_early), "some lanes go on without having stored");
    let in_loop = "loop @again { if %v { %i: i32 = var_load<$x>\n var_store<$x> %u }\n br @again }";
    assert!(!var(in_loop), "lanes take part at different times");
    let store_first = "loop @again { if %v { var_store<$x> %u\n %i: i32 = var_load<$x> }\n br @again }";
    assert!(var(store_first));
}

#[test]
fn control() {
    let module = module("", CONTROL);
    let u = Uniformity::analyse(&module);
    let func = &module.body;
    let label = |n| u.is_divergent_label(crate::Label::new(n));
    assert_eq!((label(0), label(1), label(2), label(3)), (true, false, false, false));
    let ifs: Vec<_> = (0..func.insts.len())
        .map(crate::Inst::new)
        .filter(|i| matches!(func.inst(*i).op, Op::If { .. }))
        .map(|i| u.is_divergent_if(i))
        .collect();
    assert_eq!(ifs, [true, false]);
    assert!(!u.is_divergent_block(Function::ENTRY) && !u.has_divergent_return());
    assert!(u.is_divergent_block(crate::Block::new(2)));
}

/// Lanes leave for `@a`; those that stay leave `@b` and `@d` together.
const CONTROL: &str = "block @a {
      block @b {
        if %v { br @a }
        br @b
      }
      loop @c {
        block @d { if %c { br @d } }
        br @c
      }
    }";

#[test]
fn returns() {
    let analyse = |code| Uniformity::analyse(&module("", code));
    assert!(!analyse("if %c { return }").has_divergent_return());
    let u = analyse("if %v { return }");
    assert!(u.has_divergent_return() && u.is_divergent_block(Function::ENTRY));
}

// ── every operation ──

#[test]
fn vectors_are_each_lanes_own() {
    let vars = "var $x: f16[2] var $y: f16[2] var $z: f16[2] var $w: f16[2]";
    let code = "%wide: i64 = const 0
                %p: ptr<global> = int_to_ptr %wide
                vec_mat_mul<$y, $x, m=2, k=2, f16, f16, training> %p, %wide
                vec_reduce_add<$z> %p
                %h: f16 = const 1.0
                var_store<$w> %zero, %h";
    let u = Uniformity::analyse(&module(vars, code));
    assert_eq!([0, 1, 2, 3].map(|i| u.is_var_uniform(Var::new(i))), [false, false, false, true]);
}

/// What holds of the results of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    /// Uniform where all operands are, otherwise varying.
    Operands,
    /// Uniform whatever the operands are.
    Uniform,
    /// Varying whatever the operands are.
    Varying,
    /// Tested by itself: it follows from the place, or has no operands that vary.
    Special,
    /// No scalar or pointer results.
    Nothing,
}

/// The rule for the lanes of a subgroup. A new operation does not compile before it has one.
fn rule(op: &Op) -> Rule {
    use Rule::{Nothing, Operands, Special, Uniform, Varying};
    match op {
        Op::Const(_) => Uniform,
        Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Fma | Op::Select | Op::Convert(_) => Operands,
        Op::Bitcast => Operands,
        Op::PushPtr | Op::BufferPtr(_) | Op::SharedPtr { .. } | Op::PtrAdd { .. } | Op::PtrBytesLeft => {
            Operands
        }
        Op::PtrDiff | Op::PtrToInt | Op::IntToPtr => Operands,
        Op::Load(_) => Operands,
        Op::Image(_, op) => match op {
            ImageOp::Load | ImageOp::Size | ImageOp::Levels | ImageOp::Sample(_) => Operands,
            ImageOp::Atomic(_) => Varying,
            ImageOp::Store => Nothing,
        },
        Op::Atomic(_) | Op::Clock => Varying,
        Op::Subgroup(op) => match op {
            SubgroupOp::Elect => Varying,
            SubgroupOp::All | SubgroupOp::Any | SubgroupOp::AllEqual => Uniform,
            SubgroupOp::Broadcast | SubgroupOp::BroadcastFirst | SubgroupOp::Ballot => Uniform,
            SubgroupOp::Shuffle | SubgroupOp::Partition => Operands,
            SubgroupOp::Reduce(..) => Uniform,
            SubgroupOp::InclusiveScan(_) | SubgroupOp::ExclusiveScan(_) => Varying,
            SubgroupOp::PartitionedReduce(_) => Varying,
            SubgroupOp::PartitionedInclusiveScan(_) | SubgroupOp::PartitionedExclusiveScan(_) => Varying,
        },
        Op::MatExtract | Op::MatToLanes { .. } | Op::VarComponentLoad(_) | Op::Params => Varying,
        Op::MatCoordinate => Varying,
        Op::Builtin(_) | Op::VarLoad(_) => Special,
        Op::VarStore(_) | Op::VarComponentStore(_) | Op::Store(_) | Op::Barrier(_) => Nothing,
        Op::MatSplat | Op::MatLoad { .. } | Op::MatStore { .. } | Op::MatMulAdd(_) | Op::MatScale => Nothing,
        Op::MatInsert | Op::MatTranspose | Op::MatRotate | Op::MatFromLanes { .. } => Nothing,
        Op::MatMap { .. } | Op::MatReduce { .. } => Nothing,
        Op::MatLoadTensor { .. } | Op::MatStoreTensor(_) => Nothing,
        Op::VecMatMul(_) | Op::VecOuterAdd(_) | Op::VecReduceAdd(_) => Nothing,
        Op::Yield | Op::If { .. } | Op::Block { .. } | Op::Loop { .. } | Op::Br(_) | Op::Return => Nothing,
        Op::Printf(_) | Op::Warn(_) | Op::Decline => Nothing,
    }
}

/// The shape of a scalar that an operation makes of operands of these shapes: the analysis does not look at their
/// types, so one kind of operand does for all.
fn result_of(op: &Op, varies: bool, analyse: fn(&Module) -> Uniformity) -> Shape {
    let mut module = Module { workgroup_size: [64, 4, 1], subgroup_size: 32, ..Module::default() };
    let mut b = Builder::new(&mut module.body);
    b.func.new_var(Type::I32, 4, "");
    let push = b.value(Op::PushPtr, &[], Type::Ptr(Space::Push));
    let lane = b.value(Op::Builtin(Builtin::LocalInvocationIndex), &[], Type::I32);
    let place = b.value(Op::PtrAdd { scale: 4, disp: 0 }, &[push, lane], Type::Ptr(Space::Push));
    let from = if varies { place } else { push };
    let operands: Vec<_> =
        (0..12).map(|_| b.value(Op::Load(MemFlags::default()), &[from], Type::I32)).collect();
    let result = b.value(op.clone(), &operands, Type::I32);
    analyse(&module).value(result)
}

#[test]
fn every_operation_has_its_shape() {
    for op in templates().iter().chain([&Op::Const(5)]) {
        let (same, different) = match rule(op) {
            Rule::Operands => (Shape::Uniform, Shape::Varying),
            Rule::Uniform => (Shape::Uniform, Shape::Uniform),
            Rule::Varying => (Shape::Varying, Shape::Varying),
            Rule::Special | Rule::Nothing => continue,
        };
        let shapes = [false, true].map(|varies| result_of(op, varies, Uniformity::analyse));
        assert_eq!(shapes, [same, different], "{op:?}");
        // What is uniform in a work-group is so in its subgroups.
        let all = [false, true].map(|varies| result_of(op, varies, Uniformity::of_workgroup));
        let is_of_subgroup = matches!(op, Op::Subgroup(_));
        let expected = if is_of_subgroup { [Shape::Varying; 2] } else { [same, different] };
        assert_eq!(all, expected, "{op:?} in a work-group");
    }
}

#[test]
fn built_in_inputs_in_a_work_group() {
    let shape = |builtin| result_of(&Op::Builtin(builtin), false, Uniformity::of_workgroup);
    for axis in 0..3 {
        assert_eq!(shape(Builtin::NumWorkgroups(axis)), Shape::Uniform);
        assert_eq!(shape(Builtin::WorkgroupId(axis)), Shape::Uniform);
    }
    assert_eq!(shape(Builtin::LocalInvocationIndex), Shape::Affine { stride: 1 });
    assert_eq!(shape(Builtin::SubgroupId), Shape::Varying);
    assert_eq!(shape(Builtin::SubgroupLane), Shape::Varying);
    assert_eq!(shape(Builtin::LocalInvocationId(0)), Shape::Varying);
    assert_eq!(shape(Builtin::GlobalInvocationId(1)), Shape::Varying);
}

#[test]
fn volatile_loads_are_made_by_each_subgroup() {
    let load = Op::Load(MemFlags { volatile: true, ..MemFlags::default() });
    assert_eq!(result_of(&load, false, Uniformity::analyse), Shape::Uniform);
    assert_eq!(result_of(&load, false, Uniformity::of_workgroup), Shape::Varying);
}

#[test]
fn ids_are_within_the_bound_of_a_dispatch() {
    let most = i64::from(MAX_DISPATCH_INVOCATIONS);
    // The lanes beyond the end of the last work-group count on, and still are not negative.
    assert!(most + 127 <= i64::from(i32::MAX));
    let module =
        module("workgroup_size 1024 1 1", "%i: i32 = global_invocation_id<x>\n %g: i32 = workgroup_id<x>");
    let u = Uniformity::analyse(&module);
    let [i, g] = [0, 1].map(|n| u.range(Value::new(module.body.values.len() - 2 + n)));
    assert!(i.0 == 0 && i.1 >= most - 1 && i.1 <= i32::MAX.into(), "{i:?}");
    assert_eq!(g, (0, most / 1024 - 1));
    // The greatest dispatch has all of these, and no other.
    assert_eq!((g.1 + 1) * 1024, most);
}

#[test]
fn the_greatest_of_some_multiples_is_one() {
    let module = module(
        "workgroup_size 32 1 1",
        "%l: i32 = local_invocation_index\n %eight: i32 = const 8\n %n: i32 = const 32\n %m: i32 = const 20\n\
         %x: i32 = imul %l, %eight\n %r: i32 = umod %x, %n\n %s: i32 = umod %x, %m",
    );
    let u = Uniformity::analyse(&module);
    let [r, s] = [2, 1].map(|n| u.range(Value::new(module.body.values.len() - n)));
    // What is left of a division by 20 is no multiple of 8.
    assert_eq!((r, s), ((0, 24), (0, 19)));
}

#[test]
fn nothing_is_left_to_do_at_the_end() {
    for seed in 0..60 {
        let case = crate::random::case(seed, &crate::random::Config::default()).unwrap();
        let module = &case.module;
        let tree = crate::tree::Tree::new(&module.body);
        let mut analysis = super::Analysis::new(module, &tree);
        while analysis.round() {}
        let (facts, vars) = (analysis.facts.clone(), analysis.vars.clone());
        analysis.agenda = super::agenda::Agenda::new(&module.body, &tree);
        assert!(analysis.round() && !analysis.round(), "seed {seed}");
        (0..vars.len()).map(Var::new).for_each(|var| analysis.settle_var(var));
        assert!(analysis.facts == facts && analysis.vars == vars, "seed {seed}\n{}", **module);
    }
}

#[test]
fn long_chains_of_decisions_take_no_long_time() {
    // Each condition varies because of the variable before, which is known only a round later.
    let count = 3000;
    let mut module = Module { workgroup_size: [64, 1, 1], subgroup_size: 32, ..Module::default() };
    let mut b = Builder::new(&mut module.body);
    let lane = b.value(Op::Builtin(Builtin::SubgroupLane), &[], Type::I32);
    let zero = b.i32(0);
    let vars: Vec<Var> = (0..count).map(|_| b.func.new_var(Type::I32, 1, "")).collect();
    vars.iter().for_each(|&var| b.var_store(var, None, zero));
    b.var_store(vars[0], None, lane);
    for pair in vars.windows(2) {
        let x = b.var_load(pair[0], None);
        let cond = b.compare(crate::op::CompareOp::Ine, x, zero);
        let one = b.i32(1);
        b.if_else(cond, |b| b.var_store(pair[1], None, one), |_| ());
    }
    let u = Uniformity::analyse(&module);
    // The last one is never loaded.
    assert!(vars[..count - 1].iter().all(|&var| !u.is_var_uniform(var)));
}

/// The push constants that are worth an assumption: the byte, and the power of two.
fn assumptions(vars: &str, code: &str) -> Vec<(u32, u32)> {
    let module = module(vars, code);
    let known = Uniformity::analyse(&module);
    Assumptions::useful(&module, &known).aligned().collect()
}

#[test]
fn assumptions_are_what_masks_shifts_and_comparisons_need() {
    let row = "%at: ptr<push> = ptr_add<disp=8> %push
        %n: i32 = load %at
        %row: i32 = workgroup_id<x>
        %start: i32 = imul %row, %n
        %eight: i32 = const 8
        %four: i32 = const 4
        %col: i32 = imul %lane, %eight
        %i: i32 = iadd %start, %col";
    let with = |code: &str| assumptions("", &format!("{row}\n{code}"));
    assert_eq!(with("%a: i32 = iadd %i, %four"), []);
    assert_eq!(with("%a: i32 = and %i, %eight"), [(8, 8)]);
    assert_eq!(with("%k: i32 = const 5\n%a: i32 = lshr %i, %k"), [(8, 8)]);
    assert_eq!(with("%a: bool = ult %col, %n"), [(8, 8)]);
    assert_eq!(with("%a: bool = ult %n, %col"), []);
    assert_eq!(with("%k: i32 = iadd %i, %four\n%five: i32 = const 5\n%a: i32 = lshr %k, %five"), [(8, 8)]);
    let counted = "var_store<$i> %zero
        loop @0 {
          %j: i32 = var_load<$i>
          %more: i32 = iadd %j, %one
          var_store<$i> %more
          %base: i32 = imul %j, %eight
          %kk: i32 = imul %base, %n
          %at2: i32 = iadd %kk, %col
          %a: i32 = udiv %at2, %four
          %go: bool = ult %more, %n
          if %go { br @0 }
        }";
    assert_eq!(assumptions("var $i: i32", &format!("{row}\n{counted}")), [(8, 5)]);
    // Nothing makes the number of a row a multiple of anything.
    assert_eq!(with("%k: i32 = iadd %i, %row\n%a: i32 = lshr %k, %four"), []);
}

#[test]
fn rows_as_long_as_subgroups_hold_all_lanes_of_one() {
    // Where an element of a tensor is, as from the last dimension to the first.
    let tensor = "%p1: ptr<push> = ptr_add<disp=4> %push
        %p2: ptr<push> = ptr_add<disp=8> %push
        %n0: i32 = load %push
        %n1: i32 = load %p1
        %n2: i32 = load %p2
        %i: i32 = global_invocation_id<x>
        %n01: i32 = imul %n1, %n0
        %n012: i32 = imul %n2, %n01
        %is_first: bool = ult %i, %n012
        %i3: i32 = udiv %i, %n012
        %o3: i32 = imul %i3, %n012
        %r3: i32 = isub %i, %o3
        %i2: i32 = udiv %r3, %n01
        %o2: i32 = imul %i2, %n01
        %r2: i32 = isub %r3, %o2
        %i1: i32 = udiv %r2, %n0
        %o1: i32 = imul %i1, %n0
        %i0: i32 = isub %r2, %o1";
    let module = module("", tensor);
    let known = Uniformity::analyse(&module);
    let assumed = Assumptions::useful(&module, &known);
    assert_eq!(assumed.aligned().collect::<Vec<_>>(), [(0, 5)]);
    let u = Uniformity::analyse_if(&module, &assumed);
    let of = |op: BinaryOp| {
        let insts = module.body.insts.iter().filter(move |i| i.op == Op::Binary(op));
        insts.map(|i| u.value(i.results[0])).collect::<Vec<_>>()
    };
    assert_eq!(of(BinaryOp::Udiv), [Shape::Uniform; 3]);
    assert_eq!(of(BinaryOp::Isub), [Shape::Affine { stride: 1 }; 3]);
    // Of a length that is known, and what is not for all lanes.
    let with = |code: &str| assumptions("", &format!("%i: i32 = global_invocation_id<x>\n{code}"));
    let n = "%n: i32 = load %push";
    assert_eq!(with(&format!("{n}\n%q: i32 = sdiv %i, %n")), [], "it may be below 0");
    assert_eq!(with(&format!("{n}\n%q: i32 = umod %i, %n")), [], "it may be 0");
    assert_eq!(with(&format!("{n}\n%j: i32 = iadd %i, %one\n%q: i32 = udiv %j, %n")), []);
    for (length, shape) in [(96, Shape::Uniform), (48, Shape::Varying)] {
        let code =
            format!("%i: i32 = global_invocation_id<x>\n%n: i32 = const {length}\n%q: i32 = udiv %i, %n");
        let module = super::tests::module("", &code);
        let quotient = module.body.insts.iter().find(|i| i.op == Op::Binary(BinaryOp::Udiv)).unwrap();
        assert_eq!(Uniformity::analyse(&module).value(quotient.results[0]), shape, "{length}");
    }
}

#[test]
fn nothing_is_assumed_for_what_comes_after_products_of_matrices() {
    let product = "%s: ptr<shared> = shared_ptr<offset=0, bytes=64>
        %stride: i64 = const 32
        %a: mat<4x4xf16, subgroup, a> = mat_load %s, %stride
        %b: mat<4x4xf16, subgroup, b> = mat_load %s, %stride
        %old: mat<4x4xf16, subgroup, acc> = mat_load %s, %stride
        %new: mat<4x4xf16, subgroup, acc> = mat_mul_add %a, %b, %old";
    let length = "%n: i32 = load %push";
    let inside = "%is_inside: bool = ult %lane, %n";
    let again = "%go: bool = ult %n, %one\nif %go { br @0 }";
    let with = |code: String| assumptions("shared 64", &code);
    assert_eq!(with(format!("{length}\nloop @0 {{ {product}\n{again} }}\n{inside}")), []);
    assert_eq!(with(format!("{length}\nloop @0 {{ {product}\n{inside}\n{again} }}")), [(0, 5)]);
    // Without a loop all is done once.
    assert_eq!(with(format!("{length}\n{product}\n{inside}")), [(0, 5)]);
}

#[test]
fn a_component_of_long_rows_is_in_one_of_them() {
    let shapes = |cols: u32, assumptions: &Assumptions| {
        let code = format!(
            "%b: i32 = const 32
            %m: mat<4x{cols}xf32, subgroup, acc> = mat_map {{
                %row: i32, %col: i32 = params
                %block: i32 = udiv %col, %b
                %f: f32 = u_to_f %block
                yield %f
            }}"
        );
        let module = module("", &code);
        let u = Uniformity::analyse_if(&module, assumptions);
        let named =
            |op: fn(&Op) -> bool| module.body.insts.iter().find(|i| op(&i.op)).unwrap().results.clone();
        let [places, block] =
            [named(|op| *op == Op::Params), named(|op| matches!(op, Op::Binary(BinaryOp::Udiv)))];
        [places[0], places[1], block[0]].map(|v| u.value(v))
    };
    let together = Assumptions::of_components();
    assert_eq!(shapes(64, &together), [Shape::Uniform, Shape::Affine { stride: 1 }, Shape::Uniform]);
    // Rows that end within a subgroup, and targets that do each element when they come to it.
    assert_eq!(shapes(48, &together), [Shape::Varying; 3]);
    assert_eq!(shapes(64, &Assumptions::default()), [Shape::Varying; 3]);
}

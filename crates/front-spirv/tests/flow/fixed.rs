//! Shapes that random programs miss, and control flow that must be refused.

use super::{LANES, compile, module, run};
use std::fmt::Write as _;

/// A module whose `%main` computes `%result` from `%lane` and `%in`, the lane's word of the buffer.
fn main_with(globals: &str, body: &str, more: &str) -> String {
    let globals = format!("%zero = OpConstant %u32 0\n{globals}");
    let functions = format!(
        "%main = OpFunction %void None %void_fn\n%entry = OpLabel\n\
         %x = OpVariable %ptr_fn Function\n\
         %lane = OpLoad %u32 %lane_var\n%at = OpAccessChain %ptr_data %data %zero %lane\n\
         %in = OpLoad %u32 %at\n\
         {body}\
         OpStore %at %result\nOpReturn\nOpFunctionEnd\n{more}"
    );
    module(&globals, &functions)
}

/// Runs such a module with the lanes' numbers as input, and compares.
fn check(globals: &str, body: &str, more: &str, expected: impl Fn(u32) -> u32) {
    let input: Vec<u32> = (0..LANES as u32).collect();
    let found = run(&main_with(globals, body, more), &input);
    let expected: Vec<u32> = input.into_iter().map(expected).collect();
    assert_eq!(found, expected);
}

/// The message that refuses such a module.
fn refused(globals: &str, body: &str, more: &str) -> String {
    let text = main_with(globals, body, more);
    match compile(&text) {
        Ok(m) => panic!("translated:\n{}", phalanx_ir::text::print(&m)),
        Err(e) => e.to_string(),
    }
}

#[test]
fn a_value_outlives_its_loop_without_phi() {
    let body = "OpBranch %h\n%h = OpLabel\n%i = OpPhi %u32 %zero %entry %next %c\n\
        %twice = OpIAdd %u32 %i %i\nOpLoopMerge %m %c None\nOpBranch %b\n\
        %b = OpLabel\n%sq = OpIMul %u32 %i %i\n%done = OpUGreaterThanEqual %bool %sq %in\n\
        OpBranchConditional %done %m %c\n\
        %c = OpLabel\n%next = OpIAdd %u32 %i %one\nOpBranch %h\n\
        %m = OpLabel\n%result = OpIAdd %u32 %sq %twice\n";
    check("%one = OpConstant %u32 1", body, "", |x| {
        let i = (0..).find(|i| i * i >= x).unwrap();
        i * i + 2 * i
    });
}

#[test]
fn phis_exchange_their_values() {
    let body = "OpBranch %h\n%h = OpLabel\n%i = OpPhi %u32 %zero %entry %next %c\n\
        %a = OpPhi %u32 %one %entry %b %c\n%b = OpPhi %u32 %zero %entry %sum %c\n\
        OpLoopMerge %m %c None\n%more = OpULessThan %bool %i %in\nOpBranchConditional %more %c %m\n\
        %c = OpLabel\n%next = OpIAdd %u32 %i %one\n%sum = OpIAdd %u32 %a %b\nOpBranch %h\n\
        %m = OpLabel\n%result = OpIAdd %u32 %b %zero\n";
    // (a, b) becomes (b, a + b): Fibonacci.
    check("%one = OpConstant %u32 1", body, "", |x| (0..x).fold((1, 0), |(a, b), _| (b, a + b)).1);
}

#[test]
fn a_switch_may_have_a_64_bit_selector() {
    let body = "%wide = OpUConvert %u64 %in\n%sel = OpIMul %u64 %wide %factor\n\
        OpStore %x %zero\nOpSelectionMerge %m None\n\
        OpSwitch %sel %d 0 %a 8589934592 %b 12884901888 %b\n\
        %a = OpLabel\nOpStore %x %c5\nOpBranch %m\n\
        %b = OpLabel\nOpStore %x %c6\nOpBranch %m\n\
        %d = OpLabel\nOpStore %x %c7\nOpBranch %m\n\
        %m = OpLabel\n%result = OpLoad %u32 %x\n";
    let globals = "%factor = OpConstant %u64 4294967296\n%c5 = OpConstant %u32 5\n\
        %c6 = OpConstant %u32 6\n%c7 = OpConstant %u32 7";
    check(globals, body, "", |x| match x {
        0 => 5,
        2 | 3 => 6,
        _ => 7,
    });
}

#[test]
fn a_switch_with_many_cases_does_not_nest() {
    let n = 300;
    let (mut globals, mut table, mut blocks) = (String::new(), String::new(), String::new());
    for i in 0..n {
        writeln!(globals, "%k{i} = OpConstant %u32 {}", i * 7).unwrap();
        write!(table, " {i} %l{i}").unwrap();
        writeln!(blocks, "%l{i} = OpLabel\nOpStore %x %k{i}\nOpBranch %m").unwrap();
    }
    let body = format!(
        "OpSelectionMerge %m None\nOpSwitch %in %l0{table}\n{blocks}%m = OpLabel\n%result = OpLoad %u32 %x\n"
    );
    check(&globals, &body, "", |x| x * 7);
}

#[test]
fn a_long_row_of_selections_does_not_nest() {
    let mut body = "OpStore %x %in\n".to_owned();
    for i in 0..3000 {
        write!(
            body,
            "%v{i} = OpLoad %u32 %x\n%c{i} = OpINotEqual %bool %v{i} %zero\n\
             OpSelectionMerge %m{i} None\nOpBranchConditional %c{i} %t{i} %m{i}\n%t{i} = OpLabel\n\
             %w{i} = OpIAdd %u32 %v{i} %one\nOpStore %x %w{i}\nOpBranch %m{i}\n%m{i} = OpLabel\n"
        )
        .unwrap();
    }
    body += "%result = OpLoad %u32 %x\n";
    check("%one = OpConstant %u32 1", &body, "", |x| if x == 0 { 0 } else { x + 3000 });
}

#[test]
fn a_long_row_of_early_returns_does_not_nest() {
    let mut f = "%f = OpFunction %u32 None %fn\n%p = OpFunctionParameter %u32\n%fe = OpLabel\n".to_owned();
    for i in 0..1000 {
        write!(
            f,
            "%c{i} = OpIEqual %bool %p %k{}\nOpSelectionMerge %m{i} None\n\
             OpBranchConditional %c{i} %t{i} %m{i}\n%t{i} = OpLabel\nOpReturnValue %k{}\n%m{i} = OpLabel\n",
            i % 8,
            (i + 1) % 8
        )
        .unwrap();
    }
    f += "OpReturnValue %p\nOpFunctionEnd\n";
    let mut globals = "%fn = OpTypeFunction %u32 %u32\n".to_owned();
    (0..8).for_each(|k| writeln!(globals, "%k{k} = OpConstant %u32 {k}").unwrap());
    check(&globals, "%result = OpFunctionCall %u32 %f %in\n", &f, |x| if x < 8 { (x + 1) % 8 } else { x });
}

#[test]
fn what_a_constant_branch_skips_is_left_out() {
    let body = "OpStore %x %in\nOpSelectionMerge %m None\nOpBranchConditional %false %t %e\n\
        %t = OpLabel\n%bad = OpUDiv %u32 %in %zero\nOpStore %x %bad\nOpBranch %m\n\
        %e = OpLabel\nOpBranch %m\n%m = OpLabel\n\
        OpSelectionMerge %m2 None\nOpSwitch %two %d 1 %a 2 %b\n\
        %a = OpLabel\nOpStore %x %zero\nOpBranch %b\n\
        %b = OpLabel\nOpBranch %m2\n%d = OpLabel\nOpStore %x %zero\nOpBranch %m2\n\
        %m2 = OpLabel\n%result = OpLoad %u32 %x\n";
    let globals = "%two = OpConstant %u32 2";
    check(globals, body, "", |x| x);
    let text = phalanx_ir::text::print(&compile(&main_with(globals, body, "")).unwrap());
    assert!(!text.contains("udiv") && !text.contains("if"), "{text}");
}

#[test]
fn a_call_that_never_returns_ends_the_invocation() {
    let body = "%odd = OpBitwiseAnd %u32 %in %one\n%c = OpIEqual %bool %odd %zero\n\
        OpSelectionMerge %m None\nOpBranchConditional %c %t %m\n\
        %t = OpLabel\n%r = OpFunctionCall %void %f\nOpBranch %m\n\
        %m = OpLabel\n%result = OpIAdd %u32 %in %one\n";
    let f = "%f = OpFunction %void None %void_fn\n%fe = OpLabel\nOpUnreachable\nOpFunctionEnd\n";
    // Unreachable is undefined; what matters is that the others go on.
    let input: Vec<u32> = (0..LANES as u32).collect();
    let found = run(&main_with("%one = OpConstant %u32 1", body, f), &input);
    assert!(found.iter().zip(input).all(|(f, i)| i % 2 == 0 || *f == i + 1), "{found:?}");
}

#[test]
fn control_flow_without_merge_instructions_works() {
    // Reducible, but no construct is declared; a kernel compiler may emit this.
    let body = "OpBranch %h\n%h = OpLabel\n%i = OpPhi %u32 %zero %entry %n1 %a %n2 %b\n\
        %big = OpUGreaterThan %bool %i %in\nOpBranchConditional %big %out %t\n\
        %t = OpLabel\n%bit = OpBitwiseAnd %u32 %i %one\n%odd = OpIEqual %bool %bit %one\n\
        OpBranchConditional %odd %a %b\n\
        %a = OpLabel\n%n1 = OpIAdd %u32 %i %three\nOpBranch %h\n\
        %b = OpLabel\n%n2 = OpIAdd %u32 %i %one\n%stop = OpIEqual %bool %n2 %seven\n\
        OpBranchConditional %stop %out %h\n\
        %out = OpLabel\n%result = OpPhi %u32 %i %h %n2 %b\n";
    let globals = "%one = OpConstant %u32 1\n%three = OpConstant %u32 3\n%seven = OpConstant %u32 7";
    check(globals, body, "", |x| {
        let mut i = 0;
        while i <= x {
            i += if i & 1 == 1 { 3 } else { 1 };
            if i == 7 && i & 1 == 1 && (i - 1) & 1 == 0 {
                break;
            }
        }
        i
    });
}

#[test]
fn a_loop_with_two_entries_is_refused() {
    let body = "%c = OpIEqual %bool %in %zero\nOpBranchConditional %c %a %b\n\
        %a = OpLabel\nOpBranch %b\n%b = OpLabel\n%d = OpIEqual %bool %lane %zero\n\
        OpBranchConditional %d %a %m\n%m = OpLabel\n%result = OpCopyObject %u32 %in\n";
    assert!(refused("", body, "").contains("closes a loop that has another entry"));
}

#[test]
fn recursion_is_refused() {
    let f = "%f = OpFunction %void None %void_fn\n%fe = OpLabel\n%r1 = OpFunctionCall %void %g\n\
        OpReturn\nOpFunctionEnd\n\
        %g = OpFunction %void None %void_fn\n%ge = OpLabel\n%r2 = OpFunctionCall %void %f\n\
        OpReturn\nOpFunctionEnd\n";
    let body = "%r = OpFunctionCall %void %f\n%result = OpCopyObject %u32 %in\n";
    assert!(refused("", body, f).contains("calls itself"));
}

#[test]
fn calls_that_double_are_refused_in_time() {
    let mut f = String::new();
    for i in 0..40 {
        writeln!(f, "%f{i} = OpFunction %void None %void_fn\n%e{i} = OpLabel").unwrap();
        for side in ["a", "b"] {
            if i < 39 {
                writeln!(f, "%r{side}{i} = OpFunctionCall %void %f{}", i + 1).unwrap();
            }
        }
        writeln!(f, "OpReturn\nOpFunctionEnd").unwrap();
    }
    let body = "%r = OpFunctionCall %void %f0\n%result = OpCopyObject %u32 %in\n";
    assert!(refused("", body, &f).contains("instructions after inlining"));
}

#[test]
fn deep_nesting_is_refused() {
    let mut body = String::new();
    for i in 0..2000 {
        write!(body, "OpSelectionMerge %m{i} None\nOpBranchConditional %c %t{i} %m{i}\n%t{i} = OpLabel\n")
            .unwrap();
    }
    for i in (0..2000).rev() {
        write!(body, "OpBranch %m{i}\n%m{i} = OpLabel\n").unwrap();
    }
    let body = format!("%c = OpIEqual %bool %in %zero\n{body}%result = OpCopyObject %u32 %in\n");
    assert!(refused("", &body, "").contains("nest deeper than"));
}

#[test]
fn graphics_terminators_are_refused() {
    let body = "%c = OpIEqual %bool %in %zero\nOpSelectionMerge %m None\nOpBranchConditional %c %t %m\n\
        %t = OpLabel\nOpKill\n%m = OpLabel\n%result = OpCopyObject %u32 %in\n";
    assert!(refused("", body, "").contains("OpKill"));
}

#[test]
fn a_use_before_the_definition_is_refused() {
    let body = "%y = OpIAdd %u32 %z %in\n%z = OpIAdd %u32 %in %in\n%result = OpCopyObject %u32 %y\n";
    let message = refused("", body, "");
    assert!(message.contains("OpIAdd") && message.contains("is not defined before its use"), "{message}");
}

#[test]
fn a_phi_without_an_operand_for_a_predecessor_is_refused() {
    let body = "%c = OpIEqual %bool %in %zero\nOpSelectionMerge %m None\nOpBranchConditional %c %t %m\n\
        %t = OpLabel\nOpBranch %m\n%m = OpLabel\n%result = OpPhi %u32 %in %t\n";
    assert!(refused("", body, "").contains("has no operand for the predecessor"));
}

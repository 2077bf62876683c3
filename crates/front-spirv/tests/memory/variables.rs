//! Function, private and shared variables; layouts.

use super::{Run, shader, with_variables};

const COMPOSITES: &str = "%arr = OpTypeArray %v2 %3\n%inner = OpTypeStruct %u32 %arr\n\
    %outer = OpTypeArray %inner %2\n%ptr_outer = OpTypePointer Function %outer\n\
    %ptr_inner = OpTypePointer Function %inner\n%ptr_arr = OpTypePointer Function %arr\n\
    %ptr_v2 = OpTypePointer Function %v2\n";

#[test]
fn nested_arrays_and_structures_are_indexed_dynamically() {
    let body = "%row = OpBitwiseAnd %u32 %lane %1\n%col = OpUMod %u32 %lane %3\n\
        %p = OpAccessChain %ptr_fn %v %row %1 %col %1\nOpStore %p %lane\n\
        %q = OpAccessChain %ptr_inner %v %row\n%whole = OpLoad %inner %q\n\
        %arr_v = OpCompositeExtract %arr %whole 1\n%changed = OpCompositeInsert %inner %7 %whole 0\n\
        OpStore %q %changed\n%n = OpAccessChain %ptr_fn %v %row %0\n%seven = OpLoad %u32 %n\n\
        %a0 = OpCompositeExtract %u32 %arr_v 0 1\n%a1 = OpCompositeExtract %u32 %arr_v 1 1\n\
        %a2 = OpCompositeExtract %u32 %arr_v 2 1\n%s = OpIAdd %u32 %a0 %a1\n%t = OpIAdd %u32 %s %a2\n\
        %t10 = OpIMul %u32 %t %10\n%r = OpIAdd %u32 %t10 %seven\nOpStore %out %r";
    let globals = format!("{COMPOSITES}%null = OpConstantNull %outer");
    let text = with_variables("%v = OpVariable %ptr_outer Function %null", &globals, body);
    assert_eq!(Run::on(&[0; 4]).go(&text)[0], [7, 17, 27, 37]);
}

#[test]
fn a_pointer_parameter_reaches_into_the_callers_variable() {
    let globals =
        format!("{COMPOSITES}%null = OpConstantNull %outer\n%fn = OpTypeFunction %v2 %ptr_arr %u32\n");
    let body = "%a = OpAccessChain %ptr_arr %v %1 %1\n%one = OpFunctionCall %v2 %f %a %lane\n\
        %two = OpFunctionCall %v2 %f %a %2\n%x = OpCompositeExtract %u32 %one 1\n\
        %y = OpCompositeExtract %u32 %two 1\n%y10 = OpIMul %u32 %y %10\n%r = OpIAdd %u32 %x %y10\n\
        OpStore %out %r";
    let f = "%f = OpFunction %v2 None %fn\n%p = OpFunctionParameter %ptr_arr\n%i = OpFunctionParameter %u32\n\
        %fe = OpLabel\n%e = OpAccessChain %ptr_fn %p %2 %1\n%old = OpLoad %u32 %e\n\
        %new = OpIAdd %u32 %old %i\nOpStore %e %new\n%vp = OpAccessChain %ptr_v2 %p %2\n\
        %res = OpLoad %v2 %vp\nOpReturnValue %res\nOpFunctionEnd\n";
    let text = with_variables("%v = OpVariable %ptr_outer Function %null", &globals, body) + f;
    assert_eq!(Run::on(&[0; 4]).go(&text)[0], [20, 31, 42, 53]);
}

#[test]
fn a_variable_that_holds_one_constant_is_a_table() {
    let globals = "%t = OpTypeArray %u32 %4\n%table = OpConstantComposite %t %3 %1 %4 %2\n\
        %ptr_t = OpTypePointer Function %t\n%ptr_pt = OpTypePointer Private %t\n\
        %ptr_p = OpTypePointer Private %u32\n%priv = OpVariable %ptr_pt Private %table";
    let body = "OpStore %v %table\n%p = OpAccessChain %ptr_fn %v %lane\n%a = OpLoad %u32 %p\n\
        %q = OpAccessChain %ptr_p %priv %3\n%b = OpLoad %u32 %q\n%r = OpIMul %u32 %a %b\nOpStore %out %r";
    let text = with_variables("%v = OpVariable %ptr_t Function", globals, body);
    let run = Run::on(&[0; 4]);
    assert_eq!(run.go(&text)[0], [6, 2, 8, 4]);
    let printed = phalanx_ir::text::print(&run.compile(&text).unwrap());
    assert!(!printed.contains("var_store"), "{printed}");
}

#[test]
fn private_variables_start_with_their_initialiser_in_every_invocation() {
    let globals = "%t = OpTypeArray %u32 %16\n%z = OpConstantNull %t\n%ptr_pt = OpTypePointer Private %t\n\
        %ptr_p = OpTypePointer Private %u32\n%big = OpVariable %ptr_pt Private %z\n\
        %n = OpVariable %ptr_p Private %5";
    let body = "%p = OpAccessChain %ptr_p %big %lane\n%old = OpLoad %u32 %p\n%x = OpLoad %u32 %n\n\
        %y = OpIAdd %u32 %x %old\nOpStore %p %y\nOpStore %n %y\n%q = OpAccessChain %ptr_p %big %2\n\
        %z2 = OpLoad %u32 %q\n%w = OpLoad %u32 %n\n%r = OpIAdd %u32 %z2 %w\nOpStore %out %r";
    assert_eq!(Run::on(&[0; 4]).go(&shader("", globals, body))[0], [5, 5, 10, 5]);
}

#[test]
fn shared_memory_is_shared_and_may_start_as_zero() {
    let globals = "%s = OpTypeStruct %bool %v3 %u16\n%arr = OpTypeArray %s %4\n\
        %ptr_arr = OpTypePointer Workgroup %arr\n%null = OpConstantNull %arr\n\
        %w = OpVariable %ptr_arr Workgroup %null\n%ptr_b = OpTypePointer Workgroup %bool\n\
        %ptr_u = OpTypePointer Workgroup %u32\n%ptr_h = OpTypePointer Workgroup %u16\n";
    let body = "%odd = OpBitwiseAnd %u32 %lane %1\n%is = OpIEqual %bool %odd %1\n\
        %pb = OpAccessChain %ptr_b %w %lane %0\nOpStore %pb %is\n\
        %py = OpAccessChain %ptr_u %w %lane %1 %lane\nOpStore %py %lane\n\
        OpControlBarrier %2 %2 %0\n%next = OpIAdd %u32 %lane %1\n%n = OpUMod %u32 %next %4\n\
        %qb = OpAccessChain %ptr_b %w %n %0\n%b = OpLoad %bool %qb\n%bv = OpSelect %u32 %b %10 %0\n\
        %qy = OpAccessChain %ptr_u %w %n %1 %n\n%y = OpLoad %u32 %qy\n\
        %qh = OpAccessChain %ptr_h %w %n %2\n%h = OpLoad %u16 %qh\n%hw = OpUConvert %u32 %h\n\
        %s1 = OpIAdd %u32 %bv %y\n%r = OpIAdd %u32 %s1 %hw\nOpStore %out %r";
    // The fourth component of lane 3's vector does not exist: it lies in the structure's last member.
    let found = Run::on(&[9; 4]).go(&shader("", globals, body));
    assert_eq!(found[0], [11, 2, 13 + 3, 0]);
}

#[test]
fn explicitly_laid_out_shared_blocks_lie_over_each_other() {
    let globals = "%a8 = OpTypeArray %u32 %8\n%b4 = OpTypeArray %v2 %4\n%sa = OpTypeStruct %a8\n%sb = OpTypeStruct %b4\n\
        %ptr_sa = OpTypePointer Workgroup %sa\n%ptr_sb = OpTypePointer Workgroup %sb\n\
        %wa = OpVariable %ptr_sa Workgroup\n%wb = OpVariable %ptr_sb Workgroup\n\
        %ptr_u = OpTypePointer Workgroup %u32\n%ptr_v = OpTypePointer Workgroup %v2";
    let annotations = "OpDecorate %a8 ArrayStride 4\nOpDecorate %b4 ArrayStride 8\nOpDecorate %sa Block\nOpDecorate %sb Block\n\
        OpMemberDecorate %sa 0 Offset 0\nOpMemberDecorate %sb 0 Offset 0\nOpDecorate %wa Aliased\nOpDecorate %wb Aliased";
    let body = "%v = OpCompositeConstruct %v2 %lane %7\n%p = OpAccessChain %ptr_v %wb %0 %lane\nOpStore %p %v\n\
        OpControlBarrier %2 %2 %0\n%i = OpIAdd %u32 %lane %2\n%q = OpAccessChain %ptr_u %wa %0 %i\n\
        %r = OpLoad %u32 %q\nOpStore %out %r";
    let text = shader(annotations, globals, body);
    assert_eq!(Run::on(&[0; 4]).go(&text)[0], [1, 7, 2, 7]);
    assert_eq!(Run::on(&[0]).compile(&text).unwrap().shared_bytes, 32);
}

#[test]
fn row_major_matrices_are_accessed_by_column_and_component() {
    let globals = "%mat = OpTypeMatrix %v3f 2\n%mats = OpTypeArray %mat %2\n%s = OpTypeStruct %u32 %mats\n\
        %ptr_s = OpTypePointer StorageBuffer %s\n%m = OpVariable %ptr_s StorageBuffer\n\
        %ptr_col = OpTypePointer StorageBuffer %v3f\n%ptr_f = OpTypePointer StorageBuffer %f32\n\
        %ptr_mat = OpTypePointer StorageBuffer %mat";
    // Rows of 2 floats every 8 bytes, matrices every 24.
    let annotations = "OpDecorate %s Block\nOpMemberDecorate %s 0 Offset 0\nOpMemberDecorate %s 1 Offset 4\n\
        OpMemberDecorate %s 1 RowMajor\nOpMemberDecorate %s 1 MatrixStride 8\nOpDecorate %mats ArrayStride 24\n\
        OpDecorate %m DescriptorSet 0\nOpDecorate %m Binding 1";
    let body = "%c = OpBitwiseAnd %u32 %lane %1\n%pc = OpAccessChain %ptr_col %m %1 %1 %c\n\
        %col = OpLoad %v3f %pc\n%y = OpCompositeExtract %f32 %col 2\n\
        %pf = OpAccessChain %ptr_f %pc %1\n%z = OpLoad %f32 %pf\n\
        %pm = OpAccessChain %ptr_mat %m %1 %0\n%whole = OpLoad %mat %pm\n%w = OpCompositeExtract %f32 %whole 1 0\n\
        %s1 = OpFAdd %f32 %y %z\n%s2 = OpFAdd %f32 %s1 %w\n%r = OpConvertFToU %u32 %s2\nOpStore %out %r\n\
        %neg = OpFNegate %v3f %col\nOpStore %pc %neg";
    let floats: Vec<u32> = (0..12).map(|i| (i as f32).to_bits()).collect();
    let buffer: Vec<u32> = [vec![99], floats].concat();
    let run = Run { buffers: vec![vec![0; 4], buffer], ..Run::default() };
    // Two invocations take each column; only what the first pair computes is the same for both.
    let text = shader(annotations, globals, body).replace("LocalSize 4 1 1", "LocalSize 2 1 1");
    let found = run.go(&text);
    let at = |m: u32, r: u32, c: u32| m * 6 + r * 2 + c;
    let expected = |c| at(1, 2, c) + at(1, 1, c) + at(0, 0, 1);
    assert_eq!(found[0][..2], [expected(0), expected(1)]);
    assert_eq!(f32::from_bits(found[1][1 + at(1, 0, 1) as usize]), -7.0);
    assert_eq!(f32::from_bits(found[1][1 + at(0, 0, 1) as usize]), 1.0);
}

#[test]
fn objects_are_copied_in_memory() {
    let globals = "%a = OpTypeArray %u32 %2\n%s = OpTypeStruct %u32 %a\n%t = OpTypeStruct %s %s\n\
        %fa = OpTypeArray %u32 %2\n%fs = OpTypeStruct %u32 %fa\n%ptr_fs = OpTypePointer Function %fs\n\
        %ptr_t = OpTypePointer StorageBuffer %t\n%ptr_s = OpTypePointer StorageBuffer %s\n\
        %v = OpVariable %ptr_t StorageBuffer";
    let annotations = "OpDecorate %a ArrayStride 8\nOpMemberDecorate %s 0 Offset 0\nOpMemberDecorate %s 1 Offset 4\n\
        OpDecorate %t Block\nOpMemberDecorate %t 0 Offset 0\nOpMemberDecorate %t 1 Offset 20\n\
        OpDecorate %v DescriptorSet 0\nOpDecorate %v Binding 1";
    let body = "%p = OpAccessChain %ptr_s %v %0\n%q = OpAccessChain %ptr_s %v %1\nOpCopyMemory %q %p\n\
        %x = OpLoad %s %p\n%l = OpCopyLogical %fs %x\nOpStore %f %l\n%e = OpAccessChain %ptr_fn %f %1 %1\n\
        %r = OpLoad %u32 %e\nOpStore %out %r";
    let text = shader(annotations, globals, body)
        .replace("%entry = OpLabel\n", "%entry = OpLabel\n%f = OpVariable %ptr_fs Function\n");
    let run = Run { buffers: vec![vec![0; 4], vec![1, 2, 3, 4, 5, 0, 0, 0, 0, 0]], ..Run::default() };
    let found = run.go(&text);
    assert_eq!(found[0], [4; 4]);
    assert_eq!(found[1], [1, 2, 3, 4, 5, 1, 2, 0, 4, 0]);
}

#[test]
fn absurd_sizes_are_refused() {
    let big = |class: &str, more: &str| {
        let globals = format!(
            "%huge = OpConstant %u32 2147483647\n%arr = OpTypeArray %u32 %huge\n%arr2 = OpTypeArray %arr %huge\n\
             %p = OpTypePointer {class} %arr\n%p2 = OpTypePointer {class} %arr2\n\
             %pe = OpTypePointer {class} %u32\n%v = OpVariable %p {class}{more}"
        );
        let body = "%q = OpAccessChain %pe %v %lane\n%x = OpLoad %u32 %q\nOpStore %out %x";
        Run::on(&[0]).refused(&shader("", &globals, body))
    };
    assert!(big("Workgroup", "").contains("bytes of Workgroup memory; at most"));
    assert!(big("Private", "").contains("the variables take more than"));
    let globals = "%huge = OpConstant %u32 4294967295\n%arr = OpTypeArray %u32 %huge";
    let message = Run::on(&[0]).refused(&shader("", globals, ""));
    assert!(message.contains("an array of 4294967295 elements is too long"), "{message}");
}

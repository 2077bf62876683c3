//! Pointers as values: variable pointers, untyped ones, addresses, descriptor arrays.

use super::{Run, shader};

#[test]
fn variable_pointers_are_chosen_and_compared() {
    let body = "%even = OpBitwiseAnd %u32 %lane %1\n%is = OpIEqual %bool %even %0\n\
        %p4 = OpAccessChain %ptr_data %data %0 %4\n%p8 = OpAccessChain %ptr_data %data %0 %8\n\
        %p = OpSelect %ptr_data %is %p4 %p8\n%q = OpPtrAccessChain %ptr_data %p %lane\n\
        %v = OpLoad %u32 %q\n%same = OpPtrEqual %bool %p %p4\n%d = OpPtrDiff %i32 %q %p4\n\
        %du = OpBitcast %u32 %d\n%s = OpSelect %u32 %same %16 %0\n\
        %a = OpIAdd %u32 %v %s\n%h = OpIMul %u32 %du %k\n%r = OpIAdd %u32 %a %h\nOpStore %out %r";
    let text = shader("OpDecorate %ptr_data ArrayStride 4", "%k = OpConstant %u32 100", body);
    let words: Vec<u32> = (0..12).map(|i| i * 3).collect();
    let found = Run::on(&words).go(&text);
    let expected: Vec<u32> = (0..4)
        .map(|l| {
            let at = if l % 2 == 0 { 4 } else { 8 } + l;
            at * 3 + if l % 2 == 0 { 16 } else { 0 } + (at - 4) * 100
        })
        .collect();
    assert_eq!(found[0][..4], expected);
}

#[test]
fn a_phi_of_pointers_walks_through_a_buffer() {
    let body = "%first = OpAccessChain %ptr_data %data %0 %4\nOpBranch %h\n%h = OpLabel\n\
        %p = OpPhi %ptr_data %first %entry %pn %c\n%i = OpPhi %u32 %0 %entry %in %c\n\
        %sum = OpPhi %u32 %0 %entry %sn %c\nOpLoopMerge %m %c None\n\
        %more = OpULessThan %bool %i %lane\nOpBranchConditional %more %c %m\n\
        %c = OpLabel\n%v = OpLoad %u32 %p\n%sn = OpIAdd %u32 %sum %v\n\
        %pn = OpPtrAccessChain %ptr_data %p %1\n%in = OpIAdd %u32 %i %1\nOpBranch %h\n\
        %m = OpLabel\nOpStore %out %sum";
    let text = shader("OpDecorate %ptr_data ArrayStride 4", "", body);
    let found = Run::on(&[0, 0, 0, 0, 10, 20, 30, 40]).go(&text);
    assert_eq!(found[0][..4], [0, 10, 30, 60]);
}

#[test]
fn pointers_into_shared_memory_are_values() {
    let globals = "%arr = OpTypeArray %u32 %8\n%ptr_arr = OpTypePointer Workgroup %arr\n\
        %ptr_w = OpTypePointer Workgroup %u32\n%s = OpVariable %ptr_arr Workgroup\n\
        %ptr_ptr = OpTypePointer Function %ptr_w\n";
    let body = "%mine = OpAccessChain %ptr_w %s %lane\n%x = OpIMul %u32 %lane %lane\nOpStore %mine %x\n\
        OpControlBarrier %2 %2 %0\nOpStore %cell %mine\n%back = OpLoad %ptr_w %cell\n\
        %next = OpPtrAccessChain %ptr_w %back %one_i\n%v = OpLoad %u32 %next\nOpStore %out %v";
    let globals = format!("{globals}%one_i = OpConstant %i32 1");
    let text = shader("OpDecorate %ptr_w ArrayStride 4", &globals, body)
        .replace("%entry = OpLabel\n", "%entry = OpLabel\n%cell = OpVariable %ptr_ptr Function\n");
    assert_eq!(Run::on(&[9; 4]).go(&text)[0], [1, 4, 9, 0]);
}

#[test]
fn untyped_pointers_are_read_as_what_each_access_says() {
    let globals = "%up = OpTypeUntypedPointerKHR StorageBuffer\n\
        %u = OpUntypedVariableKHR %up StorageBuffer %block\n\
        %pair = OpTypeStruct %v2 %u16 %u16\n%pairs = OpTypeRuntimeArray %pair\n%list = OpTypeStruct %u32 %pairs\n";
    let annotations = "OpDecorate %u DescriptorSet 0\nOpDecorate %u Binding 1\n\
        OpMemberDecorate %pair 0 Offset 0\nOpMemberDecorate %pair 1 Offset 8\nOpMemberDecorate %pair 2 Offset 10\n\
        OpDecorate %pairs ArrayStride 12\nOpMemberDecorate %list 0 Offset 0\nOpMemberDecorate %list 1 Offset 4\n";
    let body = "%a = OpUntypedAccessChainKHR %up %list %u %1 %lane %2\n%h = OpLoad %u16 %a\n\
        %hw = OpUConvert %u32 %h\n%b = OpUntypedInBoundsAccessChainKHR %up %list %u %1 %lane\n\
        %vec = OpLoad %v2 %b\n%y = OpCompositeExtract %u32 %vec 1\n\
        %n = OpUntypedArrayLengthKHR %u32 %list %u 1\n\
        %s = OpIAdd %u32 %hw %y\n%r = OpIAdd %u32 %s %n\nOpStore %out %r\n\
        %q = OpUntypedPtrAccessChainKHR %up %pair %b %1 %1\nOpStore %q %h";
    let text = shader(annotations, globals, body);
    let words = |l: u32| [l, 100 * l, (1000 + l) << 16 | 7];
    let mut buffer = vec![77];
    buffer.extend((0..5).flat_map(words));
    let run = Run { buffers: vec![vec![0; 4], buffer], ..Run::default() };
    let found = run.go(&text);
    assert_eq!(found[0], [1000 + 5, 1101 + 5, 1202 + 5, 1303 + 5]);
    // The element after each lane's has the lower half of its last word replaced.
    assert_eq!(found[1][6], 1001 << 16 | 1000);
}

#[test]
fn addresses_are_followed() {
    let globals = "OpTypeForwardPointer %ptr_node PhysicalStorageBuffer\n\
        %node = OpTypeStruct %ptr_node %u32 %u32\n%ptr_node = OpTypePointer PhysicalStorageBuffer %node\n\
        %ptr_pu = OpTypePointer PhysicalStorageBuffer %u32\n%ptr_pp = OpTypePointer PhysicalStorageBuffer %ptr_node\n\
        %root = OpTypeStruct %ptr_node\n%ptr_root = OpTypePointer PushConstant %root\n\
        %ptr_push = OpTypePointer PushConstant %ptr_node\n%push = OpVariable %ptr_root PushConstant";
    let annotations = "OpDecorate %node Block\nOpMemberDecorate %node 0 Offset 0\n\
        OpMemberDecorate %node 1 Offset 8\nOpMemberDecorate %node 2 Offset 12\n\
        OpDecorate %root Block\nOpMemberDecorate %root 0 Offset 8\nOpDecorate %cell AliasedPointer";
    let body = "%at = OpAccessChain %ptr_push %push %0\n%head = OpLoad %ptr_node %at\nOpStore %cell %head\n\
        OpBranch %h\n%h = OpLabel\n%i = OpPhi %u32 %0 %entry %in %c\nOpLoopMerge %m %c None\n\
        %more = OpULessThan %bool %i %lane\nOpBranchConditional %more %c %m\n\
        %c = OpLabel\n%now = OpLoad %ptr_node %cell\n%np = OpAccessChain %ptr_pp %now %0\n\
        %next = OpLoad %ptr_node %np Aligned 8\nOpStore %cell %next\n%in = OpIAdd %u32 %i %1\nOpBranch %h\n\
        %m = OpLabel\n%p = OpLoad %ptr_node %cell\n%vp = OpAccessChain %ptr_pu %p %1\n\
        %v = OpLoad %u32 %vp Aligned 4\n%num = OpConvertPtrToU %u64 %p\n%low = OpUConvert %u32 %num\n\
        %r = OpIAdd %u32 %v %low\nOpStore %out %r\n\
        %wp = OpAccessChain %ptr_pu %p %2\nOpStore %wp %lane Aligned 4";
    let text = shader(annotations, &format!("{globals}\n%ptr_cell = OpTypePointer Function %ptr_node"), body)
        .replace("%entry = OpLabel\n", "%entry = OpLabel\n%cell = OpVariable %ptr_cell Function\n");
    // Nodes of 16 bytes in buffer 1, at 0x2000.
    let node = |next: u32, v: u32| [next, 0, v, 0];
    let nodes = [node(0x2020, 5), node(0x2030, 8), node(0x2010, 6), node(0x2000, 7)].concat();
    let run = Run { buffers: vec![vec![0; 4], nodes], push: vec![0, 0, 0x2000, 0], ..Run::default() };
    let found = run.go(&text);
    assert_eq!(found[0], [0x2000 + 5, 0x2020 + 6, 0x2010 + 8, 0x2030 + 7]);
    assert_eq!([3, 7, 11, 15].map(|i| found[1][i]), [0, 2, 1, 3]);
}

#[test]
fn descriptor_arrays_take_an_index() {
    let globals = "%arr = OpTypeRuntimeArray %block\n%ptr_arr = OpTypePointer StorageBuffer %arr\n\
        %many = OpVariable %ptr_arr StorageBuffer";
    let annotations = "OpDecorate %many DescriptorSet 1\nOpDecorate %many Binding 3\n\
        OpDecorate %i NonUniform\nOpDecorate %p NonUniform";
    let body = "%i = OpIMul %u32 %lane %1\n%p = OpAccessChain %ptr_data %many %i %0 %1\n%v = OpLoad %u32 %p\n\
        %b = OpAccessChain %ptr_block %many %i\n%n = OpArrayLength %u32 %b 0\n%r = OpIMul %u32 %v %n\n\
        OpStore %p %r";
    let run =
        Run { buffers: vec![vec![1, 2], vec![3, 4, 5], vec![6, 7, 8, 9]], as_array: true, ..Run::default() };
    let found = run.go(&shader(annotations, globals, body));
    // The fourth lane's index is out of range, which reads zero and writes nothing.
    assert_eq!(found, [vec![1, 4], vec![3, 12, 5], vec![6, 28, 8, 9]]);
}

#[test]
fn logical_pointers_are_no_values() {
    let body =
        "%c = OpIEqual %bool %lane %0\n%p = OpSelect %ptr_fn %c %a %b\n%v = OpLoad %u32 %p\nOpStore %out %v";
    let text =
        super::with_variables("%a = OpVariable %ptr_fn Function\n%b = OpVariable %ptr_fn Function", "", body);
    assert!(Run::on(&[0]).refused(&text).contains("a Function pointer is used as a value"));
}

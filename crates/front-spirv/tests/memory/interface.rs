//! Entry points, execution modes, built-ins, diagnostics and inspection.

use super::{Run, shader};
use phalanx_front_spirv::{Class, TypeLayout, inspect};
use phalanx_ir::{BindingInfo, BindingKind};

#[test]
fn the_size_of_a_work_group_comes_from_three_places() {
    let size = |modes: &str, annotations: &str, globals: &str, spec: &[(u32, u64)]| {
        let text = shader(annotations, globals, "").replace("OpExecutionMode %main LocalSize 4 1 1\n", modes);
        Run { spec: spec.to_vec(), ..Run::on(&[0]) }.compile(&text).unwrap().workgroup_size
    };
    let literal = "OpExecutionMode %main LocalSize 4 3 2\n";
    let by_id = "OpExecutionModeId %main LocalSizeId %x %2 %1\n";
    assert_eq!(size(literal, "", "", &[]), [4, 3, 2]);
    let x = "%x = OpSpecConstant %u32 8";
    assert_eq!(size(by_id, "OpDecorate %x SpecId 0", x, &[]), [8, 2, 1]);
    assert_eq!(size(by_id, "OpDecorate %x SpecId 0", x, &[(0, 16)]), [16, 2, 1]);
    let built_in = "OpDecorate %s BuiltIn WorkgroupSize\nOpDecorate %x SpecId 0";
    let globals = "%x = OpSpecConstant %u32 8\n%s = OpSpecConstantComposite %v3 %x %1 %3";
    assert_eq!(size(literal, built_in, globals, &[(0, 2)]), [2, 1, 3]);
}

#[test]
fn bad_work_group_sizes_are_refused() {
    for (size, message) in [("0 1 1", "is empty"), ("2000 1 1", "at most 1024"), ("65536 65536 1", "at most")]
    {
        let text = shader("", "", "").replace("LocalSize 4 1 1", &format!("LocalSize {size}"));
        let found = Run::on(&[0]).refused(&text);
        assert!(found.contains(message), "{found}");
    }
    let text = shader("", "", "").replace("OpExecutionMode %main LocalSize 4 1 1\n", "");
    assert!(Run::on(&[0]).refused(&text).contains("states no LocalSize"));
}

#[test]
fn an_entry_point_is_chosen_by_name() {
    let second = "OpEntryPoint GLCompute %other \"other\" %lane_var %data\nOpExecutionMode %other LocalSize 2 1 1\n\
        OpExecutionMode %main LocalSize";
    let f = "%other = OpFunction %void None %void_fn\n%oe = OpLabel\n%ol = OpLoad %u32 %lane_var\n\
        %op = OpAccessChain %ptr_data %data %0 %ol\nOpStore %op %9\nOpReturn\nOpFunctionEnd\n";
    let text = shader("", "", "OpStore %out %8").replacen("OpExecutionMode %main LocalSize", second, 1) + f;
    let named = |name| Run { entry: Some(name), ..Run::on(&[0; 4]) };
    assert_eq!(named("main").go(&text)[0], [8; 4]);
    assert_eq!(named("other").go(&text)[0], [9, 9, 0, 0]);
    assert!(
        named("third")
            .refused(&text)
            .contains("no entry point \"third\"; the module has \"main\", \"other\"")
    );
    assert!(Run::on(&[0]).refused(&text).contains("several entry points"));
    let graphics = shader("", "", "").replace("GLCompute", "Fragment");
    assert!(Run::on(&[0]).refused(&graphics).contains("execution model Fragment"));
}

#[test]
fn only_what_the_entry_point_mentions_is_bound() {
    let globals =
        "%unused = OpVariable %ptr_block StorageBuffer\n%view = OpVariable %ptr_block StorageBuffer";
    let annotations = "OpDecorate %unused DescriptorSet 0\nOpDecorate %unused Binding 4\n\
        OpDecorate %view DescriptorSet 0\nOpDecorate %view Binding 0\nOpDecorate %view NonWritable";
    let body = "%p = OpAccessChain %ptr_data %view %0 %lane\n%v = OpLoad %u32 %p\nOpStore %out %v";
    let module = Run::on(&[0]).compile(&shader(annotations, globals, body)).unwrap();
    let bindings: Vec<_> = module.bindings.iter().map(|b| (b.set, b.binding, b.kind, b.writable)).collect();
    assert_eq!(bindings, [(0, 0, BindingKind::Storage, true)]);
}

#[test]
fn built_ins_have_their_values() {
    let globals = "%ptr_v3 = OpTypePointer Input %v3\n%ptr_v4 = OpTypePointer Input %v4\n\
        %gid = OpVariable %ptr_v3 Input\n%lt = OpVariable %ptr_v4 Input\n%num = OpVariable %ptr_input Input\n\
        %wgs = OpConstantComposite %v3 %4 %1 %1";
    let annotations = "OpDecorate %gid BuiltIn GlobalInvocationId\nOpDecorate %lt BuiltIn SubgroupLtMask\n\
        OpDecorate %num BuiltIn SubgroupSize\nOpDecorate %wgs BuiltIn WorkgroupSize";
    let body = "%g = OpLoad %v3 %gid\n%x = OpCompositeExtract %u32 %g 0\n%py = OpAccessChain %ptr_input %gid %x\n\
        %dyn = OpLoad %u32 %py\n%m = OpLoad %v4 %lt\n%mx = OpCompositeExtract %u32 %m 0\n%n = OpLoad %u32 %num\n\
        %m10 = OpIMul %u32 %mx %10\n%n100 = OpIMul %u32 %n %hundred\n%a = OpIAdd %u32 %x %m10\n\
        %b = OpIAdd %u32 %a %n100\n%r = OpIAdd %u32 %b %dyn\nOpStore %out %r";
    let text = shader(annotations, &format!("{globals}\n%hundred = OpConstant %u32 100"), body)
        .replace("OpCapability Int64\n", "OpCapability Int64\nOpCapability GroupNonUniformBallot\n");
    // The last lane asks for a fourth component: any will do.
    assert_eq!(Run::on(&[0; 4]).go(&text)[0], [400, 411, 432, 476]);
}

#[test]
fn diagnostics_name_instruction_id_name_and_line() {
    let annotations = "%file = OpString \"shader.comp\"\nOpName %sum \"sum\"";
    let globals = "%one = OpConstant %f32 1";
    let body = "OpLine %file 17 4\n%sum = OpIAdd %u32 %lane %one\n%again = OpIAdd %u32 %one %lane";
    // Strings stand in front of names, and both in front of decorations.
    let text = shader("", globals, body).replacen(
        "OpDecorate %lane_var",
        &format!("{annotations}\nOpDecorate %lane_var"),
        1,
    );
    let found = Run::on(&[0]).compile(&text).unwrap_err();
    assert_eq!(found.0.len(), 2, "{found}");
    let first = &found.0[0];
    assert_eq!(first.class, Class::Invalid);
    assert_eq!((&*first.location.opcode, &*first.location.name), ("OpIAdd", "sum"));
    assert_eq!((&*first.location.file, first.location.line), ("shader.comp", 17));
    let line = found.to_string();
    assert!(line.starts_with("invalid: OpIAdd %"), "{line}");
    assert!(line.contains("\"sum\" (word "), "{line}");
    assert!(line.contains(", shader.comp:17): "), "{line}");
}

#[test]
fn unsupported_capabilities_are_named() {
    let text =
        shader("", "", "").replacen("OpCapability Int64", "OpCapability Geometry\nOpCapability Int64", 1);
    let found = Run::on(&[0]).compile(&text).unwrap_err();
    assert_eq!(found.0[0].class, Class::Unsupported);
    let message = "unsupported: OpCapability (word 7): the capability Geometry is not supported";
    assert_eq!(found.to_string(), message);
}

#[test]
fn images_and_samplers_may_share_a_binding() {
    let globals = "%image = OpTypeImage %f32 2D 2 0 0 1 Unknown\n%sampler = OpTypeSampler\n\
        %both = OpTypeSampledImage %image\n%many = OpTypeArray %sampler %3\n%ptr_i = OpTypePointer UniformConstant %image\n\
        %ptr_s = OpTypePointer UniformConstant %sampler\n%ptr_m = OpTypePointer UniformConstant %many\n\
        %ptr_b = OpTypePointer UniformConstant %both\n%i = OpVariable %ptr_i UniformConstant\n\
        %s = OpVariable %ptr_s UniformConstant\n%m = OpVariable %ptr_m UniformConstant\n\
        %b = OpVariable %ptr_b UniformConstant\n%unused = OpVariable %ptr_s UniformConstant\n\
        %v2f = OpTypeVector %f32 2\n%v4f = OpTypeVector %f32 4\n%half = OpConstant %f32 0.5\n\
        %middle = OpConstantComposite %v2f %half %half";
    let annotations: String = [("i", 2), ("s", 2), ("b", 2), ("m", 1), ("unused", 5)]
        .map(|(id, binding)| {
            format!("OpDecorate %{id} DescriptorSet 0\nOpDecorate %{id} Binding {binding}\nOpName %{id} \"{id}\"\n")
        })
        .concat();
    let body = "%li = OpLoad %image %i\n%ls = OpLoad %sampler %s\n%p = OpAccessChain %ptr_s %m %lane\n\
        %lm = OpLoad %sampler %p\n%lb = OpLoad %both %b\n%x = OpSampledImage %both %li %ls\n\
        %y = OpSampledImage %both %li %lm\n%a = OpImageSampleExplicitLod %v4f %x %middle Lod %half\n\
        %c = OpImageSampleExplicitLod %v4f %y %middle Lod %half\n\
        %d = OpImageSampleExplicitLod %v4f %lb %middle Lod %half";
    let text = shader(&annotations, globals, body);
    let info = inspect(&phalanx_spirv_asm::assemble(&text).unwrap()).unwrap();
    let describe = |b: &BindingInfo| (b.binding, b.kind.name(), b.count, b.name.clone());
    let mut listed: Vec<_> = info.entry_points[0].images.iter().map(describe).collect();
    listed.sort();
    let expected = [
        (1, "sampler".to_owned(), Some(3), "m".to_owned()),
        (2, "combined_image_2d".to_owned(), Some(1), "b".to_owned()),
        (2, "sampled_image_2d".to_owned(), Some(1), "i".to_owned()),
        (2, "sampler".to_owned(), Some(1), "s".to_owned()),
    ];
    assert_eq!(listed, expected);
    let module = Run::on(&[0]).compile(&text).unwrap();
    let kinds: Vec<_> = module.bindings.iter().map(|b| (b.binding, b.kind.name(), b.writable)).collect();
    assert!(kinds.contains(&(2, "sampler".to_owned(), false)) && kinds.len() == 5, "{kinds:?}");
}

#[test]
fn inspection_tells_what_a_module_needs() {
    let globals = "%k = OpSpecConstant %i32 -5\n%mat = OpTypeMatrix %v3f 2\n%pc = OpTypeStruct %u64 %mat\n\
        %ptr_pc = OpTypePointer PushConstant %pc\n%push = OpVariable %ptr_pc PushConstant\n\
        %ptr_u64 = OpTypePointer PushConstant %u64";
    let annotations = "OpName %block \"Words\"\nOpMemberName %block 0 \"w\"\nOpName %k \"K\"\nOpDecorate %k SpecId 3\n\
        OpDecorate %pc Block\nOpMemberDecorate %pc 0 Offset 0\nOpMemberDecorate %pc 1 Offset 16\n\
        OpMemberDecorate %pc 1 ColMajor\nOpMemberDecorate %pc 1 MatrixStride 16";
    let text = shader(annotations, globals, "%p = OpAccessChain %ptr_u64 %push %0\n%v = OpLoad %u64 %p");
    let info = inspect(&phalanx_spirv_asm::assemble(&text).unwrap()).unwrap();
    assert_eq!(info.version, (1, 6));
    assert!(info.capabilities.contains(&"Int64".to_owned()) && info.unsupported.is_empty());
    let entry = &info.entry_points[0];
    assert_eq!((&*entry.name, &*entry.model, entry.local_size), ("main", "GLCompute", Some([4, 1, 1])));
    assert_eq!(entry.push_bytes, 48);
    assert_eq!(entry.bindings[0].info.name, "Words");
    let TypeLayout::Struct { name, members } = &entry.bindings[0].layout else { panic!("no structure") };
    assert_eq!((&**name, &*members[0].name, members[0].offset), ("Words", "w", 0));
    assert!(matches!(members[0].ty, TypeLayout::Array { len: None, stride: 4, .. }));
    let constant = &info.spec_constants[0];
    assert_eq!((constant.id, &*constant.name, &*constant.ty.name()), (3, "K", "s32"));
    assert_eq!(constant.bits as u32 as i32, -5);
}

#[test]
fn words_come_in_either_byte_order() {
    use phalanx_front_spirv::words_from_bytes;
    let words = phalanx_spirv_asm::assemble(&shader("", "", "")).unwrap();
    let little: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let big: Vec<u8> = words.iter().flat_map(|w| w.to_be_bytes()).collect();
    assert_eq!(words_from_bytes(&little).unwrap(), words);
    assert_eq!(words_from_bytes(&big).unwrap(), words);
    assert!(words_from_bytes(&little[1..]).unwrap_err().to_string().contains("whole number of 32-bit words"));
    assert!(words_from_bytes(b"#version 460").unwrap_err().to_string().contains("not a SPIR-V module"));
    assert!(words_from_bytes(&[]).unwrap_err().to_string().contains("empty"));
}

#[test]
fn random_words_are_diagnosed() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |n: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % n
    };
    for _ in 0..20_000 {
        let mut words = vec![0x0723_0203, 0x0001_0600, 0, 50, 0];
        for _ in 0..random(40) {
            // Mostly plausible instructions: a known opcode, a few small operands.
            let n = 1 + random(6) as u32;
            let opcodes = if random(4) == 0 { 6000 } else { 330 };
            words.push(n << 16 | random(opcodes) as u32);
            for _ in 1..n {
                let values = if random(8) == 0 { 1 << 32 } else { 50 };
                words.push(random(values) as u32);
            }
        }
        let found = phalanx_front_spirv::translate(&words, &Default::default()).unwrap_err();
        assert!(found.0.iter().all(|d| d.class != Class::Bug), "{found}");
        let _ = inspect(&words);
    }
}

#[test]
fn every_truncation_is_diagnosed() {
    let words = phalanx_spirv_asm::assemble(&shader("", "", "OpStore %out %8")).unwrap();
    for n in 0..words.len() {
        let found = phalanx_front_spirv::translate(&words[..n], &Default::default()).unwrap_err();
        assert!(found.0.iter().all(|d| d.class == Class::Invalid), "{n}: {found}");
    }
}

//! Constants and specialisation.

use super::{Run, shader};

/// The value of an *OpSpecConstantOp* of type `u32`, or another whose bits are copied to one.
fn spec_op(ty: &str, op: &str, more: &str) -> u32 {
    let globals = format!(
        "%seven = OpSpecConstant %u32 7\n%m3 = OpSpecConstant %i32 -3\n%yes = OpSpecConstantTrue %bool\n\
         %half = OpSpecConstant %u16 40000\n%wide = OpSpecConstant %u64 81985529216486895\n\
         %pi = OpSpecConstant %f32 3.140625\n%vec = OpSpecConstantComposite %v3 %1 %seven %3\n\
         %i16 = OpTypeInt 16 1\n%i64 = OpTypeInt 64 1\n%f16 = OpTypeFloat 16\n%f64 = OpTypeFloat 64\n\
         {more}\n%c = OpSpecConstantOp %{ty} {op}"
    );
    let copy = match ty {
        "u32" => "OpStore %out %c",
        "i32" => "%r = OpBitcast %u32 %c\nOpStore %out %r",
        "bool" => "%r = OpSelect %u32 %c %1 %0\nOpStore %out %r",
        "f32" => "%r = OpBitcast %u32 %c\nOpStore %out %r",
        "v3" => "%r = OpCompositeExtract %u32 %c 1\nOpStore %out %r",
        "u64" | "i64" | "u16" | "i16" => "%r = OpUConvert %u32 %c\nOpStore %out %r",
        _ => panic!("no copy of {ty}"),
    };
    Run::on(&[0]).go(&shader("", &globals, copy).replace("LocalSize 4", "LocalSize 1"))[0][0]
}

#[test]
fn every_integer_operation_is_evaluated() {
    let minus = |x: i32| x as u32;
    let cases: &[(&str, &str, u32)] = &[
        ("u32", "IAdd %seven %5", 12),
        ("u32", "ISub %5 %seven", minus(-2)),
        ("u32", "IMul %seven %seven", 49),
        ("u32", "UDiv %seven %2", 3),
        ("i32", "SDiv %m3 %m3", 1),
        ("u32", "UDiv %seven %0", 0),
        ("u32", "UMod %seven %4", 3),
        ("i32", "SRem %m3 %two", minus(-1)),
        ("i32", "SMod %m3 %two", 1),
        ("i32", "SNegate %m3", 3),
        ("u32", "Not %seven", !7),
        ("u32", "ShiftLeftLogical %seven %4", 112),
        ("i32", "ShiftRightLogical %m3 %1", 0x7fff_fffe),
        ("i32", "ShiftRightArithmetic %m3 %1", minus(-2)),
        ("u32", "BitwiseOr %seven %8", 15),
        ("u32", "BitwiseXor %seven %2", 5),
        ("u32", "BitwiseAnd %seven %12", 4),
        ("bool", "IEqual %seven %7", 1),
        ("bool", "INotEqual %seven %7", 0),
        ("bool", "ULessThan %seven %8", 1),
        ("bool", "SLessThan %m3 %two", 1),
        ("bool", "UGreaterThan %seven %8", 0),
        ("bool", "SGreaterThan %m3 %two", 0),
        ("bool", "ULessThanEqual %seven %7", 1),
        ("bool", "SLessThanEqual %two %m3", 0),
        ("bool", "UGreaterThanEqual %seven %7", 1),
        ("bool", "SGreaterThanEqual %two %m3", 1),
        ("bool", "LogicalNot %yes", 0),
        ("bool", "LogicalAnd %yes %false", 0),
        ("bool", "LogicalOr %yes %false", 1),
        ("bool", "LogicalEqual %yes %false", 0),
        ("bool", "LogicalNotEqual %yes %false", 1),
        ("u32", "Select %yes %5 %6", 5),
        ("v3", "Select %pick %vec %thirds", 3),
        ("v3", "IAdd %vec %vec", 14),
    ];
    for (ty, op, expected) in cases {
        let more = "%two = OpConstant %i32 2\n%false = OpConstantFalse %bool\n\
            %b3 = OpTypeVector %bool 3\n%pick = OpConstantComposite %b3 %yes %false %yes\n\
            %thirds = OpConstantComposite %v3 %3 %3 %3";
        assert_eq!(spec_op(ty, op, more), *expected, "{op}");
    }
}

#[test]
fn conversions_and_composites_are_evaluated() {
    let cases: &[(&str, &str, u32)] = &[
        ("u32", "UConvert %half", 40000),
        ("i32", "SConvert %neg16", -5_i32 as u32),
        ("u64", "UConvert %seven", 7),
        ("u16", "UConvert %wide", 0xcdef),
        ("f32", "QuantizeToF16 %pi", 3.140_625_f32.to_bits()),
        ("f32", "FConvert %pi64", 3.140_625_f32.to_bits()),
        ("u32", "CompositeExtract %vec 1", 7),
        ("v3", "CompositeInsert %9 %vec 1", 9),
        ("v3", "VectorShuffle %vec %vec 0 5 2", 3),
        ("v3", "VectorShuffle %vec %vec 0 4294967295 2", 0),
    ];
    for (ty, op, expected) in cases {
        let more = "%neg16 = OpConstant %i16 -5\n%pi64 = OpSpecConstantOp %f64 FConvert %pi";
        assert_eq!(spec_op(ty, op, more), *expected, "{op}");
    }
}

#[test]
fn specialisation_replaces_defaults() {
    let globals = "%a = OpSpecConstant %u32 1\n%b = OpSpecConstantFalse %bool\n%h = OpSpecConstant %u16 2\n\
        %w = OpSpecConstant %u64 3\n%n = OpSpecConstantOp %u32 IAdd %a %1\n%arr = OpTypeArray %u32 %n\n\
        %ptr = OpTypePointer Workgroup %arr\n%v = OpVariable %ptr Workgroup\n%ptr_u = OpTypePointer Workgroup %u32";
    let annotations =
        "OpDecorate %a SpecId 10\nOpDecorate %b SpecId 11\nOpDecorate %h SpecId 12\nOpDecorate %w SpecId 13";
    let body = "%p = OpAccessChain %ptr_u %v %0\nOpStore %p %0\n%hw = OpUConvert %u32 %h\n%ww = OpUConvert %u32 %w\n\
        %s = OpSelect %u32 %b %16 %0\n%x = OpIAdd %u32 %a %s\n%y = OpIMul %u32 %hw %ww\n%r = OpIAdd %u32 %x %y\n\
        OpStore %out %r";
    let text = shader(annotations, globals, body);
    assert_eq!(Run::on(&[0; 4]).go(&text)[0][0], 7);
    let run =
        Run { spec: vec![(10, 99), (10, 5), (11, 1), (12, 70_000), (13, 2), (77, 1)], ..Run::on(&[0; 4]) };
    assert_eq!(run.go(&text)[0][0], 5 + 16 + (70_000 & 0xffff) * 2);
    assert_eq!(run.compile(&text).unwrap().shared_bytes, 32);
}

#[test]
fn constants_of_the_wrong_type_are_refused() {
    let refused = |globals: &str| Run::on(&[0]).refused(&shader("", globals, ""));
    let cases = [
        ("%c = OpConstantComposite %v3 %1 %2", "expected 3 constituents of a vector of 3 u32, found 2"),
        ("%k = OpConstant %f32 1\n%c = OpConstantComposite %v2 %1 %k", "is f32, expected u32"),
        ("%c = OpSpecConstantOp %f32 IAdd %1 %2", "the result type is f32, but the operands give i32"),
        ("%c = OpSpecConstantOp %u32 FAdd %1 %2", "OpFAdd of i32"),
        ("%c = OpSpecConstantOp %u32 CompositeExtract %missing 1", "is not a constant declared before"),
        ("%c = OpConstantTrue %u32", "expected the result type bool, found u32"),
        ("%c = OpConstantNull %void", "void has no constants"),
        ("%arr = OpTypeArray %u32 %0", "the length of an array must be at least 1"),
        ("%arr = OpTypeArray %u32 %main", "expected the length to be a constant integer"),
        ("%bad = OpTypeVector %void 3", "expected 2 to 16 scalars"),
        ("%bad = OpTypeInt 7 0", "integers of 7 bits"),
    ];
    for (globals, message) in cases {
        let found = refused(globals);
        assert!(found.contains(message), "{globals}: {found}");
    }
}

#[test]
fn denormals_are_flushed_where_the_entry_point_asks() {
    let body = "%p = OpAccessChain %ptr_f %floats %0 %lane\n%x = OpLoad %f32 %p\n%sum = OpFAdd %f32 %x %tiny\n\
        %copy = OpSelect %f32 %yes %x %sum\n%a = OpBitcast %u32 %sum\n%b = OpBitcast %u32 %copy\n\
        %r = OpBitwiseXor %u32 %a %b\nOpStore %out %r";
    let globals = "%tiny = OpConstant %f32 0x1p-140\n%yes = OpConstantTrue %bool\n%fs = OpTypeRuntimeArray %f32\n\
        %fb = OpTypeStruct %fs\n%ptr_fb = OpTypePointer StorageBuffer %fb\n%ptr_f = OpTypePointer StorageBuffer %f32\n\
        %floats = OpVariable %ptr_fb StorageBuffer";
    let annotations = "OpDecorate %fs ArrayStride 4\nOpDecorate %fb Block\nOpMemberDecorate %fb 0 Offset 0\n\
        OpDecorate %floats DescriptorSet 0\nOpDecorate %floats Binding 0";
    let text = shader(annotations, globals, body);
    let flushing = text
        .replace("OpCapability Int64\n", "OpCapability Int64\nOpCapability DenormFlushToZero\n")
        .replace("LocalSize 4 1 1\n", "LocalSize 4 1 1\nOpExecutionMode %main DenormFlushToZero 32\n");
    let one = 1_f32.to_bits();
    let (tiny, input) = (1 << 9, [one, 5, 0x8000_0003, 0]);
    let sums = [one, 5 + tiny, tiny - 3, tiny];
    let kept: Vec<u32> = input.iter().zip(sums).map(|(a, b)| a ^ b).collect();
    assert_eq!(Run::on(&input).go(&text)[0], kept);
    // Copies keep denormals; sums neither see nor give them. What is -0 + 0 is 0.
    assert_eq!(Run::on(&input).go(&flushing)[0], [0, 5, 0x8000_0003, 0]);
}

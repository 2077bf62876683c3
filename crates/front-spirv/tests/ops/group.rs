//! Operations between the invocations of a subgroup.

use crate::harness::{Shader, refused};

const CAPABILITIES: [&str; 11] = [
    "GroupNonUniform",
    "GroupNonUniformVote",
    "GroupNonUniformBallot",
    "GroupNonUniformArithmetic",
    "GroupNonUniformShuffle",
    "GroupNonUniformShuffleRelative",
    "GroupNonUniformClustered",
    "GroupNonUniformQuad",
    "GroupNonUniformRotateKHR",
    "GroupNonUniformPartitionedEXT",
    "QuadControlKHR",
];

/// A shader whose work-group is one subgroup of `size`, with `lanes` invocations.
fn shader(lanes: u32, size: u32) -> Shader {
    let mut s = Shader::with_lanes(lanes, size);
    CAPABILITIES.iter().for_each(|c| s.capability(c));
    s.global("%sg = OpConstant %u32 3");
    s
}

/// Adds `%odd`: whether the lane is odd.
fn odd(s: &mut Shader) {
    let (one, zero) = (s.c("u32", 1), s.c("u32", 0));
    s.line(&format!("%low_bit = OpBitwiseAnd %u32 %lane {one}"));
    s.line(&format!("%odd = OpINotEqual %bool %low_bit {zero}"));
}

#[test]
fn votes_and_broadcasts() {
    let mut s = shader(8, 8);
    odd(&mut s);
    let (five, t) = (s.c("u32", 5), s.c("bool", 1));
    s.lanes("OpGroupNonUniformElect %bool %sg", |lane| (lane == 0).into());
    s.lanes("OpGroupNonUniformAll %bool %sg %odd", |_| 0);
    s.lanes("OpGroupNonUniformAny %bool %sg %odd", |_| 1);
    s.lanes(&format!("OpGroupNonUniformAll %bool %sg {t}"), |_| 1);
    s.lanes("OpGroupNonUniformAllEqual %bool %sg %lane", |_| 0);
    let same = s.op(&format!("OpCompositeConstruct %v2u32 {five} %lane"));
    s.lanes(&format!("OpGroupNonUniformAllEqual %bool %sg {same}"), |_| 0);
    s.lanes(&format!("OpGroupNonUniformAllEqual %bool %sg {five}"), |_| 1);
    s.lanes(&format!("OpGroupNonUniformBroadcast %u32 %sg %lane {five}"), |_| 5);
    s.lanes("OpGroupNonUniformBroadcastFirst %u32 %sg %lane", |_| 0);
    let first = s.op("OpGroupNonUniformBroadcastFirst %bool %sg %odd");
    s.lanes(&format!("OpLogicalNot %bool {first}"), |_| 1);
    s.run();
}

#[test]
fn old_votes() {
    let mut s = Shader::with_lanes(4, 4);
    s.capability("SubgroupVoteKHR");
    s.capability("SubgroupBallotKHR");
    odd(&mut s);
    let two = s.c("u32", 2);
    s.lanes("OpSubgroupAllKHR %bool %odd", |_| 0);
    s.lanes("OpSubgroupAnyKHR %bool %odd", |_| 1);
    s.lanes("OpSubgroupAllEqualKHR %bool %odd", |_| 0);
    let ballot = s.op("OpSubgroupBallotKHR %v4u32 %odd");
    s.lanes(&format!("OpCompositeExtract %u32 {ballot} 0"), |_| 0b1010);
    s.lanes(&format!("OpSubgroupReadInvocationKHR %u32 %lane {two}"), |_| 2);
    s.lanes("OpSubgroupFirstInvocationKHR %u32 %lane", |_| 0);
    s.run();
}

/// Ballots of more than one word, of which the last is partly used.
#[test]
fn wide_ballots() {
    let mut s = shader(48, 64);
    odd(&mut s);
    let odd_lanes = |lane: u64| (0..lane).filter(|l| l % 2 == 1).count() as u64;
    let ballot = s.op("OpGroupNonUniformBallot %v4u32 %sg %odd");
    s.lanes(&format!("OpCompositeExtract %u32 {ballot} 0"), |_| 0xaaaa_aaaa);
    s.lanes(&format!("OpCompositeExtract %u32 {ballot} 1"), |_| 0xaaaa);
    s.lanes(&format!("OpGroupNonUniformInverseBallot %bool %sg {ballot}"), |lane| lane % 2);
    let next = s.c("u32", 35);
    s.lanes(&format!("OpGroupNonUniformBallotBitExtract %bool %sg {ballot} {next}"), |_| 1);
    let count = "OpGroupNonUniformBallotBitCount %u32 %sg";
    s.lanes(&format!("{count} Reduce {ballot}"), |_| 24);
    s.lanes(&format!("{count} ExclusiveScan {ballot}"), odd_lanes);
    s.lanes(&format!("{count} InclusiveScan {ballot}"), |lane| odd_lanes(lane + 1));
    s.lanes(&format!("OpGroupNonUniformBallotFindLSB %u32 %sg {ballot}"), |_| 1);
    s.lanes(&format!("OpGroupNonUniformBallotFindMSB %u32 %sg {ballot}"), |_| 47);
    let high = s.iv("v4u32", &[0, 0x10, 0xffff_ffff, 0]);
    s.lanes(&format!("OpGroupNonUniformBallotFindLSB %u32 %sg {high}"), |_| 36);
    s.lanes(&format!("OpGroupNonUniformBallotFindMSB %u32 %sg {high}"), |_| 36);
    s.lanes(&format!("{count} Reduce {high}"), |_| 1);
    s.run();
}

/// Bits of lanes that do not exist do not count.
#[test]
fn narrow_ballots() {
    let mut s = shader(8, 8);
    let all = s.iv("v4u32", &[0xffff_ff70, 1, 2, 3]);
    let count = "OpGroupNonUniformBallotBitCount %u32 %sg";
    s.lanes(&format!("{count} Reduce {all}"), |_| 3);
    s.lanes(&format!("{count} InclusiveScan {all}"), |lane| (lane + 1).saturating_sub(4).min(3));
    s.lanes(&format!("{count} ExclusiveScan {all}"), |lane| lane.saturating_sub(4));
    s.lanes(&format!("OpGroupNonUniformBallotFindLSB %u32 %sg {all}"), |_| 4);
    s.lanes(&format!("OpGroupNonUniformBallotFindMSB %u32 %sg {all}"), |_| 6);
    s.lanes(&format!("OpGroupNonUniformInverseBallot %bool %sg {all}"), |lane| (4..7).contains(&lane).into());
    // Lane 31 is the last of a word.
    let mut t = shader(32, 32);
    let all = t.iv("v4u32", &[0xffff_ffff, 0, 0, 0]);
    t.lanes(&format!("{count} InclusiveScan {all}"), |lane| lane + 1);
    t.lanes(&format!("{count} ExclusiveScan {all}"), |lane| lane);
    s.run();
    t.run();
}

#[test]
fn shuffles() {
    let mut s = shader(8, 8);
    s.capability("Int64");
    let (n0, n1, n2, n3, n7) = (s.c("u32", 0), s.c("u32", 1), s.c("u32", 2), s.c("u32", 3), s.c("u32", 7));
    let (far, four) = (s.c("u32", 0xffff_fffd), s.c("u32", 4));
    let reversed = s.op(&format!("OpISub %u32 {n7} %lane"));
    s.lanes(&format!("OpGroupNonUniformShuffle %u32 %sg %lane {reversed}"), |lane| 7 - lane);
    s.lanes(&format!("OpGroupNonUniformShuffleXor %u32 %sg %lane {n3}"), |lane| lane ^ 3);
    s.lanes(&format!("OpGroupNonUniformShuffleUp %u32 %sg %lane {n2}"), |lane| lane.saturating_sub(2));
    s.lanes(&format!("OpGroupNonUniformShuffleDown %u32 %sg %lane {n2}"), |lane| {
        if lane < 6 { lane + 2 } else { 0 }
    });
    // Delta may exceed the size: 2^32 - 3 is 5 modulo 8.
    s.lanes(&format!("OpGroupNonUniformRotateKHR %u32 %sg %lane {far}"), |lane| (lane + 5) % 8);
    s.lanes(&format!("OpGroupNonUniformRotateKHR %u32 %sg %lane {n1} {four}"), |lane| {
        lane / 4 * 4 + (lane + 1) % 4
    });
    s.lanes(&format!("OpGroupNonUniformRotateKHR %u32 %sg %lane {n3} {n1}"), |lane| lane);
    s.lanes(&format!("OpGroupNonUniformQuadBroadcast %u32 %sg %lane {n2}"), |lane| lane / 4 * 4 + 2);
    s.lanes(&format!("OpGroupNonUniformQuadSwap %u32 %sg %lane {n0}"), |lane| lane ^ 1);
    s.lanes(&format!("OpGroupNonUniformQuadSwap %u32 %sg %lane {n1}"), |lane| lane ^ 2);
    s.lanes(&format!("OpGroupNonUniformQuadSwap %u32 %sg %lane {n2}"), |lane| lane ^ 3);
    let wide = s.op("OpUConvert %u64 %lane");
    let pair = s.op(&format!("OpCompositeConstruct %v2u64 {wide} {wide}"));
    let swapped = s.op(&format!("OpGroupNonUniformShuffleXor %v2u64 %sg {pair} {n1}"));
    s.lanes(&format!("OpCompositeExtract %u64 {swapped} 1"), |lane| lane ^ 1);
    s.run();
}

#[test]
fn reductions() {
    let mut s = shader(8, 8);
    s.capability("Float16");
    odd(&mut s);
    let four = s.c("u32", 4);
    s.lanes("OpGroupNonUniformIAdd %u32 %sg Reduce %lane", |_| 28);
    s.lanes("OpGroupNonUniformIAdd %u32 %sg InclusiveScan %lane", |lane| lane * (lane + 1) / 2);
    s.lanes("OpGroupNonUniformIAdd %u32 %sg ExclusiveScan %lane", |lane| lane * lane.saturating_sub(1) / 2);
    s.lanes(&format!("OpGroupNonUniformIAdd %u32 %sg ClusteredReduce %lane {four}"), |lane| {
        if lane < 4 { 6 } else { 22 }
    });
    let big = s.c("u32", 64);
    s.lanes(&format!("OpGroupNonUniformIAdd %u32 %sg ClusteredReduce %lane {big}"), |_| 28);
    s.lanes("OpGroupNonUniformUMax %u32 %sg Reduce %lane", |_| 7);
    s.lanes(
        "OpGroupNonUniformSMin %u32 %sg ExclusiveScan %lane",
        |lane| if lane == 0 { 0x7fff_ffff } else { 0 },
    );
    s.lanes("OpGroupNonUniformBitwiseXor %u32 %sg Reduce %lane", |_| 0);
    s.lanes("OpGroupNonUniformLogicalOr %bool %sg Reduce %odd", |_| 1);
    s.lanes("OpGroupNonUniformLogicalXor %bool %sg InclusiveScan %odd", |lane| {
        u64::from(lane % 4 == 1 || lane % 4 == 2)
    });
    let half = s.op("OpConvertUToF %f16 %lane");
    s.lanes(&format!("OpGroupNonUniformFAdd %f16 %sg Reduce {half}"), |_| 0x4f00);
    let float = s.op("OpConvertUToF %f32 %lane");
    let pair = s.op(&format!("OpCompositeConstruct %v2f32 {float} {float}"));
    let sum = s.op(&format!("OpGroupNonUniformFMax %v2f32 %sg Reduce {pair}"));
    s.lanes(&format!("OpCompositeExtract %f32 {sum} 1"), |_| 7f32.to_bits().into());
    s.lanes("OpGroupNonUniformQuadAllKHR %bool %odd", |_| 0);
    s.lanes("OpGroupNonUniformQuadAnyKHR %bool %odd", |_| 1);
    let ballot = s.op("OpGroupNonUniformPartitionEXT %v4u32 %low_bit");
    s.lanes(&format!("OpCompositeExtract %u32 {ballot} 0"), |lane| if lane % 2 == 1 { 0xaa } else { 0x55 });
    let op = "OpGroupNonUniformIAdd %u32 %sg";
    s.lanes(&format!("{op} PartitionedReduceEXT %lane {ballot}"), |lane| if lane % 2 == 1 { 16 } else { 12 });
    s.lanes(&format!("{op} PartitionedExclusiveScanEXT %lane {ballot}"), |lane| {
        (0..lane).filter(|l| l % 2 == lane % 2).sum()
    });
    let halves = s.op("OpCompositeConstruct %v2u32 %low_bit %lane");
    let ballot = s.op(&format!("OpGroupNonUniformPartitionEXT %v4u32 {halves}"));
    s.lanes(&format!("OpCompositeExtract %u32 {ballot} 0"), |lane| 1 << lane);
    s.run();
}

#[test]
fn refusals() {
    let case = |inst: &str| {
        let mut s = shader(8, 8);
        s.global("%three = OpConstant %u32 3");
        s.global("%wg = OpConstant %u32 2");
        s.global("%half = OpConstant %f32 0.5");
        s.op(inst);
        refused(&s)
    };
    assert!(case("OpGroupNonUniformElect %bool %wg").contains("scope workgroup"));
    assert!(case("OpGroupNonUniformElect %bool %lane").contains("constant"));
    assert!(case("OpGroupNonUniformIAdd %u32 %sg ClusteredReduce %lane %three").contains("power of two"));
    assert!(case("OpGroupNonUniformIAdd %u32 %sg ClusteredReduce %lane").contains("operands"));
    assert!(case("OpGroupNonUniformIAdd %f32 %sg Reduce %half").contains("expected an integer"));
    assert!(case("OpGroupNonUniformInverseBallot %bool %sg %lane").contains("expected 4"));
    assert!(case("OpGroupNonUniformQuadSwap %u32 %sg %lane %three").contains("quad direction 3"));
}

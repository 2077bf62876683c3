//! Operations between the invocations of a subgroup, on every type, with all or some of them active.
//!
//! Sums and products of floats are taken of numbers for which every order gives the same result.

use super::case::{Case, Operation, Source};
use super::check::Check;
use super::float::FLOATS;
use super::integer::INTEGERS;
use super::shader::Shader;
use super::value::{Domain, Ty};
use phalanx_ir::Scalar;
use std::sync::Arc;

const INT_REDUCTIONS: [&str; 9] =
    ["IAdd", "IMul", "SMin", "UMin", "SMax", "UMax", "BitwiseAnd", "BitwiseOr", "BitwiseXor"];
const BOOL_REDUCTIONS: [&str; 3] = ["LogicalAnd", "LogicalOr", "LogicalXor"];
/// With the numbers that each is done on.
const FLOAT_REDUCTIONS: [(&str, Domain); 4] =
    [("FAdd", Domain::Small), ("FMul", Domain::Sign), ("FMin", Domain::Any), ("FMax", Domain::Any)];
/// How a reduction is done: all, clusters, or the partitions that a ballot names.
const WHOLE: [&str; 3] = ["Reduce", "InclusiveScan", "ExclusiveScan"];
const PARTITIONED: [&str; 3] =
    ["PartitionedReduceEXT", "PartitionedInclusiveScanEXT", "PartitionedExclusiveScanEXT"];
const CLUSTERS: [u32; 4] = [1, 2, 4, 16];
const CAPABILITIES: [(&str, &str); 10] = [
    ("GroupNonUniformVote", ""),
    ("GroupNonUniformArithmetic", ""),
    ("GroupNonUniformBallot", ""),
    ("GroupNonUniformShuffle", ""),
    ("GroupNonUniformShuffleRelative", ""),
    ("GroupNonUniformClustered", ""),
    ("GroupNonUniformQuad", ""),
    ("GroupNonUniformRotateKHR", "SPV_KHR_subgroup_rotate"),
    ("GroupNonUniformPartitionedEXT", "SPV_EXT_shader_subgroup_partitioned"),
    ("QuadControlKHR", "SPV_KHR_quad_control"),
];
const BALLOT: Ty = Ty::new(Scalar::I32, 4);
const LANE: Ty = Ty::scalar(Scalar::I32);
const TRUTH: Ty = Ty::scalar(Scalar::Bool);

/// An operation of the subgroup: `#3` is its scope.
fn operation(text: &str, operands: &[(Ty, Domain)], result: Ty, check: Check) -> Operation {
    let types: Vec<_> = operands.iter().map(|(ty, _)| *ty).collect();
    let mut operation = Operation::instruction(text, &types, result, check);
    for (i, (_, domain)) in operands.iter().enumerate() {
        operation = operation.domain(i, *domain);
    }
    CAPABILITIES
        .iter()
        .fold(operation, |operation, (capability, extension)| operation.needs(capability, extension))
}

fn sources(operation: &Operation) -> Vec<Vec<Source>> {
    use Source::{Constant, Uniform, Varying};
    match operation.operands.len() {
        0 => vec![vec![]],
        1 => vec![vec![Varying], vec![Uniform], vec![Constant]],
        _ => super::case::sources(operation.operands.len()),
    }
}

fn all_of(operations: Vec<Operation>) -> Vec<Case> {
    operations.iter().flat_map(|o| o.cases(&sources(o)).collect::<Vec<_>>()).collect()
}

/// Reductions and scans.
pub(super) fn reductions() -> Vec<Case> {
    let mut all = Vec::new();
    for n in 1..=4 {
        for scalar in INTEGERS {
            INT_REDUCTIONS.iter().for_each(|op| all.extend(reduction(op, Ty::new(scalar, n), Domain::Any)));
        }
        for scalar in FLOATS {
            FLOAT_REDUCTIONS
                .iter()
                .for_each(|(op, domain)| all.extend(reduction(op, Ty::new(scalar, n), *domain)));
        }
        BOOL_REDUCTIONS
            .iter()
            .for_each(|op| all.extend(reduction(op, Ty::new(Scalar::Bool, n), Domain::Any)));
    }
    all_of(all)
}

fn reduction(op: &str, ty: Ty, domain: Domain) -> Vec<Operation> {
    let make = |text: String| operation(&text, &[(ty, domain)], ty, Check::OfNumbers);
    let mut all: Vec<_> = WHOLE.iter().map(|g| make(format!("OpGroupNonUniform{op} $R #3 {g} $0"))).collect();
    let clusters = CLUSTERS.iter().filter(|size| ty.n == 1 || **size == 4);
    all.extend(clusters.map(|size| make(format!("OpGroupNonUniform{op} $R #3 ClusteredReduce $0 #{size}"))));
    if ty.n <= 2 {
        all.extend(PARTITIONED.iter().map(|g| partitioned(op, g, ty, domain)));
    }
    all
}

/// Over the partition of another value.
fn partitioned(op: &str, group: &'static str, ty: Ty, domain: Domain) -> Operation {
    let opcode = format!("OpGroupNonUniform{op}");
    let name = format!("{opcode} {group}").replace("OpGroup", "Group");
    let emit = move |shader: &mut Shader, ids: &[String]| {
        CAPABILITIES.iter().for_each(|(capability, extension)| shader.needs(capability, extension));
        let (ballot, ty, scope) = (shader.ty(BALLOT), shader.ty(ty), shader.int(3));
        let partition = shader.op(&format!("OpGroupNonUniformPartitionEXT {ballot} {}", ids[1]));
        vec![shader.op(&format!("{opcode} {ty} {scope} {group} {} {partition}", ids[0]))]
    };
    let operands = vec![(ty, domain), (LANE, Domain::Few)];
    Operation { name, operands, results: vec![ty], check: Check::OfNumbers, emit: Arc::new(emit) }
}

/// Votes, ballots, broadcasts, shuffles and quads.
pub(super) fn movements() -> Vec<Case> {
    let mut all = votes();
    let scalars = INTEGERS.into_iter().chain(FLOATS).chain([Scalar::Bool]);
    for ty in scalars.flat_map(|scalar| (1..=4).map(move |n| Ty::new(scalar, n))) {
        all.extend(shuffles(ty));
        let few = [(ty, Domain::Few)];
        all.push(operation("OpGroupNonUniformAllEqual $R #3 $0", &few, TRUTH, Check::Bits));
        all.push(operation("OpGroupNonUniformPartitionEXT $R $0", &few, BALLOT, Check::Bits));
    }
    let mut cases = all_of(all);
    // A broadcast is from one lane for all.
    cases.retain(|case| {
        let is_broadcast = case.name.starts_with("GroupNonUniformBroadcast(");
        !is_broadcast || case.operands[1].source != Source::Varying
    });
    cases
}

fn votes() -> Vec<Operation> {
    let truth = [(TRUTH, Domain::Any)];
    let ballot = [(BALLOT, Domain::Any)];
    let mut all = vec![
        operation("OpGroupNonUniformElect $R #3", &[], TRUTH, Check::Bits),
        operation("OpGroupNonUniformBallot $R #3 $0", &truth, BALLOT, Check::Bits),
        operation("OpGroupNonUniformInverseBallot $R #3 $0", &ballot, TRUTH, Check::Bits),
        operation(
            "OpGroupNonUniformBallotBitExtract $R #3 $0 $1",
            &[ballot[0], (LANE, Domain::Lane)],
            TRUTH,
            Check::Bits,
        ),
    ];
    for vote in ["All", "Any"] {
        all.push(operation(&format!("OpGroupNonUniform{vote} $R #3 $0"), &truth, TRUTH, Check::Bits));
        all.push(operation(&format!("OpGroupNonUniformQuad{vote}KHR $R $0"), &truth, TRUTH, Check::Bits));
    }
    for group in WHOLE {
        let text = format!("OpGroupNonUniformBallotBitCount $R #3 {group} $0");
        all.push(operation(&text, &ballot, LANE, Check::Bits));
    }
    for find in ["LSB", "MSB"] {
        all.push(operation(
            &format!("OpGroupNonUniformBallotFind{find} $R #3 $0"),
            &ballot,
            LANE,
            Check::Bits,
        ));
    }
    all
}

/// Lanes that do not exist or are not active give zeros, on all targets.
fn shuffles(ty: Ty) -> Vec<Operation> {
    let (value, lane) = ((ty, Domain::Any), (LANE, Domain::Lane));
    let mut all = vec![operation("OpGroupNonUniformBroadcastFirst $R #3 $0", &[value], ty, Check::Bits)];
    for op in ["Shuffle", "ShuffleXor", "ShuffleUp", "ShuffleDown", "Broadcast", "RotateKHR", "QuadBroadcast"]
    {
        let text = format!("OpGroupNonUniform{op} $R #3 $0 $1");
        all.push(operation(&text, &[value, lane], ty, Check::Bits));
    }
    let clustered = "OpGroupNonUniformRotateKHR $R #3 $0 $1 #4";
    all.push(operation(clustered, &[value, lane], ty, Check::Bits));
    for direction in 0..3 {
        let text = format!("OpGroupNonUniformQuadSwap $R #3 $0 #{direction}");
        all.push(operation(&text, &[value], ty, Check::Bits));
    }
    all
}

//! Operations between lanes, with all lanes and with some, against naive formulas.

use crate::kernel::{Ext, Kernel, dispatch, pack, to_words};
use phalanx_ir::{BinaryOp, Builder, CompareOp, Op, ReduceOp, Scalar, SubgroupOp, Type, Value};

/// Lanes of the test's subgroup of 8 that are active.
const SETS: [u32; 5] = [0xff, 0x01, 0xb6, 0x80, 0x7e];
const INPUT: [i32; 8] = [5, -3, 5, 7, 0, 2, 5, -9];

/// The results in the active lanes, -1 elsewhere, of an operation on [`INPUT`].
fn run(set: u32, results: usize, emit: impl FnOnce(&mut Builder<'_>, Value) -> Vec<Value>) -> Vec<Vec<i32>> {
    let module = Kernel::new([8, 1, 1]).bindings(2).body(|b| {
        let i = b.local();
        let p = b.at(1, i, 4);
        let x = b.load(p, Scalar::I32);
        let (mask, one) = (b.i32(set as i32), b.i32(1));
        let bit = b.binary(BinaryOp::Lshr, mask, i);
        let bit = b.binary(BinaryOp::And, bit, one);
        let takes_part = b.compare(CompareOp::Ieq, bit, one);
        b.if_else(
            takes_part,
            |b| {
                for (k, result) in emit(b, x).into_iter().enumerate() {
                    let offset = b.i32(8 * k as i32);
                    let index = b.binary(BinaryOp::Iadd, i, offset);
                    b.put(index, result);
                }
            },
            |_| {},
        );
    });
    let mut buffers = [vec![0xff; 32 * results], pack(Scalar::I32, INPUT.map(|x| u64::from(x as u32)))];
    dispatch(&module, &mut buffers, [1; 3]).unwrap();
    to_words(&buffers[0]).chunks(8).map(<[_]>::to_vec).collect()
}

fn active(set: u32) -> impl Iterator<Item = usize> {
    (0..8).filter(move |lane| set >> lane & 1 == 1)
}

/// What lanes should have: `f` in active lanes, -1 elsewhere.
fn expect(set: u32, f: impl Fn(usize) -> i32) -> Vec<i32> {
    (0..8).map(|lane| if set >> lane & 1 == 1 { f(lane) } else { -1 }).collect()
}

fn one_result(set: u32, op: SubgroupOp, ty: Type) -> Vec<i32> {
    run(set, 1, |b, x| vec![b.value(Op::Subgroup(op), &[x], ty)]).remove(0)
}

#[test]
fn votes_and_ballots() {
    for set in SETS {
        let first = active(set).next().unwrap();
        let elect = run(set, 1, |b, _| vec![b.value(Op::Subgroup(SubgroupOp::Elect), &[], Type::BOOL)]);
        assert_eq!(elect[0], expect(set, |lane| (lane == first).into()));
        for (limit, holds) in [(-100, true), (3, false), (100, false)] {
            let votes: Vec<_> = active(set).map(|lane| INPUT[lane] > limit).collect();
            let results = run(set, 6, |b, x| {
                let limit = b.i32(limit);
                let vote = b.compare(CompareOp::Slt, limit, x);
                let mut results = [SubgroupOp::All, SubgroupOp::Any]
                    .map(|op| b.value(Op::Subgroup(op), &[vote], Type::BOOL))
                    .to_vec();
                results.extend(b.values(Op::Subgroup(SubgroupOp::Ballot), &[vote], &[Type::I32; 4]));
                results
            });
            let all = votes.iter().all(|&vote| vote);
            assert!(!holds || all);
            assert_eq!(results[0], expect(set, |_| all.into()));
            assert_eq!(results[1], expect(set, |_| votes.contains(&true).into()));
            let ballot = active(set).filter(|&lane| INPUT[lane] > limit).map(|lane| 1 << lane).sum::<i32>();
            assert_eq!(results[2], expect(set, |_| ballot));
            assert_eq!(results[3], expect(set, |_| 0));
        }
    }
}

#[test]
fn all_equal_compares_floats_by_value() {
    assert_eq!(one_result(0x45, SubgroupOp::AllEqual, Type::BOOL), expect(0x45, |_| 1));
    assert_eq!(one_result(0x47, SubgroupOp::AllEqual, Type::BOOL), expect(0x47, |_| 0));
    for (values, want) in [([0.0, -0.0], 1), ([f32::NAN, f32::NAN], 0)] {
        let results = run(0xff, 1, |b, x| {
            let zero = b.i32(0);
            let negative = b.compare(CompareOp::Slt, x, zero);
            let [p, q] = values.map(|x: f32| b.constant(Scalar::F32, x.to_bits().into()));
            let x = b.select(negative, p, q);
            vec![b.value(Op::Subgroup(SubgroupOp::AllEqual), &[x], Type::BOOL)]
        });
        assert_eq!(results[0], expect(0xff, |_| want));
    }
}

#[test]
fn broadcasts_and_shuffles() {
    for set in SETS {
        let from = |lane: i32| if lane < 8 && set >> lane & 1 == 1 { INPUT[lane as usize] } else { 0 };
        let first = active(set).next().unwrap();
        assert_eq!(one_result(set, SubgroupOp::BroadcastFirst, Type::I32), expect(set, |_| INPUT[first]));
        let results = run(set, 3, |b, x| {
            let (two, lane) = (b.i32(2), b.local());
            let one = b.value(Op::Subgroup(SubgroupOp::Broadcast), &[x, two], Type::I32);
            let seven = b.i32(7);
            let mirrored = b.binary(BinaryOp::Isub, seven, lane);
            let mirrored = b.value(Op::Subgroup(SubgroupOp::Shuffle), &[x, mirrored], Type::I32);
            let above = b.binary(BinaryOp::Iadd, lane, two);
            let above = b.value(Op::Subgroup(SubgroupOp::Shuffle), &[x, above], Type::I32);
            vec![one, mirrored, above]
        });
        assert_eq!(results[0], expect(set, |_| from(2)));
        assert_eq!(results[1], expect(set, |lane| from(7 - lane as i32)));
        assert_eq!(results[2], expect(set, |lane| from(lane as i32 + 2)));
    }
}

fn naive(op: ReduceOp, lanes: impl Iterator<Item = usize>) -> i32 {
    let values: Vec<_> = lanes.map(|lane| INPUT[lane]).collect();
    let unsigned = values.iter().map(|&x| x as u32);
    match op {
        ReduceOp::Iadd => values.iter().sum(),
        ReduceOp::Imul => values.iter().product(),
        ReduceOp::Smin => values.iter().copied().min().unwrap_or(i32::MAX),
        ReduceOp::Smax => values.iter().copied().max().unwrap_or(i32::MIN),
        ReduceOp::Umin => unsigned.min().unwrap_or(u32::MAX) as i32,
        ReduceOp::Umax => unsigned.max().unwrap_or(0) as i32,
        ReduceOp::And => values.iter().fold(-1, |x, y| x & y),
        ReduceOp::Or => values.iter().fold(0, |x, y| x | y),
        ReduceOp::Xor => values.iter().fold(0, |x, y| x ^ y),
        ReduceOp::Fadd | ReduceOp::Fmul | ReduceOp::Fmin | ReduceOp::Fmax => unreachable!("integers only"),
    }
}

const INTEGER_OPS: [ReduceOp; 9] = [
    ReduceOp::Iadd,
    ReduceOp::Imul,
    ReduceOp::Smin,
    ReduceOp::Smax,
    ReduceOp::Umin,
    ReduceOp::Umax,
    ReduceOp::And,
    ReduceOp::Or,
    ReduceOp::Xor,
];

#[test]
fn reductions_and_scans() {
    for set in SETS {
        for op in INTEGER_OPS {
            let run = |op| one_result(set, op, Type::I32);
            assert_eq!(run(SubgroupOp::Reduce(op, None)), expect(set, |_| naive(op, active(set))), "{op:?}");
            let cluster = |lane: usize| active(set).filter(move |other| other / 4 == lane / 4);
            assert_eq!(run(SubgroupOp::Reduce(op, Some(4))), expect(set, |lane| naive(op, cluster(lane))));
            let below = |lane| active(set).filter(move |&other| other < lane);
            assert_eq!(run(SubgroupOp::ExclusiveScan(op)), expect(set, |lane| naive(op, below(lane))));
            assert_eq!(run(SubgroupOp::InclusiveScan(op)), expect(set, |lane| naive(op, below(lane + 1))));
        }
    }
}

#[test]
fn float_reductions_go_in_the_order_of_the_lanes() {
    let results = run(0xff, 2, |b, x| {
        let x = b.convert(phalanx_ir::ConvertKind::SToF, x, Scalar::F32);
        let big = b.constant(Scalar::F32, 1e8f32.to_bits().into());
        let x = b.binary(BinaryOp::Fmul, x, big);
        [ReduceOp::Fadd, ReduceOp::Fmin]
            .map(|op| {
                let y = b.value(Op::Subgroup(SubgroupOp::Reduce(op, None)), &[x], Type::F32);
                b.value(Op::Bitcast, &[y], Type::I32)
            })
            .to_vec()
    });
    let sum = INPUT.iter().map(|&x| x as f32 * 1e8).reduce(|x, y| x + y).unwrap();
    assert_eq!(results[0], expect(0xff, |_| sum.to_bits() as i32));
    assert_eq!(results[1], expect(0xff, |_| (-9e8f32).to_bits() as i32));
}

#[test]
fn partitions_group_equal_values() {
    for set in SETS {
        let same = |lane: usize| active(set).filter(move |&other| INPUT[other] == INPUT[lane]);
        let results = run(set, 5, |b, x| {
            let ballot = b.values(Op::Subgroup(SubgroupOp::Partition), &[x], &[Type::I32; 4]);
            let args = [x, ballot[0], ballot[1], ballot[2], ballot[3]];
            let op = ReduceOp::Iadd;
            let mut results = vec![ballot[0], ballot[3]];
            for op in [
                SubgroupOp::PartitionedReduce(op),
                SubgroupOp::PartitionedInclusiveScan(op),
                SubgroupOp::PartitionedExclusiveScan(op),
            ] {
                results.push(b.value(Op::Subgroup(op), &args, Type::I32));
            }
            results
        });
        assert_eq!(results[0], expect(set, |lane| same(lane).map(|other| 1 << other).sum()));
        assert_eq!(results[1], expect(set, |_| 0));
        let sum = |lane, below: usize| naive(ReduceOp::Iadd, same(lane).filter(move |&other| other < below));
        assert_eq!(results[2], expect(set, |lane| sum(lane, 8)));
        assert_eq!(results[3], expect(set, |lane| sum(lane, lane + 1)));
        assert_eq!(results[4], expect(set, |lane| sum(lane, lane)));
    }
}

#[test]
fn ballots_of_large_subgroups_fill_four_words() {
    let mut kernel = Kernel::new([128, 1, 1]);
    kernel.module.subgroup_size = 128;
    let module = kernel.body(|b| {
        let (lane, three) = (b.local(), b.i32(3));
        let rest = b.binary(BinaryOp::Umod, lane, three);
        let zero = b.i32(0);
        let vote = b.compare(CompareOp::Ieq, rest, zero);
        for (i, word) in
            b.values(Op::Subgroup(SubgroupOp::Ballot), &[vote], &[Type::I32; 4]).into_iter().enumerate()
        {
            let i = b.i32(i as i32);
            b.put(i, word);
        }
    });
    let want: u128 = (0..128).step_by(3).map(|lane| 1 << lane).sum();
    let mut buffers = [vec![0; 16]];
    dispatch(&module, &mut buffers, [1; 3]).unwrap();
    assert_eq!(buffers[0], want.to_le_bytes());
}

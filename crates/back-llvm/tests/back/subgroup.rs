//! Operations between lanes, with all lanes and with some, for every size of subgroup.

use crate::kernel::{Case, Ext, Kernel, Random, SIZES, Tolerance, pack};
use phalanx_ir::{BinaryOp as B, Builder, CompareOp, Op, ReduceOp, Scalar, SubgroupOp as S, Type, Value};

/// Runs operations on a random value per lane in a subgroup of `w`, the last one of a work-group
/// not full: once with all lanes, once with some.
fn check(w: u32, ty: Scalar, tolerance: Tolerance, emit: &dyn Fn(&mut Builder<'_>, Value) -> Vec<Value>) {
    let group = 2 * w - 1;
    for masked in [false, true] {
        let module = Kernel::new(w, [group, 1, 1]).bindings(2).body(|b| {
            let i = b.local();
            let memory = if ty == Scalar::Bool { Scalar::I32 } else { ty };
            let p = b.at(1, i, memory.bytes().into());
            let mut x = b.load(p, memory);
            if ty == Scalar::Bool {
                let zero = b.i32(0);
                x = b.compare(CompareOp::Slt, x, zero);
            }
            let body = |b: &mut Builder<'_>| {
                for (k, result) in emit(b, x).into_iter().enumerate() {
                    let to = b.plus(i, k as i32 * group as i32);
                    b.put(0, to, result);
                }
            };
            if !masked {
                return body(b);
            }
            let (three, one) = (b.i32(3), b.i32(1));
            let rest = b.binary(B::Umod, i, three);
            let c = b.compare(CompareOp::Ine, rest, one);
            b.if_else(c, body, |_| {});
        });
        let mut random = Random(u64::from(w));
        let input = (0..group).map(|_| match ty {
            _ if ty.is_float() => phalanx_ir::eval::from_f64(ty, random.below(9) as f64 / 4.0 - 1.0),
            Scalar::Bool => random.next(),
            _ => random.below(7).wrapping_sub(3),
        });
        let memory = if ty == Scalar::Bool { Scalar::I32 } else { ty };
        let buffers = vec![vec![0xee; 16 * 8 * group as usize], pack(memory, input)];
        Case { tolerances: vec![tolerance], ..Case::new(&module, buffers) }.check();
    }
}

fn op(b: &mut Builder<'_>, op: S, args: &[Value], ty: Type) -> Value {
    b.value(Op::Subgroup(op), args, ty)
}

#[test]
fn votes() {
    for w in SIZES {
        check(w, Scalar::Bool, Tolerance::Exact, &|b, x| {
            let mut all = vec![op(b, S::Elect, &[], Type::BOOL)];
            for s in [S::All, S::Any, S::AllEqual] {
                all.push(op(b, s, &[x], Type::BOOL));
            }
            let yes = b.bool(true);
            all.push(op(b, S::All, &[yes], Type::BOOL));
            all.extend(b.values(Op::Subgroup(S::Ballot), &[x], &[Type::I32; 4]));
            all.extend(b.values(Op::Subgroup(S::Ballot), &[yes], &[Type::I32; 4]));
            all
        });
    }
    check(8, Scalar::F32, Tolerance::Exact, &|b, x| vec![op(b, S::AllEqual, &[x], Type::BOOL)]);
}

#[test]
fn shuffles() {
    for w in SIZES {
        for ty in [Scalar::I8, Scalar::F16, Scalar::I32, Scalar::F64, Scalar::Bool] {
            let is_wide = w == 128 && ty != Scalar::I32;
            if is_wide {
                continue;
            }
            check(w, ty, Tolerance::Exact, &move |b, x| {
                let lane = b.builtin(phalanx_ir::Builtin::SubgroupLane);
                let three = b.i32(3);
                let mut lanes = vec![b.plus(lane, 1), b.binary(B::Xor, lane, three), b.plus(lane, -2)];
                let scattered = b.binary(B::Imul, lane, lane);
                let mask = b.i32(w as i32 - 1);
                lanes.push(b.binary(B::And, scattered, mask));
                lanes.push(scattered);
                lanes.extend([0, 2, w as i32].map(|k| b.i32(k)));
                let mut all: Vec<_> = lanes.iter().map(|&l| op(b, S::Shuffle, &[x, l], ty.into())).collect();
                for k in [0, 1, w as i32 - 1, -1] {
                    let k = b.i32(k);
                    all.push(op(b, S::Broadcast, &[x, k], ty.into()));
                }
                all.push(op(b, S::BroadcastFirst, &[x], ty.into()));
                all
            });
        }
    }
}

const INT_OPS: [ReduceOp; 9] = [
    ReduceOp::Iadd,
    ReduceOp::Imul,
    ReduceOp::Smin,
    ReduceOp::Umin,
    ReduceOp::Smax,
    ReduceOp::Umax,
    ReduceOp::And,
    ReduceOp::Or,
    ReduceOp::Xor,
];
const FLOAT_OPS: [ReduceOp; 4] = [ReduceOp::Fadd, ReduceOp::Fmul, ReduceOp::Fmin, ReduceOp::Fmax];
const BOOL_OPS: [ReduceOp; 3] = [ReduceOp::And, ReduceOp::Or, ReduceOp::Xor];

#[test]
fn reductions() {
    for w in SIZES {
        for (ty, ops) in [
            (Scalar::I32, &INT_OPS[..]),
            (Scalar::I8, &INT_OPS[..3]),
            (Scalar::I64, &INT_OPS[..2]),
            (Scalar::F32, &FLOAT_OPS),
            (Scalar::F16, &FLOAT_OPS[2..]),
            (Scalar::Bool, &BOOL_OPS),
        ] {
            if w == 128 && ty != Scalar::F32 {
                continue;
            }
            let tolerance = if ty.is_float() { Tolerance::Relative(ty, 1e-4) } else { Tolerance::Exact };
            check(w, ty, tolerance, &|b, x| {
                let mut all = Vec::new();
                for &r in ops {
                    all.push(op(b, S::Reduce(r, None), &[x], ty.into()));
                    all.push(op(b, S::Reduce(r, Some(4.min(w))), &[x], ty.into()));
                    all.push(op(b, S::InclusiveScan(r), &[x], ty.into()));
                    all.push(op(b, S::ExclusiveScan(r), &[x], ty.into()));
                }
                all.truncate(16);
                all
            });
        }
    }
}

#[test]
fn partitions() {
    for w in SIZES {
        for (ty, r) in [
            (Scalar::I32, ReduceOp::Iadd),
            (Scalar::F32, ReduceOp::Fmax),
            (Scalar::I16, ReduceOp::Umin),
            (Scalar::Bool, ReduceOp::Xor),
        ] {
            check(w, ty, Tolerance::Exact, &|b, x| {
                let set = b.values(Op::Subgroup(S::Partition), &[x], &[Type::I32; 4]);
                let mut all = set.to_vec();
                let args = [&[x], &set[..]].concat();
                for s in
                    [S::PartitionedReduce(r), S::PartitionedInclusiveScan(r), S::PartitionedExclusiveScan(r)]
                {
                    all.push(op(b, s, &args, ty.into()));
                }
                all
            });
        }
    }
}

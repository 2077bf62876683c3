//! Loads, stores and atomics at addresses of every shape, inside and outside of their objects.

use crate::kernel::{Case, Ext, Kernel, Random, SIZES, pack, to_words};
use phalanx_ir::{
    AtomicOp, Barrier, BinaryOp as B, BindingInfo, BindingKind, Builder, Builtin, CompareOp, MemFlags, Op,
    Scalar, Scope, Space, Type, Value,
};

const TYPES: [Scalar; 5] = [Scalar::I8, Scalar::F16, Scalar::I32, Scalar::F32, Scalar::I64];

fn bytes(count: usize, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    (0..count).map(|_| random.next() as u8).collect()
}

/// How the lanes' indices are spread.
#[derive(Clone, Copy, Debug)]
enum Spread {
    Uniform,
    Even(i32),
    /// Even, but the compiler can't know.
    Mixed,
}

impl Spread {
    fn index(self, b: &mut Builder<'_>, first: i32) -> Value {
        let i = b.local();
        let scaled = match self {
            Self::Uniform => b.i32(0),
            Self::Even(k) => {
                let k = b.i32(k);
                b.binary(B::Imul, i, k)
            }
            Self::Mixed => {
                let k = b.i32(5);
                let product = b.binary(B::Imul, i, k);
                let mask = b.i32(127);
                b.binary(B::And, product, mask)
            }
        };
        b.plus(scaled, first)
    }
}

/// Each lane copies `n` scalars from buffer 1 to buffer 0, some lanes out of bounds.
fn copy(ty: Scalar, n: usize, spread: Spread, first: i32, w: u32, mask: bool) {
    let size = ty.bytes() as i64;
    let module = Kernel::new(w, [w + w / 2, 1, 1]).bindings(2).body(|b| {
        let body = |b: &mut Builder<'_>| {
            let from = spread.index(b, first);
            let p = b.at(1, from, size * n as i64);
            let values = b.values(Op::Load(MemFlags::default()), &[p], &vec![ty.into(); n]);
            let i = b.local();
            let q = b.at(0, i, size * n as i64);
            b.effect(Op::Store(MemFlags::default()), &[&[q], &values[..]].concat());
        };
        if !mask {
            return body(b);
        }
        let (i, two) = (b.local(), b.i32(3));
        let rest = b.binary(B::Umod, i, two);
        let one = b.i32(1);
        let c = b.compare(CompareOp::Ine, rest, one);
        b.if_else(c, body, |_| {});
    });
    let out = vec![0xee; (w + w / 2) as usize * size as usize * n - size as usize];
    Case::new(&module, vec![out, bytes(100 * size as usize + 3, 5)]).check();
}

#[test]
fn copies() {
    for ty in TYPES {
        for (n, w) in [(1, 32), (2, 8), (3, 4), (4, 16)] {
            for spread in [Spread::Uniform, Spread::Even(1), Spread::Mixed] {
                copy(ty, n, spread, 0, w, false);
                copy(ty, n, spread, -3, w, true);
            }
        }
        for k in [-1, 2, 3, 4, 7] {
            copy(ty, 1, Spread::Even(k), 2, 16, k == 3);
        }
    }
}

#[test]
fn large_subgroups_copy() {
    for ty in [Scalar::I8, Scalar::F32] {
        for spread in [Spread::Even(1), Spread::Mixed] {
            copy(ty, 1, spread, 7, 128, true);
            copy(ty, 4, spread, 0, 64, false);
        }
    }
}

/// Each lane writes scalars to places of its own, some of them out of bounds.
#[test]
fn scattered_stores() {
    for ty in TYPES {
        for (spread, first) in [
            (Spread::Even(1), 90),
            (Spread::Even(1), -4),
            (Spread::Even(2), 80),
            (Spread::Even(-1), 20),
            (Spread::Mixed, 10),
            (Spread::Uniform, 3),
            (Spread::Uniform, 200),
        ] {
            for n in [1, 2] {
                let module = Kernel::new(16, [16, 1, 1]).bindings(2).body(|b| {
                    let i = b.local();
                    let p = b.at(1, i, 8 * n as i64);
                    let values = b.values(Op::Load(MemFlags::default()), &[p], &vec![ty.into(); n]);
                    let to = spread.index(b, first);
                    let q = b.at(0, to, i64::from(ty.bytes()));
                    b.effect(Op::Store(MemFlags::default()), &[&[q], &values[..]].concat());
                });
                // With two scalars at a distance of one, lanes write over each other's: only one
                // lane's second scalar stays, and which is not specified.
                if n == 2 && !matches!(spread, Spread::Even(2) | Spread::Mixed | Spread::Uniform) {
                    continue;
                }
                let buffers = vec![vec![0xee; 100 * ty.bytes() as usize], bytes(512, 9)];
                Case::new(&module, buffers).check();
            }
        }
    }
}

#[test]
fn volatile_accesses() {
    let volatile = MemFlags { volatile: true, nontemporal: false };
    let module = Kernel::new(8, [8, 1, 1]).bindings(2).body(|b| {
        let i = b.local();
        let p = b.at(1, i, 4);
        let x = b.value(Op::Load(volatile), &[p], Type::I32);
        let first = b.buffer(1);
        let y = b.value(Op::Load(volatile), &[first], Type::I32);
        let sum = b.binary(B::Iadd, x, y);
        let q = b.at(0, i, 4);
        b.effect(Op::Store(volatile), &[q, sum]);
    });
    Case::new(&module, vec![vec![0; 28], bytes(24, 3)]).check();
}

#[test]
fn push_constants_and_bytes_left() {
    let module = Kernel::new(8, [8, 1, 1]).bindings(2).push(12).body(|b| {
        let push = b.value(Op::PushPtr, &[], Type::Ptr(Space::Push));
        let at = b.ptr_add(push, None, 1, 4);
        let values = b.values(Op::Load(MemFlags::default()), &[at], &[Type::I32; 3]);
        let i = b.local();
        let p = b.at(1, i, 3);
        let left = b.value(Op::PtrBytesLeft, &[p], Type::I64);
        let left = b.convert(phalanx_ir::ConvertKind::UToU, left, Scalar::I32);
        let start = b.buffer(1);
        let distance = b.value(Op::PtrDiff, &[p, start], Type::I64);
        let distance = b.convert(phalanx_ir::ConvertKind::UToU, distance, Scalar::I32);
        let q = b.at(0, i, 20);
        let words = [values[0], values[1], values[2], left, distance];
        b.effect(Op::Store(MemFlags::default()), &[&[q], &words[..]].concat());
    });
    let case =
        Case { push: pack(Scalar::I32, [11, 22, 33]), ..Case::new(&module, vec![vec![0; 160], vec![0; 10]]) };
    let out = to_words(&case.check()[0]);
    assert_eq!(out[5..10], [22, 33, 0, 7, 3]);
    assert_eq!(out[35..40], [22, 33, 0, 0, 21]);
}

/// Shared memory, written by one subgroup and read by another.
#[test]
fn shared_memory_and_barriers() {
    for (w, group) in [(4, 12), (8, 32), (32, 48)] {
        let module = Kernel::new(w, [group, 1, 1]).shared(1024).body(|b| {
            let shared = b.shared(64, 4 * group);
            let i = b.local();
            let p = b.ptr_add(shared, Some(i), 4, 0);
            let square = b.binary(B::Imul, i, i);
            b.store(p, square);
            b.effect(Op::Barrier(Barrier { execution: Scope::Workgroup, memory: Scope::Workgroup }), &[]);
            let last = b.i32(group as i32 - 1);
            let other = b.binary(B::Isub, last, i);
            let q = b.ptr_add(shared, Some(other), 4, 0);
            let x = b.load(q, Scalar::I32);
            let beyond = b.ptr_add(shared, Some(i), 4, 16);
            let y = b.load(beyond, Scalar::I32);
            b.put(0, i, x);
            let j = b.plus(i, group as i32);
            b.put(0, j, y);
        });
        Case::new(&module, vec![vec![0; 8 * group as usize]]).check();
    }
}

#[test]
fn descriptor_arrays() {
    for uniform in [false, true] {
        let mut kernel = Kernel::new(8, [8, 1, 1]);
        kernel.module.bindings.push(BindingInfo {
            set: 0,
            binding: 1,
            count: None,
            kind: BindingKind::Storage,
            writable: false,
            name: String::new(),
        });
        let module = kernel.body(|b| {
            let i = b.local();
            let index = if uniform { b.builtin(Builtin::WorkgroupId(0)) } else { i };
            let binding = phalanx_ir::Binding::new(1);
            let p = b.value(Op::BufferPtr(binding), &[index], Type::Ptr(Space::Buffer));
            let p = b.ptr_add(p, Some(i), 4, 0);
            let x = b.load(p, Scalar::I32);
            let at = b.builtin(Builtin::GlobalInvocationId(0));
            b.put(0, at, x);
        });
        // One descriptor of a run-time array: other indices are empty buffers.
        let case = Case { groups: [2, 1, 1], ..Case::new(&module, vec![vec![1; 64], bytes(64, 4)]) };
        case.check();
    }
}

#[test]
fn integer_atomics() {
    let ops = [
        AtomicOp::Exchange,
        AtomicOp::Iadd,
        AtomicOp::Isub,
        AtomicOp::Smin,
        AtomicOp::Smax,
        AtomicOp::Umin,
        AtomicOp::Umax,
        AtomicOp::And,
        AtomicOp::Or,
        AtomicOp::Xor,
        AtomicOp::CompareExchange,
        AtomicOp::Load,
        AtomicOp::Store,
    ];
    for ty in [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64] {
        atomics(ty, &ops);
    }
}

#[test]
fn float_atomics() {
    for ty in [Scalar::F16, Scalar::F32, Scalar::F64] {
        atomics(ty, &[AtomicOp::Fadd, AtomicOp::Fmin, AtomicOp::Fmax, AtomicOp::Exchange, AtomicOp::Load]);
    }
}

/// The lanes act on a few places in turn, some lanes out of bounds.
fn atomics(ty: Scalar, ops: &[AtomicOp]) {
    let size = i64::from(ty.bytes());
    let module = Kernel::new(8, [8, 1, 1]).bindings(3).body(|b| {
        let i = b.local();
        let three = b.i32(3);
        let place = b.binary(B::Umod, i, three);
        let p = b.at(2, i, size);
        let x = b.load(p, ty);
        for (k, &op) in ops.iter().enumerate() {
            let row = b.plus(place, 3 * k as i32 - 1);
            let at = b.at(1, row, size);
            let args: &[Value] = match op {
                AtomicOp::Load => &[at],
                AtomicOp::CompareExchange => &[at, x, x],
                _ => &[at, x],
            };
            if op == AtomicOp::Store {
                b.effect(Op::Atomic(op), args);
                continue;
            }
            let old = b.value(Op::Atomic(op), args, ty.into());
            let to = b.plus(i, 8 * k as i32);
            b.put(0, to, old);
        }
    });
    let elems = |n: usize, seed| match ty.is_float() {
        true => pack(ty, (0..n).map(|i| phalanx_ir::eval::from_f64(ty, i as f64 - seed as f64))),
        false => bytes(n * size as usize, seed),
    };
    let n = ops.len();
    let buffers = vec![vec![0; 8 * n * size as usize], elems(3 * n, 4), elems(8, 6)];
    Case::new(&module, buffers).check();
}

/// An atomic counter gives each invocation a number of its own.
#[test]
fn counters_count() {
    for w in SIZES {
        let module = Kernel::new(w, [96, 1, 1]).bindings(2).body(|b| {
            let one = b.i32(1);
            let counter = b.buffer(1);
            let ticket = b.value(Op::Atomic(AtomicOp::Iadd), &[counter, one], Type::I32);
            b.put(0, ticket, one);
        });
        let case = Case { groups: [4, 1, 1], ..Case::new(&module, vec![vec![0; 4 * 384], vec![0; 4]]) };
        let out = case.check();
        assert_eq!(to_words(&out[1]), [384]);
        assert!(to_words(&out[0]).iter().all(|&x| x == 1));
    }
}

/// Pointers that differ from lane to lane in object and offset.
#[test]
fn chosen_pointers() {
    let module = Kernel::new(8, [8, 1, 1]).bindings(3).body(|b| {
        let i = b.local();
        let three = b.i32(3);
        let c = b.compare(CompareOp::Ult, i, three);
        let (p, q) = (b.at(1, i, 4), b.at(2, i, 8));
        let r = b.select(c, p, q);
        let x = b.load(r, Scalar::I32);
        let equal = b.compare(CompareOp::Ieq, r, p);
        let var = b.func.new_var(Type::Ptr(Space::Buffer), 2, "p");
        let one = b.i32(1);
        b.var_store(var, Some(one), r);
        b.if_else(c, |b| b.var_store(var, Some(one), q), |_| {});
        let s = b.var_load(var, Some(one));
        let y = b.load(s, Scalar::I32);
        b.store(s, x);
        b.put(0, i, y);
        let j = b.plus(i, 8);
        b.put(0, j, equal);
    });
    Case::new(&module, vec![vec![0; 64], bytes(24, 1), bytes(52, 2)]).check();
}

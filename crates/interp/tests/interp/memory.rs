//! Pointers, bounds, aliases, addresses and atomics.

use crate::kernel::{Ext, Kernel, dispatch, pack, to_words, unpack, words};
use phalanx_interp::{Error, Limits, Memory, Region, run};
use phalanx_ir::{AtomicOp, BinaryOp, Binding, CompareOp, MemFlags, Op, Scalar, Space, Type};

#[test]
fn accesses_out_of_bounds_read_zero_and_write_nothing() {
    // Lane i reads word i - 2 of five words and writes it to word 2 * i of the output.
    let module = Kernel::new([8, 1, 1]).bindings(2).body(|b| {
        let (i, two) = (b.local(), b.i32(2));
        let index = b.binary(BinaryOp::Isub, i, two);
        let place = b.at(1, index, 4);
        let x = b.load(place, Scalar::I32);
        let index = b.binary(BinaryOp::Imul, i, two);
        b.put(index, x);
    });
    let mut buffers = [vec![0xff; 40], pack(Scalar::I32, 10..15)];
    let report = dispatch(&module, &mut buffers, [1; 3]).unwrap();
    assert_eq!(to_words(&buffers[0]), [0, -1, 0, -1, 10, -1, 11, -1, 12, -1]);
    assert_eq!(report.out_of_bounds, 2 + 1 + 3);
}

#[test]
fn an_access_that_ends_outside_is_out_of_bounds() {
    let module = Kernel::new([1, 1, 1]).bindings(2).body(|b| {
        let start = b.buffer(1);
        let place = b.ptr_add(start, None, 0, 2);
        let results = [Type::Scalar(Scalar::I16); 3];
        let xs = b.values(Op::Load(MemFlags::default()), &[place], &results);
        let out = b.buffer(0);
        b.effect(Op::Store(MemFlags::default()), &[out, xs[0], xs[1], xs[2]]);
        let x = b.load(place, Scalar::I32);
        let two = b.i32(2);
        b.put(two, x);
    });
    let mut buffers = [vec![0xff; 12], vec![1, 2, 3, 4, 5]];
    dispatch(&module, &mut buffers, [1; 3]).unwrap();
    assert_eq!(unpack(Scalar::I16, &buffers[0]), [0x0403, 0, 0, 0xffff, 0, 0]);
}

#[test]
fn regions_bound_their_part_of_a_buffer_and_may_overlap() {
    // Bindings 0 and 1 are words 0–3 and 2–5 of one buffer.
    let module = Kernel::new([1, 1, 1]).bindings(2).body(|b| {
        let three = b.i32(3);
        let at = b.at(0, three, 4);
        b.store(at, three);
        let one = b.i32(1);
        let at = b.at(1, one, 4);
        let x = b.load(at, Scalar::I32);
        let x = b.binary(BinaryOp::Iadd, x, x);
        b.put(one, x);
        let four = b.i32(4);
        b.put(four, x);
    });
    let mut bytes = vec![0; 24];
    let mut memory = Memory::new();
    let buffer = memory.add_buffer(&mut bytes, 0);
    memory.bind(Binding::new(0), 0, Region { buffer, offset: 0, bytes: 16 });
    memory.bind(Binding::new(1), 0, Region { buffer, offset: 8, bytes: u64::MAX });
    run(&module, &mut memory, [1; 3], [0; 3], &Limits::default()).unwrap();
    assert_eq!(to_words(&bytes), [0, 6, 0, 3, 0, 0]);
}

#[test]
fn descriptors_are_indexed_by_lane_and_missing_ones_are_empty() {
    let mut kernel = Kernel::new([8, 1, 1]).bindings(2);
    kernel.module.bindings[1].count = None;
    let module = kernel.body(|b| {
        let i = b.local();
        let p = b.value(Op::BufferPtr(Binding::new(1)), &[i], Type::Ptr(Space::Buffer));
        let left = b.value(Op::PtrBytesLeft, &[p], Type::I64);
        let left = b.convert(phalanx_ir::ConvertKind::UToU, left, Scalar::I32);
        let x = b.load(p, Scalar::I32);
        let sum = b.binary(BinaryOp::Iadd, x, left);
        b.put(i, sum);
    });
    let (mut out, mut data) = (vec![0; 32], pack(Scalar::I32, 100..108));
    let mut memory = Memory::new();
    let buffer = memory.add_buffer(&mut out, 0);
    memory.bind_buffer(Binding::new(0), buffer);
    let buffer = memory.add_buffer(&mut data, 0);
    for i in [0usize, 1, 3] {
        memory.bind(Binding::new(1), i, Region { buffer, offset: 4 * i as u64, bytes: 8 });
    }
    run(&module, &mut memory, [1; 3], [0; 3], &Limits::default()).unwrap();
    assert_eq!(to_words(&out), [108, 109, 0, 111, 0, 0, 0, 0]);
}

#[test]
fn raw_addresses_find_their_buffer() {
    // The output's own address, from the pointer; and the address of buffer 1.
    let module = Kernel::new([4, 1, 1]).bindings(2).body(|b| {
        let i = b.local();
        let start = b.buffer(0);
        let address = b.value(Op::PtrToInt, &[start], Type::I64);
        let out = b.value(Op::IntToPtr, &[address], Type::Ptr(Space::Global));
        let out = b.ptr_add(out, Some(i), 4, 0);
        let address = b.i64(2 << 32);
        let input = b.value(Op::IntToPtr, &[address], Type::Ptr(Space::Global));
        let input = b.ptr_add(input, Some(i), -4, 12);
        let x = b.load(input, Scalar::I32);
        b.store(out, x);
        let diff = b.value(Op::PtrDiff, &[out, input], Type::I64);
        let left = b.value(Op::PtrBytesLeft, &[out], Type::I64);
        let sum = b.binary(BinaryOp::Iadd, diff, left);
        let out = b.ptr_add(out, Some(i), 4, 16);
        b.store(out, sum);
    });
    let mut buffers = [vec![0; 48], pack(Scalar::I32, 1..5)];
    dispatch(&module, &mut buffers, [1; 3]).unwrap();
    assert_eq!(to_words(&buffers[0])[..4], [4, 3, 2, 1]);
    let want = |i: i64| (4 * i - (1 << 32) - 12 + 4 * i) + (48 - 4 * i);
    assert_eq!(unpack(Scalar::I64, &buffers[0][16..]), [0, 1, 2, 3].map(|i| want(i) as u64));
}

#[test]
fn a_raw_address_in_no_buffer_is_an_error() {
    let module = Kernel::new([1, 1, 1]).body(|b| {
        let address = b.i64((1 << 32) + 62);
        let p = b.value(Op::IntToPtr, &[address], Type::Ptr(Space::Global));
        let x = b.load(p, Scalar::I32);
        b.store(p, x);
    });
    let error = dispatch(&module, &mut [vec![0; 64]], [1; 3]).unwrap_err();
    let Error::BadAddress { address, bytes, .. } = &error else { panic!("{error}") };
    assert_eq!((*address, *bytes), ((1 << 32) + 62, 4));
    assert!(error.to_string().contains("0x10000003e"), "{error}");
}

#[test]
fn push_constants_are_read() {
    let mut kernel = Kernel::new([8, 1, 1]);
    kernel.module.push_bytes = 12;
    let module = kernel.body(|b| {
        let i = b.local();
        let p = b.value(Op::PushPtr, &[], Type::Ptr(Space::Push));
        let p = b.ptr_add(p, Some(i), 4, 0);
        let x = b.load(p, Scalar::I32);
        b.put(i, x);
    });
    let (mut out, push) = (vec![0xff; 32], pack(Scalar::I32, [7, 8, 9]));
    let mut memory = Memory::new();
    let buffer = memory.add_buffer(&mut out, 0);
    memory.bind_buffer(Binding::new(0), buffer);
    memory.set_push(&push);
    run(&module, &mut memory, [1; 3], [0; 3], &Limits::default()).unwrap();
    assert_eq!(to_words(&out), [7, 8, 9, 0, 0, 0, 0, 0]);
}

#[test]
fn shared_objects_have_bounds() {
    let module = Kernel::new([8, 1, 1]).shared(32).body(|b| {
        let i = b.local();
        let object = b.shared(8, 16);
        let p = b.ptr_add(object, Some(i), 4, 0);
        b.store(p, i);
        let x = b.load(p, Scalar::I32);
        let all = b.shared(0, 32);
        let q = b.ptr_add(all, Some(i), 4, 0);
        let y = b.load(q, Scalar::I32);
        let ten = b.i32(10);
        let y = b.binary(BinaryOp::Imul, y, ten);
        let sum = b.binary(BinaryOp::Iadd, x, y);
        b.put(i, sum);
    });
    assert_eq!(words(&module, 8), [0, 1, 2, 13, 20, 30, 0, 0]);
}

#[test]
fn pointers_compare_by_place() {
    let module = Kernel::new([8, 1, 1]).body(|b| {
        let (i, start) = (b.local(), b.buffer(0));
        let p = b.ptr_add(start, Some(i), 4, 0);
        let q = b.ptr_add(start, None, 0, 12);
        let same = b.compare(CompareOp::Ieq, p, q);
        let p = b.select(same, start, p);
        let p = b.ptr_add(p, None, 0, 0);
        b.store(p, i);
    });
    assert_eq!(words(&module, 8), [3, 1, 2, -1, 4, 5, 6, 7]);
}

/// Runs an atomic operation in each of eight lanes on one word; gives the old values and the word.
fn atomic(op: AtomicOp, ty: Scalar, start: u64, operands: [u64; 8]) -> (Vec<u64>, u64) {
    let module = Kernel::new([8, 1, 1]).bindings(3).body(|b| {
        let i = b.local();
        let p = b.at(1, i, ty.bytes().into());
        let x = b.load(p, ty);
        let target = b.buffer(2);
        let three = b.constant(ty, 3);
        let args = [target, x, three];
        match op {
            AtomicOp::Load => {
                let old = b.value(Op::Atomic(op), &args[..1], ty.into());
                b.put(i, old);
            }
            AtomicOp::Store => b.effect(Op::Atomic(op), &args[..2]),
            AtomicOp::CompareExchange => {
                let old = b.value(Op::Atomic(op), &args, ty.into());
                b.put(i, old);
            }
            _ => {
                let old = b.value(Op::Atomic(op), &args[..2], ty.into());
                b.put(i, old);
            }
        }
    });
    let mut buffers = [vec![0; 64], pack(ty, operands), pack(ty, [start])];
    dispatch(&module, &mut buffers, [1; 3]).unwrap();
    (unpack(ty, &buffers[0])[..8].to_vec(), unpack(ty, &buffers[2])[0])
}

#[test]
fn atomics_act_lane_after_lane() {
    let ramp = [1, 2, 3, 4, 5, 6, 7, 8];
    for ty in [Scalar::I32, Scalar::I64] {
        assert_eq!(atomic(AtomicOp::Iadd, ty, 10, ramp), (vec![10, 11, 13, 16, 20, 25, 31, 38], 46));
        assert_eq!(atomic(AtomicOp::Isub, ty, 50, ramp).1, 14);
        assert_eq!(atomic(AtomicOp::Exchange, ty, 9, ramp), (vec![9, 1, 2, 3, 4, 5, 6, 7], 8));
        assert_eq!(atomic(AtomicOp::CompareExchange, ty, 3, ramp), (vec![3, 1, 1, 1, 1, 1, 1, 1], 1));
        assert_eq!(atomic(AtomicOp::Load, ty, 9, ramp), (vec![9; 8], 9));
        assert_eq!(atomic(AtomicOp::Store, ty, 9, ramp), (vec![0; 8], 8));
        assert_eq!(atomic(AtomicOp::Umax, ty, 4, ramp).1, 8);
        assert_eq!(atomic(AtomicOp::Smin, ty, ty.mask(), ramp).1, ty.mask());
        assert_eq!(atomic(AtomicOp::Umin, ty, ty.mask(), ramp).1, 1);
        assert_eq!(atomic(AtomicOp::Xor, ty, 0, ramp).1, 8);
        assert_eq!(atomic(AtomicOp::Or, ty, 0, ramp).1, 15);
        assert_eq!(atomic(AtomicOp::And, ty, 0xff, ramp).1, 0);
    }
    let floats = ramp.map(|x| u64::from((x as f32).to_bits()));
    let one = u64::from(1f32.to_bits());
    assert_eq!(atomic(AtomicOp::Fadd, Scalar::F32, one, floats).1, u64::from(37f32.to_bits()));
    assert_eq!(atomic(AtomicOp::Fmax, Scalar::F32, one, floats).1, u64::from(8f32.to_bits()));
}

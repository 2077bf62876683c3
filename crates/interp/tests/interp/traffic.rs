//! What is counted of the accesses to memory.

use crate::kernel::{Ext, Kernel, dispatch};
use phalanx_interp::{Accesses, Amount, Limits, Memory, Region, run};
use phalanx_ir::{
    AtomicOp, BinaryOp, Binding, BindingKind, Format, ImageDim, ImageKind, ImageLayout, ImageOp, ImageUse,
    MatType, MemFlags, Op, Scalar, Scope, Space, Type, Use,
};

fn amount(elements: u64, size: u64) -> Amount {
    Amount { elements, bytes: elements * size }
}

fn accesses(read: Amount, written: Amount) -> Accesses {
    Accesses { read, written }
}

#[test]
fn each_invocation_counts_and_what_is_outside_does_not() {
    // Eight lanes copy halves, two at a time, to words of shared memory; two of them read outside, one of these with
    // both of its halves.
    let module = Kernel::new([8, 1, 1]).bindings(2).shared(16).body(|b| {
        let i = b.local();
        let from = b.at(1, i, 4);
        let halves = b.values(Op::Load(MemFlags::default()), &[from], &[Type::Scalar(Scalar::I16); 2]);
        let to = b.shared(0, 16);
        let to = b.ptr_add(to, Some(i), 4, 0);
        b.effect(Op::Store(MemFlags::default()), &[to, halves[0], halves[1]]);
        let word = b.load(to, Scalar::I32);
        b.put(i, word);
    });
    let mut buffers = [vec![0; 32], vec![1; 26]];
    let report = dispatch(&module, &mut buffers, [1; 3]).unwrap();
    let traffic = report.traffic;
    assert_eq!(traffic.buffers[1], accesses(amount(13, 2), Amount::default()));
    assert_eq!(traffic.buffers[0], accesses(Amount::default(), amount(8, 4)));
    assert_eq!(traffic.shared, accesses(amount(4, 4), amount(8, 2)));
    assert_eq!(report.out_of_bounds, 3 + 8 + 4);
    // Shared memory is new for each work-group, its count is not.
    let two = dispatch(&module, &mut buffers, [2, 1, 1]).unwrap().traffic;
    assert_eq!(two.shared, accesses(amount(8, 4), amount(16, 2)));
    let none = dispatch(&module, &mut buffers, [0, 1, 1]).unwrap().traffic;
    assert_eq!(none.buffers, [Accesses::default(); 2]);
}

#[test]
fn an_element_of_a_matrix_counts_once() {
    let ty = MatType { elem: Scalar::F32, scope: Scope::Subgroup, rows: 4, cols: 4, use_: Use::A };
    let flags = MemFlags::default();
    // The buffer ends in the middle of the third row; the stride of the store is 0, so that a row is written four times.
    let module = Kernel::new([8, 1, 1]).bindings(2).body(|b| {
        let (from, to) = (b.buffer(1), b.buffer(0));
        let (wide, none) = (b.i64(16), b.i64(0));
        let m = b.value(Op::MatLoad { column_major: false, flags }, &[from, wide], ty.into());
        b.effect(Op::MatStore { column_major: false, flags }, &[to, m, none]);
    });
    let mut buffers = [vec![0; 64], vec![0; 40]];
    let traffic = dispatch(&module, &mut buffers, [1; 3]).unwrap().traffic;
    assert_eq!(traffic.buffers[1].read, amount(10, 4));
    assert_eq!(traffic.buffers[0].written, amount(16, 4));
}

#[test]
fn atomic_operations_read_and_write() {
    let module = |op| {
        Kernel::new([8, 1, 1]).body(|b| {
            let (place, one) = (b.buffer(0), b.i32(1));
            match op {
                AtomicOp::Load => drop(b.value(Op::Atomic(op), &[place], Type::I32)),
                AtomicOp::Store => b.effect(Op::Atomic(op), &[place, one]),
                _ => drop(b.value(Op::Atomic(op), &[place, one], Type::I32)),
            }
        })
    };
    let (none, eight) = (Amount::default(), amount(8, 4));
    for (op, read, written) in
        [(AtomicOp::Load, eight, none), (AtomicOp::Store, none, eight), (AtomicOp::Iadd, eight, eight)]
    {
        let traffic = dispatch(&module(op), &mut [vec![0; 4]], [1; 3]).unwrap().traffic;
        assert_eq!(traffic.buffers, [accesses(read, written)], "{op:?}");
    }
}

#[test]
fn addresses_lead_to_their_buffers() {
    let module = Kernel::new([1, 1, 1]).bindings(3).body(|b| {
        let address = b.i64((2 << 32) + 4);
        let place = b.value(Op::IntToPtr, &[address], Type::Ptr(Space::Global));
        let x = b.load(place, Scalar::I32);
        let sum = b.binary(BinaryOp::Iadd, x, x);
        b.store(place, sum);
    });
    let traffic = dispatch(&module, &mut [vec![0; 4], vec![0; 8], vec![0; 4]], [1; 3]).unwrap().traffic;
    assert_eq!(traffic.buffers[1], accesses(amount(1, 4), amount(1, 4)));
    assert_eq!(traffic.buffers[2], Accesses::default());
}

#[test]
fn a_texel_is_an_element() {
    let kind = ImageKind { dim: ImageDim::D1, arrayed: false, usage: ImageUse::Storage };
    let mut kernel = Kernel::new([8, 1, 1]).bindings(1);
    kernel.module.bindings[0].kind = BindingKind::Image(kind);
    let module = kernel.body(|b| {
        let (zero, i) = (b.i32(0), b.local());
        let load = Op::Image(Binding::new(0), ImageOp::Load);
        let texel = b.values(load, &[zero, i], &[Type::Scalar(Scalar::F32); 4]);
        let store = Op::Image(Binding::new(0), ImageOp::Store);
        let next = b.binary(BinaryOp::Iadd, i, i);
        b.effect(store, &[zero, next, texel[0], texel[1], texel[2], texel[3]]);
    });
    let layout = ImageLayout::packed(Format::from_name("R8g8b8a8Unorm").unwrap(), [6, 1, 1], 1, 1);
    let mut bytes = vec![0; 24];
    let mut memory = Memory::new();
    let buffer = memory.add_buffer(&mut bytes, 0);
    let region = Region { buffer, offset: 0, bytes: 24 };
    memory.bind_image(Binding::new(0), 0, region, layout);
    let report = run(&module, &mut memory, [1; 3], [0; 3], &Limits::default()).unwrap();
    assert_eq!(report.traffic.buffers, [accesses(amount(6, 4), amount(3, 4))]);
}

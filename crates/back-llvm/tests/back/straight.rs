//! Long code without a branch: few accesses are in one block, however many there are.
//!
//! Parts of LLVM take time with the square of the loads in a block, so these are what is counted here. Arithmetic is
//! not: LLVM moves it to where it is used.

use crate::kernel::{Case, Ext, Kernel, pack, targets};
use phalanx_back_llvm::{Options, compile};
use phalanx_ir::{BinaryOp, Scalar, Verified};

/// Adds up `n` words of buffer 1.
fn sum(n: i32) -> Verified {
    Kernel::new(4, [4, 1, 1]).bindings(2).body(|b| {
        let mut sum = b.i32(0);
        for i in 0..n {
            let i = b.i32(i);
            let p = b.at(1, i, 4);
            let x = b.load(p, Scalar::I32);
            sum = b.binary(BinaryOp::Iadd, sum, x);
        }
        let i = b.local();
        b.put(0, i, sum);
    })
}

/// The most loads in a block of any processor's code, as LLVM makes machine code of it.
fn most_loads(module: &Verified) -> usize {
    let options = Options { dump_llvm: true, ..Options::default() };
    let in_blocks = |target| {
        let text = compile(module, target, &options).unwrap().dumps.llvm_optimized.unwrap();
        let loads = |block: &str| block.lines().filter(|line| line.contains(" = load ")).count();
        text.split("\n\n").map(loads).max().unwrap()
    };
    targets().iter().map(in_blocks).max().unwrap()
}

#[test]
fn blocks_of_long_code_have_few_loads() {
    let loads = [200, 400, 1600].map(|n| most_loads(&sum(n)));
    assert!(loads[0] > 20, "{loads:?}: what is counted is not the code");
    assert!(loads.iter().all(|&loads| loads < 100), "{loads:?}");
}

#[test]
fn long_code_runs_as_interpreted() {
    let module = sum(600);
    // The last hundred words are out of bounds.
    let words = pack(Scalar::I32, (0..500).map(|i| i * i));
    let out = Case::new(&module, vec![vec![0; 16], words]).check();
    let sum: u64 = (0..500).map(|i| i * i).sum();
    assert_eq!(out[0], pack(Scalar::I32, [sum; 4]));
}

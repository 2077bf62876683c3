//! Notes for a profiler: what they say, and that there are none unasked.

use crate::kernel::{Case, Ext, Kernel, pack, targets};
use phalanx_back_llvm::abi::{FIRST_SITE, Family};
use phalanx_back_llvm::{Compiled, Options, compile};
use phalanx_ir::{BinaryOp, Scalar, SourceLoc, Verified};

/// Doubles words in a loop, on lines 1 to 3, and without lines if there is no file.
fn double(file: &str) -> Verified {
    let mut module = Kernel::new(8, [8, 1, 1]).bindings(2);
    let line =
        |line| SourceLoc { file: file.into(), line: if file.is_empty() { 0 } else { line }, word: 10 * line };
    module.module.locs = (1..=3).map(line).collect();
    module.body(|b| {
        let i = b.local();
        b.loc = 1;
        let p = b.at(1, i, 4);
        let x = b.load(p, Scalar::I32);
        b.loc = 2;
        let y = b.binary(BinaryOp::Iadd, x, x);
        let z = b.binary(BinaryOp::Imul, y, x);
        b.loc = 3;
        b.put(0, i, z);
    })
}

fn profiled(module: &Verified, profile: bool) -> Compiled {
    let options = Options { dump_llvm: true, profile, ..Options::default() };
    compile(module, &targets()[0], &options).unwrap()
}

fn notes(compiled: &Compiled) -> Vec<u32> {
    let text = compiled.dumps.llvm_optimized.as_ref().unwrap();
    let stores = text.lines().filter_map(|line| line.trim().strip_prefix("store volatile i32 "));
    stores.map(|rest| rest.split(',').next().unwrap().parse().unwrap()).collect()
}

#[test]
fn lines_and_families_are_noted_in_order() {
    let compiled = profiled(&double("a.comp"), true);
    let sites: Vec<_> =
        compiled.meta.sites.iter().map(|s| (s.line, s.family, s.operation.as_str())).collect();
    let want = [(1, Family::Memory, "load"), (2, Family::Lanes, "arithmetic"), (3, Family::Memory, "store")];
    assert_eq!(sites, want);
    assert_eq!(compiled.meta.sites[2].word, 30);
    assert_eq!(notes(&compiled), [FIRST_SITE, FIRST_SITE + 1, FIRST_SITE + 2]);
}

#[test]
fn an_address_belongs_to_its_load() {
    let mut module = Kernel::new(8, [8, 1, 1]).bindings(2);
    module.module.locs = vec![SourceLoc { file: "a.comp".into(), line: 4, word: 0 }];
    let module = module.body(|b| {
        b.loc = 1;
        let i = b.local();
        let j = b.plus(i, 3);
        let p = b.at(1, j, 4);
        let x = b.load(p, Scalar::I32);
        let y = b.binary(BinaryOp::Iadd, x, x);
        b.put(0, i, y);
    });
    let compiled = profiled(&module, true);
    let sites: Vec<_> = compiled.meta.sites.iter().map(|s| s.operation.as_str()).collect();
    assert_eq!(sites, ["load", "arithmetic", "store"]);
    assert_eq!(notes(&compiled), [FIRST_SITE, FIRST_SITE + 1, FIRST_SITE + 2]);
}

#[test]
fn without_lines_there_are_instructions() {
    let compiled = profiled(&double(""), true);
    let words: Vec<_> = compiled.meta.sites.iter().map(|s| (s.line, s.word)).collect();
    assert_eq!(words, [(0, 10), (0, 20), (0, 30)]);
}

#[test]
fn nothing_is_noted_unasked() {
    let compiled = profiled(&double("a.comp"), false);
    assert_eq!(compiled.meta.sites, []);
    assert_eq!(notes(&compiled), [0; 0]);
}

#[test]
fn profiled_code_computes_the_same() {
    let module = double("a.comp");
    let words = pack(Scalar::I32, 0..8);
    for target in targets() {
        let compiled = compile(&module, target, &Options { profile: true, ..Options::default() }).unwrap();
        let (out, _) = Case::new(&module, vec![vec![0; 32], words.clone()]).leaves(&compiled, target);
        assert_eq!(out[0], pack(Scalar::I32, (0..8).map(|x| 2 * x * x)));
    }
}

//! Matrices of one constant, made once before the loops that they are in.
//!
//! A program that begins a sum anew in each round, or multiplies by a matrix of ones to sum up rows, makes the same matrix
//! again and again, each time writing all of it to memory:
//!
//! ```text
//! loop @next {                                        %zero = mat_splat 0
//!   …                                                 loop @next {
//!   %zero = mat_splat 0                                 …
//!   %scores = mat_mul_add %q, %k, %zero        →        %scores = mat_mul_add %q, %k, %zero
//!   …                                                   …
//! ```
//!
//! What is stored to a variable stays: it is made there, where it would have to be copied to.

use crate::entities::{Inst, Value};
use crate::module::Function;
use crate::op::Op;
use crate::tree::Tree;
use crate::types::Type;
use std::collections::{BTreeMap, BTreeSet};

/// Moves such matrices out of loops.
pub(super) fn run(func: &Function) -> Function {
    let mut new = func.clone();
    if !func.insts.iter().any(|info| matches!(info.op, Op::MatSplat)) {
        return new;
    }
    let tree = Tree::new(func);
    let stored = stored(func);
    // The loop, the type and the bits of each that has been made.
    let mut made: BTreeMap<(Inst, Type, u64), Value> = BTreeMap::new();
    let mut instead: BTreeMap<Value, Value> = BTreeMap::new();
    for &inst in tree.order() {
        let info = func.inst(inst);
        if !matches!(info.op, Op::MatSplat) || stored.contains(&info.results[0]) {
            continue;
        }
        let around = tree.outermost_loop(inst).and_then(|body| tree.parent(body));
        let (Some(around), Some(bits)) = (around, func.const_bits(info.args[0])) else { continue };
        let (ty, element) = (func.ty(info.results[0]), func.ty(info.args[0]));
        let value = *made.entry((around.inst, ty, bits)).or_insert_with(|| {
            let constant = new.new_inst(Op::Const(bits), &[], &[element], info.loc);
            let splat = new.new_inst(Op::MatSplat, &[new.inst(constant).results[0]], &[ty], info.loc);
            let home = &mut new.blocks[around.block.index()];
            let at = home.iter().position(|&i| i == around.inst).unwrap_or(0);
            home.splice(at..at, [constant, splat]);
            new.inst(splat).results[0]
        });
        instead.insert(info.results[0], value);
    }
    for arg in new.insts.iter_mut().flat_map(|info| &mut info.args) {
        *arg = instead.get(arg).copied().unwrap_or(*arg);
    }
    new
}

/// Values that are stored to variables.
fn stored(func: &Function) -> BTreeSet<Value> {
    let stores = func.insts.iter().filter(|info| matches!(info.op, Op::VarStore(_)));
    stores.filter_map(|info| info.args.last().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{text, verify};

    const LOOP: &str = "workgroup_size 32 1 1 subgroup_size 32
    binding buf0 = 0.0 storage writable
    var $c: mat<16x16xf32, subgroup, acc> {
    %0: i32 = const 0
    %64: i64 = const 64
    %p: ptr<buffer> = buffer_ptr<buf0> %0
    loop @outer {
      loop @inner {
        %z: f32 = const 0x0
        %m: mat<16x16xf32, subgroup, a> = mat_load %p, %64
        %n: mat<16x16xf32, subgroup, b> = mat_load %p, %64
        %c: mat<16x16xf32, subgroup, acc> = mat_splat %z
        %r: mat<16x16xf32, subgroup, acc> = mat_mul_add %m, %n, %c
        %d: mat<16x16xf32, subgroup, acc> = mat_splat %z
        %s: mat<16x16xf32, subgroup, acc> = fadd %r, %d
        mat_store %p, %s, %64
      }
    }
}";

    /// How many matrices of a constant there are, and how many before all loops.
    fn splats(code: &str) -> (usize, usize) {
        let module = verify(text::parse(code).unwrap_or_else(|e| panic!("{e}\n{code}"))).unwrap();
        let mut module = (*module).clone();
        module.body = crate::passes::compact(&super::super::opt_dce::run(&run(&module.body)));
        let text = verify(module).unwrap_or_else(|e| panic!("{e}")).to_string();
        let before = text.split("loop @").next().unwrap_or_default();
        (text.matches("mat_splat").count(), before.matches("mat_splat").count())
    }

    #[test]
    fn one_matrix_serves_all_rounds() {
        assert_eq!(splats(LOOP), (1, 1));
        // Of another constant, or not of one.
        let other = LOOP.replace("%d: mat", "%y: f32 = const 0x3f800000\n%d: mat").replacen(
            "= mat_splat %z\n        %s",
            "= mat_splat %y\n        %s",
            1,
        );
        assert_eq!(splats(&other), (2, 2));
        let loaded = LOOP.replace("%z: f32 = const 0x0", "%z: f32 = load %p");
        assert_eq!(splats(&loaded), (2, 0));
        // What is stored to a variable is made there.
        let stored = LOOP.replace("%s: mat", "var_store<$c> %d\n %s: mat");
        assert_eq!(splats(&stored), (2, 1));
        let straight = LOOP.replace("loop @outer", "block @outer").replace("loop @inner", "block @inner");
        assert_eq!(splats(&straight).0, 2);
    }
}

//! Reloads: a matrix that was loaded already, and that nothing has written since, is not loaded again.
//!
//! Kernels for GPUs load a factor into the same variable for each product, as registers are few there:
//!
//! ```text
//! %a0 = mat_load %p    %b = mat_load %q    $c[0] += %a0 * %b
//! %a1 = mat_load %r    %d = mat_load %q    $c[1] += %a1 * %d    →    $c[1] += %a1 * %b
//! ```
//!
//! A load costs as much as a product, and products that have no factor in common are no grid that one call computes.
//! Loads are compared within a block, by the places they are from ([`Places`]).

use super::affine::Places;
use crate::entities::{Block, Inst, Value};
use crate::module::Function;
use crate::op::Op;
use crate::types::{Space, Type};
use std::collections::{HashMap, HashSet};

/// Removes loads of matrices that are there.
pub(super) fn run(func: &Function) -> Function {
    let loads = func.insts.iter().filter(|info| matches!(info.op, Op::MatLoad { .. })).count();
    if loads < 2 {
        return func.clone();
    }
    let mut reloads = Reloads::default();
    (0..func.blocks.len()).for_each(|block| reloads.block(func, Block::new(block)));
    let mut func = func.clone();
    for block in &mut func.blocks {
        block.retain(|inst| !reloads.removed.contains(inst));
    }
    for arg in func.insts.iter_mut().flat_map(|info| &mut info.args) {
        *arg = reloads.instead.get(arg).copied().unwrap_or(*arg);
    }
    func
}

/// What a load is, but for what memory holds: its type and layout, the place and the bytes from it, the class of its stride.
type Key = (Type, bool, u32, i64, u32);

#[derive(Default)]
struct Reloads {
    places: Places,
    removed: HashSet<Inst>,
    /// What is there, of what need not be loaded.
    instead: HashMap<Value, Value>,
}

impl Reloads {
    fn block(&mut self, func: &Function, block: Block) {
        // Of shared memory, and of all other: nothing is in both.
        let mut known: [HashMap<Key, Value>; 2] = Default::default();
        let kind = |ptr: Value| usize::from(func.ty(ptr) != Type::Ptr(Space::Shared));
        for &inst in func.block(block) {
            let info = func.inst(inst);
            match (&info.op, info.args.as_slice()) {
                (&Op::MatLoad { column_major, flags }, &[ptr, stride]) if !flags.volatile => {
                    let (place, distance) = self.places.of(func, ptr);
                    let stride = self.places.classes.of(func, stride);
                    let loaded = info.results[0];
                    let key = (func.ty(loaded), column_major, place, distance, stride);
                    let there = *known[kind(ptr)].entry(key).or_insert(loaded);
                    if there != loaded {
                        self.removed.insert(inst);
                        self.instead.insert(loaded, there);
                    }
                }
                (Op::Store(_) | Op::MatStore { .. }, &[ptr, ..]) => known[kind(ptr)].clear(),
                (op, _) if op.has_effect() && op.var().is_none() => known.iter_mut().for_each(HashMap::clear),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{text, verify};

    /// How many loads of matrices are left of two with something in between.
    fn loads(between: &str, second: &str) -> usize {
        let code = format!(
            "workgroup_size 4 1 1 subgroup_size 4 shared 4096 push 8
            binding buf0 = 0.0 storage writable
            var $v: i32 {{
                %zero: i32 = const 0
                %two: i32 = const 2
                %s64: i64 = const 32
                %other: i64 = const 64
                %s: ptr<shared> = shared_ptr<offset=0, bytes=4096>
                %g: ptr<buffer> = buffer_ptr<buf0> %zero
                %id: i32 = subgroup_id
                %zero_f: f32 = const 0
                %sum: mat<4x4xf32, subgroup, acc> = mat_splat %zero_f
                %p: ptr<shared> = ptr_add<scale=64> %s, %id
                %a: mat<4x4xf16, subgroup, a> = mat_load %p, %s64
                {between}
                %b: {second}
                %c: f16 = mat_extract %a, %zero
                %d: f16 = mat_extract %b, %zero
                %e: f16 = fadd %c, %d
                store %g, %e
            }}"
        );
        let module = verify(text::parse(&code).unwrap_or_else(|e| panic!("{e}\n{code}")));
        let mut module = module.unwrap_or_else(|e| panic!("{e}\n{code}")).into_inner();
        module.body = run(&module.body);
        let module = verify(module).unwrap_or_else(|e| panic!("{e}\n{code}"));
        let block = module.body.block(Function::ENTRY).iter();
        block.filter(|inst| matches!(module.body.inst(**inst).op, Op::MatLoad { .. })).count()
    }

    const AGAIN: &str = "mat<4x4xf16, subgroup, a> = mat_load %p, %s64";

    #[test]
    fn what_is_there_is_not_loaded_again() {
        assert_eq!(loads("", AGAIN), 1);
        let twice = "%r: ptr<shared> = ptr_add<scale=64> %s, %id";
        assert_eq!(loads(twice, &AGAIN.replace("%p", "%r")), 1);
        for between in ["store %g, %id", "var_store<$v> %id", "mat_store %g, %sum, %s64"] {
            assert_eq!(loads(between, AGAIN), 1, "{between}");
        }
    }

    #[test]
    fn what_may_be_another_matrix_is_loaded() {
        for between in [
            "store %s, %id",
            "mat_store %s, %sum, %s64",
            "barrier<workgroup, workgroup>",
            "%old: i32 = atomic_iadd %g, %two",
            "%yes: bool = ieq %id, %two if %yes { store %s, %id }",
        ] {
            assert_eq!(loads(between, AGAIN), 2, "{between}");
        }
        for second in [
            "mat<4x4xf16, subgroup, a> = mat_load<column_major> %p, %s64",
            "mat<4x4xf16, subgroup, a> = mat_load<volatile> %p, %s64",
            "mat<4x4xf16, subgroup, a> = mat_load %p, %other",
            "mat<4x4xf16, subgroup, a> = mat_load %s, %s64",
            "mat<4x4xf16, subgroup, b> = mat_load %p, %s64",
        ] {
            assert_eq!(loads("", second), 2, "{second}");
        }
    }
}

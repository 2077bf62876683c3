//! Packing: numbers that are stored one behind the other are stored together.
//!
//! Kernels copy by four or eight numbers at once and store them by pairs, as their shared memory is an array of pairs:
//!
//! ```text
//! %3: ptr<shared> = ptr_add<scale=4> %p, %2          %3: ptr<shared> = ptr_add<scale=4> %p, %2
//! store %3, %x, %y                              →    store %3, %x, %y, %z, %w
//! %4: i32 = iadd %2, %one
//! %5: ptr<shared> = ptr_add<scale=4> %p, %4
//! store %5, %z, %w
//! ```
//!
//! A target then moves what a lane has at once. Stores are packed within a block where nothing in between may look at the
//! memory, or write to it: they all come to be where the last of them is. That of two addresses one is so many bytes
//! behind the other is found as where matrices are joined ([`Places`]).

use super::affine::Places;
use crate::entities::{Block, Inst};
use crate::module::Function;
use crate::op::Op;
use crate::types::{Scalar, Space, Type};
use std::collections::HashSet;

/// Bytes that one store writes: what a lane moves at once.
const MOST_BYTES: u32 = 16;

/// Packs stores.
pub(super) fn run(func: &Function) -> Function {
    let mut pack = Pack { func: func.clone(), places: Places::default() };
    for block in 0..func.blocks.len() {
        pack.block(Block::new(block));
    }
    pack.func
}

/// A store that may be packed with others.
#[derive(Clone, Copy, Debug)]
struct Store {
    inst: Inst,
    /// Bytes from its place.
    disp: i64,
    scalar: Scalar,
    /// Scalars.
    n: usize,
    /// Its number in the block.
    at: usize,
}

impl Store {
    fn end(&self) -> i64 {
        self.disp.wrapping_add(self.n as i64 * i64::from(self.scalar.bytes()))
    }
}

/// Stores to one place, since which nothing has looked at memory of its kind.
#[derive(Debug, Default)]
struct Open {
    place: u32,
    stores: Vec<Store>,
}

struct Pack {
    func: Function,
    places: Places,
}

impl Pack {
    fn block(&mut self, block: Block) {
        let insts = self.func.block(block).to_vec();
        // Of shared memory, and of all other.
        let mut open = [Open::default(), Open::default()];
        let mut removed = HashSet::new();
        for (at, &inst) in insts.iter().enumerate() {
            let info = self.func.inst(inst);
            match &info.op {
                Op::Store(flags) if !flags.volatile => {
                    let kind = self.kind(inst);
                    let (place, disp) = self.places.of(&self.func, info.args[0]);
                    let Type::Scalar(scalar) = self.func.ty(info.args[1]) else { continue };
                    let store = Store { inst, disp, scalar, n: info.args.len() - 1, at };
                    let overlaps = |other: &Store| store.disp < other.end() && other.disp < store.end();
                    if open[kind].place != place || open[kind].stores.iter().any(overlaps) {
                        self.close(&mut open[kind], &mut removed);
                    }
                    open[kind].place = place;
                    open[kind].stores.push(store);
                }
                Op::Load(flags) if !flags.volatile => {
                    if self.func.ty(info.args[0]) != Type::Ptr(Space::Push) {
                        let kind = self.kind(inst);
                        self.close(&mut open[kind], &mut removed);
                    }
                }
                op if op.var().is_some() || op.computes() || is_apart(op) => {}
                _ => open.iter_mut().for_each(|open| self.close(open, &mut removed)),
            }
        }
        open.iter_mut().for_each(|open| self.close(open, &mut removed));
        if !removed.is_empty() {
            self.func.blocks[block.index()].retain(|inst| !removed.contains(inst));
        }
    }

    /// Which memory an access is to: nothing is in both kinds.
    fn kind(&self, inst: Inst) -> usize {
        let ptr = self.func.inst(inst).args[0];
        usize::from(self.func.ty(ptr) != Type::Ptr(Space::Shared))
    }

    /// Packs what is open.
    fn close(&mut self, open: &mut Open, removed: &mut HashSet<Inst>) {
        let mut stores = std::mem::take(&mut open.stores);
        stores.sort_unstable_by_key(|store| store.disp);
        let follows = |x: &Store, y: &Store| x.scalar == y.scalar && x.end() == y.disp;
        for mut run in stores.chunk_by(follows) {
            while let [first, ..] = run {
                // As many as fill a piece, if they do.
                let most = (MOST_BYTES / first.scalar.bytes().max(1)) as usize;
                let mut sum = 0;
                let ends = run.iter().enumerate().map(|(i, store)| {
                    sum += store.n;
                    (i + 1, sum)
                });
                let fits = ends.take_while(|&(_, sum)| sum <= most).filter(|(_, sum)| sum.is_power_of_two());
                let count = fits.last().map_or(1, |(count, _)| count);
                let (packed, rest) = run.split_at(count);
                self.pack(packed, removed);
                run = rest;
            }
        }
    }

    /// Makes one store of some that follow one another in memory, where the last of the text is.
    fn pack(&mut self, stores: &[Store], removed: &mut HashSet<Inst>) {
        let [first, _, ..] = stores else { return };
        let Some(last) = stores.iter().max_by_key(|store| store.at) else { return };
        let mut args = self.func.inst(first.inst).args.clone();
        for store in &stores[1..] {
            let values = self.func.inst(store.inst).args[1..].to_vec();
            args.extend(values);
        }
        self.func.insts[last.inst.index()].args = args;
        removed.extend(stores.iter().map(|store| store.inst).filter(|&inst| inst != last.inst));
    }
}

/// Whether an operation that does not just compute neither reads nor writes memory.
fn is_apart(op: &Op) -> bool {
    matches!(
        op,
        Op::Builtin(_)
            | Op::Subgroup(_)
            | Op::BufferPtr(_)
            | Op::PushPtr
            | Op::SharedPtr { .. }
            | Op::PtrAdd { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{text, verify};

    /// How many numbers each store of a kernel writes, once they are packed.
    fn packed(body: &str) -> Vec<usize> {
        let code = format!(
            "workgroup_size 4 1 1 subgroup_size 4 shared 4096 push 8
            binding buf0 = 0.0 storage writable
            var $v: i32 {{
                %zero: i32 = const 0
                %one: i32 = const 1
                %two: i32 = const 2
                %s: ptr<shared> = shared_ptr<offset=0, bytes=4096>
                %g: ptr<buffer> = buffer_ptr<buf0> %zero
                %push: ptr<push> = push_ptr
                %id: i32 = subgroup_lane
                %x: f16, %y: f16 = load %g
                %w: i32 = load %g
                %i: i32 = imul %id, %two
                %p: ptr<shared> = ptr_add<scale=4> %s, %i
                %j: i32 = iadd %i, %one
                %q: ptr<shared> = ptr_add<scale=4> %s, %j
                %far: ptr<shared> = ptr_add<scale=4, disp=8> %s, %j
                %to: ptr<buffer> = ptr_add<scale=4> %g, %i
                {body}
            }}"
        );
        let module = verify(text::parse(&code).unwrap_or_else(|e| panic!("{e}\n{code}"))).unwrap();
        let mut module = module.into_inner();
        module.body = run(&module.body);
        let module = verify(module).unwrap_or_else(|e| panic!("{e}\n{code}"));
        let entry = module.body.block(Function::ENTRY).iter().map(|&inst| module.body.inst(inst));
        entry.filter(|info| matches!(info.op, Op::Store(_))).map(|info| info.args.len() - 1).collect()
    }

    #[test]
    fn pairs_one_behind_the_other_are_one_store() {
        assert_eq!(packed("store %p, %x, %y store %q, %y, %x"), [4]);
        assert_eq!(packed("store %q, %x, %y store %p, %y, %x"), [4]);
        // What reads other memory, and what reads none, may stand between.
        assert_eq!(packed("store %p, %x, %y %z: i32 = load %push store %q, %y, %x"), [4]);
        assert_eq!(packed("store %p, %x, %y %z: i32 = load %to store %q, %y, %x"), [4]);
        assert_eq!(packed("store %p, %x, %y var_store<$v> %one store %q, %y, %x"), [4]);
        assert_eq!(packed("store %p, %x, %y store %to, %w store %q, %y, %x"), [1, 4]);
        // Three are two and one.
        assert_eq!(packed("store %p, %w store %q, %w store %far, %w"), [2, 1]);
    }

    #[test]
    fn what_others_may_see_in_between_is_not_packed() {
        for between in [
            "%z: f16 = load %p",
            "store %s, %w",
            "store<volatile> %g, %w",
            "barrier<workgroup, workgroup>",
            "%old: i32 = atomic_iadd %g, %one",
            "%c: bool = ieq %one, %w if %c { store %q, %w }",
            // The same place once more, and a part of it.
            "store %p, %y, %x",
        ] {
            let counts = packed(&format!("store %p, %x, %y {between} store %q, %y, %x"));
            let last = counts.last().copied();
            let again = between.starts_with("store %p");
            assert_eq!(last, Some(if again { 4 } else { 2 }), "{between}");
            assert_eq!(counts.first(), Some(&2), "{between}");
        }
        // Not one behind the other, of different kinds, and more than a lane moves at once.
        assert_eq!(packed("store %p, %x, %y store %far, %y, %x"), [2, 2]);
        assert_eq!(packed("store %p, %x, %y store %q, %w"), [2, 1]);
        assert_eq!(packed("store %p, %w store %q, %w, %w, %w, %w"), [1, 4]);
        assert_eq!(packed("store<volatile> %p, %x, %y store %q, %y, %x"), [2, 2]);
    }
}

//! Parts of one block of memory are read through the same windows.
//!
//! Kernels read a block of quantised weights in parts: its scale, words of one half and of the other. Where the lanes' blocks
//! follow one another, the windows of one part (see `window`) hold much of the others:
//!
//! ```text
//! blocks of 18 bytes:        [s w w w w w w w w][s w w w w w w w w][s ...
//! windows of the words:        [                               ][
//! windows of the scales:     [                               ][
//! of both:                   [                               ][
//! ```
//!
//! So a load through windows reads what loads behind it would, at places that are known bytes from its own, if all
//! need fewer windows together and nothing acts on memory in between. There is one check for all. That an index is the sum
//! of another one and a constant is taken from what is known of its bits.

use crate::emit::{V, const_int};
use crate::lower::Lower;
use crate::memory::Access;
use crate::value::{Lowered, Val};
use crate::window::Plan;
use phalanx_ir::passes::without_constant;
use phalanx_ir::{Inst, Op, Space, Value};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// Where a load's scalars are.
struct Place<'c> {
    /// Where the object begins, and how many bytes it has.
    object: (V<'c>, V<'c>),
    /// What all lanes add to that, each so often.
    indices: SmallVec<[(i64, V<'c>); 2]>,
    /// The bytes that each lane adds to all this.
    steps: Vec<i64>,
}

impl<'c> Lower<'_, 'c> {
    /// The loads behind one that is read by a plan which are read with it, and their plans; the plan becomes one that
    /// looks at the same windows.
    pub(crate) fn neighbours(&self, a: &Access<'c>, plan: &mut Plan) -> Vec<(Access<'c>, Plan)> {
        let Some((block, at)) = self.here.at else { return Vec::new() };
        let insts = self.f.block(block);
        if insts.get(at) != Some(&a.inst) || a.ptr.space != Space::Buffer || plan.unit_bytes != a.elem_bytes()
        {
            return Vec::new();
        }
        let (Some(place), Some(steps)) = (self.load_place(a.inst), self.patterns.of(a.ptr.offset, self.w))
        else {
            return Vec::new();
        };
        // What the scalar offset has more than the indices.
        let more = steps[0].wrapping_sub(place.steps[0]);
        let mut all = vec![(*a, plan.clone())];
        for &inst in &insts[at + 1..] {
            let op = &self.f.inst(inst).op;
            if op.has_effect() && op.var().is_none() || op.bodies().next().is_some() {
                break;
            }
            let Some((other, alone)) = self.neighbour(a, &place, more, inst) else { continue };
            let apart: BTreeSet<i64> = all.iter().flat_map(|(_, plan)| plan.starts()).collect();
            let apart = apart.len() + BTreeSet::from_iter(alone.starts()).len();
            let cost = |plans: &[&Plan]| plans.iter().map(|plan| plan.cost()).sum::<usize>();
            let old: Vec<&Plan> = all.iter().map(|(_, plan)| plan).chain([&alone]).collect();
            let Some(new) = Plan::joined(&old) else { continue };
            let together: BTreeSet<i64> = new.iter().flat_map(Plan::starts).collect();
            if together.len() < apart && cost(&new.iter().collect::<Vec<_>>()) <= cost(&old) {
                let accesses: Vec<_> = all.iter().map(|(access, _)| *access).chain([other]).collect();
                all = accesses.into_iter().zip(new).collect();
            }
        }
        *plan = all.remove(0).1;
        all
    }

    /// A load as an access, and the plan for it, if it reads by windows a place that is known bytes from another's. That
    /// one's scalar offset lies so many bytes before the place.
    fn neighbour(
        &self,
        a: &Access<'c>,
        place: &Place<'c>,
        more: i64,
        inst: Inst,
    ) -> Option<(Access<'c>, Plan)> {
        let info = self.f.inst(inst);
        let Op::Load(flags) = &info.op else { return None };
        let first = *info.results.first()?;
        let scalar = self.f.ty(first).scalar()?;
        let n = info.results.len() as u32;
        let other = Access { scalar, n, is_copy: self.copies.contains(&inst), inst, ..*a };
        let bytes = other.elem_bytes();
        let is_bundled = self.is_bundled(first);
        if flags.volatile || is_bundled || bytes != a.elem_bytes() || self.read_before.contains_key(&inst) {
            return None;
        }
        let own = self.load_place(inst)?;
        if own.object != place.object || own.indices != place.indices {
            return None;
        }
        let is_dense = (0..)
            .zip(&own.steps)
            .all(|(l, s)| s.wrapping_sub(own.steps[0]) == l * i64::from(n) * bytes as i64);
        let steps: Vec<i64> = own.steps.iter().map(|s| s.wrapping_add(more)).collect();
        let plan = self.window_plan(&other, &steps).filter(|plan| !is_dense && plan.unit_bytes == bytes)?;
        Some((other, plan))
    }

    /// Where a load's scalars are, if that is known but for what all lanes add.
    fn load_place(&self, inst: Inst) -> Option<Place<'c>> {
        let mut ptr = *self.f.inst(inst).args.first()?;
        let mut indices = SmallVec::new();
        let mut steps = vec![0_i64; self.w as usize];
        while let Op::PtrAdd { scale, disp } = self.f.def(ptr).op {
            let args = &self.f.def(ptr).args;
            steps.iter_mut().for_each(|step| *step = step.wrapping_add(disp));
            if let Some(&index) = args.get(1) {
                let (index, constant) = without_constant(self.f, Some(self.uniformity), index);
                let index = self.lowered(index).filter(|&index| !self.may_wrap_into(index))?;
                let own = self.patterns.of(index, self.w)?;
                let known =
                    const_int(index.v).map(|bits| match index.v.get_type().into_int_type().get_bit_width() {
                        32 => i64::from(bits as i32),
                        _ => bits.cast_signed(),
                    });
                if known.is_none() {
                    indices.push((scale, index.v));
                }
                let constant = constant.wrapping_add(known.unwrap_or(0));
                for (step, own) in steps.iter_mut().zip(own) {
                    *step = step.wrapping_add(scale.wrapping_mul(own.wrapping_add(constant)));
                }
            }
            ptr = args[0];
        }
        let object =
            self.ptr(ptr).ok().filter(|p| p.space == Space::Buffer && const_int(p.offset.v) == Some(0))?;
        let is_one = object.base.is_uniform() && object.size.is_uniform() && object.offset.is_uniform();
        is_one.then_some(Place { object: (object.base.v, object.size.v), indices, steps })
    }

    /// An integer that has been lowered.
    fn lowered(&self, v: Value) -> Option<Val<'c>> {
        match self.value(v) {
            Ok(Lowered::Scalar(x)) if x.v.is_int_value() => Some(*x),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::optimized;

    /// Registers that optimised code loads which reads of blocks of 18 bytes a scale and two halves, four lanes a block,
    /// and something in between.
    fn loads(between: &str) -> usize {
        let module = format!(
            "kernel \"main\"
workgroup_size 32 1 1
subgroup_size 32
binding buf0 = 0.0 storage
binding buf1 = 0.1 storage writable
{{
  %0: i32 = const 0
  %2: i32 = const 2
  %3: i32 = const 3
  %lane: i32 = local_invocation_id<x>
  %row: i32 = workgroup_id<x>
  %in: ptr<buffer> = buffer_ptr<buf0> %0
  %out: ptr<buffer> = buffer_ptr<buf1> %0
  %to: ptr<buffer> = ptr_add<scale=4> %out, %lane
  %from: ptr<buffer> = ptr_add<scale=1152> %in, %row
  %number: i32 = lshr %lane, %2
  %part: i32 = and %lane, %3
  %block: ptr<buffer> = ptr_add<scale=18> %from, %number
  %words: ptr<buffer> = ptr_add<scale=4, disp=2> %block, %part
  %x: i16, %y: i16 = load %words
  {between}
  %scale: i16 = load %block
  %sum: i16 = iadd %x, %y
  %all: i16 = imul %sum, %scale
  %wide: i32 = u_to_u %all
  store %to, %wide
}}
"
        );
        optimized(&module, "znver4").matches("load <32 x i16>").count()
    }

    #[test]
    fn parts_of_the_same_blocks_are_read_together() {
        assert_eq!(loads(""), 3);
        // Somebody may have changed it.
        assert_eq!(loads("store %to, %number"), 6);
    }
}

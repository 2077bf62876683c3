//! Reads of places that several lanes share.
//!
//! Programs whose work-groups are a plane, as 8×8, read what belongs to a column in all lanes of the column, and what
//! belongs to a row in all lanes of the row. How far columns and rows are from each other is told late, so the places are
//! not known; but they depend on a few bits of the lane's number only. So each place is read once:
//!
//! ```text
//! %x = global_invocation_id<x>                     ; bits 0, 1 and 2 of a subgroup of 32 lanes
//! %at = ptr_add<scale=8> %p, (imul %x, %stride)    ; 8 places
//! %v0: f16, %v1: f16, %v2: f16, %v3: f16 = load %at
//! ```
//!
//! Only arithmetic on values that are kept as scalars is gone through, because that gives the same in lanes that do not
//! execute: the lane that stands for the others may be one of them.

use crate::emit::V;
use crate::error::Result;
use crate::lower::{Exec, Lower};
use crate::memory::Access;
use crate::value::{Lowered, Val};
use phalanx_ir::{Op, Value};

/// Most places: each has a load of its own.
const MAX_PLACES: usize = 16;

/// Most bytes of a place: as many zeros are there to be read.
const MAX_BYTES: u64 = 16;

/// Operations that are gone through for one place.
const DEPTH: u32 = 12;

/// All bits of a lane's number.
const ALL: u32 = u32::MAX;

impl<'c> Lower<'_, 'c> {
    /// Reads each place once, if several lanes share it.
    pub(crate) fn load_shared(&mut self, a: &Access<'c>) -> Result<Option<Vec<Val<'c>>>> {
        let p = &a.ptr;
        let is_one_object = a.is_bounded() && p.base.is_uniform() && p.size.is_uniform();
        let are_places = !a.volatile && is_one_object && !p.offset.is_based();
        if !are_places || !a.n.is_power_of_two() || a.piece_bytes() > MAX_BYTES {
            return Ok(None);
        }
        let pointer = self.f.inst(a.inst).args[0];
        let bits = self.bits_of_pointer(pointer);
        let lanes: Vec<u32> = (0..self.w).filter(|lane| lane & !bits == 0).collect();
        if lanes.len() > MAX_PLACES || 2 * lanes.len() > self.w as usize {
            return Ok(None);
        }
        let offsets = self.offsets_of(pointer, p, &lanes)?;
        let few = self.read_places(a, offsets, &lanes)?;
        let picks: Vec<u32> =
            (0..self.w).map(|lane| lanes.partition_point(|&l| l < lane & bits) as u32).collect();
        let scalars = few.into_iter().map(|few| self.e.pick(a.scalar, few, &picks).map(Val::varying));
        scalars.collect::<Result<_>>().map(Some)
    }

    /// The scalars at the places of some lanes.
    fn read_places(&mut self, a: &Access<'c>, offsets: V<'c>, lanes: &[u32]) -> Result<Vec<V<'c>>> {
        let count = lanes.len() as u32;
        let inside = self.is_inside(offsets, a.ptr.size.v, a.piece_bytes())?;
        let zeros = self.zeros().into();
        let zeros = self.e.splat(zeros, count)?;
        let at = self.at(&a.ptr, a.ptr.base.v, offsets)?;
        let at = self.e.select(inside, at, zeros)?;
        if a.n == 1 {
            return Ok(vec![self.read_each(a, at, count)?]);
        }
        // An object that ends within a place is rare.
        let ends_within = self.ends_within(a, offsets, a.ptr.size.v)?;
        let [edge, whole, join] = ["edge", "inside", "accessed"].map(|n| self.new_block(n));
        self.e.cond_br_likely(self.e.not(ends_within)?, whole, edge)?;
        self.e.b.position_at_end(whole);
        let all = self.read_each(a, at, count)?;
        let apart = (0..a.n).map(|k| self.e.permute(all, (0..count).map(|lane| lane * a.n + k)));
        let apart = apart.collect::<Result<Vec<_>>>()?;
        self.e.br(join)?;
        self.e.b.position_at_end(edge);
        let exec = std::mem::replace(&mut self.exec, Exec { mask: None });
        let slow = self.load_lane_by_lane(a);
        self.exec = exec;
        let slow = slow?.into_iter().map(|v| self.e.permute(self.vector(v)?, lanes.iter().copied()));
        let slow = slow.collect::<Result<Vec<_>>>()?;
        let edge = self.e.here()?;
        self.e.br(join)?;
        self.e.b.position_at_end(join);
        apart.into_iter().zip(slow).map(|(x, y)| self.e.merge(&[(x, whole), (y, edge)])).collect()
    }

    /// What is at each address, one behind the other.
    fn read_each(&mut self, a: &Access<'c>, at: V<'c>, count: u32) -> Result<V<'c>> {
        let ty = self.e.vec_of(self.e.scalar_ty(a.scalar), a.n);
        let parts = (0..count).map(|place| {
            let at = self.e.extract_at(at, place)?.into_pointer_value();
            self.e.load(ty, at, 1)
        });
        let parts = parts.collect::<Result<_>>()?;
        self.e.concat(parts)
    }

    /// The bits of a lane's number that an address depends on.
    fn bits_of_pointer(&self, pointer: Value) -> u32 {
        match self.value(pointer) {
            Ok(Lowered::Ptr(p)) if p.offset.is_based() => return self.bits_of_val(p.offset),
            Ok(Lowered::Ptr(_)) => {}
            _ => return ALL,
        }
        match (&self.f.def(pointer).op, self.f.def(pointer).args.as_slice()) {
            (Op::PtrAdd { .. }, &[start]) => self.bits_of_pointer(start),
            (Op::PtrAdd { .. }, &[start, index]) => self.bits_of_pointer(start) | self.bits_of(index, DEPTH),
            _ => ALL,
        }
    }

    /// The bits of a lane's number that a number depends on.
    fn bits_of(&self, v: Value, depth: u32) -> u32 {
        match self.value(v) {
            Ok(Lowered::Scalar(x)) if x.is_based() => return self.bits_of_val(*x),
            Ok(Lowered::Scalar(_)) if depth > 0 => {}
            _ => return ALL,
        }
        let def = self.f.def(v);
        match def.op {
            Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select | Op::Convert(_) => {
                let mut bits = 0;
                for &arg in &def.args {
                    if bits != ALL {
                        bits |= self.bits_of(arg, depth - 1);
                    }
                }
                bits
            }
            _ => ALL,
        }
    }

    fn bits_of_val(&self, x: Val<'c>) -> u32 {
        let Some(steps) = self.patterns.of(x, self.w) else { return ALL };
        let differ =
            |bit: &u32| (0..self.w).any(|l| l & bit == 0 && steps[l as usize] != steps[(l | bit) as usize]);
        (0..self.w.ilog2()).map(|k| 1 << k).filter(differ).sum()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::assembly;

    /// Code of a plane of 8×8 invocations that reads four numbers for each column, and one for each row.
    fn plane() -> String {
        let module = "kernel \"main\"
workgroup_size 8 8 1
subgroup_size 32
push 8
binding buf0 = 0.0 storage
binding buf1 = 0.1 storage
binding buf2 = 0.2 storage writable
{
  %0: i32 = const 0
  %8: i32 = const 8
  %x: i32 = local_invocation_id<x>
  %y: i32 = local_invocation_id<y>
  %push: ptr<push> = push_ptr
  %columns: i32, %rows: i32 = load %push
  %in: ptr<buffer> = buffer_ptr<buf0> %0
  %column: i32 = imul %x, %columns
  %from: ptr<buffer> = ptr_add<scale=16> %in, %column
  %a: f32, %b: f32, %c: f32, %d: f32 = load %from
  %factors: ptr<buffer> = buffer_ptr<buf1> %0
  %row: i32 = imul %y, %rows
  %at: ptr<buffer> = ptr_add<scale=4> %factors, %row
  %e: f32 = load %at
  %sum: f32 = fadd %a, %b
  %sum2: f32 = fadd %c, %d
  %both: f32 = fadd %sum, %sum2
  %product: f32 = fmul %both, %e
  %out: ptr<buffer> = buffer_ptr<buf2> %0
  %first: i32 = imul %y, %8
  %i: i32 = iadd %first, %x
  %to: ptr<buffer> = ptr_add<scale=4> %out, %i
  store %to, %product
}
";
        assembly(module, "znver4")
    }

    #[test]
    fn what_lanes_share_is_read_once() {
        let asm = plane();
        assert!(!asm.contains("gather"), "{asm}");
        // Rows are one behind the other, so what is written is one access.
        assert!(!asm.contains("scatter"), "{asm}");
    }
}

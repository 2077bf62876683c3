//! Lanes that are known to follow one another, in groups that lie anywhere.
//!
//! What copies a block of a matrix gives each row of the block to a few lanes. The distance between rows is told late, so
//! nothing is known of all lanes together; but those of a row read one piece behind the other, whatever is told:
//!
//! ```text
//! %row = lshr %lane, 2        %column = and %lane, 3
//! %at = ptr_add<scale=16> %p, (iadd (imul %row, %stride), %column)
//! ```
//!
//! So four lanes are one access of 64 bytes, and it is looked at eight places, not at 32, whether all is inside.

use crate::emit::{V, int_bits};
use crate::error::Result;
use crate::lower::Lower;
use crate::memory::Access;
use crate::pieces::Pieces;
use crate::value::{Lowered, Ptr, Shape, Val};
use phalanx_ir::{BinaryOp, Op, Value};

/// Operations that are gone through for one place.
const DEPTH: u32 = 12;

/// Bytes that are worth an access.
const MIN_GROUP_BYTES: u64 = 16;

/// Bytes that the lanes of a group may have together.
const MAX_GROUP_BYTES: u64 = 1024;

/// What is known of the lanes of each group: as many as a power of two, the first of which is a multiple of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rise {
    log2: u32,
    /// What each lane has more than the one before, modulo the width.
    stride: i64,
}

/// An offset of each lane: `start + index * scale`, where an index has a sign.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Indexed<'c> {
    pub(crate) start: V<'c>,
    pub(crate) index: V<'c>,
    pub(crate) scale: i64,
}

impl Rise {
    const NOTHING: Self = Self { log2: 0, stride: 0 };

    /// Of what lanes add to a scalar.
    fn of_steps(steps: &[i64]) -> Self {
        let stride = if steps.len() > 1 { steps[1].wrapping_sub(steps[0]) } else { 0 };
        let rises = |log2: u32| {
            steps.chunks(1 << log2).all(|group| {
                (0..).zip(group).all(|(i, s)| s.wrapping_sub(group[0]) == stride.wrapping_mul(i))
            })
        };
        let log2 = (1..=steps.len().ilog2()).take_while(|&log2| rises(log2)).last();
        log2.map_or(Self::NOTHING, |log2| Self { log2, stride })
    }

    fn scaled(self, factor: i64) -> Self {
        Self { stride: self.stride.wrapping_mul(factor), ..self }
    }

    fn with(self, other: Self, stride: impl FnOnce(i64, i64) -> Option<i64>) -> Self {
        match stride(self.stride, other.stride) {
            Some(stride) => Self { log2: self.log2.min(other.log2), stride },
            None => Self::NOTHING,
        }
    }
}

impl<'c> Lower<'_, 'c> {
    /// Where lanes are known to follow one another, and in registers, and whether all of them are inside.
    pub(crate) fn groups(&mut self, a: &Access<'c>, piece_bytes: u64) -> Result<Option<Pieces<'c>>> {
        if !a.ptr.base.is_uniform() || !a.ptr.size.is_uniform() || a.ptr.offset.is_based() {
            return Ok(None);
        }
        let pointer = self.f.inst(a.inst).args[0];
        let Rise { log2, stride } = self.rise_of_pointer(pointer);
        let most = (MAX_GROUP_BYTES / piece_bytes).min(self.w.into()).ilog2();
        let group = 1_u32 << log2.min(most);
        let register = (u64::from(self.e.caps.register_bytes) / piece_bytes).min(group.into()) as u32;
        if stride != piece_bytes as i64 || register < 2 || u64::from(register) * piece_bytes < MIN_GROUP_BYTES
        {
            return Ok(None);
        }
        let group_bytes = u64::from(group) * piece_bytes;
        let firsts: Vec<u32> = (0..self.w).step_by(group as usize).collect();
        let offsets = self.offsets_of(pointer, &a.ptr, &firsts)?;
        let right = match a.is_bounded() {
            true => {
                let inside = self.is_inside(offsets, a.ptr.size.v, group_bytes)?;
                self.e.all(inside)?
            }
            false => self.e.bool(true),
        };
        let mut at = Vec::new();
        for number in 0..self.w / group {
            let offset = self.e.extract_at(offsets, number)?;
            let first = self.at(&a.ptr, a.ptr.base.v, offset)?.into_pointer_value();
            for bytes in (0..group_bytes).step_by(register as usize * piece_bytes as usize) {
                at.push(self.e.field(first, bytes)?);
            }
        }
        Ok(Some(Pieces { at, lanes: register, right }))
    }

    /// The offsets of some lanes, as a vector.
    pub(crate) fn offsets_of(&mut self, pointer: Value, p: &Ptr<'c>, lanes: &[u32]) -> Result<V<'c>> {
        let lanes = lanes.iter().copied();
        let count = lanes.len() as u32;
        let Some(Indexed { start, index, scale }) = self.indexed(pointer, p)? else {
            return self.e.permute(self.vector(p.offset)?, lanes);
        };
        let wide = self.e.sext_trunc(self.e.permute(index, lanes)?, 64)?;
        let step = self.e.mul(wide, self.e.int_like(wide, scale.cast_unsigned()))?;
        self.e.add(self.e.splat(start, count)?, step)
    }

    /// A pointer's offset by indices of 32 bits, of which registers hold twice as many.
    pub(crate) fn indexed(&mut self, pointer: Value, p: &Ptr<'c>) -> Result<Option<Indexed<'c>>> {
        let def = self.f.def(pointer);
        let (&Op::PtrAdd { scale, disp }, &[start, index]) = (&def.op, def.args.as_slice()) else {
            return Ok(None);
        };
        let (Ok(whole), Ok(start), Ok(index)) = (self.ptr(pointer), self.ptr(start), self.scalar(index))
        else {
            return Ok(None);
        };
        let is_vector = index.shape == Shape::Varying && int_bits(index.v) == 32;
        if whole.offset != p.offset || !start.offset.is_uniform() || !is_vector {
            return Ok(None);
        }
        let start = self.e.add(start.offset.v, self.e.i64(disp))?;
        Ok(Some(Indexed { start, index: index.v, scale }))
    }

    fn rise_of_pointer(&self, pointer: Value) -> Rise {
        match self.value(pointer) {
            Ok(Lowered::Ptr(p)) if p.offset.is_based() => return self.rise_of_val(p.offset),
            Ok(_) => {}
            Err(_) => return Rise::NOTHING,
        }
        let def = self.f.def(pointer);
        let (Op::PtrAdd { scale, .. }, &[start, index]) = (&def.op, def.args.as_slice()) else {
            return Rise::NOTHING;
        };
        // As for places of all lanes (`add_offset`), an index of 32 bits is taken not to wrap within a group.
        let index = match self.f.ty(index).scalar().map(phalanx_ir::Scalar::bits) {
            Some(32 | 64) => self.rise(index, DEPTH),
            _ => Rise::NOTHING,
        };
        self.rise_of_pointer(start).with(index.scaled(*scale), |x, y| Some(x.wrapping_add(y)))
    }

    fn rise_of_val(&self, x: Val<'c>) -> Rise {
        self.patterns.of(x, self.w).map_or(Rise::NOTHING, |steps| Rise::of_steps(&steps))
    }

    /// What is known of an integer.
    fn rise(&self, v: Value, depth: u32) -> Rise {
        match self.value(v) {
            Ok(Lowered::Scalar(x)) if x.is_based() => return self.rise_of_val(*x),
            Ok(_) if depth > 0 => {}
            _ => return Rise::NOTHING,
        }
        let def = self.f.def(v);
        let of = |i: usize| self.rise(def.args[i], depth - 1);
        let constant = |i: usize| self.f.const_bits(def.args[i]);
        let same = |x: i64, y: i64| (x == 0 && y == 0).then_some(0);
        match def.op {
            Op::Binary(BinaryOp::Iadd) => of(0).with(of(1), |x, y| Some(x.wrapping_add(y))),
            Op::Binary(BinaryOp::Isub) => of(0).with(of(1), |x, y| Some(x.wrapping_sub(y))),
            Op::Binary(BinaryOp::Imul) => match (constant(0), constant(1)) {
                (_, Some(c)) => of(0).scaled(c.cast_signed()),
                (Some(c), _) => of(1).scaled(c.cast_signed()),
                _ => of(0).with(of(1), same),
            },
            Op::Binary(BinaryOp::Shl) => match constant(1) {
                Some(c) if c < 32 => of(0).scaled(1 << c),
                _ => of(0).with(of(1), same),
            },
            // What all lanes of a group have in common they have in common afterwards.
            Op::Binary(
                BinaryOp::And
                | BinaryOp::Or
                | BinaryOp::Xor
                | BinaryOp::Lshr
                | BinaryOp::Ashr
                | BinaryOp::Udiv
                | BinaryOp::Umod
                | BinaryOp::Umin
                | BinaryOp::Umax
                | BinaryOp::Smin
                | BinaryOp::Smax,
            ) => of(0).with(of(1), same),
            _ => Rise::NOTHING,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rise;
    use crate::testing::optimized;

    /// Loads of registers of code in which four lanes read a row each, whose distance is told.
    fn loads(processor: &str) -> usize {
        let module = "kernel \"main\"
workgroup_size 32 1 1
subgroup_size 32
push 4
binding buf0 = 0.0 storage
binding buf1 = 0.1 storage writable
{
  %0: i32 = const 0
  %2: i32 = const 2
  %3: i32 = const 3
  %lane: i32 = local_invocation_id<x>
  %in: ptr<buffer> = buffer_ptr<buf0> %0
  %out: ptr<buffer> = buffer_ptr<buf1> %0
  %push: ptr<push> = push_ptr
  %stride: i32 = load %push
  %row: i32 = lshr %lane, %2
  %column: i32 = and %lane, %3
  %start: i32 = imul %row, %stride
  %place: i32 = iadd %start, %column
  %from: ptr<buffer> = ptr_add<scale=16> %in, %place
  %a: i32, %b: i32, %c: i32, %d: i32 = load %from
  %to: ptr<buffer> = ptr_add<scale=16> %out, %lane
  store %to, %a, %b, %c, %d
}
";
        let code = optimized(module, processor);
        let (_, inside) = code.split_once("\ninside:").unwrap();
        let (inside, _) = inside.split_once("br label").unwrap();
        inside.matches("= load <").count()
    }

    #[test]
    fn lanes_of_a_row_are_read_by_registers() {
        // LLVM reads one of them where the ways have come together.
        assert_eq!(["haswell", "znver4"].map(loads).map(|n| n.next_multiple_of(8)), [16, 8]);
    }

    #[test]
    fn groups_are_as_large_as_lanes_rise_evenly() {
        let of = |steps: &[i64]| Rise::of_steps(steps);
        assert_eq!(of(&[0; 8]), Rise { log2: 3, stride: 0 });
        assert_eq!(of(&[0, 2, 4, 6, 8, 10, 12, 14]), Rise { log2: 3, stride: 2 });
        assert_eq!(of(&[0, 1, 0, 1, 0, 1, 0, 1]), Rise { log2: 1, stride: 1 });
        assert_eq!(of(&[0, 1, 2, 3, 50, 51, 52, 53]), Rise { log2: 2, stride: 1 });
        assert_eq!(of(&[0, 0, 1, 2, 3, 4, 5, 6]), Rise::NOTHING);
    }
}
